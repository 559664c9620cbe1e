/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of loops and branches; the rules of ops have tests of their own. */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CUBE PROGRAM_LOOP("v/b Mul v/s:1 v/s:1\n")

static program p;

static void start(uint32_t n_workers)
{
    program_init(&p, n_workers);
}

static void finish(void)
{
    program_deinit(&p);
}

static eddy_output gradient(eddy_output y, eddy_output x)
{
    eddy_output dx;

    if (eddy_gradients(p.graph, &y, 1, &x, 1, NULL, &dx, &p.err) != EDDY_OK)
        ck_abort_msg("%s: %s", p.err.node, p.err.message);
    return dx;
}

static eddy_output named(const char *name)
{
    return program_output(&p, name);
}

static double value_of(eddy_output fetch)
{
    const double *data;

    program_plan_outputs(&p, &fetch, 1);
    program_run(&p);
    data = eddy_tensor_data(eddy_run_fetch(p.run, 0));
    return data[0];
}

static void want(eddy_output fetch, double wanted)
{
    ck_assert_double_eq_tol(value_of(fetch), wanted,
                            1e-9 * (wanted < 0 ? 1 - wanted : 1 + wanted));
}

START_TEST(every_order_through_a_loop)
{
    eddy_output x, first, second, third, fourth;

    start((uint32_t)_i);
    program_build(&p, "x float64=2\n" CUBE);
    x = named("x");
    first = gradient(named("v/x"), x);
    second = gradient(first, x);
    third = gradient(second, x);
    fourth = gradient(third, x);
    want(first, 1024);
    want(second, 3584);
    want(third, 10752);
    want(fourth, 26880);
    finish();
}
END_TEST

START_TEST(no_trip_hands_the_gradient_on)
{
    start(0);
    program_build(&p, "x float64=2\n" CUBE);
    /* The counter starts above its limit. */
    ck_assert_int_eq(
        eddy_graph_set_input(p.graph, named("i/e").node, 0,
                             program_constant(&p, EDDY_INT32, &(int32_t){9}),
                             &p.err),
        EDDY_OK);
    want(gradient(named("v/x"), named("x")), 1);
    finish();
}
END_TEST

START_TEST(an_invariant_sums_over_the_trips)
{
    eddy_output x, w, dw;

    start(0);
    /* v = v * w: x w^3 */
    program_build(&p, "x float64=2\nw float64=5\n" PROGRAM_LOOP(
                          "w/e Enter@w! w\nv/b Mul v/s:1 w/e\n"));
    x = named("x");
    w = named("w");
    dw = gradient(named("v/x"), w);
    want(gradient(named("v/x"), x), 125);
    want(dw, 2 * 3 * 25);
    want(gradient(dw, w), 2 * 6 * 5);
    want(gradient(dw, x), 75);
    finish();
}
END_TEST

START_TEST(a_branch_in_a_loop)
{
    eddy_output x, dx;

    start(2);
    /* v = i % 2 ? v * v : 3 v, for i = 0, 1, 2: 3 (3 x)^2 */
    program_build(&p, "x float64=2\nthree float64=3\ntwos int32=2\nzeros "
                      "int32=0\n" PROGRAM_LOOP(
                          "two Enter@w! twos\nodd FloorMod i/s:1 two\n"
                          "zero Enter@w! zeros\np Greater odd zero\n"
                          "t/s Switch v/s:1 p\nt/q Mul t/s:1 t/s:1\n"
                          "f/e Enter@w! three\nf/q Mul t/s f/e\n"
                          "v/b Merge f/q t/q\n"));
    x = named("x");
    dx = gradient(named("v/x"), x);
    want(dx, 54 * 2);
    want(gradient(dx, x), 54);
    want(gradient(named("v/x"), named("three")), 3 * 4 * 9);
    finish();
}
END_TEST

START_TEST(a_value_of_one_side_of_a_branch)
{
    eddy_output x;

    start(0);
    program_build(&p, "x float64=2\np bool=1\nq bool=0\ns Switch x p\n"
                      "a Mul s:1 s:1\nm Merge s a\n"
                      "s2 Switch x q\na2 Mul s2:1 s2:1\nm2 Merge s2 a2\n"
                      "y AddV2 m m2\n");
    x = named("x");
    want(gradient(named("y"), x), 5);
    finish();
}
END_TEST

/* x^4 or x, by a predicate that is asked again, and -x^2 where it never gets.
 */
START_TEST(a_side_inside_itself_hands_the_gradient_on)
{
    eddy_output x, dx;

    start(0);
    program_build(&p, _i ? "p bool=1\n" : "p bool=0\n");
    program_build(&p, "x float64=2\ns Switch x p\na Mul s:1 s:1\n"
                      "i Switch a p\nb Mul i:1 i:1\nn Neg i\n"
                      "m Merge n b\ny Merge s m\n");
    x = named("x");
    dx = gradient(named("y"), x);
    want(dx, _i ? 32 : 1);
    if (_i)
        want(gradient(dx, x), 48);
    finish();
}
END_TEST

/*
 * y = x^2 * x^3 of two branches, so that it is there if both are taken; x
 * itself goes where neither is, and a sum of three branches is in all of them.
 */
START_TEST(what_is_of_two_branches_leads_into_both)
{
    const bool both = _i == 3;
    eddy_output x, dx;

    start(0);
    program_build(&p, _i & 1 ? "p bool=1\n" : "p bool=0\n");
    program_build(&p, _i & 2 ? "q bool=1\n" : "q bool=0\n");
    program_build(&p, "x float64=2\ns Switch x p\nt Switch x q\n"
                      "a Mul s:1 s:1\nb Mul t:1 t:1\nc Mul b t:1\n"
                      "y Mul a c\ni Switch y p\nz Mul i:1 t:1\n");
    x = named("x");
    dx = gradient(named("z"), x);
    want(dx, both ? 6 * 32 : 0);
    dx = gradient(dx, x);
    if (both)
        want(dx, 30 * 16);
    finish();
}
END_TEST

/* In every trip x becomes x^2 * x where the counter's parity and p allow it. */
START_TEST(what_is_of_two_branches_of_a_loop_leads_into_both)
{
    eddy_output x, dx;

    start(0);
    program_build(&p, "p bool=1\nq bool=1\nx float64=1.5\n"
                      "zero int32=0\none int32=1\nend int32=2\n"
                      "ie Enter@w zero\nim Merge ie in\nle Enter@w! end\n"
                      "oe Enter@w! one\npe Enter@w! p\nqe Enter@w! q\n"
                      "l Less im le\nlc LoopCond l\nis Switch im lc\n"
                      "ia AddV2 is:1 oe\nin NextIteration ia\n"
                      "xe Enter@w x\nxm Merge xe xn\nxs Switch xm lc\n"
                      "s Switch xs:1 pe\nt Switch xs:1 qe\n"
                      "a Mul s:1 s:1\nm Mul a t:1\n"
                      "xn NextIteration m\nxx Exit xs\n");
    x = named("x");
    dx = gradient(named("xx"), x);
    want(dx, 9 * pow(1.5, 8));
    want(gradient(dx, x), 72 * pow(1.5, 7));
    finish();
}
END_TEST

/* x is read at every depth of a nest that is deeper than is left one by one. */
START_TEST(what_is_read_at_every_depth_sums_up)
{
    const int depth = 40;
    char text[256];
    eddy_output x, dx;

    start(0);
    program_build(&p, "x float64=1.01\na0 Identity x\n");
    for (int i = 0; i < depth; i++) {
        snprintf(text, sizeof text,
                 "p%d bool=%d\ns%d Switch a%d p%d\na%d Mul s%d:1 x\n", i,
                 _i == 0 || i < depth / 2, i, i, i, i + 1, i);
        program_build(&p, text);
    }
    snprintf(text, sizeof text, "m%d Identity a%d\n", depth, depth);
    program_build(&p, text);
    for (int i = depth; i-- > 0;) {
        snprintf(text, sizeof text, "m%d Merge s%d m%d\n", i, i, i + 1);
        program_build(&p, text);
    }
    x = named("x");
    dx = gradient(named("m0"), x);
    if (_i == 0)
        want(dx, (depth + 1) * pow(1.01, depth));
    else
        want(dx, (depth / 2 + 1) * pow(1.01, depth / 2));
    dx = gradient(dx, x);
    if (_i == 0)
        want(dx, (depth + 1) * depth * pow(1.01, depth - 1));
    else
        want(dx, (depth / 2 + 1) * (depth / 2) * pow(1.01, depth / 2 - 1));
    finish();
}
END_TEST

START_TEST(nothing_leads_to_a_gradient)
{
    const eddy_gradient_options zeros = {.size = sizeof zeros,
                                         .zeros_if_unconnected = true};
    eddy_output y, x, dx;

    start(0);
    program_build(&p, "x float64=2\nz float64=3\ny Mul z z\nr Rank x\n");
    y = named("y");
    x = named("x");
    dx = gradient(y, x);
    ck_assert_uint_eq(dx.node, EDDY_NO_NODE);
    ck_assert_int_eq(eddy_gradients(p.graph, &y, 1, &x, 1, &zeros, &dx, &p.err),
                     EDDY_OK);
    want(dx, 0);
    finish();
}
END_TEST

/* y = x + (the loop of x): only the first counts; inside the loop all does. */
START_TEST(a_loop_without_back_prop_is_a_constant)
{
    eddy_output x, dx, inside, stacks;

    start(0);
    program_build(&p,
                  "x float64=2\ni0 int32=0\nn int32=3\none int32=1\n"
                  "i/e Enter@w i0\ni/m Merge i/e i/n\ni/l Enter@w! n\n"
                  "less Less i/m i/l\nc LoopCond less _back_prop=false\n"
                  "i/s Switch i/m c\ni/o Enter@w! one\ni/a AddV2 i/s:1 i/o\n"
                  "i/n NextIteration i/a\nv/e Enter@w x\nv/m Merge v/e v/n\n"
                  "v/s Switch v/m c\nw Enter@w! x\nv/b Mul v/s:1 w\n"
                  "v/n NextIteration v/b\nv/x Exit v/s\ny AddV2 x v/x");
    x = named("x");
    dx = gradient(named("y"), x);
    want(dx, 1);
    ck_assert_int_eq(
        eddy_graph_find_output(p.graph, "gradients/StackV2", &stacks, &p.err),
        EDDY_NOT_FOUND);
    ck_assert_uint_eq(gradient(named("v/x"), x).node, EDDY_NO_NODE);
    inside = gradient(named("v/b"), x);
    ck_assert_uint_ne(inside.node, EDDY_NO_NODE);
    finish();
}
END_TEST

static size_t count_nodes(const char *op)
{
    size_t n = 0;

    for (eddy_node v = 0; v < eddy_graph_size(p.graph); v++)
        n += strcmp(eddy_graph_node_op(p.graph, v), op) == 0;
    return n;
}

static const struct counter_row {
    const char *start, *step, *add, *value;
    double wanted; /* of y / x, where y = x times the value in three trips */
    bool has_tape;
} counters[] = {
    {"int32=0", "int32=1", "AddV2", "Identity k/s:1", 0, false},
    {"int32=5", "int32=2", "AddV2", "Identity k/s:1", 5.0 * 7 * 9, false},
    {"int64=5", "int64=2", "Sub", "Identity k/s:1", 5.0 * 3 * 1, false},
    {"int32=2147483647", "int32=1", "AddV2", "Identity k/s:1",
     2147483647.0 * -2147483648.0 * -2147483647.0, false},
    {"int32=5", "int32=2", "Add", "AddV2 k/s:1 k/o", 7.0 * 9 * 11, false},
    {"int32=5", "int32=2", "Add", "Sub k/s:1 k/o", 3.0 * 5 * 7, false},
    {"int32=5", "int32=2", "Add", "Sub k/o k/s:1", -3.0 * -5 * -7, true},
    {"int32=2", "int32=3", "Mul", "Identity k/s:1", 2.0 * 6 * 18, true},
    {"int32[1]=5", "int32=2", "AddV2", "Identity k/s:1", 5.0 * 7 * 9, true},
    {"int32=5", "int32[1]=2", "AddV2", "Identity k/s:1", 5.0 * 7 * 9, true},
};

/* What counts trips is counted anew in the gradient loop. */
START_TEST(counters_need_no_tape)
{
    const struct counter_row *row = &counters[_i];
    char text[1600];
    double want_dx = row->wanted;

    start(0);
    snprintf(text, sizeof text,
             "x float64[1]=2\nk0 %s\nk1 %s\n" PROGRAM_LOOP(
                 "k/e Enter@w k0\nk/o Enter@w! k1\nk/m Merge k/e k/n\n"
                 "k/s Switch k/m c\nk/b %s k/s:1 k/o\nk/n NextIteration k/b\n"
                 "k %s\nf Cast k DstT=float64\n"
                 "v/b Mul v/s:1 f\n"),
             row->start, row->step, row->add, row->value);
    program_build(&p, text);
    want(gradient(named("v/x"), named("x")), want_dx);
    ck_assert_int_eq(count_nodes("StackV2") > 0, row->has_tape);
    finish();
}
END_TEST

START_TEST(a_y_is_an_x)
{
    start(0);
    program_build(&p, "x float64=2\n");
    want(gradient(named("x"), named("x")), 1);
    finish();
}
END_TEST

START_TEST(what_is_asked_must_make_sense)
{
    eddy_output x, y, dx;

    start(0);
    program_build(&p, "x float64=2\nk int32=1\n" CUBE);
    x = named("x");
    y = named("k");
    program_want(&p, eddy_gradients(p.graph, &y, 1, &x, 1, NULL, &dx, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
    y = named("v/x");
    x = named("v/b");
    program_want(&p, eddy_gradients(p.graph, &y, 1, &x, 1, NULL, &dx, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_FRAME_MIXED);
    x = (eddy_output){.node = 1000};
    program_want(&p, eddy_gradients(p.graph, &y, 1, &x, 1, NULL, &dx, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX);
    ck_assert_uint_eq(dx.node, EDDY_NO_NODE);
    finish();
}
END_TEST

/* A sum over the iterations of what is asked for in the body. */
#define SUMS                                                                   \
    "s/e Enter@w z\ns/m Merge s/e s/n\ns/s Switch s/m c\n"                     \
    "s/b AddV2 s/s:1 v/s:1\ns/n NextIteration s/b\ns/x Exit s/s\n"

static void sum_up(eddy_output gradient_in_body)
{
    ck_assert_uint_ne(gradient_in_body.node, EDDY_NO_NODE);
    ck_assert_int_eq(eddy_graph_set_input(p.graph, named("s/b").node, 1,
                                          gradient_in_body, &p.err),
                     EDDY_OK);
}

START_TEST(in_a_body_the_first_value_counts)
{
    start(0);
    program_build(&p, "x float64=2\nz float64=0\n" PROGRAM_LOOP(
                          "v/b Mul v/s:1 v/s:1\n" SUMS));
    /* 2 x + 4 x^3 + 8 x^7 */
    sum_up(gradient(named("v/b"), named("x")));
    want(named("s/x"), 4 + 32 + 1024);
    finish();
}
END_TEST

START_TEST(in_a_body_what_varies_there_counts_once)
{
    start(0);
    program_build(&p, "x float64=2\nz float64=0\n" PROGRAM_LOOP(
                          "v/b Mul v/s:1 v/s:1\n" SUMS));
    /* 2 x + 2 x^2 + 2 x^4 */
    sum_up(gradient(named("v/b"), named("v/s:1")));
    want(named("s/x"), 4 + 8 + 32);
    finish();
}
END_TEST

START_TEST(in_a_body_an_invariant_counts_as_often_as_it_is_used)
{
    start(0);
    program_build(&p, "x float64=2\nw float64=5\nz float64=0\n" PROGRAM_LOOP(
                          "w/e Enter@w! w\nv/b Mul v/s:1 w/e\n" SUMS));
    /* x w, x w^2, x w^3 */
    sum_up(gradient(named("v/b"), named("w")));
    want(named("s/x"), 2 + 2 * 2 * 5 + 2 * 3 * 25);
    finish();
}
END_TEST

/* In a branch of the body: zero in iterations that do not take it. */
START_TEST(in_a_branch_of_a_body_the_first_value_counts)
{
    start(0);
    program_build(
        &p,
        "x float64=2\nz float64=0\ntwos int32=2\nzeros int32=0\n" PROGRAM_LOOP(
            "two Enter@w! twos\nodd FloorMod i/s:1 two\n"
            "zero Enter@w! zeros\np Greater odd zero\n"
            "t/s Switch v/s:1 p\nt/q Mul t/s:1 t/s:1\n"
            "v/b Merge t/s t/q\n" SUMS));
    /* x, x^2, x^2: the branch is taken in the second iteration alone. */
    sum_up(gradient(named("t/q"), named("x")));
    want(named("s/x"), 4);
    finish();
}
END_TEST

START_TEST(in_a_body_each_element_of_the_first_value_counts)
{
    eddy_output dx;
    const double *sums;

    start(0);
    program_build(&p, "x float64[3]=1,2,3\nz float64[3]=0,0,0\n" PROGRAM_LOOP(
                          "v/b Mul v/s:1 v/s:1\n" SUMS));
    dx = gradient(named("v/b"), named("x"));
    sum_up(dx);
    value_of(named("s/x"));
    sums = eddy_tensor_data(eddy_run_fetch(p.run, 0));
    for (int i = 0; i < 3; i++) {
        const double x = i + 1;

        ck_assert_double_eq_tol(sums[i], 2 * x + 4 * x * x * x + 8 * pow(x, 7),
                                1e-9);
    }
    finish();
}
END_TEST

static eddy_status run_triple(eddy_kernel *kernel)
{
    const eddy_view x = eddy_kernel_input(kernel, 0);
    const eddy_shape scalar = {.rank = 0};
    const double value = ((const double *)x.data)[0];
    void *data;
    eddy_status status =
        eddy_kernel_output(kernel, 0, EDDY_FLOAT64, &scalar, &data);

    if (status == EDDY_OK)
        *(double *)data = 3 * value;
    return status;
}

static eddy_status gradient_of_triple(eddy_gradient *g)
{
    const eddy_output dy = eddy_gradient_given(g, 0);

    eddy_gradient_set(g, 0, eddy_gradient_add(g, "Triple", &dy, 1, NULL, 0));
    return EDDY_OK;
}

START_TEST(a_program_brings_its_own_gradient)
{
    const eddy_op_spec triple = {.size = sizeof triple,
                                 .name = "Triple",
                                 .inputs = "x: float64",
                                 .outputs = "y: float64",
                                 .kernel = run_triple,
                                 .gradient = gradient_of_triple};
    eddy_output x, dx;

    start(0);
    ck_assert_int_eq(eddy_op_register(p.ctx, &triple, &p.err), EDDY_OK);
    program_build(&p, "x float64=2\n" PROGRAM_LOOP(
                          "v/q Mul v/s:1 v/s:1\nv/b Triple v/q\n"));
    x = named("x");
    dx = gradient(named("v/x"), x);
    /* 3^7 x^8 */
    want(dx, 2187 * 1024.0);
    want(gradient(dx, x), 2187 * 3584.0);
    finish();
}
END_TEST

/* 3 dy, off a list that holds it: linear in dy, but not op by op. */
static eddy_status through_a_list(eddy_gradient *g)
{
    const eddy_dtype dtype = EDDY_FLOAT64;
    const eddy_attr attr = eddy_attr_type("element_dtype", &dtype);
    const eddy_shape scalar = {.rank = 0}, none = {.rank = 1};
    const int32_t zero = 0;
    eddy_tensor *index = program_tensor(&p, EDDY_INT32, &scalar, &zero);
    eddy_tensor *shape = program_tensor(&p, EDDY_INT32, &none, &zero);
    const eddy_output dy = eddy_gradient_given(g, 0);
    const eddy_output item = eddy_gradient_add(g, "Triple", &dy, 1, NULL, 0);
    const eddy_output at = eddy_gradient_const(g, index);
    const eddy_output like = eddy_gradient_const(g, shape);
    const eddy_output items = eddy_gradient_add(g, "Pack", &item, 1, NULL, 0);
    const eddy_output list = eddy_gradient_add(
        g, "TensorListFromTensor", (eddy_output[]){items, like}, 2, NULL, 0);

    eddy_tensor_release(index);
    eddy_tensor_release(shape);
    eddy_gradient_set(g, 0,
                      eddy_gradient_add(g, "TensorListGetItem",
                                        (eddy_output[]){list, at, like}, 3,
                                        &attr, 1));
    return EDDY_OK;
}

START_TEST(a_rule_that_reads_a_list_has_no_tangent)
{
    const eddy_op_spec triple = {.size = sizeof triple,
                                 .name = "Triple",
                                 .inputs = "x: float64",
                                 .outputs = "y: float64",
                                 .kernel = run_triple,
                                 .gradient = through_a_list};
    eddy_output x, y, t;

    start(0);
    ck_assert_int_eq(eddy_op_register(p.ctx, &triple, &p.err), EDDY_OK);
    program_build(&p, "x float64=2\ny Triple x\n");
    x = named("x");
    y = named("y");
    want(gradient(y, x), 3);
    program_want(&p, eddy_jvp(p.graph, &y, 1, &x, 1, NULL, NULL, &t, &p.err),
                 EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT);
    want(y, 6);
    finish();
}
END_TEST

/* 5 dy for a part that is x^2: nothing of the part's own gradient. */
static eddy_status five_times(eddy_gradient *g)
{
    const double five = 5;
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *tensor = program_tensor(&p, EDDY_FLOAT64, &scalar, &five);
    const eddy_output factors[] = {eddy_gradient_given(g, 0),
                                   eddy_gradient_const(g, tensor)};

    eddy_tensor_release(tensor);
    eddy_gradient_set(g, 1, eddy_gradient_add(g, "Mul", factors, 2, NULL, 0));
    return EDDY_OK;
}

START_TEST(a_part_has_a_gradient_of_its_own)
{
    eddy_output x, q, y, t;

    start(0);
    ck_assert_int_eq(
        eddy_gradient_define(p.ctx, "FiveTimes", five_times, &p.err), EDDY_OK);
    program_want(&p,
                 eddy_gradient_define(p.ctx, "FiveTimes", five_times, &p.err),
                 EDDY_ALREADY_EXISTS, EDDY_E_OP_SPEC);
    program_build(&p, "x float64=3\nq Mul x x\n");
    x = named("x");
    q = named("q");
    program_want(
        &p, eddy_custom_gradient(p.graph, "Other", &q, 1, &x, 1, &y, &p.err),
        EDDY_NOT_FOUND, EDDY_E_NO_GRADIENT);
    ck_assert_int_eq(
        eddy_custom_gradient(p.graph, "FiveTimes", &q, 1, &x, 1, &y, &p.err),
        EDDY_OK);
    want(y, 9);
    /* y^2 has 2 y 5 */
    y = program_binary(&p, "Mul", y, y);
    want(gradient(y, x), 90);
    ck_assert_int_eq(eddy_jvp(p.graph, &y, 1, &x, 1, NULL, NULL, &t, &p.err),
                     EDDY_OK);
    want(t, 90);
    finish();
}
END_TEST

/* Of the state of a loop: 3 trips of dy = 5 dy. */
START_TEST(a_part_in_a_loop_has_a_gradient_of_its_own)
{
    eddy_output x, t, y;

    start(0);
    ck_assert_int_eq(
        eddy_gradient_define(p.ctx, "FiveTimes", five_times, &p.err), EDDY_OK);
    program_build(&p, "x float64=2\n" PROGRAM_LOOP(
                          "q Mul v/s:1 v/s:1\n"
                          "id IdentityN q v/s:1 "
                          "_gradient_op_type='FiveTimes'\nv/b Identity id\n"));
    x = named("x");
    y = named("v/x");
    want(y, 256);
    want(gradient(y, x), 125);
    ck_assert_int_eq(eddy_jvp(p.graph, &y, 1, &x, 1, NULL, NULL, &t, &p.err),
                     EDDY_OK);
    want(t, 125);
    finish();
}
END_TEST

START_TEST(a_part_whose_gradient_is_not_defined_is_named)
{
    eddy_output x, y, dx;

    start(0);
    program_build(&p, "x float64=3\nq Mul x x\n"
                      "y IdentityN q x _gradient_op_type='Custom-140'\n");
    x = named("x");
    y = named("y");
    program_want(&p, eddy_gradients(p.graph, &y, 1, &x, 1, NULL, &dx, &p.err),
                 EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT);
    ck_assert_str_eq(p.err.node, "y");
    program_want(&p, eddy_jvp(p.graph, &y, 1, &x, 1, NULL, NULL, &dx, &p.err),
                 EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT);
    finish();
}
END_TEST

START_TEST(an_op_without_a_gradient_is_named)
{
    const eddy_op_spec bare = {.size = sizeof bare,
                               .name = "Bare",
                               .inputs = "x: float64",
                               .outputs = "y: float64",
                               .kernel = run_triple};
    eddy_output x, y, dx;

    start(0);
    ck_assert_int_eq(eddy_op_register(p.ctx, &bare, &p.err), EDDY_OK);
    program_build(&p, "x float64=2\ny Bare x\n");
    x = named("x");
    y = named("y");
    program_want(&p, eddy_gradients(p.graph, &y, 1, &x, 1, NULL, &dx, &p.err),
                 EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT);
    ck_assert_str_eq(p.err.node, "y");
    finish();
}
END_TEST

START_TEST(failing_allocations_leave_a_usable_graph)
{
    bool done = false;

    for (long long n = 0; !done; n++) {
        eddy_output x, y, dx;
        eddy_status status;

        start(0);
        program_build(&p, "x float64=2\n" CUBE);
        x = named("x");
        y = named("v/x");
        counting_allocator_allow(&p.counting, n);
        status = eddy_gradients(p.graph, &y, 1, &x, 1, NULL, &dx, &p.err);
        counting_allocator_allow(&p.counting, -1);
        done = status == EDDY_OK;
        if (!done)
            ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
        want(y, 256);
        finish();
    }
}
END_TEST

START_TEST(a_grad_y_of_another_shape_is_refused)
{
    const eddy_output none = {EDDY_NO_NODE, 0};
    eddy_gradient_options options = {.size = sizeof options};
    eddy_output y, x, grad, dx;

    start(0);
    program_build(&p, "x ?float64[3]\n"
                      "y Neg x\n"
                      "one float64=1\n"
                      "two float64[2]=1\n"
                      "any ?float64[?]\n");
    y = named("y");
    x = named("x");
    options.grad_ys = &grad;
    grad = named("one");
    program_want(&p,
                 eddy_gradients(p.graph, &y, 1, &x, 1, &options, &dx, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    ck_assert_str_eq(p.err.message, "grad_y 0 has shape [], but its y has [3]");
    program_want(&p, eddy_jvp(p.graph, &y, 1, &x, 1, &grad, NULL, &dx, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    grad = named("two");
    program_want(&p,
                 eddy_gradients(p.graph, &y, 1, &x, 1, &options, &dx, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    grad = named("any");
    ck_assert_int_eq(
        eddy_gradients(p.graph, &y, 1, &x, 1, &options, &dx, &p.err), EDDY_OK);
    grad = none;
    ck_assert_int_eq(
        eddy_gradients(p.graph, &y, 1, &x, 1, &options, &dx, &p.err), EDDY_OK);
    finish();
}
END_TEST

TCase *gradients_tests(void)
{
    TCase *tcase = tcase_create("gradients");

    tcase_add_loop_test(tcase, every_order_through_a_loop, 0, 3);
    tcase_add_test(tcase, no_trip_hands_the_gradient_on);
    tcase_add_test(tcase, an_invariant_sums_over_the_trips);
    tcase_add_test(tcase, a_branch_in_a_loop);
    tcase_add_test(tcase, a_value_of_one_side_of_a_branch);
    tcase_add_loop_test(tcase, a_side_inside_itself_hands_the_gradient_on, 0,
                        2);
    tcase_add_loop_test(tcase, what_is_of_two_branches_leads_into_both, 0, 4);
    tcase_add_test(tcase, what_is_of_two_branches_of_a_loop_leads_into_both);
    tcase_add_loop_test(tcase, what_is_read_at_every_depth_sums_up, 0, 2);
    tcase_add_test(tcase, nothing_leads_to_a_gradient);
    tcase_add_test(tcase, a_loop_without_back_prop_is_a_constant);
    tcase_add_loop_test(tcase, counters_need_no_tape, 0,
                        sizeof counters / sizeof counters[0]);
    tcase_add_test(tcase, a_y_is_an_x);
    tcase_add_test(tcase, what_is_asked_must_make_sense);
    tcase_add_test(tcase, in_a_body_the_first_value_counts);
    tcase_add_test(tcase, in_a_body_what_varies_there_counts_once);
    tcase_add_test(tcase, in_a_body_an_invariant_counts_as_often_as_it_is_used);
    tcase_add_test(tcase, in_a_branch_of_a_body_the_first_value_counts);
    tcase_add_test(tcase, in_a_body_each_element_of_the_first_value_counts);
    tcase_add_test(tcase, a_program_brings_its_own_gradient);
    tcase_add_test(tcase, a_rule_that_reads_a_list_has_no_tangent);
    tcase_add_test(tcase, a_part_has_a_gradient_of_its_own);
    tcase_add_test(tcase, a_part_in_a_loop_has_a_gradient_of_its_own);
    tcase_add_test(tcase, a_part_whose_gradient_is_not_defined_is_named);
    tcase_add_test(tcase, an_op_without_a_gradient_is_named);
    tcase_add_test(tcase, failing_allocations_leave_a_usable_graph);
    tcase_add_test(tcase, a_grad_y_of_another_shape_is_refused);
    return tcase;
}
