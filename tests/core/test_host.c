/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that call the host: values, order, failures, files, copies. */
#include "tests/aid/construct.h"
#include "tests/suites.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static program p;

/* What the callbacks of these tests share. */
typedef struct host {
    int64_t limit;
    int64_t calls;
    int64_t last; /* what the last call was given */
    bool is_out_of_order;
    atomic_int inside; /* calls under way */
    bool is_crowded;
    int64_t fails_at; /* the number of the call that fails; 0: none */
    bool is_mute;     /* fails without saying why */
} host;

static host h;

static void setup(void)
{
    program_init(&p, 0);
    memset(&h, 0, sizeof h);
}

static void teardown(void)
{
    program_deinit(&p);
}

static void use_workers(uint32_t n)
{
    program_deinit(&p);
    program_init(&p, n);
}

static void enter(host *user, int64_t given)
{
    if (atomic_fetch_add(&user->inside, 1) > 0)
        user->is_crowded = true;
    user->is_out_of_order |= user->calls > 0 && given < user->last;
    user->last = given;
    user->calls++;
}

static eddy_status leave(eddy_kernel *call, host *user)
{
    atomic_fetch_sub(&user->inside, 1);
    if (user->calls != user->fails_at)
        return EDDY_OK;
    if (user->is_mute)
        return EDDY_ABORTED;
    return eddy_kernel_fail(call, EDDY_DATA_LOSS, EDDY_E_VALUE,
                            "the sensor of call %d is gone", (int)user->calls);
}

/* Is input 0, an int64 scalar, below the limit? */
static eddy_status is_below(eddy_kernel *call, void *user, bool *out_value)
{
    host *host_of = user;
    const eddy_view view = eddy_kernel_input(call, 0);

    enter(host_of, *(const int64_t *)view.data);
    *out_value = host_of->last < host_of->limit;
    return leave(call, host_of);
}

/* Input 0, an int64 scalar, as an index. */
static eddy_status choose(eddy_kernel *call, void *user, int32_t *out_value)
{
    host *host_of = user;
    const eddy_view view = eddy_kernel_input(call, 0);

    enter(host_of, *(const int64_t *)view.data);
    *out_value = (int32_t)host_of->last;
    return leave(call, host_of);
}

static eddy_host_spec spec_of(const eddy_output *inputs, size_t n)
{
    return (eddy_host_spec){.size = sizeof(eddy_host_spec),
                            .inputs = inputs,
                            .n_inputs = n,
                            .user = &h};
}

static eddy_output predicate(const char *name, eddy_output input)
{
    eddy_host_spec spec = spec_of(&input, 1);
    eddy_output out;

    spec.name = name;
    if (eddy_graph_add_host_predicate(p.graph, &spec, is_below, &out, &p.err) !=
        EDDY_OK)
        ck_abort_msg("%s: %s", p.err.node, p.err.message);
    return out;
}

static eddy_output selector(eddy_output input, int32_t n_choices)
{
    eddy_host_spec spec = spec_of(&input, 1);
    eddy_output out;

    spec.n_choices = n_choices;
    if (eddy_graph_add_host_selector(p.graph, &spec, choose, &out, &p.err) !=
        EDDY_OK)
        ck_abort_msg("%s: %s", p.err.node, p.err.message);
    return out;
}

/* i = from; while (host says so) i = i + 1. */
static eddy_output count_up(eddy_output from)
{
    eddy_output now;

    construct_while(&p, &from, 1, &now);
    construct_body(&p, predicate("go_on", now), &now);
    now = program_binary(&p, "AddV2", now, program_int(&p, 1));
    construct_end(&p, &now, 1, &now);
    return now;
}

/* ---- values ---- */

START_TEST(a_predicate_of_the_host_steers_a_loop)
{
    eddy_output result;

    h.limit = 7;
    result = count_up(program_int(&p, _i));
    ck_assert_int_eq(construct_run(&p, result, NULL, NULL, 0), _i > 7 ? _i : 7);
    ck_assert_int_eq(h.calls, (_i > 7 ? 0 : 7 - _i) + 1);
}
END_TEST

START_TEST(a_selector_of_the_host_steers_a_case)
{
    const eddy_output feed = construct_feed(&p, "index", EDDY_INT64);
    const eddy_switch_case_spec spec = {
        .size = sizeof spec, .index = selector(feed, 3), .n_branches = 3};
    eddy_output result;

    ck_assert_int_eq(eddy_switch_case_begin(p.graph, &spec, &p.err), EDDY_OK);
    construct_next(&p, program_int(&p, 10));
    construct_next(&p, program_int(&p, 20));
    result = construct_end_case(&p, program_int(&p, 30));
    for (int64_t i = 0; i < 3; i++)
        ck_assert_int_eq(construct_run_one(&p, result, feed, i), 10 * (i + 1));
    ck_assert_int_eq(h.calls, 3);
}
END_TEST

/* Sums int32s, of any rank; without inputs it is the number of the iteration.
 */
static eddy_status sum_inputs(eddy_kernel *call, void *user, int32_t *out_value)
{
    *out_value = (int32_t)eddy_kernel_iteration(call);
    for (uint32_t i = 0; i < eddy_kernel_inputs(call); i++) {
        const eddy_view view = eddy_kernel_input(call, i);

        ck_assert_int_eq(view.dtype, EDDY_INT32);
        for (int64_t j = 0; j < view.count; j++)
            *out_value += ((const int32_t *)view.data)[j];
    }
    *(int64_t *)user += 1;
    return EDDY_OK;
}

START_TEST(inputs_are_any_number_and_shape)
{
    int64_t calls = 0;
    eddy_output inputs[2] = {{0}}, out;
    eddy_host_spec spec = spec_of(inputs, 2);

    spec.user = &calls;
    program_build(&p, "a int32[2,3]=1,2,3\nb int32=30\n");
    inputs[0] = program_output(&p, "a");
    inputs[1] = program_output(&p, "b");
    ck_assert_int_eq(
        eddy_graph_add_host_selector(p.graph, &spec, sum_inputs, &out, &p.err),
        EDDY_OK);
    ck_assert_int_eq(construct_run(&p, out, NULL, NULL, 0), 42);
    spec.n_inputs = 0;
    ck_assert_int_eq(
        eddy_graph_add_host_selector(p.graph, &spec, sum_inputs, &out, &p.err),
        EDDY_OK);
    ck_assert_int_eq(construct_run(&p, out, NULL, NULL, 0), 0);
    ck_assert_int_eq(calls, 2);
}
END_TEST

/* Two nodes of one function and input are two calls. */
START_TEST(nodes_are_neither_merged_nor_folded)
{
    eddy_output both;

    h.limit = 1;
    both = program_binary(&p, "LogicalAnd", predicate(NULL, program_int(&p, 0)),
                          predicate(NULL, program_int(&p, 0)));
    construct_plan(&p, both, NULL, 0);
    ck_assert_int_eq(h.calls, 0);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 1);
    ck_assert_int_eq(h.calls, 2);
    program_run(&p);
    ck_assert_int_eq(h.calls, 4);
}
END_TEST

/* ---- order ---- */

/*
 * An outer loop with a large tensor in it, so that workers take part; the inner
 * one asks the host, and so does the outer.
 */
START_TEST(calls_of_a_run_come_one_by_one_and_in_order)
{
    const int64_t n = 20;
    eddy_output v[2], inner, count, big;

    use_workers((uint32_t)_i);
    h.limit = n;
    program_build(&p, "big float32[40000]=1\nhalf float32=0.5\nzero int64=0\n");
    big = program_output(&p, "big");
    v[0] = program_output(&p, "zero");
    v[1] = big;
    construct_while(&p, v, 2, v);
    construct_body(&p, predicate("outer", v[0]), v);
    construct_while(&p, &v[0], 1, &inner);
    construct_body(&p, predicate("inner", inner), &inner);
    inner = program_binary(&p, "AddV2", inner, program_int(&p, n));
    construct_end(&p, &inner, 1, &inner);
    v[1] = program_binary(&p, "Mul", v[1], program_output(&p, "half"));
    v[1] = program_binary(&p, "AddV2", v[1], big);
    count = program_binary(&p, "AddV2", v[0], program_int(&p, 1));
    v[0] = program_binary(&p, "Minimum", count, inner);
    construct_end(&p, v, 2, v);
    ck_assert_int_eq(construct_run(&p, v[0], NULL, NULL, 0), n);
    ck_assert_int_eq(h.calls, 3 * n + 1);
    ck_assert(!h.is_crowded);
}
END_TEST

/* Calls come in the order of iterations, whatever may overlap. */
START_TEST(a_loop_asks_in_the_order_of_its_iterations)
{
    eddy_output result;

    use_workers((uint32_t)_i);
    h.limit = 200;
    p.plan_options.parallel_iterations = 32;
    result = count_up(program_int(&p, 0));
    ck_assert_int_eq(construct_run(&p, result, NULL, NULL, 0), 200);
    ck_assert(!h.is_out_of_order);
    ck_assert(!h.is_crowded);
}
END_TEST

/* ---- failures ---- */

START_TEST(a_failure_says_where)
{
    h.limit = 100;
    h.fails_at = 6;
    construct_plan(&p, count_up(program_int(&p, 0)), NULL, 0);
    program_want(&p, program_execute(&p), EDDY_DATA_LOSS, EDDY_E_VALUE);
    ck_assert_str_eq(p.err.message, "the sensor of call 6 is gone");
    ck_assert_str_eq(p.err.node, "while/go_on");
    ck_assert_str_eq(p.err.frame, "while/while_context[5]");
    /* The plan can be run again. */
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 100);
}
END_TEST

START_TEST(a_failure_may_be_mute)
{
    h.limit = 100;
    h.fails_at = 1;
    h.is_mute = true;
    construct_plan(&p, count_up(program_int(&p, 0)), NULL, 0);
    program_want(&p, program_execute(&p), EDDY_ABORTED, EDDY_E_HOST_CALLBACK);
    ck_assert_str_eq(p.err.node, "while/go_on");
}
END_TEST

START_TEST(a_choice_must_be_one)
{
    const eddy_output feed = construct_feed(&p, "index", EDDY_INT64);
    const eddy_output chosen = selector(feed, 3);

    construct_plan(&p, chosen, &feed, 1);
    program_make_run(&p);
    for (int64_t i = -3; i < 6; i++) {
        program_feed_int(&p, 0, i);
        if (i >= -1 && i < 3) {
            program_run(&p);
            ck_assert_int_eq(program_fetch_int(&p, 0), i);
        } else {
            program_want(&p, program_execute(&p), EDDY_OUT_OF_RANGE,
                         EDDY_E_INDEX);
        }
    }
}
END_TEST

static eddy_status cancel(eddy_kernel *call, void *user, bool *out_value)
{
    (void)call;
    h.calls++;
    *out_value = true;
    if (h.calls == 5)
        eddy_run_cancel(((program *)user)->run);
    return EDDY_OK;
}

START_TEST(a_callback_may_cancel_its_run)
{
    const eddy_output zero = program_int(&p, 0);
    eddy_host_spec spec = spec_of(NULL, 0);
    eddy_output now, go_on;

    spec.user = &p;
    construct_while(&p, &zero, 1, &now);
    ck_assert_int_eq(
        eddy_graph_add_host_predicate(p.graph, &spec, cancel, &go_on, &p.err),
        EDDY_OK);
    construct_body(&p, go_on, &now);
    construct_end(&p, &now, 1, &now);
    construct_plan(&p, now, NULL, 0);
    program_want(&p, program_execute(&p), EDDY_CANCELLED, EDDY_E_CANCELLED);
    ck_assert_int_ge(h.calls, 5);
    ck_assert_int_lt(h.calls, 100);
}
END_TEST

START_TEST(bad_use_is_refused)
{
    const eddy_output input = program_int(&p, 0);
    const size_t size = eddy_graph_size(p.graph);
    eddy_host_spec spec = spec_of(&input, 1);
    eddy_output out;

    program_want(
        &p, eddy_graph_add_host_predicate(p.graph, &spec, NULL, &out, &p.err),
        EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    program_want(
        &p, eddy_graph_add_host_selector(p.graph, &spec, choose, NULL, &p.err),
        EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    spec.n_choices = -1;
    program_want(
        &p, eddy_graph_add_host_selector(p.graph, &spec, choose, &out, &p.err),
        EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    spec.n_choices = 0;
    spec.size--;
    program_want(
        &p, eddy_graph_add_host_selector(p.graph, &spec, choose, &out, &p.err),
        EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    spec.size++;
    spec.name = "bad name";
    program_want(
        &p, eddy_graph_add_host_selector(p.graph, &spec, choose, &out, &p.err),
        EDDY_INVALID_ARGUMENT, EDDY_E_BAD_NAME);
    ck_assert_uint_eq(eddy_graph_size(p.graph), size);
}
END_TEST

/* A number that is nobody's, or that of another kind. */
START_TEST(a_node_by_hand_has_no_callback)
{
    const eddy_dtype no_types[1] = {EDDY_INVALID};
    const eddy_plan_options none = {.size = sizeof none};

    selector(program_int(&p, 0), 0);
    for (int64_t number = 0; number < 2; number++) {
        const eddy_attr attrs[] = {
            eddy_attr_int("callback", &number),
            {"T", EDDY_ATTR_TYPE, true, 0, {.types = no_types}},
        };
        const eddy_node_spec spec = {.size = sizeof spec,
                                     .op = "_HostPredicate",
                                     .attrs = attrs,
                                     .n_attrs = 2};
        eddy_output out = {.index = 0};
        eddy_plan_options options = none;
        eddy_plan *plan = NULL;

        ck_assert_int_eq(eddy_graph_add(p.graph, &spec, &out.node, &p.err),
                         EDDY_OK);
        options.fetches = &out;
        options.n_fetches = 1;
        program_want(&p, eddy_plan_create(p.graph, &options, &plan, &p.err),
                     EDDY_FAILED_PRECONDITION, EDDY_E_HOST_CALLBACK);
    }
}
END_TEST

/* ---- files, copies, memory ---- */

START_TEST(a_graph_that_calls_the_host_is_not_saved)
{
    void *bytes = NULL;
    size_t length = 0;

    count_up(program_int(&p, 0));
    program_want(&p, eddy_graphdef_write(p.graph, &bytes, &length, &p.err),
                 EDDY_UNIMPLEMENTED, EDDY_E_HOST_CALLBACK);
    ck_assert_str_eq(p.err.node, "while/go_on");
    ck_assert_str_eq(p.err.op, "_HostPredicate");
    ck_assert_ptr_nonnull(strstr(p.err.message, "while/go_on"));
}
END_TEST

static eddy_status do_nothing(eddy_kernel *kernel)
{
    (void)kernel;
    return EDDY_OK;
}

/* Saves a node of an op whose name then becomes that of the host's op. */
static eddy_graph *load_forged(void)
{
    const eddy_op_spec op = {.size = sizeof op,
                             .name = "XHostPredicate",
                             .outputs = "value: bool",
                             .attrs = "T: list(type) >= 0, callback: int >= 0",
                             .kernel = do_nothing};
    eddy_graph *loaded = NULL;
    void *bytes;
    char *at;
    size_t length;

    ck_assert_int_eq(eddy_op_register(p.ctx, &op, &p.err), EDDY_OK);
    program_build(&p, "forged XHostPredicate callback=0 T=[]\n");
    ck_assert_int_eq(eddy_graphdef_write(p.graph, &bytes, &length, &p.err),
                     EDDY_OK);
    at = bytes;
    while (memcmp(at, "XHostPredicate", 14) != 0)
        at++;
    *at = '_';
    ck_assert_int_eq(
        eddy_graphdef_read(p.ctx, bytes, length, NULL, &loaded, &p.err),
        EDDY_OK);
    eddy_graphdef_free(p.graph, bytes, length);
    return loaded;
}

/* Not even when the graph has a callback of that number. */
START_TEST(a_file_names_no_callback)
{
    const eddy_output wanted = {0, 0};
    const eddy_plan_options options = {
        .size = sizeof options, .fetches = &wanted, .n_fetches = 1};
    eddy_graph *loaded, *lowered = NULL;
    eddy_plan *plan = NULL;
    eddy_host_spec spec = spec_of(NULL, 0);
    eddy_output out;

    loaded = load_forged();
    eddy_graph_destroy(p.graph);
    p.graph = loaded;
    ck_assert_int_eq(
        eddy_graph_add_host_predicate(p.graph, &spec, is_below, &out, &p.err),
        EDDY_OK);
    program_want(&p, eddy_plan_create(p.graph, &options, &plan, &p.err),
                 EDDY_FAILED_PRECONDITION, EDDY_E_HOST_CALLBACK);
    ck_assert_int_eq(eddy_graph_lower(p.graph, NULL, &lowered, &p.err),
                     EDDY_OK);
    program_want(&p, eddy_plan_create(lowered, &options, &plan, &p.err),
                 EDDY_FAILED_PRECONDITION, EDDY_E_HOST_CALLBACK);
    eddy_graph_destroy(lowered);
}
END_TEST

START_TEST(copies_and_plans_call_it_too)
{
    eddy_graph *lowered = NULL;
    eddy_output result;

    h.limit = 4;
    result = count_up(program_int(&p, 0));
    ck_assert_int_eq(eddy_graph_lower(p.graph, NULL, &lowered, &p.err),
                     EDDY_OK);
    result.node =
        eddy_graph_find(lowered, eddy_graph_node_name(p.graph, result.node));
    eddy_graph_destroy(p.graph);
    p.graph = lowered;
    construct_plan(&p, result, NULL, 0);
    eddy_graph_destroy(p.graph);
    p.graph = NULL;
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 4);
    ck_assert_int_eq(h.calls, 5);
}
END_TEST

/* x doubled while the host wants it, five times. */
START_TEST(a_loop_that_the_host_steers_has_gradients)
{
    const double three = 3;
    const eddy_output x = program_constant(&p, EDDY_FLOAT64, &three);
    eddy_output v[2] = {program_int(&p, 0), x}, dx;

    h.limit = 5;
    construct_while(&p, v, 2, v);
    construct_body(&p, predicate(NULL, v[0]), v);
    v[0] = program_binary(&p, "AddV2", v[0], program_int(&p, 1));
    v[1] = program_binary(&p, "AddV2", v[1], v[1]);
    construct_end(&p, v, 2, v);
    ck_assert_int_eq(
        eddy_gradients(p.graph, &v[1], 1, &x, 1, NULL, &dx, &p.err), EDDY_OK);
    program_plan_outputs(&p, &dx, 1);
    program_run(&p);
    ck_assert_double_eq(
        *(const double *)eddy_tensor_data(eddy_run_fetch(p.run, 0)), 32);
    ck_assert_int_eq(h.calls, 6);
}
END_TEST

START_TEST(nothing_is_left_without_memory)
{
    const eddy_output input = program_int(&p, 0);
    const eddy_host_spec spec = spec_of(&input, 1);
    const size_t size = eddy_graph_size(p.graph);
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;
    eddy_output out;

    for (int n = 0; status != EDDY_OK; n++) {
        ck_assert_int_lt(n, 100);
        counting_allocator_fail(&p.counting, n);
        status =
            eddy_graph_add_host_selector(p.graph, &spec, choose, &out, &p.err);
        if (status != EDDY_OK) {
            ck_assert_int_eq(p.err.detail, EDDY_E_MEMORY);
            ck_assert_uint_eq(eddy_graph_size(p.graph), size);
        }
    }
    counting_allocator_fail(&p.counting, -1);
    ck_assert_int_eq(construct_run(&p, out, NULL, NULL, 0), 0);
}
END_TEST

TCase *host_tests(void)
{
    TCase *tcase = tcase_create("host");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, a_predicate_of_the_host_steers_a_loop, 5, 10);
    tcase_add_test(tcase, a_selector_of_the_host_steers_a_case);
    tcase_add_test(tcase, inputs_are_any_number_and_shape);
    tcase_add_test(tcase, nodes_are_neither_merged_nor_folded);
    tcase_add_loop_test(tcase, calls_of_a_run_come_one_by_one_and_in_order, 0,
                        4);
    tcase_add_loop_test(tcase, a_loop_asks_in_the_order_of_its_iterations, 0,
                        4);
    tcase_add_test(tcase, a_failure_says_where);
    tcase_add_test(tcase, a_failure_may_be_mute);
    tcase_add_test(tcase, a_choice_must_be_one);
    tcase_add_test(tcase, a_callback_may_cancel_its_run);
    tcase_add_test(tcase, bad_use_is_refused);
    tcase_add_test(tcase, a_node_by_hand_has_no_callback);
    tcase_add_test(tcase, a_graph_that_calls_the_host_is_not_saved);
    tcase_add_test(tcase, a_file_names_no_callback);
    tcase_add_test(tcase, copies_and_plans_call_it_too);
    tcase_add_test(tcase, a_loop_that_the_host_steers_has_gradients);
    tcase_add_test(tcase, nothing_is_left_without_memory);
    return tcase;
}
