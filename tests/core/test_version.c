/* SPDX-License-Identifier: Apache-2.0 */
/* The number of the version, and the names of what eddy computes with. */
#include "tests/suites.h"

#include "eddy.h"

#include <stdio.h>
#include <string.h>

START_TEST(the_library_has_the_number_of_the_headers)
{
    char text[32];

    ck_assert_str_eq(eddy_version(), EDDY_VERSION_STRING);
    ck_assert_int_eq(eddy_version_number(), EDDY_VERSION_NUMBER);
    (void)snprintf(text, sizeof text, "%d.%d.%d", EDDY_VERSION_NUMBER / 10000,
                   EDDY_VERSION_NUMBER / 100 % 100, EDDY_VERSION_NUMBER % 100);
    ck_assert_str_eq(eddy_version(), text);
}
END_TEST

/* _i is the component. */
START_TEST(a_component_is_named_and_cut_where_room_ends)
{
    char all[256], some[8] = "xxxxxxx";
    const size_t length =
        eddy_component_format((eddy_component)_i, all, sizeof all);

    ck_assert_uint_eq(length, strlen(all));
    ck_assert_uint_ge(length, strlen("none"));
    ck_assert_uint_eq(eddy_component_format((eddy_component)_i, NULL, 0),
                      length);
    ck_assert_uint_eq(
        eddy_component_format((eddy_component)_i, some, sizeof some), length);
    ck_assert_uint_lt(strlen(some), sizeof some);
    ck_assert_int_eq(strncmp(some, all, strlen(some)), 0);
}
END_TEST

START_TEST(the_blas_has_a_version)
{
    char text[256];

    (void)eddy_component_format(EDDY_COMPONENT_BLAS, text, sizeof text);
    ck_assert_int_eq(strncmp(text, "OpenBLAS ", strlen("OpenBLAS ")), 0);
    ck_assert_ptr_nonnull(strchr(text, '('));
}
END_TEST

START_TEST(a_context_ends_with_its_last_reference)
{
    eddy_context *ctx = NULL;
    eddy_error err = EDDY_ERROR_INIT;
    eddy_tensor *tensor = NULL;
    const eddy_shape scalar = {.rank = 0};

    ck_assert_int_eq(eddy_context_create(NULL, &ctx, &err), EDDY_OK);
    ck_assert_ptr_eq(eddy_context_retain(ctx), ctx);
    ck_assert_int_eq(
        eddy_tensor_create(ctx, EDDY_FLOAT32, &scalar, &tensor, &err), EDDY_OK);
    /* The tensor's allocator is the context's, so that must be there still. */
    eddy_context_destroy(ctx);
    eddy_tensor_release(tensor);
    eddy_context_release(ctx);

    ck_assert_ptr_null(eddy_context_retain(NULL));
    eddy_context_release(NULL);
}
END_TEST

TCase *version_tests(void)
{
    TCase *tc = tcase_create("version");

    tcase_add_test(tc, the_library_has_the_number_of_the_headers);
    tcase_add_loop_test(tc, a_component_is_named_and_cut_where_room_ends, 0, 4);
    tcase_add_test(tc, the_blas_has_a_version);
    tcase_add_test(tc, a_context_ends_with_its_last_reference);
    return tc;
}
