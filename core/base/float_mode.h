/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the processor treats denormal numbers on this thread, and how it rounds.
 *
 * A run computes in a mode of its own, whatever that of the thread which drives
 * it, so that its results don't depend on the thread: to nearest, and denormals
 * either flushed (taken as zeros of their sign, and made zeros as results) or
 * kept.  TensorFlow flushes them in all its threads
 * (tensorflow/core/platform/denormal.h).  The mode is a register of the thread:
 * x86-64 has MXCSR, whose bits FTZ (15) and DAZ (6) flush and whose bits 13 and
 * 14 round; arm64 has FPCR with FZ (24), FZ16 (19) and the rounding in 22 and
 * 23.  Elsewhere denormals are kept.
 *
 * Nothing but arithmetic heeds the mode: copies keep denormals, and so do what
 * compilers make of negation and absolute value.
 */
#ifndef EDDY_BASE_FLOAT_MODE_H
#define EDDY_BASE_FLOAT_MODE_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__) || defined(__SSE2__)
#include <xmmintrin.h>
#endif

/* The register as it was. */
typedef uint64_t eddy__float_mode;

#if defined(__x86_64__) || defined(__SSE2__)

#define EDDY__CAN_FLUSH_DENORMALS 1
#define EDDY__FLOAT_FLUSH ((eddy__float_mode)1 << 15 | (eddy__float_mode)1 << 6)
#define EDDY__FLOAT_ROUNDING ((eddy__float_mode)3 << 13)

static inline eddy__float_mode eddy__float_mode_get(void)
{
    return _mm_getcsr();
}

static inline void eddy__float_mode_set(eddy__float_mode mode)
{
    _mm_setcsr((unsigned)mode);
}

#elif defined(__aarch64__)

#define EDDY__CAN_FLUSH_DENORMALS 1
#define EDDY__FLOAT_FLUSH                                                      \
    ((eddy__float_mode)1 << 24 | (eddy__float_mode)1 << 19)
#define EDDY__FLOAT_ROUNDING ((eddy__float_mode)3 << 22)

static inline eddy__float_mode eddy__float_mode_get(void)
{
    eddy__float_mode mode;

    __asm__ __volatile__("mrs %0, fpcr" : "=r"(mode));
    return mode;
}

static inline void eddy__float_mode_set(eddy__float_mode mode)
{
    __asm__ __volatile__("msr fpcr, %0" : : "r"(mode) : "memory");
}

#else

#define EDDY__CAN_FLUSH_DENORMALS 0
#define EDDY__FLOAT_FLUSH ((eddy__float_mode)0)
#define EDDY__FLOAT_ROUNDING ((eddy__float_mode)0)

static inline eddy__float_mode eddy__float_mode_get(void)
{
    return 0;
}

static inline void eddy__float_mode_set(eddy__float_mode mode)
{
    (void)mode;
}

#endif

/*
 * Puts this thread into the mode of a run; gives the mode that it had, for
 * eddy__float_mode_leave.  A few nanoseconds, none but a read if it has it.
 */
static inline eddy__float_mode eddy__float_mode_enter(bool keep_denormals)
{
    const eddy__float_mode before = eddy__float_mode_get();
    const eddy__float_mode neutral =
        before & ~(EDDY__FLOAT_FLUSH | EDDY__FLOAT_ROUNDING);
    const eddy__float_mode wanted =
        keep_denormals ? neutral : neutral | EDDY__FLOAT_FLUSH;

    if (wanted != before)
        eddy__float_mode_set(wanted);
    return before;
}

static inline void eddy__float_mode_leave(eddy__float_mode before)
{
    eddy__float_mode_set(before);
}

#endif
