/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FunctionDefs to functions of a graph's library; the arguments become `_Arg`
 * nodes.
 *
 * A function that can't be read, such as one with dtypes for parameters, is
 * kept as bytes: a graph must not fail for a function that nothing in it may
 * need.
 */
#include "core/base/status.h"
#include "core/context.h"
#include "interop/graphdef/function_draft.h"

#include <string.h>

enum {
    LIBRARY_FUNCTION = 1,
    LIBRARY_GRADIENT = 2,
    FUNCTION_SIGNATURE = 1,
    FUNCTION_NODE = 3,
    FUNCTION_RET = 4,
    FUNCTION_ATTR = 5,
    FUNCTION_CONTROL_RET = 6,
    FUNCTION_ARG_ATTR = 7,
    FUNCTION_UNIQUE_ID = 8,
    ARG_ATTRS_ATTR = 1,
};

typedef eddy__function_draft draft;

static eddy_status fail_memory(const draft *d)
{
    return eddy__fail_memory(d->loader->err);
}

/* Unpacks a part of the input into scratch memory. */
static void *unpack(eddy__loader *loader,
                    const ProtobufCMessageDescriptor *type,
                    eddy__message message)
{
    return protobuf_c_message_unpack(type, &loader->scratch.protobuf,
                                     message.length, message.bytes);
}

/* The next field `number`; false if there is none. */
static bool next_part(eddy__wire_cursor *wire, uint32_t number,
                      eddy__message *out_message)
{
    eddy__wire_field field;

    while (eddy__wire_next(wire, &field))
        if (field.number == number) {
            *out_message = (eddy__message){field.data, field.length};
            return true;
        }
    return false;
}

/* ---- the signature ---- */

static void *make_array(draft *d, size_t n, size_t size)
{
    return eddy__arena_allocate_zeroed(&d->temporary, n, size);
}

static const char *keep_text(draft *d, const char *text)
{
    return eddy__arena_text(&d->temporary, text, strlen(text));
}

/* Fails for what a single tensor of a fixed dtype is not. */
static eddy_status read_arg(draft *d, const Eddy__Pb__OpDef__ArgDef *arg,
                            eddy_dtype *out_dtype)
{
    bool is_opaque = false;

    if (arg->type_attr[0] || arg->number_attr[0] || arg->type_list_attr[0] ||
        arg->is_ref)
        return eddy__load_fail(d->loader, EDDY_E_FUNCTION,
                               "'%s' is no single tensor of a fixed dtype",
                               arg->name);
    EDDY_TRY(eddy__load_dtype(d->loader, arg->name, arg->type, out_dtype,
                              &is_opaque));
    if (is_opaque)
        return eddy__load_fail(d->loader, EDDY_E_DTYPE,
                               "'%s' is dtype %d, which eddy does not have",
                               arg->name, (int)arg->type);
    return EDDY_OK;
}

static bool make_signature(draft *d, const Eddy__Pb__OpDef *signature)
{
    eddy__function *f = &d->function;

    f->n_args = signature->n_input_arg;
    f->n_results = signature->n_output_arg;
    f->n_control_results = signature->n_control_output;
    f->is_stateful = signature->is_stateful;
    d->arg_nodes = make_array(d, f->n_args, sizeof *d->arg_nodes);
    d->arg_dtypes = make_array(d, f->n_args, sizeof *d->arg_dtypes);
    d->results = make_array(d, f->n_results, sizeof *d->results);
    d->control_results =
        make_array(d, f->n_control_results, sizeof *d->control_results);
    d->arg_names = make_array(d, f->n_args, sizeof *d->arg_names);
    d->result_names = make_array(d, f->n_results, sizeof *d->result_names);
    d->result_dtypes = make_array(d, f->n_results, 1);
    d->control_names =
        make_array(d, f->n_control_results, sizeof *d->control_names);
    f->args = d->arg_nodes;
    f->arg_names = d->arg_names;
    f->results = d->results;
    f->result_names = d->result_names;
    f->result_dtypes = d->result_dtypes;
    f->control_results = d->control_results;
    return d->arg_nodes && d->arg_dtypes && d->results && d->control_results &&
           d->arg_names && d->result_names && d->result_dtypes &&
           d->control_names;
}

/* What is only needed while the function is read must fit as well. */
static eddy_status check_budget(const draft *d)
{
    eddy__scratch *scratch = &d->loader->scratch;

    if (!eddy__scratch_charge(scratch, d->temporary.bytes))
        return eddy__scratch_fail(scratch, d->loader->err);
    scratch->charged -= d->temporary.bytes;
    return EDDY_OK;
}

static eddy_status read_signature(draft *d, const Eddy__Pb__OpDef *signature)
{
    if (!make_signature(d, signature))
        return fail_memory(d);
    EDDY_TRY(check_budget(d));
    if (signature->n_attr > 0)
        return eddy__load_fail(d->loader, EDDY_E_FUNCTION,
                               "the function has the parameter '%s'",
                               signature->attr[0]->name);
    for (size_t i = 0; i < d->function.n_args; i++) {
        const Eddy__Pb__OpDef__ArgDef *arg = signature->input_arg[i];

        EDDY_TRY(read_arg(d, arg, &d->arg_dtypes[i]));
        d->arg_names[i] = keep_text(d, arg->name);
        if (!d->arg_names[i])
            return fail_memory(d);
    }
    for (size_t i = 0; i < d->function.n_results; i++) {
        const Eddy__Pb__OpDef__ArgDef *arg = signature->output_arg[i];
        eddy_dtype dtype = EDDY_INVALID;

        EDDY_TRY(read_arg(d, arg, &dtype));
        d->result_dtypes[i] = (uint8_t)dtype;
        d->result_names[i] = keep_text(d, arg->name);
        if (!d->result_names[i])
            return fail_memory(d);
    }
    for (size_t i = 0; i < d->function.n_control_results; i++) {
        d->control_names[i] = keep_text(d, signature->control_output[i]);
        if (!d->control_names[i])
            return fail_memory(d);
    }
    return EDDY_OK;
}

/* ---- the arguments ---- */

/* What a FunctionDef says of one argument beside its signature. */
typedef struct arg_notes {
    eddy__message attrs; /* an ArgAttrs */
    int64_t unique_id;
    bool has_unique_id;
} arg_notes;

static eddy_status fail_key(const draft *d, uint32_t key)
{
    return eddy__load_fail(d->loader, EDDY_E_FUNCTION,
                           "attributes of argument %u of %zu", (unsigned)key,
                           d->function.n_args);
}

static eddy_status read_notes(draft *d, arg_notes *notes)
{
    eddy__wire_cursor wire =
        eddy__wire_fields(d->message.bytes, d->message.length);
    eddy__message part;

    while (next_part(&wire, FUNCTION_ARG_ATTR, &part)) {
        const Eddy__Pb__FunctionDef__ArgAttrsEntry *entry =
            unpack(d->loader,
                   &eddy__pb__function_def__arg_attrs_entry__descriptor, part);

        if (!entry)
            return eddy__load_fail_unpack(d->loader);
        if (entry->key >= d->function.n_args)
            return fail_key(d, entry->key);
        notes[entry->key].attrs = eddy__load_entry_value(part);
    }
    wire = eddy__wire_fields(d->message.bytes, d->message.length);
    while (next_part(&wire, FUNCTION_UNIQUE_ID, &part)) {
        const Eddy__Pb__IdEntry *entry =
            unpack(d->loader, &eddy__pb__id_entry__descriptor, part);

        if (!entry)
            return eddy__load_fail_unpack(d->loader);
        if (entry->key >= d->function.n_args)
            return fail_key(d, entry->key);
        notes[entry->key].unique_id = entry->value;
        notes[entry->key].has_unique_id = true;
    }
    return EDDY_OK;
}

/* Reads the entries of field `number` of a message, a map to AttrValues. */
static eddy_status read_attr_map(draft *d, eddy__message message,
                                 uint32_t number, size_t n_free,
                                 eddy_attr **out_attrs, size_t *out_n)
{
    eddy__wire_cursor wire = eddy__wire_fields(message.bytes, message.length);
    size_t n = 0, i = 0;
    eddy__message part;
    eddy_attr *attrs;

    while (next_part(&wire, number, &part))
        n++;
    attrs =
        eddy__scratch_allocate(&d->loader->scratch, n + n_free, sizeof *attrs);
    if (!attrs)
        return eddy__scratch_fail(&d->loader->scratch, d->loader->err);
    wire = eddy__wire_fields(message.bytes, message.length);
    while (next_part(&wire, number, &part)) {
        const Eddy__Pb__AttrEntry *entry =
            unpack(d->loader, &eddy__pb__attr_entry__descriptor, part);

        if (!entry)
            return eddy__load_fail_unpack(d->loader);
        EDDY_TRY(eddy__read_attr(d->loader, NULL, entry->key, entry->value,
                                 eddy__load_entry_value(part), &attrs[i]));
        i++;
    }
    *out_attrs = attrs;
    *out_n = n;
    return EDDY_OK;
}

static eddy_status add_arg(draft *d, size_t i, const arg_notes *notes)
{
    const eddy__add_options options = {.strict = true, .opaque = true};
    const int64_t index = (int64_t)i;
    eddy_node_spec spec = {
        .size = sizeof spec, .op = "_Arg", .name = d->arg_names[i]};
    eddy_attr *attrs = NULL;

    EDDY_TRY(read_attr_map(d, notes->attrs, ARG_ATTRS_ATTR, 3, &attrs,
                           &spec.n_attrs));
    attrs[spec.n_attrs++] = eddy_attr_type("T", &d->arg_dtypes[i]);
    attrs[spec.n_attrs++] = eddy_attr_int("index", &index);
    if (notes->has_unique_id)
        attrs[spec.n_attrs++] =
            eddy_attr_int(EDDY__UNIQUE_ID, &notes->unique_id);
    spec.attrs = attrs;
    return eddy__graph_add(d->function.body, &spec, &options, &d->arg_nodes[i],
                           d->loader->err);
}

static eddy_status add_args(draft *d, uint64_t *bytes)
{
    arg_notes *notes = make_array(d, d->function.n_args, sizeof *notes);

    if (!notes)
        return fail_memory(d);
    EDDY_TRY(read_notes(d, notes));
    for (size_t i = 0; i < d->function.n_args; i++) {
        eddy_status status = add_arg(d, i, &notes[i]);

        eddy__loader_reset(d->loader);
        EDDY_TRY(status);
        EDDY_TRY(eddy__load_charge_growth(d->loader, d->function.body, bytes));
    }
    return EDDY_OK;
}

/* ---- the results ---- */

/*
 * The values of a map from text to text, in the order of the `n` names that are
 * its keys; each name must be there.
 */
static eddy_status read_text_map(draft *d, uint32_t number,
                                 const char *const *names, size_t n,
                                 const char **out_values)
{
    eddy__wire_cursor wire =
        eddy__wire_fields(d->message.bytes, d->message.length);
    eddy__map places = {.allocator = d->temporary.allocator};
    eddy_status status = EDDY_OK;
    eddy__message part;

    for (size_t i = 0; i < n && status == EDDY_OK; i++)
        if (!eddy__map_set(&places, names[i], (uint32_t)i))
            status = fail_memory(d);
    while (status == EDDY_OK && next_part(&wire, number, &part)) {
        const Eddy__Pb__TextEntry *entry =
            unpack(d->loader, &eddy__pb__text_entry__descriptor, part);
        uint32_t place;

        if (!entry) {
            status = eddy__load_fail_unpack(d->loader);
            break;
        }
        place = eddy__map_find(&places, entry->key, strlen(entry->key));
        if (place != EDDY__NOT_FOUND)
            out_values[place] = entry->value;
    }
    eddy__map_deinit(&places);
    for (size_t i = 0; i < n && status == EDDY_OK; i++)
        if (!out_values[i])
            status = eddy__load_fail(d->loader, EDDY_E_FUNCTION,
                                     "nothing is returned as '%s'", names[i]);
    return status;
}

static eddy_status read_results(draft *d, eddy__body *body)
{
    eddy__function *f = &d->function;
    const char **texts = make_array(d, f->n_results, sizeof *texts);
    const char **controls = make_array(d, f->n_control_results, sizeof *texts);

    if (!texts || !controls)
        return fail_memory(d);
    EDDY_TRY(
        read_text_map(d, FUNCTION_RET, d->result_names, f->n_results, texts));
    for (size_t i = 0; i < f->n_results; i++)
        EDDY_TRY(body->resolve(d->loader, body,
                               (eddy_string){texts[i], strlen(texts[i])},
                               &d->results[i]));
    EDDY_TRY(read_text_map(d, FUNCTION_CONTROL_RET, d->control_names,
                           f->n_control_results, controls));
    for (size_t i = 0; i < f->n_control_results; i++) {
        d->control_results[i] = eddy_graph_find(f->body, controls[i]);
        if (d->control_results[i] == EDDY_NO_NODE)
            return eddy__load_fail_unknown_input(
                d->loader, (eddy_string){controls[i], strlen(controls[i])});
    }
    eddy__loader_reset(d->loader);
    return EDDY_OK;
}

/* The dtypes that the signature promises are those of the body. */
static eddy_status check_results(const draft *d)
{
    const eddy__function *f = &d->function;

    for (size_t i = 0; i < f->n_results; i++) {
        eddy_dtype found = eddy_graph_output_dtype(f->body, f->results[i]);

        if (found != EDDY_INVALID && found != f->result_dtypes[i])
            return eddy__load_fail(
                d->loader, EDDY_E_FUNCTION,
                "result '%s' is %s in the body and %s in the signature",
                f->result_names[i], eddy_dtype_name(found),
                eddy_dtype_name((eddy_dtype)f->result_dtypes[i]));
    }
    return EDDY_OK;
}

/* ---- the whole ---- */

static eddy_status read_body(draft *d, const Eddy__Pb__OpDef *signature)
{
    eddy__body body = {.message = d->message,
                       .field = FUNCTION_NODE,
                       .resolve = eddy__resolve_in_function,
                       .user = d};
    uint64_t bytes = 0;

    EDDY_TRY(read_signature(d, signature));
    eddy__loader_reset(d->loader);
    body.graph = d->function.body;
    EDDY_TRY(add_args(d, &bytes));
    EDDY_TRY(eddy__load_nodes(d->loader, &body));
    EDDY_TRY(read_results(d, &body));
    EDDY_TRY(check_results(d));
    EDDY_TRY(eddy__keep_output_names(d));
    return read_attr_map(d, d->message, FUNCTION_ATTR, 0, &d->function.attrs,
                         &d->function.n_attrs);
}

/*
 * What is left of a function that can't be read: its name and its bytes.
 * `charged` is what had been charged before it was tried.
 */
static eddy_status keep_bytes(draft *d, const eddy_error *why, uint64_t charged)
{
    const size_t size = sizeof why->message + sizeof why->node + 128;
    char *problem = eddy__arena_allocate(&d->temporary, size, 1);

    eddy__loader_reset(d->loader);
    eddy_graph_destroy(d->function.body);
    d->loader->scratch.charged = charged;
    d->function = (eddy__function){
        .name = d->function.name,
        .problem = problem,
        .bytes = {(const char *)d->message.bytes, d->message.length},
    };
    if (!problem)
        return fail_memory(d);
    (void)eddy_error_format(why, problem, size);
    return eddy__graph_create(d->loader->ctx, d->loader->budget,
                              &d->function.body, d->loader->err);
}

static eddy_status build(draft *d, const Eddy__Pb__OpDef *signature)
{
    eddy__loader *loader = d->loader;
    eddy_error *err = loader->err;
    uint64_t charged = loader->scratch.charged;
    eddy_error found;
    eddy_status status;

    EDDY_TRY(eddy__graph_create(loader->ctx, loader->budget, &d->function.body,
                                err));
    loader->err = &found;
    status = read_body(d, signature);
    loader->err = err;
    if (status == EDDY_INVALID_ARGUMENT)
        return keep_bytes(d, &found, charged);
    if (status != EDDY_OK && err)
        *err = found;
    return status;
}

static eddy_status add_function(draft *d, eddy_graph *graph)
{
    Eddy__Pb__OpDef none;
    const Eddy__Pb__OpDef *signature = &none;
    eddy__wire_cursor wire =
        eddy__wire_fields(d->message.bytes, d->message.length);
    uint64_t bytes = eddy__graph_bytes(graph);
    eddy__message part;

    eddy__pb__op_def__init(&none);
    if (next_part(&wire, FUNCTION_SIGNATURE, &part)) {
        signature = unpack(d->loader, &eddy__pb__op_def__descriptor, part);
        if (!signature)
            return eddy__load_fail_unpack(d->loader);
    }
    d->function.name = keep_text(d, signature->name);
    if (!d->function.name)
        return fail_memory(d);
    EDDY_TRY(build(d, signature));
    EDDY_TRY(eddy__graph_add_function(graph, &d->function, d->loader->err));
    d->function.body = NULL;
    return eddy__load_charge_growth(d->loader, graph, &bytes);
}

eddy_status eddy__read_function(eddy__loader *loader, eddy_graph *graph,
                                eddy__message message)
{
    const eddy_allocator *allocator = graph->arena.allocator;
    draft d = {.loader = loader,
               .temporary = {.allocator = allocator},
               .message = message,
               .assumed_texts = {.allocator = allocator}};
    eddy_status status = add_function(&d, graph);

    eddy__loader_reset(loader);
    eddy_graph_destroy(d.function.body);
    eddy__map_deinit(&d.assumed_texts);
    eddy__free(allocator, d.assumed, d.assumed_capacity, sizeof *d.assumed);
    eddy__arena_destroy(&d.temporary);
    return status;
}

static eddy_status read_gradient(eddy__loader *loader, eddy_graph *graph,
                                 eddy__message message)
{
    const Eddy__Pb__GradientDef *gradient =
        unpack(loader, &eddy__pb__gradient_def__descriptor, message);
    uint32_t id;

    if (!gradient)
        return eddy__load_fail_unpack(loader);
    id = eddy__map_find(&graph->function_names, gradient->function_name,
                        strlen(gradient->function_name));
    if (id == EDDY__NOT_FOUND)
        return eddy__load_fail(loader, EDDY_E_FUNCTION,
                               "a gradient is given for '%s', which is no "
                               "function",
                               gradient->function_name);
    graph->functions[id].gradient =
        eddy__arena_text(&graph->arena, gradient->gradient_func,
                         strlen(gradient->gradient_func));
    eddy__loader_reset(loader);
    return graph->functions[id].gradient ? EDDY_OK
                                         : eddy__fail_memory(loader->err);
}

eddy_status eddy__load_library(eddy__loader *loader, eddy_graph *graph,
                               eddy__message library)
{
    eddy__wire_cursor wire = eddy__wire_fields(library.bytes, library.length);
    eddy__message part;

    while (next_part(&wire, LIBRARY_FUNCTION, &part))
        EDDY_TRY(eddy__read_function(loader, graph, part));
    wire = eddy__wire_fields(library.bytes, library.length);
    while (next_part(&wire, LIBRARY_GRADIENT, &part))
        EDDY_TRY(read_gradient(loader, graph, part));
    return EDDY_OK;
}
