#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks the models of tests/model with Spin: every order in which things can
# happen, for some numbers of trips and of iterations at a time.
#
#   scripts/model.sh        ends with "N passed, N failed"
#
# A row is a model, its numbers, and whether it must hold or must not: a model
# in which a rule is broken has to be caught, or it would say nothing.
set -u
cd "$(dirname "$0")/.." || exit 2
root=$(pwd)
folder=$root/build/model
mkdir -p "$folder" && cd "$folder" || exit 2

passed=0
failed=0

# check MODEL holds|fails DEFINES...
check()
{
    model=$1
    wanted=$2
    shift 2
    if ! spin -a "$@" "$root/tests/model/$model.pml" >generated 2>&1 ||
        ! "${CC:-cc}" -O2 -w -DSAFETY -DCOLLAPSE -DVECTORSZ=4096 -o pan pan.c
    then
        cat generated >&2
        exit 2
    fi
    ./pan -n -m1000000 >found 2>&1
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored$/\1/p' found)
    case $(cat found) in
    *'max search depth too small'* | *'out of memory'*) result=unknown ;;
    *'errors: 0'*) result=holds ;;
    *'assertion violated'* | *'invalid end state'*) result=fails ;;
    *) result=unknown ;;
    esac
    if [ "$result" = "$wanted" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        cat found >&2
    fi
    echo "$model $*: $result, ${states:-0} states"
}

for parallel in 1 2 3; do
    check frame holds -DPARALLEL=$parallel -DOUTER=2 -DINNER=1
done
check frame holds -DPARALLEL=1 -DOUTER=2 -DINNER=2
check frame holds -DPARALLEL=2 -DOUTER=2 -DINNER=2
check frame holds -DPARALLEL=2 -DOUTER=3 -DINNER=1
check frame fails -DWRONG=1
check frame fails -DWRONG=2
check frame fails -DWRONG=3

for known in 0 1; do
    for windows in '1 1' '1 2' '2 1' '2 2'; do
        set -- $windows
        check ranks holds -DWINDOW0="$1" -DWINDOW1="$2" -DOUTER=1 -DINNER=1 \
            -DKNOWN_DEAD=$known
    done
    check ranks holds -DWINDOW0=3 -DWINDOW1=3 -DOUTER=1 -DINNER=2 \
        -DKNOWN_DEAD=$known
    check ranks holds -DWINDOW0=3 -DWINDOW1=1 -DOUTER=2 -DINNER=1 \
        -DKNOWN_DEAD=$known
    check ranks holds -DWINDOW0=1 -DWINDOW1=3 -DOUTER=2 -DINNER=1 \
        -DKNOWN_DEAD=$known
done
for windows in '1 1' '2 2' '1 3'; do
    set -- $windows
    check ranks holds -DWINDOW0="$1" -DWINDOW1="$2" -DOUTER=1 -DINNER=1 \
        -DKNOWN_DEAD=2
done
check ranks holds -DWINDOW0=1 -DWINDOW1=2 -DOUTER=2 -DINNER=1 -DKNOWN_DEAD=2
check ranks fails -DOUTER=1 -DINNER=1 -DWRONG=1
check ranks fails -DOUTER=2 -DINNER=1 -DWRONG=2
check ranks fails -DOUTER=1 -DINNER=1 -DWRONG=3 -DKNOWN_DEAD=2

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
