#!/bin/bash
# Runs real client libraries on JSON conditions as their documentation writes them, and compares what they get with and without index
# tables. `make clients` calls it with PGHOST, PGPORT, PGUSER and PGDATABASE pointing at a throw-away server, as a superuser.
#
# Each driver beside this file runs its cases five times, in a database of its own: with indextable.planner = off and force, with generic
# plans, and again off and force over documents of other kinds. What the library sends, and the plans, are taken from the server's log.
# Answers, and what the tables contain afterwards, must be the same. `matrix` shows what was searched, and why the rest was not. It writes
# docs/clients.md, if all libraries could be run.
#
#   CLIENTS="knex django"    only these
#   PAGE=FILE                the page; empty: none
#   INDEXTABLE_CACHE         where npm's packages are kept for the next time: see test/run/releases.sh
#
# Debian's packages, which the heads of the drivers name, and npm's are installed where they can be had. A driver without its library
# exits with 77, and the others go on.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repo=$here/../..
cache=${INDEXTABLE_CACHE:-${XDG_CACHE_HOME:-/var/cache}/indextable}/clients
results=$repo/test/output/clients
failed=0 absent=()

note() { echo "clients: $*"; }
head_of() { sed -n "s,^[/# ]*$2: ,,p" "$1" | head -n 1; }
ask() { psql -XqAtv ON_ERROR_STOP=1 "$@"; }

# ---- what is to be installed

drivers=()
for driver in "$here"/*; do
	name=$(basename "${driver%.*}")
	[ -n "$(head_of "$driver" name)" ] && [[ " ${CLIENTS:-$name} " = *" $name "* ]] && drivers+=("$driver")
done
[ "${#drivers[@]}" -gt 0 ] || { note "there is no such driver"; exit 1; }

root=()
[ "$(id -u)" = 0 ] || root=(sudo)
command -v npm >/dev/null && packages="" || packages="nodejs npm"
for wanted in "$packages" $(for driver in "${drivers[@]}"; do head_of "$driver" packages | tr ' ' '+'; done); do
	missing=()
	for package in ${wanted//+/ }; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
	done
	[ "${#missing[@]}" = 0 ] || { note "installing ${missing[*]}"; "${root[@]}" "$repo/test/run/install-packages" "${missing[@]}" || :; }
done

mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ] || cache=$(mktemp -d)
if ! cmp -s "$here/package.json" "$cache/installed"; then
	note "installing npm's packages in $cache"
	cp "$here/package.json" "$cache/package.json"
	# Nothing that a package would run when it is installed is needed. If one cannot be had, the others are installed one by one.
	npm=(npm --prefix "$cache" --ignore-scripts --no-audit --no-fund --legacy-peer-deps --silent)
	if "${npm[@]}" install; then cp "$here/package.json" "$cache/installed"
	else
		for package in $(sed -n 's/^ *"\(.*\)": "\([0-9.]*\)",*$/\1@\2/p' "$here/package.json"); do
			"${npm[@]}" install --no-save "$package" || note "$package cannot be had"
		done
	fi
fi

# ---- the documents

for data in clean others; do
	ask -c "CREATE DATABASE $data"
	ask -d $data -v others=$([ $data = clean ] && echo 0 || echo 1) -f "$here/setup.sql" >/dev/null
done
log=$(ask -c "SELECT current_setting('data_directory') || '/' || pg_current_logfile('jsonlog')")
mkdir -p "$results"

# one_run DRIVER NAME DATA MODE: runs the driver in a database of its own, and keeps its answers and its part of the log
one_run() {
	local driver=$1 out=$results/$2.$3.$4 status=0 start program=()
	ask -c "CREATE DATABASE app TEMPLATE $3" -c "ALTER DATABASE app SET indextable.planner = $([ "$4" = generic ] && echo force || echo "$4")"
	[ "$4" != generic ] || ask -c "ALTER DATABASE app SET plan_cache_mode = force_generic_plan"
	start=$(stat -c %s "$log")
	case $driver in
	*.js) cp "$here"/*.js "$cache"; driver=$cache/$(basename "$driver"); program=(node) ;;
	*.py) program=(/usr/bin/python3 -B) ;;
	*.rb) program=(ruby) ;;
	*.pl) program=(/usr/bin/perl) ;;
	*.php) program=(php) ;;
	esac
	PGDATABASE=app timeout 300 "${program[@]}" "$driver" >"$out.answers" 2>"$out.errors" || status=$?
	if [ $status != 77 ] && [ $status != 0 ]; then
		note "$2 FAILED with status $status ($3, $4):"
		tail -n 5 "$out.errors"
		failed=1
	fi
	if [ $status = 0 ]; then
		tail -c +$((start + 1)) "$log" >"$out.log"
		ask -d app -c "SET indextable.planner = off" -c "SELECT json_build_array('the table afterwards', md5(string_agg(id || doc::text, ',' ORDER BY id))) FROM person" >>"$out.answers"
		[ "$(ask -d app -c "SELECT count(*) FROM indextable_internal.definition d, indextable.verify(d.index_table)")" = 0 ] ||
			{ note "FAILED: index tables are wrong after $2 ($3, $4)"; failed=1; }
	fi
	ask -c "DROP DATABASE app WITH (FORCE)"
	return $status
}

ran=()
rm -f "$results"/*
for driver in "${drivers[@]}"; do
	name=$(basename "${driver%.*}") status=0
	for run in "clean off" "clean force" "clean generic" "others off" "others force"; do
		one_run "$driver" "$name" $run || status=$?
		[ $status = 0 ] || break
	done
	case $status in
	0) ran+=("$driver"); note "$(head_of "$driver" name) was run" ;;
	77) absent+=("$name"); note "$(head_of "$driver" name) cannot be had here (77): $(tail -n 1 "$results/$name.clean.off.errors" | cut -c1-150)" ;;
	esac
done
[ "${#ran[@]}" -gt 0 ] || { note "no library could be run"; exit 77; }

# ---- schema tools

if [ -z "${CLIENTS:-}" ]; then
	ask -c "CREATE DATABASE tools" -c "CREATE DATABASE loaded"
	ask -d tools >/dev/null <<-'SQL'
		CREATE EXTENSION indextable;
		CREATE SCHEMA index_tables;
		CREATE TABLE person (id int PRIMARY KEY, doc jsonb NOT NULL);
		SELECT indextable.create('person_town', 'person', '{town}', sparse => true), indextable.create('index_tables.person_age', 'person', '{age::int}');
		ALTER DATABASE tools SET indextable.drop_table = off;
	SQL
	cp "$here"/*.js "$cache"
	for program in "node $cache/schema_tools.js" "ruby $here/schema_tools.rb"; do
		status=0
		PGDATABASE=tools timeout 300 $program || status=$?
		[ $status = 0 ] || [ $status = 77 ] || { note "$program FAILED with status $status"; failed=1; }
	done
fi

if [ -z "${PAGE-x}" ] || [ "${#absent[@]}" -gt 0 ] || [ -n "${CLIENTS:-}" ] || [ "$failed" = 1 ]; then page=${PAGE:-$results/clients.md}; else page=${PAGE:-$repo/docs/clients.md}; fi
PGDATABASE=clean "$here/matrix" "$results" "$page" "${ran[@]}" || failed=1
note "the page is $page; ${#ran[@]} libraries were run, ${#absent[@]} cannot be had here"
exit $failed
