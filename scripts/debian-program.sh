#!/bin/sh
# Finds a program, or unpacks it from the distribution's package into a folder of its own: nothing of
# the system is changed.
#
#   scripts/debian-program.sh PACKAGE PROGRAM [FOLDER]       (default: target/PACKAGE)
#
# Prints the folder PROGRAM is in. Exit code 75: it cannot be had here; the last line says why.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
package=$1
program=$2
folder=${3:-"$here/../target/$package"}

cannot() {
    echo "$1" >&2
    exit 75
}

if found=$(command -v "$program"); then
    dirname "$found"
    exit 0
fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
# Two runs at once would unpack into each other. The lock goes with the process that holds it.
if command -v flock >/dev/null && [ "${DEBIAN_PROGRAM_LOCKED:-}" != "$package" ]; then
    DEBIAN_PROGRAM_LOCKED="$package" exec flock "$folder/lock" "$0" "$package" "$program" "$folder"
fi
if [ ! -x "$folder/usr/bin/$program" ]; then
    command -v apt-get >/dev/null && command -v dpkg >/dev/null ||
        cannot "$package is not installed, and only Debian's packages are unpacked by this script"
    cd "$folder"
    get() {
        apt-get -o Acquire::Retries=1 -o Acquire::http::Timeout=15 "$@" >>"$folder/log" 2>&1
    }
    # With lists of packages that are this folder's, so that no right is needed.
    get_anew() {
        get -o "Dir::State::lists=$folder/lists" -o "Dir::Cache=$folder/cache" \
            -o APT::Sandbox::User=root "$@"
    }
    : >"$folder/log"
    # A new machine has no lists of packages, an old one lists of packages that are gone.
    get download "$package" || {
        mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
        get_anew update && get_anew download "$package"
    } || cannot "the package cannot be had: $(tail -n 1 "$folder/log")"
    rm -rf "$folder/lists" "$folder/cache"
    dpkg -x "$package"_*.deb "$folder" >>"$folder/log" 2>&1 ||
        cannot "the package cannot be unpacked: $(tail -n 1 "$folder/log")"
fi
"$folder/usr/bin/$program" --version >/dev/null 2>&1 ||
    cannot "$program does not start: $("$folder/usr/bin/$program" --version 2>&1 | tail -n 1)"
echo "$folder/usr/bin"
