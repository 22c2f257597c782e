# Instructions a row, and a query that is planned, counted by callgrind, which do not depend on what else the machine does. Sourced by bench.sh, which calls
# instructions_part. A server in single-user mode on a data directory of its own runs each work in a loop; where a statement ends,
# callgrind writes down what it took.
# Lines in instructions.tsv: work, variant, instructions a row, or a query.

ROWS_CALLGRIND_BASE=20000
ROWS_WARM=300    # run before what is counted, since caches are filled then
PLANS=5          # queries that are planned after two that are not counted

# as_server COMMAND: as the user whom the server runs as, because it refuses to run as root
as_server() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --init-groups "$@"; else "$@"; fi; }

# alone DATA [WRAPPER...]: a server in single-user mode; it reads statements that end in ";" and an empty line
alone() {
	local data=$1
	shift
	(cd "$tmp/alone" && as_server "$@" "$($PG_CONFIG --bindir)/postgres" --single -j -D "$data" postgres)
}

# loop FIRST STATEMENT: the statement for each i, warm and then to be counted: two statements of the server
loop() {
	printf 'DO $$ BEGIN FOR i IN %s..%s LOOP %s; END LOOP; END $$;\n\n' "$1" $(($1 + ROWS_WARM - 1)) "$2" \
		$(($1 + ROWS_WARM)) $(($1 + ROWS_WARM + ROWS_CALLGRIND - 1)) "$2"
}

# planned_query PAIRS or or_ARMS: plans a query by so many pairs of values, or by an OR of so many arms that may have rows in common,
# which is to take instructions in proportion; two statements of the server
planned_query() {
	local n query
	case $1 in
	or_*) query=$(seq "${1#or_}" | sed "s/.*/OR (doc->>'town' = 't&' AND doc->>'name' > 'n&')/" | paste -sd' ' | sed 's/^OR/SELECT id FROM bench.fact WHERE/') ;;
	*) query="SELECT id FROM bench.fact WHERE (doc->>'town', doc->>'name') IN ($(seq "$1" | sed "s/.*/('t&', 'n&')/" | paste -sd,))" ;;
	esac
	for n in 2 $PLANS; do printf 'DO $$ BEGIN FOR i IN 1..%s LOOP EXECUTE $q$EXPLAIN %s$q$; END LOOP; END $$;\n\n' "$n" "$query"; done
}

# counted_of WORK: how many rows, or queries, are counted
counted_of() { if [[ $1 = plan_* ]]; then echo $PLANS; else echo "$ROWS_CALLGRIND"; fi; }

# counted_indexes KIND COUNT: SQL that gives bench.fact so many expression B-trees or index tables, of the fields that async.sh has
counted_indexes() {
	local name field expression
	head -n "$2" <<< "$FIELDS" | while IFS='|' read -r name field expression; do
		case $1 in
		expression) printf 'CREATE INDEX %s ON bench.fact ((%s));\n\n' "$name" "$expression" ;;
		indextable) printf "SELECT indextable.create('bench.%s', 'bench.fact', '{%s}');\n\n" "$name" "$field" ;;
		esac
	done
}

# counted_statement WORK: updates and deletes take scattered rows, each once
counted_statement() {
	local id="i::bigint * 7919 % $ROWS_CALLGRIND_BASE + 1"
	case $1 in
	insert_lacking) loop $((ROWS_CALLGRIND_BASE + 1)) "INSERT INTO bench.fact (id, doc) SELECT id, doc::jsonb - 'town' FROM bench_data.source_600 WHERE id = i" ;;
	insert_4k) loop $((ROWS_CALLGRIND_BASE + 1)) "INSERT INTO bench.fact (id, doc) SELECT id, doc::jsonb FROM bench_data.source_4k WHERE id = i" ;;
	insert | insert_[0-9]) loop $((ROWS_CALLGRIND_BASE + 1)) "INSERT INTO bench.fact (id, doc) SELECT id, doc::jsonb FROM bench_data.source_600 WHERE id = i" ;;
	insert_array) loop $((ROWS_CALLGRIND_BASE + 1)) "INSERT INTO bench.fact (id, doc) SELECT id, doc::jsonb FROM bench_data.source_marks WHERE id = i" ;;
	keep) loop 1 "UPDATE bench.fact SET doc = jsonb_set(doc, '{balance}', to_jsonb(i)) WHERE id = $id" ;;
	move*) loop 5001 "UPDATE bench.fact SET doc = jsonb_set(doc, '{town}', to_jsonb(bench_data.town(i * 31 % $TOWNS))) WHERE id = $id" ;;
	plan_*) planned_query "${1#plan_}" ;;
	delete*) loop 10001 "DELETE FROM bench.fact WHERE id = $id" ;;
	esac
}

# count_instructions SIZE VARIANT FILE WORKS: runs the works one after the other over documents of that size, and checks the entries
count_instructions() {
	local data=$tmp/alone/data work n=0 lacking='' column=town entries=by_town value="doc->>'town'"
	if [ "$1" = marks ]; then column=marks entries=by_mark value="jsonb_array_elements_text(doc->'marks')"; fi
	say "instructions, $2 over documents of size $1: $4"
	rm -rf "$data" "$tmp"/alone/out*
	as_server cp -R "$tmp/alone/template" "$data"
	{
		printf 'CREATE SCHEMA bench;\n\nCREATE TABLE bench.fact (id bigint PRIMARY KEY, doc jsonb NOT NULL) WITH (fillfactor = 80);\n\n'
		sed "s|:'floor'|'$tmp/floor/floor'|" "$3"
		printf '\n\nINSERT INTO bench.fact SELECT id, doc::jsonb FROM bench_data.source_%s WHERE id <= %s ORDER BY id;\n\nVACUUM ANALYZE;\n\nCHECKPOINT;\n\n' "$1" $ROWS_CALLGRIND_BASE
	} | alone "$data" > "$tmp/alone/log" 2>&1
	for work in $4; do counted_statement "$work"; done |
		alone "$data" valgrind --tool=callgrind --callgrind-out-file="$tmp/alone/out" --dump-before=EndCommand >> "$tmp/alone/log" 2>&1
	if ! [[ " none expression gin empty_trigger totals " == *" $2 "* ]]; then
		[ "$2" != sparse ] || lacking="WHERE $value IS NOT NULL"
		printf 'SET indextable.planner = off;\n\n%s;\n\n' "WITH recompute AS (SELECT DISTINCT $value, id FROM bench.fact $lacking) SELECT count(*) AS wrong FROM
			((SELECT $column, id FROM bench.$entries EXCEPT ALL TABLE recompute) UNION ALL (TABLE recompute EXCEPT ALL SELECT $column, id FROM bench.$entries)) AS d" |
			alone "$data" >> "$tmp/alone/log" 2>&1
		grep -q 'wrong = "0"' "$tmp/alone/log" || { tail "$tmp/alone/log" >&2; die "instructions: the entries of $2 are not those of the fact table"; }
	fi
	if grep -E 'ERROR|FATAL|PANIC' "$tmp/alone/log" >&2; then die "instructions: $2 has failed"; fi
	for work in $4; do
		n=$((n + 2))
		awk -v work="$work" -v variant="$2" -v rows="$(counted_of "$work")" '/^(summary|totals):/ && $2 > most { most = $2 }
			END { if (!most) exit 1; printf "%s\t%s\t%.0f\n", work, variant, most / rows }' "$tmp/alone/out.$n" >> "$tmp/instructions.tsv" ||
			die "instructions: callgrind has counted nothing"
	done
}

instructions_part() {
	local variant count template=$tmp/alone/template
	command -v valgrind > /dev/null || { say "instructions: left out, as there is no valgrind"; return 0; }
	mkdir "$tmp/alone"
	if [ "$(id -u)" = 0 ]; then chown postgres "$tmp/alone"; fi
	as_server "$($PG_CONFIG --bindir)/initdb" -D "$template" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync > /dev/null
	# In single-user mode tables have OIDs of the server's own, which are not considered when queries are planned.
	as_server "$($PG_CONFIG --bindir)/pg_resetwal" -o 20000 -D "$template" > /dev/null
	{
		printf 'fsync = off\nshared_buffers = 256MB\nmax_wal_size = 8GB\njit = off\nsynchronous_commit = off\n'
		printf "shared_preload_libraries = 'indextable'\n"
		if [ -n "${TEMP_CONFIG:-}" ]; then cat "$TEMP_CONFIG"; fi
	} | as_server tee -a "$template/postgresql.conf" > /dev/null
	{
		printf 'CREATE EXTENSION indextable;\n\nCREATE SCHEMA bench_data;\n\n'
		cat "$here/documents.sql"
		for variant in document:600 marked:marks document:4k; do
			printf '\n\nCREATE TABLE bench_data.source_%s (id bigint PRIMARY KEY, doc text);\n\n' "${variant#*:}"
			printf 'INSERT INTO bench_data.source_%s SELECT id, bench_data.%s(id, %s, %s) FROM generate_series(1, %s) AS id;\n\n' \
				"${variant#*:}" "${variant%:*}" "$TOWNS" "${ORDERS[${variant#*:}]}" $((ROWS_CALLGRIND_BASE + ROWS_WARM + ROWS_CALLGRIND))
		done
	} | alone "$template" > "$tmp/alone/log" 2>&1
	if grep -E 'ERROR|FATAL|PANIC' "$tmp/alone/log" >&2; then die "instructions: the documents could not be made"; fi
	for variant in none expression empty_trigger floor indextable totals; do
		count_instructions 600 $variant "$here/variants/$variant.sql" "insert keep move delete"
	done
	for variant in none expression indextable sparse; do count_instructions 600 $variant "$here/variants/$variant.sql" insert_lacking; done
	for variant in $ARRAY_VARIANTS; do count_instructions marks "$variant" "$here/variants/marks/$variant.sql" "insert_array delete_array"; done
	for variant in none expression empty_trigger floor indextable; do
		count_instructions 4k $variant "$here/variants/$variant.sql" "insert_4k move_4k"
	done
	for variant in none expression indextable; do
		count_instructions 600 $variant "$here/variants/$variant.sql" "plan_10 plan_100 plan_1000 plan_or_10 plan_or_100 plan_or_1000"
	done
	for count in $COUNTS; do
		((count > 1)) || continue
		sed -n "s/^insert\tnone\t/insert_$count\tnone\t/p" "$tmp/instructions.tsv" > "$tmp/alone/none.tsv"
		cat "$tmp/alone/none.tsv" >> "$tmp/instructions.tsv"
		for variant in expression indextable; do
			counted_indexes $variant "$count" > "$tmp/alone/indexes.sql"
			count_instructions 600 $variant "$tmp/alone/indexes.sql" "insert_$count"
		done
	done
	rm -rf "$tmp/alone"
}

# What bench.sh prints: beside the CPU time of the same works, as it has been measured now or as the page has it

# cpu_of_page: lines "page", work, variant, CPU µs, all as the page writes them, of the parts that are not run
cpu_of_page() {
	[ -e "${PAGE:-}" ] || return 0
	awk -F ' *[|] *' -v parts="$PARTS" '
		/^<!-- measured: / { split($0, mark, " "); here = mark[3] ~ /^(single|arrays|wide)$/ && !index(" " parts " ", " " mark[3] " ") }
		/^<!-- end -->$/ { here = 0 }
		here && NF > 4 && $4 ~ /^[-+0-9.]+$/ { if ($2 != "") work = $2; printf "page\t%s\t%s\t%s\n", work, $3, $4 }' "$PAGE"
}

instructions_section() {
	echo "Instructions a row, or a query that is planned, an index table over documents of $(size_of 600) bytes, or $(size_of 4k) where 4 KB is said; the array has 5 elements"
	echo
	touch "$tmp/single.tsv" "$tmp/arrays.tsv" "$tmp/wide.tsv"
	{ sed 's/^/cpu\t/' "$tmp/single.tsv" "$tmp/arrays.tsv" "$tmp/wide.tsv"; cpu_of_page; cat "$tmp/instructions.tsv"; } > "$tmp/instructions_cpu.tsv"
	table instructions instructions_cpu
}

instructions_sizes() {
	echo "callgrind, $ROWS_CALLGRIND rows, or $PLANS queries, on $ROWS_CALLGRIND_BASE, each a statement of a loop in one transaction; a server without other processes"
	echo "CPU as in the tables of single rows, arrays and large documents"
}
