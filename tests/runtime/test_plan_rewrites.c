/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes that give a plan less to do: what each leaves of a graph, and that
 * results, and which node fails, are the same without it, by every executor.
 */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <string.h>

static const char *const all[] = {
    "identities", "fold",  "powers", "invariants", "panels", "common",
    "overlap",    "ahead", "gates",  "rolls",      "chains"};

#define N_ALL (sizeof all / sizeof all[0])

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

/* Makes the plan with the pass `only` alone; NULL: with none. */
static void plan_with(const char *only, const char *feeds, const char *fetches)
{
    static const char *without[N_ALL];
    size_t n = 0;

    for (size_t i = 0; i < N_ALL; i++)
        if (!only || strcmp(all[i], only) != 0)
            without[n++] = all[i];
    p.plan_options.without = without;
    p.plan_options.n_without = n;
    program_plan(&p, feeds, fetches);
}

/* ---- how many nodes are left ---- */

#define X "x ?float32[3]\n"

/* A loop to `n` that adds up w * w, where it may be told what else to do. */
#define LOOP                                                                   \
    "n int64=5\nz int64=0\none int64=1\nw ?float32[2]\ns float32[2]=0\n"       \
    "en Enter@f! n\neo Enter@f! one\new Enter@f! w\nei Enter@f z\n"            \
    "es Enter@f s\nmi Merge ei ni\nms Merge es ns\nless Less mi en\n"          \
    "cond LoopCond less\nsi Switch mi cond\nss Switch ms cond\n"               \
    "body Identity si:1\ni AddV2 body eo\nni NextIteration i\n"                \
    "xs Exit ss:0\nxi Exit si:0\n"

#define END "a AddV2 ss:1 q\nns NextIteration a"

static const struct row {
    const char *pass, *text, *feeds, *fetches;
    int n_fewer;
} rows[] = {
    {"identities", X "a Identity x\nb Identity a\ny Neg b", "x", "y", 2},
    {"identities", X "a Identity x\nb Identity a\ny Neg b", "x", "y a", 1},
    {"identities", X "a Identity x\ny Neg x ^a", "x", "y", 0},
    {"identities", X "b Neg x\na Identity x ^b\ny Neg a", "x", "y", 0},
    {"identities", X "a StopGradient x\ny Neg a", "x", "y", 1},
    {"identities",
     "c ?bool\n" X "s Switch x c\na Identity s\nb Neg s:1\ny Merge a b", "x c",
     "y", 0},
    {"fold", "a int32=3\nb int32=4\nc Mul a b\ny Neg c", NULL, "y", 2},
    {"fold", "a int32=3\nb Neg a\nc Neg b\ny Neg c", NULL, "y", 2},
    /* What fails is left to fail. */
    {"fold",
     "a int32=3\nb int32=0\nc ?bool\nd Switch a c\ne Div a b ^d\n"
     "y Merge d e",
     "c", "y", 0},
    /* Flushed in some runs and not in others. */
    {"fold", "a float32=1e-30\nb Mul a a\nc float32=1e30\nd Mul b c\ny Neg d",
     NULL, "y", 3},
    {"fold", "a float32=1e-20\nb Mul a a\ny Neg b", NULL, "y", 0},
    {"fold", "a float32[200,200]=1\nb Neg a\ny Neg b", NULL, "y", 0},
    {"fold", "k int32[1]=3\na RandomUniform k dtype=float32\ny Neg a", NULL,
     "y", 0},
    {"fold", "a int32=3\nb Neg a\ny Neg b", "b", "y", 0},
    /* What is said of a shape that is known; it waits for the tensor. */
    {"fold", X "s Shape x\nt Neg s\ny Neg t", "x", "y", 1},
    {"fold", X "a Neg x\ns Shape a\nt Neg s\ny Neg t", "x", "y", 1},
    {"fold", X "a Neg x\ns Size a\nt Rank a\nu Mul s t\ny Neg u", "x", "y", 2},
    {"fold", "x ?bool[3]\nw Where x\ns Shape w\nt Neg s\ny Neg t", "x", "y", 0},
    /* Filled by what was just folded, so its shape is known as well. */
    {"fold",
     X "s Shape x\nv float32=2\nf Fill s v\ng Exp f\nr Shape g\n"
       "q Neg r\ny Neg q",
     "x", "y", 5},
    /* One side of a Switch is dead, and who waits for it would not know. */
    {"fold", "c ?bool\n" X "w Switch x c\ns Shape w\nt Shape w:1\ny Merge s t",
     "x c", "y", 0},
    /* The constant goes, but where it says of which shape the result is. */
    {"powers", X "k float32=2\ny Pow x k", "x", "y", 1},
    {"powers", X "k float32[1]=2\ny Pow x k", "x", "y", 1},
    {"powers", X "k float32[1,1]=2\ny Pow x k", "x", "y", 0},
    {"powers", X "k float32[3]=2,2,2\ny Pow x k", "x", "y", 0},
    {"powers", X "k float32=3\ny Pow x k", "x", "y", 0},
    {"powers", X "k float32=2\ny Pow k x", "x", "y", 0},
    {"powers", X "k float32=2\ny Pow x k", "x k", "y", 0},
    {"powers", X "k float32=2\ny Pow x k", "x", "y k", 0},
    {"powers", "x ?float64[3]\nk float64=2\ny Pow x k", "x", "y", 1},
    {"powers", "x ?int32[3]\nk int32=2\ny Pow x k", "x", "y", 1},
    {"powers", "x ?int64\nk int64=2\ny Pow x k", "x", "y", 1},
    {"powers", "x ?complex64\nk complex64=2\ny Pow x k", "x", "y", 0},
    {"powers", "c ?bool\n" X "s Switch x c\nk float32=2 ^s\ny Pow s:1 k", "x c",
     "y", 1},
    {"common", X "a Neg x\nb Neg x\ny Mul a b", "x", "y", 1},
    {"common", X "a Neg x\nb Neg x\nc Exp a\nd Exp b\ny Mul c d", "x", "y", 2},
    {"common", X "a Neg x\nb Neg x ^a\ny Mul a b", "x", "y", 0},
    {"common", X "a Neg x\nb Neg x\ny Mul a b", "x", "y a b", 0},
    {"common", X "a Mul x x\nb Mul x x\ny Sub a b", "x", "y", 1},
    {"common", X "a AddV2 x x\nb Mul x x\ny Sub a b", "x", "y", 0},
    {"common", "x ?int32\na Div x x\nb Div x x\ny Mul a b", "x", "y", 0},
    {"common", "x ?int32\nd int32=5\na FloorMod x d\nb FloorMod x d\ny Mul a b",
     "x", "y", 1},
    {"common",
     "x ?int32[2]\nd int32[2]={5,0}\na FloorMod x d\nb FloorMod x d\n"
     "y Mul a b",
     "x", "y", 0},
    {"common",
     X "a Cast x DstT=int32\nb Cast x DstT=int64\n"
       "c Cast b DstT=int32\ny Mul a c",
     "x", "y", 0},
    /* The square goes out, and its Enter comes in place of that of w. */
    {"invariants", LOOP "q Mul ew ew\n" END, "w", "xs", 0},
    {"invariants", LOOP "r Mul ew ew\nq Exp r\n" END, "w", "xs", 0},
    {"invariants", LOOP "r Mul ew ew\nt AddV2 r ew\nq Mul t ss:1\n" END, "w",
     "xs", 0},
    /* It waits for the body: an Identity does that. */
    {"invariants", LOOP "q Mul ew ew ^body\n" END, "w", "xs", -1},
    {"invariants", LOOP "two float32=2 ^body\nq Mul ew two\n" END, "w", "xs",
     -2},
    {"invariants", LOOP "q Mul ew ss:1\n" END, "w", "xs", 0},
    /* What may fail stays; a divisor that is known and not 0 can't. */
    {"invariants",
     LOOP "k int64=3\nek Enter@f! k\nez Enter@f! z\nd Div ek ez\n"
          "c Cast d DstT=float32\nq Mul ew c\n" END,
     "w", "xs", 0},
    {"invariants",
     LOOP "k int64=3\nek Enter@f! k\nd Div ek eo\n"
          "c Cast d DstT=float32\nq Mul ew c\n" END,
     "w", "xs", 1},
};

START_TEST(a_pass_leaves_so_much)
{
    const struct row *row = &rows[_i];
    size_t before;

    program_build(&p, row->text);
    plan_with(NULL, row->feeds, row->fetches);
    before = eddy_plan_nodes(p.plan);
    plan_with(row->pass, row->feeds, row->fetches);
    ck_assert_int_eq((int)before - (int)eddy_plan_nodes(p.plan), row->n_fewer);
}
END_TEST

/* ---- results ---- */

static const eddy_plan_executor executors[] = {
    EDDY_EXECUTOR_DYNAMIC, EDDY_EXECUTOR_LINEAR, EDDY_EXECUTOR_NATIVE};

static const struct loop_row {
    const char *text;
    int64_t trips;
} loops[] = {
    {LOOP "q Mul ew ew\n" END, 5},
    {LOOP "r Mul ew ew\nq Exp r\n" END, 5},
    {LOOP "q Mul ew ew ^body\n" END, 5},
    {LOOP "two float32=2 ^body\nt Mul ew two\nq Exp t ^body\n" END, 5},
    /* The value waits for the body: dead with it in the last iteration. */
    {LOOP "two float32=2 ^body\nt Mul ew two\nu Mul t t\nv Mul u ss:1\n"
          "q AddV2 u v\n" END,
     5},
    /* In a branch that is taken now and then. */
    {LOOP "h Less body eo\nsw Switch ew h\nq0 Identity sw:0\nr Mul ew ew ^q0\n"
          "s1 Neg sw:1\nq Merge r s1\n" END,
     5},
};

static void run_loop(eddy_plan_executor executor, const char *only,
                     float out[2], eddy_stats *out_stats)
{
    const float w[2] = {0.5F, -1.25F};

    p.plan_options.executor = executor;
    if (only)
        plan_with(only, "w", "xs xi");
    else
        plan_with(NULL, "w", "xs xi");
    program_make_run(&p);
    program_feed_floats(&p, 0, w, 2);
    program_run(&p);
    memcpy(out, eddy_tensor_data(eddy_run_fetch(p.run, 0)), 2 * sizeof *out);
    *out_stats = program_stats(&p);
}

START_TEST(loops_give_the_same_by_every_executor)
{
    float want[2], got[2];
    eddy_stats before, first = {0}, stats;

    program_build(&p, loops[_i].text);
    run_loop(EDDY_EXECUTOR_DYNAMIC, NULL, want, &before);
    ck_assert_int_eq(program_fetch_int(&p, 1), loops[_i].trips);
    for (size_t k = 0; k < N_ALL; k++)
        for (size_t e = 0; e < 3; e++) {
            run_loop(executors[e], all[k], got, &stats);
            ck_assert_mem_eq(got, want, sizeof want);
            ck_assert_uint_eq(stats.iterations, before.iterations);
            if (e == 0)
                first = stats;
            ck_assert_uint_eq(stats.live_executions, first.live_executions);
            ck_assert_uint_eq(stats.dead_executions, first.dead_executions);
        }
}
END_TEST

START_TEST(an_invariant_leaves_two_loops)
{
    static const char *const text =
        "n int64=3\nz int64=0\none int64=1\nw ?float32[1]\ns float32[1]=0\n"
        "en Enter@f! n\neo Enter@f! one\new Enter@f! w\nei Enter@f z\n"
        "es Enter@f s\nmi Merge ei ni\nms Merge es ns\nless Less mi en\n"
        "cond LoopCond less\nsi Switch mi cond\nss Switch ms cond\n"
        "i AddV2 si:1 eo\nni NextIteration i\n"
        "gn Enter@g! en\ngo Enter@g! eo\ngw Enter@g! ew\n"
        "gi Enter@g si:1\ngs Enter@g ss:1\nki Merge gi li\nks Merge gs ls\n"
        "gl Less ki gn\ngc LoopCond gl\nti Switch ki gc\nts Switch ks gc\n"
        "j AddV2 ti:1 go\nli NextIteration j\nq Mul gw gw\nr Exp q\n"
        "a AddV2 ts:1 r\nls NextIteration a\ngx Exit ts:0\n"
        "ns NextIteration gx\nxs Exit ss:0";
    float want, w = 0.75F;

    program_build(&p, text);
    for (size_t e = 0; e < 3; e++) {
        p.plan_options.executor = executors[e];
        plan_with(NULL, "w", "xs");
        program_make_run(&p);
        program_feed_floats(&p, 0, &w, 1);
        program_run(&p);
        want = program_fetch_float(&p, 0);
        plan_with("invariants", "w", "xs");
        program_make_run(&p);
        program_feed_floats(&p, 0, &w, 1);
        program_run(&p);
        ck_assert_mem_eq(&want, &(float){program_fetch_float(&p, 0)}, 4);
    }
}
END_TEST

START_TEST(the_node_that_fails_is_the_same)
{
    program_build(&p, "a int32=1\nb int32=0\nfirst Div a b\nsecond Div a b\n"
                      "y AddV2 first second");
    program_want(&p, (program_plan(&p, NULL, "y"), program_execute(&p)),
                 EDDY_INVALID_ARGUMENT, EDDY_E_DIVISION_BY_ZERO);
    ck_assert_str_eq(p.err.node, "first");
}
END_TEST

START_TEST(only_what_saves_work_may_be_left_out)
{
    static const char *const names[] = {"layout", "nothing"};

    program_build(&p, "a int32=1\ny Neg a");
    for (size_t i = 0; i < 2; i++) {
        p.plan_options.without = &names[i];
        p.plan_options.n_without = 1;
        program_want(&p, program_try_plan(&p, NULL, "y"), EDDY_INVALID_ARGUMENT,
                     EDDY_E_ARGUMENT);
    }
    for (size_t i = 0, k = 0; eddy_plan_pass_name(i); i++) {
        bool is_one = strcmp(eddy_plan_pass_name(i), "fuse") == 0;

        for (k = 0; k < N_ALL; k++)
            is_one = is_one || strcmp(eddy_plan_pass_name(i), all[k]) == 0;
        ck_assert_int_eq(eddy_plan_pass_is_optional(i), is_one);
    }
    ck_assert(!eddy_plan_pass_is_optional(1000));
}
END_TEST

TCase *plan_rewrites_tests(void)
{
    TCase *tc = tcase_create("plan_rewrites");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_pass_leaves_so_much, 0,
                        sizeof rows / sizeof rows[0]);
    tcase_add_loop_test(tc, loops_give_the_same_by_every_executor, 0,
                        sizeof loops / sizeof loops[0]);
    tcase_add_test(tc, an_invariant_leaves_two_loops);
    tcase_add_test(tc, the_node_that_fails_is_the_same);
    tcase_add_test(tc, only_what_saves_work_may_be_left_out);
    return tc;
}
