/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of optimizers: a variable and its slots (moments, accumulators) change
 * together, by a gradient.  All of them are locked, in the order of their
 * addresses, for as long as that takes.  An optimizer says where its inputs are
 * and has a loop for each dtype.
 */
#ifndef EDDY_OPS_OPTIMIZER_H
#define EDDY_OPS_OPTIMIZER_H

#include "ops/math/numeric.h"
#include "ops/state/variable.h"
#include "ops/template.h"

#define EDDY__STEP_VARIABLES 4
#define EDDY__STEP_SCALARS 6
#define EDDY__STEP_INPUTS (EDDY__STEP_VARIABLES + EDDY__STEP_SCALARS + 1)

/* The attributes of an optimizer's node, its state; false unless it has them.
 */
typedef struct eddy__step_options {
    bool nesterov, keeps_slots, multiplies_linear;
} eddy__step_options;

/* What a loop over elements sees; scalars in the order of the inputs. */
typedef struct eddy__optimizer_step {
    void *to[EDDY__STEP_VARIABLES];
    const void *from[EDDY__STEP_VARIABLES];
    const void *scalars[EDDY__STEP_SCALARS];
    const void *gradient;
    int64_t n;
    eddy__step_options is;
} eddy__optimizer_step;

typedef void (*eddy__step_loop)(const eddy__optimizer_step *s);

typedef struct eddy__optimizer {
    uint32_t n_variables; /* the first inputs */
    uint32_t gradient;    /* input; the others are scalars */
    /* The names of the inputs, for messages. */
    const char *names[EDDY__STEP_INPUTS];
    eddy__step_loop loops[EDDY_DTYPE_COUNT];
} eddy__optimizer;

/*
 * The kernel and the preparation of an optimizer's node.  With an input more
 * than the optimizer has, behind the gradient, that is of the rows which this
 * names.
 */
eddy_status eddy__optimizer_run(eddy_kernel *k, const eddy__optimizer *o);
eddy_status eddy__optimizer_prepare(eddy_infer *infer);

/* ---- loops ---- */

/*
 * In files that are included once a dtype (ops/template.h): a number that a
 * loop computes with; a scalar of the step `s`, or element `i` of one of its
 * arrays, as such.
 */
#define EDDY__STEP_NUMBER const EDDY__COMPUTED
#define EDDY__STEP_SCALAR(which)                                               \
    EDDY__LOAD(*(const EDDY__STORED *)s->scalars[which])
#define EDDY__STEP_FROM(v) EDDY__LOAD(((const EDDY__STORED *)s->from[v])[i])
#define EDDY__STEP_GRADIENT EDDY__LOAD(((const EDDY__STORED *)s->gradient)[i])
#define EDDY__STEP_PUT(v, e) (((EDDY__STORED *)s->to[v])[i] = EDDY__STORE(e))

#define EDDY__STEP_ENTRY(D, name) [EDDY__DTYPE_##D] = name##_##D,
#define EDDY__STEP_LOOPS(name)                                                 \
    {                                                                          \
        EDDY__EACH_FLOAT(EDDY__STEP_ENTRY, name)                               \
    }

/* ---- rows ---- */

#define EDDY__STEP_FLAGS                                                       \
    (EDDY_OP_STATEFUL | EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE)

#define EDDY__STEP_TYPES "T: number, use_locking: bool = false"
#define EDDY__STEP_NESTEROV EDDY__STEP_TYPES ", use_nesterov: bool = false"

/* The op on a handle, then the op on a reference. */
#define EDDY__OPTIMIZER_ROWS(name, variables, references, in, attributes, run, \
                             text)                                             \
    EDDY__OP_ROW("ResourceApply" name, .inputs = variables ", " in,            \
                 .attrs = attributes, .kernel = run,                           \
                 .prepare = eddy__optimizer_prepare,                           \
                 .flags = EDDY__STEP_FLAGS, .doc = text),                      \
        EDDY__OP_ROW("Apply" name, .inputs = references ", " in,               \
                     .outputs = "out: ref T", .attrs = attributes,             \
                     .kernel = run, .prepare = eddy__optimizer_prepare,        \
                     .flags = EDDY__STEP_FLAGS, .doc = text)

/* EDDY__OPTIMIZER_ROWS for the op on some rows. */
#define EDDY__OPTIMIZER_SPARSE_ROWS(name, variables, references, in,           \
                                    attributes, run)                           \
    EDDY__OP_ROW("ResourceSparseApply" name, .inputs = variables ", " in,      \
                 .attrs = "Tindices: index, " attributes, .kernel = run,       \
                 .prepare = eddy__optimizer_prepare,                           \
                 .flags = EDDY__STEP_FLAGS, .doc = EDDY__STEP_ROWS_TEXT),      \
        EDDY__OP_ROW("SparseApply" name, .inputs = references ", " in,         \
                     .outputs = "out: ref T",                                  \
                     .attrs = "Tindices: index, " attributes, .kernel = run,   \
                     .prepare = eddy__optimizer_prepare,                       \
                     .flags = EDDY__STEP_FLAGS, .doc = EDDY__STEP_ROWS_TEXT)

#define EDDY__STEP_ROWS_TEXT                                                   \
    "The same for the rows that indices name, one after the other."

#endif
