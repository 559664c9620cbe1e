/* SPDX-License-Identifier: Apache-2.0 */
/* How Theano's scan fails, and that it takes back what it did. */
#include "tests/aid/decaying.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

static program p;

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    program_deinit(&p);
}

/* ---- strict ---- */

START_TEST(a_strict_scan_captures_nothing_else)
{
    decaying d;
    trial_result found;
    size_t size;

    decaying_init(&d, &p, 4, 0);
    d.spec.strict = true;
    size = eddy_graph_size(p.graph);
    program_want(&p, decaying_scan(&d, &p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_VALUE_SCOPE);
    ck_assert_str_eq(p.err.node,
                     eddy_graph_node_name(p.graph, d.feeds[2].at.node));
    ck_assert_uint_eq(eddy_graph_size(p.graph), size);
    d.spec.non_sequences = &d.feeds[2].at;
    d.spec.n_non_sequences = 1;
    program_want_ok(&p, decaying_scan(&d, &p));
    found = decaying_run(&d, &p, d.outputs);
    trial_want(&found, &TRIAL_SHAPE(4), decaying_values);
    d.spec.has_until = true;
    d.most = d.feeds[1].at;
    program_want(&p, decaying_scan(&d, &p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_VALUE_SCOPE);
    ck_assert_str_eq(p.err.node, eddy_graph_node_name(p.graph, d.most.node));
}
END_TEST

/* ---- bad use ---- */

static void want_bad(decaying *d, eddy_detail detail, const char *words)
{
    const size_t size = eddy_graph_size(p.graph);

    program_want(&p, decaying_scan(d, &p), EDDY_INVALID_ARGUMENT, detail);
    ck_assert_msg(strstr(p.err.message, words) != NULL, "%s", p.err.message);
    ck_assert_uint_eq(eddy_graph_size(p.graph), size);
    ck_assert_uint_eq(eddy_construct_depth(p.graph), 0);
}

START_TEST(a_malformed_specification_is_refused)
{
    static const int64_t future[] = {0}, far[] = {-1, -1025};
    static const int64_t wide[] = {(int64_t)1 << 40};
    eddy_part_fn step;
    decaying d;

    decaying_init(&d, &p, 4, 0);
    step = d.spec.step;
    d.spec.size = 1;
    want_bad(&d, EDDY_E_ARGUMENT, "wrong size");
    d.spec.size = sizeof d.spec;
    d.spec.step = NULL;
    want_bad(&d, EDDY_E_ARGUMENT, "no step");
    d.spec.step = step;
    d.h.taps = future;
    d.h.n_taps = 1;
    want_bad(&d, EDDY_E_VALUE, "output 0");
    d.h.taps = far;
    d.h.n_taps = 2;
    want_bad(&d, EDDY_E_VALUE, "-1025");
    d.h.initial = NULL;
    want_bad(&d, EDDY_E_ARGUMENT, "no initial");
    d.h = (eddy_theano_output){.initial = &d.feeds[1].at};
    d.x.taps = wide;
    d.x.n_taps = 1;
    want_bad(&d, EDDY_E_VALUE, "sequence 0");
    d.x.taps = NULL;
    d.spec.truncate_gradient = -2;
    want_bad(&d, EDDY_E_VALUE, "truncate_gradient");
    d.spec.truncate_gradient = 0;
    d.spec.parallel_iterations = -1;
    want_bad(&d, EDDY_E_PARALLEL_ITERATIONS, "parallel");
    d.spec.parallel_iterations = 0;
    d.spec.n_sequences = 0;
    want_bad(&d, EDDY_E_INPUT_COUNT, "how many steps");
}
END_TEST

START_TEST(values_that_do_not_fit_are_refused)
{
    static const int64_t two[] = {-2, -1};
    static const eddy_shape known = {.rank = 1, .dims = {4}};
    decaying d;
    eddy_output other;

    decaying_init(&d, &p, 4, 0);
    d.x.input = d.feeds[1].at;
    want_bad(&d, EDDY_E_SHAPE, "sequence 0");
    ck_assert_str_eq(p.err.node,
                     eddy_graph_node_name(p.graph, d.feeds[1].at.node));
    d.x.input.node = 10000;
    want_bad(&d, EDDY_E_UNKNOWN_INPUT, "10000");
    d.x.input = d.feeds[0].at;
    d.h.taps = two;
    d.h.n_taps = 2;
    want_bad(&d, EDDY_E_SHAPE, "2 rows");
    d.h.taps = NULL;
    other = program_constant(&p, EDDY_FLOAT32, &(const float){0});
    d.h.initial = &other;
    want_bad(&d, EDDY_E_INPUT_DTYPE, "");
    d.h.initial = &d.feeds[0].at; /* a vector, as the output is */
    program_want_ok(&p, decaying_scan(&d, &p));
    d.h.initial = &d.feeds[1].at;
    d.spec.n_steps = &d.feeds[1].at;
    want_bad(&d, EDDY_E_DTYPE, "float64");
    other = program_int(&p, -1);
    d.spec.n_steps = &other;
    want_bad(&d, EDDY_E_VALUE, "-1 steps");
    program_want_ok(&p, eddy_graph_add_placeholder(p.graph, NULL, EDDY_FLOAT64,
                                                   &known, &d.x.input, &p.err));
    other = program_int(&p, 5);
    want_bad(&d, EDDY_E_SHAPE, "5 steps");
    d.spec.n_steps = NULL;
    d.h.initial = &d.x.input;
    d.x.taps = (const int64_t[]){0};
    d.x.n_taps = 1;
    d.spec.has_until = true;
    want_bad(&d, EDDY_E_PREDICATE, "");
}
END_TEST

/* Fails after the step has begun a loop of its own. */
static eddy_status failing_step(eddy_graph *graph, void *user,
                                const eddy_output *args, size_t n,
                                eddy_output *out_outputs, eddy_error *err)
{
    eddy_output now;

    (void)graph;
    (void)n;
    (void)out_outputs;
    construct_while(&p, args, 1, &now);
    if (!user)
        return EDDY_OK;
    err->code = EDDY_INVALID_ARGUMENT;
    err->detail = EDDY_E_ABORT_OP;
    snprintf(err->message, sizeof err->message, "no more");
    return EDDY_INVALID_ARGUMENT;
}

START_TEST(a_step_that_fails_is_taken_back)
{
    decaying d;
    const size_t depth = eddy_construct_depth(p.graph);
    size_t size;

    decaying_init(&d, &p, 4, 0);
    d.spec.step = failing_step;
    want_bad(&d, EDDY_E_ABORT_OP, "no more");
    d.spec.user = NULL;
    size = eddy_graph_size(p.graph);
    program_want(&p, decaying_scan(&d, &p), EDDY_FAILED_PRECONDITION,
                 EDDY_E_CONSTRUCT);
    ck_assert_uint_eq(eddy_graph_size(p.graph), size);
    ck_assert_uint_eq(eddy_construct_depth(p.graph), depth);
}
END_TEST

/* ---- memory ---- */

static decaying scanned;

static eddy_status scan_again(program *into, eddy_error *err)
{
    return eddy_theano_scan(into->graph, &scanned.spec, &scanned.outputs,
                            &scanned.last, &scanned.n_steps, err);
}

START_TEST(lack_of_memory_is_survived)
{
    trial_result found;

    decaying_init(&scanned, &p, 4, 100);
    scanned.spec.truncate_gradient = _i % 2 != 0 ? 2 : 0;
    scanned.spec.has_until = _i / 2 != 0;
    trial_memory(&p, scan_again);
    found = decaying_run(&scanned, &p, scanned.outputs);
    trial_want(&found, &TRIAL_SHAPE(4), decaying_values);
}
END_TEST

TCase *theano_errors_tests(void)
{
    TCase *tc = tcase_create("theano_errors");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_strict_scan_captures_nothing_else);
    tcase_add_test(tc, a_malformed_specification_is_refused);
    tcase_add_test(tc, values_that_do_not_fit_are_refused);
    tcase_add_test(tc, a_step_that_fails_is_taken_back);
    tcase_add_loop_test(tc, lack_of_memory_is_survived, 0, 4);
    return tc;
}
