/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan keeps of a graph, what it refuses, and what it says of itself. */
#include "tests/aid/probe_ops.h"
#include "tests/suites.h"

#include <stddef.h>
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

/* A counter loop up to `n`, in the frame w. */
#define LOOP                                                                   \
    "zero int64=0\n"                                                           \
    "n int64=5\n"                                                              \
    "one int64=1\n"                                                            \
    "w/enter Enter@w zero\n"                                                   \
    "w/n Enter@w! n\n"                                                         \
    "w/one Enter@w! one\n"                                                     \
    "w/merge Merge w/enter w/next\n"                                           \
    "w/less Less w/merge w/n\n"                                                \
    "w/cond LoopCond w/less\n"                                                 \
    "w/switch Switch w/merge w/cond\n"                                         \
    "w/add AddV2 w/switch:1 w/one\n"                                           \
    "w/next NextIteration w/add\n"                                             \
    "w/exit Exit w/switch\n"

/* ---- pruning ---- */

START_TEST(nodes_that_nothing_needs_are_left_out)
{
    program_build(&p, "a int64=1\n"
                      "b int64=2\n"
                      "c AddV2 a a\n"
                      "d Mul b c\n"
                      "e Neg d\n");
    program_plan(&p, NULL, "c");
    ck_assert_uint_eq(eddy_plan_nodes(p.plan), 2);
    program_plan(&p, NULL, "c e");
    ck_assert_uint_eq(eddy_plan_nodes(p.plan), 5);
}
END_TEST

START_TEST(an_empty_plan_runs)
{
    program_build(&p, "a int64=1\n");
    program_plan(&p, NULL, NULL);
    ck_assert_uint_eq(eddy_plan_nodes(p.plan), 0);
    program_run(&p);
    ck_assert_uint_eq(program_stats(&p).live_executions, 0);
}
END_TEST

START_TEST(a_target_runs_without_being_fetched)
{
    probe_ops_register(&p);
    program_build(&p, "a int64=1\n"
                      "t Tick a\n"
                      "group NoOp ^t\n");
    program_plan(&p, NULL, "^group");
    ck_assert_uint_eq(eddy_plan_nodes(p.plan), 3);
    program_run(&p);
    ck_assert_uint_eq(tick_count(), 1);
}
END_TEST

START_TEST(control_inputs_are_kept)
{
    probe_ops_register(&p);
    program_build(&p, "a int64=1\n"
                      "t Tick a\n"
                      "b int64=2 ^t\n");
    program_plan(&p, NULL, "b");
    ck_assert_uint_eq(eddy_plan_nodes(p.plan), 3);
    program_run(&p);
    ck_assert_uint_eq(tick_count(), 1);
}
END_TEST

START_TEST(a_plan_outlives_its_graph)
{
    program_build(&p, LOOP);
    program_plan(&p, NULL, "w/exit");
    eddy_graph_destroy(p.graph);
    p.graph = NULL;
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 5);
}
END_TEST

START_TEST(a_plan_does_not_see_later_changes_of_its_graph)
{
    program_build(&p, "a int64=1\n"
                      "b int64=2\n"
                      "c AddV2 a a\n");
    program_plan(&p, NULL, "c");
    ck_assert_int_eq(eddy_graph_set_input(p.graph, program_output(&p, "c").node,
                                          1, program_output(&p, "b"), &p.err),
                     EDDY_OK);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 2);
}
END_TEST

START_TEST(a_plan_lives_until_its_last_reference_is_gone)
{
    eddy_plan *plan;
    eddy_tensor *value;

    program_build(&p, LOOP);
    program_plan(&p, NULL, "w/exit");
    plan = eddy_plan_retain(p.plan);
    eddy_plan_release(p.plan);
    p.plan = NULL;
    ck_assert_int_eq(eddy_plan_run(plan, NULL, NULL, &value, &p.err), EDDY_OK);
    ck_assert_int_eq(*(const int64_t *)eddy_tensor_data(value), 5);
    eddy_tensor_release(value);
    eddy_plan_release(plan);
    ck_assert_ptr_null(eddy_plan_retain(NULL));
    eddy_plan_release(NULL);
}
END_TEST

/* ---- feeds and fetches ---- */

START_TEST(a_fed_intermediate_cuts_off_what_is_above_it)
{
    program_build(&p, "x ?int64\n"
                      "two int64=2\n"
                      "y Mul x two\n"
                      "z AddV2 y two\n");
    program_plan(&p, "y", "z");
    ck_assert_uint_eq(eddy_plan_nodes(p.plan), 2);
    program_feed_int(&p, 0, 40);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 42);
}
END_TEST

START_TEST(a_feed_replaces_one_output_of_its_node)
{
    program_build(&p, "x int64=3\n"
                      "yes bool=1\n"
                      "s Switch x yes\n"
                      "sum AddV2 s:0 s:1\n");
    program_plan(&p, "s:0", "sum");
    program_feed_int(&p, 0, 10);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 13);
}
END_TEST

START_TEST(an_output_may_be_fed_and_fetched)
{
    program_build(&p, "x ?int64\n"
                      "y Neg x\n");
    program_plan(&p, "x", "x y x");
    program_feed_int(&p, 0, 7);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 7);
    ck_assert_int_eq(program_fetch_int(&p, 1), -7);
    ck_assert_int_eq(program_fetch_int(&p, 2), 7);
}
END_TEST

START_TEST(a_feed_that_nothing_needs_must_still_be_bound)
{
    program_build(&p, "x ?int64\n"
                      "y int64=1\n");
    program_plan(&p, "x", "y");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_NOT_FED);
    ck_assert_ptr_nonnull(strstr(p.err.message, "'x:0'"));
}
END_TEST

START_TEST(one_output_fetched_twice_comes_twice)
{
    program_build(&p, "x int64=3\n"
                      "y Neg x\n");
    program_plan(&p, NULL, "y y");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), -3);
    ck_assert_int_eq(program_fetch_int(&p, 1), -3);
}
END_TEST

START_TEST(a_fetch_in_a_frame_that_never_iterates_has_one_value)
{
    program_build(&p, "x int64=20\n"
                      "e Enter@f x\n"
                      "ee Enter@g e\n"
                      "twice AddV2 ee ee\n");
    program_plan(&p, NULL, "twice e");
    ck_assert_uint_eq(eddy_plan_frames(p.plan), 3);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 40);
    ck_assert_int_eq(program_fetch_int(&p, 1), 20);
}
END_TEST

/* Tensors that a frame holds must survive it. */
START_TEST(a_fetched_invariant_of_a_frame_outlives_the_frame)
{
    program_build(&p, "x float32[100]=1.5\n"
                      "y Neg x\n"
                      "e Enter@f! y\n");
    program_plan(&p, NULL, "e");
    program_run(&p);
    ck_assert_float_eq(program_fetch_float(&p, 0), -1.5f);
}
END_TEST

/* ---- what is refused ---- */

static const struct {
    const char *text, *feeds, *fetches;
    eddy_status code;
    eddy_detail detail;
    const char *node, *words;
} refused[] = {
    {"x ?int64\ny Neg x\n", "x x", "y", EDDY_INVALID_ARGUMENT,
     EDDY_E_FEED_TWICE, "x", "feeds 0 and 1"},
    {LOOP, "w/add", "w/exit", EDDY_INVALID_ARGUMENT, EDDY_E_FEED_IN_FRAME,
     "w/add", "the Enter 'w/one'"},
    {LOOP, NULL, "w/add", EDDY_INVALID_ARGUMENT, EDDY_E_FETCH_IN_LOOP, "w/add",
     "fetch the Exit 'w/exit' instead"},
    {LOOP, NULL, "w/exit w/switch:1", EDDY_INVALID_ARGUMENT,
     EDDY_E_FETCH_IN_LOOP, "w/switch", "fetch 1 lives in the loop 'w'"},
    {LOOP "in Enter@inner w/add\n", NULL, "in", EDDY_INVALID_ARGUMENT,
     EDDY_E_FETCH_IN_LOOP, "in", "lives in the loop 'w'"},
    {"x ?int64\ny Neg x\n", NULL, "y", EDDY_INVALID_ARGUMENT, EDDY_E_NOT_FED,
     "x", "must be fed"},
    {"x int64=1\n", NULL, "x:3", EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX,
     "x", "output 3"},
    {"x int64=1\n", "x:3", "x", EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX, "x",
     "output 3"},
};

START_TEST(refusal)
{
    program_build(&p, refused[_i].text);
    program_want(&p,
                 program_try_plan(&p, refused[_i].feeds, refused[_i].fetches),
                 refused[_i].code, refused[_i].detail);
    ck_assert_ptr_null(p.plan);
    ck_assert_str_eq(p.err.node, refused[_i].node);
    ck_assert_msg(strstr(p.err.message, refused[_i].words) != NULL, "%s",
                  p.err.message);
}
END_TEST

START_TEST(a_placeholder_that_nothing_needs_may_stay_unfed)
{
    program_build(&p, "x ?int64\n"
                      "y Neg x\n"
                      "z int64=4\n");
    program_plan(&p, NULL, "z");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 4);
}
END_TEST

START_TEST(an_unknown_node_number_is_refused)
{
    const eddy_output beyond = {.node = 77};
    const eddy_node target = 78;
    eddy_plan_options options = {.size = sizeof options};

    program_build(&p, "x int64=1\n");
    options.fetches = &beyond;
    options.n_fetches = 1;
    program_want(&p, eddy_plan_create(p.graph, &options, &p.plan, &p.err),
                 EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME);
    options.n_fetches = 0;
    options.feeds = &beyond;
    options.n_feeds = 1;
    program_want(&p, eddy_plan_create(p.graph, &options, &p.plan, &p.err),
                 EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME);
    options.n_feeds = 0;
    options.targets = &target;
    options.n_targets = 1;
    program_want(&p, eddy_plan_create(p.graph, &options, &p.plan, &p.err),
                 EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME);
}
END_TEST

/* Moves the graph into a context that does not know the ops of this one. */
static void forget_ops(program *to)
{
    void *bytes;
    size_t length;

    ck_assert_int_eq(eddy_graphdef_write(p.graph, &bytes, &length, &p.err),
                     EDDY_OK);
    program_init(to, 0);
    eddy_graph_destroy(to->graph);
    to->graph = NULL;
    ck_assert_int_eq(
        eddy_graphdef_read(to->ctx, bytes, length, NULL, &to->graph, &to->err),
        EDDY_OK);
    eddy_graphdef_free(p.graph, bytes, length);
}

START_TEST(unknown_ops_are_refused_all_in_one_message)
{
    program to;

    probe_ops_register(&p);
    program_build(&p, "x int64=1\n"
                      "a Tick x\n"
                      "b Neg a\n"
                      "c Hold b\n"
                      "d Later x\n");
    forget_ops(&to);
    program_want(&to, program_try_plan(&to, NULL, "c"), EDDY_NOT_FOUND,
                 EDDY_E_UNKNOWN_OP);
    ck_assert_str_eq(to.err.node, "a");
    ck_assert_ptr_nonnull(strstr(to.err.message, "'Tick'"));
    ck_assert_ptr_nonnull(strstr(to.err.message, "'Hold'"));
    ck_assert_ptr_null(strstr(to.err.message, "'Later'"));
    program_plan(&to, NULL, "x");
    program_run(&to);
    program_deinit(&to);
}
END_TEST

/* Passes that compute with constants would read beyond its eight bytes. */
START_TEST(a_constant_of_another_dtype_than_its_value_is_refused)
{
    static const eddy_optimize levels[] = {
        EDDY_OPTIMIZE_NONE, EDDY_OPTIMIZE_EXACT, EDDY_OPTIMIZE_FULL};
    const eddy_dtype dtype = EDDY_FLOAT64;
    const eddy_shape shape = {.rank = 1, .dims = {8}};
    eddy_tensor *bytes = NULL;
    eddy_node node = EDDY_NO_NODE;
    eddy_output y;

    ck_assert_int_eq(
        eddy_tensor_create(p.ctx, EDDY_UINT8, &shape, &bytes, &p.err), EDDY_OK);
    memset(eddy_tensor_mutable_data(bytes), 1, 8);
    {
        const eddy_attr attrs[] = {eddy_attr_tensor("value", &bytes),
                                   eddy_attr_type("dtype", &dtype)};
        const eddy_node_spec spec = {.size = sizeof spec,
                                     .op = "Const",
                                     .name = "c",
                                     .attrs = attrs,
                                     .n_attrs = 2};

        program_build(&p, "x float64=1.5\n");
        ck_assert_int_eq(eddy_graph_add(p.graph, &spec, &node, &p.err),
                         EDDY_OK);
    }
    eddy_tensor_release(bytes);
    ck_assert_int_eq(eddy_graph_add_op(p.graph, "Neg", "y",
                                       &(eddy_output){node, 0}, 1, &y, &p.err),
                     EDDY_OK);
    p.plan_options.optimize = levels[_i];
    program_want(&p, program_try_plan(&p, NULL, "y"), EDDY_INVALID_ARGUMENT,
                 EDDY_E_DTYPE);
    ck_assert_str_eq(p.err.node, "c");
    program_plan(&p, NULL, "x");
    program_run(&p);
}
END_TEST

START_TEST(an_unknown_op_may_be_fed)
{
    program to;

    probe_ops_register(&p);
    program_build(&p, "x int64=1\n"
                      "a Tick x\n"
                      "b Neg a\n");
    forget_ops(&to);
    program_plan(&to, "a", "b");
    program_feed_int(&to, 0, 9);
    program_run(&to);
    ck_assert_int_eq(program_fetch_int(&to, 0), -9);
    program_deinit(&to);
}
END_TEST

START_TEST(more_nodes_than_max_nodes_are_refused)
{
    program_build(&p, LOOP "unneeded int64=1\n");
    p.plan_options.max_nodes = 12;
    program_want(&p, program_try_plan(&p, NULL, "w/exit"),
                 EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_NODES);
    p.plan_options.max_nodes = 13;
    program_plan(&p, NULL, "w/exit");
    ck_assert_uint_eq(eddy_plan_nodes(p.plan), 13);
}
END_TEST

/* ---- options ---- */

START_TEST(options_of_an_unknown_size_are_refused)
{
    eddy_plan_options options = {.size = 0};

    program_want(&p, eddy_plan_create(p.graph, &options, &p.plan, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    options.size = sizeof options + 1;
    program_want(&p, eddy_plan_create(p.graph, &options, &p.plan, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    program_want(&p, eddy_plan_create(p.graph, NULL, &p.plan, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    ck_assert_ptr_null(p.plan);
}
END_TEST

START_TEST(options_of_an_older_and_smaller_size_are_taken)
{
    const eddy_plan_options options = {
        .size = offsetof(eddy_plan_options, max_nodes),
        .max_nodes = 1, /* beyond what the size covers */
        .fetches = &(eddy_output){.node = 2},
        .n_fetches = 1,
    };

    program_build(&p, "a int64=1\n"
                      "b Abs a\n"
                      "c Neg a\n");
    ck_assert_int_eq(eddy_plan_create(p.graph, &options, &p.plan, &p.err),
                     EDDY_OK);
    ck_assert_uint_eq(eddy_plan_nodes(p.plan), 2);
}
END_TEST

/* How many iterations are under way at the most shows in held nodes. */
static uint32_t held_at_most(int64_t override)
{
    p.plan_options.parallel_iterations = override;
    program_plan(&p, NULL, "w/exit ^w/hold");
    program_make_run(&p);
    ck_assert_int_eq(eddy_run_start(p.run, &p.err), EDDY_OK);
    for (;;) {
        const uint32_t before = hold_started();

        ck_assert(!eddy_run_poll(p.run));
        if (hold_started() == before)
            break;
    }
    while (!eddy_run_poll(p.run))
        hold_complete_all(EDDY_OK);
    return (uint32_t)program_stats(&p).peak_suspended;
}

START_TEST(parallel_iterations_are_replaced_when_above_0)
{
    probe_ops_register(&p);
    program_build(&p, "zero int64=0\n"
                      "n int64=20\n"
                      "one int64=1\n"
                      "w/enter Enter@w#3 zero\n"
                      "w/n Enter@w!#3 n\n"
                      "w/one Enter@w!#3 one\n"
                      "w/merge Merge w/enter w/next\n"
                      "w/less Less w/merge w/n\n"
                      "w/cond LoopCond w/less\n"
                      "w/switch Switch w/merge w/cond\n"
                      "w/hold Hold w/switch:1\n"
                      "w/add AddV2 w/switch:1 w/one\n"
                      "w/next NextIteration w/add\n"
                      "w/exit Exit w/switch\n");
    ck_assert_uint_eq(held_at_most(0), 3);
    ck_assert_uint_eq(held_at_most(1), 1);
    ck_assert_uint_eq(held_at_most(7), 7);
    ck_assert_uint_eq(held_at_most(-1), 3);
    ck_assert_uint_eq(held_at_most(INT64_MAX), 20);
}
END_TEST

/* ---- queries ---- */

START_TEST(a_plan_tells_dtypes_and_shapes_of_its_fetches)
{
    program_build(&p, "x ?float32[3]\n"
                      "y AddV2 x x\n"
                      "z Less x y\n");
    program_plan(&p, "x", "z y x");
    ck_assert_int_eq(eddy_plan_fetch_dtype(p.plan, 0), EDDY_BOOL);
    ck_assert_int_eq(eddy_plan_fetch_dtype(p.plan, 1), EDDY_FLOAT32);
    ck_assert_int_eq(eddy_plan_fetch_dtype(p.plan, 2), EDDY_FLOAT32);
    ck_assert_int_eq(eddy_plan_fetch_dtype(p.plan, 3), EDDY_INVALID);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(eddy_plan_fetch_shape(p.plan, i)->rank, 1);
        ck_assert_int_eq(eddy_plan_fetch_shape(p.plan, i)->dims[0], 3);
    }
    ck_assert_ptr_null(eddy_plan_fetch_shape(p.plan, 3));
}
END_TEST

START_TEST(frames_are_counted_with_the_root)
{
    program_build(&p, LOOP);
    program_plan(&p, NULL, "zero");
    ck_assert_uint_eq(eddy_plan_frames(p.plan), 1);
    program_plan(&p, NULL, "w/exit");
    ck_assert_uint_eq(eddy_plan_frames(p.plan), 2);
}
END_TEST

static size_t warnings_with(const char *word)
{
    const char *text;
    size_t n = 0;

    for (size_t i = 0; (text = eddy_plan_warning(p.plan, i)); i++)
        n += strstr(text, word) != NULL;
    return n;
}

START_TEST(what_is_odd_is_a_warning_and_runs)
{
    program_build(&p, LOOP "alone Merge zero\n"
                           "x int64=1\n"
                           "e1 Enter@g#3 x\n"
                           "e2 Enter@g#4 x\n"
                           "sum AddV2 e1 e2\n"
                           "out Exit sum\n");
    program_plan(&p, NULL, "w/exit");
    ck_assert_ptr_null(eddy_plan_warning(p.plan, 0));
    program_plan(&p, NULL, "w/exit alone out");
    ck_assert_uint_eq(warnings_with("alone"), 1);
    ck_assert_uint_eq(warnings_with("parallel_iterations"), 1);
    ck_assert_ptr_null(eddy_plan_warning(p.plan, 2));
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 1), 0);
    ck_assert_int_eq(program_fetch_int(&p, 2), 2);
}
END_TEST

TCase *plan_tests(void)
{
    TCase *tc = tcase_create("plan");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, nodes_that_nothing_needs_are_left_out);
    tcase_add_test(tc, an_empty_plan_runs);
    tcase_add_test(tc, a_target_runs_without_being_fetched);
    tcase_add_test(tc, control_inputs_are_kept);
    tcase_add_test(tc, a_plan_outlives_its_graph);
    tcase_add_test(tc, a_plan_does_not_see_later_changes_of_its_graph);
    tcase_add_test(tc, a_plan_lives_until_its_last_reference_is_gone);
    tcase_add_test(tc, a_fed_intermediate_cuts_off_what_is_above_it);
    tcase_add_test(tc, a_feed_replaces_one_output_of_its_node);
    tcase_add_test(tc, an_output_may_be_fed_and_fetched);
    tcase_add_test(tc, a_feed_that_nothing_needs_must_still_be_bound);
    tcase_add_test(tc, one_output_fetched_twice_comes_twice);
    tcase_add_test(tc, a_fetch_in_a_frame_that_never_iterates_has_one_value);
    tcase_add_test(tc, a_fetched_invariant_of_a_frame_outlives_the_frame);
    tcase_add_loop_test(tc, refusal, 0, sizeof refused / sizeof refused[0]);
    tcase_add_test(tc, a_placeholder_that_nothing_needs_may_stay_unfed);
    tcase_add_test(tc, an_unknown_node_number_is_refused);
    tcase_add_test(tc, unknown_ops_are_refused_all_in_one_message);
    tcase_add_loop_test(
        tc, a_constant_of_another_dtype_than_its_value_is_refused, 0, 3);
    tcase_add_test(tc, an_unknown_op_may_be_fed);
    tcase_add_test(tc, more_nodes_than_max_nodes_are_refused);
    tcase_add_test(tc, options_of_an_unknown_size_are_refused);
    tcase_add_test(tc, options_of_an_older_and_smaller_size_are_taken);
    tcase_add_test(tc, parallel_iterations_are_replaced_when_above_0);
    tcase_add_test(tc, a_plan_tells_dtypes_and_shapes_of_its_fetches);
    tcase_add_test(tc, frames_are_counted_with_the_root);
    tcase_add_test(tc, what_is_odd_is_a_warning_and_runs);
    return tc;
}
