/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every encoding of x86-64 that machine code is made of against a disassembler,
 * if there is one: all registers, near and far memory.
 */
#include "core/base/memory.h"
#include "runtime/native/native.h"
#include "runtime/native/x86_64_encode.h"
#include "tests/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if EDDY_NATIVE

static const char *const names8[] = {
    "al",  "cl",  "dl",   "bl",   "spl",  "bpl",  "sil",  "dil",
    "r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b", "r15b"};
static const char *const names16[] = {
    "ax",  "cx",  "dx",   "bx",   "sp",   "bp",   "si",   "di",
    "r8w", "r9w", "r10w", "r11w", "r12w", "r13w", "r14w", "r15w"};
static const char *const names32[] = {
    "eax", "ecx", "edx",  "ebx",  "esp",  "ebp",  "esi",  "edi",
    "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d", "r15d"};
static const char *const names64[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
                                      "rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                      "r12", "r13", "r14", "r15"};

/* What has been written, and what it should be, a line each. */
static eddy__x86 x;
static char wanted[1 << 16][64];
static size_t n_wanted;

#define WANT(...)                                                              \
    do {                                                                       \
        ck_assert_uint_lt(n_wanted, sizeof wanted / sizeof wanted[0]);         \
        snprintf(wanted[n_wanted++], sizeof wanted[0], __VA_ARGS__);           \
    } while (0)

static const char *reg_name(int bits, uint32_t reg)
{
    return bits == 8    ? names8[reg]
           : bits == 16 ? names16[reg]
           : bits == 32 ? names32[reg]
                        : names64[reg];
}

/* As objdump has it: "DWORD PTR [rbp+0x10]". */
static const char *place_name(int bits, bool is_float, eddy__x86_place place)
{
    static char text[64];
    const char *size = bits == 0     ? ""
                       : bits == 8   ? "BYTE PTR "
                       : bits == 16  ? "WORD PTR "
                       : bits == 32  ? "DWORD PTR "
                       : bits == 128 ? "XMMWORD PTR "
                                     : "QWORD PTR ";

    if (place.has_index)
        snprintf(text, sizeof text, "%s[%s+%s*%u+0x0]", size,
                 names64[place.reg], names64[place.index],
                 1u << place.scale_log);
    else if (place.is_memory)
        snprintf(text, sizeof text, "%s[%s%s0x%x]", size, names64[place.reg],
                 place.at < 0 ? "-" : "+", (unsigned)abs(place.at));
    else if (is_float)
        snprintf(text, sizeof text, "xmm%u", place.reg);
    else
        snprintf(text, sizeof text, "%s", reg_name(bits, place.reg));
    return text;
}

/* Every register, rbp near and far, another one to point, and with an index. */
#define N_PLACES 26

static eddy__x86_place place_number(uint32_t i)
{
    static const int32_t near[] = {0x10, -0x80, 0x12345, -0x12345};

    return i < 16    ? eddy__x86_reg(i)
           : i < 20  ? eddy__x86_memory(near[i - 16])
           : i == 20 ? eddy__x86_memory_by(EDDY__RCX, 8)
           : i == 21 ? eddy__x86_item(EDDY__RCX, EDDY__RDX, 3)
           : i == 22 ? eddy__x86_item(EDDY__RBP, 13, 0)
           : i == 23 ? eddy__x86_memory_by(12, 8)
           : i == 24 ? eddy__x86_memory_by(12, 0x1238)
                     : eddy__x86_item(9, EDDY__RAX, 1);
}

/* Widths of the second operand, where it is not that of the first. */
static int place_bits(eddy__x86_op op, int bits)
{
    switch (op) {
    case EDDY__X86_MOVZX8:
    case EDDY__X86_MOVSX8:
    case EDDY__X86_STORE8:
    case EDDY__X86_OR8:
        return 8;
    case EDDY__X86_MOVZX16:
    case EDDY__X86_MOVSX16:
    case EDDY__X86_STORE16:
        return 16;
    case EDDY__X86_MOVSXD:
        return 32;
    case EDDY__X86_LEA:
        return 0;
    default:
        return bits;
    }
}

static bool is_turned(eddy__x86_op op)
{
    return op == EDDY__X86_TEST || op == EDDY__X86_STORE8 ||
           op == EDDY__X86_STORE16 || op == EDDY__X86_STORE;
}

static void try_both(eddy__x86_op op, bool wide)
{
    const bool is_narrow = op == EDDY__X86_STORE8 || op == EDDY__X86_OR8 ||
                           op == EDDY__X86_STORE16;
    const int bits = wide ? 64 : 32;

    for (uint32_t p = 0; p < N_PLACES; p++)
        for (uint32_t reg = 0; reg < 16; reg++) {
            const eddy__x86_place place = place_number(p);
            const char *own =
                reg_name(is_narrow ? place_bits(op, bits) : bits, reg);

            if ((is_narrow && wide) || (op == EDDY__X86_MOVSXD && !wide) ||
                (op == EDDY__X86_LEA && !place.is_memory))
                continue;
            eddy__x86_emit(&x, op, wide, reg, place);
            if (is_turned(op))
                WANT("%s %s,%s", eddy__x86_mnemonic(op),
                     place_name(place_bits(op, bits), false, place), own);
            else
                WANT("%s %s,%s", eddy__x86_mnemonic(op), own,
                     place_name(place_bits(op, bits), false, place));
        }
}

static void try_alone(eddy__x86_op op, bool wide)
{
    const bool is_shift =
        op == EDDY__X86_SHL || op == EDDY__X86_SHR || op == EDDY__X86_SAR;

    for (uint32_t p = 0; p < N_PLACES; p++) {
        eddy__x86_emit_alone(&x, op, wide, place_number(p));
        WANT("%s %s%s", eddy__x86_mnemonic(op),
             place_name(wide ? 64 : 32, false, place_number(p)),
             is_shift ? ",cl" : "");
    }
}

static void try_float(eddy__x86_op op, int bits)
{
    const bool is_store =
        op == EDDY__X86_STORE_F32 || op == EDDY__X86_STORE_F64;

    for (uint32_t p = 0; p < N_PLACES; p++)
        for (uint32_t reg = 0; reg < 16; reg++) {
            const eddy__x86_place place = place_number(p);

            /* Between registers they would keep what is above. */
            if (is_store && !place.is_memory)
                continue;
            eddy__x86_emit(&x, op, false, reg, place);
            if (is_store)
                WANT("%s %s,xmm%u", eddy__x86_mnemonic(op),
                     place_name(bits, true, place), reg);
            else
                WANT("%s xmm%u,%s", eddy__x86_mnemonic(op), reg,
                     place_name(bits, true, place));
        }
}

/* Between integers, of the width that is asked for, and floats. */
static void try_cross(eddy__x86_op op, bool wide)
{
    const bool is_bits = op == EDDY__X86_OF_BITS || op == EDDY__X86_AS_BITS;
    const bool to_int =
        op == EDDY__X86_INT_OF_F32 || op == EDDY__X86_INT_OF_F64;
    const int bits = wide ? 64 : 32;
    const char *end = !is_bits ? "" : wide ? "q" : "d";

    for (uint32_t p = 0; p < N_PLACES; p++)
        for (uint32_t reg = 0; reg < 16; reg++) {
            const eddy__x86_place place = place_number(p);

            eddy__x86_emit(&x, op, wide, reg, place);
            if (to_int)
                WANT("%s %s,%s", eddy__x86_mnemonic(op), reg_name(bits, reg),
                     place_name(op == EDDY__X86_INT_OF_F32 ? 32 : 64, true,
                                place));
            else if (op == EDDY__X86_AS_BITS)
                WANT("%s%s %s,xmm%u", eddy__x86_mnemonic(op), end,
                     place_name(bits, false, place), reg);
            else
                WANT("%s%s xmm%u,%s", eddy__x86_mnemonic(op), end, reg,
                     place_name(bits, false, place));
        }
}

static void try_relations(uint32_t reg)
{
    static const char *const relations[] = {"eq", "lt", "le", "unord", "neq"};

    for (int wide = 0; wide < 2; wide++)
        for (uint32_t p = 0; p < N_PLACES; p++)
            for (uint32_t r = 0; r <= EDDY__X86_IS_NOT_EQUAL; r++) {
                eddy__x86_emit_relation(&x, wide, reg, place_number(p),
                                        (eddy__x86_relation)r);
                WANT("cmp%s%s xmm%u,%s", relations[r], wide ? "sd" : "ss", reg,
                     place_name(wide ? 64 : 32, true, place_number(p)));
            }
}

/* By numbers; and what rounds. */
static void try_shifts(bool wide, uint32_t reg)
{
    eddy__x86_emit_shl(&x, wide, reg, 32);
    WANT("shl %s,0x20", reg_name(wide ? 64 : 32, reg));
    eddy__x86_emit_shr(&x, wide, reg, 33);
    WANT("shr %s,0x21", reg_name(wide ? 64 : 32, reg));
    for (uint32_t r = EDDY__X86_TO_EVEN; r <= EDDY__X86_TO_ZERO; r++) {
        eddy__x86_emit_round(&x, wide, reg, 15 - reg, (eddy__x86_rounding)r);
        WANT("rounds%s xmm%u,xmm%u,0x%x", wide ? "d" : "s", reg, 15 - reg, r);
    }
}

static void try_rest(uint32_t reg)
{
    static const char *const conditions[] = {NULL, NULL, "b",  "ae", "e", "ne",
                                             "be", "a",  "s",  "ns", "p", "np",
                                             "l",  "ge", "le", "g"};

    for (uint32_t c = EDDY__IF_BELOW; c <= EDDY__IF_GREATER; c++) {
        eddy__x86_emit_set(&x, c, reg);
        WANT("set%s %s", conditions[c], names8[reg]);
        eddy__x86_aim(&x, eddy__x86_emit_jump_if(&x, c), 0x10);
        WANT("j%s 0x10", conditions[c]);
    }
    for (int wide = 0; wide < 2; wide++) {
        eddy__x86_emit_shift(&x, wide, true, reg, 5);
        WANT("psll%s xmm%u,0x5", wide ? "q" : "d", reg);
        eddy__x86_emit_shift(&x, wide, false, reg, 54);
        WANT("psrl%s xmm%u,0x36", wide ? "q" : "d", reg);
        try_shifts(wide, reg);
        eddy__x86_emit_number(&x, EDDY__X86_ADD, wide, eddy__x86_reg(reg), 1);
        WANT("add %s,0x1", reg_name(wide ? 64 : 32, reg));
        /* That of the accumulator has an encoding of its own, too. */
        eddy__x86_emit_number(&x, EDDY__X86_SUB, wide, eddy__x86_reg(reg),
                              0x1234);
        WANT("sub %s,0x1234", reg_name(wide ? 64 : 32, reg));
        eddy__x86_emit_number(&x, EDDY__X86_CMP, wide, eddy__x86_reg(reg), -1);
        WANT(wide ? "cmp %s,0xffffffffffffffff" : "cmp %s,0xffffffff",
             reg_name(wide ? 64 : 32, reg));
    }
    eddy__x86_emit_mov_number(&x, reg, 0x12345678);
    WANT("mov %s,0x12345678", names32[reg]);
    eddy__x86_emit_imul_number(&x, reg, 15 - reg, 0x123);
    WANT("imul %s,%s,0x123", names32[reg], names32[15 - reg]);
    eddy__x86_emit_sar(&x, true, reg, 35);
    WANT("sar %s,0x23", names64[reg]);
    if (reg != EDDY__RSP) {
        const eddy__x86_place item = eddy__x86_item(EDDY__RCX, reg, 0);

        eddy__x86_emit_number8(&x, EDDY__X86_TEST, item, 10);
        WANT("test BYTE PTR [rcx+%s*1+0x0],0xa", names64[reg]);
        eddy__x86_emit_number8(&x, EDDY__X86_OR, item, 9);
        WANT("or BYTE PTR [rcx+%s*1+0x0],0x9", names64[reg]);
        eddy__x86_emit_number8(&x, EDDY__X86_TEST, eddy__x86_reg(EDDY__RDX), 3);
        WANT("test dl,0x3");
    }
    eddy__x86_emit_push(&x, reg);
    WANT("push %s", names64[reg]);
    eddy__x86_emit_pop(&x, reg);
    WANT("pop %s", names64[reg]);
    eddy__x86_emit_jump_reg(&x, reg);
    WANT("jmp %s", names64[reg]);
}

static void try_single(void)
{
    eddy__x86_emit_number(&x, EDDY__X86_ADD, true, eddy__x86_memory(-8), 1);
    WANT("add QWORD PTR [rbp-0x8],0x1");
    eddy__x86_emit_store_number(&x, true, 0x20, -1);
    WANT("mov QWORD PTR [rbp+0x20],0xffffffffffffffff");
    eddy__x86_emit_is_zero8(&x, 0x1234);
    WANT("cmp BYTE PTR [rbp+0x1234],0x0");
    eddy__x86_emit_sign_extend(&x, false);
    WANT("cdq");
    eddy__x86_emit_sign_extend(&x, true);
    WANT("cqo");
    eddy__x86_emit_call_memory(&x, EDDY__RBP, -0x30);
    WANT("call QWORD PTR [rbp-0x30]");
    eddy__x86_emit_call_memory(&x, EDDY__RAX, 0x1238);
    WANT("call QWORD PTR [rax+0x1238]");
    eddy__x86_aim(&x, eddy__x86_emit_jump(&x), 0x20);
    WANT("jmp 0x20");
    eddy__x86_emit_return(&x);
    WANT("ret");
}

static void write_all(void)
{
#define BOTH(name, prefix, escape, opcode, mnemonic)                           \
    try_both(EDDY__X86_##name, false);                                         \
    try_both(EDDY__X86_##name, true);
#define ALONE(name, opcode, digit, mnemonic)                                   \
    try_alone(EDDY__X86_##name, false);                                        \
    try_alone(EDDY__X86_##name, true);
/* Behind 66 and without a prefix whole registers are read, but by ucomi. */
#define FLOAT(name, prefix, opcode, mnemonic)                                  \
    try_float(EDDY__X86_##name, (opcode) == 0x2e   ? (prefix) ? 64 : 32        \
                                : (prefix) == 0xf3 ? 32                        \
                                : (prefix) == 0xf2 ? 64                        \
                                                   : 128);
#define CROSS(name, prefix, opcode, mnemonic)                                  \
    try_cross(EDDY__X86_##name, false);                                        \
    try_cross(EDDY__X86_##name, true);
#include "runtime/native/x86_64.def"
#undef BOTH
#undef ALONE
#undef FLOAT
#undef CROSS
    for (uint32_t reg = 0; reg < 16; reg++) {
        try_rest(reg);
        try_relations(reg);
    }
    try_single();
}

/* The instruction in a line of objdump, with single blanks; or NULL. */
static char *instruction_of(char *line)
{
    char *from = strchr(line, ':'), *to = line;

    if (!from || line[0] != ' ')
        return NULL;
    for (from++; *from == ' ' || *from == '\t'; from++)
        ;
    for (char *at = from; *at && *at != '\n'; at++)
        if (*at != ' ' || (to > line && to[-1] != ' '))
            *to++ = *at;
    while (to > line && to[-1] == ' ')
        to--;
    *to = '\0';
    return line;
}

START_TEST(encodings_are_what_a_disassembler_says)
{
    char path[] = "/tmp/eddyXXXXXX", command[256], line[512];
    const int file = mkstemp(path);
    size_t n = 0;
    FILE *from;

    x = (eddy__x86){.allocator = eddy__default_allocator()};
    write_all();
    ck_assert(!x.failed);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, x.code, x.n), (ssize_t)x.n);
    snprintf(command, sizeof command,
             "objdump -D -b binary -m i386:x86-64 -M intel "
             "--no-show-raw-insn %s 2>/dev/null",
             path);
    from = popen(command, "r");
    ck_assert_ptr_nonnull(from);
    while (fgets(line, sizeof line, from)) {
        const char *found = instruction_of(line);

        if (!found || strstr(found, "file format"))
            continue;
        if (n >= n_wanted || strcmp(found, wanted[n]) != 0)
            ck_abort_msg("%s is %s", n < n_wanted ? wanted[n] : "nothing",
                         found);
        n++;
    }
    pclose(from);
    unlink(path);
    close(file);
    /* Nothing at all: there is no objdump. */
    ck_assert(n == 0 || n == n_wanted);
    eddy__free(x.allocator, x.code, x.room, 1);
}
END_TEST

START_TEST(nothing_is_as_long_as_it_should)
{
    for (size_t n = 0; n < 40; n++) {
        eddy__x86 none = {.allocator = eddy__default_allocator()};

        eddy__x86_emit_nothing(&none, n);
        ck_assert_uint_eq(none.n, n);
        eddy__free(none.allocator, none.code, none.room, 1);
    }
}
END_TEST

#endif

TCase *native_encode_tests(void)
{
    TCase *tc = tcase_create("native_encode");

#if EDDY_NATIVE
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, encodings_are_what_a_disassembler_says);
    tcase_add_test(tc, nothing_is_as_long_as_it_should);
#endif
    return tc;
}
