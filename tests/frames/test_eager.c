/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that run always though one branch alone uses them. */
#include "tests/aid/program.h"
#include "tests/aid/recovered.h"
#include "tests/suites.h"

static program p;
static eddy_analysis *a;

static void setup(void)
{
    program_init(&p, 0);
    a = NULL;
}

static void teardown(void)
{
    eddy_analysis_destroy(a);
    program_deinit(&p);
}

/* What is found, as "node branch; node branch". */
static void want(const char *wanted)
{
    const eddy_eager_node *e;
    char got[512] = "", branch[128];

    ck_assert_msg(eddy_analysis_create(p.graph, &a, &p.err) == EDDY_OK,
                  "%s: %s", p.err.node, p.err.message);
    for (size_t i = 0; (e = eddy_analysis_eager(a, i)) != NULL; i++) {
        recovered_branch(p.graph, a, e->branch, branch, sizeof branch);
        recovered_append(got, sizeof got, "%s%s %s", i > 0 ? "; " : "",
                         eddy_graph_node_name(p.graph, e->node), branch);
    }
    ck_assert_str_eq(got, wanted);
}

#define COND                                                                   \
    "p ?bool\nx ?float32\ny ?float32\n"                                        \
    "v Exp x\n"                                                                \
    "s Switch v p\n"                                                           \
    "sy Switch y p\n"

static const struct {
    const char *text, *eager;
} cases[] = {
    /* Used in one side alone. */
    {COND "t Neg s:1\nm Merge sy t\n", "v p:1"},
    {COND "t Neg s\nm Merge t sy:1\n", "v p:0"},
    /* In both, or outside too. */
    {COND "t Neg s\nu Neg s:1\nm Merge t u\n", ""},
    {COND "t Neg s:1\nm Merge sy t\nz Neg v\n", ""},
    /* Straight into the Merge. */
    {COND "m Merge sy s:1\n", "v p:1"},
    /* Not read at all: it may be fetched. */
    {COND "m Merge sy sy:1\n", ""},
    /* All of a chain, but what is cheap in it. */
    {"p ?bool\nx ?float32\n"
     "c float32=2\na Mul x c\nb Exp a\ni Identity b\n"
     "s Switch i p\nsx Switch x p\nt Neg s:1\nm Merge sx t\n",
     "a p:1; b p:1"},
    /* Two ways of a value into one side. */
    {COND "s2 Switch v p\nt AddV2 s:1 s2:1\nm Merge sy t\n", "v p:1"},
    /* And into both. */
    {COND "s2 Switch v p\nt Neg s:1\nu Neg s2\nm Merge u t\n", ""},
    /* The branch's predicate depends on it. */
    {"x ?float32\ny ?float32\nv Exp x\np Less v y\ns Switch v p\n"
     "sy Switch y p\nt Neg s:1\nm Merge sy t\n",
     ""},
    /* The branch waits for it. */
    {"p ?bool\nx ?float32\nv Exp x\ns Switch x p\nt Neg s:1 ^v\n"
     "m Merge s t\n",
     "v p:1"},
    /* Effects stay where they are. */
    {"p ?bool\nx ?float32\nd int32=2\nv RandomUniform d dtype=float32\n"
     "s Switch v p\nsy Switch v p\nt Neg s:1\n",
     ""},
    /* What it is for is in an inner branch: that one is named. */
    {"p ?bool\nq ?bool\nx ?float32\nv Exp x\n"
     "s Switch v p\nsx Switch x p\nsq Switch q p\n"
     "i Switch s:1 sq:1\nix Switch sx:1 sq:1\nt Neg i:1\nim Merge ix t\n"
     "m Merge sx im\n",
     "v p:1/sq#1:1"},
    /* Computed in the outer branch, used in the inner. */
    {"p ?bool\nq ?bool\nx ?float32\n"
     "sx Switch x p\nsq Switch q p\nv Exp sx:1\n"
     "i Switch v sq:1\nix Switch sx:1 sq:1\nt Neg i:1\nim Merge ix t\n"
     "m Merge sx im\n",
     "v p:1/sq#1:1"},
    /* A loop in the branch. */
    {COND "e Enter@f s:1\nme Merge e n\nk Enter@f! sy:1\nc Less me k\n"
          "l LoopCond c\nw Switch me l\nr Neg w:1\nn NextIteration r\n"
          "o Exit w\nm Merge sy o\n",
     "v p:1"},
    /* In a loop: every trip computes it. */
    {"x ?float32\nk0 ?float32\nq0 ?bool\n"
     "e Enter@f x\nk Enter@f! k0\nq Enter@f! q0\nme Merge e n\n"
     "c Less me k\nl LoopCond c\nw Switch me l\nv Exp w:1\n"
     "s Switch v q\nsw Switch w:1 q\nt Neg s:1\nr Merge sw t\n"
     "n NextIteration r\no Exit w\n",
     "v q:1"},
    /* Once before a loop, in a branch of which it is used: that is cheaper. */
    {"x ?float32\nk0 ?float32\nq0 ?bool\nv0 Exp k0\n"
     "e Enter@f x\nk Enter@f! v0\nq Enter@f! q0\nme Merge e n\n"
     "c Less me me\nl LoopCond c\nw Switch me l\n"
     "s Switch k q\nsw Switch w:1 q\nt Neg s:1\nr Merge sw t\n"
     "n NextIteration r\no Exit w\n",
     ""},
    /* A case by index. */
    {"i ?int32\nx ?float32\nv Exp x\ns _SwitchN v i num_outs=3\n"
     "sx _SwitchN x i num_outs=3\nt Neg s:2\nm Merge sx sx:1 t\n",
     "v i:2"},
    /* Constants and placeholders. */
    {"p ?bool\nx ?float32\nc float32=3\ns Switch c p\nsx Switch x p\n"
     "t Neg s:1\nu Neg sx:1\n",
     ""},
};

START_TEST(what_one_branch_uses)
{
    program_build(&p, cases[_i].text);
    want(cases[_i].eager);
}
END_TEST

TCase *eager_tests(void)
{
    TCase *tc = tcase_create("eager");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, what_one_branch_uses, 0,
                        (int)(sizeof cases / sizeof *cases));
    return tc;
}
