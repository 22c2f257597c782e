# The table of feeds. Called by bench.sh after table.awk, with targets.tsv, and the lines that feeds.sh describes.

{
	cost[$1, $2, $3] = $4
	if ($3 > n_rounds) n_rounds = $3
}

function cell(work, side,    r, a) {
	if (!((work, side, 1) in cost)) return "\t"
	for (r = 1; r <= n_rounds; r++) a[r] = cost[work, side, r]
	return sprintf("%.0f", median(a, n_rounds)) "\t(" spread(a, n_rounds, "%.0f") ")"
}

END {
	row("work\twith a feed\t(least – most)\twithout\t(least – most)")
	row("UPDATE on the shard\t" cell("feeds_shard", "fed") "\t" cell("feeds_shard", "plain"))
	row("UPDATE through the coordinator\t" cell("feeds_coordinator", "fed") "\t" cell("feeds_coordinator", "plain"))
	row("drain()\t" cell("feeds_drain", "fed") "\t" cell("feeds_drain", "plain"))
	print_table(1)
}
