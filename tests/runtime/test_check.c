/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds a plan to what it assumed: the predicate of a loop in every build,
 * and in checked ones each value that a node puts out.
 */
#include "core/context.h"
#include "core/kernel.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

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

/* ---- the predicate of a loop ---- */

/* x is doubled while it is below 10, which is asked of all its elements. */
static const char *const loop = "x ?float32\n"
                                "e Enter@f x\n"
                                "m Merge e n\n"
                                "ten float32=10 ^m\n"
                                "less Less m ten\n"
                                "c LoopCond less\n"
                                "s Switch m c\n"
                                "two float32=2 ^s\n"
                                "b AddV2 s:1 s:1\n"
                                "n NextIteration b\n"
                                "y Exit s";

static void feed_x(int32_t rank)
{
    const eddy_shape shape = {.rank = rank, .dims = {2}};
    const float values[] = {1, 2};
    eddy_tensor *x = program_tensor(&p, EDDY_FLOAT32, &shape, values);

    program_make_run(&p);
    ck_assert_int_eq(eddy_run_feed(p.run, 0, x, &p.err), EDDY_OK);
    eddy_tensor_release(x);
}

/* A Placeholder of no shape, so that only the run shows what it is. */
static void build_loop(void)
{
    const eddy_dtype dtype = EDDY_FLOAT32;
    const eddy_attr attr = eddy_attr_type("dtype", &dtype);
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = "Placeholder",
                                 .name = "x",
                                 .attrs = &attr,
                                 .n_attrs = 1};
    eddy_node x;

    ck_assert_int_eq(eddy_graph_add(p.graph, &spec, &x, &p.err), EDDY_OK);
    program_build(&p, strchr(loop, '\n') + 1);
}

START_TEST(the_predicate_of_a_loop_must_be_a_scalar)
{
    build_loop();
    program_plan(&p, "x", "y");
    feed_x(1);
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_PREDICATE);
    ck_assert_str_eq(p.err.node, "c");
    ck_assert_str_eq(p.err.frame, "f[0]");
    ck_assert_ptr_nonnull(strstr(p.err.message, "must be a scalar"));
    feed_x(0);
    program_run(&p);
    ck_assert_float_eq(program_fetch_float(&p, 0), 16);
    feed_x(1);
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_PREDICATE);
}
END_TEST

/* ---- ops that do not keep what they promise ---- */

/* Says that it puts out a scalar, and puts out what comes in. */
static eddy_status forward(eddy_kernel *k)
{
    eddy__output_forward(k, 0, 0);
    return EDDY_OK;
}

static eddy_status infer_scalar(eddy_infer *infer)
{
    const eddy_shape shape = {.rank = 0};

    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_pair(eddy_infer *infer)
{
    const eddy_shape shape = {.rank = 1, .dims = {2}};

    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* A scalar in, nothing out. */
static eddy_status do_nothing(eddy_kernel *k)
{
    (void)k;
    return EDDY_OK;
}

/* Sets the other dtype of four bytes. */
static eddy_status mistake_dtype(eddy_kernel *k)
{
    eddy__out_scalar(eddy__out(k, 0), EDDY_INT32, 1);
    return EDDY_OK;
}

static const struct {
    eddy_infer_fn infer;
    eddy_kernel_fn kernel;
    int32_t rank; /* of what comes in: 0, or one of three elements */
} lies[] = {
    {infer_scalar, forward, 1},       {infer_pair, forward, 1},
    {infer_pair, forward, 0},         {infer_scalar, do_nothing, 0},
    {infer_scalar, mistake_dtype, 0},
};

/* One of eddy's own ops, which other builds trust. */
static void register_lie(int i)
{
    const eddy_op_spec spec = {.size = sizeof spec,
                               .name = "Lie",
                               .inputs = "x: float32",
                               .outputs = "y: float32",
                               .infer = lies[i].infer,
                               .kernel = lies[i].kernel,
                               .flags = EDDY_OP_CHEAP};

    ck_assert_int_eq(
        eddy__registry_add(&p.ctx->registry, &spec, EDDY__ROLE_NONE, &p.err),
        EDDY_OK);
}

START_TEST(a_checked_build_refuses_what_was_not_assumed)
{
    if (!EDDY__IS_CHECKED)
        return;
    register_lie(_i);
    program_build(&p, lies[_i].rank == 0 ? "x float32=1" : "x float32[3]=1");
    program_build(&p, "e Enter@f x\n"
                      "l Lie e\n"
                      "a Identity l\n"
                      "b AddV2 a l\n"
                      "o Exit b");
    program_plan(&p, NULL, "o");
    program_make_run(&p);
    ck_assert_int_eq(program_execute(&p), EDDY_INTERNAL);
    ck_assert_str_eq(p.err.node, "l");
    ck_assert_str_eq(p.err.op, "Lie");
    ck_assert_str_eq(p.err.frame, "f[0]");
    ck_assert_int_ne(p.err.detail, EDDY_E_NONE);
}
END_TEST

START_TEST(a_checked_build_says_what_was_assumed)
{
    if (!EDDY__IS_CHECKED)
        return;
    register_lie(0);
    program_build(&p, "x float32[3]=1\nl Lie x\ny Neg l");
    program_plan(&p, NULL, "y");
    program_want(&p, program_execute(&p), EDDY_INTERNAL, EDDY_E_ASSUMED);
    ck_assert_str_eq(p.err.message,
                     "output 0 is a tensor, float32[3], but the plan assumed "
                     "float32[]");
}
END_TEST

TCase *check_tests(void)
{
    TCase *tc = tcase_create("check");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_predicate_of_a_loop_must_be_a_scalar);
    tcase_add_loop_test(tc, a_checked_build_refuses_what_was_not_assumed, 0,
                        (int)(sizeof lies / sizeof *lies));
    tcase_add_test(tc, a_checked_build_says_what_was_assumed);
    return tc;
}
