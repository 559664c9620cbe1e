/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a trace is written to: pieces of text and bytes on their way to the
 * caller's function, in blocks.  After the first refusal nothing more is done,
 * so that writers look once, at the end.
 */
#ifndef EDDY_INTEROP_TRACE_OUT_H
#define EDDY_INTEROP_TRACE_OUT_H

#include "eddy/explain.h"

#define EDDY__OUT_SIZE 16384

typedef struct eddy__out {
    eddy_write_cb write;
    void *user;
    bool has_stopped;
    size_t n;
    char buffer[EDDY__OUT_SIZE];
} eddy__out;

void eddy__out_begin(eddy__out *out, eddy_write_cb write, void *user);
void eddy__out_bytes(eddy__out *out, const void *bytes, size_t n);
void eddy__out_text(eddy__out *out, const char *text);
void eddy__out_print(eddy__out *out, const char *format, ...) EDDY_PRINTF(2, 3);

/* A text in quotes, as JSON and JavaScript in a page take it. */
void eddy__out_quoted(eddy__out *out, const char *text);

/* The same of an iteration's path. */
void eddy__out_path(eddy__out *out, const eddy_trace *trace, uint32_t frame,
                    int64_t iteration);

/* A double with all of its digits; "nan", "inf" and "-inf" in quotes. */
void eddy__out_double(eddy__out *out, double x);

/* Writes what is left; CANCELLED if `write` has stopped it. */
eddy_status eddy__out_end(eddy__out *out, eddy_error *err);

/* ---- the formats ---- */

/* The page of a drawing alone, without records. */
struct eddy__drawing;
void eddy__page_write_drawing(eddy__out *out, const struct eddy__drawing *d);

eddy_status eddy__trace_write_page(eddy__out *out, const eddy_trace *trace,
                                   eddy_error *err);
void eddy__trace_write_json(eddy__out *out, const eddy_trace *trace);
eddy_status eddy__trace_write_perfetto(eddy__out *out, const eddy_trace *trace,
                                       eddy_error *err);

#endif
