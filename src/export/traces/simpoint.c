// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "export/export.h"
#include "text/strbuf.h"

#include <errno.h>

#define DEFAULT_INTERVAL 100000000 /* instructions */

/* A block that was executed. */
struct counted {
    uint64_t executed; /* instructions, in this interval */
    uint32_t block;
};

struct simpoint {
    struct hp_stream_setup setup; /* first */
    uint32_t *numbers; /* of blocks: 1, 2, ... in the order of first execution; 0: never executed */
    size_t n_numbers;
    struct counted *blocks; /* by number - 1 */
    size_t n_blocks, cap_blocks;
    uint64_t since; /* instructions since the multiple of the interval where this one begins */
    uint64_t in_interval, intervals;
};

/* Were a block longer than an interval, there would be intervals with nothing in them. */
static enum hp_err open_vectors(void *state)
{
    struct simpoint *s = state;
    uint64_t *interval = &s->setup.interval;
    if (*interval && *interval < HP_BLOCK_MAX_INSNS)
        return hp_fail(HP_ERR_INVALID,
                       "--interval %" PRIu64 " is too short: at least %d instructions, the most "
                       "that a block can have",
                       *interval, HP_BLOCK_MAX_INSNS);
    if (!*interval)
        *interval = DEFAULT_INTERVAL;
    return HP_OK;
}

static enum hp_err end_interval(struct simpoint *s)
{
    FILE *out = s->setup.out;
    fputc('T', out);
    for (size_t i = 0; i < s->n_blocks; i++) {
        if (s->blocks[i].executed)
            fprintf(out, ":%zu:%" PRIu64 " ", i + 1, s->blocks[i].executed);
        s->blocks[i].executed = 0;
    }
    fputc('\n', out);
    s->in_interval = 0;
    s->intervals++;
    if (ferror(out))
        return hp_fail(HP_ERR_IO, "cannot write: %s", strerror(errno));
    return HP_OK;
}

/* Gives a number to a block. */
static enum hp_err enter(struct simpoint *s, uint32_t block)
{
    HP_TRY(hp_grow(&s->numbers, &s->n_numbers, (size_t)block + 1, sizeof *s->numbers));
    HP_TRY(hp_grow(&s->blocks, &s->cap_blocks, s->n_blocks + 1, sizeof *s->blocks));
    s->blocks[s->n_blocks++] = (struct counted){.block = block};
    s->numbers[block] = (uint32_t)s->n_blocks;
    return HP_OK;
}

/* An interval ends with the first block that ends at or behind a multiple of its length. */
static enum hp_err put_block(void *state, const struct hp_stream_block *block)
{
    struct simpoint *s = state;
    if (!block->insns)
        return HP_OK;
    if (block->id >= s->n_numbers || !s->numbers[block->id])
        HP_TRY(enter(s, block->id));
    s->blocks[s->numbers[block->id] - 1].executed += block->insns;
    s->in_interval += block->insns;
    s->since += block->insns;
    if (s->since < s->setup.interval)
        return HP_OK;
    s->since -= s->setup.interval;
    return end_interval(s);
}

/* "F:7:401020:main", as valgrind writes it, then module+offset and instructions. */
static enum hp_err put_places(struct simpoint *s)
{
    struct hp_strbuf name HP_CLEANUP(hp_strbuf_fini) = {0};
    struct hp_functions *functions = s->setup.functions;
    for (size_t i = 0; i < s->n_blocks; i++) {
        uint32_t block = s->blocks[i].block;
        const struct hp_block *code = hp_code_block(s->setup.code, block);
        const struct hp_module *module = hp_code_module(s->setup.code, code->module);
        uint32_t function = functions ? hp_functions_of_block(functions, block) : HP_NO_ID;
        const struct hp_symbol *symbol =
            function == HP_NO_ID ? NULL : hp_functions_get(functions, function)->symbol;
        hp_strbuf_clear(&name);
        if (symbol)
            hp_strbuf_clean(&name, symbol->name);
        hp_strbuf_add(&name, "\t");
        hp_strbuf_clean(&name, module->path);
        fprintf(s->setup.second, "F:%zu:%" PRIx64 ":%s+0x%" PRIx64 "\t%" PRIu32 "\n", i + 1,
                code->start, hp_strbuf_text(&name), code->start - module->base, code->insns);
    }
    return name.failed ? hp_fail_nomem() : HP_OK;
}

static enum hp_err close_vectors(void *state)
{
    struct simpoint *s = state;
    struct hp_export_written *written = s->setup.written;
    uint64_t rest = s->in_interval;
    if (rest)
        HP_TRY(end_interval(s));
    int n = snprintf(written->detail, sizeof written->detail, "%" PRIu64 " intervals, %zu blocks",
                     s->intervals, s->n_blocks);
    if (rest)
        snprintf(written->detail + n, sizeof written->detail - (size_t)n,
                 "; the last interval has %" PRIu64 " instructions", rest);
    return s->setup.second ? put_places(s) : HP_OK;
}

static void fini_vectors(void *state)
{
    struct simpoint *s = state;
    free(s->numbers);
    free(s->blocks);
}

const struct hp_export_format hp_format_simpoint = {
    .name = "simpoint",
    .summary = "basic block vectors for SimPoint",
    .block = put_block,
    .state_size = sizeof(struct simpoint),
    .open = open_vectors,
    .close = close_vectors,
    .fini = fini_vectors,
    .all = true,
    .intervals = true,
    .second = ".pc",
};
