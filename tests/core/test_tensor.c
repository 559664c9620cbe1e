/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/memory.h"
#include "core/base/thread.h"
#include "core/context.h"
#include "core/value/tensor.h"
#include "tests/aid/counting_allocator.h"
#include "tests/suites.h"

#include <string.h>

typedef struct fixture {
    counting_allocator counting;
    eddy_context ctx;
    eddy__heap heap;
} fixture;

static const eddy_shape scalar = {.rank = 0};
static const eddy_shape vector_6 = {.rank = 1, .dims = {6}};
static const eddy_shape matrix_2_3 = {.rank = 2, .dims = {2, 3}};

static void start(fixture *f)
{
    counting_allocator_init(&f->counting);
    memset(&f->ctx, 0, sizeof f->ctx);
    f->ctx.allocator = f->counting.allocator;
    ck_assert(eddy__heap_init(&f->heap, &f->ctx.allocator));
}

static void finish(fixture *f)
{
    eddy__heap_deinit(&f->heap);
    counting_allocator_want_none(&f->counting);
}

START_TEST(a_new_tensor_has_its_dtype_and_shape)
{
    fixture f;
    eddy_tensor *t;
    float *data;

    start(&f);
    ck_assert_int_eq(
        eddy_tensor_create(&f.ctx, EDDY_FLOAT32, &matrix_2_3, &t, NULL),
        EDDY_OK);
    ck_assert_int_eq(eddy_tensor_dtype(t), EDDY_FLOAT32);
    ck_assert_int_eq(eddy_tensor_shape(t)->rank, 2);
    ck_assert_int_eq(eddy_tensor_shape(t)->dims[1], 3);
    ck_assert_int_eq(eddy_tensor_count(t), 6);
    ck_assert_uint_eq(eddy_tensor_bytes(t), 24);
    data = eddy_tensor_mutable_data(t);
    ck_assert_uint_eq((uintptr_t)data % EDDY__CACHE_LINE, 0);
    ck_assert_ptr_eq(eddy_tensor_data(t), data);
    for (int i = 0; i < 6; i++)
        data[i] = (float)i;
    eddy_tensor_release(t);
    finish(&f);
}
END_TEST

START_TEST(a_context_is_not_needed)
{
    eddy_tensor *t;

    ck_assert_int_eq(eddy_tensor_create(NULL, EDDY_BOOL, &scalar, &t, NULL),
                     EDDY_OK);
    *(bool *)eddy_tensor_mutable_data(t) = true;
    ck_assert_ptr_eq(eddy_tensor_retain(t), t);
    eddy_tensor_release(t);
    eddy_tensor_release(t);
    eddy_tensor_release(NULL);
    ck_assert_ptr_null(eddy_tensor_retain(NULL));
}
END_TEST

START_TEST(empty_tensors_and_all_ranks)
{
    eddy_shape shape = {.rank = 2, .dims = {3, 0}};
    eddy_tensor *t;

    ck_assert_int_eq(eddy_tensor_create(NULL, EDDY_INT64, &shape, &t, NULL),
                     EDDY_OK);
    ck_assert_int_eq(eddy_tensor_count(t), 0);
    ck_assert_uint_eq(eddy_tensor_bytes(t), 0);
    ck_assert_ptr_nonnull(eddy_tensor_data(t));
    eddy_tensor_release(t);
    for (shape.rank = 0; shape.rank <= EDDY_MAX_RANK; shape.rank++) {
        for (int32_t i = 0; i < shape.rank; i++)
            shape.dims[i] = 2;
        ck_assert_int_eq(eddy_tensor_create(NULL, EDDY_INT8, &shape, &t, NULL),
                         EDDY_OK);
        ck_assert_int_eq(eddy_tensor_count(t), 1 << shape.rank);
        eddy_tensor_release(t);
    }
}
END_TEST

static void want_refusal(eddy_dtype dtype, const eddy_shape *shape,
                         eddy_status code, eddy_detail detail)
{
    eddy_tensor *t = (eddy_tensor *)&dtype;
    eddy_error err;
    char byte;

    ck_assert_int_eq(eddy_tensor_create(NULL, dtype, shape, &t, &err), code);
    ck_assert_ptr_null(t);
    ck_assert_int_eq(err.code, code);
    ck_assert_int_eq(err.detail, detail);
    ck_assert_int_eq(
        eddy_tensor_wrap(NULL, dtype, shape, &byte, NULL, NULL, &t, &err),
        code);
    ck_assert_int_eq(err.detail, detail);
    if (detail != EDDY_E_DTYPE) {
        ck_assert_int_eq(
            eddy_tensor_from_strings(NULL, shape, NULL, 0, &t, &err), code);
        ck_assert_int_eq(err.detail, detail);
    }
    ck_assert_ptr_null(eddy__tensor_create(
        NULL, NULL, eddy__default_allocator(),
        detail == EDDY_E_DTYPE ? EDDY_INVALID : dtype, shape));
}

START_TEST(what_can_not_be_made_is_refused)
{
    eddy_shape shape = {.rank = 9};

    want_refusal(EDDY_RESOURCE, &scalar, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
    want_refusal(EDDY_VARIANT, &scalar, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
    want_refusal(EDDY_INVALID, &scalar, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
    want_refusal((eddy_dtype)99, &scalar, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
    want_refusal(EDDY_INT8, &shape, EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    shape.rank = -1;
    want_refusal(EDDY_INT8, &shape, EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    shape = (eddy_shape){.rank = 2, .dims = {2, -1}};
    want_refusal(EDDY_INT8, &shape, EDDY_INVALID_ARGUMENT, EDDY_E_DIM);
    shape.dims[1] = INT64_MIN;
    want_refusal(EDDY_INT8, &shape, EDDY_INVALID_ARGUMENT, EDDY_E_DIM);
    shape = (eddy_shape){.rank = 1, .dims = {INT64_C(1) << 61}};
    want_refusal(EDDY_INT64, &shape, EDDY_RESOURCE_EXHAUSTED, EDDY_E_SIZE);
    shape = (eddy_shape){.rank = 3, .dims = {0, INT64_C(1) << 62, 4}};
    want_refusal(EDDY_INT8, &shape, EDDY_RESOURCE_EXHAUSTED, EDDY_E_SIZE);
}
END_TEST

START_TEST(sizes_near_the_end_are_out_of_memory)
{
    const eddy_shape shape = {.rank = 1, .dims = {INT64_MAX}};
    fixture f;
    eddy_tensor *t;
    eddy_error err;

    start(&f);
    ck_assert_int_eq(eddy_tensor_create(&f.ctx, EDDY_INT8, &shape, &t, &err),
                     EDDY_RESOURCE_EXHAUSTED);
    ck_assert_int_eq(err.detail, EDDY_E_MEMORY);
    ck_assert_ptr_null(
        eddy__tensor_create(&f.heap, NULL, NULL, EDDY_INT8, &shape));
    ck_assert_ptr_null(
        eddy__tensor_create(NULL, f.heap.account, NULL, EDDY_INT8, &shape));
    finish(&f);
}
END_TEST

typedef struct host_data {
    void *data;
    int calls;
} host_data;

static void release_host(void *data, void *user)
{
    host_data *host = user;

    ck_assert_ptr_eq(data, host->data);
    host->calls++;
}

START_TEST(host_memory_is_wrapped_not_copied)
{
    float data[6] = {1, 2, 3, 4, 5, 6};
    host_data host = {.data = data};
    fixture f;
    eddy_tensor *t;

    start(&f);
    ck_assert_int_eq(eddy_tensor_wrap(&f.ctx, EDDY_FLOAT32, &matrix_2_3, data,
                                      release_host, &host, &t, NULL),
                     EDDY_OK);
    ck_assert_ptr_eq(eddy_tensor_data(t), data);
    ck_assert(!eddy__tensor_is_exclusive(t));
    eddy_tensor_retain(t);
    eddy_tensor_release(t);
    ck_assert_int_eq(host.calls, 0);
    eddy_tensor_release(t);
    ck_assert_int_eq(host.calls, 1);
    ck_assert_int_eq(eddy_tensor_wrap(&f.ctx, EDDY_FLOAT32, &matrix_2_3, data,
                                      NULL, NULL, &t, NULL),
                     EDDY_OK);
    ck_assert(!eddy__tensor_is_exclusive(t));
    eddy_tensor_release(t);
    finish(&f);
}
END_TEST

/* Memory for one header, with the host's elements right behind it. */
typedef struct neighbours {
    _Alignas(EDDY__CACHE_LINE) unsigned char block[4096];
} neighbours;

static void *allocate_first(void *user, size_t size, size_t alignment)
{
    ck_assert_uint_le(size, sizeof(neighbours));
    ck_assert_uint_le(alignment, EDDY__CACHE_LINE);
    return user;
}

static void release_first(void *user, void *memory, size_t size)
{
    (void)size;
    ck_assert_ptr_eq(user, memory);
}

START_TEST(host_memory_is_never_taken_for_the_tensors_own)
{
    neighbours n;
    eddy_context ctx = {
        .allocator = {.allocate = allocate_first,
                      .release = release_first,
                      .user = &n},
    };

    /* Wherever the elements stand, at the place of its own ones too. */
    for (size_t at = sizeof(eddy_tensor); at < 512; at += 8) {
        eddy_tensor *t;

        ck_assert_int_eq(eddy_tensor_wrap(&ctx, EDDY_INT64, &vector_6,
                                          n.block + at, NULL, NULL, &t, NULL),
                         EDDY_OK);
        ck_assert(!eddy__tensor_is_exclusive(t));
        eddy_tensor_release(t);
    }
}
END_TEST

START_TEST(host_memory_must_fit)
{
    double data[6] = {0};
    const eddy_shape empty = {.rank = 1, .dims = {0}};
    const eddy_shape one = {.rank = 1, .dims = {1}};
    host_data host = {.data = NULL};
    eddy_tensor *t;
    eddy_error err;

    ck_assert_int_eq(eddy_tensor_wrap(NULL, EDDY_FLOAT64, &one,
                                      (char *)data + 4, release_host, &host, &t,
                                      &err),
                     EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(err.detail, EDDY_E_ARGUMENT);
    ck_assert_ptr_null(t);
    ck_assert_int_eq(eddy_tensor_wrap(NULL, EDDY_COMPLEX64, &one,
                                      (char *)data + 4, NULL, NULL, &t, &err),
                     EDDY_OK);
    eddy_tensor_release(t);
    ck_assert_int_eq(eddy_tensor_wrap(NULL, EDDY_FLOAT64, &one, NULL,
                                      release_host, &host, &t, &err),
                     EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(eddy_tensor_wrap(NULL, EDDY_STRING, &one, data,
                                      release_host, &host, &t, &err),
                     EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(err.detail, EDDY_E_DTYPE);
    ck_assert_int_eq(host.calls, 0);
    ck_assert_int_eq(eddy_tensor_wrap(NULL, EDDY_FLOAT64, &empty, NULL,
                                      release_host, &host, &t, &err),
                     EDDY_OK);
    ck_assert_ptr_nonnull(eddy_tensor_data(t));
    eddy_tensor_release(t);
    ck_assert_int_eq(host.calls, 1);
}
END_TEST

START_TEST(strings_are_copied_and_owned)
{
    char first[] = "one";
    const eddy_string strings[6] = {{first, 3}, {NULL, 0}, {"t\0o", 3},
                                    {"", 0},    {"x", 1},  {"last", 4}};
    fixture f;
    eddy_tensor *t;
    eddy_error err;

    start(&f);
    ck_assert_int_eq(
        eddy_tensor_from_strings(&f.ctx, &matrix_2_3, strings, 5, &t, &err),
        EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(err.detail, EDDY_E_TENSOR_DATA);
    ck_assert_int_eq(
        eddy_tensor_from_strings(&f.ctx, &matrix_2_3, strings, 6, &t, &err),
        EDDY_OK);
    first[0] = 'X';
    ck_assert_ptr_null(eddy_tensor_data(t));
    ck_assert_ptr_null(eddy_tensor_mutable_data(t));
    ck_assert_uint_eq(eddy_tensor_bytes(t), 0);
    ck_assert_str_eq(eddy_tensor_string(t, 0).data, "one");
    ck_assert_uint_eq(eddy_tensor_string(t, 1).length, 0);
    ck_assert_str_eq(eddy_tensor_string(t, 1).data, "");
    ck_assert_uint_eq(eddy_tensor_string(t, 2).length, 3);
    ck_assert_mem_eq(eddy_tensor_string(t, 2).data, "t\0o", 4);
    ck_assert_str_eq(eddy_tensor_string(t, 5).data, "last");
    /* Setting again frees what was there. */
    ck_assert(eddy__tensor_set_string(t, 5, "new", 3));
    ck_assert_str_eq(eddy_tensor_string(t, 5).data, "new");
    ck_assert(!eddy__tensor_set_string(t, 5, "new", SIZE_MAX));
    ck_assert(eddy__tensor_set_string(t, 5, "", 0));
    eddy_tensor_release(t);
    finish(&f);
}
END_TEST

START_TEST(new_string_tensors_are_empty_strings)
{
    fixture f;
    eddy_tensor *t;

    start(&f);
    ck_assert_int_eq(
        eddy_tensor_create(&f.ctx, EDDY_STRING, &vector_6, &t, NULL), EDDY_OK);
    for (int i = 0; i < 6; i++)
        ck_assert_str_eq(eddy_tensor_string(t, i).data, "");
    eddy_tensor_release(t);
    finish(&f);
}
END_TEST

START_TEST(strings_of_a_run_are_charged_to_it)
{
    fixture f;
    eddy_tensor *t;
    int64_t before;

    start(&f);
    t = eddy__tensor_create(&f.heap, NULL, NULL, EDDY_STRING, &vector_6);
    before = atomic_load(&f.heap.account->held);
    ck_assert(eddy__tensor_set_string(t, 0, "0123456789", 10));
    ck_assert_int_eq(atomic_load(&f.heap.account->held), before + 11);
    f.heap.account->limit = before + 20;
    ck_assert(!eddy__tensor_set_string(t, 1, "0123456789", 10));
    eddy__tensor_recycle(&f.heap, t);
    ck_assert_int_eq(atomic_load(&f.heap.account->held), before);
    finish(&f);
}
END_TEST

START_TEST(views_share_elements_and_never_chain)
{
    fixture f;
    eddy_tensor *base, *view, *second;

    start(&f);
    base = eddy__tensor_create(&f.heap, NULL, NULL, EDDY_INT32, &vector_6);
    ck_assert(eddy__tensor_is_exclusive(base));
    view = eddy__tensor_view(&f.heap, NULL, base, &matrix_2_3);
    ck_assert_ptr_eq(eddy_tensor_data(view), eddy_tensor_data(base));
    ck_assert_int_eq(eddy_tensor_shape(view)->rank, 2);
    ck_assert_int_eq(eddy_tensor_count(view), 6);
    ck_assert_uint_eq(eddy_tensor_bytes(view), 24);
    ck_assert(!eddy__tensor_is_exclusive(base));
    ck_assert(!eddy__tensor_is_exclusive(view));
    second = eddy__tensor_view(NULL, f.heap.account, view, &vector_6);
    ck_assert_ptr_eq(second->base, base);
    eddy__tensor_recycle(&f.heap, view);
    eddy__tensor_recycle(&f.heap, base);
    /* The last view has the elements for itself. */
    ck_assert(eddy__tensor_is_exclusive(second));
    memset(second->data, 7, 24);
    eddy_tensor_retain(second);
    ck_assert(!eddy__tensor_is_exclusive(second));
    eddy__tensor_recycle(&f.heap, second);
    eddy__tensor_recycle(&f.heap, second);
    finish(&f);
}
END_TEST

START_TEST(views_of_strings_and_of_host_memory)
{
    const eddy_string strings[6] = {{"a", 1}, {"b", 1}, {"c", 1},
                                    {"d", 1}, {"e", 1}, {"f", 1}};
    int64_t data[6] = {1, 2, 3, 4, 5, 6};
    host_data host = {.data = data};
    fixture f;
    eddy_tensor *base, *view;

    start(&f);
    ck_assert_int_eq(
        eddy_tensor_from_strings(&f.ctx, &vector_6, strings, 6, &base, NULL),
        EDDY_OK);
    view = eddy__tensor_view(NULL, NULL, base, &matrix_2_3);
    eddy_tensor_release(base);
    ck_assert_str_eq(eddy_tensor_string(view, 5).data, "f");
    eddy_tensor_release(view);

    ck_assert_int_eq(eddy_tensor_wrap(&f.ctx, EDDY_INT64, &vector_6, data,
                                      release_host, &host, &base, NULL),
                     EDDY_OK);
    view = eddy__tensor_view(&f.heap, NULL, base, &matrix_2_3);
    eddy_tensor_release(base);
    ck_assert(!eddy__tensor_is_exclusive(view));
    ck_assert_int_eq(host.calls, 0);
    eddy_tensor_release(view);
    ck_assert_int_eq(host.calls, 1);
    finish(&f);
}
END_TEST

START_TEST(a_steady_loop_of_tensors_allocates_nothing)
{
    fixture f;
    long long calls = 0;

    start(&f);
    for (int i = 0; i < 50; i++) {
        eddy_tensor *t =
            eddy__tensor_create(&f.heap, NULL, NULL, EDDY_FLOAT64, &matrix_2_3);
        eddy_tensor *view = eddy__tensor_view(&f.heap, NULL, t, &vector_6);

        eddy__tensor_recycle(&f.heap, t);
        eddy__tensor_recycle(&f.heap, view);
        if (i == 0)
            calls = atomic_load(&f.counting.calls);
    }
    ck_assert_int_eq(atomic_load(&f.counting.calls), calls);
    finish(&f);
}
END_TEST

START_TEST(tensors_go_back_to_where_they_came_from)
{
    fixture f;
    eddy__heap other;
    eddy_tensor *mine, *others, *charged, *plain;

    start(&f);
    ck_assert(eddy__heap_init(&other, &f.ctx.allocator));
    mine = eddy__tensor_create(&f.heap, NULL, NULL, EDDY_INT8, &vector_6);
    others =
        eddy__tensor_create(NULL, other.account, NULL, EDDY_INT8, &vector_6);
    ck_assert_int_eq(
        eddy_tensor_create(&f.ctx, EDDY_INT8, &vector_6, &plain, NULL),
        EDDY_OK);
    charged =
        eddy__tensor_create(NULL, f.heap.account, NULL, EDDY_INT8, &vector_6);
    eddy__tensor_recycle(&f.heap, others);
    eddy__tensor_recycle(&f.heap, charged);
    eddy__tensor_recycle(&f.heap, plain);
    ck_assert_uint_eq(f.heap.cached, 0);
    ck_assert_int_eq(atomic_load(&other.account->held), EDDY__ACCOUNT_BIAS);
    eddy__tensor_recycle(&f.heap, mine);
    ck_assert_uint_gt(f.heap.cached, 0);
    eddy__heap_deinit(&other);
    finish(&f);
}
END_TEST

START_TEST(tensors_outlive_their_run)
{
    fixture f;
    eddy_tensor *t, *view;

    start(&f);
    t = eddy__tensor_create(&f.heap, NULL, NULL, EDDY_STRING, &vector_6);
    ck_assert(eddy__tensor_set_string(t, 3, "kept", 4));
    view = eddy__tensor_view(&f.heap, NULL, t, &matrix_2_3);
    eddy__heap_deinit(&f.heap);
    ck_assert_str_eq(eddy_tensor_string(view, 3).data, "kept");
    eddy_tensor_release(t);
    eddy_tensor_release(view);
    counting_allocator_want_none(&f.counting);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    const eddy_string strings[6] = {{"a", 1}, {"b", 1}, {"c", 1},
                                    {"d", 1}, {"e", 1}, {"f", 1}};
    host_data host = {.data = NULL};
    fixture f;
    eddy_tensor *t;
    eddy_error err;
    int n;

    start(&f);
    for (n = 0;; n++) {
        const long long before = atomic_load(&f.counting.live_bytes);

        counting_allocator_allow(&f.counting, n);
        if (eddy_tensor_from_strings(&f.ctx, &vector_6, strings, 6, &t, &err) ==
            EDDY_OK)
            break;
        ck_assert_int_eq(err.code, EDDY_RESOURCE_EXHAUSTED);
        ck_assert_int_eq(err.detail, EDDY_E_MEMORY);
        ck_assert_ptr_null(t);
        ck_assert_int_eq(atomic_load(&f.counting.live_bytes), before);
    }
    ck_assert_int_eq(n, 7);
    counting_allocator_allow(&f.counting, 0);
    ck_assert_ptr_null(eddy__tensor_view(&f.heap, NULL, t, &matrix_2_3));
    ck_assert_ptr_null(eddy__tensor_view(NULL, f.heap.account, t, &matrix_2_3));
    ck_assert_ptr_null(eddy__tensor_view(NULL, NULL, t, &matrix_2_3));
    ck_assert_uint_eq(atomic_load(&t->refs), 1);
    ck_assert(!eddy__tensor_set_string(t, 0, "long", 4));
    ck_assert_str_eq(eddy_tensor_string(t, 0).data, "a");
    eddy_tensor_release(t);
    ck_assert_int_eq(eddy_tensor_wrap(&f.ctx, EDDY_INT8,
                                      &(eddy_shape){.rank = 1}, NULL,
                                      release_host, &host, &t, &err),
                     EDDY_RESOURCE_EXHAUSTED);
    ck_assert_int_eq(host.calls, 0);
    finish(&f);
}
END_TEST

static void retain_and_release(void *arg)
{
    eddy_tensor *t = arg;

    for (int i = 0; i < 10000; i++) {
        eddy_tensor_retain(t);
        eddy_tensor_release(t);
    }
    eddy_tensor_release(t);
}

START_TEST(threads_share_references)
{
    fixture f;
    eddy__thread threads[2];

    start(&f);
    for (int round = 0; round < 20; round++) {
        eddy_tensor *t =
            eddy__tensor_create(&f.heap, NULL, NULL, EDDY_INT32, &vector_6);
        eddy_tensor *view = eddy__tensor_view(&f.heap, NULL, t, &matrix_2_3);

        eddy_tensor_retain(view);
        eddy_tensor_release(t);
        for (int i = 0; i < 2; i++)
            ck_assert_int_eq(eddy__thread_start(&threads[i], 0,
                                                retain_and_release, view, NULL),
                             EDDY_OK);
        /* The run may end before its tensors do. */
        if (round == 19)
            eddy__heap_deinit(&f.heap);
        for (int i = 0; i < 2; i++)
            eddy__thread_join(&threads[i]);
    }
    counting_allocator_want_none(&f.counting);
}
END_TEST

/* Writes to elements that it had shared, once it has them for itself. */
static void write_when_exclusive(void *arg)
{
    eddy_tensor *t = arg;
    int32_t *data = t->data;

    while (!eddy__tensor_is_exclusive(t))
        ;
    for (int i = 0; i < 6; i++)
        data[i] = -1;
    eddy_tensor_release(t);
}

START_TEST(exclusive_means_that_others_are_done)
{
    fixture f;

    start(&f);
    for (int round = 0; round < 20; round++) {
        eddy_tensor *t =
            eddy__tensor_create(&f.heap, NULL, NULL, EDDY_INT32, &vector_6);
        int32_t *data = t->data;
        int64_t sum = 0;
        eddy__thread thread;

        for (int i = 0; i < 6; i++)
            data[i] = i;
        eddy_tensor_retain(t);
        ck_assert_int_eq(
            eddy__thread_start(&thread, 0, write_when_exclusive, t, NULL),
            EDDY_OK);
        for (int i = 0; i < 6; i++)
            sum += data[i];
        ck_assert_int_eq(sum, 15);
        eddy_tensor_release(t);
        eddy__thread_join(&thread);
    }
    finish(&f);
}
END_TEST

TCase *tensor_tests(void)
{
    TCase *tests = tcase_create("tensor");

    tcase_add_test(tests, a_new_tensor_has_its_dtype_and_shape);
    tcase_add_test(tests, a_context_is_not_needed);
    tcase_add_test(tests, empty_tensors_and_all_ranks);
    tcase_add_test(tests, what_can_not_be_made_is_refused);
    tcase_add_test(tests, sizes_near_the_end_are_out_of_memory);
    tcase_add_test(tests, host_memory_is_wrapped_not_copied);
    tcase_add_test(tests, host_memory_is_never_taken_for_the_tensors_own);
    tcase_add_test(tests, host_memory_must_fit);
    tcase_add_test(tests, strings_are_copied_and_owned);
    tcase_add_test(tests, new_string_tensors_are_empty_strings);
    tcase_add_test(tests, strings_of_a_run_are_charged_to_it);
    tcase_add_test(tests, views_share_elements_and_never_chain);
    tcase_add_test(tests, views_of_strings_and_of_host_memory);
    tcase_add_test(tests, a_steady_loop_of_tensors_allocates_nothing);
    tcase_add_test(tests, tensors_go_back_to_where_they_came_from);
    tcase_add_test(tests, tensors_outlive_their_run);
    tcase_add_test(tests, every_allocation_may_fail);
    tcase_add_test(tests, threads_share_references);
    tcase_add_test(tests, exclusive_means_that_others_are_done);
    return tests;
}
