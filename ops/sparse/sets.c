/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets along the last dimension: their sizes, differences, intersections and
 * unions.  A set for each place in the other dimensions, which make its group.
 *
 * The elements of all sets are sorted by group and then by themselves, so that
 * those that are alike are neighbours; what comes out is in that order.
 */
#include "ops/misc/scratch.h"
#include "ops/misc/text.h"
#include "ops/ops.h"
#include "ops/sparse/sparse.h"

#include <ctype.h>
#include <string.h>

typedef enum operation { A_MINUS_B, B_MINUS_A, INTERSECTION, UNION } operation;

/* What the node says. */
typedef struct manner {
    operation operation;
    bool validates;
} manner;

/* An element of a set; `text` NULL: a number. */
typedef struct entry {
    int64_t group, number;
    const eddy__string *text;
    int64_t input, at; /* where its value is */
    int64_t set;       /* 1 or 2 */
} entry;

#define WORDS_AN_ENTRY ((int64_t)(sizeof(entry) / sizeof(int64_t)))

_Static_assert(sizeof(entry) % sizeof(int64_t) == 0, "entries are of int64");

typedef struct sets {
    eddy_kernel *kernel;
    entry *entries;
    int64_t n;
    eddy_shape groups; /* of all */
} sets;

/* ---- order ---- */

static int compare_texts(const eddy__string *a, const eddy__string *b)
{
    const size_t n = a->length < b->length ? a->length : b->length;
    const int order = n > 0 ? memcmp(a->data, b->data, n) : 0;

    return order != 0 ? order
                      : (a->length > b->length) - (b->length > a->length);
}

static int compare(const entry *a, const entry *b)
{
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->text)
        return compare_texts(a->text, b->text);
    return (a->number > b->number) - (a->number < b->number);
}

/* Merges two sorted stretches of the entries, before and behind `middle`. */
static eddy_status merge(const sets *s, int64_t first, int64_t middle,
                         int64_t end, entry *to)
{
    const entry *from = s->entries;
    int64_t a = first, b = middle;

    for (int64_t i = first; i < end; i++) {
        to[i] = b == end || (a < middle && compare(&from[a], &from[b]) <= 0)
                    ? from[a++]
                    : from[b++];
        if (eddy__spent_at(s->kernel, i))
            return eddy__go_on(s->kernel, 0);
    }
    return eddy__go_on(s->kernel, 8);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Sorts the entries; `room` has as many.  They are then where `*s` says. */
static eddy_status sort(sets *s, entry *room)
{
    for (int64_t step = 1; step < s->n; step *= 2) {
        entry *const sorted = room;

        for (int64_t i = 0; i < s->n; i += 2 * step)
            EDDY_TRY(merge(s, i, least(i + step, s->n),
                           least(i + 2 * step, s->n), sorted));
        room = s->entries;
        s->entries = sorted;
    }
    return EDDY_OK;
}

/* ---- reading ---- */

static eddy_status want_rank(eddy_kernel *k, const eddy_shape *shape)
{
    if (shape->rank >= 2)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                       "sets of shape %s; at least 2 dimensions are wanted",
                       eddy__shape_print(shape).text);
}

/* The dimensions of the groups; those of a second input must be the same. */
static eddy_status read_groups(sets *s, const eddy_shape *shape, bool is_first)
{
    eddy_shape groups = *shape;

    EDDY_TRY(want_rank(s->kernel, shape));
    groups.rank--;
    if (!is_first && !eddy__shape_equal(&groups, &s->groups))
        return eddy__kfail(s->kernel, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "sets in groups of shape %s and of shape %s",
                           eddy__shape_print(&s->groups).text,
                           eddy__shape_print(&groups).text);
    s->groups = groups;
    return EDDY_OK;
}

/* An input's element as an entry of a group. */
static void add_entry(sets *s, uint32_t input, int64_t at, int64_t group,
                      int64_t set)
{
    const eddy_view values = eddy__in_view(s->kernel, input);
    entry *e = &s->entries[s->n++];

    *e = (entry){.group = group, .input = input, .at = at, .set = set};
    if (values.dtype == EDDY_STRING)
        e->text = &eddy__in_strings(s->kernel, input)[at];
    else
        e->number = eddy__index_at(&values, at);
}

static eddy_status add_dense(sets *s, uint32_t input, int64_t set)
{
    const eddy_shape *of = eddy__in_shape(s->kernel, input);
    const int64_t width = of->dims[of->rank - 1];

    for (int64_t i = 0; i < eddy__in_count(s->kernel, input); i++) {
        add_entry(s, input, i, i / width, set);
        if (eddy__spent_at(s->kernel, i))
            return eddy__go_on(s->kernel, 0);
    }
    return EDDY_OK;
}

/* Coordinates rise from each element to the next. */
static eddy_status check_order(const sets *s, const eddy__sparse *of)
{
    for (int64_t i = 1; i < of->n; i++) {
        if (eddy__sparse_compare(of->indices.data, i - 1, of->indices.data, i,
                                 of->shape.rank) >= 0)
            return eddy__kfail(
                s->kernel, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                "indices[%" PRId64 "] is repeated or out of order", i);
        if (eddy__spent_at(s->kernel, i))
            return eddy__go_on(s->kernel, 0);
    }
    return EDDY_OK;
}

static eddy_status add_sparse(sets *s, uint32_t first, const eddy__sparse *of,
                              int64_t set)
{
    const manner *m = eddy__state(s->kernel);

    EDDY_TRY(eddy__sparse_check(s->kernel, of));
    if (m->validates)
        EDDY_TRY(check_order(s, of));
    for (int64_t i = 0; i < of->n; i++) {
        int64_t group = 0;

        for (int32_t d = 0; d + 1 < of->shape.rank; d++)
            group = group * of->shape.dims[d] + eddy__sparse_at(of, i, d);
        add_entry(s, first + 1, i, group, set);
        if (eddy__spent_at(s->kernel, i))
            return eddy__go_on(s->kernel, 0);
    }
    return EDDY_OK;
}

/* ---- what comes out ---- */

/* Is entry `i` another element than the one before it? */
static bool is_new(const sets *s, int64_t i)
{
    return i == 0 || compare(&s->entries[i - 1], &s->entries[i]) != 0;
}

/* From entry `i` to the next element; `*out_in`: bit 1, 2: sets it is in. */
static int64_t next_element(const sets *s, int64_t i, int64_t *out_in)
{
    *out_in = 0;
    do
        *out_in |= s->entries[i++].set;
    while (i < s->n && !is_new(s, i));
    return i;
}

static bool belongs(operation o, int64_t in)
{
    switch (o) {
    case A_MINUS_B:
        return in == 1;
    case B_MINUS_A:
        return in == 2;
    case INTERSECTION:
        return in == 3;
    default:
        return true;
    }
}

/* Counts the elements that come out, and those of the largest set. */
static eddy_status count(const sets *s, int64_t *out_n, int64_t *out_most)
{
    const manner *m = eddy__state(s->kernel);
    int64_t group = -1, here = 0, in;

    *out_n = *out_most = 0;
    for (int64_t i = 0; i < s->n;) {
        const entry *e = &s->entries[i];

        if (e->group != group)
            here = 0;
        group = e->group;
        i = next_element(s, i, &in);
        if (belongs(m->operation, in)) {
            ++*out_n;
            here++;
        }
        *out_most = here > *out_most ? here : *out_most;
        EDDY_TRY(eddy__go_on(s->kernel, 8));
    }
    return EDDY_OK;
}

/* The coordinates of element `place` of the set of a group. */
static void put_place(const sets *s, int64_t group, int64_t place, int64_t *to)
{
    const int32_t rank = s->groups.rank;

    to[rank] = place;
    for (int32_t d = rank; d-- > 0;) {
        to[d] = group % s->groups.dims[d];
        group /= s->groups.dims[d];
    }
}

static eddy_status put_sets(const sets *s, int64_t n)
{
    eddy_kernel *k = s->kernel;
    const manner *m = eddy__state(k);
    const int32_t rank = s->groups.rank + 1;
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[1];
    const size_t size = eddy__element_size(dtype);
    const eddy_shape shape = eddy__shape_vector(n);
    int64_t group = -1, here = 0, in, *indices;
    unsigned char *out;

    EDDY_TRY(eddy__sparse_output_rows(k, 0, n, rank, &indices));
    EDDY_TRY(eddy__output_elements(k, 1, dtype, &shape, &out));
    for (int64_t i = 0; i < s->n;) {
        const entry *e = &s->entries[i];

        if (e->group != group)
            here = 0;
        group = e->group;
        i = next_element(s, i, &in);
        if (!belongs(m->operation, in))
            continue;
        put_place(s, group, here++, indices);
        indices += rank;
        memcpy(out,
               eddy__in_elements(k, (uint32_t)e->input) + (size_t)e->at * size,
               size);
        out += size;
    }
    return eddy__elements_done(k, 1);
}

static eddy_status finish_operation(sets *s)
{
    eddy_shape shape = s->groups;
    int64_t n = 0, most = 0;

    EDDY_TRY(count(s, &n, &most));
    shape.dims[shape.rank++] = most;
    EDDY_TRY(put_sets(s, n));
    return eddy__sparse_put_shape(s->kernel, 2, &shape);
}

/* ---- kernels ---- */

/* Fills in the entries, of which there are at most as many as was said. */
typedef eddy_status (*collect)(sets *s);

/* Room for `n` entries and as many to sort them with. */
static eddy_status work(sets *s, int64_t n, collect collect_entries,
                        collect finish)
{
    eddy_tensor *room = NULL;
    eddy_status status;

    if (n > INT64_MAX / 2 / WORDS_AN_ENTRY)
        return eddy__kfail(s->kernel, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "the sets are too large");
    EDDY_TRY(
        eddy__scratch(s->kernel, EDDY_INT64, 2 * n * WORDS_AN_ENTRY, &room));
    s->entries = room->data;
    status = collect_entries(s);
    if (status == EDDY_OK)
        status = sort(s, s->entries + n);
    if (status == EDDY_OK)
        status = finish(s);
    eddy__scratch_free(s->kernel, room);
    return status;
}

static eddy_status collect_dense(sets *s)
{
    EDDY_TRY(add_dense(s, 0, 1));
    return add_dense(s, 1, 2);
}

static eddy_status run_dense_dense(eddy_kernel *k)
{
    sets s = {.kernel = k};

    EDDY_TRY(read_groups(&s, eddy__in_shape(k, 0), true));
    EDDY_TRY(read_groups(&s, eddy__in_shape(k, 1), false));
    return work(&s, eddy__in_count(k, 0) + eddy__in_count(k, 1), collect_dense,
                finish_operation);
}

static eddy_status collect_mixed(sets *s)
{
    eddy__sparse second;

    EDDY_TRY(eddy__sparse_read(s->kernel, 1, &second));
    EDDY_TRY(add_dense(s, 0, 1));
    return add_sparse(s, 1, &second, 2);
}

static eddy_status run_dense_sparse(eddy_kernel *k)
{
    sets s = {.kernel = k};
    eddy__sparse second;

    EDDY_TRY(eddy__sparse_read(k, 1, &second));
    EDDY_TRY(read_groups(&s, eddy__in_shape(k, 0), true));
    EDDY_TRY(read_groups(&s, &second.shape, false));
    return work(&s, eddy__in_count(k, 0) + second.n, collect_mixed,
                finish_operation);
}

static eddy_status collect_sparse(sets *s)
{
    eddy__sparse first, second;

    EDDY_TRY(eddy__sparse_read(s->kernel, 0, &first));
    EDDY_TRY(eddy__sparse_read(s->kernel, 3, &second));
    EDDY_TRY(add_sparse(s, 0, &first, 1));
    return add_sparse(s, 3, &second, 2);
}

static eddy_status run_sparse_sparse(eddy_kernel *k)
{
    sets s = {.kernel = k};
    eddy__sparse first, second;

    EDDY_TRY(eddy__sparse_read(k, 0, &first));
    EDDY_TRY(eddy__sparse_read(k, 3, &second));
    EDDY_TRY(read_groups(&s, &first.shape, true));
    EDDY_TRY(read_groups(&s, &second.shape, false));
    return work(&s, first.n + second.n, collect_sparse, finish_operation);
}

static eddy_status collect_one(sets *s)
{
    eddy__sparse of;

    EDDY_TRY(eddy__sparse_read(s->kernel, 0, &of));
    return add_sparse(s, 0, &of, 1);
}

static eddy_status finish_size(sets *s)
{
    int64_t n = 0;
    void *out;

    (void)eddy__shape_count(&s->groups, 1, &n);
    EDDY_TRY(eddy__output(s->kernel, 0, EDDY_INT32, &s->groups, &out));
    eddy__zero_bytes(s->kernel, out, (size_t)n * sizeof(int32_t));
    for (int64_t i = 0; i < s->n; i++) {
        ((int32_t *)out)[s->entries[i].group] += is_new(s, i);
        if (eddy__spent_at(s->kernel, i))
            return eddy__go_on(s->kernel, 0);
    }
    return EDDY_OK;
}

static eddy_status run_size(eddy_kernel *k)
{
    sets s = {.kernel = k};
    eddy__sparse of;

    EDDY_TRY(eddy__sparse_read(k, 0, &of));
    EDDY_TRY(read_groups(&s, &of.shape, true));
    return work(&s, of.n, collect_one, finish_size);
}

/* ---- for a plan ---- */

static bool is_named(const eddy_string *s, const char *name)
{
    size_t i = 0;

    while (i < s->length && name[i] != '\0' &&
           tolower((unsigned char)s->data[i]) == name[i])
        i++;
    return i == s->length && name[i] == '\0';
}

static eddy_status prepare_size(eddy_infer *infer)
{
    manner *m = eddy__prepare_state(infer, sizeof *m);

    if (!m)
        return EDDY_RESOURCE_EXHAUSTED;
    *m = (manner){.operation = UNION,
                  .validates = eddy__infer_bool(infer, "validate_indices")};
    return EDDY_OK;
}

static eddy_status prepare_operation(eddy_infer *infer)
{
    static const char *const names[] = {"a-b", "b-a", "intersection", "union"};
    manner *m = eddy__prepare_state(infer, sizeof *m);
    eddy_attr attr;

    if (!m)
        return EDDY_RESOURCE_EXHAUSTED;
    m->validates = eddy__infer_bool(infer, "validate_indices");
    if (eddy_infer_attr(infer, "set_operation", &attr))
        for (int i = A_MINUS_B; i <= UNION; i++)
            if (is_named(attr.as.strings, names[i])) {
                m->operation = (operation)i;
                return EDDY_OK;
            }
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "set_operation must be 'a-b', 'b-a', "
                           "'intersection' or 'union'");
}

static eddy_status infer_size(eddy_infer *infer)
{
    eddy_shape shape = eddy__infer_shape_argument(infer, 2);

    if (shape.rank < 2)
        return EDDY_OK;
    shape.rank--;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

#define TYPES "T: {int8, int16, int32, int64, uint8, uint16, string}"
#define OPERATION_ROW(op, ...)                                                 \
    EDDY__OP_ROW(op,                                                           \
                 .outputs = "result_indices: int64, result_values: T, "        \
                            "result_shape: int64",                             \
                 .attrs = "set_operation: string, validate_indices: bool = "   \
                          "true, " TYPES,                                      \
                 .infer = eddy__infer_sparse, .prepare = prepare_operation,    \
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE, __VA_ARGS__)

static const eddy_op_spec specs[] = {
    OPERATION_ROW("DenseToDenseSetOperation", .inputs = "set1: T, set2: T",
                  .kernel = run_dense_dense,
                  .doc = "The differences, intersections or unions of sets, "
                         "which are the rows of the last dimension."),
    OPERATION_ROW("DenseToSparseSetOperation",
                  .inputs = "set1: T, set2_indices: int64, set2_values: T, "
                            "set2_shape: int64",
                  .kernel = run_dense_sparse,
                  .doc = "The same with sparse second sets."),
    OPERATION_ROW("SparseToSparseSetOperation",
                  .inputs = "set1_indices: int64, set1_values: T, "
                            "set1_shape: int64, set2_indices: int64, "
                            "set2_values: T, set2_shape: int64",
                  .kernel = run_sparse_sparse,
                  .doc = "The same of sparse sets."),
    EDDY__OP_ROW("SetSize",
                 .inputs = "set_indices: int64, set_values: T, "
                           "set_shape: int64",
                 .outputs = "size: int32",
                 .attrs = "validate_indices: bool = true, " TYPES,
                 .infer = infer_size, .kernel = run_size,
                 .prepare = prepare_size, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "How many different elements each set has."),
};

const eddy__op_table eddy__sets_ops = {specs, NULL,
                                       sizeof specs / sizeof *specs};
