/* SPDX-License-Identifier: Apache-2.0 */
/* TensorLists in programs: item by item, to and from tensors, sums, mistakes.
 */
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

/* What most programs here start with. */
#define NUMBERS                                                                \
    "any int32=-1\n"                                                           \
    "zero int32=0\n"                                                           \
    "one int32=1\n"                                                            \
    "two int32=2\n"                                                            \
    "three int32=3\n"                                                          \
    "five int32=5\n"                                                           \
    "all int32[3]=0,1,2\n"                                                     \
    "scalar int32[0]=0\n"                                                      \
    "pair int32[1]=2\n"

#define EMPTY(dtype) "e EmptyTensorList any any element_dtype=" dtype "\n"
#define RESERVE(name, shape, n, dtype)                                         \
    name " TensorListReserve " shape " " n " element_dtype=" dtype "\n"
#define SET(name, list, index, item)                                           \
    name " TensorListSetItem " list " " index " " item "\n"
#define GET(name, list, index, shape, dtype)                                   \
    name " TensorListGetItem " list " " index " " shape                        \
         " element_dtype=" dtype "\n"
#define PUSH(name, list, item) name " TensorListPushBack " list " " item "\n"
#define POP(name, list, shape, dtype)                                          \
    name " TensorListPopBack " list " " shape " element_dtype=" dtype "\n"
#define STACK(name, list, shape, dtype)                                        \
    name " TensorListStack " list " " shape " element_dtype=" dtype "\n"

static const char *const dtypes[] = {
    "float16", "float32", "float64", "int8",   "int16",     "int32", "int64",
    "uint8",   "uint16",  "uint32",  "uint64", "complex64", "bool"};

#define N_DTYPES (int)(sizeof dtypes / sizeof *dtypes)

/* Builds `text`, in which each "%" is a dtype. */
static void build_with(const char *text, const char *dtype)
{
    char whole[4096];
    size_t length = 0;

    for (; *text; text++) {
        ck_assert_uint_lt(length + 16, sizeof whole);
        if (text[0] == '%')
            length += (size_t)snprintf(whole + length, 16, "%s", dtype);
        else
            whole[length++] = *text;
    }
    whole[length] = '\0';
    program_build(&p, whole);
}

/* ---- every dtype ---- */

START_TEST(items_of_every_dtype_are_set_and_read)
{
    build_with(
        NUMBERS
        "a %=1\n"
        "b %[2]=0,1\n" RESERVE("l", "any", "three", "%")
            SET("l0", "l", "zero", "a") SET("l1", "l0", "one", "b")
                GET("g0", "l1", "zero", "any", "%")
                    GET("g1", "l1", "one", "pair", "%")
                        SET("l2", "l1", "two", "b") "n TensorListLength l2\n"
                                                    "old TensorListLength l\n",
        dtypes[_i]);
    program_plan(&p, NULL, "g0 g1 n old");
    for (int round = 0; round < 2; round++) {
        program_run(&p);
        program_want_fetch(&p, 0, 0, NULL, PROGRAM_NUMBERS(1));
        program_want_fetch(&p, 1, PROGRAM_DIMS(2), PROGRAM_NUMBERS(0, 1));
        program_want_fetch(&p, 2, 0, NULL, PROGRAM_NUMBERS(3));
        program_want_fetch(&p, 3, 0, NULL, PROGRAM_NUMBERS(3));
    }
}
END_TEST

START_TEST(items_of_every_dtype_are_pushed_and_popped)
{
    build_with(
        NUMBERS
        "a %=1\n"
        "b %[2]=0,1\n" EMPTY("%") PUSH("l0", "e", "a") PUSH("l1", "l0", "b")
            PUSH("l2", "l0", "a") POP("q1", "l1", "any", "%")
                POP("q0", "q1", "scalar", "%") "n TensorListLength q0\n" STACK(
                    "s", "l2", "scalar", "%"),
        dtypes[_i]);
    program_plan(&p, NULL, "q1:1 q0:1 n s");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(0, 1));
    program_want_fetch(&p, 1, 0, NULL, PROGRAM_NUMBERS(1));
    program_want_fetch(&p, 2, 0, NULL, PROGRAM_NUMBERS(0));
    program_want_fetch(&p, 3, PROGRAM_DIMS(2), PROGRAM_NUMBERS(1, 1));
}
END_TEST

START_TEST(tensors_of_every_dtype_become_lists_and_back)
{
    build_with(NUMBERS
               "t %[3,2]=0,1,1,0,1,1\n"
               "v %[3]=1,0,1\n"
               "some int32[2,1]=2,0\n"
               "l TensorListFromTensor t pair\n"
               "m TensorListFromTensor v any\n" STACK("s", "l", "any", "%")
                   STACK("u", "m", "any", "%")
                       GET("g", "m", "one", "scalar",
                           "%") "h TensorListGather l some any "
                                "element_dtype=%\n",
               dtypes[_i]);
    program_plan(&p, NULL, "s u g h");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(3, 2),
                       PROGRAM_NUMBERS(0, 1, 1, 0, 1, 1));
    program_want_fetch(&p, 1, PROGRAM_DIMS(3), PROGRAM_NUMBERS(1, 0, 1));
    program_want_fetch(&p, 2, 0, NULL, PROGRAM_NUMBERS(0));
    program_want_fetch(&p, 3, PROGRAM_DIMS(2, 2), PROGRAM_NUMBERS(1, 1, 0, 1));
}
END_TEST

START_TEST(rows_of_every_dtype_are_scattered)
{
    build_with(NUMBERS "t %[2]=1,0\n"
                       "at int32[2]=3,1\n"
                       "to int32[2]=0,5\n"
                       "l TensorListScatter t at scalar\n"
                       "m TensorListScatterV2 t at any five\n"
                       "o TensorListScatterV2 t at any any\n"
                       "i TensorListScatterIntoExistingList l t to\n" STACK(
                           "sl", "l", "any", "%") STACK("sm", "m", "any", "%")
                           STACK("so", "o", "any", "%")
                               STACK("si", "i", "any", "%"),
               dtypes[_i]);
    program_plan(&p, NULL, "sl sm so si");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(4), PROGRAM_NUMBERS(0, 0, 0, 1));
    program_want_fetch(&p, 1, PROGRAM_DIMS(5), PROGRAM_NUMBERS(0, 0, 0, 1, 0));
    program_want_fetch(&p, 2, PROGRAM_DIMS(4), PROGRAM_NUMBERS(0, 0, 0, 1));
    program_want_fetch(&p, 3, PROGRAM_DIMS(6),
                       PROGRAM_NUMBERS(1, 0, 0, 1, 0, 0));
}
END_TEST

START_TEST(tensors_of_every_dtype_are_split_and_concatenated)
{
    build_with(
        NUMBERS "t %[4,2]=0,1,1,0,1,1,0,0\n"
                "lengths int64[3]=1,0,3\n"
                "leads int64[2]=5,2\n"
                "none int64[0]=0\n"
                "shape int32[2]=-1,2\n"
                "l TensorListSplit t shape lengths\n"
                "c TensorListConcat l element_dtype=%\n"
                "d TensorListConcatV2 l any none element_dtype=%\n"
        /* An item of which only leading_dims says the length. */
        RESERVE("r", "shape", "two", "%") "row %[1,2]=1\n" SET(
            "r0", "r", "zero", "row") "f TensorListConcatV2 r0 any leads "
                                      "element_dtype=%\n"
                                      /* As long as the only other one. */
                                      "h TensorListConcatV2 r0 any none "
                                      "element_dtype=%\n",
        dtypes[_i]);
    program_plan(&p, NULL, "c c:1 d f f:1 h");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(4, 2),
                       PROGRAM_NUMBERS(0, 1, 1, 0, 1, 1, 0, 0));
    program_want_fetch(&p, 1, PROGRAM_DIMS(3), PROGRAM_NUMBERS(1, 0, 3));
    program_want_fetch(&p, 2, PROGRAM_DIMS(4, 2),
                       PROGRAM_NUMBERS(0, 1, 1, 0, 1, 1, 0, 0));
    program_want_fetch(&p, 3, PROGRAM_DIMS(3, 2),
                       PROGRAM_NUMBERS(1, 1, 0, 0, 0, 0));
    program_want_fetch(&p, 4, PROGRAM_DIMS(2), PROGRAM_NUMBERS(1, 2));
    program_want_fetch(&p, 5, PROGRAM_DIMS(2, 2), PROGRAM_NUMBERS(1, 1, 0, 0));
}
END_TEST

START_TEST(items_that_were_not_set_are_zeros)
{
    build_with(NUMBERS "b %[2]=1\n" RESERVE("l", "pair", "two", "%") RESERVE(
                   "m", "any", "three", "%") RESERVE("o", "scalar", "two", "%")
                   SET("m1", "m", "one", "b") GET("g", "l", "one", "any", "%")
                       GET("h", "m1", "zero", "any", "%")
                           GET("i", "o", "one", "any", "%")
                               STACK("s", "m1", "any", "%")
                                   POP("q", "l", "pair", "%"),
               dtypes[_i]);
    program_plan(&p, NULL, "g h i s q:1");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(0, 0));
    program_want_fetch(&p, 1, PROGRAM_DIMS(2), PROGRAM_NUMBERS(0, 0));
    program_want_fetch(&p, 2, 0, NULL, PROGRAM_NUMBERS(0));
    program_want_fetch(&p, 3, PROGRAM_DIMS(3, 2),
                       PROGRAM_NUMBERS(0, 0, 1, 1, 0, 0));
    program_want_fetch(&p, 4, PROGRAM_DIMS(2), PROGRAM_NUMBERS(0, 0));
}
END_TEST

static void want_string(size_t fetch, int64_t i, const char *want)
{
    const eddy_string got = eddy_tensor_string(eddy_run_fetch(p.run, fetch), i);

    ck_assert_uint_eq(got.length, strlen(want));
    ck_assert(got.length == 0 || memcmp(got.data, want, got.length) == 0);
}

START_TEST(strings_are_items)
{
    program_build(
        &p, NUMBERS
        "t string[3]=a,bb,ccc\n"
        "u string[2,2]=d,ee,fff,g\n"
        "lengths int64[2]=1,1\n"
        "l TensorListFromTensor t any\n"
        "m TensorListResize l five\n"
        "x TensorListSplit u any lengths\n" GET("g", "l", "one", "any",
                                                "string")
            STACK("s", "m", "any",
                  "string") "c TensorListConcat x element_dtype=string\n");
    program_plan(&p, NULL, "g s c");
    program_run(&p);
    want_string(0, 0, "bb");
    want_string(1, 2, "ccc");
    want_string(1, 4, "");
    want_string(2, 3, "g");
}
END_TEST

/* A list of lists, one of which is changed further; a list of handles. */
START_TEST(lists_and_handles_are_items)
{
    program_build(
        &p,
        NUMBERS EMPTY("int32") PUSH("a", "e", "five") PUSH("b", "a", "three")
            RESERVE("l", "any", "two", "variant") SET("l0", "l", "zero", "a")
                SET("l1", "l0", "one", "b") GET("c", "l1", "zero", "any",
                                                "variant") PUSH("d", "c", "two")
                    GET("f", "l1", "zero", "any",
                        "variant") "nd TensorListLength d\n"
                                   "nf TensorListLength f\n"
                                   "h StackV2 any elem_type=int32\n"
                                   "hp StackPushV2 h five\n" RESERVE(
                                       "k", "any", "one", "resource")
                                       SET("k0", "k", "zero", "h")
                                           GET("i", "k0", "zero", "any",
                                               "resource") "j StackPopV2 i ^hp "
                                                           "elem_type=int32\n");
    program_plan(&p, NULL, "nd nf j");
    for (int round = 0; round < 2; round++) {
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), 2);
        ck_assert_int_eq(program_fetch_int(&p, 1), 1);
        ck_assert_int_eq(program_fetch_int(&p, 2), 5);
    }
}
END_TEST

/* ---- sizes and shapes ---- */

/* Two by two, also where both are one tensor, which stays as it was. */
START_TEST(tensors_of_lists_are_joined)
{
    program_build(&p,
                  NUMBERS "l TensorListFromTensor all any\n"
                          "short TensorListResize l one\n"
                          "b Pack l short\nc Pack short l\n"
                          "j TensorListConcatLists b c element_dtype=int32\n"
                          "k TensorListConcatLists b b element_dtype=int32\n"
                          "g Unpack j num=2\nh Unpack k num=2\n"
                          "i Unpack b num=2\n" STACK("s", "g", "any", "int32")
                              STACK("t", "g:1", "any", "int32")
                                  STACK("u", "h", "any", "int32")
                                      STACK("v", "h:1", "any", "int32")
                                          STACK("w", "i", "any", "int32"));
    program_plan(&p, NULL, "s t u v w");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(4), PROGRAM_NUMBERS(0, 1, 2, 0));
    program_want_fetch(&p, 1, PROGRAM_DIMS(4), PROGRAM_NUMBERS(0, 0, 1, 2));
    program_want_fetch(&p, 2, PROGRAM_DIMS(6),
                       PROGRAM_NUMBERS(0, 1, 2, 0, 1, 2));
    program_want_fetch(&p, 3, PROGRAM_DIMS(2), PROGRAM_NUMBERS(0, 0));
    program_want_fetch(&p, 4, PROGRAM_DIMS(3), PROGRAM_NUMBERS(0, 1, 2));
}
END_TEST

START_TEST(lists_are_resized_and_joined)
{
    program_build(&p, NUMBERS
                  "l TensorListFromTensor all any\n"
                  "short TensorListResize l one\n"
                  "long TensorListResize l five\n"
                  "j TensorListConcatLists l short element_dtype=int32\n"
                  "k TensorListConcatLists l l element_dtype=int32\n"
                  "r TensorListSetItem short three five "
                  "resize_if_index_out_of_bounds=true\n" STACK("s", "short",
                                                               "any", "int32")
                      STACK("t", "long", "scalar", "int32")
                          STACK("u", "j", "any", "int32")
                              STACK("v", "k", "any", "int32")
                                  STACK("w", "r", "any", "int32")
                                      STACK("x", "l", "any", "int32"));
    program_plan(&p, NULL, "s t u v w x");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(1), PROGRAM_NUMBERS(0));
    program_want_fetch(&p, 1, PROGRAM_DIMS(5), PROGRAM_NUMBERS(0, 1, 2, 0, 0));
    program_want_fetch(&p, 2, PROGRAM_DIMS(4), PROGRAM_NUMBERS(0, 1, 2, 0));
    program_want_fetch(&p, 3, PROGRAM_DIMS(6),
                       PROGRAM_NUMBERS(0, 1, 2, 0, 1, 2));
    program_want_fetch(&p, 4, PROGRAM_DIMS(4), PROGRAM_NUMBERS(0, 0, 0, 5));
    program_want_fetch(&p, 5, PROGRAM_DIMS(3), PROGRAM_NUMBERS(0, 1, 2));
}
END_TEST

START_TEST(element_shapes_are_told)
{
    program_build(&p, NUMBERS
                  "s int32[2]=-1,3\n"
                  "s64 int64[1]=7\n" RESERVE("a", "any", "zero", "bool")
                      RESERVE("b", "s", "zero", "bool")
                          RESERVE("c", "s64", "zero", "bool")
                              RESERVE("d", "scalar", "zero",
                                      "bool") "ta TensorListElementShape a "
                                              "shape_type=int64\n"
                                              "tb TensorListElementShape b "
                                              "shape_type=int32\n"
                                              "tc TensorListElementShape c "
                                              "shape_type=int64\n"
                                              "td TensorListElementShape d "
                                              "shape_type=int32\n"
                                              "te TensorListElementShape a "
                                              "shape_type=int32\n");
    program_plan(&p, NULL, "ta tb tc td te");
    program_run(&p);
    program_want_fetch(&p, 0, 0, NULL, PROGRAM_NUMBERS(-1));
    program_want_fetch(&p, 1, PROGRAM_DIMS(2), PROGRAM_NUMBERS(-1, 3));
    program_want_fetch(&p, 2, PROGRAM_DIMS(1), PROGRAM_NUMBERS(7));
    program_want_fetch(&p, 3, PROGRAM_DIMS(0), NULL);
    program_want_fetch(&p, 4, 0, NULL, PROGRAM_NUMBERS(-1));
}
END_TEST

START_TEST(empty_lists_make_empty_tensors)
{
    program_build(
        &p, NUMBERS
        "s int32[2]=-1,3\n"
        "none int32[0]=0\n"
        "leads int64[0]=0\n"
        "t float32[0,4]=0\n" EMPTY("float32") RESERVE(
            "l", "pair", "zero", "float32") STACK("a", "l", "any", "float32")
            STACK("b", "e", "pair",
                  "float32") "c TensorListGather l none any "
                             "element_dtype=float32\n"
                             "d TensorListConcatV2 e s leads "
                             "element_dtype=float32\n"
                             "f TensorListConcat e element_dtype=float32 "
                             "element_shape=[?,5]\n"
                             "g TensorListFromTensor t any\n"
                             "n TensorListLength g\n");
    program_plan(&p, NULL, "a b c d f n");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(0, 2), NULL);
    program_want_fetch(&p, 1, PROGRAM_DIMS(0, 2), NULL);
    program_want_fetch(&p, 2, PROGRAM_DIMS(0, 2), NULL);
    program_want_fetch(&p, 3, PROGRAM_DIMS(0, 3), NULL);
    program_want_fetch(&p, 4, PROGRAM_DIMS(0, 5), NULL);
    program_want_fetch(&p, 5, 0, NULL, PROGRAM_NUMBERS(0));
}
END_TEST

static void want_shape(size_t i, int32_t rank, const int64_t *dims)
{
    const eddy_shape *shape = eddy_plan_fetch_shape(p.plan, i);

    ck_assert_int_eq(shape->rank, rank);
    for (int32_t d = 0; d < rank; d++)
        ck_assert_int_eq(shape->dims[d], dims[d]);
}

START_TEST(shapes_are_inferred)
{
    program_build(
        &p, NUMBERS
        "s int32[2]=-1,3\n"
        "leads int64[0]=0\n" EMPTY("float32") STACK(
            "a", "e", "s",
            "float32") "b TensorListStack e pair element_dtype=float32 "
                       "num_elements=4\n" GET(
                           "c", "e", "zero", "s",
                           "float32") "d TensorListGather e all pair "
                                      "element_dtype=float32\n"
                                      "f TensorListConcatV2 e s leads "
                                      "element_dtype=float32\n" POP(
                                          "g", "e", "scalar", "float32")
                                          STACK("h", "e", "any", "float32"));
    program_plan(&p, NULL, "a b c d f g:1 h");
    want_shape(0, PROGRAM_DIMS(-1, -1, 3));
    want_shape(1, PROGRAM_DIMS(4, 2));
    want_shape(2, PROGRAM_DIMS(-1, 3));
    want_shape(3, PROGRAM_DIMS(3, 2));
    want_shape(4, PROGRAM_DIMS(-1, 3));
    want_shape(5, 0, NULL);
    want_shape(6, -1, NULL);
}
END_TEST

/* ---- sums and zeros ---- */

START_TEST(lists_of_every_dtype_are_added)
{
    build_with(NUMBERS
               "v %[2]=1,2\n"
               "w %[2]=4,3\n"
               "x %=7\n" RESERVE("l", "any", "three", "%")
                   SET("a0", "l", "zero", "v") SET("a1", "a0", "one", "x")
                       SET("b1", "l", "one", "x")
                           SET("b", "b1", "two", "w") "n AddN a1 b a1\n" GET(
                               "g", "n", "zero", "any", "%")
                               GET("h", "n", "one", "any", "%")
                                   GET("i", "n", "two", "any", "%")
                                       GET("j", "a1", "zero", "any", "%"),
               dtypes[_i]);
    program_plan(&p, NULL, "g h i j");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(2, 4));
    program_want_fetch(&p, 1, 0, NULL, PROGRAM_NUMBERS(21));
    program_want_fetch(&p, 2, PROGRAM_DIMS(2), PROGRAM_NUMBERS(4, 3));
    program_want_fetch(&p, 3, PROGRAM_DIMS(2), PROGRAM_NUMBERS(1, 2));
}
END_TEST

START_TEST(zeros_like_a_list)
{
    program_build(
        &p, NUMBERS "v float32[2]=1,2\n" RESERVE("l", "any", "two", "float32")
                SET("a", "l", "zero", "v") RESERVE("o", "any", "two", "variant")
                    SET("b", "o", "one",
                        "a") "z ZerosLike b\n"
                             "y ZerosLike a\n" GET("c", "z", "one", "any",
                                                   "variant")
                                 STACK("s", "c", "any", "float32")
                                     STACK("t", "y", "any", "float32"));
    program_plan(&p, NULL, "s t");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2, 2), PROGRAM_NUMBERS(0, 0, 0, 0));
    program_want_fetch(&p, 1, PROGRAM_DIMS(2, 2), PROGRAM_NUMBERS(0, 0, 0, 0));
}
END_TEST

/* Lists in lists: what both hold is added, what one holds is taken. */
START_TEST(lists_of_lists_are_added)
{
    program_build(
        &p,
        NUMBERS EMPTY("int32") PUSH("a", "e", "five") PUSH("b", "a", "three")
            RESERVE("l", "any", "three", "variant") SET("x0", "l", "zero", "b")
                SET("x", "x0", "one", "a") SET("y0", "l", "zero", "b")
                    SET("y", "y0", "two", "b") "n AddN x y\n" GET(
                        "c", "n", "zero", "any", "variant")
                        GET("d", "n", "two", "any", "variant")
                            STACK("s", "c", "any", "int32")
                                STACK("t", "d", "any", "int32")
                                    STACK("u", "b", "any", "int32"));
    program_plan(&p, NULL, "s t u");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(10, 6));
    program_want_fetch(&p, 1, PROGRAM_DIMS(2), PROGRAM_NUMBERS(5, 3));
    program_want_fetch(&p, 2, PROGRAM_DIMS(2), PROGRAM_NUMBERS(5, 3));
}
END_TEST

/* ---- loops ---- */

/* `list` carried round n times; the body, between the two, makes `bl`. */
#define LOOP_HEAD                                                              \
    "step int32=1\n"                                                           \
    "first int32=0\n"                                                          \
    "i Enter@f first\n"                                                        \
    "l Enter@f list\n"                                                         \
    "limit Enter@f! n\n"                                                       \
    "f1 Enter@f! step\n"                                                       \
    "fv Enter@f! v\n"                                                          \
    "fs Enter@f! shape\n"                                                      \
    "mi Merge i ni\n"                                                          \
    "ml Merge l nl\n"                                                          \
    "less Less mi limit\n"                                                     \
    "cond LoopCond less\n"                                                     \
    "si Switch mi cond\n"                                                      \
    "sl Switch ml cond\n"                                                      \
    "x Mul fv si:1\n"

#define LOOP_TAIL                                                              \
    "bi Add si:1 f1\n"                                                         \
    "ni NextIteration bi\n"                                                    \
    "nl NextIteration bl\n"                                                    \
    "out Exit sl\n"

#define SHAPES                                                                 \
    "any int32=-1\n"                                                           \
    "shape int32[0]=0\n"                                                       \
    "v int32=3\n"

static const struct {
    const char *list, *body;
} loops[] = {
    {"list TensorListReserve shape n element_dtype=int32\n",
     "bl TensorListSetItem sl:1 si:1 x\n"},
    {"list EmptyTensorList shape any element_dtype=int32\n",
     "bl TensorListPushBack sl:1 x\n"},
    {"list EmptyTensorList shape any element_dtype=int32\n",
     "bl TensorListSetItem sl:1 si:1 x resize_if_index_out_of_bounds=true\n"},
    {"list TensorListReserve shape n element_dtype=int32\n",
     "bx TensorListGetItem sl:1 si:1 fs element_dtype=int32\n"
     "by Add bx x\n"
     "bl TensorListSetItem sl:1 si:1 by\n"},
};

/*
 * None of these copies the list, which a copy an iteration would make take
 * 20,000 times 320,000 bytes.
 */
START_TEST(a_loop_changes_its_list_in_place)
{
    char text[2048];

    snprintf(text, sizeof text,
             "n int32=20000\n" SHAPES "%s" LOOP_HEAD "%s" LOOP_TAIL
             "at int32[3]=0,777,19999\n"
             "g TensorListGather out at shape element_dtype=int32\n"
             "length TensorListLength out\n",
             loops[_i].list, loops[_i].body);
    program_build(&p, text);
    program_plan(&p, NULL, "g length");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(3), PROGRAM_NUMBERS(0, 2331, 59997));
    program_want_fetch(&p, 1, 0, NULL, PROGRAM_NUMBERS(20000));
    ck_assert_uint_lt(program_stats(&p).allocations, 40);
    ck_assert_uint_lt(program_stats(&p).peak_bytes, 2000000);
}
END_TEST

/* What was pushed in one loop is popped in the next. */
START_TEST(a_loop_pops_what_another_pushed)
{
    program_build(
        &p, "n int32=5000\n" SHAPES
            "list EmptyTensorList shape any element_dtype=int32\n" LOOP_HEAD
            "bl TensorListPushBack sl:1 x\n" LOOP_TAIL "gi Enter@g n\n"
            "gl Enter@g out\n"
            "gt Enter@g first\n"
            "g0 Enter@g! first\n"
            "g1 Enter@g! step\n"
            "gs Enter@g! shape\n"
            "gmi Merge gi gni\n"
            "gml Merge gl gnl\n"
            "gmt Merge gt gnt\n"
            "gless Less g0 gmi\n"
            "gc LoopCond gless\n"
            "gsi Switch gmi gc\n"
            "gsl Switch gml gc\n"
            "gst Switch gmt gc\n"
            "pop TensorListPopBack gsl:1 gs element_dtype=int32\n"
            "sum Add gst:1 pop:1\n"
            "down Sub gsi:1 g1\n"
            "gni NextIteration down\n"
            "gnl NextIteration pop\n"
            "gnt NextIteration sum\n"
            "total Exit gst\n"
            "left Exit gsl\n"
            "length TensorListLength left\n"
            "before TensorListLength out\n");
    program_plan(&p, NULL, "total length before");
    for (int round = 0; round < 2; round++) {
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), 3 * 4999 * 2500);
        ck_assert_int_eq(program_fetch_int(&p, 1), 0);
        ck_assert_int_eq(program_fetch_int(&p, 2), 5000);
    }
}
END_TEST

/* Lists are made of large tensors, put together and added by workers. */
START_TEST(workers_take_lists_apart)
{
    program_deinit(&p);
    program_init(&p, (uint32_t)_i);
    program_build(&p, NUMBERS
                  "t float32[3,20000]=1\n"
                  "b int32[2]=0,1\n"
                  "l0 TensorListFromTensor t any\n"
                  "l1 TensorListFromTensor t any\n"
                  "l2 TensorListScatter t all any\n"
                  "m AddN l0 l1\n"
                  "n AddN l0 l2\n" STACK("s0", "m", "any", "float32") STACK(
                      "s1", "n", "any",
                      "float32") "c TensorListConcat l0 element_dtype=float32\n"
                                 "bc int32[1]=0\n"
                                 "r0 Sum s0 b\n"
                                 "r1 Sum s1 b\n"
                                 "r2 Sum c bc\n");
    program_plan(&p, NULL, "r0 r1 r2");
    for (int round = 0; round < 20; round++) {
        program_run(&p);
        ck_assert(program_fetch_float(&p, 0) == 120000);
        ck_assert(program_fetch_float(&p, 1) == 120000);
        ck_assert(program_fetch_float(&p, 2) == 60000);
    }
}
END_TEST

/* ---- mistakes ---- */

typedef struct mistake {
    const char *text;
    eddy_status code;
    eddy_detail detail;
    const char *message; /* a part of it */
} mistake;

#define INVALID(text, detail, message)                                         \
    {                                                                          \
        NUMBERS text, EDDY_INVALID_ARGUMENT, EDDY_E_##detail, message          \
    }
#define LIST RESERVE("l", "any", "two", "int32")
#define FLOATS RESERVE("f", "any", "two", "float32")

static const mistake mistakes[] = {
    /* Making one. */
    INVALID("n int32=-5\n" RESERVE("x", "any", "n", "int32"), VALUE,
            "num_elements is -5, it must be at least 0"),
    INVALID("x TensorListReserve five two element_dtype=int32\n", SHAPE,
            "a shape is given as the scalar 5"),
    INVALID("m int32[1,1]=2\n" RESERVE("x", "m", "two", "int32"), SHAPE, NULL),
    INVALID("m int32[1]=-2\n" RESERVE("x", "m", "two", "int32"), DIM, NULL),
    INVALID("x EmptyTensorList any all element_dtype=int32\n", SHAPE, NULL),
    /* Reading. */
    INVALID(LIST GET("x", "l", "two", "any", "int32"), INDEX,
            "there is no item 2 in a list with 2 items"),
    INVALID("n int32=-1\n" LIST GET("x", "l", "n", "any", "int32"), INDEX,
            "there is no item -1 in a list with 2 items"),
    INVALID(LIST GET("x", "l", "one", "any", "int32"), UNINITIALIZED,
            "the element shape ? is not fully known"),
    INVALID(LIST GET("x", "l", "one", "any", "float32"), DTYPE,
            "input 0 is a list of int32; one of float32 is wanted"),
    INVALID(LIST SET("m", "l", "one", "five")
                GET("x", "m", "one", "pair", "int32"),
            SHAPE,
            "an item of shape [] is not compatible with the element "
            "shape [2]"),
    INVALID(RESERVE("l", "pair", "two", "int32")
                GET("x", "l", "one", "scalar", "int32"),
            SHAPE,
            "the element shape [] is not compatible with that of the "
            "list, [2]"),
    INVALID(RESERVE("l", "any", "two", "variant")
                GET("x", "l", "one", "scalar", "variant"),
            UNINITIALIZED, "there are no zeros of dtype variant"),
    INVALID(EMPTY("int32") POP("x", "e", "any", "int32"), EMPTY,
            "the list is empty, so nothing can be popped"),
    INVALID(LIST POP("x", "l", "any", "int32"), UNINITIALIZED, NULL),
    /* Writing. */
    INVALID(LIST SET("x", "l", "two", "five"), INDEX, NULL),
    INVALID("n int32=-1\n" LIST
            "x TensorListSetItem l n five resize_if_index_out_of_bounds=true\n",
            INDEX, NULL),
    INVALID("w float32=1\n" LIST SET("x", "l", "one", "w"), DTYPE, NULL),
    INVALID(RESERVE("l", "pair", "two", "int32") SET("x", "l", "one", "five"),
            SHAPE,
            "an item of shape [] can't be put into a list of items of "
            "shape [2]"),
    INVALID("e EmptyTensorList any one element_dtype=int32\n" PUSH(
                "a", "e", "five") PUSH("x", "a", "five"),
            FULL,
            "an item is pushed onto a list that has 1 and may have no "
            "more"),
    INVALID("w float32=1\n" EMPTY("int32") PUSH("x", "e", "w"), DTYPE, NULL),
    INVALID("n int32=-1\n" LIST "x TensorListResize l n\n", VALUE,
            "the size is -1, it must be at least 0"),
    INVALID(LIST FLOATS "x TensorListConcatLists l f element_dtype=int32\n",
            DTYPE, NULL),
    INVALID(LIST RESERVE(
                "m", "pair", "two",
                "int32") "x TensorListConcatLists l m element_dtype=int32\n",
            SHAPE, "the element shapes of the lists differ: ? and [2]"),
    INVALID(LIST "b Pack l l l\nc Pack l l\n"
                 "x TensorListConcatLists b c element_dtype=int32\n",
            SHAPE, NULL),
    /* From tensors. */
    INVALID("x TensorListFromTensor five any\n", SHAPE,
            "the tensor must be at least a vector, but it has shape []"),
    INVALID("x TensorListFromTensor all pair\n", SHAPE, NULL),
    INVALID("x TensorListScatter all pair any\n", SHAPE,
            "there are 1 indices, but the tensor has shape [3]"),
    INVALID("i int32[3]=0,-1,1\n"
            "x TensorListScatter all i any\n",
            INDEX, "index 1 is -1, it must be at least 0"),
    INVALID("x TensorListScatterV2 all all any two\n", INDEX, NULL),
    INVALID("n int32=-2\n"
            "x TensorListScatterV2 all all any n\n",
            VALUE, "num_elements is -2, it must be at least -1"),
    INVALID(FLOATS "x TensorListScatterIntoExistingList f all all\n", DTYPE,
            NULL),
    INVALID("l int64[2]=2,2\n"
            "x TensorListSplit all any l\n",
            VALUE, "the first 1 of 2 add up to 2"),
    INVALID("l int64[2]=2,1\n"
            "x TensorListSplit all scalar l\n",
            SHAPE, NULL),
    INVALID("h StackV2 any elem_type=int32\n"
            "hs IdentityN h T=[resource]\n"
            "x TensorListFromTensor hs any\n",
            SHAPE, NULL),
    /* To tensors. */
    INVALID(LIST STACK("x", "l", "any", "int32"), UNINITIALIZED,
            "none of 2 items is set"),
    INVALID(LIST "x TensorListStack l scalar element_dtype=int32 "
                 "num_elements=3\n",
            VALUE, "the list has 2 items; num_elements says that there are 3"),
    INVALID(LIST SET("m", "l", "zero", "five") SET("n", "m", "one", "all")
                STACK("x", "n", "any", "int32"),
            SHAPE, NULL),
    INVALID(LIST "x TensorListGather l all scalar element_dtype=int32\n", INDEX,
            "there is no item 2 in a list with 2 items"),
    INVALID(RESERVE("l", "any", "two", "variant")
                STACK("x", "l", "scalar", "variant"),
            UNINITIALIZED, NULL),
    INVALID(EMPTY("int32") "x TensorListConcat e element_dtype=int32\n", SHAPE,
            "the list is empty"),
    INVALID(LIST SET("m", "l", "zero",
                     "five") "x TensorListConcat m element_dtype=int32\n",
            SHAPE, "item 0 is a scalar"),
    INVALID(LIST "x TensorListConcat l element_dtype=int32 element_shape=()\n",
            SHAPE, NULL),
    INVALID("none int64[0]=0\n" LIST SET(
                "m", "l", "zero",
                "all") "x TensorListConcatV2 m pair none element_dtype=int32\n",
            SHAPE, NULL),
    INVALID(
        "none int64[0]=0\n"
        "s int32[1]=-1\n" RESERVE(
            "l", "s", "two",
            "int32") "x TensorListConcatV2 l any none element_dtype=int32\n",
        UNINITIALIZED,
        "item 0 is not set, leading_dims has no element for "
        "it, and the other items do not say how long it is"),
    INVALID("s int32[1]=-1\n" RESERVE(
                "l", "s", "two",
                "int32") "x TensorListConcat l element_dtype=int32\n",
            UNINITIALIZED, "there are no leading_dims"),
    INVALID(
        "leads int64[1]=-4\n"
        "s int32[1]=-1\n" RESERVE(
            "l", "s", "two",
            "int32") "x TensorListConcatV2 l any leads element_dtype=int32\n",
        VALUE, "leading_dims[0] is -4, it must be at least 0"),
    INVALID("none int64[0]=0\n" LIST
            "x TensorListConcatV2 l any none element_dtype=int32\n",
            UNINITIALIZED, NULL),
    /* Sums. */
    INVALID(LIST FLOATS "x AddN l f\n", DTYPE,
            "a list of int32 and a list of float32 have no sum"),
    INVALID(LIST RESERVE("m", "any", "three", "int32") "x AddN l m\n", SHAPE,
            "lists of 2 and 3 items have no sum"),
    INVALID(RESERVE("l", "pair", "two", "int32")
                RESERVE("m", "scalar", "two", "int32") "x AddN l m\n",
            SHAPE, NULL),
    INVALID(LIST SET("m", "l", "zero", "five")
                SET("n", "l", "zero", "all") "x AddN m n\n",
            SHAPE, "items of shape [] and of shape [3] have no sum"),
    INVALID(RESERVE("l", "any", "two", "string") "x AddN l l\n", DTYPE,
            "items of string have no sum"),
    INVALID(RESERVE("l", "any", "two", "resource") "x AddN l l\n", DTYPE, NULL),
    /* What is no list. */
    INVALID("o OptionalNone\n"
            "x TensorListLength o\n",
            DTYPE, "input 0 is an optional value; a list is wanted"),
    /* Optional values that have no sum, or no zeros. */
    INVALID("o OptionalNone\n"
            "v OptionalFromValue five Toutput_types=[int32]\n"
            "x AddN o v\n",
            VALUE, "optionals of 0 and 1 components have no sum"),
    INVALID("f float32=1\n"
            "o OptionalFromValue f Toutput_types=[float32]\n"
            "v OptionalFromValue five Toutput_types=[int32]\n"
            "x AddN o v\n",
            DTYPE, "components of float32 and of int32 have no sum"),
    INVALID("t string=a\n"
            "o OptionalFromValue t Toutput_types=[string]\n"
            "x AddN o o\n",
            DTYPE, "items of string have no sum"),
    INVALID("t string=a\n"
            "o OptionalFromValue t Toutput_types=[string]\n"
            "x ZerosLike o\n",
            DTYPE, "items of string have no zeros"),
};

START_TEST(mistakes_are_named)
{
    const mistake *m = &mistakes[_i];
    eddy_status status;

    status = program_try_build(&p, m->text);
    if (status == EDDY_OK)
        status = program_try_plan(&p, NULL, "^x");
    if (status == EDDY_OK)
        status = program_execute(&p);
    program_want(&p, status, m->code, m->detail);
    ck_assert_msg(!m->message || strstr(p.err.message, m->message), "'%s'",
                  p.err.message);
}
END_TEST

/* ---- memory ---- */

START_TEST(a_run_that_fails_frees_its_lists)
{
    program_build(&p, "n int32=100\n" SHAPES "t int32[100,300]=1,2,3\n"
                      "list TensorListFromTensor t any\n" LOOP_HEAD
                      "bl TensorListPushBack sl:1 fv\n"
                      "half int32=50\n"
                      "fh Enter@f! half\n"
                      "few Less si:1 fh\n"
                      "wrong Assert few si:1\n" LOOP_TAIL);
    program_plan(&p, NULL, "^wrong ^out");
    for (int round = 0; round < 2; round++)
        program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                     EDDY_E_ASSERTION);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;
    int n;

    program_build(&p, NUMBERS
                  "t float32[2,600]=1,2\n"
                  "lengths int64[3]=1,0,1\n"
                  "rows float32[3]=1,2,3\n"
                  "l TensorListFromTensor t any\n"
                  "m TensorListSplit t any lengths\n"
                  "s TensorListScatter rows all any\n"
                  "x TensorListScatterIntoExistingList s rows all\n"
                  "big TensorListResize s five\n"
                  "sum AddN l l\n" RESERVE("o", "any", "two", "variant")
                      SET("o0", "o", "zero",
                          "l") "sums AddN o0 o0\n"
                               "z ZerosLike sums\n"
                               "join TensorListConcatLists s s "
                               "element_dtype=float32\n"
                               "pk _ListPack join element_dtype=float32\n"
                               "c TensorListConcat m "
                               "element_dtype=float32\n" STACK("a", "sum",
                                                               "any", "float32")
                                   STACK("b", "join", "any", "float32")
                                       PUSH("p", "s", "t")
                                           POP("q", "p", "any", "float32"));
    for (n = 0; status != EDDY_OK; n++) {
        program_plan(&p, NULL, "a b c q:1 ^z ^big ^x");
        program_make_run(&p);
        counting_allocator_allow(&p.counting, n);
        status = program_execute(&p);
        counting_allocator_allow(&p.counting, -1);
        if (status != EDDY_OK)
            program_want(&p, status, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
        program_run(&p);
        ck_assert(program_fetch_float(&p, 0) == 2);
        ck_assert(program_fetch_float(&p, 1) == 1);
    }
    ck_assert_int_gt(n, 10);
}
END_TEST

/* ---- optional values ---- */

START_TEST(an_optional_has_its_components_or_none)
{
    program_build(&p, NUMBERS
                  "s float32[2]=1,2\n"
                  "o OptionalFromValue s five Toutput_types=[float32,int32]\n"
                  "n OptionalNone\n"
                  "ho OptionalHasValue o\n"
                  "hn OptionalHasValue n\n");
    program_plan(&p, NULL, "ho hn");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 1);
    ck_assert_int_eq(program_fetch_int(&p, 1), 0);
}
END_TEST

/* A node OptionalGetValue of `from` with these types and shapes. */
static eddy_status add_get_value(const char *from, const eddy_dtype *types,
                                 const eddy_shape *shapes, size_t n)
{
    const eddy_attr attrs[] = {
        {.name = "output_types",
         .kind = EDDY_ATTR_TYPE,
         .is_list = true,
         .n = n,
         .as.types = types},
        {.name = "output_shapes",
         .kind = EDDY_ATTR_SHAPE,
         .is_list = true,
         .n = n,
         .as.shapes = shapes},
    };
    const eddy_output input = program_output(&p, from);
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = "OptionalGetValue",
                                 .name = "x",
                                 .inputs = &input,
                                 .n_inputs = 1,
                                 .attrs = attrs,
                                 .n_attrs = 2};
    eddy_node node;

    return eddy_graph_add(p.graph, &spec, &node, &p.err);
}

START_TEST(zeros_like_optionals)
{
    const eddy_dtype types[] = {EDDY_FLOAT32, EDDY_INT32, EDDY_VARIANT};
    const eddy_shape shapes[] = {
        {.rank = 1, .dims = {-1}}, {.rank = 0}, {.rank = 0}};

    program_build(&p, NUMBERS "s float32[2]=1,2\n"
                              "n OptionalNone\n"
                              "o OptionalFromValue s five n "
                              "Toutput_types=[float32,int32,variant]\n"
                              "z ZerosLike o\n"
                              "zn ZerosLike n\n"
                              "a AddN o o o\n"
                              "an AddN n n\n"
                              "hz OptionalHasValue z\n"
                              "hn OptionalHasValue zn\n"
                              "ha OptionalHasValue an\n");
    ck_assert_int_eq(add_get_value("z", types, shapes, 3), EDDY_OK);
    program_build(&p, "hi OptionalHasValue x:2\n");
    program_plan(&p, NULL, "x x:1 hz hn ha hi");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(0, 0));
    program_want_fetch(&p, 1, 0, NULL, PROGRAM_NUMBERS(0));
    ck_assert_int_eq(program_fetch_int(&p, 2), 1);
    for (size_t i = 3; i < 6; i++)
        ck_assert_int_eq(program_fetch_int(&p, i), 0);
}
END_TEST

START_TEST(sums_of_optionals)
{
    const eddy_dtype types[] = {EDDY_FLOAT32, EDDY_INT32};
    const eddy_shape shapes[] = {{.rank = 1, .dims = {-1}}, {.rank = 0}};

    program_build(&p, NUMBERS
                  "s float32[2]=1,2\n"
                  "o OptionalFromValue s five Toutput_types=[float32,int32]\n"
                  "a AddN o o o\n");
    ck_assert_int_eq(add_get_value("a", types, shapes, 2), EDDY_OK);
    program_plan(&p, NULL, "x x:1");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(3, 6));
    program_want_fetch(&p, 1, 0, NULL, PROGRAM_NUMBERS(15));
}
END_TEST

START_TEST(components_come_out_as_they_went_in)
{
    const eddy_dtype types[] = {EDDY_FLOAT32, EDDY_INT32};
    const eddy_shape shapes[] = {{.rank = 1, .dims = {-1}}, {.rank = 0}};

    program_build(&p, NUMBERS
                  "s float32[2]=1,2\n"
                  "o OptionalFromValue s five Toutput_types=[float32,int32]\n");
    ck_assert_int_eq(add_get_value("o", types, shapes, 2), EDDY_OK);
    program_plan(&p, NULL, "x x:1");
    want_shape(0, PROGRAM_DIMS(-1));
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(1, 2));
    program_want_fetch(&p, 1, 0, NULL, PROGRAM_NUMBERS(5));
}
END_TEST

START_TEST(wrong_components_are_refused)
{
    static const struct {
        const char *from;
        size_t n;
        eddy_dtype type;
        int32_t rank;
        eddy_detail detail;
    } cases[] = {
        {"n", 1, EDDY_INT32, -1, EDDY_E_UNINITIALIZED},
        {"o", 2, EDDY_INT32, -1, EDDY_E_VALUE},
        {"o", 1, EDDY_INT64, -1, EDDY_E_DTYPE},
        {"o", 1, EDDY_INT32, 1, EDDY_E_SHAPE},
        {"l", 1, EDDY_INT32, -1, EDDY_E_DTYPE},
    };
    const eddy_dtype types[] = {cases[_i].type, cases[_i].type};
    const eddy_shape shapes[] = {{.rank = cases[_i].rank},
                                 {.rank = cases[_i].rank}};

    program_build(&p, NUMBERS LIST "n OptionalNone\n"
                                   "o OptionalFromValue five "
                                   "Toutput_types=[int32]\n");
    ck_assert_int_eq(add_get_value(cases[_i].from, types, shapes, cases[_i].n),
                     EDDY_OK);
    program_plan(&p, NULL, "^x");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 cases[_i].detail);
}
END_TEST

/* ---- lists that are packed ---- */

#define PACK(name, list, dtype) name " _ListPack " list " element_dtype=" dtype

START_TEST(lists_of_every_dtype_are_packed)
{
    build_with(NUMBERS "a %=1\n"
                       "b %[2,1]=0,1\n"
                       "z %[0,3]=0\n" EMPTY("%") PUSH("l0", "e", "a")
                           PUSH("l1", "l0", "z") PUSH("l", "l1", "b")
                               PACK("p", "l", "%") "\n" PACK("q", "e", "%"),
               dtypes[_i]);
    program_plan(&p, NULL, "p p:1 p:2 p:3 q q:1 q:2 q:3");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(3), PROGRAM_NUMBERS(1, 0, 1));
    program_want_fetch(&p, 1, PROGRAM_DIMS(4), PROGRAM_NUMBERS(0, 3, 2, 1));
    program_want_fetch(&p, 2, PROGRAM_DIMS(3), PROGRAM_NUMBERS(0, 2, 2));
    program_want_fetch(&p, 3, 0, NULL, PROGRAM_NUMBERS(1));
    for (size_t i = 4; i < 7; i++)
        program_want_fetch(&p, i, PROGRAM_DIMS(0), NULL);
    program_want_fetch(&p, 7, 0, NULL, PROGRAM_NUMBERS(1));
}
END_TEST

START_TEST(optional_values_are_packed)
{
    program_build(
        &p,
        NUMBERS EMPTY("int32") PUSH(
            "l", "e",
            "five") "n OptionalNone\n"
                    "o OptionalFromValue five Toutput_types=[int32]\n"
                    "s OptionalFromValue l Toutput_types=[variant]\n"
                    "t OptionalFromValue e "
                    "Toutput_types=[variant]\n" PACK("pn", "n", "int32") "\n" PACK(
                        "po", "o",
                        "int32") "\n" PACK("ps", "s",
                                           "int32") "\n" PACK("pt", "t",
                                                              "int32"));
    program_plan(&p, NULL, "pn:2 pn:3 po po:2 po:3 ps ps:3 pt:2 pt:3");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(0), NULL);
    program_want_fetch(&p, 1, 0, NULL, PROGRAM_NUMBERS(0));
    program_want_fetch(&p, 2, PROGRAM_DIMS(1), PROGRAM_NUMBERS(5));
    program_want_fetch(&p, 3, PROGRAM_DIMS(1), PROGRAM_NUMBERS(0));
    program_want_fetch(&p, 4, 0, NULL, PROGRAM_NUMBERS(1));
    program_want_fetch(&p, 5, PROGRAM_DIMS(1), PROGRAM_NUMBERS(5));
    program_want_fetch(&p, 6, 0, NULL, PROGRAM_NUMBERS(1));
    program_want_fetch(&p, 7, PROGRAM_DIMS(0), NULL);
    program_want_fetch(&p, 8, 0, NULL, PROGRAM_NUMBERS(1));
}
END_TEST

START_TEST(what_cannot_be_packed_is_named)
{
    static const struct {
        const char *fetch;
        eddy_detail detail;
    } cases[] = {
        {"^unset", EDDY_E_UNINITIALIZED},
        {"^other", EDDY_E_DTYPE},
        {"^two_of", EDDY_E_VALUE},
    };

    program_build(
        &p,
        NUMBERS EMPTY("int32") PUSH("l", "e", "five") RESERVE(
            "r", "any", "two",
            "int32") "o OptionalFromValue five five "
                     "Toutput_types=[int32,int32]\n" PACK(
                         "unset", "r",
                         "int32") "\n" PACK("other", "l",
                                            "int64") "\n" PACK("two_of", "o",
                                                               "int32"));
    program_plan(&p, NULL, cases[_i].fetch);
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 cases[_i].detail);
}
END_TEST

TCase *ops_tensor_list_tests(void)
{
    TCase *tests = tcase_create("ops_tensor_list");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, items_of_every_dtype_are_set_and_read, 0,
                        N_DTYPES);
    tcase_add_loop_test(tests, items_of_every_dtype_are_pushed_and_popped, 0,
                        N_DTYPES);
    tcase_add_loop_test(tests, tensors_of_every_dtype_become_lists_and_back, 0,
                        N_DTYPES);
    tcase_add_loop_test(tests, rows_of_every_dtype_are_scattered, 0, N_DTYPES);
    tcase_add_loop_test(
        tests, tensors_of_every_dtype_are_split_and_concatenated, 0, N_DTYPES);
    tcase_add_loop_test(tests, items_that_were_not_set_are_zeros, 0, N_DTYPES);
    tcase_add_test(tests, strings_are_items);
    tcase_add_test(tests, lists_and_handles_are_items);
    tcase_add_test(tests, tensors_of_lists_are_joined);
    tcase_add_test(tests, lists_are_resized_and_joined);
    tcase_add_test(tests, element_shapes_are_told);
    tcase_add_test(tests, empty_lists_make_empty_tensors);
    tcase_add_test(tests, shapes_are_inferred);
    tcase_add_loop_test(tests, lists_of_every_dtype_are_added, 0, N_DTYPES - 1);
    tcase_add_test(tests, zeros_like_a_list);
    tcase_add_test(tests, lists_of_lists_are_added);
    tcase_add_loop_test(tests, a_loop_changes_its_list_in_place, 0,
                        (int)(sizeof loops / sizeof *loops));
    tcase_add_test(tests, a_loop_pops_what_another_pushed);
    tcase_add_loop_test(tests, workers_take_lists_apart, 0, 4);
    tcase_add_loop_test(tests, mistakes_are_named, 0,
                        (int)(sizeof mistakes / sizeof *mistakes));
    tcase_add_test(tests, a_run_that_fails_frees_its_lists);
    tcase_add_test(tests, every_allocation_may_fail);
    tcase_add_test(tests, an_optional_has_its_components_or_none);
    tcase_add_test(tests, zeros_like_optionals);
    tcase_add_test(tests, sums_of_optionals);
    tcase_add_test(tests, components_come_out_as_they_went_in);
    tcase_add_loop_test(tests, wrong_components_are_refused, 0, 5);
    tcase_add_loop_test(tests, lists_of_every_dtype_are_packed, 0, N_DTYPES);
    tcase_add_test(tests, optional_values_are_packed);
    tcase_add_loop_test(tests, what_cannot_be_packed_is_named, 0, 3);
    return tests;
}
