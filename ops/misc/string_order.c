/* SPDX-License-Identifier: Apache-2.0 */
/*
 * _StringOrder: where the texts of a vector stand in ascending order of their
 * bytes, which is that of the code points in UTF-8.
 */
#include "ops/misc/text.h"
#include "ops/ops.h"

#include <string.h>

/* What a comparison counts. */
#define ORDER_WORK 32

static bool comes_first(const eddy__string *a, const eddy__string *b)
{
    const size_t n = a->length < b->length ? a->length : b->length;
    const int difference = n > 0 ? memcmp(a->data, b->data, n) : 0;

    return difference < 0 || (difference == 0 && a->length < b->length);
}

/* Two sorted runs, [first, middle) and [middle, end). */
typedef struct runs {
    int64_t first, middle, end;
} runs;

/* Merges both. */
static void merge(eddy_kernel *k, const eddy__string *texts,
                  const int64_t *from, const runs *r, int64_t *to)
{
    const int64_t middle = r->middle, end = r->end;
    int64_t a = r->first, b = middle;

    for (int64_t i = a; i < end && !eddy__spent(k, ORDER_WORK); i++) {
        const bool takes_a =
            a < middle &&
            (b == end || !comes_first(&texts[from[b]], &texts[from[a]]));

        to[i] = takes_a ? from[a++] : from[b++];
    }
}

/* Sorts 0 to n - 1; tells in which of the two rooms they are then. */
static const int64_t *sort(eddy_kernel *k, const eddy__string *texts, int64_t n,
                           int64_t *places, int64_t *room)
{
    for (int64_t i = 0; i < n && !eddy__spent_at(k, i); i++)
        places[i] = i;
    for (int64_t step = 1; step < n && !eddy__gave_up(k); step *= 2) {
        int64_t *sorted = room;

        for (int64_t first = 0; first < n; first += 2 * step) {
            const int64_t middle = step < n - first ? first + step : n;
            const int64_t end = step < n - middle ? middle + step : n;
            const runs both = {first, middle, end};

            merge(k, texts, places, &both, sorted);
        }
        room = places;
        places = sorted;
    }
    return places;
}

static eddy_status run_order(eddy_kernel *k)
{
    const eddy_shape shape = *eddy__in_shape(k, 0);
    eddy_tensor *room = NULL;
    const int64_t *sorted;
    void *out;

    if (shape.rank != 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "texts must be a vector, but they have shape %s",
                           eddy__shape_print(&shape).text);
    EDDY_TRY(eddy__output(k, 0, EDDY_INT64, &shape, &out));
    EDDY_TRY(eddy__new_tensor(k, EDDY_INT64, &shape, &room));
    sorted = sort(k, eddy__in_strings(k, 0), shape.dims[0], out, room->data);
    if (sorted != out && shape.dims[0] > 0 && !eddy__gave_up(k))
        memcpy(out, sorted, (size_t)shape.dims[0] * sizeof *sorted);
    eddy__tensor_recycle(k->heap, room);
    return eddy__go_on(k, 0);
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW_OF("_StringOrder", "ONNX Unique", .inputs = "texts: string",
                    .outputs = "order: int64", .infer = eddy__infer_unchanged,
                    .kernel = run_order, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                    .doc = "Where each text of a vector stands, in ascending "
                           "order of their bytes; equal ones as they come."),
};

const eddy__op_table eddy__string_order_ops = {specs, NULL,
                                               sizeof specs / sizeof *specs};
