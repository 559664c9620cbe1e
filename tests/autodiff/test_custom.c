/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of a program's own: defining them, and finding them by name. */
#include "autodiff/custom.h"

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

static eddy_status rule(eddy_gradient *gradient)
{
    (void)gradient;
    return EDDY_OK;
}

static eddy_status define(const char *name, eddy_gradient_fn gradient)
{
    return eddy_gradient_define(p.ctx, name, gradient, &p.err);
}

static eddy_string text(const char *s)
{
    return (eddy_string){.data = s, .length = strlen(s)};
}

START_TEST(what_is_defined_is_found_by_its_name)
{
    program_want_ok(&p, define("Mine", rule));
    ck_assert(eddy__custom_find(p.ctx, text("Mine")) == rule);
    ck_assert(!eddy__custom_find(p.ctx, text("Min")));
    ck_assert(!eddy__custom_find(p.ctx, text("Mine2")));
    /* An op without a gradient of its own is none. */
    ck_assert(!eddy__custom_find(p.ctx, text("Less")));
}
END_TEST

START_TEST(a_node_names_its_gradient_in_an_attribute)
{
    program_build(&p, "x float64=1\n"
                      "y IdentityN x _gradient_op_type='Mine'\n"
                      "z IdentityN x\n");
    for (int i = 0; i < 2; i++) {
        const eddy_string name = eddy__custom_name(eddy__graph_node(
            p.graph, program_output(&p, i == 0 ? "y" : "z").node));

        ck_assert_uint_eq(name.length, i == 0 ? 4 : 0);
        if (i == 0)
            ck_assert_mem_eq(name.data, "Mine", 4);
    }
}
END_TEST

START_TEST(a_name_is_defined_once)
{
    program_want_ok(&p, define("Mine", rule));
    program_want(&p, define("Mine", rule), EDDY_ALREADY_EXISTS, EDDY_E_OP_SPEC);
}
END_TEST

START_TEST(a_gradient_needs_a_function_and_a_name)
{
    char longest[257];

    memset(longest, 'n', sizeof longest);
    longest[256] = 0;
    program_want(&p, define("Mine", NULL), EDDY_INVALID_ARGUMENT,
                 EDDY_E_ARGUMENT);
    program_want(&p, define(NULL, rule), EDDY_INVALID_ARGUMENT,
                 EDDY_E_ARGUMENT);
    program_want(&p, define(longest, rule), EDDY_INVALID_ARGUMENT,
                 EDDY_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(p.err.message, "255"));
    longest[255] = 0;
    program_want_ok(&p, define(longest, rule));
    ck_assert(eddy__custom_find(p.ctx, text(longest)) == rule);
    /* One that is too long for any is not found, and not read beyond. */
    ck_assert(!eddy__custom_find(p.ctx, (eddy_string){longest, 256}));
}
END_TEST

TCase *custom_tests(void)
{
    TCase *tc = tcase_create("custom");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_is_defined_is_found_by_its_name);
    tcase_add_test(tc, a_node_names_its_gradient_in_an_attribute);
    tcase_add_test(tc, a_name_is_defined_once);
    tcase_add_test(tc, a_gradient_needs_a_function_and_a_name);
    return tc;
}
