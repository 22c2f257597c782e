#!/bin/bash
# Runs what is in examples/: the REST service and the Python client through pgbouncer, as a role that owns its tables and nothing
# else, and retention by pg_partman and pg_cron. `make examples` calls it with PGHOST, PGPORT, PGUSER and PGDATABASE pointing at a
# throw-away server, as a superuser. It exits non-zero at the first thing that is not as it should be.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
examples=$here/../../examples
work=$(mktemp -d)
service= bouncer=

clean_up() {
	[ -z "$service" ] || kill "$service" 2>/dev/null || :
	[ -z "$bouncer" ] || kill "$bouncer" 2>/dev/null || :
	wait 2>/dev/null || :
	rm -rf "$work"
}
trap clean_up EXIT

fail() { echo "examples: FAILED: $1" >&2; exit 1; }
run_sql() { psql -Xqv ON_ERROR_STOP=1 -P pager=off "$@"; }
ask() { run_sql -At -c "$1"; }

# same WHAT GOT WANTED
same() { [ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"; echo "  $1"; }

# until_true SQL: waits for it, five minutes at most
until_true() {
	local try
	for try in $(seq 1500); do
		[ "$(ask "$1")" != t ] || return 0
		sleep 0.2
	done
	fail "this did not come true: $1"
}

# ---- retention is begun first, because pg_cron looks at the clock once a minute

echo "== Retention: pg_partman and pg_cron"
run_sql -f "$examples/retention.sql" >/dev/null || fail "retention.sql"
run_sql <<-'SQL' >/dev/null
	INSERT INTO event (created, doc) SELECT d, jsonb_build_object('user', 'u' || i % 10, 'kind', 'login')
	FROM generate_series(current_date - 39, current_date, '1 day') d, generate_series(1, 100) i;
	SELECT cron.schedule('event partitions', '* * * * *', 'CALL partman.run_maintenance_proc()');
SQL
same "one index table over $(ask "SELECT count(*) FROM pg_inherits WHERE inhparent = 'event'::regclass") partitions" \
	"$(ask "SELECT count(*) FROM event_by_user WHERE \"user\" = 'u7'")" 400

# ---- the service and the client, as a role without rights, through pgbouncer

echo "== A role that owns its tables, and pgbouncer in transaction mode"
run_sql -c "CREATE ROLE app LOGIN" -c "CREATE DATABASE app OWNER app" -c '\c app' -c "CREATE EXTENSION indextable"
export PGDATABASE=app PGUSER=app
run_sql -f "$examples/schema.sql" >/dev/null || fail "schema.sql"
run_sql -f "$examples/schema.sql" >/dev/null 2>&1 || fail "schema.sql cannot be run again"
sed "s,^\* = .*,* = host=$PGHOST port=$PGPORT,; s,^unix_socket_dir = .*,unix_socket_dir = $work," "$examples/pgbouncer.ini" >"$work/pgbouncer.ini"
echo '"app" ""' >"$work/userlist.txt"
user=()
if [ "$(id -u)" = 0 ]; then user=(-u postgres); chown -R postgres "$work"; fi    # pgbouncer refuses to be root
(cd "$work" && exec pgbouncer -q "${user[@]}" pgbouncer.ini >"$work/pgbouncer.log" 2>&1) &
bouncer=$!
server=$PGHOST server_port=$PGPORT
export PGHOST=$work PGPORT=6432
for try in $(seq 300); do pg_isready -q && break; sleep 0.2; done
pg_isready -q || { cat "$work/pgbouncer.log"; fail "pgbouncer"; }
same "pgbouncer answers" "$(ask 'SELECT 1')" 1
shown="SELECT current_setting('indextable.stale_reads')"
same "SET LOCAL holds in its transaction" "$(ask "BEGIN; SELECT FROM indextable.explain(NULL); SET LOCAL indextable.stale_reads = on; $shown; COMMIT")" on
same "and reaches nobody else" "$(ask "SELECT FROM indextable.explain(NULL); $shown")" off

echo "== The client in Python"
for i in $(seq 1200); do
	echo "{\"slug\": \"a-$i\", \"title\": \"Article $i\", \"author\": \"author $((i % 3))\", \"tags\": [\"all\", \"t$((i % 7))\"], \"published\": \"2026-0$((1 + i % 9))-1$((i % 10))\"}"
done >"$work/articles.json"
wanted=$'author 0 400\nauthor 1 400\nauthor 2 400'
same "it imports documents, and reads what it wrote" "$(/usr/bin/python3 "$examples/client.py" "$work/articles.json")" "$wanted"
same "it replaces documents that are there" "$(/usr/bin/python3 "$examples/client.py" "$work/articles.json")" "$wanted"
/usr/bin/python3 "$examples/client.py" "$work/articles.json" >"$work/one" & one=$!
sed 's/"a-/"b-/' "$work/articles.json" | cat "$work/articles.json" - >"$work/more.json"
/usr/bin/python3 "$examples/client.py" "$work/more.json" >"$work/two" & two=$!
/usr/bin/python3 "$examples/client.py" "$work/more.json" >"$work/three" || fail "the third of three clients"
wait "$one" && wait "$two" || fail "three clients at once"
same "three clients import the same documents at once" "$(ask 'SELECT count(*) FROM article')" 2400

echo "== The service in JavaScript"
mkdir "$work/service"
cp "$examples/service.js" "$examples/package.json" "$here/requests.js" "$work/service"
cd "$work/service"
export NODE_PATH=/usr/share/nodejs    # Debian's node-pg
if ! node -e "require('pg')" 2>/dev/null; then
	HOME=$work npm install --no-audit --no-fund --silent >"$work/npm.log" 2>&1 || { cat "$work/npm.log"; fail "npm install"; }
fi
PORT=0 node service.js >"$work/service.log" 2>&1 &
service=$!
for try in $(seq 300); do grep -q listening "$work/service.log" && break; kill -0 "$service" 2>/dev/null || break; sleep 0.2; done
port=$(sed -n 's/listening on port //p' "$work/service.log")
[ -n "$port" ] || { cat "$work/service.log"; fail "the service does not start"; }
node requests.js "http://127.0.0.1:$port" || { cat "$work/service.log"; fail "the service"; }
kill "$service" && wait "$service" || fail "the service does not stop properly"
service=

export PGHOST=$server PGPORT=$server_port
for index_table in article_by_tag article_by_slug article_by_author; do
	same "$index_table has no discrepancy" "$(ask "SELECT indextable.wait('$index_table', '10 minutes'), count(*) FROM indextable.verify('$index_table')")" "t|0"
done

echo "== Retention, again"
export PGDATABASE=postgres PGUSER=postgres
until_true "SELECT EXISTS (SELECT FROM cron.job_run_details WHERE status = 'succeeded')"
same "old partitions are dropped" "$(ask "SELECT min(created) >= current_date - 31 FROM event")" t
same "their entries are gone" "$(ask "SELECT (SELECT count(*) FROM event) = (SELECT count(*) FROM event_by_user)")" t
same "no discrepancy" "$(ask "SELECT count(*) FROM indextable.verify('event_by_user')")" 0
