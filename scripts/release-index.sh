#!/bin/sh
# Writes and signs what `chela update` reads: index.json beside the archives of scripts/package.sh,
# index.json.sig, and SHA256SUMS.sig for install.sh. Serve the folder as it is.
#
#   scripts/release-index.sh --key KEY [OPTIONS]
#
#   --key KEY        a private key of ssh (ed25519); ssh-keygen signs with it, agent or passphrase
#                    included. Users set its public half as update.key
#   --channel NAME   which line of versions gets this one (default: stable); others stay as they are
#   --notes TEXT     a sentence about the version
#   --base ADDRESS   where the archives are, if not beside the index
#   --out DIR        the folder with the packages (default: target/packages)
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/target/packages
key=
channel=stable
notes=
base=

fail() {
    echo "error: $1" >&2
    exit "${2:-1}"
}

while [ $# -gt 0 ]; do
    case $1 in
    --key | --channel | --notes | --base | --out)
        [ $# -gt 1 ] || fail "$1 wants a value" 2
        case $1 in
        --key) key=$2 ;;
        --channel) channel=$2 ;;
        --notes) notes=$2 ;;
        --base) base=$2 ;;
        --out) out=$2 ;;
        esac
        shift
        ;;
    -h | --help)
        sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0" | sed '$d'
        exit 0
        ;;
    *) fail "unknown word: $1 (see --help)" 2 ;;
    esac
    shift
done
[ -n "$key" ] || fail "--key is missing (see --help)" 2
[ -f "$key" ] || fail "there is no key $key"
for tool in python3 ssh-keygen; do
    command -v "$tool" >/dev/null || fail "$tool is needed, and is not installed" 75
done

python3 - "$out" "$channel" "$notes" "$base" <<'PY' || fail "the index could not be written"
import hashlib, json, re, sys
from pathlib import Path

out, channel, notes, base = Path(sys.argv[1]), *sys.argv[2:]
found = {}
for path in sorted(out.glob("chela-*.tar.gz")):
    name = re.fullmatch(r"chela-(\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+?)?)-((?:x86_64|aarch64)-.+)\.tar\.gz", path.name)
    if name:
        found.setdefault(name[1], {})[name[2]] = path
if not found:
    sys.exit(f"no chela-VERSION-TARGET.tar.gz is in {out}; make one: scripts/package.sh archive")
if len(found) > 1:
    sys.exit(f"archives of several versions are in {out}: {', '.join(found)}; keep one of them")
(version, archives), = found.items()
entry = {"version": version, **({"notes": notes} if notes else {}), "archives": {
    target: {
        "url": f"{base.rstrip('/')}/{path.name}" if base else path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "size": path.stat().st_size,
    }
    for target, path in archives.items()
}}
index = out / "index.json"
whole = json.loads(index.read_text()) if index.exists() else {"format": 1, "channels": {}}
whole["channels"][channel] = entry
index.write_text(json.dumps(whole, indent=2) + "\n")
print(f"{channel}: {version} for {', '.join(archives)}", file=sys.stderr)
PY

for file in index.json SHA256SUMS; do
    rm -f "$out/$file.sig"
    ssh-keygen -q -Y sign -n chela-release -f "$key" "$out/$file" ||
        fail "$file was not signed"
done
echo "signed: index.json, SHA256SUMS" >&2
