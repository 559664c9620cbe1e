/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of functions, If, Case and While: what they give, and when. */
#include "eddy/lower.h"
#include "tests/aid/functions.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

static program p;

/* What Say and Note have done, in order: " 1 2". */
static char said[1024];

static void say(int64_t what)
{
    const size_t length = strlen(said);

    snprintf(said + length, sizeof said - length, " %lld", (long long)what);
}

static eddy_status run_say(eddy_kernel *k)
{
    eddy_attr id;

    ck_assert(eddy_kernel_attr(k, "id", &id));
    say(id.as.ints[0]);
    return EDDY_OK;
}

static eddy_status run_note(eddy_kernel *k)
{
    eddy_tensor *tensor = eddy_kernel_input_tensor(k, 0);
    eddy_status status = eddy_kernel_output_tensor(k, 0, tensor);

    say(*(const int64_t *)eddy_tensor_data(tensor));
    eddy_tensor_release(tensor);
    return status;
}

static void setup(void)
{
    const eddy_op_spec ops[] = {
        {.size = sizeof *ops,
         .name = "Say",
         .attrs = "id: int",
         .kernel = run_say,
         .flags = EDDY_OP_STATEFUL},
        {.size = sizeof *ops,
         .name = "Note",
         .inputs = "x: int64",
         .outputs = "y: int64",
         .kernel = run_note,
         .flags = EDDY_OP_STATEFUL},
    };

    said[0] = '\0';
    program_init(&p, 0);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        ck_assert_int_eq(eddy_op_register(p.ctx, &ops[i], &p.err), EDDY_OK);
}

static void teardown(void)
{
    program_deinit(&p);
}

/* ---- functions that many tests use ---- */

/* x + y */
static void add_sum(void)
{
    functions_add(&p, "sum", "x=int64 y=int64", "z AddV2 x y T=%int64\n", "z");
}

/* -x */
static void add_minus(void)
{
    functions_add(&p, "minus", "x=int64", "z Neg x T=%int64\n", "z");
}

/* For While over (i, n): i < n, and (i + 1, n). */
static void add_counting(void)
{
    functions_add(&p, "more", "i=int64 n=int64", "z Less i n T=%int64\n", "z");
    functions_add(&p, "step", "i=int64 n=int64",
                  "one int64=1\n"
                  "z AddV2 i one T=%int64\n",
                  "z n");
}

static void want_ints(const int64_t *wanted, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(program_fetch_int(&p, i) == wanted[i],
                      "fetch %zu is %lld, not %lld", i,
                      (long long)program_fetch_int(&p, i),
                      (long long)wanted[i]);
}

/* Runs at every level, and looks at integer fetches. */
#define want_run(fetches, ...)                                                 \
    do {                                                                       \
        const int64_t wanted_[] = {__VA_ARGS__};                               \
        for (int level_ = EDDY_OPTIMIZE_NONE; level_ <= EDDY_OPTIMIZE_FULL;    \
             level_++) {                                                       \
            p.plan_options.optimize = (eddy_optimize)level_;                   \
            program_plan(&p, NULL, fetches);                                   \
            program_run(&p);                                                   \
            want_ints(wanted_, sizeof wanted_ / sizeof *wanted_);              \
        }                                                                      \
    } while (0)

/* ---- calls ---- */

START_TEST(a_call_gives_what_the_function_gives)
{
    add_sum();
    program_build(&p, "a int64=3\n"
                      "b int64=4\n"
                      "c PartitionedCall a b f=@sum Tout=[int64]\n"
                      "d StatefulPartitionedCall c b f=@sum Tout=[int64]\n"
                      "e Neg d\n");
    want_run("c d e", 7, 11, -11);
}
END_TEST

START_TEST(a_call_has_several_outputs)
{
    functions_add(&p, "both", "x=int64 y=int64",
                  "s AddV2 x y T=%int64\n"
                  "d Sub x y T=%int64\n",
                  "d x s");
    program_build(&p, "a int64=3\n"
                      "b int64=4\n"
                      "c PartitionedCall a b f=@both Tout=[int64,int64,int64]\n"
                      "e AddV2 c:1 c:2\n");
    want_run("c c:1 c:2 e", -1, 3, 7, 10);
}
END_TEST

START_TEST(a_function_may_give_what_it_takes)
{
    functions_add(&p, "swap", "x=int64 y=int64", "", "y x");
    program_build(&p, "a int64=3\n"
                      "b int64=4\n"
                      "c PartitionedCall a b f=@swap Tout=[int64,int64]\n"
                      "d PartitionedCall c c:1 f=@swap Tout=[int64,int64]\n"
                      "e PartitionedCall d c:1 f=@swap Tout=[int64,int64]\n");
    want_run("c c:1 d d:1 e:1", 4, 3, 3, 4, 3);
    /* Nothing is left of the calls. */
    p.plan_options.optimize = EDDY_OPTIMIZE_NONE;
    program_plan(&p, NULL, "e:1");
    ck_assert_uint_eq(eddy_plan_nodes(p.plan), 1);
}
END_TEST

START_TEST(a_node_may_be_called_by_the_name_of_the_function)
{
    add_sum();
    program_build(&p, "a int64=3\n"
                      "b int64=4\n");
    functions_call(&p, "sum", "c", "a b");
    functions_call(&p, "sum", "d", "c c");
    want_run("c d", 7, 14);
}
END_TEST

START_TEST(functions_call_functions)
{
    add_minus();
    functions_add(&p, "twice", "x=int64",
                  "a PartitionedCall x Tin=[int64] f=@minus Tout=[int64]\n"
                  "b PartitionedCall a f=@minus Tout=[int64]\n"
                  "c AddV2 b b\n",
                  "c");
    program_build(&p, "a int64=3\n"
                      "b PartitionedCall a f=@twice Tout=[int64]\n"
                      "c PartitionedCall b f=@twice Tout=[int64]\n");
    want_run("b c", 6, 12);
}
END_TEST

START_TEST(a_call_may_take_and_give_nothing)
{
    functions_add(&p, "five", "", "z int64=5\n", "z");
    functions_add(&p, "nothing", "x=int64", "", "");
    program_build(&p, "a PartitionedCall Tin=[] f=@five Tout=[int64]\n"
                      "b PartitionedCall a f=@nothing Tout=[]\n"
                      "c Neg a ^b\n");
    want_run("c ^b", -5);
}
END_TEST

START_TEST(what_a_call_gives_may_be_fed)
{
    add_sum();
    program_build(&p, "a int64=3\n"
                      "b PartitionedCall a a f=@sum Tout=[int64]\n"
                      "c PartitionedCall b a f=@sum Tout=[int64]\n");
    program_plan(&p, "b", "c b");
    program_make_run(&p);
    program_feed_int(&p, 0, 100);
    program_run(&p);
    want_ints((const int64_t[]){103, 100}, 2);
}
END_TEST

START_TEST(one_of_several_outputs_may_be_fed)
{
    functions_add(&p, "pair", "x=int64", "z Neg x T=%int64\n", "z x");
    program_build(&p, "a int64=3\n"
                      "b PartitionedCall a f=@pair Tout=[int64,int64]\n"
                      "c AddV2 b b:1\n");
    program_plan(&p, "b:1", "c b b:1");
    program_make_run(&p);
    program_feed_int(&p, 0, 10);
    program_run(&p);
    want_ints((const int64_t[]){7, -3, 10}, 3);
}
END_TEST

START_TEST(what_a_function_does_not_need_is_left_out)
{
    functions_add(&p, "lazy", "x=int64",
                  "a Neg x T=%int64\n"
                  "b Neg a\n"
                  "c Neg x T=%int64\n",
                  "a b");
    program_build(&p, "a int64=3\n"
                      "b PartitionedCall a f=@lazy Tout=[int64,int64]\n");
    program_plan(&p, NULL, "b");
    ck_assert_uint_eq(eddy_plan_nodes(p.plan), 2);
    program_plan(&p, NULL, "b:1");
    ck_assert_uint_eq(eddy_plan_nodes(p.plan), 3);
}
END_TEST

/* ---- If and Case ---- */

#define IF_GRAPH(op)                                                           \
    "p ?bool\n"                                                                \
    "x int64=3\n"                                                              \
    "y int64=4\n"                                                              \
    "c " op " p x y then_branch=@first else_branch=@second "                   \
    "Tout=[int64,int64]\n"

static void feed_bool(size_t i, bool value)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *tensor = program_tensor(&p, EDDY_BOOL, &scalar, &value);

    program_make_run(&p);
    ck_assert_int_eq(eddy_run_feed(p.run, i, tensor, &p.err), EDDY_OK);
    eddy_tensor_release(tensor);
}

/* _i: what the predicate is, and which op it is. */
START_TEST(if_takes_one_branch)
{
    static const int64_t wanted[2][2] = {{-3, 3}, {7, 11}};
    const bool predicate = _i % 2;

    functions_add(&p, "first", "x=int64 y=int64",
                  "s AddV2 x y T=%int64\n"
                  "e AddV2 s y T=%int64\n",
                  "s e");
    functions_add(&p, "second", "x=int64 y=int64", "z Neg x T=%int64\n", "z x");
    program_build(&p, _i < 2 ? IF_GRAPH("If") : IF_GRAPH("StatelessIf"));
    program_plan(&p, "p", "c c:1");
    feed_bool(0, predicate);
    program_run(&p);
    want_ints(wanted[predicate], 2);
}
END_TEST

/* _i: the index, from -1 to 3. */
START_TEST(case_takes_the_branch_of_its_index)
{
    static const int64_t wanted[] = {9, -3, 3, 9, 9};
    char text[256];

    functions_add(&p, "a", "x=int64", "z Neg x T=%int64\n", "z");
    functions_add(&p, "b", "x=int64", "", "x");
    functions_add(&p, "c", "x=int64", "z Square x T=%int64\n", "z");
    snprintf(text, sizeof text,
             "i int32=%d\n"
             "x int64=3\n"
             "y %sCase i x branches=[@a,@b,@c] Tout=[int64]\n",
             _i, _i % 2 ? "Stateless" : "");
    program_build(&p, text);
    want_run("y", wanted[_i + 1]);
}
END_TEST

START_TEST(a_predicate_may_have_any_dtype_and_shape)
{
    functions_add(&p, "yes", "", "z int64=1\n", "z");
    functions_add(&p, "no", "", "z int64=0\n", "z");
    program_build(
        &p, "i int32=7\n"
            "a If i Tin=[] then_branch=@yes else_branch=@no Tout=[int64]\n"
            "f float32=0\n"
            "b If f Tin=[] then_branch=@yes else_branch=@no Tout=[int64]\n"
            "v bool[3]=0\n"
            "c If v Tin=[] then_branch=@yes else_branch=@no Tout=[int64]\n"
            "e float64[0]=1\n"
            "d If e Tin=[] then_branch=@yes else_branch=@no Tout=[int64]\n");
    want_run("a b c d", 1, 0, 1, 0);
}
END_TEST

/* Constants, calls and effects of a branch that is not taken are dead. */
START_TEST(nothing_runs_in_a_branch_that_is_not_taken)
{
    functions_add(&p, "inner", "",
                  "s Say id=1\n"
                  "z int64=1\n",
                  "z ^s");
    functions_add(&p, "yes", "",
                  "z StatefulPartitionedCall Tin=[] f=@inner Tout=[int64]\n",
                  "z ^z");
    functions_add(&p, "no", "",
                  "s Say id=2\n"
                  "z int64=0\n",
                  "z ^s");
    program_build(
        &p, "p ?bool\n"
            "c If p Tin=[] then_branch=@yes else_branch=@no Tout=[int64]\n");
    for (int i = 0; i < 2; i++) {
        program_plan(&p, "p", "c");
        feed_bool(0, i);
        program_run(&p);
        want_ints((const int64_t[]){i}, 1);
    }
    ck_assert_str_eq(said, " 2 1");
}
END_TEST

/* A call between primitives: its inputs may be dead. */
START_TEST(a_dead_call_does_nothing)
{
    functions_add(&p, "f", "x=int64",
                  "s Say id=1\n"
                  "one int64=1\n"
                  "z AddV2 x one T=%int64\n",
                  "one z ^s");
    program_build(&p, "p ?bool\n"
                      "x int64=3\n"
                      "w Switch x p\n"
                      "c StatefulPartitionedCall w:1 f=@f Tout=[int64,int64]\n"
                      "m Merge w c:1\n"
                      "n Merge w c\n");
    for (int i = 0; i < 2; i++) {
        program_plan(&p, "p", "m n");
        feed_bool(0, i);
        program_run(&p);
        want_ints(i ? (const int64_t[]){4, 1} : (const int64_t[]){3, 3}, 2);
        ck_assert_str_eq(said, i ? " 1" : "");
    }
}
END_TEST

/* ---- While ---- */

START_TEST(while_goes_round)
{
    add_counting();
    program_build(&p,
                  "z int64=0\n"
                  "n int64=5\n"
                  "w StatelessWhile z n cond=@more body=@step T=[int64,int64]\n"
                  "v While n z cond=@more body=@step\n");
    want_run("w w:1 v v:1", 5, 5, 5, 0);
    /* The root and two frames. */
    ck_assert_uint_eq(eddy_plan_frames(p.plan), 3);
}
END_TEST

START_TEST(variables_may_change_places)
{
    functions_add(&p, "more", "i=int64 a=int64 b=int64",
                  "n int64=5\n"
                  "z Less i n T=%int64\n",
                  "z");
    functions_add(&p, "step", "i=int64 a=int64 b=int64",
                  "one int64=1\n"
                  "j AddV2 i one T=%int64\n",
                  "j b a");
    program_build(&p, "i int64=0\n"
                      "a int64=7\n"
                      "b int64=8\n"
                      "w While i a b cond=@more body=@step\n");
    want_run("w w:1 w:2", 5, 8, 7);
}
END_TEST

/* The second variable takes over an invariant in every iteration. */
START_TEST(an_invariant_may_become_a_variable)
{
    functions_add(&p, "more", "i=int64 a=int64 b=int64",
                  "n int64=3\n"
                  "z Less i n T=%int64\n",
                  "z");
    functions_add(&p, "step", "i=int64 a=int64 b=int64",
                  "one int64=1\n"
                  "j AddV2 i one T=%int64\n",
                  "j b b");
    program_build(&p, "i int64=0\n"
                      "three int64=3\n"
                      "a int64=7\n"
                      "b int64=8\n"
                      "w While i a b cond=@more body=@step\n"
                      "v While three a b cond=@more body=@step\n");
    want_run("w w:1 w:2 v v:1 v:2", 3, 8, 8, 3, 7, 8);
}
END_TEST

/* With no trip the body must not run, though all it reads is invariant. */
START_TEST(invariants_alone_do_not_run_the_body)
{
    functions_add(&p, "more", "i=int64 a=int64",
                  "n int64=2\n"
                  "z Less i n T=%int64\n",
                  "z");
    functions_add(&p, "step", "i=int64 a=int64",
                  "one int64=1\n"
                  "j AddV2 i one T=%int64\n"
                  "s Note a\n"
                  "t Say id=5\n",
                  "j a ^s");
    program_build(&p, "i int64=0\n"
                      "three int64=3\n"
                      "a int64=7\n"
                      "w While i a cond=@more body=@step\n"
                      "v While three a cond=@more body=@step\n");
    want_run("v", 3);
    ck_assert_str_eq(said, "");
    p.plan_options.optimize = EDDY_OPTIMIZE_NONE;
    program_plan(&p, NULL, "w");
    program_run(&p);
    ck_assert_uint_eq(strlen(said), strlen(" 7 5 7 5"));
}
END_TEST

START_TEST(a_while_may_have_no_variables)
{
    functions_add(&p, "never", "", "z bool=0\n", "z");
    functions_add(&p, "nothing", "", "s Say id=1\n", "^s");
    functions_add(&p, "same", "x=bool", "", "x");
    program_build(&p, "w While T=[] cond=@never body=@nothing\n"
                      "no bool=0\n"
                      "v While no cond=@same body=@same\n"
                      "x int64=4 \n"
                      "y Neg x ^w ^v\n");
    want_run("y v", -4, 0);
    ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(a_condition_may_have_any_dtype)
{
    functions_add(&p, "self", "x=int64", "", "x");
    functions_add(&p, "less", "x=int64",
                  "one int64=1\n"
                  "z Sub x one T=%int64\n",
                  "z");
    program_build(&p, "x int64=4\n"
                      "w While x cond=@self body=@less\n");
    want_run("w", 0);
}
END_TEST

/* While in If in a call in While; sum over i < 4 of (0 + ... + i - 1). */
START_TEST(everything_nests)
{
    functions_add(&p, "inner_more", "k=int64 s=int64 i=int64",
                  "z Less k i T=%int64\n", "z");
    functions_add(&p, "inner_step", "k=int64 s=int64 i=int64",
                  "one int64=1\n"
                  "j AddV2 k one T=%int64\n"
                  "t AddV2 s k T=%int64\n",
                  "j t i");
    functions_add(&p, "some", "i=int64 s=int64",
                  "zero int64=0\n"
                  "w While zero s i T=[int64,int64,int64] cond=@inner_more "
                  "body=@inner_step\n",
                  "w:1");
    functions_add(&p, "none", "i=int64 s=int64", "", "s");
    functions_add(&p, "part", "i=int64 s=int64",
                  "zero int64=0\n"
                  "p Less zero i T=%int64\n"
                  "c If p i s Tin=[int64,int64] then_branch=@some "
                  "else_branch=@none Tout=[int64]\n",
                  "c");
    functions_add(&p, "more", "i=int64 s=int64",
                  "n int64=4\n"
                  "z Less i n T=%int64\n",
                  "z");
    functions_add(&p, "step", "i=int64 s=int64",
                  "one int64=1\n"
                  "j AddV2 i one T=%int64\n"
                  "t PartitionedCall i s Tin=[int64,int64] f=@part "
                  "Tout=[int64]\n",
                  "j t");
    program_build(&p, "i int64=0\n"
                      "s int64=100\n"
                      "w While i s cond=@more body=@step\n");
    want_run("w w:1", 4, 104);
}
END_TEST

/* Frames of a body's own primitives are parted by instance. */
START_TEST(bodies_may_have_primitives)
{
    functions_add(&p, "count", "n=int64",
                  "zero int64=0\n"
                  "one int64=1\n"
                  "enter Enter@w zero\n"
                  "last Enter@w! n T=%int64\n"
                  "ones Enter@w! one\n"
                  "merge Merge enter next\n"
                  "less Less merge last\n"
                  "cond LoopCond less\n"
                  "switch Switch merge cond\n"
                  "add AddV2 switch:1 ones\n"
                  "next NextIteration add\n"
                  "exit Exit switch\n",
                  "exit");
    program_build(&p, "a int64=3\n"
                      "b PartitionedCall a f=@count Tout=[int64]\n"
                      "c PartitionedCall b f=@count Tout=[int64]\n"
                      "d AddV2 b c\n");
    want_run("b c d", 3, 3, 6);
    ck_assert_uint_eq(eddy_plan_frames(p.plan), 3);
}
END_TEST

/* ---- effects and control edges ---- */

START_TEST(a_call_waits_and_is_waited_for)
{
    functions_add(&p, "f", "x=int64",
                  "s Note x\n"
                  "t Say id=2 ^s\n",
                  "x ^t");
    program_build(&p, "x int64=1\n"
                      "a Say id=0\n"
                      "c StatefulPartitionedCall x f=@f Tout=[int64] ^a\n"
                      "b Say id=3 ^c\n");
    program_plan(&p, NULL, "^b");
    program_run(&p);
    ck_assert_str_eq(said, " 0 1 2 3");
}
END_TEST

START_TEST(a_call_waits_for_several_nodes)
{
    functions_add(&p, "f", "",
                  "s Say id=3\n"
                  "t Say id=4 ^s\n",
                  "^t");
    program_build(&p, "a Say id=1\n"
                      "b Say id=2 ^a\n"
                      "c StatefulPartitionedCall Tin=[] f=@f Tout=[] ^b ^a\n"
                      "d StatefulPartitionedCall Tin=[] f=@f Tout=[] ^c ^a\n");
    program_plan(&p, NULL, "^d");
    program_run(&p);
    ck_assert_str_eq(said, " 1 2 3 4 3 4");
}
END_TEST

/* Only the value is fetched, which needs none of it. */
START_TEST(effects_happen_though_no_value_needs_them)
{
    functions_add(&p, "inner", "", "s Say id=1\n", "^s");
    functions_add(&p, "f", "x=int64",
                  "s Say id=2\n"
                  "c StatefulPartitionedCall Tin=[] f=@inner Tout=[] ^s\n",
                  "x");
    program_build(&p, "x int64=7\n");
    functions_call(&p, "f", "c", "x");
    program_build(&p, "y Neg c T=int64\n");
    program_plan(&p, NULL, "y");
    program_run(&p);
    want_ints((const int64_t[]){-7}, 1);
    ck_assert_str_eq(said, " 2 1");
}
END_TEST

/* What PartitionedCall runs is its results and what the function says. */
START_TEST(a_partitioned_call_runs_what_the_function_names)
{
    functions_add(&p, "silent", "x=int64", "s Say id=2\n", "x");
    functions_add(&p, "f", "x=int64",
                  "s Say id=1\n"
                  "t Say id=2\n"
                  "u Say id=3\n"
                  "y Identity x ^t T=int64\n",
                  "x y ^s");
    program_build(&p, "x int64=7\n"
                      "a StatefulPartitionedCall x f=@silent Tout=[int64]\n"
                      "b PartitionedCall x f=@f Tout=[int64,int64]\n");
    want_run("a", 7);
    ck_assert_str_eq(said, "");
    program_plan(&p, NULL, "b");
    program_run(&p);
    ck_assert_str_eq(said, " 1 2");
}
END_TEST

/*
 * TensorFlow inlines an If that says so before it prunes: what is behind an
 * output that nobody reads does not happen.  By its kernel everything does.
 */
START_TEST(effects_behind_an_unused_output_of_an_inlined_if)
{
    static const struct {
        const char *use, *inlined;
    } rows[] = {{"Neg c", " 1"},
                {"Neg c:1", " 2"},
                {"Add c c:1", " 1 2"},
                {"Neg x ^c", " 3"}};
    char text[512];

    functions_add(&p, "f", "x=int64",
                  "s Say id=1\n"
                  "t Say id=2\n"
                  "u Say id=3\n"
                  "y Identity x ^s T=int64\n"
                  "z Identity x ^t T=int64\n",
                  "y z ^u");
    (void)snprintf(text, sizeof text,
                   "x int64=7\nyes bool=1\n"
                   "c If yes x then_branch=@f else_branch=@f Tcond=bool "
                   "Tin=[int64] Tout=[int64,int64]%s\ny %s\n",
                   _i % 2 ? "" : " _lower_using_switch_merge=true",
                   rows[_i / 2].use);
    program_build(&p, text);
    program_plan(&p, NULL, "y");
    program_run(&p);
    ck_assert_str_eq(said, _i % 2 ? " 1 2 3" : rows[_i / 2].inlined);
}
END_TEST

START_TEST(iterations_have_their_effects_in_order)
{
    functions_add(&p, "more", "i=int64",
                  "n int64=3\n"
                  "s Note i\n"
                  "z Less i n T=%int64\n",
                  "z ^s");
    functions_add(&p, "step", "i=int64",
                  "one int64=1\n"
                  "j AddV2 i one T=%int64\n"
                  "ten int64=10\n"
                  "k Mul j ten\n"
                  "s Note k\n",
                  "j ^s");
    program_build(&p, "i int64=0\n"
                      "w While i cond=@more body=@step\n"
                      "e Say id=99 ^w\n");
    program_plan(&p, NULL, "^e");
    program_run(&p);
    ck_assert_str_eq(said, " 0 10 1 20 2 30 3 99");
}
END_TEST

START_TEST(a_branch_is_waited_for)
{
    functions_add(&p, "yes", "x=int64", "s Note x\n", "^s");
    functions_add(&p, "no", "x=int64", "s Say id=-1\n", "^s");
    program_build(&p, "p ?bool\n"
                      "x int64=5\n"
                      "a Say id=1\n"
                      "c If p x then_branch=@yes else_branch=@no Tout=[] ^a\n"
                      "b Say id=9 ^c\n");
    for (int i = 0; i < 2; i++) {
        program_plan(&p, "p", "^b");
        feed_bool(0, i);
        program_run(&p);
    }
    ck_assert_str_eq(said, " 1 -1 9 1 5 9");
}
END_TEST

START_TEST(a_call_without_effects_is_done_when_its_values_are_there)
{
    add_sum();
    add_counting();
    functions_add(&p, "swap", "x=int64 y=int64", "", "y x");
    program_build(&p, "p bool=1\n"
                      "x int64=5\n"
                      "y Note x\n"
                      "a PartitionedCall y x f=@sum Tout=[int64]\n"
                      "b If p a y then_branch=@swap else_branch=@swap "
                      "Tout=[int64,int64]\n"
                      "c While x b cond=@more body=@step ^b\n"
                      "d PartitionedCall c a f=@swap Tout=[int64,int64] ^c\n"
                      "s Say id=2 ^a ^b ^c ^d\n");
    program_plan(&p, NULL, "^s");
    program_run(&p);
    ck_assert_str_eq(said, " 5 2");
}
END_TEST

/* A stateful node in a frame of the body's own: nothing can wait for it. */
START_TEST(effects_in_frames_of_a_body_happen)
{
    functions_add(&p, "count", "n=int64",
                  "zero int64=0\n"
                  "one int64=1\n"
                  "enter Enter@w zero\n"
                  "last Enter@w! n T=%int64\n"
                  "ones Enter@w! one\n"
                  "merge Merge enter next\n"
                  "less Less merge last\n"
                  "cond LoopCond less\n"
                  "switch Switch merge cond\n"
                  "add AddV2 switch:1 ones\n"
                  "note Note add\n"
                  "next NextIteration add\n"
                  "exit Exit switch\n",
                  "exit");
    program_build(&p, "a int64=3\n");
    functions_call(&p, "count", "b", "a");
    want_run("b", 3);
    ck_assert_str_eq(said, " 1 2 3 1 2 3 1 2 3");
}
END_TEST

TCase *lower_tests(void)
{
    TCase *tc = tcase_create("lower");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_call_gives_what_the_function_gives);
    tcase_add_test(tc, a_call_has_several_outputs);
    tcase_add_test(tc, a_function_may_give_what_it_takes);
    tcase_add_test(tc, a_node_may_be_called_by_the_name_of_the_function);
    tcase_add_test(tc, functions_call_functions);
    tcase_add_test(tc, a_call_may_take_and_give_nothing);
    tcase_add_test(tc, what_a_call_gives_may_be_fed);
    tcase_add_test(tc, one_of_several_outputs_may_be_fed);
    tcase_add_test(tc, what_a_function_does_not_need_is_left_out);
    tcase_add_loop_test(tc, if_takes_one_branch, 0, 4);
    tcase_add_loop_test(tc, case_takes_the_branch_of_its_index, -1, 4);
    tcase_add_test(tc, a_predicate_may_have_any_dtype_and_shape);
    tcase_add_test(tc, nothing_runs_in_a_branch_that_is_not_taken);
    tcase_add_test(tc, a_dead_call_does_nothing);
    tcase_add_test(tc, while_goes_round);
    tcase_add_test(tc, variables_may_change_places);
    tcase_add_test(tc, an_invariant_may_become_a_variable);
    tcase_add_test(tc, invariants_alone_do_not_run_the_body);
    tcase_add_test(tc, a_while_may_have_no_variables);
    tcase_add_test(tc, a_condition_may_have_any_dtype);
    tcase_add_test(tc, everything_nests);
    tcase_add_test(tc, bodies_may_have_primitives);
    tcase_add_test(tc, a_call_waits_and_is_waited_for);
    tcase_add_test(tc, a_call_waits_for_several_nodes);
    tcase_add_test(tc, effects_happen_though_no_value_needs_them);
    tcase_add_test(tc, a_partitioned_call_runs_what_the_function_names);
    tcase_add_loop_test(tc, effects_behind_an_unused_output_of_an_inlined_if, 0,
                        8);
    tcase_add_test(tc, iterations_have_their_effects_in_order);
    tcase_add_test(tc, a_branch_is_waited_for);
    tcase_add_test(tc,
                   a_call_without_effects_is_done_when_its_values_are_there);
    tcase_add_test(tc, effects_in_frames_of_a_body_happen);
    return tc;
}
