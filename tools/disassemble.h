/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code as text, for `eddy inspect --native`. */
#ifndef EDDY_TOOLS_DISASSEMBLE_H
#define EDDY_TOOLS_DISASSEMBLE_H

#include "eddy.h"

/*
 * Prints the machine code of a plan, each instruction of the linear form with
 * its node and the instructions that it has become: by objdump if that can be
 * run, else as bytes.  False: standard output or memory failed.
 */
bool eddy__disassemble(const eddy_plan *plan);

#endif
