/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The elements of a sparse tensor with those of a dense one that stand in the
 * same places: SparseTensorDenseAdd, SparseDenseCwiseAdd and its like.
 */
#include "ops/math/combine.h"
#include "ops/math/numeric.h"
#include "ops/ops.h"
#include "ops/sparse/sparse.h"

#include <inttypes.h>
#include <string.h>

static eddy_status prepare_join(eddy_infer *infer, eddy__combination what)
{
    const eddy_dtype dtype = eddy__infer_type(infer, "T");

    if (eddy__combiner_of(what, dtype))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL,
                           "there is no kernel for %s", eddy_dtype_name(dtype));
}

static eddy_status prepare_add(eddy_infer *infer)
{
    return prepare_join(infer, EDDY__COMBINE_ADD);
}

static eddy_status prepare_multiply(eddy_infer *infer)
{
    return prepare_join(infer, EDDY__COMBINE_MUL);
}

static eddy_status prepare_divide(eddy_infer *infer)
{
    return prepare_join(infer, EDDY__COMBINE_DIV);
}

/* ---- SparseTensorDenseAdd ---- */

static eddy_status run_add_dense(eddy_kernel *k)
{
    const eddy_shape *b = eddy__in_shape(k, 3);
    const eddy_dtype dtype = eddy__in_dtype(k, 3);
    const size_t size = eddy__element_size(dtype);
    const eddy__binary_loop add = eddy__combiner_of(EDDY__COMBINE_ADD, dtype);
    eddy__rows one = {.n = 1, .step_a = 1, .step_b = 1, .n_rows = 1};
    unsigned char *out;
    eddy__sparse s;

    EDDY_TRY(eddy__sparse_read(k, 0, &s));
    if (!eddy__shape_equal(&s.shape, b))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the sparse tensor has shape %s, the dense one %s",
                           eddy__shape_print(&s.shape).text,
                           eddy__shape_print(b).text);
    EDDY_TRY(eddy__sparse_check(k, &s));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, b, &out));
    if (s.count > 0)
        eddy__copy_bytes(k, out, eddy__in_elements(k, 3),
                         (size_t)s.count * size);
    for (int64_t i = 0; i < s.n && !eddy__spent(k, EDDY__SPARSE_WORK); i++) {
        one.out = out + (size_t)eddy__sparse_place(&s, i) * size;
        one.a = one.out;
        one.b = eddy__in_elements(k, 1) + (size_t)i * size;
        add(&one);
    }
    return EDDY_OK;
}

static eddy_status infer_add_dense(eddy_infer *infer)
{
    eddy_infer_set_output(infer, 0, eddy_infer_input(infer, 3));
    return EDDY_OK;
}

/* ---- SparseDenseCwise ---- */

/* A dense tensor that is repeated to a sparse one's shape. */
typedef struct repeated {
    int64_t strides[EDDY_MAX_RANK]; /* 0: repeated */
} repeated;

static eddy_status read_repeated(eddy_kernel *k, const eddy__sparse *s,
                                 repeated *r)
{
    const eddy_shape *of = eddy__in_shape(k, 3);
    const int32_t more = s->shape.rank - of->rank;
    int64_t step = 1;
    bool fits = more >= 0;

    for (int32_t d = s->shape.rank - 1; fits && d >= 0; d--) {
        const int64_t dim = d < more ? 1 : of->dims[d - more];

        fits = dim == 1 || dim == s->shape.dims[d];
        r->strides[d] = dim == 1 ? 0 : step;
        step *= dim;
    }
    if (fits)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "a dense tensor of shape %s can't be repeated to %s",
                       eddy__shape_print(of).text,
                       eddy__shape_print(&s->shape).text);
}

static eddy_status check_divisor(eddy_kernel *k, eddy_dtype dtype,
                                 const void *divisor)
{
    if (!eddy__dtype_in(dtype, EDDY__INTEGERS) ||
        !eddy__combine_has_zero(dtype, divisor, 1))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DIVISION_BY_ZERO,
                       "integer division by zero");
}

static eddy_status join_elements(eddy_kernel *k, eddy__combination what)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 1);
    const size_t size = eddy__element_size(dtype);
    eddy__rows one = {.n = 1, .step_a = 1, .step_b = 1, .n_rows = 1};
    unsigned char *out;
    eddy__sparse s;
    repeated r = {.strides = {0}};

    EDDY_TRY(eddy__sparse_read(k, 0, &s));
    EDDY_TRY(eddy__sparse_check(k, &s));
    EDDY_TRY(read_repeated(k, &s, &r));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, eddy__in_shape(k, 1), &out));
    for (int64_t i = 0; i < s.n && !eddy__spent(k, EDDY__SPARSE_WORK); i++) {
        int64_t at = 0;

        for (int32_t d = 0; d < s.shape.rank; d++)
            at += eddy__sparse_at(&s, i, d) * r.strides[d];
        one.out = out + (size_t)i * size;
        one.a = eddy__in_elements(k, 1) + (size_t)i * size;
        one.b = eddy__in_elements(k, 3) + (size_t)at * size;
        if (what == EDDY__COMBINE_DIV)
            EDDY_TRY(check_divisor(k, dtype, one.b));
        eddy__combiner_of(what, dtype)(&one);
    }
    return EDDY_OK;
}

static eddy_status run_add(eddy_kernel *k)
{
    return join_elements(k, EDDY__COMBINE_ADD);
}

static eddy_status run_multiply(eddy_kernel *k)
{
    return join_elements(k, EDDY__COMBINE_MUL);
}

static eddy_status run_divide(eddy_kernel *k)
{
    return join_elements(k, EDDY__COMBINE_DIV);
}

static eddy_status infer_elements(eddy_infer *infer)
{
    eddy_infer_set_output(infer, 0, eddy_infer_input(infer, 1));
    return EDDY_OK;
}

/* ---- definitions ---- */

#define CWISE(name, run_it, prepare_it, differentiable, text)                  \
    EDDY__OP_ROW("SparseDenseCwise" name,                                      \
                 .inputs = "sp_indices: int64, sp_values: T, "                 \
                           "sp_shape: int64, dense: T",                        \
                 .outputs = "output: T", .attrs = "T: number",                 \
                 .infer = infer_elements, .kernel = run_it,                    \
                 .prepare = prepare_it, .flags = differentiable, .doc = text)

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("SparseTensorDenseAdd",
                 .inputs = "a_indices: Tindices, a_values: T, "
                           "a_shape: Tindices, b: T",
                 .outputs = "output: T", .attrs = "T: number, Tindices: index",
                 .infer = infer_add_dense, .kernel = run_add_dense,
                 .prepare = prepare_add,
                 .doc = "The sum of a sparse tensor and a dense one."),
    CWISE("Add", run_add, prepare_add, 0,
          "Elements of a sparse tensor plus those of a dense one in their "
          "places."),
    CWISE("Mul", run_multiply, prepare_multiply, 0,
          "Elements of a sparse tensor times those of a dense one in their "
          "places."),
    CWISE("Div", run_divide, prepare_divide, 0,
          "Elements of a sparse tensor by those of a dense one in their "
          "places."),
};

const eddy__op_table eddy__sparse_elements_ops = {specs, NULL,
                                                  sizeof specs / sizeof *specs};
