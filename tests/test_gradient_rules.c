/* The gradients of ops against central differences, in float64. */
#include "tests/program.h"
#include "tests/suites.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define N 6

/*
 * Graphs from x, float64[2,3], to y; `w` and `v` are constants of that shape
 * and of a row's.  Each is also differentiated twice.
 */
static const char *const programs[] = {
    "y AddV2 x v\n",
    "y AddV2 v x\n",
    "y Sub v x\n",
    "y Mul x w\n",
    "a Mul x x\ny Mul a v\n",
    "y RealDiv w x\n",
    "y DivNoNan x v\n",
    "y Pow x w\n",
    "y Pow w x\n",
    "y Maximum x w\n",
    "y Minimum x w\n",
    "y SquaredDifference x w\n",
    "a Greater x w\nq Mul x x\ny SelectV2 a q x\n",
    "a Greater x w\nq Mul x x\ny Select a q x\n",
    "y Neg x\n",
    "y Square x\n",
    "y Sqrt x\n",
    "y Rsqrt x\n",
    "y Reciprocal x\n",
    "y Exp x\n",
    "y Expm1 x\n",
    "y Log x\n",
    "y Log1p x\n",
    "y Sin x\n",
    "y Cos x\n",
    "y Tan x\n",
    "y Sinh x\n",
    "y Cosh x\n",
    "y Tanh x\n",
    "y Sigmoid x\n",
    "y Softplus x\n",
    "y Erf x\n",
    "y Erfc x\n",
    "a Sub x w\ny Abs a\n",
    "a Sub x w\ny Relu a\n",
    "a Sub x w\ny Elu a\n",
    "q Mul x x\ni int32=0\ny Sum q i\n",
    "q Mul x x\ni int32[2]=0,1\ny Sum q i\n",
    "q Mul x x\ni int32=-1\ny Sum q i keep_dims=true\n",
    "q Mul x x\ni int32=1\ny Mean q i\n",
    "i int32=1\na Max x i\ny Mul a a\n",
    "i int32=0\na Min x i\ny Mul a a\n",
    "q Mul x x\ni int32=1\ny Cumsum q i exclusive=true\n",
    "q Mul x x\ni int32=0\ny Cumsum q i reverse=true\n",
    "y MatMul x w transpose_b=true\n",
    "q Mul x x\ny MatMul w q transpose_a=true\n",
    "q Mul x x\ny MatMul q w transpose_a=true\n",
    "y MatMul x x transpose_b=true\n",
    "s int32[2]=3,2\nq Mul x x\ny Reshape q s\n",
    "i int32=1\nq Mul x x\ny ExpandDims q i\n",
    "i int32=1\ny ConcatV2 x x w i\n",
    "i int32=-2\nq Mul x x\ny ConcatV2 w q x i\n",
    "i int32=1\ns Split i x num_split=3\ny Mul s s:2\n",
    "i int32=1\nz int64[2]=1,2\ns SplitV x z i num_split=2\ny Mul s:1 s\n",
    "q Mul x x\ny Pack q x axis=1\n",
    "s Unpack x num=2\ny Mul s s:1\n",
    "b int32[2]=0,1\nz int32[2]=2,2\nq Mul x x\ny Slice q b z\n",
    "b int32[1]=1\ne int32[1]=2\ns int32[1]=1\nq Mul x x\n"
    "y StridedSlice q b e s shrink_axis_mask=1\n",
    "p int32[2]=1,0\nq Mul x x\ny Transpose q p\n",
    "i int32[1]=1\nq Mul x x\ny ReverseV2 q i\n",
    "s int32=1\ni int32=1\nq Mul x x\na Roll q s i\ny Mul a x\n",
    "p int32[2,2]=1,0,0,2\nq Mul x x\ny Pad q p\n",
    "m int32[2]=2,3\nq Mul x x\ny Tile q m\n",
    "i int32[3]=1,0,1\nz int32=0\nq Mul x x\ny GatherV2 q i z\n",
    "i int32[2,2]=1,2,0,1\nq Mul x x\ny GatherNd q i\n",
    "i int32[2,1]=2,0\ns int32[2]=4,3\nq Mul x x\ny ScatterNd i q s\n",
    "s int32[3]=2,2,3\nq Mul x x\ny BroadcastTo q s\n",
    "a Softmax x\ny Mul a w\n",
    "a LogSoftmax x\ny Mul a w\n",
    "b float64[3]=1,2,3\nq Mul x x\ny BiasAdd q b\n",
    "y FloorMod x w\n",
    /* reductions and running ones */
    "q Mul x x\ni int32=0\ny Prod q i\n",
    "i int64[2]=0,-1\ny Prod x i\n",
    "i int32=-1\ny Prod x i keep_dims=true\n",
    "i int32=1\ny EuclideanNorm x i\n",
    "i int32[2]=0,1\na EuclideanNorm x i keep_dims=true\ny Mul a x\n",
    "i int32=1\ny Cumprod x i\n",
    "i int32=0\ny Cumprod x i exclusive=true reverse=true\n",
    "i int32=1\na CumulativeLogsumexp x i\ny Mul a w\n",
    "i int32=0\na CumulativeLogsumexp x i exclusive=true reverse=true\n"
    "l float64=-9\nb Maximum a l\nm float64[2,3]=-1,2,1,1,-2,3\n"
    "y Mul b m\n",
    "n int64[2]=2,3\nq Mul x x\ny ReverseSequence q n seq_dim=1\n",
    "k int32=2\nq Mul x x\na TopKV2 q k\ny Mul a a\n",
    /* products */
    "y BatchMatMulV2 x w adj_y=true\n",
    "q Mul x x\ny BatchMatMul q w adj_x=true\n",
    "y BatchMatMulV3 x x adj_y=true Tout=float64\n",
    "i int32=0\na ExpandDims x i\nm float64[4,3,2]=1,2,0.5,-1,3\n"
    "y BatchMatMulV2 a m\n",
    "i int32=0\na ExpandDims x i\nm float64[4,2,2]=1,2,0.5,-1,3\n"
    "b BatchMatMulV2 a m adj_x=true\ny BatchMatMulV2 m b adj_x=true "
    "adj_y=true\n",
    "y Einsum x w equation='ij,kj->ik'\n",
    "y Einsum x x equation='ij,kj->ki'\n",
    "q Mul x x\ny Einsum q equation='ij->j'\n",
    "q Mul x x\ny Einsum q equation='ij->ji'\n",
    "q Mul x x\ny Einsum q equation='ij->'\n",
    "m MatMul x x transpose_b=true\ny Einsum m equation='ii->'\n",
    "m MatMul x x transpose_b=true\ny Einsum m v equation='ii,k->ik'\n",
    "y Einsum x w equation='ij,kl->i'\n",
    "m float64[4,3,2]=1,2,0.5,-1,3\ny Einsum x m equation='ij,...jk->...ik'\n",
    "m float64[4,1,3]=1,2,0.5,-1,3\ny Einsum x m equation='...j,...j->j...'\n",
    /* gathers and scatters */
    "i int32[3]=1,0,1\na int32=1\nq Mul x x\ny GatherV2 q i a\n",
    "i int64[2,2]=1,0,1,2\na int32=-1\nq Mul x x\ny GatherV2 q i a\n",
    "i int32[2,2]=1,0,1,2\na int32=1\nq Mul x x\n"
    "y GatherV2 q i a batch_dims=1\n",
    "i int32[2,2]=1,0,1,2\na int32=1\nq Mul x x\n"
    "y GatherV2 q i a batch_dims=-1\n",
    "i int32[2,2]=1,0,1,1\nq Mul x x\ny Gather q i\n",
    "i int32[1,1]=1\nu float64[1,3]=1,2,3\nq Mul x x\n"
    "y TensorScatterUpdate q i u\n",
    "i int32[2,1]=1,1\nq Mul x x\ny TensorScatterAdd w i q\n",
    "i int32[2,1]=1,1\nq Mul x x\ny TensorScatterSub q i q\n",
    "i int32[2,1]=1,0\na TensorScatterMax x i w\ny Mul a a\n",
    "i int32[2,1]=1,0\na TensorScatterMin w i x\ny Mul a a\n",
    /* diagonals */
    "q Mul x x\ny MatrixDiag q\n",
    "q Mul x x\ny MatrixDiagPart q\n",
    "k int32=-1\nr int32=4\nc int32=3\nz float64=0\nq Mul x x\n"
    "y MatrixDiagV2 q k r c z\n",
    "k int32[2]=0,1\nr int32=3\nc int32=3\nz float64=0\nq Mul x x\n"
    "y MatrixDiagV3 q k r c z\n",
    "k int32=1\nz float64=0\nq Mul x x\ny MatrixDiagPartV2 q k z\n",
    "k int32[2]=-1,1\nz float64=0\nq Mul x x\ny MatrixDiagPartV3 q k z "
    "align='LEFT_RIGHT'\n",
    "d float64[2]=1,2\nq Mul x x\ny MatrixSetDiag q d\n",
    "k int32=1\nd float64[2]=1,2\nq Mul x x\ny MatrixSetDiagV3 q d k\n",
    "k int32=0\nd Unpack x num=3 axis=1\nq Mul d d:1\n"
    "y MatrixSetDiagV2 w q k\n",
    "l int64=0\nu int64=1\nq Mul x x\ny MatrixBandPart q l u\n",
    /* neural networks */
    "l Softmax w\na SoftmaxCrossEntropyWithLogits x l\ny Mul a a\n",
    "a SoftmaxCrossEntropyWithLogits w x\ny Mul a a\n",
    "l Softmax w\na SoftmaxCrossEntropyWithLogits x l\ny Mul a:1 a:1\n",
    "t int32[2]=2,0\na SparseSoftmaxCrossEntropyWithLogits x t\ny Mul a a\n",
    "q Mul x x\na BiasAddV1 w v\ny Mul a q\n",
    "q Mul x x\na BiasAddGrad q\ny Mul a a\n",
    "a L2Loss x\ny Mul a a\n",
    "s int32[4]=1,2,3,1\na Reshape x s\nf float64[2,2,1,2]=1,2,0.5,-1,3\n"
    "b Conv2D a f strides={1,1,1,1} padding='SAME'\ny Mul b b\n",
    "s int32[4]=1,2,3,1\na Reshape w s\nt int32[4]=2,3,1,1\nf Reshape x t\n"
    "b Conv2D a f strides={1,1,2,1} padding='SAME'\ny Mul b b\n",
    "s int32[4]=1,2,3,1\na Reshape x s\nf float64[2,2,1,2]=1,2,0.5,-1,3\n"
    "b DepthwiseConv2dNative a f strides={1,1,1,1} padding='VALID'\n"
    "y Mul b b\n",
    "s int32[4]=1,2,3,1\na Reshape w s\nt int32[4]=2,1,1,3\nf Reshape x t\n"
    "b DepthwiseConv2dNative a f strides={1,1,1,1} padding='SAME'\n"
    "y Mul b b\n",
    /* lists */
    "e int32[1]=3\nl TensorListFromTensor x e\ni int32=1\n"
    "a TensorListGetItem l i e element_dtype=float64\ny Mul a a\n",
    "e int32[1]=3\nl TensorListFromTensor x e\ni int32=1\n"
    "r TensorListSetItem l i v\ns TensorListStack r e element_dtype=float64\n"
    "y Mul s s\n",
    "e int32[1]=3\nn int32=2\ni int32=1\nz int32=-1\n"
    "l TensorListReserve e n element_dtype=float64\n"
    "u Unpack x num=2\na Mul u u:1\nr TensorListSetItem l i a\n"
    "s TensorListStack r e element_dtype=float64\ny Mul s x\n",
    "e int32[1]=3\nn int32=-1\nl EmptyTensorList e n element_dtype=float64\n"
    "u Unpack x num=2\na TensorListPushBack l u\n"
    "b TensorListPushBack a u:1\nc TensorListPopBack b e "
    "element_dtype=float64\nd TensorListPushBack c u:1\n"
    "s TensorListStack d e element_dtype=float64\nf Mul s s\n"
    "y Mul f c:1\n",
    "e int32[1]=3\nl TensorListFromTensor x e\ni int32[3]=1,0,1\n"
    "a TensorListGather l i e element_dtype=float64\ny Mul a a\n",
    "e int32[1]=3\ni int32[2]=2,0\nn int32=3\n"
    "l TensorListScatterV2 x i e n\n"
    "s TensorListStack l e element_dtype=float64\ny Mul s s\n",
    "e int32[1]=3\ni int32[2]=1,0\nl TensorListFromTensor w e\n"
    "a TensorListScatterIntoExistingList l x i\n"
    "s TensorListStack a e element_dtype=float64\ny Mul s s\n",
    "e int32=-1\nn int64[2]=2,1\nt int32[2]=1,0\nq Transpose x t\n"
    "l TensorListSplit q e n\n"
    "a TensorListConcatV2 l e n element_dtype=float64\ny Mul a a\n",
    "e int32[1]=3\nl TensorListFromTensor x e\n"
    "r TensorListFromTensor w e\n"
    "a TensorListConcatLists r l element_dtype=float64\nn int32=3\n"
    "b TensorListResize a n\ns TensorListStack b e element_dtype=float64\n"
    "y Mul s s\n",
};

static program p;

static double sum_of(const double *x)
{
    const eddy_shape shape = {.rank = 2, .dims = {2, 3}};
    eddy_tensor *fed = program_tensor(&p, EDDY_FLOAT64, &shape, x);
    double sum = 0;

    program_make_run(&p);
    ck_assert_int_eq(eddy_run_feed(p.run, 0, fed, &p.err), EDDY_OK);
    eddy_tensor_release(fed);
    program_run(&p);
    for (int64_t i = 0; i < eddy_tensor_count(eddy_run_fetch(p.run, 0)); i++)
        sum += ((const double *)eddy_tensor_data(eddy_run_fetch(p.run, 0)))[i];
    return sum;
}

/* The sum of the fetched elements for each element of x moved both ways. */
static void differences(const char *fetch, const double *x, double *out)
{
    const double step = 1e-5;

    program_plan(&p, "x", fetch);
    for (int i = 0; i < N; i++) {
        double moved[N], up;

        memcpy(moved, x, sizeof moved);
        moved[i] = x[i] + step;
        up = sum_of(moved);
        moved[i] = x[i] - step;
        out[i] = (up - sum_of(moved)) / (2 * step);
    }
}

static void compare(const char *what, const char *fetch, const double *x,
                    const double *want)
{
    program_plan(&p, "x", fetch);
    sum_of(x);
    for (int i = 0; i < N; i++) {
        const double got =
            ((const double *)eddy_tensor_data(eddy_run_fetch(p.run, 0)))[i];

        ck_assert_msg(fabs(got - want[i]) <= 2e-6 * (1 + fabs(want[i])),
                      "%s[%d]: %.12g, by differences %.12g", what, i, got,
                      want[i]);
    }
}

static void check(int which, const char *declared)
{
    static const double x[N] = {0.3, 1.7, 0.9, 2.2, 0.6, 1.1};
    eddy_output y, dx, from;
    double want[N];
    char name[256];

    program_init(&p, 0);
    program_build(&p, declared);
    program_build(&p, "w float64[2,3]=1.3,0.7,1.9,0.4,2.6,1.6\n"
                      "v float64[3]=0.8,1.4,2.3\n");
    program_build(&p, programs[which]);
    from = program_output(&p, "x");
    y = program_output(&p, "y");
    for (int order = 1; order <= 2; order++) {
        differences(eddy_graph_node_name(p.graph, y.node), x, want);
        if (eddy_gradients(p.graph, &y, 1, &from, 1, NULL, &dx, &p.err) !=
            EDDY_OK)
            ck_abort_msg("%s: %s: %s", programs[which], p.err.node,
                         p.err.message);
        if (dx.node == EDDY_NO_NODE)
            break;
        snprintf(name, sizeof name, "%s:%u",
                 eddy_graph_node_name(p.graph, dx.node), dx.index);
        compare(programs[which], name, x, want);
        y = dx;
    }
    program_deinit(&p);
}

START_TEST(rules_agree_with_differences)
{
    check(_i, "x ?float64[2,3]\n");
}
END_TEST

static eddy_output product_of(eddy_output a, eddy_output b)
{
    const eddy_output inputs[] = {a, b};
    eddy_output out;

    ck_assert_int_eq(
        eddy_graph_add_op(p.graph, "Mul", NULL, inputs, 2, &out, &p.err),
        EDDY_OK);
    return out;
}

static double total(size_t fetch)
{
    const eddy_tensor *tensor = eddy_run_fetch(p.run, fetch);
    double sum = 0;

    for (int64_t i = 0; i < eddy_tensor_count(tensor); i++)
        sum += ((const double *)eddy_tensor_data(tensor))[i];
    return sum;
}

/* u.(J v) = (J'u).v, for some u and v: forward against reverse mode. */
static void check_modes(int which, const char *declared)
{
    static const double at[N] = {0.3, 1.7, 0.9, 2.2, 0.6, 1.1};
    const eddy_shape shape = {.rank = 2, .dims = {2, 3}};
    eddy_gradient_options options = {.size = sizeof options};
    eddy_output x, y, u, v, forward, reverse, sums[2];
    eddy_tensor *fed;

    program_init(&p, 0);
    program_build(&p, declared);
    program_build(&p, "w float64[2,3]=1.3,0.7,1.9,0.4,2.6,1.6\n"
                      "v float64[3]=0.8,1.4,2.3\n");
    program_build(&p, programs[which]);
    x = program_output(&p, "x");
    y = program_output(&p, "y");
    u = program_unary(&p, "Cos", y);
    v = program_unary(&p, "Sin", x);
    options.grad_ys = &u;
    if (eddy_jvp(p.graph, &y, 1, &x, 1, &v, NULL, &forward, &p.err) !=
            EDDY_OK ||
        eddy_gradients(p.graph, &y, 1, &x, 1, &options, &reverse, &p.err) !=
            EDDY_OK)
        ck_abort_msg("%s: %s: %s", programs[which], p.err.node, p.err.message);
    sums[0] = product_of(u, forward);
    sums[1] = product_of(reverse, v);
    p.plan_options.feeds = &x;
    p.plan_options.n_feeds = 1;
    program_plan_outputs(&p, sums, 2);
    program_make_run(&p);
    fed = program_tensor(&p, EDDY_FLOAT64, &shape, at);
    ck_assert_int_eq(eddy_run_feed(p.run, 0, fed, &p.err), EDDY_OK);
    eddy_tensor_release(fed);
    program_run(&p);
    ck_assert_msg(fabs(total(0) - total(1)) <= 1e-11 * (1 + fabs(total(1))),
                  "%s: %.15g forward, %.15g in reverse", programs[which],
                  total(0), total(1));
    program_deinit(&p);
}

START_TEST(rules_agree_with_forward_mode)
{
    check_modes(_i, "x ?float64[2,3]\n");
}
END_TEST

START_TEST(rules_agree_with_forward_mode_where_shapes_are_not_known)
{
    check_modes(_i, "x ?float64[?,?]\n");
}
END_TEST

/* Then shapes are found at run time. */
START_TEST(rules_agree_where_the_shape_is_not_known)
{
    check(_i, "x ?float64[?,?]\n");
}
END_TEST

TCase *gradient_rules_tests(void)
{
    TCase *tcase = tcase_create("gradient_rules");
    const int n = (int)(sizeof programs / sizeof programs[0]);

    tcase_add_loop_test(tcase, rules_agree_with_differences, 0, n);
    tcase_add_loop_test(tcase, rules_agree_where_the_shape_is_not_known, 0, n);
    tcase_add_loop_test(tcase, rules_agree_with_forward_mode, 0, n);
    tcase_add_loop_test(
        tcase, rules_agree_with_forward_mode_where_shapes_are_not_known, 0, n);
    return tcase;
}
