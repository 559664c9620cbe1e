/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that a program registers: signatures, shapes, prepare, kernels. */
#include "tests/aid/probe_ops.h"
#include "tests/suites.h"

#include <string.h>

static program p;

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    program_deinit(&p);
}

static void register_op(const eddy_op_spec *spec)
{
    ck_assert_msg(eddy_op_register(p.ctx, spec, &p.err) == EDDY_OK, "%s",
                  p.err.message);
}

/* ---- an op with everything: y = x * factor + iteration ---- */

static eddy_status infer_scale(eddy_infer *infer)
{
    ck_assert_uint_eq(eddy_infer_inputs(infer), 1);
    ck_assert_uint_eq(eddy_infer_outputs(infer), 1);
    eddy_infer_set_output(infer, 0, eddy_infer_input(infer, 0));
    return EDDY_OK;
}

static int64_t attr_int(const eddy_attr *attr)
{
    ck_assert_int_eq(attr->kind, EDDY_ATTR_INT);
    ck_assert_uint_eq(attr->n, 1);
    return attr->as.ints[0];
}

static eddy_status scale_floats(eddy_kernel *kernel)
{
    const eddy_view x = eddy_kernel_input(kernel, 0);
    const int64_t factor = *(const int64_t *)eddy_kernel_state(kernel);
    eddy_shape shape = {.rank = x.rank};
    eddy_status status;
    void *data;

    for (int32_t i = 0; i < x.rank; i++)
        shape.dims[i] = x.dims[i];
    status = eddy_kernel_output(kernel, 0, EDDY_FLOAT32, &shape, &data);
    for (int64_t i = 0; status == EDDY_OK && i < x.count; i++)
        ((float *)data)[i] = ((const float *)x.data)[i] * (float)factor +
                             (float)eddy_kernel_iteration(kernel);
    return status;
}

static eddy_status scale_ints(eddy_kernel *kernel)
{
    const eddy_view x = eddy_kernel_input(kernel, 0);
    const eddy_shape scalar = {.rank = 0};
    eddy_status status;
    eddy_attr attr;
    void *data;

    ck_assert_int_eq(x.rank, 0);
    ck_assert(eddy_kernel_attr(kernel, "factor", &attr));
    ck_assert(!eddy_kernel_attr(kernel, "nothing", &attr));
    status = eddy_kernel_output(kernel, 0, EDDY_INT64, &scalar, &data);
    if (status == EDDY_OK)
        *(int64_t *)data = *(const int64_t *)x.data * attr_int(&attr) +
                           eddy_kernel_iteration(kernel);
    return status;
}

static eddy_status prepare_scale(eddy_infer *infer)
{
    eddy_attr attr;
    int64_t *state = eddy_infer_state(infer, sizeof *state);

    if (!state || !eddy_infer_attr(infer, "factor", &attr))
        return eddy_infer_fail(infer, EDDY_INTERNAL, EDDY_E_MEMORY,
                               "no state or no factor");
    *state = attr_int(&attr);
    if (*state == 13)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "factor %d brings bad luck", 13);
    if (eddy_infer_output_dtype(infer, 0) == EDDY_INT64)
        eddy_infer_set_kernel(infer, scale_ints);
    return EDDY_OK;
}

static const eddy_op_spec scale = {
    .size = sizeof scale,
    .name = "Scale",
    .inputs = "x: T",
    .outputs = "y: T",
    .attrs = "T: {float32, int64}, factor: int = 2",
    .infer = infer_scale,
    .kernel = scale_floats,
    .prepare = prepare_scale,
};

START_TEST(a_registered_op_computes)
{
    register_op(&scale);
    program_build(&p, "x ?float32[3]\n"
                      "y Scale x\n"
                      "z Scale y factor=5\n"
                      "a int64=4\n"
                      "b Scale a factor=-1\n");
    program_plan(&p, "x", "z b");
    ck_assert_int_eq(eddy_plan_fetch_shape(p.plan, 0)->rank, 1);
    ck_assert_int_eq(eddy_plan_fetch_shape(p.plan, 0)->dims[0], 3);
    program_feed_floats(&p, 0, (const float[]){1.5f, 2, 3}, 3);
    for (int again = 0; again < 2; again++) {
        program_run(&p);
        ck_assert_float_eq(program_fetch_float(&p, 0), 15);
        ck_assert_int_eq(program_fetch_int(&p, 1), -4);
    }
}
END_TEST

/* s = s * 2 + iteration: 1, 2, 5, 12, 27. */
START_TEST(a_registered_op_knows_its_iteration)
{
    register_op(&scale);
    program_build(&p, "s int64=1\n"
                      "n int64=20\n"
                      "e Enter@w s\n"
                      "k Enter@w! n\n"
                      "m Merge e next\n"
                      "less Less m k\n"
                      "c LoopCond less\n"
                      "v Switch m c\n"
                      "scale Scale v:1\n"
                      "next NextIteration scale\n"
                      "out Exit v\n");
    program_plan(&p, NULL, "out");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 27);
}
END_TEST

START_TEST(what_prepare_refuses_the_plan_refuses)
{
    register_op(&scale);
    program_build(&p, "x int64=4\n"
                      "y Scale x factor=13\n");
    program_want(&p, program_try_plan(&p, NULL, "y"), EDDY_INVALID_ARGUMENT,
                 EDDY_E_ATTR_VALUE);
    ck_assert_str_eq(p.err.node, "y");
    ck_assert_str_eq(p.err.op, "Scale");
    ck_assert_ptr_nonnull(strstr(p.err.message, "factor 13 brings bad luck"));
    program_plan(&p, NULL, "x");
}
END_TEST

START_TEST(a_dtype_outside_the_set_is_refused_by_the_graph)
{
    eddy_output x, y;

    register_op(&scale);
    x = program_constant(&p, EDDY_BOOL, &(bool){true});
    program_want(&p,
                 eddy_graph_add_op(p.graph, "Scale", "y", &x, 1, &y, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE);
}
END_TEST

/* ---- shape functions ---- */

/* Wants a constant number of rows, at least one. */
static eddy_status infer_rows(eddy_infer *infer)
{
    const eddy_tensor *rows = eddy_infer_constant(infer, 1);
    eddy_shape shape = {.rank = 1, .dims = {-1}};

    ck_assert_ptr_null(eddy_infer_constant(infer, 0));
    ck_assert_int_eq(eddy_infer_input_dtype(infer, 1), EDDY_INT64);
    if (rows)
        shape.dims[0] = *(const int64_t *)eddy_tensor_data(rows);
    if (rows && shape.dims[0] < 1)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "%lld rows", (long long)shape.dims[0]);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* Makes as many rows as input 2 says, whatever input 1 has promised. */
static eddy_status make_rows(eddy_kernel *kernel)
{
    const eddy_view x = eddy_kernel_input(kernel, 0);
    eddy_shape shape = {.rank = 1};
    eddy_status status;
    void *data;

    shape.dims[0] = *(const int64_t *)eddy_kernel_input(kernel, 2).data;
    status = eddy_kernel_output(kernel, 0, EDDY_INT64, &shape, &data);
    for (int64_t i = 0; status == EDDY_OK && i < shape.dims[0]; i++)
        ((int64_t *)data)[i] = *(const int64_t *)x.data;
    return status;
}

static const eddy_op_spec rows = {
    .size = sizeof rows,
    .name = "Rows",
    .inputs = "x: int64, promised: int64, made: int64",
    .outputs = "y: int64",
    .infer = infer_rows,
    .kernel = make_rows,
};

START_TEST(a_shape_function_sees_constants)
{
    register_op(&rows);
    program_build(&p, "x ?int64\n"
                      "four int64=4\n"
                      "y Rows x four four\n");
    program_plan(&p, "x", "y");
    ck_assert_int_eq(eddy_plan_fetch_shape(p.plan, 0)->dims[0], 4);
    program_feed_int(&p, 0, 9);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 9);
}
END_TEST

START_TEST(what_a_shape_function_refuses_is_refused_when_it_is_added)
{
    register_op(&rows);
    program_want(&p,
                 program_try_build(&p, "x ?int64\n"
                                       "none int64=-3\n"
                                       "y Rows x none none\n"),
                 EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    ck_assert_str_eq(p.err.node, "y");
    ck_assert_ptr_nonnull(strstr(p.err.message, "-3 rows"));
}
END_TEST

START_TEST(a_kernel_must_keep_what_its_shape_function_promised)
{
    register_op(&rows);
    program_build(&p, "x ?int64\n"
                      "n ?int64\n"
                      "four int64=4\n"
                      "y Rows x four n\n");
    program_plan(&p, "x n", "y");
    program_feed_int(&p, 0, 9);
    program_feed_int(&p, 1, 5);
    program_want(&p, program_execute(&p), EDDY_INTERNAL, EDDY_E_OUTPUT_MISSING);
    ck_assert_str_eq(p.err.node, "y");
    program_feed_int(&p, 1, 4);
    program_run(&p);
}
END_TEST

/* ---- kernels that go wrong ---- */

typedef enum fault {
    UNSET,
    WRONG_DTYPE,       /* and returns what it was told */
    WRONG_DTYPE_UNSET, /* and goes on as if nothing was */
    WRONG_INDEX,
    WRONG_RANK,
    NO_TENSOR,
    FAILS_WITH_WORDS,
    FAILS_SILENTLY,
    FAILS_WITH_FORMAT,
} fault;

static eddy_status go_wrong(eddy_kernel *kernel)
{
    const eddy_shape scalar = {.rank = 0}, deep = {.rank = 9};
    eddy_status status = EDDY_OK;
    eddy_attr attr;
    void *data;

    ck_assert(eddy_kernel_attr(kernel, "fault", &attr));
    switch ((fault)attr_int(&attr)) {
    case UNSET:
        return EDDY_OK;
    case WRONG_DTYPE:
        return eddy_kernel_output(kernel, 0, EDDY_FLOAT32, &scalar, &data);
    case WRONG_DTYPE_UNSET:
        status = eddy_kernel_output(kernel, 0, EDDY_FLOAT32, &scalar, &data);
        ck_assert_int_ne(status, EDDY_OK);
        return EDDY_OK;
    case WRONG_INDEX:
        return eddy_kernel_output(kernel, 1, EDDY_INT64, &scalar, &data);
    case WRONG_RANK:
        return eddy_kernel_output(kernel, 0, EDDY_INT64, &deep, &data);
    case NO_TENSOR:
        return eddy_kernel_output_tensor(kernel, 0, NULL);
    case FAILS_WITH_WORDS:
        return eddy_kernel_fail(kernel, EDDY_DATA_LOSS, EDDY_E_IO, "%d of %s",
                                3, "them");
    case FAILS_SILENTLY:
        return EDDY_OUT_OF_RANGE;
    case FAILS_WITH_FORMAT:
        return eddy_kernel_fail(kernel, EDDY_ABORTED, EDDY_E_VALUE, "%s",
                                "%n%s%s%s\n\x1b");
    }
    return status;
}

static const eddy_op_spec wrong = {
    .size = sizeof wrong,
    .name = "Wrong",
    .inputs = "x: int64",
    .outputs = "y: int64",
    .attrs = "fault: int",
    .kernel = go_wrong,
};

static const struct {
    const char *text; /* the attribute */
    eddy_status code;
    eddy_detail detail;
    const char *words;
} faults[] = {
    {"y Wrong x fault=0\n", EDDY_INTERNAL, EDDY_E_OUTPUT_MISSING, "output 0"},
    {"y Wrong x fault=1\n", EDDY_INTERNAL, EDDY_E_DTYPE, "float32"},
    {"y Wrong x fault=2\n", EDDY_INTERNAL, EDDY_E_OUTPUT_MISSING, "output 0"},
    {"y Wrong x fault=3\n", EDDY_INTERNAL, EDDY_E_OUTPUT_INDEX, "output 1"},
    {"y Wrong x fault=4\n", EDDY_INVALID_ARGUMENT, EDDY_E_RANK, "rank 9"},
    {"y Wrong x fault=5\n", EDDY_INTERNAL, EDDY_E_ARGUMENT, "no tensor"},
    {"y Wrong x fault=6\n", EDDY_DATA_LOSS, EDDY_E_IO, "3 of them"},
    {"y Wrong x fault=7\n", EDDY_OUT_OF_RANGE, EDDY_E_NONE, ""},
    {"y Wrong x fault=8\n", EDDY_ABORTED, EDDY_E_VALUE, "%n%s%s%s"},
};

START_TEST(a_kernel_that_goes_wrong_is_an_error_of_its_node)
{
    register_op(&wrong);
    program_build(&p, "x int64=4\n");
    program_build(&p, faults[_i].text);
    program_build(&p, "z Neg y\n");
    program_plan(&p, NULL, "z");
    for (int again = 0; again < 2; again++) {
        program_want(&p, program_execute(&p), faults[_i].code,
                     faults[_i].detail);
        ck_assert_str_eq(p.err.node, "y");
        ck_assert_str_eq(p.err.op, "Wrong");
        ck_assert_msg(strstr(p.err.message, faults[_i].words) != NULL, "%s",
                      p.err.message);
        ck_assert_ptr_null(strchr(p.err.message, '\n'));
    }
}
END_TEST

START_TEST(an_output_that_nobody_reads_may_stay_unset)
{
    register_op(&wrong);
    program_build(&p, "x int64=4\n"
                      "y Wrong x fault=0\n"
                      "z Neg x ^y\n");
    program_plan(&p, NULL, "z");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), -4);
}
END_TEST

/* ---- what a kernel may see and put out ---- */

/* Puts out input `pick` as it is, and how many inputs there are. */
static eddy_status pick(eddy_kernel *kernel)
{
    const uint32_t n = eddy_kernel_inputs(kernel);
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *tensor;
    eddy_status status;
    eddy_attr attr;
    void *data;

    ck_assert_uint_eq(eddy_kernel_outputs(kernel), 2);
    ck_assert(eddy_kernel_attr(kernel, "pick", &attr));
    ck_assert_int_eq(eddy_kernel_input(kernel, n).dtype, EDDY_INVALID);
    ck_assert_ptr_null(eddy_kernel_input_tensor(kernel, n));
    tensor = eddy_kernel_input_tensor(kernel, (uint32_t)attr_int(&attr));
    status = eddy_kernel_output_tensor(kernel, 0, tensor);
    eddy_tensor_release(tensor);
    if (status != EDDY_OK)
        return status;
    status = eddy_kernel_output(kernel, 1, EDDY_INT64, &scalar, &data);
    *(int64_t *)data = n;
    return status;
}

static const eddy_op_spec pick_spec = {
    .size = sizeof pick_spec,
    .name = "Pick",
    .inputs = "values: N * T",
    .outputs = "y: T, n: int64",
    .attrs = "N: int >= 1, T: type, pick: int = 0",
    .kernel = pick,
};

START_TEST(an_input_may_be_put_out_as_a_tensor)
{
    register_op(&pick_spec);
    program_build(&p, "a float32[4]=1\n"
                      "b float32[4]=2\n"
                      "c float32=3\n"
                      "x Pick a b c pick=1\n"
                      "y Pick a b c pick=2\n"
                      "z AddV2 x y\n");
    program_plan(&p, NULL, "z x:1 y b");
    for (int again = 0; again < 2; again++) {
        program_run(&p);
        ck_assert_float_eq(program_fetch_float(&p, 0), 5);
        ck_assert_int_eq(program_fetch_int(&p, 1), 3);
        ck_assert_float_eq(program_fetch_float(&p, 2), 3);
        ck_assert_float_eq(program_fetch_float(&p, 3), 2);
    }
}
END_TEST

/* ---- specifications ---- */

static eddy_status nothing(eddy_kernel *kernel)
{
    (void)kernel;
    return EDDY_OK;
}

static const struct {
    const char *name, *inputs, *outputs, *attrs;
    eddy_status code;
} specs[] = {
    {"", "", "", "", EDDY_INVALID_ARGUMENT},
    {NULL, "", "", "", EDDY_INVALID_ARGUMENT},
    {"9Lives", "", "", "", EDDY_INVALID_ARGUMENT},
    {"With space", "", "", "", EDDY_INVALID_ARGUMENT},
    {"_Private", "", "", "", EDDY_INVALID_ARGUMENT},
    {"Add", "", "", "", EDDY_ALREADY_EXISTS},
    {"Switch", "", "", "", EDDY_ALREADY_EXISTS},
    {"Bad", "x T", "", "T: type", EDDY_INVALID_ARGUMENT},
    {"Bad", "x: T", "", "", EDDY_INVALID_ARGUMENT},
    {"Bad", "x: float33", "", "", EDDY_INVALID_ARGUMENT},
    {"Bad", "x: N * T", "", "T: type", EDDY_INVALID_ARGUMENT},
    {"Bad", "", "", "T: typo", EDDY_INVALID_ARGUMENT},
    {"Bad", "", "", "n: int = x", EDDY_INVALID_ARGUMENT},
    {"Bad", "x: int32, x: int32", "", "", EDDY_INVALID_ARGUMENT},
};

START_TEST(a_bad_specification_is_refused)
{
    const eddy_op_spec spec = {
        .size = sizeof spec,
        .name = specs[_i].name,
        .inputs = specs[_i].inputs,
        .outputs = specs[_i].outputs,
        .attrs = specs[_i].attrs,
        .kernel = nothing,
    };
    const eddy_op_spec good = {
        .size = sizeof good, .name = "Bad", .kernel = nothing};

    ck_assert_int_eq(eddy_op_register(p.ctx, &spec, &p.err), specs[_i].code);
    if (specs[_i].code == EDDY_INVALID_ARGUMENT)
        ck_assert_int_eq(p.err.detail, EDDY_E_OP_SPEC);
    register_op(&good);
}
END_TEST

START_TEST(an_op_needs_a_kernel_and_a_known_size)
{
    eddy_op_spec spec = {.size = sizeof spec, .name = "Bare"};

    program_want(&p, eddy_op_register(p.ctx, &spec, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_OP_SPEC);
    spec.kernel = nothing;
    spec.size = sizeof spec + 1;
    ck_assert_int_eq(eddy_op_register(p.ctx, &spec, &p.err),
                     EDDY_INVALID_ARGUMENT);
    spec.size = 0;
    ck_assert_int_eq(eddy_op_register(p.ctx, &spec, &p.err),
                     EDDY_INVALID_ARGUMENT);
}
END_TEST

START_TEST(registered_ops_are_listed_in_order)
{
    bool has_scale = false;
    const char *before = "";
    const char *name;

    register_op(&scale);
    for (size_t i = 0; (name = eddy_op_name(p.ctx, i)); i++) {
        ck_assert_int_lt(strcmp(before, name), 0);
        has_scale = has_scale || strcmp(name, "Scale") == 0;
        before = name;
    }
    ck_assert(has_scale);
}
END_TEST

TCase *user_ops_tests(void)
{
    TCase *tc = tcase_create("user_ops");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_registered_op_computes);
    tcase_add_test(tc, a_registered_op_knows_its_iteration);
    tcase_add_test(tc, what_prepare_refuses_the_plan_refuses);
    tcase_add_test(tc, a_dtype_outside_the_set_is_refused_by_the_graph);
    tcase_add_test(tc, a_shape_function_sees_constants);
    tcase_add_test(tc,
                   what_a_shape_function_refuses_is_refused_when_it_is_added);
    tcase_add_test(tc, a_kernel_must_keep_what_its_shape_function_promised);
    tcase_add_loop_test(tc, a_kernel_that_goes_wrong_is_an_error_of_its_node, 0,
                        sizeof faults / sizeof faults[0]);
    tcase_add_test(tc, an_output_that_nobody_reads_may_stay_unset);
    tcase_add_test(tc, an_input_may_be_put_out_as_a_tensor);
    tcase_add_loop_test(tc, a_bad_specification_is_refused, 0,
                        sizeof specs / sizeof specs[0]);
    tcase_add_test(tc, an_op_needs_a_kernel_and_a_known_size);
    tcase_add_test(tc, registered_ops_are_listed_in_order);
    return tc;
}
