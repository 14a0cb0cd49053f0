#!/bin/sh
# Finds Prometheus' own checker of metrics, or unpacks it: see debian-program.sh.
#
#   scripts/promtool.sh [FOLDER]              (default: target/prometheus)
set -eu
exec "$(dirname "$0")/debian-program.sh" prometheus promtool "$@"
