# Draws what pictures.awk has written. Called by pictures.sh as
#   gnuplot -e "data = 'FOLDER'; pictures = 'docs'" test/bench/pictures.gp

native = "#8a94a6"
gin = "#c9ced8"
trigger = "#e0a458"
ours = "#1f6fb2"

set encoding utf8
set border 3 lc rgb "#555555"
set tics nomirror tc rgb "#222222"
set grid ytics lc rgb "#dddddd" lw 1 dt 1
set key reverse Left samplen 2 spacing 1.2
set style fill solid 1.0 border rgb "#ffffff"
set style histogram clustered gap 1
set boxwidth 0.9
set xtics scale 0

# ---- the ways side by side

set terminal svg size 900, 760 font "DejaVu Sans, Helvetica, Arial, sans-serif, 13" background rgb "white"
set output pictures."/costs-ways.svg"
set multiplot layout 2, 1
set lmargin 9
set bmargin 4
set key outside top center horizontal
set title "Writing: CPU µs a row above a table without any index, documents of 600 bytes"
set style data histograms
set yrange [0:55]
plot data."/writing" using 2:xtic(1) title "native: B-tree on an expression" lc rgb native, \
     "" using 3 title "native: GIN" lc rgb gin, \
     "" using 4 title "trigger in PL/pgSQL" lc rgb trigger, \
     "" using 5 title "index table" lc rgb ours
set title "Reading: CPU µs a prepared query (each line is ten times the one below)"
set logscale y
set yrange [1:200000]
set format y "%.0f"
plot data."/reading" using 2:xtic(1) title "native: B-tree on an expression; at the right: GIN" lc rgb native, \
     "" using 3 title "index table" lc rgb ours
unset multiplot

# ---- as rows and partitions become more

set output pictures."/costs-growth.svg"
set terminal svg size 900, 420 font "DejaVu Sans, Helvetica, Arial, sans-serif, 13" background rgb "white"
set multiplot layout 1, 2
set key inside top left vertical
set style data linespoints
set grid xtics
set title "One row by a unique field,\nCPU µs by the number of partitions"
set logscale xy
set xrange [0.8:1400]
set yrange [5:50000]
set xtics (1, 16, 64, 256, 1024)
set xlabel "partitions"
plot data."/partitions" using 1:2 title "native: an index in each partition" lc rgb native lw 3 pt 7 ps 0.7, \
     "" using 1:3 title "index table" lc rgb ours lw 3 pt 7 ps 0.7
set title "An insert (above no index), and one row by its key,\nCPU µs by the number of rows"
unset logscale y
set xrange [7e3:1.5e7]
set yrange [0:70]
set xtics ("10⁴" 1e4, "10⁵" 1e5, "10⁶" 1e6, "10⁷" 1e7)
set xlabel "rows"
set format y "%.0f"
plot data."/rows" using 1:3 title "insert, native B-tree" lc rgb native lw 3 pt 7 ps 0.7, \
     "" using 1:2 title "insert, index table" lc rgb ours lw 3 pt 7 ps 0.7, \
     "" using 1:5 title "row found, native B-tree" lc rgb native lw 3 dt 2 pt 6 ps 0.7, \
     "" using 1:4 title "row found, index table" lc rgb ours lw 3 dt 2 pt 6 ps 0.7
unset multiplot
