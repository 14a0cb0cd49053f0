#!/bin/sh
# Installs the official clients of OpenAI and Anthropic, for Python and for Node, into a folder of
# their own: the tests speak to the gateway with them, unchanged.
#
#   scripts/clients.sh [FOLDER]            (default: target/clients)
#
# Prints the folder. Exit code 75: they cannot be had here; the last line says why.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-"$here/../target/clients"}

cannot() {
    echo "$1" >&2
    exit 75
}

command -v python3 >/dev/null || cannot "python3 is not installed"
command -v npm >/dev/null || cannot "npm is not installed"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
# Two runs at once would install into each other.
if command -v flock >/dev/null && [ "${CLIENTS_LOCKED:-}" != 1 ]; then
    CLIENTS_LOCKED=1 exec flock "$folder/lock" "$0" "$folder"
fi
if ! "$folder/python/bin/python" -c 'import openai, anthropic' 2>/dev/null; then
    python3 -m venv "$folder/python" >&2 || cannot "python3 cannot make an environment"
    "$folder/python/bin/python" -m pip install -q openai anthropic >&2 ||
        cannot "openai and anthropic cannot be installed from PyPI"
fi
if [ ! -d "$folder/node/node_modules/openai" ] || [ ! -d "$folder/node/node_modules/@anthropic-ai/sdk" ]; then
    mkdir -p "$folder/node"
    (cd "$folder/node" && npm install --silent --no-audit --no-fund openai @anthropic-ai/sdk >&2) ||
        cannot "openai and @anthropic-ai/sdk cannot be installed from npm"
fi
echo "$folder"
