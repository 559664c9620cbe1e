/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise nodes that a plan makes one node of. */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most inputs here are constants, of which nothing else would be left. */
static const char *const others[] = {"identities", "fold", "powers",
                                     "invariants", "common"};

static size_t count_nodes(program *p, eddy_optimize level, const char *feeds,
                          const char *fetches)
{
    p->plan_options.optimize = level;
    p->plan_options.without = others;
    p->plan_options.n_without = sizeof others / sizeof others[0];
    program_plan(p, feeds, fetches);
    return eddy_plan_nodes(p->plan);
}

#define X "x float32[2,3]=1,-2,3,-4,5,-6\n"

static const struct row {
    const char *text, *feeds, *fetches;
    size_t n_joined; /* nodes fewer */
} rows[] = {
    {X "a Neg x\ny Exp a", NULL, "y", 1},
    {X "a Neg x\nb Exp a\ny AddV2 b x", NULL, "y", 2},
    {X "a Neg x\nb Mul a a\ny AddV2 b a", NULL, "y", 2},
    /* Rows, columns and single elements. */
    {X "r float32[3]=1,2,3\na AddV2 x r\ny Relu a", NULL, "y", 1},
    {X "c float32[2,1]=7,8\na Mul c x\ny Relu a", NULL, "y", 1},
    {X "s float32=0.5\na Sub s x\ny Relu a", NULL, "y", 1},
    {X "r float32[1,3]=1,2,3\nc float32[2,1]=7,8\na Mul r c\ny Sub a x", NULL,
     "y", 1},
    {X "b float32[3]=1,2,3\na BiasAdd x b\ny Tanh a", NULL, "y", 1},
    {X "a AddN x x\ny Sqrt a", NULL, "y", 1},
    {X "a Tanh x\nb Neg x\ny TanhGrad a b", NULL, "y", 2},
    /* Comparisons change the dtype. */
    {X "a Neg x\nb Less x a\ny LogicalNot b", NULL, "y", 2},
    {X "a Neg x\ny IsNan a", NULL, "y", 1},
    /* Somebody else reads what is between. */
    {X "a Neg x\ny Exp a\np int32[2]=1,0\nz Transpose a p", NULL, "y z", 1},
    {X "a Neg x\ny Exp a", NULL, "y a", 0},
    {X "a Neg x\ny Exp a", NULL, "y ^a", 0},
    {X "a Neg x\ny Exp a\nz Identity x ^a", NULL, "y z", 0},
    {X "a Neg x ^x\ny Exp a", NULL, "y", 0},
    /* ... and waits for it, or would have to wait for itself. */
    {X "a Neg x\nb Exp a\nc Abs b\nzero int32=0\nz Cumsum a zero\n"
       "y AddV2 z c",
     NULL, "y", 2},
    {X "a Neg x\nzero int32=0\nz Cumsum a zero\ny AddV2 a z", NULL, "y", 0},
    {X "a Neg x\nb Exp a\nc Tanh a\np int32[2]=1,0\n"
       "t Transpose c p\ny MatMul b t",
     NULL, "y", 2},
    /* Two that read one of a third: one stores it for the other. */
    {X "a Neg x\nl Less x a\ny SelectV2 l a x\nz SelectV2 l x a", NULL, "y z",
     2},
    /* ... or has both, if nobody else asks for what that one ends with. */
    {X "a Neg x\nl Less x a\nb SelectV2 l a x\nc SelectV2 l x a\n"
       "p int32[2]=1,0\ny Transpose b p\nz Transpose c p",
     NULL, "y z", 3},
    /* Not where the second reads the first's by way of another node. */
    {X "a Neg x\nl Less x a\nb SelectV2 l a x\nzero int32=0\n"
       "t Cumsum b zero\nc SelectV2 l t a\nz Cumsum c zero",
     NULL, "z", 2},
    /* Choices and casts. */
    {X "a Neg x\nl Less x a\ny Select l a x", NULL, "y", 2},
    {X "a Neg x\nl Less x a\ns float32=3\ny SelectV2 l a s", NULL, "y", 2},
    {X "a Neg x\nl Less x a\nr float32[3]=7,8,9\ny SelectV2 l r a", NULL, "y",
     2},
    {X "a Neg x\nc bool[2,1]=1,0\ny SelectV2 c a x", NULL, "y", 1},
    {X "r float32[3]=1,2,3\nl Less x r\ny Cast l DstT=float32", NULL, "y", 1},
    {X "a Neg x\nb Cast a DstT=int32\ny Square b", NULL, "y", 2},
    /* A vector chooses whole rows, which is nothing elementwise. */
    {X "a Neg x\nc bool[2]=1,0\ny Select c a x", NULL, "y", 0},
    /* Of other shapes than the result. */
    {X "r float32[3]=1,2,3\na Neg r\ny AddV2 a x", NULL, "y", 0},
    {X "q float32[2,3]=1\nt float32[2,1,1]=1\na AddV2 x q\ny AddV2 a t", NULL,
     "y", 0},
    /* Rows of two lengths: the second stays by itself. */
    {"x float32[2,3,4]=1,2,3,4,5\nr float32[4]=1,2,3,4\n"
     "m float32[3,4]=5,6,7\na AddV2 x r\nb AddV2 a m\ny Neg b",
     NULL, "y", 1},
    /* Integers that may not be divided. */
    {"x int32[4]=7,8,9,10\nd int32[4]=1,2,3,4\na Div x d\ny Neg a", NULL, "y",
     0},
    /* Scalars are quick as they are. */
    {"x float32=2\na Neg x\ny Exp a", NULL, "y", 0},
    /* Fed in between. */
    {X "a Neg x\ny Exp a", "a", "y", 0},
};

START_TEST(nodes_are_joined)
{
    const struct row *row = &rows[_i];
    size_t before;
    program p;

    program_init(&p, 0);
    program_build(&p, row->text);
    before = count_nodes(&p, EDDY_OPTIMIZE_NONE, row->feeds, row->fetches);
    ck_assert_uint_eq(
        before - count_nodes(&p, EDDY_OPTIMIZE_EXACT, row->feeds, row->fetches),
        row->n_joined);
    program_deinit(&p);
}
END_TEST

static void want_fetches(program *p, eddy_tensor *const *want, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const eddy_tensor *got = eddy_run_fetch(p->run, i);

        ck_assert_int_eq(eddy_tensor_dtype(got), eddy_tensor_dtype(want[i]));
        ck_assert_uint_eq(eddy_tensor_bytes(got), eddy_tensor_bytes(want[i]));
        ck_assert_msg(memcmp(eddy_tensor_data(got), eddy_tensor_data(want[i]),
                             eddy_tensor_bytes(got)) == 0,
                      "fetch %zu differs", i);
    }
}

/*
 * Runs at both levels, by strips and by machine code, and holds all fetches
 * against each other.  A node that is joined counts as if it were by itself;
 * constants are dissolved in loops.
 */
static void want_same_bits(program *p, const char *fetches, size_t n)
{
    static const eddy_plan_executor executors[] = {EDDY_EXECUTOR_AUTO,
                                                   EDDY_EXECUTOR_NATIVE};
    eddy_tensor *want[4];
    eddy_stats before;

    ck_assert_uint_le(n, 4);
    (void)count_nodes(p, EDDY_OPTIMIZE_NONE, NULL, fetches);
    program_run(p);
    before = program_stats(p);
    for (size_t i = 0; i < n; i++)
        want[i] = eddy_tensor_retain(eddy_run_fetch(p->run, i));
    for (uint32_t i = 0; i < sizeof executors / sizeof executors[0]; i++) {
        p->plan_options.executor = executors[i];
        (void)count_nodes(p, EDDY_OPTIMIZE_EXACT, NULL, fetches);
        program_run(p);
        if (before.frames == 0)
            ck_assert_uint_eq(program_stats(p).live_executions,
                              before.live_executions);
        ck_assert_uint_eq(program_stats(p).dead_executions,
                          before.dead_executions);
        want_fetches(p, want, n);
    }
    p->plan_options.executor = EDDY_EXECUTOR_AUTO;
    for (size_t i = 0; i < n; i++)
        eddy_tensor_release(want[i]);
}

START_TEST(joined_nodes_give_the_same)
{
    const struct row *row = &rows[_i];
    program p;

    if (row->feeds || strchr(row->fetches, '^'))
        return;
    program_init(&p, 0);
    program_build(&p, row->text);
    want_same_bits(&p, row->fetches, strchr(row->fetches, ' ') ? 2 : 1);
    program_deinit(&p);
}
END_TEST

/* ---- random ones ---- */

typedef struct writer {
    char text[16384];
    size_t n;
    uint64_t state;
} writer;

static uint32_t draw(writer *w, uint32_t below)
{
    w->state = w->state * UINT64_C(6364136223846793005) +
               UINT64_C(1442695040888963407);
    return (uint32_t)(w->state >> 33) % below;
}

static void put(writer *w, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(w->text + w->n, sizeof w->text - w->n, format, args);
    va_end(args);
    ck_assert_int_ge(n, 0);
    w->n += (size_t)n;
    ck_assert_uint_lt(w->n, sizeof w->text);
}

static const char *const dtypes[] = {"float32", "float64", "float16",
                                     "int32",   "int64",   "int16"};
static const int64_t row_counts[] = {1, 2, 3, 5, 70, 1500};
static const int64_t column_counts[] = {0, 1, 2, 17, 512, 1023, 1024, 2500};

#define N_INPUTS 6

/* Inputs of the shape itself, a row, a column, and one element. */
static void put_inputs(writer *w, const char *dtype)
{
    const int64_t rows_ = row_counts[draw(w, 6)];
    const int64_t columns = column_counts[draw(w, 8)];
    const int64_t n = rows_ * columns > 40000 ? 3 : columns;

    put(w, "v0 %s[%" PRId64 ",%" PRId64 "]=3,1,2,5,4\n", dtype, rows_, n);
    put(w, "v1 %s[%" PRId64 ",%" PRId64 "]=1,2,1,7\n", dtype, rows_, n);
    put(w, "v2 %s[%" PRId64 "]=9,8,1\n", dtype, n);
    put(w, "v3 %s[%" PRId64 ",1]=2,3,5\n", dtype, rows_);
    put(w, "v4 %s=2\n", dtype);
    put(w, "v5 %s[1,%" PRId64 "]=6,1\n", dtype, n);
}

static void put_ops(writer *w, const char *dtype, bool is_float, uint32_t n_ops)
{
    static const char *const floats[] = {"Neg",  "Exp",     "Tanh", "Sigmoid",
                                         "Abs",  "Square",  "Relu", "Sqrt",
                                         "Sign", "Softplus"};
    static const char *const wholes[] = {"Abs", "Square", "Sign"};
    static const char *const pairs[] = {
        "AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference"};
    static const char *const real_pairs[] = {"RealDiv", "TanhGrad", "Pow"};

    for (uint32_t i = 0; i < n_ops; i++) {
        const uint32_t to = N_INPUTS + i;
        const uint32_t a = draw(w, 3) ? to - 1 : draw(w, to);
        const uint32_t b = draw(w, 2) ? draw(w, to) : draw(w, N_INPUTS);
        const uint32_t kind = draw(w, 11);

        if (kind == 8) /* not elementwise: others read what a chain stores */
            put(w, "v%u Identity v%u\n", to, a);
        else if (kind == 9)
            put(w, "l%u Less v%u v%u\nv%u SelectV2 l%u v%u v%u\n", to, a, b, to,
                to, b, a);
        else if (kind == 10)
            put(w, "c%u Cast v%u DstT=bool\nv%u Cast c%u DstT=%s\n", to, a, to,
                to, dtype);
        else if (kind < 3)
            put(w, "v%u %s v%u\n", to,
                is_float ? floats[draw(w, 10)] : wholes[draw(w, 3)], a);
        else if (kind == 3 && is_float)
            put(w, "v%u %s v%u v%u\n", to, real_pairs[draw(w, 2) ? 2 : 0], a,
                b);
        else
            put(w, "v%u %s v%u v%u\n", to, pairs[draw(w, 6)], a, b);
    }
}

START_TEST(random_ones_give_the_same_bits)
{
    for (uint32_t seed = 0; seed < program_scale(40, 8); seed++) {
        writer *w = calloc(1, sizeof *w);
        const uint32_t n_ops = 2 + seed % 30;
        uint32_t dtype;
        char fetches[64];
        program p;

        ck_assert_ptr_nonnull(w);
        w->state = (uint64_t)_i * 1000 + seed;
        dtype = draw(w, 6);
        put_inputs(w, dtypes[dtype]);
        put_ops(w, dtypes[dtype], dtype < 3, n_ops);
        program_init(&p, 0);
        program_build(&p, w->text);
        (void)snprintf(fetches, sizeof fetches, "v%u v%u", N_INPUTS + n_ops - 1,
                       N_INPUTS + draw(w, n_ops));
        want_same_bits(&p, fetches, 2);
        program_deinit(&p);
        free(w);
    }
}
END_TEST

/* ---- where they stand ---- */

/* Half the trips take the branch in which the chain is. */
START_TEST(chains_stand_in_branches_of_loops)
{
    program p;

    program_init(&p, 0);
    program_build(&p, "zero int32=0\nten int32=10\none int32=1\ntwo int32=2\n"
                      "x float32[3]=1,2,3\n"
                      "i/enter Enter@w zero\nx/enter Enter@w x\n"
                      "n Enter@w! ten\none/w Enter@w! one\n"
                      "two/w Enter@w! two\n"
                      "i Merge i/enter i/next\nv Merge x/enter v/next\n"
                      "less Less i n\ngo LoopCond less\n"
                      "i/s Switch i go\nv/s Switch v go\n"
                      "i/add AddV2 i/s:1 one/w\ni/next NextIteration i/add\n"
                      "rest FloorMod i/s:1 two/w\nodd Equal rest one/w\n"
                      "b Switch v/s:1 odd\n"
                      "c Neg b:1\nd Square c\ne AddV2 d c\n"
                      "m Merge b e\nv/next NextIteration m\n"
                      "out Exit v/s");
    want_same_bits(&p, "out", 1);
    program_deinit(&p);
}
END_TEST

/*
 * What a chain stores goes to the next iteration, into a branch and out of it;
 * `f` is dead where `e` may be live, so that neither is of the other's chain.
 */
START_TEST(what_is_stored_is_read_in_branches_and_later)
{
    program p;

    program_init(&p, 0);
    program_build(&p, "zero int32=0\nten int32=10\none int32=1\ntwo int32=2\n"
                      "x float32[3]=1,2,3\nh float32[3]=0.5,0.25,0.125\n"
                      "i/enter Enter@w zero\nx/enter Enter@w x\n"
                      "h/enter Enter@w h\n"
                      "n Enter@w! ten\none/w Enter@w! one\n"
                      "two/w Enter@w! two\n"
                      "i Merge i/enter i/next\nv Merge x/enter v/next\n"
                      "u Merge h/enter u/next\n"
                      "less Less i n\ngo LoopCond less\n"
                      "i/s Switch i go\nv/s Switch v go\nu/s Switch u go\n"
                      "i/add AddV2 i/s:1 one/w\ni/next NextIteration i/add\n"
                      "rest FloorMod i/s:1 two/w\nodd Equal rest one/w\n"
                      "c Sigmoid v/s:1\nd Mul c u/s:1\ne Tanh d\n"
                      "b Switch d odd\nf Mul b:1 b:1\ng Neg f\n"
                      "k AddV2 g c\nm Merge b k\nw AddV2 m e\n"
                      "v/next NextIteration w\nu/next NextIteration d\n"
                      "out Exit v/s\nout2 Exit u/s");
    want_same_bits(&p, "out out2", 2);
    program_deinit(&p);
}
END_TEST

/*
 * An Exit may wait for all that comes into its loop, as no more than one
 * iteration is on: `e` reads such an Exit, and can't stand with `d`, which the
 * loop reads.
 */
START_TEST(a_loop_between_two_nodes_keeps_them_apart)
{
    program p;

    program_init(&p, 0);
    p.plan_options.executor = EDDY_EXECUTOR_DYNAMIC;
    program_build(&p, "zero int32=0\nthree int32=3\none int32=1\n"
                      "x float32[3]=1,2,3\nd Mul x x\n"
                      "i/enter Enter@w#1 zero\nx/enter Enter@w#1 x\n"
                      "y/enter Enter@w#1 x\nd/w Enter@w!#1 d\n"
                      "n Enter@w!#1 three\none/w Enter@w!#1 one\n"
                      "i Merge i/enter i/next\nv Merge x/enter v/next\n"
                      "u Merge y/enter u/next\n"
                      "less Less i n\ngo LoopCond less\n"
                      "i/s Switch i go\nv/s Switch v go\nu/s Switch u go\n"
                      "i/add AddV2 i/s:1 one/w\ni/next NextIteration i/add\n"
                      "a Neg v/s:1\nv/next NextIteration a\n"
                      "b Maximum u/s:1 d/w\nu/next NextIteration b\n"
                      "out Exit v/s\nout2 Exit u/s\ne AddV2 out d");
    want_same_bits(&p, "e out2", 2);
    program_deinit(&p);
}
END_TEST

START_TEST(a_dead_input_makes_it_dead)
{
    program p;

    program_init(&p, 0);
    program_build(&p, "x float32[3]=1,2,3\nno bool=false\n"
                      "s Switch x no\na Neg s:1\nb AddV2 a x\nc Exp b\n"
                      "d Neg s\ny Merge c d");
    (void)count_nodes(&p, EDDY_OPTIMIZE_EXACT, NULL, "y");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(3), PROGRAM_NUMBERS(-1, -2, -3));
    ck_assert_uint_eq(program_stats(&p).dead_executions, 3);
    program_deinit(&p);
}
END_TEST

/* What is declared may be a shape that no tensor has; a plan is made of it. */
START_TEST(a_shape_beyond_any_tensor_is_planned)
{
    program p;

    program_init(&p, 0);
    program_build(&p, "x ?float32[2,1]\ny ?float32[1,9223372036854775807]\n"
                      "a Neg y\nb AddV2 x a\nz Exp b\n");
    program_plan(&p, "x y", "z");
    program_deinit(&p);
}
END_TEST

/* ---- a graph may hold one by itself ---- */

typedef struct given {
    const char *ops[2];
    eddy_dtype types[2];
    int64_t wires[3];
    size_t n_ops, n_types, n_wires;
    int64_t out; /* 0: the last member */
} given;

#define F32 EDDY_FLOAT32

static const struct refused {
    given given;
    eddy_status want;
} refusals[] = {
    {{{"Neg", "AddV2"}, {F32, F32}, {0, -1, 0}, 2, 2, 3}, EDDY_OK},
    {{{"Neg", "AddV2"}, {F32, F32}, {0, -1, 1}, 2, 2, 3},
     EDDY_INVALID_ARGUMENT},
    {{{"Neg", "AddV2"}, {F32, F32}, {0, -2, 0}, 2, 2, 3},
     EDDY_INVALID_ARGUMENT},
    {{{"Neg", "AddV2"}, {F32, F32}, {-1, -1, 0}, 2, 2, 3},
     EDDY_INVALID_ARGUMENT},
    {{{"Neg", "AddV2"}, {F32, F32}, {0, -1}, 2, 2, 2}, EDDY_INVALID_ARGUMENT},
    {{{"Neg", "AddV2"}, {F32}, {0, -1, 0}, 2, 1, 3}, EDDY_INVALID_ARGUMENT},
    {{{"Neg", "AddV2"}, {F32, EDDY_INT32}, {0, -1, 0}, 2, 2, 3},
     EDDY_INVALID_ARGUMENT},
    {{{"Neg", "Nothing"}, {F32, F32}, {0, -1, 0}, 2, 2, 3},
     EDDY_INVALID_ARGUMENT},
    {{{"Neg", "Less"}, {F32, F32}, {0, -1, 0}, 2, 2, 3}, EDDY_INVALID_ARGUMENT},
    {{{"MatMul", "Neg"}, {F32, F32}, {0, -1, 0}, 2, 2, 3},
     EDDY_INVALID_ARGUMENT},
    {{{"Neg", "Neg"}, {EDDY_STRING, F32}, {0, -1, 0}, 2, 2, 3},
     EDDY_INVALID_ARGUMENT},
    {{{"Neg", "AddV2"}, {F32, F32}, {INT64_MIN, -1, 0}, 2, 2, 3},
     EDDY_INVALID_ARGUMENT},
    {{{"Neg", "AddV2"}, {F32, F32}, {0, -1, 0}, 2, 2, 3, .out = 2},
     EDDY_INVALID_ARGUMENT},
    {{{"Neg", "AddV2"}, {F32, F32}, {0, -1, 0}, 2, 2, 3, .out = -1},
     EDDY_INVALID_ARGUMENT},
    {{{"Neg", "Cast"}, {F32, F32}, {0, -1}, 2, 2, 2}, EDDY_INVALID_ARGUMENT},
    {{{"Neg", "Select"}, {F32, F32}, {0, -1, 0}, 2, 2, 3},
     EDDY_INVALID_ARGUMENT},
};

static eddy_attr list_of(eddy_attr attr, size_t n)
{
    attr.is_list = true;
    attr.n = n;
    return attr;
}

static eddy_output add_chain(program *p, const given *g, eddy_output in)
{
    const eddy_dtype result = F32, results[2] = {F32, F32};
    const int64_t out = g->out ? g->out : 1;
    const eddy_string ops[2] = {{g->ops[0], strlen(g->ops[0])},
                                {g->ops[1], strlen(g->ops[1])}};
    const eddy_attr attrs[] = {
        list_of(eddy_attr_string("ops", ops), g->n_ops),
        list_of(eddy_attr_type("types", g->types), g->n_types),
        list_of(eddy_attr_int("wires", g->wires), g->n_wires),
        list_of(eddy_attr_type("results", results), g->n_ops),
        list_of(eddy_attr_int("outs", &out), 1),
        list_of(eddy_attr_type("T", &result), 1),
    };
    const eddy_node_spec spec = {
        .size = sizeof spec,
        .op = "_Chain",
        .name = "chain",
        .inputs = &in,
        .n_inputs = 1,
        .attrs = attrs,
        .n_attrs = 6,
    };
    eddy_node node;

    program_want_ok(p, eddy_graph_add(p->graph, &spec, &node, &p->err));
    return (eddy_output){node, 0};
}

START_TEST(wrong_attributes_are_refused)
{
    const struct refused *row = &refusals[_i];
    program p;

    program_init(&p, 0);
    program_build(&p, "x float32[3]=1,2,3\n");
    (void)add_chain(&p, &row->given, program_output(&p, "x"));
    if (row->want == EDDY_OK) {
        program_plan(&p, NULL, "chain");
        program_run(&p);
        program_want_fetch(&p, 0, PROGRAM_DIMS(3), PROGRAM_NUMBERS(0, 0, 0));
    } else {
        ck_assert_int_eq(program_try_plan(&p, NULL, "chain"), row->want);
        ck_assert_str_eq(p.err.node, "chain");
    }
    program_deinit(&p);
}
END_TEST

START_TEST(a_chain_of_unknown_shape_is_refused)
{
    program p;

    program_init(&p, 0);
    program_build(&p, "x ?float32[?]\n");
    (void)add_chain(&p, &refusals[0].given, program_output(&p, "x"));
    program_want(&p, program_try_plan(&p, "x", "chain"), EDDY_INVALID_ARGUMENT,
                 EDDY_E_ATTR_VALUE);
    program_deinit(&p);
}
END_TEST

TCase *plan_chains_tests(void)
{
    TCase *tc = tcase_create("plan_chains");

    tcase_add_loop_test(tc, nodes_are_joined, 0, sizeof rows / sizeof rows[0]);
    tcase_add_loop_test(tc, joined_nodes_give_the_same, 0,
                        sizeof rows / sizeof rows[0]);
    tcase_add_loop_test(tc, random_ones_give_the_same_bits, 0, 8);
    tcase_add_test(tc, chains_stand_in_branches_of_loops);
    tcase_add_test(tc, what_is_stored_is_read_in_branches_and_later);
    tcase_add_test(tc, a_loop_between_two_nodes_keeps_them_apart);
    tcase_add_test(tc, a_dead_input_makes_it_dead);
    tcase_add_test(tc, a_shape_beyond_any_tensor_is_planned);
    tcase_add_loop_test(tc, wrong_attributes_are_refused, 0,
                        sizeof refusals / sizeof refusals[0]);
    tcase_add_test(tc, a_chain_of_unknown_shape_is_refused);
    return tc;
}
