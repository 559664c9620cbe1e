/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a shape function and a prepare function see of their node.
 *
 * The plan fills one eddy_infer a node and calls the op's functions with it.
 * Helpers for common shape rules are at the end.
 */
#ifndef EDDY_CORE_INFER_H
#define EDDY_CORE_INFER_H

#include "core/graph/graph.h"
#include "core/value/shape.h"
#include "core/vector_code.h"
#include "eddy/op.h"

/*
 * Marks: bytes of an iteration, 0 when it begins, by which nodes of one frame
 * find each other while they run.  `frame` and `n` are those of the node that
 * is prepared.
 */
typedef struct eddy__marks {
    eddy__map numbers; /* "frame name" to the number in the frame */
    uint32_t frame;
    uint32_t *n; /* how many the frame has */
} eddy__marks;

struct eddy_infer {
    const eddy__node *node;
    const eddy_graph *graph;             /* for prepare; else may be NULL */
    const eddy_shape *inputs;            /* n_inputs of the node */
    const eddy_tensor *const *constants; /* NULL where not constant */
    /*
     * The node whose output 0 an input always is, seen through Enter, Switch,
     * Identity and the like; NULL where that is not certain, or nothing is
     * known of any.
     */
    const eddy__node *const *makers;
    eddy_shape *outputs;       /* start unknown */
    eddy__arena *arena;        /* for eddy_infer_state; may be
                                  NULL in shape functions */
    eddy__marks *marks;        /* likewise */
    eddy__vector_tiers *tiers; /* NULL: the plan makes no machine code */
    eddy_kernel_fn kernel;     /* chosen by prepare */
    void *state;
    eddy_error *err;
};

/* The maker of input `i`, or NULL. */
static inline const eddy__node *eddy__infer_maker(const eddy_infer *infer,
                                                  uint32_t i)
{
    return infer->makers ? infer->makers[i] : NULL;
}

/*
 * For prepare: the number of the mark that the nodes of the frame which ask for
 * it by this name share.
 */
eddy_status eddy__infer_mark(eddy_infer *infer, eddy_string name,
                             uint32_t *out_mark);

/*
 * For prepare: a tier of the node's own in `*out_tier`, the plan's; NULL if
 * the plan makes no machine code.
 */
eddy_status eddy__infer_vector_tier(eddy_infer *infer,
                                    eddy__vector_tier **out_tier);

/* Attributes that the op's definition guarantees. */
int64_t eddy__infer_int(const eddy_infer *infer, const char *name);
bool eddy__infer_bool(const eddy_infer *infer, const char *name);
eddy_dtype eddy__infer_type(const eddy_infer *infer, const char *name);

/*
 * Element `i` of constant input `input`, an int32 or int64 tensor; false if it
 * is not constant or has no such element.
 */
bool eddy__infer_constant_int(const eddy_infer *infer, uint32_t input,
                              int64_t i, int64_t *out_value);

/*
 * Shape functions that many ops share.  UNCHANGED: every output has the shape
 * of input 0; BROADCAST: that of inputs 0 and 1 broadcast; SCALAR: rank 0.
 */
eddy_status eddy__infer_unchanged(eddy_infer *infer);
eddy_status eddy__infer_broadcast(eddy_infer *infer);
eddy_status eddy__infer_scalar(eddy_infer *infer);

/* Input `i` must have rank `rank` (so far as is known); fails with its name. */
eddy_status eddy__infer_want_rank(eddy_infer *infer, uint32_t i, int32_t rank);

#endif
