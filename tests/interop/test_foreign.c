/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are taken for a GraphDef: the message says what they are. */
#include "tests/aid/program.h"
#include "tests/aid/scratch_folder.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

static program p;

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    program_deinit(&p);
}

/* ModelProto: ir_version 8, producer_name "x", a graph, opset_import. */
static const char onnx[] =
    "\x08\x08\x12\x01x\x3a\x04\x12\x02gg\x42\x02\x10\x0d";
/* The same without ir_version: a graph, opset_import. */
static const char unversioned[] = "\x3a\x04\x12\x02gg\x42\x02\x10\x0d";
/* SavedModel: schema version 1, a MetaGraphDef. */
static const char saved[] = "\x08\x01\x12\x04\x0a\x02\x22\x00";

static const struct {
    const char *bytes;
    size_t length;
    const char *is, *to_do;
} files[] = {
    {"node {\n  name: \"x\"\n  op: \"NoOp\"\n}\n", 35, "text form", "as_text"},
    {"# a graph\n\n  versions { producer: 21 }", 37, "text form", "as_text"},
    {"library{}", 9, "text form", "as_text"},
    {onnx, sizeof onnx - 1, "ONNX", "eddy_onnx_load"},
    {unversioned, sizeof unversioned - 1, "ONNX", "eddy_onnx_load"},
    {saved, sizeof saved - 1, "SavedModel", "eddy_savedmodel_load"},
};

START_TEST(a_file_of_another_kind_is_recognised)
{
    eddy_graph *graph = NULL;

    program_want(&p,
                 eddy_graphdef_read(p.ctx, files[_i].bytes, files[_i].length,
                                    NULL, &graph, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED);
    ck_assert_msg(strstr(p.err.message, files[_i].is) != NULL, "%s",
                  p.err.message);
    ck_assert_msg(strstr(p.err.message, files[_i].to_do) != NULL, "%s",
                  p.err.message);
}
END_TEST

/* What is nothing that is known keeps the words of where it is malformed. */
static const char *const others[] = {"nodes are here", "\x08", "\x08\x01",
                                     "\xff\xff",       "node", "\x0a\x7f"};

START_TEST(other_bytes_are_malformed)
{
    eddy_graph *graph = NULL;

    program_want(&p,
                 eddy_graphdef_read(p.ctx, others[_i], strlen(others[_i]), NULL,
                                    &graph, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED);
    ck_assert_ptr_null(strstr(p.err.message, "in binary form is wanted"));
}
END_TEST

START_TEST(the_folder_of_a_saved_model_is_recognised)
{
    char folder[SCRATCH_PATH], path[SCRATCH_PATH + 32];
    eddy_graph *graph = NULL;

    scratch_folder_create(folder);
    scratch_folder_write(folder, "model/saved_model.pb", "x");
    (void)snprintf(path, sizeof path, "%s/model", folder);
    program_want(&p, eddy_graphdef_load(p.ctx, path, NULL, &graph, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED);
    ck_assert_ptr_nonnull(strstr(p.err.message, "the folder of a SavedModel"));
    program_want(&p, eddy_graphdef_load(p.ctx, folder, NULL, &graph, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_IO);
    scratch_folder_remove(folder);
}
END_TEST

/* Bytes may well be those of an empty graph; a file is one that was cut. */
START_TEST(an_empty_file_is_no_graph)
{
    char folder[SCRATCH_PATH], path[SCRATCH_PATH + 32];
    eddy_graph *graph = NULL;

    scratch_folder_create(folder);
    scratch_folder_write(folder, "graph.pb", "");
    (void)snprintf(path, sizeof path, "%s/graph.pb", folder);
    program_want(&p, eddy_graphdef_load(p.ctx, path, NULL, &graph, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED);
    ck_assert_ptr_nonnull(strstr(p.err.message, "an empty file"));
    scratch_folder_remove(folder);
}
END_TEST

TCase *foreign_tests(void)
{
    TCase *tcase = tcase_create("foreign");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, a_file_of_another_kind_is_recognised, 0,
                        sizeof files / sizeof files[0]);
    tcase_add_loop_test(tcase, other_bytes_are_malformed, 0,
                        sizeof others / sizeof others[0]);
    tcase_add_test(tcase, the_folder_of_a_saved_model_is_recognised);
    tcase_add_test(tcase, an_empty_file_is_no_graph);
    return tcase;
}
