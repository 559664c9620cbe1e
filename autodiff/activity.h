/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which forward nodes a walk goes through: those through which some y depends
 * on some x.  Each finding starts anew.
 */
#ifndef EDDY_AUTODIFF_ACTIVITY_H
#define EDDY_AUTODIFF_ACTIVITY_H

#include "autodiff/study.h"

/* Bits of the state of a node. */
enum {
    EDDY__REACHED = 1 << 0,  /* depends on an x */
    EDDY__NEEDED = 1 << 1,   /* some y depends on it */
    EDDY__IS_X = 1 << 2,     /* some output of it is an x */
    EDDY__STOPPED = 1 << 3,  /* taken as a constant: what is before it is not
                                asked for, though it may be an x */
    EDDY__RELEASED = 1 << 4, /* an Enter: what it reads knows that */
};

typedef struct eddy__activity {
    eddy__gradient_emitter *e;
    const eddy__study *study;
    uint8_t *state;     /* a forward node: bits */
    uint32_t *x_at;     /* a slot of the study: the first x that is there */
    uint8_t *is_around; /* a frame: that of the ys, or around it; one iteration
                         * of it counts */
    const eddy_output *stop; /* taken as constants; borrowed */
    size_t n_stop;
} eddy__activity;

/* Takes from `asked` its `stop` alone, which is borrowed. */
eddy_status eddy__activity_init(eddy__activity *a, eddy__gradient_emitter *e,
                                const eddy__study *study, uint32_t base,
                                const eddy__asked *asked);

/* Ys may be in this frame, too. */
void eddy__activity_add_base(eddy__activity *a, uint32_t base);

/* Clears the state, but for EDDY__STOPPED. */
void eddy__activity_begin(eddy__activity *a);

/* From now on these are the xs. */
void eddy__activity_set_xs(eddy__activity *a, const eddy_output *xs,
                           size_t n_xs);

/* Marks a node of an x EDDY__IS_X; false if it was. */
bool eddy__activity_is_new_x(eddy__activity *a, eddy_node node);

/* The first of the xs that is this output, or EDDY__NOT_FOUND. */
static inline uint32_t eddy__activity_x(const eddy__activity *a, eddy_output v)
{
    return a->x_at[eddy__study_slot(a->study, v)];
}

/* Finds the nodes that are reached from the xs and needed by the ys. */
eddy_status eddy__activity_find(eddy__activity *a, const eddy_output *ys,
                                size_t n_ys, const eddy_output *xs,
                                size_t n_xs);

/*
 * The same, with back edges of the base frame and those around it: does some y
 * depend on `x`, which is outside of the base frame, through iterations before
 * that of the ys?
 */
eddy_status eddy__activity_find_history(eddy__activity *a,
                                        const eddy_output *ys, size_t n_ys,
                                        const eddy_output *x,
                                        bool *out_has_history);

/* Is it through the node that some y depends on some x? */
static inline bool eddy__activity_has(const eddy__activity *a, eddy_node node)
{
    return node < a->study->n_nodes && (a->state[node] & EDDY__REACHED) &&
           (a->state[node] & EDDY__NEEDED);
}

/* Does a gradient flow over the data edge from `from` to an active node? */
bool eddy__activity_is_edge(const eddy__activity *a, eddy_output from);

/* ---- of single nodes ---- */

/* May `from` have a gradient?  That of a variable is that of its value. */
bool eddy__activity_may_carry(const eddy__study *study, eddy_output from);

/* Does nothing that the node gives depend on what it reads? */
bool eddy__activity_ends(const eddy__node *node);

#endif
