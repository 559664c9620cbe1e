/* SPDX-License-Identifier: Apache-2.0 */
/* How the inputs of elementwise ops meet; Sub tells x from y. */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/suites.h"

#include <string.h>

typedef struct shape_row {
    eddy_shape a, b, out;
} shape_row;

static const shape_row shapes[] = {
    {{1, {3}}, {1, {3}}, {1, {3}}},
    {{1, {1}}, {0, {0}}, {1, {1}}},
    {{0, {0}}, {2, {1, 1}}, {2, {1, 1}}},
    {{1, {1}}, {2, {1, 1}}, {2, {1, 1}}},
    {{2, {40, 3}}, {1, {3}}, {2, {40, 3}}},
    {{1, {3}}, {2, {40, 3}}, {2, {40, 3}}},
    {{2, {5, 1}}, {2, {1, 37}}, {2, {5, 37}}},
    {{3, {3, 1, 2}}, {2, {4, 1}}, {3, {3, 4, 2}}},
    {{3, {2, 3, 4}}, {3, {2, 1, 4}}, {3, {2, 3, 4}}},
    {{4, {2, 1, 3, 1}}, {4, {1, 5, 1, 7}}, {4, {2, 5, 3, 7}}},
    {{8, {2, 1, 2, 1, 2, 1, 2, 1}},
     {8, {1, 3, 1, 3, 1, 3, 1, 3}},
     {8, {2, 3, 2, 3, 2, 3, 2, 3}}},
    {{8, {2, 1, 2, 2, 1, 1, 2, 5}},
     {3, {2, 1, 5}},
     {8, {2, 1, 2, 2, 1, 2, 2, 5}}},
    {{1, {0}}, {0, {0}}, {1, {0}}},
    {{1, {0}}, {1, {1}}, {1, {0}}},
    {{2, {0, 3}}, {2, {1, 3}}, {2, {0, 3}}},
    {{2, {1, 3}}, {2, {0, 1}}, {2, {0, 3}}},
    {{3, {2, 0, 5}}, {1, {5}}, {3, {2, 0, 5}}},
};

/* The element of a tensor of shape `s` that broadcasts to index `at` of out. */
static int64_t element_for(const eddy_shape *s, const eddy_shape *out,
                           int64_t at)
{
    int64_t index = 0, stride = 1;

    for (int32_t d = 1; d <= s->rank; d++) {
        const int64_t dim = s->dims[s->rank - d];

        index += dim == 1 ? 0 : at % out->dims[out->rank - d] * stride;
        stride *= dim;
        at /= out->dims[out->rank - d];
    }
    return index;
}

static eddy_tensor *counting(harness *h, eddy_dtype dtype,
                             const eddy_shape *shape, double first)
{
    double values[8192];
    int64_t n = 0;

    ck_assert(eddy__shape_count(shape, 8, &n) && n <= 8192);
    for (int64_t i = 0; i < n; i++)
        values[i] = first + (double)i;
    return harness_numbers(h, dtype, shape->rank, shape->dims, values);
}

START_TEST(shapes_broadcast)
{
    const shape_row *row = &shapes[_i];
    harness h;
    eddy_tensor *a, *b;

    harness_init(&h, &eddy__binary_ops);
    for (eddy_dtype d = EDDY_INT16; d <= EDDY_INT64; d++) {
        a = counting(&h, d, &row->a, 1);
        b = counting(&h, d, &row->b, 50);
        ck_assert_int_eq(harness_run(&h, "Sub", a, b), EDDY_OK);
        harness_want(&h, 0, d, row->out.rank, row->out.dims);
        ck_assert(eddy__shape_equal(&h.inferred[0], &row->out));
        for (int64_t i = 0; i < h.outputs[0]->count; i++)
            ck_assert_double_eq(
                harness_get(h.outputs[0], i),
                harness_get(a, element_for(&row->a, &row->out, i)) -
                    harness_get(b, element_for(&row->b, &row->out, i)));
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(a_value_may_be_both_inputs)
{
    harness h;
    eddy_tensor *x;

    harness_init(&h, &eddy__binary_ops);
    x = harness_vector(&h, EDDY_FLOAT32, 1, 2, 3);
    ck_assert_int_eq(harness_run(&h, "Mul", x, x), EDDY_OK);
    for (int64_t i = 0; i < 3; i++)
        ck_assert_double_eq(harness_get(h.outputs[0], i),
                            (double)((i + 1) * (i + 1)));
    harness_deinit(&h);
}
END_TEST

START_TEST(shapes_that_do_not_broadcast_are_named)
{
    harness h;
    eddy_status status;

    harness_init(&h, &eddy__binary_ops);
    status = harness_run(&h, "AddV2", harness_vector(&h, EDDY_FLOAT32, 1, 2),
                         harness_vector(&h, EDDY_FLOAT32, 1, 2, 3));
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    ck_assert_ptr_nonnull(strstr(h.err.message, "[2]"));
    ck_assert_ptr_nonnull(strstr(h.err.message, "[3]"));
    harness_deinit(&h);
}
END_TEST

TCase *ops_broadcast_tests(void)
{
    TCase *tc = tcase_create("ops_broadcast");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, shapes_broadcast, 0,
                        sizeof shapes / sizeof shapes[0]);
    tcase_add_test(tc, a_value_may_be_both_inputs);
    tcase_add_test(tc, shapes_that_do_not_broadcast_are_named);
    return tc;
}
