/* SPDX-License-Identifier: Apache-2.0 */
/* What the TensorList ops share: their list and their shape argument. */
#ifndef EDDY_OPS_TENSOR_LIST_H
#define EDDY_OPS_TENSOR_LIST_H

#include "core/value/list.h"
#include "ops/array/items.h"

/* What a list is, for messages, with its article. */
const char *eddy__list_kind(const eddy__list *list);

static inline bool eddy__list_is_special(const eddy__list *list)
{
    return list->dtype == EDDY__OPTIONAL || list->dtype >= EDDY__MAP;
}

/* Input `i`, which must be a list of items of `dtype`; borrowed. */
eddy_status eddy__in_list_of(eddy_kernel *k, uint32_t i, eddy_dtype dtype,
                             const eddy__list **out_list);

/* Input `i`, which must be a list of items of any dtype; borrowed. */
eddy_status eddy__in_any_list(eddy_kernel *k, uint32_t i,
                              const eddy__list **out_list);

/* Input `i` as the shape of items: a vector, or the scalar -1 for any. */
eddy_status eddy__in_item_shape(eddy_kernel *k, uint32_t i,
                                eddy_shape *out_shape);

/* The same, merged with what the list says of its items. */
eddy_status eddy__in_list_shape(eddy_kernel *k, uint32_t i,
                                const eddy__list *list, eddy_shape *out_shape);

/* Merges `shape` into `*merged`, or fails: they are those of items that must
 * have one. */
eddy_status eddy__tensor_list_merge_shape(eddy_kernel *k,
                                          const eddy_shape *shape,
                                          eddy_shape *merged);

/* The state of kernels whose node says of which dtype the items are: that. */
eddy_status eddy__prepare_list_dtype(eddy_infer *infer);

/* For shape functions: what of that argument is known. */
eddy_shape eddy__infer_item_shape(const eddy_infer *infer, uint32_t i);

/* Sets output 0 to `dim` items of `shape`, so far as that is known. */
void eddy__infer_items(eddy_infer *infer, int64_t dim, const eddy_shape *shape);

#endif
