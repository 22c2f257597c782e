# Medians, and a Markdown table in aligned columns. Used by writes.awk and reads.awk, which come after it on awk's command
# line and read targets.tsv first. Runs under LC_ALL=C, where a byte is a character.

# By what an index is kept, of those that variants/ has.
BEGIN {
	name["none"] = "no index"
	name["expression"] = "expression B-tree"
	name["generated"] = "B-tree on a generated column"
	name["gin"] = "GIN jsonb_path_ops"
	name["row_trigger"] = "PL/pgSQL row trigger"
	name["statement_trigger"] = "PL/pgSQL statement trigger"
	name["pg_ivm"] = "pg_ivm"
	name["empty_trigger"] = "nothing: an empty trigger in C"
	name["floor"] = "floor: the least that a trigger in C can do"
	name["indextable"] = "**indextable**"
	name["sparse"] = "**indextable**, sparse"
	name["totals"] = "**totals**"
}

# sort(values, n): a[1..n] ascending
function sort(a, n,    i, j, v) {
	for (i = 2; i <= n; i++) {
		v = a[i]
		for (j = i - 1; j > 0 && a[j] > v; j--) a[j + 1] = a[j]
		a[j + 1] = v
	}
}

function median(a, n) { sort(a, n); return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2 }

# spread(values, n): "least – most", of what median() has sorted
function spread(a, n, format) { return sprintf(format " – " format, a[1], a[n]) }

# width of a UTF-8 text: its bytes but the continuation bytes
function width(text) { gsub(/[\200-\277]/, "", text); return length(text) }

# row(cells): collects one row, cells separated by tabs; the first is the heading
function row(cells,    n, i, cell) {
	n = split(cells, cell, "\t")
	if (n > columns) columns = n
	rows++
	for (i = 1; i <= n; i++) {
		table[rows, i] = cell[i]
		if (width(cell[i]) > widest[i]) widest[i] = width(cell[i])
	}
}

function repeat(text, n,    s) { s = ""; while (n-- > 0) s = s text; return s }

# print_table(left): prints them, the first so many columns aligned left, the rest right
function print_table(left,    r, i, line, fill) {
	for (r = 1; r <= rows; r++) {
		line = "|"
		for (i = 1; i <= columns; i++) {
			fill = repeat(" ", widest[i] - width(table[r, i]))
			line = line " " (i <= left ? table[r, i] fill : fill table[r, i]) " |"
		}
		print line
		if (r == 1) {
			line = "|"
			for (i = 1; i <= columns; i++) line = line (i <= left ? repeat("-", widest[i] + 2) "|" : repeat("-", widest[i] + 1) ":|")
			print line
		}
	}
}

# aim(what, figure, sign, target, unit): the cell of what should be reached; also notes it, with the figure and whether that is met, for
# the section "reach"
function aim(what, figure, sign, target, unit,    met) {
	if (target == "") return ""
	target = target ""
	if (figure != "" && reached != "") {
		met = sign == "≥" ? figure + 0 >= target + 0 : figure + 0 <= target + 0
		print section "\t" what "\t" figured(figure) unit "\t" sign " " target unit "\t" (met ? "yes" : "**no**") >> reached
	}
	return sign " " target unit
}

function figured(x) { return sprintf(x > -10 && x < 10 ? "%.2f" : x > -100 && x < 100 ? "%.1f" : "%.0f", x) }

# targets.tsv: a work, its label, and up to three numbers that it should reach, which each table explains
FILENAME ~ /targets\.tsv$/ { works[++n_works] = $1; label[$1] = $2; reach[$1] = $3; reach_row[$1] = $4; reach_floor[$1] = $5; next }
