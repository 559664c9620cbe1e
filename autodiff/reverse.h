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

#include "autodiff/replica.h"
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
    bool has_tape;    /* one end of one, and not both; so may loops around it */
    bool is_done;     /* it has a gradient, and its body is not walked */
    uint32_t n_exits; /* active Exits to come before it opens */
    uint32_t n_tapes; /* tapes whose pops must be walked before */
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

/*
 * A gradient within a gradient: that of a replica, in the body of the loop that
 * the walk makes.  All is in one frame, and an x reaches the ys in one
 * iteration of it.  It is answered when the walk has ended, in one walk with
 * all others (inner.c).
 */
typedef struct eddy__inner {
    const eddy_output *ys, *starts;
    size_t n_ys;
    const eddy_output *xs;
    /* One an x: the sum to which the x of a loop invariant adds its gradient,
     * trip by trip, in place of zeros; or NO_OUTPUT. */
    const eddy_output *sums;
    size_t n_xs;
    const eddy_output *stop;
    size_t n_stop;
    /* Nodes that stand for writes to arrays: IdentityNs as replica.h says. */
    const eddy_node *writes;
    size_t n_writes;
    eddy_node control; /* live in each iteration of that frame's body */
    eddy_output *out;  /* an x: the answer, or NO_OUTPUT */
    struct eddy__carried *carried; /* an x: who asks (segments.c) */
    eddy_node back_next; /* is to wait for the answers; or EDDY_NO_NODE */
    struct eddy__inner *next;
} eddy__inner;

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
    /*
     * A forward node: is it the Merge of a variable whose state, at the start
     * of this trip of the base frame or one around it, is computed again
     * because an x is reached through trips that are over?
     */
    uint8_t *recomputed;
    /* Questions within this one, in the order in which they came. */
    eddy__inner *first_inner, *last_inner;
    /* Does it answer such?  Then the sums of its xs, and their writes. */
    bool is_inner;
    const eddy_output *sums_of_xs;
    uint8_t *is_write; /* a forward node */
    /* For the loop that is walked: segments.c. */
    eddy__replica_room replica, ahead;
    uint8_t *wanted; /* a forward node; NULL until it is needed */
} eddy__reverse;

/* ---- loop.c ---- */

static inline const eddy_frame *eddy__loop_frame(const eddy__reverse *r,
                                                 const eddy__loop *loop)
{
    return &r->study.analysis->frames[loop->scope->frame];
}

/* The branch of the frame around it that it is in. */
static inline uint32_t eddy__loop_branch(const eddy__reverse *r,
                                         const eddy__loop *loop)
{
    return r->study.branches.of_frame[loop->scope->frame];
}

/* Enter, Merge and Switch of a loop variable; the back edge comes later. */
typedef struct eddy__reverse_variable {
    eddy_output merge, switch_;
} eddy__reverse_variable;

/* One of the gradient loop, once its LoopCond is there. */
eddy__reverse_variable
eddy__loop_start(eddy__reverse *r, const eddy__loop *loop, eddy_output start);
/* The rest of it: what the next iteration gets; gives the Exit. */
eddy_output eddy__loop_end(eddy__reverse *r, const eddy__reverse_variable *v,
                           eddy_output value);

/* A one of the base frame. */
eddy_output eddy__loop_one(eddy__reverse *r);
/* A zero that is live where the loop is entered, after what ran before. */
eddy_output eddy__loop_count_from(eddy__reverse *r, const eddy__loop *loop);

/*
 * The gradient loop, which counts `n`, a value of the scope around it, down to
 * 0: makes its name, its LoopCond, its pivot; gives its counter's Switch.
 */
eddy_output eddy__loop_count_down(eddy__reverse *r, eddy__loop *loop,
                                  eddy_output n);

/* The gradient of the variable's last value, in the scope around the loop. */
eddy_output eddy__loop_exit_gradient(eddy__reverse *r, const eddy__loop *loop,
                                     const eddy_loop_variable *v);
/* The zeros from which the gradient of an invariant is summed, there. */
eddy_output eddy__loop_invariant_zeros(eddy__reverse *r, eddy_node enter);
/* The gradient of an Enter of the loop goes to what it reads. */
void eddy__loop_add_to_enter(eddy__reverse *r, eddy_node enter,
                             eddy_output gradient);

/* Is the loop what the front ends make of one?  Else fails. */
bool eddy__loop_check(eddy__reverse *r, const eddy__loop *loop);

void eddy__loop_open(eddy__reverse *r, eddy__loop *loop);
void eddy__loop_close(eddy__reverse *r, eddy__loop *loop);

/* ---- segments.c ---- */

/*
 * The gradient of a loop that is to make its trips again, all of it, in place
 * of opening and closing; false, with nothing done, if it has to keep them.
 */
bool eddy__segments_make(eddy__reverse *r, eddy__loop *loop);

/* What it asked for has been answered. */
void eddy__segments_close(eddy__reverse *r, const eddy__inner *inner);

/* ---- inner.c ---- */

/*
 * Answers the questions of a round that has ended, and those within these, with
 * its names and its source: a study for all that are as deep within.
 */
eddy_status eddy__inner_answer(eddy__reverse *r);

/* ---- round.c ---- */

/* Before a walk; `err` and `prefix` are borrowed. */
void eddy__round_init(eddy__reverse *r, eddy_graph *graph, const char *prefix,
                      eddy_error *err);
void eddy__round_deinit(eddy__reverse *r);

/* Studies the graph; sets the base frame, if it is not an inner round. */
eddy_status eddy__round_study(eddy__reverse *r);
/* Makes the scopes of these base frames, and all that a walk needs. */
eddy_status eddy__round_begin(eddy__reverse *r, const uint32_t *bases,
                              size_t n_bases);

/* The gradients of the ys with which the walk starts. */
void eddy__round_start(eddy__reverse *r);

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
