/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of regular expressions: steps and classes of characters. */
#include "ops/misc/regex.h"

/* RE2's programs have about as many steps at the most. */
#define MOST_STEPS (1 << 16)

void eddy__regex_end(eddy__regex *re)
{
    eddy__text_end(&re->code);
    eddy__text_end(&re->ranges);
}

eddy_status eddy__regex_refuse(eddy_kernel *k, const eddy__string *pattern,
                               const char *what)
{
    char text[100];

    if (!what)
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                           "no memory for a regular expression");
    eddy__copy_text(text, sizeof text, pattern->data, pattern->length);
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                       "regular expression '%s': %s", text, what);
}

eddy_status eddy__regex_add(eddy_kernel *k, eddy__regex *re,
                            eddy__regex_kind kind, int32_t x, int32_t y)
{
    const eddy__regex_step step = {(int32_t)kind, x, y};

    if (re->n_steps == MOST_STEPS)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "the regular expression is too large");
    eddy__text_add(&re->code, (const char *)&step, sizeof step);
    if (re->code.failed)
        return eddy__regex_refuse(k, NULL, NULL);
    re->n_steps++;
    return eddy__go_on(k, 8);
}

/* ---- classes ---- */

/* Moves element `i` of a heap of `n` down to where it belongs. */
static void sink(eddy__regex_range *ranges, size_t i, size_t n)
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        eddy__regex_range other;

        if (child + 1 < n && ranges[child + 1].low > ranges[child].low)
            child++;
        if (ranges[child].low <= ranges[i].low)
            return;
        other = ranges[i];
        ranges[i] = ranges[child];
        ranges[child] = other;
    }
}

static bool sort_ranges(eddy_kernel *k, eddy__regex_range *ranges, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sink(ranges, i, n);
    for (size_t i = n; i-- > 1;) {
        const eddy__regex_range last = ranges[i];

        if (eddy__spent(k, 64))
            return false;
        ranges[i] = ranges[0];
        ranges[0] = last;
        sink(ranges, 0, i);
    }
    return true;
}

/* Adds a range; one that has all beyond ASCII takes what is odd, too. */
static void add_range(eddy__regex *re, int32_t low, int32_t high)
{
    const eddy__regex_range range = {
        low, low <= 0x80 && high == EDDY__REGEX_LAST ? EDDY__REGEX_ODD : high};

    if (low <= high)
        eddy__text_add(&re->ranges, (const char *)&range, sizeof range);
}

eddy_status eddy__regex_add_class(eddy_kernel *k, eddy__regex *re,
                                  eddy__regex_range *ranges, size_t n,
                                  bool is_negated)
{
    const size_t first = re->ranges.length / sizeof *ranges;
    int32_t low = 0, high = -1; /* what is joined; empty at first */
    size_t end;

    if (!sort_ranges(k, ranges, n))
        return eddy__go_on(k, 0);
    for (size_t i = 0; i <= n; i++) {
        const bool is_last = i == n;

        if (!is_last && high >= 0 && ranges[i].low <= high + 1) {
            high = ranges[i].high > high ? ranges[i].high : high;
            continue;
        }
        if (is_negated)
            add_range(re, high + 1,
                      is_last ? EDDY__REGEX_LAST : ranges[i].low - 1);
        else if (high >= 0)
            add_range(re, low, high);
        if (!is_last) {
            low = ranges[i].low;
            high = ranges[i].high;
        }
    }
    end = re->ranges.length / sizeof *ranges;
    if (re->ranges.failed)
        return eddy__regex_refuse(k, NULL, NULL);
    if (end > INT32_MAX)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "the regular expression is too large");
    return eddy__regex_add(k, re, EDDY__REGEX_CLASS, (int32_t)first,
                           (int32_t)(end - first));
}
