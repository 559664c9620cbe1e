/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs as graphs, laid out as TensorFlow's front end does it: what a
 * block reads from outside comes in through a Switch or a constant Enter; a
 * node of a body that reads nothing but invariants gets a control edge, so that
 * it is dead when the body is.
 */
#include "tests/aid/loops.h"
#include "tests/aid/random_program.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct value {
    eddy_output output;
    bool is_steady; /* an invariant: live though the body be dead */
} value;

typedef struct scope scope;

/* The root, a branch, or a loop. */
struct scope {
    scope *outer; /* NULL: the root */
    loop *loop;   /* NULL: a branch */
    eddy_output predicate;
    uint32_t port;
    bool has_pivot;
    eddy_node pivot; /* dead when the block is */
    bool is_here[RANDOM_VARIABLES];
    value variables[RANDOM_VARIABLES];
};

typedef struct builder {
    const random_program *r;
    program *p;
    eddy_node *targets;
    size_t n_targets;
    uint32_t n_frames;
    uint32_t n_constants;
} builder;

/* ---- values ---- */

/* What is outside of `s`, inside of it. */
static value bring_in(builder *b, scope *s, value outside)
{
    value inside = outside;

    if (s->loop) {
        inside.output = loop_invariant(s->loop, outside.output);
        inside.is_steady = true;
    } else {
        inside.output =
            program_binary(b->p, "Switch", outside.output, s->predicate);
        inside.output.index = s->port;
        inside.is_steady = false;
    }
    return inside;
}

static value read_variable(builder *b, scope *s, uint32_t v)
{
    if (!s->is_here[v]) {
        s->variables[v] = bring_in(b, s, read_variable(b, s->outer, v));
        s->is_here[v] = true;
    }
    return s->variables[v];
}

static void write_variable(scope *s, uint32_t v, value new)
{
    s->is_here[v] = true;
    s->variables[v] = new;
}

static value make_constant(builder *b, bool is_float, int64_t number)
{
    const float f = (float)number;

    return (value){.output = is_float ? program_constant(b->p, EDDY_FLOAT32, &f)
                                      : program_int(b->p, number)};
}

static value bring_from_root(builder *b, scope *s, value constant)
{
    return s->outer ? bring_in(b, s, bring_from_root(b, s->outer, constant))
                    : constant;
}

/* By turns made in the block itself, and brought in from the root. */
static value read_constant(builder *b, scope *s, bool is_float, int64_t number)
{
    value constant = make_constant(b, is_float, number);

    if (!s->outer)
        return constant;
    if (s->has_pivot && b->n_constants++ % 2 == 0) {
        program_control(b->p, constant.output.node, s->pivot);
        return constant;
    }
    return bring_from_root(b, s, constant);
}

static value read_operand(builder *b, scope *s, bool is_float,
                          random_operand operand)
{
    return operand.is_constant ? read_constant(b, s, is_float, operand.value)
                               : read_variable(b, s, operand.variable);
}

static value emit_unary(builder *b, scope *s, const char *op, value x)
{
    const value y = {.output = program_unary(b->p, op, x.output)};

    if (s->has_pivot && x.is_steady)
        program_control(b->p, y.output.node, s->pivot);
    return y;
}

static value emit_binary(builder *b, scope *s, const char *op, value x, value y)
{
    const value z = {.output = program_binary(b->p, op, x.output, y.output)};

    if (s->has_pivot && x.is_steady && y.is_steady)
        program_control(b->p, z.output.node, s->pivot);
    return z;
}

static value emit_less(builder *b, scope *s, const random_statement *st)
{
    const value x = read_operand(b, s, st->is_float, st->a);
    const value y = read_operand(b, s, st->is_float, st->b);

    return emit_binary(b, s, "Less", x, y);
}

/* ---- statements ---- */

static void build_assign(builder *b, scope *s, const random_statement *st)
{
    const value x = read_operand(b, s, st->is_float, st->a);
    value y;

    if (st->op[0] == 'N' || st->op[0] == 'L')
        y = emit_unary(b, s, st->op, x);
    else
        y = emit_binary(b, s, st->op, x,
                        read_operand(b, s, st->is_float, st->b));
    if (st->is_float) {
        y = emit_binary(b, s, "Minimum", y, read_constant(b, s, true, 1000));
        y = emit_binary(b, s, "Maximum", y, read_constant(b, s, true, -1000));
    }
    write_variable(s, st->target, y);
}

static void build_block(builder *b, scope *s, uint32_t first);

static void open_branch(builder *b, scope *s, scope *outer, value predicate,
                        uint32_t port)
{
    eddy_output own =
        program_binary(b->p, "Switch", predicate.output, predicate.output);

    own.index = port;
    *s = (scope){
        .outer = outer,
        .predicate = predicate.output,
        .port = port,
        .has_pivot = true,
        .pivot = program_unary(b->p, "Identity", own).node,
    };
}

static void build_branch(builder *b, scope *s, const random_statement *st)
{
    const uint32_t assigned = random_program_assigned(b->r, st->blocks[0]) |
                              random_program_assigned(b->r, st->blocks[1]);
    const value predicate = emit_less(b, s, st);
    scope *blocks = malloc(2 * sizeof *blocks);

    ck_assert_ptr_nonnull(blocks);
    for (uint32_t i = 0; i < 2; i++) {
        open_branch(b, &blocks[i], s, predicate, 1 - i);
        build_block(b, &blocks[i], st->blocks[i]);
    }
    for (uint32_t v = 0; v < RANDOM_VARIABLES; v++) {
        value merged = {.is_steady = false};

        if ((assigned >> v & 1) == 0)
            continue;
        merged.output = program_binary(b->p, "Merge",
                                       read_variable(b, &blocks[1], v).output,
                                       read_variable(b, &blocks[0], v).output);
        write_variable(s, v, merged);
    }
    free(blocks);
}

/* A number, or a variable cut to 0..3. */
static value emit_trips(builder *b, scope *s, const random_statement *st)
{
    value trips = read_operand(b, s, false, st->trips);

    if (st->trips.is_constant)
        return trips;
    trips = emit_binary(b, s, "Minimum", trips, read_constant(b, s, false, 3));
    return emit_binary(b, s, "Maximum", trips, read_constant(b, s, false, 0));
}

/* Variable 0 of the loop is its counter; `ids` are the others. */
static uint32_t begin_loop(builder *b, scope *s, loop *l, uint32_t assigned,
                           uint32_t *ids)
{
    eddy_output initial[RANDOM_VARIABLES + 1];
    uint32_t n = 0;

    initial[0] = read_constant(b, s, false, 0).output;
    for (uint32_t v = 0; v < RANDOM_VARIABLES; v++)
        if (assigned >> v & 1) {
            ids[n++] = v;
            initial[n] = read_variable(b, s, v).output;
        }
    loop_begin(l, initial, n + 1);
    return n;
}

static void build_loop(builder *b, scope *s, const random_statement *st)
{
    char frame[32];
    loop l = {.p = b->p,
              .frame = frame,
              .parallel_iterations = st->parallel_iterations,
              .within = s->has_pivot ? &s->pivot : NULL};
    scope *body = calloc(1, sizeof *body);
    const value trips = emit_trips(b, s, st);
    uint32_t ids[RANDOM_VARIABLES], n;
    eddy_output next[RANDOM_VARIABLES + 1];
    value go_on, one;

    ck_assert_ptr_nonnull(body);
    body->outer = s;
    body->loop = &l;
    snprintf(frame, sizeof frame, "frame%u", b->n_frames++);
    n = begin_loop(b, s, &l, random_program_assigned(b->r, st->blocks[0]), ids);
    for (uint32_t i = 0; i < n; i++)
        write_variable(body, ids[i], (value){.output = l.merge[i + 1]});
    go_on = emit_binary(b, body, "Less", (value){.output = l.merge[0]},
                        bring_in(b, body, trips));
    if (st->has_condition)
        go_on =
            emit_binary(b, body, "LogicalAnd", go_on, emit_less(b, body, st));
    loop_while(&l, go_on.output);
    for (uint32_t i = 0; i < n; i++)
        write_variable(body, ids[i], (value){.output = l.inside[i + 1]});
    body->has_pivot = true;
    body->pivot = l.body;
    one = read_constant(b, body, false, 1);
    build_block(b, body, st->blocks[0]);
    next[0] = emit_binary(b, body, "AddV2", (value){.output = l.inside[0]}, one)
                  .output;
    for (uint32_t i = 0; i < n; i++)
        next[i + 1] = read_variable(b, body, ids[i]).output;
    loop_end(&l, next);
    b->targets[b->n_targets++] = l.exit[0].node;
    for (uint32_t i = 0; i < n; i++)
        write_variable(s, ids[i], (value){.output = l.exit[i + 1]});
    free(body);
}

static void build_block(builder *b, scope *s, uint32_t first)
{
    for (uint32_t id = first; id != NO_STATEMENT;
         id = b->r->statements[id].next) {
        const random_statement *st = &b->r->statements[id];

        switch (st->kind) {
        case RANDOM_ASSIGN:
            build_assign(b, s, st);
            break;
        case RANDOM_BRANCH:
            build_branch(b, s, st);
            break;
        case RANDOM_LOOP:
            build_loop(b, s, st);
            break;
        }
    }
}

/* ---- the whole ---- */

static value start_variable(const builder *b, uint32_t v)
{
    const bool is_float = random_is_float(v);
    const int64_t n = random_is_vector(v) ? b->r->width : 1;
    const eddy_shape shape = {.rank = random_is_vector(v), .dims = {n}};
    eddy_tensor *tensor;
    value start = {.is_steady = false};
    eddy_error err;

    ck_assert_int_eq(eddy_tensor_create(b->p->ctx,
                                        is_float ? EDDY_FLOAT32 : EDDY_INT64,
                                        &shape, &tensor, &err),
                     EDDY_OK);
    for (int64_t i = 0; i < n; i++) {
        const int64_t element = random_program_start(v, i);

        if (is_float)
            ((float *)eddy_tensor_mutable_data(tensor))[i] = (float)element;
        else
            ((int64_t *)eddy_tensor_mutable_data(tensor))[i] = element;
    }
    ck_assert_int_eq(
        eddy_graph_add_const(b->p->graph, NULL, tensor, &start.output, &err),
        EDDY_OK);
    eddy_tensor_release(tensor);
    return start;
}

size_t random_program_build(const random_program *r, program *p,
                            eddy_output *out_values, eddy_node *out_targets)
{
    builder b = {.r = r, .p = p, .targets = out_targets};
    scope root = {.outer = NULL};

    for (uint32_t v = 0; v < RANDOM_VARIABLES; v++)
        write_variable(&root, v, start_variable(&b, v));
    build_block(&b, &root, r->first);
    for (uint32_t v = 0; v < RANDOM_VARIABLES; v++)
        out_values[v] = root.variables[v].output;
    return b.n_targets;
}
