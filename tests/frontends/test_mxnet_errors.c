/* SPDX-License-Identifier: Apache-2.0 */
/* What MXNet's loops and branches refuse, in graphs and at once. */
#include "tests/aid/construct.h"
#include "tests/aid/recipe.h"
#include "tests/suites.h"

#include <string.h>

#define IN RECIPE_IN
#define OUTER RECIPE_OUTER
#define OP RECIPE_OP

static program p;
static eddy_immediate *now;
static eddy_output x, y, one, flag,
    text; /* float32 [3], [4], [], bool, string */
static eddy_tensor *tx, *ty, *tone, *tflag, *ttext;

static eddy_tensor *floats(int32_t rank, int64_t n)
{
    static const float values[] = {1, 2, 3, 4};
    const eddy_shape shape = {.rank = rank, .dims = {n}};

    return program_tensor(&p, EDDY_FLOAT32, &shape, values);
}

static eddy_output constant(eddy_tensor *tensor)
{
    eddy_output out = {0, 0};

    program_want_ok(&p,
                    eddy_graph_add_const(p.graph, NULL, tensor, &out, &p.err));
    return out;
}

static void setup(void)
{
    const eddy_shape scalar = {.rank = 0};
    const eddy_string word = {"word", 4};

    program_init(&p, 0);
    program_want_ok(&p, eddy_immediate_create(p.ctx, NULL, &now, &p.err));
    tx = floats(1, 3);
    ty = floats(1, 4);
    tone = floats(0, 0);
    tflag = program_tensor(&p, EDDY_BOOL, &scalar, &(bool){true});
    program_want_ok(
        &p, eddy_tensor_from_strings(p.ctx, &scalar, &word, 1, &ttext, &p.err));
    x = constant(tx);
    y = constant(ty);
    one = constant(tone);
    flag = constant(tflag);
    text = constant(ttext);
}

static void teardown(void)
{
    eddy_tensor *const all[] = {tx, ty, tone, tflag, ttext};

    for (size_t i = 0; i < 5; i++)
        eddy_tensor_release(all[i]);
    eddy_immediate_destroy(now);
    program_deinit(&p);
}

/* ---- parts ---- */

static const recipe_op add_ops[] = {{"AddV2", IN(0), IN(1)},
                                    {"Shape", IN(0), RECIPE_NONE}};

/* Out of two inputs: their sum; the sum twice; a shape; the first twice. */
static const int sum_results[] = {OP(0), OP(0)};
static const int shape_results[] = {OP(1), OP(1)};
static const int first_results[] = {IN(0), IN(0)};

static recipe adding(const int *results)
{
    return (recipe){
        .ops = add_ops, .n_ops = 2, .results = results, .n_results = 2};
}

static eddy_status give_up(eddy_graph *graph, void *user,
                           const eddy_output *inputs, size_t n,
                           eddy_output *out, eddy_error *err)
{
    /* Something is open, and an error with words of its own. */
    const eddy_while_spec spec = {
        .size = sizeof spec, .initial = inputs, .n_variables = 1};

    (void)user;
    (void)n;
    program_want_ok(&p, eddy_while_begin(graph, &spec, out, err));
    return eddy_graph_add_op(graph, "Nothing", NULL, inputs, 1, out, err);
}

static eddy_status leave_open(eddy_graph *graph, void *user,
                              const eddy_output *inputs, size_t n,
                              eddy_output *out, eddy_error *err)
{
    const eddy_while_spec spec = {
        .size = sizeof spec, .initial = inputs, .n_variables = 1};

    (void)user;
    (void)n;
    out[0] = out[1] = inputs[0];
    return eddy_while_begin(graph, &spec, out, err);
}

static eddy_status close_all(eddy_graph *graph, void *user,
                             const eddy_output *inputs, size_t n,
                             eddy_output *out, eddy_error *err)
{
    (void)user;
    (void)n;
    (void)err;
    out[0] = out[1] = inputs[0];
    eddy_construct_abort(graph);
    return EDDY_OK;
}

/* Gives nothing, but says that all is well. */
static eddy_status give_nothing(eddy_graph *graph, void *user,
                                const eddy_output *inputs, size_t n,
                                eddy_output *out, eddy_error *err)
{
    (void)graph;
    (void)user;
    (void)inputs;
    (void)n;
    (void)err;
    (void)out;
    return EDDY_OK;
}

/* ---- foreach ---- */

/* A specification that would do, over x with `one` as state and one output. */
static eddy_mxnet_foreach_spec good_foreach(recipe *body)
{
    return (eddy_mxnet_foreach_spec){
        .size = sizeof(eddy_mxnet_foreach_spec),
        .inputs = &x,
        .n_inputs = 1,
        .states = &one,
        .n_states = 1,
        .n_outputs = 1,
        .body = recipe_build,
        .user = body,
    };
}

/* The graph is left as it was. */
static void want_foreach(const eddy_mxnet_foreach_spec *spec, eddy_status code,
                         eddy_detail detail)
{
    const size_t size = eddy_graph_size(p.graph);
    eddy_output outputs[4], states[4];

    program_want(&p, eddy_mxnet_foreach(p.graph, spec, outputs, states, &p.err),
                 code, detail);
    ck_assert_uint_eq(eddy_graph_size(p.graph), size);
    ck_assert_uint_eq(eddy_construct_depth(p.graph), 0);
}

START_TEST(what_a_foreach_is_of)
{
    recipe body = adding(sum_results);
    const eddy_output both[] = {x, y}, scalars[] = {one, one};
    const eddy_output nowhere = {9999, 0};
    eddy_mxnet_foreach_spec spec = good_foreach(&body);
    eddy_output out[2];

    spec.n_inputs = 0;
    want_foreach(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT);
    spec = good_foreach(&body);
    spec.n_states = spec.n_outputs = 0;
    want_foreach(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT);
    spec = good_foreach(&body);
    spec.inputs = both;
    spec.n_inputs = 2;
    want_foreach(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_DIM);
    spec.inputs = scalars;
    want_foreach(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    spec.inputs = &nowhere;
    spec.n_inputs = 1;
    want_foreach(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_UNKNOWN_INPUT);
    spec = good_foreach(&body);
    spec.body = NULL;
    want_foreach(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    spec = good_foreach(&body);
    spec.size--;
    want_foreach(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    spec = good_foreach(&body);
    program_want(&p, eddy_mxnet_foreach(p.graph, &spec, out, NULL, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    ck_assert_uint_eq(body.calls, 0);
}
END_TEST

START_TEST(what_a_step_gives)
{
    static const eddy_part_fn bodies[] = {give_up, leave_open, close_all,
                                          give_nothing};
    static const struct {
        eddy_status code;
        eddy_detail detail;
    } wanted[] = {
        {EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP},
        {EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT},
        {EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT},
        {EDDY_INVALID_ARGUMENT, EDDY_E_UNKNOWN_INPUT},
    };
    eddy_mxnet_foreach_spec spec = good_foreach(NULL);

    spec.body = bodies[_i];
    want_foreach(&spec, wanted[_i].code, wanted[_i].detail);
}
END_TEST

START_TEST(states_keep_what_they_are)
{
    recipe body = adding(shape_results);
    eddy_mxnet_foreach_spec spec = good_foreach(&body);

    want_foreach(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE);
    /* x + one: a vector where a scalar was. */
    body = adding(sum_results);
    body.ops = (const recipe_op[]){{"AddV2", OUTER(0), IN(1)},
                                   {"Shape", IN(0), RECIPE_NONE}};
    body.outer = &x;
    want_foreach(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

/* They are not by chance the first node's. */
START_TEST(outputs_that_are_not_set_are_refused)
{
    recipe body = adding(sum_results);
    eddy_mxnet_foreach_spec spec = good_foreach(&body);

    spec.body = give_nothing;
    want_foreach(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_UNKNOWN_INPUT);
}
END_TEST

START_TEST(outputs_are_what_was_promised)
{
    const eddy_mxnet_item items[] = {{EDDY_INT64, {.rank = -1}},
                                     {EDDY_FLOAT32, {.rank = 1, .dims = {2}}}};
    recipe body = adding(sum_results);
    eddy_mxnet_foreach_spec spec = good_foreach(&body);

    spec.output_items = items;
    want_foreach(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE);
    spec.output_items = items + 1;
    want_foreach(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    spec.output_items = &(eddy_mxnet_item){EDDY_FLOAT32, {.rank = 1000}};
    want_foreach(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    spec.output_items = &(eddy_mxnet_item){EDDY_FLOAT32, {1, {-5}}};
    want_foreach(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_DIM);
}
END_TEST

/* ---- while_loop ---- */

/* As a condition it gives `flag`, as a body the first variable twice. */
static const int flag_results[] = {OUTER(0)};
static recipe condition, body_of_while;

static eddy_status build_condition(eddy_graph *graph, void *user,
                                   const eddy_output *inputs, size_t n,
                                   eddy_output *out, eddy_error *err)
{
    (void)user;
    return recipe_build(graph, &condition, inputs, n, out, err);
}

static eddy_status build_body(eddy_graph *graph, void *user,
                              const eddy_output *inputs, size_t n,
                              eddy_output *out, eddy_error *err)
{
    (void)user;
    return recipe_build(graph, &body_of_while, inputs, n, out, err);
}

static eddy_mxnet_while_spec good_while(void)
{
    condition = (recipe){.results = flag_results, .n_results = 1};
    condition.outer = &flag;
    body_of_while = (recipe){.results = first_results, .n_results = 2};
    return (eddy_mxnet_while_spec){
        .size = sizeof(eddy_mxnet_while_spec),
        .variables = &one,
        .n_variables = 1,
        .n_outputs = 1,
        .condition = build_condition,
        .body = build_body,
        .max_iterations = 3,
    };
}

static void want_while(const eddy_mxnet_while_spec *spec, eddy_detail detail)
{
    const size_t size = eddy_graph_size(p.graph);
    eddy_output outputs[4], variables[4];

    program_want(
        &p,
        eddy_mxnet_while_loop(p.graph, spec, outputs, variables, NULL, &p.err),
        EDDY_INVALID_ARGUMENT, detail);
    ck_assert_uint_eq(eddy_graph_size(p.graph), size);
    ck_assert_uint_eq(eddy_construct_depth(p.graph), 0);
}

START_TEST(what_a_while_loop_is_of)
{
    const eddy_output most = program_int(&p, 3);
    eddy_mxnet_while_spec spec = good_while();

    spec.n_variables = 0;
    want_while(&spec, EDDY_E_INPUT_COUNT);
    spec = good_while();
    spec.max_iterations = 0;
    want_while(&spec, EDDY_E_VALUE);
    spec.max_iterations = -1;
    want_while(&spec, EDDY_E_VALUE);
    spec.max_iterations = (int64_t)1 << 31;
    want_while(&spec, EDDY_E_VALUE);
    spec.max_iterations = 2;
    spec.max_iterations_from = &most;
    want_while(&spec, EDDY_E_VALUE);
    spec.max_iterations = 0;
    spec.max_iterations_from = &one;
    want_while(&spec, EDDY_E_DTYPE);
    spec = good_while();
    spec.condition = NULL;
    want_while(&spec, EDDY_E_ARGUMENT);
}
END_TEST

static eddy_status give_no_output(eddy_graph *graph, void *user,
                                  const eddy_output *inputs, size_t n,
                                  eddy_output *out, eddy_error *err)
{
    (void)graph;
    (void)user;
    (void)n;
    (void)err;
    *out = (eddy_output){inputs[0].node, 77};
    return EDDY_OK;
}

START_TEST(a_condition_gives_a_value)
{
    eddy_mxnet_while_spec spec = good_while();

    spec.condition = give_no_output;
    want_while(&spec, EDDY_E_OUTPUT_INDEX);
}
END_TEST

START_TEST(what_a_predicate_is)
{
    const eddy_output *const outer[] = {&x, &text};
    const eddy_mxnet_while_spec spec = good_while();

    condition.outer = outer[_i];
    want_while(&spec, EDDY_E_PREDICATE);
}
END_TEST

/* A maximum that only a run finds to be negative. */
START_TEST(a_negative_maximum_fails_the_run)
{
    const eddy_output most = construct_feed(&p, "most", EDDY_INT32);
    eddy_mxnet_while_spec spec = good_while();
    eddy_output rows, last;

    spec.max_iterations = 0;
    spec.max_iterations_from = &most;
    program_want_ok(
        &p, eddy_mxnet_while_loop(p.graph, &spec, &rows, &last, NULL, &p.err));
    construct_plan(&p, rows, &most, 1);
    program_feed_int32(&p, 0, -1);
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    program_feed_int32(&p, 0, 2);
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(1, 1));
}
END_TEST

/* ---- cond ---- */

START_TEST(what_a_cond_refuses)
{
    recipe same = {.results = flag_results, .n_results = 1, .outer = &one};
    eddy_mxnet_cond_spec spec = {
        .size = sizeof spec,
        .predicate = x,
        .n_outputs = 1,
        .then = recipe_build,
        .otherwise = recipe_build,
        .user = &same,
    };
    eddy_output out;

    program_want(&p, eddy_mxnet_cond(p.graph, &spec, &out, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_PREDICATE);
    spec.predicate = text;
    program_want(&p, eddy_mxnet_cond(p.graph, &spec, &out, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_PREDICATE);
    spec.predicate = (eddy_output){9999, 0};
    program_want(&p, eddy_mxnet_cond(p.graph, &spec, &out, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_UNKNOWN_INPUT);
    spec.predicate = flag;
    spec.otherwise = NULL;
    program_want(&p, eddy_mxnet_cond(p.graph, &spec, &out, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
}
END_TEST

/* ---- at once ---- */

static eddy_status give_null(eddy_immediate *at, void *user,
                             eddy_tensor *const *inputs, size_t n,
                             eddy_tensor **out, eddy_error *err)
{
    (void)at;
    (void)user;
    (void)n;
    (void)err;
    out[0] = eddy_tensor_retain(inputs[0]);
    return EDDY_OK;
}

/* Fails after it has set a result. */
static eddy_status run_nothing(eddy_immediate *at, void *user,
                               eddy_tensor *const *inputs, size_t n,
                               eddy_tensor **out, eddy_error *err)
{
    (void)user;
    (void)n;
    out[0] = eddy_tensor_retain(inputs[0]);
    return eddy_immediate_op(at, "Nothing", inputs, 1, &out[1], err);
}

/* The outputs grow. */
static eddy_status grow(eddy_immediate *at, void *user,
                        eddy_tensor *const *inputs, size_t n, eddy_tensor **out,
                        eddy_error *err)
{
    size_t *steps = user;

    (void)at;
    (void)n;
    (void)err;
    out[0] = eddy_tensor_retain((*steps)++ == 0 ? tx : ty);
    out[1] = eddy_tensor_retain(inputs[1]);
    return EDDY_OK;
}

static eddy_mxnet_foreach_now_spec good_now(recipe *body)
{
    return (eddy_mxnet_foreach_now_spec){
        .size = sizeof(eddy_mxnet_foreach_now_spec),
        .name = "outer",
        .inputs = &tx,
        .n_inputs = 1,
        .states = &tone,
        .n_states = 1,
        .n_outputs = 1,
        .body = recipe_run,
        .user = body,
    };
}

static void want_now(const eddy_mxnet_foreach_now_spec *spec, eddy_status code,
                     eddy_detail detail, const char *frame)
{
    eddy_tensor *output = tx, *state = tx;

    program_want(&p, eddy_mxnet_foreach_now(now, spec, &output, &state, &p.err),
                 code, detail);
    if (frame)
        ck_assert_str_eq(p.err.frame, frame);
    ck_assert_ptr_null(output);
    ck_assert_ptr_null(state);
}

START_TEST(what_a_foreach_at_once_refuses)
{
    recipe body = adding(sum_results);
    eddy_tensor *const both[] = {tx, ty};
    eddy_mxnet_foreach_now_spec spec = good_now(&body);
    eddy_tensor *out[2];
    size_t steps = 0;

    spec.n_inputs = 0;
    want_now(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT, NULL);
    spec = good_now(&body);
    spec.inputs = both;
    spec.n_inputs = 2;
    want_now(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_DIM, NULL);
    spec.inputs = &tone;
    spec.n_inputs = 1;
    want_now(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_RANK, NULL);
    spec = good_now(&body);
    spec.size++;
    program_want(&p, eddy_mxnet_foreach_now(now, &spec, out, out + 1, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    spec = good_now(&body);
    spec.body = give_null;
    want_now(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_MISSING, "outer[0]");
    spec.body = run_nothing;
    want_now(&spec, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP, "outer[0]");
    spec.body = grow;
    spec.user = &steps;
    want_now(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, "outer[1]");
    body = adding(shape_results);
    spec = good_now(&body);
    want_now(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE, "outer[0]");
    body = adding(sum_results);
    body.ops = (const recipe_op[]){{"AddV2", OUTER(0), IN(1)},
                                   {"Shape", IN(0), RECIPE_NONE}};
    body.outer_tensors = &tx;
    want_now(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, "outer[0]");
}
END_TEST

/* Step 2 of the outer loop, where an inner one of a scalar fails. */
static eddy_status run_inner(eddy_immediate *at, void *user,
                             eddy_tensor *const *inputs, size_t n,
                             eddy_tensor **out, eddy_error *err)
{
    size_t *steps = user;
    eddy_mxnet_foreach_now_spec spec = good_now(NULL);

    (void)n;
    spec.name = "inner";
    spec.body = run_nothing;
    if ((*steps)++ == 2)
        return eddy_mxnet_foreach_now(at, &spec, out, out + 1, err);
    out[0] = eddy_tensor_retain(inputs[0]);
    out[1] = eddy_tensor_retain(inputs[1]);
    return EDDY_OK;
}

START_TEST(an_error_says_in_which_steps)
{
    size_t steps = 0;
    eddy_mxnet_foreach_now_spec spec = good_now(NULL);

    spec.body = run_inner;
    spec.user = &steps;
    want_now(&spec, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP, "outer[2]/inner[0]");
}
END_TEST

START_TEST(no_steps_give_no_outputs_of_nothing)
{
    const eddy_mxnet_item items[] = {{EDDY_FLOAT32, {.rank = 1, .dims = {2}}},
                                     {EDDY_FLOAT32, {.rank = -1}}};
    recipe body = adding(sum_results);
    eddy_tensor *none = floats(1, 0), *output, *state;
    eddy_mxnet_foreach_now_spec spec = good_now(&body);

    spec.inputs = &none;
    want_now(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_UNINITIALIZED, NULL);
    spec.output_items = items + 1;
    want_now(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_UNINITIALIZED, NULL);
    spec.output_items = &(eddy_mxnet_item){EDDY_FLOAT32, {.rank = -7}};
    want_now(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_RANK, NULL);
    spec.output_items = items;
    program_want_ok(
        &p, eddy_mxnet_foreach_now(now, &spec, &output, &state, &p.err));
    ck_assert_int_eq(eddy_tensor_shape(output)->rank, 2);
    ck_assert_int_eq(eddy_tensor_shape(output)->dims[0], 0);
    ck_assert_int_eq(eddy_tensor_shape(output)->dims[1], 2);
    ck_assert_ptr_eq(state, tone);
    eddy_tensor_release(output);
    eddy_tensor_release(state);
    eddy_tensor_release(none);
}
END_TEST

static eddy_status run_flag(eddy_immediate *at, void *user,
                            eddy_tensor *const *inputs, size_t n,
                            eddy_tensor **out, eddy_error *err)
{
    (void)at;
    (void)inputs;
    (void)n;
    (void)err;
    out[0] = eddy_tensor_retain(user);
    return EDDY_OK;
}

START_TEST(what_a_while_loop_at_once_refuses)
{
    eddy_mxnet_while_now_spec spec = {
        .size = sizeof spec,
        .variables = &tone,
        .n_variables = 1,
        .n_outputs = 0,
        .condition = run_flag,
        .body = run_flag,
        .user = tx,
        .max_iterations = 2,
    };
    eddy_tensor *out[2];
    const struct {
        int64_t most;
        eddy_tensor *from;
        size_t n_outputs;
        eddy_detail detail;
    } cases[] = {
        {2, NULL, 0, EDDY_E_PREDICATE}, {0, NULL, 1, EDDY_E_VALUE},
        {-1, NULL, 0, EDDY_E_VALUE},    {2, tone, 1, EDDY_E_VALUE},
        {0, tone, 1, EDDY_E_DTYPE},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spec.max_iterations = cases[i].most;
        spec.max_iterations_from = cases[i].from;
        spec.n_outputs = cases[i].n_outputs;
        program_want(
            &p,
            eddy_mxnet_while_loop_now(now, &spec, out, out + 1, NULL, &p.err),
            EDDY_INVALID_ARGUMENT, cases[i].detail);
    }
    spec.n_variables = 0;
    program_want(
        &p, eddy_mxnet_while_loop_now(now, &spec, out, out + 1, NULL, &p.err),
        EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT);
}
END_TEST

START_TEST(what_a_cond_at_once_refuses)
{
    eddy_tensor *const predicates[] = {tx, ttext};
    eddy_tensor *out = tx;
    eddy_mxnet_cond_now_spec spec = {
        .size = sizeof spec,
        .n_outputs = 1,
        .then = run_flag,
        .otherwise = run_flag,
        .user = tx,
    };

    for (int i = 0; i < 2; i++) {
        spec.predicate = predicates[i];
        program_want(&p, eddy_mxnet_cond_now(now, &spec, &out, &p.err),
                     EDDY_INVALID_ARGUMENT, EDDY_E_PREDICATE);
        ck_assert_ptr_null(out);
    }
    spec.predicate = NULL;
    program_want(&p, eddy_mxnet_cond_now(now, &spec, &out, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
}
END_TEST

/* Whichever allocation fails: an error of memory, and nothing is leaked. */
START_TEST(memory_may_be_short_at_once)
{
    recipe body = adding(sum_results);
    const eddy_mxnet_foreach_now_spec spec = good_now(&body);
    eddy_tensor *output = NULL, *state = NULL;
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;
    int n = 0;

    for (; n < 10000 && status != EDDY_OK; n++) {
        counting_allocator_fail(&p.counting, n);
        status = eddy_mxnet_foreach_now(now, &spec, &output, &state, &p.err);
        if (status != EDDY_OK)
            program_want(&p, status, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
    }
    counting_allocator_fail(&p.counting, -1);
    ck_assert_int_eq(status, EDDY_OK);
    ck_assert_int_gt(n, 5);
    eddy_tensor_release(output);
    eddy_tensor_release(state);
}
END_TEST

TCase *mxnet_errors_tests(void)
{
    TCase *tc = tcase_create("mxnet_errors");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_a_foreach_is_of);
    tcase_add_loop_test(tc, what_a_step_gives, 0, 4);
    tcase_add_test(tc, states_keep_what_they_are);
    tcase_add_test(tc, outputs_that_are_not_set_are_refused);
    tcase_add_test(tc, outputs_are_what_was_promised);
    tcase_add_test(tc, what_a_while_loop_is_of);
    tcase_add_test(tc, a_condition_gives_a_value);
    tcase_add_loop_test(tc, what_a_predicate_is, 0, 2);
    tcase_add_test(tc, a_negative_maximum_fails_the_run);
    tcase_add_test(tc, what_a_cond_refuses);
    tcase_add_test(tc, what_a_foreach_at_once_refuses);
    tcase_add_test(tc, an_error_says_in_which_steps);
    tcase_add_test(tc, no_steps_give_no_outputs_of_nothing);
    tcase_add_test(tc, what_a_while_loop_at_once_refuses);
    tcase_add_test(tc, what_a_cond_at_once_refuses);
    tcase_add_test(tc, memory_may_be_short_at_once);
    return tc;
}
