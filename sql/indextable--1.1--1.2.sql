-- Upgrade script of indextable, from 1.1 to 1.2.  A table, a function or a view that changes here also changes in the
-- install script of 1.2: what both make is the same.

\echo Use "ALTER EXTENSION indextable UPDATE TO '1.2'" to load this file. \quit

-- Operators and functions of others in the schema of the extension are not to be taken for the server's own.
SET LOCAL search_path = pg_catalog, pg_temp;

COMMENT ON SCHEMA indextable IS 'Index tables over JSONB documents: what users call, and views of what there is';

-- A fact table may have no documents.
ALTER TABLE indextable_internal.definition ALTER COLUMN document DROP NOT NULL;
ALTER TABLE indextable_internal.definition ADD COLUMN sparse boolean NOT NULL DEFAULT true;
COMMENT ON COLUMN indextable_internal.definition.sparse       IS 'whether a row that lacks a key field has no entry; the default is for rows of version 1.1';
COMMENT ON COLUMN indextable_internal.definition.document     IS 'the JSONB column, by its name in fact_columns; NULL: the fact table has none, or several of which none is used';
COMMENT ON COLUMN indextable.index_tables.document     IS 'the JSONB column; NULL: the fact table has none, or several of which none is used';

CREATE TABLE indextable_internal.hidden (
    index_table regclass NOT NULL
);
CREATE INDEX hidden_index_table ON indextable_internal.hidden (index_table);
ALTER TABLE indextable_internal.hidden REPLICA IDENTITY FULL;  -- as skipped
COMMENT ON TABLE indextable_internal.hidden IS
'Index tables that plain SQL does not use, by alter(); beside their definition, of which older snapshots ask whether the entries have changed';
COMMENT ON COLUMN indextable_internal.hidden.index_table IS 'the index table; two transactions may both add it';
SELECT pg_catalog.pg_extension_config_dump('indextable_internal.hidden', '');
REVOKE ALL ON indextable_internal.hidden FROM PUBLIC;

CREATE TABLE indextable_internal.timeline (
    index_table regclass PRIMARY KEY,
    timeline    integer NOT NULL
);
COMMENT ON TABLE indextable_internal.timeline IS
'The timeline of this server on which the entries of a distributed index table were right on all nodes: another one may lack commits, until repair() has looked';
COMMENT ON COLUMN indextable_internal.timeline.index_table IS 'the index table';
COMMENT ON COLUMN indextable_internal.timeline.timeline    IS 'that of when the node got to know it, or repair() last found nothing wrong';
REVOKE ALL ON indextable_internal.timeline FROM PUBLIC;

CREATE OR REPLACE VIEW indextable.index_tables AS
SELECT d.index_table,
       d.fact_table,
       d.state,
       d.problem,
       d.strategy,
       d.maintenance,
       d.key,
       d.include,
       d.filter,
       d.is_unique,
       d.on_mismatch,
       d.document,
       CASE WHEN c.relkind = 'p' THEN
           (SELECT count(*) FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid)
       ELSE 0 END::integer AS partitions,
       -- pg_get_partkeydef() would lock the table.
       (SELECT CASE t.partstrat WHEN 'h' THEN 'HASH' WHEN 'l' THEN 'LIST' ELSE 'RANGE' END || ' (' || pg_catalog.quote_ident(a.attname) || ')'
        FROM pg_catalog.pg_partitioned_table t
        JOIN pg_catalog.pg_attribute a ON a.attrelid = t.partrelid AND a.attnum = t.partattrs[0]
        WHERE t.partrelid = c.oid) AS partition_by,
       d.sparse,
       EXISTS (SELECT FROM indextable_internal.hidden h WHERE h.index_table = d.index_table) AS hidden,
       -- One of ours is that by which entries are found, and an asynchronous index table has another one, which a comment tells.
       ARRAY(SELECT i.indexrelid::regclass
             FROM pg_catalog.pg_index i
             WHERE i.indrelid = c.oid AND NOT CASE WHEN d.strategy = 'totals' THEN i.indnatts = cardinality(d.key)
                                                   ELSE i.indisprimary OR (i.indnullsnotdistinct AND i.indnkeyatts >= cardinality(d.key)) END
               AND pg_catalog.obj_description(i.indexrelid, 'pg_class') IS DISTINCT FROM 'Finds the entries of a fact row; made by indextable'
             ORDER BY i.indexrelid) AS own_indexes
FROM indextable_internal.definition d
JOIN pg_catalog.pg_class c ON c.oid = d.index_table
WHERE d.replaces IS NULL;
COMMENT ON COLUMN indextable.index_tables.sparse       IS 'whether a row that lacks a key field has no entry, as in a unique index table; otherwise it has one with NULL in it';
COMMENT ON COLUMN indextable.index_tables.hidden       IS 'whether plain SQL does not use it unless indextable.use_hidden is on: alter()';
COMMENT ON COLUMN indextable.index_tables.own_indexes  IS 'the indexes on it that its owner has made, by which plain SQL may find entries, too';

COMMENT ON COLUMN indextable.queues.backlog       IS 'number of changes that are not applied yet; NULL, as lag, if it is not known: while somebody has a queue table locked (size is NULL, too), a node of Citus cannot be reached, or a server with feeds does not answer or is not asked by any worker. Of a distributed fact table the backlog is that of all nodes, and workers and errors are those of this one';
COMMENT ON COLUMN indextable.queues.last_error_at IS 'since when; or, if there is no error, since when the server with the feeds was not asked';

COMMENT ON COLUMN indextable.queues.last_error    IS 'why it could not, or for what the worker waits; or why there is no worker, if there is something to apply';
COMMENT ON COLUMN indextable.queues.blocked_by IS 'processes that keep it waiting at this moment, as pg_blocking_pids() counts: 0 is a prepared transaction; NULL between two tries';

CREATE FUNCTION indextable_internal.why_no_worker() RETURNS text
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'indextable_why_no_worker';
COMMENT ON FUNCTION indextable_internal.why_no_worker() IS
'Why the current database has no worker, or none yet; NULL if it has one, or will have one as soon as it needs one, or indextable is not in shared_preload_libraries';

CREATE OR REPLACE VIEW indextable.queues AS
SELECT q.fact_table,
       q.backlog,
       CASE WHEN q.backlog = 0 THEN interval '0'
            WHEN q.oldest IS NOT NULL THEN greatest(clock_timestamp() - q.oldest, interval '0') END AS lag,
       q.rate,
       CASE WHEN q.server = 0 THEN
           (SELECT count(*) FROM indextable_internal.rejection r
            JOIN indextable_internal.definition d ON d.index_table = r.index_table
            WHERE d.fact_table = q.fact_table) END AS rejected,
       (SELECT count(*)::integer FROM indextable.workers()) AS workers,
       CASE WHEN q.waiting THEN 'waiting'
            WHEN q.error IS NOT NULL THEN 'failing'
            WHEN NOT EXISTS (SELECT FROM indextable.workers()) THEN 'none'
            WHEN EXISTS (SELECT FROM indextable.workers() w WHERE w.state = 'draining') THEN 'draining'
            ELSE 'idle' END AS worker_state,
       coalesce(q.error, CASE WHEN q.backlog > 0 THEN indextable_internal.why_no_worker() END) AS last_error,
       q.since AS last_error_at,
       q.applied,
       q.applied_at,
       q.size,
       s.srvname AS server,
       q.next_try,
       q.blocked_by
FROM (SELECT f.fact_table, 0::oid AS server, CASE WHEN f.queue IS NULL THEN 0 ELSE b.backlog END AS backlog, b.oldest, b.size, a.applied, a.rate, a.applied_at, a.error, a.since, a.waiting, a.next_try, a.blocked_by
      FROM indextable_internal.fact f
      CROSS JOIN LATERAL indextable_internal.queue_status(f.fact_table) b
      LEFT JOIN LATERAL indextable_internal.queue_activity(f.fact_table, 0) a ON true
      WHERE f.queue IS NOT NULL OR a.error IS NOT NULL
      UNION ALL
      SELECT f.fact_table, t.server, a.backlog, a.oldest, NULL, a.applied, a.rate, a.applied_at, a.error, a.since, a.waiting, a.next_try, a.blocked_by
      FROM indextable_internal.fact f
      CROSS JOIN LATERAL (WITH RECURSIVE p (relid) AS (  -- pg_partition_tree() would lock them
                              SELECT f.fact_table::oid
                              UNION ALL
                              SELECT i.inhrelid FROM p JOIN pg_catalog.pg_inherits i ON i.inhparent = p.relid AND NOT i.inhdetachpending)
                          SELECT DISTINCT ft.ftserver
                          FROM p
                          JOIN pg_catalog.pg_foreign_table ft ON ft.ftrelid = p.relid) t (server)
      LEFT JOIN LATERAL indextable_internal.queue_activity(f.fact_table, t.server) a ON true
      WHERE EXISTS (SELECT FROM indextable_internal.definition d WHERE d.fact_table = f.fact_table AND d.maintenance = 'async')) q
LEFT JOIN pg_catalog.pg_foreign_server s ON s.oid = q.server;
COMMENT ON VIEW indextable.queues IS 'The queues of asynchronous index tables: how far they are behind, and who is at work; and whatever else keeps workers from their work for a fact table';
COMMENT ON COLUMN indextable.queues.worker_state  IS 'waiting: another session has a lock that the next batch needs; failing: the last batch could not be applied, or took too long, or has ended the worker, or an index table could not be folded or checked; all are tried again. Otherwise none, idle or draining';

COMMENT ON COLUMN indextable_internal.completeness.fields IS 'number of key fields: a row lacks an entry, or did, as a value was skipped; with 32 times the number of a field added: as the text of this field cannot be cast; NULL: such rows are recorded, and without it nothing is known; 25 to 30: a row has values that an entry does not tell as queries read them, or did; 31: such rows are recorded';

COMMENT ON FUNCTION indextable.explain(text) IS
'Which index tables the planner uses for a query of their fact tables, and why it does not use the others; the query is planned, not run. A row for each index table, or with index_table NULL for several or all of a fact table. used: whether the plan reads it; reason: why not, or if it is searched, or read as a whole, in its order or because it is smaller. The query may have parameters $1, $2, ... An error if it is not one statement that can be planned, or the caller may not run it. No rows where it names no fact table, or is NULL';

CREATE FUNCTION indextable.explain(
    query                    text,
    what_if                  text,
    OUT fact_table           regclass,
    OUT index_table          text,
    OUT used                 boolean,
    OUT reason               text,
    OUT entries              bigint,
    OUT bytes                bigint,
    OUT insert_cost          float8,
    OUT cost                 float8,
    OUT cost_without         float8) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10
AS 'MODULE_PATHNAME', 'indextable_explain_what_if';
COMMENT ON FUNCTION indextable.explain(text, text) IS
'What explain() would say if calls of create(), which what_if has as SQL with constants, had been run: nothing is created. Estimates from a sample of 10,000 rows: the entries and the bytes of such an index table with its indexes; insert_cost as a multiple of a native index (GIN for an array); the costs of the query as EXPLAIN has them, with these index tables, and without. Existing index tables follow, without such numbers. NULL for what_if supposes none. Errors of create() are raised. Needs to be owner of the fact table, and no row security';

-- How plain SQL is run, EXPLAIN and explain() tell.
DROP FUNCTION indextable.explain_query(regclass, jsonb, jsonb, boolean, integer, text, boolean, boolean);

CREATE FUNCTION indextable_internal.missed_conditions(OUT fact_table regclass, OUT document name, OUT field text, OUT condition text, OUT planned bigint, OUT since timestamptz) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 20
AS 'MODULE_PATHNAME', 'indextable_missed_conditions';
COMMENT ON FUNCTION indextable_internal.missed_conditions() IS
'What the view indextable.missed shows: of tables of the caller, or for roles in pg_read_all_stats of all';

CREATE OR REPLACE VIEW indextable.progress AS
SELECT index_table, fact_table, command, phase, rows_done,
       greatest(rows_total::bigint, rows_done) AS rows_total,
       rows_done / nullif(extract(epoch FROM updated_at - started_at), 0)::float8 AS rate,
       (updated_at - started_at) * (greatest(rows_total / nullif(rows_done, 0), 1) - 1) AS remaining,
       started_at, updated_at, pid,
       pg_catalog.pg_blocking_pids(pid) AS blocked_by
FROM (SELECT coalesce(b.shown, w.index_table)::regclass AS index_table,
             coalesce(b.fact_table, w.fact_table) AS fact_table,
             coalesce(b.command, w.command) AS command,
             coalesce(w.phase, b.phase) AS phase,
             coalesce(b.rows_done, w.rows_done) AS rows_done,
             coalesce(b.rows_total, w.rows_total) AS rows_total,
             coalesce(b.started_at, w.started_at) AS started_at,
             coalesce(b.updated_at, w.updated_at) AS updated_at,
             w.pid
      FROM (SELECT b.*, d.fact_table, coalesce(d.replaces, b.index_table)::oid AS shown,
                   CASE WHEN d.replaces IS NULL THEN 'build' ELSE 'rebuild' END AS command
            FROM indextable_internal.build b
            JOIN indextable_internal.definition d ON d.index_table = b.index_table) b
      FULL JOIN (SELECT p.pid, p.relid::regclass AS fact_table, nullif(p.param7, 0)::oid AS index_table,
                        (ARRAY['create', 'create_feed', 'alter', 'build', 'rebuild'])[p.param20] AS command,
                        CASE WHEN p.param10 = 1 THEN 'waiting for locks' WHEN p.param10 <> 2 THEN 'waiting for old snapshots'
                             WHEN p.param11 = 0 THEN 'reading rows' ELSE 'writing entries' END AS phase,
                        r.done AS rows_done, p.param12::float8 AS rows_total,
                        a.started_at, a.updated_at
                 FROM pg_catalog.pg_stat_get_progress_info('CREATE INDEX') p
                 LEFT JOIN LATERAL (SELECT p.param13 WHERE p.param10 = 2 AND p.param11 = 0) r(done) ON true
                 LEFT JOIN LATERAL (SELECT a.xact_start AS started_at, pg_catalog.clock_timestamp() AS updated_at
                                    FROM pg_catalog.pg_stat_get_activity(p.pid) a WHERE r.done IS NOT NULL) a ON true
                 WHERE p.param20 > 0 AND p.datid = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())) w
          ON w.index_table = b.shown AND w.command = b.command) p;
COMMENT ON VIEW indextable.progress IS 'Index tables that are being built, and how far they are; and commands that wait for a lock on a fact table';
COMMENT ON COLUMN indextable.progress.index_table IS 'the index table; NULL: it is to be created';
COMMENT ON COLUMN indextable.progress.fact_table  IS 'its fact table';
COMMENT ON COLUMN indextable.progress.command     IS 'build or rebuild; while they wait, create, create_feed or alter, too';
COMMENT ON COLUMN indextable.progress.phase       IS 'reading rows, writing entries, waiting for old snapshots (of transactions that began before it was full), catching up (with changes made meanwhile), or waiting for locks';
COMMENT ON COLUMN indextable.progress.pid         IS 'the process of the command while it waits, or reads all rows at once; shown to those who may see the statistics of its role, as pg_monitor may. Else NULL';
COMMENT ON COLUMN indextable.progress.blocked_by  IS 'processes for whose end it waits at this moment, as pg_blocking_pids() counts: 0 is a prepared transaction';

COMMENT ON PROCEDURE indextable.build(regclass, integer, interval) IS
'Fills an index table that was created with populate => false, while others read and write: all rows at once, with one snapshot, or in committed batches if batch_size or pause is given, if rows are rejected, or if there are other asynchronous index tables. Goes on where a batch was cut off. batch_size is in rows, NULL: indextable.batch_size; pause is slept after each batch, 0: not at all, NULL: for as long as writers of the fact table need to keep most of their rate. Not in a transaction block. Only for the owner';
COMMENT ON PROCEDURE indextable.rebuild(regclass, integer, interval) IS
'Makes the entries of an index table anew, while others read and write, as build() does; the old ones serve until the new ones take their place. Carries out what alter() was told with populate => false; brings an index table that is invalid back to active. Parameters as for build(). Not in a transaction block. Only for the owner';

CREATE VIEW indextable.missed AS
SELECT * FROM indextable_internal.missed_conditions();
COMMENT ON VIEW indextable.missed IS 'Conditions on fields of documents for which plain queries have found no index table, counted since the server was started if the library is preloaded: of tables of yours; roles in pg_read_all_stats, such as pg_monitor, see those of others, too. Counting begins anew for a table when an index table is created over it';
COMMENT ON COLUMN indextable.missed.fact_table IS 'the table';
COMMENT ON COLUMN indextable.missed.document   IS 'its column with the documents';
COMMENT ON COLUMN indextable.missed.field      IS 'the field, as a key of create(); of index, what follows CREATE INDEX ON';
COMMENT ON COLUMN indextable.missed.condition  IS 'equal: compared by = with a value, or by IN with several; range: by <, <=, > or >=; contained: a text or a number that the documents, or an array, contain; join: compared by = with columns of other tables; index: that only an index of users on an index table would serve, as a pattern';
COMMENT ON COLUMN indextable.missed.planned    IS 'how often such a query was planned; a plan that is kept, as of a prepared statement, counts once';
COMMENT ON COLUMN indextable.missed.since      IS 'when it was planned first';

GRANT SELECT ON indextable.missed TO PUBLIC;

COMMENT ON FUNCTION indextable.advise(regclass, text[], text[], text, name, integer) IS
'Whether a key should have an index table, and which, with reasons and the statement to run, from a sample of about sample_rows rows (100 to 1000000; NULL: 10000) and the statistics of the server; changes nothing. Without a key: which fields of the documents are worth an index table, from such a sample, and from what the caller sees in indextable.missed. Other parameters as for create(), include and filter only with a key; NULL for fact_table is an error. Needs SELECT on the fact table and no row security; with a filter, an expression, or a cast of a column, for the owner only';

-- What advice is made of ------------------------------------------------------

-- C collects the numbers of a key; what is made of them is SQL.
CREATE TYPE indextable_internal.key_profile AS (
    fact_table      regclass,
    fact_name       text,       -- as the caller would write it
    key             text[],
    include         text[],     -- NULL: none
    filter          text,
    document        text,       -- if the caller has named it
    document_column text,
    primary_key     text[],     -- if create() has to be given it
    names           text[],     -- of the key's columns
    same            text[],     -- index tables of this key
    partitions      integer,    -- NULL: the table is not partitioned
    multi           boolean,    -- the key has elements of an array
    hinted          boolean,    -- @ctid is included,
    shows_fields    boolean,    -- and fields for queries to show
    immutable       boolean,    -- an index can have the expressions of the key
    covered         boolean,    -- the primary key can have whole entries
    equal_once      boolean,    -- a B-tree on the key has equal keys once, and a row identifier for each row
    documents       float8,     -- an estimate
    complete        boolean,    -- the sample is the whole table
    sampled         bigint,     -- rows; of these,
    filtered        bigint,     -- those for which the filter is not true,
    missing         bigint,     -- those of the others without a value,
    mismatching     bigint,     -- with one that cannot be an entry, as
    mismatch        text,
    with_entries    bigint,     -- and with entries
    sampled_entries bigint,
    numbers         bigint,     -- entries whose first key field is a number
    all_differ      boolean,    -- no key has two entries
    included        boolean[],  -- for each included field, whether any entry has a value
    common_counts   float8[],   -- the most common keys: how many entries each has,
    common_values   text[],     -- and the values of its fields
    pairs           float8,     -- ordered pairs of entries with the same key
    entries         float8,     -- an estimate, as is
    keys            float8,     -- how many differ
    document_bytes  float8,     -- averages: of a document in full,
    stored_bytes    float8,     -- of a document as it is stored,
    key_bytes       float8,     -- of the key of an entry,
    ident_bytes     float8,     -- of its key and primary key,
    entry_bytes     float8,     -- and of the whole entry
    inline          boolean,    -- documents are stored in their rows
    wide            boolean,    -- documents are not, or only compressed
    -- Of each key field:
    paths           text[],     -- the path as the text of an array, up to [*]; NULL:
    sources         text[],     -- the column, or an expression in parentheses
    types           text[],     -- to which the text of a path, or a column, is cast; NULL: it is as it is
    collations      text[],
    array_field     integer);   -- the one that has [*]
COMMENT ON TYPE indextable_internal.key_profile IS
'The numbers of a key of an index table, from a sample of the documents, by which it is judged';

CREATE FUNCTION indextable_internal.in_percent(share float8) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN share * 100 = 0 THEN '0'
            WHEN share * 100 < 0.1 THEN 'less than 0.1'
            WHEN share * 100 < 10 OR share * 100 > 99 AND share * 100 < 100 THEN to_char(share * 100, 'FM990.0')
            ELSE to_char(share * 100, 'FM999990') END || ' %';
COMMENT ON FUNCTION indextable_internal.in_percent(float8) IS 'A share as a percentage, rounded for people to read';

CREATE FUNCTION indextable_internal.in_bytes(bytes float8) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT to_char(bytes / 1000.0::float8 ^ u, CASE WHEN u = 0 OR bytes / 1000.0::float8 ^ u >= 100 THEN 'FM999999999990' ELSE 'FM990.0' END) || ' '
           || ('{bytes,kB,MB,GB,TB,PB}'::text[])[u + 1]
    FROM (SELECT width_bucket(bytes, '{1e3,1e6,1e9,1e12,1e15}'::float8[])) unit(u);
END;
COMMENT ON FUNCTION indextable_internal.in_bytes(float8) IS 'A number of bytes with its unit, rounded for people to read';

CREATE FUNCTION indextable_internal.in_count(n float8) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN to_char(n, CASE WHEN n < 9999.5 THEN 'FM9990' ELSE 'FM999,999,999,999,990' END);
COMMENT ON FUNCTION indextable_internal.in_count(float8) IS 'A number of things, with commas if it has more than four digits';

-- Blocks are as narrow as an eighth (chr(9615)); where the client cannot show them, a bar is made of other characters.
CREATE FUNCTION indextable_internal.bar(share float8) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT CASE WHEN share > 0 THEN
               repeat(CASE steps WHEN 8 THEN chr(9616 - steps) ELSE '#' END, n / steps)
               || CASE WHEN n % steps = 0 THEN '' WHEN steps = 8 THEN chr(9616 - n % steps) ELSE '.' END
           ELSE '' END
    FROM (SELECT steps, greatest(round(least(share, 1) * 20 * steps)::integer, 1)
          FROM (SELECT CASE WHEN getdatabaseencoding() = 'UTF8' AND current_setting('client_encoding') = 'UTF8' THEN 8 ELSE 2 END) s(steps)) b(steps, n);
END;
COMMENT ON FUNCTION indextable_internal.bar(float8) IS 'A bar whose length is that share of 20 characters, empty only if it is 0';

CREATE FUNCTION indextable_internal.documents_text(documents float8, bytes float8, partitions integer, complete boolean, sampled bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN complete THEN '' ELSE 'about ' END || indextable_internal.in_count(documents) || ' of ' || indextable_internal.in_bytes(bytes)
    || coalesce(', in ' || partitions || ' partitions', '')
    || CASE WHEN complete THEN '' ELSE '; a sample of ' || indextable_internal.in_count(sampled) END;
COMMENT ON FUNCTION indextable_internal.documents_text(float8, float8, integer, boolean, bigint) IS
'How many documents there are, and of how many the advice is made';

-- With fewer documents than 1000 there is no verdict: reading all of them takes some milliseconds, if they are short.
CREATE FUNCTION indextable_internal.too_few(documents float8, document_bytes float8) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN CASE
    WHEN documents >= 1000 THEN NULL
    WHEN documents > 1 AND documents * document_bytes > 4 * 1024 * 1024 THEN
        format('There are %s documents: too few to judge a key by, although reading %s takes time. Ask again when there are 1000.',
               to_char(documents, 'FM9990'), indextable_internal.in_bytes(documents * document_bytes))
    WHEN documents = 1 THEN 'There is 1 document: reading it takes no time. Ask again when there are 1000.'
    ELSE format('There are %s documents: reading all of them takes no time. Ask again when there are 1000.', to_char(documents, 'FM9990')) END;
COMMENT ON FUNCTION indextable_internal.too_few(float8, float8) IS 'Why there is no verdict on a table; NULL: it has enough documents for one';

-- Each partition counts for itself; a table that is not partitioned is no partition tree.
CREATE FUNCTION indextable_internal.table_counts(fact_table regclass, OUT inserts bigint, OUT updates bigint, OUT hot_updates bigint, OUT deletes bigint, OUT scans bigint, OUT seq_scans bigint, OUT seq_rows bigint, OUT since timestamptz)
LANGUAGE sql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT sum(pg_stat_get_tuples_inserted(relid)), sum(pg_stat_get_tuples_updated(relid)), sum(pg_stat_get_tuples_hot_updated(relid)),
           sum(pg_stat_get_tuples_deleted(relid)),
           sum(pg_stat_get_numscans(relid) + (SELECT coalesce(sum(pg_stat_get_numscans(indexrelid)), 0) FROM pg_index WHERE indrelid = relid)),
           sum(pg_stat_get_numscans(relid)), sum(pg_stat_get_tuples_returned(relid)),
           (SELECT pg_stat_get_db_stat_reset_time(oid) FROM pg_database WHERE datname = current_database())
    FROM (SELECT fact_table::oid UNION SELECT t.relid FROM pg_partition_tree(fact_table) t) tables(relid);
END;
COMMENT ON FUNCTION indextable_internal.table_counts(regclass) IS
'How often a table and its partitions were written and read since the statistics were reset; scans has those of indexes, too';

-- Tuples and row identifiers begin at multiples of eight bytes; a line pointer has four.
CREATE FUNCTION indextable_internal.tuple_pages(header integer, data float8) RETURNS float8
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN (ceil((header + ceil(data)) / 8) * 8 + 4) / (current_setting('block_size')::integer - 24);
COMMENT ON FUNCTION indextable_internal.tuple_pages(integer, float8) IS 'The share of a page that a tuple takes with so many bytes of header and of data';

-- A new B-tree fills nine tenths of its pages.
CREATE FUNCTION indextable_internal.sizes(p indextable_internal.key_profile, n float8, OUT normalized float8, OUT partial float8, OUT denormalized float8, OUT native float8)
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT (ceil(n * indextable_internal.tuple_pages(24, p.ident_bytes)) + ceil(n * i.ident)) * page,
           (ceil(n * indextable_internal.tuple_pages(24, p.entry_bytes)) + ceil(n * i.entry)) * page,
           CASE WHEN p.document_column IS NOT NULL THEN
               (ceil(n * indextable_internal.tuple_pages(24, p.ident_bytes + p.stored_bytes)) + ceil(n * i.ident)) * page END,
           ceil(least(p.keys, n) * i.key + (n - least(p.keys, n)) * CASE WHEN p.equal_once THEN 6 / (page - 24) / 0.9::float8 ELSE i.key END) * page
    FROM (SELECT current_setting('block_size')::float8) b(page),
         LATERAL (SELECT indextable_internal.tuple_pages(8, p.ident_bytes) / 0.9::float8, indextable_internal.tuple_pages(8, p.key_bytes) / 0.9::float8,
                         indextable_internal.tuple_pages(8, CASE WHEN p.covered THEN p.entry_bytes ELSE p.ident_bytes END) / 0.9::float8) i(ident, key, entry);
END;
COMMENT ON FUNCTION indextable_internal.sizes(indextable_internal.key_profile, float8) IS
'The sizes in bytes of new index tables of each strategy, with their indexes, and of a native index, of so many entries';

CREATE FUNCTION indextable_internal.sizes_text(p indextable_internal.key_profile, n float8) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT 'normalized ' || indextable_internal.in_bytes(s.normalized)
           || CASE WHEN p.include IS NULL THEN '' ELSE ', partial ' || indextable_internal.in_bytes(s.partial) END
           || coalesce(', denormalized ' || indextable_internal.in_bytes(s.denormalized), '')
           || CASE WHEN p.multi THEN '' ELSE '; a native index ' || indextable_internal.in_bytes(s.native) END
    FROM indextable_internal.sizes(p, n) s;
END;
COMMENT ON FUNCTION indextable_internal.sizes_text(indextable_internal.key_profile, float8) IS 'The same for people to read';

CREATE FUNCTION indextable_internal.literal(string text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN string ~ '''' AND string !~ E'[$\\\\]' THEN '$$' || string || '$$' ELSE quote_literal(string) END;
COMMENT ON FUNCTION indextable_internal.literal(text) IS 'A text as an SQL literal, in dollar quotes where these are easier to read';

CREATE FUNCTION indextable_internal.literal(strings text[]) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN strings::text !~ E'["''\\\\]' THEN quote_literal(strings::text)
    ELSE 'ARRAY[' || (SELECT string_agg(indextable_internal.literal(x), ', ' ORDER BY n) FROM unnest(strings) WITH ORDINALITY u(x, n)) || ']' END;
COMMENT ON FUNCTION indextable_internal.literal(text[]) IS 'Fields as an SQL literal';

-- A name that is a number is a subscript, too, to #>> but not to ->>.
CREATE FUNCTION indextable_internal.path_sql(document text, path text[], arrows text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN quote_ident(document) || CASE WHEN cardinality(path) = 0 THEN ''
    WHEN cardinality(path) = 1 AND path[1] !~ '^[[:space:]]*[-+]?[0-9]+$' THEN format(' -%s %L', arrows, path[1])
    ELSE format(' #%s %L', arrows, path) END;
COMMENT ON FUNCTION indextable_internal.path_sql(text, text[], text) IS 'What is at a path, as SQL: > as jsonb, >> as text';

CREATE FUNCTION indextable_internal.field_sql(p indextable_internal.key_profile, n integer, as_text boolean) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN p.sources[n] LIKE '(%' OR p.sources[n] IS NOT NULL AND p.types[n] IS NULL THEN p.sources[n]
    WHEN p.sources[n] IS NOT NULL THEN format('(%s)::%s', p.sources[n], p.types[n])
    WHEN p.types[n] = 'jsonb' THEN indextable_internal.path_sql(p.document_column, p.paths[n]::text[], '>')
    WHEN as_text OR p.types[n] IS NULL THEN indextable_internal.path_sql(p.document_column, p.paths[n]::text[], '>>')
    ELSE format('(%s)::%s', indextable_internal.path_sql(p.document_column, p.paths[n]::text[], '>>'), p.types[n]) END;
COMMENT ON FUNCTION indextable_internal.field_sql(indextable_internal.key_profile, integer, boolean) IS
'The nth field of a key as SQL, or the text that is cast to it';

CREATE FUNCTION indextable_internal.index_columns(p indextable_internal.key_profile) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT string_agg(CASE WHEN p.sources[n] LIKE '(%' OR p.sources[n] IS NOT NULL AND p.types[n] IS NULL THEN p.sources[n]
                           ELSE '(' || indextable_internal.field_sql(p, n, false) || ')' END || coalesce(' COLLATE ' || quote_ident(p.collations[n]), ''), ', ' ORDER BY n)
    FROM generate_series(1, cardinality(p.key)) n;
END;
COMMENT ON FUNCTION indextable_internal.index_columns(indextable_internal.key_profile) IS 'A key as the columns of a native index';

-- Filters compare texts: a cast would fail for a value that does not fit.
CREATE FUNCTION indextable_internal.common_sql(p indextable_internal.key_profile, nth integer) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT string_agg(CASE WHEN k.keys > 1 THEN indextable_internal.field_sql(p, n, true) || ' = ' ELSE '' END
                      || CASE WHEN p.types[n] = 'boolean' AND coalesce(p.sources[n] LIKE '(%', true) THEN CASE v.value WHEN 't' THEN '''true''' ELSE '''false''' END
                              ELSE quote_literal(v.value) END, ' AND ' ORDER BY n)
    FROM (SELECT cardinality(p.key)) k(keys), generate_series(1, k.keys) n, LATERAL (SELECT p.common_values[(nth - 1) * k.keys + n]) v(value);
END;
COMMENT ON FUNCTION indextable_internal.common_sql(indextable_internal.key_profile, integer) IS
'The nth of the most common keys as a literal; if the key has several fields, as a condition';

CREATE FUNCTION indextable_internal.common_keys(p indextable_internal.key_profile) RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN ARRAY(
    SELECT string_agg('"' || left(v.value, 40) || CASE WHEN length(v.value) > 40 THEN '...' ELSE '' END || '"', ', ' ORDER BY u.n)
    FROM unnest(p.common_values) WITH ORDINALITY u(value, n), LATERAL (SELECT regexp_replace(u.value, E'[\\u0001-\\u001f]', ' ', 'g')) v(value)
    GROUP BY (u.n - 1) / cardinality(p.key) ORDER BY (u.n - 1) / cardinality(p.key));
COMMENT ON FUNCTION indextable_internal.common_keys(indextable_internal.key_profile) IS 'The most common keys, for people to read';

-- It asks for the key of an entry that was chosen at random.
CREATE FUNCTION indextable_internal.found(p indextable_internal.key_profile, without integer) RETURNS float8
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT CASE WHEN p.sampled > 1 AND p.sampled_entries > c.entries THEN greatest(p.pairs - c.pairs, 0) / (p.sampled_entries - c.entries) / (p.sampled - 1) ELSE 0 END
    FROM (SELECT coalesce(sum(n), 0), coalesce(sum(n * (n - 1)), 0) FROM unnest(p.common_counts[1:without]) n) c(entries, pairs);
END;
COMMENT ON FUNCTION indextable_internal.found(indextable_internal.key_profile, integer) IS
'The share of the documents that a look-up finds, by any but so many of the most common keys';

-- Other statements of the same advice may want the same name: each takes another.
CREATE FUNCTION indextable_internal.free_name(fact_table regclass, names text[], nth bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT quote_ident(f.name)
    FROM pg_class t,
         LATERAL (SELECT t.relname || '_by_' || array_to_string(names, '_')) b(base),
         LATERAL (SELECT n, CASE n WHEN 1 THEN '' ELSE '_' || n END
                  FROM generate_series(1, nth + (SELECT count(*) FROM pg_class o WHERE o.relnamespace = t.relnamespace AND starts_with(o.relname::text, left(b.base, 10)))) n) s(n, suffix),
         LATERAL (SELECT left(b.base, chars) || s.suffix FROM generate_series(1, length(b.base)) chars
                  WHERE octet_length(left(b.base, chars) || s.suffix) <= current_setting('max_identifier_length')::integer
                  ORDER BY chars DESC LIMIT 1) f(name)
    WHERE t.oid = fact_table AND NOT EXISTS (SELECT FROM pg_class o WHERE o.relnamespace = t.relnamespace AND o.relname = f.name::name)
    ORDER BY s.n OFFSET nth - 1 LIMIT 1;
END;
COMMENT ON FUNCTION indextable_internal.free_name(regclass, text[], bigint) IS
'A name for an index table that no table has, quoted: the fact table''s with the key''s, and a number if that is taken';

-- The numbers in it:
-- A look-up that finds more than a tenth of the documents might as well read all of them: if a block holds twelve documents
-- of 600 bytes, a tenth of the documents is in 1 - 0.9^12 = 72 % of the blocks. A filter may leave three values out to come
-- below that share. If half of the values do not fit the field's type, the type is wrong.
-- A look-up that finds fewer than two rows and then reads the documents is faster with a native index: lookup() takes a third
-- longer. Entries with three fields are read in a third of the time that documents take that are ten times as wide. An insert
-- costs 2.3 times as much as with a native index (all test/bench/results.md).
-- If each document has been updated five times, and more often than the table was read, the key may change too often for an
-- index: this is a judgement, not a measurement. Each update and each delete needs a scan to find its row, which is no read for
-- its own sake.
--
-- It asks in this order: whether the documents have the key at all, whether the key tells documents apart, whether it seldom
-- changes, and then which kind of index serves it best.  A no to one question makes the next one pointless.
CREATE FUNCTION indextable_internal.verdict(p indextable_internal.key_profile, nth bigint, OUT kind text, OUT strategy text, OUT maintenance text, OUT is_unique boolean, OUT reasons text[], OUT filter text, OUT entries float8, OUT statement text, OUT condition text, OUT alternative text)
LANGUAGE sql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT v.kind, v.strategy, v.maintenance, v.differs,
        array_remove(
            CASE c.branch
            WHEN 'few' THEN ARRAY[indextable_internal.too_few(p.documents, p.document_bytes)]
            WHEN 'misfit' THEN ARRAY[
                indextable_internal.in_percent(p.mismatching::float8 / c.valued) || ' of the values do not fit' || coalesce(': ' || p.mismatch, '.'),
                'Use another type, as text, or correct the documents.']
            WHEN 'absent' THEN ARRAY[CASE WHEN p.filtered = p.sampled
                THEN format('None of the %s rows that were looked at passes the filter.', indextable_internal.in_count(p.sampled))
                ELSE format('None of the %s documents that were looked at has a value there. Case matters in paths.',
                            indextable_internal.in_count(p.sampled - p.filtered)) END
                || coalesce((SELECT string_agg(CASE a.attname::text WHEN p.document_column THEN format(' Paths begin within %I, so leave that out.', a.attname)
                                               ELSE format(' The column of this name is written @%I.', a.attname) END, '' ORDER BY a.attnum)
                             FROM unnest(p.paths) f(path), pg_attribute a
                             WHERE a.attrelid = p.fact_table AND a.attnum > 0 AND a.attname::text = (f.path::text[])[1]), '')]
            WHEN 'poor' THEN ARRAY[
                format('%s of the documents have the value %s.', indextable_internal.in_percent(p.common_counts[1] / p.sampled), (indextable_internal.common_keys(p))[1]),
                CASE v.kind
                WHEN 'filter' THEN format('A look-up of %s reads so much that it might as well read all, and every insert pays for the entry.',
                                          CASE c.leave WHEN 1 THEN 'it' ELSE 'the commonest values' END)
                WHEN 'index_table' THEN format('Its few values do not tell documents apart; but entries with the included fields have %s, documents %s.',
                                               indextable_internal.in_bytes(p.entry_bytes), indextable_internal.in_bytes(p.document_bytes))
                ELSE format('A look-up finds %s of the documents on average: reading all of them takes about as long.',
                            indextable_internal.in_percent(indextable_internal.found(p, 0))) END,
                CASE v.kind
                WHEN 'filter' THEN format('Without %s the index table has %s of the entries, and a look-up finds %s of the documents.',
                                          CASE c.leave WHEN 1 THEN 'it' ELSE format('the %s commonest', c.leave) END,
                                          indextable_internal.in_percent(1 - v.left_out / p.sampled_entries), indextable_internal.in_percent(indextable_internal.found(p, c.leave)))
                WHEN 'index_table' THEN 'What is answered from entries alone is worth it. What goes on to read documents is not.'
                ELSE 'Add a field to the key that tells them apart, or do without an index.' END]
            ELSE
                CASE
                WHEN v.changes THEN ARRAY[
                    format('Each document was updated %s times, more often than the table was read, and the field is a number.',
                           to_char(t.updates / p.documents, 'FM99999999990.0')),
                    'If it is what these updates change, do not build one, nor an index: every update would move an entry.',
                    'Statistics do not tell which field changes. If it is needed all the same: async, off the writers'' hands.']
                WHEN p.partitions IS NOT NULL THEN ARRAY[
                    format('The table has %s partitions, and a local index would be searched in each; this is one for all.', p.partitions),
                    CASE WHEN v.differs THEN 'No value was met twice: it can be unique over all partitions, if it is meant to be.' END]
                WHEN c.single AND v.kind = 'index_table' THEN ARRAY[
                    format('Documents are updated, %s of these updates are HOT, and an index on the expression would end that.',
                           indextable_internal.in_percent(t.hot_updates::float8 / t.updates)),
                    'An index table leaves them HOT as long as this field stays as it is.']
                WHEN c.single THEN ARRAY[
                    format('A look-up finds %s documents, in one table, and goes on to read them.', to_char(c.rows, 'FM99999999990.0')),
                    format('A native index goes straight to the row, and is smaller (%s against %s); an insert into an index table costs 2.3 times as much.',
                           indextable_internal.in_bytes(s.native), indextable_internal.in_bytes(s.normalized))]
                WHEN p.multi AND (SELECT count(*) FROM unnest(p.key) f WHERE strpos(f, '[*]') > 0) > 1 THEN ARRAY[
                    'Conditions on these fields of one element are searched together; GIN finds the documents that have the values in any elements.']
                WHEN p.multi THEN ARRAY['Documents that have an element come in the order of the key, a page at a time; GIN has no order.']
                WHEN NOT p.shows_fields THEN ARRAY[
                    format('A look-up finds about %s of %s documents; queries that count, or show only the key, read entries alone.',
                           indextable_internal.in_count(c.rows), indextable_internal.in_count(p.documents)),
                    CASE WHEN c.rows >= 2 OR c.possible THEN NULL
                         WHEN p.mismatching > 0 THEN 'An index on the expression cannot be made: it would refuse values that do not fit.'
                         ELSE 'An index on the expression cannot be made: its cast is not immutable.' END]
                ELSE '{}' END
                || ARRAY[
                CASE WHEN v.kind <> 'index_table' THEN NULL
                     WHEN p.shows_fields THEN
                         format('An entry with the included fields has %s, a document %s: queries that show no other field do not read documents.',
                                indextable_internal.in_bytes(p.entry_bytes), indextable_internal.in_bytes(p.document_bytes))
                     WHEN p.wide THEN format('Documents are wide, %s: ask again with include, for the fields that queries read.',
                                             indextable_internal.in_bytes(p.document_bytes)) END,
                CASE WHEN v.kind = 'index_table' AND NOT p.shows_fields AND NOT p.hinted AND NOT v.changes AND t.updates < p.documents THEN
                    'Rows are seldom updated: with @ctid included, a look-up that reads documents takes about half the time.' END,
                CASE WHEN p.include IS NOT NULL AND NOT p.covered THEN 'Some entries are too wide for the index, and are read from the table: include less.' END,
                CASE WHEN 1 - p.with_entries::float8 / p.sampled >= 0.9 THEN
                    format('%s of the rows have no entry: the index table is small, and they pay next to nothing.',
                           indextable_internal.in_percent(1 - p.with_entries::float8 / p.sampled)) END]
            END
            || CASE WHEN v.whole THEN
                format('With the included fields an entry has most of the document''s %s: it may as well have all.',
                       indextable_internal.in_bytes(p.document_bytes)) END
            || CASE WHEN v.kind IN ('filter', 'index_table') THEN
                ARRAY(SELECT format('None of the documents that were looked at has the included field "%s".', f) FROM unnest(p.include, p.included) u(f, met) WHERE NOT met) END
            || CASE WHEN v.kind IN ('filter', 'index_table') AND p.mismatching > 0 THEN
                indextable_internal.in_percent(p.mismatching::float8 / c.valued) || ' of the values do not fit and would be skipped' || coalesce(': ' || p.mismatch, '.') END
            || ARRAY(SELECT format('The index table %s has this key already.', x) FROM unnest(p.same) x), NULL),
        f.filter,
        CASE WHEN p.sampled_entries > 0 THEN p.entries * (p.sampled_entries - v.left_out) / p.sampled_entries ELSE 0 END,
        CASE v.kind WHEN 'native_index' THEN q.native WHEN 'filter' THEN q.made WHEN 'index_table' THEN q.made END,
        CASE WHEN v.kind = 'native_index' THEN 'if queries only count or list the keys:'
             WHEN v.kind NOT IN ('filter', 'index_table') THEN NULL
             WHEN p.multi THEN 'for documents that contain several elements at once, in no order:'
             WHEN v.other THEN 'if all queries read the documents that they find:' END,
        CASE WHEN v.kind = 'native_index' THEN q.made
             WHEN v.kind NOT IN ('filter', 'index_table') THEN NULL
             WHEN p.multi THEN format('CREATE INDEX ON %s USING gin (%s);', p.fact_name, g.gin_column)
             WHEN v.other THEN q.native END
    FROM indextable_internal.table_counts(p.fact_table) t,
         indextable_internal.sizes(p, p.entries) s,
         LATERAL (SELECT p.with_entries + p.mismatching AS valued,
                         p.entries / nullif(p.keys, 0) AS rows,
                         p.partitions IS NULL AND NOT p.multi AND p.mismatching = 0 AND p.immutable AS possible,
                         t.updates >= 5 * p.documents AND t.updates > t.scans - t.updates - t.deletes AND p.numbers > p.sampled_entries / 2 AS changes) a,
         LATERAL (SELECT a.*,
                         CASE WHEN p.documents < 1000 THEN 'few' WHEN p.mismatching > a.valued * 0.5 THEN 'misfit' WHEN p.sampled_entries = 0 THEN 'absent'
                              WHEN indextable_internal.found(p, 0) > 0.1 THEN 'poor' ELSE 'selective' END AS branch,
                         NOT a.changes AND a.possible AND NOT p.shows_fields AND a.rows < 2 AS single,
                         -- so many of the most common keys are to be left out
                         CASE WHEN NOT p.multi THEN
                             (SELECT min(n) FROM generate_series(1, least(3, cardinality(p.common_counts))) n
                              WHERE indextable_internal.found(p, n) <= 0.1 AND p.sampled_entries > (SELECT sum(x) FROM unnest(p.common_counts[1:n]) x)) END AS leave) c,
         LATERAL (SELECT CASE c.branch
                         WHEN 'few' THEN 'undecided'
                         WHEN 'poor' THEN CASE WHEN c.leave IS NOT NULL THEN 'filter'
                                               WHEN p.shows_fields AND p.document_bytes >= 10 * p.entry_bytes THEN 'index_table' ELSE 'none' END
                         WHEN 'selective' THEN CASE WHEN c.single AND NOT (t.updates >= p.documents AND t.hot_updates > t.updates / 2)
                                                    THEN 'native_index' ELSE 'index_table' END
                         ELSE 'none' END AS kind) k,
         LATERAL (SELECT k.kind = 'index_table' AND p.shows_fields AND p.entry_bytes > 0.5 * p.document_bytes AND p.inline AND p.document_column IS NOT NULL AS whole) w,
         LATERAL (SELECT k.kind,
                         c.branch = 'selective' AND c.changes AS changes,
                         c.branch = 'selective' AND NOT c.changes AND p.partitions IS NOT NULL AND p.all_differ AND NOT p.multi AND NOT p.shows_fields AS differs,
                         w.whole, CASE WHEN w.whole THEN 'denormalized' WHEN p.include IS NOT NULL THEN 'partial' ELSE 'normalized' END AS strategy,
                         CASE WHEN c.branch = 'selective' AND c.changes THEN 'async' ELSE 'transactional' END AS maintenance,
                         c.possible AND NOT p.shows_fields AND NOT (c.branch = 'selective' AND c.changes) AS other,
                         CASE k.kind WHEN 'filter' THEN (SELECT sum(x) FROM unnest(p.common_counts[1:c.leave]) x) ELSE 0 END AS left_out) v,
         LATERAL (SELECT indextable_internal.field_sql(p, 1, true) AS first_text,
                         CASE WHEN p.paths[p.array_field] IS NULL THEN p.sources[p.array_field]
                         ELSE format(CASE p.paths[p.array_field] WHEN '{}' THEN '%s jsonb_path_ops' ELSE '(%s) jsonb_path_ops' END,
                                     indextable_internal.path_sql(p.document_column, p.paths[p.array_field]::text[], '>')) END AS gin_column) g,
         LATERAL (SELECT CASE WHEN k.kind <> 'filter' THEN p.filter ELSE coalesce('(' || p.filter || ') AND ', '')
                         || CASE WHEN cardinality(p.key) > 1 THEN (SELECT string_agg('NOT (' || indextable_internal.common_sql(p, n) || ')', ' AND ' ORDER BY n) FROM generate_series(1, c.leave) n)
                            WHEN c.leave = 1 THEN g.first_text || ' <> ' || indextable_internal.common_sql(p, 1)
                            ELSE g.first_text || ' NOT IN (' || (SELECT string_agg(indextable_internal.common_sql(p, n), ', ' ORDER BY n) FROM generate_series(1, c.leave) n) || ')' END END AS filter) f,
         LATERAL (SELECT indextable_internal.literal(indextable_internal.free_name(p.fact_table, p.names, nth)) || ', ' || indextable_internal.literal(p.fact_name) AS tables) n,
         -- a line has room for 86 characters
         LATERAL (SELECT ARRAY[
                         n.tables || CASE WHEN length(n.tables || indextable_internal.literal(p.key)) > 57 THEN E',\n    ' ELSE ', ' END || indextable_internal.literal(p.key),
                         CASE WHEN v.whole THEN 'strategy => ''denormalized''' ELSE 'include => ' || indextable_internal.literal(p.include) END,
                         'filter => ' || indextable_internal.literal(f.filter),
                         CASE WHEN v.changes THEN 'maintenance => ''async''' END,
                         CASE WHEN v.differs THEN 'is_unique => true' END,
                         CASE WHEN p.missing > (p.sampled - p.filtered) * 0.5 AND NOT (v.differs OR p.multi) THEN 'sparse => true' END,
                         CASE WHEN p.mismatching > 0 THEN 'on_mismatch => ''skip''' END,
                         'document => ' || indextable_internal.literal(p.document),
                         'primary_key => ' || indextable_internal.literal(p.primary_key)] AS options) o,
         LATERAL (SELECT 'CREATE INDEX ON ' || p.fact_name || ' (' || indextable_internal.index_columns(p) || ')'
                         || coalesce(' WHERE ' || coalesce(f.filter, CASE WHEN p.missing > p.sampled * 0.9 THEN g.first_text || ' IS NOT NULL' END), '') || ';' AS native,
                         'SELECT indextable.create(' || array_to_string(o.options, CASE WHEN length(array_to_string(o.options, ', ')) > 60 THEN E',\n    ' ELSE ', ' END) || ');' AS made) q;
END;
COMMENT ON FUNCTION indextable_internal.verdict(indextable_internal.key_profile, bigint) IS
'What to advise on a key: undecided, none, native_index, filter (an index table that leaves common values out) or index_table, of which kind, why, and the statement to run; its name is the nth that is free';

CREATE FUNCTION indextable_internal.reason_against(p indextable_internal.key_profile, is_async boolean, OUT reason text, OUT filter text)
LANGUAGE sql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT CASE WHEN v.kind IN ('none', 'filter') OR v.maintenance = 'async' AND NOT is_async THEN array_to_string(v.reasons[1:2], ' ') END,
           CASE WHEN v.kind = 'filter' THEN v.filter END
    FROM indextable_internal.verdict(p, 1) v;
END;
COMMENT ON FUNCTION indextable_internal.reason_against(indextable_internal.key_profile, boolean) IS
'Why an index table may cost more than it saves, NULL if it may not, and the filter that would mend that';


CREATE FUNCTION indextable_internal.kind_text(kind text, separator text, strategy text, maintenance text, is_unique boolean) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN CASE kind WHEN 'native_index' THEN 'a native index'
    ELSE CASE kind WHEN 'filter' THEN 'an index table with a filter' ELSE 'an index table' END || separator || strategy || ', ' || maintenance
         || CASE WHEN is_unique THEN ', unique' ELSE '' END END;
COMMENT ON FUNCTION indextable_internal.kind_text(text, text, text, text, boolean) IS 'What is advised, for people to read';

CREATE FUNCTION indextable_internal.advise_key(p indextable_internal.key_profile, OUT topic text, OUT advice text) RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL RESTRICTED ROWS 20 SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT line.topic, line.advice
    FROM indextable_internal.verdict(p, 1) v, indextable_internal.table_counts(p.fact_table) t,
         LATERAL (
        VALUES (1, 1::bigint, 'documents', indextable_internal.documents_text(p.documents, p.document_bytes, p.partitions, p.complete, p.sampled)),
               (2, 1, '', CASE WHEN p.sampled > 0 THEN
                   CASE WHEN p.filtered > 0 THEN indextable_internal.in_percent(p.filtered::float8 / p.sampled) || ' filtered out, ' ELSE '' END
                   || indextable_internal.in_percent(p.missing::float8 / p.sampled) || ' without a value'
                   || CASE WHEN p.mismatching > 0 THEN ', ' || indextable_internal.in_percent(p.mismatching::float8 / p.sampled) || ' with one that does not fit' ELSE '' END
                   || CASE WHEN p.multi THEN '; ' || to_char(coalesce(p.sampled_entries::float8 / nullif(p.with_entries, 0), 0), 'FM999990.0') || ' entries for each of the others' ELSE '' END END),
               (3, 1, 'keys', CASE WHEN p.sampled_entries > 0 THEN
                   CASE WHEN p.complete THEN '' ELSE 'about ' END || indextable_internal.in_count(p.keys) || ' of ' || indextable_internal.in_bytes(p.key_bytes) || '; '
                   || CASE WHEN p.entries < 10 * p.keys THEN to_char(p.entries / p.keys, 'FM990.0') ELSE indextable_internal.in_count(p.entries / p.keys) END || ' documents to a key' END),
               (5, 1, 'use', CASE WHEN p.sampled_entries > 0 THEN
                   to_char(t.updates / p.documents, 'FM99999999990.00') || ' updates of each document, '
                   || indextable_internal.in_percent(coalesce(t.hot_updates::float8 / nullif(t.updates, 0), 0)) || ' of them HOT; scanned '
                   || indextable_internal.in_count(t.scans) || CASE t.scans WHEN 1 THEN ' time' ELSE ' times' END
                   || coalesce(', since ' || to_char(t.since, 'YYYY-MM-DD'), '') END),
               (6, 1, 'size', CASE WHEN p.sampled_entries > 0 THEN indextable_internal.sizes_text(p, p.entries) END),
               (7, 1, '', CASE WHEN v.kind = 'filter' THEN 'with the filter below: ' || indextable_internal.sizes_text(p, v.entries) END),
               (8, 1, 'writes', CASE WHEN p.sampled_entries = 0 THEN NULL
                   WHEN p.multi THEN 'times GIN: insert 1.9, if async 0.2; a delete, which costs that nothing, as much as 1.8 of its inserts'
                   ELSE 'times a native index: insert 2.3, update 0.4, of the key 1.7; if async 0.4, 0.3, 0.4; '
                        'a delete, which costs that nothing, as much as 1.9 of its inserts' END),
               (9, 1, 'advice', CASE v.kind WHEN 'undecided' THEN 'undecided' WHEN 'none' THEN 'do without' 
                   ELSE indextable_internal.kind_text(v.kind, ': ', v.strategy, v.maintenance, v.is_unique) END),
               (11, 1, 'do', v.statement),
               (12, 1, 'or', v.condition),
               (13, 1, '', v.alternative)
        UNION ALL
        SELECT 4, n, '', lpad(to_char(100 * c / p.sampled, 'FM990.0'), 5) || ' % ' || rpad(indextable_internal.bar(c / p.sampled), 20) || ' ' || k
        FROM ROWS FROM (unnest(p.common_counts), unnest(indextable_internal.common_keys(p))) WITH ORDINALITY common(c, k, n) WHERE c > 1
        UNION ALL
        SELECT 10, n, '', r FROM unnest(v.reasons) WITH ORDINALITY reasons(r, n)) line(part, n, topic, advice)
    WHERE line.advice IS NOT NULL
    ORDER BY line.part, line.n;
END;
COMMENT ON FUNCTION indextable_internal.advise_key(indextable_internal.key_profile) IS 'What advise() says of a key';

CREATE FUNCTION indextable_internal.profile_columns(p indextable_internal.key_profile,
    OUT documents bigint, OUT sampled bigint, OUT partitions integer, OUT document_bytes float8, OUT filtered float8, OUT missing float8,
    OUT mismatching float8, OUT entries_per_document float8, OUT entries bigint, OUT keys bigint, OUT found float8, OUT common_keys text[],
    OUT common_shares float8[], OUT key_bytes float8, OUT entry_bytes float8, OUT inserts bigint, OUT updates bigint, OUT hot_updates bigint,
    OUT deletes bigint, OUT scans bigint, OUT since timestamptz, OUT normalized_size bigint, OUT partial_size bigint, OUT denormalized_size bigint,
    OUT native_size bigint, OUT insert_cost float8, OUT verdict text, OUT strategy text, OUT maintenance text, OUT is_unique boolean,
    OUT reasons text[], OUT statement text, OUT alternative text)
LANGUAGE sql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT trunc(p.documents)::bigint, p.sampled, coalesce(p.partitions, 1), p.document_bytes, coalesce(p.filtered / n.rows, 0), coalesce(p.missing / n.rows, 0),
           coalesce(p.mismatching / n.rows, 0), coalesce(p.sampled_entries::float8 / nullif(p.with_entries, 0), 0), trunc(p.entries)::bigint,
           trunc(p.keys)::bigint, indextable_internal.found(p, 0), indextable_internal.common_keys(p), ARRAY(SELECT c / n.rows FROM unnest(p.common_counts) WITH ORDINALITY u(c, i) ORDER BY i),
           p.key_bytes, p.entry_bytes, t.inserts, t.updates, t.hot_updates, t.deletes, t.scans, t.since,
           s.normalized::bigint, s.partial::bigint, s.denormalized::bigint, s.native::bigint, CASE WHEN p.multi THEN 1.9 ELSE 2.3 END::float8, v.kind,
           CASE WHEN x.made THEN v.strategy END, CASE WHEN x.made THEN v.maintenance END, CASE WHEN x.made THEN v.is_unique END,
           v.reasons, v.statement, v.alternative
    FROM indextable_internal.verdict(p, 1) v, indextable_internal.table_counts(p.fact_table) t, indextable_internal.sizes(p, p.entries) s,
         LATERAL (SELECT v.kind IN ('filter', 'index_table')) x(made), LATERAL (SELECT nullif(p.sampled, 0)::float8) n(rows);
END;
COMMENT ON FUNCTION indextable_internal.profile_columns(indextable_internal.key_profile) IS 'What profile() returns of a key';

CREATE FUNCTION indextable_internal.judge_key(fact_table regclass, fact_name text, key text[], document name, sample_rows integer) RETURNS indextable_internal.key_profile
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'indextable_judge_key';
COMMENT ON FUNCTION indextable_internal.judge_key(regclass, text, text[], name, integer) IS 'The numbers of a key';

CREATE FUNCTION indextable_internal.field_parts(field text, with_type boolean, OUT path text, OUT name text, OUT type regtype, OUT spelled text)
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'indextable_field_parts';
COMMENT ON FUNCTION indextable_internal.field_parts(text, boolean) IS
'The path of a field, the name of its last member, and its type, which is spelled so in fields: text if it has none or is not asked for; NULL: it cannot be a field, or has no path';

CREATE FUNCTION indextable_internal.index_serves(index regclass, document smallint, field text, of_type regtype) RETURNS boolean
LANGUAGE C STABLE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'indextable_index_serves';
COMMENT ON FUNCTION indextable_internal.index_serves(regclass, smallint, text, regtype) IS 'Whether an index serves look-ups by a field of this type; NULL: of any';

CREATE FUNCTION indextable_internal.served_by(fact_table regclass, document name, field text, of_type boolean) RETURNS text
LANGUAGE sql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT s.by FROM (
        SELECT 1, t.index_table::oid, format('the index table %s%s%s%s', t.index_table, CASE WHEN t.filter IS NOT NULL THEN ', for rows that pass its filter' END,
                                             ', which is ' || nullif(t.state, 'active'), CASE t.maintenance WHEN 'async' THEN ', asynchronously' END)
        FROM indextable.index_tables t, indextable_internal.field_parts(field, true) f
        WHERE t.fact_table = served_by.fact_table AND t.document = served_by.document AND t.strategy <> 'totals'
          AND (indextable_internal.field_parts(t.key[1], false)).path = f.path
          AND (NOT of_type OR EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = t.index_table AND a.attnum = 1 AND a.atttypid = f.type))
        UNION ALL
        SELECT 2, i.indexrelid, format('the index %s%s', i.indexrelid::regclass, CASE WHEN i.indpred IS NOT NULL THEN ', for rows that pass its condition'
                                                                                      WHEN m.amname = 'gin' THEN ', in no order' END)
        FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
             JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attname = served_by.document, indextable_internal.field_parts(field, true) f
        WHERE i.indrelid = served_by.fact_table AND i.indisvalid AND i.indislive
          AND indextable_internal.index_serves(i.indexrelid, a.attnum, field, CASE WHEN of_type THEN f.type END)) s(kind, oid, by)
    ORDER BY s.kind, s.oid LIMIT 1;
END;
COMMENT ON FUNCTION indextable_internal.served_by(regclass, name, text, boolean) IS
'The index table or index that has a field as its first, for people to read; its type is to be as given, or any';

-- A column cannot have every name that a member has: none, one that is too long, that of a system column, or of one of the primary key.
-- Then it is named after what the member is in, too.
CREATE FUNCTION indextable_internal.field_at(document name, primary_key name[], field text, OUT path text, OUT field_as text, OUT text_as text, OUT name text)
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT f.path, f.path || CASE f.spelled WHEN 'text' THEN '' ELSE '::' || f.spelled END || coalesce(' AS ' || quote_ident(n.as), ''), f.path || coalesce(' AS ' || quote_ident(n.as), ''), coalesce(n.as, f.name)
    FROM indextable_internal.field_parts(field, true) f
         CROSS JOIN LATERAL indextable_internal.field_parts(substring(f.path FROM '^(.+)\.[^."]+$'), false) above
         CROSS JOIN LATERAL (SELECT CASE WHEN f.name <> '' AND octet_length(f.name) <= current_setting('max_identifier_length')::integer AND f.name <> ALL (primary_key)
                                   AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = 'pg_class'::regclass AND a.attnum < 0 AND a.attname = f.name) THEN NULL
                         ELSE (SELECT o.name::name
                               FROM generate_series(0, cardinality(primary_key)) i, LATERAL (SELECT repeat('field_', i) || coalesce(nullif(above.name, ''), document) || '_' || coalesce(nullif(f.name, ''), 'value')) o(name)
                               WHERE o.name <> ALL (primary_key) ORDER BY i LIMIT 1) END) n("as");
END;
COMMENT ON FUNCTION indextable_internal.field_at(name, name[], text) IS
'A field as create() takes it, with its type and as text; NULL: it cannot be a field';

CREATE FUNCTION indextable_internal.survey(fact_table regclass, document name, sample_rows integer,
    OUT path text, OUT type text, OUT rows bigint, OUT scalars bigint, OUT bytes bigint, OUT element_rows bigint, OUT differing float8, OUT multi boolean,
    OUT map boolean, OUT not_followed boolean, OUT full_up boolean, OUT documents float8, OUT document_bytes float8, OUT complete boolean, OUT sampled bigint,
    OUT objects bigint, OUT partitions integer, OUT queries_shown boolean, OUT document_column name, OUT primary_key name[]) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'indextable_survey';
COMMENT ON FUNCTION indextable_internal.survey(regclass, name, integer) IS
'The places that a sample of the documents has values at, the root first; from full_up on, of all documents: queries_shown is NULL if what they ask for is not counted';

CREATE FUNCTION indextable_internal.names_text(names text[]) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN array_to_string(names[1:10], ', ') || CASE WHEN cardinality(names) > 10 THEN format(', and %s more', cardinality(names) - 10) ELSE '' END;
COMMENT ON FUNCTION indextable_internal.names_text(text[]) IS 'Some names, for people to read';

-- Fields are those by which queries have filtered without an index table, as the planner counts them, and those that a sample of
-- the documents has. Of the types that queries give a field, the one that serves the others, too, stands for them: integers serve
-- other numbers, a numeric serves doubles, and any type the equality of texts and of JSON. The 15 that seem to be of most use are judged, what queries filter by most often first, and ten are shown.
-- How useful a field may be, its score, only says what to judge first: what most documents have and what tells them apart.
-- A text that is longer than 100 bytes is there to be read, not to be searched for; with fewer than ten different values a
-- look-up finds too much, unless others are rare; and if nearly all differ, a native index is as good.
CREATE FUNCTION indextable_internal.advise_fields(fact_table regclass, fact_name text, document name, sample_rows integer, OUT topic text, OUT advice text) RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 20 SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH place AS MATERIALIZED (SELECT * FROM indextable_internal.survey(fact_table, document, sample_rows) WITH ORDINALITY),
    sample AS MATERIALIZED (
        SELECT *, indextable_internal.too_few(documents, document_bytes) AS few FROM place WHERE ordinality = 1),
    counted AS MATERIALIZED (SELECT m.* FROM indextable.missed m, sample WHERE m.fact_table = advise_fields.fact_table AND few IS NULL),
    missed AS MATERIALIZED (SELECT * FROM counted WHERE condition <> 'index'),
    -- indexes on index tables, unless the table is gone, or has one like it by now
    lacking AS MATERIALIZED (
        SELECT m.field, m.planned, x.is_absent, row_number() OVER (ORDER BY m.planned DESC, m.field) AS place
        FROM counted m JOIN (indextable.index_tables t JOIN pg_class c ON c.oid = t.index_table JOIN pg_namespace n ON n.oid = c.relnamespace)
                 ON t.fact_table = m.fact_table AND starts_with(m.field, format('%I.%I USING ', n.nspname, c.relname)),
             LATERAL (SELECT m.field LIKE '% gin_trgm_ops)' AND NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm')) x(is_absent)
        WHERE m.condition = 'index' AND m.document = coalesce(advise_fields.document, m.document)
          AND NOT EXISTS (SELECT FROM unnest(t.own_indexes) i
                          WHERE regexp_replace(substring(pg_get_indexdef(i) FROM ' ON (.*)'), '[^ ]+\.(\w+)\)$', '\1)')
                                = regexp_replace(m.field, '[^ ]+\.(\w+)\)$', '\1)'))
        ORDER BY place LIMIT 5),
    spelled AS MATERIALIZED (
        SELECT m.field, p.path, sum(m.planned) AS planned, bool_and(m.condition <> 'range') AS equal, coalesce(sum(m.planned) FILTER (WHERE m.condition = 'range'), 0) AS ranges,
               coalesce(array_position('{smallint,integer,bigint,numeric,double precision,real}', p.type), CASE p.type WHEN 'text'::regtype THEN 8 WHEN 'jsonb'::regtype THEN 9 ELSE 7 END) AS place
        FROM missed m, LATERAL indextable_internal.field_parts(m.field, true) p
        WHERE m.document = coalesce(advise_fields.document, m.document) GROUP BY 1, 2, p.type),
    asked AS MATERIALIZED (
        SELECT m.n, m.planned, m.ranges > m.planned / 2 AS range, f.*
        FROM (SELECT by.field, sum(x.planned) AS planned, sum(x.ranges) AS ranges, row_number() OVER (ORDER BY by.field) - 10000 AS n
              FROM spelled x, LATERAL (
                  SELECT y.field FROM spelled y
                  WHERE y.field = x.field OR (y.path = x.path AND y.place < x.place AND (
                      (y.place <= 3 AND x.place <= 6) OR (y.field LIKE '%::numeric' AND x.place = 5) OR (x.place >= 8 AND x.equal AND strpos(x.path, '[*]') = 0)))
                  ORDER BY y.place, y.field LIMIT 1) by
              GROUP BY 1) m, sample s,
             LATERAL indextable_internal.field_at(s.document_column, s.primary_key, m.field) f WHERE f.path IS NOT NULL),
    -- what queries ask of the elements of one array goes into one key: at most three fields, those of ranges last
    wanted AS MATERIALIZED (
        SELECT n, planned, path, ARRAY[field_as] AS key, ARRAY[text_as] AS text_key FROM asked WHERE strpos(path, '[*]') = 0
        UNION ALL
        SELECT (array_agg(n ORDER BY place))[1], max(planned), (array_agg(path ORDER BY place))[1], array_agg(field_as ORDER BY place), array_agg(text_as ORDER BY place)
        FROM (SELECT *, row_number() OVER (PARTITION BY elements ORDER BY range, planned DESC, n) AS place
              FROM (SELECT DISTINCT ON (elements, name) * FROM (SELECT *, substring(path FROM '^.*\[\*\]') AS elements FROM asked) a WHERE elements IS NOT NULL
                    ORDER BY elements, name, range, planned DESC, n) d) e
        WHERE place <= 3 GROUP BY elements),
    candidate AS MATERIALIZED (
        SELECT a.*, indextable_internal.served_by(fact_table, sample.document_column, a.key[1], a.planned > 0) AS served,
               CASE WHEN p.differing < 1.5 OR p.bytes > 100 * p.scalars THEN 0
                    ELSE p.rows::float8 / p.sampled * CASE WHEN p.differing < 10 THEN 0.3 ELSE 1 END
                         * CASE WHEN p.differing > 0.9 * p.scalars AND coalesce(p.partitions, 1) = 1 AND NOT p.multi THEN 0.2 ELSE 1 END END AS score
        FROM (SELECT * FROM wanted
              UNION ALL
              SELECT p.ordinality, 0, f.path, ARRAY[f.field_as], ARRAY[f.text_as]
              FROM place p, sample, LATERAL indextable_internal.field_at(sample.document_column, sample.primary_key, p.path || CASE p.type WHEN 'text' THEN '' ELSE '::' || p.type END) f
              -- the elements of an array have a scalar for an array of one
              WHERE few IS NULL AND p.rows >= 10 AND p.element_rows < p.rows AND p.path NOT IN (SELECT path FROM asked)) a
             CROSS JOIN sample LEFT JOIN place p ON p.path = a.path AND p.scalars > 0),
    chosen AS MATERIALIZED (
        SELECT c.*, indextable_internal.judge_key(fact_table, fact_name, c.key, document, sample_rows) AS profile
        FROM (SELECT * FROM candidate WHERE served IS NULL AND (planned > 0 OR score > 0) ORDER BY planned DESC, score DESC NULLS LAST, n LIMIT 15) c),
    -- a type is only proposed if all values fit it
    fitting AS MATERIALIZED (
        SELECT c.n, c.planned, c.score, array_to_string(CASE WHEN f.wrong THEN c.text_key ELSE c.key END, ', ') AS field,
               CASE WHEN f.wrong THEN indextable_internal.judge_key(fact_table, fact_name, c.text_key, document, sample_rows) ELSE c.profile END AS profile
        FROM chosen c, LATERAL (SELECT c.planned = 0 AND c.key <> c.text_key AND (c.profile).mismatching > 0) f(wrong)),
    judged AS MATERIALIZED (
        SELECT f.*, v.*, v.kind = 'native_index' AND f.planned = 0 AS native,
               row_number() OVER (ORDER BY f.planned DESC, array_position('{index_table,filter,native_index,none}', v.kind), f.score DESC NULLS LAST, f.n) AS place
        FROM (SELECT *, row_number() OVER (PARTITION BY (profile).names ORDER BY planned DESC, score DESC NULLS LAST, n) AS nth FROM fitting) f,
             LATERAL indextable_internal.verdict(f.profile, f.nth) v),
    recommended AS MATERIALIZED (SELECT *, row_number() OVER (ORDER BY place) AS number FROM judged WHERE NOT native AND kind <> 'none' ORDER BY place LIMIT 10)
    SELECT line.topic, line.advice FROM (
        SELECT 1, 1, 1, 'documents', indextable_internal.documents_text(documents, document_bytes, partitions, complete, sampled) FROM sample
        UNION ALL SELECT 2, 1, 1, 'advice', few FROM sample
        UNION ALL SELECT 3, 1, 1, 'fields', (SELECT count(*) FROM place WHERE scalars > 0) || ' with values'
            || CASE WHEN full_up THEN ' were followed; there are more' ELSE '' END FROM sample WHERE few IS NULL
        UNION ALL SELECT 3, 2, 1, '', indextable_internal.in_percent(1 - objects::float8 / sampled) || ' of the rows have no object and no array'
            FROM sample WHERE few IS NULL AND objects < sampled
        UNION ALL SELECT 3, 3, 1, '', 'members that few of the objects there have were left out: '
            || indextable_internal.names_text((SELECT array_agg(CASE WHEN p.path = '' THEN 'the document itself' ELSE p.path END ORDER BY p.ordinality) FROM place p WHERE p.map))
            FROM sample WHERE few IS NULL
        UNION ALL SELECT 3, 4, 1, '', 'what is more than 6 steps deep, or in arrays within arrays, was left out, below '
            || indextable_internal.names_text((SELECT array_agg(p.path ORDER BY p.ordinality) FROM place p WHERE p.not_followed)) FROM sample WHERE few IS NULL
        UNION ALL SELECT 4, 1, 1, 'use', format('read sequentially %s time%s, %s rows%s', indextable_internal.in_count(seq_scans), s.s,
                indextable_internal.in_count(seq_rows::float8 / seq_scans), s.each)
            FROM sample, indextable_internal.table_counts(fact_table), LATERAL (SELECT CASE seq_scans WHEN 1 THEN '' ELSE 's' END, CASE seq_scans WHEN 1 THEN '' ELSE ' each time' END) s(s, each)
            WHERE few IS NULL AND seq_scans > 0
        UNION ALL SELECT 5, 1, 1, 'queries', CASE
                WHEN queries_shown IS NULL THEN 'not known, as the library is not in shared_preload_libraries'
                WHEN NOT queries_shown THEN 'hidden from you; the owner of the table sees them, and who has the role pg_read_all_stats'
                WHEN m.planned IS NULL THEN 'none have filtered by fields that have no index table'
                ELSE format('conditions on fields without an index table: planned %s time%s since %s', indextable_internal.in_count(m.planned),
                            CASE m.planned WHEN 1 THEN '' ELSE 's' END, to_char(m.since, 'YYYY-MM-DD')) END
            FROM sample, (SELECT sum(planned) AS planned, min(since) AS since FROM missed) m WHERE few IS NULL
        UNION ALL SELECT 6, n, 1, 'served', path || ': by ' || served FROM candidate WHERE served IS NOT NULL
        UNION ALL SELECT 7, place, 1, 'without', field || ': ' || reasons[1] FROM judged WHERE kind = 'none' AND planned > 0
        UNION ALL SELECT 7, r.place, l.n, l.topic, l.advice FROM recommended r, LATERAL (
            VALUES (1, r.number::text, r.field || ': ' || indextable_internal.kind_text(r.kind, ', ', r.strategy, r.maintenance, r.is_unique)),
                   (2, '', CASE WHEN r.planned > 0 THEN 'queries filter by ' || CASE WHEN cardinality((r.profile).key) > 1 THEN 'them' ELSE 'it' END || ': planned ' || indextable_internal.in_count(r.planned) || CASE r.planned WHEN 1 THEN ' time' ELSE ' times' END END),
                   -- the first reason says why; the others, what to consider before it is done
                   (3, '', r.reasons[1]),
                   (5, 'size', indextable_internal.sizes_text(r.profile, r.entries)),
                   (6, 'do', r.statement),
                   (7, 'or', CASE r.kind WHEN 'native_index' THEN r.alternative END)) l(n, topic, advice)
        UNION ALL SELECT 7, r.place, 4, '', x FROM recommended r, unnest(r.reasons[2:]) WITH ORDINALITY u(x, i) WHERE r.is_unique OR r.maintenance = 'async'
        UNION ALL SELECT 8, place, l.n, l.topic, l.advice FROM lacking, LATERAL (
            VALUES (1, 'index', format('conditions that only an index of yours on an index table would serve: planned %s time%s', indextable_internal.in_count(planned), CASE planned WHEN 1 THEN '' ELSE 's' END)),
                   (2, '', CASE WHEN is_absent THEN 'The database lacks the extension pg_trgm, which it needs.' END),
                   (3, 'do', CASE WHEN is_absent THEN 'CREATE EXTENSION pg_trgm; ' ELSE '' END || format('CREATE INDEX ON %s;', field))) l(n, topic, advice)
        UNION ALL SELECT 9, 1, 1, 'native', 'if queries look for single documents by them, a native index is better for '
            || indextable_internal.names_text((SELECT array_agg(field ORDER BY place) FROM judged WHERE native))
        UNION ALL SELECT 10, 1, 1, 'advice', 'There is no field to recommend an index table for.' FROM sample WHERE few IS NULL AND NOT EXISTS (SELECT FROM recommended)) line(part, n, sub, topic, advice)
    WHERE line.advice IS NOT NULL
    ORDER BY line.part, line.n, line.sub;
END;
COMMENT ON FUNCTION indextable_internal.advise_fields(regclass, text, name, integer) IS 'What advise() says without a key';

-- Totals.
ALTER TABLE indextable_internal.definition DROP CONSTRAINT definition_strategy_check;
ALTER TABLE indextable_internal.definition ADD CHECK (strategy IN ('normalized', 'partial', 'denormalized', 'totals'));
COMMENT ON COLUMN indextable_internal.definition.include      IS 'field specs of the included fields (partial), or of those that are added up (totals)';
COMMENT ON COLUMN indextable_internal.definition.strategy     IS 'normalized, partial, denormalized or totals';
COMMENT ON COLUMN indextable.index_tables.strategy     IS 'normalized, partial, denormalized or totals';
COMMENT ON COLUMN indextable.index_tables.include      IS 'field specs of the included fields, or of those that are added up';

DROP FUNCTION indextable."create"(text, regclass, text[], text, text[], text, text, boolean, integer, text, name, boolean, text, text[], text[], name[], boolean);

CREATE FUNCTION indextable."create"(
    index_table text,
    fact_table  regclass,
    key         text[],
    strategy    text    DEFAULT NULL,
    include     text[]  DEFAULT NULL,
    filter      text    DEFAULT NULL,
    maintenance text    DEFAULT 'transactional',
    is_unique   boolean DEFAULT false,
    partitions  integer DEFAULT 0,
    on_mismatch text    DEFAULT 'error',
    document    name    DEFAULT NULL,
    populate    boolean DEFAULT true,
    partition_by          text   DEFAULT NULL,
    partition_bounds      text[] DEFAULT NULL,
    partition_tablespaces text[] DEFAULT NULL,
    primary_key           name[] DEFAULT NULL,
    if_not_exists         boolean DEFAULT false,
    totals                text[]  DEFAULT NULL,
    sparse                boolean DEFAULT NULL
) RETURNS regclass
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_create';
COMMENT ON FUNCTION indextable."create"(text, regclass, text[], text, text[], text, text, boolean, integer, text, name, boolean, text, text[], text[], name[], boolean, text[], boolean) IS
'Makes an index table over a table of JSONB documents, fills it, and keeps it in step from then on; returns the index table. Blocks writers of the fact table, not readers, until the transaction ends. NULL for index_table, fact_table or key is an error; other parameters take their default when NULL. The index table itself is partitioned if partitions is a number of hash partitions by its first key field, or if partition_by is RANGE, LIST or HASH of one key field: with partition_bounds as the server writes them, without or with FOR VALUES; a DEFAULT partition is added. partition_tablespaces has one element for each partition, or one for all. primary_key names the columns that identify a row of a partitioned fact table with foreign partitions, which cannot have a primary key; NULL: the primary key. if_not_exists: where there is such an index table already, nothing is done but a notice; an error if the name is taken otherwise, or the definition differs (partitions by RANGE or LIST may). totals: with the strategy totals, which it implies, the table has counts and sums for each key, which may be empty: count(*), count(field), and sum(field) of a smallint, integer, bigint or numeric with a scale; fields of elements of one array, too, and count(array[*]), are of every element. sparse: whether a row that lacks a key field has no entry; with false, it has one with NULL in it, and of totals such rows are a group of their own. NULL: false, but true with is_unique, and where Citus distributes the fact table';

CREATE FUNCTION indextable.totals(index_table regclass, keys jsonb DEFAULT NULL, OUT key jsonb, OUT rows bigint, OUT counts jsonb, OUT sums jsonb) RETURNS SETOF record
LANGUAGE C STABLE PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'indextable_totals';
COMMENT ON FUNCTION indextable.totals(regclass, jsonb) IS
'The totals of each group of a table of totals: its key, how many rows it has, and for each field how many values and their sum, which is null if there is none. keys are the values of some key fields, null for those without a value: only groups that have them; NULL: all groups. Needs SELECT on the table of totals. NULL for index_table gives no rows; a table without totals, or a member of keys that is no key field, is an error';

-- What workers call for the periodic check.
CREATE FUNCTION indextable_internal.due_for_check(check_interval float8) RETURNS SETOF regclass
LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 20 SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT d.index_table FROM indextable_internal.definition d
    WHERE d.replaces IS NULL AND d.state <> 'building'
      AND NOT EXISTS (SELECT FROM indextable_internal.checked c
                      WHERE c.index_table = d.index_table AND c.checked_at > clock_timestamp() - make_interval(secs => check_interval))
    ORDER BY d.index_table::oid;
END;
COMMENT ON FUNCTION indextable_internal.due_for_check(float8) IS 'The index tables whose last check began longer ago than so many seconds';

CREATE FUNCTION indextable_internal.report_of_check(index_table regclass, sample float8, error text) RETURNS indextable_internal.checked
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT index_table, statement_timestamp(), clock_timestamp() - statement_timestamp(), sample,
           count(*) FILTER (WHERE kind = 'missing'), count(*) FILTER (WHERE kind = 'dangling'), count(*) FILTER (WHERE kind = 'stale'),
           count(*) FILTER (WHERE kind = 'rejected'), count(*) FILTER (WHERE kind = 'setup'),
           max(kind || coalesce(' ' || coalesce(primary_key, key)::text, '') || coalesce(': ' || problem, '')) FILTER (WHERE ordinality = 1),
           error, NULL::timestamptz
    FROM indextable.verify(CASE WHEN error IS NULL THEN index_table END, sample) WITH ORDINALITY;
END;
COMMENT ON FUNCTION indextable_internal.report_of_check(regclass, float8, text) IS
'Checks an index table as verify() does, and returns the report on it; with an error, the report on a check that has failed with it';

CREATE FUNCTION indextable_internal.keep_report(report indextable_internal.checked) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    INSERT INTO indextable_internal.checked SELECT (report).*;
    DELETE FROM indextable_internal.checked
    WHERE index_table = (report).index_table
      AND checked_at < (SELECT checked_at FROM indextable_internal.checked
                        WHERE index_table = (report).index_table ORDER BY checked_at DESC OFFSET 99 LIMIT 1);
END;
COMMENT ON FUNCTION indextable_internal.keep_report(indextable_internal.checked) IS
'Keeps a report on an index table, and deletes the oldest if there are more than 100';
REVOKE ALL ON FUNCTION indextable_internal.due_for_check(float8), indextable_internal.report_of_check(regclass, float8, text),
    indextable_internal.keep_report(indextable_internal.checked) FROM PUBLIC;

COMMENT ON FUNCTION indextable_internal.lock_shards(bigint[]) IS
'Keeps shards from being moved until the transaction ends, on the node that runs it; used by drains of distributed tables. For the owner of the tables, as Citus checks';

CREATE FUNCTION indextable_internal.note_timeline(index_table regclass) RETURNS void
LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'indextable_note_timeline';
COMMENT ON FUNCTION indextable_internal.note_timeline(regclass) IS
'Notes that the entries of a distributed index table are right on the present timeline of this node; called by repair() on all nodes. Only for the owner';

CREATE FUNCTION indextable_internal.entries_here(gids text, prefixes text[], searches text[], keys text[]) RETURNS text[]
LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'indextable_entries_here';
COMMENT ON FUNCTION indextable_internal.entries_here(text, text[], text[], text[]) IS
'The entries of rows in those shards of distributed index tables that this node has, after it has waited for prepared transactions as prepared_here() finds them, and has locked the shards against moves until the transaction ends. Searches are the name of an index table, columns, and a condition with keys as its parameters. Used by drains; it reads what its caller may read';

CREATE FUNCTION indextable_internal.prepared_here(gids text, prefixes text[]) RETURNS text
LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'indextable_prepared_here';
COMMENT ON FUNCTION indextable_internal.prepared_here(text, text[]) IS
'The transactions whose names match the regular expression gids that are prepared on this node and hold tables whose names, behind owner and schema as literals, begin with one of the prefixes, with commas between them, or NULL; and whether the node has another timeline than when index tables of such names were right. wait() asks all nodes for those that Citus has prepared';
REVOKE ALL ON FUNCTION indextable_internal.prepared_here(text, text[]) FROM PUBLIC;

COMMENT ON FUNCTION indextable_internal.guard() IS
'Trigger function of index tables, and of the tables of this schema: refuses writes by hand';

-- The right to write them, as pg_write_all_data gives it, is not enough.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY '{fact,definition,skipped,rejection,build,checked,counted,completeness,hidden,timeline}'::text[] LOOP
        EXECUTE format('CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON indextable_internal.%1$I FOR EACH ROW EXECUTE FUNCTION indextable_internal.guard();
                        CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON indextable_internal.%1$I FOR EACH STATEMENT EXECUTE FUNCTION indextable_internal.guard();
                        ALTER TABLE indextable_internal.%1$I ENABLE ALWAYS TRIGGER guard, ENABLE ALWAYS TRIGGER guard_truncate;
                        COMMENT ON TRIGGER guard ON indextable_internal.%1$I IS ''Refuses what roles write that are neither the owner nor superusers'';
                        COMMENT ON TRIGGER guard_truncate ON indextable_internal.%1$I IS ''Refuses that such roles empty the table''', name);
    END LOOP;
    -- Those of distributed tables, whose rows have numbers, have no triggers.
    FOR name IN
        SELECT c.relname FROM pg_class c
        WHERE c.relnamespace = 'indextable_internal'::regnamespace AND c.relkind = 'r' AND c.relname LIKE 'queue\_%'
          AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'number')
    LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON indextable_internal.%1$I FOR EACH ROW EXECUTE FUNCTION indextable_internal.guard();
                        CREATE OR REPLACE TRIGGER guard_truncate BEFORE TRUNCATE ON indextable_internal.%1$I FOR EACH STATEMENT EXECUTE FUNCTION indextable_internal.guard();
                        ALTER TABLE indextable_internal.%1$I ENABLE ALWAYS TRIGGER guard, ENABLE ALWAYS TRIGGER guard_truncate', name);
    END LOOP;
END
$$;

-- ANALYZE of keys would call code of users, such as the subtype_diff of a range type, as the owner of the queue table, who is a superuser.
DO $$
DECLARE
    name text;
    keys text;
BEGIN
    FOR name, keys IN
        SELECT c.relname, string_agg(format('ALTER %I SET STATISTICS 0', a.attname), ', ')
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname LIKE 'key%' AND NOT a.attisdropped
        WHERE c.relnamespace = 'indextable_internal'::regnamespace AND c.relkind = 'r' AND c.relname LIKE 'queue\_%'
          AND NOT EXISTS (SELECT FROM pg_attribute n WHERE n.attrelid = c.oid AND n.attname = 'number')
        GROUP BY c.relname
    LOOP
        EXECUTE format('ALTER TABLE indextable_internal.%I %s', name, keys);
    END LOOP;
    -- Citus refuses that for distributed tables and for their shards, which it also hides in pg_class.
    UPDATE pg_attribute a SET attstattarget = 0
    WHERE a.attname LIKE 'key%' AND NOT a.attisdropped
      AND EXISTS (SELECT FROM pg_attribute n WHERE n.attrelid = a.attrelid AND n.attname = 'number')
      AND EXISTS (SELECT FROM pg_identify_object('pg_class'::regclass, a.attrelid, 0) o
                  WHERE o.type = 'table' AND o.schema = 'indextable_internal' AND o.name LIKE 'queue\_%');
END
$$;

-- Nobody else may use this schema: who can name a table can lock it, and make objects that depend on it.
CREATE SCHEMA indextable_queues;
COMMENT ON SCHEMA indextable_queues IS 'Queue tables of the extension indextable: changes that asynchronous index tables lack';
DO $$
DECLARE
    name text;
BEGIN
    -- Those of distributed tables, whose rows have numbers, stay where Citus has put their shards.
    FOR name IN
        SELECT c.relname FROM pg_class c
        WHERE c.relnamespace = 'indextable_internal'::regnamespace AND c.relkind = 'r' AND c.relname LIKE 'queue\_%'
          AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'number')
    LOOP
        EXECUTE format('ALTER TABLE indextable_internal.%I SET SCHEMA indextable_queues', name);
    END LOOP;
END
$$;
-- What others have made on a queue table before would have drop() and DROP TABLE refused.
DO $$
DECLARE
    object   text;
    on_queue regclass;
BEGIN
    FOR object, on_queue IN
        SELECT DISTINCT pg_describe_object(d.classid, d.objid, 0), q.oid::regclass
        FROM pg_class q LEFT JOIN pg_type t ON t.oid = q.reltype
        JOIN pg_depend d ON d.deptype = 'n' AND (d.refclassid = 'pg_class'::regclass AND d.refobjid = q.oid OR d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.oid, t.typarray))
        WHERE q.relnamespace = 'indextable_queues'::regnamespace AND q.relkind = 'r' AND d.objid <> q.oid
    LOOP
        RAISE WARNING '% depends on queue table %', object, on_queue
            USING HINT = 'Drop it: the queue table cannot be dropped otherwise.';
    END LOOP;
END
$$;

-- Nothing waits for a lock on somebody else's table.
CREATE OR REPLACE VIEW indextable.distribution AS
SELECT x.root AS "table",
       x.partition,
       x.rows,
       x.size,
       x.writes,
       round((x.rows / nullif(avg(x.rows) OVER w, 0))::numeric, 2)     AS rows_to_average,
       round((x.size / nullif(avg(x.size) OVER w, 0))::numeric, 2)     AS size_to_average,
       round((x.writes / nullif(avg(x.writes) OVER w, 0))::numeric, 2) AS writes_to_average
FROM (SELECT r.root,
             t.relid AS partition,
             CASE WHEN c.reltuples >= 0 THEN c.reltuples::bigint END AS rows,
             z.table_size + z.indexes_size              AS size,
             s.n_tup_ins + s.n_tup_upd + s.n_tup_del    AS writes
      FROM (SELECT fact_table FROM indextable_internal.fact
            UNION SELECT index_table FROM indextable_internal.definition WHERE replaces IS NULL) r (root)
      CROSS JOIN LATERAL (WITH RECURSIVE p (relid) AS (  -- pg_partition_tree() would wait for locks, and so would the server's functions for sizes
                              SELECT r.root::oid
                              UNION ALL
                              SELECT i.inhrelid FROM p JOIN pg_catalog.pg_inherits i ON i.inhparent = p.relid AND NOT i.inhdetachpending)
                          SELECT p.relid::regclass FROM p) t
      JOIN pg_catalog.pg_class c ON c.oid = t.relid
      CROSS JOIN LATERAL indextable_internal.table_sizes(t.relid) z
      LEFT JOIN pg_catalog.pg_stat_all_tables s ON s.relid = t.relid
      WHERE c.relkind <> 'p') x
WINDOW w AS (PARTITION BY x.root);
COMMENT ON COLUMN indextable.distribution.size              IS 'bytes, with indexes; NULL while another session has it locked';
COMMENT ON FUNCTION indextable.drain(regclass, integer) IS
'Applies queued changes to asynchronous index tables, in this transaction, batch_size changes at a time; returns how many it has applied. Returns when everything committed before the call is applied, by itself or by others. NULL for fact_table: those of all fact tables the caller owns, but with a warning for those of other owners that another session has locked; for batch_size: the setting indextable.batch_size';

CREATE FUNCTION indextable_internal.activate_repaired(index_table regclass) RETURNS void
LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'indextable_activate_repaired';
COMMENT ON FUNCTION indextable_internal.activate_repaired(regclass) IS
'Makes an invalid index table active on this node, if it has its triggers; called by repair() on all nodes of Citus when it has mended a distributed one';
REVOKE ALL ON FUNCTION indextable_internal.activate_repaired(regclass) FROM PUBLIC;

CREATE FUNCTION indextable_internal.fill_shards(index_table regclass, number bigint) RETURNS boolean
LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'indextable_fill_shards';
COMMENT ON FUNCTION indextable_internal.fill_shards(regclass, bigint) IS
'Fills a new index table beside the shards of its distributed fact table that this node has; or, unless number is 0, queues the keys of their rows with it. Called by create() on all nodes. Returns false';
REVOKE ALL ON FUNCTION indextable_internal.fill_shards(regclass, bigint) FROM PUBLIC;

-- REVOKE is new: it may leave roles with rights on entries.
DROP EVENT TRIGGER indextable_on_alter;
CREATE EVENT TRIGGER indextable_on_alter ON ddl_command_end
WHEN TAG IN ('ALTER TABLE', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW', 'ALTER FOREIGN TABLE', 'CREATE TABLE', 'CREATE FOREIGN TABLE', 'CREATE SCHEMA', 'CREATE TRIGGER', 'CREATE SUBSCRIPTION', 'ALTER SUBSCRIPTION', 'REVOKE',
    'ALTER SCHEMA', 'ALTER FUNCTION', 'ALTER ROUTINE', 'ALTER TYPE', 'ALTER DOMAIN', 'ALTER OPERATOR', 'ALTER COLLATION', 'ALTER EXTENSION')
EXECUTE FUNCTION indextable_internal.on_alter();
COMMENT ON EVENT TRIGGER indextable_on_alter IS
'Follows renames and a new owner of fact tables, and refuses what would make an index table wrong';

-- Nobody has rights on what is new by default privileges, which are meant for others.
REVOKE ALL ON SCHEMA indextable_queues FROM PUBLIC;
REVOKE CREATE ON SCHEMA indextable_internal FROM PUBLIC;
DO $$
DECLARE
    object  text;
    grantee text;
BEGIN
    FOR object, grantee IN
        SELECT DISTINCT o.name, pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee))
        FROM (SELECT 0, 'SCHEMA ' || n.oid::regnamespace, n.nspacl, n.nspowner FROM pg_catalog.pg_namespace n
              WHERE n.nspname IN ('indextable', 'indextable_internal', 'indextable_queues')
              UNION ALL SELECT c.oid, 'TABLE ' || c.oid::regclass, c.relacl, c.relowner FROM pg_catalog.pg_class c
              UNION ALL SELECT p.oid, 'ROUTINE ' || p.oid::regprocedure, p.proacl, p.proowner FROM pg_catalog.pg_proc p) o (oid, name, acl, owner)
        CROSS JOIN pg_catalog.aclexplode(o.acl) a
        WHERE a.grantee NOT IN (0, o.owner)
          AND (o.oid = 0 OR EXISTS (SELECT FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
                                    WHERE d.objid = o.oid AND d.refclassid = 'pg_catalog.pg_extension'::regclass AND e.extname = 'indextable'))
    LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON %s FROM %s CASCADE', object, grantee);
    END LOOP;
END
$$;

DROP FUNCTION indextable.alter(regclass, text, text, text[], text, boolean, integer, text, text[], text[], boolean, text);
CREATE FUNCTION indextable.alter(index_table regclass, maintenance text DEFAULT NULL, strategy text DEFAULT NULL, include text[] DEFAULT NULL, filter text DEFAULT NULL, populate boolean DEFAULT true,
    partitions integer DEFAULT NULL, partition_by text DEFAULT NULL, partition_bounds text[] DEFAULT NULL, partition_tablespaces text[] DEFAULT NULL,
    is_unique boolean DEFAULT NULL, on_mismatch text DEFAULT NULL, sparse boolean DEFAULT NULL, hidden boolean DEFAULT NULL) RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_alter';
COMMENT ON FUNCTION indextable.alter(regclass, text, text, text[], text, boolean, integer, text, text[], text[], boolean, text, boolean, boolean) IS
'Gives an index table another maintenance, strategy, included fields or filter, or other partitions, as those of create(); by what it is partitioned stays. Makes it unique or not; lets it refuse or skip values that cannot be keys, and keep entries with NULL for rows that lack key fields (sparse => false) or none (sparse => true). One that is made unique becomes sparse. Hides it from plain SQL (hidden => true), unless indextable.use_hidden is on, or shows it again (hidden => false): that blocks nobody, and takes effect for all plans at the commit. NULL leaves them as they are, an empty include or filter takes them away. Blocks writers of the fact table until the transaction ends: shortly for another maintenance, uniqueness or on_mismatch, else while the entries are made anew; with populate => false rebuild() does that while others write, and until then nothing changes. Only for the owner';

-- A script shows no notices, but warnings.
DO $$
BEGIN
    IF EXISTS (SELECT FROM indextable_internal.definition WHERE sparse AND NOT is_unique AND replaces IS NULL) THEN
        RAISE WARNING 'index tables that version 1.1 has made are sparse: a row that lacks a key field has no entry'
            USING DETAIL = 'A query is served by such an index table only if its conditions, or constraints, say that no key field is NULL.',
                  HINT = 'To give every row an entry, run SELECT indextable.alter(index_table, sparse => false) FROM indextable.index_tables WHERE sparse AND NOT is_unique;';
    END IF;
END
$$;
