/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When does a node of one iteration fire, and does it fire live or dead?
 *
 * This is the deadness rule of TensorFlow's executor and nothing else: no
 * queues, no values.  The executor keeps one eddy__liveness a node in each
 * iteration and reports every token that arrives on an edge.
 *
 * Ordinary node: fires once all its tokens have come; dead if any was dead.
 * Merge:         fires live on its first live data token, dead once all its
 *                data tokens were dead; control tokens must all have come in
 *                both cases, and whether they are dead does not matter.  A dead
 *                Enter alone kills a Merge: the loop lies on an untaken branch,
 *                and its back edge will never deliver.
 * ControlTrigger: fires live once all its tokens have come.
 *
 * Invariant: a node fires at most once an iteration.  A Merge that has fired
 * keeps EDDY__MERGE_FIRED in `pending`, and in `dead` too if it fired dead.
 */
#ifndef EDDY_FRAMES_LIVENESS_H
#define EDDY_FRAMES_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

typedef union eddy__liveness {
    struct {
        /*
         * Ordinary: tokens still to come.  Merge: bit 0 is set until a live
         * data token has come; above it, the control tokens still to come.
         */
        uint32_t pending;
        /*
         * Dead tokens so far; of a Merge, data tokens, and from its first live
         * one on, the number of the input that was live.
         */
        uint32_t dead;
    };
    uint64_t both; /* pending in the low half: little-endian processors */
} eddy__liveness;

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "eddy__liveness needs a little-endian processor"
#endif

typedef enum eddy__verdict {
    EDDY__WAIT,
    EDDY__FIRE_LIVE,
    EDDY__FIRE_DEAD,
    EDDY__TWO_LIVE, /* a Merge got a second live data token; `dead` says which
                       input was the first */
} eddy__verdict;

#define EDDY__MERGE_FIRED UINT32_MAX

/* What a node starts an iteration with; fewer than 2^31 - 1 control inputs. */
static inline eddy__liveness
eddy__liveness_start(bool is_merge, uint32_t n_data, uint32_t n_control)
{
    if (is_merge)
        return (eddy__liveness){.pending = 1 + 2 * n_control};
    return (eddy__liveness){.pending = n_data + n_control};
}

/*
 * A token on any edge of an ordinary node: true when the node fires.  One
 * addition lowers `pending`, which is above 0, and counts a dead token.
 */
static inline bool eddy__liveness_arrive(eddy__liveness *l, bool dead)
{
    l->both += (dead ? UINT64_C(1) << 32 : 0) - 1;
    return l->pending == 0;
}

static inline eddy__verdict eddy__liveness_merge_settle(eddy__liveness *l,
                                                        eddy__verdict verdict)
{
    if (verdict != EDDY__WAIT)
        l->pending = EDDY__MERGE_FIRED;
    if (verdict == EDDY__FIRE_DEAD)
        l->dead = EDDY__MERGE_FIRED;
    return verdict;
}

/*
 * A live data token at a Merge.  One that comes after the Merge has died, which
 * only a dead Enter can bring about, is dropped.
 */
static inline eddy__verdict eddy__liveness_merge_live(eddy__liveness *l,
                                                      uint32_t input)
{
    if (l->pending == EDDY__MERGE_FIRED)
        return l->dead == EDDY__MERGE_FIRED ? EDDY__WAIT : EDDY__TWO_LIVE;
    if ((l->pending & 1) == 0)
        return EDDY__TWO_LIVE;
    l->pending &= ~1u;
    l->dead = input;
    return eddy__liveness_merge_settle(l, l->pending == 0 ? EDDY__FIRE_LIVE
                                                          : EDDY__WAIT);
}

/* A dead data token at a Merge of `n_data` data inputs. */
static inline eddy__verdict
eddy__liveness_merge_dead(eddy__liveness *l, uint32_t n_data, bool from_enter)
{
    if (l->pending == EDDY__MERGE_FIRED || (l->pending & 1) == 0)
        return EDDY__WAIT;
    if (from_enter)
        l->dead = n_data;
    else if (l->dead < n_data)
        l->dead++;
    return eddy__liveness_merge_settle(
        l, l->pending == 1 && l->dead == n_data ? EDDY__FIRE_DEAD : EDDY__WAIT);
}

/* A control token, live or dead, at a Merge. */
static inline eddy__verdict eddy__liveness_merge_control(eddy__liveness *l,
                                                         uint32_t n_data)
{
    if (l->pending == EDDY__MERGE_FIRED)
        return EDDY__WAIT;
    l->pending -= 2;
    if (l->pending == 0)
        return eddy__liveness_merge_settle(l, EDDY__FIRE_LIVE);
    return eddy__liveness_merge_settle(
        l, l->pending == 1 && l->dead == n_data ? EDDY__FIRE_DEAD : EDDY__WAIT);
}

#endif
