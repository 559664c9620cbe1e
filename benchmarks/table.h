/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a benchmark prints: a table to read, or, with --tsv, one line a cell for
 * a machine: name/column TAB value TAB unit.  Rows come out as they are made.
 */
#ifndef EDDY_BENCHMARKS_TABLE_H
#define EDDY_BENCHMARKS_TABLE_H

#include "eddy/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct column {
    const char *title; /* in the table's head */
    const char *id;    /* in the lines of --tsv */
    const char *unit;
    int width;
    int decimals;
} column;

typedef struct table {
    const column *columns;
    size_t n_columns;
    bool is_tsv;
} table;

/* Prints the head under `title`. */
void table_begin(const table *t, const char *title);

/* One value a column; NAN where there is none. */
void table_row(const table *t, const char *name, const double *values);

/* A row of a program that did not run, and why: on stderr with --tsv. */
void table_refusal(const table *t, const char *name, const eddy_error *err);

/* "bench: NAME: ERROR" on stderr. */
void complain(const char *name, const eddy_error *err);

#endif
