-- an index table
SELECT indextable.create('bench.by_town', 'bench.fact', '{town}');
