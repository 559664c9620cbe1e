/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs every test file.  Check reads its own variables from the environment:
 * CK_RUN_CASE=<name> runs tests/test_<name>.c alone, CK_FORK=no keeps a test
 * in this process for a debugger, CK_VERBOSITY=verbose lists every test.
 * EDDY_TEST_FILES="a b" runs tests/test_a.c and test_b.c alone.
 */
#include "tests/suites.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Is the file one of those that are named, if any are? */
static bool is_wanted(const char *name)
{
    const char *list = getenv("EDDY_TEST_FILES");
    const size_t length = strlen(name);

    if (!list)
        return true;
    for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ' ') &&
            (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

int main(void)
{
    Suite *suite = suite_create("eddy");
    SRunner *runner;
    int failed;

#define X(name)                                                                \
    if (is_wanted(#name))                                                      \
        suite_add_tcase(suite, name##_tests());
#include "tests/suites.inc"
#undef X
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
