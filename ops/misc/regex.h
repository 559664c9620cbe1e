/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions with the syntax and the answers of RE2.
 *
 * An expression becomes a program of steps over the characters of UTF-8, which
 * is followed along all its paths at once: no expression takes more time than
 * its length by that of the text.  Bytes that are no character match nothing.
 * Left out, and refused, are \C, \p and \P, and letters beyond ASCII where case
 * is folded.
 *
 * Jumps of a program are relative to their step, so that a part of it can be
 * moved and copied as it is.
 */
#ifndef EDDY_OPS_REGEX_H
#define EDDY_OPS_REGEX_H

#include "ops/misc/text.h"

typedef enum eddy__regex_kind {
    EDDY__REGEX_CHARACTER, /* x */
    EDDY__REGEX_CLASS,     /* one of y ranges from number x on */
    EDDY__REGEX_SPLIT,     /* to x first, then to y */
    EDDY__REGEX_JUMP,      /* to x */
    EDDY__REGEX_SAVE,      /* the place is end x of a group */
    EDDY__REGEX_ASSERT,    /* x, an eddy__regex_place */
    EDDY__REGEX_MATCH
} eddy__regex_kind;

typedef enum eddy__regex_place {
    EDDY__REGEX_TEXT_START,
    EDDY__REGEX_TEXT_END,
    EDDY__REGEX_LINE_START,
    EDDY__REGEX_LINE_END,
    EDDY__REGEX_WORD_EDGE,
    EDDY__REGEX_NO_WORD_EDGE
} eddy__regex_place;

typedef struct eddy__regex_step {
    int32_t kind, x, y;
} eddy__regex_step;

/* Characters from `low` to `high`. */
typedef struct eddy__regex_range {
    int32_t low, high;
} eddy__regex_range;

typedef struct eddy__regex {
    eddy__text code;   /* of eddy__regex_step */
    eddy__text ranges; /* of eddy__regex_range, those of a class in order */
    int32_t n_steps, n_groups; /* group 0 is the whole */
} eddy__regex;

static inline eddy__regex_step *eddy__regex_steps(const eddy__regex *re)
{
    return (eddy__regex_step *)(void *)re->code.data;
}

static inline const eddy__regex_range *eddy__regex_ranges(const eddy__regex *re)
{
    return (const eddy__regex_range *)(const void *)re->ranges.data;
}

/* How RE2 reads bytes that no UTF-8 has but `.` takes for a character. */
#define EDDY__REGEX_ODD 0x110000
#define EDDY__REGEX_LAST 0x10ffff

/*
 * Reads an expression; eddy__regex_end takes the memory back, also after a
 * failure.  Errors: INVALID_ARGUMENT, or UNIMPLEMENTED for what is left out.
 */
eddy_status eddy__regex_compile(eddy_kernel *k, const eddy__string *pattern,
                                eddy__regex *out);
void eddy__regex_end(eddy__regex *re);

/*
 * Fails: the expression is refused, and why; `what` NULL: there was no memory
 * for it.
 */
eddy_status eddy__regex_refuse(eddy_kernel *k, const eddy__string *pattern,
                               const char *what);

/* Adds a class of `n` ranges in any order, or of all else, to the program. */
eddy_status eddy__regex_add_class(eddy_kernel *k, eddy__regex *re,
                                  eddy__regex_range *ranges, size_t n,
                                  bool is_negated);

/* Adds a step; the program's length is limited. */
eddy_status eddy__regex_add(eddy_kernel *k, eddy__regex *re,
                            eddy__regex_kind kind, int32_t x, int32_t y);

/* The memory of searches with one expression. */
typedef struct eddy__regex_search {
    const eddy__regex *re;
    eddy_tensor *room; /* int64: all below */
    int32_t n_ends;    /* that are kept: two a group */
    int64_t *ends;     /* of what was found, -1: not in it; then others' */
    int64_t *stack, *lists;
    bool starts[256]; /* bytes that something may begin with */
    bool may_be_empty;
} eddy__regex_search;

/* `n_groups` are kept, of which the first is the whole; 0: none. */
eddy_status eddy__regex_begin_search(eddy_kernel *k, const eddy__regex *re,
                                     int32_t n_groups, eddy__regex_search *out);
void eddy__regex_end_search(eddy_kernel *k, eddy__regex_search *s);

/*
 * The first match at or behind byte `from` of a text, as Perl would choose it.
 * Gives up with the run, and has then found nothing.
 */
bool eddy__regex_find(eddy_kernel *k, eddy__regex_search *s,
                      const eddy__string *text, size_t from);

/* Is the whole text a match? */
bool eddy__regex_matches(eddy_kernel *k, eddy__regex_search *s,
                         const eddy__string *text);

#endif
