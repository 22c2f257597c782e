# What a fetched row costs: the 100 whole documents of a town out of one table, by its native expression index, by plain SQL that is
# answered by an index table, and by lookup(). Sourced by bench.sh, which calls fetched_part.
# Lines in fetched.tsv: side, round, CPU µs of a whole query, µs of its execution.

# A side is how it is asked, and the fact table: native; ours; or hint, whose index table is created with $HINT, too.

fetched_query() {    # SIDE: with :key
	case $1 in
	lookup_*) echo "SELECT * FROM indextable.lookup('bench.by_town_${1#*_}', jsonb_build_object('town', :key::text))" ;;
	*) echo "SELECT doc FROM bench.${1#*_} WHERE doc->>'town' = :key" ;;
	esac
}

fetched_tables() {
	local fact
	sql -c 'DROP SCHEMA IF EXISTS bench CASCADE' -c 'CREATE SCHEMA bench'
	source_table 600 "$ROWS_READ" $((ROWS_READ / 100))
	for fact in native ours ${HINT:+hint}; do
		sql -c "CREATE TABLE bench.$fact (id bigint PRIMARY KEY, doc jsonb NOT NULL) WITH (fillfactor = 80)"
		sql -c "INSERT INTO bench.$fact SELECT id, doc::jsonb FROM bench_data.source_600 ORDER BY id"
		case $fact in
		native) sql -c "CREATE INDEX ON bench.native ((doc->>'town'))" ;;
		ours) sql -c "SELECT indextable.create('bench.by_town_ours', 'bench.ours', '{town}')" > /dev/null ;;
		hint) sql -c "SELECT indextable.create('bench.by_town_hint', 'bench.hint', '{town}', $HINT)" > /dev/null ;;
		esac
		sql -c "VACUUM ANALYZE bench.$fact"
		if [ $fact != native ]; then sql -c "VACUUM ANALYZE bench.by_town_$fact"; fi
	done
	sql -c 'DROP TABLE bench_data.source_600' -c CHECKPOINT
}

# fetched_same: all sides answer alike, and plain SQL by the index table
fetched_same() {
	local key side answer first
	for key in "${values[@]:0:5}"; do
		first=
		for side in $sides; do
			answer=$(sql -v key="$key" <<< "SELECT md5(string_agg(r::text, chr(10) ORDER BY r::text)) FROM ($(fetched_query "$side" | sed "s/:key/:'key'/")) AS r")
			: "${first:=$answer}"
			[ -n "$answer" ] && [ "$answer" = "$first" ] || die "fetched: the answer of $side differs from the native one for $key"
		done
	done
	for side in $sides; do
		if [[ $side = plain_* && $side != plain_native ]] && ! sql -v key="$key" <<< "EXPLAIN $(fetched_query "$side" | sed "s/:key/:'key'/")" | grep -q 'Custom Scan (IndexTable)'; then
			die "fetched: $side does not use its index table"
		fi
	done
}

fetched_part() {
	local sides="plain_native plain_ours lookup_ours ${HINT:+plain_hint lookup_hint}" round side cpu native ours
	local -a values
	# as read_work sets them, for its whole() and execution()
	local parameters=key types=text
	fetched_tables
	mapfile -t values < <(sql -c "SELECT key FROM (SELECT DISTINCT doc->>'town' AS key FROM bench.native) AS k ORDER BY md5(key) LIMIT 20")
	fetched_same
	for ((round = 1; round <= ROUNDS; round++)); do
		say "fetched, round $round of $ROUNDS"
		for side in $sides; do
			ours=$(fetched_query "$side")
			cpu=$(whole ours)
			printf '%s\t%s\t%s\t%s\n' "$side" "$round" "$cpu" "$(execution ours)" >> "$tmp/fetched.tsv"
		done
	done
	sql -c 'DROP SCHEMA bench CASCADE' 2> /dev/null
}

# What bench.sh prints

fetched_section() {
	echo "µs a row, of 100 documents of $(size_of 600) bytes that a prepared query finds by their town in $ROWS_READ; whole: CPU from message in to rows out; execution: as EXPLAIN ANALYZE has it, without rows sent"
	echo
	table fetched "$1"
}

fetched_sizes() {
	echo "from $ROWS_READ rows, 100 to a town"
	if [ -n "${HINT:-}" ]; then echo "with a hint: create(…, $HINT)"; fi
}
