# The tables of write costs. Called by bench.sh after table.awk, with targets.tsv and the lines of a part: work, variant, round, µs,
# HOT %. An overhead is a variant's cost less that of "none" in the same round. Of the numbers in targets.tsv, the first is a
# multiple of the native index, the second of the PL/pgSQL row trigger, the third of the floor.

BEGIN {
	n_variants = split("none expression generated gin row_trigger statement_trigger pg_ivm empty_trigger floor indextable", variants, " ")
}

{
	cost[$1, $2, $3] = $4
	if ($3 > rounds[$1]) rounds[$1] = $3
	if ($5 != "") { hot[$1, $2] = $5; hots = 1 }
	seen[$1, $2] = 1
}

# overhead(work, variant): median over the rounds, into least_most too
function overhead(work, variant,    r, n, a) {
	for (r = 1; r <= rounds[work]; r++) a[++n] = cost[work, variant, r] - (variant == "none" ? 0 : cost[work, "none", r])
	r = median(a, n)
	least_most = spread(a, n, "%.2f")
	return r
}

# against(work, other, own, ours, target, what): an overhead as a multiple of another variant's, and the aim: two cells
function against(work, other, own, ours, target, what,    base) {
	if (!((work, other) in seen)) return "\t"
	base = overhead(work, other)
	if (base <= 0) return "\t"
	return sprintf("%.2f", own / base) "\t" (ours ? aim(label[work] ", " what, own / base, "≤", target, "×") : "")
}

END {
	for (w = 1; w <= n_works; w++) for (v in name) {
		if ((works[w], v) in seen && v == "row_trigger") by_row_trigger = 1
		if ((works[w], v) in seen && v == "floor") by_floor = 1
	}
	row("work\tkept by\tµs a row\t(least – most)\t× native\treach" (by_row_trigger ? "\t× row trigger\treach" : "") (by_floor ? "\t× floor\treach" : "") (hots ? "\tHOT %" : ""))
	for (w = 1; w <= n_works; w++) {
		work = works[w]
		if (!(work in rounds)) continue
		for (v = 1; v <= n_variants; v++) {
			variant = variants[v]
			if (!((work, variant) in seen)) continue
			own = overhead(work, variant)
			cells = (variant == "none" ? label[work] : "") "\t" name[variant] "\t" sprintf(variant == "none" ? "%.2f" : "%+.2f", own) "\t(" least_most ")"
			ours = variant == "indextable"
			none = variant == "none"
			# a native index leaves deletes to VACUUM
			cells = cells "\t" (none || work ~ /^delete/ ? "\t" : against(work, (work, "expression") in seen ? "expression" : "gin", own, ours, reach[work], "CPU, times a native index's"))
			if (by_row_trigger) cells = cells "\t" (none ? "\t" : against(work, "row_trigger", own, ours, reach_row[work], "CPU, times a PL/pgSQL row trigger's"))
			if (by_floor) cells = cells "\t" (none ? "\t" : against(work, "floor", own, ours, reach_floor[work], "CPU, times the floor's"))
			row(cells (hots ? "\t" hot[work, variant] : ""))
		}
	}
	print_table(2)
}
