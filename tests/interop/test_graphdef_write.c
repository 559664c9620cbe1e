/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs to GraphDefs, and what comes back from them. */
#include "core/value/dtype.h"
#include "eddy/graphdef.h"
#include "tests/aid/core_fixture.h"
#include "tests/aid/graph_equal.h"
#include "tests/aid/wire_writer.h"
#include "tests/suites.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static core_fixture f;
static eddy_graph *again;
static void *bytes;
static size_t length;

static void setup(void)
{
    core_fixture_init(&f);
    again = NULL;
    bytes = NULL;
}

static void teardown(void)
{
    if (bytes)
        eddy_graphdef_free(f.graph, bytes, length);
    eddy_graph_destroy(again);
    core_fixture_deinit(&f);
}

static void want_ok(eddy_status status)
{
    ck_assert_msg(status == EDDY_OK, "%s: %s: %s", f.err.node,
                  eddy_detail_name(f.err.detail), f.err.message);
}

/* Writes f.graph and reads it: the same comes back, and is written the same. */
static void round_trip(void)
{
    void *second = NULL;
    size_t second_length = 0;

    want_ok(eddy_graphdef_write(f.graph, &bytes, &length, &f.err));
    want_ok(eddy_graphdef_read(&f.ctx, bytes, length, NULL, &again, &f.err));
    graph_want_equal(f.graph, again);
    want_ok(eddy_graphdef_write(again, &second, &second_length, &f.err));
    ck_assert_uint_eq(second_length, length);
    ck_assert_mem_eq(second, bytes, length);
    eddy_graphdef_free(again, second, second_length);
}

/* Are these bytes somewhere in what was written? */
static bool has_bytes(const char *wanted, size_t n)
{
    for (size_t i = 0; i + n <= length; i++)
        if (memcmp((const char *)bytes + i, wanted, n) == 0)
            return true;
    return false;
}

static eddy_node add(const char *op, const char *name,
                     const eddy_output *inputs, size_t n_inputs,
                     const eddy_attr *attrs, size_t n_attrs)
{
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = op,
                                 .name = name,
                                 .inputs = inputs,
                                 .n_inputs = n_inputs,
                                 .attrs = attrs,
                                 .n_attrs = n_attrs};
    eddy_node node = EDDY_NO_NODE;

    want_ok(eddy_graph_add(f.graph, &spec, &node, &f.err));
    return node;
}

START_TEST(writes_an_empty_graph)
{
    round_trip();
    /* Only the versions: GraphDef.versions.producer. */
    ck_assert_mem_eq(bytes, "\x22\x03\x08", 3);
    ck_assert_uint_eq(length, 5);
}
END_TEST

START_TEST(writes_edges_of_every_kind)
{
    eddy_output x = core_fixture_source(&f, "x", EDDY_FLOAT32);
    const eddy_output two[] = {x, x};
    const eddy_node join = add("Join", "j", two, 2, NULL, 0);
    const eddy_output index = {join, 1};
    const eddy_node last = add("Identity", "i", &index, 1, NULL, 0);

    want_ok(eddy_graph_add_control(f.graph, last, x.node, &f.err));
    want_ok(eddy_graph_add_control(f.graph, x.node, last, &f.err));
    want_ok(eddy_graph_set_input(f.graph, join, 1, x, &f.err));
    round_trip();
    ck_assert(has_bytes("\x1a\x03j:1", 5));
    ck_assert(has_bytes("\x1a\x02^i", 4));
}
END_TEST

START_TEST(writes_defaults_too)
{
    eddy_output x = core_fixture_source(&f, "x", EDDY_FLOAT32);

    (void)add("Options", "o", &x, 1, NULL, 0);
    round_trip();
    ck_assert(has_bytes("a b", 3));
}
END_TEST

START_TEST(writes_every_kind_of_attribute)
{
    static const int64_t ints[] = {1, -1, INT64_MIN};
    static const float floats[] = {1.5f, -0.0f};
    static const bool bools[] = {true, false};
    static const eddy_string strings[] = {{"a\0b", 3}, {"", 0}};
    static const eddy_dtype types[] = {EDDY_STRING, EDDY_COMPLEX64};
    static const eddy_shape shapes[] = {
        {.rank = -1}, {.rank = 2, .dims = {-1, 3}}, {.rank = 0}};
    eddy_output x = core_fixture_source(&f, "x", EDDY_FLOAT32);
    eddy_attr attrs[] = {
        {"_i", EDDY_ATTR_INT, true, 3, {.ints = ints}},
        {"_f", EDDY_ATTR_FLOAT, true, 2, {.floats = floats}},
        {"_b", EDDY_ATTR_BOOL, true, 2, {.bools = bools}},
        {"_s", EDDY_ATTR_STRING, true, 2, {.strings = strings}},
        {"_t", EDDY_ATTR_TYPE, true, 2, {.types = types}},
        {"_h", EDDY_ATTR_SHAPE, true, 3, {.shapes = shapes}},
        {"_n", EDDY_ATTR_FUNCTION, true, 2, {.strings = strings}},
        {"_e", EDDY_ATTR_SHAPE, true, 0, {.shapes = shapes}},
        {"_0", EDDY_ATTR_INT, false, 1, {.ints = ints + 2}},
        {"_1", EDDY_ATTR_FLOAT, false, 1, {.floats = floats + 1}},
        {"_2", EDDY_ATTR_BOOL, false, 1, {.bools = bools}},
        {"_3", EDDY_ATTR_STRING, false, 1, {.strings = strings}},
        {"_4", EDDY_ATTR_TYPE, false, 1, {.types = types}},
        {"_5", EDDY_ATTR_SHAPE, false, 1, {.shapes = shapes + 1}},
        {"_6", EDDY_ATTR_FUNCTION, false, 1, {.strings = strings + 1}},
    };

    /* Names of functions are texts, which can't have a NUL. */
    attrs[6].n = 1;
    attrs[6].as.strings = strings + 1;
    (void)add("Identity", "i", &x, 1, attrs, sizeof attrs / sizeof attrs[0]);
    round_trip();
}
END_TEST

/* Tensors of different values, of one value, of one element, of none. */
static const eddy_shape shapes[] = {
    {.rank = 1, .dims = {5}},
    {.rank = 2, .dims = {2, 3}},
    {.rank = 0},
    {.rank = 2, .dims = {3, 0}},
};

START_TEST(writes_tensors_of_every_dtype)
{
    const eddy_dtype dtype = (eddy_dtype)(EDDY_FLOAT16 + _i);
    eddy_output out;

    for (size_t s = 0; s < 4; s++) {
        eddy_tensor *tensor = NULL;
        uint8_t *data;
        size_t size = eddy_dtype_size(dtype);

        want_ok(eddy_tensor_create(&f.ctx, dtype, &shapes[s], &tensor, &f.err));
        data = eddy_tensor_mutable_data(tensor);
        for (size_t i = 0; i < eddy_tensor_bytes(tensor); i++) {
            size_t k = s == 0 ? i : i % size;

            data[i] = dtype == EDDY_BOOL ? (k + s) % 2 : (uint8_t)(0xf1 - k);
        }
        want_ok(eddy_graph_add_const(f.graph, NULL, tensor, &out, &f.err));
        eddy_tensor_release(tensor);
    }
    round_trip();
}
END_TEST

START_TEST(writes_strings)
{
    const eddy_string texts[] = {{"a\0\xff", 3}, {"", 0}, {"end", 3},
                                 {"x", 1},       {"", 0}, {"y", 1}};
    eddy_output out;

    for (size_t s = 1; s < 4; s++) {
        eddy_tensor *tensor = NULL;
        size_t n = s == 1 ? 6 : s == 2 ? 1 : 0;

        want_ok(eddy_tensor_from_strings(&f.ctx, &shapes[s], texts, n, &tensor,
                                         &f.err));
        want_ok(eddy_graph_add_const(f.graph, NULL, tensor, &out, &f.err));
        eddy_tensor_release(tensor);
    }
    round_trip();
}
END_TEST

START_TEST(writes_one_value_once)
{
    const eddy_shape shape = {.rank = 1, .dims = {100000}};
    eddy_tensor *tensor = NULL;
    eddy_output out;

    want_ok(eddy_tensor_create(&f.ctx, EDDY_FLOAT32, &shape, &tensor, &f.err));
    memset(eddy_tensor_mutable_data(tensor), 0x40, 400000);
    want_ok(eddy_graph_add_const(f.graph, "c", tensor, &out, &f.err));
    eddy_tensor_release(tensor);
    round_trip();
    ck_assert_uint_lt(length, 100);
}
END_TEST

START_TEST(writes_what_it_could_not_read_as_it_was)
{
    wire_writer w = {.length = 0};

    wire_begin_node(&w, 1, "c", "Const");
    wire_type(&w, "dtype", 24);
    wire_begin_attr(&w, "value");
    wire_begin(&w, 8);
    wire_number(&w, 1, 24);
    wire_number(&w, 13, 0x3f80);
    wire_text(&w, 18, "float8");
    wire_end(&w);
    wire_end_attr(&w);
    wire_end(&w);
    eddy_graph_destroy(f.graph);
    f.graph = NULL;
    want_ok(
        eddy_graphdef_read(&f.ctx, w.bytes, w.length, NULL, &f.graph, &f.err));
    round_trip();
    ck_assert(has_bytes("float8", 6));
    ck_assert(has_bytes("\x30\x18", 2));
}
END_TEST

START_TEST(keeps_device_and_versions)
{
    wire_writer w = {.length = 0};

    wire_begin_node(&w, 1, "n", "NoOp");
    wire_text(&w, 4, "/cpu:0");
    wire_end(&w);
    wire_begin(&w, 4);
    wire_number(&w, 1, 1234);
    wire_number(&w, 2, 12);
    wire_end(&w);
    eddy_graph_destroy(f.graph);
    f.graph = NULL;
    want_ok(
        eddy_graphdef_read(&f.ctx, w.bytes, w.length, NULL, &f.graph, &f.err));
    round_trip();
    ck_assert_uint_eq(length, w.length);
    ck_assert_mem_eq(bytes, w.bytes, length);
    ck_assert_int_eq(again->producer, 1234);
    ck_assert_int_eq(again->min_consumer, 12);
}
END_TEST

START_TEST(refuses_bytes_that_are_no_attribute)
{
    static const eddy_string junk = {"\x0b", 1};
    const eddy_attr attr = {
        "_x", EDDY_ATTR_OPAQUE, false, 1, {.strings = &junk}};

    (void)add("NoOp", "n", NULL, 0, &attr, 1);
    core_fixture_want(&f, eddy_graphdef_write(f.graph, &bytes, &length, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED);
}
END_TEST

START_TEST(survives_every_failed_allocation)
{
    eddy_output x = core_fixture_source(&f, "x", EDDY_FLOAT32);
    const eddy_output two[] = {x, x};
    long long live, n;

    (void)add("Join", "j", two, 2, NULL, 0);
    (void)add("Options", "o", &x, 1, NULL, 0);
    live = atomic_load(&f.counting.live_bytes);
    for (n = 0;; n++) {
        eddy_status status;

        counting_allocator_allow(&f.counting, n);
        status = eddy_graphdef_write(f.graph, &bytes, &length, &f.err);
        counting_allocator_allow(&f.counting, -1);
        if (status == EDDY_OK)
            break;
        core_fixture_want(&f, status, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
        ck_assert_int_eq(atomic_load(&f.counting.live_bytes), live);
    }
    ck_assert_int_ge(n, 3);
}
END_TEST

START_TEST(saves_a_file)
{
    char path[] = "/tmp/eddy-write-XXXXXX";
    int descriptor = mkstemp(path);

    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    (void)core_fixture_source(&f, "x", EDDY_FLOAT32);
    want_ok(eddy_graphdef_save(f.graph, path, &f.err));
    want_ok(eddy_graphdef_load(&f.ctx, path, NULL, &again, &f.err));
    graph_want_equal(f.graph, again);
    unlink(path);
    core_fixture_want(&f, eddy_graphdef_save(f.graph, "/nowhere/x", &f.err),
                      EDDY_NOT_FOUND, EDDY_E_IO);
}
END_TEST

TCase *graphdef_write_tests(void)
{
    TCase *tc = tcase_create("graphdef_write");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, writes_an_empty_graph);
    tcase_add_test(tc, writes_edges_of_every_kind);
    tcase_add_test(tc, writes_defaults_too);
    tcase_add_test(tc, writes_every_kind_of_attribute);
    tcase_add_loop_test(tc, writes_tensors_of_every_dtype, 0,
                        EDDY_COMPLEX128 - EDDY_FLOAT16 + 1);
    tcase_add_test(tc, writes_strings);
    tcase_add_test(tc, writes_one_value_once);
    tcase_add_test(tc, writes_what_it_could_not_read_as_it_was);
    tcase_add_test(tc, keeps_device_and_versions);
    tcase_add_test(tc, refuses_bytes_that_are_no_attribute);
    tcase_add_test(tc, survives_every_failed_allocation);
    tcase_add_test(tc, saves_a_file);
    return tc;
}
