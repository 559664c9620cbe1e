#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs each fuzzer of FUZZERS for SECONDS_EACH seconds of processor time, from
# the recorded graphs and tests/campaign/seeds; ONLY=npy runs fuzz_npy alone.
# What a fuzzer learns is kept in build/fuzz/corpus, so that a later run goes on
# from there; an input that fails is left in build/fuzz/found.  `make fuzz`
# calls it.  The last line is `N passed, N failed`, a fuzzer each.
set -u
cd "$(dirname "$0")/.." || exit 2

SECONDS_EACH=${SECONDS_EACH:-60}
ONLY=${ONLY:-}
SEED=${SEED:-0}
# Of the clock, for one input: more where other processes are busy.
TIMEOUT=${TIMEOUT:-20}
corpus=build/fuzz/corpus
found=build/fuzz/found
passed=0
failed=0

export OPENBLAS_NUM_THREADS=1
export ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1:\
quarantine_size_mb=16${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"

# The seeds of a fuzzer, copied into one folder under names of their own.
collect_seeds()
{
    seeds=build/fuzz/seeds/$1
    mkdir -p "$seeds"
    every=1
    case $1 in
    graphdef) pattern=graph.pb ;;
    npy) pattern='*.npy' every=20 ;;
    onnx) pattern='model.onnx' ;;
    case) pattern=case.json ;;
    *) pattern= ;;
    esac
    if [ -n "$pattern" ]; then
        find tests/conformance -name "$pattern" -size -6k | sort |
            awk "NR % $every == 0" | while read -r file; do
            cp "$file" "$seeds/$(echo "$file" | tr / _)"
        done
    fi
    [ -d "tests/campaign/seeds/$1" ] &&
        cp tests/campaign/seeds/"$1"/* "$seeds"
}

# end_at PROCESS SECONDS: asks a fuzzer to end when it has had as much of the
# processors, of all its threads; `spent` is what it had had before it ended.
end_at()
{
    spent=0
    while now=$(ps -o cputimes= -p "$1") && [ -n "$now" ]; do
        spent=$((now))
        [ "$spent" -ge "$2" ] && kill -USR1 "$1" 2>/dev/null && break
        sleep 1
    done
}

for fuzzer in $FUZZERS; do
    name=${fuzzer##*/fuzz_}
    [ -n "$ONLY" ] && [ "$ONLY" != "$name" ] && continue
    collect_seeds "$name"
    mkdir -p "$corpus/$name" "$found"
    echo "fuzz $name: $SECONDS_EACH s"
    "$fuzzer" -timeout="$TIMEOUT" \
        -rss_limit_mb=3000 -max_len=16384 -seed="$SEED" -print_final_stats=1 -print_funcs=0 \
        -verbosity=0 -artifact_prefix="$found/$name-" \
        "$corpus/$name" "$seeds" >"build/fuzz/$name.log" 2>&1 &
    end_at "$!" "$SECONDS_EACH"
    wait "$!"
    bad=$?
    echo "$spent s of processor time"
    if [ "$bad" -eq 0 ]; then
        grep number_of_executed_units "build/fuzz/$name.log"
        passed=$((passed + 1))
    else
        tail -n 60 "build/fuzz/$name.log"
        failed=$((failed + 1))
    fi
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
