/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorFlow's loops and branches of v1 mode, written node for node with the
 * five primitives.
 */
#include "benchmarks/loops.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- one loop ---- */

void loop_open(builder *b, loop *l, const char *frame,
               const eddy_output *firsts, uint32_t n)
{
    l->n = n;
    for (uint32_t i = 0; i < n; i++) {
        const eddy_output enter = builder_enter(b, frame, firsts[i], false);

        l->merges[i] = eddy_emit_binary(&b->e, "Merge", enter, enter);
    }
}

void loop_test(builder *b, loop *l, eddy_output predicate)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const eddy_output out =
            eddy_emit_binary(&b->e, "Switch", l->merges[i], predicate);

        l->switches[i] = out;
        l->body[i] =
            eddy_emit_unary(&b->e, "Identity", (eddy_output){out.node, 1});
    }
}

void loop_close(builder *b, const loop *l, const eddy_output *nexts,
                eddy_output *out_exits)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const eddy_output next =
            eddy_emit_unary(&b->e, "NextIteration", nexts[i]);

        eddy_emit_set_input(&b->e, l->merges[i].node, 1, next);
        if (out_exits)
            out_exits[i] = eddy_emit_unary(&b->e, "Exit", l->switches[i]);
    }
}

void loop_test_trips(builder *b, loop *l, int32_t trips)
{
    const eddy_output limit = builder_int(b, trips, l->merges[0].node);
    const eddy_output less =
        eddy_emit_binary(&b->e, "Less", l->merges[0], limit);

    loop_test(b, l, eddy_emit_unary(&b->e, "LoopCond", less));
}

eddy_output loop_next_count(builder *b, const loop *l)
{
    return eddy_emit_binary(&b->e, "AddV2", l->body[0],
                            builder_int(b, 1, l->body[0].node));
}

/* ---- nests ---- */

/* Exact in binary, and different for each variable. */
float nest_step(uint32_t variable)
{
    return 0.25F * (float)variable;
}

/* The counter starts anew in each level; the floats come from outside. */
static void open_level(builder *b, const nest *shape, uint32_t level,
                       loop *levels)
{
    const bool is_outermost = level == 0;
    const loop *outer = is_outermost ? NULL : &levels[level - 1];
    const eddy_node after = outer ? outer->body[0].node : EDDY_NO_NODE;
    eddy_output firsts[LOOP_MAX_VARIABLES];
    char frame[32];

    firsts[0] = builder_int(b, 0, after);
    for (uint32_t i = 1; i < shape->variables; i++)
        firsts[i] = outer ? outer->body[i] : builder_float(b, 0, after);
    snprintf(frame, sizeof frame, "level%u", level + 1);
    loop_open(b, &levels[level], frame, firsts, shape->variables);
    loop_test_trips(b, &levels[level], shape->trips);
}

static void build_levels(builder *b, const nest *shape, loop *levels,
                         eddy_output *out)
{
    const loop *innermost = &levels[shape->depth - 1];
    eddy_output values[LOOP_MAX_VARIABLES];

    for (uint32_t level = 0; level < shape->depth; level++)
        open_level(b, shape, level, levels);
    for (uint32_t i = 1; i < shape->variables; i++)
        values[i] = eddy_emit_binary(
            &b->e, "AddV2", innermost->body[i],
            builder_float(b, nest_step(i), innermost->body[0].node));
    for (uint32_t level = shape->depth; level-- > 0;) {
        values[0] = loop_next_count(b, &levels[level]);
        loop_close(b, &levels[level], values, out);
        for (uint32_t i = 0; i < shape->variables; i++)
            values[i] = out[i];
    }
}

void nest_build(builder *b, const nest *shape, eddy_output *out)
{
    loop *levels = calloc(shape->depth, sizeof *levels);

    if (levels)
        build_levels(b, shape, levels, out);
    else if (b->e.status == EDDY_OK)
        builder_fail(b, "no memory for the loops of a nest");
    free(levels);
}

/* ---- a cond in a loop ---- */

/* What cond(predicate, x + 1, x * 0.5) lowers to. */
static eddy_output add_cond(builder *b, eddy_output predicate, eddy_output x)
{
    const eddy_output pivot =
        eddy_emit_binary(&b->e, "Switch", predicate, predicate);
    const eddy_output when_true =
        eddy_emit_unary(&b->e, "Identity", (eddy_output){pivot.node, 1});
    const eddy_output when_false = eddy_emit_unary(&b->e, "Identity", pivot);
    const eddy_output same = eddy_emit_unary(&b->e, "Identity", predicate);
    const eddy_output x_add = eddy_emit_binary(&b->e, "Switch", x, same);
    const eddy_output x_mul = eddy_emit_binary(&b->e, "Switch", x, same);
    const eddy_output sum =
        eddy_emit_binary(&b->e, "AddV2", (eddy_output){x_add.node, 1},
                         builder_float(b, 1, when_true.node));
    const eddy_output product = eddy_emit_binary(
        &b->e, "Mul", x_mul, builder_float(b, 0.5F, when_false.node));

    return eddy_emit_binary(&b->e, "Merge", product, sum);
}

void cond_in_loop_build(builder *b, int32_t trips, eddy_output *out)
{
    const eddy_output firsts[] = {builder_int(b, 0, EDDY_NO_NODE),
                                  builder_float(b, 0, EDDY_NO_NODE)};
    eddy_output nexts[2], parity, is_even;
    eddy_node pivot;
    loop l;

    loop_open(b, &l, "loop", firsts, 2);
    loop_test_trips(b, &l, trips);
    pivot = l.body[0].node;
    parity = eddy_emit_binary(&b->e, "FloorMod", l.body[0],
                              builder_int(b, 2, pivot));
    is_even =
        eddy_emit_binary(&b->e, "Equal", parity, builder_int(b, 0, pivot));
    nexts[0] = loop_next_count(b, &l);
    nexts[1] = add_cond(b, is_even, l.body[1]);
    loop_close(b, &l, nexts, out);
}
