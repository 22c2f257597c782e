# The tables of asynchronous maintenance. Called by bench.sh after table.awk, with part=enqueue, many, drain, held or lag, targets.tsv, and
# the lines that async.sh describes.

part == "enqueue" || part == "many" {
	cost[$1, $2, $3, $4] = $5
	if ($4 > rounds[$1]) rounds[$1] = $4
	if ($3 > 0 && !(("count", $3) in seen)) counts[++n_counts] = $3
	seen["count", $3] = 1
}

part == "drain" {
	rate[$1, $2] = $3 * 1000000 / $5
	us[$1, $2] = $4 / $3
	total[$1, $2] = $4 / 1000
	rows_changed[$1] = $3
	if ($2 > n_rounds) n_rounds = $2
}

part == "held" { steps[$1, $2] = $3; after[$1, $2] = $4 }

part == "lag" && $2 == "lag" { lag[$1, ++n_lags[$1]] = $3 / 1000; next }
part == "lag" { number[$1, $2] = $3; if ($2 == "cpu") waited[$1] = $4 }

# ---- enqueue: an overhead is a cost less that of "none" in the same round

function overhead(work, kind, count,    r, n, a) {
	for (r = 1; r <= rounds[work]; r++) a[++n] = cost[work, kind, count, r] - (kind == "none" ? 0 : cost[work, "none", 0, r])
	r = median(a, n)
	least_most = spread(a, n, "%.2f")
	return r
}

function enqueue(    w, work, k, kind, c, cells, one, own) {
	cells = "work\tkept by"
	for (c = 1; c <= n_counts; c++) cells = cells "\t" counts[c] "\t(least – most)"
	row(cells "\t× B-tree\treach\t" counts[n_counts] " : " counts[1] "\treach")
	for (w = 1; w <= n_works; w++) {
		work = works[w]
		if (!(work in rounds)) continue
		row(label[work] "\tno index\t" sprintf("%.2f", overhead(work, "none", 0)) "\t(" least_most ")")
		btree = overhead(work, "native", counts[1])
		for (k = 1; k <= n_kinds; k++) {
			kind = kinds[k]
			cells = "\t" name[kind]
			for (c = 1; c <= n_counts; c++) {
				own = overhead(work, kind, counts[c])
				if (c == 1) one = own
				cells = cells "\t" sprintf("%+.2f", own) "\t(" least_most ")"
			}
			cells = cells "\t" (work ~ /delete/ ? "" : ratio(one, btree)) "\t" (kind == "async" && btree > 0 ? aim(label[work] ", queued: CPU, times a native index's", one / btree, "≤", reach[work], "×") : "")
			row(cells "\t" (one > 0.2 ? ratio(own, one) : "") "\t" (kind == "async" && one > 0 ? aim(label[work] ", queued: " counts[n_counts] " index tables, times the cost of " counts[1], own / one, "≤", reach_row[work], "×") : ""))
		}
	}
	print_table(2)
}

# ---- many: transactional index tables, and as many native indexes

function many_tables(    w, work, c, own, native, cells, goal) {
	row("work\tindex tables\tindextable\t(least – most)\texpression B-trees\t(least – most)\t× native\treach")
	for (w = 1; w <= n_works; w++) {
		work = works[w]
		if (!(work in rounds)) continue
		for (c = 1; c <= n_counts; c++) {
			own = overhead(work, "transactional", counts[c])
			cells = (c == 1 ? label[work] : "") "\t" counts[c] "\t" sprintf("%+.2f", own) "\t(" least_most ")"
			native = overhead(work, "native", counts[c])
			cells = cells "\t" sprintf("%+.2f", native) "\t(" least_most ")"
			goal = "many" substr(work, 8) "_" counts[c]
			# a native index leaves deletes to VACUUM
			row(cells "\t" (work ~ /delete/ ? "" : ratio(own, native)) \
				"\t" (native > 0 ? aim(label[work] ", " counts[c] " index tables: CPU, times that of as many native indexes", own / native, "≤", reach[goal], "×") : ""))
		}
	}
	print_table(1)
}

function ratio(part, whole) { return whole > 0 ? sprintf("%.2f", part / whole) : "" }

# ---- drain: how many times as fast as single-row updates in the same round

function over_rounds(values, work,    r, a) {
	for (r = 1; r <= n_rounds; r++) a[r] = values[work, r]
	r = median(a, n_rounds)
	least_most = spread(a, n_rounds, "%.0f")
	return r
}

# times_as(work, other): median of the ratios of their rates; by CPU time if cpu
function times_as(work, other, cpu,    r, a) {
	for (r = 1; r <= n_rounds; r++) a[r] = cpu ? us[other, r] / us[work, r] : rate[work, r] / rate[other, r]
	r = median(a, n_rounds)
	least_most = spread(a, n_rounds, "%.1f")
	return sprintf("%.1f×", r)
}

function drain(    w, work, cells, once, many, ratio_of) {
	row("changes\ta second\t(least – most)\tCPU µs\ta second of CPU\treach\t× updates\t(least – most)\treach\tby CPU")
	for (w = 1; w <= n_works; w++) {
		work = works[w]
		if (!((work, 1) in rate)) continue
		cells = label[work] "\t" sprintf("%.0f", over_rounds(rate, work)) "\t(" least_most ")"
		cells = cells "\t" sprintf("%.2f", over_rounds(us, work)) "\t" sprintf("%.0f", 1000000 / over_rounds(us, work))
		cells = cells "\t" aim(label[work] ": a second of one worker's CPU", 1000000 / over_rounds(us, work), "≥", reach_row[work], "")
		if (work ~ /^drain_/) {
			ratio_of = times_as(work, "updates_none")
			cells = cells "\t" ratio_of "\t(" least_most ")\t" aim(label[work] ": rate, times that of single-row updates", ratio_of + 0, "≥", reach[work], "×")
			cells = cells "\t" times_as(work, "updates_none", 1)
		}
		row(cells)
	}
	print_table(1)
	once = over_rounds(total, "once")
	many = over_rounds(total, "coalesce")
	printf "\n%d rows drained after one change each: %.1f ms of CPU; after %.0f each: %.1f ms, %.1f times as much (%.2f µs a change)\n",
		rows_changed["once"], once, rows_changed["coalesce"] / rows_changed["once"], many, many / once, over_rounds(us, "coalesce")
}

# ---- held: ten steps

function held(    h, w, s, n, i, cells, first, last) {
	what["enqueue"] = "single-row insert, CPU µs"
	what["bulk"] = "bulk update, CPU µs a row"
	what["drain"] = "drained, thousands a second of CPU"
	what["size"] = "queue tables, MB"
	who["nobody"] = "nothing"
	who["snapshot"] = "a snapshot"
	who["writer"] = "an idle writer"
	n_whats = split("enqueue bulk drain size", whats, " ")
	n_holders = split("nobody snapshot writer", holders, " ")
	n = split(steps["nobody", "size"], s, " ")
	cells = "held open\t"
	for (i = 1; i <= n; i++) cells = cells "\t" i
	row(cells "\tlast 3 : first 3\treach\tafter")
	for (h = 1; h <= n_holders; h++)
		for (w = 1; w <= n_whats; w++) {
			n = split(steps[holders[h], whats[w]], s, " ")
			cells = (w == 1 ? who[holders[h]] : "") "\t" what[whats[w]]
			for (i = 1; i <= n; i++) cells = cells "\t" s[i]
			first = s[1] + s[2] + s[3]
			last = s[n] + s[n - 1] + s[n - 2]
			row(cells "\t" (whats[w] == "size" ? "\t" : ratio(last, first) "\t1.0") "\t" after[holders[h], whats[w]])
		}
	print_table(2)
}

# ---- lag: of all transactions, in order

function at(load, share,    i) { i = int(n_lags[load] * share + 0.999999); return lag[load, i < 1 ? 1 : i] }

function ms(x) { return sprintf(x < 10 ? "%.1f" : "%.0f", x) }

function lags(    l, load, i, b, most, share, cells) {
	row("load\tchanges a second\tlag, p50 ms\treach\tp90\tp99\treach\tmost\tworker: % of a CPU\twaiting for one")
	for (l = 1; l <= n_loads; l++) {
		load = loads[l]
		cells = label["lag_" load] "\t" number[load, "changes"] "\t" ms(at(load, 0.5)) "\t" aim("lag under " label["lag_" load] ": half of the changes", at(load, 0.5), "≤", reach["lag_" load], " ms")
		cells = cells "\t" ms(at(load, 0.9)) "\t" ms(at(load, 0.99)) "\t" aim("lag under " label["lag_" load] ": 99 % of the changes", at(load, 0.99), "≤", reach_row["lag_" load], " ms") "\t" ms(at(load, 1))
		row(cells "\t" sprintf("%.0f", number[load, "cpu"] / 10) "\t" sprintf("%.0f", waited[load] / 10))
	}
	print_table(1)
	printf "\nThe drain rate measured before: %d changes a second. ", number["half", "drained"]
	printf "Without load, CPU a second: worker %.2f ms, launcher %.2f ms.\n\n", number["idle", "worker"], number["idle", "launcher"]

	for (i = 1; i <= n_lags["half"]; i++) {
		b = 0
		while (lag["half", i] >= 2 ^ b) b++
		bucket[b]++
		if (b > last_bucket) last_bucket = b
		if (bucket[b] > most) most = bucket[b]
	}
	print "    lag, ms        changes"
	for (b = 0; b <= last_bucket; b++) {
		share = bucket[b] / n_lags["half"]
		printf "    %5s – %-5d %7.2f %% %s\n", b ? 2 ^ (b - 1) : 0, 2 ^ b, 100 * share, repeat("#", int(50 * bucket[b] / most + 0.5))
	}
}

END {
	n_kinds = split("async transactional native", kinds, " ")
	name["async"] = "**async**"
	name["transactional"] = "transactional"
	name["native"] = "expression B-tree"
	n_loads = split("light half", loads, " ")
	if (part == "enqueue") enqueue()
	if (part == "many") many_tables()
	if (part == "drain") drain()
	if (part == "held") held()
	if (part == "lag") lags()
}
