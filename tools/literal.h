/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON literals as values of tensors: a number, true, false, a string, or lists
 * of one length nested as deep as the tensor's rank.
 *
 * Beyond JSON, NaN, Infinity and -Infinity may stand bare, integers may have 64
 * bits with or without a sign, and every number may stand in quotes, complex
 * ones always: what `eddy run` prints can be fed.
 */
#ifndef EDDY_TOOLS_LITERAL_H
#define EDDY_TOOLS_LITERAL_H

#include "eddy/tensor.h"

/*
 * Reads `text` into a new tensor of `dtype`, its shape the one of the lists.
 * Errors: INVALID_ARGUMENT, with what was found and where.
 */
EDDY_MUST_USE eddy_status eddy__literal_read(const eddy_context *ctx,
                                             const char *text, eddy_dtype dtype,
                                             eddy_tensor **out_tensor,
                                             eddy_error *err);

#endif
