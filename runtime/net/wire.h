/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What carries bytes between a rank and each of the others, in order: sockets
 * or MPI.  A link (link.h) makes messages of them.  Only the thread that drives
 * the run uses it.
 */
#ifndef EDDY_NET_WIRE_H
#define EDDY_NET_WIRE_H

#include "core/base/memory.h"
#include "core/base/patience.h"
#include "eddy/status.h"
#include "runtime/net/packet.h"

/* One rank among its others, and whose memory it takes. */
typedef struct eddy__team {
    const eddy_allocator *allocator;
    uint32_t rank, n_ranks;
    bool may_look; /* there is a processor for each rank, for all we know */
} eddy__team;

/* To and from one rank. */
typedef struct eddy__stream {
    eddy__bytes out; /* to go, from `written` on */
    size_t written;
    eddy__bytes in; /* has come, and nobody has taken it yet */
    bool is_open;   /* there is such a rank; it is another, and not lost */
} eddy__stream;

/*
 * Bytes have come: takes what is whole out of the stream's `in`, and makes room
 * for the rest.  `*out_any`: there was something.
 */
typedef eddy_status (*eddy__came_cb)(void *arg, eddy__stream *stream,
                                     bool *out_any, eddy_error *err);

typedef struct eddy__wire eddy__wire;

typedef struct eddy__wire_kind {
    /* Sends what can go now to the rank. */
    void (*write)(eddy__wire *wire, uint32_t to);
    /* Is nothing of what was written still here? */
    bool (*is_written)(const eddy__wire *wire, uint32_t to);
    /*
     * Reads what there is.  `*out_any`: something has come, or a rank is lost.
     * Errors: those of `came`.
     */
    eddy_status (*look)(eddy__wire *wire, bool *out_any, eddy_error *err);
    /*
     * Waits until something comes or can go, the wire is woken or it is
     * `deadline_ns` (0: none), and reads what there is.  It may look for a
     * while before it sleeps.
     */
    eddy_status (*wait)(eddy__wire *wire, uint64_t deadline_ns,
                        eddy_error *err);
    /* Ends that, or else the next.  @thread any */
    void (*wake)(eddy__wire *wire);
    /* Waiting has ended, whatever for: a call of `wake` before is done with. */
    void (*rest)(eddy__wire *wire);
    /* `is_broken`: some rank does not do the same. */
    void (*destroy)(eddy__wire *wire, bool is_broken);
} eddy__wire_kind;

struct eddy__wire {
    const eddy__wire_kind *kind;
    eddy__team team;
    eddy__stream *streams; /* a rank */
    eddy__patience patience;
    eddy__came_cb came;
    void *arg;
};

/* The parts that all kinds have; false: no memory.  Deinit also after that. */
bool eddy__wire_init(eddy__wire *wire, const eddy__wire_kind *kind,
                     const eddy__team *team);
void eddy__wire_deinit(eddy__wire *wire);

/*
 * A wire of sockets, which do not block, one to each other rank.  Takes them
 * over, also when it fails: each is -1 then.  `has_rings`: all ranks call this,
 * and send by memory that they share where they can (ring.h); or else by the
 * sockets alone.
 */
eddy_status eddy__socket_wire_create(const eddy__team *team, int *sockets,
                                     bool has_rings, eddy__wire **out,
                                     eddy_error *err);

#endif
