#!/bin/bash
# Runs the demo: indextable on a real document collection, Debian's own package index.
# `make demo` calls it with PGHOST, PGPORT, PGUSER and PGDATABASE pointing at a throw-away server,
# as a superuser. It (re)creates the schema "demo" there; it exits non-zero at the first mismatch.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'stopped 129' HUP
trap 'stopped 130' INT
trap 'stopped 143' TERM

ENOUGH=10000    # packages; below that the timings say little

step=prepare

# stopped STATUS: somebody ends the demo, which has not failed by that
stopped() {
    echo "demo: stopped by a signal in the step $step" >&2
    exit "$1"
}

# in_step STEP COMMAND
in_step() {
    local status=0
    step=$1
    shift
    "$@" || status=$?
    [ "$status" -le 128 ] || stopped "$status"
    if [ "$status" != 0 ]; then
        echo "demo: FAILED in the step $step" >&2
        exit 1
    fi
}

# Tables fit a narrow terminal.
run_sql() {
    psql -X -q -v ON_ERROR_STOP=1 -P pager=off -P format=wrapped -P columns=100 "$@"
}

count() {
    grep -c '^Package:' "$1" || true
}

update_package_lists() {
    local as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
    echo "  the machine's package lists are empty or tiny: running apt-get update"
    timeout 180 "${as_root[@]}" apt-get -qq update >/dev/null 2>&1 ||
        echo "  apt-get update failed; going on with what there is"
}

# Writes the documents' source text to $1: the package index or, failing that, what is installed.
find_packages() {
    apt-cache dumpavail >"$1" 2>/dev/null || true
    if [ "$(count "$1")" -lt $ENOUGH ]; then
        update_package_lists
        apt-cache dumpavail >"$1" 2>/dev/null || true
    fi
    if [ "$(count "$1")" -lt $ENOUGH ] && [ "$(count /var/lib/dpkg/status)" -gt "$(count "$1")" ]; then
        cp /var/lib/dpkg/status "$1"
        echo "  NO PACKAGE INDEX HERE: falling back to the packages installed on this machine."
        echo "  That is few documents; read the answers, not the times."
    fi
    if [ "$(count "$1")" = 0 ]; then
        echo "  no package lists were found"
        return 1
    fi
}

import() {
    find_packages "$work/packages" || return
    perl "$here/import.pl" "$work/packages" | run_sql -c 'COPY package (id, doc) FROM STDIN'
}

export here    # for 8-async.sql
export PGCLIENTENCODING=UTF8
export PGOPTIONS="${PGOPTIONS:-} -c search_path=demo,public -c client_min_messages=warning"

started=$SECONDS
in_step prepare run_sql -f "$here/prepare.sql"

echo "== Import: one JSONB document for each package of Debian's package index"
echo
in_step import import

for next in import advise 1-section 2-size 3-depends 4-listing 5-changes 6-priority 7-sizes 8-async 9-summary; do
    in_step "$next" run_sql -f "$here/$next.sql"
done
echo
echo "demo: all steps passed, every answer the same ($((SECONDS - started)) s)"
