/*
 * A value in flight: what one edge carries in one iteration.
 *
 * Sixteen bytes, so that four share a cache line and one moves in a single
 * instruction.  A numeric scalar lives inside it: no allocation, no reference
 * count.  Main invariant: a numeric rank-0 value is always EDDY__SCALAR, never
 * a tensor, so a kernel may test for two scalars with two compares.
 */
#ifndef EDDY_CORE_VALUE_H
#define EDDY_CORE_VALUE_H

#include "runtime/core/tensor.h"

typedef enum eddy__value_kind {
    EDDY__NONE,     /* dead, or nothing yet */
    EDDY__SCALAR,   /* one element, in `as` */
    EDDY__CONSTANT, /* a tensor borrowed from the plan */
    EDDY__RESOURCE, /* a handle: number and generation in the run's table */
    /* Kinds from here on hold a reference that must be dropped. */
    EDDY__TENSOR,
} eddy__value_kind;

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
        uint16_t u16; /* float16 too */
        uint32_t u32;
        uint64_t u64;
        float f32;
        double f64;
        bool b;
        float c64[2];
        eddy_tensor *tensor;
        struct {
            uint32_t id, generation;
        } resource;
    } as;
} eddy__value;

_Static_assert(sizeof(eddy__value) == 16, "a value moves in one instruction");

static inline bool eddy__value_is_counted(const eddy__value *v)
{
    return v->kind >= EDDY__TENSOR;
}

/* Drops what `v` holds and makes it NONE.  `heap` may be NULL. */
static inline void eddy__value_clear(eddy__heap *heap, eddy__value *v)
{
    if (eddy__value_is_counted(v))
        eddy__tensor_recycle(heap, v->as.tensor);
    v->kind = EDDY__NONE;
}

/* A second reference to what `v` holds. */
static inline eddy__value eddy__value_copy(const eddy__value *v)
{
    if (eddy__value_is_counted(v))
        atomic_fetch_add_explicit(&v->as.tensor->refs, 1, memory_order_relaxed);
    return *v;
}

/*
 * The value for a tensor: a scalar is copied out of it, anything else takes
 * over the caller's reference.
 */
eddy__value eddy__value_take_tensor(eddy__heap *heap, eddy_tensor *tensor);

/*
 * The first element as a value of rank 0 in itself; false for dtypes whose
 * elements live in tensors only.  Does not set `uses`.
 */
bool eddy__value_of_element(const eddy_tensor *tensor, eddy__value *out);

/* A new reference to a tensor that holds the value; NULL without memory. */
eddy_tensor *eddy__value_to_tensor(const eddy__value *v, eddy__heap *heap,
                                   eddy__account *account,
                                   const eddy_allocator *allocator);

#endif
