/* SPDX-License-Identifier: Apache-2.0 */
/* Characters and classes of them, as regular expressions spell them. */
#include "ops/misc/regex_class.h"

#include "ops/misc/utf8.h"

#include <string.h>

/* ---- case ---- */

/* Where no character beyond ASCII has another case. */
static const eddy__regex_range caseless[] = {
    {0x80, 0xb4},     {0x2000, 0x20ff},   {0x2e80, 0xa63f},
    {0xac00, 0xd7ff}, {0x1f000, 0x1ffff}, {0x20000, 0x3ffff},
};

/* What lies in both, moved on by `by`. */
static void add_common(eddy__regex_range a, eddy__regex_range b, int32_t by,
                       eddy__regex_range *out, size_t *n)
{
    const int32_t low = a.low > b.low ? a.low : b.low;
    const int32_t high = a.high < b.high ? a.high : b.high;

    if (low <= high)
        out[(*n)++] = (eddy__regex_range){low + by, high + by};
}

eddy_status eddy__regex_fold(eddy_kernel *k, eddy__regex_range range,
                             eddy__regex_range out[EDDY__REGEX_FOLDED],
                             size_t *out_n)
{
    /* Two characters beyond ASCII are other cases of letters in it. */
    static const int32_t others[] = {'k', 'K', 0x212a, 's', 'S', 0x17f};
    const bool has_rest = range.low <= 0x80 && range.high == EDDY__REGEX_LAST;
    bool is_known = range.high < 0x80 || has_rest;

    *out_n = 0;
    out[(*out_n)++] = range;
    for (size_t i = 0; i < sizeof caseless / sizeof *caseless; i++)
        is_known = is_known || (range.low >= caseless[i].low &&
                                range.high <= caseless[i].high);
    if (!is_known)
        return eddy__kfail(k, EDDY_UNIMPLEMENTED, EDDY_E_VALUE,
                           "regular expressions without case are known of "
                           "ASCII letters only");
    add_common(range, (eddy__regex_range){'a', 'z'}, 'A' - 'a', out, out_n);
    add_common(range, (eddy__regex_range){'A', 'Z'}, 'a' - 'A', out, out_n);
    for (int i = 0; i < 6; i += 3) {
        bool any = false;

        for (int j = i; j < i + 3; j++)
            any = any || (range.low <= others[j] && others[j] <= range.high);
        for (int j = i; any && has_rest && j < i + 2; j++)
            out[(*out_n)++] = (eddy__regex_range){others[j], others[j]};
        if (any)
            out[(*out_n)++] = (eddy__regex_range){others[i + 2], others[i + 2]};
    }
    return EDDY_OK;
}

/* ---- building ---- */

void eddy__regex_class_begin(eddy__regex_class *class, eddy_kernel *k,
                             const eddy__string *pattern, bool folds)
{
    *class = (eddy__regex_class){.kernel = k,
                                 .pattern = pattern,
                                 .ranges = eddy__text_begin(k),
                                 .folds = folds};
}

void eddy__regex_class_end(eddy__regex_class *class)
{
    eddy__text_end(&class->ranges);
}

static eddy_status fail(const eddy__regex_class *class, const char *what)
{
    return eddy__regex_refuse(class->kernel, class->pattern, what);
}

static eddy_status add_ranges(eddy__regex_class *class,
                              const eddy__regex_range *ranges, size_t n)
{
    eddy__text_add(&class->ranges, (const char *)ranges, n * sizeof *ranges);
    if (class->ranges.failed)
        return fail(class, NULL);
    return eddy__go_on(class->kernel, 16);
}

static eddy_status add_range(eddy__regex_class *class, int32_t low,
                             int32_t high)
{
    eddy__regex_range folded[EDDY__REGEX_FOLDED] = {{low, high}};
    size_t n = 1;

    if (class->folds) {
        eddy_status status =
            eddy__regex_fold(class->kernel, folded[0], folded, &n);

        if (status != EDDY_OK)
            return status;
    }
    return add_ranges(class, folded, n);
}

eddy_status eddy__regex_class_add(eddy__regex_class *class, eddy__regex *re,
                                  bool is_negated)
{
    eddy__text *ranges = &class->ranges;

    return eddy__regex_add_class(class->kernel, re, (void *)ranges->data,
                                 ranges->length / sizeof(eddy__regex_range),
                                 is_negated);
}

/* ---- classes with a name ---- */

typedef struct named {
    const char *name;
    eddy__regex_range ranges[5]; /* up to one of {0, 0} */
} named;

/* In the order of their characters. */
static const named names[] = {
    {"d", {{'0', '9'}}},
    {"s", {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}},
    {"w", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
    {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
    {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
    {"ascii", {{0, 0x7f}}},
    {"blank", {{'\t', '\t'}, {' ', ' '}}},
    {"cntrl", {{0, 0x1f}, {0x7f, 0x7f}}},
    {"digit", {{'0', '9'}}},
    {"graph", {{'!', '~'}}},
    {"lower", {{'a', 'z'}}},
    {"print", {{' ', '~'}}},
    {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
    {"space", {{'\t', '\r'}, {' ', ' '}}},
    {"upper", {{'A', 'Z'}}},
    {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
    {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
};

static const named *find_named(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == length &&
            memcmp(names[i].name, name, length) == 0)
            return &names[i];
    return NULL;
}

/* The ranges, with other cases if these do not matter, in order. */
static size_t spread(const eddy__regex_class *class, const named *of,
                     eddy__regex_range out[5 * EDDY__REGEX_FOLDED])
{
    size_t n = 0, more;

    for (int i = 0; i < 5 && of->ranges[i].high > 0; i++) {
        out[n] = of->ranges[i];
        more = 1;
        /* Nothing of ASCII is refused. */
        if (class->folds)
            (void)eddy__regex_fold(class->kernel, out[n], out + n, &more);
        n += more;
    }
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && out[j].low < out[j - 1].low; j--) {
            const eddy__regex_range other = out[j];

            out[j] = out[j - 1];
            out[j - 1] = other;
        }
    return n;
}

/* Adds all that is in none of the ranges. */
static eddy_status add_others(eddy__regex_class *class, const named *of)
{
    eddy__regex_range ranges[5 * EDDY__REGEX_FOLDED] = {{0, 0}};
    const size_t n = spread(class, of, ranges);
    int32_t next = 0;

    for (size_t i = 0; i < n; i++) {
        const eddy__regex_range before = {next, ranges[i].low - 1};

        if (before.low <= before.high)
            EDDY_TRY(add_ranges(class, &before, 1));
        if (ranges[i].high >= next)
            next = ranges[i].high + 1;
    }
    return add_ranges(class, &(eddy__regex_range){next, EDDY__REGEX_LAST}, 1);
}

static eddy_status add_named(eddy__regex_class *class, const named *of,
                             bool is_negated)
{
    if (is_negated)
        return add_others(class, of);
    for (int i = 0; i < 5 && of->ranges[i].high > 0; i++)
        EDDY_TRY(add_range(class, of->ranges[i].low, of->ranges[i].high));
    return EDDY_OK;
}

eddy_status eddy__regex_class_shorthand(eddy__regex_class *class, char letter)
{
    const bool is_negated = letter < 'a';
    const char name = (char)(is_negated ? letter - 'A' + 'a' : letter);

    return add_named(class, find_named(&name, 1), is_negated);
}

/* ---- brackets ---- */

/* `[:name:]`; false: it is none, but characters as any. */
static bool find_posix(const eddy__string *p, size_t at, eddy__string *out_name)
{
    if (at + 1 >= p->length || p->data[at] != '[' || p->data[at + 1] != ':')
        return false;
    at += 2;
    for (size_t end = at; end + 1 < p->length; end++)
        if (p->data[end] == ':' && p->data[end + 1] == ']') {
            *out_name = (eddy__string){p->data + at, end - at};
            return true;
        }
    return false;
}

static eddy_status add_posix(eddy__regex_class *class, eddy__string name)
{
    const bool is_negated = name.length > 0 && name.data[0] == '^';
    const named *of =
        find_named(name.data + is_negated, name.length - (size_t)is_negated);

    if (!of || strlen(of->name) == 1)
        return fail(class, "there is no class of that name");
    return add_named(class, of, is_negated);
}

static eddy_status read_character(const eddy__regex_class *class, size_t *at,
                                  int32_t *out_c)
{
    const eddy__string *p = class->pattern;

    *out_c = 0;
    if (*at >= p->length)
        return fail(class, "missing ]");
    if (p->data[*at] == '\\') {
        ++*at;
        return eddy__regex_escaped(class->kernel, p, at, out_c);
    }
    *out_c = eddy__utf8_next(p, at);
    return *out_c == EDDY__UTF8_MISTAKE ? fail(class, "it is no UTF-8")
                                        : EDDY_OK;
}

static eddy_status read_range(eddy__regex_class *class, size_t *at)
{
    const eddy__string *p = class->pattern;
    int32_t low = 0, high = 0;

    EDDY_TRY(read_character(class, at, &low));
    high = low;
    if (*at + 1 < p->length && p->data[*at] == '-' && p->data[*at + 1] != ']') {
        ++*at;
        EDDY_TRY(read_character(class, at, &high));
    }
    if (high < low)
        return fail(class, "a range of characters goes down");
    return add_range(class, low, high);
}

/* Is it `\d` or one of those like it? */
static bool is_shorthand(const eddy__string *p, size_t at)
{
    return at + 1 < p->length && p->data[at] == '\\' && p->data[at + 1] &&
           strchr("dDsSwW", p->data[at + 1]);
}

eddy_status eddy__regex_class_read(eddy__regex_class *class, size_t *at,
                                   bool *out_is_negated)
{
    const eddy__string *p = class->pattern;
    eddy__string name;
    size_t from;

    *out_is_negated = *at < p->length && p->data[*at] == '^';
    *at += *out_is_negated;
    for (from = *at; *at >= p->length || p->data[*at] != ']' || *at == from;) {
        if (*at >= p->length)
            return fail(class, "missing ]");
        if (is_shorthand(p, *at)) {
            EDDY_TRY(eddy__regex_class_shorthand(class, p->data[*at + 1]));
            *at += 2;
        } else if (find_posix(p, *at, &name)) {
            EDDY_TRY(add_posix(class, name));
            *at += name.length + 4;
        } else {
            EDDY_TRY(read_range(class, at));
        }
    }
    ++*at;
    return EDDY_OK;
}

/* ---- escapes ---- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

static int digit_at(const eddy__string *p, size_t at)
{
    return at < p->length ? digit_of(p->data[at]) : 16;
}

/* `\x41` and `\x{41}`, behind the x; -1: it is neither. */
static int32_t read_hex(const eddy__string *p, size_t *at)
{
    int32_t c = 0;

    if (*at < p->length && p->data[*at] == '{') {
        const size_t from = ++*at;

        for (; digit_at(p, *at) < 16; ++*at) {
            c = c * 16 + digit_at(p, *at);
            if (c > EDDY__REGEX_LAST)
                return -1;
        }
        if (*at == from || *at >= p->length || p->data[*at] != '}')
            return -1;
        ++*at;
        return c;
    }
    if (digit_at(p, *at) == 16 || digit_at(p, *at + 1) == 16)
        return -1;
    c = digit_at(p, *at) * 16 + digit_at(p, *at + 1);
    *at += 2;
    return c;
}

/* `\012`, from its first digit on; -1: it would be a group's number. */
static int32_t read_octal(const eddy__string *p, size_t *at)
{
    const bool is_zero = p->data[*at] == '0';
    int32_t c = digit_at(p, (*at)++);

    if (!is_zero && digit_at(p, *at) >= 8)
        return -1;
    for (int i = 0; i < 2 && digit_at(p, *at) < 8; i++)
        c = c * 8 + digit_at(p, (*at)++);
    return c;
}

static int32_t read_letter(char letter)
{
    static const char letters[] = "afnrtv", values[] = "\a\f\n\r\t\v";
    const char *found = letter ? strchr(letters, letter) : NULL;

    return found ? values[found - letters] : -1;
}

eddy_status eddy__regex_escaped(eddy_kernel *k, const eddy__string *pattern,
                                size_t *at, int32_t *out_c)
{
    const bool is_end = *at >= pattern->length;
    const char c = (char)(is_end ? 0 : pattern->data[*at]);
    const bool is_word = digit_of(c) < 10 || c == '_' ||
                         ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');

    *out_c = -1;
    if (is_end)
        return eddy__regex_refuse(k, pattern, "it ends with a backslash");
    if (c == 'p' || c == 'P' || c == 'C')
        return eddy__kfail(k, EDDY_UNIMPLEMENTED, EDDY_E_VALUE,
                           "regular expressions with \\C, \\p and \\P are not "
                           "known here");
    if (c >= '0' && c <= '7') {
        *out_c = read_octal(pattern, at);
    } else if (c == 'x') {
        ++*at;
        *out_c = read_hex(pattern, at);
    } else if (is_word) {
        *out_c = read_letter(c);
        ++*at;
    } else if ((unsigned char)c < 0x80) {
        *out_c = (unsigned char)c;
        ++*at;
    }
    return *out_c >= 0 ? EDDY_OK
                       : eddy__regex_refuse(k, pattern,
                                            "an escape is none that is known");
}
