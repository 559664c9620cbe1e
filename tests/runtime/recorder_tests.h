/* SPDX-License-Identifier: Apache-2.0 */
/* The tests of the recorder, by one executor or the other. */
#ifndef EDDY_TESTS_RECORDER_TESTS_H
#define EDDY_TESTS_RECORDER_TESTS_H

#include <check.h>
#include <stdbool.h>

/* All of test_recorder.c; `is_linear`: loops go by the linear executor. */
TCase *recorder_tests_by(const char *name, bool is_linear);

#endif
