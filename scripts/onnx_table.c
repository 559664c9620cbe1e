/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes docs/onnx_ops.md to standard output: every operator of ONNX that the
 * reader has, by its opsets.
 *
 *     onnx_table
 *
 * The same tree gives the same bytes, so that `make lint` can tell whether the
 * page is up to date.
 */
#include "interop/onnx/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 1024

typedef struct line {
    const eddy__onnx_row *row;
} line;

static int compare(const void *a, const void *b)
{
    const eddy__onnx_row *x = ((const line *)a)->row;
    const eddy__onnx_row *y = ((const line *)b)->row;
    const int order = strcmp(x->name, y->name);

    return order != 0 ? order : (int)x->first - (int)y->first;
}

static void put_count(unsigned least, unsigned most)
{
    if (most == EDDY__ONNX_ANY)
        printf("%u or more", least);
    else if (least == most)
        printf("%u", least);
    else
        printf("%u to %u", least, most);
}

/* One line: the operator from opset `row->first` to `row->last`. */
static void put_row(const eddy__onnx_row *row, bool is_again)
{
    printf("| %s | ", is_again ? "" : row->name);
    if (row->first == row->last)
        printf("%u", (unsigned)row->first);
    else if (row->last == EDDY__ONNX_NEWEST)
        printf("%u and later", (unsigned)row->first);
    else
        printf("%u to %u", (unsigned)row->first, (unsigned)row->last);
    printf(" | ");
    put_count(row->min_inputs, row->max_inputs);
    printf(" | ");
    put_count(row->min_outputs, row->max_outputs);
    printf(" |\n");
}

int main(void)
{
    static line lines[MOST_ROWS];
    size_t n = 0, n_names = 0;

    while (eddy__onnx_row_at(n)) {
        if (n == MOST_ROWS) {
            fprintf(stderr, "onnx_table: more than %d rows\n", MOST_ROWS);
            return EXIT_FAILURE;
        }
        lines[n].row = eddy__onnx_row_at(n);
        n++;
    }
    qsort(lines, n, sizeof lines[0], compare);
    for (size_t i = 0; i < n; i++)
        n_names +=
            i == 0 || strcmp(lines[i].row->name, lines[i - 1].row->name) != 0;
    printf("# Operators of ONNX\n\n"
           "`make docs` writes this page from the tables of "
           "interop/onnx/ops: change those, not this.\n\n"
           "%zu operators, to opset %d.  A line is a range of opsets in which "
           "an operator is read the same way; where an attribute became an "
           "input there are two.  `make test-onnx` holds each against ONNX's "
           "own node tests.\n\n"
           "| operator | opsets | inputs | outputs |\n|---|---|---|---|\n",
           n_names, EDDY__ONNX_NEWEST);
    for (size_t i = 0; i < n; i++)
        put_row(lines[i].row, i > 0 && strcmp(lines[i].row->name,
                                              lines[i - 1].row->name) == 0);
    return ferror(stdout) || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
