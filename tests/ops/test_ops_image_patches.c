/* SPDX-License-Identifier: Apache-2.0 */
/* What lies under windows over images. */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__image_patches_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

/* 1 2 above 3 4. */
static eddy_tensor *image(eddy_dtype dtype)
{
    return harness_numbers(&h, dtype, HARNESS_DIMS(1, 2, 2, 1),
                           (const double[]){1, 2, 3, 4});
}

static void want(int32_t rank, const int64_t *dims, const double *values)
{
    int64_t n = 1;

    harness_want(&h, 0, (eddy_dtype)h.outputs[0]->dtype, rank, dims);
    for (int32_t d = 0; d < rank; d++)
        n *= dims[d];
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(harness_get(h.outputs[0], i) == values[i],
                      "%d: got %.9g, want %.9g", (int)i,
                      harness_get(h.outputs[0], i), values[i]);
}

static eddy_attr four(const char *name, const int64_t values[4])
{
    return (eddy_attr){.name = name,
                       .kind = EDDY_ATTR_INT,
                       .is_list = true,
                       .n = 4,
                       .as.ints = values};
}

static eddy_status patch(eddy_tensor *of, const int64_t sizes[4],
                         const int64_t rates[4], const char *padding)
{
    static const int64_t ones[] = {1, 1, 1, 1};
    const eddy_string text = {padding, strlen(padding)};
    const eddy_attr attrs[] = {four("ksizes", sizes), four("strides", ones),
                               four("rates", rates),
                               eddy_attr_string("padding", &text)};

    return harness_run_attrs(&h, "ExtractImagePatches", &of, 1, attrs, 4);
}

START_TEST(windows_are_put_in_the_depth)
{
    static const eddy_dtype dtypes[] = {EDDY_FLOAT32, EDDY_UINT16,
                                        EDDY_COMPLEX64};
    const int64_t sizes[] = {1, 2, 2, 1}, ones[] = {1, 1, 1, 1};
    const int64_t pairs[] = {1, 1, 2, 1}, apart[] = {1, 1, 2, 1};

    ck_assert_int_eq(patch(image(dtypes[_i]), sizes, ones, "SAME"), EDDY_OK);
    want(HARNESS_DIMS(1, 2, 2, 4),
         (const double[]){1, 2, 3, 4, 2, 0, 4, 0, 3, 4, 0, 0, 4, 0, 0, 0});
    ck_assert_int_eq(patch(image(dtypes[_i]), sizes, ones, "VALID"), EDDY_OK);
    want(HARNESS_DIMS(1, 1, 1, 4), (const double[]){1, 2, 3, 4});
    ck_assert_int_eq(patch(image(dtypes[_i]), pairs, apart, "SAME"), EDDY_OK);
    want(HARNESS_DIMS(1, 2, 2, 2), (const double[]){0, 2, 1, 0, 0, 4, 3, 0});
}
END_TEST

START_TEST(windows_that_make_no_sense_are_refused)
{
    const int64_t ones[] = {1, 1, 1, 1}, none[] = {1, 0, 1, 1};
    const int64_t deep[] = {1, 1, 1, 2};
    eddy_tensor *of = image(EDDY_FLOAT32);

    harness_want_error(&h, patch(of, none, ones, "SAME"), EDDY_INVALID_ARGUMENT,
                       EDDY_E_ATTR_VALUE);
    harness_want_error(&h, patch(of, ones, deep, "SAME"), EDDY_INVALID_ARGUMENT,
                       EDDY_E_ATTR_VALUE);
    harness_want_error(&h, patch(of, ones, ones, "EXPLICIT"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
    harness_want_error(
        &h, patch(harness_vector(&h, EDDY_FLOAT32, 1, 2), ones, ones, "SAME"),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

TCase *ops_image_patches_tests(void)
{
    TCase *tests = tcase_create("ops_image_patches");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, windows_are_put_in_the_depth, 0, 3);
    tcase_add_test(tests, windows_that_make_no_sense_are_refused);
    return tests;
}
