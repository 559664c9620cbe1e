/* SPDX-License-Identifier: Apache-2.0 */
/*
 * _Chain: several elementwise ops as one node, which the plan makes of nodes
 * of one shape (runtime/plan/chains.h).
 *
 * The elements go through all members a strip at a time, so that what lies
 * between two members stays in the nearest cache, or in registers where they
 * are machine code (chain_code.h).  What others read too is
 * stored in passing, where the members behind it find it.  Members run the
 * loops of their own ops, and a loop gives an element the same bits wherever it
 * stands, so a chain has the bits of its members.
 *
 * Every member has the shape of the result.  An input has it too, or is
 * repeated along rows, along columns or over all; which of these is known when
 * the plan is made.
 */
#include "ops/chain.h"

#include "core/base/status.h"
#include "core/graph/attr.h"
#include "core/value/shape.h"
#include "ops/math/chain_code.h"
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <string.h>

/* What an element of one member counts: some take half a microsecond. */
#define WORK 64

#define MAX_ELEMENT 16

/* Elements that machine code does between two questions whether to stop. */
#define LONG_STRIP ((int64_t)1 << 14)

/* So few that it is worth neither a question nor a division. */
#define SHORT ((int64_t)1 << 12)

/* ---- which ops ---- */

/* Ops that have no loops of their own but do what another one does. */
static const char *const same_as[][2] = {
    {"AddN", "AddV2"},
    {"BiasAdd", "AddV2"},
    {"BiasAddV1", "AddV2"},
};

static bool find_in(const eddy__strip_table *table, const char *op,
                    eddy_dtype dtype, eddy__strip *out)
{
    for (size_t i = 0; i < table->n; i++) {
        const eddy__strip_row *row = &table->rows[i];

        if (strcmp(row->op, op) != 0)
            continue;
        *out = (eddy__strip){
            .unary = row->unary ? row->unary[dtype] : NULL,
            .binary = row->binary ? row->binary[dtype] : NULL,
        };
        return out->unary || (out->binary && !out->binary->find_bad);
    }
    return false;
}

static bool is_select(const char *op)
{
    return strcmp(op, "Select") == 0 || strcmp(op, "SelectV2") == 0;
}

bool eddy__strip_find(const char *op, eddy_dtype dtype, eddy_dtype result,
                      eddy__strip *out_strip)
{
    const size_t size = eddy_dtype_size(dtype);

    for (size_t i = 0; i < sizeof same_as / sizeof same_as[0]; i++)
        if (strcmp(same_as[i][0], op) == 0)
            op = same_as[i][1];
    if (is_select(op)) {
        *out_strip = (eddy__strip){.chosen = size};
        return dtype == result && size > 0 && size <= sizeof(uint64_t);
    }
    if (strcmp(op, "Cast") == 0) {
        *out_strip = (eddy__strip){.unary = eddy__cast_loops(dtype, result)};
        return out_strip->unary != NULL;
    }
    return find_in(&eddy__binary_strips, op, dtype, out_strip) ||
           find_in(&eddy__unary_strips, op, dtype, out_strip) ||
           find_in(&eddy__compare_strips, op, dtype, out_strip) ||
           find_in(&eddy__unary_grad_strips, op, dtype, out_strip);
}

static uint32_t operands_of(const eddy__strip *strip)
{
    return strip->chosen ? EDDY__CHAIN_OPERANDS : strip->unary ? 1 : 2;
}

/* Of the member's dtype `dtype`. */
static eddy_dtype result_of(const eddy__strip *strip, eddy_dtype dtype)
{
    if (strip->chosen)
        return dtype;
    return strip->unary ? strip->unary->out : strip->binary->out;
}

/* Ops whose inputs all have the shape of the output. */
static bool is_pair(const char *op, const eddy__strip *strip)
{
    eddy__strip found;

    return strcmp(op, "AddN") == 0 || strcmp(op, "Select") == 0 ||
           (strip->binary &&
            find_in(&eddy__unary_grad_strips, op, strip->binary->out, &found));
}

static bool is_channels_first(const eddy__node *node)
{
    const eddy_attr *format = eddy__node_attr(node, "data_format");

    return format && format->as.strings[0].length >= 2 &&
           memcmp(format->as.strings[0].data, "NC", 2) == 0;
}

static bool truncates(const eddy__node *node)
{
    return strcmp(node->op_name, "Cast") == 0 &&
           eddy__node_bool(node, "Truncate");
}

bool eddy__chain_takes(const eddy__node *node, eddy__chain_op *out_op)
{
    const char *op = node->op_name;
    eddy_dtype dtype, result;
    eddy__strip strip;

    if (node->n_inputs == 0 || node->n_outputs != 1 ||
        node->n_inputs > EDDY__CHAIN_OPERANDS)
        return false;
    dtype = (eddy_dtype)node->input_dtypes[node->n_inputs - 1];
    result = (eddy_dtype)node->output_dtypes[0];
    if (eddy_dtype_size(dtype) == 0 || eddy_dtype_size(dtype) > MAX_ELEMENT ||
        eddy_dtype_size(result) == 0 || eddy_dtype_size(result) > MAX_ELEMENT ||
        is_channels_first(node) || truncates(node) ||
        !eddy__strip_find(op, dtype, result, &strip))
        return false;
    *out_op = (eddy__chain_op){
        .n_inputs = operands_of(&strip),
        .type = dtype,
        .output = result_of(&strip, dtype),
        .is_pair = is_pair(op, &strip),
        .is_equal = strcmp(op, "Select") == 0,
    };
    return node->n_inputs == out_op->n_inputs;
}

/* ---- how inputs meet the result ---- */

/* Dimension `d` of `in` where its last one stands under the last of `out`. */
static int64_t dim_under(const eddy_shape *in, const eddy_shape *out, int32_t d)
{
    const int32_t at = d - (out->rank - in->rank);

    return at < 0 ? 1 : in->dims[at];
}

/* INT64_MAX if it is more: a shape that no tensor has may be inferred. */
static int64_t product(const eddy_shape *shape, int32_t from, int32_t to)
{
    int64_t n = 1;

    for (int32_t d = from; d < to; d++)
        if (__builtin_mul_overflow(n, shape->dims[d], &n))
            return INT64_MAX;
    return n;
}

eddy__chain_fit eddy__chain_fit_of(const eddy_shape *in, const eddy_shape *out,
                                   int64_t *out_columns)
{
    const int32_t rank = out->rank;
    int32_t low = 0, high = rank, d;

    if (in->rank < 0 || in->rank > rank)
        return EDDY__CHAIN_NO_FIT;
    while (low < rank && dim_under(in, out, low) == 1)
        low++;
    while (high > low && dim_under(in, out, high - 1) == 1)
        high--;
    for (d = low; d < high; d++)
        if (dim_under(in, out, d) != out->dims[d])
            return EDDY__CHAIN_NO_FIT;
    *out_columns = product(out, low, rank);
    if (product(out, 0, low) == 1 && product(out, high, rank) == 1)
        return EDDY__CHAIN_WHOLE;
    if (low == high)
        return EDDY__CHAIN_ONE;
    if (product(out, high, rank) == 1)
        return EDDY__CHAIN_ROW;
    *out_columns = product(out, high, rank);
    return product(out, 0, low) == 1 ? EDDY__CHAIN_COLUMN : EDDY__CHAIN_NO_FIT;
}

/* ---- running ---- */

static void run_choice(const eddy__chain_strips *s, const eddy__chain_member *m,
                       const eddy__chain_part *p, unsigned char *out)
{
    const size_t size = m->strip.chosen;
    eddy__choice c = {.out = out, .n = p->n};
    int64_t condition, then, otherwise;

    c.condition =
        eddy__chain_read(s, &m->in[0], p, &c.step_condition, &condition);
    c.then = eddy__chain_read(s, &m->in[1], p, &c.step_then, &then);
    c.otherwise =
        eddy__chain_read(s, &m->in[2], p, &c.step_otherwise, &otherwise);
    for (int64_t row = 0; row < p->n_rows; row++) {
        eddy__choose(size, &c);
        c.out = (unsigned char *)c.out + (size_t)p->n * size;
        c.condition += condition;
        c.then = (const unsigned char *)c.then + (size_t)then * size;
        c.otherwise =
            (const unsigned char *)c.otherwise + (size_t)otherwise * size;
    }
}

static void run_member(const eddy__chain_strips *s, const eddy__chain_member *m,
                       const eddy__chain_part *p)
{
    unsigned char *out = eddy__chain_left(s, &m->to, p);
    eddy__rows rows = {.out = out, .n = p->n, .n_rows = p->n_rows};

    if (m->strip.chosen) {
        run_choice(s, m, p, out);
        return;
    }
    rows.a = eddy__chain_read(s, &m->in[0], p, &rows.step_a, &rows.stride_a);
    if (m->strip.unary) {
        eddy__unary_loop_of(m->strip.unary)(out, rows.a, p->n * p->n_rows);
    } else {
        rows.b =
            eddy__chain_read(s, &m->in[1], p, &rows.step_b, &rows.stride_b);
        eddy__binary_loop_of(m->strip.binary)(&rows);
    }
}

/*
 * Where a part finds what a roll has moved there: as it stands if that is in
 * one piece, else put together.
 */
static const unsigned char *turn(const eddy__chain_strips *s,
                                 const eddy__chain_roll *r, int64_t first,
                                 int64_t n, unsigned char *buffer)
{
    const size_t size = s->c->inputs[r->input].size;
    const unsigned char *in = s->in[r->input];
    int64_t done = 0;

    while (done < n) {
        const int64_t at = (first + done) % r->block;
        const bool is_tail = at < r->shift;
        const int64_t from = first + done - r->shift + (is_tail ? r->block : 0);
        int64_t run = (is_tail ? r->shift : r->block) - at;

        if (run >= n && done == 0)
            return in + (size_t)from * size;
        run = run < n - done ? run : n - done;
        memcpy(buffer + (size_t)done * size, in + (size_t)from * size,
               (size_t)run * size);
        done += run;
    }
    return buffer;
}

/* Rolled inputs have an element for each of the result. */
static void turn_all(eddy__chain_strips *s, const eddy__chain_part *p)
{
    const int64_t first = p->row * s->c->n_columns + p->column;

    for (uint32_t i = 0; i < s->c->n_rolls; i++)
        s->rolled[i] = turn(s, &s->c->rolls[i], first, p->n * p->n_rows,
                            s->turned + (size_t)i * EDDY__CHAIN_STRIP);
}

static void run_part(const eddy__chain_strips *s, const eddy__chain_part *p)
{
    const eddy__chain_code *code = s->code;

    if (!code) {
        for (uint32_t i = 0; i < s->c->n_members; i++)
            run_member(s, &s->c->members[i], p);
        return;
    }
    for (uint32_t i = 0; i < code->n_segments; i++) {
        const eddy__chain_segment *segment = &code->segments[i];

        if (segment->code)
            eddy__chain_run_code(s, segment, p);
        else
            run_member(s, &code->members[segment->first], p);
    }
}

/* Is there nothing but one piece of code, which needs no buffers? */
static bool is_code_alone(const eddy__chain_strips *s)
{
    return s->code && s->code->is_one && s->c->n_rolls == 0;
}

/* Elements of a strip: without buffers there is no need to be short. */
static int64_t strip_of(const eddy__chain_strips *s)
{
    return is_code_alone(s) ? LONG_STRIP : s->c->strip;
}

/* Short rows are a part several at a time, long ones are cut. */
static int64_t rows_at_once(const eddy__chain_state *c, int64_t strip)
{
    return c->n_columns >= strip ? 1 : strip / c->n_columns;
}

static int64_t parts_across(const eddy__chain_state *c, int64_t strip)
{
    return (c->n_columns + strip - 1) / strip;
}

static eddy_status run_some(eddy_kernel *k, eddy__chain_strips *s,
                            int64_t begin, int64_t end)
{
    const eddy__chain_state *c = s->c;
    const int64_t strip = strip_of(s);
    const int64_t at_once = rows_at_once(c, strip);
    const int64_t across = parts_across(c, strip);
    const int64_t work = WORK * (int64_t)c->n_members;

    for (int64_t i = begin; i < end; i++) {
        eddy__chain_part p = {.row = i / across * at_once,
                              .column = i % across * strip};
        const int64_t left = c->n_rows - p.row, rest = c->n_columns - p.column;

        p.n_rows = left < at_once ? left : at_once;
        p.n = rest < strip ? rest : strip;
        if (eddy__spent(k, p.n_rows * p.n * work))
            break;
        turn_all(s, &p);
        run_part(s, &p);
    }
    return EDDY_OK;
}

/* Some of the parts, which workers may do: with buffers of their own. */
static eddy_status run_parts(eddy_kernel *k, void *arg, int64_t begin,
                             int64_t end)
{
    _Alignas(64) unsigned char buffers[EDDY__CHAIN_BUFFERS * EDDY__CHAIN_STRIP];
    _Alignas(64) unsigned char turned[EDDY__CHAIN_ROLLED * EDDY__CHAIN_STRIP];
    eddy__chain_strips s = *(const eddy__chain_strips *)arg;

    s.buffers = buffers;
    s.turned = turned;
    return run_some(k, &s, begin, end);
}

/* The same without buffers. */
static eddy_status run_code_parts(eddy_kernel *k, void *arg, int64_t begin,
                                  int64_t end)
{
    return run_some(k, arg, begin, end);
}

/*
 * An element of a member takes a quarter of a nanosecond or more, in machine
 * code a tenth of that.
 */
static eddy_status run_all(eddy_kernel *k, eddy__chain_strips *s)
{
    const eddy__chain_state *c = s->c;
    const bool is_code = is_code_alone(s);
    const int64_t strip = strip_of(s);
    int64_t at_once, elements;

    if (c->n_columns == 0)
        return EDDY_OK;
    if (is_code && c->n_rows == 1 && c->n_columns <= SHORT) {
        run_part(s, &(eddy__chain_part){.n_rows = 1, .n = c->n_columns});
        return EDDY_OK;
    }
    at_once = rows_at_once(c, strip);
    elements = at_once == 1 ? strip : at_once * c->n_columns;
    return eddy__parallel_for(
        k, (c->n_rows + at_once - 1) / at_once * parts_across(c, strip),
        eddy__grain(elements * (int64_t)c->n_members / (is_code ? 40 : 4), 1),
        is_code ? run_code_parts : run_parts, s);
}

/* Is it read elsewhere than where it stands, by that input or another one? */
static bool is_rolled(const eddy_kernel *k, const eddy__chain_state *c,
                      uint32_t input)
{
    uint32_t i = 0;

    while (i < c->n_rolls && eddy__in_elements(k, c->rolls[i].input) !=
                                 eddy__in_elements(k, input))
        i++;
    return i < c->n_rolls;
}

/*
 * An input whose buffer will do for the output, or EDDY__CHAIN_INPUTS: nothing
 * reads it after the member that gives the output.
 */
static uint32_t find_spare(const eddy_kernel *k, const eddy__chain_state *c,
                           const eddy__chain_leaving *r)
{
    for (uint32_t i = 0; i < c->n_inputs; i++)
        if (eddy__in(k, i)->kind == EDDY__TENSOR && eddy__in(k, i)->uses == 1 &&
            c->inputs[i].is_whole && c->last_use[i] <= r->member &&
            c->inputs[i].size == eddy_dtype_size(r->dtype) &&
            !is_rolled(k, c, i))
            return i;
    return EDDY__CHAIN_INPUTS;
}

static eddy_status make_outputs(eddy_kernel *k, const eddy__chain_state *c,
                                eddy__chain_strips *s)
{
    for (uint32_t i = 0; i < c->n_outputs; i++) {
        const eddy__chain_leaving *r = &c->outputs[i];
        const uint32_t spare = find_spare(k, c, r);
        void *out;

        if (spare < EDDY__CHAIN_INPUTS)
            EDDY_TRY(
                eddy__output_reusing(k, i, spare, r->dtype, &c->shape, &out));
        else
            EDDY_TRY(eddy__output(k, i, r->dtype, &c->shape, &out));
        s->out[i] = out;
    }
    return EDDY_OK;
}

static eddy_status run_chain(eddy_kernel *k)
{
    const eddy__chain_state *c = eddy__state(k);
    eddy__chain_strips s;

    s.c = c;
    s.code = eddy__chain_code_of(k, c);
    s.buffers = s.turned = NULL;
    for (uint32_t i = 0; i < c->n_inputs; i++)
        s.in[i] = eddy__in_elements(k, i);
    EDDY_TRY(make_outputs(k, c, &s));
    return run_all(k, &s);
}

/* ---- what the node says ---- */

/* The attributes, and how far they have been read. */
typedef struct program {
    eddy_infer *infer;
    eddy_attr ops, types, results, wires, outs, rolls;
    size_t n_wires; /* taken so far */
    uint32_t last_use[EDDY__CHAIN_MEMBERS];
    bool is_taken[EDDY__CHAIN_BUFFERS]; /* a buffer, by what is still to be read
                                         */
} program;

static eddy_status fail_program(program *p, const char *what)
{
    return eddy_infer_fail(p->infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "a chain that %s", what);
}

static eddy_status read_attrs(program *p)
{
    const uint32_t n_inputs = eddy_infer_inputs(p->infer);

    if (!eddy_infer_attr(p->infer, "ops", &p->ops) ||
        !eddy_infer_attr(p->infer, "types", &p->types) ||
        !eddy_infer_attr(p->infer, "results", &p->results) ||
        !eddy_infer_attr(p->infer, "outs", &p->outs) ||
        !eddy_infer_attr(p->infer, "rolls", &p->rolls) ||
        !eddy_infer_attr(p->infer, "wires", &p->wires))
        return fail_program(p, "lacks its members");
    if (p->ops.n == 0 || p->ops.n > EDDY__CHAIN_MEMBERS ||
        p->types.n != p->ops.n || p->results.n != p->ops.n ||
        n_inputs > EDDY__CHAIN_INPUTS)
        return fail_program(p, "has too many members or inputs, or none");
    if (p->outs.n != eddy_infer_outputs(p->infer) ||
        p->outs.n > EDDY__CHAIN_OUTPUTS)
        return fail_program(p, "gives more or less than it says");
    return EDDY_OK;
}

/* The next operand of member `i`, which must have the dtype `want`. */
static eddy_status read_operand(program *p, eddy__chain_state *c, uint32_t i,
                                eddy_dtype want, eddy__chain_operand *out)
{
    const int64_t wire =
        p->n_wires < p->wires.n ? p->wires.as.ints[p->n_wires++] : INT64_MAX;

    if (wire >= (int64_t)c->n_inputs || wire < -(int64_t)i)
        return fail_program(p, "reads what is not there");
    out->place = wire >= 0 ? EDDY__CHAIN_INPUT : EDDY__CHAIN_BUFFER;
    out->at = out->member = (uint32_t)(wire >= 0 ? wire : -wire - 1);
    if ((wire >= 0 ? eddy_infer_input_dtype(p->infer, out->at)
                   : p->results.as.types[out->at]) != want)
        return fail_program(p, "reads another dtype than its member wants");
    (wire >= 0 ? c->last_use : p->last_use)[out->at] = i;
    return EDDY_OK;
}

static bool is_held(eddy_dtype dtype)
{
    return (uint32_t)dtype < EDDY_DTYPE_COUNT && eddy_dtype_size(dtype) > 0 &&
           eddy_dtype_size(dtype) <= MAX_ELEMENT;
}

static eddy_status read_member(program *p, eddy__chain_state *c, uint32_t i)
{
    const eddy_string op = p->ops.as.strings[i];
    const eddy_dtype dtype = p->types.as.types[i];
    const eddy_dtype result = p->results.as.types[i];
    eddy__chain_member *m = &c->members[i];
    char name[64];

    if (op.length >= sizeof name)
        return fail_program(p, "has an unknown member");
    memcpy(name, op.data, op.length);
    name[op.length] = '\0';
    m->op = eddy__arena_text(p->infer->arena, op.data, op.length);
    if (!m->op)
        return eddy__fail_memory(p->infer->err);
    m->type = dtype;
    m->result = result;
    if (!is_held(dtype) || !is_held(result) ||
        !eddy__strip_find(name, dtype, result, &m->strip))
        return fail_program(p, "has a member that it can't hold");
    if (result_of(&m->strip, dtype) != result)
        return fail_program(p, "has a member that gives another dtype");
    m->n_in = operands_of(&m->strip);
    m->size = eddy_dtype_size(result);
    for (uint32_t j = 0; j < m->n_in; j++)
        EDDY_TRY(read_operand(
            p, c, i, m->strip.chosen && j == 0 ? EDDY_BOOL : dtype, &m->in[j]));
    return EDDY_OK;
}

/* The members that the outputs are of, each in its dtype. */
static eddy_status read_outputs(program *p, eddy__chain_state *c)
{
    c->n_outputs = (uint32_t)p->outs.n;
    for (uint32_t i = 0; i < c->n_members; i++)
        c->members[i].to.place = EDDY__CHAIN_BUFFER;
    for (uint32_t i = 0; i < c->n_outputs; i++) {
        const int64_t at = p->outs.as.ints[i];
        eddy__chain_member *m;

        if (at < 0 || at >= (int64_t)c->n_members)
            return fail_program(p, "gives what is not there");
        m = &c->members[at];
        if (m->to.place == EDDY__CHAIN_OUTPUT)
            return fail_program(p, "gives a member twice");
        m->to = (eddy__chain_operand){.place = EDDY__CHAIN_OUTPUT, .at = i};
        c->outputs[i] = (eddy__chain_leaving){
            (uint32_t)at, eddy_infer_output_dtype(p->infer, i)};
        if (p->results.as.types[at] != c->outputs[i].dtype)
            return fail_program(p, "gives another dtype than its member");
    }
    return c->n_outputs > 0 &&
                   c->members[c->n_members - 1].to.place == EDDY__CHAIN_OUTPUT
               ? EDDY_OK
               : fail_program(p, "does not give its last member");
}

/*
 * Frees the buffers that member `i` is the last to read, those of elements as
 * long as its own or the others.
 */
static void release_buffers(program *p, const eddy__chain_state *c, uint32_t i,
                            bool is_alike)
{
    const eddy__chain_member *m = &c->members[i];

    for (uint32_t j = 0; j < m->n_in; j++) {
        const eddy__chain_member *from = &c->members[m->in[j].at];

        if (m->in[j].place == EDDY__CHAIN_BUFFER &&
            from->to.place == EDDY__CHAIN_BUFFER &&
            p->last_use[m->in[j].at] == i &&
            (from->size == m->size) == is_alike)
            p->is_taken[from->to.at] = false;
    }
}

/*
 * Gives each member that is no output a buffer.  A result may take the place of
 * an operand that nothing reads later if their elements have one size.
 */
static void place_results(program *p, eddy__chain_state *c)
{
    for (uint32_t i = 0; i + 1 < c->n_members; i++) {
        uint32_t at = 0;

        release_buffers(p, c, i, true);
        if (c->members[i].to.place == EDDY__CHAIN_BUFFER) {
            while (p->is_taken[at])
                at++;
            p->is_taken[at] = true;
            c->members[i].to.at = at;
        }
        release_buffers(p, c, i, false);
    }
}

/* Operands name members until every member has its place. */
static void point_at_places(eddy__chain_state *c)
{
    for (uint32_t i = 0; i < c->n_members; i++)
        for (uint32_t j = 0; j < c->members[i].n_in; j++) {
            eddy__chain_operand *o = &c->members[i].in[j];

            if (o->place != EDDY__CHAIN_INPUT) {
                o->place = c->members[o->member].to.place;
                o->at = c->members[o->member].to.at;
            }
        }
}

/* Sees the result as rows of columns, as all inputs that are repeated do. */
static eddy_status read_shapes(program *p, eddy__chain_state *c)
{
    int64_t total;

    if (!eddy__shape_is_known(&c->shape) ||
        !eddy__shape_count(&c->shape, MAX_ELEMENT, &total))
        return fail_program(p, "has a result of unknown shape");
    c->n_columns = total;
    for (uint32_t i = 0; i < c->n_inputs; i++) {
        int64_t columns;
        const eddy__chain_fit fit = eddy__chain_fit_of(
            eddy_infer_input(p->infer, i), &c->shape, &columns);

        if (fit == EDDY__CHAIN_NO_FIT)
            return fail_program(p, "has an input of an unfit shape");
        c->inputs[i].dtype = eddy_infer_input_dtype(p->infer, i);
        c->inputs[i].size = eddy_dtype_size(c->inputs[i].dtype);
        c->inputs[i].is_whole = fit == EDDY__CHAIN_WHOLE;
        c->inputs[i].step = fit == EDDY__CHAIN_WHOLE || fit == EDDY__CHAIN_ROW;
        c->inputs[i].stride = fit == EDDY__CHAIN_COLUMN;
        if (fit != EDDY__CHAIN_ROW && fit != EDDY__CHAIN_COLUMN)
            continue;
        if (c->n_columns != total && c->n_columns != columns)
            return fail_program(p, "has rows of two lengths");
        c->n_columns = columns;
    }
    c->n_rows = c->n_columns > 0 ? total / c->n_columns : 0;
    for (uint32_t i = 0; i < c->n_inputs; i++)
        if (c->inputs[i].is_whole)
            c->inputs[i].stride = c->n_columns;
    return EDDY_OK;
}

/* Rolled inputs: of each its number, and elements of a block and moved on. */
static eddy_status read_rolls(program *p, eddy__chain_state *c)
{
    const int64_t total = c->n_rows * c->n_columns;

    if (p->rolls.n % 3 != 0 || p->rolls.n / 3 > EDDY__CHAIN_ROLLED)
        return fail_program(p, "has odd rolls or too many");
    for (size_t i = 0; i < p->rolls.n; i += 3) {
        const int64_t *v = &p->rolls.as.ints[i];

        if (v[0] < 0 || v[0] >= (int64_t)c->n_inputs ||
            !c->inputs[v[0]].is_whole || c->inputs[v[0]].rolled > 0 ||
            v[1] < 1 || v[1] > total || total % v[1] != 0 || v[2] < 0 ||
            v[2] > v[1])
            return fail_program(p, "rolls what it can't");
        c->rolls[c->n_rolls++] = (eddy__chain_roll){(uint32_t)v[0], v[1], v[2]};
        c->inputs[v[0]].rolled = c->n_rolls;
    }
    return EDDY_OK;
}

static void size_strips(eddy__chain_state *c)
{
    size_t largest = 1;

    for (uint32_t i = 0; i < c->n_rolls; i++)
        if (c->inputs[c->rolls[i].input].size > largest)
            largest = c->inputs[c->rolls[i].input].size;

    for (uint32_t i = 0; i < c->n_members; i++)
        if (c->members[i].size > largest)
            largest = c->members[i].size;
    c->strip = (int64_t)(EDDY__CHAIN_STRIP / largest);
}

/* The shape that all inputs broadcast to. */
static eddy_status join_shapes(eddy_infer *infer, eddy_shape *out_shape)
{
    eddy_shape joined;

    *out_shape = *eddy_infer_input(infer, 0);
    for (uint32_t i = 1; i < eddy_infer_inputs(infer); i++) {
        const eddy_shape *input = eddy_infer_input(infer, i);

        if (!eddy__shape_broadcast(out_shape, input, &joined))
            return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                                   "shapes %s and %s do not broadcast",
                                   eddy__shape_print(out_shape).text,
                                   eddy__shape_print(input).text);
        *out_shape = joined;
    }
    return EDDY_OK;
}

static eddy_status infer_chain(eddy_infer *infer)
{
    eddy_shape shape;

    EDDY_TRY(join_shapes(infer, &shape));
    for (uint32_t i = 0; i < eddy_infer_outputs(infer); i++)
        eddy_infer_set_output(infer, i, &shape);
    return EDDY_OK;
}

static eddy_status read_program(program *p, eddy__chain_state *c)
{
    EDDY_TRY(read_attrs(p));
    c->n_members = (uint32_t)p->ops.n;
    c->n_inputs = eddy_infer_inputs(p->infer);
    for (uint32_t i = 0; i < c->n_members; i++)
        EDDY_TRY(read_member(p, c, i));
    EDDY_TRY(read_outputs(p, c));
    EDDY_TRY(read_shapes(p, c));
    EDDY_TRY(read_rolls(p, c));
    size_strips(c);
    place_results(p, c);
    point_at_places(c);
    return EDDY_OK;
}

static eddy_status prepare_chain(eddy_infer *infer)
{
    program p = {.infer = infer};
    eddy__chain_state *c = eddy__prepare_state(infer, sizeof *c);

    if (!c)
        return EDDY_RESOURCE_EXHAUSTED;
    EDDY_TRY(join_shapes(infer, &c->shape));
    EDDY_TRY(read_program(&p, c));
    return eddy__infer_vector_tier(infer, &c->tier);
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW_OF(
        EDDY__CHAIN, "eddy", .inputs = "inputs: L", .outputs = "outputs: T",
        .attrs = "ops: list(string) >= 1, types: list(type) >= 1, "
                 "results: list(type) >= 1, wires: list(int) >= 1, "
                 "outs: list(int) >= 1, L: list(type) >= 1, "
                 "T: list(type) >= 1, rolls: list(int) = [], members: int = 0",
        .infer = infer_chain, .kernel = run_chain, .prepare = prepare_chain,
        .flags = EDDY_OP_NOT_DIFFERENTIABLE,
        .doc = "Elementwise ops one after another, as a plan joins them: wire "
               "i >= 0 is an input, -i what member i - 1 gave; outs are the "
               "members whose results are given; rolls are inputs that are "
               "read as if a _Roll had moved them, each with its block and "
               "shift. Plans make it."),
};

const eddy__op_table eddy__chain_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
