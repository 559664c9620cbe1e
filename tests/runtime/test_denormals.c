/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Denormal numbers in runs: flushed by default, kept on request, on whichever
 * thread; and the mode of threads that are not eddy's.
 *
 * What the processor does with them is asked by an addition that a compiler
 * cannot do in advance.
 */
#include "core/base/float_mode.h"
#include "tests/aid/host_executor.h"
#include "tests/aid/probe_ops.h"
#include "tests/suites.h"

#include <fenv.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#if EDDY__CAN_FLUSH_DENORMALS

static program p;

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    program_deinit(&p);
}

/* Does this thread flush denormals? */
static bool is_flushing(void)
{
    volatile float small = 0x1p-140f;
    volatile float twice = small + small;

    return twice == 0;
}

/* C's own fegetround may look at another register than arithmetic does. */
static bool is_rounding_down(void)
{
    return (eddy__float_mode_get() & EDDY__FLOAT_ROUNDING) != 0;
}

/* ---- an op that notes the mode of its thread ---- */

static atomic_int n_flushing, n_keeping, n_rounding_down;

static eddy_status run_mode(eddy_kernel *k)
{
    const eddy_view x = eddy_kernel_input(k, 0);
    const eddy_shape shape = {.rank = x.rank, .dims = {x.count}};
    void *out;

    atomic_fetch_add(is_flushing() ? &n_flushing : &n_keeping, 1);
    atomic_fetch_add(&n_rounding_down, is_rounding_down());
    if (eddy_kernel_output(k, 0, EDDY_FLOAT32, &shape, &out) != EDDY_OK)
        return EDDY_RESOURCE_EXHAUSTED;
    memcpy(out, x.data, (size_t)x.count * sizeof(float));
    return ((const float *)x.data)[0] == 13
               ? eddy_kernel_fail(k, EDDY_ABORTED, EDDY_E_VALUE, "thirteen")
               : EDDY_OK;
}

static void register_mode(void)
{
    const eddy_op_spec spec = {.size = sizeof spec,
                               .name = "Mode",
                               .inputs = "x: float32",
                               .outputs = "y: float32",
                               .kernel = run_mode};

    ck_assert_int_eq(eddy_op_register(p.ctx, &spec, &p.err), EDDY_OK);
    atomic_store(&n_flushing, 0);
    atomic_store(&n_keeping, 0);
    atomic_store(&n_rounding_down, 0);
}

static void note_mode(eddy_run *run, eddy_status code, void *user)
{
    (void)run;
    (void)code;
    *(bool *)user = is_flushing();
}

/* ---- what runs compute ---- */

/* Arithmetic and comparisons of a scalar and of arrays, and what only moves. */
static const char program_text[] = "x ?float32\n"
                                   "v ?float32[37]\n"
                                   "half float32=0.5\n"
                                   "zero float32=0.0\n"
                                   "halved Mul x half\n"
                                   "above Greater x zero\n"
                                   "same Identity x\n"
                                   "most Maximum v zero\n"
                                   "sum AddV2 v v\n"
                                   "wide Cast v DstT=float64 SrcT=float32\n"
                                   "less Neg v\n"
                                   "dims int32[1]=37\n"
                                   "one float32=1.0\n"
                                   "ones Fill dims one\n"
                                   "grad ReluGrad v ones\n"
                                   "grad6 Relu6Grad v ones\n";

static void feed_tensor(size_t i, const eddy_shape *shape, const float *values)
{
    eddy_tensor *tensor = program_tensor(&p, EDDY_FLOAT32, shape, values);

    ck_assert_int_eq(eddy_run_feed(p.run, i, tensor, &p.err), EDDY_OK);
    eddy_tensor_release(tensor);
}

static void feed(float value)
{
    const eddy_shape scalar = {.rank = 0}, shape = {.rank = 1, .dims = {37}};
    float values[37];

    for (int i = 0; i < 37; i++)
        values[i] = value;
    program_make_run(&p);
    feed_tensor(0, &scalar, values);
    feed_tensor(1, &shape, values);
}

static const float *floats(size_t i)
{
    return eddy_tensor_data(eddy_run_fetch(p.run, i));
}

static void run_all(bool keep)
{
    p.run_options.keep_denormals = keep;
    program_build(&p, program_text);
    program_plan(&p, "x v", "halved above same most sum wide less grad grad6");
    feed(0x1p-130f);
    program_run(&p);
}

START_TEST(runs_flush_denormals)
{
    const double *wide;

    run_all(false);
    ck_assert(program_fetch_float(&p, 0) == 0);
    ck_assert_int_eq(program_fetch_int(&p, 1), 0);
    ck_assert(program_fetch_float(&p, 2) == 0x1p-130f);
    wide = eddy_tensor_data(eddy_run_fetch(p.run, 5));
    for (int i = 0; i < 37; i++) {
        ck_assert(floats(3)[i] == 0);
        ck_assert(floats(4)[i] == 0);
        ck_assert(wide[i] == 0);
        ck_assert(floats(7)[i] == 0);
        ck_assert(floats(8)[i] == 0);
        ck_assert(floats(6)[i] == -0x1p-130f);
    }
}
END_TEST

START_TEST(an_option_keeps_denormals)
{
    const double *wide;

    run_all(true);
    ck_assert(program_fetch_float(&p, 0) == 0x1p-131f);
    ck_assert_int_eq(program_fetch_int(&p, 1), 1);
    wide = eddy_tensor_data(eddy_run_fetch(p.run, 5));
    for (int i = 0; i < 37; i++) {
        ck_assert(floats(3)[i] == 0x1p-130f);
        ck_assert(floats(4)[i] == 0x1p-129f);
        ck_assert(wide[i] == 0x1p-130);
        ck_assert(floats(7)[i] == 0x1p-130f);
        ck_assert(floats(8)[i] == 0x1p-130f);
        ck_assert(floats(6)[i] == -0x1p-130f);
    }
}
END_TEST

/* Arrays of every length: loops and their tails flush alike. */
START_TEST(every_length_gives_the_same_bits)
{
    static const char *const ops[] = {"Maximum x v", "Minimum v x", "Relu v",
                                      "Relu6 v",     "Sign v",      "Expm1 v",
                                      "Log1p v",     "Sinh v"};
    uint32_t bits[40];
    char text[128];

    snprintf(text, sizeof text, "x float32=0.0\nv ?float32[?]\ny %s\n",
             ops[_i]);
    program_build(&p, text);
    program_plan(&p, "v", "y");
    program_make_run(&p);
    for (size_t n = 1; n <= 40; n++) {
        float values[40];

        for (size_t i = 0; i < n; i++)
            values[i] = i % 2 ? -0x1.8p-129f : 0x1.8p-129f;
        program_feed_floats(&p, 0, values, n);
        program_run(&p);
        memcpy(bits, floats(0), n * sizeof *bits);
        for (size_t i = 2; i < n; i++)
            ck_assert_uint_eq(bits[i], bits[i % 2]);
    }
}
END_TEST

/* ---- threads ---- */

static const char mode_text[] = "x ?float32[1]\n"
                                "y Mode x\n"
                                "z Mode y\n";

START_TEST(kernels_of_users_run_in_the_mode_of_the_run)
{
    const float one = 1;

    register_mode();
    p.run_options.keep_denormals = _i;
    program_build(&p, mode_text);
    program_plan(&p, "x", "z");
    program_make_run(&p);
    program_feed_floats(&p, 0, &one, 1);
    program_run(&p);
    ck_assert_int_eq(atomic_load(&n_flushing), _i ? 0 : 2);
    ck_assert_int_eq(atomic_load(&n_keeping), _i ? 2 : 0);
}
END_TEST

/* Whatever mode the caller has, it has it back, and the run has its own. */
START_TEST(the_caller_has_its_mode_back)
{
    static const float values[] = {1, 13}; /* the second fails */
    const bool flushes = _i & 1, fails = _i & 2, polls = _i & 4;
    const eddy__float_mode before = eddy__float_mode_get();
    bool in_done = !flushes;
    eddy_status status;

    register_mode();
    p.run_options.done = note_mode;
    p.run_options.user = &in_done;
    program_build(&p, mode_text);
    program_plan(&p, "x", "z");
    program_make_run(&p);
    program_feed_floats(&p, 0, &values[fails], 1);
    (void)eddy__float_mode_enter(!flushes);
    fesetround(FE_DOWNWARD);
    ck_assert_int_eq(eddy_run_start(p.run, &p.err), EDDY_OK);
    ck_assert(is_flushing() == flushes);
    while (polls && !eddy_run_poll(p.run))
        ck_assert(is_flushing() == flushes);
    ck_assert(is_flushing() == flushes);
    status = eddy_run_wait(p.run, &p.err);
    ck_assert(is_flushing() == flushes);
    ck_assert(is_rounding_down());
    fesetround(FE_TONEAREST);
    eddy__float_mode_leave(before);
    ck_assert_int_eq(status, fails ? EDDY_ABORTED : EDDY_OK);
    ck_assert(in_done == flushes);
    ck_assert_int_eq(atomic_load(&n_keeping), 0);
    ck_assert_int_eq(atomic_load(&n_rounding_down), 0);
}
END_TEST

/* Many large nodes that are ready at once, so that some become tasks. */
static void plan_many(void)
{
    char line[64];

    program_build(&p, "x float32[20000]=1.5\n");
    for (int i = 0; i < 16; i++) {
        snprintf(line, sizeof line, "y%d Mode x\n", i);
        program_build(&p, line);
    }
    program_plan(&p, NULL,
                 "y0 y1 y2 y3 y4 y5 y6 y7 y8 y9 y10 y11 y12 y13 y14 y15");
}

START_TEST(workers_run_in_the_mode_of_the_run)
{
    bool in_done = true;

    program_deinit(&p);
    program_init(&p, 3);
    register_mode();
    p.run_options.done = note_mode;
    p.run_options.user = &in_done;
    plan_many();
    program_run(&p);
    ck_assert_int_eq(atomic_load(&n_flushing), 16);
    ck_assert_int_eq(atomic_load(&n_keeping), 0);
    ck_assert(!in_done);
    eddy_run_destroy(p.run);
    p.run = NULL;
    p.run_options.keep_denormals = true;
    program_run(&p);
    ck_assert_int_eq(atomic_load(&n_keeping), 16);
}
END_TEST

START_TEST(threads_of_a_host_run_in_the_mode_of_the_run)
{
    host_executor host;
    eddy_context_options options = {.size = sizeof options};

    host_executor_init(&host, 3);
    options.executor = host.executor;
    program_deinit(&p);
    program_init_with(&p, &options);
    register_mode();
    plan_many();
    program_run(&p);
    ck_assert_int_eq(atomic_load(&n_flushing), 16);
    ck_assert_int_eq(atomic_load(&n_keeping), 0);
    program_deinit(&p);
    host_executor_deinit(&host);
    program_init(&p, 0);
}
END_TEST

/* ---- ops run at once ---- */

START_TEST(ops_run_at_once_flush_as_runs_do)
{
    const eddy_immediate_options options = {.size = sizeof options,
                                            .keep_denormals = _i};
    const eddy_shape shape = {.rank = 0};
    const float small = 0x1p-130f;
    eddy_tensor *x = program_tensor(&p, EDDY_FLOAT32, &shape, &small), *y;
    eddy_tensor *const inputs[] = {x, x};
    eddy_immediate *now;

    ck_assert_int_eq(eddy_immediate_create(p.ctx, &options, &now, &p.err),
                     EDDY_OK);
    ck_assert_int_eq(eddy_immediate_op(now, "AddV2", inputs, 2, &y, &p.err),
                     EDDY_OK);
    ck_assert(*(const float *)eddy_tensor_data(y) == (_i ? 0x1p-129f : 0));
    eddy_tensor_release(x);
    eddy_tensor_release(y);
    eddy_immediate_destroy(now);
}
END_TEST

TCase *denormals_tests(void)
{
    TCase *tc = tcase_create("denormals");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, runs_flush_denormals);
    tcase_add_test(tc, an_option_keeps_denormals);
    tcase_add_loop_test(tc, every_length_gives_the_same_bits, 0, 8);
    tcase_add_loop_test(tc, kernels_of_users_run_in_the_mode_of_the_run, 0, 2);
    tcase_add_loop_test(tc, the_caller_has_its_mode_back, 0, 8);
    tcase_add_test(tc, workers_run_in_the_mode_of_the_run);
    tcase_add_test(tc, threads_of_a_host_run_in_the_mode_of_the_run);
    tcase_add_loop_test(tc, ops_run_at_once_flush_as_runs_do, 0, 2);
    return tc;
}

#else /* where there is no such mode, denormals are kept */

TCase *denormals_tests(void)
{
    return tcase_create("denormals");
}

#endif
