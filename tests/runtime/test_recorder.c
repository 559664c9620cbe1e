/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded runs: what is recorded, and what the record answers. */
#include "tests/aid/probe_ops.h"
#include "tests/aid/program.h"
#include "tests/runtime/recorder_tests.h"
#include "tests/suites.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static program p;
static eddy_trace *trace;

static void setup(void)
{
    program_init(&p, 0);
    trace = NULL;
}

static void setup_linear(void)
{
    setup();
    p.plan_options.record = true;
}

static void drop(void)
{
    eddy_run_destroy(p.run);
    p.run = NULL;
    p.run_options.recorder = NULL;
    eddy_trace_destroy(trace);
    trace = NULL;
}

static void teardown(void)
{
    drop();
    program_deinit(&p);
}

/* Counts to n, and doubles x where it is above 3. */
#define LOOP                                                                   \
    "n ?int32\n"                                                               \
    "x ?float32\n"                                                             \
    "zero int32=0\n"                                                           \
    "i0 Enter@while zero\n"                                                    \
    "x0 Enter@while x\n"                                                       \
    "limit Enter@while! n\n"                                                   \
    "i Merge i0 i_next\n"                                                      \
    "v Merge x0 v_next\n"                                                      \
    "less Less i limit\n"                                                      \
    "go LoopCond less\n"                                                       \
    "i_s Switch i go\n"                                                        \
    "v_s Switch v go\n"                                                        \
    "i_out Exit i_s:0\n"                                                       \
    "v_out Exit v_s:0\n"                                                       \
    "one int32=1 ^i_body\n"                                                    \
    "i_body Identity i_s:1\n"                                                  \
    "i_plus AddV2 i_body one\n"                                                \
    "i_next NextIteration i_plus\n"                                            \
    "three float32=3 ^i_body\n"                                                \
    "above Greater v_s:1 three\n"                                              \
    "b Switch v_s:1 above\n"                                                   \
    "twice AddV2 b:1 b:1\n"                                                    \
    "up AddV2 b:0 three\n"                                                     \
    "joined Merge twice up\n"                                                  \
    "v_next NextIteration joined\n"

static void plan_loop(eddy_optimize optimize)
{
    p.plan_options.optimize = optimize;
    program_build(&p, LOOP);
    program_plan(&p, "n x", "v_out i_out");
}

static void record(eddy_trace_options how)
{
    how.size = sizeof how;
    program_want_ok(&p, eddy_trace_create(p.plan, &how, &trace, &p.err));
    p.run_options.recorder = trace;
}

/* The feed of a scalar is a tensor of rank 0, so it is made here. */
static void run_loop(int32_t n, float x)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *value;

    program_make_run(&p);
    program_feed_int32(&p, 0, n);
    value = program_tensor(&p, EDDY_FLOAT32, &scalar, &x);
    program_want_ok(&p, eddy_run_feed(p.run, 1, value, &p.err));
    eddy_tensor_release(value);
    program_run(&p);
    program_want_ok(&p, eddy_trace_index(trace, &p.err));
}

static size_t find(const char *name, const char *path)
{
    const uint32_t node = eddy_trace_find_node(trace, name);
    const uint32_t *records;
    const size_t n = eddy_trace_node_records(trace, node, &records);

    for (size_t i = 0; i < n; i++) {
        const eddy_trace_record *r = eddy_trace_record_at(trace, records[i]);
        char text[64];

        eddy_trace_path(trace, r->frame, r->iteration, text, sizeof text);
        if (strcmp(text, path) == 0)
            return records[i];
    }
    ck_abort_msg("no record of %s in '%s'", name, path);
    return 0;
}

static const char *name_of(size_t record)
{
    return eddy_trace_node_at(trace, eddy_trace_record_at(trace, record)->node)
        ->name;
}

static void want_counts(void)
{
    const eddy_trace_totals t = eddy_trace_total(trace);
    const eddy_stats stats = program_stats(&p);

    ck_assert_uint_eq(t.live, stats.live_executions);
    ck_assert_uint_eq(t.dead, stats.dead_executions);
    ck_assert_uint_gt(t.live, 0);
}

/* _i is the level. */
START_TEST(counts_are_those_of_the_run)
{
    plan_loop(_i == 0 ? EDDY_OPTIMIZE_NONE : EDDY_OPTIMIZE_EXACT);
    record((eddy_trace_options){.values = true});
    run_loop(5, 1);
    want_counts();
    ck_assert_uint_eq(eddy_trace_frames(trace), 2);
    ck_assert(!eddy_trace_frame_at(trace, 0)->is_linear);
    ck_assert_int_eq(eddy_trace_frame_at(trace, 1)->is_linear,
                     p.plan_options.record);
    ck_assert_float_eq(program_fetch_float(&p, 0), 64);
    ck_assert_uint_eq(eddy_trace_records(trace),
                      eddy_trace_total(trace).n_seen);
    run_loop(2, 1); /* anew */
    want_counts();
    ck_assert_uint_eq(program_stats(&p).iterations, 3);
}
END_TEST

START_TEST(records_say_where_and_what)
{
    const eddy_trace_record *r;
    const eddy_trace_value *v;

    plan_loop(EDDY_OPTIMIZE_NONE);
    record((eddy_trace_options){.values = true});
    run_loop(3, 1);
    r = eddy_trace_record_at(trace, find("b", "while[1]"));
    ck_assert_uint_eq(r->output, 1); /* 4 is above 3 */
    ck_assert_int_eq(r->state, EDDY_TRACE_LIVE);
    v = eddy_trace_value_at(trace, find("joined", "while[1]"), 0);
    ck_assert_int_eq(v->dtype, EDDY_FLOAT32);
    ck_assert_double_eq(v->mean, 8);
    ck_assert_uint_eq(
        eddy_trace_record_at(trace, find("joined", "while[1]"))->output, 0);
    ck_assert_uint_eq(
        eddy_trace_record_at(trace, find("joined", "while[0]"))->output, 1);
    ck_assert_int_eq(eddy_trace_record_at(trace, find("up", "while[1]"))->state,
                     EDDY_TRACE_DEAD);
    ck_assert_uint_eq(eddy_trace_record_at(trace, find("n:0", ""))->n_nodes, 0);
}
END_TEST

/* Each record's producers are there, and came before it. */
START_TEST(producers_are_found)
{
    plan_loop(EDDY_OPTIMIZE_NONE);
    record((eddy_trace_options){.values = true});
    run_loop(4, 1);
    for (size_t i = 0; i < eddy_trace_records(trace); i++) {
        const eddy_trace_record *r = eddy_trace_record_at(trace, i);
        const eddy_trace_node *node = eddy_trace_node_at(trace, r->node);
        size_t n_found = 0;

        for (size_t k = 0; k < node->n_inputs; k++) {
            const size_t from = eddy_trace_producer(trace, i, k);

            if (from == EDDY_TRACE_NOT_FOUND)
                continue;
            ck_assert_uint_lt(from, i);
            n_found++;
        }
        /* A Merge of the loop has one of two. */
        if (node->kind == EDDY_TRACE_MERGE)
            ck_assert_uint_gt(n_found, 0);
        else
            ck_assert_uint_eq(n_found, node->n_inputs);
    }
}
END_TEST

START_TEST(a_dead_node_has_its_switch)
{
    eddy_trace_link links[16];
    eddy_trace_end end;
    size_t n;

    plan_loop(EDDY_OPTIMIZE_NONE);
    record((eddy_trace_options){.values = true});
    run_loop(2, 1);
    n = eddy_trace_why_dead(trace, find("i_next", "while[2]"), links, 16, &end);
    ck_assert_int_eq(end, EDDY_TRACE_END_SWITCH);
    ck_assert_uint_eq(n, 4);
    ck_assert_str_eq(name_of(links[0].record), "i_next");
    ck_assert_str_eq(name_of(links[1].record), "i_plus");
    ck_assert_str_eq(name_of(links[2].record), "i_body");
    ck_assert_str_eq(name_of(links[3].record), "i_s");
    ck_assert_uint_eq(eddy_trace_record_at(trace, links[3].record)->output, 0);
    n = eddy_trace_why_dead(trace, find("twice", "while[0]"), links, 16, &end);
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(name_of(links[1].record), "b");
    /* What lives has no reason, and a full list says so. */
    ck_assert_uint_eq(
        eddy_trace_why_dead(trace, find("b", "while[0]"), links, 16, &end), 0);
    ck_assert_int_eq(end, EDDY_TRACE_END_NO_REASON);
    n = eddy_trace_why_dead(trace, find("i_next", "while[2]"), links, 2, &end);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(end, EDDY_TRACE_END_CUT);
}
END_TEST

START_TEST(an_infinity_has_its_origin)
{
    eddy_trace_link links[64];
    eddy_trace_end end;
    size_t n;

    plan_loop(EDDY_OPTIMIZE_NONE);
    record((eddy_trace_options){.values = true});
    run_loop(5, 1e38F); /* 2e38, then infinite in the second trip */
    n = eddy_trace_origin(trace, find("v_out", "while[5]"), links, 64, &end);
    ck_assert_int_eq(end, EDDY_TRACE_END_SOURCE);
    ck_assert_uint_gt(n, 4);
    ck_assert_uint_eq(links[n - 1].record, find("twice", "while[1]"));
    ck_assert_uint_eq(links[n - 1].input, EDDY_TRACE_NONE);
}
END_TEST

START_TEST(numerics_are_checked_without_changing_the_graph)
{
    const eddy_shape scalar = {.rank = 0};
    const float large = 1e38F;
    eddy_tensor *value;

    plan_loop(EDDY_OPTIMIZE_NONE);
    record((eddy_trace_options){.check_numerics = true});
    program_make_run(&p);
    program_feed_int32(&p, 0, 5);
    value = program_tensor(&p, EDDY_FLOAT32, &scalar, &large);
    program_want_ok(&p, eddy_run_feed(p.run, 1, value, &p.err));
    eddy_tensor_release(value);
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_NUMERICS);
    ck_assert_str_eq(p.err.node, "twice");
    ck_assert_str_eq(p.err.frame, "while[1]");
}
END_TEST

START_TEST(a_ring_keeps_the_last)
{
    uint64_t last = 0;

    plan_loop(EDDY_OPTIMIZE_NONE);
    record((eddy_trace_options){
        .values = true, .max_records = 7, .keep_last = true});
    run_loop(9, 1);
    ck_assert_uint_eq(eddy_trace_records(trace), 7);
    last = eddy_trace_total(trace).n_seen;
    for (size_t i = 0; i < 7; i++)
        ck_assert_uint_eq(eddy_trace_record_at(trace, i)->number, last - 7 + i);
    ck_assert_uint_eq(eddy_trace_total(trace).n_dropped, last - 7);
    want_counts();
    drop();
    record((eddy_trace_options){.max_records = 7});
    run_loop(9, 1);
    ck_assert_uint_eq(eddy_trace_record_at(trace, 6)->number, 6);
}
END_TEST

typedef struct heard {
    size_t n, n_values;
    uint64_t live;
} heard;

static void hear(void *user, const eddy_trace *from, const eddy_trace_record *r,
                 const eddy_trace_value *values)
{
    heard *h = user;

    ck_assert_ptr_eq(from, trace);
    h->n++;
    h->n_values += r->n_values;
    h->live += r->state == EDDY_TRACE_LIVE ? r->n_nodes : 0;
    ck_assert(r->n_values == 0 || values != NULL);
}

/* What a token is, without its times. */
static void want_same(const eddy_trace_record *a, const eddy_trace_record *b)
{
    ck_assert_uint_eq(a->number, b->number);
    ck_assert_uint_eq(a->node, b->node);
    ck_assert_uint_eq(a->frame, b->frame);
    ck_assert_int_eq(a->iteration, b->iteration);
    ck_assert_int_eq(a->state, b->state);
    ck_assert_uint_eq(a->output, b->output);
    ck_assert_uint_eq(a->n_nodes, b->n_nodes);
    ck_assert_uint_eq(a->worker, b->worker);
}

/*
 * Where no host listens, a shorter way records tokens: more than one chunk of
 * them, all or the last, with values and without.
 */
START_TEST(plain_tokens_are_those_that_hosts_hear_of)
{
    static const size_t rings[] = {0, 512, 700, 1500};
    heard h = {0};
    eddy_trace *with;
    size_t n, at;

    plan_loop(EDDY_OPTIMIZE_NONE);
    record((eddy_trace_options){.record = hear, .user = &h});
    run_loop(150, 1);
    with = trace;
    n = eddy_trace_records(with);
    ck_assert_uint_gt(n, 1536);
    for (size_t k = 0; k < sizeof rings / sizeof *rings; k++) {
        eddy_run_destroy(p.run);
        p.run = NULL;
        if (trace != with)
            eddy_trace_destroy(trace);
        record((eddy_trace_options){.max_records = rings[k],
                                    .values = k % 2 == 1,
                                    .keep_last = rings[k] > 0});
        run_loop(20, 1); /* a shorter one before */
        run_loop(150, 1);
        want_counts();
        at = rings[k] > 0 ? n - rings[k] : 0;
        ck_assert_uint_eq(eddy_trace_records(trace), n - at);
        ck_assert_uint_eq(eddy_trace_total(trace).n_dropped, at);
        for (size_t i = at; i < n; i++)
            want_same(eddy_trace_record_at(trace, i - at),
                      eddy_trace_record_at(with, i));
    }
    eddy_run_destroy(p.run);
    p.run = NULL;
    eddy_trace_destroy(with);
}
END_TEST

/* ---- what is kept is what was told ---- */

/* All that a host hears. */
typedef struct told {
    eddy_trace_record records[4000];
    eddy_trace_value values[4000]; /* the first of each */
    size_t n;
} told;

static void keep(void *user, const eddy_trace *from, const eddy_trace_record *r,
                 const eddy_trace_value *values)
{
    told *t = user;

    (void)from;
    ck_assert_uint_lt(t->n, 4000);
    if (r->n_values > 0)
        t->values[t->n] = values[0];
    t->records[t->n++] = *r;
}

START_TEST(hosts_hear_what_is_kept)
{
    told *t = calloc(1, sizeof *t);

    ck_assert_ptr_nonnull(t);
    plan_loop(EDDY_OPTIMIZE_NONE);
    record((eddy_trace_options){.values = true, .record = keep, .user = t});
    run_loop(120, 1e30F); /* infinite in the end */
    ck_assert_uint_eq(t->n, eddy_trace_records(trace));
    for (size_t i = 0; i < t->n; i++) {
        const eddy_trace_record *a = &t->records[i];
        const eddy_trace_record *b = eddy_trace_record_at(trace, i);

        want_same(a, b);
        ck_assert_uint_eq(a->resource, b->resource);
        ck_assert_uint_eq(a->bytes, b->bytes);
        ck_assert_int_eq(a->allocated, b->allocated);
        ck_assert_uint_eq(a->start_ns, b->start_ns);
        ck_assert_uint_eq(a->duration_ns, b->duration_ns);
        ck_assert_uint_eq(a->n_values, b->n_values);
        ck_assert(a->is_non_finite == b->is_non_finite);
        if (a->n_values > 0)
            ck_assert_mem_eq(&t->values[i], eddy_trace_value_at(trace, i, 0),
                             sizeof t->values[i]);
    }
    free(t);
}
END_TEST

/* Vectors that kernels change where they are, and loops hand on. */
#define VECTOR_LOOP                                                            \
    "zero int32=0\n"                                                           \
    "nine int32=9\n"                                                           \
    "x float32[100]=1\n"                                                       \
    "i0 Enter@while zero\n"                                                    \
    "x0 Enter@while x\n"                                                       \
    "limit Enter@while! nine\n"                                                \
    "step Enter@while! x\n"                                                    \
    "i Merge i0 i_next\n"                                                      \
    "v Merge x0 v_next\n"                                                      \
    "less Less i limit\n"                                                      \
    "go LoopCond less\n"                                                       \
    "i_s Switch i go\n"                                                        \
    "v_s Switch v go\n"                                                        \
    "v_out Exit v_s:0\n"                                                       \
    "i_body Identity i_s:1\n"                                                  \
    "one int32=1 ^i_body\n"                                                    \
    "i_plus AddV2 i_body one\n"                                                \
    "i_next NextIteration i_plus\n"                                            \
    "v_body Identity v_s:1\n"                                                  \
    "v_plus AddV2 v_body step\n"                                               \
    "v_twice AddV2 v_plus v_plus\n"                                            \
    "v_next NextIteration v_twice\n"

/* What is handed on is not looked at again; its summary is what it would be. */
START_TEST(tensors_that_are_handed_on_have_their_values)
{
    told *t = calloc(1, sizeof *t);

    ck_assert_ptr_nonnull(t);
    program_build(&p, VECTOR_LOOP);
    p.plan_options.optimize = EDDY_OPTIMIZE_NONE;
    program_plan(&p, NULL, "v_out");
    record((eddy_trace_options){.values = true, .record = keep, .user = t});
    program_run(&p);
    drop();
    record((eddy_trace_options){.values = true});
    for (int again = 0; again < 2; again++) {
        program_run(&p);
        ck_assert_uint_eq(t->n, eddy_trace_records(trace));
        for (size_t i = 0; i < t->n; i++) {
            want_same(&t->records[i], eddy_trace_record_at(trace, i));
            if (t->records[i].n_values > 0)
                ck_assert_mem_eq(&t->values[i],
                                 eddy_trace_value_at(trace, i, 0),
                                 sizeof t->values[i]);
        }
    }
    free(t);
}
END_TEST

/* More outputs than a byte counts. */
START_TEST(a_switch_of_many_outputs_says_which)
{
    static const int32_t chosen[] = {0, 254, 255, 256, 299};

    program_build(&p, "at ?int32\n"
                      "x int32=5\n"
                      "s _SwitchN x at num_outs=300 T=int32\n"
                      "a Identity s:0\n"
                      "b Identity s:254\n"
                      "c Identity s:255\n"
                      "d Identity s:256\n"
                      "e Identity s:299\n"
                      "m Merge a b c d e\n");
    p.plan_options.optimize = EDDY_OPTIMIZE_NONE;
    program_plan(&p, "at", "m");
    record((eddy_trace_options){.values = true});
    for (uint32_t i = 0; i < 5; i++) {
        program_make_run(&p);
        program_feed_int32(&p, 0, chosen[i]);
        program_run(&p);
        program_want_ok(&p, eddy_trace_index(trace, &p.err));
        ck_assert_uint_eq(eddy_trace_record_at(trace, find("s", ""))->output,
                          (uint32_t)chosen[i]);
        ck_assert_uint_eq(eddy_trace_record_at(trace, find("m", ""))->output,
                          i);
        want_counts();
    }
}
END_TEST

START_TEST(memory_in_use_is_what_was_allocated)
{
    int64_t last = 0, most = 0;

    program_build(&p, "big float32[40000]=0.5\n"
                      "y Mul big big\n"
                      "z AddV2 y big\n"
                      "s Sub z y\n");
    p.plan_options.optimize = EDDY_OPTIMIZE_NONE;
    program_plan(&p, NULL, "s");
    record((eddy_trace_options){.max_records = 0});
    program_run(&p);
    for (size_t i = 0; i < eddy_trace_records(trace); i++) {
        const eddy_trace_record *r = eddy_trace_record_at(trace, i);

        ck_assert_int_eq((int64_t)r->bytes - r->allocated, last);
        last = (int64_t)r->bytes;
        most = last > most ? last : most;
    }
    ck_assert_int_ge(most, 160000);
}
END_TEST

/* Sums the elements of a vector: as many as have a loop, and the rest. */
static void want_summed(eddy_dtype dtype, const double *x, int64_t n)
{
    const eddy_shape shape = {.rank = 1, .dims = {n}};
    eddy_tensor *tensor;
    const eddy_trace_value *v;
    double min = HUGE_VAL, max = -HUGE_VAL, sum = 0;
    uint64_t n_nan = 0, n_infinite = 0, hash;
    unsigned char bytes[8 * 200];
    const size_t size = eddy_dtype_size(dtype);

    for (int64_t i = 0; i < n; i++) {
        const float f = (float)x[i];
        const int32_t s = isfinite(x[i]) ? (int32_t)x[i] : 0;
        const int64_t l = s;
        const void *from = dtype == EDDY_FLOAT32   ? (const void *)&f
                           : dtype == EDDY_FLOAT64 ? (const void *)&x[i]
                           : dtype == EDDY_INT32   ? (const void *)&s
                                                   : (const void *)&l;

        memcpy(bytes + (size_t)i * size, from, size);
        n_nan += isnan(x[i]) ? 1 : 0;
        n_infinite += isinf(x[i]) ? 1 : 0;
        if (!isfinite(x[i]))
            continue;
        min = x[i] < min ? x[i] : min;
        max = x[i] > max ? x[i] : max;
        sum += x[i];
    }
    for (int twice = 0; twice < 2; twice++) {
        tensor = program_tensor(&p, dtype, &shape, bytes);
        program_want_ok(&p, eddy_run_feed(p.run, 0, tensor, &p.err));
        eddy_tensor_release(tensor);
        program_run(&p);
        program_want_ok(&p, eddy_trace_index(trace, &p.err));
        v = eddy_trace_value_at(trace, find("y", ""), 0);
        if (twice == 0) {
            ck_assert_uint_eq(v->n_nan, n_nan);
            ck_assert_uint_eq(v->n_infinite, n_infinite);
            ck_assert_double_eq(v->min, min);
            ck_assert_double_eq(v->max, max);
            ck_assert_double_eq_tol(
                v->mean, sum / (double)(n - (int64_t)(n_nan + n_infinite)),
                1e-12 * fabs(max));
            hash = v->hash;
            bytes[(size_t)(n * 7 % 13) * size] ^= 1;
        } else {
            ck_assert_uint_ne(v->hash, hash);
        }
    }
}

/* _i is the dtype. */
START_TEST(large_values_are_summed_as_small_ones)
{
    static const eddy_dtype dtypes[] = {EDDY_FLOAT32, EDDY_FLOAT64, EDDY_INT32,
                                        EDDY_INT64};
    static const char *const names[] = {"float32", "float64", "int32", "int64"};
    static const int64_t sizes[] = {13, 31, 32, 33, 47, 48, 64, 100, 200};
    double x[200];
    char text[64];

    for (size_t d = 0; d < 4; d++) {
        snprintf(text, sizeof text, "x ?%s[?]\ny Identity x\n", names[d]);
        if (d > 0) {
            drop();
            program_deinit(&p);
            program_init(&p, 0);
        }
        program_build(&p, text);
        p.plan_options.optimize = EDDY_OPTIMIZE_NONE;
        program_plan(&p, "x", "y");
        record((eddy_trace_options){.values = true});
        program_make_run(&p);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            for (int i = 0; i < 200; i++)
                x[i] = (double)(i * 7919 % 503 - 250);
            want_summed(dtypes[d], x, sizes[k]);
            if (d > 1)
                continue;
            x[5] = (double)NAN;
            x[11] = -HUGE_VAL;
            want_summed(dtypes[d], x, sizes[k]);
        }
    }
}
END_TEST

/* A token begins where another has ended; none takes longer than the run. */
START_TEST(times_are_those_of_the_clock)
{
    uint64_t last = 0, sum = 0;
    eddy_trace_totals totals;

    plan_loop(EDDY_OPTIMIZE_NONE);
    record((eddy_trace_options){.max_records = 0});
    run_loop(20000, 1);
    totals = eddy_trace_total(trace);
    for (size_t i = 0; i < eddy_trace_records(trace); i++) {
        const eddy_trace_record *r = eddy_trace_record_at(trace, i);

        ck_assert_uint_ge(r->start_ns, last);
        last = r->start_ns;
        sum += r->duration_ns;
    }
    /* Both clocks are read one after the other, which may be interrupted. */
    ck_assert_uint_le(last, totals.duration_ns + totals.duration_ns / 10);
    ck_assert_uint_le(sum, totals.duration_ns + totals.duration_ns / 10);
    ck_assert_uint_ge(sum, totals.duration_ns / 2);
}
END_TEST

START_TEST(lists_have_the_sum_of_their_elements)
{
    const eddy_trace_value *v;
    char text[128];

    program_build(&p, "any int32=-1\n"
                      "e EmptyTensorList any any element_dtype=float32\n"
                      "a float32=1\n"
                      "b float32=4\n"
                      "zero float32=0\n"
                      "la TensorListPushBack e a\n"
                      "lb TensorListPushBack la b\n"
                      "inf RealDiv b zero\n"
                      "li TensorListPushBack lb inf\n"
                      "n TensorListLength li\n");
    p.plan_options.optimize = EDDY_OPTIMIZE_NONE;
    program_plan(&p, NULL, "n");
    record((eddy_trace_options){.values = true});
    program_run(&p);
    program_want_ok(&p, eddy_trace_index(trace, &p.err));
    v = eddy_trace_value_at(trace, find("lb", ""), 0);
    ck_assert_int_eq(v->count, 2);
    ck_assert_double_eq(v->min, 1);
    ck_assert_double_eq(v->max, 4);
    ck_assert_double_eq(v->mean, 2.5);
    ck_assert_uint_ne(v->hash, 0);
    ck_assert_uint_ne(v->hash,
                      eddy_trace_value_at(trace, find("la", ""), 0)->hash);
    eddy_trace_value_format(v, text, sizeof text);
    ck_assert_str_eq(text, "list of 2 1..4 mean 2.5");
    v = eddy_trace_value_at(trace, find("li", ""), 0);
    ck_assert_uint_eq(v->n_infinite, 1);
    ck_assert(eddy_trace_record_at(trace, find("li", ""))->is_non_finite);
    ck_assert(!eddy_trace_record_at(trace, find("lb", ""))->is_non_finite);
}
END_TEST

/* ---- a run that is stuck ---- */

/* Counts to n; in every trip a node waits for somebody outside. */
#define HELD_LOOP                                                              \
    "n ?int32\n"                                                               \
    "zero int32=0\n"                                                           \
    "i0 Enter@while zero\n"                                                    \
    "limit Enter@while! n\n"                                                   \
    "i Merge i0 i_next\n"                                                      \
    "less Less i limit\n"                                                      \
    "go LoopCond less\n"                                                       \
    "i_s Switch i go\n"                                                        \
    "i_out Exit i_s:0\n"                                                       \
    "i_body Identity i_s:1\n"                                                  \
    "held Hold i_body\n"                                                       \
    "one int32=1 ^i_body\n"                                                    \
    "sum AddV2 held one\n"                                                     \
    "i_next NextIteration sum\n"

/* The run is cancelled in the third trip: what was it waiting for? */
START_TEST(a_stuck_run_says_what_it_waits_for)
{
    eddy_trace_wait waits[4];
    const eddy_trace_node *node;
    char path[32];

    probe_ops_register(&p);
    p.plan_options.optimize = EDDY_OPTIMIZE_NONE;
    program_build(&p, HELD_LOOP);
    program_plan(&p, "n", "i_out");
    record((eddy_trace_options){.values = _i == 1});
    program_make_run(&p);
    program_feed_int32(&p, 0, 9);
    program_want_ok(&p, eddy_run_start(p.run, &p.err));
    for (uint32_t trip = 0; trip < 3; trip++) {
        while (hold_started() <= trip)
            ck_assert(!eddy_run_poll(p.run));
        hold_await(trip + 1);
        if (trip < 2)
            hold_complete(trip, EDDY_OK);
    }
    eddy_run_cancel(p.run);
    hold_complete(2, EDDY_CANCELLED);
    program_want(&p, eddy_run_wait(p.run, &p.err), EDDY_CANCELLED,
                 EDDY_E_CANCELLED);
    program_want_ok(&p, eddy_trace_index(trace, &p.err));
    ck_assert_uint_eq(eddy_trace_waiting(trace, waits, 4), 1);
    node = eddy_trace_node_at(trace, waits[0].node);
    ck_assert_str_eq(node->name, "sum");
    ck_assert_uint_eq(waits[0].input, 0);
    eddy_trace_path(trace, waits[0].frame, waits[0].iteration, path,
                    sizeof path);
    ck_assert_str_eq(path, "while[2]");
    /* Without room they are counted all the same. */
    ck_assert_uint_eq(eddy_trace_waiting(trace, NULL, 0), 1);
}
END_TEST

START_TEST(only_what_is_asked_is_recorded)
{
    static const char *const names[] = {"v*", "i_plus"};

    plan_loop(EDDY_OPTIMIZE_NONE);
    record((eddy_trace_options){.frame = "while",
                                .first_iteration = 3,
                                .last_iteration = 4,
                                .nodes = names,
                                .n_nodes = 2});
    run_loop(9, 1);
    /* v, v_s, v_out, v_next and i_plus, twice. */
    ck_assert_uint_eq(eddy_trace_records(trace), 10);
    for (size_t i = 0; i < 10; i++) {
        const eddy_trace_record *r = eddy_trace_record_at(trace, i);

        ck_assert(r->iteration == 3 || r->iteration == 4);
        ck_assert_ptr_null(eddy_trace_value_at(trace, i, 0));
    }
}
END_TEST

START_TEST(names_that_are_not_there_are_refused)
{
    static const char *const names[] = {"nobody"};
    eddy_trace_options how = {.size = sizeof how, .nodes = names, .n_nodes = 1};

    plan_loop(EDDY_OPTIMIZE_NONE);
    program_want(&p, eddy_trace_create(p.plan, &how, &trace, &p.err),
                 EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME);
    ck_assert_ptr_null(trace);
    how = (eddy_trace_options){.size = sizeof how, .frame = "for"};
    program_want(&p, eddy_trace_create(p.plan, &how, &trace, &p.err),
                 EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME);
}
END_TEST

START_TEST(a_recorder_of_another_plan_is_refused)
{
    eddy_plan *first;

    plan_loop(EDDY_OPTIMIZE_NONE);
    record((eddy_trace_options){.values = true});
    first = eddy_plan_retain(p.plan);
    program_plan(&p, "n x", "v_out");
    program_want(&p, eddy_run_create(p.plan, &p.run_options, &p.run, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    eddy_plan_release(first);
}
END_TEST

/* ---- the host's function, and the tape ---- */

START_TEST(hosts_get_records_through_a_callback)
{
    heard h = {0};

    plan_loop(EDDY_OPTIMIZE_EXACT);
    record((eddy_trace_options){
        .values = true, .max_records = 1, .record = hear, .user = &h});
    run_loop(6, 1);
    ck_assert_uint_eq(h.live, program_stats(&p).live_executions);
    ck_assert_uint_eq(eddy_trace_records(trace), 1);
}
END_TEST

/* The last record that can be read is the one that the host hears of. */
static void look(void *user, const eddy_trace *from, const eddy_trace_record *r,
                 const eddy_trace_value *values)
{
    const size_t n = eddy_trace_records(from);

    (void)user;
    (void)values;
    ck_assert_uint_eq(eddy_trace_record_at(from, n - 1)->number, r->number);
    ck_assert_uint_eq(eddy_trace_record_at(from, 0)->number, r->number + 1 - n);
}

START_TEST(hosts_may_read_what_there_is_so_far)
{
    plan_loop(EDDY_OPTIMIZE_EXACT);
    record((eddy_trace_options){
        .max_records = 7, .keep_last = true, .record = look});
    run_loop(150, 1);
    ck_assert_uint_eq(eddy_trace_records(trace), 7);
}
END_TEST

START_TEST(pushes_meet_their_pops)
{
    program_build(&p, "size int32=-1\n"
                      "stack StackV2 size elem_type=float32\n"
                      "a float32=1\n"
                      "b float32=2\n"
                      "push_a StackPushV2 stack a\n"
                      "push_b StackPushV2 stack b ^push_a\n"
                      "pop_b StackPopV2 stack elem_type=float32 ^push_b\n"
                      "pop_a StackPopV2 stack elem_type=float32 ^pop_b\n");
    p.plan_options.optimize = EDDY_OPTIMIZE_NONE;
    program_plan(&p, NULL, "pop_a pop_b");
    record((eddy_trace_options){.values = true});
    program_run(&p);
    program_want_ok(&p, eddy_trace_index(trace, &p.err));
    ck_assert_uint_eq(eddy_trace_pairs(trace), 2);
    ck_assert_str_eq(name_of(eddy_trace_pair_at(trace, 0)->push), "push_a");
    ck_assert_str_eq(name_of(eddy_trace_pair_at(trace, 0)->pop), "pop_a");
    ck_assert_str_eq(name_of(eddy_trace_pair_at(trace, 1)->push), "push_b");
    ck_assert_str_eq(name_of(eddy_trace_pair_at(trace, 1)->pop), "pop_b");
}
END_TEST

/* ---- the same with workers and without memory ---- */

START_TEST(workers_run_the_same_tokens)
{
    uint64_t hashes[2] = {0, 0};

    for (int i = 0; i < 2; i++) {
        drop();
        program_deinit(&p);
        program_init(&p, i == 0 ? 0 : 2);
        program_build(&p, "x ?float32[9]\n"
                          "big float32[40000]=0.5\n"
                          "y Mul big big\n"
                          "z AddV2 y big\n"
                          "w Sub y big\n"
                          "s AddV2 z w\n");
        p.plan_options.optimize = EDDY_OPTIMIZE_NONE;
        program_plan(&p, NULL, "s");
        record((eddy_trace_options){.values = true});
        program_run(&p);
        program_want_ok(&p, eddy_trace_index(trace, &p.err));
        want_counts();
        for (size_t k = 0; k < eddy_trace_records(trace); k++)
            hashes[i] ^= eddy_trace_value_at(trace, k, 0)->hash *
                         (eddy_trace_record_at(trace, k)->node + 1);
    }
    ck_assert_uint_eq(hashes[0], hashes[1]);
}
END_TEST

/* Recording drops what there is no memory for; making and asking fail. */
START_TEST(every_allocation_may_fail)
{
    const eddy_trace_options how = {.size = sizeof how, .values = true};
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;
    size_t n_failed = 0;

    plan_loop(EDDY_OPTIMIZE_NONE);
    for (long long n = 0; status != EDDY_OK; n++, n_failed++) {
        counting_allocator_fail(&p.counting, n);
        status = eddy_trace_create(p.plan, &how, &trace, &p.err);
    }
    ck_assert_uint_gt(n_failed, 4);
    p.run_options.recorder = trace;
    counting_allocator_fail(&p.counting, -1);
    run_loop(3, 1);
    for (long long n = 0; n < 40; n++) {
        counting_allocator_fail(&p.counting, n);
        status = program_execute(&p);
        ck_assert(status == EDDY_OK || status == EDDY_RESOURCE_EXHAUSTED);
        status = eddy_trace_index(trace, &p.err);
        ck_assert(status == EDDY_OK || status == EDDY_RESOURCE_EXHAUSTED);
    }
    counting_allocator_fail(&p.counting, -1);
    run_loop(3, 1);
    want_counts();
}
END_TEST

static bool take(void *user, const char *text, size_t length)
{
    size_t *total = user;

    (void)text;
    *total += length;
    return *total < 50000;
}

START_TEST(a_writer_may_stop)
{
    size_t total = 0;

    plan_loop(EDDY_OPTIMIZE_NONE);
    record((eddy_trace_options){.values = true});
    run_loop(50, 1);
    for (int format = EDDY_TRACE_JSON; format <= EDDY_TRACE_PERFETTO;
         format++) {
        total = 0;
        program_want(&p,
                     eddy_trace_write(trace, (eddy_trace_format)format, take,
                                      &total, &p.err),
                     EDDY_CANCELLED, EDDY_E_CANCELLED);
        ck_assert_uint_ge(total, 50000);
    }
}
END_TEST

/* ---- progress ---- */

static void see(eddy_run *run, const eddy_progress *now, void *user)
{
    eddy_progress *last = user;

    ck_assert_ptr_eq(run, p.run);
    ck_assert_uint_ge(now->iterations, last->iterations);
    *last = *now;
    last->frame = strncmp(now->frame, "while[", 6) == 0 ? "while" : "";
}

/* _i is the executor. */
START_TEST(progress_is_told)
{
    eddy_progress last = {.iterations = 0};

    p.plan_options.executor =
        _i == 0 ? EDDY_EXECUTOR_DYNAMIC : EDDY_EXECUTOR_LINEAR;
    p.run_options.progress = see;
    p.run_options.progress_user = &last;
    program_build(&p, LOOP);
    program_plan(&p, "n x", "i_out");
    record((eddy_trace_options){.max_records = 1});
    p.run_options.recorder = NULL;
    run_loop(200000, 1);
    ck_assert_uint_gt(last.iterations, 1000);
    ck_assert_uint_gt(last.elapsed_ns, 0);
    ck_assert_uint_gt(last.bytes, 0);
    ck_assert_str_eq(last.frame, "while");
}
END_TEST

TCase *recorder_tests_by(const char *name, bool is_linear)
{
    TCase *tc = tcase_create(name);

    tcase_add_checked_fixture(tc, is_linear ? setup_linear : setup, teardown);
    tcase_add_loop_test(tc, counts_are_those_of_the_run, 0, 2);
    tcase_add_test(tc, records_say_where_and_what);
    tcase_add_test(tc, producers_are_found);
    tcase_add_test(tc, a_dead_node_has_its_switch);
    tcase_add_test(tc, an_infinity_has_its_origin);
    tcase_add_test(tc, numerics_are_checked_without_changing_the_graph);
    tcase_add_test(tc, a_ring_keeps_the_last);
    tcase_add_test(tc, plain_tokens_are_those_that_hosts_hear_of);
    tcase_add_test(tc, hosts_hear_what_is_kept);
    tcase_add_test(tc, tensors_that_are_handed_on_have_their_values);
    tcase_add_test(tc, a_switch_of_many_outputs_says_which);
    tcase_add_test(tc, memory_in_use_is_what_was_allocated);
    tcase_add_test(tc, large_values_are_summed_as_small_ones);
    tcase_add_test(tc, times_are_those_of_the_clock);
    tcase_add_test(tc, lists_have_the_sum_of_their_elements);
    tcase_add_loop_test(tc, a_stuck_run_says_what_it_waits_for, 0, 2);
    tcase_add_test(tc, only_what_is_asked_is_recorded);
    tcase_add_test(tc, names_that_are_not_there_are_refused);
    tcase_add_test(tc, a_recorder_of_another_plan_is_refused);
    tcase_add_test(tc, hosts_get_records_through_a_callback);
    tcase_add_test(tc, hosts_may_read_what_there_is_so_far);
    tcase_add_test(tc, pushes_meet_their_pops);
    tcase_add_test(tc, workers_run_the_same_tokens);
    tcase_add_test(tc, every_allocation_may_fail);
    tcase_add_test(tc, a_writer_may_stop);
    tcase_add_loop_test(tc, progress_is_told, 0, 2);
    return tc;
}

TCase *recorder_tests(void)
{
    return recorder_tests_by("recorder", false);
}
