#!/bin/sh
# Records the demonstration of the README: a real terminal (tmux), the real program, and a model that
# follows a script. Writes docs/demo.cast (asciinema) and docs/demo.svg.
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
mkdir -p "$out"
exec python3 "$root/scripts/demo.py" "$binary" "$out"
