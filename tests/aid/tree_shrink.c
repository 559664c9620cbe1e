/* SPDX-License-Identifier: Apache-2.0 */
/* A tree that fails is made as small as it goes, and printed as a test. */
#include "tests/aid/tree.h"

#include <stdio.h>
#include <string.h>

typedef struct shrinker {
    tree *t;
    bool (*fails)(void *user, const tree *t);
    void *user;
} shrinker;

/* Keeps `smaller` if it still fails. */
static bool keep(shrinker *k, const tree *smaller)
{
    if (!k->fails(k->user, smaller))
        return false;
    *k->t = *smaller;
    return true;
}

/* What points at a statement; NULL: nothing does. */
static uint32_t *link_to(tree *t, uint32_t id)
{
    if (t->first == id)
        return &t->first;
    for (uint32_t i = 0; i < t->n; i++) {
        tree_statement *s = &t->statements[i];

        if (s->next == id)
            return &s->next;
        for (int b = 0; b < 2; b++)
            if (s->blocks[b] == id)
                return &s->blocks[b];
    }
    return NULL;
}

/* Is it reached from the first statement?  Links of those left out stay. */
static void mark(const tree *t, uint32_t first, bool *is_there)
{
    for (uint32_t id = first; id != TREE_NONE; id = t->statements[id].next) {
        is_there[id] = true;
        mark(t, t->statements[id].blocks[0], is_there);
        mark(t, t->statements[id].blocks[1], is_there);
    }
}

/* Those that are not there point at nothing. */
static void cut_links(tree *t)
{
    bool is_there[TREE_STATEMENTS] = {false};

    mark(t, t->first, is_there);
    for (uint32_t i = 0; i < t->n; i++)
        if (!is_there[i])
            t->statements[i] = (tree_statement){
                .next = TREE_NONE, .blocks = {TREE_NONE, TREE_NONE}};
}

static bool leave_out(shrinker *k, uint32_t id)
{
    tree smaller = *k->t;
    uint32_t *link = link_to(&smaller, id);

    if (!link)
        return false;
    *link = smaller.statements[id].next;
    cut_links(&smaller);
    return keep(k, &smaller);
}

/* Puts a block in place of the statement that has it. */
static bool put_inside_out(shrinker *k, uint32_t id, int block)
{
    tree smaller = *k->t;
    uint32_t *link = link_to(&smaller, id);
    const uint32_t first = smaller.statements[id].blocks[block];
    uint32_t last = first;

    if (!link || first == TREE_NONE)
        return false;
    while (smaller.statements[last].next != TREE_NONE)
        last = smaller.statements[last].next;
    smaller.statements[last].next = smaller.statements[id].next;
    *link = first;
    cut_links(&smaller);
    return keep(k, &smaller);
}

static bool simplify_operand(shrinker *k, uint32_t id, int which)
{
    tree smaller = *k->t;
    tree_statement *s = &smaller.statements[id];
    tree_operand *o = which == 0 ? &s->a : which == 1 ? &s->b : &s->c;

    if (o->source == TREE_CONSTANT)
        return false;
    o->source = TREE_CONSTANT;
    o->value = 1;
    return keep(k, &smaller);
}

static bool simplify(shrinker *k, uint32_t id)
{
    tree smaller = *k->t;
    tree_statement *s = &smaller.statements[id];
    bool any = false;

    if (s->has_condition || s->carries_all || s->parallel_iterations > 1) {
        s->has_condition = s->carries_all = false;
        s->parallel_iterations = 1;
        any = keep(k, &smaller);
    }
    smaller = *k->t;
    if (s->kind == TREE_LOOP && s->c.source == TREE_CONSTANT &&
        s->c.value > 0) {
        s->c.value--;
        any = keep(k, &smaller) || any;
    }
    for (int which = 0; which < 3; which++)
        any = simplify_operand(k, id, which) || any;
    return any;
}

void tree_shrink(tree *t, bool (*fails)(void *user, const tree *t), void *user)
{
    shrinker k = {.t = t, .fails = fails, .user = user};
    bool any = true;

    while (any) {
        any = false;
        for (uint32_t id = 0; id < t->n; id++) {
            any = leave_out(&k, id) || any;
            any = put_inside_out(&k, id, 0) || any;
            any = put_inside_out(&k, id, 1) || any;
            any = (link_to(t, id) && simplify(&k, id)) || any;
        }
    }
}

/* ---- as a test ---- */

static void print_lines(const char *text)
{
    for (const char *line = text; *line;) {
        const size_t n = strcspn(line, "\n");

        fprintf(stderr, "        \"%.*s\\n\"\n", (int)n, line);
        line += n + (line[n] != '\0');
    }
}

static void print_expected(const tree *t, const tree_result *r)
{
    for (uint32_t v = 0; v < TREE_VARIABLES; v++) {
        const uint32_t n = tree_dtypes[t->dtypes[v]].count;

        if (v >= TREE_DATA && (v - TREE_DATA) % 2 == 0)
            continue; /* a flow */
        char dims[32] = "0, NULL";

        if (n > 1)
            snprintf(dims, sizeof dims, "PROGRAM_DIMS(%u)", n);
        fprintf(stderr, "    program_want_fetch(&p, %u, %s, PROGRAM_NUMBERS(",
                v, dims);
        for (uint32_t i = 0; i < n; i++) {
            char text[64];

            tree_print_element(t, v, &r->values[v].at[i], text, sizeof text);
            fprintf(stderr, "%s%s", i > 0 ? ", " : "", text);
        }
        fprintf(stderr, "));\n");
    }
}

void tree_print_test(const tree *t)
{
    static tree_text text;
    static tree_result r;

    (void)tree_interpret(t, &r);
    tree_write(t, &text);
    fprintf(stderr, "START_TEST(program_%llu)\n{\n    program_build(&p,\n",
            (unsigned long long)t->seed);
    print_lines(text.text);
    fprintf(stderr, "    );\n    program_plan(&p, NULL,\n        \"%s\");\n",
            text.fetches);
    if (r.detail != EDDY_E_NONE) {
        fprintf(stderr,
                "    program_want(&p, program_execute(&p), %s, %s);\n"
                "    ck_assert_str_eq(p.err.node, \"%s\");\n"
                "    ck_assert_str_eq(p.err.frame, \"%s\");\n",
                "EDDY_INVALID_ARGUMENT",
                r.detail == EDDY_E_EMPTY   ? "EDDY_E_EMPTY"
                : r.detail == EDDY_E_INDEX ? "EDDY_E_INDEX"
                                           : "EDDY_E_DIVISION_BY_ZERO",
                text.fault, r.frame);
    } else {
        fprintf(stderr, "    program_run(&p);\n");
        print_expected(t, &r);
        fprintf(stderr,
                "    ck_assert_uint_eq(program_stats(&p).iterations, %llu);\n"
                "    ck_assert_uint_eq(program_stats(&p).frames, %llu);\n",
                (unsigned long long)r.iterations, (unsigned long long)r.frames);
    }
    fprintf(stderr, "}\nEND_TEST\n");
}
