/* SPDX-License-Identifier: Apache-2.0 */
/* .npy files: what is read, what is refused, and that what is written returns.
 */
#include "core/value/dtype.h"
#include "eddy/npy.h"
#include "tests/aid/core_fixture.h"
#include "tests/aid/scratch_folder.h"
#include "tests/suites.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static core_fixture f;
static eddy_tensor *tensor;
static uint8_t file[4096];
static size_t length;

static void setup(void)
{
    core_fixture_init(&f);
    tensor = NULL;
    length = 0;
}

static void teardown(void)
{
    eddy_tensor_release(tensor);
    core_fixture_deinit(&f);
}

/* A file of format 1.0 with that dict and data. */
static void make(const char *dict, const void *data, size_t n)
{
    size_t header = strlen(dict) + 1;

    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (uint8_t)(header & 0xff);
    file[9] = (uint8_t)(header >> 8);
    memcpy(file + 10, dict, header - 1);
    file[10 + header - 1] = '\n';
    length = 10 + header;
    if (n > 0)
        memcpy(file + length, data, n);
    length += n;
}

static eddy_status read_file(void)
{
    return eddy_npy_read(&f.ctx, file, length, &tensor, &f.err);
}

static void accept(void)
{
    eddy_status status = read_file();

    ck_assert_msg(status == EDDY_OK, "%s: %s", eddy_detail_name(f.err.detail),
                  f.err.message);
}

#define DICT(descr, order, shape)                                              \
    "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }"

typedef struct code {
    const char *descr;
    eddy_dtype dtype;
} code;

static const code codes[] = {
    {"<f2", EDDY_FLOAT16},   {"<f4", EDDY_FLOAT32},     {"<f8", EDDY_FLOAT64},
    {"|i1", EDDY_INT8},      {"<i2", EDDY_INT16},       {"<i4", EDDY_INT32},
    {"<i8", EDDY_INT64},     {"|u1", EDDY_UINT8},       {"<u2", EDDY_UINT16},
    {"<u4", EDDY_UINT32},    {"<u8", EDDY_UINT64},      {"|b1", EDDY_BOOL},
    {"<c8", EDDY_COMPLEX64}, {"<c16", EDDY_COMPLEX128}, {"<V2", EDDY_BFLOAT16},
};

#define N_CODES (int)(sizeof codes / sizeof codes[0])

START_TEST(reads_every_dtype)
{
    uint8_t data[96];
    size_t n = 6 * eddy_dtype_size(codes[_i].dtype);
    char dict[128];

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = codes[_i].dtype == EDDY_BOOL ? i % 2 : (uint8_t)(i * 7);
    snprintf(dict, sizeof dict, DICT("%s", "False", "(2, 3)"), codes[_i].descr);
    make(dict, data, n);
    accept();
    ck_assert_int_eq(eddy_tensor_dtype(tensor), codes[_i].dtype);
    ck_assert_int_eq(eddy_tensor_shape(tensor)->rank, 2);
    ck_assert_int_eq(eddy_tensor_shape(tensor)->dims[1], 3);
    ck_assert_mem_eq(eddy_tensor_data(tensor), data, n);
}
END_TEST

START_TEST(reads_fortran_order)
{
    const int16_t data[] = {0, 100, 10, 110, 20, 120, 1, 101, 11, 111, 21, 121};
    const int16_t *got;

    make(DICT("<i2", "True", "(2, 3, 2)"), data, sizeof data);
    accept();
    got = eddy_tensor_data(tensor);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 2; k++)
                ck_assert_int_eq(got[(i * 3 + j) * 2 + k],
                                 100 * i + 10 * j + k);
}
END_TEST

START_TEST(reads_texts_in_fortran_order)
{
    make(DICT("|S1", "True", "(2, 2)"), "acbd", 4);
    accept();
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(eddy_tensor_string(tensor, i).data[0], "abcd"[i]);
}
END_TEST

static const char *const good_dicts[] = {
    "{'descr':'<i4','fortran_order':False,'shape':(2,)}",
    "{ \"shape\" : ( 2 , ) , \"fortran_order\" : True, \"descr\" : \"<i4\" } ",
    "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }          ",
    "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2)}",
    "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1,)}",
};

START_TEST(reads_any_dict_of_the_three_keys)
{
    const int32_t data[] = {5, 6};

    make(good_dicts[_i], data, sizeof data);
    accept();
    ck_assert_mem_eq(eddy_tensor_data(tensor), data, sizeof data);
}
END_TEST

START_TEST(reads_a_scalar_and_an_empty_array)
{
    const double one = 1;

    make(DICT("<f8", "False", "()"), &one, sizeof one);
    accept();
    ck_assert_int_eq(eddy_tensor_shape(tensor)->rank, 0);
    ck_assert(*(const double *)eddy_tensor_data(tensor) == 1);
    eddy_tensor_release(tensor);
    tensor = NULL;
    make(DICT("<f8", "True", "(3, 0, 2)"), NULL, 0);
    accept();
    ck_assert_int_eq(eddy_tensor_count(tensor), 0);
    ck_assert_int_eq(eddy_tensor_shape(tensor)->dims[0], 3);
}
END_TEST

START_TEST(reads_the_formats_with_long_headers)
{
    static const char dict[] = DICT("|u1", "False", "(1,)");

    memcpy(file, "\x93NUMPY", 6);
    file[6] = (uint8_t)(2 + _i);
    file[7] = 0;
    memcpy(file + 8, (uint8_t[]){sizeof dict - 1, 0, 0, 0}, 4);
    memcpy(file + 12, dict, sizeof dict - 1);
    file[12 + sizeof dict - 1] = 42;
    length = 12 + sizeof dict;
    accept();
    ck_assert_int_eq(*(const uint8_t *)eddy_tensor_data(tensor), 42);
}
END_TEST

START_TEST(normalises_bools)
{
    const uint8_t *got;

    make(DICT("|b1", "False", "(3,)"), "\x00\x02\xff", 3);
    accept();
    got = eddy_tensor_data(tensor);
    ck_assert(got[0] == 0 && got[1] == 1 && got[2] == 1);
}
END_TEST

static void want_text(int64_t i, const char *text)
{
    eddy_string got = eddy_tensor_string(tensor, i);

    ck_assert_uint_eq(got.length, strlen(text));
    if (got.length > 0)
        ck_assert_mem_eq(got.data, text, got.length);
}

START_TEST(reads_byte_strings)
{
    make(DICT("|S3", "False", "(3,)"), "abc\0\0\0d\xff\0", 9);
    accept();
    ck_assert_int_eq(eddy_tensor_dtype(tensor), EDDY_STRING);
    want_text(0, "abc");
    want_text(1, "");
    want_text(2, "d\xff");
}
END_TEST

START_TEST(reads_unicode_as_utf8)
{
    const uint32_t points[] = {'a', 0xe9, 0, 0x20ac, 0x1f600, 0x10ffff};

    make(DICT("<U3", "False", "(2,)"), points, sizeof points);
    accept();
    want_text(0, "a\xc3\xa9");
    want_text(1, "\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf");
}
END_TEST

START_TEST(refuses_code_points_that_do_not_exist)
{
    static const uint32_t bad[] = {0xd800, 0xdfff, 0x110000, 0xffffffff};

    make(DICT("<U1", "False", "(1,)"), &bad[_i], 4);
    core_fixture_want(&f, read_file(), EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED);
}
END_TEST

typedef struct bad {
    const char *dict;
    size_t data;
    eddy_detail detail;
    const char *words;
} bad;

static const bad bads[] = {
    {"", 0, EDDY_E_MALFORMED, "'{' is wanted"},
    {"{", 0, EDDY_E_MALFORMED, "in quotes"},
    {"{}", 0, EDDY_E_MALFORMED, "shape are wanted"},
    {"{'descr': '<f4'}", 0, EDDY_E_MALFORMED, "shape are wanted"},
    {"{'other': 1}", 0, EDDY_E_MALFORMED, "at byte 11"},
    {"{'descr': '<f4', 'descr': '<f4'}", 0, EDDY_E_MALFORMED, "twice"},
    {"{'descr' '<f4'}", 0, EDDY_E_MALFORMED, "':' is wanted"},
    {"{'descr': '<f4' 'shape': ()}", 0, EDDY_E_MALFORMED, "',' or '}'"},
    {"{'descr': \"<f4'}", 0, EDDY_E_MALFORMED, "has no end"},
    {"{'descr': '<f\\x34'}", 0, EDDY_E_MALFORMED, "without '\\'"},
    {DICT("<f4", "None", "()"), 4, EDDY_E_MALFORMED, "True or False"},
    {DICT("<f4", "False", "2"), 8, EDDY_E_MALFORMED, "'(' is wanted"},
    {DICT("<f4", "False", "(2)"), 8, EDDY_E_MALFORMED, "only dimension"},
    {DICT("<f4", "False", "(,)"), 8, EDDY_E_MALFORMED, "a number is wanted"},
    {DICT("<f4", "False", "(-2,)"), 8, EDDY_E_MALFORMED, "a number is wanted"},
    {DICT("<f4", "False", "(2 2)"), 8, EDDY_E_MALFORMED, "',' or ')'"},
    {DICT("<f4", "False", "(99999999999999999999,)"), 8, EDDY_E_MALFORMED,
     "smaller number"},
    {DICT("<f4", "False", "()") " x", 4, EDDY_E_MALFORMED, "nothing more"},
    {DICT(">f4", "False", "()"), 4, EDDY_E_DTYPE, "big-endian"},
    {DICT(">U1", "False", "()"), 4, EDDY_E_DTYPE, "big-endian"},
    {DICT("=f4", "False", "()"), 4, EDDY_E_DTYPE, "'<' or '|'"},
    {DICT("|f4", "False", "()"), 4, EDDY_E_DTYPE, "byte order"},
    {DICT("|U1", "False", "()"), 4, EDDY_E_DTYPE, "byte order"},
    {DICT("<f3", "False", "()"), 4, EDDY_E_DTYPE, "'<f3'"},
    {DICT("<c32", "False", "()"), 32, EDDY_E_DTYPE, "'<c32'"},
    {DICT("|V4", "False", "()"), 4, EDDY_E_DTYPE, "'|V4'"},
    {DICT("|O", "False", "()"), 4, EDDY_E_DTYPE, "'|O'"},
    {DICT("|S", "False", "()"), 4, EDDY_E_DTYPE, "no length"},
    {DICT("|S-1", "False", "()"), 4, EDDY_E_DTYPE, "no length"},
    {DICT("|S99999999999", "False", "()"), 4, EDDY_E_DTYPE, "no length"},
    {DICT("", "False", "()"), 4, EDDY_E_DTYPE, "no dtype"},
    {"{'descr': [('a', '<f4')]", 4, EDDY_E_DTYPE, "structure"},
    {DICT("<f4", "False", "(1,1,1,1,1,1,1,1,1)"), 4, EDDY_E_RANK, "8"},
    {DICT("<f4", "False", "(4611686018427387904, 4)"), 4, EDDY_E_SIZE,
     "impossible"},
    {DICT("<f4", "False", "(4611686018427387904,)"), 4, EDDY_E_SIZE,
     "impossible"},
    {DICT("<f4", "False", "(0, 4611686018427387904, 4)"), 0, EDDY_E_SIZE,
     "impossible"},
    {DICT("<f4", "False", "(2,)"), 7, EDDY_E_TENSOR_DATA, "needs 8"},
    {DICT("<f4", "False", "(2,)"), 9, EDDY_E_TENSOR_DATA, "needs 8"},
    {DICT("|S0", "False", "(1099511627776,)"), 0, EDDY_E_TENSOR_DATA, "0"},
    {DICT("|S9", "False", "(1099511627776,)"), 9, EDDY_E_TENSOR_DATA, "9"},
};

START_TEST(refuses_bad_headers)
{
    static const char data[32];
    const bad *b = &bads[_i];

    make(b->dict, data, b->data);
    core_fixture_want(&f, read_file(), EDDY_INVALID_ARGUMENT, b->detail);
    ck_assert_msg(strstr(f.err.message, b->words) != NULL, "'%s' has no '%s'",
                  f.err.message, b->words);
}
END_TEST

START_TEST(refuses_bad_preambles)
{
    static const struct {
        size_t at;
        uint8_t value;
    } changes[] = {{0, 'P'}, {5, 'y'}, {6, 0}, {6, 4}, {7, 1}, {9, 0xff}};

    make(DICT("|u1", "False", "(1,)"), "x", 1);
    file[changes[_i].at] = changes[_i].value;
    core_fixture_want(&f, read_file(), EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED);
}
END_TEST

START_TEST(survives_every_prefix_and_every_overwritten_byte)
{
    static const uint8_t values[] = {0, '9', '(', ')', '\'', 0x80, 0xff};

    make(DICT("<U2", "True", "(2, 1)"), "a\0\0\0b\0\0\0c\0\0\0\0\0\0\0", 16);
    for (size_t n = 0; n < length; n++) {
        /* A block of just that size shows a read past its end. */
        uint8_t *tight = malloc(n > 0 ? n : 1);

        ck_assert_ptr_nonnull(tight);
        memcpy(tight, file, n);
        ck_assert_int_eq(eddy_npy_read(&f.ctx, tight, n, &tensor, &f.err),
                         EDDY_INVALID_ARGUMENT);
        free(tight);
    }
    for (size_t i = 0; i < length; i++)
        for (size_t v = 0; v < sizeof values; v++) {
            uint8_t old = file[i];

            file[i] = values[v];
            if (read_file() == EDDY_OK)
                eddy_tensor_release(tensor);
            tensor = NULL;
            file[i] = old;
        }
}
END_TEST

START_TEST(survives_every_failed_allocation)
{
    long long live = atomic_load(&f.counting.live_bytes);
    long long n = 0;
    eddy_status status;

    make(DICT("<U2", "True", "(2, 1)"), "a\0\0\0b\0\0\0c\0\0\0\0\0\0\0", 16);
    for (;; n++) {
        counting_allocator_allow(&f.counting, n);
        status = read_file();
        counting_allocator_allow(&f.counting, -1);
        if (status == EDDY_OK)
            break;
        core_fixture_want(&f, status, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
        ck_assert_int_eq(atomic_load(&f.counting.live_bytes), live);
    }
    ck_assert_int_ge(n, 4);
}
END_TEST

/* ---- files ---- */

static char path[] = "/tmp/eddy-npy-XXXXXX";

static void make_path(void)
{
    int descriptor;

    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
}

/* Saves `from`, checks that the data is aligned, and loads it again. */
static void save_and_load(const eddy_tensor *from)
{
    struct stat info;
    eddy_status status;

    make_path();
    status = eddy_npy_save(from, path, &f.err);
    ck_assert_msg(status == EDDY_OK, "%s", f.err.message);
    ck_assert_int_eq(stat(path, &info), 0);
    status = eddy_npy_load(&f.ctx, path, &tensor, &f.err);
    ck_assert_msg(status == EDDY_OK, "%s", f.err.message);
    unlink(path);
    ck_assert_int_eq(eddy_tensor_dtype(from), eddy_tensor_dtype(tensor));
    ck_assert_int_eq(eddy_tensor_shape(from)->rank,
                     eddy_tensor_shape(tensor)->rank);
    ck_assert_int_eq(eddy_tensor_count(from), eddy_tensor_count(tensor));
}

START_TEST(returns_what_was_written)
{
    static const eddy_shape shapes[] = {
        {.rank = 0},
        {.rank = 1, .dims = {3}},
        {.rank = 3, .dims = {2, 0, 5}},
        {.rank = 8, .dims = {1, 2, 1, 3, 1, 1, 2, 1}},
    };

    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        eddy_tensor *from = NULL;
        uint8_t *data;

        ck_assert_int_eq(eddy_tensor_create(&f.ctx, codes[_i].dtype, &shapes[s],
                                            &from, &f.err),
                         EDDY_OK);
        data = eddy_tensor_mutable_data(from);
        for (size_t i = 0; i < eddy_tensor_bytes(from); i++)
            data[i] = (uint8_t)(i % 2);
        save_and_load(from);
        for (int32_t i = 0; i < shapes[s].rank; i++)
            ck_assert_int_eq(eddy_tensor_shape(tensor)->dims[i],
                             shapes[s].dims[i]);
        if (eddy_tensor_bytes(from) > 0)
            ck_assert_mem_eq(eddy_tensor_data(tensor), data,
                             eddy_tensor_bytes(from));
        eddy_tensor_release(from);
        eddy_tensor_release(tensor);
        tensor = NULL;
    }
}
END_TEST

START_TEST(returns_texts_that_were_written)
{
    const eddy_string texts[] = {{"", 0}, {"ab", 2}, {"c\0d\xff", 4}};
    const eddy_shape shape = {.rank = 1, .dims = {_i == 0 ? 3 : 1}};
    eddy_tensor *from = NULL;

    ck_assert_int_eq(eddy_tensor_from_strings(&f.ctx, &shape, texts,
                                              (size_t)shape.dims[0], &from,
                                              &f.err),
                     EDDY_OK);
    save_and_load(from);
    for (int64_t i = 0; i < shape.dims[0]; i++) {
        eddy_string got = eddy_tensor_string(tensor, i);

        ck_assert_uint_eq(got.length, texts[i].length);
        if (got.length > 0)
            ck_assert_mem_eq(got.data, texts[i].data, got.length);
    }
    eddy_tensor_release(from);
}
END_TEST

START_TEST(writes_what_numpy_writes)
{
    static const char wanted[] =
        "\x93NUMPY\x01\x00v\x00"
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    const eddy_shape shape = {.rank = 2, .dims = {2, 3}};
    eddy_tensor *from = NULL;
    FILE *in;
    size_t n;

    ck_assert_int_eq(
        eddy_tensor_create(&f.ctx, EDDY_FLOAT32, &shape, &from, &f.err),
        EDDY_OK);
    memset(eddy_tensor_mutable_data(from), 0, 24);
    make_path();
    ck_assert_int_eq(eddy_npy_save(from, path, &f.err), EDDY_OK);
    eddy_tensor_release(from);
    in = fopen(path, "rb");
    ck_assert_ptr_nonnull(in);
    n = fread(file, 1, sizeof file, in);
    fclose(in);
    unlink(path);
    ck_assert_uint_eq(n, 128 + 24);
    ck_assert_mem_eq(file, wanted, sizeof wanted - 1);
    for (size_t i = sizeof wanted - 1; i < 127; i++)
        ck_assert_int_eq(file[i], ' ');
    ck_assert_int_eq(file[127], '\n');
}
END_TEST

START_TEST(says_which_file_is_the_matter)
{
    const eddy_shape shape = {.rank = 0};
    eddy_tensor *from = NULL;

    core_fixture_want(&f,
                      eddy_npy_load(&f.ctx, "/nowhere/x.npy", &tensor, &f.err),
                      EDDY_NOT_FOUND, EDDY_E_IO);
    ck_assert_ptr_nonnull(strstr(f.err.message, "/nowhere/x.npy"));
    ck_assert_int_eq(
        eddy_tensor_create(&f.ctx, EDDY_FLOAT32, &shape, &from, &f.err),
        EDDY_OK);
    core_fixture_want(&f, eddy_npy_save(from, "/nowhere/x.npy", &f.err),
                      EDDY_NOT_FOUND, EDDY_E_IO);
    eddy_tensor_release(from);
}
END_TEST

START_TEST(says_when_the_disk_is_full)
{
    const eddy_shape shape = {.rank = 0};
    eddy_tensor *from = NULL;

    if (access("/dev/full", W_OK) != 0)
        return;
    ck_assert_int_eq(
        eddy_tensor_create(&f.ctx, EDDY_FLOAT32, &shape, &from, &f.err),
        EDDY_OK);
    core_fixture_want(&f, eddy_npy_save(from, "/dev/full", &f.err),
                      EDDY_UNAVAILABLE, EDDY_E_IO);
    eddy_tensor_release(from);
}
END_TEST

/* Two that give bytes for ever or never, and two that have none to give. */
START_TEST(refuses_what_is_no_regular_file)
{
    static const char *const names[] = {"pipe", "/dev/zero", ".", "/dev/null"};
    char folder[SCRATCH_PATH], name[SCRATCH_PATH + 8];

    scratch_folder_create(folder);
    snprintf(name, sizeof name, "%s/%s", folder, names[_i]);
    if (_i == 0)
        ck_assert_int_eq(mkfifo(name, 0600), 0);
    core_fixture_want(
        &f,
        eddy_npy_load(&f.ctx, _i % 2 == 0 ? name : names[_i], &tensor, &f.err),
        EDDY_INVALID_ARGUMENT, EDDY_E_IO);
    ck_assert_ptr_nonnull(strstr(f.err.message, "a regular file is wanted"));
    scratch_folder_remove(folder);
}
END_TEST

/* To open it would wait for ever. */
START_TEST(refuses_a_pipe_that_nobody_reads)
{
    const eddy_shape shape = {.rank = 1, .dims = {1}};
    char folder[SCRATCH_PATH], name[SCRATCH_PATH + 8];
    eddy_tensor *from = NULL;

    scratch_folder_create(folder);
    snprintf(name, sizeof name, "%s/pipe", folder);
    ck_assert_int_eq(mkfifo(name, 0600), 0);
    ck_assert_int_eq(
        eddy_tensor_create(&f.ctx, EDDY_FLOAT32, &shape, &from, &f.err),
        EDDY_OK);
    memset(eddy_tensor_mutable_data(from), 0, eddy_tensor_bytes(from));
    core_fixture_want(&f, eddy_npy_save(from, name, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_IO);
    ck_assert_ptr_nonnull(strstr(f.err.message, "nobody reads"));
    eddy_tensor_release(from);
    scratch_folder_remove(folder);
}
END_TEST

/* One that somebody reads is written to as a file is. */
START_TEST(writes_to_a_pipe_that_is_read)
{
    const eddy_shape shape = {.rank = 1, .dims = {1}};
    char folder[SCRATCH_PATH], name[SCRATCH_PATH + 8], magic[6];
    eddy_tensor *from = NULL;
    int reader;

    scratch_folder_create(folder);
    snprintf(name, sizeof name, "%s/pipe", folder);
    ck_assert_int_eq(mkfifo(name, 0600), 0);
    reader = open(name, O_RDONLY | O_NONBLOCK);
    ck_assert_int_ge(reader, 0);
    ck_assert_int_eq(
        eddy_tensor_create(&f.ctx, EDDY_FLOAT32, &shape, &from, &f.err),
        EDDY_OK);
    memset(eddy_tensor_mutable_data(from), 0, eddy_tensor_bytes(from));
    ck_assert_int_eq(eddy_npy_save(from, name, &f.err), EDDY_OK);
    ck_assert_int_eq(read(reader, magic, sizeof magic), sizeof magic);
    ck_assert_mem_eq(magic, "\x93NUMPY", sizeof magic);
    ck_assert_int_eq(close(reader), 0);
    eddy_tensor_release(from);
    scratch_folder_remove(folder);
}
END_TEST

/* A hole takes no room on the disk, but its bytes would in memory. */
START_TEST(refuses_a_file_above_the_limit_before_it_is_read)
{
    const eddy_shape shape = {.rank = 1, .dims = {100}};
    char folder[SCRATCH_PATH], name[SCRATCH_PATH + 8];
    eddy_tensor *from = NULL;
    long long most;

    scratch_folder_create(folder);
    snprintf(name, sizeof name, "%s/x.npy", folder);
    ck_assert_int_eq(
        eddy_tensor_create(&f.ctx, EDDY_FLOAT64, &shape, &from, &f.err),
        EDDY_OK);
    memset(eddy_tensor_mutable_data(from), 0, eddy_tensor_bytes(from));
    ck_assert_int_eq(eddy_npy_save(from, name, &f.err), EDDY_OK);
    eddy_tensor_release(from);
    core_fixture_want(&f,
                      eddy_npy_load_limited(&f.ctx, name, 900, &tensor, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
    ck_assert_int_eq(eddy_npy_load_limited(&f.ctx, name, 1000, &tensor, &f.err),
                     EDDY_OK);
    ck_assert_int_eq(truncate(name, (off_t)EDDY_NPY_MAX_BYTES + 1), 0);
    most = atomic_load(&f.counting.calls);
    eddy_tensor_release(tensor);
    tensor = NULL;
    core_fixture_want(&f, eddy_npy_load(&f.ctx, name, &tensor, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
    ck_assert_int_eq(atomic_load(&f.counting.calls), most);
    scratch_folder_remove(folder);
}
END_TEST

TCase *npy_tests(void)
{
    TCase *tc = tcase_create("npy");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, reads_every_dtype, 0, N_CODES);
    tcase_add_test(tc, reads_fortran_order);
    tcase_add_test(tc, reads_texts_in_fortran_order);
    tcase_add_loop_test(tc, reads_any_dict_of_the_three_keys, 0, 5);
    tcase_add_test(tc, reads_a_scalar_and_an_empty_array);
    tcase_add_loop_test(tc, reads_the_formats_with_long_headers, 0, 2);
    tcase_add_test(tc, normalises_bools);
    tcase_add_test(tc, reads_byte_strings);
    tcase_add_test(tc, reads_unicode_as_utf8);
    tcase_add_loop_test(tc, refuses_code_points_that_do_not_exist, 0, 4);
    tcase_add_loop_test(tc, refuses_bad_headers, 0,
                        (int)(sizeof bads / sizeof bads[0]));
    tcase_add_loop_test(tc, refuses_bad_preambles, 0, 6);
    tcase_add_test(tc, survives_every_prefix_and_every_overwritten_byte);
    tcase_add_test(tc, survives_every_failed_allocation);
    tcase_add_loop_test(tc, returns_what_was_written, 0, N_CODES);
    tcase_add_loop_test(tc, returns_texts_that_were_written, 0, 2);
    tcase_add_test(tc, writes_what_numpy_writes);
    tcase_add_test(tc, says_which_file_is_the_matter);
    tcase_add_test(tc, says_when_the_disk_is_full);
    tcase_add_loop_test(tc, refuses_what_is_no_regular_file, 0, 4);
    tcase_add_test(tc, refuses_a_pipe_that_nobody_reads);
    tcase_add_test(tc, writes_to_a_pipe_that_is_read);
    tcase_add_test(tc, refuses_a_file_above_the_limit_before_it_is_read);
    return tc;
}
