/* SPDX-License-Identifier: Apache-2.0 */
/* Names of nodes: which are legal, which come close; and names.h, which makes
 * them. */
#ifndef EDDY_CORE_NAME_H
#define EDDY_CORE_NAME_H

#include "core/graph/names.h"

/* TensorFlow's rule: [A-Za-z0-9.][A-Za-z0-9_.\/>-]*. */
eddy_status eddy__name_check(const char *name, eddy_error *err);

/* The node whose name is closest to `name`, NULL if none is close. */
const char *eddy__name_closest(const eddy_graph *graph, const char *name,
                               size_t length);

#endif
