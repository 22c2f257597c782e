-- Install script of indextable 1.0: the catalog, the functions users call, the
-- functions triggers call, and the view of what there is.

\echo Use "CREATE EXTENSION indextable" to load this file. \quit

-- Operators and functions of others in the schema of the extension are not to be taken for the server's own.
SET LOCAL search_path = pg_catalog, pg_temp;

-- The catalog ----------------------------------------------------------------

CREATE TABLE indextable.fact (
    fact_table regclass PRIMARY KEY,
    queue      regclass,
    spare      regclass
);
COMMENT ON TABLE indextable.fact IS
'Fact tables whose triggers keep index tables in step; a row lives as long as the triggers do';
COMMENT ON COLUMN indextable.fact.fact_table IS 'the table that holds the documents';
COMMENT ON COLUMN indextable.fact.queue      IS 'the queue table that changes are appended to; NULL without asynchronous index tables';
COMMENT ON COLUMN indextable.fact.spare      IS 'the queue table that changes were appended to before, and will be when it is empty';

CREATE TABLE indextable.definition (
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
CREATE INDEX definition_fact_table ON indextable.definition (fact_table);
COMMENT ON TABLE indextable.definition IS
'One row per index table, written by indextable.create() and removed with the table; read it through indextable.index_tables';
COMMENT ON COLUMN indextable.definition.index_table  IS 'the index table';
COMMENT ON COLUMN indextable.definition.fact_table   IS 'the table it is kept in step with';
COMMENT ON COLUMN indextable.definition.fact_oid     IS 'OID of the fact table when the row was written; another one means the row was restored from a dump';
COMMENT ON COLUMN indextable.definition.fact_columns IS 'names of the fact table''s columns by number when the row was written (dropped: empty), so that fields follow renames';
COMMENT ON COLUMN indextable.definition.primary_key  IS 'columns of the fact table''s primary key, by their names in fact_columns';
COMMENT ON COLUMN indextable.definition.document     IS 'the JSONB column, by its name in fact_columns';
COMMENT ON COLUMN indextable.definition.key          IS 'key field specs, in order';
COMMENT ON COLUMN indextable.definition.include      IS 'field specs of the included fields (partial)';
COMMENT ON COLUMN indextable.definition.filter       IS 'which fact rows have entries; NULL: all';
COMMENT ON COLUMN indextable.definition.strategy     IS 'normalized, partial or denormalized';
COMMENT ON COLUMN indextable.definition.maintenance  IS 'transactional or async';
COMMENT ON COLUMN indextable.definition.is_unique    IS 'whether a key may have one entry only';
COMMENT ON COLUMN indextable.definition.on_mismatch  IS 'what becomes of a value that cannot be a key: error or skip';
COMMENT ON COLUMN indextable.definition.state        IS 'building, active or invalid';
COMMENT ON COLUMN indextable.definition.problem      IS 'why the state is invalid; NULL otherwise';
COMMENT ON COLUMN indextable.definition.replaces     IS 'the index table whose contents and definition this one is to become, by alter() or rebuild(); NULL: none';

CREATE TABLE indextable.skipped (
    index_table regclass    NOT NULL,
    at          timestamptz NOT NULL,
    entries     bigint      NOT NULL
);
CREATE INDEX skipped_index_table ON indextable.skipped (index_table);
ALTER TABLE indextable.skipped REPLICA IDENTITY FULL;  -- a publication of all tables must not make it read-only
COMMENT ON TABLE indextable.skipped IS
'Entries left out under on_mismatch => ''skip'': a row per statement that left out any, summed up now and then';
COMMENT ON COLUMN indextable.skipped.index_table IS 'the index table that lacks the entries';
COMMENT ON COLUMN indextable.skipped.at          IS 'when the transaction began that wrote the fact rows, or the last of them';
COMMENT ON COLUMN indextable.skipped.entries     IS 'number of entries left out';

CREATE TABLE indextable.rejection (
    index_table regclass    NOT NULL,
    primary_key text[]      NOT NULL,
    sqlstate    text        NOT NULL,
    message     text        NOT NULL,
    attempts    integer     NOT NULL,
    first_at    timestamptz NOT NULL,
    last_at     timestamptz NOT NULL,
    next_try    timestamptz
);
CREATE INDEX rejection_index_table ON indextable.rejection (index_table, next_try);
CREATE INDEX rejection_key ON indextable.rejection (index_table, hash_array_extended(primary_key, 0));
ALTER TABLE indextable.rejection REPLICA IDENTITY FULL;  -- as indextable.skipped
COMMENT ON TABLE indextable.rejection IS
'Rows that lack their entry in an asynchronous index table because of an error; read it through indextable.rejected';
COMMENT ON COLUMN indextable.rejection.index_table IS 'the index table that lacks the entry, or the entries';
COMMENT ON COLUMN indextable.rejection.primary_key IS 'primary key of the fact row, a text for each column';
COMMENT ON COLUMN indextable.rejection.sqlstate    IS 'SQLSTATE of the error';
COMMENT ON COLUMN indextable.rejection.message     IS 'its message';
COMMENT ON COLUMN indextable.rejection.attempts    IS 'how often it was tried';
COMMENT ON COLUMN indextable.rejection.first_at    IS 'when it failed first';
COMMENT ON COLUMN indextable.rejection.last_at     IS 'when it failed last';
COMMENT ON COLUMN indextable.rejection.next_try    IS 'when it is tried again; NULL: when the row changes';

CREATE TABLE indextable.build (
    index_table regclass PRIMARY KEY,
    phase       text             NOT NULL,
    last_table  regclass         NOT NULL,
    last_key    text[]           NOT NULL,
    rows_done   bigint           NOT NULL,
    rows_total  double precision NOT NULL,
    started_at  timestamptz      NOT NULL,
    updated_at  timestamptz      NOT NULL
);
COMMENT ON TABLE indextable.build IS 'How far indextable.build() has come; read it through indextable.progress';
COMMENT ON COLUMN indextable.build.index_table IS 'the index table that is being built';
COMMENT ON COLUMN indextable.build.phase       IS 'what it is doing: reading rows, waiting for old snapshots, catching up with the queue, waiting for locks';
COMMENT ON COLUMN indextable.build.last_table  IS 'the fact table, or the partition of it, that is read';
COMMENT ON COLUMN indextable.build.last_key    IS 'primary key of the last row that was done, a text for each column';
COMMENT ON COLUMN indextable.build.rows_done   IS 'rows of the fact table that were done';
COMMENT ON COLUMN indextable.build.rows_total  IS 'estimated number of all of them';
COMMENT ON COLUMN indextable.build.started_at  IS 'when the first batch began';
COMMENT ON COLUMN indextable.build.updated_at  IS 'when the last batch ended';

CREATE TABLE indextable.checked (
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
CREATE INDEX checked_index_table ON indextable.checked (index_table, checked_at);
ALTER TABLE indextable.checked REPLICA IDENTITY FULL;  -- as indextable.skipped
COMMENT ON TABLE indextable.checked IS
'What the periodic check has found, the last 100 times for each index table; read it through indextable.checks';
COMMENT ON COLUMN indextable.checked.index_table IS 'the index table';
COMMENT ON COLUMN indextable.checked.checked_at  IS 'when the check began';
COMMENT ON COLUMN indextable.checked.duration    IS 'how long it took';
COMMENT ON COLUMN indextable.checked.sample      IS 'share of both tables that was looked at, in percent';
COMMENT ON COLUMN indextable.checked.missing     IS 'entries that are missing';
COMMENT ON COLUMN indextable.checked.dangling    IS 'entries of rows that are gone';
COMMENT ON COLUMN indextable.checked.stale       IS 'entries of rows as they were';
COMMENT ON COLUMN indextable.checked.rejected    IS 'rows that cannot have their entry';
COMMENT ON COLUMN indextable.checked.setup       IS 'problems of triggers, owner, indexes, state';
COMMENT ON COLUMN indextable.checked.example     IS 'the first of all these, with the primary key of the row';
COMMENT ON COLUMN indextable.checked.error       IS 'why it could not be checked';
COMMENT ON COLUMN indextable.checked.repaired_at IS 'when it was repaired, under indextable.check_repair';

CREATE TABLE indextable.counted (
    index_table regclass PRIMARY KEY,
    since       timestamptz NOT NULL,
    reads       bigint      NOT NULL,
    last_read   timestamptz
);
COMMENT ON TABLE indextable.counted IS 'What the server''s statistics do not know of index tables; read it through indextable.usage';
COMMENT ON COLUMN indextable.counted.index_table IS 'the index table';
COMMENT ON COLUMN indextable.counted.since       IS 'when it was created, or its counters reset by reset_usage()';
COMMENT ON COLUMN indextable.counted.reads       IS 'PostgreSQL 15: reads, when a worker last saw that there were more';
COMMENT ON COLUMN indextable.counted.last_read   IS 'PostgreSQL 15: when that was; NULL: never';

SELECT pg_catalog.pg_extension_config_dump('indextable.fact', '');
SELECT pg_catalog.pg_extension_config_dump('indextable.build', '');
SELECT pg_catalog.pg_extension_config_dump('indextable.definition', '');
SELECT pg_catalog.pg_extension_config_dump('indextable.skipped', '');
SELECT pg_catalog.pg_extension_config_dump('indextable.rejection', '');
SELECT pg_catalog.pg_extension_config_dump('indextable.counted', '');

REVOKE ALL ON indextable.fact, indextable.definition, indextable.skipped, indextable.rejection, indextable.build, indextable.checked, indextable.counted FROM PUBLIC;

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
    primary_key           name[] DEFAULT NULL
) RETURNS regclass
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_create';
COMMENT ON FUNCTION indextable."create"(text, regclass, text[], text, text[], text, text, boolean, integer, text, name, boolean, text, text[], text[], name[]) IS
'Makes an index table over a table of JSONB documents, fills it, and keeps it in step from then on; returns the index table. Blocks writers of the fact table, not readers, until the transaction ends. NULL for index_table, fact_table or key is an error; other parameters take their default when NULL. The index table itself is partitioned if partitions is a number of hash partitions by its first key field, or if partition_by is RANGE, LIST or HASH of one key field: with partition_bounds as the server writes them, without or with FOR VALUES; a DEFAULT partition is added. partition_tablespaces has one element for each partition, or one for all. primary_key names the columns that identify a row of a partitioned fact table with foreign partitions, which cannot have a primary key; NULL: the primary key';

CREATE FUNCTION indextable."drop"(index_table regclass) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_drop';
COMMENT ON FUNCTION indextable."drop"(regclass) IS
'Drops an index table, and the fact table''s triggers with its last one. Plain DROP TABLE does the same. NULL does nothing; a table that is no index table is an error';

CREATE FUNCTION indextable.lookup(index_table regclass, key jsonb, max_lag interval DEFAULT NULL, timeout interval DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE C STABLE PARALLEL UNSAFE ROWS 10 COST 10
AS 'MODULE_PATHNAME', 'indextable_lookup_documents';
COMMENT ON FUNCTION indextable.lookup(regclass, jsonb, interval, interval) IS
'The documents under a key: {"column": value, ...} over all or the leading key columns of the index table, each fact row once, in the order of the index table. A null value matches nothing; an unknown column or a value of the wrong type is an error; NULL for index_table or key gives no rows. An asynchronous index table may be behind: if by more than max_lag, waits up to timeout (NULL: not at all) and then raises an error; NULL for max_lag allows any lag, or none if timeout is given';

CREATE FUNCTION indextable.lookup(row_type anyelement, index_table regclass, key jsonb, max_lag interval DEFAULT NULL, timeout interval DEFAULT NULL) RETURNS SETOF anyelement
LANGUAGE C STABLE PARALLEL UNSAFE ROWS 10 COST 10
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
    document    boolean  DEFAULT false,
    max_lag     interval DEFAULT NULL,
    timeout     interval DEFAULT NULL
) RETURNS TABLE (entry jsonb, document jsonb, cursor text)
LANGUAGE C STABLE PARALLEL UNSAFE ROWS 100 COST 100
AS 'MODULE_PATHNAME', 'indextable_query';
COMMENT ON FUNCTION indextable.query(regclass, jsonb, jsonb, boolean, integer, text, boolean, interval, interval) IS
'A page of an index table, in its order or descending: entries whose leading key columns are as in key, {"column": value, ...}, and whose next one fulfils condition, {"column": {"op": value}} with =, <, <=, >, >=, between or begins_with. Up to page_size entries (1 to 10000), after the one that cursor comes from; each comes with its own cursor, and with the document if document is true. Fewer than page_size: there were no more. A null value matches nothing; an unknown column, a value of the wrong type, a cursor of another index table or query is an error. max_lag and timeout as for lookup(). NULL for index_table or key gives no rows; other parameters take their default when NULL';

CREATE FUNCTION indextable.explain_query(
    index_table regclass,
    key         jsonb   DEFAULT '{}',
    condition   jsonb   DEFAULT NULL,
    descending  boolean DEFAULT false,
    page_size   integer DEFAULT 100,
    cursor      text    DEFAULT NULL,
    run         boolean DEFAULT false
) RETURNS SETOF text
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10 COST 100
AS 'MODULE_PATHNAME', 'indextable_explain_query';
COMMENT ON FUNCTION indextable.explain_query(regclass, jsonb, jsonb, boolean, integer, text, boolean) IS
'What EXPLAIN says of the statement that query() runs with these arguments; with run it is run, and EXPLAIN (ANALYZE, BUFFERS) says how it went. No rows where nothing has to be read. Errors and NULL as for query()';

-- Asynchronous index tables --------------------------------------------------

CREATE FUNCTION indextable.drain(fact_table regclass DEFAULT NULL, batch_size integer DEFAULT NULL) RETURNS bigint
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_drain';
COMMENT ON FUNCTION indextable.drain(regclass, integer) IS
'Applies queued changes to asynchronous index tables, in this transaction, batch_size changes at a time; returns how many it has applied. Returns when everything committed before the call is applied, by itself or by others. NULL for fact_table: those of all fact tables the caller owns; for batch_size: the setting indextable.batch_size';

CREATE FUNCTION indextable.queue_status(fact_table regclass, OUT backlog bigint, OUT oldest timestamptz, OUT size bigint)
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_queue_status';
COMMENT ON FUNCTION indextable.queue_status(regclass) IS
'Number of changes queued for a fact table''s asynchronous index tables, when the statement began that made the oldest, and the bytes of the queue tables; nulls for a table that has none, and while somebody has a queue table locked';

CREATE FUNCTION indextable.wait(index_table regclass, timeout interval DEFAULT '1 minute', xid xid8 DEFAULT NULL) RETURNS boolean
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_wait';
COMMENT ON FUNCTION indextable.wait(regclass, interval, xid8) IS
'Waits until every change that was committed before the call, and by the transaction xid if given, is applied to an asynchronous index table, or in vain: true, or false after timeout (NULL: waits for ever). An error for changes of the same transaction, and where its snapshot would not see the result. Transactional index tables need no waiting: true. NULL for index_table: NULL';

CREATE FUNCTION indextable.queue_activity(fact_table regclass, OUT applied bigint, OUT rate float8, OUT applied_at timestamptz, OUT error text, OUT error_at timestamptz)
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'indextable_queue_activity';
COMMENT ON FUNCTION indextable.queue_activity(regclass) IS
'What workers did for a fact table since the server started: changes applied, how many a second lately, when last, and the error that keeps them from applying more. NULL where indextable is not in shared_preload_libraries';

CREATE FUNCTION indextable.start_workers() RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_start_workers';
COMMENT ON FUNCTION indextable.start_workers() IS
'Starts draining in the current database by a background worker. Where indextable is in shared_preload_libraries this is undoing stop_workers(); elsewhere each call starts one worker, which lives until it is stopped or the server is';

CREATE FUNCTION indextable.stop_launched() RETURNS integer
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_stop_launched';
COMMENT ON FUNCTION indextable.stop_launched() IS
'Part of stop_workers(), for workers that start by themselves';

-- As its owner, since others see no background workers in pg_stat_activity; it shows those of this database and nothing else.
CREATE FUNCTION indextable.workers(OUT pid integer, OUT state text, OUT activity text, OUT started_at timestamptz) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 1 SET search_path = pg_catalog, pg_temp
AS $$
SELECT pid, CASE state WHEN 'active' THEN 'draining' ELSE 'idle' END, nullif(query, ''), backend_start
FROM pg_catalog.pg_stat_activity
WHERE backend_type = 'indextable worker' AND datname = pg_catalog.current_database()
$$;
COMMENT ON FUNCTION indextable.workers() IS
'The background workers of the current database: draining or idle, what they did last, and since when they are there';

CREATE FUNCTION indextable.stop_workers() RETURNS integer
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
SELECT coalesce(indextable.stop_launched(), (SELECT count(pg_terminate_backend(pid, 5000))::integer FROM indextable.workers()));
$$;
COMMENT ON FUNCTION indextable.stop_workers() IS
'Stops draining in the current database by background workers until start_workers() is called or the server restarted; returns how many were stopped';

REVOKE ALL ON FUNCTION indextable.start_workers(), indextable.stop_launched(), indextable.stop_workers() FROM PUBLIC;

-- Checks ---------------------------------------------------------------------

CREATE FUNCTION indextable.verify(index_table regclass, sample float8 DEFAULT NULL, OUT kind text, OUT key jsonb, OUT primary_key jsonb, OUT expected jsonb, OUT found jsonb, OUT problem text) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_verify';
COMMENT ON FUNCTION indextable.verify(regclass, float8) IS
'What is wrong with an index table, as one new snapshot sees it: entries that are missing, dangling (of a row that is gone) or stale (of a row as it was, or with other included fields than the row has), rows rejected because a value cannot be an entry, and its setup: triggers, owner, indexes, state. No rows: it is right. Changes that are queued are not counted against an asynchronous one. sample is the share of both tables to look at, in percent, chosen at random by blocks; NULL: all. Only for its owner; blocks nobody. NULL for index_table gives no rows';

CREATE PROCEDURE indextable.repair(index_table regclass, batch_size integer DEFAULT 1000, INOUT missing bigint DEFAULT NULL, INOUT dangling bigint DEFAULT NULL, INOUT stale bigint DEFAULT NULL, INOUT remaining bigint DEFAULT NULL)
LANGUAGE C
AS 'MODULE_PATHNAME', 'indextable_repair';
COMMENT ON PROCEDURE indextable.repair(regclass, integer, bigint, bigint, bigint, bigint) IS
'Mends what verify() finds, row by row against the row as it is then, and commits after every batch_size of them; puts missing triggers back, and has an index table that was invalid active again. Shows how many entries were missing, dangling and stale, and how many such remain, because others kept their rows locked. In a transaction block all is one transaction. Only for the owner';

-- Online build ---------------------------------------------------------------

CREATE PROCEDURE indextable.build(index_table regclass, batch_size integer DEFAULT NULL, pause interval DEFAULT NULL)
LANGUAGE C
AS 'MODULE_PATHNAME', 'indextable_build';
COMMENT ON PROCEDURE indextable.build(regclass, integer, interval) IS
'Fills an index table that was created with populate => false, in committed batches, while others read and write; goes on where it was cut off. batch_size is in rows, NULL: indextable.batch_size; pause is slept after each batch, NULL: none. Not in a transaction block. Only for the owner';

CREATE PROCEDURE indextable.rebuild(index_table regclass, batch_size integer DEFAULT NULL, pause interval DEFAULT NULL)
LANGUAGE C
AS 'MODULE_PATHNAME', 'indextable_rebuild';
COMMENT ON PROCEDURE indextable.rebuild(regclass, integer, interval) IS
'Makes the entries of an index table anew, in committed batches, while others read and write; the old ones serve until the new ones take their place. Carries out what alter() was told with populate => false; brings an index table that is invalid back to active. Goes on where it was cut off. Parameters as for build(). Not in a transaction block. Only for the owner';

CREATE FUNCTION indextable.alter(index_table regclass, maintenance text DEFAULT NULL, strategy text DEFAULT NULL, include text[] DEFAULT NULL, filter text DEFAULT NULL, populate boolean DEFAULT true,
    partitions integer DEFAULT NULL, partition_by text DEFAULT NULL, partition_bounds text[] DEFAULT NULL, partition_tablespaces text[] DEFAULT NULL) RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_alter';
COMMENT ON FUNCTION indextable.alter(regclass, text, text, text[], text, boolean, integer, text, text[], text[]) IS
'Gives an index table another maintenance, strategy, included fields or filter, or other partitions, as those of create(); by what it is partitioned stays. NULL leaves them as they are, an empty include or filter takes them away. Blocks writers of the fact table until the transaction ends: shortly for another maintenance, else while the entries are made anew; with populate => false rebuild() does that while others write, and until then nothing changes. Only for the owner';

-- Usage ----------------------------------------------------------------------

CREATE FUNCTION indextable.reset_usage(index_table regclass) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_reset_usage';
COMMENT ON FUNCTION indextable.reset_usage(regclass) IS
'Sets the counters of an index table, its indexes and its partitions to zero, at once and whether the transaction commits or not; they are the server''s own, which autovacuum uses, too. Only for its owner, not on a standby. NULL does nothing; a table that is no index table is an error';

CREATE FUNCTION indextable.last_scan(relation oid) RETURNS timestamptz
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'indextable_last_scan';
COMMENT ON FUNCTION indextable.last_scan(oid) IS
'When the transaction ended that scanned a table, or an index, last; NULL if none did, and before PostgreSQL 16';

CREATE FUNCTION indextable.usage_verdict(reads bigint, entries_written bigint, last_read timestamptz, since timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
    WHEN since > statement_timestamp() - interval '1 day' AND (reads = 0 OR entries_written > 1000 * reads) THEN 'new'
    WHEN reads = 0 THEN 'unused'
    WHEN entries_written > 1000 * reads OR last_read < statement_timestamp() - interval '30 days' THEN 'seldom read'
    ELSE 'in use' END;
COMMENT ON FUNCTION indextable.usage_verdict(bigint, bigint, timestamptz, timestamptz) IS
'What the view indextable.usage says in a word: unused; seldom read, if more than 1000 entries were written for each read, or the last read is more than 30 days ago; new instead of these if counted for less than a day; else in use. NULL for last_read or since is taken for long counted, and lately read';

-- Advice ---------------------------------------------------------------------

CREATE FUNCTION indextable.bar(share float8, width integer DEFAULT 20) RETURNS text
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'indextable_bar';
COMMENT ON FUNCTION indextable.bar(float8, integer) IS
'A share, from 0 to 1, as a bar of at most width characters: blocks, or # where the encoding of database or client is not UTF8. Empty for 0 or less; NULL gives NULL';

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
'What advise() prints, as one row: estimates from a sample of about sample_rows rows, shares from 0 to 1, sizes in bytes, cost in microseconds of CPU, counts since the statistics were reset; verdict is index_table, filter, native_index, none, or undecided where there are few documents; statement does what is advised, alternative serves another use. NULL for fact_table or key is an error. Needs SELECT on the fact table, and no row security';

CREATE FUNCTION indextable.advise(
    fact_table  regclass,
    key         text[],
    include     text[]  DEFAULT NULL,
    filter      text    DEFAULT NULL,
    document    name    DEFAULT NULL,
    sample_rows integer DEFAULT 10000,
    OUT topic   text,
    OUT advice  text) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 20
AS 'MODULE_PATHNAME', 'indextable_advise';
COMMENT ON FUNCTION indextable.advise(regclass, text[], text[], text, name, integer) IS
'Whether a key should have an index table, and which, with reasons and the statement to run, from a sample of about sample_rows rows (100 to 1000000; NULL: 10000) and the statistics of the server; changes nothing. Other parameters as for create(); NULL for fact_table or key is an error. Needs SELECT on the fact table and no row security; with a filter, or a cast of a column, for the owner only';

-- What triggers call ---------------------------------------------------------

CREATE FUNCTION indextable.maintain() RETURNS trigger
LANGUAGE C AS 'MODULE_PATHNAME', 'indextable_maintain';
COMMENT ON FUNCTION indextable.maintain() IS
'Trigger function of fact tables: keeps their index tables in step. Attached by indextable.create() only';

CREATE FUNCTION indextable.guard() RETURNS trigger
LANGUAGE C AS 'MODULE_PATHNAME', 'indextable_guard';
COMMENT ON FUNCTION indextable.guard() IS
'Trigger function of index tables: refuses writes by hand';

CREATE FUNCTION indextable.on_drop() RETURNS event_trigger
LANGUAGE C AS 'MODULE_PATHNAME', 'indextable_on_drop';
COMMENT ON FUNCTION indextable.on_drop() IS
'Event trigger function: forgets index tables and fact tables that were dropped';

CREATE FUNCTION indextable.on_alter() RETURNS event_trigger
LANGUAGE C AS 'MODULE_PATHNAME', 'indextable_on_alter';
COMMENT ON FUNCTION indextable.on_alter() IS
'Event trigger function: follows or refuses ALTER TABLE of fact tables and index tables';

CREATE FUNCTION indextable.before_alter() RETURNS event_trigger
LANGUAGE C AS 'MODULE_PATHNAME', 'indextable_before_alter';
COMMENT ON FUNCTION indextable.before_alter() IS
'Event trigger function: refuses to change the columns that entries depend on';

CREATE FUNCTION indextable.restored() RETURNS trigger
LANGUAGE C AS 'MODULE_PATHNAME', 'indextable_restored';
COMMENT ON FUNCTION indextable.restored() IS
'Trigger function of the catalog: adopts index tables that come from a dump, and asks for a worker';

CREATE TRIGGER restored AFTER INSERT ON indextable.fact
FOR EACH STATEMENT EXECUTE FUNCTION indextable.restored();
COMMENT ON TRIGGER restored ON indextable.fact IS 'Adopts what comes from a dump';

CREATE TRIGGER restored AFTER INSERT ON indextable.definition
FOR EACH STATEMENT EXECUTE FUNCTION indextable.restored();
COMMENT ON TRIGGER restored ON indextable.definition IS 'Adopts what comes from a dump';

-- maintain() and guard() are everybody's: who adds a partition to a table has the server clone its row triggers, which
-- takes that right. They do nothing for triggers that are not ours.
REVOKE ALL ON FUNCTION indextable.restored(), indextable.on_drop(),
    indextable.on_alter(), indextable.before_alter() FROM PUBLIC;

CREATE EVENT TRIGGER indextable_on_drop ON sql_drop EXECUTE FUNCTION indextable.on_drop();
COMMENT ON EVENT TRIGGER indextable_on_drop IS
'Forgets index tables and fact tables that were dropped';

CREATE EVENT TRIGGER indextable_on_alter ON ddl_command_end
WHEN TAG IN ('ALTER TABLE', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW', 'ALTER FOREIGN TABLE', 'CREATE TABLE', 'CREATE FOREIGN TABLE', 'CREATE SCHEMA', 'CREATE TRIGGER', 'CREATE SUBSCRIPTION', 'ALTER SUBSCRIPTION',
    'ALTER SCHEMA', 'ALTER FUNCTION', 'ALTER ROUTINE', 'ALTER TYPE', 'ALTER DOMAIN', 'ALTER OPERATOR', 'ALTER COLLATION', 'ALTER EXTENSION')
EXECUTE FUNCTION indextable.on_alter();
COMMENT ON EVENT TRIGGER indextable_on_alter IS
'Follows renames and a new owner of fact tables, and refuses what would make an index table wrong';

CREATE EVENT TRIGGER indextable_before_alter ON ddl_command_start
WHEN TAG IN ('CREATE TABLE', 'CREATE SCHEMA', 'CREATE FOREIGN TABLE', 'DROP TABLE', 'DROP FOREIGN TABLE', 'DROP SERVER', 'DROP FOREIGN DATA WRAPPER', 'DROP EXTENSION', 'DROP SCHEMA', 'DROP OWNED', 'ALTER TABLE', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW', 'ALTER FOREIGN TABLE', 'ALTER TRIGGER',
    'ALTER SCHEMA', 'ALTER FUNCTION', 'ALTER ROUTINE', 'ALTER TYPE', 'ALTER DOMAIN', 'ALTER OPERATOR', 'ALTER COLLATION', 'ALTER EXTENSION')
EXECUTE FUNCTION indextable.before_alter();
COMMENT ON EVENT TRIGGER indextable_before_alter IS
'Refuses what upkeep would not see: a rewrite of the columns that entries depend on, children of fact tables, foreign keys to index tables';

CREATE EVENT TRIGGER indextable_on_rewrite ON table_rewrite EXECUTE FUNCTION indextable.before_alter();
COMMENT ON EVENT TRIGGER indextable_on_rewrite IS
'Refuses to rewrite columns that entries depend on, once more when the table is locked';

-- What there is --------------------------------------------------------------

CREATE VIEW indextable.queues AS
SELECT f.fact_table,
       q.backlog,
       CASE WHEN q.backlog = 0 THEN interval '0'
            WHEN q.oldest IS NOT NULL THEN greatest(clock_timestamp() - q.oldest, interval '0') END AS lag,
       a.rate,
       (SELECT count(*) FROM indextable.rejection r
        JOIN indextable.definition d ON d.index_table = r.index_table
        WHERE d.fact_table = f.fact_table) AS rejected,
       (SELECT count(*)::integer FROM indextable.workers()) AS workers,
       CASE WHEN NOT EXISTS (SELECT FROM indextable.workers()) THEN 'none'
            WHEN a.error IS NOT NULL THEN 'failing'
            WHEN EXISTS (SELECT FROM indextable.workers() w WHERE w.state = 'draining') THEN 'draining'
            ELSE 'idle' END AS worker_state,
       a.error AS last_error,
       a.error_at AS last_error_at,
       a.applied,
       a.applied_at,
       q.size
FROM indextable.fact f
CROSS JOIN LATERAL indextable.queue_status(f.fact_table) q
LEFT JOIN LATERAL indextable.queue_activity(f.fact_table) a ON true
WHERE f.queue IS NOT NULL;
COMMENT ON VIEW indextable.queues IS 'The queues of asynchronous index tables: how far they are behind, and who is at work';
COMMENT ON COLUMN indextable.queues.fact_table    IS 'the fact table whose changes are queued';
COMMENT ON COLUMN indextable.queues.backlog       IS 'number of changes that are not applied yet; NULL, as lag and size, while somebody has a queue table locked';
COMMENT ON COLUMN indextable.queues.lag           IS 'age of the oldest of them, from the beginning of its statement; zero if there are none';
COMMENT ON COLUMN indextable.queues.rate          IS 'changes applied a second by workers, over the last seconds in which they did any';
COMMENT ON COLUMN indextable.queues.rejected      IS 'number of entries that are lacking because of an error; see indextable.rejected';
COMMENT ON COLUMN indextable.queues.workers       IS 'number of background workers in this database';
COMMENT ON COLUMN indextable.queues.worker_state  IS 'none, idle, draining, or failing: the last batch could not be applied, and is tried again';
COMMENT ON COLUMN indextable.queues.last_error    IS 'why it could not';
COMMENT ON COLUMN indextable.queues.last_error_at IS 'when that was';
COMMENT ON COLUMN indextable.queues.applied       IS 'changes applied by workers since the server started';
COMMENT ON COLUMN indextable.queues.applied_at    IS 'when the last of them were';
COMMENT ON COLUMN indextable.queues.size          IS 'bytes of the queue tables';

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
FROM indextable.build b
JOIN indextable.definition d ON d.index_table = b.index_table;
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
       r.primary_key,
       r.sqlstate,
       r.message,
       r.attempts,
       r.first_at,
       r.last_at,
       r.next_try
FROM indextable.rejection r
JOIN indextable.definition d ON d.index_table = r.index_table
JOIN pg_catalog.pg_class c ON c.oid = r.index_table
WHERE pg_catalog.pg_has_role(c.relowner, 'USAGE');
COMMENT ON VIEW indextable.rejected IS 'Rows that lack their entry in an asynchronous index table of yours because of an error';
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
       k.example,
       k.error,
       k.repaired_at
FROM indextable.checked k
JOIN indextable.definition d ON d.index_table = k.index_table
JOIN pg_catalog.pg_class c ON c.oid = k.index_table
WHERE pg_catalog.pg_has_role(c.relowner, 'USAGE');
COMMENT ON VIEW indextable.checks IS 'What the periodic check (indextable.check_interval) has found in your index tables, the last 100 times for each';
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

-- The counters of tables and of indexes have one kind of names: an index has scans and no insertions, a table both.
CREATE VIEW indextable.usage AS
SELECT u.index_table,
       u.fact_table,
       u.strategy,
       u.maintenance,
       u.reads,
       u.last_read,
       u.entries_read,
       u.entries_written,
       round(u.entries_written::numeric / nullif(u.reads, 0), 1) AS writes_per_read,
       u.skipped,
       u.rejected,
       u.bytes,
       u.since,
       indextable.usage_verdict(u.reads, u.entries_written, u.last_read, u.since) AS verdict,
       indextable.bar(u.reads / nullif(max(u.reads) OVER (), 0)::float8) AS reads_bar
FROM (SELECT d.index_table,
             d.fact_table,
             d.strategy,
             d.maintenance,
             s.reads,
             greatest(s.last_scan, n.last_read) AS last_read,
             s.entries_read,
             s.entries_written,
             coalesce((SELECT sum(k.entries) FROM indextable.skipped k
                       WHERE k.index_table = d.index_table), 0)::bigint AS skipped,
             CASE WHEN d.maintenance = 'async' THEN
                 (SELECT count(*) FROM indextable.rejection r WHERE r.index_table = d.index_table)
             END AS rejected,
             s.bytes,
             greatest(n.since, r.database, r.server) AS since
      FROM indextable.definition d
      CROSS JOIN LATERAL (
          WITH t AS (SELECT d.index_table::oid AS oid UNION SELECT relid FROM pg_catalog.pg_partition_tree(d.index_table))
          SELECT sum(pg_catalog.pg_stat_get_numscans(x.oid))::bigint         AS reads,
                 max(indextable.last_scan(x.oid))                            AS last_scan,
                 sum(pg_catalog.pg_stat_get_tuples_returned(x.oid))::bigint  AS entries_read,
                 sum(pg_catalog.pg_stat_get_tuples_inserted(x.oid) + pg_catalog.pg_stat_get_tuples_updated(x.oid)
                     + pg_catalog.pg_stat_get_tuples_deleted(x.oid))::bigint AS entries_written,
                 (SELECT sum(pg_catalog.pg_total_relation_size(t.oid))::bigint FROM t) AS bytes
          FROM (SELECT t.oid FROM t
                UNION ALL SELECT i.indexrelid FROM t JOIN pg_catalog.pg_index i ON i.indrelid = t.oid) x) s
      LEFT JOIN indextable.counted n ON n.index_table = d.index_table
      -- Where they were reset with others.  A crash is seen by counters that nobody resets by himself.
      CROSS JOIN (SELECT pg_catalog.pg_stat_get_db_stat_reset_time(b.oid) AS database,
                         least(pg_catalog.pg_stat_get_bgwriter_stat_reset_time(), a.stats_reset) AS server
                  FROM pg_catalog.pg_database b, pg_catalog.pg_stat_archiver a
                  WHERE b.datname = pg_catalog.current_database()) r
      WHERE d.replaces IS NULL) u;
COMMENT ON VIEW indextable.usage IS 'How much the index tables of this database are read and written, by this server, as its own statistics count it; what the upkeep reads is not among it';
COMMENT ON COLUMN indextable.usage.index_table     IS 'the index table';
COMMENT ON COLUMN indextable.usage.fact_table      IS 'the table it is kept in step with';
COMMENT ON COLUMN indextable.usage.strategy        IS 'normalized, partial or denormalized';
COMMENT ON COLUMN indextable.usage.maintenance     IS 'transactional or async';
COMMENT ON COLUMN indextable.usage.reads           IS 'scans of the index table, its indexes and partitions: look-ups, queries, plain SQL';
COMMENT ON COLUMN indextable.usage.last_read       IS 'when the last of them was; NULL: never, or not known. PostgreSQL 15: when a worker saw that there were more';
COMMENT ON COLUMN indextable.usage.entries_read    IS 'entries that these scans brought';
COMMENT ON COLUMN indextable.usage.entries_written IS 'entries inserted, updated and deleted, also when create() or build() filled it, and in transactions that were rolled back';
COMMENT ON COLUMN indextable.usage.writes_per_read IS 'entries_written for each of reads; NULL without reads';
COMMENT ON COLUMN indextable.usage.skipped         IS 'entries left out under on_mismatch => ''skip'' since the index table was made';
COMMENT ON COLUMN indextable.usage.rejected        IS 'asynchronous: number of rows that lack their entry because of an error; see indextable.rejected. Else NULL';
COMMENT ON COLUMN indextable.usage.bytes           IS 'of the index table with its partitions, indexes and TOAST tables';
COMMENT ON COLUMN indextable.usage.since           IS 'since when is counted: creation, reset, or the last crash of the server';
COMMENT ON COLUMN indextable.usage.reads_bar       IS 'reads, as a share of those of the index table that is read most, as indextable.bar() draws it; NULL if none is read';
COMMENT ON COLUMN indextable.usage.verdict         IS 'unused, seldom read, in use, or new: see indextable.usage_verdict()';

CREATE VIEW indextable.unused AS
SELECT u.index_table, u.fact_table, u.verdict, u.entries_written, u.bytes, u.reads, u.last_read, u.since
FROM indextable.usage u
JOIN indextable.definition d ON d.index_table = u.index_table
WHERE u.verdict IN ('unused', 'seldom read') AND NOT d.is_unique
ORDER BY u.entries_written DESC, u.bytes DESC, u.index_table::text;
COMMENT ON VIEW indextable.unused IS 'Index tables that are never read, or seldom for what they are written, those that cost most first; without those that keep a key unique. What a standby reads counts there: ask it, too, before you drop one';
COMMENT ON COLUMN indextable.unused.index_table     IS 'the index table';
COMMENT ON COLUMN indextable.unused.fact_table      IS 'the table it is kept in step with';
COMMENT ON COLUMN indextable.unused.verdict         IS 'unused or seldom read';
COMMENT ON COLUMN indextable.unused.entries_written IS 'as in indextable.usage';
COMMENT ON COLUMN indextable.unused.bytes           IS 'as in indextable.usage';
COMMENT ON COLUMN indextable.unused.reads           IS 'as in indextable.usage';
COMMENT ON COLUMN indextable.unused.last_read       IS 'as in indextable.usage';
COMMENT ON COLUMN indextable.unused.since           IS 'as in indextable.usage';

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
       p.partitions,
       CASE WHEN c.relkind = 'p' THEN pg_catalog.pg_get_partkeydef(c.oid) END AS partition_by,
       d.on_mismatch,
       d.document,
       p.entries,
       p.table_size,
       p.indexes_size,
       u.skipped,
       u.reads,
       u.last_read,
       u.entries_written,
       u.verdict,
       q.backlog,
       q.lag,
       u.rejected,
       (WITH RECURSIVE part(relid) AS (  -- pg_partition_tree() would lock them
            SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = d.fact_table
            UNION ALL
            SELECT i.inhrelid FROM part JOIN pg_catalog.pg_inherits i ON i.inhparent = part.relid)
        SELECT count(*)::integer FROM part
        JOIN pg_catalog.pg_class l ON l.oid = part.relid WHERE l.relkind = 'f') AS foreign_partitions
FROM indextable.definition d
JOIN indextable.usage u ON u.index_table = d.index_table
LEFT JOIN indextable.queues q ON q.fact_table = d.fact_table AND d.maintenance = 'async'
JOIN pg_catalog.pg_class c ON c.oid = d.index_table
CROSS JOIN LATERAL (
    SELECT CASE WHEN c.relkind = 'p' THEN count(*) ELSE 0 END::integer AS partitions,
           CASE WHEN min(t.reltuples) >= 0 THEN sum(t.reltuples)::bigint END AS entries,
           sum(pg_catalog.pg_table_size(t.oid))::bigint   AS table_size,
           sum(pg_catalog.pg_indexes_size(t.oid))::bigint AS indexes_size
    FROM pg_catalog.pg_class t
    WHERE t.relkind = 'r' AND (t.oid = c.oid OR t.oid IN
        (SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid))
) p
WHERE d.replaces IS NULL;
COMMENT ON VIEW indextable.index_tables IS 'The index tables of this database: definition, state, size and use';
COMMENT ON COLUMN indextable.index_tables.index_table     IS 'the index table';
COMMENT ON COLUMN indextable.index_tables.fact_table      IS 'the table it is kept in step with';
COMMENT ON COLUMN indextable.index_tables.state           IS 'building, active or invalid';
COMMENT ON COLUMN indextable.index_tables.problem         IS 'why the state is invalid; NULL otherwise';
COMMENT ON COLUMN indextable.index_tables.strategy        IS 'normalized, partial or denormalized';
COMMENT ON COLUMN indextable.index_tables.maintenance     IS 'transactional or async';
COMMENT ON COLUMN indextable.index_tables.key             IS 'key field specs, in order';
COMMENT ON COLUMN indextable.index_tables.include         IS 'field specs of the included fields';
COMMENT ON COLUMN indextable.index_tables.filter          IS 'which fact rows have entries; NULL: all';
COMMENT ON COLUMN indextable.index_tables.is_unique       IS 'whether a key may have one entry only';
COMMENT ON COLUMN indextable.index_tables.partitions      IS 'number of partitions of the index table; 0: not partitioned';
COMMENT ON COLUMN indextable.index_tables.partition_by    IS 'by which key field it is partitioned, and how; NULL: not partitioned';
COMMENT ON COLUMN indextable.index_tables.on_mismatch     IS 'what becomes of a value that cannot be a key: error or skip';
COMMENT ON COLUMN indextable.index_tables.document        IS 'the JSONB column';
COMMENT ON COLUMN indextable.index_tables.entries         IS 'estimated number of entries, as of the last VACUUM or ANALYZE; NULL before the first';
COMMENT ON COLUMN indextable.index_tables.table_size      IS 'bytes of the table without its indexes';
COMMENT ON COLUMN indextable.index_tables.indexes_size    IS 'bytes of its indexes';
COMMENT ON COLUMN indextable.index_tables.skipped         IS 'entries left out under on_mismatch => ''skip'' since the index table was made';
COMMENT ON COLUMN indextable.index_tables.reads           IS 'as in indextable.usage';
COMMENT ON COLUMN indextable.index_tables.last_read       IS 'as in indextable.usage';
COMMENT ON COLUMN indextable.index_tables.entries_written IS 'as in indextable.usage';
COMMENT ON COLUMN indextable.index_tables.verdict         IS 'as in indextable.usage';
COMMENT ON COLUMN indextable.index_tables.backlog         IS 'asynchronous: number of changes that are not applied yet';
COMMENT ON COLUMN indextable.index_tables.lag             IS 'asynchronous: age of the oldest of them, from the beginning of its statement; zero if there are none';
COMMENT ON COLUMN indextable.index_tables.rejected        IS 'asynchronous: number of rows that lack their entry because of an error; see indextable.rejected';
COMMENT ON COLUMN indextable.index_tables.foreign_partitions IS 'partitions of the fact table on other servers: a commit on several of them is not atomic, and what is written there directly is not seen; verify() finds both';

CREATE VIEW indextable.distribution AS
SELECT x.root AS "table",
       x.partition,
       x.rows,
       x.size,
       x.writes,
       round((x.rows / nullif(avg(x.rows) OVER w, 0))::numeric, 2)     AS rows_to_average,
       round((x.size / nullif(avg(x.size) OVER w, 0))::numeric, 2)     AS size_to_average,
       round((x.writes / nullif(avg(x.writes) OVER w, 0))::numeric, 2) AS writes_to_average,
       indextable.bar(x.rows / nullif(max(x.rows) OVER w, 0)::float8)  AS rows_bar
FROM (SELECT r.root,
             t.relid AS partition,
             CASE WHEN c.reltuples >= 0 THEN c.reltuples::bigint END AS rows,
             pg_catalog.pg_total_relation_size(t.relid) AS size,
             s.n_tup_ins + s.n_tup_upd + s.n_tup_del    AS writes
      FROM (SELECT fact_table FROM indextable.fact
            UNION SELECT index_table FROM indextable.definition WHERE replaces IS NULL) r (root)
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
COMMENT ON COLUMN indextable.distribution.rows_bar          IS 'rows, as a share of those of the fullest partition, as indextable.bar() draws it';

GRANT USAGE ON SCHEMA indextable TO PUBLIC;
GRANT SELECT ON indextable.usage, indextable.unused, indextable.index_tables, indextable.queues, indextable.rejected, indextable.checks, indextable.progress, indextable.distribution TO PUBLIC;
