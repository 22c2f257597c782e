# The table of how costs grow with the number of entries, and their curves as SVG. Called by bench.sh after table.awk, with part=table
# or plot, targets.tsv, and the lines that growth.sh describes.

$1 == "bytes" { bytes[$2] = $3; next }

{
	if (!($1 in at)) { size[++n_sizes] = $1; at[$1] = 1 }
	cost[$1, $2, $3, $4] = $5
	if ($4 > n_rounds) n_rounds = $4
}

function log2(x) { return log(x) / log(2) }

# own(entries, kind, work): the median; of inserts and moves above no index, in the same round
function own(entries, kind, work,    r, a) {
	for (r = 1; r <= n_rounds; r++)
		a[r] = cost[entries, kind, work, r] - ((entries, "none", work, r) in cost ? cost[entries, "none", work, r] : 0)
	return median(a, n_rounds)
}

# missed(bytes): the share of so many bytes that shared_buffers has no room for
function missed(b) { return b > bytes[0] ? 1 - bytes[0] / b : 0 }

# fit(kind, work): a and b of a + b * log2(entries), by least squares over the sizes without misses, or over all if these are too
# few; and c of what misses add, so that the larger sizes come out right on average
function fit(kind, work,    s, x, y, n, sx, sy, sxx, sxy, m, few) {
	for (s = 1; s <= n_sizes; s++) n += missed(bytes[size[s]]) == 0
	few = n < 2
	n = 0
	for (s = 1; s <= n_sizes; s++) {
		if (!few && missed(bytes[size[s]]) > 0) continue
		x = log2(size[s])
		y = own(size[s], kind, work)
		n++; sx += x; sy += y; sxx += x * x; sxy += x * y
	}
	b = n > 1 ? (n * sxy - sx * sy) / (n * sxx - sx * sx) : 0
	if (b < 0) b = 0
	a = (sy - b * sx) / n
	c = n = 0
	for (s = 1; s <= n_sizes && !few; s++) {
		m = missed(bytes[size[s]])
		if (m == 0) continue
		c += (own(size[s], kind, work) - a - b * log2(size[s])) / m
		n++
	}
	c = n && c > 0 ? c / n : 0
}

# extrapolated(kind, work): at ten times the largest size
function extrapolated(kind, work,    last) {
	fit(kind, work)
	last = size[n_sizes]
	return a + b * log2(10 * last) + c * missed(10 * bytes[last])
}

function powered(entries,    n, i, s) {
	n = sprintf("%d", log(entries) / log(10) + 0.5)
	if (10 ^ n != entries) return entries ""
	for (i = 1; i <= length(n); i++) s = s superscript[substr(n, i, 1)]
	return "10" s
}

function plain(    s, i, l, cells, last) {
	l = "entries"
	for (i = 1; i <= n_lines; i++) l = l "\t" label[line_work[i], line_kind[i]]
	row(l)
	for (s = 1; s <= n_sizes; s++) {
		cells = powered(size[s])
		for (i = 1; i <= n_lines; i++) cells = cells "\t" sprintf("%.2f", own(size[s], line_kind[i], line_work[i]))
		row(cells)
	}
	cells = powered(10 * size[n_sizes]) ", extrapolated"
	for (i = 1; i <= n_lines; i++) cells = cells "\t" sprintf("%.2f", extrapolated(line_kind[i], line_work[i]))
	row(cells)
	print_table(1)
}

# ---- curves: four panels, one a work

# top(most): a round number above it, in steps of which there are four or five
function top(most,    step) {
	step = 10 ^ int(log(most) / log(10))
	if (step > most) step /= 10
	if (most / step < 2) step /= 5
	else if (most / step < 5) step /= 2
	tick = step
	return (int(most / step) + 1) * step
}

function px(entries) { return left + wide * (log(entries) - log(size[1])) / (log(10 * size[n_sizes]) - log(size[1])) }
function py(us) { return up + high * (1 - us / most_us) }

function curve(kind, work,    s, points, x, y) {
	for (s = 1; s <= n_sizes; s++) {
		x = px(size[s])
		y = py(own(size[s], kind, work))
		points = points sprintf(" %.1f,%.1f", x, y)
		printf "<circle class=\"%s dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>\n", kind, x, y
	}
	printf "<polyline class=\"%s\" points=\"%s\"/>\n", kind, substr(points, 2)
	printf "<line class=\"%s far\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", kind, x, y, px(10 * size[n_sizes]), py(extrapolated(kind, work))
	printf "<circle class=\"%s open\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>\n", kind, px(10 * size[n_sizes]), py(extrapolated(kind, work))
}

# panel(work, title): at left and up
function panel(work, title,    s, i, us, kinds, n, k) {
	most_us = 0
	n = split(work == "entry" ? "indextable" : "native indextable", kinds, " ")
	for (k = 1; k <= n; k++) {
		for (s = 1; s <= n_sizes; s++) if (own(size[s], kinds[k], work) > most_us) most_us = own(size[s], kinds[k], work)
		us = extrapolated(kinds[k], work)
		if (us > most_us) most_us = us
	}
	most_us = top(most_us)
	printf "<text class=\"title\" x=\"%d\" y=\"%d\">%s</text>\n", left, up - 14, title
	for (us = 0; us <= most_us * 1.001; us += tick) {
		printf "<line class=\"%s\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n", us ? "grid" : "axis", left, py(us), left + wide, py(us)
		printf "<text class=\"end\" x=\"%d\" y=\"%.1f\">%g</text>\n", left - 8, py(us) + 4, us
	}
	for (s = 1; s <= n_sizes + 1; s++) {
		us = s > n_sizes ? 10 * size[n_sizes] : size[s]
		printf "<text class=\"middle\" x=\"%.1f\" y=\"%d\">%s</text>\n", px(us), up + high + 18, powered(us)
	}
	printf "<text class=\"middle\" x=\"%d\" y=\"%d\">entries</text>\n", left + wide / 2, up + high + 36
	printf "<text class=\"middle\" transform=\"translate(%d %d) rotate(-90)\">CPU µs</text>\n", left - 40, up + high / 2
	for (k = 1; k <= n; k++) curve(kinds[k], work)
}

function plot() {
	wide = 290
	high = 170
	print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 780 610\" width=\"780\" height=\"610\" role=\"img\" aria-label=\"CPU time of an insert, a moved key and look-ups by the number of entries\">"
	print "<style>"
	print "\ttext { font: 12px sans-serif; fill: #1f2328 }"
	print "\t.title { font-size: 14px; font-weight: bold } .end { text-anchor: end } .middle { text-anchor: middle }"
	print "\t.paper { fill: #ffffff } .grid { stroke: #d1d9e0 } .axis { stroke: #59636e }"
	print "\t.indextable { stroke: #0969da } .native { stroke: #bc4c00 }"
	print "\tpolyline, .far { fill: none; stroke-width: 2 } .far { stroke-dasharray: 5 4 } .open { fill: #ffffff; stroke-width: 2 }"
	print "\t.indextable.dot { fill: #0969da } .native.dot { fill: #bc4c00 }"
	print "\t@media (prefers-color-scheme: dark) {"
	print "\t\ttext { fill: #f0f6fc } .paper, .open { fill: #0d1117 } .grid { stroke: #3d444d } .axis { stroke: #9198a1 }"
	print "\t\t.indextable { stroke: #4493f8 } .native { stroke: #f0883e } .indextable.dot { fill: #4493f8 } .native.dot { fill: #f0883e }"
	print "\t}"
	print "</style>"
	print "<rect class=\"paper\" width=\"780\" height=\"610\"/>"
	print "<line class=\"indextable\" stroke-width=\"2\" x1=\"70\" y1=\"24\" x2=\"100\" y2=\"24\"/><text x=\"108\" y=\"28\">index table</text>"
	print "<line class=\"native\" stroke-width=\"2\" x1=\"200\" y1=\"24\" x2=\"230\" y2=\"24\"/><text x=\"238\" y=\"28\">expression B-tree</text>"
	print "<line class=\"axis far\" x1=\"370\" y1=\"24\" x2=\"400\" y2=\"24\"/><text x=\"408\" y=\"28\">extrapolated</text>"
	left = 70; up = 80; panel("insert", "An insert, above no index")
	left = 460; panel("move", "A key moved, above no index")
	left = 70; up = 365; panel("entry", "A look-up: its entry only")
	left = 460; panel("fetched", "A look-up: the row, by plain SQL")
	print "</svg>"
}

END {
	split("⁰ ¹ ² ³ ⁴ ⁵ ⁶ ⁷ ⁸ ⁹", digits, " ")
	for (i = 0; i < 10; i++) superscript[i] = digits[i + 1]
	n_lines = split("insert insert move move entry fetched fetched", line_work, " ")
	split("indextable native indextable native indextable indextable native", line_kind, " ")
	label["insert", "indextable"] = "insert: index table"
	label["insert", "native"] = "B-tree"
	label["move", "indextable"] = "key moved: index table"
	label["move", "native"] = "B-tree"
	label["entry", "indextable"] = "entry looked up: index table"
	label["fetched", "indextable"] = "row looked up: index table"
	label["fetched", "native"] = "B-tree"
	if (part == "table") plain()
	if (part == "plot") plot()
}
