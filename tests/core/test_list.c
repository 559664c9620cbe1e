/* SPDX-License-Identifier: Apache-2.0 */
#include "core/value/list.h"

#include "core/base/thread.h"
#include "core/value/shape.h"
#include "tests/aid/counting_allocator.h"
#include "tests/suites.h"

#include <string.h>

typedef struct fixture {
    counting_allocator counting;
    eddy__heap heap;
} fixture;

static const eddy_shape scalar = {.rank = 0};
static const eddy_shape vector_2 = {.rank = 1, .dims = {2}};
static const eddy_shape unknown = {.rank = -1};
static const eddy__value unset = {.kind = EDDY__NONE};

static void start(fixture *f)
{
    counting_allocator_init(&f->counting);
    ck_assert(eddy__heap_init(&f->heap, &f->counting.allocator));
}

static void finish(fixture *f)
{
    eddy__heap_deinit(&f->heap);
    counting_allocator_want_none(&f->counting);
}

static eddy__list *make(fixture *f, int64_t count)
{
    eddy__list *list =
        eddy__list_create(&f->heap, NULL, NULL, EDDY_INT64, &scalar, count);

    ck_assert_ptr_nonnull(list);
    return list;
}

static eddy__value of_int(int64_t number)
{
    eddy__value v = {.kind = EDDY__SCALAR, .dtype = EDDY_INT64};

    v.as.i64 = number;
    return v;
}

static eddy__value of_list(eddy__list *list)
{
    eddy__value v = {.kind = EDDY__LIST, .dtype = EDDY_VARIANT};

    v.as.list = list;
    return v;
}

/* A tensor of two int32 that are `number`. */
static eddy__value of_tensor(fixture *f, int32_t number)
{
    eddy_tensor *t =
        eddy__tensor_create(&f->heap, NULL, NULL, EDDY_INT32, &vector_2);

    ck_assert_ptr_nonnull(t);
    ((int32_t *)t->data)[0] = ((int32_t *)t->data)[1] = number;
    return eddy__value_take_tensor(&f->heap, t);
}

static int64_t int_at(const eddy__list *list, int64_t i)
{
    const eddy__value *v = eddy__list_get(list, i);

    ck_assert_int_lt(i, list->count);
    ck_assert_int_eq(v->kind, EDDY__SCALAR);
    return v->as.i64;
}

static void push(fixture *f, eddy__list **list, eddy__value item)
{
    ck_assert(eddy__list_own(&f->heap, NULL, list, 1));
    eddy__list_push(*list, item);
}

START_TEST(a_new_list_has_unset_items)
{
    fixture f;
    eddy__list *list;

    start(&f);
    list = eddy__list_create(&f.heap, NULL, NULL, EDDY_FLOAT32, &unknown, 5);
    ck_assert_int_eq(list->dtype, EDDY_FLOAT32);
    ck_assert_int_eq(list->shape.rank, -1);
    ck_assert_int_eq(list->max_count, INT64_MAX);
    ck_assert_int_eq(list->count, 5);
    for (int64_t i = 0; i < 5; i++)
        ck_assert_int_eq(eddy__list_get(list, i)->kind, EDDY__NONE);
    eddy__list_recycle(&f.heap, list);
    list = eddy__list_create(&f.heap, NULL, NULL, EDDY_INT8, &vector_2, 0);
    ck_assert_int_eq(list->count, 0);
    ck_assert(eddy__shape_equal(&list->shape, &vector_2));
    eddy__list_recycle(&f.heap, list);
    eddy__list_recycle(&f.heap, NULL);
    eddy__list_recycle(NULL, NULL);
    finish(&f);
}
END_TEST

START_TEST(items_are_set_and_unset)
{
    fixture f;
    eddy__list *list;

    start(&f);
    list = make(&f, 3);
    eddy__list_set(&f.heap, list, 0, of_int(10));
    eddy__list_set(&f.heap, list, 2, of_tensor(&f, 7));
    ck_assert_int_eq(int_at(list, 0), 10);
    ck_assert_int_eq(eddy__list_get(list, 1)->kind, EDDY__NONE);
    ck_assert_int_eq(*(int32_t *)eddy__list_get(list, 2)->as.tensor->data, 7);
    eddy__list_set(&f.heap, list, 2, of_tensor(&f, 8));
    ck_assert_int_eq(*(int32_t *)eddy__list_get(list, 2)->as.tensor->data, 8);
    eddy__list_set(&f.heap, list, 0, unset);
    ck_assert_int_eq(eddy__list_get(list, 0)->kind, EDDY__NONE);
    eddy__list_recycle(&f.heap, list);
    finish(&f);
}
END_TEST

START_TEST(push_and_pop_are_a_stack)
{
    fixture f;
    eddy__list *list;
    eddy__value item;
    eddy_tensor *t;

    start(&f);
    list = make(&f, 0);
    for (int64_t i = 0; i < 100; i++)
        push(&f, &list, of_int(i));
    item = of_tensor(&f, 1);
    t = item.as.tensor;
    push(&f, &list, item);
    push(&f, &list, unset);
    ck_assert_int_eq(list->count, 102);
    ck_assert_int_eq(eddy__list_pop(list).kind, EDDY__NONE);
    /* The list's reference goes to the caller. */
    item = eddy__list_pop(list);
    ck_assert_ptr_eq(item.as.tensor, t);
    ck_assert_uint_eq(atomic_load(&t->refs), 1);
    eddy__value_clear(&f.heap, &item);
    for (int64_t i = 99; i >= 0; i--)
        ck_assert_int_eq(eddy__list_pop(list).as.i64, i);
    ck_assert_int_eq(list->count, 0);
    eddy__list_recycle(&f.heap, list);
    finish(&f);
}
END_TEST

START_TEST(resizing_drops_or_unsets)
{
    fixture f;
    eddy__list *list;

    start(&f);
    list = make(&f, 0);
    for (int32_t i = 0; i < 20; i++)
        push(&f, &list, of_tensor(&f, i));
    eddy__list_resize(&f.heap, list, 3);
    ck_assert_int_eq(list->count, 3);
    eddy__list_resize(&f.heap, list, 3);
    ck_assert(eddy__list_own(&f.heap, NULL, &list, 40));
    eddy__list_resize(&f.heap, list, 43);
    ck_assert_int_eq(list->count, 43);
    ck_assert_int_eq(*(int32_t *)eddy__list_get(list, 2)->as.tensor->data, 2);
    for (int64_t i = 3; i < 43; i++)
        ck_assert_int_eq(eddy__list_get(list, i)->kind, EDDY__NONE);
    eddy__list_resize(&f.heap, list, 0);
    ck_assert_int_eq(list->count, 0);
    eddy__list_recycle(&f.heap, list);
    finish(&f);
}
END_TEST

START_TEST(a_sole_reference_is_changed_in_place)
{
    fixture f;
    eddy__list *list, *before;

    start(&f);
    before = list = make(&f, 4);
    ck_assert(eddy__list_is_exclusive(list));
    ck_assert(eddy__list_own(&f.heap, NULL, &list, 0));
    ck_assert_ptr_eq(list, before);
    eddy__list_recycle(&f.heap, list);
    finish(&f);
}
END_TEST

START_TEST(a_shared_list_is_copied_and_shares_items)
{
    fixture f;
    eddy__list *list, *other;
    eddy__value shared;
    eddy_tensor *t;

    start(&f);
    list = make(&f, 0);
    push(&f, &list, of_int(1));
    push(&f, &list, of_tensor(&f, 5));
    list->max_count = 77;
    t = eddy__list_get(list, 1)->as.tensor;
    shared = of_list(list);
    shared = eddy__value_copy(&shared);
    ck_assert(!eddy__list_is_exclusive(list));
    other = list;
    ck_assert(eddy__list_own(&f.heap, NULL, &other, 0));
    ck_assert_ptr_ne(other, list);
    /* The reference that was given for the copy is gone. */
    ck_assert(eddy__list_is_exclusive(list));
    ck_assert(eddy__list_is_exclusive(other));
    ck_assert_int_eq(other->dtype, EDDY_INT64);
    ck_assert_int_eq(other->max_count, 77);
    ck_assert_ptr_eq(eddy__list_get(other, 1)->as.tensor, t);
    ck_assert_uint_eq(atomic_load(&t->refs), 2);
    ck_assert(!eddy__tensor_is_exclusive(t));

    eddy__list_set(&f.heap, other, 0, of_int(2));
    eddy__list_set(&f.heap, other, 1, of_tensor(&f, 6));
    push(&f, &other, of_int(3));
    ck_assert_int_eq(list->count, 2);
    ck_assert_int_eq(int_at(list, 0), 1);
    ck_assert_ptr_eq(eddy__list_get(list, 1)->as.tensor, t);
    ck_assert_uint_eq(atomic_load(&t->refs), 1);
    ck_assert_int_eq(int_at(other, 0), 2);
    eddy__list_recycle(&f.heap, other);
    eddy__value_clear(&f.heap, &shared);
    finish(&f);
}
END_TEST

START_TEST(lists_in_lists_are_copied_when_written)
{
    fixture f;
    eddy__list *outer, *copy, *inner;
    eddy__value item;

    start(&f);
    outer = make(&f, 1);
    inner = make(&f, 1);
    eddy__list_set(&f.heap, inner, 0, of_int(1));
    eddy__list_set(&f.heap, outer, 0, of_list(inner));
    copy = eddy__list_copy(&f.heap, NULL, outer, 0);
    ck_assert_ptr_eq(eddy__list_get(copy, 0)->as.list, inner);

    item = eddy__value_copy(eddy__list_get(copy, 0));
    ck_assert(eddy__list_own(&f.heap, NULL, &item.as.list, 0));
    eddy__list_set(&f.heap, item.as.list, 0, of_int(2));
    eddy__list_set(&f.heap, copy, 0, item);
    ck_assert_int_eq(int_at(eddy__list_get(outer, 0)->as.list, 0), 1);
    ck_assert_int_eq(int_at(eddy__list_get(copy, 0)->as.list, 0), 2);
    ck_assert(eddy__list_is_exclusive(inner));
    eddy__list_recycle(&f.heap, outer);
    eddy__list_recycle(&f.heap, copy);
    finish(&f);
}
END_TEST

START_TEST(values_carry_lists)
{
    fixture f;
    eddy__list *list;
    eddy__value v, copy, lent;

    start(&f);
    list = make(&f, 0);
    v = of_list(list);
    ck_assert(eddy__value_is_counted(&v));
    ck_assert(!eddy__value_has_elements(&v));
    ck_assert_ptr_null(eddy__value_to_tensor(&v, &f.heap, NULL, NULL));
    copy = eddy__value_copy(&v);
    ck_assert_ptr_eq(copy.as.list, list);
    ck_assert_uint_eq(atomic_load(&list->refs), 2);
    eddy__value_clear(&f.heap, &copy);
    ck_assert_int_eq(copy.kind, EDDY__NONE);
    ck_assert_uint_eq(atomic_load(&list->refs), 1);

    lent = eddy__value_lend(&v);
    ck_assert_int_eq(lent.kind, EDDY__LENT_LIST);
    ck_assert_int_eq(lent.dtype, EDDY_VARIANT);
    ck_assert(eddy__value_is_borrowed(&lent));
    ck_assert(!eddy__value_is_counted(&lent));
    ck_assert(!eddy__value_has_elements(&lent));
    ck_assert_ptr_null(eddy__value_to_tensor(&lent, &f.heap, NULL, NULL));
    copy = eddy__value_copy(&lent);
    ck_assert_uint_eq(atomic_load(&list->refs), 1);
    eddy__value_keep(&copy);
    ck_assert_int_eq(copy.kind, EDDY__LIST);
    ck_assert_uint_eq(atomic_load(&list->refs), 2);
    eddy__value_keep(&copy);
    ck_assert_uint_eq(atomic_load(&list->refs), 2);
    eddy__value_clear(&f.heap, &lent);
    eddy__value_clear(&f.heap, &v);
    eddy__value_clear(NULL, &copy);
    finish(&f);
}
END_TEST

/* The room doubles, so that each item moves fewer than two times. */
START_TEST(appending_n_items_costs_n)
{
    const int64_t n = 200000;
    fixture f;
    eddy__list *list, *before;
    int64_t moved = 0, calls;

    start(&f);
    list = make(&f, 0);
    calls = atomic_load(&f.counting.calls);
    for (int64_t i = 0; i < n; i++) {
        before = list;
        ck_assert(eddy__list_own(&f.heap, NULL, &list, 1));
        if (list != before)
            moved += list->count;
        eddy__list_push(list, of_int(i));
    }
    ck_assert_int_lt(moved, 2 * n);
    ck_assert_int_lt(atomic_load(&f.counting.calls) - calls, 30);
    ck_assert_int_eq(int_at(list, 0), 0);
    ck_assert_int_eq(int_at(list, n - 1), n - 1);
    eddy__list_recycle(&f.heap, list);
    finish(&f);
}
END_TEST

START_TEST(writing_n_items_allocates_nothing)
{
    enum { N = 10000 };
    fixture f;
    eddy__list *list, *first;
    long long calls;

    start(&f);
    first = list = make(&f, N);
    calls = atomic_load(&f.counting.calls);
    for (int64_t i = 0; i < N; i++) {
        ck_assert(eddy__list_own(&f.heap, NULL, &list, 0));
        eddy__list_set(&f.heap, list, i, of_int(i));
    }
    ck_assert_ptr_eq(list, first);
    ck_assert_int_eq(atomic_load(&f.counting.calls), calls);
    eddy__list_recycle(&f.heap, list);
    finish(&f);
}
END_TEST

/* A loop that makes and drops lists lives on its heap's free lists. */
START_TEST(a_steady_loop_of_lists_allocates_nothing)
{
    fixture f;
    long long calls = 0;

    start(&f);
    for (int round = 0; round < 3; round++) {
        eddy__list *list = make(&f, 0);

        for (int64_t i = 0; i < 500; i++)
            push(&f, &list, of_int(i));
        eddy__list_recycle(&f.heap, list);
        if (round == 0)
            calls = atomic_load(&f.counting.calls);
    }
    ck_assert_int_eq(atomic_load(&f.counting.calls), calls);
    finish(&f);
}
END_TEST

/* A list in a list in a list, `depth` of them; the innermost is empty. */
static eddy__list *nest(fixture *f, int64_t depth)
{
    eddy__list *list = make(f, 0);

    for (int64_t i = 0; i < depth; i++) {
        eddy__list *outer = make(f, 3);

        eddy__list_set(&f->heap, outer, 0, of_list(list));
        eddy__list_set(&f->heap, outer, 1, of_int(i));
        list = outer;
    }
    if (depth > 0)
        eddy__list_set(&f->heap, list, 2, of_tensor(f, 1));
    return list;
}

typedef struct release {
    eddy__heap *heap;
    eddy__list *list;
} release;

static void release_list(void *arg)
{
    const release *r = arg;

    eddy__list_recycle(r->heap, r->list);
}

/* Of 64 KiB of stack each frame of a recursion would have less than a byte. */
START_TEST(no_depth_of_nesting_needs_a_deep_stack)
{
    fixture f;
    eddy__thread thread;
    release job;

    start(&f);
    job = (release){.heap = _i == 0 ? &f.heap : NULL, .list = nest(&f, 100000)};
    ck_assert_int_eq(
        eddy__thread_start(&thread, (size_t)64 << 10, release_list, &job, NULL),
        EDDY_OK);
    eddy__thread_join(&thread);
    finish(&f);
}
END_TEST

START_TEST(what_others_hold_survives_the_list)
{
    fixture f;
    eddy__list *outer, *inner;
    eddy__value kept;

    start(&f);
    outer = nest(&f, 3);
    inner = eddy__list_get(outer, 0)->as.list;
    kept = eddy__value_copy(eddy__list_get(inner, 0));
    eddy__list_recycle(&f.heap, outer);
    ck_assert_int_eq(kept.as.list->count, 3);
    ck_assert_int_eq(int_at(kept.as.list, 1), 0);
    ck_assert(eddy__list_is_exclusive(kept.as.list));
    eddy__value_clear(&f.heap, &kept);
    finish(&f);
}
END_TEST

/* One list many times over in another, in two of them. */
START_TEST(a_list_may_stand_in_many_places)
{
    fixture f;
    eddy__list *outer, *copy;
    eddy__value inner;

    start(&f);
    inner = of_list(nest(&f, 1));
    outer = make(&f, 10);
    for (int64_t i = 0; i < 10; i++)
        eddy__list_set(&f.heap, outer, i, eddy__value_copy(&inner));
    copy = eddy__list_copy(&f.heap, NULL, outer, 1);
    eddy__list_push(copy, eddy__value_copy(&inner));
    ck_assert_uint_eq(atomic_load(inner.as.refs), 22);
    eddy__list_recycle(&f.heap, outer);
    ck_assert_uint_eq(atomic_load(inner.as.refs), 12);
    eddy__value_clear(&f.heap, &inner);
    eddy__list_recycle(&f.heap, copy);
    finish(&f);
}
END_TEST

START_TEST(bytes_are_charged_to_the_run)
{
    fixture f;
    eddy__account *account;
    eddy__list *list;
    int64_t held;

    start(&f);
    account = f.heap.account;
    list = eddy__list_create(NULL, account, NULL, EDDY_INT64, &scalar, 1000);
    held = atomic_load(&account->held);
    ck_assert_int_ge(held, 16000);
    ck_assert_int_lt(held, 17000);
    ck_assert(eddy__list_own(NULL, account, &list, 1));
    /* What the smaller block took has been given back. */
    ck_assert_int_ge(atomic_load(&account->held), 32000);
    ck_assert_int_lt(atomic_load(&account->held), 33000);
    eddy__list_recycle(&f.heap, list);
    ck_assert_int_eq(atomic_load(&account->held), EDDY__ACCOUNT_BIAS);
    ck_assert_uint_eq(f.heap.cached, 0);
    finish(&f);
}
END_TEST

START_TEST(the_limit_on_bytes_holds)
{
    fixture f;
    eddy__list *list, *before;
    int64_t n;

    start(&f);
    f.heap.account->limit = 100000;
    ck_assert_ptr_null(
        eddy__list_create(&f.heap, NULL, NULL, EDDY_INT64, &scalar, 7000));
    ck_assert(f.heap.limit_hit);
    list = make(&f, 0);
    for (n = 0; n < 7000; n++) {
        before = list;
        if (!eddy__list_own(&f.heap, NULL, &list, 1))
            break;
        eddy__list_push(list, of_int(n));
    }
    /* Both the old block and the new one must fit while items move. */
    ck_assert_int_gt(n, 2000);
    ck_assert_int_lt(n, 7000);
    ck_assert_ptr_eq(list, before);
    ck_assert_int_eq(list->count, n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_int_eq(int_at(list, i), i);
    ck_assert_ptr_null(eddy__list_copy(&f.heap, NULL, list, 7000));
    eddy__list_recycle(&f.heap, list);
    finish(&f);
}
END_TEST

START_TEST(sizes_that_overflow_are_refused)
{
    static const int64_t counts[] = {INT64_MAX,        INT64_MAX / 2,
                                     INT64_MAX / 16,   INT64_C(1) << 60,
                                     INT64_C(1) << 59, INT64_C(1) << 51};
    fixture f;
    eddy__list *list, *before;

    start(&f);
    list = make(&f, 1);
    eddy__list_set(&f.heap, list, 0, of_int(4));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const eddy_allocator *a = &f.counting.allocator;
        const int64_t n = counts[i];

        before = list;
        ck_assert_ptr_null(
            eddy__list_create(&f.heap, NULL, NULL, EDDY_INT8, &scalar, n));
        ck_assert_ptr_null(eddy__list_create(NULL, f.heap.account, NULL,
                                             EDDY_INT8, &scalar, n));
        /* Here the allocator itself would have to refuse what fits. */
        if (n >= INT64_C(1) << 58)
            ck_assert_ptr_null(
                eddy__list_create(NULL, NULL, a, EDDY_INT8, &scalar, n));
        ck_assert(!eddy__list_own(&f.heap, NULL, &list, n));
        ck_assert_ptr_eq(list, before);
        ck_assert_ptr_null(eddy__list_copy(&f.heap, NULL, list, n));
    }
    ck_assert_int_eq(int_at(list, 0), 4);
    eddy__list_recycle(&f.heap, list);
    finish(&f);
}
END_TEST

START_TEST(lists_go_back_to_where_they_came_from)
{
    fixture f;
    eddy__heap other;
    eddy__list *mine, *others, *charged, *plain;

    start(&f);
    ck_assert(eddy__heap_init(&other, &f.counting.allocator));
    mine = make(&f, 3);
    others = eddy__list_create(&other, NULL, NULL, EDDY_INT8, &scalar, 3);
    charged =
        eddy__list_create(NULL, f.heap.account, NULL, EDDY_INT8, &scalar, 3);
    plain = eddy__list_create(NULL, NULL, &f.counting.allocator, EDDY_INT8,
                              &scalar, 3);
    /* A copy without a heap or an account is the allocator's. */
    ck_assert(eddy__list_own(NULL, NULL, &plain, 100));
    ck_assert_ptr_null(plain->account);
    eddy__list_recycle(&f.heap, others);
    eddy__list_recycle(&f.heap, charged);
    eddy__list_recycle(&f.heap, plain);
    ck_assert_uint_eq(f.heap.cached, 0);
    /* A run may end before its lists do. */
    eddy__heap_deinit(&other);
    eddy__list_recycle(&f.heap, mine);
    ck_assert_uint_gt(f.heap.cached, 0);
    mine = nest(&f, 5);
    eddy__heap_deinit(&f.heap);
    ck_assert_int_eq(int_at(mine, 1), 4);
    eddy__list_recycle(NULL, mine);
    counting_allocator_want_none(&f.counting);
}
END_TEST

/* All that may fail, once; false when something did. */
static bool build_lists(fixture *f, eddy__list **list, eddy__list **copy,
                        eddy__list **grown)
{
    *list = eddy__list_create(&f->heap, NULL, NULL, EDDY_INT64, &scalar, 2);
    if (!*list)
        return false;
    eddy__list_set(&f->heap, *list, 0, of_int(1));
    *copy = eddy__list_copy(&f->heap, NULL, *list, 0);
    if (!*copy)
        return false;
    *grown =
        eddy__list_create(NULL, f->heap.account, NULL, EDDY_INT64, &scalar, 0);
    if (!*grown || !eddy__list_own(NULL, f->heap.account, grown, 3))
        return false;
    eddy__list_push(*grown, of_int(5));
    return eddy__list_own(&f->heap, NULL, grown, 2000);
}

START_TEST(every_allocation_may_fail)
{
    int n;

    for (n = 0;; n++) {
        fixture f;
        eddy__list *list = NULL, *copy = NULL, *grown = NULL;
        bool done;

        start(&f);
        counting_allocator_allow(&f.counting, n);
        done = build_lists(&f, &list, &copy, &grown);
        if (grown && grown->count > 0)
            ck_assert_int_eq(int_at(grown, 0), 5);
        eddy__list_recycle(&f.heap, list);
        eddy__list_recycle(&f.heap, copy);
        eddy__list_recycle(&f.heap, grown);
        finish(&f);
        if (done)
            break;
    }
    ck_assert_int_eq(n, 5);
}
END_TEST

START_TEST(a_list_is_as_before_when_memory_is_short)
{
    fixture f;
    eddy__list *list, *before;
    eddy__value other;
    eddy_tensor *t;

    start(&f);
    list = make(&f, 0);
    push(&f, &list, of_tensor(&f, 3));
    push(&f, &list, of_int(4));
    t = eddy__list_get(list, 0)->as.tensor;
    before = list;
    counting_allocator_allow(&f.counting, 0);
    ck_assert(!eddy__list_own(&f.heap, NULL, &list, 1000));
    ck_assert(!eddy__list_own(NULL, f.heap.account, &list, 1000));
    ck_assert_ptr_null(eddy__list_copy(NULL, f.heap.account, list, 0));
    other = of_list(list);
    other = eddy__value_copy(&other);
    ck_assert(!eddy__list_own(NULL, f.heap.account, &list, 0));
    ck_assert_ptr_eq(list, before);
    ck_assert_uint_eq(atomic_load(&list->refs), 2);
    ck_assert_uint_eq(atomic_load(&t->refs), 1);
    ck_assert_int_eq(list->count, 2);
    ck_assert_int_eq(int_at(list, 1), 4);
    eddy__value_clear(&f.heap, &other);
    eddy__list_recycle(&f.heap, list);
    finish(&f);
}
END_TEST

/* When twice the room is not to be had, what is needed may be. */
START_TEST(growing_makes_do_with_what_is_needed)
{
    fixture f;
    eddy__list *list;
    int64_t held;

    start(&f);
    list =
        eddy__list_create(NULL, f.heap.account, NULL, EDDY_INT8, &scalar, 1000);
    held = atomic_load(&f.heap.account->held);
    f.heap.account->limit = 2 * held + 1000;
    ck_assert(eddy__list_own(NULL, f.heap.account, &list, 10));
    ck_assert_int_eq(atomic_load(&f.heap.account->held), held + 160);
    eddy__list_recycle(NULL, list);
    finish(&f);
}
END_TEST

typedef struct sharing {
    eddy__account *account;
    eddy__list *list; /* a reference of the thread's */
    eddy__list *own;  /* what it made of it */
    int64_t mark;
} sharing;

/* Changes the list that it shares: its own copy, or the very last reference. */
static void write_shared(void *arg)
{
    sharing *s = arg;
    eddy__list *list = s->list;
    eddy__value again = of_list(list);

    for (int i = 0; i < 1000; i++) {
        eddy__value copy = eddy__value_copy(&again);

        eddy__value_clear(NULL, &copy);
    }
    ck_assert(eddy__list_own(NULL, s->account, &list, 1));
    for (int64_t i = 0; i < list->count; i++)
        if (eddy__list_get(list, i)->kind == EDDY__SCALAR)
            eddy__list_set(NULL, list, i, of_int(s->mark));
    eddy__list_push(list, of_int(s->mark));
    s->own = list;
}

START_TEST(threads_that_share_a_list_do_not_see_each_other)
{
    fixture f;
    eddy__thread threads[2];
    sharing jobs[2];
    release drops[2];

    start(&f);
    for (int round = 0; round < 20; round++) {
        eddy__value v = of_list(nest(&f, 3));
        eddy__value held = eddy__value_copy(&v);

        for (int i = 0; i < 2; i++) {
            jobs[i] = (sharing){.account = f.heap.account,
                                .list = i == 0 ? v.as.list : held.as.list,
                                .mark = 100 + i};
            ck_assert_int_eq(eddy__thread_start(&threads[i], 0, write_shared,
                                                &jobs[i], NULL),
                             EDDY_OK);
        }
        for (int i = 0; i < 2; i++)
            eddy__thread_join(&threads[i]);
        for (int i = 0; i < 2; i++) {
            ck_assert_int_eq(jobs[i].own->count, 4);
            ck_assert_int_eq(int_at(jobs[i].own, 1), 100 + i);
            ck_assert_int_eq(int_at(jobs[i].own, 3), 100 + i);
        }
        /* The items are shared, and the last list frees them, anywhere. */
        ck_assert_ptr_eq(eddy__list_get(jobs[0].own, 0)->as.list,
                         eddy__list_get(jobs[1].own, 0)->as.list);
        for (int i = 0; i < 2; i++) {
            drops[i] = (release){.heap = NULL, .list = jobs[i].own};
            ck_assert_int_eq(eddy__thread_start(&threads[i], 0, release_list,
                                                &drops[i], NULL),
                             EDDY_OK);
        }
        for (int i = 0; i < 2; i++)
            eddy__thread_join(&threads[i]);
    }
    finish(&f);
}
END_TEST

TCase *list_tests(void)
{
    TCase *tests = tcase_create("list");

    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_new_list_has_unset_items);
    tcase_add_test(tests, items_are_set_and_unset);
    tcase_add_test(tests, push_and_pop_are_a_stack);
    tcase_add_test(tests, resizing_drops_or_unsets);
    tcase_add_test(tests, a_sole_reference_is_changed_in_place);
    tcase_add_test(tests, a_shared_list_is_copied_and_shares_items);
    tcase_add_test(tests, lists_in_lists_are_copied_when_written);
    tcase_add_test(tests, values_carry_lists);
    tcase_add_test(tests, appending_n_items_costs_n);
    tcase_add_test(tests, writing_n_items_allocates_nothing);
    tcase_add_test(tests, a_steady_loop_of_lists_allocates_nothing);
    tcase_add_loop_test(tests, no_depth_of_nesting_needs_a_deep_stack, 0, 2);
    tcase_add_test(tests, what_others_hold_survives_the_list);
    tcase_add_test(tests, a_list_may_stand_in_many_places);
    tcase_add_test(tests, bytes_are_charged_to_the_run);
    tcase_add_test(tests, the_limit_on_bytes_holds);
    tcase_add_test(tests, sizes_that_overflow_are_refused);
    tcase_add_test(tests, lists_go_back_to_where_they_came_from);
    tcase_add_test(tests, every_allocation_may_fail);
    tcase_add_test(tests, a_list_is_as_before_when_memory_is_short);
    tcase_add_test(tests, growing_makes_do_with_what_is_needed);
    tcase_add_test(tests, threads_that_share_a_list_do_not_see_each_other);
    return tests;
}
