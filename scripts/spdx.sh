#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The line that says under which licence a file is: every file of code begins
# with it, after a line for the shell.
#
#   scripts/spdx.sh          names the files that have none, and fails
#   scripts/spdx.sh --write  puts it there
set -u
cd "$(dirname "$0")/.." || exit 2

readonly line='SPDX-License-Identifier: Apache-2.0'

list()
{
    git ls-files --cached --others --exclude-standard -- \
        '*.c' '*.h' '*.def' '*.inc' '*.proto' '*.py' '*.pyi' '*.sh' '*.map' \
        '*.cmake.in' '*.pc.in' Makefile .ci/run 2>/dev/null ||
        find . -path ./build -prune -o -type f \( -name '*.[ch]' -o \
            -name '*.def' -o -name '*.py' -o -name '*.sh' \) -print
}

# How the line stands in a file of that name.
comment()
{
    case $1 in
    *.c | *.h | *.def | *.inc | *.map) echo "/* $line */" ;;
    *.proto) echo "// $line" ;;
    *) echo "# $line" ;;
    esac
}

write()
{
    if head -n 1 "$1" | grep -q '^#!'; then
        sed -i "1a\\
$(comment "$1")" "$1"
    else
        sed -i "1i\\
$(comment "$1")" "$1"
    fi
}

bad=0
for file in $(list); do
    [ -s "$file" ] || continue
    head -n 2 "$file" | grep -qF "$line" && continue
    if [ "${1:-}" = --write ]; then
        write "$file"
    else
        echo "$file:1: does not begin with '$line' (scripts/spdx.sh --write)"
        bad=1
    fi
done
exit "$bad"
