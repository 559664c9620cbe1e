/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where values live: a frame and, in that frame, a branch.
 *
 * The scope of a forward frame is where gradients of its nodes are computed.
 * That of the base frame, in which the ys lie, is the base frame itself; that
 * of a loop in it is the loop's gradient frame.
 */
#ifndef EDDY_AUTODIFF_PLACES_H
#define EDDY_AUTODIFF_PLACES_H

#include "autodiff/study.h"

/*
 * A base frame, in which ys lie.  There is one, unless several questions are
 * answered in one walk; no base frame is around another.
 */
typedef struct eddy__base {
    uint32_t frame;
    eddy_node control; /* what new constants wait for: the emitter's */
    /* Constants of it, if they have been made: 1, -1, false and true. */
    eddy_output one, minus_one, truths[2];
} eddy__base;

/* Where the gradients of a frame's nodes are computed. */
typedef struct eddy__scope {
    uint32_t frame;             /* the forward frame */
    struct eddy__scope *parent; /* of the frame around it */
    eddy__base *base;           /* the frame's, or that it is in; or NULL */
    /*
     * A base frame or one around it, whose values enter the base frame; what
     * follows is then unused.
     */
    bool is_base;
    const char *name; /* of the gradient frame */

    /* The forward loop's trip counter, and what its next trip waits for. */
    eddy_node count_add, count_next, count_sync;
    /* The gradient loop's trip counter; the pivot is live in the body alone. */
    eddy_output pivot;
    eddy_node back_next, back_sync, back_exit;
} eddy__scope;

typedef struct eddy__places {
    eddy__gradient_emitter *e;
    const eddy__study *study;
    eddy__base *bases;           /* all of them */
    eddy__base *at;              /* the one in which gradients are computed */
    uint32_t base;               /* its frame */
    eddy__scope *scopes;         /* a frame */
    eddy__output_map imported;   /* a value and a place: that there */
    eddy__output_map predicates; /* a predicate and a base frame: that in the
                                  * scope */
} eddy__places;

void eddy__places_init(eddy__places *p, eddy__gradient_emitter *e,
                       const eddy__study *study);
void eddy__places_deinit(eddy__places *p);

/*
 * Makes the scopes of all frames, for `n` base frames; the first one is
 * entered, and constants wait in all of them for the emitter's control.
 */
eddy_status eddy__places_build(eddy__places *p, const uint32_t *bases,
                               size_t n);

/* Goes on in the base frame that the scope is in, if it is in one. */
static inline void eddy__places_enter(eddy__places *p, const eddy__scope *scope)
{
    if (!scope->base || scope->base == p->at)
        return;
    p->at = scope->base;
    p->base = p->at->frame;
    p->e->control = p->at->control;
}

/* ---- base.c ---- */

/*
 * Sets the base frame, that of the ys, which must be one, and if it is that of
 * a loop the emitter's control: a node that is live in each iteration in which
 * the first y may be, and early in it.
 */
eddy_status eddy__base_find(eddy__places *p, const eddy_output *ys,
                            size_t n_ys);

/* ---- place.c ---- */

static inline eddy__scope *eddy__place_scope(const eddy__places *p,
                                             eddy_output output)
{
    return &p->scopes[eddy__study_frame(p->study, output)];
}

/* Notes the primal of a predicate, which is used from then on. */
void eddy__place_note_predicate(eddy__places *p, eddy_output predicate,
                                eddy_output value);

/*
 * `value` is live in branch `from`, and the result in branch `to` of it alone;
 * of the forward frame or of its scope.
 */
eddy_output eddy__place_enter_branches(eddy__places *p, eddy_output value,
                                       uint32_t from, uint32_t to,
                                       bool forward);

/* A value of the base frame brought into the body of a scope. */
eddy_output eddy__place_import(eddy__places *p, eddy_output value,
                               eddy__scope *to);

/* A value of scope `from` brought into one within it. */
eddy_output eddy__place_import_from(eddy__places *p, eddy_output value,
                                    const eddy__scope *from, eddy__scope *to);

/* Likewise, where `like`, a forward value, is in `from`, and as live. */
eddy_output eddy__place_import_like(eddy__places *p, eddy_output value,
                                    eddy_output like, eddy__scope *to);

/* A value of the base frame brought into a forward frame and branch. */
eddy_output eddy__place_import_forward(eddy__places *p, eddy_output value,
                                       uint32_t frame, uint32_t branch);

/* A value of `frame`, one around the base frame, in the base frame. */
eddy_output eddy__place_enter_base(eddy__places *p, eddy_output v,
                                   uint32_t frame);

/*
 * The source of `v`: in a loop that is differentiated itself, past Identities,
 * or the value of an outer loop or of the base frame if it does not change;
 * elsewhere itself.
 */
eddy_output eddy__place_source(const eddy__places *p, eddy_output v);

/* The scopes from below that of the base frame down to `to`: how many. */
size_t eddy__place_list_scopes(eddy__scope *to, const eddy__scope *from,
                               eddy__scope *list[EDDY__MAX_FRAME_DEPTH]);

/* The branches from below `from` down to `to`; NULL without memory. */
uint32_t *eddy__place_list_branches(eddy__places *p, uint32_t from, uint32_t to,
                                    uint32_t *out_n);

/* ---- order.c ---- */

/* `node`, in a branch of a loop's body, runs before its next iteration. */
void eddy__order_forward(eddy__places *p, eddy__scope *scope, eddy_node node,
                         uint32_t branch);
void eddy__order_backward(eddy__places *p, eddy__scope *scope, eddy_node node,
                          uint32_t branch);

#endif
