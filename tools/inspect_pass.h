/* SPDX-License-Identifier: Apache-2.0 */
/* The graph as a pass of planning leaves it, for `eddy inspect`. */
#ifndef EDDY_TOOLS_INSPECT_PASS_H
#define EDDY_TOOLS_INSPECT_PASS_H

#include "tools/program.h"

/*
 * Plans what the options ask of the graph, and prints the graph as it is after
 * the pass `dump_after`, a node a line.  Complains when it fails.
 */
EDDY_MUST_USE eddy__exit eddy__inspect_pass(eddy__program *program,
                                            const eddy__options *options);

/* Plans the same, and prints the code of its loops. */
EDDY_MUST_USE eddy__exit eddy__inspect_linear(eddy__program *program,
                                              const eddy__options *options);

/*
 * The same for the machine code of its loops, disassembled by objdump if that
 * is there, else as bytes.
 */
EDDY_MUST_USE eddy__exit eddy__inspect_native(eddy__program *program,
                                              const eddy__options *options);

#endif
