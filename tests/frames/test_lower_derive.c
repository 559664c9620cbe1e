/* SPDX-License-Identifier: Apache-2.0 */
/* SymbolicGradient: values, gradients that the library has, limits. */
#include "core/graph/graph.h"
#include "eddy/lower.h"
#include "tests/aid/functions.h"
#include "tests/suites.h"

#include <math.h>
#include <stdio.h>

static program p;

static void begin(void)
{
    program_init(&p, 0);
}

static void end(void)
{
    program_deinit(&p);
}

#define GRADIENT(name, inputs, types, results, f)                              \
    name " SymbolicGradient " inputs " Tin=[" types "] Tout=[" results         \
         "] f=@" f "\n"

/* Says of the function that was added last that `gradient` is its gradient. */
static void set_gradient(const char *gradient)
{
    p.graph->functions[p.graph->n_functions - 1].gradient = gradient;
}

static void add_cube(void)
{
    functions_add(&p, "cube", "x=float32",
                  "s Mul x x T=float32\nc Mul s x T=float32\n", "c");
}

START_TEST(each_argument_has_its_gradient)
{
    functions_add(&p, "f", "x=float32 y=float32 i=int32",
                  "a Mul x y T=float32\nb Neg x T=float32\n", "a b i");
    program_build(&p, "x float32=3\ny float32=5\ni int32=7\n"
                      "da float32=2\ndb float32=11\n" GRADIENT(
                          "g", "x y i da db i",
                          "float32,float32,int32,float32,float32,int32",
                          "float32,float32,int32", "f"));
    program_plan(&p, NULL, "g g:1 g:2");
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == 5 * 2 - 11);
    ck_assert(program_fetch_float(&p, 1) == 3 * 2);
    ck_assert_int_eq(program_fetch_int(&p, 2), 0);
}
END_TEST

START_TEST(what_nothing_depends_on_has_zeros)
{
    functions_add(&p, "f", "x=float32 y=float32", "a Neg x T=float32\n", "a");
    program_build(&p, "x float32=3\ny float32[2]=5\n" GRADIENT(
                          "g", "x y x", "float32,float32,float32",
                          "float32,float32", "f"));
    program_plan(&p, NULL, "g:1");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(0, 0));
}
END_TEST

START_TEST(gradients_may_be_taken_of_gradients)
{
    add_cube();
    functions_add(&p, "slope", "x=float32",
                  "one OnesLike x T=float32\n" GRADIENT(
                      "g", "x one", "float32,float32", "float32", "cube"),
                  "g");
    program_build(&p, "x float32=4\none float32=1\n" GRADIENT(
                          "g", "x one", "float32,float32", "float32", "slope"));
    program_plan(&p, NULL, "g");
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == 6 * 4);
}
END_TEST

START_TEST(they_go_through_loops_and_calls)
{
    add_cube();
    functions_add(&p, "more", "i=int32 x=float32",
                  "n int32=2\nc Less i n T=int32\n", "c");
    functions_add(&p, "next", "i=int32 x=float32",
                  "one int32=1\nj AddV2 i one T=int32\n"
                  "y PartitionedCall x Tin=[float32] Tout=[float32] f=@cube\n",
                  "j y=float32");
    functions_add(&p, "twice", "x=float32",
                  "zero int32=0\n"
                  "w StatelessWhile zero x T=[int32,float32] cond=@more "
                  "body=@next\n",
                  "w:1=float32");
    program_build(&p, "x float32=2\none float32=1\n" GRADIENT(
                          "g", "x one", "float32,float32", "float32", "twice"));
    program_plan(&p, NULL, "g");
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == 9 * 256);
}
END_TEST

/* Its own gradient is 100 dy + x, whatever the function is. */
static void add_own(void)
{
    functions_add(&p, "own_gradient", "x=float32 dy=float32",
                  "h float32=100\nm Mul dy h T=float32\n"
                  "s AddV2 m x T=float32\n",
                  "s");
    functions_add(&p, "own", "x=float32", "y Mul x x T=float32\n", "y");
    set_gradient("own_gradient");
}

START_TEST(the_gradient_in_the_library_is_taken)
{
    add_own();
    program_build(&p, "x float32=3\none float32=1\n" GRADIENT(
                          "g", "x one", "float32,float32", "float32", "own"));
    program_plan(&p, NULL, "g");
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == 103);
}
END_TEST

START_TEST(so_is_that_of_a_function_that_is_called)
{
    add_own();
    functions_add(&p, "outer", "x=float32",
                  "o PartitionedCall x Tin=[float32] Tout=[float32] f=@own\n"
                  "y Mul o x T=float32\n",
                  "y");
    program_build(&p, "x float32=3\none float32=1\n" GRADIENT(
                          "g", "x one", "float32,float32", "float32", "outer"));
    program_plan(&p, NULL, "g");
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == 9 + (100 * 3 + 3));
}
END_TEST

START_TEST(functions_that_want_their_own_gradient_are_refused)
{
    functions_add(&p, "f", "x=float32",
                  GRADIENT("g", "x x", "float32,float32", "float32", "f"), "g");
    program_build(&p, "x float32=3\n" GRADIENT("g", "x x", "float32,float32",
                                               "float32", "f"));
    program_want(&p, program_try_plan(&p, NULL, "g"), EDDY_RESOURCE_EXHAUSTED,
                 EDDY_E_TOO_DEEP);
}
END_TEST

START_TEST(an_op_without_a_gradient_is_named)
{
    functions_add(&p, "f", "x=float32",
                  "c CholeskyGrad x x T=float32\ny Mul c x T=float32\n", "y");
    program_build(&p, "x float32[2,2]=3\n" GRADIENT(
                          "g", "x x", "float32,float32", "float32", "f"));
    program_want(&p, program_try_plan(&p, NULL, "g"), EDDY_UNIMPLEMENTED,
                 EDDY_E_NO_GRADIENT);
    ck_assert_str_eq(p.err.node, "g");
}
END_TEST

/* What is given: the inputs' dtypes, those of the outputs, and the failure. */
static const struct {
    const char *in, *types, *out;
    eddy_status status;
    eddy_detail detail;
} bad[] = {
    {"x", "float32", "float32", EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION},
    {"x x x", "float32,float32,float32", "float32", EDDY_INVALID_ARGUMENT,
     EDDY_E_FUNCTION},
    {"x x", "float32,float32", "float32,float32", EDDY_INVALID_ARGUMENT,
     EDDY_E_FUNCTION},
    {"x x", "float32,float32", "float64", EDDY_INTERNAL, EDDY_E_FUNCTION},
};

START_TEST(what_is_given_must_fit)
{
    char text[256];

    add_cube();
    snprintf(text, sizeof text,
             "x float32=1\ng SymbolicGradient %s Tin=[%s] Tout=[%s] f=@cube\n",
             bad[_i].in, bad[_i].types, bad[_i].out);
    program_build(&p, text);
    program_want(&p, program_try_plan(&p, NULL, "g"), bad[_i].status,
                 bad[_i].detail);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    eddy_graph *lowered = NULL;
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;

    add_own();
    functions_add(&p, "outer", "x=float32",
                  "o PartitionedCall x Tin=[float32] Tout=[float32] f=@own\n"
                  "y Mul o x T=float32\n",
                  "y");
    program_build(&p, "x float32=3\none float32=1\n" GRADIENT(
                          "g", "x one", "float32,float32", "float32", "outer"));
    for (int n = 0; status != EDDY_OK; n++) {
        ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
        counting_allocator_fail(&p.counting, n);
        status = eddy_graph_lower(p.graph, NULL, &lowered, &p.err);
        counting_allocator_fail(&p.counting, -1);
    }
    eddy_graph_destroy(lowered);
}
END_TEST

TCase *lower_derive_tests(void)
{
    TCase *tests = tcase_create("lower_derive");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, each_argument_has_its_gradient);
    tcase_add_test(tests, what_nothing_depends_on_has_zeros);
    tcase_add_test(tests, gradients_may_be_taken_of_gradients);
    tcase_add_test(tests, they_go_through_loops_and_calls);
    tcase_add_test(tests, the_gradient_in_the_library_is_taken);
    tcase_add_test(tests, so_is_that_of_a_function_that_is_called);
    tcase_add_test(tests, functions_that_want_their_own_gradient_are_refused);
    tcase_add_test(tests, an_op_without_a_gradient_is_named);
    tcase_add_loop_test(tests, what_is_given_must_fit, 0,
                        (int)(sizeof bad / sizeof *bad));
    tcase_add_test(tests, every_allocation_may_fail);
    return tests;
}
