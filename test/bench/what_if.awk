# The table of predictions. Called by bench.sh after table.awk, with targets.tsv, and the lines that what_if.sh describes.

FILENAME ~ /targets/ { label[$1] = $2; next }

BEGIN {
	other["one_600"] = "a document by its email"
	other["only_4k"] = "100 rows of a town, 3 fields; 4 KB"
	other["fetch_4k"] = "100 documents of a town; 4 KB"
	other["one_s256"] = "a document by its email; 256 partitions"
	other["only_s256"] = "100 rows of a town, 3 fields; 256 partitions"
}

# named(work): its label where planner.sh measures it, with the same queries
function named(work,    l) {
	l = work in other ? other[work] : label[work] != "" ? label[work] : label[of_both(work)]
	return l != "" ? l : work
}

# of_both(work): its name with both fact tables
function of_both(work) { sub(/_.*/, "_both", work); return work }

function times(a, b) { return b > 0 ? sprintf("%.2f×", a / b) : "" }

{
	line[++n] = named($1) "\t" ($2 == "true" ? "yes" : "no") "\t" times($3, $4) "\t" times($5, $6) "\t" \
		sprintf("%.1f\t%s\t%.1f\t%.3f\t%.3f", $7, times($7, $8), $9, $11, $10)
}

END {
	row("query\tused\tentries\tbytes\tcost\t× real\tcost without\tms\tms without")
	for (i = 1; i <= n; i++) row(line[i])
	print_table(1)
}
