/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/matrix_aid.h"

#include "core/value/dtype.h"
#include "ops/math/half.h"

static double _Complex *at(matrices *m, int64_t i, int64_t row, int64_t column)
{
    return &m->x[(i * m->rows + row) * m->columns + column];
}

static double _Complex get(const matrices *m, int64_t i, int64_t row,
                           int64_t column)
{
    return m->x[(i * m->rows + row) * m->columns + column];
}

static matrices empty(int64_t count, int64_t rows, int64_t columns)
{
    ck_assert_int_le(count * rows * columns, MATRIX_MAX);
    return (matrices){.count = count, .rows = rows, .columns = columns};
}

matrices matrices_of(const eddy_tensor *tensor)
{
    const eddy_shape *shape = &tensor->shape;
    matrices m;
    int64_t count = 1;

    ck_assert_int_ge(shape->rank, 2);
    for (int32_t d = 0; d < shape->rank - 2; d++)
        count *= shape->dims[d];
    m = empty(count, shape->dims[shape->rank - 2],
              shape->dims[shape->rank - 1]);
    for (int64_t i = 0; i < tensor->count; i++) {
        if (tensor->dtype == EDDY_COMPLEX64) {
            const float *parts = (const float *)tensor->data + 2 * i;

            m.x[i] = (double)parts[0] + (double)parts[1] * I;
        } else if (tensor->dtype == EDDY_COMPLEX128) {
            const double *parts = (const double *)tensor->data + 2 * i;

            m.x[i] = parts[0] + parts[1] * I;
        } else {
            m.x[i] = harness_get(tensor, i);
        }
    }
    return m;
}

static double next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 20) / 2048 - 1;
}

matrices matrices_random(int64_t count, int64_t rows, int64_t columns,
                         eddy_dtype dtype, unsigned seed)
{
    matrices m = empty(count, rows, columns);

    for (int64_t i = 0; i < count * rows * columns; i++) {
        m.x[i] = next(&seed);
        if (eddy__dtype_is_complex(dtype))
            m.x[i] += next(&seed) * I;
    }
    return m;
}

eddy_tensor *matrices_tensor(harness *h, eddy_dtype dtype, const matrices *m,
                             const eddy_shape *shape)
{
    const eddy_shape batch = {3, {m->count, m->rows, m->columns}};
    const eddy_shape *of = shape ? shape : &batch;
    const int64_t n = m->count * m->rows * m->columns;
    double reals[MATRIX_MAX];
    float parts[2 * MATRIX_MAX];

    for (int64_t i = 0; i < n; i++) {
        reals[i] = creal(m->x[i]);
        parts[2 * i] = (float)creal(m->x[i]);
        parts[2 * i + 1] = (float)cimag(m->x[i]);
    }
    if (dtype == EDDY_COMPLEX128)
        return harness_tensor(h, dtype, of->rank, of->dims, m->x);
    return dtype == EDDY_COMPLEX64
               ? harness_tensor(h, dtype, of->rank, of->dims, parts)
               : harness_numbers(h, dtype, of->rank, of->dims, reals);
}

matrices matrices_adjoint(const matrices *a)
{
    matrices b = empty(a->count, a->columns, a->rows);

    for (int64_t i = 0; i < a->count; i++)
        for (int64_t r = 0; r < a->rows; r++)
            for (int64_t c = 0; c < a->columns; c++)
                *at(&b, i, c, r) = conj(get(a, i, r, c));
    return b;
}

matrices matrices_product(const matrices *a, const matrices *b)
{
    matrices p = empty(a->count, a->rows, b->columns);

    ck_assert_int_eq(a->count, b->count);
    ck_assert_int_eq(a->columns, b->rows);
    for (int64_t i = 0; i < a->count; i++)
        for (int64_t r = 0; r < a->rows; r++)
            for (int64_t c = 0; c < b->columns; c++)
                for (int64_t j = 0; j < a->columns; j++)
                    *at(&p, i, r, c) += get(a, i, r, j) * get(b, i, j, c);
    return p;
}

static matrices triangle(const matrices *a, bool is_upper)
{
    matrices t = *a;

    for (int64_t i = 0; i < a->count; i++)
        for (int64_t r = 0; r < a->rows; r++)
            for (int64_t c = 0; c < a->columns; c++)
                if (is_upper ? c < r : c > r)
                    *at(&t, i, r, c) = 0;
    return t;
}

matrices matrices_lower(const matrices *a)
{
    return triangle(a, false);
}

matrices matrices_upper(const matrices *a)
{
    return triangle(a, true);
}

static double tolerance(eddy_dtype dtype)
{
    return dtype == EDDY_FLOAT64 || dtype == EDDY_COMPLEX128 ? 1e-10
           : dtype == EDDY_BFLOAT16                          ? 0.2
           : dtype == EDDY_FLOAT16                           ? 3e-2
                                                             : 2e-4;
}

void matrices_want(const matrices *got, const matrices *want, eddy_dtype dtype)
{
    ck_assert_int_eq(got->count, want->count);
    ck_assert_int_eq(got->rows, want->rows);
    ck_assert_int_eq(got->columns, want->columns);
    for (int64_t i = 0; i < got->count * got->rows * got->columns; i++) {
        ck_assert_double_eq_tol(creal(got->x[i]), creal(want->x[i]),
                                tolerance(dtype));
        ck_assert_double_eq_tol(cimag(got->x[i]), cimag(want->x[i]),
                                tolerance(dtype));
    }
}

void matrices_want_identity(const matrices *got, eddy_dtype dtype)
{
    matrices identity = empty(got->count, got->rows, got->columns);

    ck_assert_int_eq(got->rows, got->columns);
    for (int64_t i = 0; i < got->count; i++)
        for (int64_t r = 0; r < got->rows; r++)
            *at(&identity, i, r, r) = 1;
    matrices_want(got, &identity, dtype);
}
