/* SPDX-License-Identifier: Apache-2.0 */
/* Reading bundles in kernels. */
#ifndef EDDY_OPS_SAVED_H
#define EDDY_OPS_SAVED_H

#include "core/bundle/bundle.h"
#include "core/kernel.h"

/* Fails in a run that must leave files alone. */
eddy_status eddy__saved_want_files(eddy_kernel *k);

/* The entry of that name, which must be there, and whole. */
eddy_status eddy__saved_entry(eddy_kernel *k, const eddy__bundle *b,
                              eddy_string name,
                              const eddy__bundle_entry **out_entry);

/*
 * Reads an entry of `dtype`; the tensor is the caller's, also on failure unless
 * it is NULL.
 */
eddy_status eddy__saved_read(eddy_kernel *k, const eddy__bundle *b,
                             const eddy__bundle_entry *entry, eddy_dtype dtype,
                             eddy_tensor **out_tensor);

#endif
