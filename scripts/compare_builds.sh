#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Holds two builds of the command against each other on the recorded cases, for
# changes that must not change what eddy does.
#
#   scripts/compare_builds.sh OLD NEW [FOLDER]...
#
# OLD and NEW are the `eddy` commands of the two builds; the folders default to
# tests/conformance/tf.  For every case.json below them, both builds must agree
# in all of these, to the byte:
#
#   inspect   what `eddy inspect` prints
#   grad      the graphs that `eddy grad` writes for each recorded gradient, at
#             orders 1 to 3, and what it prints or complains of
#   rewrites  the graph as it is saved, lowered and unrolled (scripts/rewrites.c)
#   run       what `eddy run` prints and complains of for each recorded run
#   counts    live and dead executions, iterations and frames of that run
#
# Prints a line for each that differs, and ends with a sum.  Needs jq, a C
# compiler (CC), and libeddy.so beside each command.
set -u

if [ $# -lt 2 ]; then
    echo "usage: compare_builds.sh OLD NEW [FOLDER]..." >&2
    exit 2
fi
old=$(realpath "$1") || exit 2
new=$(realpath "$2") || exit 2
shift 2
[ $# -gt 0 ] || set -- "$(dirname "$0")/../tests/conformance/tf"
command -v jq >/dev/null || { echo "compare_builds.sh: no jq" >&2; exit 2; }

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
top=$(realpath "$(dirname "$0")/..")
# One program, which runs with the library of either build: it is made with that
# of the old one, since specifications grow and versions are added.
${CC:-cc} -std=c11 -I"$(dirname "$old")/../include" "$top/scripts/rewrites.c" \
    -o "$scratch/rewrites" -L"$(dirname "$old")" -leddy || exit 2
export OPENBLAS_NUM_THREADS=1
n_same=0
n_differ=0

# One line an invocation: a label, a tab, and the arguments, quoted for eval.
list_commands='
def names(option; list): [list[] | "--" + option, .];
def feeds(of): [of.feeds // {} | to_entries[] | "--feed", .key + "=@" + .value];
def quoted: map(@sh) | join(" ");
"inspect\tinspect graph.pb",
"rewrites\tgraph.pb",
(([.gradients // empty] + (.more_gradients // []))[]
    | names("ys"; .ys) + names("xs"; .xs)
      + names("stop"; .stop_gradients // [])
      + (if (.grad_ys // []) | length > 0 and all(. != null)
         then names("grad-ys"; .grad_ys) else [] end)
    | ("1", "2", "3") as $order
    | "grad\tgrad graph.pb -o \"$out\" --order " + $order + " " + quoted),
((.runs // [])[]
    | (feeds(.) + names("fetch"; .fetches // [])
       + names("target"; .targets // []))
    | "run\trun graph.pb --timeout 60 " + quoted,
      "counts\tbench graph.pb --timeout 60 --repeat 1 --json " + quoted)
'

# What one build does: its file, what it says, its status.
#   answer COMMAND LABEL ARGUMENTS
answer()
{
    local out=$scratch/out.pb

    rm -f "$out"
    if [ "$2" = rewrites ]; then
        LD_LIBRARY_PATH=$(dirname "$1") timeout 120 "$scratch/rewrites" "$3" \
            2>&1
        return
    fi
    if [ "$2" = counts ]; then
        eval "$1 $3" 2>/dev/null | jq -c \
            '[.live_executions, .dead_executions, .iterations, .frames]' 2>&1
        return
    fi
    eval "timeout 120 $1 $3" 2>&1
    echo "status $?"
    [ ! -f "$out" ] || sha256sum <"$out"
}

while IFS= read -r file; do
    cd "$(dirname "$file")" || exit 2
    while IFS=$'\t' read -r label arguments; do
        if [ "$(answer "$old" "$label" "$arguments")" = \
            "$(answer "$new" "$label" "$arguments")" ]; then
            n_same=$((n_same + 1))
        else
            n_differ=$((n_differ + 1))
            echo "$PWD: $label $arguments"
        fi
    done < <(jq -r "$list_commands" case.json)
done < <(find -L "$@" -name case.json -exec realpath {} + | sort)

echo "$n_same the same, $n_differ differ"
[ "$n_differ" -eq 0 ] && [ "$n_same" -gt 0 ]
