# The table of instructions. Called by bench.sh after table.awk, with targets.tsv, the lines of instructions.sh, and before these, where
# there are any, the lines of writes.sh, each after a field "cpu", or those that the page has, after a field "page". Of the numbers in targets.tsv for "count_" and the work, the
# first is a multiple of the native index, the second a number of thousands of instructions, the third a multiple of the floor.

$1 == "cpu" {
	cost[$2, $3, $4] = $5
	if ($4 > rounds[$2]) rounds[$2] = $4
	next
}

$1 == "page" { of_page[$2, $3] = $4 + 0; next }

{
	count[$1, $2] = $3
	if (!($1 in seen)) counted[++n_counted] = $1
	seen[$1] = 1
}

# cpu(work, variant): µs above none, or empty where that was not measured
function cpu(work, variant,    r, a) {
	if (!(work in rounds)) return (label[work], name[variant]) in of_page ? of_page[label[work], name[variant]] : ""
	if (!((work, variant, 1) in cost)) return ""
	for (r = 1; r <= rounds[work]; r++) a[r] = cost[work, variant, r] - (variant == "none" ? 0 : cost[work, "none", r])
	return median(a, rounds[work])
}

function above(work, variant) { return count[work, variant] - count[work, "none"] }

function shown(x, none) { return x == "" ? "" : sprintf(none ? "%.2f" : "%+.2f", x) }

END {
	n_variants = split("none expression gin empty_trigger floor indextable sparse totals", variants, " ")
	row("work\tkept by\tinstructions\treach\t× native\treach\t× floor\treach\tCPU µs\t× native\t× floor")
	for (i = 1; i <= n_counted; i++) {
		work = counted[i]
		goal = "count_" work
		native = (work, "expression") in count ? "expression" : "gin"
		for (v = 1; v <= n_variants; v++) {
			variant = variants[v]
			if (!((work, variant) in count)) continue
			us = cpu(work, variant)
			if (variant == "none") {
				row(label[work] "\t" name[variant] "\t" sprintf("%d", count[work, variant]) "\t\t\t\t\t\t" shown(us, 1) "\t\t")
				continue
			}
			own = above(work, variant)
			ours = variant == "indextable"
			cells = "\t" name[variant] "\t" sprintf("%+d", own)
			cells = cells "\t" (ours ? aim(label[work] ", instructions", own / 1000, "≤", reach_row[goal], "k") : "")
			# a native index leaves deletes to VACUUM
			has = work !~ /^delete/ && above(work, native) > 0
			cells = cells "\t" (has ? sprintf("%.2f", own / above(work, native)) : "") \
				"\t" (has && ours ? aim(label[work] ", instructions, times a native index's", own / above(work, native), "≤", reach[goal], "×") : "")
			if (variant == "totals" && work == "insert") aim(label[work] ", counted by totals, instructions, times an ordinary index table's", own / above(work, "indextable"), "≤", reach["totals_insert"], "×")
			has = (work, "floor") in count && above(work, "floor") > 0
			cells = cells "\t" (has ? sprintf("%.2f", own / above(work, "floor")) : "") \
				"\t" (has && ours ? aim(label[work] ", instructions, times the floor's", own / above(work, "floor"), "≤", reach_floor[goal], "×") : "")
			base = work ~ /^delete/ ? "" : cpu(work, native)
			low = cpu(work, "floor")
			row(cells "\t" shown(us, 0) "\t" (us != "" && base > 0 ? sprintf("%.2f", us / base) : "") "\t" (us != "" && low > 0 ? sprintf("%.2f", us / low) : ""))
		}
	}
	print_table(2)
}
