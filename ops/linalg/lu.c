/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lu: L and U of each matrix in one, and the order of its rows.
 *
 * A pivot is the element of the largest absolute value.  LAPACK takes the sum
 * of the absolute parts of a complex number for that, TensorFlow does not; so
 * complex matrices are decomposed here.
 */
#include "ops/linalg/lapack.h"
#include "ops/linalg/linalg.h"
#include "ops/math/elements.h"
#include "ops/math/numeric.h"
#include "ops/ops.h"
#include "ops/template.h"

#include <math.h>

/* Where the rows of a batch's results go. */
typedef struct results {
    unsigned char *lu;
    void *order;
    bool is_long; /* int64 */
} results;

/* ---- complex matrices, column by column ---- */

#define D C64
#define MAGNITUDE cabsf
#include "ops/linalg/lu_loops.def"
#define D C128
#define MAGNITUDE cabs
#include "ops/linalg/lu_loops.def"

/* ---- a batch ---- */

static eddy_status find(eddy_kernel *k, eddy_dtype dtype,
                        const eddy__lapack_lu *lu)
{
    if (dtype == EDDY_COMPLEX64)
        return find_C64(k, lu);
    if (dtype == EDDY_COMPLEX128)
        return find_C128(k, lu);
    return eddy__lapack_lu_find(k, dtype, lu);
}

/* A pivot that is a NaN is none. */
static bool is_invertible(eddy_dtype work, const eddy__lapack_lu *lu)
{
    for (int64_t i = 0; i < lu->n; i++)
        if (!(cabs(eddy__number_at(work, lu->a, i * lu->n + i)) > 0))
            return false;
    return true;
}

/* Exchanges of rows, one after the other, to where each row comes from. */
static void put_order(const eddy__lapack_lu *lu, int64_t at, const results *r)
{
    int32_t *narrow = r->order;
    int64_t *wide = r->order;

    for (int32_t i = 0; i < lu->n; i++) {
        if (r->is_long)
            wide[at + i] = i;
        else
            narrow[at + i] = i;
    }
    for (int32_t i = 0; i < lu->n; i++) {
        const int64_t from = at + lu->pivots[i] - 1;

        if (r->is_long) {
            const int64_t was = wide[at + i];

            wide[at + i] = wide[from];
            wide[from] = was;
        } else {
            const int32_t was = narrow[at + i];

            narrow[at + i] = narrow[from];
            narrow[from] = was;
        }
    }
}

static eddy_status decompose(eddy_kernel *k, const eddy__matrices *m,
                             const eddy__lapack_lu *lu, const results *r)
{
    const int64_t n = m->rows;
    const eddy__move turned = {n, n, EDDY__TURN_TRANSPOSE};

    for (int64_t i = 0; i < m->count; i++) {
        const size_t at = (size_t)(i * n * n) * m->size;

        EDDY_TRY(eddy__matrix_load(k, m->dtype, &turned, m->data + at, lu->a));
        EDDY_TRY(find(k, m->work, lu));
        if (!is_invertible(m->work, lu))
            return eddy__kfail(
                k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                "matrix %" PRId64 " of the batch is not invertible", i);
        EDDY_TRY(eddy__matrix_store(k, m->dtype, &turned, lu->a, r->lu + at));
        put_order(lu, i * n, r);
    }
    return EDDY_OK;
}

static eddy_status run_lu(eddy_kernel *k)
{
    const eddy_dtype index = (eddy_dtype)k->node->out_dtypes[1];
    eddy_tensor *matrix = NULL, *pivots = NULL;
    eddy_status status;
    eddy__matrices m;
    eddy_shape order;
    void *lu, *rows;

    EDDY_TRY(eddy__in_matrices(k, 0, true, &m));
    order = eddy__linalg_shape_append(
        eddy__linalg_batch_shape(eddy__in_shape(k, 0)), m.rows);
    EDDY_TRY(eddy__output(k, 0, m.dtype, eddy__in_shape(k, 0), &lu));
    EDDY_TRY(eddy__output(k, 1, index, &order, &rows));
    if (m.count == 0 || m.rows == 0)
        return EDDY_OK;
    status = eddy__scratch(k, m.work, (int64_t)m.rows * m.rows, &matrix);
    if (status == EDDY_OK)
        status = eddy__scratch(k, EDDY_INT32, m.rows, &pivots);
    if (status == EDDY_OK)
        status = decompose(k, &m,
                           &(eddy__lapack_lu){.n = m.rows,
                                              .a = matrix->data,
                                              .pivots = pivots->data},
                           &(results){lu, rows, index == EDDY_INT64});
    eddy__scratch_free(k, pivots);
    eddy__scratch_free(k, matrix);
    return status;
}

static eddy_status infer_lu(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape order;

    EDDY_TRY(eddy__infer_matrices(infer, 0, true));
    eddy_infer_set_output(infer, 0, of);
    if (of->rank < 0)
        return EDDY_OK;
    order = eddy__linalg_shape_append(eddy__linalg_batch_shape(of),
                                      of->dims[of->rank - 1]);
    eddy_infer_set_output(infer, 1, &order);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "Lu", .inputs = "input: T", .outputs = "lu: T, p: output_idx_type",
        .attrs = "T: {float64, float32, complex}, output_idx_type: index = "
                 "int32",
        .infer = infer_lu, .kernel = run_lu, .flags = EDDY_OP_HEAVY,
        .doc = "L, whose diagonal is ones, and U of each matrix with its rows "
               "in order `p`, in one matrix."),
};

const eddy__op_table eddy__lu_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
