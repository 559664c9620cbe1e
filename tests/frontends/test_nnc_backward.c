/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters that accumulate, and with them gradients written by hand as loops
 * whose parameter map is turned round, as NNC has them.
 */
#include "tests/aid/construct.h"
#include "tests/aid/recipe.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

#define IN RECIPE_IN
#define OUTER RECIPE_OUTER
#define OP RECIPE_OP

static program p;
static int64_t trips; /* that the host's condition wants */

static void setup(void)
{
    program_init(&p, 0);
    trips = 0;
}

static void teardown(void)
{
    program_deinit(&p);
}

static eddy_status is_below(eddy_kernel *call, void *user, bool *out_value)
{
    *out_value = *(const int64_t *)eddy_kernel_input(call, 0).data <
                 *(const int64_t *)user;
    return EDDY_OK;
}

static eddy_nnc_while_spec spec_of(recipe_parts *both,
                                   const eddy_output *initial,
                                   size_t n_parameters, const bool *accumulates)
{
    return (eddy_nnc_while_spec){
        .size = sizeof(eddy_nnc_while_spec),
        .initial = initial,
        .n_parameters = n_parameters,
        .n_outputs = both->before.n_results,
        .before = recipe_build_part_before,
        .after = recipe_build_part_after,
        .user = both,
        .condition = is_below,
        .condition_user = &trips,
        .accumulates = accumulates,
    };
}

static void gradients(eddy_output y, const eddy_output *xs, size_t n,
                      eddy_output *out)
{
    program_want_ok(&p,
                    eddy_gradients(p.graph, &y, 1, xs, n, NULL, out, &p.err));
    for (size_t i = 0; i < n; i++)
        ck_assert_uint_ne(out[i].node, EDDY_NO_NODE);
}

/* Two times `n` values that are to be pairwise equal, and not all of them 0. */
static void want_equal(const eddy_output *both, size_t n)
{
    double sum = 0;

    program_plan_outputs(&p, both, 2 * n);
    program_run(&p);
    for (size_t i = 0; i < n; i++) {
        const double a = *(const double *)eddy_tensor_data(
            eddy_run_fetch(p.run, (uint32_t)i));
        const double b = *(const double *)eddy_tensor_data(
            eddy_run_fetch(p.run, (uint32_t)(n + i)));

        ck_assert_double_eq_tol(a, b, 1e-9 * (b < 0 ? 1 - b : 1 + b));
        sum += b < 0 ? -b : b;
    }
    ck_assert_double_gt(sum, 0);
}

/* ---- a product ---- */

/* x <- x * k */
static const recipe_op power_ops[] = {{"Mul", IN(1), OUTER(0)}};
static const int one_result[] = {OP(0)};
static const int pass_one[] = {IN(1)};

/* v, g, gk: v <- v / k, g <- g * k, gk <- gk + g * v / k */
static const recipe_op power_back_ops[] = {{"RealDiv", IN(1), OUTER(0)},
                                           {"Mul", IN(2), OUTER(0)},
                                           {"Mul", IN(2), OP(0)}};
static const int power_back_next[] = {OP(0), OP(1), OP(2)};
static const int pass_gradients[] = {IN(2), IN(3)};
static const bool last_accumulates[] = {false, false, true};

/* x and k are p's first two nodes; the results are those of both ways. */
static eddy_output build_power(const eddy_output *xk, eddy_output *by_hand)
{
    recipe_parts forward = {{.results = pass_one, .n_results = 1},
                            RECIPE(power_ops, one_result)};
    recipe_parts back = {{.results = pass_gradients, .n_results = 2},
                         RECIPE(power_back_ops, power_back_next)};
    const eddy_nnc_while_spec spec = spec_of(&forward, xk, 1, NULL);
    const double values[] = {1, 0};
    eddy_output first[3] = {{0, 0},
                            program_constant(&p, EDDY_FLOAT64, &values[0]),
                            program_constant(&p, EDDY_FLOAT64, &values[1])};
    const eddy_nnc_while_spec backward =
        spec_of(&back, first, 3, last_accumulates);

    forward.after.outer = back.after.outer = &xk[1];
    program_want_ok(&p,
                    eddy_nnc_while(p.graph, &spec, &first[0], NULL, &p.err));
    program_want_ok(&p,
                    eddy_nnc_while(p.graph, &backward, by_hand, NULL, &p.err));
    return first[0];
}

START_TEST(a_map_turned_round_is_the_gradient)
{
    eddy_output xk[2], both[4];

    trips = _i;
    program_build(&p, "x float64=3\nk float64=1.5\n");
    xk[0] = program_output(&p, "x");
    xk[1] = program_output(&p, "k");
    gradients(build_power(xk, both), xk, 2, both + 2);
    want_equal(both, 2);
}
END_TEST

/* What a loop accumulates depends on what it reads; gradients go through. */
START_TEST(what_accumulates_has_gradients)
{
    eddy_output xk[2], first[4], both[4], y;

    trips = 4;
    program_build(&p, "x float64=3\nk float64=1.5\n");
    xk[0] = program_output(&p, "x");
    xk[1] = program_output(&p, "k");
    y = build_power(xk, first);
    gradients(y, xk, 2, first + 2);
    gradients(first[1], xk, 2, both);
    gradients(first[3], xk, 2, both + 2);
    want_equal(both, 2);
}
END_TEST

/* ---- the nodes of a graph ---- */

/* y = x after some times x = x * k; then the gradients gx and gk of y. */
#define POWER                                                                  \
    "x float64=3\nk float64=1.5\ny Identity x\nf Mul x k\n"                    \
    "v ?float64[]\ng float64=1\nh float64=0\n"                                 \
    "gx Identity g\ngk Identity h\n"                                           \
    "back RealDiv v k\nnext Mul g k\nterm Mul g back\n"

static eddy_output named(const char *name)
{
    return program_output(&p, name);
}

/* The new graph takes the place of the old one. */
static void split(eddy_nnc_split_spec spec)
{
    eddy_graph *made;

    spec.size = sizeof spec;
    spec.condition = is_below;
    spec.condition_user = &trips;
    program_want_ok(&p, eddy_nnc_split(p.graph, &spec, &made, NULL, &p.err));
    eddy_graph_destroy(p.graph);
    p.graph = made;
}

static void split_forward(void)
{
    const eddy_node y = named("y").node, f = named("f").node;
    const eddy_node incoming[] = {y, f};
    const eddy_nnc_carried map = {named("f"), named("x")};

    split((eddy_nnc_split_spec){.incoming = incoming,
                                .n_incoming = 2,
                                .outgoing = &y,
                                .n_outgoing = 1,
                                .ends = &f,
                                .n_ends = 1,
                                .carried = &map,
                                .n_carried = 1});
}

static void split_backward(void)
{
    const eddy_node outgoing[] = {named("gx").node, named("gk").node};
    const eddy_node ends[] = {named("next").node, named("term").node};
    const eddy_node incoming[] = {outgoing[0], outgoing[1], ends[0],
                                  named("back").node};
    const eddy_nnc_carried map[] = {{named("back"), named("v")},
                                    {named("next"), named("g")},
                                    {named("term"), named("h")}};
    const eddy_output initial[] = {named("y"), named("g"), named("h")};

    split((eddy_nnc_split_spec){.incoming = incoming,
                                .n_incoming = 4,
                                .outgoing = outgoing,
                                .n_outgoing = 2,
                                .ends = ends,
                                .n_ends = 2,
                                .carried = map,
                                .n_carried = 3,
                                .initial = initial,
                                .accumulates = last_accumulates});
}

START_TEST(nodes_with_a_map_turned_round_are_the_gradient)
{
    eddy_output xk[2], both[4];

    trips = _i;
    program_build(&p, POWER);
    split_forward();
    split_backward();
    xk[0] = named("x");
    xk[1] = named("k");
    both[0] = named("gx");
    both[1] = named("gk");
    gradients(named("y"), xk, 2, both + 2);
    want_equal(both, 2);
}
END_TEST

/* ---- dtypes, bad use ---- */

/* v <- v + v, sum <- sum + v */
static const recipe_op double_ops[] = {{"AddV2", IN(1), IN(1)}};
static const int double_next[] = {OP(0), IN(1)};
static const int pass_two[] = {IN(1), IN(2)};
static const bool second_accumulates[] = {false, true};

static const char *const dtypes[] = {"int8",   "uint8",   "int16",   "int32",
                                     "int64",  "float16", "float32", "float64",
                                     "uint16", "uint32"};

START_TEST(a_sum_is_of_any_dtype)
{
    char text[64];
    recipe_parts both = {{.results = pass_two, .n_results = 2},
                         RECIPE(double_ops, double_next)};
    eddy_output first[2] = {{0}}, outputs[2];
    const eddy_nnc_while_spec spec =
        spec_of(&both, first, 2, second_accumulates);
    const double *sum = PROGRAM_NUMBERS(5 + 3 * 15);

    trips = 4;
    (void)snprintf(text, sizeof text, "v %s=3\nsum %s=5\n", dtypes[_i],
                   dtypes[_i]);
    program_build(&p, text);
    first[0] = named("v");
    first[1] = named("sum");
    program_want_ok(&p, eddy_nnc_while(p.graph, &spec, outputs, NULL, &p.err));
    program_plan_outputs(&p, &outputs[1], 1);
    program_run(&p);
    program_want_fetch(&p, 0, 0, NULL, sum);
}
END_TEST

/* `sum` accumulates `v`, and may not. */
static const struct {
    const char *text;
    eddy_detail detail;
    const char *word;
} bad[] = {
    {"v float32=1\nsum float64=1\n", EDDY_E_INPUT_DTYPE, "float32"},
    {"v bool=1\nsum bool=0\n", EDDY_E_INPUT_DTYPE, "bool"},
    {"v float32[2]=1,2\nsum float32=0\n", EDDY_E_SHAPE, ""},
};

START_TEST(what_is_no_sum_is_refused)
{
    recipe_parts both = {{.results = pass_two, .n_results = 2},
                         {.results = pass_two, .n_results = 2}};
    eddy_output first[2] = {{0}}, outputs[2];
    const eddy_nnc_while_spec spec =
        spec_of(&both, first, 2, second_accumulates);
    size_t size;

    both.after.results = (const int[]){IN(1), IN(1)};
    program_build(&p, bad[_i].text);
    size = eddy_graph_size(p.graph);
    first[0] = named("v");
    first[1] = named("sum");
    program_want(&p, eddy_nnc_while(p.graph, &spec, outputs, NULL, &p.err),
                 EDDY_INVALID_ARGUMENT, bad[_i].detail);
    ck_assert_msg(strstr(p.err.message, bad[_i].word), "%s", p.err.message);
    ck_assert_uint_eq(eddy_graph_size(p.graph), size);
    ck_assert_uint_eq(eddy_construct_depth(p.graph), 0);
}
END_TEST

TCase *nnc_backward_tests(void)
{
    TCase *tcase = tcase_create("nnc_backward");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, a_map_turned_round_is_the_gradient, 0, 6);
    tcase_add_test(tcase, what_accumulates_has_gradients);
    tcase_add_loop_test(tcase, nodes_with_a_map_turned_round_are_the_gradient,
                        0, 6);
    tcase_add_loop_test(tcase, a_sum_is_of_any_dtype, 0,
                        sizeof dtypes / sizeof dtypes[0]);
    tcase_add_loop_test(tcase, what_is_no_sum_is_refused, 0,
                        sizeof bad / sizeof bad[0]);
    return tcase;
}
