/* SPDX-License-Identifier: Apache-2.0 */
/* What shape functions and prepare functions ask and set. */
#include "core/base/status.h"
#include "core/graph/infer.h"
#include "tests/aid/core_fixture.h"
#include "tests/suites.h"

#include <string.h>

static core_fixture f;
static eddy_shape inputs[4], outputs[4];
static const eddy_tensor *constants[4];
static eddy_infer infer;

static void setup(void)
{
    core_fixture_init(&f);
    memset(constants, 0, sizeof constants);
    infer = (eddy_infer){.inputs = inputs,
                         .constants = constants,
                         .outputs = outputs,
                         .err = &f.err};
    for (size_t i = 0; i < 4; i++)
        inputs[i] = outputs[i] = eddy__shape_unknown();
}

static void teardown(void)
{
    core_fixture_deinit(&f);
}

/* Asks about a node of `op` whose inputs are of `dtype`. */
static void look_at(const char *op, eddy_dtype dtype, size_t n)
{
    const eddy_output source = core_fixture_source(&f, "source", dtype);
    const eddy_output edges[] = {source, source, source, source};
    eddy_output out;

    ck_assert_msg(eddy_graph_add_op(f.graph, op, "node", edges, n, &out,
                                    &f.err) == EDDY_OK,
                  "%s", f.err.message);
    infer.node = eddy__graph_node(f.graph, out.node);
}

static eddy_shape shape_of(int32_t rank, int64_t a, int64_t b)
{
    return (eddy_shape){.rank = rank, .dims = {a, b}};
}

static void want(uint32_t i, const char *text)
{
    ck_assert_str_eq(eddy__shape_print(&outputs[i]).text, text);
}

START_TEST(dtypes_and_counts_are_the_nodes)
{
    look_at("Join", EDDY_FLOAT32, 3);
    ck_assert_uint_eq(eddy_infer_inputs(&infer), 3);
    ck_assert_uint_eq(eddy_infer_outputs(&infer), 2);
    ck_assert_int_eq(eddy_infer_input_dtype(&infer, 2), EDDY_FLOAT32);
    ck_assert_int_eq(eddy_infer_output_dtype(&infer, 1), EDDY_INT32);
    ck_assert_int_eq(eddy__infer_int(&infer, "N"), 3);
    ck_assert_int_eq(eddy__infer_type(&infer, "T"), EDDY_FLOAT32);
}
END_TEST

START_TEST(what_is_not_there_is_unknown)
{
    const eddy_shape scalar = eddy__shape_scalar();
    eddy_attr attr;

    look_at("Identity", EDDY_FLOAT32, 1);
    ck_assert_int_eq(eddy_infer_input_dtype(&infer, 1), EDDY_INVALID);
    ck_assert_int_eq(eddy_infer_output_dtype(&infer, 1), EDDY_INVALID);
    ck_assert_int_eq(eddy_infer_input(&infer, 1)->rank, -1);
    ck_assert_ptr_null(eddy_infer_constant(&infer, 1));
    ck_assert(!eddy_infer_attr(&infer, "axis", &attr));
    eddy_infer_set_output(&infer, 1, &scalar);
    want(1, "?");
}
END_TEST

START_TEST(attributes_are_the_nodes)
{
    eddy_attr attr;

    look_at("Options", EDDY_FLOAT32, 1);
    ck_assert(eddy_infer_attr(&infer, "dims", &attr));
    ck_assert_uint_eq(attr.n, 2);
    ck_assert_int_eq(eddy__infer_int(&infer, "axis"), -1);
    ck_assert(eddy__infer_bool(&infer, "keep"));
}
END_TEST

START_TEST(a_failure_names_the_node)
{
    look_at("Identity", EDDY_FLOAT32, 1);
    ck_assert_int_eq(eddy_infer_fail(&infer, EDDY_UNIMPLEMENTED,
                                     EDDY_E_NO_KERNEL, "no %d", 7),
                     EDDY_UNIMPLEMENTED);
    ck_assert_int_eq(f.err.detail, EDDY_E_NO_KERNEL);
    ck_assert_str_eq(f.err.node, "node");
    ck_assert_str_eq(f.err.op, "Identity");
    ck_assert_str_eq(f.err.message, "no 7");
    infer.err = NULL;
    ck_assert_int_eq(
        eddy_infer_fail(&infer, EDDY_INTERNAL, EDDY_E_NONE, "unheard"),
        EDDY_INTERNAL);
}
END_TEST

START_TEST(unchanged_gives_every_output_the_first_input)
{
    look_at("Join", EDDY_FLOAT32, 2);
    inputs[0] = shape_of(2, 3, -1);
    inputs[1] = shape_of(1, 7, 0);
    ck_assert_int_eq(eddy__infer_unchanged(&infer), EDDY_OK);
    want(0, "[3,?]");
    want(1, "[3,?]");
}
END_TEST

START_TEST(scalar_gives_every_output_rank_zero)
{
    look_at("Join", EDDY_FLOAT32, 2);
    ck_assert_int_eq(eddy__infer_scalar(&infer), EDDY_OK);
    want(0, "[]");
    want(1, "[]");
}
END_TEST

START_TEST(broadcast_follows_numpy_or_fails)
{
    look_at("Add", EDDY_FLOAT32, 2);
    inputs[0] = shape_of(2, 3, 1);
    inputs[1] = shape_of(1, 4, 0);
    ck_assert_int_eq(eddy__infer_broadcast(&infer), EDDY_OK);
    want(0, "[3,4]");
    inputs[1] = eddy__shape_unknown();
    ck_assert_int_eq(eddy__infer_broadcast(&infer), EDDY_OK);
    want(0, "?");
    inputs[0] = shape_of(1, 3, 0);
    inputs[1] = shape_of(1, 4, 0);
    core_fixture_want(&f, eddy__infer_broadcast(&infer), EDDY_INVALID_ARGUMENT,
                      EDDY_E_SHAPE);
    ck_assert_str_eq(f.err.message, "shapes [3] and [4] do not broadcast");
}
END_TEST

START_TEST(a_wanted_rank_may_be_unknown_but_not_another)
{
    look_at("Add", EDDY_FLOAT32, 2);
    ck_assert_int_eq(eddy__infer_want_rank(&infer, 1, 2), EDDY_OK);
    inputs[1] = shape_of(2, -1, 5);
    ck_assert_int_eq(eddy__infer_want_rank(&infer, 1, 2), EDDY_OK);
    core_fixture_want(&f, eddy__infer_want_rank(&infer, 1, 1),
                      EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    ck_assert_str_eq(f.err.message,
                     "input 1 has shape [?,5], rank 1 is wanted");
}
END_TEST

static eddy_tensor *vector(eddy_dtype dtype, int64_t n)
{
    const eddy_shape shape = eddy__shape_vector(n);
    eddy_tensor *tensor;

    ck_assert_int_eq(eddy_tensor_create(&f.ctx, dtype, &shape, &tensor, &f.err),
                     EDDY_OK);
    memset(eddy_tensor_mutable_data(tensor), 0, eddy_tensor_bytes(tensor));
    return tensor;
}

START_TEST(a_constant_index_is_read_from_both_widths)
{
    eddy_tensor *narrow = vector(EDDY_INT32, 2), *wide = vector(EDDY_INT64, 1),
                *flags = vector(EDDY_BOOL, 1);
    int64_t value = 99;

    look_at("Join", EDDY_FLOAT32, 4);
    ((int32_t *)eddy_tensor_mutable_data(narrow))[1] = -8;
    ((int64_t *)eddy_tensor_mutable_data(wide))[0] = INT64_MIN;
    constants[0] = narrow;
    constants[1] = wide;
    constants[2] = flags;
    ck_assert(eddy__infer_constant_int(&infer, 0, 1, &value));
    ck_assert_int_eq(value, -8);
    ck_assert(eddy__infer_constant_int(&infer, 1, 0, &value));
    ck_assert_int_eq(value, INT64_MIN);
    ck_assert(!eddy__infer_constant_int(&infer, 0, 2, &value));
    ck_assert(!eddy__infer_constant_int(&infer, 0, -1, &value));
    ck_assert(!eddy__infer_constant_int(&infer, 2, 0, &value));
    ck_assert(!eddy__infer_constant_int(&infer, 3, 0, &value));
    ck_assert(!eddy__infer_constant_int(&infer, 9, 0, &value));
    eddy_tensor_release(narrow);
    eddy_tensor_release(wide);
    eddy_tensor_release(flags);
}
END_TEST

static eddy_status run_nothing(eddy_kernel *kernel)
{
    (void)kernel;
    return EDDY_OK;
}

START_TEST(prepare_leaves_a_kernel_and_zeroed_state)
{
    eddy__arena arena = {.allocator = &f.counting.allocator};
    const char *state;

    ck_assert_ptr_null(eddy_infer_state(&infer, 8));
    infer.arena = &arena;
    state = eddy_infer_state(&infer, 100);
    ck_assert_ptr_nonnull(state);
    ck_assert_ptr_eq(infer.state, state);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(state[i], 0);
    eddy_infer_set_kernel(&infer, run_nothing);
    ck_assert(infer.kernel == run_nothing);
    counting_allocator_allow(&f.counting, 0);
    ck_assert_ptr_null(eddy_infer_state(&infer, 1 << 20));
    counting_allocator_allow(&f.counting, -1);
    eddy__arena_destroy(&arena);
}
END_TEST

TCase *infer_tests(void)
{
    TCase *tc = tcase_create("infer");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, dtypes_and_counts_are_the_nodes);
    tcase_add_test(tc, what_is_not_there_is_unknown);
    tcase_add_test(tc, attributes_are_the_nodes);
    tcase_add_test(tc, a_failure_names_the_node);
    tcase_add_test(tc, unchanged_gives_every_output_the_first_input);
    tcase_add_test(tc, scalar_gives_every_output_rank_zero);
    tcase_add_test(tc, broadcast_follows_numpy_or_fails);
    tcase_add_test(tc, a_wanted_rank_may_be_unknown_but_not_another);
    tcase_add_test(tc, a_constant_index_is_read_from_both_widths);
    tcase_add_test(tc, prepare_leaves_a_kernel_and_zeroed_state);
    return tc;
}
