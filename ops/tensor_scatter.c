/*
 * The TensorScatter family: a copy of a tensor, some slices of which are
 * replaced by updates or joined with them, one after the other.
 */
#include "ops/accumulate.h"
#include "ops/elements.h"
#include "ops/nd_index.h"
#include "ops/numeric.h"
#include "ops/ops.h"

#include <string.h>

/* Inputs. */
enum { TENSOR, INDICES, UPDATES };

/* to[i] = to[i] joined with from[i], i < n. */
#define JOIN(D, name, e)                                                       \
    static void name##_##D(unsigned char *to, const unsigned char *from,       \
                           int64_t n)                                          \
    {                                                                          \
        eddy__stored_##D *a = (eddy__stored_##D *)(void *)to;                  \
        const eddy__stored_##D *b =                                            \
            (const eddy__stored_##D *)(const void *)from;                      \
                                                                               \
        for (int64_t i = 0; i < n; i++) {                                      \
            const eddy__computed_##D x = eddy__load_##D(a[i]);                 \
            const eddy__computed_##D y = eddy__load_##D(b[i]);                 \
                                                                               \
            a[i] = EDDY__STORE_##D(e);                                         \
        }                                                                      \
    }

/* A NaN is neither greater nor less, so what was there stays. */
#define EXTREMES(D, ...)                                                       \
    JOIN(D, max, x < y ? y : x)                                                \
    JOIN(D, min, y < x ? y : x)
#define WRAPPED_DIFFERENCE(D, ...)                                             \
    JOIN(D, sub, (eddy__wrapped_##D)x - (eddy__wrapped_##D)y)
#define DIFFERENCE(D, ...) JOIN(D, sub, x - y)

EDDY__EACH_FLOAT(EXTREMES, )
EDDY__EACH_SIGNED(EXTREMES, )
EDDY__EACH_UNSIGNED(EXTREMES, )
EDDY__EACH_FLOAT(DIFFERENCE, )
DIFFERENCE(C64, )
EDDY__EACH_SIGNED(WRAPPED_DIFFERENCE, )
EDDY__EACH_UNSIGNED(WRAPPED_DIFFERENCE, )

#define ENTRY(D, name) [EDDY__DTYPE_##D] = name##_##D,
#define REALS(name)                                                            \
    EDDY__EACH_FLOAT(ENTRY, name)                                              \
    EDDY__EACH_SIGNED(ENTRY, name) EDDY__EACH_UNSIGNED(ENTRY, name)

static const eddy__adder differences[EDDY_DTYPE_COUNT] = {REALS(sub)
                                                              ENTRY(C64, sub)};
static const eddy__adder maxima[EDDY_DTYPE_COUNT] = {REALS(max)};
static const eddy__adder minima[EDDY_DTYPE_COUNT] = {REALS(min)};

/* ---- the kernel ---- */

static eddy_status read_index(eddy_kernel *k, eddy__nd_index *index)
{
    const eddy_shape *of = eddy__in_shape(k, TENSOR);

    if (of->rank < 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the tensor must have at least one dimension");
    EDDY_TRY(eddy__nd_index_read(k, INDICES, of, index));
    EDDY_TRY(eddy__nd_index_fits(k, index, UPDATES));
    return eddy__nd_index_check(k, index);
}

/* A copy of the tensor; of strings, one that borrows them. */
static eddy_status copy_tensor(eddy_kernel *k, const eddy_shape *shape,
                               unsigned char **out)
{
    const eddy_dtype dtype = eddy__in_dtype(k, TENSOR);
    const unsigned char *from = eddy__in_elements(k, TENSOR);
    const size_t size = eddy__element_size(dtype);
    const int64_t count = eddy__in_count(k, TENSOR);
    void *data;

    if (dtype == EDDY_STRING) {
        EDDY_TRY(eddy__output_elements(k, 0, dtype, shape, out));
    } else {
        EDDY_TRY(eddy__output_reusing(k, 0, TENSOR, dtype, shape, &data));
        *out = data;
    }
    if (*out != from && count > 0)
        memcpy(*out, from, (size_t)count * size);
    return EDDY_OK;
}

/* `join` NULL: updates replace what was there. */
static eddy_status scatter(eddy_kernel *k, eddy__adder join)
{
    const unsigned char *updates = eddy__in_elements(k, UPDATES);
    const eddy_shape shape = *eddy__in_shape(k, TENSOR);
    const size_t size = eddy__element_size(eddy__in_dtype(k, TENSOR));
    eddy__nd_index index;
    unsigned char *out;
    size_t bytes;

    EDDY_TRY(read_index(k, &index));
    index.of = &shape;
    EDDY_TRY(copy_tensor(k, &shape, &out));
    bytes = (size_t)index.slice * size;
    for (int64_t i = 0; bytes > 0 && i < index.n; i++) {
        const int64_t slice = eddy__nd_index_find(&index, i);

        if (slice < 0)
            continue;
        if (join)
            join(out + (size_t)slice * bytes, updates + (size_t)i * bytes,
                 index.slice);
        else
            memcpy(out + (size_t)slice * bytes, updates + (size_t)i * bytes,
                   bytes);
    }
    return eddy__elements_done(k, 0);
}

static eddy_status run_update(eddy_kernel *k)
{
    return scatter(k, NULL);
}

static eddy_status run_add(eddy_kernel *k)
{
    return scatter(k, eddy__adder_of(eddy__in_dtype(k, TENSOR)));
}

static eddy_status run_sub(eddy_kernel *k)
{
    return scatter(k, differences[eddy__in_dtype(k, TENSOR)]);
}

static eddy_status run_max(eddy_kernel *k)
{
    return scatter(k, maxima[eddy__in_dtype(k, TENSOR)]);
}

static eddy_status run_min(eddy_kernel *k)
{
    return scatter(k, minima[eddy__in_dtype(k, TENSOR)]);
}

#define ROW(name, dtypes, indices, run, doc)                                   \
    {                                                                          \
        sizeof(eddy_op_spec), name,                                            \
            "tensor: T, indices: Tindices, updates: T", "output: T",           \
            "T: " dtypes ", Tindices: " indices                                \
            ", bad_indices_policy: string = ''",                               \
            eddy__infer_unchanged, run, eddy__nd_index_prepare, 0, doc,        \
            "TensorFlow " name, NULL                                           \
    }

static const eddy_op_spec specs[] = {
    ROW("TensorScatterUpdate", "{number, bool, string}",
        "{int16, int32, int64, uint16}", run_update,
        "the tensor with slices replaced by updates"),
    ROW("TensorScatterAdd", "number", "index", run_add,
        "the tensor with updates added to slices"),
    ROW("TensorScatterSub", "number", "index", run_sub,
        "the tensor with updates subtracted from slices"),
    ROW("TensorScatterMax", "real", "index", run_max,
        "the tensor with slices raised to updates that are greater"),
    ROW("TensorScatterMin", "real", "index", run_min,
        "the tensor with slices lowered to updates that are less"),
};

const eddy__op_table eddy__tensor_scatter_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
