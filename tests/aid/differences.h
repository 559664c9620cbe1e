/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of programs against central differences. */
#ifndef EDDY_TESTS_DIFFERENCES_H
#define EDDY_TESTS_DIFFERENCES_H

/*
 * Fails the test unless the first and the second gradient of `y` by `x` are
 * what moving each element of x by `step` gives, up to `tolerance` absolute and
 * relative.  `text` is a program as in tests/aid/program.h, from x, which is
 * float64[2,3] and is declared with dimensions `dims`, and constants w of that
 * shape and v, float64[3], to y, float64.
 */
void differences_check(const char *text, const char *dims, double step,
                       double tolerance);

/*
 * Fails the test unless the gradient by each floating source of the program, x
 * and constants alike, is the same where it alone is asked for as where all
 * are; then the same of the gradients of those, by the sources and by what the
 * first gradient started from; and unless the tangents of single sources add
 * up to that of all, with `tolerance` absolute and relative.  A gradient that
 * does not exist is refused in both ways.
 */
void differences_check_alone(const char *text, double tolerance);

/* u.(J v) = (J'u).v, for some u and v: forward against reverse mode. */
void differences_check_modes(const char *text, const char *dims);

#endif
