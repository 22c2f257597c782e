-- counts by the same key
SELECT indextable.create('bench.town_totals', 'bench.fact', '{town}', totals => '{count(*)}');
