/* SPDX-License-Identifier: Apache-2.0 */
/* Counts as sparse tensors, and neighbours of texts: results and mistakes. */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__count_ops);
    ck_assert_int_eq(eddy__registry_add_table(&h.ctx.registry,
                                              &eddy__string_ngrams_ops, NULL),
                     EDDY_OK);
}

static void end(void)
{
    harness_deinit(&h);
}

static eddy_tensor *none(eddy_dtype dtype)
{
    const int64_t zero = 0;

    return harness_numbers(&h, dtype, 1, &zero, NULL);
}

static eddy_status count(const char *op, eddy_tensor *const *inputs, size_t n,
                         bool is_binary, int64_t most)
{
    const eddy_attr attrs[] = {eddy_attr_bool("binary_output", &is_binary),
                               eddy_attr_int("maxlength", &most)};

    return harness_run_attrs(&h, op, inputs, n, attrs, 2);
}

static eddy_tensor *matrix(void)
{
    return harness_numbers(&h, EDDY_INT64, HARNESS_DIMS(2, 3),
                           (const double[]){1, 0, 3, 3, 3, 7});
}

START_TEST(numbers_of_each_row_are_counted)
{
    static const eddy_dtype dtypes[] = {EDDY_INT32, EDDY_INT64, EDDY_FLOAT32,
                                        EDDY_FLOAT64};
    eddy_tensor *inputs[] = {matrix(), none(dtypes[_i])};
    const int64_t five[] = {5, 2}, two = 2;

    ck_assert_int_eq(count("DenseCountSparseOutput", inputs, 2, false, -1),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_INT64, 2, five,
                LAYOUT_NUMBERS(0, 0, 0, 1, 0, 3, 1, 3, 1, 7));
    layout_want(&h, 1, dtypes[_i], 1, five, LAYOUT_NUMBERS(1, 1, 1, 2, 1));
    layout_want(&h, 2, EDDY_INT64, 1, &two, LAYOUT_NUMBERS(2, 8));
    ck_assert_int_eq(count("DenseCountSparseOutput", inputs, 2, true, 5),
                     EDDY_OK);
    layout_want(&h, 1, dtypes[_i], 1, (const int64_t[]){4},
                LAYOUT_NUMBERS(1, 1, 1, 1));
    layout_want(&h, 2, EDDY_INT64, 1, &two, LAYOUT_NUMBERS(2, 5));
}
END_TEST

START_TEST(weights_are_summed)
{
    eddy_tensor *inputs[] = {harness_vector(&h, EDDY_INT64, 0, 1, 4),
                             harness_vector(&h, EDDY_INT32, 2, 5, 2, 5),
                             harness_vector(&h, EDDY_FLOAT32, 1, 2, 3, 4)};
    const int64_t three[] = {3, 2};

    ck_assert_int_eq(count("RaggedCountSparseOutput", inputs, 3, false, -1),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_INT64, 2, three, LAYOUT_NUMBERS(0, 2, 1, 2, 1, 5));
    layout_want(&h, 1, EDDY_FLOAT32, 1, three, LAYOUT_NUMBERS(1, 3, 6));
    inputs[2] = harness_vector(&h, EDDY_FLOAT32, 1, 2, 3);
    harness_want_error(&h,
                       count("RaggedCountSparseOutput", inputs, 3, false, -1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    inputs[2] = none(EDDY_FLOAT32);
    inputs[0] = harness_vector(&h, EDDY_INT64, 0, 1, 3);
    harness_want_error(&h,
                       count("RaggedCountSparseOutput", inputs, 3, false, -1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

START_TEST(a_sparse_vector_has_one_row)
{
    eddy_tensor *inputs[] = {harness_numbers(&h, EDDY_INT64, HARNESS_DIMS(2, 1),
                                             (const double[]){0, 3}),
                             harness_vector(&h, EDDY_INT32, 5, 5),
                             harness_vector(&h, EDDY_INT64, 4),
                             none(EDDY_INT64)};
    const int64_t one[] = {1, 1};

    ck_assert_int_eq(count("SparseCountSparseOutput", inputs, 4, false, -1),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_INT64, 2, one, LAYOUT_NUMBERS(5));
    layout_want(&h, 1, EDDY_INT64, 1, one, LAYOUT_NUMBERS(2));
    layout_want(&h, 2, EDDY_INT64, 1, one, LAYOUT_NUMBERS(6));
    inputs[2] = harness_vector(&h, EDDY_INT64, 3);
    harness_want_error(&h,
                       count("SparseCountSparseOutput", inputs, 4, false, -1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    inputs[2] = harness_vector(&h, EDDY_INT64, 3, 3);
    harness_want_error(&h,
                       count("SparseCountSparseOutput", inputs, 4, false, -1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

START_TEST(what_can_not_be_counted_is_refused)
{
    eddy_tensor *inputs[] = {harness_vector(&h, EDDY_INT32, 1, -1),
                             none(EDDY_INT64)};

    harness_want_error(&h,
                       count("DenseCountSparseOutput", inputs, 2, false, -1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    inputs[0] = harness_scalar(&h, EDDY_INT32, 1);
    harness_want_error(&h,
                       count("DenseCountSparseOutput", inputs, 2, false, -1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    inputs[0] = harness_numbers(&h, EDDY_INT32, HARNESS_DIMS(0, 2), NULL);
    harness_want_error(&h,
                       count("DenseCountSparseOutput", inputs, 2, false, -1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

/* ---- neighbours ---- */

static eddy_status grams(eddy_tensor *splits, const int64_t *widths,
                         int64_t padding, bool keeps)
{
    const char *const texts[] = {"a", "b", "c", "d"};
    const eddy_string separator = {" ", 1}, left = {"<", 1}, right = {">", 1};
    const eddy_attr attrs[] = {
        eddy_attr_string("separator", &separator),
        eddy_attr_string("left_pad", &left),
        eddy_attr_string("right_pad", &right),
        eddy_attr_int("pad_width", &padding),
        eddy_attr_bool("preserve_short_sequences", &keeps),
        {.name = "ngram_widths",
         .kind = EDDY_ATTR_INT,
         .is_list = true,
         .n = 1,
         .as.ints = widths}};
    eddy_tensor *inputs[] = {harness_strings(&h, HARNESS_DIMS(4), texts),
                             splits};

    return harness_run_attrs(&h, "StringNGrams", inputs, 2, attrs, 6);
}

START_TEST(neighbours_are_put_together)
{
    const int64_t two = 2, three = 3;
    const char *const plain[] = {"a b", "b c"};
    const char *const padded[] = {"< a", "a b", "b c", "c >", "< d", "d >"};
    const char *const kept[] = {"a b c", "d"};
    eddy_tensor *splits = harness_vector(&h, EDDY_INT64, 0, 3, 4);

    ck_assert_int_eq(grams(splits, &two, 0, false), EDDY_OK);
    harness_want_texts(&h, HARNESS_DIMS(2), plain);
    layout_want(&h, 1, EDDY_INT64, 1, &three, LAYOUT_NUMBERS(0, 2, 2));
    ck_assert_int_eq(grams(splits, &two, -1, false), EDDY_OK);
    harness_want_texts(&h, HARNESS_DIMS(6), padded);
    layout_want(&h, 1, EDDY_INT64, 1, &three, LAYOUT_NUMBERS(0, 4, 6));
    ck_assert_int_eq(grams(splits, &three, 0, true), EDDY_OK);
    harness_want_texts(&h, HARNESS_DIMS(2), kept);
}
END_TEST

START_TEST(rows_and_widths_must_fit)
{
    static const double splits[][3] = {{1, 2, 4}, {0, 3, 2}, {0, 1, 3}};
    const int64_t two = 2, zero = 0;

    for (int i = 0; i < 3; i++)
        harness_want_error(
            &h,
            grams(harness_numbers(&h, EDDY_INT32, HARNESS_DIMS(3), splits[i]),
                  &two, 0, false),
            EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(
        &h, grams(harness_vector(&h, EDDY_INT32, 0, 4), &zero, 0, false),
        EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
}
END_TEST

TCase *ops_count_tests(void)
{
    TCase *tests = tcase_create("ops_count");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, numbers_of_each_row_are_counted, 0, 4);
    tcase_add_test(tests, weights_are_summed);
    tcase_add_test(tests, a_sparse_vector_has_one_row);
    tcase_add_test(tests, what_can_not_be_counted_is_refused);
    tcase_add_test(tests, neighbours_are_put_together);
    tcase_add_test(tests, rows_and_widths_must_fit);
    return tests;
}
