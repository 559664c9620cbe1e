/* SPDX-License-Identifier: Apache-2.0 */
/* How Caffe2's recurrent networks fail, and take back what they did. */
#include "tests/aid/recurrent.h"
#include "tests/suites.h"

#include <string.h>

static program p;
static recurrent d;

static void setup(void)
{
    program_init(&p, 0);
    recurrent_init(&d, &p, EDDY_FLOAT64, 4, 0.5);
}

static void teardown(void)
{
    eddy_graph_destroy(d.net);
    program_deinit(&p);
}

/* The call fails so, names the node, and leaves the graph as it was. */
static void want(eddy_status code, eddy_detail detail, const char *node,
                 const char *words)
{
    const size_t size = eddy_graph_size(p.graph);
    eddy_output out[4];

    program_want(&p,
                 eddy_caffe2_recurrent_network(p.graph, &d.spec, out, &p.err),
                 code, detail);
    if (node)
        ck_assert_str_eq(p.err.node, node);
    ck_assert_msg(strstr(p.err.message, words) != NULL, "%s", p.err.message);
    ck_assert_uint_eq(eddy_graph_size(p.graph), size);
    ck_assert_uint_eq(eddy_construct_depth(p.graph), 0);
}

static void want_bad(eddy_detail detail, const char *words)
{
    want(EDDY_INVALID_ARGUMENT, detail, NULL, words);
}

START_TEST(blobs_must_exist)
{
    d.links[0].internal = "x_T";
    want(EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME, NULL, "x_t");
    d.links[0].internal = "x_t";
    d.links[0].external = "y";
    want(EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME, "y", "neither");
    d.links[0].external = "x";
    d.aliases[0].src = "g";
    want(EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME, "g", "neither");
    d.aliases[0].src = "h";
    d.decay.name = "growth";
    want(EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME, NULL, "growth");
    d.spec.n_params = 0;
    want(EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME, "decay", "linked to nothing");
    d.decay.name = "decay";
    d.spec.n_params = 1;
    d.spec.timestep = "time";
    want(EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME, NULL, "time");
}
END_TEST

START_TEST(links_must_fit_together)
{
    d.links[2].offset = 2;
    want_bad(EDDY_E_INDEX, "behind");
    d.links[2].offset = 0;
    want_bad(EDDY_E_INDEX, "behind");
    d.links[2] = (eddy_caffe2_link){"h_next", "h", 1, 2};
    want_bad(EDDY_E_INDEX, "behind");
    d.links[2] = (eddy_caffe2_link){"h_next", "x", 0, 0};
    want_bad(EDDY_E_ARGUMENT, "writes to an input");
    d.spec.n_links = 2;
    want(EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT, "h", "no link");
    d.spec.n_links = 3;
    d.links[2] = (eddy_caffe2_link){"h_next", "h", 1, 0};
    d.links[1].offset = 2;
    want_bad(EDDY_E_INDEX, "no step has made");
    d.links[1] = (eddy_caffe2_link){"h_prev", "h", 0, 3};
    want_bad(EDDY_E_INDEX, "no step has made");
    d.links[1] = (eddy_caffe2_link){"h_prev", "h", 1, 0}; /* of itself */
    want_bad(EDDY_E_CYCLE, "waits for itself");
    d.links[1] = (eddy_caffe2_link){"h_prev", "h", 0, 2};
    want_bad(EDDY_E_CYCLE, "waits for itself");
    d.links[1] = (eddy_caffe2_link){"x_t", "h", 0, 0};
    want(EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT, "x_t", "twice");
    d.links[1] = (eddy_caffe2_link){"h_next", "h", 1, 0};
    want_bad(EDDY_E_ARGUMENT, "second");
    d.links[1] = (eddy_caffe2_link){"h_prev", "h", 0, 0};
    d.links[0].offset = -1;
    want_bad(EDDY_E_INDEX, "before the step");
    d.links[0].offset = 1025;
    want_bad(EDDY_E_INDEX, "too far");
}
END_TEST

START_TEST(values_must_fit_their_blobs)
{
    static const float half = 0.5F;

    d.decay.value = program_constant(&p, EDDY_FLOAT32, &half);
    want(EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE, "decay", "float32");
    d.decay.value = d.feeds[2].at;
    d.h.initial = &d.feeds[0].at;
    d.h.n_initial = 0; /* a vector, to which x is added */
    d.aliases[2].dst = NULL;
    ck_assert_int_eq(
        eddy_caffe2_recurrent_network(p.graph, &d.spec, NULL, &p.err), EDDY_OK);
    d.h.initial = &d.feeds[1].at;
    d.decay.value = d.feeds[0].at; /* a vector, that the state becomes */
    want_bad(EDDY_E_SHAPE, "its initial value has []");
    d.decay.value = d.feeds[2].at;
    d.h.initial = &d.feeds[1].at;
    d.h.n_initial = 1;
    want_bad(EDDY_E_SHAPE, "1 rows");
    d.h.n_initial = 0;
    d.x.value = d.feeds[1].at;
    want_bad(EDDY_E_SHAPE, "scalar");
    d.x.value.node = 1000;
    want_bad(EDDY_E_UNKNOWN_INPUT, "1000");
    d.x.value = d.feeds[0].at;
    d.spec.timestep = "h_prev";
    want(EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE, "h_prev", "float64");
    d.spec.timestep = "h_next";
    want(EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT, "h_next", "no Placeholder");
}
END_TEST

START_TEST(a_malformed_specification_is_refused)
{
    static const size_t grads[] = {4};

    d.spec.size = 1;
    want_bad(EDDY_E_ARGUMENT, "wrong size");
    d.spec.size = sizeof d.spec;
    d.spec.step_net = NULL;
    want_bad(EDDY_E_ARGUMENT, "no step net");
    d.spec.step_net = p.graph;
    want_bad(EDDY_E_ARGUMENT, "itself");
    d.spec.step_net = d.net;
    d.spec.n_inputs = 0;
    want_bad(EDDY_E_INPUT_COUNT, "no inputs");
    d.spec.n_inputs = 1;
    d.spec.n_states = 0;
    want_bad(EDDY_E_ARGUMENT, "no states");
    d.spec.n_states = 1;
    d.spec.parallel_iterations = -1;
    want_bad(EDDY_E_PARALLEL_ITERATIONS, "parallel");
    d.spec.parallel_iterations = 0;
    d.h.n_initial = 1025;
    want_bad(EDDY_E_ARGUMENT, "too many");
    d.h.n_initial = 0;
    d.spec.outputs_with_grads = grads;
    d.spec.n_outputs_with_grads = 1;
    want_bad(EDDY_E_ARGUMENT, "gradients");
    d.spec.outputs_with_grads = NULL;
    d.spec.n_outputs_with_grads = 0;
    d.aliases[0].src = "x";
    want_bad(EDDY_E_ARGUMENT, "alias of an input");
    d.aliases[0].src = "h";
    d.aliases[0].dst = "hidden"; /* as another */
    want_bad(EDDY_E_DUPLICATE_NODE, "");
}
END_TEST

START_TEST(a_net_that_is_not_closed_is_refused)
{
    eddy_graph *around = p.graph;
    eddy_output now;

    p.graph = d.net;
    construct_while(&p, (eddy_output[]){program_int(&p, 0)}, 1, &now);
    p.graph = around;
    want(EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT, NULL, "has been begun");
}
END_TEST

static eddy_status build_again(program *into, eddy_error *err)
{
    eddy_output out[4];

    return eddy_caffe2_recurrent_network(into->graph, &d.spec, out, err);
}

START_TEST(lack_of_memory_is_survived)
{
    d.aliases[2].dst = NULL;
    trial_memory(&p, build_again);
}
END_TEST

TCase *caffe2_errors_tests(void)
{
    TCase *tc = tcase_create("caffe2_errors");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, blobs_must_exist);
    tcase_add_test(tc, links_must_fit_together);
    tcase_add_test(tc, values_must_fit_their_blobs);
    tcase_add_test(tc, a_malformed_specification_is_refused);
    tcase_add_test(tc, a_net_that_is_not_closed_is_refused);
    tcase_add_test(tc, lack_of_memory_is_survived);
    return tc;
}
