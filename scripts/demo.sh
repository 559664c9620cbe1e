#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shows loops and branches at work, first through the C API, then the same
# graphs through the command.  `make demo` calls it.
set -eu
cd "$(dirname "$0")/.."

EDDY=${EDDY:-build/eddy}
EXAMPLES=${EXAMPLES:-build/examples}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$EXAMPLES/demo" "$scratch"

# Shows a command as it would be typed, then what it prints.
show()
{
    echo "\$ eddy $*"
    (cd "$scratch" && "$eddy" "$@")
    echo
}

eddy=$(cd "$(dirname "$EDDY")" && pwd)/$(basename "$EDDY")
echo "The same graphs, saved as GraphDefs, through the command"
echo
show run walk_through.pb --fetch v1 --fetch v2
show run walk_through.pb --feed n=100 --fetch ii --fetch v2
show inspect nested.pb
