/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of the command line, read strictly: nothing before, nothing after. */
#ifndef EDDY_TOOLS_NUMBER_H
#define EDDY_TOOLS_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal digits only; false also when the number is above `limit`. */
bool eddy__number_read_count(const char *text, uint64_t limit,
                             uint64_t *out_count);

/*
 * Digits with an optional fraction and exponent, to nanoseconds; false when it
 * is negative or above what 64 bits hold.
 */
bool eddy__number_read_seconds(const char *text, uint64_t *out_ns);

/* A number or nan, inf, infinity in any case; false for anything else. */
bool eddy__number_read_real(const char *text, double *out_real);

/* The same twice, as in 1.5-2j; one part may be missing. */
bool eddy__number_read_complex(const char *text, double *out_re,
                               double *out_im);

#endif
