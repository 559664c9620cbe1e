/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients through lists that loops and branches read and write. */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <string.h>

#define N 4

/*
 * x, four numbers; l, the list of them; a loop over i < 4 with y as variable,
 * which starts as 1, in which l/e is the list and e/e the shape of an item.
 */
#define BEGIN                                                                  \
    "x float64[4]=1,2,3,4\ne int32[0]=0\nl TensorListFromTensor x e\n"         \
    "i0 int32=0\nn int32=4\none int32=1\ny0 float64=1\n"                       \
    "i/e Enter@w i0\ni/m Merge i/e i/n\ni/l Enter@w! n\n"                      \
    "less Less i/m i/l\nc LoopCond less\ni/s Switch i/m c\n"                   \
    "i/o Enter@w! one\ni/a AddV2 i/s:1 i/o\ni/n NextIteration i/a\n"           \
    "e/e Enter@w! e\ny/e Enter@w y0\ny/m Merge y/e y/n\ny/s Switch y/m c\n"
#define END "y/n NextIteration y/b\ny Exit y/s\n"

/* item: l[i] */
#define INVARIANT                                                              \
    "l/e Enter@w! l\n"                                                         \
    "item TensorListGetItem l/e i/s:1 e/e element_dtype=float64\n"

#define VARIABLE                                                               \
    "l/e Enter@w l\nl/m Merge l/e l/n\nl/s Switch l/m c\n"                     \
    "item TensorListGetItem l/s:1 i/s:1 e/e element_dtype=float64\n"

/* p: is i even? */
#define EVEN                                                                   \
    "two0 int32=2\ntwo Enter@w! two0\nzero0 int32=0\nzero Enter@w! zero0\n"    \
    "rest FloorMod i/s:1 two\np Equal rest zero\n"

static program p;

static eddy_output gradient(eddy_output y)
{
    const eddy_output x = program_output(&p, "x");
    eddy_output dx;

    if (eddy_gradients(p.graph, &y, 1, &x, 1, NULL, &dx, &p.err) != EDDY_OK)
        ck_abort_msg("%s: %s", p.err.node, p.err.message);
    ck_assert_uint_ne(dx.node, EDDY_NO_NODE);
    return dx;
}

static void want(eddy_output fetch, const double *elements)
{
    program_plan_outputs(&p, &fetch, 1);
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(N), elements);
}

/* The first two gradients of y. */
static void check(const char *text, const double *first, const double *second)
{
    eddy_output dx;

    program_init(&p, 0);
    program_build(&p, text);
    dx = gradient(program_output(&p, "y"));
    want(dx, first);
    want(gradient(dx), second);
    program_deinit(&p);
}

/* No list is added to another, which would cost each iteration all of it. */
static void want_no_sum_of_lists(void)
{
    for (eddy_node v = 0; v < eddy_graph_size(p.graph); v++)
        ck_assert_msg(strcmp(eddy_graph_node_op(p.graph, v), "AddN") != 0 ||
                          eddy_graph_output_dtype(
                              p.graph, (eddy_output){v, 0}) != EDDY_VARIANT,
                      "%s adds lists", eddy_graph_node_name(p.graph, v));
}

START_TEST(an_invariant_list_is_read)
{
    check(BEGIN INVARIANT "q Mul item item\ny/b AddV2 y/s:1 q\n" END,
          PROGRAM_NUMBERS(2, 4, 6, 8), PROGRAM_NUMBERS(2, 2, 2, 2));
}
END_TEST

/* y = 24 */
START_TEST(products_of_items)
{
    check(BEGIN INVARIANT "y/b Mul y/s:1 item\n" END,
          PROGRAM_NUMBERS(24, 12, 8, 6), PROGRAM_NUMBERS(26, 19, 14, 11));
}
END_TEST

START_TEST(a_variable_list_is_read)
{
    check(BEGIN VARIABLE "l/n NextIteration l/s:1\ny/b Mul y/s:1 item\n" END,
          PROGRAM_NUMBERS(24, 12, 8, 6), PROGRAM_NUMBERS(26, 19, 14, 11));
}
END_TEST

/* l[i] = l[i]^2 once read, twice: y = 1 + sum of x, and the list's squares. */
START_TEST(a_variable_list_is_read_and_written)
{
    check(
        BEGIN VARIABLE "q Mul item item\nr TensorListSetItem l/s:1 i/s:1 q\n"
                       "l/n NextIteration r\ny/b AddV2 y/s:1 item\n"
                       "y/n NextIteration y/b\nz Exit y/s\nl/x Exit l/s\n"
                       "all TensorListStack l/x e element_dtype=float64\n"
                       "sum0 int32=0\nsum Sum all sum0\ny Mul z sum\n",
        /* y = (1 + sum x) sum x^2 = 11 * 30 */
        PROGRAM_NUMBERS(30 + 22, 30 + 44, 30 + 66, 30 + 88),
        PROGRAM_NUMBERS(20 + 8 + 22, 20 + 16 + 22, 20 + 24 + 22, 20 + 32 + 22));
}
END_TEST

/* Of even items the squares are taken, others do not matter. */
START_TEST(an_item_is_read_in_a_branch)
{
    check(BEGIN EVEN
          "l/e Enter@w! l\nl/b Switch l/e p\nib Switch i/s:1 p\n"
          "eb Switch e/e p\n"
          "item TensorListGetItem l/b:1 ib:1 eb:1 element_dtype=float64\n"
          "yb Switch y/s:1 p\nq Mul item item\nt AddV2 yb:1 q\n"
          "y/b Merge yb t\n" END,
          PROGRAM_NUMBERS(2, 0, 6, 0), PROGRAM_NUMBERS(2, 0, 2, 0));
}
END_TEST

/* In the branch and outside of it; on both sides of the branch. */
START_TEST(items_are_read_in_and_beside_a_branch)
{
    check(BEGIN EVEN INVARIANT
          "l/b Switch l/e p\nib Switch i/s:1 p\neb Switch e/e p\n"
          "t1 TensorListGetItem l/b:1 ib:1 eb:1 element_dtype=float64\n"
          "t2 Mul t1 t1\n"
          "f1 TensorListGetItem l/b ib eb element_dtype=float64\n"
          "f2 Mul f1 f1\nf3 Mul f2 f1\n"
          "m Merge f3 t2\na AddV2 y/s:1 m\ny/b AddV2 a item\n" END,
          PROGRAM_NUMBERS(3, 13, 7, 49), PROGRAM_NUMBERS(2, 12, 2, 24));
}
END_TEST

START_TEST(a_loop_that_reads_a_list_adds_no_lists)
{
    program_init(&p, 0);
    program_build(&p, BEGIN EVEN INVARIANT
                  "l/b Switch l/e p\nib Switch i/s:1 p\neb Switch e/e p\n"
                  "t1 TensorListGetItem l/b:1 ib:1 eb:1 "
                  "element_dtype=float64\n"
                  "yb Switch y/s:1 p\nt2 Mul t1 yb:1\nm Merge yb t2\n"
                  "y/b Mul m item\n" END);
    /* y = 1 * 1^2 * 2 * 3^2 * 4 */
    want(gradient(program_output(&p, "y")), PROGRAM_NUMBERS(144, 36, 48, 18));
    want_no_sum_of_lists();
    program_deinit(&p);
}
END_TEST

/* Of items that are lists, and of all readers of a list at once. */
START_TEST(lists_in_lists)
{
    program_init(&p, 0);
    program_build(
        &p, "x float64[4]=1,2,3,4\ne int32[0]=0\nl TensorListFromTensor x e\n"
            "n int32=2\nz int32=0\none int32=1\n"
            "o TensorListReserve e n element_dtype=variant\n"
            "a TensorListSetItem o z l\nb TensorListSetItem a one l\n"
            "g TensorListGetItem b one e element_dtype=variant\n"
            "h TensorListGetItem b z e element_dtype=variant\n"
            "s TensorListStack g e element_dtype=float64\n"
            "t TensorListStack h e element_dtype=float64\ny Mul s t\n");
    want(gradient(program_output(&p, "y")), PROGRAM_NUMBERS(2, 4, 6, 8));
    program_deinit(&p);
}
END_TEST

START_TEST(an_optional_value)
{
    static const eddy_dtype types[] = {EDDY_FLOAT64, EDDY_FLOAT64};
    static const eddy_shape shapes[] = {{.rank = 1, .dims = {N}},
                                        {.rank = 1, .dims = {N}}};
    const eddy_attr attrs[] = {{.name = "output_types",
                                .kind = EDDY_ATTR_TYPE,
                                .is_list = true,
                                .n = 2,
                                .as.types = types},
                               {.name = "output_shapes",
                                .kind = EDDY_ATTR_SHAPE,
                                .is_list = true,
                                .n = 2,
                                .as.shapes = shapes}};
    eddy_node_spec get = {.size = sizeof get,
                          .op = "OptionalGetValue",
                          .n_inputs = 1,
                          .attrs = attrs,
                          .n_attrs = 2};
    eddy_output optional, first = {.index = 0}, second = {.index = 1};

    program_init(&p, 0);
    program_build(&p, "x float64[4]=1,2,3,4\nq Mul x x\n"
                      "o OptionalFromValue q x\n");
    optional = program_output(&p, "o");
    get.inputs = &optional;
    ck_assert_int_eq(eddy_graph_add(p.graph, &get, &first.node, &p.err),
                     EDDY_OK);
    second.node = first.node;
    want(gradient(program_binary(&p, "Mul", first, second)),
         PROGRAM_NUMBERS(3, 12, 27, 48));
    program_deinit(&p);
}
END_TEST

TCase *gradient_lists_tests(void)
{
    TCase *tcase = tcase_create("gradient_lists");

    tcase_add_test(tcase, an_invariant_list_is_read);
    tcase_add_test(tcase, products_of_items);
    tcase_add_test(tcase, a_variable_list_is_read);
    tcase_add_test(tcase, a_variable_list_is_read_and_written);
    tcase_add_test(tcase, an_item_is_read_in_a_branch);
    tcase_add_test(tcase, items_are_read_in_and_beside_a_branch);
    tcase_add_test(tcase, a_loop_that_reads_a_list_adds_no_lists);
    tcase_add_test(tcase, lists_in_lists);
    tcase_add_test(tcase, an_optional_value);
    return tcase;
}
