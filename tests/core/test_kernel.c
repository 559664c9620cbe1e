/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel.h"
#include "tests/aid/counting_allocator.h"
#include "tests/suites.h"

#include <string.h>

/* A node with three inputs in slots 0 to 2 and two outputs in 3 and 4. */
typedef struct fixture {
    counting_allocator counting;
    eddy__heap heap;
    eddy__value values[5];
    uint8_t in_dtypes[3], out_dtypes[2];
    eddy__kernel_node node;
    eddy_kernel kernel;
    eddy_error err;
    eddy_status completed;
} fixture;

static const uint32_t slots[5] = {0, 1, 2, 3, 4};
static const eddy_shape scalar = {.rank = 0};
static const eddy_shape vector_1 = {.rank = 1, .dims = {1}};
static const eddy_shape vector_6 = {.rank = 1, .dims = {6}};
static const eddy_shape vector_7 = {.rank = 1, .dims = {7}};
static const eddy_shape matrix_2_3 = {.rank = 2, .dims = {2, 3}};
static const eddy_shape too_large = {.rank = 2, .dims = {INT64_C(1) << 62, 16}};

static eddy_kernel *suspend_fixture(eddy_kernel *kernel)
{
    return kernel->run;
}

static void complete_fixture(eddy_kernel *suspended, eddy_status code)
{
    ((fixture *)suspended->iteration)->completed = code;
}

static bool say_cancelled(const eddy_kernel *kernel)
{
    return kernel->run != NULL;
}

static int64_t say_iteration(const eddy_kernel *kernel)
{
    return (int64_t)kernel->node->n_in + 39;
}

static const eddy__services services = {
    .suspend = suspend_fixture,
    .complete = complete_fixture,
    .cancelled = say_cancelled,
    .iteration = say_iteration,
};

static void start(fixture *f)
{
    memset(f, 0, sizeof *f);
    counting_allocator_init(&f->counting);
    ck_assert(eddy__heap_init(&f->heap, &f->counting.allocator));
    memset(f->in_dtypes, EDDY_INT32, sizeof f->in_dtypes);
    memset(f->out_dtypes, EDDY_INT32, sizeof f->out_dtypes);
    f->node = (eddy__kernel_node){
        .in = slots,
        .out = slots + 3,
        .n_in = 3,
        .n_out = 2,
        .in_dtypes = f->in_dtypes,
        .out_dtypes = f->out_dtypes,
        .name = "scope/node\n",
        .op_name = "TestOp",
        .state = f,
    };
    f->kernel = (eddy_kernel){
        .values = f->values,
        .in = slots,
        .out = slots + 3,
        .node = &f->node,
        .heap = &f->heap,
        .account = f->heap.account,
        .allocator = &f->counting.allocator,
        .services = &services,
        .err = &f->err,
        .iteration = f,
    };
}

static void clear_values(fixture *f)
{
    for (int i = 0; i < 5; i++)
        eddy__value_clear(&f->heap, &f->values[i]);
}

static void finish(fixture *f)
{
    clear_values(f);
    eddy__heap_deinit(&f->heap);
    counting_allocator_want_none(&f->counting);
}

/* Kernels on other threads have no heap. */
static void leave_driver(fixture *f)
{
    f->kernel.heap = NULL;
}

static eddy_tensor *set_input(fixture *f, int i, eddy_dtype dtype,
                              const eddy_shape *shape, uint32_t uses)
{
    eddy_tensor *t = eddy__tensor_create(&f->heap, NULL, NULL, dtype, shape);

    ck_assert_ptr_nonnull(t);
    if (t->bytes > 0)
        memset(t->data, i + 1, t->bytes);
    f->values[i].kind = EDDY__TENSOR;
    f->values[i].dtype = (uint8_t)dtype;
    f->values[i].uses = uses;
    f->values[i].as.tensor = t;
    return t;
}

static void set_scalar(fixture *f, int i, int32_t value, uint32_t uses)
{
    eddy__out_scalar(&f->values[i], EDDY_INT32, 0);
    f->values[i].as.i32 = value;
    f->values[i].uses = uses;
}

static void want_failure(const fixture *f, eddy_status got, eddy_status code,
                         eddy_detail detail)
{
    ck_assert_int_eq(got, code);
    ck_assert_int_eq(f->err.code, code);
    ck_assert_int_eq(f->err.detail, detail);
    ck_assert_str_eq(f->err.node, "scope/node\\x0a");
    ck_assert_str_eq(f->err.op, "TestOp");
    ck_assert_int_eq(f->values[3].kind, EDDY__NONE);
}

START_TEST(outputs_are_scalars_or_tensors)
{
    fixture f;
    void *data;

    start(&f);
    f.values[3].uses = 5;
    ck_assert_int_eq(eddy__output(&f.kernel, 0, EDDY_INT32, &scalar, &data),
                     EDDY_OK);
    ck_assert_int_eq(f.values[3].kind, EDDY__SCALAR);
    ck_assert_int_eq(f.values[3].dtype, EDDY_INT32);
    ck_assert_ptr_eq(data, &f.values[3].as);
    ck_assert_int_eq(
        eddy__output(&f.kernel, 1, EDDY_FLOAT32, &matrix_2_3, &data), EDDY_OK);
    ck_assert_int_eq(f.values[4].kind, EDDY__TENSOR);
    ck_assert_int_eq(f.values[4].dtype, EDDY_FLOAT32);
    ck_assert_int_eq(f.values[4].as.tensor->count, 6);
    ck_assert_ptr_eq(data, f.values[4].as.tensor->data);
    memset(data, 0, 24);
    /* `uses` is the executor's. */
    ck_assert_uint_eq(f.values[3].uses, 5);
    eddy__value_clear(&f.heap, &f.values[4]);

    leave_driver(&f);
    ck_assert_int_eq(eddy__output(&f.kernel, 1, EDDY_STRING, &scalar, &data),
                     EDDY_OK);
    ck_assert_ptr_null(data);
    ck_assert_int_eq(f.values[4].kind, EDDY__TENSOR);
    ck_assert(eddy__tensor_set_string(f.values[4].as.tensor, 0, "ab", 2));
    finish(&f);
}
END_TEST

START_TEST(failed_outputs_say_why)
{
    fixture f;
    void *data;

    for (int on_driver = 0; on_driver < 2; on_driver++) {
        start(&f);
        if (!on_driver)
            leave_driver(&f);
        want_failure(&f,
                     eddy__output(&f.kernel, 0, EDDY_INT8, &too_large, &data),
                     EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
        want_failure(&f,
                     eddy__output(&f.kernel, 0, EDDY_INT8,
                                  &(eddy_shape){.rank = 1, .dims = {-3}},
                                  &data),
                     EDDY_INVALID_ARGUMENT, EDDY_E_DIM);
        want_failure(&f,
                     eddy__output(&f.kernel, 0, EDDY_INVALID, &scalar, &data),
                     EDDY_UNIMPLEMENTED, EDDY_E_DTYPE);
        counting_allocator_allow(&f.counting, 0);
        want_failure(&f,
                     eddy__output(&f.kernel, 0, EDDY_INT8, &vector_6, &data),
                     EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
        f.heap.account->limit = 1 << 20;
        want_failure(&f,
                     eddy__output(&f.kernel, 0, EDDY_INT8, &vector_6, &data),
                     EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
        counting_allocator_allow(&f.counting, -1);
        f.heap.account->limit = 128;
        want_failure(&f,
                     eddy__output(&f.kernel, 0, EDDY_INT8, &vector_6, &data),
                     EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_BYTES);
        ck_assert_ptr_nonnull(strstr(f.err.message, "int8[6]"));
        ck_assert_ptr_nonnull(strstr(f.err.message, "128 bytes"));
        finish(&f);
    }
}
END_TEST

START_TEST(a_last_use_is_written_over)
{
    fixture f;
    eddy_tensor *t;
    void *data;

    start(&f);
    t = set_input(&f, 1, EDDY_FLOAT32, &matrix_2_3, 1);
    ck_assert_int_eq(
        eddy__output_reusing(&f.kernel, 0, 1, EDDY_INT32, &matrix_2_3, &data),
        EDDY_OK);
    ck_assert_int_eq(f.values[1].kind, EDDY__NONE);
    ck_assert_ptr_eq(f.values[3].as.tensor, t);
    ck_assert_int_eq(f.values[3].dtype, EDDY_INT32);
    ck_assert_int_eq(eddy_tensor_dtype(t), EDDY_INT32);
    ck_assert_ptr_eq(data, t->data);
    finish(&f);
}
END_TEST

static void want_fresh(fixture *f, eddy_dtype dtype, const eddy_shape *shape)
{
    void *data;

    ck_assert_int_eq(
        eddy__output_reusing(&f->kernel, 0, 0, dtype, shape, &data), EDDY_OK);
    ck_assert_int_ne(f->values[0].kind, EDDY__NONE);
    if (f->values[0].kind != EDDY__SCALAR)
        ck_assert_ptr_ne(f->values[3].as.tensor, f->values[0].as.tensor);
    clear_values(f);
}

START_TEST(what_others_may_see_is_not_written_over)
{
    float data[6] = {0};
    fixture f;
    eddy_tensor *t;

    start(&f);
    /* Another consumer is still to come. */
    set_input(&f, 0, EDDY_FLOAT32, &matrix_2_3, 2);
    want_fresh(&f, EDDY_FLOAT32, &matrix_2_3);
    /* Another reference. */
    t = set_input(&f, 0, EDDY_FLOAT32, &matrix_2_3, 1);
    eddy_tensor_retain(t);
    want_fresh(&f, EDDY_FLOAT32, &matrix_2_3);
    eddy_tensor_release(t);
    /* Another size of element, another shape, no tensor. */
    set_input(&f, 0, EDDY_FLOAT32, &matrix_2_3, 1);
    want_fresh(&f, EDDY_FLOAT64, &matrix_2_3);
    set_input(&f, 0, EDDY_FLOAT32, &matrix_2_3, 1);
    want_fresh(&f, EDDY_FLOAT32, &vector_6);
    set_input(&f, 0, EDDY_STRING, &vector_6, 1);
    want_fresh(&f, EDDY_STRING, &vector_6);
    set_scalar(&f, 0, 3, 1);
    want_fresh(&f, EDDY_INT32, &scalar);
    /* Memory of the host, and of the plan. */
    ck_assert_int_eq(eddy_tensor_wrap(NULL, EDDY_FLOAT32, &vector_6, data, NULL,
                                      NULL, &t, NULL),
                     EDDY_OK);
    f.values[0] = eddy__value_take_tensor(NULL, t);
    f.values[0].uses = 1;
    want_fresh(&f, EDDY_FLOAT32, &vector_6);
    t = set_input(&f, 0, EDDY_FLOAT32, &vector_6, 1);
    f.values[0].kind = EDDY__CONSTANT;
    want_fresh(&f, EDDY_FLOAT32, &vector_6);
    eddy_tensor_release(t);
    finish(&f);
}
END_TEST

START_TEST(looks_at_an_input_stay_valid_when_it_is_written_over)
{
    fixture f;
    eddy_view view;
    void *data;

    start(&f);
    set_input(&f, 0, EDDY_INT32, &matrix_2_3, 1);
    view = eddy__in_view(&f.kernel, 0);
    ck_assert_int_eq(
        eddy__output_reusing(&f.kernel, 0, 0, EDDY_INT32, &matrix_2_3, &data),
        EDDY_OK);
    ck_assert_ptr_eq(view.data, data);
    ck_assert_int_eq(view.rank, 2);
    ck_assert_int_eq(view.dims[0], 2);
    ck_assert_int_eq(view.dims[1], 3);
    finish(&f);
}
END_TEST

START_TEST(forwarding_moves_or_shares)
{
    fixture f;
    eddy_tensor *t;

    start(&f);
    t = set_input(&f, 0, EDDY_INT32, &vector_6, 2);
    f.values[3].uses = 9;
    eddy__output_forward(&f.kernel, 0, 0);
    ck_assert_ptr_eq(f.values[3].as.tensor, t);
    ck_assert_uint_eq(atomic_load(&t->refs), 2);
    ck_assert_int_eq(f.values[0].kind, EDDY__TENSOR);
    ck_assert_uint_eq(f.values[3].uses, 9);
    f.values[0].uses = 1;
    eddy__output_forward(&f.kernel, 1, 0);
    ck_assert_ptr_eq(f.values[4].as.tensor, t);
    ck_assert_uint_eq(atomic_load(&t->refs), 2);
    ck_assert_int_eq(f.values[0].kind, EDDY__NONE);
    eddy__value_clear(&f.heap, &f.values[3]);
    set_scalar(&f, 1, 42, 1);
    eddy__output_forward(&f.kernel, 0, 1);
    ck_assert_int_eq(f.values[3].kind, EDDY__SCALAR);
    ck_assert_int_eq(f.values[3].as.i32, 42);
    finish(&f);
}
END_TEST

START_TEST(reshaping_copies_no_elements)
{
    fixture f;
    eddy_tensor *t;

    start(&f);
    /* Shared: a view. */
    t = set_input(&f, 0, EDDY_INT32, &vector_6, 2);
    ck_assert_int_eq(eddy__output_reshaped(&f.kernel, 0, 0, &matrix_2_3),
                     EDDY_OK);
    ck_assert_ptr_ne(f.values[3].as.tensor, t);
    ck_assert_ptr_eq(f.values[3].as.tensor->data, t->data);
    ck_assert_int_eq(f.values[3].as.tensor->shape.rank, 2);
    ck_assert_int_eq(t->shape.rank, 1);
    /* A last use, but a view of it lives: its header is still its own. */
    f.values[0].uses = 1;
    ck_assert_int_eq(eddy__output_reshaped(&f.kernel, 1, 0, &matrix_2_3),
                     EDDY_OK);
    ck_assert_ptr_eq(f.values[4].as.tensor->data, t->data);
    ck_assert_ptr_ne(f.values[4].as.tensor, t);
    clear_values(&f);
    /* A last use of the only reference: in place. */
    t = set_input(&f, 0, EDDY_INT32, &vector_6, 1);
    ck_assert_int_eq(eddy__output_reshaped(&f.kernel, 0, 0, &matrix_2_3),
                     EDDY_OK);
    ck_assert_ptr_eq(f.values[3].as.tensor, t);
    ck_assert_int_eq(t->shape.rank, 2);
    ck_assert_int_eq(f.values[0].kind, EDDY__NONE);
    clear_values(&f);
    /* A constant is never changed. */
    t = set_input(&f, 0, EDDY_INT32, &vector_6, 1);
    f.values[0].kind = EDDY__CONSTANT;
    ck_assert_int_eq(eddy__output_reshaped(&f.kernel, 0, 0, &matrix_2_3),
                     EDDY_OK);
    ck_assert_int_eq(t->shape.rank, 1);
    clear_values(&f);
    eddy_tensor_release(t);
    finish(&f);
}
END_TEST

START_TEST(reshaping_from_and_to_scalars)
{
    fixture f;

    start(&f);
    set_scalar(&f, 0, 42, 1);
    ck_assert_int_eq(eddy__output_reshaped(&f.kernel, 0, 0, &vector_1),
                     EDDY_OK);
    ck_assert_int_eq(f.values[3].kind, EDDY__TENSOR);
    ck_assert_int_eq(f.values[3].as.tensor->shape.rank, 1);
    ck_assert_int_eq(*(int32_t *)f.values[3].as.tensor->data, 42);
    f.values[1] = f.values[3];
    f.values[3].kind = EDDY__NONE;
    ck_assert_int_eq(eddy__output_reshaped(&f.kernel, 0, 1, &scalar), EDDY_OK);
    ck_assert_int_eq(f.values[3].kind, EDDY__SCALAR);
    ck_assert_int_eq(f.values[3].as.i32, 42);
    ck_assert_int_eq(eddy__output_reshaped(&f.kernel, 1, 0, &scalar), EDDY_OK);
    ck_assert_int_eq(f.values[4].kind, EDDY__SCALAR);
    clear_values(&f);
    /* A string of rank 0 is a tensor. */
    set_input(&f, 0, EDDY_STRING, &vector_1, 2);
    ck_assert(eddy__tensor_set_string(f.values[0].as.tensor, 0, "s", 1));
    ck_assert_int_eq(eddy__output_reshaped(&f.kernel, 0, 0, &scalar), EDDY_OK);
    ck_assert_int_eq(f.values[3].kind, EDDY__TENSOR);
    ck_assert_str_eq(eddy_tensor_string(f.values[3].as.tensor, 0).data, "s");
    finish(&f);
}
END_TEST

START_TEST(reshaping_that_fails)
{
    fixture f;

    start(&f);
    set_input(&f, 0, EDDY_INT32, &vector_6, 2);
    set_scalar(&f, 1, 1, 1);
    want_failure(&f, eddy__output_reshaped(&f.kernel, 0, 0, &vector_7),
                 EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    ck_assert_str_eq(f.err.message, "6 elements can't have the shape [7]");
    want_failure(&f, eddy__output_reshaped(&f.kernel, 0, 1, &vector_6),
                 EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    want_failure(&f, eddy__output_reshaped(&f.kernel, 0, 0, &too_large),
                 EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    counting_allocator_allow(&f.counting, 0);
    want_failure(&f, eddy__output_reshaped(&f.kernel, 0, 0, &matrix_2_3),
                 EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
    want_failure(&f, eddy__output_reshaped(&f.kernel, 0, 1, &vector_1),
                 EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
    ck_assert_int_eq(f.values[0].kind, EDDY__TENSOR);
    finish(&f);
}
END_TEST

START_TEST(shapes_given_as_tensors)
{
    const int32_t ints[9] = {2, 3, -1, 0, 0, 0, 0, 0, 0};
    const int64_t longs[2] = {INT64_C(1) << 40, 5};
    const int64_t two = 2, three = 3, nine = 9;
    eddy_view view = {.dtype = EDDY_INT32, .rank = 1, .data = ints};
    eddy_shape shape = scalar, own;
    fixture f;

    start(&f);
    view.dims = &two;
    view.count = 2;
    own = eddy__view_shape(&view);
    ck_assert_int_eq(own.rank, 1);
    ck_assert_int_eq(own.dims[0], 2);
    ck_assert_int_eq(eddy__shape_from_view(&f.kernel, &view, 0, &shape),
                     EDDY_OK);
    ck_assert_str_eq(eddy__shape_print(&shape).text, "[2,3]");
    view.dims = &three;
    view.count = 3;
    want_failure(&f, eddy__shape_from_view(&f.kernel, &view, 0, &shape),
                 EDDY_INVALID_ARGUMENT, EDDY_E_DIM);
    ck_assert_int_eq(shape.rank, 2);
    ck_assert_int_eq(eddy__shape_from_view(&f.kernel, &view, -1, &shape),
                     EDDY_OK);
    ck_assert_str_eq(eddy__shape_print(&shape).text, "[2,3,?]");
    view.dims = &nine;
    view.count = 9;
    want_failure(&f, eddy__shape_from_view(&f.kernel, &view, -1, &shape),
                 EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    view.rank = 0;
    want_failure(&f, eddy__shape_from_view(&f.kernel, &view, -1, &shape),
                 EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    view = (eddy_view){.dtype = EDDY_INT64,
                       .rank = 1,
                       .dims = &two,
                       .count = 2,
                       .data = longs};
    ck_assert_int_eq(eddy__shape_from_view(&f.kernel, &view, 0, &shape),
                     EDDY_OK);
    ck_assert_str_eq(eddy__shape_print(&shape).text, "[1099511627776,5]");
    finish(&f);
}
END_TEST

START_TEST(axes_count_from_either_end)
{
    fixture f;
    int32_t axis = 77;

    start(&f);
    ck_assert_int_eq(eddy__axis(&f.kernel, 2, 3, &axis), EDDY_OK);
    ck_assert_int_eq(axis, 2);
    ck_assert_int_eq(eddy__axis(&f.kernel, -3, 3, &axis), EDDY_OK);
    ck_assert_int_eq(axis, 0);
    want_failure(&f, eddy__axis(&f.kernel, 3, 3, &axis), EDDY_INVALID_ARGUMENT,
                 EDDY_E_INDEX);
    ck_assert_str_eq(f.err.message, "axis 3 is not in [-3, 3)");
    want_failure(&f, eddy__axis(&f.kernel, -4, 3, &axis), EDDY_INVALID_ARGUMENT,
                 EDDY_E_INDEX);
    want_failure(&f, eddy__axis(&f.kernel, 0, 0, &axis), EDDY_INVALID_ARGUMENT,
                 EDDY_E_INDEX);
    want_failure(&f, eddy__axis(&f.kernel, INT64_MIN, 3, &axis),
                 EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    ck_assert_int_eq(axis, 0);
    finish(&f);
}
END_TEST

START_TEST(host_kernels_look_at_inputs)
{
    fixture f;
    eddy_view view;
    eddy_tensor *t;

    start(&f);
    ck_assert_uint_eq(eddy_kernel_inputs(&f.kernel), 3);
    ck_assert_uint_eq(eddy_kernel_outputs(&f.kernel), 2);
    ck_assert_ptr_eq(eddy_kernel_state(&f.kernel), &f);
    set_input(&f, 0, EDDY_INT32, &matrix_2_3, 1);
    set_input(&f, 1, EDDY_STRING, &vector_6, 1);
    set_scalar(&f, 2, 42, 1);
    view = eddy_kernel_input(&f.kernel, 0);
    ck_assert_int_eq(view.rank, 2);
    ck_assert_int_eq(view.count, 6);
    ck_assert_int_eq(((const int32_t *)view.data)[5], 0x01010101);
    view = eddy_kernel_input(&f.kernel, 1);
    ck_assert_int_eq(view.dtype, EDDY_STRING);
    ck_assert_int_eq(view.count, 6);
    ck_assert_ptr_null(view.data);
    view = eddy_kernel_input(&f.kernel, 2);
    ck_assert_int_eq(view.rank, 0);
    ck_assert_int_eq(view.count, 1);
    ck_assert_int_eq(*(const int32_t *)view.data, 42);
    view = eddy_kernel_input(&f.kernel, 3);
    ck_assert_int_eq(view.dtype, EDDY_INVALID);
    ck_assert_ptr_null(view.data);
    t = eddy_kernel_input_tensor(&f.kernel, 2);
    ck_assert_int_eq(*(const int32_t *)eddy_tensor_data(t), 42);
    eddy_tensor_release(t);
    t = eddy_kernel_input_tensor(&f.kernel, 0);
    ck_assert_ptr_eq(t, f.values[0].as.tensor);
    eddy_tensor_release(t);
    ck_assert_ptr_null(eddy_kernel_input_tensor(&f.kernel, 3));

    f.values[2].kind = EDDY__LENT_RESOURCE;
    f.values[2].dtype = EDDY_RESOURCE;
    view = eddy_kernel_input(&f.kernel, 2);
    ck_assert_int_eq(view.dtype, EDDY_RESOURCE);
    ck_assert_ptr_null(view.data);
    f.values[2].kind = EDDY__NONE;
    ck_assert_int_eq(eddy_kernel_input(&f.kernel, 2).dtype, EDDY_INVALID);
    ck_assert_ptr_null(eddy_kernel_input_tensor(&f.kernel, 2));
    finish(&f);
}
END_TEST

START_TEST(host_kernels_make_outputs)
{
    fixture f;
    eddy_tensor *t;
    void *data, *again;

    start(&f);
    ck_assert_int_eq(
        eddy_kernel_output(&f.kernel, 0, EDDY_INT32, &vector_6, &data),
        EDDY_OK);
    memset(data, 1, 24);
    /* A second time replaces the first. */
    ck_assert_int_eq(
        eddy_kernel_output(&f.kernel, 0, EDDY_INT32, &scalar, &data), EDDY_OK);
    *(int32_t *)data = 5;
    ck_assert_int_eq(f.values[3].as.i32, 5);
    /* The buffer of a last use serves one output, and can still be read. */
    t = set_input(&f, 1, EDDY_INT32, &vector_6, 1);
    ck_assert_int_eq(
        eddy_kernel_output(&f.kernel, 0, EDDY_INT32, &vector_6, &data),
        EDDY_OK);
    ck_assert_ptr_eq(data, t->data);
    ck_assert_ptr_eq(eddy_kernel_input(&f.kernel, 1).data, data);
    ck_assert_int_eq(
        eddy_kernel_output(&f.kernel, 1, EDDY_INT32, &vector_6, &again),
        EDDY_OK);
    ck_assert_ptr_ne(again, data);
    finish(&f);
}
END_TEST

START_TEST(host_kernels_hand_over_tensors)
{
    fixture f;
    eddy_tensor *vector, *number;

    start(&f);
    vector = eddy__tensor_create(NULL, NULL, &f.counting.allocator, EDDY_INT32,
                                 &vector_6);
    number = eddy__tensor_create(NULL, NULL, &f.counting.allocator, EDDY_INT32,
                                 &scalar);
    *(int32_t *)eddy_tensor_mutable_data(number) = 5;
    ck_assert_int_eq(eddy_kernel_output_tensor(&f.kernel, 0, vector), EDDY_OK);
    ck_assert_int_eq(eddy_kernel_output_tensor(&f.kernel, 0, vector), EDDY_OK);
    ck_assert_int_eq(eddy_kernel_output_tensor(&f.kernel, 1, number), EDDY_OK);
    ck_assert_uint_eq(atomic_load(&vector->refs), 2);
    ck_assert_uint_eq(atomic_load(&number->refs), 1);
    ck_assert_int_eq(f.values[4].kind, EDDY__SCALAR);
    ck_assert_int_eq(f.values[4].as.i32, 5);
    eddy_tensor_release(vector);
    eddy_tensor_release(number);
    finish(&f);
}
END_TEST

START_TEST(host_kernels_can_not_break_the_node)
{
    const eddy_shape rank_9 = {.rank = 9};
    fixture f;
    eddy_tensor *t;
    void *data;

    start(&f);
    want_failure(&f,
                 eddy_kernel_output(&f.kernel, 2, EDDY_INT32, &scalar, &data),
                 EDDY_INTERNAL, EDDY_E_OUTPUT_INDEX);
    want_failure(&f,
                 eddy_kernel_output(&f.kernel, 0, EDDY_INT64, &scalar, &data),
                 EDDY_INTERNAL, EDDY_E_DTYPE);
    want_failure(&f,
                 eddy_kernel_output(&f.kernel, 0, EDDY_INT32, &rank_9, &data),
                 EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    want_failure(
        &f, eddy_kernel_output(&f.kernel, 0, EDDY_INT32, &too_large, &data),
        EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
    want_failure(&f, eddy_kernel_output_tensor(&f.kernel, 0, NULL),
                 EDDY_INTERNAL, EDDY_E_ARGUMENT);
    t = eddy__tensor_create(NULL, NULL, &f.counting.allocator, EDDY_INT64,
                            &vector_6);
    want_failure(&f, eddy_kernel_output_tensor(&f.kernel, 0, t), EDDY_INTERNAL,
                 EDDY_E_DTYPE);
    want_failure(&f, eddy_kernel_output_tensor(&f.kernel, 2, t), EDDY_INTERNAL,
                 EDDY_E_OUTPUT_INDEX);
    eddy_tensor_release(t);
    finish(&f);
}
END_TEST

START_TEST(host_kernels_read_attributes)
{
    const int64_t axis = 3;
    eddy_attr attrs[2] = {{.name = "T"},
                          {.name = "axis", .kind = EDDY_ATTR_INT, .n = 1}};
    eddy_attr attr;
    fixture f;

    start(&f);
    attrs[1].as.ints = &axis;
    f.node.attrs = attrs;
    f.node.n_attrs = 2;
    ck_assert(eddy_kernel_attr(&f.kernel, "axis", &attr));
    ck_assert_int_eq(attr.as.ints[0], 3);
    ck_assert(!eddy_kernel_attr(&f.kernel, "axes", &attr));
    finish(&f);
}
END_TEST

START_TEST(host_kernels_reach_their_run)
{
    fixture f;

    start(&f);
    ck_assert_int_eq(eddy_kernel_iteration(&f.kernel), 42);
    ck_assert(!eddy_kernel_cancelled(&f.kernel));
    f.kernel.run = &f.kernel;
    ck_assert(eddy_kernel_cancelled(&f.kernel));
    ck_assert_ptr_eq(eddy_kernel_suspend(&f.kernel), &f.kernel);
    eddy_kernel_complete(&f.kernel, EDDY_ABORTED);
    ck_assert_int_eq(f.completed, EDDY_ABORTED);
    finish(&f);
}
END_TEST

START_TEST(failing_without_a_record)
{
    fixture f;

    start(&f);
    f.kernel.err = NULL;
    ck_assert_int_eq(
        eddy_kernel_fail(&f.kernel, EDDY_ABORTED, EDDY_E_NONE, "%d", 1),
        EDDY_ABORTED);
    finish(&f);
}
END_TEST

TCase *kernel_tests(void)
{
    TCase *tests = tcase_create("kernel");

    tcase_add_test(tests, outputs_are_scalars_or_tensors);
    tcase_add_test(tests, failed_outputs_say_why);
    tcase_add_test(tests, a_last_use_is_written_over);
    tcase_add_test(tests, what_others_may_see_is_not_written_over);
    tcase_add_test(tests, looks_at_an_input_stay_valid_when_it_is_written_over);
    tcase_add_test(tests, forwarding_moves_or_shares);
    tcase_add_test(tests, reshaping_copies_no_elements);
    tcase_add_test(tests, reshaping_from_and_to_scalars);
    tcase_add_test(tests, reshaping_that_fails);
    tcase_add_test(tests, shapes_given_as_tensors);
    tcase_add_test(tests, axes_count_from_either_end);
    tcase_add_test(tests, host_kernels_look_at_inputs);
    tcase_add_test(tests, host_kernels_make_outputs);
    tcase_add_test(tests, host_kernels_hand_over_tensors);
    tcase_add_test(tests, host_kernels_can_not_break_the_node);
    tcase_add_test(tests, host_kernels_read_attributes);
    tcase_add_test(tests, host_kernels_reach_their_run);
    tcase_add_test(tests, failing_without_a_record);
    return tests;
}
