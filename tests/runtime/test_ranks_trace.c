/* SPDX-License-Identifier: Apache-2.0 */
/* What several ranks have recorded of one execution, as one trace. */
#include "eddy/ranks.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <string.h>

/*
 * i from 0 to n on rank 0, with the predicate; x = x * x on rank 1, and y,
 * which is z = 0 times what x was, on rank 2.  g is kept where i < 2.
 */
#define LOOP                                                                   \
    "n int32=4\nx ?float32\nzero int32=0\nz float32=0\n"                       \
    "i/e Enter@w zero\ni/m Merge i/e i/n\nn/e Enter@w! n\n"                    \
    "one int32=1\none/e Enter@w! one\n"                                        \
    "g Cast i/m DstT=float32\nh Cast n/e DstT=float32\nless Less g h\n"        \
    "cond LoopCond less\ni/s Switch i/m cond\n"                                \
    "i/b AddV2 i/s:1 one/e\ni/n NextIteration i/b\ni/x Exit i/s\n"             \
    "x/e Enter@w x\nx/m Merge x/e x/n\nx/s Switch x/m cond\n"                  \
    "x/b Mul x/s:1 x/s:1\nx/n NextIteration x/b\nx/x Exit x/s\n"               \
    "y/e Enter@w z\ny/m Merge y/e y/n\ny/s Switch y/m cond\n"                  \
    "y/b AddV2 y/s:1 x/b\ny/n NextIteration y/b\ny/x Exit y/s\n"

static const eddy_place places[] = {{"", 0}, {"x/", 1}, {"y/", 2}};

static program p;
static eddy_partition *partition;
static eddy_ranks *ranks;
static eddy_trace *trace;

static void set_up(void)
{
    program_init(&p, 0);
    partition = NULL;
    ranks = NULL;
    trace = NULL;
}

static void tear_down(void)
{
    eddy_ranks_destroy(ranks);
    eddy_partition_destroy(partition);
    eddy_trace_destroy(trace);
    program_deinit(&p);
}

static void cut(uint32_t n_ranks)
{
    eddy_output feed, fetches[2];

    program_build(&p, LOOP);
    feed = program_output(&p, "x");
    fetches[0] = program_output(&p, "y/x");
    fetches[1] = program_output(&p, "x/x");
    program_want_ok(
        &p, eddy_partition_create(p.graph,
                                  &(eddy_partition_options){
                                      .size = sizeof(eddy_partition_options),
                                      .n_ranks = n_ranks,
                                      .places = places,
                                      .n_places = n_ranks,
                                      .feeds = &feed,
                                      .n_feeds = 1,
                                      .fetches = fetches,
                                      .n_fetches = 2},
                                  &partition, &p.err));
}

static eddy_status make_ranks(const eddy_trace_options *how)
{
    const eddy_plan_options plan = {.size = sizeof plan,
                                    .optimize = EDDY_OPTIMIZE_NONE};

    return eddy_ranks_create(
        partition,
        &(eddy_ranks_options){
            .size = sizeof(eddy_ranks_options), .plan = &plan, .trace = how},
        &ranks, &p.err);
}

static eddy_status run_ranks(float x)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *feed = program_tensor(&p, EDDY_FLOAT32, &scalar, &x);
    eddy_tensor *out[2];
    const eddy_status status = eddy_ranks_run(ranks, &feed, out, &p.err);

    eddy_tensor_release(feed);
    eddy_tensor_release(out[0]);
    eddy_tensor_release(out[1]);
    return status;
}

/* Three ranks, recorded and run; the trace is all that is left. */
static void trace_loop(eddy_trace_options how, float x)
{
    how.size = sizeof how;
    cut(3);
    program_want_ok(&p, make_ranks(&how));
    program_want_ok(&p, run_ranks(x));
    program_want_ok(&p, eddy_ranks_trace(ranks, &trace, &p.err));
}

static uint32_t node(const char *name)
{
    const uint32_t id = eddy_trace_find_node(trace, name);

    ck_assert_msg(id != EDDY_TRACE_NONE, "%s", name);
    return id;
}

static const eddy_trace_node *node_of(size_t record)
{
    return eddy_trace_node_at(trace, eddy_trace_record_at(trace, record)->node);
}

/* Of a node in an iteration of the loop. */
static size_t record_at(const char *name, int64_t iteration)
{
    const size_t i = eddy_trace_find(trace, node(name), 1, iteration);

    ck_assert_msg(i != EDDY_TRACE_NOT_FOUND, "%s[%d]", name, (int)iteration);
    return i;
}

/* ---- what is there ---- */

START_TEST(counts_are_those_of_all_ranks)
{
    uint64_t live = 0, dead = 0;
    eddy_trace_totals t;

    trace_loop((eddy_trace_options){.values = true}, 2);
    t = eddy_trace_total(trace);
    for (uint32_t i = 0; i < 3; i++) {
        const eddy_stats stats = eddy_run_stats(eddy_ranks_at(ranks, i));

        live += stats.live_executions;
        dead += stats.dead_executions;
    }
    ck_assert_uint_eq(t.live, live);
    ck_assert_uint_eq(t.dead, dead);
    ck_assert_uint_eq(t.stats.live_executions, live);
    ck_assert_uint_eq(t.n_dropped, 0);
    ck_assert_uint_eq(eddy_trace_ranks(trace), 3);
    /* Frames of the three ranks are one. */
    ck_assert_uint_eq(eddy_trace_static_frames(trace), 2);
    ck_assert_uint_eq(eddy_trace_frames(trace), 2);
    ck_assert_uint_eq(node_of(record_at("x/b", 2))->rank, 1);
    ck_assert_uint_eq(node_of(record_at("y/b", 2))->rank, 2);
    ck_assert_str_eq(node_of(record_at("i/b", 0))->op, "AddV2");
}
END_TEST

/* Records come in the order of their ends, on one clock, a lane a rank. */
START_TEST(times_are_on_one_clock)
{
    uint64_t end = 0;

    trace_loop((eddy_trace_options){.values = false}, 2);
    for (size_t i = 0; i < eddy_trace_records(trace); i++) {
        const eddy_trace_record *r = eddy_trace_record_at(trace, i);
        uint32_t own;

        ck_assert_uint_eq(r->number, i);
        ck_assert_uint_ge(r->start_ns + r->duration_ns, end);
        end = r->start_ns + r->duration_ns;
        ck_assert_uint_eq(eddy_trace_worker_rank(trace, r->worker, &own),
                          eddy_trace_node_at(trace, r->node)->rank);
        ck_assert_uint_eq(own, 0);
    }
    ck_assert_uint_ge(eddy_trace_total(trace).duration_ns, end);
}
END_TEST

/* Each message has been sent by another rank, in the same iteration. */
START_TEST(messages_are_tied)
{
    uint64_t n = 0, left;

    trace_loop((eddy_trace_options){.values = true}, 2);
    for (size_t i = 0; i < eddy_trace_records(trace); i++) {
        const size_t sent = eddy_trace_message(trace, i);
        const eddy_trace_record *r = eddy_trace_record_at(trace, i), *s;

        if (sent == EDDY_TRACE_NOT_FOUND)
            continue;
        s = eddy_trace_record_at(trace, sent);
        ck_assert_str_eq(node_of(i)->op, "_Recv");
        ck_assert_str_eq(node_of(sent)->op, "_Send");
        ck_assert_uint_ne(node_of(i)->rank, node_of(sent)->rank);
        ck_assert_int_eq(r->iteration, s->iteration);
        ck_assert_int_eq(r->state, s->state);
        if (r->state == EDDY_TRACE_LIVE)
            ck_assert_uint_eq(eddy_trace_value_at(trace, i, 0)->hash,
                              eddy_trace_value_at(trace, sent, 0)->hash);
        n++;
    }
    ck_assert_uint_eq(n, eddy_ranks_messages(ranks, &left));
    ck_assert_uint_gt(n, 4);
}
END_TEST

/* ---- questions, by way of another rank ---- */

/* y is on rank 2, and the predicate that ends it on rank 0. */
START_TEST(dead_nodes_have_their_switch)
{
    eddy_trace_link links[32];
    size_t n_dead = 0;

    trace_loop((eddy_trace_options){.values = true}, 2);
    for (size_t i = 0; i < eddy_trace_records(trace); i++) {
        eddy_trace_end end;

        if (eddy_trace_record_at(trace, i)->state != EDDY_TRACE_DEAD)
            continue;
        ck_assert_uint_gt(eddy_trace_why_dead(trace, i, links, 32, &end), 1);
        ck_assert_int_eq(end, EDDY_TRACE_END_SWITCH);
        n_dead++;
    }
    ck_assert_uint_gt(n_dead, 6);
}
END_TEST

/* x overflows on rank 1; y is infinite on rank 2 in consequence. */
START_TEST(an_infinity_is_from_another_rank)
{
    eddy_trace_link links[32];
    eddy_trace_end end;
    size_t n;

    trace_loop((eddy_trace_options){.values = true}, 1e30f);
    n = eddy_trace_origin(trace, record_at("y/b", 3), links, 32, &end);
    ck_assert_int_eq(end, EDDY_TRACE_END_SOURCE);
    ck_assert_str_eq(node_of(links[n - 1].record)->name, "x/b");
    ck_assert_int_eq(
        eddy_trace_record_at(trace, links[n - 1].record)->iteration, 0);
}
END_TEST

/* The check stops where it is made, not where it is received. */
START_TEST(the_check_stops_at_the_rank_that_made_it)
{
    const eddy_trace_options how = {.size = sizeof how, .check_numerics = true};

    cut(3);
    program_want_ok(&p, make_ranks(&how));
    ck_assert_int_eq(run_ranks(1e30f), EDDY_INVALID_ARGUMENT);
    ck_assert_str_eq(p.err.node, "x/b");
    ck_assert_ptr_eq(strstr(p.err.message, "rank 1: "), p.err.message);
    program_want_ok(&p, eddy_ranks_trace(ranks, &trace, &p.err));
    ck_assert_int_eq(eddy_trace_total(trace).status, EDDY_INVALID_ARGUMENT);
}
END_TEST

/* ---- copies ---- */

/* Names that several ranks have get the rank behind them. */
START_TEST(copies_are_told_apart)
{
    const eddy_trace_options how = {.size = sizeof how};
    eddy_output fetch;
    eddy_tensor *out = NULL;

    program_build(&p, "x float32=3\ny HorovodAllreduce x reduce_op=1\n");
    fetch = program_output(&p, "y");
    program_want_ok(
        &p, eddy_partition_create(p.graph,
                                  &(eddy_partition_options){
                                      .size = sizeof(eddy_partition_options),
                                      .n_ranks = 2,
                                      .fetches = &fetch,
                                      .n_fetches = 1,
                                      .is_replicated = true},
                                  &partition, &p.err));
    program_want_ok(&p, make_ranks(&how));
    program_want_ok(&p, eddy_ranks_run(ranks, NULL, &out, &p.err));
    eddy_tensor_release(out);
    program_want_ok(&p, eddy_ranks_trace(ranks, &trace, &p.err));
    ck_assert_uint_eq(eddy_trace_node_at(trace, node("x@0"))->rank, 0);
    ck_assert_uint_eq(eddy_trace_node_at(trace, node("x@1"))->rank, 1);
    ck_assert_uint_eq(eddy_trace_find_node(trace, "x"), EDDY_TRACE_NONE);
}
END_TEST

/* ---- what is asked ---- */

/* A frame and a node that one rank has are enough. */
START_TEST(only_what_is_named)
{
    static const char *const names[] = {"y/b"};

    trace_loop(
        (eddy_trace_options){
            .values = true, .frame = "w", .nodes = names, .n_nodes = 1},
        2);
    ck_assert_uint_eq(eddy_trace_records(trace), 5);
    ck_assert_str_eq(node_of(0)->name, "y/b");
}
END_TEST

/* Also when the ranks are gone; and it records no run. */
START_TEST(the_trace_is_its_own)
{
    trace_loop((eddy_trace_options){.values = true}, 2);
    eddy_ranks_destroy(ranks);
    eddy_partition_destroy(partition);
    ranks = NULL;
    partition = NULL;
    ck_assert_uint_gt(eddy_trace_records(trace), 50);
    program_plan(&p, "x", "y/x");
    p.run_options.recorder = trace;
    p.run_options.size = sizeof p.run_options;
    ck_assert_int_eq(eddy_run_create(p.plan, &p.run_options, &p.run, &p.err),
                     EDDY_INVALID_ARGUMENT);
}
END_TEST

START_TEST(ranks_that_are_not_recorded_have_none)
{
    cut(2);
    program_want_ok(&p, make_ranks(NULL));
    program_want_ok(&p, run_ranks(2));
    ck_assert_int_eq(eddy_ranks_trace(ranks, &trace, &p.err),
                     EDDY_FAILED_PRECONDITION);
    ck_assert_ptr_null(trace);
    ck_assert_int_eq(eddy_ranks_trace(NULL, &trace, &p.err),
                     EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(eddy_ranks_trace(ranks, NULL, &p.err),
                     EDDY_INVALID_ARGUMENT);
}
END_TEST

/* Each allocation fails once. */
START_TEST(memory_may_run_out)
{
    const eddy_trace_options how = {.size = sizeof how, .values = true};
    eddy_status status;
    int n = 0;

    cut(3);
    program_want_ok(&p, make_ranks(&how));
    program_want_ok(&p, run_ranks(2));
    do {
        counting_allocator_fail(&p.counting, n++);
        status = eddy_ranks_trace(ranks, &trace, &p.err);
        counting_allocator_fail(&p.counting, -1);
        if (status != EDDY_OK) {
            ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
            ck_assert_ptr_null(trace);
        }
    } while (status != EDDY_OK && n < 500);
    ck_assert_int_eq(status, EDDY_OK);
    ck_assert_int_gt(n, 10);
}
END_TEST

TCase *ranks_trace_tests(void)
{
    TCase *tc = tcase_create("ranks_trace");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, counts_are_those_of_all_ranks);
    tcase_add_test(tc, times_are_on_one_clock);
    tcase_add_test(tc, messages_are_tied);
    tcase_add_test(tc, dead_nodes_have_their_switch);
    tcase_add_test(tc, an_infinity_is_from_another_rank);
    tcase_add_test(tc, the_check_stops_at_the_rank_that_made_it);
    tcase_add_test(tc, copies_are_told_apart);
    tcase_add_test(tc, only_what_is_named);
    tcase_add_test(tc, the_trace_is_its_own);
    tcase_add_test(tc, ranks_that_are_not_recorded_have_none);
    tcase_add_test(tc, memory_may_run_out);
    return tc;
}
