/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints man pages and completions from the tables of subcommands and options.
 */
#include "tools/manual.h"

#include "eddy/version.h"

#include <stdio.h>
#include <string.h>

/* ---- pages ---- */

/* A text as roff takes it: no hyphens that look like dashes, no requests. */
static void put_text(const char *text)
{
    bool at_begin = true;

    for (; *text != '\0'; text++) {
        if (at_begin && (*text == '.' || *text == '\''))
            fputs("\\&", stdout);
        if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\\')
            fputs("\\e", stdout);
        else
            putchar(*text);
        at_begin = *text == '\n';
    }
}

/* Paragraphs, with an empty line between them. */
static void put_paragraphs(const char *text)
{
    const char *end = text + strlen(text);

    while (text < end) {
        const char *line = strchr(text, '\n');
        const size_t length = line ? (size_t)(line - text) : strlen(text);
        char piece[256];

        (void)snprintf(piece, sizeof piece, "%.*s", (int)length, text);
        if (length == 0)
            fputs(".PP\n", stdout);
        else {
            put_text(piece);
            putchar('\n');
        }
        text += length + (line != NULL);
    }
}

static void put_examples(const char *examples)
{
    fputs(".SH EXAMPLES\n.nf\n", stdout);
    put_text(examples);
    fputs(".fi\n", stdout);
}

static void put_status(void)
{
    fputs(".SH EXIT STATUS\n0 done, 1 the program failed, 2 wrong use.\n",
          stdout);
}

void eddy__manual_page(const eddy__command *command)
{
    eddy__option_info option;

    printf(".TH EDDY\\-%s 1 \"\" \"eddy %s\" \"eddy\"\n", command->name,
           eddy_version());
    printf(".SH NAME\neddy\\-%s \\- ", command->name);
    put_text(command->summary);
    printf("\n.SH SYNOPSIS\n.B eddy %s\n", command->name);
    put_text(command->arguments);
    fputs("\n.SH DESCRIPTION\n", stdout);
    put_paragraphs(command->details);
    fputs(".SH OPTIONS\n", stdout);
    for (size_t i = 0; eddy__option_at(command->options, i, &option); i++) {
        fputs(".TP\n.BI \\-\\-", stdout);
        put_text(option.name);
        if (option.value != NULL) {
            fputs(" \" \" \"", stdout);
            put_text(option.value);
            putchar('"');
        }
        putchar('\n');
        put_text(option.help);
        putchar('\n');
    }
    put_examples(command->examples);
    put_status();
    fputs(".SH SEE ALSO\n.BR eddy (1)\n", stdout);
}

void eddy__manual_overview(const eddy__command *const *commands, size_t n)
{
    printf(".TH EDDY 1 \"\" \"eddy %s\" \"eddy\"\n", eddy_version());
    fputs(".SH NAME\neddy \\- run dataflow graphs with loops and conditionals\n"
          ".SH SYNOPSIS\n.B eddy\nCOMMAND [OPTION | ARGUMENT]...\n.br\n"
          ".B eddy \\-\\-version\n.SH COMMANDS\n",
          stdout);
    for (size_t i = 0; i < n; i++) {
        printf(".TP\n.BR eddy\\-%s (1)\n", commands[i]->name);
        put_text(commands[i]->summary);
        putchar('\n');
    }
    put_status();
}

/* ---- shells ---- */

/* In single quotes, for every shell. */
static void put_quoted(const char *text)
{
    putchar('\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
    putchar('\'');
}

static void put_options(const eddy__command *command)
{
    eddy__option_info option;

    for (size_t i = 0; eddy__option_at(command->options, i, &option); i++)
        printf(" --%s", option.name);
}

static void complete_bash(const eddy__command *const *commands, size_t n)
{
    fputs("_eddy()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        words='help --version",
          stdout);
    for (size_t i = 0; i < n; i++)
        printf(" %s", commands[i]->name);
    fputs("'\n    elif [[ $word == -* ]]; then\n"
          "        case ${COMP_WORDS[1]} in\n",
          stdout);
    for (size_t i = 0; i < n; i++) {
        printf("        %s) words='", commands[i]->name);
        put_options(commands[i]);
        fputs("' ;;\n", stdout);
    }
    fputs("        esac\n    fi\n"
          "    [ -n \"$words\" ] &&\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- "
          "\"$word\")\n"
          "}\n"
          "complete -o default -F _eddy eddy\n",
          stdout);
}

static void complete_zsh(const eddy__command *const *commands, size_t n)
{
    fputs("#compdef eddy\n"
          "if ((CURRENT == 2)); then\n"
          "    compadd -- help --version",
          stdout);
    for (size_t i = 0; i < n; i++)
        printf(" %s", commands[i]->name);
    fputs("\nelif [[ $words[CURRENT] == -* ]]; then\n"
          "    case $words[2] in\n",
          stdout);
    for (size_t i = 0; i < n; i++) {
        printf("    %s) compadd --", commands[i]->name);
        put_options(commands[i]);
        fputs(" ;;\n", stdout);
    }
    fputs("    esac\nelse\n    _files\nfi\n", stdout);
}

static void complete_fish(const eddy__command *const *commands, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        eddy__option_info option;

        printf("complete -c eddy -n __fish_use_subcommand -a %s -d ",
               commands[i]->name);
        put_quoted(commands[i]->summary);
        putchar('\n');
        for (size_t k = 0; eddy__option_at(commands[i]->options, k, &option);
             k++) {
            printf("complete -c eddy -n '__fish_seen_subcommand_from %s' -l "
                   "%s%s -d ",
                   commands[i]->name, option.name, option.value ? " -r" : "");
            put_quoted(option.help);
            putchar('\n');
        }
    }
}

bool eddy__manual_completion(const eddy__command *const *commands, size_t n,
                             const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        complete_bash(commands, n);
    else if (strcmp(shell, "zsh") == 0)
        complete_zsh(commands, n);
    else if (strcmp(shell, "fish") == 0)
        complete_fish(commands, n);
    else
        return false;
    return true;
}
