/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that a builder adds as they stand: their names in the scopes of
 * constructs, and the levels in which they live.
 */
#include "core/base/status.h"
#include "core/graph/name.h"
#include "frames/build/builder.h"

#include <stdio.h>
#include <string.h>

/* ---- levels of nodes ---- */

/* Makes the levels of the nodes before node `n` known: the root's. */
static bool know(eddy__builder *b, size_t n)
{
    if (n <= b->n_known)
        return true;
    if (!eddy__grow(b->allocator, (void **)&b->level_of, &b->known_capacity, n,
                    sizeof *b->level_of))
        return false;
    memset(b->level_of + b->n_known, 0, (n - b->n_known) * sizeof *b->level_of);
    b->n_known = n;
    return true;
}

bool eddy__builder_note(eddy__builder *b, size_t first, uint32_t level)
{
    if (first < b->n_known)
        first = b->n_known;
    if (!know(b, b->graph->n_nodes))
        return false;
    for (size_t i = first; i < b->n_known; i++)
        b->level_of[i] = level;
    return true;
}

/* ---- names ---- */

/* Makes b->text "scope/name"; false without memory. */
static bool compose(eddy__builder *b, const char *scope, const char *name)
{
    const size_t needed = strlen(scope) + strlen(name) + 1 + EDDY__NAME_SUFFIX;

    if (!eddy__grow(b->allocator, (void **)&b->text, &b->text_capacity, needed,
                    1))
        return false;
    snprintf(b->text, b->text_capacity, "%s%s%s", scope, *scope ? "/" : "",
             name);
    return true;
}

/* Is the name that of a node or of a scope? */
static bool is_taken(const void *owner, const char *name)
{
    const eddy__builder *b = owner;

    return eddy_graph_find(b->graph, name) != EDDY_NO_NODE ||
           eddy__map_find(&b->suffixes, name, strlen(name)) != EDDY__NOT_FOUND;
}

bool eddy__builder_note_name(eddy__builder *b, const char *name, size_t length,
                             uint32_t next)
{
    const char *key = eddy__arena_text(&b->graph->arena, name, length);

    return key && eddy__map_set(&b->suffixes, key, next);
}

/* Puts the first free number behind b->text; false without memory. */
static bool number_name(eddy__builder *b)
{
    const eddy__names names = {.is_taken = is_taken, .owner = b};
    const size_t length = strlen(b->text);
    const uint32_t known = eddy__map_find(&b->suffixes, b->text, length);
    const uint32_t next = eddy__names_number(
        &names, b->text, length, known == EDDY__NOT_FOUND ? 1 : known);

    if (known == EDDY__NOT_FOUND)
        return eddy__builder_note_name(b, b->text, length, next);
    /* The map keeps the key that it has. */
    b->text[length] = '\0';
    (void)eddy__map_set(&b->suffixes, b->text, next);
    b->text[length] = '_';
    return true;
}

static bool make_free(eddy__builder *b)
{
    return !is_taken(b, b->text) || number_name(b);
}

/* The name of the node that is to be added, in b->text. */
static eddy_status make_name(eddy__builder *b, const eddy__site *site,
                             const char *op, eddy_error *err)
{
    const char *hint = site->hint ? site->hint : op;

    while (!site->is_exact && *hint == '_')
        hint++;
    if (!compose(b, site->scope, hint) || (!site->is_exact && !make_free(b)))
        return eddy__fail_memory(err);
    return EDDY_OK;
}

eddy_status eddy__builder_scope(eddy__builder *b, const char *name,
                                const char *otherwise, const char **out_scope,
                                eddy_error *err)
{
    const eddy__construct *top = eddy__builder_top(b);

    if (!name || !*name)
        name = otherwise;
    EDDY_TRY(eddy__name_check(name, err));
    if (!compose(b, top ? top->scope : "", name) || !make_free(b) ||
        !eddy__builder_note_name(b, b->text, strlen(b->text), 1))
        return eddy__fail_memory(err);
    *out_scope = eddy__arena_text(&b->graph->arena, b->text, strlen(b->text));
    return *out_scope ? EDDY_OK : eddy__fail_memory(err);
}

/* ---- adding as it stands ---- */

eddy_status eddy__builder_place(eddy__builder *b, eddy__site site,
                                const eddy_node_spec *spec, eddy_node *out_node,
                                eddy_error *err)
{
    const eddy__add_options options = {.checks_shapes = true};
    eddy_node_spec named = *spec;
    eddy_node node;

    EDDY_TRY(make_name(b, &site, spec->op, err));
    named.name = b->text;
    if (!know(b, b->graph->n_nodes + 1))
        return eddy__fail_memory(err);
    EDDY_TRY(eddy__graph_add(b->graph, &named, &options, &node, err));
    b->level_of[node] = site.level;
    *out_node = node;
    return EDDY_OK;
}
