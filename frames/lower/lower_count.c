/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many nodes lowering is going to add, before it adds them: functions that
 * call functions several times each grow with the power of their depth, so
 * that a small file can stand for any number of nodes.
 *
 * A routine is counted once, after those that it calls, by a walk that keeps
 * its way in a list.  One that calls itself is left to the expansion, which
 * refuses it and names the way around.
 */
#include "core/base/status.h"
#include "frames/lower/functional.h"
#include "frames/lower/lowering.h"

#include <string.h>

enum { NEW, OPEN, DONE };

typedef struct way {
    const eddy_allocator *allocator;
    eddy__routine **items;
    size_t n, capacity;
    bool is_circular;
} way;

static eddy_status push(eddy__lowering *l, way *w, eddy__routine *r)
{
    uint64_t n = 1;

    if (!eddy__grow(w->allocator, (void **)&w->items, &w->capacity, w->n + 1,
                    sizeof(eddy__routine *)))
        return eddy__fail_memory(l->err);
    for (eddy_node id = 0; id < r->graph->n_nodes; id++)
        n += r->kind[id] == EDDY__PLAIN;
    r->size = n;
    r->counted = OPEN;
    w->items[w->n++] = r;
    return EDDY_OK;
}

/* What a part of a call adds to `r`: known, or to be counted before. */
static eddy_status add_part(eddy__lowering *l, way *w, eddy__routine *r,
                            const char *name, size_t length, bool *out_waits)
{
    eddy__routine *part;

    EDDY_TRY(eddy__routine_plain(l, name, length, &part));
    if (!part)
        return EDDY_OK;
    if (part->counted == NEW) {
        *out_waits = true;
        return push(l, w, part);
    }
    w->is_circular |= part->counted == OPEN;
    if (part->counted == DONE &&
        __builtin_add_overflow(r->size, part->size, &r->size))
        r->size = UINT64_MAX;
    return EDDY_OK;
}

/* Does the attribute of a call name the functions that it makes parts of? */
static bool names_parts(const eddy_attr *attr)
{
    static const char *const names[] = {
        "f", "then_branch", "else_branch", "branches", "cond", "body"};

    if (attr->kind != EDDY_ATTR_FUNCTION)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(attr->name, names[i]) == 0)
            return true;
    return false;
}

/* Goes on where it has stopped to wait for a part that is counted first. */
static eddy_status add_call(eddy__lowering *l, way *w, eddy__routine *r,
                            const eddy__node *node, bool *out_waits)
{
    const size_t length = strlen(node->op_name);

    if (eddy__map_find(&l->graph->function_names, node->op_name, length) !=
        EDDY__NOT_FOUND)
        return add_part(l, w, r, node->op_name, length, out_waits);
    for (; r->attr < node->n_attrs; r->attr++, r->nth = 0) {
        const eddy_attr *attr = &node->attrs[r->attr];
        const size_t n = names_parts(attr) ? attr->n : 0;

        for (; r->nth < n; r->nth++) {
            EDDY_TRY(add_part(l, w, r, attr->as.strings[r->nth].data,
                              attr->as.strings[r->nth].length, out_waits));
            if (*out_waits)
                return EDDY_OK;
        }
    }
    return EDDY_OK;
}

static eddy_status count(eddy__lowering *l, way *w)
{
    EDDY_TRY(push(l, w, &l->root));
    while (w->n > 0 && !w->is_circular) {
        eddy__routine *r = w->items[w->n - 1];
        bool waits = false;

        while (r->at < r->n_calls && !waits) {
            EDDY_TRY(add_call(
                l, w, r, eddy__graph_node(r->graph, r->calls[r->at]), &waits));
            if (!waits) {
                r->at++;
                r->attr = 0;
                r->nth = 0;
            }
        }
        if (waits)
            continue;
        r->counted = DONE;
        w->n--;
    }
    return EDDY_OK;
}

eddy_status eddy__lower_count(eddy__lowering *l)
{
    way w = {.allocator = l->arena.allocator};
    eddy_status status = count(l, &w);

    eddy__free(w.allocator, w.items, w.capacity, sizeof(eddy__routine *));
    if (status == EDDY_OK && !w.is_circular && l->root.size > l->base_nodes &&
        l->root.size - l->base_nodes > l->max_nodes)
        return eddy__lower_fail_size(l);
    return status;
}
