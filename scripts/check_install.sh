#!/bin/sh
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
    lib/pkgconfig/eddy.pc include/eddy.h include/eddy/api.h; do
    [ -s "$scratch/stage/usr/$file" ] || fail "$file was not installed"
done
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
    awk '$3 !~ /^eddy_[a-z]/ { print $3 }')
[ -z "$foreign" ] || fail "libeddy.so also exports:" "$foreign"

# Without the shared library beside it, -leddy finds the static one.
make -s --no-print-directory install PREFIX="$scratch/static" >/dev/null
rm "$scratch/static/lib/"libeddy.so*

# The flags are words on purpose.
# shellcheck disable=SC2046
build()
{
    $CC -std=c11 -Wall -Wextra -Wpedantic -Werror "$1" -o "$2" \
        $($PKG_CONFIG --cflags eddy) $3
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
