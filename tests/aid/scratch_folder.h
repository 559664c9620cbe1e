/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of a test's own, gone with all that is in it when it ends. */
#ifndef EDDY_TESTS_SCRATCH_FOLDER_H
#define EDDY_TESTS_SCRATCH_FOLDER_H

#define SCRATCH_PATH 64

/* Makes the folder and gives its path; fails the test if it cannot. */
void scratch_folder_create(char out_path[SCRATCH_PATH]);

void scratch_folder_remove(const char *path);

/*
 * Writes `text` to the file folder/path, after making the folders on the way
 * to it.
 */
void scratch_folder_write(const char *folder, const char *path,
                          const char *text);

#endif
