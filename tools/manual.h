/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of the subcommands and their options, for man and for shells:
 * the same tables as --help.
 */
#ifndef EDDY_TOOLS_MANUAL_H
#define EDDY_TOOLS_MANUAL_H

#include "tools/commands.h"

/* The page eddy-COMMAND(1). */
void eddy__manual_page(const eddy__command *command);

/* The page eddy(1), which names the `n` others. */
void eddy__manual_overview(const eddy__command *const *commands, size_t n);

/* What completes a command line: for `bash`, `zsh` or `fish`; false else. */
bool eddy__manual_completion(const eddy__command *const *commands, size_t n,
                             const char *shell);

#endif
