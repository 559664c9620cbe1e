/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LAPACK as OpenBLAS has it, the one place that knows it.
 *
 * Matrices are stored column by column and dense; the dtype is float32,
 * float64, complex64 or complex128, and dimensions are at least 1.  Each
 * function works in place, prints nothing, and allocates nothing: what it needs
 * comes from the caller.
 *
 * LAPACK can't be interrupted.  A call that would take some ten milliseconds or
 * more is made aside (ops/linalg/aside.h), with copies of the matrices; its
 * function gives CANCELLED when the run is to stop before it is done.
 */
#ifndef EDDY_OPS_LAPACK_H
#define EDDY_OPS_LAPACK_H

#include "eddy/op.h"

/*
 * Fails the kernel if LAPACK can't be loaded.  Functions that take a kernel ask
 * by themselves; before eddy__lapack_qr_work() and eddy__lapack_svd_work() it
 * is the caller's to ask.
 */
eddy_status eddy__lapack_check(eddy_kernel *k);

/* An n by n matrix and memory for n pivots. */
typedef struct eddy__lapack_lu {
    int32_t n;
    void *a;
    int32_t *pivots;
} eddy__lapack_lu;

/* Turns the matrix into P L U.  A pivot of 0 is no failure. */
eddy_status eddy__lapack_lu_find(eddy_kernel *k, eddy_dtype dtype,
                                 const eddy__lapack_lu *lu);

/* From P L U, solves a x = b for n_right columns, or a^H x = b. */
eddy_status eddy__lapack_lu_solve(eddy_kernel *k, eddy_dtype dtype,
                                  const eddy__lapack_lu *lu, bool adjoint,
                                  int32_t n_right, void *b);

/*
 * The upper triangle U of a = U^H U, from that of `a`; the lower one is left
 * alone.  `*out_found` is false if `a` is not positive definite.
 */
eddy_status eddy__lapack_cholesky(eddy_kernel *k, eddy_dtype dtype, int32_t n,
                                  void *a, bool *out_found);

/* An n by n matrix of which one triangle is used, or its adjoint. */
typedef struct eddy__lapack_triangle {
    int32_t n;
    bool upper, adjoint;
    const void *a;
} eddy__lapack_triangle;

/* Solves x a = b for x, which has n_left rows and n columns. */
eddy_status eddy__lapack_triangular(eddy_kernel *k, eddy_dtype dtype,
                                    const eddy__lapack_triangle *t,
                                    int32_t n_left, void *b);

/*
 * What follows needs memory to work in: `elements` of the dtype, `reals` of its
 * real parts' dtype and `integers`, each at least 1.
 */
typedef struct eddy__lapack_work {
    int64_t n_elements, n_reals, n_integers;
    void *elements, *reals;
    int32_t *integers;
} eddy__lapack_work;

/*
 * Q R of an m by n matrix `a`, with room for m rows of n or of `columns`
 * elements, by min(m, n) reflections, each with a scale.
 */
typedef struct eddy__lapack_qr {
    int32_t m, n, columns;
    void *a, *scales;
} eddy__lapack_qr;

void eddy__lapack_qr_work(eddy_dtype dtype, const eddy__lapack_qr *qr,
                          eddy__lapack_work *out_work);

/* Leaves R in the upper triangle of `a`, and in the rest what Q follows from.
 */
eddy_status eddy__lapack_qr_find(eddy_kernel *k, eddy_dtype dtype,
                                 const eddy__lapack_qr *qr,
                                 const eddy__lapack_work *work);

/* Then makes the first `columns` columns of Q of `a`. */
eddy_status eddy__lapack_qr_form(eddy_kernel *k, eddy_dtype dtype,
                                 const eddy__lapack_qr *qr,
                                 const eddy__lapack_work *work);

/*
 * Eigenvalues, in ascending order and real, of a self-adjoint matrix, from its
 * upper triangle; eigenvectors replace `a` if they are wanted, else it is lost.
 * `*out_found` is false if they were not found.
 */
bool eddy__lapack_eigen_work(eddy_dtype dtype, bool vectors, int32_t n,
                             eddy__lapack_work *out_work);
eddy_status eddy__lapack_eigen(eddy_kernel *k, eddy_dtype dtype, bool vectors,
                               int32_t n, void *a, void *values,
                               const eddy__lapack_work *work, bool *out_found);

/*
 * Singular values of an m by n matrix, in descending order and real, and, if
 * `vectors`, u and the adjoint of v: all of their columns and rows if `full`,
 * else min(m, n).  `a` is lost.  `*out_found` is false if they were
 * not found.
 */
typedef struct eddy__lapack_svd {
    int32_t m, n;
    bool vectors, full;
    void *a, *values, *u, *v_adjoint;
} eddy__lapack_svd;

bool eddy__lapack_svd_work(eddy_dtype dtype, const eddy__lapack_svd *svd,
                           eddy__lapack_work *out_work);
eddy_status eddy__lapack_svd_run(eddy_kernel *k, eddy_dtype dtype,
                                 const eddy__lapack_svd *svd,
                                 const eddy__lapack_work *work,
                                 bool *out_found);

#endif
