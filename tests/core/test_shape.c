/* SPDX-License-Identifier: Apache-2.0 */
#include "core/value/shape.h"
#include "tests/suites.h"

/* S(2, -1): a shape of rank 2. */
#define S(...)                                                                 \
    (&(eddy_shape){.rank = (int32_t)(sizeof((const int64_t[]){__VA_ARGS__}) /  \
                                     sizeof(int64_t)),                         \
                   .dims = {__VA_ARGS__}})
#define SCALAR (&(eddy_shape){.rank = 0})
#define UNKNOWN (&(eddy_shape){.rank = -1})

static void want_text(const eddy_shape *shape, const char *text)
{
    ck_assert_str_eq(eddy__shape_print(shape).text, text);
}

START_TEST(shapes_print)
{
    want_text(UNKNOWN, "?");
    want_text(SCALAR, "[]");
    want_text(S(0), "[0]");
    want_text(S(2, -1, 3), "[2,?,3]");
    want_text(S(INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
                INT64_MAX, INT64_MAX, INT64_MAX),
              "[9223372036854775807,9223372036854775807,9223372036854775807,"
              "9223372036854775807,9223372036854775807,9223372036854775807,"
              "9223372036854775807,9223372036854775807]");
}
END_TEST

START_TEST(what_is_known)
{
    const eddy_shape ranked = eddy__shape_of_rank(3);
    const eddy_shape vector = eddy__shape_vector(4);

    want_text(&ranked, "[?,?,?]");
    want_text(&vector, "[4]");
    ck_assert(!eddy__shape_is_known(&ranked));
    ck_assert(!eddy__shape_is_known(UNKNOWN));
    ck_assert(!eddy__shape_is_known(S(2, -1)));
    ck_assert(eddy__shape_is_known(S(2, 0)));
    ck_assert(eddy__shape_is_known(SCALAR));
}
END_TEST

START_TEST(equal_means_known_to_the_same_extent)
{
    ck_assert(eddy__shape_equal(S(2, -1), S(2, -1)));
    ck_assert(eddy__shape_equal(UNKNOWN, UNKNOWN));
    ck_assert(eddy__shape_equal(SCALAR, SCALAR));
    ck_assert(!eddy__shape_equal(S(2, -1), S(2, 3)));
    ck_assert(!eddy__shape_equal(S(2), S(2, 1)));
    ck_assert(!eddy__shape_equal(SCALAR, UNKNOWN));
}
END_TEST

/* Both ways round. */
static void want_merge(const eddy_shape *a, const eddy_shape *b,
                       const char *text)
{
    for (int i = 0; i < 2; i++) {
        const eddy_shape *swapped = a;
        eddy_shape out = *S(77);

        ck_assert_int_eq(eddy__shape_merge(a, b, &out), text != NULL);
        ck_assert_int_eq(eddy__shape_compatible(a, b), text != NULL);
        want_text(&out, text ? text : "[77]");
        a = b;
        b = swapped;
    }
}

START_TEST(merging_takes_what_either_knows)
{
    eddy_shape in_place = *S(-1, 3);

    want_merge(UNKNOWN, UNKNOWN, "?");
    want_merge(UNKNOWN, S(2, -1), "[2,?]");
    want_merge(S(2, -1, -1), S(-1, 3, -1), "[2,3,?]");
    want_merge(S(2), S(3), NULL);
    want_merge(S(0), S(-1), "[0]");
    want_merge(S(2), S(2, 1), NULL);
    want_merge(SCALAR, S(-1), NULL);
    want_merge(SCALAR, UNKNOWN, "[]");
    ck_assert(eddy__shape_merge(&in_place, S(2, -1), &in_place));
    want_text(&in_place, "[2,3]");
}
END_TEST

static void want_join(const eddy_shape *a, const eddy_shape *b,
                      const char *text)
{
    const eddy_shape one = eddy__shape_join(a, b);
    const eddy_shape other = eddy__shape_join(b, a);

    want_text(&one, text);
    want_text(&other, text);
}

START_TEST(joining_keeps_what_both_say)
{
    want_join(S(2, 3), S(2, 3), "[2,3]");
    want_join(S(2, 3), S(2, 4), "[2,?]");
    want_join(S(2, -1), S(2, 4), "[2,?]");
    want_join(S(2), S(2, 1), "?");
    want_join(S(2), UNKNOWN, "?");
    want_join(SCALAR, SCALAR, "[]");
}
END_TEST

START_TEST(counts_are_checked)
{
    const int64_t huge = INT64_C(1) << 62;
    int64_t count = -7;

    ck_assert(eddy__shape_count(SCALAR, 8, &count));
    ck_assert_int_eq(count, 1);
    ck_assert(eddy__shape_count(S(2, 3, 4), 8, &count));
    ck_assert_int_eq(count, 24);
    ck_assert(eddy__shape_count(S(2, 0, 4), 8, &count));
    ck_assert_int_eq(count, 0);
    ck_assert(eddy__shape_count(S(huge), 1, &count));
    ck_assert_int_eq(count, huge);
    ck_assert(eddy__shape_count(S(huge - 1, 2), 0, &count));
    ck_assert(eddy__shape_count(S(INT64_MAX), 1, &count));
    count = -7;
    ck_assert(!eddy__shape_count(S(huge), 4, &count));
    ck_assert(!eddy__shape_count(S(huge, 2), 1, &count));
    /* Dimensions of 0 hide nothing, wherever they stand. */
    ck_assert(!eddy__shape_count(S(0, huge, 4), 1, &count));
    ck_assert(!eddy__shape_count(S(huge, 0, 4), 1, &count));
    ck_assert(!eddy__shape_count(S(huge, 4, 0), 1, &count));
    ck_assert(!eddy__shape_count(S(0, huge), 4, &count));
    ck_assert(!eddy__shape_count(S(1), SIZE_MAX, &count));
    ck_assert(!eddy__shape_count(S(2, -1), 4, &count));
    ck_assert(!eddy__shape_count(UNKNOWN, 4, &count));
    ck_assert(!eddy__shape_count(&(eddy_shape){.rank = 9}, 4, &count));
    ck_assert_int_eq(count, -7);
}
END_TEST

static void want_broadcast(const eddy_shape *a, const eddy_shape *b,
                           const char *text)
{
    for (int i = 0; i < 2; i++) {
        const eddy_shape *swapped = a;
        eddy_shape out = *S(77);

        ck_assert_int_eq(eddy__shape_broadcast(a, b, &out), text != NULL);
        want_text(&out, text ? text : "[77]");
        a = b;
        b = swapped;
    }
}

START_TEST(broadcasting_is_numpys)
{
    want_broadcast(SCALAR, SCALAR, "[]");
    want_broadcast(SCALAR, S(2, 3), "[2,3]");
    want_broadcast(S(3), S(2, 3), "[2,3]");
    want_broadcast(S(2, 1), S(3), "[2,3]");
    want_broadcast(S(2, 1, 4), S(3, 1), "[2,3,4]");
    want_broadcast(S(2), S(3), NULL);
    want_broadcast(S(2, 3), S(2), NULL);
    want_broadcast(S(0), S(1), "[0]");
    want_broadcast(S(0), S(2), NULL);
    want_broadcast(S(1, 1, 1), S(1), "[1,1,1]");
}
END_TEST

START_TEST(broadcasting_with_unknowns)
{
    want_broadcast(UNKNOWN, S(2), "?");
    want_broadcast(UNKNOWN, UNKNOWN, "?");
    want_broadcast(UNKNOWN, SCALAR, "?");
    want_broadcast(S(-1), S(1), "[?]");
    want_broadcast(S(-1), S(-1), "[?]");
    want_broadcast(S(-1), S(5), "[5]");
    want_broadcast(S(-1), S(0), "[0]");
    want_broadcast(S(-1), SCALAR, "[?]");
    want_broadcast(S(-1, 2), S(3), NULL);
}
END_TEST

TCase *shape_tests(void)
{
    TCase *tests = tcase_create("shape");

    tcase_add_test(tests, shapes_print);
    tcase_add_test(tests, what_is_known);
    tcase_add_test(tests, equal_means_known_to_the_same_extent);
    tcase_add_test(tests, merging_takes_what_either_knows);
    tcase_add_test(tests, joining_keeps_what_both_say);
    tcase_add_test(tests, counts_are_checked);
    tcase_add_test(tests, broadcasting_is_numpys);
    tcase_add_test(tests, broadcasting_with_unknowns);
    return tests;
}
