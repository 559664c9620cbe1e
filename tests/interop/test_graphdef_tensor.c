/* SPDX-License-Identifier: Apache-2.0 */
/* TensorProtos in their many forms, to tensors. */
#include "core/value/dtype.h"
#include "eddy/graphdef.h"
#include "tests/aid/core_fixture.h"
#include "tests/aid/wire_writer.h"
#include "tests/suites.h"

#include <string.h>

static core_fixture f;
static wire_writer w;
static eddy_graph *graph;

static void setup(void)
{
    core_fixture_init(&f);
    memset(&w, 0, sizeof w);
    graph = NULL;
}

static void teardown(void)
{
    eddy_graph_destroy(graph);
    core_fixture_deinit(&f);
}

/* A Const whose tensor is left open. */
static void begin_tensor(eddy_dtype dtype, const int64_t *dims, size_t rank)
{
    int32_t number = eddy__dtype_to_tf(dtype);

    wire_begin_node(&w, 1, "c", "Const");
    wire_type(&w, "dtype", number);
    wire_begin_attr(&w, "value");
    wire_begin(&w, 8);
    wire_number(&w, 1, (uint64_t)number);
    wire_shape(&w, 2, dims, rank);
}

static eddy_status finish(void)
{
    wire_end(&w);
    wire_end_attr(&w);
    wire_end(&w);
    return eddy_graphdef_read(&f.ctx, w.bytes, w.length, NULL, &graph, &f.err);
}

static const eddy_tensor *accept(void)
{
    eddy_status status = finish();
    eddy_attr attr;

    ck_assert_msg(status == EDDY_OK, "%s: %s", eddy_detail_name(f.err.detail),
                  f.err.message);
    ck_assert(eddy_graph_node_attr(graph, 0, "value", &attr));
    ck_assert_int_eq(attr.kind, EDDY_ATTR_TENSOR);
    return attr.as.tensors[0];
}

static void refuse(eddy_detail detail, const char *words)
{
    core_fixture_want(&f, finish(), EDDY_INVALID_ARGUMENT, detail);
    ck_assert_str_eq(f.err.node, "c");
    ck_assert_msg(strstr(f.err.message, words) != NULL, "'%s' has no '%s'",
                  f.err.message, words);
}

/* The values 1, 2, 3 of each dtype, as they are in memory. */
static const float floats[] = {1, 2, 3};
static const double doubles[] = {1, 2, 3};
static const uint16_t halves[] = {0x3c00, 0x4000, 0x4200};
static const int64_t wide[] = {1, 2, 3};
static const int32_t ints[] = {1, 2, 3};
static const int16_t shorts[] = {1, 2, 3};
static const int8_t bytes[] = {1, 2, 3};
static const uint8_t bools[] = {1, 0, 1};
static const float complexes[] = {1, -1, 2, -2, 3, -3};

typedef struct form {
    eddy_dtype dtype;
    uint32_t field;     /* that holds its values */
    uint32_t wire;      /* how one value is written: 0, 1 or 5 */
    const void *three;  /* the values in memory */
    uint64_t values[6]; /* as they are written, if wire is 0 */
} form;

static const form forms[] = {
    {EDDY_FLOAT16, 13, 0, halves, {0x3c00, 0x4000, 0x4200}},
    {EDDY_FLOAT32, 5, 5, floats, {0}},
    {EDDY_FLOAT64, 6, 1, doubles, {0}},
    {EDDY_INT8, 7, 0, bytes, {1, 2, 3}},
    {EDDY_INT16, 7, 0, shorts, {1, 2, 3}},
    {EDDY_INT32, 7, 0, ints, {1, 2, 3}},
    {EDDY_INT64, 10, 0, wide, {1, 2, 3}},
    {EDDY_UINT8, 7, 0, bytes, {1, 2, 3}},
    {EDDY_UINT16, 7, 0, shorts, {1, 2, 3}},
    {EDDY_UINT32, 16, 0, ints, {1, 2, 3}},
    {EDDY_UINT64, 17, 0, wide, {1, 2, 3}},
    {EDDY_BOOL, 11, 0, bools, {1, 0, 1}},
    {EDDY_COMPLEX64, 9, 5, complexes, {0}},
};

#define N_FORMS (int)(sizeof forms / sizeof forms[0])

/* Writes the first `n` values without their tags. */
static void put_values(wire_writer *to, const form *from, size_t n,
                       bool has_tags)
{
    size_t size = eddy_dtype_size(from->dtype);
    size_t width = from->wire == 1 ? 8 : 4;

    if (from->wire == 0)
        for (size_t i = 0; i < n; i++) {
            if (has_tags)
                wire_varint(to, from->field << 3);
            wire_varint(to, from->values[i]);
        }
    else
        for (size_t i = 0; i < n * size; i += width) {
            if (has_tags)
                wire_varint(to, from->field << 3 | from->wire);
            wire_raw(to, (const char *)from->three + i, width);
        }
}

/* How the values may be written. */
enum { PACKED, SEPARATE, CONTENT, N_WAYS };

static const eddy_tensor *read_form(const form *from, int way, size_t n,
                                    const int64_t *dims, size_t rank)
{
    wire_writer packed = {.length = 0};

    begin_tensor(from->dtype, dims, rank);
    if (way == CONTENT)
        wire_bytes(&w, 4, from->three, n * eddy_dtype_size(from->dtype));
    else if (way == SEPARATE)
        put_values(&w, from, n, true);
    else {
        put_values(&packed, from, n, false);
        wire_bytes(&w, from->field, packed.bytes, packed.length);
    }
    return accept();
}

START_TEST(reads_values_however_they_are_written)
{
    const form *from = &forms[_i / N_WAYS];
    const int64_t dims[] = {3};
    const eddy_tensor *t = read_form(from, _i % N_WAYS, 3, dims, 1);

    ck_assert_int_eq(eddy_tensor_dtype(t), from->dtype);
    ck_assert_int_eq(eddy_tensor_count(t), 3);
    ck_assert_int_eq(eddy_tensor_shape(t)->dims[0], 3);
    ck_assert_mem_eq(eddy_tensor_data(t), from->three,
                     3 * eddy_dtype_size(from->dtype));
}
END_TEST

START_TEST(repeats_the_last_value)
{
    const form *from = &forms[_i];
    const int64_t dims[] = {5, 3};
    const eddy_tensor *t = read_form(from, PACKED, 2, dims, 2);
    const char *data = eddy_tensor_data(t);
    size_t size = eddy_dtype_size(from->dtype);

    ck_assert_int_eq(eddy_tensor_count(t), 15);
    ck_assert_mem_eq(data, from->three, 2 * size);
    for (size_t i = 2; i < 15; i++)
        ck_assert_mem_eq(data + i * size, (const char *)from->three + size,
                         size);
}
END_TEST

START_TEST(takes_no_values_for_zeros)
{
    const int64_t dims[] = {4};
    static const char zeros[32];
    const eddy_tensor *t;

    begin_tensor(forms[_i].dtype, dims, 1);
    t = accept();
    ck_assert_mem_eq(eddy_tensor_data(t), zeros,
                     4 * eddy_dtype_size(forms[_i].dtype));
}
END_TEST

START_TEST(takes_a_scalar_without_a_shape)
{
    wire_begin_node(&w, 1, "c", "Const");
    wire_type(&w, "dtype", 3);
    wire_begin_attr(&w, "value");
    wire_begin(&w, 8);
    wire_number(&w, 1, 3);
    wire_number(&w, 7, (uint64_t)-5);
    ck_assert_int_eq(*(const int32_t *)eddy_tensor_data(accept()), -5);
}
END_TEST

START_TEST(takes_an_empty_tensor)
{
    const int64_t dims[] = {2, 0};
    const eddy_tensor *t;

    begin_tensor(_i == 0 ? EDDY_FLOAT32 : EDDY_STRING, dims, 2);
    t = accept();
    ck_assert_int_eq(eddy_tensor_count(t), 0);
    ck_assert_int_eq(eddy_tensor_shape(t)->rank, 2);
}
END_TEST

START_TEST(wraps_what_is_too_wide_for_the_dtype)
{
    begin_tensor(EDDY_INT8, NULL, 0);
    wire_number(&w, 7, 300);
    ck_assert_int_eq(*(const int8_t *)eddy_tensor_data(accept()), 44);
}
END_TEST

START_TEST(normalises_bools)
{
    const int64_t dims[] = {3};
    const uint8_t *data;

    begin_tensor(EDDY_BOOL, dims, 1);
    if (_i == 0)
        wire_bytes(&w, 4, "\x00\x02\xff", 3);
    else
        wire_bytes(&w, 11, "\x00\x80\x02\x07", 4);
    data = eddy_tensor_data(accept());
    ck_assert_int_eq(data[0], 0);
    ck_assert_int_eq(data[1], 1);
    ck_assert_int_eq(data[2], 1);
}
END_TEST

static void want_strings(const eddy_tensor *t, const char *const *texts)
{
    for (int64_t i = 0; i < eddy_tensor_count(t); i++) {
        eddy_string s = eddy_tensor_string(t, i);

        ck_assert_uint_eq(s.length, strlen(texts[i]));
        if (s.length > 0)
            ck_assert_mem_eq(s.data, texts[i], s.length);
    }
}

START_TEST(reads_strings)
{
    const int64_t dims[] = {4};

    begin_tensor(EDDY_STRING, dims, 1);
    wire_text(&w, 8, "one");
    wire_text(&w, 8, "");
    wire_text(&w, 8, "last");
    want_strings(accept(), (const char *const[]){"one", "", "last", "last"});
}
END_TEST

START_TEST(reads_strings_from_content)
{
    const int64_t dims[] = {3};

    begin_tensor(EDDY_STRING, dims, 1);
    wire_bytes(&w, 4, "\x03\x00\x81\x00onex", 8);
    want_strings(accept(), (const char *const[]){"one", "", "x"});
}
END_TEST

START_TEST(takes_no_strings_for_empty_ones)
{
    const int64_t dims[] = {2};

    begin_tensor(EDDY_STRING, dims, 1);
    want_strings(accept(), (const char *const[]){"", ""});
}
END_TEST

static const char *const bad_contents[] = {
    "\x03\x00\x01onexy", /* a byte too many */
    "\x03\x00\x09onex",  /* too few */
    "\x03\x80",          /* a length that is cut short */
    "\xff\xff\xff\xff\xff\xff\x01",
    "\x01",
};

START_TEST(refuses_bad_string_content)
{
    const int64_t dims[] = {3};

    begin_tensor(EDDY_STRING, dims, 1);
    wire_text(&w, 4, bad_contents[_i]);
    refuse(EDDY_E_TENSOR_DATA, "'value'");
}
END_TEST

START_TEST(refuses_content_of_the_wrong_length)
{
    const int64_t dims[] = {2, 2};

    begin_tensor(EDDY_FLOAT32, dims, 2);
    wire_bytes(&w, 4, "12345678901234567", (size_t)(_i == 0 ? 15 : 17));
    refuse(EDDY_E_TENSOR_DATA, "[2,2] needs 16");
}
END_TEST

START_TEST(refuses_content_and_values)
{
    begin_tensor(EDDY_FLOAT32, NULL, 0);
    wire_bytes(&w, 4, "1234", 4);
    wire_float(&w, 5, 1);
    refuse(EDDY_E_TENSOR_DATA, "tensor_content");
}
END_TEST

START_TEST(refuses_values_of_another_dtype)
{
    begin_tensor(EDDY_FLOAT32, NULL, 0);
    if (_i == 1)
        wire_float(&w, 5, 1);
    wire_number(&w, 7, 1);
    refuse(EDDY_E_TENSOR_DATA, "int_val");
}
END_TEST

START_TEST(values_that_are_too_many_are_left_out)
{
    const int64_t dims[] = {2};
    const eddy_tensor *t;

    begin_tensor(_i == 0 ? EDDY_INT64 : EDDY_STRING, dims, 1);
    for (uint32_t i = 0; i < 3; i++)
        if (_i == 0)
            wire_number(&w, 10, 5 + i);
        else
            wire_text(&w, 8, i < 2 ? "x" : "y");
    t = accept();
    ck_assert_int_eq(eddy_tensor_count(t), 2);
    if (_i == 0)
        ck_assert_int_eq(((const int64_t *)eddy_tensor_data(t))[1], 6);
    else
        ck_assert_int_eq(eddy_tensor_string(t, 1).data[0], 'x');
}
END_TEST

/* TensorFlow writes an empty array of texts with one empty text. */
START_TEST(nothing_but_the_shape_of_an_empty_tensor_counts)
{
    const int64_t dims[] = {2, 0};
    const eddy_tensor *t;

    begin_tensor(_i < 2 ? EDDY_STRING : EDDY_FLOAT32, dims, 2);
    if (_i % 2 == 0)
        wire_text(&w, 8, "");
    else
        wire_bytes(&w, 4, "12345", 5);
    t = accept();
    ck_assert_int_eq(eddy_tensor_count(t), 0);
    ck_assert_int_eq(eddy_tensor_shape(t)->rank, 2);
}
END_TEST

START_TEST(refuses_half_a_complex_number)
{
    begin_tensor(EDDY_COMPLEX64, NULL, 0);
    wire_float(&w, 9, 1);
    wire_float(&w, 9, 2);
    wire_float(&w, 9, 3);
    refuse(EDDY_E_TENSOR_DATA, "half a value");
}
END_TEST

START_TEST(refuses_bad_shapes)
{
    static const struct {
        int64_t dims[9];
        size_t rank;
        eddy_detail detail;
    } cases[] = {
        {{-1}, 1, EDDY_E_DIM},
        {{2, -3}, 2, EDDY_E_DIM},
        {{1, 1, 1, 1, 1, 1, 1, 1, 1}, 9, EDDY_E_RANK},
        {{(int64_t)1 << 62, 8}, 2, EDDY_E_SIZE},
        {{(int64_t)1 << 62}, 1, EDDY_E_SIZE}, /* its bytes don't fit */
        {{0, (int64_t)1 << 62, 4}, 3, EDDY_E_SIZE},
    };

    begin_tensor(EDDY_FLOAT32, cases[_i].dims, cases[_i].rank);
    refuse(cases[_i].detail, "'value'");
}
END_TEST

START_TEST(refuses_an_unknown_rank)
{
    wire_begin_node(&w, 1, "c", "Const");
    wire_type(&w, "dtype", 1);
    wire_begin_attr(&w, "value");
    wire_begin(&w, 8);
    wire_number(&w, 1, 1);
    wire_begin(&w, 2);
    wire_number(&w, 3, 1);
    wire_end(&w);
    refuse(EDDY_E_DIM, "'value'");
}
END_TEST

START_TEST(refuses_a_tensor_without_a_dtype)
{
    begin_tensor(EDDY_INVALID, NULL, 0);
    wire_number(&w, 7, 1);
    core_fixture_want(&f, finish(), EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
}
END_TEST

START_TEST(keeps_tensors_that_it_does_not_have)
{
    static const int32_t numbers[] = {12, 13, 20, 21};
    eddy_attr attr;

    wire_begin_node(&w, 1, "c", "Const");
    wire_type(&w, "dtype", 1);
    wire_begin_attr(&w, "value");
    wire_begin(&w, 8);
    wire_number(&w, 1, (uint64_t)numbers[_i]);
    wire_number(&w, 13, 0x3f80);
    ck_assert_int_eq(finish(), EDDY_OK);
    ck_assert_ptr_null(graph->nodes[0].op);
    ck_assert(eddy_graph_node_attr(graph, 0, "value", &attr));
    ck_assert_int_eq(attr.kind, EDDY_ATTR_OPAQUE);
}
END_TEST

TCase *graphdef_tensor_tests(void)
{
    TCase *tc = tcase_create("graphdef_tensor");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, reads_values_however_they_are_written, 0,
                        N_FORMS * N_WAYS);
    tcase_add_loop_test(tc, repeats_the_last_value, 0, N_FORMS);
    tcase_add_loop_test(tc, takes_no_values_for_zeros, 0, N_FORMS);
    tcase_add_test(tc, takes_a_scalar_without_a_shape);
    tcase_add_loop_test(tc, takes_an_empty_tensor, 0, 2);
    tcase_add_test(tc, wraps_what_is_too_wide_for_the_dtype);
    tcase_add_loop_test(tc, normalises_bools, 0, 2);
    tcase_add_test(tc, reads_strings);
    tcase_add_test(tc, reads_strings_from_content);
    tcase_add_test(tc, takes_no_strings_for_empty_ones);
    tcase_add_loop_test(tc, refuses_bad_string_content, 0, 5);
    tcase_add_loop_test(tc, refuses_content_of_the_wrong_length, 0, 2);
    tcase_add_test(tc, refuses_content_and_values);
    tcase_add_loop_test(tc, refuses_values_of_another_dtype, 0, 2);
    tcase_add_loop_test(tc, values_that_are_too_many_are_left_out, 0, 2);
    tcase_add_loop_test(tc, nothing_but_the_shape_of_an_empty_tensor_counts, 0,
                        4);
    tcase_add_test(tc, refuses_half_a_complex_number);
    tcase_add_loop_test(tc, refuses_bad_shapes, 0, 6);
    tcase_add_test(tc, refuses_an_unknown_rank);
    tcase_add_test(tc, refuses_a_tensor_without_a_dtype);
    tcase_add_loop_test(tc, keeps_tensors_that_it_does_not_have, 0, 4);
    return tc;
}
