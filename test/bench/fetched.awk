# The table of fetched rows. Called by bench.sh after table.awk, with targets.tsv, and the lines that fetched.sh describes.

{
	cost["whole", $1, $2] = $3 / 100
	cost["execution", $1, $2] = $4 / 100
	seen[$1] = 1
	if ($2 > n_rounds) n_rounds = $2
}

# compared(what, side): µs a row, and by the native index's in the same round; that into ratio_of
function compared(what, side,    r, a, b, cells) {
	for (r = 1; r <= n_rounds; r++) {
		a[r] = cost[what, side, r]
		b[r] = a[r] / cost[what, "plain_native", r]
	}
	cells = sprintf("%.2f", median(a, n_rounds)) "\t(" spread(a, n_rounds, "%.2f") ")"
	ratio_of = median(b, n_rounds)
	return cells "\t" (side == "plain_native" ? "" : sprintf("%.2f×", ratio_of))
}

END {
	n_sides = split("plain_native plain_ours lookup_ours plain_hint lookup_hint", sides, " ")
	name["plain_native"] = "expression B-tree"
	name["plain_ours"] = "**plain SQL, by an index table**"
	name["lookup_ours"] = "**lookup()**"
	name["plain_hint"] = "plain SQL, by an index table with a hint"
	name["lookup_hint"] = "lookup(), with a hint"
	row("answered by\twhole\t(least – most)\t× native\texecution\t(least – most)\t× native\treach")
	for (s = 1; s <= n_sides; s++) {
		side = sides[s]
		if (!(side in seen)) continue
		cells = name[side] "\t" compared("whole", side) "\t" compared("execution", side)
		what = name[side]
		gsub(/\*\*/, "", what)
		row(cells "\t" (side == "plain_native" ? "" : aim("a fetched row, " what ": time, times the native index's", ratio_of, "≤", reach["fetched"], "×")))
	}
	print_table(1)
}
