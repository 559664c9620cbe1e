/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the eddy command as a user would.  It is what the variable EDDY names,
 * or the eddy that lies beside the test runner's folders.
 */
#ifndef EDDY_TESTS_COMMAND_RUNNER_H
#define EDDY_TESTS_COMMAND_RUNNER_H

typedef struct command_result {
    int status; /* 128 and more: killed by a signal */
    char *out, *err;
} command_result;

/*
 * Runs it with these arguments up to a NULL and waits; the result is to be
 * freed.  Fails the test if it cannot be run or was killed.
 */
command_result command_run(const char *argument, ...);

/*
 * The same of an example: the one of that name in the folder of the variable
 * EXAMPLES, or in the folder examples beside the eddy command.
 */
command_result command_run_example(const char *name, const char *argument, ...);

/* The first with standard output going to a file. */
int command_run_into(const char *out_path, const char *argument, ...);

void command_result_free(command_result *result);

#endif
