/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values to bytes and back.  A value is an item: a header, the dims of a
 * tensor, and then elements or, of what holds values, those as items in turn.
 * Both directions go down into such a holder by a stack of their own.
 */
#include "runtime/net/packet.h"

#include "core/base/memory.h"
#include "core/base/status.h"
#include "core/value/dtype.h"
#include "core/value/list.h"
#include "core/value/shape.h"

#include <string.h>

enum { DEAD, SCALAR, NUMBERS, STRINGS, HELD, LIST, MAP, RAGGED, N_KINDS };

/* `count` items follow each from HELD on; `rank` below 0: unknown. */
typedef struct item {
    uint8_t kind, dtype;
    uint16_t unused;
    int32_t rank;
    int64_t count;
    int64_t max_count; /* of a list; of a scalar its bits */
} item;

/* Lists within lists: the place reached in each. */
#define MOST_LEVELS 32

typedef struct level {
    eddy__value *items;
    int64_t count, at;
    bool is_map; /* keys and values by turns */
} level;

/* ---- bytes ---- */

bool eddy__bytes_reserve(eddy__bytes *bytes, size_t n)
{
    size_t needed;

    return eddy__add_size(bytes->n, n, &needed) &&
           eddy__grow(bytes->allocator, (void **)&bytes->data, &bytes->capacity,
                      needed, 1);
}

void eddy__bytes_deinit(eddy__bytes *bytes)
{
    eddy__free(bytes->allocator, bytes->data, bytes->capacity, 1);
    *bytes = (eddy__bytes){.allocator = bytes->allocator};
}

static bool append(eddy__bytes *to, const void *data, size_t n)
{
    if (!eddy__bytes_reserve(to, n))
        return false;
    if (n > 0)
        memcpy(to->data + to->n, data, n);
    to->n += n;
    return true;
}

/* ---- to bytes ---- */

static bool append_item(eddy__bytes *to, item it, const eddy_shape *shape)
{
    it.rank = shape ? shape->rank : 0;
    return append(to, &it, sizeof it) &&
           (it.rank <= 0 ||
            append(to, shape->dims, (size_t)it.rank * sizeof *shape->dims));
}

static bool append_strings(eddy__bytes *to, const eddy_tensor *t)
{
    const eddy__string *strings = t->data;

    for (int64_t i = 0; i < t->count; i++) {
        const uint64_t length = strings[i].length;

        if (!append(to, &length, sizeof length) ||
            !append(to, strings[i].data, strings[i].length))
            return false;
    }
    return true;
}

/* A tensor, or its head if it holds values, to which `down` then leads. */
static bool append_tensor(eddy__bytes *to, const eddy_tensor *t, level *down)
{
    item it = {.kind = NUMBERS, .dtype = t->dtype, .count = t->count};

    if (t->dtype == EDDY_VARIANT) {
        it.kind = HELD;
        *down = (level){.items = t->data, .count = t->count};
        return append_item(to, it, &t->shape);
    }
    if (t->dtype == EDDY_STRING) {
        it.kind = STRINGS;
        return append_item(to, it, &t->shape) && append_strings(to, t);
    }
    return append_item(to, it, &t->shape) && append(to, t->data, t->bytes);
}

/*
 * The head of a list or a map, to whose items `down` then leads.  The chains of
 * a map (ops/list/tensor_map.h) stay here: it arrives without.
 */
static bool append_list(eddy__bytes *to, eddy__list *list, level *down)
{
    item it = {.kind = LIST, .dtype = list->dtype, .count = list->count};

    it.max_count = list->max_count;
    if (list->dtype == EDDY__MAP) {
        it.kind = MAP;
        it.dtype = EDDY_INVALID;
        it.max_count = INT64_MAX;
    } else if (list->dtype == EDDY__RAGGED) {
        it.kind = RAGGED;
        it.dtype = EDDY_INVALID;
    }
    *down = (level){.items = list->items, .count = list->count};
    return append_item(to, it, &list->shape);
}

static bool is_list(const eddy__value *v)
{
    return v->kind == EDDY__LIST || v->kind == EDDY__LENT_LIST;
}

static eddy_status append_value(eddy__bytes *to, const eddy__value *v,
                                level *down, eddy_error *err)
{
    item it = {.kind = DEAD, .dtype = v->dtype};
    bool ok;

    if (eddy__value_is_tensor(v) && v->dtype != EDDY_RESOURCE) {
        ok = append_tensor(to, v->as.tensor, down);
    } else if (is_list(v) && v->as.list->dtype != EDDY__LOCK) {
        ok = append_list(to, v->as.list, down);
    } else if (v->kind == EDDY__SCALAR) {
        it.kind = SCALAR;
        memcpy(&it.max_count, &v->as, sizeof it.max_count);
        ok = append_item(to, it, NULL);
    } else if (v->kind == EDDY__NONE) {
        ok = append_item(to, it, NULL);
    } else {
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                          "a handle can't leave its process");
    }
    return ok ? EDDY_OK : eddy__fail_memory(err);
}

static eddy_status append_all(eddy__bytes *to, const eddy__value *value,
                              eddy_error *err)
{
    level levels[MOST_LEVELS];
    size_t n = 0;

    for (const eddy__value *v = value; v;) {
        level down = {.items = NULL};

        EDDY_TRY(append_value(to, v, &down, err));
        if (down.count > 0 && n == MOST_LEVELS)
            return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_TOO_DEEP,
                              "lists nested more than %d deep can't leave "
                              "their process",
                              MOST_LEVELS);
        if (down.count > 0)
            levels[n++] = down;
        while (n > 0 && levels[n - 1].at == levels[n - 1].count)
            n--;
        v = n > 0 ? &levels[n - 1].items[levels[n - 1].at++] : NULL;
    }
    return EDDY_OK;
}

eddy_status eddy__packet_append(eddy__bytes *to, eddy__packet packet,
                                const eddy__value *value, eddy_error *err)
{
    const size_t start = to->n;
    eddy_status status = EDDY_OK;

    if (!append(to, &packet, sizeof packet))
        return eddy__fail_memory(err);
    status = append_all(to, value, err);
    if (status != EDDY_OK) {
        to->n = start;
        return status;
    }
    packet.bytes = to->n - start - sizeof packet;
    memcpy(to->data + start, &packet, sizeof packet);
    return EDDY_OK;
}

/* ---- from bytes ---- */

typedef struct reader {
    const uint8_t *at;
    size_t left;
    eddy__account *account;
    const eddy_allocator *allocator;
    eddy_error *err;
} reader;

static eddy_status refuse(const reader *r)
{
    return eddy__fail(r->err, EDDY_DATA_LOSS, EDDY_E_MALFORMED,
                      "a message that is none has come from another rank");
}

static eddy_status no_room(const reader *r)
{
    if (r->account && r->account->limit > 0)
        return eddy__fail(r->err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_BYTES,
                          "a message of another rank would take more than the "
                          "%lld bytes that the run may hold",
                          (long long)r->account->limit);
    return eddy__fail_memory(r->err);
}

static bool take(reader *r, void *to, size_t n)
{
    if (n > r->left)
        return false;
    if (n > 0)
        memcpy(to, r->at, n);
    r->at += n;
    r->left -= n;
    return true;
}

static bool is_open(const item *it)
{
    return it->kind >= LIST;
}

/* The item's shape, in which only a list may leave things open. */
static bool take_shape(reader *r, const item *it, eddy_shape *shape)
{
    memset(shape, 0, sizeof *shape);
    if (it->rank > EDDY_MAX_RANK || it->rank < (is_open(it) ? -1 : 0))
        return false;
    shape->rank = it->rank;
    if (it->rank > 0 &&
        !take(r, shape->dims, (size_t)it->rank * sizeof *shape->dims))
        return false;
    for (int i = 0; i < it->rank; i++)
        if (shape->dims[i] < (is_open(it) ? -1 : 0))
            return false;
    return true;
}

static eddy_status read_strings(reader *r, eddy_tensor *t)
{
    for (int64_t i = 0; i < t->count; i++) {
        uint64_t length;

        if (!take(r, &length, sizeof length) || length > r->left)
            return refuse(r);
        if (!eddy__tensor_set_string(t, i, (const char *)r->at, (size_t)length))
            return no_room(r);
        r->at += length;
        r->left -= (size_t)length;
    }
    return EDDY_OK;
}

/* Has the item as many elements as its shape, which the bytes may hold? */
static bool is_plausible(const reader *r, const item *it,
                         const eddy_shape *shape)
{
    const eddy_dtype dtype = (eddy_dtype)it->dtype;
    size_t each = eddy_dtype_size(dtype), bytes;
    int64_t count = 1;

    if (it->kind == STRINGS || it->kind == HELD)
        each = it->kind == STRINGS ? sizeof(uint64_t) : sizeof(item);
    if ((it->kind == STRINGS) != (dtype == EDDY_STRING) ||
        (it->kind == HELD) != (dtype == EDDY_VARIANT) || each == 0 ||
        (it->rank == 0 && eddy__dtype_is_inline(dtype)))
        return false;
    for (int i = 0; i < shape->rank; i++)
        if (__builtin_mul_overflow(count, shape->dims[i], &count))
            return false;
    return count == it->count && eddy__mul_size((size_t)count, each, &bytes) &&
           bytes <= r->left;
}

static eddy_status read_tensor(reader *r, const item *it, eddy__value *out,
                               level *down)
{
    const eddy_dtype dtype = (eddy_dtype)it->dtype;
    eddy_shape shape;
    eddy_tensor *t;

    if (!take_shape(r, it, &shape) || !is_plausible(r, it, &shape))
        return refuse(r);
    t = eddy__tensor_create(NULL, r->account, r->allocator, dtype, &shape);
    if (!t)
        return no_room(r);
    *out = (eddy__value){.kind = EDDY__TENSOR, .dtype = it->dtype, .uses = 1};
    out->as.tensor = t;
    if (it->kind == STRINGS)
        return read_strings(r, t);
    if (it->kind == HELD)
        *down = (level){.items = t->data, .count = t->count};
    else if (!take(r, t->data, t->bytes))
        return refuse(r);
    return EDDY_OK;
}

static eddy_dtype list_dtype(const item *it)
{
    return it->kind == MAP      ? EDDY__MAP
           : it->kind == RAGGED ? EDDY__RAGGED
                                : (eddy_dtype)it->dtype;
}

static eddy_status read_list(reader *r, const item *it, eddy__value *out,
                             level *down)
{
    const bool is_map = it->kind == MAP;
    eddy_shape shape;
    eddy__list *list;

    if (!take_shape(r, it, &shape) || it->count < 0 ||
        it->max_count < it->count ||
        (is_map && (it->count % 2 != 0 || it->max_count != INT64_MAX)) ||
        (it->kind == RAGGED && it->count == 0) ||
        (uint64_t)it->count > r->left / sizeof(item))
        return refuse(r);
    list = eddy__list_create(NULL, r->account, r->allocator, list_dtype(it),
                             &shape, it->count);
    if (!list)
        return no_room(r);
    list->max_count = it->max_count;
    *out = (eddy__value){.kind = EDDY__LIST, .dtype = EDDY_VARIANT, .uses = 1};
    out->as.list = list;
    *down =
        (level){.items = list->items, .count = list->count, .is_map = is_map};
    return EDDY_OK;
}

static eddy_status read_value(reader *r, eddy__value *out, level *down)
{
    item it;

    if (!take(r, &it, sizeof it) || it.kind >= N_KINDS ||
        it.dtype >= EDDY_DTYPE_COUNT)
        return refuse(r);
    if (is_open(&it))
        return read_list(r, &it, out, down);
    if (it.kind != DEAD && it.kind != SCALAR)
        return read_tensor(r, &it, out, down);
    if (it.kind == DEAD)
        return EDDY_OK;
    if (!eddy__dtype_is_inline((eddy_dtype)it.dtype))
        return refuse(r);
    *out = (eddy__value){.kind = EDDY__SCALAR, .dtype = it.dtype};
    memcpy(&out->as, &it.max_count, sizeof it.max_count);
    return EDDY_OK;
}

/* What keys are compared by must be there: their elements. */
static bool can_be_key(const eddy__value *v)
{
    return (v->kind == EDDY__SCALAR || v->kind == EDDY__TENSOR) &&
           v->dtype != EDDY_VARIANT && v->dtype != EDDY_RESOURCE;
}

static eddy_status read_all(reader *r, eddy__value *out)
{
    level levels[MOST_LEVELS];
    size_t n = 0;

    for (eddy__value *v = out; v;) {
        const bool is_key =
            n > 0 && levels[n - 1].is_map && levels[n - 1].at % 2 == 1;
        level down = {.items = NULL};

        EDDY_TRY(read_value(r, v, &down));
        if ((down.count > 0 && n == MOST_LEVELS) || (is_key && !can_be_key(v)))
            return refuse(r);
        if (down.count > 0)
            levels[n++] = down;
        while (n > 0 && levels[n - 1].at == levels[n - 1].count)
            n--;
        v = n > 0 ? &levels[n - 1].items[levels[n - 1].at++] : NULL;
    }
    return r->left == 0 ? EDDY_OK : refuse(r);
}

eddy_status eddy__packet_read(const uint8_t *data, size_t size,
                              eddy__account *account,
                              const eddy_allocator *allocator, eddy__value *out,
                              eddy_error *err)
{
    reader r = {data, size, account, allocator, err};
    eddy_status status;

    *out = (eddy__value){.kind = EDDY__NONE};
    status = read_all(&r, out);
    if (status != EDDY_OK)
        eddy__value_clear(NULL, out);
    return status;
}
