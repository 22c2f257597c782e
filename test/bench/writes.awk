# The table of write costs. Called by bench.sh after table.awk, with targets.tsv and writes.tsv: work, variant, round, µs, HOT %.
# An overhead is a variant's cost less that of "none" in the same round.

BEGIN {
	name["none"] = "no index"
	name["expression"] = "expression B-tree"
	name["generated"] = "B-tree on a generated column"
	name["gin"] = "GIN jsonb_path_ops"
	name["row_trigger"] = "PL/pgSQL row trigger"
	name["statement_trigger"] = "PL/pgSQL statement trigger"
	name["indextable"] = "**indextable**"
	n_variants = split("none expression generated gin row_trigger statement_trigger indextable", variants, " ")
}

{
	cost[$1, $2, $3] = $4
	if ($3 > rounds[$1]) rounds[$1] = $3
	if ($5 != "") hot[$1, $2] = $5
	seen[$1, $2] = 1
}

# overhead(work, variant): median over the rounds, into least_most too
function overhead(work, variant,    r, n, a) {
	for (r = 1; r <= rounds[work]; r++) a[++n] = cost[work, variant, r] - (variant == "none" ? 0 : cost[work, "none", r])
	r = median(a, n)
	least_most = spread(a, n, "%.2f")
	return r
}

function ratio(part, whole) { return whole > 0 ? sprintf("%.2f", part / whole) : "" }

END {
	row("work\tkept by\tµs a row\t(least – most)\t× B-tree\treach\t× row trigger\treach\tHOT %")
	for (w = 1; w <= n_works; w++) {
		work = works[w]
		if (!(work in rounds)) continue
		btree = (work, "expression") in seen ? overhead(work, "expression") : 0
		trigger = (work, "row_trigger") in seen ? overhead(work, "row_trigger") : 0
		for (v = 1; v <= n_variants; v++) {
			variant = variants[v]
			if (!((work, variant) in seen)) continue
			own = overhead(work, variant)
			cells = (variant == "none" ? label[work] : "") "\t" name[variant] "\t" sprintf(variant == "none" ? "%.2f" : "%+.2f", own) "\t(" least_most ")"
			if (variant == "none") cells = cells "\t\t\t\t"
			else {
				ours = variant == "indextable"
				cells = cells "\t" ratio(own, btree) "\t" (ours && reach[work] != "" ? "≤ " reach[work] : "")
				cells = cells "\t" ratio(own, trigger) "\t" (ours && reach_row[work] != "" ? "≤ " reach_row[work] : "")
			}
			row(cells "\t" hot[work, variant])
		}
	}
	print_table(2)
}
