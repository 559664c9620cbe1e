/* SPDX-License-Identifier: Apache-2.0 */
/* The command line that all benchmarks have. */
#ifndef EDDY_BENCHMARKS_OPTIONS_H
#define EDDY_BENCHMARKS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct bench_options {
    bool is_tsv;
    const char *graphs; /* the folder of the recorded graphs */
    char **names;       /* of the rows to measure; none: all */
    int n_names;
    int n_wanted; /* rows that were asked for and are there */
} bench_options;

/* Prints `summary` and ends the process on --help and on wrong use (2). */
void options_parse(bench_options *o, int argc, char **argv,
                   const char *summary);

/* Is the row of that name wanted? */
bool options_want(bench_options *o, const char *name);

/* Were there rows to measure?  If not, it says so on stderr. */
bool options_found(const bench_options *o);

#endif
