/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NumPy's .npy files, format 1.0 to 3.0, to tensors and back.  Little endian;
 * C order is written, C and Fortran order are read.  Strings are read from 'S',
 * 'U' (as UTF-8) and written as 'S'.
 */
#ifndef EDDY_NPY_H
#define EDDY_NPY_H

#include "eddy/tensor.h"

EDDY_BEGIN_DECLS

/* eddy_npy_load reads no file of more bytes than this. */
#define EDDY_NPY_MAX_BYTES ((uint64_t)2 << 30)

/*
 * Reads a regular file of at most EDDY_NPY_MAX_BYTES bytes into a new tensor;
 * a pipe, a device or a directory is refused without waiting for it.  Errors:
 * INVALID_ARGUMENT (EDDY_E_MALFORMED, _DTYPE, _SIZE, _IO), NOT_FOUND,
 * PERMISSION_DENIED, UNAVAILABLE (EDDY_E_IO), RESOURCE_EXHAUSTED.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_npy_load(const eddy_context *ctx,
                                                 const char *path,
                                                 eddy_tensor **out_tensor,
                                                 eddy_error *err);

/* The same with a limit of the caller's: a larger file fails with _SIZE. */
EDDY_API EDDY_MUST_USE eddy_status eddy_npy_load_limited(
    const eddy_context *ctx, const char *path, uint64_t max_bytes,
    eddy_tensor **out_tensor, eddy_error *err);
EDDY_API EDDY_MUST_USE eddy_status eddy_npy_read(const eddy_context *ctx,
                                                 const void *bytes,
                                                 size_t length,
                                                 eddy_tensor **out_tensor,
                                                 eddy_error *err);
EDDY_API EDDY_MUST_USE eddy_status eddy_npy_save(const eddy_tensor *tensor,
                                                 const char *path,
                                                 eddy_error *err);

EDDY_END_DECLS

#endif
