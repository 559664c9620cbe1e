/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints rows as they are made, for people or as lines of a name, a value and a
 * unit.
 */
#include "benchmarks/table.h"

#include <math.h>
#include <stdio.h>

#define NAME_WIDTH 24
#define ERROR_SIZE 1200
#define ERROR_WIDTH 100 /* of the table; stderr gets all of it */

void table_begin(const table *t, const char *title)
{
    if (t->is_tsv)
        return;
    printf("\n%s\n\n%-*s", title, NAME_WIDTH, "");
    for (size_t i = 0; i < t->n_columns; i++)
        printf("  %*s", t->columns[i].width, t->columns[i].title);
    printf("\n");
}

static void print_line(const column *c, const char *name, double value)
{
    if (!isnan(value))
        printf("%s/%s\t%.*f\t%s\n", name, c->id, c->decimals, value, c->unit);
}

static void print_cell(const column *c, double value)
{
    if (isnan(value))
        printf("  %*s", c->width, "-");
    else
        printf("  %*.*f", c->width, c->decimals, value);
}

void table_row(const table *t, const char *name, const double *values)
{
    if (!t->is_tsv)
        printf("%-*s", NAME_WIDTH, name);
    for (size_t i = 0; i < t->n_columns; i++)
        if (t->is_tsv)
            print_line(&t->columns[i], name, values[i]);
        else
            print_cell(&t->columns[i], values[i]);
    if (!t->is_tsv)
        printf("\n");
    fflush(stdout);
}

void table_refusal(const table *t, const char *name, const eddy_error *err)
{
    char text[ERROR_SIZE];

    if (t->is_tsv) {
        complain(name, err);
        return;
    }
    if (eddy_error_format(err, text, sizeof text) > ERROR_WIDTH)
        snprintf(text + ERROR_WIDTH, sizeof text - ERROR_WIDTH, "...");
    printf("%-*s  not run: %s\n", NAME_WIDTH, name, text);
}

void complain(const char *name, const eddy_error *err)
{
    char text[ERROR_SIZE];

    eddy_error_format(err, text, sizeof text);
    fprintf(stderr, "bench: %s: %s\n", name, text);
}
