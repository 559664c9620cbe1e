/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel sees: its inputs and outputs in an array of values, and the
 * services of the run.
 *
 * `values` is the iteration's slots in the dynamic executor, a private array
 * for a kernel that was handed to another thread or suspended, and a register
 * file in a linear executor; `in` and `out` index it.  Kernels of ops/ use the
 * inline functions here; kernels written outside eddy use eddy/op.h, which is
 * the same object seen through accessors.
 */
#ifndef EDDY_CORE_KERNEL_H
#define EDDY_CORE_KERNEL_H

#include "core/exchange.h"
#include "core/value/resource.h"
#include "core/value/shape.h"
#include "core/value/value.h"
#include "core/vector_code.h"
#include "eddy/op.h"

/* What a kernel may ask of its run; one table, in runtime/exec. */
typedef struct eddy__services {
    eddy_kernel *(*suspend)(eddy_kernel *kernel);
    void (*complete)(eddy_kernel *suspended, eddy_status code);
    /*
     * Says that a suspended kernel waits for what other nodes do, in this run
     * or another of its session.  If the run ends meanwhile, `give_up` is
     * called by its driver, once or more; it completes the kernel unless
     * somebody else has or will.  @thread the driver, right after `suspend`
     */
    void (*await)(eddy_kernel *suspended,
                  void (*give_up)(eddy_kernel *suspended, void *arg),
                  void *arg);
    bool (*cancelled)(const eddy_kernel *kernel);
    int64_t (*iteration)(const eddy_kernel *kernel);
    /* A mark of the iteration (core/graph/infer.h). */
    uint8_t *(*mark)(const eddy_kernel *kernel, uint32_t mark);
    void (*log)(const eddy_kernel *kernel, eddy_log_level level,
                const char *line);
    /* The table of the session, or of the run if it has none. */
    eddy__resource_table *(*table)(const eddy_kernel *kernel);
    /* Must the run leave files alone? */
    bool (*forbids_files)(const eddy_kernel *kernel);
    /* What connects the run with other ranks; NULL: it has none. */
    eddy__exchange *(*exchange)(const eddy_kernel *kernel);
    eddy__tag (*tag)(const eddy_kernel *kernel);
    /* As eddy_kernel_parallel_for, for a kernel that may share its work. */
    eddy_status (*parallel_for)(eddy_kernel *kernel, int64_t begin, int64_t end,
                                int64_t grain, eddy_items_fn body, void *arg);
    /* Machine code for several elementwise ops at once; NULL: there is none. */
    const eddy__vector_maker *(*vector_maker)(void);
} eddy__services;

/*
 * Is this a checked build, as all with sanitizers are?  It holds what nodes put
 * out against what their plan assumed (runtime/exec/check.h).
 */
#ifdef EDDY_CHECKED
#define EDDY__IS_CHECKED 1
#else
#define EDDY__IS_CHECKED 0
#endif

/* The parts of a planned node that its kernel may look at.  Immutable. */
typedef struct eddy__kernel_node {
    const uint32_t *in;
    const uint32_t *out;
    const void *state;
    uint32_t n_in, n_out;
    const uint8_t *in_dtypes, *out_dtypes;
    const eddy_attr *attrs;       /* of ops made outside eddy only, and ... */
    const eddy_shape *out_shapes; /* ... what their outputs must agree with */
    uint32_t n_attrs;
    const eddy_shape *assumed; /* of each output; in checked builds only */
    const char *name;
    const char *op_name;
    void *user; /* of the op's specification */
} eddy__kernel_node;

struct eddy_kernel {
    eddy__value *values;
    const uint32_t *in;
    const uint32_t *out;
    const eddy__kernel_node *node;
    eddy__heap *heap; /* NULL off the driver's thread: use the account */
    eddy__account *account;
    const eddy_allocator *allocator;
    const eddy__services *services;
    eddy__resource_set *resources; /* NULL off the driver's thread */
    eddy_error *err;               /* where eddy_kernel_fail writes */
    void *run;                     /* the executor's own */
    void *iteration;               /* the executor's own */
    int64_t work;                  /* done since eddy__gives_up was asked */
    /*
     * For a transfer (EDDY__OP_TRANSFER), which runs dead as well as live:
     * before, whether an input is dead; after, whether its outputs are.
     */
    bool is_dead;
    bool may_share; /* workers may do parts of its work */
};

/* Work, in about nanoseconds, that is worth being a part of its own. */
#define EDDY__PART_WORK ((int64_t)1 << 13)

/*
 * How many items of so much work each are a part; `unit` is what a part is to
 * be a multiple of.
 */
static inline int64_t eddy__grain(int64_t work, int64_t unit)
{
    const int64_t n = EDDY__PART_WORK / (work > 0 ? work : 1);

    return n <= unit ? unit : n / unit * unit;
}

/*
 * eddy_kernel_parallel_for for kernels of ops/, inline since most have nobody
 * to share with.  The bits that `body` writes must not depend on where the
 * parts begin, as long as that is a multiple of `grain`.
 */
static inline eddy_status eddy__parallel_for(eddy_kernel *k, int64_t n,
                                             int64_t grain, eddy_items_fn body,
                                             void *arg)
{
    if (!k->may_share || n < 2 * grain)
        return body(k, arg, 0, n);
    return k->services->parallel_for(k, 0, n, grain, body, arg);
}

/* Work, in about nanoseconds, between two questions whether to stop. */
#define EDDY__PATIENCE ((int64_t)1 << 20)

/* Asks whether the run is to stop; then also every later answer is true. */
bool eddy__gives_up(eddy_kernel *k);

/*
 * Counts what a kernel is about to do, or has done; true once it should give
 * up.  A kernel whose work may take ten milliseconds counts it in parts of less
 * than that.  One that gives up leaves its outputs as they are, set or not, and
 * may return EDDY_OK: the executor drops what kernels leave behind once their
 * run is to stop.  What lives longer than the run it must not leave half done.
 */
static inline bool eddy__spent(eddy_kernel *k, int64_t work)
{
    k->work += work;
    return k->work >= EDDY__PATIENCE && eddy__gives_up(k);
}

/*
 * The same in a loop of short steps, counted by `i`: asks now and then.  `k`
 * may be NULL, and then nobody is asked.
 */
static inline bool eddy__spent_at(eddy_kernel *k, int64_t i)
{
    return (i & 0x3fff) == 0x3fff && k && eddy__spent(k, EDDY__PATIENCE / 4);
}

/* Has it come to that? */
static inline bool eddy__gave_up(const eddy_kernel *k)
{
    return k->work >= EDDY__PATIENCE;
}

/* The same for a kernel that returns why; EDDY_OK to go on. */
eddy_status eddy__go_on(eddy_kernel *k, int64_t work);

static inline eddy__value *eddy__in(const eddy_kernel *k, uint32_t i)
{
    return &k->values[k->in[i]];
}

static inline eddy__value *eddy__out(const eddy_kernel *k, uint32_t i)
{
    return &k->values[k->out[i]];
}

static inline const void *eddy__state(const eddy_kernel *k)
{
    return k->node->state;
}

/*
 * A look at a value: for a scalar, `data` points into it and `dims` at nothing.
 * Not for dead values, resources or lists.
 */
static inline eddy_view eddy__view(const eddy__value *v)
{
    const eddy_tensor *t = v->as.tensor;

    if (v->kind == EDDY__SCALAR)
        return (eddy_view){
            .dtype = (eddy_dtype)v->dtype, .count = 1, .data = &v->as};
    return (eddy_view){.dtype = (eddy_dtype)v->dtype,
                       .rank = t->shape.rank,
                       .dims = t->shape.dims,
                       .count = t->count,
                       .data = t->data};
}

static inline eddy_view eddy__in_view(const eddy_kernel *k, uint32_t i)
{
    return eddy__view(eddy__in(k, i));
}

eddy_shape eddy__view_shape(const eddy_view *view);

/* Is the value a list, not a tensor of lists? */
static inline bool eddy__value_is_list(const eddy__value *v)
{
    return v->kind == EDDY__LIST || v->kind == EDDY__LENT_LIST;
}

/* Input `i`, which must be a list. */
static inline const eddy__list *eddy__in_list(const eddy_kernel *k, uint32_t i)
{
    return eddy__in(k, i)->as.list;
}

/*
 * Allocates output `i`: a scalar in place for rank 0 of a numeric dtype, else a
 * tensor.  `*out_data` gets the elements, uninitialised (strings: NULL; set
 * them with eddy__tensor_set_string on eddy__out(k, i)->as.tensor).  The
 * shape's size is checked; failure is recorded and the status is returned.
 */
eddy_status eddy__output(eddy_kernel *k, uint32_t i, eddy_dtype dtype,
                         const eddy_shape *shape, void **out_data);

/*
 * The same, but takes over the buffer of input `from` if that is a tensor of
 * the same dtype size and element count whose last use this is.  `*out_data` is
 * then the input's own data: an elementwise kernel may read element j and then
 * write element j, nothing else.
 */
eddy_status eddy__output_reusing(eddy_kernel *k, uint32_t i, uint32_t from,
                                 eddy_dtype dtype, const eddy_shape *shape,
                                 void **out_data);

/* Makes output `i` the value of input `from`: moved if this is its last use. */
void eddy__output_forward(eddy_kernel *k, uint32_t i, uint32_t from);

/* Makes output `i` that value; takes it over. */
static inline void eddy__out_value(eddy_kernel *k, uint32_t i,
                                   const eddy__value *value)
{
    eddy__value *out = eddy__out(k, i);

    out->kind = value->kind;
    out->dtype = value->dtype;
    out->as = value->as;
}

/*
 * The value of input `i` as one of the kernel's own, which borrows nothing:
 * moved if this is its last use.
 */
static inline eddy__value eddy__in_take(const eddy_kernel *k, uint32_t i)
{
    eddy__value *in = eddy__in(k, i);
    eddy__value value = *in;

    if (!eddy__value_is_counted(in)) {
        eddy__value_keep(&value);
        return value;
    }
    if (in->uses != 1)
        return eddy__value_copy(in);
    in->kind = EDDY__NONE;
    return value;
}

/*
 * A new tensor that is no output yet, the caller's; its elements are as those
 * of eddy__output.  Failure is recorded as there.
 */
eddy_status eddy__new_tensor(eddy_kernel *k, eddy_dtype dtype,
                             const eddy_shape *shape, eddy_tensor **out_tensor);

/*
 * Makes output `i` input `from` with another shape of the same count, without
 * copying elements.
 */
eddy_status eddy__output_reshaped(eddy_kernel *k, uint32_t i, uint32_t from,
                                  const eddy_shape *shape);

/* Makes output `i` a new list of `count` unset items (eddy__list_create). */
eddy_status eddy__output_list(eddy_kernel *k, uint32_t i, eddy_dtype dtype,
                              const eddy_shape *shape, int64_t count,
                              eddy__list **out_list);

/*
 * Makes output `i` a list with the items of list `from` that the kernel may
 * change, with room for `room` more: the input's own, if this is the last use
 * of the last reference, else a copy.  Items of the kernel's other inputs are
 * put in as eddy__value_copy and eddy__value_keep give them.
 */
eddy_status eddy__output_list_reusing(eddy_kernel *k, uint32_t i, uint32_t from,
                                      int64_t room, eddy__list **out_list);

/* Makes output `i` a handle; takes over the caller's reference. */
static inline void eddy__out_resource(eddy_kernel *k, uint32_t i,
                                      eddy__resource *resource)
{
    eddy__value *out = eddy__out(k, i);

    out->kind = EDDY__RESOURCE;
    out->dtype = EDDY_RESOURCE;
    out->as.resource = resource;
}

/*
 * Makes output `i` the handle of a new resource of the run (see
 * eddy__resource_create), which the output keeps.
 */
eddy_status eddy__output_new_resource(eddy_kernel *k, uint32_t i,
                                      const eddy__resource_type *type,
                                      size_t size,
                                      eddy__resource **out_resource);

/* The resource of input `i`, borrowed, or a failure if it has another type. */
eddy_status eddy__in_resource(eddy_kernel *k, uint32_t i,
                              const eddy__resource_type *type,
                              eddy__resource **out_resource);

/*
 * A reference to the resource called `name` of the session, or of the run if it
 * has none (see eddy__resource_table_find).
 */
eddy_status eddy__find_resource(eddy_kernel *k, const eddy__resource_type *type,
                                const char *name, eddy__resource_maker make,
                                const void *arg, eddy__resource **out_resource);

/* Inline scalar outputs, for the commonest kernels. */
static inline void eddy__out_scalar(eddy__value *out, eddy_dtype dtype,
                                    uint64_t bits)
{
    out->kind = EDDY__SCALAR;
    out->dtype = (uint8_t)dtype;
    out->as.bits = bits;
}

/*
 * Element `i` of a view of int32 or int64, as index arguments (axes, shapes,
 * begins) come.
 */
static inline int64_t eddy__view_index(const eddy_view *view, int64_t i)
{
    return view->dtype == EDDY_INT32 ? ((const int32_t *)view->data)[i]
                                     : ((const int64_t *)view->data)[i];
}

/*
 * A shape from a rank-1 view of int32 or int64: fails on another rank, more
 * than 8 elements, or an element below `minimum` (0, or -1 for Reshape).
 */
eddy_status eddy__shape_from_view(eddy_kernel *k, const eddy_view *view,
                                  int64_t minimum, eddy_shape *out_shape);

/*
 * The same, but a scalar counts as a vector of one element, as it does in the
 * oldest of TensorFlow's ops.
 */
eddy_status eddy__shape_from_lenient_view(eddy_kernel *k, const eddy_view *view,
                                          int64_t minimum,
                                          eddy_shape *out_shape);

/* `axis` in [-rank, rank) to [0, rank), or a failure that names it. */
eddy_status eddy__axis(eddy_kernel *k, int64_t axis, int32_t rank,
                       int32_t *out_axis);

#define eddy__kfail eddy_kernel_fail

#endif
