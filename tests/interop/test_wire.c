/* SPDX-License-Identifier: Apache-2.0 */
/* What the walk over the bytes of a GraphDef refuses, and where. */
#include "interop/shared/wire.h"

#include "interop/graphdef/loader.h"
#include "tests/aid/wire_writer.h"
#include "tests/suites.h"

#include <string.h>

static wire_writer w;
static eddy__wire_summary summary;
static eddy_error err;

static void setup(void)
{
    memset(&w, 0, sizeof w);
    memset(&err, 0, sizeof err);
}

static eddy_status check_graph(const void *bytes, size_t length)
{
    return eddy__wire_check(&eddy__graphdef_format,
                            &eddy__pb__graph_def__descriptor,
                            (eddy__message){bytes, length}, &summary, &err);
}

typedef struct bad {
    const char *bytes;
    size_t length;
    eddy_detail detail;
    const char *words;
} bad;

#define BAD(bytes, detail, words)                                              \
    {                                                                          \
        bytes, sizeof bytes - 1, EDDY_E_##detail, words                        \
    }

/* A node is 0a <length>; its name is 0a <length>. */
static const bad bads[] = {
    BAD("\x0a", MALFORMED, "at byte 1: a number that is cut short"),
    BAD("\x0a\x05", MALFORMED, "at byte 1: a length of 5 bytes where 0"),
    BAD("\x0a\x02\x0a\x01", MALFORMED, "at byte 3: a length of 1 bytes"),
    BAD("\x0a\xff\xff\xff\xff\x7f", MALFORMED, "at byte 1: a length of"),
    BAD("\x0a\x80\x80\x80\x80\x80\x00", MALFORMED, "more than 5 bytes"),
    BAD("\x98\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", MALFORMED,
        "at byte 2: a number of more than 64 bits"),
    BAD("\x98\x03\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", MALFORMED,
        "at byte 2: a number of more than"),
    BAD("\x00\x01", MALFORMED, "at byte 0: field number 0"),
    BAD("\xf8\xff\xff\xff\x7f\x01", MALFORMED, "at byte 0: field number"),
    BAD("\x9b\x03\x9c\x03", MALFORMED, "at byte 0: a group"),
    BAD("\x9c\x03", MALFORMED, "at byte 0: a group"),
    BAD("\x9e\x03", MALFORMED, "wire type 6 does not exist"),
    BAD("\x9f\x03", MALFORMED, "wire type 7 does not exist"),
    BAD("\x08\x01", MALFORMED, "'node' of GraphDef with wire type 0"),
    BAD("\x0a\x02\x08\x01", MALFORMED, "'name' of NodeDef with wire type 0"),
    BAD("\x0d\x00\x00\x00\x00", MALFORMED, "with wire type 5"),
    BAD("\x99\x03\x00\x00\x00", MALFORMED, "3 bytes are left where 8"),
    BAD("\x9d\x03\x00\x00\x00", MALFORMED, "3 bytes are left where 4"),
    BAD("\x0a\x05\x0a\x03"
        "a\0b",
        MALFORMED, "at byte 5: a NUL in the text 'name'"),
    BAD("\x0a\x03\x0a\x01\xff", MALFORMED, "at byte 4: the text 'name'"),
    BAD("\x0a\x04\x0a\x02\xc0\x80", MALFORMED, "is not UTF-8"),
    BAD("\x0a\x05\x0a\x03\xed\xa0\x80", MALFORMED, "is not UTF-8"),
    BAD("\x0a\x06\x0a\x04\xf4\x90\x80\x80", MALFORMED, "is not UTF-8"),
    BAD("\x0a\x04\x0a\x02\xe2\x82", MALFORMED, "is not UTF-8"),
    BAD("\x22\x00\x22\x00", MALFORMED, "'versions' is given twice"),
    /* An attribute of node "n" with an int and a float. */
    BAD("\x0a\x11\x0a\x01n\x2a\x0c\x0a\x01T\x12\x07\x18\x01\x25\x00\x00\x00"
        "\x00",
        ATTR_KIND, "at byte 14: an attribute has a second value, 'f'"),
    /* The same kind twice. */
    BAD("\x0a\x0b\x2a\x09\x0a\x01T\x12\x04\x18\x01\x18\x01", ATTR_KIND,
        "has a second value, 'i'"),
    /* A list of three bytes of floats, and one of a cut varint. */
    BAD("\x0a\x0e\x2a\x0c\x0a\x01T\x12\x07\x0a\x05\x22\x03\x00\x00\x00",
        MALFORMED, "3 bytes of 'f', not a multiple of 4"),
    BAD("\x0a\x0c\x2a\x0a\x0a\x01T\x12\x05\x0a\x03\x1a\x01\x80", MALFORMED,
        "a number that is cut short"),
};

START_TEST(refuses_what_is_malformed)
{
    const bad *b = &bads[_i];
    /* A block of just that size shows a read past its end. */
    static uint8_t bytes[64];

    memcpy(bytes + sizeof bytes - b->length, b->bytes, b->length);
    ck_assert_int_eq(check_graph(bytes + sizeof bytes - b->length, b->length),
                     EDDY_INVALID_ARGUMENT);
    ck_assert_msg(err.detail == b->detail && strstr(err.message, b->words),
                  "got %s: %s, wanted %s: %s", eddy_detail_name(err.detail),
                  err.message, eddy_detail_name(b->detail), b->words);
}
END_TEST

START_TEST(names_the_node_of_a_second_value)
{
    const bad *b = &bads[25];

    ck_assert_int_eq(b->detail, EDDY_E_ATTR_KIND);
    (void)check_graph(b->bytes, b->length);
    ck_assert_str_eq(err.node, "n");
}
END_TEST

START_TEST(counts_what_is_in_a_graph)
{
    ck_assert_int_eq(check_graph(NULL, 0), EDDY_OK);
    ck_assert_uint_eq(summary.n_nodes, 0);
    wire_begin_node(&w, 1, "a", "Add");
    wire_input(&w, "b");
    wire_input(&w, "b");
    wire_type(&w, "T", 1);
    wire_end(&w);
    wire_begin(&w, 2);
    wire_begin(&w, 1);
    wire_begin_node(&w, 3, "b", "NoOp");
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    ck_assert_int_eq(check_graph(w.bytes, w.length), EDDY_OK);
    ck_assert_uint_eq(summary.n_nodes, 2);
    ck_assert_uint_eq(summary.n_functions, 1);
    ck_assert_uint_eq(summary.n_inputs, 2);
    ck_assert_uint_eq(summary.n_attrs, 1);
}
END_TEST

START_TEST(passes_over_fields_that_it_does_not_know)
{
    wire_number(&w, 3, 7); /* the old version */
    wire_text(&w, 5, "\xff");
    wire_float(&w, 99, 1);
    wire_varint(&w, 99 << 3 | 1);
    wire_raw(&w, "12345678", 8);
    ck_assert_int_eq(check_graph(w.bytes, w.length), EDDY_OK);
}
END_TEST

/*
 * A GraphDef with an attribute whose value is a function with an attribute, and
 * so on, `n` times; each takes three messages.
 */
static size_t nest(uint8_t *to, size_t size, int n)
{
    size_t at = size;
    uint8_t varint[10];

    for (int i = 0; i < n; i++) {
        /* AttrValue.func, NameAttrList.attr, AttrEntry.value. */
        static const uint8_t keys[] = {0x52, 0x12, 0x12};

        for (int k = 2; k >= 0; k--) {
            size_t length = eddy__wire_put_varint(varint, size - at);

            ck_assert_uint_ge(at, length + 1);
            at -= length;
            memcpy(to + at, varint, length);
            to[--at] = keys[k];
        }
    }
    return at;
}

START_TEST(bounds_the_depth_of_messages)
{
    static uint8_t bytes[1024];
    const ProtobufCMessageDescriptor *type = &eddy__pb__attr_value__descriptor;
    size_t at = nest(bytes, sizeof bytes, 21);

    /* 1 + 3 * 21 = 64. */
    ck_assert_int_eq(
        eddy__wire_check(&eddy__graphdef_format, type,
                         (eddy__message){bytes + at, sizeof bytes - at},
                         &summary, &err),
        EDDY_OK);
    at = nest(bytes, sizeof bytes, 22);
    ck_assert_int_eq(
        eddy__wire_check(&eddy__graphdef_format, type,
                         (eddy__message){bytes + at, sizeof bytes - at},
                         &summary, &err),
        EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(err.detail, EDDY_E_TOO_DEEP);
    ck_assert_ptr_nonnull(strstr(err.message, "at byte "));
}
END_TEST

START_TEST(bounds_the_length)
{
    ck_assert_int_eq(check_graph("", EDDY__WIRE_MAX_BYTES + 1),
                     EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(err.detail, EDDY_E_SIZE);
}
END_TEST

START_TEST(takes_numbers_packed_or_not)
{
    wire_begin_node(&w, 1, "a", "X");
    wire_begin_attr(&w, "l");
    wire_begin(&w, 1);
    wire_number(&w, 3, 1);
    wire_number(&w, 3, (uint64_t)-1);
    wire_bytes(&w, 3, "\x01\x80\x01", 3);
    wire_bytes(&w, 4, "12345678", 8);
    wire_float(&w, 4, 1);
    wire_end(&w);
    wire_end_attr(&w);
    wire_end(&w);
    ck_assert_int_eq(check_graph(w.bytes, w.length), EDDY_OK);
}
END_TEST

START_TEST(walks_the_fields_of_a_checked_message)
{
    eddy__wire_cursor wire;
    eddy__wire_field field;

    wire_number(&w, 3, 300);
    wire_text(&w, 1, "ab");
    wire_float(&w, 2, 1);
    wire_varint(&w, 1000 << 3 | 1);
    wire_raw(&w, "12345678", 8);
    wire_text(&w, 7, "");
    wire = eddy__wire_fields(w.bytes, w.length);
    ck_assert(eddy__wire_next(&wire, &field));
    ck_assert_uint_eq(field.number, 3);
    ck_assert_ptr_null(field.data);
    ck_assert(eddy__wire_next(&wire, &field));
    ck_assert_uint_eq(field.number, 1);
    ck_assert_uint_eq(field.length, 2);
    ck_assert_mem_eq(field.data, "ab", 2);
    ck_assert(eddy__wire_next(&wire, &field));
    ck_assert_uint_eq(field.number, 2);
    ck_assert(eddy__wire_next(&wire, &field));
    ck_assert_uint_eq(field.number, 1000);
    ck_assert(eddy__wire_next(&wire, &field));
    ck_assert_uint_eq(field.length, 0);
    ck_assert(!eddy__wire_next(&wire, &field));
}
END_TEST

START_TEST(writes_varints)
{
    uint8_t bytes[10];

    ck_assert_uint_eq(eddy__wire_put_varint(bytes, 0), 1);
    ck_assert_uint_eq(bytes[0], 0);
    ck_assert_uint_eq(eddy__wire_put_varint(bytes, 300), 2);
    ck_assert_mem_eq(bytes, "\xac\x02", 2);
    ck_assert_uint_eq(eddy__wire_put_varint(bytes, UINT64_MAX), 10);
    ck_assert_mem_eq(bytes, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
}
END_TEST

TCase *wire_tests(void)
{
    TCase *tc = tcase_create("wire");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_loop_test(tc, refuses_what_is_malformed, 0,
                        (int)(sizeof bads / sizeof bads[0]));
    tcase_add_test(tc, names_the_node_of_a_second_value);
    tcase_add_test(tc, counts_what_is_in_a_graph);
    tcase_add_test(tc, passes_over_fields_that_it_does_not_know);
    tcase_add_test(tc, bounds_the_depth_of_messages);
    tcase_add_test(tc, bounds_the_length);
    tcase_add_test(tc, takes_numbers_packed_or_not);
    tcase_add_test(tc, walks_the_fields_of_a_checked_message);
    tcase_add_test(tc, writes_varints);
    return tc;
}
