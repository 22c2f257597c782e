#!/bin/bash
# JSONBench, ClickHouse's benchmark of JSON in databases, on a plain table, with the index that it gives PostgreSQL, with generated
# columns under an index that covers the queries, and with index tables. Called by "make jsonbench", with PGHOST, PGPORT, PGUSER and PGDATABASE naming a superuser of a throw-away server.
#
# queries.sql has the five queries as they are published; of generated columns they have to be asked by name, so they are rewritten
# for these, which show what the server needs for rows that it reads from an index as ordinary values. events.sql makes the
# documents. The sides take turns, round by round.
# Figures are medians: CPU time of the backend, without parallel workers, so that others on the machine matter less. "beside" is
# the same while documents are inserted into the table. "workers" is the elapsed time without and with two parallel workers, which
# wants two idle cores. All sides have to give the same answers.
#
#   ROWS=1000000 ROUNDS=5 SEED=1    documents, rounds, and which documents
#   RATE=1000                       documents inserted a second, "beside"
#   OUT=FILE                        where the tables go, default test/output/jsonbench.md
#   PAGE=FILE                       the page that has them between "<!-- measured -->" and "<!-- end -->", default README.md beside
#                                   this file; none with fewer documents than that, or if empty
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${ROWS:=1000000}" "${ROUNDS:=5}" "${SEED:=1}" "${RATE:=1000}" "${OUT:=$here/../output/jsonbench.md}"
: "${PAGE=$([ "$ROWS" -lt 1000000 ] || echo "$here/README.md")}"
SIDES="heap expression columns entries"
export PGOPTIONS="-c jit=off -c synchronize_seqscans=off -c synchronous_commit=off -c work_mem=64MB -c client_min_messages=warning -c max_parallel_workers_per_gather=0"

sql() { psql -XAtq -v ON_ERROR_STOP=1 "$@"; }
say() { printf '%s %s\n' "$(date +%T)" "$*" >&2; }
die() { echo "jsonbench: $*" >&2; exit 1; }
cleanup() { [ -z "$inserts" ] || kill "$inserts" 2> /dev/null || :; rm -rf "$tmp"; }
inserts='' tmp=$(mktemp -d)
trap cleanup EXIT

# queries SIDE KIND ROUND: runs all queries; lines of kind, query, side, CPU ms, elapsed ms, and of the answers
queries() {
	local n=0 query names=
	[ "$1" != columns ] || names="s/data ?-> ?'commit' ?->> ?'(operation|collection)'/\\1/g; s/\\(data ?->> ?'time_us'\\)::BIGINT/time_us/g; s/data ?->> ?'(kind|did)'/\\1/g"
	{
		echo "SET search_path = $1;"
		while IFS= read -r query; do
			n=$((n + 1))
			[ "$2" != workers ] || echo "SET max_parallel_workers_per_gather = 2;"
			echo "SELECT jsonbench.cpu_ns() AS cpu, clock_timestamp() AS began \\gset"
			echo "${query%;} \\g $tmp/answer.$2.$1.$n"
			echo "SELECT concat_ws(' ', '$2', $n, '$1', round((jsonbench.cpu_ns() - :cpu) / 1e6, 1), round(extract(epoch FROM clock_timestamp() - :'began')::numeric * 1000, 1));"
		done < <(sed -E "$names" "$here/queries.sql")
	} | sql >> "$tmp/lines"
}

say "making $ROWS documents"
sql -f "$here/events.sql"
sql <<-SQL
	CREATE TABLE heap.bluesky (data JSONB COMPRESSION lz4 NOT NULL);
	INSERT INTO heap.bluesky SELECT data FROM jsonbench.events(1, $ROWS, $SEED);
	CREATE TABLE expression.bluesky (data JSONB COMPRESSION lz4 NOT NULL);
	INSERT INTO expression.bluesky SELECT data FROM heap.bluesky;
	CREATE TABLE columns.bluesky (data JSONB COMPRESSION lz4 NOT NULL, kind text GENERATED ALWAYS AS (data ->> 'kind') STORED,
		operation text GENERATED ALWAYS AS (data -> 'commit' ->> 'operation') STORED, collection text GENERATED ALWAYS AS (data -> 'commit' ->> 'collection') STORED,
		did text GENERATED ALWAYS AS (data ->> 'did') STORED, time_us bigint GENERATED ALWAYS AS ((data ->> 'time_us')::bigint) STORED);
	INSERT INTO columns.bluesky (data) SELECT data FROM heap.bluesky;
	CREATE INDEX idx_columns ON columns.bluesky (kind, operation, collection, did) INCLUDE (time_us);
	CREATE TABLE entries.bluesky (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, data jsonb COMPRESSION lz4 NOT NULL);
	INSERT INTO entries.bluesky (data) SELECT data FROM heap.bluesky;
	CREATE TABLE jsonbench.sample AS SELECT row_number() OVER () AS n, data FROM jsonbench.events($ROWS + 1, 20000, $SEED);
	CREATE UNIQUE INDEX ON jsonbench.sample (n);
	CREATE INDEX idx_bluesky ON expression.bluesky ((data ->> 'kind'), (data -> 'commit' ->> 'operation'), (data -> 'commit' ->> 'collection'),
		(data ->> 'did'), (TO_TIMESTAMP((data ->> 'time_us')::BIGINT / 1000000.0)));
SQL
say "making index tables"
sql <<-'SQL' > /dev/null
	SELECT indextable.create('entries.by_kind', 'entries.bluesky', '{kind, commit.operation, commit.collection, did}', include => '{time_us::bigint}');
	SELECT indextable.create('entries.events', 'entries.bluesky', '{commit.collection}', totals => '{count(*)}');
SQL
for side in $SIDES; do sql -c "VACUUM (FREEZE, ANALYZE) $side.bluesky"; done
sql -c 'VACUUM (FREEZE, ANALYZE) entries.by_kind' -c 'VACUUM (FREEZE, ANALYZE) entries.events' -c CHECKPOINT

for ((round = 1; round <= ROUNDS; round++)); do
	say "round $round of $ROUNDS"
	for side in $SIDES; do queries "$side" alone; done
	queries entries serial
	queries entries workers
	for n in 1 2 3 4 5; do
		for side in expression columns entries; do
			cmp -s <(sort "$tmp/answer.alone.heap.$n") <(sort "$tmp/answer.alone.$side.$n") || die "query $n gives another answer with $side"
		done
		cmp -s <(sort "$tmp/answer.alone.heap.$n") <(sort "$tmp/answer.workers.entries.$n") || die "query $n gives another answer with workers"
	done
done
for ((round = 1; round <= ROUNDS; round++)); do
	say "round $round of $ROUNDS, beside inserts"
	for side in $SIDES; do
		printf '\\set n random(1, 20000)\nINSERT INTO %s.bluesky (data) SELECT data FROM jsonbench.sample WHERE n = :n;\n' "$side" > "$tmp/insert.sql"
		pgbench -n -M prepared -R "$RATE" -T 3600 -f "$tmp/insert.sql" > /dev/null 2>&1 &
		inserts=$!
		sleep 1
		queries "$side" beside
		kill "$inserts"
		wait "$inserts" 2> /dev/null || :
		inserts=
	done
done
for table in by_kind events; do [ -z "$(sql -c "SELECT FROM indextable.verify('entries.$table') LIMIT 1")" ] || die "$table is wrong"; done

mkdir -p "$(dirname "$OUT")"
awk -v sides="$SIDES" -f "$here/jsonbench.awk" "$tmp/lines" > "$tmp/tables.md"
{
	cat "$tmp/tables.md"
	printf '\n%s documents of %s bytes on average; %s; %s cores, with a load of %s; medians of %s rounds.\n' "$ROWS" \
		"$(sql -c 'SELECT round(avg(pg_column_size(data))) FROM heap.bluesky')" "PostgreSQL $(sql -c "SELECT split_part(current_setting('server_version'), ' ', 1)")" \
		"$(nproc)" "$(cut -d' ' -f1 /proc/loadavg)" "$ROUNDS"
	printf 'Sizes: '
	sql -c "SELECT string_agg(name || ' ' || pg_size_pretty(size), ', ') FROM (VALUES ('table', pg_total_relation_size('heap.bluesky')),
		('idx_bluesky', pg_relation_size('expression.idx_bluesky')), ('index of generated columns', pg_relation_size('columns.idx_columns')), ('by_kind', pg_total_relation_size('entries.by_kind')),
		('events', pg_total_relation_size('entries.events'))) s (name, size)" | sed 's/$/./'
} > "$OUT"
[ -z "$PAGE" ] || { awk -v file="$OUT" '/^<!-- end -->$/ { print ""; hidden = 0 } !hidden { print } /^<!-- measured -->$/ { print ""; while ((getline line < file) > 0) print line; hidden = 1 }' "$PAGE" > "$tmp/page.md" && cat "$tmp/page.md" > "$PAGE"; }
cat "$OUT"
