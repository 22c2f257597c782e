-- Install script of indextable 1.2: the catalog, the functions users call, the
-- functions triggers call, and the views of what there is.  What users call is in
-- the schema indextable, everything else in indextable_internal.

\echo Use "CREATE EXTENSION indextable" to load this file. \quit

-- Operators and functions of others in the schema of the extension are not to be taken for the server's own.
SET LOCAL search_path = pg_catalog, pg_temp;

-- Everybody may use it: who owns a table creates its triggers anew when a dump is restored.
CREATE SCHEMA indextable_internal;
COMMENT ON SCHEMA indextable_internal IS 'What the extension indextable keeps, and what its triggers call: nothing that users would have to do with';
GRANT USAGE ON SCHEMA indextable_internal TO PUBLIC;

CREATE FUNCTION indextable_internal.schema_is_new() RETURNS boolean
LANGUAGE C AS 'MODULE_PATHNAME', 'indextable_schema_is_new';

-- Whoever owns the schema, or may create in it, could add functions to it at any time that are preferred to ours, and would
-- run as whoever calls them.  CREATE EXTENSION has made the schema for its caller, who need not be a superuser: it is taken
-- from him, unless it was there before, because then somebody may be about to add something to it.
DO $$
DECLARE
    owner text := (SELECT pg_catalog.pg_get_userbyid(n.nspowner) FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles r ON r.oid = n.nspowner
                   WHERE n.nspname = 'indextable' AND NOT r.rolsuper);
BEGIN
    IF owner IS NOT NULL THEN
        IF NOT indextable_internal.schema_is_new() OR EXISTS (
            SELECT FROM pg_catalog.pg_depend d
            WHERE d.refclassid = 'pg_catalog.pg_namespace'::regclass AND d.refobjid = 'indextable'::regnamespace
              AND d.classid <> 'pg_catalog.pg_extension'::regclass) THEN
            RAISE insufficient_privilege USING
                MESSAGE = 'schema indextable is owned by role ' || pg_catalog.quote_ident(owner) || ', which is not a superuser',
                HINT = 'Look at what is in the schema. Then run DROP SCHEMA indextable, and CREATE EXTENSION makes it, or as a superuser ALTER SCHEMA indextable OWNER TO CURRENT_USER.';
        END IF;
        ALTER SCHEMA indextable OWNER TO CURRENT_USER;
    END IF;
END
$$;
DROP FUNCTION indextable_internal.schema_is_new();

-- The catalog ----------------------------------------------------------------

CREATE TABLE indextable_internal.fact (
    fact_table regclass PRIMARY KEY,
    queue      regclass,
    spare      regclass,
    feed       boolean NOT NULL DEFAULT false
);
COMMENT ON TABLE indextable_internal.fact IS
'Fact tables whose triggers keep index tables in step; a row lives as long as the triggers do';
COMMENT ON COLUMN indextable_internal.fact.fact_table IS 'the table that holds the documents';
COMMENT ON COLUMN indextable_internal.fact.queue      IS 'the queue table that changes are appended to; NULL without asynchronous index tables';
COMMENT ON COLUMN indextable_internal.fact.spare      IS 'the queue table that changes were appended to before, and will be when it is empty';
COMMENT ON COLUMN indextable_internal.fact.feed       IS 'the queue is a feed, from which another server takes changes; see create_feed()';

CREATE TABLE indextable_internal.definition (
    index_table  regclass PRIMARY KEY,
    fact_table   regclass NOT NULL,
    fact_oid     oid      NOT NULL,
    fact_columns name[]   NOT NULL,
    primary_key  name[]   NOT NULL,
    document     name     NOT NULL,
    key          text[]   NOT NULL,
    include      text[],
    filter       text,
    strategy     text     NOT NULL CHECK (strategy IN ('normalized', 'partial', 'denormalized')),
    maintenance  text     NOT NULL CHECK (maintenance IN ('transactional', 'async')),
    is_unique    boolean  NOT NULL,
    on_mismatch  text     NOT NULL CHECK (on_mismatch IN ('error', 'skip')),
    state        text     NOT NULL CHECK (state IN ('building', 'active', 'invalid')),
    problem      text,
    replaces     regclass
);
CREATE INDEX definition_fact_table ON indextable_internal.definition (fact_table);
COMMENT ON TABLE indextable_internal.definition IS
'One row per index table, written by indextable.create() and removed with the table; read it through indextable.index_tables';
COMMENT ON COLUMN indextable_internal.definition.index_table  IS 'the index table';
COMMENT ON COLUMN indextable_internal.definition.fact_table   IS 'the table it is kept in step with';
COMMENT ON COLUMN indextable_internal.definition.fact_oid     IS 'OID of the fact table when the row was written; another one means the row was restored from a dump';
COMMENT ON COLUMN indextable_internal.definition.fact_columns IS 'names of the fact table''s columns by number when the row was written (dropped: empty), so that fields follow renames';
COMMENT ON COLUMN indextable_internal.definition.primary_key  IS 'columns of the fact table''s primary key, by their names in fact_columns';
COMMENT ON COLUMN indextable_internal.definition.document     IS 'the JSONB column, by its name in fact_columns';
COMMENT ON COLUMN indextable_internal.definition.key          IS 'key field specs, in order';
COMMENT ON COLUMN indextable_internal.definition.include      IS 'field specs of the included fields (partial)';
COMMENT ON COLUMN indextable_internal.definition.filter       IS 'which fact rows have entries; NULL: all';
COMMENT ON COLUMN indextable_internal.definition.strategy     IS 'normalized, partial or denormalized';
COMMENT ON COLUMN indextable_internal.definition.maintenance  IS 'transactional or async';
COMMENT ON COLUMN indextable_internal.definition.is_unique    IS 'whether a key may have one entry only';
COMMENT ON COLUMN indextable_internal.definition.on_mismatch  IS 'what becomes of a value that cannot be a key: error or skip';
COMMENT ON COLUMN indextable_internal.definition.state        IS 'building, active or invalid';
COMMENT ON COLUMN indextable_internal.definition.problem      IS 'why the state is invalid; NULL otherwise';
COMMENT ON COLUMN indextable_internal.definition.replaces     IS 'the index table whose contents and definition this one is to become, by alter() or rebuild(); NULL: none';

CREATE TABLE indextable_internal.skipped (
    index_table regclass    NOT NULL,
    at          timestamptz NOT NULL,
    entries     bigint      NOT NULL
);
CREATE INDEX skipped_index_table ON indextable_internal.skipped (index_table);
ALTER TABLE indextable_internal.skipped REPLICA IDENTITY FULL;  -- a publication of all tables must not make it read-only
COMMENT ON TABLE indextable_internal.skipped IS
'Entries left out under on_mismatch => ''skip'': a row per statement that left out any, summed up now and then';
COMMENT ON COLUMN indextable_internal.skipped.index_table IS 'the index table that lacks the entries';
COMMENT ON COLUMN indextable_internal.skipped.at          IS 'when the transaction began that wrote the fact rows, or the last of them';
COMMENT ON COLUMN indextable_internal.skipped.entries     IS 'number of entries left out';

CREATE TABLE indextable_internal.rejection (
    index_table regclass    NOT NULL,
    primary_key text[]      NOT NULL,
    sqlstate    text        NOT NULL,
    message     text        NOT NULL,
    attempts    integer     NOT NULL,
    first_at    timestamptz NOT NULL,
    last_at     timestamptz NOT NULL,
    next_try    timestamptz
);
CREATE INDEX rejection_index_table ON indextable_internal.rejection (index_table, next_try);
CREATE INDEX rejection_key ON indextable_internal.rejection (index_table, hash_array_extended(primary_key, 0));
ALTER TABLE indextable_internal.rejection REPLICA IDENTITY FULL;  -- as skipped
COMMENT ON TABLE indextable_internal.rejection IS
'Rows that lack their entry in an asynchronous index table because of an error; read it through indextable.rejected';
COMMENT ON COLUMN indextable_internal.rejection.index_table IS 'the index table that lacks the entry, or the entries';
COMMENT ON COLUMN indextable_internal.rejection.primary_key IS 'primary key of the fact row, a text for each column';
COMMENT ON COLUMN indextable_internal.rejection.sqlstate    IS 'SQLSTATE of the error';
COMMENT ON COLUMN indextable_internal.rejection.message     IS 'its message';
COMMENT ON COLUMN indextable_internal.rejection.attempts    IS 'how often it was tried';
COMMENT ON COLUMN indextable_internal.rejection.first_at    IS 'when it failed first';
COMMENT ON COLUMN indextable_internal.rejection.last_at     IS 'when it failed last';
COMMENT ON COLUMN indextable_internal.rejection.next_try    IS 'when it is tried again; NULL: when the row changes';

CREATE TABLE indextable_internal.build (
    index_table regclass PRIMARY KEY,
    phase       text             NOT NULL,
    last_table  regclass         NOT NULL,
    last_key    text[]           NOT NULL,
    rows_done   bigint           NOT NULL,
    rows_total  double precision NOT NULL,
    started_at  timestamptz      NOT NULL,
    updated_at  timestamptz      NOT NULL
);
COMMENT ON TABLE indextable_internal.build IS 'How far indextable.build() has come; read it through indextable.progress';
COMMENT ON COLUMN indextable_internal.build.index_table IS 'the index table that is being built';
COMMENT ON COLUMN indextable_internal.build.phase       IS 'what it is doing: reading rows, waiting for old snapshots, catching up with the queue, waiting for locks';
COMMENT ON COLUMN indextable_internal.build.last_table  IS 'the fact table, or the partition of it, that is read';
COMMENT ON COLUMN indextable_internal.build.last_key    IS 'primary key of the last row that was done, a text for each column';
COMMENT ON COLUMN indextable_internal.build.rows_done   IS 'rows of the fact table that were done';
COMMENT ON COLUMN indextable_internal.build.rows_total  IS 'estimated number of all of them';
COMMENT ON COLUMN indextable_internal.build.started_at  IS 'when the first batch began';
COMMENT ON COLUMN indextable_internal.build.updated_at  IS 'when the last batch ended';

CREATE TABLE indextable_internal.checked (
    index_table regclass    NOT NULL,
    checked_at  timestamptz NOT NULL,
    duration    interval    NOT NULL,
    sample      float8      NOT NULL,
    missing     bigint      NOT NULL,
    dangling    bigint      NOT NULL,
    stale       bigint      NOT NULL,
    rejected    bigint      NOT NULL,
    setup       bigint      NOT NULL,
    example     text,
    error       text,
    repaired_at timestamptz
);
CREATE INDEX checked_index_table ON indextable_internal.checked (index_table, checked_at);
ALTER TABLE indextable_internal.checked REPLICA IDENTITY FULL;  -- as skipped
COMMENT ON TABLE indextable_internal.checked IS
'What the periodic check has found, the last 100 times for each index table; read it through indextable.checks';
COMMENT ON COLUMN indextable_internal.checked.index_table IS 'the index table';
COMMENT ON COLUMN indextable_internal.checked.checked_at  IS 'when the check began';
COMMENT ON COLUMN indextable_internal.checked.duration    IS 'how long it took';
COMMENT ON COLUMN indextable_internal.checked.sample      IS 'share of both tables that was looked at, in percent';
COMMENT ON COLUMN indextable_internal.checked.missing     IS 'entries that are missing';
COMMENT ON COLUMN indextable_internal.checked.dangling    IS 'entries of rows that are gone';
COMMENT ON COLUMN indextable_internal.checked.stale       IS 'entries of rows as they were';
COMMENT ON COLUMN indextable_internal.checked.rejected    IS 'rows that cannot have their entry';
COMMENT ON COLUMN indextable_internal.checked.setup       IS 'problems of triggers, owner, indexes, state';
COMMENT ON COLUMN indextable_internal.checked.example     IS 'the first of all these, with the primary key of the row';
COMMENT ON COLUMN indextable_internal.checked.error       IS 'why it could not be checked';
COMMENT ON COLUMN indextable_internal.checked.repaired_at IS 'when it was repaired, under indextable.check_repair';

CREATE TABLE indextable_internal.counted (
    index_table regclass PRIMARY KEY,
    since       timestamptz NOT NULL,
    reads       bigint      NOT NULL,
    last_read   timestamptz
);
COMMENT ON TABLE indextable_internal.counted IS 'What the server''s statistics do not know of index tables; read it through indextable.index_table_stats';
COMMENT ON COLUMN indextable_internal.counted.index_table IS 'the index table';
COMMENT ON COLUMN indextable_internal.counted.since       IS 'when it was created, or its counters reset by reset_stats()';
COMMENT ON COLUMN indextable_internal.counted.reads       IS 'PostgreSQL 15: reads, when a worker last saw that there were more';
COMMENT ON COLUMN indextable_internal.counted.last_read   IS 'PostgreSQL 15: when that was; NULL: never';

CREATE TABLE indextable_internal.completeness (
    index_table regclass NOT NULL,
    fields      smallint
);
CREATE INDEX completeness_index_table ON indextable_internal.completeness (index_table);
ALTER TABLE indextable_internal.completeness REPLICA IDENTITY FULL;  -- as skipped
COMMENT ON TABLE indextable_internal.completeness IS
'Which fact rows lack entries, so that plain queries know what an index table can answer; what no longer holds is removed by rebuild(), and when the fact table is truncated';
COMMENT ON COLUMN indextable_internal.completeness.index_table IS 'the index table';
COMMENT ON COLUMN indextable_internal.completeness.fields      IS 'a row lacks an entry, or did, though its first so many key fields are not null; NULL: such rows are recorded, and without it nothing is known; 30: a row has an array or an object in place of a key, or did; 31: such rows are recorded';

CREATE SEQUENCE indextable_internal.shard_queue_number;
COMMENT ON SEQUENCE indextable_internal.shard_queue_number IS 'Numbers the rows in queues of distributed tables, on each node of its own';
REVOKE ALL ON indextable_internal.shard_queue_number FROM PUBLIC;

SELECT pg_catalog.pg_extension_config_dump('indextable_internal.fact', '');
SELECT pg_catalog.pg_extension_config_dump('indextable_internal.build', '');
SELECT pg_catalog.pg_extension_config_dump('indextable_internal.definition', '');
SELECT pg_catalog.pg_extension_config_dump('indextable_internal.skipped', '');
SELECT pg_catalog.pg_extension_config_dump('indextable_internal.rejection', '');
SELECT pg_catalog.pg_extension_config_dump('indextable_internal.counted', '');
SELECT pg_catalog.pg_extension_config_dump('indextable_internal.completeness', '');

REVOKE ALL ON indextable_internal.fact, indextable_internal.definition, indextable_internal.skipped, indextable_internal.rejection, indextable_internal.build, indextable_internal.checked, indextable_internal.counted, indextable_internal.completeness FROM PUBLIC;

-- What users call ------------------------------------------------------------

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
    if_not_exists         boolean DEFAULT false
) RETURNS regclass
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_create';
COMMENT ON FUNCTION indextable."create"(text, regclass, text[], text, text[], text, text, boolean, integer, text, name, boolean, text, text[], text[], name[], boolean) IS
'Makes an index table over a table of JSONB documents, fills it, and keeps it in step from then on; returns the index table. Blocks writers of the fact table, not readers, until the transaction ends. NULL for index_table, fact_table or key is an error; other parameters take their default when NULL. The index table itself is partitioned if partitions is a number of hash partitions by its first key field, or if partition_by is RANGE, LIST or HASH of one key field: with partition_bounds as the server writes them, without or with FOR VALUES; a DEFAULT partition is added. partition_tablespaces has one element for each partition, or one for all. primary_key names the columns that identify a row of a partitioned fact table with foreign partitions, which cannot have a primary key; NULL: the primary key. if_not_exists: where there is such an index table already, nothing is done but a notice; an error if the name is taken otherwise, or the definition differs (partitions by RANGE or LIST may)';

CREATE FUNCTION indextable."drop"(index_table regclass) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_drop';
COMMENT ON FUNCTION indextable."drop"(regclass) IS
'Drops an index table, and the fact table''s triggers with its last one. Plain DROP TABLE does the same. NULL does nothing; a table that is no index table is an error';

CREATE FUNCTION indextable.definition(index_table regclass) RETURNS text
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_definition';
COMMENT ON FUNCTION indextable.definition(regclass) IS
'The statement that makes an index table as it is now: a call of create() without the parameters that have their default, which can be run again after drop(). Names of tables have their schema; casts and the filter are as they were given, for the search_path of then. NULL for NULL; a table that is no index table is an error';

CREATE FUNCTION indextable_internal.read_support(internal) RETURNS internal
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'indextable_read_support';
COMMENT ON FUNCTION indextable_internal.read_support(internal) IS
'Tells the planner how many rows lookup() and query() return, and what that costs';

CREATE FUNCTION indextable.lookup(index_table regclass, key jsonb, max_lag interval DEFAULT NULL, timeout interval DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE C STABLE PARALLEL UNSAFE ROWS 10 COST 10 SUPPORT indextable_internal.read_support
AS 'MODULE_PATHNAME', 'indextable_lookup_documents';
COMMENT ON FUNCTION indextable.lookup(regclass, jsonb, interval, interval) IS
'The documents under a key: {"column": value, ...} over all or the leading key columns of the index table, each fact row once, in the order of the index table. An array as a value stands for each of its elements, unless the column is of type jsonb, and an array of objects is several keys: up to 100000 altogether. A null value matches nothing; an unknown column or a value of the wrong type is an error; NULL for index_table or key gives no rows. An asynchronous index table may be behind: if by more than max_lag, waits up to timeout (NULL: not at all) and then raises an error; NULL for max_lag allows any lag, or none if timeout is given';

CREATE FUNCTION indextable.lookup(row_type anyelement, index_table regclass, key jsonb, max_lag interval DEFAULT NULL, timeout interval DEFAULT NULL) RETURNS SETOF anyelement
LANGUAGE C STABLE PARALLEL UNSAFE ROWS 10 COST 10 SUPPORT indextable_internal.read_support
AS 'MODULE_PATHNAME', 'indextable_lookup_rows';
COMMENT ON FUNCTION indextable.lookup(anyelement, regclass, jsonb, interval, interval) IS
'The same as whole rows of the fact table: lookup(NULL::fact_table, ...). Only the type of row_type is used; NULL for index_table or key gives no rows';

-- Pages ----------------------------------------------------------------------

CREATE FUNCTION indextable.query(
    index_table regclass,
    key         jsonb    DEFAULT '{}',
    condition   jsonb    DEFAULT NULL,
    descending  boolean  DEFAULT false,
    page_size   integer  DEFAULT 100,
    cursor      text     DEFAULT NULL,
    with_document boolean DEFAULT false,
    max_lag     interval DEFAULT NULL,
    timeout     interval DEFAULT NULL,
    previous    boolean  DEFAULT false
) RETURNS TABLE (entry jsonb, document jsonb, cursor text)
LANGUAGE C STABLE PARALLEL UNSAFE ROWS 100 COST 100 SUPPORT indextable_internal.read_support
AS 'MODULE_PATHNAME', 'indextable_query';
COMMENT ON FUNCTION indextable.query(regclass, jsonb, jsonb, boolean, integer, text, boolean, interval, interval, boolean) IS
'A page of an index table, in its order or descending: entries whose leading key columns are as in key, as for lookup(), and whose next one fulfils condition, {"column": {"op": value}} with =, <, <=, >, >=, between or begins_with. Up to page_size entries (1 to 10000), after the one that cursor comes from, or with previous the ones before it, in the same order; each comes with its own cursor, and with the document if with_document is true. Fewer than page_size: there were no more. Without a cursor, or with an empty one, the first page, or with previous the last one. A null value matches nothing; an unknown column, a value of the wrong type, a cursor of another index table or query is an error. max_lag and timeout as for lookup(). NULL for index_table or key gives no rows; other parameters take their default when NULL';

CREATE FUNCTION indextable.explain(query text, OUT fact_table regclass, OUT index_table regclass, OUT used boolean, OUT reason text) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10 COST 100
AS 'MODULE_PATHNAME', 'indextable_explain';
COMMENT ON FUNCTION indextable.explain(text) IS
'Which index tables the planner uses for a query of their fact tables, and why it does not use the others; the query is planned, not run. A row for each index table, or with index_table NULL for several or all of a fact table. used: whether the plan reads it; reason: why not, or if it is searched, or read as a whole, in its order or because it is smaller. The query may have parameters $1, $2, ... An error if it is not one statement that can be planned, or the caller may not run it. No rows where it names no fact table, or is NULL';

-- Asynchronous index tables --------------------------------------------------

CREATE FUNCTION indextable.drain(fact_table regclass DEFAULT NULL, batch_size integer DEFAULT NULL) RETURNS bigint
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_drain';
COMMENT ON FUNCTION indextable.drain(regclass, integer) IS
'Applies queued changes to asynchronous index tables, in this transaction, batch_size changes at a time; returns how many it has applied. Returns when everything committed before the call is applied, by itself or by others. NULL for fact_table: those of all fact tables the caller owns; for batch_size: the setting indextable.batch_size';

CREATE FUNCTION indextable_internal.queue_status(fact_table regclass, OUT backlog bigint, OUT oldest timestamptz, OUT size bigint)
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_queue_status';
COMMENT ON FUNCTION indextable_internal.queue_status(regclass) IS
'Number of changes queued for a fact table''s asynchronous index tables, when the statement began that made the oldest, and the bytes of the queue tables; nulls for a table that has none, and while somebody has a queue table locked';

CREATE FUNCTION indextable.wait(index_table regclass, timeout interval DEFAULT '1 minute', xid xid8 DEFAULT NULL) RETURNS boolean
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_wait';
COMMENT ON FUNCTION indextable.wait(regclass, interval, xid8) IS
'Waits until every change that was committed before the call, and by the transaction xid if given, is applied to an asynchronous index table, or in vain: true, or false after timeout (NULL: waits for ever). An error for changes of the same transaction, and where its snapshot would not see the result. Transactional index tables need no waiting: true. NULL for index_table: NULL';

CREATE FUNCTION indextable.create_feed(fact_table regclass) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_create_feed';
COMMENT ON FUNCTION indextable.create_feed(regclass) IS
'Has the changes of a table queued for asynchronous index tables on another server, of which it is a foreign partition by postgres_fdw: that server takes them from here. Locks writers out for a moment';

CREATE FUNCTION indextable.drop_feed(fact_table regclass) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_drop_feed';
COMMENT ON FUNCTION indextable.drop_feed(regclass) IS
'Drops what create_feed() has created, with the changes that have not been taken. Index tables on the other server do not follow the table any more';

CREATE FUNCTION indextable_internal.take(fact_table regclass, n bigint, columns name[], OUT item text, OUT primary_key text[]) RETURNS SETOF record
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_feed_take';
COMMENT ON FUNCTION indextable_internal.take(regclass, bigint, name[]) IS
'Up to n changes in the feed of a table, for the server that applies them: an item to acknowledge each by, and the primary key of the row, with its columns in this order; NULL: any row may have changed. Consumes nothing';

CREATE FUNCTION indextable_internal.ack(fact_table regclass, items text[]) RETURNS bigint
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_feed_ack';
COMMENT ON FUNCTION indextable_internal.ack(regclass, text[]) IS
'Deletes changes that were taken, and are applied and committed, from the feed of a table; returns how many there still were';

CREATE FUNCTION indextable_internal.feed_status(fact_table regclass, as_of pg_snapshot DEFAULT NULL, max_lag interval DEFAULT NULL,
    OUT backlog bigint, OUT lag interval, OUT pending boolean, OUT now pg_snapshot)
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_feed_status';
COMMENT ON FUNCTION indextable_internal.feed_status(regclass, pg_snapshot, interval) IS
'What is in the feed of a table: number of changes, age of the oldest, whether there are any, and the present snapshot; with as_of or max_lag only whether there are any that it sees, and that are so old. Nulls if the table has no feed';

CREATE FUNCTION indextable_internal.queue_activity(fact_table regclass, server oid, OUT applied bigint, OUT rate float8, OUT applied_at timestamptz, OUT error text, OUT since timestamptz,
    OUT backlog bigint, OUT oldest timestamptz, OUT waiting boolean, OUT next_try timestamptz, OUT blocked_by integer[])
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'indextable_queue_activity';
COMMENT ON FUNCTION indextable_internal.queue_activity(regclass, oid) IS
'What workers did for the queue of a fact table (server 0), or for the feeds of a foreign server, since the server started: changes applied, how many a second lately, when last; what keeps them from applying more, since when, whether they wait for others, when they try again, and who has the lock now. Of feeds also how many changes were there when a worker last asked, and when the oldest was made. NULL where indextable is not in shared_preload_libraries';

CREATE FUNCTION indextable.start_workers() RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_start_workers';
COMMENT ON FUNCTION indextable.start_workers() IS
'Starts draining in the current database by a background worker. Where indextable is in shared_preload_libraries this is undoing stop_workers(); elsewhere each call starts one worker, which lives until it is stopped or the server is';

CREATE FUNCTION indextable_internal.stop_launched() RETURNS integer
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_stop_launched';
COMMENT ON FUNCTION indextable_internal.stop_launched() IS
'Part of stop_workers(), for workers that start by themselves';

-- As its owner, since others see no background workers in pg_stat_activity; it shows those of this database and nothing else.
CREATE FUNCTION indextable.workers(OUT pid integer, OUT state text, OUT activity text, OUT started_at timestamptz) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 1 SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT a.pid, CASE a.state WHEN 'active' THEN 'draining' ELSE 'idle' END, nullif(a.query, ''), a.backend_start
    FROM pg_catalog.pg_stat_activity a
    WHERE a.backend_type = 'indextable worker' AND a.datname = pg_catalog.current_database();
END;
COMMENT ON FUNCTION indextable.workers() IS
'The background workers of the current database: draining or idle, what they did last, and since when they are there';

-- As its owner, too: whoever is granted it may stop the workers, and needs no right to end sessions.
CREATE FUNCTION indextable.stop_workers() RETURNS integer
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN coalesce(indextable_internal.stop_launched(),
                (SELECT count(pg_catalog.pg_terminate_backend(w.pid, 5000))::integer FROM indextable.workers() w));
COMMENT ON FUNCTION indextable.stop_workers() IS
'Stops draining in the current database by background workers until start_workers() is called or the server restarted; returns how many were stopped';

REVOKE ALL ON FUNCTION indextable.start_workers(), indextable_internal.stop_launched(), indextable.stop_workers() FROM PUBLIC;

-- Checks ---------------------------------------------------------------------

CREATE FUNCTION indextable.verify(index_table regclass, sample float8 DEFAULT NULL, OUT kind text, OUT key jsonb, OUT primary_key jsonb, OUT expected jsonb, OUT found jsonb, OUT problem text, OUT in_table regclass) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_verify';
COMMENT ON FUNCTION indextable.verify(regclass, float8) IS
'What is wrong with an index table, or with all index tables of a fact table, as one new snapshot for each sees it: entries that are missing, dangling (of a row that is gone) or stale (of a row as it was, or with other included fields than the row has), rows rejected because a value cannot be an entry, and its setup: triggers, owner, indexes, state. The problem of a setup ends with the SQL to run; in_table is the index table. No rows: all is right. Changes that are queued are not counted against an asynchronous one. sample is the share of both tables to look at, in percent, chosen at random by blocks; NULL: all. Only for its owner; blocks nobody. NULL for index_table gives no rows';

CREATE FUNCTION indextable_internal.table_sizes(index_table regclass, OUT distributed boolean, OUT table_size bigint, OUT indexes_size bigint)
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_table_sizes';
COMMENT ON FUNCTION indextable_internal.table_sizes(regclass) IS
'Whether Citus has distributed an index table, and the bytes of its partitions or shards, without indexes, and of their indexes; NULL while another session has one of them locked, or a node cannot be reached';

CREATE FUNCTION indextable_internal.verify_shard(index_table regclass, shard bigint, number bigint, OUT kind text, OUT key jsonb, OUT primary_key jsonb, OUT expected jsonb, OUT found jsonb, OUT problem text) RETURNS SETOF record
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_verify_shard';
COMMENT ON FUNCTION indextable_internal.verify_shard(regclass, bigint, bigint) IS
'Does the work of verify() for one shard of a distributed fact table, on the node that has it; unless number is 0, queues the rows whose entries are wrong under that number';

CREATE PROCEDURE indextable.repair(index_table regclass, batch_size integer DEFAULT 1000, INOUT missing bigint DEFAULT NULL, INOUT dangling bigint DEFAULT NULL, INOUT stale bigint DEFAULT NULL, INOUT remaining bigint DEFAULT NULL)
LANGUAGE C
AS 'MODULE_PATHNAME', 'indextable_repair';
COMMENT ON PROCEDURE indextable.repair(regclass, integer, bigint, bigint, bigint, bigint) IS
'Mends what verify() finds in an index table, or in all index tables of a fact table, row by row against the row as it is then, and commits after every batch_size of them; puts back what is missing of the setup, warns of what only the user can decide, with the SQL to run, and has an index table that was invalid active again. Shows how many entries were missing, dangling and stale, and how many such remain, because others kept their rows locked. In a transaction block all is one transaction. Only for the owner';

-- Online build ---------------------------------------------------------------

CREATE PROCEDURE indextable.build(index_table regclass, batch_size integer DEFAULT NULL, pause interval DEFAULT NULL)
LANGUAGE C
AS 'MODULE_PATHNAME', 'indextable_build';
COMMENT ON PROCEDURE indextable.build(regclass, integer, interval) IS
'Fills an index table that was created with populate => false, in committed batches, while others read and write; goes on where it was cut off. batch_size is in rows, NULL: indextable.batch_size; pause is slept after each batch, 0: as fast as possible, NULL: for as long as writers of the fact table need to keep most of their rate. Not in a transaction block. Only for the owner';

CREATE PROCEDURE indextable.rebuild(index_table regclass, batch_size integer DEFAULT NULL, pause interval DEFAULT NULL)
LANGUAGE C
AS 'MODULE_PATHNAME', 'indextable_rebuild';
COMMENT ON PROCEDURE indextable.rebuild(regclass, integer, interval) IS
'Makes the entries of an index table anew, in committed batches, while others read and write; the old ones serve until the new ones take their place. Carries out what alter() was told with populate => false; brings an index table that is invalid back to active. Goes on where it was cut off. Parameters as for build(). Not in a transaction block. Only for the owner';

CREATE FUNCTION indextable.alter(index_table regclass, maintenance text DEFAULT NULL, strategy text DEFAULT NULL, include text[] DEFAULT NULL, filter text DEFAULT NULL, populate boolean DEFAULT true,
    partitions integer DEFAULT NULL, partition_by text DEFAULT NULL, partition_bounds text[] DEFAULT NULL, partition_tablespaces text[] DEFAULT NULL,
    is_unique boolean DEFAULT NULL, on_mismatch text DEFAULT NULL) RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_alter';
COMMENT ON FUNCTION indextable.alter(regclass, text, text, text[], text, boolean, integer, text, text[], text[], boolean, text) IS
'Gives an index table another maintenance, strategy, included fields or filter, or other partitions, as those of create(); by what it is partitioned stays. Makes it unique or not, and has it refuse or skip values that cannot be keys. NULL leaves them as they are, an empty include or filter takes them away. Blocks writers of the fact table until the transaction ends: shortly for another maintenance, uniqueness or on_mismatch, else while the entries are made anew; with populate => false rebuild() does that while others write, and until then nothing changes. Only for the owner';

-- Statistics -----------------------------------------------------------------

CREATE FUNCTION indextable.reset_stats(index_table regclass) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_reset_stats';
COMMENT ON FUNCTION indextable.reset_stats(regclass) IS
'Sets the counters of an index table, its indexes and its partitions to zero, at once and whether the transaction commits or not; they are the server''s own, which autovacuum uses, too. Only for its owner, not on a standby. NULL does nothing; a table that is no index table is an error';

-- Advice ---------------------------------------------------------------------

CREATE FUNCTION indextable.profile(
    fact_table  regclass,
    key         text[],
    include     text[]  DEFAULT NULL,
    filter      text    DEFAULT NULL,
    document    name    DEFAULT NULL,
    sample_rows integer DEFAULT 10000,
    OUT documents            bigint,
    OUT sampled              bigint,
    OUT partitions           integer,
    OUT document_bytes       float8,
    OUT filtered             float8,
    OUT missing              float8,
    OUT mismatching          float8,
    OUT entries_per_document float8,
    OUT entries              bigint,
    OUT keys                 bigint,
    OUT found                float8,
    OUT common_keys          text[],
    OUT common_shares        float8[],
    OUT key_bytes            float8,
    OUT entry_bytes          float8,
    OUT inserts              bigint,
    OUT updates              bigint,
    OUT hot_updates          bigint,
    OUT deletes              bigint,
    OUT scans                bigint,
    OUT since                timestamptz,
    OUT normalized_size      bigint,
    OUT partial_size         bigint,
    OUT denormalized_size    bigint,
    OUT native_size          bigint,
    OUT insert_cost          float8,
    OUT verdict              text,
    OUT strategy             text,
    OUT maintenance          text,
    OUT is_unique            boolean,
    OUT reasons              text[],
    OUT statement            text,
    OUT alternative          text)
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_profile';
COMMENT ON FUNCTION indextable.profile(regclass, text[], text[], text, name, integer) IS
'What advise() prints, as one row: estimates from a sample of about sample_rows rows, shares from 0 to 1, sizes in bytes, insert_cost as a multiple of a native index (GIN for an array), counts since the statistics were reset; verdict is index_table, filter, native_index, none, or undecided where there are few documents; statement does what is advised, alternative serves another use. NULL for fact_table or key is an error. Needs SELECT on the fact table, and no row security';

CREATE FUNCTION indextable.advise(
    fact_table  regclass,
    key         text[]  DEFAULT NULL,
    include     text[]  DEFAULT NULL,
    filter      text    DEFAULT NULL,
    document    name    DEFAULT NULL,
    sample_rows integer DEFAULT 10000,
    OUT topic   text,
    OUT advice  text) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 20
AS 'MODULE_PATHNAME', 'indextable_advise';
COMMENT ON FUNCTION indextable.advise(regclass, text[], text[], text, name, integer) IS
'Whether a key should have an index table, and which, with reasons and the statement to run, from a sample of about sample_rows rows (100 to 1000000; NULL: 10000) and the statistics of the server; changes nothing. Without a key: which fields of the documents are worth an index table, from such a sample, and from what the caller sees in indextable.missed. Other parameters as for create(), include and filter only with a key; NULL for fact_table is an error. Needs SELECT on the fact table and no row security; with a filter, an expression, or a cast of a column, for the owner only';

-- What triggers call ---------------------------------------------------------

CREATE FUNCTION indextable_internal.maintain() RETURNS trigger
LANGUAGE C AS 'MODULE_PATHNAME', 'indextable_maintain';
COMMENT ON FUNCTION indextable_internal.maintain() IS
'Trigger function of fact tables: keeps their index tables in step. Attached by indextable.create() only';

CREATE FUNCTION indextable_internal.guard() RETURNS trigger
LANGUAGE C AS 'MODULE_PATHNAME', 'indextable_guard';
COMMENT ON FUNCTION indextable_internal.guard() IS
'Trigger function of index tables: refuses writes by hand';

CREATE FUNCTION indextable_internal.missed_conditions(OUT fact_table regclass, OUT document name, OUT field text, OUT condition text, OUT planned bigint, OUT since timestamptz) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 20
AS 'MODULE_PATHNAME', 'indextable_missed_conditions';
COMMENT ON FUNCTION indextable_internal.missed_conditions() IS
'What the view indextable.missed shows: of tables of the caller, or for roles in pg_read_all_stats of all';

CREATE FUNCTION indextable_internal.drain_shards(fact_table regclass, batch_size integer) RETURNS bigint
LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'indextable_drain_shards';
COMMENT ON FUNCTION indextable_internal.drain_shards(regclass, integer) IS
'Applies one batch of what is queued for the shards of a distributed table on this node; called by drain() on all nodes';
REVOKE ALL ON FUNCTION indextable_internal.drain_shards(regclass, integer) FROM PUBLIC;

CREATE FUNCTION indextable_internal.lock_shards(shards bigint[]) RETURNS boolean
LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'indextable_lock_shards';
COMMENT ON FUNCTION indextable_internal.lock_shards(bigint[]) IS
'Keeps shards from being moved until the transaction ends, on the node that runs it; used by drains of distributed tables';

CREATE FUNCTION indextable_internal.on_drop() RETURNS event_trigger
LANGUAGE C AS 'MODULE_PATHNAME', 'indextable_on_drop';
COMMENT ON FUNCTION indextable_internal.on_drop() IS
'Event trigger function: forgets index tables and fact tables that were dropped';

CREATE FUNCTION indextable_internal.on_alter() RETURNS event_trigger
LANGUAGE C AS 'MODULE_PATHNAME', 'indextable_on_alter';
COMMENT ON FUNCTION indextable_internal.on_alter() IS
'Event trigger function: follows or refuses ALTER TABLE of fact tables and index tables';

CREATE FUNCTION indextable_internal.before_alter() RETURNS event_trigger
LANGUAGE C AS 'MODULE_PATHNAME', 'indextable_before_alter';
COMMENT ON FUNCTION indextable_internal.before_alter() IS
'Event trigger function: refuses to change the columns that entries depend on';

CREATE FUNCTION indextable_internal.restored() RETURNS trigger
LANGUAGE C AS 'MODULE_PATHNAME', 'indextable_restored';
COMMENT ON FUNCTION indextable_internal.restored() IS
'Trigger function of the catalog: adopts index tables that come from a dump, and asks for a worker';

CREATE TRIGGER restored AFTER INSERT ON indextable_internal.fact
FOR EACH STATEMENT EXECUTE FUNCTION indextable_internal.restored();
COMMENT ON TRIGGER restored ON indextable_internal.fact IS 'Adopts what comes from a dump';

CREATE TRIGGER restored AFTER INSERT ON indextable_internal.definition
FOR EACH STATEMENT EXECUTE FUNCTION indextable_internal.restored();
COMMENT ON TRIGGER restored ON indextable_internal.definition IS 'Adopts what comes from a dump';

-- maintain() and guard() are everybody's: who adds a partition to a table has the server clone its row triggers, which
-- takes that right. They do nothing for triggers that are not ours.
REVOKE ALL ON FUNCTION indextable_internal.restored(), indextable_internal.on_drop(),
    indextable_internal.on_alter(), indextable_internal.before_alter() FROM PUBLIC;

CREATE EVENT TRIGGER indextable_on_drop ON sql_drop EXECUTE FUNCTION indextable_internal.on_drop();
COMMENT ON EVENT TRIGGER indextable_on_drop IS
'Forgets index tables and fact tables that were dropped';

CREATE EVENT TRIGGER indextable_on_alter ON ddl_command_end
WHEN TAG IN ('ALTER TABLE', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW', 'ALTER FOREIGN TABLE', 'CREATE TABLE', 'CREATE FOREIGN TABLE', 'CREATE SCHEMA', 'CREATE TRIGGER', 'CREATE SUBSCRIPTION', 'ALTER SUBSCRIPTION',
    'ALTER SCHEMA', 'ALTER FUNCTION', 'ALTER ROUTINE', 'ALTER TYPE', 'ALTER DOMAIN', 'ALTER OPERATOR', 'ALTER COLLATION', 'ALTER EXTENSION')
EXECUTE FUNCTION indextable_internal.on_alter();
COMMENT ON EVENT TRIGGER indextable_on_alter IS
'Follows renames and a new owner of fact tables, and refuses what would make an index table wrong';

CREATE EVENT TRIGGER indextable_before_alter ON ddl_command_start
WHEN TAG IN ('CREATE TABLE', 'CREATE SCHEMA', 'CREATE FOREIGN TABLE', 'DROP TABLE', 'DROP FOREIGN TABLE', 'DROP SERVER', 'DROP FOREIGN DATA WRAPPER', 'DROP EXTENSION', 'DROP SCHEMA', 'DROP OWNED', 'ALTER TABLE', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW', 'ALTER FOREIGN TABLE', 'ALTER INDEX', 'ALTER TRIGGER',
    'ALTER SCHEMA', 'ALTER FUNCTION', 'ALTER PROCEDURE', 'ALTER ROUTINE', 'ALTER TYPE', 'ALTER DOMAIN', 'ALTER OPERATOR', 'ALTER COLLATION', 'ALTER EXTENSION')
EXECUTE FUNCTION indextable_internal.before_alter();
COMMENT ON EVENT TRIGGER indextable_before_alter IS
'Refuses what upkeep would not see: a rewrite of the columns that entries depend on, children of fact tables, foreign keys to index tables';

CREATE EVENT TRIGGER indextable_on_rewrite ON table_rewrite EXECUTE FUNCTION indextable_internal.before_alter();
COMMENT ON EVENT TRIGGER indextable_on_rewrite IS
'Refuses to rewrite columns that entries depend on, once more when the table is locked';

-- What there is --------------------------------------------------------------

CREATE VIEW indextable.queues AS
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
       q.error AS last_error,
       q.since AS last_error_at,
       q.applied,
       q.applied_at,
       q.size,
       s.srvname AS server,
       q.next_try,
       q.blocked_by
FROM (SELECT f.fact_table, 0::oid AS server, b.backlog, b.oldest, b.size, a.applied, a.rate, a.applied_at, a.error, a.since, a.waiting, a.next_try, a.blocked_by
      FROM indextable_internal.fact f
      CROSS JOIN LATERAL indextable_internal.queue_status(f.fact_table) b
      LEFT JOIN LATERAL indextable_internal.queue_activity(f.fact_table, 0) a ON true
      WHERE f.queue IS NOT NULL
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
COMMENT ON VIEW indextable.queues IS 'The queues of asynchronous index tables: how far they are behind, and who is at work';
COMMENT ON COLUMN indextable.queues.fact_table    IS 'the fact table whose changes are queued';
COMMENT ON COLUMN indextable.queues.backlog       IS 'number of changes that are not applied yet; NULL, as lag, if it is not known: while somebody has a queue table locked (size is NULL, too), a node of Citus cannot be reached, or a server with feeds does not answer or is not asked by any worker. Of a distributed fact table the backlog is that of all nodes, and workers and errors are those of this one';
COMMENT ON COLUMN indextable.queues.lag           IS 'age of the oldest of them, from the beginning of its statement; zero if there are none';
COMMENT ON COLUMN indextable.queues.rate          IS 'changes applied a second by workers, over the last seconds in which they did any';
COMMENT ON COLUMN indextable.queues.rejected      IS 'number of entries that are lacking because of an error; see indextable.rejected';
COMMENT ON COLUMN indextable.queues.workers       IS 'number of background workers in this database';
COMMENT ON COLUMN indextable.queues.worker_state  IS 'waiting: another session has a lock that the next batch needs; failing: the last batch could not be applied; both are tried again. Otherwise none, idle or draining';
COMMENT ON COLUMN indextable.queues.last_error    IS 'why it could not, or for what the worker waits';
COMMENT ON COLUMN indextable.queues.last_error_at IS 'since when; or, if there is no error, since when the server with the feeds was not asked';
COMMENT ON COLUMN indextable.queues.applied       IS 'changes applied by workers since the server started';
COMMENT ON COLUMN indextable.queues.applied_at    IS 'when the last of them were';
COMMENT ON COLUMN indextable.queues.size          IS 'bytes of the queue tables';
COMMENT ON COLUMN indextable.queues.server        IS 'the foreign server from whose feeds the changes come, with the backlog as it was when a worker last asked; NULL: the queue on this server, whose row counts what is rejected from all';
COMMENT ON COLUMN indextable.queues.next_try      IS 'when it is tried again; sooner if DDL may have mended it';
COMMENT ON COLUMN indextable.queues.blocked_by    IS 'processes that keep it waiting at this moment, as pg_blocking_pids() counts: 0 is a prepared transaction; NULL between two tries';

CREATE VIEW indextable.progress AS
SELECT coalesce(d.replaces, b.index_table) AS index_table,
       d.fact_table,
       CASE WHEN d.replaces IS NULL THEN 'build' ELSE 'rebuild' END AS command,
       b.phase,
       b.rows_done,
       greatest(b.rows_total::bigint, b.rows_done) AS rows_total,
       b.rows_done / nullif(extract(epoch FROM b.updated_at - b.started_at), 0)::float8 AS rate,
       (b.updated_at - b.started_at) * (greatest(b.rows_total / b.rows_done, 1) - 1) AS remaining,
       b.started_at,
       b.updated_at
FROM indextable_internal.build b
JOIN indextable_internal.definition d ON d.index_table = b.index_table;
COMMENT ON VIEW indextable.progress IS 'Index tables that are being built, and how far they are';
COMMENT ON COLUMN indextable.progress.index_table IS 'the index table';
COMMENT ON COLUMN indextable.progress.fact_table  IS 'its fact table';
COMMENT ON COLUMN indextable.progress.command     IS 'build or rebuild';
COMMENT ON COLUMN indextable.progress.phase       IS 'reading rows, waiting for old snapshots (of transactions that began before it was full), catching up (with changes made meanwhile), or waiting for locks';
COMMENT ON COLUMN indextable.progress.rows_done   IS 'rows of the fact table that were done';
COMMENT ON COLUMN indextable.progress.rows_total  IS 'estimated number of all of them';
COMMENT ON COLUMN indextable.progress.rate        IS 'rows a second, since the build began';
COMMENT ON COLUMN indextable.progress.remaining   IS 'estimated time until all are done';
COMMENT ON COLUMN indextable.progress.started_at  IS 'when the first batch began';
COMMENT ON COLUMN indextable.progress.updated_at  IS 'when the last batch ended';

CREATE VIEW indextable.rejected WITH (security_barrier) AS
SELECT coalesce(d.replaces, r.index_table) AS index_table,
       d.fact_table,
       CASE WHEN o.is_owner THEN r.primary_key END AS primary_key,
       r.sqlstate,
       CASE WHEN o.is_owner THEN r.message ELSE '<insufficient privilege>' END AS message,
       r.attempts,
       r.first_at,
       r.last_at,
       r.next_try
FROM indextable_internal.rejection r
JOIN indextable_internal.definition d ON d.index_table = r.index_table
JOIN pg_catalog.pg_class c ON c.oid = r.index_table
CROSS JOIN LATERAL (SELECT pg_catalog.pg_has_role(c.relowner, 'USAGE') AS is_owner) o
WHERE o.is_owner OR pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE');
COMMENT ON VIEW indextable.rejected IS 'Rows that lack their entry in an asynchronous index table of yours because of an error; roles in pg_read_all_stats, such as pg_monitor, see those of others, too, without what is in the rows';
COMMENT ON COLUMN indextable.rejected.index_table IS 'the index table that lacks the entry, or the entries';
COMMENT ON COLUMN indextable.rejected.fact_table  IS 'its fact table';
COMMENT ON COLUMN indextable.rejected.primary_key IS 'primary key of the fact row, a text for each column';
COMMENT ON COLUMN indextable.rejected.sqlstate    IS 'SQLSTATE of the error';
COMMENT ON COLUMN indextable.rejected.message     IS 'its message';
COMMENT ON COLUMN indextable.rejected.attempts    IS 'how often it was tried';
COMMENT ON COLUMN indextable.rejected.first_at    IS 'when it failed first';
COMMENT ON COLUMN indextable.rejected.last_at     IS 'when it failed last';
COMMENT ON COLUMN indextable.rejected.next_try    IS 'when it is tried again; NULL: when the row changes';

CREATE VIEW indextable.checks WITH (security_barrier) AS
SELECT k.index_table,
       d.fact_table,
       k.checked_at,
       k.duration,
       k.sample,
       k.missing,
       k.dangling,
       k.stale,
       k.rejected,
       k.setup,
       CASE WHEN k.example IS NULL OR o.is_owner THEN k.example ELSE '<insufficient privilege>' END AS example,
       CASE WHEN k.error IS NULL OR o.is_owner THEN k.error ELSE '<insufficient privilege>' END AS error,
       k.repaired_at
FROM indextable_internal.checked k
JOIN indextable_internal.definition d ON d.index_table = k.index_table
JOIN pg_catalog.pg_class c ON c.oid = k.index_table
CROSS JOIN LATERAL (SELECT pg_catalog.pg_has_role(c.relowner, 'USAGE') AS is_owner) o
WHERE o.is_owner OR pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE');
COMMENT ON VIEW indextable.checks IS 'What the periodic check (indextable.check_interval) has found in your index tables, the last 100 times for each; roles in pg_read_all_stats, such as pg_monitor, see the counts of others, too';
COMMENT ON COLUMN indextable.checks.index_table IS 'the index table';
COMMENT ON COLUMN indextable.checks.fact_table  IS 'its fact table';
COMMENT ON COLUMN indextable.checks.checked_at  IS 'when the check began';
COMMENT ON COLUMN indextable.checks.duration    IS 'how long it took';
COMMENT ON COLUMN indextable.checks.sample      IS 'share of both tables that was looked at, in percent';
COMMENT ON COLUMN indextable.checks.missing     IS 'entries that are missing';
COMMENT ON COLUMN indextable.checks.dangling    IS 'entries of rows that are gone';
COMMENT ON COLUMN indextable.checks.stale       IS 'entries of rows as they were';
COMMENT ON COLUMN indextable.checks.rejected    IS 'rows that cannot have their entry';
COMMENT ON COLUMN indextable.checks.setup       IS 'problems of triggers, owner, indexes, state';
COMMENT ON COLUMN indextable.checks.example     IS 'the first of all these, with the primary key of the row';
COMMENT ON COLUMN indextable.checks.error       IS 'why it could not be checked';
COMMENT ON COLUMN indextable.checks.repaired_at IS 'when it was repaired, under indextable.check_repair';

CREATE VIEW indextable.index_tables AS
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
        WHERE t.partrelid = c.oid) AS partition_by
FROM indextable_internal.definition d
JOIN pg_catalog.pg_class c ON c.oid = d.index_table
WHERE d.replaces IS NULL;
COMMENT ON VIEW indextable.index_tables IS 'The index tables of this database: definition and state';
COMMENT ON COLUMN indextable.index_tables.index_table  IS 'the index table';
COMMENT ON COLUMN indextable.index_tables.fact_table   IS 'the table it is kept in step with';
COMMENT ON COLUMN indextable.index_tables.state        IS 'building, active or invalid';
COMMENT ON COLUMN indextable.index_tables.problem      IS 'why the state is invalid; NULL otherwise';
COMMENT ON COLUMN indextable.index_tables.strategy     IS 'normalized, partial or denormalized';
COMMENT ON COLUMN indextable.index_tables.maintenance  IS 'transactional or async';
COMMENT ON COLUMN indextable.index_tables.key          IS 'key field specs, in order';
COMMENT ON COLUMN indextable.index_tables.include      IS 'field specs of the included fields';
COMMENT ON COLUMN indextable.index_tables.filter       IS 'which fact rows have entries; NULL: all';
COMMENT ON COLUMN indextable.index_tables.is_unique    IS 'whether a key may have one entry only';
COMMENT ON COLUMN indextable.index_tables.on_mismatch  IS 'what becomes of a value that cannot be a key: error or skip';
COMMENT ON COLUMN indextable.index_tables.document     IS 'the JSONB column';
COMMENT ON COLUMN indextable.index_tables.partitions   IS 'number of partitions of the index table; 0: not partitioned';
COMMENT ON COLUMN indextable.index_tables.partition_by IS 'by which key field it is partitioned, and how; NULL: not partitioned';

-- The counters of tables and of indexes have one kind of names: an index has scans and no insertions, a table both.
-- When they were scanned last is known since PostgreSQL 16: the columns are looked for where there may be none.
CREATE VIEW indextable.index_table_stats AS
SELECT s.index_table,
       s.fact_table,
       s.entries,
       s.table_size,
       s.indexes_size,
       s.reads,
       s.last_read,
       s.entries_read,
       s.entries_written,
       s.skipped,
       s.rejected,
       q.backlog,
       q.lag,
       s.since,
       CASE WHEN s.since > statement_timestamp() - interval '1 day' AND (s.reads = 0 OR s.entries_written > 1000 * s.reads) THEN 'new'
            WHEN s.reads = 0 THEN 'unused'
            WHEN s.entries_written > 1000 * s.reads OR s.last_read < statement_timestamp() - interval '30 days' THEN 'seldom read'
            WHEN s.reads IS NOT NULL THEN 'in use' END AS verdict
FROM (SELECT d.index_table,
             d.fact_table,
             d.maintenance,
             CASE WHEN NOT x.distributed THEN t.entries END AS entries,
             x.table_size,
             x.indexes_size,
             CASE WHEN NOT x.distributed THEN t.reads END AS reads,
             CASE WHEN NOT x.distributed THEN greatest(t.last_scan, n.last_read) END AS last_read,
             CASE WHEN NOT x.distributed THEN t.entries_read END AS entries_read,
             CASE WHEN NOT x.distributed THEN t.entries_written END AS entries_written,
             coalesce((SELECT sum(k.entries) FROM indextable_internal.skipped k
                       WHERE k.index_table = d.index_table), 0)::bigint AS skipped,
             CASE WHEN d.maintenance = 'async' THEN
                 (SELECT count(*) FROM indextable_internal.rejection r WHERE r.index_table = d.index_table)
             END AS rejected,
             greatest(n.since, r.database, r.server) AS since
      FROM indextable_internal.definition d
      CROSS JOIN LATERAL (
          SELECT CASE WHEN min(c.reltuples) FILTER (WHERE c.relkind = 'r') >= 0 THEN
                     (sum(c.reltuples) FILTER (WHERE c.relkind = 'r'))::bigint END      AS entries,
                 sum(pg_catalog.pg_stat_get_numscans(c.oid) + i.scans)::bigint          AS reads,
                 max((SELECT greatest((pg_catalog.to_jsonb(a) ->> 'last_seq_scan')::timestamptz,
                                      (pg_catalog.to_jsonb(a) ->> 'last_idx_scan')::timestamptz)
                      FROM pg_catalog.pg_stat_all_tables a WHERE a.relid = c.oid))      AS last_scan,
                 sum(pg_catalog.pg_stat_get_tuples_returned(c.oid) + i.entries)::bigint AS entries_read,
                 sum(pg_catalog.pg_stat_get_tuples_inserted(c.oid) + pg_catalog.pg_stat_get_tuples_updated(c.oid)
                     + pg_catalog.pg_stat_get_tuples_deleted(c.oid))::bigint            AS entries_written
          FROM (SELECT d.index_table::oid UNION ALL
                SELECT p.inhrelid FROM pg_catalog.pg_inherits p WHERE p.inhparent = d.index_table) p (relid)
          JOIN pg_catalog.pg_class c ON c.oid = p.relid
          CROSS JOIN LATERAL (SELECT coalesce(sum(pg_catalog.pg_stat_get_numscans(x.indexrelid)), 0)        AS scans,
                                     coalesce(sum(pg_catalog.pg_stat_get_tuples_returned(x.indexrelid)), 0) AS entries
                              FROM pg_catalog.pg_index x WHERE x.indrelid = c.oid) i
          HAVING count(*) > 0) t
      CROSS JOIN LATERAL indextable_internal.table_sizes(d.index_table) x
      LEFT JOIN indextable_internal.counted n ON n.index_table = d.index_table
      -- Where they were reset with others.  A crash is seen by counters that nobody resets by himself.
      CROSS JOIN (SELECT pg_catalog.pg_stat_get_db_stat_reset_time(b.oid) AS database,
                         least(pg_catalog.pg_stat_get_bgwriter_stat_reset_time(), a.stats_reset) AS server
                  FROM pg_catalog.pg_database b, pg_catalog.pg_stat_archiver a
                  WHERE b.datname = pg_catalog.current_database()) r
      WHERE d.replaces IS NULL) s
LEFT JOIN LATERAL (SELECT sum(o.backlog)::bigint AS backlog, max(o.lag) AS lag FROM indextable.queues o
                   WHERE o.fact_table = s.fact_table AND s.maintenance = 'async') q ON true;
COMMENT ON VIEW indextable.index_table_stats IS 'How large the index tables of this database are, how much they are read and written, by this server, as its own statistics count it, and how far they are behind; what the upkeep reads is not among it, and what a standby reads counts there. Of a distributed index table the sizes are those of all nodes, and NULL while one cannot be reached; what its shards are read and written is not known here';
COMMENT ON COLUMN indextable.index_table_stats.index_table     IS 'the index table';
COMMENT ON COLUMN indextable.index_table_stats.fact_table      IS 'the table it is kept in step with';
COMMENT ON COLUMN indextable.index_table_stats.entries         IS 'estimated number of entries, as of the last VACUUM or ANALYZE; NULL before the first';
COMMENT ON COLUMN indextable.index_table_stats.table_size      IS 'bytes of the table with its partitions and TOAST tables, without its indexes; NULL while another session has one of these locked';
COMMENT ON COLUMN indextable.index_table_stats.indexes_size    IS 'bytes of its indexes; NULL while another session has it locked';
COMMENT ON COLUMN indextable.index_table_stats.reads           IS 'scans of the index table, its indexes and partitions: look-ups, queries, plain SQL';
COMMENT ON COLUMN indextable.index_table_stats.last_read       IS 'when the last of them was; NULL: never, or not known. PostgreSQL 15: when a worker saw that there were more';
COMMENT ON COLUMN indextable.index_table_stats.entries_read    IS 'entries that these scans brought';
COMMENT ON COLUMN indextable.index_table_stats.entries_written IS 'entries inserted, updated and deleted, also when create() or build() filled it, and in transactions that were rolled back';
COMMENT ON COLUMN indextable.index_table_stats.skipped         IS 'entries left out under on_mismatch => ''skip'' since the index table was made';
COMMENT ON COLUMN indextable.index_table_stats.rejected        IS 'asynchronous: number of rows that lack their entry because of an error; see indextable.rejected. Else NULL';
COMMENT ON COLUMN indextable.index_table_stats.backlog         IS 'asynchronous: number of changes that are not applied yet. Else NULL';
COMMENT ON COLUMN indextable.index_table_stats.lag             IS 'asynchronous: age of the oldest of them, from the beginning of its statement; zero if there are none. Else NULL';
COMMENT ON COLUMN indextable.index_table_stats.since           IS 'since when is counted: creation, reset, or the last crash of the server';
COMMENT ON COLUMN indextable.index_table_stats.verdict         IS 'unused; seldom read, if more than 1000 entries were written for each read, or the last read is more than 30 days ago; new instead of these if counted for less than a day; else in use. What is not known is taken for long counted, and lately read';

CREATE VIEW indextable.distribution AS
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
             pg_catalog.pg_total_relation_size(t.relid) AS size,
             s.n_tup_ins + s.n_tup_upd + s.n_tup_del    AS writes
      FROM (SELECT fact_table FROM indextable_internal.fact
            UNION SELECT index_table FROM indextable_internal.definition WHERE replaces IS NULL) r (root)
      CROSS JOIN LATERAL (SELECT relid, isleaf FROM pg_catalog.pg_partition_tree(r.root)
                          UNION SELECT r.root, (SELECT relkind FROM pg_catalog.pg_class WHERE oid = r.root) = 'r') t
      JOIN pg_catalog.pg_class c ON c.oid = t.relid
      LEFT JOIN pg_catalog.pg_stat_all_tables s ON s.relid = t.relid
      WHERE t.isleaf) x
WINDOW w AS (PARTITION BY x.root);
COMMENT ON VIEW indextable.distribution IS 'How the rows of fact tables and index tables, and the writes to them, are spread over their partitions';
COMMENT ON COLUMN indextable.distribution."table"           IS 'the fact table or the index table';
COMMENT ON COLUMN indextable.distribution.partition         IS 'one of its leaf partitions; itself if it is not partitioned';
COMMENT ON COLUMN indextable.distribution.rows              IS 'estimated number of rows, as of the last VACUUM or ANALYZE; NULL before the first';
COMMENT ON COLUMN indextable.distribution.size              IS 'bytes, with indexes';
COMMENT ON COLUMN indextable.distribution.writes            IS 'rows inserted, updated and deleted since the statistics were reset';
COMMENT ON COLUMN indextable.distribution.rows_to_average   IS 'rows, as a multiple of the average partition: far from 1 is uneven';
COMMENT ON COLUMN indextable.distribution.size_to_average   IS 'size, likewise';
COMMENT ON COLUMN indextable.distribution.writes_to_average IS 'writes, likewise: far above 1 is hot';

CREATE VIEW indextable.missed AS
SELECT * FROM indextable_internal.missed_conditions();
COMMENT ON VIEW indextable.missed IS 'Conditions on fields of documents for which plain queries have found no index table, counted since the server was started if the library is preloaded: of tables of yours; roles in pg_read_all_stats, such as pg_monitor, see those of others, too. Counting begins anew for a table when an index table is created over it';
COMMENT ON COLUMN indextable.missed.fact_table IS 'the table';
COMMENT ON COLUMN indextable.missed.document   IS 'its column with the documents';
COMMENT ON COLUMN indextable.missed.field      IS 'the field, as a key of create()';
COMMENT ON COLUMN indextable.missed.condition  IS 'equal: compared by = with a value, or by IN with several; range: by <, <=, > or >=; contained: a text that the documents, or an array, contain; join: compared by = with columns of other tables';
COMMENT ON COLUMN indextable.missed.planned    IS 'how often such a query was planned; a plan that is kept, as of a prepared statement, counts once';
COMMENT ON COLUMN indextable.missed.since      IS 'when it was planned first';

GRANT USAGE ON SCHEMA indextable TO PUBLIC;
GRANT SELECT ON indextable.index_tables, indextable.index_table_stats, indextable.queues, indextable.rejected, indextable.checks, indextable.progress, indextable.distribution, indextable.missed TO PUBLIC;

-- Nobody has rights on this by default privileges, which are meant for other tables, functions and schemas; and nobody but
-- the owner creates anything in the schemas.
REVOKE CREATE ON SCHEMA indextable FROM PUBLIC;
DO $$
DECLARE
    object  text;
    grantee text;
BEGIN
    FOR object, grantee IN
        SELECT DISTINCT o.name, pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee))
        FROM (SELECT 0, 'SCHEMA ' || n.oid::regnamespace, n.nspacl, n.nspowner FROM pg_catalog.pg_namespace n
              WHERE n.nspname IN ('indextable', 'indextable_internal')
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
