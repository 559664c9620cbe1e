/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code for the typed operations of the linear form on x86-64, with the bits of
 * their expressions in the tables of ops/math: a row each, comparisons, moves
 * and choices.  An operation that has no row here is a call of its function.
 */
#include "runtime/native/x86_64_ops.h"

#include "runtime/native/ops_table.h"

typedef eddy__x86_maker maker;

/* ---- comparisons ---- */

static eddy__x86_answer compare_ints(maker *m, const eddy__x86_job *j)
{
    static const uint8_t with_sign[] = {EDDY__IF_LESS,    EDDY__IF_NOT_GREATER,
                                        EDDY__IF_GREATER, EDDY__IF_NOT_LESS,
                                        EDDY__IF_EQUAL,   EDDY__IF_NOT_EQUAL};
    static const uint8_t without[] = {EDDY__IF_BELOW, EDDY__IF_NOT_ABOVE,
                                      EDDY__IF_ABOVE, EDDY__IF_NOT_BELOW,
                                      EDDY__IF_EQUAL, EDDY__IF_NOT_EQUAL};
    const uint32_t a = eddy__x86_hold_int(m, j->t, j->a, EDDY__RAX);
    const eddy__x86_place b = eddy__x86_last_int(m, j->t, j->b, EDDY__RCX);

    eddy__x86_emit(&m->x, EDDY__X86_CMP, eddy__x86_is_wide(j->t), a, b);
    return (eddy__x86_answer){
        .condition = (j->t->is_signed ? with_sign : without)[j->detail]};
}

/* NaN sets what "below" and "equal" read: so it is always asked for above. */
static eddy__x86_answer compare_floats(maker *m, const eddy__x86_job *j)
{
    const bool is_turned = j->detail == LESS || j->detail == LESS_EQUAL;
    const eddy__x86_place x = is_turned ? j->b : j->a;
    const eddy__x86_place y = is_turned ? j->a : j->b;

    eddy__x86_compare_to(m, j->t, eddy__x86_hold_float(m, j->t, x, EDDY__XMM0),
                         y);
    return (eddy__x86_answer){.condition =
                                  j->detail == LESS || j->detail == GREATER
                                      ? EDDY__IF_ABOVE
                                      : EDDY__IF_NOT_BELOW,
                              .is_equal = j->detail == EQUAL,
                              .is_not_equal = j->detail == NOT_EQUAL};
}

static eddy__x86_answer compare(maker *m, const eddy__x86_job *j)
{
    return j->t->is_float ? compare_floats(m, j) : compare_ints(m, j);
}

static void emit_comparison(maker *m, eddy__x86_job *j)
{
    const eddy__x86_answer answer = compare(m, j);

    if (answer.is_equal) {
        eddy__x86_emit_set(&m->x, EDDY__IF_EQUAL, EDDY__RAX);
        eddy__x86_emit_set(&m->x, EDDY__IF_NO_PARITY, EDDY__RCX);
        eddy__x86_emit(&m->x, EDDY__X86_AND, false, EDDY__RAX,
                       eddy__x86_reg(EDDY__RCX));
    } else if (answer.is_not_equal) {
        eddy__x86_emit_set(&m->x, EDDY__IF_NOT_EQUAL, EDDY__RAX);
        eddy__x86_emit_set(&m->x, EDDY__IF_PARITY, EDDY__RCX);
        eddy__x86_emit(&m->x, EDDY__X86_OR, false, EDDY__RAX,
                       eddy__x86_reg(EDDY__RCX));
    } else {
        eddy__x86_emit_set(&m->x, answer.condition, EDDY__RAX);
    }
    eddy__x86_put_int(m, &eddy__x86_u8, j->to, EDDY__RAX);
}

/* ---- the table ---- */

/* As rows name it (ops_table.h). */
static void emit_cast(maker *m, eddy__x86_job *j)
{
    eddy__x86_make_cast(m, j);
}

typedef struct row {
    eddy__x86_make_fn *emit; /* NULL: a call of its function */
    uint8_t detail;
    uint8_t dtype; /* of the operands */
} row;

/* clang-format off */
static const row rows[EDDY__LINEAR_N_OPS] = {
    CAST(F32, EDDY_FLOAT32)
    CAST(F64, EDDY_FLOAT64)
    CAST_INT(I8, EDDY_INT8)
    CAST_INT(I16, EDDY_INT16)
    CAST_INT(I32, EDDY_INT32)
    CAST_INT(I64, EDDY_INT64)
    CAST_INT(U8, EDDY_UINT8)
    CAST_INT(U16, EDDY_UINT16)
    CAST_INT(U32, EDDY_UINT32)
    CAST_INT(U64, EDDY_UINT64)
    CAST_INT(B, EDDY_BOOL)
    FLOATS(DivNoNan, eddy__x86_make_quotient_or_zero, EDDY__BY_B)
    FLOATS(Xdivy, eddy__x86_make_quotient_or_zero, EDDY__BY_A)
    FLOATS(MulNoNan, eddy__x86_make_product_or_zero, EDDY__BY_B)
    FLOATS(Floor, eddy__x86_make_float_round, EDDY__X86_DOWN)
    FLOATS(Ceil, eddy__x86_make_float_round, EDDY__X86_UP)
    FLOATS(Round, eddy__x86_make_float_round, EDDY__X86_TO_EVEN)
    FLOATS(FloorDiv, eddy__x86_make_rounded_quotient, EDDY__X86_DOWN)
    FLOATS(TruncateDiv, eddy__x86_make_rounded_quotient, EDDY__X86_TO_ZERO)
    FLOATS(Sign, eddy__x86_make_float_sign, 0)
    FLOATS(Softsign, eddy__x86_make_softsign, 0)
    FLOATS(Relu6, eddy__x86_make_float_relu6, 0)
    INTS(Relu6, eddy__x86_make_int_relu6, 0)
    FLOATS(IsFinite, eddy__x86_make_is_finite, 0)
    FLOATS(IsInf, eddy__x86_make_is_infinite, 0)
    INTS(AddV2, eddy__x86_make_int, EDDY__X86_ADD)
    FLOATS(AddV2, eddy__x86_make_float, EDDY__X86_ADD_F32)
    INTS(Sub, eddy__x86_make_int, EDDY__X86_SUB)
    FLOATS(Sub, eddy__x86_make_float, EDDY__X86_SUB_F32)
    INTS(Mul, eddy__x86_make_int, EDDY__X86_IMUL)
    FLOATS(Mul, eddy__x86_make_float, EDDY__X86_MUL_F32)
    SIGNED(Div, eddy__x86_make_int_quotient, EDDY__TRUNCATED)
    UNSIGNED(Div, eddy__x86_make_int_quotient, EDDY__TRUNCATED)
    FLOATS(Div, eddy__x86_make_float, EDDY__X86_DIV_F32)
    FLOATS(RealDiv, eddy__x86_make_float, EDDY__X86_DIV_F32)
    INTS(FloorDiv, eddy__x86_make_int_quotient, EDDY__FLOORED)
    INTS(FloorMod, eddy__x86_make_int_quotient, EDDY__FLOORED | EDDY__REST)
    INTS(TruncateDiv, eddy__x86_make_int_quotient, EDDY__TRUNCATED)
    SIGNED(TruncateMod, eddy__x86_make_int_quotient, EDDY__REST)
    INTS(BitwiseAnd, eddy__x86_make_int, EDDY__X86_AND)
    INTS(BitwiseOr, eddy__x86_make_int, EDDY__X86_OR)
    INTS(BitwiseXor, eddy__x86_make_int, EDDY__X86_XOR)
    INTS(LeftShift, eddy__x86_make_int_shift, EDDY__X86_SHL)
    SIGNED(RightShift, eddy__x86_make_int_shift, EDDY__X86_SAR)
    UNSIGNED(RightShift, eddy__x86_make_int_shift, EDDY__X86_SHR)
    SIGNED(Maximum, eddy__x86_make_int_choice, EDDY__X86_CMOVL)
    UNSIGNED(Maximum, eddy__x86_make_int_choice, EDDY__X86_CMOVB)
    FLOATS(Maximum, eddy__x86_make_float_choice, EDDY__X86_MAX_F32)
    SIGNED(Minimum, eddy__x86_make_int_choice, EDDY__X86_CMOVG)
    UNSIGNED(Minimum, eddy__x86_make_int_choice, EDDY__X86_CMOVA)
    FLOATS(Minimum, eddy__x86_make_float_choice, EDDY__X86_MIN_F32)
    SIGNED(SquaredDifference, eddy__x86_make_int_squared_difference, 0)
    FLOATS(SquaredDifference, eddy__x86_make_float_squared_difference, 0)
    SIGNED(Abs, eddy__x86_make_int_abs, 0)
    FLOATS(Abs, eddy__x86_make_float_abs, 0)
    SIGNED(Neg, eddy__x86_make_int_alone, EDDY__X86_NEG)
    FLOATS(Neg, eddy__x86_make_float_neg, 0)
    INTS(Invert, eddy__x86_make_int_alone, EDDY__X86_NOT)
    FLOATS(Reciprocal, eddy__x86_make_float_reciprocal, 0)
    SIGNED(Relu, eddy__x86_make_int_relu, 0)
    UNSIGNED(Relu, eddy__x86_make_int_move, 0)
    FLOATS(Relu, eddy__x86_make_float_relu, 0)
    SIGNED(Round, eddy__x86_make_int_move, 0)
    FLOATS(Rsqrt, eddy__x86_make_float_rsqrt, 0)
    SIGNED(Sign, eddy__x86_make_int_sign, 0)
    FLOATS(Sqrt, eddy__x86_make_float_sqrt, 0)
    INTS(Square, eddy__x86_make_int_square, 0)
    FLOATS(Square, eddy__x86_make_float_square, EDDY__X86_MUL_F32)
    FLOATS(IsNan, eddy__x86_make_is_nan, 0)
    ROW(LogicalAnd, B, EDDY_BOOL, eddy__x86_make_int, EDDY__X86_AND)
    ROW(LogicalOr, B, EDDY_BOOL, eddy__x86_make_int, EDDY__X86_OR)
    ROW(LogicalNot, B, EDDY_BOOL, eddy__x86_make_not, 0)
    COMPARISON(Less, LESS)
    COMPARISON(LessEqual, LESS_EQUAL)
    COMPARISON(Greater, GREATER)
    COMPARISON(GreaterEqual, GREATER_EQUAL)
    COMPARISON(Equal, EQUAL)
    COMPARISON(NotEqual, NOT_EQUAL)
    BOTH_ROWS(Equal, B, EDDY_BOOL, EQUAL)
    BOTH_ROWS(NotEqual, B, EDDY_BOOL, NOT_EQUAL)
};
/* clang-format on */

/* What takes instructions that not every processor has. */
static bool is_rounding(const row *r)
{
    return r->emit == eddy__x86_make_float_round ||
           r->emit == eddy__x86_make_rounded_quotient;
}

bool eddy__x86_has(uint32_t op)
{
    const row *r = &rows[op];

    return op == EDDY__LINEAR_MOVE || eddy__linear_is_select(op) ||
           (r->emit && (!is_rounding(r) || eddy__x86_can_round()));
}

/* Bits of a register, in a home or not, to a register of integers. */
static void get_bits(maker *m, const eddy__x86_type *t, uint32_t to,
                     eddy__x86_place from)
{
    if (t->is_float)
        eddy__x86_emit(&m->x,
                       from.is_memory ? EDDY__X86_MOV : EDDY__X86_AS_BITS,
                       eddy__x86_is_wide(t), from.is_memory ? to : from.reg,
                       from.is_memory ? from : eddy__x86_reg(to));
    else
        eddy__x86_get_int(m, t, to, from);
}

static void put_bits(maker *m, const eddy__x86_type *t, eddy__x86_place to,
                     uint32_t reg)
{
    if (t->is_float && !to.is_memory)
        eddy__x86_emit(&m->x, EDDY__X86_OF_BITS, eddy__x86_is_wide(t), to.reg,
                       eddy__x86_reg(reg));
    else
        eddy__x86_put_int(m, t, to, reg);
}

/* a if the condition is true, else b: without a branch. */
static void emit_select(maker *m, const eddy__linear_code *c)
{
    const eddy__native_range *r =
        eddy__native_range_of(&m->region, eddy__native_number_of(c->to));
    static const eddy__x86_type *const bits[] = {
        &eddy__x86_u8, &eddy__x86_u16, &eddy__x86_u32, &eddy__x86_u64};
    const eddy__x86_type *t = r->class < EDDY__CLASS_INT
                                  ? bits[c->op - EDDY__LINEAR_SELECT_8]
                                  : eddy__x86_type_of(r->dtype);
    const eddy__x86_place condition =
        eddy__x86_operand_at(m, c->aux * (uint32_t)sizeof(eddy__value));

    get_bits(m, t, EDDY__RAX, eddy__x86_operand_at(m, c->a));
    get_bits(m, t, EDDY__RCX, eddy__x86_operand_at(m, c->b));
    if (condition.is_memory)
        eddy__x86_emit_number8(&m->x, EDDY__X86_CMP, condition, 0);
    else
        eddy__x86_emit(&m->x, EDDY__X86_TEST, false, condition.reg, condition);
    eddy__x86_emit(&m->x, EDDY__X86_CMOVE, true, EDDY__RAX,
                   eddy__x86_reg(EDDY__RCX));
    put_bits(m, t, eddy__x86_operand_at(m, c->to), EDDY__RAX);
}

/* Of eight bytes, whatever they are. */
static void emit_move(maker *m, const eddy__linear_code *c)
{
    const eddy__native_range *r =
        eddy__native_range_of(&m->region, eddy__native_number_of(c->to));
    eddy__x86_job j = {.to = eddy__x86_operand_at(m, c->to),
                       .a = eddy__x86_operand_at(m, c->a)};

    j.t = r->class == EDDY__CLASS_WORD ? &eddy__x86_u64
                                       : eddy__x86_type_of(r->dtype);
    if (!j.t->is_float)
        eddy__x86_make_int_move(m, &j);
    else if (!j.to.is_memory)
        eddy__x86_get_float(m, j.t, j.to.reg, j.a);
    else
        eddy__x86_put_float(m, j.t, j.to,
                            eddy__x86_hold_float(m, j.t, j.a, EDDY__XMM0));
}

/* The value of an integer, extended as it is in registers. */
static int64_t value_of(const eddy__x86_type *t, const eddy__value *v)
{
    switch (t->size) {
    case 1:
        return t->is_signed ? v->as.i8 : v->as.u8;
    case 2:
        return t->is_signed ? v->as.i16 : v->as.u16;
    case 4:
        return t->is_signed ? (int64_t)v->as.i32 : (int64_t)v->as.u32;
    default:
        return v->as.i64;
    }
}

static eddy__x86_job job_of(const maker *m, const eddy__linear_code *c)
{
    const char *operands = eddy__linear_operands(c->op);
    const row *r = &rows[c->op];
    eddy__x86_job j = {.t = eddy__x86_type_of(r->dtype), .detail = r->detail};

    if (operands[0] == 'w')
        j.to = eddy__x86_operand_at(m, c->to);
    j.a = eddy__x86_operand_at(m, c->a);
    /* One that is not there is memory: it is nobody's home. */
    j.b = operands[2] == 'r' ? eddy__x86_operand_at(m, c->b)
                             : eddy__x86_memory(0);
    if (operands[2] == 'r' && !j.t->is_float &&
        m->region.homes.ranges[eddy__native_number_of(c->b)].is_constant) {
        j.is_known = true;
        j.known = value_of(
            j.t, &m->region.linear->start[eddy__native_number_of(c->b)]);
    }
    return j;
}

void eddy__x86_emit_op(eddy__x86_maker *m, const eddy__linear_code *c,
                       size_t *out_fault)
{
    eddy__x86_job j;

    *out_fault = 0;
    if (c->op == EDDY__LINEAR_MOVE) {
        emit_move(m, c);
        return;
    }
    if (eddy__linear_is_select(c->op)) {
        emit_select(m, c);
        return;
    }
    j = job_of(m, c);
    rows[c->op].emit(m, &j);
    *out_fault = j.fault;
}

eddy__x86_answer eddy__x86_emit_test(eddy__x86_maker *m,
                                     const eddy__linear_code *c)
{
    const eddy__x86_job j = job_of(m, c);

    return compare(m, &j);
}
