#!/bin/sh
# Runs the official conformance suite of the Model Context Protocol against the program: `chela mcp` as a
# client, the gateway's /mcp as a server, in both eras of the protocol.
#
#   scripts/mcp-conformance.sh [client|server]      (default: both)
#
# CHELA names the program (default: target/debug/chela). What is known to fail stands in
# scripts/mcp-conformance.yml, with the reason; an entry that passes fails the run, so that the list only
# shrinks. Results lie in target/mcp-conformance. Exit code 75: the suite cannot be had here.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
CHELA=${CHELA:-"$here/../target/debug/chela"}
CHELA=$(cd "$(dirname "$CHELA")" && pwd)/$(basename "$CHELA")
export CHELA
which=${1:-both}
servers=$("$here/mcp-servers.sh")
PATH="$servers/node/node_modules/.bin:$PATH"
work=$(mktemp -d)
results="$here/../target/mcp-conformance"
rm -rf "$results"
mkdir -p "$results"
gateway= door=
leave() {
    [ -z "$door" ] || kill "$door" 2>/dev/null || true
    [ -z "$gateway" ] || kill "$gateway" 2>/dev/null || true
    rm -rf "$work"
}
trap leave EXIT
failed=0

if [ "$which" != server ]; then
    for version in 2025-11-25 2026-07-28; do
        echo "== client, $version"
        conformance client --requirements "$version" --timeout 120000 \
            --command "python3 $here/mcp_conformance_client.py" -o "$results/client-$version" \
            --expected-failures "$here/mcp-conformance.yml" || failed=1
    done
fi

if [ "$which" != client ]; then
    HOME=$work/home
    export HOME
    mkdir -p "$HOME/.chela/skills/greet"
    printf -- '---\nname: greet\ndescription: How to greet.\n---\nSay hello.\n' \
        >"$HOME/.chela/skills/greet/SKILL.md"
    "$CHELA" init >/dev/null
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    "$CHELA" gateway run --port "$port" >"$work/gateway.log" 2>&1 &
    gateway=$!
    token=$("$CHELA" mcp token create suite --scope memory,skills,context,sessions | head -n 1)
    python3 "$here/mcp_conformance_door.py" "$port" "$token" >"$work/door" &
    door=$!
    for _ in $(seq 200); do
        [ -s "$work/door" ] && python3 -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/healthz')" 2>/dev/null && break
        sleep 0.1
    done
    for version in 2025-11-25 2026-07-28; do
        echo "== server, $version"
        conformance server --url "http://127.0.0.1:$(cat "$work/door")/mcp" \
            --requirements "$version" -o "$results/server-$version" \
            --expected-failures "$here/mcp-conformance.yml" || failed=1
    done
fi
exit "$failed"
