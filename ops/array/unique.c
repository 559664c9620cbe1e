/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unique: the different elements of a vector, in the order in which they first
 * come, and for each element the number of the one that it equals;
 * UniqueWithCounts says also how often each comes.  UniqueV2 and
 * UniqueWithCountsV2 compare slices along an axis in place of elements.
 *
 * The two zeros of a float are equal, and a NaN equals nothing.
 */
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

/*
 * The items, and a table that finds them by what they are.  An item is a slice
 * of `dim`: `outer` runs of `inner` elements each.  That of a vector is one
 * element, so that both are 1.
 */
typedef struct lookup {
    const unsigned char *elements;
    size_t size;
    eddy_dtype dtype;
    int64_t outer, dim, inner;
    int64_t *slots; /* number of a different element + 1, or 0 */
    int64_t *first; /* a different element: where it first came */
    uint64_t mask;  /* slots - 1 */
    int64_t n;      /* different elements so far */
} lookup;

static uint64_t mix(uint64_t h)
{
    h ^= h >> 31;
    h *= 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t hash_bytes(const char *data, size_t length)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)data[i]) * 0x100000001b3u;
    return mix(h);
}

/* What an element is compared by; the second is 0 but of a complex128. */
typedef struct key {
    uint64_t bits[2];
} key;

/*
 * A number's bits, with one zero; false for a NaN.  Denormals are zeros where
 * arithmetic flushes them.
 */
static bool half_key(uint64_t bits, uint64_t *out_bits)
{
    *out_bits = (bits & 0x7fff) == 0 ? 0 : bits;
    return (bits & 0x7fff) <= 0x7c00;
}

static bool single_key(uint64_t bits, uint64_t *out_bits)
{
    const uint32_t low = (uint32_t)bits;
    float value;

    memcpy(&value, &low, sizeof value);
    *out_bits = value == 0 ? 0 : bits;
    return value == value;
}

static bool double_key(uint64_t bits, uint64_t *out_bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    *out_bits = value == 0 ? 0 : bits;
    return value == value;
}

static bool complex_key(uint64_t bits, uint64_t *out_bits)
{
    uint64_t low, high;
    bool is_number =
        single_key(bits & UINT32_MAX, &low) && single_key(bits >> 32, &high);

    *out_bits = is_number ? high << 32 | low : 0;
    return is_number;
}

/* False if the element equals nothing. */
static bool number_key(const lookup *l, int64_t i, key *out_key)
{
    uint64_t bits[2] = {0, 0};

    memcpy(bits, l->elements + (size_t)i * l->size, l->size);
    memcpy(out_key->bits, bits, sizeof bits);
    switch (l->dtype) {
    case EDDY_FLOAT16:
        return half_key(bits[0], &out_key->bits[0]);
    case EDDY_BFLOAT16:
        /* The upper half of a float32, so its key is one as well. */
        return single_key(bits[0] << 16, &out_key->bits[0]);
    case EDDY_FLOAT32:
        return single_key(bits[0], &out_key->bits[0]);
    case EDDY_FLOAT64:
        return double_key(bits[0], &out_key->bits[0]);
    case EDDY_COMPLEX64:
        return complex_key(bits[0], &out_key->bits[0]);
    case EDDY_COMPLEX128:
        return double_key(bits[0], &out_key->bits[0]) &&
               double_key(bits[1], &out_key->bits[1]);
    default:
        return true;
    }
}

static const eddy__string *string_at(const lookup *l, int64_t i)
{
    return (const eddy__string *)(const void *)l->elements + i;
}

static uint64_t hash_element(const lookup *l, int64_t i)
{
    key of;

    if (l->dtype == EDDY_STRING)
        return hash_bytes(string_at(l, i)->data, string_at(l, i)->length);
    /* NaNs would all meet in one place. */
    return number_key(l, i, &of) ? mix(of.bits[0] ^ mix(of.bits[1]))
                                 : mix((uint64_t)i);
}

static bool are_equal(const lookup *l, int64_t a, int64_t b)
{
    key x, y;

    if (l->dtype == EDDY_STRING)
        return string_at(l, a)->length == string_at(l, b)->length &&
               (string_at(l, a)->length == 0 ||
                memcmp(string_at(l, a)->data, string_at(l, b)->data,
                       string_at(l, a)->length) == 0);
    return number_key(l, a, &x) && number_key(l, b, &y) &&
           memcmp(&x, &y, sizeof x) == 0;
}

/* Where element `j` of item `i` stands. */
static int64_t place(const lookup *l, int64_t i, int64_t j)
{
    return (j / l->inner * l->dim + i) * l->inner + j % l->inner;
}

static uint64_t hash_item(const lookup *l, int64_t i)
{
    const int64_t width = l->outer * l->inner;
    uint64_t h = 0;

    if (width == 1)
        return hash_element(l, i);
    for (int64_t j = 0; j < width; j++)
        h = mix(h * 31 + hash_element(l, place(l, i, j)));
    return h;
}

static bool are_equal_items(const lookup *l, int64_t a, int64_t b)
{
    const int64_t width = l->outer * l->inner;

    if (width == 1)
        return are_equal(l, a, b);
    for (int64_t j = 0; j < width; j++)
        if (!are_equal(l, place(l, a, j), place(l, b, j)))
            return false;
    return true;
}

/* The number of the different item that item `i` is; it may be new. */
static int64_t find(lookup *l, int64_t i)
{
    uint64_t slot = hash_item(l, i) & l->mask;

    while (l->slots[slot] != 0) {
        int64_t number = l->slots[slot] - 1;

        if (are_equal_items(l, l->first[number], i))
            return number;
        slot = (slot + 1) & l->mask;
    }
    l->first[l->n] = i;
    l->slots[slot] = ++l->n;
    return l->n - 1;
}

/* What an element of an item counts, which may be far from the last one. */
#define ITEM_WORK 32

/* Numbers all elements. */
static void number_all(eddy_kernel *k, lookup *l, int64_t count,
                       eddy_dtype dtype, unsigned char *out)
{
    const int64_t work = ITEM_WORK * l->outer * l->inner;

    for (int64_t i = 0; i < count && !eddy__spent(k, work); i++) {
        int64_t number = find(l, i);

        if (dtype == EDDY_INT32)
            ((int32_t *)(void *)out)[i] = (int32_t)number;
        else
            ((int64_t *)(void *)out)[i] = number;
    }
}

/*
 * Room for `count` different elements, in one tensor that lasts as long; NULL
 * without memory.
 */
static eddy_tensor *create_table(eddy_kernel *k, lookup *l, int64_t count)
{
    eddy_tensor *table;
    eddy_shape shape;
    int64_t slots = 2;

    while (slots < 2 * count)
        slots *= 2;
    shape = eddy__shape_vector(slots + count);
    table = eddy__tensor_create(k->heap, k->account, k->allocator, EDDY_INT64,
                                &shape);
    if (!table)
        return NULL;
    l->slots = table->data;
    l->first = l->slots + slots;
    l->mask = (uint64_t)slots - 1;
    eddy__zero_bytes(k, l->slots, (size_t)slots * sizeof *l->slots);
    return table;
}

/* The different items, in the shape of the input but along `axis`. */
static eddy_status put_different(eddy_kernel *k, const lookup *l, int32_t axis)
{
    const size_t run = (size_t)l->inner * l->size;
    /* Strings are all put or none: half an output would be the input's. */
    const int64_t spent = l->dtype == EDDY_STRING ? 0 : ITEM_WORK + l->inner;
    eddy_shape shape = *eddy__in_shape(k, 0);
    unsigned char *out;

    shape.dims[axis] = l->n;
    EDDY_TRY(eddy__output_elements(k, 0, l->dtype, &shape, &out));
    if (run > 0)
        for (int64_t o = 0; o < l->outer; o++)
            for (int64_t i = 0; i < l->n && !eddy__spent(k, spent);
                 i++, out += run)
                memcpy(out,
                       l->elements + (size_t)(o * l->dim + l->first[i]) * run,
                       run);
    return eddy__elements_done(k, 0);
}

/* How many elements have each number. */
static void count_all(eddy_kernel *k, eddy_dtype dtype, const void *numbers,
                      int64_t n, void *out)
{
    const int64_t different = eddy__out(k, 2)->as.tensor->count;

    eddy__zero_bytes(k, out, (size_t)different * eddy_dtype_size(dtype));
    for (int64_t i = 0; i < n && !eddy__spent_at(k, i); i++)
        if (dtype == EDDY_INT32)
            ((int32_t *)out)[((const int32_t *)numbers)[i]]++;
        else
            ((int64_t *)out)[((const int64_t *)numbers)[i]]++;
}

/* Output 2, if there is one, of the numbers that output 1 has. */
static eddy_status put_counts(eddy_kernel *k, const lookup *l, eddy_dtype index,
                              const void *numbers)
{
    const eddy_shape shape = eddy__shape_vector(l->n);
    void *out;

    if (k->node->n_out < 3)
        return EDDY_OK;
    EDDY_TRY(eddy__output(k, 2, index, &shape, &out));
    if (l->n > 0)
        count_all(k, index, numbers, l->dim, out);
    return eddy__go_on(k, 0);
}

/* Numbers the slices of input 0 along `axis`. */
static eddy_status number_slices(eddy_kernel *k, int32_t axis)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    const eddy_dtype index = (eddy_dtype)k->node->out_dtypes[1];
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    const eddy_shape numbers = eddy__shape_vector(of->dims[axis]);
    lookup l = {.elements = eddy__in_elements(k, 0),
                .size = eddy__element_size(dtype),
                .dtype = dtype,
                .outer = 1,
                .dim = of->dims[axis],
                .inner = 1};
    unsigned char *out;
    eddy_tensor *table;
    eddy_status status;

    for (int32_t d = 0; d < of->rank; d++)
        *(d < axis ? &l.outer : &l.inner) *= d == axis ? 1 : of->dims[d];
    if (index == EDDY_INT32 && l.dim > INT32_MAX)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "%" PRId64 " elements are too many for int32",
                           l.dim);
    EDDY_TRY(eddy__output_elements(k, 1, index, &numbers, &out));
    table = create_table(k, &l, l.dim);
    if (!table)
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                           "no memory for a table of %" PRId64 " elements",
                           l.dim);
    if (!eddy__gave_up(k))
        number_all(k, &l, l.dim, index, out);
    /* Numbers that are not there count nothing. */
    status = eddy__go_on(k, 0);
    if (status == EDDY_OK)
        status = put_counts(k, &l, index, out);
    if (status == EDDY_OK)
        status = put_different(k, &l, axis);
    eddy__tensor_recycle(k->heap, table);
    return status;
}

static eddy_status want_vector(eddy_kernel *k)
{
    const eddy_shape *of = eddy__in_shape(k, 0);

    if (of->rank == 1)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                       "x must be a vector, but it has shape %s",
                       eddy__shape_print(of).text);
}

static eddy_status run_unique(eddy_kernel *k)
{
    EDDY_TRY(want_vector(k));
    return number_slices(k, 0);
}

/* The axis is a vector of none, which is as Unique, or one. */
static eddy_status run_unique_v2(eddy_kernel *k)
{
    const eddy_shape *of = eddy__in_shape(k, 1);
    eddy_view view = eddy__in_view(k, 1);
    int32_t axis;

    if (of->rank != 1 || of->dims[0] > 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the axis must be a vector of at most one element, "
                           "but it has shape %s",
                           eddy__shape_print(of).text);
    if (of->dims[0] == 0)
        return run_unique(k);
    EDDY_TRY(eddy__axis(k, eddy__view_index(&view, 0),
                        eddy__in_shape(k, 0)->rank, &axis));
    return number_slices(k, axis);
}

/* ---- ListDiff ---- */

/* Keeps in `kept` which of `n` elements from `first` are among none before. */
static int64_t keep_others(eddy_kernel *k, lookup *l, int64_t first, int64_t n,
                           int64_t *kept)
{
    int64_t others = 0;
    int64_t known;

    for (int64_t i = 0; i < first && !eddy__spent(k, ITEM_WORK); i++)
        (void)find(l, i);
    known = l->n;
    for (int64_t i = 0; i < n && !eddy__spent(k, ITEM_WORK); i++)
        if (find(l, first + i) >= known)
            kept[others++] = i;
    return others;
}

static eddy_status put_others(eddy_kernel *k, const lookup *l,
                              const unsigned char *x, const int64_t *kept,
                              int64_t n)
{
    const eddy_dtype index = (eddy_dtype)k->node->out_dtypes[1];
    const eddy_shape shape = eddy__shape_vector(n);
    const int64_t spent = l->dtype == EDDY_STRING ? 0 : ITEM_WORK;
    unsigned char *out, *at;

    EDDY_TRY(eddy__output_elements(k, 1, index, &shape, &at));
    EDDY_TRY(eddy__output_elements(k, 0, l->dtype, &shape, &out));
    for (int64_t i = 0; i < n && !eddy__spent(k, spent); i++) {
        memcpy(out + (size_t)i * l->size, x + (size_t)kept[i] * l->size,
               l->size);
        if (index == EDDY_INT32)
            ((int32_t *)(void *)at)[i] = (int32_t)kept[i];
        else
            ((int64_t *)(void *)at)[i] = kept[i];
    }
    return eddy__elements_done(k, 0);
}

/* Both inputs' elements, y's first, in one tensor of bytes; NULL without
   memory. */
static eddy_tensor *join_elements(eddy_kernel *k, int64_t x, int64_t y,
                                  size_t size)
{
    const eddy_shape bytes = eddy__shape_vector((x + y) * (int64_t)size);
    eddy_tensor *both = eddy__tensor_create(k->heap, k->account, k->allocator,
                                            EDDY_UINT8, &bytes);

    if (!both)
        return NULL;
    if (y > 0)
        eddy__copy_bytes(k, both->data, eddy__in_elements(k, 1),
                         (size_t)y * size);
    if (x > 0)
        eddy__copy_bytes(k, (unsigned char *)both->data + (size_t)y * size,
                         eddy__in_elements(k, 0), (size_t)x * size);
    return both;
}

static eddy_status find_others(eddy_kernel *k, lookup *l, int64_t x, int64_t y,
                               int64_t *kept)
{
    int64_t n;

    /* Neither elements nor the table may be there in part. */
    EDDY_TRY(eddy__go_on(k, 0));
    n = keep_others(k, l, y, x, kept);
    EDDY_TRY(eddy__go_on(k, 0));
    return put_others(k, l, eddy__in_elements(k, 0), kept, n);
}

static eddy_status diff(eddy_kernel *k, lookup *l, int64_t x, int64_t y)
{
    const eddy_shape of_kept = eddy__shape_vector(x);
    eddy_tensor *table = create_table(k, l, x + y);
    eddy_tensor *kept = eddy__tensor_create(k->heap, k->account, k->allocator,
                                            EDDY_INT64, &of_kept);
    eddy_status status;

    if (table && kept)
        status = find_others(k, l, x, y, kept->data);
    else
        status =
            eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                        "no memory for a table of %" PRId64 " elements", x + y);
    if (table)
        eddy__tensor_recycle(k->heap, table);
    if (kept)
        eddy__tensor_recycle(k->heap, kept);
    return status;
}

static eddy_status run_diff(eddy_kernel *k)
{
    const eddy_shape *x = eddy__in_shape(k, 0), *y = eddy__in_shape(k, 1);
    const eddy_dtype index = (eddy_dtype)k->node->out_dtypes[1];
    lookup l = {.dtype = eddy__in_dtype(k, 0), .outer = 1, .inner = 1};
    eddy_tensor *both;
    eddy_status status;

    if (x->rank != 1 || y->rank != 1 ||
        (index == EDDY_INT32 && x->dims[0] > INT32_MAX))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "x and y must be vectors, x's length must fit in "
                           "%s, but they have shapes %s and %s",
                           eddy_dtype_name(index), eddy__shape_print(x).text,
                           eddy__shape_print(y).text);
    l.size = eddy__element_size(l.dtype);
    both = join_elements(k, x->dims[0], y->dims[0], l.size);
    if (!both)
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                           "no memory for %" PRId64 " elements",
                           x->dims[0] + y->dims[0]);
    l.elements = both->data;
    status = diff(k, &l, x->dims[0], y->dims[0]);
    eddy__tensor_recycle(k->heap, both);
    return status;
}

static eddy_status infer_diff(eddy_infer *infer)
{
    const eddy_shape some = eddy__shape_of_rank(1);

    eddy_infer_set_output(infer, 0, &some);
    eddy_infer_set_output(infer, 1, &some);
    return EDDY_OK;
}

/* ---- Unique, UniqueWithCounts: shapes ---- */

static eddy_status infer_unique(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape different = eddy__shape_of_rank(1);

    eddy_infer_set_output(infer, 0, &different);
    eddy_infer_set_output(infer, 1, of->rank == 1 ? of : &different);
    if (eddy_infer_outputs(infer) == 3)
        eddy_infer_set_output(infer, 2, &different);
    return EDDY_OK;
}

/* Along the axis nothing is known of the first output. */
static eddy_status infer_unique_v2(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    const eddy_shape *which = eddy_infer_input(infer, 1);
    const eddy_shape some = eddy__shape_of_rank(1);
    eddy_shape different = *of;
    eddy_shape numbers = some;
    int32_t axis = 0;

    if (eddy__infer_axis(infer, 1, of->rank, &axis) ||
        (which->rank == 1 && which->dims[0] == 0 && of->rank == 1)) {
        numbers.dims[0] = of->dims[axis];
        different.dims[axis] = -1;
    } else if (of->rank >= 0) {
        different = eddy__shape_of_rank(of->rank);
    }
    eddy_infer_set_output(infer, 0, &different);
    eddy_infer_set_output(infer, 1, &numbers);
    if (eddy_infer_outputs(infer) > 2)
        eddy_infer_set_output(infer, 2, &some);
    return EDDY_OK;
}

#define V2(name, out, text)                                                    \
    EDDY__OP_ROW(name, .inputs = "x: T, axis: Taxis", .outputs = out,          \
                 .attrs =                                                      \
                     "T: type, Taxis: index = int64, out_idx: index = int32",  \
                 .infer = infer_unique_v2, .kernel = run_unique_v2,            \
                 .prepare = eddy__prepare_movable,                             \
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE, .doc = text)

static const eddy_op_spec specs[] = {
    V2("UniqueV2", "y: T, idx: out_idx",
       "The different slices of the input along an axis, and for each its "
       "number among them."),
    V2("UniqueWithCountsV2", "y: T, idx: out_idx, count: out_idx",
       "The same, and how often each different slice comes."),
    EDDY__OP_ROW(
        "ListDiff", .inputs = "x: T, y: T", .outputs = "out: T, idx: out_idx",
        .attrs = "T: type, out_idx: index = int32", .infer = infer_diff,
        .kernel = run_diff, .prepare = eddy__prepare_movable,
        .flags = EDDY_OP_NOT_DIFFERENTIABLE,
        .doc = "The elements of a vector that are not in another, and where "
               "they are."),
    EDDY__OP_ROW("Unique", .inputs = "x: T", .outputs = "y: T, idx: out_idx",
                 .attrs = "T: type, out_idx: index = int32",
                 .infer = infer_unique, .kernel = run_unique,
                 .prepare = eddy__prepare_movable,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The different elements of a vector, and which one "
                        "each element is."),
    EDDY__OP_ROW(
        "UniqueWithCounts", .inputs = "x: T",
        .outputs = "y: T, idx: out_idx, count: out_idx",
        .attrs = "T: type, out_idx: index = int32", .infer = infer_unique,
        .kernel = run_unique, .prepare = eddy__prepare_movable,
        .flags = EDDY_OP_NOT_DIFFERENTIABLE,
        .doc = "Unique, and how often each of the different elements comes."),
};

const eddy__op_table eddy__unique_ops = {specs, NULL,
                                         sizeof specs / sizeof *specs};
