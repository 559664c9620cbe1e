/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What loading, gradients, plans and unrolling take grows with the graph: twice
 * the graph, about twice the bytes asked for.  Bytes of the allocator stand for
 * work, since they are the same on every machine.
 */
#include "tests/aid/functions.h"
#include "tests/aid/loops.h"
#include "tests/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What twice the graph may take; a little more than twice, for logarithms. */
#define MOST 2.35

/* An allocator that adds up all that is ever asked for. */
typedef struct sum {
    eddy_allocator allocator;
    const eddy_allocator *behind;
    size_t bytes;
} sum;

static void *add_up(void *user, size_t size, size_t alignment)
{
    sum *s = user;

    s->bytes += size;
    return s->behind->allocate(s->behind->user, size, alignment);
}

static void give_back(void *user, void *memory, size_t size)
{
    sum *s = user;

    s->behind->release(s->behind->user, memory, size);
}

static void *allocate_plain(void *user, size_t size, size_t alignment)
{
    (void)user;
    return aligned_alloc(alignment,
                         (size + alignment - 1) / alignment * alignment);
}

static void release_plain(void *user, void *memory, size_t size)
{
    (void)user;
    (void)size;
    free(memory);
}

/* ---- graphs of a size ---- */

typedef struct shaped {
    program p;
    sum sum;
    eddy_output x, y;
} shaped;

static eddy_output many(shaped *s, const char *op, const eddy_output *inputs,
                        size_t n)
{
    eddy_output out;

    ck_assert_int_eq(
        eddy_graph_add_op(s->p.graph, op, NULL, inputs, n, &out, &s->p.err),
        EDDY_OK);
    return out;
}

static eddy_output *list(size_t n)
{
    eddy_output *outputs = calloc(n, sizeof *outputs);

    ck_assert_ptr_nonnull(outputs);
    return outputs;
}

static void build_chain(shaped *s, size_t n)
{
    s->y = s->x;
    for (size_t i = 0; i < n; i++)
        s->y = program_binary(&s->p, "Mul", s->y, s->x);
}

/* One value, read by one node over and over. */
static void build_fan_in(shaped *s, size_t n)
{
    eddy_output *inputs = list(n);

    for (size_t i = 0; i < n; i++)
        inputs[i] = s->x;
    s->y = many(s, "AddN", inputs, n);
    free(inputs);
}

static void build_fan_out(shaped *s, size_t n)
{
    eddy_output *inputs = list(n);

    for (size_t i = 0; i < n; i++)
        inputs[i] = program_unary(&s->p, "Square", s->x);
    s->y = many(s, "AddN", inputs, n);
    free(inputs);
}

static void build_grid(shaped *s, size_t n)
{
    eddy_output a = s->x, b = s->x;

    for (size_t i = 0; i < n; i++) {
        const eddy_output product = program_binary(&s->p, "Mul", a, b);

        b = program_binary(&s->p, "AddV2", a, b);
        a = product;
    }
    s->y = a;
}

static eddy_output cond(shaped *s, eddy_output predicate, eddy_output value)
{
    const eddy_output to = program_binary(&s->p, "Switch", value, predicate);
    const eddy_output sides[] = {
        program_unary(&s->p, "Sin", to),
        program_unary(&s->p, "Cos", (eddy_output){to.node, 1})};

    return many(s, "Merge", sides, 2);
}

static eddy_output predicate(shaped *s)
{
    return program_binary(&s->p, "Less", s->x,
                          program_unary(&s->p, "Neg", s->x));
}

static void build_conds(shaped *s, size_t n)
{
    s->y = s->x;
    for (size_t i = 0; i < n; i++)
        s->y = cond(s, predicate(s), s->y);
}

/* y = sin(x), twice, in a loop of its own. */
static eddy_output add_loop(shaped *s, size_t i, eddy_output value)
{
    char frame[32];
    loop l = {.p = &s->p, .frame = frame};
    eddy_output next[2];
    eddy_output trips, one;

    snprintf(frame, sizeof frame, "loop%zu", i);
    loop_begin(&l, (eddy_output[]){program_int(&s->p, 0), value}, 2);
    trips = loop_invariant(&l, program_int(&s->p, 2));
    one = loop_invariant(&l, program_int(&s->p, 1));
    loop_while(&l, program_binary(&s->p, "Less", l.merge[0], trips));
    next[0] = program_binary(&s->p, "AddV2", l.inside[0], one);
    next[1] = program_unary(&s->p, "Sin", l.inside[1]);
    loop_end(&l, next);
    return l.exit[1];
}

/* Loops that know nothing of each other. */
static void build_loops(shaped *s, size_t n)
{
    eddy_output *results = list(n);

    for (size_t i = 0; i < n; i++)
        results[i] = add_loop(s, i, s->x);
    s->y = many(s, "AddN", results, n);
    free(results);
}

static void build_loop_chain(shaped *s, size_t n)
{
    s->y = s->x;
    for (size_t i = 0; i < n; i++)
        s->y = add_loop(s, i, s->y);
}

/* One loop whose body is long, so that much goes over tapes. */
static void build_body(shaped *s, size_t n)
{
    loop l = {.p = &s->p, .frame = "loop"};
    eddy_output next[2];
    eddy_output trips, one;

    loop_begin(&l, (eddy_output[]){program_int(&s->p, 0), s->x}, 2);
    trips = loop_invariant(&l, program_int(&s->p, 2));
    one = loop_invariant(&l, program_int(&s->p, 1));
    loop_while(&l, program_binary(&s->p, "Less", l.merge[0], trips));
    next[0] = program_binary(&s->p, "AddV2", l.inside[0], one);
    next[1] = l.inside[1];
    for (size_t i = 0; i < n; i++)
        next[1] = program_unary(&s->p, "Sin", next[1]);
    loop_end(&l, next);
    s->y = l.exit[1];
}

/* A node that waits for many, and many that wait for one. */
static void build_controls(shaped *s, size_t n)
{
    eddy_node_spec spec = {.size = sizeof spec, .op = "NoOp"};
    eddy_node gate, waits;

    s->y = program_unary(&s->p, "Sin", s->x);
    ck_assert_int_eq(eddy_graph_add(s->p.graph, &spec, &gate, &s->p.err),
                     EDDY_OK);
    for (size_t i = 0; i < n; i++) {
        spec.controls = &gate;
        spec.n_controls = 1;
        ck_assert_int_eq(eddy_graph_add(s->p.graph, &spec, &waits, &s->p.err),
                         EDDY_OK);
        program_control(&s->p, s->y.node, waits);
    }
}

static const struct family {
    const char *name;
    void (*build)(shaped *s, size_t n);
    size_t n;
} families[] = {
    {"chain", build_chain, 2000},
    {"fan in", build_fan_in, 8000},
    {"fan out", build_fan_out, 1000},
    {"grid", build_grid, 1000},
    {"conds", build_conds, 300},
    {"loops", build_loops, 100},
    {"chain of loops", build_loop_chain, 100},
    {"long body", build_body, 300},
    {"control edges", build_controls, 1000},
};

#define N_FAMILIES ((int)(sizeof families / sizeof families[0]))

static void begin(shaped *s, const struct family *family, size_t n)
{
    static const eddy_allocator plain = {.allocate = allocate_plain,
                                         .release = release_plain};
    const eddy_shape scalar = {.rank = 0};

    memset(s, 0, sizeof *s);
    s->sum = (sum){.allocator = {.allocate = add_up,
                                 .release = give_back,
                                 .user = &s->sum},
                   .behind = &plain};
    ck_assert_int_eq(
        eddy_context_create(
            &(eddy_context_options){.size = sizeof(eddy_context_options),
                                    .allocator = s->sum.allocator},
            &s->p.ctx, &s->p.err),
        EDDY_OK);
    ck_assert_int_eq(eddy_graph_create(s->p.ctx, &s->p.graph, &s->p.err),
                     EDDY_OK);
    ck_assert_int_eq(eddy_graph_add_placeholder(s->p.graph, "x", EDDY_FLOAT32,
                                                &scalar, &s->x, &s->p.err),
                     EDDY_OK);
    family->build(s, n);
}

static void end(shaped *s)
{
    eddy_graph_destroy(s->p.graph);
    eddy_context_destroy(s->p.ctx);
}

/* ---- what is done with them ---- */

static void differentiate(shaped *s)
{
    eddy_output gradient;

    ck_assert_int_eq(eddy_gradients(s->p.graph, &s->y, 1, &s->x, 1, NULL,
                                    &gradient, &s->p.err),
                     EDDY_OK);
    s->y = gradient;
}

static void differentiate_twice(shaped *s)
{
    differentiate(s);
    differentiate(s);
}

static void go_forward(shaped *s)
{
    eddy_output tangent;

    ck_assert_int_eq(eddy_jvp(s->p.graph, &s->y, 1, &s->x, 1, NULL, NULL,
                              &tangent, &s->p.err),
                     EDDY_OK);
}

static void plan(shaped *s)
{
    const eddy_plan_options options = {.size = sizeof options,
                                       .feeds = &s->x,
                                       .n_feeds = 1,
                                       .fetches = &s->y,
                                       .n_fetches = 1};
    eddy_plan *made;

    ck_assert_int_eq(eddy_plan_create(s->p.graph, &options, &made, &s->p.err),
                     EDDY_OK);
    eddy_plan_release(made);
}

static void analyse(shaped *s)
{
    eddy_analysis *analysis;

    ck_assert_int_eq(eddy_analysis_create(s->p.graph, &analysis, &s->p.err),
                     EDDY_OK);
    eddy_analysis_destroy(analysis);
}

static void save_and_load(shaped *s)
{
    eddy_graph_destroy(program_save_and_load(&s->p, s->p.graph));
}

static void (*const works[])(shaped *s) = {differentiate, differentiate_twice,
                                           go_forward,    plan,
                                           analyse,       save_and_load};

#define N_WORKS ((int)(sizeof works / sizeof works[0]))

static size_t measure(const struct family *family, size_t n, int work)
{
    shaped s;
    size_t before;

    begin(&s, family, n);
    before = s.sum.bytes;
    works[work](&s);
    before = s.sum.bytes - before;
    end(&s);
    return before;
}

/*
 * Arrays that double make one doubling of the graph a little dearer than the
 * next, so two are looked at together.
 */
START_TEST(bytes_grow_with_the_graph)
{
    const struct family *family = &families[_i / N_WORKS];
    const size_t once = measure(family, family->n, _i % N_WORKS);
    const size_t four = measure(family, 4 * family->n, _i % N_WORKS);

    ck_assert_msg((double)four < MOST * MOST * (double)once,
                  "%s, work %d: %zu bytes, and %zu for four times the graph",
                  family->name, _i % N_WORKS, once, four);
}
END_TEST

TCase *growth_tests(void)
{
    TCase *tc = tcase_create("growth");

    tcase_add_loop_test(tc, bytes_grow_with_the_graph, 0, N_FAMILIES * N_WORKS);
    return tc;
}
