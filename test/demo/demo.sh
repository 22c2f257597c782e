#!/bin/bash
# Runs the demo: indextable on a real document collection, Debian's own package index.
# `make demo` calls it with PGHOST, PGPORT, PGUSER and PGDATABASE pointing at a throw-away server,
# as a superuser. It (re)creates the schema "demo" there; it exits non-zero at the first mismatch.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ENOUGH=10000    # packages; below that the timings say little

fail() {
    echo "demo: FAILED in $1" >&2
    exit 1
}

run_sql() {
    psql -X -q -v ON_ERROR_STOP=1 -P pager=off "$@"
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
    [ "$(count "$1")" -gt 0 ] || fail "import: no package lists found"
}

export here    # for 8-async.sql
export PGCLIENTENCODING=UTF8
export PGOPTIONS="${PGOPTIONS:-} -c search_path=demo,public -c client_min_messages=warning"

started=$SECONDS
run_sql -f "$here/prepare.sql" || fail "prepare.sql"

echo "== Import: one JSONB document for each package of Debian's package index"
echo
find_packages "$work/packages"
perl "$here/import.pl" "$work/packages" |
    run_sql -c 'COPY package (id, doc) FROM STDIN' || fail "import"

for step in import advise 1-section 2-size 3-depends 4-listing 5-changes 6-priority 7-sizes 8-async 9-summary; do
    run_sql -f "$here/$step.sql" || fail "$step.sql"
done
echo
echo "demo: all steps passed, every answer the same ($((SECONDS - started)) s)"
