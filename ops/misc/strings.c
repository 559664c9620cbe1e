/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops on texts as a whole: StringJoin, ReduceJoin, StringLength, StringUpper,
 * StringLower, StringStrip.
 */
#include "ops/misc/text.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

/* ---- StringJoin ---- */

typedef struct separator {
    const char *text;
    size_t length;
    bool keeps_dims; /* of ReduceJoin */
} separator;

static eddy_status prepare_separator(eddy_infer *infer, bool keeps_dims)
{
    size_t length;
    const char *text = eddy__prepare_text(infer, "separator", &length);
    separator *state = eddy__prepare_state(infer, sizeof *state);

    if (!text || !state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = (separator){text, length, keeps_dims};
    return EDDY_OK;
}

static eddy_status prepare_join(eddy_infer *infer)
{
    return prepare_separator(infer, false);
}

/* The shape of all inputs but scalars, which are repeated. */
static eddy_status find_joined(eddy_kernel *k, eddy_shape *out)
{
    *out = eddy__shape_scalar();
    for (uint32_t i = 0; i < k->node->n_in; i++) {
        const eddy_shape *shape = eddy__in_shape(k, i);

        if (shape->rank == 0)
            continue;
        if (out->rank > 0 && !eddy__shape_equal(out, shape))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "input %u has shape %s, one before it %s; but "
                               "for scalars all must have the same",
                               i, eddy__shape_print(shape).text,
                               eddy__shape_print(out).text);
        *out = *shape;
    }
    return EDDY_OK;
}

static const eddy__string *joined_at(const eddy_kernel *k, uint32_t j,
                                     int64_t i)
{
    return &eddy__in_strings(k, j)[eddy__in_shape(k, j)->rank == 0 ? 0 : i];
}

/* Adds to the length of a text one more part, and what separates it. */
static void add_length(size_t *length, const separator *s,
                       const eddy__string *part)
{
    if (!eddy__add_size(*length, s->length, length) ||
        !eddy__add_size(*length, part->length, length))
        *length = SIZE_MAX;
}

/* Adds a part that is not the first, or is; true if the run is to stop. */
static bool join_part(eddy_kernel *k, const eddy__string *part, bool is_first,
                      eddy__text *text)
{
    const separator *s = eddy__state(k);

    if (!is_first)
        eddy__text_add(text, s->text, s->length);
    eddy__text_add_string(text, part);
    return text->failed ||
           eddy__spent(k, 16 + (int64_t)((s->length + part->length) / 4));
}

static void join_at(eddy_kernel *k, int64_t i, eddy__text *text)
{
    size_t length = 0;

    for (uint32_t j = 0; j < k->node->n_in; j++)
        add_length(&length, eddy__state(k), joined_at(k, j, i));
    eddy__text_need(text, length);
    for (uint32_t j = 0; j < k->node->n_in; j++)
        if (join_part(k, joined_at(k, j, i), j == 0, text))
            return;
}

static eddy_status run_join(eddy_kernel *k)
{
    eddy__text text = eddy__text_begin(k);
    eddy_status status = EDDY_OK;
    eddy_shape shape;
    eddy_tensor *out;

    EDDY_TRY(find_joined(k, &shape));
    EDDY_TRY(eddy__output_strings(k, 0, &shape, &out));
    for (int64_t i = 0; i < out->count && status == EDDY_OK; i++) {
        eddy__text_clear(&text);
        join_at(k, i, &text);
        status = eddy__text_put(k, &text, out, i);
    }
    eddy__text_end(&text);
    return status;
}

static eddy_status infer_join(eddy_infer *infer)
{
    eddy_shape shape = eddy__shape_scalar();
    bool is_known = true;

    for (uint32_t i = 0; i < eddy_infer_inputs(infer); i++) {
        const eddy_shape *in = eddy_infer_input(infer, i);

        is_known = is_known && in->rank >= 0;
        if (in->rank <= 0)
            continue;
        if (shape.rank > 0 && !eddy__shape_merge(&shape, in, &shape))
            return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                                   "input %u has shape %s, one before it %s; "
                                   "but for scalars all must have the same",
                                   i, eddy__shape_print(in).text,
                                   eddy__shape_print(&shape).text);
        if (shape.rank == 0)
            shape = *in;
    }
    if (is_known || shape.rank > 0)
        eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- ReduceJoin ---- */

/* Elements of some dimensions, of which the first goes on first. */
typedef struct walk {
    int32_t rank;
    int64_t dims[EDDY_MAX_RANK], strides[EDDY_MAX_RANK], at[EDDY_MAX_RANK];
    int64_t count, offset;
} walk;

static void add_dim(walk *w, int64_t dim, int64_t stride)
{
    w->dims[w->rank] = dim;
    w->strides[w->rank++] = stride;
    w->count *= dim;
}

static void next(walk *w)
{
    for (int32_t d = 0; d < w->rank; d++) {
        w->offset += w->strides[d];
        if (++w->at[d] < w->dims[d])
            return;
        w->offset -= w->strides[d] * w->dims[d];
        w->at[d] = 0;
    }
}

static int64_t stride_of(const eddy_shape *shape, int32_t axis)
{
    int64_t stride = 1;

    for (int32_t d = axis + 1; d < shape->rank; d++)
        stride *= shape->dims[d];
    return stride;
}

/* The axes as TensorFlow checks them. */
static eddy_status read_axes(eddy_kernel *k, const eddy_shape *of,
                             walk *reduced, uint32_t *out_mask)
{
    const eddy_view axes = eddy__in_view(k, 1);

    for (int64_t i = 0; i < axes.count; i++) {
        int64_t axis = eddy__view_index(&axes, i);

        if (axis < -of->rank || axis >= of->rank)
            return eddy__kfail(
                k, EDDY_OUT_OF_RANGE, EDDY_E_INDEX,
                "axis %" PRId64 " is not in [-%d, %d) of an input of shape %s",
                axis, (int)of->rank, (int)of->rank, eddy__shape_print(of).text);
        axis += axis < 0 ? of->rank : 0;
        if (*out_mask >> axis & 1)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "axis %" PRId64
                               " of an input of shape %s is given twice",
                               axis, eddy__shape_print(of).text);
        *out_mask |= 1u << axis;
        add_dim(reduced, of->dims[axis], stride_of(of, (int32_t)axis));
    }
    return EDDY_OK;
}

static eddy_shape reduced_shape(const eddy_shape *of, uint32_t mask,
                                bool keeps_dims)
{
    eddy_shape shape = {.rank = 0};

    for (int32_t d = 0; d < of->rank; d++)
        if (!(mask >> d & 1))
            shape.dims[shape.rank++] = of->dims[d];
        else if (keeps_dims)
            shape.dims[shape.rank++] = 1;
    return shape;
}

static void join_reduced(eddy_kernel *k, const eddy__string *from,
                         walk *reduced, eddy__text *text)
{
    size_t length = 0;

    for (int64_t i = 0; i < reduced->count && !eddy__spent_at(k, i);
         i++, next(reduced))
        add_length(&length, eddy__state(k), from + reduced->offset);
    if (eddy__gave_up(k))
        return;
    eddy__text_need(text, length);
    for (int64_t i = 0; i < reduced->count; i++, next(reduced))
        if (join_part(k, from + reduced->offset, i == 0, text))
            return;
}

static eddy_status join_all(eddy_kernel *k, walk *kept, walk *reduced,
                            eddy_tensor *out)
{
    const eddy__string *from = eddy__in_strings(k, 0);
    eddy__text text = eddy__text_begin(k);
    eddy_status status = EDDY_OK;

    for (int64_t i = 0; i < out->count && status == EDDY_OK; i++, next(kept)) {
        eddy__text_clear(&text);
        join_reduced(k, from + kept->offset, reduced, &text);
        status = eddy__text_put(k, &text, out, i);
    }
    eddy__text_end(&text);
    return status;
}

static eddy_status run_reduce(eddy_kernel *k)
{
    const separator *s = eddy__state(k);
    const eddy_shape *of = eddy__in_shape(k, 0);
    walk kept = {.count = 1}, reduced = {.count = 1};
    uint32_t mask = 0;
    eddy_shape shape;
    eddy_tensor *out;

    EDDY_TRY(read_axes(k, of, &reduced, &mask));
    for (int32_t d = of->rank - 1; d >= 0; d--)
        if (!(mask >> d & 1))
            add_dim(&kept, of->dims[d], stride_of(of, d));
    shape = reduced_shape(of, mask, s->keeps_dims);
    EDDY_TRY(eddy__output_strings(k, 0, &shape, &out));
    return join_all(k, &kept, &reduced, out);
}

static eddy_status prepare_reduce(eddy_infer *infer)
{
    return prepare_separator(infer, eddy__infer_bool(infer, "keep_dims"));
}

static eddy_status infer_reduce(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    const bool keeps_dims = eddy__infer_bool(infer, "keep_dims");
    int64_t axes[EDDY_MAX_RANK];
    uint32_t mask = 0;
    eddy_shape shape;
    int32_t n;

    if (of->rank < 0)
        return EDDY_OK;
    if (!eddy__infer_integers(infer, 1, axes, EDDY_MAX_RANK, &n)) {
        if (keeps_dims) {
            shape = eddy__shape_of_rank(of->rank);
            eddy_infer_set_output(infer, 0, &shape);
        }
        return EDDY_OK;
    }
    for (int32_t i = 0; i < n; i++) {
        if (axes[i] < -of->rank || axes[i] >= of->rank)
            return EDDY_OK;
        mask |= 1u << (axes[i] < 0 ? axes[i] + of->rank : axes[i]);
    }
    shape = reduced_shape(of, mask, keeps_dims);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- StringLength ---- */

/* Bytes that are looked at between two questions whether to stop. */
#define COUNTED ((size_t)1 << 20)

static eddy_status count_characters(eddy_kernel *k, const eddy__string *s,
                                    int64_t *out_n)
{
    *out_n = 0;
    for (size_t at = 0; at < s->length; at += COUNTED) {
        const size_t left = s->length - at;
        const size_t n = left < COUNTED ? left : COUNTED;

        *out_n += eddy__text_utf8_count(s->data + at, n);
        EDDY_TRY(eddy__go_on(k, 16 + (int64_t)(n / 2)));
    }
    return EDDY_OK;
}

/* Does a string attribute have that value? */
static bool is_text(const eddy_infer *infer, const char *name, const char *text)
{
    eddy_attr attr;

    return eddy_infer_attr(infer, name, &attr) &&
           attr.as.strings[0].length == strlen(text) &&
           memcmp(attr.as.strings[0].data, text, strlen(text)) == 0;
}

static eddy_status run_length(eddy_kernel *k)
{
    const bool *counts_characters = eddy__state(k);
    const eddy__string *strings = eddy__in_strings(k, 0);
    const int64_t n = eddy__in_count(k, 0);
    void *out;

    for (int64_t i = 0; i < n; i++)
        if (strings[i].length > INT32_MAX)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                               "a string of %zu bytes is too long for int32",
                               strings[i].length);
    EDDY_TRY(eddy__output(k, 0, EDDY_INT32, eddy__in_shape(k, 0), &out));
    for (int64_t i = 0; i < n && !eddy__spent_at(k, i); i++) {
        int64_t length = (int64_t)strings[i].length;

        if (*counts_characters)
            EDDY_TRY(count_characters(k, &strings[i], &length));
        ((int32_t *)out)[i] = (int32_t)length;
    }
    return EDDY_OK;
}

static eddy_status prepare_length(eddy_infer *infer)
{
    bool *state = eddy__prepare_state(infer, sizeof *state);

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = is_text(infer, "unit", "UTF8_CHAR");
    if (*state || is_text(infer, "unit", "BYTE"))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "unit must be 'BYTE' or 'UTF8_CHAR'");
}

/* ---- letters and spaces ---- */

/* TensorFlow without an encoding knows the letters of ASCII. */
static eddy_status change_case(eddy_kernel *k, char first, char to)
{
    const bool *is_utf8 = eddy__state(k);
    const eddy__string *from = eddy__in_strings(k, 0);
    eddy_tensor *out;

    EDDY_TRY(eddy__output_strings(k, 0, eddy__in_shape(k, 0), &out));
    for (int64_t i = 0; i < out->count; i++) {
        eddy__string *s = (eddy__string *)out->data + i;

        EDDY_TRY(eddy__set_text(k, out, i, from[i].data, from[i].length));
        for (size_t j = 0; j < s->length && !eddy__spent_at(k, (int64_t)j);
             j++) {
            if (*is_utf8 && (unsigned char)s->data[j] > 127)
                return eddy__kfail(k, EDDY_UNIMPLEMENTED, EDDY_E_VALUE,
                                   "element %" PRId64 " has letters beyond "
                                   "ASCII, whose cases are not known here",
                                   i);
            if (s->data[j] >= first && s->data[j] < first + 26)
                s->data[j] = (char)(s->data[j] - first + to);
        }
    }
    return EDDY_OK;
}

static eddy_status run_upper(eddy_kernel *k)
{
    return change_case(k, 'a', 'A');
}

static eddy_status run_lower(eddy_kernel *k)
{
    return change_case(k, 'A', 'a');
}

static eddy_status prepare_case(eddy_infer *infer)
{
    bool *state = eddy__prepare_state(infer, sizeof *state);

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = is_text(infer, "encoding", "utf-8");
    if (*state || is_text(infer, "encoding", ""))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "encoding must be '' or 'utf-8'");
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static eddy_status run_strip(eddy_kernel *k)
{
    const eddy__string *from = eddy__in_strings(k, 0);
    eddy_tensor *out;

    EDDY_TRY(eddy__output_strings(k, 0, eddy__in_shape(k, 0), &out));
    for (int64_t i = 0; i < out->count; i++) {
        size_t first = 0, end = from[i].length;

        EDDY_TRY(eddy__go_on(k, 16));
        while (first < end && is_space(from[i].data[first]) &&
               !eddy__spent_at(k, (int64_t)first))
            first++;
        while (end > first && is_space(from[i].data[end - 1]) &&
               !eddy__spent_at(k, (int64_t)end))
            end--;
        if (end > first)
            EDDY_TRY(
                eddy__set_text(k, out, i, from[i].data + first, end - first));
    }
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("StringJoin", .inputs = "inputs: N * string",
                 .outputs = "output: string",
                 .attrs = "N: int >= 0, separator: string = ''",
                 .infer = infer_join, .kernel = run_join,
                 .prepare = prepare_join, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The texts of all inputs one behind the other."),
    EDDY__OP_ROW("ReduceJoin",
                 .inputs = "inputs: string, reduction_indices: int32",
                 .outputs = "output: string",
                 .attrs = "keep_dims: bool = false, separator: string = ''",
                 .infer = infer_reduce, .kernel = run_reduce,
                 .prepare = prepare_reduce, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The texts along some dimensions one behind the other, "
                        "those of the first dimension that is named first."),
    EDDY__OP_ROW("StringLength", .inputs = "input: string",
                 .outputs = "output: int32", .attrs = "unit: string = 'BYTE'",
                 .infer = eddy__infer_unchanged, .kernel = run_length,
                 .prepare = prepare_length, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "How many bytes or characters each text has."),
    EDDY__OP_ROW("StringUpper", .inputs = "input: string",
                 .outputs = "output: string", .attrs = "encoding: string = ''",
                 .infer = eddy__infer_unchanged, .kernel = run_upper,
                 .prepare = prepare_case, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The texts in capital letters of ASCII."),
    EDDY__OP_ROW("StringLower", .inputs = "input: string",
                 .outputs = "output: string", .attrs = "encoding: string = ''",
                 .infer = eddy__infer_unchanged, .kernel = run_lower,
                 .prepare = prepare_case, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The texts in small letters of ASCII."),
    EDDY__OP_ROW("StringStrip", .inputs = "input: string",
                 .outputs = "output: string", .infer = eddy__infer_unchanged,
                 .kernel = run_strip, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The texts without white space at their ends."),
};

const eddy__op_table eddy__strings_ops = {specs, NULL,
                                          sizeof specs / sizeof *specs};
