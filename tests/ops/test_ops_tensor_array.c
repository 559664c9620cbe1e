/* SPDX-License-Identifier: Apache-2.0 */
/* TensorArrays in programs: one item, many, gradients, loops and failures. */
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
    "zero int32=0\n"                                                           \
    "one int32=1\n"                                                            \
    "two int32=2\n"                                                            \
    "three int32=3\n"                                                          \
    "five int32=5\n"                                                           \
    "all int32[3]=0,1,2\n"                                                     \
    "flow float32=0\n"

#define ARRAY(size, attrs) "ta TensorArrayV3 " size " " attrs "\n"
#define WRITE(name, index, value, flow)                                        \
    name " TensorArrayWriteV3 ta " index " " value " " flow "\n"
#define READ(name, index, flow, dtype)                                         \
    name " TensorArrayReadV3 ta " index " " flow " dtype=" dtype "\n"

static const char *const dtypes[] = {
    "float16", "float32", "float64", "int8",   "int16",     "int32", "int64",
    "uint8",   "uint16",  "uint32",  "uint64", "complex64", "bool"};

#define N_DTYPES (int)(sizeof dtypes / sizeof *dtypes)

/* Builds `text`, in which each "%s" is a dtype. */
static void build_with(const char *text, const char *dtype)
{
    char whole[4096];
    size_t length = 0;

    for (; *text; text++) {
        ck_assert_uint_lt(length + 16, sizeof whole);
        if (text[0] == '%') {
            length += (size_t)snprintf(whole + length, 16, "%s", dtype);
            text++;
        } else {
            whole[length++] = *text;
        }
    }
    whole[length] = '\0';
    program_build(&p, whole);
}

/* ---- every dtype ---- */

START_TEST(items_of_every_dtype_are_written_and_read)
{
    build_with(
        NUMBERS
        "a %s=1\n"
        "b %s[2,2]=0,1\n" ARRAY("two", "dtype=%s") WRITE("w0", "zero", "a",
                                                         "ta:1")
            WRITE("w1", "one", "b", "w0") READ("r1", "one", "w1", "%s")
                READ("r0", "zero", "w1", "%s") "size TensorArraySizeV3 ta w1\n",
        dtypes[_i]);
    program_plan(&p, NULL, "r0 r1 size w1");
    for (int round = 0; round < 2; round++) {
        program_run(&p);
        program_want_fetch(&p, 0, 0, NULL, PROGRAM_NUMBERS(1));
        program_want_fetch(&p, 1, PROGRAM_DIMS(2, 2),
                           PROGRAM_NUMBERS(0, 1, 0, 1));
        program_want_fetch(&p, 2, 0, NULL, PROGRAM_NUMBERS(2));
        program_want_fetch(&p, 3, 0, NULL, PROGRAM_NUMBERS(0));
    }
}
END_TEST

START_TEST(items_of_every_dtype_are_scattered_and_gathered)
{
    build_with(
        NUMBERS
        "rows %s[3,2]=0,1,1,0,1,1\n"
        "scalars %s[3]=1,0,1\n"
        "to int32[3]=2,0,1\n"
        "some int32[2]=2,1\n" ARRAY(
            "three", "dtype=%s") "w TensorArrayScatterV3 ta to rows ta:1\n"
                                 "g TensorArrayGatherV3 ta all w dtype=%s "
                                 "element_shape=[?]\n"
                                 "tb TensorArrayV3 three dtype=%s\n"
                                 "v TensorArrayScatterV3 tb to scalars tb:1\n"
                                 "h TensorArrayGatherV3 tb some v dtype=%s\n",
        dtypes[_i]);
    program_plan(&p, NULL, "g h");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(3, 2),
                       PROGRAM_NUMBERS(1, 0, 1, 1, 0, 1));
    program_want_fetch(&p, 1, PROGRAM_DIMS(2), PROGRAM_NUMBERS(1, 1));
}
END_TEST

START_TEST(items_of_every_dtype_are_split_and_concatenated)
{
    build_with(
        NUMBERS
        "rows %s[4,2]=0,1,1,0,1,1,0,0\n"
        "lengths int64[3]=1,0,3\n" ARRAY(
            "three",
            "dtype=%s clear_after_read=false") "w TensorArraySplitV3 ta rows "
                                               "lengths ta:1\n"
                                               "c TensorArrayConcatV3 ta w "
                                               "dtype=%s "
                                               "element_shape_except0=[2]"
                                               "\n" READ("r", "two", "w", "%s")
                                                   READ("e", "one", "w", "%s"),
        dtypes[_i]);
    program_plan(&p, NULL, "c c:1 r e");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(4, 2),
                       PROGRAM_NUMBERS(0, 1, 1, 0, 1, 1, 0, 0));
    program_want_fetch(&p, 1, PROGRAM_DIMS(3), PROGRAM_NUMBERS(1, 0, 3));
    program_want_fetch(&p, 2, PROGRAM_DIMS(3, 2),
                       PROGRAM_NUMBERS(1, 0, 1, 1, 0, 0));
    program_want_fetch(&p, 3, PROGRAM_DIMS(0, 2), NULL);
}
END_TEST

START_TEST(items_that_were_not_written_are_zeros)
{
    build_with(
        NUMBERS "a %s[2]=1\n" ARRAY("three", "dtype=%s element_shape=[2]")
            WRITE("w", "one", "a", "ta:1")
                READ("r", "zero", "w",
                     "%s") "tb TensorArrayV3 three dtype=%s "
                           "identical_element_shapes=true\n"
                           "wb TensorArrayWriteV3 tb one a tb:1\n"
                           "g TensorArrayGatherV3 tb all wb dtype=%s\n"
                           "tc TensorArrayV3 two dtype=%s element_shape=()\n"
                           "s TensorArrayReadV3 tc one tc:1 dtype=%s\n",
        dtypes[_i]);
    program_plan(&p, NULL, "r g s");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(0, 0));
    program_want_fetch(&p, 1, PROGRAM_DIMS(3, 2),
                       PROGRAM_NUMBERS(0, 0, 1, 1, 0, 0));
    program_want_fetch(&p, 2, 0, NULL, PROGRAM_NUMBERS(0));
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
    program_build(&p, NUMBERS "rows string[3,2]=a,bb,ccc,d,ee,fff\n" ARRAY(
                          "three",
                          "dtype="
                          "string "
                          "clear_"
                          "after_"
                          "read="
                          "false") "w TensorArrayScatterV3 ta all rows "
                                   "ta:1\n" READ("r", "one", "w",
                                                 "string") "g "
                                                           "TensorArrayGatherV3"
                                                           " ta all w "
                                                           "dtype=string\n"
                                                           "c "
                                                           "TensorArrayConcatV3"
                                                           " ta w "
                                                           "dtype=string\n");
    program_plan(&p, NULL, "r g c");
    program_run(&p);
    want_string(0, 0, "ccc");
    want_string(0, 1, "d");
    want_string(1, 5, "fff");
    want_string(2, 1, "bb");
}
END_TEST

/* An array of arrays, and one that holds itself. */
START_TEST(handles_are_items)
{
    program_build(
        &p, NUMBERS
        "tb TensorArrayV3 two dtype=int32\n"
        "wb TensorArrayWriteV3 tb one five tb:1\n" ARRAY(
            "two", "dtype=resource clear_after_read=false")
            WRITE("w0", "zero", "tb", "wb") WRITE("w1", "one", "ta", "w0")
                READ("h", "zero", "w1",
                     "resource") "r TensorArrayReadV3 h one w1 dtype=int32\n");
    program_plan(&p, NULL, "r");
    for (int round = 0; round < 2; round++) {
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), 5);
    }
}
END_TEST

/* ---- sizes and shapes ---- */

START_TEST(a_dynamic_array_grows)
{
    program_build(&p, NUMBERS ARRAY("zero", "dtype=int32 dynamic_size=true "
                                            "element_shape=()")
                          WRITE("w5", "five", "three", "ta:1")
                              WRITE("w1", "one", "two",
                                    "w5") "n TensorArraySizeV3 ta w1\n"
                                          "six int32[6]=0,1,2,3,4,5\n"
                                          "g TensorArrayGatherV3 ta six w1 "
                                          "dtype=int32\n");
    program_plan(&p, NULL, "n g");
    program_run(&p);
    program_want_fetch(&p, 0, 0, NULL, PROGRAM_NUMBERS(6));
    program_want_fetch(&p, 1, PROGRAM_DIMS(6),
                       PROGRAM_NUMBERS(0, 2, 0, 0, 0, 3));
}
END_TEST

/* Memory is made for what is written, not for what could be. */
START_TEST(a_large_size_costs_nothing)
{
    program_build(
        &p,
        NUMBERS "huge int32=2000000000\n" ARRAY("huge", "dtype=int32")
            WRITE("w", "five", "three", "ta:1")
                READ("r", "five", "w", "int32") "n TensorArraySizeV3 ta w\n");
    program_plan(&p, NULL, "r n");
    program_run(&p);
    program_want_fetch(&p, 0, 0, NULL, PROGRAM_NUMBERS(3));
    program_want_fetch(&p, 1, 0, NULL, PROGRAM_NUMBERS(2000000000));
    ck_assert_uint_lt(program_stats(&p).peak_bytes, 100000);
}
END_TEST

START_TEST(nothing_is_gathered_where_the_shape_is_stated)
{
    program_build(
        &p,
        NUMBERS "none int32[0]=0\n" ARRAY(
            "zero",
            "dtype=float32") "g TensorArrayGatherV3 ta none ta:1 dtype=float32 "
                             "element_shape=[2,3]\n"
                             "c TensorArrayConcatV3 ta ta:1 dtype=float32 "
                             "element_shape_except0=[4]\n"
                             "v float32[0,5]=0\n"
                             "w TensorArrayScatterV3 ta none v ta:1\n"
                             "lengths int64[0]=0\n"
                             "s TensorArraySplitV3 ta v lengths ta:1\n");
    program_plan(&p, NULL, "g c c:1 ^w ^s");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(0, 2, 3), NULL);
    program_want_fetch(&p, 1, PROGRAM_DIMS(0, 4), NULL);
    program_want_fetch(&p, 2, PROGRAM_DIMS(0), NULL);
}
END_TEST

START_TEST(shapes_are_inferred)
{
    eddy_shape shape;

    program_build(
        &p,
        NUMBERS ARRAY(
            "three",
            "dtype=float32") "g TensorArrayGatherV3 ta all ta:1 dtype=float32 "
                             "element_shape=[2,?]\n"
                             "c TensorArrayConcatV3 ta ta:1 dtype=float32 "
                             "element_shape_except0=[4]\n"
                             "v float32[3,2,2]=1\n"
                             "w TensorArrayScatterV3 ta all v ta:1\n");
    program_plan(&p, NULL, "g c");
    shape = *eddy_plan_fetch_shape(p.plan, 0);
    ck_assert_int_eq(shape.rank, 3);
    ck_assert_int_eq(shape.dims[0], 3);
    ck_assert_int_eq(shape.dims[1], 2);
    ck_assert_int_eq(shape.dims[2], -1);
    shape = *eddy_plan_fetch_shape(p.plan, 1);
    ck_assert_int_eq(shape.rank, 2);
    ck_assert_int_eq(shape.dims[0], -1);
    ck_assert_int_eq(shape.dims[1], 4);
}
END_TEST

/* Also where the handle came through what hands it on; not where it may be
 * another's. */
START_TEST(the_shape_that_an_array_states_is_that_of_its_items)
{
    static const struct {
        const char *handle;
        int32_t rank;
    } of[] = {{"ta", 2}, {"same", 2}, {"side:1", 2}, {"merged", -1}};
    const eddy_shape *shape;
    char nodes[256];

    program_build(&p, NUMBERS);
    program_build(&p, ARRAY("three", "dtype=float32 element_shape=[2,?]"));
    program_build(&p, "same Identity ta\n"
                      "yes bool=1\n"
                      "side Switch same yes\n"
                      "merged Merge side side:1\n");
    (void)snprintf(nodes, sizeof nodes,
                   "r TensorArrayReadV3 %s zero ta:1 dtype=float32\n"
                   "g TensorArrayGatherV3 %s all ta:1 dtype=float32 "
                   "element_shape=[?,5]\n",
                   of[_i].handle, of[_i].handle);
    program_build(&p, nodes);
    program_plan(&p, NULL, "r g");
    shape = eddy_plan_fetch_shape(p.plan, 0);
    ck_assert_int_eq(shape->rank, of[_i].rank);
    if (of[_i].rank == 2)
        ck_assert_int_eq(shape->dims[0], 2);
    shape = eddy_plan_fetch_shape(p.plan, 1);
    ck_assert_int_eq(shape->rank, 3);
    ck_assert_int_eq(shape->dims[1], of[_i].rank == 2 ? 2 : -1);
    ck_assert_int_eq(shape->dims[2], 5);
}
END_TEST

/* Slices that are large are views of the tensor, which they keep. */
START_TEST(large_slices_are_views)
{
    const float *twice, *r1, *x;

    program_build(
        &p, NUMBERS
        "v float32[3,1000]=1,2,3\n"
        "x Neg v\n" ARRAY(
            "three",
            "dtype=float32") "w TensorArrayScatterV3 ta all x "
                             "ta:1\n" READ("r0", "zero", "w", "float32")
                                 READ("r1", "one", "w",
                                      "float32") "difference Sub r1 r0\n"
                                                 "twice Add difference "
                                                 "r1\n");
    program_plan(&p, NULL, "twice r1 x");
    program_run(&p);
    twice = eddy_tensor_data(eddy_run_fetch(p.run, 0));
    r1 = eddy_tensor_data(eddy_run_fetch(p.run, 1));
    x = eddy_tensor_data(eddy_run_fetch(p.run, 2));
    for (int i = 0; i < 1000; i++) {
        const float a = -(float)(i % 3 + 1);
        const float b = -(float)((i + 1000) % 3 + 1);

        ck_assert(twice[i] == b - a + b);
        ck_assert(r1[i] == b);
        ck_assert(x[i] == a && x[1000 + i] == b);
    }
    ck_assert_ptr_eq(r1, x + 1000);
}
END_TEST

/* ---- gradients ---- */

#define GRADIENT(name, source, flow)                                           \
    name " TensorArrayGradV3 ta " flow " source='" source "'\n"

START_TEST(writes_to_a_gradient_add_up)
{
    build_with(
        NUMBERS
        "a %s[2]=1,2\n"
        "s %s=3\n" ARRAY("three", "dtype=%s") WRITE("w0", "zero", "a", "ta:1")
            WRITE("w1", "one", "s", "w0") WRITE("w2", "two", "a", "w1")
                GRADIENT("g", "gradients",
                         "w2") "h TensorArrayGradV3 ta w2 ^g "
                               "source='gradients'\n"
                               "x0 TensorArrayWriteV3 g zero a g:1\n"
                               "x1 TensorArrayWriteV3 h zero a x0\n"
                               "x2 TensorArrayWriteV3 g zero a x1\n"
                               "x3 TensorArrayWriteV3 g one s x2\n"
                               "x4 TensorArrayWriteV3 g one s x3\n"
                               "r0 TensorArrayReadV3 h zero x4 dtype=%s\n"
                               "r1 TensorArrayReadV3 h one x4 dtype=%s\n"
                               "r2 TensorArrayReadV3 h two x4 dtype=%s\n"
                               "id Identity a\n",
        dtypes[_i]);
    program_plan(&p, NULL, "r0 r1 r2 id");
    for (int round = 0; round < 2; round++) {
        program_run(&p);
        program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(3, 6));
        program_want_fetch(&p, 1, 0, NULL, PROGRAM_NUMBERS(6));
        program_want_fetch(&p, 2, PROGRAM_DIMS(2), PROGRAM_NUMBERS(0, 0));
        program_want_fetch(&p, 3, PROGRAM_DIMS(2), PROGRAM_NUMBERS(1, 2));
    }
}
END_TEST

START_TEST(each_source_has_its_gradient)
{
    program_build(
        &p,
        NUMBERS "a float32=1\n" ARRAY("one", "dtype=float32")
            WRITE("w", "zero", "a", "ta:1") GRADIENT("g", "first", "w")
                GRADIENT("h", "second",
                         "w") "x TensorArrayWriteV3 g zero a g:1\n"
                              "r TensorArrayReadV3 g zero x dtype=float32\n"
                              "q TensorArrayReadV3 h zero x dtype=float32\n");
    program_plan(&p, NULL, "r q");
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == 1);
    ck_assert(program_fetch_float(&p, 1) == 0);
}
END_TEST

/* Shapes that reads have cleared are still those of the gradient. */
START_TEST(a_gradient_has_the_shapes_of_what_was_written)
{
    program_build(
        &p, NUMBERS
        "a float32[2]=1\n"
        "b float32[3]=1\n"
        "v int32[2]=4,1\n" ARRAY("three", "dtype=float32 dynamic_size=true")
            WRITE("w0", "zero", "a", "ta:1") WRITE("w1", "two", "b", "w0")
                READ("r0", "zero", "w1", "float32")
                    READ("r2", "two", "w1",
                         "float32") "done Identity w1 ^r0 "
                                    "^r2\n" GRADIENT("g", "gradients",
                                                     "done") "q0 "
                                                             "TensorArrayRead"
                                                             "V3 g zero g:1 "
                                                             "dtype=float32\n"
                                                             "q2 "
                                                             "TensorArrayRead"
                                                             "V3 g two g:1 "
                                                             "dtype=float32\n"
                                                             "h "
                                                             "TensorArrayGrad"
                                                             "WithShape ta "
                                                             "done v "
                                                             "source='shaped'"
                                                             "\n"
                                                             "q "
                                                             "TensorArrayRead"
                                                             "V3 h two h:1 "
                                                             "dtype="
                                                             "float32\n");
    program_plan(&p, NULL, "q0 q2 q");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(0, 0));
    program_want_fetch(&p, 1, PROGRAM_DIMS(3), PROGRAM_NUMBERS(0, 0, 0));
    program_want_fetch(&p, 2, PROGRAM_DIMS(4, 1, 3),
                       PROGRAM_NUMBERS(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}
END_TEST

/* The gradient of a split concatenates as many as the split made. */
START_TEST(the_gradient_of_a_split_concatenates)
{
    program_build(
        &p, NUMBERS
        "rows float32[4]=1,2,3,4\n"
        "lengths int64[2]=3,1\n"
        "ten float32[1]=10\n" ARRAY("zero", "dtype=float32 dynamic_size=true") "w TensorArraySplitV3 ta rows lengths ta:1\n" GRADIENT(
            "g", "gradients", "w") "x TensorArrayWriteV3 g one ten g:1\n"
                                   "c TensorArrayConcatV3 g x dtype=float32\n");
    program_plan(&p, NULL, "c c:1");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(4), PROGRAM_NUMBERS(0, 0, 0, 10));
    program_want_fetch(&p, 1, PROGRAM_DIMS(2), PROGRAM_NUMBERS(3, 1));
}
END_TEST

/* A gradient's own: what was written twice is read twice. */
START_TEST(a_gradient_has_a_gradient)
{
    program_build(
        &p, NUMBERS "a float32=2\n" ARRAY("one", "dtype=float32")
                WRITE("w", "zero", "a", "ta:1") GRADIENT(
                    "g", "first",
                    "w") "x TensorArrayWriteV3 g zero a g:1\n"
                         "y TensorArrayWriteV3 g zero a x\n"
                         "gg TensorArrayGradV3 g y source='second'\n"
                         "z TensorArrayWriteV3 gg zero a gg:1\n"
                         "r TensorArrayReadV3 gg zero z dtype=float32\n"
                         "q TensorArrayReadV3 gg zero z ^r dtype=float32\n");
    program_plan(&p, NULL, "r q");
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == 2);
    ck_assert(program_fetch_float(&p, 1) == 2);
}
END_TEST

/* ---- loops and branches ---- */

/* Writes i * v for each i < n: the handle is an invariant, the flow a variable.
 */
#define WRITE_LOOP(flow)                                                       \
    "zero int32=0\n"                                                           \
    "one int32=1\n"                                                            \
    "i Enter@f zero\n"                                                         \
    "l Enter@f " flow "\n"                                                     \
    "h Enter@f! ta\n"                                                          \
    "limit Enter@f! n\n"                                                       \
    "step Enter@f! one\n"                                                      \
    "fv Enter@f! v\n"                                                          \
    "mi Merge i ni\n"                                                          \
    "ml Merge l nl\n"                                                          \
    "less Less mi limit\n"                                                     \
    "cond LoopCond less\n"                                                     \
    "si Switch mi cond\n"                                                      \
    "sl Switch ml cond\n"                                                      \
    "x Mul fv si:1\n"                                                          \
    "w TensorArrayWriteV3 h si:1 x sl:1\n"                                     \
    "bi Add si:1 step\n"                                                       \
    "ni NextIteration bi\n"                                                    \
    "nl NextIteration w\n"                                                     \
    "out Exit sl\n"

START_TEST(a_loop_writes_items)
{
    program_build(&p,
                  "n int32=500\n"
                  "v int32[2]=1,-1\n"
                  "ta TensorArrayV3 n dtype=int32\n" WRITE_LOOP(
                      "ta:1") "at int32[3]=499,0,7\n"
                              "g TensorArrayGatherV3 ta at out dtype=int32\n");
    program_plan(&p, NULL, "g");
    for (int round = 0; round < 3; round++) {
        program_run(&p);
        program_want_fetch(&p, 0, PROGRAM_DIMS(3, 2),
                           PROGRAM_NUMBERS(499, -499, 0, 0, 7, -7));
    }
    /* All memory of a run serves the next one. */
    ck_assert_uint_lt(program_stats(&p).allocations, 3);
}
END_TEST

START_TEST(a_loop_writes_scalars)
{
    program_build(
        &p, "n int32=20000\n"
            "v int32=3\n"
            "none int32=0\n"
            "ta TensorArrayV3 none dtype=int32 dynamic_size=true\n" WRITE_LOOP(
                "ta:1") "at int32[2]=19999,2\n"
                        "g TensorArrayGatherV3 ta at out dtype=int32\n"
                        "size TensorArraySizeV3 ta out\n");
    program_plan(&p, NULL, "g size");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(59997, 6));
    program_want_fetch(&p, 1, 0, NULL, PROGRAM_NUMBERS(20000));
}
END_TEST

/*
 * Each iteration of the outer loop makes an array of as many items, fills it in
 * an inner loop, and adds what it holds.
 */
#define NESTED_LOOPS                                                           \
    "n int32=40\n"                                                             \
    "zero int32=0\n"                                                           \
    "one int32=1\n"                                                            \
    "axes int32[1]=0\n"                                                        \
    "oi Enter@o zero\n"                                                        \
    "os Enter@o zero\n"                                                        \
    "on Enter@o! n\n"                                                          \
    "o1 Enter@o! one\n"                                                        \
    "o0 Enter@o! zero\n"                                                       \
    "oa Enter@o! axes\n"                                                       \
    "omi Merge oi oni\n"                                                       \
    "oms Merge os ons\n"                                                       \
    "ol Less omi on\n"                                                         \
    "oc LoopCond ol\n"                                                         \
    "osi Switch omi oc\n"                                                      \
    "oss Switch oms oc\n"                                                      \
    "ta TensorArrayV3 osi:1 dtype=int32 element_shape=()\n"                    \
    "ii Enter@i o0 ^ta\n"                                                      \
    "il Enter@i ta:1\n"                                                        \
    "ih Enter@i! ta\n"                                                         \
    "in Enter@i! osi:1\n"                                                      \
    "i1 Enter@i! o1\n"                                                         \
    "imi Merge ii ini\n"                                                       \
    "iml Merge il inl\n"                                                       \
    "iless Less imi in\n"                                                      \
    "ic LoopCond iless\n"                                                      \
    "isi Switch imi ic\n"                                                      \
    "isl Switch iml ic\n"                                                      \
    "iw TensorArrayWriteV3 ih isi:1 isi:1 isl:1\n"                             \
    "inext Add isi:1 i1\n"                                                     \
    "ini NextIteration inext\n"                                                \
    "inl NextIteration iw\n"                                                   \
    "iout Exit isl\n"                                                          \
    "range Range o0 osi:1 o1\n"                                                \
    "g TensorArrayGatherV3 ta range iout dtype=int32 element_shape=()\n"       \
    "sum Sum g oa\n"                                                           \
    "oadd Add oss:1 sum\n"                                                     \
    "ons NextIteration oadd\n"                                                 \
    "oplus Add osi:1 o1\n"                                                     \
    "oni NextIteration oplus\n"                                                \
    "total Exit oss\n"

START_TEST(arrays_are_made_in_loops)
{
    program_build(&p, NESTED_LOOPS);
    program_plan(&p, NULL, "total");
    for (int round = 0; round < 2; round++) {
        program_run(&p);
        /* 40 above 3. */
        ck_assert_int_eq(program_fetch_int(&p, 0), 9880);
    }
}
END_TEST

/* Only the branch that is taken writes; the other's flow and handle are dead.
 */
START_TEST(handles_go_down_one_branch)
{
    const eddy_shape scalar = {.rank = 0};

    program_build(
        &p,
        NUMBERS "pred ?bool\n" ARRAY(
            "one", "dtype=int32") "hs Switch ta pred\n"
                                  "fs Switch ta:1 pred\n"
                                  "w1 TensorArrayWriteV3 hs:1 zero five fs:1\n"
                                  "w0 TensorArrayWriteV3 hs zero three fs\n"
                                  "m Merge w0 w1\n" READ("r", "zero", "m",
                                                         "int32"));
    program_plan(&p, "pred", "r");
    for (int round = 0; round < 2; round++) {
        const bool taken = round == 1;
        eddy_tensor *pred = program_tensor(&p, EDDY_BOOL, &scalar, &taken);

        program_make_run(&p);
        ck_assert_int_eq(eddy_run_feed(p.run, 0, pred, &p.err), EDDY_OK);
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), taken ? 5 : 3);
        eddy_tensor_release(pred);
    }
}
END_TEST

/* ---- errors ---- */

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
#define INTS ARRAY("two", "dtype=int32 tensor_array_name='A'")
#define WRITTEN INTS WRITE("w", "zero", "five", "ta:1")

static const mistake mistakes[] = {
    /* Making one. */
    INVALID("n int32=-1\n" ARRAY("n", "dtype=int32")
                READ("x", "zero", "ta:1", "int32"),
            VALUE, "the size of a TensorArray is -1, it must be at least 0"),
    INVALID("n Identity all\n" ARRAY("n", "dtype=int32"), SHAPE, NULL),
    /* Writing. */
    INVALID(INTS WRITE("x", "five", "five", "ta:1"), INDEX,
            "TensorArray A: tried to write to index 5, but the size is 2 and "
            "the array not resizeable"),
    INVALID("n int32=-1\n" ARRAY("two", "dtype=int32 dynamic_size=true")
                WRITE("x", "n", "five", "ta:1"),
            INDEX,
            "TensorArray ta: tried to write to index -1, but the size "
            "is 2"),
    INVALID(WRITTEN WRITE("x", "zero", "five", "w"), ITEM_WRITTEN,
            "could not write to index 0 because it has already been written "
            "to"),
    INVALID(WRITTEN READ("r", "zero", "w", "int32") "f Identity w ^r\n" WRITE(
                "x", "zero", "five", "f"),
            ITEM_WRITTEN,
            "could not write to index 0 because it has already been read"),
    INVALID(INTS WRITE("x", "zero", "flow", "ta:1"), DTYPE,
            "the dtype of TensorArray A is int32, but this op is to write "
            "float32"),
    INVALID(ARRAY("two", "dtype=int32 element_shape=[2]")
                WRITE("x", "zero", "five", "ta:1"),
            SHAPE,
            "the value has shape [], which is not compatible with the "
            "array's element shape [2]"),
    INVALID(ARRAY("two", "dtype=int32 identical_element_shapes=true") WRITE(
                "w", "zero", "five", "ta:1") WRITE("x", "one", "all", "w"),
            SHAPE,
            "the value has shape [3], which is not compatible with the "
            "array's element shape []"),
    INVALID("f float32[1]=0\n"
            "g Identity f\n" INTS WRITE("x", "zero", "five", "g"),
            SHAPE, NULL),
    INVALID(INTS WRITE("x", "all", "five", "ta:1"), SHAPE, NULL),
    INVALID("s StackV2 two elem_type=int32\n"
            "x TensorArrayWriteV3 s zero five flow\n",
            RESOURCE, NULL),
    /* Reading. */
    INVALID(WRITTEN READ("x", "five", "w", "int32"), INDEX,
            "tried to read from index 5, but the size is 2"),
    INVALID("n int32=-1\n" WRITTEN READ("x", "n", "w", "int32"), INDEX,
            "tried to read from index -1, but the size is 2"),
    INVALID(WRITTEN READ("r", "zero", "w", "int32") "f Identity w ^r\n" READ(
                "x", "zero", "f", "int32"),
            ITEM_CLEARED,
            "could not read index 0 twice because it was cleared "
            "after an earlier read"),
    INVALID(WRITTEN READ("x", "one", "w", "int32"), UNINITIALIZED,
            "could not read from index 1: it was never written, and for zeros "
            "the element shape ? must be known"),
    INVALID(ARRAY("two", "dtype=string element_shape=[2]")
                READ("x", "one", "ta:1", "string"),
            UNINITIALIZED, "it was never written, and strings have no zeros"),
    INVALID(ARRAY("two", "dtype=resource element_shape=()")
                READ("x", "one", "ta:1", "resource"),
            UNINITIALIZED, "there are no zeros of dtype resource"),
    INVALID(WRITTEN READ("x", "zero", "w", "float32"), DTYPE,
            "the dtype of TensorArray A is int32, but this op is to read "
            "float32"),
    /* Gathering. */
    INVALID("some int32[2]=0,0\n" WRITTEN
            "x TensorArrayGatherV3 ta some w dtype=int32\n",
            ITEM_CLEARED, NULL),
    INVALID(WRITTEN WRITE("v", "one", "all",
                          "w") "some int32[2]=0,1\n"
                               "x TensorArrayGatherV3 ta some v dtype=int32\n",
            SHAPE,
            "TensorArray A has inconsistent shapes: item 0 has shape [] "
            "but item 1 has shape [3]"),
    INVALID(WRITTEN "some int32[1]=0\n"
                    "x TensorArrayGatherV3 ta some w dtype=int32 "
                    "element_shape=[2]\n",
            SHAPE,
            "the element shape [2] does not match that of the items, "
            "[]"),
    INVALID(
        ARRAY("two", "dtype=int32 element_shape=[3]") "x TensorArrayGatherV3 "
                                                      "ta all ta:1 dtype=int32 "
                                                      "element_shape=[2]\n",
        SHAPE,
        "the element shape [2] is not compatible with that of "
        "TensorArray ta, [3]"),
    INVALID(WRITTEN "x TensorArrayGatherV3 ta five w dtype=int32\n", SHAPE,
            NULL),
    INVALID(WRITTEN "x TensorArrayGatherV3 ta all w dtype=int8\n", DTYPE, NULL),
    {NUMBERS INTS "some int32[0]=0\n"
                  "x TensorArrayGatherV3 ta some ta:1 dtype=int32 "
                  "element_shape=[?]\n",
     EDDY_UNIMPLEMENTED, EDDY_E_SHAPE, "no items are read"},
    INVALID(INTS "x TensorArrayGatherV3 ta all ta:1 dtype=resource\n", DTYPE,
            "the dtype of TensorArray A is int32, but this op is to read "
            "resource"),
    /* Concatenating. */
    INVALID(WRITTEN WRITE("v", "one", "five",
                          "w") "x TensorArrayConcatV3 ta v dtype=int32\n",
            SHAPE, "item 0 of TensorArray A is a scalar"),
    INVALID("m int32[1,3]=1\n" INTS WRITE("w", "zero", "m", "ta:1")
                WRITE("v", "one", "all",
                      "w") "x TensorArrayConcatV3 ta v dtype=int32\n",
            SHAPE, "item 0 has shape [3] and item 1 has []"),
    INVALID(ARRAY("one", "dtype=int32")
                WRITE("w", "zero", "all",
                      "ta:1") "x TensorArrayConcatV3 ta w dtype=int32 "
                              "element_shape_except0=[3]\n",
            SHAPE, "element_shape_except0 is [3] but the items have"),
    {NUMBERS ARRAY("zero",
                   "dtype=int32") "x TensorArrayConcatV3 ta ta:1 dtype=int32\n",
     EDDY_UNIMPLEMENTED, EDDY_E_SHAPE, "no items are read"},
    /* Scattering. */
    INVALID(INTS "x TensorArrayScatterV3 ta all five ta:1\n", SHAPE,
            "the value must be at least a vector, but it has shape []"),
    INVALID("some int32[2]=0,1\n" INTS
            "x TensorArrayScatterV3 ta some all ta:1\n",
            SHAPE, "there are 2 indices, but the value has shape [3]"),
    INVALID(INTS "x TensorArrayScatterV3 ta all all ta:1\n", INDEX, NULL),
    INVALID("v float32[3]=1\n" INTS "x TensorArrayScatterV3 ta all v ta:1\n",
            DTYPE, NULL),
    INVALID("r int32[3]=1,0,1\n" INTS "x TensorArrayScatterV3 ta r all ta:1\n",
            ITEM_WRITTEN, NULL),
    /* Splitting. */
    INVALID("l int64[2]=1,1\n" INTS "x TensorArraySplitV3 ta all l ta:1\n",
            VALUE, "the first 2 of 2 add up to 2"),
    INVALID("l int64[2]=4,-1\n" INTS "x TensorArraySplitV3 ta all l ta:1\n",
            VALUE, "the first 0 of 2 add up to 0"),
    INVALID("l int64[3]=1,1,1\n" INTS "x TensorArraySplitV3 ta all l ta:1\n",
            SHAPE,
            "there are 3 lengths, but TensorArray A has size 2 and is "
            "not resizeable"),
    INVALID("l int64[1]=3\n" ARRAY(
                "two", "dtype=int32 dynamic_size=true") "x TensorArraySplitV3 "
                                                        "ta all l ta:1\n",
            SHAPE, "there are 1 lengths, but TensorArray ta has size 2"),
    INVALID("l int64=3\n"
            "m Identity l\n" INTS "x TensorArraySplitV3 ta all m ta:1\n",
            SHAPE, NULL),
    INVALID("l int64[1]=1\n" INTS "x TensorArraySplitV3 ta five l ta:1\n",
            SHAPE, NULL),
    /* Gradients. */
    INVALID(ARRAY("two", "dtype=int32 dynamic_size=true") GRADIENT(
                "g", "gradients", "ta:1") WRITE("x", "five", "five", "g:1"),
            INDEX,
            "tried to write to index 5, but the size is 2 and the array "
            "not resizeable"),
    INVALID(WRITTEN GRADIENT("g", "gradients",
                             "w") "x TensorArrayWriteV3 g zero all g:1\n",
            SHAPE,
            "could not add to index 0 because it has shape [] but the "
            "value has [3]"),
    INVALID(ARRAY("two", "dtype=string") GRADIENT(
                "g", "gradients", "ta:1") "v string=a\n"
                                          "y TensorArrayWriteV3 g zero v g:1\n"
                                          "x TensorArrayWriteV3 g zero v y\n",
            DTYPE, "values of dtype string have no sum"),
    INVALID(INTS GRADIENT("g", "gradients",
                          "ta:1") "x TensorArrayReadV3 g one g:1 dtype=int32\n",
            UNINITIALIZED, NULL),
    INVALID("v int32=2\n"
            "y Identity v\n" INTS
            "x TensorArrayGradWithShape ta ta:1 y source='g'\n",
            SHAPE, NULL),
    /* Closing. */
    INVALID(WRITTEN "c TensorArrayCloseV3 ta ^w\n"
                    "d TensorArrayCloseV3 ta ^c\n"
                    "f Identity w ^d\n" READ("x", "zero", "f", "int32"),
            CLOSED, "TensorArray A has already been closed"),
    INVALID(INTS "c TensorArrayCloseV3 ta\n"
                 "f Identity ta:1 ^c\n"
                 "x TensorArraySizeV3 ta f\n",
            CLOSED, NULL),
    INVALID(INTS "c TensorArrayCloseV3 ta\n"
                 "f Identity ta:1 ^c\n" GRADIENT("x", "g", "f"),
            CLOSED, NULL),
};

START_TEST(mistakes_are_named)
{
    const mistake *m = &mistakes[_i];
    const bool has_x = strstr(m->text, "\nx ") != NULL;
    eddy_status status;

    status = program_try_build(&p, m->text);
    if (status == EDDY_OK)
        status = program_try_plan(&p, NULL, has_x ? "^x" : "^ta");
    if (status == EDDY_OK)
        status = program_execute(&p);
    program_want(&p, status, m->code, m->detail);
    ck_assert_msg(!m->message || strstr(p.err.message, m->message), "'%s'",
                  p.err.message);
}
END_TEST

/* ---- memory ---- */

START_TEST(a_run_that_fails_frees_its_arrays)
{
    program_build(&p, NESTED_LOOPS "limit int32=20\n"
                                   "ol20 Enter@o! limit\n"
                                   "few Less osi:1 ol20\n"
                                   "wrong Assert few g\n");
    program_plan(&p, NULL, "total ^wrong");
    for (int round = 0; round < 2; round++)
        program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                     EDDY_E_ASSERTION);
}
END_TEST

START_TEST(the_limit_on_bytes_stops_an_array)
{
    p.run_options.max_bytes = 1 << 20;
    program_build(&p, "n int32=1000000\n"
                      "v int32=3\n"
                      "ta TensorArrayV3 n dtype=int32\n" WRITE_LOOP("ta:1"));
    program_plan(&p, NULL, "out");
    for (int round = 0; round < 2; round++) {
        program_want(&p, program_execute(&p), EDDY_RESOURCE_EXHAUSTED,
                     EDDY_E_LIMIT_BYTES);
        ck_assert_str_eq(p.err.node, "w");
        ck_assert_uint_gt(program_stats(&p).iterations, 10000);
    }
}
END_TEST

/* Writes of two shapes, a gradient, sums, a gather and a split. */
START_TEST(every_allocation_may_fail)
{
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;
    int n;

    program_build(
        &p, NUMBERS
        "big float32[2,600]=1,2\n"
        "lengths int64[3]=1,0,1\n"
        "rows float32[3]=1,2,3\n"
        "first int32[2]=0,1\n" ARRAY(
            "three",
            "dtype=float32") "w TensorArraySplitV3 ta big lengths "
                             "ta:1\n" GRADIENT("g", "gradients",
                                               "w") "neg Neg big\n"
                                                    "x0 TensorArraySplitV3 g "
                                                    "neg lengths g:1\n"
                                                    "x1 TensorArraySplitV3 g "
                                                    "big lengths x0\n"
                                                    "c TensorArrayConcatV3 g "
                                                    "x1 dtype=float32\n"
                                                    "tb TensorArrayV3 zero "
                                                    "dtype=float32 "
                                                    "dynamic_size=true\n"
                                                    "v TensorArrayScatterV3 tb "
                                                    "all rows tb:1\n"
                                                    "b TensorArrayGatherV3 tb "
                                                    "first v dtype=float32\n");
    for (n = 0; status != EDDY_OK; n++) {
        program_plan(&p, NULL, "c b");
        program_make_run(&p);
        counting_allocator_allow(&p.counting, n);
        status = program_execute(&p);
        counting_allocator_allow(&p.counting, -1);
        if (status != EDDY_OK)
            program_want(&p, status, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
        program_run(&p);
        ck_assert(program_fetch_float(&p, 0) == 0);
        ck_assert(program_fetch_float(&p, 1) == 1);
    }
    ck_assert_int_gt(n, 5);
}
END_TEST

TCase *ops_tensor_array_tests(void)
{
    TCase *tests = tcase_create("ops_tensor_array");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, items_of_every_dtype_are_written_and_read, 0,
                        N_DTYPES);
    tcase_add_loop_test(tests, items_of_every_dtype_are_scattered_and_gathered,
                        0, N_DTYPES);
    tcase_add_loop_test(tests, items_of_every_dtype_are_split_and_concatenated,
                        0, N_DTYPES);
    tcase_add_loop_test(tests, items_that_were_not_written_are_zeros, 0,
                        N_DTYPES);
    tcase_add_test(tests, strings_are_items);
    tcase_add_test(tests, handles_are_items);
    tcase_add_test(tests, a_dynamic_array_grows);
    tcase_add_test(tests, a_large_size_costs_nothing);
    tcase_add_test(tests, nothing_is_gathered_where_the_shape_is_stated);
    tcase_add_test(tests, shapes_are_inferred);
    tcase_add_loop_test(
        tests, the_shape_that_an_array_states_is_that_of_its_items, 0, 4);
    tcase_add_test(tests, large_slices_are_views);
    tcase_add_loop_test(tests, writes_to_a_gradient_add_up, 0, N_DTYPES - 1);
    tcase_add_test(tests, each_source_has_its_gradient);
    tcase_add_test(tests, a_gradient_has_the_shapes_of_what_was_written);
    tcase_add_test(tests, the_gradient_of_a_split_concatenates);
    tcase_add_test(tests, a_gradient_has_a_gradient);
    tcase_add_test(tests, a_loop_writes_items);
    tcase_add_test(tests, a_loop_writes_scalars);
    tcase_add_test(tests, arrays_are_made_in_loops);
    tcase_add_test(tests, handles_go_down_one_branch);
    tcase_add_loop_test(tests, mistakes_are_named, 0,
                        (int)(sizeof mistakes / sizeof *mistakes));
    tcase_add_test(tests, a_run_that_fails_frees_its_arrays);
    tcase_add_test(tests, the_limit_on_bytes_stops_an_array);
    tcase_add_test(tests, every_allocation_may_fail);
    return tests;
}
