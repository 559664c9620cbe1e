/* SPDX-License-Identifier: Apache-2.0 */
/* Bits that nobody can foresee, for seeds that the user leaves to us. */
#ifndef EDDY_BASE_ENTROPY_H
#define EDDY_BASE_ENTROPY_H

#include <stdint.h>

/* From the system, or from the clock if it gives none.  @thread any */
uint64_t eddy__entropy(void);

#endif
