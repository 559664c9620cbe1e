/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The firing rule against a model that knows nothing of counters: it looks at
 * all tokens that have come so far, each time one comes.
 */
#include "frames/liveness.h"
#include "tests/suites.h"

#include <string.h>

#define MAX_EDGES 6

typedef enum token {
    LIVE,
    DEAD,
    DEAD_ENTER, /* data from a dead Enter */
    CONTROL,
    DEAD_CONTROL,
} token;

/* A node and the tokens that arrive at it, in the order of arrival. */
typedef struct arrivals {
    bool is_merge;
    uint32_t n_data, n_control;
    token tokens[MAX_EDGES];
    size_t n;
} arrivals;

/* ---- the model ---- */

typedef struct seen {
    uint32_t live, dead, dead_enters, controls, dead_controls;
} seen;

static void look(const arrivals *a, size_t n, seen *s)
{
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < n; i++) {
        s->live += a->tokens[i] == LIVE;
        s->dead += a->tokens[i] == DEAD || a->tokens[i] == DEAD_ENTER;
        s->dead_enters += a->tokens[i] == DEAD_ENTER;
        s->controls += a->tokens[i] == CONTROL || a->tokens[i] == DEAD_CONTROL;
        s->dead_controls += a->tokens[i] == DEAD_CONTROL;
    }
}

/* What holds of the first `n` tokens: fired, and how, or not yet. */
static eddy__verdict judge_ordinary(const arrivals *a, size_t n)
{
    seen s;

    look(a, n, &s);
    if (n < a->n)
        return EDDY__WAIT;
    return s.dead + s.dead_controls > 0 ? EDDY__FIRE_DEAD : EDDY__FIRE_LIVE;
}

static eddy__verdict judge_merge(const arrivals *a, size_t n)
{
    seen s;

    look(a, n, &s);
    if (s.controls < a->n_control)
        return EDDY__WAIT;
    if (s.live > 0)
        return EDDY__FIRE_LIVE;
    return s.dead == a->n_data || s.dead_enters > 0 ? EDDY__FIRE_DEAD
                                                    : EDDY__WAIT;
}

/* What the arrival of token n brings about. */
static eddy__verdict wanted(const arrivals *a, size_t n)
{
    seen before;

    if (!a->is_merge)
        return judge_ordinary(a, n + 1);
    for (size_t i = 0; i <= n; i++) {
        if (judge_merge(a, i) == EDDY__FIRE_DEAD)
            return EDDY__WAIT;
        look(a, i, &before);
        if (i == n && a->tokens[n] == LIVE && before.live > 0)
            return EDDY__TWO_LIVE;
    }
    return judge_merge(a, n) == EDDY__WAIT ? judge_merge(a, n + 1) : EDDY__WAIT;
}

/* ---- the code under test ---- */

static eddy__verdict arrive(const arrivals *a, eddy__liveness *l, token t)
{
    if (!a->is_merge) {
        if (!eddy__liveness_arrive(l, t != LIVE && t != CONTROL))
            return EDDY__WAIT;
        return l->dead != 0 ? EDDY__FIRE_DEAD : EDDY__FIRE_LIVE;
    }
    if (t == LIVE)
        return eddy__liveness_merge_live(l, 0);
    if (t == CONTROL || t == DEAD_CONTROL)
        return eddy__liveness_merge_control(l, a->n_data);
    return eddy__liveness_merge_dead(l, a->n_data, t == DEAD_ENTER);
}

static const char *describe(const arrivals *a, char *text)
{
    for (size_t i = 0; i < a->n; i++)
        text[i] = "LDECc"[a->tokens[i]];
    text[a->n] = '\0';
    return text;
}

/* Up to a second live token, with which the run ends. */
static void compare(const arrivals *a)
{
    eddy__liveness l =
        eddy__liveness_start(a->is_merge, a->n_data, a->n_control);
    char text[MAX_EDGES + 1];

    for (size_t i = 0; i < a->n; i++) {
        const eddy__verdict want = wanted(a, i);
        const eddy__verdict got = arrive(a, &l, a->tokens[i]);

        ck_assert_msg(want == got, "%s of %u data, %s, token %zu: %d for %d",
                      a->is_merge ? "Merge" : "node", a->n_data,
                      describe(a, text), i, got, want);
        if (want == EDDY__TWO_LIVE)
            return;
        if (want == EDDY__FIRE_DEAD && a->is_merge)
            ck_assert_uint_eq(l.dead, EDDY__MERGE_FIRED);
    }
}

/* ---- all orders ---- */

static void swap(token *a, token *b)
{
    const token was = *a;

    *a = *b;
    *b = was;
}

/* The next order of a multiset, false after the last. */
static bool next_permutation(token *t, size_t n)
{
    size_t i = n, j = n;

    while (i > 1 && t[i - 2] >= t[i - 1])
        i--;
    if (i <= 1)
        return false;
    while (t[j - 1] <= t[i - 2])
        j--;
    swap(&t[i - 2], &t[j - 1]);
    for (size_t low = i - 1, high = n - 1; low < high; low++, high--)
        swap(&t[low], &t[high]);
    return true;
}

/*
 * All orders of `live` + `dead` + `enters` data tokens and the control tokens.
 * Some data may never come, as the back edge of a loop's first iteration.
 */
static size_t compare_orders(arrivals *a, uint32_t live, uint32_t dead,
                             uint32_t enters, uint32_t dead_controls)
{
    size_t n_orders = 0;

    a->n = 0;
    for (uint32_t i = 0; i < live; i++)
        a->tokens[a->n++] = LIVE;
    for (uint32_t i = 0; i < dead; i++)
        a->tokens[a->n++] = DEAD;
    for (uint32_t i = 0; i < enters; i++)
        a->tokens[a->n++] = DEAD_ENTER;
    for (uint32_t i = dead_controls; i < a->n_control; i++)
        a->tokens[a->n++] = CONTROL;
    for (uint32_t i = 0; i < dead_controls; i++)
        a->tokens[a->n++] = DEAD_CONTROL;
    do {
        compare(a);
        n_orders++;
    } while (next_permutation(a->tokens, a->n));
    return n_orders;
}

START_TEST(ordinary_node_fires_on_its_last_token_dead_if_any_was)
{
    size_t n_orders = 0;

    for (uint32_t n_data = 0; n_data <= 3; n_data++)
        for (uint32_t n_control = 0; n_control <= 3; n_control++) {
            arrivals a = {.n_data = n_data, .n_control = n_control};

            if (n_data + n_control == 0)
                continue;
            for (uint32_t live = 0; live <= n_data; live++)
                for (uint32_t dead = 0; dead <= n_control; dead++)
                    n_orders +=
                        compare_orders(&a, live, n_data - live, 0, dead);
        }
    ck_assert_uint_gt(n_orders, 1000);
}
END_TEST

START_TEST(merge_fires_as_the_model_in_every_order)
{
    size_t n_orders = 0;

    for (uint32_t n_data = 1; n_data <= 4; n_data++)
        for (uint32_t n_control = 0; n_control <= 2; n_control++) {
            arrivals a = {
                .is_merge = true, .n_data = n_data, .n_control = n_control};

            for (uint32_t live = 0; live <= n_data; live++)
                for (uint32_t dead = 0; live + dead <= n_data; dead++)
                    for (uint32_t e = 0; live + dead + e <= n_data; e++)
                        for (uint32_t c = 0; c <= n_control; c++)
                            n_orders += compare_orders(&a, live, dead, e, c);
        }
    ck_assert_uint_gt(n_orders, 2000);
}
END_TEST

/* ---- the rows of the table, one by one ---- */

static eddy__verdict last_verdict(uint32_t n_data, uint32_t n_control,
                                  const char *tokens)
{
    const arrivals a = {
        .is_merge = true, .n_data = n_data, .n_control = n_control};
    eddy__liveness l = eddy__liveness_start(true, n_data, n_control);
    eddy__verdict last = EDDY__WAIT;

    for (; *tokens; tokens++)
        last = arrive(&a, &l, (token)(strchr("LDECc", *tokens) - "LDECc"));
    return last;
}

static const struct {
    uint32_t n_data, n_control;
    const char *tokens; /* L live, D dead, E dead Enter, C control, c dead */
    eddy__verdict verdict;
} rows[] = {
    {2, 0, "L", EDDY__FIRE_LIVE},   {2, 0, "DL", EDDY__FIRE_LIVE},
    {2, 0, "LD", EDDY__WAIT},       {2, 0, "D", EDDY__WAIT},
    {2, 0, "DD", EDDY__FIRE_DEAD},  {2, 0, "E", EDDY__FIRE_DEAD},
    {2, 0, "EL", EDDY__WAIT},       {2, 0, "LL", EDDY__TWO_LIVE},
    {3, 0, "LDL", EDDY__TWO_LIVE},  {1, 0, "L", EDDY__FIRE_LIVE},
    {1, 0, "D", EDDY__FIRE_DEAD},   {2, 1, "L", EDDY__WAIT},
    {2, 1, "LC", EDDY__FIRE_LIVE},  {2, 1, "CL", EDDY__FIRE_LIVE},
    {2, 1, "cL", EDDY__FIRE_LIVE},  {2, 1, "c", EDDY__WAIT},
    {2, 1, "DDc", EDDY__FIRE_DEAD}, {2, 1, "EC", EDDY__FIRE_DEAD},
    {2, 1, "EDC", EDDY__FIRE_DEAD}, {2, 1, "ELC", EDDY__FIRE_LIVE},
    {2, 2, "LCL", EDDY__TWO_LIVE},  {2, 2, "LCc", EDDY__FIRE_LIVE},
};

START_TEST(merge_row)
{
    ck_assert_msg(last_verdict(rows[_i].n_data, rows[_i].n_control,
                               rows[_i].tokens) == rows[_i].verdict,
                  "%s", rows[_i].tokens);
}
END_TEST

/* More inputs than fit into sixteen bits. */
START_TEST(counters_are_wide_enough_for_a_million_inputs)
{
    const uint32_t n = 1000 * 1000;
    eddy__liveness node = eddy__liveness_start(false, n, n);
    eddy__liveness merge = eddy__liveness_start(true, n, n);

    uint32_t early = 0;

    for (uint32_t i = 1; i < 2 * n; i++)
        early += eddy__liveness_arrive(&node, i == 1);
    ck_assert_uint_eq(early, 0);
    ck_assert(eddy__liveness_arrive(&node, false));
    ck_assert_uint_ne(node.dead, 0);
    for (uint32_t i = 0; i < n; i++)
        early += eddy__liveness_merge_dead(&merge, n, false) != EDDY__WAIT;
    for (uint32_t i = 1; i < n; i++)
        early += eddy__liveness_merge_control(&merge, n) != EDDY__WAIT;
    ck_assert_uint_eq(early, 0);
    ck_assert_int_eq(eddy__liveness_merge_control(&merge, n), EDDY__FIRE_DEAD);
}
END_TEST

TCase *liveness_tests(void)
{
    TCase *tc = tcase_create("liveness");

    tcase_add_test(tc, ordinary_node_fires_on_its_last_token_dead_if_any_was);
    tcase_add_test(tc, merge_fires_as_the_model_in_every_order);
    tcase_add_loop_test(tc, merge_row, 0, sizeof rows / sizeof rows[0]);
    tcase_add_test(tc, counters_are_wide_enough_for_a_million_inputs);
    return tc;
}
