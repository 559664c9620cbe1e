/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: written and read back, TensorFlow's, damaged and forbidden. */
#include "tests/aid/program.h"
#include "tests/aid/scratch_folder.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static program p;
static char folder[SCRATCH_PATH];

static void begin(void)
{
    scratch_folder_create(folder);
    program_init(&p, 0);
}

static void end(void)
{
    program_deinit(&p);
    scratch_folder_remove(folder);
}

/* A vector of texts, as a Const. */
static void add_texts(const char *name, const char *const *texts, int64_t n)
{
    const eddy_shape shape = {.rank = 1, .dims = {n}};
    const eddy_dtype dtype = EDDY_STRING;
    eddy_string strings[8];
    eddy_tensor *tensor;
    eddy_attr attrs[2] = {eddy_attr_type("dtype", &dtype)};
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = "Const",
                                 .name = name,
                                 .attrs = attrs,
                                 .n_attrs = 2};
    eddy_node node;

    for (int64_t i = 0; i < n; i++)
        strings[i] = (eddy_string){texts[i], strlen(texts[i])};
    ck_assert_int_eq(eddy_tensor_from_strings(p.ctx, &shape, strings, (size_t)n,
                                              &tensor, &p.err),
                     EDDY_OK);
    attrs[1] = eddy_attr_tensor("value", &tensor);
    ck_assert_int_eq(eddy_graph_add(p.graph, &spec, &node, &p.err), EDDY_OK);
    eddy_tensor_release(tensor);
}

#define TEXTS(name, ...)                                                       \
    add_texts((name), (const char *const[]){__VA_ARGS__},                      \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Node "prefix" is folder/name. */
static void add_prefix(const char *name)
{
    char text[256];

    snprintf(text, sizeof text, "prefix string=%s/%s\n", folder, name);
    program_build(&p, text);
}

/* Saves x and y; they are called "y" and "x/x", so that order matters. */
static void build_save(void)
{
    add_prefix("made/ck");
    TEXTS("names", "y", "x/x");
    TEXTS("slices", "", "");
    program_build(&p, "x float32[2,3]=1,2,3,4,5.5,6\n"
                      "y int64=-7\n"
                      "save SaveV2 prefix names slices y x "
                      "dtypes=[int64,float32]\n"
                      "load RestoreV2 prefix names slices ^save "
                      "dtypes=[int64,float32]\n"
                      "again RestoreV2 prefix names slices "
                      "dtypes=[int64,float32]\n");
}

START_TEST(what_was_written_is_read)
{
    build_save();
    program_plan(&p, NULL, "load load:1");
    for (int round = 0; round < 2; round++) {
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), -7);
        program_want_fetch(&p, 1, PROGRAM_DIMS(2, 3),
                           PROGRAM_NUMBERS(1, 2, 3, 4, 5.5, 6));
    }
}
END_TEST

/* Bytes that TensorFlow 2.21 wrote of values of seven dtypes. */
START_TEST(tensorflow_s_files_are_read)
{
    const eddy_tensor *strings;

    TEXTS("names", "a/float", "b/int", "c/bool", "d/strings", "e/scalar",
          "f/empty", "g/complex");
    TEXTS("slices", "", "", "", "", "", "", "");
    program_build(&p, "prefix string=tests/checkpoints/tensorflow\n"
                      "r RestoreV2 prefix names slices dtypes=[float32,int64,"
                      "bool,string,float64,int32,complex64]\n");
    program_plan(&p, NULL, "r r:1 r:2 r:3 r:4 r:5 r:6");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2, 3),
                       PROGRAM_NUMBERS(0, 0.25, 0.5, 0.75, 1, 1.25));
    program_want_fetch(&p, 1, PROGRAM_DIMS(3), PROGRAM_NUMBERS(1, -2, 3));
    program_want_fetch(&p, 2, PROGRAM_DIMS(2), PROGRAM_NUMBERS(1, 0));
    strings = eddy_run_fetch(p.run, 3);
    ck_assert_str_eq(eddy_tensor_string(strings, 0).data, "one");
    ck_assert_uint_eq(eddy_tensor_string(strings, 1).length, 0);
    ck_assert_uint_eq(eddy_tensor_string(strings, 2).length, 7);
    ck_assert_mem_eq(eddy_tensor_string(strings, 2).data, "three\0x", 7);
    program_want_fetch(&p, 4, 0, NULL, PROGRAM_NUMBERS(2.5));
    ck_assert_int_eq(eddy_tensor_count(eddy_run_fetch(p.run, 5)), 0);
    ck_assert(((const float *)eddy_tensor_data(eddy_run_fetch(p.run, 6)))[1] ==
              2);
}
END_TEST

START_TEST(texts_are_written)
{
    const eddy_tensor *t;

    add_prefix("ck");
    TEXTS("names", "s");
    TEXTS("slices", "");
    TEXTS("s", "a", "", "some words");
    program_build(&p, "save SaveV2 prefix names slices s dtypes=[string]\n"
                      "load RestoreV2 prefix names slices ^save "
                      "dtypes=[string]\n");
    program_plan(&p, NULL, "load");
    program_run(&p);
    t = eddy_run_fetch(p.run, 0);
    ck_assert_int_eq(eddy_tensor_count(t), 3);
    ck_assert_str_eq(eddy_tensor_string(t, 0).data, "a");
    ck_assert_uint_eq(eddy_tensor_string(t, 1).length, 0);
    ck_assert_str_eq(eddy_tensor_string(t, 2).data, "some words");
}
END_TEST

START_TEST(what_is_not_there_is_named)
{
    build_save();
    TEXTS("other", "z");
    TEXTS("one", "");
    TEXTS("just", "y");
    TEXTS("cut", "2 3 0,1:-");
    program_build(&p, "miss RestoreV2 prefix other one ^save dtypes=[int64]\n"
                      "wrong RestoreV2 prefix just one ^save dtypes=[int32]\n"
                      "slice RestoreV2 prefix just cut ^save dtypes=[int64]\n"
                      "few RestoreV2 prefix names one ^save "
                      "dtypes=[int64,float32]\n"
                      "nowhere string=/nonexistent/folder/ck\n"
                      "gone RestoreV2 nowhere just one dtypes=[int64]\n"
                      "lost SaveV2 nowhere other one y dtypes=[int64]\n");
    program_plan(&p, NULL, "miss");
    program_want(&p, program_execute(&p), EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME);
    program_plan(&p, NULL, "wrong");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
    program_plan(&p, NULL, "slice");
    program_want(&p, program_execute(&p), EDDY_UNIMPLEMENTED, EDDY_E_VALUE);
    program_plan(&p, NULL, "few");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    program_plan(&p, NULL, "gone");
    program_want(&p, program_execute(&p), EDDY_NOT_FOUND, EDDY_E_IO);
    program_plan(&p, NULL, "^lost");
    program_want(&p, program_execute(&p), EDDY_NOT_FOUND, EDDY_E_IO);
}
END_TEST

START_TEST(names_are_saved_once)
{
    add_prefix("ck");
    TEXTS("names", "y", "y");
    TEXTS("slices", "", "");
    program_build(&p, "y int64=-7\n"
                      "save SaveV2 prefix names slices y y "
                      "dtypes=[int64,int64]\n");
    program_plan(&p, NULL, "^save");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_ARGUMENT);
}
END_TEST

static long read_file(const char *path, char *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    size_t n;

    ck_assert_ptr_nonnull(file);
    n = fread(bytes, 1, size, file);
    ck_assert_int_eq(fclose(file), 0);
    return (long)n;
}

static void write_file(const char *path, const char *bytes, long n)
{
    FILE *file = fopen(path, "wb");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, (size_t)n, file), (size_t)n);
    ck_assert_int_eq(fclose(file), 0);
}

/* Each byte in turn is another; in the index a few mean nothing. */
START_TEST(damage_is_found)
{
    static const char *const files[] = {"made/ck.data-00000-of-00001",
                                        "made/ck.index"};
    char path[256], bytes[1024];
    long n, unnoticed = 0;

    build_save();
    program_plan(&p, NULL, "^save");
    program_run(&p);
    program_plan(&p, NULL, "again again:1");
    snprintf(path, sizeof path, "%s/%s", folder, files[_i]);
    n = read_file(path, bytes, sizeof bytes);
    for (long i = 0; i < n; i++) {
        bytes[i] ^= 0x11;
        write_file(path, bytes, i % 2 == 0 ? n : n - 1);
        unnoticed += program_execute(&p) == EDDY_OK;
        bytes[i] ^= 0x11;
    }
    ck_assert_int_le(unnoticed, _i == 0 ? 0 : 40);
    write_file(path, bytes, n);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), -7);
}
END_TEST

START_TEST(runs_may_be_forbidden_files)
{
    build_save();
    p.run_options.no_files = true;
    program_plan(&p, NULL, "^save");
    program_want(&p, program_execute(&p), EDDY_PERMISSION_DENIED, EDDY_E_IO);
    program_plan(&p, NULL, "again");
    program_want(&p, program_execute(&p), EDDY_PERMISSION_DENIED, EDDY_E_IO);
    p.run_options.no_files = false;
    eddy_run_options_untrusted(&p.run_options);
    ck_assert(p.run_options.no_files);
}
END_TEST

/* Two of one tensor each become one of both, and are gone. */
START_TEST(checkpoints_are_merged)
{
    char text[1024], path[256];

    TEXTS("nx", "x");
    TEXTS("ny", "y");
    TEXTS("one", "");
    TEXTS("names", "x", "y");
    TEXTS("two", "", "");
    snprintf(text, sizeof text,
             "a string=%s/p1/ck\nb string=%s/p2/ck\nto string=%s/all\n"
             "none string=%s/none/ck\n"
             "x float32[2]=1,2\ny int64=5\n"
             "sx SaveV2 a nx one x dtypes=[float32]\n"
             "sy SaveV2 b ny one y dtypes=[int64]\n"
             "both Pack a b\nmore Pack a b none\n"
             "m MergeV2Checkpoints both to ^sx ^sy\n"
             "miss MergeV2Checkpoints more to ^sx ^sy\n"
             "few MergeV2Checkpoints more to ^sx ^sy "
             "allow_missing_files=true delete_old_dirs=false\n"
             "r RestoreV2 to names two ^m dtypes=[float32,int64]\n"
             "q RestoreV2 to names two ^few dtypes=[float32,int64]\n",
             folder, folder, folder, folder);
    program_build(&p, text);
    program_plan(&p, NULL, "^miss");
    program_want(&p, program_execute(&p), EDDY_NOT_FOUND, EDDY_E_IO);
    program_plan(&p, NULL, "q q:1");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(1, 2));
    program_plan(&p, NULL, "r r:1");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(1, 2));
    ck_assert_int_eq(program_fetch_int(&p, 1), 5);
    snprintf(path, sizeof path, "%s/p1", folder);
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

/* A folder in place of a file. */
START_TEST(only_files_are_read)
{
    scratch_folder_write(folder, "ck.index/some", "text");
    add_prefix("ck");
    TEXTS("names", "y");
    TEXTS("slices", "");
    program_build(&p, "load RestoreV2 prefix names slices dtypes=[int64]\n");
    program_plan(&p, NULL, "load");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT, EDDY_E_IO);
}
END_TEST

START_TEST(files_of_many_are_named)
{
    program_build(&p, "base string=a/b\nthree int32=3\nten int32=10\n"
                      "large int32=123456\n"
                      "f ShardedFilename base three ten\n"
                      "g ShardedFilename base large ten\n"
                      "s ShardedFilespec base ten\n");
    program_plan(&p, NULL, "f g s");
    program_run(&p);
    ck_assert_str_eq(eddy_tensor_string(eddy_run_fetch(p.run, 0), 0).data,
                     "a/b-00003-of-00010");
    ck_assert_str_eq(eddy_tensor_string(eddy_run_fetch(p.run, 1), 0).data,
                     "a/b-123456-of-00010");
    ck_assert_str_eq(eddy_tensor_string(eddy_run_fetch(p.run, 2), 0).data,
                     "a/b-?\?\?\?\?-of-00010");
}
END_TEST

TCase *ops_save_tests(void)
{
    TCase *tests = tcase_create("ops_save");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, what_was_written_is_read);
    tcase_add_test(tests, tensorflow_s_files_are_read);
    tcase_add_test(tests, texts_are_written);
    tcase_add_test(tests, what_is_not_there_is_named);
    tcase_add_test(tests, names_are_saved_once);
    tcase_add_loop_test(tests, damage_is_found, 0, 2);
    tcase_add_test(tests, runs_may_be_forbidden_files);
    tcase_add_test(tests, checkpoints_are_merged);
    tcase_add_test(tests, only_files_are_read);
    tcase_add_test(tests, files_of_many_are_named);
    return tests;
}
