/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/command_runner.h"

#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_ARGUMENTS 32

extern char **environ;

/* Cuts off the last part of a path. */
static void go_up(char *path)
{
    char *slash = strrchr(path, '/');

    ck_assert_ptr_nonnull(slash);
    *slash = '\0';
}

/*
 * The runner is build/VARIANT/tests/run; the command is in the same variant's
 * folder, or in build/ itself.
 */
static void find_command(char path[PATH_MAX])
{
    const char *named = getenv("EDDY");
    char folder[PATH_MAX / 2] = "";

    if (named != NULL && *named != '\0') {
        snprintf(path, PATH_MAX, "%s", named);
        return;
    }
    ck_assert_int_gt(readlink("/proc/self/exe", folder, sizeof folder - 1), 0);
    go_up(folder);
    for (int i = 0; i < 2; i++) {
        go_up(folder);
        snprintf(path, PATH_MAX, "%s/eddy", folder);
        if (access(path, X_OK) == 0)
            return;
    }
    ck_abort_msg("no eddy command; make it or set EDDY");
}

static void find_example(const char *name, char path[PATH_MAX])
{
    const char *folder = getenv("EXAMPLES");
    char command[PATH_MAX];
    int n;

    if (folder != NULL && *folder != '\0') {
        n = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    } else {
        find_command(command);
        go_up(command);
        n = snprintf(path, PATH_MAX, "%s/examples/%s", command, name);
    }
    ck_assert_int_lt(n, PATH_MAX);
}

/* Runs the program at `path` with its output going to two open files. */
static int run(char *path, const char *first, va_list rest, int out, int err)
{
    char *argv[MOST_ARGUMENTS + 2] = {path};
    posix_spawn_file_actions_t actions;
    int n = 1, status;
    pid_t child;

    for (const char *a = first; a != NULL; a = va_arg(rest, const char *)) {
        ck_assert_int_le(n, MOST_ARGUMENTS);
        argv[n] = strdup(a);
        ck_assert_ptr_nonnull(argv[n++]);
    }
    ck_assert_int_eq(posix_spawn_file_actions_init(&actions), 0);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    ck_assert_int_eq(posix_spawn(&child, path, &actions, NULL, argv, environ),
                     0);
    posix_spawn_file_actions_destroy(&actions);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    for (int i = 1; i < n; i++)
        free(argv[i]);
    ck_assert_msg(WIFEXITED(status), "killed by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

/* All that a file holds, and closes it. */
static char *take_text(FILE *file)
{
    char *text;
    long length;

    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    length = ftell(file);
    ck_assert_int_ge(length, 0);
    rewind(file);
    text = malloc((size_t)length + 1);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(fread(text, 1, (size_t)length, file), (size_t)length);
    text[length] = '\0';
    ck_assert_int_eq(fclose(file), 0);
    return text;
}

static command_result run_and_read(char *path, const char *first, va_list rest)
{
    FILE *out = tmpfile();
    FILE *err = tmpfile();
    command_result result;

    ck_assert_ptr_nonnull(out);
    ck_assert_ptr_nonnull(err);
    result.status = run(path, first, rest, fileno(out), fileno(err));
    result.out = take_text(out);
    result.err = take_text(err);
    return result;
}

command_result command_run(const char *argument, ...)
{
    char path[PATH_MAX];
    command_result result;
    va_list rest;

    find_command(path);
    va_start(rest, argument);
    result = run_and_read(path, argument, rest);
    va_end(rest);
    return result;
}

command_result command_run_example(const char *name, const char *argument, ...)
{
    char path[PATH_MAX];
    command_result result;
    va_list rest;

    find_example(name, path);
    va_start(rest, argument);
    result = run_and_read(path, argument, rest);
    va_end(rest);
    return result;
}

int command_run_into(const char *out_path, const char *argument, ...)
{
    const int out = open(out_path, O_WRONLY);
    const int err = open("/dev/null", O_WRONLY);
    char path[PATH_MAX];
    va_list rest;
    int status;

    ck_assert_int_ge(out, 0);
    ck_assert_int_ge(err, 0);
    find_command(path);
    va_start(rest, argument);
    status = run(path, argument, rest, out, err);
    va_end(rest);
    close(out);
    close(err);
    return status;
}

void command_result_free(command_result *result)
{
    free(result->out);
    free(result->err);
    *result = (command_result){.status = 0};
}
