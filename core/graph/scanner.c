/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes one word, number or mark after the other from the text of a signature.
 */
#include "core/graph/scanner.h"

#include "core/base/status.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    const unsigned char lower = (unsigned char)(c | 0x20);

    return (lower >= 'a' && lower <= 'z') || c == '_';
}

/* Most words differ in their first letter: each op is read at every start. */
bool eddy__word_is(eddy__word word, const char *text)
{
    size_t i = 0;

    while (i < word.length && text[i] == word.text[i])
        i++;
    return i == word.length && text[i] == '\0';
}

/* To what is read next, which is where a failure will be said to be. */
static const char *start(eddy__scanner *in)
{
    while (*in->at == ' ' || *in->at == '\t' || *in->at == '\n')
        in->at++;
    in->last = in->at;
    return in->at;
}

bool eddy__scan(eddy__scanner *in, char mark)
{
    if (*start(in) != mark)
        return false;
    in->at++;
    return true;
}

bool eddy__scan_end(eddy__scanner *in)
{
    return *start(in) == '\0';
}

eddy__word eddy__scan_word(eddy__scanner *in)
{
    eddy__word word = {.text = start(in)};
    const char *at = word.text;

    if (is_letter(*at))
        while (is_letter(*at) || is_digit(*at))
            at++;
    in->at = at;
    word.length = (size_t)(at - word.text);
    return word;
}

/* Adds the digits at `*at` to `*number`; false if it does not fit `limit`. */
static bool read_digits(const char **at, uint64_t limit, uint64_t *number)
{
    for (; is_digit(**at); (*at)++) {
        uint64_t digit = (uint64_t)(**at - '0');

        if (*number > (limit - digit) / 10)
            return false;
        *number = *number * 10 + digit;
    }
    return true;
}

bool eddy__scan_int(eddy__scanner *in, int64_t *out)
{
    const char *at = start(in);
    bool is_negative = *at == '-';
    uint64_t limit = (uint64_t)INT64_MAX + (is_negative ? 1 : 0);
    uint64_t number = 0;

    at += is_negative;
    if (!is_digit(*at) || !read_digits(&at, limit, &number))
        return false;
    if (is_negative)
        *out = number == limit ? INT64_MIN : -(int64_t)number;
    else
        *out = (int64_t)number;
    in->at = at;
    return true;
}

/* `*number` times ten to the power; false where that would not be exact. */
static bool scale(double *number, int64_t power)
{
    double factor = 1;

    if (power < -22 || power > 22)
        return false;
    for (int64_t i = 0; i < (power < 0 ? -power : power); i++)
        factor *= 10;
    *number = power < 0 ? *number / factor : *number * factor;
    return true;
}

/*
 * strtof would depend on the locale.  Digits below 2^53 and powers of ten to 22
 * are exact in double, so that the quotient or product is rounded once.
 */
bool eddy__scan_float(eddy__scanner *in, float *out)
{
    const uint64_t limit = (uint64_t)1 << 53;
    const char *at = start(in);
    bool is_negative = *at == '-';
    uint64_t digits = 0;
    int64_t power = 0;
    double number;

    at += is_negative;
    if (!is_digit(*at) || !read_digits(&at, limit, &digits))
        return false;
    if (*at == '.') {
        const char *point = ++at;

        if (!read_digits(&at, limit, &digits))
            return false;
        power = point - at;
    }
    if (*at == 'e') {
        eddy__scanner rest = {.at = at + 1};
        int64_t exponent;

        if (!eddy__scan_int(&rest, &exponent) || exponent > 99 ||
            exponent < -99)
            return false;
        power += exponent;
        at = rest.at;
    }
    number = (double)digits;
    if (!scale(&number, power))
        return false;
    *out = (float)(is_negative ? -number : number);
    in->at = at;
    return true;
}

bool eddy__scan_quoted(eddy__scanner *in, eddy_string *out)
{
    const char *from = start(in);
    const char *end = *from == '\'' ? strchr(from + 1, '\'') : NULL;

    if (!end)
        return false;
    *out = (eddy_string){.data = from + 1, .length = (size_t)(end - from - 1)};
    in->at = end + 1;
    return true;
}

eddy_status eddy__scanner_fail(const eddy__scanner *in, const char *wanted)
{
    return eddy__fail_node(in->err, EDDY_INVALID_ARGUMENT, EDDY_E_OP_SPEC, NULL,
                           in->op, "%s, offset %zu: expected %s at '%.24s'",
                           in->part, (size_t)(in->last - in->text), wanted,
                           in->last);
}
