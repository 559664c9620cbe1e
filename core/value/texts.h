/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for the strings of one tensor.
 *
 * A tensor of many strings keeps them in chunks, one behind the other: a string
 * costs its bytes and two more, and millions are freed as quickly as a few.  A
 * byte before each says whether it lies in a chunk.  What a string that is
 * replaced leaves in a chunk is not used again, so from then on strings have
 * blocks of their own, as long ones and those of small tensors always have.
 */
#ifndef EDDY_CORE_TEXTS_H
#define EDDY_CORE_TEXTS_H

#include "core/value/tensor.h"

/*
 * As eddy__tensor_create, but elements of any dtype are not initialised: those
 * of one that is not numeric are to be made zeros before anybody else sees the
 * tensor, or it is given back by eddy__tensor_free.
 */
eddy_tensor *eddy__tensor_create_raw(eddy__heap *heap, eddy__account *account,
                                     const eddy_allocator *allocator,
                                     eddy_dtype dtype, const eddy_shape *shape);

/* Bytes of the elements in memory, of any dtype. */
size_t eddy__tensor_memory(const eddy_tensor *tensor);

/* Room for `length` bytes, not 0, and a NUL; NULL without memory. */
char *eddy__texts_allocate(eddy_tensor *tensor, size_t length);

/* Gives back the memory of one string, which may have none. */
void eddy__texts_free(eddy_tensor *tensor, const eddy__string *string);

/* Gives back that of all elements, which are not to be looked at again. */
void eddy__texts_destroy(eddy_tensor *tensor);

#endif
