/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/scratch_folder.h"
#include "tests/suites.h"
#include "tools/case_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char root[SCRATCH_PATH];

static void set_up(void)
{
    scratch_folder_create(root);
}

static void tear_down(void)
{
    scratch_folder_remove(root);
}

static void make_file(const char *path)
{
    scratch_folder_write(root, path, "");
}

/* Walks below root/path and compares, with the root cut off. */
static void check(const char *path, const char *const *want, size_t n)
{
    eddy__case_list list = {.n = 0};
    eddy_error err = {.code = EDDY_OK};
    char *full = eddy__case_join_path(root, path);

    ck_assert_int_eq(eddy__case_list_add(&list, full, &err), EDDY_OK);
    ck_assert_uint_eq(list.n, n);
    for (size_t i = 0; i < n; i++)
        ck_assert_str_eq(list.paths[i] + strlen(root) + 1, want[i]);
    eddy__case_list_deinit(&list);
    free(full);
}

START_TEST(cases_come_in_the_order_of_their_names)
{
    static const char *const want[] = {"d/a/deep/er", "d/b", "d/b/inner",
                                       "d/c"};

    make_file("d/c/case.json");
    make_file("d/a/deep/er/model.onnx");
    make_file("d/a/none.txt");
    make_file("d/b/inner/case.json");
    make_file("d/b/case.json");
    make_file("d/case");
    check("d", want, 4);
    check("d///", want, 4);
    check("d/b", want + 1, 2);
    check("d/c", want + 3, 1);
}
END_TEST

START_TEST(a_directory_is_no_case_file)
{
    make_file("d/a/case.json/x");
    check("d", NULL, 0);
}
END_TEST

START_TEST(links_are_followed_once)
{
    static const char *const want[] = {"d/a", "d/link"};
    char loop[128], link[128];

    make_file("d/a/case.json");
    make_file("elsewhere/case.json");
    snprintf(loop, sizeof loop, "%s/d/a/up", root);
    ck_assert_int_eq(symlink("..", loop), 0);
    snprintf(link, sizeof link, "%s/d/link", root);
    ck_assert_int_eq(symlink("../elsewhere", link), 0);
    snprintf(link, sizeof link, "%s/d/broken", root);
    ck_assert_int_eq(symlink("nowhere", link), 0);
    check("d", want, 2);
}
END_TEST

START_TEST(lists_add_up)
{
    eddy__case_list list = {.n = 0};
    eddy_error err = {.code = EDDY_OK};

    make_file("case.json");
    ck_assert_int_eq(eddy__case_list_add(&list, root, &err), EDDY_OK);
    ck_assert_int_eq(eddy__case_list_add(&list, root, &err), EDDY_OK);
    ck_assert_uint_eq(list.n, 2);
    eddy__case_list_deinit(&list);
}
END_TEST

START_TEST(what_is_no_directory_is_an_error)
{
    eddy__case_list list = {.n = 0};
    eddy_error err = {.code = EDDY_OK};
    char *path = eddy__case_join_path(root, "case.json");

    ck_assert_int_eq(eddy__case_list_add(&list, path, &err), EDDY_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.message, "case.json: "));
    make_file("case.json");
    ck_assert_int_eq(eddy__case_list_add(&list, path, &err), EDDY_NOT_FOUND);
    ck_assert_uint_eq(list.n, 0);
    eddy__case_list_deinit(&list);
    free(path);
}
END_TEST

START_TEST(a_deep_tree_is_no_deep_recursion)
{
    char path[2 * 400 + 16] = "";

    for (int i = 0; i < 150; i++)
        strcat(path, "d/");
    strcat(path, "case.json");
    make_file(path);
    path[strlen(path) - strlen("/case.json")] = '\0';
    check("d", (const char *const[]){path}, 1);
}
END_TEST

TCase *tools_case_walk_tests(void)
{
    TCase *tc = tcase_create("tools_case_walk");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, cases_come_in_the_order_of_their_names);
    tcase_add_test(tc, a_directory_is_no_case_file);
    tcase_add_test(tc, links_are_followed_once);
    tcase_add_test(tc, lists_add_up);
    tcase_add_test(tc, what_is_no_directory_is_an_error);
    tcase_add_test(tc, a_deep_tree_is_no_deep_recursion);
    return tc;
}
