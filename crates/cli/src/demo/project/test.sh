#!/bin/sh
# Runs the tests; exits with the number of failures.
. ./version.sh

failures=0

check() { # expected, first, second
    if newer "$2" "$3"; then actual=yes; else actual=no; fi
    if [ "$actual" = "$1" ]; then
        echo "ok    $2 newer than $3: $1"
    else
        echo "FAIL  $2 newer than $3: expected $1, got $actual"
        failures=$((failures + 1))
    fi
}

check yes 1.2.1 1.2.0
check no 1.2.0 1.2.0
check no 1.2.0 1.3.0
check yes 2.0.0 1.9.9
check yes 1.10.0 1.9.0
check no 1.9.0 1.10.0

echo "$failures failed"
exit "$failures"
