# Fact tables whose partitions are on other servers: rows found by what they are not partitioned by, by a query over all shards,
# and by an index table. Sourced by bench.sh, which calls shard_part.
# Lines in shards.tsv: work, protocol, side, round, elapsed ms of a query. What other servers do is no CPU time of this backend.

# Two databases of this server are the shards: what they lack of servers elsewhere is the way to them.
SHARDS=2

on_shard() { sql -d "indextable_bench_$1" "${@:2}"; }

# shard_servers: each with 16 / SHARDS of the partitions. The query over all shards can have what it looks for as a column of its
# own, with an index on each shard: "doc->>'email' = …" is not sent to shards, which then send all their rows.
shard_servers() {
	local n shard table
	sql -c 'DROP SCHEMA IF EXISTS bench CASCADE' -c 'CREATE SCHEMA bench' -c 'DROP EXTENSION IF EXISTS postgres_fdw CASCADE' -c 'CREATE EXTENSION postgres_fdw'
	sql -c 'CREATE TABLE bench.fact (id bigint NOT NULL, doc jsonb NOT NULL) PARTITION BY HASH (id)' \
		-c 'CREATE TABLE bench.columns (id bigint NOT NULL, doc jsonb NOT NULL, email text, town text) PARTITION BY HASH (id)'
	for ((shard = 0; shard < SHARDS; shard++)); do
		sql -c "DROP DATABASE IF EXISTS indextable_bench_$shard" -c "CREATE DATABASE indextable_bench_$shard"
		sql <<-SQL
			SELECT format('CREATE SERVER shard_$shard FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, port %L, dbname ''indextable_bench_$shard'')', :'HOST', :'PORT') \\gexec
			CREATE USER MAPPING FOR CURRENT_USER SERVER shard_$shard OPTIONS (user '$(sql -c 'SELECT current_user')');
		SQL
	done
	for ((n = 0; n < 16; n++)); do
		on_shard $((n % SHARDS)) -c "CREATE TABLE public.fact_$n (id bigint PRIMARY KEY, doc jsonb NOT NULL, email text GENERATED ALWAYS AS (doc->>'email') STORED,
				town text GENERATED ALWAYS AS (doc->>'town') STORED)" -c "CREATE INDEX ON public.fact_$n (email)" -c "CREATE INDEX ON public.fact_$n (town)"
		for table in fact columns; do
			sql -c "CREATE FOREIGN TABLE bench.${table}_$n PARTITION OF bench.$table FOR VALUES WITH (MODULUS 16, REMAINDER $n)
				SERVER shard_$((n % SHARDS)) OPTIONS (schema_name 'public', table_name 'fact_$n', batch_size '1000')"
		done
	done
}

shard_tables() {
	local n
	source_table 600 "$ROWS_PARTITIONS" $((ROWS_PARTITIONS / 100))
	sql > /dev/null <<-SQL
		SET client_min_messages = error;
		INSERT INTO bench.fact SELECT id, doc::jsonb FROM bench_data.source_600;
		DROP TABLE bench_data.source_600;
		SELECT indextable.create('bench.by_email', 'bench.fact', '{email}', is_unique => true, primary_key => '{id}');
		SELECT indextable.create('bench.by_email_full', 'bench.fact', '{email}', 'denormalized');
		SELECT indextable.create('bench.by_town', 'bench.fact', '{town}');
		SELECT indextable.create('bench.by_town_full', 'bench.fact', '{town}', 'denormalized');
		VACUUM ANALYZE bench.by_email;
		VACUUM ANALYZE bench.by_email_full;
		VACUUM ANALYZE bench.by_town;
		VACUUM ANALYZE bench.by_town_full;
		ANALYZE bench.fact;
	SQL
	for ((n = 0; n < SHARDS; n++)); do on_shard "$n" -c 'VACUUM ANALYZE'; done
	sql -c CHECKPOINT
}

shard_query() {    # WORK SIDE: a query with :key
	local field=email
	if [ "$1" = shards_town ]; then field=town; fi
	case $2 in
	field) echo "SELECT doc FROM bench.fact WHERE doc->>'$field' = :key" ;;
	fan_out*) echo "SELECT doc FROM bench.columns WHERE $field = :key" ;;
	lookup*) echo "SELECT * FROM indextable.lookup('bench.by_$field', jsonb_build_object('$field', :key::text))" ;;
	copy) echo "SELECT doc FROM bench.by_${field}_full WHERE $field = :key" ;;
	esac
}

shard_keys() {    # WORK: a random but repeatable choice
	local field=email
	if [ "$1" = shards_town ]; then field=town; fi
	mapfile -t keys < <(sql -c "SELECT key FROM (SELECT DISTINCT $field AS key FROM bench.by_$field) AS k ORDER BY md5(key) LIMIT 20")
	[ "${#keys[@]}" = 20 ] || die "$1: too few keys"
}

# same_on_shards WORK: all sides, for every key; and that there is an answer
same_on_shards() {
	local key side answer first
	for key in "${keys[@]}"; do
		first=
		for side in field fan_out lookup copy; do
			answer=$(sql -v key="$key" <<< "SELECT md5(string_agg(r::text, chr(10) ORDER BY r::text)) FROM ($(shard_query "$1" $side | sed "s/:key/:'key'/")) AS r")
			: "${first:=$answer}"
			[ -n "$answer" ] && [ "$answer" = "$first" ] || die "$1: the answer of $side differs from that of all shards for $key"
		done
	done
}

# shard_read WORK SIDE PROTOCOL → elapsed ms a query, each a transaction of its own
shard_read() {
	local query n shard capable=false count=20 definitions=()
	if [[ $2 = *_async ]]; then capable=true; fi
	for ((shard = 0; shard < SHARDS; shard++)); do
		sql -c "ALTER SERVER shard_$shard OPTIONS (SET async_capable '$capable')" 2> /dev/null ||
			sql -c "ALTER SERVER shard_$shard OPTIONS (ADD async_capable '$capable')"
	done
	query=$(shard_query "$1" "$2")
	if [ "$2" = field ]; then count=3; fi
	for ((n = 0; n < count; n++)); do
		if [ "$3" = simple ]; then
			echo "${query/:key/\'${keys[n]}\'};"
		else
			definitions+=(-D "key$n=${keys[n]}")
			echo "${query/:key/:key$n};"
		fi
	done > "$tmp/statements.sql"
	pgbench -n -M "$3" -c 1 -T "$SECONDS_READ" "${definitions[@]}" -f "$tmp/statements.sql" > "$tmp/pgbench.log" 2>&1 ||
		{ cat "$tmp/pgbench.log" >&2; die "pgbench failed"; }
	awk -v count=$count '/^latency average/ {printf "%.4f", $4 / count}' "$tmp/pgbench.log"
}

shard_part() {
	local work side protocol round
	local -a keys
	local -x PGOPTIONS=$NOT_BY_PLANNER
	say "making 16 partitions on $SHARDS shards"
	shard_servers
	shard_tables
	for ((round = 1; round <= ROUNDS; round++)); do
		for work in shards_email shards_town; do
			say "shards, $work, round $round of $ROUNDS"
			shard_keys $work
			if [ "$round" = 1 ]; then same_on_shards $work; fi
			for protocol in simple prepared; do
				for side in field fan_out fan_out_async lookup lookup_async copy; do
					printf '%s\t%s\t%s\t%s\t%s\n' $work $protocol $side "$round" "$(shard_read $work $side $protocol)" >> "$tmp/shards.tsv"
				done
			done
		done
	done
	drop_shards
}

drop_shards() {
	local shard
	sql -c 'DROP SCHEMA IF EXISTS bench CASCADE' -c 'DROP EXTENSION IF EXISTS postgres_fdw CASCADE'
	for ((shard = 0; shard < SHARDS; shard++)); do sql -c "DROP DATABASE IF EXISTS indextable_bench_$shard WITH (FORCE)"; done
}

# What bench.sh prints

shard_section() {
	echo "Elapsed ms a query, over $ROWS_PARTITIONS documents of $(size_of 600) bytes in 16 foreign partitions on $SHARDS shards on this machine; pgbench -M simple, and -M prepared; times queries over all shards: by the field, for which they send all rows, and by an indexed column of its own"
	echo
	table shards "$1"
}

shard_sizes() { echo "shards: $ROWS_PARTITIONS rows, 100 to a town"; }
