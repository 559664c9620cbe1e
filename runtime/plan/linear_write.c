/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers, code and calls of a region while it is written.
 *
 * Registers are given out as values are met.  Raw ones that hold the same
 * constant are one.
 */
#include "runtime/plan/linear_write.h"

#include "core/base/status.h"
#include "core/value/dtype.h"
#include "core/value/shape.h"

#include <string.h>

/* ---- registers ---- */

eddy_status eddy__linear_new_register(eddy__linear_writer *r, bool is_raw,
                                      uint8_t dtype, uint32_t *out_register)
{
    const eddy_allocator *a = r->w->scratch.allocator;

    if (!eddy__grow(a, (void **)&r->start, &r->registers_room,
                    r->n_registers + 1, sizeof *r->start))
        return eddy__fail_memory(r->w->err);
    memset(&r->start[r->n_registers], 0, sizeof *r->start);
    if (is_raw) {
        r->start[r->n_registers].kind = EDDY__SCALAR;
        r->start[r->n_registers].dtype = dtype;
    }
    *out_register = (uint32_t)r->n_registers++;
    return EDDY_OK;
}

/* The register of value `v` is to be forgotten at the end. */
static eddy_status note_touched(eddy__linear_writer *r, uint32_t v)
{
    if (!eddy__grow(r->w->scratch.allocator, (void **)&r->touched,
                    &r->touched_room, r->n_touched + 1, sizeof *r->touched))
        return eddy__fail_memory(r->w->err);
    r->touched[r->n_touched++] = v;
    return EDDY_OK;
}

/* The register of a value, by number. */
eddy_status eddy__linear_register_of(eddy__linear_writer *r, uint32_t v,
                                     uint32_t *out_register)
{
    eddy__linear_build *w = r->w;
    eddy__held *value = &w->values[w->values[v].alias];

    if (value->reg == EDDY__NO) {
        EDDY_TRY(note_touched(r, w->values[v].alias));
        EDDY_TRY(eddy__linear_new_register(r, value->is_raw, value->dtype,
                                           &value->reg));
    }
    *out_register = value->reg;
    return EDDY_OK;
}

/* Registers for the elements of `value`; each is new. */
static eddy_status make_parts(eddy__linear_writer *r, eddy__held *value)
{
    uint32_t *parts =
        eddy__arena_allocate(&r->w->scratch, value->n_parts, sizeof *parts);

    if (!parts)
        return eddy__fail_memory(r->w->err);
    for (uint32_t i = 0; i < value->n_parts; i++)
        EDDY_TRY(eddy__linear_new_register(r, true, value->dtype, &parts[i]));
    value->parts = parts;
    return EDDY_OK;
}

eddy_status eddy__linear_parts_of(eddy__linear_writer *r, uint32_t v,
                                  const uint32_t **out_parts)
{
    const uint32_t root = r->w->values[v].alias;

    if (!r->w->values[root].parts) {
        EDDY_TRY(note_touched(r, root));
        EDDY_TRY(make_parts(r, &r->w->values[root]));
    }
    *out_parts = r->w->values[root].parts;
    return EDDY_OK;
}

eddy_status eddy__linear_part_of(eddy__linear_writer *r, uint32_t v, uint32_t i,
                                 uint32_t *out_register)
{
    const uint32_t *parts = NULL;

    if (r->w->values[v].is_raw)
        return eddy__linear_register_of(r, v, out_register);
    EDDY_TRY(eddy__linear_parts_of(r, v, &parts));
    *out_register = parts[i];
    return EDDY_OK;
}

eddy_status eddy__linear_give_parts(eddy__linear_writer *r, uint32_t v,
                                    const uint32_t *parts)
{
    eddy__held *value = &r->w->values[v];

    EDDY_TRY(note_touched(r, v));
    if (value->is_raw)
        value->reg = parts[0];
    else
        value->parts = parts;
    return EDDY_OK;
}

eddy_status eddy__linear_offset(eddy__linear_writer *r, uint32_t v,
                                uint32_t *out_offset)
{
    uint32_t number = 0;

    EDDY_TRY(eddy__linear_register_of(r, v, &number));
    *out_offset = eddy__linear_offset_of(number);
    return EDDY_OK;
}

/* How many constants are looked at for an equal one. */
#define MOST_COMPARED 64

/* A raw register that nobody writes and that has this value; EDDY__NO: none. */
static uint32_t find_constant(const eddy__linear_writer *r,
                              const eddy__value *value)
{
    const size_t n = r->n_constants;

    for (size_t i = n; i > 0 && n - i < MOST_COMPARED; i--) {
        const eddy__value *other = &r->start[r->constants[i - 1]];

        if (other->dtype == value->dtype && other->as.bits == value->as.bits)
            return r->constants[i - 1];
    }
    return EDDY__NO;
}

static eddy_status note_constant(eddy__linear_writer *r, uint32_t number)
{
    if (!eddy__grow(r->w->scratch.allocator, (void **)&r->constants,
                    &r->constants_room, r->n_constants + 1,
                    sizeof *r->constants))
        return eddy__fail_memory(r->w->err);
    r->constants[r->n_constants++] = number;
    return EDDY_OK;
}

eddy_status eddy__linear_constant(eddy__linear_writer *r, uint8_t dtype,
                                  uint64_t bits, uint32_t *out_register)
{
    const eddy__value value = {
        .kind = EDDY__SCALAR, .dtype = dtype, .as.bits = bits};

    *out_register = find_constant(r, &value);
    if (*out_register != EDDY__NO)
        return EDDY_OK;
    EDDY_TRY(eddy__linear_new_register(r, true, dtype, out_register));
    r->start[*out_register].as.bits = bits;
    return note_constant(r, *out_register);
}

/* The elements of a constant, each in a register that nobody writes. */
static eddy_status preset_parts(eddy__linear_writer *r, uint32_t root,
                                const eddy__value *value)
{
    const eddy__held *held = &r->w->values[root];
    const size_t size = eddy_dtype_size((eddy_dtype)held->dtype);
    const unsigned char *data = eddy__value_elements(value);
    uint32_t *parts =
        eddy__arena_allocate(&r->w->scratch, held->n_parts, sizeof *parts);

    if (!parts)
        return eddy__fail_memory(r->w->err);
    for (uint32_t i = 0; i < held->n_parts; i++) {
        eddy__value element = {.as.bits = 0};

        memcpy(&element.as, data + i * size, size);
        EDDY_TRY(
            eddy__linear_constant(r, held->dtype, element.as.bits, &parts[i]));
    }
    return eddy__linear_give_parts(r, root, parts);
}

eddy_status eddy__linear_preset(eddy__linear_writer *r, uint32_t v,
                                const eddy__value *value)
{
    const uint32_t root = r->w->values[v].alias;
    eddy__held *held = &r->w->values[root];
    uint32_t number = 0;

    if (held->is_raw && held->reg == EDDY__NO) {
        EDDY_TRY(note_touched(r, root));
        return eddy__linear_constant(r, value->dtype, value->as.bits,
                                     &held->reg);
    }
    if (held->is_spread && !held->parts)
        EDDY_TRY(preset_parts(r, root, value));
    EDDY_TRY(eddy__linear_register_of(r, v, &number));
    r->start[number] = *value;
    return EDDY_OK;
}

/* ---- code ---- */

eddy_status eddy__linear_emit(eddy__linear_writer *r, eddy__linear_code code)
{
    eddy__linear_text *t = &r->text;
    const eddy_allocator *a = r->w->scratch.allocator;

    if (!eddy__grow(a, (void **)&t->code, &t->room, t->n + 1,
                    sizeof *t->code) ||
        !eddy__grow(a, (void **)&t->guard_of, &t->guards_room, t->n + 1,
                    sizeof *t->guard_of) ||
        !eddy__grow(a, (void **)&t->step_of, &t->steps_room, t->n + 1,
                    sizeof *t->step_of))
        return eddy__fail_memory(r->w->err);
    t->guard_of[t->n] = r->guard;
    t->step_of[t->n] = r->step;
    t->code[t->n++] = code;
    return EDDY_OK;
}

eddy_status eddy__linear_emit3(eddy__linear_writer *r, uint32_t op, uint32_t to,
                               uint32_t a, uint32_t b)
{
    return eddy__linear_emit(
        r, (eddy__linear_code){.op = (uint16_t)op, .to = to, .a = a, .b = b});
}

/* ---- calls ---- */

/* `step` is set, and the lists of registers: the plan's arena has them. */
static eddy_status note_call(eddy__linear_writer *r, eddy__linear_call call,
                             uint32_t *out_call)
{
    eddy__linear_text *t = &r->text;

    if (!eddy__grow(r->w->scratch.allocator, (void **)&t->calls, &t->calls_room,
                    t->n_calls + 1, sizeof *t->calls))
        return eddy__fail_memory(r->w->err);
    call.frame = r->w->loops[r->w->plan->steps[call.step].frame].number;
    *out_call = (uint32_t)t->n_calls;
    t->calls[t->n_calls++] = call;
    return EDDY_OK;
}

/* What a kernel reads: a tensor, too, of what is spread alone. */
static eddy_status find_input(eddy__linear_writer *r, uint32_t id, uint32_t i,
                              uint32_t *out_register)
{
    const uint32_t v = eddy__linear_input(r->w, id, i);

    return eddy__linear_is_only_spread(r->w, v)
               ? eddy__linear_emit_join(r, id, v, out_register)
               : eddy__linear_register_of(r, v, out_register);
}

/* What is spread comes as a tensor first. */
static eddy_status find_output(eddy__linear_writer *r, uint32_t id, uint32_t i,
                               uint32_t *out_register)
{
    const uint32_t v = eddy__linear_output(r->w, id, i);

    return eddy__linear_is_only_spread(r->w, v)
               ? eddy__linear_new_register(r, false, 0, out_register)
               : eddy__linear_register_of(r, v, out_register);
}

eddy_status eddy__linear_add_call(eddy__linear_writer *r, uint32_t id,
                                  uint32_t *out_call)
{
    const eddy__kernel_node *node = r->w->plan->steps[id].node;
    eddy__arena *arena = &r->w->plan->arena;
    uint32_t *in = eddy__arena_allocate(arena, node->n_in, sizeof *in);
    uint32_t *out = eddy__arena_allocate(arena, node->n_out, sizeof *out);

    if (!in || !out)
        return eddy__fail_memory(r->w->err);
    for (uint32_t i = 0; i < node->n_in; i++)
        EDDY_TRY(find_input(r, id, i, &in[i]));
    for (uint32_t i = 0; i < node->n_out; i++)
        EDDY_TRY(find_output(r, id, i, &out[i]));
    return note_call(r,
                     (eddy__linear_call){.step = id,
                                         .n_in = node->n_in,
                                         .n_out = node->n_out,
                                         .in = in,
                                         .out = out},
                     out_call);
}

eddy_status eddy__linear_add_list(eddy__linear_writer *r, uint32_t id,
                                  const uint32_t *values, uint32_t n,
                                  uint32_t *out_call)
{
    uint32_t *in = eddy__arena_allocate(&r->w->plan->arena, n, sizeof *in);

    if (!in)
        return eddy__fail_memory(r->w->err);
    for (uint32_t i = 0; i < n; i++)
        EDDY_TRY(eddy__linear_register_of(r, values[i], &in[i]));
    return note_call(r, (eddy__linear_call){.step = id, .n_in = n, .in = in},
                     out_call);
}

/* ---- from and to tensors ---- */

/* The shape of a value that some step made. */
static const eddy_shape *shape_of(const eddy__linear_writer *r, uint32_t v)
{
    const eddy__linear_build *w = r->w;
    const uint32_t maker = w->values[v].maker;
    uint32_t i = 0;

    while (eddy__linear_output(w, maker, i) != v)
        i++;
    return eddy__layout_shape(
        w->l, (eddy__layout_source){.step = maker, .output = i});
}

eddy_status eddy__linear_emit_join(eddy__linear_writer *r, uint32_t id,
                                   uint32_t v, uint32_t *out_register)
{
    eddy__arena *arena = &r->w->plan->arena;
    const uint32_t n = r->w->values[v].n_parts;
    const uint32_t *parts = NULL;
    uint32_t call = 0, *in, *out;
    eddy_shape *shape;

    EDDY_TRY(eddy__linear_parts_of(r, v, &parts));
    EDDY_TRY(eddy__linear_new_register(r, false, 0, out_register));
    in = eddy__arena_copy(arena, parts, n, sizeof *in);
    out = eddy__arena_copy(arena, out_register, 1, sizeof *out);
    shape = eddy__arena_copy(arena, shape_of(r, v), 1, sizeof *shape);
    if (!in || !out || !shape)
        return eddy__fail_memory(r->w->err);
    EDDY_TRY(note_call(r,
                       (eddy__linear_call){.step = id,
                                           .n_in = n,
                                           .n_out = 1,
                                           .in = in,
                                           .out = out,
                                           .shape = shape},
                       &call));
    return eddy__linear_emit3(r, EDDY__LINEAR_JOIN, 0, call, 0);
}

eddy_status eddy__linear_emit_split(eddy__linear_writer *r, uint32_t id,
                                    uint32_t v, uint32_t from, bool is_taken)
{
    eddy__arena *arena = &r->w->plan->arena;
    const uint32_t n = r->w->values[v].n_parts;
    const uint32_t *parts = NULL;
    uint32_t call = 0, *in, *out;

    EDDY_TRY(eddy__linear_parts_of(r, v, &parts));
    in = eddy__arena_copy(arena, &from, 1, sizeof *in);
    out = eddy__arena_copy(arena, parts, n, sizeof *out);
    if (!in || !out)
        return eddy__fail_memory(r->w->err);
    EDDY_TRY(
        note_call(r,
                  (eddy__linear_call){
                      .step = id, .n_in = 1, .n_out = n, .in = in, .out = out},
                  &call));
    return eddy__linear_emit3(r, EDDY__LINEAR_SPLIT, is_taken, call, 0);
}

eddy_status eddy__linear_emit_part_moves(eddy__linear_writer *r, uint32_t to,
                                         uint32_t from)
{
    const uint32_t *tos = NULL, *froms = NULL;

    EDDY_TRY(eddy__linear_parts_of(r, to, &tos));
    EDDY_TRY(eddy__linear_parts_of(r, from, &froms));
    for (uint32_t i = 0; i < r->w->values[to].n_parts; i++)
        if (tos[i] != froms[i])
            EDDY_TRY(eddy__linear_emit3(r, EDDY__LINEAR_MOVE,
                                        eddy__linear_offset_of(tos[i]),
                                        eddy__linear_offset_of(froms[i]), 0));
    return EDDY_OK;
}
