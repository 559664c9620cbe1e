/* SPDX-License-Identifier: Apache-2.0 */
/* Limits on loading, lowering, unrolling, differentiating and planning. */
#include "tests/aid/functions.h"
#include "tests/aid/loops.h"
#include "tests/suites.h"

#include <string.h>

static program p;
static eddy_output result, input;

/* A chain of products long enough that no limit below holds it. */
static void setup(void)
{
    program_init(&p, 0);
    program_build(&p, "x ?float32\n");
    input = result = program_output(&p, "x");
    for (int i = 0; i < 500; i++)
        result = program_binary(&p, "Mul", result, input);
}

static void teardown(void)
{
    program_deinit(&p);
}

/* ---- the calls that take limits ---- */

static eddy_status load(const eddy_limits *limits)
{
    const eddy_graphdef_options options = {.size = sizeof options,
                                           .limits = limits};
    eddy_graph *loaded = NULL;
    eddy_status status;
    size_t length;
    void *bytes;

    ck_assert_int_eq(eddy_graphdef_write(p.graph, &bytes, &length, &p.err),
                     EDDY_OK);
    status =
        eddy_graphdef_read(p.ctx, bytes, length, &options, &loaded, &p.err);
    ck_assert((status == EDDY_OK) == (loaded != NULL));
    eddy_graph_destroy(loaded);
    eddy_graphdef_free(p.graph, bytes, length);
    return status;
}

static eddy_status lower(const eddy_limits *limits)
{
    const eddy_lower_options options = {.size = sizeof options,
                                        .limits = limits};
    eddy_graph *lowered = NULL;
    const eddy_status status =
        eddy_graph_lower(p.graph, &options, &lowered, &p.err);

    ck_assert((status == EDDY_OK) == (lowered != NULL));
    eddy_graph_destroy(lowered);
    return status;
}

static eddy_status unroll(const eddy_limits *limits)
{
    const eddy_unroll_options options = {.size = sizeof options,
                                         .limits = limits};
    eddy_graph *unrolled = NULL;
    const eddy_status status =
        eddy_graph_unroll(p.graph, &options, &unrolled, &p.err);

    ck_assert((status == EDDY_OK) == (unrolled != NULL));
    eddy_graph_destroy(unrolled);
    return status;
}

static eddy_status plan(const eddy_limits *limits)
{
    const eddy_plan_options options = {.size = sizeof options,
                                       .feeds = &input,
                                       .n_feeds = 1,
                                       .fetches = &result,
                                       .n_fetches = 1,
                                       .limits = limits};
    eddy_plan *made = NULL;
    const eddy_status status =
        eddy_plan_create(p.graph, &options, &made, &p.err);

    ck_assert((status == EDDY_OK) == (made != NULL));
    eddy_plan_release(made);
    return status;
}

static eddy_status differentiate(const eddy_limits *limits)
{
    const eddy_gradient_options options = {.size = sizeof options,
                                           .limits = limits};
    eddy_output gradient;
    const eddy_status status = eddy_gradients(p.graph, &result, 1, &input, 1,
                                              &options, &gradient, &p.err);

    ck_assert((status == EDDY_OK) == (gradient.node != EDDY_NO_NODE));
    return status;
}

static eddy_status go_forward(const eddy_limits *limits)
{
    const eddy_gradient_options options = {.size = sizeof options,
                                           .limits = limits};
    eddy_output tangent;
    const eddy_status status = eddy_jvp(p.graph, &result, 1, &input, 1, NULL,
                                        &options, &tangent, &p.err);

    ck_assert((status == EDDY_OK) == (tangent.node != EDDY_NO_NODE));
    return status;
}

static eddy_status multiply(const eddy_limits *limits)
{
    const eddy_gradient_options options = {.size = sizeof options,
                                           .limits = limits};
    eddy_output product;
    const eddy_status status = eddy_hvp(p.graph, &result, 1, &input, 1, NULL,
                                        &options, &product, &p.err);

    ck_assert((status == EDDY_OK) == (product.node != EDDY_NO_NODE));
    return status;
}

static const struct {
    const char *name; /* as messages begin */
    eddy_status (*call)(const eddy_limits *limits);
    bool adds; /* to the graph, which keeps what it got */
} calls[] = {
    {"loading", load, false},
    {"lowering", lower, false},
    {"unrolling", unroll, false},
    {"planning", plan, false},
    {"the gradient", differentiate, true},
    {"the tangent", go_forward, true},
    {"the product with the Hessian", multiply, true},
};

#define N_CALLS ((int)(sizeof calls / sizeof calls[0]))

/* What a refusal leaves: nothing, but for unused nodes of the graph. */
static void want_freed(int i, long long bytes_before, size_t nodes_before)
{
    if (!calls[i].adds) {
        ck_assert_int_eq(atomic_load(&p.counting.live_bytes), bytes_before);
        ck_assert_uint_eq(eddy_graph_size(p.graph), nodes_before);
    }
    /* The graph is as good as before. */
    ck_assert_int_eq(calls[i].call(NULL), EDDY_OK);
}

START_TEST(bytes_are_bounded)
{
    const eddy_limits limits = {.size = sizeof limits, .max_bytes = 20000};
    const long long before = atomic_load(&p.counting.live_bytes);
    const size_t n = eddy_graph_size(p.graph);

    program_want(&p, calls[_i].call(&limits), EDDY_RESOURCE_EXHAUSTED,
                 EDDY_E_LIMIT_BYTES);
    ck_assert_ptr_nonnull(strstr(p.err.message, "20000"));
    want_freed(_i, before, n);
}
END_TEST

START_TEST(nodes_are_bounded)
{
    const eddy_limits limits = {.size = sizeof limits, .max_nodes = 400};
    const long long before = atomic_load(&p.counting.live_bytes);
    const size_t n = eddy_graph_size(p.graph);

    /* A graph without functions and loops gets no nodes from these two. */
    if (calls[_i].call == lower || calls[_i].call == unroll) {
        ck_assert_int_eq(calls[_i].call(&limits), EDDY_OK);
        return;
    }
    program_want(&p, calls[_i].call(&limits), EDDY_RESOURCE_EXHAUSTED,
                 EDDY_E_LIMIT_NODES);
    ck_assert_ptr_nonnull(strstr(p.err.message, "400"));
    if (calls[_i].adds)
        ck_assert_uint_le(eddy_graph_size(p.graph), n + 400);
    want_freed(_i, before, n);
}
END_TEST

START_TEST(time_is_bounded)
{
    const eddy_limits limits = {.size = sizeof limits, .timeout_ns = 1};
    const long long before = atomic_load(&p.counting.live_bytes);
    const size_t n = eddy_graph_size(p.graph);

    program_want(&p, calls[_i].call(&limits), EDDY_DEADLINE_EXCEEDED,
                 EDDY_E_DEADLINE);
    ck_assert_ptr_nonnull(strstr(p.err.message, calls[_i].name));
    want_freed(_i, before, n);
}
END_TEST

typedef struct patience {
    int n_asked, limit;
} patience;

static bool has_lost(void *user)
{
    patience *had = user;

    return had->n_asked++ >= had->limit;
}

START_TEST(a_cancel_is_heard_wherever_it_comes)
{
    const long long before = atomic_load(&p.counting.live_bytes);
    const size_t n = eddy_graph_size(p.graph);
    eddy_status status = EDDY_CANCELLED;
    int limit = 0;

    /*
     * Every call asks several times, and gives up at each of them; one that
     * adds to the graph leaves it larger each time, so some are left out.
     */
    for (; status == EDDY_CANCELLED; limit += calls[_i].adds ? limit + 1 : 1) {
        patience had = {.limit = limit};
        const eddy_limits limits = {
            .size = sizeof limits, .is_cancelled = has_lost, .user = &had};

        status = calls[_i].call(&limits);
        if (status == EDDY_OK)
            break;
        program_want(&p, status, EDDY_CANCELLED, EDDY_E_CANCELLED);
        ck_assert_int_eq(had.n_asked, limit + 1);
        if (!calls[_i].adds)
            ck_assert_int_eq(atomic_load(&p.counting.live_bytes), before);
    }
    ck_assert_int_eq(status, EDDY_OK);
    ck_assert_int_ge(limit, 2);
    if (!calls[_i].adds)
        want_freed(_i, before, n);
}
END_TEST

START_TEST(limits_that_hold_change_nothing)
{
    const eddy_limits limits = {.size = sizeof limits,
                                .max_nodes = 100 * 1000,
                                .max_bytes = 100 << 20,
                                .timeout_ns = UINT64_MAX};

    ck_assert_int_eq(calls[_i].call(&limits), EDDY_OK);
    ck_assert_int_eq(calls[_i].call(NULL), EDDY_OK);
}
END_TEST

START_TEST(limits_of_an_unknown_size_are_refused)
{
    eddy_limits limits = {.size = sizeof limits + 8};

    program_want(&p, calls[_i].call(&limits), EDDY_INVALID_ARGUMENT,
                 EDDY_E_ARGUMENT);
    limits.size = 0;
    program_want(&p, calls[_i].call(&limits), EDDY_INVALID_ARGUMENT,
                 EDDY_E_ARGUMENT);
    /* That of an older version, which knew nodes alone. */
    limits.size = offsetof(eddy_limits, max_bytes);
    limits.max_bytes = 1;
    ck_assert_int_eq(calls[_i].call(&limits), EDDY_OK);
}
END_TEST

/* ---- nodes that lowering and unrolling add ---- */

START_TEST(nodes_of_trips_are_bounded)
{
    const eddy_limits limits = {.size = sizeof limits, .max_nodes = 100};
    eddy_unroll_options options = {.size = sizeof options, .limits = &limits};
    eddy_graph *unrolled;

    program_clear(&p);
    loops_counter(&p, program_int(&p, 1000));
    program_want(&p, eddy_graph_unroll(p.graph, &options, &unrolled, &p.err),
                 EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_NODES);
    /* The lesser of the two limits holds. */
    options.max_nodes = 1000 * 1000;
    program_want(&p, eddy_graph_unroll(p.graph, &options, &unrolled, &p.err),
                 EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_NODES);
    options.limits = NULL;
    ck_assert_int_eq(eddy_graph_unroll(p.graph, &options, &unrolled, &p.err),
                     EDDY_OK);
    eddy_graph_destroy(unrolled);
}
END_TEST

/* ---- presets ---- */

START_TEST(presets_for_unknown_graphs_bound_everything)
{
    eddy_graphdef_options read = {.size = sizeof read};
    eddy_lower_options to_lower = {.size = sizeof to_lower};
    eddy_unroll_options to_unroll = {.size = sizeof to_unroll};
    eddy_plan_options to_plan = {.size = sizeof to_plan};
    eddy_gradient_options gradient = {.size = sizeof gradient};
    const eddy_limits *all[5];

    eddy_graphdef_options_untrusted(&read);
    eddy_lower_options_untrusted(&to_lower);
    eddy_unroll_options_untrusted(&to_unroll);
    eddy_plan_options_untrusted(&to_plan);
    eddy_gradient_options_untrusted(&gradient);
    all[0] = read.limits;
    all[1] = to_lower.limits;
    all[2] = to_unroll.limits;
    all[3] = to_plan.limits;
    all[4] = gradient.limits;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        ck_assert_ptr_nonnull(all[i]);
        ck_assert_uint_gt(all[i]->max_nodes, 0);
        ck_assert_uint_gt(all[i]->max_bytes, 0);
        ck_assert_uint_le(all[i]->max_bytes, 256 << 20);
        ck_assert_uint_gt(all[i]->timeout_ns, 0);
        ck_assert_uint_le(all[i]->timeout_ns, UINT64_C(2000000000));
    }
}
END_TEST

TCase *limits_tests(void)
{
    TCase *tc = tcase_create("limits");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, bytes_are_bounded, 0, N_CALLS);
    tcase_add_loop_test(tc, nodes_are_bounded, 0, N_CALLS);
    tcase_add_loop_test(tc, time_is_bounded, 0, N_CALLS);
    tcase_add_loop_test(tc, a_cancel_is_heard_wherever_it_comes, 0, N_CALLS);
    tcase_add_loop_test(tc, limits_that_hold_change_nothing, 0, N_CALLS);
    tcase_add_loop_test(tc, limits_of_an_unknown_size_are_refused, 0, N_CALLS);
    tcase_add_test(tc, nodes_of_trips_are_bounded);
    tcase_add_test(tc, presets_for_unknown_graphs_bound_everything);
    return tc;
}
