# The reads: each answered by the best native index and by an index table, in turn. Sourced by bench.sh, which calls read_part.
# Lines in reads.tsv: work, document size, side, round, CPU µs of a whole query, µs of its execution.

# The works. Each sets: native_index and index_table, made over bench.fact; native and ours, the two queries; keys, a query
# giving the values that both take, named in parameters, of the types in types; count, how many keys to take; and whether
# the answer is ordered.
# A town has 100 documents, a tag a fifth of them all.

by_key() {
	native_index="CREATE INDEX ON bench.fact ((doc->>'town'))"
	index_table="SELECT indextable.create('bench.entries', 'bench.fact', '{town}', include => '{name, street, \"balance::numeric(12,2)\"}')"
	native="SELECT doc->>'name' AS name, doc->>'street' AS street, (doc->>'balance')::numeric(12,2) AS balance FROM bench.fact WHERE doc->>'town' = :town"
	ours="SELECT name, street, balance FROM bench.entries WHERE town = :town"
	parameters=town types=text count=20 ordered=0
	keys="SELECT DISTINCT doc->>'town' AS town FROM bench.fact"
}

by_key_once() {
	by_key
	native="SELECT r.* FROM bench.fact, jsonb_to_record(doc) AS r(name text, street text, balance numeric(12,2)) WHERE doc->>'town' = :town"
}

by_element() {
	native_index="CREATE INDEX ON bench.fact USING gin ((doc->'tags') jsonb_path_ops)"
	index_table="SELECT indextable.create('bench.entries', 'bench.fact', '{tags[*], balance::numeric}')"
	native="SELECT doc FROM bench.fact WHERE doc->'tags' @> jsonb_build_array(:tag::text) ORDER BY (doc->>'balance')::numeric, id LIMIT 20"
	ours="SELECT doc FROM bench.entries JOIN bench.fact USING (id) WHERE tags = :tag ORDER BY balance, entries.id LIMIT 20"
	parameters=tag types=text count=10 ordered=1
	keys="SELECT DISTINCT jsonb_array_elements_text(doc->'tags') AS tag FROM bench.fact"
}

by_element_walked() {
	by_element
	native_index="CREATE INDEX ON bench.fact (((doc->>'balance')::numeric), id)"
}

sum_of_range() {
	by_key
	native="SELECT sum((doc->>'balance')::numeric(12,2)) FROM bench.fact WHERE doc->>'town' BETWEEN :low AND :high"
	ours="SELECT sum(balance) FROM bench.entries WHERE town BETWEEN :low AND :high"
	parameters="low high" types="text, text" count=3 ordered=0
	keys="WITH towns AS (SELECT town, row_number() OVER (ORDER BY town) AS n, count(*) OVER () / 10 AS tenth FROM (SELECT DISTINCT doc->>'town' AS town FROM bench.fact) AS t)
		SELECT l.town, h.town FROM towns l JOIN towns h ON h.n = l.n + l.tenth - 1"
}

by_unique_key() {
	native_index="CREATE UNIQUE INDEX ON bench.fact ((doc->>'email'))"
	index_table="SELECT indextable.create('bench.entries', 'bench.fact', '{email}', is_unique => true)"
	native="SELECT doc FROM bench.fact WHERE doc->>'email' = :email"
	ours="SELECT * FROM indextable.lookup('bench.entries', :key)"
	parameters="email key" types="text, jsonb" count=20 ordered=0
	keys="SELECT doc->>'email', jsonb_build_object('email', doc->>'email') FROM bench.fact"
}

# spell QUERY SPELLING: native or ours with each :parameter written as SPELLING, in which \1 is its name
spell() { sed -E "s/:(${parameters// /|})\\b/$2/g" <<< "${!1}"; }

# numbered QUERY: with $1, $2, … instead
numbered() {
	local query=${!1} name n=0
	for name in $parameters; do query=${query//:$name/\$$((++n))}; done
	echo "$query"
}

# read_keys: fills values, one line of tab-separated parameters a key, in a random but repeatable order
read_keys() { mapfile -t values < <(sql -c "SELECT * FROM ($keys) AS k ORDER BY md5(k::text) LIMIT $count"); }

# same_answers WORK: both sides, for every key; and that there is an answer
same_answers() {
	local line names=($parameters) columns order='' n same
	((ordered)) || order='ORDER BY r::text'
	for line in "${values[@]}"; do
		IFS=$'\t' read -r -a columns <<< "$line"
		local settings=()
		for n in "${!names[@]}"; do settings+=(-v "${names[n]}=${columns[n]}"); done
		same=$(sql "${settings[@]}" <<-SQL
			SELECT (SELECT string_agg(r::text, chr(10) $order) FROM ($(spell native ":'\\1'")) AS r)
			     = (SELECT string_agg(r::text, chr(10) $order) FROM ($(spell ours ":'\\1'")) AS r);
		SQL
		)
		[ "$same" = t ] || die "$1: the index table's answer differs from the native one for $line"
	done
	if [ "$VERBOSE" = 1 ]; then
		for n in native ours; do
			say "$1, $n:" $(sql "${settings[@]}" <<< "EXPLAIN (COSTS off) $(spell $n ":'\\1'")" | grep -oE '(Index Only|Bitmap Index|Index|Seq|Function) Scan.*|Sort$')
		done
	fi
}

# whole SIDE → CPU µs a query
whole() {
	local n m names=($parameters) columns definitions=()
	for n in "${!values[@]}"; do
		IFS=$'\t' read -r -a columns <<< "${values[n]}"
		for m in "${!names[@]}"; do definitions+=(-D "${names[m]}$n=${columns[m]}"); done
		echo "$(spell "$1" ":\\1$n");"
	done > "$tmp/statements.sql"
	measure "$tmp/statements.sql" "${#values[@]}" -T "$SECONDS_READ" "${definitions[@]}"
}

# execution SIDE → µs, the median; a first pass is not counted
execution() {
	local line pass
	{
		echo "PREPARE query ($types) AS $(numbered "$1");"
		for pass in 1 2 3 4 5 6; do
			for line in "${values[@]}"; do
				line=${line//\'/\'\'}
				echo "EXPLAIN (ANALYZE, TIMING off, SUMMARY on) EXECUTE query ('${line//$'\t'/\',\'}');"
			done
		done
	} > "$tmp/executions.sql"
	sql -f "$tmp/executions.sql" | sed -n 's/^Execution Time: \(.*\) ms$/\1/p' | tail -n +$((${#values[@]} + 1)) |
		sort -n | awk '{ ms[NR] = $1 } END { printf "%.1f", 1000 * (ms[int((NR + 1) / 2)] + ms[int(NR / 2) + 1]) / 2 }'
}

# read_work WORK SIZE
read_work() {
	local native_index index_table native ours parameters count ordered keys values round side cpu
	"$1"
	sql -c "$native_index" -c "$index_table" > /dev/null
	sql -c 'VACUUM ANALYZE bench.fact' -c 'VACUUM ANALYZE bench.entries' -c CHECKPOINT
	read_keys
	same_answers "$1"
	for ((round = 1; round <= ROUNDS; round++)); do
		say "reads, $1 at $2, round $round of $ROUNDS"
		for side in native ours; do
			cpu=$(whole $side)
			printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" $side "$round" "$cpu" "$(execution $side)" >> "$tmp/reads.tsv"
		done
	done
	sql -c 'DROP TABLE bench.entries' -c "DO \$\$ BEGIN EXECUTE (SELECT 'DROP INDEX ' || string_agg(indexrelid::regclass::text, ', ') FROM pg_index
		WHERE indrelid = 'bench.fact'::regclass AND NOT indisprimary); END \$\$"
}

read_part() {
	local size work
	local -x PGOPTIONS=$NOT_BY_PLANNER
	local -A works=([600]="by_key by_key_once by_element by_element_walked sum_of_range by_unique_key" [4k]="by_key by_key_once sum_of_range")
	for size in 600 4k; do
		fresh_fact
		source_table $size "$ROWS_READ" $((ROWS_READ / 100))
		load_fact $size 1 "$ROWS_READ"
		sql -c "DROP TABLE bench_data.source_$size"
		for work in ${works[$size]}; do read_work "$work" $size; done
	done
}
