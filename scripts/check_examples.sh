#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the larger examples in C and in Python and holds what they print, and
# draw, against their pages in docs/examples.  The losses of the LSTM are those
# that TensorFlow gave.  `make wheel` comes first.
set -u
cd "$(dirname "$0")/.." || exit 2

EXAMPLES=${EXAMPLES:-build/examples}
PYTHON=${PYTHON:-/usr/bin/python3}
export PYTHONPATH="${EDDY_PYTHON:-build/wheel/site}" OPENBLAS_NUM_THREADS=1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

# check WHAT COMMAND...
check()
{
    what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        echo "examples: $what" >&2
        failed=$((failed + 1))
    fi
}

# No loss is further than 1e-4 from the recorded one, and none is missing.
near()
{
    paste "$1" examples/char_lstm_tensorflow.txt | awk '
        NF != 2 { bad = 1 }
        { d = $1 - $2; if (d < 0) d = -d; if (!(d <= 1e-4)) bad = 1 }
        END { exit bad || NR != 200 }'
}

for page in docs/examples/*.md; do
    name=$(basename "$page" .md)
    sed -n '/^```$/,/^```$/p' "$page" | sed '1d;$d' >"$scratch/page"
    for way in c python; do
        out=$scratch/$name.$way
        program=$EXAMPLES/$name
        [ $way = c ] || program="$PYTHON examples/python/$name.py"
        # The words of $program are a command.
        # shellcheck disable=SC2086
        check "$name ($way) fails" \
            $program "$out.svg" "$out.txt" >"$out"
        check "$name ($way) prints something else than $page" \
            cmp "$out" "$scratch/page"
        [ $name != mandelbrot ] ||
            check "$name ($way) draws something else than its page shows" \
                cmp "$out.svg" docs/examples/$name.svg
        [ $name != char_lstm ] ||
            check "$name ($way) has other losses than TensorFlow" \
                near "$out.txt"
    done
done

# Those whose pages are sections of a longer one: the block that follows the
# line which names the program.
for name in char_lstm_ranks wavefront; do
    page=docs/distributed.md
    awk -v "name=examples/$name.c" '
        /^```$/ { if (inside) exit; inside = found; next }
        inside { print }
        index($0, name) { found = 1 }' "$page" >"$scratch/page"
    check "$name fails" "$EXAMPLES/$name" >"$scratch/$name"
    check "$name prints something else than $page" \
        cmp "$scratch/$name" "$scratch/page"
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
