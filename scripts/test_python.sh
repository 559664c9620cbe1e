#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the Python package and prints their sum as the other tests
# do; then installs the wheel into an empty environment, where that can be made,
# and imports it there.
set -u
cd "$(dirname "$0")/.." || exit 2

PYTHON=${PYTHON:-python3}
log=build/wheel/tests.log

$PYTHON -m pytest -q -p no:cacheprovider tests/python 2>&1 | tee "$log"
count()
{
    sed -n "s/.*[ =]*\\b\\([0-9][0-9]*\\) $1.*/\\1/p" "$log" | tail -n 1
}
passed=$(count passed)
failed=$(($(count failed | grep . || echo 0) + $(count error | grep . ||
    echo 0)))
[ -n "$passed" ] || failed=$((failed + 1))

# Where readelf is, so is a C library that wheels are named after.
if command -v readelf >/dev/null 2>&1; then
    $PYTHON scripts/check_wheel.py build/wheel/*.whl || failed=$((failed + 1))
fi

# What the wheel was built with is beside it, not in it.
environment=build/wheel/environment
rm -rf "$environment"
if $PYTHON -m venv --system-site-packages "$environment" 2>/dev/null &&
    "$environment/bin/pip" install -q --no-deps --no-index build/wheel/*.whl; then
    (unset EDDY_PYTHON && cd build/wheel && environment/bin/python -c '
import eddy
g = eddy.Graph()
i = eddy.while_loop(lambda i: i < 5, lambda i: i + 1, g.constant(0))
assert g.plan(fetches=i)() == 5
print("python: eddy", eddy.__version__, "is installed from its wheel")') ||
        failed=$((failed + 1))
fi

echo "${passed:-0} passed, $failed failed"
[ "$failed" -eq 0 ]
