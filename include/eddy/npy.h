/*
 * NumPy's .npy files, format 1.0 to 3.0, to tensors and back.  Little endian;
 * C order is written, C and Fortran order are read.  Strings are read from 'S',
 * 'U' (as UTF-8) and written as 'S'.
 */
#ifndef EDDY_NPY_H
#define EDDY_NPY_H

#include "eddy/tensor.h"

EDDY_BEGIN_DECLS

/* Errors: INVALID_ARGUMENT (EDDY_E_MALFORMED, _DTYPE, _SIZE), NOT_FOUND. */
EDDY_API EDDY_MUST_USE eddy_status eddy_npy_load(const eddy_context *ctx,
                                                 const char *path,
                                                 eddy_tensor **out_tensor,
                                                 eddy_error *err);
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
