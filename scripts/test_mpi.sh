#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every recorded case over 2 and 4 ranks that an MPI has started, a job
# each, with places drawn for each node; and then what must end a job.  `make
# test-mpi` calls it, with the variables below.  The last line is the sum.
set -u
cd "$(dirname "$0")/.." || exit 2

EDDY=${EDDY:-build/eddy}
MPIRUN=${MPIRUN:-mpirun}
# MPICH waits without yielding, so its ranks had better not be more than
# processors: RANKS=2.
RANKS=${RANKS:-2 4}

export OPENBLAS_NUM_THREADS=1
# OpenMPI's: for root in a container, and more ranks than processors.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_base_warn_component_unused=0

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

count()
{
    passed=$((passed + $1))
    failed=$((failed + $2))
}

# As a user starts one: `run RANKS SECONDS ARGUMENT...`
run()
{
    local n=$1 seconds=$2

    shift 2
    timeout --foreground -k 5 "$seconds" "$MPIRUN" -n "$n" "$EDDY" "$@"
}

# What is different by nature over ranks (docs/distributed.md).
cases=$(find tests/conformance/tf tests/conformance/findings -name case.json |
    sed 's|/case.json$||' | sort |
    grep -v -e findings/merge_ -e findings/ref_alias_identity_n \
        -e findings/ref_alias_placeholder_default)

for n in $RANKS; do
    # $cases is a list of folders.
    # shellcheck disable=SC2086
    run "$n" 1800 verify --mpi --forward --seed 7 $cases >"$scratch/log" 2>&1
    status=$?
    sums=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, .*/\1 \2/p' \
        "$scratch/log")
    if [ -z "$sums" ] || { [ "$status" -ne 0 ] && [ "${sums#* }" -eq 0 ]; }; then
        tail -n 30 "$scratch/log"
        sums="0 1"
    elif [ "${sums#* }" -ne 0 ]; then
        cat "$scratch/log"
    fi
    echo "$n ranks: ${sums% *} passed, ${sums#* } failed (status $status)"
    # shellcheck disable=SC2086
    count $sums
done

# One that is killed ends the job, and soon.
check()
{
    if [ "$2" = "$3" ]; then
        count 1 0
    else
        echo "$1: '$2', wanted '$3'"
        count 0 1
    fi
}

count_graph=tests/conformance/tf/while/count/graph.pb
check 'values of rank 0' \
    "$(run 2 60 run --mpi "$count_graph" --feed n=9 --fetch y --seed 2)" \
    "$("$EDDY" run "$count_graph" --feed n=9 --fetch y)"
check 'as many ranks as there are' \
    "$(run 2 60 run --mpi --ranks 3 "$count_graph" --feed n=9 --fetch y 2>&1 |
        grep -c '^eddy: --ranks 3: MPI has started 2$')" 1

# A run that is broken off after some checkpoints, and goes on from the last.
saved()
{
    mkdir -p "$scratch/saved"
    run 2 120 run --mpi "$count_graph" --feed n=-90 --fetch y --seed 2 \
        --checkpoint 30 --checkpoint-dir "$scratch/saved" "$@"
}
check 'a run that is broken off' \
    "$(saved --max-iterations 70 2>&1 | grep -c EDDY_E_LIMIT_ITERATIONS)" 1
# Of the rank that came so far; another one may be behind.
check 'its checkpoints' \
    "$(find "$scratch/saved" -name 'trip-000000000060.*.index' |
        head -n 1 | wc -l)" 1
check 'a run that goes on' "$(saved --resume --max-iterations 70)" \
    "$("$EDDY" run "$count_graph" --feed n=-90 --fetch y)"

# To the letter, so that all wait for each other in each trip.
run 2 60 run --mpi "$count_graph" --literal --feed n=-2000000000 --fetch y \
    --seed 2 >"$scratch/log" 2>&1 &
sleep 2
# The ranks are children of children of this shell's.
victim=$(pgrep -f -n "^$EDDY run --mpi $count_graph --literal")
before=$(date +%s)
check 'a rank is there to be killed' "$(kill -9 "$victim" && echo killed)" killed
wait $!
check 'a rank that is killed ends the job' "$(($(date +%s) - before < 5))" 1

# A deadline that all ranks pass.
run 2 60 run --mpi "$count_graph" --literal --feed n=-2000000000 --fetch y \
    --seed 2 --timeout 0.5 >"$scratch/log" 2>&1
check 'a deadline ends the job' \
    "$(grep -c 'DEADLINE_EXCEEDED' "$scratch/log")" 1

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
