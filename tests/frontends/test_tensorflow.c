/* SPDX-License-Identifier: Apache-2.0 */
/* map_fn, foldl, foldr and scan against loops in C. */
#include "tests/aid/recipe.h"
#include "tests/aid/trial.h"
#include "tests/suites.h"

#include <string.h>

#define IN RECIPE_IN
#define OUTER RECIPE_OUTER
#define OP RECIPE_OP
#define N_OF(array) (sizeof(array) / sizeof(array)[0])

static const eddy_shape scalar = {.rank = 0};
static program p;

static void setup(void)
{
    program_init(&p, 2);
}

static void teardown(void)
{
    program_deinit(&p);
}

/* ---- what the tests go over ---- */

typedef eddy_status (*fold_fn)(eddy_graph *graph, const eddy_fold_spec *spec,
                               eddy_output *out_results, eddy_error *err);

/* a = decay * a + x: decay is OUTER(0). */
static const recipe_op decay_ops[] = {{"Mul", IN(0), OUTER(0)},
                                      {"AddV2", OP(0), IN(1)}};
static const int decay_results[] = {OP(1)};

static trial_feed items(eddy_dtype dtype, const eddy_shape *shape)
{
    return trial_placeholder(&p, dtype, shape, NULL, false);
}

static trial_feed value(eddy_dtype dtype, double element)
{
    return trial_placeholder(&p, dtype, &scalar, &element, true);
}

/* One of the elems, one accumulated value. */
static eddy_fold_spec fold_of(recipe *step, const eddy_output *elem,
                              const eddy_output *initializer)
{
    return (eddy_fold_spec){
        .size = sizeof(eddy_fold_spec),
        .elems = elem,
        .n_elems = 1,
        .initializer = initializer,
        .n_initializers = 1,
        .step = recipe_build,
        .user = step,
    };
}

static eddy_output build_fold(fold_fn fold, const eddy_fold_spec *spec)
{
    eddy_output out;

    program_want_ok(&p, fold(p.graph, spec, &out, &p.err));
    return out;
}

static eddy_output build_map(recipe *step, const eddy_output *elems, size_t n,
                             eddy_output *out)
{
    const eddy_map_spec spec = {
        .size = sizeof spec,
        .elems = elems,
        .n_elems = n,
        .step = recipe_build,
        .user = step,
    };

    program_want_ok(&p, eddy_map_fn(p.graph, &spec, out, &p.err));
    return *out;
}

static const eddy_dtype dtypes[] = {EDDY_FLOAT32, EDDY_FLOAT64, EDDY_INT32,
                                    EDDY_INT64};
static const int64_t lengths[] = {0, 1, 2, 7};

/* ---- scan ---- */

/* Rows of two; _i counts dtypes, lengths and directions. */
START_TEST(a_scan_gives_all_values)
{
    const eddy_dtype dtype = dtypes[_i % 4];
    const int64_t n = lengths[_i / 4 % 4];
    const bool reverse = _i / 16 % 2;
    const eddy_shape shape = TRIAL_SHAPE(n, 2);
    recipe step = RECIPE(decay_ops, decay_results);
    const trial_feed feeds[] = {
        trial_placeholder(&p, dtype, &shape, NULL, _i / 32 != 0),
        trial_placeholder(&p, dtype, &TRIAL_SHAPE(2), NULL, true),
        value(dtype, 2)};
    eddy_fold_spec spec = fold_of(&step, &feeds[0].at, &feeds[1].at);
    double h[] = {1, 2}, all[TRIAL_ELEMENTS];
    trial_result result;

    spec.reverse = reverse;
    step.outer = &feeds[2].at;
    result = trial_both(&p, feeds, 3, build_fold(eddy_scan, &spec));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < 2; j++) {
            const int64_t at = 2 * (reverse ? n - 1 - i : i) + j;

            all[at] = h[j] = 2 * h[j] + (double)(at + 1);
        }
    trial_want(&result, &shape, all);
    ck_assert_int_eq(result.dtype, dtype);
    ck_assert_uint_eq(step.calls, 1);
}
END_TEST

START_TEST(a_scan_may_begin_with_an_item)
{
    const int64_t n = 1 + _i / 2;
    const bool reverse = _i % 2;
    recipe step = RECIPE(decay_ops, decay_results);
    const trial_feed feeds[] = {items(EDDY_FLOAT64, &TRIAL_SHAPE(n)),
                                value(EDDY_FLOAT64, 0.5)};
    eddy_fold_spec spec = fold_of(&step, &feeds[0].at, NULL);
    double a = 0, all[TRIAL_ELEMENTS];
    trial_result result;

    spec.reverse = reverse;
    step.outer = &feeds[1].at;
    result = trial_both(&p, feeds, 2, build_fold(eddy_scan, &spec));
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = reverse ? n - 1 - i : i;

        a = i == 0 ? (double)(at + 1) : 0.5 * a + (double)(at + 1);
        all[at] = a;
    }
    trial_want(&result, &TRIAL_SHAPE(n), all);
}
END_TEST

/* Two of the elems, two accumulated values of different dtypes. */
START_TEST(a_scan_has_several_values)
{
    static const recipe_op ops[] = {{"AddV2", IN(0), IN(2)},
                                    {"Mul", IN(1), IN(3)},
                                    {"AddV2", OP(1), OUTER(0)}};
    static const int results[] = {OP(0), OP(2)};
    recipe step = RECIPE(ops, results);
    const trial_feed feeds[] = {items(EDDY_INT32, &TRIAL_SHAPE(4)),
                                items(EDDY_FLOAT32, &TRIAL_SHAPE(4)),
                                value(EDDY_INT32, 10), value(EDDY_FLOAT32, 1),
                                value(EDDY_FLOAT32, 3)};
    const eddy_output elems[] = {feeds[0].at, feeds[1].at};
    const eddy_output first[] = {feeds[2].at, feeds[3].at};
    eddy_fold_spec spec = fold_of(&step, elems, first);
    double sums[4], products[4], sum = 10, product = 1;
    eddy_output out[2];
    trial_result result;

    spec.n_elems = spec.n_initializers = 2;
    step.outer = &feeds[4].at;
    program_want_ok(&p, eddy_scan(p.graph, &spec, out, &p.err));
    for (int i = 0; i < 4; i++) {
        sums[i] = sum += i + 1;
        products[i] = product = product * (i + 1) + 3;
    }
    result = trial_both(&p, feeds, 5, out[0]);
    trial_want(&result, &TRIAL_SHAPE(4), sums);
    result = trial_both(&p, feeds, 5, out[1]);
    trial_want(&result, &TRIAL_SHAPE(4), products);
}
END_TEST

/* ---- folds ---- */

/* The last value; it depends on the order.  _i: length, kind. */
START_TEST(a_fold_gives_the_last_value)
{
    const int64_t n = lengths[_i % 4];
    const bool is_right = _i / 4 % 2, has_first = _i / 8 || n == 0;
    recipe step = RECIPE(decay_ops, decay_results);
    const trial_feed feeds[] = {items(EDDY_INT64, &TRIAL_SHAPE(n)),
                                value(EDDY_INT64, 3), value(EDDY_INT64, 100)};
    const eddy_fold_spec spec =
        fold_of(&step, &feeds[0].at, has_first ? &feeds[2].at : NULL);
    double a = 100;
    trial_result result;

    step.outer = &feeds[1].at;
    result = trial_both(&p, feeds, 3,
                        build_fold(is_right ? eddy_foldr : eddy_foldl, &spec));
    for (int64_t i = 0; i < n; i++) {
        const double x = (double)(is_right ? n - i : i + 1);

        a = i == 0 && !has_first ? x : 3 * a + x;
    }
    trial_want(&result, &scalar, &a);
}
END_TEST

/* a = concat(a, row) */
static eddy_status join(eddy_graph *graph, void *user,
                        const eddy_output *inputs, size_t n,
                        eddy_output *out_results, eddy_error *err)
{
    const int32_t zero = 0;
    eddy_output all[3] = {inputs[0], inputs[1]};
    eddy_status status =
        eddy_graph_add_scalar(graph, NULL, EDDY_INT32, &zero, &all[2], err);

    (void)user;
    ck_assert_uint_eq(n, 2);
    if (status == EDDY_OK)
        status = eddy_graph_add_op(graph, "ConcatV2", NULL, all, 3, out_results,
                                   err);
    return status;
}

START_TEST(a_folded_value_may_grow)
{
    const trial_feed feeds[] = {items(EDDY_FLOAT32, &TRIAL_SHAPE(3, 2)),
                                items(EDDY_FLOAT32, &TRIAL_SHAPE(1))};
    eddy_fold_spec spec = fold_of(NULL, &feeds[0].at, &feeds[1].at);
    trial_result result;

    spec.step = join;
    result = trial_both(&p, feeds, 2, build_fold(eddy_foldr, &spec));
    trial_want(&result, &TRIAL_SHAPE(7), PROGRAM_NUMBERS(1, 5, 6, 3, 4, 1, 2));
}
END_TEST

/* ---- map ---- */

/* Two of the elems; sums, a comparison, and what does not depend on items. */
START_TEST(a_map_has_results_of_other_dtypes)
{
    static const recipe_op ops[] = {{"AddV2", IN(0), IN(1)},
                                    {"Less", IN(0), IN(1)}};
    static const int results[] = {OP(0), OP(1), OUTER(0)};
    static const eddy_dtype of[] = {EDDY_INT32, EDDY_BOOL, EDDY_FLOAT64};
    static const double other[] = {3, 2, 1};
    recipe step = RECIPE(ops, results);
    const trial_feed feeds[] = {
        items(EDDY_INT32, &TRIAL_SHAPE(3)),
        trial_placeholder(&p, EDDY_INT32, &TRIAL_SHAPE(3), other, false),
        value(EDDY_FLOAT64, 2.5)};
    const eddy_output elems[] = {feeds[0].at, feeds[1].at};
    const eddy_map_spec spec = {
        .size = sizeof spec,
        .elems = elems,
        .n_elems = 2,
        .dtypes = of,
        .n_results = 3,
        .step = recipe_build,
        .user = &step,
    };
    eddy_output out[3];
    trial_result result;

    step.outer = &feeds[2].at;
    program_want_ok(&p, eddy_map_fn(p.graph, &spec, out, &p.err));
    result = trial_both(&p, feeds, 3, out[0]);
    trial_want(&result, &TRIAL_SHAPE(3), PROGRAM_NUMBERS(4, 4, 4));
    result = trial_both(&p, feeds, 3, out[1]);
    trial_want(&result, &TRIAL_SHAPE(3), PROGRAM_NUMBERS(1, 0, 0));
    result = trial_both(&p, feeds, 3, out[2]);
    trial_want(&result, &TRIAL_SHAPE(3), PROGRAM_NUMBERS(2.5, 2.5, 2.5));
}
END_TEST

static const recipe_op square_ops[] = {{"Mul", IN(0), IN(0)}};
static const int square_results[] = {OP(0)};

START_TEST(a_map_of_known_items_has_a_known_shape)
{
    recipe step = RECIPE(square_ops, square_results);
    const int64_t n = lengths[_i];
    const trial_feed x =
        trial_placeholder(&p, EDDY_FLOAT32, &TRIAL_SHAPE(n, 3), NULL, true);
    eddy_output y;
    double squares[21];
    trial_result result;

    build_map(&step, &x.at, 1, &y);
    result = trial_both(&p, &x, 1, y);
    for (int i = 0; i < 3 * n; i++)
        squares[i] = (i + 1) * (i + 1);
    trial_want(&result, &TRIAL_SHAPE(n, 3), squares);
    construct_plan(&p, y, &x.at, 1);
    ck_assert_int_eq(eddy_plan_fetch_shape(p.plan, 0)->dims[0], n);
    ck_assert_int_eq(eddy_plan_fetch_shape(p.plan, 0)->dims[1], 3);
}
END_TEST

/* ---- in each other ---- */

/* What a step of a step takes from two levels up. */
typedef struct levels {
    recipe inner;
    eddy_output decay;
    fold_fn fold;
} levels;

/* For a row of the outer elems: folds it, beginning with the outer value. */
static eddy_status fold_row(eddy_graph *graph, void *user,
                            const eddy_output *inputs, size_t n,
                            eddy_output *out_results, eddy_error *err)
{
    levels *l = user;
    const eddy_fold_spec spec = fold_of(&l->inner, &inputs[1], &inputs[0]);

    ck_assert_uint_eq(n, 2);
    l->inner.outer = &l->decay;
    return l->fold(graph, &spec, out_results, err);
}

/* A scan over rows, in each a fold; _i: rows, columns. */
START_TEST(a_fold_runs_in_a_scan)
{
    const int64_t rows = _i / 3, columns = _i % 3;
    levels l = {.inner = RECIPE(decay_ops, decay_results), .fold = eddy_foldl};
    const trial_feed feeds[] = {
        items(EDDY_FLOAT64, &TRIAL_SHAPE(rows, columns)),
        value(EDDY_FLOAT64, 0.5), value(EDDY_FLOAT64, 8)};
    eddy_fold_spec spec = fold_of(NULL, &feeds[0].at, &feeds[2].at);
    double a = 8, all[4];
    trial_result result;

    l.decay = feeds[1].at;
    spec.step = fold_row;
    spec.user = &l;
    result = trial_both(&p, feeds, 3, build_fold(eddy_scan, &spec));
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++)
            a = 0.5 * a + (double)(i * columns + j + 1);
        all[i] = a;
    }
    trial_want(&result, &TRIAL_SHAPE(rows), all);
}
END_TEST

/* A map in a loop in a branch, over what the loop computes. */
START_TEST(a_map_runs_in_a_loop_in_a_branch)
{
    recipe step = RECIPE(square_ops, square_results);
    const trial_feed feeds[] = {items(EDDY_INT64, &TRIAL_SHAPE(3)),
                                value(EDDY_INT64, _i / 2)};
    const eddy_output yes =
        program_constant(&p, EDDY_BOOL, &(bool){_i % 2 == 0});
    eddy_output squares, result;
    double wanted[] = {1, 2, 3};
    trial_result got;
    counted c;

    construct_cond(&p, yes);
    c = construct_counted(&p, feeds[1].at, feeds[0].at);
    build_map(&step, &c.now, 1, &squares);
    construct_end_counted(&p, &c, squares);
    construct_else(&p, c.results[1]);
    result = construct_end_cond(&p, feeds[0].at);
    got = trial_both(&p, feeds, 2, result);
    for (int trip = 0; trip < _i / 2 && _i % 2 == 0; trip++)
        for (int j = 0; j < 3; j++)
            wanted[j] *= wanted[j];
    trial_want(&got, &TRIAL_SHAPE(3), wanted);
}
END_TEST

/* |x|, with a branch in each step. */
static eddy_status absolute(eddy_graph *graph, void *user,
                            const eddy_output *inputs, size_t n,
                            eddy_output *out_results, eddy_error *err)
{
    (void)graph;
    (void)user;
    (void)err;
    ck_assert_uint_eq(n, 1);
    construct_cond(&p,
                   program_binary(&p, "Less", inputs[0], program_int(&p, 0)));
    construct_else(&p, program_unary(&p, "Neg", inputs[0]));
    *out_results = construct_end_cond(&p, inputs[0]);
    return EDDY_OK;
}

START_TEST(a_branch_runs_in_a_map)
{
    static const double x[] = {-3, 4, 0, -1};
    const trial_feed feed =
        trial_placeholder(&p, EDDY_INT64, &TRIAL_SHAPE(4), x, false);
    const eddy_map_spec spec = {
        .size = sizeof spec,
        .elems = &feed.at,
        .n_elems = 1,
        .step = absolute,
    };
    eddy_output y;
    trial_result result;

    program_want_ok(&p, eddy_map_fn(p.graph, &spec, &y, &p.err));
    result = trial_both(&p, &feed, 1, y);
    trial_want(&result, &TRIAL_SHAPE(4), PROGRAM_NUMBERS(3, 4, 0, 1));
}
END_TEST

/* ---- gradients ---- */

/* Of items, the first value and what is captured; _i: kind, first value. */
START_TEST(folds_and_scans_have_gradients)
{
    static const struct {
        fold_fn fold;
        bool reverse;
    } kinds[] = {{eddy_foldl, false},
                 {eddy_foldr, false},
                 {eddy_scan, false},
                 {eddy_scan, true}};
    const bool has_first = _i % 2;
    static const recipe_op ops[] = {{"Mul", IN(0), OUTER(0)},
                                    {"Mul", IN(1), IN(1)},
                                    {"Tanh", OP(0), RECIPE_NONE},
                                    {"AddV2", OP(1), OP(2)}};
    static const int results[] = {OP(3)};
    static const double x[] = {0.3, -0.2, 0.7, 0.4, -0.6, 0.1};
    recipe step = RECIPE(ops, results);
    const trial_feed feeds[] = {
        trial_placeholder(&p, EDDY_FLOAT64, &TRIAL_SHAPE(3, 2), x, false),
        value(EDDY_FLOAT64, 0.8),
        trial_placeholder(&p, EDDY_FLOAT64, &TRIAL_SHAPE(2), x + 1, true)};
    eddy_fold_spec spec =
        fold_of(&step, &feeds[0].at, has_first ? &feeds[2].at : NULL);

    spec.reverse = kinds[_i / 2].reverse;
    step.outer = &feeds[1].at;
    trial_gradients(&p, feeds, has_first ? 3 : 2,
                    build_fold(kinds[_i / 2].fold, &spec));
}
END_TEST

START_TEST(a_map_has_gradients)
{
    static const recipe_op ops[] = {{"Mul", IN(0), IN(1)},
                                    {"Mul", OP(0), OUTER(0)}};
    static const int results[] = {OP(1), OP(0)};
    recipe step = RECIPE(ops, results);
    const trial_feed feeds[] = {items(EDDY_FLOAT64, &TRIAL_SHAPE(3)),
                                items(EDDY_FLOAT64, &TRIAL_SHAPE(3)),
                                value(EDDY_FLOAT64, 1.5)};
    const eddy_output elems[] = {feeds[0].at, feeds[1].at};
    eddy_output y[2];

    step.outer = &feeds[2].at;
    build_map(&step, elems, 2, y);
    trial_gradients(&p, feeds, 3, program_binary(&p, "Mul", y[0], y[1]));
}
END_TEST

START_TEST(a_fold_in_a_scan_has_gradients)
{
    levels l = {.inner = RECIPE(decay_ops, decay_results), .fold = eddy_foldr};
    const trial_feed feeds[] = {items(EDDY_FLOAT64, &TRIAL_SHAPE(2, 3)),
                                value(EDDY_FLOAT64, 0.5),
                                value(EDDY_FLOAT64, 2)};
    eddy_fold_spec spec = fold_of(NULL, &feeds[0].at, &feeds[2].at);

    l.decay = feeds[1].at;
    spec.step = fold_row;
    spec.user = &l;
    trial_gradients(&p, feeds, 3, build_fold(eddy_scan, &spec));
}
END_TEST

/* ---- options ---- */

static size_t count_nodes(const char *op)
{
    size_t n = 0;

    for (size_t v = 0; v < eddy_graph_size(p.graph); v++)
        n += strcmp(eddy_graph_node_op(p.graph, (eddy_node)v), op) == 0;
    return n;
}

static eddy_attr attr_of(const char *op, const char *name)
{
    eddy_attr attr = {.name = NULL};

    for (size_t v = 0; v < eddy_graph_size(p.graph); v++)
        if (strcmp(eddy_graph_node_op(p.graph, (eddy_node)v), op) == 0)
            ck_assert(eddy_graph_node_attr(p.graph, (eddy_node)v, name, &attr));
    return attr;
}

START_TEST(options_stand_on_the_loop)
{
    recipe step = RECIPE(square_ops, square_results);
    const trial_feed x = items(EDDY_INT32, &TRIAL_SHAPE(4));
    const eddy_map_spec spec = {
        .size = sizeof spec,
        .name = "squares",
        .elems = &x.at,
        .n_elems = 1,
        .step = recipe_build,
        .user = &step,
        .options = {.parallel_iterations = 3,
                    .no_back_prop = true,
                    .swap_memory = true,
                    .bounds_trips = true},
    };
    eddy_output y;
    trial_result result;

    program_want_ok(&p, eddy_map_fn(p.graph, &spec, &y, &p.err));
    result = trial_both(&p, &x, 1, y);
    trial_want(&result, &TRIAL_SHAPE(4), PROGRAM_NUMBERS(1, 4, 9, 16));
    ck_assert_int_eq(attr_of("Enter", "parallel_iterations").as.ints[0], 3);
    ck_assert(!attr_of("LoopCond", "_back_prop").as.bools[0]);
    ck_assert(attr_of("LoopCond", "_swap_memory").as.bools[0]);
    ck_assert_uint_eq(count_nodes("LogicalAnd"), 1);
    ck_assert_uint_eq(count_nodes("Merge"), 3);
    ck_assert_uint_ne(eddy_graph_find(p.graph, "squares/LoopCond"),
                      EDDY_NO_NODE);
}
END_TEST

START_TEST(shapes_are_not_inferred_on_request)
{
    recipe step = RECIPE(square_ops, square_results);
    const trial_feed none =
        trial_placeholder(&p, EDDY_INT32, &TRIAL_SHAPE(0), NULL, false);
    const eddy_map_spec spec = {
        .size = sizeof spec,
        .elems = &none.at,
        .n_elems = 1,
        .step = recipe_build,
        .user = &step,
        .no_infer_shape = true,
    };
    eddy_output y;

    program_want_ok(&p, eddy_map_fn(p.graph, &spec, &y, &p.err));
    trial_want_failure(&p, &none, 1, y, EDDY_UNIMPLEMENTED, EDDY_E_SHAPE);
}
END_TEST

/* ---- mistakes ---- */

/* Longer or shorter than the first of the elems. */
START_TEST(a_run_with_other_lengths_fails)
{
    static const recipe_op ops[] = {{"AddV2", IN(0), IN(1)}};
    static const int results[] = {OP(0), IN(1)};
    recipe step = RECIPE(ops, results);
    const trial_feed feeds[] = {items(EDDY_FLOAT32, &TRIAL_SHAPE(3)),
                                items(EDDY_FLOAT32, &TRIAL_SHAPE(2 + 2 * _i))};
    const eddy_output elems[] = {feeds[0].at, feeds[1].at};
    eddy_output y[2];

    build_map(&step, elems, 2, y);
    trial_want_failure(&p, feeds, 2, y[0], EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

START_TEST(a_run_without_a_first_item_fails)
{
    recipe step = RECIPE(decay_ops, decay_results);
    const trial_feed feeds[] = {items(EDDY_FLOAT32, &TRIAL_SHAPE(0)),
                                value(EDDY_FLOAT32, 1)};
    const eddy_fold_spec spec = fold_of(&step, &feeds[0].at, NULL);

    step.outer = &feeds[1].at;
    trial_want_failure(&p, feeds, 2,
                       build_fold(_i ? eddy_foldr : eddy_foldl, &spec),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
}
END_TEST

/* Fails, leaving the graph as it was. */
static void want_fold(fold_fn fold, const eddy_fold_spec *spec,
                      eddy_status code, eddy_detail detail)
{
    const size_t size = eddy_graph_size(p.graph);
    eddy_output out[2];

    program_want(&p, fold(p.graph, spec, out, &p.err), code, detail);
    ck_assert_uint_eq(eddy_graph_size(p.graph), size);
    ck_assert_uint_eq(eddy_construct_depth(p.graph), 0);
}

START_TEST(elems_have_items)
{
    recipe step = RECIPE(decay_ops, decay_results);
    const eddy_output elems[] = {
        trial_placeholder(&p, EDDY_FLOAT32, &TRIAL_SHAPE(3), NULL, true).at,
        trial_placeholder(&p, EDDY_FLOAT32, &TRIAL_SHAPE(4), NULL, true).at,
        trial_placeholder(&p, EDDY_FLOAT32, &TRIAL_SHAPE(0), NULL, true).at,
        value(EDDY_FLOAT32, 1).at};
    eddy_fold_spec spec = fold_of(&step, elems, NULL);

    step.outer = &elems[3];
    spec.n_elems = 2;
    want_fold(eddy_scan, &spec, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    ck_assert_ptr_nonnull(strstr(p.err.message, "has 4 items"));
    spec.n_elems = 0;
    want_fold(eddy_scan, &spec, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT);
    spec.n_elems = 1;
    spec.elems = &elems[3];
    want_fold(eddy_foldl, &spec, EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    spec.elems = &elems[2];
    want_fold(eddy_foldr, &spec, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    spec.elems = &(eddy_output){999, 0};
    want_fold(eddy_foldr, &spec, EDDY_INVALID_ARGUMENT, EDDY_E_UNKNOWN_INPUT);
}
END_TEST

START_TEST(calls_are_complete)
{
    recipe step = RECIPE(decay_ops, decay_results);
    const trial_feed x = items(EDDY_FLOAT32, &TRIAL_SHAPE(3));
    eddy_fold_spec spec = fold_of(&step, &x.at, NULL);
    eddy_output out;

    spec.step = NULL;
    want_fold(eddy_foldl, &spec, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    spec.step = recipe_build;
    spec.elems = NULL;
    want_fold(eddy_foldr, &spec, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    spec.size = 8;
    want_fold(eddy_scan, &spec, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    program_want(&p, eddy_map_fn(p.graph, NULL, &out, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
}
END_TEST

START_TEST(values_keep_their_dtype_and_shape)
{
    static const recipe_op ops[] = {{"Less", IN(0), IN(1)}};
    static const int none[] = {OUTER(0)};
    recipe wrong = RECIPE(ops, square_results);
    recipe missing = {.results = none, .n_results = 1};
    recipe decay = RECIPE(decay_ops, decay_results);
    const eddy_output nowhere = {EDDY_NO_NODE, 0};
    const trial_feed x =
        trial_placeholder(&p, EDDY_FLOAT32, &TRIAL_SHAPE(3, 2), NULL, true);
    const trial_feed first = value(EDDY_FLOAT32, 1);
    eddy_fold_spec spec = fold_of(&wrong, &x.at, NULL);

    want_fold(eddy_foldl, &spec, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE);
    want_fold(eddy_scan, &spec, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE);
    missing.outer = &nowhere;
    spec.user = &missing;
    want_fold(eddy_scan, &spec, EDDY_INVALID_ARGUMENT, EDDY_E_UNKNOWN_INPUT);
    /* A scalar becomes a vector. */
    decay.outer = &first.at;
    spec = fold_of(&decay, &x.at, &first.at);
    want_fold(eddy_scan, &spec, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    (void)build_fold(eddy_foldl, &spec);
}
END_TEST

static eddy_status give_up(eddy_graph *graph, void *user,
                           const eddy_output *inputs, size_t n,
                           eddy_output *out_results, eddy_error *err)
{
    (void)user;
    (void)err;
    if (eddy_graph_add_op(graph, "Neg", NULL, inputs, 1, out_results, err) !=
        EDDY_OK)
        return EDDY_INTERNAL;
    construct_cond(&p, program_constant(&p, EDDY_BOOL, &(bool){n > 1}));
    return n == 1 ? EDDY_ABORTED : EDDY_OK;
}

START_TEST(a_step_that_fails_leaves_nothing)
{
    const trial_feed x = items(EDDY_FLOAT32, &TRIAL_SHAPE(3));
    const eddy_map_spec spec = {
        .size = sizeof spec, .elems = &x.at, .n_elems = 1, .step = give_up};
    eddy_fold_spec fold = fold_of(NULL, &x.at, NULL);
    eddy_output y = {7, 7};

    ck_assert_int_eq(eddy_map_fn(p.graph, &spec, &y, &p.err), EDDY_ABORTED);
    ck_assert_uint_eq(eddy_graph_size(p.graph), 1);
    ck_assert_uint_eq(eddy_construct_depth(p.graph), 0);
    ck_assert_uint_eq(y.node, 7);
    /* One that leaves a branch open. */
    fold.step = give_up;
    want_fold(eddy_foldl, &fold, EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT);
}
END_TEST

static eddy_status build_all(program *of, eddy_error *err)
{
    recipe decay = RECIPE(decay_ops, decay_results);
    recipe square = RECIPE(square_ops, square_results);
    const eddy_output x = program_output(of, "x");
    const eddy_output first = program_output(of, "first");
    const eddy_fold_spec spec = fold_of(&decay, &x, &first);
    eddy_map_spec map = {.size = sizeof map,
                         .n_elems = 1,
                         .step = recipe_build,
                         .user = &square};
    const size_t size = eddy_graph_size(of->graph);
    eddy_output y;

    decay.outer = &first;
    if (size % 2 == 0)
        return eddy_scan(of->graph, &spec, &y, err);
    map.elems = &x;
    return eddy_map_fn(of->graph, &map, &y, err);
}

START_TEST(memory_may_run_out_anywhere)
{
    program_build(&p, "x ?float32[4]\nfirst ?float32\n");
    if (_i)
        program_build(&p, "odd Neg x\n");
    trial_memory(&p, build_all);
}
END_TEST

TCase *tensorflow_tests(void)
{
    TCase *tests = tcase_create("tensorflow");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, a_scan_gives_all_values, 0, 64);
    tcase_add_loop_test(tests, a_scan_may_begin_with_an_item, 0, 6);
    tcase_add_test(tests, a_scan_has_several_values);
    tcase_add_loop_test(tests, a_fold_gives_the_last_value, 0, 16);
    tcase_add_test(tests, a_folded_value_may_grow);
    tcase_add_test(tests, a_map_has_results_of_other_dtypes);
    tcase_add_loop_test(tests, a_map_of_known_items_has_a_known_shape, 0, 4);
    tcase_add_loop_test(tests, a_fold_runs_in_a_scan, 0, 9);
    tcase_add_loop_test(tests, a_map_runs_in_a_loop_in_a_branch, 0, 6);
    tcase_add_test(tests, a_branch_runs_in_a_map);
    tcase_add_loop_test(tests, folds_and_scans_have_gradients, 0, 8);
    tcase_add_test(tests, a_map_has_gradients);
    tcase_add_test(tests, a_fold_in_a_scan_has_gradients);
    tcase_add_test(tests, options_stand_on_the_loop);
    tcase_add_test(tests, shapes_are_not_inferred_on_request);
    tcase_add_loop_test(tests, a_run_with_other_lengths_fails, 0, 2);
    tcase_add_loop_test(tests, a_run_without_a_first_item_fails, 0, 2);
    tcase_add_test(tests, elems_have_items);
    tcase_add_test(tests, calls_are_complete);
    tcase_add_test(tests, values_keep_their_dtype_and_shape);
    tcase_add_test(tests, a_step_that_fails_leaves_nothing);
    tcase_add_loop_test(tests, memory_may_run_out_anywhere, 0, 2);
    return tests;
}
