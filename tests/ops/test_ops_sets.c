/* SPDX-License-Identifier: Apache-2.0 */
/* Sets along the last dimension, and texts joined by segment. */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__sets_ops);
    ck_assert_int_eq(eddy__registry_add_table(&h.ctx.registry,
                                              &eddy__string_segments_ops, NULL),
                     EDDY_OK);
}

static void end(void)
{
    harness_deinit(&h);
}

static eddy_status operate(const char *op, const char *name,
                           eddy_tensor *const *inputs, size_t n)
{
    const eddy_string text = {name, strlen(name)};
    const eddy_attr attr = eddy_attr_string("set_operation", &text);

    return harness_run_attrs(&h, op, inputs, n, &attr, 1);
}

static eddy_tensor *first(void)
{
    return harness_numbers(&h, EDDY_INT32, HARNESS_DIMS(2, 3),
                           (const double[]){3, 1, 1, 2, 2, 5});
}

static eddy_tensor *second(void)
{
    return harness_numbers(&h, EDDY_INT32, HARNESS_DIMS(2, 2),
                           (const double[]){1, 4, 7, 5});
}

static const struct {
    const char *name;
    int64_t n, most;
    int places[10], values[5];
} operations[] = {
    {"a-b", 2, 1, {0, 0, 1, 0}, {3, 2}},
    {"b-a", 2, 1, {0, 0, 1, 0}, {4, 7}},
    {"Intersection", 2, 1, {0, 0, 1, 0}, {1, 5}},
    {"union", 6, 3, {0}, {0}},
};

START_TEST(sets_are_combined)
{
    eddy_tensor *inputs[] = {first(), second()};
    const int64_t dims[] = {operations[_i].n, 2}, two = 2;

    ck_assert_int_eq(
        operate("DenseToDenseSetOperation", operations[_i].name, inputs, 2),
        EDDY_OK);
    layout_want(&h, 2, EDDY_INT64, 1, &two,
                LAYOUT_NUMBERS(2, (int)operations[_i].most));
    harness_want(&h, 1, EDDY_INT32, 1, dims);
    if (operations[_i].n > 2) {
        layout_want(&h, 0, EDDY_INT64, 2, dims,
                    LAYOUT_NUMBERS(0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2));
        layout_want(&h, 1, EDDY_INT32, 1, dims,
                    LAYOUT_NUMBERS(1, 3, 4, 2, 5, 7));
    } else {
        layout_want(&h, 0, EDDY_INT64, 2, dims, operations[_i].places);
        layout_want(&h, 1, EDDY_INT32, 1, dims, operations[_i].values);
    }
}
END_TEST

static eddy_tensor *at(double a, double b, double c, double d)
{
    return harness_numbers(&h, EDDY_INT64, HARNESS_DIMS(2, 2),
                           (const double[]){a, b, c, d});
}

START_TEST(sparse_sets_are_in_order)
{
    eddy_tensor *inputs[] = {first(), at(0, 1, 1, 0),
                             harness_vector(&h, EDDY_INT32, 3, 9),
                             harness_vector(&h, EDDY_INT64, 2, 2)};
    const int64_t three[] = {3, 2};

    ck_assert_int_eq(operate("DenseToSparseSetOperation", "a-b", inputs, 4),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_INT64, 2, three, LAYOUT_NUMBERS(0, 0, 1, 0, 1, 1));
    layout_want(&h, 1, EDDY_INT32, 1, three, LAYOUT_NUMBERS(1, 2, 5));
    inputs[1] = at(1, 0, 0, 1);
    harness_want_error(&h,
                       operate("DenseToSparseSetOperation", "a-b", inputs, 4),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    inputs[1] = at(0, 1, 2, 0);
    harness_want_error(&h,
                       operate("DenseToSparseSetOperation", "a-b", inputs, 4),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    inputs[1] = at(0, 1, 1, 0);
    inputs[3] = harness_vector(&h, EDDY_INT64, 3, 2);
    harness_want_error(&h,
                       operate("DenseToSparseSetOperation", "a-b", inputs, 4),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

START_TEST(texts_are_elements_too)
{
    const char *const a[] = {"b", ""}, *const b[] = {"", "ba"};
    const char *const all[] = {"", "b", "ba"};
    eddy_tensor *shape = harness_vector(&h, EDDY_INT64, 1, 2);
    eddy_tensor *places = at(0, 0, 0, 1);
    eddy_tensor *inputs[] = {
        places, harness_strings(&h, HARNESS_DIMS(2), a), shape,
        places, harness_strings(&h, HARNESS_DIMS(2), b), shape};

    ck_assert_int_eq(operate("SparseToSparseSetOperation", "union", inputs, 6),
                     EDDY_OK);
    ck_assert_int_eq(h.outputs[1]->count, 3);
    for (int64_t i = 0; i < 3; i++) {
        const eddy_string got = eddy_tensor_string(h.outputs[1], i);

        ck_assert_uint_eq(got.length, strlen(all[i]));
        ck_assert_mem_eq(got.data, all[i], got.length);
    }
}
END_TEST

START_TEST(elements_are_counted_once)
{
    const int64_t three = 3;

    layout_run(
        &h, "SetSize",
        LAYOUT_INPUTS(harness_numbers(&h, EDDY_INT64, HARNESS_DIMS(3, 2),
                                      (const double[]){0, 0, 0, 1, 2, 1}),
                      harness_vector(&h, EDDY_INT32, 4, 4, 4),
                      harness_vector(&h, EDDY_INT64, 3, 2)),
        NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &three, LAYOUT_NUMBERS(1, 0, 1));
    harness_want_error(
        &h,
        harness_run(&h, "SetSize",
                    harness_numbers(&h, EDDY_INT64, HARNESS_DIMS(1, 1),
                                    (const double[]){0}),
                    harness_vector(&h, EDDY_INT32, 4),
                    harness_vector(&h, EDDY_INT64, 3)),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

START_TEST(groups_and_operations_must_fit)
{
    eddy_tensor *inputs[] = {first(), harness_vector(&h, EDDY_INT32, 1)};

    harness_want_error(&h,
                       operate("DenseToDenseSetOperation", "a-b", inputs, 2),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    inputs[1] = harness_numbers(&h, EDDY_INT32, HARNESS_DIMS(1, 1),
                                (const double[]){1});
    harness_want_error(&h,
                       operate("DenseToDenseSetOperation", "a-b", inputs, 2),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    inputs[1] = second();
    harness_want_error(&h,
                       operate("DenseToDenseSetOperation", "both", inputs, 2),
                       EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
}
END_TEST

/* ---- segments ---- */

static eddy_status join(eddy_tensor *ids, double n)
{
    const char *const texts[] = {"a", "", "", "d", "e", "f"};
    const eddy_string dash = {"-", 1};
    const eddy_attr attr = eddy_attr_string("separator", &dash);
    eddy_tensor *inputs[] = {harness_strings(&h, HARNESS_DIMS(3, 2), texts),
                             ids, harness_scalar(&h, EDDY_INT32, n)};

    return harness_run_attrs(&h, "UnsortedSegmentJoin", inputs, 3, &attr, 1);
}

START_TEST(segments_are_joined)
{
    const char *const wanted[] = {"", "d", "a-e", "f", "", ""};

    ck_assert_int_eq(join(harness_vector(&h, EDDY_INT64, 1, 0, 1), 3), EDDY_OK);
    harness_want_texts(&h, HARNESS_DIMS(3, 2), wanted);
    harness_want_error(&h, join(harness_vector(&h, EDDY_INT32, 1, 3, 1), 3),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h, join(harness_vector(&h, EDDY_INT32, 1, 0), 3),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, join(harness_vector(&h, EDDY_INT32, 1, 0, 1), -1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

TCase *ops_sets_tests(void)
{
    TCase *tests = tcase_create("ops_sets");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, sets_are_combined, 0, 4);
    tcase_add_test(tests, sparse_sets_are_in_order);
    tcase_add_test(tests, texts_are_elements_too);
    tcase_add_test(tests, elements_are_counted_once);
    tcase_add_test(tests, groups_and_operations_must_fit);
    tcase_add_test(tests, segments_are_joined);
    return tests;
}
