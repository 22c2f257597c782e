# What index tables and native indexes take, where all rows have the field, and where a twentieth has it. Sourced by bench.sh,
# which calls sizes_part.
# Lines in sizes.tsv: percent of the rows that have the field, side, bytes of the heap, bytes of its indexes

sizes_part() {
	local share side
	source_table 600 "$ROWS_READ" "$TOWNS"
	for share in 100 5; do
		for side in expression not_null indextable sparse; do
			fresh_fact
			sql <<-SQL
				INSERT INTO bench.fact (id, doc) SELECT id, CASE WHEN id % 20 < $share / 5 THEN doc::jsonb ELSE doc::jsonb - 'town' END
					FROM bench_data.source_600 WHERE id <= $ROWS_READ ORDER BY id;
			SQL
			if [ $side = not_null ]; then sql -c "CREATE INDEX fact_town ON bench.fact ((doc->>'town')) WHERE doc->>'town' IS NOT NULL"
			else sql -f "$here/variants/$side.sql" > /dev/null; fi
			case $side in
			expression | not_null) sql -c "SELECT $share, '$side', 0, pg_relation_size('bench.fact_town')" ;;
			*) sql -c "SELECT $share, '$side', pg_table_size('bench.by_town'), pg_indexes_size('bench.by_town')" ;;
			esac >> "$tmp/sizes.tsv"
		done
	done
	sql -c 'DROP SCHEMA bench CASCADE' -c 'DROP TABLE bench_data.source_600' 2> /dev/null
}

# What bench.sh prints

sizes_section() {
	echo "Bytes for each of the $ROWS_READ rows of the fact table, made from scratch: an index on a field of 15 bytes at most"
	echo
	table sizes "$1" documents="$ROWS_READ"
}

sizes_sizes() { echo "$TOWNS towns"; }
