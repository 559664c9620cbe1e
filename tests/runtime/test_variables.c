/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/thread.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

static program p;

static void begin(void)
{
    program_init_session(&p);
}

static void end(void)
{
    program_deinit(&p);
}

static void refuse(const char *what, eddy_status code, eddy_detail detail)
{
    program_want(&p, program_try_fetches(&p, what), code, detail);
    ck_assert_msg(strstr(p.err.message, "'v'") != NULL ||
                      code == EDDY_INVALID_ARGUMENT,
                  "the variable is not named: %s", p.err.message);
}

static void want_floats(const char *what, size_t n, const float *values)
{
    const eddy_tensor *t;

    program_run_fetches(&p, what);
    t = eddy_run_fetch(p.run, 0);
    ck_assert_int_eq(eddy_tensor_count(t), (int64_t)n);
    for (size_t i = 0; i < n; i++)
        ck_assert_float_eq(((const float *)eddy_tensor_data(t))[i], values[i]);
}

#define WANT(what, ...)                                                        \
    want_floats((what), sizeof((const float[]){__VA_ARGS__}) / sizeof(float),  \
                (const float[]){__VA_ARGS__})

#define HANDLE "v VarHandleOp dtype=float32 shape=? shared_name='v'\n"
#define READ "read ReadVariableOp v dtype=float32\n"
#define INIT                                                                   \
    "start float32[3]=2\n"                                                     \
    "init AssignVariableOp v start\n"

/* ---- a value that stays ---- */

START_TEST(a_value_outlives_its_run)
{
    program_build(&p, HANDLE READ INIT "one float32[3]=1\n"
                                       "add AssignAddVariableOp v one\n"
                                       "sub AssignSubVariableOp v start\n");
    program_run_fetches(&p, "^init");
    WANT("read", 2, 2, 2);
    program_run_fetches(&p, "^add");
    program_run_fetches(&p, "^add");
    WANT("read", 4, 4, 4);
    program_run_fetches(&p, "^sub");
    WANT("read", 2, 2, 2);
}
END_TEST

START_TEST(without_a_session_state_ends_with_the_run)
{
    eddy_session *session = p.run_options.session;

    p.run_options.session = NULL;
    program_build(&p,
                  HANDLE INIT "has VarIsInitializedOp v\n"
                              "after ReadVariableOp v dtype=float32 ^init\n");
    program_plan(&p, NULL, "after has");
    program_run(&p);
    program_run(&p);
    program_run_fetches(&p, "has");
    ck_assert_int_eq(program_fetch_int(&p, 0), 0);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 0);
    p.run_options.session = session;
}
END_TEST

START_TEST(sessions_are_apart)
{
    eddy_session *first = p.run_options.session, *second;

    ck_assert_int_eq(eddy_session_create(p.ctx, &second, &p.err), EDDY_OK);
    program_build(&p, HANDLE READ INIT "has VarIsInitializedOp v\n"
                                       "add AssignAddVariableOp v start\n");
    program_run_fetches(&p, "^init");
    p.run_options.session = second;
    program_run_fetches(&p, "has");
    ck_assert_int_eq(program_fetch_int(&p, 0), 0);
    program_run_fetches(&p, "^init");
    program_run_fetches(&p, "^add");
    WANT("read", 4, 4, 4);
    p.run_options.session = first;
    WANT("read", 2, 2, 2);
    eddy_session_release(second);
}
END_TEST

START_TEST(names_and_containers_tell_variables_apart)
{
    program_build(&p, "v VarHandleOp dtype=float32 shape=()\n"
                      "w VarHandleOp dtype=float32 shape=() shared_name='v'\n"
                      "x VarHandleOp dtype=float32 shape=() shared_name='v' "
                      "container='c'\n"
                      "one float32=1\n"
                      "init AssignVariableOp v one\n"
                      "has_w VarIsInitializedOp w\n"
                      "has_x VarIsInitializedOp x\n");
    program_run_fetches(&p, "^init");
    program_run_fetches(&p, "has_w has_x");
    ck_assert_int_eq(program_fetch_int(&p, 0), 1);
    ck_assert_int_eq(program_fetch_int(&p, 1), 0);
}
END_TEST

static void want_shared_name(const eddy_graph *graph, const char *node,
                             const char *name)
{
    eddy_attr attr;

    ck_assert(eddy_graph_node_attr(graph, eddy_graph_find(graph, node),
                                   "shared_name", &attr));
    ck_assert_uint_eq(attr.as.strings[0].length, strlen(name));
    ck_assert_int_eq(
        memcmp(attr.as.strings[0].data, name, attr.as.strings[0].length), 0);
}

/* TensorFlow takes all handles without a name for one variable's. */
START_TEST(a_saved_handle_says_which_variable_it_is)
{
    eddy_graph *loaded;

    program_build(&p, "a VarHandleOp dtype=float32 shape=()\n"
                      "b VarHandleOp dtype=float32 shape=() container='c'\n"
                      "c VarHandleOp dtype=float32 shape=() shared_name='a'\n"
                      "d VariableV2 dtype=float32 shape=()\n");
    loaded = program_save_and_load(&p, p.graph);
    want_shared_name(loaded, "a", "a");
    want_shared_name(loaded, "b", "b");
    want_shared_name(loaded, "c", "a");
    want_shared_name(loaded, "d", "");
    want_shared_name(p.graph, "a", "");
    eddy_graph_destroy(loaded);
}
END_TEST

START_TEST(an_anonymous_variable_is_new_in_each_execution)
{
    program_build(&p, "v VarHandleOp dtype=float32 shape=() shared_name="
                      "'cd2c89b7-88b7-44c8-ad83-06c2a9158347'\n"
                      "has VarIsInitializedOp v\n"
                      "one float32=1\n"
                      "init AssignVariableOp v one ^has\n"
                      "read ReadVariableOp v dtype=float32 ^init\n");
    for (int i = 0; i < 2; i++) {
        program_run_fetches(&p, "has read");
        ck_assert_int_eq(program_fetch_int(&p, 0), 0);
        ck_assert_float_eq(program_fetch_float(&p, 1), 1);
    }
}
END_TEST

START_TEST(a_read_value_does_not_change)
{
    eddy_tensor *before;

    program_build(&p, HANDLE READ INIT "add AssignAddVariableOp v start\n");
    program_run_fetches(&p, "^init");
    program_run_fetches(&p, "read");
    before = eddy_tensor_retain(eddy_run_fetch(p.run, 0));
    program_run_fetches(&p, "^add");
    for (int i = 0; i < 3; i++)
        ck_assert_float_eq(((const float *)eddy_tensor_data(before))[i], 2);
    eddy_tensor_release(before);
    WANT("read", 4, 4, 4);
}
END_TEST

START_TEST(an_update_of_what_nobody_holds_is_in_place)
{
    const void *data;

    program_build(&p, HANDLE READ "start float32[300]=2\n"
                                  "twice Add start start\n"
                                  "init AssignVariableOp v twice\n"
                                  "add AssignAddVariableOp v start\n");
    program_run_fetches(&p, "^init");
    program_run_fetches(&p, "read");
    data = eddy_tensor_data(eddy_run_fetch(p.run, 0));
    program_run_fetches(&p, "^add");
    program_run_fetches(&p, "read");
    ck_assert_ptr_eq(eddy_tensor_data(eddy_run_fetch(p.run, 0)), data);
}
END_TEST

/* A value that is both read and added. */
START_TEST(a_variable_is_added_to_itself)
{
    program_build(&p, HANDLE READ INIT "add AssignAddVariableOp v read\n"
                                       "after ReadVariableOp v dtype=float32 "
                                       "^add\n");
    program_run_fetches(&p, "^init");
    WANT("after", 4, 4, 4);
    WANT("after", 8, 8, 8);
}
END_TEST

/* ---- what has no value ---- */

START_TEST(an_uninitialized_variable_is_named)
{
    program_build(&p, HANDLE READ
                  "one float32=1\n"
                  "zero int32[1]=0\n"

                  "ones float32[1]=1\n"
                  "add AssignAddVariableOp v one\n"
                  "shape VariableShape v\n"
                  "gather ResourceGather v zero dtype=float32\n"
                  "scatter ResourceScatterAdd v zero ones\n"
                  "destroy DestroyResourceOp v ignore_lookup_error=false\n"
                  "calm DestroyResourceOp v\n");
    refuse("read", EDDY_FAILED_PRECONDITION, EDDY_E_UNINITIALIZED);
    ck_assert_str_eq(p.err.node, "read");
    refuse("^add", EDDY_NOT_FOUND, EDDY_E_UNINITIALIZED);
    refuse("shape", EDDY_NOT_FOUND, EDDY_E_UNINITIALIZED);
    refuse("gather", EDDY_NOT_FOUND, EDDY_E_UNINITIALIZED);
    refuse("^scatter", EDDY_NOT_FOUND, EDDY_E_UNINITIALIZED);
    refuse("^destroy", EDDY_NOT_FOUND, EDDY_E_RESOURCE);
    program_run_fetches(&p, "^calm");
}
END_TEST

START_TEST(a_destroyed_variable_may_be_assigned_anew)
{
    program_build(&p, HANDLE READ INIT
                  "has VarIsInitializedOp v\n"
                  "destroy DestroyResourceOp v ignore_lookup_error=false\n"
                  "add AssignAddVariableOp v start\n");
    program_run_fetches(&p, "^init");
    program_run_fetches(&p, "^destroy");
    program_run_fetches(&p, "has");
    ck_assert_int_eq(program_fetch_int(&p, 0), 0);
    refuse("read", EDDY_FAILED_PRECONDITION, EDDY_E_UNINITIALIZED);
    refuse("^add", EDDY_NOT_FOUND, EDDY_E_UNINITIALIZED);
    refuse("^destroy", EDDY_NOT_FOUND, EDDY_E_RESOURCE);
    program_run_fetches(&p, "^init");
    WANT("read", 2, 2, 2);
}
END_TEST

/* ---- what does not fit ---- */

START_TEST(shapes_are_checked_as_tensorflow_does)
{
    program_build(&p, HANDLE READ INIT
                  "s VarHandleOp dtype=float32 shape=[2] shared_name='s'\n"
                  "two float32[2]=7\n"
                  "four float32[4]=7\n"
                  "any ?float32\n"
                  "strict AssignVariableOp v two validate_shape=true\n"
                  "loose AssignVariableOp v two\n"
                  "add AssignAddVariableOp v four\n"
                  "bad AssignVariableOp s four\n"
                  "good AssignVariableOp s two\n"
                  "shape VariableShape v out_type=int64\n");
    program_run_fetches(&p, "^init");
    refuse("^strict", EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    refuse("^add", EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    WANT("read", 2, 2, 2);
    program_run_fetches(&p, "^loose");
    WANT("read", 7, 7);
    program_run_fetches(&p, "shape");
    ck_assert_int_eq(program_fetch_int(&p, 0), 2);
    refuse("^bad", EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    program_run_fetches(&p, "^good");
}
END_TEST

/* Only what is known when the plan is made is held against the handle. */
START_TEST(a_shape_that_is_fed_need_not_be_the_handles)
{
    const float values[] = {1, 2, 3};

    program_build(&p, "v VarHandleOp dtype=float32 shape=[2] shared_name='v'\n"
                      "two float32[2]=7\n"
                      "x Identity two\n"
                      "set AssignVariableOp v x\n" READ);
    program_plan(&p, "x", "^set");
    program_feed_floats(&p, 0, values, 3);
    program_run(&p);
    WANT("read", 1, 2, 3);
}
END_TEST

START_TEST(dtypes_are_checked)
{
    program_build(&p, HANDLE READ INIT
                  "w VarHandleOp dtype=int32 shape=? shared_name='v'\n"
                  "one int32=1\n"
                  "set AssignVariableOp w one\n"
                  "get ReadVariableOp w dtype=int32\n"
                  "add AssignAddVariableOp w one\n"
                  "flag bool=1\n"
                  "flag_set AssignVariableOp w flag\n"
                  "flag_add AssignAddVariableOp w flag\n");
    program_run_fetches(&p, "^init");
    refuse("^set", EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
    refuse("get", EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
    refuse("^add", EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
    refuse("^flag_add", EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL);
    WANT("read", 2, 2, 2);
    program_renew_session(&p);
    refuse("^flag_set", EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
}
END_TEST

/* ---- control flow ---- */

/* `n` iterations, each of which adds 1 after the one before has. */
static void build_counter(const char *parallel)
{
    char text[1024];

    snprintf(text, sizeof text,
             "v VarHandleOp dtype=int64 shape=() shared_name='v'\n"
             "zero int64=0\none int64=1\nn ?int64\n"
             "init AssignVariableOp v zero\n"
             "i0 Enter@w#%s zero ^init\n"
             "handle Enter@w!#%s v\n"
             "one_in Enter@w!#%s one\n"
             "n_in Enter@w!#%s n\n"
             "i Merge i0 i2\n"
             "less Less i n_in\n"
             "cond LoopCond less\n"
             "s Switch i cond\n"
             "body Identity s:1\n"
             "add AssignAddVariableOp handle one_in ^body\n"
             "seen ReadVariableOp handle dtype=int64 ^add\n"
             "i1 Add body one_in\n"
             "same Equal seen i1\n"
             "check Assert same seen\n"
             "i2 NextIteration i1 ^check\n"
             "x Exit s\n"
             "read ReadVariableOp v dtype=int64 ^x\n",
             parallel, parallel, parallel, parallel);
    program_build(&p, text);
}

START_TEST(control_edges_order_updates_in_a_loop)
{
    static const char *const parallel[] = {"1", "10", "1000"};
    const int64_t n = (int64_t)program_scale(20000, 2000);

    build_counter(parallel[_i]);
    program_plan(&p, "n", "read x");
    program_feed_int(&p, 0, n);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), n);
    program_feed_int(&p, 0, 0);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 0);
}
END_TEST

START_TEST(a_dead_update_does_not_happen)
{
    program_build(&p,
                  HANDLE READ INIT "yes bool=1\n"
                                   "s Switch v yes\n"
                                   "no AssignSubVariableOp s start\n"
                                   "go AssignAddVariableOp s:1 start\n"
                                   "t Switch v yes\n"
                                   "dead ReadVariableOp t dtype=float32\n"
                                   "live ReadVariableOp t:1 dtype=float32 ^go\n"
                                   "either Merge dead live\n");
    program_run_fetches(&p, "^init");
    WANT("either ^no", 4, 4, 4);
    WANT("read", 4, 4, 4);
}
END_TEST

/* ---- every dtype ---- */

/* What one update of `from` by `by` should give. */
static double expected(int op, double from, double by)
{
    return op == 0 ? by : op == 1 ? from + by : from - by;
}

static const eddy_dtype numbers[] = {
    EDDY_FLOAT16, EDDY_FLOAT32, EDDY_FLOAT64, EDDY_INT8,
    EDDY_INT16,   EDDY_INT32,   EDDY_INT64,   EDDY_UINT8,
    EDDY_UINT16,  EDDY_UINT32,  EDDY_UINT64,  EDDY_COMPLEX64};

#define N_NUMBERS (sizeof numbers / sizeof numbers[0])

START_TEST(every_number_is_assigned_added_and_subtracted)
{
    static const char *const ops[] = {"set", "add", "sub"};
    const char *type = eddy_dtype_name(numbers[_i]);
    char text[1024];

    snprintf(text, sizeof text,
             "v VarHandleOp dtype=%s shape=? shared_name='v'\n"
             "seven int32[20]=7\nthree int32[20]=3\n"
             "a Cast seven DstT=%s\nb Cast three DstT=%s\n"
             "init AssignVariableOp v a\n"
             "set AssignVariableOp v b ^init\n"
             "add AssignAddVariableOp v b ^init\n"
             "sub AssignSubVariableOp v b ^init\n"
             "read ReadVariableOp v dtype=%s\n"
             "back Cast read DstT=int32\n",
             type, type, type, type);
    program_build(&p, text);
    for (int i = 0; i < 3; i++) {
        char target[8];
        const eddy_tensor *t;

        snprintf(target, sizeof target, "^%s", ops[i]);
        program_run_fetches(&p, target);
        program_run_fetches(&p, "back");
        t = eddy_run_fetch(p.run, 0);
        for (int j = 0; j < 20; j++)
            ck_assert_int_eq(((const int32_t *)eddy_tensor_data(t))[j],
                             (int)expected(i, 7, 3));
    }
}
END_TEST

START_TEST(strings_and_bools_are_kept)
{
    const eddy_string words[] = {{"one", 3}, {"", 0}, {"t\0o", 3}};
    const eddy_shape three = {.rank = 1, .dims = {3}};
    eddy_tensor *tensor;
    const eddy_tensor *got;
    eddy_output out;

    ck_assert_int_eq(
        eddy_tensor_from_strings(p.ctx, &three, words, 3, &tensor, &p.err),
        EDDY_OK);
    ck_assert_int_eq(
        eddy_graph_add_const(p.graph, "words", tensor, &out, &p.err), EDDY_OK);
    eddy_tensor_release(tensor);
    program_build(&p, "v VarHandleOp dtype=string shape=[3] shared_name='v'\n"
                      "b VarHandleOp dtype=bool shape=() shared_name='b'\n"
                      "yes bool=1\n"
                      "set AssignVariableOp v words\n"
                      "set_b AssignVariableOp b yes\n"
                      "get ReadVariableOp v dtype=string\n"
                      "get_b ReadVariableOp b dtype=bool\n");
    program_run_fetches(&p, "^set ^set_b");
    program_run_fetches(&p, "get get_b");
    got = eddy_run_fetch(p.run, 0);
    for (int i = 0; i < 3; i++) {
        const eddy_string s = eddy_tensor_string(got, i);

        ck_assert_uint_eq(s.length, words[i].length);
        ck_assert(s.length == 0 || memcmp(s.data, words[i].data, 3) == 0);
    }
    ck_assert_int_eq(program_fetch_int(&p, 1), 1);
}
END_TEST

START_TEST(empty_and_high_rank_values_are_updated)
{
    program_build(&p, "v VarHandleOp dtype=float32 shape=? shared_name='v'\n"
                      "none float32[0]=1\n"
                      "set AssignVariableOp v none\n"
                      "add AssignAddVariableOp v none\n"
                      "one float32=1\n"
                      "dims int32[8]=1\n"
                      "deep Reshape one dims\n"
                      "set_deep AssignVariableOp v deep\n"
                      "add_deep AssignAddVariableOp v deep\n" READ);
    program_run_fetches(&p, "^set");
    program_run_fetches(&p, "^add");
    program_run_fetches(&p, "read");
    ck_assert_int_eq(eddy_tensor_count(eddy_run_fetch(p.run, 0)), 0);
    program_run_fetches(&p, "^set_deep");
    program_run_fetches(&p, "^add_deep");
    WANT("read", 2);
    ck_assert_int_eq(eddy_tensor_shape(eddy_run_fetch(p.run, 0))->rank, 8);
}
END_TEST

START_TEST(a_count_stops_at_its_limit)
{
    program_build(&p, "v VarHandleOp dtype=int32 shape=() shared_name='v'\n"
                      "zero int32=0\n"
                      "init AssignVariableOp v zero\n"
                      "count ResourceCountUpTo v limit=2 T=int32\n"
                      "wide ResourceCountUpTo v limit=2 T=int64\n");
    refuse("count", EDDY_NOT_FOUND, EDDY_E_UNINITIALIZED);
    program_run_fetches(&p, "^init");
    for (int i = 0; i < 2; i++) {
        program_run_fetches(&p, "count");
        ck_assert_int_eq(program_fetch_int(&p, 0), i);
    }
    refuse("count", EDDY_OUT_OF_RANGE, EDDY_E_VALUE);
    refuse("wide", EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
}
END_TEST

/* ---- many threads ---- */

#define N_THREADS 4

static int n_adds;

/* A run of its own, again and again. */
static void hammer(void *arg)
{
    eddy_run *mine = arg;

    for (int i = 0; i < n_adds; i++)
        ck_assert_int_eq(eddy_run_execute(mine, NULL), EDDY_OK);
}

static void hammer_all(eddy_plan *const *plans)
{
    eddy__thread threads[N_THREADS];
    eddy_run *runs[N_THREADS];

    for (int i = 0; i < N_THREADS; i++)
        ck_assert_int_eq(
            eddy_run_create(plans[i], &p.run_options, &runs[i], &p.err),
            EDDY_OK);
    for (int i = 0; i < N_THREADS; i++)
        ck_assert_int_eq(
            eddy__thread_start(&threads[i], 0, hammer, runs[i], NULL), EDDY_OK);
    for (int i = 0; i < N_THREADS; i++) {
        eddy__thread_join(&threads[i]);
        eddy_run_destroy(runs[i]);
    }
}

/* Every read sees a value whose elements are all the same. */
START_TEST(updates_of_many_threads_add_up)
{
    const char *const whats[] = {"^add", "^check ^add", "^add", "^sub ^add"};
    eddy_plan *plans[N_THREADS];
    eddy_tensor *got;

    n_adds = (int)program_scale(2000, 200);
    program_build(&p, HANDLE READ "start float32[64]=0\n"
                                  "one float32[64]=1\n"
                                  "axis int32[1]=0\n"
                                  "init AssignVariableOp v start\n"
                                  "add AssignAddVariableOp v one\n"
                                  "sub AssignSubVariableOp v one\n"
                                  "low Min read axis\nhigh Max read axis\n"
                                  "same Equal low high\n"
                                  "check Assert same low\n");
    program_run_fetches(&p, "^init");
    for (int i = 0; i < N_THREADS; i++) {
        program_plan(&p, NULL, whats[i]);
        plans[i] = eddy_plan_retain(p.plan);
    }
    hammer_all(plans);
    for (int i = 0; i < N_THREADS; i++)
        eddy_plan_release(plans[i]);
    program_run_fetches(&p, "read");
    got = eddy_run_fetch(p.run, 0);
    for (int i = 0; i < 64; i++)
        ck_assert_float_eq(((const float *)eddy_tensor_data(got))[i],
                           (float)(3 * n_adds));
}
END_TEST

/* ---- failing allocations ---- */

START_TEST(an_update_happens_or_not_when_memory_is_short)
{
    bool done = false;

    program_build(&p, HANDLE READ INIT "add AssignAddVariableOp v start\n"
                                       "held Identity read\n"
                                       "sub AssignSubVariableOp v held\n");
    program_run_fetches(&p, "^init");
    for (int64_t n = 0; !done; n++) {
        eddy_status status;

        program_plan(&p, NULL, "^add held");
        counting_allocator_allow(&p.counting, n);
        status = eddy_run_create(p.plan, &p.run_options, &p.run, &p.err);
        if (status == EDDY_OK)
            status = eddy_run_execute(p.run, &p.err);
        counting_allocator_allow(&p.counting, -1);
        done = status == EDDY_OK;
        ck_assert(done || status == EDDY_RESOURCE_EXHAUSTED);
        ck_assert_int_lt(n, 200);
    }
    program_run_fetches(&p, "read");
    ck_assert_float_ge(program_fetch_float(&p, 0), 4);
}
END_TEST

TCase *variables_tests(void)
{
    TCase *tc = tcase_create("variables");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, a_value_outlives_its_run);
    tcase_add_test(tc, without_a_session_state_ends_with_the_run);
    tcase_add_test(tc, sessions_are_apart);
    tcase_add_test(tc, names_and_containers_tell_variables_apart);
    tcase_add_test(tc, a_saved_handle_says_which_variable_it_is);
    tcase_add_test(tc, an_anonymous_variable_is_new_in_each_execution);
    tcase_add_test(tc, a_read_value_does_not_change);
    tcase_add_test(tc, an_update_of_what_nobody_holds_is_in_place);
    tcase_add_test(tc, a_variable_is_added_to_itself);
    tcase_add_test(tc, an_uninitialized_variable_is_named);
    tcase_add_test(tc, a_destroyed_variable_may_be_assigned_anew);
    tcase_add_test(tc, shapes_are_checked_as_tensorflow_does);
    tcase_add_test(tc, a_shape_that_is_fed_need_not_be_the_handles);
    tcase_add_test(tc, dtypes_are_checked);
    tcase_add_loop_test(tc, control_edges_order_updates_in_a_loop, 0, 3);
    tcase_add_test(tc, a_dead_update_does_not_happen);
    tcase_add_loop_test(tc, every_number_is_assigned_added_and_subtracted, 0,
                        N_NUMBERS);
    tcase_add_test(tc, strings_and_bools_are_kept);
    tcase_add_test(tc, empty_and_high_rank_values_are_updated);
    tcase_add_test(tc, a_count_stops_at_its_limit);
    tcase_add_test(tc, updates_of_many_threads_add_up);
    tcase_add_test(tc, an_update_happens_or_not_when_memory_is_short);
    return tc;
}
