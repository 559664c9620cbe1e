#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the last commit twice, in two folders whose names differ in length,
# and compares what came out byte by byte.
set -eu
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MAKEFLAGS MFLAGS
# A cache would give the second build the objects of the first.
export CCACHE_DISABLE=1

for folder in one another-one; do
    mkdir "$scratch/$folder"
    git archive HEAD | tar -x -C "$scratch/$folder"
    make -s --no-print-directory -C "$scratch/$folder" \
        -j"$(nproc 2>/dev/null || echo 1)" all
done

bad=0
for file in libeddy.a libeddy.so.0 libeddy-openblas.so.0 \
    libeddy-onednn.so.0 eddy; do
    [ -e "$scratch/one/build/$file" ] || continue
    if cmp "$scratch/one/build/$file" "$scratch/another-one/build/$file"; then
        echo "reproducible: $file has the same bytes in both folders"
    else
        bad=1
    fi
done
exit "$bad"
