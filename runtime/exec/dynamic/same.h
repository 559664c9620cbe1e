/* SPDX-License-Identifier: Apache-2.0 */
/* Are two values the same to whoever reads them? */
#ifndef EDDY_EXEC_DYNAMIC_SAME_H
#define EDDY_EXEC_DYNAMIC_SAME_H

#include "core/value/value.h"

/*
 * Have they one dtype, one shape and the same bits?  Lists and handles are the
 * same only if they are one.
 */
bool eddy__value_same(const eddy__value *a, const eddy__value *b);

#endif
