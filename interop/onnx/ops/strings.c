/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's operators on strings. */
#include "core/graph/graph.h"
#include "interop/onnx/ops/kit.h"

#include <string.h>

static void emit_concat(eddy__onnx_op *op)
{
    GIVE(0, OP("Add", IN(0), IN(1)));
}

/* ---- StringSplit ---- */

/* The parts of all strings: [parts, 2], whose they are and which; the texts. */
typedef struct split_parts {
    eddy_output at, texts;
} split_parts;

/* Without a delimiter an empty part, which may be the last one, is none. */
static split_parts without_empty(eddy__onnx_op *op, split_parts parts)
{
    const eddy_output is_kept =
        OP("NotEqual", parts.texts, eddy__onnx_word(op, ""));
    const eddy_output kept = OP("Reshape", OP("Where", is_kept), INT64S(-1));

    return (split_parts){OP("GatherV2", parts.at, kept, INT32(0)),
                         OP("GatherV2", parts.texts, kept, INT32(0))};
}

/* How many parts each of `n`, a vector of one, strings has. */
static eddy_output count_parts(eddy__onnx_op *op, eddy_output at, eddy_output n)
{
    const eddy_output whose =
        OP("Reshape", OP("Slice", at, INT64S(0, 0), INT64S(-1, 1)), INT64S(-1));

    return OP("UnsortedSegmentSum", OP("OnesLike", whose), whose,
              eddy__onnx_as_scalar(op, n));
}

/* The parts of each string in a row, which is filled up with empty ones. */
static void emit_split(eddy__onnx_op *op)
{
    const char *delimiter = eddy__onnx_text(op, "delimiter", "");
    const bool has_most = eddy__onnx_has(op, "maxsplit");
    const int64_t most = has_most ? eddy__onnx_int(op, "maxsplit", -1) : -1;
    const eddy_attr attrs[] = {eddy_attr_int("maxsplit", &most)};
    const eddy_output x = IN(0), dims = eddy__onnx_dims(op, x);
    eddy_output all, n, counts, width, rows;
    split_parts parts;

    if (!delimiter)
        return;
    all = OP_WITH("StringSplitV2", attrs, OP("Reshape", x, INT64S(-1)),
                  eddy__onnx_word(op, delimiter));
    parts = (split_parts){eddy__onnx_nth(all, 0), eddy__onnx_nth(all, 1)};
    if (!*delimiter)
        parts = without_empty(op, parts);
    n = eddy__onnx_head(op, eddy__onnx_nth(all, 2), INT64(1));
    counts = count_parts(op, parts.at, n);
    width = eddy__onnx_reduce(
        op, "Max", eddy__onnx_concat(op, counts, INT64S(0)), INT64S(0), true);
    rows = OP("Fill", eddy__onnx_concat(op, n, width), eddy__onnx_word(op, ""));
    rows = OP("TensorScatterUpdate", rows, parts.at, parts.texts);
    GIVE(0, OP("Reshape", rows, eddy__onnx_concat(op, dims, width)));
    GIVE(1, OP("Reshape", counts, dims));
}

/* ---- StringNormalizer ---- */

static eddy_output in_case(eddy__onnx_op *op, const char *action, eddy_output x)
{
    const eddy_string utf8 = {"utf-8", 5};
    const eddy_attr attrs[] = {eddy_attr_string("encoding", &utf8)};

    if (strcmp(action, "LOWER") == 0)
        return OP_WITH("StringLower", attrs, x);
    if (strcmp(action, "UPPER") == 0)
        return OP_WITH("StringUpper", attrs, x);
    if (strcmp(action, "NONE") != 0)
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE,
                        "there is no case_change_action '%s'", action);
    return x;
}

/* Those of a vector that are no stop word. */
static eddy_output without_stopwords(eddy__onnx_op *op, eddy_output x)
{
    const bool is_exact = eddy__onnx_int(op, "is_case_sensitive", 0) != 0;
    const char *as = is_exact ? "NONE" : "LOWER";
    const eddy_output compared = in_case(op, as, x);
    eddy_output is_kept = EDDY__NO_OUTPUT;
    const char *word;

    for (size_t i = 0;
         (word = eddy__onnx_list_text(op, "stopwords", i)) != NULL; i++) {
        const eddy_output differs = OP(
            "NotEqual", compared, in_case(op, as, eddy__onnx_word(op, word)));

        is_kept = i == 0 ? differs : OP("LogicalAnd", is_kept, differs);
    }
    if (is_kept.node == EDDY_NO_NODE)
        return x;
    return OP("GatherV2", x, OP("Reshape", OP("Where", is_kept), INT64S(-1)),
              INT32(0));
}

/* A vector, or a row of one; where nothing is left, one empty string. */
static void emit_normalizer(eddy__onnx_op *op)
{
    const char *action = eddy__onnx_text(op, "case_change_action", "NONE");
    const eddy_output x = IN(0);
    const eddy_output dims = eddy__onnx_dims(op, x);
    eddy_output kept, n, before;

    eddy__onnx_ignore(op, "locale");
    eddy__onnx_ignore(op, "is_case_sensitive");
    if (!action)
        return;
    kept = without_stopwords(op, OP("Reshape", x, INT64S(-1)));
    kept = in_case(op, action, kept);
    n = OP("Maximum", CAST(OP("Size", kept), EDDY_INT64), INT64(1));
    kept = eddy__onnx_concat(op, kept,
                             eddy__onnx_as_vector(op, eddy__onnx_word(op, "")));
    kept = eddy__onnx_head(op, kept, n);
    before = eddy__onnx_head(op, dims,
                             OP("Sub", eddy__onnx_rank64(op, x), INT64(1)));
    GIVE(0, OP("Reshape", kept, eddy__onnx_concat(op, before, INT64S(-1))));
}

#define NEWEST EDDY__ONNX_NEWEST

const eddy__onnx_row eddy__onnx_strings[] = {
    {"StringConcat", 20, NEWEST, 2, 2, 1, 1, emit_concat},
    {"StringNormalizer", 10, NEWEST, 1, 1, 1, 1, emit_normalizer},
    {"StringSplit", 20, NEWEST, 1, 1, 2, 2, emit_split},
    {.name = NULL},
};
