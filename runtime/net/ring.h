/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes between two processes of one machine, by memory that both of them have:
 * a ring each way.  Who looks for bytes asks nothing of the system; who sleeps
 * says so in the ring, and is woken by what the other one sends by the socket
 * that they have besides, which also tells when one of them is gone.
 *
 * The thread that drives a run is the only one of its process to use it.
 */
#ifndef EDDY_NET_RING_H
#define EDDY_NET_RING_H

#include "core/base/memory.h"
#include "eddy/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Bytes that a ring holds: a power of 2. */
#define EDDY__RING_SIZE ((size_t)256 << 10)

/* One way, in memory of both: what each of them writes is in a line of its own.
 */
typedef struct eddy__ring_way {
    _Alignas(64) atomic_uint_least64_t n_written; /* by the one who sends */
    _Alignas(64) atomic_uint_least64_t n_read;    /* by the other */
    /* One of them sleeps until there are bytes, or room. */
    _Alignas(64) atomic_uint_least32_t is_reader_asleep;
    atomic_uint_least32_t is_writer_asleep;
    _Alignas(64) uint8_t data[EDDY__RING_SIZE];
} eddy__ring_way;

/* Both ways, as one of the two has them; both NULL: there is no ring. */
typedef struct eddy__ring {
    eddy__ring_way *in, *out;
} eddy__ring;

/*
 * Makes rings between this rank and each other, by the sockets that it has to
 * them (-1: none), and fills `rings`, a list of n_ranks.  All of them call it.
 * Where one of two can't have such memory there is no ring between them.
 * Errors: UNAVAILABLE: a rank is lost.  There are no rings then.
 */
eddy_status eddy__rings_share(uint32_t rank, uint32_t n_ranks,
                              const int *sockets, eddy__ring *rings,
                              eddy_error *err);

/* Makes memory for both ways, of both ends; false: the system has none. */
bool eddy__ring_create(eddy__ring *one, eddy__ring *other);

/* Lets go of it; accepts one that is none. */
void eddy__ring_destroy(eddy__ring *ring);

/* Puts in what there is room for, and gives how much that was. */
size_t eddy__ring_write(const eddy__ring *ring, const uint8_t *data, size_t n);

/*
 * Takes out at most `n` bytes, and gives how many.  False: the other one has
 * written numbers there that make no sense.
 */
bool eddy__ring_read(const eddy__ring *ring, uint8_t *data, size_t n,
                     size_t *out_n);

/*
 * Says that this end sleeps until there are bytes, and if `wants_room` until
 * there is room.  False: there is some of it already.
 */
bool eddy__ring_sleep(const eddy__ring *ring, bool wants_room);
void eddy__ring_rise(const eddy__ring *ring);

/* After a write, and a read: does the other end sleep until that? */
bool eddy__ring_must_wake_reader(const eddy__ring *ring);
bool eddy__ring_must_wake_writer(const eddy__ring *ring);

#endif
