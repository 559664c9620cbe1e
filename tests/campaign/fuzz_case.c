/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's target for case.json: the input stands beside the graph of a
 * recorded case in a folder of the process's own, and the case is verified
 * there as `eddy verify` does it.
 */
#include "eddy.h"
#include "tools/verify_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* It has a loop and gradients of orders 1 to 3. */
#define GRAPH "tests/conformance/tf/gradients/o3_power/graph.pb"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/eddy_fuzz_case_XXXXXX";
static char path[64];

static void write_file(const char *name, const void *data, size_t size)
{
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size ||
        fclose(file) != 0)
        abort();
}

static void copy_graph(void)
{
    static char bytes[1 << 16];
    FILE *file = fopen(GRAPH, "rb");

    if (file == NULL) {
        fprintf(stderr, "fuzz_case: run it from the root of the tree\n");
        exit(2);
    }
    write_file("graph.pb", bytes, fread(bytes, 1, sizeof bytes, file));
    fclose(file);
}

static void remove_folder(void)
{
    static const char *const names[] = {"graph.pb", "case.json"};

    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const eddy__options options = {.max_iterations = 10000,
                                          .max_bytes = 1 << 26,
                                          .timeout_ns = 2000000000};
    static eddy_context *ctx;
    static FILE *report;
    eddy_error err;

    if (ctx == NULL) {
        if (eddy_context_create(NULL, &ctx, &err) != EDDY_OK ||
            (report = fopen("/dev/null", "w")) == NULL ||
            mkdtemp(folder) == NULL)
            abort();
        copy_graph();
        atexit(remove_folder);
    }
    write_file("case.json", data, size);
    eddy__verify_case(ctx, folder, &options, report);
    return 0;
}
