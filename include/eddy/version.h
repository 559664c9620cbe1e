/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version of eddy, and what the copy that runs was put together from.  The
 * numbers here are the one source of the version: the Makefile, the packages
 * and eddy_version() take them from this file.  docs/stability.md says what a
 * change of each promises.
 */
#ifndef EDDY_VERSION_H
#define EDDY_VERSION_H

#include "eddy/api.h"

#include <stddef.h>

EDDY_BEGIN_DECLS

#define EDDY_VERSION_MAJOR 0
#define EDDY_VERSION_MINOR 1
#define EDDY_VERSION_PATCH 0

#define EDDY_VERSION_TEXT_(number) #number
#define EDDY_VERSION_JOIN_(major, minor, patch)                                \
    EDDY_VERSION_TEXT_(major)                                                  \
    "." EDDY_VERSION_TEXT_(minor) "." EDDY_VERSION_TEXT_(patch)

/* "0.1.0": of the headers that a program was compiled with. */
#define EDDY_VERSION_STRING                                                    \
    EDDY_VERSION_JOIN_(EDDY_VERSION_MAJOR, EDDY_VERSION_MINOR,                 \
                       EDDY_VERSION_PATCH)

/* For comparisons: 0.1.0 is 100, 1.2.3 is 10203. */
#define EDDY_VERSION_NUMBER                                                    \
    (EDDY_VERSION_MAJOR * 10000 + EDDY_VERSION_MINOR * 100 + EDDY_VERSION_PATCH)

/* EDDY_VERSION_STRING of the library that runs.  @thread any */
EDDY_API const char *eddy_version(void);

/* The library's EDDY_VERSION_NUMBER.  @thread any */
EDDY_API int eddy_version_number(void);

/* What the library works with beside itself. */
typedef enum eddy_component {
    EDDY_COMPONENT_BLAS,   /* products and linear algebra */
    EDDY_COMPONENT_ONEDNN, /* products of some shapes, where it is faster */
    EDDY_COMPONENT_CPU,    /* what the processor has beyond its baseline */
    /*
     * Which of the two did products of float32, and how fast both are, by what
     * was measured in this process, such as "128x128x128 oneDNN (24.6 us,
     * OpenBLAS 34.9)" and more after semicolons; "nothing measured", or what
     * the environment variable EDDY_PRODUCTS asks for.
     */
    EDDY_COMPONENT_PRODUCTS
} eddy_component;

/*
 * Writes which `component` was found, such as "OpenBLAS 0.3.21 (SkylakeX)";
 * "none" where there is none.  Asking for oneDNN loads it, if it was not used
 * yet.  Returns the length that the text needs without its NUL, as snprintf
 * does; `text` may be NULL when `size` is 0.  @thread any
 */
EDDY_API size_t eddy_component_format(eddy_component component, char *text,
                                      size_t size);

EDDY_END_DECLS

#endif
