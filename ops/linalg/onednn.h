/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices by oneDNN, where it is there. */
#ifndef EDDY_OPS_ONEDNN_H
#define EDDY_OPS_ONEDNN_H

#include "ops/linalg/gemm.h"

/* Is it?  Loads it. */
bool eddy__onednn_is_there(void);

/* A product of float32 matrices.  False, and nothing is done, if it is not. */
bool eddy__onednn_multiply(const eddy__product *product);

/* Writes the library's name and version; false if there is none.  Loads it. */
bool eddy__onednn_name(char *text, size_t size);

#endif
