/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/scratch_folder.h"

#include <check.h>
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;

void scratch_folder_create(char out_path[SCRATCH_PATH])
{
    strcpy(out_path, "/tmp/eddy_test_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(out_path));
}

void scratch_folder_remove(const char *path)
{
    char program[] = "rm", option[] = "-rf";
    char *copy = strdup(path);
    char *argv[] = {program, option, copy, NULL};
    pid_t child;
    int status;

    ck_assert_ptr_nonnull(copy);
    ck_assert_int_eq(posix_spawnp(&child, program, NULL, NULL, argv, environ),
                     0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    free(copy);
}

void scratch_folder_write(const char *folder, const char *path,
                          const char *text)
{
    const size_t length = strlen(folder);
    char full[1024];
    FILE *file;

    ck_assert_uint_lt(length + strlen(path) + 1, sizeof full);
    snprintf(full, sizeof full, "%s/%s", folder, path);
    for (char *slash = strchr(full + length + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        ck_assert(mkdir(full, 0777) == 0 || errno == EEXIST);
        *slash = '/';
    }
    file = fopen(full, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}
