#include "core/graph/name.h"

#include "core/base/status.h"
#include "core/graph/nearest.h"

#include <stdio.h>
#include <string.h>

static bool is_first(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '.';
}

static bool is_rest(char c)
{
    return is_first(c) || c == '_' || c == '\\' || c == '/' || c == '>' ||
           c == '-';
}

eddy_status eddy__name_check(const char *name, eddy_error *err)
{
    size_t length = 0;

    if (!is_first(name[0]))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_BAD_NAME,
                          name[0] ? "a name starts with a letter, a digit or "
                                    "'.'"
                                  : "a node has no name");
    while (is_rest(name[length]))
        length++;
    if (name[length] != '\0')
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_BAD_NAME,
                          "the name has byte 0x%02x at %zu; it may hold "
                          "letters, digits and any of _.\\/>-",
                          (unsigned)(unsigned char)name[length], length);
    if (length > EDDY__MAX_NAME)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_BAD_NAME,
                          "the name has %zu bytes, at most %zu are allowed",
                          length, EDDY__MAX_NAME);
    return EDDY_OK;
}

/* ---- names that are made up ---- */

static uint32_t next_suffix(const eddy_graph *graph, const char *op)
{
    uint32_t next = eddy__map_find(&graph->next_suffix, op, strlen(op));

    return next == EDDY__NOT_FOUND ? 0 : next;
}

const char *eddy__name_make(eddy_graph *graph, const char *op,
                            uint32_t *out_suffix)
{
    uint32_t suffix = next_suffix(graph, op);
    size_t size;
    char *name;

    while (*op == '_')
        op++;
    size = strlen(op) + sizeof "_4294967295";
    name = eddy__arena_allocate(&graph->arena, size, 1);
    if (!name)
        return NULL;
    for (;; suffix++) {
        if (suffix == 0)
            snprintf(name, size, "%s", op);
        else
            snprintf(name, size, "%s_%lu", op, (unsigned long)suffix);
        if (eddy_graph_find(graph, name) == EDDY_NO_NODE)
            break;
    }
    *out_suffix = suffix;
    return name;
}

void eddy__name_taken(eddy_graph *graph, const char *op, uint32_t suffix)
{
    /* Without memory the search starts from an older suffix the next time. */
    (void)eddy__map_set(&graph->next_suffix, op, suffix + 1);
}

const char *eddy__name_closest(const eddy_graph *graph, const char *name,
                               size_t length)
{
    eddy__nearest nearest = eddy__nearest_to(name, length);

    for (size_t i = 0; i < graph->n_nodes; i++)
        eddy__nearest_offer(&nearest, graph->nodes[i].name);
    return nearest.found;
}
