/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a regular expression into a program, from left to right.  The program
 * so far ends with the last item, which a repetition behind it applies to;
 * groups that are open are frames of a stack.
 */
#include "ops/misc/regex.h"
#include "ops/misc/regex_class.h"
#include "ops/misc/utf8.h"

#include <string.h>

#define MOST_REPEATS 1000
#define MOST_DEPTH 1000

/* A group that is open, or the whole. */
typedef struct frame {
    int32_t way;       /* where the alternative begins */
    int32_t jumps;     /* the last jump to its end, each tells the one before;
                          -1: none */
    int32_t last;      /* where the last item of the alternative begins; -1 */
    int32_t group;     /* its number; 0: is not kept */
    int32_t most;      /* product of repetitions in it, outside the last item */
    int32_t last_most; /* in the last item */
    int32_t flags;     /* of what is around it */
    bool any_empty;    /* an alternative may be empty */
    bool before_empty; /* what is before the last item may be */
    bool last_empty;   /* the last item may be */
} frame;

typedef struct reader {
    eddy_kernel *kernel;
    eddy__regex *re;
    const eddy__string *pattern;
    size_t at;
    int32_t flags; /* eddy__regex_flag */
    bool was_repeated;
    eddy__text frames; /* of frame */
} reader;

static frame *top(const reader *r)
{
    return (frame *)(void *)r->frames.data + r->frames.length / sizeof(frame) -
           1;
}

static eddy_status fail(const reader *r, const char *what)
{
    return eddy__regex_refuse(r->kernel, r->pattern, what);
}

static bool is_next(const reader *r, char c)
{
    return r->at < r->pattern->length && r->pattern->data[r->at] == c;
}

static bool take(reader *r, char c)
{
    const bool is = is_next(r, c);

    r->at += is;
    return is;
}

static bool has_flag(const reader *r, eddy__regex_flag flag)
{
    return (r->flags & (int32_t)flag) != 0;
}

static eddy_status add(reader *r, eddy__regex_kind kind, int32_t x, int32_t y)
{
    return eddy__regex_add(r->kernel, r->re, kind, x, y);
}

/* ---- items ---- */

static eddy_status begin_frame(reader *r, int32_t group)
{
    const int32_t at = r->re->n_steps;
    const frame f = {.way = at,
                     .jumps = -1,
                     .last = -1,
                     .group = group,
                     .most = 1,
                     .last_most = 1,
                     .flags = r->flags,
                     .before_empty = true,
                     .last_empty = true};

    if (r->frames.length / sizeof f > MOST_DEPTH)
        return fail(r, "groups nest too deep");
    eddy__text_add(&r->frames, (const char *)&f, sizeof f);
    return r->frames.failed ? fail(r, NULL) : EDDY_OK;
}

/* A new item follows. */
static void begin_item(reader *r)
{
    frame *f = top(r);

    f->before_empty = f->before_empty && f->last_empty;
    f->most = f->last_most > f->most ? f->last_most : f->most;
    f->last = r->re->n_steps;
    f->last_most = 1;
    f->last_empty = false;
    r->was_repeated = false;
}

static eddy_status add_character(reader *r, int32_t c)
{
    eddy__regex_range folded[EDDY__REGEX_FOLDED];
    eddy_status status;
    size_t n = 0;

    begin_item(r);
    if (!has_flag(r, EDDY__REGEX_FOLDS))
        return add(r, EDDY__REGEX_CHARACTER, c, 0);
    status = eddy__regex_fold(r->kernel, (eddy__regex_range){c, c}, folded, &n);
    if (status != EDDY_OK)
        return status;
    return n == 1 ? add(r, EDDY__REGEX_CHARACTER, c, 0)
                  : eddy__regex_add_class(r->kernel, r->re, folded, n, false);
}

static eddy_status add_any(reader *r)
{
    eddy__regex_range line = {'\n', '\n'};

    begin_item(r);
    return eddy__regex_add_class(r->kernel, r->re, &line,
                                 has_flag(r, EDDY__REGEX_DOT_IS_ALL) ? 0 : 1,
                                 true);
}

static eddy_status add_place(reader *r, eddy__regex_place place)
{
    begin_item(r);
    top(r)->last_empty = true;
    return add(r, EDDY__REGEX_ASSERT, (int32_t)place, 0);
}

/* ---- alternatives and groups ---- */

/* Puts a step before those from `at` on. */
static eddy_status insert(reader *r, int32_t at, eddy__regex_step step)
{
    eddy__regex_step *steps;
    const int32_t n = r->re->n_steps - at;

    EDDY_TRY(add(r, EDDY__REGEX_MATCH, 0, 0));
    steps = eddy__regex_steps(r->re) + at;
    if (n > 0)
        memmove(steps + 1, steps, (size_t)n * sizeof *steps);
    *steps = step;
    return eddy__go_on(r->kernel, n);
}

static void end_way(frame *f)
{
    f->any_empty = f->any_empty || (f->before_empty && f->last_empty);
    f->most = f->last_most > f->most ? f->last_most : f->most;
}

static eddy_status add_way(reader *r)
{
    frame *f = top(r);
    const int32_t length = r->re->n_steps - f->way;

    end_way(f);
    EDDY_TRY(insert(r, f->way,
                    (eddy__regex_step){EDDY__REGEX_SPLIT, 1, length + 2}));
    EDDY_TRY(add(r, EDDY__REGEX_JUMP, f->jumps, 0));
    f->jumps = r->re->n_steps - 1;
    f->way = r->re->n_steps;
    f->last = -1;
    f->last_most = 1;
    f->before_empty = f->last_empty = true;
    r->was_repeated = false;
    return EDDY_OK;
}

/* The alternatives of a frame come together behind the last. */
static void join_ways(reader *r, frame *f)
{
    eddy__regex_step *steps = eddy__regex_steps(r->re);

    end_way(f);
    for (int32_t at = f->jumps; at >= 0;) {
        const int32_t before = steps[at].x;

        steps[at].x = r->re->n_steps - at;
        at = before;
    }
}

static eddy_status end_group(reader *r)
{
    frame f = *top(r);

    if (r->frames.length == sizeof f)
        return fail(r, "unexpected )");
    join_ways(r, &f);
    r->frames.length -= sizeof f;
    r->flags = f.flags;
    r->was_repeated = false;
    top(r)->last_empty = f.any_empty;
    top(r)->last_most = f.most;
    return f.group > 0 ? add(r, EDDY__REGEX_SAVE, 2 * f.group + 1, 0) : EDDY_OK;
}

static eddy_status begin_group(reader *r, bool is_kept)
{
    int32_t group = 0;

    begin_item(r);
    if (is_kept)
        group = r->re->n_groups++;
    EDDY_TRY(begin_frame(r, group));
    if (!is_kept)
        return EDDY_OK;
    EDDY_TRY(add(r, EDDY__REGEX_SAVE, 2 * group, 0));
    top(r)->way++;
    return EDDY_OK;
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || c == '_';
}

/* The name of a group, up to its '>'; nobody asks for it. */
static eddy_status read_name(reader *r)
{
    const size_t from = r->at;

    while (r->at < r->pattern->length && is_word(r->pattern->data[r->at]))
        r->at++;
    return r->at > from && take(r, '>')
               ? EDDY_OK
               : fail(r, "a group's name is malformed");
}

/* `(?i-s)` and `(?i-s:`; the former is about all that follows in the group. */
static eddy_status read_flags(reader *r)
{
    static const char letters[] = "imsU";
    int32_t flags = r->flags;
    bool sets = true, any = false, any_sign = false;

    for (; r->at < r->pattern->length; r->at++) {
        const char c = r->pattern->data[r->at];
        const char *letter = c ? strchr(letters, c) : NULL;
        const int32_t bit = letter ? 1 << (letter - letters) : 0;

        if (letter) {
            flags = sets ? flags | bit : flags & ~bit;
            any = true;
        } else if (c == '-' && !any_sign) {
            sets = any = false;
            any_sign = true;
        } else {
            break;
        }
    }
    if ((any_sign && !any) || !(is_next(r, ')') || is_next(r, ':')))
        return fail(r, "the flags of a group are malformed");
    if (take(r, ':'))
        EDDY_TRY(begin_group(r, false));
    else
        r->at++;
    r->flags = flags;
    r->was_repeated = false;
    return EDDY_OK;
}

static eddy_status read_group(reader *r)
{
    if (!take(r, '?'))
        return begin_group(r, true);
    if (r->at + 1 < r->pattern->length &&
        memcmp(r->pattern->data + r->at, "P<", 2) == 0)
        r->at++;
    if (take(r, '<')) {
        EDDY_TRY(read_name(r));
        return begin_group(r, true);
    }
    return read_flags(r);
}

/* ---- repetitions ---- */

/* Adds a copy of the `n` steps from `at` on. */
static eddy_status repeat(reader *r, int32_t at, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        const eddy__regex_step step = eddy__regex_steps(r->re)[at + i];

        EDDY_TRY(add(r, (eddy__regex_kind)step.kind, step.x, step.y));
    }
    return EDDY_OK;
}

/* A split with a way that is near and one that is not. */
static eddy__regex_step split_to(int32_t here, int32_t away, bool prefers_here)
{
    return (eddy__regex_step){EDDY__REGEX_SPLIT, prefers_here ? here : away,
                              prefers_here ? away : here};
}

/* The item of `n` steps at the end, once or more. */
static eddy_status add_plus(reader *r, int32_t n, bool is_greedy)
{
    const eddy__regex_step back = split_to(-n, 1, is_greedy);

    return add(r, EDDY__REGEX_SPLIT, back.x, back.y);
}

/*
 * The same, or none.  An item that may be empty is once or more, or nothing,
 * so that its ways come in the right order.
 */
static eddy_status add_star(reader *r, int32_t at, bool is_greedy,
                            bool may_be_empty)
{
    const int32_t n = r->re->n_steps - at;

    EDDY_TRY(insert(r, at, split_to(1, n + 2, is_greedy)));
    return may_be_empty ? add_plus(r, n, is_greedy)
                        : add(r, EDDY__REGEX_JUMP, -n - 1, 0);
}

/* From `least` to `most` times the last item; `most` negative: any number. */
static eddy_status add_times(reader *r, int32_t least, int32_t most,
                             bool is_greedy)
{
    frame *f = top(r);
    const int32_t at = f->last, n = r->re->n_steps - at;
    int32_t end;

    if (least == 0 && most < 0)
        return add_star(r, at, is_greedy, f->last_empty);
    for (int32_t i = 1; i < least; i++)
        EDDY_TRY(repeat(r, at, n));
    if (most < 0)
        return add_plus(r, n, is_greedy);
    if (most == 0) {
        r->re->n_steps = at;
        r->re->code.length = (size_t)at * sizeof(eddy__regex_step);
        return EDDY_OK;
    }
    /* All that may be left out jump to one end. */
    end = r->re->n_steps + (most - (least > 0 ? least : 1)) * (n + 1);
    if (least == 0) {
        end++;
        EDDY_TRY(insert(r, at, split_to(1, end - at, is_greedy)));
    }
    for (int32_t i = least > 0 ? least : 1; i < most; i++) {
        const eddy__regex_step on =
            split_to(1, end - r->re->n_steps, is_greedy);

        EDDY_TRY(add(r, EDDY__REGEX_SPLIT, on.x, on.y));
        EDDY_TRY(repeat(r, at + (least == 0), n));
    }
    return EDDY_OK;
}

static eddy_status add_repeat(reader *r, int32_t least, int32_t most)
{
    frame *f = top(r);
    const int32_t times = most < 0 ? least : most;
    bool is_greedy;

    if (f->last < 0)
        return fail(r, "there is nothing to repeat");
    if (r->was_repeated)
        return fail(r, "a repetition is repeated");
    if (times > MOST_REPEATS || (most >= 0 && least > most) ||
        (times > 1 && f->last_most > MOST_REPEATS / times))
        return fail(r, "the number of repetitions is out of range");
    is_greedy = take(r, '?') == has_flag(r, EDDY__REGEX_IS_LAZY);
    EDDY_TRY(add_times(r, least, most, is_greedy));
    if (times > 1)
        f->last_most *= times;
    f->last_empty = f->last_empty || least == 0;
    r->was_repeated = true;
    return EDDY_OK;
}

/* An unsigned number without needless zeros, cut at 10^8. */
static bool read_number(reader *r, int32_t *out)
{
    const size_t from = r->at;

    *out = 0;
    for (; r->at < r->pattern->length; r->at++) {
        const char c = r->pattern->data[r->at];

        if (c < '0' || c > '9')
            break;
        if (*out < 100000000)
            *out = *out * 10 + (c - '0');
    }
    return r->at > from && (r->pattern->data[from] != '0' || r->at == from + 1);
}

/* `{n}`, `{n,}` and `{n,m}`; anything else in braces is itself. */
static eddy_status read_braces(reader *r)
{
    const size_t from = r->at;
    int32_t least = 0, most = 0;
    bool ok = read_number(r, &least);

    most = least;
    if (ok && take(r, ',')) {
        most = -1;
        if (!is_next(r, '}'))
            ok = read_number(r, &most);
    }
    if (ok && take(r, '}'))
        return add_repeat(r, least, most);
    r->at = from;
    return add_character(r, '{');
}

/* ---- escapes ---- */

/* `\Q`: as it stands up to `\E`. */
static eddy_status read_quoted(reader *r)
{
    while (r->at < r->pattern->length) {
        int32_t c;

        if (r->at + 1 < r->pattern->length &&
            memcmp(r->pattern->data + r->at, "\\E", 2) == 0) {
            r->at += 2;
            break;
        }
        c = eddy__utf8_next(r->pattern, &r->at);
        if (c == EDDY__UTF8_MISTAKE)
            return fail(r, "it is no UTF-8");
        EDDY_TRY(add_character(r, c));
    }
    return EDDY_OK;
}

/* Behind a backslash. */
static eddy_status read_escape(reader *r)
{
    static const char places[] = "AzbB";
    static const eddy__regex_place place_of[] = {
        EDDY__REGEX_TEXT_START, EDDY__REGEX_TEXT_END, EDDY__REGEX_WORD_EDGE,
        EDDY__REGEX_NO_WORD_EDGE};
    const bool is_end = r->at >= r->pattern->length;
    const char c = (char)(is_end ? 0 : r->pattern->data[r->at]);
    const char *place = c ? strchr(places, c) : NULL;
    eddy__regex_class class;
    int32_t character = 0;
    eddy_status status;

    if (place || c == 'Q') {
        r->at++;
        return place ? add_place(r, place_of[place - places]) : read_quoted(r);
    }
    if (c && strchr("dDsSwW", c)) {
        begin_item(r);
        r->at++;
        eddy__regex_class_begin(&class, r->kernel, r->pattern,
                                has_flag(r, EDDY__REGEX_FOLDS));
        status = eddy__regex_class_shorthand(&class, c);
        if (status == EDDY_OK)
            status = eddy__regex_class_add(&class, r->re, false);
        eddy__regex_class_end(&class);
        return status;
    }
    EDDY_TRY(eddy__regex_escaped(r->kernel, r->pattern, &r->at, &character));
    return add_character(r, character);
}

static eddy_status read_class(reader *r)
{
    eddy__regex_class class;
    eddy_status status;
    bool is_negated = false;

    begin_item(r);
    eddy__regex_class_begin(&class, r->kernel, r->pattern,
                            has_flag(r, EDDY__REGEX_FOLDS));
    status = eddy__regex_class_read(&class, &r->at, &is_negated);
    if (status == EDDY_OK)
        status = eddy__regex_class_add(&class, r->re, is_negated);
    eddy__regex_class_end(&class);
    return status;
}

/* ---- all of it ---- */

static eddy_status read_character(reader *r)
{
    const int32_t c = eddy__utf8_next(r->pattern, &r->at);

    return c == EDDY__UTF8_MISTAKE ? fail(r, "it is no UTF-8")
                                   : add_character(r, c);
}

static eddy_status read_next(reader *r)
{
    const bool by_line = has_flag(r, EDDY__REGEX_BY_LINE);

    switch (r->pattern->data[r->at++]) {
    case '(':
        return read_group(r);
    case ')':
        return end_group(r);
    case '|':
        return add_way(r);
    case '*':
        return add_repeat(r, 0, -1);
    case '+':
        return add_repeat(r, 1, -1);
    case '?':
        return add_repeat(r, 0, 1);
    case '{':
        return read_braces(r);
    case '[':
        return read_class(r);
    case '.':
        return add_any(r);
    case '^':
        return add_place(r, by_line ? EDDY__REGEX_LINE_START
                                    : EDDY__REGEX_TEXT_START);
    case '$':
        return add_place(r,
                         by_line ? EDDY__REGEX_LINE_END : EDDY__REGEX_TEXT_END);
    case '\\':
        return read_escape(r);
    default:
        r->at--;
        return read_character(r);
    }
}

static eddy_status read_all(reader *r)
{
    EDDY_TRY(begin_frame(r, 0));
    EDDY_TRY(add(r, EDDY__REGEX_SAVE, 0, 0));
    top(r)->way++;
    while (r->at < r->pattern->length) {
        EDDY_TRY(read_next(r));
        EDDY_TRY(eddy__go_on(r->kernel, 16));
    }
    if (r->frames.length != sizeof(frame))
        return fail(r, "missing )");
    join_ways(r, top(r));
    EDDY_TRY(add(r, EDDY__REGEX_SAVE, 1, 0));
    return add(r, EDDY__REGEX_MATCH, 0, 0);
}

eddy_status eddy__regex_compile(eddy_kernel *k, const eddy__string *pattern,
                                eddy__regex *out)
{
    reader r = {.kernel = k,
                .re = out,
                .pattern = pattern,
                .frames = eddy__text_begin(k)};
    eddy_status status;

    *out = (eddy__regex){.code = eddy__text_begin(k),
                         .ranges = eddy__text_begin(k),
                         .n_groups = 1};
    status = read_all(&r);
    eddy__text_end(&r.frames);
    return status;
}
