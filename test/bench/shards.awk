# The table of sharded fact tables. Called by bench.sh after table.awk, with targets.tsv, and the lines that shards.sh
# describes.

{
	cost[$1, $2, $3, $4] = $5
	if (!(($1, $3) in seen)) sides[$1, ++n_sides[$1]] = $3
	seen[$1, $3] = 1
	if ($4 > n_rounds) n_rounds = $4
}

function answered(side,    text) { text = name[side]; gsub(/\*\*/, "", text); return text }

function times(v) { return sprintf(v < 10 ? "%.1f×" : "%.0f×", v) }

# by_protocol(work, protocol, side): ms, and speed-up against queries over all shards: by the field, and by a column
function by_protocol(work, protocol, side, target,    r, a, b, c, cells) {
	for (r = 1; r <= n_rounds; r++) {
		a[r] = cost[work, protocol, side, r]
		b[r] = cost[work, protocol, "field", r] / a[r]
		c[r] = cost[work, protocol, side ~ /_async$/ ? "fan_out_async" : "fan_out", r] / a[r]
	}
	cells = sprintf("%.2f", median(a, n_rounds)) "\t(" spread(a, n_rounds, "%.2f") ")"
	if (side ~ /^f/) return cells "\t\t\t\t"
	r = median(b, n_rounds)
	cells = cells "\t" times(r) "\t" aim(label[work] " on shards, " answered(side) ", " protocol ": times as fast as all shards asked", r, "≥", target, "×")
	r = median(c, n_rounds)
	return cells "\t" times(r) "\t" (side ~ /^lookup/ ? aim(label[work] " on shards, " answered(side) ", " protocol ": times as fast as the shards' own index", r, "≥", reach_floor[work], "×") : "")
}

END {
	name["field"] = "all shards: doc->>'…' = …"
	name["fan_out"] = "all shards, by an indexed column"
	name["fan_out_async"] = "the same, async_capable"
	name["lookup"] = "**lookup()**"
	name["lookup_async"] = "**lookup()**, async_capable"
	name["copy"] = "**denormalized index table**"
	row("work\tanswered by\tsimple\t(least – most)\t× field\treach\t× column\treach\tprepared\t(least – most)\t× field\treach\t× column\treach")
	for (w = 1; w <= n_works; w++) {
		work = works[w]
		for (s = 1; s <= n_sides[work]; s++) {
			side = sides[work, s]
			target = side ~ /^lookup/ ? reach[work] : side == "copy" ? reach_row[work] : ""
			row((s == 1 ? label[work] : "") "\t" name[side] "\t" by_protocol(work, "simple", side, target) "\t" by_protocol(work, "prepared", side, target))
		}
	}
	print_table(2)
}
