/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors whose elements move on along an axis: which nodes are one, that
 * chains read them where they stand, and that results and counts are those
 * without the pass.
 */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <stdlib.h>
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

#define X "x ?float32[70,50]\n"
#define MINUS(n) "m int32[1]=" #n "\nz int32[1]=0\no int32[1]=1\nd int32=0\n"
/* The last rows of x before the others, and the first behind them. */
#define DOWN                                                                   \
    "t StridedSlice x m z o end_mask=1\nh StridedSlice x z m o begin_mask=1\n" \
    "r ConcatV2 t h d\n"
#define UP                                                                     \
    "t StridedSlice x p z o end_mask=1\nh StridedSlice x z p o begin_mask=1\n" \
    "r ConcatV2 t h d\n"
#define COLUMNS                                                                \
    "m int32[2]=0,-3\nz int32[2]=0,0\no int32[2]=1,1\nd int32=-1\n"            \
    "t StridedSlice x m z o begin_mask=1 end_mask=3\n"                         \
    "h StridedSlice x z m o begin_mask=3 end_mask=1\nr ConcatV2 t h d\n"

static const struct row {
    const char *text;
    int n_fewer; /* nodes, by the pass; constants are nodes */
} rows[] = {
    {X MINUS(-1) DOWN "q int32[2]=1,0\ny Transpose r q", 6},
    {X MINUS(-1) DOWN "a AddV2 r x\ny Neg a", 7},
    {X MINUS(-69) DOWN "a AddV2 x r\ny Mul a x", 7},
    {X "p int64[1]=13\nz int64[1]=0\no int64[1]=1\nd int64=0\n" UP
       "a Sub r x\ny Mul a x",
     7},
    {X COLUMNS "a AddV2 r x\ny Neg a", 7},
    /* Rolled alone, and beside a row and a column for all. */
    {X COLUMNS "a Neg r\ny Exp a", 7},
    {X COLUMNS "w float32[50]=1,2,3\na AddV2 r w\ny Mul a x", 7},
    {X COLUMNS "w float32[70,1]=1,2,3\na AddV2 r w\ny Mul a x", 7},
    {X "b int32[2]=66,0\nz int32[2]=0,0\nu int32[2]=4,50\nv int32[2]=66,-1\n"
       "d int32=0\nt Slice x b u\nh Slice x z v\nr ConcatV2 t h d\n"
       "a AddV2 r x\ny Neg a",
     8},
    {X "s int32=-3\nd int64=1\nr Roll x s d\na AddV2 r x\ny Neg a", 3},
    {X "s int32[1]=141\nd int32[1]=0\nr Roll x s d\na AddV2 r x\ny Neg a", 3},
    {X "s int32=-3\nd int64=1\nr Roll x s d\ny Cumsum r d", 1},
    /* Of other sizes. */
    {X "s int32=5\nd int32=1\nb Cast x DstT=float64\nr Roll b s d\n"
       "l Less r b\ny Cast l DstT=int8",
     3},
    {X "s int32=5\nd int32=0\nl Cast x DstT=bool\nr Roll l s d\n"
       "n LogicalNot r\nw float32=7\ny SelectV2 n x w",
     3},
    {"x ?float32[70,50]\nk int32[4]=5,7,20,5\nb Reshape x k\ns int32=6\n"
     "d int32=2\nr Roll b s d\na AddV2 r b\ny Neg a",
     3},
    /* More than a chain reads so; one roll of another. */
    {X "s int32=1\nd int32=0\na Roll x s d\ns2 int32=2\nb Roll x s2 d\n"
       "s3 int32=3\nc Roll x s3 d\ns4 int32=4\ne Roll x s4 d\ns5 int32=5\n"
       "f Roll x s5 d\ns6 int32=6\ng Roll f s6 d\nh AddV2 a b\ni AddV2 c e\n"
       "j AddV2 h i\nk AddV2 f g\ny Sub j k",
     11},
    /* The chain's own value rolled is another chain's. */
    {X "s int32=1\nd int32=0\na Neg x\nb Mul a x\nr Roll b s d\nc AddV2 r b\n"
       "y Neg c",
     3},
    /* What others read too, and what is moved by nothing. */
    {X MINUS(-1) DOWN "u Neg t\na AddV2 r x\nv Sum u d\ny Mul a v", 0},
    {X "s int32=-3\nd int64=1\nr Roll x s d\na AddV2 r x\nb Cumsum r d\n"
       "y Mul a b",
     1},
    {X "s int32=70\nd int32=0\nr Roll x s d\na AddV2 r x\ny Neg a", 0},
    /* Pieces that do not meet, or of another tensor. */
    {X "m int32[1]=-2\nn int32[1]=-1\nz int32[1]=0\no int32[1]=1\nd int32=0\n"
       "t StridedSlice x m z o end_mask=1\n"
       "h StridedSlice x o n o\nr ConcatV2 t h d\ny Neg r",
     0},
    {X "m int32[1]=-1\nz int32[1]=0\no int32[1]=1\nd int32=0\nb Neg x\n"
       "t StridedSlice b m z o end_mask=1\n"
       "h StridedSlice x z m o begin_mask=1\nr ConcatV2 t h d\ny Neg r",
     0},
    {X "m int32[1]=-1\nz int32[1]=0\no int32[1]=1\nd int32=0\n"
       "t StridedSlice x z o o begin_mask=1\n"
       "h StridedSlice x z m o begin_mask=1\nr ConcatV2 t h d\ny Neg r",
     0},
};

/* `without`: the pass, at the level exact; else at that level. */
static void plan(const char *text, eddy_optimize level, bool without)
{
    static const char *const name[] = {"rolls"};

    program_clear(&p);
    program_build(&p, text);
    p.plan_options.optimize = level;
    p.plan_options.without = name;
    p.plan_options.n_without = without;
    program_plan(&p, "x", "y");
}

static void feed(void)
{
    static float values[70 * 50];

    for (uint32_t i = 0; i < 70 * 50; i++)
        values[i] = (float)(i * 2654435761U >> 8) / 0x1p22F - 2;
    program_make_run(&p);
    {
        eddy_tensor *fed =
            program_tensor(&p, EDDY_FLOAT32,
                           &(eddy_shape){.rank = 2, .dims = {70, 50}}, values);

        program_want_ok(&p, eddy_run_feed(p.run, 0, fed, &p.err));
        eddy_tensor_release(fed);
    }
}

static eddy_tensor *run(const char *text, eddy_optimize level, bool without)
{
    plan(text, level, without);
    feed();
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

START_TEST(what_is_rolled_has_the_same_bits)
{
    const struct row *row = &rows[_i];
    eddy_tensor *wanted = run(row->text, EDDY_OPTIMIZE_NONE, false);
    size_t n;

    want_same(run(row->text, EDDY_OPTIMIZE_EXACT, true), wanted);
    n = eddy_plan_nodes(p.plan);
    want_same(run(row->text, EDDY_OPTIMIZE_EXACT, false), wanted);
    ck_assert_int_eq((int)n - (int)eddy_plan_nodes(p.plan), row->n_fewer);
    /* As machine code, once it has done enough. */
    for (int i = 0; i < 40; i++)
        program_run(&p);
    want_same(eddy_tensor_retain(eddy_run_fetch(p.run, 0)), wanted);
    eddy_tensor_release(wanted);
}
END_TEST

/* Three generations of a board whose rows and columns move. */
#define LOOP                                                                   \
    "x ?float32[70,50]\nk int32=0\nn int32=3\none int32=1\n"                   \
    "ek Enter@w k\nmk Merge ek nk\nen Enter@w! n\nless Less mk en\n"           \
    "c LoopCond less\nsk Switch mk c\neo Enter@w! one\nak AddV2 sk:1 eo\n"     \
    "nk NextIteration ak\nex Enter@w x\nmx Merge ex nx\nsx Switch mx c\n"      \
    "i Identity sk:1\n"                                                        \
    "s int32=1 ^i\nd int32=0 ^i\ne int32=1 ^i\n"                               \
    "m int32[2]=0,-3 ^i\nz int32[2]=0,0 ^i\no int32[2]=1,1 ^i\n"               \
    "a Roll sx:1 s d\nb AddV2 a sx:1\nf Neg b\n"                               \
    "t StridedSlice f m z o begin_mask=1 end_mask=3\n"                         \
    "h StridedSlice f z m o begin_mask=3 end_mask=1\nr ConcatV2 t h e\n"       \
    "g AddV2 r f\nhalf float32=0.5 ^i\nv Mul g half\nnx NextIteration v\n"     \
    "y Exit sx"

START_TEST(loops_give_the_same_by_every_executor)
{
    static const eddy_plan_executor executors[] = {
        EDDY_EXECUTOR_DYNAMIC, EDDY_EXECUTOR_LINEAR, EDDY_EXECUTOR_NATIVE};
    eddy_tensor *wanted = run(LOOP, EDDY_OPTIMIZE_NONE, false);
    eddy_stats first = {0};

    for (size_t e = 0; e < 3; e++) {
        eddy_stats stats;

        p.plan_options.executor = executors[e];
        want_same(run(LOOP, EDDY_OPTIMIZE_EXACT, true), wanted);
        want_same(run(LOOP, EDDY_OPTIMIZE_EXACT, false), wanted);
        stats = program_stats(&p);
        first = e == 0 ? stats : first;
        ck_assert_uint_eq(stats.live_executions, first.live_executions);
        ck_assert_uint_eq(stats.dead_executions, first.dead_executions);
        ck_assert_uint_eq(stats.iterations, first.iterations);
    }
    eddy_tensor_release(wanted);
}
END_TEST

/* What is fetched or fed on the way stays. */
START_TEST(what_the_caller_sees_stays)
{
    static const char *const fetches[] = {"y t", "y h", "y r"};

    for (size_t i = 0; i < 3; i++) {
        size_t n;

        plan(rows[1].text, EDDY_OPTIMIZE_EXACT, true);
        program_plan(&p, "x", fetches[i]);
        n = eddy_plan_nodes(p.plan);
        p.plan_options.n_without = 0;
        program_plan(&p, "x", fetches[i]);
        /* A roll that is fetched is one, but no part of the chain. */
        ck_assert_int_eq((int)n - (int)eddy_plan_nodes(p.plan), i < 2 ? 0 : 6);
    }
}
END_TEST

START_TEST(workers_share_it)
{
    static const char *const texts[] = {
        "x float32[700,500]=1,2,3,4,5,6,7\ns int32=3\nd int32=1\n"
        "r Roll x s d\na AddV2 r x\ny Mul a x",
        "x float32[700,500]=1,2,3,4,5,6,7\ns int32=3\nd int32=1\n"
        "y Roll x s d",
    };
    const size_t n = (size_t)700 * 500 * sizeof(float);
    float *wanted = malloc(n);

    ck_assert_ptr_nonnull(wanted);
    for (size_t i = 0; i < 4; i++) {
        program_deinit(&p);
        program_init(&p, i % 2 == 0 ? 0 : 2);
        program_build(&p, texts[i / 2]);
        program_plan(&p, NULL, "y");
        program_run(&p);
        if (i % 2 == 0)
            memcpy(wanted, eddy_tensor_data(eddy_run_fetch(p.run, 0)), n);
        ck_assert_mem_eq(eddy_tensor_data(eddy_run_fetch(p.run, 0)), wanted, n);
    }
    free(wanted);
}
END_TEST

START_TEST(a_failed_allocation_leaves_nothing)
{
    program_build(&p, rows[1].text);
    for (long long i = 0;; i++) {
        eddy_status status;

        counting_allocator_fail(&p.counting, i);
        status = program_try_plan(&p, "x", "y");
        counting_allocator_fail(&p.counting, -1);
        if (status == EDDY_OK)
            break;
        ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
    }
}
END_TEST

/* ---- attributes that no plan makes ---- */

static eddy_status try_roll(int64_t block, int64_t shift, const char *of)
{
    const eddy_attr attrs[] = {eddy_attr_int("block", &block),
                               eddy_attr_int("shift", &shift)};
    eddy_output x;
    eddy_node_spec spec = {.size = sizeof spec,
                           .op = "_Roll",
                           .name = "y",
                           .inputs = &x,
                           .n_inputs = 1,
                           .attrs = attrs,
                           .n_attrs = 2};
    eddy_node node;
    eddy_status status;

    program_clear(&p);
    program_build(&p, of);
    x = program_output(&p, "v");
    program_want_ok(&p, eddy_graph_add(p.graph, &spec, &node, &p.err));
    status = program_try_plan(&p, NULL, "y");
    return status == EDDY_OK ? program_execute(&p) : status;
}

START_TEST(wrong_attributes_are_refused)
{
    static const char numbers[] = "v float32[6]=1,2,3,4,5,6";

    ck_assert_int_eq(try_roll(3, 1, numbers), EDDY_OK);
    program_want_fetch(&p, 0, PROGRAM_DIMS(6),
                       PROGRAM_NUMBERS(3, 1, 2, 6, 4, 5));
    ck_assert_int_eq(try_roll(6, 6, numbers), EDDY_OK);
    ck_assert_int_eq(try_roll(1, 0, "v float32=1"), EDDY_OK);
    ck_assert_int_eq(try_roll(4, 1, numbers), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(try_roll(0, 0, numbers), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(try_roll(3, -1, numbers), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(try_roll(3, 4, numbers), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(try_roll(INT64_MAX, 4, numbers), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(try_roll(1, 0, "n int32=1\nv AsString n"),
                     EDDY_INVALID_ARGUMENT);
}
END_TEST

static eddy_status try_chain(const int64_t *rolls, size_t n)
{
    const eddy_dtype type = EDDY_FLOAT32;
    const eddy_string op = {"Neg", 3};
    const int64_t zero = 0;
    eddy_attr attrs[] = {
        eddy_attr_string("ops", &op),     eddy_attr_type("types", &type),
        eddy_attr_type("results", &type), eddy_attr_int("wires", &zero),
        eddy_attr_int("outs", &zero),     eddy_attr_type("T", &type),
        eddy_attr_int("rolls", rolls),
    };
    eddy_output x;
    eddy_node_spec spec = {.size = sizeof spec,
                           .op = "_Chain",
                           .name = "y",
                           .inputs = &x,
                           .n_inputs = 1,
                           .attrs = attrs,
                           .n_attrs = 7};
    eddy_node node;
    eddy_status status;

    for (size_t i = 0; i < 7; i++) {
        attrs[i].is_list = true;
        attrs[i].n = i < 6 ? 1 : n;
    }
    program_clear(&p);
    program_build(&p, "v float32[6]=1,2,3,4,5,6");
    x = program_output(&p, "v");
    program_want_ok(&p, eddy_graph_add(p.graph, &spec, &node, &p.err));
    status = program_try_plan(&p, NULL, "y");
    return status == EDDY_OK ? program_execute(&p) : status;
}

START_TEST(wrong_rolls_of_chains_are_refused)
{
    static const struct {
        int64_t rolls[6];
        size_t n;
        eddy_status want;
    } cases[] = {
        {{0, 3, 1}, 3, EDDY_OK},
        {{0, 6, 0}, 3, EDDY_OK},
        {{0, 3}, 2, EDDY_INVALID_ARGUMENT},
        {{1, 3, 1}, 3, EDDY_INVALID_ARGUMENT},
        {{-1, 3, 1}, 3, EDDY_INVALID_ARGUMENT},
        {{0, 4, 1}, 3, EDDY_INVALID_ARGUMENT},
        {{0, 0, 0}, 3, EDDY_INVALID_ARGUMENT},
        {{0, 12, 1}, 3, EDDY_INVALID_ARGUMENT},
        {{0, 3, 4}, 3, EDDY_INVALID_ARGUMENT},
        {{0, 3, -1}, 3, EDDY_INVALID_ARGUMENT},
        {{0, 3, 1, 0, 3, 1}, 6, EDDY_INVALID_ARGUMENT},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_int_eq(try_chain(cases[i].rolls, cases[i].n), cases[i].want);
        if (i == 0)
            program_want_fetch(&p, 0, PROGRAM_DIMS(6),
                               PROGRAM_NUMBERS(-3, -1, -2, -6, -4, -5));
    }
}
END_TEST

TCase *plan_rolls_tests(void)
{
    TCase *tc = tcase_create("plan_rolls");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, what_is_rolled_has_the_same_bits, 0,
                        sizeof rows / sizeof rows[0]);
    tcase_add_test(tc, loops_give_the_same_by_every_executor);
    tcase_add_test(tc, what_the_caller_sees_stays);
    tcase_add_test(tc, workers_share_it);
    tcase_add_test(tc, a_failed_allocation_leaves_nothing);
    tcase_add_test(tc, wrong_attributes_are_refused);
    tcase_add_test(tc, wrong_rolls_of_chains_are_refused);
    return tc;
}
