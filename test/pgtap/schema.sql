-- What the extension installs: schemas, functions with their signatures, volatility, strictness, parallel safety and
-- rights, views, tables, triggers, event triggers; and the rules that hold for all of it: everything has a comment and its
-- owner, nothing is anybody's that is not meant to be, and no function runs with somebody else's search_path.
--
-- A change of what users call changes this file, too: it is what they rely on.
BEGIN;
SELECT plan(33);

-- ---- what there is

SELECT extensions_are('indextable', ARRAY['indextable'], 'only the extension itself is in its schema');
SELECT ok(NOT extrelocatable, 'its objects stay where they are') FROM pg_extension WHERE extname = 'indextable';

-- name, parameters, result, language, volatility, strictness, parallel safety
CREATE FUNCTION pg_temp.functions(schema regnamespace) RETURNS TABLE (name text, parameters text, result text, language text, volatility text, strict boolean, parallel text)
LANGUAGE sql STABLE AS $$
	SELECT proname, pg_get_function_arguments(p.oid), coalesce(pg_get_function_result(p.oid), 'procedure'), lanname, provolatile, proisstrict, proparallel
	FROM pg_proc p JOIN pg_language l ON l.oid = prolang WHERE pronamespace = schema
$$;

SELECT bag_eq($$SELECT * FROM pg_temp.functions('indextable')$$, $want$ VALUES
	('advise',
		'fact_table regclass, key text[] DEFAULT NULL::text[], include text[] DEFAULT NULL::text[], '
		'filter text DEFAULT NULL::text, document name DEFAULT NULL::name, '
		'sample_rows integer DEFAULT 10000, OUT topic text, OUT advice text',
		'SETOF record', 'c', 'v', false, 'u'),
	('alter',
		'index_table regclass, maintenance text DEFAULT NULL::text, strategy text DEFAULT NULL::text, '
		'include text[] DEFAULT NULL::text[], filter text DEFAULT NULL::text, populate boolean DEFAULT true, '
		'partitions integer DEFAULT NULL::integer, partition_by text DEFAULT NULL::text, '
		'partition_bounds text[] DEFAULT NULL::text[], partition_tablespaces text[] DEFAULT NULL::text[], '
		'is_unique boolean DEFAULT NULL::boolean, on_mismatch text DEFAULT NULL::text, sparse boolean DEFAULT NULL::boolean, '
		'hidden boolean DEFAULT NULL::boolean',
		'void', 'c', 'v', false, 'u'),
	('build',
		'IN index_table regclass, IN batch_size integer DEFAULT NULL::integer, '
		'IN pause interval DEFAULT NULL::interval',
		'procedure', 'c', 'v', false, 'u'),
	('create',
		'index_table text, fact_table regclass, key text[], strategy text DEFAULT NULL::text, '
		'include text[] DEFAULT NULL::text[], filter text DEFAULT NULL::text, '
		'maintenance text DEFAULT ''transactional''::text, is_unique boolean DEFAULT false, '
		'partitions integer DEFAULT 0, on_mismatch text DEFAULT ''error''::text, '
		'document name DEFAULT NULL::name, populate boolean DEFAULT true, '
		'partition_by text DEFAULT NULL::text, partition_bounds text[] DEFAULT NULL::text[], '
		'partition_tablespaces text[] DEFAULT NULL::text[], primary_key name[] DEFAULT NULL::name[], '
		'if_not_exists boolean DEFAULT false, totals text[] DEFAULT NULL::text[], sparse boolean DEFAULT NULL::boolean',
		'regclass', 'c', 'v', false, 'u'),
	('totals', 'index_table regclass, keys jsonb DEFAULT NULL::jsonb, OUT key jsonb, OUT rows bigint, OUT counts jsonb, OUT sums jsonb',
		'SETOF record', 'c', 's', false, 'u'),
	('create_feed', 'fact_table regclass', 'void', 'c', 'v', true, 'u'),
	('definition', 'index_table regclass', 'text', 'c', 's', true, 'u'),
	('drain',
		'fact_table regclass DEFAULT NULL::regclass, batch_size integer DEFAULT NULL::integer',
		'bigint', 'c', 'v', false, 'u'),
	('drop', 'index_table regclass', 'void', 'c', 'v', true, 'u'),
	('drop_feed', 'fact_table regclass', 'void', 'c', 'v', true, 'u'),
	('explain',
		'query text, OUT fact_table regclass, OUT index_table regclass, OUT used boolean, OUT reason text',
		'SETOF record', 'c', 'v', false, 'u'),
	('explain',
		'query text, what_if text, OUT fact_table regclass, OUT index_table text, OUT used boolean, OUT reason text, '
		'OUT entries bigint, OUT bytes bigint, OUT insert_cost double precision, OUT cost double precision, '
		'OUT cost_without double precision',
		'SETOF record', 'c', 'v', false, 'u'),
	('lookup',
		'index_table regclass, key jsonb, max_lag interval DEFAULT NULL::interval, '
		'timeout interval DEFAULT NULL::interval',
		'SETOF jsonb', 'c', 's', false, 'u'),
	('lookup',
		'row_type anyelement, index_table regclass, key jsonb, max_lag interval DEFAULT NULL::interval, '
		'timeout interval DEFAULT NULL::interval',
		'SETOF anyelement', 'c', 's', false, 'u'),
	('profile',
		'fact_table regclass, key text[], include text[] DEFAULT NULL::text[], '
		'filter text DEFAULT NULL::text, document name DEFAULT NULL::name, '
		'sample_rows integer DEFAULT 10000, OUT documents bigint, OUT sampled bigint, '
		'OUT partitions integer, OUT document_bytes double precision, OUT filtered double precision, '
		'OUT missing double precision, OUT mismatching double precision, '
		'OUT entries_per_document double precision, OUT entries bigint, OUT keys bigint, '
		'OUT found double precision, OUT common_keys text[], OUT common_shares double precision[], '
		'OUT key_bytes double precision, OUT entry_bytes double precision, OUT inserts bigint, '
		'OUT updates bigint, OUT hot_updates bigint, OUT deletes bigint, OUT scans bigint, '
		'OUT since timestamp with time zone, OUT normalized_size bigint, OUT partial_size bigint, '
		'OUT denormalized_size bigint, OUT native_size bigint, OUT insert_cost double precision, '
		'OUT verdict text, OUT strategy text, OUT maintenance text, OUT is_unique boolean, '
		'OUT reasons text[], OUT statement text, OUT alternative text',
		'record', 'c', 'v', false, 'u'),
	('query',
		'index_table regclass, key jsonb DEFAULT ''{}''::jsonb, condition jsonb DEFAULT NULL::jsonb, '
		'descending boolean DEFAULT false, page_size integer DEFAULT 100, cursor text DEFAULT NULL::text, '
		'with_document boolean DEFAULT false, max_lag interval DEFAULT NULL::interval, '
		'timeout interval DEFAULT NULL::interval, previous boolean DEFAULT false',
		'TABLE(entry jsonb, document jsonb, cursor text)', 'c', 's', false, 'u'),
	('rebuild',
		'IN index_table regclass, IN batch_size integer DEFAULT NULL::integer, '
		'IN pause interval DEFAULT NULL::interval',
		'procedure', 'c', 'v', false, 'u'),
	('repair',
		'IN index_table regclass, IN batch_size integer DEFAULT 1000, '
		'INOUT missing bigint DEFAULT NULL::bigint, INOUT dangling bigint DEFAULT NULL::bigint, '
		'INOUT stale bigint DEFAULT NULL::bigint, INOUT remaining bigint DEFAULT NULL::bigint',
		'procedure', 'c', 'v', false, 'u'),
	('reset_stats', 'index_table regclass', 'void', 'c', 'v', true, 'u'),
	('start_workers', '', 'void', 'c', 'v', true, 'u'),
	('stop_workers', '', 'integer', 'sql', 'v', false, 'u'),
	('verify',
		'index_table regclass, sample double precision DEFAULT NULL::double precision, OUT kind text, '
		'OUT key jsonb, OUT primary_key jsonb, OUT expected jsonb, OUT found jsonb, OUT problem text, '
		'OUT in_table regclass',
		'SETOF record', 'c', 'v', false, 'u'),
	('wait',
		'index_table regclass, timeout interval DEFAULT ''00:01:00''::interval, xid xid8 DEFAULT NULL::xid8',
		'boolean', 'c', 'v', false, 'u'),
	('workers',
		'OUT pid integer, OUT state text, OUT activity text, OUT started_at timestamp with time zone',
		'SETOF record', 'sql', 's', false, 'r')$want$, 'the functions that users call');

SELECT bag_eq($$SELECT * FROM pg_temp.functions('indextable_internal')$$, $want$ VALUES
	('ack', 'fact_table regclass, items text[]', 'bigint', 'c', 'v', true, 'u'),
	('activate_repaired', 'index_table regclass', 'void', 'c', 'v', true, 'u'),
	('advise_fields', 'fact_table regclass, fact_name text, document name, sample_rows integer, OUT topic text, OUT advice text', 'SETOF record', 'sql', 'v', false, 'u'),
	('advise_key', 'p indextable_internal.key_profile, OUT topic text, OUT advice text', 'SETOF record', 'sql', 'v', false, 'r'),
	('bar', 'share double precision', 'text', 'sql', 's', false, 's'),
	('before_alter', '', 'event_trigger', 'c', 'v', false, 'u'),
	('common_keys', 'p indextable_internal.key_profile', 'text[]', 'sql', 's', false, 's'),
	('common_sql', 'p indextable_internal.key_profile, nth integer', 'text', 'sql', 's', false, 's'),
	('documents_text', 'documents double precision, bytes double precision, partitions integer, complete boolean, sampled bigint', 'text', 'sql', 's', false, 's'),
	('drain_shards', 'fact_table regclass, batch_size integer', 'bigint', 'c', 'v', true, 'u'),
	('due_for_check', 'check_interval double precision', 'SETOF regclass', 'sql', 's', false, 'r'),
	('feed_status',
		'fact_table regclass, as_of pg_snapshot DEFAULT NULL::pg_snapshot, max_lag interval DEFAULT NULL::interval, '
		'OUT backlog bigint, OUT lag interval, OUT pending boolean, OUT now pg_snapshot',
		'record', 'c', 'v', false, 'u'),
	('entries_here', 'gids text, prefixes text[], searches text[], keys text[]', 'text[]', 'c', 'v', true, 'u'),
	('field_at', 'document name, primary_key name[], field text, OUT path text, OUT field_as text, OUT text_as text, OUT name text', 'record', 'sql', 's', false, 's'),
	('field_parts', 'field text, with_type boolean, OUT path text, OUT name text, OUT type regtype, OUT spelled text', 'record', 'c', 's', true, 's'),
	('field_sql', 'p indextable_internal.key_profile, n integer, as_text boolean', 'text', 'sql', 's', false, 's'),
	('fill_shards', 'index_table regclass, number bigint', 'boolean', 'c', 's', true, 'u'),
	('found', 'p indextable_internal.key_profile, without integer', 'double precision', 'sql', 's', false, 's'),
	('free_name', 'fact_table regclass, names text[], nth bigint', 'text', 'sql', 's', false, 's'),
	('guard', '', 'trigger', 'c', 'v', false, 'u'),
	('in_bytes', 'bytes double precision', 'text', 'sql', 's', false, 's'),
	('in_count', 'n double precision', 'text', 'sql', 's', false, 's'),
	('in_percent', 'share double precision', 'text', 'sql', 's', false, 's'),
	('index_columns', 'p indextable_internal.key_profile', 'text', 'sql', 's', false, 's'),
	('judge_key', 'fact_table regclass, fact_name text, key text[], document name, sample_rows integer', 'indextable_internal.key_profile', 'c', 'v', false, 'u'),
	('keep_report', 'report indextable_internal.checked', 'void', 'sql', 'v', false, 'u'),
	('index_serves', 'index regclass, document smallint, field text, of_type regtype', 'boolean', 'c', 's', false, 'u'),
	('kind_text', 'kind text, separator text, strategy text, maintenance text, is_unique boolean', 'text', 'sql', 'i', false, 's'),
	('literal', 'string text', 'text', 'sql', 's', false, 's'),
	('literal', 'strings text[]', 'text', 'sql', 's', false, 's'),
	('lock_shards', 'shards bigint[]', 'boolean', 'c', 's', true, 'u'),
	('maintain', '', 'trigger', 'c', 'v', false, 'u'),
	('missed_conditions',
		'OUT fact_table regclass, OUT document name, OUT field text, OUT condition text, OUT planned bigint, '
		'OUT since timestamp with time zone',
		'SETOF record', 'c', 'v', false, 'r'),
	('names_text', 'names text[]', 'text', 'sql', 's', false, 's'),
	('note_timeline', 'index_table regclass', 'void', 'c', 'v', true, 'u'),
	('on_alter', '', 'event_trigger', 'c', 'v', false, 'u'),
	('on_drop', '', 'event_trigger', 'c', 'v', false, 'u'),
	('path_sql', 'document text, path text[], arrows text', 'text', 'sql', 's', false, 's'),
	('prepared_here', 'gids text, prefixes text[]', 'text', 'c', 'v', true, 'u'),
	('profile_columns',
		'p indextable_internal.key_profile, OUT documents bigint, OUT sampled bigint, OUT partitions integer, OUT document_bytes double precision, '
		'OUT filtered double precision, OUT missing double precision, OUT mismatching double precision, OUT entries_per_document double precision, '
		'OUT entries bigint, OUT keys bigint, OUT found double precision, OUT common_keys text[], OUT common_shares double precision[], '
		'OUT key_bytes double precision, OUT entry_bytes double precision, OUT inserts bigint, OUT updates bigint, OUT hot_updates bigint, '
		'OUT deletes bigint, OUT scans bigint, OUT since timestamp with time zone, OUT normalized_size bigint, OUT partial_size bigint, '
		'OUT denormalized_size bigint, OUT native_size bigint, OUT insert_cost double precision, OUT verdict text, OUT strategy text, '
		'OUT maintenance text, OUT is_unique boolean, OUT reasons text[], OUT statement text, OUT alternative text',
		'record', 'sql', 'v', false, 'r'),
	('queue_activity',
		'fact_table regclass, server oid, OUT applied bigint, OUT rate double precision, '
		'OUT applied_at timestamp with time zone, OUT error text, OUT since timestamp with time zone, '
		'OUT backlog bigint, OUT oldest timestamp with time zone, OUT waiting boolean, '
		'OUT next_try timestamp with time zone, OUT blocked_by integer[]',
		'record', 'c', 'v', true, 'r'),
	('queue_status',
		'fact_table regclass, OUT backlog bigint, OUT oldest timestamp with time zone, OUT size bigint',
		'record', 'c', 'v', true, 'u'),
	('read_support', 'internal', 'internal', 'c', 'i', true, 's'),
	('reason_against', 'p indextable_internal.key_profile, is_async boolean, OUT reason text, OUT filter text', 'record', 'sql', 'v', false, 'r'),
	('report_of_check', 'index_table regclass, sample double precision, error text', 'indextable_internal.checked', 'sql', 'v', false, 'u'),
	('restored', '', 'trigger', 'c', 'v', false, 'u'),
	('served_by', 'fact_table regclass, document name, field text, of_type boolean', 'text', 'sql', 's', false, 'u'),
	('sizes',
		'p indextable_internal.key_profile, n double precision, OUT normalized double precision, OUT partial double precision, '
		'OUT denormalized double precision, OUT native double precision',
		'record', 'sql', 's', false, 's'),
	('sizes_text', 'p indextable_internal.key_profile, n double precision', 'text', 'sql', 's', false, 's'),
	('stop_launched', '', 'integer', 'c', 'v', true, 'u'),
	('why_no_worker', '', 'text', 'c', 'v', true, 'r'),
	('survey',
		'fact_table regclass, document name, sample_rows integer, OUT path text, OUT type text, OUT rows bigint, OUT scalars bigint, '
		'OUT bytes bigint, OUT element_rows bigint, OUT differing double precision, OUT multi boolean, OUT map boolean, OUT not_followed boolean, '
		'OUT full_up boolean, OUT documents double precision, OUT document_bytes double precision, OUT complete boolean, OUT sampled bigint, '
		'OUT objects bigint, OUT partitions integer, OUT queries_shown boolean, OUT document_column name, OUT primary_key name[]',
		'SETOF record', 'c', 'v', false, 'u'),
	('table_counts',
		'fact_table regclass, OUT inserts bigint, OUT updates bigint, OUT hot_updates bigint, OUT deletes bigint, OUT scans bigint, '
		'OUT seq_scans bigint, OUT seq_rows bigint, OUT since timestamp with time zone',
		'record', 'sql', 'v', false, 'r'),
	('table_sizes', 'index_table regclass, OUT distributed boolean, OUT table_size bigint, OUT indexes_size bigint',
		'record', 'c', 'v', true, 'u'),
	('take', 'fact_table regclass, n bigint, columns name[], OUT item text, OUT primary_key text[]', 'SETOF record', 'c', 'v', true, 'u'),
	('too_few', 'documents double precision, document_bytes double precision', 'text', 'sql', 's', false, 's'),
	('tuple_pages', 'header integer, data double precision', 'double precision', 'sql', 's', false, 's'),
	('verdict',
		'p indextable_internal.key_profile, nth bigint, OUT kind text, OUT strategy text, OUT maintenance text, OUT is_unique boolean, '
		'OUT reasons text[], OUT filter text, OUT entries double precision, OUT statement text, OUT condition text, OUT alternative text',
		'record', 'sql', 'v', false, 'r'),
	('verify_shard',
		'index_table regclass, shard bigint, number bigint, OUT kind text, '
		'OUT key jsonb, OUT primary_key jsonb, OUT expected jsonb, OUT found jsonb, OUT problem text',
		'SETOF record', 'c', 'v', true, 'u')$want$, 'the functions that they do not call');

SELECT bag_eq($$
	SELECT relname::text, (SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0)
	FROM pg_class c WHERE relnamespace = 'indextable'::regnamespace$$, $want$ VALUES
	('checks',
		'index_table regclass, fact_table regclass, checked_at timestamp with time zone, duration interval, '
		'sample double precision, missing bigint, dangling bigint, stale bigint, rejected bigint, setup bigint, '
		'example text, error text, repaired_at timestamp with time zone'),
	('distribution',
		'table regclass, partition regclass, rows bigint, size bigint, writes bigint, rows_to_average numeric, '
		'size_to_average numeric, writes_to_average numeric'),
	('index_table_stats',
		'index_table regclass, fact_table regclass, entries bigint, table_size bigint, indexes_size bigint, '
		'reads bigint, last_read timestamp with time zone, entries_read bigint, entries_written bigint, '
		'skipped bigint, rejected bigint, backlog bigint, lag interval, since timestamp with time zone, '
		'verdict text'),
	('index_tables',
		'index_table regclass, fact_table regclass, state text, problem text, strategy text, maintenance text, '
		'key text[], include text[], filter text, is_unique boolean, on_mismatch text, document name, '
		'partitions integer, partition_by text, sparse boolean, hidden boolean, own_indexes regclass[]'),
	('missed',
		'fact_table regclass, document name, field text, condition text, planned bigint, since timestamp with time zone'),
	('progress',
		'index_table regclass, fact_table regclass, command text, phase text, rows_done bigint, '
		'rows_total bigint, rate double precision, remaining interval, started_at timestamp with time zone, '
		'updated_at timestamp with time zone, pid integer, blocked_by integer[]'),
	('queues',
		'fact_table regclass, backlog bigint, lag interval, rate double precision, rejected bigint, '
		'workers integer, worker_state text, last_error text, last_error_at timestamp with time zone, '
		'applied bigint, applied_at timestamp with time zone, size bigint, server name, '
		'next_try timestamp with time zone, blocked_by integer[]'),
	('rejected',
		'index_table regclass, fact_table regclass, primary_key text[], sqlstate text, message text, '
		'attempts integer, first_at timestamp with time zone, last_at timestamp with time zone, '
		'next_try timestamp with time zone')$want$, 'the views, and nothing else');
SELECT is_empty($$
	SELECT c.oid::regclass, count(*) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND attnum > 0
	WHERE relnamespace = 'indextable'::regnamespace GROUP BY 1 HAVING count(*) > 17$$, 'no view is wider than 17 columns');

SELECT tables_are('indextable_internal', '{fact,definition,skipped,rejection,build,checked,counted,completeness,hidden,timeline}', 'the tables');
SELECT bag_eq($$SELECT unnest(extconfig)::regclass::text FROM pg_extension WHERE extname = 'indextable'$$,
	$$SELECT 'indextable_internal.' || unnest('{fact,definition,skipped,rejection,build,counted,completeness,hidden}'::text[])$$, 'those that are dumped: all but what was checked, and timelines');
SELECT is_empty($$
	SELECT oid::regclass FROM pg_class WHERE relnamespace = 'indextable_internal'::regnamespace AND relkind = 'r' AND relreplident <> 'f'
	AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = pg_class.oid AND indisprimary)$$, 'a publication of all tables leaves all of them writable');
SELECT bag_eq($$
	SELECT tgrelid::regclass::text, tgname::text, tgfoid::regproc::text, tgenabled::text, tgtype FROM pg_trigger t
	JOIN pg_class c ON c.oid = tgrelid WHERE relnamespace = 'indextable_internal'::regnamespace AND NOT tgisinternal$$, $want$ VALUES
	('indextable_internal.fact', 'restored', 'indextable_internal.restored', 'O', 4::int2),
	('indextable_internal.definition', 'restored', 'indextable_internal.restored', 'O', 4)
	UNION ALL SELECT 'indextable_internal.' || t, g, 'indextable_internal.guard', 'A', y
	FROM unnest('{fact,definition,skipped,rejection,build,checked,counted,completeness,hidden,timeline}'::text[]) t, (VALUES ('guard', 1 + 2 + 4 + 8 + 16), ('guard_truncate', 2 + 32)) x (g, y)$want$,
	'their triggers: after INSERT, for each statement; and guards that always fire, before each row, and before TRUNCATE');
SELECT bag_eq($$SELECT evtname::text, evtevent::text, evtfoid::regproc::text, evtenabled::text FROM pg_event_trigger$$, $want$ VALUES
	('indextable_on_drop', 'sql_drop', 'indextable_internal.on_drop', 'O'),
	('indextable_on_alter', 'ddl_command_end', 'indextable_internal.on_alter', 'O'),
	('indextable_before_alter', 'ddl_command_start', 'indextable_internal.before_alter', 'O'),
	('indextable_on_rewrite', 'table_rewrite', 'indextable_internal.before_alter', 'O')$want$, 'the event triggers');

-- ---- rules for all of it

-- What belongs to the extension. Indexes go with their tables, and so do row types, which PostgreSQL 18 lists by themselves.
CREATE FUNCTION pg_temp.members() RETURNS TABLE (what text, classid oid, objid oid) LANGUAGE sql STABLE AS $$
	SELECT pg_describe_object(classid, objid, 0), classid, objid FROM pg_depend
	WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'indextable') AND deptype = 'e' AND classid <> 'pg_type'::regclass
$$;

SELECT is_empty($$
	SELECT what FROM pg_temp.members() WHERE obj_description(objid, classid::regclass::name) IS NULL
	UNION ALL
	SELECT 'schema indextable' WHERE obj_description('indextable'::regnamespace, 'pg_namespace') IS NULL
	UNION ALL
	SELECT 'trigger ' || tgname FROM pg_trigger t JOIN pg_temp.members() m ON m.classid = 'pg_class'::regclass AND m.objid = tgrelid
	WHERE NOT tgisinternal AND obj_description(t.oid, 'pg_trigger') IS NULL
	UNION ALL
	SELECT what || ', column ' || attname FROM pg_attribute a JOIN pg_temp.members() m ON m.classid = 'pg_class'::regclass AND m.objid = attrelid
	WHERE attnum > 0 AND NOT attisdropped AND col_description(attrelid, attnum) IS NULL AND what NOT LIKE 'sequence %'$$,
	'every function, view, table, column, trigger and event trigger has a comment');
SELECT is_empty($$
	SELECT what FROM pg_temp.members() m
	JOIN (SELECT oid, nspowner FROM pg_namespace UNION ALL SELECT oid, proowner FROM pg_proc UNION ALL SELECT oid, relowner FROM pg_class UNION ALL SELECT oid, evtowner FROM pg_event_trigger) o (oid, owner)
		ON o.oid = m.objid
	WHERE owner <> (SELECT extowner FROM pg_extension WHERE extname = 'indextable')$$, 'all of it is owned by who owns the extension');
SELECT is_empty($$
	SELECT oid::regprocedure FROM pg_proc WHERE pronamespace IN ('indextable'::regnamespace, 'indextable_internal'::regnamespace)
		AND oid NOT IN (SELECT objid FROM pg_temp.members())
	UNION ALL
	SELECT oid::regclass::oid FROM pg_class WHERE relnamespace IN ('indextable'::regnamespace, 'indextable_internal'::regnamespace) AND relkind NOT IN ('i', 'I', 'c')
		AND oid NOT IN (SELECT objid FROM pg_temp.members())$$, 'and belongs to the extension');

-- These two read and end what others may not; whoever may call stop_workers() was granted it.
SELECT bag_eq($$SELECT f.oid::regprocedure::text FROM pg_proc f JOIN pg_temp.members() m ON m.objid = f.oid WHERE prosecdef$$,
	$$VALUES ('indextable.workers()'), ('indextable.stop_workers()')$$, 'what is SECURITY DEFINER');
SELECT is_empty($$
	SELECT f.oid::regprocedure FROM pg_proc f JOIN pg_temp.members() m ON m.objid = f.oid JOIN pg_language l ON l.oid = prolang
	WHERE (prosecdef OR lanname <> 'c') AND proconfig IS DISTINCT FROM ARRAY['search_path=pg_catalog, pg_temp']$$,
	'what is no C, or runs as another, has a fixed search_path');
SELECT is_empty($$
	SELECT f.oid::regprocedure FROM pg_proc f JOIN pg_temp.members() m ON m.objid = f.oid JOIN pg_language l ON l.oid = prolang
	WHERE lanname NOT IN ('c', 'sql') OR (lanname = 'sql' AND prosqlbody IS NULL)$$,
	'SQL functions have bodies that were parsed when they were made');

-- ---- what is anybody's

CREATE ROLE nobody_in_particular;
SELECT schema_privs_are('indextable', 'nobody_in_particular', '{USAGE}', 'anybody may look into the schema');
-- An owner's restore makes triggers of the fact table, which name a function there.
SELECT schema_privs_are('indextable_internal', 'nobody_in_particular', '{USAGE}', 'and into the other one');
SELECT bag_eq($$SELECT f.oid::regprocedure::text FROM pg_proc f JOIN pg_temp.members() m ON m.objid = f.oid WHERE NOT has_function_privilege('nobody_in_particular', f.oid, 'EXECUTE')$$,
	$$VALUES ('indextable.start_workers()'), ('indextable.stop_workers()'), ('indextable_internal.stop_launched()'), ('indextable_internal.restored()'),
		('indextable_internal.on_drop()'), ('indextable_internal.on_alter()'), ('indextable_internal.before_alter()'), ('indextable_internal.drain_shards(regclass,integer)'), ('indextable_internal.fill_shards(regclass,bigint)'), ('indextable_internal.activate_repaired(regclass)'), ('indextable_internal.prepared_here(text,text[])'),
		('indextable_internal.due_for_check(double precision)'),
		('indextable_internal.report_of_check(regclass,double precision,text)'), ('indextable_internal.keep_report(indextable_internal.checked)')$$, 'the functions that not everybody may call');
-- All others, and why everybody may. What they read they read with the caller's rights.
SELECT bag_eq($$
	SELECT nspname::text, proname::text FROM pg_proc f JOIN pg_temp.members() m ON m.objid = f.oid JOIN pg_namespace n ON n.oid = pronamespace
	WHERE has_function_privilege('nobody_in_particular', f.oid, 'EXECUTE') GROUP BY 1, 2$$, $want$
	-- the owner of the table only, as each of them checks
	SELECT 'indextable', unnest('{alter,build,create,create_feed,drain,drop,drop_feed,rebuild,repair,reset_stats,verify}'::text[])
	-- SELECT on the index table, or the fact table, as each of them checks
	UNION ALL SELECT 'indextable', unnest('{advise,lookup,profile,query,totals}'::text[])
	-- waits, says what views show as well, or plans a query that the caller may run
	UNION ALL SELECT 'indextable', unnest('{definition,explain,wait,workers}'::text[])
	-- the server checks this right of whoever adds a partition, whose triggers it clones; refused to triggers that are not ours
	UNION ALL SELECT 'indextable_internal', unnest('{guard,maintain}'::text[])
	-- views call them, for who reads the view: numbers, and conditions and messages of the caller's tables
	UNION ALL SELECT 'indextable_internal', unnest('{missed_conditions,queue_activity,queue_status,table_sizes,why_no_worker}'::text[])
	-- another server that takes from a feed, or another node of Citus: the owner of the table only
	UNION ALL SELECT 'indextable_internal', unnest('{ack,entries_here,feed_status,lock_shards,note_timeline,take,verify_shard}'::text[])
	-- advise() and profile(): they read documents where the caller may, and the server's catalogs
	UNION ALL SELECT 'indextable_internal', unnest('{advise_fields,advise_key,field_at,index_serves,judge_key,profile_columns,reason_against,served_by,survey,table_counts,verdict}'::text[])
	-- and they make texts and numbers of their arguments
	UNION ALL SELECT 'indextable_internal', unnest('{bar,common_keys,common_sql,documents_text,field_parts,field_sql,found,free_name,in_bytes,in_count,in_percent,index_columns,kind_text,literal,names_text,path_sql,sizes,sizes_text,too_few,tuple_pages}'::text[])
	-- the planner; its argument keeps SQL from calling it
	UNION ALL SELECT 'indextable_internal', 'read_support'$want$, 'and why everybody may call the others');
SELECT is_empty($$
	SELECT what, privilege FROM pg_temp.members() m, unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) privilege
	WHERE m.classid = 'pg_class'::regclass AND has_table_privilege('nobody_in_particular', objid, privilege)
		<> ((SELECT relkind FROM pg_class WHERE oid = objid) = 'v' AND privilege = 'SELECT')$$, 'views may be read by anybody, tables not at all');
SELECT is_empty($$
	SELECT c.oid::regclass, attname FROM pg_class c JOIN pg_temp.members() m ON m.objid = c.oid JOIN pg_attribute a ON attrelid = c.oid WHERE attacl IS NOT NULL$$,
	'and no column by itself');
SELECT is_empty($$SELECT what FROM pg_temp.members() m JOIN pg_class c ON c.oid = m.objid WHERE relacl::text LIKE '%*%'$$, 'nobody may grant more');

-- A row of somebody, with an error message that tells a value.
CREATE TABLE public.secret (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('public.secret_index', 'public.secret', '{k}');
INSERT INTO indextable_internal.rejection VALUES ('public.secret_index', '{1}', '22P02', 'secret', 1, now(), now(), NULL);
INSERT INTO indextable_internal.checked VALUES ('public.secret_index', now(), '0', 100, 1, 0, 0, 0, 0, 'secret', NULL, NULL);
SELECT is((SELECT count(*) FROM indextable.rejected), 1::bigint, 'the owner sees what was rejected');
SELECT is((SELECT count(*) FROM indextable.checks), 1::bigint, 'and what checks have found');
SET LOCAL ROLE nobody_in_particular;
SELECT lives_ok($$SELECT * FROM indextable.index_tables, indextable.index_table_stats, indextable.queues, indextable.progress, indextable.distribution, indextable.missed$$,
	'anybody may read the other views, and what they call');
SELECT is_empty('SELECT * FROM indextable.rejected', 'but not the primary keys and messages of others');
SELECT is_empty('SELECT * FROM indextable.checks', 'nor what was found wrong with their rows');
RESET ROLE;
CREATE ROLE watcher IN ROLE pg_monitor;
SET LOCAL ROLE watcher;
SELECT results_eq('SELECT primary_key, sqlstate, message, attempts FROM indextable.rejected', $$VALUES (NULL::text[], '22P02', '<insufficient privilege>', 1)$$,
	'pg_monitor sees how many rows were rejected, but not which, nor why');
SELECT results_eq('SELECT missing, dangling, example, error FROM indextable.checks', $$VALUES (1::bigint, 0::bigint, '<insufficient privilege>', NULL::text)$$,
	'and how much checks have found, but not what');
RESET ROLE;
SET LOCAL ROLE nobody_in_particular;
SELECT throws_ok('SELECT indextable.stop_workers()', '42501', NULL, 'may not stop workers');
SELECT throws_ok('SELECT * FROM indextable_internal.definition', '42501', NULL, 'nor read the tables');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
