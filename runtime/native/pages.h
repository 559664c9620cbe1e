/* SPDX-License-Identifier: Apache-2.0 */
/* Pages for machine code: first written, then executed, never both at once. */
#ifndef EDDY_NATIVE_PAGES_H
#define EDDY_NATIVE_PAGES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copies `n` bytes of code to pages of their own that can be read and executed;
 * NULL if the system refuses that.  `*out_mapped` is for eddy__pages_release.
 * @thread any
 */
uint8_t *eddy__pages_of_code(const uint8_t *code, size_t n, size_t *out_mapped);

/* Accepts NULL. */
void eddy__pages_release(uint8_t *pages, size_t n_mapped);

#endif
