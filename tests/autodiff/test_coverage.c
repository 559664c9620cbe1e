/* SPDX-License-Identifier: Apache-2.0 */
/* Every op has a gradient or a reason to have none. */
#include "autodiff/coverage.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <string.h>

static program p;

START_TEST(every_op_is_in_one_of_the_two_tables)
{
    program_init(&p, 0);
    for (size_t i = 0; eddy_op_name(p.ctx, i); i++) {
        const char *op = eddy_op_name(p.ctx, i);
        eddy__no_grad reason;
        const bool has = eddy__coverage_has_rule(op);
        const bool has_not = eddy__coverage_has_no_rule(op, &reason);

        ck_assert_msg(has || has_not, "%s is in neither table", op);
        ck_assert_msg(!has || !has_not, "%s is in both tables", op);
    }
    program_deinit(&p);
}
END_TEST

/* A gradient ends at an op for which there is none by its row. */
START_TEST(the_flags_of_ops_agree)
{
    program_init(&p, 0);
    for (size_t i = 0; eddy_op_name(p.ctx, i); i++) {
        const char *op = eddy_op_name(p.ctx, i);
        eddy__no_grad reason;
        eddy_op_info info;
        const bool has_not = eddy__coverage_has_no_rule(op, &reason);

        ck_assert(eddy_op_find(p.ctx, op, &info));
        if (info.flags & EDDY_OP_NOT_DIFFERENTIABLE)
            ck_assert_msg(has_not && !eddy__coverage_is_differentiable(reason),
                          "%s ends gradients, but has one", op);
    }
    program_deinit(&p);
}
END_TEST

START_TEST(every_row_is_of_an_op)
{
    static const char *const rows[] = {
#define GRAD(op, rule) op,
#include "autodiff/grads.def"
#undef GRAD
#define NO_GRAD(op, reason) op,
#include "autodiff/no_grads.def"
#undef NO_GRAD
    };
    const size_t n = sizeof rows / sizeof *rows;

    program_init(&p, 0);
    for (size_t i = 0; i < n; i++) {
        eddy_op_info info;

        ck_assert_msg(eddy_op_find(p.ctx, rows[i], &info), "%s is no op",
                      rows[i]);
        for (size_t j = 0; j < i; j++)
            ck_assert_msg(strcmp(rows[i], rows[j]) != 0, "%s stands twice",
                          rows[i]);
    }
    program_deinit(&p);
}
END_TEST

TCase *coverage_tests(void)
{
    TCase *tcase = tcase_create("coverage");

    tcase_add_test(tcase, every_op_is_in_one_of_the_two_tables);
    tcase_add_test(tcase, the_flags_of_ops_agree);
    tcase_add_test(tcase, every_row_is_of_an_op);
    return tcase;
}
