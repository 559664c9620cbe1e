/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Result codes and the error record that every fallible call can fill.
 *
 * A status is one of TensorFlow's canonical codes.  Beside it each kind of
 * mistake has a stable sub-code, EDDY_E_..., for programs that must tell
 * mistakes apart; the words of a message may change, the sub-code may not.
 */
#ifndef EDDY_STATUS_H
#define EDDY_STATUS_H

#include "eddy/api.h"

#include <stddef.h>

EDDY_BEGIN_DECLS

/* The canonical codes, numbered as TensorFlow numbers them. */
#define EDDY_STATUS_MAP(X)                                                     \
    X(OK, 0)                                                                   \
    X(CANCELLED, 1)                                                            \
    X(UNKNOWN, 2)                                                              \
    X(INVALID_ARGUMENT, 3)                                                     \
    X(DEADLINE_EXCEEDED, 4)                                                    \
    X(NOT_FOUND, 5)                                                            \
    X(ALREADY_EXISTS, 6)                                                       \
    X(PERMISSION_DENIED, 7)                                                    \
    X(RESOURCE_EXHAUSTED, 8)                                                   \
    X(FAILED_PRECONDITION, 9)                                                  \
    X(ABORTED, 10)                                                             \
    X(OUT_OF_RANGE, 11)                                                        \
    X(UNIMPLEMENTED, 12)                                                       \
    X(INTERNAL, 13)                                                            \
    X(UNAVAILABLE, 14)                                                         \
    X(DATA_LOSS, 15)                                                           \
    X(UNAUTHENTICATED, 16)

typedef enum eddy_status {
#define X(name, number) EDDY_##name = number,
    EDDY_STATUS_MAP(X)
#undef X
} eddy_status;

/* The sub-codes.  New ones are added at the end: numbers are stable. */
#define EDDY_DETAIL_MAP(X)                                                     \
    X(NONE, "no further detail")                                               \
    X(ARGUMENT, "a call was given a bad argument")                             \
    X(MEMORY, "an allocation failed")                                          \
    X(CYCLE, "a cycle without a NextIteration")                                \
    X(BACK_EDGE, "a NextIteration that feeds no Merge")                        \
    X(NOT_IN_FRAME, "a NextIteration or Exit outside every frame")             \
    X(UNREACHABLE_LOOP, "a loop Merge without an Enter")                       \
    X(NEVER_ENDS, "a back edge that no Switch of its frame can stop")          \
    X(FRAME_NAME, "an Enter without a frame name")                             \
    X(FRAME_MIXED, "inputs from different frames")                             \
    X(FRAME_PARENTS, "one frame name under two parents")                       \
    X(FRAME_SHARED, "one frame name for two loops")                            \
    X(LOOP_CONDS, "two LoopConds in one frame")                                \
    X(FRAME_DEPTH, "frames nested too deeply")                                 \
    X(PARALLEL_ITERATIONS, "parallel_iterations below 1")                      \
    X(PREDICATE, "a predicate that is not a boolean scalar")                   \
    X(MERGE_TWO_LIVE, "a Merge with two live inputs")                          \
    X(EXIT_TWICE, "an Exit that fired twice in one frame")                     \
    X(FETCH_DEAD, "a fetched tensor is dead")                                  \
    X(FETCH_IN_LOOP, "a fetched tensor lives in a loop")                       \
    X(FEED_IN_FRAME, "a fed tensor lives in a frame")                          \
    X(FEED_DTYPE, "a fed tensor has the wrong dtype")                          \
    X(FEED_SHAPE, "a fed tensor has the wrong shape")                          \
    X(FEED_TWICE, "a tensor is fed twice")                                     \
    X(NOT_FED, "a placeholder was not fed")                                    \
    X(UNKNOWN_NAME, "no node of that name")                                    \
    X(OUTPUT_INDEX, "a node has no output of that index")                      \
    X(BAD_NAME, "a name with characters that are not allowed")                 \
    X(DUPLICATE_NODE, "two nodes of one name")                                 \
    X(UNKNOWN_INPUT, "an input names no node")                                 \
    X(CONTROL_ORDER, "a control input before a data input")                    \
    X(UNKNOWN_OP, "an op that is not registered")                              \
    X(OP_SPEC, "a malformed op specification")                                 \
    X(INPUT_COUNT, "a wrong number of inputs")                                 \
    X(INPUT_DTYPE, "an input of the wrong dtype")                              \
    X(ATTR_MISSING, "an attribute is missing")                                 \
    X(ATTR_KIND, "an attribute of the wrong kind")                             \
    X(ATTR_VALUE, "an attribute with a value that is not allowed")             \
    X(ATTR_DUPLICATE, "an attribute is given twice")                           \
    X(DTYPE, "a dtype that is unknown or not allowed")                         \
    X(NO_GRADIENT, "an op or a loop without a gradient")                       \
    X(NO_KERNEL, "an op without a kernel for these dtypes")                    \
    X(DIM, "a negative or impossible dimension")                               \
    X(RANK, "a rank that is not supported")                                    \
    X(SIZE, "a size that overflows")                                           \
    X(SHAPE, "shapes that do not agree")                                       \
    X(VALUE, "a value outside what the op accepts")                            \
    X(INDEX, "an index out of range")                                          \
    X(DIVISION_BY_ZERO, "integer division by zero")                            \
    X(ASSERTION, "an assertion of the graph failed")                           \
    X(NUMERICS, "a NaN or an infinity")                                        \
    X(ABORT_OP, "an Abort op ran")                                             \
    X(UNINITIALIZED, "a variable or an item without a value")                  \
    X(OUTPUT_MISSING, "a kernel left an output unset")                         \
    X(RESOURCE, "a resource that does not exist or has the wrong kind")        \
    X(TENSOR_DATA, "tensor data that does not match its shape")                \
    X(MALFORMED, "bytes that are not in the expected format")                  \
    X(TOO_DEEP, "a message nested too deeply")                                 \
    X(LIMIT_ITERATIONS, "the limit on iterations was reached")                 \
    X(LIMIT_BYTES, "the limit on bytes was reached")                           \
    X(LIMIT_FRAMES, "the limit on frames was reached")                         \
    X(LIMIT_NODES, "the limit on nodes was reached")                           \
    X(DEADLINE, "the deadline passed")                                         \
    X(CANCELLED, "the run was cancelled")                                      \
    X(BUSY, "the object is in use")                                            \
    X(IO, "a file could not be read or written")                               \
    X(FUNCTION, "a function that is missing or malformed")                     \
    X(THREAD, "a thread could not be started")                                 \
    X(RECURSION, "a function that calls itself")                               \
    X(ITEM_WRITTEN, "a write to an array's item that was written or read")     \
    X(ITEM_CLEARED, "a read of an array's item that a read has cleared")       \
    X(CLOSED, "a stack, array or queue that was closed")                       \
    X(EMPTY, "a pop from an empty stack or list")                              \
    X(FULL, "a push onto a full stack or list")                                \
    X(CONSTRUCT, "a loop or branch that is not open, or is not closed")        \
    X(VALUE_SCOPE, "a value used outside of its loop or branch")               \
    X(HOST_CALLBACK, "a host callback that failed, or can't be here")          \
    X(NOT_COUNTED, "a loop that cannot be unrolled")                           \
    X(SUBGRAPH, "nodes or edges that a loop made of them can't have")          \
    X(RECURRENCE, "a recurrence that cannot become a loop")                    \
    X(ASSUMED, "a value that is not what its plan took it to be")              \
    X(STUCK, "all nodes wait for queues that no node changes")                 \
    X(PLACE, "a node is placed where it can't be")                             \
    X(MESSAGE, "a message between ranks that can't be")                        \
    X(SPILL, "a tape could not be written to its file or read from it")        \
    X(LIMIT_SPILL, "the limit on spilled bytes was reached")                   \
    X(CHECKPOINT, "a loop can't be saved, or not go on from what was saved")

typedef enum eddy_detail {
#define X(name, text) EDDY_E_##name,
    EDDY_DETAIL_MAP(X)
#undef X
} eddy_detail;

/*
 * Where and why a call failed.  The caller owns it, usually on the stack; it
 * holds no pointers, so it is never freed and may be copied with `=`.  A call
 * writes it only when it fails.  All texts are NUL-terminated, printable (names
 * from graphs are escaped) and cut in the middle with "..." when too long.
 */
typedef struct eddy_error {
    eddy_status code;
    eddy_detail detail;
    char node[160];    /* the node at fault, or "" */
    char op[48];       /* its op type, or "" */
    char frame[160];   /* outer[3]/inner[17], or "" in the root */
    char cause[160];   /* for a dead fetch: the Switch that killed it */
    char message[512]; /* what was found and what was wanted */
} eddy_error;

/*
 * A record without an error, as C and as C++ take it: `= {0}` is no C++, where
 * an enumeration takes no 0.
 *
 *     eddy_error err = EDDY_ERROR_INIT;
 */
#define EDDY_ERROR_INIT                                                        \
    {                                                                          \
        EDDY_OK, EDDY_E_NONE, "", "", "", "", ""                               \
    }

/* The name of `code` as in TensorFlow, "INVALID_ARGUMENT".  @thread any */
EDDY_API const char *eddy_status_name(eddy_status code);

/* The name of `detail`, "EDDY_E_CYCLE", and its fixed text.  @thread any */
EDDY_API const char *eddy_detail_name(eddy_detail detail);
EDDY_API const char *eddy_detail_text(eddy_detail detail);

/*
 * Writes `err` as one line: code and sub-code, node 'n' (Op) in w[3]: message.
 * Returns the length that the whole line needs without its NUL, as snprintf
 * does; `text` may be NULL when `size` is 0.  @thread any
 */
EDDY_API size_t eddy_error_format(const eddy_error *err, char *text,
                                  size_t size);

EDDY_END_DECLS

#endif
