-- an index table with an entry for each element
SELECT indextable.create('bench.by_mark', 'bench.fact', '{marks[*]}');
