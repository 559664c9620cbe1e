/* SPDX-License-Identifier: Apache-2.0 */
/* The `eddy` command: finds the subcommand, and ends as it says. */
#include "tools/commands.h"

#include "tools/manual.h"
#include "tools/processes.h"

#include "eddy/version.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const eddy__command *const commands[] = {
    &eddy__command_run,       &eddy__command_verify,  &eddy__command_bench,
    &eddy__command_inspect,   &eddy__command_grad,    &eddy__command_convert,
    &eddy__command_trace,     &eddy__command_explain, &eddy__command_diff,
    &eddy__command_partition,
};

#define N_COMMANDS (sizeof commands / sizeof commands[0])

static void write_usage(FILE *stream)
{
    fputs("Usage: eddy COMMAND [OPTION | ARGUMENT]...\n"
          "Runs dataflow graphs with loops and conditionals.\n"
          "\nCommands:\n",
          stream);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(stream, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n`eddy COMMAND --help` says more.  Examples:\n"
          "  eddy run counter.pb --fetch while/Exit\n"
          "  eddy run model.pb --feed x=@x.npy --feed n=10 --fetch y --out .\n"
          "  eddy inspect model.pb --dot | dot -Tsvg > model.svg\n"
          "\n`eddy --version` says what this copy is made of.\n"
          "Exit status: 0 done, 1 the program failed, 2 wrong use.\n",
          stream);
}

static void write_help(const eddy__command *command)
{
    printf("Usage: eddy %s %s\n%s", command->name, command->arguments,
           command->details);
    eddy__options_help(command->options, stdout);
    printf("\nExamples:\n%s", command->examples);
}

static const eddy__command *find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    }
    return NULL;
}

static eddy__exit run(const eddy__command *command, int argc, char *const *argv)
{
    eddy__options options;
    eddy__exit status =
        eddy__options_init(&options, command->options, argc, argv);

    if (status == EDDY__EXIT_DONE) {
        if (options.help)
            write_help(command);
        else if (eddy__processes_start(&options, &status))
            status = command->run(&options);
        eddy__processes_end(&options);
    }
    if (status == EDDY__EXIT_USAGE)
        fprintf(stderr, "`eddy %s --help` says more.\n", command->name);
    /*
     * A call of a library that a deadline has left behind may be under way
     * still, and an exit would wait for it.
     */
    if (status == EDDY__EXIT_FAILED && options.timeout_ns > 0) {
        (void)fflush(stdout);
        (void)fflush(stderr);
        _Exit((int)status);
    }
    eddy__options_deinit(&options);
    return status;
}

static void print_component(const char *label, eddy_component component)
{
    char text[256];

    (void)eddy_component_format(component, text, sizeof text);
    printf("%-8s%s\n", label, text);
}

static void print_version(void)
{
    printf("eddy %s\n", eddy_version());
    print_component("BLAS", EDDY_COMPONENT_BLAS);
    print_component("oneDNN", EDDY_COMPONENT_ONEDNN);
    print_component("CPU", EDDY_COMPONENT_CPU);
}

/* `eddy help`, and what is made of the same tables for man and for shells. */
static eddy__exit help(int argc, char *const *argv)
{
    const eddy__command *command = argc > 1 ? find(argv[1]) : NULL;

    if (argc == 0) {
        write_usage(stdout);
    } else if (strcmp(argv[0], "--man") == 0 && argc == 1) {
        eddy__manual_overview(commands, N_COMMANDS);
    } else if (strcmp(argv[0], "--man") == 0 && command != NULL) {
        eddy__manual_page(command);
    } else if (strcmp(argv[0], "--completion") != 0 || argc != 2 ||
               !eddy__manual_completion(commands, N_COMMANDS, argv[1])) {
        eddy__message_complain("usage: eddy help [--man [COMMAND] | "
                               "--completion bash|zsh|fish]");
        return EDDY__EXIT_USAGE;
    }
    return EDDY__EXIT_DONE;
}

static eddy__exit dispatch(int argc, char *const *argv)
{
    const eddy__command *command;

    if (argc < 2) {
        write_usage(stderr);
        return EDDY__EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)
        return help(argc - 2, argv + 2);
    if (strcmp(argv[1], "--version") == 0) {
        print_version();
        return EDDY__EXIT_DONE;
    }
    command = find(argv[1]);
    if (command == NULL) {
        eddy__message_complain("unknown command '%s'", argv[1]);
        write_usage(stderr);
        return EDDY__EXIT_USAGE;
    }
    return run(command, argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
    eddy__exit status = dispatch(argc, argv);

    /* A full disk shows only here. */
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == EDDY__EXIT_DONE) {
        eddy__message_complain("standard output: %s",
                               errno != 0 ? strerror(errno) : "write error");
        status = EDDY__EXIT_FAILED;
    }
    return (int)status;
}
