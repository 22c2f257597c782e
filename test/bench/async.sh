# Asynchronous maintenance: what it costs writers, how fast a queue is drained, what an old transaction does to it, and how far
# index tables are behind under load. Sourced by bench.sh, which calls async_parts. Index tables are normalized; workers are
# stopped but for "lag".
# Lines in enqueue.tsv: work, kind, index tables, round, CPU µs a row.
# Lines in drain.tsv: work, round, changes, CPU µs, elapsed µs; "updates_*" are single-row updates, the rest is drained.
# Lines in held.tsv: who holds, what, ten numbers separated by spaces, and one after the end.
# Lines in lag.tsv: load, what, one or two numbers; or load, "lag", µs of one transaction.

BATCH_DRAIN=10000
STEPS=10

# Fields for up to 8 index tables: name of the index table, field spec, the same as an expression.
FIELDS="by_town|town|doc->>'town'
by_email|email|doc->>'email'
by_street|street|doc->>'street'
by_phone|phone|doc->>'phone'
by_name|name|doc->>'name'
by_zip|address.zip|doc#>>'{address,zip}'
by_number|id AS number|doc->>'id'
by_order|history[0].order|doc#>>'{history,0,order}'"

# indexed_by KIND COUNT [FACT]: gives bench.fact, or another table, the first so many
indexed_by() {
	local name field expression fact=${3:-fact} in=${3:+${3}_}
	head -n "$2" <<< "$FIELDS" | while IFS='|' read -r name field expression; do
		case $1 in
		native) echo "CREATE INDEX $in$name ON bench.$fact (($expression));" ;;
		*) echo "SELECT indextable.create('bench.$in$name', 'bench.$fact', '{$field}', maintenance => '$1');" ;;
		esac
	done | sql > /dev/null
}

drain_all() { sql -c 'SELECT indextable.drain()' > /dev/null; }

vacuum_all() { sql <<< "SELECT 'VACUUM ANALYZE ' || oid::regclass FROM pg_class WHERE relnamespace = 'bench'::regnamespace AND relkind = 'r' \\gexec"; }

# ---- enqueue: single rows, while nothing is drained

# Here the variants take turns in one session, each with a fact table of its own: queueing costs less than what the same statement's
# cost changes by from one second to the next. A turn is this many transactions, the first of which finds the caches cold and is
# not counted. A round's cost is the mean of the middle half.
TURN=5

# turns WORK FACT... : the statements of a transaction, on the table whose turn it is
turns() {
	local work=$1 fact n turn=0
	shift
	for ((n = 0; n < BATCH; n++)); do statement "$work" 600; done > "$tmp/statement.sql"
	echo "\\set turn (:transaction - 1) / $TURN % $#"
	for fact; do
		echo "\\$( ((turn)) && echo elif || echo if) :turn = $turn"
		sed "s/bench\\.fact/bench.$fact/; s/:i\\b/:$fact/g; s/\\\\set i /\\\\set $fact /" "$tmp/statement.sql"
		turn=$((turn + 1))
	done
	echo '\endif'
}

enqueue_part() {
	local facts=(none_0) count fact work round options
	for count in $COUNTS; do facts+=("async_$count" "transactional_$count" "native_$count"); done
	for ((round = 1; round <= ROUNDS; round++)); do
		say "enqueue, round $round of $ROUNDS"
		fresh_fact
		# being the first or the last makes a difference, too
		facts=("${facts[@]:3}" "${facts[@]:0:3}")
		for fact in "${facts[@]}"; do
			sql -c "CREATE TABLE bench.$fact (LIKE bench.fact INCLUDING ALL)"
			if [ "$fact" != none_0 ]; then indexed_by "${fact%_*}" "${fact#*_}" "$fact"; fi
			sql -c "INSERT INTO bench.$fact SELECT id, doc::jsonb FROM bench_data.source_600 WHERE id <= $ROWS_ENQUEUE ORDER BY id"
		done
		drain_all
		for work in insert keep move delete; do
			vacuum_all
			turns $work "${facts[@]}" > "$tmp/statements.sql"
			metered "$tmp/statements.sql" turn > "$tmp/transaction.sql"
			options=()
			for fact in "${facts[@]}"; do options+=(-D "$fact=$([ $work = insert ] && echo "$ROWS_ENQUEUE" || echo 0)"); done
			sql -c 'TRUNCATE bench_data.cpu'
			PGOPTIONS="$SESSION -c plan_cache_mode=force_generic_plan" pgbench -n -M prepared -c 1 -t $((STATEMENTS_ENQUEUE / BATCH * ${#facts[@]})) --random-seed=1 \
				-D transaction=0 -D base="$ROWS_ENQUEUE" -D towns="$TOWNS" "${options[@]}" -f "$tmp/transaction.sql" > "$tmp/pgbench.log" 2>&1 ||
				{ cat "$tmp/pgbench.log" >&2; die "pgbench failed"; }
			# in the first turn, all executions are first ones
			sql >> "$tmp/enqueue.tsv" <<-SQL
				SELECT 'enqueue_$work', replace((string_to_array('${facts[*]}', ' '))[turn + 1], '_', chr(9)), $round, round(avg(ns) / $BATCH / 1000, 3)
				FROM (SELECT turn, after_ns - before_ns AS ns, ntile(4) OVER (PARTITION BY turn ORDER BY after_ns - before_ns) AS quarter
					FROM bench_data.cpu WHERE transaction > $((TURN * ${#facts[@]})) AND transaction % $TURN <> 1) AS q
				WHERE quarter IN (2, 3) GROUP BY turn;
			SQL
		done
		if [ "$round" = 1 ]; then
			drain_all
			for count in $COUNTS; do same_as_recompute "async_$count" "async_$count" "async_${count}_by_town"; done
		fi
	done
}

# ---- drain: changes made in bulk, then applied by one session

# timed_drain WORK ROUND: SQL that drains, and prints a line for drain.tsv
timed_drain() {
	cat <<-SQL
		SELECT bench_data.cpu_ns() AS cpu, clock_timestamp() AS began \\gset
		SELECT indextable.drain('bench.fact', $BATCH_DRAIN) AS changes \\gset
		SELECT '$1', $2, :changes, round((bench_data.cpu_ns() - :cpu) / 1000.0), round(extract(epoch FROM clock_timestamp() - :'began') * 1000000);
	SQL
}

# updates: single-row updates by one client, each a transaction and a round trip: lines for drain.tsv
updates() {    # WORK ROUND
	local n
	{
		echo 'INSERT INTO bench_data.pace VALUES (bench_data.cpu_ns(), clock_timestamp());'
		for ((n = 0; n < 200; n++)); do statement move 600; done
	} > "$tmp/updates.sql"
	sql -c 'TRUNCATE bench_data.pace'
	PGOPTIONS="$SESSION -c plan_cache_mode=force_generic_plan" pgbench -n -M prepared -c 1 -T "$SECONDS_UPDATES" --random-seed=1 \
		-D i=0 -D base="$ROWS_DRAIN" -D towns="$TOWNS" -f "$tmp/updates.sql" > "$tmp/pgbench.log" 2>&1 || { cat "$tmp/pgbench.log" >&2; die "pgbench failed"; }
	# the first few are slower
	sql -c "SELECT '$1', $2, 200 * count(*), round(sum(cpu) / 1000), round(sum(elapsed) * 1000000) FROM
		(SELECT lead(cpu_ns) OVER w - cpu_ns AS cpu, extract(epoch FROM lead(at) OVER w - at) AS elapsed, row_number() OVER w AS n
			FROM bench_data.pace WINDOW w AS (ORDER BY at)) AS p
		WHERE cpu IS NOT NULL AND n > 3" >> "$tmp/drain.tsv"
}

# move_all ROWS SALT: SQL that moves the key of the first so many rows
move_all() { echo "UPDATE bench.fact SET doc = jsonb_set(doc, '{town}', to_jsonb(bench_data.town(bench_data.pick(id, $2, $TOWNS)))) WHERE id <= $1;"; }

drain_round() {    # ROUND
	local n
	fresh_fact
	load_fact 600 1 "$ROWS_DRAIN"
	vacuum_all
	updates updates_none "$1"

	fresh_fact
	indexed_by async 1
	{
		echo "SELECT indextable.drain('bench.fact') \\g /dev/null"
		echo "INSERT INTO bench.fact (id, doc) SELECT id, doc::jsonb FROM bench_data.source_600 WHERE id <= $ROWS_DRAIN;"
		timed_drain drain_insert "$1"
		echo 'VACUUM ANALYZE bench.fact; VACUUM ANALYZE bench.by_town;'
		move_all "$ROWS_DRAIN" 99
		timed_drain drain_move "$1"
		echo 'VACUUM ANALYZE bench.fact; VACUUM ANALYZE bench.by_town;'
		echo "UPDATE bench.fact SET doc = jsonb_set(doc, '{balance}', to_jsonb(id));"
		timed_drain drain_keep "$1"
		echo 'VACUUM ANALYZE bench.fact; VACUUM ANALYZE bench.by_town;'

		# the same rows, once and many times
		move_all $((ROWS_DRAIN / 100)) 200
		timed_drain once "$1"
		for ((n = 1; n <= 100; n++)); do move_all $((ROWS_DRAIN / 100)) $((200 + n)); done
		timed_drain coalesce "$1"
	} | sql >> "$tmp/drain.tsv"
	vacuum_all
	updates updates_queued "$1"
	drain_all
	if [ "$1" = 1 ]; then same_as_recompute async; fi
	vacuum_all
	{
		echo "SELECT indextable.drain('bench.fact') \\g /dev/null"
		echo 'DELETE FROM bench.fact;'
		timed_drain drain_delete "$1"
	} | sql >> "$tmp/drain.tsv"
}

drain_part() {
	local round
	sql -c 'CREATE UNLOGGED TABLE bench_data.pace (cpu_ns bigint, at timestamptz)'
	for ((round = 1; round <= ROUNDS; round++)); do
		say "drain, round $round of $ROUNDS"
		drain_round "$round"
	done
}

# short_documents ROWS: a fact table that costs little beside its queue, and an index table
short_documents() {
	fresh_fact
	sql -c "INSERT INTO bench.fact SELECT id, jsonb_build_object('town', bench_data.town((id % $TOWNS)::int), 'id', id) FROM generate_series(1, $1) AS id"
	indexed_by async 1
	vacuum_all
}

# ---- held: many changes while a transaction is left open

# held_by HOLDER: ten steps, drained by one session, as a worker would; in each, some rows are inserted singly, by a new session,
# and the keys of others moved in bulk, all of them distinct.
held_by() {
	local step=$((ROWS_HELD / STEPS)) singly n size release
	local queues="(SELECT pg_total_relation_size(queue) + pg_total_relation_size(spare) FROM indextable_internal.fact WHERE fact_table = 'bench.fact'::regclass)"
	local pgbench="pgbench -n -M prepared -c 1 -D transaction=0 -D towns=$TOWNS -f $tmp/transaction.sql"
	singly=$((step / 20 / BATCH * BATCH))
	say "held, by $1"
	short_documents "$ROWS_HELD"
	for ((n = 0; n < BATCH; n++)); do
		echo '\set i :i + 1'
		echo '\set town random(0, :towns - 1)'
		echo "INSERT INTO bench.fact VALUES (:i, jsonb_build_object('town', bench_data.town(:town), 'id', :i::bigint));"
	done > "$tmp/statements.sql"
	metered "$tmp/statements.sql" > "$tmp/transaction.sql"

	coproc HOLDER { sql 2>&1; }
	case $1 in
	nobody) : ;;
	snapshot) echo 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM bench.fact WHERE id < 10;' ;;
	# enough to have written to the queue before it commits
	writer) echo "BEGIN; INSERT INTO bench.fact SELECT -id, '{\"town\": \"Nowhere\"}' FROM generate_series(1, 20000) AS id;" ;;
	esac >&"${HOLDER[1]}"
	echo '\echo holding' >&"${HOLDER[1]}"
	while read -r n <&"${HOLDER[0]}" && [ "$n" != holding ]; do :; done
	[ "$n" = holding ] || die "held: could not hold"

	{
		echo "SELECT indextable.drain('bench.fact') \\g /dev/null"
		for ((n = 0; n < STEPS; n++)); do
			cat <<-SQL
				TRUNCATE bench_data.cpu;
				\\setenv PGOPTIONS '$SESSION -c plan_cache_mode=force_generic_plan'
				\\! $pgbench -t $((singly / BATCH)) --random-seed=$((n + 1)) -D i=$((ROWS_HELD + n * singly)) > $tmp/pgbench.log 2>&1 || cat $tmp/pgbench.log >&2
				SELECT 'enqueue', round(us, 1) FROM ($(metered_us $BATCH)) AS m(us);
				SELECT bench_data.cpu_ns() AS cpu \\gset
				UPDATE bench.fact SET doc = jsonb_set(doc, '{town}', to_jsonb(bench_data.town(bench_data.pick(id, $((300 + n)), $TOWNS))))
					WHERE id > $((n * step + singly)) AND id <= $(((n + 1) * step));
				SELECT 'bulk', round((bench_data.cpu_ns() - :cpu) / 1000.0 / $((step - singly)), 1);
				SELECT bench_data.cpu_ns() AS cpu \\gset
				SELECT indextable.drain('bench.fact', $BATCH_DRAIN) AS changes \\gset
				SELECT 'drain', round(:changes * 1000000.0 / (bench_data.cpu_ns() - :cpu));
				SELECT 'size', round($queues / 1e6, 1);
			SQL
		done
	} | sql > "$tmp/steps.tsv"

	echo 'COMMIT; \echo released' >&"${HOLDER[1]}"
	while read -r n <&"${HOLDER[0]}" && [ "$n" != released ]; do :; done
	eval "exec ${HOLDER[1]}>&-"
	wait "$HOLDER_PID" || :
	# rotation takes turns
	for n in 1 2 3; do drain_all; done
	size=$(sql -c "SELECT round($queues / 1e6, 1)")
	for n in enqueue bulk drain size; do
		release=
		if [ $n = size ]; then release=$size; fi
		printf '%s\t%s\t%s\t%s\n' "$1" $n "$(awk -v what=$n '$1 == what { print $2 }' "$tmp/steps.tsv" | paste -sd ' ')" "$release" >> "$tmp/held.tsv"
	done
	same_as_recompute async
}

held_part() {
	local holder
	for holder in nobody snapshot writer; do held_by $holder; done
}

# ---- lag: with a worker, under load

# load TRANSACTIONS-A-SECOND SECONDS: by one client, until the time is up; 0: as many as it can. Each transaction moves the keys of
# scattered rows and inserts one whose id is its number from here on.
MOVES=20
MARKER=1000000000
load() {
	local rate=()
	if [ "$1" != 0 ]; then rate=(-R "$1"); fi
	rm -f "$tmp"/log.*
	PGOPTIONS="$SESSION -c plan_cache_mode=force_generic_plan" pgbench -n -M prepared -c 1 -T "$2" "${rate[@]}" -l --log-prefix="$tmp/log" \
		--random-seed=1 -D i="$loaded" -D base="$ROWS_LAG" -D towns="$TOWNS" -f "$tmp/load.sql" > "$tmp/pgbench.log" 2>&1 || { cat "$tmp/pgbench.log" >&2; die "pgbench failed"; }
	cat "$tmp"/log.* > "$tmp/commits"
	before=$loaded
	loaded=$((loaded + $(wc -l < "$tmp/commits")))
}

# cpu_of TYPE: ms for which the background workers of this type have had a CPU, and have waited for one
cpu_of() {
	sql <<-SQL
		SELECT round(coalesce(sum(s[1]::bigint), 0) / 1e6, 1), round(coalesce(sum(s[2]::bigint), 0) / 1e6, 1)
		FROM (SELECT string_to_array(pg_read_file('/proc/' || pid || '/schedstat'), ' ') AS s FROM pg_stat_activity WHERE backend_type = '$1') AS p;
	SQL
}

# share_of BEFORE AFTER SECONDS: of what cpu_of printed, ms a second: two numbers
share_of() { awk -v before="$1" -v after="$2" -v s="$3" 'BEGIN { split(before, b); split(after, a); printf "%.2f\t%.2f", (a[1] - b[1]) / s, (a[2] - b[2]) / s }'; }

# lag_under NAME TRANSACTIONS-A-SECOND SECONDS: the lag of each transaction is the time from its commit, as its client has it, until
# another session, which looks every ms, sees the entry of its marker. One client's changes are queued and applied in the order
# of its commits.
lag_under() {
	local looking before cpu
	say "lag, $2 transactions a second"
	sql -c 'TRUNCATE bench_data.seen'
	PGOPTIONS="$SESSION -c enable_seqscan=off" pgbench -n -M prepared -c 1 -T 3600 -D last=$((MARKER + loaded)) -f "$tmp/look.sql" > "$tmp/look.log" 2>&1 &
	looking=$!
	sleep 0.5
	cpu=$(cpu_of 'indextable worker')
	load "$2" "$3"
	cpu=$(share_of "$cpu" "$(cpu_of 'indextable worker')" "$3")
	[ "$(sql -c "SELECT indextable.wait('bench.by_town', '10 minutes')")" = t ] || die "lag: the worker does not catch up"
	sleep 0.5
	kill $looking || { cat "$tmp/look.log" >&2; die "pgbench failed"; }
	wait $looking || :
	sql -c "SELECT last - $MARKER - $before, at FROM bench_data.seen ORDER BY at" > "$tmp/seen"
	# columns 5 and 6 of pgbench's log: when the transaction ended
	awk -v load="$1" 'NR == FNR { upto[++n] = $1; at[n] = $2; next }
		{
			while (s <= n && upto[s] < FNR) s++
			if (s > n) exit 1
			lag = at[s] - ($5 * 1000000 + $6)
			printf "%s\tlag\t%.0f\n", load, (lag > 0 ? lag : 0)
		}' "$tmp/seen" "$tmp/commits" > "$tmp/lags" || die "lag: changes were not seen"
	printf '%s\t%s\t%s\n' "$1" changes $(((loaded - before) * (MOVES + 1) / $3)) "$1" cpu "$cpu" >> "$tmp/lag.tsv"
	sort -t $'\t' -k 3n "$tmp/lags" >> "$tmp/lag.tsv"
}

lag_part() {
	local loaded=0 before drained most half n ids= worker launcher
	short_documents "$ROWS_LAG"
	sql -c 'CREATE UNLOGGED TABLE bench_data.seen (last bigint, at bigint)'
	{
		echo '\set i :i + 1'
		for ((n = 0; n < MOVES; n++)); do
			echo "\set id$n random(1, :base)"
			ids+=${ids:+, }:id$n
		done
		echo '\set town random(0, :towns - 1)'
		echo "WITH moved AS (UPDATE bench.fact SET doc = jsonb_set(doc, '{town}', to_jsonb(bench_data.town(((:town + id) % :towns)::int))) WHERE id IN ($ids))
			INSERT INTO bench.fact VALUES ($MARKER + :i, '{\"town\": \"Marker\"}');"
	} > "$tmp/load.sql"
	cat > "$tmp/look.sql" <<-SQL
		SELECT coalesce(max(id), 0) AS applied, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS at FROM bench.by_town WHERE town = 'Marker' \gset
		\if :applied > :last
		INSERT INTO bench_data.seen VALUES (:applied, :at);
		\set last :applied
		\endif
		\sleep 1 ms
	SQL

	say "lag, what one client and a drain can do"
	drained=$({
		echo "SELECT indextable.drain('bench.fact') \g /dev/null"
		move_all "$ROWS_LAG" 99
		timed_drain drain 0
	} | sql | awk -F '\t' '{ printf "%d", $3 * 1000000 / $5 }')
	load 0 2
	most=$((loaded / 2))
	drain_all
	half=$((drained / 2 / (MOVES + 1)))
	if ((half > most * 8 / 10)); then half=$((most * 8 / 10)); fi
	vacuum_all
	sql -c 'SELECT indextable.start_workers()' > /dev/null
	n=100
	until [ "$(sql -c 'SELECT count(*) FROM indextable.workers()')" != 0 ] || ! ((--n)); do sleep 0.1; done
	((n)) || die "lag: no worker has started"
	printf 'half\tdrained\t%s\n' "$drained" >> "$tmp/lag.tsv"
	lag_under light $((half < 100 ? half : 100)) $((SECONDS_LAG / 4))
	lag_under half "$half" "$SECONDS_LAG"

	say "lag, idle"
	sleep 1
	worker=$(cpu_of 'indextable worker') launcher=$(cpu_of 'indextable launcher')
	sleep "$SECONDS_IDLE"
	for n in worker launcher; do printf 'idle\t%s\t%s\n' $n "$(share_of "${!n}" "$(cpu_of "indextable $n")" "$SECONDS_IDLE")"; done >> "$tmp/lag.tsv"
	same_as_recompute async
	sql -c 'SELECT indextable.stop_workers()' > /dev/null
}

async_parts() {
	local rows=0
	if wants enqueue; then rows=$((ROWS_ENQUEUE + STATEMENTS_ENQUEUE)); fi
	if wants drain; then rows=$((ROWS_DRAIN > rows ? ROWS_DRAIN : rows)); fi
	if ((rows)); then source_table 600 "$rows" "$TOWNS"; fi
	if wants enqueue; then enqueue_part; fi
	if wants drain; then drain_part; fi
	if wants held; then held_part; fi
	if wants lag; then lag_part; fi
	sql -c 'DROP TABLE IF EXISTS bench_data.source_600'
}

# What bench.sh prints

async_section() {
	case $1 in
	enqueue) echo "CPU µs a row, nothing drained meanwhile; over documents of $(size_of 600) bytes with so many index tables or indexes" ;;
	many) echo "CPU µs a row, above no index, with so many transactional index tables, and with as many expression B-trees" ;;
	drain) echo "One session, batches of $BATCH_DRAIN; times the rate of single-row updates by one client, a transaction each" ;;
	held) echo "A transaction is left open while $ROWS_HELD changes are queued and drained, in $STEPS steps" ;;
	lag) echo "From a commit until another session, which looks every ms, sees the entries; one worker, batches of 10000 at most" ;;
	esac
	echo
	table async "$(if [ "$1" = many ]; then echo enqueue; else echo "$1"; fi)" "part=$1"
}

async_sizes() {
	case $1 in
	many) echo "$STATEMENTS_ENQUEUE statements a round on $ROWS_ENQUEUE rows, 100 to a transaction, $TOWNS towns" ;;
	enqueue) echo "queueing: $STATEMENTS_ENQUEUE statements a round on $ROWS_ENQUEUE rows, 100 to a transaction, $TOWNS towns" ;;
	drain) echo "draining: $ROWS_DRAIN changes of distinct rows, made in bulk; elapsed time, and CPU time of the session that drains" ;;
	held) echo "left open: one round; short documents, each row changed once, one session drains; the snapshot is REPEATABLE READ, the idle writer has queued 20,000 changes" ;;
	lag)
		echo "lag: $SECONDS_LAG s, transactions of $((MOVES + 1)) changes at random intervals, on $ROWS_LAG rows with short documents"
		sql -c "SELECT 'workers: ' || CASE WHEN current_setting('shared_preload_libraries') ~ 'indextable' THEN 'woken by commits'
			ELSE 'look every ' || current_setting('indextable.naptime') || ', as indextable is not preloaded' END"
		;;
	esac
}
