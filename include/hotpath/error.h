// SPDX-License-Identifier: MIT
/*
 * Errors.
 *
 * A function that can fail returns `enum hp_err`. On failure it also records one line of text that
 * says what went wrong, and with what; `hp_error_text()` returns it. The text belongs to the
 * calling thread and stays valid until the next failing call of that thread.
 *
 * The library never prints, asserts or exits because of bad input or a failed system call.
 */
#ifndef HOTPATH_ERROR_H
#define HOTPATH_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

enum hp_err {
    HP_OK = 0,
    HP_ERR_INVALID = -1,     /* the caller's mistake: a wrong argument or option */
    HP_ERR_NOMEM = -2,       /* memory ran out; nothing was changed */
    HP_ERR_IO = -3,          /* a system call failed; the text has its reason */
    HP_ERR_FORMAT = -4,      /* a file is not what it should be: corrupt, truncated, foreign */
    HP_ERR_VERSION = -5,     /* a file was written by an incompatible version */
    HP_ERR_UNSUPPORTED = -6, /* well-formed, but something hotpath cannot do */
    HP_ERR_NOTFOUND = -7,    /* what was requested does not exist */
    HP_ERR_INTERNAL = -8,    /* our mistake */
    HP_ERR_UNOBSERVED = -9,  /* the program ran, but was not observed */
};

/* Marks a function whose failure must not be ignored. */
#define HP_MUST_CHECK __attribute__((warn_unused_result))

/* A fixed name for the code ("out of memory"); never NULL. */
const char *hp_errstr(enum hp_err err);

/* The text of this thread's last failure; "" when there was none. */
const char *hp_error_text(void);

/* Records a failure: stores the formatted line for `hp_error_text()` and returns `err`. It may
 * include the text of the previous failure: hp_fail(err, "%s: %s", path, hp_error_text()). */
enum hp_err hp_fail(enum hp_err err, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

/* Records HP_ERR_NOMEM. */
enum hp_err hp_fail_nomem(void) __attribute__((cold));

/* Returns from the enclosing function when `call` fails. */
#define HP_TRY(call)                                                                               \
    do {                                                                                           \
        enum hp_err hp_try_err_ = (call);                                                          \
        if (hp_try_err_ != HP_OK)                                                                  \
            return hp_try_err_;                                                                    \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
