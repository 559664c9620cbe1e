# SPDX-License-Identifier: Apache-2.0
"""Compiles eddy._eddy: all functions of the public headers, and python/glue.c.

EDDY_INCLUDE is the folder of eddy.h and EDDY_LIBRARY that of libeddy.so; both
are those of the tree by themselves.  EDDY_SYSTEM: the library is found where the
system has it, not beside the module.
"""
import os
import sys

import cffi

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import headers  # noqa: E402  (beside this file)

ROOT = os.path.dirname(HERE)
INCLUDE = os.environ.get("EDDY_INCLUDE", os.path.join(ROOT, "include"))
LIBRARY = os.environ.get("EDDY_LIBRARY", os.path.join(ROOT, "build"))

# Called by the library.  A kernel is called on any thread; parts of a graph
# while it is built.
CALLBACKS = """
extern "Python" eddy_status eddy_py_kernel(eddy_kernel *kernel);
extern "Python" eddy_status eddy_py_part(eddy_graph *graph, void *user,
    const eddy_output *inputs, size_t n, eddy_output *out_results,
    eddy_error *err);
extern "Python" bool eddy_py_write(void *user, const char *text,
    size_t length);
extern "Python" void eddy_py_observe(void *user, const char *pass,
    const eddy_graph *graph, const uint8_t *keep);
extern "Python" bool eddy_py_is_cancelled(void *user);
extern "Python" void eddy_py_progress(eddy_run *run,
    const eddy_progress *now, void *user);
"""


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


ffibuilder = cffi.FFI()
ffibuilder.cdef(headers.declarations(INCLUDE) + read("glue.h") + CALLBACKS)
ffibuilder.set_source(
    "eddy._eddy", '#include "eddy.h"\n' + read("glue.h") + read("glue.c"),
    include_dirs=[INCLUDE],
    library_dirs=[LIBRARY],
    libraries=["eddy"],
    # Buffers are in the limited interface since 3.11.
    define_macros=[("Py_LIMITED_API", "0x030b0000"), ("_DEFAULT_SOURCE", "1")],
    py_limited_api=True,
    extra_compile_args=["-std=c11", "-O2", "-w"],
    extra_link_args=[] if os.environ.get("EDDY_SYSTEM")
    # DT_RPATH holds for what the libraries beside the module load in turn.
    else ["-Wl,--disable-new-dtags,-rpath,$ORIGIN", "-s"],
)

if __name__ == "__main__":
    ffibuilder.compile(verbose=True)
