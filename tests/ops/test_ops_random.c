/* SPDX-License-Identifier: Apache-2.0 */
/* Random ops against the numbers that TensorFlow 2.21 gave on a CPU. */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/aid/numbers.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

/* ---- what TensorFlow 2.21 gives ---- */

/* 1003 elements: more than one group, and the last one cut short. */
#define N_ELEMENTS 1003
#define N_PROBES 9

static const int64_t probes[N_PROBES] = {0, 1, 2, 3, 4, 5, 501, 1001, 1002};

/*
 * Stateless ops: seed [5, -9], or key 123456789012345 and counter [2^64 - 1,
 * 77], which carries; stateful ones seed 12 and seed2 -5.  Integers come from
 * [-7, 1000).  The bits of elements at `probes`, and, where no function of the
 * C library has a say, FNV-1a of all bytes.
 */
static const struct row {
    const char *op;
    eddy_dtype dtype;
    uint64_t bits[N_PROBES];
    uint64_t hash; /* 0: none */
} rows[] = {
    {"StatelessRandomUniform",
     EDDY_FLOAT16,
     {0x37ac, 0x3b4c, 0x346c, 0x3360, 0x1d00, 0x370c, 0x349c, 0x32c0, 0x3992},
     0x316b36c7e0bae521},
    {"StatelessRandomUniform",
     EDDY_FLOAT32,
     {0x3e8777ac, 0x3ee87e98, 0x3d2da360, 0x3eb5f3b0, 0x3ed9c014, 0x3f47e386,
      0x3f0c224e, 0x3f1eb1b0, 0x3edd0b24},
     0xfadcf4c5dcd25b0c},
    {"StatelessRandomUniform",
     EDDY_FLOAT64,
     {0x3fbddebaaba1fa60, 0x3fd5b46fe0b5f3b0, 0x3fd9c0160d8fc70c,
      0x3fbbcf35b62b79f0, 0x3fefb204ccb92ffc, 0x3fa541652d79c2c0,
      0x3fdd0b24147a1c34, 0x3fa40b4ee2635760, 0x3fd953c20ee4ebe0},
     0xd24c9008e247fe25},
    {"StatelessRandomNormal",
     EDDY_FLOAT16,
     {0x376c, 0xbe41, 0x3fef, 0xbe2f, 0xbd22, 0x3407, 0xb93b, 0xb637, 0x3d2c},
     0x0},
    {"StatelessRandomNormal",
     EDDY_FLOAT32,
     {0x3eed82e1, 0xbfc81b1d, 0x3ffdd409, 0xbfc5d93c, 0xbfa44072, 0x3e80d2b2,
      0xbf275207, 0xbec6d21e, 0x3fa57868},
     0x0},
    {"StatelessRandomNormal",
     EDDY_FLOAT64,
     {0x3ffc1928543ff7c5, 0xbff19e743f3d8b8d, 0x3feb3cb2a2c03d8a,
      0x3ff0c0e1f007e2fc, 0x3fa24345897c0b40, 0x3fc11ad2fb5a01b6,
      0xbfd5051a968fb2ef, 0x3ff37624f325cf1e, 0xbff4ed0e3d361758},
     0x0},
    {"StatelessTruncatedNormal",
     EDDY_FLOAT16,
     {0x376c, 0xbe41, 0x3fef, 0xbe2f, 0xbd30, 0x2cad, 0xb97f, 0xb69c, 0x3c11},
     0x0},
    {"StatelessTruncatedNormal",
     EDDY_FLOAT32,
     {0x3eed82e1, 0xbfc81b1d, 0x3ffdd409, 0xbfc5d93c, 0xbfa5f2e8, 0x3d95992d,
      0xbf2fd137, 0xbed38793, 0x3f821124},
     0x0},
    {"StatelessTruncatedNormal",
     EDDY_FLOAT64,
     {0x3ffc1928543ff7c5, 0xbff19e743f3d8b8d, 0xbfb3e55729db9f26,
      0x3fd88eee67634925, 0xbff33c9a6611fbc9, 0xbfdb5c26f2f857e3,
      0xbfc2723096f794f6, 0xbfe32bc900ab6504, 0xbfd7c7dc5ed538bc},
     0x0},
    {"StatelessRandomUniformInt",
     EDDY_INT32,
     {0x24, 0x26c, 0x1e4, 0x98, 0x2b2, 0x3bd, 0x38d, 0x286, 0x275},
     0x6a0483c4da76adcb},
    {"StatelessRandomUniformInt",
     EDDY_INT64,
     {0xbc, 0x1af, 0x20f, 0x2d6, 0x286, 0x32, 0x22d, 0x83, 0x144},
     0x7032c22b0f0274b2},
    {"StatelessRandomUniformFullInt",
     EDDY_INT32,
     {0x8aa1ddeb, 0xaaba1fa6, 0x50056d1b, 0xf82d7cec, 0xafb67005, 0x8363f1c3,
      0xa461127, 0xc3cf58d8, 0xf23742c9},
     0x165af91b5d17381},
    {"StatelessRandomUniformFullInt",
     EDDY_INT64,
     {0xaaba1fa68aa1ddeb, 0xf82d7cec50056d1b, 0x8363f1c3afb67005,
      0x5b62b79fa7d1bcf3, 0x665c97feff7fd902, 0x296bce1693d0aa0b,
      0x51e870df23742c9, 0x77131abba5e0a05a, 0x83b93af8bb8654f0},
     0x221d23b94ef10f70},
    {"StatelessRandomUniformFullInt",
     EDDY_UINT32,
     {0x8aa1ddeb, 0xaaba1fa6, 0x50056d1b, 0xf82d7cec, 0xafb67005, 0x8363f1c3,
      0xa461127, 0xc3cf58d8, 0xf23742c9},
     0x165af91b5d17381},
    {"StatelessRandomUniformFullInt",
     EDDY_UINT64,
     {0xaaba1fa68aa1ddeb, 0xf82d7cec50056d1b, 0x8363f1c3afb67005,
      0x5b62b79fa7d1bcf3, 0x665c97feff7fd902, 0x296bce1693d0aa0b,
      0x51e870df23742c9, 0x77131abba5e0a05a, 0x83b93af8bb8654f0},
     0x221d23b94ef10f70},
    {"StatelessRandomUniformV2",
     EDDY_FLOAT16,
     {0x38b0, 0x3580, 0x3530, 0x3b9c, 0x3aee, 0x37d8, 0x38d8, 0x3458, 0x3b56},
     0x83667431197126c3},
    {"StatelessRandomUniformV2",
     EDDY_FLOAT32,
     {0x3f0dfcb0, 0x3e260b00, 0x3f51f298, 0x3f32c79c, 0x3f301eee, 0x3f6353ec,
      0x3f7c84d8, 0x3f2dea2c, 0x3f55af56},
     0x4eb2f18faf3efd68},
    {"StatelessRandomUniformV2",
     EDDY_FLOAT64,
     {0x3fdbf96394530580, 0x3fe1f298d1b2c79c, 0x3fe01eef7ae353ec,
      0x3fef29327c14716a, 0x3fcbab17fecb5fd0, 0x3fd109adba4becd4,
      0x3fe5af5664d75eb0, 0x3fe22e0f2d341da4, 0x3fe52754121247f4},
     0x809a501eec016e66},
    {"StatelessRandomNormalV2",
     EDDY_FLOAT16,
     {0x3b65, 0x388e, 0xb8c7, 0xb26d, 0xb87a, 0x3946, 0x3d76, 0xb870, 0xb80a},
     0x0},
    {"StatelessRandomNormalV2",
     EDDY_FLOAT32,
     {0x3f6cad64, 0x3f11c00f, 0xbf18d056, 0xbe4d9a75, 0xbf0f43c2, 0x3f28cf94,
      0x3faec016, 0xbf0e00e0, 0xbf014283},
     0x0},
    {"StatelessRandomNormalV2",
     EDDY_FLOAT64,
     {0xbfdeb9e1eb10b684, 0xbff31909855d6514, 0xbfc8953131ecfef1,
      0x3ff27b7a0b612e81, 0x3ffbdbf8ccbbd271, 0xbfc6c9693e56cc40,
      0xbfe12c89e28b6056, 0xbfd6723e6295cfc3, 0xbfcad70ec3f05a59},
     0x0},
    {"StatelessTruncatedNormalV2",
     EDDY_FLOAT16,
     {0x3b65, 0x388e, 0xb8c7, 0xb26d, 0x3c5a, 0xbe40, 0x3cd4, 0x3e2e, 0x3822},
     0x0},
    {"StatelessTruncatedNormalV2",
     EDDY_FLOAT32,
     {0x3f6cad64, 0x3f11c00f, 0xbf18d056, 0xbe4d9a75, 0x3f8b35c1, 0xbfc80fdf,
      0x3f9a7d8c, 0x3fc5ce15, 0x3f044ea7},
     0x0},
    {"StatelessTruncatedNormalV2",
     EDDY_FLOAT64,
     {0xbfdeb9e1eb10b684, 0xbff31909855d6514, 0x3fe38b119f2cc7cc,
      0x3ff127523d9b7ea8, 0x3ff6a2ef3084ea41, 0xbfe3780ed38e226c,
      0x3fda9a1384ef92e3, 0x3fe82a1f7f30d06e, 0x3fcd42aebce2a79f},
     0x0},
    {"StatelessRandomUniformIntV2",
     EDDY_INT32,
     {0x193, 0x12b, 0x36e, 0x178, 0x2fd, 0x98, 0x5b, 0xa1, 0x54},
     0xb0ed81e67c6a027d},
    {"StatelessRandomUniformIntV2",
     EDDY_INT64,
     {0x6f, 0x10d, 0x2c8, 0x3d0, 0x1ce, 0x52, 0x261, 0x2e7, 0xc6},
     0xece69ced8855059f},
    {"StatelessRandomUniformFullIntV2",
     EDDY_INT32,
     {0xf3c6fe58, 0xe514c160, 0xd8e8f94c, 0x68d963ce, 0x4f580f77, 0xbd71a9f6,
      0xf8fe426c, 0xe456f516, 0x6a6ad7ab},
     0xa0bac09631ac47a1},
    {"StatelessRandomUniformFullIntV2",
     EDDY_INT64,
     {0xe514c160f3c6fe58, 0x68d963ced8e8f94c, 0xbd71a9f64f580f77,
      0x3e0a38b5902f9499, 0xffd96bfa4bb37562, 0x6e92fb354364426b,
      0x326baf586a6ad7ab, 0x969a0ed214391707, 0x90923faf29a93aa},
     0xde8029f7fd2121e},
    {"StatelessRandomUniformFullIntV2",
     EDDY_UINT32,
     {0xf3c6fe58, 0xe514c160, 0xd8e8f94c, 0x68d963ce, 0x4f580f77, 0xbd71a9f6,
      0xf8fe426c, 0xe456f516, 0x6a6ad7ab},
     0xa0bac09631ac47a1},
    {"StatelessRandomUniformFullIntV2",
     EDDY_UINT64,
     {0xe514c160f3c6fe58, 0x68d963ced8e8f94c, 0xbd71a9f64f580f77,
      0x3e0a38b5902f9499, 0xffd96bfa4bb37562, 0x6e92fb354364426b,
      0x326baf586a6ad7ab, 0x969a0ed214391707, 0x90923faf29a93aa},
     0xde8029f7fd2121e},
    {"RandomUniform",
     EDDY_FLOAT16,
     {0x383c, 0x38a8, 0x398a, 0x3058, 0x3814, 0x384a, 0x36f4, 0x39fc, 0x3b9e},
     0x2f05216cd9e80c42},
    {"RandomUniform",
     EDDY_FLOAT32,
     {0x3ea64878, 0x3e81b950, 0x3da56c50, 0x3e73a458, 0x3eafa828, 0x3f778c4a,
      0x3d8f5bd0, 0x3eb09bf8, 0x3f06879e},
     0xb909c55bb37c2339},
    {"RandomUniform",
     EDDY_FLOAT64,
     {0x3fe3243d2540dca8, 0x3fe4ad8a373ce916, 0x3fe7d4140bf78c4a,
      0x3fe5c1dfabaae3d0, 0x3fe2df4c8e9b6b80, 0x3fe7fd74839fc7d8,
      0x3fca1e7c613c0b58, 0x3fd1292ea46d8454, 0x3fe3baf044f9959a},
     0xedc8c7a8107e5e9},
    {"RandomStandardNormal",
     EDDY_FLOAT16,
     {0x3dff, 0xa810, 0x4079, 0x3170, 0xb4d2, 0x3dba, 0x34c2, 0xbeb6, 0x3c3c},
     0x0},
    {"RandomStandardNormal",
     EDDY_FLOAT32,
     {0x3fbfecfc, 0xbd01f248, 0x400f27fe, 0x3e2e0478, 0xbe9a3f03, 0x3fb73732,
      0x3e983d43, 0xbfd6c327, 0x3f877485},
     0x0},
    {"RandomStandardNormal",
     EDDY_FLOAT64,
     {0xbfe9c7d43ad6d4f0, 0xbfe3b12870ad0765, 0xbfe63abb9a49bf87,
      0xbfd4f307cfab6cb8, 0xbff07149b4eb3273, 0xbf606ea0b772ff38,
      0x3fe3e0ddcc98037a, 0xbfbda91cfdc62db5, 0xbfe7e87cc78a838d},
     0x0},
    {"TruncatedNormal",
     EDDY_FLOAT16,
     {0x3dff, 0xa810, 0x3170, 0xb4d2, 0xac4c, 0x343b, 0x373f, 0x2b77, 0x3cf3},
     0x0},
    {"TruncatedNormal",
     EDDY_FLOAT32,
     {0x3fbfecfc, 0xbd01f248, 0x3e2e0478, 0xbe9a3f03, 0xbd897ee9, 0x3e87545c,
      0x3ee7d41b, 0x3d6edd2d, 0x3f9e5d66},
     0x0},
    {"TruncatedNormal",
     EDDY_FLOAT64,
     {0xbfe9c7d43ad6d4f0, 0xbfe3b12870ad0765, 0x3ff445bba3f3a493,
      0xbff29b9bf7023318, 0xbfd86698027235bc, 0xbfe7a162aba73afe,
      0xbff3488f00cd79ea, 0xbfe83270c643c8b2, 0x3fc43b85ea1d343a},
     0x0},
    {"RandomUniformInt",
     EDDY_INT32,
     {0x3d0, 0x144, 0x123, 0x138, 0x1de, 0x206, 0x284, 0x85, 0x374},
     0xb33b2f7e391485f5},
    {"RandomUniformInt",
     EDDY_INT64,
     {0x238, 0x2c0, 0x38, 0x234, 0x23a, 0xca, 0x31e, 0xc6, 0x15d},
     0x13d2581121849bbc},
};

#define N_ROWS ((int)(sizeof rows / sizeof *rows))

static uint64_t hash_bytes(const unsigned char *bytes, size_t n)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static bool is_stateless(const char *op)
{
    return strncmp(op, "Stateless", 9) == 0;
}

static bool is_v2(const char *op)
{
    return strcmp(op + strlen(op) - 2, "V2") == 0;
}

static bool has_bounds(const char *op)
{
    return strstr(op, "UniformInt") != NULL;
}

/* uint64 has values that no double has. */
static eddy_tensor *words(harness *h, size_t n, const uint64_t *values)
{
    const int64_t dim = (int64_t)n;

    return harness_tensor(h, EDDY_UINT64, 1, &dim, values);
}

/* The inputs of a row's op behind the shape. */
static size_t add_sources(harness *h, const char *op, eddy_dtype dtype,
                          eddy_tensor **inputs)
{
    const uint64_t key = 123456789012345u, counter[] = {UINT64_MAX, 77};
    size_t n = 0;

    if (is_v2(op)) {
        inputs[n++] = words(h, 1, &key);
        inputs[n++] = words(h, 2, counter);
        inputs[n++] = harness_scalar(h, EDDY_INT32, 1);
    } else if (is_stateless(op)) {
        inputs[n++] = harness_vector(h, EDDY_INT32, 5, -9);
    }
    if (has_bounds(op)) {
        inputs[n++] = harness_scalar(h, dtype, -7);
        inputs[n++] = harness_scalar(h, dtype, 1000);
    }
    return n;
}

static eddy_status draw(harness *h, const char *op, eddy_dtype dtype,
                        eddy_tensor *shape)
{
    const int64_t seed = 12, seed2 = -5;
    const char *type = strcmp(op, "RandomUniformInt") == 0 ? "Tout" : "dtype";
    const eddy_attr attrs[] = {eddy_attr_type(type, &dtype),
                               eddy_attr_int("seed", &seed),
                               eddy_attr_int("seed2", &seed2)};
    eddy_tensor *inputs[8] = {shape};
    const size_t n = 1 + add_sources(h, op, dtype, inputs + 1);

    return harness_run_attrs(h, op, inputs, n, attrs, is_stateless(op) ? 1 : 3);
}

static uint64_t bits_at(const eddy_tensor *t, int64_t i)
{
    const size_t size = eddy_dtype_size(eddy_tensor_dtype(t));
    uint64_t bits = 0;

    memcpy(&bits, (const unsigned char *)t->data + (size_t)i * size, size);
    return bits;
}

/* Normal numbers may be off by the last bit of another C library. */
static void check_probe(const struct row *row, const eddy_tensor *t, int p)
{
    const uint64_t got = bits_at(t, probes[p]), want = row->bits[p];
    const uint64_t off = got > want ? got - want : want - got;

    ck_assert_msg(off <= (row->hash ? 0u : 1u),
                  "%s %s[%lld]: got bits %llx, want %llx", row->op,
                  eddy_dtype_name(row->dtype), (long long)probes[p],
                  (unsigned long long)got, (unsigned long long)want);
}

START_TEST(numbers_are_those_of_tensorflow)
{
    const struct row *row = &rows[_i];
    harness h;

    harness_init(&h, &eddy__random_ops);
    ck_assert_int_eq(
        draw(&h, row->op, row->dtype, harness_vector(&h, EDDY_INT32, 17, 59)),
        EDDY_OK);
    harness_want(&h, 0, row->dtype, HARNESS_DIMS(17, 59));
    for (int i = 0; i < N_PROBES; i++)
        check_probe(row, h.outputs[0], i);
    if (row->hash)
        ck_assert(hash_bytes(h.outputs[0]->data,
                             N_ELEMENTS * eddy_dtype_size(row->dtype)) ==
                  row->hash);
    harness_deinit(&h);
}
END_TEST

/* Fewer elements are the first of more. */
START_TEST(every_shape_gets_the_same_numbers_in_order)
{
    static const eddy_shape shapes[] = {
        {0, {0}},       {1, {0}},
        {1, {1}},       {1, {3}},
        {1, {4}},       {2, {1, 5}},
        {3, {2, 0, 3}}, {1, {8}},
        {3, {3, 3, 1}}, {8, {1, 2, 1, 3, 1, 1, 2, 1}}};
    const struct row *row = &rows[_i];
    const size_t size = eddy_dtype_size(row->dtype);
    unsigned char first[16 * sizeof(double)];
    harness h;

    harness_init(&h, &eddy__random_ops);
    ck_assert_int_eq(
        draw(&h, row->op, row->dtype, harness_vector(&h, EDDY_INT64, 16)),
        EDDY_OK);
    memcpy(first, h.outputs[0]->data, 16 * size);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        double dims[EDDY_MAX_RANK];
        const int64_t rank = shapes[s].rank;

        for (int64_t d = 0; d < rank; d++)
            dims[d] = (double)shapes[s].dims[d];
        ck_assert_int_eq(draw(&h, row->op, row->dtype,
                              harness_numbers(&h, EDDY_INT32, 1, &rank, dims)),
                         EDDY_OK);
        harness_want(&h, 0, row->dtype, shapes[s].rank, shapes[s].dims);
        ck_assert_mem_eq(first, h.outputs[0]->data,
                         (size_t)h.outputs[0]->count * size);
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(a_seed_of_int64_is_the_same_as_one_of_int32)
{
    const eddy_dtype dtype = EDDY_FLOAT32;
    const eddy_attr attr = eddy_attr_type("dtype", &dtype);
    harness h;
    eddy_tensor *inputs[2];
    float first;

    harness_init(&h, &eddy__random_ops);
    inputs[0] = harness_vector(&h, EDDY_INT32, 1);
    inputs[1] = harness_vector(&h, EDDY_INT32, 5, -9);
    ck_assert_int_eq(
        harness_run_attrs(&h, "StatelessRandomNormal", inputs, 2, &attr, 1),
        EDDY_OK);
    first = *(const float *)h.outputs[0]->data;
    inputs[1] = harness_vector(&h, EDDY_INT64, 5, -9);
    ck_assert_int_eq(
        harness_run_attrs(&h, "StatelessRandomNormal", inputs, 2, &attr, 1),
        EDDY_OK);
    ck_assert(first == *(const float *)h.outputs[0]->data);
    harness_deinit(&h);
}
END_TEST

/* TensorFlow 2.21, StatelessRandomGetKeyCounterAlg of [5, -9]. */
START_TEST(a_seed_stands_for_a_key_and_a_counter)
{
    harness h;
    const uint64_t *counter;

    harness_init(&h, &eddy__random_ops);
    ck_assert_int_eq(harness_run(&h, "StatelessRandomGetKeyCounterAlg",
                                 harness_vector(&h, EDDY_INT32, 5, -9)),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_UINT64, HARNESS_DIMS(1));
    harness_want(&h, 1, EDDY_UINT64, HARNESS_DIMS(2));
    harness_want(&h, 2, EDDY_INT32, 0, NULL);
    ck_assert(*(const uint64_t *)h.outputs[0]->data == 5573466690509955210u);
    counter = h.outputs[1]->data;
    ck_assert(counter[0] == 0 && counter[1] == 11328851861840565591u);
    ck_assert_double_eq(harness_get(h.outputs[2], 0), 1);
    ck_assert_int_eq(harness_run(&h, "StatelessRandomGetKeyCounter",
                                 harness_vector(&h, EDDY_INT64, 5, -9)),
                     EDDY_OK);
    ck_assert_uint_eq(h.n_outputs, 2);
    ck_assert(*(const uint64_t *)h.outputs[0]->data == 5573466690509955210u);
    ck_assert_int_eq(
        harness_run_attrs(&h, "StatelessRandomGetAlg", NULL, 0, NULL, 0),
        EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 1);
    harness_deinit(&h);
}
END_TEST

/* An algorithm of 3 leaves the choice to us. */
START_TEST(an_algorithm_may_be_left_open)
{
    harness h;
    eddy_tensor *inputs[4];
    const uint64_t key = 1, counter[] = {2, 3, 4};
    float first;

    harness_init(&h, &eddy__random_ops);
    inputs[0] = harness_vector(&h, EDDY_INT32, 1);
    inputs[1] = words(&h, 1, &key);
    inputs[2] = words(&h, 2, counter);
    inputs[3] = harness_scalar(&h, EDDY_INT32, 1);
    ck_assert_int_eq(
        harness_run_attrs(&h, "StatelessRandomUniformV2", inputs, 4, NULL, 0),
        EDDY_OK);
    first = *(const float *)h.outputs[0]->data;
    inputs[2] = words(&h, 3, counter);
    inputs[3] = harness_scalar(&h, EDDY_INT32, 3);
    ck_assert_int_eq(
        harness_run_attrs(&h, "StatelessRandomUniformV2", inputs, 4, NULL, 0),
        EDDY_OK);
    ck_assert(first == *(const float *)h.outputs[0]->data);
    harness_deinit(&h);
}
END_TEST

/* ---- the whole range of bounds ---- */

static void check_range(harness *h, eddy_dtype dtype, double low, double high)
{
    const eddy_attr attr = eddy_attr_type("dtype", &dtype);
    eddy_tensor *inputs[] = {
        harness_vector(h, EDDY_INT32, 500), harness_vector(h, EDDY_INT32, 1, 2),
        harness_scalar(h, dtype, low), harness_scalar(h, dtype, high)};
    double least = INFINITY, most = -INFINITY;

    ck_assert_int_eq(
        harness_run_attrs(h, "StatelessRandomUniformInt", inputs, 4, &attr, 1),
        EDDY_OK);
    for (int64_t i = 0; i < 500; i++) {
        least = fmin(least, harness_get(h->outputs[0], i));
        most = fmax(most, harness_get(h->outputs[0], i));
    }
    ck_assert_double_ge(least, low);
    ck_assert_double_lt(most, high);
    ck_assert_double_le(least, low + (high - low) / 50);
    ck_assert_double_ge(most, high - (high - low) / 50 - 1);
}

START_TEST(integers_fill_any_interval)
{
    harness h;

    harness_init(&h, &eddy__random_ops);
    for (eddy_dtype d = EDDY_INT32; d <= EDDY_INT64; d++) {
        check_range(&h, d, 3, 4);
        check_range(&h, d, -1, 1);
        check_range(&h, d, INT32_MIN, INT32_MAX);
    }
    check_range(&h, EDDY_INT64, -0x1p62, 0x1p62);
    harness_deinit(&h);
}
END_TEST

START_TEST(truncated_numbers_are_within_two)
{
    harness h;

    harness_init(&h, &eddy__random_ops);
    NUMBERS_EACH_FLOAT(d)
    {
        double sum = 0;

        ck_assert_int_eq(draw(&h, "TruncatedNormal", d,
                              harness_vector(&h, EDDY_INT32, 3000)),
                         EDDY_OK);
        for (int64_t i = 0; i < 3000; i++) {
            const double x = harness_get(h.outputs[0], i);

            ck_assert(x >= -2 && x <= 2);
            sum += x;
        }
        ck_assert_double_le(fabs(sum / 3000), 0.06);
    }
    harness_deinit(&h);
}
END_TEST

/* ---- what is refused ---- */

static void refuse(harness *h, const char *op, eddy_tensor **inputs, size_t n,
                   eddy_detail detail)
{
    const eddy_dtype dtype = EDDY_INT32;
    const eddy_attr attr = eddy_attr_type("dtype", &dtype);

    harness_want_error(
        h, harness_run_attrs(h, op, inputs, n, &attr, has_bounds(op) ? 1 : 0),
        EDDY_INVALID_ARGUMENT, detail);
}

START_TEST(bad_shapes_and_seeds_are_refused)
{
    harness h;
    eddy_tensor *in[2];

    harness_init(&h, &eddy__random_ops);
    in[1] = harness_vector(&h, EDDY_INT64, 1, 2);
    in[0] = harness_vector(&h, EDDY_INT32, 2, -1);
    refuse(&h, "StatelessRandomUniform", in, 2, EDDY_E_DIM);
    in[0] = harness_scalar(&h, EDDY_INT32, 2);
    refuse(&h, "StatelessRandomUniform", in, 2, EDDY_E_SHAPE);
    in[0] = harness_vector(&h, EDDY_INT64, 0x1p40, 0x1p40);
    refuse(&h, "StatelessRandomUniform", in, 2, EDDY_E_SIZE);
    in[0] = harness_vector(&h, EDDY_INT32, 2);
    in[1] = harness_vector(&h, EDDY_INT64, 1, 2, 3);
    refuse(&h, "StatelessRandomNormal", in, 2, EDDY_E_SHAPE);
    in[1] = harness_scalar(&h, EDDY_INT64, 1);
    refuse(&h, "StatelessTruncatedNormal", in, 2, EDDY_E_SHAPE);
    in[1] = harness_vector(&h, EDDY_UINT32, 1, 2);
    refuse(&h, "StatelessRandomUniformFullInt", in, 2, EDDY_E_INPUT_DTYPE);
    refuse(&h, "StatelessRandomGetKeyCounter",
           (eddy_tensor *[]){harness_vector(&h, EDDY_INT32, 1)}, 1,
           EDDY_E_SHAPE);
    harness_deinit(&h);
}
END_TEST

START_TEST(bad_bounds_are_refused)
{
    harness h;
    eddy_tensor *in[4];

    harness_init(&h, &eddy__random_ops);
    in[0] = harness_vector(&h, EDDY_INT32, 2);
    in[1] = harness_vector(&h, EDDY_INT32, 1, 2);
    in[2] = harness_scalar(&h, EDDY_INT32, 5);
    in[3] = harness_scalar(&h, EDDY_INT32, 5);
    refuse(&h, "StatelessRandomUniformInt", in, 4, EDDY_E_VALUE);
    in[3] = harness_scalar(&h, EDDY_INT32, -6);
    refuse(&h, "StatelessRandomUniformInt", in, 4, EDDY_E_VALUE);
    in[3] = harness_vector(&h, EDDY_INT32, 6);
    refuse(&h, "StatelessRandomUniformInt", in, 4, EDDY_E_SHAPE);
    harness_deinit(&h);
}
END_TEST

/* As TensorFlow has it: without elements nobody looks at the bounds. */
START_TEST(bounds_do_not_matter_without_elements)
{
    const eddy_dtype dtype = EDDY_INT32;
    const eddy_attr attr = eddy_attr_type("dtype", &dtype);
    harness h;
    eddy_tensor *in[4];

    harness_init(&h, &eddy__random_ops);
    in[0] = harness_vector(&h, EDDY_INT32, 0);
    in[1] = harness_vector(&h, EDDY_INT32, 1, 2);
    in[2] = in[3] = harness_scalar(&h, EDDY_INT32, 5);
    ck_assert_int_eq(
        harness_run_attrs(&h, "StatelessRandomUniformInt", in, 4, &attr, 1),
        EDDY_OK);
    harness_want(&h, 0, EDDY_INT32, HARNESS_DIMS(0));
    harness_deinit(&h);
}
END_TEST

START_TEST(bad_keys_and_counters_are_refused)
{
    const uint64_t numbers[] = {1, 2};
    harness h;
    eddy_tensor *in[4], *one, *two;

    harness_init(&h, &eddy__random_ops);
    one = words(&h, 1, numbers);
    two = words(&h, 2, numbers);
    in[0] = harness_vector(&h, EDDY_INT32, 2);
    in[1] = one;
    in[2] = two;
    in[3] = harness_scalar(&h, EDDY_INT32, 2);
    refuse(&h, "StatelessRandomUniformV2", in, 4, EDDY_E_VALUE);
    in[3] = harness_vector(&h, EDDY_INT32, 1);
    refuse(&h, "StatelessRandomUniformV2", in, 4, EDDY_E_SHAPE);
    in[3] = harness_scalar(&h, EDDY_INT32, 1);
    in[1] = two;
    refuse(&h, "StatelessRandomUniformV2", in, 4, EDDY_E_SHAPE);
    in[1] = in[2] = one;
    refuse(&h, "StatelessRandomUniformV2", in, 4, EDDY_E_SHAPE);
    harness_deinit(&h);
}
END_TEST

TCase *ops_random_tests(void)
{
    TCase *tc = tcase_create("ops_random");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, numbers_are_those_of_tensorflow, 0, N_ROWS);
    tcase_add_loop_test(tc, every_shape_gets_the_same_numbers_in_order, 0,
                        N_ROWS);
    tcase_add_test(tc, a_seed_of_int64_is_the_same_as_one_of_int32);
    tcase_add_test(tc, a_seed_stands_for_a_key_and_a_counter);
    tcase_add_test(tc, an_algorithm_may_be_left_open);
    tcase_add_test(tc, integers_fill_any_interval);
    tcase_add_test(tc, truncated_numbers_are_within_two);
    tcase_add_test(tc, bad_shapes_and_seeds_are_refused);
    tcase_add_test(tc, bad_bounds_are_refused);
    tcase_add_test(tc, bounds_do_not_matter_without_elements);
    tcase_add_test(tc, bad_keys_and_counters_are_refused);
    return tc;
}
