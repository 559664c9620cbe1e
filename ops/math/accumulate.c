/* SPDX-License-Identifier: Apache-2.0 */
/* The loops that add runs of elements, one for each dtype. */
#include "ops/math/accumulate.h"

#define DEFINE_ADD(name, type, sum)                                            \
    static void add_##name(unsigned char *to, const unsigned char *from,       \
                           int64_t n)                                          \
    {                                                                          \
        type *restrict a = (type *)(void *)to;                                 \
        const type *restrict b = (const type *)(const void *)from;             \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            a[i] = (sum);                                                      \
    }

/* Signed integers are added as unsigned ones, which wrap. */
DEFINE_ADD(u8, uint8_t, (uint8_t)(a[i] + b[i]))
DEFINE_ADD(u16, uint16_t, (uint16_t)(a[i] + b[i]))
DEFINE_ADD(u32, uint32_t, a[i] + b[i])
DEFINE_ADD(u64, uint64_t, a[i] + b[i])
DEFINE_ADD(f32, float, a[i] + b[i])
DEFINE_ADD(f64, double, a[i] + b[i])
DEFINE_ADD(bool, uint8_t, a[i] | b[i])
DEFINE_ADD(f16, uint16_t,
           eddy_float16_from_float(eddy_float16_to_float(a[i]) +
                                   eddy_float16_to_float(b[i])))

DEFINE_ADD(bf16, uint16_t,
           eddy_bfloat16_from_float(eddy_bfloat16_to_float(a[i]) +
                                    eddy_bfloat16_to_float(b[i])))

static void add_c64(unsigned char *to, const unsigned char *from, int64_t n)
{
    add_f32(to, from, 2 * n);
}

static void add_c128(unsigned char *to, const unsigned char *from, int64_t n)
{
    add_f64(to, from, 2 * n);
}

eddy__adder eddy__accumulate_adder_of(eddy_dtype dtype)
{
    static const eddy__adder adders[EDDY_DTYPE_COUNT] = {
        [EDDY_FLOAT16] = add_f16,     [EDDY_FLOAT32] = add_f32,
        [EDDY_FLOAT64] = add_f64,     [EDDY_INT8] = add_u8,
        [EDDY_INT16] = add_u16,       [EDDY_INT32] = add_u32,
        [EDDY_INT64] = add_u64,       [EDDY_UINT8] = add_u8,
        [EDDY_UINT16] = add_u16,      [EDDY_UINT32] = add_u32,
        [EDDY_UINT64] = add_u64,      [EDDY_BOOL] = add_bool,
        [EDDY_BFLOAT16] = add_bf16,   [EDDY_COMPLEX64] = add_c64,
        [EDDY_COMPLEX128] = add_c128,
    };

    return adders[dtype];
}
