# Plain SQL over fact tables: planned without index tables, with native indexes instead; with index tables; and the index table named
# by hand. And what index tables cost the planner where they are of no use. Sourced by bench.sh, which calls planner_part.
# Lines in planner.tsv: work, protocol, side, round, CPU µs of a query.
# Lines in planning.tsv: work, off or on, round, CPU µs of planning.

# The works are named after what a query asks for, and of which fact table: 600 and 4k are plain ones with documents of that size; p and
# s are partitioned, with an index for one row and with one for the rows of a town, and the number of partitions.
#   only      3 fields of the 100 rows of a town, which the index table has; fetch: their documents
#   element   the first 20 documents that hold a tag, in the order of another field; its native index is a GIN
#   groups    how many rows each town has
#   one       the row with an email
#   update    the same row is updated; lock: it is locked
#   and       how many documents hold two tags; tag: one; facets: each; union: the first 20 documents of three names, in the order of
#             another field; names: each name, and how many; latest: the greatest value of another field for each. Native are a GIN
#             and a B-tree with both fields
#   pattern   2 fields of the 100 rows whose email is ILIKE a pattern, by trigrams: of the expression, and of the index table's column; t and
#             t256 are a table for that, and one of 256 partitions
#   secure    how many documents have a name, asked by a role to which a policy applies
#   page      of crud and beside, the indexed reads of the benchmark crud-bench: 3 fields of the first 1,000 documents that hold a tag, in
#             the order of another field; status: that have a status; in: one of three; either: the tag or the status; offset: 100
#             documents from the 5,000th on that have a status; total: how many have. Native is an index on each field. beside: while
#             500 documents a second get another value of the field that orders them
# The sides: native, on a table with native indexes; generated, with the tags as an array in a generated column, in a GIN; rum, in an
# index of that extension, if there is one; ours, the query of native on a table with index tables; hand, where it names these.

# planner_query WORK SIDE: a query with :key
planner_query() {
	local of=${1#*_} fact=bench.${2/hand/ours}_${1#*_}
	local fields_crud="SELECT id, doc->>'name' AS name, (doc->>'balance')::numeric AS balance" order_crud="ORDER BY (doc->>'balance')::numeric, id"
	case $1,$2 in
	and_*,generated | and_*,rum | tag_*,generated | tag_*,rum) echo "SELECT count(*) FROM $fact WHERE tags @> (SELECT array_agg(t) FROM jsonb_array_elements_text(:key) AS t)" ;;
	facets_*,generated) echo "SELECT t, count(*) FROM $fact, unnest(tags) AS t GROUP BY 1" ;;
	names_*,hand) echo "SELECT count(DISTINCT name) FROM bench.by_name_$of" ;;
	names_*) echo "SELECT count(DISTINCT doc->>'name') FROM $fact" ;;
	latest_*,hand) echo "SELECT name, max(balance) FROM bench.by_name_$of GROUP BY 1" ;;
	latest_*) echo "SELECT doc->>'name' AS name, max((doc->>'balance')::numeric) FROM $fact GROUP BY 1" ;;
	only_*,hand) echo "SELECT name, street, balance FROM bench.by_town_$of WHERE town = :key" ;;
	only_*) echo "SELECT doc->>'name' AS name, doc->>'street' AS street, (doc->>'balance')::numeric(12,2) AS balance FROM $fact WHERE doc->>'town' = :key" ;;
	fetch_*,hand) echo "SELECT * FROM indextable.lookup('bench.by_town_$of', jsonb_build_object('town', :key::text))" ;;
	fetch_*) echo "SELECT doc FROM $fact WHERE doc->>'town' = :key" ;;
	element_*,hand) echo "SELECT doc FROM bench.by_tag_$of AS i JOIN bench.ours_$of USING (id) WHERE tags = :key::jsonb ->> 0 ORDER BY i.balance, i.id LIMIT 20" ;;
	element_*) echo "SELECT doc FROM $fact WHERE doc->'tags' @> :key::jsonb ORDER BY (doc->>'balance')::numeric, id LIMIT 20" ;;
	groups_*,hand) echo "SELECT town, count(*) FROM bench.by_town_$of GROUP BY town" ;;
	groups_*) echo "SELECT doc->>'town' AS town, count(*) FROM $fact GROUP BY 1" ;;
	update_*,hand) echo "UPDATE $fact SET doc = doc || '{\"seen\": true}' WHERE id = ANY (ARRAY(SELECT id FROM bench.by_email_$of WHERE email = :key)) AND doc->>'email' = :key RETURNING id" ;;
	update_*) echo "UPDATE $fact SET doc = doc || '{\"seen\": true}' WHERE doc->>'email' = :key RETURNING id" ;;
	lock_*,hand) echo "SELECT id FROM $fact WHERE id = ANY (ARRAY(SELECT id FROM bench.by_email_$of WHERE email = :key)) AND doc->>'email' = :key FOR UPDATE" ;;
	lock_*) echo "SELECT id FROM $fact WHERE doc->>'email' = :key FOR UPDATE" ;;
	and_*,hand) echo "SELECT count(*) FROM (SELECT id FROM bench.by_tag_$of WHERE tags = :key::jsonb ->> 0 INTERSECT SELECT id FROM bench.by_tag_$of WHERE tags = :key::jsonb ->> 1) AS i" ;;
	and_*) echo "SELECT count(*) FROM $fact WHERE doc->'tags' @> :key::jsonb" ;;
	tag_*,hand) echo "SELECT count(*) FROM bench.by_tag_$of WHERE tags = :key::jsonb ->> 0" ;;
	tag_*) echo "SELECT count(*) FROM $fact WHERE doc->'tags' @> :key::jsonb" ;;
	facets_*,hand) echo "SELECT tags, count(*) FROM bench.by_tag_$of GROUP BY 1" ;;
	facets_*) echo "SELECT t, count(*) FROM $fact, jsonb_array_elements_text(doc->'tags') AS t GROUP BY 1" ;;
	union_*,hand) echo "SELECT doc FROM (SELECT id, balance FROM bench.by_name_$of WHERE name = ANY (:key::text[]) ORDER BY balance, id LIMIT 20) AS i JOIN $fact USING (id) ORDER BY balance, id" ;;
	union_*) echo "SELECT doc FROM $fact WHERE doc->>'name' = ANY (:key::text[]) ORDER BY (doc->>'balance')::numeric, id LIMIT 20" ;;
	pattern_*,hand) echo "SELECT name, street FROM bench.by_email_$of WHERE email ILIKE :key" ;;
	pattern_*) echo "SELECT doc->>'name' AS name, doc->>'street' AS street FROM $fact WHERE doc->>'email' ILIKE :key" ;;
	secure_*,hand) echo "SELECT count(*) FROM bench.by_name_$of JOIN $fact USING (id) WHERE name = :key" ;;
	secure_*) echo "SELECT count(*) FROM $fact WHERE doc->>'name' = :key" ;;
	page_*) echo "$fields_crud FROM $fact WHERE doc->'tags' @> '[\"gold\"]' $order_crud LIMIT 1000" ;;
	status_*) echo "$fields_crud FROM $fact WHERE doc->>'status' = :key $order_crud LIMIT 1000" ;;
	in_*) echo "$fields_crud FROM $fact WHERE doc->>'status' = ANY (ARRAY[:key, 's3', 's7']) $order_crud LIMIT 1000" ;;
	either_*) echo "$fields_crud FROM $fact WHERE doc->>'status' = :key OR doc->'tags' @> '[\"gold\"]' $order_crud LIMIT 1000" ;;
	offset_*) echo "$fields_crud FROM $fact WHERE doc->>'status' = :key $order_crud OFFSET 5000 LIMIT 100" ;;
	total_*) echo "SELECT count(*) FROM $fact WHERE doc->>'status' = :key" ;;
	one_*,hand) echo "SELECT * FROM indextable.lookup('bench.by_email_$of', jsonb_build_object('email', :key::text))" ;;
	one_*) echo "SELECT doc FROM $fact WHERE doc->>'email' = :key" ;;
	esac
}

planner_sides() {    # WORK
	case $1 in
	and_* | tag_*) echo "native generated$rum ours hand" ;;
	facets_*) echo "native generated ours hand" ;;
	*_crud | *_beside) echo "native ours" ;;
	*) echo "native ours hand" ;;
	esac
}

# planner_session SIDE WORK: the options of its sessions
planner_session() { echo "$SESSION -c indextable.planner=$([ "$1" = ours ] && echo on || echo off)$([[ $2 != secure_* ]] || echo ' -c role=bench_reader')"; }

planner_keys() {    # WORK: a random but repeatable choice
	local key="doc->>'town'"
	case $1 in
	element_*) key="jsonb_build_array(jsonb_array_elements(doc->'tags'))::text" ;;
	and_*) key="(doc->'tags')::text" ;;
	tag_*) key="jsonb_build_array(jsonb_array_elements(doc->'tags'))::text" ;;
	secure_*) key="doc->>'name'" ;;
	pattern_*) key="'%' || lpad(right(doc->>'id', $((${#ROWS_PARTITIONS} - 3))), $((${#ROWS_PARTITIONS} - 3)), '0') || '@%'" ;;
	union_*) key="(ARRAY[doc->>'name', lag(doc->>'name', 7) OVER (ORDER BY id), lag(doc->>'name', 17) OVER (ORDER BY id)])::text" ;;
	one_* | update_* | lock_*) key="doc->>'email'" ;;
	*_crud | *_beside) key="doc->>'status'" ;;
	esac
	mapfile -t keys < <(sql -c "SELECT key FROM (SELECT DISTINCT $key AS key FROM bench.native_${1#*_}) AS k WHERE key NOT LIKE '%NULL%' ORDER BY md5(key) LIMIT 10")
	[ "${#keys[@]}" = 10 ] || die "$1: too few keys"
}

# planner_same WORK: all sides answer alike for every key; and there is an answer. Those beside updates are not at rest.
planner_same() {
	local key side answer first query
	for key in "${keys[@]}"; do
		first=
		for side in $([[ $1 = *_beside ]] || planner_sides $1); do
			query=$(planner_query "$1" $side | sed "s/:key/:'key'/g")
			case $1 in update_* | lock_*) ;; *) query="SELECT md5(string_agg(r::text, chr(10) ORDER BY r::text)) FROM ($query) AS r" ;; esac
			answer=$(PGOPTIONS=$(planner_session $side $1) sql -v key="$key" <<< "$query")
			: "${first:=$answer}"
			[ -n "$answer" ] && [ "$answer" = "$first" ] || die "$1: the answer of $side differs from the native one for $key"
		done
	done
	if PGOPTIONS=$(planner_session ours $1) sql -v key="$key" <<< "EXPLAIN $(planner_query "$1" ours | sed "s/:key/:'key'/")" | grep -qE 'Custom Scan \(IndexTable(Late|Totals)?\)'; then
		served[$1]=ours
	else
		served[$1]=unserved
		say "planner: $1 does not use its index table"
	fi
}

# planner_read WORK SIDE PROTOCOL → CPU µs a query. What reads all partitions takes fewer keys, and so many transactions that those with
# custom plans are the first ones, which metered_us leaves out.
planner_read() {
	local query n count=10 updates= limit=(-T "$SECONDS_READ") definitions=()
	query=$(planner_query "$1" "$2")
	if [[ $1 =~ ^(groups|facets|names|latest)_ ]]; then count=1 limit=(-t 18)
	elif [[ $2,$1 =~ ^native,.*_(crud|beside)$ ]]; then count=3
	elif [ "$2" != hand ] && [[ $1 = *_[pst][0-9]* ]] && { [ "$2" = native ] || [ "${served[$1]}" = unserved ]; }; then count=3 limit=(-t 18); fi
	for ((n = 0; n < count; n++)); do
		if [ "$3" = simple ]; then
			echo "${query//:key/\'${keys[n]}\'};"
		else
			if [[ $query = *:key* ]]; then definitions+=(-D "key$n=${keys[n]}"); fi
			echo "${query//:key/:key$n};"
		fi
	done > "$tmp/statements.sql"
	if [[ $1 = *_beside ]]; then
		printf '%s\n' "\\set id random(1, $ROWS_PARTITIONS)" '\set balance random(1, 100000)' \
			"UPDATE bench.$2_beside SET doc = jsonb_set(doc, '{balance}', to_jsonb(:balance::int)) WHERE id = :id;" > "$tmp/beside.sql"
		pgbench -n -M prepared -R 500 -T 3600 -f "$tmp/beside.sql" > /dev/null 2>&1 &
		updates=$!
		sleep 1
	fi
	PGOPTIONS=$(planner_session "$2" "$1") PROTOCOL=$3 measure "$tmp/statements.sql" $count "${limit[@]}" "${definitions[@]}"
	if [ -n "$updates" ]; then kill "$updates"; wait "$updates" || true; fi
}

# planner_tables OF: both fact tables, with the indexes and index tables of their works only, since each is a cost of planning
planner_tables() {
	local of=$1 side sides="native ours"
	if [ "$of" = both ]; then sides="native generated$rum ours"; fi
	say "making the fact tables $of"
	for side in $sides; do
		case $of in
		[pst][0-9]*) partitioned "${side}_$of" "${of:1}" ;;
		*) sql -c "CREATE TABLE bench.${side}_$of (id bigint PRIMARY KEY, doc jsonb NOT NULL) WITH (fillfactor = 80)" ;;
		esac
		sql -c "INSERT INTO bench.${side}_$of SELECT id, doc::jsonb$([[ $of != crud && $of != beside ]] || echo " || jsonb_build_object('status', 's' || bench_data.pick(id, 40, 10))")
			FROM bench_data.source_$([ "$of" = 4k ] && echo 4k || echo 600) ORDER BY id"
	done
	case $of in
	t*)
		sql > /dev/null <<-SQL
			CREATE INDEX ON bench.native_$of USING gin ((doc->>'email') gin_trgm_ops);
			SELECT indextable.create('bench.by_email_$of', 'bench.ours_$of', '{email}', include => '{name, street}');
			CREATE INDEX ON bench.by_email_$of USING gin (email gin_trgm_ops);
		SQL
		;;
	crud | beside)
		sql > /dev/null <<-SQL
			CREATE INDEX ON bench.native_$of USING gin ((doc->'tags') jsonb_path_ops);
			CREATE INDEX ON bench.native_$of ((doc->>'status'));
			CREATE INDEX ON bench.native_$of (((doc->>'balance')::numeric));
			SELECT indextable.create('bench.by_tag_$of', 'bench.ours_$of', '{tags[*], balance::numeric}', include => '{name}');
			SELECT indextable.create('bench.by_status_$of', 'bench.ours_$of', '{status, balance::numeric}', include => '{name}');
			SELECT indextable.create('bench.of_status_$of', 'bench.ours_$of', '{status}', totals => '{count(*)}');
		SQL
		;;
	p*)
		sql > /dev/null <<-SQL
			CREATE INDEX ON bench.native_$of ((doc->>'email'));
			SELECT indextable.create('bench.by_email_$of', 'bench.ours_$of', '{email}', is_unique => true);
		SQL
		;;
	both)
		sql > /dev/null <<-SQL
			CREATE INDEX ON bench.native_$of USING gin ((doc->'tags') jsonb_path_ops);
			CREATE INDEX ON bench.native_$of ((doc->>'name'), ((doc->>'balance')::numeric), id);
			SELECT format('ALTER TABLE bench.%1\$s ADD tags text[] GENERATED ALWAYS AS (bench_data.texts(doc->''tags'')) STORED; CREATE INDEX ON bench.%1\$s USING %2\$s (tags)',
				side || '_$of', CASE side WHEN 'rum' THEN 'rum' ELSE 'gin' END) FROM unnest('{generated${rum:+,rum}}'::text[]) AS side \\gexec
			SELECT indextable.create('bench.by_tag_$of', 'bench.ours_$of', '{tags[*]}');
			SELECT indextable.create('bench.by_name_$of', 'bench.ours_$of', '{name, balance::numeric}');
			SELECT format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', t), format('CREATE POLICY p ON %s USING (doc->>''town'' <> current_user)', t)
			FROM unnest('{bench.native_$of,bench.ours_$of}'::text[]) AS t \\gexec
			GRANT USAGE ON SCHEMA bench TO bench_reader;
			GRANT SELECT ON bench.native_$of, bench.ours_$of, bench.by_name_$of TO bench_reader;
			-- to note its CPU time
			GRANT USAGE ON SCHEMA bench_data TO bench_reader;
			GRANT ALL ON bench_data.cpu TO bench_reader;
			GRANT pg_read_server_files TO bench_reader;
			GRANT EXECUTE ON FUNCTION pg_read_file(text) TO bench_reader;
		SQL
		;;
	*)
		sql > /dev/null <<-SQL
			CREATE INDEX ON bench.native_$of ((doc->>'town'));
			SELECT indextable.create('bench.by_town_$of', 'bench.ours_$of', '{town}', include => '{name, street, "balance::numeric(12,2)"}');
		SQL
		;;
	esac
	if [ "$of" = 600 ]; then
		sql > /dev/null <<-SQL
			CREATE INDEX ON bench.native_$of USING gin ((doc->'tags') jsonb_path_ops);
			SELECT indextable.create('bench.by_tag_$of', 'bench.ours_$of', '{tags[*], balance::numeric}');
		SQL
	fi
	for side in $sides; do sql -c "VACUUM ANALYZE bench.${side}_$of"; done
	sql <<< "SELECT format('VACUUM ANALYZE %s', index_table) FROM indextable.index_tables WHERE fact_table = 'bench.ours_$of'::regclass \\gexec"
}

# planning_of WORK: a query that index tables are of no use for, or with so many pairs of values, whose planning is to take time in proportion
planning_of() {
	case $1 in
	pairs_*) echo "SELECT doc FROM bench.ours_600 WHERE (doc->>'town', doc->>'name') IN ($(seq "${1#pairs_}" | sed "s/.*/('t&', 'n&')/" | paste -sd,))" ;;
	other) echo "SELECT doc FROM bench.native_600 WHERE id = 7" ;;
	unserved) echo "SELECT doc FROM bench.ours_600 WHERE doc->>'phone' = 'x'" ;;
	expanded) echo "SELECT doc FROM bench.ours_s256 WHERE doc->>'phone' = 'x'" ;;
	esac
}

planner_part() {
	local n work side protocol round tables=(600 4k both t crud beside) works=(only_600 only_4k fetch_600 pattern_t element_600 groups_600 and_both tag_both facets_both union_both names_both latest_both secure_both {page,status,in,either,offset,total}_{crud,beside}) plannings=(other unserved pairs_10 pairs_100 pairs_1000)
	local -a keys
	local -A served
	local rum
	rum=$(sql -c "SELECT ' rum' FROM pg_available_extensions WHERE name = 'rum'")
	for n in $PARTITIONS; do
		((n >= 64)) || continue
		tables+=("p$n") works+=("one_p$n" "update_p$n" "lock_p$n")
		if [ "$n" = 256 ]; then tables+=(s256 t256) works+=(only_s256 fetch_s256 pattern_t256) plannings+=(expanded); fi
	done
	sql -c 'DROP SCHEMA IF EXISTS bench CASCADE' -c 'CREATE SCHEMA bench' -c 'DROP ROLE IF EXISTS bench_reader' -c 'CREATE ROLE bench_reader'
	sql -c 'CREATE EXTENSION IF NOT EXISTS pg_trgm'
	if [ -n "$rum" ]; then sql -c 'CREATE EXTENSION IF NOT EXISTS rum'; else say "planner: there is no rum"; fi
	sql -c "CREATE FUNCTION bench_data.texts(elements jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE AS 'SELECT array_agg(t) FROM jsonb_array_elements_text(elements) AS t'"
	source_table 600 "$ROWS_PARTITIONS" $((ROWS_PARTITIONS / 100))
	source_table 4k "$ROWS_PARTITIONS" $((ROWS_PARTITIONS / 100))
	for n in "${tables[@]}"; do planner_tables "$n"; done
	sql -c 'DROP TABLE bench_data.source_600, bench_data.source_4k' -c CHECKPOINT
	sql <<-'SQL'
		-- planning: CPU µs of EXPLAIN with the setting off and on in turns, within one session; the first turns are not counted
		CREATE FUNCTION bench_data.planning(query text, times int) RETURNS TABLE (setting text, us numeric) LANGUAGE plpgsql AS $$
		DECLARE before_ns bigint;
		BEGIN
			FOR turn IN 0 .. 41 LOOP
				setting := CASE turn % 2 WHEN 0 THEN 'off' ELSE 'on' END;
				PERFORM set_config('indextable.planner', setting, false);
				before_ns := bench_data.cpu_ns();
				FOR n IN 1 .. times LOOP EXECUTE 'EXPLAIN ' || query; END LOOP;
				us := (bench_data.cpu_ns() - before_ns) / 1000.0 / times;
				IF turn > 1 THEN RETURN NEXT; END IF;
			END LOOP;
		END $$;
	SQL
	for ((round = 1; round <= ROUNDS; round++)); do
		for work in "${works[@]}"; do
			say "planner, $work, round $round of $ROUNDS"
			planner_keys "$work"
			if [ "$round" = 1 ]; then planner_same "$work"; fi
			for protocol in simple prepared; do
				for side in $(planner_sides $work); do
					printf '%s\t%s\t%s\t%s\t%s\n' "$work" $protocol "${side/ours/${served[$work]}}" "$round" "$(planner_read "$work" $side $protocol)" >> "$tmp/planner.tsv"
				done
			done
		done
		for work in "${plannings[@]}"; do
			sql -v query="$(planning_of "$work")" >> "$tmp/planning.tsv" <<-SQL
				SELECT 'planning_$work', setting, $round, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY us)::numeric, 3)
				FROM bench_data.planning(:'query', $(case $work in expanded | pairs_1000) echo 10 ;; pairs_100) echo 50 ;; *) echo 500 ;; esac)) GROUP BY setting;
			SQL
		done
	done
	# one by one, for the locks
	sql -c 'DROP OWNED BY bench_reader' -c 'DROP ROLE bench_reader'
	for n in "${tables[@]}"; do sql -c "DROP TABLE bench.native_$n" -c "DROP TABLE bench.ours_$n"; done
	sql -c 'DROP TABLE bench.generated_both' -c 'DROP TABLE IF EXISTS bench.rum_both' -c 'DROP EXTENSION IF EXISTS rum' -c 'DROP EXTENSION pg_trgm'
}

# What bench.sh prints

planner_section() {
	case $1 in
	planner)
		echo "CPU µs a query over $ROWS_PARTITIONS documents of $(size_of 600) bytes, or of 4 KB; pgbench -M simple, which plans each query, and -M prepared"
		echo
		table planner "$1" part=read
		;;
	planning)
		echo "CPU µs of an EXPLAIN, with \`indextable.planner\` off and on"
		echo
		table planner "$1" part=planning
		;;
	esac
}

planner_sizes() {
	case $1 in
	planner) echo "from $ROWS_PARTITIONS rows, 100 to a town, a fifth of them to a tag; hash partitions by the primary key; native indexes are on a table of their own" ;;
	esac
}
