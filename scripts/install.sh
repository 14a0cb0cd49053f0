#!/bin/sh
# Installs Chela for one user from an archive: the program, completions and the manual page.
#
#   install.sh [ARCHIVE | ADDRESS] [OPTIONS]
#
# ARCHIVE is a chela-VERSION-TARGET.tar.gz, ADDRESS the https address of one. Without either, what
# lies beside this script is installed. An archive is compared with the SHA256SUMS that lies where
# it came from.
#
#   --prefix DIR     where it goes (default: $PREFIX, else ~/.local)
#   --key FILE       a public key (ssh-ed25519): SHA256SUMS must carry its signature, SHA256SUMS.sig
#   --no-verify      install without comparing (not for what came over a network)
#   --uninstall      take away what was installed; your agents in ~/.chela stay
set -eu

prefix=${PREFIX:-}
from=
key=
verify=yes
action=install

say() { echo "$*"; }
fail() {
    echo "error: $1" >&2
    [ $# -lt 2 ] || echo "  → $2" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
    --prefix | --key)
        [ $# -gt 1 ] || fail "$1 needs a value" "see --help"
        case $1 in --prefix) prefix=$2 ;; --key) key=$2 ;; esac
        shift
        ;;
    --no-verify) verify=no ;;
    --uninstall) action=uninstall ;;
    -h | --help)
        sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0" | sed '$d'
        exit 0
        ;;
    -*)
        echo "error: unknown option: $1" >&2
        echo "  → see --help" >&2
        exit 2
        ;;
    *)
        [ -z "$from" ] || fail "only one archive can be installed: $from or $1"
        from=$1
        ;;
    esac
    shift
done
[ -n "$prefix" ] || prefix=${HOME:?HOME is not set; use --prefix}/.local
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
notes=$prefix/share/chela
list=$notes/installed-files
here=$(cd "$(dirname "$0")" 2>/dev/null && pwd) || here=$PWD

uninstall() {
    [ -f "$list" ] || fail "nothing installed by this script is in $prefix" \
        "give the folder it went to: --prefix DIR"
    while IFS= read -r file; do
        # A line that leads elsewhere is none of ours.
        case $file in bin/chela | share/*) ;; *) continue ;; esac
        case $file in *..*) continue ;; esac
        rm -f "$prefix/$file"
        folder=$(dirname "$file")
        while [ "$folder" != . ] && rmdir "$prefix/$folder" 2>/dev/null; do
            folder=$(dirname "$folder")
        done
    done <"$list"
    rm -f "$prefix/bin/chela.previous" "$list" "$notes/installed-by"
    rmdir "$notes" "$prefix/share" 2>/dev/null || true
    say "Removed Chela from $prefix."
    say "Your agents are still in ${CHELA_HOME:-~/.chela}; delete that folder to remove them too."
}

this_target() {
    case $(uname -s)-$(uname -m) in
    Linux-x86_64 | Linux-amd64) echo x86_64-unknown-linux-gnu ;;
    Linux-aarch64 | Linux-arm64) echo aarch64-unknown-linux-gnu ;;
    *) fail "there is no archive for $(uname -s) on $(uname -m)" "build it: cargo run --release" ;;
    esac
}

# Where the archive is, and what it is compared with, in $work.
fetch() { # ADDRESS FILE
    if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --proto '=https' --proto-redir '=https' \
            --output "$2" "$1"
    elif command -v wget >/dev/null; then
        wget --quiet --https-only -O "$2" "$1"
    else
        fail "curl or wget is needed to fetch $1" "download it yourself and pass the file"
    fi
}

hash_of() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1" | cut -d' ' -f1
    elif command -v shasum >/dev/null; then
        shasum -a 256 "$1" | cut -d' ' -f1
    elif command -v openssl >/dev/null; then
        openssl dgst -sha256 -r "$1" | cut -d' ' -f1
    else
        fail "sha256sum, shasum or openssl is needed to verify the archive"
    fi
}

check_signature() {
    [ -f "$sums.sig" ] || fail "SHA256SUMS.sig is missing, and --key requires it"
    command -v ssh-keygen >/dev/null || fail "ssh-keygen is needed to check a signature"
    case $(cat "$key" 2>/dev/null) in
    ssh-ed25519\ *) ;;
    *) fail "$key is not an ssh-ed25519 public key" ;;
    esac
    echo "publisher $(cut -d' ' -f1,2 "$key")" >"$work/signers"
    ssh-keygen -Y verify -f "$work/signers" -I publisher -n chela-release -s "$sums.sig" \
        <"$sums" >/dev/null 2>&1 || fail "SHA256SUMS was not signed with the key in $key"
}

check() { # ARCHIVE NAME
    [ "$verify" = yes ] || return 0
    [ -f "$sums" ] || fail "there is no SHA256SUMS where the archive came from" \
        "get it from there too, or use --no-verify if you know the archive"
    [ -z "$key" ] || check_signature
    wanted=$(sed -n "s/^\([0-9a-f]\{64\}\) [ *]$2\$/\1/p" "$sums" | head -n 1)
    [ -n "$wanted" ] || fail "SHA256SUMS does not list $2"
    [ "$(hash_of "$1")" = "$wanted" ] || fail "$2 does not match SHA256SUMS" \
        "it is damaged or was changed: get it again"
}

# Leaves the tree to install in $tree.
find_tree() {
    if [ -z "$from" ] && [ -x "$here/bin/chela" ] && [ -d "$here/share" ]; then
        tree=$here
        return
    fi
    if [ -z "$from" ]; then
        target=$(this_target)
        from=$(find "$here" -maxdepth 1 -name "chela-*-$target.tar.gz" | sort -V | tail -n 1)
        [ -n "$from" ] || fail "there is no chela-*-$target.tar.gz beside this script" \
            "give the path or the address of one"
    fi
    name=$(basename "$from")
    case $from in
    https://*)
        say "Downloading $from"
        fetch "$from" "$work/$name" || fail "$from cannot be downloaded"
        sums=$work/SHA256SUMS
        if [ "$verify" = yes ]; then
            fetch "${from%/*}/SHA256SUMS" "$sums" || fail "there is no ${from%/*}/SHA256SUMS" \
                "without it nothing says whether the archive is whole"
            [ -z "$key" ] || fetch "${from%/*}/SHA256SUMS.sig" "$sums.sig" ||
                fail "there is no ${from%/*}/SHA256SUMS.sig"
        fi
        archive=$work/$name
        ;;
    *://*) fail "only https URLs are supported: $from" ;;
    *)
        [ -f "$from" ] || fail "there is no file $from"
        archive=$from
        sums=$(dirname "$from")/SHA256SUMS
        ;;
    esac
    check "$archive" "$name"
    mkdir "$work/tree"
    tar -xzf "$archive" -C "$work/tree" 2>/dev/null || fail "$name cannot be unpacked" "is it complete?"
    for tree in "$work/tree"/*/; do break; done
    tree=${tree%/}
    [ -f "$tree/bin/chela" ] || fail "$name has no bin/chela"
}

install_tree() {
    if [ -f "$notes/installed-by" ] && [ ! -f "$list" ]; then
        fail "the Chela in $prefix belongs to $(cat "$notes/installed-by")" \
            "take that one away first, or choose another --prefix"
    fi
    said=$("$tree/bin/chela" --version 2>&1) || fail "the program does not run here: $said" \
        "this system may be too old for it; build it: cargo run --release"
    mkdir -p "$prefix/bin" "$notes" 2>/dev/null && [ -w "$prefix/bin" ] ||
        fail "$prefix cannot be written" "choose another place: --prefix DIR"
    (cd "$tree" && find bin share -type f | sort) >"$work/files"
    # Each file beside its place first: a program that runs goes on with the file it has.
    while IFS= read -r file; do
        mkdir -p "$prefix/$(dirname "$file")"
        cp "$tree/$file" "$prefix/$file.new.$$"
        mv -f "$prefix/$file.new.$$" "$prefix/$file"
    done <"$work/files"
    # What an older version had and this one has not.
    if [ -f "$list" ]; then
        while IFS= read -r file; do
            case $file in share/*..*) continue ;; share/*) ;; *) continue ;; esac
            grep -qxF "$file" "$work/files" || rm -f "$prefix/$file"
        done <"$list"
    fi
    cp "$work/files" "$list"
    echo archive >"$notes/installed-by"
}

tell_next() {
    say "$said is installed: $prefix/bin/chela"
    case :$PATH: in
    *:"$prefix/bin":*) start=chela ;;
    *)
        start=$prefix/bin/chela
        say "$prefix/bin is not on your PATH. Add this line to your shell's profile:"
        say "  export PATH=\"$prefix/bin:\$PATH\""
        ;;
    esac
    case ${SHELL:-} in
    */zsh) say "For completions, before \`compinit\` in ~/.zshrc: fpath+=($prefix/share/zsh/site-functions)" ;;
    esac
    say "Next: \`$start\` creates your agent and opens the chat; \`$start doctor\` shows what is missing."
}

if [ "$action" = uninstall ]; then
    uninstall
    exit 0
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/chela-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
find_tree
install_tree
tell_next
