# SPDX-License-Identifier: Apache-2.0
"""Makes of the public headers what cffi reads, without changing a word of them.

The compiler's preprocessor does the work: the headers are read with their marks
for the compiler switched off, and with the standard headers empty, since cffi
knows size_t and its like.  So a function that a header declares is a function
of the module, and nothing is listed twice.
"""
import os
import re
import subprocess
import tempfile

STANDARD = ("stdbool.h", "stddef.h", "stdint.h")


def preprocess(include, extra=()):
    """The text of eddy.h with all that it includes, as one declaration a line."""
    compiler = os.environ.get("CC", "cc").split()
    with tempfile.TemporaryDirectory() as empty:
        for name in STANDARD:
            open(os.path.join(empty, name), "w").close()
        return subprocess.run(
            [*compiler, "-E", "-nostdinc", "-U__GNUC__", "-I", empty, "-I",
             include, *extra, os.path.join(include, "eddy.h")],
            check=True, stdout=subprocess.PIPE, text=True).stdout


def declarations(include):
    """What cffi.FFI.cdef is given."""
    text = preprocess(include, ["-P"])
    macros = re.findall(
        r"^#define (EDDY_[A-Z_]+) \(?(?:-?\d+|UINT32_MAX|0x[0-9a-fA-F]+)\)?$",
        preprocess(include, ["-dM"]), re.M)
    return text + "".join(f"\n#define {name} ..." for name in sorted(macros))
