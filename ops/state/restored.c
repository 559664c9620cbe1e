/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what core/bundle/saved_values.c writes.  An object holds objects that
 * came before it alone, so no list is in itself, whatever a file says.
 */
#include "ops/state/restored.h"

#include "core/base/memory.h"
#include "core/base/status.h"
#include "core/base/varint.h"
#include "core/bundle/saved_trips.h"
#include "core/value/dtype.h"
#include "core/value/variable.h"
#include "ops/array/items.h"
#include "ops/list/tensor_map.h"
#include "ops/state/saved.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The longest of the two texts of a resource. */
#define LONGEST_TEXT 65536

eddy_status eddy__restorer_fail(const eddy__restorer *r, const char *what)
{
    return eddy__kfail(r->k, EDDY_DATA_LOSS, EDDY_E_TENSOR_DATA,
                       "the checkpoint '%.150s' is damaged: %s is not right",
                       r->bundle->prefix, what);
}

/* ---- numbers, texts, shapes ---- */

static size_t left(const eddy__restorer *r)
{
    return (size_t)(r->end - r->at);
}

eddy_status eddy__restorer_number(eddy__restorer *r, uint64_t most,
                                  const char *what, uint64_t *out)
{
    uint64_t number;

    *out = 0;
    if (!eddy__varint_take(&r->at, r->end, &number) || number > most)
        return eddy__restorer_fail(r, what);
    *out = number;
    return EDDY_OK;
}

eddy_status eddy__restorer_bool(eddy__restorer *r, const char *what, bool *out)
{
    uint64_t number;

    EDDY_TRY(eddy__restorer_number(r, 1, what, &number));
    *out = number > 0;
    return EDDY_OK;
}

eddy_status eddy__restorer_count(eddy__restorer *r, const char *what,
                                 uint64_t *out)
{
    EDDY_TRY(eddy__restorer_number(r, INT64_MAX, what, out));
    return *out <= left(r) ? EDDY_OK : eddy__restorer_fail(r, what);
}

/* Its bytes are the file's. */
static eddy_status read_text(eddy__restorer *r, const char *what,
                             eddy_string *out)
{
    uint64_t length;

    EDDY_TRY(eddy__restorer_count(r, what, &length));
    *out = (eddy_string){(const char *)r->at, (size_t)length};
    r->at += length;
    return EDDY_OK;
}

eddy_status eddy__restorer_shape(eddy__restorer *r, eddy_shape *out)
{
    eddy_shape shape = {.rank = -1};
    uint64_t number;

    *out = shape;
    EDDY_TRY(eddy__restorer_number(r, EDDY_MAX_RANK + 1, "a rank", &number));
    shape.rank = (int32_t)number - 1;
    for (int32_t d = 0; d < shape.rank; d++) {
        EDDY_TRY(eddy__restorer_number(r, INT64_MAX, "a dimension", &number));
        shape.dims[d] = (int64_t)number - 1;
    }
    *out = shape;
    return EDDY_OK;
}

static eddy_status read_dtype(eddy__restorer *r, eddy_dtype *out)
{
    uint64_t number;

    EDDY_TRY(
        eddy__restorer_number(r, EDDY_DTYPE_COUNT - 1, "a dtype", &number));
    *out = (eddy_dtype)number;
    return number > 0 ? EDDY_OK : eddy__restorer_fail(r, "a dtype");
}

/* ---- values ---- */

static eddy_status read_scalar(eddy__restorer *r, eddy__value *out)
{
    eddy_dtype dtype;
    size_t size;

    EDDY_TRY(read_dtype(r, &dtype));
    size = eddy_dtype_size(dtype);
    if (!eddy__dtype_is_inline(dtype) || left(r) < size)
        return eddy__restorer_fail(r, "a scalar");
    *out = (eddy__value){.kind = EDDY__SCALAR, .dtype = (uint8_t)dtype};
    memcpy(&out->as, r->at, size);
    r->at += size;
    if (dtype == EDDY_BOOL)
        out->as.bits = out->as.u8 != 0;
    return EDDY_OK;
}

eddy_status eddy__restorer_value(eddy__restorer *r, eddy__value *out)
{
    uint64_t kind, number;

    *out = (eddy__value){.kind = EDDY__NONE};
    EDDY_TRY(eddy__restorer_number(r, EDDY__SAVED_RESOURCE, "a value", &kind));
    if (kind == EDDY__SAVED_NOTHING)
        return EDDY_OK;
    if (kind == EDDY__SAVED_SCALAR)
        return read_scalar(r, out);
    EDDY_TRY(eddy__restorer_number(r, INT64_MAX, "a value", &number));
    if (number >= (kind == EDDY__SAVED_OBJECT ? r->n_objects : r->n_resources))
        return eddy__restorer_fail(r, "the number of a value");
    if (kind == EDDY__SAVED_OBJECT)
        *out = eddy__value_copy(&r->objects[number]);
    else
        *out = (eddy__value){.kind = EDDY__RESOURCE,
                             .dtype = EDDY_RESOURCE,
                             .as.resource = eddy__resource_retain(
                                 r->resources[number].resource)};
    return EDDY_OK;
}

eddy_status eddy__restorer_item(eddy__restorer *r, eddy_dtype dtype,
                                const eddy_shape *shape, bool may_be_none,
                                eddy__value *out)
{
    EDDY_TRY(eddy__restorer_value(r, out));
    if (out->kind == EDDY__NONE
            ? may_be_none
            : out->dtype == dtype &&
                  eddy__shape_compatible(shape, eddy__item_shape(out)))
        return EDDY_OK;
    eddy__value_clear(r->k->heap, out);
    return eddy__restorer_fail(r, "the dtype or the shape of an item");
}

/* ---- objects ---- */

static eddy_status read_strings(eddy__restorer *r, eddy_tensor *tensor)
{
    eddy_string text;

    for (int64_t i = 0; i < tensor->count; i++) {
        EDDY_TRY(read_text(r, "a text", &text));
        if (!eddy__tensor_set_string(tensor, i, text.data, text.length))
            return eddy__fail_memory(r->k->err);
    }
    return EDDY_OK;
}

static eddy_status read_elements(eddy__restorer *r, eddy_tensor *tensor)
{
    if (tensor->dtype == EDDY_STRING)
        return read_strings(r, tensor);
    if (tensor->bytes > 0)
        memcpy(tensor->data, r->at, tensor->bytes);
    r->at += tensor->bytes;
    for (int64_t i = 0; tensor->dtype == EDDY_BOOL && i < tensor->count; i++)
        ((uint8_t *)tensor->data)[i] = ((uint8_t *)tensor->data)[i] != 0;
    return EDDY_OK;
}

/* Known, of a value that is no scalar, and of which so much is there. */
static eddy_status check_tensor(const eddy__restorer *r, eddy_dtype dtype,
                                const eddy_shape *shape, size_t size)
{
    int64_t count;

    if (!eddy__shape_is_known(shape) ||
        (shape->rank == 0 &&
         (eddy__dtype_is_inline(dtype) || eddy__dtype_in(dtype, EDDY__HELD))) ||
        !eddy__shape_count(shape, size, &count) ||
        (uint64_t)count > left(r) / size)
        return eddy__restorer_fail(r, "the shape of a tensor");
    return EDDY_OK;
}

static eddy_status read_tensor(eddy__restorer *r, eddy__value *out)
{
    eddy_tensor *tensor = NULL;
    eddy_dtype dtype;
    eddy_shape shape;
    eddy_status status;

    EDDY_TRY(read_dtype(r, &dtype));
    EDDY_TRY(eddy__restorer_shape(r, &shape));
    if (!eddy__dtype_in(dtype, EDDY__MOVABLE))
        return eddy__restorer_fail(r, "the dtype of a tensor");
    EDDY_TRY(check_tensor(r, dtype, &shape,
                          dtype == EDDY_STRING ? 1 : eddy_dtype_size(dtype)));
    EDDY_TRY(eddy__new_tensor(r->k, dtype, &shape, &tensor));
    assert(tensor);
    status = read_elements(r, tensor);
    *out = eddy__value_take_tensor(r->k->heap, tensor);
    return status;
}

/* A tensor whose elements are an entry of the checkpoint. */
static eddy_status read_entry(eddy__restorer *r, eddy__value *out)
{
    const eddy__bundle_entry *entry;
    eddy_tensor *tensor = NULL;
    char name[64];
    eddy_status status;
    eddy_dtype dtype;
    uint64_t number;

    EDDY_TRY(read_dtype(r, &dtype));
    EDDY_TRY(eddy__restorer_number(r, UINT32_MAX, "an entry", &number));
    snprintf(name, sizeof name, EDDY__SAVED_ENTRIES "%llu",
             (unsigned long long)number);
    EDDY_TRY(eddy__saved_entry(r->k, r->bundle,
                               (eddy_string){name, strlen(name)}, &entry));
    if (!eddy__dtype_in(dtype, EDDY__MOVABLE) || dtype == EDDY_STRING ||
        entry->shape.rank == 0 || entry->tf_dtype != eddy__dtype_to_tf(dtype))
        return eddy__restorer_fail(r, "the dtype of an entry");
    status = eddy__saved_read(r->k, r->bundle, entry, dtype, &tensor);
    if (tensor)
        *out = eddy__value_take_tensor(r->k->heap, tensor);
    return status;
}

/* Optional values and maps have items of any dtype, and all of them. */
static eddy_status read_items(eddy__restorer *r, eddy__list *list,
                              uint64_t count)
{
    const bool is_any = eddy__list_is_special(list);

    for (uint64_t i = 0; i < count; i++) {
        eddy__value item;

        if (is_any)
            EDDY_TRY(eddy__restorer_value(r, &item));
        else
            EDDY_TRY(eddy__restorer_item(r, (eddy_dtype)list->dtype,
                                         &list->shape, true, &item));
        list->items[i] = item;
        if (is_any && item.kind == EDDY__NONE)
            return eddy__restorer_fail(r, "an item of an optional value");
        if (list->dtype == EDDY__MAP && i % 2 == 0 &&
            !eddy__dtype_in((eddy_dtype)item.dtype, EDDY__MOVABLE))
            return eddy__restorer_fail(r, "the key of a map");
    }
    return EDDY_OK;
}

static eddy_status read_list(eddy__restorer *r, eddy__value *out)
{
    uint64_t dtype, most, count;
    eddy__list *list;
    eddy_shape shape;

    EDDY_TRY(
        eddy__restorer_number(r, EDDY__MAP, "the dtype of a list", &dtype));
    EDDY_TRY(eddy__restorer_shape(r, &shape));
    EDDY_TRY(eddy__restorer_number(r, INT64_MAX, "the size of a list", &most));
    EDDY_TRY(eddy__restorer_count(r, "the length of a list", &count));
    if ((dtype >= EDDY_DTYPE_COUNT && dtype != EDDY__MAP) || count > most ||
        (dtype == EDDY__MAP && (count % 2 != 0 || most != INT64_MAX)))
        return eddy__restorer_fail(r, "the dtype or the length of a list");
    list = eddy__list_create(r->k->heap, r->k->account, r->k->allocator,
                             (eddy_dtype)dtype, &shape, (int64_t)count);
    if (!list)
        return eddy__fail_memory(r->k->err);
    list->max_count = (int64_t)most;
    *out = (eddy__value){
        .kind = EDDY__LIST, .dtype = EDDY_VARIANT, .as.list = list};
    EDDY_TRY(read_items(r, list, count));
    if (dtype == EDDY__MAP)
        eddy__tensor_map_index(r->k, list);
    return EDDY_OK;
}

static eddy_status read_values(eddy__restorer *r, eddy__value *out)
{
    const eddy_shape scalar = eddy__shape_scalar();
    eddy_tensor *tensor = NULL;
    eddy_dtype dtype;
    eddy_shape shape;

    EDDY_TRY(read_dtype(r, &dtype));
    EDDY_TRY(eddy__restorer_shape(r, &shape));
    if (!eddy__dtype_in(dtype, EDDY__HELD))
        return eddy__restorer_fail(r, "the dtype of a tensor of lists");
    EDDY_TRY(check_tensor(r, dtype, &shape, 1));
    EDDY_TRY(eddy__new_tensor(r->k, dtype, &shape, &tensor));
    assert(tensor);
    *out = (eddy__value){
        .kind = EDDY__TENSOR, .dtype = (uint8_t)dtype, .as.tensor = tensor};
    for (int64_t i = 0; i < tensor->count; i++) {
        eddy__value *item = &((eddy__value *)tensor->data)[i];

        EDDY_TRY(eddy__restorer_item(r, dtype, &scalar, true, item));
        if (eddy__value_is_tensor(item))
            return eddy__restorer_fail(r, "an element of a tensor of lists");
    }
    return EDDY_OK;
}

static eddy_status read_object(eddy__restorer *r, eddy__value *out)
{
    uint64_t form;

    EDDY_TRY(eddy__restorer_number(r, EDDY__SAVED_VALUES, "an object", &form));
    switch ((eddy__saved_form)form) {
    case EDDY__SAVED_TENSOR:
        return read_tensor(r, out);
    case EDDY__SAVED_ENTRY:
        return read_entry(r, out);
    case EDDY__SAVED_LIST:
        return read_list(r, out);
    default:
        return read_values(r, out);
    }
}

static eddy_status read_objects(eddy__restorer *r)
{
    eddy_status status = EDDY_OK;
    uint64_t n;

    EDDY_TRY(eddy__restorer_count(r, "the number of objects", &n));
    r->objects = eddy__allocate(r->k->allocator, (size_t)n, sizeof *r->objects);
    if (!r->objects)
        return eddy__fail_memory(r->k->err);
    r->objects_size = (size_t)n;
    while (status == EDDY_OK && r->n_objects < n) {
        eddy__value *object = &r->objects[r->n_objects];

        *object = (eddy__value){.kind = EDDY__NONE};
        status = read_object(r, object);
        /* Of a list that failed, what is there is dropped with it. */
        r->n_objects++;
    }
    return status;
}

/* ---- resources ---- */

static bool is_text(eddy_string a, const char *b)
{
    return a.length == strlen(b) && memcmp(a.data, b, a.length) == 0;
}

static const eddy__resource_type *find_type(const eddy__restorer *r,
                                            eddy_string name)
{
    size_t i = 0;

    if (is_text(name, eddy__variable_type.name))
        return &eddy__variable_type;
    while (r->types[i] && !is_text(name, r->types[i]->name))
        i++;
    return r->types[i];
}

/* What a node has made in this run, too. */
static eddy_status find_made(const eddy__restorer *r, eddy_string maker,
                             const eddy__resource_type *type,
                             eddy__restored_resource *out)
{
    uint32_t i = 0;

    while (i < r->n_makers &&
           (r->makers[i].length != maker.length ||
            memcmp(r->makers[i].data, maker.data, maker.length) != 0))
        i++;
    if (i == r->n_makers)
        return eddy__restorer_fail(r, "the node that makes a resource");
    EDDY_TRY(eddy__in_resource(r->k, r->first_maker + i, type, &out->resource));
    (void)eddy__resource_retain(out->resource);
    return EDDY_OK;
}

/* A new one has its texts behind what its type has. */
static eddy_status make(const eddy__restorer *r,
                        const eddy__resource_type *type,
                        const eddy_string texts[2],
                        eddy__restored_resource *out)
{
    size_t size = type->saving->size;
    char *to;

    if (size == 0)
        return eddy__restorer_fail(r, "how a queue or a table is found");
    out->resource = eddy__resource_create(
        r->k->resources, type, size + texts[0].length + texts[1].length + 2);
    if (!out->resource)
        return eddy__fail_memory(r->k->err);
    for (int i = 0; i < 2; i++) {
        to = (char *)out->resource + size;
        if (texts[i].length > 0)
            memcpy(to, texts[i].data, texts[i].length);
        to[texts[i].length] = '\0';
        out->texts[i] = to;
        size += texts[i].length + 1;
    }
    out->is_new = true;
    return EDDY_OK;
}

/* In the table of the run or the session, by a name. */
static eddy_status find_named(const eddy__restorer *r,
                              const eddy__resource_type *type, eddy_string name,
                              eddy__restored_resource *out)
{
    char *text = eddy__allocate(r->k->allocator, name.length + 1, 1);
    eddy__variable *variable = NULL;
    eddy_status status;

    if (!text)
        return eddy__fail_memory(r->k->err);
    memcpy(text, name.data, name.length);
    text[name.length] = '\0';
    if (!type->saving) {
        status = eddy__variable_find(r->k->services->table(r->k), text,
                                     &variable, r->k->err);
        out->resource = variable ? &variable->base : NULL;
    } else {
        status =
            eddy__find_resource(r->k, type, text, NULL, NULL, &out->resource);
    }
    eddy__free(r->k->allocator, text, name.length + 1, 1);
    if (status == EDDY_OK && !out->resource)
        return eddy__restorer_fail(r, "the name of a queue or a table");
    return status;
}

static eddy_status read_head(eddy__restorer *r, eddy__restored_resource *out)
{
    const eddy__resource_type *type;
    eddy_string name, texts[2];
    uint64_t way;

    EDDY_TRY(eddy__restorer_number(r, EDDY__SAVED_NEW, "a resource", &way));
    EDDY_TRY(read_text(r, "the type of a resource", &name));
    for (int i = 0; i < 2; i++) {
        EDDY_TRY(read_text(r, "the name of a resource", &texts[i]));
        if (texts[i].length > LONGEST_TEXT ||
            memchr(texts[i].data, '\0', texts[i].length))
            return eddy__restorer_fail(r, "the name of a resource");
    }
    type = find_type(r, name);
    if (!type || (way == EDDY__SAVED_VARIABLE) != !type->saving ||
        (way == EDDY__SAVED_KEYED && type->saving->size > 0))
        return eddy__restorer_fail(r, "the type of a resource");
    if (way == EDDY__SAVED_MADE)
        return find_made(r, texts[0], type, out);
    if (way == EDDY__SAVED_NEW)
        return make(r, type, texts, out);
    return find_named(r, type, texts[0], out);
}

static eddy_status read_heads(eddy__restorer *r)
{
    uint64_t n;

    EDDY_TRY(eddy__restorer_count(r, "the number of resources", &n));
    r->resources =
        eddy__allocate_zeroed(r->k->allocator, (size_t)n, sizeof *r->resources);
    if (!r->resources)
        return eddy__fail_memory(r->k->err);
    r->resources_size = (size_t)n;
    while (r->n_resources < n)
        EDDY_TRY(read_head(r, &r->resources[r->n_resources++]));
    return EDDY_OK;
}

eddy_status eddy__restorer_own(eddy__restorer *r,
                               const eddy__resource_type *type,
                               eddy__resource **out)
{
    eddy__restored_resource *found;
    uint64_t number;

    *out = NULL;
    EDDY_TRY(eddy__restorer_number(r, INT64_MAX, "a resource", &number));
    if (number >= r->n_resources)
        return eddy__restorer_fail(r, "the number of a resource");
    found = &r->resources[number];
    if (found->resource->type != type || found->is_owned)
        return eddy__restorer_fail(r, "the owner of a resource");
    found->is_owned = true;
    *out = found->resource;
    return EDDY_OK;
}

/*
 * What is there before is of no use, and must not be in two lists.  One with a
 * name has a lock, and does it itself.
 */
static void clear_resources(const eddy__restorer *r)
{
    for (size_t i = 0; i < r->n_resources; i++) {
        const eddy__restored_resource *found = &r->resources[i];

        if (found->resource->type->saving && found->resource->set &&
            !found->is_new)
            found->resource->type->clear(found->resource, r->k->heap);
    }
}

static eddy_status read_bodies(eddy__restorer *r)
{
    clear_resources(r);
    for (size_t i = 0; i < r->n_resources; i++) {
        eddy__restored_resource *found = &r->resources[i];

        if (found->resource->type->saving)
            EDDY_TRY(found->resource->type->saving->restore(
                found->resource, found->is_new ? found->texts : NULL, r));
    }
    return r->at == r->end ? EDDY_OK : eddy__restorer_fail(r, "its end");
}

/* ---- what a loop carries ---- */

/* The output of the kernel that is called so; the number of outputs: none. */
static uint32_t find_output(const eddy__restorer *r, eddy_string name,
                            const eddy_string *names)
{
    uint32_t i = 0;

    while (i < r->k->node->n_out &&
           (names[i].length != name.length ||
            memcmp(names[i].data, name.data, name.length) != 0))
        i++;
    return i;
}

static eddy_status read_root(eddy__restorer *r, const eddy_string *names)
{
    eddy_string name;
    eddy__value value;
    uint32_t i;

    EDDY_TRY(read_text(r, "the name of a value", &name));
    EDDY_TRY(eddy__restorer_value(r, &value));
    i = find_output(r, name, names);
    if (i == r->k->node->n_out || value.dtype != r->k->node->out_dtypes[i] ||
        value.kind == EDDY__NONE || eddy__out(r->k, i)->kind != EDDY__NONE) {
        eddy__value_clear(r->k->heap, &value);
        return eddy__restorer_fail(r, "a value that the loop carries");
    }
    eddy__out_value(r->k, i, &value);
    return EDDY_OK;
}

static eddy_status read_roots(eddy__restorer *r, const eddy_string *names)
{
    uint64_t n;

    EDDY_TRY(eddy__restorer_count(r, "the number of values", &n));
    for (uint64_t i = 0; i < n; i++)
        EDDY_TRY(read_root(r, names));
    return EDDY_OK;
}

/* ---- all ---- */

static eddy_status load(eddy__restorer *r)
{
    const eddy_string name = {EDDY__SAVED_OBJECTS, strlen(EDDY__SAVED_OBJECTS)};
    const eddy__bundle_entry *entry = eddy__bundle_find(r->bundle, name);

    if (!entry)
        return EDDY_OK;
    EDDY_TRY(eddy__saved_entry(r->k, r->bundle, name, &entry));
    if (entry->tf_dtype != eddy__dtype_to_tf(EDDY_UINT8) ||
        entry->shape.rank != 1)
        return eddy__restorer_fail(r, "the dtype of its lists");
    EDDY_TRY(eddy__saved_read(r->k, r->bundle, entry, EDDY_UINT8, &r->tensor));
    r->at = r->tensor->data;
    r->end = r->at + r->tensor->bytes;
    return EDDY_OK;
}

eddy_status eddy__restorer_read(eddy__restorer *r, const eddy_string *names)
{
    uint64_t version;

    EDDY_TRY(load(r));
    if (!r->tensor)
        return EDDY_OK;
    EDDY_TRY(
        eddy__restorer_number(r, EDDY__SAVED_VERSION, "the version", &version));
    if (version != EDDY__SAVED_VERSION)
        return eddy__restorer_fail(r, "the version");
    EDDY_TRY(read_heads(r));
    EDDY_TRY(read_objects(r));
    EDDY_TRY(read_roots(r, names));
    return read_bodies(r);
}

void eddy__restorer_deinit(eddy__restorer *r)
{
    for (size_t i = 0; i < r->n_objects; i++)
        eddy__value_clear(r->k->heap, &r->objects[i]);
    for (size_t i = 0; i < r->n_resources; i++)
        eddy__resource_release(r->resources[i].resource);
    eddy__free(r->k->allocator, r->objects, r->objects_size,
               sizeof *r->objects);
    eddy__free(r->k->allocator, r->resources, r->resources_size,
               sizeof *r->resources);
    eddy_tensor_release(r->tensor);
}
