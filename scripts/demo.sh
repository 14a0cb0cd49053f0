#!/bin/sh
# Makes the pictures of the README and the book anew, from the program as it is. The demonstration is a
# real terminal (tmux), the real program, and a model that follows a script: docs/demo.cast (asciinema)
# and docs/demo.svg. The map is of a fresh home: docs/context-map.png and docs/book/context-map.svg.
#
#   scripts/demo.sh [--binary PATH] [--out DIR]      (default: target/release/chela, docs)
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
binary=$root/target/release/chela
out=$root/docs

fail() {
    echo "error: $1" >&2
    exit "${2:-1}"
}

while [ $# -gt 0 ]; do
    case $1 in
    --binary | --out)
        [ $# -gt 1 ] || fail "$1 wants a path" 2
        case $1 in --binary) binary=$2 ;; --out) out=$2 ;; esac
        shift
        ;;
    *) fail "unknown word: $1" 2 ;;
    esac
    shift
done
for tool in tmux python3; do
    command -v "$tool" >/dev/null || fail "$tool is needed, and is not installed" 75
done
[ -x "$binary" ] || fail "$binary is no program; build it: cargo build --release"
mkdir -p "$out/book"
out=$(cd "$out" && pwd)
binary=$(cd "$(dirname "$binary")" && pwd)/$(basename "$binary")

home=$(mktemp -d "${TMPDIR:-/tmp}/chela-map.XXXXXX")
trap 'rm -rf "$home"' EXIT
fresh() { (cd "$home" && env -i HOME="$home" PATH=/usr/bin:/bin LANG=C.UTF-8 "$binary" "$@" >/dev/null); }
fresh init
fresh context map -o "$out/context-map.png"
fresh context map -o "$home/map.svg"
# The folder of this picture is nobody's business.
sed "s|$home|~|g" "$home/map.svg" >"$out/book/context-map.svg"
echo "the map: $out/context-map.png, $out/book/context-map.svg"

python3 "$root/scripts/demo.py" "$binary" "$out"
