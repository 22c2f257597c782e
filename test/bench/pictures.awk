# What pictures.gp draws, from the tables of results.md: writes the files writing, reading, partitions and rows into a folder. Called by
# pictures.sh as
#   awk -F '|' -v folder=FOLDER -f test/bench/pictures.awk test/bench/results.md

function trimmed(text) { gsub(/^ +| +$|\*\*/, "", text); return text }

# column(heading, nth): the column of the nth cell of this heading
function column(heading, nth,    i) {
	for (i = 2; i < NF; i++) if (head[i] == heading && --nth <= 0) return i
	wrong("there is no column \"" heading "\" in " section)
}

function wrong(what) { print "pictures.awk: " what > "/dev/stderr"; failed = 1; exit 1 }

# The columns of "writing", in this order, and what is read, with how it is called in the picture.
BEGIN {
	n_ways = split("expression B-tree\tGIN jsonb_path_ops\tPL/pgSQL row trigger\tindextable", ways, "\t")
	n_reads = split("lookup of one row by a unique key\t100 entries by key, 3 included fields; 600 bytes\t100 entries by key, 3 included fields; 4 KB\tsum of an included field over 10 % of the keys; 600 bytes\tsum of an included field over 10 % of the keys; 4 KB\tfirst 20 documents holding an array element, ordered; against GIN", reads, "\t")
	split("one row by\\na unique key\t100 entries,\\n3 more fields,\\n600 bytes\t100 entries,\\n3 more fields,\\n4 KB\tsum over 10 %\\nof the keys,\\n600 bytes\tsum over 10 %\\nof the keys,\\n4 KB\tfirst 20 with an\\narray element,\\nordered", captions, "\t")
}

/^<!-- measured: / { split($0, word, " "); section = word[3]; in_table = 0 }
/^<!-- end/ { section = "" }
/^\|/ && !in_table { for (i = 1; i <= NF; i++) head[i] = trimmed($i); in_table = 1; what = ""; next }
!/^\|/ { in_table = 0 }
/^\|-/ { next }

in_table {
	first = trimmed($2)
	if (first != "" && first != "the same") what = first
}

in_table && section == "single" {
	if (trimmed($3) == "no index") works[++n_works] = what
	time[what, trimmed($3)] = trimmed($(column("µs a row", 1)))
}

in_table && section == "reads" {
	native[what] = trimmed($(column("whole: native", 1)))
	ours[what] = trimmed($(column("index table", 1)))
}

in_table && section == "partitions" && what == "one row by a unique field" {
	how = trimmed($(column("answered by", 1)))
	if (trimmed($3) != "") count = trimmed($3)
	if (how == "local expression indexes") local_time = trimmed($(column("prepared", 1)))
	if (how == "lookup()") lines["partitions"] = lines["partitions"] count " " local_time " " trimmed($(column("prepared", 1))) "\n"
}

# 10 to a superscript of one digit: 4 to 9 are the bytes E2 81 B4 to B9
in_table && section == "growth" && first !~ /extrapolated/ {
	size = "1e" (index("\264\265\266\267\270\271", substr(first, length(first), 1)) + 3)
	lines["rows"] = lines["rows"] size " " trimmed($(column("insert: index table", 1))) " " trimmed($(column("B-tree", 1))) " " trimmed($(column("row looked up: index table", 1))) " " trimmed($(column("B-tree", 3))) "\n"
}

END {
	if (failed) exit 1
	for (i = 1; i <= n_works; i++) {
		caption = works[i]
		sub(/ the key/, "\\nthe key", caption)
		lines["writing"] = lines["writing"] "\"" caption "\""
		for (w = 1; w <= n_ways; w++) lines["writing"] = lines["writing"] " " (time[works[i], ways[w]] + 0)
		lines["writing"] = lines["writing"] "\n"
	}
	for (i = 1; i <= n_reads; i++) {
		if (!(reads[i] in native)) wrong("\"" reads[i] "\" is not among the reads")
		lines["reading"] = lines["reading"] "\"" captions[i] "\" " native[reads[i]] " " ours[reads[i]] "\n"
	}
	n = split("writing reading partitions rows", names, " ")
	for (i = 1; i <= n; i++) {
		if (lines[names[i]] == "") wrong("nothing is there for " names[i])
		printf "%s", lines[names[i]] > (folder "/" names[i])
	}
}
