#!/bin/sh
# Sets up OpenTelemetry's own protocol package - PyPI's opentelemetry-proto - to read what the
# gateway sends.
#
#   scripts/otel-proto.sh [FOLDER]       (default: target/otel-proto)
#   FOLDER/read traces|metrics FILE      then reads a body, and prints it as the protocol knows it
#
# Exit code 75: it cannot be had here (no Python, no network); the last line says why.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-"$here/../target/otel-proto"}
package='opentelemetry-proto>=1.27,<2'

cannot() {
    echo "$1" >&2
    exit 75
}

command -v python3 >/dev/null || cannot "python3 is not installed"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

if command -v flock >/dev/null && [ "${OTEL_PROTO_LOCKED:-}" != 1 ]; then
    OTEL_PROTO_LOCKED=1 exec flock "$folder/lock" "$0" "$folder"
fi
if ! "$folder/python/bin/python" -c 'import opentelemetry.proto' >/dev/null 2>&1; then
    python3 -m venv --clear "$folder/python" >/dev/null 2>&1 || cannot "python3 has no venv module"
    "$folder/python/bin/pip" install --quiet --only-binary :all: "$package" \
        >"$folder/pip.log" 2>&1 ||
        cannot "the package registry cannot be used: $(tail -n 1 "$folder/pip.log")"
fi
cat >"$folder/read.py" <<'READ'
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

kinds = {
    "traces": trace_service_pb2.ExportTraceServiceRequest,
    "metrics": metrics_service_pb2.ExportMetricsServiceRequest,
}
body = open(sys.argv[2], encoding="utf-8").read()
# Names the protocol does not have are errors.
message = json_format.Parse(body, kinds[sys.argv[1]]())
assert message.ByteSize() > 0
print(message)
READ
cat >"$folder/read" <<SERVE
#!/bin/sh
exec "$folder/python/bin/python" "$folder/read.py" "\$@"
SERVE
chmod +x "$folder/read"
echo "$folder/read"
