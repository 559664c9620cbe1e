/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine code of each typed operation against its function in C: every dtype,
 * all pairs of special values and random ones, with operands in registers and
 * in memory, one register in several roles, and fused with branches.
 * EDDY_PAIRS is how many random pairs there are.
 */
#include "core/base/float_mode.h"
#include "core/base/memory.h"
#include "runtime/exec/linear/linear.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Registers: the operands, then others that want homes more. */
enum { TO, A, B, FIRST_OTHER, N_OTHERS = 26, N_REGISTERS = FIRST_OTHER + 26 };

/* How the operands stand. */
typedef enum role_set {
    APART,
    TO_IS_A,
    TO_IS_B,
    ALL_ONE,
    IN_MEMORY,
    TO_IS_A_IN_MEMORY,
    B_IS_KNOWN, /* a constant */
    N_ROLES
} role_set;

/* What stands before the registers, for code to find. */
typedef struct world {
    eddy__native_state state;
    eddy__value registers[N_REGISTERS];
    uint64_t counters[2], iterations[1];
    int64_t index;
} world;

static world w;

static uint32_t say_paused(eddy__native_state *state, uint32_t at)
{
    (void)state;
    (void)at;
    return EDDY__NATIVE_PAUSED;
}

static uint32_t say_failed(eddy__native_state *state, uint32_t at)
{
    (void)state;
    (void)at;
    return EDDY__NATIVE_FAILED;
}

static const eddy__native_layout layout = {
    .state =
        (int32_t)offsetof(world, state) - (int32_t)offsetof(world, registers),
    .counters = offsetof(world, counters) - offsetof(world, registers),
    .iterations = offsetof(world, iterations) - offsetof(world, registers),
    .indexes = offsetof(world, index) - offsetof(world, registers),
    .index_stride = 8};

static uint32_t offset_of(uint32_t number)
{
    return number * (uint32_t)sizeof(eddy__value);
}

/* A region of a few instructions around the one in question. */
typedef struct sample {
    eddy__linear linear;
    eddy__linear_code code[4 * N_OTHERS + 8];
    eddy__value start[N_REGISTERS];
    eddy__linear_frame frame;
    eddy__linear_entry entries[3];
    eddy__linear_exit exit;
    uint32_t n;
} sample;

static void add(sample *s, uint32_t op, uint32_t to, uint32_t a, uint32_t b)
{
    s->code[s->n++] =
        (eddy__linear_code){.op = (uint16_t)op, .to = to, .a = a, .b = b};
}

/* Others are touched so often that the operands are left in memory. */
static void touch_others(sample *s)
{
    for (uint32_t i = 0; i < 2 * N_OTHERS; i++) {
        const uint32_t at = offset_of(FIRST_OTHER + i % N_OTHERS);

        add(s, EDDY__LINEAR_MOVE, at, at, 0);
    }
}

static uint32_t register_of(role_set roles, uint32_t role)
{
    if (roles == ALL_ONE)
        return A;
    if (role == TO && (roles == TO_IS_A || roles == TO_IS_A_IN_MEMORY))
        return A;
    return role == TO && roles == TO_IS_B ? B : role;
}

static bool is_in_memory(role_set roles)
{
    return roles == IN_MEMORY || roles == TO_IS_A_IN_MEMORY;
}

static void begin_sample(sample *s, role_set roles, eddy_dtype in,
                         eddy_dtype out)
{
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < N_REGISTERS; i++)
        s->start[i] = (eddy__value){.kind = EDDY__SCALAR,
                                    .dtype = (uint8_t)(i < FIRST_OTHER ? in
                                                       : i % 2 ? EDDY_INT64
                                                               : EDDY_FLOAT64)};
    if (register_of(roles, TO) == TO)
        s->start[TO].dtype = (uint8_t)out;
    s->frame = (eddy__linear_frame){.parent = EDDY__LINEAR_NONE};
    s->entries[0] = (eddy__linear_entry){.to = A, .is_raw = true};
    s->entries[1] = (eddy__linear_entry){.to = B, .is_raw = true};
    s->exit.from = register_of(roles, TO);
    s->linear = (eddy__linear){.code = s->code,
                               .n_registers = N_REGISTERS,
                               .n_frames = 1,
                               .n_counters = 2,
                               .n_entries = 2,
                               .n_exits = 1,
                               .start = s->start,
                               .frames = &s->frame,
                               .entries = s->entries,
                               .exits = &s->exit};
    add(s, EDDY__LINEAR_ENTER, 0, 0, 0);
    if (is_in_memory(roles))
        touch_others(s);
}

static eddy__native_code *end_sample(sample *s, role_set roles)
{
    eddy__native_code *code = NULL;

    if (is_in_memory(roles))
        touch_others(s);
    add(s, EDDY__LINEAR_LEAVE, 0, 0, 0);
    add(s, EDDY__LINEAR_DONE, 0, 0, 0);
    s->linear.n_code = s->n;
    ck_assert_int_eq(
        eddy__native_provider_here()->compile(
            &(eddy__native_request){.linear = &s->linear,
                                    .layout = layout,
                                    .allocator = eddy__default_allocator()},
            &code),
        EDDY_OK);
    return code;
}

static eddy__native_verdict enter(const eddy__native_code *code, sample *s,
                                  uint64_t a, uint64_t b, int64_t fuel)
{
    memset(&w, 0, sizeof w);
    memcpy(w.registers, s->start, sizeof w.registers);
    w.registers[A].as.bits = a;
    w.registers[B].as.bits = b;
    w.index = -1;
    w.state = (eddy__native_state){.fuel = fuel,
                                   .most_frames = 1,
                                   .refuel = say_paused,
                                   .perform = say_failed,
                                   .functions = eddy__linear_functions};
    return eddy__native_enter(code, w.registers, 0);
}

/* ---- values ---- */

static size_t size_of(eddy_dtype dtype)
{
    return dtype == EDDY_BOOL ? 1 : eddy_dtype_size(dtype);
}

static bool is_float(eddy_dtype dtype)
{
    return dtype == EDDY_FLOAT32 || dtype == EDDY_FLOAT64;
}

static uint64_t bits_of(eddy_dtype dtype, double x)
{
    eddy__value v = {0};

    if (dtype == EDDY_FLOAT32)
        v.as.f32 = (float)x;
    else
        v.as.f64 = x;
    return v.as.bits;
}

#define N_SPECIALS 24

static size_t list_specials(eddy_dtype dtype, uint64_t *out)
{
    static const double floats[] = {0,       -0.0, 1,     -1,   2,      -2,
                                    0.5,     3,    -7.5,  1e10, -1e-10, 1.0 / 3,
                                    65536.5, 1e30, -1e30, 0};
    static const uint64_t ints[] = {0, 1, 2, 3, 5, 6, 7, 31, 32, 63, 100};
    size_t n = 0;

    if (dtype == EDDY_BOOL) {
        out[0] = 0;
        out[1] = 1;
        return 2;
    }
    if (!is_float(dtype)) {
        const uint64_t top = (uint64_t)1 << (8 * size_of(dtype) - 1);

        for (size_t i = 0; i < sizeof ints / sizeof ints[0]; i++) {
            out[n++] = ints[i];
            if (i < 5)
                out[n++] = 0 - ints[i];
        }
        out[n++] = top;
        out[n++] = top - 1;
        out[n++] = top + 1;
        return n;
    }
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++)
        out[n++] = bits_of(dtype, floats[i]);
    out[n++] = bits_of(dtype, (double)INFINITY);
    out[n++] = bits_of(dtype, -(double)INFINITY);
    out[n++] = bits_of(dtype, (double)NAN);
    /* Denormal: the least, and one with a sign. */
    out[n++] = 1;
    out[n++] = ((uint64_t)1 << (8 * size_of(dtype) - 1)) + 77;
    /* The least that is none, and the greatest. */
    out[n++] = dtype == EDDY_FLOAT32 ? 0x00800000 : 0x0010000000000000;
    out[n++] = dtype == EDDY_FLOAT32 ? 0x7f7fffff : 0x7fefffffffffffff;
    ck_assert_uint_le(n, N_SPECIALS);
    return n;
}

static uint64_t state;

static uint64_t next_random(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ state >> 29;
}

/* Any bits, or a number of a size that many ops have to do with. */
static uint64_t random_value(eddy_dtype dtype)
{
    const uint64_t bits = next_random();

    if (dtype == EDDY_BOOL)
        return bits >> 40 & 1;
    if (bits >> 60 < 8)
        return next_random();
    return is_float(dtype)
               ? bits_of(dtype, (double)(int64_t)(bits >> 40) / 1024.0 - 8192)
               : (bits >> 44) - 32768;
}

/* ---- one operation ---- */

typedef struct subject {
    const char *name;
    uint32_t op;
    eddy_dtype in, out;
    bool is_pair, is_checked;
} subject;

static const subject subjects[] = {
#define UNARY_OP(name, D, OUT, LOCALS, e)                                      \
    {#name "_" #D, EDDY__LINEAR_##name##_##D, DTYPE_##D, DTYPE_##OUT, false,   \
     false},
#define BINARY_OP(name, D, OUT, LOCALS, e)                                     \
    {#name "_" #D, EDDY__LINEAR_##name##_##D, DTYPE_##D, DTYPE_##OUT, true,    \
     false},
#define CHECKED_OP(name, D, BAD, e)                                            \
    {#name "_" #D, EDDY__LINEAR_##name##_##D, DTYPE_##D, DTYPE_##D, true, true},
#define COMPARE_OP(name, D, e)                                                 \
    {#name "_" #D, EDDY__LINEAR_##name##_##D, DTYPE_##D, EDDY_BOOL, true,      \
     false},
#define DTYPE_F32 EDDY_FLOAT32
#define DTYPE_F64 EDDY_FLOAT64
#define DTYPE_I8 EDDY_INT8
#define DTYPE_I16 EDDY_INT16
#define DTYPE_I32 EDDY_INT32
#define DTYPE_I64 EDDY_INT64
#define DTYPE_U8 EDDY_UINT8
#define DTYPE_U16 EDDY_UINT16
#define DTYPE_U32 EDDY_UINT32
#define DTYPE_U64 EDDY_UINT64
#define DTYPE_B EDDY_BOOL
#include "runtime/plan/linear_ops.def"
};

#define N_SUBJECTS (sizeof subjects / sizeof subjects[0])

static uint64_t low_bits(uint64_t bits, eddy_dtype dtype)
{
    const size_t size = size_of(dtype);

    return size == 8 ? bits : bits & (((uint64_t)1 << 8 * size) - 1);
}

static bool is_nan(uint64_t bits, eddy_dtype dtype)
{
    eddy__value v = {.as.bits = bits};

    return dtype == EDDY_FLOAT32   ? isnan(v.as.f32) != 0
           : dtype == EDDY_FLOAT64 ? isnan(v.as.f64) != 0
                                   : false;
}

static bool is_same(uint64_t x, uint64_t y, eddy_dtype dtype)
{
    x = low_bits(x, dtype);
    y = low_bits(y, dtype);
    return x == y || (is_nan(x, dtype) && is_nan(y, dtype));
}

typedef struct trial {
    const subject *s;
    sample sample;
    eddy__native_code *code;
    role_set roles;
} trial;

static void try_pair(trial *t, uint64_t a, uint64_t b)
{
    const subject *s = t->s;
    const uint32_t to = register_of(t->roles, TO);
    eddy__value x = {.as.bits = a}, y = {.as.bits = b}, z = {.as.bits = 0};
    eddy__native_verdict verdict = enter(t->code, &t->sample, a, b, 1);

    if (t->roles == ALL_ONE)
        y = x;
    if (s->is_checked && low_bits(y.as.bits, s->in) == 0) {
        if (verdict != EDDY__NATIVE_FAILED ||
            low_bits(w.registers[A].as.bits, s->in) != low_bits(a, s->in))
            ck_abort_msg("%s by 0", s->name);
        return;
    }
    eddy__linear_functions[s->op](&z, &x, &y);
    if (verdict != EDDY__NATIVE_ENDED ||
        !is_same(z.as.bits, w.registers[to].as.bits, s->out) ||
        w.state.fuel != 0 || w.iterations[0] != 1 || w.index != -1)
        ck_abort_msg(
            "%s of %llx, %llx: %llx in C, %llx here (roles %d)", s->name,
            (unsigned long long)a, (unsigned long long)b,
            (unsigned long long)low_bits(z.as.bits, s->out),
            (unsigned long long)low_bits(w.registers[to].as.bits, s->out),
            (int)t->roles);
}

static void try_values(trial *t, void (*try)(trial *, uint64_t, uint64_t))
{
    uint64_t specials[N_SPECIALS];
    const size_t n = list_specials(t->s->in, specials);
    const char *asked = getenv("EDDY_PAIRS");
    const size_t n_random =
        asked ? (size_t)strtoull(asked, NULL, 10) : program_scale(200, 20);

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < (t->s->is_pair ? n : 1); j++)
            try(t, specials[i], specials[j]);
    for (size_t i = 0; i < n_random; i++)
        try(t, random_value(t->s->in), random_value(t->s->in));
}

/* In both modes of denormals: those that code runs in. */
static void try_modes(trial *t, void (*try)(trial *, uint64_t, uint64_t))
{
    const eddy__float_mode mode = eddy__float_mode_get();

    state = t->s->op;
    try_values(t, try);
#if EDDY__CAN_FLUSH_DENORMALS
    eddy__float_mode_set(mode | EDDY__FLOAT_FLUSH);
    try_values(t, try);
    eddy__float_mode_set(mode);
#endif
}

/* Code for each special value of b, with that as a constant. */
static void try_known(const subject *s)
{
    uint64_t specials[N_SPECIALS];
    const size_t n = s->is_pair ? list_specials(s->in, specials) : 0;

    for (size_t i = 0; i < n; i++) {
        trial t = {.s = s, .roles = B_IS_KNOWN};

        begin_sample(&t.sample, APART, s->in, s->out);
        t.sample.linear.n_entries = 1;
        t.sample.start[B].as.bits = specials[i];
        add(&t.sample, s->op, offset_of(TO), offset_of(A), offset_of(B));
        t.code = end_sample(&t.sample, APART);
        state = s->op + i;
        for (size_t j = 0; j < n; j++)
            try_pair(&t, specials[j], specials[i]);
        for (size_t j = 0; j < 100; j++)
            try_pair(&t, random_value(s->in), specials[i]);
        t.code->machine.release(&t.code->machine);
    }
}

static void try_subject(const subject *s, role_set roles)
{
    trial t = {.s = s, .roles = roles};

    if (register_of(roles, TO) != TO && s->in != s->out)
        return;
    begin_sample(&t.sample, roles, s->in, s->out);
    add(&t.sample, s->op, offset_of(register_of(roles, TO)),
        offset_of(register_of(roles, A)), offset_of(register_of(roles, B)));
    t.code = end_sample(&t.sample, roles);
    try_modes(&t, try_pair);
    t.code->machine.release(&t.code->machine);
}

START_TEST(code_of_each_operation_has_the_bits_of_its_function)
{
    if (!eddy__native_provider_here())
        return;
    ck_assert_uint_gt(N_SUBJECTS, 250);
    for (size_t i = 0; i < N_SUBJECTS; i++)
        for (int roles = 0; roles < N_ROLES; roles++)
            if (roles == B_IS_KNOWN)
                try_known(&subjects[i]);
            else
                try_subject(&subjects[i], (role_set)roles);
}
END_TEST

/* ---- comparisons that jump ---- */

static bool answer_of(const subject *s, uint64_t a, uint64_t b)
{
    eddy__value x = {.as.bits = a}, y = {.as.bits = b}, z = {.as.bits = 0};

    eddy__linear_functions[s->op](&z, &x, &y);
    return z.as.u8 != 0;
}

/* Counter 0 counts those that did not jump. */
static void try_unless(trial *t, uint64_t a, uint64_t b)
{
    if (enter(t->code, &t->sample, a, b, 1) != EDDY__NATIVE_ENDED ||
        w.counters[0] != answer_of(t->s, a, b))
        ck_abort_msg("UNLESS_%s of %llx, %llx", t->s->name,
                     (unsigned long long)a, (unsigned long long)b);
}

/* With fuel for one iteration more, the next asks for fuel. */
static void try_back(trial *t, uint64_t a, uint64_t b)
{
    const bool goes_back = answer_of(t->s, a, b);

    const eddy__native_verdict want =
        goes_back ? EDDY__NATIVE_PAUSED : EDDY__NATIVE_ENDED;

    if (enter(t->code, &t->sample, a, b, 2) != want || w.state.fuel != 0 ||
        w.index != (goes_back ? 1 : -1) ||
        w.iterations[0] != (goes_back ? 0 : 2) ||
        w.counters[0] != (goes_back ? 2 : 1))
        ck_abort_msg("BACK_IF_%s of %llx, %llx", t->s->name,
                     (unsigned long long)a, (unsigned long long)b);
}

static void try_jumps(const subject *s, role_set roles)
{
    const uint32_t unless = eddy__linear_unless(s->op);
    trial t = {.s = s, .roles = roles};

    begin_sample(&t.sample, roles, s->in, EDDY_BOOL);
    t.sample.linear.n_exits = 0;
    add(&t.sample, unless, t.sample.n + 2, offset_of(A), offset_of(B));
    add(&t.sample, EDDY__LINEAR_COUNT, 0, 0, 0);
    t.code = end_sample(&t.sample, roles);
    try_modes(&t, try_unless);
    t.code->machine.release(&t.code->machine);

    begin_sample(&t.sample, roles, s->in, EDDY_BOOL);
    t.sample.linear.n_exits = 0;
    add(&t.sample, EDDY__LINEAR_COUNT, 0, 0, 0);
    add(&t.sample, eddy__linear_back_if(unless), t.sample.n - 1, offset_of(A),
        offset_of(B));
    t.code = end_sample(&t.sample, roles);
    try_modes(&t, try_back);
    t.code->machine.release(&t.code->machine);
}

START_TEST(code_of_each_comparison_jumps_as_its_function_says)
{
    size_t n = 0;

    if (!eddy__native_provider_here())
        return;
    for (size_t i = 0; i < N_SUBJECTS; i++) {
        if (!eddy__linear_unless(subjects[i].op))
            continue;
        try_jumps(&subjects[i], APART);
        try_jumps(&subjects[i], IN_MEMORY);
        n++;
    }
    ck_assert_uint_gt(n, 50);
}
END_TEST

/* ---- choices ---- */

/* Which of `a` and `b` it is to be, by a condition in a home or in memory. */
static void try_select(uint32_t op, eddy_dtype dtype, role_set roles)
{
    const uint32_t to = register_of(roles, TO);
    const uint32_t condition = FIRST_OTHER;
    sample s;
    eddy__native_code *code;

    begin_sample(&s, roles, dtype, dtype);
    s.start[condition].dtype = EDDY_BOOL;
    s.entries[2] = (eddy__linear_entry){.to = condition, .is_raw = true};
    s.linear.n_entries = 3;
    add(&s, op, offset_of(to), offset_of(A), offset_of(register_of(roles, B)));
    s.code[s.n - 1].aux = (uint16_t)condition;
    code = end_sample(&s, roles);
    for (size_t i = 0; i < 64; i++) {
        const uint64_t a = next_random(), b = next_random();
        const bool yes = i % 2 == 1;
        const uint64_t want = yes || roles == ALL_ONE ? a : b;

        s.start[condition].as.bits = yes ? 1 : 0;
        ck_assert_int_eq(enter(code, &s, a, b, 1), EDDY__NATIVE_ENDED);
        ck_assert_msg(low_bits(w.registers[to].as.bits, dtype) ==
                          low_bits(want, dtype),
                      "%s, roles %d", eddy__linear_name(op), (int)roles);
    }
    code->machine.release(&code->machine);
}

START_TEST(a_choice_is_one_of_two_with_all_its_bits)
{
    static const struct {
        uint32_t op;
        eddy_dtype dtype;
    } rows[] = {{EDDY__LINEAR_SELECT_8, EDDY_BOOL},
                {EDDY__LINEAR_SELECT_8, EDDY_INT8},
                {EDDY__LINEAR_SELECT_16, EDDY_UINT16},
                {EDDY__LINEAR_SELECT_16, EDDY_BFLOAT16},
                {EDDY__LINEAR_SELECT_32, EDDY_INT32},
                {EDDY__LINEAR_SELECT_32, EDDY_FLOAT32},
                {EDDY__LINEAR_SELECT_64, EDDY_UINT64},
                {EDDY__LINEAR_SELECT_64, EDDY_FLOAT64},
                {EDDY__LINEAR_SELECT_64, EDDY_COMPLEX64}};

    if (!eddy__native_provider_here())
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int roles = APART; roles <= TO_IS_A_IN_MEMORY; roles++)
            try_select(rows[i].op, rows[i].dtype, (role_set)roles);
}
END_TEST

/* ---- moves ---- */

START_TEST(moves_keep_all_bits_of_what_they_move)
{
    static const eddy_dtype dtypes[] = {
        EDDY_INT8,    EDDY_UINT16,  EDDY_INT32,     EDDY_INT64,
        EDDY_FLOAT32, EDDY_FLOAT64, EDDY_COMPLEX64, EDDY_BFLOAT16};

    for (size_t i = 0;
         eddy__native_provider_here() && i < sizeof dtypes / sizeof dtypes[0];
         i++)
        for (int memory = 0; memory < 2; memory++) {
            const role_set roles = memory ? IN_MEMORY : APART;
            sample s;
            eddy__native_code *code;

            begin_sample(&s, roles, dtypes[i], dtypes[i]);
            add(&s, EDDY__LINEAR_MOVE, offset_of(TO), offset_of(A), 0);
            code = end_sample(&s, roles);
            for (size_t j = 0; j < 100; j++) {
                const uint64_t bits = next_random();

                ck_assert_int_eq(enter(code, &s, bits, 0, 1),
                                 EDDY__NATIVE_ENDED);
                ck_assert_uint_eq(low_bits(w.registers[TO].as.bits, dtypes[i]),
                                  low_bits(bits, dtypes[i]));
            }
            code->machine.release(&code->machine);
        }
}
END_TEST

/* ---- regions that are too large ---- */

/* Many quotients, each of which leaves by a stub that stores all others. */
static eddy_status compile_large(uint32_t n_quotients)
{
    static eddy__linear_code large[20100];
    eddy__native_code *code = NULL;
    eddy_status status;
    sample s;

    begin_sample(&s, IN_MEMORY, EDDY_INT64, EDDY_INT64);
    memcpy(large, s.code, s.n * sizeof large[0]);
    for (uint32_t i = 0; i < n_quotients; i++)
        large[s.n + i] = (eddy__linear_code){.op = EDDY__LINEAR_FloorDiv_I64,
                                             .to = offset_of(TO),
                                             .a = offset_of(A),
                                             .b = offset_of(B)};
    s.linear.n_code = s.n + n_quotients;
    s.n = 0;
    touch_others(&s);
    add(&s, EDDY__LINEAR_LEAVE, 0, 0, 0);
    add(&s, EDDY__LINEAR_DONE, 0, 0, 0);
    memcpy(large + s.linear.n_code, s.code, s.n * sizeof large[0]);
    s.linear.n_code += s.n;
    s.linear.code = large;
    status = eddy__native_provider_here()->compile(
        &(eddy__native_request){.linear = &s.linear,
                                .layout = layout,
                                .allocator = eddy__default_allocator()},
        &code);
    ck_assert((status == EDDY_OK) == (code != NULL));
    if (code)
        code->machine.release(&code->machine);
    return status;
}

START_TEST(regions_that_are_too_large_are_left_alone)
{
    if (!eddy__native_provider_here())
        return;
    ck_assert_int_eq(compile_large(100), EDDY_OK);
    ck_assert_int_eq(compile_large(19950), EDDY_UNIMPLEMENTED);
    /* Where a jump with a condition leads a mebibyte far at most. */
#if defined(__aarch64__)
    ck_assert_int_eq(compile_large(18000), EDDY_UNIMPLEMENTED);
#else
    ck_assert_int_eq(compile_large(18000), EDDY_OK);
#endif
}
END_TEST

TCase *native_ops_tests(void)
{
    TCase *tc = tcase_create("native_ops");

    tcase_set_timeout(tc, getenv("EDDY_PAIRS") ? 86400 : 600);
    tcase_add_test(tc, code_of_each_operation_has_the_bits_of_its_function);
    tcase_add_test(tc, code_of_each_comparison_jumps_as_its_function_says);
    tcase_add_test(tc, a_choice_is_one_of_two_with_all_its_bits);
    tcase_add_test(tc, moves_keep_all_bits_of_what_they_move);
    tcase_add_test(tc, regions_that_are_too_large_are_left_alone);
    return tc;
}
