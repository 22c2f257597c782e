# What indextable.explain(query, what_if) predicts, beside what comes of it when the index table is created. Sourced by bench.sh, which
# calls what_if_part.
# Lines in what_if.tsv: work, whether it would be used, entries, as predicted and as they are, bytes and cost in the same way, cost without the
# index table, ms without it and with it.

# The works are those of planner.sh, each on a fact table with no other index table.

what_if_call() {    # WORK
	local of=${1#*_} name="'bench.supposed', 'bench.ours_${1#*_}'"
	case $1 in
	only_* | fetch_* | groups_*) echo "indextable.create($name, '{town}', include => '{name, street, \"balance::numeric(12,2)\"}')" ;;
	element_*) echo "indextable.create($name, '{tags[*], balance::numeric}')" ;;
	and_* | tag_* | facets_*) echo "indextable.create($name, '{tags[*]}')" ;;
	union_* | names_* | latest_*) echo "indextable.create($name, '{name, balance::numeric}')" ;;
	one_*) echo "indextable.create($name, '{email}', is_unique => true)" ;;
	esac
}

# what_if_ms QUERY: the median of what EXPLAIN ANALYZE has for executing it, in ms
what_if_ms() {
	for _ in 1 2 3 4 5 6 7; do echo "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) $1;"; done |
		sql | sed -n 's/.*"Execution Time": \([0-9.]*\).*/\1/p' | tail -n +3 | sort -n | sed -n 3p
}

what_if_part() {
	local of work works=(only_600 fetch_600 element_600 groups_600 and_600 tag_600 facets_600 union_600 names_600 latest_600 one_600 only_4k fetch_4k only_s256 one_s256)
	local query key call without
	local -a keys predicted
	sql -c 'DROP SCHEMA IF EXISTS bench CASCADE' -c 'CREATE SCHEMA bench'
	source_table 600 "$ROWS_PARTITIONS" $((ROWS_PARTITIONS / 100))
	source_table 4k "$ROWS_PARTITIONS" $((ROWS_PARTITIONS / 100))
	for of in 600 4k s256; do
		if [ $of = s256 ]; then partitioned ours_s256 256
		else sql -c "CREATE TABLE bench.ours_$of (id bigint PRIMARY KEY, doc jsonb NOT NULL) WITH (fillfactor = 80)"; fi
		sql -c "INSERT INTO bench.ours_$of SELECT id, doc::jsonb FROM bench_data.source_$([ $of = 4k ] && echo 4k || echo 600) ORDER BY id" -c "VACUUM ANALYZE bench.ours_$of"
		sql -c "CREATE VIEW bench.native_$of AS SELECT * FROM bench.ours_$of"    # for planner_keys
	done
	for work in "${works[@]}"; do
		say "what_if, $work"
		planner_keys "$work"
		query=$(planner_query "$work" ours)
		query=${query//:key/\'${keys[0]}\'}
		call=$(what_if_call "$work")
		mapfile -t predicted < <(sql -v query="$query" -v call="$call" <<< "SELECT unnest(ARRAY[used::text, entries::text, bytes::text, cost::text, cost_without::text]) FROM indextable.explain(:'query', :'call') LIMIT 5")
		without=$(what_if_ms "$query")
		sql -c "SELECT $call" -c 'VACUUM ANALYZE bench.supposed' > /dev/null
		printf '%s\t' "$work" "${predicted[0]}" "${predicted[1]}" "$(sql -c 'SELECT count(*) FROM bench.supposed')" \
			"${predicted[2]}" "$(sql -c "SELECT pg_total_relation_size('bench.supposed')")" \
			"${predicted[3]}" "$(sql <<< "EXPLAIN $query" | sed -n '1s/.*\.\.\([0-9.]*\) .*/\1/p')" \
			"${predicted[4]}" "$without" >> "$tmp/what_if.tsv"
		what_if_ms "$query" >> "$tmp/what_if.tsv"
		sql -c 'DROP TABLE bench.supposed'
	done
	sql -c 'DROP SCHEMA bench CASCADE' -c 'DROP TABLE bench_data.source_600, bench_data.source_4k' 2> /dev/null
}

# What bench.sh prints

what_if_section() {
	echo "Predicted by explain(query, what_if) / what came of it, each query over $ROWS_PARTITIONS documents of $(size_of 600) bytes, or of 4 KB; ms: as EXPLAIN ANALYZE has it"
	echo
	table what_if "$1"
}

what_if_sizes() {
	echo "costs are those of EXPLAIN after VACUUM ANALYZE; ms of another query with the same cost may be many times as many"
	awk -F '\t' '
		function near(a, b) { return a > 0 && b > 0 && a / b <= 2 && b / a <= 2 }
		{ bytes += near($5, $6); cost += near($7, $8); ratio += near($9 / $7, $10 / $11); n++ }
		END { printf "within 2 ×: sizes %d of %d, costs %d of %d; the ratio of the costs with and without as that of the times: %d of %d\n", bytes, n, cost, n, ratio, n }' "$tmp/what_if.tsv"
}
