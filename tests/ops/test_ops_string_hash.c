/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets of texts by their hashes, and fingerprints: TensorFlow's numbers. */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__string_hash_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

/* Beginnings of one text, of lengths at which the ways to hash part. */
static const struct {
    size_t length;
    int64_t fast, old, strong;
} hashes[] = {
    {0, 1936946117179621456, 105434511174508092, 4751507944081487622},
    {1, 1366698271136253306, 6768514503378224810, 6121688528623884241},
    {3, 398699863598724094, 8656412646643872492, 1991341458862360105},
    {4, 8425543508670559910, 1607844577577912814, 5167440500661730737},
    {7, 8879765114474867592, 249932044799380874, 6622340728445653275},
    {8, 5102859526078303239, 3350161390323024880, 536126152375144931},
    {16, 4320848957565769301, 436177175344453969, 9066721654762395125},
    {17, 5162019803258432958, 5752701778798411562, 7219090105694767135},
    {32, 3916272259504149091, 6312311820452977369, 1744673673497074151},
    {33, 8241563171161551831, 283173735709869071, 7116882804138155332},
    {64, 8363956866307445353, 7937731687500033868, 3493878227527487197},
    {65, 436762653845768959, 8711641122425608126, 2813038070356149031},
    {128, 7804692908197272743, 9110844012024850523, 948962002722748570},
    {129, 7755199527092240224, 8478017374161914135, 7284668286832015413},
    {200, 4123527819456064813, 3668147535258315512, 4802284026033571764},
};

#define N_HASHES (sizeof hashes / sizeof *hashes)
#define SENTENCE                                                               \
    "The quick brown fox jumps over the lazy dog. Pack my box with five "      \
    "dozen liquor jugs; sphinx of black quartz, judge my vow!"

static int64_t bucket(const char *op, const char *text, bool has_key)
{
    const int64_t n = INT64_MAX, key[] = {123, -456};
    const eddy_attr attrs[] = {eddy_attr_int("num_buckets", &n),
                               {.name = "key",
                                .kind = EDDY_ATTR_INT,
                                .is_list = true,
                                .n = 2,
                                .as.ints = key}};
    eddy_tensor *x = harness_strings(&h, 0, NULL, &text);

    ck_assert_int_eq(
        harness_run_attrs(&h, op, LAYOUT_INPUTS(x), attrs, has_key ? 2 : 1),
        EDDY_OK);
    harness_want(&h, 0, EDDY_INT64, 0, NULL);
    return *(const int64_t *)eddy_tensor_data(h.outputs[0]);
}

START_TEST(texts_have_the_published_hashes)
{
    char text[256];

    memcpy(text, SENTENCE SENTENCE, hashes[_i].length);
    text[hashes[_i].length] = '\0';
    ck_assert_int_eq(bucket("StringToHashBucketFast", text, false),
                     hashes[_i].fast);
    ck_assert_int_eq(bucket("StringToHashBucket", text, false), hashes[_i].old);
    ck_assert_int_eq(bucket("StringToHashBucketStrong", text, true),
                     hashes[_i].strong);
}
END_TEST

START_TEST(a_key_has_two_words)
{
    const int64_t n = 10, key[] = {1};
    const eddy_attr attrs[] = {eddy_attr_int("num_buckets", &n),
                               {.name = "key",
                                .kind = EDDY_ATTR_INT,
                                .is_list = true,
                                .n = 1,
                                .as.ints = key}};
    const char *const text = "a";

    harness_want_error(
        &h,
        harness_run_attrs(&h, "StringToHashBucketStrong",
                          LAYOUT_INPUTS(harness_strings(&h, 0, NULL, &text)),
                          attrs, 2),
        EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
}
END_TEST

START_TEST(rows_have_fingerprints)
{
    static const char *const texts[] = {"a", "b", "c", ""};
    static const char *const method = "farmhash64", *const other = "md5";
    static const unsigned char wanted[] = {
        122, 64, 59, 169, 136, 60, 55, 83, 101, 91, 225, 7, 52, 192, 29, 135};
    static const unsigned char numbers[] = {76,  18,  253, 133, 168, 204,
                                            240, 10,  254, 162, 60,  240,
                                            103, 244, 53,  255};
    eddy_tensor *of = harness_strings(&h, 0, NULL, &method);
    eddy_tensor *x = harness_strings(&h, HARNESS_DIMS(2, 2), texts);
    const double values[] = {1, 2, 3, 4};

    ck_assert_int_eq(harness_run(&h, "Fingerprint", x, of), EDDY_OK);
    harness_want(&h, 0, EDDY_UINT8, HARNESS_DIMS(2, 8));
    ck_assert_mem_eq(eddy_tensor_data(h.outputs[0]), wanted, sizeof wanted);
    x = harness_numbers(&h, EDDY_INT32, HARNESS_DIMS(2, 2), values);
    ck_assert_int_eq(harness_run(&h, "Fingerprint", x, of), EDDY_OK);
    ck_assert_mem_eq(eddy_tensor_data(h.outputs[0]), numbers, sizeof numbers);
    harness_want_error(
        &h,
        harness_run(&h, "Fingerprint", x, harness_strings(&h, 0, NULL, &other)),
        EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h,
                       harness_run(&h, "Fingerprint", layout_int(&h, 1), of),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(
        &h,
        harness_run(&h, "Fingerprint", x,
                    harness_strings(&h, HARNESS_DIMS(1), &method)),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

TCase *ops_string_hash_tests(void)
{
    TCase *tests = tcase_create("ops_string_hash");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, texts_have_the_published_hashes, 0,
                        (int)N_HASHES);
    tcase_add_test(tests, a_key_has_two_words);
    tcase_add_test(tests, rows_have_fingerprints);
    return tests;
}
