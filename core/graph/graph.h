/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a graph is laid out.  Everything that a node points to lives in the
 * graph's arena, so a graph is freed all at once.
 *
 * Invariants: every input and control names an existing node and output; the
 * dtypes of an input and of the output it reads agree (unless one side is an
 * opaque node); all attributes of the op's definition are present, in its
 * order, followed by any others.
 */
#ifndef EDDY_CORE_GRAPH_H
#define EDDY_CORE_GRAPH_H

#include "core/base/budget.h"
#include "core/base/map.h"
#include "core/graph/host.h"
#include "core/graph/known_shapes.h"
#include "core/graph/pairs.h"
#include "core/graph/registry.h"
#include "eddy/graph.h"

/* Limits; see docs/limits.md. */
#define EDDY__MAX_NAME ((size_t)1 << 20)
#define EDDY__MAX_OUTPUTS 65536 /* but for those that come one an input */

/*
 * The attribute of an opaque node in the body of a function that names the
 * outputs which edges assume of it: "output:index" each.
 */
#define EDDY__OUTPUT_NAMES "_eddy_outputs"

typedef struct eddy__node {
    const char *name;
    const char *op_name;
    const eddy__op *op; /* NULL: opaque (see eddy__add_options) */
    eddy_output *inputs;
    eddy_node *controls;
    eddy_attr *attrs;
    uint8_t *input_dtypes;  /* eddy_dtype each */
    uint8_t *output_dtypes; /* an opaque node has none: n_outputs is 0 */
    uint32_t n_inputs, n_outputs, n_controls, n_attrs;
    uint32_t controls_capacity;
    /*
     * For an opaque node: how many outputs the edges so far assume.  Edges from
     * it have dtype EDDY_INVALID.
     */
    uint32_t n_assumed_outputs;
    const char *device; /* kept for writing back; may be NULL */
} eddy__node;

/*
 * A function of the library.  Its body is a graph whose arguments are nodes of
 * op `_Arg` (attrs T, index) and whose results are `results`.
 */
typedef struct eddy__function {
    const char *name;
    eddy_graph *body;
    const eddy_node *args;
    size_t n_args;
    const char *const *arg_names;
    const eddy_output *results;
    size_t n_results;
    const char *const *result_names;
    const eddy_node *control_results;
    size_t n_control_results;
    const uint8_t *result_dtypes; /* eddy_dtype each, as declared */
    bool is_stateful;
    eddy_attr *attrs; /* of the FunctionDef; kept for writing back */
    size_t n_attrs;
    const char *gradient; /* the function of its gradient, or NULL */
    /*
     * For a function that eddy cannot read: why, and the FunctionDef as it
     * came, for writing back; its body is then empty.  NULL: it could be read.
     */
    const char *problem;
    eddy_string bytes;
} eddy__function;

struct eddy__builder; /* frames/build/builder.h */

/*
 * What stands between a graph and the public calls that change it, once
 * constructs of control flow are built in it: a builder starts with a pointer
 * to these.  It makes nodes with eddy__graph_add, _connect and _add_control,
 * which nothing stands before.
 */
typedef struct eddy__builder_calls {
    eddy_status (*add)(eddy_graph *graph, const eddy_node_spec *spec,
                       eddy_node *out_node, eddy_error *err);
    eddy_status (*set_input)(eddy_graph *graph, eddy_node node, uint32_t index,
                             eddy_output from, eddy_error *err);
    eddy_status (*add_control)(eddy_graph *graph, eddy_node node,
                               eddy_node from, eddy_error *err);
    /* Fails while a construct is open. */
    eddy_status (*check_closed)(const eddy_graph *graph, eddy_error *err);
    void (*destroy)(struct eddy__builder *builder);
} eddy__builder_calls;

/* A function as an attribute names it, with values for its parameters. */
typedef struct eddy__function_ref {
    eddy_string name;
    const eddy_attr *attrs;
    size_t n_attrs;
} eddy__function_ref;

/*
 * What can be made of that which a graph keeps as bytes; set by who read the
 * graph.  The results stand in `arena`, and may point into the graph.
 */
typedef struct eddy__function_reader {
    /* The functions that an attribute of kind OPAQUE names. */
    eddy_status (*read_refs)(const eddy_attr *attr, eddy__arena *arena,
                             eddy__function_ref **out_refs, size_t *out_n,
                             eddy_error *err);
    /* The bytes of a function without parameters: they have their values. */
    eddy_status (*bind)(const eddy__function *function,
                        const eddy__function_ref *ref, eddy__arena *arena,
                        eddy_string *out_bytes, eddy_error *err);
    /*
     * A graph of nothing but a library with the function that these are, with
     * that budget.
     */
    eddy_status (*read)(const eddy_graph *graph, eddy_string bytes,
                        eddy__budget *budget, eddy_graph **out_library,
                        eddy_error *err);
} eddy__function_reader;

struct eddy_graph {
    eddy_context *ctx;
    eddy__budget *budget; /* of what is done with it now; NULL: no limit */
    struct eddy__builder *builder; /* NULL until a construct is begun */
    const eddy__builder_calls *calls;
    eddy__arena arena;
    eddy__node *nodes;
    size_t n_nodes, capacity;
    eddy__map names;       /* of nodes */
    eddy__map next_suffix; /* for names made from an op type */
    eddy__pairs controls;  /* (node, from), of nodes with very many of them */
    eddy__function *functions;
    size_t n_functions, functions_capacity;
    eddy__map function_names;
    const eddy__function_reader *reader; /* NULL: nothing is kept as bytes */
    eddy__host_table host;
    eddy__known_shapes *known_shapes; /* what queries and checks have found */
    /* GraphDef versions, kept for writing back. */
    int32_t producer, min_consumer;
};

static inline const eddy__node *eddy__graph_node(const eddy_graph *graph,
                                                 eddy_node id)
{
    return &graph->nodes[id];
}

/* How a node is added: by a program, by a rewrite, from a file. */
typedef struct eddy__add_options {
    bool strict;        /* a name and every attribute without a default must
                           be given; attributes that the op lacks are kept */
    bool opaque;        /* unknown ops, and nodes that give an attribute of
                           their op as EDDY_ATTR_OPAQUE, make opaque nodes */
    bool host;          /* with `opaque`: nodes that call the host are added,
                           as they are in the graph that this is a copy of */
    bool checks_shapes; /* what is known of the inputs' shapes must fit */
    bool forward_edges; /* inputs may be EDDY_NO_NODE; ..._connect sets them */
    const char *device;
} eddy__add_options;

/*
 * From here on memory of the graph comes from `budget`, and every node that is
 * added is counted there; NULL: from the context, and no node is.
 */
void eddy__graph_set_budget(eddy_graph *graph, eddy__budget *budget);

/* eddy_graph_create, with a budget, which may be NULL. */
eddy_status eddy__graph_create(eddy_context *ctx, eddy__budget *budget,
                               eddy_graph **out_graph, eddy_error *err);

/* eddy_graph_add, with options. */
eddy_status eddy__graph_add(eddy_graph *graph, const eddy_node_spec *spec,
                            const eddy__add_options *options,
                            eddy_node *out_node, eddy_error *err);

/*
 * Sets input `index` of a node that was added with forward_edges.  Checks the
 * output index and the dtype.
 */
eddy_status eddy__graph_connect(eddy_graph *graph, eddy_node node,
                                uint32_t index, eddy_output from,
                                eddy_error *err);

/* eddy_graph_add_control of nodes that are there. */
eddy_status eddy__graph_add_control(eddy_graph *graph, eddy_node node,
                                    eddy_node from, eddy_error *err);

/*
 * Takes back the nodes from number `n_nodes` on, which none before them reads;
 * their memory stays with the graph.
 */
void eddy__graph_truncate(eddy_graph *graph, size_t n_nodes);

/* Fails with EDDY_E_CONSTRUCT while a loop or branch of `graph` is open. */
eddy_status eddy__graph_check_closed(const eddy_graph *graph, eddy_error *err);

/*
 * Adds a function to the library: everything is copied but `body`, which the
 * graph takes over if the call succeeds.  A body has no library of its own: it
 * uses that of the graph that it is added to.
 */
eddy_status eddy__graph_add_function(eddy_graph *graph,
                                     const eddy__function *function,
                                     eddy_error *err);

/* eddy_graph_find, of a name that need not end with a NUL. */
eddy_node eddy__graph_find(const eddy_graph *graph, const char *name,
                           size_t length);

/* NULL if there is none; borrowed until a function is added. */
const eddy__function *eddy__graph_find_function(const eddy_graph *graph,
                                                const char *name);

/* The attribute of that name, NULL if there is none. */
const eddy_attr *eddy__node_attr(const eddy__node *node, const char *name);

/*
 * Does the node make a resource that goes by the node's own name, for want of a
 * shared_name?  A copy under another name needs that name to share it.
 */
bool eddy__node_names_itself(const eddy__node *node);

/* The single value of an attribute that the op's definition guarantees. */
int64_t eddy__node_int(const eddy__node *node, const char *name);
bool eddy__node_bool(const eddy__node *node, const char *name);
float eddy__node_float(const eddy__node *node, const char *name);
eddy_dtype eddy__node_type(const eddy__node *node, const char *name);
eddy_string eddy__node_string(const eddy__node *node, const char *name);

/* The role of the node's op; NONE for an opaque one. */
static inline eddy__role eddy__node_role(const eddy__node *node)
{
    return node->op ? node->op->role : EDDY__ROLE_NONE;
}

/* Is input `i`, or output `i`, a reference to a variable? */
bool eddy__node_reads_reference(const eddy__node *node, uint32_t i);
bool eddy__node_gives_reference(const eddy__node *node, uint32_t i);

/* A deep copy, functions included, with that budget; tensors are shared. */
eddy_status eddy__graph_clone(const eddy_graph *graph, eddy__budget *budget,
                              eddy_graph **out_graph, eddy_error *err);

/* The same without any node. */
eddy_status eddy__graph_clone_empty(const eddy_graph *graph,
                                    eddy__budget *budget,
                                    eddy_graph **out_graph, eddy_error *err);

/* Fails with `node`'s name and op; a shorthand for eddy__fail_node. */
eddy_status eddy__graph_fail_at(eddy_error *err, eddy_status code,
                                eddy_detail detail, const eddy__node *node,
                                const char *format, ...) EDDY_PRINTF(5, 6);

/* Puts a node's name and op into an error that was filled; may be NULL. */
void eddy__graph_error_at(eddy_error *err, const char *node, const char *op);

#endif
