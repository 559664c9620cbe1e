/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of each step's row made of all rows at once, before the loop: which
 * are, that results are those of level none to the bit, what is done without
 * memory, and that reading a row fails as before.
 */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

enum { STEPS = 5, MOST_ROWS = 16, DEEP = 24, WIDE = 64 };

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

/* x has five matrices; the loop makes `trips`, and `step` adds r to the state.
 */
#define LOOP(rows, trips, before, step)                                        \
    "n int32=" trips "\nz int32=0\none int32=1\nx ?float32[5," rows ",24]\n"   \
    "w ?float32[24,64]\ns float32[" rows ",64]=0.5\n" before                   \
    "en Enter@f! n\neo Enter@f! one\new Enter@f! w\nei Enter@f z\n"            \
    "es Enter@f s\nmi Merge ei ni\nms Merge es ns\nless Less mi en\n"          \
    "cond LoopCond less\nsi Switch mi cond\nss Switch ms cond\n"               \
    "i AddV2 si:1 eo\nni NextIteration i\n" step                               \
    "a AddV2 ss:1 r\nth Tanh a\nns NextIteration th\nxs Exit ss:0"

#define ARRAY                                                                  \
    "c int32=5\nt TensorArrayV3 c dtype=float32\n"                             \
    "k int32[5]=0,1,2,3,4\nfl TensorArrayScatterV3 t k x t:1\n"                \
    "et Enter@f! t\nef Enter@f! fl\n"
#define READ "q TensorArrayReadV3 et si:1 ef dtype=float32\n"
#define PRODUCT "r MatMul q ew\n"

/* What must be done ahead, and what is left as it is. */
static const struct row {
    const char *text;
    int64_t rows;
    bool is_turned; /* the weights */
    int n_more;     /* nodes, by the pass: all products, and their Enter */
} rows[] = {
    {LOOP("4", "5", ARRAY, READ PRODUCT), 4, false, 2},
    {LOOP("2", "5", ARRAY, READ "r BatchMatMulV2 q ew\n"), 2, false, 2},
    {LOOP("7", "5", ARRAY, READ "r MatMul q ew transpose_b=true\n"), 7, true,
     2},
    /* A range in place of a constant. */
    {LOOP("4", "5",
          "c int32=5\nt TensorArrayV3 c dtype=float32\nk Range z c one\n"
          "fl TensorArrayScatterV3 t k x t:1\net Enter@f! t\nef Enter@f! fl\n",
          READ PRODUCT),
     4, false, 2},
    /* From the last row to the first. */
    {LOOP("4", "5", ARRAY "l int32=4\nel Enter@f! l\n",
          "o Sub el si:1\nq TensorArrayReadV3 et o ef dtype=float32\n" PRODUCT),
     4, false, 2},
    /* Two products of one row. */
    {LOOP("4", "5", ARRAY "w2 float32[24,64]=0.25,-3\n",
          READ "r1 MatMul q ew\nv Enter@f! w2\n"
               "r2 MatMul q v\nr AddV2 r1 r2\n"),
     4, false, 4},
    {LOOP("4", "5",
          "h int32[2]=4,24\n"
          "g TensorListFromTensor x h element_dtype=float32 "
          "shape_type=int32\neg Enter@f! g\n",
          "eh Enter@f! h\nq TensorListGetItem eg si:1 eh "
          "element_dtype=float32\n" PRODUCT),
     4, false, 2},
    {LOOP("4", "5", "d int32=0\nex Enter@f! x\n",
          "ed Enter@f! d\nq GatherV2 ex si:1 ed\n" PRODUCT),
     4, false, 2},
    /* Fewer trips than rows: the others would be multiplied in vain. */
    {LOOP("4", "4", ARRAY, READ PRODUCT), 4, false, 0},
    /* Enough rows, and few weights: nothing is won. */
    {LOOP("16", "5", ARRAY, READ PRODUCT), 16, false, 0},
    /* One row is a library's, which may add in another order. */
    {LOOP("1", "5", ARRAY, READ PRODUCT), 1, false, 0},
    /* Not the rows as they stand, or not in their order. */
    {LOOP("4", "5",
          "c int32=5\nt TensorArrayV3 c dtype=float32\nk int32[5]=1,0,2,3,4\n"
          "fl TensorArrayScatterV3 t k x t:1\net Enter@f! t\nef Enter@f! fl\n",
          READ PRODUCT),
     4, false, 0},
    {LOOP("4", "5", ARRAY, READ "q2 Neg q\nr MatMul q2 ew\n"), 4, false, 0},
    /* Only in some of the steps. */
    {LOOP("4", "5", ARRAY,
          READ "u int32=2 ^si\nless2 Less si:1 u\nsq Switch q less2\n"
               "r1 MatMul sq:1 ew\nsa Switch ss:1 less2\nr Merge r1 sa:0\n"),
     4, false, 0},
    /* The weights of a step are its own. */
    {LOOP("4", "5", ARRAY,
          READ "f Cast si:1 SrcT=int32 DstT=float32\nwf Mul ew f\n"
               "r MatMul q wf\n"),
     4, false, 0},
};

static void plan_loop(const char *text, eddy_optimize level, bool without)
{
    static const char *const name[] = {"ahead"};

    program_clear(&p);
    program_build(&p, text);
    p.plan_options.optimize = level;
    p.plan_options.without = name;
    p.plan_options.n_without = without;
    program_plan(&p, "x w", "xs");
}

static void feed(uint32_t i, const eddy_shape *shape)
{
    static float values[STEPS * MOST_ROWS * DEEP];
    eddy_tensor *fed;

    for (uint32_t k = 0; k < sizeof values / sizeof values[0]; k++)
        values[k] = (float)((k + i) * 2654435761U >> 8) / 0x1p24F - 0.5F;
    fed = program_tensor(&p, EDDY_FLOAT32, shape, values);
    program_want_ok(&p, eddy_run_feed(p.run, i, fed, &p.err));
    eddy_tensor_release(fed);
}

static void feed_all(const struct row *row)
{
    program_make_run(&p);
    feed(0, &(eddy_shape){.rank = 3, .dims = {STEPS, row->rows, DEEP}});
    feed(1, &(eddy_shape){.rank = 2,
                          .dims = {row->is_turned ? WIDE : DEEP,
                                   row->is_turned ? DEEP : WIDE}});
}

static eddy_tensor *run_loop(const struct row *row, eddy_optimize level,
                             bool without)
{
    plan_loop(row->text, level, without);
    feed_all(row);
    program_run(&p);
    return eddy_tensor_retain(eddy_run_fetch(p.run, 0));
}

static void want_same(eddy_tensor *got, const eddy_tensor *wanted)
{
    ck_assert_uint_eq(eddy_tensor_bytes(got), eddy_tensor_bytes(wanted));
    ck_assert_mem_eq(eddy_tensor_data(got), eddy_tensor_data(wanted),
                     eddy_tensor_bytes(got));
    eddy_tensor_release(got);
}

START_TEST(rows_are_multiplied_ahead_with_the_same_bits)
{
    static const eddy_plan_executor executors[] = {
        EDDY_EXECUTOR_DYNAMIC, EDDY_EXECUTOR_LINEAR, EDDY_EXECUTOR_AUTO};
    char turned[2048];
    struct row row = rows[_i];
    size_t n;

    snprintf(turned, sizeof turned, "%s", row.text);
    if (row.is_turned) {
        char *sizes = strstr(turned, "24,64]");

        for (size_t i = 0; i < 2; i++) {
            sizes[i] = "64"[i];
            sizes[i + 3] = "24"[i];
        }
    }
    row.text = turned;
    plan_loop(row.text, EDDY_OPTIMIZE_EXACT, true);
    n = eddy_plan_nodes(p.plan);
    plan_loop(row.text, EDDY_OPTIMIZE_EXACT, false);
    ck_assert_int_eq((int)eddy_plan_nodes(p.plan) - (int)n, row.n_more);
    for (size_t e = 0; e < 3; e++) {
        eddy_tensor *wanted;

        p.plan_options.executor = executors[e];
        wanted = run_loop(&row, EDDY_OPTIMIZE_NONE, false);
        want_same(run_loop(&row, EDDY_OPTIMIZE_EXACT, false), wanted);
        eddy_tensor_release(wanted);
    }
}
END_TEST

/* Many weights: done also where a step has rows enough.  They are constants. */
START_TEST(many_weights_are_read_once_for_many_steps)
{
    const struct row row = {
        "n int32=5\nz int32=0\none int32=1\nx ?float32[5,16,24]\n"
        "w ?float32[24,64]\nu float32[512,512]=0.01,-0.02,0.03\n"
        "v float32[24,512]=0.5,-0.25,1,2\ns float32[16,512]=0.5\n" ARRAY
        "en Enter@f! n\neo Enter@f! one\neu Enter@f! u\nev Enter@f! v\n"
        "ei Enter@f z\nes Enter@f s\nmi Merge ei ni\nms Merge es ns\n"
        "less Less mi en\ncond LoopCond less\nsi Switch mi cond\n"
        "ss Switch ms cond\ni AddV2 si:1 eo\nni NextIteration i\n" READ
        "r MatMul q ev\nh MatMul ss:1 eu\na AddV2 h r\nth Tanh a\n"
        "ns NextIteration th\nxs Exit ss:0",
        16, false, 2};
    eddy_tensor *wanted = run_loop(&row, EDDY_OPTIMIZE_NONE, false);
    size_t n;

    want_same(run_loop(&row, EDDY_OPTIMIZE_EXACT, true), wanted);
    n = eddy_plan_nodes(p.plan);
    want_same(run_loop(&row, EDDY_OPTIMIZE_EXACT, false), wanted);
    ck_assert_uint_eq(eddy_plan_nodes(p.plan), n + 2);
    eddy_tensor_release(wanted);
}
END_TEST

/* Many steps come in several blocks of rows, and panels that a loop has. */
START_TEST(many_steps_have_the_same_bits)
{
    const struct row row = {
        "n int32=90\nz int32=0\none int32=1\nx ?float32[5,16,24]\n"
        "w ?float32[24,64]\nb int32[3]=90,4,24\ng int32[1]=8640\n"
        "m int32[1]=9\nmm int32[1]=-1\nxf Reshape x mm\nxt Tile xf m\n"
        "o int32[1]=0\nxc Slice xt o g\nxr Reshape xc b\n"
        "s float32[4,64]=0.5\nc int32=90\n"
        "t TensorArrayV3 c dtype=float32\nk Range z c one\n"
        "fl TensorArrayScatterV3 t k xr t:1\net Enter@f! t\nef Enter@f! fl\n"
        "en Enter@f! n\neo Enter@f! one\new Enter@f! w\nei Enter@f z\n"
        "es Enter@f s\nmi Merge ei ni\nms Merge es ns\nless Less mi en\n"
        "cond LoopCond less\nsi Switch mi cond\nss Switch ms cond\n"
        "i AddV2 si:1 eo\nni NextIteration i\n" READ PRODUCT
        "a AddV2 ss:1 r\nth Tanh a\nns NextIteration th\nxs Exit ss:0",
        16, false, 0};
    eddy_tensor *wanted = run_loop(&row, EDDY_OPTIMIZE_NONE, false);
    size_t n;

    want_same(run_loop(&row, EDDY_OPTIMIZE_EXACT, true), wanted);
    n = eddy_plan_nodes(p.plan);
    want_same(run_loop(&row, EDDY_OPTIMIZE_EXACT, false), wanted);
    ck_assert_uint_eq(eddy_plan_nodes(p.plan), n + 2);
    eddy_tensor_release(wanted);
}
END_TEST

/* How many single failed allocations a run gets over, with the same result. */
static size_t count_survived(bool without, const eddy_tensor *wanted)
{
    size_t n = 0;

    for (long long i = 0;; i++) {
        eddy_status status;
        bool has_failed;

        plan_loop(rows[0].text, EDDY_OPTIMIZE_EXACT, without);
        feed_all(&rows[0]);
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

START_TEST(steps_multiply_if_there_is_no_memory)
{
    eddy_tensor *wanted = run_loop(&rows[0], EDDY_OPTIMIZE_NONE, false);

    ck_assert_uint_gt(count_survived(false, wanted),
                      count_survived(true, wanted));
    eddy_tensor_release(wanted);
}
END_TEST

/* A row that is not there is an error of the read, as without the pass. */
START_TEST(a_row_that_is_not_there_fails_as_before)
{
    const struct row row = {LOOP("4", "5", ARRAY "l int32=5\nel Enter@f! l\n",
                                 "o Sub el si:1\nq TensorArrayReadV3 et o ef "
                                 "dtype=float32\n" PRODUCT),
                            4, false, 2};
    eddy_error err[2];

    for (uint32_t without = 0; without < 2; without++) {
        plan_loop(row.text, EDDY_OPTIMIZE_EXACT, without);
        feed_all(&row);
        ck_assert_int_ne(program_execute(&p), EDDY_OK);
        err[without] = p.err;
    }
    ck_assert_str_eq(err[0].node, "q");
    ck_assert_str_eq(err[0].message, err[1].message);
    ck_assert_str_eq(err[0].frame, err[1].frame);
}
END_TEST

/* What is fed or fetched on the way. */
START_TEST(what_the_caller_feeds_stays)
{
    size_t n[2];

    for (uint32_t without = 0; without < 2; without++) {
        static const char *const name[] = {"ahead"};

        program_clear(&p);
        program_build(&p, rows[0].text);
        p.plan_options.without = name;
        p.plan_options.n_without = without;
        program_plan(&p, "x w fl", "xs");
        n[without] = eddy_plan_nodes(p.plan);
    }
    ck_assert_uint_eq(n[0], n[1]);
}
END_TEST

TCase *plan_ahead_tests(void)
{
    TCase *tc = tcase_create("plan_ahead");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, rows_are_multiplied_ahead_with_the_same_bits, 0,
                        sizeof rows / sizeof rows[0]);
    tcase_add_test(tc, many_weights_are_read_once_for_many_steps);
    tcase_add_test(tc, many_steps_have_the_same_bits);
    tcase_add_test(tc, steps_multiply_if_there_is_no_memory);
    tcase_add_test(tc, a_row_that_is_not_there_fails_as_before);
    tcase_add_test(tc, what_the_caller_feeds_stays);
    return tc;
}
