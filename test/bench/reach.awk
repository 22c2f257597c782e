# The table of all that should be reached. Called by bench.sh after table.awk, with targets.tsv, and the lines that aim() notes.

FNR == 1 { row("part\twhat\tfigure\treach\tmet") }
{ row($1 "\t" $2 "\t" $3 "\t" $4 "\t" $5); if ($5 == "yes") met++; all++ }
END {
	print_table(2)
	printf "\n%d of %d are met.\n", met, all
}
