/*
 * Runs every test file.  Check reads its own variables from the environment:
 * CK_RUN_CASE=<name> runs tests/test_<name>.c alone, CK_FORK=no keeps a test
 * in this process for a debugger, CK_VERBOSITY=verbose lists every test.
 */
#include "tests/suites.h"

#include <stdlib.h>

int main(void)
{
    Suite *suite = suite_create("eddy");
    SRunner *runner;
    int failed;

#define X(name) suite_add_tcase(suite, name##_tests());
#include "tests/suites.inc"
#undef X
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
