/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which library does a product: classes of shapes, times, what is asked for,
 * and that both libraries' products are right.
 */
#include "ops/linalg/choice.h"

#include "ops/linalg/onednn.h"
#include "tests/suites.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4

START_TEST(names_ask_for_a_library)
{
    ck_assert_int_eq(eddy__choice_named("openblas"), EDDY__MAKER_OPENBLAS);
    ck_assert_int_eq(eddy__choice_named("onednn"), EDDY__MAKER_ONEDNN);
    ck_assert_int_eq(eddy__choice_named(NULL), EDDY__MAKER_FASTER);
    ck_assert_int_eq(eddy__choice_named(""), EDDY__MAKER_FASTER);
    ck_assert_int_eq(eddy__choice_named("openblas "), EDDY__MAKER_FASTER);
}
END_TEST

START_TEST(a_shape_has_one_class)
{
    const size_t none = eddy__choice_count();
    static const int64_t same[][2][3] = {
        {{1, 256, 128}, {1, 500, 200}},     {{1, 512, 512}, {1, 4096, 4096}},
        {{64, 10, 784}, {900, 9, 20}},      {{16, 99, 200}, {128, 31, 100}},
        {{128, 128, 128}, {200, 100, 300}}, {{256, 256, 256}, {512, 512, 512}}};

    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        const int64_t *a = same[i][0], *b = same[i][1];

        ck_assert_uint_lt(eddy__choice_class(a[0], a[1], a[2]), none);
        ck_assert_uint_eq(eddy__choice_class(a[0], a[1], a[2]),
                          eddy__choice_class(b[0], b[1], b[2]));
    }
    /* Small ones, and by a vector, are not worth it. */
    ck_assert_uint_eq(eddy__choice_class(16, 16, 16), none);
    ck_assert_uint_eq(eddy__choice_class(1, 64, 64), none);
    ck_assert_uint_eq(eddy__choice_class(4096, 1, 4096), none);
    ck_assert_uint_lt(eddy__choice_class(INT64_MAX, INT64_MAX, 2), none);
}
END_TEST

START_TEST(what_stands_for_a_class_is_of_it)
{
    for (size_t i = 0; i < eddy__choice_count(); i++) {
        eddy__choice_times t;

        (void)eddy__choice_known(i, &t);
        ck_assert_uint_eq(eddy__choice_class(t.m, t.n, t.k), i);
    }
}
END_TEST

START_TEST(a_little_faster_is_not_enough)
{
    eddy__choice_times t = {.openblas_ns = 1000, .onednn_ns = 960};

    ck_assert(!eddy__choice_prefers_onednn(&t));
    t.onednn_ns = 940;
    ck_assert(eddy__choice_prefers_onednn(&t));
    t.onednn_ns = t.openblas_ns = UINT32_MAX;
    ck_assert(!eddy__choice_prefers_onednn(&t));
}
END_TEST

static void *measure_all(void *arg)
{
    eddy__choice_times *out = arg;

    for (size_t i = 0; i < eddy__choice_count(); i++)
        (void)eddy__choice_measure(i, &out[i]);
    return NULL;
}

/* Who asks at once, and who asks later, gets the same figures. */
START_TEST(a_class_is_measured_once)
{
    const size_t n = eddy__choice_count();
    eddy__choice_times *all = calloc(n * THREADS, sizeof *all), later;
    pthread_t threads[THREADS];
    const bool has_both = eddy__onednn_is_there();

    ck_assert_ptr_nonnull(all);
    for (size_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, measure_all, all + i * n), 0);
    for (size_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    for (size_t i = 0; i < n * THREADS; i++) {
        ck_assert_int_eq(eddy__choice_known(i % n, &later), has_both);
        if (has_both) {
            ck_assert_int_eq(later.m * later.n * later.k,
                             all[i].m * all[i].n * all[i].k);
            ck_assert_uint_eq(later.openblas_ns, all[i].openblas_ns);
            ck_assert_uint_eq(later.onednn_ns, all[i].onednn_ns);
            ck_assert_uint_gt(later.openblas_ns, 0);
            ck_assert_uint_gt(later.onednn_ns, 0);
        }
    }
    free(all);
}
END_TEST

START_TEST(what_was_measured_is_told)
{
    char all[1024], some[40];
    eddy__choice_times t;

    if (!eddy__choice_measure(eddy__choice_class(128, 128, 128), &t))
        return; /* There is one library. */
    eddy__choice_format(all, sizeof all);
    ck_assert_ptr_nonnull(strstr(all, "128x128x128 "));
    ck_assert_ptr_nonnull(strstr(all, "OpenBLAS"));
    ck_assert_ptr_nonnull(strstr(all, "oneDNN"));
    eddy__choice_format(some, sizeof some);
    ck_assert_uint_lt(strlen(some), sizeof some);
}
END_TEST

/* Whole numbers, so that the order of a sum does not matter. */
static void check_product(bool (*multiply)(const eddy__product *product),
                          int64_t m, int64_t n, int64_t k)
{
    float *a = malloc((size_t)(m * k) * sizeof *a);
    float *b = malloc((size_t)(k * n) * sizeof *b);
    float *out = malloc((size_t)(m * n) * sizeof *out);
    const eddy__product p = {
        .m = m, .n = n, .k = k, .a = a, .b = b, .out = out};

    ck_assert(a && b && out);
    for (int64_t i = 0; i < m * k; i++)
        a[i] = (float)(i % 7 - 3);
    for (int64_t i = 0; i < k * n; i++)
        b[i] = (float)(i % 5 - 2);
    ck_assert(multiply(&p));
    for (int64_t i = 0; i < m * n; i++) {
        float sum = 0;

        for (int64_t j = 0; j < k; j++)
            sum += a[i / n * k + j] * b[j * n + i % n];
        ck_assert(out[i] == sum);
    }
    free(out);
    free(b);
    free(a);
}

START_TEST(both_libraries_multiply_each_class)
{
    for (size_t i = 0; i + 1 < eddy__choice_count(); i++) {
        eddy__choice_times t;

        (void)eddy__choice_known(i, &t);
        check_product(eddy__gemm_float32, t.m, t.n, t.k);
        if (eddy__onednn_is_there())
            check_product(eddy__onednn_multiply, t.m, t.n, t.k);
    }
}
END_TEST

TCase *choice_tests(void)
{
    TCase *tc = tcase_create("choice");

    tcase_add_test(tc, names_ask_for_a_library);
    tcase_add_test(tc, a_shape_has_one_class);
    tcase_add_test(tc, what_stands_for_a_class_is_of_it);
    tcase_add_test(tc, a_little_faster_is_not_enough);
    tcase_add_test(tc, a_class_is_measured_once);
    tcase_add_test(tc, what_was_measured_is_told);
    tcase_add_test(tc, both_libraries_multiply_each_class);
    return tc;
}
