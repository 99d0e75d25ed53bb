// SPDX-License-Identifier: MIT
#include "stream/code_impl.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

/* --- Making and freeing ----------------------------------------------------------------------- */

enum hp_err hp_code_new(enum hp_arch arch, struct hp_code **code)
{
    struct hp_code *c = calloc(1, sizeof *c);
    if (!c)
        return hp_fail_nomem();
    c->arch = arch;
    enum hp_err err = hp_decoder_new(arch, &c->decoder);
    if (err != HP_OK) {
        free(c);
        return err;
    }
    *code = c;
    return HP_OK;
}

void hp_code_free(struct hp_code *code)
{
    if (!code)
        return;
    for (uint32_t i = 0; i < code->n_modules; i++) {
        free((char *)code->modules[i].path);
        free((char *)code->modules[i].build_id);
    }
    free(code->modules);
    free(code->route);
    free(code->chains);
    free(code->chain_blocks);
    free(code->chain_taken);
    free(code->units);
    free(code->unit_of);
    free(code->segs);
    free(code->hot);
    free(code->blocks);
    free(code->next_at_start);
    for (size_t i = 0; i < code->cap_insns; i++)
        free(code->insns[i]);
    free(code->insns);
    free(code->block_mems.counts);
    free(code->node_mems.counts);
    free(code->segment_mems.counts);
    hp_map64_fini(&code->at_start);
    hp_map64_fini(&code->same_code);
    hp_map64_fini(&code->same_place);
    hp_map64_fini(&code->module_of);
    free(code->nodes);
    free(code->joins);
    hp_map64_fini(&code->join_of);
    hp_map64_fini(&code->prefix_of);
    free(code->bytes);
    free(code->handlers);
    hp_map64_fini(&code->handler_at);
    hp_decoder_free(code->decoder);
    free(code);
}

/* --- Changes ---------------------------------------------------------------------------------- */

bool hp_code_before_change(struct hp_code *code, void (*prepare)(void *context), void *context)
{
    if (prepare && code->prepare)
        return false;
    code->prepare = prepare;
    code->context = context;
    return true;
}

/* Comes before every change of what others can see. */
static inline void prepare(const struct hp_code *code)
{
    if (code->prepare)
        code->prepare(code->context);
}

/* --- Accessors -------------------------------------------------------------------------------- */

enum hp_arch hp_code_arch(const struct hp_code *code)
{
    return code->arch;
}

uint32_t hp_code_n_modules(const struct hp_code *code)
{
    return code->n_modules;
}

const struct hp_module *hp_code_module(const struct hp_code *code, uint32_t id)
{
    return &code->modules[id];
}

uint32_t hp_code_segment_block(const struct hp_code *code, uint32_t id)
{
    bool is_whole =
        id < code->segment_limit && !(code->route[id] & HP_ROUTE_NODE) && !code->segs[id].parent;
    return is_whole ? code->route[id] : HP_NO_ID;
}

uint32_t hp_code_segment_limit(const struct hp_code *code)
{
    return code->segment_limit;
}

uint32_t hp_code_n_blocks(const struct hp_code *code)
{
    return code->n_blocks;
}

const struct hp_block *hp_code_block(const struct hp_code *code, uint32_t id)
{
    return &code->blocks[id];
}

uint32_t hp_code_block_before(const struct hp_code *code, uint32_t id)
{
    return code->next_at_start[id];
}

const struct hp_block *hp_code_blocks(const struct hp_code *code)
{
    return code->blocks;
}

uint32_t hp_code_n_units(const struct hp_code *code)
{
    return code->n_units;
}

uint32_t hp_code_unit_of_block(const struct hp_code *code, uint32_t block)
{
    return code->unit_of[block];
}

const uint32_t *hp_code_unit(const struct hp_code *code, uint32_t unit, uint32_t *n)
{
    const struct hp_unit *u = &code->units[unit];
    *n = u->n;
    return u->n == 1 ? &u->at : code->chain_blocks + u->at;
}

const uint8_t *hp_code_bytes(const struct hp_code *code, const struct hp_block *block)
{
    return code->bytes + block->code;
}

bool hp_code_has_segment(const struct hp_code *code, uint32_t id)
{
    return id < code->segment_limit && code->segs[id].defined;
}

enum hp_err hp_code_segment(const struct hp_code *code, uint32_t id, struct hp_segment *segment)
{
    if (!hp_code_has_segment(code, id))
        return hp_fail(HP_ERR_NOTFOUND, "segment %u is not defined", id);
    const struct hp_code_segment *seg = &code->segs[id];
    *segment = (struct hp_segment){
        .start = seg->start,
        .module = seg->module,
        .parent = seg->parent,
        .mode = seg->mode,
        .trace = seg->trace,
        .size = seg->size,
        .bytes = code->bytes + seg->code,
    };
    return HP_OK;
}

/* --- Modules and handlers --------------------------------------------------------------------- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hp_hash64(hash);
}

/* The identical module, or HP_MAP64_NONE. `*key`: where it belongs. */
static uint32_t find_module(const struct hp_code *code, const struct hp_module *module,
                            uint64_t *key)
{
    *key = hash_bytes(module->base, module->path, strlen(module->path));
    for (;; (*key)++) {
        uint32_t id = hp_map64_get(&code->module_of, *key);
        const struct hp_module *m = id == HP_MAP64_NONE ? NULL : &code->modules[id];
        if (!m || (m->base == module->base && strcmp(m->path, module->path) == 0 &&
                   strcmp(m->build_id, module->build_id) == 0))
            return id;
    }
}

enum hp_err hp_code_add_module(struct hp_code *code, const struct hp_module *module, uint32_t *id)
{
    uint64_t key;
    prepare(code);
    *id = find_module(code, module, &key);
    if (*id != HP_MAP64_NONE) {
        struct hp_module *m = &code->modules[*id];
        m->low = m->low < module->low ? m->low : module->low;
        m->high = m->high > module->high ? m->high : module->high;
        return HP_OK;
    }
    HP_TRY(hp_grow(&code->modules, &code->cap_modules, (size_t)code->n_modules + 1,
                   sizeof *code->modules));
    struct hp_module *m = &code->modules[code->n_modules];
    *m = *module;
    m->path = strdup(module->path);
    m->build_id = strdup(module->build_id);
    if (!m->path || !m->build_id || hp_map64_put(&code->module_of, key, code->n_modules) != HP_OK) {
        free((char *)m->path);
        free((char *)m->build_id);
        return hp_fail_nomem();
    }
    *id = code->n_modules++;
    return HP_OK;
}

bool hp_code_is_handler(const struct hp_code *code, uint64_t address)
{
    return hp_map64_get(&code->handler_at, address) != HP_MAP64_NONE;
}

enum hp_signal_cause hp_code_signal_cause(const struct hp_code *code, uint32_t signal)
{
    enum { ILL = 4, TRAP = 5, BUS = 7, FPE = 8, BUS_ALPHA = 10, SEGV = 11 };
    uint32_t bus = code->arch == HP_ARCH_ALPHA ? BUS_ALPHA : BUS;
    if (signal == 0)
        return HP_CAUSE_EITHER;
    if (signal == ILL || signal == TRAP || signal == bus || signal == FPE || signal == SEGV)
        return HP_CAUSE_FAULT;
    return HP_CAUSE_OUTSIDE;
}

/* Where the code of a function with this address starts: on ARM the address has the Thumb bit. */
static uint64_t code_address(const struct hp_code *code, uint64_t address)
{
    return code->arch == HP_ARCH_ARM ? address & ~(uint64_t)1 : address;
}

void hp_code_set_handler_signal(struct hp_code *code, uint64_t address, uint32_t signal)
{
    uint32_t id = hp_map64_get(&code->handler_at, code_address(code, address));
    enum hp_signal_cause cause = hp_code_signal_cause(code, signal);
    if (id == HP_MAP64_NONE)
        return;
    code->handlers[id].outside |= cause != HP_CAUSE_FAULT;
    code->handlers[id].fault |= cause != HP_CAUSE_OUTSIDE;
}

enum hp_signal_cause hp_code_handler_cause(const struct hp_code *code, uint64_t address)
{
    uint32_t id = hp_map64_get(&code->handler_at, address);
    if (id == HP_MAP64_NONE || code->handlers[id].outside == code->handlers[id].fault)
        return HP_CAUSE_EITHER;
    return code->handlers[id].fault ? HP_CAUSE_FAULT : HP_CAUSE_OUTSIDE;
}

enum hp_err hp_code_add_handler(struct hp_code *code, uint64_t address)
{
    address = code_address(code, address);
    if (hp_code_is_handler(code, address))
        return HP_OK;
    prepare(code);
    HP_TRY(hp_grow(&code->handlers, &code->cap_handlers, code->n_handlers + 1,
                   sizeof *code->handlers));
    HP_TRY(hp_map64_put(&code->handler_at, address, (uint32_t)code->n_handlers));
    code->handlers[code->n_handlers++] = (struct hp_handler){.address = address};
    uint32_t block = hp_map64_get(&code->at_start, address);
    if (block == HP_MAP64_NONE)
        return HP_OK;
    for (; block != HP_NO_ID; block = code->next_at_start[block])
        code->blocks[block].flags |= HP_BLOCK_HANDLER;
    for (uint32_t id = 0; id < code->segment_limit; id++)
        if (code->chains[id].start == address)
            code->chains[id].weight |= HP_CHAIN_SLOW;
    return HP_OK;
}

/* --- Code bytes and decoding ------------------------------------------------------------------ */

static enum hp_err store_bytes(struct hp_code *code, const uint8_t *bytes, size_t size,
                               uint32_t *at)
{
    if (code->n_bytes + size > UINT32_MAX)
        return hp_fail(HP_ERR_NOMEM, "more than 4 GiB of executed code");
    HP_TRY(hp_grow(&code->bytes, &code->cap_bytes, code->n_bytes + size, 1));
    memcpy(code->bytes + code->n_bytes, bytes, size);
    *at = (uint32_t)code->n_bytes;
    code->n_bytes += size;
    return HP_OK;
}

/* Straight-line code, as found by scan(). */
struct run {
    uint32_t insns;
    uint32_t size;       /* bytes up to and including the last instruction */
    struct hp_insn last; /* its flow is HP_FLOW_NONE when nothing ended the run */
};

/*
 * Decodes one instruction; false when it should not be taken.
 *
 * x86 code stops before an end that does not decode: QEMU shows the beginning of an instruction
 * that crosses into the next page, which it then leaves to the next segment. If that is all there
 * is, it is an unknown instruction. On other architectures, where instructions have a known length,
 * bytes that do not decode are an unknown instruction too.
 */
static bool step(struct hp_code *code, uint8_t mode, uint64_t address, const uint8_t *bytes,
                 uint32_t size, bool first, struct hp_insn *insn)
{
    enum hp_err err = hp_decode(code->decoder, mode, address, bytes, size, true, insn);
    if (err != HP_OK && code->arch == HP_ARCH_X86_64) {
        if (!first)
            return false;
        insn->length = (uint8_t)(size < 15 ? size : 15);
    }
    if (insn->length > size)
        insn->length = (uint8_t)size;
    return true;
}

/* Decodes up to the first control transfer, the end of the code or `max` instructions. */
static void scan(struct hp_code *code, uint8_t mode, uint64_t start, const uint8_t *bytes,
                 uint32_t size, uint32_t max, struct run *run)
{
    *run = (struct run){.last = {.address = start - 1}};
    struct hp_insn insn;
    while (run->size < size && run->insns < max &&
           step(code, mode, start + run->size, bytes + run->size, size - run->size, run->insns == 0,
                &insn)) {
        run->last = insn;
        run->size += insn.length;
        run->insns++;
        if (insn.flow != HP_FLOW_NONE)
            break;
    }
}

/* --- Blocks ----------------------------------------------------------------------------------- */

static struct hp_hot hot_of(const struct hp_code *code, const struct hp_block *block)
{
    struct hp_hot hot = {
        .start = block->start, .fall = HP_NOWHERE, .target = HP_NOWHERE, .insns = block->insns};
    switch (block->flow) {
    case HP_FLOW_JUMP:
    case HP_FLOW_CALL: hot.target = block->target; break;
    case HP_FLOW_COND:
        hot.target = block->target;
        hot.fall = block->end;
        break;
    case HP_FLOW_JUMP_IND:
    case HP_FLOW_CALL_IND:
    case HP_FLOW_RETURN: hot.anywhere = 1; break;
    default: hot.fall = block->end; break; /* a system call, a split block */
    }
    /* Any transfer may be conditional in a Thumb IT block, which a decoder of single instructions
     * cannot see. */
    if (block->flags & (HP_BLOCK_CONDITIONAL | HP_BLOCK_THUMB) || code->arch == HP_ARCH_NONE)
        hot.fall = block->end;
    return hot;
}

/* This many blocks of one start are scanned linearly. */
#define NEAR 4

static bool is_same(const struct hp_code *code, uint32_t id, const struct hp_block *block)
{
    const struct hp_block *b = &code->blocks[id];
    return b->start == block->start && b->module == block->module && b->end == block->end &&
           b->insns == block->insns && b->flow == block->flow &&
           !(b->flags & HP_BLOCK_THUMB) == !(block->flags & HP_BLOCK_THUMB) &&
           memcmp(code->bytes + b->code, code->bytes + block->code,
                  (size_t)(block->end - block->start)) == 0;
}

static bool is_in(const struct hp_code *code, uint32_t id, const struct hp_block *block)
{
    return code->blocks[id].start == block->start && code->blocks[id].module == block->module;
}

/* The block in the maps of crowded starts, or HP_NO_ID. `*key`: where it belongs. */
static uint32_t find_code(const struct hp_code *code, const struct hp_block *block, uint64_t *key)
{
    *key = hash_bytes(block->start ^ (uint64_t)block->module << 40, code->bytes + block->code,
                      (size_t)(block->end - block->start));
    for (;; (*key)++) {
        uint32_t id = hp_map64_get(&code->same_code, *key);
        if (id == HP_MAP64_NONE || is_same(code, id, block))
            return id;
    }
}

static uint32_t find_place(const struct hp_code *code, const struct hp_block *block, uint64_t *key)
{
    for (*key = hp_hash64(block->start ^ (uint64_t)block->module << 40);; (*key)++) {
        uint32_t id = hp_map64_get(&code->same_place, *key);
        if (id == HP_MAP64_NONE || is_in(code, id, block))
            return id;
    }
}

uint32_t hp_code_block_in(const struct hp_code *code, uint32_t module, uint64_t address)
{
    const struct hp_block wanted = {.start = address, .module = module};
    uint32_t first = hp_code_block_at(code, address), b = first;
    for (int i = 0; b != HP_NO_ID && i < NEAR; i++, b = code->next_at_start[b])
        if (code->blocks[b].module == module)
            return b;
    uint64_t key;
    uint32_t found = b == HP_NO_ID ? HP_NO_ID : find_place(code, &wanted, &key);
    return found == HP_NO_ID ? first : found;
}

/* Registers `block`, which will get the number `id`, at a start that already has a block. */
static enum hp_err crowd(struct hp_code *code, const struct hp_block *block, uint32_t id)
{
    uint64_t key;
    (void)find_code(code, block, &key);
    HP_TRY(hp_map64_put(&code->same_code, key, id));
    (void)find_place(code, block, &key);
    return hp_map64_put(&code->same_place, key, id);
}

static enum hp_err add_block(struct hp_code *code, const struct hp_block *block, uint32_t *id)
{
    if (code->n_blocks >= HP_ROUTE_NODE || code->n_units >= HP_NO_ID - 2)
        return hp_fail(HP_ERR_NOMEM, "too many blocks");
    prepare(code);
    size_t need = (size_t)code->n_blocks + 1;
    HP_TRY(hp_grow(&code->blocks, &code->cap_blocks, need, sizeof *code->blocks));
    HP_TRY(hp_grow(&code->hot, &code->cap_hot, need, sizeof *code->hot));
    HP_TRY(hp_grow(&code->next_at_start, &code->cap_next, need, sizeof *code->next_at_start));
    HP_TRY(hp_grow(&code->unit_of, &code->cap_unit_of, need, sizeof *code->unit_of));
    HP_TRY(hp_grow(&code->units, &code->cap_units, (size_t)code->n_units + 1, sizeof *code->units));
    uint32_t first = hp_map64_get(&code->at_start, block->start);
    code->blocks[code->n_blocks] = *block;
    if (first != HP_MAP64_NONE && code->next_at_start[first] == HP_NO_ID)
        HP_TRY(crowd(code, &code->blocks[first], first));
    if (first != HP_MAP64_NONE)
        HP_TRY(crowd(code, block, code->n_blocks));
    HP_TRY(hp_map64_put(&code->at_start, block->start, code->n_blocks));
    *id = code->n_blocks++;
    code->next_at_start[*id] = first == HP_MAP64_NONE ? HP_NO_ID : first;
    code->hot[*id] = hot_of(code, block);
    code->unit_of[*id] = code->n_units;
    code->units[code->n_units++] = (struct hp_unit){.at = *id, .n = 1};
    return HP_OK;
}

static uint32_t find_block(const struct hp_code *code, const struct hp_block *block)
{
    uint32_t b = hp_code_block_at(code, block->start);
    for (int i = 0; b != HP_NO_ID && i < NEAR; i++, b = code->next_at_start[b])
        if (is_same(code, b, block))
            return b;
    uint64_t key;
    return b == HP_NO_ID ? HP_NO_ID : find_code(code, block, &key);
}

/* Finds or creates the block of a run of code stored at `at`. */
static enum hp_err intern_block(struct hp_code *code, uint64_t start, uint32_t module, uint8_t mode,
                                uint32_t at, const struct run *run, uint32_t *id)
{
    struct hp_block block = {
        .start = start,
        .last = run->last.address,
        .end = start + run->size,
        .target = run->last.target,
        .insns = run->insns,
        .module = module,
        .code = at,
        .flow = run->last.flow,
    };
    if (run->last.flags & HP_INSN_CONDITIONAL)
        block.flags |= HP_BLOCK_CONDITIONAL;
    if (run->last.flow == HP_FLOW_NONE)
        block.flags |= HP_BLOCK_SPLIT;
    if (mode == HP_MODE_THUMB)
        block.flags |= HP_BLOCK_THUMB;
    if (hp_code_is_handler(code, start))
        block.flags |= HP_BLOCK_HANDLER;
    *id = find_block(code, &block);
    return *id != HP_NO_ID ? HP_OK : add_block(code, &block, id);
}

enum hp_err hp_code_insns(struct hp_code *code, uint32_t block, const struct hp_insn **insns)
{
    HP_TRY(hp_grow(&code->insns, &code->cap_insns, code->n_blocks, sizeof *code->insns));
    if (!code->insns[block]) {
        const struct hp_block *b = &code->blocks[block];
        enum hp_isa_mode mode = b->flags & HP_BLOCK_THUMB ? HP_MODE_THUMB : HP_MODE_DEFAULT;
        struct hp_insn *decoded = calloc(b->insns, sizeof *decoded);
        if (!decoded)
            return hp_fail_nomem();
        uint64_t at = b->start;
        for (uint32_t i = 0; i < b->insns; i++) {
            hp_decode(code->decoder, mode, at, code->bytes + b->code + (at - b->start),
                      (size_t)(b->end - at), false, &decoded[i]);
            at += decoded[i].length;
            if (at > b->end)
                at = b->end; /* undecodable code may get another length */
        }
        code->insns[block] = decoded;
    }
    *insns = code->insns[block];
    return HP_OK;
}

/* --- Nodes ------------------------------------------------------------------------------------ */

static enum hp_err add_node(struct hp_code *code, const struct hp_node *node, uint32_t *id)
{
    if (code->n_nodes >= HP_ROUTE_NODE - 2)
        return hp_fail(HP_ERR_NOMEM, "too many pieces of code");
    HP_TRY(hp_grow(&code->nodes, &code->cap_nodes, (size_t)code->n_nodes + 1, sizeof *code->nodes));
    code->nodes[code->n_nodes] = *node;
    *id = code->n_nodes++;
    return HP_OK;
}

/*
 * Turns a run of stored code into a route: a block if it ends with a transfer or has the maximum
 * length, else a node.
 */
static enum hp_err route_run(struct hp_code *code, uint64_t start, uint32_t module, uint8_t mode,
                             uint32_t at, const struct run *run, uint32_t *route)
{
    if (run->last.flow != HP_FLOW_NONE || run->insns == HP_BLOCK_MAX_INSNS)
        return intern_block(code, start, module, mode, at, run, route);
    struct hp_node node = {
        .start = start,
        .end = start + run->size,
        .last = run->last.address,
        .insns = run->insns,
        .module = module,
        .code = at,
        .mode = mode,
        .last_is_rep = (run->last.flags & HP_INSN_REP) != 0,
    };
    uint32_t id;
    HP_TRY(add_node(code, &node, &id));
    *route = HP_ROUTE_NODE | id;
    return HP_OK;
}

/* The code of a route, and where it is stored. */
static struct run run_of_route(const struct hp_code *code, uint32_t route, uint32_t *at)
{
    if (route & HP_ROUTE_NODE) {
        const struct hp_node *node = &code->nodes[route & ~HP_ROUTE_NODE];
        *at = node->code;
        return (struct run){
            .insns = node->insns,
            .size = (uint32_t)(node->end - node->start),
            .last = {.address = node->last, .flags = node->last_is_rep ? HP_INSN_REP : 0}};
    }
    const struct hp_block *block = &code->blocks[route];
    *at = block->code;
    return (struct run){
        .insns = block->insns,
        .size = (uint32_t)(block->end - block->start),
        .last = {.address = block->last,
                 .target = block->target,
                 .flow = block->flow,
                 .flags = block->flags & HP_BLOCK_CONDITIONAL ? HP_INSN_CONDITIONAL : 0}};
}

/* Both parts have been decoded: the second is scanned again only if the whole is too long. */
static enum hp_err join_code(struct hp_code *code, const struct hp_node *node, uint32_t route,
                             struct hp_join *join)
{
    prepare(code);
    uint32_t tail_at, at, head_size = (uint32_t)(node->end - node->start);
    struct run tail = run_of_route(code, route, &tail_at), part = tail;
    HP_TRY(hp_grow(&code->bytes, &code->cap_bytes, code->n_bytes + head_size + tail.size, 1));
    HP_TRY(store_bytes(code, code->bytes + node->code, head_size, &at));
    HP_TRY(store_bytes(code, code->bytes + tail_at, tail.size, &tail_at));

    uint32_t room = HP_BLOCK_MAX_INSNS - node->insns;
    bool split = tail.insns > room;
    if (split)
        scan(code, node->mode, node->end, code->bytes + tail_at, tail.size, room, &part);
    struct run whole = {
        .insns = node->insns + part.insns, .size = head_size + part.size, .last = part.last};
    *join = (struct hp_join){.block = HP_NO_ID};
    HP_TRY(route_run(code, node->start, node->module, node->mode, at, &whole, &join->rest));
    if (!split)
        return HP_OK;
    join->block = join->rest;
    tail.insns -= part.insns;
    tail.size -= part.size;
    return route_run(code, node->end + part.size, node->module, node->mode, tail_at + part.size,
                     &tail, &join->rest);
}

enum hp_err hp_code_join(struct hp_code *code, uint32_t node, uint32_t route, struct hp_join *join)
{
    uint64_t key = (uint64_t)node << 32 | route;
    uint32_t known = hp_map64_get(&code->join_of, key);
    if (known != HP_MAP64_NONE) {
        *join = code->joins[known];
        return HP_OK;
    }
    struct hp_node head = code->nodes[node]; /* a copy: the table may move */
    HP_TRY(join_code(code, &head, route, join));
    HP_TRY(hp_grow(&code->joins, &code->cap_joins, (size_t)code->n_joins + 1, sizeof *code->joins));
    HP_TRY(hp_map64_put(&code->join_of, key, code->n_joins));
    code->joins[code->n_joins++] = *join;
    return HP_OK;
}

/* Walks the block's instructions until `end` or `insns` is reached: makes the node of those
 * before. */
static enum hp_err walk_prefix(struct hp_code *code, uint32_t block, uint64_t end, uint32_t insns,
                               struct hp_node *node)
{
    const struct hp_block *b = &code->blocks[block];
    struct hp_node n = {.start = b->start,
                        .end = b->start,
                        .last = b->start - 1,
                        .module = b->module,
                        .code = b->code,
                        .mode = b->flags & HP_BLOCK_THUMB ? HP_MODE_THUMB : HP_MODE_DEFAULT};
    struct hp_insn insn;
    while (n.end < end && n.insns < insns && n.insns + 1 < b->insns &&
           step(code, n.mode, n.end, code->bytes + b->code + (n.end - n.start),
                (uint32_t)(b->end - n.end), n.insns == 0, &insn)) {
        n.last = n.end;
        n.end += insn.length;
        n.insns++;
        n.last_is_rep = (insn.flags & HP_INSN_REP) != 0;
    }
    *node = n;
    if (n.end != end && n.insns != insns)
        return hp_fail(HP_ERR_INVALID, "0x%llx is not an instruction of the block at 0x%llx",
                       (unsigned long long)end, (unsigned long long)b->start);
    return HP_OK;
}

enum hp_err hp_code_prefix(struct hp_code *code, uint32_t block, uint64_t end, uint32_t *node)
{
    uint64_t key = (uint64_t)block << 32 | (uint32_t)(end - code->blocks[block].start);
    uint32_t known = hp_map64_get(&code->prefix_of, key);
    if (known != HP_MAP64_NONE) {
        *node = known;
        return HP_OK;
    }
    struct hp_node made;
    HP_TRY(walk_prefix(code, block, end, UINT32_MAX, &made));
    HP_TRY(add_node(code, &made, node));
    return hp_map64_put(&code->prefix_of, key, *node);
}

enum hp_err hp_code_prefix_insns(struct hp_code *code, uint32_t block, uint32_t insns,
                                 uint32_t *node)
{
    struct hp_node made;
    HP_TRY(walk_prefix(code, block, HP_NOWHERE, insns, &made));
    return hp_code_prefix(code, block, made.end, node);
}

enum hp_err hp_code_close_node(struct hp_code *code, uint32_t node, uint32_t *block)
{
    const struct hp_node *n = &code->nodes[node];
    struct run run = {.insns = n->insns,
                      .size = (uint32_t)(n->end - n->start),
                      .last = {.address = n->insns ? n->last : n->start}};
    return intern_block(code, n->start, n->module, n->mode, n->code, &run, block);
}

/* --- Segments --------------------------------------------------------------------------------- */

static enum hp_err reserve_segment(struct hp_code *code, uint32_t id)
{
    prepare(code);
    size_t need = (size_t)id + 1;
    HP_TRY(hp_grow(&code->route, &code->cap_route, need, sizeof *code->route));
    HP_TRY(hp_grow(&code->chains, &code->cap_chains, need, sizeof *code->chains));
    HP_TRY(hp_grow(&code->segs, &code->cap_segs, need, sizeof *code->segs));
    need = code->n_chain_blocks + HP_RUN_MAX;
    if (need > UINT32_MAX)
        return hp_fail(HP_ERR_NOMEM, "too many runs of blocks");
    HP_TRY(hp_grow(&code->chain_blocks, &code->cap_chain_blocks, need, sizeof *code->chain_blocks));
    HP_TRY(hp_grow(&code->chain_taken, &code->cap_chain_taken, need, sizeof *code->chain_taken));
    /* the segment's own, and that of a block it may add */
    HP_TRY(hp_grow(&code->units, &code->cap_units, (size_t)code->n_units + 2, sizeof *code->units));
    for (; code->segment_limit <= id; code->segment_limit++)
        code->route[code->segment_limit] = HP_ROUTE_UNKNOWN;
    return HP_OK;
}

/* Whether segment `id` can follow its parent. */
static enum hp_err check_parent(const struct hp_code *code, uint32_t id,
                                const struct hp_segment *segment)
{
    uint32_t parent = segment->parent;
    if (parent >= code->segment_limit || !code->segs[parent].defined)
        return hp_fail(HP_ERR_FORMAT, "segment %u continues segment %u, which is not defined", id,
                       parent);
    const struct hp_chain *run = &code->chains[parent];
    if (code->route[parent] & HP_ROUTE_NODE)
        return hp_fail(HP_ERR_FORMAT, "segment %u continues segment %u, which is unfinished", id,
                       parent);
    if (hp_weight_blocks(run->weight) >= HP_RUN_MAX)
        return hp_fail(HP_ERR_FORMAT, "segment %u has more than %d blocks", id, HP_RUN_MAX);
    if (segment->start != run->fall && segment->start != run->target && run->strict)
        return hp_fail(HP_ERR_FORMAT, "segment %u at 0x%llx is not where segment %u leads", id,
                       (unsigned long long)segment->start, parent);
    return HP_OK;
}

/* Makes the unit of `run`, which has more than one block: `parent`'s blocks, shared if nothing has
 * been appended after them, and `last`. There is room. */
static void add_unit(struct hp_code *code, const struct hp_chain *parent, uint32_t last,
                     struct hp_chain *run)
{
    const struct hp_unit *before = &code->units[parent->unit];
    size_t inner = before->n, at = before->at;
    if (inner == 1) {
        at = code->n_chain_blocks;
        code->chain_blocks[at] = before->at;
    } else if (at + inner != code->n_chain_blocks) {
        at = code->n_chain_blocks;
        memcpy(code->chain_blocks + at, code->chain_blocks + before->at, inner * sizeof last);
        memcpy(code->chain_taken + at, code->chain_taken + before->at, inner - 1);
    }
    uint8_t taken = code->hot[last].start != parent->fall;
    code->chain_taken[at + inner - 1] = taken;
    code->chain_blocks[at + inner] = last;
    code->n_chain_blocks = at + inner + 1;
    if (inner < HP_CHAIN_NEAR) {
        run->blocks[inner] = last;
        run->taken |= (uint32_t)taken << 8 * inner;
    }
    run->unit = code->n_units;
    code->units[code->n_units++] = (struct hp_unit){.at = (uint32_t)at, .n = (uint32_t)inner + 1};
}

/* The run of a segment whose own code is `route`. */
static struct hp_chain make_run(struct hp_code *code, uint32_t parent, uint64_t start,
                                uint32_t route)
{
    struct hp_chain run = {.start = start};
    if (parent)
        run = code->chains[parent];
    run.traced = 0;
    if (route & HP_ROUTE_NODE) {
        run.weight |= HP_CHAIN_SLOW;
        return run;
    }
    const struct hp_hot *hot = &code->hot[route];
    run.fall = hot->fall;
    run.target = hot->target;
    run.strict = hot->anywhere ? 0 : -1;
    run.weight += HP_CHAIN_BLOCK + (int64_t)hot->insns;
    if (parent) {
        add_unit(code, &code->chains[parent], route, &run);
    } else {
        run.blocks[0] = route;
        run.unit = code->unit_of[route];
    }
    /* Reaching the start of a signal handler may not be a branch. */
    if (code->blocks[run.blocks[0]].flags & HP_BLOCK_HANDLER)
        run.weight |= HP_CHAIN_SLOW;
    return run;
}

/* The chain is that of a segment in a trace. */
static void note_traced(struct hp_chain *chain, enum hp_in_trace trace)
{
    uint64_t insns = hp_weight_insns(chain->weight);
    chain->traced = HP_TRACED_ENTRY | (trace == HP_TRACE_WHOLE ? HP_TRACED_WHOLE : 0);
    if (insns < HP_TRACED_FEW)
        chain->traced += (uint32_t)insns;
    else
        chain->weight |= HP_CHAIN_SLOW;
}

enum hp_err hp_code_add_segment(struct hp_code *code, uint32_t id, const struct hp_segment *segment)
{
    if (id == 0 || id >= HP_SEGMENTS_MAX)
        return hp_fail(HP_ERR_INVALID, "segment id %u is out of range", id);
    if (id < code->segment_limit && code->segs[id].defined)
        return hp_fail(HP_ERR_INVALID, "segment %u is defined twice", id);
    if (segment->module >= code->n_modules || segment->size == 0)
        return hp_fail(HP_ERR_INVALID, "segment %u has no module or no code", id);
    if (segment->size > HP_BLOCK_MAX_INSNS * 16 || segment->start + segment->size < segment->start)
        return hp_fail(HP_ERR_FORMAT, "segment %u at 0x%llx is impossibly long", id,
                       (unsigned long long)segment->start);
    if (segment->parent)
        HP_TRY(check_parent(code, id, segment));
    hp_map64_fetch(&code->at_start, segment->start); /* while it is decoded */
    struct run run;
    scan(code, segment->mode, segment->start, segment->bytes, segment->size, HP_BLOCK_MAX_INSNS,
         &run);
    bool ended = run.last.flow != HP_FLOW_NONE || run.insns == HP_BLOCK_MAX_INSNS;
    if (ended && run.size != segment->size)
        return hp_fail(HP_ERR_FORMAT, "segment %u at 0x%llx goes on behind a control transfer", id,
                       (unsigned long long)segment->start);
    /* Reserve first: on failure the map must be unchanged. */
    HP_TRY(reserve_segment(code, id));
    uint32_t at, route;
    HP_TRY(store_bytes(code, segment->bytes, segment->size, &at));
    HP_TRY(route_run(code, segment->start, segment->module, segment->mode, at, &run, &route));
    code->segs[id] = (struct hp_code_segment){.start = segment->start,
                                              .module = segment->module,
                                              .size = segment->size,
                                              .code = at,
                                              .parent = segment->parent,
                                              .mode = segment->mode,
                                              .trace = segment->trace,
                                              .defined = 1};
    code->chains[id] = make_run(code, segment->parent, segment->start, route);
    code->route[id] = route;
    if (segment->trace)
        note_traced(&code->chains[id], (enum hp_in_trace)segment->trace);
    return HP_OK;
}
