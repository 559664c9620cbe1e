/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes and constants that are known, of forward and of emitted nodes. */
#include "autodiff/value_shapes.h"

#include "tests/aid/studied.h"
#include "tests/suites.h"

static studied s;
static eddy__value_shapes shapes;

static void setup(void)
{
    studied_init(&s);
    studied_build(&s,
                  "x float64[2,3]=1\nany Placeholder dtype=float64 shape=?\n"
                  "y Neg x\nz Mul x any\nw Add y z\n",
                  "w", "x any");
    eddy__value_shapes_init(&shapes, &s.e, &s.study);
    eddy__value_shapes_watch(&shapes);
}

static void teardown(void)
{
    eddy__value_shapes_deinit(&shapes);
    studied_deinit(&s);
}

static const eddy_shape *shape_of(eddy_output v)
{
    return eddy__value_shapes_find(&shapes, v);
}

static eddy_output named(const char *name)
{
    return program_output(&s.p, name);
}

START_TEST(forward_values_have_what_the_study_knows)
{
    ck_assert_int_eq(shape_of(named("y"))->rank, 2);
    ck_assert_int_eq(shape_of(named("y"))->dims[1], 3);
    ck_assert_int_eq(shape_of(named("any"))->rank, -1);
    ck_assert_ptr_nonnull(eddy__value_shapes_constant(&shapes, named("x")));
    ck_assert_ptr_null(eddy__value_shapes_constant(&shapes, named("any")));
}
END_TEST

START_TEST(emitted_nodes_have_what_follows_from_their_inputs)
{
    const eddy_output sum = eddy__emit_op(&s.e, "Add", named("x"), named("y"));
    const eddy_output unknown = eddy__emit_op(&s.e, "Neg", named("any"));
    const eddy_output chained = eddy__emit_op(&s.e, "Neg", sum);

    program_want_ok(&s.p, s.e.core.status);
    ck_assert_int_eq(shape_of(sum)->rank, 2);
    ck_assert_int_eq(shape_of(chained)->dims[0], 2);
    ck_assert_int_eq(shape_of(unknown)->rank, -1);
}
END_TEST

START_TEST(a_shape_can_be_set_where_it_was_noted)
{
    const eddy_output v = eddy__emit_op(&s.e, "Neg", named("any"));
    eddy_shape *noted = eddy__value_shapes_emitted(&shapes, v);

    ck_assert_ptr_nonnull(noted);
    *noted = (eddy_shape){.rank = 1, .dims = {7}};
    ck_assert_int_eq(shape_of(v)->dims[0], 7);
    /* Forward nodes are not noted here. */
    ck_assert_ptr_null(eddy__value_shapes_emitted(&shapes, named("y")));
}
END_TEST

START_TEST(many_emitted_nodes_keep_theirs)
{
    eddy_output first = eddy__emit_op(&s.e, "Neg", named("x")), v = first;
    const eddy_shape *shape = shape_of(first);

    for (int i = 0; i < 500; i++)
        v = eddy__emit_op(&s.e, "Neg", v);
    program_want_ok(&s.p, s.e.core.status);
    ck_assert_ptr_eq(shape_of(first), shape);
    ck_assert_int_eq(shape_of(v)->dims[1], 3);
}
END_TEST

TCase *value_shapes_tests(void)
{
    TCase *tc = tcase_create("value_shapes");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, forward_values_have_what_the_study_knows);
    tcase_add_test(tc, emitted_nodes_have_what_follows_from_their_inputs);
    tcase_add_test(tc, a_shape_can_be_set_where_it_was_noted);
    tcase_add_test(tc, many_emitted_nodes_keep_theirs);
    return tc;
}
