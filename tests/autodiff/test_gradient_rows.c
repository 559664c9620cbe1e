/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients asked for in the body of a loop that reads arrays and variables:
 * one an iteration, through the iterations before.
 */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <string.h>

/*
 * x, 20 elements, is scattered to an array of 4 items, and the loop reads one a
 * trip; s sums what is asked for in the body.
 */
#define LOOP(clears, body)                                                     \
    "x float64[20]=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20\n"       \
    "z ZerosLike x\nrows int32[2]=4,5\nx2 Reshape x rows\nv0 float64[5]=0\n"   \
    "i0 int32=0\nn int32=4\none int32=1\n"                                     \
    "ta TensorArrayV3 n dtype=%float64 element_shape=[5] "                     \
    "clear_after_read=" clears "\n"                                            \
    "places Range i0 n one\nfill TensorArrayScatterV3 ta places x2 ta:1\n"     \
    "i/e Enter@w i0\ni/m Merge i/e i/n\ni/l Enter@w! n\n"                      \
    "less Less i/m i/l\nc LoopCond less\ni/s Switch i/m c\n"                   \
    "i/o Enter@w! one\ni/a AddV2 i/s:1 i/o\ni/n NextIteration i/a\n"           \
    "th Enter@w! ta\ntf Enter@w! fill\n"                                       \
    "v/e Enter@w v0\nv/m Merge v/e v/n\nv/s Switch v/m c\n" body               \
    "v/n NextIteration v/b\nv/x Exit v/s\n"                                    \
    "s/e Enter@w z\ns/m Merge s/e s/n\ns/s Switch s/m c\n"                     \
    "s/b AddV2 s/s:1 s/s:1\ns/n NextIteration s/b\ns/x Exit s/s\n"

#define READ "rd TensorArrayReadV3 th i/s:1 tf dtype=%float64\n"

static program p;

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    program_deinit(&p);
}

static eddy_status try_gradient(const char *y, const char *x, eddy_output *dx)
{
    const eddy_output from = program_output(&p, y), to = program_output(&p, x);

    return eddy_gradients(p.graph, &from, 1, &to, 1, NULL, dx, &p.err);
}

/* The sum over all trips of what is asked for in each. */
static const double *sum_of(const char *y, const char *x)
{
    const eddy_output sum = program_output(&p, "s/x");
    eddy_output dx;

    if (try_gradient(y, x, &dx) != EDDY_OK)
        ck_abort_msg("%s: %s", p.err.node, p.err.message);
    ck_assert_int_eq(eddy_graph_set_input(p.graph,
                                          program_output(&p, "s/b").node, 1, dx,
                                          &p.err),
                     EDDY_OK);
    program_plan_outputs(&p, &sum, 1);
    program_run(&p);
    return eddy_tensor_data(eddy_run_fetch(p.run, 0));
}

static double x_at(int i)
{
    return i + 1;
}

/* ---- arrays ---- */

START_TEST(the_item_of_a_trip_has_the_gradient_of_that_trip)
{
    const double *found;

    program_build(&p, _i ? LOOP("true", READ "sq Mul rd rd\nv/b Neg sq\n")
                         : LOOP("false", READ "sq Mul rd rd\nv/b Neg sq\n"));
    found = sum_of("sq", "x");
    for (int i = 0; i < 20; i++)
        ck_assert_double_eq_tol(found[i], 2 * x_at(i), 1e-12);
}
END_TEST

/* v = sum of squares of the items so far: item r counts in 4 - r trips. */
START_TEST(items_of_trips_before_count)
{
    const double *found;

    program_build(&p, _i ? LOOP("true", READ "sq Mul rd rd\n"
                                             "v/b AddV2 v/s:1 sq\n")
                         : LOOP("false", READ "sq Mul rd rd\n"
                                              "v/b AddV2 v/s:1 sq\n"));
    found = sum_of("v/b", "x");
    for (int i = 0; i < 20; i++)
        ck_assert_double_eq_tol(found[i], 2 * x_at(i) * (4 - i / 5), 1e-12);
}
END_TEST

/* In trips of an odd number alone. */
START_TEST(an_array_may_be_read_in_a_branch)
{
    const double *found;

    program_build(&p,
                  LOOP("true", "two int32=2\ntwos Enter@w! two\n"
                               "zeros Enter@w! i0\nodd FloorMod i/s:1 twos\n"
                               "p Greater odd zeros\n"
                               "b/h Switch th p\nb/i Switch i/s:1 p\n"
                               "b/f Switch tf p\nb/v Switch v/s:1 p\n"
                               "rd TensorArrayReadV3 b/h:1 b/i:1 b/f:1 "
                               "dtype=%float64\n"
                               "sq Mul rd rd\nb/t AddV2 b/v:1 sq\n"
                               "v/b Merge b/v b/t\n"));
    found = sum_of("v/b", "x");
    /* Item 1 counts in trips 1, 2 and 3, item 3 in trip 3. */
    for (int i = 0; i < 20; i++)
        ck_assert_double_eq_tol(found[i],
                                2 * x_at(i) *
                                    (i / 5 == 1   ? 3
                                     : i / 5 == 3 ? 1
                                                  : 0),
                                1e-12);
}
END_TEST

/* The values of the loop itself are what they were. */
START_TEST(the_loop_computes_what_it_did)
{
    eddy_output last, dx;
    const double *found;

    program_build(&p, LOOP("true", READ "sq Mul rd rd\nv/b AddV2 v/s:1 sq\n"));
    ck_assert_int_eq(try_gradient("v/b", "x", &dx), EDDY_OK);
    last = program_output(&p, "v/x");
    program_plan_outputs(&p, &last, 1);
    program_run(&p);
    found = eddy_tensor_data(eddy_run_fetch(p.run, 0));
    for (int i = 0; i < 5; i++) {
        double sum = 0;

        for (int r = 0; r < 4; r++)
            sum += x_at(5 * r + i) * x_at(5 * r + i);
        ck_assert_double_eq_tol(found[i], sum, 1e-12);
    }
}
END_TEST

/* Random numbers are none that can be drawn again. */
START_TEST(other_effects_are_still_refused_by_name)
{
    eddy_output dx;

    program_build(&p, LOOP("true", READ "ve Enter@w! v0\nmix RandomShuffle ve\n"
                                        "sq Mul rd mix\n"
                                        "v/b AddV2 v/s:1 sq\n"));
    program_want(&p, try_gradient("v/b", "x", &dx), EDDY_UNIMPLEMENTED,
                 EDDY_E_NO_GRADIENT);
}
END_TEST

/* ---- variables ---- */

/* v starts from x, and each trip multiplies it by a variable. */
#define VARIABLE(body)                                                         \
    "x float64[20]=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20\n"       \
    "z ZerosLike x\nthree float64=3\n"                                         \
    "w VarHandleOp dtype=%float64 shape=() shared_name='w'\n"                  \
    "init AssignVariableOp w three\n"                                          \
    "i0 int32=0\nn int32=4\none int32=1\n"                                     \
    "i/e Enter@w i0 ^init\ni/m Merge i/e i/n\ni/l Enter@w! n\n"                \
    "less Less i/m i/l\nc LoopCond less\ni/s Switch i/m c\n"                   \
    "i/o Enter@w! one\ni/a AddV2 i/s:1 i/o\ni/n NextIteration i/a\n"           \
    "h Enter@w! w\n"                                                           \
    "v/e Enter@w x\nv/m Merge v/e v/n\nv/s Switch v/m c\n"                     \
    "go Identity i/s:1\n"                                                      \
    "read ReadVariableOp h ^go dtype=%float64\n" body                          \
    "v/n NextIteration v/b\nv/x Exit v/s\n"                                    \
    "s/e Enter@w z\ns/m Merge s/e s/n\ns/s Switch s/m c\n"                     \
    "s/b AddV2 s/s:1 s/s:1\ns/n NextIteration s/b\ns/x Exit s/s\n"

/* d (3^(k+1) x) / dx, over four trips: 3 + 9 + 27 + 81. */
START_TEST(a_variable_that_no_loop_changes_is_read_once)
{
    const double *found;

    program_build(&p, VARIABLE("v/b Mul v/s:1 read\n"));
    found = sum_of("v/b", "x");
    for (int i = 0; i < 20; i++)
        ck_assert_double_eq_tol(found[i], 120, 1e-12);
}
END_TEST

START_TEST(a_variable_that_the_loop_changes_is_refused_by_name)
{
    eddy_output dx;

    program_build(&p, VARIABLE("v/b Mul v/s:1 read\n"
                               "add AssignAddVariableOp h read\n"));
    program_want(&p, try_gradient("v/b", "x", &dx), EDDY_UNIMPLEMENTED,
                 EDDY_E_NO_GRADIENT);
    ck_assert_str_eq(p.err.node, "read");
}
END_TEST

/* The n-th allocation fails: the graph computes what it did. */
START_TEST(memory_may_run_out_anywhere)
{
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;

    for (int n = 0; status != EDDY_OK; n += 1 + n / 20) {
        eddy_output dx, last;

        ck_assert_int_lt(n, 20000);
        program_clear(&p);
        program_build(&p,
                      LOOP("true", READ "sq Mul rd rd\nv/b AddV2 v/s:1 sq\n"));
        counting_allocator_fail(&p.counting, n);
        status = try_gradient("v/b", "x", &dx);
        counting_allocator_fail(&p.counting, -1);
        if (status != EDDY_OK)
            ck_assert_int_eq(p.err.detail, EDDY_E_MEMORY);
        last = program_output(&p, "v/x");
        program_plan_outputs(&p, &last, 1);
        program_run(&p);
        ck_assert_double_eq_tol(
            *(const double *)eddy_tensor_data(eddy_run_fetch(p.run, 0)),
            1 + 36 + 121 + 256, 1e-12);
    }
}
END_TEST

TCase *gradient_rows_tests(void)
{
    TCase *tcase = tcase_create("gradient_rows");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, the_item_of_a_trip_has_the_gradient_of_that_trip,
                        0, 2);
    tcase_add_loop_test(tcase, items_of_trips_before_count, 0, 2);
    tcase_add_test(tcase, an_array_may_be_read_in_a_branch);
    tcase_add_test(tcase, the_loop_computes_what_it_did);
    tcase_add_test(tcase, other_effects_are_still_refused_by_name);
    tcase_add_test(tcase, a_variable_that_no_loop_changes_is_read_once);
    tcase_add_test(tcase, a_variable_that_the_loop_changes_is_refused_by_name);
    tcase_add_test(tcase, memory_may_run_out_anywhere);
    return tcase;
}
