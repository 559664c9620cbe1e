#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a saved Hessian-vector product, through a TensorArray that grows, in
# TensorFlow: an order that the graph does not have shows there in some runs.
#
# usage: [PYTHON=python3] [BUILD=build] scripts/hessian_vector.sh [RUNS]
#
# Does nothing where TensorFlow is not there.
set -e
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
build=${BUILD:-build}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ! "$python" -c 'import tensorflow' 2>/dev/null; then
    echo "hessian_vector: no TensorFlow for $python"
    exit 0
fi
${CC:-cc} -std=c11 -Iinclude scripts/hessian_vector.c -o "$folder/make" \
    -L"$build" -leddy -Wl,-rpath,"$PWD/$build"
names=$("$folder/make" "$folder/graph.pb")
# shellcheck disable=SC2086
TF_CPP_MIN_LOG_LEVEL=3 "$python" scripts/hessian_vector.py \
    "$folder/graph.pb" $names "${1:-200}"
