/* SPDX-License-Identifier: Apache-2.0 */
/* The name by which nodes that make a resource share it. */
#ifndef EDDY_OPS_NAMED_H
#define EDDY_OPS_NAMED_H

#include "ops/math/elements.h"

/*
 * For prepare: what `container` and `shared_name` say, "container:name";
 * without a shared name it is the node's own.  It becomes the node's state too.
 */
eddy_status eddy__prepare_shared_name(eddy_infer *infer, const char **out_name);

/* The same as a prepare function of ops whose state that is. */
eddy_status eddy__prepare_named(eddy_infer *infer);

#endif
