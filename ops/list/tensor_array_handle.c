/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands for a TensorArray on an edge, and how the array is found by it.
 *
 * As a rule that is a handle, which holds a reference.  The arrays of V2 ops
 * have two strings, which hold nothing: so the run keeps such an array until it
 * ends, and looks it up among its resources.  Strings may say anything; what
 * they name is there, or it is not found.
 */
#include "ops/list/tensor_array.h"

#include "ops/math/elements.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The first of the two strings, as in TensorFlow. */
#define CONTAINER "_tensor_arrays"

/* The second is the array's name and this: its number. */
#define NUMBER_SIZE 24

/* ---- the resource ---- */

static eddy__array *array_of(eddy__resource *resource)
{
    return (eddy__array *)(void *)resource;
}

void eddy__array_drop_items(eddy__array *a, eddy__heap *heap)
{
    for (int32_t i = 0; a->items && i < a->n_items; i++)
        eddy__value_clear(heap, &a->items[i]);
    if (a->block)
        eddy__heap_recycle(heap, a->block, a->block_size);
    if (a->shapes)
        eddy__heap_recycle(heap, a->shapes, a->shapes_size);
    a->block = NULL;
    a->items = NULL;
    a->shapes = NULL;
    a->n_items = a->capacity = 0;
    a->cells.items = a->cells.states = NULL;
    a->cells.n = 0;
}

static void clear_array(eddy__resource *resource, eddy__heap *heap)
{
    eddy__array *a = array_of(resource);

    eddy__array_drop_items(a, heap);
    while (a->gradients) {
        eddy__array *gradient = a->gradients;

        a->gradients = gradient->next;
        eddy__resource_release(&gradient->cells.base);
    }
    if (a->is_kept) {
        a->is_kept = false;
        eddy__resource_release(resource);
    }
}

const eddy__resource_type eddy__array_type = {.name = "a TensorArray",
                                              .clear = clear_array,
                                              .saving = &eddy__array_saving};

/* ---- names ---- */

static size_t print_number(uint64_t number, char text[NUMBER_SIZE])
{
    const int n = snprintf(text, NUMBER_SIZE, "_%" PRIu64, number);

    return n > 0 ? (size_t)n : 0;
}

static bool is_text(const eddy_string *s, const char *text, size_t length)
{
    return s->length == length && memcmp(s->data, text, length) == 0;
}

static bool has_name(const eddy__array *a, const eddy_string *name)
{
    char number[NUMBER_SIZE];
    const size_t length = strlen(a->name);
    eddy_string end;

    if (name->length < length || memcmp(name->data, a->name, length) != 0)
        return false;
    end = (eddy_string){name->data + length, name->length - length};
    return is_text(&end, number, print_number(a->number, number));
}

static bool is_named(const eddy__resource *resource)
{
    return resource->type == &eddy__array_type &&
           ((const eddy__array *)(const void *)resource)->number > 0;
}

/* Numbers count up, and of the resources of a run the latest comes first. */
static uint64_t next_number(const eddy_kernel *k)
{
    const eddy__resource *r = k->resources->live;

    while (r && !is_named(r))
        r = r->next;
    return r ? ((const eddy__array *)(const void *)r)->number + 1 : 1;
}

static eddy_status fail_names(eddy_kernel *k)
{
    return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                       "no memory for the names of a TensorArray");
}

static eddy_status put_names(eddy_kernel *k, const eddy__array *a)
{
    const eddy_shape shape = eddy__shape_vector(2);
    const size_t length = strlen(a->name);
    char number[NUMBER_SIZE], *text;
    const size_t more = print_number(a->number, number);
    eddy_tensor *names;
    void *elements;
    size_t size;
    bool ok;

    EDDY_TRY(eddy__output(k, 0, EDDY_STRING, &shape, &elements));
    names = eddy__out(k, 0)->as.tensor;
    text = eddy__heap_allocate(k->heap, length + more, &size);
    if (!text)
        return fail_names(k);
    memcpy(text, a->name, length);
    memcpy(text + length, number, more);
    ok = eddy__tensor_set_string(names, 0, CONTAINER, strlen(CONTAINER)) &&
         eddy__tensor_set_string(names, 1, text, length + more);
    eddy__heap_recycle(k->heap, text, size);
    return ok ? EDDY_OK : fail_names(k);
}

static eddy_status find_named(eddy_kernel *k, eddy__array **out_array)
{
    const eddy_view view = eddy__in_view(k, 0);
    const eddy_string *names = view.data;
    eddy__resource *r = k->resources->live;
    int64_t i = 0;

    if (view.count != 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the handle of a TensorArray must be 2 strings, but "
                           "it has shape %s",
                           eddy__shape_print(eddy__in_shape(k, 0)).text);
    if (is_text(&names[0], CONTAINER, strlen(CONTAINER)))
        for (; r && !eddy__spent_at(k, i++); r = r->next)
            if (is_named(r) && has_name(array_of(r), &names[1])) {
                *out_array = array_of(r);
                return EDDY_OK;
            }
    return eddy__kfail(
        k, EDDY_NOT_FOUND, EDDY_E_RESOURCE,
        "there is no TensorArray '%.*s' in '%.*s' in this run",
        (int)(names[1].length < 64 ? names[1].length : 64), names[1].data,
        (int)(names[0].length < 64 ? names[0].length : 64), names[0].data);
}

/* ---- making and finding ---- */

static bool wants_names(const eddy_kernel *k)
{
    return k->node->out_dtypes[0] == EDDY_STRING;
}

eddy_status eddy__array_put_handle(eddy_kernel *k, eddy__array *array)
{
    if (wants_names(k))
        return put_names(k, array);
    eddy__out_resource(k, 0, eddy__resource_retain(&array->cells.base));
    return EDDY_OK;
}

eddy_status eddy__array_create(eddy_kernel *k, const char *name,
                               eddy__array **out_array)
{
    const uint64_t number = wants_names(k) ? next_number(k) : 0;
    eddy__resource *resource;
    eddy__array *a;

    *out_array = NULL;
    if (number == 0) {
        EDDY_TRY(eddy__output_new_resource(k, 0, &eddy__array_type, sizeof *a,
                                           &resource));
    } else {
        resource =
            eddy__resource_create(k->resources, &eddy__array_type, sizeof *a);
        if (!resource)
            return fail_names(k);
    }
    a = array_of(resource);
    a->name = name;
    a->number = number;
    a->is_kept = number > 0;
    *out_array = a;
    return number > 0 ? put_names(k, a) : EDDY_OK;
}

eddy_status eddy__array_find(eddy_kernel *k, eddy__array **out_array)
{
    eddy__resource *resource;

    *out_array = NULL;
    if (eddy__in_dtype(k, 0) == EDDY_STRING)
        return find_named(k, out_array);
    EDDY_TRY(eddy__in_resource(k, 0, &eddy__array_type, &resource));
    *out_array = array_of(resource);
    return EDDY_OK;
}

eddy_status eddy__in_array(eddy_kernel *k, eddy__array **out_array)
{
    EDDY_TRY(eddy__array_find(k, out_array));
    assert(*out_array);
    if ((*out_array)->is_closed)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_CLOSED,
                           "TensorArray %s has already been closed",
                           (*out_array)->name);
    return EDDY_OK;
}
