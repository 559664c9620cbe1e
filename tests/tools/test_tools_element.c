/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/suites.h"
#include "tools/element.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Room for one element of any dtype. */
typedef union element {
    uint64_t bits;
    int64_t i64;
    double f64;
    float f32[2];
    uint16_t u16;
    int8_t i8;
    uint8_t u8;
} element;

static eddy__number integer(bool negative, uint64_t magnitude)
{
    return (eddy__number){.kind = EDDY__NUMBER_INTEGER,
                          .negative = negative,
                          .magnitude = magnitude};
}

static eddy__number real(double re)
{
    return (eddy__number){.kind = EDDY__NUMBER_REAL, .re = re};
}

static bool stores(eddy__number number, eddy_dtype dtype)
{
    element e = {.bits = 0};

    return eddy__element_store(&number, dtype, &e, 0) == NULL;
}

START_TEST(integers_are_stored_up_to_the_ends_of_their_range)
{
    static const struct {
        eddy_dtype dtype;
        uint64_t low, high; /* magnitudes */
    } rows[] = {
        {EDDY_INT8, 128, 127},
        {EDDY_INT16, 32768, 32767},
        {EDDY_INT32, UINT64_C(2147483648), 2147483647},
        {EDDY_INT64, UINT64_C(9223372036854775808), INT64_MAX},
        {EDDY_UINT8, 0, 255},
        {EDDY_UINT16, 0, 65535},
        {EDDY_UINT32, 0, UINT32_MAX},
        {EDDY_UINT64, 0, UINT64_MAX},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const eddy_dtype dtype = rows[i].dtype;

        ck_assert(stores(integer(false, rows[i].high), dtype));
        ck_assert(stores(integer(true, rows[i].low), dtype));
        ck_assert(!stores(integer(true, rows[i].low + 1), dtype));
        if (rows[i].high != UINT64_MAX)
            ck_assert(!stores(integer(false, rows[i].high + 1), dtype));
    }
}
END_TEST

START_TEST(what_is_stored_is_loaded)
{
    static const eddy_dtype dtypes[] = {EDDY_INT8,   EDDY_INT16, EDDY_INT32,
                                        EDDY_INT64,  EDDY_UINT8, EDDY_UINT16,
                                        EDDY_UINT32, EDDY_UINT64};

    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        const eddy__number number = integer(i < 4, 100);
        eddy__number loaded;
        element e = {.bits = UINT64_MAX};

        ck_assert_ptr_null(eddy__element_store(&number, dtypes[i], &e, 0));
        loaded = eddy__element_load(dtypes[i], &e, 0);
        ck_assert_int_eq(loaded.kind, EDDY__NUMBER_INTEGER);
        ck_assert(loaded.negative == (i < 4));
        ck_assert_uint_eq(loaded.magnitude, 100);
    }
}
END_TEST

START_TEST(only_whole_reals_become_integers)
{
    ck_assert(stores(real(3), EDDY_INT32));
    ck_assert(stores(real(-3), EDDY_INT32));
    ck_assert(stores(real(0x1p63), EDDY_UINT64));
    ck_assert(!stores(real(0x1p64), EDDY_UINT64));
    ck_assert(!stores(real(0x1p63), EDDY_INT64));
    ck_assert(stores(real(-0x1p63), EDDY_INT64));
    ck_assert(!stores(real(3.5), EDDY_INT32));
    ck_assert(!stores(real(NAN), EDDY_INT32));
    ck_assert(!stores(real(HUGE_VAL), EDDY_INT64));
    ck_assert(!stores(real(-1), EDDY_UINT8));
}
END_TEST

START_TEST(booleans_are_nought_or_one)
{
    const eddy__number yes = {.kind = EDDY__NUMBER_BOOL, .magnitude = 1};

    ck_assert(stores(yes, EDDY_BOOL));
    ck_assert(stores(integer(false, 1), EDDY_BOOL));
    ck_assert(!stores(integer(false, 2), EDDY_BOOL));
    ck_assert(!stores(integer(true, 1), EDDY_BOOL));
    ck_assert(!stores(real(0.5), EDDY_BOOL));
    ck_assert(!stores(yes, EDDY_INT32));
    ck_assert(!stores(yes, EDDY_FLOAT32));
    ck_assert(!stores(yes, EDDY_COMPLEX64));
}
END_TEST

START_TEST(a_real_beyond_its_dtype_is_refused_and_no_infinity)
{
    ck_assert(stores(real(0x1.fffffep127), EDDY_FLOAT32));
    ck_assert(stores(real(0x1.fffffefp127), EDDY_FLOAT32));
    ck_assert(!stores(real(0x1.ffffffp127), EDDY_FLOAT32));
    ck_assert(!stores(real(-1e39), EDDY_FLOAT32));
    ck_assert(stores(real(HUGE_VAL), EDDY_FLOAT32));
    ck_assert(stores(real(NAN), EDDY_FLOAT32));
    ck_assert(stores(real(65504), EDDY_FLOAT16));
    ck_assert(!stores(real(65520), EDDY_FLOAT16));
    ck_assert(!stores(real(1e300), EDDY_FLOAT16));
    ck_assert(stores(real(-HUGE_VAL), EDDY_FLOAT16));
    ck_assert(stores(real(1e300), EDDY_FLOAT64));
    ck_assert(!stores(real(1e300), EDDY_COMPLEX64));
}
END_TEST

START_TEST(a_complex_number_is_no_real_one)
{
    const eddy__number z = {.kind = EDDY__NUMBER_COMPLEX, .re = 1, .im = -2};
    element e = {.bits = 0};

    ck_assert(!stores(z, EDDY_FLOAT32));
    ck_assert(!stores(z, EDDY_INT32));
    ck_assert_ptr_null(eddy__element_store(&z, EDDY_COMPLEX64, &e, 0));
    ck_assert_float_eq(e.f32[0], 1);
    ck_assert_float_eq(e.f32[1], -2);
}
END_TEST

/* The text of an element that is stored from a real. */
static const char *text_of(eddy_dtype dtype, double value,
                           char text[EDDY__ELEMENT_TEXT])
{
    const eddy__number number = real(value);
    element e = {.bits = 0};

    ck_assert_ptr_null(eddy__element_store(&number, dtype, &e, 0));
    eddy__element_text(dtype, &e, 0, text);
    return text;
}

START_TEST(reals_have_as_many_digits_as_they_need)
{
    char text[EDDY__ELEMENT_TEXT];

    ck_assert_str_eq(text_of(EDDY_FLOAT32, 0.1, text), "0.1");
    ck_assert_str_eq(text_of(EDDY_FLOAT64, 0.1, text), "0.1");
    ck_assert_str_eq(text_of(EDDY_FLOAT16, 0.1, text), "0.1");
    ck_assert_str_eq(text_of(EDDY_FLOAT32, 14, text), "14");
    ck_assert_str_eq(text_of(EDDY_FLOAT32, 16777215, text), "16777215");
    ck_assert_str_eq(text_of(EDDY_FLOAT64, 1.0 / 3, text),
                     "0.3333333333333333");
    ck_assert_str_eq(text_of(EDDY_FLOAT64, 0.1 + 0.2, text),
                     "0.30000000000000004");
    ck_assert_str_eq(text_of(EDDY_FLOAT32, -0.0, text), "-0");
    ck_assert_str_eq(text_of(EDDY_FLOAT32, NAN, text), "NaN");
    ck_assert_str_eq(text_of(EDDY_FLOAT16, -HUGE_VAL, text), "-Infinity");
    ck_assert_str_eq(text_of(EDDY_FLOAT64, HUGE_VAL, text), "Infinity");
    ck_assert_str_eq(text_of(EDDY_COMPLEX64, -2.5, text), "\"-2.5+0j\"");
}
END_TEST

START_TEST(integers_and_booleans_are_written_in_full)
{
    const int64_t lowest = INT64_MIN;
    const uint64_t highest = UINT64_MAX;
    const uint8_t yes = 1;
    char text[EDDY__ELEMENT_TEXT];

    eddy__element_text(EDDY_INT64, &lowest, 0, text);
    ck_assert_str_eq(text, "-9223372036854775808");
    eddy__element_text(EDDY_UINT64, &highest, 0, text);
    ck_assert_str_eq(text, "18446744073709551615");
    eddy__element_text(EDDY_BOOL, &yes, 0, text);
    ck_assert_str_eq(text, "true");
}
END_TEST

/* Bit patterns from a generator, each to text and back. */
START_TEST(every_float_reads_back_to_the_same_bits)
{
    uint64_t state = 1;

    for (int i = 0; i < 20000; i++) {
        char text[EDDY__ELEMENT_TEXT];
        float single, read_single;
        double whole;
        uint32_t low;

        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        low = (uint32_t)(state >> 32);
        memcpy(&single, &low, sizeof single);
        memcpy(&whole, &state, sizeof whole);
        if (!isnan(single)) {
            eddy__element_text(EDDY_FLOAT32, &single, 0, text);
            read_single = strtof(text, NULL);
            ck_assert(memcmp(&read_single, &single, sizeof single) == 0);
        }
        if (!isnan(whole)) {
            eddy__element_text(EDDY_FLOAT64, &whole, 0, text);
            ck_assert(strtod(text, NULL) == whole);
        }
    }
    for (uint32_t i = 0; i < 65536; i++) {
        const uint16_t half = (uint16_t)i;
        char text[EDDY__ELEMENT_TEXT];

        if (isnan(eddy_float16_to_float(half)))
            continue;
        eddy__element_text(EDDY_FLOAT16, &half, 0, text);
        ck_assert_uint_eq(eddy_float16_from_float(strtof(text, NULL)), half);
    }
}
END_TEST

TCase *tools_element_tests(void)
{
    TCase *tc = tcase_create("tools_element");

    tcase_add_test(tc, integers_are_stored_up_to_the_ends_of_their_range);
    tcase_add_test(tc, what_is_stored_is_loaded);
    tcase_add_test(tc, only_whole_reals_become_integers);
    tcase_add_test(tc, booleans_are_nought_or_one);
    tcase_add_test(tc, a_real_beyond_its_dtype_is_refused_and_no_infinity);
    tcase_add_test(tc, a_complex_number_is_no_real_one);
    tcase_add_test(tc, reals_have_as_many_digits_as_they_need);
    tcase_add_test(tc, integers_and_booleans_are_written_in_full);
    tcase_add_test(tc, every_float_reads_back_to_the_same_bits);
    return tc;
}
