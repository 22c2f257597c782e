# Partitioned fact tables: rows found by what they are not partitioned by, with local indexes and with an index table; and what
# an index table costs their writers. Sourced by bench.sh, which calls partition_part.
# Lines in partitions.tsv: work, protocol, side, round, CPU µs of a query.
# Lines in partition_writes.tsv: work, fact table, variant, round, CPU µs a row.

# The works are named after what is looked up and the number of partitions: one row by its email; spread, the 100 of a town;
# covered, the same from an index table that has all fields.

# partitioned TABLE PARTITIONS [LIKE]: hash partitions by the primary key; room in their pages lets updates stay HOT
partitioned() {
	sql <<-SQL
		CREATE TABLE bench.$1 (id bigint PRIMARY KEY, doc jsonb NOT NULL) PARTITION BY HASH (id);
		SELECT format('CREATE TABLE bench.$1_p%s PARTITION OF bench.$1 FOR VALUES WITH (MODULUS $2, REMAINDER %s) WITH (fillfactor = 80)', n, n)
			FROM generate_series(0, $2 - 1) AS n \\gexec
	SQL
}

# partition_query WORK SIDE: a query with :key
partition_query() {
	local n=${1#*_}
	case $1,$2 in
	one_*,local) echo "SELECT doc FROM bench.one_$n WHERE doc->>'email' = :key" ;;
	one_*,join) echo "SELECT doc FROM bench.by_email_$n JOIN bench.one_$n USING (id) WHERE email = :key" ;;
	one_*,lookup) echo "SELECT * FROM indextable.lookup('bench.by_email_$n', jsonb_build_object('email', :key::text))" ;;
	spread_*,local) echo "SELECT doc FROM bench.spread_$n WHERE doc->>'town' = :key" ;;
	spread_*,lookup) echo "SELECT * FROM indextable.lookup('bench.by_town_$n', jsonb_build_object('town', :key::text))" ;;
	covered_*,local) echo "SELECT doc->>'name' AS name, doc->>'street' AS street, (doc->>'balance')::numeric(12,2) AS balance FROM bench.spread_$n WHERE doc->>'town' = :key" ;;
	covered_*,covered) echo "SELECT name, street, balance FROM bench.by_town_card_$n WHERE town = :key" ;;
	esac
}

partition_sides() {    # WORK
	case $1 in
	one_*) echo "local join lookup" ;;
	spread_*) echo "local lookup" ;;
	covered_*) echo "local covered" ;;
	esac
}

partition_keys() {    # WORK: a random but repeatable choice
	local field=town fact=${1/covered/spread}
	if [[ $1 = one_* ]]; then field=email; fi
	mapfile -t keys < <(sql -c "SELECT key FROM (SELECT DISTINCT doc->>'$field' AS key FROM bench.$fact) AS k ORDER BY md5(key) LIMIT 20")
	[ "${#keys[@]}" = 20 ] || die "$1: too few keys"
}

# same_everywhere WORK: all sides, for every key; and that there is an answer
same_everywhere() {
	local key side answer first
	for key in "${keys[@]}"; do
		first=
		for side in $(partition_sides "$1"); do
			answer=$(sql -v key="$key" <<< "SELECT md5(string_agg(r::text, chr(10) ORDER BY r::text)) FROM ($(partition_query "$1" $side | sed "s/:key/:'key'/")) AS r")
			: "${first:=$answer}"
			[ -n "$answer" ] && [ "$answer" = "$first" ] || die "$1: the answer of $side differs from that of the local indexes for $key"
		done
	done
}

# partition_read WORK SIDE PROTOCOL → CPU µs a query. What is slow takes fewer keys, and so many transactions that those with
# custom plans are the first ones, which metered_us leaves out.
partition_read() {
	local query n count=20 limit=(-T "$SECONDS_READ") definitions=()
	query=$(partition_query "$1" "$2")
	if [ "$2" != lookup ] && [ "$2" != covered ] && ((${1#*_} > 16)); then count=3 limit=(-t 18); fi
	for ((n = 0; n < count; n++)); do
		if [ "$3" = simple ]; then
			echo "${query/:key/\'${keys[n]}\'};"
		else
			definitions+=(-D "key$n=${keys[n]}")
			echo "${query/:key/:key$n};"
		fi
	done > "$tmp/statements.sql"
	PROTOCOL=$3 measure "$tmp/statements.sql" $count "${limit[@]}" "${definitions[@]}"
}

# partition_tables one|spread PARTITIONS: each fact table has no other index than the work needs, since each is a cost of planning
partition_tables() {
	local fact=$1_$2
	partitioned "$fact" "$2"
	sql -c "INSERT INTO bench.$fact SELECT id, doc::jsonb FROM bench_data.source_600 ORDER BY id"
	if [ "$1" = one ]; then
		sql > /dev/null <<-SQL
			CREATE INDEX ON bench.$fact ((doc->>'email'));
			SELECT indextable.create('bench.by_email_$2', 'bench.$fact', '{email}', is_unique => true);
			VACUUM ANALYZE bench.$fact;
			VACUUM ANALYZE bench.by_email_$2;
		SQL
	else
		sql > /dev/null <<-SQL
			CREATE INDEX ON bench.$fact ((doc->>'town'));
			SELECT indextable.create('bench.by_town_$2', 'bench.$fact', '{town}');
			SELECT indextable.create('bench.by_town_card_$2', 'bench.$fact', '{town}', include => '{name, street, "balance::numeric(12,2)"}');
			VACUUM ANALYZE bench.$fact;
			VACUUM ANALYZE bench.by_town_$2;
			VACUUM ANALYZE bench.by_town_card_$2;
		SQL
	fi
}

partition_reads() {
	local n work side protocol round works=()
	local -a keys
	local -x PGOPTIONS=$NOT_BY_PLANNER
	sql -c 'DROP SCHEMA IF EXISTS bench CASCADE' -c 'CREATE SCHEMA bench'
	source_table 600 "$ROWS_PARTITIONS" $((ROWS_PARTITIONS / 100))
	for n in $PARTITIONS; do
		works+=("one_$n")
		if [ "$n" = 256 ]; then works+=("spread_$n" "covered_$n"); fi
	done
	for work in "${works[@]}"; do
		if [[ $work != covered_* ]]; then
			say "making the partitions of $work"
			partition_tables "${work%_*}" "${work#*_}"
		fi
	done
	sql -c 'DROP TABLE bench_data.source_600' -c CHECKPOINT
	for ((round = 1; round <= ROUNDS; round++)); do
		for work in "${works[@]}"; do
			say "partitions, $work, round $round of $ROUNDS"
			partition_keys "$work"
			if [ "$round" = 1 ]; then same_everywhere "$work"; fi
			for protocol in simple prepared; do
				for side in $(partition_sides "$work"); do
					printf '%s\t%s\t%s\t%s\t%s\n' "$work" $protocol "$side" "$round" "$(partition_read "$work" "$side" $protocol)" >> "$tmp/partitions.tsv"
				done
			done
		done
	done
	# one by one, for the locks
	for n in $PARTITIONS; do sql -c "DROP TABLE bench.one_$n"; done
	sql -c 'DROP TABLE IF EXISTS bench.spread_256'
}

# The single rows of writes.sh, on all fact tables in turns within one session, as in async.sh: what an index table costs is less
# than what the same statement's cost changes by meanwhile. A table is named after what it is and the variant.
partition_write() {    # ROUND
	local fact work options facts=(plain_none plain_indextable partitioned_none partitioned_indextable)
	local turn=$(($1 % 4))
	facts=("${facts[@]:turn}" "${facts[@]:0:turn}")
	fresh_fact
	for fact in "${facts[@]}"; do
		if [[ $fact = plain_* ]]; then sql -c "CREATE TABLE bench.$fact (LIKE bench.fact INCLUDING ALL) WITH (fillfactor = 80)"
		else partitioned "$fact" 16; fi
		if [[ $fact = *_indextable ]]; then sql -c "SELECT indextable.create('bench.${fact}_by_town', 'bench.$fact', '{town}')" > /dev/null; fi
		sql -c "INSERT INTO bench.$fact SELECT id, doc::jsonb FROM bench_data.source_600 WHERE id <= $ROWS_BASE ORDER BY id"
	done
	for work in insert keep move; do
		for fact in "${facts[@]}"; do
			sql -c "VACUUM ANALYZE bench.$fact"
			if [[ $fact = *_indextable ]]; then sql -c "VACUUM ANALYZE bench.${fact}_by_town"; fi
		done
		sql -c CHECKPOINT -c 'TRUNCATE bench_data.cpu'
		turns $work "${facts[@]}" > "$tmp/statements.sql"
		metered "$tmp/statements.sql" turn > "$tmp/transaction.sql"
		options=()
		for fact in "${facts[@]}"; do options+=(-D "$fact=$([ $work = insert ] && echo "$ROWS_BASE" || echo 0)"); done
		PGOPTIONS="$SESSION -c plan_cache_mode=force_generic_plan" pgbench -n -M prepared -c 1 -t $((ROWS_SINGLE / BATCH * 4)) --random-seed=1 \
			-D transaction=0 -D base="$ROWS_BASE" -D towns="$TOWNS" "${options[@]}" -f "$tmp/transaction.sql" > "$tmp/pgbench.log" 2>&1 ||
			{ cat "$tmp/pgbench.log" >&2; die "pgbench failed"; }
		# in the first turn, all executions are first ones
		sql >> "$tmp/partition_writes.tsv" <<-SQL
			SELECT 'part_$work', replace((string_to_array('${facts[*]}', ' '))[turn + 1], '_', chr(9)), $1, round(avg(ns) / $BATCH / 1000, 3)
			FROM (SELECT turn, after_ns - before_ns AS ns, ntile(4) OVER (PARTITION BY turn ORDER BY after_ns - before_ns) AS quarter
				FROM bench_data.cpu WHERE transaction > $((TURN * 4)) AND transaction % $TURN <> 1) AS q
			WHERE quarter IN (2, 3) GROUP BY turn;
		SQL
	done
	if [ "$1" = 1 ]; then
		for fact in plain partitioned; do same_as_recompute "$fact" "${fact}_indextable" "${fact}_indextable_by_town"; done
	fi
}

partition_writes() {
	local round
	source_table 600 $((ROWS_BASE + ROWS_SINGLE)) "$TOWNS"
	for ((round = 1; round <= ROUNDS; round++)); do
		say "writing partitions, round $round of $ROUNDS"
		partition_write "$round"
	done
	sql -c 'DROP TABLE bench_data.source_600'
}

partition_part() {
	partition_writes
	partition_reads
}

# What bench.sh prints

partition_section() {
	case $1 in
	partitions)
		echo "CPU µs a query, over $ROWS_PARTITIONS documents of $(size_of 600) bytes in hash partitions by the primary key; pgbench -M simple, which plans each query, and -M prepared"
		echo
		table partitions "$1" part=read
		;;
	partition_writes)
		echo "CPU µs a row, an index table (town, id) over 16 hash partitions, and over one plain table"
		echo
		table partitions "$1" part=write
		;;
	esac
}

partition_sizes() {
	case $1 in
	partitions) echo "reads: from $ROWS_PARTITIONS rows, 100 to a town" ;;
	partition_writes) echo "single rows: $ROWS_SINGLE statements a round on $ROWS_BASE rows, 100 to a transaction, $TOWNS towns" ;;
	esac
}
