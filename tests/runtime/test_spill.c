/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tapes that spill: the bits are those of tapes in memory, what goes wrong with
 * the file is an error with its place, and nothing is left behind.  The file is
 * one in memory here, whose calls fail when the test wants it.
 */
#include "core/base/block_file.h"
#include "runtime/exec/run.h"
#include "tests/aid/program.h"
#include "tests/aid/scratch_folder.h"
#include "tests/suites.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static program p;

/* ---- a file in memory ---- */

#define FILE_BYTES ((size_t)4 << 20)

typedef enum trouble {
    NONE,
    OPEN_DENIED,
    WRITE_FULL,  /* the disk is */
    WRITE_STOPS, /* it writes nothing more */
    WRITE_BROKEN,
    READ_BROKEN,
    READ_SHORT,
    READ_CHANGED,
    WRITE_CANCELS, /* cancels the run and lasts until it is given up */
    READ_CANCELS,
    READ_LASTS, /* until it is given up */
} trouble;

/* Of the run's file while it is open, else of the test. */
static struct {
    unsigned char *bytes;
    size_t length; /* as far as was written */
    trouble trouble;
    unsigned after; /* calls of its kind that work before */
    size_t most;    /* bytes that a call does at once */
    unsigned opened, closed, writes, reads;
} disk;

static void last_until_given_up(void)
{
    eddy__block_file *file = &p.run->spill.file;
    bool is_unwanted = false;

    while (!is_unwanted) {
        eddy__thread_sleep_ms(1);
        eddy__mutex_lock(&file->mu);
        is_unwanted = file->drops;
        eddy__mutex_unlock(&file->mu);
    }
}

static int disk_open(void *user, const char *folder)
{
    (void)user;
    (void)folder;
    if (disk.trouble == OPEN_DENIED)
        return -EACCES;
    disk.opened++;
    disk.length = 0;
    return 7;
}

static int64_t disk_write(void *user, int file, const void *data, size_t bytes,
                          uint64_t offset)
{
    (void)user;
    ck_assert_int_eq(file, 7);
    if (disk.writes++ >= disk.after) {
        if (disk.trouble == WRITE_FULL)
            return -ENOSPC;
        if (disk.trouble == WRITE_STOPS)
            return 0;
        if (disk.trouble == WRITE_BROKEN)
            return -EIO;
        if (disk.trouble == WRITE_CANCELS) {
            eddy_run_cancel(p.run);
            last_until_given_up();
        }
    }
    bytes = bytes < disk.most ? bytes : disk.most;
    ck_assert_uint_le(offset + bytes, FILE_BYTES);
    memcpy(disk.bytes + offset, data, bytes);
    disk.length = offset + bytes > disk.length ? offset + bytes : disk.length;
    return (int64_t)bytes;
}

static int64_t disk_read(void *user, int file, void *data, size_t bytes,
                         uint64_t offset)
{
    (void)user;
    ck_assert_int_eq(file, 7);
    bytes = bytes < disk.most ? bytes : disk.most;
    memcpy(data, disk.bytes + offset, bytes);
    if (disk.reads++ >= disk.after) {
        if (disk.trouble == READ_BROKEN)
            return -EIO;
        if (disk.trouble == READ_SHORT)
            return 0;
        if (disk.trouble == READ_CHANGED)
            *(unsigned char *)data ^= 1;
        if (disk.trouble == READ_CANCELS)
            eddy_run_cancel(p.run);
        if (disk.trouble == READ_CANCELS || disk.trouble == READ_LASTS)
            last_until_given_up();
    }
    return (int64_t)bytes;
}

static void disk_close(void *user, int file)
{
    (void)user;
    ck_assert_int_eq(file, 7);
    disk.closed++;
}

static const eddy__file_calls disk_calls = {.open = disk_open,
                                            .write = disk_write,
                                            .read = disk_read,
                                            .close = disk_close};

static void begin(void)
{
    program_init(&p, 0);
    p.run_options.spill_above = 1;
    disk.bytes = malloc(FILE_BYTES);
    ck_assert_ptr_nonnull(disk.bytes);
    disk.trouble = NONE;
    disk.after = 0;
    disk.most = FILE_BYTES;
    disk.opened = disk.closed = disk.writes = disk.reads = 0;
}

static void end(void)
{
    ck_assert_uint_eq(disk.opened, disk.closed);
    free(disk.bytes);
    program_deinit(&p);
}

/* ---- programs ---- */

/* while (i < n) { i += 1; v = tanh(v * w) + w } */
#define LOOP                                                                   \
    "i0 int32=0\none int32=1\n"                                                \
    "i/e Enter@w i0\ni/m Merge i/e i/n\ni/l Enter@w! n\n"                      \
    "less Less i/m i/l\nc LoopCond less\ni/s Switch i/m c\n"                   \
    "i/o Enter@w! one\ni/a AddV2 i/s:1 i/o\ni/n NextIteration i/a\n"           \
    "v/e Enter@w x\nv/m Merge v/e v/n\nv/s Switch v/m c\nv/w Enter@w! w\n"     \
    "v/p Mul v/s:1 v/w\nv/t Tanh v/p\nv/b AddV2 v/t v/w\n"                     \
    "v/n NextIteration v/b\nv/x Exit v/s\n"

#define SCALARS "x float64=0.5\nw float64=0.75\n" LOOP
#define VECTORS "x float32[5]=0.5,0.25,1\nw float32[5]=0.75,0.5\n" LOOP
/* Each of them many times what is held. */
#define LARGE "x float32[400]=0.5,0.25,1\nw float32[400]=0.75,0.5\n" LOOP

static void build(const char *text, int trips)
{
    char line[64];

    (void)snprintf(line, sizeof line, "n int32=%d\n", trips);
    program_build(&p, line);
    program_build(&p, text);
}

static void differentiate(eddy_tape_policy policy, eddy_output out[2])
{
    const eddy_gradient_options options = {.size = sizeof options,
                                           .tape = policy};
    const eddy_output y = program_output(&p, "v/x"),
                      xs[] = {program_output(&p, "x"), program_output(&p, "w")};

    program_want_ok(
        &p, eddy_gradients(p.graph, &y, 1, xs, 2, &options, out, &p.err));
}

/* A run of the gradients by x and w, whose file is the one in memory. */
static void make_run(const eddy_output *out, size_t n)
{
    program_plan_outputs(&p, out, n);
    program_make_run(&p);
    p.run->spill.calls = &disk_calls;
}

static void want_same_bits(size_t i, size_t k)
{
    const eddy_tensor *a = eddy_run_fetch(p.run, i);
    const eddy_tensor *b = eddy_run_fetch(p.run, k);

    ck_assert_mem_eq(eddy_tensor_data(a), eddy_tensor_data(b),
                     eddy_tensor_bytes(a));
}

/* ---- there and back ---- */

static const char *const kinds[] = {SCALARS, VECTORS, LARGE};

START_TEST(the_bits_are_those_of_a_tape_in_memory)
{
    static const int trips[] = {0, 1, 7, 64, 300};
    static const eddy_plan_executor executors[] = {
        EDDY_EXECUTOR_DYNAMIC, EDDY_EXECUTOR_LINEAR, EDDY_EXECUTOR_NATIVE};
    const int n = trips[_i % 5];
    eddy_output out[4];

    p.plan_options.executor = executors[_i / 5 % 3];
    p.run_options.spill_above = _i % 2 == 0 ? 1 : 1000;
    disk.most = _i % 3 == 0 ? 11 : FILE_BYTES;
    build(kinds[_i / 15], n);
    differentiate(EDDY_TAPE_KEEP, out);
    differentiate(EDDY_TAPE_SPILL, out + 2);
    make_run(out, 4);
    for (int round = 0; round < 2; round++) {
        program_run(&p);
        want_same_bits(0, 2);
        want_same_bits(1, 3);
        if (n == 300)
            ck_assert_uint_gt(eddy_run_spilled(p.run), 1000);
        if (n < 2)
            ck_assert_uint_eq(eddy_run_spilled(p.run), 0);
    }
}
END_TEST

START_TEST(a_tape_that_fits_makes_no_file)
{
    eddy_output out[2];

    p.run_options.spill_above = 0;
    build(SCALARS, 1000);
    differentiate(EDDY_TAPE_SPILL, out);
    make_run(out, 2);
    program_run(&p);
    ck_assert_uint_eq(eddy_run_spilled(p.run), 0);
    ck_assert_uint_eq(disk.opened, 0);
}
END_TEST

START_TEST(what_is_held_is_bounded)
{
    eddy_output out[2];

    p.run_options.spill_above = 0;
    p.run_options.max_bytes = 1 << 19;
    build(LARGE, 500);
    differentiate(EDDY_TAPE_KEEP, out);
    make_run(out, 2);
    program_want(&p, program_execute(&p), EDDY_RESOURCE_EXHAUSTED,
                 EDDY_E_LIMIT_BYTES);
    differentiate(EDDY_TAPE_SPILL, out);
    make_run(out, 2);
    program_run(&p);
    ck_assert_uint_gt(eddy_run_spilled(p.run), 1 << 19);
    ck_assert_uint_le(program_stats(&p).peak_bytes, 1 << 19);
}
END_TEST

/*
 * for i in 0..n: push(value made of i); then, for i from n down to 0, what is
 * popped must give i again.
 */
#define PUSH_HEAD                                                              \
    "max int32=-1\nzero int64=0\none int64=1\nn int64=200\n"                   \
    "s StackV2 max elem_type=%s\n"                                             \
    "fi Enter@f zero\nfn Enter@f! n\nfs Enter@f! s\nf1 Enter@f! one\n"         \
    "fm Merge fi fx\nfl Less fm fn\nfc LoopCond fl\nfw Switch fm fc\n"
#define PUSH_END                                                               \
    "push StackPushV2 fs value swap_memory=true\n"                             \
    "fb Add fw:1 f1 ^push\nfx NextIteration fb\ncount Exit fw\n"
#define POP_HEAD                                                               \
    "bi Enter@b count\nbs Enter@b! s\nb0 Enter@b! zero\nb1 Enter@b! one\n"     \
    "bm Merge bi bx\nbl Less b0 bm\nbc LoopCond bl\nbw Switch bm bc\n"         \
    "bd Sub bw:1 b1\npop StackPopV2 bs ^bd elem_type=%s\n"
#define POP_END                                                                \
    "same Equal got bd\nright Assert same got bd\n"                            \
    "bx NextIteration bd ^right\nout Exit bw\n"

static const struct {
    const char *dtype, *value, *got;
} forms[] = {
    {"int8", "value Cast fw:1 DstT=int8\n",
     "low Cast bd DstT=int8\ngot0 Sub pop low\ngot1 Cast got0 DstT=int64\n"
     "got Add got1 bd\n"},
    {"int64", "value Identity fw:1\n", "got Identity pop\n"},
    {"float16", "value Cast fw:1 DstT=float16\n", "got Cast pop DstT=int64\n"},
    {"complex128", "value Cast fw:1 DstT=complex128\n",
     "re Real pop Tout=float64\ngot Cast re DstT=int64\n"},
    /* Of i elements, the first of them with none. */
    {"int64", "f0 Enter@f! zero\nvalue Range f0 fw:1 f1\n",
     "got Size pop out_type=int64\n"},
    /* A matrix where i is below 100, then a scalar. */
    {"int64",
     "half int64=100\nfh Enter@f! half\nless Less fw:1 fh\nd int64[2]=1\n"
     "dims Enter@f! d\nsa Switch fw:1 less\nsd Switch dims less\n"
     "many Fill sd:1 sa:1 index_type=int64\nvalue Merge many sa\n",
     "flat int32[1]=-1\nbf Enter@b! flat\nrow Reshape pop bf\n"
     "axis int32=0\nba Enter@b! axis\ngot Max row ba\n"}};

#define N_FORMS (int)(sizeof forms / sizeof *forms)

START_TEST(every_form_of_value_goes_there_and_back)
{
    char text[4096];

    (void)snprintf(text, sizeof text,
                   PUSH_HEAD "%s" PUSH_END POP_HEAD "%s" POP_END,
                   forms[_i / 2].dtype, forms[_i / 2].value,
                   forms[_i / 2].dtype, forms[_i / 2].got);
    program_build(&p, text);
    p.run_options.spill_above = _i % 2 == 0 ? 1 : 100;
    program_plan(&p, NULL, "out");
    program_make_run(&p);
    p.run->spill.calls = &disk_calls;
    program_run(&p);
    ck_assert_uint_gt(disk.reads, 0);
    ck_assert_int_eq(program_fetch_int(&p, 0), 0);
}
END_TEST

START_TEST(room_in_the_file_is_used_again)
{
    eddy__spill *spill;
    eddy_kernel *k;

    program_build(&p, "a int32=1\n");
    program_plan(&p, NULL, "a");
    program_make_run(&p);
    k = &p.run->kernel;
    spill = &p.run->spill;
    spill->calls = &disk_calls;
    for (int i = 0; i < 100; i++) {
        eddy__spill_block block = {.state = EDDY__SPILL_HELD};

        block.data = eddy__heap_allocate(k->heap, 200, &block.size);
        ck_assert_ptr_nonnull(block.data);
        memset(block.data, i, 200);
        spill->held += block.size;
        ck_assert_int_eq(eddy__spill_leave(k, spill, &block, 200, "s"),
                         EDDY_OK);
        if (i % 3 > 0)
            while (!eddy__block_is_done(&spill->file, &block.io))
                ;
        if (i % 3 < 2) {
            ck_assert_int_eq(eddy__spill_come(k, spill, &block, "s"), EDDY_OK);
            ck_assert_int_eq(eddy__spill_arrive(k, spill, &block, "s"),
                             EDDY_OK);
            ck_assert_int_eq(block.state, EDDY__SPILL_HELD);
            ck_assert_uint_eq(block.data[199], (unsigned char)i);
        }
        eddy__spill_drop(spill, &block);
        ck_assert_uint_eq(spill->held, 0);
        ck_assert_uint_eq(spill->leaving, 0);
    }
    ck_assert_uint_eq(spill->length, 256);
    eddy__spill_end(spill);
}
END_TEST

/* ---- the file ---- */

START_TEST(the_file_has_no_name_and_one_reader)
{
    char folder[SCRATCH_PATH];
    const eddy__file_calls *calls = &eddy__system_files;
    struct dirent *entry;
    struct stat info;
    char text[4];
    DIR *listing;
    int file;

    scratch_folder_create(folder);
    file = calls->open(NULL, folder);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(fstat(file, &info), 0);
    ck_assert_uint_eq(info.st_mode & 0777, 0600);
    ck_assert_uint_eq(info.st_nlink, 0);
    ck_assert_int_eq(calls->write(NULL, file, "eddy", 4, 10), 4);
    ck_assert_int_eq(calls->read(NULL, file, text, 4, 10), 4);
    ck_assert_mem_eq(text, "eddy", 4);
    ck_assert_int_eq(calls->read(NULL, file, text, 4, 14), 0);
    listing = opendir(folder);
    ck_assert_ptr_nonnull(listing);
    while ((entry = readdir(listing)) != NULL)
        ck_assert_msg(entry->d_name[0] == '.', "%s", entry->d_name);
    closedir(listing);
    calls->close(NULL, file);
    ck_assert_int_lt(calls->write(NULL, file, "eddy", 4, 0), 0);
    scratch_folder_remove(folder);
}
END_TEST

START_TEST(it_is_made_where_the_options_say)
{
    char folder[SCRATCH_PATH], missing[SCRATCH_PATH + 8];
    eddy_output out[4];

    scratch_folder_create(folder);
    build(SCALARS, 300);
    differentiate(EDDY_TAPE_KEEP, out);
    differentiate(EDDY_TAPE_SPILL, out + 2);
    p.run_options.spill_folder = folder;
    program_plan_outputs(&p, out, 4);
    program_run(&p);
    ck_assert_uint_gt(eddy_run_spilled(p.run), 0);
    want_same_bits(0, 2);
    (void)snprintf(missing, sizeof missing, "%s/none", folder);
    p.run_options.spill_folder = missing;
    program_plan_outputs(&p, out + 2, 2);
    program_want(&p, program_execute(&p), EDDY_UNAVAILABLE, EDDY_E_SPILL);
    ck_assert_ptr_nonnull(strstr(p.err.message, missing));
    scratch_folder_remove(folder);
}
END_TEST

/* ---- what goes wrong ---- */

static const struct {
    trouble trouble;
    eddy_status code;
    const char *words;
} mistakes[] = {
    {OPEN_DENIED, EDDY_UNAVAILABLE, "can't be made: permission denied"},
    {WRITE_FULL, EDDY_RESOURCE_EXHAUSTED,
     "can't be written: no space left on device"},
    {WRITE_STOPS, EDDY_RESOURCE_EXHAUSTED, "can't be written: no space left"},
    {WRITE_BROKEN, EDDY_UNAVAILABLE, "can't be written: i/o error"},
    {READ_BROKEN, EDDY_UNAVAILABLE, "can't be read: i/o error"},
    {READ_SHORT, EDDY_DATA_LOSS, "ends before what was written"},
    {READ_CHANGED, EDDY_DATA_LOSS, "is not what was written"},
};

#define N_MISTAKES (sizeof mistakes / sizeof *mistakes)

START_TEST(a_file_that_fails_is_an_error_with_its_place)
{
    const size_t kind = (size_t)_i / N_MISTAKES;
    const trouble wanted = mistakes[(size_t)_i % N_MISTAKES].trouble;
    eddy_output out[4];

    build(kinds[kind % 3], 300);
    differentiate(EDDY_TAPE_KEEP, out);
    differentiate(EDDY_TAPE_SPILL, out + 2);
    make_run(out, 4);
    for (unsigned round = 0; round < 3; round++) {
        disk.trouble = wanted;
        disk.after = round * 5;
        disk.writes = disk.reads = 0;
        program_want(&p, program_execute(&p),
                     mistakes[(size_t)_i % N_MISTAKES].code, EDDY_E_SPILL);
        ck_assert_msg(strstr(p.err.message,
                             mistakes[(size_t)_i % N_MISTAKES].words) != NULL,
                      "%s", p.err.message);
        ck_assert_str_ne(p.err.node, "");
        ck_assert_msg(strchr(p.err.frame, '[') != NULL, "in '%s'", p.err.frame);
    }
    disk.trouble = NONE;
    program_run(&p);
    want_same_bits(0, 2);
    want_same_bits(1, 3);
}
END_TEST

START_TEST(spilled_bytes_have_a_limit_of_their_own)
{
    eddy_output out[2];
    eddy_run_options options = {.size = sizeof options};

    eddy_run_options_untrusted(&options);
    ck_assert_uint_eq(options.max_spill_bytes, (uint64_t)1 << 30);
    p.run_options.max_spill_bytes = 1000;
    build(SCALARS, 300);
    differentiate(EDDY_TAPE_SPILL, out);
    make_run(out, 2);
    program_want(&p, program_execute(&p), EDDY_RESOURCE_EXHAUSTED,
                 EDDY_E_LIMIT_SPILL);
    ck_assert_ptr_nonnull(strstr(p.err.message, "1000 bytes"));
    ck_assert_str_ne(p.err.node, "");
    ck_assert_uint_le(disk.length, 1000);
}
END_TEST

START_TEST(a_run_that_waits_for_the_file_ends_when_it_is_told_to)
{
    static const struct {
        trouble trouble;
        uint64_t timeout_ns;
    } rows[] = {{WRITE_CANCELS, 0}, {READ_CANCELS, 0}, {READ_LASTS, 200000000}};
    eddy_output out[2];

    p.run_options.timeout_ns = rows[_i % 3].timeout_ns;
    build(kinds[_i / 3], 300);
    differentiate(EDDY_TAPE_SPILL, out);
    make_run(out, 2);
    for (unsigned round = 0; round < 2; round++) {
        disk.trouble = rows[_i % 3].trouble;
        disk.after = 3 * round;
        disk.writes = disk.reads = 0;
        if (rows[_i % 3].timeout_ns > 0)
            program_want(&p, program_execute(&p), EDDY_DEADLINE_EXCEEDED,
                         EDDY_E_DEADLINE);
        else
            program_want(&p, program_execute(&p), EDDY_CANCELLED,
                         EDDY_E_CANCELLED);
    }
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;
    eddy_output out[4];
    int n;

    build(kinds[_i], 40);
    differentiate(EDDY_TAPE_KEEP, out);
    differentiate(EDDY_TAPE_SPILL, out + 2);
    for (n = 0; status != EDDY_OK; n++) {
        make_run(out, 4);
        counting_allocator_allow(&p.counting, n);
        status = program_execute(&p);
        counting_allocator_allow(&p.counting, -1);
        if (status != EDDY_OK)
            program_want(&p, status, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
        program_run(&p);
        want_same_bits(0, 2);
        want_same_bits(1, 3);
    }
    ck_assert_int_gt(n, 20);
}
END_TEST

/* ---- what the host makes of it ---- */

#define MOST_PARTS 4096

static struct {
    uint64_t serials[MOST_PARTS], offsets[MOST_PARTS];
    size_t n;
    bool fails;
} coded;

static void code(uint64_t serial, uint64_t offset, const void *from, void *to,
                 size_t bytes)
{
    const unsigned char *in = from;
    unsigned char *out = to;

    for (size_t i = 0; i < bytes; i++)
        out[i] =
            in[i] ^ (unsigned char)((serial * 31 + (offset + i) * 7) | 0x80);
}

static bool encrypt(void *user, uint64_t serial, uint64_t offset,
                    const void *from, void *to, size_t bytes)
{
    ck_assert_ptr_eq(user, &coded);
    ck_assert_uint_lt(coded.n, MOST_PARTS);
    for (size_t i = 0; i < coded.n; i++)
        ck_assert(coded.serials[i] != serial || coded.offsets[i] != offset);
    coded.serials[coded.n] = serial;
    coded.offsets[coded.n++] = offset;
    code(serial, offset, from, to, bytes);
    return !coded.fails;
}

static bool decrypt(void *user, uint64_t serial, uint64_t offset,
                    const void *from, void *to, size_t bytes)
{
    ck_assert_ptr_eq(user, &coded);
    code(serial, offset, from, to, bytes);
    return true;
}

START_TEST(all_that_is_written_goes_through_the_hosts_cipher)
{
    const size_t parts = 1000;
    eddy_output out[4];

    coded.n = 0;
    coded.fails = false;
    p.run_options.spill_cipher = (eddy_spill_cipher){encrypt, decrypt, &coded};
    build(kinds[_i], 60);
    differentiate(EDDY_TAPE_KEEP, out);
    differentiate(EDDY_TAPE_SPILL, out + 2);
    make_run(out, 4);
    program_run(&p);
    want_same_bits(0, 2);
    want_same_bits(1, 3);
    ck_assert_uint_gt(coded.n, 5);
    ck_assert_uint_lt(coded.n, parts);
    coded.n = 0;
    coded.fails = true;
    program_want(&p, program_execute(&p), EDDY_UNAVAILABLE, EDDY_E_SPILL);
    ck_assert_ptr_nonnull(strstr(p.err.message, "cipher failed"));
}
END_TEST

START_TEST(half_a_cipher_is_refused)
{
    p.run_options.spill_cipher.decrypt = decrypt;
    program_build(&p, "a int32=1\n");
    program_plan(&p, NULL, "a");
    p.run_options.size = sizeof p.run_options;
    program_want(&p, eddy_run_create(p.plan, &p.run_options, &p.run, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
}
END_TEST

/* ---- blocks ---- */

START_TEST(what_was_asked_can_be_taken_back)
{
    eddy__block_file file;
    eddy__block_io io[3] = {{.bytes = 8, .offset = 0},
                            {.bytes = 8, .offset = 8},
                            {.bytes = 8, .offset = 16}};
    unsigned char data[3][8] = {"seven..", "eight..", "nine..."};
    int error;

    ck_assert_int_eq(eddy__block_file_open(&file, eddy__default_allocator(),
                                           &disk_calls, NULL, "", &error,
                                           &p.err),
                     EDDY_OK);
    for (size_t i = 0; i < 3; i++) {
        io[i].data = data[i];
        eddy__block_ask(&file, &io[i], true);
    }
    eddy__block_forget(&file, &io[1]);
    while (!eddy__block_is_done(&file, &io[2]))
        ;
    ck_assert_int_eq(io[0].error, 0);
    memset(data[2], 0, 8);
    eddy__block_ask(&file, &io[2], false);
    while (!eddy__block_wait(&file, &io[2], 1000000))
        ;
    ck_assert_int_eq(io[2].error, 0);
    ck_assert_mem_eq(data[2], "nine...", 8);
    ck_assert_mem_eq(data[1], "eight..", 8);
    eddy__block_file_close(&file);
}
END_TEST

TCase *spill_tests(void)
{
    TCase *tests = tcase_create("spill");

    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, the_bits_are_those_of_a_tape_in_memory, 0, 45);
    tcase_add_test(tests, a_tape_that_fits_makes_no_file);
    tcase_add_test(tests, what_is_held_is_bounded);
    tcase_add_loop_test(tests, every_form_of_value_goes_there_and_back, 0,
                        2 * N_FORMS);
    tcase_add_test(tests, room_in_the_file_is_used_again);
    tcase_add_test(tests, the_file_has_no_name_and_one_reader);
    tcase_add_test(tests, it_is_made_where_the_options_say);
    tcase_add_loop_test(tests, a_file_that_fails_is_an_error_with_its_place, 0,
                        3 * (int)N_MISTAKES);
    tcase_add_test(tests, spilled_bytes_have_a_limit_of_their_own);
    tcase_add_loop_test(
        tests, a_run_that_waits_for_the_file_ends_when_it_is_told_to, 0, 9);
    tcase_add_loop_test(tests, every_allocation_may_fail, 0, 2);
    tcase_add_loop_test(
        tests, all_that_is_written_goes_through_the_hosts_cipher, 0, 3);
    tcase_add_test(tests, half_a_cipher_is_refused);
    tcase_add_test(tests, what_was_asked_can_be_taken_back);
    return tests;
}
