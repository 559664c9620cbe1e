#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which lines and branches the tests reach: the Check runner, the recorded cases
# in each way that they can be run, and failing allocations, in the build that
# counts.
# Leaves build/coverage/report/index.html, and prints a line a folder and the
# sum of all.  `make coverage` calls it with the variables of scripts/test.sh.
set -u
cd "$(dirname "$0")/.." || exit 2

report=build/coverage/report
# A suite's tests share a process, since every process adds its counters to the
# files, but for suites that look at the process itself, as in scripts/test.sh.
forked=" async native run_control "
# Suites in which allocations fail besides (tests/aid/faulty_calls.c) are those
# of the folders that plan and rewrite, but for who counts what is asked, goes by
# the names of constructs that were refused before, or takes minutes then.
faulted=" $(ls tests/autodiff tests/frames tests/frontends tests/runtime |
    sed -n 's/^test_\(.*\)\.c$/\1/p' |
    grep -vxE 'async|builder_errors|builder_pattern|gradient_programs|gradients|limits|native|nnc_split|plan_large|programs|rank_programs|trip_counter|unroll|workers' |
    tr '\n' ' ')"
export CK_VERBOSITY=minimal OPENBLAS_NUM_THREADS=1
export CK_DEFAULT_TIMEOUT=300 EDDY EXAMPLES VARIANT
bad=0

verify()
{
    "$EDDY" verify "$@" >>build/coverage/tests.log 2>&1 && return
    bad=1
    echo "verify $* failed" >>build/coverage/tests.log
}

find build/coverage -name '*.gcda' -delete
mkdir -p "$report"
: >build/coverage/tests.log
for suite in $(tr 'X()' '   ' <build/coverage/gen/tests/suites.inc); do
    fork=no
    [ "${forked#* "$suite" }" = "$forked" ] || fork=yes
    faults=
    [ "${faulted#* "$suite" }" = "$faulted" ] || faults=EDDY_TEST_FAULTS=1
    # Who is cut off has counted nothing.
    # shellcheck disable=SC2086
    env $faults CK_FORK=$fork CK_RUN_CASE=$suite timeout 1800 "$RUNNER" \
        >>build/coverage/tests.log 2>&1 ||
        { bad=1; echo "$suite failed" >>build/coverage/tests.log; }
done
# shellcheck disable=SC2086
for how in '' '--workers 4' '--executor dynamic' '--executor linear' \
    '--executor native' '--parallel-iterations 1' \
    '--record --forward' '--optimize full' '--tape recompute' '--tape spill'; do
    verify $how tests/conformance
done
# shellcheck disable=SC2086
for how in '--ranks 2 --seed 1' '--ranks 3 --seed 2'; do
    verify $how tests/conformance/tf
done
# Until each call that leads to an allocation has failed once.
# shellcheck disable=SC2086
{
    printf '%s\n' $GRAPHS
    find tests/conformance -name graph.pb -size -40k -printf '%h\n' | sort
} | xargs "$FAULT" --places 1 >>build/coverage/tests.log 2>&1 || bad=1

# A branch that only an abort, as of an assertion, or a thrown exception takes is
# nobody's choice.
gcovr --root . --object-directory build/coverage --exclude-throw-branches \
    --exclude-branches-by-pattern '^ *assert\(.*' \
    --filter runtime/ --filter core/ --filter frames/ --filter autodiff/ \
    --filter ops/ --filter frontends/ --filter interop/ --filter tools/ \
    --json-summary "$report/summary.json" --json-summary-pretty \
    --html-details "$report/index.html" >/dev/null || exit 1
python3 - "$report/summary.json" <<'END'
import collections, json, sys
sums = collections.defaultdict(lambda: [0] * 6)
for f in json.load(open(sys.argv[1]))["files"]:
    folder = "/".join(f["filename"].split("/")[:-1])
    for key in (folder, "all"):
        for i, part in enumerate(("line", "branch", "function")):
            sums[key][2 * i] += f[part + "_covered"]
            sums[key][2 * i + 1] += f[part + "_total"]
print("folder\tlines\tbranches\tfunctions")
for key in sorted(sums, key=lambda k: (k == "all", k)):
    s = sums[key]
    print(key, *("%.1f %%" % (100 * s[i] / max(s[i + 1], 1))
                 for i in (0, 2, 4)), sep="\t")
END
# A few tests need a process of their own; it is `make test` that judges them.
[ "$bad" -eq 0 ] ||
    echo "coverage: not all passed in one process: build/coverage/tests.log" >&2
