#!/bin/bash
# Draws docs/costs-ways.svg and docs/costs-growth.svg from the tables of results.md. Called by bench.sh, and by hand as
#   test/bench/pictures.sh
# Wants gnuplot (Debian: gnuplot-nox).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
LC_ALL=C awk -F '|' -v folder="$data" -f "$here/pictures.awk" "$here/results.md"
gnuplot -e "data = '$data'; pictures = '$here/../../docs'" "$here/pictures.gp"
