/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which library does a product of float32 matrices, of those that no tiles do:
 * the one that was faster on this processor.  Products fall into a few classes
 * by shape.  At the first product of a class both libraries are timed, on
 * matrices that stand for the class, for less than a millisecond as a rule.
 *
 * The answer is the process's, as the libraries are: so a shape has the same
 * bits in all contexts, executors and workers.  Another process may find
 * another answer where both are about as fast.  The environment variable
 * EDDY_PRODUCTS fixes it: "openblas" or "onednn"; then nothing is measured.
 */
#ifndef EDDY_OPS_CHOICE_H
#define EDDY_OPS_CHOICE_H

#include "ops/linalg/gemm.h"

/* Who is to do products. */
typedef enum eddy__maker {
    EDDY__MAKER_FASTER,
    EDDY__MAKER_OPENBLAS,
    EDDY__MAKER_ONEDNN
} eddy__maker;

/* What EDDY_PRODUCTS means; NULL, and what is no name, is the faster one. */
eddy__maker eddy__choice_named(const char *name);

/*
 * Is it oneDNN?  Never where that is missing, always where OpenBLAS is.  May
 * measure, and load both.  @thread any
 */
bool eddy__choice_is_onednn(const eddy__product *product);

/* Classes of products, and which one a shape is of; the number for none. */
size_t eddy__choice_count(void);
size_t eddy__choice_class(int64_t m, int64_t n, int64_t k);

/*
 * What was found out of a class, or is now: nanoseconds of some products by
 * either library.  False where there is one library.  @thread any
 */
typedef struct eddy__choice_times {
    int64_t m, n, k; /* of the matrices that stand for the class */
    uint32_t products;
    uint32_t openblas_ns, onednn_ns;
} eddy__choice_times;

bool eddy__choice_measure(size_t id, eddy__choice_times *out);

/* The same if it was found out before; false if it was not. */
bool eddy__choice_known(size_t id, eddy__choice_times *out);

/* Is oneDNN so much faster by these times that it is taken? */
bool eddy__choice_prefers_onednn(const eddy__choice_times *times);

/* What was found out, for people; cut where there is no more room. */
void eddy__choice_format(char *text, size_t size);

#endif
