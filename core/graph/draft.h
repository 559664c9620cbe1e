/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node before it is in its graph: what its op's definition makes of the
 * inputs and attributes that it was given.
 */
#ifndef EDDY_CORE_DRAFT_H
#define EDDY_CORE_DRAFT_H

#include "core/graph/graph.h"

typedef struct eddy__draft {
    const eddy_graph *graph;
    const eddy_node_spec *spec;
    const eddy__add_options *options;
    const eddy__op *op; /* NULL: opaque */

    /* The dtypes of what the inputs read; EDDY_INVALID: not known. */
    const eddy_dtype *dtypes;

    /*
     * The attributes of the op's definition; name NULL: not known yet.  Values
     * are borrowed from `spec`, from the definition, from `dtypes`, or stand
     * below when they were inferred.
     */
    eddy_attr attrs[EDDY__MAX_ATTRS];
    int64_t numbers[EDDY__MAX_ATTRS];
    eddy_dtype types[EDDY__MAX_ATTRS];

    size_t n_extra; /* given attributes that the definition does not have */
    size_t n_outputs;
    eddy_error *err;
} eddy__draft;

/*
 * Finds all attributes: given, inferred from the inputs unless strict,
 * defaults. Counts the outputs.  Fails where the inputs or attributes are not
 * what the op takes.  Errors do not name the node.
 */
eddy_status eddy__draft_resolve(eddy__draft *draft);

/* The dtypes of all inputs and outputs, once resolved. */
void eddy__draft_dtypes(const eddy__draft *draft, uint8_t *out_inputs,
                        uint8_t *out_outputs);

/*
 * Fails with EDDY_E_INPUT_DTYPE: what input `index` of a node reads is not
 * `wanted`.
 */
eddy_status eddy__draft_fail_dtype(const eddy_graph *graph, uint32_t index,
                                   eddy_output from, eddy_dtype found,
                                   eddy_dtype wanted, eddy_error *err);

/* Does `output` exist?  An opaque node may have any, up to a limit. */
eddy_status eddy__graph_check_output(const eddy_graph *graph,
                                     eddy_output output, eddy_error *err);

/* Notes that an edge reads `output`, in case its node is opaque. */
void eddy__graph_assume_output(eddy_graph *graph, eddy_output output);

/* The place of a definition's attribute, -1 if it has none of that name. */
int32_t eddy__draft_find_attr(const eddy__op *op, const char *name);

#endif
