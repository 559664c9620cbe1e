/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UnsortedSegmentJoin: the texts of each segment put together.
 *
 * A chain of rows for each segment says which those are, in their order.
 */
#include "ops/misc/scratch.h"
#include "ops/misc/text.h"
#include "ops/ops.h"

enum { TEXTS, IDS, SEGMENTS };

typedef struct separator {
    const char *data;
    size_t length;
} separator;

typedef struct joining {
    eddy_kernel *kernel;
    int64_t n_rows, n_segments, width; /* texts a row */
    int64_t *first; /* of each segment its first row, or -1 */
    int64_t *next;  /* of each row the next of its segment, or -1 */
    eddy_shape shape;
} joining;

static eddy_status read_shapes(joining *j)
{
    eddy_kernel *k = j->kernel;
    const eddy_shape *texts = eddy__in_shape(k, TEXTS);
    const eddy_shape *ids = eddy__in_shape(k, IDS);
    bool fits = ids->rank > 0 && ids->rank <= texts->rank;

    for (int32_t d = 0; fits && d < ids->rank; d++)
        fits = ids->dims[d] == texts->dims[d];
    if (!fits)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "segment ids of shape %s do not fit texts of shape "
                           "%s",
                           eddy__shape_print(ids).text,
                           eddy__shape_print(texts).text);
    EDDY_TRY(eddy__index_argument(k, SEGMENTS, "num_segments", &j->n_segments));
    if (j->n_segments < 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "num_segments must not be negative");
    j->n_rows = eddy__in_count(k, IDS);
    j->width = 1;
    j->shape = (eddy_shape){.rank = 1, .dims = {j->n_segments}};
    for (int32_t d = ids->rank; d < texts->rank; d++) {
        j->shape.dims[j->shape.rank++] = texts->dims[d];
        j->width *= texts->dims[d];
    }
    return EDDY_OK;
}

/* From the last row to the first, so that each comes before those behind. */
static eddy_status chain_rows(joining *j)
{
    eddy_kernel *k = j->kernel;
    const eddy_view ids = eddy__in_view(k, IDS);

    for (int64_t i = 0; i < j->n_segments; i++) {
        j->first[i] = -1;
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    for (int64_t i = j->n_rows; i-- > 0;) {
        const int64_t id = eddy__view_index(&ids, i);

        if (id < 0 || id >= j->n_segments)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                               "segment_ids%s = %" PRId64
                               " is not in [0, %" PRId64 ")",
                               eddy__position(eddy__in_shape(k, IDS), i).text,
                               id, j->n_segments);
        j->next[i] = j->first[id];
        j->first[id] = i;
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    return EDDY_OK;
}

/* As TensorFlow, no separator stands behind nothing but empty texts. */
static eddy_status join(const joining *j, int64_t segment, int64_t column,
                        eddy__text *text)
{
    const separator *s = eddy__state(j->kernel);
    const eddy__string *texts = eddy__in_strings(j->kernel, TEXTS);

    eddy__text_clear(text);
    for (int64_t i = j->first[segment]; i >= 0; i = j->next[i]) {
        const eddy__string *from = &texts[i * j->width + column];

        if (text->length > 0)
            eddy__text_add(text, s->data, s->length);
        eddy__text_add_string(text, from);
        EDDY_TRY(eddy__go_on(j->kernel,
                             8 + (int64_t)((from->length + s->length) / 16)));
    }
    return EDDY_OK;
}

static eddy_status put_segment(const joining *j, int64_t segment,
                               eddy__text *text, eddy_tensor *out)
{
    for (int64_t i = 0; i < j->width; i++) {
        EDDY_TRY(join(j, segment, i, text));
        EDDY_TRY(eddy__text_put(j->kernel, text, out, segment * j->width + i));
        EDDY_TRY(eddy__go_on(j->kernel, 16));
    }
    return eddy__go_on(j->kernel, 4);
}

static eddy_status put_all(const joining *j)
{
    eddy_kernel *k = j->kernel;
    eddy__text text = eddy__text_begin(k);
    eddy_status status = EDDY_OK;
    eddy_tensor *out;

    EDDY_TRY(eddy__output_strings(k, 0, &j->shape, &out));
    for (int64_t i = 0; i < j->n_segments && status == EDDY_OK; i++)
        status = put_segment(j, i, &text, out);
    eddy__text_end(&text);
    return status;
}

static eddy_status run_join(eddy_kernel *k)
{
    joining j = {.kernel = k};
    eddy_tensor *rows = NULL, *segments = NULL;
    eddy_status status;

    EDDY_TRY(read_shapes(&j));
    status = eddy__scratch(k, EDDY_INT64, j.n_rows, &rows);
    if (status == EDDY_OK)
        status = eddy__scratch(k, EDDY_INT64, j.n_segments, &segments);
    if (status == EDDY_OK) {
        j.next = rows->data;
        j.first = segments->data;
        status = chain_rows(&j);
    }
    if (status == EDDY_OK)
        status = put_all(&j);
    eddy__scratch_free(k, segments);
    eddy__scratch_free(k, rows);
    return status;
}

static eddy_status prepare_join(eddy_infer *infer)
{
    separator s = {.data = NULL}, *state;

    s.data = eddy__prepare_text(infer, "separator", &s.length);
    state = eddy__prepare_state(infer, sizeof *state);
    if (!s.data || !state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = s;
    return EDDY_OK;
}

static eddy_status infer_join(eddy_infer *infer)
{
    const eddy_shape *texts = eddy_infer_input(infer, TEXTS);
    const eddy_shape *ids = eddy_infer_input(infer, IDS);
    eddy_shape shape = eddy__shape_of_rank(1);
    int64_t n;

    if (texts->rank < 0 || ids->rank < 0)
        return EDDY_OK;
    if (eddy__infer_constant_int(infer, SEGMENTS, 0, &n) && n >= 0)
        shape.dims[0] = n;
    for (int32_t d = ids->rank > 0 ? ids->rank : 1; d < texts->rank; d++)
        shape.dims[shape.rank++] = texts->dims[d];
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("UnsortedSegmentJoin",
                 .inputs = "inputs: string, segment_ids: Tindices, "
                           "num_segments: Tnumsegments",
                 .outputs = "output: string",
                 .attrs = "separator: string = '', Tindices: index, "
                          "Tnumsegments: index = int32",
                 .infer = infer_join, .kernel = run_join,
                 .prepare = prepare_join,
                 .doc = "The texts of each segment, one behind the other, with "
                        "a separator between them."),
};

const eddy__op_table eddy__string_segments_ops = {specs, NULL,
                                                  sizeof specs / sizeof *specs};
