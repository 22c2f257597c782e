# The write costs: every work, for every variant in turn. Sourced by bench.sh, which calls write_parts.
# Documents arrive as text, as from a client; only "copy" takes them TOASTed from another table. Single-row statements run
# 100 to a transaction, so that commits and the meter do not drown them.
# Lines in writes.tsv: work, variant, round, CPU µs a row, HOT % of the updates.

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
same_as_recompute() {
	local wrong fact=bench.${2:-fact} entries=bench.${3:-by_town}
	[ -n "$(sql -c "SELECT to_regclass('$entries')")" ] || return 0
	wrong=$(sql <<-SQL
		CREATE TEMP TABLE recompute AS SELECT doc->>'town' AS town, id FROM $fact WHERE doc->>'town' IS NOT NULL;
		SELECT count(*) FROM ((SELECT town, id FROM $entries EXCEPT ALL TABLE recompute)
			UNION ALL (TABLE recompute EXCEPT ALL SELECT town, id FROM $entries)) AS d;
	SQL
	)
	[ "$wrong" = 0 ] || die "the index table of $1 differs from the fact table by $wrong entries"
}

vacuum() {
	sql -c 'VACUUM ANALYZE bench.fact'
	if [ -n "$(sql -c "SELECT to_regclass('bench.by_town')")" ]; then sql -c 'VACUUM ANALYZE bench.by_town'; fi
}

record() { printf '%s\t%s\t%s\t%s\t%s\n' "$@" >> "$tmp/writes.tsv"; }

# The parts: one variant, one round

single_part() {    # VARIANT ROUND
	local cpu
	fresh_fact "$1"
	load_fact 600 1 "$ROWS_BASE"
	vacuum
	cpu=$(single insert 600 "$ROWS_BASE" "$ROWS_SINGLE" "$ROWS_BASE"); record insert "$1" "$2" "$cpu" ''
	vacuum
	cpu=$(single keep 600 "$ROWS_BASE" "$ROWS_SINGLE"); record keep "$1" "$2" "$cpu" "$(hot_ratio "$ROWS_SINGLE")"
	vacuum
	cpu=$(single move 600 "$ROWS_BASE" "$ROWS_SINGLE"); record move "$1" "$2" "$cpu" ''
}

wide_part() {    # VARIANT ROUND
	local cpu
	fresh_fact "$1"
	load_fact 4k 1 "$ROWS_WIDE"
	vacuum
	cpu=$(single insert 4k "$ROWS_WIDE" "$ROWS_WIDE" "$ROWS_WIDE"); record insert_4k "$1" "$2" "$cpu" ''
	vacuum
	cpu=$(single copy 4k "$ROWS_WIDE" "$ROWS_WIDE" $((2 * ROWS_WIDE))); record copy_4k "$1" "$2" "$cpu" ''
	vacuum
	cpu=$(single move 4k "$ROWS_WIDE" "$ROWS_WIDE"); record move_4k "$1" "$2" "$cpu" ''
}

bulk_part() {    # VARIANT ROUND
	local cpu
	fresh_fact "$1"
	cpu=$(sql <<-SQL
		${STEADY_MALLOC%;} \\g /dev/null
		SELECT bench_data.cpu_ns() AS before_ns \\gset
		INSERT INTO bench.fact (id, doc) SELECT id, doc::jsonb FROM bench_data.source_600 WHERE id <= $ROWS_BULK;
		SELECT round((bench_data.cpu_ns() - :before_ns) / 1000.0 / $ROWS_BULK, 3);
	SQL
	)
	record bulk "$1" "$2" "$cpu" ''
}

# take_turns PART: every variant in every round, each round beginning with another one. The first work after a data set was
# made is slower; a round 0 takes that, and is not counted.
take_turns() {
	local variants=($VARIANTS) round n variant
	"$1_part" none 0
	for ((round = 1; round <= ROUNDS; round++)); do
		for ((n = 0; n < ${#variants[@]}; n++)); do
			variant=${variants[(n + round) % ${#variants[@]}]}
			say "$1, round $round of $ROUNDS: $variant"
			"$1_part" "$variant" "$round"
			if [ "$round" = 1 ]; then same_as_recompute "$variant"; fi
		done
	done
}

write_parts() {
	local rows=0
	if wants single; then rows=$((ROWS_BASE + ROWS_SINGLE)); fi
	if wants bulk && ((ROWS_BULK > rows)); then rows=$ROWS_BULK; fi
	if ((rows)); then source_table 600 "$rows" "$TOWNS"; fi
	if wants single; then take_turns single; fi
	if wants bulk; then take_turns bulk; fi
	if wants wide; then
		source_table 4k $((3 * ROWS_WIDE)) "$TOWNS"
		sql <<-SQL
			CREATE TABLE bench_data.stored_4k (id bigint PRIMARY KEY, doc jsonb);
			INSERT INTO bench_data.stored_4k SELECT id, doc::jsonb FROM bench_data.source_4k WHERE id > 2 * $ROWS_WIDE;
			VACUUM ANALYZE bench_data.stored_4k;
		SQL
		take_turns wide
	fi
	sql -c 'DROP TABLE IF EXISTS bench_data.source_600, bench_data.source_4k, bench_data.stored_4k'
}
