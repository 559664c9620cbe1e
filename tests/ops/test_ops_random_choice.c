/* SPDX-License-Identifier: Apache-2.0 */
/* Multinomial and RandomShuffle; the rows are what TensorFlow 2.21 gave. */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/aid/numbers.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

/* The logarithms of [[.1 .2 .3 .4] [.7 .1 .1 .1]] */
static eddy_tensor *some_logits(harness *h, eddy_dtype dtype)
{
    static const double parts[] = {.1, .2, .3, .4, .7, .1, .1, .1};
    double logits[8];

    for (int i = 0; i < 8; i++)
        logits[i] = log(parts[i]);
    return harness_numbers(h, dtype, HARNESS_DIMS(2, 4), logits);
}

static void check(const harness *h, const double *want, int64_t n)
{
    ck_assert_int_eq(h->outputs[0]->count, n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_double_eq(harness_get(h->outputs[0], i), want[i]);
}

START_TEST(a_seed_determines_the_classes)
{
    /* StatelessMultinomial, seed [1, 2] */
    static const double want[] = {3, 3, 1, 3, 2, 3, 3, 1, 3,
                                  2, 1, 0, 0, 0, 0, 0, 2, 0};
    const eddy_dtype narrow = EDDY_INT32;
    const eddy_attr attr = eddy_attr_type("output_dtype", &narrow);
    harness h;

    harness_init(&h, &eddy__random_choice_ops);
    NUMBERS_EACH_FLOAT(d)
    {
        eddy_tensor *in[] = {some_logits(&h, d),
                             harness_scalar(&h, EDDY_INT32, 9),
                             harness_vector(&h, EDDY_INT32, 1, 2)};

        ck_assert_int_eq(
            harness_run_attrs(&h, "StatelessMultinomial", in, 3, NULL, 0),
            EDDY_OK);
        harness_want(&h, 0, EDDY_INT64, HARNESS_DIMS(2, 9));
        check(&h, want, 18);
        ck_assert_int_eq(
            harness_run_attrs(&h, "StatelessMultinomial", in, 3, &attr, 1),
            EDDY_OK);
        harness_want(&h, 0, EDDY_INT32, HARNESS_DIMS(2, 9));
        check(&h, want, 18);
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(a_generator_determines_the_classes)
{
    /* Multinomial, seed 1, seed2 2 */
    static const double want[] = {1, 2, 1, 1, 3, 3, 2, 3, 3,
                                  0, 0, 0, 0, 0, 1, 0, 3, 2};
    const int64_t one = 1, two = 2;
    const eddy_attr attrs[] = {eddy_attr_int("seed", &one),
                               eddy_attr_int("seed2", &two)};
    harness h;
    eddy_tensor *in[2];

    harness_init(&h, &eddy__random_choice_ops);
    in[0] = some_logits(&h, EDDY_FLOAT32);
    in[1] = harness_scalar(&h, EDDY_INT32, 9);
    ck_assert_int_eq(harness_run_attrs(&h, "Multinomial", in, 2, attrs, 2),
                     EDDY_OK);
    check(&h, want, 18);
    harness_deinit(&h);
}
END_TEST

START_TEST(logits_that_are_not_finite_are_never_drawn)
{
    static const double logits[] = {0, NAN, 0, -INFINITY, INFINITY, 0};
    /* Where none is left, the class is one that is not there. */
    static const double none[] = {NAN, -INFINITY, INFINITY};
    harness h;
    eddy_tensor *n, *seed;

    harness_init(&h, &eddy__random_choice_ops);
    n = harness_scalar(&h, EDDY_INT32, 200);
    seed = harness_vector(&h, EDDY_INT32, 7, 8);
    ck_assert_int_eq(harness_run(&h, "StatelessMultinomial",
                                 harness_numbers(&h, EDDY_FLOAT32,
                                                 HARNESS_DIMS(2, 3), logits),
                                 n, seed),
                     EDDY_OK);
    for (int64_t i = 0; i < 400; i++) {
        const double got = harness_get(h.outputs[0], i);

        ck_assert(i < 200 ? got == 0 || got == 2 : got == 2);
    }
    ck_assert_int_eq(
        harness_run(&h, "StatelessMultinomial",
                    harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(1, 3), none),
                    harness_scalar(&h, EDDY_INT32, 2), seed),
        EDDY_OK);
    check(&h, (const double[]){3, 3}, 2);
    harness_deinit(&h);
}
END_TEST

START_TEST(classes_come_as_often_as_they_should)
{
    static const double parts[] = {.1, .2, .3, .4, .7, .1, .1, .1};
    int64_t counts[8] = {0};
    harness h;

    harness_init(&h, &eddy__random_choice_ops);
    ck_assert_int_eq(harness_run(&h, "StatelessMultinomial",
                                 some_logits(&h, EDDY_FLOAT64),
                                 harness_scalar(&h, EDDY_INT32, 20000),
                                 harness_vector(&h, EDDY_INT64, 3, 4)),
                     EDDY_OK);
    for (int64_t i = 0; i < 40000; i++)
        counts[i / 20000 * 4 + (int64_t)harness_get(h.outputs[0], i)]++;
    for (int i = 0; i < 8; i++)
        ck_assert_double_eq_tol((double)counts[i] / 20000, parts[i], 0.02);
    harness_deinit(&h);
}
END_TEST

START_TEST(no_rows_and_no_samples_give_nothing)
{
    harness h;
    eddy_tensor *seed;

    harness_init(&h, &eddy__random_choice_ops);
    seed = harness_vector(&h, EDDY_INT32, 1, 2);
    ck_assert_int_eq(
        harness_run(&h, "StatelessMultinomial",
                    harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(0, 3), NULL),
                    harness_scalar(&h, EDDY_INT32, 5), seed),
        EDDY_OK);
    harness_want(&h, 0, EDDY_INT64, HARNESS_DIMS(0, 5));
    ck_assert_int_eq(harness_run(&h, "StatelessMultinomial",
                                 some_logits(&h, EDDY_FLOAT32),
                                 harness_scalar(&h, EDDY_INT32, 0), seed),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_INT64, HARNESS_DIMS(2, 0));
    harness_deinit(&h);
}
END_TEST

static void refuse(harness *h, eddy_tensor *logits, eddy_tensor *n,
                   eddy_tensor *seed, eddy_detail detail)
{
    harness_want_error(h,
                       harness_run(h, "StatelessMultinomial", logits, n, seed),
                       EDDY_INVALID_ARGUMENT, detail);
}

START_TEST(bad_choices_are_refused)
{
    harness h;
    eddy_tensor *logits, *n, *seed;

    harness_init(&h, &eddy__random_choice_ops);
    logits = some_logits(&h, EDDY_FLOAT32);
    n = harness_scalar(&h, EDDY_INT32, 2);
    seed = harness_vector(&h, EDDY_INT32, 1, 2);
    refuse(&h, harness_vector(&h, EDDY_FLOAT32, 1, 2), n, seed, EDDY_E_SHAPE);
    refuse(&h, logits, harness_vector(&h, EDDY_INT32, 2), seed, EDDY_E_SHAPE);
    refuse(&h, logits, harness_scalar(&h, EDDY_INT32, -1), seed, EDDY_E_VALUE);
    refuse(&h, harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(2, 0), NULL), n,
           seed, EDDY_E_SHAPE);
    refuse(&h, logits, n, n, EDDY_E_SHAPE);
    harness_deinit(&h);
}
END_TEST

/* ---- RandomShuffle ---- */

static eddy_status shuffle(harness *h, eddy_tensor *x)
{
    const int64_t three = 3, four = 4;
    const eddy_attr attrs[] = {eddy_attr_int("seed", &three),
                               eddy_attr_int("seed2", &four)};

    return harness_run_attrs(h, "RandomShuffle", &x, 1, attrs, 2);
}

/* RandomShuffle, seed 3, seed2 4, of 0 to 10 */
static const double order[] = {7, 1, 4, 5, 2, 9, 3, 8, 0, 10, 6};

START_TEST(rows_of_every_dtype_are_shuffled)
{
    double values[33];
    harness h;

    for (int i = 0; i < 33; i++)
        values[i] = i;
    harness_init(&h, &eddy__random_choice_ops);
    for (eddy_dtype d = EDDY_FLOAT16; d <= EDDY_COMPLEX128; d++) {
        if (d == EDDY_BOOL)
            continue;
        ck_assert_int_eq(
            shuffle(&h, harness_numbers(&h, d, HARNESS_DIMS(11), values)),
            EDDY_OK);
        harness_want(&h, 0, d, HARNESS_DIMS(11));
        check(&h, order, 11);
        ck_assert_int_eq(
            shuffle(&h, harness_numbers(&h, d, HARNESS_DIMS(11, 1, 3), values)),
            EDDY_OK);
        harness_want(&h, 0, d, HARNESS_DIMS(11, 1, 3));
        for (int64_t i = 0; i < 33; i++)
            ck_assert_double_eq(harness_get(h.outputs[0], i),
                                order[i / 3] * 3 + (double)(i % 3));
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(strings_are_shuffled)
{
    static const char *const texts[] = {"0", "1", "2", "3", "4",    "5",
                                        "6", "7", "8", "9", "sheep"};
    harness h;

    harness_init(&h, &eddy__random_choice_ops);
    ck_assert_int_eq(shuffle(&h, harness_strings(&h, HARNESS_DIMS(11), texts)),
                     EDDY_OK);
    for (int64_t i = 0; i < 11; i++) {
        const eddy_string got = eddy_tensor_string(h.outputs[0], i);
        const char *want = texts[(int)order[i]];

        ck_assert_uint_eq(got.length, strlen(want));
        ck_assert_mem_eq(got.data, want, got.length);
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(what_has_one_order_stays)
{
    harness h;

    harness_init(&h, &eddy__random_choice_ops);
    ck_assert_int_eq(shuffle(&h, harness_scalar(&h, EDDY_INT8, 5)), EDDY_OK);
    harness_want(&h, 0, EDDY_INT8, 0, NULL);
    ck_assert_int_eq(
        shuffle(&h, harness_numbers(&h, EDDY_INT8, HARNESS_DIMS(1, 3),
                                    (const double[]){1, 2, 3})),
        EDDY_OK);
    check(&h, (const double[]){1, 2, 3}, 3);
    ck_assert_int_eq(
        shuffle(&h, harness_numbers(&h, EDDY_INT8, HARNESS_DIMS(4, 0), NULL)),
        EDDY_OK);
    harness_want(&h, 0, EDDY_INT8, HARNESS_DIMS(4, 0));
    harness_deinit(&h);
}
END_TEST

TCase *ops_random_choice_tests(void)
{
    TCase *tc = tcase_create("ops_random_choice");

    tcase_add_test(tc, a_seed_determines_the_classes);
    tcase_add_test(tc, a_generator_determines_the_classes);
    tcase_add_test(tc, logits_that_are_not_finite_are_never_drawn);
    tcase_add_test(tc, classes_come_as_often_as_they_should);
    tcase_add_test(tc, no_rows_and_no_samples_give_nothing);
    tcase_add_test(tc, bad_choices_are_refused);
    tcase_add_test(tc, rows_of_every_dtype_are_shuffled);
    tcase_add_test(tc, strings_are_shuffled);
    tcase_add_test(tc, what_has_one_order_stays);
    return tc;
}
