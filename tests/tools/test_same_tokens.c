/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the dynamic and the linear executor record of one graph: the same
 * tokens, answers and failures, and how they are held against each other.
 */
#include "tests/aid/program.h"
#include "tests/suites.h"
#include "tools/recording.h"
#include "tools/same_tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By the dynamic executor, by the linear one. */
static program both[2];
static eddy_trace *traces[2];

static void setup(void)
{
    for (int i = 0; i < 2; i++) {
        program_init(&both[i], 0);
        both[i].plan_options.executor =
            i == 0 ? EDDY_EXECUTOR_DYNAMIC : EDDY_EXECUTOR_LINEAR;
        both[i].plan_options.optimize = EDDY_OPTIMIZE_NONE;
        traces[i] = NULL;
    }
}

static void drop(int i)
{
    eddy_run_destroy(both[i].run);
    both[i].run = NULL;
    both[i].run_options.recorder = NULL;
    eddy_trace_destroy(traces[i]);
    traces[i] = NULL;
}

static void teardown(void)
{
    for (int i = 0; i < 2; i++) {
        drop(i);
        program_deinit(&both[i]);
    }
}

/*
 * Counts to n.  Where i is even, a loop within adds w to x as often as i says,
 * and pushes what comes of it; captured constants go into it in any case, so it
 * is live in part where it is dead.  A vector is halved beside.
 */
#define NEST                                                                   \
    "n ?int32\nx ?float32\nw ?float32\nv ?float32[3]\n"                        \
    "zero int32=0\none int32=1\ntwo int32=2\nsize int32=-1\nh float32=0.5\n"   \
    "stack StackV2 size elem_type=float32\n"                                   \
    "i0 Enter@o zero\nx0 Enter@o x\nv0 Enter@o v\nn_o Enter@o! n\n"            \
    "w_o Enter@o! w\none_o Enter@o! one\ntwo_o Enter@o! two\n"                 \
    "h_o Enter@o! h\nstack_o Enter@o! stack\n"                                 \
    "i Merge i0 i_next\nxm Merge x0 x_next\nvm Merge v0 v_next\n"              \
    "less Less i n_o\ngo LoopCond less\n"                                      \
    "is Switch i go\nxs Switch xm go\nvs Switch vm go\n"                       \
    "i_out Exit is\nx_out Exit xs\nv_out Exit vs\n"                            \
    "half FloorMod is:1 two_o\nzero_o Sub one_o one_o\n"                       \
    "even Equal half zero_o\n"                                                 \
    "trigger ControlTrigger ^even\n"                                           \
    "b Switch xs:1 even\nbi Switch is:1 even\n"                                \
    "j0 Enter@p zero_o\ny0 Enter@p b:1\nk_p Enter@p! bi:1\n"                   \
    "w_p Enter@p! w_o\none_p Enter@p! one_o\n"                                 \
    "w_same Identity w_p\n"                                                    \
    "j Merge j0 j_next\nym Merge y0 y_next\n"                                  \
    "jl Less j k_p\njgo LoopCond jl\n"                                         \
    "js Switch j jgo\nys Switch ym jgo\nj_out Exit js\ny_out Exit ys\n"        \
    "j_add AddV2 js:1 one_p\nj_next NextIteration j_add\n"                     \
    "y_add AddV2 ys:1 w_same\ny_next NextIteration y_add\n"                    \
    "push StackPushV2 stack_o y_out\n"                                         \
    "odd Sub b:0 w_o\njoined Merge odd push\n"                                 \
    "x_next NextIteration joined\n"                                            \
    "i_add AddV2 is:1 one_o ^trigger\ni_next NextIteration i_add\n"            \
    "v_half Mul vs:1 h_o\nv_next NextIteration v_half\n"                       \
    "last StackPopV2 stack elem_type=float32 ^x_out\n"

#define FEEDS "n x w v"
#define FETCHES "i_out x_out v_out last"

static void record(int i, eddy_trace_options how)
{
    how.size = sizeof how;
    program_want_ok(&both[i], eddy_trace_create(both[i].plan, &how, &traces[i],
                                                &both[i].err));
    both[i].run_options.recorder = traces[i];
}

static void feed(int i, int32_t n, float x, float w)
{
    program *p = &both[i];

    program_make_run(p);
    program_feed_int32(p, 0, n);
    for (size_t f = 1; f < 4; f++) {
        const eddy_shape shape = {.rank = f == 3, .dims = {3}};
        const float values[] = {f == 1 ? x : w, 2, 3};
        eddy_tensor *value = program_tensor(p, EDDY_FLOAT32, &shape, values);

        program_want_ok(p, eddy_run_feed(p->run, f, value, &p->err));
        eddy_tensor_release(value);
    }
}

static void nest(int i, eddy_trace_options how)
{
    program_build(&both[i], NEST);
    program_plan(&both[i], FEEDS, FETCHES);
    record(i, how);
}

/* Both have run, and as many loops of the second as it has were in a row. */
static void nest_both(int32_t n, float x, float w)
{
    for (int i = 0; i < 2; i++) {
        nest(i, (eddy_trace_options){.values = true});
        feed(i, n, x, w);
        program_run(&both[i]);
    }
    ck_assert_uint_eq(eddy__recording_linear_frames(traces[0]), 0);
    ck_assert_uint_eq(eddy__recording_linear_frames(traces[1]),
                      program_stats(&both[1]).frames);
}

static void want_same(void)
{
    program_want_ok(&both[0],
                    eddy__same_tokens(traces[0], traces[1], &both[0].err));
    program_want_ok(&both[0],
                    eddy__same_tokens(traces[1], traces[0], &both[0].err));
    for (int i = 0; i < 2; i++) {
        const eddy_trace_totals t = eddy_trace_total(traces[i]);

        ck_assert_uint_eq(t.live, program_stats(&both[i]).live_executions);
        ck_assert_uint_eq(t.dead, program_stats(&both[i]).dead_executions);
    }
}

/* Not for `n` 0: of the pop of what was not pushed. */
START_TEST(nests_are_the_same_tokens)
{
    nest_both(_i, 1, 0.25F);
    want_same();
    ck_assert_uint_eq(eddy_trace_pairs(traces[1]), (size_t)(_i + 1) / 2);
    ck_assert_uint_eq(eddy_trace_pairs(traces[0]), (size_t)(_i + 1) / 2);
}
END_TEST

/* ---- answers ---- */

static void write_name(const eddy_trace *trace, size_t record, char text[128])
{
    const eddy_trace_record *r = eddy_trace_record_at(trace, record);
    char path[96];

    eddy_trace_path(trace, r->frame, r->iteration, path, sizeof path);
    snprintf(text, 128, "%.30s %s", eddy_trace_node_at(trace, r->node)->name,
             path);
}

/* The record of the second trace that is record `i` of the first. */
static size_t other(size_t i)
{
    char wanted[128], text[128];
    const uint32_t *records;
    const uint32_t node = eddy_trace_find_node(
        traces[1],
        eddy_trace_node_at(traces[0], eddy_trace_record_at(traces[0], i)->node)
            ->name);
    const size_t n = eddy_trace_node_records(traces[1], node, &records);

    write_name(traces[0], i, wanted);
    for (size_t k = 0; k < n; k++) {
        write_name(traces[1], records[k], text);
        if (strcmp(text, wanted) == 0)
            return records[k];
    }
    ck_abort_msg("no %s", wanted);
    return 0;
}

#define MOST_LINKS 400

typedef size_t question(const eddy_trace *trace, size_t i,
                        eddy_trace_link *links, size_t capacity,
                        eddy_trace_end *out_end);

static void want_same_link(const eddy_trace_link *a, const eddy_trace_link *b)
{
    char texts[2][128];

    write_name(traces[0], a->record, texts[0]);
    write_name(traces[1], b->record, texts[1]);
    ck_assert_str_eq(texts[0], texts[1]);
    ck_assert_uint_eq(a->input, b->input);
}

/* How many records have an answer. */
static size_t want_same_answers(question *ask)
{
    eddy_trace_link links[2][MOST_LINKS];
    size_t n_answers = 0;

    for (size_t i = 0; i < eddy_trace_records(traces[0]); i++) {
        eddy_trace_end ends[2];
        const size_t n = ask(traces[0], i, links[0], MOST_LINKS, &ends[0]);

        ck_assert_uint_eq(
            ask(traces[1], other(i), links[1], MOST_LINKS, &ends[1]), n);
        ck_assert_int_eq(ends[0], ends[1]);
        n_answers += n > 0;
        for (size_t k = 0; k < n; k++)
            want_same_link(&links[0][k], &links[1][k]);
    }
    return n_answers;
}

START_TEST(answers_are_the_same)
{
    nest_both(6, 1e38F, 2e38F); /* infinite within */
    want_same();
    ck_assert_uint_eq(want_same_answers(eddy_trace_why_dead),
                      program_stats(&both[0]).dead_executions);
    ck_assert_uint_gt(want_same_answers(eddy_trace_origin), 4);
}
END_TEST

/* Each of a chain reads the one that follows, or waits for its iteration. */
START_TEST(the_longest_chain_goes_along_edges)
{
    eddy_trace_link links[MOST_LINKS];
    uint64_t ns = 0;
    size_t n = 0, n_read = 0;

    nest_both(7, 1, 0.25F);
    program_want_ok(&both[1],
                    eddy_trace_critical(traces[1], EDDY_TRACE_NONE, 1, links,
                                        MOST_LINKS, &n, &ns, &both[1].err));
    ck_assert_uint_gt(n, 20);
    ck_assert_uint_gt(ns, 0);
    ck_assert_uint_le(ns, eddy_trace_total(traces[1]).duration_ns);
    for (size_t i = 0; i + 1 < n; i++) {
        const eddy_trace_node *node = eddy_trace_node_at(
            traces[1], eddy_trace_record_at(traces[1], links[i].record)->node);

        for (uint32_t k = 0; k < node->n_inputs + node->n_controls; k++)
            if (eddy_trace_producer(traces[1], links[i].record, k) ==
                links[i + 1].record) {
                n_read++;
                break;
            }
    }
    ck_assert_uint_eq(n_read, n - 1);
}
END_TEST

/* ---- what is recorded, and by whom ---- */

static const struct {
    eddy_plan_executor executor;
    bool record, is_linear;
} ways[] = {
    {EDDY_EXECUTOR_DYNAMIC, true, false}, {EDDY_EXECUTOR_AUTO, false, false},
    {EDDY_EXECUTOR_NATIVE, false, false}, {EDDY_EXECUTOR_AUTO, true, true},
    {EDDY_EXECUTOR_NATIVE, true, true},   {EDDY_EXECUTOR_LINEAR, false, true},
};

START_TEST(frames_say_who_ran_them)
{
    both[1].plan_options.executor = ways[_i].executor;
    both[1].plan_options.record = ways[_i].record;
    for (int i = 0; i < 2; i++) {
        nest(i, (eddy_trace_options){.values = true});
        feed(i, 5, 1, 0.25F);
        program_run(&both[i]);
    }
    ck_assert_uint_eq(eddy__recording_linear_frames(traces[1]) > 0,
                      ways[_i].is_linear);
    want_same();
}
END_TEST

START_TEST(bounds_are_those_of_any_run)
{
    static const char *const names[] = {"y*", "push", "odd"};

    for (int i = 0; i < 2; i++) {
        nest(i, (eddy_trace_options){.values = true,
                                     .frame = "o",
                                     .first_iteration = 2,
                                     .last_iteration = 5,
                                     .nodes = names,
                                     .n_nodes = 3});
        feed(i, 9, 1, 0.25F);
        program_run(&both[i]);
    }
    ck_assert_uint_gt(eddy_trace_records(traces[1]), 20);
    program_want_ok(&both[0],
                    eddy__same_tokens(traces[0], traces[1], &both[0].err));
}
END_TEST

/* A ring has the end of what there is without it. */
START_TEST(a_ring_has_the_end)
{
    const eddy_trace_record *first;
    size_t n;

    nest_both(9, 1, 0.25F);
    n = eddy_trace_records(traces[1]);
    drop(0);
    both[0].plan_options.executor = EDDY_EXECUTOR_LINEAR;
    program_plan(&both[0], FEEDS, FETCHES);
    record(0, (eddy_trace_options){
                  .values = true, .max_records = 50, .keep_last = true});
    feed(0, 9, 1, 0.25F);
    program_run(&both[0]);
    ck_assert_uint_eq(eddy_trace_records(traces[0]), 50);
    for (size_t i = 0; i < 50; i++) {
        first = eddy_trace_record_at(traces[0], i);
        ck_assert_uint_eq(first->number, n - 50 + i);
        ck_assert_uint_eq(first->node,
                          eddy_trace_record_at(traces[1], n - 50 + i)->node);
    }
}
END_TEST

/* ---- what does not agree ---- */

START_TEST(what_differs_is_named)
{
    eddy_error err = {.code = EDDY_OK};

    nest_both(4, 1, 0.25F);
    feed(1, 4, 1, 0.5F);
    program_run(&both[1]);
    ck_assert_int_eq(eddy__same_tokens(traces[0], traces[1], &err),
                     EDDY_INTERNAL);
    ck_assert_ptr_nonnull(strstr(err.message, "'w:0' in '' has another value"));
    feed(1, 5, 1, 0.25F);
    program_run(&both[1]);
    ck_assert_int_eq(eddy__same_tokens(traces[0], traces[1], &err),
                     EDDY_INTERNAL);
    ck_assert_ptr_nonnull(strstr(err.message, "'n:0' in '' has another value"));
    program_plan(&both[1], FEEDS, "i_out");
    drop(1);
    record(1, (eddy_trace_options){.values = true});
    feed(1, 4, 1, 0.25F);
    program_run(&both[1]);
    ck_assert_int_eq(eddy__same_tokens(traces[0], traces[1], &err),
                     EDDY_INTERNAL);
    ck_assert_ptr_nonnull(strstr(err.message, "is not there"));
}
END_TEST

/* ---- runs that fail ---- */

/* `body` makes b of s:1, the counter that the loop begins with `n`. */
#define FAILING(body)                                                          \
    "n ?int32\nx ?float32\nw ?float32\nv ?float32[3]\n"                        \
    "zero int32=0\none int32=1\nten int32=10\n"                                \
    "two float32[2]=[1,2]\n"                                                   \
    "array TensorArrayV3 ten dtype=int32 element_shape=()\n"                   \
    "e Enter@w n\nz Enter@w! zero\no Enter@w! one\nt Enter@w! ten\n"           \
    "k Enter@w! array\nl Enter@w! array:1\nf Enter@w! two\n"                   \
    "m Merge e next\nless Less m t\ngo LoopCond less\ns Switch m go\n"         \
    "out Exit s\n" body "next NextIteration b\n"

static const struct {
    const char *text, *node;
    const char *frame;
} faults[] = {
    /* -3, -2, -1: division by zero in the fourth iteration. */
    {FAILING("d FloorDiv t s:1\na Sub d d\nc AddV2 s:1 o\nb AddV2 a c\n"), "d",
     "w[3]"},
    /* Of an array that nothing was written to. */
    {FAILING("r TensorArrayReadV3 k s:1 l dtype=int32\nb AddV2 r o\n"), "r",
     "w[0]"},
    /* An element before the first. */
    {FAILING("g Gather f s:1\nc AddV2 s:1 o\nb Identity c ^g\n"), "g", "w[0]"},
};

/* _i is the fault. */
START_TEST(a_kernel_that_fails_is_told_of)
{
    for (int i = 0; i < 2; i++) {
        const eddy_trace_record *last;
        char path[64];

        program_build(&both[i], faults[_i].text);
        program_plan(&both[i], FEEDS, "out");
        record(i, (eddy_trace_options){.values = true});
        feed(i, -3, 0, 0);
        ck_assert_int_ne(program_execute(&both[i]), EDDY_OK);
        ck_assert_str_eq(both[i].err.node, faults[_i].node);
        ck_assert_str_eq(both[i].err.frame, faults[_i].frame);
        ck_assert_uint_eq(eddy__recording_linear_frames(traces[i]), (size_t)i);
        last =
            eddy_trace_record_at(traces[i], eddy_trace_records(traces[i]) - 1);
        ck_assert_int_eq(last->state, EDDY_TRACE_FAILED);
        ck_assert_uint_eq(last->n_values, 0);
        ck_assert_str_eq(eddy_trace_node_at(traces[i], last->node)->name,
                         faults[_i].node);
        eddy_trace_path(traces[i], last->frame, last->iteration, path,
                        sizeof path);
        ck_assert_str_eq(path, faults[_i].frame);
    }
}
END_TEST

START_TEST(numerics_stop_at_the_same_node)
{
    for (int i = 0; i < 2; i++) {
        nest(i, (eddy_trace_options){.check_numerics = true});
        feed(i, 6, 1e38F, 2e38F);
        program_want(&both[i], program_execute(&both[i]), EDDY_INVALID_ARGUMENT,
                     EDDY_E_NUMERICS);
        ck_assert_str_eq(both[i].err.node, "y_add");
        ck_assert_str_eq(both[i].err.frame, "o[4]/p[1]");
    }
    ck_assert_str_eq(both[0].err.message, both[1].err.message);
}
END_TEST

/* What was recorded up to a limit is of the whole run. */
START_TEST(limits_leave_a_part)
{
    eddy_error err = {.code = EDDY_OK};

    nest_both(20, 1, 0.25F);
    drop(1);
    both[1].run_options.max_iterations = 30;
    record(1, (eddy_trace_options){.values = true});
    feed(1, 20, 1, 0.25F);
    program_want(&both[1], program_execute(&both[1]), EDDY_RESOURCE_EXHAUSTED,
                 EDDY_E_LIMIT_ITERATIONS);
    ck_assert_uint_gt(eddy_trace_records(traces[1]), 200);
    ck_assert_int_eq(eddy__same_tokens(traces[1], traces[0], &err),
                     EDDY_INTERNAL);
    ck_assert_ptr_nonnull(strstr(err.message, "there are "));
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    program *p = &both[1];
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;

    program_build(p, NEST);
    for (long long n = 0; status != EDDY_OK; n++) {
        counting_allocator_fail(&p->counting, n);
        status = program_try_plan(p, FEEDS, FETCHES);
        ck_assert(status == EDDY_OK || status == EDDY_RESOURCE_EXHAUSTED);
    }
    counting_allocator_fail(&p->counting, -1);
    record(1, (eddy_trace_options){.values = true});
    feed(1, 5, 1, 0.25F);
    for (long long n = 0; n < 40; n++) {
        counting_allocator_fail(&p->counting, n);
        status = program_execute(p);
        ck_assert(status == EDDY_OK || status == EDDY_RESOURCE_EXHAUSTED);
    }
    counting_allocator_fail(&p->counting, -1);
    program_run(p);
    nest(0, (eddy_trace_options){.values = true});
    feed(0, 5, 1, 0.25F);
    program_run(&both[0]);
    want_same();
}
END_TEST

#define N(array) ((int)(sizeof(array) / sizeof((array)[0])))

TCase *same_tokens_tests(void)
{
    TCase *tc = tcase_create("same_tokens");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, nests_are_the_same_tokens, 1, 8);
    tcase_add_test(tc, answers_are_the_same);
    tcase_add_test(tc, the_longest_chain_goes_along_edges);
    tcase_add_loop_test(tc, frames_say_who_ran_them, 0, N(ways));
    tcase_add_test(tc, bounds_are_those_of_any_run);
    tcase_add_test(tc, a_ring_has_the_end);
    tcase_add_test(tc, what_differs_is_named);
    tcase_add_loop_test(tc, a_kernel_that_fails_is_told_of, 0, N(faults));
    tcase_add_test(tc, numerics_stop_at_the_same_node);
    tcase_add_test(tc, limits_leave_a_part);
    tcase_add_test(tc, every_allocation_may_fail);
    return tc;
}
