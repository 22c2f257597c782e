# The table of fields of one element. Called by bench.sh after table.awk, with targets.tsv, and the lines that elements.sh describes. Of
# the numbers in targets.tsv, the first is a multiple of GIN's figure, the second a bound.

{
	cost[$1, $2, $3] = $4
	if ($3 > n_rounds) n_rounds = $3
}

# figures(work, side, base): the median, less that of base in the same round if base is given
function figures(work, side, base,    r, a, m) {
	for (r = 1; r <= n_rounds; r++) a[r] = cost[work, side, r] - (base == "" ? 0 : cost[work, base, r])
	m = median(a, n_rounds)
	least_most = spread(a, n_rounds, m < 100 ? "%.2f" : "%.0f")
	return m
}

END {
	row("work\tby\tfigure\t(least – most)\tcompared\treach")
	for (w = 1; w <= n_works; w++) {
		if (works[w] !~ /^elements_/) continue
		work = works[w]
		sub(/^elements_/, "", work)
		base = work == "insert" ? "none" : ""
		what = label[works[w]]
		if (work == "entries") {
			ours = figures(work, "ours", "")
			row(what "\t**indextable**\t" sprintf("%.2f", ours) "\t(" least_most ")\t\t" aim(what, ours, "≤", reach_row[works[w]], ""))
			continue
		}
		gin = figures(work, "gin", base)
		row(what "\t" name["gin"] "\t" figured(gin) "\t(" least_most ")")
		ours = figures(work, "ours", base)
		x = work == "insert" ? ours / gin : gin / ours
		cells = "\t**" (work == "sum" ? "totals" : "indextable") "**\t" figured(ours) "\t(" least_most ")\t" figured(x) "×\t"
		if (reach[works[w]] != "") cells = cells aim(what, x, work == "insert" ? "≤" : "≥", reach[works[w]], "×")
		else cells = cells aim(what, ours, "≤", reach_row[works[w]], " µs")
		row(cells)
	}
	print_table(2)
}
