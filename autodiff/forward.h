/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forward mode: the state of one call of eddy_jvp.
 *
 * The tangent of a value stands beside it: in its frame and branch, live when
 * it is.  A primitive's tangent is that primitive again, so a loop variable has
 * a tangent loop variable in the same loop, and no tape is needed.  Stacks and
 * TensorArrays get a second one for tangents.  A value without a tangent is one
 * whose tangent is zero.
 */
#ifndef EDDY_AUTODIFF_FORWARD_H
#define EDDY_AUTODIFF_FORWARD_H

#include "autodiff/activity.h"
#include "autodiff/primals.h"
#include "autodiff/rule_host.h"

/* A Merge whose back edge is still to be set. */
typedef struct eddy__open_merge {
    eddy_node forward;
    eddy_output tangent;
    struct eddy__open_merge *next;
} eddy__open_merge;

typedef struct eddy__forward {
    /* The floors below, each of which knows those before it. */
    eddy__gradient_emitter e;
    eddy__study study;
    eddy__value_shapes shapes;
    eddy__activity activity;
    eddy__places places;
    eddy__primals primals; /* for the tangents that are given */

    eddy__asked asked;
    char source[EDDY__SOURCE_SIZE]; /* of TensorArrays of gradients */
    const eddy_output *seeds;       /* one an x */
    uint32_t *next_x;       /* the next of the xs that is the same output */
    const eddy_node *order; /* topological, back edges left out */
    size_t n_order;
    uint8_t *is_cut;  /* a frame: its next iteration does not count */
    uint8_t *in_body; /* a node: what it puts out waits for a loop's Switch */
    /* A use of a stack or an array: the op that allocates it, or NO_NODE. */
    eddy_node *allocated_by;
    /* By what allocates it: its first use in `order`; by a use: the next. */
    eddy_node *first_use, *next_use;
    eddy_node *origin; /* where a handle comes from; NO_NODE: not yet known */
    eddy_output *tangents, *zeros; /* a slot of the study */
    eddy__open_merge *open_merges;
} eddy__forward;

/* ---- forward_arrays.c ---- */

/* Does the node allocate what a handle stands for: a stack, an array? */
bool eddy__forward_allocates(const eddy__node *node);

/* Is it a handle, or what an old stack has in place of one? */
bool eddy__forward_is_handle(const eddy__forward *f, eddy_output v);

/* Finds `allocated_by` and the lists of uses. */
eddy_status eddy__forward_find_arrays(eddy__forward *f);

/* ---- forward_active.c ---- */

/* Finds the nodes that need a tangent. */
eddy_status eddy__forward_find_active(eddy__forward *f);

/* ---- tangent.c ---- */

static inline eddy_output eddy__tangent_of(const eddy__forward *f,
                                           eddy_output v)
{
    return f->tangents[eddy__study_slot(&f->study, v)];
}

void eddy__tangent_set(eddy__forward *f, eddy_output v, eddy_output tangent);

/* Zeros where there is none. */
eddy_output eddy__tangent_full(eddy__forward *f, eddy_output v);

/* The node again with other inputs, after what it waits for; its output 0. */
eddy_output eddy__tangent_repeat(eddy__forward *f, eddy_node node,
                                 const eddy_output *inputs);

/* Is the node live whenever its frame is? */
bool eddy__tangent_is_always_live(const eddy__forward *f, eddy_node node);

/*
 * Sets the tangent of an output of a node, made of some inputs' tangents alone,
 * which may be live where the node is not.
 */
void eddy__tangent_set_guarded(eddy__forward *f, eddy_output v,
                               eddy_output tangent);

/* ---- forward_control.c ---- */

/* The tangent of a primitive, or of what allocates a stack or an array. */
void eddy__forward_primitive(eddy__forward *f, eddy_node node);
void eddy__forward_allocation(eddy__forward *f, eddy_node node);
void eddy__forward_close_merges(eddy__forward *f);

/* ---- forward_rules.c ---- */

/* True if the op has a rule of its own; it has then been used. */
bool eddy__forward_rule(eddy__forward *f, eddy_node node);

/* ---- transpose.c ---- */

/*
 * The tangents of a node from its gradient.  That is linear in the gradients u
 * of the outputs, g(u) = J'u; so the gradient of t.g(u) with respect to u is
 * J t.  What computes g(u) itself is of no use to anybody, and pruned.
 */
void eddy__transpose(eddy__forward *f, eddy_node node);

#endif
