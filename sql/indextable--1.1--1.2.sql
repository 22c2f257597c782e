-- Upgrade script of indextable, from 1.1 to 1.2.  A table, a function or a view that changes here also changes in the
-- install script of 1.2: what both make is the same.

\echo Use "ALTER EXTENSION indextable UPDATE TO '1.2'" to load this file. \quit

-- Operators and functions of others in the schema of the extension are not to be taken for the server's own.
SET LOCAL search_path = pg_catalog, pg_temp;

COMMENT ON COLUMN indextable.queues.backlog       IS 'number of changes that are not applied yet; NULL, as lag, if it is not known: while somebody has a queue table locked (size is NULL, too), a node of Citus cannot be reached, or a server with feeds does not answer or is not asked by any worker. Of a distributed fact table the backlog is that of all nodes, and workers and errors are those of this one';
COMMENT ON COLUMN indextable.queues.last_error_at IS 'since when; or, if there is no error, since when the server with the feeds was not asked';

COMMENT ON COLUMN indextable.queues.last_error IS 'why it could not, or for what the worker waits';
COMMENT ON COLUMN indextable.queues.blocked_by IS 'processes that keep it waiting at this moment, as pg_blocking_pids() counts: 0 is a prepared transaction; NULL between two tries';

COMMENT ON COLUMN indextable_internal.completeness.fields IS 'a row lacks an entry, or did, though its first so many key fields are not null; NULL: such rows are recorded, and without it nothing is known; 30: a row has an array or an object in place of a key, or did; 31: such rows are recorded';

COMMENT ON FUNCTION indextable.explain(text) IS
'Which index tables the planner uses for a query of their fact tables, and why it does not use the others; the query is planned, not run. A row for each index table, or with index_table NULL for several or all of a fact table. used: whether the plan reads it; reason: why not, or if it is searched, or read as a whole, in its order or because it is smaller. The query may have parameters $1, $2, ... An error if it is not one statement that can be planned, or the caller may not run it. No rows where it names no fact table, or is NULL';

-- How plain SQL is run, EXPLAIN and explain() tell.
DROP FUNCTION indextable.explain_query(regclass, jsonb, jsonb, boolean, integer, text, boolean, boolean);

CREATE FUNCTION indextable_internal.missed_conditions(OUT fact_table regclass, OUT document name, OUT field text, OUT condition text, OUT planned bigint, OUT since timestamptz) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 20
AS 'MODULE_PATHNAME', 'indextable_missed_conditions';
COMMENT ON FUNCTION indextable_internal.missed_conditions() IS
'What the view indextable.missed shows: of tables of the caller, or for roles in pg_read_all_stats of all';

CREATE VIEW indextable.missed AS
SELECT * FROM indextable_internal.missed_conditions();
COMMENT ON VIEW indextable.missed IS 'Conditions on fields of documents for which plain queries have found no index table, counted since the server was started if the library is preloaded: of tables of yours; roles in pg_read_all_stats, such as pg_monitor, see those of others, too. Counting begins anew for a table when an index table is created over it';
COMMENT ON COLUMN indextable.missed.fact_table IS 'the table';
COMMENT ON COLUMN indextable.missed.document   IS 'its column with the documents';
COMMENT ON COLUMN indextable.missed.field      IS 'the field, as a key of create()';
COMMENT ON COLUMN indextable.missed.condition  IS 'equal: compared by = with a value, or by IN with several; range: by <, <=, > or >=; contained: a text that the documents, or an array, contain; join: compared by = with columns of other tables';
COMMENT ON COLUMN indextable.missed.planned    IS 'how often such a query was planned; a plan that is kept, as of a prepared statement, counts once';
COMMENT ON COLUMN indextable.missed.since      IS 'when it was planned first';

GRANT SELECT ON indextable.missed TO PUBLIC;

COMMENT ON FUNCTION indextable.advise(regclass, text[], text[], text, name, integer) IS
'Whether a key should have an index table, and which, with reasons and the statement to run, from a sample of about sample_rows rows (100 to 1000000; NULL: 10000) and the statistics of the server; changes nothing. Without a key: which fields of the documents are worth an index table, from such a sample, and from what the caller sees in indextable.missed. Other parameters as for create(), include and filter only with a key; NULL for fact_table is an error. Needs SELECT on the fact table and no row security; with a filter, an expression, or a cast of a column, for the owner only';
