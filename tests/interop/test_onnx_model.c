/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX models: what becomes of them, and what is refused. */
#include "eddy/analysis.h"
#include "eddy/onnx_model.h"
#include "eddy/plan.h"
#include "eddy/run.h"
#include "tests/aid/scratch_folder.h"
#include "tests/aid/wire_writer.h"
#include "tests/suites.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static wire_writer w;
static eddy_context *ctx;
static eddy_onnx_model *model;
static eddy_error err;

static void setup(void)
{
    memset(&w, 0, sizeof w);
    memset(&err, 0, sizeof err);
    model = NULL;
    ck_assert_int_eq(eddy_context_create(NULL, &ctx, &err), EDDY_OK);
}

static void teardown(void)
{
    eddy_onnx_model_destroy(model);
    eddy_context_destroy(ctx);
}

/* ---- writing models ---- */

enum { FLOAT = 1, INT64 = 7, BOOL = 9 };

/* ModelProto with its graph open. */
static void begin_model(uint64_t ir, uint64_t opset)
{
    wire_number(&w, 1, ir);
    wire_begin(&w, 8);
    wire_text(&w, 1, "");
    wire_number(&w, 2, opset);
    wire_end(&w);
    wire_begin(&w, 7);
    wire_text(&w, 2, "g");
}

/* An input (11) or output (12) of rank 0. */
static void port(uint32_t field, const char *name, uint64_t dtype)
{
    wire_begin(&w, field);
    wire_text(&w, 1, name);
    wire_begin(&w, 2);
    wire_begin(&w, 1);
    wire_number(&w, 1, dtype);
    wire_begin(&w, 2);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
}

/* The texts between commas, each in the field. */
static void texts(uint32_t field, const char *list)
{
    char text[64];

    while (*list != '\0') {
        const size_t n = strcspn(list, ",");

        ck_assert_uint_lt(n, sizeof text);
        memcpy(text, list, n);
        text[n] = '\0';
        wire_text(&w, field, text);
        list += n + (list[n] == ',');
    }
}

/* A node, left open for its attributes. */
static void begin_node(const char *op, const char *inputs, const char *outputs)
{
    wire_begin(&w, 1);
    texts(1, inputs);
    texts(2, outputs);
    wire_text(&w, 4, op);
}

static void node(const char *op, const char *inputs, const char *outputs)
{
    begin_node(op, inputs, outputs);
    wire_end(&w);
}

/* An attribute that is a number, of the node that is open. */
static void number_attr(const char *name, int64_t number)
{
    wire_begin(&w, 5);
    wire_text(&w, 1, name);
    wire_number(&w, 3, (uint64_t)number);
    wire_number(&w, 20, 2);
    wire_end(&w);
}

static void begin_body(const char *name)
{
    wire_begin(&w, 5);
    wire_text(&w, 1, name);
    wire_number(&w, 20, 5);
    wire_begin(&w, 6);
}

static void end_body(void)
{
    wire_end(&w);
    wire_end(&w);
}

static eddy_status read_it(void)
{
    return eddy_onnx_read(ctx, w.bytes, w.length, NULL, &model, &err);
}

static void refuse(eddy_status code, eddy_detail detail, const char *words)
{
    ck_assert_int_eq(read_it(), code);
    ck_assert_msg(err.detail == detail, "%s: %s", eddy_detail_name(err.detail),
                  err.message);
    ck_assert_msg(strstr(err.message, words) != NULL, "no '%s' in: %s", words,
                  err.message);
}

/* ---- what is refused ---- */

START_TEST(all_missing_operators_come_in_one_message_with_counts)
{
    begin_model(8, 13);
    node("Zorg", "x", "a");
    node("Blah", "a", "b");
    node("Zorg", "b", "y");
    port(11, "x", FLOAT);
    port(12, "y", FLOAT);
    wire_end(&w);
    refuse(EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP, "Zorg (opset 13) x2");
    ck_assert_ptr_nonnull(strstr(err.message, "Blah (opset 13) x1"));
}
END_TEST

/* One name in two domains is two operators. */
START_TEST(missing_operators_of_one_name_are_counted_by_domain)
{
    begin_model(8, 13);
    for (int i = 0; i < 3; i++) {
        begin_node("Zorg", "x", i == 0 ? "a" : i == 1 ? "b" : "y");
        wire_text(&w, 7, i == 1 ? "" : "other");
        wire_end(&w);
    }
    port(11, "x", FLOAT);
    port(12, "y", FLOAT);
    wire_end(&w);
    wire_begin(&w, 8);
    wire_text(&w, 1, "other");
    wire_number(&w, 2, 3);
    wire_end(&w);
    refuse(EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP, "other.Zorg (opset 3) x2");
    ck_assert_ptr_nonnull(strstr(err.message, ", Zorg (opset 13) x1"));
}
END_TEST

START_TEST(versions_that_are_not_known_are_refused)
{
    begin_model((uint64_t)_i, 13);
    node("Identity", "x", "y");
    port(11, "x", FLOAT);
    port(12, "y", FLOAT);
    wire_end(&w);
    if (_i >= 3 && _i <= 14)
        ck_assert_int_eq(read_it(), EDDY_OK);
    else
        refuse(EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED, "IR version");
}
END_TEST

START_TEST(an_opset_of_the_future_is_refused)
{
    begin_model(8, 29);
    wire_end(&w);
    refuse(EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED, "opset 29");
}
END_TEST

START_TEST(two_imports_of_a_domain_are_refused)
{
    begin_model(8, 13);
    wire_end(&w);
    wire_begin(&w, 8);
    wire_text(&w, 1, _i == 0 ? "" : "ai.onnx");
    wire_number(&w, 2, 14);
    wire_end(&w);
    ck_assert_int_eq(read_it(), EDDY_INVALID_ARGUMENT);
    ck_assert_msg(strstr(err.message, "domain") != NULL, "%s", err.message);
}
END_TEST

/* Field 1 is left out. */
START_TEST(a_model_must_say_its_version)
{
    wire_begin(&w, 7);
    wire_text(&w, 2, "g");
    node("Identity", "x", "y");
    port(11, "x", FLOAT);
    port(12, "y", FLOAT);
    wire_end(&w);
    ck_assert(eddy_onnx_is_model(w.bytes, w.length));
    refuse(EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED, "does not say its IR");
}
END_TEST

/* Codes of a dtype of a byte or less are converted and moved, no more. */
START_TEST(arithmetic_of_narrow_dtypes_is_refused)
{
    static const char *const names[] = {"float8e4m3fn", "int4", "float4e2m1",
                                        "float6e2m3", "float6e3m2"};
    static const uint64_t dtypes[] = {17, 22, 23, 27, 28};

    begin_model(10, 21);
    node("Identity", "x", "a");
    node("Add", "a,a", "y");
    port(11, "x", dtypes[_i]);
    port(12, "y", dtypes[_i]);
    wire_end(&w);
    refuse(EDDY_UNIMPLEMENTED, EDDY_E_DTYPE, names[_i]);
}
END_TEST

START_TEST(narrow_dtypes_are_held_to_what_is_declared)
{
    begin_model(10, 21);
    node("Identity", "x", "y");
    port(11, "x", 21);
    port(12, "y", _i ? 23 : 2);
    wire_end(&w);
    refuse(EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
           _i ? "as float4e2m1 and is uint4" : "as uint8 and is uint4");
}
END_TEST

START_TEST(narrow_results_of_bodies_are_refused)
{
    begin_model(10, 21);
    begin_node("If", "k", "y");
    begin_body("then_branch");
    node("Identity", "x", "a");
    port(12, "a", 22);
    end_body();
    begin_body("else_branch");
    node("Identity", "x", "b");
    port(12, "b", 22);
    end_body();
    wire_end(&w);
    port(11, "k", BOOL);
    port(11, "x", 22);
    port(12, "y", 22);
    wire_end(&w);
    refuse(EDDY_UNIMPLEMENTED, EDDY_E_DTYPE, "does not leave a body");
}
END_TEST

START_TEST(sparse_initializers_are_refused)
{
    begin_model(8, 13);
    wire_begin(&w, 15);
    wire_begin(&w, 1);
    wire_text(&w, 8, "thin");
    wire_end(&w);
    wire_number(&w, 3, 4);
    wire_end(&w);
    node("Identity", "thin", "y");
    port(12, "y", FLOAT);
    wire_end(&w);
    ck_assert_int_ne(read_it(), EDDY_OK);
    ck_assert_msg(strstr(err.message, "sparse") != NULL, "%s", err.message);
}
END_TEST

START_TEST(a_value_must_come_before_it_is_read)
{
    begin_model(8, 13);
    node("Identity", "later", "y");
    port(11, "x", FLOAT);
    port(12, "y", FLOAT);
    wire_end(&w);
    refuse(EDDY_INVALID_ARGUMENT, EDDY_E_UNKNOWN_INPUT, "'later'");
    ck_assert_str_eq(err.node, "y");
    ck_assert_str_eq(err.op, "Identity");
}
END_TEST

START_TEST(two_values_of_one_name_are_refused)
{
    begin_model(8, 13);
    node("Identity", "x", "y");
    node("Identity", "x", "y");
    port(11, "x", FLOAT);
    port(12, "y", FLOAT);
    wire_end(&w);
    refuse(EDDY_INVALID_ARGUMENT, EDDY_E_DUPLICATE_NODE, "named 'y'");
}
END_TEST

START_TEST(attributes_that_nobody_knows_are_refused)
{
    begin_model(8, 13);
    begin_node("Identity", "x", "y");
    number_attr("foo", 1);
    wire_end(&w);
    port(11, "x", FLOAT);
    port(12, "y", FLOAT);
    wire_end(&w);
    refuse(EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE, "'foo'");
}
END_TEST

/* Each of a scalar, whose rank is known. */
START_TEST(an_axis_that_is_far_outside_is_refused_at_once)
{
    static const char *const ops[] = {"LayerNormalization", "RMSNormalization",
                                      "Softmax", "LpNormalization"};
    static const int64_t axes[] = {INT64_MIN, INT64_MAX, -1, 1};

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (size_t j = 0; j < sizeof axes / sizeof *axes; j++) {
            w.length = 0;
            begin_model(11, 23);
            begin_node(ops[i], i < 2 ? "x,x" : "x", "y");
            number_attr("axis", axes[j]);
            wire_end(&w);
            port(11, "x", FLOAT);
            port(12, "y", FLOAT);
            wire_end(&w);
            refuse(EDDY_INVALID_ARGUMENT, EDDY_E_INDEX, "axis ");
            ck_assert_int_eq(err.node[0], 'y');
        }
}
END_TEST

/* A Loop of m trips over x; `inner` is the name of what the body computes. */
static void write_loop(const char *inner, uint64_t m_dtype, bool has_carried)
{
    begin_model(8, 13);
    begin_node("Loop", has_carried ? "m,,x" : "m,", "y");
    wire_text(&w, 3, "turn");
    begin_body("body");
    node("Identity", "c", "cc");
    node("Add", "v,x", inner);
    port(11, "i", INT64);
    port(11, "c", BOOL);
    port(11, "v", FLOAT);
    port(12, "cc", BOOL);
    port(12, inner, FLOAT);
    end_body();
    wire_end(&w);
    port(11, "m", m_dtype);
    port(11, "x", FLOAT);
    port(12, "y", FLOAT);
    wire_end(&w);
}

START_TEST(a_body_may_not_shadow_a_value_around_it)
{
    write_loop("x", INT64, true);
    refuse(EDDY_INVALID_ARGUMENT, EDDY_E_DUPLICATE_NODE, "'x'");
}
END_TEST

START_TEST(a_trip_count_is_an_int64)
{
    write_loop("z", FLOAT, true);
    refuse(EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE, "int64 is wanted");
}
END_TEST

START_TEST(a_body_with_too_many_inputs_is_refused)
{
    write_loop("z", INT64, false);
    refuse(EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT, "'body' has 3 inputs");
    ck_assert_str_eq(err.node, "turn");
}
END_TEST

START_TEST(a_body_gives_the_dtype_that_it_declares)
{
    begin_model(8, 13);
    begin_node("If", "k", "y");
    begin_body("then_branch");
    node("Identity", "x", "a");
    port(12, "a", INT64);
    end_body();
    begin_body("else_branch");
    node("Identity", "x", "b");
    port(12, "b", FLOAT);
    end_body();
    wire_end(&w);
    port(11, "k", BOOL);
    port(11, "x", FLOAT);
    port(12, "y", FLOAT);
    wire_end(&w);
    refuse(EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
           "output 0 of 'then_branch', 'a', is declared as int64");
}
END_TEST

START_TEST(a_modifier_of_scores_keeps_their_dtype)
{
    begin_model(11, 26);
    begin_node("FlexAttention", "x,x,x", "y");
    wire_text(&w, 7, "ai.onnx.preview");
    begin_body("score_mod");
    node("IsNaN", "s", "t");
    port(11, "s", FLOAT);
    port(12, "t", BOOL);
    end_body();
    wire_end(&w);
    wire_begin(&w, 11);
    wire_text(&w, 1, "x");
    wire_begin(&w, 2);
    wire_begin(&w, 1);
    wire_number(&w, 1, FLOAT);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    port(12, "y", FLOAT);
    wire_end(&w);
    wire_begin(&w, 8);
    wire_text(&w, 1, "ai.onnx.preview");
    wire_number(&w, 2, 1);
    wire_end(&w);
    refuse(EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, "'score_mod'");
    ck_assert_str_eq(err.op, "FlexAttention");
}
END_TEST

START_TEST(a_branch_with_another_dtype_is_refused)
{
    begin_model(8, 13);
    begin_node("If", "k", "y");
    begin_body("then_branch");
    node("Identity", "x", "a");
    port(12, "a", FLOAT);
    end_body();
    begin_body("else_branch");
    node("Identity", "k", "b");
    port(12, "b", BOOL);
    end_body();
    wire_end(&w);
    port(11, "k", BOOL);
    port(11, "x", FLOAT);
    port(12, "y", FLOAT);
    wire_end(&w);
    ck_assert_int_eq(read_it(), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(err.detail, EDDY_E_INPUT_DTYPE);
}
END_TEST

START_TEST(every_prefix_of_a_model_fails_or_is_a_model)
{
    write_loop("z", INT64, true);
    for (size_t n = 0; n < w.length; n++) {
        eddy_onnx_model *part = NULL;

        ck_assert_int_ne(eddy_onnx_read(ctx, w.bytes, n, NULL, &part, &err),
                         EDDY_OK);
        ck_assert_ptr_null(part);
    }
    ck_assert_int_eq(read_it(), EDDY_OK);
}
END_TEST

/* ---- functions ---- */

/* A FunctionProto of domain "f" with one node that calls `callee`. */
static void function(const char *name, const char *callee, const char *domain)
{
    wire_begin(&w, 25);
    wire_text(&w, 1, name);
    wire_text(&w, 4, "p");
    wire_text(&w, 5, "q");
    wire_begin(&w, 7);
    wire_text(&w, 1, "p");
    wire_text(&w, 2, "q");
    wire_text(&w, 4, callee);
    wire_text(&w, 7, domain);
    wire_end(&w);
    wire_begin(&w, 9);
    wire_text(&w, 1, domain);
    wire_number(&w, 2, 13);
    wire_end(&w);
    wire_text(&w, 10, "f");
    wire_end(&w);
}

static void write_call(const char *op)
{
    begin_model(8, 13);
    begin_node(op, "x", "y");
    wire_text(&w, 7, "f");
    wire_text(&w, 3, "call");
    wire_end(&w);
    port(11, "x", FLOAT);
    port(12, "y", FLOAT);
    wire_end(&w);
    wire_begin(&w, 8);
    wire_text(&w, 1, "f");
    wire_number(&w, 2, 1);
    wire_end(&w);
}

START_TEST(a_call_becomes_the_nodes_of_its_function)
{
    write_call("twice");
    function("twice", "once", "f");
    function("once", "Neg", "");
    ck_assert_msg(read_it() == EDDY_OK, "%s", err.message);
    ck_assert_uint_ne(eddy_graph_find(eddy_onnx_model_graph(model), "call/q/q"),
                      EDDY_NO_NODE);
}
END_TEST

START_TEST(functions_that_call_each_other_in_a_circle_are_refused)
{
    write_call("a");
    function("a", "b", "f");
    function("b", "c", "f");
    function("c", "b", "f");
    refuse(EDDY_INVALID_ARGUMENT, EDDY_E_RECURSION, "'b'");
    ck_assert_ptr_nonnull(strstr(err.message, "'c'"));
}
END_TEST

/* A FunctionProto of one node, of ONNX's own operators. */
static void plain_function(const char *domain, const char *name,
                           const char *overload, const char *op)
{
    wire_begin(&w, 25);
    wire_text(&w, 1, name);
    wire_text(&w, 4, "p");
    wire_text(&w, 5, "q");
    wire_begin(&w, 7);
    wire_text(&w, 1, "p");
    wire_text(&w, 2, "q");
    wire_text(&w, 4, op);
    wire_end(&w);
    wire_begin(&w, 9);
    wire_text(&w, 1, "");
    wire_number(&w, 2, 13);
    wire_end(&w);
    wire_text(&w, 10, domain);
    wire_text(&w, 13, overload);
    wire_end(&w);
}

/* What is called, and the node that it becomes. */
static const struct {
    const char *domain, *name, *overload, *becomes;
} calls[] = {{"f", "gh", "", "Neg"},   {"fg", "h", "", "Abs"},
             {"f", "gh", "i", "Exp"},  {"f", "ghi", "", "Sqrt"},
             {"", "Zorg", "", "Tanh"}, {"ai.onnx", "Zorg", "", "Tanh"}};

START_TEST(functions_are_told_apart_by_domain_name_and_overload)
{
    const eddy_graph *graph;
    eddy_node node;

    begin_model(10, 13);
    begin_node(calls[_i].name, "x", "y");
    wire_text(&w, 7, calls[_i].domain);
    wire_text(&w, 8, calls[_i].overload);
    wire_text(&w, 3, "call");
    wire_end(&w);
    port(11, "x", FLOAT);
    port(12, "y", FLOAT);
    wire_end(&w);
    plain_function("f", "gh", "", "Neg");
    plain_function("f", "gh", "", "Floor"); /* the first one is called */
    plain_function("fg", "h", "", "Abs");
    plain_function("f", "gh", "i", "Exp");
    plain_function("f", "ghi", "", "Sqrt");
    plain_function("ai.onnx", "Zorg", "", "Tanh");
    ck_assert_msg(read_it() == EDDY_OK, "%s", err.message);
    graph = eddy_onnx_model_graph(model);
    node = eddy_graph_find(graph, "call/q");
    ck_assert_uint_ne(node, EDDY_NO_NODE);
    ck_assert_str_eq(eddy_graph_node_op(graph, node), calls[_i].becomes);
}
END_TEST

static void import_opsets(uint32_t field, int n)
{
    char domain[16];

    for (int i = 0; i < n; i++) {
        (void)snprintf(domain, sizeof domain, "d%d", i);
        wire_begin(&w, field);
        wire_text(&w, 1, domain);
        wire_number(&w, 2, 1);
        wire_end(&w);
    }
}

/* Beyond them reading would take the square of a list's length. */
START_TEST(lists_have_their_bounds)
{
    static const char *const words[] = {
        "65 attributes, more than 64", "imports 257 opsets, more than 256",
        "imports 257 opsets, more than 256", "65 attributes with a default"};
    const int more = _i % 2;
    char name[16];

    begin_model(10, 13);
    begin_node("Identity", "x", "y");
    for (int i = 0; i < 64 + more && _i / 2 == 0; i++) {
        (void)snprintf(name, sizeof name, "a%d", i);
        number_attr(name, 1);
    }
    wire_end(&w);
    port(11, "x", FLOAT);
    port(12, "y", FLOAT);
    wire_end(&w);
    if (_i / 2 == 1)
        import_opsets(8, 255 + more);
    wire_begin(&w, 25);
    wire_text(&w, 1, "f");
    if (_i / 2 == 2)
        import_opsets(9, 256 + more);
    for (int i = 0; i < 64 + more && _i / 2 == 3; i++) {
        wire_begin(&w, 11);
        wire_text(&w, 1, "a");
        wire_end(&w);
    }
    wire_end(&w);
    if (more)
        refuse(EDDY_INVALID_ARGUMENT,
               _i / 2 == 0   ? EDDY_E_ATTR_VALUE
               : _i / 2 == 1 ? EDDY_E_MALFORMED
                             : EDDY_E_FUNCTION,
               words[_i / 2]);
    else if (_i == 0)
        refuse(EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE, "'a0' is none that");
    else
        ck_assert_msg(read_it() == EDDY_OK, "%s", err.message);
}
END_TEST

/* A function that calls another twice. */
static void twice(const char *name, const char *callee)
{
    wire_begin(&w, 25);
    wire_text(&w, 1, name);
    wire_text(&w, 4, "p");
    wire_text(&w, 5, "r");
    for (int i = 0; i < 2; i++) {
        wire_begin(&w, 7);
        wire_text(&w, 1, i == 0 ? "p" : "q");
        wire_text(&w, 2, i == 0 ? "q" : "r");
        wire_text(&w, 4, callee);
        wire_text(&w, 7, "f");
        wire_end(&w);
    }
    wire_begin(&w, 9);
    wire_text(&w, 1, "f");
    wire_number(&w, 2, 1);
    wire_end(&w);
    wire_text(&w, 10, "f");
    wire_end(&w);
}

START_TEST(calls_that_multiply_are_refused_before_they_do)
{
    char name[16], callee[16];

    write_call("f0");
    for (int i = 0; i < 24; i++) {
        (void)snprintf(name, sizeof name, "f%d", i);
        (void)snprintf(callee, sizeof callee, "f%d", i + 1);
        twice(name, callee);
    }
    function("f24", "Neg", "");
    ck_assert_int_eq(read_it(), EDDY_RESOURCE_EXHAUSTED);
}
END_TEST

/* ---- depth ---- */

/* Puts what is written into a field of a message with a text before it. */
static void wrap(uint32_t field, uint32_t text_field, const char *text)
{
    static wire_writer outer;

    memset(&outer, 0, sizeof outer);
    if (text)
        wire_text(&outer, text_field, text);
    wire_bytes(&outer, field, w.bytes, w.length);
    w = outer;
}

/* A model of `depth` branches in each other. */
static void write_nest(int depth)
{
    wire_text(&w, 2, "g");
    for (int i = 0; i < depth; i++) {
        wrap(6, 1, "then_branch"); /* AttributeProto.g */
        wrap(5, 4, "If");          /* NodeProto.attribute */
        wrap(1, 2, "g");           /* GraphProto.node */
    }
    wrap(7, 1, NULL);
    wire_begin(&w, 8);
    wire_number(&w, 2, 13);
    wire_end(&w);
    wire_number(&w, 1, 8);
}

START_TEST(graphs_nested_too_deep_are_refused)
{
    static const int depths[] = {33, 200};

    write_nest(depths[_i]);
    ck_assert_int_eq(read_it(), EDDY_INVALID_ARGUMENT);
    ck_assert_msg(err.detail == EDDY_E_TOO_DEEP, "%s: %s",
                  eddy_detail_name(err.detail), err.message);
}
END_TEST

/* ---- primitives ---- */

START_TEST(a_loop_becomes_the_primitives_below_its_name)
{
    static const char *const wanted[] = {"Enter", "Merge", "Switch",
                                         "NextIteration", "Exit"};
    const eddy_graph *graph;

    write_loop("z", INT64, true);
    ck_assert_msg(read_it() == EDDY_OK, "%s", err.message);
    graph = eddy_onnx_model_graph(model);
    for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++) {
        bool found = false;

        for (eddy_node n = 0; n < eddy_graph_size(graph); n++) {
            ck_assert_str_ne(eddy_graph_node_op(graph, n), "Loop");
            found |= strcmp(eddy_graph_node_op(graph, n), wanted[k]) == 0 &&
                     strncmp(eddy_graph_node_name(graph, n), "turn/", 5) == 0;
        }
        ck_assert_msg(found, "no %s below turn/", wanted[k]);
    }
}
END_TEST

/* a = 3, b = 6: what the C code in the text of ONNX's Loop gives. */
START_TEST(the_worked_example_of_loop_gives_what_its_code_gives)
{
    const char *path = "tests/conformance/onnx/own/spec_example/model.onnx";
    eddy_tensor *results[2] = {NULL, NULL};
    eddy_output fetches[2];
    eddy_plan_options options = {
        .size = sizeof options, .fetches = fetches, .n_fetches = 2};
    const eddy_onnx_port *outputs;
    eddy_plan *plan = NULL;
    size_t n;

    ck_assert_int_eq(eddy_onnx_load(ctx, path, NULL, &model, &err), EDDY_OK);
    outputs = eddy_onnx_model_outputs(model, &n);
    ck_assert_uint_eq(n, 2);
    fetches[0] = outputs[0].output;
    fetches[1] = outputs[1].output;
    ck_assert_int_eq(
        eddy_plan_create(eddy_onnx_model_graph(model), &options, &plan, &err),
        EDDY_OK);
    ck_assert_int_eq(eddy_plan_run(plan, NULL, NULL, results, &err), EDDY_OK);
    ck_assert_int_eq(*(const int32_t *)eddy_tensor_data(results[0]), 6);
    ck_assert_int_eq(eddy_tensor_count(results[1]), 2);
    ck_assert_int_eq(((const int32_t *)eddy_tensor_data(results[1]))[0], 12);
    ck_assert_int_eq(((const int32_t *)eddy_tensor_data(results[1]))[1], -6);
    eddy_tensor_release(results[0]);
    eddy_tensor_release(results[1]);
    eddy_plan_release(plan);
}
END_TEST

/* ---- external data ---- */

/* A model of w, float[2], whose data are 8 bytes of `location`. */
static void write_external(const char *location)
{
    begin_model(8, 13);
    node("Identity", "w", "y");
    wire_begin(&w, 5);
    wire_number(&w, 1, 2);
    wire_number(&w, 2, FLOAT);
    wire_text(&w, 8, "w");
    wire_begin(&w, 13);
    wire_text(&w, 1, "location");
    wire_text(&w, 2, location);
    wire_end(&w);
    wire_number(&w, 14, 1);
    wire_end(&w);
    port(12, "y", FLOAT);
    wire_end(&w);
}

static eddy_status load_external(const char *folder, bool is_allowed)
{
    const eddy_onnx_options options = {.size = sizeof options,
                                       .external_data = is_allowed};
    char path[SCRATCH_PATH + 32];
    FILE *file;
    eddy_status status;

    (void)snprintf(path, sizeof path, "%s/m/model.onnx", folder);
    file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(w.bytes, 1, w.length, file), w.length);
    ck_assert_int_eq(fclose(file), 0);
    status = eddy_onnx_load(ctx, path, &options, &model, &err);
    eddy_onnx_model_destroy(model);
    model = NULL;
    return status;
}

START_TEST(external_data_stay_beneath_the_folder_and_go_through_no_link)
{
    static const struct {
        const char *location;
        bool is_read;
    } places[] = {
        {"data", true},         {"sub/data", true},
        {"../outside", false},  {"sub/../data", false},
        {"/etc/passwd", false}, {"C:\\x", false},
        {".", false},           {"", false},
        {"link", false},        {"hard", false},
        {"linked/data", false}, {"pipe", false},
        {"sub", false},         {"short", false},
        {"absent", false},
    };
    char folder[SCRATCH_PATH], from[SCRATCH_PATH + 32], to[SCRATCH_PATH + 32];

    scratch_folder_create(folder);
    scratch_folder_write(folder, "m/data", "12345678");
    scratch_folder_write(folder, "m/sub/data", "12345678");
    scratch_folder_write(folder, "m/short", "1234567");
    scratch_folder_write(folder, "m/twice", "12345678");
    scratch_folder_write(folder, "outside", "12345678");
#define PATH(text, name)                                                       \
    (void)snprintf(text, sizeof text, "%s/m/%s", folder, name)
    PATH(to, "link");
    ck_assert_int_eq(symlink("data", to), 0);
    PATH(to, "linked");
    ck_assert_int_eq(symlink("sub", to), 0);
    PATH(from, "twice");
    PATH(to, "hard");
    ck_assert_int_eq(link(from, to), 0);
    PATH(to, "pipe");
    ck_assert_int_eq(mkfifo(to, 0600), 0);
#undef PATH
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        memset(&w, 0, sizeof w);
        write_external(places[i].location);
        ck_assert_msg((load_external(folder, true) == EDDY_OK) ==
                          places[i].is_read,
                      "'%s': %s", places[i].location, err.message);
        ck_assert_int_ne(load_external(folder, false), EDDY_OK);
    }
    scratch_folder_remove(folder);
}
END_TEST

/* One entry of external_data. */
static void entry(const char *key, const char *value)
{
    wire_begin(&w, 13);
    wire_text(&w, 1, key);
    wire_text(&w, 2, value);
    wire_end(&w);
}

/* float[2] in the file "data", in `field` of what is open. */
static void outside(uint32_t field, const char *offset, const char *length)
{
    wire_begin(&w, field);
    wire_number(&w, 1, 2);
    wire_number(&w, 2, FLOAT);
    wire_text(&w, 8, "w");
    entry("location", "data");
    if (offset)
        entry("offset", offset);
    if (length)
        entry("length", length);
    wire_number(&w, 14, 1);
    wire_end(&w);
}

START_TEST(offsets_and_lengths_stay_within_the_file)
{
    static const struct {
        const char *offset, *length;
        bool is_read;
    } parts[] = {
        {"0", "8", true},
        {"4", "8", true},
        {"4", NULL, true},
        {"5", "8", false},
        {"-1", "8", false},
        {"0", "-8", false},
        {"0", "4", false},
        {"0", "16", false},
        {"9223372036854775807", "8", false},
        {"18446744073709551615", "9", false},
        {"x", "8", false},
    };
    char folder[SCRATCH_PATH];

    scratch_folder_create(folder);
    scratch_folder_write(folder, "m/data", "123456789012");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        memset(&w, 0, sizeof w);
        begin_model(8, 13);
        node("Identity", "w", "y");
        outside(5, parts[i].offset, parts[i].length);
        port(12, "y", FLOAT);
        wire_end(&w);
        ck_assert_msg((load_external(folder, true) == EDDY_OK) ==
                          parts[i].is_read,
                      "%s, %s: %s", parts[i].offset,
                      parts[i].length ? parts[i].length : "-", err.message);
    }
    scratch_folder_remove(folder);
}
END_TEST

/* An attribute, and an initializer of a branch, are asked the same. */
START_TEST(every_carrier_of_a_tensor_needs_leave_to_read_a_file)
{
    char folder[SCRATCH_PATH];

    scratch_folder_create(folder);
    scratch_folder_write(folder, "m/data", "12345678");
    begin_model(8, 13);
    if (_i == 0) {
        begin_node("Constant", "", "y");
        wire_begin(&w, 5);
        wire_text(&w, 1, "value");
        wire_number(&w, 20, 4);
        outside(5, NULL, NULL);
        wire_end(&w);
        wire_end(&w);
    } else {
        begin_node("If", "c", "y");
        for (int i = 0; i < 2; i++) {
            begin_body(i == 0 ? "then_branch" : "else_branch");
            outside(5, NULL, NULL);
            node("Identity", "w", "r");
            port(12, "r", FLOAT);
            end_body();
        }
        wire_end(&w);
        port(11, "c", BOOL);
    }
    port(12, "y", FLOAT);
    wire_end(&w);
    ck_assert_msg(load_external(folder, true) == EDDY_OK, "%s", err.message);
    ck_assert_int_ne(load_external(folder, false), EDDY_OK);
    scratch_folder_remove(folder);
}
END_TEST

/* ---- what was fetched of a sequence ---- */

static eddy_tensor *whole(eddy_dtype dtype, int32_t rank, int64_t n,
                          const void *elements)
{
    const eddy_shape shape = {.rank = rank, .dims = {n}};
    eddy_tensor *tensor = NULL;

    ck_assert_int_eq(eddy_tensor_create(NULL, dtype, &shape, &tensor, &err),
                     EDDY_OK);
    if (eddy_tensor_bytes(tensor) > 0)
        memcpy(eddy_tensor_mutable_data(tensor), elements,
               eddy_tensor_bytes(tensor));
    return tensor;
}

START_TEST(parts_that_do_not_fit_are_no_sequence)
{
    static const struct {
        int64_t n, dims[3];
        int64_t n_dims;
        int32_t ranks[2];
        int64_t n_ranks;
        bool is_right;
    } cases[] = {
        {5, {2, 1, 3}, 3, {2, 1}, 2, true},
        {5, {2, 1, 4}, 3, {2, 1}, 2, 0},
        {5, {2, 1, 2}, 3, {2, 1}, 2, 0},
        {5, {2, 1, 3}, 3, {2, 2}, 2, 0},
        {5, {2, 1, 3}, 3, {1, 1}, 2, 0},
        {5, {5}, 1, {1, -1}, 2, 0},
        {5, {5}, 1, {1, 9}, 2, 0},
        {0, {-1, 0}, 2, {2}, 1, 0},
        {0, {0}, 0, {0}, 0, true},
        {1, {0}, 0, {0}, 1, true},
        {0, {INT64_MAX, 4, 0}, 3, {2}, 1, 0},
        {1, {0}, 0, {0}, 0, 0},
    };
    const float elements[5] = {1, 2, 3, 4, 5};
    const bool yes = true;
    eddy_tensor *parts[EDDY_ONNX_PARTS] = {
        whole(EDDY_FLOAT32, 1, cases[_i].n, elements),
        whole(EDDY_INT64, 1, cases[_i].n_dims, cases[_i].dims),
        whole(EDDY_INT32, 1, cases[_i].n_ranks, cases[_i].ranks),
        whole(EDDY_BOOL, 0, 0, &yes),
    };
    eddy_tensor *const swapped[EDDY_ONNX_PARTS] = {parts[0], parts[2], parts[1],
                                                   parts[3]};
    eddy_context *own = NULL;
    eddy_onnx_data data;

    ck_assert_int_eq(eddy_context_create(NULL, &own, &err), EDDY_OK);
    ck_assert_int_eq(eddy_onnx_data_unpack(own, swapped, &data, &err),
                     EDDY_INVALID_ARGUMENT);
    if (cases[_i].is_right) {
        ck_assert_int_eq(eddy_onnx_data_unpack(own, parts, &data, &err),
                         EDDY_OK);
        ck_assert_uint_eq(data.n, (size_t)cases[_i].n_ranks);
        ck_assert(data.is_present);
        if (data.n == 2)
            ck_assert_float_eq(*(const float *)eddy_tensor_data(data.items[1]),
                               3.0f);
        eddy_onnx_data_free(&data);
    } else {
        ck_assert_int_eq(eddy_onnx_data_unpack(own, parts, &data, &err),
                         EDDY_INVALID_ARGUMENT);
        ck_assert_int_eq(err.detail, EDDY_E_ARGUMENT);
    }
    for (size_t i = 0; i < EDDY_ONNX_PARTS; i++)
        eddy_tensor_release(parts[i]);
    eddy_context_destroy(own);
}
END_TEST

TCase *onnx_model_tests(void)
{
    TCase *tcase = tcase_create("onnx_model");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase,
                   all_missing_operators_come_in_one_message_with_counts);
    tcase_add_test(tcase, missing_operators_of_one_name_are_counted_by_domain);
    tcase_add_loop_test(
        tcase, functions_are_told_apart_by_domain_name_and_overload, 0, 6);
    tcase_add_loop_test(tcase, lists_have_their_bounds, 0, 8);
    tcase_add_loop_test(tcase, versions_that_are_not_known_are_refused, 2, 16);
    tcase_add_test(tcase, an_opset_of_the_future_is_refused);
    tcase_add_loop_test(tcase, two_imports_of_a_domain_are_refused, 0, 2);
    tcase_add_test(tcase, a_model_must_say_its_version);
    tcase_add_loop_test(tcase, arithmetic_of_narrow_dtypes_is_refused, 0, 5);
    tcase_add_loop_test(tcase, narrow_dtypes_are_held_to_what_is_declared, 0,
                        2);
    tcase_add_test(tcase, narrow_results_of_bodies_are_refused);
    tcase_add_test(tcase, sparse_initializers_are_refused);
    tcase_add_test(tcase, calls_that_multiply_are_refused_before_they_do);
    tcase_add_loop_test(tcase, graphs_nested_too_deep_are_refused, 0, 2);
    tcase_add_test(tcase, offsets_and_lengths_stay_within_the_file);
    tcase_add_loop_test(
        tcase, every_carrier_of_a_tensor_needs_leave_to_read_a_file, 0, 2);
    tcase_add_test(tcase, a_value_must_come_before_it_is_read);
    tcase_add_test(tcase, two_values_of_one_name_are_refused);
    tcase_add_test(tcase, an_axis_that_is_far_outside_is_refused_at_once);
    tcase_add_test(tcase, attributes_that_nobody_knows_are_refused);
    tcase_add_test(tcase, a_body_may_not_shadow_a_value_around_it);
    tcase_add_test(tcase, a_trip_count_is_an_int64);
    tcase_add_test(tcase, a_body_with_too_many_inputs_is_refused);
    tcase_add_test(tcase, a_body_gives_the_dtype_that_it_declares);
    tcase_add_test(tcase, a_modifier_of_scores_keeps_their_dtype);
    tcase_add_test(tcase, a_branch_with_another_dtype_is_refused);
    tcase_add_test(tcase, every_prefix_of_a_model_fails_or_is_a_model);
    tcase_add_test(tcase, a_call_becomes_the_nodes_of_its_function);
    tcase_add_test(tcase,
                   functions_that_call_each_other_in_a_circle_are_refused);
    tcase_add_test(tcase, a_loop_becomes_the_primitives_below_its_name);
    tcase_add_test(tcase, the_worked_example_of_loop_gives_what_its_code_gives);
    tcase_add_test(
        tcase, external_data_stay_beneath_the_folder_and_go_through_no_link);
    tcase_add_loop_test(tcase, parts_that_do_not_fit_are_no_sequence, 0, 12);
    return tcase;
}
