/* SPDX-License-Identifier: Apache-2.0 */
/* Which rule a node has: its own by name, its op's, that of the table. */
#include "autodiff/rule_table.h"

#include "eddy/gradients.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

static program p;

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    program_deinit(&p);
}

static eddy_gradient_fn rule_of(const char *name)
{
    return eddy__rule_table_find(
        p.graph, eddy__graph_node(p.graph, program_output(&p, name).node));
}

static eddy_status first_rule(eddy_gradient *gradient)
{
    (void)gradient;
    return EDDY_OK;
}

static eddy_status other_rule(eddy_gradient *gradient)
{
    (void)gradient;
    return EDDY_INTERNAL;
}

static eddy_status do_nothing(eddy_kernel *kernel)
{
    (void)kernel;
    return EDDY_OK;
}

START_TEST(ops_have_the_rule_of_their_row)
{
    program_build(&p, "x float64=1\na Exp x\nb Exp a\nc Sin x\n");
    ck_assert(rule_of("a") != NULL);
    ck_assert(rule_of("a") == rule_of("b"));
    ck_assert(rule_of("a") != rule_of("c"));
}
END_TEST

START_TEST(ops_without_a_gradient_have_none)
{
    program_build(&p, "x float64=1\nc Less x x\n");
    ck_assert(!rule_of("x"));
    ck_assert(!rule_of("c"));
}
END_TEST

START_TEST(a_rule_of_a_programs_op_is_found)
{
    const eddy_op_spec spec = {.size = sizeof spec,
                               .name = "Own",
                               .inputs = "x: float64",
                               .outputs = "y: float64",
                               .kernel = do_nothing,
                               .gradient = first_rule};

    program_want_ok(&p, eddy_op_register(p.ctx, &spec, &p.err));
    program_build(&p, "x float64=1\ny Own x\n");
    ck_assert(rule_of("y") == first_rule);
}
END_TEST

START_TEST(a_name_in_the_node_comes_first)
{
    program_want_ok(&p,
                    eddy_gradient_define(p.ctx, "Mine", other_rule, &p.err));
    program_build(&p, "x float64=1\n"
                      "y Exp x _gradient_op_type='Mine'\n"
                      "z Exp x _gradient_op_type='Nobody'\n");
    ck_assert(rule_of("y") == other_rule);
    /* It is not that of the op: the program meant another. */
    ck_assert(!rule_of("z"));
}
END_TEST

TCase *rule_table_tests(void)
{
    TCase *tc = tcase_create("rule_table");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, ops_have_the_rule_of_their_row);
    tcase_add_test(tc, ops_without_a_gradient_have_none);
    tcase_add_test(tc, a_rule_of_a_programs_op_is_found);
    tcase_add_test(tc, a_name_in_the_node_comes_first);
    return tc;
}
