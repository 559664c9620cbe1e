/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks in programs: push, pop and close, in loops, branches and failures. */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static program p;

static void begin(void)
{
    program_init(&p, 0);
}

static void end(void)
{
    program_deinit(&p);
}

#define STACK(type)                                                            \
    "max int32=-1\n"                                                           \
    "s StackV2 max elem_type=" type "\n"

START_TEST(what_was_pushed_last_is_popped_first)
{
    program_build(&p,
                  STACK("float32") "a float32=1\n"
                                   "b float32=2\n"
                                   "pa StackPushV2 s a\n"
                                   "pb StackPushV2 s b ^pa\n"
                                   "qb StackPopV2 s ^pb elem_type=float32\n"
                                   "qa StackPopV2 s ^qb elem_type=float32\n");
    program_plan(&p, NULL, "qa qb pa pb");
    for (int round = 0; round < 2; round++) {
        program_run(&p);
        ck_assert(program_fetch_float(&p, 0) == 1);
        ck_assert(program_fetch_float(&p, 1) == 2);
        ck_assert(program_fetch_float(&p, 2) == 1);
        ck_assert(program_fetch_float(&p, 3) == 2);
    }
}
END_TEST

/* A program of TensorFlow 1 has references in place of handles. */
START_TEST(an_old_stack_is_one)
{
    program_build(&p, "s Stack elem_type=float32 stack_name='old'\n"
                      "i RefIdentity s T=string\n"
                      "a float32=1\n"
                      "b float32[2]=2,3\n"
                      "pa StackPush s a\n"
                      "pb StackPush s b ^pa swap_memory=true\n"
                      "qb StackPop s ^pb elem_type=float32\n"
                      "qa StackPop s ^qb elem_type=float32\n"
                      "c StackClose s ^qa\n"
                      "late StackPop s ^c elem_type=float32\n");
    program_plan(&p, NULL, "qa qb pb ^c");
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == 1);
    program_want_fetch(&p, 1, PROGRAM_DIMS(2), PROGRAM_NUMBERS(2, 3));
    program_plan(&p, NULL, "late");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT, EDDY_E_CLOSED);
}
END_TEST

START_TEST(gradients_go_through_an_old_stack)
{
    eddy_output x, y, dx, tangent;

    program_build(&p, "s Stack elem_type=float32\n"
                      "x float32=3\n"
                      "xx Mul x x\n"
                      "push StackPush s xx\n"
                      "pop StackPop s ^push elem_type=float32\n"
                      "y Mul pop x\n");
    x = program_output(&p, "x");
    y = program_output(&p, "y");
    ck_assert_int_eq(eddy_gradients(p.graph, &y, 1, &x, 1, NULL, &dx, &p.err),
                     EDDY_OK);
    ck_assert_int_eq(
        eddy_jvp(p.graph, &y, 1, &x, 1, NULL, NULL, &tangent, &p.err), EDDY_OK);
    program_plan_outputs(&p, (eddy_output[]){dx, tangent}, 2);
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == 27);
    ck_assert(program_fetch_float(&p, 1) == 27);
}
END_TEST

static const char *const dtypes[] = {
    "float16", "float32", "float64", "int8",   "int16",     "int32", "int64",
    "uint8",   "uint16",  "uint32",  "uint64", "complex64", "bool"};

#define N_DTYPES (int)(sizeof dtypes / sizeof *dtypes)

/* A scalar, a tensor, a scalar: the stack changes how it keeps them. */
START_TEST(scalars_and_tensors_of_every_dtype_go_through)
{
    const char *const d = dtypes[_i];
    char text[1024];

    snprintf(text, sizeof text,
             "max int32=3\n"
             "s StackV2 max elem_type=%s stack_name='mine'\n"
             "a %s=1\n"
             "b %s[2,2]=0,1\n"
             "c %s=0\n"
             "pa StackPushV2 s a\n"
             "pb StackPushV2 s b ^pa swap_memory=true\n"
             "pc StackPushV2 s c ^pb\n"
             "qc StackPopV2 s ^pc elem_type=%s\n"
             "qb StackPopV2 s ^qc elem_type=%s\n"
             "pd StackPushV2 s a ^qb\n"
             "qd StackPopV2 s ^pd elem_type=%s\n"
             "qa StackPopV2 s ^qd elem_type=%s\n",
             d, d, d, d, d, d, d, d);
    program_build(&p, text);
    program_plan(&p, NULL, "qa qb qc qd pb");
    program_run(&p);
    program_want_fetch(&p, 0, 0, NULL, PROGRAM_NUMBERS(1));
    program_want_fetch(&p, 1, PROGRAM_DIMS(2, 2), PROGRAM_NUMBERS(0, 1, 0, 1));
    program_want_fetch(&p, 2, 0, NULL, PROGRAM_NUMBERS(0));
    program_want_fetch(&p, 3, 0, NULL, PROGRAM_NUMBERS(1));
    program_want_fetch(&p, 4, PROGRAM_DIMS(2, 2), PROGRAM_NUMBERS(0, 1, 0, 1));
}
END_TEST

START_TEST(strings_go_through)
{
    program_build(&p, STACK("string") "a string=some\n"
                                      "pa StackPushV2 s a\n"
                                      "q StackPopV2 s ^pa elem_type=string\n");
    program_plan(&p, NULL, "q");
    program_run(&p);
    ck_assert_str_eq(eddy_tensor_string(eddy_run_fetch(p.run, 0), 0).data,
                     "some");
}
END_TEST

/* A handle on a stack, and a stack that holds its own. */
START_TEST(handles_go_through)
{
    program_build(
        &p,
        STACK(
            "resource") "inner StackV2 max elem_type=int32 stack_name='inner'\n"
                        "a int32=7\n"
                        "pi StackPushV2 inner a\n"
                        "own StackPushV2 s s\n"
                        "ph StackPushV2 s inner ^pi ^own\n"
                        "h StackPopV2 s ^ph elem_type=resource\n"
                        "q StackPopV2 h elem_type=int32\n");
    program_plan(&p, NULL, "q");
    for (int round = 0; round < 2; round++) {
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), 7);
    }
}
END_TEST

/* ---- loops ---- */

/*
 * For each i < n pushes the node `pushed` of frame f, which may use `fw:1`, the
 * counter; then, as often, adds what is popped (`pop` in frame b) to `start`.
 */
#define PUSH_LOOP(type)                                                        \
    "max int32=-1\n"                                                           \
    "zero int64=0\n"                                                           \
    "one int64=1\n"                                                            \
    "s StackV2 max elem_type=" type "\n"                                       \
    "fi Enter@f zero\n"                                                        \
    "fn Enter@f! n\n"                                                          \
    "fs Enter@f! s\n"                                                          \
    "f1 Enter@f! one\n"                                                        \
    "fm Merge fi fx\n"                                                         \
    "fl Less fm fn\n"                                                          \
    "fc LoopCond fl\n"                                                         \
    "fw Switch fm fc\n"                                                        \
    "fb Add fw:1 f1 ^push\n"                                                   \
    "fx NextIteration fb\n"                                                    \
    "count Exit fw\n"

#define POP_LOOP(type)                                                         \
    "bi Enter@b count\n"                                                       \
    "bt Enter@b start\n"                                                       \
    "bs Enter@b! s\n"                                                          \
    "b0 Enter@b! zero\n"                                                       \
    "b1 Enter@b! one\n"                                                        \
    "bm Merge bi bx\n"                                                         \
    "btm Merge bt btx\n"                                                       \
    "bl Less b0 bm\n"                                                          \
    "bc LoopCond bl\n"                                                         \
    "bw Switch bm bc\n"                                                        \
    "btw Switch btm bc\n"                                                      \
    "bd Sub bw:1 b1\n"                                                         \
    "pop StackPopV2 bs ^bd elem_type=" type "\n"                               \
    "bx NextIteration bd ^pop\n"                                               \
    "sum Add btw:1 pop\n"                                                      \
    "btx NextIteration sum\n"                                                  \
    "out Exit btw\n"

START_TEST(a_loop_pops_what_another_pushed)
{
    program_build(&p,
                  "n ?int64\n"
                  "start int64=0\n" PUSH_LOOP(
                      "int64") "push StackPushV2 fs "
                               "fw:1\n" POP_LOOP("int64") "same Equal pop bd\n"
                                                          "wrong Assert same "
                                                          "pop bd\n");
    program_plan(&p, "n", "out ^wrong");
    for (int64_t n = 0; n < 100000; n = 7 * n + 1) {
        program_feed_int(&p, 0, n);
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), n * (n - 1) / 2);
    }
    /* What one execution took from the allocator serves the next. */
    program_run(&p);
    ck_assert_uint_lt(program_stats(&p).allocations, 5);
}
END_TEST

START_TEST(a_loop_pops_tensors)
{
    program_build(&p,
                  "n int64=300\n"
                  "start int64[2]=0\n"
                  "v int64[2]=1,2\n" PUSH_LOOP(
                      "int64") "fv Enter@f! v\n"
                               "mul Mul fv fw:1\n"
                               "push StackPushV2 fs mul\n" POP_LOOP("int64"));
    program_plan(&p, NULL, "out");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(44850, 89700));
}
END_TEST

/* A scalar takes no more than its bytes, so that deep tapes are small. */
START_TEST(a_scalar_takes_its_own_bytes)
{
    const int64_t n = 200000;

    program_build(&p, "n int64=200000\n" PUSH_LOOP(
                          "float32") "x Cast fw:1 SrcT=int64 DstT=float32\n"
                                     "push StackPushV2 fs x\n");
    program_plan(&p, NULL, "count");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), n);
    ck_assert_uint_lt(program_stats(&p).peak_bytes, 4 * (uint64_t)n + 200000);
}
END_TEST

/* The handle goes down one branch, where the values went too. */
START_TEST(handles_go_down_one_branch)
{
    program_build(&p, STACK("int64") "pred ?bool\n"
                                     "a int64=5\n"
                                     "b int64=6\n"
                                     "hs Switch s pred\n"
                                     "p1 StackPushV2 hs:1 a\n"
                                     "p0 StackPushV2 hs b\n"
                                     "m Merge p0 p1\n"
                                     "q StackPopV2 s ^m elem_type=int64\n");
    program_plan(&p, "pred", "q");
    for (int round = 0; round < 2; round++) {
        const eddy_shape scalar = {.rank = 0};
        const bool taken = round == 1;
        eddy_tensor *pred = program_tensor(&p, EDDY_BOOL, &scalar, &taken);

        program_make_run(&p);
        ck_assert_int_eq(eddy_run_feed(p.run, 0, pred, &p.err), EDDY_OK);
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), 6 - round);
        eddy_tensor_release(pred);
    }
}
END_TEST

/* ---- errors ---- */

typedef struct mistake {
    const char *text;
    eddy_detail detail;
    const char *message;
} mistake;

static const mistake mistakes[] = {
    {STACK("int64") "x StackPopV2 s elem_type=int64\n", EDDY_E_EMPTY,
     "stack s is empty, so nothing can be popped"},
    {"max int32=1\n"
     "s StackV2 max elem_type=int64 stack_name='small'\n"
     "a int64=1\n"
     "b StackPushV2 s a\n"
     "x StackPushV2 s a ^b\n",
     EDDY_E_FULL, "stack small overflowed its max_size, 1"},
    {"max int32=0\n"
     "s StackV2 max elem_type=int64\n"
     "x StackPushV2 s max\n",
     EDDY_E_DTYPE, "stack s holds int64, not int32"},
    {STACK("int64") "x StackPopV2 s elem_type=float32\n", EDDY_E_DTYPE,
     "stack s holds int64, not float32"},
    {STACK("int64") "c StackCloseV2 s\n"
                    "x StackPopV2 s ^c elem_type=int64\n",
     EDDY_E_CLOSED, "stack s has already been closed"},
    {STACK("int64") "a int64=1\n"
                    "b StackPushV2 s a\n"
                    "c StackCloseV2 s ^b\n"
                    "d StackCloseV2 s ^c\n"
                    "x StackPushV2 s a ^d\n",
     EDDY_E_CLOSED, "stack s has already been closed"},
    {"max int32[1]=1\n"
     "v Identity max\n"
     "x StackV2 v elem_type=int64\n",
     EDDY_E_SHAPE, NULL},
    {"max int32=1\n"
     "s TensorArrayV3 max dtype=int64\n"
     "x StackPopV2 s elem_type=int64\n",
     EDDY_E_RESOURCE,
     "input 0 is the handle of a TensorArray; that of a stack is wanted"},
};

START_TEST(mistakes_are_named)
{
    const mistake *m = &mistakes[_i];
    eddy_status status;

    status = program_try_build(&p, m->text);
    if (status == EDDY_OK)
        status = program_try_plan(&p, NULL, "^x");
    if (status == EDDY_OK)
        status = program_execute(&p);
    program_want(&p, status, EDDY_INVALID_ARGUMENT, m->detail);
    ck_assert_str_eq(p.err.node, "x");
    if (m->message)
        ck_assert_str_eq(p.err.message, m->message);
}
END_TEST

START_TEST(a_run_that_fails_frees_its_stacks)
{
    program_build(
        &p, "n int64=100\n"
            "start int64[2]=0\n"
            "v int64[2]=1,2\n" PUSH_LOOP("int64") "fv Enter@f! v\n"
                                                  "mul Mul fv fw:1\n"
                                                  "push StackPushV2 fs mul\n"
                                                  "half int64=50\n"
                                                  "fh Enter@f! half\n"
                                                  "rest Less fw:1 fh\n"
                                                  "wrong Assert rest fw:1\n");
    program_plan(&p, NULL, "count ^wrong");
    for (int round = 0; round < 2; round++)
        program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                     EDDY_E_ASSERTION);
}
END_TEST

START_TEST(the_limit_on_bytes_stops_a_stack)
{
    p.run_options.max_bytes = 1 << 20;
    program_build(&p, "n int64=1000000\n" PUSH_LOOP(
                          "int64") "push StackPushV2 fs fw:1\n");
    program_plan(&p, NULL, "count");
    for (int round = 0; round < 2; round++) {
        program_want(&p, program_execute(&p), EDDY_RESOURCE_EXHAUSTED,
                     EDDY_E_LIMIT_BYTES);
        ck_assert_str_eq(p.err.node, "push");
        ck_assert_uint_gt(program_stats(&p).iterations, 100000);
    }
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;
    int n;

    program_build(&p,
                  "n int64=200\n"
                  "start int64=0\n" PUSH_LOOP(
                      "int64") "push StackPushV2 fs fw:1\n" POP_LOOP("int64"));
    for (n = 0; status != EDDY_OK; n++) {
        program_plan(&p, NULL, "out");
        program_make_run(&p);
        counting_allocator_allow(&p.counting, n);
        status = program_execute(&p);
        counting_allocator_allow(&p.counting, -1);
        if (status != EDDY_OK)
            program_want(&p, status, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), 199 * 100);
    }
    ck_assert_int_gt(n, 4);
}
END_TEST

TCase *ops_stack_tests(void)
{
    TCase *tests = tcase_create("ops_stack");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, what_was_pushed_last_is_popped_first);
    tcase_add_test(tests, an_old_stack_is_one);
    tcase_add_test(tests, gradients_go_through_an_old_stack);
    tcase_add_loop_test(tests, scalars_and_tensors_of_every_dtype_go_through, 0,
                        N_DTYPES);
    tcase_add_test(tests, strings_go_through);
    tcase_add_test(tests, handles_go_through);
    tcase_add_test(tests, a_loop_pops_what_another_pushed);
    tcase_add_test(tests, a_loop_pops_tensors);
    tcase_add_test(tests, a_scalar_takes_its_own_bytes);
    tcase_add_test(tests, handles_go_down_one_branch);
    tcase_add_loop_test(tests, mistakes_are_named, 0,
                        (int)(sizeof mistakes / sizeof *mistakes));
    tcase_add_test(tests, a_run_that_fails_frees_its_stacks);
    tcase_add_test(tests, the_limit_on_bytes_stops_a_stack);
    tcase_add_test(tests, every_allocation_may_fail);
    return tests;
}
