/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of nodes that a program or a rewrite makes up: the first of base,
 * base_1, base_2, ... that nothing has.
 */
#ifndef EDDY_CORE_NAMES_H
#define EDDY_CORE_NAMES_H

#include "core/graph/graph.h"

/* Room for "_" and a number, and the NUL that ends the text. */
#define EDDY__NAME_SUFFIX sizeof "_4294967295"

/* Where names must differ: which ones are taken, as `owner` knows. */
typedef struct eddy__names {
    bool (*is_taken)(const void *owner, const char *name);
    const void *owner;
} eddy__names;

/* The names of the nodes of `graph`. */
eddy__names eddy__names_of_nodes(const eddy_graph *graph);

/* The keys of `map`, which whoever takes a name puts in. */
eddy__names eddy__names_of_map(const eddy__map *map);

/*
 * Puts "_" and the first number from `number` on with which `name` is free
 * behind its first `length` bytes, where there is EDDY__NAME_SUFFIX of room.
 * Gives the number after that one.
 */
uint32_t eddy__names_number(const eddy__names *names, char *name, size_t length,
                            uint32_t number);

/*
 * `base` if it is free, else that with a number; in `arena`, NULL without
 * memory or for a NULL base, which is borrowed of the same arena.  `next` holds
 * by base where the numbers go on, so that a thousand names of one base do not
 * take a million questions; NULL: they start from 1 each time.
 */
const char *eddy__names_free(const eddy__names *names, eddy__arena *arena,
                             const char *base, eddy__map *next);

/* A text in `arena`, as printf would print it; NULL without memory. */
char *eddy__names_print(eddy__arena *arena, const char *format, ...)
    EDDY_PRINTF(2, 3);

/*
 * A name in the graph's arena that no node has: the op's, without leading '_',
 * or that with a number.  NULL without memory.  `*out_suffix` goes to
 * eddy__name_taken when the node has been added.
 */
const char *eddy__name_make(eddy_graph *graph, const char *op,
                            uint32_t *out_suffix);
void eddy__name_taken(eddy_graph *graph, const char *op, uint32_t suffix);

/* Both at once, for a name that is certain to be used. */
const char *eddy__name_take(eddy_graph *graph, const char *base);

#endif
