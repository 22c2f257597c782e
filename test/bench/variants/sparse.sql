-- an index table without entries of rows that lack the field
SELECT indextable.create('bench.by_town', 'bench.fact', '{town}', sparse => true);
