/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX operators where they differ from eddy's ops, on inputs whose shapes are
 * not known while the model is loaded.
 */
#include "tests/aid/onnx_node.h"
#include "tests/suites.h"

#include <math.h>

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

#define VECTOR(dtype, n, ...)                                                  \
    {                                                                          \
        dtype, 1, {n},                                                         \
        {                                                                      \
            __VA_ARGS__                                                        \
        }                                                                      \
    }
#define MATRIX(dtype, n, m, ...)                                               \
    {                                                                          \
        dtype, 2, {n, m},                                                      \
        {                                                                      \
            __VA_ARGS__                                                        \
        }                                                                      \
    }
#define ROW(dtype, n, ...)                                                     \
    {                                                                          \
        dtype, 4, {1, 1, 1, n},                                                \
        {                                                                      \
            __VA_ARGS__                                                        \
        }                                                                      \
    }
#define NUMBER(dtype, value)                                                   \
    {                                                                          \
        dtype, 0, {0},                                                         \
        {                                                                      \
            value                                                              \
        }                                                                      \
    }
#define ABSENT                                                                 \
    {                                                                          \
        EDDY_INVALID, -1, {0},                                                 \
        {                                                                      \
            0                                                                  \
        }                                                                      \
    }

#define I64 EDDY_INT64
#define F32 EDDY_FLOAT32

static void check_all(const onnx_node *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        onnx_node_check(&nodes[i]);
}

START_TEST(integers_divide_towards_zero_and_mod_has_two_meanings)
{
    static const onnx_node nodes[] = {
        {"Div",
         14,
         NULL,
         2,
         {VECTOR(I64, 2, -7, 7), VECTOR(I64, 2, 2, -2)},
         .want = VECTOR(I64, 2, -3, -3)},
        {"Mod",
         13,
         NULL,
         2,
         {VECTOR(I64, 2, -7, 7), VECTOR(I64, 2, 2, -2)},
         .want = VECTOR(I64, 2, 1, -1)},
        {"Mod",
         13,
         "fmod=1",
         2,
         {VECTOR(EDDY_INT8, 2, -7, 7), VECTOR(EDDY_INT8, 2, 2, -2)},
         .want = VECTOR(EDDY_INT8, 2, -1, 1)},
        {"Pow",
         15,
         NULL,
         2,
         {VECTOR(EDDY_INT32, 3, 1, 4, 9), NUMBER(F32, 0.5)},
         .want = VECTOR(EDDY_INT32, 3, 1, 2, 3)},
        {"Round",
         11,
         NULL,
         1,
         {VECTOR(F32, 4, 0.5, 1.5, 2.5, -0.5)},
         .want = VECTOR(F32, 4, 0, 2, 2, -0.0)},
    };

    check_all(nodes, N_OF(nodes));
}
END_TEST

START_TEST(old_operators_line_up_their_operands_by_an_axis)
{
    static const onnx_node node = {
        "Add",
        6,
        "broadcast=1 axis=0",
        2,
        {MATRIX(F32, 2, 3, 1, 2, 3, 4, 5, 6), VECTOR(F32, 2, 10, 20)},
        .want = MATRIX(F32, 2, 3, 11, 12, 13, 24, 25, 26)};

    onnx_node_check(&node);
}
END_TEST

START_TEST(no_axes_are_all_of_them_or_none)
{
    static const onnx_node nodes[] = {
        {"ReduceSum",
         13,
         "keepdims=0",
         2,
         {MATRIX(F32, 2, 2, 1, 2, 3, 4), VECTOR(I64, 0, 0)},
         .want = NUMBER(F32, 10)},
        {"ReduceSumSquare",
         18,
         "noop_with_empty_axes=1",
         2,
         {MATRIX(F32, 2, 2, 1, 2, 3, 4), VECTOR(I64, 0, 0)},
         .want = MATRIX(F32, 2, 2, 1, 4, 9, 16)},
        {"ReduceLogSumExp",
         18,
         "keepdims=0",
         2,
         {VECTOR(F32, 2, 1000, 1000), ABSENT},
         .want = NUMBER(F32, 1000.6931471805599)},
        {"ReduceMax",
         18,
         "keepdims=0",
         2,
         {VECTOR(F32, 0, 0), ABSENT},
         .want = NUMBER(F32, -(double)INFINITY)},
    };

    check_all(nodes, N_OF(nodes));
}
END_TEST

START_TEST(a_softmax_before_opset_13_is_of_all_axes_behind)
{
    static const onnx_node nodes[] = {
        {"Softmax",
         12,
         "axis=0",
         1,
         {MATRIX(F32, 2, 2, 0, 0, 0, 0)},
         .want = MATRIX(F32, 2, 2, 0.25, 0.25, 0.25, 0.25)},
        {"Softmax",
         13,
         "axis=0",
         1,
         {MATRIX(F32, 2, 2, 0, 0, 0, 0)},
         .want = MATRIX(F32, 2, 2, 0.5, 0.5, 0.5, 0.5)},
    };

    check_all(nodes, N_OF(nodes));
}
END_TEST

START_TEST(slices_go_backward_and_by_axes_from_behind)
{
    static const onnx_node nodes[] = {
        {"Slice",
         13,
         NULL,
         5,
         {MATRIX(I64, 2, 3, 0, 1, 2, 3, 4, 5), VECTOR(I64, 1, 10),
          VECTOR(I64, 1, -9223372036854775807.0), VECTOR(I64, 1, -1),
          VECTOR(I64, 1, -2)},
         .want = MATRIX(I64, 2, 2, 2, 0, 5, 3)},
        {"Slice",
         1,
         "starts=[1] ends=[2] axes=[1]",
         1,
         {MATRIX(I64, 2, 3, 0, 1, 2, 3, 4, 5)},
         .want = MATRIX(I64, 2, 1, 1, 4)},
    };

    check_all(nodes, N_OF(nodes));
}
END_TEST

START_TEST(a_last_part_of_a_split_is_smaller)
{
    static const onnx_node nodes[] = {
        {"Split",
         18,
         "num_outputs=3",
         1,
         {VECTOR(I64, 7, 0, 1, 2, 3, 4, 5, 6)},
         .n_outputs = 3,
         .output = 0,
         .want = VECTOR(I64, 3, 0, 1, 2)},
        {"Split",
         18,
         "num_outputs=3",
         1,
         {VECTOR(I64, 7, 0, 1, 2, 3, 4, 5, 6)},
         .n_outputs = 3,
         .output = 2,
         .want = VECTOR(I64, 1, 6)},
    };

    check_all(nodes, N_OF(nodes));
}
END_TEST

START_TEST(shapes_are_changed_whatever_the_rank)
{
    static const onnx_node nodes[] = {
        {"Reshape",
         14,
         NULL,
         2,
         {MATRIX(I64, 2, 3, 0, 1, 2, 3, 4, 5), VECTOR(I64, 3, 0, -1, 1)},
         .want = {I64, 3, {2, 3, 1}, {0, 1, 2, 3, 4, 5}}},
        {"Unsqueeze",
         13,
         NULL,
         2,
         {VECTOR(I64, 2, 5, 6), VECTOR(I64, 2, -1, 0)},
         .want = {I64, 3, {1, 2, 1}, {5, 6}}},
        {"Squeeze",
         13,
         NULL,
         2,
         {MATRIX(I64, 2, 1, 5, 6), VECTOR(I64, 1, -1)},
         .want = VECTOR(I64, 2, 5, 6)},
        {"Flatten",
         13,
         "axis=0",
         1,
         {VECTOR(I64, 2, 5, 6)},
         .want = MATRIX(I64, 1, 2, 5, 6)},
        {"Shape",
         15,
         "start=-1",
         1,
         {MATRIX(I64, 1, 3, 5, 6, 7)},
         .want = VECTOR(I64, 1, 3)},
        {"Pad",
         19,
         NULL,
         2,
         {VECTOR(I64, 3, 1, 2, 3), VECTOR(I64, 2, -1, 2)},
         .want = VECTOR(I64, 4, 2, 3, 0, 0)},
    };

    check_all(nodes, N_OF(nodes));
}
END_TEST

START_TEST(indices_count_from_behind)
{
    static const onnx_node nodes[] = {
        {"Gather",
         13,
         "axis=1",
         2,
         {MATRIX(I64, 2, 2, 1, 2, 3, 4), NUMBER(I64, -1)},
         .want = VECTOR(I64, 2, 2, 4)},
        {"GatherElements",
         13,
         "axis=-1",
         2,
         {MATRIX(I64, 2, 2, 1, 2, 3, 4), MATRIX(I64, 2, 1, -1, 0)},
         .want = MATRIX(I64, 2, 1, 2, 3)},
        {"ScatterElements",
         18,
         "reduction=mul",
         3,
         {VECTOR(F32, 3, 2, 3, 4), VECTOR(I64, 3, -1, 0, -1),
          VECTOR(F32, 3, 5, 6, 7)},
         .want = VECTOR(F32, 3, 12, 3, 140)},
        {"TopK",
         11,
         "largest=0 axis=0",
         2,
         {VECTOR(EDDY_INT32, 4, 3, -2147483648.0, 3, 7), VECTOR(I64, 1, 3)},
         .n_outputs = 2,
         .output = 1,
         .want = VECTOR(I64, 3, 1, 0, 2)},
    };
    static const onnx_node outside = {"Gather",
                                      13,
                                      NULL,
                                      2,
                                      {VECTOR(I64, 2, 1, 2), NUMBER(I64, -3)},
                                      .want = NUMBER(I64, 0)};

    check_all(nodes, N_OF(nodes));
    onnx_node_check_fails(&outside, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
}
END_TEST

/* By an attribute when the model is loaded, by an input when it is run. */
START_TEST(an_axis_is_put_in_once)
{
    static const onnx_node attr = {
        "Unsqueeze",           12, "axes=[2,0,2]", 1, {VECTOR(I64, 2, 5, 6)},
        .want = NUMBER(I64, 0)};
    static const onnx_node inputs[] = {
        {"Unsqueeze",
         13,
         NULL,
         2,
         {VECTOR(I64, 2, 5, 6), VECTOR(I64, 2, 0, 0)},
         .want = NUMBER(I64, 0)},
        /* The same axis of three, from both ends. */
        {"Unsqueeze",
         13,
         NULL,
         2,
         {VECTOR(I64, 2, 5, 6), VECTOR(I64, 2, 2, -1)},
         .want = NUMBER(I64, 0)},
        {"Unsqueeze",
         13,
         NULL,
         2,
         {VECTOR(I64, 2, 5, 6), VECTOR(I64, 1, 2)},
         .want = NUMBER(I64, 0)},
        {"Unsqueeze",
         13,
         NULL,
         2,
         {NUMBER(I64, 5), VECTOR(I64, 2, 0, 0)},
         .want = NUMBER(I64, 0)},
    };

    onnx_node_check_fails(&attr, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
    for (size_t i = 0; i < N_OF(inputs); i++)
        onnx_node_check_fails(&inputs[i], EDDY_INVALID_ARGUMENT, EDDY_E_DIM);
}
END_TEST

START_TEST(a_vector_times_a_vector_is_a_number)
{
    static const onnx_node nodes[] = {
        {"MatMul",
         13,
         NULL,
         2,
         {VECTOR(F32, 2, 1, 2), VECTOR(F32, 2, 3, 4)},
         .want = NUMBER(F32, 11)},
        {"MatMul",
         13,
         NULL,
         2,
         {MATRIX(F32, 2, 2, 1, 2, 3, 4), VECTOR(F32, 2, 1, 1)},
         .want = VECTOR(F32, 2, 3, 7)},
        {"Gemm",
         13,
         "transA=1 alpha=2.0 beta=0.5",
         3,
         {MATRIX(F32, 2, 1, 1, 2), MATRIX(F32, 2, 1, 3, 4), NUMBER(F32, 2)},
         .want = MATRIX(F32, 1, 1, 23)},
    };

    check_all(nodes, N_OF(nodes));
}
END_TEST

START_TEST(a_pool_rounds_up_and_counts_what_it_covers)
{
    static const onnx_node node = {"AveragePool",
                                   19,
                                   "kernel_shape=[2] strides=[2] ceil_mode=1",
                                   1,
                                   {{F32, 3, {1, 1, 3}, {1, 3, 5}}},
                                   .want = {F32, 3, {1, 1, 2}, {2, 5}}};
    static const onnx_node at = {"MaxPool",
                                 12,
                                 "kernel_shape=[2] pads=[1,0]",
                                 1,
                                 {{F32, 3, {1, 2, 2}, {-4, -3, -2, -5}}},
                                 .n_outputs = 2,
                                 .output = 1,
                                 .want = {I64, 3, {1, 2, 2}, {0, 1, 2, 2}}};

    onnx_node_check(&node);
    onnx_node_check(&at);
}
END_TEST

START_TEST(a_hardmax_of_nothing_is_nothing)
{
    const onnx_node node = {"Hardmax",
                            _i ? 13 : 11,
                            "axis=1",
                            1,
                            {{EDDY_FLOAT32, 2, {2, 0}, {0}}},
                            1,
                            0,
                            {EDDY_FLOAT32, 2, {2, 0}, {0}}};

    onnx_node_check(&node);
}
END_TEST

START_TEST(what_does_not_fit_is_refused_with_a_reason)
{
    static const onnx_node mode = {"Pad",
                                   19,
                                   "mode=round",
                                   2,
                                   {VECTOR(F32, 1, 1), VECTOR(I64, 2, 1, 1)},
                                   .want = VECTOR(F32, 1, 0)};
    static const onnx_node attr = {
        "Relu", 14, "foo=1", 1, {VECTOR(F32, 1, 1)}, .want = VECTOR(F32, 1, 0)};
    static const onnx_node newer = {"Trilu",
                                    11,
                                    NULL,
                                    1,
                                    {MATRIX(F32, 1, 1, 1)},
                                    .want = MATRIX(F32, 1, 1, 0)};

    static const onnx_node three = {
        "Einsum",
        12,
        "equation=i,i->i",
        3,
        {VECTOR(F32, 1, 1), VECTOR(F32, 1, 1), VECTOR(F32, 1, 1)},
        .want = VECTOR(F32, 1, 0)};

    onnx_node_check_fails(&three, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
    onnx_node_check_fails(&mode, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
    onnx_node_check_fails(&attr, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
    onnx_node_check_fails(&newer, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP);
}
END_TEST

START_TEST(numbers_of_any_size_are_refused_without_overflow)
{
    static const onnx_node wrong[] = {
        {"DepthToSpace",
         13,
         "blocksize=9223372036854775807",
         1,
         {ROW(F32, 2, 1, 2)},
         .want = {.dtype = F32}},
        {"SpaceToDepth",
         13,
         "blocksize=1099511627776",
         1,
         {ROW(F32, 2, 1, 2)},
         .want = {.dtype = F32}},
        {"LRN",
         13,
         "size=-9223372036854775808",
         1,
         {ROW(F32, 2, 1, 2)},
         .want = {.dtype = F32}},
    };
    static const onnx_node pool = {"MaxPool",
                                   12,
                                   "kernel_shape=[1,9223372036854775807]",
                                   1,
                                   {ROW(F32, 2, 1, 2)},
                                   .want = {.dtype = F32}};
    /* A seed and a window may be any number. */
    static const onnx_node right[] = {
        {"Dropout",
         13,
         "seed=9223372036854775807",
         1,
         {VECTOR(F32, 2, 1, 2)},
         .want = VECTOR(F32, 2, 1, 2)},
        {"Attention",
         24,
         "right_window_size=-9223372036854775808",
         3,
         {ROW(F32, 1, 1), ROW(F32, 1, 1), ROW(F32, 1, 1)},
         .want = ROW(F32, 1, 1)},
    };

    for (size_t i = 0; i < N_OF(wrong); i++)
        onnx_node_check_fails(&wrong[i], EDDY_INVALID_ARGUMENT,
                              EDDY_E_ATTR_VALUE);
    onnx_node_check_fails(&pool, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
    check_all(right, N_OF(right));
}
END_TEST

START_TEST(composed_operators_have_gradients)
{
    static const onnx_node nodes[] = {
        {"Gelu",
         20,
         "approximate=tanh",
         1,
         {VECTOR(EDDY_FLOAT64, 3, -1.2, 0.3, 2.1)},
         .want = {.dtype = EDDY_FLOAT64}},
        {"LayerNormalization",
         17,
         "stash_type=11",
         2,
         {MATRIX(EDDY_FLOAT64, 2, 3, 1, 2, 4, -1, 0.5, 3),
          VECTOR(EDDY_FLOAT64, 3, 1, 2, 3)},
         .want = {.dtype = EDDY_FLOAT64}},
        {"ReduceLogSumExp",
         13,
         "axes=[1]",
         1,
         {MATRIX(EDDY_FLOAT64, 2, 3, 1, 2, 4, -1, 0.5, 3)},
         .want = {.dtype = EDDY_FLOAT64}},
        {"GatherElements",
         13,
         "axis=1",
         2,
         {MATRIX(EDDY_FLOAT64, 2, 3, 1, 2, 4, -1, 0.5, 3),
          MATRIX(I64, 2, 2, 0, -1, 1, 1)},
         .want = {.dtype = EDDY_FLOAT64}},
        {"MaxPool",
         12,
         "kernel_shape=[2]",
         1,
         {{EDDY_FLOAT64, 3, {1, 1, 4}, {1, 3, 2, 5}}},
         .want = {.dtype = EDDY_FLOAT64}},
        {"Conv",
         11,
         "kernel_shape=[2] group=2 pads=[1,0] dilations=[2]",
         2,
         {{EDDY_FLOAT64, 3, {1, 2, 3}, {1, 3, 2, 5, -1, 4}},
          {EDDY_FLOAT64, 3, {2, 1, 2}, {0.5, 1, -2, 3}}},
         .want = {.dtype = EDDY_FLOAT64}},
        {"ConvTranspose",
         11,
         "kernel_shape=[2] strides=[2] pads=[1,0]",
         2,
         {{EDDY_FLOAT64, 3, {1, 2, 2}, {1, 3, 2, 5}},
          {EDDY_FLOAT64, 3, {2, 1, 2}, {0.5, 1, -2, 3}}},
         .want = {.dtype = EDDY_FLOAT64}},
        {"RNN",
         14,
         "hidden_size=2 direction=reverse",
         3,
         {{EDDY_FLOAT64, 3, {3, 1, 1}, {0.5, -1, 2}},
          {EDDY_FLOAT64, 3, {1, 2, 1}, {0.3, -0.7}},
          {EDDY_FLOAT64, 3, {1, 2, 2}, {0.1, 0.2, -0.4, 0.6}}},
         .want = {.dtype = EDDY_FLOAT64}},
    };

    for (size_t i = 0; i < N_OF(nodes); i++)
        onnx_node_check_gradient(&nodes[i]);
}
END_TEST

START_TEST(attributes_of_floats_go_with_integers)
{
    static const onnx_node nodes[] = {
        {"Shrink",
         9,
         "lambd=1.5 bias=0.5",
         1,
         {VECTOR(EDDY_UINT8, 4, 0, 1, 2, 9)},
         .want = VECTOR(EDDY_UINT8, 4, 0, 0, 1, 8)},
        {"Shrink",
         9,
         "lambd=1.5",
         1,
         {VECTOR(EDDY_INT8, 4, -2, -1, 1, 2)},
         .want = VECTOR(EDDY_INT8, 4, -2, 0, 0, 2)},
        {"Erf",
         9,
         NULL,
         1,
         {VECTOR(EDDY_INT32, 3, -9, 1, 9)},
         .want = VECTOR(EDDY_INT32, 3, -1, 0, 1)},
        {"QuantizeLinear",
         21,
         NULL,
         3,
         {VECTOR(EDDY_INT32, 3, 7, -7, 300), NUMBER(F32, 2),
          NUMBER(EDDY_UINT8, 10)},
         .want = VECTOR(EDDY_UINT8, 3, 14, 6, 160)},
        {"Einsum",
         12,
         "equation=ij,jk",
         2,
         {MATRIX(EDDY_UINT8, 1, 2, 16, 1), MATRIX(EDDY_UINT8, 2, 1, 16, 3)},
         .want = MATRIX(EDDY_UINT8, 1, 1, 3)},
    };

    check_all(nodes, N_OF(nodes));
}
END_TEST

START_TEST(images_are_resized_as_of_old)
{
    static const onnx_node nodes[] = {
        {"Upsample",
         6,
         "height_scale=1.0 width_scale=2.0 mode=bilinear",
         1,
         {ROW(F32, 2, 1, 2)},
         .want = ROW(F32, 4, 1, 1.5, 2, 2)},
    };
    static const onnx_node wrong[] = {
        {"Upsample",
         7,
         NULL,
         1,
         {MATRIX(F32, 1, 2, 1, 2)},
         .want = {.dtype = F32}},
        {"Upsample",
         6,
         "height_scale=2.0",
         1,
         {ROW(F32, 2, 1, 2)},
         .want = {.dtype = F32}},
    };

    check_all(nodes, N_OF(nodes));
    for (size_t i = 0; i < N_OF(wrong); i++)
        onnx_node_check_fails(&wrong[i], EDDY_INVALID_ARGUMENT,
                              EDDY_E_ATTR_VALUE);
}
END_TEST

START_TEST(a_rank_need_not_be_known)
{
    static const onnx_node nodes[] = {
        {"BatchNormalization",
         7,
         "spatial=0 epsilon=0.0",
         5,
         {{F32, 3, {2, 1, 2}, {1, 2, 3, 4}},
          MATRIX(F32, 1, 2, 1, 2),
          MATRIX(F32, 1, 2, 0, 1),
          MATRIX(F32, 1, 2, 1, 1),
          MATRIX(F32, 1, 2, 1, 4)},
         .want = {F32, 3, {2, 1, 2}, {0, 2, 2, 4}}},
        {"LRN",
         13,
         "size=1 alpha=1.0 beta=1.0 bias=1.0",
         1,
         {{F32, 3, {1, 2, 1}, {1, 3}}},
         .want = {F32, 3, {1, 2, 1}, {0.5, 0.3}}},
        {"QuantizeLinear",
         13,
         "axis=-2",
         3,
         {MATRIX(F32, 2, 2, 1, 2, 3, 4), VECTOR(F32, 2, 1, 2),
          VECTOR(EDDY_INT8, 2, 0, 1)},
         .want = MATRIX(EDDY_INT8, 2, 2, 1, 2, 3, 3)},
    };

    check_all(nodes, N_OF(nodes));
}
END_TEST

TCase *onnx_ops_tests(void)
{
    TCase *tcase = tcase_create("onnx_ops");

    tcase_add_test(tcase,
                   integers_divide_towards_zero_and_mod_has_two_meanings);
    tcase_add_test(tcase, old_operators_line_up_their_operands_by_an_axis);
    tcase_add_test(tcase, no_axes_are_all_of_them_or_none);
    tcase_add_test(tcase, a_softmax_before_opset_13_is_of_all_axes_behind);
    tcase_add_test(tcase, slices_go_backward_and_by_axes_from_behind);
    tcase_add_test(tcase, a_last_part_of_a_split_is_smaller);
    tcase_add_test(tcase, shapes_are_changed_whatever_the_rank);
    tcase_add_test(tcase, indices_count_from_behind);
    tcase_add_test(tcase, an_axis_is_put_in_once);
    tcase_add_test(tcase, a_vector_times_a_vector_is_a_number);
    tcase_add_test(tcase, a_pool_rounds_up_and_counts_what_it_covers);
    tcase_add_loop_test(tcase, a_hardmax_of_nothing_is_nothing, 0, 2);
    tcase_add_test(tcase, what_does_not_fit_is_refused_with_a_reason);
    tcase_add_test(tcase, numbers_of_any_size_are_refused_without_overflow);
    tcase_add_test(tcase, composed_operators_have_gradients);
    tcase_add_test(tcase, attributes_of_floats_go_with_integers);
    tcase_add_test(tcase, images_are_resized_as_of_old);
    tcase_add_test(tcase, a_rank_need_not_be_known);
    return tcase;
}
