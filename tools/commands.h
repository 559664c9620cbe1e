/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands, one a source file; tools/main.c lists them. */
#ifndef EDDY_TOOLS_COMMANDS_H
#define EDDY_TOOLS_COMMANDS_H

#include "tools/options.h"

typedef struct eddy__command {
    const char *name;
    const char *arguments; /* of its first usage line */
    const char *summary;   /* half a line */
    const char *details;   /* paragraphs, each line ended */
    const char *examples;  /* likewise */
    unsigned options;      /* EDDY__FOR_... */
    eddy__exit (*run)(const eddy__options *options);
} eddy__command;

extern const eddy__command eddy__command_run;
extern const eddy__command eddy__command_verify;
extern const eddy__command eddy__command_bench;
extern const eddy__command eddy__command_inspect;
extern const eddy__command eddy__command_grad;
extern const eddy__command eddy__command_convert;
extern const eddy__command eddy__command_trace;
extern const eddy__command eddy__command_explain;
extern const eddy__command eddy__command_diff;
extern const eddy__command eddy__command_partition;

#endif
