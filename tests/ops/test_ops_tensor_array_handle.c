/* SPDX-License-Identifier: Apache-2.0 */
/* The older forms of TensorArrays: by reference, and by two strings. */
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

/* `text`, in which each "%" is the suffix of a form. */
static void build_form(const char *text, int form)
{
    const char *suffix = form == 0 ? "" : "V2";
    char whole[4096];
    size_t length = 0;

    for (; *text; text++) {
        ck_assert_uint_lt(length + 4, sizeof whole);
        if (*text == '%')
            length += (size_t)snprintf(whole + length, 4, "%s", suffix);
        else
            whole[length++] = *text;
    }
    whole[length] = '\0';
    program_build(&p, whole);
}

#define NUMBERS                                                                \
    "zero int32=0\n"                                                           \
    "one int32=1\n"                                                            \
    "two int32=2\n"                                                            \
    "flow float32=0\n"                                                         \
    "v float32[2]=1,2\n"                                                       \
    "u float32[2]=3,4\n"                                                       \
    "back int32[2]=1,0\n"

/* The values are TensorFlow's, in tests/conformance/findings/tensor_array_v1.
 */
START_TEST(the_older_forms_work_as_the_last)
{
    build_form(NUMBERS
               "ta TensorArray% two dtype=float32 clear_after_read=false\n"
               "w0 TensorArrayWrite% ta zero v flow\n"
               "w1 TensorArrayWrite% ta one u w0\n"
               "r TensorArrayRead% ta one w1 dtype=float32\n"
               "g TensorArrayGather% ta back w1 dtype=float32\n"
               "c TensorArrayConcat% ta w1 dtype=float32\n"
               "n TensorArraySize% ta w1\n"
               "d TensorArrayGrad% ta w1 source='g'\n"
               "e TensorArrayGrad% ta w1 source='g'\n"
               "x0 TensorArrayWrite% d one u w1\n"
               "x1 TensorArrayWrite% e one v x0\n"
               "s TensorArrayRead% d one x1 dtype=float32\n"
               "z TensorArrayRead% d zero x1 dtype=float32\n",
               _i);
    program_plan(&p, NULL, "r g c c:1 n s z");
    for (int round = 0; round < 2; round++) {
        program_run(&p);
        program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(3, 4));
        program_want_fetch(&p, 1, PROGRAM_DIMS(2, 2),
                           PROGRAM_NUMBERS(3, 4, 1, 2));
        program_want_fetch(&p, 2, PROGRAM_DIMS(4), PROGRAM_NUMBERS(1, 2, 3, 4));
        program_want_fetch(&p, 3, PROGRAM_DIMS(2), PROGRAM_NUMBERS(2, 2));
        ck_assert_int_eq(program_fetch_int(&p, 4), 2);
        program_want_fetch(&p, 5, PROGRAM_DIMS(2), PROGRAM_NUMBERS(4, 6));
        program_want_fetch(&p, 6, PROGRAM_DIMS(2), PROGRAM_NUMBERS(0, 0));
    }
}
END_TEST

START_TEST(an_array_that_is_closed_is_not_used)
{
    build_form(NUMBERS "ta TensorArray% two dtype=float32\n"
                       "c TensorArrayClose% ta\n"
                       "d TensorArrayClose% ta ^c\n"
                       "f Identity flow ^d\n"
                       "n TensorArraySize% ta f\n",
               _i);
    program_plan(&p, NULL, "n");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT, EDDY_E_CLOSED);
}
END_TEST

/*
 * An array a trip, none of whose names is that of another; the names of the
 * last go round the loop, and the array is there after it.
 */
#define LOOP                                                                   \
    NUMBERS "n int32=30\n"                                                     \
            "none string[2]=a,b\n"                                             \
            "i Enter@l zero\n"                                                 \
            "h Enter@l none\n"                                                 \
            "en Enter@l! n\n"                                                  \
            "e0 Enter@l! zero\n"                                               \
            "e1 Enter@l! one\n"                                                \
            "ef Enter@l! flow\n"                                               \
            "mi Merge i ni\n"                                                  \
            "mh Merge h nh\n"                                                  \
            "less Less mi en\n"                                                \
            "c LoopCond less\n"                                                \
            "si Switch mi c\n"                                                 \
            "sh Switch mh c\n"                                                 \
            "ta TensorArrayV2 e1 ^si:1 dtype=int32 clear_after_read=false\n"   \
            "w TensorArrayWriteV2 ta e0 si:1 ef\n"                             \
            "after Identity ta ^w\n"                                           \
            "plus Add si:1 e1\n"                                               \
            "ni NextIteration plus\n"                                          \
            "nh NextIteration after\n"                                         \
            "out Exit sh\n"                                                    \
            "last TensorArrayReadV2 out zero flow dtype=int32\n"               \
            "size TensorArraySizeV2 out flow\n"

START_TEST(an_array_with_a_name_lives_as_long_as_the_run)
{
    program_build(&p, LOOP);
    program_plan(&p, NULL, "last size");
    for (int round = 0; round < 2; round++) {
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), 29);
        ck_assert_int_eq(program_fetch_int(&p, 1), 1);
    }
}
END_TEST

START_TEST(strings_that_name_nothing_are_refused)
{
    program_build(&p,
                  NUMBERS "names string[2]=_tensor_arrays,ta_2\n"
                          "three string[3]=_tensor_arrays,ta_1,x\n"
                          "t Identity three\n"
                          "ta TensorArrayV2 two dtype=float32\n"
                          "a TensorArraySizeV2 names flow ^ta\n"
                          "b TensorArrayConcatV2 t flow ^ta dtype=float32\n");
    program_plan(&p, NULL, "a");
    program_want(&p, program_execute(&p), EDDY_NOT_FOUND, EDDY_E_RESOURCE);
    ck_assert_ptr_nonnull(strstr(p.err.message, "no TensorArray 'ta_2'"));
    program_plan(&p, NULL, "b");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

START_TEST(the_older_forms_have_gradients)
{
    eddy_output x, y, dx;

    build_form(NUMBERS "ta TensorArray% two dtype=float32\n"
                       "w TensorArrayWrite% ta zero v flow\n"
                       "r TensorArrayRead% ta zero w dtype=float32\n"
                       "y Mul r r\n",
               _i);
    x = program_output(&p, "v");
    y = program_output(&p, "y");
    program_want_ok(&p,
                    eddy_gradients(p.graph, &y, 1, &x, 1, NULL, &dx, &p.err));
    program_plan_outputs(&p, &dx, 1);
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(2, 4));
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;
    int n;

    program_build(&p, LOOP "d TensorArrayGradV2 out flow source='g'\n");
    for (n = 0; status != EDDY_OK; n++) {
        program_plan(&p, NULL, "last d");
        program_make_run(&p);
        counting_allocator_allow(&p.counting, n);
        status = program_execute(&p);
        counting_allocator_allow(&p.counting, -1);
        if (status != EDDY_OK)
            program_want(&p, status, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), 29);
    }
    ck_assert_int_gt(n, 3);
}
END_TEST

TCase *ops_tensor_array_handle_tests(void)
{
    TCase *tests = tcase_create("ops_tensor_array_handle");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, the_older_forms_work_as_the_last, 0, 2);
    tcase_add_loop_test(tests, an_array_that_is_closed_is_not_used, 0, 2);
    tcase_add_test(tests, an_array_with_a_name_lives_as_long_as_the_run);
    tcase_add_test(tests, strings_that_name_nothing_are_refused);
    tcase_add_loop_test(tests, the_older_forms_have_gradients, 0, 2);
    tcase_add_test(tests, every_allocation_may_fail);
    return tests;
}
