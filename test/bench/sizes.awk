# The table of sizes. Called by bench.sh after table.awk, with the number of documents, targets.tsv, and the lines that sizes.sh
# describes.

BEGIN { name["not_null"] = "expression B-tree, WHERE … IS NOT NULL" }

{
	heap[$1, $2] = $3 / documents
	bytes[$1, $2] = ($3 + $4) / documents
	seen[++n] = $1 "\t" $2
}

END {
	row("rows with the field\tkept by\tbytes a row\theap\tindexes\t× native")
	for (i = 1; i <= n; i++) {
		split(seen[i], of, "\t")
		row((of[2] == "expression" ? of[1] " %" : "") "\t" name[of[2]] "\t" sprintf("%.1f\t%.1f\t%.1f\t%.2f×", \
			bytes[of[1], of[2]], heap[of[1], of[2]], bytes[of[1], of[2]] - heap[of[1], of[2]], bytes[of[1], of[2]] / bytes[of[1], "expression"]))
	}
	print_table(2)
}
