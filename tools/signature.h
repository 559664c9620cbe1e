/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures of a SavedModel on the command line: feeds and fetches under the
 * signature's names become those of the graph.
 */
#ifndef EDDY_TOOLS_SIGNATURE_H
#define EDDY_TOOLS_SIGNATURE_H

#include "tools/options.h"

#include "eddy/savedmodel.h"

/* The options of a call with other feeds and fetches; the texts are its own. */
typedef struct eddy__called {
    eddy__options options;
    const char **labels; /* what each fetch is called in what is printed */
    char **texts;
    size_t n_texts;
} eddy__called;

/*
 * Are all fetches outputs of `serving_default`?  So it is if there are none.  A
 * name that the graph has too is the signature's then.
 */
bool eddy__signature_has(const eddy_savedmodel *model,
                         const eddy__options *options);

/*
 * What `options` ask of the signature that they name, or of `serving_default`,
 * in names of the graph; all outputs if they name none.  When it fails it has
 * complained; `out_called` must be deinitialised either way.
 */
EDDY_MUST_USE eddy__exit eddy__signature_call(const eddy_savedmodel *model,
                                              const eddy__options *options,
                                              eddy__called *out_called);
void eddy__called_deinit(eddy__called *called);

/* What can be called, with the dtypes and shapes of what goes in and out. */
void eddy__signatures_print(const eddy_savedmodel *model);

#endif
