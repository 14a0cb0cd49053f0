#!/bin/sh
# Sets up a model endpoint that others wrote - npm's @copilotkit/aimock - as a second opinion on
# the wire formats beside our own testkit.
#
#   scripts/independent-mock.sh [FOLDER]      (default: target/independent-mock)
#   FOLDER/serve FIXTURES.json                then serves on a free port; prints its address
#
# Exit code 75: it cannot be had here (no Node, no network); the last line says why.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-"$here/../target/independent-mock"}
package='@copilotkit/aimock@1.43.0'

cannot() {
    echo "$1" >&2
    exit 75
}

command -v node >/dev/null || cannot "node is not installed"
command -v npm >/dev/null || cannot "npm is not installed"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
program="$folder/node_modules/@copilotkit/aimock/dist/cli.js"

if command -v flock >/dev/null && [ "${INDEPENDENT_MOCK_LOCKED:-}" != 1 ]; then
    INDEPENDENT_MOCK_LOCKED=1 exec flock "$folder/lock" "$0" "$folder"
fi
if [ ! -f "$program" ]; then
    npm install --prefix "$folder" --no-audit --no-fund --ignore-scripts --no-save \
        --fetch-retries 1 --fetch-timeout 10000 "$package" >"$folder/npm.log" 2>&1 ||
        cannot "the package registry cannot be used: $(grep -m 1 'npm error' "$folder/npm.log")"
fi
cat >"$folder/serve" <<SERVE
#!/bin/sh
exec node "$program" --port 0 --fixtures "\$1"
SERVE
chmod +x "$folder/serve"
echo "$folder/serve"
