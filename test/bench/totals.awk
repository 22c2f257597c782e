# The table of totals. Called by bench.sh after table.awk, with targets.tsv and the lines that totals.sh describes. Of the numbers in
# targets.tsv, the first is a multiple of the first other side that is compared, the second of the next one or a bound.

{
	cost[$1, $2, $3, $4] = $5
	if (!(($1, $2, $3) in seen)) sides[$1, $3, ++n_sides[$1, $3]] = $2
	seen[$1, $2, $3] = 1
	if (!(($1, $3) in known)) sizes[$1, ++n_sizes[$1]] = $3
	known[$1, $3] = 1
	if ($4 > n_rounds) n_rounds = $4
}

# figures(work, side, documents, base): the median, less that of base in the same round if base is given
function figures(work, side, documents, base,    r, a) {
	for (r = 1; r <= n_rounds; r++) a[r] = cost[work, side, documents, r] - (base == "" ? 0 : cost[work, base, documents, r])
	r = median(a, n_rounds)
	least_most = spread(a, n_rounds, r < 100 ? "%.2f" : "%.0f")
	return r
}

function shown(x) { return sprintf(x > -100 && x < 100 ? "%.2f" : "%.0f", x) }

# compared(what, ours, other, sign, target): a figure as a multiple of another, and the aim: two cells
function compared(what, ours, other, sign, target,    x) {
	x = sign == "≥" ? other / ours : ours / other
	return sprintf(x < 10 ? "%.2f×" : "%.0f×", x) "\t" aim(what, x, sign, target, "×")
}

END {
	name["native"] = "expression B-tree"
	name["indextable"] = "an ordinary index table"
	name["counter"] = "PL/pgSQL, a counter for each group"
	row("work\tdocuments\tby\tfigure\t(least – most)\tcompared\treach\tcompared\treach")
	for (w = 1; w <= n_works; w++) {
		work = works[w]
		sub(/^totals_/, "", work)
		if (works[w] !~ /^totals_/) continue
		for (s = 1; s <= n_sizes[work]; s++) {
			documents = sizes[work, s]
			for (i = 1; i <= n_sides[work, documents]; i++) {
				side = sides[work, documents, i]
				added = work ~ /^(insert|bulk)$/ && side != "none"
				own = figures(work, side, documents, added ? "none" : "")
				cells = (s == 1 && i == 1 ? label[works[w]] : "") "\t" (documents > 0 && i == 1 ? documents : "") "\t" name[side] "\t" sprintf(added ? "%+.2f" : "%s", added ? own : shown(own)) "\t(" least_most ")"
				what = label[works[w]] (documents > 0 ? ", " documents " documents" : "")
				if (work == "sessions" && side != "none") cells = cells "\t" (side == "totals" ? compared(what ", times that without totals", figures(work, "none", 0, ""), own, "≥", reach[works[w]]) : sprintf("%.2f×", own / figures(work, "none", 0, "")))
				if (side == "totals" && work == "insert") cells = cells "\t" compared(what ", times an ordinary index table's", own, figures(work, "indextable", 0, "none"), "≤", reach[works[w]])
				if (side == "totals" && work == "bulk") cells = cells "\t" compared(what ", times a native index's", own, figures(work, "native", 0, "none"), "≤", "") "\t\t" aim(what, own, "≤", reach[works[w]], " µs")
				if (side == "totals" && work ~ /^(count|whole)$/) cells = cells "\t" compared(what, own, figures(work, "native", documents, ""), "≥", "") "\t\t" aim(what, own, "≤", reach[works[w]], " µs")
				if (side == "totals" && work == "beside") cells = cells "\t" compared(what ", times that without", own, figures("count", "totals", documents, ""), "≤", reach[works[w]])
				if (side == "totals" && work == "groups") cells = cells "\t" compared(what ", times as fast as a scan", own, figures(work, "native", documents, ""), "≥", documents == 1000000 ? reach[works[w]] : "") \
					"\t" compared(what ", times as fast as entries alone", own, figures(work, "indextable", documents, ""), "≥", documents == 1000000 ? reach_row[works[w]] : "")
				row(cells)
			}
		}
	}
	print_table(3)
}
