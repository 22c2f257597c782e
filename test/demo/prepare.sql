-- Called by demo.sh first: an empty schema "demo", the documents' table, and the demo's own helpers.

DROP SCHEMA IF EXISTS demo CASCADE;
CREATE SCHEMA demo;
CREATE EXTENSION IF NOT EXISTS indextable;

-- No autovacuum, so that none of it runs during a measurement: the demo vacuums where it matters.
CREATE TABLE package (
    id  bigint PRIMARY KEY,
    doc jsonb NOT NULL
) WITH (autovacuum_enabled = off);

-- What was measured: one row for each question and each way of asking it.
CREATE TABLE timing (
    n        integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    question text NOT NULL,
    way      text NOT NULL,         -- 'seq scan', 'native index', 'index table', 'lookup()'
    rows     bigint NOT NULL,
    ms       numeric NOT NULL,      -- planning and execution, median
    plan     text NOT NULL,         -- the scans it took
    same     boolean                -- the same answer as the seq scan; null for the seq scan itself
);

-- The answer that each seq scan gave: what the other ways are compared with.
CREATE TABLE answer (
    question text NOT NULL,
    line     bigint,                -- null where the order is not part of the answer
    row      text NOT NULL
);

-- Sizes of what exists only for a while.
CREATE TABLE size_note (
    n       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name    text NOT NULL,
    kind    text NOT NULL,
    entries bigint,
    heap    bigint NOT NULL,
    indexes bigint NOT NULL
);

-- scans() names the scans of tables, index tables and look-ups in an EXPLAIN (FORMAT JSON) plan.
CREATE FUNCTION scans(plan jsonb) RETURNS text
LANGUAGE sql AS $$
    SELECT string_agg(DISTINCT concat_ws(' ',
               CASE WHEN (node->>'Parallel Aware')::boolean THEN 'Parallel' END,
               CASE WHEN node ? 'Totals' THEN 'Totals'
                    WHEN node ? 'Index Table Only' THEN 'Index Table Only'
                    WHEN node ? 'Index Table' THEN 'Index Table' ELSE node->>'Node Type' END,
               coalesce(node->>'Totals', node->>'Index Table Only', node->>'Index Table',
                        node->>'Relation Name', node->>'Function Name')), ', ')
      FROM jsonb_path_query(plan, 'strict $.** ? (@."Node Type" like_regex "Scan")') AS node
     WHERE node ? 'Relation Name' OR node->>'Function Name' = 'lookup'
$$;

-- measure() asks a question (a view) several times, notes the median time, and compares the answer
-- with the one that the seq scan gave: EXCEPT ALL both ways, line by line where order matters.
-- Plain SQL uses index tables only where these are what is measured.
CREATE PROCEDURE measure(question text, way text, query regclass,
                         ordered boolean DEFAULT false, runs integer DEFAULT 5)
LANGUAGE plpgsql AS $$
DECLARE
    plan    jsonb;
    times   numeric[];
    lines   text;
    found   bigint;
    differ  bigint := 0;
    is_base boolean := way = 'seq scan';
BEGIN
    PERFORM set_config('indextable.planner', CASE way WHEN 'index table' THEN 'on' ELSE 'off' END, true);
    FOR run IN 1 .. runs LOOP
        EXECUTE format('EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT * FROM %s', query) INTO plan;
        times := times || ((plan #>> '{0,Planning Time}')::numeric
                         + (plan #>> '{0,Execution Time}')::numeric);
    END LOOP;
    IF is_base AND scans(plan) !~ '^(Parallel )?Seq Scan package$' THEN
        RAISE EXCEPTION '"%": this was to be a seq scan of the documents, but is: %',
                        question, scans(plan);
    END IF;

    lines := format('SELECT %s AS line, q::text AS row FROM %s AS q',
                    CASE WHEN ordered THEN 'row_number() OVER ()' ELSE 'NULL::bigint' END, query);
    IF is_base THEN
        EXECUTE format('INSERT INTO answer SELECT $1, line, row FROM (%s) AS a', lines) USING question;
        GET DIAGNOSTICS found = ROW_COUNT;
    ELSE
        EXECUTE format('WITH this AS MATERIALIZED (%s),
                             seq AS (SELECT line, row FROM answer WHERE question = $1)
                        SELECT (SELECT count(*) FROM this),
                               (SELECT count(*) FROM (TABLE this EXCEPT ALL TABLE seq) AS a)
                             + (SELECT count(*) FROM (TABLE seq EXCEPT ALL TABLE this) AS b)', lines)
           INTO found, differ USING question;
    END IF;

    INSERT INTO timing (question, way, rows, ms, plan, same)
    SELECT question, way, found, percentile_disc(0.5) WITHIN GROUP (ORDER BY t), scans(plan),
           CASE WHEN NOT is_base THEN differ = 0 END
      FROM unnest(times) AS t;
    IF differ > 0 THEN
        RAISE EXCEPTION '"%": % gives another answer than the seq scan: % rows differ',
                        question, way, differ;
    END IF;
END
$$;

-- report() prints what was measured for one question.
CREATE FUNCTION report(question text) RETURNS SETOF text
LANGUAGE sql AS $$
    (SELECT format('  %s %s rows %s ms   %s', rpad(way, 12), lpad(rows::text, 7),
                   lpad(round(ms, 2)::text, 9), plan)
       FROM timing AS t WHERE t.question = report.question ORDER BY n)
    UNION ALL
    SELECT format('  same answer: %s', CASE WHEN bool_and(same) THEN 'yes' ELSE 'NO' END)
      FROM timing AS t WHERE t.question = report.question
$$;

-- note_size() keeps the size of a table or an index that is about to be dropped.
CREATE PROCEDURE note_size(object regclass, kind text, entries bigint DEFAULT NULL)
LANGUAGE sql AS $$
    INSERT INTO size_note (name, kind, entries, heap, indexes)
    SELECT relname, kind, entries,
           CASE WHEN relkind = 'i' THEN 0 ELSE pg_table_size(oid) END,
           CASE WHEN relkind = 'i' THEN pg_relation_size(oid) ELSE pg_indexes_size(oid) END
      FROM pg_class WHERE oid = object
$$;

-- check_index_tables() compares each index table with its recompute (recompute.sql), which the
-- planner must not answer from the index table.
CREATE FUNCTION check_index_tables(
    names text[] DEFAULT ARRAY['pkg_by_section', 'pkg_by_size', 'pkg_by_depends', 'pkg_listing'])
RETURNS TABLE (index_table text, entries bigint, missing bigint, extra bigint, equal text)
LANGUAGE plpgsql SET indextable.planner = off AS $$
BEGIN
    FOREACH index_table IN ARRAY names LOOP
        EXECUTE format('SELECT (SELECT count(*) FROM %1$I),
                               (SELECT count(*) FROM (TABLE %2$I EXCEPT ALL TABLE %1$I) AS a),
                               (SELECT count(*) FROM (TABLE %1$I EXCEPT ALL TABLE %2$I) AS b)',
                       index_table, 'recompute_' || index_table)
           INTO entries, missing, extra;
        IF missing + extra > 0 THEN
            RAISE EXCEPTION '% differs from its recompute: % entries missing, % extra',
                            index_table, missing, extra;
        END IF;
        equal := 'yes';
        RETURN NEXT;
    END LOOP;
END
$$;

-- check_index_only() refuses a plan that touches anything but the entries in one index, or any heap page.
CREATE FUNCTION check_index_only(query regclass) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    plan         jsonb;
    heap_fetches bigint;
BEGIN
    EXECUTE format('EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT * FROM %s', query) INTO plan;
    SELECT sum(n::bigint) INTO heap_fetches FROM jsonb_path_query(plan, 'strict $.**."Heap Fetches"') AS n;
    IF scans(plan) ~ '^Index Table Only [^,]*$' AND heap_fetches = 0 THEN
        RETURN 'entries alone: yes, no document and no heap page was read';
    ELSIF (SELECT count(*) FROM package) < 10000 THEN
        RETURN 'entries alone: no, the planner found too few documents to bother';
    END IF;
    RAISE EXCEPTION 'not from entries alone: %, % heap fetches', scans(plan), heap_fetches;
END
$$;
