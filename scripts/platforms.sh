#!/bin/sh
# Installs the standard libraries of the other systems that the code is checked for
# (`cargo xtask check-platforms`).
#
# Exit code 75: they cannot be had here; the last line says why.
set -eu

targets="aarch64-apple-darwin x86_64-pc-windows-gnu"

cannot() {
    echo "$1" >&2
    exit 75
}

command -v rustup >/dev/null ||
    cannot "rustup is not installed; install the libraries of $targets with your Rust"
# shellcheck disable=SC2086 # the targets are words
rustup target add $targets >&2 || cannot "rustup cannot install $targets"
