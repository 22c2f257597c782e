# The tables of what the planner makes of plain SQL. Called by bench.sh after table.awk, with part=read or planning, targets.tsv, and
# the lines that planner.sh describes.

part == "read" {
	cost[$1, $2, $3, $4] = $5
	if (!(($1, $3) in seen)) sides[$1, ++n_sides[$1]] = $3
	seen[$1, $3] = 1
	if ($4 > n_rounds) n_rounds = $4
}

part == "planning" {
	cost[$1, $2, $3] = $4
	seen[$1] = 1
	if ($3 > n_rounds) n_rounds = $3
}

# named(work): its label in full, where that says "the same"
function named(work,    first) {
	if (label[work] !~ /^the same/) return label[work]
	first = label[work ~ /^only/ ? "only_600" : work ~ /^fetch/ ? "fetch_600" : work ~ /^pattern/ ? "pattern_t" : work ~ /^planning/ ? "planning_unserved" : "one_p64"]
	sub(/; (600 bytes|64 partitions)$/, "", first)
	return first substr(label[work], 9)
}

function shown(us) { return sprintf(us < 1000 ? "%.1f" : "%.0f", us) }

function times(x) { return sprintf(x < 10 ? "%.2f×" : "%.0f×", x) }

# by_protocol(work, protocol, side, target): µs, and the speed-up against native indexes; of plain SQL, its cost, times that of the index
# table named by hand, too
function by_protocol(work, protocol, side, target,    r, a, b, c, cells) {
	for (r = 1; r <= n_rounds; r++) {
		a[r] = cost[work, protocol, side, r]
		b[r] = cost[work, protocol, "native", r] / a[r]
		if ((work, protocol, "hand", r) in cost) c[r] = a[r] / cost[work, protocol, "hand", r]
	}
	r = median(a, n_rounds)
	cells = shown(r) "\t(" spread(a, n_rounds, r < 1000 ? "%.1f" : "%.0f") ")"
	if (side == "native") return cells "\t\t\t"
	r = median(b, n_rounds)
	cells = cells "\t" times(r)
	if (side ~ /^(hand|generated|rum)$/) return cells "\t\t"
	cells = cells "\t" aim("plain SQL, " named(work) ", " protocol ": times as fast as native indexes", r, "≥", target, "×")
	return cells "\t" (1 in c ? times(by_hand = median(c, n_rounds)) : "")
}

# flat(work): of one row, its cost, times that at 64 partitions
function flat(work,    r, a, first) {
	first = "one_p64" SUBSEP "prepared" SUBSEP "ours" SUBSEP
	if (work !~ /^one_p/ || work == "one_p64" || !((first 1) in cost)) return ""
	for (r = 1; r <= n_rounds; r++) a[r] = cost[work, "prepared", "ours", r] / cost[first r]
	return times(median(a, n_rounds))
}

function read(    w, work, s, side) {
	name["native"] = "native indexes"
	name["ours"] = "**plain SQL, by an index table**"
	name["unserved"] = "plain SQL, **not** by its index table"
	name["generated"] = "GIN of a generated column"
	name["rum"] = "rum of a generated column"
	name["hand"] = "an index table, by hand"
	row("work\tanswered by\tsimple\t(least – most)\tspeed-up\treach\t× by hand\tprepared\t(least – most)\tspeed-up\treach\t× by hand\treach\t× at 64\treach")
	for (w = 1; w <= n_works; w++) {
		work = works[w]
		for (s = 1; s <= n_sides[work]; s++) {
			side = sides[work, s]
			row((s == 1 ? label[work] : "") "\t" name[side] "\t" by_protocol(work, "simple", side, reach[work]) "\t" \
				by_protocol(work, "prepared", side, reach_row[work]) "\t" (side == "ours" && work ~ /^only_/ ? aim("plain SQL, " named(work) ", prepared: cost, times that of the index table named by hand", by_hand, "≤", reach["by_hand"], "×") : "") \
				"\t" (side == "ours" ? flat(work) : "") "\t" (side == "ours" && flat(work) != "" ? aim("plain SQL, " named(work) ", prepared: cost, times that at 64 partitions", flat(work) + 0, "≤", reach["flat_plain"], "×") : ""))
		}
	}
	print_table(2)
}

function planning(    w, work, r, off, on, more, cells) {
	row("query\toff\t(least – most)\ton\t(least – most)\tmore\treach\tby\treach")
	for (w = 1; w <= n_works; w++) {
		work = works[w]
		if (!(work in seen)) continue
		for (r = 1; r <= n_rounds; r++) {
			off[r] = cost[work, "off", r]
			on[r] = cost[work, "on", r]
			more[r] = on[r] - off[r]
			by[r] = 100 * more[r] / off[r]
		}
		cells = label[work] "\t" sprintf("%.1f", median(off, n_rounds)) "\t(" spread(off, n_rounds, "%.1f") ")"
		cells = cells "\t" sprintf("%.1f", median(on, n_rounds)) "\t(" spread(on, n_rounds, "%.1f") ")"
		row(cells "\t" sprintf("%+.2f", median(more, n_rounds)) "\t" aim("planning a query of " named(work) ": more", median(more, n_rounds), "≤", reach[work], " µs") \
			"\t" sprintf("%+.1f %%", median(by, n_rounds)) "\t" aim("planning a query of " named(work) ": more", median(by, n_rounds), "≤", reach_row[work], " %"))
	}
	print_table(1)
}

END {
	if (part == "read") read()
	if (part == "planning") planning()
}
