/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that people take for a GraphDef: what they are and what to do with
 * them.
 */
#ifndef EDDY_INTEROP_FOREIGN_H
#define EDDY_INTEROP_FOREIGN_H

#include "eddy/status.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Bytes that are no GraphDef: fails with EDDY_E_MALFORMED and what to do if
 * they are a SavedModel, a text GraphDef or an ONNX model, else returns OK and
 * leaves `err` alone.
 */
eddy_status eddy__foreign_bytes(const void *bytes, size_t length,
                                eddy_error *err);

/* Do the first bytes of a file look like those of an ONNX model? */
bool eddy__foreign_is_onnx(const void *bytes, size_t length);

/* The same as eddy__foreign_bytes of a path, which may be the folder of a
 * SavedModel. */
eddy_status eddy__foreign_path(const char *path, eddy_error *err);

#endif
