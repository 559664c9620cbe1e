/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks and TensorArrays of bare scalars in machine code. */
#define OTHER EDDY_EXECUTOR_NATIVE
#define NAME "native_stores"
#define linear_stores_tests native_stores_tests

#include "tests/runtime/test_linear_stores.c"
