/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the steps of optimizers; descent, momentum and Adam. */
#include "ops/nn/optimizer.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <tgmath.h>

/* ---- locks ---- */

static void sort(eddy__variable **variables, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        eddy__variable *v = variables[i];
        uint32_t j = i;

        for (; j > 0 && (uintptr_t)variables[j - 1] > (uintptr_t)v; j--)
            variables[j] = variables[j - 1];
        variables[j] = v;
    }
}

/* The same variable may be given twice, and is then locked once. */
static void lock_all(eddy__variable **sorted, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[i - 1])
            eddy__mutex_lock(&sorted[i]->mu);
}

static void unlock_all(eddy__variable **sorted, uint32_t n)
{
    for (uint32_t i = n; i-- > 0;)
        if (i == 0 || sorted[i] != sorted[i - 1])
            eddy__mutex_unlock(&sorted[i]->mu);
}

/* ---- a step ---- */

/* Does it change some rows?  Then their indices stand behind the gradient. */
static bool is_sparse(const eddy_kernel *k, const eddy__optimizer *o)
{
    return k->node->n_in > EDDY__STEP_INPUTS || !o->names[k->node->n_in - 1];
}

static eddy_status check_scalars(eddy_kernel *k, const eddy__optimizer *o,
                                 eddy__optimizer_step *s)
{
    const uint32_t skipped = is_sparse(k, o);
    uint32_t n = 0;

    for (uint32_t i = o->n_variables; i < k->node->n_in; i++) {
        if (i >= o->gradient && i <= o->gradient + skipped)
            continue;
        if (eddy__in_shape(k, i)->rank > 0)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "%s must be a scalar, but it has shape %s",
                               o->names[i < o->gradient ? i : i - skipped],
                               eddy__shape_print(eddy__in_shape(k, i)).text);
        s->scalars[n++] = eddy__in_elements(k, i);
    }
    return EDDY_OK;
}

/* What shape the gradient of some rows must have. */
static eddy_status shape_rows(eddy_kernel *k, const eddy__optimizer *o,
                              const eddy__update *u, eddy_shape *out)
{
    const eddy_shape *indices = eddy__in_shape(k, o->gradient + 1);

    if (indices->rank != 1 || u->shape->rank < 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "indices must be a vector, and the variable '%s' "
                           "have rows, but they have shapes %s and %s",
                           u->variable->name, eddy__shape_print(indices).text,
                           eddy__shape_print(u->shape).text);
    *out = *u->shape;
    out->dims[0] = indices->dims[0];
    return EDDY_OK;
}

/* The gradient and the slots are shaped as the variable is. */
static eddy_status check_shapes(eddy_kernel *k, const eddy__optimizer *o,
                                const eddy__update *u)
{
    const eddy_shape *gradient = eddy__in_shape(k, o->gradient);

    if (is_sparse(k, o)) {
        eddy_shape rows;

        EDDY_TRY(shape_rows(k, o, u, &rows));
        if (!eddy__shape_equal(gradient, &rows))
            return eddy__kfail(
                k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                "%s has shape %s, but that of these rows of "
                "the variable '%s' is %s",
                o->names[o->gradient], eddy__shape_print(gradient).text,
                u[0].variable->name, eddy__shape_print(&rows).text);
        gradient = u[0].shape;
    }
    for (uint32_t i = 1; i <= o->n_variables; i++) {
        const eddy_shape *other = i < o->n_variables ? u[i].shape : gradient;

        if (!eddy__shape_equal(other, u[0].shape))
            return eddy__kfail(
                k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                "%s has shape %s, but the variable '%s' has shape %s",
                o->names[i < o->n_variables ? i : o->gradient],
                eddy__shape_print(other).text, u[0].variable->name,
                eddy__shape_print(u[0].shape).text);
    }
    return EDDY_OK;
}

static eddy_status make_all(eddy_kernel *k, const eddy__optimizer *o,
                            eddy__update *u, eddy__optimizer_step *s)
{
    for (uint32_t i = 0; i < o->n_variables; i++) {
        EDDY_TRY(eddy__update_make(k, &u[i], is_sparse(k, o)));
        s->to[i] = u[i].to;
        s->from[i] = is_sparse(k, o) ? u[i].to : u[i].from;
    }
    return EDDY_OK;
}

static eddy_status check_rows(eddy_kernel *k, const eddy__optimizer *o,
                              const eddy__update *u)
{
    const eddy_view indices = eddy__in_view(k, o->gradient + 1);

    for (int64_t i = 0; i < indices.count; i++) {
        const int64_t row = eddy__view_index(&indices, i);

        if (row < 0 || row >= u->shape->dims[0])
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                               "indices[%" PRId64 "] = %" PRId64
                               " is not in [0, %" PRId64 ")",
                               i, row, u->shape->dims[0]);
    }
    return EDDY_OK;
}

/* A step of each row in its turn, which may come more than once. */
static void step_rows(eddy_kernel *k, const eddy__optimizer *o,
                      const eddy__update *u, const eddy__optimizer_step *all)
{
    const eddy_view indices = eddy__in_view(k, o->gradient + 1);
    const eddy_dtype dtype = u[0].dtype;
    eddy__optimizer_step s = *all;
    size_t bytes;

    if (all->n == 0)
        return;
    s.n = all->n / u[0].shape->dims[0];
    bytes = (size_t)s.n * eddy_dtype_size(dtype);
    for (int64_t i = 0; i < indices.count; i++) {
        const size_t at = (size_t)eddy__view_index(&indices, i) * bytes;

        for (uint32_t v = 0; v < o->n_variables; v++) {
            s.to[v] = (char *)all->to[v] + at;
            s.from[v] = s.to[v];
        }
        s.gradient = (const char *)all->gradient + (size_t)i * bytes;
        o->loops[dtype](&s);
    }
}

/* With everything locked. */
static eddy_status change(eddy_kernel *k, const eddy__optimizer *o,
                          eddy__update *u, eddy__variable **variables)
{
    const eddy__step_options *opts = eddy__state(k);
    const eddy_dtype dtype = (eddy_dtype)k->node->in_dtypes[o->gradient];
    eddy__optimizer_step s = {.is = *opts};

    for (uint32_t i = 0; i < o->n_variables; i++)
        EDDY_TRY(eddy__update_open(k, variables[i], dtype,
                                   eddy__variable_is_reference_op(k)
                                       ? EDDY_FAILED_PRECONDITION
                                       : EDDY_INTERNAL,
                                   &u[i]));
    EDDY_TRY(check_scalars(k, o, &s));
    EDDY_TRY(check_shapes(k, o, u));
    s.gradient = eddy__in_elements(k, o->gradient);
    s.n = u[0].count;
    if (is_sparse(k, o))
        EDDY_TRY(check_rows(k, o, u));
    EDDY_TRY(make_all(k, o, u, &s));
    if (is_sparse(k, o))
        step_rows(k, o, u, &s);
    else
        o->loops[dtype](&s);
    for (uint32_t i = 0; i < o->n_variables; i++)
        eddy__update_close(&u[i]);
    return EDDY_OK;
}

eddy_status eddy__optimizer_run(eddy_kernel *k, const eddy__optimizer *o)
{
    eddy__variable *variables[EDDY__STEP_VARIABLES] = {NULL};
    eddy__variable *sorted[EDDY__STEP_VARIABLES];
    eddy__update updates[EDDY__STEP_VARIABLES] = {{.count = 0}};
    eddy_status status;

    for (uint32_t i = 0; i < o->n_variables; i++) {
        EDDY_TRY(eddy__in_variable(k, i, &variables[i]));
        sorted[i] = variables[i];
    }
    sort(sorted, o->n_variables);
    lock_all(sorted, o->n_variables);
    status = change(k, o, updates, variables);
    unlock_all(sorted, o->n_variables);
    for (uint32_t i = 0; i < o->n_variables; i++) {
        eddy__update_abandon(k, &updates[i]);
        eddy__value_clear(k->heap, &updates[i].old);
    }
    if (status == EDDY_OK && eddy__variable_is_reference_op(k))
        eddy__output_forward(k, 0, 0);
    return status;
}

/* ---- loops ---- */

#define EACH "ops/nn/optimizer_loops.def"
#include "ops/each_float.def"
#undef EACH

static const eddy__optimizer descent = {.n_variables = 1,
                                        .gradient = 2,
                                        .names = {"var", "alpha", "delta"},
                                        .loops = EDDY__STEP_LOOPS(descent)};

static const eddy__optimizer momentum = {
    .n_variables = 2,
    .gradient = 3,
    .names = {"var", "accum", "lr", "grad", "momentum"},
    .loops = EDDY__STEP_LOOPS(momentum)};

static const eddy__optimizer adam = {.n_variables = 3,
                                     .gradient = 9,
                                     .names = {"var", "m", "v", "beta1_power",
                                               "beta2_power", "lr", "beta1",
                                               "beta2", "epsilon", "grad"},
                                     .loops = EDDY__STEP_LOOPS(adam)};

/* ---- definitions ---- */

/* Is a flag set that the op may not have? */
static bool is_set(const eddy_infer *infer, const char *name)
{
    eddy_attr attr;

    return eddy_infer_attr(infer, name, &attr) && attr.as.bools[0];
}

eddy_status eddy__optimizer_prepare(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy__infer_type(infer, "T");
    eddy__step_options *state;

    if (!eddy__dtype_in(dtype, EDDY__FLOATS))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL,
                               "there is no kernel for %s",
                               eddy_dtype_name(dtype));
    state = eddy__prepare_state(infer, sizeof *state);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    state->nesterov = is_set(infer, "use_nesterov");
    state->keeps_slots = !is_set(infer, "update_slots");
    state->multiplies_linear = is_set(infer, "multiply_linear_by_lr");
    return EDDY_OK;
}

static eddy_status run_descent(eddy_kernel *k)
{
    return eddy__optimizer_run(k, &descent);
}

static eddy_status run_momentum(eddy_kernel *k)
{
    return eddy__optimizer_run(k, &momentum);
}

static eddy_status run_adam(eddy_kernel *k)
{
    return eddy__optimizer_run(k, &adam);
}

static const eddy_op_spec specs[] = {
    EDDY__OPTIMIZER_ROWS("GradientDescent", "var: resource", "var: ref T",
                         "alpha: T, delta: T", EDDY__STEP_TYPES, run_descent,
                         "Subtracts alpha * delta from a variable."),
    EDDY__OPTIMIZER_ROWS("Momentum", "var: resource, accum: resource",
                         "var: ref T, accum: ref T",
                         "lr: T, grad: T, momentum: T", EDDY__STEP_NESTEROV,
                         run_momentum, "A step down a gradient with momentum."),
    EDDY__OPTIMIZER_SPARSE_ROWS("Momentum", "var: resource, accum: resource",
                                "var: ref T, accum: ref T",
                                "lr: T, grad: T, indices: Tindices, "
                                "momentum: T",
                                EDDY__STEP_NESTEROV, run_momentum),
    EDDY__OPTIMIZER_ROWS(
        "Adam", "var: resource, m: resource, v: resource",
        "var: ref T, m: ref T, v: ref T",
        "beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, "
        "epsilon: T, grad: T",
        EDDY__STEP_NESTEROV, run_adam,
        "A step of Adam, with both moments of the gradient."),
};

const eddy__op_table eddy__optimizer_ops = {specs, NULL,
                                            sizeof specs / sizeof *specs};
