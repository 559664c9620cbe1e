#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures eddy beside TensorFlow, ONNX Runtime, XLA and TorchScript on the
# same programs.
#
#   scripts/bench_peers.sh [--json] [--cpu] [--rounds N] [--plot FILE.svg]
#                          [--group suite|scaling|onnx|scalars|tensors]...
#                          [--eddy-option=OPTION] [PROGRAM...]
#   scripts/bench_peers.sh --self-test      tests the comparison itself
#
# The peers live in a Python environment under build/peers, which is made
# once.  PYTHON names the interpreter, EDDY the command to measure.  Exit
# status: 0 done, 1 values differ or eddy is missing or broke, 2 wrong use,
# 3 the peers could not be installed.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$root/build/peers
environment=$scratch/venv
requirements=$root/benchmarks/peers/requirements.txt
installed=$environment/installed.txt

fail()
{
    echo "bench_peers.sh: $*" >&2
    exit 3
}

# The copy of the requirements is written last, so that an installation that
# was broken off is begun again.
install_peers()
{
    python=${PYTHON:-python3}
    command -v "$python" >/dev/null ||
        fail "$python: not found; install Python 3.11, 3.12 or 3.13"
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        fail "$python has no venv; on Debian: apt-get install python3-venv"
    echo "installing the peers into build/peers (once, about 2 GB)" >&2
    rm -rf "$environment"
    "$python" -m venv "$environment" ||
        fail "$python -m venv failed"
    "$environment/bin/python" -m pip install --quiet \
        --disable-pip-version-check --requirement "$requirements" >&2 ||
        fail "pip could not install $requirements: it needs the Python" \
            "package index and Python 3.11, 3.12 or 3.13"
    cp "$requirements" "$installed"
}

mkdir -p "$scratch"
cmp -s "$requirements" "$installed" || install_peers

export PYTHONPATH="$root/benchmarks"
export PYTHONPYCACHEPREFIX="$scratch/pycache"
export TF_CPP_MIN_LOG_LEVEL=2
python=$environment/bin/python

if [ "${1-}" = --self-test ]; then
    exec "$python" -m unittest peers.test_peers
fi
exec "$python" -m peers --eddy "${EDDY:-$root/build/eddy}" \
    --graphs "$root/benchmarks/graphs" --scratch "$scratch/graphs" "$@"
