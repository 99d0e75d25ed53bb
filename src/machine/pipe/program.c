// SPDX-License-Identifier: MIT
/*
 * The static code: pieces, their instructions and micro-operations, each in one growing table.
 */
#include "hotpath/pipe.h"

#include "base/bisect.h"
#include "base/grow.h"
#include "base/map64.h"
#include "machine/pipe/image.h"
#include "machine/pipe/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BITS  12
#define INSN_BYTES 16 /* at least as long as any instruction */

/* Private part of a piece. */
struct origin {
    uint64_t start;
    size_t bytes; /* of a wrong path: where its code is in `bytes` */
    uint8_t mode; /* enum hp_isa_mode */
    bool current; /* the last reached at its address */
};

struct hp_program {
    const struct hp_machine *machine;
    struct hp_code *code;
    struct hp_decoder *decoder;
    struct hp_piece *pieces;
    struct origin *origins; /* by piece */
    uint32_t n_pieces;
    struct hp_static *insns;
    uint32_t n_insns;
    struct hp_uop *uops;
    uint32_t n_uops;
    uint8_t *bytes; /* of pieces of wrong paths */
    size_t n_bytes;
    size_t cap_pieces, cap_origins, cap_insns, cap_uops, cap_bytes;
    uint32_t *of_block; /* piece + 1; 0: not made */
    size_t cap_of_block;

    struct hp_map64 reached;   /* address -> current piece */
    struct hp_map64 guessed;   /* address -> piece of a file */
    struct hp_map64 nothing;   /* address -> 0: no file has code there */
    struct hp_map64 page_mode; /* ARM: page -> mode of what was reached there last */
    struct hp_images images;
};

/* --- Making and freeing ----------------------------------------------------------------------- */

enum hp_err hp_program_new(const struct hp_machine *machine, struct hp_code *code,
                           struct hp_program **program)
{
    *program = NULL;
    struct hp_program *made = calloc(1, sizeof *made);
    if (!made)
        return hp_fail_nomem();
    made->machine = machine;
    made->code = code;
    enum hp_err err = hp_decoder_new(hp_code_arch(code), &made->decoder);
    if (err != HP_OK) {
        free(made);
        return err;
    }
    *program = made;
    return HP_OK;
}

void hp_program_free(struct hp_program *program)
{
    if (!program)
        return;
    hp_decoder_free(program->decoder);
    free(program->pieces);
    free(program->origins);
    free(program->insns);
    free(program->uops);
    free(program->bytes);
    free(program->of_block);
    hp_map64_fini(&program->reached);
    hp_map64_fini(&program->guessed);
    hp_map64_fini(&program->nothing);
    hp_map64_fini(&program->page_mode);
    hp_images_fini(&program->images);
    free(program);
}

/* --- Pieces ----------------------------------------------------------------------------------- */

static enum hp_err add_insn(struct hp_program *p, struct hp_piece *piece,
                            const struct hp_insn *insn)
{
    struct hp_uop uops[HP_UOPS_MAX];
    unsigned n = hp_split(p->machine, hp_code_arch(p->code), insn, uops);
    HP_TRY(hp_grow(&p->insns, &p->cap_insns, (size_t)p->n_insns + 1, sizeof *p->insns));
    HP_TRY(hp_grow(&p->uops, &p->cap_uops, (size_t)p->n_uops + HP_UOPS_MAX, sizeof *p->uops));
    struct hp_static *out = &p->insns[p->n_insns];
    hp_split_describe(insn, uops, n, out);
    out->uops = p->n_uops;
    out->block = piece->block;
    out->first_mem = (uint16_t)piece->n_mems;
    memcpy(p->uops + p->n_uops, uops, n * sizeof *uops);
    p->n_uops += n;
    p->n_insns++;
    piece->n++;
    piece->n_mems += insn->n_mems;
    return HP_OK;
}

/* Makes a piece of decoded instructions; on failure nothing has changed. */
static enum hp_err add_piece(struct hp_program *p, const struct hp_insn *insns, uint32_t n,
                             uint32_t block, const struct origin *origin)
{
    struct hp_piece piece = {.first = p->n_insns, .block = block};
    uint32_t uops = p->n_uops;
    HP_TRY(hp_grow(&p->pieces, &p->cap_pieces, (size_t)p->n_pieces + 1, sizeof piece));
    HP_TRY(hp_grow(&p->origins, &p->cap_origins, (size_t)p->n_pieces + 1, sizeof *origin));
    for (uint32_t i = 0; i < n; i++) {
        enum hp_err err = add_insn(p, &piece, &insns[i]);
        if (err != HP_OK) {
            p->n_insns = piece.first;
            p->n_uops = uops;
            return err;
        }
    }
    p->pieces[p->n_pieces] = piece;
    p->origins[p->n_pieces++] = *origin;
    return HP_OK;
}

enum hp_err hp_program_block(struct hp_program *program, uint32_t block, uint32_t *piece)
{
    if (block < program->cap_of_block && program->of_block[block]) {
        *piece = program->of_block[block] - 1;
        return HP_OK;
    }
    const struct hp_insn *insns;
    if (block >= hp_code_n_blocks(program->code))
        return hp_fail(HP_ERR_INVALID, "there is no block %u", block);
    HP_TRY(hp_grow(&program->of_block, &program->cap_of_block, hp_code_n_blocks(program->code),
                   sizeof *program->of_block));
    HP_TRY(hp_code_insns(program->code, block, &insns));
    const struct hp_block *b = hp_code_block(program->code, block);
    struct origin origin = {
        .start = b->start,
        .mode = b->flags & HP_BLOCK_THUMB ? HP_MODE_THUMB : HP_MODE_DEFAULT,
    };
    HP_TRY(add_piece(program, insns, b->insns, block, &origin));
    *piece = program->n_pieces - 1;
    program->of_block[block] = program->n_pieces;
    return HP_OK;
}

/* --- Wrong paths ------------------------------------------------------------------------------ */

/* A new module may have code where there was none, or different code. */
static void reach_module(struct hp_program *p, uint32_t block)
{
    size_t before = p->images.n;
    if (hp_images_reach(&p->images, p->code, block) != HP_OK || p->images.n == before)
        return;
    hp_map64_fini(&p->nothing);
    if (hp_images_overlap(&p->images))
        hp_map64_fini(&p->guessed);
}

/* If memory runs out, later look-ups find nothing, which is harmless. */
void hp_program_reach(struct hp_program *program, uint32_t piece)
{
    struct origin *origin = &program->origins[piece];
    uint32_t block = program->pieces[piece].block;
    if (origin->current || block == HP_NO_ID)
        return;
    uint32_t before = hp_map64_get(&program->reached, origin->start);
    if (hp_map64_put(&program->reached, origin->start, piece) != HP_OK)
        return;
    origin->current = true;
    if (before != HP_MAP64_NONE)
        program->origins[before].current = false;
    if (hp_code_arch(program->code) == HP_ARCH_ARM)
        hp_map64_keep(&program->page_mode, origin->start >> PAGE_BITS, origin->mode);
    if (!hp_images_known(&program->images, hp_code_block(program->code, block)->module))
        reach_module(program, block);
}

/* Decodes straight-line code up to its first transfer; returns the number of instructions. */
static uint32_t decode(struct hp_program *p, const struct origin *origin, const uint8_t *bytes,
                       size_t size, struct hp_insn insns[HP_PIECE_MAX])
{
    size_t at = 0;
    for (uint32_t n = 0; n < HP_PIECE_MAX; n++) {
        if (hp_decode(p->decoder, (enum hp_isa_mode)origin->mode, origin->start + at, bytes + at,
                      size - at, false, &insns[n]) != HP_OK)
            return n;
        if (insns[n].flow != HP_FLOW_NONE)
            return n + 1;
        at += insns[n].length;
    }
    return HP_PIECE_MAX;
}

/* Makes a piece from the code of a file at an address. HP_ERR_NOTFOUND: no file has any. */
static enum hp_err guess(struct hp_program *p, uint64_t address)
{
    struct hp_insn insns[HP_PIECE_MAX];
    enum hp_isa_mode mode;
    size_t room = HP_PIECE_MAX * INSN_BYTES;
    HP_TRY(hp_grow(&p->bytes, &p->cap_bytes, p->n_bytes + room, 1));
    uint8_t *bytes = p->bytes + p->n_bytes;
    size_t size = hp_images_read(&p->images, address, bytes, room, &mode);
    uint32_t page = hp_map64_get(&p->page_mode, address >> PAGE_BITS);
    struct origin origin = {.start = address, .bytes = p->n_bytes};
    if (size)
        origin.mode = page != HP_MAP64_NONE ? (uint8_t)page : (uint8_t)mode;
    uint32_t n = size ? decode(p, &origin, bytes, size, insns) : 0;
    if (!n)
        return HP_ERR_NOTFOUND;
    HP_TRY(add_piece(p, insns, n, HP_NO_ID, &origin));
    p->n_bytes += (size_t)(insns[n - 1].address + insns[n - 1].length - address);
    return HP_OK;
}

uint32_t hp_program_at(struct hp_program *program, uint64_t address)
{
    uint32_t piece = hp_map64_get(&program->reached, address);
    if (piece == HP_MAP64_NONE)
        piece = hp_map64_get(&program->guessed, address);
    if (piece != HP_MAP64_NONE)
        return piece;
    if (hp_map64_get(&program->nothing, address) != HP_MAP64_NONE)
        return HP_NO_ID;
    enum hp_err err = guess(program, address);
    if (err == HP_ERR_NOTFOUND)
        hp_map64_keep(&program->nothing, address, 0);
    if (err != HP_OK)
        return HP_NO_ID;
    piece = program->n_pieces - 1;
    hp_map64_keep(&program->guessed, address, piece);
    return piece;
}

/* --- Asking ----------------------------------------------------------------------------------- */

const struct hp_piece *hp_program_piece(const struct hp_program *program, uint32_t piece)
{
    return &program->pieces[piece];
}

const struct hp_static *hp_program_insns(const struct hp_program *program)
{
    return program->insns;
}

const struct hp_uop *hp_program_uops(const struct hp_program *program)
{
    return program->uops;
}

uint32_t hp_program_n_insns(const struct hp_program *program)
{
    return program->n_insns;
}

const struct hp_machine *hp_program_machine(const struct hp_program *program)
{
    return program->machine;
}

struct hp_code *hp_program_code(const struct hp_program *program)
{
    return program->code;
}

/* The piece that contains an instruction; ids ascend with pieces. */
static uint32_t piece_of(const struct hp_program *p, uint32_t insn)
{
    return (uint32_t)HP_BISECT(i, 1, p->n_pieces, p->pieces[i].first <= insn) - 1;
}

void hp_program_text(struct hp_program *program, uint32_t insn, char *text, size_t size)
{
    uint64_t address = insn < program->n_insns ? program->insns[insn].address : 0;
    hp_program_text_at(program, insn, address, text, size);
}

void hp_program_text_at(struct hp_program *program, uint32_t insn, uint64_t address, char *text,
                        size_t size)
{
    if (size == 0)
        return;
    snprintf(text, size, "(bad)");
    if (insn >= program->n_insns)
        return;
    const struct hp_static *i = &program->insns[insn];
    const struct origin *origin = &program->origins[piece_of(program, insn)];
    const uint8_t *bytes =
        i->block == HP_NO_ID ? program->bytes + origin->bytes
                             : hp_code_bytes(program->code, hp_code_block(program->code, i->block));
    hp_disassemble(program->decoder, (enum hp_isa_mode)origin->mode, address,
                   bytes + (i->address - origin->start), (size_t)(i->end - i->address), text, size);
}
