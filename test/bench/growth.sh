# Cost as work grows: inserts, moved keys and look-ups at 10^4 and more entries, and what follows for ten times the largest. Sourced by
# bench.sh, which calls growth_part.
# Lines in growth.tsv: entries, variant, work, round, CPU µs (the median of the transactions); and "bytes", entries, bytes of all tables
# and indexes, of which the first line gives those of shared_buffers for 0 entries.

# Each row has a key of its own: its number scattered by a multiplication, of which 2^32 - 5 is a prime modulus, as text. pgbench and
# SQL compute the same.
GROWTH_KEY="* 2654435761 % 4294967291"

# growth_tables ENTRIES: a fact table for each variant, which take turns. A seventh of the rows comes after the index, so that its
# leaves have been split, as those of an index that is in use.
growth_tables() {
	local variant
	sql -c 'DROP SCHEMA IF EXISTS bench CASCADE' -c 'CREATE SCHEMA bench'
	for variant in none native indextable; do
		say "growth, making $1 entries, $variant"
		sql <<-SQL
			CREATE TABLE bench.$variant (id bigint PRIMARY KEY, doc jsonb NOT NULL) WITH (fillfactor = 80);
			CREATE VIEW bench.rows_$variant AS SELECT id, jsonb_build_object('key', (id $GROWTH_KEY)::text) AS doc FROM generate_series(1, $1) AS id;
			INSERT INTO bench.$variant SELECT * FROM bench.rows_$variant WHERE id % 7 <> 0;
		SQL
		case $variant in
		native) sql -c "CREATE INDEX ON bench.native ((doc->>'key'))" ;;
		indextable) sql -c "SELECT indextable.create('bench.by_key', 'bench.indextable', '{key}')" > /dev/null ;;
		esac
		sql -c "INSERT INTO bench.$variant SELECT * FROM bench.rows_$variant WHERE id % 7 = 0" -c "VACUUM ANALYZE bench.$variant"
	done
	sql -c 'VACUUM ANALYZE bench.by_key' -c CHECKPOINT
}

# growth_statement WORK VARIANT
growth_statement() {
	echo '\set i :i + 1'
	case $1 in
	insert)
		echo '\set id :base + :i'
		echo "\\set key :id $GROWTH_KEY"
		echo "INSERT INTO bench.$2 VALUES (:id, jsonb_build_object('key', :key::text));" ;;
	move)
		echo '\set id random(1, :base)'
		echo "\\set key (:base * 3 + :i) $GROWTH_KEY"
		echo "UPDATE bench.$2 SET doc = jsonb_build_object('key', :key::text) WHERE id = :id;" ;;
	*)
		echo '\set id random(1, :base)'
		echo "\\set key :id $GROWTH_KEY"
		if [ "$1" = entry ]; then echo 'SELECT id FROM bench.by_key WHERE key = :key::text;'
		else echo "SELECT doc FROM bench.$2 WHERE doc->>'key' = :key::text;"; fi ;;
	esac
}

# growth_measure ENTRIES WORK VARIANT ROUND → CPU µs
growth_measure() {
	local n
	for ((n = 0; n < BATCH; n++)); do growth_statement "$2" "$3"; done > "$tmp/statements.sql"
	PGOPTIONS="$SESSION -c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_bitmapscan=off" measure "$tmp/statements.sql" $BATCH \
		-t $((STATEMENTS_GROWTH / BATCH)) --random-seed="$4" -D i=$((($4 - 1) * STATEMENTS_GROWTH)) -D base="$1" > /dev/null
	sql -c "SELECT round((percentile_cont(0.5) WITHIN GROUP (ORDER BY after_ns - before_ns))::numeric / $BATCH / 1000, 3) FROM bench_data.cpu WHERE transaction > 2"
}

growth_part() {
	local entries variant work round
	local -A variants=([entry]="indextable" [fetched]="native indextable" [insert]="none native indextable" [move]="none native indextable")
	sql -c "SELECT 'bytes', 0, pg_size_bytes(current_setting('shared_buffers'))" > "$tmp/growth.tsv"
	for entries in $SIZES_GROWTH; do
		growth_tables "$entries"
		sql -c "SELECT 'bytes', $entries, sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = 'bench'::regnamespace AND relkind = 'r'" >> "$tmp/growth.tsv"
		# keys are looked up before they are moved
		for work in entry fetched insert move; do
			say "growth, $entries entries, $work"
			for ((round = 1; round <= ROUNDS; round++)); do
				for variant in ${variants[$work]}; do
					printf '%s\t%s\t%s\t%s\t%s\n' "$entries" "$variant" $work $round "$(growth_measure "$entries" $work "$variant" $round)" >> "$tmp/growth.tsv"
				done
			done
		done
		[ "$(sql -c "SELECT count(*) FROM indextable.verify('bench.by_key')")" = 0 ] || die "growth: the index table is wrong"
	done
	sql -c 'DROP SCHEMA bench CASCADE' 2> /dev/null
}

# What bench.sh prints

# growth_plot: the curves, as SVG
growth_plot() { table growth growth part=plot; }

growth_section() {
	echo "CPU µs a row or query; inserts and moved keys above no index. The last line is extrapolated"
	echo
	table growth "$1" "part=table"
	echo
	echo "![Cost as the number of entries grows](growth.svg)"
}

growth_sizes() {
	echo "each row has a key of its own, documents of one member; $STATEMENTS_GROWTH statements of each kind a round, 100 to a transaction, on a table for each variant"
	echo "extrapolated as a + b · log2(entries) + c · m: a and b, which stand for the depth of the trees, fit the sizes at which all tables are in shared_buffers; c fits the larger ones, where m is the share of their pages that does not fit. Those come from the cache of the operating system here: from a disk, each takes its time besides"
}
