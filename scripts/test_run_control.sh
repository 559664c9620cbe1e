#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranks that are processes: each of three in turn is killed, cancels, and
# reaches its limit on bytes, 200 times, and all of them a deadline; in a loop
# that all of them wait in, and while one computes.  By hand: it takes minutes.
#
#   scripts/test_run_control.sh [TIMES]
set -u
cd "$(dirname "$0")/.." || exit 2

RUNNER=${RUNNER:-build/release/tests/run}

# Each of TIMES is one of either kind of job.
EDDY_TIMES=$((${1:-200} / 2)) CK_RUN_CASE=processes CK_VERBOSITY=normal \
    CK_DEFAULT_TIMEOUT=60 exec "$RUNNER"
