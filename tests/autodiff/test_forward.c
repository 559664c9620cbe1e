/* SPDX-License-Identifier: Apache-2.0 */
/* Forward mode; test_rule.c holds each op's against its gradient. */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <string.h>

#define CUBE PROGRAM_LOOP("v/b Mul v/s:1 v/s:1\n")

static program p;

static eddy_output named(const char *name)
{
    return program_output(&p, name);
}

static eddy_output gradient(eddy_output y, eddy_output x)
{
    eddy_output dx;

    if (eddy_gradients(p.graph, &y, 1, &x, 1, NULL, &dx, &p.err) != EDDY_OK)
        ck_abort_msg("%s: %s", p.err.node, p.err.message);
    return dx;
}

static eddy_output tangent(eddy_output y, eddy_output x)
{
    eddy_output dy;

    if (eddy_jvp(p.graph, &y, 1, &x, 1, NULL, NULL, &dy, &p.err) != EDDY_OK)
        ck_abort_msg("%s: %s", p.err.node, p.err.message);
    return dy;
}

static void want(eddy_output fetch, double wanted)
{
    const double *data;

    ck_assert_uint_ne(fetch.node, EDDY_NO_NODE);
    program_plan_outputs(&p, &fetch, 1);
    program_run(&p);
    data = eddy_tensor_data(eddy_run_fetch(p.run, 0));
    ck_assert_double_eq_tol(data[0], wanted,
                            1e-9 * (wanted < 0 ? 1 - wanted : 1 + wanted));
}

START_TEST(every_order_forward_through_a_loop)
{
    eddy_output x, first, second, third;

    program_init(&p, (uint32_t)_i);
    program_build(&p, "x float64=2\n" CUBE);
    x = named("x");
    first = tangent(named("v/x"), x);
    second = tangent(first, x);
    third = tangent(second, x);
    want(first, 1024);
    want(second, 3584);
    want(third, 10752);
    want(tangent(third, x), 26880);
    program_deinit(&p);
}
END_TEST

/* Bit k of _i: order k + 1 is by forward mode, else by reverse mode. */
START_TEST(any_mode_over_any_other)
{
    static const double wanted[] = {1024, 3584, 10752};
    eddy_output x, y;

    program_init(&p, 0);
    program_build(&p, "x float64=2\n" CUBE);
    x = named("x");
    y = named("v/x");
    for (int k = 0; k < 3; k++) {
        y = (_i >> k & 1) ? tangent(y, x) : gradient(y, x);
        want(y, wanted[k]);
    }
    program_deinit(&p);
}
END_TEST

START_TEST(no_trip_hands_the_tangent_on)
{
    program_init(&p, 0);
    program_build(&p, "x float64=2\n" CUBE);
    ck_assert_int_eq(
        eddy_graph_set_input(p.graph, named("i/e").node, 0,
                             program_constant(&p, EDDY_INT32, &(int32_t){9}),
                             &p.err),
        EDDY_OK);
    want(tangent(named("v/x"), named("x")), 1);
    program_deinit(&p);
}
END_TEST

START_TEST(an_invariant_has_one_tangent)
{
    eddy_output x, w, dw;

    program_init(&p, 0);
    /* v = v * w: x w^3 */
    program_build(&p, "x float64=2\nw float64=5\n" PROGRAM_LOOP(
                          "w/e Enter@w! w\nv/b Mul v/s:1 w/e\n"));
    x = named("x");
    w = named("w");
    dw = tangent(named("v/x"), w);
    want(dw, 2 * 3 * 25);
    want(tangent(named("v/x"), x), 125);
    want(tangent(dw, w), 2 * 6 * 5);
    want(gradient(dw, x), 75);
    want(tangent(gradient(named("v/x"), w), x), 75);
    program_deinit(&p);
}
END_TEST

/* Nothing of the tangent may run in the iteration that ends the loop. */
START_TEST(what_invariants_make_is_dead_when_the_body_is)
{
    eddy_output x;

    program_init(&p, 0);
    /* v = tanh(x) + 1, with a control edge to the body. */
    program_build(&p, "x float64=2\nd float64=1\n" PROGRAM_LOOP(
                          "x/e Enter@w! x\nd/e Enter@w! d\nq Square x/e ^i/a\n"
                          "r AddV2 x/e d/e ^i/a\nr2 Mul r q\n"
                          "u Identity x/e ^i/a\nv/b AddV2 u r2\n"));
    x = named("x");
    /* x + (x + 1) x^2 */
    want(tangent(named("v/x"), x), 1 + 3 * 4 + 2 * 2);
    want(tangent(tangent(named("v/x"), x), x), 6 * 2 + 2);
    want(tangent(gradient(named("v/x"), x), x), 6 * 2 + 2);
    program_deinit(&p);
}
END_TEST

START_TEST(a_branch_in_a_loop)
{
    eddy_output x, dx;

    program_init(&p, 2);
    /* v = i % 2 ? v * v : 3 v, for i = 0, 1, 2: 3 (3 x)^2 */
    program_build(&p, "x float64=2\nthree float64=3\ntwos int32=2\nzeros "
                      "int32=0\n" PROGRAM_LOOP(
                          "two Enter@w! twos\nodd FloorMod i/s:1 two\n"
                          "zero Enter@w! zeros\np Greater odd zero\n"
                          "t/s Switch v/s:1 p\nt/q Mul t/s:1 t/s:1\n"
                          "f/e Enter@w! three\nf/q Mul t/s f/e\n"
                          "v/b Merge f/q t/q\n"));
    x = named("x");
    dx = tangent(named("v/x"), x);
    want(dx, 54 * 2);
    want(tangent(dx, x), 54);
    want(tangent(gradient(named("v/x"), x), x), 54);
    want(gradient(dx, x), 54);
    program_deinit(&p);
}
END_TEST

/* One side of the branch does not depend on x. */
START_TEST(a_side_without_a_tangent_has_zeros)
{
    eddy_output x;

    program_init(&p, 0);
    program_build(&p, _i == 0 ? "b bool=0\n" : "b bool=1\n");
    program_build(&p, "x float64=2\nz float64=7\ns Switch x b\nk Switch z b\n"
                      "q Mul s:1 s:1\ny Merge k q\n");
    x = named("x");
    want(tangent(named("y"), x), _i == 0 ? 0 : 4);
    want(tangent(gradient(named("y"), x), x), _i == 0 ? 0 : 2);
    program_deinit(&p);
}
END_TEST

/*
 * a[i] = v, v = 2 v; the sum of the squares of what was written.  `form` is
 * what the ops' names end in, `flow` what comes before the first write.
 */
#define ARRAY_OF(form, enter, flow)                                            \
    "x float64=3\ntwo float64=2\nsize int32=3\nnone float32=0\n"               \
    "ta TensorArray" form " size dtype=float64\n" PROGRAM_LOOP(                \
        "h " enter "@w! ta\nt/e Enter@w! two\n"                                \
        "f/e Enter@w " flow "\nf/m Merge f/e f/n\nf/s Switch f/m c\n"          \
        "wr TensorArrayWrite" form " h i/s:1 v/s:1 f/s:1\n"                    \
        "f/n NextIteration wr\nf/x Exit f/s\nv/b "                             \
        "Mul v/s:1 t/e\n") "all int32[3]=0,1,2\ng "                            \
                           "TensorArrayGather" form " ta all f/x "             \
                           "dtype=float64\nq Mul g "                           \
                           "g\nz int32=0\ny Sum q "                            \
                           "z\n"

#define ARRAY ARRAY_OF("V3", "Enter", "ta:1")

static const char *const arrays[] = {
    ARRAY,
    ARRAY_OF("V2", "Enter", "none"),
    ARRAY_OF("", "RefEnter", "none"),
};

START_TEST(arrays_have_a_second_one_for_tangents)
{
    eddy_output x, y;

    program_init(&p, 0);
    /* 21 x^2 */
    program_build(&p, arrays[_i]);
    x = named("x");
    y = named("y");
    want(y, 189);
    want(tangent(y, x), 42 * 3);
    want(tangent(tangent(y, x), x), 42);
    want(tangent(gradient(y, x), x), 42);
    want(gradient(tangent(y, x), x), 42);
    /* Of a reference no more than names is kept, and a tape keeps values. */
    if (_i < 2)
        want(gradient(gradient(y, x), x), 42);
    program_deinit(&p);
}
END_TEST

/* Does `node` run only after `before` has? */
static bool waits_for(eddy_node node, eddy_node before)
{
    eddy_node list[512];
    size_t n = 0;

    list[n++] = node;
    for (size_t i = 0; i < n; i++) {
        size_t n_inputs, n_controls;
        const eddy_output *inputs =
            eddy_graph_node_inputs(p.graph, list[i], &n_inputs);
        const eddy_node *controls =
            eddy_graph_node_controls(p.graph, list[i], &n_controls);

        for (size_t k = 0; k < n_inputs + n_controls; k++) {
            const eddy_node from =
                k < n_inputs ? inputs[k].node : controls[k - n_inputs];
            size_t at = 0;

            while (at < n && list[at] != from)
                at++;
            ck_assert_uint_lt(n, 512);
            if (at == n)
                list[n++] = from;
            if (from == before)
                return true;
        }
    }
    return false;
}

/*
 * TensorFlow freezes an array whose gradients are asked for, so nothing may ask
 * for them before the array has been written.
 */
START_TEST(arrays_of_gradients_wait_for_the_forward_array)
{
    eddy_output x, y, product;
    size_t n_arrays = 0;
    eddy_node last;

    program_init(&p, 0);
    program_build(&p, ARRAY);
    x = named("x");
    y = named("y");
    last = named("f/x").node;
    ck_assert_int_eq(
        eddy_hvp(p.graph, &y, 1, &x, 1, NULL, NULL, &product, &p.err), EDDY_OK);
    for (eddy_node v = 0; v < eddy_graph_size(p.graph); v++)
        if (strcmp(eddy_graph_node_op(p.graph, v), "TensorArrayGradV3") == 0) {
            ck_assert_msg(waits_for(v, last), "%s",
                          eddy_graph_node_name(p.graph, v));
            n_arrays++;
        }
    ck_assert_uint_ge(n_arrays, 4);
    program_deinit(&p);
}
END_TEST

#define LIST                                                                   \
    "x float64=3\ntwo float64=2\nsize int32=3\nany int32=-1\nsh int32[0]=0\n"  \
    "l0 TensorListReserve sh size element_dtype=float64\n" PROGRAM_LOOP(       \
        "t/e Enter@w! two\n"                                                   \
        "f/e Enter@w l0\nf/m Merge f/e f/n\nf/s Switch f/m c\n"                \
        "wr TensorListSetItem f/s:1 i/s:1 v/s:1\nf/n NextIteration wr\n"       \
        "f/x Exit f/s\nv/b Mul v/s:1 t/e\n") "g TensorListStack f/x sh "       \
                                             "element_dtype=float64\n"         \
                                             "q Mul g g\nz int32=0\ny Sum q "  \
                                             "z\n"

START_TEST(lists_have_a_second_one_for_tangents)
{
    eddy_output x, y;

    program_init(&p, 0);
    program_build(&p, LIST);
    x = named("x");
    y = named("y");
    want(tangent(y, x), 42 * 3);
    want(tangent(tangent(y, x), x), 42);
    program_deinit(&p);
}
END_TEST

START_TEST(a_hessian_times_a_vector)
{
    eddy_output y, xs[2], vectors[2], products[2];

    program_init(&p, 0);
    /* x w^3 with v = v * w in a loop: H = [0, 3 w^2; 3 w^2, 6 x w] */
    program_build(
        &p,
        "x float64=2\nw float64=5\nvx float64=7\nvw float64=11\n" PROGRAM_LOOP(
            "w/e Enter@w! w\nv/b Mul v/s:1 w/e\n"));
    y = named("v/x");
    xs[0] = named("x");
    xs[1] = named("w");
    vectors[0] = named("vx");
    vectors[1] = named("vw");
    ck_assert_int_eq(
        eddy_hvp(p.graph, &y, 1, xs, 2, vectors, NULL, products, &p.err),
        EDDY_OK);
    want(products[0], 75.0 * 11);
    want(products[1], 75.0 * 7 + 60.0 * 11);
    program_deinit(&p);
}
END_TEST

/* In the body, of the first value: all iterations so far count. */
START_TEST(a_tangent_asked_for_in_the_body)
{
    eddy_output t;

    program_init(&p, 0);
    program_build(&p, "x float64=2\nz float64=0\n" PROGRAM_LOOP(
                          "v/b Mul v/s:1 v/s:1\n"
                          "s/e Enter@w z\ns/m Merge s/e s/n\ns/s Switch s/m c\n"
                          "s/b AddV2 s/s:1 v/s:1\ns/n NextIteration s/b\n"
                          "s/x Exit s/s\n"));
    t = tangent(named("v/b"), named("x"));
    /* 2 x + 4 x^3 + 8 x^7 */
    ck_assert_int_eq(
        eddy_graph_set_input(p.graph, named("s/b").node, 1, t, &p.err),
        EDDY_OK);
    want(named("s/x"), 4 + 32 + 1024);
    program_deinit(&p);
}
END_TEST

START_TEST(an_x_in_the_body_varies_for_one_iteration)
{
    eddy_output t;

    program_init(&p, 0);
    program_build(&p, "x float64=2\nz float64=0\n" PROGRAM_LOOP(
                          "v/b Mul v/s:1 v/s:1\n"
                          "s/e Enter@w z\ns/m Merge s/e s/n\ns/s Switch s/m c\n"
                          "s/b AddV2 s/s:1 v/s:1\ns/n NextIteration s/b\n"
                          "s/x Exit s/s\n"));
    t = tangent(named("v/b"), named("v/s:1"));
    /* 2 x + 2 x^2 + 2 x^4 */
    ck_assert_int_eq(
        eddy_graph_set_input(p.graph, named("s/b").node, 1, t, &p.err),
        EDDY_OK);
    want(named("s/x"), 4 + 8 + 32);
    program_deinit(&p);
}
END_TEST

START_TEST(what_does_not_depend_has_none)
{
    eddy_output x, ys[2], t[2];
    const eddy_gradient_options zeros = {.size = sizeof zeros,
                                         .zeros_if_unconnected = true};
    eddy_gradient_options stop = {.size = sizeof stop, .n_stop = 1};

    program_init(&p, 0);
    program_build(&p, "x float64=2\nz float64=7\na Mul z z\nb Mul x z\n"
                      "y Square b\n");
    x = named("x");
    ys[0] = named("a");
    ys[1] = named("b");
    ck_assert_int_eq(eddy_jvp(p.graph, ys, 2, &x, 1, NULL, NULL, t, &p.err),
                     EDDY_OK);
    ck_assert_uint_eq(t[0].node, EDDY_NO_NODE);
    want(t[1], 7);
    ck_assert_int_eq(eddy_jvp(p.graph, ys, 2, &x, 1, NULL, &zeros, t, &p.err),
                     EDDY_OK);
    want(t[0], 0);
    ys[0] = named("y");
    stop.stop = &ys[1];
    ck_assert_int_eq(eddy_jvp(p.graph, ys, 1, &x, 1, NULL, &stop, t, &p.err),
                     EDDY_OK);
    ck_assert_uint_eq(t[0].node, EDDY_NO_NODE);
    /* A y that is an x. */
    ck_assert_int_eq(eddy_jvp(p.graph, &x, 1, &x, 1, ys, NULL, t, &p.err),
                     EDDY_OK);
    want(t[0], 196);
    program_deinit(&p);
}
END_TEST

START_TEST(an_x_that_is_named_twice_counts_twice)
{
    eddy_output xs[3], y, t;

    program_init(&p, 0);
    program_build(&p, "x float64=2\nz float64=3\ny Mul x z\n");
    xs[0] = xs[2] = named("x");
    xs[1] = named("z");
    y = named("y");
    ck_assert_int_eq(eddy_jvp(p.graph, &y, 1, xs, 3, NULL, NULL, &t, &p.err),
                     EDDY_OK);
    want(t, 3 * 2 + 2);
    program_deinit(&p);
}
END_TEST

START_TEST(what_is_asked_must_make_sense)
{
    eddy_output x, y, t, bad;

    program_init(&p, 0);
    program_build(&p, "x float64=2\nf float32=2\nk int32=2\ny Square x\n" CUBE);
    x = named("x");
    y = named("y");
    bad = named("f");
    program_want(&p, eddy_jvp(p.graph, &y, 1, &x, 1, &bad, NULL, &t, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE);
    bad = named("k");
    program_want(&p, eddy_jvp(p.graph, &bad, 1, &x, 1, NULL, NULL, &t, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
    bad = (eddy_output){.node = 1000000};
    program_want(&p, eddy_jvp(p.graph, &bad, 1, &x, 1, NULL, NULL, &t, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX);
    bad = named("v/s:1");
    y = named("v/x");
    program_want(&p, eddy_jvp(p.graph, &y, 1, &bad, 1, NULL, NULL, &t, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_FRAME_MIXED);
    ck_assert_uint_eq(t.node, EDDY_NO_NODE);
    program_deinit(&p);
}
END_TEST

START_TEST(failing_allocations_leave_a_usable_graph)
{
    bool done = false;

    for (long long n = 0; !done; n++) {
        eddy_output x, y, t;
        eddy_status status;

        program_init(&p, 0);
        program_build(&p,
                      "x float64=2\n" PROGRAM_LOOP("e Exp v/s:1\nv/b Log e\n"));
        x = named("x");
        y = named("v/x");
        counting_allocator_allow(&p.counting, n);
        status = eddy_jvp(p.graph, &y, 1, &x, 1, NULL, NULL, &t, &p.err);
        counting_allocator_allow(&p.counting, -1);
        done = status == EDDY_OK;
        if (!done)
            ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
        want(y, 2);
        program_deinit(&p);
    }
}
END_TEST

TCase *forward_tests(void)
{
    TCase *tcase = tcase_create("forward");

    tcase_add_loop_test(tcase, every_order_forward_through_a_loop, 0, 3);
    tcase_add_loop_test(tcase, any_mode_over_any_other, 0, 8);
    tcase_add_test(tcase, no_trip_hands_the_tangent_on);
    tcase_add_test(tcase, an_invariant_has_one_tangent);
    tcase_add_test(tcase, what_invariants_make_is_dead_when_the_body_is);
    tcase_add_test(tcase, a_branch_in_a_loop);
    tcase_add_loop_test(tcase, a_side_without_a_tangent_has_zeros, 0, 2);
    tcase_add_loop_test(tcase, arrays_have_a_second_one_for_tangents, 0, 3);
    tcase_add_test(tcase, arrays_of_gradients_wait_for_the_forward_array);
    tcase_add_test(tcase, lists_have_a_second_one_for_tangents);
    tcase_add_test(tcase, a_hessian_times_a_vector);
    tcase_add_test(tcase, a_tangent_asked_for_in_the_body);
    tcase_add_test(tcase, an_x_in_the_body_varies_for_one_iteration);
    tcase_add_test(tcase, what_does_not_depend_has_none);
    tcase_add_test(tcase, an_x_that_is_named_twice_counts_twice);
    tcase_add_test(tcase, what_is_asked_must_make_sense);
    tcase_add_test(tcase, failing_allocations_leave_a_usable_graph);
    return tcase;
}
