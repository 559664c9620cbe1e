/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of a value: least, greatest and mean of its finite elements, how
 * many are NaN and infinite, and a hash over dtype, shape and bytes.
 *
 * Of a list, that of all its elements, if they are not too many.
 *
 * The hash is FNV-1a, or that of tally.h of many bytes, with a final mix.  NaNs
 * are hashed as they lie in memory: it is for comparing runs, in which the same
 * value has the same bits.
 */
#include "runtime/exec/trace/tally.h"
#include "runtime/exec/trace/trace.h"

#include "core/value/list.h"

#include <math.h>
#include <string.h>

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t n)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * FNV_PRIME;
    return hash;
}

/* The constants are those of MurmurHash3's end. */
static uint64_t finish_hash(uint64_t hash)
{
    hash ^= hash >> 33;
    hash *= UINT64_C(0xff51afd7ed558ccd);
    hash ^= hash >> 33;
    hash *= UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ hash >> 33;
}

/* ---- elements as doubles ---- */

static size_t parts_of(eddy_dtype dtype)
{
    return dtype == EDDY_COMPLEX64 || dtype == EDDY_COMPLEX128 ? 2 : 1;
}

static bool may_be_non_finite(eddy_dtype dtype)
{
    switch (dtype) {
    case EDDY_FLOAT16:
    case EDDY_BFLOAT16:
    case EDDY_FLOAT32:
    case EDDY_FLOAT64:
    case EDDY_COMPLEX64:
    case EDDY_COMPLEX128:
        return true;
    default:
        return false;
    }
}

/* Element `i`, parts of complex numbers counted singly. */
static double element(eddy_dtype dtype, const void *data, int64_t i)
{
    switch (dtype) {
    case EDDY_FLOAT16:
        return (double)eddy_float16_to_float(((const uint16_t *)data)[i]);
    case EDDY_BFLOAT16:
        return (double)eddy_bfloat16_to_float(((const uint16_t *)data)[i]);
    case EDDY_FLOAT32:
    case EDDY_COMPLEX64:
        return (double)((const float *)data)[i];
    case EDDY_FLOAT64:
    case EDDY_COMPLEX128:
        return ((const double *)data)[i];
    case EDDY_INT8:
        return ((const int8_t *)data)[i];
    case EDDY_INT16:
        return ((const int16_t *)data)[i];
    case EDDY_INT32:
        return ((const int32_t *)data)[i];
    case EDDY_INT64:
        return (double)((const int64_t *)data)[i];
    case EDDY_UINT8:
    case EDDY_BOOL:
        return ((const uint8_t *)data)[i];
    case EDDY_UINT16:
        return ((const uint16_t *)data)[i];
    case EDDY_UINT32:
        return ((const uint32_t *)data)[i];
    case EDDY_UINT64:
        return (double)((const uint64_t *)data)[i];
    default:
        return 0;
    }
}

static void tally_numbers(const eddy_view *view, eddy__tally *t)
{
    const int64_t n = view->count * (int64_t)parts_of(view->dtype);

    for (int64_t i = eddy__tally_finite(view->dtype, view->data, n, t); i < n;
         i++) {
        const double x = element(view->dtype, view->data, i);

        if (isnan(x)) {
            t->n_nan++;
        } else if (isinf(x)) {
            t->n_infinite++;
        } else {
            t->min = t->n_finite == 0 || x < t->min ? x : t->min;
            t->max = t->n_finite == 0 || x > t->max ? x : t->max;
            t->sum += x;
            t->n_finite++;
        }
    }
}

static void put_tally(const eddy__tally *t, eddy_trace_value *out)
{
    out->min = t->min;
    out->max = t->max;
    out->mean = t->n_finite > 0 ? t->sum / (double)t->n_finite : 0;
    out->n_nan = t->n_nan;
    out->n_infinite = t->n_infinite;
}

static void describe_numbers(const eddy_view *view, eddy_trace_value *out)
{
    eddy__tally t = {.n_finite = 0};

    tally_numbers(view, &t);
    put_tally(&t, out);
    if (view->count * (int64_t)parts_of(view->dtype) == 1)
        out->min = out->max = out->mean = element(view->dtype, view->data, 0);
}

static uint64_t hash_strings(uint64_t hash, const eddy_view *view)
{
    const eddy__string *strings = view->data;

    for (int64_t i = 0; i < view->count; i++) {
        hash = hash_bytes(hash, &strings[i].length, sizeof strings[i].length);
        hash = hash_bytes(hash, strings[i].data, strings[i].length);
    }
    return hash;
}

static void describe_elements(const eddy__value *value, eddy_trace_value *out)
{
    const eddy_view view = eddy__view(value);
    const size_t size = eddy_dtype_size(view.dtype);
    uint64_t hash = FNV_OFFSET;

    out->shape.rank = view.rank;
    out->count = view.count;
    for (int32_t i = 0; i < view.rank; i++)
        out->shape.dims[i] = view.dims[i];
    hash = hash_bytes(hash, &value->dtype, sizeof value->dtype);
    hash = eddy__tally_hash(hash, out->shape.dims,
                            (size_t)view.rank * sizeof *out->shape.dims);
    if (view.dtype == EDDY_STRING)
        hash = hash_strings(hash, &view);
    else
        hash = eddy__tally_hash(hash, view.data, (size_t)view.count * size);
    out->hash = finish_hash(hash);
    if (size == 0)
        return;
    if (view.rank == 0 && size <= sizeof out->bits)
        memcpy(&out->bits, view.data, size);
    describe_numbers(&view, out);
}

/* ---- lists ---- */

/*
 * Elements of a list that are looked at: one that grows by an item a trip is
 * put out in every trip.
 */
#define MOST_ELEMENTS 4096

/* Is it so short, and all of it tensors of numbers? */
static bool is_summable(const eddy__list *list)
{
    int64_t n = list->count;

    for (int64_t i = 0; i < list->count && n <= MOST_ELEMENTS; i++) {
        const eddy__value *item = eddy__list_get(list, i);

        if (item->kind == EDDY__NONE)
            continue;
        if (!eddy__value_has_elements(item) ||
            eddy_dtype_size((eddy_dtype)item->dtype) == 0)
            return false;
        n += eddy__view(item).count;
    }
    return n <= MOST_ELEMENTS;
}

static void describe_list(const eddy__list *list, eddy_trace_value *out)
{
    uint64_t hash = hash_bytes(FNV_OFFSET, &list->count, sizeof list->count);
    eddy__tally t = {.n_finite = 0};

    out->count = list->count;
    if (!is_summable(list))
        return;
    for (int64_t i = 0; i < list->count; i++) {
        const eddy__value *item = eddy__list_get(list, i);
        eddy_trace_value one = {.hash = 0};

        if (item->kind != EDDY__NONE) {
            const eddy_view view = eddy__view(item);

            describe_elements(item, &one);
            tally_numbers(&view, &t);
        }
        hash = hash_bytes(hash, &one.hash, sizeof one.hash);
    }
    put_tally(&t, out);
    out->hash = finish_hash(hash);
}

void eddy__trace_summarise(const eddy__value *value, eddy_trace_value *out)
{
    *out = (eddy_trace_value){.dtype = EDDY_INVALID};
    if (!value || value->kind == EDDY__NONE)
        return;
    out->dtype = (eddy_dtype)value->dtype;
    if (eddy__value_has_elements(value))
        describe_elements(value, out);
    else if (eddy__value_is_list(value))
        describe_list(value->as.list, out);
}

static bool are_non_finite(const eddy__value *value)
{
    const eddy_view view = eddy__view(value);
    const int64_t n = view.count * (int64_t)parts_of(view.dtype);

    if (!may_be_non_finite(view.dtype))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(element(view.dtype, view.data, i)))
            return true;
    return false;
}

static bool has_non_finite(const eddy__list *list)
{
    if (!is_summable(list))
        return false;
    for (int64_t i = 0; i < list->count; i++) {
        const eddy__value *item = eddy__list_get(list, i);

        if (item->kind != EDDY__NONE && are_non_finite(item))
            return true;
    }
    return false;
}

bool eddy__trace_is_non_finite(const eddy__value *value)
{
    if (value->kind == EDDY__NONE)
        return false;
    if (eddy__value_is_list(value))
        return has_non_finite(value->as.list);
    return eddy__value_has_elements(value) && are_non_finite(value);
}
