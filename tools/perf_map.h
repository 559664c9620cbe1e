/* SPDX-License-Identifier: Apache-2.0 */
/* Names for machine code in perf, for `--perf-map`. */
#ifndef EDDY_TOOLS_PERF_MAP_H
#define EDDY_TOOLS_PERF_MAP_H

#include "eddy.h"
#include "tools/message.h"

/*
 * Makes machine code of all loops of a plan that may have some, and writes
 * where each instruction's stands to /tmp/perf-PID.map, which perf reads when
 * it reports.  Complains if that can't be written.
 */
EDDY_MUST_USE eddy__exit eddy__perf_map_write(const eddy_plan *plan);

#endif
