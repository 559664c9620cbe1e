/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules with operands that are broadcast, scalar and empty, against central
 * differences.
 */
#include "tests/aid/differences.h"
#include "tests/suites.h"

#include <stdio.h>

/* From x, float64[2,3], to a and b. */
static const char *const operands[] = {
    "a Mul x x\nz int32=0\nb Sum x z\n",
    "k int32[2]=1,2\na GatherNd x k\nb Mul x x\n",
    "i int32=1\na Sum x i keep_dims=true\nz int32=0\nb Sum x z\n",
    "i int32=1\na ExpandDims x i\nb Mul x x\n",
    "k int32[2]=1,2\na GatherNd x k\nl int32[2]=0,1\nb GatherNd x l\n",
    "f int32[2]=0,0\ns int32[2]=0,3\na Slice x f s\nz int32=0\nb Sum x z\n",
    "f int32[2]=0,0\ns int32[2]=2,0\na Slice x f s\nb Mul a a\n",
    "f int32[2]=0,1\ns int32[2]=0,1\na Slice x f s\nb Identity v\n",
};

/* From a and b to r. */
static const char *const ops[] = {
    "r AddV2 a b\n",
    "r Sub a b\n",
    "r Mul a b\n",
    "r RealDiv a b\n",
    "r DivNoNan a b\n",
    "r Pow a b\n",
    "r Maximum a b\n",
    "r SquaredDifference a b\n",
    "r FloorMod a b\n",
    "r Atan2 a b\n",
    "r Xlogy a b\n",
    "r Xdivy a b\n",
    "r MulNoNan a b\n",
    "g Greater a b\nr SelectV2 g a b\n",
    "e Exp a\nr Mul e b\n",
    "r Tanh a\n",
    "n int32[1]=-1\nh Reshape a n\no int32=0\nr Cumsum h o\n",
};

/* From a, of rank 2 and perhaps empty, to r. */
static const char *const shapes[] = {
    "f int32[2]=0,0\ns int32[2]=0,3\na Slice x f s\n",
    "f int32[2]=0,0\ns int32[2]=2,0\na Slice x f s\n",
    "f int32[2]=1,0\ns int32[2]=1,3\na Slice x f s\n",
    "f int32[2]=0,2\ns int32[2]=2,1\na Slice x f s\n",
};

static const char *const of_matrices[] = {
    "i int32=1\nr Sum a i\n",
    "i int32=0\nr Sum a i keep_dims=true\n",
    "i int32=0\nr Prod a i\n",
    "i int32[2]=0,1\nr Prod a i\n",
    "i int32=1\nr Cumprod a i\n",
    "r MatMul a a transpose_b=true\n",
    "r MatMul a a transpose_a=true\n",
    "r BatchMatMulV2 a a adj_y=true\n",
    "r Einsum a a equation='ij,kj->ik'\n",
    "r Einsum a equation='ij->j'\n",
    "p int32[2]=1,0\nr Transpose a p\n",
    "p int32[2,2]=1,0,0,2\nr Pad a p\n",
    "i int32=0\nq Mul a a\nr ConcatV2 a q a i\n",
    "m int32[2]=2,3\nr Tile a m\n",
    "i int32[0]=0\nz int32=0\nr GatherV2 a i z\n",
    "i int32[0]=0\nz int32=1\nr GatherV2 a i z\n",
    "r MatrixDiag a\n",
    "r MatrixDiagPart a\n",
    "l int64=0\nr MatrixBandPart a l l\n",
    "r L2Loss a\n",
};

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

static void check(const char *first, const char *second, const char *dims)
{
    char text[1024];

    snprintf(text, sizeof text, "%s%sy Mul r r\n", first, second);
    differences_check(text, dims, 1e-5, 2e-5);
}

START_TEST(operands_of_all_shapes)
{
    check(operands[_i / COUNT(ops)], ops[_i % COUNT(ops)], "2,3");
}
END_TEST

START_TEST(operands_of_shapes_that_are_not_known)
{
    check(operands[_i / COUNT(ops)], ops[_i % COUNT(ops)], "?,?");
}
END_TEST

START_TEST(matrices_of_all_shapes)
{
    check(shapes[_i / COUNT(of_matrices)], of_matrices[_i % COUNT(of_matrices)],
          "2,3");
}
END_TEST

START_TEST(matrices_of_shapes_that_are_not_known)
{
    check(shapes[_i / COUNT(of_matrices)], of_matrices[_i % COUNT(of_matrices)],
          "?,?");
}
END_TEST

TCase *gradient_shapes_tests(void)
{
    TCase *tcase = tcase_create("gradient_shapes");
    const int n = COUNT(operands) * COUNT(ops);
    const int n_matrices = COUNT(shapes) * COUNT(of_matrices);

    tcase_add_loop_test(tcase, operands_of_all_shapes, 0, n);
    tcase_add_loop_test(tcase, operands_of_shapes_that_are_not_known, 0, n);
    tcase_add_loop_test(tcase, matrices_of_all_shapes, 0, n_matrices);
    tcase_add_loop_test(tcase, matrices_of_shapes_that_are_not_known, 0,
                        n_matrices);
    return tcase;
}
