// SPDX-License-Identifier: MIT
/* Trace files: any bytes, through every command that reads one. */
#include "support.h"
#include "trace_commands.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned sum = 0;
    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + data[i];
    trace_commands(fuzz_file("trace", data, size), sum);
    return 0;
}
