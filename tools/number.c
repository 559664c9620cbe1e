/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads counts, seconds, real and complex numbers, and refuses what follows
 * them.
 */
#include "tools/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What strtod may be given; it would also take spaces and hexadecimals. */
static const char real_characters[] = "0123456789.eE+-";
static const char named_characters[] = "0123456789.eE+-naifityNAIFTY";

bool eddy__number_read_count(const char *text, uint64_t limit,
                             uint64_t *out_count)
{
    uint64_t count = 0;

    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        const unsigned digit = (unsigned)*text - '0';

        if (digit > 9 || count > (UINT64_MAX - digit) / 10)
            return false;
        count = count * 10 + digit;
    }
    if (count > limit)
        return false;
    *out_count = count;
    return true;
}

bool eddy__number_read_seconds(const char *text, uint64_t *out_ns)
{
    char *end;
    double ns;

    if (text[strspn(text, real_characters)] != '\0' || *text == '+' ||
        *text == '-')
        return false;
    ns = strtod(text, &end) * 1e9;
    if (end == text || *end != '\0' || !(ns >= 0) || ns >= 0x1p64)
        return false;
    *out_ns = (uint64_t)ns;
    /* Nought means no limit, so a tiny one must not become nought. */
    if (*out_ns == 0 && ns > 0)
        *out_ns = 1;
    return true;
}

/* Reads a number up to a character that cannot be in one. */
static bool read_prefix(const char **text, double *out_real)
{
    char *end;

    *out_real = strtod(*text, &end);
    if (end == *text)
        return false;
    /* A literal beyond the range of double is not the infinity it becomes. */
    if (isinf(*out_real) && memchr(*text, 'n', (size_t)(end - *text)) == NULL &&
        memchr(*text, 'N', (size_t)(end - *text)) == NULL)
        return false;
    *text = end;
    return true;
}

bool eddy__number_read_real(const char *text, double *out_real)
{
    return text[strspn(text, named_characters)] == '\0' &&
           read_prefix(&text, out_real) && *text == '\0';
}

bool eddy__number_read_complex(const char *text, double *out_re, double *out_im)
{
    const size_t length = strlen(text);
    double first;

    if (length == 0 || text[length - 1] != 'j') {
        *out_im = 0;
        return eddy__number_read_real(text, out_re);
    }
    if (strspn(text, named_characters) != length - 1 ||
        !read_prefix(&text, &first))
        return false;
    if (strcmp(text, "j") == 0) {
        *out_re = 0;
        *out_im = first;
        return true;
    }
    *out_re = first;
    return (*text == '+' || *text == '-') && read_prefix(&text, out_im) &&
           strcmp(text, "j") == 0;
}
