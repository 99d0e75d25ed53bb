// SPDX-License-Identifier: MIT
#include "profiler/wpp/format.h"

#include "profiler/wpp/grammar_impl.h"

#include <stdlib.h>
#include <string.h>

const uint8_t hp_wpp_magic[8] = {'H', 'P', 'W', 'P', 'P', '\r', '\n', 0};

enum hp_err hp_out_varint(struct hp_bytes_out *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (uint8_t)(value | 0x80);
    bytes[n++] = (uint8_t)value;
    return hp_out_bytes(out, bytes, n);
}

uint64_t hp_in_varint(struct hp_bytes_in *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0; in->at < in->end && !in->bad; shift += 7) {
        uint8_t byte = *in->at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    in->bad = true;
    return 0;
}

enum hp_err hp_wpp_frame_begin(struct hp_bytes_out *out, enum hp_wpp_frame kind)
{
    out->size = 0;
    HP_TRY(hp_out_uint(out, kind, 4));
    return hp_out_uint(out, 0, 8);
}

enum hp_err hp_wpp_frame_end(struct hp_bytes_out *out)
{
    uint64_t size = out->size - HP_WPP_FRAME_HEAD;
    for (unsigned i = 0; i < 8; i++)
        out->bytes[4 + i] = (uint8_t)(size >> (8 * i));
    return hp_out_uint(out, hp_trace_crc(out->bytes, out->size), 4);
}

/* --- A grammar -------------------------------------------------------------------------------- */

/* Marks a rule as written: its number replaces the count of uses. */
#define NUMBERED 0x80000000u

static bool to_enter(const struct hp_grammar *g, uint32_t node)
{
    uint32_t symbol = g->nodes[node].symbol;
    return is_rule(symbol) && !(g->nodes[symbol & ~HP_GRAMMAR_RULE].repeat & NUMBERED);
}

static enum hp_err encode_rule(const struct hp_grammar *g, uint32_t guard, uint32_t number,
                               struct hp_bytes_out *out)
{
    uint64_t n = 0;
    for (uint32_t i = g->nodes[guard].next; i != guard; i = g->nodes[i].next)
        n++;
    HP_TRY(hp_out_varint(out, n));
    for (uint32_t i = g->nodes[guard].next; i != guard; i = g->nodes[i].next) {
        const struct node *node = &g->nodes[i];
        bool rule = is_rule(node->symbol), repeated = node->repeat > 1;
        uint64_t value = node->symbol;
        if (rule)
            value = number - 1 - (g->nodes[node->symbol & ~HP_GRAMMAR_RULE].repeat & ~NUMBERED);
        HP_TRY(hp_out_varint(out, value << 2 | (uint64_t)rule << 1 | repeated));
        if (repeated)
            HP_TRY(hp_out_varint(out, node->repeat));
    }
    return HP_OK;
}

enum hp_err hp_wpp_encode(struct hp_grammar *g, struct hp_bytes_out *out)
{
    uint32_t *stack = malloc(g->n_rules * sizeof *stack);
    if (!stack)
        return hp_fail_nomem();
    /* The digrams are no longer needed, and the bytes need room. */
    free(g->slots);
    g->slots = NULL;
    enum hp_err err = hp_out_varint(out, g->n_rules);
    uint32_t depth = 0, number = 0, at = g->nodes[g->start].next;
    while (err == HP_OK) {
        if (g->nodes[at].symbol == SYMBOL_GUARD) {
            err = encode_rule(g, at, number, out);
            g->nodes[at].repeat = NUMBERED | number++;
            if (!depth)
                break;
            at = g->nodes[stack[--depth]].next;
        } else if (to_enter(g, at)) {
            stack[depth++] = at;
            at = g->nodes[g->nodes[at].symbol & ~HP_GRAMMAR_RULE].next;
        } else {
            at = g->nodes[at].next;
        }
    }
    free(stack);
    return err;
}
