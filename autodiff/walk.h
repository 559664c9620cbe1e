/*
 * The state of one call of eddy_gradients.
 *
 * Forward nodes are those that the graph had when the call began.  They are
 * walked once each, consumers first, without recursion: `pending` counts the
 * consumers of a node that are still to come.  A loop is a unit of the walk: it
 * opens when the gradients of its Exits are known, which makes its gradient
 * frame, and closes when all of its body has been walked.
 *
 * Where a value lives is its place: a frame and, in that frame, a branch.  The
 * scope of a frame is where gradients of its nodes are computed.  That of the
 * home frame, in which the ys lie, is the home frame itself; that of a loop in
 * it is the loop's gradient frame.  So every forward value has a value in the
 * scope of its frame (eddy__real), and every gradient is live exactly where the
 * value that it belongs to was.
 *
 * The first failure sticks: after it all that adds nodes does nothing.
 */
#ifndef EDDY_AUTODIFF_WALK_H
#define EDDY_AUTODIFF_WALK_H

#include "autodiff/late_shapes.h"
#include "autodiff/output_map.h"
#include "autodiff/tape.h"
#include "eddy/gradients.h"
#include "frames/analysis/branches.h"
#include "frames/analysis/infer.h"

#define EDDY__NO_OUTPUT ((eddy_output){.node = EDDY_NO_NODE})

/* Gradients of one forward output, still to be summed. */
typedef struct eddy__addend {
    eddy_output gradient;
    /* Of a list: the item that the gradient is one of; NO_OUTPUT: of it all. */
    eddy_output item;
    uint32_t branch; /* in which that item was read */
    struct eddy__addend *next;
    struct eddy__addend *last; /* of the list, kept by its first one */
} eddy__addend;

/* A loop variable in the gradient frame. */
typedef struct eddy__back_variable {
    const eddy_loop_variable *forward;
    eddy_output merge, switch_; /* output 1 of the Switch is in the body */
    eddy_output exit;
    struct eddy__back_variable *next;
} eddy__back_variable;

/* Lists of nodes, frames and tapes are by their numbers. */
#define EDDY__END_OF_LIST UINT32_MAX

/* Where the gradients of a frame's nodes are computed. */
typedef struct eddy__scope {
    uint32_t frame;             /* the forward frame */
    struct eddy__scope *parent; /* of the frame around it */
    /*
     * The home frame or one around it, whose values enter the home frame; what
     * follows is then unused.
     */
    bool is_home;
    bool is_within; /* in the home frame */
    bool is_active; /* some node of it, or of a loop in it, is */
    bool is_open;
    uint32_t n_exits;     /* active Exits to come before it opens */
    uint32_t n_tapes;     /* tapes whose pops must be walked before */
    uint32_t n_remaining; /* units of the body to come before it closes */
    const char *name;     /* of the gradient frame */
    /* Lists: what runs in it, the loops in it, and tapes by either loop. */
    uint32_t first_unit, first_child, first_pushed, first_popped;
    uint32_t next_child; /* of the same parent */

    /* The forward loop's trip counter. */
    eddy_node count_add, count_next, count_sync;
    eddy_output trips; /* its Exit */

    /* The gradient loop's counter. */
    eddy_output loop_cond, pivot; /* the pivot is live in the body alone */
    eddy_node back_next, back_sync, back_exit;
    eddy__back_variable *variables;
} eddy__scope;

typedef enum eddy__unit_kind {
    EDDY__UNIT_NODE,
    EDDY__UNIT_OPEN, /* a loop */
    EDDY__UNIT_CLOSE,
} eddy__unit_kind;

typedef struct eddy__unit {
    eddy__unit_kind kind;
    uint32_t id; /* of the node or the frame */
} eddy__unit;

typedef struct eddy__walk {
    eddy_graph *graph;
    const eddy_gradient_options *options;
    const eddy_output *starts; /* grad_ys or tangents, or NULL */
    size_t n_starts;
    const char *prefix;
    char source[64]; /* of TensorArrays of gradients */
    eddy__arena arena;
    eddy__selection selection; /* what the ys and xs depend on */
    eddy_analysis *analysis;
    eddy__flow flow;
    eddy__shapes shapes;
    eddy__late_shapes late;
    eddy__branches branches;  /* those of the analysis */
    uint8_t *is_branch_ready; /* its predicate is known to gradients */
    eddy_node *met_by;        /* a branch: the Merge that it met in last */
    eddy__tapes tapes;
    size_t n_nodes; /* forward ones */

    uint8_t *state;      /* a forward node: see activity.c */
    uint32_t *pending;   /* a forward node: consumers to come */
    uint32_t *next_unit; /* a forward node: the next one of its scope */
    eddy__back_variable **back_of; /* a forward Merge: its variable, or NULL */
    eddy__addend **addends;        /* by shapes.first[node] + index */
    eddy__scope *scopes;           /* a frame */
    uint32_t home;
    bool counts_history; /* follow back edges of the home frame, too */
    /*
     * Merges of the home frame, and of those around it, that an x reaches
     * through trips that are over, which are to be made again.
     */
    uint8_t *replayed;
    eddy_node anchor; /* a node of the home frame */
    /* What may be done next, a stack: nodes, and loops to open and to close. */
    eddy__unit *ready;
    size_t n_ready, ready_capacity;

    eddy__output_map real;      /* a forward value: that in its scope */
    eddy__output_map imported;  /* a value and a place: that there */
    eddy_output one, minus_one; /* of the home frame */
    eddy_node at;               /* whose gradient is being made, for names */

    eddy_status status;
    eddy_error *err;
} eddy__walk;

/* ---- walk.c: the state, and what is known before the first node is added ----
 */

/* `prefix` and `err` are borrowed. */
void eddy__walk_init(eddy__walk *w, eddy_graph *graph, const char *prefix,
                     eddy_error *err);
void eddy__walk_deinit(eddy__walk *w);

/* Makes the graph ready for what is asked, which has been checked. */
eddy_status eddy__walk_begin(eddy__walk *w, const eddy_output *ys, size_t n_ys,
                             const eddy_output *xs, size_t n_xs);

/* Fails with `what` and a number unless all are outputs, if real of floats. */
eddy_status eddy__walk_check(eddy__walk *w, const char *what,
                             const eddy_output *list, size_t n, bool real);

/* Fails if what is `given` for `output` is known to have another shape. */
eddy_status eddy__walk_check_shape(eddy__walk *w, const char *what,
                                   eddy_output given, const char *of,
                                   eddy_output output, size_t i);

/* ---- array_reads.c ---- */

/* What is asked for, which keeps its nodes. */
typedef struct eddy__asked_outputs {
    const eddy_output *ys, *xs, *stop;
    size_t n_ys, n_xs, n_stop;
} eddy__asked_outputs;

/*
 * If the ys are in a loop: puts a Gather of the tensor in place of each read,
 * that they come from, of an array which that tensor has filled.  Not while a
 * construct is open.
 */
eddy_status eddy__gather_reads(eddy_graph *graph, const char *prefix,
                               const eddy__asked_outputs *asked,
                               eddy_error *err);

/* ---- walk.c again ---- */

/* Frames, branches, tapes and shapes of all that ys and xs depend on. */
eddy_status eddy__walk_study(eddy__walk *w, const eddy_output *ys, size_t n_ys,
                             const eddy_output *xs, size_t n_xs);

/* The scopes of all frames, for `home`. */
eddy_status eddy__make_scopes(eddy__walk *w);

/* How many outputs the forward nodes have; shapes.first numbers them. */
size_t eddy__walk_slots(const eddy__walk *w);

/* ---- activity.c ---- */

/*
 * Finds the nodes through which some y depends on some x.  `state` gets these:
 */
enum {
    EDDY__REACHED = 1 << 0,  /* depends on an x */
    EDDY__NEEDED = 1 << 1,   /* some y depends on it */
    EDDY__IS_X = 1 << 2,     /* some output of it is an x */
    EDDY__STOPPED = 1 << 3,  /* one of options->stop: what is before it is not
                                asked for, though it may be an x */
    EDDY__RELEASED = 1 << 4, /* an Enter: what it reads knows that */
};

bool eddy__dtype_has_gradient(eddy_dtype dtype);

/* Clears `state` but for EDDY__STOPPED; `home` is known. */
void eddy__begin_marks(eddy__walk *w);

/* The VarHandleOp whose handle `v` is; NO_NODE if it is none. */
eddy_node eddy__variable_of(const eddy__walk *w, eddy_output v);
eddy_status eddy__find_active(eddy__walk *w, const eddy_output *ys, size_t n_ys,
                              const eddy_output *xs, size_t n_xs);

static inline bool eddy__is_active(const eddy__walk *w, eddy_node node)
{
    return node < w->n_nodes && (w->state[node] & EDDY__REACHED) &&
           (w->state[node] & EDDY__NEEDED);
}

/*
 * Does some y depend on `x`, which is outside of the home frame, through
 * iterations before that of the ys?
 */
eddy_status eddy__find_history(eddy__walk *w, const eddy_output *ys,
                               size_t n_ys, const eddy_output *x,
                               bool *out_has_history);

/* What the ys depend on that is not there yet; none: depth 0, no level. */
typedef struct eddy__waits {
    uint32_t depth; /* of the innermost frame of a loop that is open ... */
    uint32_t frame; /* ... and that frame */
    uint32_t level; /* for the end of which outermost loop a value waits */
} eddy__waits;

/*
 * Finds the Merges of open loops and the values that are deferred (see
 * frames/build/builder.h) on which some y depends.  Frames that are cut count
 * for the trip of the ys alone.  Uses the bits of `state`.
 */
eddy_status eddy__find_waits(eddy__walk *w, const eddy_output *ys, size_t n_ys,
                             const uint8_t *is_cut, eddy__waits *out_waits);

/* Is it the Merge of a loop whose body is still being built?  Is that such? */
bool eddy__is_open_merge(const eddy__walk *w, eddy_node node);
bool eddy__is_open_frame(const eddy__walk *w, uint32_t frame);

/* Does a gradient flow over the data edge from `from` to an active node? */
bool eddy__is_active_edge(const eddy__walk *w, eddy_output from);

/* ---- emit.c: adding nodes ---- */

/* What `real` has of a value. */
enum { EDDY__VALUE, EDDY__SHAPE, EDDY__ZEROS, EDDY__LENGTH };

void eddy__keep(eddy__walk *w, eddy__output_map *map, eddy_output key,
                uint64_t tag, eddy_output value);

eddy_status eddy__walk_fail(eddy__walk *w, eddy_status code, eddy_detail detail,
                            eddy_node at, const char *format, ...)
    EDDY_PRINTF(5, 6);

/* Adds a node, which gets a name of its own, and gives its output 0. */
eddy_output eddy__emit_spec(eddy__walk *w, const eddy_node_spec *spec);

/* One with one control input, or none for EDDY_NO_NODE. */
eddy_output eddy__emit_after(eddy__walk *w, eddy_node control, const char *op,
                             const eddy_output *inputs, size_t n_inputs);

static inline eddy_output eddy__emit(eddy__walk *w, const char *op,
                                     const eddy_output *inputs, size_t n_inputs)
{
    return eddy__emit_after(w, EDDY_NO_NODE, op, inputs, n_inputs);
}

/* eddy__emit_op(w, "Mul", x, y) */
#define eddy__emit_op(w, op, ...)                                              \
    eddy__emit((w), (op), (const eddy_output[]){__VA_ARGS__},                  \
               sizeof((const eddy_output[]){__VA_ARGS__}) /                    \
                   sizeof(eddy_output))

void eddy__emit_control(eddy__walk *w, eddy_node node, eddy_node from);
void eddy__emit_back_edge(eddy__walk *w, eddy_output merge, eddy_output next);

/* An Enter into `frame`; the first one has the frame's name. */
eddy_output eddy__emit_enter(eddy__walk *w, eddy_output from, const char *frame,
                             int64_t parallel, bool is_constant);
eddy_output eddy__emit_first_enter(eddy__walk *w, eddy_output from,
                                   const char *frame, int64_t parallel);

/* A constant of the home frame. */
eddy_output eddy__emit_const(eddy__walk *w, eddy_tensor *tensor);
/* `elements` are copied. */
eddy_output eddy__emit_elements(eddy__walk *w, eddy_dtype dtype,
                                const eddy_shape *shape, const void *elements);
eddy_output eddy__emit_int(eddy__walk *w, int32_t value);

/* `output` of another index. */
static inline eddy_output eddy__port(eddy_output output, uint32_t index)
{
    output.index = output.node == EDDY_NO_NODE ? 0 : index;
    return output;
}

static inline bool eddy__is_output(eddy_output output)
{
    return output.node != EDDY_NO_NODE;
}

/* ---- scope.c: where values live ---- */

/* The frame and branch in which an output of a forward node lives. */
uint32_t eddy__frame_of(const eddy__walk *w, eddy_output output);
uint32_t eddy__branch_of(const eddy__walk *w, eddy_output output);

static inline eddy__scope *eddy__scope_of(const eddy__walk *w,
                                          eddy_output output)
{
    return &w->scopes[eddy__frame_of(w, output)];
}

/* A value of the home frame brought into the body of a scope. */
eddy_output eddy__import(eddy__walk *w, eddy_output home, eddy__scope *to);

/* A value of scope `from` brought into one within it. */
eddy_output eddy__import_from(eddy__walk *w, eddy_output value,
                              const eddy__scope *from, eddy__scope *to);

/* Likewise, where `like`, a forward value, is in `from`, and as live as that.
 */
eddy_output eddy__import_like(eddy__walk *w, eddy_output value,
                              eddy_output like, eddy__scope *to);

/* A value that is live in branch `from`, live in branch `to` of it alone. */
eddy_output eddy__guard(eddy__walk *w, eddy_output value, uint32_t from,
                        uint32_t to);

/* A value of the home frame brought into a forward frame and branch. */
eddy_output eddy__import_forward(eddy__walk *w, eddy_output home,
                                 uint32_t frame, uint32_t branch);

/*
 * Makes the predicates real that rule a branch of a forward frame and the loops
 * around it, outermost first.  What brings a value there needs them.
 */
void eddy__prepare(eddy__walk *w, uint32_t frame, uint32_t branch);

/*
 * What `v` is: in a loop that is differentiated itself, past Identities, or the
 * value of an outer loop or of the home frame if it does not change; elsewhere
 * itself.
 */
eddy_output eddy__source_of(const eddy__walk *w, eddy_output v);

/*
 * A value that is given, in the frame and branch of `to`, a value of the home
 * frame; fails unless it is there or in a frame around it.
 */
eddy_output eddy__bring(eddy__walk *w, eddy_output given, eddy_output to);

/* A new value of `frame`, one around the home frame, in the home frame. */
eddy_output eddy__enter_home(eddy__walk *w, eddy_output v, uint32_t frame);

/* The forward value `v` in the scope of its frame. */
eddy_output eddy__real(eddy__walk *w, eddy_output v);

/* ---- recount.c ---- */

/*
 * A forward value that counts trips, out of the gradient loop's own counter;
 * node EDDY_NO_NODE if it is no such value.
 */
eddy_output eddy__recount(eddy__walk *w, eddy_output v);

/* ---- zeros.c ---- */

/* Its shape there, a vector of int32. */
eddy_output eddy__real_shape(eddy__walk *w, eddy_output v);

/* The number of items of a list there. */
eddy_output eddy__real_length(eddy__walk *w, eddy_output v);

/* As far as it is known without running. */
const eddy_shape *eddy__static_shape(const eddy__walk *w, eddy_output v);

/* A shape as a constant of the home frame; none if it is not known. */
eddy_output eddy__emit_static_shape(eddy__walk *w, const eddy_shape *shape);

/* The tensor that `v` always is, or NULL. */
const eddy_tensor *eddy__static_constant(const eddy__walk *w, eddy_output v);

/* Zeros of its shape and dtype there, and the branch in which they are live. */
eddy_output eddy__zeros_like(eddy__walk *w, eddy_output v,
                             uint32_t *out_branch);

/*
 * Zeros of the shape and dtype of a value that was added to a forward frame and
 * branch, there in the frame's scope.
 */
eddy_output eddy__zeros_of_new(eddy__walk *w, eddy_output value, uint32_t frame,
                               uint32_t branch);

/* ---- scope.c again: tapes ---- */

/* A stack in the body of a scope, and what is done with it. */
eddy_output eddy__emit_stack(eddy__walk *w, eddy__scope *scope,
                             eddy_dtype dtype);
eddy_output eddy__emit_push(eddy__walk *w, eddy_node after, eddy_output stack,
                            eddy_output value);
eddy_output eddy__emit_pop(eddy__walk *w, eddy_node after, eddy_output stack,
                           eddy_dtype dtype);

/*
 * Puts a value of a forward frame and branch, which may be new, on a tape of
 * its own and gives it in the frame's scope.
 */
eddy_output eddy__save(eddy__walk *w, eddy_output value, uint32_t frame,
                       uint32_t branch);

/* `node`, in a branch of a loop's body, runs before its next iteration. */
void eddy__sync_forward(eddy__walk *w, eddy__scope *scope, eddy_node node,
                        uint32_t branch);
void eddy__sync_backward(eddy__walk *w, eddy__scope *scope, eddy_node node,
                         uint32_t branch);

/* ---- loop.c ---- */

void eddy__loop_open(eddy__walk *w, eddy__scope *scope);
void eddy__loop_close(eddy__walk *w, eddy__scope *scope);

/* ---- control.c: gradients of what has no rule of its own ---- */

void eddy__walk_switch(eddy__walk *w, eddy_node node);
void eddy__walk_merge(eddy__walk *w, eddy_node node);
void eddy__walk_push(eddy__walk *w, eddy_node node);
void eddy__walk_pop(eddy__walk *w, eddy_node node);

/* Merges what is live on the sides of a predicate, zeros where nothing is. */
eddy_output eddy__merge_sides(eddy__walk *w, eddy_output v, uint32_t any_side,
                              eddy_output *sides, uint32_t n_sides);

/* A gradient of `v` that is live in `branch`, live in the one around it. */
eddy_output eddy__leave_branch(eddy__walk *w, eddy_output v,
                               eddy_output gradient, uint32_t branch);

/* ---- levels.c: what the builder of open constructs is told ---- */

/*
 * All nodes that were added live in the loop of `y`, as far as its builder
 * knows; false without memory.
 */
bool eddy__note_levels(const eddy__walk *w, eddy_output y);

/* What was added for `v`, in the frame of `y`, lives there, or where v does. */
void eddy__note_result(const eddy__walk *w, eddy_output result, eddy_output v,
                       eddy_output y);

/* ---- deferred.c: gradients that wait for the end of a loop ---- */

/* What eddy_gradients or eddy_jvp was asked. */
typedef struct eddy__question {
    const eddy_output *ys, *xs;
    size_t n_ys, n_xs;
    const eddy_output *starts; /* tangents or grad_ys, or NULL */
    bool is_forward;
    const eddy_gradient_options *options;
    eddy_status (*again)(eddy_graph *graph,
                         const struct eddy__question *question,
                         eddy_output *out_answers, eddy_error *err);
} eddy__question;

/*
 * Identities in the place of answers, out of `stand_ins`, which will be made
 * once the loop of `level` has ended; `question` is copied.
 */
void eddy__defer(eddy__walk *w, const eddy__question *question, uint32_t level,
                 eddy_output *stand_ins, size_t n);

/* The level of the loop in `frame`, which is open; fails if none is. */
uint32_t eddy__open_level(eddy__walk *w, uint32_t frame);

/* ---- walk.c ---- */

/* The sum of what was added for `v`; NO_OUTPUT if nothing was. */
eddy_output eddy__sum(eddy__walk *w, eddy_output v);

/* Adds to the gradient of `v` one that is live in `branch` of v's frame. */
void eddy__add_gradient(eddy__walk *w, eddy_output v, eddy_output gradient,
                        uint32_t branch);

bool eddy__has_gradient(const eddy__walk *w, eddy_output v);

/* Adds what is to be summed for `v`. */
void eddy__add_addend(eddy__walk *w, eddy_output v, eddy__addend addend);

/* ---- list_sum.c ---- */

/* The gradient of a list is that of item `index`, and no more. */
void eddy__add_item_gradient(eddy__walk *w, eddy_output list, eddy_output index,
                             eddy_output gradient, uint32_t branch);

/*
 * The sum of `base` and of what was added for the list `v`.  Without a base
 * there is one if only items were added: zeros.
 */
eddy_output eddy__sum_list(eddy__walk *w, eddy_output v, eddy_output base);

/* ---- walk.c again ---- */

/* The data inputs of an active node that was walked. */
void eddy__release_inputs(eddy__walk *w, eddy_node node);

/* ---- history.c ---- */

/* Does forward mode carry the derivative by `x` from trip to trip? */
bool eddy__can_carry(const eddy__walk *w, eddy_output x);

/*
 * The gradient, in the home frame, with respect to an `x` outside of it, what x
 * did in earlier iterations included; there is such.
 */
eddy_output eddy__history_gradient(eddy__walk *w, const eddy_output *ys,
                                   size_t n_ys, eddy_output x);

/* ---- replay.c ---- */

/* What is to be differentiated next: the states that were computed again. */
typedef struct eddy__replay {
    eddy__arena arena;
    eddy_output *ys, *grad_ys;
    size_t n;
    eddy_output *stop;
    size_t n_stop;
} eddy__replay;

/*
 * Makes trips again that the gradients by `replayed` go through, after the
 * walk; `replay` has an arena.
 */
void eddy__replay_trips(eddy__walk *w, eddy__replay *replay);

/* ---- rules ---- */

struct eddy_gradient {
    eddy__walk *walk;
    eddy_node node;
    struct eddy__fragment *fragment; /* NULL but in forward mode */
};

typedef struct eddy__rule {
    const char *op;
    eddy_gradient_fn gradient;
} eddy__rule;

/*
 * The gradient of a node: the one that its attribute `_gradient_op_type` names,
 * or its op's; NULL if there is none.
 */
eddy_gradient_fn eddy__rule_find(const eddy_graph *graph,
                                 const eddy__node *node);

/* custom.c: the name of a gradient of the node's own; length 0: none. */
eddy_string eddy__custom_gradient_of(const eddy__node *node);
eddy_gradient_fn eddy__custom_gradient_find(const eddy_context *ctx,
                                            eddy_string name);

#endif
