#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the wheel (make wheel) and Debian's packages (make deb) in a fresh
# Debian of the same release and uses them as a stranger would: the wheel where
# nothing is but Python, then examples built by pkg-config and by CMake, and
# recorded cases through the command and through Python.
#
#   scripts/check_packages.sh [ROOT]   ROOT is used, and kept, if it is there
#
# The fresh system is a folder made by mmdebstrap, entered by chroot: that needs
# root and Debian's mirror.  Where either is missing, the packages are unpacked
# into a folder instead, and the examples are built and run against that.
set -eu
cd "$(dirname "$0")/.."

MIRROR=${MIRROR:-http://deb.debian.org/debian}
CC=${CC:-cc}
packages=build/deb
scratch=$(mktemp -d)
root=${1:-$scratch/root}
trap 'rm -rf "$scratch"' EXIT
examples='while_loop builder gradient train_loop'
cases="tests/conformance/tf/while tests/conformance/tf/cond"
cases="$cases tests/conformance/tf/models"

fail()
{
    echo "packages: $*" >&2
    exit 1
}

say()
{
    echo "packages: $*"
}

ls $packages/libeddy0_*.deb build/wheel/*.whl >/dev/null 2>&1 ||
    fail "make deb and make wheel come first"

# What strangers do, in the system that they have; run by sh with the folder of
# what they brought along, which is all that is not installed.
cat >"$scratch/look.py" <<'END'
import eddy
g = eddy.Graph()
x = g.placeholder("float64", [], name="x")
_, y = eddy.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * x),
                       [g.constant(0), g.constant(1.0, "float64")])
assert g.plan(fetches=[y, *g.gradients(y, x)])(x=2.0) == [32, 80]
root = g.ops.Cholesky(g.constant([[4.0, 0.0], [0.0, 9.0]]))
assert g.plan(fetches=root)().tolist() == [[2, 0], [0, 3]]
print("packages: import eddy", eddy.__version__, "from", eddy.__file__)
END

# With Python alone: what the wheel brings along is what is loaded.
cat >"$scratch/empty.sh" <<'END'
set -eu
cd "$1"
mkdir -p made
python3 -m venv made/environment
PIP_CERT=/etc/ssl/certs/ca-certificates.crt made/environment/bin/pip install \
    -q --disable-pip-version-check --no-compile wheel/*.whl pytest
LD_DEBUG=libs LD_DEBUG_OUTPUT=made/loaded made/environment/bin/python look.py
for carried in made/environment/lib/python3*/site-packages/eddy/*.so*; do
    name=${carried##*/}
    if sed -n 's/.*calling init: //p' made/loaded.* | grep "/$name\$" |
        grep -v "/site-packages/eddy/$name\$"; then
        echo "packages: the wheel carries $name, but loads another" >&2
        exit 1
    fi
done
grep -q 'calling init: .*/site-packages/eddy/libopenblas' made/loaded.*
echo "packages: what the wheel carries is what it loads"
made/environment/bin/python -m pytest -q -p no:cacheprovider -k test_case \
    tests/python/test_recorded.py >pytest.log 2>&1 || {
    tail -n 30 pytest.log >&2
    exit 1
}
tail -n 1 pytest.log
END

cat >"$scratch/stranger.sh" <<'END'
set -eu
cd "$1"
mkdir -p project made
for name in $EXAMPLES; do
    # The flags are words on purpose.
    ${CC:-cc} -std=c11 -Wall -Werror "/usr/share/doc/libeddy-dev/examples/$name.c" \
        -o "made/$name" $(pkg-config --cflags --libs eddy)
    "made/$name" >"made/$name.out"
done
echo "packages: examples build by pkg-config, and run"

cp /usr/share/doc/libeddy-dev/examples/while_loop.c project/host.c
cat >project/CMakeLists.txt <<'LISTS'
cmake_minimum_required(VERSION 3.18)
project(host C)
find_package(eddy CONFIG REQUIRED)
add_executable(shared host.c)
target_link_libraries(shared PRIVATE eddy::eddy)
add_executable(static host.c)
target_link_libraries(static PRIVATE eddy::eddy_static)
LISTS
cmake -S project -B project/build >cmake.log 2>&1 &&
    cmake --build project/build >>cmake.log 2>&1 || {
    cat cmake.log >&2
    exit 1
}
for way in shared static; do
    "project/build/$way" >"made/$way.out"
    cmp "made/$way.out" made/while_loop.out
done
echo "packages: an example builds by CMake both ways, and runs"

eddy --version
# shellcheck disable=SC2086
eddy verify $CASES >verify.log || {
    tail -n 20 verify.log >&2
    exit 1
}
tail -n 1 verify.log

python3 look.py
END

# Warnings are shown; what is an error is one here.  The root of a build may be
# root's.
check_by_lintian()
{
    if ! command -v lintian >/dev/null 2>&1; then
        [ "${CI:-}" = true ] &&
            fail "lintian is not installed (scripts/deps.sh deb)"
        return 0
    fi
    lintian --allow-root --fail-on error $packages/*.deb ||
        fail "lintian found errors"
    say "lintian has no errors"
}

# What a system needs for the second half; the first wants Python alone.
tools='gcc libc6-dev make pkg-config cmake'

make_root()
{
    if [ -d "$root" ]; then
        chroot "$root" apt-get -q update >/dev/null
        return
    fi
    mmdebstrap --quiet --variant=apt \
        --aptopt='Acquire::Languages "none"' \
        --dpkgopt='force-unsafe-io' \
        --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' \
        --include=python3-venv --skip=cleanup/apt/lists \
        "$release" "$root" "$MIRROR" &&
        say "a fresh Debian ($release) is in place"
}

fill_home()
{
    home=$root/stranger
    rm -rf "$home"
    mkdir -p "$home/tests" "$home/wheel"
    cp build/wheel/*.whl "$home/wheel"
    cp -R "$packages" "$scratch"/*.sh "$scratch/look.py" "$home"
    cp -R tests/python "$home/tests"
    for folder in $cases; do
        mkdir -p "$home/$(dirname "$folder")"
        cp -RL "$folder" "$home/$folder"
    done
    # The network is this machine's, and so are the certificates it trusts.
    cp /etc/resolv.conf "$root/etc"
    mkdir -p "$root/etc/ssl/certs"
    cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs" 2>/dev/null ||
        true
}

# The words of $tools are packages.
apt_in_root()
{
    # shellcheck disable=SC2086
    chroot "$root" env DEBIAN_FRONTEND=noninteractive sh -c \
        'apt-get -q -y install --reinstall --no-install-recommends "$@" \
            /stranger/deb/*.deb' apt "$@" $tools >"$scratch/apt.log" 2>&1
}

as_stranger()
{
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        LANG=C.UTF-8 EXAMPLES="$examples" CASES="$cases" \
        OPENBLAS_NUM_THREADS=1 sh "/stranger/$1.sh" /stranger ||
        fail "something failed in the fresh system"
}

# The packages are read while the system is made, and what will be installed is
# fetched while the wheel is tried.
in_fresh_system()
{
    [ "$(id -u)" -eq 0 ] && command -v mmdebstrap >/dev/null 2>&1 || return 1
    release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    check_by_lintian &
    reading=$!
    make_root || {
        wait $reading
        return 1
    }
    fill_home
    apt_in_root --download-only &
    fetching=$!
    as_stranger empty
    wait $reading || fail "the packages are not as Debian wants them"
    wait $fetching && apt_in_root || {
        tail -n 20 "$scratch/apt.log" >&2
        fail "apt does not install the packages"
    }
    say "the packages are installed"
    as_stranger stranger
}

# Without a system of their own: the packages' files, and this system's rest.
in_folder()
{
    say "no fresh Debian here (mmdebstrap and root): into a folder instead"
    [ "${CI:-}" = true ] && fail "CI wants the fresh system"
    for package in $packages/*.deb; do
        dpkg-deb -x "$package" "$root"
    done
    lib=$(dirname "$(find "$root" -name libeddy.so.0)")
    export PKG_CONFIG_SYSROOT_DIR="$root" PKG_CONFIG_PATH="$lib/pkgconfig"
    export LD_LIBRARY_PATH="$lib"
    for name in $examples; do
        # The flags are words on purpose.
        # shellcheck disable=SC2046
        $CC -std=c11 -Wall -Werror \
            "$root/usr/share/doc/libeddy-dev/examples/$name.c" \
            -o "$scratch/$name" $(pkg-config --cflags --libs eddy)
        "$scratch/$name" >/dev/null || fail "$name failed"
    done
    # shellcheck disable=SC2086
    "$root/usr/bin/eddy" verify $cases | tail -n 1
    PYTHONPATH=$(echo "$root"/usr/lib/python3*/dist-packages) \
        /usr/bin/python3 -c 'import eddy; print("packages: import eddy",
eddy.__version__)'
}

in_fresh_system || in_folder
say "done"
