#!/usr/bin/env bash
# Serves the demo in the foreground, and prints the address of its page last. A browser opens it where there is one.
#
# demo.sh ACPD [OPTIONS OF "acpd serve"]
set -euo pipefail
acpd=$1
shift
"$acpd" serve --demo "$@" &
daemon=$!
trap 'kill "$daemon" 2>/dev/null || true; wait "$daemon" 2>/dev/null || true' EXIT INT TERM
# With a data directory of its own among the options, the daemon is not found here, and the address is the one it printed.
for _ in $(seq 100); do
    # A daemon that cannot start has said why.
    kill -0 "$daemon" 2>/dev/null || wait "$daemon"
    if "$acpd" status >/dev/null 2>&1; then
        echo "the page of the demo; \"$acpd open\" prints another link:"
        "$acpd" open || true
        break
    fi
    sleep 0.2
done
wait "$daemon"
