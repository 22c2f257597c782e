# The table of reads. Called by bench.sh after table.awk, with targets.tsv and reads.tsv: work, document size, side, round,
# µs of the whole query, µs of its execution. What should be reached is meant for execution.

{
	work = $1 " " $2
	cost["whole", work, $3, $4] = $5
	cost["execution", work, $3, $4] = $6
	if ($4 > rounds[work]) rounds[work] = $4
}

function timed(what, work, side,    r, n, a) {
	for (r = 1; r <= rounds[work]; r++) a[++n] = cost[what, work, side, r]
	r = median(a, n)
	least_most = spread(a, n, r < 1000 ? "%.1f" : "%.0f")
	return r
}

# compared(what, work): the cells of native, of the index table, and of the speed-up
function compared(what, work,    native, ours, cells) {
	native = timed(what, work, "native")
	cells = shown(native) "\t(" least_most ")"
	ours = timed(what, work, "ours")
	return cells "\t" shown(ours) "\t(" least_most ")\t" sprintf((faster = native / ours) < 10 ? "%.2f×" : "%.0f×", faster)
}

function shown(us) { return sprintf(us < 1000 ? "%.1f" : "%.0f", us) }

END {
	row("work\twhole: native\t(least – most)\tindex table\t(least – most)\tspeed-up\texecution: native\t(least – most)\tindex table\t(least – most)\tspeed-up\treach")
	for (w = 1; w <= n_works; w++) {
		work = works[w]
		if (!(work in rounds)) continue
		row(label[work] "\t" compared("whole", work) "\t" compared("execution", work) "\t" aim(label[work] ": times as fast as the native index", faster, "≥", reach[work], "×"))
	}
	print_table(1)
}
