/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients with respect to variables: those of the values read from them. */
#include "tests/aid/program.h"
#include "tests/suites.h"

static program p;

static eddy_output gradient(const char *y_name, const char *x_name, bool zeros)
{
    const eddy_gradient_options options = {.size = sizeof options,
                                           .zeros_if_unconnected = zeros};
    const eddy_output y = program_output(&p, y_name);
    const eddy_output x = program_output(&p, x_name);
    eddy_output dx;

    if (eddy_gradients(p.graph, &y, 1, &x, 1, &options, &dx, &p.err) != EDDY_OK)
        ck_abort_msg("%s: %s", p.err.node, p.err.message);
    return dx;
}

static void want(eddy_output fetch, int32_t rank, const int64_t *dims,
                 const double *elements)
{
    program_plan_outputs(&p, &fetch, 1);
    program_run(&p);
    program_want_fetch(&p, 0, rank, dims, elements);
}

#define VARIABLE                                                               \
    "x float64[2,3]=1,2,3,4,5,6\n"                                             \
    "v VarHandleOp dtype=float64 shape=[2,3] shared_name='v'\n"                \
    "set AssignVariableOp v x\n"

START_TEST(reads_add_up)
{
    program_init(&p, 0);
    program_build(&p, VARIABLE "a ReadVariableOp v ^set dtype=float64\n"
                               "b ReadVariableOp v ^set dtype=float64\n"
                               "y Mul a b\n");
    want(gradient("y", "v", false), PROGRAM_DIMS(2, 3),
         PROGRAM_NUMBERS(2, 4, 6, 8, 10, 12));
    program_deinit(&p);
}
END_TEST

START_TEST(gathered_rows_add_up)
{
    program_init(&p, 0);
    program_build(&p, VARIABLE "i int32[3]=1,0,1\n"
                               "y ResourceGather v i ^set dtype=float64\n");
    want(gradient("y", "v", false), PROGRAM_DIMS(2, 3),
         PROGRAM_NUMBERS(1, 1, 1, 2, 2, 2));
    program_deinit(&p);
}
END_TEST

START_TEST(gathered_elements_add_up)
{
    program_init(&p, 0);
    program_build(&p, VARIABLE "i int32[2,2]=1,2,0,0\n"
                               "y ResourceGatherNd v i ^set dtype=float64\n");
    want(gradient("y", "v", false), PROGRAM_DIMS(2, 3),
         PROGRAM_NUMBERS(1, 0, 0, 0, 0, 1));
    program_deinit(&p);
}
END_TEST

/* y = 1; three times y = y v, and one branch in which it is read. */
START_TEST(a_variable_is_read_in_a_loop_and_in_a_branch)
{
    program_init(&p, 0);
    program_build(
        &p, "x float64=2\nv VarHandleOp dtype=float64 shape=()\n"
            "set AssignVariableOp v x\n"
            "i0 int32=0\nn int32=3\none int32=1\ny0 float64=1\n"
            "w Identity v ^set\n"
            "i/e Enter@w i0\ni/m Merge i/e i/n\ni/l Enter@w! n\n"
            "less Less i/m i/l\nc LoopCond less\ni/s Switch i/m c\n"
            "i/o Enter@w! one\ni/a AddV2 i/s:1 i/o\ni/n NextIteration i/a\n"
            "y/e Enter@w y0\ny/m Merge y/e y/n\ny/s Switch y/m c\n"
            "v/e Enter@w! w\nr ReadVariableOp v/e dtype=float64\n"
            "y/b Mul y/s:1 r\ny/n NextIteration y/b\ny/x Exit y/s\n"
            "q bool=1\nb Switch w q\nbr ReadVariableOp b:1 dtype=float64\n"
            "bf Switch y0 q\nm Merge bf br\nz AddV2 y/x m\n");
    want(gradient("z", "v", false), 0, NULL, PROGRAM_NUMBERS(13));
    program_deinit(&p);
}
END_TEST

START_TEST(zeros_have_the_shape_of_the_value)
{
    program_init(&p, 0);
    program_build(&p, VARIABLE "w Identity v ^set\ny Mul x x ^set\n");
    ck_assert_uint_eq(gradient("y", "w", false).node, EDDY_NO_NODE);
    want(gradient("y", "w", true), PROGRAM_DIMS(2, 3),
         PROGRAM_NUMBERS(0, 0, 0, 0, 0, 0));
    program_deinit(&p);
}
END_TEST

TCase *gradient_variables_tests(void)
{
    TCase *tcase = tcase_create("gradient_variables");

    tcase_add_test(tcase, reads_add_up);
    tcase_add_test(tcase, gathered_rows_add_up);
    tcase_add_test(tcase, gathered_elements_add_up);
    tcase_add_test(tcase, a_variable_is_read_in_a_loop_and_in_a_branch);
    tcase_add_test(tcase, zeros_have_the_shape_of_the_value);
    return tcase;
}
