/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What collectives are, by their names and attributes, and the nodes that join
 * what their members give: for the copies of a replicated graph
 * (frames/partition/replicate.c) and for groups within one (groups.c).
 */
#ifndef EDDY_FRAMES_COLLECTIVE_H
#define EDDY_FRAMES_COLLECTIVE_H

#include "core/graph/emit.h"
#include "frames/analysis/flow.h"

/* What a collective does with the values of all its members. */
typedef enum eddy__join {
    EDDY__JOIN_SUM,
    EDDY__JOIN_MEAN,
    EDDY__JOIN_LEAST,
    EDDY__JOIN_GREATEST,
    EDDY__JOIN_PRODUCT,
    EDDY__JOIN_ROWS,
    EDDY__JOIN_EXCHANGE, /* each gets the row of its own number of all */
    EDDY__JOIN_ROOT,     /* one gives its own to all, and gets it, too */
    EDDY__JOIN_SEND,     /* one gives its own to those that receive */
    EDDY__JOIN_RECEIVE,  /* has no tensor of its own */
    EDDY__JOIN_UNKNOWN,  /* a collective, of a kind that is not known */
    EDDY__JOIN_NONE      /* no collective */
} eddy__join;

eddy__join eddy__collective_join(const eddy__node *node);

/* Does each member of a reduction get a part of it alone? */
bool eddy__collective_scatters(const eddy__node *node);

/* Who meets whom in TensorFlow's own.  -1: not known before a run. */
typedef struct eddy__collective_keys {
    int64_t size, group, instance;
} eddy__collective_keys;

/* All -1 for collectives that have no keys, as Horovod's. */
eddy__collective_keys eddy__collective_keys_of(const eddy__flow *flow,
                                               eddy_node v);

/*
 * The node that sends what `receiver` gets, and how many there are of the same
 * keys; EDDY_NO_NODE where there is none, or keys are not known.
 */
eddy_node eddy__collective_sender(const eddy__flow *flow, eddy_node receiver,
                                  size_t *out_n);

/*
 * In place of the order of nodes: that of the nodes whose gradients these are,
 * which are added in another one.  TensorFlow, which goes by devices, ignores
 * it.
 */
#define EDDY__MEMBER "_eddy_member"

/*
 * The order of a group's members, as qsort has it, but for that of nodes that
 * are alike in it: that of their devices, and then of EDDY__MEMBER.
 */
int eddy__collective_compare(const eddy__node *a, const eddy__node *b);

/* What a receiver says that it gets; rank -1 where that is not known. */
eddy_shape eddy__collective_shape(const eddy__flow *flow, eddy_node v);

/* Where nodes are added, and the collective that they are named after. */
typedef struct eddy__joining {
    eddy__emitter *emitter;
    eddy__arena *arena;
    const eddy__node *of;
} eddy__joining;

/* `x` by what the attribute says, if anything. */
eddy_output eddy__collective_scaled(const eddy__joining *j, eddy_output x,
                                    const char *attribute);

/* Tensors of the `n` members of a collective, in their order. */
typedef struct eddy__joined {
    eddy__join how;
    const eddy_output *x;
    uint32_t n, home;
} eddy__joined;

/*
 * What each member gets of them: a reduction, or a part of it, or rows.  All of
 * it is in the frame, and live, where x[home] is, and so are the constants for
 * it.
 */
void eddy__collective_share(const eddy__joining *j, const eddy__joined *of,
                            eddy_output *out);

/*
 * Adds what stands for the collective: an Identity of its name, or what holds
 * `shape` against the value, which reads `x`, or nothing yet for NULL.
 */
eddy_node eddy__collective_result(const eddy__joining *j, const char *name,
                                  const eddy_output *x,
                                  const eddy_shape *shape);

#endif
