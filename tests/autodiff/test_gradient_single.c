/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradients of ops that have no float64: of complex numbers, and
 * FusedBatchNorm.  Differences of single precision are rough, but a rule that
 * is wrong is so by more.
 */
#include "tests/aid/differences.h"
#include "tests/suites.h"

#include <stdio.h>

#define STEP 4e-3
#define TOLERANCE 4e-3

/*
 * From z and k, complex64[2,3], to y0, complex64: f, x in single precision, is
 * the real part of z, and the imaginary part of it is w.
 */
static const char *const complex_programs[] = {
    "y0 Mul z z\n",
    "u0 Conj z\n"
    "y0 Mul z u0\n",
    "y0 RealDiv k z\n",
    "y0 DivNoNan z k\n",
    "y0 Pow z k\n",
    "y0 Pow k z\n",
    "y0 SquaredDifference z k\n",
    "y0 Xlogy z k\n",
    "y0 Xlogy k z\n",
    "y0 Xdivy z k\n",
    "y0 Xdivy k z\n",
    "y0 Xlog1py k z\n",
    "y0 MulNoNan z z\n",
    "y0 AddV2 z k\n",
    "y0 Sub k z\n",
    "y0 Neg z\n",
    "y0 Square z\n",
    "y0 Sqrt z\n",
    "y0 Rsqrt z\n",
    "y0 Reciprocal z\n",
    "y0 Exp z\n",
    "y0 Expm1 z\n",
    "y0 Log z\n",
    "y0 Log1p z\n",
    "y0 Sin z\n",
    "y0 Cos z\n",
    "y0 Tan z\n",
    "y0 Sinh z\n",
    "y0 Cosh z\n",
    "y0 Tanh z\n",
    "y0 Sigmoid z\n",
    "y0 Asin z\n",
    "y0 Acos z\n",
    "y0 Atan z\n",
    "y0 Asinh z\n",
    "y0 Acosh z\n",
    "y0 Atanh z\n",
    "y0 Conj z\n",
    "a0 ComplexAbs z\n"
    "y0 Complex a0 f\n",
    "a0 Angle z\n"
    "y0 Complex f a0\n",
    "a0 Real z\n"
    "b0 Imag z\n"
    "c0 Mul a0 b0\n"
    "y0 Complex c0 b0\n",
    "f1 float32[3]=1,2,3\n"
    "y0 Complex f f1\n",
    "y0 MatMul z k transpose_b=true\n",
    "y0 BatchMatMulV2 z k adj_y=true\n",
    "y0 BatchMatMulV2 z z adj_x=true\n",
    "y0 Einsum z k equation='ij,kj->ki'\n",
    "i int32=1\n"
    "y0 Sum z i\n",
    "i int32=1\n"
    "y0 Mean z i\n",
    "i int32=1\n"
    "y0 Prod z i\n",
    "i int32=0\n"
    "y0 Cumprod z i\n",
    "i int32=1\n"
    "y0 Cumsum z i\n",
    "m0 BatchMatMulV2 z k adj_y=true\n"
    "y0 MatrixInverse m0\n",
    "m0 BatchMatMulV2 z k adj_y=true\n"
    "y0 MatrixDeterminant m0\n",
    "m0 BatchMatMulV2 z k adj_y=true\n"
    "y0 MatrixSolve m0 z\n",
    "m0 BatchMatMulV2 z k adj_y=true\n"
    "y0 MatrixTriangularSolve m0 z adjoint=true\n",
    "i int32[2]=0,0\n"
    "y0 SegmentProd z i\n",
};

/* From f to y. */
static const char *const norms[] = {
    "s int32[4]=1,1,2,3\n"
    "b0 Reshape f s\n"
    "n0 Unpack f num=2\n"
    "n1 float32[3]=0.5,1,2\n"
    "n2 float32[3]=0.5,0.1,0.7\n"
    "c0 FusedBatchNormV3 b0 n0:1 n1 n1 n2 is_training=true data_format='NHWC' "
    "epsilon=0.1\n"
    "y1 Mul c0 b0\n"
    "y0 Mul y1 y1\n"
    "y Cast y0 DstT=float64\n",
    "s int32[4]=1,3,2,1\n"
    "b0 Reshape f s\n"
    "n0 Unpack f num=2\n"
    "n1 float32[3]=0.5,1,2\n"
    "n2 float32[3]=0.5,0.1,0.7\n"
    "c0 FusedBatchNormV3 b0 n0:1 n1 n1 n2 is_training=true data_format='NCHW' "
    "epsilon=0.1\n"
    "y1 Mul c0 b0\n"
    "y0 Mul y1 y1\n"
    "y Cast y0 DstT=float64\n",
    "s int32[4]=1,1,2,3\n"
    "b0 Reshape f s\n"
    "n0 Unpack f num=2\n"
    "n1 float32[3]=0.5,1,2\n"
    "n2 float32[3]=0.5,0.1,0.7\n"
    "c0 FusedBatchNorm b0 n0:1 n1 n1 n2 is_training=true data_format='NHWC' "
    "epsilon=0.1\n"
    "y1 Mul c0 b0\n"
    "y0 Mul y1 y1\n"
    "y Cast y0 DstT=float64\n",
    "s int32[4]=1,1,2,3\n"
    "b0 Reshape f s\n"
    "n0 Unpack f num=2\n"
    "n1 float32[3]=0.5,1,2\n"
    "n2 float32[3]=0.5,0.1,0.7\n"
    "c0 FusedBatchNormV2 b0 n0:1 n1 n1 n2 is_training=true data_format='NHWC' "
    "epsilon=0.1\n"
    "y1 Mul c0 b0\n"
    "y0 Mul y1 y1\n"
    "y Cast y0 DstT=float64\n",
    "s int32[4]=1,1,2,3\n"
    "b0 Reshape f s\n"
    "n0 Unpack f num=2\n"
    "n1 float32[3]=0.5,1,2\n"
    "n2 float32[3]=0.5,0.1,0.7\n"
    "c0 FusedBatchNormV3 b0 n0:1 n1 n1 n2 is_training=false data_format='NHWC' "
    "epsilon=0.1\n"
    "y1 Mul c0 b0\n"
    "y0 Mul y1 y1\n"
    "y Cast y0 DstT=float64\n",
    "s int32[4]=1,3,2,1\n"
    "b0 Reshape f s\n"
    "n0 Unpack f num=2\n"
    "n1 float32[3]=0.5,1,2\n"
    "n2 float32[3]=0.5,0.1,0.7\n"
    "c0 FusedBatchNormV3 b0 n0:1 n1 n1 n2 is_training=false data_format='NCHW' "
    "epsilon=0.1\n"
    "y1 Mul c0 b0\n"
    "y0 Mul y1 y1\n"
    "y Cast y0 DstT=float64\n",
    "s int32[4]=1,1,2,3\n"
    "b0 Reshape f s\n"
    "n0 Unpack f num=2\n"
    "n1 float32[3]=0.5,1,2\n"
    "n2 float32[3]=0.5,0.1,0.7\n"
    "c0 FusedBatchNorm b0 n0:1 n1 n1 n2 is_training=false data_format='NHWC' "
    "epsilon=0.1\n"
    "y1 Mul c0 b0\n"
    "y0 Mul y1 y1\n"
    "y Cast y0 DstT=float64\n",
    "s int32[4]=1,1,2,3\n"
    "b0 Reshape f s\n"
    "n0 Unpack f num=2\n"
    "n1 float32[3]=0.5,1,2\n"
    "n2 float32[3]=0.5,0.1,0.7\n"
    "c0 FusedBatchNormV2 b0 n0:1 n1 n1 n2 is_training=false data_format='NHWC' "
    "epsilon=0.1\n"
    "y1 Mul c0 b0\n"
    "y0 Mul y1 y1\n"
    "y Cast y0 DstT=float64\n",
};

#define BEGIN                                                                  \
    "f Cast x DstT=float32\ng Cast w DstT=float32\nz Complex f g\n"            \
    "k0 float32[2,3]=0.7,-0.4,1.2,0.5,-0.9,0.8\n"                              \
    "k Complex g k0\n"
#define END                                                                    \
    "re Real y0\nim Imag y0\nhalf float32=0.5\nhalves Mul im half\n"           \
    "both AddV2 re halves\nsquare Mul both both\nwhole AddV2 square im\n"      \
    "y Cast whole DstT=float64\n"

static void check(const char *text, const char *end, const char *dims)
{
    char whole[2048];

    snprintf(whole, sizeof whole, BEGIN "%s%s", text, end);
    differences_check(whole, dims, STEP, TOLERANCE);
}

START_TEST(complex_rules_agree_with_differences)
{
    check(complex_programs[_i], END, "2,3");
}
END_TEST

START_TEST(complex_rules_agree_where_the_shape_is_not_known)
{
    check(complex_programs[_i], END, "?,?");
}
END_TEST

START_TEST(batch_norms_agree_with_differences)
{
    check(norms[_i], "", "2,3");
}
END_TEST

TCase *gradient_single_tests(void)
{
    TCase *tcase = tcase_create("gradient_single");
    const int n = (int)(sizeof complex_programs / sizeof *complex_programs);

    tcase_add_loop_test(tcase, complex_rules_agree_with_differences, 0, n);
    tcase_add_loop_test(tcase, complex_rules_agree_where_the_shape_is_not_known,
                        0, n);
    tcase_add_loop_test(tcase, batch_norms_agree_with_differences, 0,
                        (int)(sizeof norms / sizeof *norms));
    return tcase;
}
