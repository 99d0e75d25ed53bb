// SPDX-License-Identifier: MIT
/* Names of symbols, which come from files: any text. */
#include "diff/digest.h"
#include "support.h"
#include "symbols/demangle.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *name = malloc(size + 1);
    FUZZ_ASSERT(name);
    memcpy(name, data, size);
    name[size] = '\0';
    free(hp_demangle(name, false));
    free(hp_demangle(name, true));
    FUZZ_ASSERT(hp_symbol_stem(name) <= strlen(name));
    free(hp_symbol_key(name));
    free(hp_module_key(name));
    free(hp_lambda_key(name));
    free(name);
    return 0;
}
