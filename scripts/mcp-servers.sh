#!/bin/sh
# Installs what MCP is tested with into a folder of its own: the reference servers of npm and PyPI, the
# official clients of both, the conformance suite, and a Node that is new enough for it.
#
#   scripts/mcp-servers.sh [FOLDER]            (default: target/mcp-servers)
#
# Prints the folder. Exit code 75: they cannot be had here; the last line says why.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-"$here/../target/mcp-servers"}

cannot() {
    echo "$1" >&2
    exit 75
}

command -v python3 >/dev/null || cannot "python3 is not installed"
command -v npm >/dev/null || cannot "npm is not installed"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
# Two runs at once would install into each other.
if command -v flock >/dev/null && [ "${MCP_SERVERS_LOCKED:-}" != 1 ]; then
    MCP_SERVERS_LOCKED=1 exec flock "$folder/lock" "$0" "$folder"
fi
# Both eras are in the field: what npm has speaks the older one, what PyPI has the newer one.
if [ ! -x "$folder/python/bin/mcp-server-fetch" ]; then
    python3 -m venv "$folder/python" >&2 || cannot "python3 cannot make an environment"
    "$folder/python/bin/python" -m pip install -q \
        mcp==2.3.* mcp-server-git==2026.10.19 mcp-server-time==2026.10.19 \
        mcp-server-fetch==2026.10.24 >&2 ||
        cannot "the servers cannot be installed from PyPI"
fi
if [ ! -x "$folder/node/node_modules/.bin/conformance" ]; then
    mkdir -p "$folder/node"
    (cd "$folder/node" && npm install --silent --no-audit --no-fund \
        node@24 @modelcontextprotocol/conformance@0.2.0-alpha.12 \
        @modelcontextprotocol/server-everything@2026.8.31 \
        @modelcontextprotocol/server-filesystem@2026.8.31 \
        @modelcontextprotocol/server-memory@2026.8.31 @modelcontextprotocol/sdk >&2) ||
        cannot "the servers cannot be installed from npm"
fi
echo "$folder"
