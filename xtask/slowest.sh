#!/usr/bin/env bash
# Prints the slowest tests of a run of nextest, with their seconds: slowest.sh REPORT [COUNT]
# REPORT is the run's file in JUnit's format, COUNT is 20 if it is not given.
set -euo pipefail

times=$(sed -nE 's/^ *<testcase name="([^"]*)" classname="([^"]*)".* time="([0-9.]+)".*/\3 \2 \1/p' "$1" | sort -rn)
if [ -z "$times" ]; then
    echo "$1 has no times of tests" >&2
    exit 1
fi
count=${2:-20}
echo "the slowest $count tests (seconds, program, test):"
head -n "$count" <<<"$times"
