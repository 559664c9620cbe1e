/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the Python module needs in C beside the library: values that are handed
 * over without a copy, with Python's references and lock.  Read by cffi too, so
 * nothing here includes or defines.
 */

/* A tensor with the context that must outlive it, opened for quick reading. */
typedef struct eddy_py_box {
    eddy_context *ctx;
    eddy_tensor *tensor;
    void *data; /* NULL for strings */
    size_t bytes;
    int64_t count;
    int32_t dtype;
    int32_t rank;
    int64_t dims[8];
} eddy_py_box;

/* Takes `tensor`, retains `ctx`; NULL without memory, and nothing is taken. */
eddy_py_box *eddy_py_box_new(eddy_context *ctx, eddy_tensor *tensor);
void eddy_py_box_free(eddy_py_box *box);

/* How a call ended, beside what the library says. */
enum {
    EDDY_PY_DONE = 0,
    EDDY_PY_FAILED = 1,     /* as the error record says */
    EDDY_PY_CONVERT = 2,    /* an object whose memory can't be used as it is */
    EDDY_PY_INTERRUPTED = 3 /* by a signal */
};

/*
 * A tensor over the memory of the Python object at `object`, which is held
 * until the tensor is gone.  `as_dtype` is 0, or a dtype of as many bytes that
 * the object has no name for.
 */
int eddy_py_wrap(eddy_context *ctx, uintptr_t object, int as_dtype,
                 eddy_tensor **out_tensor, eddy_error *err);

/* One execution, with all that it is given and gives. */
typedef struct eddy_py_call {
    eddy_context *ctx;
    eddy_run *run;
    size_t n_feeds;
    uintptr_t *objects; /* one a feed: a Python object, or a box if -1 is ... */
    int32_t *as_dtypes; /* ... here */
    size_t n_fetches;
    eddy_py_box **boxes; /* the results; the caller's */
    /*
     * Or, if `results` is not 0: a list of Python's that has room for them,
     * filled with arrays that `ndarray` makes; `dtypes` is a list of NumPy's
     * dtype of each fetch.  None of them may be a text.
     */
    uintptr_t results, ndarray, dtypes;
    size_t bad; /* the feed that can't be used, for CONVERT */
    eddy_error err;
} eddy_py_call;

int eddy_py_execute(eddy_py_call *call);

/* Ends of objects whose context may not go before they do. */
typedef struct eddy_py_graph {
    eddy_context *ctx;
    eddy_graph *graph;
} eddy_py_graph;
eddy_py_graph *eddy_py_graph_new(eddy_context *ctx, eddy_graph *graph);
void eddy_py_graph_free(eddy_py_graph *held);

typedef struct eddy_py_plan {
    eddy_context *ctx;
    eddy_plan *plan;
} eddy_py_plan;
eddy_py_plan *eddy_py_plan_new(eddy_context *ctx, eddy_plan *plan);
void eddy_py_plan_free(eddy_py_plan *held);

typedef struct eddy_py_session {
    eddy_context *ctx;
    eddy_session *session;
} eddy_py_session;
eddy_py_session *eddy_py_session_new(eddy_context *ctx, eddy_session *session);
void eddy_py_session_free(eddy_py_session *held);

typedef struct eddy_py_run {
    eddy_context *ctx;
    eddy_run *run;
} eddy_py_run;
eddy_py_run *eddy_py_run_new(eddy_context *ctx, eddy_run *run);
void eddy_py_run_free(eddy_py_run *held);

typedef struct eddy_py_trace {
    eddy_context *ctx;
    eddy_trace *trace;
} eddy_py_trace;
eddy_py_trace *eddy_py_trace_new(eddy_context *ctx, eddy_trace *trace);
void eddy_py_trace_free(eddy_py_trace *held);

/* A logger that writes lines to standard error. */
eddy_logger eddy_py_logger(void);

/*
 * A DLPack structure for a box, which it takes: versioned, and marked as not to
 * be written, or as it was before version 1.  NULL without memory.
 */
void *eddy_py_dlpack(eddy_py_box *box, int versioned);

/* The destructor of a capsule that holds one which nobody has taken. */
void eddy_py_dlpack_drop(void *capsule);

/* A graph as a drawing, all frames open: eddy/drawing.h, which eddy.h lacks. */
eddy_status eddy_py_draw(const eddy_graph *graph, const eddy_analysis *analysis,
                         eddy_write_cb write, void *user, eddy_error *err);
