/* SPDX-License-Identifier: Apache-2.0 */
/* Adding nodes: attributes and inputs against the op's definition. */
#include "tests/aid/core_fixture.h"
#include "tests/suites.h"

#include <stdlib.h>
#include <string.h>

static core_fixture f;
static eddy_output x, y, i, b; /* float32 twice, int32, bool */
static const int64_t one = 1, two = 2, zero = 0, huge = INT64_MAX;
static const float half = 0.5f;
static const eddy_dtype float32 = EDDY_FLOAT32, int32 = EDDY_INT32,
                        string = EDDY_STRING;

static void setup(void)
{
    core_fixture_init(&f);
    x = core_fixture_source(&f, "x", EDDY_FLOAT32);
    y = core_fixture_source(&f, "y", EDDY_FLOAT32);
    i = core_fixture_source(&f, "i", EDDY_INT32);
    b = core_fixture_source(&f, "b", EDDY_BOOL);
}

static void teardown(void)
{
    core_fixture_deinit(&f);
}

static const eddy__add_options lenient = {.strict = false};
static const eddy__add_options strict = {.strict = true};
static const eddy__add_options loading = {
    .strict = true, .opaque = true, .forward_edges = true};

/* Arrays as two arguments each. */
#define IN(...)                                                                \
    (const eddy_output[]){__VA_ARGS__},                                        \
        sizeof((const eddy_output[]){__VA_ARGS__}) / sizeof(eddy_output)
#define ATTRS(...)                                                             \
    (const eddy_attr[]){__VA_ARGS__},                                          \
        sizeof((const eddy_attr[]){__VA_ARGS__}) / sizeof(eddy_attr)
#define NONE NULL, 0

static eddy_node last;

static eddy_status add(const eddy__add_options *options, const char *op,
                       const eddy_output *inputs, size_t n_inputs,
                       const eddy_attr *attrs, size_t n_attrs)
{
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = op,
                                 .name = "n",
                                 .inputs = inputs,
                                 .n_inputs = n_inputs,
                                 .attrs = attrs,
                                 .n_attrs = n_attrs};

    return eddy__graph_add(f.graph, &spec, options, &last, &f.err);
}

static const eddy__node *node(void)
{
    return eddy__graph_node(f.graph, last);
}

static void want_ok(eddy_status status)
{
    ck_assert_msg(status == EDDY_OK, "%s", f.err.message);
}

/* The node is refused with `words`, and the graph is as it was. */
static void want(eddy_status status, eddy_detail detail, const char *words)
{
    core_fixture_want(&f, status, EDDY_INVALID_ARGUMENT, detail);
    ck_assert_msg(strstr(f.err.message, words) != NULL, "'%s' lacks '%s'",
                  f.err.message, words);
    ck_assert_str_eq(f.err.node, "n");
    ck_assert_uint_eq(eddy_graph_size(f.graph), 4);
    ck_assert_uint_eq(eddy_graph_find(f.graph, "n"), EDDY_NO_NODE);
}

/* ---- attributes that inputs tell ---- */

START_TEST(a_dtype_is_inferred_from_the_input)
{
    want_ok(add(&lenient, "Add", IN(x, y), NONE));
    ck_assert_int_eq(eddy__node_type(node(), "T"), EDDY_FLOAT32);
    ck_assert_uint_eq(node()->n_outputs, 1);
    ck_assert_int_eq(eddy_graph_output_dtype(f.graph, (eddy_output){last, 0}),
                     EDDY_FLOAT32);
    ck_assert_int_eq(eddy_graph_output_dtype(f.graph, (eddy_output){last, 1}),
                     EDDY_INVALID);
}
END_TEST

START_TEST(a_number_is_inferred_from_the_count)
{
    want_ok(add(&lenient, "Join", IN(x, y, x), NONE));
    ck_assert_int_eq(eddy__node_int(node(), "N"), 3);
    ck_assert_uint_eq(node()->n_outputs, 2);
    ck_assert_int_eq(eddy_graph_output_dtype(f.graph, (eddy_output){last, 1}),
                     EDDY_INT32);
}
END_TEST

START_TEST(a_number_of_two_arguments_is_half_the_count)
{
    want_ok(add(&lenient, "Pair", IN(x, y, i, i), NONE));
    ck_assert_int_eq(eddy__node_int(node(), "N"), 2);
    ck_assert_int_eq(eddy__node_type(node(), "T"), EDDY_FLOAT32);
    ck_assert_int_eq(eddy__node_type(node(), "U"), EDDY_INT32);
}
END_TEST

START_TEST(an_odd_count_is_no_two_halves)
{
    want(add(&lenient, "Pair", IN(x, y, i), NONE), EDDY_E_INPUT_COUNT,
         "takes 2 inputs here, 3 are given");
}
END_TEST

START_TEST(two_unknown_numbers_are_not_guessed)
{
    want(add(&lenient, "Two", IN(x, y, x), NONE), EDDY_E_ATTR_MISSING,
         "attribute 'N'");
    want(add(&lenient, "Two", NONE, NONE), EDDY_E_ATTR_MISSING,
         "attribute 'N'");
    want_ok(add(&lenient, "Two", IN(x, y, x), ATTRS(eddy_attr_int("M", &two))));
    ck_assert_int_eq(eddy__node_int(node(), "N"), 1);
}
END_TEST

START_TEST(a_list_of_dtypes_is_inferred)
{
    const eddy_attr *list;

    want_ok(add(&lenient, "List", IN(x, i, y), NONE));
    list = eddy__node_attr(node(), "L");
    ck_assert_uint_eq(list->n, 3);
    ck_assert_int_eq(list->as.types[0], EDDY_FLOAT32);
    ck_assert_int_eq(list->as.types[1], EDDY_INT32);
    ck_assert_uint_eq(node()->n_outputs, 3);
    ck_assert_int_eq(node()->output_dtypes[1], EDDY_INT32);
}
END_TEST

START_TEST(too_few_inputs_for_the_minimum_are_refused)
{
    want(add(&lenient, "Join", NONE, NONE), EDDY_E_INPUT_COUNT,
         "at least 1 are wanted");
    want(add(&lenient, "List", NONE, NONE), EDDY_E_INPUT_COUNT,
         "at least 1 are wanted");
}
END_TEST

START_TEST(an_inferred_dtype_must_be_allowed)
{
    want(add(&lenient, "Add", IN(b, b), NONE), EDDY_E_INPUT_DTYPE,
         "input 0 is bool from 'b:0'; 'T' may be float16, float32");
    want(add(&lenient, "List", IN(x, b), NONE), EDDY_E_INPUT_DTYPE,
         "input 1 is bool from 'b:0'; 'L' may be");
}
END_TEST

START_TEST(what_no_input_tells_is_missing)
{
    want(add(&lenient, "Split", IN(i, x), NONE), EDDY_E_ATTR_MISSING,
         "attribute 'num_split' (int) is missing and no input tells it");
    want(add(&lenient, "Identity", NONE, NONE), EDDY_E_ATTR_MISSING,
         "attribute 'T' (type)");
}
END_TEST

START_TEST(a_strict_node_infers_nothing)
{
    want(add(&strict, "Add", IN(x, y), NONE), EDDY_E_ATTR_MISSING,
         "attribute 'T' (type) is missing");
    want(add(&strict, "Join", IN(x, y), ATTRS(eddy_attr_type("T", &float32))),
         EDDY_E_ATTR_MISSING, "attribute 'N'");
    want_ok(
        add(&strict, "Add", IN(x, y), ATTRS(eddy_attr_type("T", &float32))));
}
END_TEST

/* ---- attributes that are given ---- */

START_TEST(defaults_are_filled_in)
{
    want_ok(
        add(&strict, "Options", IN(x), ATTRS(eddy_attr_type("T", &float32))));
    ck_assert_uint_eq(node()->n_attrs, 8);
    ck_assert_int_eq(eddy__node_type(node(), "U"), EDDY_INT64);
    ck_assert_int_eq(eddy__node_int(node(), "axis"), -1);
    ck_assert(eddy__node_float(node(), "rate") == 0.5f);
    ck_assert(eddy__node_bool(node(), "keep"));
    ck_assert_uint_eq(eddy__node_string(node(), "text").length, 3);
    ck_assert_int_eq(node()->output_dtypes[0], EDDY_INT64);
    ck_assert_int_eq(eddy__node_attr(node(), "dims")->as.ints[1], -2);
}
END_TEST

START_TEST(attributes_stand_in_the_order_of_the_definition)
{
    want_ok(add(&lenient, "Options", IN(x),
                ATTRS(eddy_attr_int("_mine", &one), eddy_attr_int("axis", &two),
                      eddy_attr_type("U", &int32))));
    ck_assert_str_eq(node()->attrs[0].name, "T");
    ck_assert_str_eq(node()->attrs[1].name, "U");
    ck_assert_str_eq(node()->attrs[2].name, "axis");
    ck_assert_int_eq(node()->attrs[2].as.ints[0], 2);
    ck_assert_str_eq(node()->attrs[8].name, "_mine");
    ck_assert_int_eq(node()->output_dtypes[0], EDDY_INT32);
}
END_TEST

START_TEST(given_attributes_are_checked)
{
    const eddy_attr list = {"axis", EDDY_ATTR_INT, true, 1, {.ints = &one}};
    const eddy_attr empty = {.name = "dims", .is_list = true};
    const int64_t minus_three = -3;

    want(add(&lenient, "Options", IN(x), ATTRS(eddy_attr_float("axis", &half))),
         EDDY_E_ATTR_KIND, "attribute 'axis' is given as float, int is wanted");
    want(add(&lenient, "Options", IN(x), ATTRS(list)), EDDY_E_ATTR_KIND,
         "given as list(int), int is wanted");
    want(add(&lenient, "Options", IN(x),
             ATTRS(eddy_attr_int("axis", &minus_three))),
         EDDY_E_ATTR_VALUE, "'axis' is -3, it must be at least -2");
    want(add(&lenient, "Options", IN(x), ATTRS(eddy_attr_type("U", &string))),
         EDDY_E_ATTR_VALUE, "'U' is string; it may be float32, int32, int64");
    want(add(&lenient, "Options", IN(x), ATTRS(empty)), EDDY_E_ATTR_VALUE,
         "has 0 elements, at least 1 are wanted");
    want(add(&strict, "Join", NONE,
             ATTRS(eddy_attr_type("T", &float32), eddy_attr_int("N", &zero))),
         EDDY_E_ATTR_VALUE, "'N' is 0, it must be at least 1");
}
END_TEST

START_TEST(an_attribute_given_twice_is_refused)
{
    want(add(&lenient, "Options", IN(x),
             ATTRS(eddy_attr_int("axis", &one), eddy_attr_int("axis", &one))),
         EDDY_E_ATTR_DUPLICATE, "'axis' is given twice");
    want(add(&lenient, "Identity", IN(x),
             ATTRS(eddy_attr_int("_a", &one), eddy_attr_int("_b", &one),
                   eddy_attr_int("_a", &one))),
         EDDY_E_ATTR_DUPLICATE, "'_a' is given twice");
}
END_TEST

START_TEST(an_attribute_that_the_op_lacks_is_kept_only_when_loading)
{
    want(add(&lenient, "Identity", IN(x), ATTRS(eddy_attr_int("new", &one))),
         EDDY_E_ATTR_VALUE, "no attribute 'new'");
    want_ok(
        add(&strict, "Identity", IN(x),
            ATTRS(eddy_attr_int("new", &one), eddy_attr_type("T", &float32))));
    ck_assert_int_eq(eddy__node_int(node(), "new"), 1);
}
END_TEST

START_TEST(an_empty_list_may_come_without_a_kind)
{
    const eddy_attr empty = {
        .name = "L", .kind = EDDY_ATTR_FLOAT, .is_list = true};

    want(add(&lenient, "List", NONE, ATTRS(empty)), EDDY_E_ATTR_VALUE,
         "has 0 elements");
}
END_TEST

START_TEST(what_is_given_goes_before_what_inputs_tell)
{
    want(add(&lenient, "Add", IN(x, y), ATTRS(eddy_attr_type("T", &int32))),
         EDDY_E_INPUT_DTYPE, "input 0 is float32 from 'x:0', int32 is wanted");
    want(add(&lenient, "Join", IN(x, y), ATTRS(eddy_attr_int("N", &one))),
         EDDY_E_INPUT_COUNT, "takes 1 inputs here, 2 are given");
    want(add(&lenient, "Join", IN(x, y), ATTRS(eddy_attr_int("N", &huge))),
         EDDY_E_INPUT_COUNT, "takes 9223372036854775807 inputs here");
}
END_TEST

/* ---- inputs ---- */

START_TEST(a_wrong_count_is_refused)
{
    want(add(&lenient, "Add", IN(x), NONE), EDDY_E_INPUT_COUNT,
         "takes 2 inputs here, 1 are given");
    want(add(&lenient, "Add", IN(x, x, x), NONE), EDDY_E_INPUT_COUNT,
         "takes 2 inputs here, 3 are given");
    want(add(&lenient, "NoOp", IN(x), NONE), EDDY_E_INPUT_COUNT,
         "takes 0 inputs here, 1 are given");
}
END_TEST

START_TEST(inputs_of_one_dtype_name_both_edges_when_they_differ)
{
    want(add(&lenient, "Join", IN(x, y, i), NONE), EDDY_E_INPUT_DTYPE,
         "input 2 is int32 from 'i:0' but input 0 is float32 from 'x:0'; both "
         "must be 'T'");
}
END_TEST

START_TEST(a_fixed_dtype_is_checked)
{
    want_ok(add(&lenient, "Fixed", IN(x, b), NONE));
    ck_assert_int_eq(node()->output_dtypes[0], EDDY_INT64);
    core_fixture_want(&f,
                      eddy_graph_add_op(f.graph, "Fixed", "m",
                                        (eddy_output[]){i, b}, 2, NULL, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE);
}
END_TEST

START_TEST(an_input_must_exist)
{
    const eddy_output later = {99, 0}, none = {EDDY_NO_NODE, 0},
                      second = {x.node, 1};

    want(add(&lenient, "Identity", IN(later), NONE), EDDY_E_UNKNOWN_INPUT,
         "none has number 99");
    want(add(&lenient, "Identity", IN(none), NONE), EDDY_E_UNKNOWN_INPUT, "");
    want(add(&lenient, "Identity", IN(second), NONE), EDDY_E_OUTPUT_INDEX,
         "node 'x' has 1 outputs, none has index 1");
}
END_TEST

START_TEST(outputs_that_no_input_bounds_are_limited)
{
    const int64_t limit = EDDY__MAX_OUTPUTS, above = EDDY__MAX_OUTPUTS + 1;

    want(add(&lenient, "Split", IN(i, x),
             ATTRS(eddy_attr_int("num_split", &above))),
         EDDY_E_ATTR_VALUE, "makes 65537 outputs");
    want(add(&lenient, "Split", IN(i, x),
             ATTRS(eddy_attr_int("num_split", &huge))),
         EDDY_E_ATTR_VALUE, "makes 9223372036854775807 outputs");
    want_ok(add(&lenient, "Split", IN(i, x),
                ATTRS(eddy_attr_int("num_split", &limit))));
    ck_assert_uint_eq(node()->n_outputs, EDDY__MAX_OUTPUTS);
}
END_TEST

START_TEST(a_node_may_have_very_many_inputs)
{
    const size_t n = 100000;
    eddy_output *inputs = malloc(n * sizeof *inputs);

    ck_assert_ptr_nonnull(inputs);
    for (size_t k = 0; k < n; k++)
        inputs[k] = k % 2 ? x : y;
    want_ok(add(&lenient, "List", inputs, n, NONE));
    ck_assert_uint_eq(node()->n_inputs, n);
    ck_assert_uint_eq(node()->n_outputs, n);
    free(inputs);
}
END_TEST

/* ---- control inputs ---- */

START_TEST(repeated_control_inputs_count_once)
{
    eddy_node controls[200];
    eddy_node_spec spec = {.size = sizeof spec,
                           .op = "NoOp",
                           .controls = controls,
                           .n_controls = 6};

    for (size_t k = 0; k < 200; k++)
        controls[k] = (eddy_node)(3 - k % 4);
    want_ok(eddy_graph_add(f.graph, &spec, &last, &f.err));
    ck_assert_uint_eq(node()->n_controls, 4);
    ck_assert_uint_eq(node()->controls[0], 3);
    ck_assert_uint_eq(node()->controls[3], 0);
    spec.n_controls = 200;
    want_ok(eddy_graph_add(f.graph, &spec, &last, &f.err));
    ck_assert_uint_eq(node()->n_controls, 4);
    controls[199] = 77;
    core_fixture_want(&f, eddy_graph_add(f.graph, &spec, NULL, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_UNKNOWN_INPUT);
}
END_TEST

/* ---- specifications ---- */

START_TEST(a_specification_that_makes_no_sense_is_refused)
{
    eddy_node_spec sizeless = {.op = "NoOp"};
    eddy_node_spec opless = {.size = sizeof opless};
    eddy_node_spec hollow = {
        .size = sizeof hollow, .op = "NoOp", .n_inputs = 1};
    eddy_node_spec vast = {.size = sizeof vast,
                           .op = "List",
                           .inputs = &x,
                           .n_inputs = ((size_t)1 << 30) + 1};

    core_fixture_want(&f, eddy_graph_add(f.graph, &sizeless, NULL, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    core_fixture_want(&f, eddy_graph_add(f.graph, &opless, NULL, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    core_fixture_want(&f, eddy_graph_add(f.graph, &hollow, NULL, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    core_fixture_want(&f, eddy_graph_add(f.graph, &vast, NULL, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    core_fixture_want(&f, eddy_graph_add(f.graph, NULL, NULL, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
}
END_TEST

START_TEST(an_unknown_op_is_refused_by_name)
{
    core_fixture_want(&f, add(&lenient, "Frobnicate", NONE, NONE),
                      EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP);
    ck_assert_str_eq(f.err.node, "n");
    ck_assert_str_eq(f.err.op, "Frobnicate");
}
END_TEST

START_TEST(a_loaded_node_needs_a_name)
{
    const eddy_node_spec spec = {.size = sizeof spec, .op = "NoOp"};

    core_fixture_want(&f,
                      eddy__graph_add(f.graph, &spec, &strict, NULL, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_BAD_NAME);
}
END_TEST

/* ---- loading ---- */

START_TEST(an_unknown_op_may_be_opaque)
{
    const eddy_string bytes = {"\x08\x01", 2};
    const eddy_attr odd = {
        "odd", EDDY_ATTR_OPAQUE, false, 1, {.strings = &bytes}};
    eddy_output third;

    want_ok(add(&loading, "Frobnicate", IN(x, b),
                ATTRS(eddy_attr_int("a", &one), odd)));
    ck_assert_ptr_null(node()->op);
    ck_assert_str_eq(node()->op_name, "Frobnicate");
    ck_assert_uint_eq(node()->n_outputs, 0);
    ck_assert_int_eq(node()->input_dtypes[0], EDDY_INVALID);
    ck_assert_int_eq(eddy__node_int(node(), "a"), 1);
    ck_assert_mem_eq(eddy__node_string(node(), "odd").data, "\x08\x01", 2);
    ck_assert_int_eq(eddy_graph_find_output(f.graph, "n:3", &third, &f.err),
                     EDDY_OK);
    ck_assert_int_eq(eddy_graph_output_dtype(f.graph, third), EDDY_INVALID);
    /* An edge from it tells nothing, so T must be known otherwise. */
    core_fixture_want(
        &f,
        eddy_graph_add_op(f.graph, "Identity", "r", &third, 1, NULL, &f.err),
        EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_MISSING);
    ck_assert_uint_eq(node()->n_assumed_outputs, 0);
    want_ok(eddy_graph_add_op(f.graph, "Add", "r", (eddy_output[]){third, x}, 2,
                              NULL, &f.err));
    ck_assert_uint_eq(node()->n_assumed_outputs, 4);
    want_ok(eddy_graph_add_op(f.graph, "Add", "r1",
                              (eddy_output[]){{third.node, 1}, x}, 2, NULL,
                              &f.err));
    ck_assert_uint_eq(node()->n_assumed_outputs, 4);
}
END_TEST

START_TEST(outputs_of_an_opaque_node_are_limited)
{
    eddy_output far = {.index = EDDY__MAX_OUTPUTS};

    want_ok(add(&loading, "Frobnicate", NONE, NONE));
    far.node = last;
    core_fixture_want(&f,
                      eddy_graph_add_op(f.graph, "Add", "r",
                                        (eddy_output[]){x, far}, 2, NULL,
                                        &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX);
}
END_TEST

START_TEST(an_opaque_node_takes_each_attribute_once)
{
    want(add(&loading, "Frobnicate", NONE,
             ATTRS(eddy_attr_int("a", &one), eddy_attr_int("a", &two))),
         EDDY_E_ATTR_DUPLICATE, "'a' is given twice");
}
END_TEST

START_TEST(an_attribute_that_cannot_be_held_makes_a_node_opaque)
{
    const eddy_string bytes = {"\x30\x0e", 2}; /* type: DT_BFLOAT16 */
    const eddy_attr odd = {
        "T", EDDY_ATTR_OPAQUE, false, 1, {.strings = &bytes}};
    eddy_attr other = odd;

    other.name = "_shapes";
    want(add(&strict, "Identity", IN(x), ATTRS(odd)), EDDY_E_ATTR_KIND,
         "given as opaque, type is wanted");
    want_ok(add(&loading, "Identity", IN(x),
                ATTRS(other, eddy_attr_type("T", &float32))));
    ck_assert_ptr_nonnull(node()->op);
}
END_TEST

START_TEST(an_opaque_known_op_keeps_its_name)
{
    const eddy_string bytes = {"\x30\x0e", 2};
    const eddy_attr odd = {
        "T", EDDY_ATTR_OPAQUE, false, 1, {.strings = &bytes}};

    want_ok(add(&loading, "Identity", IN(x), ATTRS(odd)));
    ck_assert_ptr_null(node()->op);
    ck_assert_str_eq(node()->op_name, "Identity");
}
END_TEST

START_TEST(a_forward_edge_is_connected_later)
{
    const eddy_output later = {EDDY_NO_NODE, 0};
    const eddy_attr attrs[] = {eddy_attr_type("T", &float32)};
    eddy_node reader;

    want_ok(add(&loading, "Add", IN(later, x), attrs, 1));
    reader = last;
    ck_assert_int_eq(node()->input_dtypes[0], EDDY_FLOAT32);
    ck_assert_uint_eq(node()->inputs[0].node, EDDY_NO_NODE);
    core_fixture_want(&f, eddy__graph_connect(f.graph, reader, 0, i, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE);
    ck_assert_str_eq(f.err.node, "n");
    ck_assert_uint_eq(node()->inputs[0].node, EDDY_NO_NODE);
    want_ok(eddy__graph_connect(f.graph, reader, 0, y, &f.err));
    ck_assert_uint_eq(node()->inputs[0].node, y.node);
}
END_TEST

START_TEST(a_device_is_kept)
{
    eddy__add_options options = strict;
    const eddy_node_spec specs[] = {
        {.size = sizeof specs[0], .op = "NoOp", .name = "p"},
        {.size = sizeof specs[0], .op = "NoOp", .name = "q"},
        {.size = sizeof specs[0], .op = "NoOp", .name = "r"},
    };
    char device[] = "/cpu:0";

    options.device = device;
    want_ok(eddy__graph_add(f.graph, &specs[0], &options, &last, &f.err));
    want_ok(eddy__graph_add(f.graph, &specs[1], &options, &last, &f.err));
    options.device = "";
    want_ok(eddy__graph_add(f.graph, &specs[2], &options, &last, &f.err));
    memset(device, 'x', 6);
    ck_assert_str_eq(f.graph->nodes[4].device, "/cpu:0");
    ck_assert_str_eq(f.graph->nodes[5].device, "/cpu:0");
    ck_assert_ptr_null(f.graph->nodes[6].device);
}
END_TEST

/* ---- memory ---- */

/* A node with something of everything. */
static eddy_status add_rich(eddy_tensor *tensor)
{
    const eddy_string text = {"main", 4};
    const eddy_attr attrs[] = {
        eddy_attr_tensor("value", &tensor),
        {"f", EDDY_ATTR_FUNCTION, false, 1, {.strings = &text}},
        eddy_attr_string("_a", &text),
        eddy_attr_string("_b", &text),
    };
    const eddy_node controls[] = {0, 1, 2, 3};
    const eddy__add_options options = {.device = "/gpu:7"};
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = "Holder",
                                 .controls = controls,
                                 .n_controls = 4,
                                 .attrs = attrs,
                                 .n_attrs = 4};

    return eddy__graph_add(f.graph, &spec, &options, &last, &f.err);
}

START_TEST(a_failed_allocation_leaves_the_graph_as_it_was)
{
    const eddy_shape shape = {.rank = 0};
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;
    eddy_tensor *tensor;

    want_ok(eddy_tensor_create(&f.ctx, EDDY_INT32, &shape, &tensor, &f.err));
    /* To where the array of nodes grows next, or the map of names. */
    while (_i == 0 ? f.graph->n_nodes < f.graph->capacity
                   : f.graph->names.size < f.graph->names.capacity / 4 * 3)
        want_ok(
            eddy_graph_add_op(f.graph, "NoOp", NULL, NULL, 0, NULL, &f.err));
    for (long long n = 0; status != EDDY_OK; n++) {
        size_t before = eddy_graph_size(f.graph);

        /* So that the node's own memory needs a new chunk. */
        ck_assert_ptr_nonnull(
            eddy__arena_allocate(&f.graph->arena, 1, 1 << 20));
        counting_allocator_allow(&f.counting, n);
        status = add_rich(tensor);
        counting_allocator_allow(&f.counting, -1);
        ck_assert_uint_eq(eddy_graph_size(f.graph),
                          before + (status == EDDY_OK));
        ck_assert_int_eq(eddy_graph_find(f.graph, "Holder") != EDDY_NO_NODE,
                         status == EDDY_OK);
        if (status != EDDY_OK)
            core_fixture_want(&f, status, EDDY_RESOURCE_EXHAUSTED,
                              EDDY_E_MEMORY);
        ck_assert_int_lt(n, 100);
    }
    eddy_tensor_release(tensor);
    ck_assert_int_eq(
        eddy_tensor_dtype(eddy__node_attr(node(), "value")->as.tensors[0]),
        EDDY_INT32);
}
END_TEST

START_TEST(every_allocation_may_fail_while_a_graph_is_built)
{
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;

    for (long long n = 0; status != EDDY_OK; n++) {
        eddy_graph *graph = NULL;
        eddy_output out = {EDDY_NO_NODE, 0};
        float value = 1;

        counting_allocator_allow(&f.counting, n);
        status = eddy_graph_create(&f.ctx, &graph, &f.err);
        if (status == EDDY_OK)
            status = eddy_graph_add_scalar(graph, "c", EDDY_FLOAT32, &value,
                                           &out, &f.err);
        for (int k = 0; k < 40 && status == EDDY_OK; k++)
            status =
                eddy_graph_add_op(graph, "Join", NULL,
                                  (eddy_output[]){out, out}, 2, &out, &f.err);
        counting_allocator_allow(&f.counting, -1);
        eddy_graph_destroy(graph);
        ck_assert_int_lt(n, 200);
    }
}
END_TEST

START_TEST(a_small_node_takes_less_than_a_kibibyte)
{
    const int n = 100000;
    long long before = f.counting.live_bytes;
    eddy_output out = x;

    for (int k = 0; k < n; k++)
        want_ok(eddy_graph_add_op(f.graph, "Identity", NULL, &out, 1, &out,
                                  &f.err));
    ck_assert_int_lt((f.counting.live_bytes - before) / n, 400);
}
END_TEST

static void add_refusals(TCase *tc)
{
    tcase_add_test(tc, too_few_inputs_for_the_minimum_are_refused);
    tcase_add_test(tc, an_inferred_dtype_must_be_allowed);
    tcase_add_test(tc, what_no_input_tells_is_missing);
    tcase_add_test(tc, given_attributes_are_checked);
    tcase_add_test(tc, an_attribute_given_twice_is_refused);
    tcase_add_test(tc, an_empty_list_may_come_without_a_kind);
    tcase_add_test(tc, what_is_given_goes_before_what_inputs_tell);
    tcase_add_test(tc, a_wrong_count_is_refused);
    tcase_add_test(tc, inputs_of_one_dtype_name_both_edges_when_they_differ);
    tcase_add_test(tc, a_fixed_dtype_is_checked);
    tcase_add_test(tc, an_input_must_exist);
    tcase_add_test(tc, outputs_that_no_input_bounds_are_limited);
    tcase_add_test(tc, a_specification_that_makes_no_sense_is_refused);
    tcase_add_test(tc, an_unknown_op_is_refused_by_name);
}

static void add_loading(TCase *tc)
{
    tcase_add_test(tc, a_strict_node_infers_nothing);
    tcase_add_test(tc,
                   an_attribute_that_the_op_lacks_is_kept_only_when_loading);
    tcase_add_test(tc, a_loaded_node_needs_a_name);
    tcase_add_test(tc, an_unknown_op_may_be_opaque);
    tcase_add_test(tc, outputs_of_an_opaque_node_are_limited);
    tcase_add_test(tc, an_opaque_node_takes_each_attribute_once);
    tcase_add_test(tc, an_attribute_that_cannot_be_held_makes_a_node_opaque);
    tcase_add_test(tc, an_opaque_known_op_keeps_its_name);
    tcase_add_test(tc, a_forward_edge_is_connected_later);
    tcase_add_test(tc, a_device_is_kept);
}

TCase *graph_add_tests(void)
{
    TCase *tc = tcase_create("graph_add");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_dtype_is_inferred_from_the_input);
    tcase_add_test(tc, a_number_is_inferred_from_the_count);
    tcase_add_test(tc, a_number_of_two_arguments_is_half_the_count);
    tcase_add_test(tc, an_odd_count_is_no_two_halves);
    tcase_add_test(tc, two_unknown_numbers_are_not_guessed);
    tcase_add_test(tc, a_list_of_dtypes_is_inferred);
    tcase_add_test(tc, defaults_are_filled_in);
    tcase_add_test(tc, attributes_stand_in_the_order_of_the_definition);
    tcase_add_test(tc, a_node_may_have_very_many_inputs);
    tcase_add_test(tc, repeated_control_inputs_count_once);
    add_refusals(tc);
    add_loading(tc);
    tcase_add_loop_test(tc, a_failed_allocation_leaves_the_graph_as_it_was, 0,
                        2);
    tcase_add_test(tc, every_allocation_may_fail_while_a_graph_is_built);
    tcase_add_test(tc, a_small_node_takes_less_than_a_kibibyte);
    return tc;
}
