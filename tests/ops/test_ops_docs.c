/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of the op tables say of themselves; docs/ops.md is made of it.
 */
#include "eddy.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <string.h>

START_TEST(every_op_says_what_it_does_and_whose_it_is)
{
    program p;
    size_t n = 0;

    program_init(&p, 0);
    for (const char *name; (name = eddy_op_name(p.ctx, n)); n++) {
        eddy_op_info info;

        ck_assert(eddy_op_find(p.ctx, name, &info));
        ck_assert_msg(info.doc && *info.doc, "%s has no doc", name);
        ck_assert_msg(info.source && *info.source, "%s has no source", name);
        ck_assert_msg(!strchr(info.doc, '\n') && !strchr(info.source, '\n'),
                      "%s says it on more than a line", name);
    }
    ck_assert_uint_gt(n, 300);
    program_deinit(&p);
}
END_TEST

TCase *ops_docs_tests(void)
{
    TCase *tcase = tcase_create("ops_docs");

    tcase_add_test(tcase, every_op_says_what_it_does_and_whose_it_is);
    return tcase;
}
