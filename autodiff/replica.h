/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replica of a loop makes trips of it again: a copy of what its states come
 * from, in a frame of its own, which a counter ends in place of the loop's
 * predicate.
 *
 * It is made in this order: begin, find, start, enter what the loop's edges
 * were, body, end each variable.  Failures are those of the emitter, but for
 * that of finding, which the caller may live with.
 */
#ifndef EDDY_AUTODIFF_REPLICA_H
#define EDDY_AUTODIFF_REPLICA_H

#include "autodiff/emit.h"
#include "autodiff/study.h"

/* A loop that makes a given number of trips. */
typedef struct eddy__repeat {
    const char *name; /* of its frame */
    eddy_output loop_cond;
    eddy_output switch_;   /* of the counter */
    eddy_node pivot, next; /* live in the body; what the next trip waits for */
} eddy__repeat;

/*
 * What replicas note of the nodes of a study, one replica after the other: each
 * gives it back as it was, so that it costs what is in its loop.
 */
typedef struct eddy__replica_room {
    uint32_t *variable_of;
    uint8_t *is_found, *is_entered;
    eddy_node *copy, *list, *sorted, *writes;
    const char **frames;
} eddy__replica_room;

typedef struct eddy__replica {
    eddy__gradient_emitter *e;
    eddy__replica_room *room;
    const eddy__study *study;
    uint32_t frame; /* of the loop */
    const eddy_frame *loop;
    eddy__repeat repeat; /* the replica */
    /* Does the value of a node of the body enter?  Asked while it is found. */
    bool (*is_given)(void *owner, eddy_node node);
    void *owner;
    /*
     * Are arrays read again and not written again?  Else an op on an array is
     * one with a state.
     */
    bool has_arrays;
    const char *why_not; /* it cannot be made; NULL: it can */
    eddy_node at;        /* ... because of this node */

    eddy_node *list;       /* the nodes of the loop that it has a copy of */
    size_t n;              /* what follows is in the room, but for `next` */
    uint32_t *variable_of; /* a Merge of a variable: which, plus 1 */
    uint8_t *is_found;     /* a node in `list` */
    uint8_t *is_entered;   /* one of the body whose value enters */
    eddy_node *copy;       /* of a node, or EDDY_NO_NODE */
    const char **frames;   /* of an inner frame's copy, or NULL */
    eddy_output *next;     /* a variable: what its NextIteration reads */
    eddy_node *writes;     /* the copies of writes to arrays */
    size_t n_writes;
} eddy__replica;

/* A loop of so many trips each time that `gate` is live, in the gate's frame.
 */
void eddy__repeat_start(eddy__repeat *repeat, eddy__gradient_emitter *e,
                        const char *like, int64_t parallel, eddy_output trips,
                        eddy_node gate);

/* `value`, of the gate's frame, in the loop; live when the gate is. */
eddy_output eddy__repeat_enter(const eddy__repeat *repeat,
                               eddy__gradient_emitter *e, int64_t parallel,
                               eddy_output value, eddy_node gate,
                               bool is_constant);

/*
 * Begins one of the loop in `frame`; `is_given` and `has_arrays` are set
 * before.  The room is nobody else's until the replica is dropped; it is all
 * NULL at first, and of the emitter's scratch memory from then on.
 */
void eddy__replica_begin(eddy__replica *replica, eddy__gradient_emitter *e,
                         const eddy__study *study, eddy__replica_room *room,
                         uint32_t frame);

/* Gives the room back; one that was not begun has none. */
void eddy__replica_drop(eddy__replica *replica);

/*
 * Finds all that the states of the `wanted` Merges, a byte a node, come from in
 * a trip.  Sets `why_not` where something cannot be done again.
 */
void eddy__replica_find(eddy__replica *replica, const uint8_t *wanted);

/* Has the node a copy, though it has a state or an effect? */
bool eddy__replica_copies(const eddy__replica *replica, eddy_node node);

/* Is the node a constant Enter of the loop itself? */
bool eddy__replica_is_invariant(const eddy__replica *replica, eddy_node node);

/*
 * The frame, which makes `trips` trips each time that `gate` is live, in the
 * gate's frame.
 */
void eddy__replica_start(eddy__replica *replica, eddy_output trips,
                         eddy_node gate);

/* What is given for `node` in each trip: a node of the replica's body. */
void eddy__replica_give(eddy__replica *replica, eddy_node node,
                        eddy_node given);

/* `value` stands for a node of the list: the first one of a variable's Merge,
 * or that of an invariant or of what is given. */
void eddy__replica_enter(eddy__replica *replica, eddy_node node,
                         eddy_output value, eddy_node gate);

/*
 * Copies what is in the body, once all of its edges have entered.
 *
 * An item of an array is written once, so it can be read again if the array
 * does not clear what was read, and need not be written again: the copy of a
 * write only hands the flow on.  It is an IdentityN of the flow, the handle,
 * the index and the value.
 */
void eddy__replica_copy(eddy__replica *replica);

/* The variable's next value; gives what it is after all trips. */
eddy_output eddy__replica_end(eddy__replica *replica, eddy_node merge);

/* The `writes`, in scratch memory of the call. */
const eddy_node *eddy__replica_keep_writes(const eddy__replica *replica);

/* Finds which outputs that are taken as constants the replica has. */
size_t eddy__replica_stops(const eddy__replica *replica,
                           const eddy_output *stop, size_t n_stop,
                           eddy_output *out_stop);

#endif
