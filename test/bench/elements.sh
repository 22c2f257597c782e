# Fields of one element of an array: orders of five lines, found by two fields of a line, added up, and written. Sourced by bench.sh,
# which calls elements_part.
# Lines in elements.tsv: work, side, round, CPU µs of a query or a row; of "entries", entries read for each row found.

# A side: none; gin, a native index on the array, which does not put off its work; ours, an index table of two fields of a line, and totals of them.
ELEMENTS_SIDES="none gin ours"

# A line in a hundred orders is of one product; each other product is in about a hundred lines.
elements_document() {    # ID
	echo "jsonb_build_object('customer', ($1) % 1000, 'lines', (SELECT jsonb_agg(jsonb_build_object('sku', CASE WHEN n = 1 AND ($1) % 100 = 0 THEN 'top'
		ELSE 's' || (hashint8(($1) * 5 + n) & 2147483647) % greatest($ROWS_ELEMENTS / 20, 1) END, 'qty', (($1) * 7 + n * 13) % 20)) FROM generate_series(1, 5) AS n))"
}

elements_table() {    # SIDE ROWS [totals]
	sql > /dev/null <<-SQL
		CREATE TABLE bench.$1 (id bigint PRIMARY KEY, doc jsonb NOT NULL);
		INSERT INTO bench.$1 SELECT id, $(elements_document id) FROM generate_series(1, $2) AS id;
	SQL
	case $1 in
	gin) echo "CREATE INDEX ON bench.gin USING gin ((doc -> 'lines') jsonb_path_ops) WITH (fastupdate = off);" ;;
	ours)
		echo "SELECT indextable.create('bench.by_line', 'bench.ours', '{lines[*].sku, lines[*].qty::int}');"
		if [ "${3:-}" = totals ]; then echo "SELECT indextable.create('bench.sold', 'bench.ours', '{lines[*].sku}', totals => '{sum(lines[*].qty::int)}');"; fi
		;;
	esac | sql > /dev/null
	sql -c "VACUUM ANALYZE bench.$1"
}

elements_query() {    # WORK SIDE SKU
	local has="doc -> 'lines' @> '[{\"sku\": \"$3\"}]' AND"
	if [ "$2" = ours ]; then has=; fi
	case $1 in
	two) echo "SELECT doc FROM bench.$2 WHERE doc -> 'lines' @> '[{\"sku\": \"$3\", \"qty\": 7}]';" ;;
	sum) echo "SELECT sum((l ->> 'qty')::int) FROM bench.$2, jsonb_array_elements(doc -> 'lines') AS l WHERE $has l ->> 'sku' = '$3';" ;;
	largest) echo "SELECT (l ->> 'qty')::int FROM bench.$2, jsonb_array_elements(doc -> 'lines') AS l WHERE $has l ->> 'sku' = '$3' ORDER BY (l ->> 'qty')::int DESC LIMIT 5;" ;;
	esac
}

elements_insert() {    # SIDE ROUND
	local n
	elements_table "$1" "$ROWS_BASE"
	for ((n = 0; n < BATCH; n++)); do echo '\set i :i + 1'; echo "INSERT INTO bench.$1 VALUES (:i, $(elements_document :i));"; done > "$tmp/statements.sql"
	record elements insert "$1" "$2" "$(measure "$tmp/statements.sql" $BATCH -t $((ROWS_ARRAYS / BATCH)) -D i="$ROWS_BASE")"
}

# elements_read WORK ROUND: all sides, which answer alike
elements_read() {
	local side limit count first= answer n sku=top
	if [ "$1" = two ]; then sku=s1; fi
	for side in gin ours; do
		answer=$(sql <<< "SELECT md5(string_agg(q::text, ',' ORDER BY q::text)) FROM ($(elements_query "$1" $side $sku | tr -d ';')) AS q")
		: "${first:=$answer}"
		[ -n "$answer" ] && [ "$answer" = "$first" ] || die "elements: the answer of $side differs for $1"
		limit=(-t 3) count=2
		if [ $side = ours ]; then limit=(-t 20) count=20; fi
		for ((n = 0; n < count; n++)); do elements_query "$1" $side $sku; done > "$tmp/statements.sql"
		record elements "$1" $side "$2" "$(PROTOCOL=prepared measure "$tmp/statements.sql" $count "${limit[@]}")"
	done
	if [ "$1" = two ]; then
		record elements entries ours "$2" "$(sql <<< "EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) $(elements_query two ours $sku)" |
			awk '/IndexTable/ { sub(/.*rows=/, ""); rows = $1 + 0 } / Entries: / { entries = $2 } END { printf "%.3f", entries / rows }')"
	fi
}

elements_part() {
	local round side work
	for ((round = 1; round <= ROUNDS; round++)); do
		say "elements, round $round of $ROUNDS"
		sql -c 'DROP SCHEMA IF EXISTS bench CASCADE' -c 'CREATE SCHEMA bench' 2> /dev/null
		for side in $ELEMENTS_SIDES; do elements_insert "$side" "$round"; done
	done
	sql -c 'DROP SCHEMA IF EXISTS bench CASCADE' -c 'CREATE SCHEMA bench' 2> /dev/null
	for side in gin ours; do elements_table $side "$ROWS_ELEMENTS" totals; done
	for ((round = 1; round <= ROUNDS; round++)); do
		for work in two sum largest; do elements_read $work "$round"; done
	done
	sql -c 'DROP SCHEMA bench CASCADE' 2> /dev/null
}

# What bench.sh prints

elements_section() {
	echo "CPU µs a row above a table without any index, or a query of $ROWS_ELEMENTS orders of five lines"
	echo
	table elements elements
}

elements_sizes() {
	echo "two: about five orders; sum, largest: of a product in one order of a hundred; $ROWS_ARRAYS rows inserted a round into $ROWS_BASE, 100 to a transaction"
}
