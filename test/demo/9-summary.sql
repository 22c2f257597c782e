-- Called by demo.sh last: all times and ratios in one table; fails if any answer differed.

\pset footer off
\pset null -
\echo
\echo '== 9. Summary: planning and execution in ms, median of several runs, warm cache'
\echo
SELECT question, max(rows) AS rows,
       round(max(ms) FILTER (WHERE way = 'seq scan'), 2) AS seq_scan,
       round(max(ms) FILTER (WHERE way = 'native index' AND plan !~ '^(Parallel )?Seq Scan'), 2) AS native,
       round(max(ms) FILTER (WHERE way = 'index table'), 2) AS index_table,
       round(max(ms) FILTER (WHERE way = 'seq scan')
           / max(ms) FILTER (WHERE way = 'index table'), 1) AS "seq/it",
       CASE WHEN bool_and(same) THEN 'yes' ELSE 'NO' END AS "same answer"
  FROM timing
 GROUP BY question
 ORDER BY min(n);
\echo 'native: a native index made for that question (B-tree on the expressions, GIN on the document);'
\echo '        a dash where there is none or the planner preferred the sequential scan.'
\echo 'seq/it: how many times as long as the index table the sequential scan takes.'

DO $$
BEGIN
    IF EXISTS (SELECT FROM timing WHERE NOT same) THEN
        RAISE EXCEPTION 'not every answer is the same';
    END IF;
END
$$;
