/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts and regular expressions: RegexFullMatch and RegexReplace, and those of
 * which the expression is an attribute.
 */
#include "ops/misc/regex.h"
#include "ops/misc/utf8.h"
#include "ops/ops.h"

#include <string.h>

/* Of a node that has them as attributes. */
typedef struct manner {
    eddy__string pattern, rewrite;
    bool is_static, is_global;
} manner;

/* Input `i`, one text, or the attribute. */
static eddy_status read_text(eddy_kernel *k, uint32_t i, const char *what,
                             const eddy__string *attr, eddy__string *out)
{
    const manner *m = eddy__state(k);

    *out = *attr;
    if (m->is_static)
        return EDDY_OK;
    EDDY_TRY(eddy__want_single(k, i, 0, what));
    *out = eddy__in_strings(k, i)[0];
    return EDDY_OK;
}

/* ---- replacing ---- */

/* The number of groups up to the highest that a rewrite names. */
static int32_t groups_of(const eddy__string *rewrite)
{
    int32_t n = 1;

    for (size_t i = 0; i + 1 < rewrite->length; i++)
        if (rewrite->data[i] == '\\') {
            const char c = rewrite->data[++i];

            if (c >= '0' && c <= '9' && c - '0' >= n)
                n = c - '0' + 1;
        }
    return n;
}

/* Adds what a match becomes; false: the rewrite has an escape that is none. */
static bool add_rewritten(const eddy__string *rewrite, const char *data,
                          const int64_t *ends, eddy__text *out)
{
    for (size_t i = 0; i < rewrite->length; i++) {
        const char c = rewrite->data[i];
        char next;

        if (c != '\\') {
            eddy__text_add(out, &c, 1);
            continue;
        }
        next = (char)(++i < rewrite->length ? rewrite->data[i] : 0);
        if (next == '\\') {
            eddy__text_add(out, &next, 1);
        } else if (next >= '0' && next <= '9') {
            const int64_t *end = ends + (ptrdiff_t)2 * (next - '0');

            if (end[0] >= 0 && end[1] > end[0])
                eddy__text_add(out, data + end[0], (size_t)(end[1] - end[0]));
        } else {
            return false;
        }
    }
    return true;
}

/* Behind the character at `at`, or the byte that is none. */
static size_t behind(const eddy__string *text, size_t at)
{
    size_t next = at;

    if (at >= text->length)
        return at + 1;
    return eddy__utf8_next(text, &next) == EDDY__UTF8_MISTAKE ? at + 1 : next;
}

static void add_between(const eddy__string *text, size_t from, size_t to,
                        eddy__text *out)
{
    if (to > text->length)
        to = text->length;
    if (to > from)
        eddy__text_add(out, text->data + from, to - from);
}

/*
 * The text with all matches replaced.  An empty one right behind another is
 * none.
 */
static void replace_all(eddy_kernel *k, eddy__regex_search *s,
                        const eddy__string *rewrite, const eddy__string *text,
                        eddy__text *out)
{
    int64_t last = -1;
    size_t at = 0;

    while (at <= text->length && eddy__regex_find(k, s, text, at)) {
        const int64_t from = s->ends[0], to = s->ends[1];

        add_between(text, at, (size_t)from, out);
        at = (size_t)from;
        if (from == to && from == last) {
            const size_t next = behind(text, at);

            add_between(text, at, next, out);
            at = next;
            continue;
        }
        (void)add_rewritten(rewrite, text->data, s->ends, out);
        at = (size_t)to;
        last = to;
        if (eddy__spent(k, 32 + (int64_t)rewrite->length))
            return;
    }
    add_between(text, at, text->length, out);
}

/* The text with the first match replaced. */
static void replace_first(eddy_kernel *k, eddy__regex_search *s,
                          const eddy__string *rewrite, const eddy__string *text,
                          eddy__text *out)
{
    if (eddy__regex_find(k, s, text, 0)) {
        add_between(text, 0, (size_t)s->ends[0], out);
        if (add_rewritten(rewrite, text->data, s->ends, out)) {
            add_between(text, (size_t)s->ends[1], text->length, out);
            return;
        }
        eddy__text_clear(out);
    }
    eddy__text_add_string(out, text);
}

static eddy_status replace_each(eddy_kernel *k, eddy__regex_search *s,
                                const eddy__string *rewrite, eddy_tensor *to)
{
    const manner *m = eddy__state(k);
    const eddy__string *from = eddy__in_strings(k, 0);
    /* RE2 replaces nothing if there is no such group. */
    const bool is_possible = 2 * s->re->n_groups >= s->n_ends;
    eddy__text text = eddy__text_begin(k);
    eddy_status status = EDDY_OK;

    for (int64_t i = 0; i < to->count && status == EDDY_OK; i++) {
        eddy__text_clear(&text);
        if (!is_possible)
            eddy__text_add_string(&text, &from[i]);
        else if (m->is_global)
            replace_all(k, s, rewrite, &from[i], &text);
        else
            replace_first(k, s, rewrite, &from[i], &text);
        status = eddy__go_on(k, (int64_t)from[i].length);
        if (status == EDDY_OK)
            status = eddy__text_put(k, &text, to, i);
    }
    eddy__text_end(&text);
    return status;
}

static eddy_status run_replace(eddy_kernel *k)
{
    const manner *m = eddy__state(k);
    eddy__string pattern, rewrite;
    eddy__regex_search search = {0};
    eddy_tensor *out = NULL;
    eddy_status status;
    eddy__regex re;

    EDDY_TRY(read_text(k, 1, "pattern", &m->pattern, &pattern));
    EDDY_TRY(read_text(k, 2, "rewrite", &m->rewrite, &rewrite));
    status = eddy__regex_compile(k, &pattern, &re);
    if (status == EDDY_OK)
        status = eddy__regex_begin_search(k, &re, groups_of(&rewrite), &search);
    if (status == EDDY_OK)
        status = eddy__output_strings(k, 0, eddy__in_shape(k, 0), &out);
    if (status == EDDY_OK)
        status = replace_each(k, &search, &rewrite, out);
    eddy__regex_end_search(k, &search);
    eddy__regex_end(&re);
    return status;
}

/* ---- matching ---- */

static eddy_status match_each(eddy_kernel *k, eddy__regex_search *s)
{
    const eddy__string *from = eddy__in_strings(k, 0);
    const int64_t n = eddy__in_count(k, 0);
    void *out;

    EDDY_TRY(eddy__output(k, 0, EDDY_BOOL, eddy__in_shape(k, 0), &out));
    for (int64_t i = 0; i < n; i++) {
        ((bool *)out)[i] = eddy__regex_matches(k, s, &from[i]);
        EDDY_TRY(eddy__go_on(k, 32));
    }
    return EDDY_OK;
}

static eddy_status run_match(eddy_kernel *k)
{
    const manner *m = eddy__state(k);
    eddy__regex_search search = {0};
    eddy__string pattern;
    eddy_status status;
    eddy__regex re;

    EDDY_TRY(read_text(k, 1, "pattern", &m->pattern, &pattern));
    status = eddy__regex_compile(k, &pattern, &re);
    if (status == EDDY_OK)
        status = eddy__regex_begin_search(k, &re, 0, &search);
    if (status == EDDY_OK)
        status = match_each(k, &search);
    eddy__regex_end_search(k, &search);
    eddy__regex_end(&re);
    return status;
}

/* ---- preparation ---- */

static eddy_status read_attr(eddy_infer *infer, const char *name,
                             eddy__string *out)
{
    eddy_attr attr;

    if (!eddy_infer_attr(infer, name, &attr))
        return EDDY_OK;
    out->length = attr.as.strings[0].length;
    out->data = eddy__prepare_state(infer, out->length + 1);
    if (!out->data)
        return EDDY_RESOURCE_EXHAUSTED;
    if (out->length > 0)
        memcpy(out->data, attr.as.strings[0].data, out->length);
    return EDDY_OK;
}

static eddy_status prepare(eddy_infer *infer, bool is_static, bool replaces)
{
    manner m = {.is_static = is_static}, *state;

    if (is_static)
        EDDY_TRY(read_attr(infer, "pattern", &m.pattern));
    if (is_static && replaces)
        EDDY_TRY(read_attr(infer, "rewrite", &m.rewrite));
    m.is_global = replaces && eddy__infer_bool(infer, "replace_global");
    state = eddy__prepare_state(infer, sizeof *state);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = m;
    return EDDY_OK;
}

static eddy_status prepare_match(eddy_infer *infer)
{
    return prepare(infer, false, false);
}

static eddy_status prepare_static_match(eddy_infer *infer)
{
    return prepare(infer, true, false);
}

static eddy_status prepare_replace(eddy_infer *infer)
{
    return prepare(infer, false, true);
}

static eddy_status prepare_static_replace(eddy_infer *infer)
{
    return prepare(infer, true, true);
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("RegexFullMatch", .inputs = "input: string, pattern: string",
                 .outputs = "output: bool", .infer = eddy__infer_unchanged,
                 .kernel = run_match, .prepare = prepare_match,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "Does the whole text match a regular expression?"),
    EDDY__OP_ROW("StaticRegexFullMatch", .inputs = "input: string",
                 .outputs = "output: bool", .attrs = "pattern: string",
                 .infer = eddy__infer_unchanged, .kernel = run_match,
                 .prepare = prepare_static_match,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The same with an attribute for the expression."),
    EDDY__OP_ROW(
        "RegexReplace",
        .inputs = "input: string, pattern: string, rewrite: string",
        .outputs = "output: string", .attrs = "replace_global: bool = true",
        .infer = eddy__infer_unchanged, .kernel = run_replace,
        .prepare = prepare_replace, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
        .doc = "Texts with matches of a regular expression replaced; "
               "\\\\1 stands for what its first group is."),
    EDDY__OP_ROW("StaticRegexReplace", .inputs = "input: string",
                 .outputs = "output: string",
                 .attrs = "pattern: string, rewrite: string, replace_global: "
                          "bool = true",
                 .infer = eddy__infer_unchanged, .kernel = run_replace,
                 .prepare = prepare_static_replace,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The same with attributes for expression and rewrite."),
};

const eddy__op_table eddy__string_regex_ops = {specs, NULL,
                                               sizeof specs / sizeof *specs};
