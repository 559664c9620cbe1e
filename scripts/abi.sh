#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What programs that are linked with the library see of it.
#
#   scripts/abi.sh compare LIBRARY   fails where it differs from abi/libeddy.abi
#                                    in what a program would notice
#   scripts/abi.sh dump LIBRARY      writes that file, and lists new symbols
#                                    in debian/libeddy0.symbols
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

# The symbols of the library that the list does not have, as of this release;
# those of the providers stand behind.
list_symbols()
{
    list=debian/libeddy0.symbols
    version=$(sed -n '1s/^[^(]*(\([^-]*\)-.*/\1/p' debian/changelog)
    new=$(mktemp) || exit 2
    {
        sed -n 1p "$list"
        {
            sed -n '2,/^lib/s/^ /&/p' "$list"
            nm -D --defined-only "$1" |
                sed -n "s/.* [A-Z] \(eddy_[a-z0-9_]*@\)@*\(EDDY_0\)\$/ \1\2 $version/p"
        } | LC_ALL=C sort -u -t@ -k1,1
        sed -n '2,$p' "$list" | sed -n '/^lib/,$p'
    } >"$new" && cat "$new" >"$list"
    rm -f "$new"
}

case ${1:-} in
dump)
    mkdir -p abi && describe "$2" >"$dump" && list_symbols "$2"
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
