/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of unrolling loops, shared by frames/unroll*.c.
 *
 * The graph is rewritten in place: nodes are added behind those that it has,
 * `n_old` of them, and a few edges are led elsewhere.  Where all trips are
 * unrolled a copy without the loop is made in the end.
 *
 * Loops none of which is in another one are unrolled one after the other by one
 * analysis: nothing that is done to one changes what is in the others.  What is
 * looked at for a loop are its own nodes, `members`.
 *
 * What carries the values of the loop from trip to trip is not copied: its
 * Enters, Merges, NextIterations, LoopCond, Exits, and every Switch by the
 * LoopCond.  A copy reads, in place of a carrier, the value that it carries in
 * that trip.  Everything else that runs in the loop, inner loops with it, is
 * copied if the trip needs it.
 *
 * A copy is of a trip, where the predicate holds and what reads output 0 of a
 * carrying Switch is dead, or of the end, where what reads output 1 is.
 */
#ifndef EDDY_FRAMES_UNROLLING_H
#define EDDY_FRAMES_UNROLLING_H

#include "core/graph/copy.h"
#include "core/graph/emit.h"
#include "eddy/unroll.h"
#include "frames/analysis/analysis.h"
#include "frames/analysis/flow.h"

/* The variable that counts the trips of a loop. */
typedef struct eddy__counting {
    uint32_t variable; /* among those of the frame */
    eddy_dtype dtype;
    int64_t step;      /* not 0 */
    bool is_inclusive; /* it may be equal to the limit */
    /* The limit, and the Enter by which it comes in, unless it is known. */
    eddy_output limit;
    eddy_node limit_enter;
    bool is_limit_known;
    int64_t known_limit;
    bool are_trips_known;
    uint64_t trips;
} eddy__counting;

typedef enum eddy__copied {
    EDDY__TRIP,
    EDDY__END,
} eddy__copied;

/* Bits of a node of the old graph. */
enum {
    EDDY__INSIDE = 1,   /* it runs in the loop, or in one in it */
    EDDY__CARRIER = 2,  /* see above */
    EDDY__DEAD = 4,     /* in a trip; << EDDY__END: at the end */
    EDDY__WANTED = 16,  /* in a trip; << EDDY__END: at the end */
    EDDY__SEVERAL = 64, /* a constant Enter that more than one edge reads */
    EDDY__ASKED = 128,  /* the predicate is computed by it */
};

/* What becomes of an old node where all trips are unrolled. */
typedef enum eddy__fate {
    EDDY__STAYS,
    EDDY__GOES,
    EDDY__HANDS_ON, /* it becomes an Identity */
} eddy__fate;

typedef struct eddy__unrolling {
    eddy_graph *graph;
    const eddy_analysis *analysis;
    const eddy_frame *frame;
    uint32_t frame_id;
    eddy__flow flow; /* of the old nodes */
    size_t n_old;
    /* By frame: the loop of this analysis' turn that it is or is in, or 0. */
    uint32_t *loop_of;
    /* The loop's nodes, and its Enters, in the order of their numbers. */
    const eddy_node *members;
    size_t n_members;
    eddy__arena arena; /* scratch */
    eddy__emitter emit;
    eddy__copier copier;
    eddy_error *err;
    uint64_t max_nodes; /* that the graph may have */
    bool reassociates;
    eddy__counting counting;
    bool is_guarded;      /* something besides the counter can end it */
    eddy_node *predicate; /* then what the predicate is computed by */
    size_t n_predicate;
    uint8_t *bits;      /* of each old node; 0 outside of the loop */
    uint8_t *fate;      /* of each old node, if all trips are unrolled */
    uint32_t *n_dead;   /* of each old node, while what is dead is found */
    eddy_node *stack;   /* room for all of them */
    eddy_node *body[2]; /* what a trip, and the end, copies */
    size_t n_body[2];
    uint32_t *variable_of; /* an old Merge that carries: which, plus 1 */
    eddy_output *now;      /* a value of each variable in this copy */
    eddy_output *next;     /* what they are in the next */
    /* By old node: */
    eddy_output *brought; /* what a constant Enter brings into the trip */
    eddy_output *use;     /* the same as it is read: see carry_invariants */
    eddy_node *copy;      /* of this trip, or EDDY_NO_NODE */
    eddy_output truth;    /* a constant of this trip, or EDDY_NO_NODE */
    const char **frames;  /* by frame: its name in this trip, or NULL */
    uint32_t *named;      /* the frames that have one */
    size_t n_named;
    eddy__map frame_names;
    char suffix[32]; /* of the names of this copy */
} eddy__unrolling;

static inline const eddy__node *eddy__unroll_node(const eddy__unrolling *u,
                                                  eddy_node node)
{
    return eddy__graph_node(u->graph, node);
}

/* ---- unroll_fail.c ---- */

/* Fails with the loop and `node`, or EDDY_NO_NODE. */
eddy_status eddy__unroll_fail(const eddy__unrolling *u, eddy_node node,
                              const char *why);

/* Fails since the graph would be too large; or if it is so already. */
eddy_status eddy__unroll_fail_size(const eddy__unrolling *u);
eddy_status eddy__unroll_check_size(const eddy__unrolling *u);

/* ---- unroll_count.c ---- */

/*
 * How the variable that the analysis has found counts the loop; where that
 * alone does not end it, `is_guarded` is set.  Fails with EDDY_E_NOT_COUNTED
 * without a LoopCond.
 */
eddy_status eddy__unroll_count(eddy__unrolling *u);

/* ---- unroll_parts.c ---- */

/* Sets `bits` and `variable_of` of the members; refuses what can't be copied.
 */
eddy_status eddy__unroll_parts(eddy__unrolling *u);

/* ---- unroll_copy.c ---- */

/* A node to add; it is named `<name>/<suffix>`. */
typedef struct eddy__added {
    const char *op;
    const char *name, *suffix;
    const eddy_output *inputs;
    size_t n_inputs;
    const eddy_node *controls;
    size_t n_controls;
    const eddy_attr *attrs;
    size_t n_attrs;
} eddy__added;

eddy_status eddy__unroll_add(eddy__unrolling *u, const eddy__added *added,
                             eddy_output *out);

/* A Const of rank 0: `added` without inputs and attributes, and its value. */
eddy_status eddy__unroll_scalar(eddy__unrolling *u, const eddy__added *added,
                                eddy_dtype dtype, const void *value,
                                eddy_output *out);

/* An Identity in place of node `like`, and its name. */
eddy_status eddy__unroll_identity(eddy__unrolling *u, eddy_node like,
                                  const char *suffix, eddy_output value,
                                  eddy_output *out);

/* `<name>/<suffix>` as no frame is called yet. */
const char *eddy__unroll_frame_name(eddy__unrolling *u, const char *name,
                                    const char *suffix);

/*
 * Copies what a trip, or the end, wants, out of `now`, `brought` and `use`;
 * names end with `suffix`.
 */
eddy_status eddy__unroll_copy(eddy__unrolling *u, eddy__copied which);

/* The same of the `n` nodes in `list`. */
eddy_status eddy__unroll_copy_nodes(eddy__unrolling *u, eddy__copied which,
                                    const eddy_node *list, size_t n);

/* What stands for an old output, or an old control, in the last copy. */
eddy_status eddy__unroll_resolve(eddy__unrolling *u, eddy__copied which,
                                 eddy_output from, eddy_output *out);
eddy_status eddy__unroll_waited(eddy__unrolling *u, eddy__copied which,
                                eddy_node from, eddy_node *out);

/* ---- unroll_loop.c ---- */

/* Lets the loop make `n` trips an iteration. */
eddy_status eddy__unroll_by(eddy__unrolling *u, uint64_t n);

/* ---- unroll_trip.c ---- */

/* Is the gradient of the invariant summed trip by trip? */
bool eddy__unroll_is_summed(const eddy__unrolling *u, eddy_node enter);

/* A trip named by `suffix`, that is not followed by the next iteration. */
eddy_status eddy__unroll_trip(eddy__unrolling *u);

/* Trips after each other: `now`, `brought` go from one to the next. */
eddy_status eddy__unroll_trips(eddy__unrolling *u, uint64_t n,
                               bool has_next_iteration);

/* ---- unroll_guard.c ---- */

/*
 * Finds what the predicate is computed by.  Fails with EDDY_E_NOT_COUNTED if
 * that has a state or an effect.
 */
eddy_status eddy__unroll_find_predicate(eddy__unrolling *u);

/* The predicate of what `now` and `brought` are; names end with `suffix`. */
eddy_status eddy__unroll_ask(eddy__unrolling *u, eddy_output *out);

/*
 * Up to `n` trips after each other, as eddy__unroll_trips, each behind the
 * predicate; the first one too if `is_first`.
 */
eddy_status eddy__unroll_guarded(eddy__unrolling *u, uint64_t n, bool is_first);

/* ---- unroll_all.c ---- */

/* Makes all trips, and sets `fate`: the loop stays until it is taken out. */
eddy_status eddy__unroll_all(eddy__unrolling *u);

/* Makes a graph without the loops; the old one is the caller's still. */
eddy_status eddy__unroll_take_out(eddy__unrolling *u, eddy_graph **out_graph);

#endif
