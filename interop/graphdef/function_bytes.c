/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is made of that which a graph keeps as bytes of a GraphDef: functions
 * that are called with values for their parameters.
 */
#include "core/base/status.h"
#include "core/context.h"
#include "interop/graphdef/function_bind.h"
#include "interop/graphdef/loader.h"
#include "interop/graphdef/writer.h"

#include <string.h>

/* ---- reading ---- */

static eddy_status read_bound(const eddy_graph *graph, eddy_string bytes,
                              eddy__budget *budget, eddy_graph **out_library,
                              eddy_error *err)
{
    const eddy__message message = {(const uint8_t *)bytes.data, bytes.length};
    eddy__loader loader = {.ctx = graph->ctx, .budget = budget, .err = err};
    eddy__wire_summary summary = {.n_nodes = 0};
    eddy_graph *library = NULL;
    eddy_status status;

    EDDY_TRY(eddy__wire_check(&eddy__graphdef_format,
                              &eddy__pb__function_def__descriptor, message,
                              &summary, err));
    EDDY_TRY(eddy__graph_create(graph->ctx, budget, &library, err));
    library->reader = graph->reader;
    eddy__scratch_init(&loader.scratch, library->arena.allocator,
                       bytes.length * (uint64_t)EDDY__LOAD_BYTES_PER_BYTE +
                           EDDY__LOAD_FREE_BYTES);
    status = eddy__read_function(&loader, library, message);
    eddy__loader_reset(&loader);
    eddy__scratch_deinit(&loader.scratch);
    if (status == EDDY_OK)
        *out_library = library;
    else
        eddy_graph_destroy(library);
    return status;
}

/* ---- the functions that attributes name ---- */

/* The attributes of one function, each as the bytes of its value. */
static eddy_status read_ref(const Eddy__Pb__NameAttrList *from,
                            eddy__arena *arena, eddy__function_ref *to,
                            eddy_error *err)
{
    eddy_attr *attrs = eddy__arena_allocate(arena, from->n_attr, sizeof *attrs);

    to->name.length = strlen(from->name);
    to->name.data = eddy__arena_text(arena, from->name, to->name.length);
    if (!attrs || !to->name.data)
        return eddy__fail_memory(err);
    for (size_t i = 0; i < from->n_attr; i++) {
        const Eddy__Pb__AttrValue none = EDDY__PB__ATTR_VALUE__INIT;
        const Eddy__Pb__AttrEntry *entry = from->attr[i];
        const Eddy__Pb__AttrValue *value = entry->value ? entry->value : &none;
        const size_t length = eddy__pb__attr_value__get_packed_size(value);
        uint8_t *bytes = eddy__arena_allocate(arena, length + 1, 1);
        eddy_string *text = eddy__arena_allocate(arena, 1, sizeof *text);
        const char *name =
            eddy__arena_text(arena, entry->key, strlen(entry->key));

        if (!bytes || !text || !name)
            return eddy__fail_memory(err);
        eddy__pb__attr_value__pack(value, bytes);
        *text = (eddy_string){(const char *)bytes, length};
        attrs[i] = (eddy_attr){
            .name = name, .kind = EDDY_ATTR_OPAQUE, .n = 1, .as.strings = text};
    }
    to->attrs = attrs;
    to->n_attrs = from->n_attr;
    return EDDY_OK;
}

static eddy_status read_value(const Eddy__Pb__AttrValue *value,
                              const char *name, eddy__arena *arena,
                              eddy__function_ref **out_refs, size_t *out_n,
                              eddy_error *err)
{
    Eddy__Pb__NameAttrList *const *items = NULL;
    size_t n = 0;

    if (value->value_case == EDDY__PB__ATTR_VALUE__VALUE_FUNC) {
        items = &value->func;
        n = 1;
    } else if (value->value_case == EDDY__PB__ATTR_VALUE__VALUE_LIST) {
        items = value->list->func;
        n = value->list->n_func;
    }
    if (n == 0)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_KIND,
                          "attribute '%.64s' names no function", name);
    *out_refs = eddy__arena_allocate_zeroed(arena, n, sizeof **out_refs);
    *out_n = n;
    if (!*out_refs)
        return eddy__fail_memory(err);
    for (size_t i = 0; i < n; i++)
        EDDY_TRY(read_ref(items[i], arena, &(*out_refs)[i], err));
    return EDDY_OK;
}

static eddy_status read_refs(const eddy_attr *attr, eddy__arena *arena,
                             eddy__function_ref **out_refs, size_t *out_n,
                             eddy_error *err)
{
    Eddy__Pb__AttrValue *value = NULL;
    eddy__scratch scratch;
    eddy_status status;

    eddy__scratch_init(&scratch, arena->allocator, UINT64_MAX);
    status = eddy__unpack_attr(&scratch, attr, &value, err);
    if (status == EDDY_OK)
        status = read_value(value, attr->name, arena, out_refs, out_n, err);
    eddy__scratch_deinit(&scratch);
    return status;
}

const eddy__function_reader eddy__function_bytes = {
    .read_refs = read_refs,
    .bind = eddy__function_bind,
    .read = read_bound,
};
