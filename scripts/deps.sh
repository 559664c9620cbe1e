#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what eddy is built from, through apt, and only what is missing:
# when nothing is, no package list is fetched and the network is not touched.
#
#   scripts/deps.sh                 the build and the tests
#   scripts/deps.sh lint            the same, and what `make lint` calls
#   scripts/deps.sh python          the same, and what the package is made of
#   scripts/deps.sh deb             the same, and what packs and installs packages
#   scripts/deps.sh valgrind        the same, and valgrind
#   scripts/deps.sh fuzz            the same, and clang with libFuzzer
#   scripts/deps.sh coverage        the same, and gcovr
#   scripts/deps.sh viewer          the same, and chromium
#   scripts/deps.sh model           the same, and spin
#   scripts/deps.sh mpi             the same, and OpenMPI
#   scripts/deps.sh metis           the same, and METIS
#   scripts/deps.sh arm64           the same, and what builds for arm64 and runs
#                                   it: a second architecture for dpkg
#   scripts/deps.sh lint valgrind   several of them
#
# Why each package is needed: docs/dependencies.md.
set -u

PACKAGES="gcc make pkg-config libuv1-dev check libprotobuf-c-dev
    protobuf-c-compiler libjansson-dev libsleef-dev librandom123-dev
    libdnnl-dev"

die()
{
    echo "deps: $*" >&2
    exit 1
}

foreign=
for extra; do
    case $extra in
    lint) PACKAGES="$PACKAGES g++ clang clang-format clang-tidy cmake
        abigail-tools" ;;
    valgrind) PACKAGES="$PACKAGES valgrind" ;;
    python) PACKAGES="$PACKAGES python3-dev python3-venv python3-cffi
        python3-numpy python3-pytest python3-setuptools python3-wheel" ;;
    fuzz) PACKAGES="$PACKAGES clang llvm libclang-rt-14-dev" ;;
    deb) PACKAGES="$PACKAGES debhelper dh-python lintian mmdebstrap python3-dev
        python3-cffi python3-numpy python3-setuptools python3-venv" ;;
    coverage) PACKAGES="$PACKAGES gcovr" ;;
    mpi) PACKAGES="$PACKAGES libopenmpi-dev openmpi-bin" ;;
    metis) PACKAGES="$PACKAGES libmetis5" ;;
    viewer) PACKAGES="$PACKAGES chromium python3" ;;
    model) PACKAGES="$PACKAGES spin" ;;
    arm64) foreign=arm64 ;;
    *) die "unknown argument '$extra'; expected lint, python, deb," \
        "valgrind," \
        "fuzz, coverage, viewer, model, mpi, metis or arm64" ;;
    esac
done

# Elsewhere than on Debian this can only look, not install.
if ! command -v dpkg-query >/dev/null 2>&1; then
    pkg-config --exists libuv openblas check libprotobuf-c sleef jansson &&
        command -v protoc-c >/dev/null 2>&1 && exit 0
    die "no dpkg here; install the likes of these by hand:" \
        $PACKAGES "and OpenBLAS"
fi

# Libraries of two architectures stand side by side; oneDNN is left out.
if [ -n "$foreign" ]; then
    [ "$(dpkg --print-architecture)" != "$foreign" ] ||
        die "this machine is $foreign: make test"
    PACKAGES="$PACKAGES gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
        libuv1-dev:arm64 check:arm64 libprotobuf-c-dev:arm64
        libjansson-dev:arm64 libsleef-dev:arm64 libopenblas-serial-dev:arm64"
fi

is_installed()
{
    dpkg-query -W -f='${Status}\n' "$1" 2>/dev/null |
        grep -q '^install ok installed$'
}

missing=
for package in $PACKAGES; do
    is_installed "$package" || missing="$missing $package"
done

# Every variant of OpenBLAS will do, so one that is there is kept.
is_blas_there()
{
    for variant in serial pthread openmp; do
        is_installed "libopenblas-$variant-dev" && return 0
    done
    return 1
}
is_blas_there || missing="$missing libopenblas-serial-dev"

if [ -z "$missing" ]; then
    echo "deps: nothing to install"
    exit 0
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 ||
        die "not root and no sudo; install by hand:$missing"
    as_root=sudo
fi

apt()
{
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" </dev/null
}

# The words of $missing are package names, so splitting them is meant.  What is
# there for another architecture is never worth a package that is there now.
# shellcheck disable=SC2086
install_missing()
{
    apt update && apt install --no-install-recommends \
        ${foreign:+--no-remove} $missing
}

if [ -n "$foreign" ] &&
    ! dpkg --print-foreign-architectures | grep -qx "$foreign"; then
    $as_root dpkg --add-architecture "$foreign" ||
        die "dpkg takes no packages of $foreign"
fi

echo "deps: installing$missing"
install_missing || {
    echo "deps: apt failed, one more attempt" >&2
    sleep 5
    install_missing
} || die "apt could not install:$missing"
