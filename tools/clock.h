/* SPDX-License-Identifier: Apache-2.0 */
/* Time that only goes forward. */
#ifndef EDDY_TOOLS_CLOCK_H
#define EDDY_TOOLS_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some moment in the past. */
uint64_t eddy__clock_ns(void);

#endif
