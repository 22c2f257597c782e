# The tables of partitioned fact tables. Called by bench.sh after table.awk, with part=read or write, targets.tsv, and the
# lines that partitions.sh describes.

part == "read" {
	cost[$1, $2, $3, $4] = $5
	if (!(($1, $3) in seen)) sides[$1, ++n_sides[$1]] = $3
	seen[$1, $3] = 1
	if ($4 > n_rounds) n_rounds = $4
}

part == "write" {
	cost[$1, $2, $3, $4] = $5
	seen[$1] = 1
	if ($4 > n_rounds) n_rounds = $4
}

# named(work): its label in full, with the number of partitions
function named(work,    n, l) {
	n = substr(work, index(work, "_") + 1)
	l = work ~ /^one/ ? label["one_1"] : work ~ /^covered/ ? label["spread_256"] label["covered_256"] : label[work]
	sub(/the same/, "", l)
	return l " over " n " partitions"
}

function shown(us) { return sprintf(us < 1000 ? "%.1f" : "%.0f", us) }

# by_protocol(work, protocol, side, target): µs, speed-up against local indexes, and against one partition
function by_protocol(work, protocol, side, target,    r, a, b, c, cells) {
	for (r = 1; r <= n_rounds; r++) {
		a[r] = cost[work, protocol, side, r]
		b[r] = cost[work, protocol, "local", r] / a[r]
		c[r] = (("one_1", "lookup") in seen) ? a[r] / cost["one_1", protocol, "lookup", r] : 0
	}
	r = median(a, n_rounds)
	cells = shown(r) "\t(" spread(a, n_rounds, r < 1000 ? "%.1f" : "%.0f") ")"
	if (side == "local") return cells "\t\t\t"
	r = median(b, n_rounds)
	cells = cells "\t" sprintf(r < 10 ? "%.2f×" : "%.0f×", r) "\t" (side != "join" ? aim(named(work) ", " protocol ": times as fast as local indexes", r, "≥", target, "×") : "")
	flat = side == "lookup" && work ~ /^one_/ && c[1] ? median(c, n_rounds) : ""
	return cells "\t" (flat != "" ? sprintf("%.2f×", flat) : "")
}

function read(    w, work, s, side) {
	name["local"] = "local expression indexes"
	name["join"] = "index table, joined"
	name["lookup"] = "**lookup()**"
	name["covered"] = "**partial index table**"
	row("work\tpartitions\tanswered by\tsimple\t(least – most)\tspeed-up\treach\t× at 1\tprepared\t(least – most)\tspeed-up\treach\t× at 1\treach")
	for (w = 1; w <= n_works; w++) {
		work = works[w]
		for (s = 1; s <= n_sides[work]; s++) {
			side = sides[work, s]
			row((s == 1 ? label[work] : "") "\t" (s == 1 ? substr(work, index(work, "_") + 1) : "") "\t" name[side] \
				"\t" by_protocol(work, "simple", side, reach[work]) "\t" by_protocol(work, "prepared", side, reach_row[work]) \
				"\t" (side == "lookup" && work ~ /^one_/ && work != "one_1" ? aim(named(work) ", prepared: cost, times that at one partition", flat, "≤", reach["flat"], "×") : ""))
		}
	}
	print_table(3)
}

# overhead(work, table): what the index table adds; the median, the spread into least_most
function overhead(work, table,    r, a) {
	for (r = 1; r <= n_rounds; r++) a[r] = cost[work, table, "indextable", r] - cost[work, table, "none", r]
	r = median(a, n_rounds)
	least_most = "(" spread(a, n_rounds, "%.2f") ")"
	return r
}

function base(work, table,    r, a) {
	for (r = 1; r <= n_rounds; r++) a[r] = cost[work, table, "none", r]
	return sprintf("%.2f", median(a, n_rounds))
}

function write(    w, work, plain, partitioned, cells) {
	row("work\tplain, no index\twith an index table\t(least – most)\tpartitioned, no index\twith an index table\t(least – most)\t× plain\treach")
	for (w = 1; w <= n_works; w++) {
		work = works[w]
		if (!(work in seen)) continue
		plain = overhead(work, "plain")
		cells = label[work] "\t" base(work, "plain") "\t" sprintf("%+.2f", plain) "\t" least_most
		partitioned = overhead(work, "partitioned")
		cells = cells "\t" base(work, "partitioned") "\t" sprintf("%+.2f", partitioned) "\t" least_most
		row(cells "\t" (plain > 0 ? sprintf("%.2f", partitioned / plain) : "") "\t" (plain > 0 ? aim(label[work] " over 16 partitions: CPU, times that over one table", partitioned / plain, "≤", reach[work], "×") : ""))
	}
	print_table(1)
}

END {
	if (part == "read") read()
	if (part == "write") write()
}
