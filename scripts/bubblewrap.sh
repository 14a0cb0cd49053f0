#!/bin/sh
# Finds bubblewrap for the tests of the sandbox, or unpacks it: see debian-program.sh.
#
#   scripts/bubblewrap.sh [FOLDER]            (default: target/bubblewrap)
set -eu
exec "$(dirname "$0")/debian-program.sh" bubblewrap bwrap "$@"
