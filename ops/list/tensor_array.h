/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorArrays: items that the nodes of a run write and read by index, behind a
 * handle.
 *
 * An item is written once and may then be read, which by default clears it, so
 * that reads and writes need no order but that of the flow that they pass on.
 * In a gradient's array, which belongs to another of the same size, writes to
 * an index add up, and what was not written is zeros of the shape of the
 * other's item.  An item that was written and has no value is zeros.
 *
 * Memory is made for items as they are written, not for the size.  As long as
 * all of them are scalars they stand bare, and executors read and write them
 * without a kernel (core/value/tape.h).
 */
#ifndef EDDY_OPS_TENSOR_ARRAY_H
#define EDDY_OPS_TENSOR_ARRAY_H

#include "core/value/tape.h"
#include "ops/array/items.h"

typedef struct eddy__array eddy__array;

struct eddy__array {
    eddy__cells cells; /* states always, items only if `is_bare` */
    const char *name;  /* of the plan */
    uint64_t number;   /* among those with names in this run; 0: has a handle */
    uint8_t dtype;     /* eddy_dtype of the items */
    bool is_closed;
    bool is_kept;    /* by a reference to itself, until the run ends */
    bool is_dynamic; /* a write may make it larger */
    bool is_gradient;
    bool is_summing;  /* writes to an index add up */
    bool clears;      /* a read clears the item */
    bool is_uniform;  /* the first write settles the shape */
    eddy_shape shape; /* what all items must agree with */
    int32_t size;
    int32_t split_size; /* of the last Split; -1: none */

    /* Items below `n_items`; those beyond, up to `size`, are as never used. */
    bool is_bare;
    eddy__value *items; /* unless they are bare */
    int32_t n_items, capacity;
    void *block; /* of items, and behind them their states */
    size_t block_size;
    /*
     * The shape of every written item is `item_shape` (rank -1: none is
     * written), or else they stand in `shapes`.
     */
    eddy_shape item_shape;
    eddy_shape *shapes;
    size_t shapes_size;

    eddy__array *gradients; /* a reference to each */
    eddy__array *next;      /* in that list */
    const char *source;     /* of a gradient: its key there; of the plan */

    /* For loops that overlap (ops/list/tensor_array_rows.c). */
    struct eddy__row_wait *waits; /* reads of items that are not there yet */
    bool is_whole;                /* no more items come */
};

extern const eddy__resource_type eddy__array_type;
extern const eddy__resource_saving eddy__array_saving;

/*
 * Makes a new array called `name`, all else of which is to be set, and output 0
 * what stands for it.
 */
eddy_status eddy__array_create(eddy_kernel *k, const char *name,
                               eddy__array **out_array);

/* Makes output 0 what stands for the array. */
eddy_status eddy__array_put_handle(eddy_kernel *k, eddy__array *array);

/* The array behind input 0. */
eddy_status eddy__array_find(eddy_kernel *k, eddy__array **out_array);

void eddy__array_drop_items(eddy__array *array, eddy__heap *heap);

/* An op in its three forms: by a handle, by two strings, by a reference. */
#define EDDY__ARRAY_FORMS(name, more_in, ...)                                  \
    EDDY__OP_ROW(name "V3", .inputs = "handle: resource" more_in,              \
                 __VA_ARGS__),                                                 \
        EDDY__OP_ROW(name "V2", .inputs = "handle: string" more_in,            \
                     __VA_ARGS__),                                             \
        EDDY__OP_ROW(name, .inputs = "handle: ref string" more_in,             \
                     __VA_ARGS__)

/* The array behind input 0, which is open. */
eddy_status eddy__in_array(eddy_kernel *k, eddy__array **out_array);

/* Fails unless the array's dtype is that of `verb` ("read", "write"). */
eddy_status eddy__array_want_dtype(eddy_kernel *k, const eddy__array *array,
                                   eddy_dtype dtype, const char *verb);

/* Writes item `index`, taking over `value`, also on failure. */
eddy_status eddy__array_write(eddy_kernel *k, eddy__array *array, int64_t index,
                              eddy__value *value);

/*
 * Makes items up to `index`, which the caller found to be legal; bare ones as
 * many as there is room for.
 */
eddy_status eddy__array_make_items(eddy_kernel *k, eddy__array *array,
                                   int64_t index);

/* Says that item `index`, which is to be marked as written, has that shape. */
eddy_status eddy__array_set_shape(eddy_kernel *k, eddy__array *array,
                                  int64_t index, const eddy_shape *shape);

/*
 * Makes item `index` of that state, which is to be one that was written, and
 * shape; takes over `value`, NONE if it has none.  The array is as yet without
 * an item from there on.
 */
eddy_status eddy__array_restore_item(eddy_kernel *k, eddy__array *array,
                                     int64_t index, uint8_t state,
                                     const eddy_shape *shape,
                                     eddy__value *value);

/*
 * Marks item `index` as read; it stays where it is.  `*out_shape` is borrowed
 * until the next call.
 */
eddy_status eddy__array_read(eddy_kernel *k, eddy__array *array, int64_t index,
                             const eddy_shape **out_shape);

/*
 * Marks items 0 to n - 1 as read, which must be of one shape that agrees with
 * `stated`, as those that a TensorArrayGatherV3 reads.
 */
eddy_status eddy__array_read_alike(eddy_kernel *k, eddy__array *array,
                                   int64_t n, const eddy_shape *stated,
                                   bool may_be_none);

/* Fails with EDDY_E_SHAPE: items `i` and `j` have those two shapes. */
eddy_status eddy__array_fail_unlike(eddy_kernel *k, const eddy__array *array,
                                    int64_t i, const eddy_shape *of_i,
                                    int64_t j, const eddy_shape *of_j);

/* The shape of an item that was written. */
static inline const eddy_shape *eddy__array_shape(const eddy__array *array,
                                                  int64_t index)
{
    return array->shapes ? &array->shapes[index] : &array->item_shape;
}

/*
 * The value of item `index`, which has been read, borrowed from the array;
 * false if it is zeros.
 */
static inline bool eddy__array_item(const eddy__array *array, int64_t index,
                                    eddy__value *out_item)
{
    const size_t size = eddy__tape_bare_size((eddy_dtype)array->dtype);

    if (!array->is_bare) {
        *out_item = array->items[index];
        return out_item->kind != EDDY__NONE;
    }
    *out_item = (eddy__value){.kind = EDDY__SCALAR, .dtype = array->dtype};
    out_item->as.bits =
        eddy__tape_bare_load(array->cells.items + (size_t)index * size, size);
    return (array->cells.states[index] & EDDY__ITEM_FILLED) != 0;
}

/* Drops item `index`, which is not to be read again. */
static inline void eddy__array_drop(eddy_kernel *k, eddy__array *array,
                                    int64_t index)
{
    if (!array->is_bare)
        eddy__value_clear(k->heap, &array->items[index]);
}

/* Lets executors see what they may, after anything else has been changed. */
void eddy__array_publish(eddy__array *array);

/*
 * What the TensorArrayV3 that made the array behind input 0 says of its items,
 * all of which agree with it; unknown where another node made it.
 */
eddy_shape eddy__array_element_shape(const eddy_infer *infer);

/* Makes output 0 the flow of input `i`. */
eddy_status eddy__tensor_array_pass_flow(eddy_kernel *k, uint32_t i);

#endif
