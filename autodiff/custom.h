/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of a program's own for a part of a graph. */
#ifndef EDDY_AUTODIFF_CUSTOM_H
#define EDDY_AUTODIFF_CUSTOM_H

#include "core/graph/graph.h"
#include "eddy/gradients.h"

/* The name of a gradient of the node's own; length 0: none. */
eddy_string eddy__custom_name(const eddy__node *node);
eddy_gradient_fn eddy__custom_find(const eddy_context *ctx, eddy_string name);

#endif
