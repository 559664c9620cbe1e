/* SPDX-License-Identifier: Apache-2.0 */
/* Where the functions of BLAS and LAPACK are. */
#ifndef EDDY_OPS_BLAS_H
#define EDDY_OPS_BLAS_H

#include "ops/linalg/blas_provider.h"

/*
 * The table, which is loaded at the first call; NULL where it can't be.  Who
 * has had it once may keep it.  @thread any
 */
const eddy__blas_provider *eddy__blas_get(void);

#endif
