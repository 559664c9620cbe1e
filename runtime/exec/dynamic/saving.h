/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a loop's checkpoint between two of its iterations. */
#ifndef EDDY_EXEC_DYNAMIC_SAVING_H
#define EDDY_EXEC_DYNAMIC_SAVING_H

#include "runtime/exec/dynamic/state.h"

/*
 * Writes what the iteration that comes next begins with.  Requires: all before
 * it are done, and what it is entered with is parked.  False: raised.  @thread
 * the driver
 */
bool eddy__saving_save(eddy_run *run, const eddy__frame *frame);

#endif
