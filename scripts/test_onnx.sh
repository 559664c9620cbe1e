#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ONNX's own node tests, all of them, as the Python package onnx writes them:
# each whose operators and dtypes eddy has must give the recorded values.  Says
# what was passed over and why, and the sum.
#
# Then the gradients of all of these against central differences, and of the
# cases below CASES, other models in that layout, if that is set; and what
# `eddy convert` writes of TensorFlow's recorded graphs, and PROGRAMS random
# models with control flow (100), in ONNX Runtime, if that is there.
#
# PYTHON is an interpreter that has the package; without it nothing is tested.
set -u
cd "$(dirname "$0")/.." || exit 2

PYTHON=${PYTHON:-python3}
EDDY=${EDDY:-build/eddy}
folder=${FOLDER:-build/onnx_node_tests}
listed=scripts/onnx_node_tests.txt
export OPENBLAS_NUM_THREADS=1

if ! "$PYTHON" -c 'import onnx.backend.test.case.node' 2>/dev/null; then
    echo "test-onnx: passed over, $PYTHON has no package onnx (PYTHON=...)"
    exit 0
fi
rm -rf "$folder"
mkdir -p "$folder" || exit 2
"$PYTHON" scripts/onnx_node_tests.py "$folder" 2>/dev/null || exit 2
"$EDDY" verify "$folder" >"$folder/report.txt" 2>&1

# A failure is the line FAILED and those below it that are indented.
awk -v listed="$listed" '
function matches(name, pattern)
{
    gsub(/\*/, ".*", pattern)
    return name ~ "^" pattern "$"
}

function reason(name, text,    i, what)
{
    for (i = 1; i <= n_listed; i++)
        if (matches(name, pattern[i]))
            return why[i]
    if (match(text, /operators? that eddy has not: .*/)) {
        what = substr(text, RSTART, RLENGTH)
        sub(/^operators? that eddy has not: /, "", what)
        gsub(/ \(opset [0-9]+\) x[0-9]+/, "", what)
        return "no operator " what
    }
    if (match(text, /dtype [0-9]+( \([a-z0-9]+\))?, which eddy has not/))
        return "no " substr(text, RSTART, RLENGTH - 20)
    return ""
}

function finish(    because)
{
    if (name == "")
        return
    because = reason(name, text)
    if (because == "") {
        bad++
        printf "FAILED %s\n%s", name, text
    } else {
        over++
        count[because]++
    }
    name = ""
}

BEGIN {
    while ((getline line < listed) > 0) {
        if (line ~ /^#/ || line !~ /[^ ]/)
            continue
        n_listed++
        pattern[n_listed] = line
        sub(/ .*/, "", pattern[n_listed])
        why[n_listed] = line
        sub(/^[^ ]+ +/, "", why[n_listed])
    }
}

/^FAILED / {
    finish()
    name = $2
    sub(/.*\//, "", name)
    text = ""
    next
}

/^    / { text = text $0 "\n"; next }

/^[0-9]+ passed, / {
    finish()
    passed = $1
    is_done = 1
}

END {
    finish()
    for (because in count)
        printf "passed over: %4d  %s\n", count[because], because | "sort -k3"
    close("sort -k3")
    printf "%d passed, %d failed, %d passed over\n", passed, bad, over
    exit bad > 0 || !is_done || passed == 0
}' "$folder/report.txt" || exit 1

if [ -n "${GRADIENTS:-}" ]; then
    echo "gradients:"
    find "$folder" ${CASES:+"$CASES"} -name model.onnx -path '*test_*' \
        -o -name model.onnx -path '*/own/*' | sed 's,/model.onnx$,,' | sort |
        tr '\n' '\0' | xargs -0 "$GRADIENTS" || exit 1
fi

if ! "$PYTHON" -c 'import onnxruntime' 2>/dev/null; then
    echo "test-onnx: written models passed over, no package onnxruntime"
    exit 0
fi
"$PYTHON" scripts/onnx_written.py "$EDDY" "$folder/written" \
    tests/conformance/tf || exit 1
"$PYTHON" scripts/onnx_programs.py "$folder/programs" --eddy "$EDDY" \
    --count "${PROGRAMS:-100}"
