/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a trace keeps its records: as a stream of items, each a head of 8 bytes
 * and what its flags say, 4-byte aligned.  A token of a scalar is 12 or 16
 * bytes, where a record is 80 and a summary 150: what is written while a run
 * goes on is what the recorder costs, and reading may take its time.
 *
 * Main invariant: a chunk can be read by itself.  It begins with what was told
 * so far (eddy__trace_told), and its last tokens have their time in it.
 */
#ifndef EDDY_EXEC_TRACE_STREAM_H
#define EDDY_EXEC_TRACE_STREAM_H

#include "eddy/trace.h"

#include <string.h>

typedef enum eddy__trace_item_kind {
    /* A token, by its eddy_trace_state; `what` is the node. */
    EDDY__ITEM_LIVE = EDDY_TRACE_LIVE,
    EDDY__ITEM_DEAD = EDDY_TRACE_DEAD,
    EDDY__ITEM_FAILED = EDDY_TRACE_FAILED,
    /* Tokens since the last one have shared `what` nanoseconds. */
    EDDY__ITEM_TIME,
    /* What comes begins at a time (int64), on worker `what`. */
    EDDY__ITEM_JUMP,
    /* What comes is in frame `what`, and an iteration (int64) of it. */
    EDDY__ITEM_PLACE,
    /* What comes is in the next iteration of the same frame. */
    EDDY__ITEM_NEXT,
    /* After the last token so many bytes are in use (int64), and by `what`
     * more than before. */
    EDDY__ITEM_MEMORY
} eddy__trace_item_kind;

/* What follows the head of a token, in this order. */
enum {
    EDDY__ITEM_SCALAR = 1,   /* 4 or 8 bytes of its one output */
    EDDY__ITEM_OUTPUT = 2,   /* uint32: what `output` has no room for */
    EDDY__ITEM_RESOURCE = 4, /* uint64 */
    EDDY__ITEM_TASK = 8,     /* eddy__trace_task: times of its own */
    EDDY__ITEM_VALUES = 16,  /* uint32: so many eddy__trace_sum, with dims */
    /* For others: `what` has no room for it, and stands behind as int64. */
    EDDY__ITEM_LONG = 32
};

#define EDDY__ITEM_NO_OUTPUT 255

typedef struct eddy__trace_item {
    uint32_t what;
    uint8_t kind;
    uint8_t flags;
    uint8_t output; /* EDDY__ITEM_NO_OUTPUT: none */
    uint8_t dtype;  /* of the scalar */
} eddy__trace_item;

_Static_assert(sizeof(eddy__trace_item) == 8, "it is written at once");

/* When a token ran that ran elsewhere. */
typedef struct eddy__trace_task {
    uint64_t start_ns, duration_ns;
    uint32_t worker, unused;
} eddy__trace_task;

/* An eddy_trace_value but for its dims, which follow. */
typedef struct eddy__trace_sum {
    int32_t dtype, rank;
    int64_t count;
    double min, max, mean;
    uint64_t n_nan, n_infinite, hash, bits;
} eddy__trace_sum;

/* The most that the items of one token take, but for its values. */
#define EDDY__ITEM_MOST 160

/* What the items so far have said. */
typedef struct eddy__trace_told {
    uint64_t ns;    /* since the execution began */
    int64_t in_use; /* bytes */
    int64_t iteration;
    uint32_t frame;
    uint32_t worker;
} eddy__trace_told;

typedef struct eddy__trace_chunk {
    struct eddy__trace_chunk *next; /* a later one, or a spare one */
    size_t room;                    /* bytes of `items` */
    unsigned char *end;             /* of the items, if there is a later one */
    uint64_t first;                 /* of how many records it has the first */
    uint64_t number;                /* of that one */
    eddy__trace_told told;          /* before it */
    unsigned char items[];
} eddy__trace_chunk;

/* Bytes of a scalar among the items. */
static inline size_t eddy__item_scalar_bytes(uint32_t dtype)
{
    const uint32_t wide = 1U << EDDY_FLOAT64 | 1U << EDDY_INT64 |
                          1U << EDDY_UINT64 | 1U << EDDY_COMPLEX64;

    return (size_t)4 << (wide >> dtype & 1U);
}

static inline unsigned char *eddy__item_put(unsigned char *at,
                                            const void *bytes, size_t n)
{
    memcpy(at, bytes, n);
    return at + n;
}

static inline const unsigned char *eddy__item_get(const unsigned char *at,
                                                  void *bytes, size_t n)
{
    memcpy(bytes, at, n);
    return at + n;
}

#endif
