/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of lists and of handles: made, taken apart, summed, and dropped. */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static program p;

static void begin(void)
{
    program_init(&p, 0);
}

static void end(void)
{
    program_deinit(&p);
}

/* Lists of one and of two floats, and a vector of both. */
#define LISTS                                                                  \
    "any int32=-1\n"                                                           \
    "zero int32=0\n"                                                           \
    "one int32=1\n"                                                            \
    "x float32=1\n"                                                            \
    "y float32=2\n"                                                            \
    "e EmptyTensorList any any element_dtype=float32\n"                        \
    "a TensorListPushBack e x\n"                                               \
    "b0 TensorListPushBack e y\n"                                              \
    "b TensorListPushBack b0 x\n"                                              \
    "v Pack a b\n"
#define STACK(name, list)                                                      \
    name " TensorListStack " list " any element_dtype=float32\n"

START_TEST(lists_are_packed_and_unpacked)
{
    program_build(&p, LISTS "u Unpack v num=2\n" STACK("first", "u:0")
                          STACK("second", "u:1") "s Shape v\n");
    program_plan(&p, NULL, "first second s");
    for (int round = 0; round < 2; round++) {
        program_run(&p);
        program_want_fetch(&p, 0, PROGRAM_DIMS(1), PROGRAM_NUMBERS(1));
        program_want_fetch(&p, 1, PROGRAM_DIMS(2), PROGRAM_NUMBERS(2, 1));
        program_want_fetch(&p, 2, PROGRAM_DIMS(1), PROGRAM_NUMBERS(2));
    }
}
END_TEST

/* Every way to the list of two in a vector of a list of one and that. */
static const char *const ways[] = {
    "i int32[1]=1\nj int32[1]=2\nk int32[1]=1\n"
    "t StridedSlice v i j k shrink_axis_mask=1\n",
    "i int32[1]=1\nj int32[1]=1\n"
    "s Slice v i j\nempty int32[0]=0\nt Reshape s empty\n",
    "t GatherV2 v one zero\n",
    "i int32[1]=1\nt GatherNd v i\n",
    "w ConcatV2 v v zero\nthree int32=3\nt GatherV2 w three zero\n",
    "i int32[1]=0\nr ReverseV2 v i\nt GatherV2 r zero zero\n",
    "m ExpandDims v zero\nq Squeeze m\nt GatherV2 q one zero\n",
    "h Split zero v num_split=2\nempty int32[0]=0\nt Reshape h:1 empty\n",
    "i int32[1]=2\nl Tile v i\nthree int32=3\nt GatherV2 l three zero\n",
    "m ExpandDims v zero\nperm int32[2]=1,0\ntr Transpose m perm\n"
    "i int32[2]=1,0\nt GatherNd tr i\n",
    "c bool[2]=1,0\nk int32[2]=1,0\nw GatherV2 v k zero\n"
    "l SelectV2 c w v\nt GatherV2 l zero zero\n",
    "empty int32[0]=0\n"
    "l TensorListFromTensor v empty element_dtype=variant\n"
    "t TensorListGetItem l one empty element_dtype=variant\n",
    "l0 EmptyTensorList any any element_dtype=variant\n"
    "l1 TensorListPushBack l0 a\nl TensorListPushBack l1 b\n"
    "w TensorListStack l any element_dtype=variant\n"
    "t GatherV2 w one zero\n",
};

START_TEST(lists_are_arranged)
{
    char text[2048];

    snprintf(text, sizeof text, "%s%s%s", LISTS, ways[_i], STACK("z", "t"));
    program_build(&p, text);
    program_plan(&p, NULL, "z");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(2, 1));
}
END_TEST

START_TEST(tensors_of_lists_have_sums_and_zeros)
{
    program_build(&p, LISTS "c TensorListPushBack e y\n"
                            "w Pack c b\n"
                            "s AddN v w v\n"
                            "o ZerosLike v\n"
                            "u Unpack s num=2\n"
                            "z Unpack o num=2\n" STACK("first", "u:0")
                                STACK("second", "u:1") STACK("third", "z:1")
                                    STACK("before", "b"));
    program_plan(&p, NULL, "first second third before");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(1), PROGRAM_NUMBERS(4));
    program_want_fetch(&p, 1, PROGRAM_DIMS(2), PROGRAM_NUMBERS(6, 3));
    program_want_fetch(&p, 2, PROGRAM_DIMS(2), PROGRAM_NUMBERS(0, 0));
    program_want_fetch(&p, 3, PROGRAM_DIMS(2), PROGRAM_NUMBERS(2, 1));
}
END_TEST

/* Lists whose items are tensors of lists. */
START_TEST(lists_of_tensors_of_lists_have_sums_and_zeros)
{
    program_build(&p, LISTS
                  "l0 EmptyTensorList any any element_dtype=variant\n"
                  "l TensorListPushBack l0 v\n"
                  "s AddN l l\n"
                  "o ZerosLike l\n"
                  "two int32[1]=2\n"
                  "g TensorListGetItem s zero two element_dtype=variant\n"
                  "h TensorListGetItem o zero two element_dtype=variant\n"
                  "t GatherV2 g one zero\n"
                  "n GatherV2 h one zero\n" STACK("z", "t") STACK("y0", "n"));
    program_plan(&p, NULL, "z y0");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(4, 2));
    program_want_fetch(&p, 1, PROGRAM_DIMS(2), PROGRAM_NUMBERS(0, 0));
}
END_TEST

START_TEST(a_tensor_of_lists_is_no_list)
{
    program_build(&p, LISTS STACK("t", "v") "n TensorListLength v\n"
                                            "h OptionalHasValue v\n");
    program_plan(&p, NULL, "t");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    program_plan(&p, NULL, "n");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    program_plan(&p, NULL, "h");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
    program_want(&p, program_try_build(&p, "s AddN v a\n"),
                 EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

START_TEST(handles_are_packed_and_unpacked)
{
    program_build(&p, "max int32=-1\n"
                      "s StackV2 max elem_type=float32\n"
                      "t StackV2 max elem_type=float32 stack_name='other'\n"
                      "v Pack s t\n"
                      "u Unpack v num=2\n"
                      "a float32=3\n"
                      "push StackPushV2 u:1 a\n"
                      "pop StackPopV2 t ^push elem_type=float32\n"
                      "bad StackPopV2 v elem_type=float32\n");
    program_plan(&p, NULL, "pop");
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == 3);
    program_plan(&p, NULL, "bad");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_RESOURCE);
}
END_TEST

/*
 * In each iteration a list of the tensor so far becomes the element of a new
 * tensor; freeing that may not need a stack as deep.
 */
START_TEST(tensors_and_lists_may_be_nested_deep)
{
    char text[2048];

    snprintf(text, sizeof text,
             "any int32=-1\n"
             "n int32=%d\n"
             "i0 int32=0\n"
             "x float32=1\n"
             "e EmptyTensorList any any element_dtype=variant\n"
             "v0 Pack e\n"
             "ie Enter@f i0\n"
             "ve Enter@f v0\n"
             "ee Enter@f! e\n"
             "ne Enter@f! n\n"
             "im Merge ie in\n"
             "vm Merge ve vn\n"
             "less Less im ne\n"
             "c LoopCond less\n"
             "is Switch im c\n"
             "vs Switch vm c\n"
             "one int32=1 ^is\n"
             "add Add is:1 one\n"
             "list TensorListPushBack ee vs:1\n"
             "pack Pack list\n"
             "in NextIteration add\n"
             "vn NextIteration pack\n"
             "ix Exit is\n"
             "vx Exit vs\n"
             "s Shape vx\n",
             (int)program_scale(200000, 20000));
    program_build(&p, text);
    program_plan(&p, NULL, "s ix");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(1), PROGRAM_NUMBERS(1));
}
END_TEST

/* What was made of lists is not the host's. */
START_TEST(tensors_of_lists_are_not_fetched)
{
    program_build(&p, LISTS);
    program_plan(&p, NULL, "v");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
}
END_TEST

START_TEST(each_of_many_lists_gets_an_item)
{
    program_build(&p, LISTS "w Pack a a b\n"
                            "t float32[3]=4,5,6\n"
                            "q TensorListPushBackBatch w t\n"
                            "u Unpack q num=3\n" STACK("z0", "u:0")
                                STACK("z1", "u:1") STACK("z2", "u:2")
                                    STACK("z3", "a"));
    program_plan(&p, NULL, "z0 z1 z2 z3");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(1, 4));
    program_want_fetch(&p, 1, PROGRAM_DIMS(2), PROGRAM_NUMBERS(1, 5));
    program_want_fetch(&p, 2, PROGRAM_DIMS(3), PROGRAM_NUMBERS(2, 1, 6));
    program_want_fetch(&p, 3, PROGRAM_DIMS(1), PROGRAM_NUMBERS(1));
}
END_TEST

START_TEST(batches_must_fit_their_lists)
{
    program_build(&p, LISTS "t float32[3]=4,5,6\n"
                            "m float32[2,1]=4,5\n"
                            "o int32[2]=4,5\n"
                            "empty int32[0]=0\n"
                            "k EmptyTensorList empty any "
                            "element_dtype=float32\n"
                            "kk Pack k k\n"
                            "d TensorListPushBackBatch v o\n"
                            "s TensorListPushBackBatch kk m\n"
                            "zd ZerosLike d\nzs ZerosLike s\n");
    program_want(&p, program_try_build(&p, "n TensorListPushBackBatch v t\n"),
                 EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    program_plan(&p, NULL, "^zd");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
    program_plan(&p, NULL, "^zs");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

/* A variable may hold a tensor of lists, but not one of lists of handles. */
START_TEST(variables_hold_tensors_of_lists)
{
    program_build(&p, LISTS
                  "h VarHandleOp dtype=variant shape=?\n"
                  "set AssignVariableOp h v\n"
                  "get ResourceGather h one ^set dtype=variant\n" STACK(
                      "z", "get") "max int32=-1\n"
                                  "st StackV2 max elem_type=float32\n"
                                  "l0 EmptyTensorList any any "
                                  "element_dtype=resource\n"
                                  "l TensorListPushBack l0 st\n"
                                  "w Pack l l\n"
                                  "bad AssignVariableOp h w\n"
                                  "two int32[2]=0,1\n"
                                  "worse ResourceScatterUpdate h two w ^set\n");
    program_plan(&p, NULL, "z");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(2, 1));
    program_plan(&p, NULL, "^bad");
    program_want(&p, program_execute(&p), EDDY_UNIMPLEMENTED, EDDY_E_DTYPE);
    program_plan(&p, NULL, "^worse");
    program_want(&p, program_execute(&p), EDDY_UNIMPLEMENTED, EDDY_E_DTYPE);
}
END_TEST

/* What somebody has read before stays. */
START_TEST(lists_in_a_variable_are_replaced)
{
    program_build(&p, LISTS
                  "h VarHandleOp dtype=variant shape=?\n"
                  "set AssignVariableOp h v\n"
                  "old ReadVariableOp h ^set dtype=variant\n"
                  "no int32[0]=0\n"
                  "none EmptyTensorList no any element_dtype=float32\n"
                  "w float32=7\nnew TensorListPushBack none w\n"
                  "at int32[1]=1\nrow Pack new\n"
                  "change ResourceScatterUpdate h at row ^old\n"
                  "now ReadVariableOp h ^change dtype=variant\n"
                  "all int32[2]=0,1\nfull int32=-1\n"
                  "one_for_all ResourceScatterUpdate h all new ^now\n"
                  "last ReadVariableOp h ^one_for_all dtype=variant\n"
                  "o Unpack old num=2\nn Unpack now num=2\n"
                  "l Unpack last num=2\n" STACK("p", "o:1") STACK("q", "n:0")
                      STACK("r", "n:1") STACK("s", "l:0"));
    program_plan(&p, NULL, "p q r s");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(2, 1));
    program_want_fetch(&p, 1, PROGRAM_DIMS(1), PROGRAM_NUMBERS(1));
    program_want_fetch(&p, 2, PROGRAM_DIMS(1), PROGRAM_NUMBERS(7));
    program_want_fetch(&p, 3, PROGRAM_DIMS(1), PROGRAM_NUMBERS(7));
}
END_TEST

/* d/dx of the sum of both lists: x is in them twice, y once. */
START_TEST(gradients_go_through_tensors_of_lists)
{
    eddy_output xs[2], dxs[2];
    eddy_output y;

    program_build(&p, LISTS "u Unpack v num=2\n" STACK("first", "u:0")
                          STACK("second", "u:1") "axis int32[1]=0\n"
                                                 "s0 Sum first axis\n"
                                                 "s1 Sum second axis\n"
                                                 "s Mul s0 s1\n");
    y = program_output(&p, "s");
    xs[0] = program_output(&p, "x");
    xs[1] = program_output(&p, "y");
    ck_assert_int_eq(eddy_gradients(p.graph, &y, 1, xs, 2, NULL, dxs, &p.err),
                     EDDY_OK);
    program_plan_outputs(&p, dxs, 2);
    program_run(&p);
    /* s = x (x + y) */
    ck_assert(program_fetch_float(&p, 0) == 4);
    ck_assert(program_fetch_float(&p, 1) == 1);
}
END_TEST

TCase *held_tests(void)
{
    TCase *tests = tcase_create("held");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, lists_are_packed_and_unpacked);
    tcase_add_loop_test(tests, lists_are_arranged, 0,
                        (int)(sizeof ways / sizeof *ways));
    tcase_add_test(tests, tensors_of_lists_have_sums_and_zeros);
    tcase_add_test(tests, lists_of_tensors_of_lists_have_sums_and_zeros);
    tcase_add_test(tests, a_tensor_of_lists_is_no_list);
    tcase_add_test(tests, handles_are_packed_and_unpacked);
    tcase_add_test(tests, tensors_and_lists_may_be_nested_deep);
    tcase_add_test(tests, tensors_of_lists_are_not_fetched);
    tcase_add_test(tests, each_of_many_lists_gets_an_item);
    tcase_add_test(tests, batches_must_fit_their_lists);
    tcase_add_test(tests, variables_hold_tensors_of_lists);
    tcase_add_test(tests, lists_in_a_variable_are_replaced);
    tcase_add_test(tests, gradients_go_through_tensors_of_lists);
    return tests;
}
