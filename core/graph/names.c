/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are made up: one search for all that add nodes to graphs. */
#include "core/graph/names.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_node(const void *owner, const char *name)
{
    return eddy_graph_find(owner, name) != EDDY_NO_NODE;
}

eddy__names eddy__names_of_nodes(const eddy_graph *graph)
{
    return (eddy__names){.is_taken = is_node, .owner = graph};
}

static bool is_key(const void *owner, const char *name)
{
    return eddy__map_find(owner, name, strlen(name)) != EDDY__NOT_FOUND;
}

eddy__names eddy__names_of_map(const eddy__map *map)
{
    return (eddy__names){.is_taken = is_key, .owner = map};
}

uint32_t eddy__names_number(const eddy__names *names, char *name, size_t length,
                            uint32_t number)
{
    do {
        (void)snprintf(name + length, EDDY__NAME_SUFFIX, "_%lu",
                       (unsigned long)number++);
    } while (names->is_taken(names->owner, name));
    return number;
}

const char *eddy__names_free(const eddy__names *names, eddy__arena *arena,
                             const char *base, eddy__map *next)
{
    uint32_t number = EDDY__NOT_FOUND;
    size_t length;
    char *name;

    if (!base || !names->is_taken(names->owner, base))
        return base;
    length = strlen(base);
    name = eddy__arena_allocate(arena, length + EDDY__NAME_SUFFIX, 1);
    if (!name)
        return NULL;
    memcpy(name, base, length);
    if (next)
        number = eddy__map_find(next, base, length);
    number = eddy__names_number(names, name, length,
                                number == EDDY__NOT_FOUND ? 1 : number);
    return !next || eddy__map_set(next, base, number) ? name : NULL;
}

char *eddy__names_print(eddy__arena *arena, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length >= 0)
        text = eddy__arena_allocate(arena, (size_t)length + 1, 1);
    if (!text)
        return NULL;
    va_start(args, format);
    (void)vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

/* ---- names of nodes without a name ---- */

const char *eddy__name_make(eddy_graph *graph, const char *op,
                            uint32_t *out_suffix)
{
    const eddy__names names = eddy__names_of_nodes(graph);
    const uint32_t next = eddy__map_find(&graph->next_suffix, op, strlen(op));
    size_t length;
    char *name;

    while (*op == '_')
        op++;
    length = strlen(op);
    name = eddy__arena_allocate(&graph->arena, length + EDDY__NAME_SUFFIX, 1);
    if (!name)
        return NULL;
    memcpy(name, op, length + 1);
    *out_suffix = 0;
    if (next == EDDY__NOT_FOUND && !names.is_taken(names.owner, name))
        return name;
    *out_suffix = eddy__names_number(&names, name, length,
                                     next == EDDY__NOT_FOUND ? 1 : next) -
                  1;
    return name;
}

void eddy__name_taken(eddy_graph *graph, const char *op, uint32_t suffix)
{
    /* Without memory the search starts from an older suffix the next time. */
    (void)eddy__map_set(&graph->next_suffix, op, suffix + 1);
}

const char *eddy__name_take(eddy_graph *graph, const char *base)
{
    uint32_t suffix = 0;
    const char *name = eddy__name_make(graph, base, &suffix);

    if (name)
        eddy__name_taken(graph, base, suffix);
    return name;
}
