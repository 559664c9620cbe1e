/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan and the stages of a transform: Stockham for small factors,
 * Bluestein's chirp for the others.
 */
#include "ops/linalg/fourier.h"

#include "ops/math/elements.h"

#define TAU 6.28318530717958647692

/* Primes above it make a chirp cheaper than their stage. */
#define MOST_FACTOR 31

/* e^(-2 pi i k / n), from an angle below an eighth of a turn. */
static eddy__complex128 root_of(int64_t k, int64_t n)
{
    const int64_t eighth = 8 * k / n;        /* of a turn */
    const int64_t turned = (eighth + 1) / 2; /* quarters */
    const int64_t quarter = turned % 4;
    const int64_t rest = 4 * k - turned * n;
    const double angle = TAU * ((double)rest / (4 * (double)n));
    double c = cos(angle), s = sin(angle);

    if (quarter == 1)
        return eddy__long_complex(-s, -c);
    if (quarter == 2)
        return eddy__long_complex(-c, s);
    if (quarter == 3)
        return eddy__long_complex(s, c);
    return eddy__long_complex(c, -s);
}

static void fill_roots(eddy_kernel *kernel, eddy__complex128 *roots, int64_t n)
{
    for (int64_t k = 0; k < n && !eddy__spent_at(kernel, k); k++)
        roots[k] = root_of(k, n);
}

/* The factors of `n`, fours before twos; what is left of it. */
static int64_t split(int64_t n, int64_t *factors, int32_t *out_n)
{
    int32_t count = 0;

    for (; n % 4 == 0; n /= 4)
        factors[count++] = 4;
    for (int64_t p = 2; p <= MOST_FACTOR; p++)
        for (; n % p == 0; n /= p)
            factors[count++] = p;
    *out_n = count;
    return n;
}

int64_t eddy__fourier_describe(eddy_kernel *k, eddy__fourier *f, int64_t n)
{
    *f = (eddy__fourier){.n = n, .kernel = k};
    if (n > (int64_t)1 << 56)
        return -1;
    if (split(n, f->factors, &f->n_factors) == 1)
        return 2 * n;
    for (f->chirp_n = 1; f->chirp_n < 2 * n - 1;)
        f->chirp_n *= 2;
    (void)split(f->chirp_n, f->chirp_factors, &f->n_chirp_factors);
    return n + 4 * f->chirp_n;
}

/* ---- stages ---- */

typedef struct stage {
    const eddy__complex128 *from, *roots;
    eddy__complex128 *to;
    int64_t n;       /* of the whole line */
    int64_t p, m, s; /* the factor, what is left of n, lines that are done */
    bool is_inverse;
    eddy_kernel *kernel;
} stage;

/* A part of a stage: from `j` to `end` of m, from `q` to `last` of s. */
typedef struct part {
    int64_t j, end, q, last;
} part;

/* How much of a stage is done between two questions whether to stop. */
#define PART ((int64_t)1 << 14)

static eddy__complex128 times(eddy__complex128 a, eddy__complex128 b)
{
    return eddy__complex_mul_C128(a, b);
}

static eddy__complex128 root(const stage *g, int64_t k)
{
    return g->is_inverse ? conj(g->roots[k]) : g->roots[k];
}

/* -i x, or i x. */
static eddy__complex128 turn(const stage *g, eddy__complex128 x)
{
    return g->is_inverse ? eddy__long_complex(-cimag(x), creal(x))
                         : eddy__long_complex(cimag(x), -creal(x));
}

static void run_two(const stage *g, const part *r)
{
    for (int64_t j = r->j; j < r->end; j++) {
        const eddy__complex128 w = root(g, j * g->s);

        for (int64_t q = r->q; q < r->last; q++) {
            const eddy__complex128 *x = g->from + q + g->s * j;
            eddy__complex128 *y = g->to + q + g->s * 2 * j;
            const eddy__complex128 a = x[0], b = x[g->s * g->m];

            y[0] = a + b;
            y[g->s] = times(a - b, w);
        }
    }
}

static void run_four(const stage *g, const part *r)
{
    for (int64_t j = r->j; j < r->end; j++) {
        const eddy__complex128 w1 = root(g, j * g->s);
        const eddy__complex128 w2 = root(g, 2 * j * g->s);
        const eddy__complex128 w3 = root(g, 3 * j * g->s);

        for (int64_t q = r->q; q < r->last; q++) {
            const eddy__complex128 *x = g->from + q + g->s * j;
            eddy__complex128 *y = g->to + q + g->s * 4 * j;
            const int64_t step = g->s * g->m;
            const eddy__complex128 a = x[0], b = x[step], c = x[2 * step],
                                   d = x[3 * step];
            const eddy__complex128 t = turn(g, b - d);

            y[0] = (a + c) + (b + d);
            y[g->s] = times((a - c) + t, w1);
            y[2 * g->s] = times((a + c) - (b + d), w2);
            y[3 * g->s] = times((a - c) - t, w3);
        }
    }
}

/* Any factor, by the sum itself. */
static void run_any(const stage *g, const part *r)
{
    eddy__complex128 a[MOST_FACTOR], w[MOST_FACTOR];

    for (int64_t u = 0; u < g->p; u++)
        w[u] = root(g, u * (g->n / g->p));
    for (int64_t j = r->j; j < r->end; j++)
        for (int64_t q = r->q; q < r->last; q++) {
            for (int64_t u = 0; u < g->p; u++)
                a[u] = g->from[q + g->s * (j + g->m * u)];
            for (int64_t v = 0; v < g->p; v++) {
                eddy__complex128 sum = a[0];

                for (int64_t u = 1; u < g->p; u++)
                    sum += times(a[u], w[u * v % g->p]);
                g->to[q + g->s * (g->p * j + v)] =
                    times(sum, root(g, j * v * g->s));
            }
        }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void run_stage(const stage *g)
{
    const int64_t step = g->s < PART ? PART / g->s : 1;

    for (int64_t j = 0; j < g->m; j += step)
        for (int64_t q = 0; q < g->s; q += PART) {
            const part r = {j, least(j + step, g->m), q, least(q + PART, g->s)};

            if (eddy__spent(g->kernel,
                            4 * g->p * (r.end - r.j) * (r.last - r.q)))
                return;
            if (g->p == 2)
                run_two(g, &r);
            else if (g->p == 4)
                run_four(g, &r);
            else
                run_any(g, &r);
        }
}

static void run_stages(const int64_t *factors, int32_t n_factors, stage g,
                       eddy__complex128 *line, eddy__complex128 *scratch)
{
    g.m = g.n;
    g.s = 1;
    g.from = line;
    g.to = scratch;
    for (int32_t i = 0; i < n_factors; i++) {
        eddy__complex128 *done = g.to;

        g.p = factors[i];
        g.m /= g.p;
        run_stage(&g);
        g.s *= g.p;
        g.to = done == scratch ? line : scratch;
        g.from = done;
    }
    if (g.from != line)
        eddy__copy_bytes(g.kernel, line, scratch, (size_t)g.n * sizeof *line);
}

/* ---- chirps ---- */

/* Of number k e^(-pi i k^2 / n), which repeats after 2 n. */
static void fill_chirp(eddy_kernel *kernel, eddy__complex128 *chirp, int64_t n)
{
    int64_t at = 0; /* k^2 modulo 2 n */

    for (int64_t k = 0; k < n && !eddy__spent_at(kernel, k); k++) {
        chirp[k] = root_of(at, 2 * n);
        at = (at + 2 * k + 1) % (2 * n);
    }
}

static eddy__complex128 chirp_at(const eddy__fourier *f, int64_t k,
                                 bool is_inverse)
{
    return is_inverse ? conj(f->roots[k]) : f->roots[k];
}

static void convolve(const eddy__fourier *f, eddy__complex128 *line,
                     bool is_inverse)
{
    run_stages(f->chirp_factors, f->n_chirp_factors,
               (stage){.n = f->chirp_n,
                       .roots = f->chirp_roots,
                       .is_inverse = is_inverse,
                       .kernel = f->kernel},
               line, f->scratch + f->chirp_n);
}

static void run_chirp(const eddy__fourier *f, eddy__complex128 *line,
                      bool is_inverse)
{
    eddy__complex128 *a = f->scratch;
    const double scale = 1 / (double)f->chirp_n;

    for (int64_t k = 0; k < f->chirp_n && !eddy__spent_at(f->kernel, k); k++)
        a[k] = k < f->n ? times(line[k], chirp_at(f, k, is_inverse)) : 0;
    convolve(f, a, false);
    /* The chirp is even, so the transform of its conjugate is the conjugate. */
    for (int64_t k = 0; k < f->chirp_n && !eddy__spent_at(f->kernel, k); k++)
        a[k] = times(a[k], is_inverse ? conj(f->filter[k]) : f->filter[k]);
    convolve(f, a, true);
    for (int64_t k = 0; k < f->n && !eddy__spent_at(f->kernel, k); k++)
        line[k] = times(a[k], chirp_at(f, k, is_inverse)) * scale;
}

static void fill_filter(const eddy__fourier *f)
{
    eddy__zero_bytes(f->kernel, f->filter,
                     (size_t)f->chirp_n * sizeof *f->filter);
    for (int64_t k = 0; k < f->n && !eddy__spent_at(f->kernel, k); k++) {
        f->filter[k] = conj(f->roots[k]);
        if (k > 0)
            f->filter[f->chirp_n - k] = f->filter[k];
    }
    convolve(f, f->filter, false);
}

/* ---- the whole ---- */

void eddy__fourier_fill(eddy__fourier *f, eddy__complex128 *room)
{
    f->roots = room;
    if (f->chirp_n == 0) {
        fill_roots(f->kernel, f->roots, f->n);
        f->scratch = room + f->n;
        return;
    }
    fill_chirp(f->kernel, f->roots, f->n);
    f->chirp_roots = room + f->n;
    f->filter = f->chirp_roots + f->chirp_n;
    f->scratch = f->filter + f->chirp_n;
    fill_roots(f->kernel, f->chirp_roots, f->chirp_n);
    fill_filter(f);
}

void eddy__fourier_run(const eddy__fourier *f, eddy__complex128 *line,
                       bool is_inverse)
{
    if (f->chirp_n > 0)
        run_chirp(f, line, is_inverse);
    else
        run_stages(f->factors, f->n_factors,
                   (stage){.n = f->n,
                           .roots = f->roots,
                           .is_inverse = is_inverse,
                           .kernel = f->kernel},
                   line, f->scratch);
}
