/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AddN: the sum of any number of tensors of one shape.
 *
 * The order of additions is TensorFlow's, so that sums of floats agree to the
 * last bit: inputs are added from left to right in groups of eight, the first
 * of which has what is left over (two to nine of them), and each group's sum is
 * added to what came before.
 */
#include "ops/math/addn.h"

#include "ops/list/list_math.h"
#include "ops/math/elements.h"
#include "ops/math/elementwise.h"
#include "ops/ops.h"

#define GROUP 8
#define FIRST (GROUP + 1) /* at most in the first group */
#define TILE 256          /* elements that are summed at a time */

/* Adds the sums of a group to `out`, or makes them what it is. */
typedef void (*add_loop)(void *out, const void *const *in, uint32_t n_in,
                         int64_t n, bool is_first);

/* A group is summed in the computed type (halves in floats), stored once. */
#define ADD(D, wrapped)                                                        \
    static void load_##D(eddy__computed_##D *sum, const eddy__stored_##D *x,   \
                         int64_t n)                                            \
    {                                                                          \
        EDDY__FOR_EACH(i, n, sum[i] = eddy__load_##D(x[i]));                   \
    }                                                                          \
    static void sum_##D(eddy__computed_##D *sum, const eddy__stored_##D *x,    \
                        int64_t n)                                             \
    {                                                                          \
        EDDY__FOR_EACH(i, n,                                                   \
                       sum[i] = (eddy__computed_##D)(                          \
                           (wrapped)sum[i] + (wrapped)eddy__load_##D(x[i])));  \
    }                                                                          \
    static void store_##D(eddy__stored_##D *out,                               \
                          const eddy__computed_##D *sum, int64_t n)            \
    {                                                                          \
        EDDY__FOR_EACH(i, n, out[i] = EDDY__STORE_##D(sum[i]));                \
    }                                                                          \
    static void add_##D(void *to, const void *const *in, uint32_t n_in,        \
                        int64_t n, bool is_first)                              \
    {                                                                          \
        eddy__stored_##D *out = to;                                            \
        eddy__computed_##D sum[TILE];                                          \
                                                                               \
        for (int64_t at = 0; at < n; at += TILE) {                             \
            const int64_t m = n - at < TILE ? n - at : TILE;                   \
                                                                               \
            load_##D(sum, (const eddy__stored_##D *)in[0] + at, m);            \
            for (uint32_t j = 1; j < n_in; j++)                                \
                sum_##D(sum, (const eddy__stored_##D *)in[j] + at, m);         \
            if (!is_first)                                                     \
                sum_##D(sum, out + at, m);                                     \
            store_##D(out + at, sum, m);                                       \
        }                                                                      \
    }

#define ADD_WRAPPED(D, ...) ADD(D, eddy__wrapped_##D)

ADD(F16, float)
ADD(BF16, float)
ADD(F32, float)
ADD(F64, double)
ADD(C64, eddy__complex64)
ADD(C128, eddy__complex128)
EDDY__EACH_SIGNED(ADD_WRAPPED, )
EDDY__EACH_UNSIGNED(ADD_WRAPPED, )

#define LOOP(D, ...) [EDDY__DTYPE_##D] = add_##D,

static const add_loop loops[EDDY_DTYPE_COUNT] = {
    EDDY__EACH_FLOAT(LOOP, ) EDDY__EACH_SIGNED(LOOP, )
        EDDY__EACH_UNSIGNED(LOOP, ) EDDY__EACH_COMPLEX(LOOP, )};

/* ---- two values ---- */

bool eddy__addn_can_add(eddy_dtype dtype)
{
    return loops[dtype] != NULL;
}

eddy_status eddy__addn_add_to(eddy_kernel *k, eddy__value *sum,
                              const eddy__value *x)
{
    const add_loop add = loops[sum->dtype];
    const void *in[] = {eddy__value_elements(sum), eddy__value_elements(x)};
    eddy_tensor *tensor = sum->as.tensor;

    if (sum->kind == EDDY__SCALAR) {
        add(&sum->as, in, 2, 1, true);
        return EDDY_OK;
    }
    if (sum->kind == EDDY__TENSOR && eddy__tensor_is_exclusive(tensor)) {
        add(tensor->data, in, 2, tensor->count, true);
        return EDDY_OK;
    }
    EDDY_TRY(
        eddy__new_tensor(k, (eddy_dtype)sum->dtype, &tensor->shape, &tensor));
    add(tensor->data, in, 2, tensor->count, true);
    eddy__value_clear(k->heap, sum);
    *sum = (eddy__value){.kind = EDDY__TENSOR, .dtype = tensor->dtype};
    sum->as.tensor = tensor;
    return EDDY_OK;
}

/* ---- the kernel ---- */

static uint32_t first_group(uint32_t n)
{
    const uint32_t left = n % GROUP;

    if (n < GROUP)
        return n;
    return left > 1 ? left : left + GROUP;
}

/*
 * Elements of inputs; a scalar's are those in its value, which nothing here
 * writes.
 */
static void point(const eddy_kernel *k, uint32_t from, uint32_t n,
                  const void **in)
{
    for (uint32_t i = 0; i < n; i++)
        in[i] = eddy__in_elements(k, from + i);
}

static eddy_status check_shapes(eddy_kernel *k)
{
    const eddy_shape *first = eddy__in_shape(k, 0);

    for (uint32_t i = 1; i < k->node->n_in; i++)
        if (!eddy__shape_equal(first, eddy__in_shape(k, i)))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "input 0 has shape %s and input %u has %s; all "
                               "must have the same",
                               eddy__shape_print(first).text, (unsigned)i,
                               eddy__shape_print(eddy__in_shape(k, i)).text);
    return EDDY_OK;
}

/* Only inputs of the first group are read before the output is written. */
static eddy_status make_output(eddy_kernel *k, uint32_t n_first, void **out)
{
    const eddy_shape *shape = eddy__in_shape(k, 0);
    const eddy_dtype dtype = eddy__in_dtype(k, 0);

    for (uint32_t i = 0; i < n_first; i++)
        if (eddy__in(k, i)->kind == EDDY__TENSOR && eddy__in(k, i)->uses == 1)
            return eddy__output_reusing(k, 0, i, dtype, shape, out);
    return eddy__output(k, 0, dtype, shape, out);
}

static bool are_scalars(const eddy_kernel *k)
{
    for (uint32_t i = 0; i < k->node->n_in; i++)
        if (eddy__in(k, i)->kind != EDDY__SCALAR)
            return false;
    return true;
}

/* Elements between two questions whether to stop: whole tiles. */
#define PART ((int64_t)1 << 16)

/* What workers may do a part of. */
typedef struct add_work {
    add_loop add;
    size_t size; /* of an element */
    unsigned char *out;
    const void *const *in;
    uint32_t n_in;
    bool is_first;
} add_work;

static eddy_status add_part(eddy_kernel *k, void *arg, int64_t begin,
                            int64_t end)
{
    const add_work *w = arg;
    const void *part[FIRST];

    for (int64_t at = begin; at < end && !eddy__spent(k, PART * w->n_in);
         at += PART) {
        for (uint32_t i = 0; i < w->n_in; i++)
            part[i] = (const unsigned char *)w->in[i] + (size_t)at * w->size;
        w->add(w->out + (size_t)at * w->size, part, w->n_in,
               end - at < PART ? end - at : PART, w->is_first);
    }
    return EDDY_OK;
}

/* NOLINTNEXTLINE(readability-function-size): a kernel beside what it had. */
static void add_parts(eddy_kernel *k, void *out, const void *const *in,
                      uint32_t n_in, int64_t n, bool is_first)
{
    const eddy_dtype dtype = (eddy_dtype)eddy__out(k, 0)->dtype;
    add_work w = {.add = loops[dtype],
                  .size = eddy_dtype_size(dtype),
                  .out = out,
                  .in = in,
                  .n_in = n_in,
                  .is_first = is_first};

    if (n <= PART) {
        w.add(out, in, n_in, n, is_first);
        (void)eddy__spent(k, n * n_in);
        return;
    }
    (void)eddy__parallel_for(k, n, PART / 2, add_part, &w); /* never fails */
}

static eddy_status run_add(eddy_kernel *k)
{
    const uint32_t n_in = k->node->n_in, n_first = first_group(n_in);
    const void *in[FIRST];
    const int64_t n =
        eddy__in_count(k, 0); /* before the output takes one over */
    void *out;

    if (n_in == 1) {
        eddy__output_forward(k, 0, 0);
        return EDDY_OK;
    }
    if (!are_scalars(k))
        EDDY_TRY(check_shapes(k));
    point(k, 0, n_first, in);
    EDDY_TRY(make_output(k, n_first, &out));
    add_parts(k, out, in, n_first, n, true);
    for (uint32_t from = n_first; from < n_in; from += GROUP) {
        point(k, from, GROUP, in);
        add_parts(k, out, in, GROUP, n, false);
    }
    return EDDY_OK;
}

static eddy_status infer(eddy_infer *infer)
{
    const uint32_t n = eddy_infer_inputs(infer);
    eddy_shape shape = *eddy_infer_input(infer, 0);

    for (uint32_t i = 1; i < n; i++)
        if (!eddy__shape_merge(&shape, eddy_infer_input(infer, i), &shape))
            return eddy_infer_fail(
                infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                "input %u has shape %s, those before it %s; all must have "
                "the same",
                (unsigned)i, eddy__shape_print(eddy_infer_input(infer, i)).text,
                eddy__shape_print(&shape).text);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* A variant is a list. */
static eddy_status prepare(eddy_infer *infer)
{
    if (eddy_infer_output_dtype(infer, 0) == EDDY_VARIANT)
        eddy_infer_set_kernel(infer, eddy__run_add_lists);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("AddN", .inputs = "inputs: N * T", .outputs = "sum: T",
                 .attrs = "N: int >= 1, T: {number, variant}", .infer = infer,
                 .kernel = run_add, .prepare = prepare,
                 .doc = "The sum of all inputs, or of the items of all lists."),
    EDDY__OP_ROW("AccumulateNV2", .inputs = "inputs: N * T",
                 .outputs = "sum: T",
                 .attrs = "N: int >= 1, T: number, shape: shape",
                 .infer = infer, .kernel = run_add,
                 .doc = "The sum of all inputs, whose shape is told."),
};

const eddy__op_table eddy__addn_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
