/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A context: the allocator, the logger, the workers and the op registry that
 * everything made with it shares.  A process may have several; they know
 * nothing of each other, and eddy has no other global state.
 */
#ifndef EDDY_CONTEXT_H
#define EDDY_CONTEXT_H

#include "eddy/tensor.h"

EDDY_BEGIN_DECLS

/*
 * Where memory comes from.  `allocate` returns NULL on failure, else memory
 * aligned to `alignment`, a power of two; `release` gets the same size.
 * Both are called from any thread at once.
 */
typedef struct eddy_allocator {
    void *(*allocate)(void *user, size_t size, size_t alignment);
    void (*release)(void *user, void *memory, size_t size);
    void *user;
} eddy_allocator;

typedef enum eddy_log_level {
    EDDY_LOG_WARNING,
    EDDY_LOG_INFO, /* what Print ops write */
} eddy_log_level;

/* Gets one line without its newline, from any thread. */
typedef struct eddy_logger {
    void (*log)(void *user, eddy_log_level level, const char *line);
    void *user;
} eddy_logger;

/*
 * The host's own threads in place of eddy's.  `schedule` must arrange that
 * task(arg) is called once, later, on any thread and must not call it itself
 * before it returns; it returns false if it can't.  A run that was refused is
 * driven by whoever polls it or waits for it.
 */
typedef struct eddy_executor {
    bool (*schedule)(void *user, void (*task)(void *arg), void *arg);
    void *user;
} eddy_executor;

/* Zero-initialise, then set `size` to sizeof the struct.  Zero is a default. */
typedef struct eddy_context_options {
    size_t size;
    eddy_allocator allocator; /* default: the C library's */
    eddy_logger logger;       /* default: lines are dropped */
    eddy_executor executor;   /* default: eddy's own workers */
    /* Threads of eddy's own, 1024 at the most; 0: the caller's only. */
    uint32_t n_workers;
    size_t worker_stack; /* bytes of a worker's stack; default 1 MiB */
    /*
     * OpenBLAS's number of threads, which is global to the process; 0 leaves
     * it as the host set it.
     */
    uint32_t blas_threads;
} eddy_context_options;

/*
 * Creates a context; `options` may be NULL.  When only some of the workers can
 * be started it goes on with those; when none can, it fails with UNAVAILABLE.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_context_create(const eddy_context_options *options, eddy_context **out_ctx,
                    eddy_error *err);

/*
 * Adds and drops a reference; both accept NULL.  With the last one the workers
 * end and the context is freed: everything made with it must be gone by then,
 * tensors, graphs, plans, sessions, runs.  So a program whose objects end in
 * any order, as those of a collected language do, keeps a reference for each of
 * them.  The last reference is not dropped from within a run of the context.
 * @thread any
 */
EDDY_API eddy_context *eddy_context_retain(eddy_context *ctx);
EDDY_API void eddy_context_release(eddy_context *ctx);

/* Drops the reference that creating it gave: eddy_context_release. */
EDDY_API void eddy_context_destroy(eddy_context *ctx);

/* How many workers run; 0 with a host's executor.  @thread any */
EDDY_API uint32_t eddy_context_workers(const eddy_context *ctx);

EDDY_END_DECLS

#endif
