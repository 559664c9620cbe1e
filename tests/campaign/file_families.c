/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The families.  Models have an input `x` and an output `y`, float32, and what
 * is many: nodes, inputs, names, attributes, bodies, functions.
 */
#include "tests/campaign/file_families.h"

#include "tests/campaign/model_writer.h"

#include <string.h>

#define DEEPEST 30 /* of graphs in graphs, and of functions */

static void begin(message_writer *w)
{
    model_begin(w);
    model_graph_input(w, "x", MODEL_FLOAT, 0);
}

static void end(message_writer *w, const char *from)
{
    model_unary(w, "Identity", from, "y");
    model_graph_output(w, "y", MODEL_FLOAT);
    model_end_graph(w);
}

/* Nodes "a0" to a(n - 1), each of the one before. */
static void add_chain(message_writer *w, const char *op, size_t n)
{
    model_unary(w, op, "x", "a0");
    for (size_t i = 1; i < n; i++)
        model_unary(w, op, textf("a%zu", i - 1).s, textf("a%zu", i).s);
}

/* ---- nodes and names ---- */

static void write_chain(message_writer *w, size_t n)
{
    begin(w);
    add_chain(w, "Sin", n);
    end(w, textf("a%zu", n - 1).s);
}

static void write_fan(message_writer *w, size_t n)
{
    begin(w);
    for (size_t i = 0; i < n; i++)
        model_unary(w, "Sin", "x", textf("a%zu", i).s);
    model_node(w, "Sum", "", "s");
    for (size_t i = 0; i < n; i++)
        model_input(w, textf("a%zu", i).s);
    model_node_end(w);
    end(w, "s");
}

/* One node of one value many times. */
static void write_wide(message_writer *w, size_t n, const char *op,
                       const char *attr)
{
    model_begin(w);
    model_graph_input(w, "x", MODEL_FLOAT, 1);
    model_node(w, op, "", "s");
    for (size_t i = 0; i < n; i++)
        model_input(w, "x");
    if (*attr)
        model_int(w, attr, 0);
    model_node_end(w);
    end(w, "s");
}

static void write_sum(message_writer *w, size_t n)
{
    write_wide(w, n, "Sum", "");
}

static void write_max(message_writer *w, size_t n)
{
    write_wide(w, n, "Max", "");
}

static void write_concat(message_writer *w, size_t n)
{
    write_wide(w, n, "Concat", "axis");
}

static void write_split(message_writer *w, size_t n)
{
    model_begin(w);
    model_graph_input(w, "x", MODEL_FLOAT, 1);
    model_node(w, "Split", "x", "");
    for (size_t i = 0; i < n; i++)
        model_output(w, textf("a%zu", i).s);
    model_int(w, "axis", 0);
    model_int(w, "num_outputs", (int64_t)n);
    model_node_end(w);
    end(w, "a0");
}

/* Nodes of one name, which becomes many. */
static void write_same_name(message_writer *w, size_t n)
{
    begin(w);
    for (size_t i = 0; i < n; i++) {
        model_node(w, "Sin", "x", textf("a%zu", i).s);
        message_text(w, 3, "same");
        model_node_end(w);
    }
    end(w, "x");
}

/* Names that differ in what no node's name may have. */
static void write_alike(message_writer *w, size_t n)
{
    begin(w);
    for (size_t i = 0; i < n; i++) {
        char name[18];

        for (size_t k = 0; k < 17; k++)
            name[k] = "#$%&"[i >> (2 * k % 34) & 3];
        name[17] = '\0';
        model_unary(w, "Sin", "x", name);
    }
    end(w, "x");
}

static void write_outputs(message_writer *w, size_t n)
{
    begin(w);
    for (size_t i = 0; i < n; i++) {
        model_unary(w, "Sin", "x", textf("a%zu", i).s);
        model_graph_output(w, textf("a%zu", i).s, MODEL_FLOAT);
    }
    end(w, "x");
}

static void write_inputs(message_writer *w, size_t n)
{
    begin(w);
    for (size_t i = 0; i < n; i++)
        model_graph_input(w, textf("x%zu", i).s, MODEL_FLOAT, 0);
    end(w, "x");
}

static void add_initializers(message_writer *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        model_zeros(w, textf("x%zu", i).s, MODEL_FLOAT, 1);
}

static void write_initializers(message_writer *w, size_t n)
{
    begin(w);
    add_initializers(w, n);
    end(w, "x");
}

/* Initializers that are inputs too: constants, or, since IR 4, defaults. */
static void write_constants(message_writer *w, size_t n)
{
    model_begin_ir(w, 3);
    model_graph_input(w, "x", MODEL_FLOAT, 0);
    for (size_t i = n; i > 0; i--)
        model_graph_input(w, textf("x%zu", i - 1).s, MODEL_FLOAT, 0);
    add_initializers(w, n);
    end(w, "x");
}

static void write_defaults(message_writer *w, size_t n)
{
    begin(w);
    for (size_t i = n; i > 0; i--)
        model_graph_input(w, textf("x%zu", i - 1).s, MODEL_FLOAT, -1);
    add_initializers(w, n);
    end(w, "x");
}

static void write_long_name(message_writer *w, size_t n)
{
    begin(w);
    message_begin(w, 1);
    message_text(w, 4, "Sin");
    model_input(w, "x");
    message_varint(w, 2 << 3 | 2);
    message_varint(w, n);
    for (size_t i = 0; i < n; i++)
        message_raw(w, "a", 1);
    message_end(w);
    end(w, "x");
}

/* ---- attributes ---- */

static void write_attributes(message_writer *w, size_t n)
{
    begin(w);
    model_node(w, "Softmax", "x", "a");
    for (size_t i = 0; i < n; i++)
        model_int(w, textf("b%zu", i).s, 1);
    model_node_end(w);
    end(w, "a");
}

static void write_axes(message_writer *w, size_t n)
{
    begin(w);
    model_node(w, "Transpose", "x", "a");
    model_ints(w, "perm", 0, n);
    model_node_end(w);
    end(w, "a");
}

static void write_ngrams(message_writer *w, size_t n)
{
    model_begin(w);
    model_graph_input(w, "x", MODEL_INT64, 1);
    model_node(w, "TfIdfVectorizer", "x", "a");
    model_string(w, "mode", "TF");
    model_int(w, "min_gram_length", 1);
    model_int(w, "max_gram_length", 1);
    model_int(w, "max_skip_count", 0);
    model_ints(w, "ngram_counts", 0, 1);
    model_ints(w, "ngram_indexes", 1, n);
    model_ints(w, "pool_int64s", 7, n);
    model_node_end(w);
    end(w, "a");
}

static void write_einsum(message_writer *w, size_t n)
{
    model_begin(w);
    model_graph_input(w, "x", MODEL_FLOAT, 2);
    for (size_t i = 0; i < n; i++) {
        model_node(w, "Einsum", "x", textf("a%zu", i).s);
        model_input(w, "x");
        model_input(w, "x");
        model_string(w, "equation", "ab,bc,cd->abcd");
        model_node_end(w);
    }
    end(w, "x");
}

/* ---- operators that are not there ---- */

static void write_unknown(message_writer *w, size_t n)
{
    begin(w);
    for (size_t i = 0; i < n; i++)
        model_unary(w, textf("Q%zu", i).s, "x", textf("a%zu", i).s);
    end(w, "x");
}

static void write_opsets(message_writer *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        message_begin(w, 8);
        message_text(w, 1, textf("d%zu", i).s);
        message_number(w, 2, 1);
        message_end(w);
    }
    begin(w);
    end(w, "x");
}

/* ---- sizes ---- */

/* Nodes that would each fill a gibibyte, if they were computed. */
static void write_huge(message_writer *w, size_t n)
{
    begin(w);
    model_int64(w, "huge", INT64_C(1) << 28);
    for (size_t i = 0; i < n; i++)
        model_unary(w, "ConstantOfShape", "huge", textf("a%zu", i).s);
    end(w, "x");
}

static void write_expanded(message_writer *w, size_t n)
{
    begin(w);
    model_int64(w, "large", INT64_C(1) << 20);
    model_unary(w, "ConstantOfShape", "large", "a0");
    for (size_t i = 1; i < n; i++) {
        model_node(w, "Concat", textf("a%zu", i - 1).s, textf("a%zu", i).s);
        model_input(w, textf("a%zu", i - 1).s);
        model_int(w, "axis", 0);
        model_node_end(w);
    }
    end(w, "x");
}

static void write_impossible(message_writer *w, size_t n)
{
    begin(w);
    model_empty(w, "e", UINT64_C(1) << 62, n);
    end(w, "x");
}

static void write_empty(message_writer *w, size_t n)
{
    begin(w);
    for (size_t i = 0; i < n; i++)
        model_empty(w, textf("e%zu", i).s, 0, 8);
    end(w, "x");
}

static void write_long_initializer(message_writer *w, size_t n)
{
    begin(w);
    model_zeros(w, "long", MODEL_INT64, n);
    model_unary(w, "ConstantOfShape", "long", "a");
    end(w, "x");
}

/* ---- bodies ---- */

static void add_if(message_writer *w, const char *from, const char *to,
                   size_t n)
{
    static const char *const names[] = {"then_branch", "else_branch"};

    model_node(w, "If", "p", to);
    for (size_t side = 0; side < 2; side++) {
        const text last = textf("%s_%zu_%zu", to, side, n - 1);

        model_body(w, names[side]);
        for (size_t i = 0; i < n; i++)
            model_unary(w, side == 0 ? "Sin" : "Cos",
                        i == 0 ? from : textf("%s_%zu_%zu", to, side, i - 1).s,
                        textf("%s_%zu_%zu", to, side, i).s);
        model_graph_output(w, last.s, MODEL_FLOAT);
        model_body_end(w);
    }
    model_node_end(w);
}

static void write_ifs(message_writer *w, size_t n)
{
    begin(w);
    model_graph_input(w, "p", MODEL_BOOL, 0);
    for (size_t i = 0; i < n; i++)
        add_if(w, i == 0 ? "x" : textf("a%zu", i - 1).s, textf("a%zu", i).s, 1);
    end(w, textf("a%zu", n - 1).s);
}

static void write_wide_if(message_writer *w, size_t n)
{
    begin(w);
    model_graph_input(w, "p", MODEL_BOOL, 0);
    add_if(w, "x", "a", n);
    end(w, "a");
}

/* Ifs in Ifs, in the innermost of which are n nodes. */
static void write_deep_ifs(message_writer *w, size_t n)
{
    begin(w);
    model_graph_input(w, "p", MODEL_BOOL, 0);
    for (size_t i = 0; i < DEEPEST; i++) {
        model_node(w, "If", "p", textf("i%zu", i).s);
        model_body(w, "else_branch");
        model_unary(w, "Cos", "x", textf("e%zu", i).s);
        model_graph_output(w, textf("e%zu", i).s, MODEL_FLOAT);
        model_body_end(w);
        model_body(w, "then_branch");
    }
    add_chain(w, "Sin", n);
    model_graph_output(w, textf("a%zu", n - 1).s, MODEL_FLOAT);
    for (size_t i = DEEPEST; i > 0; i--) {
        model_body_end(w);
        model_node_end(w);
        if (i > 1)
            model_graph_output(w, textf("i%zu", i - 1).s, MODEL_FLOAT);
    }
    end(w, "i0");
}

/* A loop of one state; its body's names are its own. */
static void begin_loop(message_writer *w, const char *from, const char *to)
{
    model_node(w, "Loop", "trips", to);
    model_input(w, "p");
    model_input(w, from);
    model_body(w, "body");
    model_graph_input(w, textf("%s_i", to).s, MODEL_INT64, 0);
    model_graph_input(w, textf("%s_p", to).s, MODEL_BOOL, 0);
    model_graph_input(w, textf("%s_v", to).s, MODEL_FLOAT, 0);
    model_unary(w, "Identity", textf("%s_p", to).s, textf("%s_q", to).s);
    model_graph_output(w, textf("%s_q", to).s, MODEL_BOOL);
}

static void end_loop(message_writer *w, const char *result)
{
    model_graph_output(w, result, MODEL_FLOAT);
    model_body_end(w);
    model_node_end(w);
}

static void begin_loops(message_writer *w)
{
    begin(w);
    model_graph_input(w, "p", MODEL_BOOL, 0);
    model_int64(w, "trips", 3);
}

static void write_loops(message_writer *w, size_t n)
{
    begin_loops(w);
    for (size_t i = 0; i < n; i++) {
        const text to = textf("a%zu", i), result = textf("a%zu_r", i);

        begin_loop(w, i == 0 ? "x" : textf("a%zu", i - 1).s, to.s);
        model_unary(w, "Sin", textf("a%zu_v", i).s, result.s);
        end_loop(w, result.s);
    }
    end(w, textf("a%zu", n - 1).s);
}

/* Loops in loops, in the innermost of which are n nodes. */
static void write_deep_loops(message_writer *w, size_t n)
{
    begin_loops(w);
    for (size_t i = 0; i < DEEPEST; i++)
        begin_loop(w, i == 0 ? "x" : textf("l%zu_v", i - 1).s,
                   textf("l%zu", i).s);
    for (size_t i = 0; i < n; i++)
        model_unary(w, "Sin", i == 0 ? "x" : textf("a%zu", i - 1).s,
                    textf("a%zu", i).s);
    for (size_t i = DEEPEST; i > 0; i--)
        end_loop(w, i == DEEPEST ? textf("a%zu", n - 1).s : textf("l%zu", i).s);
    end(w, "l0");
}

/* One loop of n states and n results that are scanned. */
static void write_states(message_writer *w, size_t n)
{
    begin_loops(w);
    model_node(w, "Loop", "trips", "");
    model_input(w, "p");
    for (size_t i = 0; i < n; i++)
        model_input(w, "x");
    for (size_t i = 0; i < 2 * n; i++)
        model_output(w, textf("a%zu", i).s);
    model_body(w, "body");
    model_graph_input(w, "i", MODEL_INT64, 0);
    model_graph_input(w, "q", MODEL_BOOL, 0);
    model_graph_output(w, "q", MODEL_BOOL);
    for (size_t i = 0; i < n; i++)
        model_graph_input(w, textf("v%zu", i).s, MODEL_FLOAT, 0);
    for (size_t i = 0; i < 2 * n; i++)
        model_graph_output(w, textf("v%zu", i % n).s, MODEL_FLOAT);
    model_body_end(w);
    model_node_end(w);
    end(w, "a0");
}

/* One body that reads n values from around it. */
static void write_captured(message_writer *w, size_t n)
{
    begin_loops(w);
    for (size_t i = 0; i < n; i++)
        model_unary(w, "Sin", "x", textf("o%zu", i).s);
    begin_loop(w, "x", "l");
    model_node(w, "Sum", "l_v", "r");
    for (size_t i = 0; i < n; i++)
        model_input(w, textf("o%zu", i).s);
    model_node_end(w);
    end_loop(w, "r");
    end(w, "l");
}

/* ---- functions ---- */

static void call(message_writer *w, const char *f, const char *from,
                 const char *to)
{
    model_node(w, f, from, to);
    model_domain(w, "own");
    model_node_end(w);
}

static void add_function(message_writer *w, const char *name, const char *op,
                         const char *domain, size_t n)
{
    model_function(w, name);
    model_function_value(w, false, "v");
    for (size_t i = 0; i < n; i++)
        model_function_node(w, op, domain,
                            i == 0 ? "v" : textf("t%zu", i - 1).s,
                            textf("t%zu", i).s);
    model_function_value(w, true, textf("t%zu", n - 1).s);
    model_function_end(w);
}

/* n functions, each of which is called. */
static void write_functions(message_writer *w, size_t n)
{
    begin(w);
    for (size_t i = 0; i < n; i++)
        call(w, textf("F%zu", i).s, "x", textf("a%zu", i).s);
    end(w, "x");
    for (size_t i = 0; i < n; i++)
        add_function(w, textf("F%zu", i).s, "Sin", "", 1);
}

/* One function of n nodes, and n calls of it. */
static void write_calls(message_writer *w, size_t n)
{
    begin(w);
    for (size_t i = 0; i < n; i++)
        call(w, "F", "x", textf("a%zu", i).s);
    end(w, "x");
    add_function(w, "F", "Sin", "", n);
}

/* Each calls the one before twice. */
static void write_doubling(message_writer *w, size_t n)
{
    begin(w);
    call(w, textf("F%d", DEEPEST - 1).s, "x", "a");
    end(w, "a");
    add_function(w, "F0", "Sin", "", n);
    for (size_t i = 1; i < DEEPEST; i++)
        add_function(w, textf("F%zu", i).s, textf("F%zu", i - 1).s, "own", 2);
}

/* Functions of one name in n domains. */
static void write_overloads(message_writer *w, size_t n)
{
    begin(w);
    for (size_t i = 0; i < n; i++)
        call(w, "F", "x", textf("a%zu", i).s);
    end(w, "x");
    for (size_t i = 0; i < n; i++) {
        message_begin(w, 25);
        message_text(w, 1, "F");
        message_text(w, 10, i + 1 < n ? textf("d%zu", i).s : "own");
        message_text(w, 4, "v");
        message_text(w, 5, "v");
        message_end(w);
    }
}

/* ---- sequences ---- */

static void write_sequence(message_writer *w, size_t n)
{
    begin(w);
    model_node(w, "SequenceConstruct", "x", "a0");
    model_node_end(w);
    for (size_t i = 1; i < n; i++)
        model_binary(w, "SequenceInsert", textf("a%zu", i - 1).s, "x",
                     textf("a%zu", i).s);
    model_node(w, "ConcatFromSequence", textf("a%zu", n - 1).s, "s");
    model_int(w, "axis", 0);
    model_int(w, "new_axis", 1);
    model_node_end(w);
    end(w, "s");
}

/* ---- texts ---- */

static void write_texts(message_writer *w, size_t n)
{
    begin(w);
    message_begin(w, 5);
    message_number(w, 1, n);
    message_number(w, 2, 8);
    for (size_t i = 0; i < n; i++)
        message_text(w, 6, "");
    message_text(w, 8, "texts");
    message_end(w);
    model_unary(w, "StringNormalizer", "texts", "a");
    end(w, "x");
}

/* A call whose long name stands before that of each node in it. */
static void write_long_scope(message_writer *w, size_t n)
{
    begin(w);
    message_begin(w, 1);
    message_text(w, 4, "F");
    message_text(w, 7, "own");
    model_input(w, "x");
    model_output(w, "a");
    message_varint(w, 3 << 3 | 2);
    message_varint(w, n);
    for (size_t i = 0; i < n; i++)
        message_raw(w, "a", 1);
    message_end(w);
    end(w, "x");
    add_function(w, "F", "Sin", "", n / 64 + 1);
}

/* A dimension's name for each dimension, and inputs of as many. */
static void write_dimensions(message_writer *w, size_t n)
{
    begin(w);
    message_begin(w, 11);
    message_text(w, 1, "d");
    message_begin(w, 2);
    message_begin(w, 1);
    message_number(w, 1, MODEL_FLOAT);
    message_begin(w, 2);
    for (size_t i = 0; i < n; i++) {
        message_begin(w, 1);
        message_text(w, 2, "n");
        message_end(w);
    }
    for (int i = 0; i < 4; i++)
        message_end(w);
    end(w, "x");
}

/* Sequences of sequences. */
static void write_deep_type(message_writer *w, size_t n)
{
    const size_t depth = n < 200 ? n : 200;

    begin(w);
    message_begin(w, 11);
    message_text(w, 1, "d");
    message_begin(w, 2);
    for (size_t i = 0; i < depth; i++) {
        message_begin(w, 4);
        message_begin(w, 1);
    }
    for (size_t i = 0; i < 2 * depth + 2; i++)
        message_end(w);
    end(w, "x");
}

/* ---- arrays ---- */

/* The header of a NPY file of version 2, and no data. */
static void write_header(message_writer *w, const char *before, char fill,
                         const char *after, size_t n)
{
    const uint32_t length = (uint32_t)(strlen(before) + n + strlen(after));

    message_raw(w, "\x93NUMPY\x02\x00", 8);
    message_raw(w, &length, sizeof length);
    message_raw(w, before, strlen(before));
    for (size_t i = 0; i < n; i++)
        message_raw(w, &fill, 1);
    message_raw(w, after, strlen(after));
}

static void write_npy_brackets(message_writer *w, size_t n)
{
    write_header(w, "{'descr': '<f4', 'fortran_order': False, 'shape': ", '(',
                 "}", n);
}

static void write_npy_digits(message_writer *w, size_t n)
{
    write_header(w, "{'descr': '<f4', 'fortran_order': False, 'shape': (", '9',
                 ",)}", n);
}

static void write_npy_spaces(message_writer *w, size_t n)
{
    write_header(w, "{'descr': '<f4', 'fortran_order': False, 'shape': (0", ' ',
                 ",)}", n);
}

static void write_npy_commas(message_writer *w, size_t n)
{
    write_header(w, "{'descr': '<f4', 'fortran_order': False, 'shape': (0", ',',
                 ")}", n);
}

static void write_npy_descr(message_writer *w, size_t n)
{
    write_header(w, "{'descr': '", '<', "f4', 'shape': (0,)}", n);
}

/* Texts of no characters: elements that no byte of the file stands for. */
static void write_npy_texts(message_writer *w, size_t n)
{
    (void)n;
    write_header(w, "{'descr': '|S0', 'fortran_order': False, 'shape': (", '9',
                 ",)}", 12);
}

/* Columns first, over and over. */
static void write_npy_columns(message_writer *w, size_t n)
{
    static const char zero;

    write_header(w, "{'descr': '|u1', 'fortran_order': True, 'shape': ", ' ',
                 textf("(%zu,2,2,2,2,2,2,2)}", n / 128).s, 1);
    for (size_t i = 0; i < n / 128 * 128; i++)
        message_raw(w, &zero, 1);
}

/* ---- recorded cases ---- */

static void write_text(message_writer *w, const char *s)
{
    message_raw(w, s, strlen(s));
}

static void write_case_nest(message_writer *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        write_text(w, "[");
}

static void write_case_objects(message_writer *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        write_text(w, "{\"a\":");
}

/* Runs of a case, feeds of a run, and gradients, of which there are none. */
static void write_case_list(message_writer *w, const char *before,
                            const char *item, const char *after, size_t n)
{
    write_text(w, before);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            write_text(w, ",");
        write_text(w, textf(item, i).s);
    }
    write_text(w, after);
}

#define FEED "\"feeds\":{\"x0:0\":\"in_0_x0.npy\"}"
#define ENDS "\"rtol\":0.1,\"atol\":0.1}"
#define RUN "{" FEED ",\"fetches\":[\"loss:0\"],\"targets\":[],"

static void write_case_runs(message_writer *w, size_t n)
{
    write_text(w, "{\"runs\":[");
    for (size_t i = 0; i < n; i++)
        write_text(w, RUN "\"expect\":[\"out_0_0.npy\"]," ENDS ",");
    write_text(w, RUN "\"expect\":[\"out_0_0.npy\"]," ENDS "]}");
}

static void write_case_feeds(message_writer *w, size_t n)
{
    write_case_list(w, "{\"runs\":[{\"feeds\":{", "\"x%zu\":\"in_0_x0.npy\"",
                    "},\"fetches\":[],\"targets\":[],\"expect\":[]," ENDS "]}",
                    n);
}

static void write_case_fetches(message_writer *w, size_t n)
{
    write_case_list(w, "{\"runs\":[{" FEED ",\"fetches\":[", "\"loss:0\"",
                    "],\"targets\":[],\"expect\":[", n);
    for (size_t i = 0; i + 1 < n; i++)
        write_text(w, "\"out_0_0.npy\",");
    write_text(w, "\"out_0_0.npy\"]," ENDS "]}");
}

static void write_case_targets(message_writer *w, size_t n)
{
    write_case_list(w, "{\"runs\":[{" FEED ",\"fetches\":[],\"targets\":[",
                    "\"loss\"", "],\"expect\":[]," ENDS "]}", n);
}

static void write_case_gradients(message_writer *w, size_t n)
{
    write_case_list(w,
                    "{\"runs\":[],\"gradients\":{\"ys\":[\"loss:0\"],\"xs\":[",
                    "\"x0:0\"", "],\"order\":3," FEED ",\"expect\":[", n);
    for (size_t i = 0; i + 1 < n; i++)
        write_text(w, "\"grad_0_0.npy\",");
    write_text(w, "\"grad_0_0.npy\"]," ENDS "}");
}

const file_family file_families[] = {
    {"chain.onnx", write_chain},
    {"fan.onnx", write_fan},
    {"sum.onnx", write_sum},
    {"max.onnx", write_max},
    {"concat.onnx", write_concat},
    {"split.onnx", write_split},
    {"same_name.onnx", write_same_name},
    {"alike.onnx", write_alike},
    {"outputs.onnx", write_outputs},
    {"inputs.onnx", write_inputs},
    {"initializers.onnx", write_initializers},
    {"constants.onnx", write_constants},
    {"defaults.onnx", write_defaults},
    {"long_name.onnx", write_long_name},
    {"attributes.onnx", write_attributes},
    {"axes.onnx", write_axes},
    {"ngrams.onnx", write_ngrams},
    {"einsum.onnx", write_einsum},
    {"unknown.onnx", write_unknown},
    {"opsets.onnx", write_opsets},
    {"huge.onnx", write_huge},
    {"expanded.onnx", write_expanded},
    {"impossible.onnx", write_impossible},
    {"empty.onnx", write_empty},
    {"long_initializer.onnx", write_long_initializer},
    {"ifs.onnx", write_ifs},
    {"wide_if.onnx", write_wide_if},
    {"deep_ifs.onnx", write_deep_ifs},
    {"loops.onnx", write_loops},
    {"deep_loops.onnx", write_deep_loops},
    {"states.onnx", write_states},
    {"captured.onnx", write_captured},
    {"functions.onnx", write_functions},
    {"calls.onnx", write_calls},
    {"doubling.onnx", write_doubling},
    {"overloads.onnx", write_overloads},
    {"sequence.onnx", write_sequence},
    {"texts.onnx", write_texts},
    {"long_scope.onnx", write_long_scope},
    {"dimensions.onnx", write_dimensions},
    {"deep_type.onnx", write_deep_type},
    {"brackets.npy", write_npy_brackets},
    {"digits.npy", write_npy_digits},
    {"spaces.npy", write_npy_spaces},
    {"commas.npy", write_npy_commas},
    {"descr.npy", write_npy_descr},
    {"texts.npy", write_npy_texts},
    {"columns.npy", write_npy_columns},
    {"nest.json", write_case_nest},
    {"objects.json", write_case_objects},
    {"runs.json", write_case_runs},
    {"feeds.json", write_case_feeds},
    {"fetches.json", write_case_fetches},
    {"targets.json", write_case_targets},
    {"gradients.json", write_case_gradients},
};

const size_t n_file_families = sizeof file_families / sizeof file_families[0];

#define TRIAL_SIZE 512 /* from which the size of a whole file follows */

size_t file_family_size(const file_family *f, size_t bytes)
{
    double n = TRIAL_SIZE;

    for (int i = 0; i < 3; i++) {
        message_writer w = {.length = 0};

        f->write(&w, (size_t)n);
        n *= (double)bytes / (double)w.length;
        message_writer_deinit(&w);
        if (n > (double)bytes) /* a file that does not grow */
            n = (double)bytes;
    }
    return (size_t)(n * 0.99);
}
