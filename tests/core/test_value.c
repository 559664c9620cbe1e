/* SPDX-License-Identifier: Apache-2.0 */
#include "core/value/dtype.h"
#include "core/value/value.h"

#include "core/value/resource.h"
#include "tests/aid/counting_allocator.h"
#include "tests/suites.h"

#include <string.h>

static const eddy_shape scalar = {.rank = 0};
static const eddy_shape vector_1 = {.rank = 1, .dims = {1}};

static void start(counting_allocator *counting, eddy__heap *heap)
{
    counting_allocator_init(counting);
    ck_assert(eddy__heap_init(heap, &counting->allocator));
}

static void finish(counting_allocator *counting, eddy__heap *heap)
{
    eddy__heap_deinit(heap);
    counting_allocator_want_none(counting);
}

START_TEST(numeric_scalars_live_in_the_value)
{
    counting_allocator counting;
    eddy__heap heap;
    const uint64_t bits = UINT64_C(0x0101010101010101);

    start(&counting, &heap);
    for (int d = EDDY_FLOAT16; d <= EDDY_COMPLEX64; d++) {
        const eddy_dtype dtype = (eddy_dtype)d;
        const size_t size = eddy_dtype_size(dtype);
        eddy_tensor *t = eddy__tensor_create(&heap, NULL, NULL, dtype, &scalar);
        eddy__value v;

        memcpy(t->data, &bits, size);
        v = eddy__value_take_tensor(&heap, t);
        ck_assert_int_eq(v.kind, EDDY__SCALAR);
        ck_assert_int_eq(v.dtype, dtype);
        ck_assert(!eddy__value_is_counted(&v));
        ck_assert_mem_eq(&v.as, &bits, size);
        /* The rest is zero, so that equal scalars have equal bits. */
        ck_assert_uint_eq(v.as.bits >> (size * 8 - 1) >> 1, 0);
        /* The tensor is gone. */
        ck_assert_uint_gt(heap.cached, 0);

        t = eddy__value_to_tensor(&v, &heap, NULL, NULL);
        ck_assert_int_eq(eddy_tensor_dtype(t), dtype);
        ck_assert_int_eq(eddy_tensor_shape(t)->rank, 0);
        ck_assert_mem_eq(eddy_tensor_data(t), &bits, size);
        eddy_tensor_release(t);
        eddy__value_clear(&heap, &v);
        ck_assert_int_eq(v.kind, EDDY__NONE);
    }
    finish(&counting, &heap);
}
END_TEST

START_TEST(bools_become_0_or_1)
{
    unsigned char byte = 0x82;
    eddy_tensor *t;
    eddy__value v;

    ck_assert_int_eq(
        eddy_tensor_wrap(NULL, EDDY_BOOL, &scalar, &byte, NULL, NULL, &t, NULL),
        EDDY_OK);
    v = eddy__value_take_tensor(NULL, t);
    ck_assert(v.as.b);
    ck_assert_uint_eq(v.as.bits, 1);
}
END_TEST

START_TEST(other_tensors_are_kept)
{
    counting_allocator counting;
    eddy__heap heap;
    eddy__value v, copy;
    eddy_tensor *t;

    start(&counting, &heap);
    t = eddy__tensor_create(&heap, NULL, NULL, EDDY_INT32, &vector_1);
    v = eddy__value_take_tensor(&heap, t);
    ck_assert_int_eq(v.kind, EDDY__TENSOR);
    ck_assert_int_eq(v.dtype, EDDY_INT32);
    ck_assert_ptr_eq(v.as.tensor, t);
    copy = eddy__value_copy(&v);
    ck_assert_uint_eq(atomic_load(&t->refs), 2);
    ck_assert_ptr_eq(eddy__value_to_tensor(&copy, NULL, NULL, NULL), t);
    ck_assert_uint_eq(atomic_load(&t->refs), 3);
    eddy_tensor_release(t);
    eddy__value_clear(&heap, &copy);
    eddy__value_clear(&heap, &copy);
    ck_assert_uint_eq(atomic_load(&t->refs), 1);
    eddy__value_clear(&heap, &v);

    /* A string has no place inside a value. */
    t = eddy__tensor_create(&heap, NULL, NULL, EDDY_STRING, &scalar);
    v = eddy__value_take_tensor(&heap, t);
    ck_assert_int_eq(v.kind, EDDY__TENSOR);
    ck_assert(!eddy__value_of_element(t, &copy));
    eddy__value_clear(NULL, &v);
    finish(&counting, &heap);
}
END_TEST

START_TEST(constants_are_borrowed)
{
    counting_allocator counting;
    eddy__heap heap;
    eddy__value v = {.kind = EDDY__CONSTANT, .dtype = EDDY_INT32};
    eddy__value copy;
    eddy_tensor *t;

    start(&counting, &heap);
    t = eddy__tensor_create(&heap, NULL, NULL, EDDY_INT32, &vector_1);
    v.as.tensor = t;
    copy = eddy__value_copy(&v);
    ck_assert_uint_eq(atomic_load(&t->refs), 1);
    ck_assert_ptr_eq(eddy__value_to_tensor(&copy, NULL, NULL, NULL), t);
    ck_assert_uint_eq(atomic_load(&t->refs), 2);
    eddy__value_clear(&heap, &copy);
    ck_assert_uint_eq(atomic_load(&t->refs), 2);
    eddy_tensor_release(t);
    eddy_tensor_release(t);
    finish(&counting, &heap);
}
END_TEST

START_TEST(handles_go_into_no_tensor)
{
    eddy__resource resource = {.set = NULL};
    eddy__value v = {.kind = EDDY__RESOURCE, .dtype = EDDY_RESOURCE};
    eddy__value lent;

    v.as.resource = &resource;
    lent = eddy__value_lend(&v);
    ck_assert_int_eq(lent.kind, EDDY__LENT_RESOURCE);
    ck_assert(eddy__value_is_resource(&lent));
    ck_assert(!eddy__value_has_elements(&v));
    ck_assert(!eddy__value_is_tensor(&lent));
    ck_assert_ptr_null(eddy__value_to_tensor(&v, NULL, NULL, NULL));
    ck_assert_ptr_null(eddy__value_to_tensor(&lent, NULL, NULL, NULL));
}
END_TEST

START_TEST(values_without_a_tensor)
{
    counting_allocator counting;
    eddy__heap heap;
    eddy__value none = {.kind = EDDY__NONE};
    eddy__value one = {.kind = EDDY__SCALAR, .dtype = EDDY_INT64};

    start(&counting, &heap);
    ck_assert_ptr_null(eddy__value_to_tensor(&none, &heap, NULL, NULL));
    counting_allocator_allow(&counting, 0);
    ck_assert_ptr_null(eddy__value_to_tensor(&one, &heap, NULL, NULL));
    finish(&counting, &heap);
}
END_TEST

TCase *value_tests(void)
{
    TCase *tests = tcase_create("value");

    tcase_add_test(tests, numeric_scalars_live_in_the_value);
    tcase_add_test(tests, bools_become_0_or_1);
    tcase_add_test(tests, other_tensors_are_kept);
    tcase_add_test(tests, constants_are_borrowed);
    tcase_add_test(tests, handles_go_into_no_tensor);
    tcase_add_test(tests, values_without_a_tensor);
    return tests;
}
