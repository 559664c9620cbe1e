/* SPDX-License-Identifier: Apache-2.0 */
/* Select and SelectV2: of two tensors, element by element, one or the other. */
#include "ops/array/broadcast.h"
#include "ops/math/elements.h"
#include "ops/math/strip.h"
#include "ops/ops.h"

/* Inputs. */
enum { CONDITION, THEN, ELSE };

/* By a mask, of which compilers make wider vectors than of a choice. */
#define PICK(type)                                                             \
    static inline type pick_##type(uint8_t condition, type x, type y)          \
    {                                                                          \
        const type mask = (type)(0 - (type)(condition != 0));                  \
                                                                               \
        return (type)((x & mask) | (y & (type)~mask));                         \
    }

PICK(uint8_t)
PICK(uint16_t)
PICK(uint32_t)
PICK(uint64_t)

static inline eddy__string pick_eddy__string(uint8_t condition, eddy__string x,
                                             eddy__string y)
{
    return condition ? x : y;
}

/* Conditions that are not repeated take a loop without branches. */
#define CHOOSE_IN(target, choose, type)                                        \
    target static void choose##_##type(const eddy__choice *c)                  \
    {                                                                          \
        type *out = c->out;                                                    \
        const type *then = c->then, *otherwise = c->otherwise;                 \
        const uint8_t *condition = c->condition;                               \
        const int64_t s = c->step_condition, t = c->step_then;                 \
        const int64_t e = c->step_otherwise;                                   \
        const type first = then[0], other = otherwise[0];                      \
                                                                               \
        if (s == 1 && t == 1 && e == 1)                                        \
            EDDY__FOR_EACH(                                                    \
                i, c->n,                                                       \
                out[i] = pick_##type(condition[i], then[i], otherwise[i]));    \
        else if (s == 1 && t == 1)                                             \
            EDDY__FOR_EACH(                                                    \
                i, c->n, out[i] = pick_##type(condition[i], then[i], other));  \
        else if (s == 1 && e == 1)                                             \
            EDDY__FOR_EACH(                                                    \
                i, c->n,                                                       \
                out[i] = pick_##type(condition[i], first, otherwise[i]));      \
        else                                                                   \
            for (int64_t i = 0; i < c->n; i++)                                 \
                out[i] = condition[i * s] ? then[i * t] : otherwise[i * e];    \
    }
#define CHOOSE(type)                                                           \
    CHOOSE_IN(, choose, type)                                                  \
    CHOOSE_IN(EDDY__WIDE, wide, type)

CHOOSE(uint8_t)
CHOOSE(uint16_t)
CHOOSE(uint32_t)
CHOOSE(uint64_t)
CHOOSE(eddy__string)
CHOOSE_IN(EDDY__WIDEST, widest, uint32_t)
CHOOSE_IN(EDDY__WIDEST, widest, uint64_t)

static void choose_narrowly(size_t size, const eddy__choice *c)
{
    switch (size) {
    case 1:
        choose_uint8_t(c);
        break;
    case 2:
        choose_uint16_t(c);
        break;
    case 4:
        choose_uint32_t(c);
        break;
    case 8:
        choose_uint64_t(c);
        break;
    default:
        choose_eddy__string(c);
        break;
    }
}

static void choose_widely(size_t size, const eddy__choice *c, bool is_widest)
{
    switch (size) {
    case 1:
        wide_uint8_t(c);
        break;
    case 2:
        wide_uint16_t(c);
        break;
    case 4:
        (is_widest ? widest_uint32_t : wide_uint32_t)(c);
        break;
    case 8:
        (is_widest ? widest_uint64_t : wide_uint64_t)(c);
        break;
    default:
        wide_eddy__string(c);
        break;
    }
}

void eddy__choose(size_t size, const eddy__choice *c)
{
    const eddy__vectors vectors = eddy__cpu_vectors();

    if (c->n == 0)
        return;
    if (vectors >= EDDY__VECTORS_AVX2)
        choose_widely(size, c, vectors >= EDDY__VECTORS_AVX512);
    else
        choose_narrowly(size, c);
}

/* Elements between two questions whether to stop. */
#define PART ((int64_t)1 << 16)

/* A row in parts; false if the rest is to be left.  `k` may be NULL. */
static bool choose_row(eddy_kernel *k, size_t size, eddy__choice c)
{
    const int64_t n = c.n;

    for (int64_t at = 0; at < n; at += PART) {
        c.n = n - at < PART ? n - at : PART;
        if (k && eddy__spent(k, c.n))
            return false;
        eddy__choose(size, &c);
        c.out = (unsigned char *)c.out + (size_t)c.n * size;
        c.condition += c.n * c.step_condition;
        c.then =
            (const unsigned char *)c.then + (size_t)(c.n * c.step_then) * size;
        c.otherwise = (const unsigned char *)c.otherwise +
                      (size_t)(c.n * c.step_otherwise) * size;
    }
    return true;
}

/* Takes over the buffer of an input of the output's shape that is not needed.
 */
static eddy_status make_output(eddy_kernel *k, const eddy_shape *shape,
                               void **out)
{
    const eddy_dtype dtype = eddy__in_dtype(k, THEN);
    unsigned char *elements;

    if (eddy_dtype_size(dtype) == 0) {
        EDDY_TRY(eddy__output_elements(k, 0, dtype, shape, &elements));
        *out = elements;
        return EDDY_OK;
    }
    for (uint32_t i = THEN; i <= ELSE; i++)
        if (eddy__in(k, i)->kind == EDDY__TENSOR && eddy__in(k, i)->uses == 1 &&
            eddy__shape_equal(eddy__in_shape(k, i), shape))
            return eddy__output_reusing(k, 0, i, dtype, shape, out);
    return eddy__output(k, 0, dtype, shape, out);
}

/* `condition` stands for the shape of input 0, which may lack dimensions. */
static eddy_status run_elements(eddy_kernel *k, const eddy_shape *out,
                                const eddy_shape *condition)
{
    const eddy_shape *const shapes[] = {condition, eddy__in_shape(k, THEN),
                                        eddy__in_shape(k, ELSE)};
    const size_t size = eddy__element_size(eddy__in_dtype(k, THEN));
    const unsigned char *in[] = {eddy__in_elements(k, CONDITION),
                                 eddy__in_elements(k, THEN),
                                 eddy__in_elements(k, ELSE)};
    eddy__broadcast walk;
    eddy__choice c;
    unsigned char *to;
    int64_t count;

    if (!eddy__shape_count(out, size, &count))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "the size of a result of shape %s overflows",
                           eddy__shape_print(out).text);
    EDDY_TRY(make_output(k, out, &c.out));
    if (count == 0)
        return EDDY_OK;
    eddy__broadcast_init(&walk, out, shapes, 3);
    to = c.out;
    c.n = walk.dims[walk.rank - 1];
    c.step_condition = walk.strides[0][walk.rank - 1];
    c.step_then = walk.strides[1][walk.rank - 1];
    c.step_otherwise = walk.strides[2][walk.rank - 1];
    do {
        c.out = to;
        c.condition = in[0] + walk.offsets[0];
        c.then = in[1] + (size_t)walk.offsets[1] * size;
        c.otherwise = in[2] + (size_t)walk.offsets[2] * size;
        if (!choose_row(eddy__asker(k, eddy__in_dtype(k, THEN)), size, c))
            break;
        to += (size_t)c.n * size;
    } while (eddy__broadcast_next(&walk, 1));
    return eddy_dtype_size(eddy__in_dtype(k, THEN)) == 0
               ? eddy__elements_done(k, 0)
               : EDDY_OK;
}

/* Three scalars, as in most loops; false if they are not. */
static inline bool run_scalars(eddy_kernel *k)
{
    const eddy__value *condition = eddy__in(k, CONDITION);
    const eddy__value *t = eddy__in(k, THEN), *e = eddy__in(k, ELSE);
    eddy__value *out;

    if (condition->kind != EDDY__SCALAR || t->kind != EDDY__SCALAR ||
        e->kind != EDDY__SCALAR)
        return false;
    out = eddy__out(k, 0);
    eddy__out_scalar(out, (eddy_dtype)t->dtype,
                     condition->as.b ? t->as.bits : e->as.bits);
    return true;
}

static eddy_status run_select_v2(eddy_kernel *k)
{
    const eddy__value *condition = eddy__in(k, CONDITION);
    eddy_shape branches, out;

    if (run_scalars(k))
        return EDDY_OK;
    if (!eddy__shape_broadcast(eddy__in_shape(k, THEN), eddy__in_shape(k, ELSE),
                               &branches) ||
        !eddy__shape_broadcast(eddy__in_shape(k, CONDITION), &branches, &out))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "a condition of shape %s and branches of shapes %s "
                           "and %s do not broadcast",
                           eddy__shape_print(eddy__in_shape(k, 0)).text,
                           eddy__shape_print(eddy__in_shape(k, 1)).text,
                           eddy__shape_print(eddy__in_shape(k, 2)).text);
    if (condition->kind == EDDY__SCALAR) {
        const uint32_t chosen = condition->as.b ? THEN : ELSE;

        if (eddy__shape_equal(eddy__in_shape(k, chosen), &out)) {
            eddy__output_forward(k, 0, chosen);
            return EDDY_OK;
        }
    }
    return run_elements(k, &out, eddy__in_shape(k, CONDITION));
}

/* May a condition of that shape choose within branches of shape `s`? */
static bool condition_fits(const eddy_shape *condition, const eddy_shape *s)
{
    return eddy__shape_compatible(condition, s) || condition->rank <= 0 ||
           s->rank < 0 ||
           (condition->rank == 1 && s->rank > 0 &&
            (condition->dims[0] == s->dims[0] || condition->dims[0] < 0 ||
             s->dims[0] < 0));
}

static eddy_status run_select(eddy_kernel *k)
{
    const eddy__value *condition = eddy__in(k, CONDITION);
    const eddy_shape *given = eddy__in_shape(k, CONDITION);
    const eddy_shape *branch = eddy__in_shape(k, THEN);
    eddy_shape spread;

    if (run_scalars(k))
        return EDDY_OK;
    if (!eddy__shape_equal(branch, eddy__in_shape(k, ELSE)) ||
        !condition_fits(given, branch))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "branches of shapes %s and %s, which must be the "
                           "same, can't be chosen by a condition of shape %s",
                           eddy__shape_print(branch).text,
                           eddy__shape_print(eddy__in_shape(k, ELSE)).text,
                           eddy__shape_print(given).text);
    if (condition->kind == EDDY__SCALAR) {
        eddy__output_forward(k, 0, condition->as.b ? THEN : ELSE);
        return EDDY_OK;
    }
    spread = *given;
    for (; spread.rank < branch->rank; spread.rank++)
        spread.dims[spread.rank] = 1; /* a vector chooses whole rows */
    return run_elements(k, branch, &spread);
}

/* ---- shape functions ---- */

static eddy_status infer_select_v2(eddy_infer *infer)
{
    const eddy_shape *condition = eddy_infer_input(infer, CONDITION);
    const eddy_shape *t = eddy_infer_input(infer, THEN);
    const eddy_shape *e = eddy_infer_input(infer, ELSE);
    eddy_shape branches, out;

    if (!eddy__shape_broadcast(t, e, &branches) ||
        !eddy__shape_broadcast(condition, &branches, &out))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "a condition of shape %s and branches of shapes "
                               "%s and %s do not broadcast",
                               eddy__shape_print(condition).text,
                               eddy__shape_print(t).text,
                               eddy__shape_print(e).text);
    eddy_infer_set_output(infer, 0, &out);
    return EDDY_OK;
}

static eddy_status infer_select(eddy_infer *infer)
{
    const eddy_shape *condition = eddy_infer_input(infer, CONDITION);
    const eddy_shape *t = eddy_infer_input(infer, THEN);
    const eddy_shape *e = eddy_infer_input(infer, ELSE);
    eddy_shape out;

    if (!eddy__shape_merge(t, e, &out) || !condition_fits(condition, &out))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "branches of shapes %s and %s, which must be "
                               "the same, can't be chosen by a condition of "
                               "shape %s",
                               eddy__shape_print(t).text,
                               eddy__shape_print(e).text,
                               eddy__shape_print(condition).text);
    eddy_infer_set_output(infer, 0, &out);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("Select", .inputs = "condition: bool, t: T, e: T",
                 .outputs = "output: T", .attrs = "T: type",
                 .infer = infer_select, .kernel = run_select,
                 .prepare = eddy__prepare_arranged,
                 .doc = "The elements of t or e, as the condition says for "
                        "each or for each row."),
    EDDY__OP_ROW("SelectV2", .inputs = "condition: bool, t: T, e: T",
                 .outputs = "output: T", .attrs = "T: type",
                 .infer = infer_select_v2, .kernel = run_select_v2,
                 .prepare = eddy__prepare_arranged,
                 .doc = "The elements of t or e, as the condition says; all "
                        "are broadcast."),
};

const eddy__op_table eddy__select_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
