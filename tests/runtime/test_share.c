/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One kernel's work in parts (eddy_kernel_parallel_for): all of it once, by any
 * number of workers or by a host's threads, also if none comes.
 */
#include "runtime/exec/profile.h"
#include "tests/aid/host_executor.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t worker_counts[] = {0, 1, 2, 4};
#define N_WORKER_COUNTS 4

static program programs[N_WORKER_COUNTS];

/* ---- an op of the host, whose parts do what a test wants ---- */

#define N_ITEMS 4000
#define GRAIN 16

typedef struct duty {
    int64_t *out;
    int64_t fails_from; /* the first item that fails */
    bool nests;         /* a part asks for parts */
    bool waits;         /* until the run is to stop */
} duty;

static atomic_uint n_parts;

/* So long that it is worth a worker. */
static void dawdle(void)
{
    for (volatile int i = 0; i < 500; i++)
        ;
}

static eddy_status double_items(eddy_kernel *part, void *arg, int64_t begin,
                                int64_t end)
{
    int64_t *out = arg;

    (void)part;
    for (int64_t i = begin; i < end; i++)
        out[i] *= 2;
    return EDDY_OK;
}

static eddy_status do_items(eddy_kernel *part, void *arg, int64_t begin,
                            int64_t end)
{
    const duty *d = arg;

    atomic_fetch_add(&n_parts, 1);
    for (int64_t i = begin; i < end; i++) {
        dawdle();
        if (i >= d->fails_from)
            return eddy_kernel_fail(part, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                                    "item %lld is bad", (long long)i);
        d->out[i] += i; /* twice, if it is done twice */
        while (d->waits && !eddy_kernel_cancelled(part))
            dawdle();
    }
    if (d->nests)
        return eddy_kernel_parallel_for(part, begin, end, 1, double_items,
                                        d->out);
    return EDDY_OK;
}

/* Its inputs are the first item that fails, and what else is wanted. */
static eddy_status run_share(eddy_kernel *kernel)
{
    const eddy_shape shape = {.rank = 1, .dims = {N_ITEMS}};
    const eddy_view from = eddy_kernel_input(kernel, 0);
    const eddy_view how = eddy_kernel_input(kernel, 1);
    duty d = {.fails_from = *(const int64_t *)from.data,
              .nests = *(const int64_t *)how.data == 1,
              .waits = *(const int64_t *)how.data == 2};
    void *out;
    eddy_status status =
        eddy_kernel_output(kernel, 0, EDDY_INT64, &shape, &out);

    if (status != EDDY_OK)
        return status;
    memset(out, 0, N_ITEMS * sizeof(int64_t));
    d.out = out;
    return eddy_kernel_parallel_for(kernel, 0, N_ITEMS, GRAIN, do_items, &d);
}

static const eddy_op_spec share_op = {
    .size = sizeof share_op,
    .name = "Share",
    .inputs = "from: int64, how: int64",
    .outputs = "out: int64",
    .kernel = run_share,
};

static void register_share(program *p)
{
    ck_assert_int_eq(eddy_op_register(p->ctx, &share_op, &p->err), EDDY_OK);
}

static void plan_share(program *p)
{
    program_clear(p);
    program_build(p, "from ?int64\n"
                     "how ?int64\n"
                     "y Share from how\n");
    program_plan(p, "from how", "y");
}

static void feed_share(program *p, int64_t fails_from, int64_t how)
{
    program_make_run(p);
    program_feed_int(p, 0, fails_from);
    program_feed_int(p, 1, how);
}

static void want_items(const program *p, int64_t times)
{
    const int64_t *out = eddy_tensor_data(eddy_run_fetch(p->run, 0));

    for (int64_t i = 0; i < N_ITEMS; i++)
        ck_assert_int_eq(out[i], i * times);
}

static void setup(void)
{
    for (int i = 0; i < N_WORKER_COUNTS; i++) {
        program_init(&programs[i], worker_counts[i]);
        register_share(&programs[i]);
    }
}

static void teardown(void)
{
    for (int i = 0; i < N_WORKER_COUNTS; i++)
        program_deinit(&programs[i]);
}

START_TEST(every_item_is_done_once)
{
    program *p = &programs[_i];

    plan_share(p);
    for (int again = 0; again < 5; again++) {
        atomic_store(&n_parts, 0);
        feed_share(p, N_ITEMS, 0);
        program_run(p);
        want_items(p, 1);
        /* Nobody to share with: one part. */
        if (worker_counts[_i] < 2)
            ck_assert_uint_eq(atomic_load(&n_parts), 1);
        else
            ck_assert_uint_gt(atomic_load(&n_parts), 1);
    }
}
END_TEST

START_TEST(a_part_that_asks_for_parts_does_them_itself)
{
    program *p = &programs[_i];

    plan_share(p);
    feed_share(p, N_ITEMS, 1);
    program_run(p);
    want_items(p, 2);
}
END_TEST

START_TEST(the_error_is_that_of_the_first_part_that_fails)
{
    program *p = &programs[_i];

    plan_share(p);
    for (int again = 0; again < 5; again++) {
        feed_share(p, 1000 + again, 0);
        program_want(p, program_execute(p), EDDY_INVALID_ARGUMENT,
                     EDDY_E_VALUE);
        ck_assert_str_eq(p->err.node, "y");
        if (again == 0)
            ck_assert_ptr_nonnull(strstr(p->err.message, "item 1000 is bad"));
    }
    feed_share(p, N_ITEMS, 0);
    program_run(p);
    want_items(p, 1);
}
END_TEST

START_TEST(a_deadline_reaches_every_part)
{
    program *p = &programs[_i];

    p->run_options.timeout_ns = 20 * 1000 * 1000;
    plan_share(p);
    feed_share(p, N_ITEMS, 2);
    program_want(p, program_execute(p), EDDY_DEADLINE_EXCEEDED,
                 EDDY_E_DEADLINE);
}
END_TEST

START_TEST(a_cancel_reaches_every_part)
{
    program *p = &programs[_i];

    plan_share(p);
    for (int i = 0; i < 10; i++) {
        atomic_store(&n_parts, 0);
        feed_share(p, N_ITEMS, 2);
        ck_assert_int_eq(eddy_run_start(p->run, &p->err), EDDY_OK);
        while (worker_counts[_i] > 0 && atomic_load(&n_parts) == 0)
            ;
        eddy_run_cancel(p->run);
        program_want(p, eddy_run_wait(p->run, &p->err), EDDY_CANCELLED,
                     EDDY_E_CANCELLED);
    }
}
END_TEST

/* As many runs share at the same time as there are workers, and more. */
START_TEST(runs_that_all_share_wait_for_nobody)
{
    enum { N_RUNS = 6 };
    program *p = &programs[_i];
    eddy_run *runs[N_RUNS];

    plan_share(p);
    feed_share(p, N_ITEMS, 0);
    for (int i = 0; i < N_RUNS; i++) {
        const eddy_shape scalar = {.rank = 0};
        eddy_tensor *from =
            program_tensor(p, EDDY_INT64, &scalar, &(int64_t){N_ITEMS});
        eddy_tensor *how =
            program_tensor(p, EDDY_INT64, &scalar, &(int64_t){0});

        ck_assert_int_eq(eddy_run_create(p->plan, NULL, &runs[i], &p->err),
                         EDDY_OK);
        ck_assert_int_eq(eddy_run_feed(runs[i], 0, from, &p->err), EDDY_OK);
        ck_assert_int_eq(eddy_run_feed(runs[i], 1, how, &p->err), EDDY_OK);
        eddy_tensor_release(from);
        eddy_tensor_release(how);
    }
    for (int again = 0; again < 3; again++) {
        for (int i = 0; i < N_RUNS; i++)
            ck_assert_int_eq(eddy_run_start(runs[i], &p->err), EDDY_OK);
        for (int i = 0; i < N_RUNS; i++)
            ck_assert_int_eq(eddy_run_wait(runs[i], &p->err), EDDY_OK);
    }
    for (int i = 0; i < N_RUNS; i++)
        eddy_run_destroy(runs[i]);
}
END_TEST

/* ---- a host's threads ---- */

/* With threads, with none that comes in time, and with one that refuses. */
START_TEST(a_hosts_threads_help_if_they_come)
{
    static host_executor host;
    eddy_context_options options = {.size = sizeof options};
    program p;

    host_executor_init(&host, 1 + (uint32_t)_i);
    options.executor = host.executor;
    program_init_with(&p, &options);
    register_share(&p);
    plan_share(&p);
    for (int again = 0; again < 6; again++) {
        if (again >= 3)
            host_executor_allow(&host, 1); /* the run itself, no helper */
        feed_share(&p, N_ITEMS, 0);
        program_run(&p);
        want_items(&p, 1);
    }
    /* Those that come after the context is gone find nothing to do. */
    program_deinit(&p);
    host_executor_deinit(&host);
}
END_TEST

/* ---- eddy's own kernels ---- */

static const char *const shared[] = {
    "x ?float32[600,1000]\ny Tanh x\n",
    "x ?float32[600,1000]\na Mul x x\nb Sigmoid a\ny Sub b x\n",
    "x ?float32[600,1000]\nv float32[1000]=1.5,2.5,3\ny Mul x v\n",
    "x ?float32[600,1000]\nv float32[600,1]=1.5,2.5,3\ny AddV2 x v\n",
    "x ?float32[600,1000]\ny Softmax x\n",
    "x ?float32[600,1000]\na Neg x\ny AddN a x x N=3\n",
    "x ?float32[600,1000]\nv float32[1000,100]=0.5,0.25,-0.5\ny MatMul x v\n",
    "x ?float32[600,1000]\nv float32[300,1000]=0.5,0.25,-0.5\n"
    "y MatMul x v transpose_b=true\n",
    "x ?float32[600,1000]\na int32[1]=0\ny Sum x a\n",
    "x ?float32[600,1000]\na int32[1]=1\ny Mean x a\n",
    "x ?float32[600,1000]\na int32[2]=0,1\ny Sum x a\n",
    "x ?float32[600,1000]\na int32[2]=0,1\ny Max x a\n",
    "x ?float32[600,1000]\ns int32[2]=20,30000\nr Reshape x s\n"
    "a int32[1]=1\ny Prod r a\n",
    "x ?float32[600,1000]\na int32[2]=1,0\ny Transpose x a\n",
    "x ?float32[600,1000]\ni int32[2000]=3,599,0,77\ny Gather x i\n",
    "x ?float32[600,1000]\na int32=1\ni int32[900]=3,999,0,77\n"
    "y GatherV2 x i a\n",
    "x ?float32[600,1000]\ns int32[3]=60,100,100\nr Reshape x s\n"
    "y BatchMatMulV2 r r\n",
    "x ?float32[600,1000]\ns int32[4]=8,50,50,30\nr Reshape x s\n"
    "f float32[3,3,30,16]=0.5,-0.25,0.125\n"
    "y Conv2D r f strides={1,1,1,1} padding='SAME'\n",
    "x ?float32[600,1000]\ns int32[4]=8,50,50,30\nr Reshape x s\n"
    "f float32[3,3,30,30]=0.5,-0.25,0.125\n"
    "y Conv2DBackpropInput s f r strides={1,1,1,1} padding='SAME'\n",
    "x ?float32[600,1000]\ns int32[4]=8,50,50,30\nr Reshape x s\n"
    "y MaxPool r ksize={1,3,3,1} strides={1,1,1,1} padding='SAME'\n",
    "x ?float32[600,1000]\ns int32[4]=8,50,50,30\nr Reshape x s\n"
    "m MaxPool r ksize={1,3,3,1} strides={1,1,1,1} padding='SAME'\n"
    "y MaxPoolGrad r m r ksize={1,3,3,1} strides={1,1,1,1} "
    "padding='SAME'\n",
    "x ?float32[600,1000]\ns int32[5]=4,10,10,50,30\nr Reshape x s\n"
    "y AvgPool3D r ksize={1,2,2,2,1} strides={1,1,1,1,1} padding='SAME'\n",
    "x ?float32[600,1000]\ns int32[4]=8,50,50,30\nr Reshape x s\n"
    "f float32[3,3,30,2]=0.5,-0.25,0.125\n"
    "y DepthwiseConv2dNative r f strides={1,1,1,1} padding='SAME'\n",
    "x ?float32[600,1000]\nv float32[1000,1000]=0.5,0.25,-0.5,1.5,-2.5\n"
    "y MatMul v x transpose_b=true\n",
};
#define N_SHARED (sizeof shared / sizeof shared[0])

static eddy_tensor *make_input(const program *p)
{
    const eddy_shape shape = {.rank = 2, .dims = {600, 1000}};
    float *x = malloc(600 * 1000 * sizeof *x);
    eddy_tensor *tensor;

    ck_assert_ptr_nonnull(x);
    for (int i = 0; i < 600 * 1000; i++)
        x[i] = (float)(i % 10007 * 7919 % 10007) / 5003 - 1;
    tensor = program_tensor(p, EDDY_FLOAT32, &shape, x);
    free(x);
    return tensor;
}

START_TEST(shared_kernels_give_the_bits_of_one_thread)
{
    /* Sanitizers bear one of them, but no products of a second and more. */
    const int times = program_is_release() ? 3 : 1;
    const int step = program_is_release() ? 1 : 2;

    if (!program_is_release() && strstr(shared[_i], "transpose_b"))
        return;
    for (int i = 0; i < N_WORKER_COUNTS; i += step) {
        program *p = &programs[i];
        eddy_tensor *x = make_input(p);

        program_clear(p);
        program_build(p, shared[_i]);
        program_plan(p, "x", "y");
        program_make_run(p);
        ck_assert_int_eq(eddy_run_feed(p->run, 0, x, &p->err), EDDY_OK);
        eddy_tensor_release(x);
        for (int again = 0; again < times; again++) {
            const eddy_tensor *first, *got;

            program_run(p);
            first = eddy_run_fetch(programs[0].run, 0);
            got = eddy_run_fetch(p->run, 0);
            ck_assert_uint_eq(eddy_tensor_bytes(got), eddy_tensor_bytes(first));
            ck_assert_msg(memcmp(eddy_tensor_data(got), eddy_tensor_data(first),
                                 eddy_tensor_bytes(got)) == 0,
                          "%u workers: %s", worker_counts[i], shared[_i]);
        }
    }
}
END_TEST

/* ---- what kernels take ---- */

START_TEST(a_profile_keeps_what_was_measured)
{
    static eddy__profile profile;
    const int nodes[2] = {0};
    const uint64_t a = eddy__profile_key(&nodes[0], 0);
    const uint64_t b = eddy__profile_key(&nodes[1], 0);

    memset(&profile, 0, sizeof profile);
    ck_assert_uint_ne(a, b);
    ck_assert_uint_ne(a, eddy__profile_key(&nodes[0], 1));
    ck_assert_uint_eq(eddy__profile_get(&profile, a), 0);
    eddy__profile_add(&profile, a, 1000);
    ck_assert_uint_eq(eddy__profile_get(&profile, a), 1000);
    ck_assert_uint_eq(eddy__profile_get(&profile, b), 0);
    /* One long measurement says little, many do; a short one says much. */
    eddy__profile_add(&profile, a, 1000000);
    ck_assert_uint_le(eddy__profile_get(&profile, a), 1200);
    for (int i = 0; i < 200; i++)
        eddy__profile_add(&profile, a, 1000000);
    ck_assert_uint_gt(eddy__profile_get(&profile, a), 900000);
    eddy__profile_add(&profile, a, 0);
    ck_assert_uint_le(eddy__profile_get(&profile, a), 500000);
    /* Times that do not fit are the longest that does. */
    for (int i = 0; i < 200; i++)
        eddy__profile_add(&profile, b, UINT64_MAX);
    ck_assert_uint_eq(eddy__profile_get(&profile, b), UINT32_MAX);
}
END_TEST

TCase *share_tests(void)
{
    TCase *tc = tcase_create("share");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, every_item_is_done_once, 0, N_WORKER_COUNTS);
    tcase_add_loop_test(tc, a_part_that_asks_for_parts_does_them_itself, 0,
                        N_WORKER_COUNTS);
    tcase_add_loop_test(tc, the_error_is_that_of_the_first_part_that_fails, 0,
                        N_WORKER_COUNTS);
    tcase_add_loop_test(tc, a_deadline_reaches_every_part, 0, N_WORKER_COUNTS);
    tcase_add_loop_test(tc, a_cancel_reaches_every_part, 0, N_WORKER_COUNTS);
    tcase_add_loop_test(tc, runs_that_all_share_wait_for_nobody, 0,
                        N_WORKER_COUNTS);
    tcase_add_loop_test(tc, a_hosts_threads_help_if_they_come, 0, 3);
    tcase_add_loop_test(tc, shared_kernels_give_the_bits_of_one_thread, 0,
                        (int)N_SHARED);
    tcase_add_test(tc, a_profile_keeps_what_was_measured);
    return tc;
}
