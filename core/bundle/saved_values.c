/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes lists, handles and what is behind them.  Objects are numbered on the
 * way back from what they hold, so each comes after its items; resources are
 * numbered as they are met, and looked into one after the other.
 */
#include "core/bundle/saved_values.h"

#include "core/base/status.h"
#include "core/base/varint.h"
#include "core/bundle/bundle_file.h"
#include "core/value/variable.h"

#include <stdint.h>
#include <string.h>

/* From so many bytes on the elements of a tensor are an entry. */
#define LEAST_ENTRY ((size_t)1 << 15)

#define UNKNOWN UINT64_MAX

static bool is_well(const eddy__saver *s)
{
    return s->status == EDDY_OK;
}

void eddy__saver_fail_memory(eddy__saver *s)
{
    if (is_well(s))
        s->status = eddy__fail_memory(&s->err);
}

void eddy__saver_refuse(eddy__saver *s, const char *what, const char *why)
{
    if (is_well(s))
        s->status = eddy__fail(&s->err, EDDY_UNIMPLEMENTED, EDDY_E_CHECKPOINT,
                               "the loop can't be saved: %.200s %s", what, why);
}

/* ---- bytes ---- */

static void put(eddy__saver *s, eddy__saved_bytes *to, const void *bytes,
                size_t n)
{
    void *grown = to->bytes;
    size_t needed;

    if (!is_well(s) || n == 0)
        return;
    if (!eddy__add_size(to->n, n, &needed) ||
        !eddy__grow(s->allocator, &grown, &to->capacity, needed, 1)) {
        eddy__saver_fail_memory(s);
        return;
    }
    to->bytes = grown;
    memcpy(to->bytes + to->n, bytes, n);
    to->n = needed;
}

static void put_number(eddy__saver *s, eddy__saved_bytes *to, uint64_t number)
{
    unsigned char bytes[EDDY__VARINT_MAX];

    put(s, to, bytes, eddy__varint_set(bytes, number));
}

static void put_text(eddy__saver *s, eddy__saved_bytes *to, const char *text,
                     size_t length)
{
    put_number(s, to, length);
    put(s, to, text, length);
}

static void put_shape(eddy__saver *s, eddy__saved_bytes *to,
                      const eddy_shape *shape)
{
    put_number(s, to, (uint64_t)((int64_t)shape->rank + 1));
    for (int32_t d = 0; d < shape->rank; d++)
        put_number(s, to, (uint64_t)(shape->dims[d] + 1));
}

void eddy__saver_number(eddy__saver *s, uint64_t number)
{
    put_number(s, s->to, number);
}

void eddy__saver_shape(eddy__saver *s, const eddy_shape *shape)
{
    put_shape(s, s->to, shape);
}

/* ---- what has been met ---- */

static size_t place_of(const eddy__saver *s, const void *object)
{
    size_t i = (size_t)((uintptr_t)object / 16 * 0x9e3779b97f4a7c15u >> 20);

    for (i &= s->n_slots - 1;
         s->slots[i].object && s->slots[i].object != object;
         i = (i + 1) & (s->n_slots - 1))
        ;
    return i;
}

static uint64_t find(const eddy__saver *s, const void *object)
{
    size_t i;

    if (s->n_slots == 0)
        return UNKNOWN;
    i = place_of(s, object);
    return s->slots[i].object ? s->slots[i].number : UNKNOWN;
}

static bool grow_slots(eddy__saver *s)
{
    const eddy__saver old = *s;
    const size_t n = old.n_slots > 0 ? 2 * old.n_slots : 64;
    eddy__saved_slot *slots =
        eddy__allocate_zeroed(s->allocator, n, sizeof *slots);

    if (!slots)
        return false;
    s->slots = slots;
    s->n_slots = n;
    for (size_t i = 0; i < old.n_slots; i++)
        if (old.slots[i].object)
            s->slots[place_of(s, old.slots[i].object)] = old.slots[i];
    eddy__free(s->allocator, old.slots, old.n_slots, sizeof *slots);
    return true;
}

static void remember(eddy__saver *s, const void *object, uint64_t number)
{
    if (!is_well(s))
        return;
    if (2 * s->n_known >= s->n_slots && !grow_slots(s)) {
        eddy__saver_fail_memory(s);
        return;
    }
    s->slots[place_of(s, object)] = (eddy__saved_slot){object, number};
    s->n_known++;
}

/* ---- resources ---- */

static bool is_made(const eddy__saver *s, eddy__resource *resource)
{
    size_t i = 0;

    if (!resource->maker)
        return false;
    while (i < s->n_makers && strcmp(s->makers[i], resource->maker) != 0)
        i++;
    return i < s->n_makers;
}

/* Is it what its table has under that name? */
static bool is_in_table(eddy__saver *s, eddy__resource *resource,
                        const char *name)
{
    eddy__resource *there = NULL;

    if (!s->table)
        return false;
    s->status = eddy__resource_table_find(s->table, resource->type, name, NULL,
                                          NULL, &there, &s->err);
    eddy__resource_release(there);
    return there == resource;
}

static void put_head(eddy__saver *s, eddy__saved_way way,
                     eddy__resource *resource, const char *const texts[2])
{
    const char *type = resource->type->name;

    put_number(s, &s->heads, way);
    put_text(s, &s->heads, type, strlen(type));
    for (int i = 0; i < 2; i++)
        put_text(s, &s->heads, texts[i], strlen(texts[i]));
}

/* Says how it is found again. */
static void describe(eddy__saver *s, eddy__resource *resource)
{
    const eddy__resource_type *type = resource->type;
    eddy__saved_way way = EDDY__SAVED_NEW;
    const char *texts[2] = {"", ""};

    if (type == &eddy__variable_type) {
        texts[0] = ((const eddy__variable *)(const void *)resource)->name;
        way = EDDY__SAVED_VARIABLE;
    } else if (!type->saving) {
        eddy__saver_refuse(s, "it has a handle of", type->name);
        return;
    } else if (is_made(s, resource)) {
        texts[0] = resource->maker;
        way = EDDY__SAVED_MADE;
    } else {
        type->saving->texts(resource, texts);
        if (!resource->set)
            way = EDDY__SAVED_KEYED;
    }
    if ((way == EDDY__SAVED_VARIABLE || way == EDDY__SAVED_KEYED) &&
        !is_in_table(s, resource, texts[0]))
        eddy__saver_refuse(s, type->name, "that it has is found by no name");
    put_head(s, way, resource, texts);
}

static uint64_t number_resource(eddy__saver *s, eddy__resource *resource)
{
    void *grown = s->resources;
    uint64_t number = find(s, resource);

    if (number != UNKNOWN || !is_well(s))
        return number;
    if (!eddy__grow(s->allocator, &grown, &s->resources_capacity,
                    s->n_resources + 1, sizeof(eddy__resource *))) {
        eddy__saver_fail_memory(s);
        return UNKNOWN;
    }
    s->resources = grown;
    number = s->n_resources++;
    s->resources[number] = resource;
    remember(s, resource, number);
    describe(s, resource);
    return number;
}

/* ---- objects ---- */

/* NULL: it is no object. */
static const void *object_of(const eddy__value *v)
{
    switch (v->kind) {
    case EDDY__CONSTANT:
    case EDDY__TENSOR:
        return v->as.tensor;
    case EDDY__LENT_LIST:
    case EDDY__LIST:
        return v->as.list;
    default:
        return NULL;
    }
}

static bool has_values(const eddy_tensor *tensor)
{
    return tensor->dtype == EDDY_VARIANT || tensor->dtype == EDDY_RESOURCE;
}

/* What an object holds; how many. */
static int64_t items_of(const eddy__value *v, const eddy__value **out)
{
    if (!eddy__value_is_tensor(v)) {
        *out = v->as.list->items;
        return v->as.list->count;
    }
    *out = v->as.tensor->data;
    return has_values(v->as.tensor) ? v->as.tensor->count : 0;
}

static void put_value(eddy__saver *s, eddy__saved_bytes *to,
                      const eddy__value *v)
{
    const void *object = object_of(v);
    uint64_t number;

    if (v->kind == EDDY__NONE) {
        put_number(s, to, EDDY__SAVED_NOTHING);
    } else if (v->kind == EDDY__SCALAR) {
        put_number(s, to, EDDY__SAVED_SCALAR);
        put_number(s, to, v->dtype);
        put(s, to, &v->as, eddy_dtype_size((eddy_dtype)v->dtype));
    } else {
        number = object ? find(s, object) : number_resource(s, v->as.resource);
        put_number(s, to, object ? EDDY__SAVED_OBJECT : EDDY__SAVED_RESOURCE);
        put_number(s, to, number);
    }
}

static void put_elements(eddy__saver *s, eddy_dtype dtype,
                         const eddy_shape *shape, const void *data, int64_t n)
{
    put_number(s, &s->objects, EDDY__SAVED_TENSOR);
    put_number(s, &s->objects, dtype);
    put_shape(s, &s->objects, shape);
    if (dtype != EDDY_STRING) {
        put(s, &s->objects, data, (size_t)n * eddy_dtype_size(dtype));
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const eddy__string *text = &((const eddy__string *)data)[i];

        put_text(s, &s->objects, text->data, text->length);
    }
}

static void put_entry(eddy__saver *s, const eddy_tensor *tensor)
{
    void *grown = s->entries;

    if (!eddy__grow(s->allocator, &grown, &s->entries_capacity,
                    s->n_entries + 1, sizeof(const eddy_tensor *))) {
        eddy__saver_fail_memory(s);
        return;
    }
    s->entries = grown;
    put_number(s, &s->objects, EDDY__SAVED_ENTRY);
    put_number(s, &s->objects, tensor->dtype);
    put_number(s, &s->objects, s->n_entries);
    s->entries[s->n_entries++] = tensor;
}

static void put_tensor(eddy__saver *s, const eddy_tensor *tensor)
{
    if (has_values(tensor)) {
        put_number(s, &s->objects, EDDY__SAVED_VALUES);
        put_number(s, &s->objects, tensor->dtype);
        put_shape(s, &s->objects, &tensor->shape);
    } else if (tensor->dtype != EDDY_STRING && tensor->bytes >= LEAST_ENTRY) {
        put_entry(s, tensor);
    } else {
        put_elements(s, (eddy_dtype)tensor->dtype, &tensor->shape, tensor->data,
                     tensor->count);
    }
}

static void put_list(eddy__saver *s, const eddy__list *list)
{
    if (list->dtype == EDDY__LOCK) {
        eddy__saver_refuse(s, "it holds the lock", "of a mutex");
        return;
    }
    put_number(s, &s->objects, EDDY__SAVED_LIST);
    put_number(s, &s->objects, list->dtype);
    put_shape(s, &s->objects, &list->shape);
    /* That of a map is of its chains, which are made anew. */
    put_number(
        s, &s->objects,
        (uint64_t)(list->dtype == EDDY__MAP ? INT64_MAX : list->max_count));
    put_number(s, &s->objects, (uint64_t)list->count);
}

/* An object of which all items have numbers gets its own. */
static void put_object(eddy__saver *s, const eddy__value *v)
{
    const eddy__value *items;
    const int64_t n = items_of(v, &items);

    if (eddy__value_is_tensor(v))
        put_tensor(s, v->as.tensor);
    else
        put_list(s, v->as.list);
    for (int64_t i = 0; i < n && is_well(s); i++)
        put_value(s, &s->objects, &items[i]);
    remember(s, object_of(v), s->n_objects++);
}

static bool go_into(eddy__saver *s, size_t n, const eddy__value *v)
{
    void *grown = s->way;
    const bool ok = eddy__grow(s->allocator, &grown, &s->way_capacity, n + 1,
                               sizeof *s->way);

    s->way = grown;
    if (ok)
        s->way[n] = (eddy__saved_step){.value = *v};
    else
        eddy__saver_fail_memory(s);
    return ok;
}

/* Numbers what the value is, and before it all that it holds. */
static void number_objects(eddy__saver *s, const eddy__value *v)
{
    size_t n = 0;

    if (!object_of(v) || find(s, object_of(v)) != UNKNOWN || !go_into(s, 0, v))
        return;
    n = 1;
    while (n > 0 && is_well(s)) {
        eddy__saved_step *step = &s->way[n - 1];
        const eddy__value *items;
        const int64_t count = items_of(&step->value, &items);
        const void *object = NULL;

        while (step->next < count && !object) {
            object = object_of(&items[step->next++]);
            if (object && find(s, object) != UNKNOWN)
                object = NULL;
        }
        if (!object)
            put_object(s, &s->way[--n].value);
        else if (go_into(s, n, &items[step->next - 1]))
            n++;
    }
}

/* ---- what others call ---- */

void eddy__saver_value(eddy__saver *s, const eddy__value *value)
{
    number_objects(s, value);
    put_value(s, s->to, value);
}

void eddy__saver_elements(eddy__saver *s, eddy_dtype dtype,
                          const eddy_shape *shape, const void *data)
{
    int64_t n = 1;

    for (int32_t d = 0; d < shape->rank; d++)
        n *= shape->dims[d];
    put_elements(s, dtype, shape, data, n);
    put_number(s, s->to, EDDY__SAVED_OBJECT);
    put_number(s, s->to, s->n_objects++);
}

void eddy__saver_resource(eddy__saver *s, eddy__resource *resource)
{
    put_number(s, s->to, number_resource(s, resource));
}

void eddy__saver_add(eddy__saver *s, eddy__resource *resource)
{
    (void)number_resource(s, resource);
}

void eddy__saver_root(eddy__saver *s, const char *name,
                      const eddy__value *value)
{
    s->to = &s->roots;
    put_text(s, &s->roots, name, strlen(name));
    eddy__saver_value(s, value);
    s->n_roots++;
}

static void put_bytes(eddy__saver *s, const eddy__saved_bytes *from)
{
    put(s, &s->all, from->bytes, from->n);
}

eddy_status eddy__saver_finish(eddy__saver *s)
{
    s->to = &s->bodies;
    for (size_t i = 0; i < s->n_resources && is_well(s); i++)
        if (s->resources[i]->type->saving)
            s->resources[i]->type->saving->save(s->resources[i], s);
    put_number(s, &s->all, EDDY__SAVED_VERSION);
    put_number(s, &s->all, s->n_resources);
    put_bytes(s, &s->heads);
    put_number(s, &s->all, s->n_objects);
    put_bytes(s, &s->objects);
    put_number(s, &s->all, s->n_roots);
    put_bytes(s, &s->roots);
    put_bytes(s, &s->bodies);
    return s->status;
}

static void drop_bytes(const eddy__saver *s, eddy__saved_bytes *bytes)
{
    eddy__free(s->allocator, bytes->bytes, bytes->capacity, 1);
}

void eddy__saver_deinit(eddy__saver *s)
{
    drop_bytes(s, &s->heads);
    drop_bytes(s, &s->objects);
    drop_bytes(s, &s->roots);
    drop_bytes(s, &s->bodies);
    drop_bytes(s, &s->all);
    eddy__free(s->allocator, s->slots, s->n_slots, sizeof *s->slots);
    eddy__free(s->allocator, s->resources, s->resources_capacity,
               sizeof(eddy__resource *));
    eddy__free(s->allocator, s->entries, s->entries_capacity,
               sizeof(const eddy_tensor *));
    eddy__free(s->allocator, s->way, s->way_capacity, sizeof *s->way);
}
