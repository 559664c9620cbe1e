/* SPDX-License-Identifier: Apache-2.0 */
/* Assigning to what index expressions take of variables. */
#include "tests/aid/program.h"
#include "tests/suites.h"

static program p;

static void begin(void)
{
    program_init_session(&p);
}

static void end(void)
{
    program_deinit(&p);
}

/* The int32 elements of the fetch `what`. */
static void want(const char *what, size_t n, const int32_t *values)
{
    const eddy_tensor *t;
    const int32_t *got;

    program_run_fetches(&p, what);
    t = eddy_run_fetch(p.run, 0);
    ck_assert_int_eq(eddy_tensor_count(t), (int64_t)n);
    got = eddy_tensor_data(t);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(got[i], values[i]);
}

#define WANT(what, ...)                                                        \
    want((what), sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t),     \
         (const int32_t[]){__VA_ARGS__})

#define START                                                                  \
    "v VarHandleOp dtype=int32 shape=? shared_name='v'\n"                      \
    "start int32[2,3]=1,2,3,4,5,6\n"                                           \
    "init AssignVariableOp v start\n"                                          \
    "read ReadVariableOp v dtype=int32\n"                                      \
    "none int32[0]=0\nat0 int32[1]=0\nat1 int32[1]=1\nat2 int32[1]=2\n"        \
    "zeros int32[2]=0\nends int32[2]=2,3\nsteps int32[2]=1,2\n"                \
    "ones int32[2]=1\nless int32[2]=-1\nseven int32=7\n"                       \
    "pair int32[2,1]=8,9\nrow int32[3]=7,8,9\ntwo int32[2]=8,9\n"

START_TEST(slices_are_assigned_and_values_repeated)
{
    program_build(
        &p, START
        "one ResourceStridedSliceAssign v at1 at2 at1 row shrink_axis_mask=1\n"
        "all ResourceStridedSliceAssign v zeros ends steps seven\n"
        "rows ResourceStridedSliceAssign v zeros ends steps pair\n"
        "empty ResourceStridedSliceAssign v at2 at2 at1 two\n"
        "index ResourceStridedSliceAssign v at2 at2 at1 row "
        "shrink_axis_mask=1\n"
        "shape ResourceStridedSliceAssign v at0 at2 at1 two\n"
        "step ResourceStridedSliceAssign v at0 at2 at0 row\n"
        "long ResourceStridedSliceAssign v at0 ends at1 row\n"
        "f float32=1\n"
        "dtype ResourceStridedSliceAssign v at0 at2 at1 f\n");
    ck_assert_int_eq(program_try_fetches(&p, "^one"), EDDY_NOT_FOUND);
    program_run_fetches(&p, "^init");
    program_run_fetches(&p, "^one");
    WANT("read", 1, 2, 3, 7, 8, 9);
    program_run_fetches(&p, "^all");
    WANT("read", 7, 2, 7, 7, 8, 7);
    program_run_fetches(&p, "^rows");
    WANT("read", 8, 2, 8, 9, 8, 9);
    program_run_fetches(&p, "^init");
    program_run_fetches(&p, "^empty");
    WANT("read", 1, 2, 3, 4, 5, 6);
    program_want(&p, program_try_fetches(&p, "^index"), EDDY_INVALID_ARGUMENT,
                 EDDY_E_INDEX);
    program_want(&p, program_try_fetches(&p, "^shape"), EDDY_INVALID_ARGUMENT,
                 EDDY_E_SHAPE);
    program_want(&p, program_try_fetches(&p, "^step"), EDDY_INVALID_ARGUMENT,
                 EDDY_E_VALUE);
    program_want(&p, program_try_fetches(&p, "^long"), EDDY_INVALID_ARGUMENT,
                 EDDY_E_SHAPE);
    program_want(&p, program_try_fetches(&p, "^dtype"), EDDY_INVALID_ARGUMENT,
                 EDDY_E_DTYPE);
    WANT("read", 1, 2, 3, 4, 5, 6);
}
END_TEST

START_TEST(slices_of_references_and_scalars_are_assigned)
{
    program_build(&p, START
                  "r VariableV2 dtype=int32 shape=[2,3] shared_name='r'\n"
                  "set Assign r start\n"
                  "part StridedSliceAssign set at0 at1 at1 row\n"
                  "got Identity part\n"
                  "s VarHandleOp dtype=int32 shape=() shared_name='s'\n"
                  "init_s AssignVariableOp s seven\n"
                  "nine int32=9\n"
                  "whole ResourceStridedSliceAssign s none none none nine\n"
                  "read_s ReadVariableOp s dtype=int32\n");
    WANT("got", 7, 8, 9, 4, 5, 6);
    program_run_fetches(&p, "^init_s");
    program_run_fetches(&p, "^whole");
    WANT("read_s", 9);
}
END_TEST

START_TEST(what_somebody_holds_is_copied)
{
    program_build(&p, START
                  "set ResourceStridedSliceAssign v at0 at1 at1 row ^read\n"
                  "again ReadVariableOp v dtype=int32 ^set\n"
                  "both AddV2 again read\n");
    program_run_fetches(&p, "^init");
    WANT("both", 8, 10, 12, 8, 10, 12);
}
END_TEST

START_TEST(strings_are_assigned_or_nothing_is)
{
    bool done = false;

    program_build(&p,
                  START "w VarHandleOp dtype=string shape=? shared_name='w'\n"
                        "texts string[3]=a,bcd,e\n"
                        "init_w AssignVariableOp w texts\n"
                        "more string[1]=another\n"
                        "at3 int32[1]=3\n"
                        "set ResourceStridedSliceAssign w at0 at3 at2 more\n"
                        "read_w ReadVariableOp w dtype=string\n");
    for (int64_t n = 0; !done; n++) {
        static const size_t before[] = {1, 3, 1}, after[] = {7, 3, 7};
        eddy_status status;

        program_run_fetches(&p, "^init_w");
        program_plan(&p, NULL, "^set");
        counting_allocator_allow(&p.counting, n);
        status = eddy_run_create(p.plan, &p.run_options, &p.run, &p.err);
        if (status == EDDY_OK)
            status = eddy_run_execute(p.run, &p.err);
        counting_allocator_allow(&p.counting, -1);
        done = status == EDDY_OK;
        ck_assert_int_lt(n, 200);
        if (!done)
            ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
        program_run_fetches(&p, "read_w");
        for (int64_t i = 0; i < 3; i++)
            ck_assert_uint_eq(
                eddy_tensor_string(eddy_run_fetch(p.run, 0), i).length,
                (done ? after : before)[i]);
    }
}
END_TEST

TCase *variable_slices_tests(void)
{
    TCase *tc = tcase_create("variable_slices");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, slices_are_assigned_and_values_repeated);
    tcase_add_test(tc, slices_of_references_and_scalars_are_assigned);
    tcase_add_test(tc, what_somebody_holds_is_copied);
    tcase_add_test(tc, strings_are_assigned_or_nothing_is);
    return tc;
}
