/* SPDX-License-Identifier: Apache-2.0 */
/* Packs on x86-64: operations on them by the rows that chains have, too. */
#include "runtime/native/x86_64_packs.h"

#include <stdatomic.h>
#include <string.h>

#define PAGE 4096

typedef eddy__x86_maker maker;

/* ---- which operations ---- */

typedef struct name {
    const char *op;
    uint8_t lane, result;
} name;

#define LANE_F32 EDDY__LANE_F32
#define LANE_F64 EDDY__LANE_F64
#define LANE_I8 EDDY__LANE_NONE
#define LANE_I16 EDDY__LANE_NONE
#define LANE_I32 EDDY__LANE_I32
#define LANE_I64 EDDY__LANE_I64
#define LANE_U8 EDDY__LANE_NONE
#define LANE_U16 EDDY__LANE_NONE
#define LANE_U32 EDDY__LANE_U32
#define LANE_U64 EDDY__LANE_U64
#define LANE_B EDDY__LANE_NONE

static const name names[EDDY__LINEAR_N_OPS] = {
#define UNARY_OP(name, D, OUT, LOCALS, e)                                      \
    [EDDY__LINEAR_##name##_##D] = {#name, LANE_##D, LANE_##OUT},
#define BINARY_OP UNARY_OP
#define CHECKED_OP(name, D, BAD, e)
#define COMPARE_OP(name, D, e)
#include "runtime/plan/linear_ops.def"
};

static const eddy__lane_row no_row;

static const eddy__lane_row *find_row(uint32_t op, bool is_512)
{
    const name *n = &names[op];
    const eddy__lane_row *row =
        n->op && n->lane == n->result
            ? eddy__lane_row_of(n->op, (eddy__lane)n->lane,
                                (eddy__lane)n->result, is_512)
            : NULL;

    return row ? row : &no_row;
}

/* Found once an operation; whoever comes first, finds the same. */
static const eddy__lane_row *row_of(uint32_t op, bool is_512)
{
    /* atomic, relaxed: constants are pointed at */
    static _Atomic(const eddy__lane_row *) found[2][EDDY__LINEAR_N_OPS];
    const eddy__lane_row *row =
        atomic_load_explicit(&found[is_512][op], memory_order_relaxed);

    if (!row) {
        row = find_row(op, is_512);
        atomic_store_explicit(&found[is_512][op], row, memory_order_relaxed);
    }
    return row;
}

static uint32_t lanes_of(uint32_t op, uint8_t dtype, bool is_512)
{
    const eddy__lane lane = eddy__lane_of((eddy_dtype)dtype);
    const uint32_t size = eddy__lane_is_long(lane) ? 8 : 4;

    if (lane == EDDY__LANE_NONE || lane == EDDY__LANE_BOOL ||
        (op != EDDY__LINEAR_MOVE && !row_of(op, is_512)->emit))
        return 0;
    return (is_512 ? 64 : 16) / size;
}

uint32_t eddy__x86_lanes_of(uint32_t op, uint8_t dtype)
{
    return lanes_of(op, dtype, false);
}

uint32_t eddy__x86_lanes_of_512(uint32_t op, uint8_t dtype)
{
    return lanes_of(op, dtype, true);
}

/* ---- places ---- */

static uint32_t size_of(const eddy__native_pack *pack)
{
    return (uint32_t)eddy_dtype_size(pack->dtype);
}

static eddy__x86_place file_place(uint32_t number)
{
    return eddy__x86_memory(
        (int32_t)(number * sizeof(eddy__value) + offsetof(eddy__value, as)));
}

static const eddy__native_pack *pack_of(const maker *m, uint32_t number)
{
    return eddy__native_as_pack(&m->region, number);
}

static bool has_home(const maker *m, uint32_t number)
{
    return eddy__native_range_of(&m->region, number)->home != EDDY__NO_HOME;
}

static uint32_t home_of(const maker *m, uint32_t number)
{
    return eddy__x86_home(m, eddy__native_range_of(&m->region, number));
}

/* Lanes behind the last member are as the first. */
void eddy__x86_gather_pack(eddy__x86_maker *m, uint32_t number)
{
    const eddy__native_pack *pack = pack_of(m, number);
    const uint32_t n = eddy__native_pack_bytes(pack) / size_of(pack);
    const bool wide = size_of(pack) == 8;
    uint32_t held = EDDY__LINEAR_NONE;

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t member = pack->members[i < pack->n ? i : 0];

        if (member != held)
            eddy__x86_emit(&m->x, EDDY__X86_MOV, wide, EDDY__RAX,
                           file_place(member));
        held = member;
        eddy__x86_emit(&m->x, EDDY__X86_STORE, wide, EDDY__RAX,
                       eddy__x86_lane_place(pack, i));
    }
    if (has_home(m, number))
        eddy__x86_move_slot(m, EDDY__VECTOR_LOAD, pack, home_of(m, number));
}

static void put_lane(maker *m, const eddy__native_pack *pack, uint32_t lane)
{
    const bool wide = size_of(pack) == 8;

    eddy__x86_emit(&m->x, EDDY__X86_MOV, wide, EDDY__RAX,
                   eddy__x86_lane_place(pack, lane));
    eddy__x86_emit(&m->x, EDDY__X86_STORE, wide, EDDY__RAX,
                   file_place(pack->members[lane]));
}

void eddy__x86_scatter_pack(eddy__x86_maker *m, uint32_t number)
{
    const eddy__native_pack *pack = pack_of(m, number);

    if (has_home(m, number) && !pack->is_mirrored)
        eddy__x86_move_slot(m, EDDY__VECTOR_STORE, pack, home_of(m, number));
    for (uint32_t i = 0; i < pack->n; i++)
        put_lane(m, pack, i);
}

void eddy__x86_put_member(eddy__x86_maker *m, uint32_t number)
{
    const eddy__native_pack *pack =
        eddy__native_pack_of(&m->region.homes.packs, number);

    put_lane(m, pack, eddy__native_lane_of(pack, number));
}

/* ---- operands ---- */

static uint32_t number_of_pack(const maker *m, uint32_t pack)
{
    return m->region.linear->n_registers + pack;
}

/* A register that holds it: its home, or one to be given back. */
static uint32_t hold_pack(maker *m, uint32_t which)
{
    const uint32_t number = number_of_pack(m, which);
    uint32_t reg;

    if (has_home(m, number))
        return home_of(m, number);
    reg = eddy__lanes_take(&m->lanes);
    eddy__x86_move_slot(m, EDDY__VECTOR_LOAD, pack_of(m, number), reg);
    return reg;
}

/* Indexes that stand behind the code; gives where the distance to them is. */
static void load_order(maker *m, uint32_t reg, const uint8_t *order,
                       uint32_t bytes)
{
    eddy__x86_order *o;

    if (!eddy__grow(m->x.allocator, (void **)&m->orders, &m->orders_room,
                    m->n_orders + 1, sizeof *m->orders)) {
        m->x.failed = true;
        return;
    }
    o = &m->orders[m->n_orders++];
    memcpy(o->bytes, order, bytes);
    o->n = (uint8_t)bytes;
    o->at = eddy__x86_emit_vector_near(&m->x, EDDY__VECTOR_LOAD,
                                       eddy__x86_form_of(m, bytes), reg);
}

/*
 * Indexes of lanes: of four bytes each, or of eight; where a vector has 16
 * bytes, those of eight stand a bit higher.
 */
static void write_order(const eddy__pack_operand *in, uint32_t n_in,
                        uint32_t size, uint32_t bytes, uint8_t *out)
{
    for (uint32_t i = 0; i < bytes / size; i++) {
        const uint8_t lane = in->order[i < n_in ? i : 0];

        out[(size_t)i * size] =
            (uint8_t)(size == 8 && bytes == 16 ? (uint32_t)lane << 1 : lane);
    }
}

static bool is_in_order(const eddy__pack_operand *in, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (in->order[i] != i)
            return false;
    return true;
}

static uint32_t longest(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t choose_lanes(maker *m, const eddy__native_group *group,
                             const eddy__pack_operand *in)
{
    const eddy__native_packs *packs = &m->region.homes.packs;
    const eddy__native_pack *from = &packs->packs[in->which];
    const uint32_t bytes =
        longest(eddy__native_pack_bytes(from),
                eddy__native_pack_bytes(&packs->packs[group->to]));
    const uint32_t size = size_of(from), reg = hold_pack(m, in->which);
    uint8_t order[64] = {0};
    uint32_t to;

    if (is_in_order(in, group->n))
        return reg;
    to = eddy__lanes_take(&m->lanes);
    write_order(in, group->n, size, bytes, order);
    load_order(m, to, order, bytes);
    if (bytes == 16)
        eddy__x86_emit_vector(
            &m->x, size == 8 ? EDDY__VECTOR_ORDER_TWO : EDDY__VECTOR_ORDER_FOUR,
            eddy__x86_form_of(m, bytes), to, reg, eddy__x86_reg(to));
    else
        eddy__x86_emit_vector(
            &m->x, size == 8 ? EDDY__VECTOR_ORDER_F64 : EDDY__VECTOR_ORDER_F32,
            eddy__x86_form_of(m, bytes), to, to, eddy__x86_reg(reg));
    return to;
}

/* One register of the linear form in all lanes. */
static uint32_t spread(maker *m, const eddy__pack_operand *in,
                       const eddy__native_pack *as)
{
    const bool wide = size_of(as) == 8;
    const uint32_t to = eddy__lanes_take(&m->lanes);
    const uint32_t spare = m->lanes.is_512 ? 0 : to;
    eddy__x86_place from = eddy__x86_place_of(m, in->which);
    eddy__x86_form form = eddy__x86_form_of(m, eddy__native_pack_bytes(as));

    if (!from.is_memory &&
        !eddy__lane_is_float(eddy__lane_of((eddy_dtype)as->dtype))) {
        eddy__x86_emit(&m->x, EDDY__X86_OF_BITS, wide, spare, from);
        from = eddy__x86_reg(spare);
    }
    if (wide && m->lanes.is_512 && form.bits < 256)
        form.bits = 256;
    eddy__x86_emit_vector(&m->x,
                          !wide             ? EDDY__VECTOR_SPREAD_F32
                          : m->lanes.is_512 ? EDDY__VECTOR_SPREAD_F64
                                            : EDDY__VECTOR_SPREAD_TWO,
                          form, to, 0, from);
    return to;
}

static uint32_t hold_operand(maker *m, const eddy__native_group *group,
                             uint32_t k)
{
    const eddy__pack_operand *in = &group->in[k];

    switch ((eddy__pack_way)in->way) {
    case EDDY__PACK_WHOLE:
        return hold_pack(m, in->which);
    case EDDY__PACK_LANES_OF:
        return choose_lanes(m, group, in);
    case EDDY__PACK_SPREAD:
        return spread(m, in, &m->region.homes.packs.packs[group->to]);
    }
    return 0;
}

/* ---- groups ---- */

static void emit_row(maker *m, const eddy__native_group *group, uint32_t to,
                     const uint32_t in[2])
{
    const eddy__native_pack *pack = &m->region.homes.packs.packs[group->to];
    const eddy__lane_row *row =
        row_of(m->region.linear->code[group->first].op, m->lanes.is_512);
    const eddy__lane lane = eddy__lane_of((eddy_dtype)pack->dtype);
    const eddy__lane_op op = {
        .lane = lane, .result = lane, .to = to, .in = {in[0], in[1], 0}};
    eddy__lanes *l = &m->lanes;

    l->n = eddy__native_pack_bytes(pack) / size_of(pack);
    /* Where there is no need of 64 bytes, they cost a port. */
    if (l->is_512)
        l->widest = eddy__native_pack_bytes(pack) > 32 ? 512 : 256;
    l->x = m->x;
    row->emit(l, &op, row->which);
    m->x = l->x;
}

static void copy(maker *m, const eddy__native_pack *pack, uint32_t to,
                 uint32_t from)
{
    if (to != from)
        eddy__x86_emit_vector(
            &m->x, EDDY__VECTOR_LOAD,
            eddy__x86_form_of(m, eddy__native_pack_bytes(pack)), to, 0,
            eddy__x86_reg(from));
}

void eddy__x86_emit_group(eddy__x86_maker *m, const eddy__native_group *group)
{
    const uint32_t number = number_of_pack(m, group->to);
    const eddy__native_pack *pack = pack_of(m, number);
    const uint32_t op = m->region.linear->code[group->first].op;
    const bool is_home = has_home(m, number);
    uint32_t in[2] = {0, 0}, to;

    m->lanes.free = m->spare_packs;
    m->lanes.free_masks = 0xfe;
    for (uint32_t k = 0; k < group->n_in; k++)
        in[k] = hold_operand(m, group, k);
    if (op == EDDY__LINEAR_MOVE) {
        to = in[0];
    } else {
        to = is_home ? home_of(m, number) : eddy__lanes_take(&m->lanes);
        if (!eddy__lane_row_is_alone(row_of(op, m->lanes.is_512)) &&
            (to == in[0] || (group->n_in > 1 && to == in[1])))
            to = eddy__lanes_take(&m->lanes);
        emit_row(m, group, to, in);
    }
    if (is_home)
        copy(m, pack, home_of(m, number), to);
    if (!is_home || pack->is_mirrored)
        eddy__x86_move_slot(m, EDDY__VECTOR_STORE, pack, to);
}

/* ---- slots, and what stands behind the code ---- */

static int32_t slots_end(const maker *m)
{
    return (m->region.homes.packs.n_bytes + 63) / 64 * 64;
}

/* The stack grows a page at a time, each of which is touched. */
void eddy__x86_open_slots(eddy__x86_maker *m)
{
    const eddy__x86_place rsp = eddy__x86_reg(EDDY__RSP);
    const int32_t end = slots_end(m);

    if (end == 0)
        return;
    eddy__x86_emit(&m->x, EDDY__X86_MOV, true, EDDY__RAX, rsp);
    for (int32_t at = PAGE; at < end; at += PAGE)
        eddy__x86_emit(&m->x, EDDY__X86_STORE, true, EDDY__RAX,
                       eddy__x86_memory_by(EDDY__RSP, -at));
    eddy__x86_emit_number(&m->x, EDDY__X86_SUB, true, rsp, end + 64);
    eddy__x86_emit_number(&m->x, EDDY__X86_AND, true, rsp, -64);
    eddy__x86_emit(&m->x, EDDY__X86_STORE, true, EDDY__RAX,
                   eddy__x86_memory_by(EDDY__RSP, end));
}

void eddy__x86_close_slots(eddy__x86_maker *m)
{
    if (slots_end(m) > 0)
        eddy__x86_emit(&m->x, EDDY__X86_MOV, true, EDDY__RSP,
                       eddy__x86_memory_by(EDDY__RSP, slots_end(m)));
}

void eddy__x86_put_pack_constants(eddy__x86_maker *m)
{
    for (size_t i = 0; i < m->n_orders; i++) {
        eddy__x86_aim(&m->x, m->orders[i].at, m->x.n);
        for (uint32_t at = 0; at < m->orders[i].n; at += 16)
            eddy__x86_emit_bytes(&m->x, m->orders[i].bytes + at, 16);
    }
    m->lanes.x = m->x;
    eddy__lanes_put_constants(&m->lanes);
    m->x = m->lanes.x;
}
