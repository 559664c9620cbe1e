/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the command line that all benchmarks have. */
#include "benchmarks/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRONG_USE 2

static void print_usage(FILE *to, const char *program, const char *summary)
{
    fprintf(to,
            "usage: %s [--tsv] [--graphs DIR] [NAME...]\n"
            "%s\n"
            "  --tsv         name TAB value TAB unit, a line a figure\n"
            "  --graphs DIR  the recorded graphs (benchmarks/graphs)\n"
            "  NAME          of the rows to measure; all if none is given\n",
            program, summary);
}

void options_parse(bench_options *o, int argc, char **argv, const char *summary)
{
    static const struct option known[] = {
        {"tsv", no_argument, NULL, 't'},
        {"graphs", required_argument, NULL, 'g'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;

    *o = (bench_options){.graphs = "benchmarks/graphs"};
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (option == 't') {
            o->is_tsv = true;
        } else if (option == 'g') {
            o->graphs = optarg;
        } else if (option == 'h') {
            print_usage(stdout, argv[0], summary);
            exit(EXIT_SUCCESS);
        } else {
            print_usage(stderr, argv[0], summary);
            exit(WRONG_USE);
        }
    }
    o->names = argv + optind;
    o->n_names = argc - optind;
}

bool options_want(bench_options *o, const char *name)
{
    bool is_wanted = o->n_names == 0;

    for (int i = 0; i < o->n_names && !is_wanted; i++)
        is_wanted = strcmp(o->names[i], name) == 0;
    o->n_wanted += is_wanted;
    return is_wanted;
}

bool options_found(const bench_options *o)
{
    if (o->n_wanted == 0)
        fprintf(stderr, "bench: there is no row of that name\n");
    return o->n_wanted > 0;
}
