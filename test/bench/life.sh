# What the life of an index table costs beside keeping it in step: making it, with writers kept out and online, verifying and
# repairing it, and what writers lose to a build. Sourced by bench.sh, which calls life_part.
# Lines in life.tsv: work, side, round, CPU µs, elapsed µs. The first side of a work is what the others are compared with. CPU is
# that of the one session, and empty where parallel workers help it.
# Lines in repair.tsv: wrong entries, round, CPU µs of repair(), elapsed µs, CPU µs of a verify() that finds nothing.
# Lines in beside.tsv: clients, side, round, statements a second, CPU µs of a statement, builds.

# Without the planner's help, so that count(field) reads the fact table.
SERIAL="SET indextable.planner = off; SET max_parallel_maintenance_workers = 0;"
PARALLEL="SET indextable.planner = off; SET max_parallel_workers_per_gather = 2; SET max_parallel_maintenance_workers = 2;"

# timed WORK SIDE ROUND SETTINGS STATEMENT... : runs them in a session of its own; a line for life.tsv
timed() {
	local work=$1 side=$2 round=$3 settings=$4 statement cpu='round((bench_data.cpu_ns() - :cpu) / 1000.0)'
	shift 4
	if [ "$settings" = "$PARALLEL" ]; then cpu="''"; fi
	{
		echo "$settings"
		echo 'SELECT bench_data.cpu_ns() AS cpu, clock_timestamp() AS began \gset'
		for statement; do echo "$statement \\g /dev/null"; done
		echo "SELECT '$work', '$side', $round, $cpu, round(extract(epoch FROM clock_timestamp() - :'began') * 1000000);"
	} | sql >> "$tmp/life.tsv"
}

NATIVE="CREATE INDEX by_expression ON bench.fact ((doc ->> 'town'))"
NORMALIZED="SELECT indextable.create('bench.by_town', 'bench.fact', '{town}')"
PARTIAL="SELECT indextable.create('bench.by_town', 'bench.fact', '{town}', include => '{name, street, \"balance::numeric(12,2)\"}')"
LATER="SELECT indextable.create('bench.by_town', 'bench.fact', '{town}', populate => false)"
BUILD="CALL indextable.build('bench.by_town')"
COUNT="SELECT (SELECT count(*) FROM bench.fact) + (SELECT count(*) FROM bench.by_town)"
COUNT_FIELD="SELECT (SELECT count(doc ->> 'town') FROM bench.fact) + (SELECT count(town) FROM bench.by_town)"
VERIFY="SELECT * FROM indextable.verify('bench.by_town')"
SAMPLE="SELECT * FROM indextable.verify('bench.by_town', sample => 1)"

undo() { sql -c 'DROP INDEX IF EXISTS bench.by_expression' -c 'DROP TABLE IF EXISTS bench.by_town'; }

life_round() {    # ROUND
	local mode settings
	for mode in serial parallel; do
		settings=$SERIAL
		if [ $mode = parallel ]; then settings=$PARALLEL; fi
		timed create_$mode native "$1" "$settings" "$NATIVE"; undo
		timed create_$mode normalized "$1" "$settings" "$NORMALIZED"; undo
		timed create_$mode partial "$1" "$settings" "$PARTIAL"; undo
	done

	timed build locked "$1" "$SERIAL" "$NORMALIZED"; undo
	timed build online "$1" "$SERIAL" "$LATER" "$BUILD"
	if [ "$1" = 1 ]; then same_as_recompute build; fi
	timed rebuild locked "$1" "$SERIAL" "SELECT indextable.alter('bench.by_town', include => '{name}')"
	undo
	sql -c "$NORMALIZED" > /dev/null
	timed rebuild online "$1" "$SERIAL" "SELECT indextable.alter('bench.by_town', include => '{name}', populate => false)" \
		"CALL indextable.rebuild('bench.by_town')"
	if [ "$1" = 1 ]; then same_as_recompute rebuild; fi
	undo

	sql -c "$NORMALIZED" > /dev/null
	timed verify field "$1" "$SERIAL" "$COUNT_FIELD"
	timed verify count "$1" "$SERIAL" "$COUNT"
	timed verify verify "$1" "$SERIAL" "$VERIFY"
	timed verify sample "$1" "$SERIAL" "$SAMPLE"
	timed verify_parallel field "$1" "$PARALLEL" "$COUNT_FIELD"
	timed verify_parallel count "$1" "$PARALLEL" "$COUNT"
	timed verify_parallel verify "$1" "$PARALLEL" "$VERIFY"
	undo
}

# damage COUNT: makes so many entries wrong, a third each missing, stale and dangling
damage() {
	sql <<-SQL
		SET session_replication_role = replica;
		CREATE TEMP TABLE wrong AS SELECT n, n * 7919 % $ROWS_LIFE + 1 AS id FROM generate_series(1, $1) AS n;
		ANALYZE wrong;
		DELETE FROM bench.by_town AS e USING wrong AS w WHERE w.id = e.id AND w.n % 3 = 1;
		INSERT INTO bench.by_town SELECT 'Nowhere', CASE n % 3 WHEN 2 THEN id ELSE -id END FROM wrong WHERE n % 3 <> 1;
	SQL
}

repair_round() {    # ROUND
	local wrong verify repair
	for wrong in $WRONG; do
		sql -c "$NORMALIZED" > /dev/null
		damage "$wrong"
		[ "$(sql -c "SELECT count(*) FROM indextable.verify('bench.by_town')")" = "$wrong" ] || die "verify() does not find the $wrong wrong entries"
		sql >> "$tmp/repair.tsv" <<-SQL
			SELECT bench_data.cpu_ns() AS cpu, clock_timestamp() AS began \\gset
			CALL indextable.repair('bench.by_town') \\g /dev/null
			SELECT bench_data.cpu_ns() - :cpu AS cpu, extract(epoch FROM clock_timestamp() - :'began') AS elapsed \\gset
			SELECT bench_data.cpu_ns() AS before \\gset
			$VERIFY \\g /dev/null
			SELECT $wrong, $1, round(:cpu / 1000.0), round(:elapsed * 1000000), round((bench_data.cpu_ns() - :before) / 1000.0);
		SQL
		if [ "$1" = 1 ]; then same_as_recompute repair; fi
		undo
	done
}

# ---- writers beside a build

# A transaction of pgbench notes the time; the statements are transactions of their own. Of 20, 9 move the key, 9 leave it, one
# inserts and one deletes.
writers() {
	local n
	echo 'INSERT INTO bench_data.pace VALUES (pg_backend_pid(), bench_data.cpu_ns(), clock_timestamp());'
	for n in 1 2 3 4 5 6 7 8 9; do
		echo '\set id random(1, :base)'
		echo '\set town random(0, :towns - 1)'
		echo "UPDATE bench.fact SET doc = jsonb_set(doc, '{town}', to_jsonb(bench_data.town(:town))) WHERE id = :id;"
		echo '\set id random(1, :base)'
		echo "UPDATE bench.fact SET doc = jsonb_set(doc, '{balance}', to_jsonb(:town::int)) WHERE id = :id;"
	done
	echo '\set i :i + 1'
	echo '\set id random(1, :base)'
	echo 'INSERT INTO bench.fact SELECT :base * 2 + :client_id * 1000000000 + :i, doc FROM bench.fact WHERE id = :id;'
	echo 'DELETE FROM bench.fact WHERE id = :base * 2 + :client_id * 1000000000 + :i - 10;'
}

# builds: one after the other, until told to stop; the last one stays
builds() {
	while :; do
		sql -c "$LATER" -c "$BUILD" > /dev/null
		echo >> "$tmp/builds"
		if [ -e "$tmp/stop" ]; then return; fi
		undo
	done
}

beside() {    # CLIENTS SIDE ROUND
	local building='' begun=0
	rm -f "$tmp/stop"
	: > "$tmp/builds"
	sql -c 'TRUNCATE bench_data.pace' -c 'VACUUM bench.fact'
	if [ "$2" = build ]; then
		builds &
		building=$!
		until [ "$(sql -c 'SELECT count(*) FROM indextable.progress WHERE rows_done > 0')" = 1 ]; do
			kill -0 $building 2> /dev/null || die "beside: the build has failed"
		done
	fi
	PGOPTIONS="$SESSION -c plan_cache_mode=force_generic_plan" pgbench -n -M prepared -c "$1" -j "$1" -T "$SECONDS_LIFE" --random-seed=1 \
		-D i=$((++windows * 1000000)) -D base="$ROWS_LIFE" -D towns="$TOWNS" -f "$tmp/writers.sql" > "$tmp/pgbench.log" 2>&1 || { cat "$tmp/pgbench.log" >&2; die "pgbench failed"; }
	if [ -n "$building" ]; then
		begun=$(($(wc -l < "$tmp/builds") + 1))
		touch "$tmp/stop"
		wait $building || die "beside: the build has failed"
		if [ "$3" = 1 ]; then same_as_recompute beside; fi
		undo
	fi
	# the first few are slower
	sql >> "$tmp/beside.tsv" <<-SQL
		SELECT $1, '$2', $3, round(sum(rate)), round(sum(cpu) / sum(n) / 1000, 2), $begun
		FROM (SELECT 20 * count(*) AS n, 20 * count(*) / extract(epoch FROM sum(elapsed)) AS rate, sum(cpu) AS cpu FROM
			(SELECT pid, lead(cpu_ns) OVER w - cpu_ns AS cpu, lead(at) OVER w - at AS elapsed, row_number() OVER w AS n
				FROM bench_data.pace WINDOW w AS (PARTITION BY pid ORDER BY at)) AS p
			WHERE cpu IS NOT NULL AND n > 10 GROUP BY pid) AS c;
	SQL
}

beside_rounds() {
	local round clients windows=0
	sql -c 'DROP TABLE IF EXISTS bench_data.pace' -c 'CREATE UNLOGGED TABLE bench_data.pace (pid int, cpu_ns bigint, at timestamptz)'
	writers > "$tmp/writers.sql"
	beside 1 none 0
	: > "$tmp/beside.tsv"
	for ((round = 1; round <= ROUNDS; round++)); do
		say "writers beside builds, round $round of $ROUNDS"
		for clients in 1 2; do
			# being the first makes a difference
			if ((round % 2)); then
				beside $clients none "$round"
				beside $clients build "$round"
			else
				beside $clients build "$round"
				beside $clients none "$round"
			fi
		done
	done
}

life_part() {
	local round distinct=$((ROWS_LIFE < 100000 ? ROWS_LIFE : 100000))
	source_table 600 $distinct "$TOWNS"
	fresh_fact
	sql -c "INSERT INTO bench.fact SELECT n, doc::jsonb FROM generate_series(1, $ROWS_LIFE) AS n JOIN bench_data.source_600 ON id = (n - 1) % $distinct + 1 ORDER BY n"
	sql -c 'DROP TABLE bench_data.source_600' -c 'VACUUM ANALYZE bench.fact'
	if wants life; then
		life_round 0    # finds the caches cold
		: > "$tmp/life.tsv"
		for ((round = 1; round <= ROUNDS; round++)); do
			say "life, round $round of $ROUNDS"
			life_round "$round"
			repair_round "$round"
		done
	fi
	if wants beside; then beside_rounds; fi
	undo
}

# What bench.sh prints

life_section() {
	case $1 in
	life) echo "An index table of $ROWS_LIFE rows with documents of $(size_of 600) bytes; times what the first line of each takes" ;;
	repair) echo "Out of $ROWS_LIFE entries; a third each missing, stale and dangling" ;;
	beside) echo "At default settings: single-row statements a second, each its own transaction" ;;
	esac
	echo
	table life "$1" "part=$1"
}

life_sizes() {
	case $1 in
	life) echo "making and checking: $ROWS_LIFE rows, $TOWNS towns; without parallel workers but where said; CPU time of the one session" ;;
	beside) echo "writers beside builds: windows of $SECONDS_LIFE s, builds one after the other" ;;
	esac
}
