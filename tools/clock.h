/* SPDX-License-Identifier: Apache-2.0 */
/* Times that only go forward. */
#ifndef EDDY_TOOLS_CLOCK_H
#define EDDY_TOOLS_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some moment in the past. */
uint64_t eddy__clock_ns(void);

/* What processors have spent on all threads of the process, in nanoseconds. */
uint64_t eddy__clock_cpu_ns(void);

#endif
