// SPDX-License-Identifier: MIT
#include "import/itrace/code.h"

#include "base/base.h"
#include "isa/x86_far.h"

#include <endian.h>

#define CHUNK      1024 /* nodes, or runs */
#define MAX_RUNS   (1u << 20)
#define READ_FIRST 256
#define READ_MORE  65536

enum hp_err hp_itrace_code_new(struct hp_import_spaces *spaces, struct hp_code *map,
                               enum hp_arch arch, struct hp_itrace_code **code)
{
    struct hp_itrace_code *c;
    HP_TRY(hp_new(&c, 1, sizeof *c));
    *c = (struct hp_itrace_code){.spaces = spaces,
                                 .map = map,
                                 .arch = arch,
                                 .call_size = arch == HP_ARCH_AARCH64 ? 4 : 2,
                                 .n_views = spaces->n_views};
    enum hp_err err = hp_new(&c->nodes_at, c->n_views, sizeof *c->nodes_at);
    if (err == HP_OK)
        err = hp_new(&c->bytes, READ_MORE, 1);
    if (err == HP_OK)
        err = hp_decoder_new(arch, &c->decoder);
    if (err != HP_OK)
        hp_itrace_code_free(c);
    else
        *code = c;
    return err;
}

void hp_itrace_code_free(struct hp_itrace_code *c)
{
    if (!c)
        return;
    for (size_t i = 0; c->nodes_at && i < c->n_views; i++)
        hp_map64_fini(&c->nodes_at[i]);
    for (size_t i = 0; i < c->cap_chunks; i++)
        free(c->chunks[i]);
    for (size_t i = 0; i < c->cap_run_chunks; i++)
        free(c->run_chunks[i]);
    hp_decoder_free(c->decoder);
    free(c->run_chunks);
    free(c->nodes_at);
    free(c->chunks);
    free(c->bytes);
    free(c);
}

/* --- Decoding --------------------------------------------------------------------------------- */

/* The last instruction of the block in c->bytes, and where that ends; 0: there is too little code,
 * or it is none. */
static size_t decode_block(struct hp_itrace_code *c, uint64_t address, size_t size,
                           struct hp_insn *last)
{
    size_t at = 0;
    for (unsigned i = 0; i < HP_BLOCK_MAX_INSNS; i++) {
        if (hp_decode(c->decoder, HP_MODE_DEFAULT, address + at, c->bytes + at, size - at, true,
                      last) != HP_OK)
            return 0;
        at += last->length;
        if (last->flow != HP_FLOW_NONE)
            break;
    }
    return at;
}

static const uint8_t kinds[HP_FLOW_COUNT_] = {
    [HP_FLOW_NONE] = HP_NODE_THROUGH,      [HP_FLOW_JUMP] = HP_NODE_JUMP,
    [HP_FLOW_COND] = HP_NODE_BRANCH,       [HP_FLOW_CALL] = HP_NODE_JUMP,
    [HP_FLOW_JUMP_IND] = HP_NODE_INDIRECT, [HP_FLOW_CALL_IND] = HP_NODE_INDIRECT,
    [HP_FLOW_RETURN] = HP_NODE_RETURN,     [HP_FLOW_SYSCALL] = HP_NODE_SYSCALL,
    [HP_FLOW_TRAP] = HP_NODE_TRAP,
};

static bool ends_with(const uint8_t *bytes, size_t size, const uint8_t *end, size_t n)
{
    return size >= n && memcmp(bytes + size - n, end, n) == 0;
}

/* mov $15, %eax or %rax; syscall */
static bool is_x86_sigreturn(const uint8_t *bytes, size_t size)
{
    static const uint8_t call[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
    static const uint8_t longer[] = {0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    return ends_with(bytes, size, call, sizeof call) ||
           ends_with(bytes, size, longer, sizeof longer);
}

/* Intel PT: direct transfers have no outcomes; far ones are not paired as calls and returns. */
static void fill_x86(struct hp_itrace_node *node, const struct hp_insn *last, const uint8_t *bytes,
                     size_t size)
{
    const uint8_t *insn = bytes + size - last->length;
    bool far = hp_x86_is_far(insn, last->length);
    if (node->kind == HP_NODE_JUMP)
        node->kind = HP_NODE_THROUGH;
    if (far && node->kind == HP_NODE_RETURN)
        node->kind = HP_NODE_INDIRECT;
    node->calls = (last->flow == HP_FLOW_CALL_IND && !far) ||
                  (last->flow == HP_FLOW_CALL && last->target != node->end);
    node->sigreturn = node->kind == HP_NODE_SYSCALL && is_x86_sigreturn(bytes, size);
    node->completes = *insn == 0xcc || *insn == 0xcd || *insn == 0xf1;
}

/* Instructions of AArch64 that are no transfers, and have outcomes like these. */
static unsigned count_inside(const struct hp_itrace_code *c, const uint8_t *bytes, size_t size)
{
    unsigned n = 0;
    for (size_t at = 0; at + 4 <= size; at += 4) {
        uint32_t word;
        memcpy(&word, bytes + at, 4);
        word = le32toh(word);
        bool isb = (word & 0xfffff0ff) == 0xd50330df;
        bool wait = (word & 0xffffffdf) == 0xd503205f || /* WFE, WFI */
                    (word & 0xffffffc0) == 0xd5031000;   /* WFET, WFIT */
        n += isb || (wait && c->waits);
    }
    return n;
}

/* Arm ETM: each transfer has an outcome. */
static void fill_aarch64(const struct hp_itrace_code *c, struct hp_itrace_node *node,
                         const struct hp_insn *last, const uint8_t *bytes, size_t size)
{
    static const uint8_t sigreturn[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}; /* of 139 */
    node->calls = last->flow == HP_FLOW_CALL_IND || last->flow == HP_FLOW_CALL;
    node->sigreturn = ends_with(bytes, size, sigreturn, sizeof sigreturn);
    node->inside = (uint16_t)count_inside(c, bytes, size);
}

static void fill(const struct hp_itrace_code *c, struct hp_itrace_node *node,
                 const struct hp_insn *last, const uint8_t *bytes, size_t size)
{
    node->kind = kinds[last->flow];
    node->last = last->address;
    node->end = node->start + size;
    node->target = last->flow == HP_FLOW_NONE ? node->end : last->target;
    if (c->arch == HP_ARCH_AARCH64)
        fill_aarch64(c, node, last, bytes, size);
    else
        fill_x86(node, last, bytes, size);
}

/* Finds the code at a node. What is not found leaves it unknown. */
static enum hp_err look(struct hp_itrace_code *c, struct hp_itrace_node *node)
{
    static const size_t sizes[] = {READ_FIRST, READ_MORE};
    struct hp_import_place place;
    struct hp_insn last;
    size_t size = 0;
    enum hp_err err = hp_spaces_find(c->spaces, c->map, node->view, node->start, &place);
    if (err != HP_OK)
        return err == HP_ERR_NOTFOUND ? HP_OK : err;
    for (int i = 0; i < 2 && !size; i++) {
        size_t n = hp_module_code_read(place.code, place.offset, c->bytes, sizes[i]);
        size = decode_block(c, node->start, n, &last);
    }
    if (!size || c->n_segments + 1 >= HP_SEGMENTS_MAX)
        return HP_OK;
    err = hp_code_add_segment(c->map, c->n_segments + 1,
                              &(struct hp_segment){.start = node->start,
                                                   .module = place.module,
                                                   .size = (uint32_t)size,
                                                   .bytes = c->bytes});
    if (err == HP_ERR_NOMEM)
        return err;
    if (err != HP_OK)
        return HP_OK;
    node->run = (struct hp_itrace_run){.segment = ++c->n_segments, .n = 1};
    fill(c, node, &last, c->bytes, size);
    return HP_OK;
}

/* --- Nodes ------------------------------------------------------------------------------------ */

static struct hp_itrace_node *new_node(struct hp_itrace_code *c)
{
    size_t chunk = c->n_nodes / CHUNK;
    if (c->n_nodes >= HP_MAP64_NONE ||
        hp_grow(&c->chunks, &c->cap_chunks, chunk + 1, sizeof *c->chunks) != HP_OK)
        return NULL;
    if (!c->chunks[chunk] && hp_new(&c->chunks[chunk], CHUNK, sizeof **c->chunks) != HP_OK)
        return NULL;
    return &c->chunks[chunk][c->n_nodes++ % CHUNK];
}

struct hp_itrace_node *hp_itrace_code_at(struct hp_itrace_code *c, uint32_t view, uint64_t address)
{
    if (view >= c->n_views)
        return &c->nowhere;
    uint32_t known = hp_map64_get(&c->nodes_at[view], address);
    if (known != HP_MAP64_NONE)
        return &c->chunks[known / CHUNK][known % CHUNK];
    struct hp_itrace_node *node = new_node(c);
    if (!node)
        return NULL;
    *node = (struct hp_itrace_node){.start = address, .view = view};
    if (hp_map64_put(&c->nodes_at[view], address, (uint32_t)c->n_nodes - 1) != HP_OK ||
        look(c, node) != HP_OK)
        return NULL;
    c->unknown += node->kind == HP_NODE_UNKNOWN;
    return node;
}

struct hp_itrace_node *hp_itrace_code_find_next(struct hp_itrace_code *c,
                                                struct hp_itrace_node *node, bool taken)
{
    node->next[taken] = hp_itrace_code_at(c, node->view, taken ? node->target : node->end);
    return node->next[taken];
}

/* --- Runs ------------------------------------------------------------------------------------- */

static struct hp_itrace_run *new_run(struct hp_itrace_code *c)
{
    size_t chunk = c->n_runs / CHUNK;
    if (hp_grow(&c->run_chunks, &c->cap_run_chunks, chunk + 1, sizeof *c->run_chunks) != HP_OK)
        return NULL;
    if (!c->run_chunks[chunk] &&
        hp_new(&c->run_chunks[chunk], CHUNK, sizeof **c->run_chunks) != HP_OK)
        return NULL;
    return &c->run_chunks[chunk][c->n_runs % CHUNK];
}

struct hp_itrace_run *hp_itrace_code_make_run(struct hp_itrace_code *c, struct hp_itrace_run *run,
                                              const struct hp_itrace_node *next, bool taken)
{
    struct hp_segment segment;
    if (run->n == HP_ITRACE_RUN || run->seen[taken] > HP_ITRACE_OFTEN ||
        ++run->seen[taken] < HP_ITRACE_OFTEN)
        return NULL;
    run->seen[taken] = HP_ITRACE_OFTEN + 1;
    struct hp_itrace_run *made = c->n_runs < MAX_RUNS ? new_run(c) : NULL;
    if (!made || c->n_segments + 1 >= HP_SEGMENTS_MAX ||
        hp_code_segment(c->map, next->run.segment, &segment) != HP_OK || segment.size > READ_MORE)
        return NULL;
    memcpy(c->bytes, segment.bytes, segment.size); /* the map may move them */
    segment.bytes = c->bytes;
    segment.parent = run->segment;
    if (hp_code_add_segment(c->map, c->n_segments + 1, &segment) != HP_OK)
        return NULL;
    c->n_runs++;
    *made = (struct hp_itrace_run){.segment = ++c->n_segments, .n = (uint8_t)(run->n + 1)};
    run->next[taken] = made;
    return made;
}

bool hp_itrace_code_before(struct hp_itrace_code *c, const struct hp_itrace_node *node,
                           uint64_t address, uint32_t *n)
{
    uint32_t block =
        node->run.segment ? hp_code_segment_block(c->map, node->run.segment) : HP_NO_ID;
    const struct hp_insn *insns;
    if (block == HP_NO_ID || hp_code_insns(c->map, block, &insns) != HP_OK)
        return false;
    uint32_t all = hp_code_block(c->map, block)->insns;
    for (*n = 0; *n < all; ++*n)
        if (insns[*n].address == address)
            return true;
    return false;
}
