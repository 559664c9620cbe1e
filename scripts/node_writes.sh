#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails if a file outside of core writes what a node of a graph holds.  The kit
# in core/graph does that: emit.h, copy.h, edit.h.
#
# What is looked for: a pointer to a node that is not const, an assignment by
# way of a graph's array of nodes, and one to an element of a node's own arrays,
# which a const node does not forbid.
cd "$(dirname "$0")/.." || exit 2

find frames frontends autodiff interop ops runtime tools -name '*.[ch]' |
    sort | xargs awk '
BEGIN {
    sets = "[ \t]*([-+|&]?=[^=]|\\+\\+|--)"
    array = "(inputs|controls|attrs|input_dtypes|output_dtypes)"
    element = "\\[[^]]*\\]"
}
{
    line = $0
    gsub(/const eddy__node[ \t]*\*/, "", line)
    gsub(/sizeof\(eddy__node[ \t]*\*\)/, "", line)
    if (line ~ /(^|[(,; \t])eddy__node[ \t]*\*/ ||
        line ~ "(->|\\.)nodes\\[[^;]*\\](\\.|->)[a-z_]+(" element ")?" sets ||
        line ~ "(graph|copy|to|net)(->|\\.)nodes" element sets ||
        line ~ "(eddy__[a-z_]*node|node_at)\\([^;]*\\)->" array element sets ||
        line ~ "(^|[^a-z_])(node|n|merge)(->|\\.)" array element sets) {
        printf "%s:%d: writes a node:%s\n", FILENAME, FNR, $0
        bad = 1
    }
}
END { exit bad }
'
