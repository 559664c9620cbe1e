/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a .npy file: a Python dict, read by its letter. */
#ifndef EDDY_INTEROP_NPY_HEADER_H
#define EDDY_INTEROP_NPY_HEADER_H

#include "eddy/tensor.h"

/* How elements stand in the file. */
typedef enum eddy__npy_kind {
    EDDY__NPY_NUMBERS, /* as in memory */
    EDDY__NPY_BYTES,   /* 'S': texts padded with NULs */
    EDDY__NPY_UNICODE  /* 'U': texts of 32-bit code points, padded likewise */
} eddy__npy_kind;

typedef struct eddy__npy_header {
    eddy_dtype dtype;
    eddy__npy_kind kind;
    bool fortran_order;
    eddy_shape shape;
    int64_t count;       /* of elements */
    size_t element_size; /* bytes an element in the file */
    size_t data;         /* where the elements start */
} eddy__npy_header;

/*
 * Reads the header of `length` bytes and checks that just the elements follow
 * it.  Errors: INVALID_ARGUMENT, EDDY_E_MALFORMED with the byte offset, _DTYPE,
 * _RANK, _SIZE, _TENSOR_DATA.
 */
EDDY_MUST_USE eddy_status eddy__npy_read_header(const uint8_t *bytes,
                                                size_t length,
                                                eddy__npy_header *out_header,
                                                eddy_error *err);

/* Room for the header of any tensor. */
#define EDDY__NPY_MAX_HEADER 512

/*
 * Writes a header of format 1.0; `element_size` counts for texts only.  Returns
 * its length.
 */
size_t eddy__npy_write_header(eddy_dtype dtype, size_t element_size,
                              const eddy_shape *shape, char *to);

#endif
