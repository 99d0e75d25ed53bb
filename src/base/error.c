// SPDX-License-Identifier: MIT
#include "hotpath/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static __thread char last_error[512];

const char *hp_errstr(enum hp_err err)
{
    switch (err) {
    case HP_OK: return "no error";
    case HP_ERR_INVALID: return "invalid argument";
    case HP_ERR_NOMEM: return "out of memory";
    case HP_ERR_IO: return "input/output error";
    case HP_ERR_FORMAT: return "bad file format";
    case HP_ERR_VERSION: return "unsupported file version";
    case HP_ERR_UNSUPPORTED: return "not supported";
    case HP_ERR_NOTFOUND: return "not found";
    case HP_ERR_INTERNAL: return "internal error";
    case HP_ERR_UNOBSERVED: return "not observed";
    }
    return "unknown error";
}

const char *hp_error_text(void)
{
    return last_error;
}

enum hp_err hp_fail(enum hp_err err, const char *format, ...)
{
    char text[sizeof last_error];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(last_error, text, strlen(text) + 1);
    return err;
}

enum hp_err hp_fail_nomem(void)
{
    return hp_fail(HP_ERR_NOMEM, "out of memory");
}
