-- Install script of indextable 1.2: the catalog, the functions users call, the
-- functions triggers call, and the views of what there is.  What users call is in
-- the schema indextable, queue tables are in indextable_queues, everything else in indextable_internal.

\echo Use "CREATE EXTENSION indextable" to load this file. \quit

-- Operators and functions of others in the schema of the extension are not to be taken for the server's own.
SET LOCAL search_path = pg_catalog, pg_temp;

COMMENT ON SCHEMA indextable IS 'Index tables over JSONB documents: what users call, and views of what there is';

-- Everybody may use it: who owns a table creates its triggers anew when a dump is restored.
CREATE SCHEMA indextable_internal;
COMMENT ON SCHEMA indextable_internal IS 'What the extension indextable keeps, and what its triggers call: nothing that users would have to do with';
GRANT USAGE ON SCHEMA indextable_internal TO PUBLIC;

-- Nobody else may use this one: who can name a table can lock it, and make objects that depend on it.
CREATE SCHEMA indextable_queues;
COMMENT ON SCHEMA indextable_queues IS 'Queue tables of the extension indextable: changes that asynchronous index tables lack';

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
    document     name,
    key          text[]   NOT NULL,
    include      text[],
    filter       text,
    strategy     text     NOT NULL CHECK (strategy IN ('normalized', 'partial', 'denormalized', 'totals')),
    maintenance  text     NOT NULL CHECK (maintenance IN ('transactional', 'async')),
    is_unique    boolean  NOT NULL,
    on_mismatch  text     NOT NULL CHECK (on_mismatch IN ('error', 'skip')),
    state        text     NOT NULL CHECK (state IN ('building', 'active', 'invalid')),
    problem      text,
    replaces     regclass,
    sparse       boolean  NOT NULL DEFAULT true
);
CREATE INDEX definition_fact_table ON indextable_internal.definition (fact_table);
COMMENT ON TABLE indextable_internal.definition IS
'One row per index table, written by indextable.create() and removed with the table; read it through indextable.index_tables';
COMMENT ON COLUMN indextable_internal.definition.index_table  IS 'the index table';
COMMENT ON COLUMN indextable_internal.definition.fact_table   IS 'the table it is kept in step with';
COMMENT ON COLUMN indextable_internal.definition.fact_oid     IS 'OID of the fact table when the row was written; another one means the row was restored from a dump';
COMMENT ON COLUMN indextable_internal.definition.fact_columns IS 'names of the fact table''s columns by number when the row was written (dropped: empty), so that fields follow renames';
COMMENT ON COLUMN indextable_internal.definition.primary_key  IS 'columns of the fact table''s primary key, by their names in fact_columns';
COMMENT ON COLUMN indextable_internal.definition.document     IS 'the JSONB column, by its name in fact_columns; NULL: the fact table has none, or several of which none is used';
COMMENT ON COLUMN indextable_internal.definition.key          IS 'key field specs, in order';
COMMENT ON COLUMN indextable_internal.definition.include      IS 'field specs of the included fields (partial), or of those that are added up (totals)';
COMMENT ON COLUMN indextable_internal.definition.filter       IS 'which fact rows have entries; NULL: all';
COMMENT ON COLUMN indextable_internal.definition.strategy     IS 'normalized, partial, denormalized or totals';
COMMENT ON COLUMN indextable_internal.definition.maintenance  IS 'transactional or async';
COMMENT ON COLUMN indextable_internal.definition.is_unique    IS 'whether a key may have one entry only';
COMMENT ON COLUMN indextable_internal.definition.on_mismatch  IS 'what becomes of a value that cannot be a key: error or skip';
COMMENT ON COLUMN indextable_internal.definition.state        IS 'building, active or invalid';
COMMENT ON COLUMN indextable_internal.definition.problem      IS 'why the state is invalid; NULL otherwise';
COMMENT ON COLUMN indextable_internal.definition.replaces     IS 'the index table whose contents and definition this one is to become, by alter() or rebuild(); NULL: none';
COMMENT ON COLUMN indextable_internal.definition.sparse       IS 'whether a row that lacks a key field has no entry; the default is for rows of version 1.1';

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
COMMENT ON COLUMN indextable_internal.completeness.fields      IS 'number of key fields: a row lacks an entry, or did, as a value was skipped; with 32 times the number of a field added: as the text of this field cannot be cast; NULL: such rows are recorded, and without it nothing is known; 25 to 30: a row has values that an entry does not tell as queries read them, or did; 31: such rows are recorded';

CREATE TABLE indextable_internal.hidden (
    index_table regclass NOT NULL
);
CREATE INDEX hidden_index_table ON indextable_internal.hidden (index_table);
ALTER TABLE indextable_internal.hidden REPLICA IDENTITY FULL;  -- as skipped
COMMENT ON TABLE indextable_internal.hidden IS
'Index tables that plain SQL does not use, by alter(); beside their definition, of which older snapshots ask whether the entries have changed';
COMMENT ON COLUMN indextable_internal.hidden.index_table IS 'the index table; two transactions may both add it';

CREATE TABLE indextable_internal.timeline (
    index_table regclass PRIMARY KEY,
    timeline    integer NOT NULL
);
COMMENT ON TABLE indextable_internal.timeline IS
'The timeline of this server on which the entries of a distributed index table were right on all nodes: another one may lack commits, until repair() has looked';
COMMENT ON COLUMN indextable_internal.timeline.index_table IS 'the index table';
COMMENT ON COLUMN indextable_internal.timeline.timeline    IS 'that of when the node got to know it, or repair() last found nothing wrong';

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
SELECT pg_catalog.pg_extension_config_dump('indextable_internal.hidden', '');

REVOKE ALL ON indextable_internal.fact, indextable_internal.definition, indextable_internal.skipped, indextable_internal.rejection, indextable_internal.build, indextable_internal.checked, indextable_internal.counted, indextable_internal.completeness, indextable_internal.hidden, indextable_internal.timeline FROM PUBLIC;

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
    if_not_exists         boolean DEFAULT false,
    totals                text[]  DEFAULT NULL,
    sparse                boolean DEFAULT NULL
) RETURNS regclass
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_create';
COMMENT ON FUNCTION indextable."create"(text, regclass, text[], text, text[], text, text, boolean, integer, text, name, boolean, text, text[], text[], name[], boolean, text[], boolean) IS
'Makes an index table over a table of JSONB documents, fills it, and keeps it in step from then on; returns the index table. Blocks writers of the fact table, not readers, until the transaction ends. NULL for index_table, fact_table or key is an error; other parameters take their default when NULL. The index table itself is partitioned if partitions is a number of hash partitions by its first key field, or if partition_by is RANGE, LIST or HASH of one key field: with partition_bounds as the server writes them, without or with FOR VALUES; a DEFAULT partition is added. partition_tablespaces has one element for each partition, or one for all. primary_key names the columns that identify a row of a partitioned fact table with foreign partitions, which cannot have a primary key; NULL: the primary key. if_not_exists: where there is such an index table already, nothing is done but a notice; an error if the name is taken otherwise, or the definition differs (partitions by RANGE or LIST may). totals: with the strategy totals, which it implies, the table has counts and sums for each key, which may be empty: count(*), count(field), and sum(field) of a smallint, integer, bigint or numeric with a scale; fields of elements of one array, too, and count(array[*]), are of every element. sparse: whether a row that lacks a key field has no entry; with false, it has one with NULL in it, and of totals such rows are a group of their own. NULL: false, but true with is_unique, and where Citus distributes the fact table';

CREATE FUNCTION indextable."drop"(index_table regclass) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_drop';
COMMENT ON FUNCTION indextable."drop"(regclass) IS
'Drops an index table, and the fact table''s triggers with its last one. Plain DROP TABLE does the same. NULL does nothing; a table that is no index table is an error';

CREATE FUNCTION indextable.totals(index_table regclass, keys jsonb DEFAULT NULL, OUT key jsonb, OUT rows bigint, OUT counts jsonb, OUT sums jsonb) RETURNS SETOF record
LANGUAGE C STABLE PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'indextable_totals';
COMMENT ON FUNCTION indextable.totals(regclass, jsonb) IS
'The totals of each group of a table of totals: its key, how many rows it has, and for each field how many values and their sum, which is null if there is none. keys are the values of some key fields, null for those without a value: only groups that have them; NULL: all groups. Needs SELECT on the table of totals. NULL for index_table gives no rows; a table without totals, or a member of keys that is no key field, is an error';

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

-- Asynchronous index tables --------------------------------------------------

CREATE FUNCTION indextable.drain(fact_table regclass DEFAULT NULL, batch_size integer DEFAULT NULL) RETURNS bigint
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_drain';
COMMENT ON FUNCTION indextable.drain(regclass, integer) IS
'Applies queued changes to asynchronous index tables, in this transaction, batch_size changes at a time; returns how many it has applied. Returns when everything committed before the call is applied, by itself or by others. NULL for fact_table: those of all fact tables the caller owns, but with a warning for those of other owners that another session has locked; for batch_size: the setting indextable.batch_size';

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

CREATE FUNCTION indextable_internal.why_no_worker() RETURNS text
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'indextable_why_no_worker';
COMMENT ON FUNCTION indextable_internal.why_no_worker() IS
'Why the current database has no worker, or none yet; NULL if it has one, or will have one as soon as it needs one, or indextable is not in shared_preload_libraries';

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

-- Online build ---------------------------------------------------------------

CREATE PROCEDURE indextable.build(index_table regclass, batch_size integer DEFAULT NULL, pause interval DEFAULT NULL)
LANGUAGE C
AS 'MODULE_PATHNAME', 'indextable_build';
COMMENT ON PROCEDURE indextable.build(regclass, integer, interval) IS
'Fills an index table that was created with populate => false, while others read and write: all rows at once, with one snapshot, or in committed batches if batch_size or pause is given, if rows are rejected, or if there are other asynchronous index tables. Goes on where a batch was cut off. batch_size is in rows, NULL: indextable.batch_size; pause is slept after each batch, 0: not at all, NULL: for as long as writers of the fact table need to keep most of their rate. Not in a transaction block. Only for the owner';

CREATE PROCEDURE indextable.rebuild(index_table regclass, batch_size integer DEFAULT NULL, pause interval DEFAULT NULL)
LANGUAGE C
AS 'MODULE_PATHNAME', 'indextable_rebuild';
COMMENT ON PROCEDURE indextable.rebuild(regclass, integer, interval) IS
'Makes the entries of an index table anew, while others read and write, as build() does; the old ones serve until the new ones take their place. Carries out what alter() was told with populate => false; brings an index table that is invalid back to active. Parameters as for build(). Not in a transaction block. Only for the owner';

CREATE FUNCTION indextable.alter(index_table regclass, maintenance text DEFAULT NULL, strategy text DEFAULT NULL, include text[] DEFAULT NULL, filter text DEFAULT NULL, populate boolean DEFAULT true,
    partitions integer DEFAULT NULL, partition_by text DEFAULT NULL, partition_bounds text[] DEFAULT NULL, partition_tablespaces text[] DEFAULT NULL,
    is_unique boolean DEFAULT NULL, on_mismatch text DEFAULT NULL, sparse boolean DEFAULT NULL, hidden boolean DEFAULT NULL) RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_alter';
COMMENT ON FUNCTION indextable.alter(regclass, text, text, text[], text, boolean, integer, text, text[], text[], boolean, text, boolean, boolean) IS
'Gives an index table another maintenance, strategy, included fields or filter, or other partitions, as those of create(); by what it is partitioned stays. Makes it unique or not; lets it refuse or skip values that cannot be keys, and keep entries with NULL for rows that lack key fields (sparse => false) or none (sparse => true). One that is made unique becomes sparse. Hides it from plain SQL (hidden => true), unless indextable.use_hidden is on, or shows it again (hidden => false): that blocks nobody, and takes effect for all plans at the commit. NULL leaves them as they are, an empty include or filter takes them away. Blocks writers of the fact table until the transaction ends: shortly for another maintenance, uniqueness or on_mismatch, else while the entries are made anew; with populate => false rebuild() does that while others write, and until then nothing changes. Only for the owner';

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
'Trigger function of index tables, and of the tables of this schema: refuses writes by hand';

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

CREATE FUNCTION indextable_internal.lock_shards(shards bigint[]) RETURNS boolean
LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'indextable_lock_shards';
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
END
$$;

-- maintain() and guard() are everybody's: who adds a partition to a table has the server clone its row triggers, which
-- takes that right. They do nothing for triggers that are not ours.
REVOKE ALL ON FUNCTION indextable_internal.restored(), indextable_internal.on_drop(),
    indextable_internal.on_alter(), indextable_internal.before_alter() FROM PUBLIC;

CREATE EVENT TRIGGER indextable_on_drop ON sql_drop EXECUTE FUNCTION indextable_internal.on_drop();
COMMENT ON EVENT TRIGGER indextable_on_drop IS
'Forgets index tables and fact tables that were dropped';

CREATE EVENT TRIGGER indextable_on_alter ON ddl_command_end
WHEN TAG IN ('ALTER TABLE', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW', 'ALTER FOREIGN TABLE', 'CREATE TABLE', 'CREATE FOREIGN TABLE', 'CREATE SCHEMA', 'CREATE TRIGGER', 'CREATE SUBSCRIPTION', 'ALTER SUBSCRIPTION', 'REVOKE',
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
COMMENT ON COLUMN indextable.queues.fact_table    IS 'the fact table whose changes are queued';
COMMENT ON COLUMN indextable.queues.backlog       IS 'number of changes that are not applied yet; NULL, as lag, if it is not known: while somebody has a queue table locked (size is NULL, too), a node of Citus cannot be reached, or a server with feeds does not answer or is not asked by any worker. Of a distributed fact table the backlog is that of all nodes, and workers and errors are those of this one';
COMMENT ON COLUMN indextable.queues.lag           IS 'age of the oldest of them, from the beginning of its statement; zero if there are none';
COMMENT ON COLUMN indextable.queues.rate          IS 'changes applied a second by workers, over the last seconds in which they did any';
COMMENT ON COLUMN indextable.queues.rejected      IS 'number of entries that are lacking because of an error; see indextable.rejected';
COMMENT ON COLUMN indextable.queues.workers       IS 'number of background workers in this database';
COMMENT ON COLUMN indextable.queues.worker_state  IS 'waiting: another session has a lock that the next batch needs; failing: the last batch could not be applied, or took too long, or has ended the worker, or an index table could not be folded or checked; all are tried again. Otherwise none, idle or draining';
COMMENT ON COLUMN indextable.queues.last_error    IS 'why it could not, or for what the worker waits; or why there is no worker, if there is something to apply';
COMMENT ON COLUMN indextable.queues.last_error_at IS 'since when; or, if there is no error, since when the server with the feeds was not asked';
COMMENT ON COLUMN indextable.queues.applied       IS 'changes applied by workers since the server started';
COMMENT ON COLUMN indextable.queues.applied_at    IS 'when the last of them were';
COMMENT ON COLUMN indextable.queues.size          IS 'bytes of the queue tables';
COMMENT ON COLUMN indextable.queues.server        IS 'the foreign server from whose feeds the changes come, with the backlog as it was when a worker last asked; NULL: the queue on this server, whose row counts what is rejected from all';
COMMENT ON COLUMN indextable.queues.next_try      IS 'when it is tried again; sooner if DDL may have mended it';
COMMENT ON COLUMN indextable.queues.blocked_by    IS 'processes that keep it waiting at this moment, as pg_blocking_pids() counts: 0 is a prepared transaction; NULL between two tries';

CREATE VIEW indextable.progress AS
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
COMMENT ON COLUMN indextable.progress.rows_done   IS 'rows of the fact table that were done';
COMMENT ON COLUMN indextable.progress.rows_total  IS 'estimated number of all of them';
COMMENT ON COLUMN indextable.progress.rate        IS 'rows a second, since the build began';
COMMENT ON COLUMN indextable.progress.remaining   IS 'estimated time until all are done';
COMMENT ON COLUMN indextable.progress.started_at  IS 'when the first batch began';
COMMENT ON COLUMN indextable.progress.updated_at  IS 'when the last batch ended';
COMMENT ON COLUMN indextable.progress.pid         IS 'the process of the command while it waits, or reads all rows at once; shown to those who may see the statistics of its role, as pg_monitor may. Else NULL';
COMMENT ON COLUMN indextable.progress.blocked_by  IS 'processes for whose end it waits at this moment, as pg_blocking_pids() counts: 0 is a prepared transaction';

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
COMMENT ON VIEW indextable.index_tables IS 'The index tables of this database: definition and state';
COMMENT ON COLUMN indextable.index_tables.index_table  IS 'the index table';
COMMENT ON COLUMN indextable.index_tables.fact_table   IS 'the table it is kept in step with';
COMMENT ON COLUMN indextable.index_tables.state        IS 'building, active or invalid';
COMMENT ON COLUMN indextable.index_tables.problem      IS 'why the state is invalid; NULL otherwise';
COMMENT ON COLUMN indextable.index_tables.strategy     IS 'normalized, partial, denormalized or totals';
COMMENT ON COLUMN indextable.index_tables.maintenance  IS 'transactional or async';
COMMENT ON COLUMN indextable.index_tables.key          IS 'key field specs, in order';
COMMENT ON COLUMN indextable.index_tables.include      IS 'field specs of the included fields, or of those that are added up';
COMMENT ON COLUMN indextable.index_tables.filter       IS 'which fact rows have entries; NULL: all';
COMMENT ON COLUMN indextable.index_tables.is_unique    IS 'whether a key may have one entry only';
COMMENT ON COLUMN indextable.index_tables.on_mismatch  IS 'what becomes of a value that cannot be a key: error or skip';
COMMENT ON COLUMN indextable.index_tables.document     IS 'the JSONB column; NULL: the fact table has none, or several of which none is used';
COMMENT ON COLUMN indextable.index_tables.partitions   IS 'number of partitions of the index table; 0: not partitioned';
COMMENT ON COLUMN indextable.index_tables.partition_by IS 'by which key field it is partitioned, and how; NULL: not partitioned';
COMMENT ON COLUMN indextable.index_tables.sparse       IS 'whether a row that lacks a key field has no entry, as in a unique index table; otherwise it has one with NULL in it';
COMMENT ON COLUMN indextable.index_tables.hidden       IS 'whether plain SQL does not use it unless indextable.use_hidden is on: alter()';
COMMENT ON COLUMN indextable.index_tables.own_indexes  IS 'the indexes on it that its owner has made, by which plain SQL may find entries, too';

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
COMMENT ON VIEW indextable.distribution IS 'How the rows of fact tables and index tables, and the writes to them, are spread over their partitions';
COMMENT ON COLUMN indextable.distribution."table"           IS 'the fact table or the index table';
COMMENT ON COLUMN indextable.distribution.partition         IS 'one of its leaf partitions; itself if it is not partitioned';
COMMENT ON COLUMN indextable.distribution.rows              IS 'estimated number of rows, as of the last VACUUM or ANALYZE; NULL before the first';
COMMENT ON COLUMN indextable.distribution.size              IS 'bytes, with indexes; NULL while another session has it locked';
COMMENT ON COLUMN indextable.distribution.writes            IS 'rows inserted, updated and deleted since the statistics were reset';
COMMENT ON COLUMN indextable.distribution.rows_to_average   IS 'rows, as a multiple of the average partition: far from 1 is uneven';
COMMENT ON COLUMN indextable.distribution.size_to_average   IS 'size, likewise';
COMMENT ON COLUMN indextable.distribution.writes_to_average IS 'writes, likewise: far above 1 is hot';

CREATE VIEW indextable.missed AS
SELECT * FROM indextable_internal.missed_conditions();
COMMENT ON VIEW indextable.missed IS 'Conditions on fields of documents for which plain queries have found no index table, counted since the server was started if the library is preloaded: of tables of yours; roles in pg_read_all_stats, such as pg_monitor, see those of others, too. Counting begins anew for a table when an index table is created over it';
COMMENT ON COLUMN indextable.missed.fact_table IS 'the table';
COMMENT ON COLUMN indextable.missed.document   IS 'its column with the documents';
COMMENT ON COLUMN indextable.missed.field      IS 'the field, as a key of create(); of index, what follows CREATE INDEX ON';
COMMENT ON COLUMN indextable.missed.condition  IS 'equal: compared by = with a value, or by IN with several; range: by <, <=, > or >=; contained: a text or a number that the documents, or an array, contain; join: compared by = with columns of other tables; index: that only an index of users on an index table would serve, as a pattern';
COMMENT ON COLUMN indextable.missed.planned    IS 'how often such a query was planned; a plan that is kept, as of a prepared statement, counts once';
COMMENT ON COLUMN indextable.missed.since      IS 'when it was planned first';

GRANT USAGE ON SCHEMA indextable TO PUBLIC;
GRANT SELECT ON indextable.index_tables, indextable.index_table_stats, indextable.queues, indextable.rejected, indextable.checks, indextable.progress, indextable.distribution, indextable.missed TO PUBLIC;

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

-- Nobody has rights on this by default privileges, which are meant for other tables, functions and schemas; and nobody but
-- the owner creates anything in the schemas.
REVOKE CREATE ON SCHEMA indextable FROM PUBLIC;
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
