/* SPDX-License-Identifier: Apache-2.0 */
/* Characters of UTF-8, one at a time. */
#ifndef EDDY_OPS_UTF8_H
#define EDDY_OPS_UTF8_H

#include "ops/misc/text.h"

#define EDDY__UTF8_MISTAKE (-1)

/* Is it the number of a character, so no surrogate and not too large? */
static inline bool eddy__utf8_is_character(int64_t c)
{
    return c >= 0 && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
}

/*
 * The character at `*at` < s->length, which goes on behind it.  Of bytes that
 * are no character, as many as could have begun one are one mistake.
 */
int32_t eddy__utf8_next(const eddy__string *s, size_t *at);

/* Adds a character, or any number below 2^21 in the same way. */
void eddy__utf8_add(eddy__text *text, uint32_t c);

#endif
