# The write costs: every work, for every variant in turn. Sourced by bench.sh, which calls write_parts.
# Documents arrive as text, as from a client; only "copy" takes them TOASTed from another table. Single-row statements run
# 100 to a transaction, so that commits and the meter do not drown them.
# Lines in single.tsv, arrays.tsv, wide.tsv and bulk.tsv: work, variant, round, CPU µs a row, HOT % of the updates.

BATCH=100

# The statements: each takes the next :i. Updates take the first :base rows in scattered order.
statement() {    # WORK SIZE
	echo '\set i :i + 1'
	case $1 in
	insert) echo "INSERT INTO bench.fact (id, doc) SELECT id, doc::jsonb FROM bench_data.source_$2 WHERE id = :i;" ;;
	copy) echo "INSERT INTO bench.fact (id, doc) SELECT id, doc FROM bench_data.stored_$2 WHERE id = :i;" ;;
	keep)
		echo '\set id 1 + permute(:i, :base, 1)'
		echo "UPDATE bench.fact SET doc = jsonb_set(doc, '{balance}', to_jsonb(:i::int)) WHERE id = :id;" ;;
	move)
		echo '\set id 1 + permute(:i, :base, 2)'
		echo '\set town random(0, :towns - 1)'
		echo "UPDATE bench.fact SET doc = jsonb_set(doc, '{town}', to_jsonb(bench_data.town(:town))) WHERE id = :id;" ;;
	delete)
		echo '\set id 1 + permute(:i, :base, 3)'
		echo "DELETE FROM bench.fact WHERE id = :id;" ;;
	esac
}

# single WORK SIZE BASE STATEMENTS [AFTER] → CPU µs a row; AFTER is the last id there is, for inserts
single() {
	local n
	for ((n = 0; n < BATCH; n++)); do statement "$1" "$2"; done > "$tmp/statements.sql"
	PGOPTIONS="$SESSION -c plan_cache_mode=force_generic_plan" measure "$tmp/statements.sql" $BATCH -t $(($4 / BATCH)) \
		--random-seed=1 -D i="${5:-0}" -D base="$3" -D towns="$TOWNS"
}

# hot_ratio UPDATES → HOT % of them, once the counters of the session that made them have come in
hot_ratio() {
	local tries=100
	until [ "$(sql -c "SELECT n_tup_upd >= $1 FROM pg_stat_user_tables WHERE relid = 'bench.fact'::regclass")" = t ] || ! ((--tries)); do sleep 0.05; done
	sql -c "SELECT round(100.0 * n_tup_hot_upd / n_tup_upd) FROM pg_stat_user_tables WHERE relid = 'bench.fact'::regclass"
}

# same_as_recompute VARIANT [FACT INDEX_TABLE]: a kept index table holds exactly what the fact table says
same_as_recompute() { same_entries "$1" "bench.${2:-fact}" "bench.${3:-by_town}" town "doc->>'town'"; }

# same_entries VARIANT FACT INDEX_TABLE COLUMN EXPRESSION
same_entries() {
	local wrong
	[ -n "$(sql -c "SELECT to_regclass('$3')")" ] || return 0
	wrong=$(sql <<-SQL
		SET indextable.planner = off;
		CREATE TEMP TABLE recompute AS SELECT DISTINCT k, id FROM (SELECT $5 AS k, id FROM $2) AS f WHERE k IS NOT NULL;
		SELECT count(*) FROM ((SELECT $4, id FROM $3 EXCEPT ALL TABLE recompute)
			UNION ALL (TABLE recompute EXCEPT ALL SELECT $4, id FROM $3)) AS d;
	SQL
	)
	[ "$wrong" = 0 ] || die "the index table of $1 differs from the fact table by $wrong entries"
}

vacuum() {
	local table
	for table in fact by_town by_mark; do
		if [ -n "$(sql -c "SELECT to_regclass('bench.$table')")" ]; then sql -c "VACUUM ANALYZE bench.$table"; fi
	done
}

record() { printf '%s\t%s\t%s\t%s\t%s\n' "${@:2}" >> "$tmp/$1.tsv"; }    # PART WORK VARIANT ROUND CPU HOT

# The parts: one variant, one round

single_part() {    # VARIANT ROUND
	local cpu
	fresh_fact "$1"
	load_fact 600 1 "$ROWS_BASE"
	vacuum
	cpu=$(single insert 600 "$ROWS_BASE" "$ROWS_SINGLE" "$ROWS_BASE"); record single insert "$1" "$2" "$cpu" ''
	vacuum
	cpu=$(single keep 600 "$ROWS_BASE" "$ROWS_SINGLE"); record single keep "$1" "$2" "$cpu" "$(hot_ratio "$ROWS_SINGLE")"
	vacuum
	cpu=$(single move 600 "$ROWS_BASE" "$ROWS_SINGLE"); record single move "$1" "$2" "$cpu" ''
	vacuum
	cpu=$(single delete 600 "$ROWS_BASE" "$ROWS_SINGLE"); record single delete "$1" "$2" "$cpu" ''
}

arrays_part() {    # VARIANT ROUND
	local cpu
	fresh_fact "marks/$1"
	load_fact marks 1 "$ROWS_ARRAYS"
	vacuum
	cpu=$(single insert marks "$ROWS_ARRAYS" "$ROWS_ARRAYS" "$ROWS_ARRAYS"); record arrays insert_array "$1" "$2" "$cpu" ''
	vacuum
	cpu=$(single delete marks "$ROWS_ARRAYS" $((ROWS_ARRAYS / 2))); record arrays delete_array "$1" "$2" "$cpu" ''
}

wide_part() {    # VARIANT ROUND
	local cpu
	fresh_fact "$1"
	load_fact 4k 1 "$ROWS_WIDE"
	vacuum
	cpu=$(single insert 4k "$ROWS_WIDE" "$ROWS_WIDE" "$ROWS_WIDE"); record wide insert_4k "$1" "$2" "$cpu" ''
	vacuum
	cpu=$(single copy 4k "$ROWS_WIDE" "$ROWS_WIDE" $((2 * ROWS_WIDE))); record wide copy_4k "$1" "$2" "$cpu" ''
	vacuum
	cpu=$(single move 4k "$ROWS_WIDE" "$ROWS_WIDE"); record wide move_4k "$1" "$2" "$cpu" ''
}

bulk_part() {    # VARIANT ROUND
	local cpu
	fresh_fact "$1"
	cpu=$(sql <<-SQL
		SELECT bench_data.cpu_ns() AS before_ns \\gset
		INSERT INTO bench.fact (id, doc) SELECT id, doc::jsonb FROM bench_data.source_600 WHERE id <= $ROWS_BULK;
		SELECT round((bench_data.cpu_ns() - :before_ns) / 1000.0 / $ROWS_BULK, 3);
	SQL
	)
	record bulk bulk "$1" "$2" "$cpu" ''
	if [ "$2" = 1 ]; then same_as_recompute "$1"; fi

	fresh_fact "$1"
	cpu=$(sql <<-SQL
		SELECT bench_data.cpu_ns() AS before_ns \\gset
		\\copy bench.fact (id, doc) FROM '$tmp/rows.copy'
		SELECT round((bench_data.cpu_ns() - :before_ns) / 1000.0 / $ROWS_COPY, 3);
	SQL
	)
	record bulk from_client "$1" "$2" "$cpu" ''
}

# take_turns PART VARIANT... : every variant in every round, each round beginning with another one. The first work after a data set
# was made is slower; a round 0 takes that, and is not counted.
take_turns() {
	local part=$1 round n variant
	shift
	local variants=("$@")
	"${part}_part" none 0
	rm -f "$tmp/$part.tsv"
	for ((round = 1; round <= ROUNDS; round++)); do
		for ((n = 0; n < ${#variants[@]}; n++)); do
			variant=${variants[(n + round) % ${#variants[@]}]}
			say "$part, round $round of $ROUNDS: $variant"
			"${part}_part" "$variant" "$round"
			if [ "$round" = 1 ]; then
				same_as_recompute "$variant"
				same_entries "$variant" bench.fact bench.by_mark marks "jsonb_array_elements_text(doc->'marks')"
			fi
		done
	done
}

write_parts() {
	local rows=0 variant in_bulk=()
	# what comes in bulk is kept a statement at a time: rows one by one are no floor of that
	for variant in $VARIANTS; do [[ $variant = floor || $variant = empty_trigger ]] || in_bulk+=("$variant"); done
	if wants single; then rows=$((ROWS_BASE + ROWS_SINGLE)); fi
	if wants bulk; then rows=$((ROWS_BULK > rows ? ROWS_BULK : rows)); fi
	if ((rows)); then source_table 600 "$rows" "$TOWNS"; fi
	if wants single; then take_turns single $VARIANTS; fi
	if wants arrays; then
		source_table marks $((2 * ROWS_ARRAYS)) "$TOWNS"
		take_turns arrays $ARRAY_VARIANTS
	fi
	if wants bulk; then
		sql -c "\\copy (SELECT id, doc FROM bench_data.source_600 WHERE id <= $ROWS_COPY) TO '$tmp/rows.copy'"
		take_turns bulk "${in_bulk[@]}"
		rm -f "$tmp/rows.copy"
	fi
	if wants wide; then
		source_table 4k $((3 * ROWS_WIDE)) "$TOWNS"
		sql <<-SQL
			CREATE TABLE bench_data.stored_4k (id bigint PRIMARY KEY, doc jsonb);
			INSERT INTO bench_data.stored_4k SELECT id, doc::jsonb FROM bench_data.source_4k WHERE id > 2 * $ROWS_WIDE;
			VACUUM ANALYZE bench_data.stored_4k;
		SQL
		take_turns wide $VARIANTS
	fi
	sql -c 'DROP TABLE IF EXISTS bench_data.source_600, bench_data.source_marks, bench_data.source_4k, bench_data.stored_4k'
}
