/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels that move elements without looking at them share.
 *
 * Elements of a numeric dtype are moved as bytes.  A string is moved as its
 * eddy__string, which stays the input's until eddy__elements_done gives the
 * output strings of its own: nothing may fail between eddy__output_elements
 * and eddy__elements_done.  Lists and handles are moved in the same way, as
 * their eddy__value.
 */
#ifndef EDDY_OPS_ELEMENTS_H
#define EDDY_OPS_ELEMENTS_H

#include "core/base/status.h"
#include "core/graph/infer.h"
#include "core/kernel.h"
#include "core/value/dtype.h"

/* The dtypes whose elements can be moved. */
#define EDDY__MOVABLE                                                          \
    (EDDY__NUMBERS | EDDY__DTYPE_BIT(EDDY_BOOL) | EDDY__DTYPE_BIT(EDDY_STRING))

/* The same with lists and handles, of which nothing but themselves is moved. */
#define EDDY__ARRANGED (EDDY__MOVABLE | EDDY__HELD)

static inline size_t eddy__element_size(eddy_dtype dtype)
{
    if (eddy__dtype_in(dtype, EDDY__HELD))
        return sizeof(eddy__value);
    return dtype == EDDY_STRING ? sizeof(eddy__string) : eddy_dtype_size(dtype);
}

static inline const unsigned char *eddy__in_elements(const eddy_kernel *k,
                                                     uint32_t i)
{
    return eddy__value_elements(eddy__in(k, i));
}

static inline eddy_dtype eddy__in_dtype(const eddy_kernel *k, uint32_t i)
{
    return (eddy_dtype)eddy__in(k, i)->dtype;
}

/* The shape of a value of any kind; for a scalar, a constant of this file. */
const eddy_shape *eddy__in_shape(const eddy_kernel *k, uint32_t i);

static inline int64_t eddy__in_count(const eddy_kernel *k, uint32_t i)
{
    const eddy__value *v = eddy__in(k, i);

    return eddy__value_is_tensor(v) ? v->as.tensor->count : 1;
}

/*
 * Output `i` as memory to move elements into.  A size that overflows is
 * INVALID_ARGUMENT, EDDY_E_SIZE.
 */
eddy_status eddy__output_elements(eddy_kernel *k, uint32_t i, eddy_dtype dtype,
                                  const eddy_shape *shape,
                                  unsigned char **out_elements);
eddy_status eddy__elements_done(eddy_kernel *k, uint32_t i);

/* Writes `n` copies of one element of `size` bytes; `k` as above. */
void eddy__repeat(eddy_kernel *k, unsigned char *to,
                  const unsigned char *element, size_t size, int64_t n);

/*
 * Whom loops over elements of a dtype ask whether to stop: nobody while strings
 * are moved, since half an output would own some that are the input's.
 */
static inline eddy_kernel *eddy__asker(eddy_kernel *k, eddy_dtype dtype)
{
    return dtype == EDDY_STRING ? NULL : k;
}

/*
 * memcpy and memset to 0 of any length, in parts between which `k` is asked
 * whether to stop; then the rest is left as it is.  `k` may be NULL.
 */
void eddy__copy_bytes(eddy_kernel *k, void *to, const void *from, size_t n);
void eddy__zero_bytes(eddy_kernel *k, void *to, size_t n);

/* For prepare: fails with EDDY_E_NO_KERNEL unless output 0 can be moved. */
eddy_status eddy__prepare_movable(eddy_infer *infer);

/* The same for ops that take lists and handles too. */
eddy_status eddy__prepare_arranged(eddy_infer *infer);

/* Zeroed state of a node, or NULL after infer has been given the failure. */
void *eddy__prepare_state(eddy_infer *infer, size_t size);

/* ---- index arguments: axes, begins, multiples ---- */

/* Element `i` of a view of an integer dtype, except uint64. */
int64_t eddy__index_at(const eddy_view *view, int64_t i);

/*
 * Fails unless input `i`, which the messages call `what`, is one element in a
 * tensor of at most `max_rank` dimensions.  For some arguments TensorFlow's
 * kernels want a scalar (0), for some they take a vector of one element too
 * (1), as they did in its first version, and for some, anything of one element.
 */
eddy_status eddy__want_single(eddy_kernel *k, uint32_t i, int32_t max_rank,
                              const char *what);

/* Input `i`, a scalar, as an integer. */
eddy_status eddy__index_argument(eddy_kernel *k, uint32_t i, const char *what,
                                 int64_t *out_value);

/* Input `i`, one element in at most `max_rank` dimensions, as an axis of a
 * tensor of rank `rank`, from 0. */
eddy_status eddy__axis_argument(eddy_kernel *k, uint32_t i, int32_t max_rank,
                                int32_t rank, int32_t *out_axis);

/* Input `i` as a vector of exactly `n` integers. */
eddy_status eddy__vector_argument(eddy_kernel *k, uint32_t i, const char *what,
                                  int64_t n, eddy_view *out_view);

/*
 * Where element `i` of a tensor of shape `of` is, as messages name it: "[2,0]",
 * and "" for a scalar.
 */
eddy__shape_text eddy__position(const eddy_shape *of, int64_t i);

/* ---- the same for shape functions ---- */

/* Input `i` as integers; false unless it is constant with at most `n` of them.
 */
bool eddy__infer_integers(const eddy_infer *infer, uint32_t i, int64_t *values,
                          int32_t n, int32_t *out_n);

/*
 * The shape that input `i` spells, so far as it is known; negative elements are
 * unknown dimensions.
 */
eddy_shape eddy__infer_shape_argument(const eddy_infer *infer, uint32_t i);

/* Output 0 has the shape that input 0 spells. */
eddy_status eddy__infer_spelled(eddy_infer *infer);

/*
 * Input `i` as an axis of a tensor of rank `rank`, from 0; false if it is
 * unknown.  One that is out of range is left to the kernel.
 */
bool eddy__infer_axis(const eddy_infer *infer, uint32_t i, int32_t rank,
                      int32_t *out_axis);

/* A shape function: no output can be said more of than its rank 1. */
eddy_status eddy__infer_vector(eddy_infer *infer);

#endif
