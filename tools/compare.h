/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a tensor is what a recorded case expects. */
#ifndef EDDY_TOOLS_COMPARE_H
#define EDDY_TOOLS_COMPARE_H

#include "eddy/tensor.h"

#include <stdio.h>

/*
 * True if dtype and shape are the same and every element agrees: |got - want|
 * <= atol + rtol * |want|, NaN equal to NaN, an infinity to itself; what is no
 * floating point number must be equal.  Else writes what differs to `report`,
 * in one line without its newline: the worst element, and how many differ.
 */
bool eddy__compare(const eddy_tensor *got, const eddy_tensor *want, double rtol,
                   double atol, FILE *report);

#endif
