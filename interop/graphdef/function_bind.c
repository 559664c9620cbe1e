/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions with parameters: dtypes, numbers of tensors, anything that an
 * attribute of a node inside may stand for.  They are kept as bytes; here, each
 * parameter is given its value, in the message, and what comes out is the
 * message of a function without parameters.
 *
 * An argument that is a list becomes one argument a tensor.  TensorFlow names
 * those `name_0`, `name_1`, ..., but the only one of a list `name`.
 */
#include "interop/graphdef/function_bind.h"
#include "core/base/status.h"
#include "core/context.h"
#include "core/graph/attr.h"
#include "interop/graphdef/loader.h"
#include "interop/graphdef/writer.h"

#include <stdio.h>
#include <string.h>

/* Arguments and results of a function once they have been told apart. */
#define MAX_ARGS 65536

/* What an argument of the signature stands for. */
typedef struct list {
    uint32_t n;
    bool is_list;
} list;

typedef struct binding {
    eddy__scratch scratch;
    eddy_error *err;
    const char *function;
    Eddy__Pb__FunctionDef *def;
    eddy__map parameters; /* to an index in values */
    Eddy__Pb__AttrValue **values;
    eddy__map args; /* lists among the arguments, to their length */
    /* Values that are still to be looked through. */
    Eddy__Pb__NameAttrList **open;
    size_t n_open, open_capacity;
} binding;

static eddy_status fail_refused(const binding *b)
{
    return eddy__scratch_fail(&b->scratch, b->err);
}

static void *make_array(binding *b, size_t n, size_t size)
{
    return eddy__scratch_allocate(&b->scratch, n, size);
}

/* ---- the values of parameters ---- */

static eddy_status find_value(binding *b, const eddy__function_ref *ref,
                              const Eddy__Pb__OpDef__AttrDef *parameter,
                              Eddy__Pb__AttrValue **out_value)
{
    const eddy_attr *attr =
        eddy__attr_find(ref->attrs, ref->n_attrs, parameter->name);

    if (attr)
        return eddy__unpack_attr(&b->scratch, attr, out_value, b->err);
    *out_value = parameter->default_value;
    if (*out_value)
        return EDDY_OK;
    return eddy__fail(b->err, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_MISSING,
                      "function '%.64s' has the parameter '%.64s', which is "
                      "given no value",
                      b->function, parameter->name);
}

static eddy_status find_values(binding *b, const eddy__function_ref *ref)
{
    const Eddy__Pb__OpDef *signature = b->def->signature;

    b->values = make_array(b, signature->n_attr, sizeof(Eddy__Pb__AttrValue *));
    if (!b->values)
        return fail_refused(b);
    for (size_t i = 0; i < signature->n_attr; i++) {
        EDDY_TRY(find_value(b, ref, signature->attr[i], &b->values[i]));
        if (!eddy__map_set(&b->parameters, signature->attr[i]->name,
                           (uint32_t)i))
            return eddy__fail_memory(b->err);
    }
    return EDDY_OK;
}

/* The value of a parameter. */
static eddy_status get_value(const binding *b, const char *name,
                             const Eddy__Pb__AttrValue **out_value)
{
    const uint32_t i = eddy__map_find(&b->parameters, name, strlen(name));

    if (i != EDDY__NOT_FOUND) {
        *out_value = b->values[i];
        return EDDY_OK;
    }
    (void)eddy__fail(b->err, EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION,
                     "function '%.64s' has no parameter '%.64s', which "
                     "something in it stands for",
                     b->function, name);
    return EDDY_INVALID_ARGUMENT;
}

static eddy_status fail_kind(const binding *b, const char *name,
                             const char *wanted)
{
    return eddy__fail(b->err, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_KIND,
                      "parameter '%.64s' of function '%.64s' is not %s", name,
                      b->function, wanted);
}

/* ---- attributes in the body ---- */

static eddy_status open_list(binding *b, Eddy__Pb__NameAttrList *item)
{
    if (!eddy__grow(b->scratch.allocator, (void **)&b->open, &b->open_capacity,
                    b->n_open + 1, sizeof(Eddy__Pb__NameAttrList *)))
        return eddy__fail_memory(b->err);
    b->open[b->n_open++] = item;
    return EDDY_OK;
}

static eddy_status bind_attr(binding *b, Eddy__Pb__AttrEntry *entry)
{
    Eddy__Pb__AttrValue *value = entry->value;
    const Eddy__Pb__AttrValue *bound;

    if (!value)
        return EDDY_OK;
    switch (value->value_case) {
    case EDDY__PB__ATTR_VALUE__VALUE_PLACEHOLDER:
        EDDY_TRY(get_value(b, value->placeholder, &bound));
        /* A value of the call's, in place: it is not changed any more. */
        *value = *bound;
        return EDDY_OK;
    case EDDY__PB__ATTR_VALUE__VALUE_FUNC:
        return open_list(b, value->func);
    case EDDY__PB__ATTR_VALUE__VALUE_LIST:
        for (size_t i = 0; i < value->list->n_func; i++)
            EDDY_TRY(open_list(b, value->list->func[i]));
        return EDDY_OK;
    default:
        return EDDY_OK;
    }
}

static eddy_status bind_node(binding *b, const Eddy__Pb__NodeDef *node)
{
    for (size_t i = 0; i < node->n_attr; i++)
        EDDY_TRY(bind_attr(b, node->attr[i]));
    while (b->n_open > 0) {
        const Eddy__Pb__NameAttrList *item = b->open[--b->n_open];

        for (size_t i = 0; i < item->n_attr; i++)
            EDDY_TRY(bind_attr(b, item->attr[i]));
    }
    return EDDY_OK;
}

/* ---- arguments and results ---- */

/* How many tensors, and of which dtype: `types` if they differ. */
static eddy_status measure(const binding *b, const Eddy__Pb__OpDef__ArgDef *arg,
                           list *out_list, const int32_t **out_types,
                           int32_t *out_type)
{
    const Eddy__Pb__AttrValue *value;

    *out_list = (list){.n = 1};
    *out_types = NULL;
    *out_type = arg->type;
    if (arg->type_list_attr[0]) {
        EDDY_TRY(get_value(b, arg->type_list_attr, &value));
        if (value->value_case != EDDY__PB__ATTR_VALUE__VALUE_LIST ||
            value->list->n_type > MAX_ARGS)
            return fail_kind(b, arg->type_list_attr, "a list of dtypes");
        *out_list = (list){(uint32_t)value->list->n_type, true};
        *out_types = value->list->type;
        return EDDY_OK;
    }
    if (arg->type_attr[0]) {
        EDDY_TRY(get_value(b, arg->type_attr, &value));
        if (value->value_case != EDDY__PB__ATTR_VALUE__VALUE_TYPE)
            return fail_kind(b, arg->type_attr, "a dtype");
        *out_type = value->type;
    }
    if (arg->number_attr[0]) {
        EDDY_TRY(get_value(b, arg->number_attr, &value));
        if (value->value_case != EDDY__PB__ATTR_VALUE__VALUE_I ||
            value->i < 0 || value->i > MAX_ARGS)
            return fail_kind(b, arg->number_attr, "a number of tensors");
        *out_list = (list){(uint32_t)value->i, true};
    }
    return EDDY_OK;
}

/* `name_i`, or `name` if it is alone. */
static char *item_name(binding *b, const char *name, list of, uint32_t i)
{
    const size_t size = strlen(name) + 12;
    char *text = make_array(b, size, 1);

    if (text && of.is_list && of.n != 1)
        (void)snprintf(text, size, "%s_%u", name, (unsigned)i);
    else if (text)
        (void)snprintf(text, size, "%s", name);
    return text;
}

static eddy_status make_item(binding *b, const char *name, int32_t type,
                             Eddy__Pb__OpDef__ArgDef **out_arg)
{
    Eddy__Pb__OpDef__ArgDef *arg = make_array(b, 1, sizeof *arg);

    if (!arg)
        return fail_refused(b);
    eddy__pb__op_def__arg_def__init(arg);
    arg->name = eddy__graphdef_borrow_text(name);
    arg->type = type;
    *out_arg = arg;
    return EDDY_OK;
}

static eddy_status count_items(binding *b, Eddy__Pb__OpDef__ArgDef *const *args,
                               size_t n_args, list *lists, size_t *out_n)
{
    const int32_t *types;
    int32_t type;
    size_t n = 0;

    for (size_t i = 0; i < n_args; i++) {
        EDDY_TRY(measure(b, args[i], &lists[i], &types, &type));
        n += lists[i].n;
        if (n > MAX_ARGS)
            return eddy__fail(b->err, EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION,
                              "function '%.64s' has more than %d arguments or "
                              "results",
                              b->function, MAX_ARGS);
    }
    *out_n = n;
    return EDDY_OK;
}

/* Puts one argument for each tensor in place of the arguments. */
static eddy_status spread(binding *b, Eddy__Pb__OpDef__ArgDef ***args,
                          size_t *n_args, list *lists)
{
    Eddy__Pb__OpDef__ArgDef **items;
    size_t n = 0, at = 0;

    EDDY_TRY(count_items(b, *args, *n_args, lists, &n));
    items = make_array(b, n, sizeof(Eddy__Pb__OpDef__ArgDef *));
    if (!items)
        return fail_refused(b);
    for (size_t i = 0; i < *n_args; i++) {
        const Eddy__Pb__OpDef__ArgDef *arg = (*args)[i];
        const int32_t *types;
        int32_t type;

        EDDY_TRY(measure(b, arg, &lists[i], &types, &type));
        for (uint32_t k = 0; k < lists[i].n; k++) {
            const char *name = item_name(b, arg->name, lists[i], k);

            if (!name)
                return fail_refused(b);
            EDDY_TRY(make_item(b, name, types ? types[k] : type, &items[at]));
            items[at++]->is_ref = arg->is_ref;
        }
    }
    *args = items;
    *n_args = n;
    return EDDY_OK;
}

/* ---- what reads arguments ---- */

/*
 * The texts that `text` stands for, if it reads a list: one for each tensor of
 * `x`, or the one of `x:i`.  `*out_n` is 1 and the text its own otherwise.
 */
static eddy_status spread_text(binding *b, char *text, char ***out_texts,
                               uint32_t *out_n)
{
    const char *colon = strchr(text, ':');
    const size_t length = colon ? (size_t)(colon - text) : strlen(text);
    list of = {eddy__map_find(&b->args, text, length), true};
    uint32_t index = 0;
    char *name;

    *out_n = 1;
    *out_texts = make_array(b, of.n == EDDY__NOT_FOUND ? 1 : of.n + (size_t)1,
                            sizeof(char *));
    name = eddy__scratch_text(&b->scratch, text, length);
    if (!*out_texts || !name)
        return fail_refused(b);
    (*out_texts)[0] = text;
    if (of.n == EDDY__NOT_FOUND)
        return EDDY_OK;
    if (colon && (!eddy__load_index((eddy_string){colon + 1, strlen(colon + 1)},
                                    &index) ||
                  index >= of.n))
        return eddy__fail(b->err, EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX,
                          "an input in function '%.64s' is '%.64s', which has "
                          "%u tensors here",
                          b->function, text, (unsigned)of.n);
    *out_n = colon ? 1 : of.n;
    for (uint32_t i = 0; i < *out_n; i++) {
        (*out_texts)[i] = item_name(b, name, of, colon ? index : i);
        if (!(*out_texts)[i])
            return fail_refused(b);
    }
    return EDDY_OK;
}

static eddy_status spread_inputs(binding *b, Eddy__Pb__NodeDef *node)
{
    size_t capacity = 0, n = 0;
    char **texts;

    for (size_t i = 0; i < node->n_input; i++) {
        const char *text = node->input[i];
        uint32_t length = eddy__map_find(&b->args, text, strcspn(text, ":"));

        capacity += length == EDDY__NOT_FOUND ? 1 : length + (size_t)1;
    }
    texts = make_array(b, capacity, sizeof(char *));
    if (!texts)
        return fail_refused(b);
    for (size_t i = 0; i < node->n_input; i++) {
        char **items;
        uint32_t n_items;

        EDDY_TRY(spread_text(b, node->input[i], &items, &n_items));
        memcpy(texts + n, items, n_items * sizeof(char *));
        n += n_items;
    }
    node->input = texts;
    node->n_input = n;
    return EDDY_OK;
}

/* What result `name` gives, as it was; NULL if the function does not say. */
static char *find_return(const binding *b, const char *name)
{
    for (size_t i = 0; i < b->def->n_ret; i++)
        if (strcmp(b->def->ret[i]->key, name) == 0)
            return b->def->ret[i]->value;
    return NULL;
}

/* Item `k` of what a list result gives: an argument's, or a node's. */
static eddy_status return_item(binding *b, char *from, list of, uint32_t k,
                               char **out_text)
{
    char **items;
    uint32_t n;
    size_t size = strlen(from) + 12;

    EDDY_TRY(spread_text(b, from, &items, &n));
    if (n != 1 || items[0] != from || !of.is_list) {
        *out_text = k < n ? items[k] : from;
        return EDDY_OK;
    }
    *out_text = make_array(b, size, 1);
    if (!*out_text)
        return fail_refused(b);
    /* "node:output" is the whole list, "node:output:3" one of it. */
    if (strchr(from, ':') == strrchr(from, ':') && strchr(from, ':'))
        (void)snprintf(*out_text, size, "%s:%u", from, (unsigned)k);
    else
        (void)snprintf(*out_text, size, "%s", from);
    return EDDY_OK;
}

static eddy_status make_return(binding *b, char *key, char *value,
                               Eddy__Pb__TextEntry **out_entry)
{
    Eddy__Pb__TextEntry *entry = make_array(b, 1, sizeof *entry);

    if (!entry)
        return fail_refused(b);
    eddy__pb__text_entry__init(entry);
    entry->key = key;
    entry->value = value;
    *out_entry = entry;
    return EDDY_OK;
}

/* `names` and `lists` are those of the signature as it was. */
static eddy_status spread_returns(binding *b, char *const *names,
                                  const list *lists, size_t n)
{
    const size_t n_items = b->def->signature->n_output_arg;
    Eddy__Pb__TextEntry **items =
        make_array(b, n_items, sizeof(Eddy__Pb__TextEntry *));
    size_t at = 0;

    if (!items)
        return fail_refused(b);
    for (size_t i = 0; i < n; i++) {
        char *from = find_return(b, names[i]);

        for (uint32_t k = 0; from && k < lists[i].n; k++) {
            char *key = item_name(b, names[i], lists[i], k), *text;

            if (!key)
                return fail_refused(b);
            EDDY_TRY(return_item(b, from, lists[i], k, &text));
            EDDY_TRY(make_return(b, key, text, &items[at++]));
        }
    }
    b->def->ret = items;
    b->def->n_ret = at;
    return EDDY_OK;
}

/* ---- the whole ---- */

/* Notes the lists among the arguments, so that what reads them is found. */
static eddy_status note_lists(binding *b, Eddy__Pb__OpDef__ArgDef *const *args,
                              const list *lists, size_t n, bool *out_any)
{
    *out_any = false;
    for (size_t i = 0; i < n; i++) {
        if (!lists[i].is_list)
            continue;
        *out_any = true;
        if (!eddy__map_set(&b->args, args[i]->name, lists[i].n))
            return eddy__fail_memory(b->err);
    }
    return EDDY_OK;
}

static eddy_status bind_signature(binding *b)
{
    Eddy__Pb__OpDef *signature = b->def->signature;
    const size_t n_in = signature->n_input_arg;
    const size_t n_out = signature->n_output_arg;
    Eddy__Pb__OpDef__ArgDef **args = signature->input_arg;
    list *in = make_array(b, n_in, sizeof *in);
    list *out = make_array(b, n_out, sizeof *out);
    char **names = make_array(b, n_out, sizeof(char *));
    bool has_lists;

    if (!in || !out || !names)
        return fail_refused(b);
    for (size_t i = 0; i < n_out; i++)
        names[i] = signature->output_arg[i]->name;
    EDDY_TRY(spread(b, &signature->input_arg, &signature->n_input_arg, in));
    EDDY_TRY(spread(b, &signature->output_arg, &signature->n_output_arg, out));
    EDDY_TRY(note_lists(b, args, in, n_in, &has_lists));
    for (size_t i = 0; has_lists && i < b->def->n_node_def; i++)
        EDDY_TRY(spread_inputs(b, b->def->node_def[i]));
    if (has_lists) {
        /* What is said of arguments goes by their numbers. */
        b->def->n_arg_attr = 0;
        b->def->n_resource_arg_unique_id = 0;
    }
    signature->n_attr = 0;
    return spread_returns(b, names, out, n_out);
}

static eddy_status pack(const binding *b, eddy__arena *arena,
                        eddy_string *out_bytes)
{
    const size_t length = eddy__pb__function_def__get_packed_size(b->def);
    uint8_t *bytes = eddy__arena_allocate(arena, length + 1, 1);

    if (!bytes)
        return eddy__fail_memory(b->err);
    eddy__pb__function_def__pack(b->def, bytes);
    *out_bytes = (eddy_string){(const char *)bytes, length};
    return EDDY_OK;
}

static eddy_status bind_all(binding *b, const eddy__function *function,
                            const eddy__function_ref *ref)
{
    b->def = eddy__pb__function_def__unpack(
        &b->scratch.protobuf, function->bytes.length,
        (const uint8_t *)function->bytes.data);
    if (!b->def)
        return fail_refused(b);
    if (!b->def->signature)
        return eddy__fail(b->err, EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION,
                          "function '%.64s' has no signature", b->function);
    EDDY_TRY(find_values(b, ref));
    for (size_t i = 0; i < b->def->n_node_def; i++)
        EDDY_TRY(bind_node(b, b->def->node_def[i]));
    return bind_signature(b);
}

eddy_status eddy__function_bind(const eddy__function *function,
                                const eddy__function_ref *ref,
                                eddy__arena *arena, eddy_string *out_bytes,
                                eddy_error *err)
{
    const eddy_allocator *allocator = arena->allocator;
    binding b = {
        .err = err,
        .function = function->name,
        .parameters = {.allocator = allocator},
        .args = {.allocator = allocator},
    };
    eddy_status status;

    eddy__scratch_init(&b.scratch, allocator,
                       function->bytes.length *
                               (uint64_t)EDDY__LOAD_BYTES_PER_BYTE +
                           EDDY__LOAD_FREE_BYTES);
    status = bind_all(&b, function, ref);
    if (status == EDDY_OK)
        status = pack(&b, arena, out_bytes);
    eddy__free(allocator, b.open, b.open_capacity,
               sizeof(Eddy__Pb__NameAttrList *));
    eddy__map_deinit(&b.parameters);
    eddy__map_deinit(&b.args);
    eddy__scratch_deinit(&b.scratch);
    return status;
}
