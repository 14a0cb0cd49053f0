#!/bin/sh
# Makes the packages people install Chela from, in target/packages/: an archive, a .deb, two npm
# packages, a Python wheel, what a container image is built from, and the SHA256SUMS of them all.
# Nothing is fetched.
#
#   scripts/package.sh [OPTIONS] [archive] [deb] [npm] [wheel] [container]     (default: all)
#
#   --binary PATH    package this program instead of building one with `cargo xtask dist`
#   --notices FILE   the licences of the crates inside (default: written by `cargo xtask notices`)
#   --out DIR        where the packages go (default: target/packages)
#   --fast           compress little: for tests
#
# CHELA_MAINTAINER names who answers for the .deb: `Name <address>`.
# SOURCE_DATE_EPOCH sets the time in every package (default: the last commit's).
# Exit code 2: what was typed is wrong. 75: a tool is missing; the last line says which.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/target/packages
binary=
notices=
level=9
kinds=

say() { echo "$*" >&2; }
fail() {
    say "error: $1"
    exit "${2:-1}"
}
need() { command -v "$1" >/dev/null || fail "$1 is needed for $2, and is not installed" 75; }

while [ $# -gt 0 ]; do
    case $1 in
    --binary | --notices | --out)
        [ $# -gt 1 ] || fail "$1 wants a path" 2
        case $1 in
        --binary) binary=$2 ;;
        --notices) notices=$2 ;;
        --out) out=$2 ;;
        esac
        shift
        ;;
    --fast) level=1 ;;
    -h | --help)
        sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    archive | deb | npm | wheel | container) kinds="$kinds $1" ;;
    *) fail "unknown word: $1 (see --help)" 2 ;;
    esac
    shift
done
kinds=${kinds:- archive deb npm wheel container}
# The image is made from the .deb.
case $kinds in *container*) case $kinds in *deb*) ;; *) kinds=" deb$kinds" ;; esac ;; esac

if [ -z "$binary" ]; then
    need cargo "building"
    (cd "$root" && cargo run --quiet --package xtask -- dist) || fail "the program cannot be built"
    # Wherever cargo was told to put it.
    target=$(cd "$root" && cargo metadata --no-deps --format-version 1 |
        sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
    binary=${target:-$root/target}/dist/chela
fi
[ -f "$binary" ] && [ -x "$binary" ] || fail "$binary is no program"
binary=$(cd "$(dirname "$binary")" && pwd)/$(basename "$binary")
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/chela-package.XXXXXX")
trap 'rm -rf "$work"' EXIT

# What the program says of itself, and what its file says.
said=$("$binary" --version) || fail "$binary does not run"
version=${said#chela }
[ "$said" != "$version" ] || fail "$binary says it is \`$said\`, not chela"
case $(tar --version 2>/dev/null) in *GNU*) ;; *) fail "GNU tar is needed to pack" 75 ;; esac
need objdump "reading what the program needs (binutils)"
case $(objdump -f "$binary" | sed -n 's/^architecture: \([^,]*\),.*/\1/p') in
i386:x86-64) cpu=x86_64 deb_cpu=amd64 npm_cpu=x64 ;;
aarch64) cpu=aarch64 deb_cpu=arm64 npm_cpu=arm64 ;;
*) fail "packages are made for Linux on x86-64 and AArch64; $binary is for something else" ;;
esac
target=$cpu-unknown-linux-gnu
glibc=$(objdump -p "$binary" | sed -n 's/.* GLIBC_\([0-9.]*\)$/\1/p' | sort -uV | tail -n 1)
[ -n "$glibc" ] || fail "$binary names no version of glibc; a static program needs other package names"
epoch=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH="$epoch"

if [ -z "$notices" ]; then
    need cargo "writing the licences of the crates inside"
    notices=$work/THIRD-PARTY.md
    (cd "$root" && cargo run --quiet --package xtask -- notices "$notices") ||
        fail "the licences of the crates inside cannot be gathered"
fi
[ -f "$notices" ] || fail "there is no file $notices"

# One tree, as it lies under a prefix; every package is made from it.
tree=$work/tree
mkdir -p "$tree/bin" "$tree/share/man/man1" "$tree/share/doc/chela" "$tree/share/chela" \
    "$tree/share/bash-completion/completions" "$tree/share/zsh/site-functions" \
    "$tree/share/fish/vendor_completions.d"
# The sandbox starts the program itself: it needs no symbols, and is read at every start.
if command -v strip >/dev/null; then
    strip -o "$tree/bin/chela" "$binary"
else
    cp "$binary" "$tree/bin/chela"
fi
chmod 755 "$tree/bin/chela"
printed() { HOME=$work CHELA_HOME=$work/home "$tree/bin/chela" "$@"; }
printed completion bash >"$tree/share/bash-completion/completions/chela"
printed completion zsh >"$tree/share/zsh/site-functions/_chela"
printed completion fish >"$tree/share/fish/vendor_completions.d/chela.fish"
printed man >"$tree/share/man/man1/chela.1"
docs=$tree/share/doc/chela
cp "$root/README.md" "$root/CHANGELOG.md" "$root/LICENSE-MIT" "$root/LICENSE-APACHE" "$docs/"
cp "$notices" "$docs/THIRD-PARTY.md"
(cd "$root" && git ls-files docs 2>/dev/null || find docs -type f) | while read -r page; do
    mkdir -p "$docs/$(dirname "$page")"
    cp "$root/$page" "$docs/$page"
done
find "$tree" -type d -exec chmod 755 {} +
find "$tree" -type f ! -path "$tree/bin/*" -exec chmod 644 {} +

# Packs a folder so that the same files give the same bytes.
pack() { # FOLDER-IN NAME... > file
    (cd "$1" && shift && tar --sort=name --format=gnu --mtime="@$epoch" --owner=0 --group=0 \
        --numeric-owner -cf - "$@") | gzip -n "-$level"
}

make_archive() {
    name=chela-$version-$target
    mkdir "$work/archive"
    cp -R "$tree" "$work/archive/$name"
    cp "$root/scripts/install.sh" "$work/archive/$name/install.sh"
    chmod 755 "$work/archive/$name/install.sh"
    rmdir "$work/archive/$name/share/chela"
    pack "$work/archive" "$name" >"$out/$name.tar.gz"
    cp "$root/scripts/install.sh" "$out/install.sh"
    made "$name.tar.gz" install.sh
}

make_deb() {
    need dpkg-deb "the .deb"
    deb=$work/deb
    mkdir -p "$deb/DEBIAN" "$deb/usr"
    cp -R "$tree/." "$deb/usr/"
    echo deb >"$deb/usr/share/chela/installed-by"
    # Where Debian's zsh looks, and how Debian wants its pages.
    mkdir "$deb/usr/share/zsh/vendor-completions"
    mv "$deb/usr/share/zsh/site-functions/_chela" "$deb/usr/share/zsh/vendor-completions/_chela"
    rmdir "$deb/usr/share/zsh/site-functions"
    gzip -n9 "$deb/usr/share/man/man1/chela.1"
    mv "$deb/usr/share/doc/chela/CHANGELOG.md" "$deb/usr/share/doc/chela/changelog"
    gzip -n9 "$deb/usr/share/doc/chela/changelog"
    cp "$root/packaging/deb/copyright" "$deb/usr/share/doc/chela/copyright"
    maintainer=${CHELA_MAINTAINER:-The Chela contributors <chela@localhost>}
    size=$(du -sk "$deb/usr" | cut -f1)
    sed -e "s/@VERSION@/$version/" -e "s/@CPU@/$deb_cpu/" -e "s/@GLIBC@/$glibc/" \
        -e "s/@SIZE@/$size/" -e "s/@MAINTAINER@/$maintainer/" "$root/packaging/deb/control.in" >"$deb/DEBIAN/control"
    (cd "$deb" && find usr -type f | LC_ALL=C sort | xargs md5sum) >"$deb/DEBIAN/md5sums"
    chmod 755 "$deb/DEBIAN"
    chmod 644 "$deb/DEBIAN"/* "$deb/usr/share/chela/installed-by" \
        "$deb/usr/share/doc/chela/copyright"
    find "$deb" -exec touch -hd "@$epoch" {} +
    name=chela_${version}_$deb_cpu.deb
    dpkg-deb --root-owner-group -Zgzip "-z$level" --build "$deb" "$out/$name" >/dev/null ||
        fail "dpkg-deb could not make $name"
    made "$name"
}

make_npm() {
    need npm "the npm packages"
    platform=chela-linux-$npm_cpu
    mkdir -p "$work/npm/chela" "$work/npm/$platform/share/chela"
    for which in chela platform; do
        case $which in chela) folder=chela ;; platform) folder=$platform ;; esac
        sed -e "s/@VERSION@/$version/g" -e "s/@CPU@/$npm_cpu/g" \
            "$root/packaging/npm/$which.json" >"$work/npm/$folder/package.json"
        cp "$root/LICENSE-MIT" "$root/LICENSE-APACHE" "$work/npm/$folder/"
    done
    cp "$root/README.md" "$work/npm/chela/"
    cp -R "$root/packaging/npm/bin" "$work/npm/chela/bin"
    chmod 755 "$work/npm/chela/bin/chela.js"
    cp "$root/packaging/npm/platform.md" "$work/npm/$platform/README.md"
    cp -R "$tree/bin" "$work/npm/$platform/bin"
    cp "$notices" "$work/npm/$platform/THIRD-PARTY.md"
    echo npm >"$work/npm/$platform/share/chela/installed-by"
    for folder in chela "$platform"; do
        # npm would ask the network whether there is a newer npm.
        (cd "$work/npm/$folder" && HOME=$work npm pack --silent --offline --no-update-notifier \
            --pack-destination "$out" >/dev/null) || fail "npm could not pack $folder"
        made "$folder-$version.tgz"
    done
}

make_wheel() {
    need python3 "the wheel"
    mkdir "$work/wheel"
    cp -R "$tree" "$work/wheel/tree"
    echo pip >"$work/wheel/tree/share/chela/installed-by"
    tag=manylinux_$(echo "$glibc" | tr . _)_$cpu
    name=$(python3 "$root/packaging/wheel.py" --tree "$work/wheel/tree" --version "$version" \
        --tag "$tag" --level "$level" --out "$out") || fail "the wheel could not be written"
    made "$name"
}

make_container() {
    mkdir -p "$out/container"
    # The oldest Debian whose C library is new enough for this program.
    base=bookworm
    [ "$(printf '%s\n2.36\n' "$glibc" | sort -V | tail -n 1)" = 2.36 ] || base=trixie
    sed "s/^ARG BASE=.*/ARG BASE=docker.io\/library\/debian:$base-slim/" \
        "$root/packaging/Containerfile" >"$out/container/Containerfile"
    cp "$out/chela_${version}_$deb_cpu.deb" "$out/container/chela.deb"
    say "  container/   (podman build -t chela $out/container)"
}

made() {
    for file in "$@"; do
        echo "$file" >>"$work/made"
        say "  $file   $(du -k "$out/$file" | cut -f1) KB"
    done
}

say "Chela $version for $target (glibc $glibc or newer), in $out:"
: >"$work/made"
for kind in $kinds; do "make_$kind"; done
# What was made before and not now keeps its line.
(
    cd "$out"
    [ ! -f SHA256SUMS ] || cut -c67- SHA256SUMS >>"$work/made"
    LC_ALL=C sort -u "$work/made" | while read -r file; do
        [ ! -f "$file" ] || sha256sum "$file"
    done >"$work/sums"
    mv "$work/sums" SHA256SUMS
)
say "  SHA256SUMS"
