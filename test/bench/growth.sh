# Cost as work grows: inserts, moved keys and look-ups at 10^4 and more entries, and what follows for ten times the largest. Sourced by
# bench.sh, which calls growth_part.
# Lines in growth.tsv: entries, variant, work, µs (the median of the transactions), bytes of the tables and indexes that the work
# touches at random. The first line has the bytes of shared_buffers.

# Each row has a key of its own: its number scattered by a multiplication, of which 2^32 - 5 is a prime modulus, as text. pgbench and
# SQL compute the same.
GROWTH_KEY="* 2654435761 % 4294967291"

# A seventh of the rows comes after the index, so that its leaves have been split, as those of an index that is in use.
growth_tables() {    # ENTRIES VARIANT
	sql <<-SQL
		DROP SCHEMA IF EXISTS bench CASCADE;
		CREATE SCHEMA bench;
		CREATE TABLE bench.fact (id bigint PRIMARY KEY, doc jsonb NOT NULL) WITH (fillfactor = 80);
		CREATE VIEW bench.grown AS SELECT id, jsonb_build_object('key', (id $GROWTH_KEY)::text) AS doc FROM generate_series(1, $1) AS id;
		INSERT INTO bench.fact SELECT * FROM bench.grown WHERE id % 7 <> 0;
	SQL
	case $2 in
	native) sql -c "CREATE INDEX fact_key ON bench.fact ((doc->>'key'))" ;;
	indextable) sql -c "SELECT indextable.create('bench.by_key', 'bench.fact', '{key}')" > /dev/null ;;
	esac
	sql -c "INSERT INTO bench.fact SELECT * FROM bench.grown WHERE id % 7 = 0" -c 'VACUUM ANALYZE bench.fact'
	if [ "$2" = indextable ]; then sql -c 'VACUUM ANALYZE bench.by_key'; fi
	sql -c CHECKPOINT
}

# growth_statement WORK
growth_statement() {
	echo '\set i :i + 1'
	case $1 in
	insert)
		echo '\set id :base + :i'
		echo "\\set key :id $GROWTH_KEY"
		echo "INSERT INTO bench.fact VALUES (:id, jsonb_build_object('key', :key::text));" ;;
	move)
		echo '\set id random(1, :base)'
		echo "\\set key (:base * 2 + :i) $GROWTH_KEY"
		echo "UPDATE bench.fact SET doc = jsonb_build_object('key', :key::text) WHERE id = :id;" ;;
	*)
		echo '\set id random(1, :base)'
		echo "\\set key :id $GROWTH_KEY"
		if [ "$1" = entry ]; then echo 'SELECT id FROM bench.by_key WHERE key = :key::text;'
		else echo "SELECT doc FROM bench.fact WHERE doc->>'key' = :key::text;"; fi ;;
	esac
}

# growth_size WORK VARIANT: bytes. Rows are inserted at the end of the fact table and of its primary key, and an entry is found without them.
growth_size() {
	local relations=''
	case $2 in
	native) relations=fact_key ;;
	indextable) relations='by_key by_key_pkey' ;;
	esac
	case $1,$2 in
	fetched,native) relations+=' fact' ;;
	move,* | fetched,*) relations+=' fact fact_pkey' ;;
	esac
	sql -c "SELECT coalesce(sum(pg_relation_size(('bench.' || r)::regclass)), 0) FROM unnest(string_to_array(trim('$relations'), ' ')) AS r"
}

growth_part() {
	local entries variant work n works us
	sql -c "SELECT 'shared_buffers', pg_size_bytes(current_setting('shared_buffers'))" > "$tmp/growth.tsv"
	for entries in $SIZES_GROWTH; do
		for variant in none native indextable; do
			say "growth, $entries entries, $variant"
			growth_tables "$entries" $variant
			works="insert move"
			case $variant in
			native) works="fetched $works" ;;
			indextable) works="entry fetched $works" ;;
			esac
			for work in $works; do
				for ((n = 0; n < BATCH; n++)); do growth_statement "$work"; done > "$tmp/statements.sql"
				PGOPTIONS="$SESSION -c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_bitmapscan=off" measure "$tmp/statements.sql" $BATCH \
					-t $((STATEMENTS_GROWTH / BATCH)) --random-seed=1 -D i=0 -D base="$entries" > /dev/null
				us=$(sql -c "SELECT round((percentile_cont(0.5) WITHIN GROUP (ORDER BY after_ns - before_ns))::numeric / $BATCH / 1000, 3) FROM bench_data.cpu WHERE transaction > 6")
				printf '%s\t%s\t%s\t%s\t%s\n' "$entries" $variant $work "$us" "$(growth_size $work $variant)" >> "$tmp/growth.tsv"
			done
		done
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
	echo "each row has a key of its own, documents of one member; $STATEMENTS_GROWTH statements of each kind, 100 to a transaction; one round"
	echo "extrapolated as a + b · log2(entries) + c · m: a and b fit the sizes whose pages are all in shared_buffers, and c the larger ones, where m is the share of the pages that does not fit; those come from the cache of the operating system: where they come from a disk, its time is added"
}
