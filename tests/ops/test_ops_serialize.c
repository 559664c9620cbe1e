/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as bytes of TensorProto; the bytes are those of TensorFlow 2.21. */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__serialize_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

/* A text of `n` bytes, zeros among them. */
static eddy_tensor *text(const char *data, size_t n)
{
    eddy_tensor *t = harness_strings(&h, 0, NULL, (const char *const[]){""});

    ck_assert(eddy__tensor_set_string(t, 0, data, n));
    return t;
}

#define TEXT(bytes) text((bytes), sizeof(bytes) - 1)

static void want_bytes(const char *bytes, size_t n)
{
    const eddy_string got = eddy_tensor_string(h.outputs[0], 0);

    ck_assert_uint_eq(got.length, n);
    ck_assert_mem_eq(got.data, bytes, n);
}

#define WANT_BYTES(bytes) want_bytes((bytes), sizeof(bytes) - 1)

START_TEST(bytes_are_those_of_tensorflow)
{
    const char *const texts[] = {"a", "bc"};

    layout_run(&h, "SerializeTensor",
               LAYOUT_INPUTS(harness_scalar(&h, EDDY_FLOAT32, 1)), NULL, 0);
    WANT_BYTES("\x08\x01\x12\x00\"\x04\x00\x00\x80?");
    layout_run(&h, "SerializeTensor",
               LAYOUT_INPUTS(harness_vector(&h, EDDY_INT32, 1, 2)), NULL, 0);
    WANT_BYTES("\x08\x03\x12\x04\x12\x02\x08\x02\"\x08\x01\x00\x00\x00\x02\x00"
               "\x00\x00");
    layout_run(&h, "SerializeTensor",
               LAYOUT_INPUTS(
                   harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(0, 3), NULL)),
               NULL, 0);
    WANT_BYTES("\x08\x01\x12\x06\x12\x00\x12\x02\x08\x03");
    layout_run(&h, "SerializeTensor",
               LAYOUT_INPUTS(harness_strings(&h, HARNESS_DIMS(1, 2), texts)),
               NULL, 0);
    WANT_BYTES("\x08\x07\x12\x08\x12\x02\x08\x01\x12\x02\x08\x02"
               "B\x01"
               "aB\x02"
               "bc");
}
END_TEST

static eddy_status parse(eddy_tensor *from, eddy_dtype dtype)
{
    const eddy_attr attr = eddy_attr_type("out_type", &dtype);

    return harness_run_attrs(&h, "ParseTensor", &from, 1, &attr, 1);
}

START_TEST(what_was_written_is_read)
{
    const eddy_dtype dtype = layout_dtype(_i);
    const int numbers[] = {1, 0, 1, 2, 3, 0};
    const int64_t dims[] = {2, 3};
    eddy_string got;

    layout_run(&h, "SerializeTensor",
               LAYOUT_INPUTS(layout_tensor(&h, dtype, 2, dims, numbers)), NULL,
               0);
    got = eddy_tensor_string(h.outputs[0], 0);
    ck_assert_int_eq(parse(text(got.data, got.length), dtype), EDDY_OK);
    layout_want(&h, 0, dtype, 2, dims, numbers);
}
END_TEST

#define FOUR "\x12\x04\x12\x02\x08\x04"

START_TEST(the_last_element_stands_for_what_is_missing)
{
    const int64_t four = 4;
    const char *const texts[] = {"a", "b", "b", "b"};

    ck_assert_int_eq(
        parse(TEXT("\x08\x03" FOUR "\x38\x01\x3a\x01\x02"), EDDY_INT32),
        EDDY_OK);
    layout_want(&h, 0, EDDY_INT32, 1, &four, LAYOUT_NUMBERS(1, 2, 2, 2));
    ck_assert_int_eq(parse(TEXT("\x08\x03" FOUR), EDDY_INT32), EDDY_OK);
    layout_want(&h, 0, EDDY_INT32, 1, &four, LAYOUT_NUMBERS(0, 0, 0, 0));
    ck_assert_int_eq(parse(TEXT("\x08\x07" FOUR "B\x01"
                                "aB\x01"
                                "b"),
                           EDDY_STRING),
                     EDDY_OK);
    harness_want_texts(&h, 1, &four, texts);
    ck_assert_int_eq(parse(TEXT("\x08\x07" FOUR "\"\x08\x01\x01\x01\x01"
                                "abbb"),
                           EDDY_STRING),
                     EDDY_OK);
    harness_want_texts(&h, 1, &four, texts);
}
END_TEST

START_TEST(what_is_no_tensor_is_refused)
{
    static const struct {
        const char *data;
        size_t n;
    } wrong[] = {
#define WRONG(bytes) {bytes, sizeof(bytes) - 1}
        WRONG(""),                               /* no dtype */
        WRONG("\xff"),                           /* a number that is cut */
        WRONG("\x08\x03\x00"),                   /* field 0 */
        WRONG("\x08\x03\x13"),                   /* a group */
        WRONG("\x08\x03\x12\x05\x12"),           /* a message that is cut */
        WRONG("\x08\x03\x12\x02\x12\x05"),       /* the same within */
        WRONG("\x08\x03\x35\x01"),               /* a number of 4 bytes */
        WRONG("\x08\x03" FOUR "\"\x02\x01\x02"), /* content too short */
        WRONG("\x08\x03" FOUR "\x3a\x01\x80"),   /* a packed one is cut */
        WRONG("\x08\x03\x12\x02\x18\x01" FOUR),  /* dims of unknown rank */
        WRONG("\x08\xc8\x01"),                   /* no such dtype */
        WRONG("\x08\x03\x12\x0d\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff"
              "\x01"), /* a dimension of -1 */
        WRONG("\x08\x03\x12\x14\x12\x08\x08\x80\x80\x80\x80\x80\x80\x01\x12\x08"
              "\x08\x80\x80\x80\x80\x80\x80\x01"), /* too many elements */
    };

    harness_want_error(&h, parse(text(wrong[_i].data, wrong[_i].n), EDDY_INT32),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

START_TEST(dtype_and_content_must_fit)
{
    harness_want_error(&h, parse(TEXT("\x08\x03"), EDDY_FLOAT32),
                       EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
    harness_want_error(
        &h, parse(TEXT("\x08\x0a" FOUR "\"\x04\x00\x01\x02\x00"), EDDY_BOOL),
        EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h,
                       parse(TEXT("\x08\x07" FOUR "\"\x05\x01\x01\x01\x01"
                                  "a"),
                             EDDY_STRING),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h,
                       parse(TEXT("\x08\x07" FOUR "\"\x05\x00\x00\x00\x00"
                                  "a"),
                             EDDY_STRING),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h,
                       parse(harness_strings(&h, HARNESS_DIMS(1),
                                             (const char *const[]){"\x08"}),
                             EDDY_INT32),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

TCase *ops_serialize_tests(void)
{
    TCase *tests = tcase_create("ops_serialize");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, bytes_are_those_of_tensorflow);
    tcase_add_loop_test(tests, what_was_written_is_read, 0, LAYOUT_DTYPES);
    tcase_add_test(tests, the_last_element_stands_for_what_is_missing);
    tcase_add_loop_test(tests, what_is_no_tensor_is_refused, 0, 13);
    tcase_add_test(tests, dtype_and_content_must_fit);
    return tests;
}
