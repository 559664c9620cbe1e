/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights that a loop is entered with come in panels: which do, that results
 * are those of level none to the bit, and what is done without memory.
 */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 16, SIDE = 64 };

static program p;

static void setup(void)
{
    program_init(&p, 0);
    p.plan_options.optimize = EDDY_OPTIMIZE_EXACT;
}

static void teardown(void)
{
    program_deinit(&p);
}

/* s = s + product(x + i, w), three times. */
#define LOOP(s, product)                                                       \
    "n int64=3\nz int64=0\none int64=1\nx ?float32[?,64]\nw ?float32[64,64]\n" \
    "s float32[" s "]=0.5\nen Enter@f! n\neo Enter@f! one\n"                   \
    "ew Enter@f! w\nex Enter@f! x\nei Enter@f z\nes Enter@f s\n"               \
    "mi Merge ei ni\nms Merge es ns\nless Less mi en\ncond LoopCond less\n"    \
    "si Switch mi cond\nss Switch ms cond\ni AddV2 si:1 eo\n"                  \
    "ni NextIteration i\nf Cast si:1 SrcT=int64 DstT=float32\n"                \
    "xf AddV2 ex f\n" product "\na AddV2 ss:1 q\nns NextIteration a\n"         \
    "xs Exit ss:0"

static const struct row {
    const char *text;
    int n_more; /* nodes that the pass adds: panels, and their Enter */
} rows[] = {
    {LOOP("16,64", "q MatMul xf ew"), 2},
    {LOOP("16,64", "q MatMul xf ew transpose_b=true"), 2},
    {LOOP("16,64", "q BatchMatMulV2 xf ew adj_y=true"), 2},
    /* Two products by the same panels. */
    {LOOP("16,64", "r MatMul xf ew\nq MatMul r ew"), 2},
    {LOOP("16,64", "r MatMul xf ew transpose_b=true\nq MatMul r ew"), 4},
    /* The second factor is another one in each iteration. */
    {LOOP("16,64", "v Mul ew f\nq MatMul xf v"), 0},
    /* Small square matrices are the libraries'. */
    {LOOP("64,64", "v AddV2 ew f\nq MatMul v ew"), 0},
};

static void fill(float *values, size_t n, uint32_t seed)
{
    for (uint32_t i = 0; i < n; i++)
        values[i] = (float)((i + seed) * 2654435761U >> 8) / 0x1p24F - 0.5F;
}

/* Plans with or without the pass, or at level none. */
static void plan_loop(const char *text, eddy_optimize level, bool without)
{
    static const char *const name[] = {"panels"};

    program_clear(&p);
    program_build(&p, text);
    p.plan_options.optimize = level;
    p.plan_options.without = name;
    p.plan_options.n_without = without;
    program_plan(&p, "x w", "xs");
}

static void feed(void)
{
    static float x[ROWS * SIDE], w[SIDE * SIDE];
    const eddy_shape of_x = {.rank = 2, .dims = {ROWS, SIDE}};
    const eddy_shape of_w = {.rank = 2, .dims = {SIDE, SIDE}};
    eddy_tensor *fed;

    fill(x, sizeof x / sizeof x[0], 1);
    fill(w, sizeof w / sizeof w[0], 9);
    program_make_run(&p);
    fed = program_tensor(&p, EDDY_FLOAT32, &of_x, x);
    program_want_ok(&p, eddy_run_feed(p.run, 0, fed, &p.err));
    eddy_tensor_release(fed);
    fed = program_tensor(&p, EDDY_FLOAT32, &of_w, w);
    program_want_ok(&p, eddy_run_feed(p.run, 1, fed, &p.err));
    eddy_tensor_release(fed);
}

static eddy_tensor *run_loop(const char *text, eddy_optimize level,
                             bool without)
{
    plan_loop(text, level, without);
    feed();
    program_run(&p);
    return eddy_tensor_retain(eddy_run_fetch(p.run, 0));
}

static void want_same(eddy_tensor *got, eddy_tensor *wanted)
{
    ck_assert_uint_eq(eddy_tensor_bytes(got), eddy_tensor_bytes(wanted));
    ck_assert_mem_eq(eddy_tensor_data(got), eddy_tensor_data(wanted),
                     eddy_tensor_bytes(got));
    eddy_tensor_release(got);
}

START_TEST(weights_are_in_panels_with_the_same_bits)
{
    static const eddy_plan_executor executors[] = {
        EDDY_EXECUTOR_DYNAMIC, EDDY_EXECUTOR_LINEAR, EDDY_EXECUTOR_AUTO};
    const struct row *row = &rows[_i];
    size_t n;

    plan_loop(row->text, EDDY_OPTIMIZE_EXACT, true);
    n = eddy_plan_nodes(p.plan);
    plan_loop(row->text, EDDY_OPTIMIZE_EXACT, false);
    ck_assert_int_eq((int)eddy_plan_nodes(p.plan) - (int)n, row->n_more);
    for (size_t e = 0; e < 3; e++) {
        eddy_tensor *wanted;

        p.plan_options.executor = executors[e];
        wanted = run_loop(row->text, EDDY_OPTIMIZE_NONE, false);
        want_same(run_loop(row->text, EDDY_OPTIMIZE_EXACT, false), wanted);
        /* Without panels level full adds in another order. */
        if (row->n_more > 0)
            want_same(run_loop(row->text, EDDY_OPTIMIZE_FULL, false), wanted);
        eddy_tensor_release(wanted);
    }
}
END_TEST

/* Out of both loops: the panels are made once. */
START_TEST(panels_leave_two_loops)
{
    const char *text =
        "n int64=3\nz int64=0\none int64=1\nx ?float32[?,64]\n"
        "w ?float32[64,64]\ns float32[16,64]=0\n"
        "en Enter@f! n\neo Enter@f! one\new Enter@f! w\nex Enter@f! x\n"
        "ei Enter@f z\nes Enter@f s\nmi Merge ei ni\nms Merge es ns\n"
        "less Less mi en\ncond LoopCond less\nsi Switch mi cond\n"
        "ss Switch ms cond\ni AddV2 si:1 eo\nni NextIteration i\n"
        "gn Enter@g! en\ngo Enter@g! eo\ngw Enter@g! ew\ngx Enter@g! ex\n"
        "gi Enter@g si:1\ngs Enter@g ss:1\nki Merge gi li\nks Merge gs ls\n"
        "gl Less ki gn\ngc LoopCond gl\nti Switch ki gc\nts Switch ks gc\n"
        "j AddV2 ti:1 go\nli NextIteration j\nq MatMul gx gw ^ti\n"
        "a AddV2 ts:1 q\nls NextIteration a\ngf Exit ts:0\n"
        "ns NextIteration gf\nxs Exit ss:0";
    eddy_tensor *wanted = run_loop(text, EDDY_OPTIMIZE_NONE, false);
    uint64_t live;

    want_same(run_loop(text, EDDY_OPTIMIZE_EXACT, true), wanted);
    live = program_stats(&p).live_executions;
    want_same(run_loop(text, EDDY_OPTIMIZE_EXACT, false), wanted);
    /*
     * Panels once, their Enter into the outer loop, and one into the inner loop
     * in each iteration, of which the last only tests.
     */
    ck_assert_uint_eq(program_stats(&p).live_executions, live + 6);
    eddy_tensor_release(wanted);
}
END_TEST

/* How many single failed allocations a run gets over, with the same result. */
static size_t count_survived(bool without, eddy_tensor *wanted)
{
    size_t n = 0;

    for (long long i = 0;; i++) {
        eddy_status status;
        bool has_failed;

        plan_loop(rows[0].text, EDDY_OPTIMIZE_EXACT, without);
        feed();
        counting_allocator_fail(&p.counting, i);
        status = program_execute(&p);
        has_failed = atomic_load(&p.counting.failing) < 0;
        counting_allocator_fail(&p.counting, -1);
        if (!has_failed)
            return n;
        if (status == EDDY_OK)
            want_same(eddy_tensor_retain(eddy_run_fetch(p.run, 0)), wanted);
        else
            ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
        n += status == EDDY_OK;
    }
}

START_TEST(products_go_without_if_there_is_no_memory)
{
    eddy_tensor *wanted;

    p.plan_options.executor = EDDY_EXECUTOR_DYNAMIC;
    wanted = run_loop(rows[0].text, EDDY_OPTIMIZE_NONE, false);
    ck_assert_uint_gt(count_survived(false, wanted),
                      count_survived(true, wanted));
    eddy_tensor_release(wanted);
}
END_TEST

/* A sum over the rows of a batch goes on in place at level exact too. */
START_TEST(short_sums_are_added_with_the_same_bits)
{
    static const struct {
        const char *text;
        int n_fewer;
    } sums[] = {
        {LOOP("64,64", "y Reshape xf eshape\nq MatMul y y transpose_a=true"),
         1},
        {LOOP("64,64", "q MatMul ew ew"), 0},
        {LOOP("64,64", "q MatMul xf xf transpose_a=true"), 0},
    };
    static const char *const fuse[] = {"fuse", "panels", "invariants"};

    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        char text[1024] = "";
        eddy_tensor *wanted;
        size_t n;

        (void)snprintf(text, sizeof text,
                       "shape int32[2]=16,64\neshape Enter@f! shape\n%s",
                       sums[i].text);
        program_clear(&p);
        program_build(&p, text);
        p.plan_options.optimize = EDDY_OPTIMIZE_EXACT;
        p.plan_options.without = fuse;
        p.plan_options.n_without = 3;
        program_plan(&p, "x w", "xs");
        n = eddy_plan_nodes(p.plan);
        p.plan_options.without = fuse + 1;
        p.plan_options.n_without = 2;
        program_plan(&p, "x w", "xs");
        ck_assert_int_eq((int)n - (int)eddy_plan_nodes(p.plan),
                         sums[i].n_fewer);
        wanted = run_loop(text, EDDY_OPTIMIZE_NONE, false);
        want_same(run_loop(text, EDDY_OPTIMIZE_EXACT, false), wanted);
        eddy_tensor_release(wanted);
    }
}
END_TEST

/* A plan that runs out of memory half-way leaves nothing behind. */
START_TEST(a_failed_allocation_leaves_nothing)
{
    program_build(&p, rows[0].text);
    for (long long i = 0;; i += 3) {
        eddy_status status;

        counting_allocator_fail(&p.counting, i);
        status = program_try_plan(&p, "x w", "xs");
        counting_allocator_fail(&p.counting, -1);
        if (status == EDDY_OK)
            break;
        ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
    }
}
END_TEST

TCase *plan_panels_tests(void)
{
    TCase *tc = tcase_create("plan_panels");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, weights_are_in_panels_with_the_same_bits, 0,
                        sizeof rows / sizeof rows[0]);
    tcase_add_test(tc, panels_leave_two_loops);
    tcase_add_test(tc, products_go_without_if_there_is_no_memory);
    tcase_add_test(tc, short_sums_are_added_with_the_same_bits);
    tcase_add_test(tc, a_failed_allocation_leaves_nothing);
    return tc;
}
