/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A front end that is written outside of eddy, with the public headers alone:
 * an emitter (eddy/emit.h) and constructs of control flow.  It has two words,
 *
 *     repeat n: x = body(x)        choose p: then(x) or otherwise(x)
 *
 * and what they make can be run, differentiated and saved like any graph.
 */
#include "eddy.h"
#include "tests/suites.h"

#include <string.h>

#ifdef EDDY_BASE_MEMORY_H
#error "this file is to see what a host sees"
#endif

typedef eddy_output (*body_fn)(eddy_emitter *e, eddy_output x, void *user);

/* ---- the front end ---- */

static eddy_output repeat(eddy_emitter *e, eddy_output n, eddy_output x,
                          body_fn body, void *user)
{
    eddy_output v[2] = {eddy_emit_int32(e, 0), x};
    const eddy_while_spec spec = {
        .size = sizeof spec, .name = "repeat", .initial = v, .n_variables = 2};

    EDDY_EMIT(e, eddy_while_begin(e->graph, &spec, v, e->err));
    v[0] = eddy_emit_binary(e, "Less", v[0], n);
    EDDY_EMIT(e, eddy_while_body(e->graph, v[0], v, e->err));
    v[0] = eddy_emit_binary(e, "AddV2", v[0], eddy_emit_int32(e, 1));
    v[1] = body(e, v[1], user);
    EDDY_EMIT(e, eddy_while_end(e->graph, v, 2, v, e->err));
    return v[1];
}

static eddy_output choose(eddy_emitter *e, eddy_output p, eddy_output x,
                          body_fn then, body_fn otherwise)
{
    const eddy_cond_spec spec = {.size = sizeof spec, .predicate = p};
    eddy_output y;

    EDDY_EMIT(e, eddy_cond_begin(e->graph, &spec, e->err));
    y = then(e, x, NULL);
    EDDY_EMIT(e, eddy_cond_else(e->graph, &y, 1, e->err));
    y = otherwise(e, x, NULL);
    EDDY_EMIT(e, eddy_cond_end(e->graph, &y, 1, &y, e->err));
    return y;
}

/* ---- programs in it ---- */

static eddy_context *ctx;
static eddy_graph *graph;
static eddy_error err;
static eddy_emitter e;

static void setup(void)
{
    err = (eddy_error){.code = EDDY_OK};
    ck_assert_int_eq(eddy_context_create(NULL, &ctx, &err), EDDY_OK);
    ck_assert_int_eq(eddy_graph_create(ctx, &graph, &err), EDDY_OK);
    e = eddy_emitter_of(graph, &err);
}

static void teardown(void)
{
    eddy_graph_destroy(graph);
    eddy_context_destroy(ctx);
}

static eddy_output square(eddy_emitter *to, eddy_output x, void *user)
{
    (void)user;
    return eddy_emit_binary(to, "Mul", x, x);
}

static eddy_output negate(eddy_emitter *to, eddy_output x, void *user)
{
    (void)user;
    return eddy_emit_unary(to, "Neg", x);
}

/* -x where x is above 10, else x squared. */
static eddy_output grow(eddy_emitter *to, eddy_output x, void *user)
{
    const eddy_output p =
        eddy_emit_binary(to, "Greater", x, eddy_emit_float(to, 10));

    (void)user;
    return choose(to, p, x, negate, square);
}

static float run(eddy_output y)
{
    const eddy_plan_options options = {
        .size = sizeof options, .fetches = &y, .n_fetches = 1};
    eddy_tensor *result = NULL;
    eddy_plan *plan = NULL;
    float value;

    ck_assert_msg(e.status == EDDY_OK, "%s", err.message);
    ck_assert_int_eq(eddy_plan_create(graph, &options, &plan, &err), EDDY_OK);
    ck_assert_int_eq(eddy_plan_run(plan, NULL, NULL, &result, &err), EDDY_OK);
    value = *(const float *)eddy_tensor_data(result);
    eddy_tensor_release(result);
    eddy_plan_release(plan);
    return value;
}

START_TEST(its_loops_run)
{
    ck_assert_float_eq(run(repeat(&e, eddy_emit_int32(&e, 3),
                                  eddy_emit_float(&e, 2), square, NULL)),
                       256);
}
END_TEST

START_TEST(branches_in_its_loops_run)
{
    /* 2, 4, 16, -16 */
    ck_assert_float_eq(run(repeat(&e, eddy_emit_int32(&e, 3),
                                  eddy_emit_float(&e, 2), grow, NULL)),
                       -16);
}
END_TEST

START_TEST(its_loops_have_gradients)
{
    const eddy_output x = eddy_emit_float(&e, 2);
    const eddy_output y = repeat(&e, eddy_emit_int32(&e, 3), x, square, NULL);
    eddy_output dx = {EDDY_NO_NODE, 0};

    EDDY_EMIT(&e, eddy_gradients(graph, &y, 1, &x, 1, NULL, &dx, &err));
    ck_assert_float_eq(run(dx), 1024);
}
END_TEST

START_TEST(its_first_failure_is_what_is_told)
{
    const eddy_output wrong = eddy_emit_binary(
        &e, "Mul", eddy_emit_float(&e, 2), eddy_emit_int32(&e, 2));
    const eddy_status status = e.status;
    char message[sizeof err.message];
    const size_t n = eddy_graph_size(graph);

    memcpy(message, err.message, sizeof message);
    ck_assert_int_eq(status, EDDY_INVALID_ARGUMENT);
    ck_assert_uint_eq(wrong.node, EDDY_NO_NODE);
    ck_assert_uint_eq(
        repeat(&e, eddy_emit_int32(&e, 3), wrong, square, NULL).node,
        EDDY_NO_NODE);
    eddy_emit_control(&e, 0, 1);
    ck_assert(!eddy_emit_check(&e, EDDY_UNKNOWN));
    ck_assert_int_eq(e.status, status);
    ck_assert_str_eq(err.message, message);
    ck_assert_uint_eq(eddy_graph_size(graph), n);
    ck_assert_uint_eq(eddy_construct_depth(graph), 0);
}
END_TEST

START_TEST(constants_are_checked)
{
    const eddy_shape two = {.rank = 1, .dims = {2}};

    ck_assert_uint_eq(
        eddy_emit_elements(&e, NULL, EDDY_FLOAT32, &two, NULL).node,
        EDDY_NO_NODE);
    ck_assert_int_eq(e.status, EDDY_INVALID_ARGUMENT);
    e = eddy_emitter_of(graph, &err);
    ck_assert_uint_eq(eddy_emit_elements(&e, NULL, EDDY_STRING, &two, "").node,
                      EDDY_NO_NODE);
    ck_assert_int_eq(e.status, EDDY_INVALID_ARGUMENT);
}
END_TEST

TCase *outside_tests(void)
{
    TCase *tests = tcase_create("outside");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, its_loops_run);
    tcase_add_test(tests, branches_in_its_loops_run);
    tcase_add_test(tests, its_loops_have_gradients);
    tcase_add_test(tests, its_first_failure_is_what_is_told);
    tcase_add_test(tests, constants_are_checked);
    return tests;
}
