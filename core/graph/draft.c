/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves a node before it is added: attributes, those that are missing from
 * the inputs, and then the dtypes of its outputs.
 */
#include "core/graph/draft.h"

#include "core/base/status.h"
#include "core/graph/attr.h"

#include <stdio.h>
#include <string.h>

int32_t eddy__draft_find_attr(const eddy__op *op, const char *name)
{
    for (uint32_t i = 0; i < op->n_attrs; i++)
        if (strcmp(op->attrs[i].name, name) == 0)
            return (int32_t)i;
    return -1;
}

static bool is_known(const eddy__draft *draft, int32_t attr)
{
    return draft->attrs[attr].name != NULL;
}

/* ---- attributes that were given ---- */

/* "float32, float64", for messages. */
typedef struct set_text {
    char text[192];
} set_text;

static set_text print_set(eddy__dtype_set set)
{
    set_text out = {.text = ""};
    size_t used = 0;

    for (int d = 1; d < EDDY_DTYPE_COUNT && used < sizeof out.text; d++) {
        int n;

        if (!eddy__dtype_in((eddy_dtype)d, set))
            continue;
        n = snprintf(out.text + used, sizeof out.text - used, "%s%s",
                     used > 0 ? ", " : "", eddy_dtype_name((eddy_dtype)d));
        used += n > 0 ? (size_t)n : 0;
    }
    return out;
}

static eddy_status check_types(const eddy__attr_def *def, const eddy_attr *attr,
                               eddy_error *err)
{
    for (size_t i = 0; i < attr->n; i++)
        if (!eddy__dtype_in(attr->as.types[i], def->allowed))
            return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                              "attribute '%s' is %s; it may be %s", def->name,
                              eddy_dtype_name(attr->as.types[i]),
                              print_set(def->allowed).text);
    return EDDY_OK;
}

static eddy_status check_minimum(const eddy__attr_def *def,
                                 const eddy_attr *attr, eddy_error *err)
{
    if (!def->has_minimum)
        return EDDY_OK;
    if (def->is_list && (int64_t)attr->n < def->minimum)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                          "attribute '%s' has %zu elements, at least %lld are "
                          "wanted",
                          def->name, attr->n, (long long)def->minimum);
    if (!def->is_list && attr->as.ints[0] < def->minimum)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                          "attribute '%s' is %lld, it must be at least %lld",
                          def->name, (long long)attr->as.ints[0],
                          (long long)def->minimum);
    return EDDY_OK;
}

/* An empty list says nothing of its kind. */
static bool has_kind(const eddy__attr_def *def, const eddy_attr *attr)
{
    return attr->is_list == def->is_list &&
           (attr->kind == def->kind || (attr->is_list && attr->n == 0));
}

static eddy_status take_attr(eddy__draft *draft, int32_t id,
                             const eddy_attr *attr)
{
    const eddy__attr_def *def = &draft->op->attrs[id];

    if (is_known(draft, id))
        return eddy__fail(draft->err, EDDY_INVALID_ARGUMENT,
                          EDDY_E_ATTR_DUPLICATE,
                          "attribute '%s' is given twice", def->name);
    if (!has_kind(def, attr))
        return eddy__fail(draft->err, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_KIND,
                          "attribute '%s' is given as %s, %s is wanted",
                          def->name,
                          eddy__attr_kind_name(attr->kind, attr->is_list),
                          eddy__attr_kind_name(def->kind, def->is_list));
    if (def->kind == EDDY_ATTR_TYPE)
        EDDY_TRY(check_types(def, attr, draft->err));
    EDDY_TRY(check_minimum(def, attr, draft->err));
    draft->attrs[id] = *attr;
    draft->attrs[id].name = def->name;
    draft->attrs[id].kind = def->kind;
    return EDDY_OK;
}

/*
 * One that the definition does not have.  A file may hold what a newer
 * TensorFlow added; a program that builds a node has made a mistake.
 */
static eddy_status take_extra(eddy__draft *draft, const eddy_attr *attr)
{
    if (draft->op && !draft->options->strict && attr->name[0] != '_')
        return eddy__fail(draft->err, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                          "the op has no attribute '%.64s'", attr->name);
    draft->n_extra++;
    return EDDY_OK;
}

/* Fails if one name is given twice; the definition's own are not looked for. */
static eddy_status check_names(const eddy__draft *draft)
{
    const eddy_node_spec *spec = draft->spec;
    eddy__map seen = {.allocator = draft->graph->arena.allocator};
    eddy_status status = EDDY_OK;

    for (size_t i = 0; i < spec->n_attrs && status == EDDY_OK; i++) {
        const char *name = spec->attrs[i].name;

        if (draft->op && eddy__draft_find_attr(draft->op, name) >= 0)
            continue;
        if (eddy__map_find(&seen, name, strlen(name)) != EDDY__NOT_FOUND)
            status = eddy__fail(draft->err, EDDY_INVALID_ARGUMENT,
                                EDDY_E_ATTR_DUPLICATE,
                                "attribute '%.64s' is given twice", name);
        else if (!eddy__map_set(&seen, name, 0))
            status = eddy__fail_memory(draft->err);
    }
    eddy__map_deinit(&seen);
    return status;
}

static eddy_status take_given(eddy__draft *draft)
{
    const eddy_node_spec *spec = draft->spec;

    for (size_t i = 0; i < spec->n_attrs; i++) {
        const eddy_attr *attr = &spec->attrs[i];
        int32_t id;

        EDDY_TRY(eddy__attr_check(attr, draft->err));
        id = draft->op ? eddy__draft_find_attr(draft->op, attr->name) : -1;
        if (id >= 0)
            EDDY_TRY(take_attr(draft, id, attr));
        else
            EDDY_TRY(take_extra(draft, attr));
    }
    return draft->n_extra > 1 ? check_names(draft) : EDDY_OK;
}

/* ---- attributes that follow from the inputs ---- */

/* The attribute that says how many tensors an argument is, or -1 for one. */
static int32_t length_attr(const eddy__arg *arg)
{
    return arg->number_attr >= 0 ? arg->number_attr : arg->list_attr;
}

/* How many tensors an argument is; its length attribute is known. */
static uint64_t arg_length(const eddy__draft *draft, const eddy__arg *arg)
{
    if (arg->number_attr >= 0)
        return (uint64_t)draft->attrs[arg->number_attr].as.ints[0];
    if (arg->list_attr >= 0)
        return draft->attrs[arg->list_attr].n;
    return 1;
}

/* A length that was inferred, of all the arguments with that attribute. */
typedef struct length {
    int32_t attr; /* -1: none was */
    uint64_t n;
} length;

/*
 * What is left of the inputs belongs to the arguments of unknown length, if
 * that is one length.
 */
static length infer_length(const eddy__draft *draft)
{
    const eddy__op *op = draft->op;
    uint64_t left = draft->spec->n_inputs, users = 0;
    length found = {.attr = -1};

    for (uint32_t i = 0; i < op->n_inputs; i++) {
        int32_t attr = length_attr(&op->inputs[i]);
        uint64_t n;

        if (attr >= 0 && !is_known(draft, attr)) {
            if (users > 0 && attr != found.attr)
                return (length){.attr = -1};
            found.attr = attr;
            users++;
            continue;
        }
        n = arg_length(draft, &op->inputs[i]);
        left -= n < left ? n : left;
    }
    if (users > 0)
        found.n = left / users;
    return found;
}

static eddy_status set_number(eddy__draft *draft, length found)
{
    const eddy__attr_def *def = &draft->op->attrs[found.attr];

    if (def->has_minimum && (int64_t)found.n < def->minimum)
        return eddy__fail(draft->err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "%zu inputs leave %llu for '%s', at least %lld are "
                          "wanted",
                          draft->spec->n_inputs, (unsigned long long)found.n,
                          def->name, (long long)def->minimum);
    if (def->is_list)
        return EDDY_OK;
    draft->numbers[found.attr] = (int64_t)found.n;
    draft->attrs[found.attr] =
        eddy_attr_int(def->name, &draft->numbers[found.attr]);
    return EDDY_OK;
}

/* Fails if what an input reads can't be the attribute that follows from it. */
static eddy_status check_inferred(const eddy__draft *draft,
                                  const eddy__attr_def *def, size_t input)
{
    const eddy_output *from = &draft->spec->inputs[input];

    if (eddy__dtype_in(draft->dtypes[input], def->allowed))
        return EDDY_OK;
    return eddy__fail(draft->err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
                      "input %zu is %s from '%.64s:%u'; '%s' may be %s", input,
                      eddy_dtype_name(draft->dtypes[input]),
                      draft->graph->nodes[from->node].name,
                      (unsigned)from->index, def->name,
                      print_set(def->allowed).text);
}

/* T is the dtype of the first of the inputs whose dtype is known. */
static eddy_status infer_type(eddy__draft *draft, int32_t id, size_t first,
                              size_t end)
{
    const eddy__attr_def *def = &draft->op->attrs[id];

    while (first < end && draft->dtypes[first] == EDDY_INVALID)
        first++;
    if (first == end)
        return EDDY_OK;
    EDDY_TRY(check_inferred(draft, def, first));
    draft->types[id] = draft->dtypes[first];
    draft->attrs[id] = eddy_attr_type(def->name, &draft->types[id]);
    return EDDY_OK;
}

/* L is the dtypes of the inputs if all of them are known. */
static eddy_status infer_list(eddy__draft *draft, int32_t id, size_t first,
                              size_t end)
{
    const eddy__attr_def *def = &draft->op->attrs[id];

    for (size_t i = first; i < end; i++)
        if (draft->dtypes[i] == EDDY_INVALID)
            return EDDY_OK;
    for (size_t i = first; i < end; i++)
        EDDY_TRY(check_inferred(draft, def, i));
    draft->attrs[id] = (eddy_attr){.name = def->name,
                                   .kind = EDDY_ATTR_TYPE,
                                   .is_list = true,
                                   .n = end - first,
                                   .as.types = draft->dtypes + first};
    return EDDY_OK;
}

static eddy_status infer_attrs(eddy__draft *draft)
{
    const eddy__op *op = draft->op;
    const length found = infer_length(draft);
    size_t at = 0, n = draft->spec->n_inputs;

    if (found.attr >= 0)
        EDDY_TRY(set_number(draft, found));
    for (uint32_t i = 0; i < op->n_inputs; i++) {
        const eddy__arg *arg = &op->inputs[i];
        int32_t attr = length_attr(arg);
        uint64_t count;
        size_t end;

        if (attr >= 0 && !is_known(draft, attr) && attr != found.attr)
            return EDDY_OK;
        count =
            attr >= 0 && attr == found.attr ? found.n : arg_length(draft, arg);
        end = count < n - at ? at + (size_t)count : n;
        if (arg->type_attr >= 0 && !is_known(draft, arg->type_attr))
            EDDY_TRY(infer_type(draft, arg->type_attr, at, end));
        if (arg->list_attr >= 0 && !is_known(draft, arg->list_attr))
            EDDY_TRY(infer_list(draft, arg->list_attr, at, end));
        at = end;
    }
    return EDDY_OK;
}

static eddy_status take_defaults(eddy__draft *draft)
{
    for (uint32_t i = 0; i < draft->op->n_attrs; i++) {
        const eddy__attr_def *def = &draft->op->attrs[i];

        if (is_known(draft, (int32_t)i))
            continue;
        if (!def->has_default)
            return eddy__fail(
                draft->err, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_MISSING,
                "attribute '%s' (%s) is missing%s", def->name,
                eddy__attr_kind_name(def->kind, def->is_list),
                draft->options->strict ? "" : " and no input tells it");
        draft->attrs[i] = def->value;
    }
    return EDDY_OK;
}

/* ---- inputs and outputs ---- */

/* The dtype of tensor `i` of an argument. */
static eddy_dtype arg_dtype(const eddy__draft *draft, const eddy__arg *arg,
                            size_t i)
{
    if (arg->type_attr >= 0)
        return draft->attrs[arg->type_attr].as.types[0];
    if (arg->list_attr >= 0)
        return draft->attrs[arg->list_attr].as.types[i];
    return arg->dtype;
}

static eddy_status check_input_count(const eddy__draft *draft)
{
    uint64_t wanted = 0;

    for (uint32_t i = 0; i < draft->op->n_inputs; i++)
        if (__builtin_add_overflow(
                wanted, arg_length(draft, &draft->op->inputs[i]), &wanted))
            wanted = UINT64_MAX;
    if (wanted == draft->spec->n_inputs)
        return EDDY_OK;
    return eddy__fail(draft->err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                      "op takes %llu inputs here, %zu are given",
                      (unsigned long long)wanted, draft->spec->n_inputs);
}

eddy_status eddy__draft_fail_dtype(const eddy_graph *graph, uint32_t index,
                                   eddy_output from, eddy_dtype found,
                                   eddy_dtype wanted, eddy_error *err)
{
    return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
                      "input %u is %s from '%.64s:%u', %s is wanted",
                      (unsigned)index, eddy_dtype_name(found),
                      graph->nodes[from.node].name, (unsigned)from.index,
                      eddy_dtype_name(wanted));
}

/*
 * Input `i` is not the dtype that an attribute says.  Where another input has
 * that dtype for the same attribute, as at a Merge, the two edges are named.
 */
static eddy_status fail_dtype(const eddy__draft *draft, const eddy__arg *arg,
                              size_t i, eddy_dtype wanted)
{
    const eddy_output *inputs = draft->spec->inputs;
    size_t at = 0;

    for (uint32_t a = 0; a < draft->op->n_inputs; a++) {
        const eddy__arg *other = &draft->op->inputs[a];
        size_t end = at + (size_t)arg_length(draft, other);

        for (; at < end; at++)
            if (arg->type_attr >= 0 && other->type_attr == arg->type_attr &&
                at != i && draft->dtypes[at] == wanted)
                return eddy__fail(
                    draft->err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
                    "input %zu is %s from '%.64s:%u' but input %zu is %s from "
                    "'%.64s:%u'; both must be '%s'",
                    i, eddy_dtype_name(draft->dtypes[i]),
                    draft->graph->nodes[inputs[i].node].name,
                    (unsigned)inputs[i].index, at, eddy_dtype_name(wanted),
                    draft->graph->nodes[inputs[at].node].name,
                    (unsigned)inputs[at].index,
                    draft->attrs[arg->type_attr].name);
    }
    return eddy__draft_fail_dtype(draft->graph, (uint32_t)i, inputs[i],
                                  draft->dtypes[i], wanted, draft->err);
}

static eddy_status check_inputs(const eddy__draft *draft)
{
    size_t at = 0;

    EDDY_TRY(check_input_count(draft));
    for (uint32_t a = 0; a < draft->op->n_inputs; a++) {
        const eddy__arg *arg = &draft->op->inputs[a];
        size_t n = (size_t)arg_length(draft, arg);

        for (size_t i = 0; i < n; i++, at++) {
            eddy_dtype wanted = arg_dtype(draft, arg, i);

            if (draft->dtypes[at] != EDDY_INVALID &&
                draft->dtypes[at] != wanted)
                return fail_dtype(draft, arg, at, wanted);
        }
    }
    return EDDY_OK;
}

/* Do inputs, which are there, bound the length that the attribute says? */
static bool is_input_length(const eddy__op *op, int32_t attr)
{
    for (uint32_t i = 0; i < op->n_inputs; i++)
        if (length_attr(&op->inputs[i]) == attr)
            return true;
    return false;
}

static eddy_status count_outputs(eddy__draft *draft)
{
    const eddy__op *op = draft->op;

    for (uint32_t i = 0; i < op->n_outputs; i++) {
        int32_t attr = length_attr(&op->outputs[i]);
        uint64_t n = arg_length(draft, &op->outputs[i]);

        if (n > EDDY__MAX_OUTPUTS && !is_input_length(op, attr))
            return eddy__fail(
                draft->err, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                "attribute '%s' makes %llu outputs, more than "
                "the limit of %d",
                op->attrs[attr].name, (unsigned long long)n, EDDY__MAX_OUTPUTS);
        draft->n_outputs += (size_t)n;
    }
    return EDDY_OK;
}

eddy_status eddy__draft_resolve(eddy__draft *draft)
{
    draft->n_extra = draft->n_outputs = 0;
    for (uint32_t i = 0; draft->op && i < draft->op->n_attrs; i++)
        draft->attrs[i].name = NULL;
    EDDY_TRY(take_given(draft));
    if (!draft->op)
        return EDDY_OK;
    if (!draft->options->strict)
        EDDY_TRY(infer_attrs(draft));
    EDDY_TRY(take_defaults(draft));
    EDDY_TRY(check_inputs(draft));
    return count_outputs(draft);
}

static void set_dtypes(const eddy__draft *draft, const eddy__arg *args,
                       uint32_t n_args, uint8_t *out_dtypes)
{
    for (uint32_t a = 0; a < n_args; a++) {
        size_t n = (size_t)arg_length(draft, &args[a]);

        for (size_t i = 0; i < n; i++)
            *out_dtypes++ = (uint8_t)arg_dtype(draft, &args[a], i);
    }
}

void eddy__draft_dtypes(const eddy__draft *draft, uint8_t *out_inputs,
                        uint8_t *out_outputs)
{
    const eddy__op *op = draft->op;

    if (!op) {
        memset(out_inputs, EDDY_INVALID, draft->spec->n_inputs);
        return;
    }
    set_dtypes(draft, op->inputs, op->n_inputs, out_inputs);
    set_dtypes(draft, op->outputs, op->n_outputs, out_outputs);
}
