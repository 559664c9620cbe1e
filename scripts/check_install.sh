#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs eddy into a scratch folder and uses it as a stranger would: with
# pkg-config alone, as C11, against the shared and against the static library.
set -eu
cd "$(dirname "$0")/.."

CC=${CC:-cc}
PKG_CONFIG=${PKG_CONFIG:-pkg-config}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail()
{
    echo "install: $*" >&2
    exit 1
}

# DESTDIR goes before every path and into no file.
make -s --no-print-directory install DESTDIR="$scratch/stage" PREFIX=/usr \
    >/dev/null
for file in bin/eddy lib/libeddy.a lib/libeddy.so lib/libeddy.so.0 \
    lib/libeddy-openblas.so.0 \
    lib/pkgconfig/eddy.pc lib/cmake/eddy/eddy-config.cmake \
    share/man/man1/eddy.1 share/man/man1/eddy-run.1 \
    share/bash-completion/completions/eddy include/eddy.h \
    include/eddy/api.h; do
    [ -s "$scratch/stage/usr/$file" ] || fail "$file was not installed"
done
bash -n "$scratch/stage/usr/share/bash-completion/completions/eddy" ||
    fail "the completion for bash is no script"
grep -q -- '--fetch' "$scratch/stage/usr/share/man/man1/eddy-run.1" &&
    fail "the manual has hyphens where a reader copies dashes"
# Each function has a page, and a place in the reference.
if command -v python3 >/dev/null 2>&1; then
    make -s --no-print-directory docs-html >/dev/null
    for name in $(nm -D --defined-only build/libeddy.so |
        sed -n 's/.* \(eddy_[a-z0-9_]*\)@*.*/\1/p'); do
        [ -s "$scratch/stage/usr/share/man/man3/$name.3" ] ||
            fail "$name has no page in the manual"
        grep -qF "id=\"$name\"" build/html/*.html ||
            fail "$name is not in build/html"
    done
    for page in "$scratch"/stage/usr/share/man/man3/eddy_*.h.3; do
        lines=$(MANWIDTH=78 man -l "$page" 2>/dev/null | wc -l)
        [ "$lines" -gt 15 ] || ! command -v man >/dev/null 2>&1 ||
            fail "$page does not show"
    done
fi
executable=$(find "$scratch/stage/usr/lib" -type f -perm /111)
[ -z "$executable" ] || fail "a library is executable:" "$executable"
grep -rIlF "$scratch" "$scratch/stage" &&
    fail "the file above holds the name of DESTDIR"
make -s --no-print-directory uninstall DESTDIR="$scratch/stage" PREFIX=/usr \
    >/dev/null
[ -z "$(find "$scratch/stage" ! -type d)" ] ||
    fail "uninstall left" "$(find "$scratch/stage" ! -type d)"

prefix=$scratch/prefix
make -s --no-print-directory install PREFIX="$prefix" >/dev/null
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"

readelf -d "$prefix/lib/libeddy.so" | grep -q 'SONAME.*\[libeddy\.so\.0\]' ||
    fail "libeddy.so has another SONAME than libeddy.so.0"
foreign=$(nm -D --defined-only "$prefix/lib/libeddy.so" |
    awk '$3 !~ /^eddy_[a-z]/ && $2 != "A" { print $3 }')
[ -z "$foreign" ] || fail "libeddy.so also exports:" "$foreign"

# Without the shared library beside it, -leddy finds the static one.
make -s --no-print-directory install PREFIX="$scratch/static" >/dev/null
rm "$scratch/static/lib/"libeddy.so*

# The flags are words on purpose.
# shellcheck disable=SC2046
build()
{
    $CC -std=c11 -Wall -Wextra -Wpedantic -Werror "$1" -o "$2" \
        $($PKG_CONFIG --cflags eddy) $3 -lm
}

for source in examples/*.c; do
    name=$(basename "$source" .c)
    build "$source" "$scratch/$name" "$($PKG_CONFIG --libs eddy)"
    build "$source" "$scratch/$name.static" "$(
        PKG_CONFIG_PATH="$scratch/static/lib/pkgconfig" \
            $PKG_CONFIG --static --libs eddy)"
    readelf -d "$scratch/$name" | grep -q 'NEEDED.*\[libeddy\.so\.0\]' ||
        fail "$source is not linked with libeddy.so.0"
    if readelf -d "$scratch/$name.static" | grep -q 'NEEDED.*libeddy'; then
        fail "$source was to be linked with libeddy.a"
    fi
    # With a loader's path, nothing may be missing; it need not do anything.
    missing=$(LD_LIBRARY_PATH="$prefix/lib" ldd "$scratch/$name" |
        grep 'not found' || true)
    [ -z "$missing" ] || fail "$source: $missing"
    echo "install: $source builds with the shared and the static library"
done

# The command finds the provider from where it was installed.
if [ -e "$prefix/lib/libeddy-onednn.so.0" ]; then
    "$prefix/bin/eddy" --version | grep -q 'oneDNN *oneDNN' ||
        fail "the command does not find libeddy-onednn.so.0"
    strings -a "$prefix/bin/eddy" | grep -qF "$prefix" &&
        fail "the command holds the name of its prefix"
fi

# Without the providers beside it the command still multiplies; what only
# LAPACK can do fails, and says why.
mkdir "$scratch/alone"
cp "$prefix/bin/eddy" "$scratch/alone"
"$scratch/alone/eddy" --version | grep -q '^BLAS *none' ||
    fail "a command without libeddy-openblas.so.0 has a BLAS"
case=tests/conformance/tf/kernels
"$scratch/alone/eddy" verify $case/MatMul >/dev/null ||
    fail "a command without libeddy-openblas.so.0 does not multiply"
"$scratch/alone/eddy" verify tests/conformance/findings/ops_dtype_complex128 2>&1 |
    grep -q 'libeddy-openblas is not beside' ||
    fail "a command without libeddy-openblas.so.0 does not say so"
"$prefix/bin/eddy" --version | grep -q '^BLAS *OpenBLAS' ||
    fail "the command does not find libeddy-openblas.so.0"

# C++ takes the headers, and the empty error record.
cat >"$scratch/host.cc" <<'END'
#include <eddy.h>
#include <cstring>

int main()
{
    eddy_error err = EDDY_ERROR_INIT;
    eddy_context *ctx = nullptr;

    if (eddy_context_create(nullptr, &ctx, &err) != EDDY_OK)
        return 1;
    eddy_context_release(ctx);
    return std::strcmp(eddy_version(), EDDY_VERSION_STRING);
}
END
cxx=g++
command -v g++ >/dev/null 2>&1 || cxx=clang++
if command -v "$cxx" >/dev/null 2>&1; then
    # shellcheck disable=SC2046
    $cxx -std=c++17 -Wall -Wextra -Wpedantic -Werror "$scratch/host.cc" \
        -o "$scratch/host" $($PKG_CONFIG --cflags --libs eddy)
    LD_LIBRARY_PATH="$prefix/lib" "$scratch/host" || fail "a C++ host failed"
    echo "install: a C++ host builds and runs"
fi

if ! command -v cmake >/dev/null 2>&1; then
    [ "${CI:-}" = true ] && fail "cmake is not installed"
    echo "install: passed over, cmake is not installed"
    exit 0
fi
mkdir "$scratch/project"
cp examples/while_loop.c "$scratch/project/host.c"
version=$($PKG_CONFIG --modversion eddy)
cat >"$scratch/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(host C)
find_package(eddy $version EXACT CONFIG REQUIRED)
add_executable(shared host.c)
target_link_libraries(shared PRIVATE eddy::eddy)
add_executable(static host.c)
target_link_libraries(static PRIVATE eddy::eddy_static)
END
cmake -S "$scratch/project" -B "$scratch/project/build" \
    -DCMAKE_PREFIX_PATH="$prefix" >"$scratch/cmake.log" 2>&1 &&
    cmake --build "$scratch/project/build" >>"$scratch/cmake.log" 2>&1 || {
    cat "$scratch/cmake.log" >&2
    fail "cmake does not build with eddy::eddy and eddy::eddy_static"
}
for program in shared static; do
    "$scratch/project/build/$program" >"$scratch/$program.out" ||
        fail "the program of eddy::eddy ($program) failed"
done
cmp "$scratch/shared.out" "$scratch/static.out" ||
    fail "the programs of the two targets give different results"
readelf -d "$scratch/project/build/static" | grep -q 'NEEDED.*libeddy' &&
    fail "eddy::eddy_static is linked with the shared library"
echo "install: cmake builds with eddy::eddy and eddy::eddy_static"
