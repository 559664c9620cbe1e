#include "runtime/core/name.h"

#include "runtime/base/status.h"

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

/* ---- names that come close ---- */

#define LONGEST 128  /* of a name that is compared */
#define FURTHEST 4   /* edits, and not more than a third of the name */
#define WORK 2000000 /* steps of the comparison for one question */

typedef struct range {
    size_t from, to;
} range;

/* The columns of a row where a distance of at most `limit` can lie. */
static range band(size_t row, size_t n, size_t limit)
{
    return (range){.from = row > limit ? row - limit : 1,
                   .to = row + limit < n ? row + limit : n};
}

/* Insertions, deletions and replacements, `limit` + 1 if there are more. */
static size_t distance(const char *a, size_t n_a, const char *b, size_t n_b,
                       size_t limit)
{
    size_t row[LONGEST + 1];

    for (size_t j = 0; j <= n_b; j++)
        row[j] = j <= limit ? j : limit + 1;
    for (size_t i = 1; i <= n_a; i++) {
        const range columns = band(i, n_b, limit);
        size_t diagonal = row[columns.from - 1], least = limit + 1;

        row[columns.from - 1] = columns.from == 1 && i <= limit ? i : limit + 1;
        for (size_t j = columns.from; j <= columns.to; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best < limit + 1 ? best : limit + 1;
            least = row[j] < least ? row[j] : least;
        }
        if (least > limit)
            return limit + 1;
    }
    return row[n_b];
}

static bool lengths_are_near(size_t a, size_t b, size_t limit)
{
    return a <= b + limit && b <= a + limit;
}

const char *eddy__name_closest(const eddy_graph *graph, const char *name,
                               size_t length)
{
    size_t third = (length + 1) / 3;
    size_t limit = third < FURTHEST ? third : FURTHEST;
    const char *closest = NULL;
    size_t work = 0;

    if (length == 0 || length > LONGEST)
        return NULL;
    for (size_t i = 0; i < graph->n_nodes && work < WORK && limit > 0; i++) {
        const char *other = graph->nodes[i].name;
        size_t n = strnlen(other, LONGEST + 1), found;

        work++;
        if (n > LONGEST || !lengths_are_near(length, n, limit))
            continue;
        found = distance(name, length, other, n, limit);
        work += length * (2 * limit + 1);
        if (found > limit)
            continue;
        closest = other;
        limit = found > 0 ? found - 1 : 0;
    }
    return closest;
}
