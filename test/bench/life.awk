# The tables of making, checking and repairing, and of retention. Called by bench.sh after table.awk, with part=life, repair, beside
# or retention, targets.tsv, and the lines that life.sh and retention.sh describe.

part == "life" {
	cpu[$1, $2, $3] = $4
	elapsed[$1, $2, $3] = $5
	if (!(($1, $2) in seen)) sides[$1, ++n_sides[$1]] = $2
	seen[$1, $2] = 1
	if ($4 != "") has_cpu[$1] = 1
	if ($3 > n_rounds) n_rounds = $3
}

part == "repair" {
	if (!($1 in seen)) wrongs[++n_wrongs] = $1
	seen[$1] = 1
	cpu[$1, "", $2] = $3
	elapsed[$1, "", $2] = $4
	right[$1, $2] = $5
	if ($2 > n_rounds) n_rounds = $2
}

part == "beside" {
	rate[$1, $2, $3] = $4
	cpu[$1, $2, $3] = $5
	builds[$1, $2, $3] = $6
	if ($3 > n_rounds) n_rounds = $3
}

part == "retention" {
	elapsed[$1, $2, $3] = $4
	reader[$1, $2, $3] = $5
	writer[$1, $2, $3] = $6
	if (!(($1, $2) in seen)) sides[$1, ++n_sides[$1]] = $2
	seen[$1, $2] = 1
	if ($3 > n_rounds) n_rounds = $3
}

# over_rounds(values, work, side, by, format): median; the spread into least_most
function over_rounds(values, work, side, by, format,    r, a) {
	for (r = 1; r <= n_rounds; r++) a[r] = values[work, side, r] / by
	r = median(a, n_rounds)
	least_most = "(" spread(a, n_rounds, format) ")"
	return sprintf(format, r)
}

# times_as(values, work, side, base): median of the ratios in each round
function times_as(values, work, side, base,    r, a) {
	for (r = 1; r <= n_rounds; r++) a[r] = values[work, side, r] / values[work, base, r]
	r = median(a, n_rounds)
	least_most = "(" spread(a, n_rounds, "%.2f") ")"
	return sprintf("%.2f×", r)
}

function plain(text) { gsub(/\*\*/, "", text); return text }

function life(    w, work, s, side, base, cells, key, ratio_of) {
	name["native"] = "CREATE INDEX"
	name["normalized"] = "create(), normalized"
	name["partial"] = "create(), 3 included fields"
	name["locked"] = "writers kept out"
	name["online"] = "**online**"
	name["count"] = "count(*) of both tables"
	name["field"] = "count(field) of both tables"
	name["verify"] = "**verify()**"
	name["sample"] = "verify(sample => 1)"
	row("work\tby\tCPU ms\t(least – most)\t×\t(least – most)\treach\telapsed ms\t(least – most)\t×\t(least – most)")
	for (w = 1; w <= n_works; w++) {
		work = works[w]
		for (s = 1; s <= n_sides[work]; s++) {
			side = sides[work, s]
			base = sides[work, 1]
			cells = (s == 1 ? label[work] : "") "\t" name[side]
			if (has_cpu[work]) {
				cells = cells "\t" over_rounds(cpu, work, side, 1000, "%.0f") "\t" least_most
				ratio_of = s > 1 ? times_as(cpu, work, side, base) : ""
				cells = cells "\t" ratio_of "\t" (s > 1 ? least_most : "")
			} else cells = cells "\t\t\t\t"
			key = s == 1 || side == "count" || side == "sample" || !has_cpu[work] ? "" : \
				aim(label[work] ", " plain(name[side]) ": CPU, times that of " name[base], ratio_of + 0, "≤", reach[work], "×")
			cells = cells "\t" key "\t" over_rounds(elapsed, work, side, 1000, "%.0f") "\t" least_most
			row(cells "\t" (s > 1 ? times_as(elapsed, work, side, base) "\t" least_most : "\t"))
		}
	}
	print_table(2)
}

function repair(    i, r, n, wrong, a, cells, few) {
	row("wrong entries\trepair(), CPU ms\t(least – most)\telapsed ms\tless verify(), ms\t(least – most)\tµs an entry\tµs an entry above " wrongs[1])
	for (i = 1; i <= n_wrongs; i++) {
		wrong = wrongs[i]
		cells = wrong "\t" over_rounds(cpu, wrong, "", 1000, "%.0f") "\t" least_most "\t" over_rounds(elapsed, wrong, "", 1000, "%.0f")
		for (r = 1; r <= n_rounds; r++) a[r] = (cpu[wrong, "", r] - right[wrong, r]) / 1000
		n = median(a, n_rounds)
		if (i == 1) few = n
		row(cells "\t" sprintf("%.0f", n) "\t(" spread(a, n_rounds, "%.0f") ")\t" sprintf("%.1f", n * 1000 / wrong) "\t" (i > 1 ? sprintf("%.1f", (n - few) * 1000 / (wrong - wrongs[1])) : ""))
	}
	print_table(0)
}

function beside(    c, cells, ratio_of) {
	row("clients\twithout a build\t(least – most)\twith\t(least – most)\tof it\t(least – most)\treach\tCPU µs without\twith\t×\tbuilds in a window")
	for (c = 1; c <= 2; c++) {
		cells = c "\t" over_rounds(rate, c, "none", 1, "%.0f") "\t" least_most "\t" over_rounds(rate, c, "build", 1, "%.0f") "\t" least_most
		cells = cells "\t" (ratio_of = times_as(rate, c, "build", "none")) "\t" least_most "\t" aim(label["beside_" c] ": what is left of their rate", ratio_of + 0, "≥", reach["beside_" c], "×")
		cells = cells "\t" over_rounds(cpu, c, "none", 1, "%.2f") "\t" over_rounds(cpu, c, "build", 1, "%.2f") "\t" times_as(cpu, c, "build", "none")
		row(cells "\t" over_rounds(builds, c, "build", 1, "%.1f"))
	}
	print_table(0)
}

function retention(    w, work, s, side, cells) {
	name["expression"] = "2 expression B-trees"
	name["indextable"] = "**2 index tables**"
	name["along"] = "**2, partitioned as the fact table is**"
	name["queued"] = "**2, asynchronous**"
	row("command\tindexed by\tit takes\t(least – most)\ta reader waits\t(least – most)\ta writer waits\t(least – most)")
	for (w = 1; w <= n_works; w++) {
		work = works[w]
		for (s = 1; s <= n_sides[work]; s++) {
			side = sides[work, s]
			cells = (s == 1 ? label[work] : "") "\t" name[side] "\t" over_rounds(elapsed, work, side, 1000, "%.0f") "\t" least_most
			cells = cells "\t" over_rounds(reader, work, side, 1000, "%.0f") "\t" least_most
			row(cells "\t" over_rounds(writer, work, side, 1000, "%.0f") "\t" least_most)
		}
	}
	print_table(2)
}

END {
	if (part == "retention") retention()
	if (part == "life") life()
	if (part == "repair") repair()
	if (part == "beside") beside()
}
