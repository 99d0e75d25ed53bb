// SPDX-License-Identifier: MIT
#include "machine/blocks.h"

#include "base/grow.h"
#include "machine/power.h"

#include <stdlib.h>

void hp_blocks_init(struct hp_blocks *blocks, const struct hp_machine *machine,
                    const struct hp_memory *memory)
{
    *blocks = (struct hp_blocks){.line_bits = memory->l1i.line_bits,
                                 .width = (unsigned)machine->core.width,
                                 .fetch_cost = memory->l1i.cost,
                                 .fetch_ports = memory->l1i.ports,
                                 .data_cost = memory->l1d.cost,
                                 .data_ports = memory->l1d.ports};
}

void hp_blocks_fini(struct hp_blocks *blocks)
{
    free(blocks->infos);
    free(blocks->steps);
    *blocks = (struct hp_blocks){0};
}

/* Bits of an instruction's address that are always 0. */
unsigned hp_pc_bits(enum hp_arch arch)
{
    switch (arch) {
    case HP_ARCH_AARCH64:
    case HP_ARCH_ALPHA: return 2;
    case HP_ARCH_ARM:
    case HP_ARCH_RISCV64: return 1;
    default: return 0;
    }
}

/* --- Steps ------------------------------------------------------------------------------------ */

/* A block being analysed. */
struct walk {
    struct hp_blocks *blocks;
    struct hp_block_info *info;
    uint64_t line; /* fetched last */
    uint32_t cycle;
    uint32_t fetches, accesses; /* in that cycle */
};

static enum hp_err add_step(struct walk *walk, struct hp_step_info step)
{
    struct hp_blocks *b = walk->blocks;
    HP_TRY(hp_grow(&b->steps, &b->cap_steps, b->n_steps + 1, sizeof *b->steps));
    step.cycle = (uint16_t)walk->cycle;
    b->steps[b->n_steps++] = step;
    walk->info->n_steps++;
    return HP_OK;
}

/* In a cycle, one access serves all consecutive instructions in the same line. */
static void count_fetch(struct walk *walk)
{
    const struct hp_blocks *b = walk->blocks;
    walk->info->fetch_power_cycle += hp_power_nth(b->fetch_cost, b->fetch_ports, ++walk->fetches);
}

static enum hp_err add_fetches(struct walk *walk, uint64_t first, uint64_t last, bool is_first)
{
    bool fetched = false;
    if (is_first)
        walk->line = first;
    if (walk->fetches == 0 && walk->line == first)
        count_fetch(walk);
    if (is_first) {
        HP_TRY(add_step(walk, (struct hp_step_info){0}));
        fetched = true;
    }
    while (walk->line < last) {
        walk->line++;
        count_fetch(walk);
        HP_TRY(add_step(walk, (struct hp_step_info){.same = fetched}));
        fetched = true;
    }
    return HP_OK;
}

static void count_access(struct walk *walk, unsigned access)
{
    const struct hp_blocks *b = walk->blocks;
    struct hp_block_info *info = walk->info;
    info->n_operands++;
    info->reads = (uint16_t)(info->reads + (access & HP_ACCESS_READ ? 1 : 0));
    info->writes = (uint16_t)(info->writes + (access == HP_ACCESS_WRITE));
    info->updates = (uint16_t)(info->updates + (access == (HP_ACCESS_READ | HP_ACCESS_WRITE)));
    for (unsigned bit = HP_ACCESS_READ; bit <= HP_ACCESS_WRITE; bit <<= 1) {
        if (!(access & bit))
            continue;
        info->data_power += b->data_cost;
        info->data_power_cycle += hp_power_nth(b->data_cost, b->data_ports, ++walk->accesses);
    }
}

/* An operand that is neither read nor written (a prefetch) counts as read. */
static enum hp_err add_operand(struct walk *walk, const struct hp_mem *mem)
{
    unsigned access = (mem->read ? HP_ACCESS_READ : 0u) | (mem->write ? HP_ACCESS_WRITE : 0u);
    if (!access)
        access = HP_ACCESS_READ;
    count_access(walk, access);
    return add_step(
        walk, (struct hp_step_info){.size = mem->size ? mem->size : 1, .access = (uint8_t)access});
}

static enum hp_err add_insn(struct walk *walk, const struct hp_insn *insn, uint32_t index)
{
    const struct hp_blocks *b = walk->blocks;
    if (index % b->width == 0) {
        walk->cycle = index / b->width;
        walk->fetches = walk->accesses = 0;
    }
    uint64_t last = insn->address + (insn->length ? insn->length - 1u : 0u);
    HP_TRY(add_fetches(walk, insn->address >> b->line_bits, last >> b->line_bits, index == 0));
    for (unsigned i = 0; i < insn->n_mems; i++)
        HP_TRY(add_operand(walk, &insn->mems[i]));
    return HP_OK;
}

/* --- Blocks ----------------------------------------------------------------------------------- */

static void describe_end(struct hp_block_info *info, const struct hp_block *block, unsigned shift)
{
    bool branch = block->flow != HP_FLOW_NONE && block->flow != HP_FLOW_SYSCALL &&
                  block->flow != HP_FLOW_TRAP;
    info->pc = block->last >> shift;
    info->end = block->end;
    info->insns = block->insns;
    info->flow = block->flow;
    info->flags = HP_INFO_KNOWN;
    if (branch)
        info->flags |= HP_INFO_BRANCH;
    if (branch && (block->flow == HP_FLOW_COND || block->flags & HP_BLOCK_CONDITIONAL))
        info->flags |= HP_INFO_CONDITIONAL;
    if (block->target && block->target <= block->last)
        info->flags |= HP_INFO_BACKWARD;
}

enum hp_err hp_blocks_part(struct hp_blocks *blocks, struct hp_code *code, uint32_t block,
                           uint32_t n, struct hp_block_info *info)
{
    const struct hp_insn *insns;
    struct walk walk = {.blocks = blocks, .info = info};
    HP_TRY(hp_code_insns(code, block, &insns));
    *info = (struct hp_block_info){.steps = (uint32_t)blocks->n_steps};
    describe_end(info, hp_code_block(code, block), hp_pc_bits(hp_code_arch(code)));
    info->first_line = insns[0].address >> blocks->line_bits;
    if (info->insns > n)
        info->insns = n;
    for (uint32_t i = 0; i < info->insns; i++) {
        enum hp_err err = add_insn(&walk, &insns[i], i);
        if (err != HP_OK) {
            blocks->n_steps = info->steps;
            return err;
        }
    }
    return HP_OK;
}

enum hp_err hp_blocks_add(struct hp_blocks *blocks, struct hp_code *code, uint32_t block)
{
    struct hp_block_info info;
    HP_TRY(hp_grow(&blocks->infos, &blocks->cap_infos, hp_code_n_blocks(code), sizeof info));
    HP_TRY(hp_blocks_part(blocks, code, block, UINT32_MAX, &info));
    blocks->infos[block] = info;
    return HP_OK;
}
