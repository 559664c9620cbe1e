/* SPDX-License-Identifier: Apache-2.0 */
/* Which name a message offers for one that is unknown. */
#include "core/graph/nearest.h"
#include "tests/aid/program.h"
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

static const char *nearest(const char *name)
{
    static const char *const names[] = {"MatMul", "Mul", "AddV2", "AddN",
                                        "Relu",   "Exp", "Expm1"};
    eddy__nearest found = eddy__nearest_to(name, strlen(name));

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        eddy__nearest_offer(&found, names[i]);
    return found.found;
}

START_TEST(the_nearest_name_is_found)
{
    ck_assert_str_eq(nearest("matmul"), "MatMul");
    ck_assert_str_eq(nearest("MatMull"), "MatMul");
    ck_assert_str_eq(nearest("relu"), "Relu");
    ck_assert_str_eq(nearest("Expm"), "Exp");
    ck_assert_str_eq(nearest("AddV"), "AddV2");
    ck_assert_ptr_null(nearest("Frobnicate"));
    ck_assert_ptr_null(nearest("X"));
    ck_assert_ptr_null(nearest(""));
}
END_TEST

START_TEST(an_unknown_op_comes_with_the_nearest)
{
    program_want(
        &p, eddy_graph_add_op(p.graph, "Matmul", "y", NULL, 0, NULL, &p.err),
        EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP);
    ck_assert_str_eq(p.err.message,
                     "op is not registered; did you mean 'MatMul'?");
    program_want(
        &p,
        eddy_graph_add_op(p.graph, "Frobnicate", "y", NULL, 0, NULL, &p.err),
        EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP);
    ck_assert_str_eq(p.err.message, "op is not registered");
}
END_TEST

/* Loads the graph again, with an op that is written otherwise. */
static void rename_op(const char *from, const char *to)
{
    void *bytes;
    size_t length;
    eddy_graph *loaded;
    char *at = NULL;

    ck_assert_int_eq(eddy_graphdef_write(p.graph, &bytes, &length, &p.err),
                     EDDY_OK);
    for (size_t i = 0; i + strlen(from) <= length && !at; i++)
        if (memcmp((char *)bytes + i, from, strlen(from)) == 0)
            at = (char *)bytes + i;
    ck_assert_ptr_nonnull(at);
    ck_assert_uint_eq(strlen(from), strlen(to));
    memcpy(at, to, strlen(to));
    ck_assert_int_eq(
        eddy_graphdef_read(p.ctx, bytes, length, NULL, &loaded, &p.err),
        EDDY_OK);
    eddy_graphdef_free(p.graph, bytes, length);
    eddy_graph_destroy(p.graph);
    p.graph = loaded;
}

START_TEST(so_do_those_of_a_file)
{
    program_build(&p, "x ?float32[2,2]\n"
                      "y MatMul x x\n"
                      "z Softplus y\n");
    rename_op("MatMul", "MatMil");
    rename_op("Softplus", "Qoftplux");
    program_want(&p, program_try_plan(&p, "x", "z"), EDDY_NOT_FOUND,
                 EDDY_E_UNKNOWN_OP);
    ck_assert_str_eq(p.err.message,
                     "2 needed nodes are of unknown op: 'MatMil' (did you mean "
                     "'MatMul'?), 'Qoftplux' (did you mean 'Softplus'?)");
}
END_TEST

TCase *nearest_tests(void)
{
    TCase *tcase = tcase_create("nearest");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, the_nearest_name_is_found);
    tcase_add_test(tcase, an_unknown_op_comes_with_the_nearest);
    tcase_add_test(tcase, so_do_those_of_a_file);
    return tcase;
}
