/* SPDX-License-Identifier: Apache-2.0 */
/* Contracts two labelled tensors by way of a product of matrices. */
#include "ops/linalg/contraction.h"

#include "ops/array/box.h"
#include "ops/linalg/product.h"
#include "ops/math/elements.h"
#include "ops/math/numeric.h"
#include "ops/misc/scratch.h"

#include <string.h>

/* ---- labels ---- */

eddy__labelled eddy__labelled_tensor(const void *data, const eddy_shape *shape,
                                     const uint8_t *labels)
{
    eddy__labelled t = {.data = data, .rank = shape->rank};
    int64_t step = 1;

    for (int32_t d = shape->rank - 1; d >= 0; d--) {
        t.labels[d] = labels[d];
        t.dims[d] = shape->dims[d];
        t.steps[d] = step;
        step *= shape->dims[d];
    }
    return t;
}

static uint32_t label_set(const eddy__labelled *t)
{
    uint32_t set = 0;

    for (int32_t d = 0; d < t->rank; d++)
        set |= 1u << t->labels[d];
    return set;
}

/* The dimension of a label, or -1. */
static int32_t find_label(const eddy__labelled *t, uint32_t label)
{
    for (int32_t d = 0; d < t->rank; d++)
        if (t->labels[d] == label)
            return d;
    return -1;
}

static void append(eddy__labelled *t, uint32_t label, int64_t dim, int64_t step)
{
    t->labels[t->rank] = (uint8_t)label;
    t->dims[t->rank] = dim;
    t->steps[t->rank++] = step;
}

/* The same with each label once: those that it had twice walk the diagonal. */
static eddy__labelled diagonal_of(const eddy__labelled *t)
{
    eddy__labelled d = {.data = t->data};

    for (int32_t i = 0; i < t->rank; i++) {
        const int32_t at = find_label(&d, t->labels[i]);

        if (at >= 0)
            d.steps[at] += t->steps[i];
        else
            append(&d, t->labels[i], t->dims[i], t->steps[i]);
    }
    return d;
}

/* Labels in some order. */
typedef struct sequence {
    int32_t n;
    uint8_t labels[EDDY__LABELS];
} sequence;

static void append_labels(sequence *s, const eddy__labelled *of, uint32_t set)
{
    for (int32_t d = 0; d < of->rank; d++)
        if (set >> of->labels[d] & 1u)
            s->labels[s->n++] = of->labels[d];
}

/* Appends those dimensions of `of` that are in `set`, in that order. */
static void append_from(eddy__labelled *to, const eddy__labelled *of,
                        uint32_t set, const sequence *order)
{
    for (int32_t i = 0; i < order->n; i++) {
        const int32_t d = find_label(of, order->labels[i]);

        if (d >= 0 && (set >> order->labels[i] & 1u))
            append(to, order->labels[i], of->dims[d], of->steps[d]);
    }
}

static int64_t count_of(const eddy__labelled *t)
{
    int64_t n = 1;

    for (int32_t d = 0; d < t->rank; d++)
        n *= t->dims[d];
    return n;
}

/* Are the dimensions from `first` on stored as those of a dense tensor? */
static bool is_dense(const eddy__labelled *t, int32_t first)
{
    int64_t step = 1;

    for (int32_t d = t->rank - 1; d >= first; d--) {
        if (t->dims[d] != 1 && t->steps[d] != step)
            return false;
        step *= t->dims[d];
    }
    return true;
}

static void make_dense(eddy__labelled *t)
{
    int64_t step = 1;

    for (int32_t d = t->rank - 1; d >= 0; d--) {
        t->steps[d] = step;
        step *= t->dims[d];
    }
}

/* Copies elements to where `to` has those of the same labels. */
static void copy_labelled(eddy_kernel *k, const eddy__labelled *from,
                          const eddy__labelled *to, size_t size, void *data)
{
    eddy__box box = {.item = size};

    for (int32_t d = 0; d < to->rank; d++)
        eddy__box_add(&box, to->dims[d],
                      from->steps[find_label(from, to->labels[d])] *
                          (int64_t)size,
                      to->steps[d] * (int64_t)size);
    if (count_of(to) > 0)
        eddy__box_copy(k, &box, data, from->data);
}

/* For whom the work is done. */
typedef struct job {
    eddy_kernel *kernel;
    eddy_dtype dtype;
} job;

/* Makes `t` dense by copying it, unless it is. */
static eddy_status pack(const job *j, eddy__labelled *t, eddy_tensor **scratch)
{
    const eddy__labelled from = *t;

    if (is_dense(t, 0))
        return EDDY_OK;
    EDDY_TRY(eddy__scratch(j->kernel, j->dtype, count_of(t), scratch));
    make_dense(t);
    copy_labelled(j->kernel, &from, t, eddy_dtype_size(j->dtype),
                  (*scratch)->data);
    t->data = (*scratch)->data;
    return EDDY_OK;
}

/* ---- sums ---- */

/* The sums of `n` rows of `length` elements. */
#define SUM_ROWS(D, sum_type)                                                  \
    static void sum_rows_##D(void *to, const void *from, int64_t n,            \
                             int64_t length)                                   \
    {                                                                          \
        eddy__stored_##D *out = to;                                            \
        const eddy__stored_##D *in = from;                                     \
                                                                               \
        for (int64_t i = 0; i < n; i++, in += length) {                        \
            sum_type sum[4] = {0, 0, 0, 0};                                    \
                                                                               \
            for (int64_t j = 0; j < length; j++)                               \
                sum[j % 4] += (sum_type)eddy__load_##D(in[j]);                 \
            out[i] = EDDY__STORE_##D((sum[0] + sum[2]) + (sum[1] + sum[3]));   \
        }                                                                      \
    }

SUM_ROWS(F16, double)
SUM_ROWS(BF16, double)
SUM_ROWS(F32, double)
SUM_ROWS(F64, double)
SUM_ROWS(I32, uint32_t)
SUM_ROWS(I64, uint64_t)
SUM_ROWS(C64, double _Complex)
SUM_ROWS(C128, double _Complex)

typedef void (*sum_fn)(void *to, const void *from, int64_t n, int64_t length);

static sum_fn sum_of(eddy_dtype dtype)
{
    switch (dtype) {
    case EDDY_FLOAT16:
        return sum_rows_F16;
    case EDDY_BFLOAT16:
        return sum_rows_BF16;
    case EDDY_FLOAT32:
        return sum_rows_F32;
    case EDDY_FLOAT64:
        return sum_rows_F64;
    case EDDY_INT32:
        return sum_rows_I32;
    case EDDY_INT64:
        return sum_rows_I64;
    case EDDY_COMPLEX64:
        return sum_rows_C64;
    default:
        return sum_rows_C128;
    }
}

/*
 * Sums `t` over the labels that are not in `kept`; what is left is dense in
 * `*scratch`, or in `data` if that is not NULL, in the order given.
 */
static eddy_status reduce(const job *j, eddy__labelled *t, uint32_t kept,
                          const sequence *order, void *data,
                          eddy_tensor **scratch)
{
    eddy__labelled rows = {.data = t->data}, all;
    sequence own = {.n = 0};
    eddy_tensor *packed = NULL;
    eddy_status status = EDDY_OK;
    int64_t n;

    append_labels(&own, t, ~kept);
    append_from(&rows, t, kept, order);
    all = rows;
    append_from(&all, t, ~kept, &own);
    n = count_of(&rows);
    EDDY_TRY(pack(j, &all, &packed));
    if (!data) {
        status = eddy__scratch(j->kernel, j->dtype, n, scratch);
        data = status == EDDY_OK ? (*scratch)->data : NULL;
    }
    if (status == EDDY_OK) {
        sum_of(j->dtype)(data, all.data, n, n > 0 ? count_of(&all) / n : 0);
        make_dense(&rows);
        rows.data = data;
        *t = rows;
    }
    eddy__scratch_free(j->kernel, packed);
    return status;
}

/* Where an operation's result is to go. */
typedef struct target {
    eddy__labelled dims; /* each label once */
    sequence order;
    uint32_t set;
    void *data;
    bool is_dense;
} target;

/* Puts a result that stands elsewhere where it is to go. */
static void deliver(eddy_kernel *k, const eddy__labelled *result,
                    const target *to, size_t size)
{
    if (result->data != to->data)
        copy_labelled(k, result, &to->dims, size, to->data);
}

static eddy_status contract_one(const job *j, eddy__labelled *a,
                                const target *to)
{
    eddy_tensor *scratch = NULL;

    if (label_set(a) != to->set)
        EDDY_TRY(reduce(j, a, to->set, &to->order,
                        to->is_dense ? to->data : NULL, &scratch));
    deliver(j->kernel, a, to, eddy_dtype_size(j->dtype));
    eddy__scratch_free(j->kernel, scratch);
    return EDDY_OK;
}

/* ---- two operands ---- */

/* A factor as matrices: batch dimensions, then those of rows and columns. */
typedef struct factor {
    eddy__labelled dims;
    int32_t n_batch;
    bool is_transposed; /* those of columns come before those of rows */
    eddy_tensor *scratch;
} factor;

/* The labels of a product, by who has them. */
typedef struct roles {
    uint32_t batch, free_a, free_b, inner;
    sequence order;
} roles;

static roles roles_of(const eddy__labelled *a, const eddy__labelled *b,
                      const target *to)
{
    const uint32_t in_a = label_set(a), in_b = label_set(b);
    roles r = {.batch = in_a & in_b & to->set,
               .free_a = in_a & ~in_b,
               .free_b = in_b & ~in_a,
               .inner = in_a & in_b & ~to->set,
               .order = to->order};

    append_labels(&r.order, a, r.inner);
    return r;
}

static eddy__labelled arranged(const eddy__labelled *t, const roles *r,
                               uint32_t second, uint32_t third)
{
    eddy__labelled dims = {.data = t->data};

    append_from(&dims, t, r->batch, &r->order);
    append_from(&dims, t, second, &r->order);
    append_from(&dims, t, third, &r->order);
    return dims;
}

/* As it stands, if it is matrices or their transposes; else as a copy. */
static eddy_status lay_out(const job *j, const eddy__labelled *t,
                           const roles *r, uint32_t rows, uint32_t columns,
                           factor *f)
{
    const eddy__labelled turned = arranged(t, r, columns, rows);

    f->dims = arranged(t, r, rows, columns);
    while (f->n_batch < f->dims.rank &&
           (r->batch >> f->dims.labels[f->n_batch] & 1u))
        f->n_batch++;
    if (is_dense(&f->dims, f->n_batch))
        return EDDY_OK;
    f->is_transposed = is_dense(&turned, f->n_batch);
    if (!f->is_transposed)
        return pack(j, &f->dims, &f->scratch);
    f->dims = turned;
    return EDDY_OK;
}

static int64_t count_in(const eddy__labelled *t, uint32_t set)
{
    int64_t n = 1;

    for (int32_t d = 0; d < t->rank; d++)
        if (set >> t->labels[d] & 1u)
            n *= t->dims[d];
    return n;
}

static void multiply(const job *j, const factor *a, const factor *b,
                     const roles *r, void *data)
{
    const size_t size = eddy_dtype_size(j->dtype);
    eddy__products all = {
        .one = {.kernel = j->kernel,
                .m = count_in(&a->dims, r->free_a),
                .n = count_in(&b->dims, r->free_b),
                .k = count_in(&a->dims, r->inner),
                .transpose_a = a->is_transposed,
                .transpose_b = b->is_transposed,
                .a = a->dims.data,
                .b = b->dims.data,
                .out = data},
        .multiply = eddy__product_of(j->dtype),
        .size_a = size,
        .size_b = size,
        .size_out = size,
        .rank = a->n_batch,
    };

    for (int32_t d = 0; d < a->n_batch; d++) {
        all.dims[d] = a->dims.dims[d];
        all.step_a[d] = a->dims.steps[d];
        all.step_b[d] = b->dims.steps[d];
    }
    eddy__product_all(&all);
}

/* The product's own order: batch, rows, columns. */
static eddy__labelled product_dims(const roles *r, const target *to)
{
    eddy__labelled dims = arranged(&to->dims, r, r->free_a, r->free_b);

    make_dense(&dims);
    return dims;
}

static bool same_order(const eddy__labelled *a, const eddy__labelled *b)
{
    return memcmp(a->labels, b->labels, (size_t)a->rank) == 0;
}

static eddy_status multiply_to(const job *j, const eddy__labelled *a,
                               const eddy__labelled *b, const target *to)
{
    const roles r = roles_of(a, b, to);
    eddy__labelled dims = product_dims(&r, to);
    const bool in_place = to->is_dense && same_order(&dims, &to->dims);
    factor left = {.n_batch = 0}, right = {.n_batch = 0};
    eddy_tensor *scratch = NULL;
    eddy_status status;

    status = lay_out(j, a, &r, r.free_a, r.inner, &left);
    if (status == EDDY_OK)
        status = lay_out(j, b, &r, r.inner, r.free_b, &right);
    if (status == EDDY_OK && !in_place)
        status = eddy__scratch(j->kernel, j->dtype, count_of(&dims), &scratch);
    if (status == EDDY_OK) {
        void *data = in_place ? to->data : scratch->data;

        multiply(j, &left, &right, &r, data);
        dims.data = data;
        deliver(j->kernel, &dims, to, eddy_dtype_size(j->dtype));
    }
    eddy__scratch_free(j->kernel, scratch);
    eddy__scratch_free(j->kernel, right.scratch);
    eddy__scratch_free(j->kernel, left.scratch);
    return status;
}

/* Sums away the labels that only `t` has. */
static eddy_status drop_own(const job *j, eddy__labelled *t, uint32_t others,
                            eddy_tensor **scratch)
{
    sequence order = {.n = 0};

    if ((label_set(t) & ~others) == 0)
        return EDDY_OK;
    append_labels(&order, t, others);
    return reduce(j, t, others, &order, NULL, scratch);
}

static eddy_status contract_two(const job *j, eddy__labelled *a,
                                eddy__labelled *b, const target *to)
{
    const uint32_t in_a = label_set(a), in_b = label_set(b);
    eddy_tensor *sum_a = NULL, *sum_b = NULL;
    eddy_status status = drop_own(j, a, in_b | to->set, &sum_a);

    if (status == EDDY_OK)
        status = drop_own(j, b, in_a | to->set, &sum_b);
    if (status == EDDY_OK) {
        const roles r = roles_of(a, b, to), turned = roles_of(b, a, to);
        const eddy__labelled dims = product_dims(&r, to);
        const eddy__labelled turned_dims = product_dims(&turned, to);

        /* The transposed product of the transposed factors may fit better. */
        if (!same_order(&dims, &to->dims) &&
            same_order(&turned_dims, &to->dims))
            status = multiply_to(j, b, a, to);
        else
            status = multiply_to(j, a, b, to);
    }
    eddy__scratch_free(j->kernel, sum_b);
    eddy__scratch_free(j->kernel, sum_a);
    return status;
}

/* ---- both ---- */

eddy_status eddy__contract(eddy_kernel *k, eddy_dtype dtype,
                           const eddy__labelled *operands, int32_t n,
                           const eddy__labelled *out, void *data)
{
    target to = {.dims = diagonal_of(out), .set = label_set(out), .data = data};
    eddy__labelled a = diagonal_of(&operands[0]), b;
    const job j = {k, dtype};
    const int64_t count = count_of(out);

    if (count == 0)
        return EDDY_OK;
    append_labels(&to.order, &to.dims, to.set);
    to.is_dense = is_dense(&to.dims, 0) && to.dims.rank == out->rank;
    if (to.dims.rank < out->rank)
        eddy__zero_bytes(k, data, (size_t)count * eddy_dtype_size(dtype));
    if (n == 1)
        return contract_one(&j, &a, &to);
    b = diagonal_of(&operands[1]);
    return contract_two(&j, &a, &b, &to);
}
