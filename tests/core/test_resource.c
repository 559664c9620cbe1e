/* SPDX-License-Identifier: Apache-2.0 */
#include "core/value/resource.h"

#include "tests/aid/counting_allocator.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

/* A cell holds one value. */
typedef struct cell {
    eddy__resource base;
    eddy__value value;
    int64_t number;
} cell;

static void clear_cell(eddy__resource *resource, eddy__heap *heap)
{
    eddy__value_clear(heap, &((cell *)(void *)resource)->value);
}

static const eddy__resource_type cells = {.name = "a cell",
                                          .clear = clear_cell};
static const eddy__resource_type others = {.name = "another",
                                           .clear = clear_cell};

typedef struct fixture {
    counting_allocator counting;
    eddy__heap heap;
    eddy__resource_set set;
    eddy__resource_table table;
} fixture;

static void start(fixture *f)
{
    memset(f, 0, sizeof *f);
    counting_allocator_init(&f->counting);
    ck_assert(eddy__heap_init(&f->heap, &f->counting.allocator));
    f->set.heap = &f->heap;
    ck_assert_int_eq(
        eddy__resource_table_init(&f->table, &f->counting.allocator, NULL),
        EDDY_OK);
}

static void finish(fixture *f)
{
    eddy__resource_set_clear(&f->set);
    eddy__resource_table_deinit(&f->table);
    eddy__heap_deinit(&f->heap);
    counting_allocator_want_none(&f->counting);
}

static cell *make(fixture *f)
{
    cell *c = (void *)eddy__resource_create(&f->set, &cells, sizeof(cell));

    ck_assert_ptr_nonnull(c);
    ck_assert_int_eq(c->value.kind, EDDY__NONE);
    ck_assert_int_eq(c->number, 0);
    return c;
}

static eddy__value handle_of(cell *c)
{
    eddy__value v = {.kind = EDDY__RESOURCE, .dtype = EDDY_RESOURCE};

    v.as.resource = &c->base;
    return v;
}

/* ---- those of a run ---- */

START_TEST(the_last_handle_frees)
{
    fixture f;
    eddy__value a, b;

    start(&f);
    a = handle_of(make(&f));
    b = eddy__value_copy(&a);
    eddy__value_clear(&f.heap, &a);
    ck_assert_ptr_eq(f.set.live, b.as.resource);
    eddy__value_clear(&f.heap, &b);
    ck_assert_ptr_null(f.set.live);
    ck_assert_ptr_null(f.set.dying);
    finish(&f);
}
END_TEST

START_TEST(a_long_chain_needs_no_deep_stack)
{
    fixture f;
    cell *last;

    start(&f);
    last = make(&f);
    for (int i = 0; i < 200000; i++) {
        cell *c = make(&f);

        c->value = handle_of(last);
        last = c;
    }
    eddy__resource_release(&last->base);
    ck_assert_ptr_null(f.set.live);
    finish(&f);
}
END_TEST

START_TEST(what_refers_to_itself_ends_with_the_run)
{
    fixture f;
    cell *a, *b, *c;
    eddy__value handle;

    start(&f);
    a = make(&f);
    handle = handle_of(a);
    a->value = eddy__value_copy(&handle);
    b = make(&f);
    c = make(&f);
    b->value = handle_of(c);
    c->value = handle_of(b);
    eddy__value_clear(&f.heap, &handle);
    ck_assert_ptr_nonnull(f.set.live);
    eddy__resource_set_clear(&f.set);
    ck_assert_ptr_null(f.set.live);
    finish(&f);
}
END_TEST

START_TEST(a_resource_is_freed_from_the_middle)
{
    fixture f;
    cell *all[5];

    start(&f);
    for (int i = 0; i < 5; i++)
        all[i] = make(&f);
    eddy__resource_release(&all[2]->base);
    eddy__resource_release(&all[0]->base);
    eddy__resource_release(&all[4]->base);
    ck_assert_ptr_eq(f.set.live, &all[3]->base);
    ck_assert_ptr_eq(f.set.live->next, &all[1]->base);
    ck_assert_ptr_null(f.set.live->next->next);
    eddy__resource_release(&all[1]->base);
    eddy__resource_release(&all[3]->base);
    finish(&f);
}
END_TEST

START_TEST(without_memory_there_is_no_resource)
{
    fixture f;

    start(&f);
    counting_allocator_allow(&f.counting, 0);
    ck_assert_ptr_null(eddy__resource_create(&f.set, &cells, 100000));
    ck_assert_ptr_null(f.set.live);
    counting_allocator_allow(&f.counting, -1);
    finish(&f);
}
END_TEST

/* ---- those with a name ---- */

static eddy__resource *make_named(const eddy_allocator *allocator,
                                  const void *arg)
{
    cell *c =
        (void *)eddy__resource_create_named(allocator, &cells, sizeof(cell));

    if (c)
        c->number = *(const int64_t *)arg;
    return c ? &c->base : NULL;
}

static cell *find(fixture *f, const eddy__resource_type *type, const char *name,
                  int64_t number)
{
    eddy__resource *resource;

    ck_assert_int_eq(eddy__resource_table_find(&f->table, type, name,
                                               number ? make_named : NULL,
                                               &number, &resource, NULL),
                     EDDY_OK);
    return (void *)resource;
}

START_TEST(a_name_finds_what_it_made)
{
    fixture f;
    cell *a, *b, *again;

    start(&f);
    ck_assert_ptr_null(find(&f, &cells, "a", 0));
    a = find(&f, &cells, "a", 3);
    b = find(&f, &cells, "b", 4);
    again = find(&f, &cells, "a", 5);
    ck_assert_ptr_eq(a, again);
    ck_assert_int_eq(a->number, 3);
    ck_assert_int_eq(b->number, 4);
    ck_assert_ptr_null(find(&f, &others, "a", 0));
    eddy__resource_release(&a->base);
    eddy__resource_release(&again->base);
    eddy__resource_table_clear(&f.table);
    /* A reference of one's own outlives the table's. */
    ck_assert_int_eq(b->number, 4);
    eddy__resource_release(&b->base);
    ck_assert_ptr_null(find(&f, &cells, "a", 0));
    finish(&f);
}
END_TEST

START_TEST(a_table_survives_failing_allocations)
{
    fixture f;
    bool made = false;

    start(&f);
    for (int64_t n = 0; !made; n++) {
        int64_t number = 1;
        eddy__resource *resource;
        eddy_error err;
        eddy_status status;

        counting_allocator_allow(&f.counting, n);
        status = eddy__resource_table_find(&f.table, &cells, "x", make_named,
                                           &number, &resource, &err);
        counting_allocator_allow(&f.counting, -1);
        made = status == EDDY_OK;
        ck_assert(made || status == EDDY_RESOURCE_EXHAUSTED);
        ck_assert_int_eq(made, resource != NULL);
        ck_assert_int_lt(n, 20);
        eddy__resource_release(resource);
    }
    finish(&f);
}
END_TEST

#define N_NAMES 50

static void find_all(void *arg)
{
    fixture *f = arg;

    for (int i = 0; i < 20 * N_NAMES; i++) {
        char name[16];
        cell *c;

        snprintf(name, sizeof name, "n%d", i % N_NAMES);
        c = find(f, &cells, name, i % N_NAMES + 1);
        ck_assert_int_eq(c->number, i % N_NAMES + 1);
        eddy__resource_release(&c->base);
    }
}

START_TEST(threads_find_the_same)
{
    fixture f;
    eddy__thread threads[3];

    start(&f);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(eddy__thread_start(&threads[i], 0, find_all, &f, NULL),
                         EDDY_OK);
    for (int i = 0; i < 3; i++)
        eddy__thread_join(&threads[i]);
    ck_assert_uint_eq(f.table.n, N_NAMES);
    finish(&f);
}
END_TEST

TCase *resource_tests(void)
{
    TCase *tcase = tcase_create("resource");

    tcase_add_test(tcase, the_last_handle_frees);
    tcase_add_test(tcase, a_long_chain_needs_no_deep_stack);
    tcase_add_test(tcase, what_refers_to_itself_ends_with_the_run);
    tcase_add_test(tcase, a_resource_is_freed_from_the_middle);
    tcase_add_test(tcase, without_memory_there_is_no_resource);
    tcase_add_test(tcase, a_name_finds_what_it_made);
    tcase_add_test(tcase, a_table_survives_failing_allocations);
    tcase_add_test(tcase, threads_find_the_same);
    return tcase;
}
