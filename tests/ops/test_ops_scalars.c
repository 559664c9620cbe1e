/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernels want a scalar, which take a vector of one element for one, and
 * which any tensor of one element: as TensorFlow's do.
 */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

/* `a` is the argument: one element in up to `most` dimensions will do. */
typedef struct argument {
    const char *type, *node;
    int value, most;
} argument;

#define ANY 3

static const argument arguments[] = {
    {"int32", "y Cumsum v a", 0, 0},
    {"int32", "y Cumprod v a", 0, 0},
    {"int32", "y CumulativeLogsumexp v a", 0, 0},
    {"int32", "y ArgMax v a", 0, 0},
    {"int32", "y Sum v a", 0, ANY},
    {"int32", "y Max v a", 0, ANY},
    {"int32", "y All yes a", 0, ANY},
    {"int32", "y ConcatV2 v v a N=2", 0, 1},
    {"int32", "y Concat a v v N=2", 0, 1},
    {"int32", "y Split a v num_split=2", 0, 0},
    {"int32", "y SplitV v sizes a num_split=2", 0, ANY},
    {"int32", "y ExpandDims v a", 0, ANY},
    {"int32", "y GatherV2 v i a", 0, 0},
    {"int32", "y Range a five one", 0, 1},
    {"int32", "y Range one a one", 5, 1},
    {"int32", "y Range one five a", 1, 1},
    {"float32", "y LinSpace a f five", 1, 0},
    {"float32", "y LinSpace f a five", 1, 0},
    {"int32", "y LinSpace f f a", 3, 0},
    {"float32", "y Fill i a", 1, 1},
    {"int32", "y OneHot i a f f", 3, 0},
    {"float32", "y OneHot i five a f", 3, 0},
    {"float32", "y OneHot i five f a", 3, 0},
    {"int32", "y TopKV2 v a", 1, 0},
    {"float32", "y PadV2 v pads a", 1, 0},
    {"int32", "y UnsortedSegmentSum v ids a", 2, 0},
    {"int32", "y MatrixDiagV3 v zero a minus f", 4, 0},
    {"int32", "y MatrixDiagV3 v zero minus a f", 4, 0},
    {"float32", "y MatrixDiagV3 v zero minus minus a", 4, 0},
    {"float32", "y MatrixDiagPartV3 m one a", 4, ANY},
    {"int64", "y MatrixBandPart m a a", 0, 0},
    {"int32", "y ConcatOffset a i i N=2", 0, 0},
    {"int32", "y Roll v a zero", 1, 0},
    {"int32", "y Roll v one a", 0, 0},
};

#define OTHERS                                                                 \
    "v float32[4]=1,2,3,4\n"                                                   \
    "m float32[2,2]=1,2,3,4\n"                                                 \
    "yes bool[2]=1,1\n"                                                        \
    "i int32[1]=1\n"                                                           \
    "ids int32[4]=0,1,0,1\n"                                                   \
    "sizes int32[2]=1,3\n"                                                     \
    "pads int32[1,2]=1,1\n"                                                    \
    "zero int32=0\n"                                                           \
    "one int32=1\n"                                                            \
    "five int32=5\n"                                                           \
    "minus int32=-1\n"                                                         \
    "f float32=2\n"

static eddy_tensor *make_argument(const program *p, const argument *a, int rank)
{
    const float number = (float)a->value;
    const int64_t wide = a->value;
    const int32_t narrow = a->value;
    const eddy_shape shape = {.rank = rank, .dims = {1, 1, 1}};

    if (strcmp(a->type, "float32") == 0)
        return program_tensor(p, EDDY_FLOAT32, &shape, &number);
    if (strcmp(a->type, "int64") == 0)
        return program_tensor(p, EDDY_INT64, &shape, &wide);
    return program_tensor(p, EDDY_INT32, &shape, &narrow);
}

/* The argument is fed, so that its shape is not known before. */
static eddy_status attempt(program *p, const argument *a, int rank)
{
    char text[1024];
    eddy_tensor *fed = make_argument(p, a, rank);

    (void)snprintf(text, sizeof text,
                   OTHERS "a Placeholder dtype=%s shape=?\n%s\n", a->type,
                   a->node);
    program_build(p, text);
    program_plan(p, "a", "y");
    program_make_run(p);
    ck_assert_int_eq(eddy_run_feed(p->run, 0, fed, &p->err), EDDY_OK);
    eddy_tensor_release(fed);
    return program_execute(p);
}

START_TEST(an_argument_of_one_element_is_a_scalar_or_not)
{
    const argument *a = &arguments[_i];
    program p;

    program_init(&p, 0);
    for (int rank = 0; rank <= 3; rank++) {
        const eddy_status status = attempt(&p, a, rank);

        ck_assert_msg(status ==
                          (rank <= a->most ? EDDY_OK : EDDY_INVALID_ARGUMENT),
                      "%s with %d dimensions: %s", a->node, rank,
                      status == EDDY_OK ? "done" : p.err.message);
        program_clear(&p);
    }
    program_deinit(&p);
}
END_TEST

START_TEST(a_scalar_may_be_a_shape)
{
    program p;

    program_init(&p, 0);
    program_build(&p, "v float32[3]=1,2,3\n"
                      "f float32=7\n"
                      "c int32=3\n"
                      "r Reshape v c\n"
                      "y Fill c f\n");
    program_plan(&p, NULL, "r y");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(3), PROGRAM_NUMBERS(1, 2, 3));
    program_want_fetch(&p, 1, PROGRAM_DIMS(3), PROGRAM_NUMBERS(7, 7, 7));
    program_deinit(&p);
}
END_TEST

TCase *ops_scalars_tests(void)
{
    TCase *tc = tcase_create("ops_scalars");

    tcase_add_loop_test(tc, an_argument_of_one_element_is_a_scalar_or_not, 0,
                        (int)(sizeof arguments / sizeof arguments[0]));
    tcase_add_test(tc, a_scalar_may_be_a_shape);
    return tc;
}
