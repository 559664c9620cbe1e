/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two loops of ONNX's, the second of which reads what the first has stacked row
 * by row: with workers they overlap.  Held against the same without the pass:
 * values, errors, limits and failing memory.
 */
#include "tests/aid/probe_ops.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <string.h>
#include <time.h>

static program p;

static void setup(void)
{
    program_init(&p, 2);
    probe_ops_register(&p);
    p.plan_options.optimize = EDDY_OPTIMIZE_EXACT;
}

static void teardown(void)
{
    program_deinit(&p);
}

/* ---- loops ---- */

/* s = op(s + i), or with `rows` op(s + rows[i]); s is stacked. */
typedef struct step {
    const char *op;   /* NULL: none */
    eddy_output rows; /* of a Loop that gathers */
    bool gathers;
    bool divides; /* by i - 3 */
    bool grows;   /* the item has i elements */
} step;

static eddy_output item_of(eddy_emitter *w, const step *s, eddy_output i,
                           eddy_output sum)
{
    const eddy_output zero = eddy_emit_binary(w, "Sub", sum, sum);
    const eddy_output range[] = {zero, i, eddy_emit_int64(w, 1)};

    if (s->divides)
        return eddy_emit_binary(
            w, "FloorDiv", sum,
            eddy_emit_binary(w, "Sub", i, eddy_emit_int64(w, 3)));
    if (s->grows)
        return eddy_emit_op(w, "Range", range, 3, NULL, 0);
    return sum;
}

static eddy_status loop_body(eddy_graph *graph, void *user,
                             const eddy_output *in, size_t n, eddy_output *out,
                             eddy_error *err)
{
    const step *s = user;
    eddy_emitter w = eddy_emitter_of(graph, err);
    eddy_output row = in[0], sum = in[2];

    (void)n;
    if (s->gathers) {
        const eddy_output gather[] = {s->rows, in[0], eddy_emit_int32(&w, 0)};

        row = eddy_emit_op(&w, "GatherV2", gather, 3, NULL, 0);
    }
    sum = eddy_emit_binary(&w, "AddV2", sum, row);
    if (s->op)
        sum = eddy_emit_unary(&w, s->op, sum);
    out[0] = in[1];
    out[1] = sum;
    out[2] = item_of(&w, s, in[0], sum);
    return w.status;
}

static eddy_status scan_body(eddy_graph *graph, void *user,
                             const eddy_output *in, size_t n, eddy_output *out,
                             eddy_error *err)
{
    const step *s = user;
    eddy_emitter w = eddy_emitter_of(graph, err);
    const eddy_output sum = eddy_emit_binary(&w, "AddV2", in[0], in[1]);

    (void)n;
    out[0] = out[1] = s->op ? eddy_emit_unary(&w, s->op, sum) : sum;
    return w.status;
}

/* The last sum, and the stack of all. */
static void build_loop(const char *name, step *s, eddy_output trips,
                       const eddy_output *condition, eddy_output out[2])
{
    const eddy_output zero = program_int(&p, 0);
    const eddy_onnx_loop_spec spec = {.size = sizeof spec,
                                      .name = name,
                                      .trip_count = &trips,
                                      .condition = condition,
                                      .initial = &zero,
                                      .n_carried = 1,
                                      .n_scan_outputs = 1,
                                      .body = loop_body,
                                      .user = s};

    program_want_ok(&p, eddy_onnx_loop(p.graph, &spec, out, &p.err));
}

static void build_scan(const char *name, step *s, eddy_output rows,
                       eddy_output out[2])
{
    const eddy_output zero = program_int(&p, 0);
    const eddy_onnx_scan_spec spec = {.size = sizeof spec,
                                      .name = name,
                                      .initial = &zero,
                                      .n_states = 1,
                                      .inputs = &rows,
                                      .n_inputs = 1,
                                      .n_outputs = 1,
                                      .body = scan_body,
                                      .user = s};

    program_want_ok(&p, eddy_onnx_scan(p.graph, &spec, out, &p.err));
}

static eddy_output length_of(eddy_output rows)
{
    const eddy_dtype out = EDDY_INT64;
    const eddy_attr attr = eddy_attr_type("out_type", &out);
    eddy_emitter w = eddy_emitter_of(p.graph, &p.err);
    const eddy_output shape = eddy_emit_op(&w, "Shape", &rows, 1, &attr, 1);
    const eddy_output gather[] = {shape, eddy_emit_int32(&w, 0),
                                  eddy_emit_int32(&w, 0)};
    const eddy_output length = eddy_emit_op(&w, "GatherV2", gather, 3, NULL, 0);

    program_want_ok(&p, w.status);
    return length;
}

/* How the loops are, and what is fetched of them. */
typedef enum shape_of_pair {
    LOOP_LOOP,   /* each with a trip count of its own */
    LOOP_LENGTH, /* the second goes as far as the stack is long */
    LOOP_SCAN,
    SCAN_SCAN,
    WHILE_LOOP, /* the first one has a condition too */
    STACK_TOO,  /* the stack is fetched as well */
    THREE,
    N_PAIRS
} shape_of_pair;

static step first, second, third;

/* The outputs of the last loop, and the first one's stack. */
static void build_pair(shape_of_pair kind, int64_t n, int64_t m,
                       eddy_output out[3])
{
    const bool yes = true;
    eddy_output a[2], b[2], go_on, rows;

    go_on = program_constant(&p, EDDY_BOOL, &yes);
    if (kind == SCAN_SCAN) {
        build_loop("zero", &(step){.op = NULL}, program_int(&p, n), NULL, a);
        rows = a[1];
        build_scan("A", &first, rows, a);
    } else {
        build_loop("A", &first, program_int(&p, n),
                   kind == WHILE_LOOP ? &go_on : NULL, a);
    }
    second.gathers = kind != LOOP_SCAN && kind != SCAN_SCAN && kind != THREE;
    second.rows = a[1];
    if (!second.gathers)
        build_scan("B", &second, a[1], b);
    else if (kind == LOOP_LENGTH)
        build_loop("B", &second, length_of(a[1]), NULL, b);
    else
        build_loop("B", &second, program_int(&p, m), NULL, b);
    if (kind == THREE) {
        third.gathers = true;
        third.rows = b[1];
        build_loop("C", &third, program_int(&p, m), NULL, b);
    }
    out[0] = b[0];
    out[1] = b[1];
    out[2] = kind == STACK_TOO ? a[1] : b[0];
}

static void begin_pair(shape_of_pair kind, const char *op, int64_t n, int64_t m)
{
    eddy_output out[3];

    program_clear(&p);
    first = (step){.op = op};
    second = (step){.op = op};
    third = (step){.op = op};
    build_pair(kind, n, m, out);
    program_plan_outputs(&p, out, 3);
}

static void without_pass(bool is_without)
{
    static const char *const names[] = {"overlap"};

    p.plan_options.without = names;
    p.plan_options.n_without = is_without;
}

/* Does the plan read rows that are still being written? */
static void see_rows(void *user, const char *pass, const eddy_graph *graph,
                     const uint8_t *keep)
{
    int *n = user;

    if (strcmp(pass, "overlap") != 0)
        return;
    for (eddy_node v = 0; v < eddy_graph_size(graph); v++)
        *n += keep[v] && strcmp(eddy_graph_node_op(graph, v), "_ReadRow") == 0;
}

static int n_rows;

static void count_rows(void)
{
    n_rows = 0;
    p.plan_options.observe = see_rows;
    p.plan_options.user = &n_rows;
}

/* ---- overlap ---- */

/* Holds of either loop: the second one's is suspended while the first's is. */
static void hold_in_turn(int64_t n)
{
    /* A's iteration 0 alone, since B waits for it. */
    hold_await(1);
    hold_complete(0, EDDY_OK);
    for (int64_t i = 1; i < n; i++) {
        /* A's iteration i is open, and so is B's i - 1: neither is done. */
        hold_await(2 * (uint32_t)i + 1);
        ck_assert_uint_eq(hold_open(), 2);
        ck_assert_int_eq(hold_iteration(2 * (uint32_t)i - 1) +
                             hold_iteration(2 * (uint32_t)i),
                         2 * i - 1);
        ck_assert_uint_eq(hold_complete_all(EDDY_OK), 2);
    }
    hold_await(2 * (uint32_t)n);
    ck_assert_uint_eq(hold_complete_all(EDDY_OK), 1);
}

/* The first or the last record of a node whose name begins so. */
static uint64_t record_of(const eddy_trace *trace, const char *name,
                          bool is_last)
{
    uint64_t found = UINT64_MAX;

    for (size_t i = 0; i < eddy_trace_records(trace); i++) {
        const eddy_trace_record *r = eddy_trace_record_at(trace, i);
        const char *node = eddy_trace_node_at(trace, r->node)->name;

        if (r->state == EDDY_TRACE_LIVE &&
            strncmp(node, name, strlen(name)) == 0 &&
            (is_last || found == UINT64_MAX))
            found = r->number;
    }
    ck_assert(found != UINT64_MAX);
    return found;
}

/*
 * A node of the first loop is held in each iteration until the second one has
 * got to the row before: so no run ends unless they overlap, however slow the
 * machine.  The records say the same.
 */
START_TEST(two_loops_are_a_wavefront)
{
    static const shape_of_pair kinds[] = {LOOP_LOOP, LOOP_LENGTH, LOOP_SCAN,
                                          SCAN_SCAN, STACK_TOO,   WHILE_LOOP};
    const eddy_trace_options how = {.size = sizeof how};
    const int64_t n = 6;
    eddy_trace *trace;

    count_rows();
    begin_pair(kinds[_i], "Hold", n, n);
    ck_assert_int_eq(n_rows, 1);
    program_want_ok(&p, eddy_trace_create(p.plan, &how, &trace, &p.err));
    p.run_options.recorder = trace;
    program_make_run(&p);
    program_want_ok(&p, eddy_run_start(p.run, &p.err));
    hold_in_turn(n);
    program_want_ok(&p, eddy_run_wait(p.run, &p.err));
    /* Each held sum is of what was before: 0 + 0, 0 + 1, 1 + 2, ... */
    ck_assert_int_eq(program_fetch_int(&p, 0),
                     kinds[_i] == SCAN_SCAN ? 70 : 35);
    ck_assert_uint_lt(record_of(trace, "B/Hold", false),
                      record_of(trace, "A/Hold", true));
    eddy_run_destroy(p.run);
    p.run = NULL;
    p.run_options.recorder = NULL;
    eddy_trace_destroy(trace);
}
END_TEST

/* Left out, the second loop begins when the first one has ended. */
START_TEST(without_the_pass_one_loop_follows_the_other)
{
    without_pass(true);
    count_rows();
    begin_pair(LOOP_LOOP, "Hold", 3, 3);
    ck_assert_int_eq(n_rows, 0);
    program_make_run(&p);
    program_want_ok(&p, eddy_run_start(p.run, &p.err));
    for (uint32_t i = 0; i < 6; i++) {
        hold_await(i + 1);
        ck_assert_uint_eq(hold_open(), 1);
        ck_assert_int_eq(hold_iteration(i), i % 3);
        hold_complete(i, EDDY_OK);
    }
    program_want_ok(&p, eddy_run_wait(p.run, &p.err));
    ck_assert_int_eq(program_fetch_int(&p, 0), 4);
}
END_TEST

/* Cheap loops are better run in a row; so are all where nobody shares them. */
START_TEST(loops_are_left_alone_where_nothing_is_gained)
{
    count_rows();
    begin_pair(LOOP_LOOP, NULL, 3, 3);
    ck_assert_int_eq(n_rows, 0);
    p.plan_options.executor = EDDY_EXECUTOR_DYNAMIC;
    begin_pair(LOOP_LOOP, NULL, 3, 3);
    ck_assert_int_eq(n_rows, 1);
    p.plan_options.executor = EDDY_EXECUTOR_LINEAR;
    n_rows = 0;
    begin_pair(LOOP_LOOP, NULL, 3, 3);
    ck_assert_int_eq(n_rows, 0);
    p.plan_options.executor = EDDY_EXECUTOR_DYNAMIC;
    p.plan_options.optimize = EDDY_OPTIMIZE_NONE;
    begin_pair(LOOP_LOOP, NULL, 3, 3);
    ck_assert_int_eq(n_rows, 0);
    program_deinit(&p);
    program_init(&p, 0);
    probe_ops_register(&p);
    count_rows();
    p.plan_options.optimize = EDDY_OPTIMIZE_EXACT;
    p.plan_options.executor = EDDY_EXECUTOR_DYNAMIC;
    begin_pair(LOOP_LOOP, NULL, 3, 3);
    ck_assert_int_eq(n_rows, 0);
}
END_TEST

/* ---- the same as without ---- */

typedef struct pair_outcome {
    eddy_status status;
    eddy_detail detail;
    eddy_tensor *fetched[3];
} pair_outcome;

static pair_outcome run_pair(shape_of_pair kind, int64_t n, int64_t m,
                             const step *change, bool is_without)
{
    pair_outcome o = {.status = EDDY_OK};
    eddy_output out[3];

    without_pass(is_without);
    program_clear(&p);
    first = *change;
    second = third = (step){.op = "Tick"};
    build_pair(kind, n, m, out);
    program_plan_outputs(&p, out, 3);
    o.status = program_execute(&p);
    o.detail = o.status == EDDY_OK ? 0 : p.err.detail;
    for (size_t i = 0; i < 3 && o.status == EDDY_OK; i++)
        o.fetched[i] = eddy_tensor_retain(eddy_run_fetch(p.run, i));
    return o;
}

static void want_same(const pair_outcome *a, const pair_outcome *b)
{
    ck_assert_int_eq(a->status, b->status);
    ck_assert_int_eq(a->detail, b->detail);
    for (size_t i = 0; i < 3; i++) {
        eddy_tensor *x = a->fetched[i], *y = b->fetched[i];

        if (!x && !y)
            continue;
        ck_assert(x && y);
        ck_assert_uint_eq(eddy_tensor_bytes(x), eddy_tensor_bytes(y));
        if (eddy_tensor_bytes(x) > 0)
            ck_assert_mem_eq(eddy_tensor_data(x), eddy_tensor_data(y),
                             eddy_tensor_bytes(x));
        eddy_tensor_release(x);
        eddy_tensor_release(y);
    }
}

/* The first loop's trips, the second's, and what is odd about the first. */
static const struct row {
    int64_t n, m;
    step change;
    bool fails;
} rows[] = {
    {5, 5, {.op = "Tick"}, false},
    {1, 1, {.op = "Later"}, false},
    {20, 20, {.op = "Later"}, false},
    {0, 0, {.op = "Tick"}, false},
    {-2, 0, {.op = "Tick"}, false},
    {5, 3, {.op = "Tick"}, false}, /* rows that nobody reads */
    {4, 7, {.op = "Tick"}, true},  /* rows that there are not */
    {0, 2, {.op = "Tick"}, true},
    {6, 6, {.op = "Tick", .divides = true}, true},
    {4, 4, {.op = "Tick", .grows = true}, true}, /* no stack */
    {5, 1, {.op = "Tick", .grows = true}, true},
};

#define N_ROWS (int)(sizeof rows / sizeof rows[0])

START_TEST(values_and_errors_are_those_without_the_pass)
{
    const struct row *row = &rows[_i / N_PAIRS];
    const shape_of_pair kind = (shape_of_pair)(_i % N_PAIRS);
    pair_outcome with, bare;

    /* A Scan of growing items is refused before it runs. */
    if (row->n != row->m && (kind == LOOP_SCAN || kind == THREE ||
                             kind == SCAN_SCAN || kind == LOOP_LENGTH))
        return;
    if (kind == SCAN_SCAN && (row->change.divides || row->change.grows))
        return;
    later_start(0, 100000);
    count_rows();
    with = run_pair(kind, row->n, row->m, &row->change, false);
    ck_assert_int_ge(n_rows, 1);
    bare = run_pair(kind, row->n, row->m, &row->change, true);
    later_stop();
    want_same(&with, &bare);
    ck_assert_int_eq(with.status != EDDY_OK, row->fails);
}
END_TEST

/* Each iteration of an outer loop has an array of its own. */
static eddy_status nest_body(eddy_graph *graph, void *user,
                             const eddy_output *in, size_t n, eddy_output *out,
                             eddy_error *err)
{
    const eddy_output trips = *(const eddy_output *)user;
    const eddy_output sum = in[2];
    eddy_output a[2], b[2];
    eddy_onnx_loop_spec spec = {.size = sizeof spec,
                                .name = "A",
                                .trip_count = &trips,
                                .initial = &sum,
                                .n_carried = 1,
                                .n_scan_outputs = 1,
                                .body = loop_body,
                                .user = &first};
    eddy_status status = eddy_onnx_loop(graph, &spec, a, err);

    (void)n;
    second.gathers = true;
    second.rows = a[1];
    spec.name = "B";
    spec.user = &second;
    if (status == EDDY_OK)
        status = eddy_onnx_loop(graph, &spec, b, err);
    out[0] = in[1];
    out[1] = b[0];
    out[2] = b[1];
    return status;
}

static pair_outcome run_nest(bool is_without)
{
    eddy_output trips, outer, zero, out[2];
    pair_outcome o = {.status = EDDY_OK};
    eddy_onnx_loop_spec spec;

    without_pass(is_without);
    program_clear(&p);
    first = second = (step){.op = "Later"};
    trips = program_int(&p, 4);
    outer = program_int(&p, 5);
    zero = program_int(&p, 1);
    spec = (eddy_onnx_loop_spec){.size = sizeof spec,
                                 .name = "outer",
                                 .trip_count = &outer,
                                 .initial = &zero,
                                 .n_carried = 1,
                                 .n_scan_outputs = 1,
                                 .body = nest_body,
                                 .user = &trips};
    program_want_ok(&p, eddy_onnx_loop(p.graph, &spec, out, &p.err));
    program_plan_outputs(&p, out, 2);
    program_run(&p);
    for (size_t i = 0; i < 2; i++)
        o.fetched[i] = eddy_tensor_retain(eddy_run_fetch(p.run, i));
    return o;
}

START_TEST(loops_in_a_loop_overlap_too)
{
    pair_outcome with, bare;

    later_start(0, 100000);
    count_rows();
    with = run_nest(false);
    ck_assert_int_eq(n_rows, 1);
    bare = run_nest(true);
    later_stop();
    want_same(&with, &bare);
}
END_TEST

/* ---- ends before the end ---- */

/* A held loop fails, is cancelled, or is out of time while the other waits. */
START_TEST(a_read_that_waits_ends_with_its_run)
{
    if (_i == 2)
        p.run_options.timeout_ns = 50000000;
    begin_pair(LOOP_LOOP, "Hold", 4, 4);
    program_make_run(&p);
    program_want_ok(&p, eddy_run_start(p.run, &p.err));
    hold_await(1);
    if (_i == 0)
        hold_complete(0, EDDY_DATA_LOSS);
    if (_i == 1)
        eddy_run_cancel(p.run);
    while (_i > 0 && !hold_is_cancelled(0))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (_i > 0)
        hold_complete(0, EDDY_OK);
    ck_assert_int_eq(eddy_run_wait(p.run, &p.err),
                     _i == 0   ? EDDY_DATA_LOSS
                     : _i == 1 ? EDDY_CANCELLED
                               : EDDY_DEADLINE_EXCEEDED);
    /* The plan can be run again. */
    p.run_options.timeout_ns = 0;
    eddy_run_destroy(p.run);
    p.run = NULL;
    program_make_run(&p);
    program_want_ok(&p, eddy_run_start(p.run, &p.err));
    hold_await(2);
    while (!eddy_run_poll(p.run))
        hold_complete_all(EDDY_OK);
    program_want_ok(&p, eddy_run_wait(p.run, &p.err));
    ck_assert_int_eq(program_fetch_int(&p, 0), 10);
}
END_TEST

/* What rows take is counted, and given back. */
START_TEST(rows_are_counted_by_the_limit_on_bytes)
{
    p.run_options.max_bytes = 3000;
    begin_pair(LOOP_LOOP, "Tick", 4000, 4000);
    ck_assert_int_eq(program_execute(&p), EDDY_RESOURCE_EXHAUSTED);
    ck_assert_int_eq(p.err.detail, EDDY_E_LIMIT_BYTES);
    p.run_options.max_bytes = 0;
    begin_pair(LOOP_LOOP, "Tick", 4000, 4000);
    program_run(&p);
}
END_TEST

/* Every allocation of plan and run fails in turn. */
START_TEST(overlapping_loops_survive_without_memory)
{
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;
    eddy_output out[3];

    program_clear(&p);
    first = second = third = (step){.op = "Tick"};
    build_pair(_i ? LOOP_LENGTH : LOOP_SCAN, 3, 3, out);
    for (long long n = 0; status != EDDY_OK; n++) {
        const eddy_plan_options options = {
            .size = sizeof options, .fetches = out, .n_fetches = 3};
        eddy_plan *plan = NULL;
        eddy_run *run = NULL;

        counting_allocator_fail(&p.counting, n);
        status = eddy_plan_create(p.graph, &options, &plan, &p.err);
        if (status == EDDY_OK)
            status = eddy_run_create(plan, NULL, &run, &p.err);
        if (status == EDDY_OK)
            status = eddy_run_execute(run, &p.err);
        counting_allocator_fail(&p.counting, -1);
        if (status != EDDY_OK)
            ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
        eddy_run_destroy(run);
        eddy_plan_release(plan);
    }
}
END_TEST

TCase *onnx_wavefront_tests(void)
{
    TCase *tc = tcase_create("onnx_wavefront");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, two_loops_are_a_wavefront, 0, 6);
    tcase_add_test(tc, without_the_pass_one_loop_follows_the_other);
    tcase_add_test(tc, loops_are_left_alone_where_nothing_is_gained);
    tcase_add_loop_test(tc, values_and_errors_are_those_without_the_pass, 0,
                        N_ROWS * N_PAIRS);
    tcase_add_test(tc, loops_in_a_loop_overlap_too);
    tcase_add_loop_test(tc, a_read_that_waits_ends_with_its_run, 0, 3);
    tcase_add_test(tc, rows_are_counted_by_the_limit_on_bytes);
    tcase_add_loop_test(tc, overlapping_loops_survive_without_memory, 0, 2);
    return tc;
}
