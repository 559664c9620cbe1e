/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs every test file.  Check reads its own variables from the environment:
 * CK_RUN_CASE=<name> runs tests/test_<name>.c alone, CK_FORK=no keeps a test
 * in this process for a debugger, CK_VERBOSITY=verbose lists every test.
 * EDDY_TEST_FILES="a b" runs tests/test_a.c and test_b.c alone,
 * EDDY_TEST_SHARE=1/3 the second of three shares of the files that are to run.
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

/* Is the next file, of which there have been `n`, in our share? */
static bool is_ours(unsigned n)
{
    const char *text = getenv("EDDY_TEST_SHARE");
    unsigned share = 0, shares = 1;

    if (!text)
        return true;
    if (sscanf(text, "%u/%u", &share, &shares) != 2 || share >= shares) {
        fprintf(stderr, "EDDY_TEST_SHARE='%s' is no share\n", text);
        exit(EXIT_FAILURE);
    }
    return n % shares == share;
}

int main(void)
{
    Suite *suite = suite_create("eddy");
    SRunner *runner;
    unsigned n = 0;
    int failed;

#define X(name)                                                                \
    if (is_wanted(#name) && is_ours(n++))                                      \
        suite_add_tcase(suite, name##_tests());
#include "tests/suites.inc"
#undef X
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
