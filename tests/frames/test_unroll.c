/* SPDX-License-Identifier: Apache-2.0 */
/* Unrolling: results to the bit, names, what is refused. */
#include "eddy/unroll.h"
#include "frames/analysis/analysis.h"
#include "tests/aid/construct.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

static program p;
static eddy_graph *unrolled;

static void setup(void)
{
    program_init(&p, 0);
    unrolled = NULL;
}

static void teardown(void)
{
    eddy_graph_destroy(unrolled);
    program_deinit(&p);
}

static eddy_status try_unroll(uint64_t trips, const char *loop)
{
    const eddy_unroll_options options = {
        .size = sizeof options,
        .loops = &loop,
        .n_loops = loop != NULL,
        .trips = trips,
    };

    eddy_graph_destroy(unrolled);
    unrolled = NULL;
    return eddy_graph_unroll(p.graph, &options, &unrolled, &p.err);
}

static void unroll(uint64_t trips)
{
    if (try_unroll(trips, NULL) != EDDY_OK)
        ck_abort_msg("%s: %s", p.err.node, p.err.message);
}

static size_t loops_of(const eddy_graph *graph)
{
    eddy_analysis *analysis;
    size_t n;

    ck_assert_int_eq(eddy_analysis_create(graph, &analysis, &p.err), EDDY_OK);
    n = eddy_analysis_frames(analysis) - 1;
    eddy_analysis_destroy(analysis);
    return n;
}

/* What `fetch` of the graph is when `n`, if there is one, is fed. */
static eddy_tensor *result_of(eddy_graph *graph, const char *fetch, int64_t n)
{
    const bool is_fed = eddy_graph_find(graph, "n") != EDDY_NO_NODE;
    eddy_graph *keep = p.graph;
    eddy_tensor *result;

    p.graph = graph;
    program_plan(&p, is_fed ? "n" : NULL, fetch);
    if (is_fed &&
        eddy_graph_output_dtype(graph, program_output(&p, "n")) == EDDY_INT32)
        program_feed_int32(&p, 0, (int32_t)n);
    else if (is_fed)
        program_feed_int(&p, 0, n);
    program_run(&p);
    result = eddy_tensor_retain(eddy_run_fetch(p.run, 0));
    p.graph = keep;
    return result;
}

/* The same in shape and bytes before and after unrolling. */
static void want_same(const char *fetch, int64_t n)
{
    eddy_tensor *a = result_of(p.graph, fetch, n);
    eddy_tensor *b = result_of(unrolled, fetch, n);

    ck_assert_uint_eq(eddy_tensor_bytes(a), eddy_tensor_bytes(b));
    ck_assert_mem_eq(eddy_tensor_data(a), eddy_tensor_data(b),
                     eddy_tensor_bytes(a));
    eddy_tensor_release(a);
    eddy_tensor_release(b);
}

/* For many numbers of trips of which some go into each other. */
static void want_same_for_all(const char *fetch)
{
    for (uint64_t by = 2; by < 6; by++) {
        unroll(by);
        for (int64_t n = -1; n < 11; n++)
            want_same(fetch, n);
    }
}

static void build(const char *text)
{
    program_build(&p, text);
}

/* i from FIRST in steps of STEP while i OP n; x = x * 1.1 + 0.3 */
#define COUNTED(dtype, first, step, op)                                        \
    "n ?" dtype "\nfirst " dtype "=" first "\nstep " dtype "=" step "\n"       \
    "x float32=0.7\nfactor float32=1.1\nterm float32=0.3\n"                    \
    "ie Enter@w first\nim Merge ie in\nnl Enter@w! n\nless " op " im nl\n"     \
    "c LoopCond less\nis Switch im c\nst Enter@w! step\n"                      \
    "ia AddV2 is:1 st\nin NextIteration ia\nix Exit is\n"                      \
    "xe Enter@w x\nxm Merge xe xn\nxs Switch xm c\nfe Enter@w! factor\n"       \
    "te Enter@w! term\nmul Mul xs:1 fe\nadd AddV2 mul te\n"                    \
    "xn NextIteration add\nxx Exit xs\n"

START_TEST(any_number_of_trips_gives_the_same_bits)
{
    build(COUNTED("int32", "0", "1", "Less"));
    want_same_for_all("xx");
    want_same_for_all("ix");
}
END_TEST

START_TEST(counters_go_up_and_down_in_steps)
{
    static const char *const programs[] = {
        COUNTED("int64", "0", "1", "LessEqual"),
        COUNTED("int64", "-3", "2", "Less"),
        COUNTED("int32", "-3", "3", "LessEqual"),
        COUNTED("int64", "9", "-1", "Greater"),
        COUNTED("int32", "9", "-2", "GreaterEqual"),
        COUNTED("int64", "9", "-3", "Greater"),
    };

    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        program_clear(&p);
        build(programs[i]);
        want_same_for_all("xx");
        want_same_for_all("ix");
    }
}
END_TEST

START_TEST(limits_at_the_ends_of_a_dtype_do_not_wrap)
{
    build(COUNTED("int32", "2147483640", "1", "Less"));
    unroll(4);
    want_same("xx", INT32_MAX);
    want_same("xx", INT32_MIN);
    want_same("xx", INT32_MIN + 2);
    program_clear(&p);
    build(COUNTED("int32", "-2147483640", "-1", "Greater"));
    unroll(4);
    want_same("xx", INT32_MIN);
    want_same("xx", INT32_MAX);
    want_same("xx", INT32_MAX - 2);
    program_clear(&p);
    build(COUNTED("int64", "-9223372036854775800", "-1", "Greater"));
    unroll(3);
    want_same("xx", INT64_MIN);
    want_same("xx", INT64_MAX);
}
END_TEST

/* The same loop with a limit that is known. */
#define KNOWN(limit)                                                           \
    "limit int32=" limit "\nfirst int32=0\nstep int32=1\n"                     \
    "x float32=0.7\nfactor float32=1.1\n"                                      \
    "ie Enter@w first\nim Merge ie in\nnl Enter@w! limit\nless Less im nl\n"   \
    "c LoopCond less\nis Switch im c\nst Enter@w! step\n"                      \
    "ia AddV2 is:1 st\nin NextIteration ia\nix Exit is\n"                      \
    "xe Enter@w x\nxm Merge xe xn\nxs Switch xm c\nfe Enter@w! factor\n"       \
    "mul Mul xs:1 fe\nadd AddV2 mul fe\nxn NextIteration add\nxx Exit xs\n"

START_TEST(all_trips_leave_no_loop)
{
    static const char *const programs[] = {KNOWN("0"), KNOWN("1"), KNOWN("7"),
                                           KNOWN("-4")};

    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        program_clear(&p);
        build(programs[i]);
        unroll(0);
        ck_assert_uint_eq(loops_of(unrolled), 0);
        want_same("xx", 0);
        want_same("ix", 0);
        unroll(3);
        ck_assert_uint_eq(loops_of(unrolled), 2);
        want_same("xx", 0);
    }
}
END_TEST

START_TEST(a_loop_by_inequality_is_unrolled_where_it_ends)
{
    build("limit int32=-9\nfirst int32=5\nstep int32=2\n"
          "ie Enter@w first\nim Merge ie in\nnl Enter@w! limit\n"
          "less NotEqual im nl\nc LoopCond less\nis Switch im c\n"
          "st Enter@w! step\nia Sub is:1 st\nin NextIteration ia\n"
          "ix Exit is\n");
    unroll(3);
    ck_assert_uint_eq(loops_of(unrolled), 2);
    want_same("ix", 0);
    unroll(0);
    ck_assert_uint_eq(loops_of(unrolled), 0);
    want_same("ix", 0);
}
END_TEST

START_TEST(names_say_what_a_node_is_a_copy_of)
{
    build(KNOWN("3"));
    unroll(0);
    ck_assert_str_eq(
        eddy_graph_node_op(unrolled, eddy_graph_find(unrolled, "xx")),
        "Identity");
    ck_assert_str_eq(
        eddy_graph_node_op(unrolled, eddy_graph_find(unrolled, "xe")),
        "Identity");
    ck_assert_uint_ne(eddy_graph_find(unrolled, "mul/trip2"), EDDY_NO_NODE);
    ck_assert_uint_eq(eddy_graph_find(unrolled, "mul/trip3"), EDDY_NO_NODE);
    ck_assert_uint_eq(eddy_graph_find(unrolled, "mul"), EDDY_NO_NODE);
    unroll(2);
    ck_assert_uint_ne(eddy_graph_find(unrolled, "mul"), EDDY_NO_NODE);
    ck_assert_uint_ne(eddy_graph_find(unrolled, "mul/trip1"), EDDY_NO_NODE);
    ck_assert_uint_ne(eddy_graph_find(unrolled, "c/unrolled"), EDDY_NO_NODE);
    unroll(1);
    ck_assert_uint_eq(eddy_graph_size(unrolled), eddy_graph_size(p.graph));
}
END_TEST

/* s = s * 2 + j for j < i, for i < n; nested loops with a branch in them. */
static void build_nested(eddy_output n)
{
    counted outer = construct_counted(&p, n, program_int(&p, 1));
    counted inner = construct_counted(&p, outer.i, outer.now);
    const eddy_output is_big =
        program_binary(&p, "Greater", inner.now, program_int(&p, 9));
    eddy_output next;

    construct_cond(&p, is_big);
    next = program_binary(&p, "Sub", inner.now, n);
    construct_else(&p, next);
    next = program_binary(&p, "Mul", inner.now, program_int(&p, 2));
    next = construct_end_cond(&p, next);
    construct_end_counted(&p, &inner,
                          program_binary(&p, "AddV2", next, inner.i));
    construct_end_counted(&p, &outer, inner.results[1]);
    program_unary(&p, "Identity", outer.results[1]);
}

START_TEST(loops_in_each_other_are_copied_with_frames_of_their_own)
{
    build_nested(construct_feed(&p, "n", EDDY_INT64));
    want_same_for_all("Identity");
    /* Of two loops each has a main loop and a rest, the inner one thrice. */
    unroll(2);
    ck_assert_uint_eq(loops_of(unrolled), 2 + 2 * 3);
    ck_assert_int_eq(try_unroll(2, "while/while"), EDDY_OK);
    ck_assert_uint_eq(loops_of(unrolled), 3);
    want_same("Identity", 6);
    ck_assert_int_eq(try_unroll(3, "while"), EDDY_OK);
    ck_assert_uint_eq(loops_of(unrolled), 2 + 4);
    want_same("Identity", 7);
}
END_TEST

START_TEST(known_loops_in_each_other_vanish)
{
    build_nested(program_int(&p, 5));
    unroll(0);
    /* The inner loops make as many trips as the outer one has made. */
    ck_assert_uint_eq(loops_of(unrolled), 5);
    want_same("Identity", 0);
}
END_TEST

START_TEST(a_loop_in_a_branch_does_not_run_where_it_did_not)
{
    const eddy_output n = construct_feed(&p, "n", EDDY_INT64);
    eddy_output result;
    counted c;

    construct_cond(&p, program_binary(&p, "Greater", n, program_int(&p, 3)));
    c = construct_counted(&p, n, n);
    construct_end_counted(&p, &c, program_binary(&p, "Mul", c.now, n));
    construct_else(&p, c.results[1]);
    c = construct_counted(&p, program_int(&p, 3), n);
    construct_end_counted(&p, &c, program_binary(&p, "AddV2", c.now, n));
    result = construct_end_cond(&p, c.results[1]);
    program_unary(&p, "Identity", result);
    want_same_for_all("Identity");
    unroll(0);
    ck_assert_uint_eq(loops_of(unrolled), 1);
    for (int64_t i = 0; i < 6; i++)
        want_same("Identity", i);
}
END_TEST

/* Is the number odd? */
static eddy_status is_odd(eddy_kernel *call, void *user, bool *out_value)
{
    (void)user;
    *out_value = *(const int64_t *)eddy_kernel_input(call, 0).data % 2;
    return EDDY_OK;
}

/* now = now * 3 or now + i, by what the host says of i */
static eddy_output build_host(eddy_output n)
{
    counted c = construct_counted(&p, n, program_int(&p, 1));
    const eddy_host_spec host = {
        .size = sizeof host, .inputs = &c.i, .n_inputs = 1};
    eddy_output odd, next;

    if (eddy_graph_add_host_predicate(p.graph, &host, is_odd, &odd, &p.err))
        ck_abort_msg("%s", p.err.message);
    construct_cond(&p, odd);
    construct_else(&p, program_binary(&p, "Mul", c.now, program_int(&p, 3)));
    next = construct_end_cond(&p, program_binary(&p, "AddV2", c.now, c.i));
    construct_end_counted(&p, &c, next);
    return c.results[1];
}

/* Of a loop beside the unrolled one; a loop that asks it is not copied. */
/* Loop `k` makes `limit` trips, and adds `by` to `x` in each. */
static void build_one_of_many(int k, const char *limit, const char *x)
{
    char text[512];

    snprintf(text, sizeof text,
             "ie%d Enter@w%d zero\nim%d Merge ie%d in%d\n"
             "nl%d Enter@w%d! %s\nless%d Less im%d nl%d\n"
             "c%d LoopCond less%d\nis%d Switch im%d c%d\n"
             "st%d Enter@w%d! one\nia%d AddV2 is%d:1 st%d\n"
             "in%d NextIteration ia%d\n"
             "xe%d Enter@w%d %s\nxm%d Merge xe%d xn%d\n"
             "xs%d Switch xm%d c%d\nsum%d AddV2 xs%d:1 is%d:1\n"
             "xn%d NextIteration sum%d\nxx%d Exit xs%d\n",
             k, k, k, k, k, k, k, limit, k, k, k, k, k, k, k, k, k, k, k, k, k,
             k, k, k, k, x, k, k, k, k, k, k, k, k, k, k, k, k, k);
    build(text);
}

/*
 * Loops beside each other and after each other are unrolled in one turn; with
 * all trips every fifth stays, whose trips are not known.
 */
START_TEST(many_loops_are_unrolled_together)
{
    static const char *const limits[] = {"zero", "one", "three", "two", "sum"};
    char x[16] = "one";

    build("zero int64=0\none int64=1\ntwo int64=2\nthree int64=3\n"
          "sum AddV2 two three\n");
    for (int k = 0; k < 50; k++) {
        build_one_of_many(k, limits[k % 5], x);
        if (k % 2 == 0)
            snprintf(x, sizeof x, "xx%d", k);
    }
    build("y AddV2 xx48 xx49\n");
    unroll(2);
    want_same("y", 0);
    ck_assert_uint_eq(loops_of(unrolled), 100);
    unroll(0);
    want_same("y", 0);
    ck_assert_uint_eq(loops_of(unrolled), 10);
    unroll(3);
    want_same("y", 0);
}
END_TEST

START_TEST(the_host_is_asked_as_before)
{
    const eddy_output n = construct_feed(&p, "n", EDDY_INT64);
    counted c = construct_counted(&p, program_int(&p, 4), n);

    construct_end_counted(&p, &c, program_binary(&p, "Mul", c.now, n));
    program_binary(&p, "Sub", build_host(n), c.results[1]);
    unroll(0);
    ck_assert_uint_eq(loops_of(unrolled), 1);
    for (int64_t i = 0; i < 6; i++)
        want_same("Sub", i);
    unroll(2);
    want_same("Sub", 5);
    ck_assert_int_eq(try_unroll(2, "while_1"), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(p.err.detail, EDDY_E_NOT_COUNTED);
    ck_assert_ptr_nonnull(strstr(p.err.message, "host"));
}
END_TEST

/* Gradients of xx with respect to x, the factor and the term. */
static void add_gradients(eddy_graph *graph)
{
    static const char *const names[] = {"x", "factor", "term"};
    eddy_graph *keep = p.graph;
    eddy_output xs[3], dxs[3], y;

    p.graph = graph;
    y = program_output(&p, "xx");
    for (size_t i = 0; i < 3; i++)
        xs[i] = program_output(&p, names[i]);
    if (eddy_gradients(graph, &y, 1, xs, 3, NULL, dxs, &p.err) != EDDY_OK)
        ck_abort_msg("%s: %s", p.err.node, p.err.message);
    for (size_t i = 0; i < 3; i++) {
        const eddy_node_spec spec = {.size = sizeof spec,
                                     .op = "Identity",
                                     .name =
                                         (const char *[]){"dx", "df", "dt"}[i],
                                     .inputs = &dxs[i],
                                     .n_inputs = 1};
        eddy_node node;

        if (dxs[i].node != EDDY_NO_NODE)
            ck_assert_int_eq(eddy_graph_add(graph, &spec, &node, &p.err),
                             EDDY_OK);
    }
    p.graph = keep;
}

START_TEST(gradients_are_the_same_to_the_bit)
{
    for (uint64_t by = 2; by < 5; by++) {
        program_clear(&p);
        build(COUNTED("int32", "0", "1", "Less"));
        unroll(by);
        add_gradients(p.graph);
        add_gradients(unrolled);
        for (int64_t n = 0; n < 12; n++) {
            want_same("dx", n);
            want_same("df", n);
            want_same("dt", n);
        }
    }
}
END_TEST

START_TEST(gradients_of_all_trips_are_the_same_to_the_bit)
{
    build(KNOWN("9") "term Identity factor\n");
    unroll(0);
    add_gradients(p.graph);
    add_gradients(unrolled);
    want_same("dx", 0);
    want_same("df", 0);
}
END_TEST

START_TEST(a_graph_with_gradients_is_unrolled_itself)
{
    build(COUNTED("int32", "0", "1", "Less"));
    add_gradients(p.graph);
    for (uint64_t by = 2; by < 5; by++) {
        unroll(by);
        ck_assert_uint_eq(loops_of(unrolled), 4);
        for (int64_t n = 0; n < 9; n++) {
            want_same("dx", n);
            want_same("df", n);
        }
    }
}
END_TEST

START_TEST(invariants_may_be_summed_in_another_order)
{
    eddy_unroll_options options = {.size = sizeof options, .trips = 4};
    size_t n_exact;

    build(COUNTED("int32", "0", "1", "Less"));
    unroll(4);
    n_exact = eddy_graph_size(unrolled);
    options.reassociate_gradients = true;
    eddy_graph_destroy(unrolled);
    ck_assert_int_eq(eddy_graph_unroll(p.graph, &options, &unrolled, &p.err),
                     EDDY_OK);
    ck_assert_uint_lt(eddy_graph_size(unrolled), n_exact);
    want_same("xx", 10);
}
END_TEST

START_TEST(a_loaded_graph_is_unrolled_saved_and_loaded)
{
    eddy_graph *loaded;

    build(COUNTED("int64", "0", "1", "Less"));
    program_reload(&p);
    unroll(3);
    loaded = program_save_and_load(&p, unrolled);
    eddy_graph_destroy(unrolled);
    unrolled = loaded;
    for (int64_t n = 0; n < 8; n++)
        want_same("xx", n);
}
END_TEST

/* ---- loops that something besides a counter ends ---- */

/* while x > 1, and no counter: x = x / 2, with a sum of all that x was. */
#define HALVING                                                                \
    "n ?float32\nhalf float32=0.5\none float32=1\nzero float32=0\n"            \
    "e Enter@w n\nm Merge e n1\no Enter@w! one\ng Greater m o\n"               \
    "c LoopCond g\ns Switch m c\nh Enter@w! half\nb Mul s:1 h\n"               \
    "n1 NextIteration b\ny Exit s\n"                                           \
    "se Enter@w zero\nsm Merge se sn\nss Switch sm c\nsa AddV2 ss:1 b\n"       \
    "sn NextIteration sa\nsum Exit ss\n"

static float halved(eddy_graph *graph, const char *fetch, float n)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *fed = program_tensor(&p, EDDY_FLOAT32, &scalar, &n);
    eddy_graph *keep = p.graph;
    float result;

    p.graph = graph;
    program_plan(&p, "n", fetch);
    program_make_run(&p);
    ck_assert_int_eq(eddy_run_feed(p.run, 0, fed, &p.err), EDDY_OK);
    eddy_tensor_release(fed);
    program_run(&p);
    result = program_fetch_float(&p, 0);
    p.graph = keep;
    return result;
}

START_TEST(a_loop_without_a_counter_is_unrolled)
{
    build(HALVING);
    for (uint64_t by = 2; by < 6; by++) {
        ck_assert_int_eq(try_unroll(by, "w"), EDDY_OK);
        ck_assert_uint_eq(loops_of(unrolled), 2);
        for (float n = 0.5F; n < 3000; n *= 1.7F) {
            ck_assert_float_eq(halved(unrolled, "y", n),
                               halved(p.graph, "y", n));
            ck_assert_float_eq(halved(unrolled, "sum", n),
                               halved(p.graph, "sum", n));
        }
    }
}
END_TEST

/* Six trips go into two iterations of four. */
START_TEST(trips_of_an_unrolled_loop_share_its_iterations)
{
    build(HALVING);
    (void)halved(p.graph, "y", 40);
    ck_assert_uint_eq(program_stats(&p).iterations, 7);
    ck_assert_int_eq(try_unroll(4, "w"), EDDY_OK);
    (void)halved(unrolled, "y", 40);
    ck_assert_uint_eq(program_stats(&p).iterations, 3 + 1);
}
END_TEST

START_TEST(gradients_of_guarded_trips_are_the_same)
{
    const char *const ends[] = {"y", "sum"};
    eddy_graph *graphs[2];
    eddy_output dx[2];

    build(HALVING);
    ck_assert_int_eq(try_unroll(3, "w"), EDDY_OK);
    graphs[0] = p.graph;
    graphs[1] = unrolled;
    for (size_t g = 0; g < 2; g++) {
        p.graph = graphs[g];
        for (size_t i = 0; i < 2; i++) {
            const eddy_output y = program_output(&p, ends[i]);
            const eddy_output xs[] = {program_output(&p, "n"),
                                      program_output(&p, "half")};

            ck_assert_int_eq(
                eddy_gradients(p.graph, &y, 1, xs, 2, NULL, dx, &p.err),
                EDDY_OK);
            ck_assert_int_eq(eddy_graph_add_op(p.graph, "Identity",
                                               i ? "dn1" : "dn0", &dx[0], 1,
                                               NULL, &p.err),
                             EDDY_OK);
            ck_assert_int_eq(eddy_graph_add_op(p.graph, "Identity",
                                               i ? "dh1" : "dh0", &dx[1], 1,
                                               NULL, &p.err),
                             EDDY_OK);
        }
    }
    p.graph = graphs[0];
    for (float n = 0.5F; n < 300; n *= 3) {
        ck_assert_float_eq(halved(unrolled, "dn0", n),
                           halved(p.graph, "dn0", n));
        ck_assert_float_eq(halved(unrolled, "dn1", n),
                           halved(p.graph, "dn1", n));
        ck_assert_float_eq(halved(unrolled, "dh0", n),
                           halved(p.graph, "dh0", n));
        ck_assert_float_eq(halved(unrolled, "dh1", n),
                           halved(p.graph, "dh1", n));
    }
}
END_TEST

/* i < 5 and x < n: at most five trips, in which x doubles from 1 on. */
#define BOUNDED                                                                \
    "n ?float32\none float32=1\nzero int32=0\nstep int32=1\nmost int32=5\n"    \
    "ie Enter@w zero\nim Merge ie in\nml Enter@w! most\nless Less im ml\n"     \
    "xe Enter@w one\nxm Merge xe xn\nnl Enter@w! n\nsmall Less xm nl\n"        \
    "both LogicalAnd less small\nc LoopCond both\n"                            \
    "is Switch im c\nst Enter@w! step\nia AddV2 is:1 st\n"                     \
    "in NextIteration ia\nix Exit is\n"                                        \
    "xs Switch xm c\nxa AddV2 xs:1 xs:1\nxn NextIteration xa\nxx Exit xs\n"

START_TEST(a_loop_of_at_most_so_many_trips_is_unrolled_whole)
{
    build(BOUNDED);
    ck_assert_int_eq(try_unroll(0, "w"), EDDY_OK);
    ck_assert_uint_eq(loops_of(unrolled), 0);
    for (float n = 0.5F; n < 100; n *= 1.9F)
        ck_assert_float_eq(halved(unrolled, "xx", n), halved(p.graph, "xx", n));
    for (uint64_t by = 2; by < 5; by++) {
        ck_assert_int_eq(try_unroll(by, "w"), EDDY_OK);
        for (float n = 0.5F; n < 100; n *= 1.9F)
            ck_assert_float_eq(halved(unrolled, "xx", n),
                               halved(p.graph, "xx", n));
    }
}
END_TEST

/* An assignment in the body happens in the trips that are made, no more. */
START_TEST(effects_of_guarded_trips_happen_as_often)
{
    eddy_graph *keep;

    build("n ?float32\nhalf float32=0.5\none float32=1\n"
          "v VarHandleOp dtype=%float32 shape=() shared_name='v'\n"
          "init AssignVariableOp v one\n"
          "e Enter@w n ^init\nm Merge e n1\no Enter@w! one\ng Greater m o\n"
          "c LoopCond g\ns Switch m c\nh Enter@w! half\nb Mul s:1 h\n"
          "ve Enter@w! v\nadd AssignAddVariableOp ve o ^s1\n"
          "s1 Identity s:1\n"
          "n1 NextIteration b ^add\ny Exit s\n"
          "count ReadVariableOp v ^y dtype=%float32\n");
    ck_assert_int_eq(try_unroll(4, "w"), EDDY_OK);
    keep = p.graph;
    for (float n = 0.5F; n < 3000; n *= 1.7F)
        ck_assert_float_eq(halved(unrolled, "count", n),
                           halved(keep, "count", n));
}
END_TEST

START_TEST(a_predicate_with_an_effect_is_refused_by_name)
{
    build("x float32=100\nhalf float32=0.5\none float32=1\n"
          "v VarHandleOp dtype=%float32 shape=() shared_name='v'\n"
          "e Enter@w x\nm Merge e n\nve Enter@w! v\n"
          "o ReadVariableOp ve ^m dtype=%float32\ng Greater m o\n"
          "c LoopCond g\ns Switch m c\nh Enter@w! half\nb Mul s:1 h\n"
          "n NextIteration b\ny Exit s\n");
    program_want(&p, try_unroll(2, "w"), EDDY_INVALID_ARGUMENT,
                 EDDY_E_NOT_COUNTED);
    ck_assert_ptr_nonnull(strstr(p.err.message, "'w'"));
    ck_assert_str_eq(p.err.node, "o");
    /* Left alone where no loop is named. */
    unroll(2);
    ck_assert_uint_eq(eddy_graph_size(unrolled), eddy_graph_size(p.graph));
    program_want(&p, try_unroll(2, "v"), EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME);
}
END_TEST

START_TEST(unknown_trips_are_not_unrolled_whole)
{
    build(COUNTED("int32", "0", "1", "Less"));
    program_want(&p, try_unroll(0, "w"), EDDY_INVALID_ARGUMENT,
                 EDDY_E_NOT_COUNTED);
    unroll(0);
    ck_assert_uint_eq(loops_of(unrolled), 1);
    program_want(&p, try_unroll((uint64_t)1 << 33, "w"), EDDY_INVALID_ARGUMENT,
                 EDDY_E_NOT_COUNTED);
}
END_TEST

/* Such a loop fails in its second trip, which must not be unrolled away. */
START_TEST(an_exit_with_a_value_in_every_trip_is_refused)
{
    build("x float32=100\nhalf float32=0.5\none float32=1\n"
          "e Enter@w x\nm Merge e n\no Enter@w! one\ng Greater m o\n"
          "c LoopCond g\ns Switch m c\nh Enter@w! half\nb Mul s:1 h\n"
          "n NextIteration b\nd Neg m\ny Exit d\n");
    program_want(&p, try_unroll(3, "w"), EDDY_INVALID_ARGUMENT,
                 EDDY_E_NOT_COUNTED);
    ck_assert_str_eq(p.err.node, "y");
    program_want(&p, program_try_fetches(&p, "y"), EDDY_INVALID_ARGUMENT,
                 EDDY_E_EXIT_TWICE);
}
END_TEST

START_TEST(random_numbers_are_not_copied)
{
    build("limit int32=3\nfirst int32=0\nstep int32=1\nshape int32[1]=2\n"
          "z float32[2]=0\nie Enter@w first\nim Merge ie in\n"
          "nl Enter@w! limit\nless Less im nl\nc LoopCond less\n"
          "is Switch im c\nst Enter@w! step\nia AddV2 is:1 st\n"
          "in NextIteration ia\nze Enter@w z\nzm Merge ze zn\n"
          "zs Switch zm c\nsh Enter@w! shape\n"
          "r RandomUniform sh ^is seed=7 dtype=%float32\nza AddV2 zs:1 r\n"
          "zn NextIteration za\nzx Exit zs\n");
    program_want(&p, try_unroll(0, "w"), EDDY_INVALID_ARGUMENT,
                 EDDY_E_NOT_COUNTED);
    ck_assert_str_eq(p.err.node, "r");
}
END_TEST

/* Each handle of the body, copied under another name, is of that variable. */
START_TEST(copies_of_a_handle_are_of_one_variable)
{
    program_build(&p, "o VarHandleOp dtype=int64 shape=() shared_name='v'\n"
                      "two int64=2\n"
                      "init AssignVariableOp o two\n"
                      "zero int64=0 ^init\n"
                      "e Enter@f zero\n"
                      "i Enter@f zero\n"
                      "m Merge e nx\n"
                      "k Merge i j\n"
                      "six0 int64=6\n"
                      "six Enter@f! six0\n"
                      "less Less k six\n"
                      "c LoopCond less\n"
                      "s Switch m c\n"
                      "t Switch k c\n"
                      "at Identity t:1\n"
                      "v VarHandleOp dtype=int64 shape=() ^at\n"
                      "r ReadVariableOp v dtype=int64\n"
                      "one int64=1 ^at\n"
                      "b AddV2 s:1 r\n"
                      "up AddV2 at one\n"
                      "nx NextIteration b\n"
                      "j NextIteration up\n"
                      "y Exit s");
    unroll(2);
    want_same("y", 0);
    program_plan(&p, NULL, "y");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 12);
}
END_TEST

START_TEST(too_many_nodes_are_refused)
{
    const eddy_unroll_options options = {.size = sizeof options,
                                         .max_nodes = 1000};

    build(KNOWN("1000000000"));
    program_want(&p, eddy_graph_unroll(p.graph, &options, &unrolled, &p.err),
                 EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_NODES);
    ck_assert_ptr_null(unrolled);
    program_want(&p, eddy_graph_unroll(NULL, NULL, &unrolled, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
}
END_TEST

/* The n-th allocation fails: nothing is left of it. */
START_TEST(memory_may_run_out_anywhere)
{
    build(KNOWN("2"));
    for (uint64_t trips = 0; trips < 3; trips += 2) {
        eddy_status status = EDDY_RESOURCE_EXHAUSTED;

        for (int n = 0; status != EDDY_OK; n++) {
            ck_assert_int_lt(n, 4000);
            counting_allocator_fail(&p.counting, n);
            status = try_unroll(trips, NULL);
            counting_allocator_fail(&p.counting, -1);
            if (status != EDDY_OK)
                program_want(&p, status, EDDY_RESOURCE_EXHAUSTED,
                             EDDY_E_MEMORY);
        }
        want_same("xx", 0);
    }
}
END_TEST

TCase *unroll_tests(void)
{
    TCase *tc = tcase_create("unroll");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, any_number_of_trips_gives_the_same_bits);
    tcase_add_test(tc, counters_go_up_and_down_in_steps);
    tcase_add_test(tc, limits_at_the_ends_of_a_dtype_do_not_wrap);
    tcase_add_test(tc, all_trips_leave_no_loop);
    tcase_add_test(tc, a_loop_by_inequality_is_unrolled_where_it_ends);
    tcase_add_test(tc, names_say_what_a_node_is_a_copy_of);
    tcase_add_test(tc, loops_in_each_other_are_copied_with_frames_of_their_own);
    tcase_add_test(tc, known_loops_in_each_other_vanish);
    tcase_add_test(tc, a_loop_in_a_branch_does_not_run_where_it_did_not);
    tcase_add_test(tc, many_loops_are_unrolled_together);
    tcase_add_test(tc, the_host_is_asked_as_before);
    tcase_add_test(tc, gradients_are_the_same_to_the_bit);
    tcase_add_test(tc, gradients_of_all_trips_are_the_same_to_the_bit);
    tcase_add_test(tc, a_graph_with_gradients_is_unrolled_itself);
    tcase_add_test(tc, invariants_may_be_summed_in_another_order);
    tcase_add_test(tc, a_loaded_graph_is_unrolled_saved_and_loaded);
    tcase_add_test(tc, a_loop_without_a_counter_is_unrolled);
    tcase_add_test(tc, trips_of_an_unrolled_loop_share_its_iterations);
    tcase_add_test(tc, gradients_of_guarded_trips_are_the_same);
    tcase_add_test(tc, a_loop_of_at_most_so_many_trips_is_unrolled_whole);
    tcase_add_test(tc, effects_of_guarded_trips_happen_as_often);
    tcase_add_test(tc, a_predicate_with_an_effect_is_refused_by_name);
    tcase_add_test(tc, unknown_trips_are_not_unrolled_whole);
    tcase_add_test(tc, an_exit_with_a_value_in_every_trip_is_refused);
    tcase_add_test(tc, random_numbers_are_not_copied);
    tcase_add_test(tc, copies_of_a_handle_are_of_one_variable);
    tcase_add_test(tc, too_many_nodes_are_refused);
    tcase_add_test(tc, memory_may_run_out_anywhere);
    return tc;
}
