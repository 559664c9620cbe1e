/* SPDX-License-Identifier: Apache-2.0 */
/* Names and what they stand for, a scope a graph; see loader.h. */
#include "core/base/status.h"
#include "interop/onnx/loader.h"

#include <string.h>

eddy_status eddy__onnx_scope_begin(eddy__onnx_loader *loader,
                                   eddy__onnx_scope *scope, bool sees_outside)
{
    if (loader->depth == EDDY__ONNX_MAX_DEPTH)
        return eddy__fail(loader->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_TOO_DEEP,
                          "graphs and calls of functions are nested more than "
                          "%d deep",
                          EDDY__ONNX_MAX_DEPTH);
    *scope = (eddy__onnx_scope){
        .outer = sees_outside ? loader->scope : NULL,
        .places.allocator = loader->scratch.allocator,
        .call = sees_outside && loader->scope ? loader->scope->call : NULL,
    };
    loader->scope = scope;
    loader->depth++;
    return EDDY_OK;
}

void eddy__onnx_scope_end(eddy__onnx_loader *loader, eddy__onnx_scope *scope)
{
    loader->depth--;
    eddy__map_deinit(&scope->places);
    eddy__free(loader->scratch.allocator, scope->names, scope->capacity,
               sizeof *scope->names);
}

static const eddy__onnx_value *find_in(const eddy__onnx_scope *scope,
                                       const char *name)
{
    const uint32_t at = eddy__map_find(&scope->places, name, strlen(name));

    return at == EDDY__NOT_FOUND ? NULL : &scope->names[at].value;
}

const eddy__onnx_value *eddy__onnx_lookup(const eddy__onnx_loader *loader,
                                          const char *name)
{
    for (const eddy__onnx_scope *s = loader->scope; s; s = s->outer) {
        const eddy__onnx_value *value = find_in(s, name);

        if (value)
            return value;
    }
    return NULL;
}

eddy_status eddy__onnx_define(eddy__onnx_loader *loader, const char *name,
                              eddy__onnx_value value, bool is_result)
{
    eddy__onnx_scope *scope = loader->scope;
    eddy_error *err = loader->w.err;

    if (find_in(scope, name))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_DUPLICATE_NODE,
                          "two values of a graph are named '%.100s'", name);
    if (is_result && eddy__onnx_lookup(loader, name))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_DUPLICATE_NODE,
                          "a value in a body is named '%.100s', as one of a "
                          "graph around it is",
                          name);
    if (!eddy__grow(loader->scratch.allocator, (void **)&scope->names,
                    &scope->capacity, scope->n_names + 1,
                    sizeof *scope->names) ||
        !eddy__map_set(&scope->places, name, (uint32_t)scope->n_names))
        return eddy__fail_memory(err);
    scope->names[scope->n_names++] = (eddy__onnx_name){name, value};
    return EDDY_OK;
}
