/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded runs whose loops go by the linear executor: they tell the same. */
#include "tests/runtime/recorder_tests.h"
#include "tests/suites.h"

TCase *recorder_linear_tests(void)
{
    return recorder_tests_by("recorder_linear", true);
}
