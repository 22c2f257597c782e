# Totals: what they cost writers, alone and beside each other, and what they gain readers, by the number of documents. Sourced by
# bench.sh, which calls totals_part.
# Lines in totals.tsv: work, side, documents, round, figure: CPU µs a row or query; of "sessions", rows a second.

# Who counts: none; native, an expression index; indextable, an ordinary index table of the same key; totals; counter, a row for each
# group that a trigger adds to; pg_ivm, where it is built, a view.
TOTALS_GROUPS=100
TOTALS_SESSIONS=64

totals_document() { echo "jsonb_build_object('status', 's' || ($1) % $TOTALS_GROUPS, 'total', ($1) % 977 / 100.0, 'name', 'customer number ' || ($1))"; }

# totals_table SIDE DOCUMENTS: a fact table of its own, with so many documents
totals_table() {
	sql > /dev/null <<-SQL
		CREATE TABLE bench.$1 (id bigint PRIMARY KEY, doc jsonb NOT NULL);
		INSERT INTO bench.$1 SELECT id, $(totals_document id) FROM generate_series(1, $2) AS id;
	SQL
	case $1 in
	native) echo "CREATE INDEX ON bench.native ((doc->>'status'));" ;;
	indextable) echo "SELECT indextable.create('bench.by_status', 'bench.indextable', '{status}');" ;;
	totals) echo "SELECT indextable.create('bench.status_totals', 'bench.totals', '{status}', totals => '{count(*)}');" ;;
	counter)
		cat <<-'SQL'
			CREATE TABLE bench.counts (status text PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 50);
			CREATE FUNCTION bench.count() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				INSERT INTO bench.counts VALUES (NEW.doc->>'status', 1) ON CONFLICT (status) DO UPDATE SET n = counts.n + 1;
				RETURN NULL;
			END $$;
			CREATE TRIGGER count AFTER INSERT ON bench.counter FOR EACH ROW EXECUTE FUNCTION bench.count();
		SQL
		;;
	pg_ivm) echo "SELECT pgivm.create_immv('bench.counted', 'SELECT doc->>''status'' AS status, count(*) AS n FROM bench.pg_ivm GROUP BY 1');" ;;
	esac | sql > /dev/null
	sql -c "VACUUM ANALYZE bench.$1"
}

# totals_writes SIDE ROUND: rows one by one, in bulk, and of many sessions that insert into one group
totals_writes() {
	local n
	totals_table "$1" 1000
	for ((n = 0; n < BATCH; n++)); do echo '\set i :i + 1'; echo "INSERT INTO bench.$1 VALUES (:i, $(totals_document :i))"';'; done > "$tmp/statements.sql"
	record totals insert "$1" 0 "$2" "$(measure "$tmp/statements.sql" $BATCH -t $((ROWS_SINGLE / BATCH)) -D i=1000)"
	# a counter has a version for each row of the transaction, which are looked through again and again
	[ "$1" = counter ] || sql > "$tmp/bulk" <<-SQL
		SELECT bench_data.cpu_ns() AS before \\gset
		INSERT INTO bench.$1 SELECT id, doc FROM bench_data.documents;
		SELECT round((bench_data.cpu_ns() - :before)::numeric / $ROWS_BULK / 1000, 3);
	SQL
	[ "$1" = counter ] || record totals bulk "$1" 0 "$2" "$(cat "$tmp/bulk")"
	echo "INSERT INTO bench.$1 VALUES (nextval('bench_data.ids'), $(totals_document 1));" > "$tmp/statements.sql"
	record totals sessions "$1" 0 "$2" "$(pgbench -n -M prepared -c $TOTALS_SESSIONS -j 2 -T "$SECONDS_SESSIONS" -f "$tmp/statements.sql" | sed -n 's/^tps = \([0-9.]*\).*/\1/p')"
	if [ "$1" = totals ]; then [ -z "$(sql -c "SELECT FROM indextable.verify('bench.status_totals') LIMIT 1")" ] || die "the totals are wrong"; fi
	sql -c "DROP SCHEMA bench CASCADE" -c 'CREATE SCHEMA bench' 2> /dev/null
}

# totals_query WORK SIDE
totals_query() {
	case $1 in
	count | beside) echo "SELECT count(*) FROM bench.$2 WHERE doc->>'status' = :key;" ;;
	whole) echo "SELECT count(*) FROM bench.$2;" ;;
	groups) echo "SELECT doc->>'status', count(*) FROM bench.$2 GROUP BY 1;" ;;
	esac
}

# totals_reads DOCUMENTS ROUND
totals_reads() {
	local work side limit count pids n
	for work in count whole groups beside; do
		for side in native indextable totals; do
			[ "$work" != beside ] || [ "$side" = totals ] || continue
			limit=(-t 3) count=1
			if [ "$side" = totals ]; then limit=(-t 40) count=20; fi
			if [ "$work" = beside ]; then
				echo "INSERT INTO bench.totals VALUES (nextval('bench_data.ids'), $(totals_document 1));" > "$tmp/beside.sql"
				pgbench -n -M prepared -c 2 -R 1000 -T $((SECONDS_READ + 3)) -f "$tmp/beside.sql" > /dev/null 2>&1 &
				pids=$!
				echo "SELECT indextable.drain('bench.totals');" > "$tmp/drain.sql"
				pgbench -n -R 10 -T $((SECONDS_READ + 3)) -f "$tmp/drain.sql" > /dev/null 2>&1 &
				pids+=" $!"
				sleep 1
			fi
			for ((n = 0; n < count; n++)); do totals_query $work $side; done > "$tmp/statements.sql"
			record totals $work $side "$1" "$2" "$(PROTOCOL=prepared measure "$tmp/statements.sql" $count "${limit[@]}" -D key=s1)"
			if [ "$work" = beside ]; then wait $pids; fi
		done
	done
}

totals_part() {
	local round side documents sides="none native indextable totals counter ${PG_IVM:+pg_ivm}"
	sql -c 'DROP SCHEMA IF EXISTS bench CASCADE' -c 'CREATE SCHEMA bench' -c 'CREATE SEQUENCE bench_data.ids START 1000000000 CACHE 100' \
		-c 'CREATE UNLOGGED TABLE bench_data.documents (id bigint, doc jsonb)' \
		-c "INSERT INTO bench_data.documents SELECT id, $(totals_document id) FROM generate_series(100000001, 100000000 + $ROWS_BULK) AS id" 2> /dev/null
	for ((round = 1; round <= ROUNDS; round++)); do
		for side in $sides; do
			say "totals, round $round of $ROUNDS: $side"
			totals_writes "$side" "$round"
		done
	done
	for documents in $SIZES_GROWTH; do
		for side in native indextable totals; do
			say "totals, making $documents documents, $side"
			totals_table $side "$documents"
		done
		sql -c "SELECT indextable.create('bench.whole_totals', 'bench.totals', '{}', totals => '{count(*)}')" > /dev/null
		for ((round = 1; round <= ROUNDS; round++)); do totals_reads "$documents" "$round"; done
		sql -c "DROP SCHEMA bench CASCADE" -c 'CREATE SCHEMA bench' 2> /dev/null
	done
	sql -c 'DROP TABLE bench_data.documents' -c 'DROP SEQUENCE bench_data.ids'
}

# What bench.sh prints

totals_section() {
	echo "CPU µs a row, or a prepared query; rows a second of $TOTALS_SESSIONS sessions that insert into one group; $TOTALS_GROUPS groups"
	echo
	table totals totals
}

totals_sizes() {
	echo "documents of three members; $ROWS_SINGLE single rows a round, 100 to a transaction, and $ROWS_BULK in bulk; beside: while 1000 rows a second come in and are folded"
}
