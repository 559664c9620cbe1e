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

/* The parts of each string in a row, which is filled up with empty ones. */
static void emit_split(eddy__onnx_op *op)
{
    const char *delimiter = eddy__onnx_text(op, "delimiter", "");
    const bool has_most = eddy__onnx_has(op, "maxsplit");
    const int64_t most = has_most ? eddy__onnx_int(op, "maxsplit", -1) : -1;
    const eddy_attr attrs[] = {eddy_attr_int("maxsplit", &most)};
    const eddy_output x = IN(0);
    eddy_output parts, at, shape, rows, n, width;

    if (!delimiter)
        return;
    parts = OP_WITH("StringSplitV2", attrs, OP("Reshape", x, INT64S(-1)),
                    eddy__onnx_word(op, delimiter));
    at = eddy__onnx_nth(parts, 0);
    shape = eddy__onnx_nth(parts, 2);
    rows = OP("TensorScatterUpdate", OP("Fill", shape, eddy__onnx_word(op, "")),
              at, eddy__onnx_nth(parts, 1));
    width = eddy__onnx_tail(op, shape, INT64(1));
    GIVE(0, OP("Reshape", rows,
               eddy__onnx_concat(op, eddy__onnx_dims(op, x), width)));
    at =
        OP("Reshape", OP("Slice", at, INT64S(0, 0), INT64S(-1, 1)), INT64S(-1));
    n = eddy__onnx_as_scalar(op, eddy__onnx_head(op, shape, INT64(1)));
    GIVE(1, OP("Reshape", OP("UnsortedSegmentSum", OP("OnesLike", at), at, n),
               eddy__onnx_dims(op, x)));
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
