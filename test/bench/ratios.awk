# Puts the ratios that users want to know into docs/costs.md, from the tables of results.md. Called by bench.sh, and by hand as
#   awk -F '|' -f test/bench/ratios.awk test/bench/results.md docs/costs.md
# Prints the page with new lines between "<!-- measured: writing -->" or "<!-- measured: reading -->" and "<!-- end -->".

function trimmed(text) { gsub(/^ +| +$|\*\*/, "", text); return text }

# cell(heading, nth): the cell of this line under the nth heading of that name
function cell(heading, nth,    i) {
	for (i = 2; i < NF; i++) if (head[i] == heading && --nth <= 0) return trimmed($i)
	return ""
}

function figure(text) { sub(/×$/, "", text); return text == "" ? "" : text "×" }

# writing: notes a line of work; its µs without an index are in base[] in the end, and in native[] how many more a native one takes
function writing(work, how, more, per_native, per_trigger) {
	if (per_native per_trigger == "") return
	works[++nworks] = work
	hows[nworks] = how
	mores[nworks] = more
	ratios[nworks] = figure(per_native) " | " figure(per_trigger)
}

function reading(what, how, beside, factor) {
	if (factor != "") lines["reading"] = lines["reading"] "| " what " | " how " | " beside " | " figure(factor) " |\n"
}

BEGIN {
	lines["writing"] = "| work | maintenance | no index, µs | index table, µs more | native index, µs more | × native index | × PL/pgSQL trigger |\n|---|---|--:|--:|--:|--:|--:|\n"
	lines["reading"] = "| query | answered by | beside | times as fast |\n|---|---|---|--:|\n"
}

# results.md
FNR == NR && /^<!-- measured: / { split($0, word, " "); section = word[3]; in_table = 0; what = "" }
FNR == NR && /^<!-- end/ { section = "" }
FNR == NR && /^\|/ && !in_table { for (i = 1; i <= NF; i++) head[i] = trimmed($i); in_table = 1; next }
FNR == NR && !/^\|/ { in_table = 0 }
FNR == NR && /^\|-/ { next }
FNR == NR && in_table {
	first = trimmed($2)
	if (first != "" && first != "the same") what = first
	if (section == "wide") sub(/^the same/, "single-row insert, 4 KB", what)
	how = trimmed($3)
	if (section == "arrays" && first != "") what = what " (native: GIN)"
	if (section ~ /^(single|bulk|wide|arrays)$/) {
		if (how == "no index") base[what] = cell("µs a row")
		if (how == (section == "arrays" ? "GIN jsonb_path_ops" : "expression B-tree")) native[what] = cell("µs a row")
		if (how == "indextable") writing(what, "transactional", cell("µs a row"), cell("× native"), cell("× row trigger"))
	}
	if (section == "many" && how == "8") {
		native[what ", 8 index tables"] = cell("expression B-trees")
		writing(what ", 8 index tables", "transactional", cell("indextable"), cell("× native"), "")
	}
	if (section == "enqueue" && how == "no index") base[what ", 8 index tables"] = base[what ", queued"] = cell("1")
	if (section == "enqueue" && how == "expression B-tree") native[what ", queued"] = cell("1")
	if (section == "enqueue" && how == "async") writing(what ", queued", "asynchronous, without the drain", cell("1"), cell("× B-tree"), "")
	if (section == "reads") {
		beside = "expression index"
		if (match(what, /; against /)) beside = substr(what, RSTART + 10)
		sub(/; .*/, "", beside)
		if (first ~ /^the same/) query = last_query; else query = what
		sub(/; against [^;]*/, "", query)
		if (first !~ /^the same/) last_query = query
		if (beside != "jsonb_to_record") reading(query, "entries alone", beside, cell("speed-up", 1))
	}
	if (section == "fetched" && first ~ /plain SQL/) reading("100 documents by a field", first, "expression index", sprintf("%.2f", 1 / cell("× native", 1)))
	if (section == "partitions" && how ~ /^(256|1024)$/) partitions = how
	else if (section == "partitions" && how != "") partitions = ""
	if (section == "partitions" && cell("answered by") ~ /lookup|partial/ && partitions != "" && what ~ /^one row/)
		reading("one row by a unique field, " partitions " partitions", cell("answered by"), "local expression indexes", cell("speed-up", 2))
	if (section == "planner" && how == "native indexes") beside = what ~ /hold/ ? "GIN" : "native indexes"
	if (section == "planner" && how ~ /generated column/ && what ~ /two/) others[how] = cell("prepared")
	if (section == "planner" && how == "plain SQL, by an index table" && what !~ /;|^100 |holding|^rows of/) {
		reading(what, "plain SQL", beside, cell("speed-up", 2))
		for (other in others) reading(what, "plain SQL", other, sprintf("%.2f", others[other] / cell("prepared")))
		split("", others)
	}
	if (section == "shards" && how == "lookup()") reading(what ", 2 shards", how, "all shards asked by that field", cell("× field", 2))
}
FNR == NR { next }
FNR == 1 {
	for (n = 1; n <= nworks; n++) {
		lines["writing"] = lines["writing"] "| " works[n] " | " hows[n] " | " base[works[n]] " | " mores[n] " | " native[works[n]] " | " ratios[n] " |\n"
		sub(/, queued \|/, " |", lines["writing"])
	}
}

# docs/costs.md
/^<!-- end -->$/ { if (replaced) print ""; replaced = 0 }
!replaced { print }
/^<!-- measured: (writing|reading) -->$/ {
	split($0, word, " ")
	printf "\n%s", lines[word[3]]
	replaced = 1
}
