/* SPDX-License-Identifier: Apache-2.0 */
/* What is put into a stack or a TensorArray says what comes out of it. */
#include "core/value/shape.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <string.h>

static program p;

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    program_deinit(&p);
}

/* Plans `text` and tells which shape fetch 0, `fetch`, is known to have. */
static const char *shape_of(const char *text, const char *fetch)
{
    static eddy__shape_text shape;

    program_clear(&p);
    program_build(&p, text);
    program_plan(&p, NULL, fetch);
    shape = eddy__shape_print(eddy_plan_fetch_shape(p.plan, 0));
    return shape.text;
}

#define STACK "many int32=9\ns StackV2 many elem_type=float32\n"
#define TWO "one float32=1\nvec float32[3]=1\nlong float32[4]=1\n"

START_TEST(a_pop_is_like_the_push)
{
    ck_assert_str_eq(shape_of(STACK TWO "a StackPushV2 s one\n"
                                        "b StackPopV2 s elem_type=float32\n",
                              "b ^a"),
                     "[]");
    ck_assert_str_eq(shape_of(STACK TWO "b StackPopV2 s elem_type=float32 ^a\n"
                                        "a StackPushV2 s vec\n",
                              "b"),
                     "[3]");
}
END_TEST

START_TEST(a_pop_is_like_all_the_pushes)
{
    ck_assert_str_eq(shape_of(STACK TWO "a StackPushV2 s vec\n"
                                        "c StackPushV2 s long ^a\n"
                                        "b StackPopV2 s ^c elem_type=float32\n",
                              "b"),
                     "[?]");
    ck_assert_str_eq(shape_of(STACK TWO "a StackPushV2 s vec\n"
                                        "c StackPushV2 s one ^a\n"
                                        "b StackPopV2 s ^c elem_type=float32\n",
                              "b"),
                     "?");
}
END_TEST

/* Which of two stacks it is, is not known; so nothing is of either. */
START_TEST(a_stack_behind_a_merge_may_hold_anything)
{
    ck_assert_str_eq(shape_of(STACK TWO
                              "o StackV2 many elem_type=float32\np bool=true\n"
                              "x Switch s p\ny Switch o p\nm Merge x y:1\n"
                              "a StackPushV2 s one\nc StackPushV2 m vec ^a\n"
                              "b StackPopV2 s ^c elem_type=float32\n",
                              "b"),
                     "?");
}
END_TEST

START_TEST(a_pop_in_a_loop_is_like_the_push_in_another)
{
    static const char text[] =
        STACK "zero int32=0\none int32=1\nn int32=5\nx float32=2\n"
              "f/e Enter@f zero\nf/x Enter@f x\nf/n Enter@f! n\n"
              "f/one Enter@f! one\nf/s Enter@f! s\n"
              "f/m Merge f/e f/next\nf/mx Merge f/x f/nx\n"
              "f/l Less f/m f/n\nf/c LoopCond f/l\n"
              "f/sw Switch f/m f/c\nf/sx Switch f/mx f/c\n"
              "f/push StackPushV2 f/s f/sx:1\n"
              "f/y Mul f/sx:1 f/push\nf/add AddV2 f/sw:1 f/one\n"
              "f/next NextIteration f/add\nf/nx NextIteration f/y\n"
              "f/exit Exit f/sw\nf/out Exit f/sx\n"
              "b/e Enter@b f/exit\nb/a Enter@b x\nb/zero Enter@b! zero\n"
              "b/one Enter@b! one\nb/s Enter@b! s\n"
              "b/m Merge b/e b/next\nb/ma Merge b/a b/na\n"
              "b/g Greater b/m b/zero\nb/c LoopCond b/g\n"
              "b/sw Switch b/m b/c\nb/sa Switch b/ma b/c\n"
              "b/sub Sub b/sw:1 b/one\n"
              "b/pop StackPopV2 b/s ^b/sub elem_type=float32\n"
              "b/add AddV2 b/sa:1 b/pop\n"
              "b/next NextIteration b/sub\nb/na NextIteration b/add\n"
              "b/out Exit b/sa\n";

    ck_assert_str_eq(shape_of(text, "b/out f/out"), "[]");
    program_run(&p);
    ck_assert_float_eq(program_fetch_float(&p, 0),
                       2 + 2 + 4 + 16 + 256 + 65536);
}
END_TEST

#define ARRAY(shape)                                                           \
    "n int32=4\nt TensorArrayV3 n dtype=float32 element_shape=" shape "\n"     \
    "zero int32=0\n" TWO

START_TEST(a_read_is_like_the_writes)
{
    ck_assert_str_eq(
        shape_of(ARRAY("?") "w TensorArrayWriteV3 t zero vec t:1\n"
                            "r TensorArrayReadV3 t zero w dtype=float32\n",
                 "r"),
        "[3]");
    ck_assert_str_eq(
        shape_of(ARRAY("?") "w TensorArrayWriteV3 t zero vec t:1\n"
                            "i int32[2]=1,2\nm float32[2,4]=1\n"
                            "v TensorArrayScatterV3 t i m w\n"
                            "r TensorArrayReadV3 t zero v dtype=float32\n",
                 "r"),
        "[?]");
}
END_TEST

/* Nobody wrote it: it is zeros, of the shape that is stated. */
START_TEST(a_read_may_be_of_the_stated_shape)
{
    ck_assert_str_eq(
        shape_of(ARRAY("?") "w TensorArrayWriteV3 t zero one t:1\n"
                            "i int32[1]=0\n"
                            "g TensorArrayGatherV3 t i w dtype=float32 "
                            "element_shape=()\n"
                            "h TensorArrayGatherV3 t i w dtype=float32 "
                            "element_shape=[3]\n"
                            "r TensorArrayReadV3 t zero w dtype=float32\n",
                 "r g h"),
        "?");
}
END_TEST

START_TEST(a_gradient_array_is_like_its_array)
{
    static const char text[] =
        ARRAY("?") "w TensorArrayWriteV3 t zero one t:1\n"
                   "d TensorArrayGradV3 t w source='g'\n"
                   "v TensorArrayWriteV3 d zero vec d:1\n"
                   "r TensorArrayReadV3 d zero d:1 dtype=float32\n";

    ck_assert_str_eq(shape_of(text, "r"), "[]");
    ck_assert_str_eq(shape_of(text, "r v"), "?");
}
END_TEST

TCase *plan_stores_tests(void)
{
    TCase *tc = tcase_create("plan_stores");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_pop_is_like_the_push);
    tcase_add_test(tc, a_pop_is_like_all_the_pushes);
    tcase_add_test(tc, a_stack_behind_a_merge_may_hold_anything);
    tcase_add_test(tc, a_pop_in_a_loop_is_like_the_push_in_another);
    tcase_add_test(tc, a_read_is_like_the_writes);
    tcase_add_test(tc, a_read_may_be_of_the_stated_shape);
    tcase_add_test(tc, a_gradient_array_is_like_its_array);
    return tc;
}
