/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a graph's library to FunctionDefs. */
#include "core/base/status.h"
#include "interop/graphdef/loader.h"
#include "interop/graphdef/writer.h"

#include <stdio.h>
#include <string.h>

/* A function while it is written; all messages stand in scratch memory. */
typedef struct draft {
    eddy__scratch *scratch;
    const eddy__function *function;
    Eddy__Pb__FunctionDef *to;
    eddy_error *err;
} draft;

/* Scratch memory for `n` messages or pointers to them; NULL if refused. */
static void *make_array(const draft *d, size_t n, size_t size)
{
    return eddy__scratch_allocate(d->scratch, n, size);
}

static eddy_status fail_refused(const draft *d)
{
    return eddy__scratch_fail(d->scratch, d->err);
}

/* ---- naming outputs ---- */

/* The output's name and its index among those of that name. */
static eddy_string name_output(const eddy__node *node, uint32_t *index)
{
    static const eddy_string unnamed = {"output", 6};

    for (uint32_t i = 0; node->op && i < node->op->n_outputs; i++) {
        const eddy__arg *arg = &node->op->outputs[i];
        uint32_t n = eddy__count_tensors(node, arg);

        if (*index < n)
            return (eddy_string){arg->name, strlen(arg->name)};
        *index -= n;
    }
    return unnamed;
}

/* "node:output:index"; an argument is named alone. */
static char *write_input(eddy__scratch *scratch, const eddy_graph *graph,
                         eddy_output from)
{
    const eddy__node *node = &graph->nodes[from.node];
    const eddy_attr *kept = eddy__node_attr(node, EDDY__OUTPUT_NAMES);
    uint32_t index = from.index;
    eddy_string output = name_output(node, &index);
    char number[12] = "";
    size_t size;
    char *text;

    if (strcmp(node->op_name, "_Arg") == 0)
        return eddy__scratch_text(scratch, node->name, strlen(node->name));
    if (!node->op && kept && kept->kind == EDDY_ATTR_STRING &&
        from.index < kept->n && kept->as.strings[from.index].length > 0)
        output = kept->as.strings[from.index];
    else
        (void)snprintf(number, sizeof number, ":%u", (unsigned)index);
    size = strlen(node->name) + 1 + output.length + sizeof number;
    text = eddy__scratch_allocate(scratch, size, 1);
    if (text)
        (void)snprintf(text, size, "%s:%.*s%s", node->name, (int)output.length,
                       output.data, number);
    return text;
}

/* ---- the signature ---- */

static eddy_status write_arg(const draft *d, const char *name, eddy_dtype dtype,
                             Eddy__Pb__OpDef__ArgDef **out_arg)
{
    Eddy__Pb__OpDef__ArgDef *arg = make_array(d, 1, sizeof *arg);

    if (!arg)
        return fail_refused(d);
    eddy__pb__op_def__arg_def__init(arg);
    arg->name = eddy__graphdef_borrow_text(name);
    arg->type = eddy__dtype_to_tf(dtype);
    *out_arg = arg;
    return EDDY_OK;
}

static eddy_status write_args(const draft *d, Eddy__Pb__OpDef *signature)
{
    const eddy__function *f = d->function;

    signature->input_arg =
        make_array(d, f->n_args, sizeof(Eddy__Pb__OpDef__ArgDef *));
    if (!signature->input_arg)
        return fail_refused(d);
    for (size_t i = 0; i < f->n_args; i++) {
        const eddy__node *node = &f->body->nodes[f->args[i]];
        const eddy_attr *type = eddy__node_attr(node, "T");

        if (!type || type->kind != EDDY_ATTR_TYPE || type->n != 1)
            return eddy__graph_fail_at(
                d->err, EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION, node,
                "argument %zu of function '%s' has no dtype", i, f->name);
        EDDY_TRY(write_arg(d, f->arg_names[i], type->as.types[0],
                           &signature->input_arg[i]));
        signature->n_input_arg++;
    }
    return EDDY_OK;
}

static eddy_status write_signature(const draft *d)
{
    const eddy__function *f = d->function;
    Eddy__Pb__OpDef *signature = make_array(d, 1, sizeof *signature);

    if (!signature)
        return fail_refused(d);
    eddy__pb__op_def__init(signature);
    signature->name = eddy__graphdef_borrow_text(f->name);
    signature->is_stateful = f->is_stateful;
    EDDY_TRY(write_args(d, signature));
    signature->output_arg =
        make_array(d, f->n_results, sizeof(Eddy__Pb__OpDef__ArgDef *));
    signature->control_output =
        make_array(d, f->n_control_results, sizeof(char *));
    if (!signature->output_arg || !signature->control_output)
        return fail_refused(d);
    for (size_t i = 0; i < f->n_results; i++) {
        eddy_dtype dtype =
            f->result_dtypes ? (eddy_dtype)f->result_dtypes[i]
                             : eddy_graph_output_dtype(f->body, f->results[i]);

        EDDY_TRY(
            write_arg(d, f->result_names[i], dtype, &signature->output_arg[i]));
        signature->n_output_arg++;
    }
    for (size_t i = 0; i < f->n_control_results; i++)
        signature->control_output[i] = eddy__graphdef_borrow_text(
            f->body->nodes[f->control_results[i]].name);
    signature->n_control_output = f->n_control_results;
    d->to->signature = signature;
    return EDDY_OK;
}

/* ---- attributes ---- */

/* TensorFlow has these of an argument in the signature or in another map. */
static bool is_kept_elsewhere(const char *name)
{
    return strcmp(name, "T") == 0 || strcmp(name, "index") == 0 ||
           strcmp(name, EDDY__UNIQUE_ID) == 0;
}

static eddy_status write_attr_list(const draft *d, const eddy_attr *attrs,
                                   size_t n, bool is_of_arg,
                                   Eddy__Pb__AttrEntry ***out_entries,
                                   size_t *out_n)
{
    Eddy__Pb__AttrEntry **entries =
        make_array(d, n, sizeof(Eddy__Pb__AttrEntry *));

    if (!entries)
        return fail_refused(d);
    *out_n = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_of_arg && is_kept_elsewhere(attrs[i].name))
            continue;
        EDDY_TRY(eddy__write_attr_entry(d->scratch, &attrs[i], &entries[*out_n],
                                        d->err));
        (*out_n)++;
    }
    *out_entries = entries;
    return EDDY_OK;
}

static eddy_status write_arg_attrs(const draft *d, uint32_t i,
                                   const eddy__node *node)
{
    Eddy__Pb__FunctionDef__ArgAttrsEntry *entry =
        make_array(d, 1, sizeof *entry);
    Eddy__Pb__FunctionDef__ArgAttrs *attrs = make_array(d, 1, sizeof *attrs);

    if (!entry || !attrs)
        return fail_refused(d);
    eddy__pb__function_def__arg_attrs__init(attrs);
    EDDY_TRY(write_attr_list(d, node->attrs, node->n_attrs, true, &attrs->attr,
                             &attrs->n_attr));
    if (attrs->n_attr == 0)
        return EDDY_OK;
    eddy__pb__function_def__arg_attrs_entry__init(entry);
    entry->key = i;
    entry->value = attrs;
    d->to->arg_attr[d->to->n_arg_attr++] = entry;
    return EDDY_OK;
}

static eddy_status write_unique_id(const draft *d, uint32_t i,
                                   const eddy__node *node)
{
    const eddy_attr *attr = eddy__node_attr(node, EDDY__UNIQUE_ID);
    Eddy__Pb__IdEntry *entry;

    if (!attr || attr->kind != EDDY_ATTR_INT || attr->n != 1)
        return EDDY_OK;
    entry = make_array(d, 1, sizeof *entry);
    if (!entry)
        return fail_refused(d);
    eddy__pb__id_entry__init(entry);
    entry->key = i;
    entry->value = (uint32_t)attr->as.ints[0];
    d->to->resource_arg_unique_id[d->to->n_resource_arg_unique_id++] = entry;
    return EDDY_OK;
}

static eddy_status write_notes(const draft *d)
{
    const eddy__function *f = d->function;

    d->to->arg_attr = make_array(
        d, f->n_args, sizeof(Eddy__Pb__FunctionDef__ArgAttrsEntry *));
    d->to->resource_arg_unique_id =
        make_array(d, f->n_args, sizeof(Eddy__Pb__IdEntry *));
    if (!d->to->arg_attr || !d->to->resource_arg_unique_id)
        return fail_refused(d);
    for (size_t i = 0; i < f->n_args; i++) {
        const eddy__node *node = &f->body->nodes[f->args[i]];

        EDDY_TRY(write_arg_attrs(d, (uint32_t)i, node));
        EDDY_TRY(write_unique_id(d, (uint32_t)i, node));
    }
    return write_attr_list(d, f->attrs, f->n_attrs, false, &d->to->attr,
                           &d->to->n_attr);
}

/* ---- the body ---- */

static eddy_status write_nodes(const draft *d)
{
    const eddy__function *f = d->function;
    size_t n = f->body->n_nodes;
    bool *is_arg = make_array(d, n, sizeof *is_arg);

    d->to->node_def = make_array(d, n, sizeof(Eddy__Pb__NodeDef *));
    if (!is_arg || !d->to->node_def)
        return fail_refused(d);
    memset(is_arg, 0, n * sizeof *is_arg);
    for (size_t i = 0; i < f->n_args; i++)
        is_arg[f->args[i]] = true;
    for (size_t i = 0; i < n; i++) {
        if (is_arg[i])
            continue;
        EDDY_TRY(eddy__write_node(d->scratch, f->body, (eddy_node)i,
                                  write_input,
                                  &d->to->node_def[d->to->n_node_def], d->err));
        d->to->n_node_def++;
    }
    return EDDY_OK;
}

static eddy_status write_text_entry(const draft *d, const char *key,
                                    const char *value,
                                    Eddy__Pb__TextEntry **out_entry)
{
    Eddy__Pb__TextEntry *entry = make_array(d, 1, sizeof *entry);

    if (!entry)
        return fail_refused(d);
    eddy__pb__text_entry__init(entry);
    entry->key = eddy__graphdef_borrow_text(key);
    entry->value = eddy__graphdef_borrow_text(value);
    *out_entry = entry;
    return EDDY_OK;
}

static eddy_status write_results(const draft *d)
{
    const eddy__function *f = d->function;

    d->to->ret = make_array(d, f->n_results, sizeof(Eddy__Pb__TextEntry *));
    d->to->control_ret =
        make_array(d, f->n_control_results, sizeof(Eddy__Pb__TextEntry *));
    if (!d->to->ret || !d->to->control_ret)
        return fail_refused(d);
    for (size_t i = 0; i < f->n_results; i++) {
        const char *text = write_input(d->scratch, f->body, f->results[i]);

        if (!text)
            return eddy__scratch_fail(d->scratch, d->err);
        EDDY_TRY(write_text_entry(d, f->result_names[i], text, &d->to->ret[i]));
        d->to->n_ret++;
    }
    for (size_t i = 0; i < f->n_control_results; i++) {
        const char *name = f->body->nodes[f->control_results[i]].name;

        EDDY_TRY(write_text_entry(d, name, name, &d->to->control_ret[i]));
        d->to->n_control_ret++;
    }
    return EDDY_OK;
}

eddy_status eddy__write_function(eddy__scratch *scratch,
                                 const eddy__function *function,
                                 Eddy__Pb__FunctionDef **out_function,
                                 eddy_error *err)
{
    draft d = {.scratch = scratch, .function = function, .err = err};

    d.to = make_array(&d, 1, sizeof *d.to);
    if (!d.to)
        return fail_refused(&d);
    eddy__pb__function_def__init(d.to);
    EDDY_TRY(write_signature(&d));
    EDDY_TRY(write_notes(&d));
    EDDY_TRY(write_nodes(&d));
    EDDY_TRY(write_results(&d));
    *out_function = d.to;
    return EDDY_OK;
}
