#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs all tests of one variant of the build (release, asan, tsan, valgrind):
# the Check runner, then the recorded cases through the command with several
# numbers of workers.  The last line is the sum: `N passed, N failed`.
#
# `make test`, `make asan`, ... call it with the variables below.  With
# CK_RUN_CASE set, only that case of the Check runner runs.
set -u
cd "$(dirname "$0")/.." || exit 2

VARIANT=${VARIANT:-release}
RUNNER=${RUNNER:-build/release/tests/run}
EDDY=${EDDY:-build/eddy}
EXAMPLES=${EXAMPLES:-build/examples}
export VARIANT EDDY EXAMPLES

# How the recorded cases are run: workers, parallel_iterations (or - for those
# of the graph), and the executor if it is to be forced.
RUNS="0:- 0:1 0:32 1:- 2:- 4:1 4:32 0:-:dynamic 0:-:linear 0:-:native 2:1:linear"

# A test may take this many seconds, times the multiplier.
export CK_VERBOSITY="${CK_VERBOSITY:-normal}"
export CK_DEFAULT_TIMEOUT="${CK_DEFAULT_TIMEOUT:-30}"
# OpenBLAS starts its threads before main() if it has any.
export OPENBLAS_NUM_THREADS=1

wrap=
multiplier=1
case $VARIANT in
release) ;;
asan)
    multiplier=5
    RUNS="0:- 0:-:dynamic 4:32"
    # A size that is refused is a result to test, not an error of its own.
    # A large quarantine would be searched for leaks at the end of every test.
    export ASAN_OPTIONS="detect_leaks=1:strict_string_checks=1:\
detect_stack_use_after_return=1:check_initialization_order=1:\
allocator_may_return_null=1:quarantine_size_mb=32${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
    export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
    ;;
tsan)
    multiplier=10
    export TSAN_OPTIONS="second_deadlock_stack=1:\
allocator_may_return_null=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
    # What runs on one thread alone has nothing that TSan could see; a file of
    # tests with threads says so somewhere.
    RUNS="2:- 4:1 4:32"
    EDDY_TEST_FILES=${EDDY_TEST_FILES:-$(grep -lE \
        'workers|eddy__thread|host_executor|immediate' tests/*/test_*.c |
        sed 's|.*/test_||; s|\.c$||' | tr '\n' ' ')}
    export EDDY_TEST_FILES
    # TSan cannot place its shadow under the widest address randomisation.
    setarch "$(uname -m)" -R true 2>/dev/null &&
        wrap="setarch $(uname -m) -R"
    ;;
valgrind)
    multiplier=50
    RUNS="0:- 2:- 0:-:linear"
    wrap="valgrind -q --error-exitcode=99 --leak-check=full \
        --errors-for-leak-kinds=definite,possible --fair-sched=try"
    ;;
*)
    echo "test.sh: unknown variant '$VARIANT'" >&2
    exit 2
    ;;
esac
export CK_TIMEOUT_MULTIPLIER="${CK_TIMEOUT_MULTIPLIER:-$multiplier}"

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
log=$scratch/log

passed=0
failed=0

# Runs a command with its output shown and kept in $log; sets $status.
run()
{
    limit=$((900 * multiplier))
    # $wrap is a command with its arguments, so it is split on purpose.
    {
        timeout --foreground -k 10 "$limit" $wrap "$@" 2>&1
        echo $? >"$scratch/status"
    } | tee "$log"
    status=$(cat "$scratch/status")
}

# Adds what a command counted.  One that broke off before its closing line,
# counted nothing, or failed without saying what, is a failure of its own.
#   count NAME PASSED FAILED
count()
{
    if [ -z "$2" ]; then
        echo "$1: ended without its closing line (status $status)"
        failed=$((failed + 1))
        return
    fi
    passed=$((passed + $2))
    failed=$((failed + $3))
    if [ $(($2 + $3)) -eq 0 ]; then
        echo "$1: nothing was run"
        failed=$((failed + 1))
    elif [ "$3" -eq 0 ] && [ "$status" -ne 0 ]; then
        echo "$1: status $status though nothing failed"
        failed=$((failed + 1))
    fi
}

# Counts what a run of the runner wrote to $log.
#   count_runner NAME
count_runner()
{
    name=$1
    # The line is `97%: Checks: 100, Failures: 2, Errors: 1`.
    sums=$(sed -n 's/^.*%: Checks: \([0-9]*\), Failures: \([0-9]*\), '\
'Errors: \([0-9]*\)$/\1 \2 \3/p' "$log" | tail -n 1)
    # shellcheck disable=SC2086
    set -- $sums
    count "$name" "${1:+$(($1 - $2 - $3))}" "${1:+$(($2 + $3))}"
}

# Each processor gets a share of the files.
#   run_shares N
run_shares()
{
    share=0
    while [ "$share" -lt "$1" ]; do
        (
            export EDDY_TEST_SHARE="$share/$1"
            scratch=$scratch/share$share
            mkdir "$scratch" && log=$scratch/log
            run "$RUNNER" >"$scratch/shown"
        ) &
        share=$((share + 1))
    done
    wait
    share=0
    while [ "$share" -lt "$1" ]; do
        log=$scratch/share$share/log
        status=$(cat "$scratch/share$share/status")
        cat "$log"
        count_runner "$RUNNER ($share/$1)"
        share=$((share + 1))
    done
    log=$scratch/log
}

shares=1
case $VARIANT in
asan | tsan | release) [ -n "${CK_RUN_CASE:-}" ] || shares=$(nproc 2>/dev/null || echo 1) ;;
esac
if [ "$shares" -gt 1 ]; then
    run_shares "$shares"
else
    run "$RUNNER"
    count_runner "$RUNNER"
fi

# What was wrong once has a folder of its own.
cases=tests/conformance/tf
[ ! -d tests/conformance/findings ] || cases="$cases tests/conformance/findings"
[ ! -d tests/conformance/onnx ] || cases="$cases tests/conformance/onnx"

if [ -z "${CK_RUN_CASE:-}" ]; then
    for how in $RUNS; do
        workers=${how%%:*}
        parallel=${how#*:}
        executor=auto
        case $parallel in
        *:*) executor=${parallel#*:} parallel=${parallel%:*} ;;
        esac
        set -- --workers "$workers" --executor "$executor"
        [ "$parallel" = - ] || set -- "$@" --parallel-iterations "$parallel"
        echo "verify $*"
        # $cases is several folders, so it is split on purpose.
        # shellcheck disable=SC2086
        run "$EDDY" verify "$@" $cases
        sums=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, '\
'[0-9]* skipped$/\1 \2/p' "$log" | tail -n 1)
        # shellcheck disable=SC2086
        set -- $sums
        count "verify $how" "${1:-}" "${2:-}"
    done
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
