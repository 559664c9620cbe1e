/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds and finds op definitions.  Everything that may fail comes before the
 * table changes, so that a spec that is refused leaves no trace.
 */
#include "core/graph/registry.h"

#include "core/base/status.h"
#include "core/context.h"
#include "core/graph/nearest.h"
#include "core/graph/signature.h"

#include <assert.h>
#include <string.h>

void eddy__registry_init(eddy__registry *registry,
                         const eddy_allocator *allocator)
{
    *registry = (eddy__registry){.arena.allocator = allocator,
                                 .names.allocator = allocator};
}

void eddy__registry_deinit(eddy__registry *registry)
{
    const eddy_allocator *allocator = registry->arena.allocator;

    eddy__free(allocator, registry->ops, registry->capacity,
               sizeof(eddy__op *));
    eddy__free(allocator, registry->sorted, registry->sorted_capacity,
               sizeof(const char *));
    eddy__map_deinit(&registry->names);
    eddy__arena_destroy(&registry->arena);
}

const eddy__op *eddy__registry_find(const eddy__registry *registry,
                                    const char *name)
{
    uint32_t id = eddy__map_find(&registry->names, name, strlen(name));

    return id == EDDY__NOT_FOUND ? NULL : registry->ops[id];
}

const char *eddy__registry_closest(const eddy__registry *registry,
                                   const char *name)
{
    eddy__nearest nearest = eddy__nearest_to(name, strlen(name));

    for (size_t i = 0; i < registry->n_ops; i++)
        eddy__nearest_offer(&nearest, registry->ops[i]->name);
    return nearest.found;
}

/* ---- adding ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_valid_name(const char *name)
{
    if (!is_letter(*name) && *name != '_')
        return false;
    for (; *name; name++)
        if (!is_letter(*name) && !(*name >= '0' && *name <= '9') &&
            *name != '_' && *name != '>' && *name != '.')
            return false;
    return true;
}

static eddy_status check_spec(const eddy__registry *registry,
                              const eddy_op_spec *spec, eddy_error *err)
{
    if (spec->size != sizeof *spec)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_OP_SPEC,
                          "the size of the op's specification is %zu, not %zu",
                          spec->size, sizeof *spec);
    if (!spec->name || !is_valid_name(spec->name))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_OP_SPEC,
                          "'%.64s' is no name for an op: a letter, then "
                          "letters, digits, '_', '>' or '.'",
                          spec->name ? spec->name : "");
    if (eddy__registry_find(registry, spec->name))
        return eddy__fail_node(err, EDDY_ALREADY_EXISTS, EDDY_E_OP_SPEC, NULL,
                               spec->name, "op is registered already");
    return EDDY_OK;
}

/* Room for one more op, so that only the map can still fail. */
static bool reserve(eddy__registry *registry)
{
    const eddy_allocator *allocator = registry->arena.allocator;
    void *ops = registry->ops, *sorted = (void *)registry->sorted;
    bool ok = eddy__grow(allocator, &ops, &registry->capacity,
                         registry->n_ops + 1, sizeof(eddy__op *));

    registry->ops = ops;
    ok = ok && eddy__grow(allocator, &sorted, &registry->sorted_capacity,
                          registry->n_ops + 1, sizeof(const char *));
    registry->sorted = sorted;
    return ok;
}

/* Where `name` belongs among the sorted names. */
static size_t find_place(const eddy__registry *registry, const char *name)
{
    size_t low = 0, high = registry->n_ops;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(registry->sorted[middle], name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert_name(eddy__registry *registry, const char *name)
{
    size_t place = find_place(registry, name);

    assert(registry->sorted);
    memmove(registry->sorted + place + 1, registry->sorted + place,
            (registry->n_ops - place) * sizeof *registry->sorted);
    registry->sorted[place] = name;
}

/* A text that may be missing: a copy, or itself where it is eddy's own. */
static bool take_text(eddy__registry *registry, const char *text,
                      uint32_t flags, const char **out_text)
{
    *out_text = text && !(flags & EDDY__OP_BUILTIN)
                    ? eddy__arena_text(&registry->arena, text, strlen(text))
                    : text;
    return !text || *out_text;
}

/* The type attributes of an op whose signature was parsed. */
static bool list_types(eddy__registry *registry, const eddy__op *op,
                       eddy_op_info *info)
{
    eddy_op_type *types =
        eddy__arena_allocate(&registry->arena, op->n_attrs, sizeof *types);

    if (!types)
        return false;
    info->types = types;
    for (uint32_t i = 0; i < op->n_attrs; i++)
        if (op->attrs[i].kind == EDDY_ATTR_TYPE)
            types[info->n_types++] =
                (eddy_op_type){.attr = op->attrs[i].name,
                               .dtypes = op->attrs[i].allowed,
                               .is_list = op->attrs[i].is_list};
    return true;
}

static bool copy_info(eddy__registry *registry, const eddy_op_spec *spec,
                      eddy__op *op)
{
    eddy_op_info *info = &op->info;

    info->name = op->name;
    info->flags = op->flags & ~EDDY__OP_INTERNAL;
    return take_text(registry, spec->inputs ? spec->inputs : "", op->flags,
                     &info->inputs) &&
           take_text(registry, spec->outputs ? spec->outputs : "", op->flags,
                     &info->outputs) &&
           take_text(registry, spec->attrs ? spec->attrs : "", op->flags,
                     &info->attrs) &&
           take_text(registry, spec->doc, op->flags, &info->doc) &&
           take_text(registry, spec->source, op->flags, &info->source) &&
           list_types(registry, op, info);
}

static bool has_references(const eddy__arg *args, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (args[i].is_ref)
            return true;
    return false;
}

/* Adds an op that was checked; `flags` stand in place of those of `spec`. */
static eddy_status add(eddy__registry *registry, const eddy_op_spec *spec,
                       eddy__role role, uint32_t flags, eddy_error *err)
{
    eddy__op *op = eddy__arena_allocate_zeroed(&registry->arena, 1, sizeof *op);

    if (!op)
        return eddy__fail_memory(err);
    op->role = role;
    op->flags = flags;
    op->infer = spec->infer;
    op->kernel = spec->kernel;
    op->prepare = spec->prepare;
    op->user = spec->user;
    op->gradient = spec->gradient;
    if (!take_text(registry, spec->name, flags, &op->name))
        return eddy__fail_memory(err);
    EDDY_TRY(eddy__signature_parse(&registry->arena, spec, op, err));
    op->has_references = has_references(op->inputs, op->n_inputs) ||
                         has_references(op->outputs, op->n_outputs);
    if (!copy_info(registry, spec, op) || !reserve(registry) ||
        !eddy__map_set(&registry->names, op->name, (uint32_t)registry->n_ops))
        return eddy__fail_memory(err);
    insert_name(registry, op->name);
    registry->ops[registry->n_ops++] = op;
    return EDDY_OK;
}

eddy_status eddy__registry_add(eddy__registry *registry,
                               const eddy_op_spec *spec, eddy__role role,
                               eddy_error *err)
{
    EDDY_TRY(check_spec(registry, spec, err));
    return add(registry, spec, role, spec->flags | EDDY__OP_BUILTIN, err);
}

eddy_status eddy__registry_add_table(eddy__registry *registry,
                                     const eddy__op_table *table,
                                     eddy_error *err)
{
    for (size_t i = 0; i < table->n; i++)
        EDDY_TRY(eddy__registry_add(
            registry, &table->specs[i],
            table->roles ? table->roles[i] : EDDY__ROLE_NONE, err));
    return EDDY_OK;
}

/* ---- the public side ---- */

eddy_status eddy_op_register(eddy_context *ctx, const eddy_op_spec *spec,
                             eddy_error *err)
{
    EDDY_REFUSE_IF(!ctx, err, "no context");
    EDDY_REFUSE_IF(!spec, err, "no specification of an op");
    EDDY_TRY(check_spec(&ctx->registry, spec, err));
    if (spec->name[0] == '_')
        return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_OP_SPEC, NULL,
                               spec->name, "names with '_' first are eddy's");
    if (!spec->kernel && !spec->prepare)
        return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_OP_SPEC, NULL,
                               spec->name, "op has neither kernel nor prepare");
    return add(&ctx->registry, spec, EDDY__ROLE_NONE,
               spec->flags & ~EDDY__OP_INTERNAL, err);
}

const char *eddy_op_name(const eddy_context *ctx, size_t i)
{
    return i < ctx->registry.n_ops ? ctx->registry.sorted[i] : NULL;
}

bool eddy_op_find(const eddy_context *ctx, const char *name,
                  eddy_op_info *out_info)
{
    const eddy__op *op = eddy__registry_find(&ctx->registry, name);

    if (op)
        *out_info = op->info;
    return op != NULL;
}
