# Feeds: what they cost writers on a shard, what writers through the coordinator save without row triggers, and how fast what
# is in them is applied. Sourced by bench.sh, which calls feeds_part.
# Lines in feeds.tsv: work, side, round, elapsed ms of a statement over ROWS_FEED rows.

: "${ROWS_FEED:=10000}"

on_feed() { sql -d indextable_bench_feed "$@"; }

feeds_tables() {
	local name
	sql -c 'DROP SCHEMA IF EXISTS bench CASCADE' -c 'CREATE SCHEMA bench' \
		-c 'DROP EXTENSION IF EXISTS postgres_fdw CASCADE' -c 'CREATE EXTENSION postgres_fdw' \
		-c 'DROP DATABASE IF EXISTS indextable_bench_feed' -c 'CREATE DATABASE indextable_bench_feed'
	sql <<-SQL
		SELECT format('CREATE SERVER feed FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, port %L, dbname ''indextable_bench_feed'', connect_timeout ''5'')', :'HOST', :'PORT') \\gexec
		CREATE USER MAPPING FOR CURRENT_USER SERVER feed OPTIONS (user '$(sql -c 'SELECT current_user')');
	SQL
	on_feed -c 'CREATE EXTENSION indextable'
	for name in fed plain; do
		on_feed -c "CREATE TABLE public.$name (id int PRIMARY KEY, doc jsonb NOT NULL, note text) WITH (fillfactor = 50, autovacuum_enabled = off)" \
			-c "INSERT INTO public.$name SELECT i, jsonb_build_object('k', 'k' || i % 100, 'pad', repeat('x', 500)) FROM generate_series(1, $ROWS_FEED) i"
		sql -c "CREATE TABLE bench.$name (id int NOT NULL, doc jsonb NOT NULL, note text) PARTITION BY RANGE (id)" \
			-c "CREATE FOREIGN TABLE bench.${name}_1 PARTITION OF bench.$name FOR VALUES FROM (0) TO (1000000000) SERVER feed OPTIONS (schema_name 'public', table_name '$name')"
	done
	on_feed -c "SELECT indextable.create_feed('fed')" > /dev/null
	sql > /dev/null <<-SQL
		SET client_min_messages = error;
		SELECT indextable.create('bench.fed_k', 'bench.fed', '{k}', maintenance => 'async', primary_key => '{id}');
		SELECT indextable.create('bench.plain_k', 'bench.plain', '{k}', primary_key => '{id}');
	SQL
}

# elapsed DATABASE STATEMENT → ms
elapsed() { sql -d "$1" <<< "\\timing on
$2" | awk '/^Time:/ {printf "%.1f", $2}'; }

feeds_part() {
	local round here_database name
	here_database=$(sql -c 'SELECT current_database()')
	say "feeds"
	feeds_tables
	for ((round = 1; round <= ROUNDS; round++)); do
		for name in fed plain; do
			on_feed -c "VACUUM $name"
			printf 'feeds_shard\t%s\t%s\t%s\n' $name "$round" "$(elapsed indextable_bench_feed "UPDATE $name SET note = '$round'")" >> "$tmp/feeds.tsv"
			on_feed -c "VACUUM $name"
			printf 'feeds_coordinator\t%s\t%s\t%s\n' $name "$round" "$(elapsed "$here_database" "UPDATE bench.$name SET note = 'c$round'")" >> "$tmp/feeds.tsv"
		done
		sql -c "SELECT indextable.drain('bench.fed')" -c "SELECT indextable.drain('bench.fed')" > /dev/null
		on_feed -c "UPDATE fed SET doc = doc || '{\"k\": \"r$round\"}'"
		printf 'feeds_drain\tfed\t%s\t%s\n' "$round" "$(elapsed "$here_database" "SELECT indextable.drain('bench.fed')")" >> "$tmp/feeds.tsv"
	done
	sql -c 'DROP SCHEMA bench CASCADE' -c 'DROP EXTENSION postgres_fdw CASCADE' -c 'DROP DATABASE indextable_bench_feed WITH (FORCE)' 2> /dev/null
}

# What bench.sh prints

feeds_section() {
	echo "Elapsed ms of a statement over $ROWS_FEED rows of a shard on this machine, with a feed (and an asynchronous index table), and without (with a transactional one)"
	echo
	table feeds "$1"
}

feeds_sizes() { echo "feeds: $ROWS_FEED rows, documents of 500 bytes; drain() changes the key of each row's entry, and reads the rows from the shard"; }
