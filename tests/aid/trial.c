/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/trial.h"

#include <check.h>
#include <math.h>
#include <string.h>

/* ---- numbers ---- */

static void put(eddy_dtype dtype, void *data, int64_t i, double value)
{
    switch (dtype) {
    case EDDY_FLOAT32:
        ((float *)data)[i] = (float)value;
        break;
    case EDDY_FLOAT64:
        ((double *)data)[i] = value;
        break;
    case EDDY_INT8:
    case EDDY_UINT8:
    case EDDY_BOOL:
        ((int8_t *)data)[i] = (int8_t)value;
        break;
    case EDDY_INT16:
        ((int16_t *)data)[i] = (int16_t)value;
        break;
    case EDDY_INT32:
        ((int32_t *)data)[i] = (int32_t)value;
        break;
    case EDDY_INT64:
        ((int64_t *)data)[i] = (int64_t)value;
        break;
    default:
        ck_abort_msg("no numbers of dtype %s", eddy_dtype_name(dtype));
    }
}

static double get(eddy_dtype dtype, const void *data, int64_t i)
{
    switch (dtype) {
    case EDDY_FLOAT32:
        return (double)((const float *)data)[i];
    case EDDY_FLOAT64:
        return ((const double *)data)[i];
    case EDDY_INT8:
    case EDDY_UINT8:
    case EDDY_BOOL:
        return ((const int8_t *)data)[i];
    case EDDY_INT16:
        return ((const int16_t *)data)[i];
    case EDDY_INT32:
        return ((const int32_t *)data)[i];
    case EDDY_INT64:
        return (double)((const int64_t *)data)[i];
    default:
        ck_abort_msg("no numbers of dtype %s", eddy_dtype_name(dtype));
    }
    return 0;
}

static int64_t count_of(const eddy_shape *shape)
{
    int64_t n = 1;

    for (int32_t d = 0; d < shape->rank; d++)
        n *= shape->dims[d];
    ck_assert_int_le(n, TRIAL_ELEMENTS);
    return n;
}

trial_feed trial_placeholder(program *p, eddy_dtype dtype,
                             const eddy_shape *shape, const double *elements,
                             bool is_static)
{
    trial_feed feed = {.dtype = dtype, .shape = *shape};
    eddy_shape known = *shape;
    const int64_t n = count_of(shape);

    for (int32_t d = 0; d < known.rank && !is_static; d++)
        known.dims[d] = -1;
    program_want_ok(p, eddy_graph_add_placeholder(p->graph, NULL, dtype, &known,
                                                  &feed.at, &p->err));
    for (int64_t i = 0; i < n; i++)
        feed.elements[i] = elements ? elements[i] : (double)(i + 1);
    return feed;
}

/* ---- running ---- */

static void feed_all(program *p, const trial_feed *feeds, size_t n)
{
    program_make_run(p);
    for (size_t f = 0; f < n; f++) {
        const int64_t count = count_of(&feeds[f].shape);
        double elements[TRIAL_ELEMENTS];
        eddy_tensor *tensor;

        for (int64_t i = 0; i < count; i++)
            put(feeds[f].dtype, elements, i, feeds[f].elements[i]);
        tensor = program_tensor(p, feeds[f].dtype, &feeds[f].shape, elements);
        program_want_ok(p, eddy_run_feed(p->run, f, tensor, &p->err));
        eddy_tensor_release(tensor);
    }
}

static void plan_with(program *p, const trial_feed *feeds, size_t n,
                      eddy_output fetch)
{
    eddy_output at[16];

    ck_assert_uint_le(n, 16);
    for (size_t f = 0; f < n; f++)
        at[f] = feeds[f].at;
    construct_plan(p, fetch, at, n);
}

/* Executes the plan that there is. */
static trial_result execute(program *p, const trial_feed *feeds, size_t n)
{
    trial_result result;
    const eddy_tensor *tensor;

    feed_all(p, feeds, n);
    program_run(p);
    tensor = eddy_run_fetch(p->run, 0);
    memset(&result, 0, sizeof result);
    result.dtype = eddy_tensor_dtype(tensor);
    result.shape = *eddy_tensor_shape(tensor);
    result.n = count_of(&result.shape);
    for (int64_t i = 0; i < result.n; i++)
        result.elements[i] = get(result.dtype, eddy_tensor_data(tensor), i);
    return result;
}

trial_result trial_run(program *p, const trial_feed *feeds, size_t n,
                       eddy_output fetch)
{
    plan_with(p, feeds, n, fetch);
    return execute(p, feeds, n);
}

void trial_want_failure(program *p, const trial_feed *feeds, size_t n,
                        eddy_output fetch, eddy_status code, eddy_detail detail)
{
    plan_with(p, feeds, n, fetch);
    feed_all(p, feeds, n);
    program_want(p, program_execute(p), code, detail);
}

void trial_want(const trial_result *result, const eddy_shape *shape,
                const double *elements)
{
    ck_assert_int_eq(result->shape.rank, shape->rank);
    for (int32_t d = 0; d < shape->rank; d++)
        ck_assert_int_eq(result->shape.dims[d], shape->dims[d]);
    for (int64_t i = 0; i < result->n; i++)
        ck_assert_double_eq_tol(result->elements[i], elements[i],
                                1e-6 * (1 + fabs(elements[i])));
}

/* ---- saved and loaded ---- */

static eddy_output same_in(const program *p, const eddy_graph *other,
                           eddy_output output)
{
    const char *name = eddy_graph_node_name(p->graph, output.node);
    const eddy_output found = {eddy_graph_find(other, name), output.index};

    ck_assert_uint_ne(found.node, EDDY_NO_NODE);
    return found;
}

trial_result trial_both(program *p, const trial_feed *feeds, size_t n,
                        eddy_output fetch)
{
    const trial_result own = trial_run(p, feeds, n, fetch);
    eddy_graph *graph = p->graph, *loaded = program_save_and_load(p, graph);
    trial_feed moved[16];
    trial_result other;

    ck_assert_uint_le(n, 16);
    for (size_t f = 0; f < n; f++) {
        moved[f] = feeds[f];
        moved[f].at = same_in(p, loaded, feeds[f].at);
    }
    fetch = same_in(p, loaded, fetch);
    p->graph = loaded;
    other = trial_run(p, moved, n, fetch);
    p->graph = graph;
    eddy_graph_destroy(loaded);
    trial_want(&other, &own.shape, own.elements);
    return own;
}

/* ---- gradients ---- */

static double sum_of(const trial_result *result)
{
    double sum = 0;

    for (int64_t i = 0; i < result->n; i++)
        sum += result->elements[i];
    return sum;
}

/* Holds the gradient of feed `f` against what moving its elements does. */
static void compare(program *p, trial_feed *feeds, size_t n, size_t f,
                    const trial_result *gradient)
{
    const double step = 1e-5;

    ck_assert_int_eq(gradient->n, count_of(&feeds[f].shape));
    for (int64_t i = 0; i < gradient->n; i++) {
        const double at = feeds[f].elements[i];
        trial_result above, below;
        double slope;

        feeds[f].elements[i] = at + step;
        above = execute(p, feeds, n);
        feeds[f].elements[i] = at - step;
        below = execute(p, feeds, n);
        feeds[f].elements[i] = at;
        slope = (sum_of(&above) - sum_of(&below)) / (2 * step);
        ck_assert_double_eq_tol(gradient->elements[i], slope,
                                1e-6 * (1 + fabs(slope)));
    }
}

void trial_gradients(program *p, const trial_feed *feeds, size_t n,
                     eddy_output y)
{
    trial_result gradients[16];
    trial_feed moved[16];

    ck_assert_uint_le(n, 16);
    memcpy(moved, feeds, n * sizeof *feeds);
    for (size_t f = 0; f < n; f++) {
        eddy_output dx;

        if (feeds[f].dtype != EDDY_FLOAT64)
            continue;
        program_want_ok(p, eddy_gradients(p->graph, &y, 1, &feeds[f].at, 1,
                                          NULL, &dx, &p->err));
        ck_assert_uint_ne(dx.node, EDDY_NO_NODE);
        gradients[f] = trial_run(p, feeds, n, dx);
    }
    plan_with(p, feeds, n, y);
    for (size_t f = 0; f < n; f++)
        if (feeds[f].dtype == EDDY_FLOAT64)
            compare(p, moved, n, f, &gradients[f]);
}

/* ---- memory ---- */

void trial_memory(program *p, trial_build_fn build)
{
    const size_t depth = eddy_construct_depth(p->graph);
    bool ran_out = true;

    /* What does without the memory that it asked for is no failure. */
    for (int n = 0; ran_out; n++) {
        const size_t size = eddy_graph_size(p->graph);
        eddy_status status;

        ck_assert_int_lt(n, 20000);
        counting_allocator_fail(&p->counting, n);
        status = build(p, &p->err);
        ran_out = atomic_load(&p->counting.failing) < 0;
        counting_allocator_fail(&p->counting, -1);
        ck_assert(ran_out || status == EDDY_OK);
        if (status != EDDY_OK) {
            program_want(p, status, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
            ck_assert_uint_eq(eddy_graph_size(p->graph), size);
            ck_assert_uint_eq(eddy_construct_depth(p->graph), depth);
        }
    }
}
