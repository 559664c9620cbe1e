/* SPDX-License-Identifier: Apache-2.0 */
/* Names the libraries and the processor that kernels compute with. */
#include "eddy/version.h"

#include "ops/linalg/choice.h"
#include "ops/linalg/gemm.h"
#include "ops/linalg/onednn.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Text that is cut where there is no more room, and whose length goes on. */
typedef struct writer {
    char *text;
    size_t size;
    size_t length;
} writer;

static void put(writer *w, const char *word)
{
    const size_t length = strlen(word);

    for (size_t i = 0; i < length; i++)
        if (w->length + i + 1 < w->size)
            w->text[w->length + i] = word[i];
    w->length += length;
}

static void put_extension(writer *w, const char *name, bool is_there)
{
    if (!is_there)
        return;
    put(w, " ");
    put(w, name);
}

static void put_processor(writer *w)
{
#if defined(__x86_64__)
    put(w, "x86-64");
    put_extension(w, "avx", __builtin_cpu_supports("avx"));
    put_extension(w, "avx2", __builtin_cpu_supports("avx2"));
    put_extension(w, "fma", __builtin_cpu_supports("fma"));
    put_extension(w, "avx512f", __builtin_cpu_supports("avx512f"));
#elif defined(__aarch64__)
    put(w, "arm64");
    put_extension(w, "neon", true);
#else
    put(w, "other");
    put_extension(w, "baseline", true);
#endif
}

size_t eddy_component_format(eddy_component component, char *text, size_t size)
{
    writer w = {.text = text, .size = size};
    char name[1024] = "none";

    switch (component) {
    case EDDY_COMPONENT_BLAS:
        if (!eddy__gemm_name(name, sizeof name))
            (void)snprintf(name, sizeof name, "none");
        put(&w, name);
        break;
    case EDDY_COMPONENT_ONEDNN:
        if (!eddy__onednn_name(name, sizeof name))
            (void)snprintf(name, sizeof name, "none");
        put(&w, name);
        break;
    case EDDY_COMPONENT_CPU:
        put_processor(&w);
        break;
    case EDDY_COMPONENT_PRODUCTS:
        eddy__choice_format(name, sizeof name);
        put(&w, name);
        break;
    }
    if (size > 0)
        text[w.length < size ? w.length : size - 1] = '\0';
    return w.length;
}
