/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the program of a regular expression through a text, along all paths
 * at once.  A path is the step that it has come to, in a list in which no step
 * stands twice; those that are preferred stand before the others.
 */
#include "ops/misc/regex.h"
#include "ops/misc/scratch.h"
#include "ops/misc/utf8.h"

#include <string.h>

/* Paths, in order; `where` says at which number a step's is. */
typedef struct paths {
    int64_t n;
    int64_t *steps, *where, *ends;
} paths;

/* One search. */
typedef struct walk {
    eddy__regex_search *s;
    const eddy__string *text;
    size_t at;       /* bytes */
    int64_t *ends;   /* of the path that is followed */
    int64_t n_taken; /* steps since work was counted */
} walk;

static paths paths_of(const eddy__regex_search *s, int i)
{
    const int64_t n = s->re->n_steps;
    int64_t *from = s->lists + i * n * (2 + s->n_ends);

    return (paths){.steps = from, .where = from + n, .ends = from + 2 * n};
}

static bool has(const paths *p, int64_t step)
{
    const int64_t at = p->where[step];

    return at >= 0 && at < p->n && p->steps[at] == step;
}

static bool is_word_at(const eddy__string *s, size_t at)
{
    const unsigned char c =
        at < s->length ? (unsigned char)s->data[at] : (unsigned char)' ';

    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || c == '_';
}

static bool holds(const walk *w, eddy__regex_place place)
{
    const eddy__string *s = w->text;
    const bool is_edge =
        (w->at > 0 && is_word_at(s, w->at - 1)) != is_word_at(s, w->at);

    switch (place) {
    case EDDY__REGEX_TEXT_START:
        return w->at == 0;
    case EDDY__REGEX_TEXT_END:
        return w->at == s->length;
    case EDDY__REGEX_LINE_START:
        return w->at == 0 || s->data[w->at - 1] == '\n';
    case EDDY__REGEX_LINE_END:
        return w->at == s->length || s->data[w->at] == '\n';
    case EDDY__REGEX_WORD_EDGE:
        return is_edge;
    case EDDY__REGEX_NO_WORD_EDGE:
        return !is_edge;
    }
    return false;
}

/*
 * Adds the step and all that it leads to without a character.  The stack has
 * steps, and, as -1 - i under the value, what end i is to be again.
 */
static void follow(walk *w, paths *p, int64_t step)
{
    const eddy__regex_step *steps = eddy__regex_steps(w->s->re);
    const size_t n_ends = (size_t)w->s->n_ends;
    int64_t *stack = w->s->stack;
    int64_t n = 0;

    for (stack[n++] = step; n > 0;) {
        const int64_t at = stack[--n];
        const eddy__regex_step *now;

        if (at < 0) {
            w->ends[-1 - at] = stack[--n];
            continue;
        }
        w->n_taken++;
        if (has(p, at))
            continue;
        p->steps[p->n] = at;
        p->where[at] = p->n++;
        now = &steps[at];
        if (now->kind == EDDY__REGEX_JUMP) {
            stack[n++] = at + now->x;
        } else if (now->kind == EDDY__REGEX_SPLIT) {
            stack[n++] = at + now->y;
            stack[n++] = at + now->x;
        } else if (now->kind == EDDY__REGEX_SAVE) {
            if (now->x < w->s->n_ends) {
                stack[n++] = w->ends[now->x];
                stack[n++] = -1 - (int64_t)now->x;
                w->ends[now->x] = (int64_t)w->at;
            }
            stack[n++] = at + 1;
        } else if (now->kind == EDDY__REGEX_ASSERT) {
            if (holds(w, (eddy__regex_place)now->x))
                stack[n++] = at + 1;
        } else if (n_ends > 0) {
            memcpy(p->ends + (size_t)at * n_ends, w->ends,
                   n_ends * sizeof *w->ends);
        }
    }
}

static bool is_in_class(const eddy__regex *re, const eddy__regex_step *step,
                        int32_t c)
{
    const eddy__regex_range *ranges = eddy__regex_ranges(re) + step->x;
    int32_t from = 0, to = step->y;

    while (from < to) {
        const int32_t middle = from + (to - from) / 2;

        if (c > ranges[middle].high)
            from = middle + 1;
        else
            to = middle;
    }
    return from < step->y && ranges[from].low <= c;
}

/* Characters that classes take though no UTF-8 has them; -1: none. */
static int32_t read_odd(const eddy__string *s, size_t *at)
{
    const unsigned char first = (unsigned char)s->data[*at];
    const size_t n = first >= 0xf0 ? 4 : 3;
    int32_t c = first & 0x0f;

    if (first < 0xe0 || first > 0xf4 || s->length - *at < n)
        return -1;
    for (size_t i = 1; i < n; i++) {
        const unsigned char next = (unsigned char)s->data[*at + i];

        if ((next & 0xc0) != 0x80)
            return -1;
        c = c << 6 | (next & 0x3f);
    }
    *at += n;
    return n == 3 && c >= 0xd800 && c <= 0xdfff ? c : EDDY__REGEX_ODD;
}

/* The character at byte `*at`, which goes on behind it; -1: none. */
static int32_t read_character(const eddy__string *s, size_t *at)
{
    const size_t from = *at;
    int32_t c;

    if (from >= s->length)
        return -1;
    c = eddy__utf8_next(s, at);
    if (c != EDDY__UTF8_MISTAKE)
        return c;
    *at = from;
    c = read_odd(s, at);
    if (c < 0)
        *at = from + 1;
    return c;
}

/*
 * Takes the paths a character on, as far as those that are preferred to a match
 * that ends here; true if there is one.
 */
static bool take(walk *w, const paths *now, paths *next, bool at_end_only)
{
    const eddy__regex_step *steps = eddy__regex_steps(w->s->re);
    const size_t n_ends = (size_t)w->s->n_ends;
    const bool is_end = w->at == w->text->length;
    const int32_t c = read_character(w->text, &w->at);

    next->n = 0;
    for (int64_t i = 0; i < now->n; i++) {
        const int64_t at = now->steps[i];
        const eddy__regex_step *step = &steps[at];
        const bool is_taken =
            (step->kind == EDDY__REGEX_CHARACTER && step->x == c) ||
            (step->kind == EDDY__REGEX_CLASS && c >= 0 &&
             is_in_class(w->s->re, step, c));

        w->n_taken++;
        if (step->kind == EDDY__REGEX_MATCH && (is_end || !at_end_only)) {
            if (n_ends > 0)
                memcpy(w->s->ends, now->ends + (size_t)at * n_ends,
                       n_ends * sizeof *w->ends);
            return true;
        }
        if (is_taken && n_ends > 0)
            memcpy(w->ends, now->ends + (size_t)at * n_ends,
                   n_ends * sizeof *w->ends);
        if (is_taken)
            follow(w, next, at + 1);
    }
    return false;
}

/* The next byte that something may begin with. */
static void skip(walk *w)
{
    while (!w->s->may_be_empty && w->at < w->text->length &&
           !w->s->starts[(unsigned char)w->text->data[w->at]]) {
        w->at++;
        w->n_taken++;
        if ((w->n_taken & 0xffff) == 0)
            return;
    }
}

/* `is_whole`: from the text's start to its end. */
static bool search(eddy_kernel *k, eddy__regex_search *s,
                   const eddy__string *text, size_t from, bool is_whole)
{
    walk w = {.s = s, .text = text, .at = from, .ends = s->ends + s->n_ends};
    paths now = paths_of(s, 0), next = paths_of(s, 1);
    bool is_found = false;

    for (;;) {
        if (now.n == 0 && (is_found || (is_whole && w.at > 0)))
            return is_found;
        if (now.n == 0 && !is_whole)
            skip(&w);
        if (!is_found && (!is_whole || w.at == 0)) {
            for (int32_t i = 0; i < s->n_ends; i++)
                w.ends[i] = -1;
            follow(&w, &now, 0);
        }
        if (eddy__spent(k, 8 + 8 * w.n_taken))
            return false;
        w.n_taken = 0;
        from = w.at;
        is_found = take(&w, &now, &next, is_whole) || is_found;
        if (from >= text->length)
            return is_found;
        {
            const paths other = now;

            now = next;
            next = other;
        }
    }
}

bool eddy__regex_find(eddy_kernel *k, eddy__regex_search *s,
                      const eddy__string *text, size_t from)
{
    return search(k, s, text, from, false);
}

bool eddy__regex_matches(eddy_kernel *k, eddy__regex_search *s,
                         const eddy__string *text)
{
    return search(k, s, text, 0, true);
}

/* ---- preparation ---- */

/* Which bytes a character of a range begins with. */
static void add_starts(eddy__regex_search *s, int32_t low, int32_t high)
{
    for (int32_t c = low; c <= high && c < 0x80; c++)
        s->starts[c] = true;
    for (int c = 0x80; high >= 0x80 && c < 256; c++)
        s->starts[c] = true;
}

/* What may come first, wherever the text is. */
static void find_starts(eddy__regex_search *s)
{
    const eddy__regex_step *steps = eddy__regex_steps(s->re);
    const eddy__regex_range *ranges = eddy__regex_ranges(s->re);
    paths p = paths_of(s, 0);
    int64_t n = 0;

    for (s->stack[n++] = 0; n > 0;) {
        const int64_t at = s->stack[--n];
        const eddy__regex_step *now = &steps[at];

        if (has(&p, at))
            continue;
        p.steps[p.n] = at;
        p.where[at] = p.n++;
        if (now->kind == EDDY__REGEX_CHARACTER)
            add_starts(s, now->x, now->x);
        for (int32_t i = 0; now->kind == EDDY__REGEX_CLASS && i < now->y; i++)
            add_starts(s, ranges[now->x + i].low, ranges[now->x + i].high);
        s->may_be_empty = s->may_be_empty || now->kind == EDDY__REGEX_MATCH;
        if (now->kind == EDDY__REGEX_JUMP || now->kind == EDDY__REGEX_SPLIT)
            s->stack[n++] = at + now->x;
        if (now->kind == EDDY__REGEX_SPLIT)
            s->stack[n++] = at + now->y;
        if (now->kind == EDDY__REGEX_SAVE || now->kind == EDDY__REGEX_ASSERT)
            s->stack[n++] = at + 1;
    }
}

eddy_status eddy__regex_begin_search(eddy_kernel *k, const eddy__regex *re,
                                     int32_t n_groups, eddy__regex_search *out)
{
    const int64_t n_ends = 2 * (int64_t)n_groups, n = re->n_steps;
    /* A step puts three things on the stack at the most. */
    const int64_t n_stack = 3 * n + 1, n_lists = 2 * n * (2 + n_ends);

    *out = (eddy__regex_search){.re = re, .n_ends = (int32_t)n_ends};
    EDDY_TRY(eddy__scratch(k, EDDY_INT64, 2 * n_ends + n_stack + n_lists,
                           &out->room));
    out->ends = out->room->data;
    out->stack = out->ends + 2 * n_ends;
    out->lists = out->stack + n_stack;
    for (int64_t i = 0; i < n_lists; i++)
        out->lists[i] = -1;
    find_starts(out);
    return eddy__go_on(k, n_lists);
}

void eddy__regex_end_search(eddy_kernel *k, eddy__regex_search *s)
{
    eddy__scratch_free(k, s->room);
    s->room = NULL;
}
