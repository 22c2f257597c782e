# Makes tables of lines with kind, query, side, CPU ms and elapsed ms.
{ cpu[$1, $2, $3, ++count[$1, $2, $3]] = $4; elapsed[$1, $2, $3, count[$1, $2, $3]] = $5 }

function median(of, key, i, j, t, n, sorted)
{
	n = count[key]
	for (i = 1; i <= n; i++) { for (j = i; j > 1 && sorted[j - 1] > of[key, i] + 0; j--) sorted[j] = sorted[j - 1]; sorted[j] = of[key, i] + 0 }
	return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
}

function table(kind, q, h, e, c, x)
{
	print "| query | plain table | `idx_bluesky` | generated columns | index tables | its index / index tables | plain table / index tables | generated columns / index tables |"
	print "|---|---|---|---|---|---|---|---|"
	for (q = 1; q <= 5; q++)
	{
		h = median(cpu, kind SUBSEP q SUBSEP "heap"); e = median(cpu, kind SUBSEP q SUBSEP "expression")
		c = median(cpu, kind SUBSEP q SUBSEP "columns"); x = median(cpu, kind SUBSEP q SUBSEP "entries")
		printf "| %d | %.1f ms | %.1f ms | %.1f ms | %.1f ms | %.1f | %.1f | %.1f |\n", q, h, e, c, x, e / x, h / x, c / x
	}
}

END {
	print "CPU time of one process:\n"
	table("alone")
	print "\nThe same while documents are inserted:\n"
	table("beside")
	print "\nElapsed time of index tables, and with two workers:\n"
	print "| query | serial | two workers | gain |"
	print "|---|---|---|---|"
	for (q = 1; q <= 5; q++)
	{
		h = median(elapsed, "serial" SUBSEP q SUBSEP "entries"); x = median(elapsed, "workers" SUBSEP q SUBSEP "entries")
		printf "| %d | %.1f ms | %.1f ms | %.2f |\n", q, h, x, h / x
	}
}
