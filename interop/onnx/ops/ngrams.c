/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's TfIdfVectorizer: how often each n-gram of a pool occurs in a row of
 * numbers or strings, whose parts may stand apart.  All windows of a length and
 * a distance are held against all n-grams of the length at once.
 */
#include "core/base/memory.h"
#include "core/base/status.h"
#include "core/context.h"
#include "core/graph/graph.h"
#include "interop/onnx/ops/kit.h"

#include <string.h>

/* Lengths times distances: each is some nodes. */
#define MOST_KINDS 256

/* The n-grams of one length. */
typedef struct grams {
    int64_t length;
    size_t first, n;     /* of the numbers or strings in the pool; n-grams */
    size_t index;        /* of the first in ngram_indexes */
    eddy_output members; /* [n, length] */
} grams;

typedef struct vectorizer {
    const int64_t *counts, *indexes, *numbers;
    const float *weights;
    size_t n_counts, n_indexes, n_numbers, n_weights;
    bool is_text;
    int64_t least, most, distances, width; /* width: of the result */
    eddy_output x;                         /* [rows, elements] */
    eddy__onnx_size elements;
} vectorizer;

/* Strings `first` and following of the pool, as a Const of that shape. */
static eddy_output texts(eddy__onnx_op *op, size_t first,
                         const eddy_shape *shape)
{
    const size_t n = (size_t)(shape->dims[0] * shape->dims[1]);
    eddy_context *ctx = op->w->graph->ctx;
    eddy_string *strings = eddy__allocate(&ctx->allocator, n, sizeof *strings);
    eddy_tensor *tensor = NULL;

    if (!strings) {
        op->w->status = eddy__fail_memory(op->w->err);
        return EDDY__NO_OUTPUT;
    }
    for (size_t i = 0; i < n; i++) {
        const char *text = eddy__onnx_list_text(op, "pool_strings", first + i);

        strings[i] = (eddy_string){text ? text : "", text ? strlen(text) : 0};
    }
    if (eddy__onnx_ok(op))
        op->w->status = eddy_tensor_from_strings(ctx, shape, strings, n,
                                                 &tensor, op->w->err);
    eddy__free(&ctx->allocator, strings, n, sizeof *strings);
    return eddy__onnx_const(op, tensor);
}

/* Those of `length`; false if there are none, or after a failure. */
static bool find_grams(eddy__onnx_op *op, const vectorizer *v, int64_t length,
                       grams *out)
{
    *out = (grams){.length = length};
    for (int64_t i = 1; i <= length; i++) {
        const size_t at = (size_t)i - 1;
        const int64_t begin = v->counts[at];
        const int64_t end =
            at + 1 < v->n_counts ? v->counts[at + 1] : (int64_t)v->n_numbers;

        if (begin < 0 || end < begin || end > (int64_t)v->n_numbers) {
            eddy__onnx_fail(op, EDDY_E_ATTR_VALUE,
                            "ngram_counts do not go up to the pool's length");
            return false;
        }
        out->index += out->n;
        out->first = (size_t)begin;
        out->n = (size_t)((end - begin) / i);
    }
    if (out->index + out->n > v->n_indexes) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "%zu ngram_indexes are too few",
                        v->n_indexes);
        return false;
    }
    return out->n > 0;
}

/* Elements that stand `skipped` behind the begin of each window. */
static eddy_output members(eddy__onnx_op *op, const vectorizer *v,
                           int64_t skipped, eddy__onnx_size windows)
{
    const eddy__onnx_size at = FIXED(skipped);
    const eddy__onnx_size begin =
        MINUS(PLUS(at, v->elements), eddy__onnx_larger(op, at, v->elements));

    return OP("Slice", v->x, SIZES(FIXED(0), begin), SIZES(FIXED(-1), windows));
}

/* How often each n-gram occurs at a distance: [rows, n]. */
static eddy_output count_at(eddy__onnx_op *op, const vectorizer *v,
                            const grams *g, int64_t distance)
{
    const eddy__onnx_size windows = eddy__onnx_larger(
        op, MINUS(v->elements, FIXED((g->length - 1) * distance)), FIXED(0));
    eddy_output is = EDDY__NO_OUTPUT;

    for (int64_t i = 0; i < g->length; i++) {
        const eddy_output x =
            OP("ExpandDims", members(op, v, i * distance, windows), INT32(2));
        const eddy_output same =
            OP("Equal", x, OP("GatherV2", g->members, INT64(i), INT32(1)));

        is = i == 0 ? same : OP("LogicalAnd", is, same);
    }
    return eddy__onnx_reduce(op, "Sum", CAST(is, EDDY_FLOAT32), INT64S(1),
                             false);
}

/* How often each n-gram of a length occurs: [n, rows]. */
static eddy_output count_grams(eddy__onnx_op *op, const vectorizer *v, grams *g)
{
    const int64_t perm[] = {1, 0};
    const eddy_shape shape = {.rank = 2, .dims = {(int64_t)g->n, g->length}};
    eddy_output sum;

    if (v->is_text)
        g->members = texts(op, g->first, &shape);
    else
        g->members = OP("Reshape",
                        eddy__onnx_int64s(op, v->numbers + g->first,
                                          g->n * (size_t)g->length),
                        INT64S((int64_t)g->n, g->length));
    sum = count_at(op, v, g, 1);
    /* Nothing stands apart in one element. */
    for (int64_t d = 2; d <= v->distances && g->length > 1; d++)
        sum = OP("AddV2", sum, count_at(op, v, g, d));
    return eddy__onnx_transpose(op, sum, perm, 2);
}

static bool read_pool(eddy__onnx_op *op, vectorizer *v)
{
    v->n_counts = eddy__onnx_list_of_ints(op, "ngram_counts", &v->counts);
    v->n_indexes = eddy__onnx_list_of_ints(op, "ngram_indexes", &v->indexes);
    v->n_numbers = eddy__onnx_list_of_ints(op, "pool_int64s", &v->numbers);
    v->n_weights = eddy__onnx_list_of_floats(op, "weights", &v->weights);
    v->is_text = DTYPE(IN(0)) == EDDY_STRING;
    if (v->is_text)
        for (v->n_numbers = 0;
             eddy__onnx_list_text(op, "pool_strings", v->n_numbers) != NULL;)
            v->n_numbers++;
    v->least = eddy__onnx_int(op, "min_gram_length", 0);
    v->most = eddy__onnx_int(op, "max_gram_length", 0);
    v->distances = eddy__onnx_int(op, "max_skip_count", -1);
    if (!eddy__onnx_ok(op))
        return false;
    for (size_t i = 0; i < v->n_indexes; i++)
        if (v->indexes[i] >= v->width && v->indexes[i] < INT32_MAX)
            v->width = v->indexes[i] + 1;
    if (v->least < 1 || v->most < v->least || v->most > (int64_t)v->n_counts ||
        v->distances < 0 || v->width < 1 ||
        (v->n_weights > 0 && v->n_weights != v->n_indexes))
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE,
                        "lengths, counts, indexes or weights of n-grams that "
                        "do not go together");
    else if (v->distances >= MOST_KINDS ||
             v->most > MOST_KINDS / (v->distances + 1))
        eddy__onnx_refuse(op, "%lld lengths at %lld distances",
                          (long long)v->most, (long long)v->distances + 1);
    v->distances++;
    return eddy__onnx_ok(op);
}

/* Of how often each occurs, [n, rows], what the mode asks for. */
static eddy_output weigh(eddy__onnx_op *op, const vectorizer *v, const grams *g,
                         eddy_output y)
{
    const char *mode = eddy__onnx_text(op, "mode", "");
    const eddy_shape shape = {.rank = 2, .dims = {(int64_t)g->n, 1}};
    eddy_tensor *weights = NULL;

    if (!eddy__onnx_ok(op) || strcmp(mode, "TF") == 0)
        return y;
    if (strcmp(mode, "IDF") == 0)
        y = CAST(OP("Greater", y, NUMBER(EDDY_FLOAT32, 0.0)), EDDY_FLOAT32);
    else if (strcmp(mode, "TFIDF") != 0)
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "there is no mode '%s'", mode);
    if (v->n_weights == 0 || !eddy__onnx_ok(op))
        return y;
    op->w->status = eddy_tensor_create(op->w->graph->ctx, EDDY_FLOAT32, &shape,
                                       &weights, op->w->err);
    if (eddy__onnx_ok(op))
        memcpy(eddy_tensor_mutable_data(weights), v->weights + g->index,
               g->n * sizeof(float));
    return OP("Mul", y, eddy__onnx_const(op, weights));
}

static void emit_vectorizer(eddy__onnx_op *op)
{
    const int64_t perm[] = {1, 0};
    const int32_t rank =
        eddy__onnx_want_rank(op, IN(0), "the elements of n-grams");
    eddy_output counts[MOST_KINDS], indexes[MOST_KINDS], y;
    vectorizer v = {.x = IN(0), .n_counts = 0};
    size_t n = 0;

    if (!read_pool(op, &v))
        return;
    if (!v.is_text)
        v.x = CAST(v.x, EDDY_INT64);
    if (rank < 2)
        v.x = OP("Reshape", v.x, INT64S(1, -1));
    v.elements = DIM(v.x, 1);
    for (int64_t length = v.least; length <= v.most; length++) {
        grams g;

        if (!find_grams(op, &v, length, &g))
            continue;
        indexes[n] = eddy__onnx_int64s(op, v.indexes + g.index, g.n);
        counts[n] = count_grams(op, &v, &g);
        counts[n] = weigh(op, &v, &g, counts[n]);
        n++;
    }
    if (n == 0 && eddy__onnx_ok(op))
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "there are no n-grams");
    if (!eddy__onnx_ok(op))
        return;
    y = OP("UnsortedSegmentSum", eddy__onnx_join(op, counts, n, 0),
           eddy__onnx_join(op, indexes, n, 0), INT64(v.width));
    y = eddy__onnx_transpose(op, y, perm, 2);
    GIVE(0, rank < 2 ? OP("Reshape", y, INT64S(-1)) : y);
}

const eddy__onnx_row eddy__onnx_ngrams[] = {
    {"TfIdfVectorizer", 9, EDDY__ONNX_NEWEST, 1, 1, 1, 1, emit_vectorizer},
    {.name = NULL},
};
