// SPDX-License-Identifier: MIT
/*
 * Functions that are faked, FUNCTION_BYTES (64 unless it was defined before) of code each and without symbols: in place of symbols/functions.c.
 */
#ifndef HP_TEST_FUNCTIONS_FIXTURE_H
#define HP_TEST_FUNCTIONS_FIXTURE_H

#include "program_fixture.h"

#include "symbols/functions.h"

#ifndef FUNCTION_BYTES
#define FUNCTION_BYTES 64
#endif
#define MAX_FUNCTIONS 32768

struct hp_functions {
    const struct hp_code *code;
    struct hp_function functions[MAX_FUNCTIONS];
};

static inline uint32_t function_at(uint64_t address)
{
    return (uint32_t)(address - PROGRAM_BASE) / FUNCTION_BYTES;
}

uint32_t hp_functions_count(const struct hp_functions *functions)
{
    (void)functions;
    return MAX_FUNCTIONS;
}

const struct hp_function *hp_functions_get(const struct hp_functions *functions, uint32_t id)
{
    return &functions->functions[id];
}

uint32_t hp_functions_of_block(struct hp_functions *functions, uint32_t block)
{
    return function_at(hp_code_block(functions->code, block)->start);
}

uint32_t hp_functions_enter(struct hp_functions *functions, uint32_t block)
{
    return hp_functions_of_block(functions, block);
}

bool hp_functions_is_entry(struct hp_functions *functions, uint32_t block)
{
    return hp_code_block(functions->code, block)->start % FUNCTION_BYTES == 0;
}

uint32_t hp_functions_settle(struct hp_functions *functions, uint32_t block)
{
    return hp_functions_of_block(functions, block);
}

uint32_t hp_functions_at(struct hp_functions *functions, uint32_t module, uint64_t offset)
{
    return function_at(hp_code_module(functions->code, module)->base + offset);
}

struct hp_symbols *hp_functions_symbols(struct hp_functions *functions, uint32_t module)
{
    (void)functions, (void)module;
    return NULL;
}

enum hp_line_detail hp_functions_lines_wanted(const struct hp_functions *functions)
{
    (void)functions;
    return HP_LINES_ALL;
}

void hp_functions_line(struct hp_functions *functions, uint32_t id, const char **file,
                       uint32_t *line)
{
    (void)functions, (void)id;
    *file = "";
    *line = 0;
}

static inline struct hp_functions *new_functions(const struct hp_code *code)
{
    struct hp_functions *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->code = code;
    for (uint32_t i = 0; i < MAX_FUNCTIONS; i++)
        f->functions[i] = (struct hp_function){.offset = PROGRAM_BASE + i * FUNCTION_BYTES,
                                               .size = FUNCTION_BYTES};
    return f;
}

#endif
