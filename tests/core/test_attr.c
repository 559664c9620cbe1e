/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute values. */
#include "core/graph/attr.h"
#include "tests/aid/core_fixture.h"
#include "tests/suites.h"

#include <string.h>

static core_fixture f;
static eddy__arena arena;

static void setup(void)
{
    core_fixture_init(&f);
    arena = (eddy__arena){.allocator = &f.counting.allocator};
}

static void teardown(void)
{
    eddy__arena_destroy(&arena);
    core_fixture_deinit(&f);
}

START_TEST(kinds_have_names_and_sizes)
{
    ck_assert_str_eq(eddy__attr_kind_name(EDDY_ATTR_INT, false), "int");
    ck_assert_str_eq(eddy__attr_kind_name(EDDY_ATTR_TYPE, true), "list(type)");
    ck_assert_str_eq(eddy__attr_kind_name((eddy_attr_kind)99, false),
                     "invalid");
    ck_assert_uint_eq(eddy__attr_element_size(EDDY_ATTR_INT), 8);
    ck_assert_uint_eq(eddy__attr_element_size(EDDY_ATTR_SHAPE),
                      sizeof(eddy_shape));
    ck_assert_uint_eq(eddy__attr_element_size(EDDY_ATTR_OPAQUE),
                      sizeof(eddy_string));
    ck_assert_uint_eq(eddy__attr_element_size((eddy_attr_kind)99), 0);
}
END_TEST

START_TEST(the_makers_make_single_values)
{
    const int64_t number = 3;
    const float rate = 0.5f;
    const bool flag = true;
    const eddy_string text = {"ab", 2};
    const eddy_dtype dtype = EDDY_BOOL;
    const eddy_shape shape = {.rank = 0};
    eddy_tensor *tensor = NULL;
    const eddy_attr made[] = {
        eddy_attr_int("a", &number),    eddy_attr_float("a", &rate),
        eddy_attr_bool("a", &flag),     eddy_attr_string("a", &text),
        eddy_attr_type("a", &dtype),    eddy_attr_shape("a", &shape),
        eddy_attr_tensor("a", &tensor),
    };

    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        ck_assert_int_eq(made[i].kind, (eddy_attr_kind)i);
        ck_assert_str_eq(made[i].name, "a");
        ck_assert(!made[i].is_list);
        ck_assert_uint_eq(made[i].n, 1);
    }
    ck_assert_ptr_eq(made[0].as.ints, &number);
    ck_assert_ptr_eq(made[6].as.tensors, &tensor);
}
END_TEST

static const eddy_shape rank_nine = {.rank = 9};
static const eddy_shape rank_minus_two = {.rank = -2};
static const eddy_shape dim_minus_two = {.rank = 2, .dims = {-1, -2}};
static const eddy_string no_bytes = {NULL, 1};
static const eddy_dtype no_dtype = (eddy_dtype)EDDY_DTYPE_COUNT;
static eddy_tensor *const no_tensor = NULL;
static const int64_t one = 1;

static const struct {
    eddy_attr attr;
    eddy_detail detail;
} malformed[] = {
    {{NULL, EDDY_ATTR_INT, false, 1, {.ints = &one}}, EDDY_E_ARGUMENT},
    {{"", EDDY_ATTR_INT, false, 1, {.ints = &one}}, EDDY_E_ARGUMENT},
    {{"a", (eddy_attr_kind)77, false, 1, {.ints = &one}}, EDDY_E_ATTR_KIND},
    {{"a", EDDY_ATTR_INT, false, 0, {.ints = &one}}, EDDY_E_ATTR_VALUE},
    {{"a", EDDY_ATTR_INT, false, 2, {.ints = &one}}, EDDY_E_ATTR_VALUE},
    {{"a", EDDY_ATTR_INT, false, 1, {.ints = NULL}}, EDDY_E_ATTR_VALUE},
    {{"a", EDDY_ATTR_INT, true, 1, {.ints = NULL}}, EDDY_E_ATTR_VALUE},
    {{"a", EDDY_ATTR_STRING, false, 1, {.strings = &no_bytes}},
     EDDY_E_ATTR_VALUE},
    {{"a", EDDY_ATTR_TYPE, false, 1, {.types = &no_dtype}}, EDDY_E_ATTR_VALUE},
    {{"a", EDDY_ATTR_TENSOR, false, 1, {.tensors = &no_tensor}},
     EDDY_E_ATTR_VALUE},
    {{"a", EDDY_ATTR_SHAPE, false, 1, {.shapes = &rank_nine}}, EDDY_E_RANK},
    {{"a", EDDY_ATTR_SHAPE, false, 1, {.shapes = &rank_minus_two}},
     EDDY_E_RANK},
    {{"a", EDDY_ATTR_SHAPE, false, 1, {.shapes = &dim_minus_two}}, EDDY_E_DIM},
};

START_TEST(a_malformed_value_is_refused)
{
    core_fixture_want(&f, eddy__attr_check(&malformed[_i].attr, &f.err),
                      EDDY_INVALID_ARGUMENT, malformed[_i].detail);
}
END_TEST

START_TEST(an_empty_list_needs_no_array)
{
    const eddy_attr attr = {.name = "a", .is_list = true};
    eddy_attr copy;

    ck_assert_int_eq(eddy__attr_check(&attr, &f.err), EDDY_OK);
    ck_assert(eddy__attr_copy(&arena, &attr, &copy));
    ck_assert_uint_eq(copy.n, 0);
    ck_assert(copy.is_list);
}
END_TEST

START_TEST(a_copy_stands_alone)
{
    char name[] = "names", first[] = "one", second[] = {'t', '\0', 'o'};
    eddy_string texts[] = {{first, 3}, {second, 3}, {NULL, 0}};
    const eddy_attr attr = {.name = name,
                            .kind = EDDY_ATTR_STRING,
                            .is_list = true,
                            .n = 3,
                            .as.strings = texts};
    eddy_attr copy;

    ck_assert_int_eq(eddy__attr_check(&attr, &f.err), EDDY_OK);
    ck_assert(eddy__attr_copy(&arena, &attr, &copy));
    memset(name, 'x', 5);
    memset(first, 'x', 3);
    memset(texts, 0, sizeof texts);
    ck_assert_str_eq(copy.name, "names");
    ck_assert_str_eq(copy.as.strings[0].data, "one");
    ck_assert_mem_eq(copy.as.strings[1].data, "t\0o", 4);
    ck_assert_uint_eq(copy.as.strings[1].length, 3);
    ck_assert_str_eq(copy.as.strings[2].data, "");
}
END_TEST

START_TEST(tensors_are_held_only_when_they_are_retained)
{
    const eddy_shape shape = {.rank = 0};
    eddy_tensor *tensor;
    eddy_attr copy;

    ck_assert_int_eq(
        eddy_tensor_create(&f.ctx, EDDY_INT32, &shape, &tensor, &f.err),
        EDDY_OK);
    *(int32_t *)eddy_tensor_mutable_data(tensor) = 5;
    ck_assert(eddy__attr_copy(
        &arena,
        &(eddy_attr){"v", EDDY_ATTR_TENSOR, false, 1, {.tensors = &tensor}},
        &copy));
    eddy__attr_retain(&copy);
    eddy_tensor_release(tensor);
    ck_assert_int_eq(*(const int32_t *)eddy_tensor_data(copy.as.tensors[0]), 5);
    eddy__attr_release(&copy);
}
END_TEST

START_TEST(every_allocation_of_a_copy_may_fail)
{
    const eddy_string texts[] = {{"one", 3}, {"two", 3}};
    const eddy_attr attr = {.name = "a",
                            .kind = EDDY_ATTR_STRING,
                            .is_list = true,
                            .n = 2,
                            .as.strings = texts};
    bool ok = false;

    for (long long n = 0; !ok; n++) {
        eddy_attr copy;

        eddy__arena_destroy(&arena);
        counting_allocator_allow(&f.counting, n);
        ok = eddy__attr_copy(&arena, &attr, &copy);
        counting_allocator_allow(&f.counting, -1);
        ck_assert_int_lt(n, 10);
    }
}
END_TEST

START_TEST(an_attribute_is_found_by_its_name)
{
    const eddy_attr attrs[] = {eddy_attr_int("a", &one),
                               eddy_attr_int("ab", &one)};

    ck_assert_ptr_eq(eddy__attr_find(attrs, 2, "ab"), &attrs[1]);
    ck_assert_ptr_null(eddy__attr_find(attrs, 2, "b"));
    ck_assert_ptr_null(eddy__attr_find(attrs, 1, "ab"));
    ck_assert_ptr_null(eddy__attr_find(NULL, 0, "a"));
}
END_TEST

TCase *attr_tests(void)
{
    TCase *tc = tcase_create("attr");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, kinds_have_names_and_sizes);
    tcase_add_test(tc, the_makers_make_single_values);
    tcase_add_loop_test(tc, a_malformed_value_is_refused, 0,
                        (int)(sizeof malformed / sizeof malformed[0]));
    tcase_add_test(tc, an_empty_list_needs_no_array);
    tcase_add_test(tc, a_copy_stands_alone);
    tcase_add_test(tc, tensors_are_held_only_when_they_are_retained);
    tcase_add_test(tc, every_allocation_of_a_copy_may_fail);
    tcase_add_test(tc, an_attribute_is_found_by_its_name);
    return tc;
}
