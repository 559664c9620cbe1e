/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for the library of a program's graph, written as text. */
#ifndef EDDY_TESTS_FUNCTIONS_H
#define EDDY_TESTS_FUNCTIONS_H

#include "tests/aid/program.h"

/*
 * Adds the function `name`.  `args` is "x=int64 y=bool"; `body` is text as in
 * tests/aid/program.h, whose nodes may read the arguments and must then say
 * their dtype attributes; `results` is "a b:1=int64 ^c", where `=dtype` is
 * needed of what reads an opaque node, and ^ is before what must run.
 */
void functions_add(program *p, const char *name, const char *args,
                   const char *body, const char *results);

/* Adds a node whose op is the name of a function. */
void functions_call(program *p, const char *function, const char *name,
                    const char *inputs);

#endif
