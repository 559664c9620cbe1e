/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files other than GraphDefs that were made to cost much: models of ONNX,
 * arrays, and descriptions of recorded cases.
 */
#ifndef EDDY_TESTS_CAMPAIGN_FILE_FAMILIES_H
#define EDDY_TESTS_CAMPAIGN_FILE_FAMILIES_H

#include "benchmarks/message_writer.h"

typedef struct file_family {
    const char *name; /* as a file's: what is behind the point says the kind */
    void (*write)(message_writer *w, size_t n);
} file_family;

extern const file_family file_families[];
extern const size_t n_file_families;

/* The size with which the file is a little below so many bytes. */
size_t file_family_size(const file_family *f, size_t bytes);

#endif
