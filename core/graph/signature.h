/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The language of op signatures (described in eddy/op.h): texts to parsed
 * arguments and attribute definitions.
 */
#ifndef EDDY_CORE_SIGNATURE_H
#define EDDY_CORE_SIGNATURE_H

#include "core/graph/registry.h"

/*
 * Parses the three texts of `spec` into the arguments and attributes of
 * `out_op`, in memory of `arena`.  Fails with EDDY_E_OP_SPEC and the offset of
 * what was not understood.
 */
eddy_status eddy__signature_parse(eddy__arena *arena, const eddy_op_spec *spec,
                                  eddy__op *out_op, eddy_error *err);

#endif
