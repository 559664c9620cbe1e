/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value in flight: what one edge carries in one iteration.
 *
 * Sixteen bytes, so that four share a cache line and one moves in a single
 * instruction.  A numeric scalar lives inside it: no allocation, no reference
 * count.  Main invariant: a rank-0 value of a dtype that fits, which is every
 * numeric one but complex128, is always EDDY__SCALAR, never a tensor, so a
 * kernel may test for two scalars with two compares; in the same way one list
 * is always EDDY__LIST, and one handle EDDY__RESOURCE.
 */
#ifndef EDDY_CORE_VALUE_H
#define EDDY_CORE_VALUE_H

#include "core/value/tensor.h"

#include <stddef.h>

typedef enum eddy__value_kind {
    EDDY__NONE,   /* dead, or nothing yet */
    EDDY__SCALAR, /* one element, in `as` */
    /* Kinds that borrow, in the order of those that hold. */
    EDDY__CONSTANT,      /* a tensor of the plan, a feed or a frame */
    EDDY__LENT_LIST,     /* a list of a frame */
    EDDY__LENT_RESOURCE, /* a handle of a frame */
    /* Kinds from here on hold a reference that must be dropped. */
    EDDY__TENSOR,
    EDDY__LIST,     /* dtype EDDY_VARIANT; core/value/list.h */
    EDDY__RESOURCE, /* a handle; core/value/resource.h */
} eddy__value_kind;

typedef struct eddy__list eddy__list;
typedef struct eddy__resource eddy__resource;

typedef struct eddy__value {
    uint8_t kind;  /* eddy__value_kind */
    uint8_t dtype; /* eddy_dtype; of a dead value undefined */
    uint16_t unused;
    uint32_t uses; /* consumers still to come; kept by the executor */
    union {
        uint64_t bits;
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t u16; /* float16 and bfloat16 too */
        uint32_t u32;
        uint64_t u64;
        float f32;
        double f64;
        bool b;
        float c64[2];
        eddy_tensor *tensor;
        eddy__list *list;
        eddy__resource *resource;
        atomic_uint *refs; /* of any of these: its first member */
    } as;
} eddy__value;

_Static_assert(sizeof(eddy__value) == 16, "a value moves in one instruction");
_Static_assert(offsetof(eddy_tensor, refs) == 0, "as.refs is a tensor's count");

static inline bool eddy__value_is_counted(const eddy__value *v)
{
    return v->kind >= EDDY__TENSOR;
}

static inline bool eddy__value_is_borrowed(const eddy__value *v)
{
    return v->kind >= EDDY__CONSTANT && v->kind < EDDY__TENSOR;
}

/* Is `as.tensor` what it carries? */
static inline bool eddy__value_is_tensor(const eddy__value *v)
{
    return v->kind == EDDY__TENSOR || v->kind == EDDY__CONSTANT;
}

/* Is it a handle? */
static inline bool eddy__value_is_resource(const eddy__value *v)
{
    return v->kind == EDDY__RESOURCE || v->kind == EDDY__LENT_RESOURCE;
}

/*
 * Can its elements be looked at?  A handle and a list have none, and those of
 * tensors of them are not for the host.
 */
static inline bool eddy__value_has_elements(const eddy__value *v)
{
    return v->kind == EDDY__SCALAR ||
           (eddy__value_is_tensor(v) && v->dtype != EDDY_RESOURCE &&
            v->dtype != EDDY_VARIANT);
}

/* The elements of a value; a list and a handle are their own. */
static inline const unsigned char *eddy__value_elements(const eddy__value *v)
{
    if (v->kind == EDDY__SCALAR)
        return (const unsigned char *)&v->as;
    return eddy__value_is_tensor(v) ? v->as.tensor->data
                                    : (const unsigned char *)v;
}

/* Drops a reference to a list; `heap` and `list` may be NULL. */
void eddy__list_recycle(eddy__heap *heap, eddy__list *list);

/* Drops the lists and handles that a tensor had for elements. */
void eddy__values_clear(eddy__heap *heap, eddy__value *values, int64_t n);

/* Drops a reference to a resource (core/value/resource.h). */
void eddy__resource_release(eddy__resource *resource);

/* Drops what `v` holds and makes it NONE.  `heap` may be NULL. */
static inline void eddy__value_clear(eddy__heap *heap, eddy__value *v)
{
    if (eddy__value_is_counted(v)) {
        if (v->kind == EDDY__TENSOR)
            eddy__tensor_recycle(heap, v->as.tensor);
        else if (v->kind == EDDY__LIST)
            eddy__list_recycle(heap, v->as.list);
        else
            eddy__resource_release(v->as.resource);
    }
    v->kind = EDDY__NONE;
}

/* A second reference to what `v` holds. */
static inline eddy__value eddy__value_copy(const eddy__value *v)
{
    if (eddy__value_is_counted(v))
        atomic_fetch_add_explicit(v->as.refs, 1, memory_order_relaxed);
    return *v;
}

/* The same value for somebody who is gone before `v` drops it. */
static inline eddy__value eddy__value_lend(const eddy__value *v)
{
    eddy__value lent = *v;

    if (eddy__value_is_counted(v))
        lent.kind = (uint8_t)(v->kind - EDDY__TENSOR + EDDY__CONSTANT);
    return lent;
}

/* Makes what `v` borrows its own, so that it may outlive the lender. */
static inline void eddy__value_keep(eddy__value *v)
{
    if (!eddy__value_is_borrowed(v))
        return;
    atomic_fetch_add_explicit(v->as.refs, 1, memory_order_relaxed);
    v->kind = (uint8_t)(v->kind - EDDY__CONSTANT + EDDY__TENSOR);
}

/*
 * The value for a tensor: a scalar is copied out of it, anything else takes
 * over the caller's reference.
 */
eddy__value eddy__value_take_tensor(eddy__heap *heap, eddy_tensor *tensor);

/*
 * The first element as a value of rank 0 in itself, with a reference of its
 * own; false for dtypes whose elements live in tensors only.  Does not set
 * `uses`.
 */
bool eddy__value_of_element(const eddy_tensor *tensor, eddy__value *out);

/*
 * A new reference to a tensor that holds the value; NULL without memory, and
 * for a list or a handle.
 */
eddy_tensor *eddy__value_to_tensor(const eddy__value *v, eddy__heap *heap,
                                   eddy__account *account,
                                   const eddy_allocator *allocator);

#endif
