/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When machine code of a loop is made: how many iterations are left is found as
 * the loop itself counts, and code that takes long is made where these pay for
 * it, after patience where nobody knows, and at some time where each execution
 * is short.
 */
#include "runtime/plan/linear.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <stdarg.h>
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

static const eddy__linear *region(void)
{
    ck_assert_ptr_nonnull(p.plan->frames[1].linear);
    return p.plan->frames[1].linear;
}

static uint32_t n_compiled(void)
{
    eddy_native_stats stats = {.size = sizeof stats};

    eddy_plan_native_stats(p.plan, &stats);
    return stats.compiled;
}

/* ---- how many are left ---- */

typedef struct counting {
    const char *test, *step, *dtype;
    int first, limit, by;
    bool is_known;
} counting;

static const counting loops[] = {
    {"Less", "AddV2", "int32", 0, 10, 1, true},
    {"Less", "AddV2", "int64", 0, 10, 3, true},
    {"Less", "AddV2", "int32", 10, 10, 1, true},
    {"Less", "AddV2", "int32", 11, 10, 1, true},
    {"Less", "Sub", "int32", 0, 10, -4, true},
    {"LessEqual", "AddV2", "int32", 0, 10, 1, true},
    {"LessEqual", "AddV2", "int64", 0, 10, 3, true},
    {"LessEqual", "AddV2", "int64", 10, 10, 3, true},
    {"Greater", "Sub", "int32", 10, 0, 1, true},
    {"Greater", "Sub", "int64", 10, 0, 3, true},
    {"Greater", "AddV2", "int32", 10, 0, -3, true},
    {"GreaterEqual", "Sub", "int32", 10, 0, 1, true},
    {"GreaterEqual", "Sub", "int32", 0, 10, 1, true},
    {"GreaterEqual", "AddV2", "int64", 10, -1, -5, true},
    /* Not at all, or not by what can be told. */
    {"Less", "Mul", "int32", 1, 100, 3, false},
    {"NotEqual", "AddV2", "int32", 0, 10, 1, false},
    {"Less", "AddV2", "float32", 0, 10, 1, false},
};

#define N_LOOPS (sizeof loops / sizeof loops[0])

static void write_loop(char *text, size_t size, const counting *c)
{
    (void)snprintf(text, size,
                   "z %s=%d\nk %s=%d\nd %s=%d\ni/e Enter@w z\nk/w Enter@w! k\n"
                   "d/w Enter@w! d\ni Merge i/e i/n\nt %s i k/w\n"
                   "go LoopCond t\ni/s Switch i go\na %s i/s:1 d/w\n"
                   "i/n NextIteration a\nout Exit i/s\n",
                   c->dtype, c->first, c->dtype, c->limit, c->dtype, c->by,
                   c->test, c->step);
}

/* The values that its one variable begins with, and constants. */
static uint64_t left_at_first(const counting *c)
{
    const eddy__linear *linear = region();
    eddy__value registers[16];

    ck_assert_uint_le(linear->n_registers, 16);
    memcpy(registers, linear->start, linear->n_registers * sizeof registers[0]);
    if (linear->trips.is_known) {
        registers[linear->trips.counter].as.i64 = c->first;
        registers[linear->trips.limit].as.i64 = c->limit;
        registers[linear->trips.step].as.i64 = c->by;
    }
    return eddy__linear_trips_left(linear, registers);
}

START_TEST(what_is_left_is_what_the_loop_runs)
{
    const counting *c = &loops[_i];
    char text[512];
    uint64_t left;

    write_loop(text, sizeof text, c);
    program_build(&p, text);
    program_plan(&p, NULL, "out");
    left = left_at_first(c);
    program_run(&p);
    if (c->is_known) /* the last iteration is that of the test that fails */
        ck_assert_uint_eq(left, program_stats(&p).iterations - 1);
    else
        ck_assert_uint_eq(left, UINT64_MAX);
}
END_TEST

/* A loop that carries a whole tensor has its test at the head. */
START_TEST(what_is_left_is_known_beside_a_tensor)
{
    const counting *c = &loops[_i];
    char text[1024];
    size_t n;
    uint64_t left;

    write_loop(text, sizeof text, c);
    n = strlen(text);
    (void)snprintf(text + n, sizeof text - n,
                   "x float32[100]=1,-2\nx/e Enter@w x\nv Merge x/e v/n\n"
                   "v/s Switch v go\nv/t Tanh v/s:1\nv/n NextIteration v/t\n"
                   "x/out Exit v/s\n");
    program_build(&p, text);
    program_plan(&p, NULL, "out x/out");
    for (uint32_t i = 0; i < region()->n_code; i++)
        ck_assert(!eddy__linear_is_back_if(region()->code[i].op));
    left = left_at_first(c);
    program_run(&p);
    if (c->is_known)
        ck_assert_uint_eq(left, program_stats(&p).iterations - 1);
    else
        ck_assert_uint_eq(left, UINT64_MAX);
}
END_TEST

/* At the ends of what there is, and the wrong way round. */
START_TEST(what_is_left_has_no_overflow)
{
    static const struct {
        int64_t first, limit, by;
        uint64_t left;
    } rows[] = {
        {INT64_MIN, INT64_MAX, 1, UINT64_MAX},
        {INT64_MIN, INT64_MAX, INT64_MAX, 3},
        {0, INT64_MAX, 1, INT64_MAX},
        {INT64_MAX, INT64_MIN, 1, 0},
        {0, 10, 0, UINT64_MAX},
        {0, 10, -1, UINT64_MAX},
        {0, 10, INT64_MIN, UINT64_MAX},
    };
    const eddy__linear linear = {
        .trips = {.counter = 0, .limit = 1, .step = 2, .is_known = true}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const eddy__value registers[] = {
            {.kind = EDDY__SCALAR,
             .dtype = EDDY_INT64,
             .as.i64 = rows[i].first},
            {.kind = EDDY__SCALAR,
             .dtype = EDDY_INT64,
             .as.i64 = rows[i].limit},
            {.kind = EDDY__SCALAR, .dtype = EDDY_INT64, .as.i64 = rows[i].by}};

        ck_assert_uint_eq(eddy__linear_trips_left(&linear, registers),
                          rows[i].left);
    }
}
END_TEST

/* ---- what pays ---- */

typedef struct writer {
    char text[32768];
    size_t n;
} writer;

static void put(writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(writer *w, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(w->text + w->n, sizeof w->text - w->n, format, args);
    va_end(args);
    ck_assert(n >= 0 && (size_t)n < sizeof w->text - w->n);
    w->n += (size_t)n;
}

/* `n_ops` operations an iteration, and `n` iterations, by that test. */
static void plan_long(uint32_t n_ops, const char *test)
{
    static writer w;

    w.n = 0;
    put(&w,
        "n ?int64\nz int64=0\none int64=1\nx float32=1\nh float32=0.5\n"
        "n/w Enter@w! n\none/w Enter@w! one\nh/w Enter@w! h\n"
        "i/e Enter@w z\nx/e Enter@w x\ni Merge i/e i/n\nv Merge x/e v/n\n"
        "t %s i n/w\ngo LoopCond t\ni/s Switch i go\nv/s Switch v go\n"
        "a AddV2 i/s:1 one/w\ni/n NextIteration a\nb0 Mul v/s:1 h/w\n",
        test);
    for (uint32_t i = 1; i < n_ops; i++)
        put(&w, "b%u %s b%u v/s:1\n", i, i % 2 ? "AddV2" : "Mul", i - 1);
    put(&w, "v/n NextIteration b%u\nout Exit v/s\nlast Exit i/s\n", n_ops - 1);
    program_build(&p, w.text);
    program_plan(&p, "n", "out last");
}

static void run_trips(int64_t n)
{
    program_make_run(&p);
    program_feed_int(&p, 0, n);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 1), n);
}

START_TEST(short_code_is_made_at_once_when_a_loop_is_warm)
{
    plan_long(4, "Less");
    ck_assert_uint_eq(region()->tier->patience, 0);
    run_trips(1000);
    ck_assert_uint_eq(n_compiled(), 0);
    run_trips(1000);
    ck_assert_uint_eq(n_compiled(), eddy_native_machine() != NULL);
}
END_TEST

/* What is left at 1,024 is worth it, or it is not. */
START_TEST(long_code_is_made_where_the_rest_pays)
{
    plan_long(400, "Less");
    ck_assert_uint_ge(region()->tier->patience, 1024);
    run_trips(1060);
    ck_assert_uint_eq(n_compiled(), 0);
    run_trips(20000);
    ck_assert_uint_eq(n_compiled(), eddy_native_machine() != NULL);
}
END_TEST

/* Ten iterations never pay by themselves; many times ten do. */
START_TEST(long_code_is_made_for_many_short_executions)
{
    uint64_t n;

    plan_long(400, "Less");
    n = 4 * region()->tier->patience;
    for (uint64_t i = 0; i * 10 < n; i++) {
        run_trips(10);
        ck_assert(i > 100 || n_compiled() == 0);
    }
    run_trips(10);
    ck_assert_uint_eq(n_compiled(), eddy_native_machine() != NULL);
}
END_TEST

/* Who knows when: as soon as interpreting has taken several times as long. */
START_TEST(long_code_waits_where_nobody_knows_what_is_left)
{
    plan_long(400, "NotEqual");
    ck_assert_uint_ge(region()->tier->patience, 1024);
    region()->tier->patience = 5000;
    run_trips(4900);
    ck_assert_uint_eq(n_compiled(), 0);
    run_trips(2000);
    ck_assert_uint_eq(n_compiled(), eddy_native_machine() != NULL);
}
END_TEST

TCase *native_worth_tests(void)
{
    TCase *tc = tcase_create("native_worth");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, what_is_left_is_what_the_loop_runs, 0,
                        (int)N_LOOPS);
    tcase_add_loop_test(tc, what_is_left_is_known_beside_a_tensor, 0,
                        (int)N_LOOPS);
    tcase_add_test(tc, what_is_left_has_no_overflow);
    tcase_add_test(tc, short_code_is_made_at_once_when_a_loop_is_warm);
    tcase_add_test(tc, long_code_is_made_where_the_rest_pays);
    tcase_add_test(tc, long_code_is_made_for_many_short_executions);
    tcase_add_test(tc, long_code_waits_where_nobody_knows_what_is_left);
    return tc;
}
