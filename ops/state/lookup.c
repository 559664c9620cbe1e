/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookup tables: HashTable, which is set once, and tables that change
 * (MutableHashTable, ...OfTensors, MutableDenseHashTable), of the session or of
 * the run if it has none.
 *
 * A dense table is one in which two keys, said beforehand, stand for none;
 * otherwise it is like the others here, whatever its buckets.  An update
 * without memory for all of it leaves what it has put in by then.
 */
#include "ops/array/items.h"
#include "ops/ops.h"
#include "ops/state/lookup_store.h"
#include "ops/state/named.h"
#include "ops/state/restored.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { TABLE, KEYS, VALUES };

typedef enum kind { STATIC, MUTABLE, TENSORS, DENSE } kind;

/* What a node says of its table. */
typedef struct creation {
    kind kind;
    bool is_anonymous;
    eddy_dtype key, value;
    eddy_shape value_shape;
    const char *name; /* of the node's state, or behind the table */
} creation;

typedef struct table {
    eddy__resource base;
    eddy__mutex mu;
    eddy__lookup_store store; /* guarded by mu, as the next */
    bool is_set;              /* of a table that is set once */
    eddy_shape key_shape;     /* immutable, as the rest */
    creation made;
    eddy__value none[2]; /* of a dense table: the empty and the deleted key */
} table;

/* ---- the resource ---- */

static table *table_of(eddy__resource *resource)
{
    return (table *)(void *)resource;
}

static void clear_table(eddy__resource *resource, eddy__heap *heap)
{
    table *t = table_of(resource);

    eddy__lookup_store_clear(&t->store, heap);
    for (int i = 0; i < 2; i++) {
        eddy__value_clear(heap, &t->none[i]);
        t->none[i].kind = EDDY__NONE;
    }
}

static void deinit_table(eddy__resource *resource)
{
    eddy__mutex_destroy(&table_of(resource)->mu);
}

static const eddy__resource_saving table_saving;

const eddy__resource_type eddy__lookup_type = {.name = "a lookup table",
                                               .clear = clear_table,
                                               .deinit = deinit_table,
                                               .saving = &table_saving};

/* The table outlives the plan of the node that made it. */
static eddy__resource *make_table(const eddy_allocator *allocator,
                                  const void *arg)
{
    const creation *made = arg;
    const size_t length = strlen(made->name) + 1;
    eddy__resource *resource = eddy__resource_create_named(
        allocator, &eddy__lookup_type, sizeof(table) + length);
    table *t = table_of(resource);

    if (!resource || eddy__mutex_init(&t->mu, NULL) != EDDY_OK) {
        eddy__free(allocator, resource, 1, sizeof *t + length);
        return NULL;
    }
    t->store.allocator = allocator;
    t->made = *made;
    t->made.name = memcpy(t + 1, made->name, length);
    t->key_shape = eddy__shape_scalar();
    return resource;
}

static eddy_status fail_memory(eddy_kernel *k)
{
    return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                       "no memory for a lookup table");
}

/* The table of a node that makes one, as its output. */
static eddy_status find_made(eddy_kernel *k, table **out)
{
    const creation *c = eddy__state(k);
    eddy__resource *resource = NULL;

    if (c->is_anonymous) {
        resource = make_table(k->services->table(k)->allocator, c);
        if (!resource)
            return fail_memory(k);
    } else {
        EDDY_TRY(eddy__find_resource(k, &eddy__lookup_type, c->name, make_table,
                                     c, &resource));
    }
    eddy__out_resource(k, 0, resource);
    *out = table_of(resource);
    if ((*out)->made.key == c->key && (*out)->made.value == c->value)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                       "the table '%s' is from %s to %s elsewhere", c->name,
                       eddy_dtype_name((*out)->made.key),
                       eddy_dtype_name((*out)->made.value));
}

static eddy_status run_create(eddy_kernel *k)
{
    table *t;

    return find_made(k, &t);
}

/* ---- items ---- */

/* An item of its own with these elements. */
static eddy_status copy_item(eddy_kernel *k, eddy_dtype dtype,
                             const eddy_shape *shape,
                             const unsigned char *elements, eddy__value *out)
{
    const eddy__string *strings = (const void *)elements;
    eddy_tensor *tensor;
    eddy_status status = EDDY_OK;

    *out = (eddy__value){.kind = EDDY__SCALAR, .dtype = (uint8_t)dtype};
    if (shape->rank == 0 && eddy__dtype_is_inline(dtype)) {
        memcpy(&out->as, elements, eddy_dtype_size(dtype));
        return EDDY_OK;
    }
    EDDY_TRY(eddy__new_tensor(k, dtype, shape, &tensor));
    out->kind = EDDY__TENSOR;
    out->as.tensor = tensor;
    if (dtype != EDDY_STRING && tensor->bytes > 0)
        memcpy(tensor->data, elements, tensor->bytes);
    for (int64_t i = 0; dtype == EDDY_STRING && i < tensor->count; i++)
        if (strings[i].length > 0 && status == EDDY_OK &&
            !eddy__tensor_set_string(tensor, i, strings[i].data,
                                     strings[i].length))
            status = fail_memory(k);
    if (status != EDDY_OK)
        eddy__value_clear(k->heap, out);
    return status;
}

static int64_t count_of(const eddy_shape *shape)
{
    int64_t count = 1;

    for (int32_t d = 0; d < shape->rank; d++)
        count *= shape->dims[d];
    return count;
}

/* ---- what every kernel on a table checks ---- */

/* Keys of a node, and the shapes that follow from them. */
typedef struct request {
    table *table;
    int64_t n, width; /* keys, and elements of each */
    size_t key_bytes;
    const unsigned char *keys;
    eddy_shape batch, values; /* of keys without a key's own; of all values */
} request;

static eddy_status find_table(eddy_kernel *k, table **out)
{
    eddy__resource *resource;

    EDDY_TRY(eddy__in_resource(k, TABLE, &eddy__lookup_type, &resource));
    *out = table_of(resource);
    return EDDY_OK;
}

static eddy_status check_dtype(eddy_kernel *k, const char *what,
                               eddy_dtype wanted, eddy_dtype found)
{
    if (found == wanted)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                       "%s of the table are %s, not %s", what,
                       eddy_dtype_name(wanted), eddy_dtype_name(found));
}

/* Are the last dimensions of `of` those of `part`?  `*out_rest` is the rest. */
static bool ends_with(const eddy_shape *of, const eddy_shape *part,
                      eddy_shape *out_rest)
{
    const int32_t before = of->rank - part->rank;

    if (before < 0)
        return false;
    *out_rest = *of;
    out_rest->rank = before;
    for (int32_t d = 0; d < part->rank; d++)
        if (of->dims[before + d] != part->dims[d])
            return false;
    return true;
}

static eddy_status read_keys(eddy_kernel *k, request *r)
{
    const eddy_shape *of = eddy__in_shape(k, KEYS);
    const eddy_shape *item;

    EDDY_TRY(find_table(k, &r->table));
    item = &r->table->made.value_shape;
    EDDY_TRY(
        check_dtype(k, "keys", r->table->made.key, eddy__in_dtype(k, KEYS)));
    if (!ends_with(of, &r->table->key_shape, &r->batch))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the keys have shape %s, which does not end with "
                           "that of a key, %s",
                           eddy__shape_print(of).text,
                           eddy__shape_print(&r->table->key_shape).text);
    r->values = r->batch;
    if (r->batch.rank + item->rank > EDDY_MAX_RANK)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "values would have a rank above %d", EDDY_MAX_RANK);
    for (int32_t d = 0; d < item->rank; d++)
        r->values.dims[r->values.rank++] = item->dims[d];
    r->n = count_of(&r->batch);
    r->width = count_of(&r->table->key_shape);
    r->key_bytes = (size_t)r->width * eddy__element_size(r->table->made.key);
    r->keys = eddy__in_elements(k, KEYS);
    return EDDY_OK;
}

static eddy__lookup_key key_at(const request *r, int64_t i)
{
    return eddy__lookup_key_of(r->table->made.key, r->width,
                               r->keys + (size_t)i * r->key_bytes);
}

/* The two keys of a dense table that stand for none are no keys. */
static eddy_status check_none(eddy_kernel *k, const request *r)
{
    for (int64_t i = 0; r->table->made.kind == DENSE && i < r->n; i++) {
        const eddy__lookup_key key = key_at(r, i);

        for (int j = 0; j < 2; j++)
            if (eddy__lookup_key_equal(&key, &r->table->none[j]))
                return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                                   "key %" PRId64 " is the %s key of the table",
                                   i, j == 0 ? "empty" : "deleted");
    }
    return EDDY_OK;
}

static eddy_status check_values(eddy_kernel *k, const request *r)
{
    EDDY_TRY(check_dtype(k, "values", r->table->made.value,
                         eddy__in_dtype(k, VALUES)));
    if (eddy__shape_equal(&r->values, eddy__in_shape(k, VALUES)))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "the values must have shape %s, not %s",
                       eddy__shape_print(&r->values).text,
                       eddy__shape_print(eddy__in_shape(k, VALUES)).text);
}

/* ---- MutableDenseHashTable ---- */

static eddy_status check_nones(eddy_kernel *k)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    eddy__lookup_key empty;

    if (of->rank > 1 || !eddy__shape_equal(of, eddy__in_shape(k, 1)))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the empty key has shape %s and the deleted one %s; "
                           "both must be scalars or vectors of one length",
                           eddy__shape_print(of).text,
                           eddy__shape_print(eddy__in_shape(k, 1)).text);
    empty = eddy__lookup_key_of(dtype, count_of(of), eddy__in_elements(k, 0));
    if (!eddy__lookup_key_equal(&empty, eddy__in(k, 1)))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                       "the empty and the deleted key must not be the same");
}

/* Gives them to a table that has none yet, and takes them over then. */
static void give_nones(table *t, eddy__value none[2], const eddy_shape *shape)
{
    eddy__mutex_lock(&t->mu);
    if (t->none[0].kind == EDDY__NONE) {
        memcpy(t->none, none, sizeof t->none);
        t->key_shape = *shape;
        none[0].kind = EDDY__NONE;
        none[1].kind = EDDY__NONE;
    }
    eddy__mutex_unlock(&t->mu);
}

static eddy_status run_create_dense(eddy_kernel *k)
{
    const eddy_shape shape = *eddy__in_shape(k, 0);
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    eddy__value none[2] = {{.kind = EDDY__NONE}, {.kind = EDDY__NONE}};
    table *t = NULL;
    eddy_status status;

    EDDY_TRY(check_nones(k));
    status = copy_item(k, dtype, &shape, eddy__in_elements(k, 0), &none[0]);
    if (status == EDDY_OK)
        status = copy_item(k, dtype, &shape, eddy__in_elements(k, 1), &none[1]);
    if (status == EDDY_OK)
        status = find_made(k, &t);
    if (status == EDDY_OK && t)
        give_nones(t, none, &shape);
    eddy__value_clear(NULL, &none[0]);
    eddy__value_clear(NULL, &none[1]);
    return status;
}

/* ---- putting in and taking out ---- */

static eddy_status add_pair(eddy_kernel *k, const request *r,
                            const eddy__lookup_key *key,
                            const eddy__value *value)
{
    table *t = r->table;
    eddy__value item;

    EDDY_TRY(copy_item(k, t->made.key, &t->key_shape, key->elements, &item));
    if (eddy__lookup_store_add(&t->store, key->hash, &item, value))
        return EDDY_OK;
    eddy__value_clear(NULL, &item);
    return fail_memory(k);
}

/* Requires: the table is locked. */
static eddy_status put_pair(eddy_kernel *k, const request *r, int64_t i)
{
    table *t = r->table;
    const size_t bytes = (size_t)count_of(&t->made.value_shape) *
                         eddy__element_size(t->made.value);
    const eddy__lookup_key key = key_at(r, i);
    eddy__lookup_pair *pair = eddy__lookup_store_find(&t->store, &key);
    eddy_status status = EDDY_OK;
    eddy__value value;

    EDDY_TRY(copy_item(k, t->made.value, &t->made.value_shape,
                       eddy__in_elements(k, VALUES) + (size_t)i * bytes,
                       &value));
    if (pair) {
        eddy__value_clear(NULL, &pair->value);
        pair->value = value;
    } else {
        status = add_pair(k, r, &key, &value);
        if (status != EDDY_OK)
            eddy__value_clear(NULL, &value);
    }
    return status;
}

static eddy_status put_pairs(eddy_kernel *k, const request *r)
{
    eddy_status status = EDDY_OK;

    for (int64_t i = 0; i < r->n && status == EDDY_OK; i++)
        status = put_pair(k, r, i);
    return status;
}

static eddy_status refuse_change(eddy_kernel *k, const table *t)
{
    if (t->made.kind != STATIC)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_UNIMPLEMENTED, EDDY_E_VALUE,
                       "a HashTable is set once; nothing goes in or out then");
}

static eddy_status run_insert(eddy_kernel *k)
{
    eddy_status status;
    request r = {.n = 0};

    EDDY_TRY(read_keys(k, &r));
    EDDY_TRY(check_values(k, &r));
    EDDY_TRY(refuse_change(k, r.table));
    EDDY_TRY(check_none(k, &r));
    eddy__mutex_lock(&r.table->mu);
    status = put_pairs(k, &r);
    eddy__mutex_unlock(&r.table->mu);
    return status;
}

static eddy_status run_remove(eddy_kernel *k)
{
    request r = {.n = 0};

    EDDY_TRY(read_keys(k, &r));
    EDDY_TRY(refuse_change(k, r.table));
    EDDY_TRY(check_none(k, &r));
    eddy__mutex_lock(&r.table->mu);
    for (int64_t i = 0; i < r.n; i++) {
        const eddy__lookup_key key = key_at(&r, i);
        eddy__lookup_pair *pair =
            eddy__lookup_store_find(&r.table->store, &key);

        if (pair)
            eddy__lookup_store_remove(&r.table->store, pair);
    }
    eddy__mutex_unlock(&r.table->mu);
    return EDDY_OK;
}

/* One that is set again must have as many pairs; then nothing happens. */
static eddy_status set_once(eddy_kernel *k, const request *r)
{
    table *t = r->table;

    if (t->is_set && (size_t)r->n == t->store.count)
        return EDDY_OK;
    if (t->is_set)
        return eddy__kfail(k, EDDY_FAILED_PRECONDITION, EDDY_E_VALUE,
                           "the table was set to other pairs before");
    for (int64_t i = 0; i < r->n; i++) {
        const eddy__lookup_key key = key_at(r, i);
        const eddy__lookup_pair *pair =
            eddy__lookup_store_find(&t->store, &key);
        const int64_t one = (int64_t)eddy__element_size(t->made.value);
        const eddy__lookup_key value = eddy__lookup_key_of(
            t->made.value, 1, eddy__in_elements(k, VALUES) + i * one);

        if (pair && !eddy__lookup_key_equal(&value, &pair->value))
            return eddy__kfail(k, EDDY_FAILED_PRECONDITION, EDDY_E_VALUE,
                               "key %" PRId64 " was there with another value",
                               i);
        if (!pair)
            EDDY_TRY(put_pair(k, r, i));
    }
    t->is_set = true;
    return EDDY_OK;
}

static eddy_status run_initialize(eddy_kernel *k)
{
    eddy_status status;
    request r = {.n = 0};

    EDDY_TRY(read_keys(k, &r));
    EDDY_TRY(check_values(k, &r));
    if (r.table->made.kind != STATIC)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RESOURCE,
                           "only a HashTable is set once");
    if (eddy__in_shape(k, KEYS)->rank != 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the keys must be a vector, but have shape %s",
                           eddy__shape_print(eddy__in_shape(k, KEYS)).text);
    if (r.n == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "a table must be set to one pair or more");
    eddy__mutex_lock(&r.table->mu);
    status = set_once(k, &r);
    eddy__mutex_unlock(&r.table->mu);
    return status;
}

static eddy_status run_import(eddy_kernel *k)
{
    eddy_status status;
    request r = {.n = 0};

    EDDY_TRY(read_keys(k, &r));
    EDDY_TRY(check_values(k, &r));
    EDDY_TRY(check_none(k, &r));
    eddy__mutex_lock(&r.table->mu);
    if (r.table->made.kind == STATIC) {
        status = set_once(k, &r);
    } else {
        eddy__lookup_store_clear(&r.table->store, NULL);
        status = put_pairs(k, &r);
    }
    eddy__mutex_unlock(&r.table->mu);
    return status;
}

/* ---- finding ---- */

/*
 * Moves values out, those of missing keys from the default, of which there is
 * one for all or one a key.  Requires: the table is locked.
 */
static void move_values(eddy_kernel *k, const request *r, unsigned char *to,
                        size_t bytes)
{
    const bool is_one = eddy__shape_equal(eddy__in_shape(k, VALUES),
                                          &r->table->made.value_shape);
    const unsigned char *missing = eddy__in_elements(k, VALUES);

    for (int64_t i = 0; i < r->n; i++) {
        const eddy__lookup_key key = key_at(r, i);
        const eddy__lookup_pair *pair =
            eddy__lookup_store_find(&r->table->store, &key);

        memcpy(to + (size_t)i * bytes,
               pair ? eddy__value_elements(&pair->value)
                    : missing + (is_one ? 0 : (size_t)i * bytes),
               bytes);
    }
}

static eddy_status check_find(eddy_kernel *k, const request *r)
{
    const table *t = r->table;
    const eddy_shape *missing = eddy__in_shape(k, VALUES);

    EDDY_TRY(
        check_dtype(k, "values", t->made.value, eddy__in_dtype(k, VALUES)));
    EDDY_TRY(check_none(k, r));
    if (eddy__shape_equal(missing, &t->made.value_shape) ||
        eddy__shape_equal(missing, &r->values))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "the default must have shape %s or %s, not %s",
                       eddy__shape_print(&t->made.value_shape).text,
                       eddy__shape_print(&r->values).text,
                       eddy__shape_print(missing).text);
}

static eddy_status run_find(eddy_kernel *k)
{
    eddy_status status = EDDY_OK;
    unsigned char *out;
    request r = {.n = 0};
    size_t bytes;

    EDDY_TRY(read_keys(k, &r));
    EDDY_TRY(check_find(k, &r));
    EDDY_TRY(eddy__output_elements(k, 0, r.table->made.value, &r.values, &out));
    bytes = (size_t)count_of(&r.table->made.value_shape) *
            eddy__element_size(r.table->made.value);
    eddy__mutex_lock(&r.table->mu);
    if (r.table->made.kind == STATIC && !r.table->is_set)
        eddy__zero_bytes(NULL, out, (size_t)r.n * bytes);
    else
        move_values(k, &r, out, bytes);
    /* Strings are copied as long as nobody changes the table. */
    status = eddy__elements_done(k, 0);
    if (status == EDDY_OK && r.table->made.kind == STATIC && !r.table->is_set)
        status = eddy__kfail(k, EDDY_FAILED_PRECONDITION, EDDY_E_UNINITIALIZED,
                             "the table is not set");
    eddy__mutex_unlock(&r.table->mu);
    return status;
}

static eddy_status run_size(eddy_kernel *k)
{
    size_t count;
    table *t;

    EDDY_TRY(find_table(k, &t));
    eddy__mutex_lock(&t->mu);
    count = t->store.count;
    eddy__mutex_unlock(&t->mu);
    eddy__out_scalar(eddy__out(k, 0), EDDY_INT64, count);
    return EDDY_OK;
}

/* All keys, or all values, as rows of output `i`. */
static eddy_status put_rows(eddy_kernel *k, const table *t, uint32_t i)
{
    const eddy_dtype dtype = i == 0 ? t->made.key : t->made.value;
    const eddy_shape *item = i == 0 ? &t->key_shape : &t->made.value_shape;
    unsigned char *out;
    eddy_shape shape;

    EDDY_TRY(eddy__prepend_dim(k, (int64_t)t->store.count, item, &shape));
    EDDY_TRY(eddy__output_elements(k, i, dtype, &shape, &out));
    for (size_t j = 0; j < t->store.count; j++)
        out += eddy__put_item(
            out, i == 0 ? &t->store.pairs[j].key : &t->store.pairs[j].value, 0);
    return eddy__elements_done(k, i);
}

static eddy_status run_export(eddy_kernel *k)
{
    eddy_status status = EDDY_OK;
    table *t;

    EDDY_TRY(find_table(k, &t));
    EDDY_TRY(check_dtype(k, "keys", t->made.key,
                         (eddy_dtype)k->node->out_dtypes[0]));
    EDDY_TRY(check_dtype(k, "values", t->made.value,
                         (eddy_dtype)k->node->out_dtypes[1]));
    eddy__mutex_lock(&t->mu);
    if (t->made.kind == STATIC && !t->is_set)
        status = eddy__kfail(k, EDDY_ABORTED, EDDY_E_UNINITIALIZED,
                             "the table is not set");
    for (uint32_t i = 0; i < 2 && status == EDDY_OK; i++)
        status = put_rows(k, t, i);
    eddy__mutex_unlock(&t->mu);
    return status;
}

/* ---- checkpoints ---- */

static void texts_of(const eddy__resource *resource, const char *texts[2])
{
    texts[0] = ((const table *)(const void *)resource)->made.name;
    texts[1] = "";
}

/* Its pairs in their order, in which they are exported. */
static void save(eddy__resource *resource, eddy__saver *saver)
{
    table *t = table_of(resource);

    eddy__mutex_lock(&t->mu);
    eddy__saver_number(saver, t->is_set);
    eddy__saver_number(saver, t->store.count);
    for (size_t i = 0; i < t->store.count && saver->status == EDDY_OK; i++) {
        eddy__saver_value(saver, &t->store.pairs[i].key);
        eddy__saver_value(saver, &t->store.pairs[i].value);
    }
    eddy__mutex_unlock(&t->mu);
}

/* Is it a key that the table may have, and has not? */
static bool is_new_key(const table *t, const eddy__lookup_key *key)
{
    for (int i = 0; t->made.kind == DENSE && i < 2; i++)
        if (eddy__lookup_key_equal(key, &t->none[i]))
            return false;
    return !eddy__lookup_store_find(&t->store, key);
}

static eddy_status restore_pair(table *t, eddy__restorer *from)
{
    eddy__value pair[2] = {{.kind = EDDY__NONE}, {.kind = EDDY__NONE}};
    eddy__lookup_key key;
    eddy_status status =
        eddy__restorer_item(from, t->made.key, &t->key_shape, false, &pair[0]);

    if (status == EDDY_OK)
        status = eddy__restorer_item(from, t->made.value, &t->made.value_shape,
                                     false, &pair[1]);
    if (status == EDDY_OK) {
        key = eddy__lookup_key_of(t->made.key, count_of(&t->key_shape),
                                  eddy__value_elements(&pair[0]));
        if (!is_new_key(t, &key))
            status = eddy__restorer_fail(from, "a key of a lookup table");
        else if (eddy__lookup_store_add(&t->store, key.hash, &pair[0],
                                        &pair[1]))
            return EDDY_OK;
        else
            status = fail_memory(from->k);
    }
    for (int i = 0; i < 2; i++)
        eddy__value_clear(NULL, &pair[i]);
    return status;
}

static eddy_status restore_pairs(table *t, eddy__restorer *from)
{
    uint64_t n;

    EDDY_TRY(eddy__restorer_bool(from, "whether a table is set", &t->is_set));
    EDDY_TRY(eddy__restorer_count(from, "the pairs of a lookup table", &n));
    for (uint64_t i = 0; i < n; i++)
        EDDY_TRY(restore_pair(t, from));
    return EDDY_OK;
}

static eddy_status restore(eddy__resource *resource, const char *const *texts,
                           eddy__restorer *from)
{
    table *t = table_of(resource);
    eddy_status status;

    assert(!texts); /* it is found by its name */
    eddy__mutex_lock(&t->mu);
    eddy__lookup_store_clear(&t->store, NULL);
    status = restore_pairs(t, from);
    eddy__mutex_unlock(&t->mu);
    return status;
}

static const eddy__resource_saving table_saving = {0, texts_of, save, restore};

/* ---- preparation ---- */

static eddy_status prepare_kind(eddy_infer *infer, kind of, bool is_anonymous)
{
    creation *c = eddy__prepare_state(infer, sizeof *c);
    eddy_attr shape;

    if (!c)
        return EDDY_RESOURCE_EXHAUSTED;
    c->kind = of;
    c->is_anonymous = is_anonymous;
    c->key = eddy__infer_type(infer, "key_dtype");
    c->value = eddy__infer_type(infer, "value_dtype");
    c->value_shape = eddy__shape_scalar();
    if (eddy_infer_attr(infer, "value_shape", &shape))
        c->value_shape = shape.as.shapes[0];
    if (!eddy__dtype_in(c->key, EDDY__MOVABLE) ||
        !eddy__dtype_in(c->value, EDDY__MOVABLE))
        return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL,
                               "there are no tables from %s to %s",
                               eddy_dtype_name(c->key),
                               eddy_dtype_name(c->value));
    if (!eddy__shape_is_known(&c->value_shape) || c->value_shape.rank > 1 ||
        (of == TENSORS && c->value_shape.rank == 0))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "values must be vectors, or scalars elsewhere, "
                               "but have shape %s",
                               eddy__shape_print(&c->value_shape).text);
    EDDY_TRY(eddy__prepare_shared_name(infer, &c->name));
    infer->state = c;
    return EDDY_OK;
}

static eddy_status prepare_static(eddy_infer *infer)
{
    return prepare_kind(infer, STATIC, false);
}

static eddy_status prepare_mutable(eddy_infer *infer)
{
    return prepare_kind(infer, MUTABLE, false);
}

static eddy_status prepare_tensors(eddy_infer *infer)
{
    return prepare_kind(infer, TENSORS, false);
}

static eddy_status prepare_tensors_anonymous(eddy_infer *infer)
{
    return prepare_kind(infer, TENSORS, true);
}

static eddy_status prepare_static_anonymous(eddy_infer *infer)
{
    return prepare_kind(infer, STATIC, true);
}

static eddy_status prepare_mutable_anonymous(eddy_infer *infer)
{
    return prepare_kind(infer, MUTABLE, true);
}

/* The attributes about buckets are checked, and otherwise ignored. */
static eddy_status check_buckets(eddy_infer *infer)
{
    const int64_t n = eddy__infer_int(infer, "initial_num_buckets");
    eddy_attr load;

    if (n < 4 || (n & (n - 1)) != 0)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "initial_num_buckets is %" PRId64
                               ", but must be a power of 2 from 4 on",
                               n);
    if (eddy_infer_attr(infer, "max_load_factor", &load) &&
        !(load.as.floats[0] > 0 && load.as.floats[0] < 1))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "max_load_factor must be between 0 and 1");
    return EDDY_OK;
}

static eddy_status prepare_dense(eddy_infer *infer)
{
    EDDY_TRY(check_buckets(infer));
    return prepare_kind(infer, DENSE, false);
}

static eddy_status prepare_dense_anonymous(eddy_infer *infer)
{
    EDDY_TRY(check_buckets(infer));
    return prepare_kind(infer, DENSE, true);
}

/* ---- rows ---- */

#define DTYPES "key_dtype: type, value_dtype: type"
#define SHARED                                                                 \
    "container: string = '', shared_name: string = '', "                       \
    "use_node_name_sharing: bool = false, " DTYPES
#define SHAPED ", value_shape: shape = []"
#define BUCKETS                                                                \
    SHAPED ", initial_num_buckets: int = 131072, max_load_factor: float = 0.8"
#define NONES "empty_key: key_dtype, deleted_key: key_dtype"
#define FLAGS EDDY_OP_STATEFUL | EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE
#define PAIRS "Tin: type, Tout: type"

#define MAKER(op, in, handle, attributes, run, ready, text)                    \
    EDDY__OP_ROW(op, .inputs = in, .outputs = "table_handle: " handle,         \
                 .attrs = attributes, .infer = eddy__infer_scalar,             \
                 .kernel = run, .prepare = ready, .flags = FLAGS, .doc = text)

#define MAKERS(handle, v)                                                      \
    MAKER("HashTable" v, NULL, handle, SHARED, run_create, prepare_static,     \
          "A lookup table that is set once."),                                 \
        MAKER("MutableHashTable" v, NULL, handle, SHARED, run_create,          \
              prepare_mutable, "A lookup table that changes."),                \
        MAKER("MutableHashTableOfTensors" v, NULL, handle, SHARED SHAPED,      \
              run_create, prepare_tensors,                                     \
              "A lookup table that changes, of vectors."),                     \
        MAKER("MutableDenseHashTable" v, NONES, handle, SHARED BUCKETS,        \
              run_create_dense, prepare_dense,                                 \
              "A lookup table that changes, without two of the keys.")

#define EFFECT(op, in, attributes, run, text)                                  \
    EDDY__OP_ROW(op, .inputs = in, .attrs = attributes, .kernel = run,         \
                 .flags = FLAGS, .doc = text)

#define USERS(handle, v)                                                       \
    EFFECT("InitializeTable" v,                                                \
           "table_handle: " handle ", keys: Tkey, values: Tval",               \
           "Tkey: type, Tval: type", run_initialize,                           \
           "Sets a table that is set once."),                                  \
        EFFECT("LookupTableInsert" v,                                          \
               "table_handle: " handle ", keys: Tin, values: Tout", PAIRS,     \
               run_insert, "Puts pairs into a table, or other values."),       \
        EFFECT("LookupTableImport" v,                                          \
               "table_handle: " handle ", keys: Tin, values: Tout", PAIRS,     \
               run_import, "Puts pairs in place of all that there are."),      \
        EDDY__OP_ROW("LookupTableFind" v,                                      \
                     .inputs = "table_handle: " handle                         \
                               ", keys: Tin, default_value: Tout",             \
                     .outputs = "values: Tout", .attrs = PAIRS,                \
                     .kernel = run_find, .flags = FLAGS,                       \
                     .doc = "The values of keys; of those that are not there " \
                            "the default."),                                   \
        EDDY__OP_ROW("LookupTableSize" v, .inputs = "table_handle: " handle,   \
                     .outputs = "size: int64", .infer = eddy__infer_scalar,    \
                     .kernel = run_size, .flags = FLAGS,                       \
                     .doc = "How many keys a table has."),                     \
        EDDY__OP_ROW("LookupTableExport" v, .inputs = "table_handle: " handle, \
                     .outputs = "keys: Tkeys, values: Tvalues",                \
                     .attrs = "Tkeys: type, Tvalues: type",                    \
                     .kernel = run_export, .flags = FLAGS,                     \
                     .doc = "All keys of a table, and their values.")

static const eddy_op_spec specs[] = {
    MAKERS("resource", "V2"),
    MAKERS("ref string", ""),
    USERS("resource", "V2"),
    USERS("ref string", ""),
    MAKER("AnonymousHashTable", NULL, "resource", DTYPES, run_create,
          prepare_static_anonymous, "A new lookup table that is set once."),
    MAKER("AnonymousMutableHashTable", NULL, "resource", DTYPES, run_create,
          prepare_mutable_anonymous, "A new lookup table that changes."),
    MAKER("AnonymousMutableHashTableOfTensors", NULL, "resource", DTYPES SHAPED,
          run_create, prepare_tensors_anonymous,
          "A new lookup table that changes, of vectors."),
    MAKER("AnonymousMutableDenseHashTable", NONES, "resource", DTYPES BUCKETS,
          run_create_dense, prepare_dense_anonymous,
          "A new lookup table that changes, without two of the keys."),
    EFFECT("LookupTableRemoveV2", "table_handle: resource, keys: Tin",
           "Tin: type", run_remove, "Takes keys out of a table."),
};

const eddy__op_table eddy__lookup_ops = {specs, NULL,
                                         sizeof specs / sizeof *specs};
