/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the ONNX writer share.
 *
 * The graph is lowered and analysed; then what the model's outputs need is
 * written on demand.  A scope stands for one graph of the model, or for another
 * reading of a loop's nodes in the same graph: ONNX tests a loop's condition at
 * the end of a body, so that what computes the predicate is written once before
 * the loop and once behind the body, and what an Exit reads besides a variable
 * once behind the loop.
 *
 * A node is at home in the scope of its frame and branch.  Whoever asks for a
 * value makes the scopes around it compute what they must first, and a Loop or
 * If is added to its graph when its bodies are whole; so every graph comes out
 * sorted.  Within a scope the walk has a stack of its own; C calls nest as deep
 * as bodies do, which EDDY__ONNX_MAX_DEPTH bounds.
 *
 * Values that are known by where they come from (Identity, Switch, Enter,
 * NextIteration, LoopCond) have no node.
 *
 * The first failure sticks in `status`.  What ONNX cannot say is no failure
 * yet: it is noted, a value without a maker stands for it, and all that was
 * noted is one message in the end.
 */
#ifndef EDDY_INTEROP_ONNX_WRITE_WRITER_H
#define EDDY_INTEROP_ONNX_WRITE_WRITER_H

#include "core/base/map.h"
#include "core/graph/graph.h"
#include "eddy/analysis.h"
#include "interop/onnx/onnx.pb-c.h"
#include "interop/shared/scratch.h"

/* Graphs inside graphs; the same that the reader takes. */
#define EDDY__ONNX_WRITE_MAX_DEPTH 32

/* How a value of eddy's stands in the model. */
typedef enum eddy__onnx_form {
    EDDY__ONNX_PLAIN,   /* a tensor for a tensor */
    EDDY__ONNX_STACKED, /* an array or list: its items on a new axis 0 */
    EDDY__ONNX_ITEMS,   /* an array or list: a sequence */
    EDDY__ONNX_FRESH,   /* an array or list without items; has no name yet */
} eddy__onnx_form;

typedef struct eddy__onnx_written {
    const char *name;
    uint8_t form;  /* eddy__onnx_form */
    uint8_t dtype; /* of the tensor, or of the items */
} eddy__onnx_written;

/* A graph of the model while it is made. */
typedef struct eddy__onnx_net {
    Eddy__OnnxPb__NodeProto **items;
    size_t n_items, capacity;
} eddy__onnx_net;

/* What a scope takes the Switches of its loop to give. */
typedef enum eddy__onnx_reading {
    EDDY__ONNX_BODY,  /* the trip is made: side 1 */
    EDDY__ONNX_TEST,  /* whether it is made is asked: neither */
    EDDY__ONNX_AFTER, /* it is not made: side 0 */
} eddy__onnx_reading;

typedef struct eddy__onnx_place {
    struct eddy__onnx_place *outer; /* NULL: the model's own graph */
    eddy__onnx_net *net;
    uint32_t frame, branch; /* of the nodes that are at home here */
    uint32_t depth;         /* of graphs */
    eddy__onnx_reading reading;
    const char *trip; /* the number of a Loop's trip, in a body; or NULL */
    eddy_node group;  /* of an If's side: the root of its nodes' group */
} eddy__onnx_place;

/* What a node is in one scope. */
typedef struct eddy__onnx_binding {
    struct eddy__onnx_binding *next; /* of the same node */
    const eddy__onnx_place *place;
    bool is_done;                /* else it is being written */
    eddy__onnx_written values[]; /* one an output, at least one */
} eddy__onnx_binding;

/* A stack whose items go by a sequence from graph to graph (stacks.c). */
typedef struct eddy__onnx_stack {
    eddy_node maker;
    eddy_node push, pop; /* EDDY_NO_NODE: there is none that counts */
    eddy_dtype dtype;
} eddy__onnx_stack;

/* The sequence of a stack where a scope is now. */
typedef struct eddy__onnx_state {
    struct eddy__onnx_state *next;
    const eddy__onnx_place *place;
    eddy__onnx_written value;
} eddy__onnx_state;

/* What was refused, and how often. */
typedef struct eddy__onnx_refusal {
    const char *text;
    size_t count;
} eddy__onnx_refusal;

/* Nodes of one If: those within the sides of a predicate that hang together. */
typedef struct eddy__onnx_groups {
    uint32_t *parent;        /* by node */
    eddy_node *first, *next; /* by root and by node: the nodes of a group */
} eddy__onnx_groups;

struct eddy__onnx_writer;

/* What the walk calls and what calls it in turn; handed in by write.c. */
typedef struct eddy__onnx_parts {
    /* Writes the loop of a frame into the scope where it is at home. */
    void (*write_loop)(struct eddy__onnx_writer *w, eddy__onnx_place *place,
                       uint32_t frame);
    /* Writes the If that a Merge is an output of. */
    void (*write_if)(struct eddy__onnx_writer *w, eddy__onnx_place *place,
                     eddy_node merge);
    /* How an op is written; NULL if it is not. */
    const struct eddy__onnx_rule *(*rule_of)(const char *op);
    /*
     * Wants, before `node` is written, what pushes on the stacks that it, or
     * the loop or If of which it is an output, pops from.
     */
    void (*want_pushes)(struct eddy__onnx_writer *w, eddy__onnx_place *home,
                        eddy_node node);
} eddy__onnx_parts;

typedef struct eddy__onnx_writer {
    const eddy__onnx_parts *parts;
    const eddy_graph *graph;
    const eddy_analysis *analysis;
    eddy__scratch scratch;
    eddy_error *err;
    eddy_status status;
    int64_t opset;
    bool is_split;          /* groups are of one rank (study.c) */
    bool is_circular;       /* something needed itself */
    uint32_t *rank;         /* by node; NULL unless is_split */
    uint8_t *is_needed;     /* by node */
    uint32_t *n_uses;       /* by node: needed readers of its output 0, seen
                               through what hands values on, Exits left out */
    uint32_t *variable_of;  /* by node: 1 + the loop variable that a Merge is */
    uint32_t *region_depth; /* by branch: how many branches and frames are
                               around it; by frame in frame_depth */
    uint32_t *frame_depth;
    eddy__onnx_groups *groups; /* by depth of a branch */
    size_t n_groups;
    eddy__onnx_binding **bindings; /* by node */
    eddy__onnx_stack *stacks;
    eddy__onnx_state **states; /* by stack */
    size_t n_stacks;
    eddy__map names;  /* taken: to the number to try next */
    eddy__map shared; /* small constants by what they hold, to `constants` */
    const eddy__onnx_written **constants;
    size_t n_constants, constants_capacity;
    Eddy__OnnxPb__TensorProto **initializers;
    size_t n_initializers, initializers_capacity;
    eddy__onnx_refusal *refusals;
    size_t n_refusals, refusals_capacity;
    struct eddy__onnx_step *steps; /* of all walks that are under way */
    size_t n_steps, steps_capacity;
    eddy_node *visits; /* nodes to be visited, of walks that are under way */
    size_t n_visits, visits_capacity;
    uint32_t *visited; /* by node: the last walk that was there */
    uint32_t visit;
    eddy__onnx_place root;
    eddy__onnx_net net; /* of the model */
    /* The node that is written, where, and what it is in that scope. */
    eddy_node node;
    const struct eddy__onnx_rule *rule;
    eddy__onnx_place *place;
    eddy__onnx_binding *binding;
} eddy__onnx_writer;

/* ---- kit.c: names, constants, nodes ---- */

static inline bool eddy__onnx_well(const eddy__onnx_writer *w)
{
    return w->status == EDDY_OK;
}

/* Scratch memory; NULL, and the writer has failed, without. */
void *eddy__onnx_take(eddy__onnx_writer *w, size_t n, size_t size);

/* The same for one element more of an array in scratch memory. */
bool eddy__onnx_more(eddy__onnx_writer *w, void **array, size_t *capacity,
                     size_t n, size_t size);

/* A text in scratch memory; "" after a failure. */
const char *eddy__onnx_print(eddy__onnx_writer *w, const char *format, ...)
    EDDY_PRINTF(2, 3);

/* The first of base, base_1, ... that no value has yet. */
const char *eddy__onnx_fresh(eddy__onnx_writer *w, const char *base);

/* Notes what ONNX cannot say, of the node that is written. */
void eddy__onnx_decline(eddy__onnx_writer *w, const char *format, ...)
    EDDY_PRINTF(2, 3);
/* The same of any node. */
void eddy__onnx_decline_node(eddy__onnx_writer *w, eddy_node node,
                             const char *format, ...) EDDY_PRINTF(3, 4);

/* Attributes of a node that is written. */
typedef struct eddy__onnx_attr {
    const char *name;
    int32_t type; /* of AttributeProto */
    int64_t i;
    float f;
    const char *s;
    const int64_t *ints;
    size_t n;
    Eddy__OnnxPb__GraphProto *g;
} eddy__onnx_attr;

#define EDDY__ONNX_ATTR_FLOAT 1
#define EDDY__ONNX_ATTR_INT 2
#define EDDY__ONNX_ATTR_STRING 3
#define EDDY__ONNX_ATTR_GRAPH 5
#define EDDY__ONNX_ATTR_INTS 7

/* A node to be added: trailing absent inputs are left out, others are "". */
typedef struct eddy__onnx_node_spec {
    const char *type;
    const char *const *inputs;
    size_t n_inputs;
    const eddy__onnx_attr *attrs;
    size_t n_attrs;
    const char **outputs; /* n_outputs fresh names are put here */
    size_t n_outputs;
    const char *base; /* of the names; NULL: that of the node written */
} eddy__onnx_node_spec;

/* Adds it to the scope that is written in. */
void eddy__onnx_put(eddy__onnx_writer *w, const eddy__onnx_node_spec *call);

/* The one output of a node. */
const char *eddy__onnx_node(eddy__onnx_writer *w, const char *type,
                            const char *const *inputs, size_t n_inputs,
                            const eddy__onnx_attr *attrs, size_t n_attrs);

/* An initializer that holds `tensor`; the value's name starts with `base`. */
const eddy__onnx_written *eddy__onnx_initializer(eddy__onnx_writer *w,
                                                 const char *base,
                                                 const eddy_tensor *tensor);

/* Constants that the writer makes up; equal ones are one initializer. */
const char *eddy__onnx_const_ints(eddy__onnx_writer *w, const int64_t *values,
                                  size_t n);
const char *eddy__onnx_const_int(eddy__onnx_writer *w, int64_t value);
const char *eddy__onnx_const_like(eddy__onnx_writer *w, eddy_dtype dtype,
                                  double value);

/* The messages of a tensor and of a type; NULL after a failure. */
Eddy__OnnxPb__TensorProto *eddy__onnx_tensor_message(eddy__onnx_writer *w,
                                                     const char *name,
                                                     const eddy_tensor *tensor);
/* `shape` may be NULL: nothing is said of it. */
Eddy__OnnxPb__ValueInfoProto *eddy__onnx_info_message(eddy__onnx_writer *w,
                                                      const char *name,
                                                      bool is_sequence,
                                                      eddy_dtype dtype,
                                                      const eddy_shape *shape);

/* ---- study.c: what is needed, and what hangs together ---- */

void eddy__onnx_study(eddy__onnx_writer *w, const eddy_output *fetches,
                      size_t n_fetches);

/* The output that a value is, seen through what hands it on in its frame. */
eddy_output eddy__onnx_origin(const eddy__onnx_writer *w, eddy_output value);

/* The same through constant Enters and Exits too: the node that made it. */
eddy_output eddy__onnx_maker(const eddy__onnx_writer *w, eddy_output value);

/* Is `node` a Switch of a loop, rather than one of a branch? */
bool eddy__onnx_is_loop_switch(const eddy__onnx_writer *w, eddy_node node);

/* The constant that a value always is; NULL if it is none. */
const eddy_tensor *eddy__onnx_constant(const eddy__onnx_writer *w,
                                       eddy_output value);

/* ---- walk.c ---- */

/* The value in `place`; never NULL.  Writes what it needs first. */
const eddy__onnx_written *eddy__onnx_demand(eddy__onnx_writer *w,
                                            eddy__onnx_place *place,
                                            eddy_output output);

/* Wants a value before the node that is opened now. */
void eddy__onnx_want(eddy__onnx_writer *w, eddy__onnx_place *place,
                     eddy_output output);

/* Says what output `i` of the node that is written is. */
void eddy__onnx_bind(eddy__onnx_writer *w, uint32_t i,
                     eddy__onnx_written value);

/* What a node is in `place`, made if it is not there; NULL after a failure. */
eddy__onnx_binding *eddy__onnx_binding_in(eddy__onnx_writer *w,
                                          const eddy__onnx_place *place,
                                          eddy_node node);

/* What an input of the node that is written is. */
const eddy__onnx_written *eddy__onnx_input(eddy__onnx_writer *w, uint32_t i);
/* The same of a tensor: its name. */
const char *eddy__onnx_name_of(eddy__onnx_writer *w, uint32_t i);

/* Begins to write a node in `place`, and goes back to what was written. */
typedef struct eddy__onnx_writing {
    eddy_node node;
    eddy__onnx_place *place;
    eddy__onnx_binding *binding;
} eddy__onnx_writing;
eddy__onnx_writing eddy__onnx_begin(eddy__onnx_writer *w,
                                    eddy__onnx_place *place, eddy_node node);
void eddy__onnx_end(eddy__onnx_writer *w, eddy__onnx_writing before);

/* Where nodes of that frame and branch are at home; NULL: nowhere around. */
eddy__onnx_place *eddy__onnx_home(eddy__onnx_place *place, uint32_t frame,
                                  uint32_t branch);

/* A value of `place`, of the name of a result: an Identity of it. */
const char *eddy__onnx_as_result(eddy__onnx_writer *w, eddy__onnx_place *place,
                                 const eddy__onnx_written *value);

/* ---- loops.c, branches.c ---- */

/* Writes the loop of a frame into the scope where it is at home. */
void eddy__onnx_write_loop(eddy__onnx_writer *w, eddy__onnx_place *place,
                           uint32_t frame);

/* Writes the If that a Merge is an output of. */
void eddy__onnx_write_if(eddy__onnx_writer *w, eddy__onnx_place *place,
                         eddy_node merge);

/* ---- forms.c ---- */

/* An array or list as a sequence, in the scope that is written in. */
eddy__onnx_written eddy__onnx_as_items(eddy__onnx_writer *w,
                                       const eddy__onnx_written *value);

/* The items of a list on a new axis 0. */
const char *eddy__onnx_as_stack(eddy__onnx_writer *w,
                                const eddy__onnx_written *value);

/* ---- arrays.c ---- */

/*
 * Does variable `k` of the frame do nothing but take an item at the end in
 * every trip, having none before the first?  Then that item.
 */
bool eddy__onnx_is_collected(const eddy__onnx_writer *w, uint32_t frame,
                             size_t k, eddy_output *out_item);

/* ---- stacks.c ---- */

/* Finds the stacks whose items are read; after eddy__onnx_study. */
void eddy__onnx_find_stacks(eddy__onnx_writer *w);

/*
 * What stack `i` holds in `place`, an empty sequence at the first question; and
 * what it holds from now on.
 */
eddy__onnx_written eddy__onnx_state_in(eddy__onnx_writer *w,
                                       eddy__onnx_place *place, size_t i);
void eddy__onnx_set_state(eddy__onnx_writer *w, const eddy__onnx_place *place,
                          size_t i, const eddy__onnx_written *value);

/*
 * Wants, before `node` is written, what pushes on the stacks that it, or the
 * loop or If of which it is an output, pops from.
 */
void eddy__onnx_want_pushes(eddy__onnx_writer *w, eddy__onnx_place *home,
                            eddy_node node);

/* Makes the pushes happen that belong into a body, whatever needs them. */
void eddy__onnx_force_pushes(eddy__onnx_writer *w, eddy__onnx_place *body);

/*
 * Is something of stack `i` done in this frame and branch, or within them, and
 * in a branch by a node of that group?  Not if the stack is made there.
 */
bool eddy__onnx_touches(const eddy__onnx_writer *w, size_t i, uint32_t frame,
                        uint32_t branch, eddy_node group);

/* ---- rows.c ---- */

/* How nodes of one op are written. */
typedef struct eddy__onnx_rule {
    const char *op;
    void (*write)(eddy__onnx_writer *w);
    const char *type; /* the operator, where nothing else has to be known */
    uint32_t dtypes;  /* bits of eddy_dtype, of input 0; 0: any that ONNX has */
    uint32_t from;    /* the first opset that has it; 0: any */
    uint32_t skipped; /* bits of inputs that are no values of the model */
} eddy__onnx_rule;

/* NULL if there is none. */
const eddy__onnx_rule *eddy__onnx_rule_of(const char *op);

#endif
