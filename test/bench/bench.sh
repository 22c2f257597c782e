#!/bin/bash
# What index tables cost and gain beside PostgreSQL's own indexes and hand-written triggers. Called by "make bench", with
# PGHOST, PGPORT, PGUSER and PGDATABASE naming a superuser of a throw-away server on this machine; autovacuum and
# checkpoints are held off there while it runs.
#
# Prints Markdown tables, what was run and where, and writes the same to $OUT. The full profile also puts each table that it has
# measured as a whole in its place in $PAGE, between "<!-- measured: … -->" and "<!-- end -->". It measures and asserts
# nothing but that all sides give the same answers. Everything is CPU time of the backend, from /proc/PID/schedstat: it leaves out
# waiting, the client and other processes; and instructions, counted by callgrind. What is asynchronous is given in elapsed time,
# too: "drain" and "lag" want idle cores, and so does "life", which gives both. The variants take turns, round by round, each on
# tables made new. The last section, "reach", has every figure that the project has an aim for. In the page it keeps
# the lines of those parts that were not run.
#
#   QUICK=1           a small profile, about ten minutes on idle cores; rough: bulk inserts and reads need the full sizes
#   PARTS="bulk"      some of: single rows, instructions (beside the CPU time that the page has), arrays, bulk, wide
#                     documents; reads, fetched rows, sizes; growth: cost by the number of entries; of asynchronous maintenance: enqueue
#                     (also many index tables), drain held lag; life: building, verifying, repairing; beside: writers beside a build;
#                     partitions: fact tables that are partitioned; retention: partitions that are dropped; shards: on other servers, feeds; planner: plain SQL; what_if: predictions; totals; and
#                     elements: two fields of one element of an array
#   VARIANTS="none expression row_trigger indextable"    some of variants/*.sql; none is needed
#   ROUNDS ROWS_BASE ROWS_SINGLE ROWS_ARRAYS ROWS_ELEMENTS ROWS_BULK ROWS_COPY ROWS_WIDE ROWS_READ ROWS_CALLGRIND TOWNS SECONDS_READ    sizes, see below
#   ROWS_ENQUEUE STATEMENTS_ENQUEUE COUNTS ROWS_DRAIN ROWS_HELD ROWS_LAG SECONDS_SESSIONS SECONDS_UPDATES SECONDS_LAG SECONDS_IDLE
#   ROWS_LIFE WRONG SECONDS_LIFE ROWS_PARTITIONS PARTITIONS ROWS_RETENTION SIZES_GROWTH STATEMENTS_GROWTH
#   PG_IVM=FOLDER     the sources of the extension pg_ivm, which is built and becomes a variant, where the server has a place of its
#                     own for extensions; else it is left out
#   HINT="…"          an argument of create(), with which "fetched" measures another index table
#   VERBOSE=1         the scans that the reads were answered by
#   ALLOW_MISSING=1   goes on without indextable when the extension can't be created
#   OUT=FILE          where the tables go, default test/output/bench.md
#   PAGE=FILE         the page that they are put into, default results.md beside this file; none with QUICK=1, or if empty. What of it users
#                     want to know goes to docs/costs.md, and to its pictures
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

if [ "${QUICK:-0}" = 1 ]; then
	: "${ROWS_ENQUEUE:=5000}" "${STATEMENTS_ENQUEUE:=3000}" "${COUNTS:=1 8}" "${ROWS_DRAIN:=20000}" "${ROWS_HELD:=100000}" "${ROWS_LAG:=20000}"
	: "${SECONDS_SESSIONS:=3}" "${SECONDS_UPDATES:=1}" "${SECONDS_LAG:=4}" "${SECONDS_IDLE:=3}"
	: "${ROWS_LIFE:=50000}" "${WRONG:=10 1000 10000}" "${SECONDS_LIFE:=2}"
	: "${ROWS_RETENTION:=10000}" "${ROWS_PARTITIONS:=20000}" "${PARTITIONS:=1 16 64 256}"
	: "${SIZES_GROWTH:=1000 10000 100000}" "${STATEMENTS_GROWTH:=500}" "${ROWS_ARRAYS:=4000}" "${ROWS_COPY:=50000}" "${ROWS_CALLGRIND:=300}" "${ROWS_ELEMENTS:=20000}"
	: "${ROUNDS:=2}" "${ROWS_BASE:=10000}" "${ROWS_SINGLE:=4000}" "${ROWS_BULK:=50000}" "${ROWS_WIDE:=1000}" "${ROWS_READ:=10000}" "${SECONDS_READ:=1}"
fi
: "${ROUNDS:=5}"
: "${ROWS_BASE:=50000}"      # rows a table holds before single rows are measured
: "${ROWS_SINGLE:=20000}"    # statements a round, one row each
: "${ROWS_ARRAYS:=10000}"    # rows of the same with arrays
: "${ROWS_ELEMENTS:=1000000}"    # orders with lines
: "${ROWS_CALLGRIND:=1000}"    # of which instructions are counted
: "${ROWS_BULK:=500000}"     # rows in one INSERT … SELECT
: "${ROWS_COPY:=200000}"     # in one COPY
: "${ROWS_WIDE:=5000}"       # the same as ROWS_BASE and ROWS_SINGLE, for 4 KB documents
: "${ROWS_READ:=100000}"     # rows that are read from
: "${SECONDS_READ:=2}"       # for each side of each read in a round
: "${ROWS_ENQUEUE:=30000}" "${STATEMENTS_ENQUEUE:=10000}"    # as ROWS_BASE and ROWS_SINGLE, while changes are queued
: "${COUNTS:=1 2 4 8}"       # numbers of index tables, at most 8
: "${ROWS_DRAIN:=100000}"    # changes that are drained
: "${ROWS_HELD:=1000000}"    # changes while a transaction is left open
: "${ROWS_LAG:=200000}"      # rows whose keys are moved under load
: "${SECONDS_SESSIONS:=10}"  # of many sessions that are counted
: "${SECONDS_UPDATES:=2}"    # single-row updates, to compare the drain with
: "${SECONDS_LAG:=20}"       # under load
: "${SECONDS_IDLE:=10}"      # and without
: "${ROWS_LIFE:=1000000}"    # rows of an index table that is made, verified and repaired
: "${WRONG:=10 1000 100000}"    # numbers of wrong entries that are repaired
: "${SECONDS_LIFE:=15}"      # of writing beside a build
: "${ROWS_PARTITIONS:=100000}"    # rows that are read from partitions
: "${ROWS_RETENTION:=100000}"    # rows of a partition that is dropped or detached
: "${PARTITIONS:=1 16 64 256 1024}"    # numbers of partitions; the last ones want max_locks_per_transaction
: "${SIZES_GROWTH:=10000 100000 1000000 10000000}"    # numbers of entries; ten times the last is extrapolated
: "${STATEMENTS_GROWTH:=1000}"    # of each kind at each, a round
: "${TOWNS:=5000}"           # distinct keys in the write tests, at most 10,000
: "${PARTS:=single instructions arrays bulk wide reads fetched sizes growth enqueue drain held lag life beside partitions retention shards feeds planner what_if totals elements}"
: "${PG_IVM:=}" "${HINT:=}" "${PG_CONFIG:=pg_config}"
ALL_VARIANTS="none expression generated gin row_trigger statement_trigger ${PG_IVM:+pg_ivm }empty_trigger floor indextable"
ARRAY_VARIANTS="none gin floor indextable"
: "${VARIANTS:=$ALL_VARIANTS}"
: "${OUT:=$here/../output/bench.md}"
: "${PAGE=$([ "${QUICK:-0}" = 1 ] || echo "$here/results.md")}"
: "${VERBOSE:=0}" "${ALLOW_MISSING:=0}"

declare -A ORDERS=([600]=2 [marks]=2 [4k]=26)    # document size → orders in its history
SESSION="-c synchronous_commit=off -c client_min_messages=warning -c jit=off -c max_parallel_workers_per_gather=0 -c synchronize_seqscans=off"
# Where native indexes and index tables are on the same fact table, plain SQL is answered by the native ones.
NOT_BY_PLANNER="$SESSION -c indextable.planner=off"
export PGAPPNAME=indextable_bench PGOPTIONS=$SESSION

say() { printf '%s\n' "$*" >&2; }
die() { say "bench: $*"; exit 1; }
sql() { psql -XqAt -F $'\t' -v ON_ERROR_STOP=1 "$@"; }
wants() { [[ " $PARTS " == *" $1 "* ]]; }

cleanup() {
	trap - EXIT INT TERM
	PGOPTIONS="-c client_min_messages=error -c lock_timeout=20s" sql >/dev/null <<-SQL || true
		SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'indextable_bench' AND pid <> pg_backend_pid();
		ALTER DATABASE :"DBNAME" RESET session_preload_libraries;
		ALTER SYSTEM RESET autovacuum;
		ALTER SYSTEM RESET checkpoint_timeout;
		ALTER SYSTEM RESET max_wal_size;
		SELECT pg_reload_conf();
		DROP SCHEMA IF EXISTS bench CASCADE;
		DROP SCHEMA IF EXISTS bench_data CASCADE;
	SQL
	PGOPTIONS="-c client_min_messages=error" drop_shards >/dev/null 2>&1 || true
	rm -rf "$tmp"
}

# metered FILE [VARIABLE]: a transaction for pgbench of the statements in FILE, that notes the backend's CPU time, and a variable of theirs
# A transaction's statements are sent in one pipeline: waking up for each would cost more than what is measured, and never the same.
# (PROTOCOL=simple knows no pipelines.)
metered() {
	echo '\set transaction :transaction + 1'
	echo 'SELECT bench_data.cpu_ns() AS before_ns \gset'
	if [ "${PROTOCOL:-}" != simple ]; then echo '\startpipeline'; fi
	echo 'BEGIN;'
	cat "$1"
	echo 'COMMIT;'
	if [ "${PROTOCOL:-}" != simple ]; then echo '\endpipeline'; fi
	echo "INSERT INTO bench_data.cpu VALUES (:transaction, :before_ns, bench_data.cpu_ns()${2:+, :$2});"
}

# metered_us COUNT: a query for the CPU µs of a statement, of COUNT to a transaction. First executions are left out.
metered_us() {
	echo "SELECT round(sum(after_ns - before_ns) / count(*) / $1 / 1000, 3) FROM bench_data.cpu
		WHERE transaction > CASE WHEN (SELECT count(*) FROM bench_data.cpu) > 12 THEN 6 ELSE 0 END"
}

# measure FILE COUNT LIMIT... : runs FILE, COUNT statements, as prepared transactions of one pgbench client until LIMIT
# (-t or -T, and further options of pgbench); prints the backend's CPU µs a statement.
measure() {
	local file=$1 count=$2
	shift 2
	metered "$file" > "$tmp/transaction.sql"
	sql -c 'TRUNCATE bench_data.cpu'
	pgbench -n -M "${PROTOCOL:-prepared}" -c 1 -D transaction=0 "$@" -f "$tmp/transaction.sql" > "$tmp/pgbench.log" 2>&1 ||
		{ cat "$tmp/pgbench.log" >&2; die "pgbench failed"; }
	sql -c "$(metered_us "$count")"
}

# source_table SIZE ROWS TOWNS: documents as a client sends them, as text; never compressed nor TOASTed, to be cheap to read
source_table() {
	local document=document
	if [ "$1" = marks ]; then document=marked; fi
	say "making $2 documents of size $1"
	sql <<-SQL
		CREATE UNLOGGED TABLE bench_data.source_$1 (id bigint, doc text);
		ALTER TABLE bench_data.source_$1 ALTER doc SET STORAGE PLAIN;
		INSERT INTO bench_data.source_$1 SELECT id, bench_data.$document(id, $3, ${ORDERS[$1]}) FROM generate_series(1, $2) AS id;
		ALTER TABLE bench_data.source_$1 ADD PRIMARY KEY (id);
		VACUUM ANALYZE bench_data.source_$1;
	SQL
}

# fresh_fact [VARIANT]: an empty fact table, indexed as the variant does; room in its pages lets updates stay HOT
fresh_fact() {
	sql <<-SQL
		DROP SCHEMA IF EXISTS bench CASCADE;
		CREATE SCHEMA bench;
		CREATE TABLE bench.fact (id bigint PRIMARY KEY, doc jsonb NOT NULL) WITH (fillfactor = 80);
	SQL
	if [ $# -gt 0 ]; then sql -v floor="$tmp/floor/floor" -f "$here/variants/$1.sql" > /dev/null; fi
	sql -c CHECKPOINT
}

load_fact() {    # SIZE FIRST LAST
	sql -c "INSERT INTO bench.fact (id, doc) SELECT id, doc::jsonb FROM bench_data.source_$1 WHERE id BETWEEN $2 AND $3 ORDER BY id"
}

. "$here/writes.sh"
. "$here/instructions.sh"
. "$here/reads.sh"
. "$here/fetched.sh"
. "$here/sizes.sh"
. "$here/growth.sh"
. "$here/async.sh"
. "$here/life.sh"
. "$here/partitions.sh"
. "$here/retention.sh"
. "$here/shards.sh"
. "$here/feeds.sh"
. "$here/planner.sh"
. "$here/what_if.sh"
. "$here/totals.sh"
. "$here/elements.sh"

# What is measured, in the order of the report. Each has its lines in a file of that name, and is a section of the page.
SECTIONS="single instructions arrays bulk wide reads fetched sizes growth enqueue many drain held lag life repair beside partitions partition_writes retention shards feeds planner planning what_if totals elements"

# table PROGRAM FILE [VARIABLE]: the table that test/bench/PROGRAM.awk makes of the lines in FILE; what it should reach goes to reached.tsv
table() {
	env LC_ALL=C awk -F '\t' -v section="${section:-}" -v reached="$tmp/reached.tsv" ${3:+-v "$3"} \
		-f "$here/table.awk" -f "$here/$1.awk" "$here/targets.tsv" "$tmp/$2.tsv"
}

own_section() {
	case $1 in
	single | bulk | wide) echo "CPU µs a row, a normalized index table (town, id) over documents of $(size_of "$(if [ "$1" = wide ]; then echo 4k; else echo 600; fi)") bytes" ;;
	arrays) echo "CPU µs a row, a normalized index table (marks, id) with an entry for each of 5 elements" ;;
	reads) echo "A prepared query; whole: its CPU µs from message in to rows out; execution: as EXPLAIN ANALYZE has it, without rows sent" ;;
	esac
	echo
	if [ "$1" = reads ]; then table reads reads; else table writes "$1"; fi
}

own_sizes() {
	case $1 in
	single) echo "$ROWS_SINGLE statements a round on $ROWS_BASE rows, 100 to a transaction, $TOWNS towns" ;;
	arrays) echo "statements on $ROWS_ARRAYS rows, as many inserted, half as many deleted, 100 to a transaction" ;;
	bulk) echo "$ROWS_BULK rows into an empty table, by COPY $ROWS_COPY; $TOWNS towns" ;;
	wide)
		echo "$ROWS_WIDE statements a round on $ROWS_WIDE rows, 100 to a transaction, $TOWNS towns"
		echo "documents are compressed and TOASTed"
		;;
	reads)
		echo "from $ROWS_READ rows, 100 to a town, a fifth of them to a tag"
		echo "documents of 4 KB: $(size_of 4k) bytes, compressed and TOASTed"
		;;
	esac
}

# section NAME: what is measured, the table, and where and with what
section() {
	local group
	case $1 in
	single | arrays | bulk | wide | reads) group=own ;;
	enqueue | many | drain | held | lag) group=async ;;
	life | repair | beside) group=life ;;
	partitions | partition_writes) group=partition ;;
	shards) group=shard ;;
	instructions | fetched | sizes | growth | feeds | retention | what_if | totals | elements) group=$1 ;;
	planner | planning) group=planner ;;
	esac
	${group}_section "$1"
	echo
	${group}_sizes "$1" | sed 's/^/- /'
	if [ "$1" = instructions ]; then echo "- $(date -u +%Y-%m-%d)"
	else echo "- medians (least – most) of $ROUNDS rounds; $(date -u +%Y-%m-%d)"; fi
	echo "- $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -1), $(nproc) cores, $(awk '/^MemTotal/ {printf "%.0f GB", $2 / 1048576}' /proc/meminfo)"
	sql -c "SELECT '- PostgreSQL ' || current_setting('server_version') || ', shared_buffers ' || current_setting('shared_buffers') || ', collation ' || datcollate
		FROM pg_database WHERE datname = current_database()"
}

# is_whole NAME: whether all of a section was run
is_whole() {
	case $1 in
	single | bulk | wide) [ "$VARIANTS" = "$ALL_VARIANTS" ] ;;
	*) true ;;
	esac
}

# reach_section: what should be reached, of this run, and of the page for sections that were not run
reach_section() {
	local page=${PAGE:-/dev/null}
	[ -e "$page" ] || page=/dev/null
	awk '/^<!-- measured: / { here = $3 == "reach" } here && /^\| [a-z_]+ / { gsub(/ *\| */, "\t"); sub(/^\t/, ""); sub(/\t$/, ""); print }' "$page" |
		awk -F '\t' 'FILENAME != "-" { now[$1] = 1; next } $1 != "part" && !($1 in now)' "$tmp/reached.tsv" - | cat "$tmp/reached.tsv" - |
		awk -F '\t' -v sections="$SECTIONS" '{ lines[$1] = lines[$1] $0 "\n" } END { n = split(sections, s, " "); for (i = 1; i <= n; i++) printf "%s", lines[s[i]] }' > "$tmp/reach.tsv"
	table reach reach
}

# report: into files, a section each; those that were run as a whole go to the page
report() {
	local section
	mkdir "$tmp/sections" "$tmp/whole"
	: > "$tmp/reached.tsv"
	# what is made of the same lines
	if [ -s "$tmp/enqueue.tsv" ]; then cp "$tmp/enqueue.tsv" "$tmp/many.tsv"; fi
	for section in $SECTIONS; do
		[ -s "$tmp/$section.tsv" ] || continue
		section "$section" > "$tmp/sections/$section.md"
		if is_whole "$section"; then cp "$tmp/sections/$section.md" "$tmp/whole"; fi
		printf '## %s\n\n' "$section"
		cat "$tmp/sections/$section.md"
		echo
	done
	if [ -s "$tmp/growth.tsv" ]; then growth_plot > "$tmp/growth.svg"; fi
	section=reach
	reach_section > "$tmp/whole/reach.md"
	printf '## reach\n\n'
	cat "$tmp/whole/reach.md"
}

# put_into PAGE: replaces what is between the marks of the sections in $tmp/whole
put_into() {
	awk -v folder="$tmp/whole" '
		/^<!-- end -->$/ { if (replaced) print ""; replaced = 0 }
		!replaced
		/^<!-- measured: [a-z_]+ -->$/ {
			file = folder "/" $3 ".md"
			while ((getline line < file) > 0) { if (!replaced) print ""; replaced = 1; print line }
		}' "$1" > "$tmp/page.md"
	cat "$tmp/page.md" > "$1"
}

size_of() { sql -c "SELECT round(avg(pg_column_size(bench_data.document(id, 1000, ${ORDERS[$1]})::jsonb))) FROM generate_series(1, 500) AS id"; }

[ -r /proc/self/schedstat ] || die "needs /proc/PID/schedstat, which this kernel does not have"
command -v pgbench > /dev/null || die "needs pgbench"
[[ " $VARIANTS " == *" none "* ]] || die "VARIANTS needs none"
[ "$(sql -c "SELECT rolsuper FROM pg_roles WHERE rolname = current_user")" = t ] || die "needs a superuser of a throw-away server"

tmp=$(mktemp -d)
trap cleanup EXIT
trap 'exit 130' INT TERM
chmod 755 "$tmp"    # for the server, which may run as another user

# The triggers in C that index tables are compared with
mkdir -m 755 "$tmp/floor"
cp "$here/floor/Makefile" "$here/floor/floor.c" "$tmp/floor"
make -s -C "$tmp/floor" PG_CONFIG="$PG_CONFIG" > "$tmp/floor.log" 2>&1 || { cat "$tmp/floor.log" >&2; die "floor.c could not be built"; }

# pg_ivm goes where the server looks for extensions besides its own place
if [ -n "$PG_IVM" ]; then
	libraries=$($PG_CONFIG --pkglibdir)
	place=$(sql -c 'SHOW dynamic_library_path')
	place=${place%%:*}
	if [[ $place = /*"$libraries" ]]; then
		cp -R "$PG_IVM" "$tmp/pg_ivm"
		make -s -C "$tmp/pg_ivm" install with_llvm=no PG_CONFIG="$PG_CONFIG" DESTDIR="${place%"$libraries"}" > "$tmp/pg_ivm.log" 2>&1 ||
			{ tail -20 "$tmp/pg_ivm.log" >&2; die "pg_ivm could not be built"; }
		sql -c 'CREATE EXTENSION IF NOT EXISTS pg_ivm'
	else
		say "bench: going on WITHOUT pg_ivm: the server has no place of its own for extensions"
		VARIANTS=${VARIANTS/pg_ivm /} ALL_VARIANTS=${ALL_VARIANTS/pg_ivm /}
	fi
fi

if ! sql -c 'CREATE EXTENSION IF NOT EXISTS indextable' 2> "$tmp/extension.log"; then
	cat "$tmp/extension.log" >&2
	[ "$ALLOW_MISSING" = 1 ] || die "the extension indextable can't be created (ALLOW_MISSING=1 goes on without it)"
	say "bench: going on WITHOUT indextable: no such variant, no reads, nothing asynchronous, no life, no partitions, no retention, no shards, no plain SQL"
	VARIANTS=${VARIANTS/indextable/}
	for part in instructions arrays reads fetched sizes growth enqueue drain held lag life beside partitions retention shards feeds planner what_if totals elements; do PARTS=${PARTS/$part/}; done
else
	sql -c 'SELECT indextable.stop_workers()' > /dev/null
	# for the planner, if the server does not preload the library
	sql <<< "ALTER DATABASE :\"DBNAME\" SET session_preload_libraries = 'indextable'"
fi

sql > /dev/null <<-SQL
	ALTER SYSTEM SET autovacuum = off;
	ALTER SYSTEM SET checkpoint_timeout = '1d';
	ALTER SYSTEM SET max_wal_size = '64GB';
	SELECT pg_reload_conf();
	DROP SCHEMA IF EXISTS bench_data CASCADE;
	CREATE SCHEMA bench_data;
SQL
sql -f "$here/documents.sql"

# in_time COMMAND: says how long it took
in_time() {
	local began=$SECONDS
	"$@"
	if ((SECONDS - began > 0)); then say "$1: $((SECONDS - began)) s"; fi
}

in_time write_parts
if wants instructions; then in_time instructions_part; fi
if wants reads; then in_time read_part; fi
if wants fetched; then in_time fetched_part; fi
if wants sizes; then in_time sizes_part; fi
if wants growth; then in_time growth_part; fi
in_time async_parts
if wants life || wants beside; then in_time life_part; fi
if wants partitions; then in_time partition_part; fi
if wants retention; then in_time retention_part; fi
if wants shards; then in_time shard_part; fi
if wants feeds; then in_time feeds_part; fi
if wants planner; then in_time planner_part; fi
if wants what_if; then in_time what_if_part; fi
if wants totals; then in_time totals_part; fi
if wants elements; then in_time elements_part; fi

mkdir -p "$(dirname "$OUT")"
report > "$tmp/report.md"
cp "$tmp/report.md" "$OUT"
if [ -s "$tmp/growth.svg" ]; then cp "$tmp/growth.svg" "$(dirname "${PAGE:-$OUT}")/growth.svg"; fi
if [ -n "$PAGE" ]; then put_into "$PAGE"; fi
if [ "$PAGE" = "$here/results.md" ]; then
	awk -F '|' -f "$here/ratios.awk" "$PAGE" "$here/../../docs/costs.md" > "$tmp/costs.md"
	cat "$tmp/costs.md" > "$here/../../docs/costs.md"
	"$here/pictures.sh"
fi
cat "$tmp/report.md"
