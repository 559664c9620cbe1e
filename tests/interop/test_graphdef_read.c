/* SPDX-License-Identifier: Apache-2.0 */
/* GraphDefs as bytes to graphs: nodes, edges, attributes, limits, mistakes. */
#include "eddy/graphdef.h"
#include "tests/aid/core_fixture.h"
#include "tests/aid/wire_writer.h"
#include "tests/suites.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static eddy_status read_with(const eddy_graphdef_options *options)
{
    return eddy_graphdef_read(&f.ctx, w.bytes, w.length, options, &graph,
                              &f.err);
}

static void accept(void)
{
    eddy_status status = read_with(NULL);

    ck_assert_msg(status == EDDY_OK, "%s: %s: %s", f.err.node,
                  eddy_detail_name(f.err.detail), f.err.message);
}

static void refuse(eddy_detail detail, const char *node, const char *words)
{
    core_fixture_want(&f, read_with(NULL), EDDY_INVALID_ARGUMENT, detail);
    ck_assert_ptr_null(graph);
    ck_assert_str_eq(f.err.node, node);
    ck_assert_msg(strstr(f.err.message, words) != NULL, "'%s' has no '%s'",
                  f.err.message, words);
}

static void put_source(const char *name, int32_t dtype)
{
    wire_node(&w, name, "Placeholder", NULL, 0, "dtype", dtype);
}

static void put_identity(const char *name, const char *input, int32_t dtype)
{
    wire_node(&w, name, "Identity", &input, 1, "T", dtype);
}

/* ---- nodes and edges ---- */

START_TEST(reads_an_empty_graph)
{
    accept();
    ck_assert_uint_eq(eddy_graph_size(graph), 0);
}
END_TEST

START_TEST(reads_nodes_in_any_order)
{
    const char *const inputs[] = {"b", "y:0", "^x", "^b", "^x"};
    const eddy_output *from;
    const eddy_node *controls;
    size_t n;

    wire_node(&w, "a", "Add", inputs, 5, "T", 1);
    put_source("x", 1);
    put_identity("b", "a", 1);
    put_source("y", 1);
    accept();
    ck_assert_uint_eq(eddy_graph_size(graph), 4);
    ck_assert_str_eq(eddy_graph_node_name(graph, 0), "a");
    ck_assert_str_eq(eddy_graph_node_op(graph, 2), "Identity");
    from = eddy_graph_node_inputs(graph, 0, &n);
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(from[0].node, 2);
    ck_assert_uint_eq(from[1].node, 3);
    controls = eddy_graph_node_controls(graph, 0, &n);
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(controls[0], 1);
    ck_assert_uint_eq(controls[1], 2);
    from = eddy_graph_node_inputs(graph, 2, &n);
    ck_assert_uint_eq(from[0].node, 0);
}
END_TEST

START_TEST(reads_the_index_of_an_output)
{
    const char *const inputs[] = {"x", "x"};
    const eddy_output *from;
    size_t n;

    put_source("x", 1);
    wire_begin_node(&w, 1, "j", "Join");
    wire_input(&w, inputs[0]);
    wire_input(&w, inputs[1]);
    wire_int(&w, "N", 2);
    wire_type(&w, "T", 1);
    wire_end(&w);
    put_identity("i", "j:1", 3);
    accept();
    from = eddy_graph_node_inputs(graph, 2, &n);
    ck_assert_uint_eq(from[0].node, 1);
    ck_assert_uint_eq(from[0].index, 1);
}
END_TEST

START_TEST(keeps_the_device_and_the_versions)
{
    wire_begin_node(&w, 1, "n", "NoOp");
    wire_text(&w, 4, "/cpu:0");
    wire_end(&w);
    wire_begin(&w, 4);
    wire_number(&w, 1, 1234);
    wire_number(&w, 2, 12);
    wire_end(&w);
    accept();
    ck_assert_str_eq(graph->nodes[0].device, "/cpu:0");
    ck_assert_int_eq(graph->producer, 1234);
    ck_assert_int_eq(graph->min_consumer, 12);
}
END_TEST

START_TEST(refuses_an_input_that_is_no_node)
{
    put_source("x", 1);
    put_identity("a", "nobody", 1);
    refuse(EDDY_E_UNKNOWN_INPUT, "a", "'nobody'");
}
END_TEST

START_TEST(refuses_a_control_input_that_is_no_node)
{
    wire_node(&w, "a", "NoOp", (const char *const[]){"^nobody"}, 1, NULL, 0);
    refuse(EDDY_E_UNKNOWN_INPUT, "a", "'nobody'");
}
END_TEST

START_TEST(refuses_a_data_input_after_a_control_input)
{
    const char *const inputs[] = {"x", "^x", "x"};

    put_source("x", 1);
    wire_node(&w, "a", "Add", inputs, 3, "T", 1);
    refuse(EDDY_E_CONTROL_ORDER, "a", "'x' comes after");
}
END_TEST

static const char *const bad_indices[] = {"x:",   "x:-1",          "x:a",
                                          "x:1 ", "x:99999999999", "x:1:0"};

START_TEST(refuses_an_index_that_is_no_number)
{
    put_source("x", 1);
    put_identity("a", bad_indices[_i], 1);
    if (_i == 5) /* then it is the name that is wrong */
        refuse(EDDY_E_UNKNOWN_INPUT, "a", "'x:1'");
    else
        refuse(EDDY_E_OUTPUT_INDEX, "a", "no index");
}
END_TEST

START_TEST(refuses_an_output_that_the_node_does_not_have)
{
    put_source("x", 1);
    put_identity("a", "x:3", 1);
    refuse(EDDY_E_OUTPUT_INDEX, "a", "index 3");
}
END_TEST

START_TEST(refuses_an_edge_between_dtypes)
{
    put_identity("a", "x", 3);
    put_source("x", 1);
    refuse(EDDY_E_INPUT_DTYPE, "a", "float32");
}
END_TEST

START_TEST(refuses_a_name_that_is_there_twice)
{
    put_source("x", 1);
    put_source("a", 1);
    put_source("x", 1);
    refuse(EDDY_E_DUPLICATE_NODE, "x", "nodes 0 and 2");
}
END_TEST

static const char *const bad_names[] = {"",    "a b", "a\nb",    "_a",
                                        "a:b", "^a",  "\xc3\xa9"};

START_TEST(refuses_a_bad_name)
{
    wire_node(&w, bad_names[_i], "NoOp", NULL, 0, NULL, 0);
    core_fixture_want(&f, read_with(NULL), EDDY_INVALID_ARGUMENT,
                      EDDY_E_BAD_NAME);
    /* What is shown is one line. */
    ck_assert_ptr_null(strchr(f.err.node, '\n'));
}
END_TEST

START_TEST(refuses_too_few_inputs)
{
    put_source("x", 1);
    wire_node(&w, "a", "Add", (const char *const[]){"x"}, 1, "T", 1);
    refuse(EDDY_E_INPUT_COUNT, "a", "2 inputs");
}
END_TEST

START_TEST(refuses_a_count_that_the_inputs_do_not_have)
{
    put_source("x", 1);
    wire_begin_node(&w, 1, "j", "Join");
    wire_input(&w, "x");
    wire_int(&w, "N", (int64_t)1 << 31);
    wire_type(&w, "T", 1);
    wire_end(&w);
    refuse(EDDY_E_INPUT_COUNT, "j", "");
}
END_TEST

/* ---- attributes ---- */

/* A node of an op with attributes, open: what follows is its attributes. */
static void begin_options(void)
{
    put_source("x", 1);
    wire_begin_node(&w, 1, "o", "Options");
    wire_input(&w, "x");
}

START_TEST(takes_defaults)
{
    eddy_attr attr;

    begin_options();
    wire_type(&w, "T", 1);
    wire_end(&w);
    accept();
    ck_assert(eddy_graph_node_attr(graph, 1, "rate", &attr));
    ck_assert(attr.as.floats[0] == 0.5f);
    ck_assert(eddy_graph_node_attr(graph, 1, "text", &attr));
    ck_assert_uint_eq(attr.as.strings[0].length, 3);
}
END_TEST

START_TEST(reads_every_kind_of_attribute)
{
    const int64_t dims[] = {3, -1};
    eddy_attr attr;

    begin_options();
    wire_type(&w, "T", 1);
    wire_int(&w, "axis", -2);
    wire_begin_attr(&w, "rate");
    wire_float(&w, 4, 2.5f);
    wire_end_attr(&w);
    wire_begin_attr(&w, "keep");
    wire_number(&w, 5, 0);
    wire_end_attr(&w);
    wire_begin_attr(&w, "text");
    wire_bytes(&w, 2, "\0\xff", 2);
    wire_end_attr(&w);
    wire_begin_attr(&w, "shape");
    wire_shape(&w, 7, dims, 2);
    wire_end_attr(&w);
    wire_begin_attr(&w, "dims");
    wire_begin(&w, 1);
    wire_number(&w, 3, 7);
    wire_bytes(&w, 3, "\x08\x09", 2);
    wire_end(&w);
    wire_end_attr(&w);
    wire_end(&w);
    accept();
    ck_assert(eddy_graph_node_attr(graph, 1, "axis", &attr));
    ck_assert_int_eq(attr.as.ints[0], -2);
    ck_assert(eddy_graph_node_attr(graph, 1, "rate", &attr));
    ck_assert(attr.as.floats[0] == 2.5f);
    ck_assert(eddy_graph_node_attr(graph, 1, "keep", &attr));
    ck_assert(!attr.as.bools[0]);
    ck_assert(eddy_graph_node_attr(graph, 1, "text", &attr));
    ck_assert_uint_eq(attr.as.strings[0].length, 2);
    ck_assert_mem_eq(attr.as.strings[0].data, "\0\xff", 2);
    ck_assert(eddy_graph_node_attr(graph, 1, "shape", &attr));
    ck_assert_int_eq(attr.as.shapes[0].rank, 2);
    ck_assert_int_eq(attr.as.shapes[0].dims[1], -1);
    ck_assert(eddy_graph_node_attr(graph, 1, "dims", &attr));
    ck_assert(attr.is_list);
    ck_assert_uint_eq(attr.n, 3);
    ck_assert_int_eq(attr.as.ints[2], 9);
}
END_TEST

START_TEST(reads_shapes_of_unknown_rank)
{
    eddy_attr attr;

    wire_begin_node(&w, 1, "x", "Placeholder");
    wire_type(&w, "dtype", 1);
    wire_begin_attr(&w, "shape");
    wire_begin(&w, 7);
    wire_number(&w, 3, 1);
    wire_end(&w);
    wire_end_attr(&w);
    wire_end(&w);
    accept();
    ck_assert(eddy_graph_node_attr(graph, 0, "shape", &attr));
    ck_assert_int_eq(attr.as.shapes[0].rank, -1);
}
END_TEST

START_TEST(refuses_an_attribute_that_is_missing)
{
    put_source("x", 1);
    wire_node(&w, "a", "Identity", (const char *const[]){"x"}, 1, NULL, 0);
    refuse(EDDY_E_ATTR_MISSING, "a", "'T'");
}
END_TEST

START_TEST(refuses_an_attribute_of_the_wrong_kind)
{
    put_source("x", 1);
    wire_begin_node(&w, 1, "a", "Identity");
    wire_input(&w, "x");
    wire_begin_attr(&w, "T");
    wire_text(&w, 2, "float");
    wire_end_attr(&w);
    wire_end(&w);
    refuse(EDDY_E_ATTR_KIND, "a", "'T'");
}
END_TEST

START_TEST(refuses_an_attribute_without_a_value)
{
    begin_options();
    wire_begin(&w, 5);
    wire_text(&w, 1, "T");
    if (_i == 1) {
        wire_begin(&w, 2);
        wire_end(&w);
    }
    wire_end(&w);
    wire_end(&w);
    refuse(EDDY_E_ATTR_KIND, "o", "'T' has no value");
}
END_TEST

START_TEST(refuses_an_attribute_with_two_values)
{
    begin_options();
    wire_begin_attr(&w, "T");
    wire_number(&w, 6, 1);
    wire_number(&w, 3, 1);
    wire_end_attr(&w);
    wire_end(&w);
    refuse(EDDY_E_ATTR_KIND, "o", "at byte ");
}
END_TEST

START_TEST(refuses_a_list_of_two_kinds)
{
    begin_options();
    wire_type(&w, "T", 1);
    wire_begin_attr(&w, "dims");
    wire_begin(&w, 1);
    wire_number(&w, 3, 1);
    wire_float(&w, 4, 1);
    wire_end(&w);
    wire_end_attr(&w);
    wire_end(&w);
    refuse(EDDY_E_ATTR_KIND, "o", "'dims' is a list of 2 kinds");
}
END_TEST

START_TEST(refuses_an_attribute_that_is_given_twice)
{
    static const char *const names[] = {"T", "_x", "newer"};

    begin_options();
    wire_type(&w, "T", 1);
    if (_i > 0)
        wire_type(&w, names[_i], 1);
    wire_type(&w, names[_i], 1);
    wire_end(&w);
    refuse(EDDY_E_ATTR_DUPLICATE, "o", names[_i]);
}
END_TEST

START_TEST(refuses_a_placeholder_outside_of_functions)
{
    begin_options();
    wire_begin_attr(&w, "T");
    wire_text(&w, 9, "U");
    wire_end_attr(&w);
    wire_end(&w);
    refuse(EDDY_E_ATTR_KIND, "o", "stands for 'U'");
}
END_TEST

static const struct {
    int32_t number;
    const char *words;
} bad_dtypes[] = {
    {0, "no dtype"}, {101, "reference"}, {1 << 20, "reference"}, {-1, "-1"}};

START_TEST(refuses_a_dtype_that_is_none)
{
    put_source("x", bad_dtypes[_i].number);
    refuse(EDDY_E_DTYPE, "x", bad_dtypes[_i].words);
}
END_TEST

START_TEST(refuses_bad_shapes)
{
    static const struct {
        int64_t dims[9];
        size_t rank;
        eddy_detail detail;
    } cases[] = {
        {{-2}, 1, EDDY_E_DIM},
        {{1, 1, 1, 1, 1, 1, 1, 1, 1}, 9, EDDY_E_RANK},
        {{(int64_t)1 << 40, (int64_t)1 << 40}, 2, EDDY_E_SIZE},
        {{0, (int64_t)1 << 62, 4}, 3, EDDY_E_SIZE},
    };

    wire_begin_node(&w, 1, "x", "Placeholder");
    wire_type(&w, "dtype", 1);
    wire_begin_attr(&w, "shape");
    wire_shape(&w, 7, cases[_i].dims, cases[_i].rank);
    wire_end_attr(&w);
    wire_end(&w);
    refuse(cases[_i].detail, "x", "'shape'");
}
END_TEST

/* ---- what eddy does not have ---- */

START_TEST(keeps_an_unknown_op_as_an_opaque_node)
{
    eddy_attr attr;

    put_identity("i", "u:5", 1);
    wire_begin_node(&w, 1, "u", "Frobnicate");
    wire_input(&w, "x");
    wire_input(&w, "^x");
    wire_int(&w, "speed", 7);
    wire_end(&w);
    put_source("x", 1);
    accept();
    ck_assert_ptr_null(graph->nodes[1].op);
    ck_assert_str_eq(eddy_graph_node_op(graph, 1), "Frobnicate");
    ck_assert_uint_eq(graph->nodes[1].n_inputs, 1);
    ck_assert_uint_eq(graph->nodes[1].n_controls, 1);
    ck_assert_uint_eq(graph->nodes[1].n_assumed_outputs, 6);
    ck_assert(eddy_graph_node_attr(graph, 1, "speed", &attr));
    ck_assert_int_eq(attr.as.ints[0], 7);
}
END_TEST

START_TEST(keeps_an_unknown_dtype_in_an_opaque_node)
{
    eddy_attr attr;

    put_source("x", 12); /* quint8 */
    put_identity("i", "x", 12);
    accept();
    ck_assert_ptr_null(graph->nodes[0].op);
    ck_assert_ptr_null(graph->nodes[1].op);
    ck_assert_str_eq(eddy_graph_node_op(graph, 1), "Identity");
    ck_assert(eddy_graph_node_attr(graph, 1, "T", &attr));
    ck_assert_int_eq(attr.kind, EDDY_ATTR_OPAQUE);
    ck_assert_uint_eq(attr.as.strings[0].length, 2);
    ck_assert_mem_eq(attr.as.strings[0].data, "\x30\x0c", 2);
}
END_TEST

START_TEST(keeps_a_function_with_attributes_in_an_opaque_node)
{
    eddy_attr attr;

    wire_begin_node(&w, 1, "h", "Holder");
    wire_begin_attr(&w, "f");
    wire_begin(&w, 10);
    wire_text(&w, 1, "body");
    wire_begin(&w, 2);
    wire_text(&w, 1, _i == 0 ? "T" : "_T");
    wire_begin(&w, 2);
    wire_number(&w, 6, 1);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_end_attr(&w);
    wire_begin_attr(&w, "value");
    wire_begin(&w, 8);
    wire_number(&w, 1, 1);
    wire_end(&w);
    wire_end_attr(&w);
    wire_end(&w);
    accept();
    ck_assert(eddy_graph_node_attr(graph, 0, "f", &attr));
    ck_assert_int_eq(attr.kind,
                     _i == 0 ? EDDY_ATTR_OPAQUE : EDDY_ATTR_FUNCTION);
    ck_assert_int_eq(graph->nodes[0].op == NULL, _i == 0);
}
END_TEST

START_TEST(takes_anything_in_a_name_with_an_underscore)
{
    const int64_t dims[10] = {1, -7};
    eddy_attr attr;

    begin_options();
    wire_type(&w, "T", 1);
    wire_begin_attr(&w, "_output_shapes");
    wire_begin(&w, 1);
    wire_shape(&w, 7, dims, 10);
    wire_end(&w);
    wire_end_attr(&w);
    wire_type(&w, "_dtype", 101);
    wire_begin_attr(&w, "_none");
    wire_end_attr(&w);
    wire_end(&w);
    accept();
    ck_assert_ptr_nonnull(graph->nodes[1].op);
    ck_assert(eddy_graph_node_attr(graph, 1, "_output_shapes", &attr));
    ck_assert_int_eq(attr.kind, EDDY_ATTR_OPAQUE);
    ck_assert(eddy_graph_node_attr(graph, 1, "_none", &attr));
    ck_assert(eddy_graph_node_attr(graph, 1, "_dtype", &attr));
}
END_TEST

/* ---- limits ---- */

/* Chains of ops with a constant in the middle and a function. */
static void put_small_graph(void)
{
    const int64_t dims[] = {2, 3};

    put_source("x", 1);
    wire_begin_node(&w, 1, "c", "Const");
    wire_type(&w, "dtype", 1);
    wire_begin_attr(&w, "value");
    wire_begin(&w, 8);
    wire_number(&w, 1, 1);
    wire_shape(&w, 2, dims, 2);
    wire_float(&w, 5, 1.5f);
    wire_end(&w);
    wire_end_attr(&w);
    wire_end(&w);
    wire_begin_node(&w, 1, "t", "Const");
    wire_type(&w, "dtype", 7);
    wire_begin_attr(&w, "value");
    wire_begin(&w, 8);
    wire_number(&w, 1, 7);
    wire_shape(&w, 2, dims, 1);
    wire_text(&w, 8, "one");
    wire_text(&w, 8, "two");
    wire_end(&w);
    wire_end_attr(&w);
    wire_end(&w);
    wire_node(&w, "a", "Add", (const char *const[]){"x", "c", "^t"}, 3, "T", 1);
    put_identity("i", "a", 1);
    wire_begin_node(&w, 1, "u", "Unknown");
    wire_input(&w, "i");
    wire_type(&w, "T", 14);
    wire_end(&w);

    wire_begin(&w, 2);
    wire_begin(&w, 1);
    wire_begin(&w, 1);
    wire_text(&w, 1, "fun");
    wire_begin(&w, 2);
    wire_text(&w, 1, "x");
    wire_number(&w, 3, 1);
    wire_end(&w);
    wire_begin(&w, 3);
    wire_text(&w, 1, "y");
    wire_number(&w, 3, 1);
    wire_end(&w);
    wire_end(&w);
    wire_begin_node(&w, 3, "n", "Frob");
    wire_input(&w, "x");
    wire_end(&w);
    wire_begin(&w, 4);
    wire_text(&w, 1, "y");
    wire_text(&w, 2, "n:out:0");
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_begin(&w, 4);
    wire_number(&w, 1, 1000);
    wire_end(&w);
}

START_TEST(bounds_the_number_of_nodes)
{
    eddy_graphdef_options options = {.size = sizeof options, .max_nodes = 6};

    put_small_graph();
    core_fixture_want(&f, read_with(&options), EDDY_RESOURCE_EXHAUSTED,
                      EDDY_E_LIMIT_NODES);
    options.max_nodes = 7;
    ck_assert_int_eq(read_with(&options), EDDY_OK);
}
END_TEST

START_TEST(bounds_the_memory)
{
    eddy_graphdef_options options = {.size = sizeof options};
    long long live = atomic_load(&f.counting.live_bytes);
    uint64_t enough = 0;

    put_small_graph();
    for (options.max_bytes = 1; graph == NULL; options.max_bytes += 512) {
        if (read_with(&options) == EDDY_OK)
            break;
        core_fixture_want(&f, f.err.code, EDDY_RESOURCE_EXHAUSTED,
                          EDDY_E_LIMIT_BYTES);
        ck_assert_int_eq(atomic_load(&f.counting.live_bytes), live);
        enough = options.max_bytes;
    }
    /* What it takes is about what it then holds, with scratch memory. */
    ck_assert_uint_gt(enough, 1000);
    ck_assert_uint_lt(enough, 200000);
}
END_TEST

START_TEST(charges_a_constant_before_it_is_made)
{
    const int64_t dims[] = {(int64_t)1 << 40};
    long long calls;

    wire_begin_node(&w, 1, "c", "Const");
    wire_type(&w, "dtype", _i == 0 ? 1 : 7);
    wire_begin_attr(&w, "value");
    wire_begin(&w, 8);
    wire_number(&w, 1, _i == 0 ? 1 : 7);
    wire_shape(&w, 2, dims, 1);
    if (_i == 0)
        wire_float(&w, 5, 1);
    else
        wire_text(&w, 8, "x");
    wire_end(&w);
    wire_end_attr(&w);
    wire_end(&w);
    calls = atomic_load(&f.counting.calls);
    core_fixture_want(&f, read_with(NULL), EDDY_RESOURCE_EXHAUSTED,
                      EDDY_E_LIMIT_BYTES);
    ck_assert_int_lt(atomic_load(&f.counting.calls) - calls, 10);
}
END_TEST

START_TEST(refuses_bad_arguments)
{
    eddy_graphdef_options options = {.size = sizeof options + 1};

    core_fixture_want(&f, read_with(&options), EDDY_INVALID_ARGUMENT,
                      EDDY_E_ARGUMENT);
    core_fixture_want(&f,
                      eddy_graphdef_read(&f.ctx, NULL, 1, NULL, &graph, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
}
END_TEST

/* ---- hostile bytes ---- */

START_TEST(survives_every_failed_allocation)
{
    long long live = atomic_load(&f.counting.live_bytes);
    long long n = 0;

    put_small_graph();
    for (;; n++) {
        eddy_status status;

        counting_allocator_allow(&f.counting, n);
        status = read_with(NULL);
        counting_allocator_allow(&f.counting, -1);
        if (status == EDDY_OK)
            break;
        core_fixture_want(&f, status, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
        ck_assert_ptr_null(graph);
        ck_assert_int_eq(atomic_load(&f.counting.live_bytes), live);
    }
    ck_assert_int_gt(n, 10);
}
END_TEST

/* Reads a copy that ends where its block ends. */
static eddy_status read_tight(const uint8_t *bytes, size_t length)
{
    uint8_t *tight = malloc(length > 0 ? length : 1);
    eddy_status status;

    ck_assert_ptr_nonnull(tight);
    if (length > 0)
        memcpy(tight, bytes, length);
    status = eddy_graphdef_read(&f.ctx, tight, length, NULL, &graph, &f.err);
    free(tight);
    eddy_graph_destroy(graph);
    graph = NULL;
    return status;
}

START_TEST(survives_every_prefix)
{
    size_t n_good = 0;

    put_small_graph();
    for (size_t n = 0; n < w.length; n++) {
        eddy_status status = read_tight(w.bytes, n);

        if (status == EDDY_OK)
            n_good++;
        else
            ck_assert_int_eq(status, EDDY_INVALID_ARGUMENT);
    }
    /* Those that end between two nodes whose inputs are there. */
    ck_assert_uint_gt(n_good, 2);
    ck_assert_uint_lt(n_good, 12);
}
END_TEST

START_TEST(survives_every_flipped_bit)
{
    put_small_graph();
    for (size_t i = 0; i < w.length; i++)
        for (int bit = 0; bit < 8; bit++) {
            eddy_status status;

            w.bytes[i] ^= (uint8_t)(1 << bit);
            status = read_tight(w.bytes, w.length);
            ck_assert(status == EDDY_OK || status == EDDY_INVALID_ARGUMENT ||
                      status == EDDY_RESOURCE_EXHAUSTED);
            w.bytes[i] ^= (uint8_t)(1 << bit);
        }
}
END_TEST

START_TEST(survives_every_overwritten_byte)
{
    static const uint8_t values[] = {0x00, 0x7f, 0x80, 0xff};

    put_small_graph();
    for (size_t i = 0; i < w.length; i++)
        for (size_t v = 0; v < sizeof values; v++) {
            uint8_t old = w.bytes[i];

            w.bytes[i] = values[v];
            (void)read_tight(w.bytes, w.length);
            w.bytes[i] = old;
        }
}
END_TEST

/* ---- files ---- */

START_TEST(loads_a_file)
{
    char path[] = "/tmp/eddy-test-XXXXXX";
    int descriptor = mkstemp(path);
    eddy_graphdef_options options = {.size = sizeof options, .max_bytes = 10};

    put_small_graph();
    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(write(descriptor, w.bytes, w.length), (int)w.length);
    close(descriptor);
    ck_assert_int_eq(eddy_graphdef_load(&f.ctx, path, NULL, &graph, &f.err),
                     EDDY_OK);
    ck_assert_uint_eq(eddy_graph_size(graph), 6);
    eddy_graph_destroy(graph);
    graph = NULL;
    core_fixture_want(
        &f, eddy_graphdef_load(&f.ctx, path, &options, &graph, &f.err),
        EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
    unlink(path);
}
END_TEST

START_TEST(says_which_file_is_not_there)
{
    core_fixture_want(
        &f,
        eddy_graphdef_load(&f.ctx, "/nowhere/at/all.pb", NULL, &graph, &f.err),
        EDDY_NOT_FOUND, EDDY_E_IO);
    ck_assert_ptr_nonnull(strstr(f.err.message, "/nowhere/at/all.pb"));
    core_fixture_want(&f, eddy_graphdef_load(&f.ctx, "/", NULL, &graph, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_IO);
}
END_TEST

TCase *graphdef_read_tests(void)
{
    TCase *tc = tcase_create("graphdef_read");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, reads_an_empty_graph);
    tcase_add_test(tc, reads_nodes_in_any_order);
    tcase_add_test(tc, reads_the_index_of_an_output);
    tcase_add_test(tc, keeps_the_device_and_the_versions);
    tcase_add_test(tc, refuses_an_input_that_is_no_node);
    tcase_add_test(tc, refuses_a_control_input_that_is_no_node);
    tcase_add_test(tc, refuses_a_data_input_after_a_control_input);
    tcase_add_loop_test(tc, refuses_an_index_that_is_no_number, 0, 6);
    tcase_add_test(tc, refuses_an_output_that_the_node_does_not_have);
    tcase_add_test(tc, refuses_an_edge_between_dtypes);
    tcase_add_test(tc, refuses_a_name_that_is_there_twice);
    tcase_add_loop_test(tc, refuses_a_bad_name, 0, 7);
    tcase_add_test(tc, refuses_too_few_inputs);
    tcase_add_test(tc, refuses_a_count_that_the_inputs_do_not_have);
    tcase_add_test(tc, takes_defaults);
    tcase_add_test(tc, reads_every_kind_of_attribute);
    tcase_add_test(tc, reads_shapes_of_unknown_rank);
    tcase_add_test(tc, refuses_an_attribute_that_is_missing);
    tcase_add_test(tc, refuses_an_attribute_of_the_wrong_kind);
    tcase_add_loop_test(tc, refuses_an_attribute_without_a_value, 0, 2);
    tcase_add_test(tc, refuses_an_attribute_with_two_values);
    tcase_add_test(tc, refuses_a_list_of_two_kinds);
    tcase_add_loop_test(tc, refuses_an_attribute_that_is_given_twice, 0, 3);
    tcase_add_test(tc, refuses_a_placeholder_outside_of_functions);
    tcase_add_loop_test(tc, refuses_a_dtype_that_is_none, 0, 4);
    tcase_add_loop_test(tc, refuses_bad_shapes, 0, 4);
    tcase_add_test(tc, keeps_an_unknown_op_as_an_opaque_node);
    tcase_add_test(tc, keeps_an_unknown_dtype_in_an_opaque_node);
    tcase_add_loop_test(tc, keeps_a_function_with_attributes_in_an_opaque_node,
                        0, 2);
    tcase_add_test(tc, takes_anything_in_a_name_with_an_underscore);
    tcase_add_test(tc, bounds_the_number_of_nodes);
    tcase_add_test(tc, bounds_the_memory);
    tcase_add_loop_test(tc, charges_a_constant_before_it_is_made, 0, 2);
    tcase_add_test(tc, refuses_bad_arguments);
    tcase_add_test(tc, survives_every_failed_allocation);
    tcase_add_test(tc, survives_every_prefix);
    tcase_add_test(tc, survives_every_flipped_bit);
    tcase_add_test(tc, survives_every_overwritten_byte);
    tcase_add_test(tc, loads_a_file);
    tcase_add_test(tc, says_which_file_is_not_there);
    return tc;
}
