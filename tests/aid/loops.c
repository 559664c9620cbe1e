/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/loops.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static eddy_output enter(const loop *l, eddy_output value, bool is_constant)
{
    const eddy_string frame = {l->frame, strlen(l->frame)};
    const int64_t parallel_iterations =
        l->parallel_iterations > 0 ? l->parallel_iterations : 10;
    const eddy_attr attrs[] = {
        eddy_attr_string("frame_name", &frame),
        eddy_attr_bool("is_constant", &is_constant),
        eddy_attr_int("parallel_iterations", &parallel_iterations),
    };
    const eddy_node_spec spec = {
        .size = sizeof spec,
        .op = "Enter",
        .inputs = &value,
        .n_inputs = 1,
        .controls = l->within,
        .n_controls = l->within ? 1 : 0,
        .attrs = attrs,
        .n_attrs = sizeof attrs / sizeof attrs[0],
    };
    eddy_output out = {.index = 0};
    eddy_error err;

    ck_assert_msg(eddy_graph_add(l->p->graph, &spec, &out.node, &err) ==
                      EDDY_OK,
                  "%s", err.message);
    return out;
}

void loop_begin(loop *l, const eddy_output *initial, uint32_t n)
{
    ck_assert_uint_le(n, LOOP_VARIABLES);
    l->n = n;
    for (uint32_t i = 0; i < n; i++) {
        const eddy_output first = enter(l, initial[i], false);

        l->merge[i] = program_binary(l->p, "Merge", first, first);
    }
}

eddy_output loop_invariant(loop *l, eddy_output value)
{
    return enter(l, value, true);
}

void loop_while(loop *l, eddy_output predicate)
{
    const eddy_output go_on = program_unary(l->p, "LoopCond", predicate);

    for (uint32_t i = 0; i < l->n; i++) {
        l->exit[i] = program_binary(l->p, "Switch", l->merge[i], go_on);
        l->inside[i] = (eddy_output){l->exit[i].node, 1};
    }
    l->body = program_unary(l->p, "Identity", l->inside[0]).node;
}

void loop_end(loop *l, const eddy_output *next)
{
    eddy_error err;

    for (uint32_t i = 0; i < l->n; i++) {
        const eddy_output back = program_unary(l->p, "NextIteration", next[i]);

        ck_assert_msg(eddy_graph_set_input(l->p->graph, l->merge[i].node, 1,
                                           back, &err) == EDDY_OK,
                      "%s", err.message);
        l->exit[i] = program_unary(l->p, "Exit", l->exit[i]);
    }
}

eddy_output loops_counter(program *p, eddy_output trips)
{
    loops_accumulator(p, trips, 0, &trips);
    return trips;
}

/* The counter's own result comes first when `n` is 0. */
void loops_accumulator(program *p, eddy_output trips, uint32_t n,
                       eddy_output *out_values)
{
    eddy_output values[LOOP_VARIABLES], one;
    loop l = {.p = p, .frame = "loop"};

    ck_assert_uint_lt(n, LOOP_VARIABLES);
    for (uint32_t i = 0; i <= n; i++)
        values[i] = program_int(p, 0);
    loop_begin(&l, values, n + 1);
    one = loop_invariant(&l, program_int(p, 1));
    loop_while(
        &l, program_binary(p, "Less", l.merge[0], loop_invariant(&l, trips)));
    values[0] = program_binary(p, "AddV2", l.inside[0], one);
    for (uint32_t i = 1; i <= n; i++)
        values[i] = program_binary(p, "AddV2", l.inside[i], l.inside[0]);
    loop_end(&l, values);
    if (n == 0)
        *out_values = l.exit[0];
    else
        memcpy(out_values, l.exit + 1, n * sizeof *out_values);
}

/* What every level of a nest brings in: 0, 1 and the number of trips. */
typedef struct level {
    loop loop;
    eddy_output zero, one, trips;
} level;

static void open_level(level *l, program *p, uint32_t depth,
                       const level *outside, eddy_output total)
{
    const eddy_output initial[] = {outside->zero, total};
    char frame[32];

    snprintf(frame, sizeof frame, "level%u", depth);
    l->loop = (loop){.p = p, .frame = frame};
    if (depth > 1)
        l->loop.within = &outside->loop.body;
    loop_begin(&l->loop, initial, 2);
    l->zero = loop_invariant(&l->loop, outside->zero);
    l->one = loop_invariant(&l->loop, outside->one);
    l->trips = loop_invariant(&l->loop, outside->trips);
    loop_while(&l->loop, program_binary(p, "Less", l->loop.merge[0], l->trips));
}

eddy_output loops_nested(program *p, uint32_t depth, eddy_output trips)
{
    level *levels = malloc((depth + 1) * sizeof *levels);
    eddy_output total;

    ck_assert_ptr_nonnull(levels);
    levels[0].zero = total = program_int(p, 0);
    levels[0].one = program_int(p, 1);
    levels[0].trips = trips;
    for (uint32_t d = 1; d <= depth; d++) {
        open_level(&levels[d], p, d, &levels[d - 1], total);
        total = levels[d].loop.inside[1];
    }
    total = program_binary(p, "AddV2", total, levels[depth].one);
    for (uint32_t d = depth; d > 0; d--) {
        loop *l = &levels[d].loop;
        const eddy_output next[] = {
            program_binary(p, "AddV2", l->inside[0], levels[d].one), total};

        loop_end(l, next);
        total = l->exit[1];
    }
    free(levels);
    return total;
}

eddy_output loops_conditional(program *p, eddy_output trips, eddy_output half)
{
    eddy_output values[] = {program_int(p, 0), program_int(p, 0)};
    eddy_output one, branch, i, s, h;
    loop l = {.p = p, .frame = "loop"};

    loop_begin(&l, values, 2);
    one = loop_invariant(&l, program_int(p, 1));
    h = loop_invariant(&l, half);
    loop_while(
        &l, program_binary(p, "Less", l.merge[0], loop_invariant(&l, trips)));
    branch = program_binary(p, "Less", l.inside[0], h);
    i = program_binary(p, "Switch", l.inside[0], branch);
    s = program_binary(p, "Switch", l.inside[1], branch);
    h = program_binary(p, "Switch", h, branch);
    i.index = 1;
    values[1] =
        program_binary(p, "Merge", program_binary(p, "Sub", s, h),
                       program_binary(p, "AddV2", (eddy_output){s.node, 1}, i));
    values[0] = program_binary(p, "AddV2", l.inside[0], one);
    loop_end(&l, values);
    return l.exit[1];
}

eddy_output loops_elementwise(program *p, eddy_output x, eddy_output factor,
                              eddy_output trips)
{
    eddy_output values[] = {program_int(p, 0), x}, one, f;
    loop l = {.p = p, .frame = "loop"};

    loop_begin(&l, values, 2);
    one = loop_invariant(&l, program_int(p, 1));
    f = loop_invariant(&l, factor);
    loop_while(
        &l, program_binary(p, "Less", l.merge[0], loop_invariant(&l, trips)));
    values[0] = program_binary(p, "AddV2", l.inside[0], one);
    values[1] = program_binary(
        p, "AddV2", program_binary(p, "Mul", l.inside[1], f), l.inside[1]);
    loop_end(&l, values);
    return l.exit[1];
}
