/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops of x86-64 over the elements of a chain (core/vector_code.h).
 *
 * In one turn of the loop as many elements as vectors have lanes go through
 * all members: inputs are loaded where the first member reads them, results
 * stay in registers until the last one has read them, outputs are stored.  What
 * is left at the end is done with a mask (AVX-512), or one element at a time.
 * Inputs of one element and constants are loaded before the loop while there
 * are registers for them.
 *
 *   rdi  the call     rax  the element     rcx  where to stop     rdx  free
 *   k1   the lanes of the end
 */
#include "runtime/native/x86_64_chain.h"

#include "runtime/native/pages.h"
#include "runtime/native/x86_64_lanes.h"

#include <string.h>

#define VALUES (EDDY__VECTOR_INPUTS + EDDY__VECTOR_MEMBERS)
#define NOWHERE UINT8_MAX

/* An input, or what a member gives. */
typedef struct value {
    eddy__lane lane;
    bool is_one;
    uint8_t reg;       /* or NOWHERE */
    uint8_t pointer;   /* to an input's elements; or NOWHERE: in memory */
    uint8_t stored;    /* the same to an output's */
    uint32_t last_use; /* a member */
} value;

typedef struct maker {
    eddy__lanes l;
    const eddy__vector_program *p;
    value values[VALUES]; /* inputs, then members */
    const eddy__lane_row *rows[EDDY__VECTOR_MEMBERS];
    uint32_t n_saved; /* registers that callers want back */
} maker;

typedef struct code {
    eddy__vector_code code;
    const eddy_allocator *allocator;
    uint8_t *bytes;
    size_t n_mapped;
} code;

/* ---- values ---- */

static uint32_t value_of(const maker *m, int32_t in)
{
    return in >= 0 ? (uint32_t)in : m->p->n_inputs + (uint32_t)(-1 - in);
}

static uint32_t size_of(eddy__lane lane)
{
    return lane == EDDY__LANE_BOOL ? 1 : eddy__lane_is_long(lane) ? 8 : 4;
}

static uint32_t log_size_of(eddy__lane lane)
{
    return (uint32_t)__builtin_ctz(size_of(lane));
}

/* False if there is no code for a member. */
static bool describe_values(maker *m)
{
    const eddy__vector_program *p = m->p;

    for (uint32_t i = 0; i < p->n_inputs; i++)
        m->values[i] = (value){.lane = eddy__lane_of(p->inputs[i].dtype),
                               .is_one = p->inputs[i].is_one,
                               .reg = NOWHERE,
                               .pointer = NOWHERE};
    for (uint32_t i = 0; i < p->n_members; i++) {
        const eddy__vector_member *member = &p->members[i];
        value *v = &m->values[p->n_inputs + i];

        *v = (value){.lane = eddy__lane_of(member->result),
                     .reg = NOWHERE,
                     .stored = NOWHERE,
                     .last_use = i};
        m->rows[i] = eddy__lane_row_of(member->op, eddy__lane_of(member->type),
                                       v->lane, m->l.is_512);
        if (!m->rows[i])
            return false;
        for (uint32_t k = 0; k < member->n_in; k++)
            m->values[value_of(m, member->in[k])].last_use = i;
    }
    return true;
}

/* As many as the widest vectors have of the longest elements. */
static uint32_t count_lanes(const maker *m)
{
    const uint32_t n = m->l.is_512 ? 16 : 8;

    for (uint32_t i = 0; i < m->p->n_inputs + m->p->n_members; i++)
        if (eddy__lane_is_long(m->values[i].lane))
            return n / 2;
    return n;
}

/* ---- where elements are ---- */

/* Registers that may point; the first ones are nobody's. */
static const uint8_t pointers[] = {EDDY__RSI, 8,         9,         10,
                                   11,        EDDY__RBX, EDDY__RBP, 12,
                                   13,        EDDY__R14, EDDY__R15};
#define N_POINTERS ((uint32_t)sizeof pointers)
#define N_FREE_POINTERS 5

static int32_t place_in(uint32_t i)
{
    return (int32_t)(offsetof(eddy__vector_call, in) + i * sizeof(void *));
}

static int32_t place_out(uint32_t i)
{
    return (int32_t)(offsetof(eddy__vector_call, out) + i * sizeof(void *));
}

static void load_pointer(maker *m, uint32_t reg, int32_t at)
{
    eddy__x86_emit(&m->l.x, EDDY__X86_MOV, true, reg,
                   eddy__x86_memory_by(EDDY__RDI, at));
}

/* The elements in hand; by way of rdx where nothing points at them for good. */
static eddy__x86_place elements_at(maker *m, uint8_t pointer, int32_t at,
                                   eddy__lane lane)
{
    if (pointer == NOWHERE)
        load_pointer(m, EDDY__RDX, at);
    return eddy__x86_item(pointer == NOWHERE ? EDDY__RDX : pointer, EDDY__RAX,
                          log_size_of(lane));
}

static uint8_t next_pointer(uint32_t *n)
{
    return *n < N_POINTERS ? pointers[(*n)++] : NOWHERE;
}

static void place_pointers(maker *m)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < m->p->n_inputs; i++)
        if (!m->p->inputs[i].is_one)
            m->values[i].pointer = next_pointer(&n);
    for (uint32_t i = 0; i < m->p->n_members; i++)
        if (m->p->members[i].is_output)
            m->values[m->p->n_inputs + i].stored = next_pointer(&n);
    m->n_saved = n > N_FREE_POINTERS ? n - N_FREE_POINTERS : 0;
}

static void load_pointers(maker *m)
{
    for (uint32_t i = 0; i < m->p->n_inputs; i++)
        if (m->values[i].pointer != NOWHERE)
            load_pointer(m, m->values[i].pointer, place_in(i));
    for (uint32_t i = 0; i < m->p->n_members; i++)
        if (m->p->members[i].is_output &&
            m->values[m->p->n_inputs + i].stored != NOWHERE)
            load_pointer(m, m->values[m->p->n_inputs + i].stored, place_out(i));
}

/* ---- loads ---- */

static void emit(maker *m, eddy__x86_vector_op op, eddy__x86_form form,
                 uint32_t reg, uint32_t with, eddy__x86_place place)
{
    eddy__x86_emit_vector(&m->l.x, op, form, reg, with, place);
}

static eddy__x86_form form_of_bytes(const maker *m)
{
    return (eddy__x86_form){.is_evex = m->l.is_512, .bits = 128};
}

/* The byte at `place`, 0 or 1, as no bits or all in rdx. */
static void load_bit(maker *m, eddy__x86_place place)
{
    eddy__x86_emit(&m->l.x, EDDY__X86_MOVZX8, false, EDDY__RDX, place);
    eddy__x86_emit_alone(&m->l.x, EDDY__X86_NEG, false,
                         eddy__x86_reg(EDDY__RDX));
}

/* A mask of one bool for all lanes, or for the first. */
static void load_one_bool(maker *m, uint32_t reg, eddy__x86_place place)
{
    load_bit(m, place);
    if (m->l.is_512) {
        eddy__x86_emit_mask(&m->l.x, EDDY__MASK_OF_BITS, reg, 0, EDDY__RDX);
        return;
    }
    emit(m, EDDY__VECTOR_OF_BITS, form_of_bytes(m), reg, 0,
         eddy__x86_reg(EDDY__RDX));
    emit(m, EDDY__VECTOR_SPREAD_I32, eddy__lanes_form(&m->l, EDDY__LANE_BOOL),
         reg, 0, eddy__x86_reg(reg));
}

static void load_bools(maker *m, uint32_t reg, eddy__x86_place place)
{
    const eddy__x86_form form = eddy__lanes_form(&m->l, EDDY__LANE_BOOL);
    eddy__x86_form bytes = form_of_bytes(m);
    const uint32_t other = eddy__lanes_take(&m->l);

    if (!m->l.is_512) {
        emit(m, EDDY__VECTOR_XOR, form, other, other, eddy__x86_reg(other));
        emit(m, EDDY__VECTOR_I32_OF_U8, form, reg, 0, place);
        emit(m, EDDY__VECTOR_SUB_I32, form, reg, other, eddy__x86_reg(reg));
    } else {
        if (m->l.extent == EDDY__LANES_SOME) {
            bytes.mask = 1;
            bytes.is_zeroing = true;
            emit(m, EDDY__VECTOR_LOAD_U8, bytes, other, 0, place);
        } else {
            emit(m, m->l.n == 16 ? EDDY__VECTOR_LOAD : EDDY__VECTOR_LOAD_EIGHT,
                 bytes, other, 0, place);
        }
        emit(m, EDDY__VECTOR_TEST_BYTES, form_of_bytes(m), reg, other,
             eddy__x86_reg(other));
    }
    eddy__lanes_give(&m->l, other);
}

static void load_numbers(maker *m, eddy__lane lane, uint32_t reg,
                         eddy__x86_place place)
{
    const bool is_long = eddy__lane_is_long(lane);
    eddy__x86_form form = eddy__lanes_form(&m->l, lane);

    if (m->l.extent == EDDY__LANES_FIRST) {
        emit(m, is_long ? EDDY__VECTOR_LOAD_ONE_F64 : EDDY__VECTOR_LOAD_ONE_F32,
             form, reg, 0, place);
        return;
    }
    if (m->l.extent == EDDY__LANES_SOME) {
        form.mask = 1;
        form.is_zeroing = true;
    }
    emit(m, is_long && m->l.is_512 ? EDDY__VECTOR_LOAD_F64 : EDDY__VECTOR_LOAD,
         form, reg, 0, place);
}

/* One number for all lanes. */
static void load_one(maker *m, eddy__lane lane, uint32_t reg,
                     eddy__x86_place place)
{
    const bool is_long = eddy__lane_is_long(lane);

    if (m->l.extent == EDDY__LANES_FIRST)
        load_numbers(m, lane, reg, place);
    else
        emit(m, is_long ? EDDY__VECTOR_SPREAD_F64 : EDDY__VECTOR_SPREAD_F32,
             eddy__lanes_form(&m->l, lane), reg, 0, place);
}

static void load_input(maker *m, uint32_t i)
{
    value *v = &m->values[i];
    eddy__x86_place place;

    v->reg = (uint8_t)eddy__lanes_take_for(&m->l, v->lane);
    if (v->is_one) {
        load_pointer(m, EDDY__RDX, place_in(i));
        place = eddy__x86_memory_by(EDDY__RDX, 0);
        if (v->lane == EDDY__LANE_BOOL)
            load_one_bool(m, v->reg, place);
        else
            load_one(m, v->lane, v->reg, place);
        return;
    }
    place = elements_at(m, v->pointer, place_in(i), v->lane);
    if (v->lane != EDDY__LANE_BOOL)
        load_numbers(m, v->lane, v->reg, place);
    else if (m->l.extent == EDDY__LANES_FIRST)
        load_one_bool(m, v->reg, place);
    else
        load_bools(m, v->reg, place);
}

/* ---- stores ---- */

/* Masks as bytes of 0 or 1, in a register to be given back. */
static uint32_t bytes_of_mask(maker *m, uint32_t reg)
{
    const uint32_t ones = eddy__lanes_constant(&m->l, EDDY__LANE_ONE_BYTES);
    const uint32_t to = eddy__lanes_take(&m->l);
    eddy__x86_form form = form_of_bytes(m);

    if (m->l.is_512) {
        form.mask = (uint8_t)reg;
        form.is_zeroing = true;
        emit(m, EDDY__VECTOR_LOAD_U8, form, to, 0, eddy__x86_reg(ones));
    } else {
        uint32_t high = reg;

        if (m->l.n == 8) {
            high = to;
            emit(m, EDDY__VECTOR_STORE_HIGH,
                 (eddy__x86_form){.bits = 256, .has_number = true, .number = 1},
                 reg, 0, eddy__x86_reg(high));
        }
        emit(m, EDDY__VECTOR_PACK_I32, form, to, reg, eddy__x86_reg(high));
        emit(m, EDDY__VECTOR_PACK_I16, form, to, to, eddy__x86_reg(to));
        emit(m, EDDY__VECTOR_AND, form, to, to, eddy__x86_reg(ones));
    }
    eddy__lanes_give(&m->l, ones);
    return to;
}

/* The first of a mask of AVX2. */
static void store_one_bool(maker *m, uint32_t reg, uint8_t pointer, int32_t at)
{
    const uint32_t bits = EDDY__RDX;
    const uint32_t to = pointer == NOWHERE ? EDDY__RSI : pointer;

    if (pointer == NOWHERE) {
        eddy__x86_emit_push(&m->l.x, to);
        load_pointer(m, to, at);
    }
    emit(m, EDDY__VECTOR_AS_BITS, form_of_bytes(m), reg, 0,
         eddy__x86_reg(bits));
    eddy__x86_emit_number(&m->l.x, EDDY__X86_AND, false, eddy__x86_reg(bits),
                          1);
    eddy__x86_emit(&m->l.x, EDDY__X86_STORE8, false, bits,
                   eddy__x86_item(to, EDDY__RAX, 0));
    if (pointer == NOWHERE)
        eddy__x86_emit_pop(&m->l.x, to);
}

static void store_bools(maker *m, uint32_t reg, eddy__x86_place place)
{
    const uint32_t bytes = bytes_of_mask(m, reg);
    eddy__x86_form form = form_of_bytes(m);
    eddy__x86_vector_op op = m->l.n == 16  ? EDDY__VECTOR_STORE
                             : m->l.n == 8 ? EDDY__VECTOR_STORE_EIGHT
                                           : EDDY__VECTOR_STORE_ONE_F32;

    if (m->l.extent == EDDY__LANES_SOME) {
        op = EDDY__VECTOR_STORE_U8;
        form.mask = 1;
    }
    emit(m, op, form, bytes, 0, place);
    eddy__lanes_give(&m->l, bytes);
}

static void store_numbers(maker *m, eddy__lane lane, uint32_t reg,
                          eddy__x86_place place)
{
    const bool is_long = eddy__lane_is_long(lane);
    eddy__x86_form form = eddy__lanes_form(&m->l, lane);

    if (m->l.extent == EDDY__LANES_FIRST) {
        emit(m,
             is_long ? EDDY__VECTOR_STORE_ONE_F64 : EDDY__VECTOR_STORE_ONE_F32,
             form, reg, 0, place);
        return;
    }
    form.mask = m->l.extent == EDDY__LANES_SOME;
    emit(m,
         is_long && m->l.is_512 ? EDDY__VECTOR_STORE_F64 : EDDY__VECTOR_STORE,
         form, reg, 0, place);
}

static void store(maker *m, uint32_t member)
{
    const value *v = &m->values[m->p->n_inputs + member];
    const int32_t at = place_out(member);

    if (v->lane == EDDY__LANE_BOOL && m->l.extent == EDDY__LANES_FIRST)
        store_one_bool(m, v->reg, v->stored, at);
    else if (v->lane == EDDY__LANE_BOOL)
        store_bools(m, v->reg, elements_at(m, v->stored, at, v->lane));
    else
        store_numbers(m, v->lane, v->reg,
                      elements_at(m, v->stored, at, v->lane));
}

/* ---- one turn ---- */

static void drop(maker *m, uint32_t i)
{
    value *v = &m->values[i];

    eddy__lanes_give_for(&m->l, v->lane, v->reg);
    v->reg = NOWHERE;
}

static bool is_pinned(const maker *m, const value *v)
{
    return v->lane != EDDY__LANE_BOOL && v->is_one && v->reg != NOWHERE &&
           (m->l.pinned >> v->reg & 1) != 0;
}

static bool is_read(const maker *m, uint32_t member, uint32_t i)
{
    const eddy__vector_member *p = &m->p->members[member];

    for (uint32_t k = 0; k < p->n_in; k++)
        if (value_of(m, p->in[k]) == i)
            return true;
    return false;
}

/* Inputs can be loaded again, so they go where registers are wanted. */
static void make_room(maker *m, uint32_t member)
{
    const uint32_t want = EDDY__LANE_MOST_TAKEN + EDDY__VECTOR_OPERANDS;

    for (uint32_t i = 0; i < m->p->n_inputs; i++) {
        const value *v = &m->values[i];
        const bool is_mask = m->l.is_512 && v->lane == EDDY__LANE_BOOL;

        if (v->reg == NOWHERE || is_pinned(m, v) || is_read(m, member, i))
            continue;
        if (is_mask ? __builtin_popcount(m->l.free_masks) < 4
                    : __builtin_popcount(m->l.free) < (int)want)
            drop(m, i);
    }
}

static void release_operands(maker *m, uint32_t member)
{
    const eddy__vector_member *p = &m->p->members[member];

    for (uint32_t k = 0; k < p->n_in; k++) {
        const uint32_t i = value_of(m, p->in[k]);

        if (m->values[i].last_use == member && m->values[i].reg != NOWHERE &&
            !is_pinned(m, &m->values[i]))
            drop(m, i);
    }
}

static void do_member(maker *m, uint32_t member)
{
    const eddy__vector_member *p = &m->p->members[member];
    const uint32_t own = m->p->n_inputs + member;
    eddy__lane_op op = {.lane = eddy__lane_of(p->type),
                        .result = m->values[own].lane};

    make_room(m, member);
    for (uint32_t k = 0; k < p->n_in; k++) {
        const uint32_t i = value_of(m, p->in[k]);

        if (m->values[i].reg == NOWHERE)
            load_input(m, i);
        op.in[k] = m->values[i].reg;
    }
    op.to = eddy__lanes_take_for(&m->l, op.result);
    m->values[own].reg = (uint8_t)op.to;
    m->rows[member]->emit(&m->l, &op, m->rows[member]->which);
    release_operands(m, member);
    if (p->is_output)
        store(m, member);
    if (m->values[own].last_use == member)
        drop(m, own);
}

/* Some elements through all members. */
static void do_turn(maker *m, eddy__lane_extent extent)
{
    m->l.extent = extent;
    for (uint32_t i = 0; i < m->p->n_members; i++)
        do_member(m, i);
    for (uint32_t i = 0; i < m->p->n_inputs; i++)
        if (m->values[i].reg != NOWHERE && !is_pinned(m, &m->values[i]))
            drop(m, i);
}

/* ---- the loop ---- */

/* Inputs of one element, then constants, as long as there is room. */
static void hold_some(maker *m, uint32_t most, uint32_t constants)
{
    m->l.extent = EDDY__LANES_ALL;
    for (uint32_t i = 0; i < m->p->n_inputs && most > 0; i++) {
        const value *v = &m->values[i];

        if (!v->is_one || (m->l.is_512 && v->lane == EDDY__LANE_BOOL))
            continue;
        load_input(m, i);
        m->l.pinned |= UINT32_C(1) << v->reg;
        most--;
    }
    for (uint32_t c = 0; c < EDDY__LANE_N_CONSTANTS && most > 0; c++)
        if (constants >> c & 1) {
            eddy__lanes_hold(&m->l, (eddy__lane_constant)c);
            most--;
        }
}

static void align(maker *m)
{
    eddy__x86_emit_nothing(&m->l.x, (32 - m->l.x.n % 32) % 32);
}

/* The lanes that are left: rcx of them. */
static void emit_end_512(maker *m)
{
    eddy__x86 *x = &m->l.x;
    size_t done;

    eddy__x86_emit(x, EDDY__X86_SUB, true, EDDY__RCX, eddy__x86_reg(EDDY__RAX));
    done = eddy__x86_emit_jump_if(x, EDDY__IF_EQUAL);
    eddy__x86_emit_mov_number(x, EDDY__RDX, 1);
    eddy__x86_emit_alone(x, EDDY__X86_SHL, false, eddy__x86_reg(EDDY__RDX));
    eddy__x86_emit_number(x, EDDY__X86_SUB, false, eddy__x86_reg(EDDY__RDX), 1);
    eddy__x86_emit_mask(x, EDDY__MASK_OF_BITS, 1, 0, EDDY__RDX);
    do_turn(m, EDDY__LANES_SOME);
    eddy__x86_aim(x, done, x->n);
}

static void emit_end(maker *m)
{
    eddy__x86 *x = &m->l.x;
    const size_t again = x->n;
    size_t done;

    eddy__x86_emit(x, EDDY__X86_CMP, true, EDDY__RAX, eddy__x86_reg(EDDY__RCX));
    done = eddy__x86_emit_jump_if(x, EDDY__IF_NOT_LESS);
    do_turn(m, EDDY__LANES_FIRST);
    eddy__x86_emit_number(x, EDDY__X86_ADD, true, eddy__x86_reg(EDDY__RAX), 1);
    eddy__x86_aim(x, eddy__x86_emit_jump(x), again);
    eddy__x86_aim(x, done, x->n);
}

static void emit_loop(maker *m)
{
    const int32_t n = (int32_t)m->l.n;
    eddy__x86 *x = &m->l.x;
    size_t over, again;

    eddy__x86_emit_number(x, EDDY__X86_SUB, true, eddy__x86_reg(EDDY__RCX), n);
    over = eddy__x86_emit_jump_if(x, EDDY__IF_LESS);
    align(m);
    again = x->n;
    do_turn(m, EDDY__LANES_ALL);
    eddy__x86_emit_number(x, EDDY__X86_ADD, true, eddy__x86_reg(EDDY__RAX), n);
    eddy__x86_emit(x, EDDY__X86_CMP, true, EDDY__RAX, eddy__x86_reg(EDDY__RCX));
    eddy__x86_aim(x, eddy__x86_emit_jump_if(x, EDDY__IF_NOT_GREATER), again);
    eddy__x86_aim(x, over, x->n);
    eddy__x86_emit_number(x, EDDY__X86_ADD, true, eddy__x86_reg(EDDY__RCX), n);
    if (m->l.is_512)
        emit_end_512(m);
    else
        emit_end(m);
}

static void emit_function(maker *m, uint32_t most_held, uint32_t constants)
{
    eddy__x86 *x = &m->l.x;
    const uint8_t *saved = pointers + N_FREE_POINTERS;

    for (uint32_t i = 0; i < m->n_saved; i++)
        eddy__x86_emit_push(x, saved[i]);
    eddy__x86_emit(
        x, EDDY__X86_MOV, true, EDDY__RCX,
        eddy__x86_memory_by(EDDY__RDI, offsetof(eddy__vector_call, n)));
    load_pointers(m);
    hold_some(m, most_held, constants);
    eddy__x86_emit(x, EDDY__X86_XOR, false, EDDY__RAX,
                   eddy__x86_reg(EDDY__RAX));
    emit_loop(m);
    eddy__x86_emit_zero_upper(x);
    for (uint32_t i = m->n_saved; i-- > 0;)
        eddy__x86_emit_pop(x, saved[i]);
    eddy__x86_emit_return(x);
    eddy__lanes_put_constants(&m->l);
}

/* ---- code ---- */

static void release(eddy__vector_code *made)
{
    code *c = (code *)(void *)made;

    eddy__pages_release(c->bytes, c->n_mapped);
    eddy__free(c->allocator, c, 1, sizeof *c);
}

/* Takes what has been written; NULL if there are no pages for it. */
static eddy__vector_code *finish(const maker *m)
{
    const eddy_allocator *allocator = m->l.x.allocator;
    code *c = eddy__allocate_zeroed(allocator, 1, sizeof *c);

    if (!c)
        return NULL;
    c->allocator = allocator;
    c->bytes = eddy__pages_of_code(m->l.x.code, m->l.x.n, &c->n_mapped);
    if (!c->bytes) {
        eddy__free(allocator, c, 1, sizeof *c);
        return NULL;
    }
    /* Bytes are no function in the eyes of C. */
    memcpy(&c->code.run, &c->bytes, sizeof c->code.run);
    c->code.n_bytes = m->l.x.n;
    c->code.release = release;
    return &c->code;
}

static void begin(maker *m)
{
    m->l.x.n = 0;
    m->l.n_uses = 0;
    m->l.free = m->l.is_512 ? UINT32_MAX : UINT32_C(0xffff);
    m->l.free_masks = 0xfc;
    m->l.pinned = m->l.held = 0;
    m->l.is_short = false;
    for (uint32_t i = 0; i < m->p->n_inputs + m->p->n_members; i++)
        m->values[i].reg = NOWHERE;
}

/*
 * First without holding anything, which says which constants there are; then
 * with as many as leave room.  False if registers are too few in any case.
 */
static bool write_code(maker *m)
{
    const uint32_t n = m->l.is_512 ? 32 : 16;
    uint32_t most = n - EDDY__LANE_MOST_TAKEN - EDDY__VECTOR_OPERANDS;

    begin(m);
    emit_function(m, 0, 0);
    if (m->l.is_short)
        return false;
    do {
        begin(m);
        emit_function(m, most, m->l.used);
        most /= 2;
    } while (m->l.is_short);
    return !m->l.x.failed;
}

static eddy__vector_code *make(const eddy__vector_program *program,
                               const eddy_allocator *allocator, bool is_512)
{
    eddy__vector_code *made = NULL;
    maker m = {.l = {.x = {.allocator = allocator},
                     .is_512 = is_512,
                     .widest = is_512 ? 512 : 256},
               .p = program};

    if (describe_values(&m)) {
        m.l.n = count_lanes(&m);
        place_pointers(&m);
        if (write_code(&m))
            made = finish(&m);
    }
    eddy__free(allocator, m.l.x.code, m.l.x.room, 1);
    eddy__free(allocator, m.l.uses, m.l.uses_room, sizeof *m.l.uses);
    return made;
}

static bool takes(const char *op, eddy_dtype type, eddy_dtype result,
                  bool is_512)
{
    return eddy__lane_row_of(op, eddy__lane_of(type), eddy__lane_of(result),
                             is_512) != NULL;
}

#define MAKER(name, is_512)                                                    \
    static bool takes_##name(const char *op, eddy_dtype type,                  \
                             eddy_dtype result)                                \
    {                                                                          \
        return takes(op, type, result, is_512);                                \
    }                                                                          \
    static eddy__vector_code *make_##name(const eddy__vector_program *program, \
                                          const eddy_allocator *allocator)     \
    {                                                                          \
        return make(program, allocator, is_512);                               \
    }                                                                          \
    static const eddy__vector_maker name = {.takes = takes_##name,             \
                                            .make = make_##name};

MAKER(avx2, false)
MAKER(avx512, true)

const eddy__vector_maker *eddy__x86_64_vector_maker(eddy__vectors vectors)
{
    return vectors >= EDDY__VECTORS_AVX512 ? &avx512
           : vectors >= EDDY__VECTORS_AVX2 ? &avx2
                                           : NULL;
}
