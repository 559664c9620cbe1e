/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of a recorded run: that of dynamic.c with a record a node. */
#include "runtime/exec/dynamic/token.h"
#include "runtime/exec/trace/record.h"

#include <stddef.h>

#define EDDY__RECORDED 1

#include "runtime/exec/dynamic/loop.inc"

uint64_t eddy__drive_recorded(eddy_run *run, uint64_t n)
{
    eddy__trace_resume(run);
    n = drive_some(run, n);
    eddy__trace_pause(run);
    return n;
}
