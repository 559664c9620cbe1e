/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel.h"
#include "core/value/list.h"
#include "tests/aid/counting_allocator.h"
#include "tests/suites.h"

#include <string.h>

/* A node with a list in slot 0, an item in slot 1, and outputs in 2 and 3. */
typedef struct fixture {
    counting_allocator counting;
    eddy__heap heap;
    eddy__value values[4];
    eddy__kernel_node node;
    eddy_kernel kernel;
    eddy_error err;
} fixture;

static const uint32_t slots[4] = {0, 1, 2, 3};
static const eddy_shape scalar = {.rank = 0};
static const eddy_shape vector_1 = {.rank = 1, .dims = {1}};
static const eddy_shape vector_2 = {.rank = 1, .dims = {2}};

/* The list has two items: the number 1 and the tensor [2, 2]. */
static eddy__list *start(fixture *f, uint32_t uses)
{
    eddy__value item = {.kind = EDDY__SCALAR, .dtype = EDDY_INT32};
    eddy__list *list;
    void *data;

    memset(f, 0, sizeof *f);
    counting_allocator_init(&f->counting);
    ck_assert(eddy__heap_init(&f->heap, &f->counting.allocator));
    f->node = (eddy__kernel_node){.in = slots,
                                  .out = slots + 2,
                                  .n_in = 2,
                                  .n_out = 2,
                                  .name = "node",
                                  .op_name = "TestOp"};
    f->kernel = (eddy_kernel){.values = f->values,
                              .in = slots,
                              .out = slots + 2,
                              .node = &f->node,
                              .heap = &f->heap,
                              .account = f->heap.account,
                              .allocator = &f->counting.allocator,
                              .err = &f->err};
    ck_assert_int_eq(
        eddy__output_list(&f->kernel, 0, EDDY_INT32, &scalar, 2, &list),
        EDDY_OK);
    item.as.i32 = 1;
    eddy__list_set(&f->heap, list, 0, item);
    ck_assert_int_eq(eddy__output(&f->kernel, 1, EDDY_INT32, &vector_2, &data),
                     EDDY_OK);
    ((int32_t *)data)[0] = ((int32_t *)data)[1] = 2;
    eddy__list_set(&f->heap, list, 1, f->values[3]);
    f->values[0] = f->values[2];
    f->values[0].uses = uses;
    f->values[2].kind = f->values[3].kind = EDDY__NONE;
    return list;
}

static void finish(fixture *f)
{
    for (int i = 0; i < 4; i++)
        eddy__value_clear(&f->heap, &f->values[i]);
    eddy__heap_deinit(&f->heap);
    counting_allocator_want_none(&f->counting);
}

static void want_failure(const fixture *f, eddy_status got, eddy_status code,
                         eddy_detail detail)
{
    ck_assert_int_eq(got, code);
    ck_assert_int_eq(f->err.code, code);
    ck_assert_int_eq(f->err.detail, detail);
    ck_assert_int_eq(f->values[2].kind, EDDY__NONE);
}

static void want_list(const eddy__value *v, const eddy__list *list)
{
    ck_assert_int_eq(v->kind, EDDY__LIST);
    ck_assert_int_eq(v->dtype, EDDY_VARIANT);
    ck_assert_ptr_eq(v->as.list, list);
}

START_TEST(a_new_list_is_an_output)
{
    fixture f;
    eddy__list *list;

    start(&f, 1);
    f.values[2].uses = 7;
    ck_assert_int_eq(
        eddy__output_list(&f.kernel, 0, EDDY_FLOAT32, &vector_2, 3, &list),
        EDDY_OK);
    want_list(&f.values[2], list);
    ck_assert_uint_eq(f.values[2].uses, 7);
    ck_assert_int_eq(list->dtype, EDDY_FLOAT32);
    ck_assert_int_eq(list->shape.dims[0], 2);
    ck_assert_int_eq(list->count, 3);
    ck_assert(list->from_heap);
    finish(&f);
}
END_TEST

START_TEST(a_last_use_of_the_last_reference_is_changed)
{
    fixture f;
    eddy__list *list = start(&f, 1), *out;

    ck_assert_ptr_eq(eddy__in_list(&f.kernel, 0), list);
    ck_assert_int_eq(eddy__output_list_reusing(&f.kernel, 0, 0, 0, &out),
                     EDDY_OK);
    ck_assert_ptr_eq(out, list);
    want_list(&f.values[2], list);
    ck_assert_int_eq(f.values[0].kind, EDDY__NONE);
    finish(&f);
}
END_TEST

START_TEST(a_last_use_that_grows_moves_its_items)
{
    fixture f;
    eddy__list *list = start(&f, 1), *out;
    const eddy_tensor *item = eddy__list_get(list, 1)->as.tensor;

    ck_assert_int_eq(eddy__output_list_reusing(&f.kernel, 0, 0, 50, &out),
                     EDDY_OK);
    want_list(&f.values[2], out);
    ck_assert_int_eq(f.values[0].kind, EDDY__NONE);
    ck_assert_ptr_eq(eddy__list_get(out, 1)->as.tensor, item);
    ck_assert_uint_eq(atomic_load(&item->refs), 1);
    ck_assert_int_eq(out->count, 2);
    finish(&f);
}
END_TEST

/* 0: another use.  1: another reference.  2: borrowed from a frame. */
START_TEST(what_others_may_see_is_copied)
{
    fixture f;
    eddy__list *list = start(&f, _i == 0 ? 2 : 1), *out;
    eddy__value held = {.kind = EDDY__NONE};

    if (_i == 1) {
        held = eddy__value_copy(&f.values[0]);
    } else if (_i == 2) {
        held = f.values[0];
        f.values[0] = eddy__value_lend(&held);
    }
    ck_assert_int_eq(eddy__output_list_reusing(&f.kernel, 0, 0, 1, &out),
                     EDDY_OK);
    ck_assert_ptr_ne(out, list);
    want_list(&f.values[2], out);
    ck_assert_uint_eq(atomic_load(&eddy__list_get(list, 1)->as.tensor->refs),
                      2);
    eddy__list_set(&f.heap, out, 0, (eddy__value){.kind = EDDY__NONE});
    ck_assert_int_eq(eddy__list_get(list, 0)->as.i32, 1);
    ck_assert_uint_eq(atomic_load(&list->refs), 1);
    eddy__value_clear(&f.heap, &held);
    finish(&f);
}
END_TEST

/* A list appended to itself is what it was before, twice. */
START_TEST(a_list_may_become_its_own_item)
{
    fixture f;
    eddy__list *list = start(&f, 2), *out;
    eddy__value item;

    f.kernel.in = (const uint32_t[]){0, 0};
    ck_assert_int_eq(eddy__output_list_reusing(&f.kernel, 0, 0, 1, &out),
                     EDDY_OK);
    item = eddy__value_copy(eddy__in(&f.kernel, 1));
    eddy__list_push(out, item);
    ck_assert_int_eq(out->count, 3);
    ck_assert_int_eq(list->count, 2);
    ck_assert_ptr_eq(eddy__list_get(out, 2)->as.list, list);
    finish(&f);
}
END_TEST

START_TEST(lists_without_memory_say_why)
{
    fixture f;
    eddy__list *list = start(&f, 1), *out = NULL;
    eddy__value other;

    /* On the driver's heap, then on a worker. */
    for (int worker = 0; worker < 2; worker++) {
        f.kernel.heap = worker ? NULL : &f.heap;
        counting_allocator_allow(&f.counting, 0);
        want_failure(
            &f, eddy__output_list(&f.kernel, 0, EDDY_INT8, &scalar, 500, &out),
            EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
        ck_assert_str_eq(f.err.message, "no memory for a list of 500 items");
        want_failure(&f, eddy__output_list_reusing(&f.kernel, 0, 0, 500, &out),
                     EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
        ck_assert_str_eq(f.err.message, "no memory for a list of 502 items");
        other = eddy__value_copy(&f.values[0]);
        want_failure(&f, eddy__output_list_reusing(&f.kernel, 0, 0, 500, &out),
                     EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
        eddy__value_clear(&f.heap, &other);
        counting_allocator_allow(&f.counting, -1);
        f.heap.account->limit = 5000;
        want_failure(
            &f, eddy__output_list(&f.kernel, 0, EDDY_INT8, &scalar, 500, &out),
            EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_BYTES);
        want_failure(&f, eddy__output_list_reusing(&f.kernel, 0, 0, 500, &out),
                     EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_BYTES);
        ck_assert_str_eq(f.err.message, "a list of 502 items goes above the "
                                        "limit of 5000 bytes");
        f.heap.account->limit = 0;
        want_failure(&f,
                     eddy__output_list(&f.kernel, 0, EDDY_INT8, &scalar,
                                       INT64_MAX, &out),
                     EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
        want_failure(
            &f, eddy__output_list_reusing(&f.kernel, 0, 0, INT64_MAX, &out),
            EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
    }
    ck_assert_ptr_null(out);
    want_list(&f.values[0], list);
    ck_assert_uint_eq(atomic_load(&list->refs), 1);
    ck_assert_int_eq(list->count, 2);
    finish(&f);
}
END_TEST

START_TEST(forwarding_moves_or_shares_lists)
{
    fixture f;
    eddy__list *list = start(&f, 2);

    f.values[2].uses = 9;
    eddy__output_forward(&f.kernel, 0, 0);
    want_list(&f.values[2], list);
    want_list(&f.values[0], list);
    ck_assert_uint_eq(f.values[2].uses, 9);
    ck_assert_uint_eq(atomic_load(&list->refs), 2);
    f.values[0].uses = 1;
    eddy__output_forward(&f.kernel, 1, 0);
    want_list(&f.values[3], list);
    ck_assert_int_eq(f.values[0].kind, EDDY__NONE);
    ck_assert_uint_eq(atomic_load(&list->refs), 2);
    finish(&f);
}
END_TEST

START_TEST(borrowed_lists_are_forwarded_as_such)
{
    fixture f;
    eddy__list *list = start(&f, 1);
    eddy__value held = f.values[0];

    f.values[0] = eddy__value_lend(&held);
    f.values[0].uses = 1;
    eddy__output_forward(&f.kernel, 0, 0);
    ck_assert_int_eq(f.values[2].kind, EDDY__LENT_LIST);
    ck_assert_ptr_eq(f.values[2].as.list, list);
    ck_assert_uint_eq(atomic_load(&list->refs), 1);
    eddy__value_clear(&f.heap, &held);
    finish(&f);
}
END_TEST

/* TensorFlow has a list in a scalar tensor. */
START_TEST(a_list_is_one_element_of_rank_0)
{
    fixture f;
    eddy__list *list = start(&f, 2);
    eddy_view view;
    void *data;

    view = eddy_kernel_input(&f.kernel, 0);
    ck_assert_int_eq(view.dtype, EDDY_VARIANT);
    ck_assert_int_eq(view.rank, 0);
    ck_assert_int_eq(view.count, 1);
    ck_assert_ptr_null(view.data);
    ck_assert_ptr_null(eddy_kernel_input_tensor(&f.kernel, 0));
    ck_assert_int_eq(eddy__output_reshaped(&f.kernel, 0, 0, &scalar), EDDY_OK);
    want_list(&f.values[2], list);
    ck_assert_uint_eq(atomic_load(&list->refs), 2);
    eddy__value_clear(&f.heap, &f.values[2]);
    ck_assert_int_eq(eddy__output_reshaped(&f.kernel, 0, 0, &vector_1),
                     EDDY_OK);
    ck_assert_int_eq(f.values[2].kind, EDDY__TENSOR);
    ck_assert_int_eq(f.values[2].dtype, EDDY_VARIANT);
    ck_assert_uint_eq(atomic_load(&list->refs), 2);
    eddy__value_clear(&f.heap, &f.values[2]);
    ck_assert_uint_eq(atomic_load(&list->refs), 1);
    want_failure(&f, eddy__output_reshaped(&f.kernel, 0, 0, &vector_2),
                 EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    ck_assert_int_eq(eddy__output(&f.kernel, 0, EDDY_VARIANT, &vector_1, &data),
                     EDDY_OK);
    ck_assert_ptr_null(data);
    eddy__value_clear(&f.heap, &f.values[2]);
    /* No buffer to write over. */
    ck_assert_int_eq(
        eddy__output_reusing(&f.kernel, 0, 0, EDDY_INT64, &vector_1, &data),
        EDDY_OK);
    want_list(&f.values[0], list);
    finish(&f);
}
END_TEST

TCase *kernel_list_tests(void)
{
    TCase *tests = tcase_create("kernel_list");

    tcase_add_test(tests, a_new_list_is_an_output);
    tcase_add_test(tests, a_last_use_of_the_last_reference_is_changed);
    tcase_add_test(tests, a_last_use_that_grows_moves_its_items);
    tcase_add_loop_test(tests, what_others_may_see_is_copied, 0, 3);
    tcase_add_test(tests, a_list_may_become_its_own_item);
    tcase_add_test(tests, lists_without_memory_say_why);
    tcase_add_test(tests, forwarding_moves_or_shares_lists);
    tcase_add_test(tests, borrowed_lists_are_forwarded_as_such);
    tcase_add_test(tests, a_list_is_one_element_of_rank_0);
    return tests;
}
