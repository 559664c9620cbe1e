/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test files, without a list by hand: for each tests/test_<name>.c the
 * Makefile writes a line X(<name>) into suites.inc, and the file defines
 * TCase *<name>_tests(void).
 */
#ifndef EDDY_TESTS_SUITES_H
#define EDDY_TESTS_SUITES_H

#include <check.h>

#define X(name) TCase *name##_tests(void);
#include "tests/suites.inc"
#undef X

#endif
