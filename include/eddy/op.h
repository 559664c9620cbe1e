/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Op definitions: register an op with its kernel in a context.
 *
 * A signature is written in a small language, the same that eddy's own tables
 * use:
 *
 *   inputs, outputs   "x: T, y: T"     one tensor each, of the dtype attr T
 *                     "x: float32"     of a fixed dtype
 *                     "values: N * T"  N tensors of dtype T (N an int attr)
 *                     "data: L"        one per element of L (a list(type) attr)
 *                     "x: ref T"       a reference to a variable
 *   attrs             "T: type"                         any dtype
 *                     "T: {float32, float64} = float32" a set, a default
 *                     "T: number"      also real, float, integer, index,
 *                                      complex
 *                     "N: int >= 1", "axis: int = 0", "keep: bool = false",
 *                     "rate: float = 0.5", "text: string = ''",
 *                     "shape: shape", "value: tensor", "f: func",
 *                     "dims: list(int) = []", "L: list(type) >= 1"
 *
 * Groups: number = real and complex; real = float and integer; float = float16,
 * bfloat16, float32, float64; complex = complex64, complex128; integer = the
 * eight integers; index = int32, int64.  A set may hold groups: {index, bool}.
 * `T: float` is the group where an argument uses T or its default is a dtype,
 * and a number elsewhere.  N of "N * T" is at least 1 unless it says `>= 0`.  A
 * shape default is `?`, which is an unknown shape, or like `[2, ?]`.  At most
 * 64 attributes, inputs and outputs each.  Attributes that an input's dtype or
 * count determines are inferred when a node is built through the API.
 */
#ifndef EDDY_OP_H
#define EDDY_OP_H

#include "eddy/graph.h"

EDDY_BEGIN_DECLS

/* The running of one node in one iteration, seen from its kernel. */
typedef struct eddy_kernel eddy_kernel;

/* What a shape function may ask and set, for one node of a graph. */
typedef struct eddy_infer eddy_infer;

typedef enum eddy_op_flags {
    /* Does more than compute outputs: never pruned, folded or merged. */
    EDDY_OP_STATEFUL = 1 << 0,
    /* May call eddy_kernel_suspend and complete later. */
    EDDY_OP_ASYNC = 1 << 1,
    /* Always worth less than a hand-over to another thread. */
    EDDY_OP_CHEAP = 1 << 2,
    /* Work grows faster than its inputs, so it is worth a hand-over sooner. */
    EDDY_OP_HEAVY = 1 << 3,
    /* Nobody has written a gradient because there is none. */
    EDDY_OP_NOT_DIFFERENTIABLE = 1 << 4
} eddy_op_flags;

/*
 * Computes a node.  Called from any thread, on many nodes at once; it reads its
 * inputs, sets every output, and returns EDDY_OK or what eddy_kernel_fail gave.
 */
typedef eddy_status (*eddy_kernel_fn)(eddy_kernel *kernel);

/* Sets the shapes of the outputs as far as they follow from the inputs. */
typedef eddy_status (*eddy_infer_fn)(eddy_infer *infer);

/*
 * Looks at a node once, when a plan is made: checks its attributes, may choose
 * the kernel for its dtypes (eddy_infer_set_kernel) and may leave bytes that
 * its kernel reads back in every run (eddy_infer_state).
 */
typedef eddy_status (*eddy_prepare_fn)(eddy_infer *infer);

/* One node that is being differentiated; see eddy/gradients.h. */
typedef struct eddy_gradient eddy_gradient;

/*
 * Adds the nodes that compute the gradients of the inputs from those of the
 * outputs; returns EDDY_OK or what eddy_gradient_fail gave.
 */
typedef eddy_status (*eddy_gradient_fn)(eddy_gradient *g);

typedef struct eddy_op_spec {
    size_t size;        /* sizeof(eddy_op_spec) */
    const char *name;   /* a letter, then letters, digits, '_', '>' or '.' */
    const char *inputs; /* NULL or "" for none */
    const char *outputs;
    const char *attrs;
    eddy_infer_fn infer; /* NULL: output shapes are unknown */
    eddy_kernel_fn kernel;
    eddy_prepare_fn prepare; /* may be NULL if `kernel` is given */
    uint32_t flags;          /* eddy_op_flags */
    /* For people, on one line each; may be NULL. */
    const char *doc;           /* what the op computes */
    const char *source;        /* whose definition that is */
    void *user;                /* for the kernel: eddy_kernel_user */
    eddy_gradient_fn gradient; /* NULL: there is none */
} eddy_op_spec;

/*
 * Registers an op in `ctx`; the strings are copied.  Errors: ALREADY_EXISTS,
 * INVALID_ARGUMENT (EDDY_E_OP_SPEC, with the offset in the signature).  Ops are
 * registered before any graph of the context is shared between threads.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_op_register(eddy_context *ctx,
                                                    const eddy_op_spec *spec,
                                                    eddy_error *err);

/* The i-th registered op's name, or NULL past the end; in order of name. */
EDDY_API const char *eddy_op_name(const eddy_context *ctx, size_t i);

/* What one of an op's attributes of kind type, or list(type), may be. */
typedef struct eddy_op_type {
    const char *attr; /* its name */
    uint32_t dtypes;  /* bit d: the eddy_dtype d */
    bool is_list;
} eddy_op_type;

/* An op as it was registered. */
typedef struct eddy_op_info {
    const char *name;
    const char *inputs, *outputs, *attrs; /* the signature, "" for none */
    const char *doc, *source;             /* NULL: not given */
    uint32_t flags;                       /* eddy_op_flags */
    const eddy_op_type *types;            /* in the order of `attrs` */
    size_t n_types;
} eddy_op_info;

/*
 * Finds an op by its name; false if `ctx` has none.  Texts and types are
 * borrowed from `ctx`.  @thread any, once all ops are registered
 */
EDDY_API bool eddy_op_find(const eddy_context *ctx, const char *name,
                           eddy_op_info *out_info);

/* ---- what kernels may ask; @thread the one that runs the kernel ---- */

/* A read-only look at one input, valid until the kernel returns. */
typedef struct eddy_view {
    eddy_dtype dtype;
    int32_t rank;
    const int64_t *dims; /* `rank` of them */
    int64_t count;       /* elements */
    const void *data;    /* NULL for string, resource and variant */
} eddy_view;

EDDY_API uint32_t eddy_kernel_inputs(const eddy_kernel *kernel);
EDDY_API uint32_t eddy_kernel_outputs(const eddy_kernel *kernel);
EDDY_API eddy_view eddy_kernel_input(const eddy_kernel *kernel, uint32_t i);

/*
 * Input `i` as a tensor that the caller must release; NULL without memory, and
 * for a list (dtype variant).
 */
EDDY_API eddy_tensor *eddy_kernel_input_tensor(eddy_kernel *kernel, uint32_t i);

/*
 * Allocates output `i` and gives its elements, uninitialised, in `*out_data`.
 * When some input whose last use this is has a buffer that fits, that buffer
 * may be handed over instead: so read an input before writing an output,
 * element by element, or copy first.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_kernel_output(eddy_kernel *kernel,
                                                      uint32_t i,
                                                      eddy_dtype dtype,
                                                      const eddy_shape *shape,
                                                      void **out_data);

/* Makes `tensor`, which it retains, output `i`. */
EDDY_API EDDY_MUST_USE eddy_status
eddy_kernel_output_tensor(eddy_kernel *kernel, uint32_t i, eddy_tensor *tensor);

/* The node's attribute, as eddy_graph_node_attr; for prepare too. */
EDDY_API bool eddy_kernel_attr(const eddy_kernel *kernel, const char *name,
                               eddy_attr *out_attr);

/* `user` of the op's specification; it must outlive the context. */
EDDY_API void *eddy_kernel_user(const eddy_kernel *kernel);

/* What the op's prepare left, or NULL. */
EDDY_API const void *eddy_kernel_state(const eddy_kernel *kernel);

/* The iteration of the node's frame that the kernel runs in; 0 in the root. */
EDDY_API int64_t eddy_kernel_iteration(const eddy_kernel *kernel);

/* True once the run is to stop; long kernels should ask now and then. */
EDDY_API bool eddy_kernel_cancelled(const eddy_kernel *kernel);

/*
 * Does items `begin` to `end` of a kernel's work; returns EDDY_OK or what
 * eddy_kernel_fail gave.  `part` stands for the kernel: it answers all calls of
 * this section but eddy_kernel_suspend.
 */
typedef eddy_status (*eddy_items_fn)(eddy_kernel *part, void *arg,
                                     int64_t begin, int64_t end);

/*
 * Runs `body` over the items from `begin` to `end`, in parts of at least
 * `grain` items that begin at `begin` plus a multiple of it, on this thread and
 * on workers that are free, and returns when all are done.  No worker is needed
 * for that: without any, or where it would not pay, `body` is called here for
 * all items at once.  A grain is best some microseconds of work.  Parts run at
 * the same time, so they write to different places; `arg` is theirs to read.
 * Outputs are made before.  A call from within a part runs on its thread.
 *
 * The error of the first part that fails is returned, and later parts may be
 * left out.  Parts are also left out once the run is to stop; then the outputs
 * do not matter.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_kernel_parallel_for(eddy_kernel *kernel, int64_t begin, int64_t end,
                         int64_t grain, eddy_items_fn body, void *arg);

/* Records why the kernel fails; returns `code` for the kernel to return. */
EDDY_API eddy_status eddy_kernel_fail(eddy_kernel *kernel, eddy_status code,
                                      eddy_detail detail, const char *format,
                                      ...) EDDY_PRINTF(4, 5);

/*
 * Lets the kernel return before its outputs are there (op flag
 * EDDY_OP_ASYNC).  The kernel then returns EDDY_OK and leaves `kernel` alone.
 * The result stands for the node until eddy_kernel_complete: it answers all
 * calls above, from one thread at a time, whichever that is.  NULL without
 * memory.
 */
EDDY_API eddy_kernel *eddy_kernel_suspend(eddy_kernel *kernel);

/*
 * Ends a suspended node with EDDY_OK and its outputs set, or with what
 * eddy_kernel_fail gave.  `suspended` is gone afterwards.  A run ends only when
 * all its suspended nodes have completed, also after a cancel.  @thread any
 */
EDDY_API void eddy_kernel_complete(eddy_kernel *suspended, eddy_status code);

/* ---- what shape functions and prepare may ask ---- */

EDDY_API uint32_t eddy_infer_inputs(const eddy_infer *infer);
EDDY_API uint32_t eddy_infer_outputs(const eddy_infer *infer);
EDDY_API eddy_dtype eddy_infer_input_dtype(const eddy_infer *infer, uint32_t i);
EDDY_API eddy_dtype eddy_infer_output_dtype(const eddy_infer *infer,
                                            uint32_t i);

/* As far as it is known; in prepare it is what inference found. */
EDDY_API const eddy_shape *eddy_infer_input(const eddy_infer *infer,
                                            uint32_t i);

/* The value of input `i` if it is a constant of the graph, else NULL. */
EDDY_API const eddy_tensor *eddy_infer_constant(const eddy_infer *infer,
                                                uint32_t i);
EDDY_API bool eddy_infer_attr(const eddy_infer *infer, const char *name,
                              eddy_attr *out_attr);
EDDY_API void eddy_infer_set_output(eddy_infer *infer, uint32_t i,
                                    const eddy_shape *shape);
EDDY_API void eddy_infer_set_kernel(eddy_infer *infer, eddy_kernel_fn kernel);

/* `size` zeroed bytes that live as long as the plan; NULL without memory. */
EDDY_API void *eddy_infer_state(eddy_infer *infer, size_t size);
EDDY_API eddy_status eddy_infer_fail(eddy_infer *infer, eddy_status code,
                                     eddy_detail detail, const char *format,
                                     ...) EDDY_PRINTF(4, 5);

EDDY_END_DECLS

#endif
