/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list is one block, so growing one moves it; only its sole owner does that.
 * How many items fit is what the block's size says, with the slack that the
 * heap's size classes leave.
 */
#include "core/value/list.h"

#include "core/base/memory.h"
#include "core/value/dtype.h"

#include <assert.h>
#include <string.h>

/* The least that appending makes room for. */
#define MIN_CAPACITY 8

/* A header of two cache lines, behind which four items share a line. */
_Static_assert(sizeof(eddy__list) == (size_t)2 * EDDY__CACHE_LINE,
               "items start on a cache line");

/* ---- blocks ---- */

/* How many items fit. */
static inline int64_t capacity_of(const eddy__list *list)
{
    return (int64_t)((list->block_size - sizeof *list) / sizeof *list->items);
}

/* A list without items, dtype or shape. */
static eddy__list *allocate(eddy__heap *heap, eddy__account *account,
                            const eddy_allocator *allocator, int64_t capacity)
{
    eddy__list *list;
    size_t size;

    if (!eddy__mul_size((size_t)capacity, sizeof *list->items, &size) ||
        !eddy__add_size(size, sizeof *list, &size))
        return NULL;
    if (heap) {
        list = eddy__heap_allocate(heap, size, &size);
        account = heap->account;
    } else if (account) {
        list = eddy__account_allocate(account, size);
    } else {
        list = eddy__allocate_aligned(allocator, size, EDDY__CACHE_LINE);
    }
    if (!list)
        return NULL;
    list->from_heap = heap != NULL;
    list->count = 0;
    list->next = NULL;
    list->allocator = account ? account->allocator : allocator;
    list->account = account;
    list->block_size = size;
    atomic_init(&list->refs, 1);
    return list;
}

/* Gives the block back, whatever its items are. */
static void free_block(eddy__heap *heap, eddy__list *list)
{
    if (heap && list->from_heap && list->account == heap->account)
        eddy__heap_recycle(heap, list, list->block_size);
    else if (list->account)
        eddy__account_free(list->account, list, list->block_size);
    else
        eddy__free(list->allocator, list, 1, list->block_size);
}

/* Unset items behind those that there are; requires room. */
static void append_unset(eddy__list *list, int64_t n)
{
    assert(n >= 0 && n <= capacity_of(list) - list->count);
    /* EDDY__NONE is 0. */
    if (n > 0)
        memset(&list->items[list->count], 0, (size_t)n * sizeof *list->items);
    list->count += n;
}

eddy__list *eddy__list_create(eddy__heap *heap, eddy__account *account,
                              const eddy_allocator *allocator, eddy_dtype dtype,
                              const eddy_shape *shape, int64_t count)
{
    eddy__list *list = allocate(heap, account, allocator, count);

    if (!list)
        return NULL;
    list->dtype = (uint8_t)dtype;
    list->shape = *shape;
    list->max_count = INT64_MAX;
    append_unset(list, count);
    return list;
}

/* ---- one's own list ---- */

/* A list with the same items, which have got no reference for it. */
static eddy__list *move(eddy__heap *heap, eddy__account *account,
                        const eddy__list *from, int64_t capacity)
{
    eddy__list *list = allocate(heap, account, from->allocator, capacity);

    if (!list)
        return NULL;
    list->dtype = from->dtype;
    list->shape = from->shape;
    list->max_count = from->max_count;
    list->count = from->count;
    if (from->count > 0)
        memcpy(list->items, from->items,
               (size_t)from->count * sizeof *list->items);
    return list;
}

eddy__list *eddy__list_copy(eddy__heap *heap, eddy__account *account,
                            const eddy__list *list, int64_t room)
{
    eddy__list *copy;
    int64_t needed;

    assert(room >= 0);
    if (__builtin_add_overflow(list->count, room, &needed))
        return NULL;
    copy = move(heap, account, list, needed);
    if (!copy)
        return NULL;
    for (int64_t i = 0; i < copy->count; i++)
        copy->items[i] = eddy__value_copy(&copy->items[i]);
    return copy;
}

/* Moves an exclusive list to where there is more room. */
static bool grow(eddy__heap *heap, eddy__account *account, eddy__list **list,
                 int64_t needed)
{
    eddy__list *from = *list, *to;
    int64_t capacity = 2 * capacity_of(from);

    if (capacity < MIN_CAPACITY)
        capacity = MIN_CAPACITY;
    to = move(heap, account, from, needed > capacity ? needed : capacity);
    /* Twice as much may be too much where what is needed is not. */
    if (!to && needed < capacity)
        to = move(heap, account, from, needed);
    if (!to)
        return false;
    free_block(heap, from);
    *list = to;
    return true;
}

bool eddy__list_own(eddy__heap *heap, eddy__account *account, eddy__list **list,
                    int64_t room)
{
    eddy__list *copy;
    int64_t needed;

    assert(room >= 0);
    if (!eddy__list_is_exclusive(*list)) {
        copy = eddy__list_copy(heap, account, *list, room);
        if (!copy)
            return false;
        eddy__list_recycle(heap, *list);
        *list = copy;
        return true;
    }
    if (__builtin_add_overflow((*list)->count, room, &needed))
        return false;
    return needed <= capacity_of(*list) || grow(heap, account, list, needed);
}

/* ---- changing ---- */

void eddy__list_set(eddy__heap *heap, eddy__list *list, int64_t i,
                    eddy__value item)
{
    assert(eddy__list_is_exclusive(list) && i >= 0 && i < list->count);
    assert(!eddy__value_is_borrowed(&item));
    eddy__value_clear(heap, &list->items[i]);
    list->items[i] = item;
}

void eddy__list_push(eddy__list *list, eddy__value item)
{
    assert(eddy__list_is_exclusive(list) && list->count < capacity_of(list));
    assert(!eddy__value_is_borrowed(&item));
    list->items[list->count++] = item;
}

eddy__value eddy__list_pop(eddy__list *list)
{
    assert(eddy__list_is_exclusive(list) && list->count > 0);
    return list->items[--list->count];
}

void eddy__list_resize(eddy__heap *heap, eddy__list *list, int64_t count)
{
    assert(eddy__list_is_exclusive(list) && count >= 0);
    while (list->count > count) {
        eddy__value item = eddy__list_pop(list);

        eddy__value_clear(heap, &item);
    }
    append_unset(list, count - list->count);
}

/* ---- releasing ---- */

/* True if that was the last reference. */
static bool drop_reference(eddy__list *list)
{
    /* Who holds the only reference needs no locked instruction. */
    return eddy__list_is_exclusive(list) ||
           atomic_fetch_sub_explicit(&list->refs, 1, memory_order_acq_rel) == 1;
}

/*
 * What has lost its last reference and still has items: lists, linked by
 * `next`, and tensors, linked by `user`.  They wait here, so that no depth of
 * nesting needs a deep stack.
 */
typedef struct waiting {
    eddy__list *lists;
    eddy_tensor *tensors;
} waiting;

static void drop_tensor(eddy__heap *heap, eddy_tensor *tensor, waiting *w)
{
    if (!eddy__dtype_in((eddy_dtype)tensor->dtype, EDDY__HELD)) {
        eddy__tensor_recycle(heap, tensor);
        return;
    }
    tensor = eddy__tensor_drop(heap, tensor);
    if (tensor) {
        tensor->user = w->tensors;
        w->tensors = tensor;
    }
}

static void drop_items(eddy__heap *heap, const eddy__value *items, int64_t n,
                       waiting *w)
{
    for (int64_t i = 0; i < n; i++) {
        const eddy__value *item = &items[i];

        if (item->kind == EDDY__TENSOR) {
            drop_tensor(heap, item->as.tensor, w);
        } else if (item->kind == EDDY__LIST && drop_reference(item->as.list)) {
            item->as.list->next = w->lists;
            w->lists = item->as.list;
        } else if (item->kind == EDDY__RESOURCE) {
            eddy__resource_release(item->as.resource);
        }
    }
}

static void drop_waiting(eddy__heap *heap, waiting *w)
{
    while (w->lists || w->tensors) {
        eddy__list *list = w->lists;
        eddy_tensor *tensor = w->tensors;

        if (list) {
            w->lists = list->next;
            drop_items(heap, list->items, list->count, w);
            free_block(heap, list);
        } else {
            w->tensors = tensor->user;
            drop_items(heap, tensor->data, tensor->count, w);
            eddy__tensor_free(heap, tensor);
        }
    }
}

void eddy__list_recycle(eddy__heap *heap, eddy__list *list)
{
    waiting w = {.lists = list};

    if (!list || !drop_reference(list))
        return;
    list->next = NULL;
    drop_waiting(heap, &w);
}

void eddy__values_clear(eddy__heap *heap, eddy__value *values, int64_t n)
{
    waiting w = {.lists = NULL};

    drop_items(heap, values, n, &w);
    drop_waiting(heap, &w);
}
