/* SPDX-License-Identifier: Apache-2.0 */
/*
 * _Resume: what a loop is entered with to go on from its checkpoint, of the
 * form in core/bundle/saved_trips.h.  Only plans make it (runtime/plan/saving).
 * Handles that it is given get behind them what was there.
 */
#include "core/base/memory.h"
#include "core/base/status.h"
#include "core/bundle/saved_trips.h"
#include "core/value/generator.h"
#include "core/value/variable.h"
#include "ops/array/items.h"
#include "ops/list/stack.h"
#include "ops/list/tensor_array.h"
#include "ops/math/elements.h"
#include "ops/ops.h"
#include "ops/state/lookup_store.h"
#include "ops/state/queue_store.h"
#include "ops/state/restored.h"
#include "ops/state/saved.h"

#include <string.h>

typedef struct resumed {
    eddy_string prefix;
    const eddy_string *names;  /* an output */
    const eddy_string *makers; /* of the handles that it is given */
    const eddy_shape *shapes;  /* an output */
    uint32_t n_makers;
} resumed;

static eddy_status read_any(eddy_kernel *k, const eddy__bundle *b,
                            eddy_string name, eddy_dtype dtype,
                            eddy_tensor **out)
{
    const eddy__bundle_entry *entry;

    *out = NULL;
    EDDY_TRY(eddy__saved_entry(k, b, name, &entry));
    if (entry->tf_dtype != eddy__dtype_to_tf(dtype))
        return eddy__kfail(
            k, EDDY_DATA_LOSS, EDDY_E_DTYPE,
            "'%.*s' is %s in the checkpoint, not %s", (int)name.length,
            name.data, eddy_dtype_name(eddy__dtype_from_tf(entry->tf_dtype)),
            eddy_dtype_name(dtype));
    return eddy__saved_read(k, b, entry, dtype, out);
}

/* ---- what the loop carries ---- */

static eddy_status put_output(eddy_kernel *k, const eddy__bundle *b, uint32_t i)
{
    const resumed *r = eddy__state(k);
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[i];
    eddy_tensor *tensor;
    eddy_status status;
    eddy__value value;

    if (eddy__dtype_in(dtype, EDDY__HELD))
        return EDDY_OK;
    status = read_any(k, b, r->names[i], dtype, &tensor);
    if (!tensor)
        return status;
    value = eddy__value_take_tensor(k->heap, tensor);
    eddy__out_value(k, i, &value);
    return status;
}

/* Is there one, of a shape that the plan counts on? */
static eddy_status check_output(eddy_kernel *k, uint32_t i)
{
    const resumed *r = eddy__state(k);

    if (eddy__out(k, i)->kind != EDDY__NONE &&
        eddy__shape_compatible(&r->shapes[i],
                               eddy__item_shape(eddy__out(k, i))))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_DATA_LOSS, EDDY_E_TENSOR_DATA,
                       "the checkpoint '%.150s' is damaged: '%.*s' is not "
                       "there, or has another shape than the loop has",
                       r->prefix.data, (int)r->names[i].length,
                       r->names[i].data);
}

/* ---- states ---- */

static bool begins_with(eddy_string text, const char *start)
{
    const size_t length = strlen(start);

    return text.length >= length && memcmp(text.data, start, length) == 0;
}

/* The name as a text, NULL without memory. */
static char *copy_name(const eddy_kernel *k, eddy_string name)
{
    char *text = eddy__allocate(k->allocator, name.length + 1, 1);

    if (text) {
        memcpy(text, name.data, name.length);
        text[name.length] = '\0';
    }
    return text;
}

static eddy_status set_variable(eddy_kernel *k, const char *name,
                                eddy_tensor *tensor)
{
    eddy__value old = {.kind = EDDY__NONE};
    eddy__variable *variable;
    eddy__misfit misfit;

    EDDY_TRY(
        eddy__variable_find(k->services->table(k), name, &variable, k->err));
    eddy__mutex_lock(&variable->mu);
    misfit = eddy__variable_check(variable, (eddy_dtype)tensor->dtype,
                                  &tensor->shape);
    if (misfit == EDDY__FITS)
        old = eddy__variable_exchange(
            variable,
            eddy__value_take_tensor(NULL, eddy_tensor_retain(tensor)));
    eddy__mutex_unlock(&variable->mu);
    eddy__value_clear(k->heap, &old);
    eddy__resource_release(&variable->base);
    if (misfit == EDDY__FITS)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_FAILED_PRECONDITION, EDDY_E_CHECKPOINT,
                       "the variable '%.150s' has another dtype or shape than "
                       "in the checkpoint",
                       name);
}

static eddy_status set_generator(eddy_kernel *k, const char *key,
                                 const eddy_tensor *tensor)
{
    eddy__generator_state state;

    if (tensor->bytes != sizeof state)
        return eddy__kfail(k, EDDY_DATA_LOSS, EDDY_E_TENSOR_DATA,
                           "the checkpoint has no whole generator '%.150s'",
                           key);
    memcpy(&state, tensor->data, sizeof state);
    return eddy__generator_restore(k->services->table(k), key, &state, k->err);
}

static eddy_status restore(eddy_kernel *k, const eddy__bundle *b,
                           const eddy__bundle_entry *entry)
{
    const bool is_random = begins_with(entry->name, EDDY__SAVED_RANDOM);
    char *name;
    eddy_tensor *tensor;
    eddy_status status;

    if (!is_random && begins_with(entry->name, EDDY__SAVED_OWN))
        return EDDY_OK;
    name = copy_name(k, entry->name);
    if (!name)
        return eddy__fail_memory(k->err);
    status = read_any(k, b, entry->name, eddy__dtype_from_tf(entry->tf_dtype),
                      &tensor);
    if (status == EDDY_OK && tensor)
        status = is_random ? set_generator(k, name + strlen(EDDY__SAVED_RANDOM),
                                           tensor)
                           : set_variable(k, name, tensor);
    eddy_tensor_release(tensor);
    eddy__free(k->allocator, name, entry->name.length + 1, 1);
    return status;
}

/* ---- the op ---- */

/* Lists, handles and what is behind them. */
static eddy_status restore_objects(eddy_kernel *k, const eddy__bundle *b)
{
    static const eddy__resource_type *const types[] = {
        &eddy__array_type, &eddy__stack_type, &eddy__queue_type,
        &eddy__lookup_type, NULL};
    const resumed *r = eddy__state(k);
    eddy__restorer from = {.k = k,
                           .bundle = b,
                           .types = types,
                           .makers = r->makers,
                           .first_maker = k->node->n_out,
                           .n_makers = r->n_makers};
    const eddy_status status = eddy__restorer_read(&from, r->names);

    eddy__restorer_deinit(&from);
    return status;
}

static eddy_status run_resume(eddy_kernel *k)
{
    const resumed *r = eddy__state(k);
    eddy_status status = EDDY_OK;
    eddy__bundle b;

    EDDY_TRY(eddy__saved_want_files(k));
    EDDY_TRY(eddy__bundle_open(k->allocator, r->prefix, &b, k->err));
    for (uint32_t i = 0; i < k->node->n_out && status == EDDY_OK; i++)
        status = put_output(k, &b, i);
    for (size_t i = 0; i < b.n && status == EDDY_OK; i++)
        status = restore(k, &b, &b.entries[i]);
    if (status == EDDY_OK)
        status = restore_objects(k, &b);
    eddy__bundle_close(&b);
    for (uint32_t i = 0; i < k->node->n_out && status == EDDY_OK; i++)
        status = check_output(k, i);
    return status;
}

static eddy_status infer(eddy_infer *infer)
{
    eddy_attr shapes;

    if (!eddy_infer_attr(infer, "shapes", &shapes) ||
        shapes.n != eddy_infer_outputs(infer))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "there must be a shape for each output");
    for (uint32_t i = 0; i < shapes.n; i++)
        eddy_infer_set_output(infer, i, &shapes.as.shapes[i]);
    return EDDY_OK;
}

/* Attributes are gone when the kernel runs: they are copied. */
static const eddy_string *copy_texts(eddy_infer *infer, const eddy_attr *from)
{
    size_t size = from->n * sizeof(eddy_string);
    eddy_string *texts;
    char *to;

    for (size_t i = 0; i < from->n; i++)
        size += from->as.strings[i].length;
    texts = eddy__prepare_state(infer, size);
    if (!texts)
        return NULL;
    to = (char *)(texts + from->n);
    for (size_t i = 0; i < from->n; i++) {
        texts[i] = (eddy_string){to, from->as.strings[i].length};
        if (texts[i].length > 0)
            memcpy(to, from->as.strings[i].data, texts[i].length);
        to += texts[i].length;
    }
    return texts;
}

static eddy_status prepare(eddy_infer *infer)
{
    eddy_attr names, makers, prefix, shapes;
    const eddy_string *name_texts, *maker_texts;
    eddy_shape *shapes_copy;
    size_t size;
    resumed *r;

    if (!eddy_infer_attr(infer, "names", &names) ||
        !eddy_infer_attr(infer, "makers", &makers) ||
        !eddy_infer_attr(infer, "prefix", &prefix) ||
        !eddy_infer_attr(infer, "shapes", &shapes) ||
        names.n != eddy_infer_outputs(infer) || shapes.n != names.n ||
        makers.n != eddy_infer_inputs(infer) - names.n)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "there must be a name and a shape for each "
                               "output, and one for each handle");
    size = prefix.as.strings[0].length + 1;
    name_texts = copy_texts(infer, &names);
    maker_texts = copy_texts(infer, &makers);
    shapes_copy = eddy__prepare_state(infer, shapes.n * sizeof *shapes_copy);
    r = eddy__prepare_state(infer, sizeof *r + size);
    if (!name_texts || !maker_texts || !shapes_copy || !r)
        return EDDY_RESOURCE_EXHAUSTED;
    memcpy(shapes_copy, shapes.as.shapes, shapes.n * sizeof *shapes_copy);
    memcpy(r + 1, prefix.as.strings[0].data, size - 1);
    *r = (resumed){.prefix = {(char *)(r + 1), size - 1},
                   .names = name_texts,
                   .makers = maker_texts,
                   .shapes = shapes_copy,
                   .n_makers = (uint32_t)makers.n};
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW_OF(
        "_Resume", "eddy", .inputs = "entered: T, handles: N * resource",
        .outputs = "carried: T",
        .attrs = "T: list(type) >= 1, N: int >= 0, shapes: list(shape), "
                 "names: list(string), makers: list(string), prefix: string",
        .infer = infer, .kernel = run_resume, .prepare = prepare,
        .flags = EDDY_OP_NOT_DIFFERENTIABLE | EDDY_OP_STATEFUL | EDDY_OP_CHEAP,
        .doc = "What a loop carries in its checkpoint; restores "
               "variables, generators and what is behind `handles`."),
};

const eddy__op_table eddy__resume_ops = {specs, NULL,
                                         sizeof specs / sizeof *specs};
