/* SPDX-License-Identifier: Apache-2.0 */
/* Characters and classes of them, as regular expressions spell them. */
#ifndef EDDY_OPS_REGEX_CLASS_H
#define EDDY_OPS_REGEX_CLASS_H

#include "ops/misc/regex.h"

/* How a part of an expression is read; in the order of the letters i, m, s, U.
 */
typedef enum eddy__regex_flag {
    EDDY__REGEX_FOLDS = 1,      /* case does not matter */
    EDDY__REGEX_BY_LINE = 2,    /* ^ and $ are about lines */
    EDDY__REGEX_DOT_IS_ALL = 4, /* . may be an end of line */
    EDDY__REGEX_IS_LAZY = 8     /* repetitions prefer less */
} eddy__regex_flag;

/* A class that is being read. */
typedef struct eddy__regex_class {
    eddy_kernel *kernel;
    const eddy__string *pattern; /* for messages */
    eddy__text ranges;           /* of eddy__regex_range */
    bool folds;
} eddy__regex_class;

void eddy__regex_class_begin(eddy__regex_class *class, eddy_kernel *k,
                             const eddy__string *pattern, bool folds);
void eddy__regex_class_end(eddy__regex_class *class);

/* What \d, \D and so on have. */
eddy_status eddy__regex_class_shorthand(eddy__regex_class *class, char letter);

/* What is in brackets, of which the first is read. */
eddy_status eddy__regex_class_read(eddy__regex_class *class, size_t *at,
                                   bool *out_is_negated);

/* Adds it to a program. */
eddy_status eddy__regex_class_add(eddy__regex_class *class, eddy__regex *re,
                                  bool is_negated);

/* The character behind a backslash at `*at`, which goes on behind it. */
eddy_status eddy__regex_escaped(eddy_kernel *k, const eddy__string *pattern,
                                size_t *at, int32_t *out_c);

/* Ranges that one becomes at the most where case does not matter. */
#define EDDY__REGEX_FOLDED 9

/* A range with what differs from it by case alone: `*out_n` ranges. */
eddy_status eddy__regex_fold(eddy_kernel *k, eddy__regex_range range,
                             eddy__regex_range out[EDDY__REGEX_FOLDED],
                             size_t *out_n);

#endif
