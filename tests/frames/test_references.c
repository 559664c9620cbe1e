/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <string.h>

static program p;

static void begin(void)
{
    program_init_session(&p);
}

static void end(void)
{
    program_deinit(&p);
}

/* Runs `what` and compares its first fetch, a scalar. */
static void want(const char *what, double value)
{
    const eddy_tensor *t;

    program_run_fetches(&p, what);
    t = eddy_run_fetch(p.run, 0);
    ck_assert_int_eq(eddy_tensor_count(t), 1);
    if (eddy_tensor_dtype(t) == EDDY_FLOAT32)
        ck_assert_float_eq(program_fetch_float(&p, 0), (float)value);
    else
        ck_assert_int_eq(program_fetch_int(&p, 0), (int64_t)value);
}

static void refuse(const char *what, eddy_status code, eddy_detail detail)
{
    program_want(&p, program_try_fetches(&p, what), code, detail);
}

#define VARIABLE                                                               \
    "v VariableV2 dtype=float32 shape=()\n"                                    \
    "one float32=1\n"                                                          \
    "ten float32=10\n"                                                         \
    "init Assign v one\n"

START_TEST(a_reference_is_read_where_a_value_is_wanted)
{
    program_build(&p, VARIABLE "has IsVariableInitialized v\n"
                               "y Add v ten\n"
                               "id RefIdentity v\n"
                               "z Neg id\n");
    want("has", 0);
    want("init", 1);
    want("has", 1);
    want("v", 1);
    want("y", 11);
    want("id", 1);
    want("z", -1);
}
END_TEST

START_TEST(an_uninitialized_reference_is_named)
{
    program_build(&p, VARIABLE "y Neg v\n"
                               "add AssignAdd v ten\n"
                               "count VariableV2 dtype=int32 shape=()\n"
                               "up CountUpTo count limit=3\n");
    refuse("v", EDDY_FAILED_PRECONDITION, EDDY_E_UNINITIALIZED);
    ck_assert_ptr_nonnull(strstr(p.err.message, "'v'"));
    refuse("y", EDDY_FAILED_PRECONDITION, EDDY_E_UNINITIALIZED);
    refuse("add", EDDY_FAILED_PRECONDITION, EDDY_E_UNINITIALIZED);
    refuse("up", EDDY_FAILED_PRECONDITION, EDDY_E_UNINITIALIZED);
}
END_TEST

START_TEST(updates_hand_the_reference_on)
{
    program_build(&p, VARIABLE "add AssignAdd init ten\n"
                               "sub AssignSub add one\n"
                               "y Mul sub ten\n");
    want("sub", 10);
    want("y", 100);
    want("v", 10);
}
END_TEST

/*
 * The consumer reads when all of its inputs are there: so both of its inputs
 * see the addition, as in TensorFlow.
 */
START_TEST(a_reference_is_read_when_the_consumer_starts)
{
    program_build(&p, VARIABLE "add AssignAdd v ten\n"
                               "late Identity add\n"
                               "y Add v late\n");
    program_run_fetches(&p, "^init");
    want("y", 22);
    want("v", 11);
}
END_TEST

START_TEST(control_edges_come_before_the_read)
{
    program_build(&p, VARIABLE "add AssignAdd v ten\n"
                               "y Identity v ^add\n");
    program_run_fetches(&p, "^init");
    want("y", 11);
    want("y", 21);
}
END_TEST

START_TEST(assignments_are_checked)
{
    program_build(&p, "v VariableV2 dtype=float32 shape=[2]\n"
                      "two float32[2]=1\n"
                      "three float32[3]=2\n"
                      "set Assign v two\n"
                      "bad Assign v three\n"
                      "loose Assign v three validate_shape=false\n"
                      "add AssignAdd v two\n"
                      "w VariableV2 dtype=int32 shape=() shared_name='v'\n"
                      "any VariableV2 dtype=float32 shape=? shared_name='u'\n"
                      "set_any Assign any three\n"
                      "value Assign two three\n");
    refuse("^bad", EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    program_run_fetches(&p, "^set");
    refuse("^bad", EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    program_run_fetches(&p, "^loose");
    refuse("^add", EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    program_run_fetches(&p, "v");
    ck_assert_int_eq(eddy_tensor_count(eddy_run_fetch(p.run, 0)), 3);
    refuse("w", EDDY_INTERNAL, EDDY_E_DTYPE);
    program_run_fetches(&p, "^set_any");
    refuse("^value", EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE);
}
END_TEST

START_TEST(a_reference_may_be_fed)
{
    const float values[] = {5};

    program_build(&p, "v VariableV2 dtype=float32 shape=[1]\n"
                      "y Neg v\n"
                      "one float32[1]=1\n"
                      "add AssignAdd v one\n");
    program_plan(&p, "v", "y v");
    program_feed_floats(&p, 0, values, 1);
    program_run(&p);
    ck_assert_float_eq(program_fetch_float(&p, 0), -5);
    ck_assert_float_eq(program_fetch_float(&p, 1), 5);
    program_want(&p, program_try_plan(&p, "v", "add"), EDDY_INVALID_ARGUMENT,
                 EDDY_E_INPUT_DTYPE);
}
END_TEST

START_TEST(rows_and_slices_are_updated)
{
    const float values[] = {6, 5, 18};
    const eddy_tensor *t;

    program_build(&p, "v VariableV2 dtype=float32 shape=[3]\n"
                      "start float32[3]=1,2,3\n"
                      "rows int32[2]=0,2\n"
                      "beyond int32[2]=0,3\n"
                      "more float32[2]=10,20\n"
                      "at int32[1,1]=1\n"
                      "five float32[1]=5\n"
                      "scalar float32=5\n"
                      "init Assign v start\n"
                      "a ScatterAdd init rows more\n"
                      "b ScatterNdUpdate a at five\n"
                      "c ScatterSub b rows scalar\n"
                      "bad ScatterUpdate v beyond more\n");
    program_run_fetches(&p, "c");
    t = eddy_run_fetch(p.run, 0);
    for (int i = 0; i < 3; i++)
        ck_assert_float_eq(((const float *)eddy_tensor_data(t))[i], values[i]);
    refuse("bad", EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
}
END_TEST

START_TEST(a_reference_is_chosen)
{
    program_build(&p, VARIABLE "w VariableV2 dtype=float32 shape=()\n"
                               "init_w Assign w ten\n"
                               "i ?int32\n"
                               "one_of RefSelect i v w\n"
                               "y Neg one_of\n");
    program_run_fetches(&p, "^init ^init_w");
    for (int i = 0; i < 3; i++) {
        const eddy_shape scalar = {.rank = 0};
        const int32_t index = i;
        eddy_tensor *t = program_tensor(&p, EDDY_INT32, &scalar, &index);

        program_plan(&p, "i", "y");
        program_make_run(&p);
        ck_assert_int_eq(eddy_run_feed(p.run, 0, t, &p.err), EDDY_OK);
        eddy_tensor_release(t);
        if (i < 2) {
            program_run(&p);
            ck_assert_float_eq(program_fetch_float(&p, 0), i ? -10 : -1);
        } else {
            program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                         EDDY_E_INDEX);
        }
    }
}
END_TEST

/* TensorFlow's cond on a variable: a RefSwitch, and a value in each branch. */
START_TEST(references_pass_through_branches)
{
    program_build(&p, VARIABLE "pred ?bool\n"
                               "s RefSwitch init pred\n"
                               "no Neg s\n"
                               "up AssignAdd s:1 ten\n"
                               "yes Identity up\n"
                               "y Merge no yes\n"
                               "r RefMerge s up\n"
                               "z Neg r\n");
    for (int i = 0; i < 2; i++) {
        const eddy_shape scalar = {.rank = 0};
        const bool pred = i == 1;
        eddy_tensor *t = program_tensor(&p, EDDY_BOOL, &scalar, &pred);

        program_plan(&p, "pred", "y z r");
        program_make_run(&p);
        ck_assert_int_eq(eddy_run_feed(p.run, 0, t, &p.err), EDDY_OK);
        eddy_tensor_release(t);
        program_run(&p);
        ck_assert_float_eq(program_fetch_float(&p, 0), i ? 11 : -1);
        ck_assert_float_eq(program_fetch_float(&p, 1), i ? -11 : -1);
        ck_assert_float_eq(program_fetch_float(&p, 2), i ? 11 : 1);
    }
}
END_TEST

/* A Merge of a reference and a value takes whichever lives. */
START_TEST(a_merge_reads_the_reference_that_lives)
{
    program_build(&p, VARIABLE "yes bool=1\n"
                               "s RefSwitch init yes\n"
                               "t Switch ten yes\n"
                               "y Merge s:1 t\n"
                               "z Merge t:1 s\n");
    want("y", 1);
    want("z", 10);
}
END_TEST

/* The variable is an invariant of the loop, and its own loop variable. */
START_TEST(references_go_round_loops)
{
    program_build(&p, "v VariableV2 dtype=int64 shape=()\n"
                      "zero int64=0\none int64=1\nn int64=100\n"
                      "init Assign v zero\n"
                      "lent RefEnter@w! init\n"
                      "v0 RefEnter@w init\n"
                      "i0 Enter@w zero\n"
                      "one_in Enter@w! one\n"
                      "n_in Enter@w! n\n"
                      "v1 RefMerge v0 v3\n"
                      "i1 Merge i0 i3\n"
                      "less Less v1 n_in ^i1\n"
                      "cond LoopCond less\n"
                      "sv RefSwitch v1 cond\n"
                      "si Switch i1 cond\n"
                      "i2 Add si:1 one_in\n"
                      "v2 AssignAdd sv:1 one_in ^i2\n"
                      "same Equal lent i2 ^v2\n"
                      "check Assert same i2\n"
                      "v3 RefNextIteration v2 ^check\n"
                      "i3 NextIteration i2 ^check\n"
                      "x RefExit sv\n"
                      "y Exit si\n");
    want("x", 100);
    want("y", 100);
    want("v", 100);
}
END_TEST

/* r reads v when it is 1, and y reads r when v is 5. */
START_TEST(what_hands_a_reference_on_is_an_alias)
{
    static const struct {
        const char *node;
        double value;
    } rows[] = {
        {"r Identity v ^init\n", 15},
        {"r StopGradient v ^init\n", 15},
        {"q Identity v ^init\nr Identity q\n", 15},
        {"q RefIdentity v ^init\nr Identity q\n", 15},
        {"r Identity init\n", 15},
        {"yes bool=1\nr0 Identity v ^init\ns Switch r0 yes\n"
         "r Merge s:1 s\n",
         15},
        {"i Identity v ^init\ne Enter@f i\nr Exit e\n", 15},
        {"r PlaceholderWithDefault v shape=() ^init\n", 15},
        {"n IdentityN ten v ^init T=[float32,float32]\nr Identity n:1\n", 15},
        {"r Snapshot v ^init\n", 11},
        {"r Neg v ^init\n", 9},
    };

    program_build(&p, VARIABLE);
    program_build(&p, rows[_i].node);
    program_build(&p, "five float32=5 ^r\n"
                      "set Assign v five\n"
                      "y Add r ten ^set\n");
    want("y", rows[_i].value);
}
END_TEST

START_TEST(an_alias_sees_every_change)
{
    static const struct {
        const char *node;
        double value;
    } rows[] = {
        {"set AssignAdd v five\n", 16},
        {"set AssignSub v five\n", 6},
        {"set ApplyGradientDescent v one five\n", 6},
        /* What may be another buffer is not seen. */
        {"set Assign v five validate_shape=false\n", 11},
    };

    program_build(&p, VARIABLE "r Identity v ^init\n"
                               "five float32=5 ^r\n");
    program_build(&p, rows[_i].node);
    program_build(&p, "y Add r ten ^set\n");
    want("y", rows[_i].value);
}
END_TEST

START_TEST(an_alias_and_a_value_meet_in_a_merge)
{
    program_build(&p, VARIABLE "p ?bool\n"
                               "r Identity v ^init\n"
                               "s Switch r p\n"
                               "t Switch ten p\n"
                               "m Merge s t:1\n"
                               "n Identity m\n"
                               "set AssignAdd v ten ^n\n"
                               "y Neg n ^set\n");
    for (int taken = 0; taken < 2; taken++) {
        const bool pred = taken != 0;
        eddy_tensor *t =
            program_tensor(&p, EDDY_BOOL, &(eddy_shape){.rank = 0}, &pred);

        program_plan(&p, "p", "y n");
        program_make_run(&p);
        ck_assert_int_eq(eddy_run_feed(p.run, 0, t, &p.err), EDDY_OK);
        eddy_tensor_release(t);
        program_run(&p);
        ck_assert_float_eq(program_fetch_float(&p, 0), taken ? -10 : -11);
        ck_assert_float_eq(program_fetch_float(&p, 1), taken ? 10 : 11);
    }
}
END_TEST

/* As in TensorFlow's testWhileCondWithControl_1: v is squared four times. */
START_TEST(a_loop_invariant_is_an_alias)
{
    program_build(&p, "v VariableV2 dtype=float32 shape=()\n"
                      "two float32=2\n"
                      "init Assign v two\n"
                      "r Identity v ^init\n"
                      "q RefIdentity v ^r\n"
                      "zero int64=0\n"
                      "four int64=4\n"
                      "one int64=1\n"
                      "e Enter@w zero\n"
                      "m Merge e n\n"
                      "limit Enter@w! four\n"
                      "step Enter@w! one\n"
                      "x Enter@w! r\n"
                      "ref RefEnter@w! q\n"
                      "less Less m limit\n"
                      "c LoopCond less\n"
                      "s Switch m c\n"
                      "i Identity s:1\n"
                      "square Mul x x ^i\n"
                      "set Assign ref square\n"
                      "add Add i step ^set\n"
                      "n NextIteration add\n"
                      "end Exit s\n"
                      "y Neg v ^end\n");
    for (int64_t parallel = 1; parallel <= 10; parallel += 9) {
        p.plan_options.parallel_iterations = parallel;
        want("y", -65536);
    }
}
END_TEST

START_TEST(what_is_fetched_is_read_at_the_end)
{
    program_build(&p, VARIABLE "r Identity v ^init\n"
                               "q RefIdentity v ^init\n"
                               "set AssignAdd v ten ^r ^q\n");
    want("r ^set", 11);
    want("q ^set", 11);
    want("init ^set", 11);
    want("set", 11);
    program_build(&p, "w VariableV2 dtype=float32 shape=()\n"
                      "k Identity w\n");
    refuse("k ^set", EDDY_FAILED_PRECONDITION, EDDY_E_UNINITIALIZED);
    refuse("w ^set", EDDY_FAILED_PRECONDITION, EDDY_E_UNINITIALIZED);
}
END_TEST

START_TEST(a_reference_that_is_handed_on_has_a_value)
{
    static const char *const nodes[] = {
        "e RefEnter@f v\nr RefExit e\n",
        "yes bool=1\ns RefSwitch v yes\nr RefMerge s s:1\n",
        "i int32=0\nr RefSelect i v v\n"};

    program_build(&p, VARIABLE);
    program_build(&p, nodes[_i]);
    program_build(&p, "set Assign r ten\n");
    refuse("set", EDDY_FAILED_PRECONDITION, EDDY_E_UNINITIALIZED);
    program_run_fetches(&p, "^init");
    want("set", 10);
    program_build(&p, "w VariableV2 dtype=float32 shape=()\n"
                      "no bool=0\n"
                      "k RefSwitch w no\n"
                      "q RefIdentity k\n"
                      "first Assign q ten\n");
    want("first", 10);
}
END_TEST

START_TEST(both_kinds_of_one_name_are_one_variable)
{
    program_build(&p, VARIABLE
                  "h VarHandleOp dtype=float32 shape=() shared_name='v'\n"
                  "add AssignAddVariableOp h ten ^init\n"
                  "y Identity v ^add\n");
    want("y", 11);
}
END_TEST

START_TEST(a_count_hands_out_numbers)
{
    program_build(&p, "v VariableV2 dtype=int64 shape=()\n"
                      "zero int64=0\n"
                      "init Assign v zero\n"
                      "count CountUpTo v limit=2\n");
    program_run_fetches(&p, "^init");
    want("count", 0);
    want("count", 1);
    refuse("count", EDDY_OUT_OF_RANGE, EDDY_E_VALUE);
}
END_TEST

/* Nodes that are not needed may be as they like. */
START_TEST(what_is_pruned_is_not_rewritten)
{
    program_build(&p, VARIABLE "bad Assign ten one\n"
                               "y Neg v\n");
    program_run_fetches(&p, "^init");
    want("y", -1);
}
END_TEST

START_TEST(a_plan_with_references_is_made_or_not)
{
    bool done = false;

    program_build(&p, VARIABLE "y Add v ten\nadd AssignAdd v ten ^y\n");
    for (int64_t n = 0; !done; n++) {
        eddy_status status;

        counting_allocator_allow(&p.counting, n);
        status = program_try_plan(&p, NULL, "y init v");
        counting_allocator_allow(&p.counting, -1);
        done = status == EDDY_OK;
        ck_assert(done || status == EDDY_RESOURCE_EXHAUSTED);
        ck_assert_int_lt(n, 1000);
    }
}
END_TEST

TCase *references_tests(void)
{
    TCase *tc = tcase_create("references");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, a_reference_is_read_where_a_value_is_wanted);
    tcase_add_test(tc, an_uninitialized_reference_is_named);
    tcase_add_test(tc, updates_hand_the_reference_on);
    tcase_add_test(tc, a_reference_is_read_when_the_consumer_starts);
    tcase_add_test(tc, control_edges_come_before_the_read);
    tcase_add_test(tc, assignments_are_checked);
    tcase_add_test(tc, a_reference_may_be_fed);
    tcase_add_test(tc, rows_and_slices_are_updated);
    tcase_add_test(tc, a_reference_is_chosen);
    tcase_add_test(tc, references_pass_through_branches);
    tcase_add_test(tc, a_merge_reads_the_reference_that_lives);
    tcase_add_test(tc, references_go_round_loops);
    tcase_add_loop_test(tc, what_hands_a_reference_on_is_an_alias, 0, 11);
    tcase_add_loop_test(tc, an_alias_sees_every_change, 0, 4);
    tcase_add_test(tc, an_alias_and_a_value_meet_in_a_merge);
    tcase_add_test(tc, a_loop_invariant_is_an_alias);
    tcase_add_test(tc, what_is_fetched_is_read_at_the_end);
    tcase_add_loop_test(tc, a_reference_that_is_handed_on_has_a_value, 0, 3);
    tcase_add_test(tc, both_kinds_of_one_name_are_one_variable);
    tcase_add_test(tc, a_count_hands_out_numbers);
    tcase_add_test(tc, what_is_pruned_is_not_rewritten);
    tcase_add_test(tc, a_plan_with_references_is_made_or_not);
    return tc;
}
