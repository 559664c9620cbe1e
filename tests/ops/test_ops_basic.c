/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__basic_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const int64_t matrix[] = {2, 3}, two = 2;

START_TEST(an_unfed_placeholder_fails)
{
    const eddy_dtype dtype = EDDY_FLOAT32;
    const eddy_attr attr = eddy_attr_type("dtype", &dtype);

    harness_want_error(&h,
                       harness_run_attrs(&h, "Placeholder", NULL, 0, &attr, 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_NOT_FED);
}
END_TEST

START_TEST(a_placeholder_passes_its_default)
{
    const eddy_shape shape = {.rank = 2, .dims = {-1, 3}};
    const eddy_attr attr = eddy_attr_shape("shape", &shape);
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 0, 2, matrix);

    layout_run(&h, "PlaceholderWithDefault", LAYOUT_INPUTS(x), &attr, 1);
    layout_want(&h, 0, dtype, 2, matrix, LAYOUT_NUMBERS(0, 1, 2, 3, 4, 5));
}
END_TEST

static eddy_status constant(eddy_tensor *value, eddy_dtype dtype)
{
    const eddy_attr attrs[] = {eddy_attr_tensor("value", &value),
                               eddy_attr_type("dtype", &dtype)};

    return harness_run_attrs(&h, "Const", NULL, 0, attrs, 2);
}

START_TEST(const_gives_its_value)
{
    eddy_dtype dtype = layout_dtype(_i);

    ck_assert_int_eq(constant(layout_range(&h, dtype, 1, 1, &two), dtype),
                     EDDY_OK);
    layout_want(&h, 0, dtype, 1, &two, LAYOUT_NUMBERS(1, 2));
    ck_assert_int_eq(constant(layout_range(&h, dtype, 4, 0, NULL), dtype),
                     EDDY_OK);
    layout_want(&h, 0, dtype, 0, NULL, LAYOUT_NUMBERS(4));
}
END_TEST

START_TEST(const_checks_its_dtype)
{
    harness_want_error(&h, constant(layout_int(&h, 1), EDDY_FLOAT32),
                       EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
}
END_TEST

START_TEST(identities_pass_every_dtype)
{
    static const char *const ops[] = {"Identity",        "StopGradient",
                                      "PreventGradient", "GuaranteeConst",
                                      "DeepCopy",        "Snapshot"};
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 0, 2, matrix);

    /* Snapshot has no strings. */
    for (int i = 0; i < (dtype == EDDY_STRING ? 5 : 6); i++) {
        layout_run(&h, ops[i], LAYOUT_INPUTS(x), NULL, 0);
        layout_want(&h, 0, dtype, 2, matrix, LAYOUT_NUMBERS(0, 1, 2, 3, 4, 5));
        ck_assert_ptr_eq(h.outputs[0]->data, x->data);
    }
}
END_TEST

START_TEST(identity_n_passes_several)
{
    eddy_tensor *x = layout_range(&h, EDDY_STRING, 0, 2, matrix);
    eddy_tensor *y = layout_int(&h, 8);

    layout_run(&h, "IdentityN", LAYOUT_INPUTS(x, y, x), NULL, 0);
    ck_assert_uint_eq(h.n_outputs, 3);
    layout_want(&h, 0, EDDY_STRING, 2, matrix,
                LAYOUT_NUMBERS(0, 1, 2, 3, 4, 5));
    layout_want(&h, 1, EDDY_INT32, 0, NULL, LAYOUT_NUMBERS(8));
    layout_want(&h, 2, EDDY_STRING, 2, matrix,
                LAYOUT_NUMBERS(0, 1, 2, 3, 4, 5));
}
END_TEST

/* A handle is no tensor, so the harness has none: the kernel alone. */
START_TEST(identities_pass_handles)
{
    static const char *const ops[] = {"Identity", "StopGradient", "IdentityN"};
    static const uint32_t in = 0, out = 1;
    const eddy__kernel_node node = {
        .in = &in, .out = &out, .n_in = 1, .n_out = 1};
    const eddy__op *op = eddy__registry_find(&h.ctx.registry, ops[_i]);
    eddy__resource resource = {.set = NULL};
    eddy__value values[2] = {{.kind = EDDY__RESOURCE,
                              .dtype = EDDY_RESOURCE,
                              .uses = 1,
                              .as.resource = &resource}};
    eddy_kernel kernel = {
        .values = values, .in = &in, .out = &out, .node = &node};

    ck_assert_ptr_nonnull(op);
    ck_assert_int_eq(op->kernel(&kernel), EDDY_OK);
    ck_assert_int_eq(values[1].kind, EDDY__RESOURCE);
    ck_assert_int_eq(values[1].dtype, EDDY_RESOURCE);
    ck_assert_ptr_eq(values[1].as.resource, &resource);
}
END_TEST

START_TEST(no_op_does_nothing)
{
    layout_run(&h, "NoOp", NULL, 0, NULL, 0);
    ck_assert_uint_eq(h.n_outputs, 0);
}
END_TEST

static eddy_status ensure(const eddy_shape *shape)
{
    const eddy_attr attr = eddy_attr_shape("shape", shape);

    return harness_run_attrs(
        &h, "EnsureShape",
        LAYOUT_INPUTS(layout_range(&h, EDDY_INT8, 0, 2, matrix)), &attr, 1);
}

START_TEST(ensure_shape_lets_through_what_fits)
{
    const eddy_shape fits[] = {{.rank = -1},
                               {.rank = 2, .dims = {2, -1}},
                               {.rank = 2, .dims = {2, 3}}};
    const eddy_shape others[] = {{.rank = 1, .dims = {-1}},
                                 {.rank = 2, .dims = {3, -1}}};

    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(ensure(&fits[i]), EDDY_OK);
        layout_want(&h, 0, EDDY_INT8, 2, matrix,
                    LAYOUT_NUMBERS(0, 1, 2, 3, 4, 5));
    }
    for (int i = 0; i < 2; i++)
        harness_want_error(&h, ensure(&others[i]), EDDY_INVALID_ARGUMENT,
                           EDDY_E_SHAPE);
}
END_TEST

static const char *numerics_op = "CheckNumerics";

static eddy_status check_numerics(eddy_tensor *x)
{
    const eddy_string text = {"blew up", 7};
    const eddy_attr attr = eddy_attr_string("message", &text);

    return harness_run_attrs(&h, numerics_op, LAYOUT_INPUTS(x), &attr, 1);
}

/* _i: which of the three floating point dtypes, and of the two ops. */
START_TEST(check_numerics_finds_nans_and_infinities)
{
    static const struct {
        double values[3];
        const char *text;
    } cases[] = {
        {{1, -2, (double)NAN}, "blew up : Tensor had NaN values"},
        {{(double)-INFINITY, 0, 1}, "blew up : Tensor had Inf values"},
        {{1, (double)INFINITY, (double)-NAN},
         "blew up : Tensor had Inf and NaN values"},
    };
    const int64_t three = 3;
    eddy_dtype dtype = layout_dtype(_i % 3);

    numerics_op = _i < 3 ? "CheckNumerics" : "CheckNumericsV2";
    for (int i = 0; i < 3; i++) {
        harness_want_error(&h,
                           check_numerics(harness_numbers(&h, dtype, 1, &three,
                                                          cases[i].values)),
                           EDDY_INVALID_ARGUMENT, EDDY_E_NUMERICS);
        ck_assert_str_eq(h.err.message, cases[i].text);
    }
    harness_want_error(&h,
                       check_numerics(harness_scalar(&h, dtype, (double)NAN)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_NUMERICS);
    ck_assert_int_eq(check_numerics(layout_range(&h, dtype, -2, 2, matrix)),
                     EDDY_OK);
    layout_want(&h, 0, dtype, 2, matrix, LAYOUT_NUMBERS(-2, -1, 0, 1, 2, 3));
}
END_TEST

START_TEST(zeros_like_empties_every_dtype)
{
    eddy_dtype dtype = layout_dtype(_i);

    layout_run(&h, "ZerosLike",
               LAYOUT_INPUTS(layout_range(&h, dtype, 1, 2, matrix)), NULL, 0);
    layout_want(&h, 0, dtype, 2, matrix, LAYOUT_NUMBERS(0, 0, 0, 0, 0, 0));
    layout_run(&h, "ZerosLike",
               LAYOUT_INPUTS(layout_range(&h, dtype, 1, 0, NULL)), NULL, 0);
    layout_want(&h, 0, dtype, 0, NULL, LAYOUT_NUMBERS(0));
}
END_TEST

START_TEST(ones_like_fills_numbers)
{
    eddy_dtype dtype = layout_dtype(_i);

    layout_run(&h, "OnesLike",
               LAYOUT_INPUTS(layout_range(&h, dtype, 7, 1, &two)), NULL, 0);
    harness_want(&h, 0, dtype, 1, &two);
    for (int i = 0; i < 2; i++)
        ck_assert(harness_get(h.outputs[0], i) == 1);
    if (dtype == EDDY_COMPLEX64)
        ck_assert(((const float *)h.outputs[0]->data)[1] == 0);
    layout_run(&h, "OnesLike",
               LAYOUT_INPUTS(layout_range(&h, dtype, 7, 0, NULL)), NULL, 0);
    harness_want(&h, 0, dtype, 0, NULL);
    ck_assert(harness_get(h.outputs[0], 0) == 1);
}
END_TEST

START_TEST(ones_like_has_no_strings)
{
    harness_want_error(
        &h,
        harness_run(&h, "OnesLike", layout_range(&h, EDDY_STRING, 0, 0, NULL)),
        EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE);
}
END_TEST

TCase *ops_basic_tests(void)
{
    TCase *tests = tcase_create("ops_basic");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, an_unfed_placeholder_fails);
    tcase_add_loop_test(tests, a_placeholder_passes_its_default, 0,
                        LAYOUT_DTYPES);
    tcase_add_loop_test(tests, const_gives_its_value, 0, LAYOUT_DTYPES);
    tcase_add_test(tests, const_checks_its_dtype);
    tcase_add_loop_test(tests, identities_pass_every_dtype, 0, LAYOUT_DTYPES);
    tcase_add_test(tests, identity_n_passes_several);
    tcase_add_loop_test(tests, identities_pass_handles, 0, 3);
    tcase_add_test(tests, no_op_does_nothing);
    tcase_add_test(tests, ensure_shape_lets_through_what_fits);
    tcase_add_loop_test(tests, check_numerics_finds_nans_and_infinities, 0, 6);
    tcase_add_loop_test(tests, zeros_like_empties_every_dtype, 0,
                        LAYOUT_DTYPES);
    tcase_add_loop_test(tests, ones_like_fills_numbers, 0, LAYOUT_DTYPES - 1);
    tcase_add_test(tests, ones_like_has_no_strings);
    return tests;
}
