/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with what is around them as one node: which are, that results and
 * counts are those without the pass, and what is done without memory.
 */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <string.h>

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

/*
 * A cell of 64 units on 24 inputs, three times: `gates` makes y of ex, the
 * state ss:1, the weights ew and the bias eb.
 */
#define CELL(rows, w, gates)                                                   \
    "n int64=3\nz int64=0\none int64=1\nx ?float32[" rows ",24]\n"             \
    "w ?float32[" w "]\nb ?float32[256]\ns float32[" rows ",64]=0.5\n"         \
    "en Enter@f! n\neo Enter@f! one\new Enter@f! w\nex Enter@f! x\n"           \
    "eb Enter@f! b\nei Enter@f z\nes Enter@f s\nmi Merge ei ni\n"              \
    "ms Merge es ns\nless Less mi en\ncond LoopCond less\n"                    \
    "si Switch mi cond\nss Switch ms cond\nt AddV2 si:1 eo\n"                  \
    "ni NextIteration t\nd0 int32=0 ^t\nd1 int32=1 ^t\nd_1 int64=-1 ^t\n"      \
    "xh AddV2 ex ex\n" gates                                                   \
    "\nsp Split d1 y num_split=4\nu Mul sp:1 sp\nv Mul sp:2 sp:3\n"            \
    "h AddV2 u v\nth Tanh h\nns NextIteration th\nxs Exit ss:0"

#define JOIN "c ConcatV2 xh ss:1 d1\n"

static const struct row {
    const char *text;
    int64_t rows;
    bool is_turned; /* the weights */
    int n_fewer;    /* nodes, by the pass */
} rows[] = {
    {CELL("16", "88,256", JOIN "q MatMul c ew\ny AddV2 q eb"), 16, false, 3},
    {CELL("16", "88,256",
          "c ConcatV2 xh ss:1 d_1\nq MatMul c ew\ny BiasAdd q eb"),
     16, false, 3},
    {CELL("9", "256,88", JOIN "q MatMul c ew transpose_b=true\ny AddV2 eb q"),
     9, true, 3},
    /* Few rows read weights where they stand; one row is a library's. */
    {CELL("3", "88,256", "ev AddV2 ew ew\n" JOIN "q MatMul c ev\ny AddV2 q eb"),
     3, false, 3},
    {CELL("1", "88,256", JOIN "q MatMul c ew\ny AddV2 q eb"), 1, false, 0},
    /* Without a bias; what others read too stays. */
    {CELL("16", "88,256", JOIN "y MatMul c ew"), 16, false, 2},
    {CELL("16", "88,256",
          JOIN "q MatMul c ew\nr MatMul c ew\ns2 AddV2 q eb\ny AddV2 s2 r"),
     16, false, 0},
    {CELL("16", "88,256", JOIN "q MatMul c ew\nr AddV2 q eb\ny AddV2 r q"), 16,
     false, 1},
    /* Rows below each other are another matrix. */
    {CELL("16", "24,256",
          "c ConcatV2 xh xh d0\nq MatMul c ew\nk Split d0 q num_split=2\n"
          "y AddV2 k k:1"),
     16, false, 0},
    {CELL("16", "64,256", "q MatMul ss:1 ew\ny AddV2 q eb"), 16, false, 2},
};

static void plan_cell(const char *text, eddy_optimize level, bool without)
{
    static const char *const name[] = {"gates"};

    program_clear(&p);
    program_build(&p, text);
    p.plan_options.optimize = level;
    p.plan_options.without = name;
    p.plan_options.n_without = without;
    program_plan(&p, "x w b", "xs");
}

static void feed(uint32_t i, eddy_shape shape)
{
    static float values[88 * 256];
    eddy_tensor *fed;

    for (uint32_t k = 0; k < sizeof values / sizeof values[0]; k++)
        values[k] = (float)((k + i) * 2654435761U >> 8) / 0x1p26F - 0.125F;
    fed = program_tensor(&p, EDDY_FLOAT32, &shape, values);
    program_want_ok(&p, eddy_run_feed(p.run, i, fed, &p.err));
    eddy_tensor_release(fed);
}

static void feed_all(const struct row *row)
{
    const int64_t k = strstr(row->text, "w ?float32[24")   ? 24
                      : strstr(row->text, "w ?float32[64") ? 64
                                                           : 88;

    program_make_run(&p);
    feed(0, (eddy_shape){.rank = 2, .dims = {row->rows, 24}});
    feed(1, (eddy_shape){
                .rank = 2,
                .dims = {row->is_turned ? 256 : k, row->is_turned ? k : 256}});
    feed(2, (eddy_shape){.rank = 1, .dims = {256}});
}

static eddy_tensor *run_cell(const struct row *row, eddy_optimize level,
                             bool without)
{
    plan_cell(row->text, level, without);
    feed_all(row);
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

START_TEST(a_cell_has_the_same_bits)
{
    static const eddy_plan_executor executors[] = {
        EDDY_EXECUTOR_DYNAMIC, EDDY_EXECUTOR_LINEAR, EDDY_EXECUTOR_AUTO};
    const struct row *row = &rows[_i];
    size_t n;

    plan_cell(row->text, EDDY_OPTIMIZE_EXACT, true);
    n = eddy_plan_nodes(p.plan);
    plan_cell(row->text, EDDY_OPTIMIZE_EXACT, false);
    ck_assert_int_eq((int)n - (int)eddy_plan_nodes(p.plan), row->n_fewer);
    for (size_t e = 0; e < 3; e++) {
        eddy_tensor *wanted;
        eddy_stats before;

        p.plan_options.executor = executors[e];
        wanted = run_cell(row, EDDY_OPTIMIZE_NONE, false);
        want_same(run_cell(row, EDDY_OPTIMIZE_EXACT, true), wanted);
        before = program_stats(&p);
        want_same(run_cell(row, EDDY_OPTIMIZE_EXACT, false), wanted);
        ck_assert_uint_eq(program_stats(&p).live_executions,
                          before.live_executions);
        ck_assert_uint_eq(program_stats(&p).dead_executions,
                          before.dead_executions);
        eddy_tensor_release(wanted);
    }
}
END_TEST

/* Constant weights are in panels of the plan's own. */
START_TEST(constant_weights_give_the_same_bits)
{
    const char *text =
        "x ?float32[16,24]\nh ?float32[16,64]\nw float32[88,256]=0.25,-1.5,3\n"
        "b float32[256]=1,2,3,4,5\nd int32=1\nc ConcatV2 x h d\n"
        "q MatMul c w\ny AddV2 q b\nsp Split d y num_split=4\n"
        "u Mul sp:1 sp\nv Mul sp:2 sp:3\nxs AddV2 u v";
    eddy_tensor *got[2];

    for (int i = 0; i < 2; i++) {
        program_clear(&p);
        program_build(&p, text);
        p.plan_options.optimize = i ? EDDY_OPTIMIZE_EXACT : EDDY_OPTIMIZE_NONE;
        program_plan(&p, "x h", "xs");
        program_make_run(&p);
        feed(0, (eddy_shape){.rank = 2, .dims = {16, 24}});
        feed(1, (eddy_shape){.rank = 2, .dims = {16, 64}});
        program_run(&p);
        got[i] = eddy_tensor_retain(eddy_run_fetch(p.run, 0));
    }
    want_same(got[1], got[0]);
    eddy_tensor_release(got[0]);
}
END_TEST

/* What is fetched or fed on the way is not joined. */
START_TEST(what_the_caller_sees_stays)
{
    const char *text = "x ?float32[16,24]\nh ?float32[16,64]\n"
                       "w ?float32[88,256]\nb float32[256]=1\nd int32=1\n"
                       "c ConcatV2 x h d\nq MatMul c w\ny AddV2 q b\n"
                       "sp Split d y num_split=4\nxs AddV2 sp sp:1";
    /* Nodes without what is fed: b, the axis if it is read, and so on. */
    static const struct {
        const char *feeds, *fetches;
        size_t n;
    } cases[] = {
        {"x h w", "xs", 3},      /* all in one */
        {"x h w", "xs sp:2", 3}, /* the last one may be seen */
        {"x h w", "xs q", 6},    /* c and q; y, sp and its axis */
        {"x h w", "xs c", 5},    /* c and its axis; the others */
        {"x h w y", "xs", 3},    /* sp and its axis */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        program_clear(&p);
        program_build(&p, text);
        program_plan(&p, cases[i].feeds, cases[i].fetches);
        ck_assert_uint_eq(eddy_plan_nodes(p.plan), cases[i].n);
    }
}
END_TEST

START_TEST(a_failed_allocation_leaves_nothing)
{
    program_build(&p, rows[0].text);
    for (long long i = 0;; i += 3) {
        eddy_status status;

        counting_allocator_fail(&p.counting, i);
        status = program_try_plan(&p, "x w b", "xs");
        counting_allocator_fail(&p.counting, -1);
        if (status == EDDY_OK)
            break;
        ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
    }
}
END_TEST

/* _i is the row. */
START_TEST(a_run_without_memory_says_so)
{
    const struct row *row = &rows[_i];

    p.plan_options.executor = EDDY_EXECUTOR_DYNAMIC;
    for (long long i = 0;; i++) {
        eddy_status status;
        bool has_failed;

        plan_cell(row->text, EDDY_OPTIMIZE_EXACT, false);
        feed_all(row);
        counting_allocator_fail(&p.counting, i);
        status = program_execute(&p);
        has_failed = atomic_load(&p.counting.failing) < 0;
        counting_allocator_fail(&p.counting, -1);
        if (!has_failed)
            break;
        if (status != EDDY_OK)
            ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
    }
}
END_TEST

TCase *plan_gates_tests(void)
{
    TCase *tc = tcase_create("plan_gates");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_cell_has_the_same_bits, 0,
                        sizeof rows / sizeof rows[0]);
    tcase_add_test(tc, constant_weights_give_the_same_bits);
    tcase_add_test(tc, what_the_caller_sees_stays);
    tcase_add_test(tc, a_failed_allocation_leaves_nothing);
    tcase_add_loop_test(tc, a_run_without_memory_says_so, 2, 4);
    return tc;
}
