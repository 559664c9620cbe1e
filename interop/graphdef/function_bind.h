/* SPDX-License-Identifier: Apache-2.0 */
/* Values for the parameters of functions that are kept as bytes. */
#ifndef EDDY_INTEROP_FUNCTION_BIND_H
#define EDDY_INTEROP_FUNCTION_BIND_H

#include "core/graph/graph.h"
#include "interop/graphdef/graphdef.pb-c.h"
#include "interop/shared/scratch.h"

/* `bind` of eddy__function_reader. */
eddy_status eddy__function_bind(const eddy__function *function,
                                const eddy__function_ref *ref,
                                eddy__arena *arena, eddy_string *out_bytes,
                                eddy_error *err);

#endif
