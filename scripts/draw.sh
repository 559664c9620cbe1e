#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Draws what the examples build: docs/control_flow/NAME.svg from the graph that
# the example NAME saves, for the builder and for every page NAME.md there, and
# docs/autodiff.svg from that of the example gradient; docs/native.svg from a
# counter of the benchmarks.
# `make drawings` calls it.  The layout is eddy's own: the same graph, the same
# file.
set -eu
cd "$(dirname "$0")/.."

EDDY=${EDDY:-build/eddy}
EXAMPLES=${EXAMPLES:-build/examples}
OUT=docs/control_flow

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

#   draw EXAMPLE FILE
draw()
{
    "$EXAMPLES/$1" "$scratch/graph.pb" >/dev/null
    "$EDDY" inspect "$scratch/graph.pb" --svg >"$scratch/graph.svg"
    mkdir -p "$OUT"
    mv "$scratch/graph.svg" "$2"
    rm -f "$scratch/graph.pb"
    echo "draw: $2"
}

draw gradient docs/autodiff.svg
draw builder "$OUT/builder.svg"
"$EDDY" inspect benchmarks/graphs/counter.pb --svg >"$scratch/native.svg"
mv "$scratch/native.svg" docs/native.svg
echo "draw: docs/native.svg"
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
