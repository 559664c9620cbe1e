/* SPDX-License-Identifier: Apache-2.0 */
/* Which names nodes may have. */
#include "core/graph/name.h"

#include "core/base/status.h"
#include "core/graph/nearest.h"

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

const char *eddy__name_closest(const eddy_graph *graph, const char *name,
                               size_t length)
{
    eddy__nearest nearest = eddy__nearest_to(name, length);

    for (size_t i = 0; i < graph->n_nodes; i++)
        eddy__nearest_offer(&nearest, graph->nodes[i].name);
    return nearest.found;
}
