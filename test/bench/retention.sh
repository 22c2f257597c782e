# Retention: what it takes to drop or detach a partition of a fact table, and for how long those wait meanwhile who read and write
# another partition. Sourced by bench.sh, which calls retention_part.
# Lines in retention.tsv: work, side, round, elapsed µs of the command, and the longest wait of a reader and of a writer, in µs.

RETENTION_PARTITIONS=10

# Each side has a fact table of its own, with two fields indexed. queued: two asynchronous index tables, which nobody drains;
# along: two index tables that are partitioned by the day, as their fact table is.
retention_indexes() {    # SIDE
	local name day bounds
	bounds="ARRAY(SELECT format('FROM (%s) TO (%s)', n, n + 1) FROM generate_series(0, $RETENTION_PARTITIONS - 1) AS n)"
	for name in email town; do
		case $1 in
		none) ;;
		expression) echo "CREATE INDEX ON bench.event_$1 ((doc ->> '$name'));" ;;
		indextable) echo "SELECT indextable.create('bench.${1}_$name', 'bench.event_$1', '{$name}');" ;;
		along) echo "SELECT indextable.create('bench.${1}_$name', 'bench.event_$1', '{$name, @day}', partition_by => 'RANGE (day)', partition_bounds => $bounds);" ;;
		queued) echo "SELECT indextable.create('bench.${1}_$name', 'bench.event_$1', '{$name}', maintenance => 'async');" ;;
		esac
	done
}

# fill_partition SIDE NUMBER
fill_partition() {
	sql <<-SQL
		CREATE TABLE bench.event_$1_$2 PARTITION OF bench.event_$1 FOR VALUES FROM ($2) TO ($2 + 1);
		INSERT INTO bench.event_$1 SELECT $2, id, doc::jsonb FROM bench_data.source_600 ORDER BY id;
	SQL
}

# pace KIND SIDE: reads or writes another partition, over and over, until told to stop; notes the longest wait
pace() {
	local statement="PERFORM FROM bench.event_$2 WHERE day = 0 AND id = n % $ROWS_RETENTION"
	if [ "$1" = writer ]; then statement="INSERT INTO bench.event_$2 VALUES (0, -n, jsonb_build_object('town', 't' || n, 'email', 'e' || n))"; fi
	sql <<-SQL
		DO \$\$
		DECLARE
			n bigint := (SELECT count(*) FROM bench.event_$2 WHERE day = 0 AND id < 0);
			began timestamptz;
			steady boolean := false;
			longest interval := '0';
		BEGIN
			INSERT INTO bench_data.paces VALUES ('$1', NULL);
			COMMIT;
			WHILE NOT EXISTS (SELECT FROM bench_data.paces WHERE kind = 'stop') LOOP
				n := n + 1;
				began := clock_timestamp();
				$statement;
				COMMIT;
				-- the first ones plan
				longest := greatest(longest, clock_timestamp() - began);
				IF NOT steady AND EXISTS (SELECT FROM bench_data.paces WHERE kind = 'begin' AND waited = 0) THEN
					steady := true;
					longest := '0';
					UPDATE bench_data.paces SET waited = -1 WHERE kind = '$1';
				END IF;
				PERFORM pg_sleep(0.001);
			END LOOP;
			UPDATE bench_data.paces SET waited = extract(epoch FROM longest) * 1000000 WHERE kind = '$1';
		END \$\$;
	SQL
}

# retire WORK SIDE ROUND: retires the last partition, and makes it anew
retire() {
	local last=$((RETENTION_PARTITIONS - 1)) kind command pids=()
	case $1 in
	retire_drop) command="DROP TABLE bench.event_$2_$last" ;;
	retire_detach) command="ALTER TABLE bench.event_$2 DETACH PARTITION bench.event_$2_$last" ;;
	retire_concurrently) command="ALTER TABLE bench.event_$2 DETACH PARTITION bench.event_$2_$last CONCURRENTLY" ;;
	esac
	sql -c 'TRUNCATE bench_data.paces'
	for kind in reader writer; do
		pace $kind "$2" &
		pids+=($!)
	done
	until [ "$(sql -c 'SELECT count(*) FROM bench_data.paces')" = 2 ]; do :; done
	sleep 0.3
	sql -c "INSERT INTO bench_data.paces VALUES ('begin', 0)"
	until [ "$(sql -c 'SELECT count(*) FROM bench_data.paces WHERE waited = -1')" = 2 ]; do :; done
	sql > "$tmp/elapsed" <<-SQL
		SELECT clock_timestamp() AS began \\gset
		$command;
		SELECT round(extract(epoch FROM clock_timestamp() - :'began') * 1000000);
	SQL
	sql -c "INSERT INTO bench_data.paces VALUES ('stop', 0)"
	wait "${pids[@]}" || die "$1 $2: who reads or writes has failed"
	sql >> "$tmp/retention.tsv" -c "SELECT '$1', '$2', $3, $(cat "$tmp/elapsed"),
		(SELECT waited FROM bench_data.paces WHERE kind = 'reader'), (SELECT waited FROM bench_data.paces WHERE kind = 'writer')"
	sql -c "DROP TABLE IF EXISTS bench.event_$2_$last"
	if [ "$2" = queued ]; then sql -c "SELECT indextable.drain('bench.event_queued')" > /dev/null; fi
	fill_partition "$2" $last
	if [ "$2" = queued ]; then sql -c "SELECT indextable.drain('bench.event_queued')" > /dev/null; fi
	if [ "$2" != none ] && [ "$2" != expression ]; then sql -c "VACUUM bench.$2_email" -c "VACUUM bench.$2_town"; fi
	sql -c CHECKPOINT
}

retention_part() {
	local side n round work
	sql -c 'DROP SCHEMA IF EXISTS bench CASCADE' -c 'CREATE SCHEMA bench' \
		-c 'CREATE UNLOGGED TABLE bench_data.paces (kind text, waited bigint)'
	source_table 600 "$ROWS_RETENTION" "$TOWNS"
	for side in none expression indextable along queued; do
		say "making the partitions of $side"
		sql -c "CREATE TABLE bench.event_$side (day int, id bigint, doc jsonb NOT NULL, PRIMARY KEY (day, id)) PARTITION BY RANGE (day)"
		for ((n = 0; n < RETENTION_PARTITIONS; n++)); do fill_partition "$side" "$n"; done
		retention_indexes "$side" | sql > /dev/null
	done
	sql -c 'VACUUM ANALYZE' -c CHECKPOINT
	for ((round = 1; round <= ROUNDS; round++)); do
		say "retention, round $round of $ROUNDS"
		for work in retire_drop retire_detach retire_concurrently; do
			for side in none expression indextable along queued; do retire $work $side "$round"; done
		done
	done
	for side in indextable along; do
		for n in email town; do
			[ -z "$(sql -c "SELECT FROM indextable.verify('bench.${side}_$n') LIMIT 1")" ] || die "bench.${side}_$n is wrong"
		done
	done
	sql -c 'DROP TABLE bench_data.source_600' -c 'DROP SCHEMA bench CASCADE' -c 'CREATE SCHEMA bench'
}

# What bench.sh prints

retention_section() {
	echo "Elapsed ms, of partitions of $ROWS_RETENTION rows each, $RETENTION_PARTITIONS of them, with two fields indexed"
	echo
	table life retention part=retention
}

retention_sizes() {
	echo "a session reads rows of another partition by the primary key, and one inserts there: the longest that a statement took"
}
