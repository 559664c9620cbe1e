/* SPDX-License-Identifier: Apache-2.0 */
/* base64, elements in texts, and characters: values and mistakes. */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, NULL);
    ck_assert_int_eq(eddy__registry_add_table(&h.ctx.registry,
                                              &eddy__string_codes_ops, &h.err),
                     EDDY_OK);
    ck_assert_int_eq(eddy__registry_add_table(
                         &h.ctx.registry, &eddy__string_unicode_ops, &h.err),
                     EDDY_OK);
}

static void end(void)
{
    harness_deinit(&h);
}

static eddy_tensor *text(const char *of)
{
    return harness_strings(&h, 0, NULL, &of);
}

/* ---- base64 ---- */

static const struct {
    const char *bytes, *padded;
} codes[] = {{"", ""},
             {"a", "YQ=="},
             {"ab", "YWI="},
             {"abc", "YWJj"},
             {"a?>~\xc3\xbf", "YT8-fsO_"}};

START_TEST(bytes_are_digits_of_base64)
{
    const bool pads = true;
    const eddy_attr attr = eddy_attr_bool("pad", &pads);
    char bare[16];

    (void)snprintf(bare, sizeof bare, "%.*s",
                   (int)strcspn(codes[_i].padded, "="), codes[_i].padded);
    ck_assert_int_eq(harness_run_attrs(&h, "EncodeBase64",
                                       LAYOUT_INPUTS(text(codes[_i].bytes)),
                                       &attr, 1),
                     EDDY_OK);
    harness_want_texts(&h, 0, NULL, &codes[_i].padded);
    ck_assert_int_eq(harness_run(&h, "EncodeBase64", text(codes[_i].bytes)),
                     EDDY_OK);
    harness_want_texts(&h, 0, NULL, &(const char *){bare});
    ck_assert_int_eq(harness_run(&h, "DecodeBase64", text(bare)), EDDY_OK);
    harness_want_texts(&h, 0, NULL, &codes[_i].bytes);
    ck_assert_int_eq(harness_run(&h, "DecodeBase64", text(codes[_i].padded)),
                     EDDY_OK);
    harness_want_texts(&h, 0, NULL, &codes[_i].bytes);
}
END_TEST

static const char *const no_codes[] = {
    "Y", "YQ=", "YQ===", "YW Jj", "+/8", "====", "=", "YQ==YQ==", "YWJj="};

START_TEST(what_is_no_base64_is_refused)
{
    harness_want_error(&h, harness_run(&h, "DecodeBase64", text(no_codes[_i])),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

/* ---- elements ---- */

static eddy_status run_raw(const char *op, eddy_tensor *const *inputs,
                           size_t n_inputs, eddy_dtype dtype, bool is_little)
{
    const eddy_attr attrs[] = {eddy_attr_type("out_type", &dtype),
                               eddy_attr_bool("little_endian", &is_little)};

    return harness_run_attrs(&h, op, inputs, n_inputs, attrs, 2);
}

START_TEST(texts_are_elements)
{
    static const char *const texts[] = {"abcd", "efgh"}, *const two = "a\x01";
    eddy_tensor *x = harness_strings(&h, HARNESS_DIMS(2), texts);

    ck_assert_int_eq(run_raw("DecodeRaw", LAYOUT_INPUTS(x), EDDY_INT16, true),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_INT16, HARNESS_DIMS(2, 2));
    ck_assert(harness_get(h.outputs[0], 0) == 25185);
    ck_assert(harness_get(h.outputs[0], 3) == 26727);
    ck_assert_int_eq(run_raw("DecodeRaw", LAYOUT_INPUTS(x), EDDY_INT16, false),
                     EDDY_OK);
    ck_assert(harness_get(h.outputs[0], 0) == 24930);
    ck_assert_int_eq(run_raw("DecodeRaw",
                             LAYOUT_INPUTS(harness_strings(&h, 0, NULL, &two)),
                             EDDY_BOOL, true),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_BOOL, HARNESS_DIMS(2));
    ck_assert_mem_eq(eddy_tensor_data(h.outputs[0]), "\1\1", 2);
    ck_assert_int_eq(
        run_raw("DecodeRaw",
                LAYOUT_INPUTS(harness_strings(&h, HARNESS_DIMS(0, 2), NULL)),
                EDDY_INT16, true),
        EDDY_OK);
    harness_want(&h, 0, EDDY_INT16, HARNESS_DIMS(0, 2, 0));
}
END_TEST

/* Each half of a complex number is turned around by itself. */
START_TEST(complex_numbers_have_two_parts)
{
    static const char *const bytes = "\x3f\x80\x01\x01\x40\x20\x01\x01";
    const float *got;

    ck_assert_int_eq(
        run_raw("DecodeRaw", LAYOUT_INPUTS(text(bytes)), EDDY_COMPLEX64, false),
        EDDY_OK);
    got = eddy_tensor_data(h.outputs[0]);
    ck_assert_float_eq_tol(got[0], 1.00003F, 1e-5F);
    ck_assert_float_eq_tol(got[1], 2.50006F, 1e-5F);
}
END_TEST

START_TEST(texts_are_cut_off_or_filled_up)
{
    static const char *const texts[] = {"abcd", "e"};
    eddy_tensor *x = harness_strings(&h, HARNESS_DIMS(2), texts);
    const double wanted[] = {25185, 25699, 0, 101, 0, 0};

    ck_assert_int_eq(run_raw("DecodePaddedRaw",
                             LAYOUT_INPUTS(x, layout_int(&h, 6)), EDDY_INT16,
                             true),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_INT16, HARNESS_DIMS(2, 3));
    for (int i = 0; i < 6; i++)
        ck_assert(harness_get(h.outputs[0], i) == wanted[i]);
    ck_assert_int_eq(run_raw("DecodePaddedRaw",
                             LAYOUT_INPUTS(x, layout_int(&h, 2)), EDDY_INT16,
                             true),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_INT16, HARNESS_DIMS(2, 1));
    for (int i = -1; i < 2; i++)
        harness_want_error(&h,
                           run_raw("DecodePaddedRaw",
                                   LAYOUT_INPUTS(x, layout_int(&h, i)),
                                   EDDY_INT16, true),
                           EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

START_TEST(texts_that_are_no_elements_are_refused)
{
    static const char *const texts[] = {"abcd", "ef"};

    harness_want_error(
        &h,
        run_raw("DecodeRaw",
                LAYOUT_INPUTS(harness_strings(&h, HARNESS_DIMS(2), texts)),
                EDDY_INT16, true),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(
        &h, run_raw("DecodeRaw", LAYOUT_INPUTS(text("abc")), EDDY_INT16, true),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

/* ---- characters ---- */

static eddy_status decode(const char *op, const char *of, const char *errors)
{
    const eddy_string encoding = {"UTF-8", 5}, way = {errors, strlen(errors)};
    const eddy_attr attrs[] = {eddy_attr_string("input_encoding", &encoding),
                               eddy_attr_string("errors", &way)};

    return harness_run_attrs(&h, op, LAYOUT_INPUTS(text(of)), attrs, 2);
}

static void want_numbers(size_t output, int n, const int *wanted)
{
    ck_assert_int_eq(eddy_tensor_count(h.outputs[output]), n);
    for (int i = 0; i < n; i++)
        ck_assert(harness_get(h.outputs[output], i) == wanted[i]);
}

static const struct {
    const char *text;
    int n, characters[5], starts[5];
} decoded[] = {
    {"a\xc3\xa9\xff\xe2\x82x",
     5,
     {97, 233, 65533, 65533, 120},
     {0, 1, 3, 4, 6}},
    {"\xf0\x9f\x98\x80", 1, {128512}, {0}},
    {"\xed\xa0\x80z", 4, {65533, 65533, 65533, 122}, {0, 1, 2, 3}},
    {"\xc0\x80", 2, {65533, 65533}, {0, 1}},
    {"\xf4\x90\x80\x80", 4, {65533, 65533, 65533, 65533}, {0, 1, 2, 3}},
    {"\xe2\x82", 1, {65533}, {0}},
    {"\xe2\x82\xac\xc2\x80", 2, {0x20ac, 0x80}, {0, 3}},
    {"", 0, {0}, {0}},
};

START_TEST(characters_have_numbers)
{
    int kept[5] = {0}, n = 0;

    ck_assert_int_eq(
        decode("UnicodeDecodeWithOffsets", decoded[_i].text, "replace"),
        EDDY_OK);
    want_numbers(0, 2, (const int[]){0, decoded[_i].n});
    want_numbers(1, decoded[_i].n, decoded[_i].characters);
    want_numbers(2, decoded[_i].n, decoded[_i].starts);
    for (int i = 0; i < decoded[_i].n; i++)
        if (decoded[_i].characters[i] != 65533)
            kept[n++] = decoded[_i].characters[i];
    ck_assert_int_eq(decode("UnicodeDecode", decoded[_i].text, "ignore"),
                     EDDY_OK);
    want_numbers(1, n, kept);
    if (n < decoded[_i].n)
        harness_want_error(&h,
                           decode("UnicodeDecode", decoded[_i].text, "strict"),
                           EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

START_TEST(control_characters_may_be_replaced)
{
    const bool yes = true;
    const eddy_string encoding = {"UTF-8", 5},
                      ways[] = {{"replace", 7}, {"strict", 6}, {"ignore", 6}};

    for (int i = 0; i < 3; i++) {
        const eddy_attr attrs[] = {
            eddy_attr_string("input_encoding", &encoding),
            eddy_attr_string("errors", &ways[i]),
            eddy_attr_bool("replace_control_characters", &yes)};

        ck_assert_int_eq(harness_run_attrs(&h, "UnicodeDecode",
                                           LAYOUT_INPUTS(text("a\x01\x7f ")),
                                           attrs, 3),
                         EDDY_OK);
        if (i < 2)
            want_numbers(1, 4, (const int[]){97, 65533, 127, 32});
        else
            want_numbers(1, 3, (const int[]){97, 127, 32});
    }
}
END_TEST

static eddy_status encode(const char *encoding, const char *errors)
{
    const eddy_string as = {encoding, strlen(encoding)};
    const eddy_string way = {errors, strlen(errors)};
    const eddy_attr attrs[] = {eddy_attr_string("output_encoding", &as),
                               eddy_attr_string("errors", &way)};
    eddy_tensor *values =
        harness_vector(&h, EDDY_INT32, 97, 233, 0x1f600, 0xd800, -1, 0x110000);

    return harness_run_attrs(
        &h, "UnicodeEncode",
        LAYOUT_INPUTS(values, harness_vector(&h, EDDY_INT64, 0, 2, 6)), attrs,
        2);
}

#define WANT_BYTES(i, bytes)                                                   \
    do {                                                                       \
        const eddy_string got_ = eddy_tensor_string(h.outputs[0], (i));        \
        ck_assert_uint_eq(got_.length, sizeof(bytes) - 1);                     \
        ck_assert_mem_eq(got_.data, bytes, sizeof(bytes) - 1);                 \
    } while (0)

START_TEST(numbers_become_characters)
{
    ck_assert_int_eq(encode("UTF-8", "replace"), EDDY_OK);
    WANT_BYTES(0, "a\xc3\xa9");
    WANT_BYTES(1, "\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    ck_assert_int_eq(encode("UTF-16-BE", "replace"), EDDY_OK);
    WANT_BYTES(0, "\0a\0\xe9");
    WANT_BYTES(1, "\xd8=\xde\0\xff\xfd\xff\xfd\xff\xfd");
    ck_assert_int_eq(encode("UTF-32-BE", "ignore"), EDDY_OK);
    WANT_BYTES(1, "\0\1\xf6\0");
    harness_want_error(&h, encode("UTF-8", "strict"), EDDY_INVALID_ARGUMENT,
                       EDDY_E_VALUE);
    harness_want_error(&h, encode("latin1", "strict"), EDDY_UNIMPLEMENTED,
                       EDDY_E_ATTR_VALUE);
}
END_TEST

START_TEST(ends_of_rows_are_checked)
{
    const eddy_string as = {"UTF-8", 5};
    const eddy_attr attr = eddy_attr_string("output_encoding", &as);
    eddy_tensor *values = harness_vector(&h, EDDY_INT32, 97, 98);
    eddy_tensor *const wrong[5] = {harness_vector(&h, EDDY_INT64, 0, 3),
                                   harness_vector(&h, EDDY_INT64, 1, 2),
                                   harness_vector(&h, EDDY_INT64, 0, 2, 1),
                                   harness_vector(&h, EDDY_INT64, 0, 1),
                                   harness_vector(&h, EDDY_INT64, 0, -1, 2)};

    for (int i = 0; i < 5; i++)
        harness_want_error(&h,
                           harness_run_attrs(&h, "UnicodeEncode",
                                             LAYOUT_INPUTS(values, wrong[i]),
                                             &attr, 1),
                           EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

TCase *ops_string_codes_tests(void)
{
    TCase *tests = tcase_create("ops_string_codes");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, bytes_are_digits_of_base64, 0,
                        (int)(sizeof codes / sizeof *codes));
    tcase_add_loop_test(tests, what_is_no_base64_is_refused, 0,
                        (int)(sizeof no_codes / sizeof *no_codes));
    tcase_add_test(tests, texts_are_elements);
    tcase_add_test(tests, complex_numbers_have_two_parts);
    tcase_add_test(tests, texts_are_cut_off_or_filled_up);
    tcase_add_test(tests, texts_that_are_no_elements_are_refused);
    tcase_add_loop_test(tests, characters_have_numbers, 0,
                        (int)(sizeof decoded / sizeof *decoded));
    tcase_add_test(tests, control_characters_may_be_replaced);
    tcase_add_test(tests, numbers_become_characters);
    tcase_add_test(tests, ends_of_rows_are_checked);
    return tests;
}
