/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Einsum: sums of products after an equation such as "bij,bjk->bik".
 *
 * Each character of a subscript names a dimension; "..." stands for any number
 * of them, which are broadcast.  What the result does not name is summed over;
 * a name twice in a subscript is a diagonal.
 */
#include "ops/linalg/contraction.h"
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

#define MAX_INPUTS 2

/* The dimension of a label of which nothing is known yet. */
#define UNSEEN (-2)

/* ---- equations ---- */

/* Labels in order; those of the ellipsis, if any, come before `ellipsis`. */
typedef struct subscript {
    int32_t n;
    int32_t ellipsis; /* -1: none */
    uint8_t labels[EDDY_MAX_RANK];
} subscript;

typedef struct equation {
    char text[64]; /* for messages; cut if it is longer */
    int32_t n_inputs;
    subscript in[MAX_INPUTS], out;
    int32_t n_labels; /* those of inputs, beside an ellipsis */
    char names[MAX_INPUTS * EDDY_MAX_RANK];
} equation;

/* Why an equation or its inputs are refused. */
typedef struct refusal {
    eddy_detail detail;
    const char *words;
} refusal;

static int32_t find_name(const equation *e, char name)
{
    for (int32_t i = 0; i < e->n_labels; i++)
        if (e->names[i] == name)
            return i;
    return -1;
}

/* A subscript with one ellipsis at most, and no other periods. */
static bool check_periods(const char *text, size_t n, refusal *why)
{
    size_t periods = 0, first = 0;

    for (size_t i = 0; i < n; i++) {
        if (text[i] != '.')
            continue;
        first = periods == 0 ? i : first;
        periods++;
    }
    if (periods == 0 || (periods == 3 && memcmp(text + first, "...", 3) == 0))
        return true;
    *why = (refusal){EDDY_E_ATTR_VALUE,
                     "a subscript has periods other than one ellipsis (...)"};
    return false;
}

static bool read_subscript(equation *e, const char *text, size_t n,
                           bool is_input, subscript *out, refusal *why)
{
    *out = (subscript){.ellipsis = -1};
    if (!check_periods(text, n, why))
        return false;
    for (size_t i = 0; i < n; i++) {
        int32_t label;

        if (text[i] == '.') {
            out->ellipsis = out->n;
            i += 2;
            continue;
        }
        label = find_name(e, text[i]);
        if (label < 0 && !is_input) {
            *why = (refusal){EDDY_E_ATTR_VALUE,
                             "the output has a label that no input has"};
            return false;
        }
        if (out->n == EDDY_MAX_RANK) {
            *why = (refusal){EDDY_E_RANK, "a subscript has more than 8 labels"};
            return false;
        }
        if (label < 0) {
            label = e->n_labels++;
            e->names[label] = text[i];
        }
        out->labels[out->n++] = (uint8_t)label;
    }
    return true;
}

/* Where the only "->" is. */
static bool find_arrow(const eddy_string *text, size_t *out_at, refusal *why)
{
    size_t n = 0;

    for (size_t i = 0; i + 1 < text->length; i++) {
        if (memcmp(text->data + i, "->", 2) != 0)
            continue;
        *out_at = i++;
        n++;
    }
    if (n == 1)
        return true;
    *why = (refusal){EDDY_E_ATTR_VALUE, "exactly one '->' is wanted"};
    return false;
}

static bool read_equation(const eddy_string *text, equation *e, refusal *why)
{
    size_t arrow = 0, begin = 0;

    *e = (equation){.n_inputs = 0};
    memcpy(e->text, text->data,
           text->length < sizeof e->text ? text->length : sizeof e->text - 1);
    if (!find_arrow(text, &arrow, why))
        return false;
    for (size_t i = 0; i <= arrow; i++) {
        if (i < arrow && text->data[i] != ',')
            continue;
        if (e->n_inputs == MAX_INPUTS) {
            *why = (refusal){EDDY_E_ATTR_VALUE, "1 or 2 inputs are wanted"};
            return false;
        }
        if (!read_subscript(e, text->data + begin, i - begin, true,
                            &e->in[e->n_inputs++], why))
            return false;
        begin = i + 1;
    }
    return read_subscript(e, text->data + arrow + 2, text->length - arrow - 2,
                          false, &e->out, why);
}

/* ---- dimensions ---- */

/*
 * What each label stands for.  Dimensions of the ellipsis are counted from
 * their end and have the labels after those of the equation.
 */
typedef struct meaning {
    int64_t dims[EDDY__LABELS];
    int32_t n_broadcast; /* dimensions of the ellipsis */
    bool is_whole;       /* all ranks are known */
} meaning;

/* Label of dimension `d` of a tensor with that subscript. */
static uint8_t label_at(const equation *e, const subscript *s, int32_t rank,
                        int32_t d)
{
    const int32_t more = s->ellipsis < 0 ? 0 : rank - s->n;

    if (s->ellipsis < 0 || d < s->ellipsis)
        return s->labels[d];
    if (d >= s->ellipsis + more)
        return s->labels[d - more];
    return (uint8_t)(e->n_labels + s->ellipsis + more - 1 - d);
}

static bool join_dims(int64_t *into, int64_t dim, bool broadcasts)
{
    if (*into == UNSEEN || *into == dim || (broadcasts && *into == 1)) {
        *into = dim;
        return true;
    }
    if (dim < 0) /* an unknown one says less than what is there */
        return true;
    if (*into < 0 && !(broadcasts && dim == 1)) {
        *into = dim;
        return true;
    }
    return *into < 0 || (broadcasts && dim == 1);
}

static bool read_input(const equation *e, const subscript *s,
                       const eddy_shape *shape, meaning *m, refusal *why)
{
    if (shape->rank < 0) {
        m->is_whole = false;
        return true;
    }
    if (shape->rank < s->n || (s->ellipsis < 0 && shape->rank > s->n)) {
        *why = (refusal){EDDY_E_RANK,
                         "an input has not the rank that its subscript says"};
        return false;
    }
    if (s->ellipsis >= 0 && shape->rank - s->n > m->n_broadcast)
        m->n_broadcast = shape->rank - s->n;
    for (int32_t d = 0; d < shape->rank; d++) {
        const uint8_t label = label_at(e, s, shape->rank, d);

        if (join_dims(&m->dims[label], shape->dims[d], label >= e->n_labels))
            continue;
        *why =
            (refusal){EDDY_E_SHAPE, "one label stands for dimensions that are "
                                    "not the same"};
        return false;
    }
    return true;
}

/* The shape of the output, as far as those of the inputs are known. */
static bool find_shape(const equation *e, const eddy_shape *const *inputs,
                       meaning *m, eddy_shape *out, refusal *why)
{
    *m = (meaning){.is_whole = true};
    for (size_t i = 0; i < sizeof m->dims / sizeof m->dims[0]; i++)
        m->dims[i] = UNSEEN;
    for (int32_t i = 0; i < e->n_inputs; i++)
        if (!read_input(e, &e->in[i], inputs[i], m, why))
            return false;
    *out = eddy__shape_unknown();
    if (e->out.ellipsis < 0 && m->n_broadcast > 0) {
        *why =
            (refusal){EDDY_E_SHAPE, "the output has no ellipsis (...) for the "
                                    "dimensions of that of an input"};
        return false;
    }
    if (e->out.ellipsis >= 0 && !m->is_whole)
        return true;
    if (e->out.n + m->n_broadcast > EDDY_MAX_RANK) {
        *why = (refusal){EDDY_E_RANK, "the output has more than 8 dimensions"};
        return false;
    }
    out->rank = e->out.n + m->n_broadcast;
    for (int32_t d = 0; d < out->rank; d++) {
        out->dims[d] = m->dims[label_at(e, &e->out, out->rank, d)];
        if (out->dims[d] == UNSEEN)
            out->dims[d] = -1;
    }
    return true;
}

#define BAD_EQUATION "equation '%s': %s"
#define BAD_INPUTS "equation '%s' with inputs of shapes %s%s%s: %s"

/* ---- the kernel ---- */

/*
 * The input as an operand: labels that are used, from 0, and no dimension of 1
 * that stands for a longer one.
 */
static eddy__labelled operand_of(const eddy_kernel *k, uint32_t i,
                                 const equation *e, const meaning *m)
{
    const eddy_shape *shape = eddy__in_shape(k, i);
    uint8_t labels[EDDY_MAX_RANK];
    eddy__labelled all, operand;

    for (int32_t d = 0; d < shape->rank; d++)
        labels[d] = label_at(e, &e->in[i], shape->rank, d);
    all = eddy__labelled_tensor(eddy__in_elements(k, i), shape, labels);
    operand = all;
    operand.rank = 0;
    for (int32_t d = 0; d < all.rank; d++) {
        if (all.dims[d] != m->dims[all.labels[d]])
            continue;
        operand.labels[operand.rank] = all.labels[d];
        operand.dims[operand.rank] = all.dims[d];
        operand.steps[operand.rank++] = all.steps[d];
    }
    return operand;
}

static eddy_status run_einsum(eddy_kernel *k)
{
    const equation *e = eddy__state(k);
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    const eddy_shape *inputs[MAX_INPUTS] = {NULL, NULL};
    eddy__labelled operands[MAX_INPUTS], out;
    uint8_t labels[EDDY_MAX_RANK] = {0};
    eddy_shape shape = {.rank = 0};
    refusal why;
    meaning m;
    void *data;

    for (int32_t i = 0; i < e->n_inputs; i++)
        inputs[i] = eddy__in_shape(k, (uint32_t)i);
    if (!find_shape(e, inputs, &m, &shape, &why))
        return eddy__kfail(
            k, EDDY_INVALID_ARGUMENT, why.detail, BAD_INPUTS, e->text,
            eddy__shape_print(inputs[0]).text, e->n_inputs > 1 ? ", " : "",
            e->n_inputs > 1 ? eddy__shape_print(inputs[1]).text : "",
            why.words);
    EDDY_TRY(eddy__output(k, 0, dtype, &shape, &data));
    for (int32_t i = 0; i < e->n_inputs; i++)
        operands[i] = operand_of(k, (uint32_t)i, e, &m);
    for (int32_t d = 0; d < shape.rank; d++)
        labels[d] = label_at(e, &e->out, shape.rank, d);
    out = eddy__labelled_tensor(NULL, &shape, labels);
    return eddy__contract(k, dtype, operands, e->n_inputs, &out, data);
}

static eddy_status read_attr(eddy_infer *infer, equation *e)
{
    eddy_attr attr;
    refusal why;

    if (!eddy_infer_attr(infer, "equation", &attr))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT,
                               EDDY_E_ATTR_MISSING, "there is no equation");
    if (!read_equation(&attr.as.strings[0], e, &why))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, why.detail,
                               BAD_EQUATION, e->text, why.words);
    if ((uint32_t)e->n_inputs == eddy_infer_inputs(infer))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                           "equation '%s' has %d inputs, the node %" PRIu32,
                           e->text, e->n_inputs, eddy_infer_inputs(infer));
}

static eddy_status infer_einsum(eddy_infer *infer)
{
    const eddy_shape *inputs[MAX_INPUTS] = {NULL, NULL};
    equation e = {.n_inputs = 0};
    eddy_shape shape;
    refusal why;
    meaning m;

    EDDY_TRY(read_attr(infer, &e));
    for (int32_t i = 0; i < e.n_inputs; i++)
        inputs[i] = eddy_infer_input(infer, (uint32_t)i);
    if (!find_shape(&e, inputs, &m, &shape, &why))
        return eddy_infer_fail(
            infer, EDDY_INVALID_ARGUMENT, why.detail, BAD_INPUTS, e.text,
            eddy__shape_print(inputs[0]).text, e.n_inputs > 1 ? ", " : "",
            e.n_inputs > 1 ? eddy__shape_print(inputs[1]).text : "", why.words);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status prepare_einsum(eddy_infer *infer)
{
    equation *e = eddy__prepare_state(infer, sizeof *e);

    if (!e)
        return EDDY_RESOURCE_EXHAUSTED;
    return read_attr(infer, e);
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "Einsum", .inputs = "inputs: N * T", .outputs = "output: T",
        .attrs =
            "equation: string, N: int >= 1, T: {float, int32, int64, complex}",
        .infer = infer_einsum, .kernel = run_einsum, .prepare = prepare_einsum,
        .flags = EDDY_OP_HEAVY,
        .doc =
            "The sums of products that an equation says, such as 'ij,jk->ik'."),
};

const eddy__op_table eddy__einsum_ops = {specs, NULL,
                                         sizeof specs / sizeof *specs};
