#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Draws what the examples build: docs/control_flow/NAME.svg from the graph that
# the example NAME saves, for the builder and for every page NAME.md there, and
# docs/autodiff.svg from that of the example gradient.
# `make drawings` calls it.  Without Graphviz nothing is drawn, which is no
# failure: the drawings that are there stay.
set -eu
cd "$(dirname "$0")/.."

EDDY=${EDDY:-build/eddy}
EXAMPLES=${EXAMPLES:-build/examples}
OUT=docs/control_flow

if ! command -v dot >/dev/null 2>&1; then
    echo "draw: no dot here (package graphviz), nothing is drawn" >&2
    exit 0
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Comments, names of elements and blanks at the ends of lines are dropped: the
# files are in the repository, and should be small.
#   draw EXAMPLE FILE
draw()
{
    "$EXAMPLES/$1" "$scratch/graph.pb" >/dev/null
    "$EDDY" inspect "$scratch/graph.pb" --dot >"$scratch/graph.dot"
    dot -Tsvg -Gfontname=Helvetica -Nfontname=Helvetica -Efontname=Helvetica \
        -Gfontsize=11 -Nfontsize=11 -Efontsize=9 -Nheight=0.3 -Nmargin=0.08,0.04 \
        -Granksep=0.35 -Gnodesep=0.2 "$scratch/graph.dot" |
        sed -e '/^<!--/d; /^ .*-->$/d; /^<title>/d; s/ *$//' >"$scratch/graph.svg"
    mkdir -p "$OUT"
    mv "$scratch/graph.svg" "$2"
    rm -f "$scratch/graph.pb"
    echo "draw: $2"
}

draw gradient docs/autodiff.svg
draw builder "$OUT/builder.svg"
for page in "$OUT"/*.md; do
    name=$(basename "$page" .md)
    if [ ! -f "$page" ] || [ "$name" = builder ]; then
        continue
    elif [ -x "$EXAMPLES/$name" ]; then
        draw "$name" "$OUT/$name.svg"
    else
        echo "draw: $page has no example of its name, passed over" >&2
    fi
done
