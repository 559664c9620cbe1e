/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs that may be none, and other outputs of their nodes. */
#ifndef EDDY_AUTODIFF_OUTPUT_H
#define EDDY_AUTODIFF_OUTPUT_H

#include "core/graph/emit.h"

static inline bool eddy__output_exists(eddy_output output)
{
    return output.node != EDDY_NO_NODE;
}

/* `output` of another index. */
static inline eddy_output eddy__output_port(eddy_output output, uint32_t index)
{
    output.index = output.node == EDDY_NO_NODE ? 0 : index;
    return output;
}

#endif
