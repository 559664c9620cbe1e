#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails if a file includes what its folder may not.  The table is the one of
# the design: a folder may include itself, the public headers, and what its
# row names.  Folders without a row (tests, benchmarks) are free.
cd "$(dirname "$0")/.." || exit 2

find include core ops frames frontends autodiff interop runtime tools examples \
    -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.inc' \) \
    -print 2>/dev/null | sort | xargs awk '
BEGIN {
    may["include"]       = ""
    may["core"]          = ""
    may["ops"]           = "core"
    may["frames"]        = "core"
    may["frontends"]     = "core frames"
    may["autodiff"]      = "core frames"
    may["interop"]       = "core frames"
    may["interop/onnx"]  = "core frames frontends interop"
    may["runtime/plan"]  = "core frames"
    may["runtime/native"] = "core runtime/plan"
    may["runtime/exec"]  = "core frames runtime/plan runtime/native"
    may["runtime/net"]   = "core frames runtime/plan runtime/exec"
    may["runtime/eager"] = "core frames frontends"
    may["tools"]         = ""
    may["examples"]      = ""

    # Single headers beyond the rows: the executor knows the table of ops,
    # not the kernels behind it; the linear form has an operation for each row
    # of the elementwise tables, with the bits of their expressions.
    tables = "ops/math/binary.def ops/math/unary.def ops/math/compare.def"
    also["runtime/plan"] = "ops/chain.h ops/products.h ops/rows.h " tables
    also["runtime/exec"] = "ops/ops.h ops/math/binary_rows.h ops/math/cast_rows.h " tables

    # A library stays in the folders that wrap it; folders without a row are
    # free here too.
    wrapper["uv.h"]           = "core/base runtime/exec"
    wrapper["dlfcn.h"]        = "core/base tools"
    wrapper["cblas.h"]        = "ops"
    wrapper["openblas_config.h"] = "ops"
    wrapper["dnnl.h"]         = "ops"
    wrapper["mpi.h"]          = "runtime/net"
    wrapper["sleef.h"]        = "ops"
    wrapper["Random123/philox.h"] = "ops"
    wrapper["protobuf-c/protobuf-c.h"] = "interop interop/onnx"
    wrapper["jansson.h"]      = "tools"
    wrapper["check.h"]        = "tests"

    standard = " assert complex ctype errno fenv float inttypes iso646 " \
        "limits locale math setjmp signal stdalign stdarg stdatomic " \
        "stdbool stddef stdint stdio stdlib stdnoreturn string tgmath " \
        "threads time uchar wchar wctype "
}

function complain(what)
{
    printf "%s:%d: %s\n", FILENAME, FNR, what
    bad = 1
}

function holds(list, word)
{
    return index(" " list " ", " " word " ") > 0
}

# Does one of the folders of `list` hold the file?
function is_below(list, path,    folder, n, i)
{
    n = split(list, folder, " ")
    for (i = 1; i <= n; i++)
        if (index(path, folder[i] "/") == 1)
            return 1
    return 0
}

# The folder that the table speaks of: runtime/x, interop/onnx, else the first
# part.
function folder_of(path,    part, n)
{
    n = split(path, part, "/")
    if (n == 1)
        return ""
    if (n > 2 && (part[1] == "runtime" ||
                  (part[1] == "interop" && part[2] == "onnx")))
        return part[1] "/" part[2]
    return part[1]
}

function check_quoted(to,    target)
{
    if (to ~ /(^|\/)\.\.?(\/|$)/ || to ~ /^\//) {
        complain("path of \"" to "\" does not start at the root")
        return
    }
    target = folder_of(to)
    if (to == "eddy.h" || target == "eddy")
        return
    if (!(target in may) || target == "include")
        complain("\"" to "\" is in no folder of the table")
    else if (target != from && !holds(may[from], target) &&
             !holds(also[from], to))
        complain(from " may not include " target " (\"" to "\")")
}

function check_angled(to)
{
    if (from == "include") {
        if (to !~ /\.h$/ || !holds(standard, substr(to, 1, length(to) - 2)))
            complain("public header includes <" to \
                     ">, which is not in the C standard library")
    } else if (from == "examples" && (to == "eddy.h" || to ~ /^eddy\//)) {
        return
    } else if (to == "eddy.h" || folder_of(to) in may || to ~ /^eddy\//) {
        complain("<" to "> is of this tree; include it with quotes")
    } else if (to in wrapper && !is_below(wrapper[to], FILENAME)) {
        complain(from " may not include <" to ">")
    } else if (to == "cblas.h") {
        n_blas++
        blas = blas " " FILENAME
    }
}

FNR == 1 { from = folder_of(FILENAME) }

# What core/base/thread.h wraps is called by its names.
/(^|[^A-Za-z0-9_])(uv|UV)_[a-zA-Z]/ {
    if (!is_below(wrapper["uv.h"], FILENAME))
        complain("names libuv; use core/base/thread.h")
}

# The file of EACH (ops/template.h) is judged where it is named.
/^#define EACH "/ {
    to = $0
    sub(/^[^"]*"/, "", to)
    sub(/".*$/, "", to)
    check_quoted(to)
}

/^[ \t]*#[ \t]*include/ && $0 != "#include EACH" {
    to = $0
    if (to ~ /^[ \t]*#[ \t]*include[ \t]*"/) {
        sub(/^[^"]*"/, "", to)
        sub(/".*$/, "", to)
        check_quoted(to)
    } else if (to ~ /^[ \t]*#[ \t]*include[ \t]*</) {
        sub(/^[^<]*</, "", to)
        sub(/>.*$/, "", to)
        check_angled(to)
    } else {
        complain("an include that names no file")
    }
}

END {
    if (n_blas > 1) {
        print "<cblas.h> is included by more than one file:" blas
        bad = 1
    }
    exit bad
}
'
