/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be refused before a graph is made: graphs nested too deeply,
 * functions that call themselves, and operators that eddy has not, all of them
 * in one message.  Nothing here recurses: graphs and functions that are still
 * to be walked wait on a stack.
 */
#include "core/base/status.h"
#include "interop/onnx/loader.h"

#include <stdio.h>
#include <string.h>

/* A list of nodes that the walk is inside of, or is still to enter. */
typedef struct level {
    Eddy__OnnxPb__NodeProto *const *nodes;
    size_t n, at;       /* nodes, and the one that is looked at */
    size_t attr, graph; /* of it: what to enter next */
} level;

/* An operator that there is none of. */
typedef struct missing {
    const char *domain, *name;
    int64_t opset;
    size_t count;
    uint32_t next; /* one of the same name; EDDY__NOT_FOUND: none */
} missing;

typedef struct walk {
    eddy__onnx_loader *loader;
    level levels[EDDY__ONNX_MAX_DEPTH];
    size_t depth;
    missing *missing;
    size_t n_missing, capacity;
    eddy__map by_name; /* the last one that is missing, of a name */
} walk;

static eddy_status enter(walk *w, Eddy__OnnxPb__NodeProto *const *nodes,
                         size_t n)
{
    if (w->depth == EDDY__ONNX_MAX_DEPTH)
        return eddy__fail(
            w->loader->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_TOO_DEEP,
            "graphs are nested more than %d deep", EDDY__ONNX_MAX_DEPTH);
    w->levels[w->depth++] = (level){.nodes = nodes, .n = n};
    return EDDY_OK;
}

/* There are as few domains as imports, so few are of one name. */
static eddy_status note_missing(walk *w, const char *domain, const char *name,
                                int64_t opset)
{
    const uint32_t last = eddy__map_find(&w->by_name, name, strlen(name));

    for (uint32_t i = last; w->missing && i != EDDY__NOT_FOUND;
         i = w->missing[i].next)
        if (strcmp(w->missing[i].domain, domain) == 0) {
            w->missing[i].count++;
            return EDDY_OK;
        }
    if (!eddy__grow(w->loader->scratch.allocator, (void **)&w->missing,
                    &w->capacity, w->n_missing + 1, sizeof *w->missing) ||
        !eddy__map_set(&w->by_name, name, (uint32_t)w->n_missing))
        return eddy__fail_memory(w->loader->w.err);
    w->missing[w->n_missing++] = (missing){domain, name, opset, 1, last};
    return EDDY_OK;
}

static eddy_status check_attributes(eddy__onnx_loader *loader,
                                    const Eddy__OnnxPb__NodeProto *node)
{
    const size_t n = node->n_attribute;

    if (n > EDDY__ONNX_MAX_ATTRIBUTES)
        return eddy__onnx_fail_at(
            loader, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE, node,
            "%zu attributes, more than %d", n, EDDY__ONNX_MAX_ATTRIBUTES);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(eddy__onnx_text_of(node->attribute[i]->name),
                       eddy__onnx_text_of(node->attribute[k]->name)) == 0)
                return eddy__onnx_fail_at(
                    loader, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_DUPLICATE, node,
                    "attribute '%.100s' is given twice",
                    eddy__onnx_text_of(node->attribute[i]->name));
    return EDDY_OK;
}

static eddy_status check_node(walk *w, const Eddy__OnnxPb__NodeProto *node)
{
    const char *domain = eddy__onnx_text_of(node->domain);
    eddy__onnx_loader *loader = w->loader;
    int64_t opset;

    if (!node->op_type || !*node->op_type)
        return eddy__onnx_fail_at(loader, EDDY_INVALID_ARGUMENT,
                                  EDDY_E_UNKNOWN_OP, node,
                                  "a node without an operator");
    EDDY_TRY(check_attributes(loader, node));
    if (eddy__onnx_find_function(loader, domain, node->op_type,
                                 eddy__onnx_text_of(node->overload)) !=
        EDDY__NOT_FOUND)
        return EDDY_OK;
    opset = eddy__onnx_opset_of(loader, domain);
    if (opset == 0)
        return eddy__onnx_fail_at(loader, EDDY_INVALID_ARGUMENT,
                                  EDDY_E_UNKNOWN_OP, node,
                                  "the model imports no opset of domain "
                                  "'%.100s'",
                                  domain);
    if (!eddy__onnx_find(domain, node->op_type, opset))
        return note_missing(w, domain, node->op_type, opset);
    return EDDY_OK;
}

/* The next graph in the attributes of the node that `top` is at; or NULL. */
static const Eddy__OnnxPb__GraphProto *next_graph(level *top)
{
    const Eddy__OnnxPb__NodeProto *node = top->nodes[top->at];

    for (; top->attr < node->n_attribute; top->attr++, top->graph = 0) {
        const Eddy__OnnxPb__AttributeProto *attr = node->attribute[top->attr];
        const size_t i = top->graph++;

        if (i == 0 && attr->g)
            return attr->g;
        if (i <= attr->n_graphs && i > 0)
            return attr->graphs[i - 1];
        if (i == 0 && attr->n_graphs > 0) {
            top->graph = 2;
            return attr->graphs[0];
        }
    }
    return NULL;
}

/* Looks at the nodes of a list and of all graphs inside. */
static eddy_status walk_nodes(walk *w, Eddy__OnnxPb__NodeProto *const *nodes,
                              size_t n)
{
    EDDY_TRY(enter(w, nodes, n));
    while (w->depth > 0) {
        level *top = &w->levels[w->depth - 1];
        const Eddy__OnnxPb__GraphProto *graph;

        if (top->at == top->n) {
            w->depth--;
            continue;
        }
        if (top->attr == 0 && top->graph == 0)
            EDDY_TRY(check_node(w, top->nodes[top->at]));
        graph = next_graph(top);
        if (graph) {
            EDDY_TRY(enter(w, graph->node, graph->n_node));
        } else {
            top->at++;
            top->attr = 0;
            top->graph = 0;
        }
    }
    return EDDY_OK;
}

/* One message for all operators that are missing, as many as fit. */
static eddy_status fail_missing(const walk *w)
{
    char text[420];
    size_t used = 0, shown = 0;

    for (; shown < w->n_missing; shown++) {
        const missing *m = &w->missing[shown];
        const int n = snprintf(
            text + used, sizeof text - used, "%s%.60s%s%.60s (opset %lld) x%zu",
            shown > 0 ? ", " : "", m->domain, *m->domain ? "." : "", m->name,
            (long long)m->opset, m->count);

        if (n < 0 || (size_t)n >= sizeof text - used) {
            text[used] = '\0';
            break;
        }
        used += (size_t)n;
    }
    if (shown < w->n_missing)
        return eddy__fail(w->loader->w.err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP,
                          "%zu operators that eddy has not: %s, and %zu more",
                          w->n_missing, text, w->n_missing - shown);
    return eddy__fail(w->loader->w.err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP,
                      "%zu operator%s that eddy has not: %s", w->n_missing,
                      w->n_missing == 1 ? "" : "s", text);
}

/* ---- functions ---- */

/* A function on the way from the model's graph; colours as in any such walk. */
typedef struct visit {
    uint8_t is_open, is_done;
    uint32_t caller;
} visit;

static eddy_status fail_cycle(const eddy__onnx_loader *loader,
                              const visit *visits, size_t from, size_t to)
{
    char text[400];
    size_t used = 0, at = from;

    /* From the caller back to the callee: the cycle, read backwards. */
    for (size_t i = 0; i <= loader->model->n_functions; i++) {
        const int n =
            snprintf(text + used, sizeof text - used, "'%.60s' is called by ",
                     eddy__onnx_text_of(
                         loader->model->functions[i == 0 ? to : at]->name));

        if (n < 0 || (size_t)n >= sizeof text - used)
            break;
        used += (size_t)n;
        if (i > 0 && at == to)
            break;
        if (i > 0)
            at = visits[at].caller;
    }
    return eddy__fail(loader->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_RECURSION,
                      "a function calls itself: %.*s",
                      (int)(used > 14 ? used - 14 : used), text);
}

/* A place in a function while its calls are followed. */
typedef struct follow {
    size_t function;
    walk calls; /* only its levels are used */
} follow;

/*
 * Follows every call from every function, depth first.  As calls may stand in
 * graphs inside, each function that is open has a walk of its own.
 */
static eddy_status follow_calls(eddy__onnx_loader *loader, visit *visits,
                                follow *open, size_t n_open)
{
    while (n_open > 0) {
        follow *f = &open[n_open - 1];
        level *top =
            f->calls.depth > 0 ? &f->calls.levels[f->calls.depth - 1] : NULL;
        uint32_t to = EDDY__NOT_FOUND;
        const Eddy__OnnxPb__GraphProto *graph;

        if (!top) {
            visits[f->function].is_open = 0;
            visits[f->function].is_done = 1;
            n_open--;
            continue;
        }
        if (top->at == top->n) {
            f->calls.depth--;
            continue;
        }
        if (top->attr == 0 && top->graph == 0)
            to = eddy__onnx_find_function(
                loader, eddy__onnx_text_of(top->nodes[top->at]->domain),
                eddy__onnx_text_of(top->nodes[top->at]->op_type),
                eddy__onnx_text_of(top->nodes[top->at]->overload));
        graph = next_graph(top);
        if (graph) {
            EDDY_TRY(enter(&f->calls, graph->node, graph->n_node));
        } else {
            top->at++;
            top->attr = 0;
            top->graph = 0;
        }
        if (to != EDDY__NOT_FOUND) {
            const Eddy__OnnxPb__FunctionProto *callee =
                loader->model->functions[to];

            if (visits[to].is_open)
                return fail_cycle(loader, visits, f->function, to);
            if (visits[to].is_done)
                continue;
            if (n_open == EDDY__ONNX_MAX_DEPTH)
                return eddy__fail(loader->w.err, EDDY_INVALID_ARGUMENT,
                                  EDDY_E_TOO_DEEP,
                                  "functions call each other more than %d deep",
                                  EDDY__ONNX_MAX_DEPTH);
            visits[to] = (visit){.is_open = 1, .caller = (uint32_t)f->function};
            open[n_open] = (follow){.function = to, .calls.loader = loader};
            EDDY_TRY(
                enter(&open[n_open++].calls, callee->node, callee->n_node));
        }
    }
    return EDDY_OK;
}

static eddy_status check_recursion(eddy__onnx_loader *loader)
{
    const size_t n = loader->model->n_functions;
    visit *visits = eddy__scratch_allocate(&loader->scratch, n, sizeof *visits);
    follow *open = eddy__scratch_allocate(&loader->scratch,
                                          EDDY__ONNX_MAX_DEPTH, sizeof *open);

    if (!visits || !open)
        return eddy__scratch_fail(&loader->scratch, loader->w.err);
    for (size_t i = 0; i < n; i++)
        visits[i] = (visit){.is_open = 0};
    for (size_t i = 0; i < n; i++) {
        const Eddy__OnnxPb__FunctionProto *f = loader->model->functions[i];

        if (visits[i].is_done)
            continue;
        visits[i] = (visit){.is_open = 1, .caller = (uint32_t)i};
        open[0] = (follow){.function = i, .calls.loader = loader};
        EDDY_TRY(enter(&open[0].calls, f->node, f->n_node));
        EDDY_TRY(follow_calls(loader, visits, open, 1));
    }
    return EDDY_OK;
}

static eddy_status check_function(const eddy__onnx_loader *loader, size_t i)
{
    const Eddy__OnnxPb__FunctionProto *f = loader->model->functions[i];
    const char *name = eddy__onnx_text_of(f->name);

    if (!*name)
        return eddy__fail(loader->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION,
                          "function %zu has no name", i);
    if (f->n_opset_import > EDDY__ONNX_MAX_IMPORTS)
        return eddy__fail(loader->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION,
                          "function '%.100s' imports %zu opsets, more than %d",
                          name, f->n_opset_import, EDDY__ONNX_MAX_IMPORTS);
    if (f->n_attribute_proto > EDDY__ONNX_MAX_ATTRIBUTES)
        return eddy__fail(
            loader->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION,
            "function '%.100s' has %zu attributes with a default, more than %d",
            name, f->n_attribute_proto, EDDY__ONNX_MAX_ATTRIBUTES);
    return EDDY_OK;
}

/* Of two functions that are called alike it is the first that is called. */
static eddy_status note_functions(eddy__onnx_loader *loader)
{
    const Eddy__OnnxPb__ModelProto *model = loader->model;

    for (size_t i = 0; i < model->n_functions; i++) {
        const Eddy__OnnxPb__FunctionProto *f = model->functions[i];
        const size_t size = eddy__onnx_function_key_size(f);
        char *key;

        EDDY_TRY(check_function(loader, i));
        key = eddy__scratch_allocate(&loader->scratch, size, 1);
        if (!key)
            return eddy__scratch_fail(&loader->scratch, loader->w.err);
        eddy__onnx_function_key(key, size, eddy__onnx_text_of(f->domain),
                                eddy__onnx_text_of(f->name),
                                eddy__onnx_text_of(f->overload));
        if (loader->key_size < size)
            loader->key_size = size;
        if (eddy__map_find(&loader->functions, key, strlen(key)) !=
            EDDY__NOT_FOUND)
            continue;
        if (!eddy__map_set(&loader->functions, key, (uint32_t)i))
            return eddy__fail_memory(loader->w.err);
    }
    loader->key =
        eddy__scratch_allocate(&loader->scratch, loader->key_size + 1, 1);
    return loader->key ? EDDY_OK
                       : eddy__scratch_fail(&loader->scratch, loader->w.err);
}

/* ---- the model ---- */

static bool is_onnx_domain(const char *domain)
{
    return !*domain || strcmp(domain, "ai.onnx") == 0;
}

/* ONNX's own domain has two names. */
static bool is_same_domain(const char *a, const char *b)
{
    return strcmp(a, b) == 0 || (is_onnx_domain(a) && is_onnx_domain(b));
}

static eddy_status check_versions(const eddy__onnx_loader *loader)
{
    const Eddy__OnnxPb__ModelProto *model = loader->model;
    eddy_error *err = loader->w.err;

    if (!model->graph)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED,
                          "the model has no graph");
    if (!model->has_ir_version)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED,
                          "the model does not say its IR version");
    if (model->ir_version < 3 || model->ir_version > 14)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED,
                          "the model is of IR version %lld, 3 to 14 are known",
                          (long long)model->ir_version);
    if (model->n_opset_import > EDDY__ONNX_MAX_IMPORTS)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED,
                          "the model imports %zu opsets, more than %d",
                          model->n_opset_import, EDDY__ONNX_MAX_IMPORTS);
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const char *domain = eddy__onnx_text_of(model->opset_import[i]->domain);
        const int64_t version = model->opset_import[i]->version;

        for (size_t k = 0; k < i; k++)
            if (is_same_domain(
                    domain, eddy__onnx_text_of(model->opset_import[k]->domain)))
                return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED,
                                  "the opset of domain '%.100s' is imported "
                                  "twice",
                                  domain);
        if (version < 1 ||
            (is_onnx_domain(domain) && version > EDDY__ONNX_NEWEST))
            return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED,
                              "the model imports opset %lld of domain "
                              "'%.100s', 1 to %d are known",
                              (long long)version, domain, EDDY__ONNX_NEWEST);
    }
    return EDDY_OK;
}

static eddy_status check_nodes(eddy__onnx_loader *loader, walk *w)
{
    const Eddy__OnnxPb__ModelProto *model = loader->model;
    eddy__onnx_call call = {.function = NULL};
    eddy__onnx_scope scope = {.call = NULL};
    eddy_status status;

    EDDY_TRY(walk_nodes(w, model->graph->node, model->graph->n_node));
    for (size_t i = 0; i < model->n_functions; i++) {
        /* Its opsets are its own. */
        call.function = model->functions[i];
        scope.call = &call;
        loader->scope = &scope;
        status = walk_nodes(w, model->functions[i]->node,
                            model->functions[i]->n_node);
        loader->scope = NULL;
        EDDY_TRY(status);
    }
    return w->n_missing > 0 ? fail_missing(w) : EDDY_OK;
}

eddy_status eddy__onnx_check_model(eddy__onnx_loader *loader)
{
    walk w = {.loader = loader, .by_name.allocator = loader->scratch.allocator};
    eddy_status status;

    EDDY_TRY(check_versions(loader));
    EDDY_TRY(note_functions(loader));
    EDDY_TRY(check_recursion(loader));
    status = check_nodes(loader, &w);
    eddy__free(loader->scratch.allocator, w.missing, w.capacity,
               sizeof *w.missing);
    eddy__map_deinit(&w.by_name);
    return status;
}
