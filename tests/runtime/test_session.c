/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/thread.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <string.h>

static program p;
static eddy_session *session;

static void begin(void)
{
    program_init(&p, 0);
    ck_assert_int_eq(eddy_session_create(p.ctx, &session, &p.err), EDDY_OK);
    p.run_options.session = session;
}

static void end(void)
{
    eddy_session_release(session);
    program_deinit(&p);
}

static eddy_tensor *floats(int32_t rank, int64_t n, const float *values)
{
    const eddy_shape shape = {.rank = rank, .dims = {n}};

    return program_tensor(&p, EDDY_FLOAT32, &shape, values);
}

static eddy_status set(const char *name, eddy_tensor *tensor)
{
    const eddy_status status =
        eddy_session_set_variable(session, name, tensor, &p.err);

    eddy_tensor_release(tensor);
    return status;
}

/* The sum of the elements of a float32 variable. */
static float sum_of(const char *name)
{
    eddy_tensor *tensor;
    float sum = 0;

    ck_assert_int_eq(eddy_session_get_variable(session, name, &tensor, &p.err),
                     EDDY_OK);
    for (int64_t i = 0; i < eddy_tensor_count(tensor); i++)
        sum += ((const float *)eddy_tensor_data(tensor))[i];
    eddy_tensor_release(tensor);
    return sum;
}

static void run(const char *what)
{
    program_plan(&p, NULL, what);
    program_run(&p);
}

START_TEST(a_variable_is_set_run_and_got)
{
    const float two[] = {1, 2}, one = 5;

    ck_assert_int_eq(set("v", floats(1, 2, two)), EDDY_OK);
    ck_assert_int_eq(set("s", floats(0, 0, &one)), EDDY_OK);
    program_build(&p, "v VarHandleOp dtype=float32 shape=?\n"
                      "s VarHandleOp dtype=float32 shape=()\n"
                      "ten float32[2]=10\n"
                      "x float32=1\n"
                      "add AssignAddVariableOp v ten\n"
                      "add_s AssignAddVariableOp s x\n");
    run("^add ^add_s");
    run("^add ^add_s");
    ck_assert_float_eq(sum_of("v"), 43);
    ck_assert_float_eq(sum_of("s"), 7);
}
END_TEST

START_TEST(a_tensor_that_was_got_stays_as_it_is)
{
    const float two[] = {1, 2};
    eddy_tensor *before;

    ck_assert_int_eq(set("v", floats(1, 2, two)), EDDY_OK);
    ck_assert_int_eq(eddy_session_get_variable(session, "v", &before, &p.err),
                     EDDY_OK);
    program_build(&p, "v VarHandleOp dtype=float32 shape=?\n"
                      "ten float32[2]=10\n"
                      "add AssignAddVariableOp v ten\n");
    run("^add");
    ck_assert_float_eq(((const float *)eddy_tensor_data(before))[1], 2);
    ck_assert_float_eq(sum_of("v"), 23);
    eddy_tensor_release(before);
}
END_TEST

START_TEST(what_does_not_exist_or_fit_is_told)
{
    const int32_t number = 1;
    const eddy_shape scalar = {.rank = 0};
    const float three[] = {1, 2, 3};
    eddy_tensor *tensor;

    program_want(&p, eddy_session_get_variable(session, "v", &tensor, &p.err),
                 EDDY_NOT_FOUND, EDDY_E_UNINITIALIZED);
    ck_assert_ptr_null(tensor);
    ck_assert_ptr_nonnull(strstr(p.err.message, "'v'"));
    program_build(&p, "v VarHandleOp dtype=float32 shape=[2]\n"
                      "has VarIsInitializedOp v\n");
    run("has");
    program_want(&p, eddy_session_get_variable(session, "v", &tensor, &p.err),
                 EDDY_NOT_FOUND, EDDY_E_UNINITIALIZED);
    program_want(&p, set("v", floats(1, 3, three)), EDDY_INVALID_ARGUMENT,
                 EDDY_E_SHAPE);
    program_want(&p, set("v", program_tensor(&p, EDDY_INT32, &scalar, &number)),
                 EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
    ck_assert_int_eq(set("v", floats(1, 2, three)), EDDY_OK);
    program_want(&p, set("v", program_tensor(&p, EDDY_INT32, &scalar, &number)),
                 EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
    program_want(&p, eddy_session_set_variable(session, "v", NULL, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    program_want(&p, eddy_session_get_variable(session, NULL, &tensor, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    ck_assert_float_eq(sum_of("v"), 3);
}
END_TEST

START_TEST(variables_are_listed_in_their_order)
{
    const float two[] = {1, 2};
    eddy_variable_info info;

    ck_assert_uint_eq(eddy_session_variables(session), 0);
    ck_assert(!eddy_session_variable(session, 0, &info));
    ck_assert_int_eq(set("b", floats(1, 2, two)), EDDY_OK);
    program_build(&p, "a VarHandleOp dtype=int64 shape=[?,3]\n"
                      "has VarIsInitializedOp a\n");
    run("has");
    ck_assert_uint_eq(eddy_session_variables(session), 2);
    ck_assert(eddy_session_variable(session, 0, &info));
    ck_assert_str_eq(info.name, "b");
    ck_assert(info.is_initialized);
    ck_assert_int_eq(info.dtype, EDDY_FLOAT32);
    ck_assert_int_eq(info.shape.dims[0], 2);
    ck_assert(eddy_session_variable(session, 1, &info));
    ck_assert_str_eq(info.name, "a");
    ck_assert(!info.is_initialized);
    ck_assert_int_eq(info.dtype, EDDY_INT64);
    ck_assert_int_eq(info.shape.rank, 2);
    ck_assert(!eddy_session_variable(session, 2, &info));
    eddy_session_clear(session);
    ck_assert_uint_eq(eddy_session_variables(session), 0);
    ck_assert_int_eq(set("a", floats(1, 2, two)), EDDY_OK);
    ck_assert_float_eq(sum_of("a"), 3);
}
END_TEST

/* The value comes from a run that is gone, and goes with the session. */
START_TEST(a_session_outlives_its_runs)
{
    eddy_tensor *tensor;

    program_build(&p, "v VarHandleOp dtype=float32 shape=?\n"
                      "x float32[500]=2\ny Add x x\n"
                      "set AssignVariableOp v y\n");
    run("^set");
    program_clear(&p);
    ck_assert_float_eq(sum_of("v"), 2000);
    ck_assert_int_eq(eddy_session_get_variable(session, "v", &tensor, &p.err),
                     EDDY_OK);
    eddy_session_clear(session);
    ck_assert_float_eq(((const float *)eddy_tensor_data(tensor))[499], 4);
    eddy_tensor_release(tensor);
}
END_TEST

#define N_ROUNDS 300

/* Sets and gets while runs add: what is got is one value or another. */
static void meddle(void *arg)
{
    (void)arg;
    for (int i = 0; i < N_ROUNDS; i++) {
        const float values[] = {(float)i, (float)i};
        eddy_tensor *got;
        const float *data;

        ck_assert_int_eq(eddy_session_get_variable(session, "v", &got, NULL),
                         EDDY_OK);
        data = eddy_tensor_data(got);
        ck_assert_float_eq(data[0], data[1]);
        eddy_tensor_release(got);
        got = floats(1, 2, values);
        ck_assert_int_eq(eddy_session_set_variable(session, "v", got, NULL),
                         EDDY_OK);
        eddy_tensor_release(got);
    }
}

START_TEST(threads_set_and_get_while_runs_update)
{
    const float two[] = {0, 0};
    eddy__thread thread;

    ck_assert_int_eq(set("v", floats(1, 2, two)), EDDY_OK);
    program_build(&p, "v VarHandleOp dtype=float32 shape=?\n"
                      "x float32[2]=1\n"
                      "add AssignAddVariableOp v x\n");
    program_plan(&p, NULL, "^add");
    program_run(&p);
    ck_assert_int_eq(eddy__thread_start(&thread, 0, meddle, NULL, NULL),
                     EDDY_OK);
    for (int i = 0; i < N_ROUNDS; i++)
        program_run(&p);
    eddy__thread_join(&thread);
    ck_assert_float_ge(sum_of("v"), 0);
}
END_TEST

START_TEST(setting_and_getting_survive_failing_allocations)
{
    const float values[] = {1, 2};
    eddy_tensor *tensor = floats(1, 2, values), *got = NULL;
    bool is_set = false, is_got = false;

    for (int64_t n = 0; !is_set || !is_got; n++) {
        eddy_status status;

        counting_allocator_allow(&p.counting, n);
        status = is_set
                     ? eddy_session_get_variable(session, "v", &got, &p.err)
                     : eddy_session_set_variable(session, "v", tensor, &p.err);
        counting_allocator_allow(&p.counting, -1);
        ck_assert(status == EDDY_OK || status == EDDY_RESOURCE_EXHAUSTED);
        is_got = is_set && status == EDDY_OK;
        n = !is_set && status == EDDY_OK ? -1 : n;
        is_set = is_set || status == EDDY_OK;
        ck_assert_int_lt(n, 50);
    }
    eddy_tensor_release(got);
    eddy_tensor_release(tensor);
    ck_assert_float_eq(sum_of("v"), 3);
}
END_TEST

TCase *session_tests(void)
{
    TCase *tc = tcase_create("session");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, a_variable_is_set_run_and_got);
    tcase_add_test(tc, a_tensor_that_was_got_stays_as_it_is);
    tcase_add_test(tc, what_does_not_exist_or_fit_is_told);
    tcase_add_test(tc, variables_are_listed_in_their_order);
    tcase_add_test(tc, a_session_outlives_its_runs);
    tcase_add_test(tc, threads_set_and_get_while_runs_update);
    tcase_add_test(tc, setting_and_getting_survive_failing_allocations);
    return tc;
}
