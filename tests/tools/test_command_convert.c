/* SPDX-License-Identifier: Apache-2.0 */
/* eddy convert from outside: a loop of TensorFlow's as a model, and back. */
#include "tests/aid/command_runner.h"
#include "tests/aid/scratch_folder.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

#define CASES "tests/conformance/tf/"
#define BLOG CASES "while/blog_example/graph.pb"

static char folder[SCRATCH_PATH];
static char model[SCRATCH_PATH + 16], graph[SCRATCH_PATH + 16];

static void set_up(void)
{
    scratch_folder_create(folder);
    snprintf(model, sizeof model, "%s/out.onnx", folder);
    snprintf(graph, sizeof graph, "%s/out.pb", folder);
}

static void tear_down(void)
{
    scratch_folder_remove(folder);
}

static void end(command_result *r, int status, const char *words)
{
    ck_assert_msg(r->status == status, "status %d: %s%s", r->status, r->out,
                  r->err);
    ck_assert_msg(strstr(status == 0 ? r->out : r->err, words) != NULL,
                  "no '%s' in %s%s", words, r->out, r->err);
    command_result_free(r);
}

START_TEST(a_loop_becomes_a_model_that_gives_the_same)
{
    command_result r = command_run("convert", BLOG, "--fetch=aa", "--fetch=v1",
                                   "-o", model, "--opset=21", NULL);

    end(&r, 0, "");
    r = command_run("run", model, "--feed=i=1", "--feed=n=10", "--feed=a=0",
                    NULL);
    end(&r, 0, "aa\tint32\t[]\t18\n");
    r = command_run("convert", model, "-o", graph, NULL);
    end(&r, 0, "");
    r = command_run("run", graph, "--feed=i=1", "--feed=n=10", "--feed=a=0",
                    "--fetch=aa", NULL);
    end(&r, 0, "aa\tint32\t[]\t18\n");
}
END_TEST

START_TEST(what_onnx_cannot_say_is_named)
{
    command_result r =
        command_run("convert", CASES "while/control_deps/graph.pb",
                    "--fetch=while/Exit", "-o", model, NULL);

    end(&r, 1, "Assert (an effect) 1 times");
}
END_TEST

START_TEST(wrong_use_is_refused)
{
    command_result r = command_run("convert", BLOG, "--fetch=aa", NULL);

    end(&r, 2, "no -o OUT is given");
    r = command_run("convert", BLOG, "-o", model, NULL);
    end(&r, 2, "no --fetch is given");
    r = command_run("convert", BLOG, "--fetch=zz", "-o", model, NULL);
    end(&r, 2, "zz");
    r = command_run("convert", BLOG, "--fetch=aa", "-o", model, "--opset=13",
                    NULL);
    end(&r, 2, "--opset");
}
END_TEST

TCase *command_convert_tests(void)
{
    TCase *tc = tcase_create("command_convert");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_loop_becomes_a_model_that_gives_the_same);
    tcase_add_test(tc, what_onnx_cannot_say_is_named);
    tcase_add_test(tc, wrong_use_is_refused);
    return tc;
}
