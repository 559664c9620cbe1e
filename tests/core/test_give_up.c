/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that work long ask whether their run is to stop, and give up when it
 * is.  The run's services are exchanged for some that cancel it at the first
 * question, so nothing depends on time: the kernel under test must ask, and the
 * run must end as cancelled whatever the kernel has left behind.
 */
#include "runtime/exec/run.h"
#include "tests/aid/loops.h"
#include "tests/suites.h"

#include <stdatomic.h>

static program p;
static atomic_int n_asked;
static int cancels_at; /* the number of the question that cancels; 0: none */

static bool cancel(const eddy_kernel *kernel)
{
    eddy_run *run = kernel->run;

    if (atomic_fetch_add(&n_asked, 1) + 1 == cancels_at)
        eddy_run_cancel(run);
    return eddy__run_services.cancelled(kernel);
}

static void setup(void)
{
    program_init(&p, 0);
    atomic_store(&n_asked, 0);
    cancels_at = 1;
}

static void teardown(void)
{
    program_deinit(&p);
}

/* Runs with services that are counted. */
static eddy_status execute(void)
{
    eddy__services services = eddy__run_services;

    services.cancelled = cancel;
    program_make_run(&p);
    p.run->kernel.services = &services;
    return eddy_run_execute(p.run, &p.err);
}

/* Many texts, and all of them as one. */
#define TEXTS "n int32[1]=131072\nb string=b\nx Fill n b\n"
#define LONG_TEXT TEXTS "r int32=0\nt ReduceJoin x r\n"

/* Each has a node `y` that works for at least some milliseconds. */
static const struct {
    const char *text;
} programs[] = {
    /* Elementwise, and what looks like it. */
    {"x float32[1048576]=1.5\ny Exp x\n"},
    {"x float64[262144]=1.5\ny Digamma x\n"},
    {"x float64[262144]=1.5\ny Zeta x x\n"},
    {"x float16[1048576]=1.5\ny Cast x SrcT=float16 DstT=float32\n"},
    {"x float32[1048576]=1.5\ny AddV2 x x\n"},
    {"x float32[1,4096]=1.5\nw float32[1024,1]=2.5\ny Maximum x w\n"},
    {"x float32[2,4,1048576]=1.5\nw float32[4,1]=2.5\ny Mul x w\n"},
    {"x float32[1048576]=1.5\ny Greater x x\n"},
    {"x float32[1048576]=1.5\nc bool[1048576]=1\ny SelectV2 c x x\n"},
    {"x float32[1048576]=1.5\na float32=1.0\nb float32=2.0\n"
     "y ClipByValue x a b\n"},
    {"x float32[1048576]=-1.5\ny LeakyRelu x\n"},
    {"x float32[1048576]=1.5\ny AddN x x x N=3\n"},
    {"x float32[4096,512]=1.5\nb float32[512]=0.5\ny BiasAdd x b\n"},
    {"x float32[4096,512]=1.5\ny BiasAddGrad x\n"},
    /* Products. */
    {"x float32[1024,1024]=1.5\ny MatMul x x\n"},
    {"x float64[1024,1024]=1.5\ny MatMul x x transpose_a=true\n"},
    {"x complex64[1024,1024]=1.5\ny MatMul x x\n"},
    {"x float16[128,128]=1.5\ny MatMul x x\n"},
    {"x int32[128,128]=3\ny MatMul x x\n"},
    {"x float32[4096,16,16]=1.5\ny BatchMatMulV2 x x\n"},
    {"x float32[1024,1024]=1.5\ny Einsum x x equation='ij,jk->ik' N=2\n"},
    /* Reductions and scans. */
    {"x float32[2097152]=1.5\nr int32[1]=0\ny Sum x r\n"},
    {"x float32[1024,2048]=1.5\nr int32[1]=0\ny Max x r\n"},
    {"x float32[65536,32]=1.5\nr int32[1]=1\ny Mean x r\n"},
    {"x float32[2097152]=1.5\nr int32=0\ny ArgMax x r\nz Identity y\n"},
    {"x float32[2097152]=1.5\nr int32=0\ny Cumsum x r\n"},
    {"x float32[64,32768]=1.5\nr int32=0\ny Cumprod x r\n"},
    {"x float32[65536,32]=1.5\nr int32=1\ny Cumsum x r reverse=true\n"},
    {"x float32[64,32768]=1.5\ny Softmax x\n"},
    {"x float32[1,2097152]=1.5\ny LogSoftmax x\n"},
    {"x float32[64,32768]=1.5\ny SoftmaxCrossEntropyWithLogits x x\n"},
    {"x float32[64,128,128,2]=1.5\ns float32[2]=1.0\ne float32[0]=0.0\n"
     "y FusedBatchNormV3 x s s e e U=float32\n"},
    /* Images. */
    {"x float32[8,64,64,16]=1.5\nf float32[3,3,16,32]=0.5\n"
     "y Conv2D x f strides={1,1,1,1} padding='SAME'\n"},
    {"x float32[8,64,64,16]=1.5\nf float32[3,3,16,2]=0.5\n"
     "y DepthwiseConv2dNative x f strides={1,1,1,1} padding='SAME'\n"},
    {"x float32[1,256,256,1]=1.5\n"
     "y MaxPool x ksize={1,64,64,1} strides={1,1,1,1} padding='SAME'\n"},
    {"x float32[1,256,256,1]=1.5\n"
     "y AvgPool x ksize={1,64,64,1} strides={1,1,1,1} padding='SAME'\n"},
    /* Sorts and searches. */
    {"x float32[2097152]=1.5\nk int32=1000\ny TopKV2 x k\n"},
    {"x float32[2097152]=1.5\nk int32=1048576\ny TopKV2 x k\n"},
    {"x float32[1048576]=1.5\ny Unique x\n"},
    {"x float32[2097152]=1.5\ny Where x\n"},
    {"s float32[1,65536]=1.5\nx float32[1,262144]=1.5\ny UpperBound s x\n"},
    /* Random numbers. */
    {"n int32[1]=262144\nr float64=1e5\ny RandomPoissonV2 n r\n"},
    {"n int32[1]=262144\na float32=0.5\ny RandomGamma n a\n"},
    /* What moves elements. */
    {"d int32[1]=4194304\nv float32=1.5\ny Fill d v\n"},
    {"a int32=0\nb int32=4194304\nc int32=1\ny Range a b c\n"},
    {"a float32=0.0\nb float32=1.0\nn int32=4194304\ny LinSpace a b n\n"},
    {"i int32[4096]=5\nd int32=1024\na float32=1.0\nb float32=0.0\n"
     "y OneHot i d a b\n"},
    {"x float32[1024]=1.5\nm int32[1]=4096\ny Tile x m\n"},
    {"x float32[1024,1]=1.5\nm int32[2]=1024,4096\ny BroadcastTo x m\n"},
    {"x float32[2048,1024]=1.5\np int32[2]=1,0\ny Transpose x p\n"},
    {"x float32[2097152]=1.5\na int32[1]=0\ny ReverseV2 x a\n"},
    {"x float32[2097152]=1.5\nm int32[1,2]=5,7\ny Pad x m\n"},
    {"x float32[2097152]=1.5\nm int32[1,2]=5,7\ny MirrorPad x m "
     "mode='REFLECT'\n"},
    {"x float32[2097152]=1.5\ns int32[1]=100\na int32[1]=0\ny Roll x s a\n"},
    {"x float32[2097152]=1.5\na int32=0\ny ConcatV2 x x a N=2\n"},
    {"x float32[2097152]=1.5\ny Pack x x N=2\n"},
    {"x float32[2097152]=1.5\nb int32[1]=1\ns int32[1]=2000000\n"
     "y Slice x b s\n"},
    {"x float32[1024]=1.5\ni int32[2097152]=5\na int32=0\ny GatherV2 x i a\n"},
    {"x float32[4,1048576]=1.5\ni int32[4]=2\na int32=0\ny GatherV2 x i a\n"},
    {"x float32[1024]=1.5\ni int32[524288,1]=5\ny GatherNd x i\n"},
    {"i int32[524288,1]=5\nu float32[524288]=1.5\ns int32[1]=1024\n"
     "y ScatterNd i u s\n"},
    {"x float32[1024]=1.5\ni int32[524288,1]=5\nu float32[524288]=1.5\n"
     "y TensorScatterAdd x i u\n"},
    {"x float32[1048576]=1.5\ni int32[1048576]=5\nn int32=9\n"
     "y UnsortedSegmentSum x i n\n"},
    /* Random numbers. */
    {"s int32[1]=2097152\ny RandomUniform s dtype=float32\n"},
    {"s int32[1]=1048576\ny TruncatedNormal s dtype=float64\n"},
    /* Linear algebra. */
    {"x float32[4096,8,8]=1.5\ny Svd x\n"},
    {"x float64[4096,8,8]=1.5\ny Qr x\n"},
    {"x float64[4096,8,8]=1.5\ny SelfAdjointEigV2 x\n"},
    {"x float64[4096,8,8]=1.5\ny Cholesky x\n"},
    {"x float64[2000,1000]=1.5\ny Svd x\n"},
    {"x float64[1000,1000]=1.5\ny SelfAdjointEigV2 x\n"},
    {"x float64[2000,1000]=1.5\ny Qr x\n"},
    {"x float64[1500,1500]=1.5\ny MatrixDeterminant x\n"},

};

#define N_PROGRAMS ((int)(sizeof programs / sizeof *programs))

START_TEST(a_kernel_asks_and_gives_up)
{
    eddy_status status;

    program_build(&p, programs[_i].text);
    program_plan(&p, NULL, "y");
    status = execute();
    ck_assert_msg(atomic_load(&n_asked) > 0, "nobody asked in: %s",
                  programs[_i].text);
    program_want(&p, status, EDDY_CANCELLED, EDDY_E_CANCELLED);
}
END_TEST

/*
 * Kernels that work in stages, and how many questions they must ask at the
 * least: a stage that does not ask leaves them below that.  Of calls that are
 * made aside, whose time counts, only what is done before and after is long.
 */
static const struct {
    const char *text;
    int least;
} staged[] = {
    {"x float32[2048,2048]=1.5\nn int64=3\ny MatrixBandPart x n n\n", 12},
    {"x float32[2048]=1.5\ny MatrixDiag x\n", 3},
    {"x float32[2048,2048]=1.5\nd float32[2048]=2.5\ny MatrixSetDiag x d\n",
     12},
    {"x float32[1048576]=1.5\nn int32[1]=1048576\ny RFFT x n\n", 86},
    {"x float32[99991]=1.5\nn int32[1]=99991\ny RFFT x n\n", 48},
    {"x float32[512,1024]=1.5\nn int32[2]=512,1024\ny RFFT2D x n\n", 35},
    {"a int32=0\nb int32=262144\nc int32=1\nx Range a b c\n"
     "y ListDiff x x\n",
     22},
    {"a int32=0\nb int32=524288\nc int32=1\nx Range a b c\ny Unique x\n", 36},
    {"x float32[2097152]=1.5\nk int32=1048576\ny TopKV2 x k\n", 282},
    {"x float32[1048576]=1.5\ny RandomShuffle x\n", 110},
    {"x float32[1024,512]=1.5\nn int32=256\ny Multinomial x n\n", 18},
    {"a int32=0\nb int32=1048576\nc int32=1\nx Range a b c\n"
     "y DynamicStitch x x N=1\n",
     41},
    {"x float32[1048576]=1.5\ni int32[1048576]=1\n"
     "y DynamicPartition x i num_partitions=2\n",
     38},
    {"x float32[1048576]=1.5\ni int32[1048576]=1\ny SegmentMean x i\n", 36},
    {"x float32[16,4]=1.5\ni int32[524288]=1\n"
     "y SparseSegmentMean x i i\n",
     36},
    {"x float32[16,4]=1.5\ni int32[524288]=1\nn int32=9\n"
     "y SparseSegmentSumGradV2 x i i n\n",
     141},
    {"x float32[65536]=1.5\ny AsString x\n", 12},
    {"x float32[2097152]=1.5\nm int32[1,2]=100,100\n"
     "y MirrorPadGrad x m mode='REFLECT'\n",
     6},
    {"a int32=0\nb int32=1048576\nc int32=1\nx Range a b c\n"
     "y InvertPermutation x\n",
     30},
    {"x float32[1048576,3]=1.5\ny Cross x x\n", 6},
    {"x float32[4194304]=1.5\ny CheckNumerics x message='x'\n", 3},
    {"x float32[4194304]=1.5\ny L2Loss x\n", 48},
    {"d float32[1024]=2.0\nm MatrixDiag d\ny MatrixInverse m\n", 15},
    {"d float32[1024]=2.0\nm MatrixDiag d\ny CholeskyGrad m m\n", 15},
    {"d float32[1024]=2.0\nm MatrixDiag d\ny SelfAdjointEigV2 m\n", 12},
    {"d float32[512]=2.0\nm MatrixDiag d\nc Complex m m\ny Lu c\n", 141},
    {"s int32=0\nl int32=8388608\nd int32=1\ny RaggedRange s l d\n", 100},
    {TEXTS "y StringLength x unit='UTF8_CHAR'\n", 6},
    {"n int32[1]=131072\nb string=1.5\nx Fill n b\n"
     "y StringToNumber x out_type=float32\n",
     15},
    {LONG_TEXT "y ReduceJoin x r\n", 5},
    {LONG_TEXT "y StringJoin t t t t t t t t t t t t t t t t t t t t t t t t "
               "t t t t t t t t N=32\n",
     8},
    {LONG_TEXT "y StringLength t unit='UTF8_CHAR'\n", 5},
    {LONG_TEXT "y StringUpper t\n", 6},
    {LONG_TEXT "y EncodeBase64 t\n", 5},
    {LONG_TEXT "y DecodeBase64 t\n", 6},
    {LONG_TEXT "l int32[64]=131071\nm int32[64]=-131072\n"
               "y Substr t l l unit='UTF8_CHAR'\n"
               "z Substr t m l unit='UTF8_CHAR'\n",
     100},
    {LONG_TEXT "c string=c\ns StringJoin t c N=2\n"
               "u StringJoin t t t t N=4\nv Pack u N=1\n"
               "y StringSplitV2 v s\n",
     1000},
    {"n int32[1]=131072\ni string=IA\nb DecodeBase64 i\nx Fill n b\nr int32=0\n"
     "t ReduceJoin x r\ny StringStrip t\n",
     6},
    {"x int32[1048576]=98\ns int64[2]=0,1048576\n"
     "y UnicodeEncode x s output_encoding='UTF-8'\n",
     14},
    {"x float32[65536]=1.5\ny StringFormat x T=[float32] template='%s' "
     "summarize=-1\n",
     14},
};

#define N_STAGED ((int)(sizeof staged / sizeof *staged))

START_TEST(a_kernel_asks_in_all_its_stages)
{
    program_build(&p, staged[_i].text);
    program_plan(&p, NULL, "y");
    cancels_at = staged[_i].least;
    program_want(&p, execute(), EDDY_CANCELLED, EDDY_E_CANCELLED);
    ck_assert_int_ge(atomic_load(&n_asked), staged[_i].least);
}
END_TEST

/*
 * Kernels that find out in one stage where another puts what it makes.  One
 * that is told to give up in the first must not go on with what is not there.
 */
static const char *const counted[] = {
    "s int32[131072]=0\nl int32[131072]=9\nd int32[131072]=1\n"
    "y RaggedRange s l d T=int32 Tsplits=int64\n",
    "x float32[1048576]=1.5\ny Where x\n",
    "x float32[1048576]=1.5\ny Unique x\n",
    "a int32=0\nb int32=131072\nc int32=1\nx Range a b c\ny Unique x\n",
    "a int32=0\nb int32=131072\nc int32=1\nx Range a b c\n"
    "y UniqueWithCounts x\n",
    "a int32=0\nb int32=262144\nc int32=1\nx Range a b c\n"
    "e int32[0]=0\ny ListDiff x e\n",
    "a int32=0\nb int32=262144\nc int32=1\nx Range a b c\n"
    "y DynamicStitch x x N=1\n",
    "x float32[262144]=1.5\ni int32[262144]=1\n"
    "y DynamicPartition x i num_partitions=2\n",
    "a int32=0\nb int32=262144\nc int32=1\nx Range a b c\n"
    "y InvertPermutation x\n",
    "x float32[262144]=1.5\ni int32[262144]=1\ny SegmentMean x i\n",
    "x float32[16,4]=1.5\ni int32[524288]=1\ny SparseSegmentMean x i i\n",
    "x float32[16,4]=1.5\ni int32[524288]=1\nn int32=9\n"
    "y SparseSegmentSumGradV2 x i i n\n",
    "x int32[1048576]=7\nn int32=9\nw float32[0]=1.0\ny Bincount x n w\n",
    "x float32[1048576]=1.5\nk int32=1000\ny TopKV2 x k\n",
    "x int32[1048576]=7\nd int32[2]=10,10\ny UnravelIndex x d\n",
    "i int64[262144,2]=1\nv float32[262144]=1.5\ns int64[2]=4,4\n"
    "y SparseReorder i v s\n",
    "i int64[262144,2]=1\nv float32[262144]=1.5\ns int64[2]=4,4\n"
    "d float32=0.5\ny SparseFillEmptyRows i v s d\n",
    "i int64[262144,2]=1\nv float32[262144]=1.5\ns int64[2]=4,4\n"
    "t float32=0.5\ny SparseAdd i v s i v s t\n",
    "i int64[262144,2]=1\nv float32[262144]=1.5\ns int64[2]=4,4\n"
    "a int32=0\ny SparseConcat i i v v s s N=2 concat_dim=0\n",
    "i int64[262144,2]=1\nv float32[262144]=1.5\ns int64[2]=4,4\n"
    "a int64=0\ny SparseSplit a i v s num_split=2\n",
    TEXTS "y Unique x\n",
    TEXTS "s string=c\ny StringSplitV2 x s\n",
    TEXTS "y UnicodeDecode x input_encoding='UTF-8'\n",
    LONG_TEXT "y UnicodeDecode t input_encoding='UTF-8'\n",
    LONG_TEXT "v Pack t N=1\ns string=c\ny StringSplitV2 v s\n",
    LONG_TEXT "v Pack t N=1\ns string=b\ny StringSplit v s\n",
    LONG_TEXT "l int32[64]=131071\ny Substr t l l unit='UTF8_CHAR'\n",
    LONG_TEXT "y DecodeRaw t out_type=uint8\n",
};

#define N_COUNTED ((int)(sizeof counted / sizeof *counted))

START_TEST(a_kernel_that_gave_up_does_not_go_on)
{
    int n;

    program_build(&p, counted[_i]);
    program_plan(&p, NULL, "y");
    cancels_at = 0;
    program_want(&p, execute(), EDDY_OK, EDDY_E_NONE);
    n = atomic_load(&n_asked);
    ck_assert_int_gt(n, 0);
    for (int i = 1; i <= n; i += i < 3 ? 1 : 1 + n / 4) {
        cancels_at = i;
        atomic_store(&n_asked, 0);
        program_want(&p, execute(), EDDY_CANCELLED, EDDY_E_CANCELLED);
    }
}
END_TEST

/* Also one that has done a part of its work, and nothing is lost by asking. */
START_TEST(a_kernel_gives_up_half_way)
{
    program_build(&p, "x float32[4194304]=1.5\ny Exp x\nz Neg y\n");
    program_plan(&p, NULL, "z");
    cancels_at = 3;
    program_want(&p, execute(), EDDY_CANCELLED, EDDY_E_CANCELLED);
    ck_assert_int_ge(atomic_load(&n_asked), 3);
    cancels_at = 0;
    ck_assert_int_eq(execute(), EDDY_OK);
}
END_TEST

/*
 * Large enough to go to a thread of its own, and the same as ever: singular
 * values of c times the identity are c, of ones the size and zeros.
 */
START_TEST(a_large_matrix_is_decomposed_aside)
{
    const float *values;

    program_build(&p, "x float32[400,500]=1.5\ny Svd x\n"
                      "d float32[512]=2.0\nm MatrixDiag d\n"
                      "i MatrixInverse m\n");
    program_plan(&p, NULL, "y i");
    cancels_at = 0;
    ck_assert_int_eq(execute(), EDDY_OK);
    values = eddy_tensor_data(eddy_run_fetch(p.run, 0));
    ck_assert_float_eq_tol(values[0], 670.82F, 0.05F);
    for (int i = 1; i < 400; i++)
        ck_assert_float_le(values[i], 0.05F);
    values = eddy_tensor_data(eddy_run_fetch(p.run, 1));
    for (int i = 0; i < 512; i++)
        for (int j = 0; j < 512; j++)
            ck_assert(values[512 * i + j] == (i == j ? 0.5F : 0));
}
END_TEST

/* Left calls end by themselves, and no more than a few are under way. */
START_TEST(calls_that_were_left_end)
{
    program_build(&p, "x float32[500,500]=1.5\ny Svd x\n");
    program_plan(&p, NULL, "y");
    for (int i = 0; i < 12; i++) {
        atomic_store(&n_asked, 0);
        program_want(&p, execute(), EDDY_CANCELLED, EDDY_E_CANCELLED);
    }
    cancels_at = 0;
    ck_assert_int_eq(execute(), EDDY_OK);
}
END_TEST

/* ---- deadlines ---- */

static eddy_status run_until_told(eddy_kernel *k)
{
    while (!eddy_kernel_cancelled(k))
        ;
    return eddy_kernel_fail(k, EDDY_CANCELLED, EDDY_E_CANCELLED, "told");
}

/* One that returns EDDY_OK all the same, with no output. */
static eddy_status run_until_told_quietly(eddy_kernel *k)
{
    while (!eddy_kernel_cancelled(k))
        ;
    return EDDY_OK;
}

static void register_waiting(eddy_kernel_fn kernel)
{
    const eddy_op_spec spec = {.size = sizeof spec,
                               .name = "Waiting",
                               .inputs = "x: float32",
                               .outputs = "y: float32",
                               .kernel = kernel};

    ck_assert_int_eq(eddy_op_register(p.ctx, &spec, &p.err), EDDY_OK);
}

/* Nothing else looks at the clock while a kernel runs. */
START_TEST(a_kernel_is_told_of_the_deadline)
{
    program_deinit(&p);
    program_init(&p, _i / 2 ? 2 : 0);
    register_waiting(_i % 2 ? run_until_told_quietly : run_until_told);
    p.run_options.timeout_ns = 1000000;
    program_build(&p, "x float32[65536]=1.5\ny Waiting x\nz Waiting x\n");
    program_plan(&p, NULL, "y z");
    program_want(&p, program_execute(&p), EDDY_DEADLINE_EXCEEDED,
                 EDDY_E_DEADLINE);
}
END_TEST

/*
 * ThreadSanitizer does not see the lock with which OpenBLAS, which it has not
 * compiled, hands its buffers from one thread to another.
 */
#ifdef __SANITIZE_THREAD__
#define IS_BLIND_TO_BLAS true
#else
#define IS_BLIND_TO_BLAS false
#endif

TCase *give_up_tests(void)
{
    TCase *tc = tcase_create("give_up");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_kernel_asks_and_gives_up, 0, N_PROGRAMS);
    tcase_add_loop_test(tc, a_kernel_that_gave_up_does_not_go_on, 0, N_COUNTED);
    tcase_add_test(tc, a_kernel_gives_up_half_way);
    tcase_add_loop_test(tc, a_kernel_asks_in_all_its_stages, 0, N_STAGED);
    tcase_add_test(tc, a_large_matrix_is_decomposed_aside);
    if (!IS_BLIND_TO_BLAS)
        tcase_add_test(tc, calls_that_were_left_end);
    tcase_add_loop_test(tc, a_kernel_is_told_of_the_deadline, 0, 4);
    return tc;
}
