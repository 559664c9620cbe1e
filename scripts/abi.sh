#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What programs that are linked with the library see of it.
#
#   scripts/abi.sh compare LIBRARY   fails where it differs from abi/libeddy.abi
#                                    in what a program would notice
#   scripts/abi.sh dump LIBRARY      writes that file
#
# Where libabigail is not installed it is passed over with a message, except
# under CI=true, where that is an error.
set -u
cd "$(dirname "$0")/.." || exit 2

readonly dump=abi/libeddy.abi

for tool in abidw abidiff; do
    command -v "$tool" >/dev/null 2>&1 && continue
    echo "abi: passed over, $tool is not installed (abigail-tools)" >&2
    [ "${CI:-}" = true ] && exit 1
    exit 0
done

# Only what the public headers declare, without the lines that it stands in.
describe()
{
    abidw --headers-dir include --drop-private-types --no-show-locs \
        --no-comp-dir-path --no-corpus-path "$1"
}

case ${1:-} in
dump)
    mkdir -p abi && describe "$2" >"$dump"
    ;;
compare)
    [ -s "$dump" ] || { echo "abi: $dump is missing (make abi-dump)" >&2; exit 1; }
    abidiff --headers-dir2 include --drop-private-types \
        --suppressions scripts/abi.ini --no-added-syms "$dump" "$2" || {
        echo "abi: the library is not what $dump says (docs/stability.md)" >&2
        exit 1
    }
    echo "abi: as in $dump"
    ;;
*)
    echo "usage: scripts/abi.sh compare|dump LIBRARY" >&2
    exit 2
    ;;
esac
