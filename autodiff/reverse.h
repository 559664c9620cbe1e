/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk of reverse mode: the state of a round of eddy_gradients.
 *
 * Forward nodes are walked once each, consumers first, without recursion.  A
 * loop is a unit of the walk: it opens when the gradients of its Exits are
 * known, which makes its gradient frame, and closes when all of its body has
 * been walked.  Every gradient is live exactly where the value that it belongs
 * to was.
 */
#ifndef EDDY_AUTODIFF_REVERSE_H
#define EDDY_AUTODIFF_REVERSE_H

#include "autodiff/rule_host.h"
#include "autodiff/sums.h"

/* A loop variable in the gradient frame. */
typedef struct eddy__back_variable {
    const eddy_loop_variable *forward;
    eddy_output merge, switch_; /* output 1 of the Switch is in the body */
    eddy_output exit;
    struct eddy__back_variable *next;
} eddy__back_variable;

/* Lists of nodes, frames and tapes are by their numbers. */
#define EDDY__END_OF_LIST UINT32_MAX

/* A loop that is walked, and its gradient; one a frame, in the same order. */
typedef struct eddy__loop {
    eddy__scope *scope;
    struct eddy__loop *parent; /* that of the frame around it */

    /* ---- walk.c ---- */
    bool is_active; /* some node of it, or of a loop in it, is */
    bool is_open;
    uint32_t n_exits;     /* active Exits to come before it opens */
    uint32_t n_tapes;     /* tapes whose pops must be walked before */
    uint32_t n_remaining; /* units of the body to come before it closes */
    /* Lists: what runs in it, the loops in it, and tapes by either loop. */
    uint32_t first_unit, first_child, first_pushed, first_popped;
    uint32_t next_child; /* of the same parent */

    /* ---- loop.c ---- */
    eddy_output trips;     /* the Exit of the forward loop's counter */
    eddy_output loop_cond; /* of the gradient loop */
    eddy__back_variable *variables;
} eddy__loop;

/* The gradient of a tape, which has the same number. */
typedef struct eddy__tape_gradient {
    eddy_output stack; /* for the gradients of the pops ... */
    eddy_node done;    /* ... and the node with which they are all there */

    /* ---- walk.c ---- */
    bool is_pending; /* the pop has yet to be walked */
    /*
     * The innermost frame around both has one unit with the push in it and one
     * with the pop: a loop, or the node itself (NULL).
     */
    eddy__loop *push_loop, *pop_loop;
    uint32_t next_pushed, next_popped; /* tapes of the same loop */
} eddy__tape_gradient;

typedef enum eddy__unit_kind {
    EDDY__UNIT_NODE,
    EDDY__UNIT_OPEN, /* a loop */
    EDDY__UNIT_CLOSE,
} eddy__unit_kind;

typedef struct eddy__unit {
    eddy__unit_kind kind;
    uint32_t id; /* of the node or the frame */
} eddy__unit;

/* The units that are left to be walked, and which may be next; walk.c's own. */
typedef struct eddy__walk {
    uint32_t *pending;   /* a forward node: consumers to come */
    uint32_t *next_unit; /* a forward node: the next one of its loop */
    eddy__unit *ready;   /* a stack */
    size_t n_ready, capacity;
} eddy__walk;

typedef struct eddy__reverse {
    /* The floors below, each of which knows those before it. */
    eddy__gradient_emitter e;
    eddy__study study;
    eddy__value_shapes shapes;
    eddy__activity activity;
    eddy__places places;
    eddy__primals primals;
    eddy__sums sums;

    eddy__asked asked;
    char source[EDDY__SOURCE_SIZE]; /* of TensorArrays of gradients */
    eddy__walk walk;
    eddy__loop *loops;             /* a frame */
    eddy__tape_gradient *tapes;    /* a tape */
    eddy__back_variable **back_of; /* a forward Merge: its variable, or NULL */
    eddy_node *met_by;             /* a branch: the Merge that it met in last */
    eddy_output one;               /* of the base frame, if it has been made */
    /*
     * A forward node: is it the Merge of a variable whose state, at the start
     * of this trip of the base frame or one around it, is computed again
     * because an x is reached through trips that are over?
     */
    uint8_t *recomputed;
} eddy__reverse;

/* ---- loop.c ---- */

void eddy__loop_open(eddy__reverse *r, eddy__loop *loop);
void eddy__loop_close(eddy__reverse *r, eddy__loop *loop);

/* ---- branch.c ---- */

void eddy__branch_walk_switch(eddy__reverse *r, eddy_node node);
void eddy__branch_walk_merge(eddy__reverse *r, eddy_node node);

/* ---- tape_gradient.c ---- */

void eddy__tape_gradient_walk_pop(eddy__reverse *r, eddy_node node);
void eddy__tape_gradient_walk_push(eddy__reverse *r, eddy_node node);

/* ---- reverse_rule.c ---- */

/* Calls the rule of a node, if one of its outputs has a gradient. */
void eddy__reverse_rule_use(eddy__reverse *r, eddy_node node);

/* ---- walk.c ---- */

/* After the scopes have been made. */
eddy_status eddy__walk_init(eddy__reverse *r);
void eddy__walk_deinit(eddy__reverse *r);

/* Walks all active nodes; the ys have gradients. */
void eddy__walk_all(eddy__reverse *r);

#endif
