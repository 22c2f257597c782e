-- Install script of indextable 1.0: the catalog, the functions users call, the
-- functions triggers call, and the view of what there is.

\echo Use "CREATE EXTENSION indextable" to load this file. \quit

-- The catalog ----------------------------------------------------------------

CREATE TABLE indextable.fact (
    fact_table regclass PRIMARY KEY
);
COMMENT ON TABLE indextable.fact IS
'Fact tables whose triggers keep index tables in step; a row lives as long as the triggers do';
COMMENT ON COLUMN indextable.fact.fact_table IS 'the table that holds the documents';

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
    partitions   integer  NOT NULL,
    on_mismatch  text     NOT NULL CHECK (on_mismatch IN ('error', 'skip')),
    state        text     NOT NULL CHECK (state IN ('building', 'active', 'invalid'))
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
COMMENT ON COLUMN indextable.definition.partitions   IS 'number of hash partitions of the index table; 0: not partitioned';
COMMENT ON COLUMN indextable.definition.on_mismatch  IS 'what becomes of a value that cannot be a key: error or skip';
COMMENT ON COLUMN indextable.definition.state        IS 'building, active or invalid';

CREATE TABLE indextable.skipped (
    index_table regclass    NOT NULL,
    at          timestamptz NOT NULL,
    entries     bigint      NOT NULL
);
CREATE INDEX skipped_index_table ON indextable.skipped (index_table);
COMMENT ON TABLE indextable.skipped IS
'Entries left out under on_mismatch => ''skip'': a row per statement that left out any, summed up now and then';
COMMENT ON COLUMN indextable.skipped.index_table IS 'the index table that lacks the entries';
COMMENT ON COLUMN indextable.skipped.at          IS 'when the transaction began that wrote the fact rows, or the last of them';
COMMENT ON COLUMN indextable.skipped.entries     IS 'number of entries left out';

SELECT pg_catalog.pg_extension_config_dump('indextable.fact', '');
SELECT pg_catalog.pg_extension_config_dump('indextable.definition', '');
SELECT pg_catalog.pg_extension_config_dump('indextable.skipped', '');

REVOKE ALL ON indextable.fact, indextable.definition, indextable.skipped FROM PUBLIC;

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
    populate    boolean DEFAULT true
) RETURNS regclass
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_create';
COMMENT ON FUNCTION indextable."create"(text, regclass, text[], text, text[], text, text, boolean, integer, text, name, boolean) IS
'Makes an index table over a table of JSONB documents, fills it, and keeps it in step from then on; returns the index table. Blocks writers of the fact table, not readers, until the transaction ends. NULL for index_table, fact_table or key is an error; other parameters take their default when NULL';

CREATE FUNCTION indextable."drop"(index_table regclass) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'indextable_drop';
COMMENT ON FUNCTION indextable."drop"(regclass) IS
'Drops an index table, and the fact table''s triggers with its last one. Plain DROP TABLE does the same. NULL does nothing; a table that is no index table is an error';

CREATE FUNCTION indextable.lookup(index_table regclass, key jsonb) RETURNS SETOF jsonb
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED ROWS 10 COST 10
AS 'MODULE_PATHNAME', 'indextable_lookup_documents';
COMMENT ON FUNCTION indextable.lookup(regclass, jsonb) IS
'The documents under a key: {"column": value, ...} over all or the leading key columns of the index table, each fact row once, in the order of the index table. A null value matches nothing; an unknown column or a value of the wrong type is an error; NULL arguments give no rows';

CREATE FUNCTION indextable.lookup(row_type anyelement, index_table regclass, key jsonb) RETURNS SETOF anyelement
LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 10 COST 10
AS 'MODULE_PATHNAME', 'indextable_lookup_rows';
COMMENT ON FUNCTION indextable.lookup(anyelement, regclass, jsonb) IS
'The same as whole rows of the fact table: lookup(NULL::fact_table, ...). Only the type of row_type is used; NULL for index_table or key gives no rows';

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

-- A trigger function of the fact table's owner could be attached to any table
-- by whoever may execute it.
REVOKE ALL ON FUNCTION indextable.maintain(), indextable.guard(), indextable.on_drop(),
    indextable.on_alter(), indextable.before_alter() FROM PUBLIC;

CREATE EVENT TRIGGER indextable_on_drop ON sql_drop EXECUTE FUNCTION indextable.on_drop();
COMMENT ON EVENT TRIGGER indextable_on_drop IS
'Forgets index tables and fact tables that were dropped';

CREATE EVENT TRIGGER indextable_on_alter ON ddl_command_end
WHEN TAG IN ('ALTER TABLE', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW', 'ALTER FOREIGN TABLE')
EXECUTE FUNCTION indextable.on_alter();
COMMENT ON EVENT TRIGGER indextable_on_alter IS
'Follows renames and a new owner of fact tables, and refuses what would make an index table wrong';

CREATE EVENT TRIGGER indextable_before_alter ON ddl_command_start
WHEN TAG IN ('CREATE TABLE', 'CREATE SCHEMA', 'CREATE FOREIGN TABLE', 'ALTER TABLE', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW', 'ALTER FOREIGN TABLE')
EXECUTE FUNCTION indextable.before_alter();
COMMENT ON EVENT TRIGGER indextable_before_alter IS
'Refuses what upkeep would not see: a rewrite of the columns that entries depend on, children of fact tables, foreign keys to index tables';

CREATE EVENT TRIGGER indextable_on_rewrite ON table_rewrite EXECUTE FUNCTION indextable.before_alter();
COMMENT ON EVENT TRIGGER indextable_on_rewrite IS
'Refuses to rewrite columns that entries depend on, once more when the table is locked';

-- What there is --------------------------------------------------------------

CREATE VIEW indextable.index_tables AS
SELECT d.index_table,
       d.fact_table,
       d.state,
       d.strategy,
       d.maintenance,
       d.key,
       d.include,
       d.filter,
       d.is_unique,
       d.partitions,
       d.on_mismatch,
       d.document,
       CASE WHEN c.reltuples >= 0 THEN c.reltuples::bigint END AS entries,
       pg_catalog.pg_table_size(c.oid)   AS table_size,
       pg_catalog.pg_indexes_size(c.oid) AS indexes_size,
       coalesce((SELECT sum(k.entries) FROM indextable.skipped k
                 WHERE k.index_table = d.index_table), 0)::bigint AS skipped,
       s.idx_scan AS scans,
       s.idx_tup_fetch AS entries_fetched
FROM indextable.definition d
JOIN pg_catalog.pg_class c ON c.oid = d.index_table
LEFT JOIN pg_catalog.pg_stat_all_tables s ON s.relid = c.oid;
COMMENT ON VIEW indextable.index_tables IS 'The index tables of this database: definition, state, size and use';
COMMENT ON COLUMN indextable.index_tables.index_table     IS 'the index table';
COMMENT ON COLUMN indextable.index_tables.fact_table      IS 'the table it is kept in step with';
COMMENT ON COLUMN indextable.index_tables.state           IS 'building, active or invalid';
COMMENT ON COLUMN indextable.index_tables.strategy        IS 'normalized, partial or denormalized';
COMMENT ON COLUMN indextable.index_tables.maintenance     IS 'transactional or async';
COMMENT ON COLUMN indextable.index_tables.key             IS 'key field specs, in order';
COMMENT ON COLUMN indextable.index_tables.include         IS 'field specs of the included fields';
COMMENT ON COLUMN indextable.index_tables.filter          IS 'which fact rows have entries; NULL: all';
COMMENT ON COLUMN indextable.index_tables.is_unique       IS 'whether a key may have one entry only';
COMMENT ON COLUMN indextable.index_tables.partitions      IS 'number of hash partitions of the index table; 0: not partitioned';
COMMENT ON COLUMN indextable.index_tables.on_mismatch     IS 'what becomes of a value that cannot be a key: error or skip';
COMMENT ON COLUMN indextable.index_tables.document        IS 'the JSONB column';
COMMENT ON COLUMN indextable.index_tables.entries         IS 'estimated number of entries, as of the last VACUUM or ANALYZE; NULL before the first';
COMMENT ON COLUMN indextable.index_tables.table_size      IS 'bytes of the table without its indexes';
COMMENT ON COLUMN indextable.index_tables.indexes_size    IS 'bytes of its indexes';
COMMENT ON COLUMN indextable.index_tables.skipped         IS 'entries left out under on_mismatch => ''skip'' since the index table was made';
COMMENT ON COLUMN indextable.index_tables.scans           IS 'index scans on the index table, look-ups among them';
COMMENT ON COLUMN indextable.index_tables.entries_fetched IS 'entries those scans fetched';
GRANT USAGE ON SCHEMA indextable TO PUBLIC;
GRANT SELECT ON indextable.index_tables TO PUBLIC;
