/* SPDX-License-Identifier: Apache-2.0 */
/* Decompositions of matrices: Qr, SelfAdjointEigV2, Svd. */
#include "ops/linalg/lapack.h"
#include "ops/linalg/linalg.h"
#include "ops/math/elements.h"
#include "ops/math/numeric.h"
#include "ops/ops.h"

#include <math.h>
#include <string.h>

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int64_t least_dim(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? -1 : a < b ? a : b;
}

/* Memory of LAPACK and of the matrices that it works on. */
typedef struct workspace {
    eddy_tensor *elements, *reals, *integers;
    eddy_tensor *a, *b, *c, *d;
} workspace;

static void release(eddy_kernel *k, workspace *m)
{
    eddy__scratch_free(k, m->d);
    eddy__scratch_free(k, m->c);
    eddy__scratch_free(k, m->b);
    eddy__scratch_free(k, m->a);
    eddy__scratch_free(k, m->integers);
    eddy__scratch_free(k, m->reals);
    eddy__scratch_free(k, m->elements);
}

static eddy_status fail_size(eddy_kernel *k)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                       "a matrix of shape %s is too large to decompose",
                       eddy__shape_print(eddy__in_shape(k, 0)).text);
}

/* The memory of LAPACK, and `counts` elements for a, b, c and d. */
static eddy_status reserve(eddy_kernel *k, eddy_dtype work,
                           eddy__lapack_work *sizes, const int64_t counts[4],
                           workspace *m)
{
    eddy_tensor **const matrices[] = {&m->a, &m->b, &m->c, &m->d};
    const eddy_dtype real = eddy__dtype_of_parts(work);
    eddy_status status;

    *m = (workspace){NULL};
    status = eddy__scratch(k, work, sizes->n_elements, &m->elements);
    if (status == EDDY_OK)
        status = eddy__scratch(k, real, sizes->n_reals, &m->reals);
    if (status == EDDY_OK)
        status = eddy__scratch(k, EDDY_INT32, sizes->n_integers, &m->integers);
    for (int i = 0; i < 4 && status == EDDY_OK; i++)
        if (counts[i] > 0)
            status = eddy__scratch(k, work, counts[i], matrices[i]);
    if (status != EDDY_OK) {
        release(k, m);
        return status;
    }
    sizes->elements = m->elements->data;
    sizes->reals = m->reals->data;
    sizes->integers = m->integers->data;
    return EDDY_OK;
}

/* A batch of identities of any dtype; what has no element of 1 is 0. */
static void fill_identities(eddy_kernel *k, const eddy__matrices *m,
                            int64_t rows, int64_t columns, void *out)
{
    uint16_t *halves = out;

    eddy__zero_bytes(k, out, (size_t)(m->count * rows * columns) * m->size);
    for (int64_t i = 0; i < m->count && !eddy__spent(k, rows); i++)
        for (int64_t j = 0; j < rows && j < columns; j++) {
            const int64_t at = i * rows * columns + j * columns + j;

            if (m->dtype == EDDY_FLOAT16)
                halves[at] = eddy__half_from_float(1);
            else
                eddy__number_put(m->work, out, at, 1);
        }
}

#define DEFINE_IS_FINITE(name, type)                                           \
    static bool is_finite_##name(eddy_kernel *k, const void *matrix,           \
                                 int64_t n)                                    \
    {                                                                          \
        const type *x = matrix;                                                \
                                                                               \
        for (int64_t i = 0; i < n && !eddy__spent_at(k, i); i++)               \
            if (!isfinite(x[i]))                                               \
                return false;                                                  \
        return true;                                                           \
    }

DEFINE_IS_FINITE(float, float)
DEFINE_IS_FINITE(double, double)

/* Are all `n` elements neither NaN nor infinite? */
static bool is_finite(eddy_kernel *k, eddy_dtype work, const void *matrix,
                      int64_t n)
{
    const int64_t n_parts =
        work == EDDY_COMPLEX64 || work == EDDY_COMPLEX128 ? 2 * n : n;

    if (work == EDDY_FLOAT64 || work == EDDY_COMPLEX128)
        return is_finite_double(k, matrix, n_parts);
    return is_finite_float(k, matrix, n_parts);
}

/* Real numbers as elements of the output, which may be complex. */
static void put_reals(const eddy__matrices *m, const void *reals, int64_t n,
                      unsigned char *out)
{
    const eddy_dtype real = eddy__dtype_of_parts(m->work);

    for (int64_t i = 0; i < n; i++)
        eddy__number_put(m->work, out, i, eddy__number_at(real, reals, i));
}

/* ---- Qr ---- */

/* The upper triangle of `rows` rows, from columns `stride` elements apart. */
static eddy_status take_upper(eddy_kernel *k, const eddy__matrices *m,
                              const eddy__lapack_qr *qr, unsigned char *to)
{
    const size_t rows = (size_t)qr->columns;
    const unsigned char *from = qr->a;
    const size_t stride = (size_t)m->rows;

    for (size_t j = 0; j < (size_t)m->columns; j++) {
        const size_t kept = j + 1 < rows ? j + 1 : rows;
        unsigned char *column = to + j * rows * m->work_size;

        EDDY_TRY(eddy__go_on(k, (int64_t)(rows * m->work_size)));
        memcpy(column, from + j * stride * m->work_size, kept * m->work_size);
        memset(column + kept * m->work_size, 0, (rows - kept) * m->work_size);
    }
    return EDDY_OK;
}

/* NOLINTNEXTLINE(readability-function-size): a kernel beside what it had. */
static eddy_status factor_all(eddy_kernel *k, const eddy__matrices *m,
                              const eddy__lapack_qr *qr,
                              const eddy__lapack_work *work, void *upper,
                              unsigned char *q, unsigned char *r)
{
    const int64_t rows = m->rows, n = m->columns, columns = qr->columns;

    for (int64_t i = 0; i < m->count; i++) {
        EDDY_TRY(eddy__matrix_load(
            k, m->dtype, &(eddy__move){rows, n, EDDY__TURN_TRANSPOSE},
            m->data + (size_t)(i * rows * n) * m->size, qr->a));
        EDDY_TRY(eddy__lapack_qr_find(k, m->work, qr, work));
        EDDY_TRY(take_upper(k, m, qr, upper));
        EDDY_TRY(eddy__matrix_store(
            k, m->dtype, &(eddy__move){n, columns, EDDY__TURN_TRANSPOSE}, upper,
            r + (size_t)(i * columns * n) * m->size));
        EDDY_TRY(eddy__lapack_qr_form(k, m->work, qr, work));
        EDDY_TRY(eddy__matrix_store(
            k, m->dtype, &(eddy__move){columns, rows, EDDY__TURN_TRANSPOSE},
            qr->a, q + (size_t)(i * rows * columns) * m->size));
    }
    return EDDY_OK;
}

static eddy_status factor(eddy_kernel *k, const eddy__matrices *m,
                          int32_t columns, void *q, void *r)
{
    const int64_t wide = columns > m->columns ? columns : m->columns;
    const int64_t counts[4] = {m->rows * wide, least(m->rows, m->columns),
                               (int64_t)columns * m->columns, 0};
    eddy__lapack_qr qr = {.m = m->rows, .n = m->columns, .columns = columns};
    eddy__lapack_work work;
    workspace memory;
    eddy_status status;

    EDDY_TRY(eddy__lapack_check(k));
    eddy__lapack_qr_work(m->work, &qr, &work);
    EDDY_TRY(reserve(k, m->work, &work, counts, &memory));
    qr.a = memory.a->data;
    qr.scales = memory.b->data;
    status = factor_all(k, m, &qr, &work, memory.c->data, q, r);
    release(k, &memory);
    return status;
}

static eddy_status run_qr(eddy_kernel *k)
{
    const bool is_full = *(const bool *)eddy__state(k);
    int32_t columns;
    eddy__matrices m;
    eddy_shape batch, q_shape, r_shape;
    void *q, *r;

    EDDY_TRY(eddy__in_matrices(k, 0, false, &m));
    batch = eddy__linalg_batch_shape(eddy__in_shape(k, 0));
    columns = is_full ? m.rows : least(m.rows, m.columns);
    q_shape = eddy__linalg_shape_append_two(batch, m.rows, columns);
    r_shape = eddy__linalg_shape_append_two(batch, columns, m.columns);
    EDDY_TRY(eddy__output(k, 0, m.dtype, &q_shape, &q));
    EDDY_TRY(eddy__output(k, 1, m.dtype, &r_shape, &r));
    if (m.count == 0)
        return EDDY_OK;
    if (m.rows > 0 && m.columns > 0)
        return factor(k, &m, columns, q, r);
    fill_identities(k, &m, m.rows, columns, q);
    return EDDY_OK;
}

static eddy_status infer_qr(eddy_infer *infer)
{
    const bool is_full = eddy__infer_bool(infer, "full_matrices");
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape batch, shape;
    int64_t rows, columns, middle;

    EDDY_TRY(eddy__infer_matrices(infer, 0, false));
    if (of->rank < 0)
        return EDDY_OK;
    batch = eddy__linalg_batch_shape(of);
    rows = of->dims[batch.rank];
    columns = of->dims[batch.rank + 1];
    middle = is_full ? rows : least_dim(rows, columns);
    shape = eddy__linalg_shape_append_two(batch, rows, middle);
    eddy_infer_set_output(infer, 0, &shape);
    shape = eddy__linalg_shape_append_two(batch, middle, columns);
    eddy_infer_set_output(infer, 1, &shape);
    return EDDY_OK;
}

static eddy_status prepare_qr(eddy_infer *infer)
{
    bool *is_full = eddy__prepare_state(infer, sizeof *is_full);

    if (!is_full)
        return EDDY_RESOURCE_EXHAUSTED;
    *is_full = eddy__infer_bool(infer, "full_matrices");
    return EDDY_OK;
}

/* ---- SelfAdjointEigV2 ---- */

/* Row `i` of the lower triangle from column `j` on, up to a tile's end. */
static void mirror_row(const eddy__matrices *m, void *matrix, int64_t i,
                       int64_t j)
{
    const int64_t n = m->rows;
    const int64_t end = j + EDDY__TILE < i ? j + EDDY__TILE : i;

    for (; j < end; j++)
        eddy__number_put(m->work, matrix, j * n + i,
                         conj(eddy__number_at(m->work, matrix, i * n + j)));
}

/*
 * Only the lower triangle counts, and the real part of the diagonal.  A few
 * columns at a time, since those are rows above the diagonal.
 */
static eddy_status mirror_lower(eddy_kernel *k, const eddy__matrices *m,
                                void *matrix)
{
    const int64_t n = m->rows;

    for (int64_t j = 0; j < n; j += EDDY__TILE)
        for (int64_t i = j + 1; i < n && !eddy__spent(k, 16 * EDDY__TILE); i++)
            mirror_row(m, matrix, i, j);
    for (int64_t i = 0; i < n; i++)
        eddy__number_put(m->work, matrix, i * n + i,
                         creal(eddy__number_at(m->work, matrix, i * n + i)));
    return eddy__go_on(k, 0);
}

/* `v` NULL: only the values are wanted. */
static eddy_status find_eigen(eddy_kernel *k, const eddy__matrices *m,
                              const eddy__lapack_work *work,
                              const workspace *memory, unsigned char *values,
                              unsigned char *v)
{
    const int64_t n = m->rows;

    for (int64_t i = 0; i < m->count; i++) {
        const size_t at = (size_t)(i * n * n) * m->size;
        bool found;

        EDDY_TRY(eddy__matrix_load(k, m->dtype,
                                   &(eddy__move){n, n, EDDY__TURN_NONE},
                                   m->data + at, memory->a->data));
        EDDY_TRY(mirror_lower(k, m, memory->a->data));
        found = is_finite(k, m->work, memory->a->data, n * n);
        if (found)
            EDDY_TRY(eddy__lapack_eigen(k, m->work, v != NULL, m->rows,
                                        memory->a->data, memory->b->data, work,
                                        &found));
        if (!found)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "no eigenvalues were found for matrix %" PRId64
                               " of the batch, which may not be valid",
                               i);
        put_reals(m, memory->b->data, n, values + (size_t)(i * n) * m->size);
        /* Of the transpose, which is the conjugate, as columns. */
        if (v)
            EDDY_TRY(eddy__matrix_store(k, m->dtype,
                                        &(eddy__move){n, n, EDDY__TURN_ADJOINT},
                                        memory->a->data, v + at));
    }
    return EDDY_OK;
}

static eddy_status run_eigen(eddy_kernel *k)
{
    const bool vectors = *(const bool *)eddy__state(k);
    const eddy_shape none = eddy__shape_vector(0);
    eddy__lapack_work work;
    eddy__matrices m;
    eddy_shape shape;
    eddy_status status;
    workspace memory;
    void *values, *v;

    EDDY_TRY(eddy__in_matrices(k, 0, true, &m));
    shape = eddy__linalg_shape_append(
        eddy__linalg_batch_shape(eddy__in_shape(k, 0)), m.rows);
    EDDY_TRY(eddy__output(k, 0, m.dtype, &shape, &values));
    EDDY_TRY(eddy__output(k, 1, m.dtype, vectors ? eddy__in_shape(k, 0) : &none,
                          &v));
    if (m.count == 0 || m.rows == 0)
        return EDDY_OK;
    if (!eddy__lapack_eigen_work(m.work, vectors, m.rows, &work))
        return fail_size(k);
    {
        const int64_t n = m.rows, counts[4] = {n * n, n, 0, 0};

        EDDY_TRY(reserve(k, m.work, &work, counts, &memory));
    }
    status = find_eigen(k, &m, &work, &memory, values, vectors ? v : NULL);
    release(k, &memory);
    return status;
}

static eddy_status infer_eigen(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape shape = eddy__shape_vector(0);

    EDDY_TRY(eddy__infer_matrices(infer, 0, true));
    if (!eddy__infer_bool(infer, "compute_v"))
        eddy_infer_set_output(infer, 1, &shape);
    if (of->rank < 0)
        return EDDY_OK;
    if (eddy__infer_bool(infer, "compute_v"))
        eddy_infer_set_output(infer, 1, of);
    shape = eddy__linalg_shape_append(eddy__linalg_batch_shape(of),
                                      of->dims[of->rank - 1]);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status prepare_eigen(eddy_infer *infer)
{
    bool *vectors = eddy__prepare_state(infer, sizeof *vectors);

    if (!vectors)
        return EDDY_RESOURCE_EXHAUSTED;
    *vectors = eddy__infer_bool(infer, "compute_v");
    return EDDY_OK;
}

/* ---- Svd ---- */

typedef struct svd_state {
    bool vectors, full;
} svd_state;

/* Where the results of a batch go, and how large those of one matrix are. */
typedef struct svd_results {
    unsigned char *values, *u, *v;
    int64_t n_values, columns_u, columns_v;
} svd_results;

static void fill(eddy_kernel *k, const eddy__matrices *m, unsigned char *to,
                 int64_t n, double value)
{
    for (int64_t i = 0; i < n && !eddy__spent(k, 8); i++)
        eddy__number_put(m->work, to, i, value);
}

/* LAPACK's results for matrix `i`, or NaNs where it found none. */
static eddy_status put_svd(eddy_kernel *k, const eddy__matrices *m,
                           const svd_results *r, const eddy__lapack_svd *svd,
                           int64_t i, bool found)
{
    const int64_t n_u = m->rows * r->columns_u, n_v = m->columns * r->columns_v;
    unsigned char *values = r->values + (size_t)(i * r->n_values) * m->size;
    unsigned char *u = svd->vectors ? r->u + (size_t)(i * n_u) * m->size : NULL;
    unsigned char *v = svd->vectors ? r->v + (size_t)(i * n_v) * m->size : NULL;

    if (found)
        put_reals(m, svd->values, r->n_values, values);
    else
        fill(k, m, values, r->n_values, (double)NAN);
    if (!svd->vectors)
        return EDDY_OK;
    if (!found) {
        fill(k, m, u, n_u, (double)NAN);
        fill(k, m, v, n_v, (double)NAN);
        return EDDY_OK;
    }
    EDDY_TRY(eddy__matrix_store(
        k, m->dtype, &(eddy__move){r->columns_u, m->rows, EDDY__TURN_TRANSPOSE},
        svd->u, u));
    /* The columns of the adjoint are the conjugate rows of v. */
    return eddy__matrix_store(
        k, m->dtype,
        &(eddy__move){m->columns, r->columns_v, EDDY__TURN_CONJUGATE},
        svd->v_adjoint, v);
}

static eddy_status run_singular(eddy_kernel *k, const eddy__matrices *m,
                                eddy__lapack_svd *svd, const svd_results *r)
{
    const int64_t n = (int64_t)m->rows * m->columns;
    const int64_t counts[4] = {n, r->n_values,
                               svd->vectors ? m->rows * r->columns_u : 1,
                               svd->vectors ? m->columns * r->columns_v : 1};
    eddy_status status = EDDY_OK;
    eddy__lapack_work work;
    workspace memory;

    EDDY_TRY(eddy__lapack_check(k));
    if (!eddy__lapack_svd_work(m->work, svd, &work))
        return fail_size(k);
    EDDY_TRY(reserve(k, m->work, &work, counts, &memory));
    svd->a = memory.a->data;
    svd->values = memory.b->data;
    svd->u = memory.c->data;
    svd->v_adjoint = memory.d->data;
    for (int64_t i = 0; i < m->count && status == EDDY_OK; i++) {
        bool found;

        status = eddy__matrix_load(
            k, m->dtype,
            &(eddy__move){m->rows, m->columns, EDDY__TURN_TRANSPOSE},
            m->data + (size_t)(i * n) * m->size, svd->a);
        if (status != EDDY_OK)
            break;
        found = is_finite(k, m->work, svd->a, n);
        if (found)
            status = eddy__lapack_svd_run(k, m->work, svd, &work, &found);
        if (status == EDDY_OK)
            status = put_svd(k, m, r, svd, i, found);
    }
    release(k, &memory);
    return status;
}

static eddy_status svd_outputs(eddy_kernel *k, const eddy__matrices *m,
                               const svd_state *s, svd_results *r)
{
    const eddy_shape batch = eddy__linalg_batch_shape(eddy__in_shape(k, 0));
    eddy_shape values, u = eddy__shape_vector(0), v = u;
    void *data[3];

    r->n_values = least(m->rows, m->columns);
    r->columns_u = s->full ? m->rows : r->n_values;
    r->columns_v = s->full ? m->columns : r->n_values;
    values = eddy__linalg_shape_append(batch, r->n_values);
    if (s->vectors) {
        u = eddy__linalg_shape_append_two(batch, m->rows, r->columns_u);
        v = eddy__linalg_shape_append_two(batch, m->columns, r->columns_v);
    }
    EDDY_TRY(eddy__output(k, 0, m->dtype, &values, &data[0]));
    EDDY_TRY(eddy__output(k, 1, m->dtype, &u, &data[1]));
    EDDY_TRY(eddy__output(k, 2, m->dtype, &v, &data[2]));
    r->values = data[0];
    r->u = data[1];
    r->v = data[2];
    return EDDY_OK;
}

static eddy_status run_svd(eddy_kernel *k)
{
    const svd_state *s = eddy__state(k);
    eddy__matrices m;
    svd_results r;

    EDDY_TRY(eddy__in_matrices(k, 0, false, &m));
    EDDY_TRY(svd_outputs(k, &m, s, &r));
    if (m.count > 0 && r.n_values > 0) {
        eddy__lapack_svd svd = {.m = m.rows,
                                .n = m.columns,
                                .vectors = s->vectors,
                                .full = s->full};

        return run_singular(k, &m, &svd, &r);
    }
    if (m.count > 0 && s->vectors) {
        fill_identities(k, &m, m.rows, r.columns_u, r.u);
        fill_identities(k, &m, m.columns, r.columns_v, r.v);
    }
    return EDDY_OK;
}

static eddy_status infer_svd(eddy_infer *infer)
{
    const bool vectors = eddy__infer_bool(infer, "compute_uv");
    const bool is_full = eddy__infer_bool(infer, "full_matrices");
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape batch, shape = eddy__shape_vector(0);
    int64_t rows, columns, n;

    EDDY_TRY(eddy__infer_matrices(infer, 0, false));
    for (uint32_t o = 1; o <= 2 && !vectors; o++)
        eddy_infer_set_output(infer, o, &shape);
    if (of->rank < 0)
        return EDDY_OK;
    batch = eddy__linalg_batch_shape(of);
    rows = of->dims[batch.rank];
    columns = of->dims[batch.rank + 1];
    n = least_dim(rows, columns);
    shape = eddy__linalg_shape_append(batch, n);
    eddy_infer_set_output(infer, 0, &shape);
    if (!vectors)
        return EDDY_OK;
    shape = eddy__linalg_shape_append_two(batch, rows, is_full ? rows : n);
    eddy_infer_set_output(infer, 1, &shape);
    shape =
        eddy__linalg_shape_append_two(batch, columns, is_full ? columns : n);
    eddy_infer_set_output(infer, 2, &shape);
    return EDDY_OK;
}

static eddy_status prepare_svd(eddy_infer *infer)
{
    svd_state *s = eddy__prepare_state(infer, sizeof *s);

    if (!s)
        return EDDY_RESOURCE_EXHAUSTED;
    s->vectors = eddy__infer_bool(infer, "compute_uv");
    s->full = eddy__infer_bool(infer, "full_matrices");
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("Qr", .inputs = "input: T", .outputs = "q: T, r: T",
                 .attrs = "full_matrices: bool = false, T: {float64, float32, "
                          "float16, complex}",
                 .infer = infer_qr, .kernel = run_qr, .prepare = prepare_qr,
                 .flags = EDDY_OP_HEAVY,
                 .doc = "Each matrix as a product of an orthonormal and an "
                        "upper triangular one."),
    EDDY__OP_ROW(
        "SelfAdjointEigV2", .inputs = "input: T", .outputs = "e: T, v: T",
        .attrs = "compute_v: bool = true, T: {float64, float32, complex}",
        .infer = infer_eigen, .kernel = run_eigen, .prepare = prepare_eigen,
        .flags = EDDY_OP_HEAVY,
        .doc = "Eigenvalues of self-adjoint matrices, in ascending order, and "
               "eigenvectors as columns."),
    EDDY__OP_ROW("Svd", .inputs = "input: T", .outputs = "s: T, u: T, v: T",
                 .attrs = "compute_uv: bool = true, full_matrices: bool = "
                          "false, T: {float64, float32, complex}",
                 .infer = infer_svd, .kernel = run_svd, .prepare = prepare_svd,
                 .flags = EDDY_OP_HEAVY,
                 .doc = "Singular values of each matrix, in descending order, "
                        "and singular vectors as columns."),
};

const eddy__op_table eddy__decompositions_ops = {specs, NULL,
                                                 sizeof specs / sizeof *specs};
