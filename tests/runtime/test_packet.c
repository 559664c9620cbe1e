/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values as bytes: each kind comes back as it was, and bytes that are no value,
 * cut short or changed, are refused or are another value, and nothing else.
 */
#include "runtime/net/packet.h"

#include "core/value/list.h"
#include "tests/aid/counting_allocator.h"
#include "tests/suites.h"

#include <stdlib.h>
#include <string.h>

static counting_allocator memory;
static eddy__bytes bytes;

static void set_up(void)
{
    counting_allocator_init(&memory);
    bytes = (eddy__bytes){.allocator = &memory.allocator};
}

static void tear_down(void)
{
    eddy__bytes_deinit(&bytes);
    counting_allocator_want_none(&memory);
}

static eddy__value scalar(float f)
{
    eddy__value v = {.kind = EDDY__SCALAR, .dtype = EDDY_FLOAT32};

    v.as.f32 = f;
    return v;
}

static eddy__value tensor(eddy_dtype dtype, int rank, const int64_t *dims)
{
    eddy__value v = {.kind = EDDY__TENSOR, .dtype = (uint8_t)dtype};
    eddy_shape shape = {.rank = rank};

    for (int i = 0; i < rank; i++)
        shape.dims[i] = dims[i];
    v.as.tensor =
        eddy__tensor_create(NULL, NULL, &memory.allocator, dtype, &shape);
    ck_assert_ptr_nonnull(v.as.tensor);
    return v;
}

static eddy__value numbers(void)
{
    eddy__value v = tensor(EDDY_INT32, 2, (int64_t[]){2, 3});

    for (int i = 0; i < 6; i++)
        ((int32_t *)v.as.tensor->data)[i] = i * i - 7;
    return v;
}

static eddy__value strings(void)
{
    eddy__value v = tensor(EDDY_STRING, 1, (int64_t[]){3});

    ck_assert(eddy__tensor_set_string(v.as.tensor, 0, "one", 3));
    ck_assert(eddy__tensor_set_string(v.as.tensor, 1, "", 0));
    ck_assert(eddy__tensor_set_string(v.as.tensor, 2, "a\0b", 3));
    return v;
}

/* A list of what `items` are, whose references it takes over. */
static eddy__value list(const eddy__value *items, int64_t n)
{
    const eddy_shape open = {.rank = -1};
    eddy__value v = {.kind = EDDY__LIST, .dtype = EDDY_VARIANT};

    v.as.list = eddy__list_create(NULL, NULL, &memory.allocator, EDDY_FLOAT32,
                                  &open, n);
    ck_assert_ptr_nonnull(v.as.list);
    memcpy(v.as.list->items, items, (size_t)n * sizeof *items);
    return v;
}

static eddy__value nested(void)
{
    const eddy__value inner =
        list((eddy__value[]){scalar(2), {.kind = EDDY__NONE}, strings()}, 3);

    return list((eddy__value[]){inner, numbers(), scalar(-1)}, 3);
}

/* Two keys and what they lead to; the chains of another map are left behind. */
static eddy__value map(void)
{
    eddy__value v =
        list((eddy__value[]){scalar(1), nested(), strings(), numbers()}, 4);

    v.as.list->dtype = EDDY__MAP;
    v.as.list->max_count = 2;
    return v;
}

/* Row splits and values; what is in them is not looked at. */
static eddy__value ragged(void)
{
    eddy__value v = list((eddy__value[]){numbers(), strings()}, 2);

    v.as.list->dtype = EDDY__RAGGED;
    return v;
}

static eddy__value dead(void)
{
    return (eddy__value){.kind = EDDY__NONE};
}

static eddy__value half(void)
{
    return scalar(0.5F);
}

static eddy__value (*const makers[])(void) = {dead,   half, numbers, strings,
                                              nested, map,  ragged};
#define N_MAKERS ((int)(sizeof makers / sizeof *makers))

static void append(const eddy__value *v)
{
    eddy_error err = {0};

    ck_assert_msg(eddy__packet_append(&bytes, (eddy__packet){.edge = 3}, v,
                                      &err) == EDDY_OK,
                  "%s", err.message);
}

static eddy_status read_back(const uint8_t *data, size_t n, eddy__value *out)
{
    eddy_error err = {0};

    return eddy__packet_read(data, n, NULL, &memory.allocator, out, &err);
}

/* The bytes of a value are the value, so two of the same bytes are the same. */
START_TEST(a_value_comes_back)
{
    eddy__value v = makers[_i](), back;
    eddy__packet head;
    size_t one;

    append(&v);
    one = bytes.n;
    memcpy(&head, bytes.data, sizeof head);
    ck_assert_uint_eq(head.edge, 3);
    ck_assert_uint_eq(head.bytes, one - sizeof head);
    ck_assert_int_eq(read_back(bytes.data + sizeof head, head.bytes, &back),
                     EDDY_OK);
    ck_assert_int_eq(back.kind, v.kind);
    append(&back);
    ck_assert_uint_eq(bytes.n, 2 * one);
    ck_assert_mem_eq(bytes.data, bytes.data + one, one);
    eddy__value_clear(NULL, &v);
    eddy__value_clear(NULL, &back);
}
END_TEST

START_TEST(what_is_cut_short_is_refused)
{
    eddy__value v = makers[_i]();
    const size_t head = sizeof(eddy__packet);

    append(&v);
    for (size_t n = 0; n < bytes.n - head; n++) {
        /* Of its own size, so that a read behind it is seen. */
        uint8_t *cut = malloc(n + 1);
        eddy__value back;

        ck_assert_ptr_nonnull(cut);
        memcpy(cut, bytes.data + head, n);
        ck_assert_int_eq(read_back(cut, n, &back), EDDY_DATA_LOSS);
        ck_assert_int_eq(back.kind, EDDY__NONE);
        free(cut);
    }
    eddy__value_clear(NULL, &v);
}
END_TEST

/* No byte may do harm; what is read holds what a value must. */
START_TEST(changed_bytes_do_no_harm)
{
    eddy__value v = makers[_i]();
    const size_t head = sizeof(eddy__packet);
    size_t n_read = 0;

    append(&v);
    for (size_t at = head; at < bytes.n; at++)
        for (int bit = 0; bit < 8; bit++) {
            eddy__value back;

            bytes.data[at] ^= (uint8_t)(1U << bit);
            if (read_back(bytes.data + head, bytes.n - head, &back) ==
                EDDY_OK) {
                if (back.kind == EDDY__TENSOR)
                    ck_assert(back.as.tensor->shape.rank > 0 ||
                              back.dtype == EDDY_STRING);
                n_read++;
            }
            eddy__value_clear(NULL, &back);
            bytes.data[at] ^= (uint8_t)(1U << bit);
        }
    ck_assert_uint_gt(n_read, 0);
    ck_assert_uint_lt(n_read, 8 * (bytes.n - head));
    eddy__value_clear(NULL, &v);
}
END_TEST

/* One element of what fits into a value is in it, whoever says otherwise. */
START_TEST(a_number_of_rank_0_is_a_scalar)
{
    eddy__value v = tensor(EDDY_INT32, 1, (int64_t[]){1}), back;
    const size_t head = sizeof(eddy__packet);

    append(&v);
    /* The rank becomes 0, and the one dim is gone. */
    memset(bytes.data + head + 4, 0, 4);
    memmove(bytes.data + head + 24, bytes.data + head + 32,
            bytes.n - head - 32);
    ck_assert_int_eq(read_back(bytes.data + head, bytes.n - head - 8, &back),
                     EDDY_DATA_LOSS);
    eddy__value_clear(NULL, &v);
}
END_TEST

START_TEST(a_lock_stays)
{
    const eddy__value item = scalar(1);
    eddy__value v = list(&item, 1);
    eddy_error err = {0};

    v.as.list->dtype = EDDY__LOCK;
    ck_assert_int_eq(eddy__packet_append(&bytes, (eddy__packet){0}, &v, &err),
                     EDDY_INVALID_ARGUMENT);
    ck_assert_uint_eq(bytes.n, 0);
    eddy__value_clear(NULL, &v);
}
END_TEST

/* A list among the keys of a map could not be compared with one. */
START_TEST(a_key_that_is_none_is_refused)
{
    eddy__value v = list((eddy__value[]){nested(), scalar(1)}, 2), back;

    v.as.list->dtype = EDDY__MAP;
    append(&v);
    ck_assert_int_eq(read_back(bytes.data + sizeof(eddy__packet),
                               bytes.n - sizeof(eddy__packet), &back),
                     EDDY_DATA_LOSS);
    eddy__value_clear(NULL, &v);
}
END_TEST

START_TEST(handles_stay)
{
    eddy__value v = {.kind = EDDY__RESOURCE, .dtype = EDDY_RESOURCE};
    eddy_error err = {0};

    ck_assert_int_eq(eddy__packet_append(&bytes, (eddy__packet){0}, &v, &err),
                     EDDY_INVALID_ARGUMENT);
    ck_assert_uint_eq(bytes.n, 0);
}
END_TEST

START_TEST(lists_nest_only_so_deep)
{
    eddy__value v = scalar(1);
    eddy_error err = {0};

    for (int i = 0; i < 33; i++)
        v = list(&v, 1);
    ck_assert_int_eq(eddy__packet_append(&bytes, (eddy__packet){0}, &v, &err),
                     EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(err.detail, EDDY_E_TOO_DEEP);
    ck_assert_uint_eq(bytes.n, 0);
    eddy__value_clear(NULL, &v);
}
END_TEST

/* Each allocation on either side fails in turn. */
START_TEST(memory_may_end)
{
    eddy__value v = makers[_i](), back;
    const size_t head = sizeof(eddy__packet);
    eddy_error err = {0};
    long long n = 0;

    do {
        counting_allocator_fail(&memory, n++);
        eddy__bytes_deinit(&bytes);
    } while (eddy__packet_append(&bytes, (eddy__packet){0}, &v, &err) ==
             EDDY_RESOURCE_EXHAUSTED);
    ck_assert_int_gt(n, 1);
    n = 0;
    do {
        counting_allocator_fail(&memory, n++);
    } while (read_back(bytes.data + head, bytes.n - head, &back) ==
             EDDY_RESOURCE_EXHAUSTED);
    counting_allocator_fail(&memory, -1);
    ck_assert_int_eq(back.kind, v.kind);
    eddy__value_clear(NULL, &v);
    eddy__value_clear(NULL, &back);
}
END_TEST

TCase *packet_tests(void)
{
    TCase *tests = tcase_create("packet");

    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, a_value_comes_back, 0, N_MAKERS);
    tcase_add_loop_test(tests, what_is_cut_short_is_refused, 0, N_MAKERS);
    tcase_add_loop_test(tests, changed_bytes_do_no_harm, 0, N_MAKERS);
    tcase_add_test(tests, a_number_of_rank_0_is_a_scalar);
    tcase_add_test(tests, handles_stay);
    tcase_add_test(tests, a_lock_stays);
    tcase_add_test(tests, a_key_that_is_none_is_refused);
    tcase_add_test(tests, lists_nest_only_so_deep);
    tcase_add_loop_test(tests, memory_may_end, 0, N_MAKERS);
    return tests;
}
