-- A writer's settings change nothing of what is stored, whatever the code of users reads. Each setting of the server that
-- everybody may change is fixed, or is below with the reason why it cannot change a value. A new major version's settings
-- are reported here: put each into one of the lists, and into fix_gucs() if it belongs there.
SET client_min_messages = warning;
CREATE SCHEMA settings;
SET search_path = settings, public;
CREATE TEMP TABLE harmless (name text, why text);
INSERT INTO harmless SELECT unnest(names), why FROM (VALUES
	('{enable_%,%_cost,cpu_%,geqo,geqo_%,jit,jit_%,cursor_tuple_fraction,from_collapse_limit,join_collapse_limit,constraint_exclusion,
	   default_statistics_target,effective_cache_size,min_parallel_%,max_parallel_%,parallel_%,plan_cache_mode,recursive_worktable_factor,
	   force_parallel_mode,debug_parallel_query,min_eager_agg_group_size,synchronize_seqscans}'::text[],
	 'chooses a plan, by which rows come in another order, or that of a table; an immutable function depends on neither'),
	('{work_mem,hash_mem_multiplier,maintenance_work_mem,logical_decoding_work_mem,temp_buffers,effective_io_concurrency,maintenance_io_concurrency,
	   io_combine_limit,backend_flush_after,gin_pending_list_limit,file_copy_method,wal_skip_threshold}', 'says how much memory is used, or how files are read and written'),
	('{statement_timeout,lock_timeout,transaction_timeout,idle_in_transaction_session_timeout,idle_session_timeout,client_connection_check_interval,
	   tcp_%,wal_sender_timeout,wal_sender_shutdown_timeout,wal_receiver_timeout,exit_on_error}', 'ends a statement or a session'),
	('{application_name,client_encoding,client_min_messages,debug_pretty_print,debug_print_%,trace_notify,trace_sort,log_parameter_max_length_on_error,
	   escape_string_warning,md5_password_warnings,plpgsql.print_strict_params,plpgsql.extra_warnings}', 'is about messages'),
	('{check_function_bodies,default_table_access_method,default_tablespace,default_toast_compression,temp_tablespaces,password_encryption,
	   scram_iterations,createrole_self_grant,icu_validation_level}', 'is about what is created'),
	('{default_transaction_%,transaction_deferrable,transaction_isolation,transaction_read_only,synchronous_commit,commit_siblings}', 'is about transactions'),
	('{vacuum_%}', 'is about VACUUM'), ('{debug_logical_replication_streaming}', 'is about logical decoding'),
	('{stats_fetch_consistency}', 'is about the server''s statistics, which an immutable function does not read'),
	('{local_preload_libraries}', 'is read when a session begins'),
	('{indextable.%}', 'is ours: see "Security" in docs/guarantees.md')) v (names, why);
-- What is fixed, with another value than that, and what functions see instead.
CREATE TEMP TABLE fixed (name text, other text, seen text);
INSERT INTO fixed VALUES
	('DateStyle', 'German', 'ISO, YMD'), ('IntervalStyle', 'iso_8601', 'postgres'), ('TimeZone', 'Asia/Kolkata', 'UTC'),
	('timezone_abbreviations', 'India', 'Default'), ('extra_float_digits', '-15', '1'), ('bytea_output', 'escape', 'hex'),
	('xmlbinary', 'hex', 'base64'), ('xmloption', 'document', 'content'), ('array_nulls', 'off', 'on'),
	('default_text_search_config', 'pg_catalog.german', 'pg_catalog.simple'), ('lc_monetary', 'POSIX', 'C'), ('lc_numeric', 'POSIX', 'C'),
	('lc_time', 'POSIX', 'C'), ('quote_all_identifiers', 'on', 'off'), ('transform_null_equals', 'on', 'off'),
	('standard_conforming_strings', 'off', 'on'), ('backslash_quote', 'on', 'safe_encoding'), ('row_security', 'off', 'on'),
	('search_path', 'settings', 'pg_catalog, pg_temp'), ('plpgsql.check_asserts', 'off', 'on'), ('plpgsql.extra_errors', 'all', 'none'),
	('plperl.use_strict', 'on', 'off'), ('gin_fuzzy_search_limit', '1', '0'), ('restrict_nonsystem_relation_kind', 'view', '');
LOAD 'plpgsql';
SET plperl.use_strict = off; -- of a library that is not loaded
SELECT name AS new_setting, setting, short_desc FROM pg_settings s
WHERE context = 'user' AND (name !~ '\.' OR name ~ '^(plpgsql|indextable)\.')
	AND NOT EXISTS (SELECT FROM harmless h WHERE s.name LIKE replace(h.name, '_', '\_'))
	AND NOT EXISTS (SELECT FROM fixed f WHERE f.name = s.name);
SELECT f.name AS in_both FROM fixed f JOIN harmless h ON f.name LIKE replace(h.name, '_', '\_');

-- ---- what functions see
CREATE FUNCTION seen(doc jsonb) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RETURN current_setting(doc ->> 'name'); END$$;
CREATE TABLE probe (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('seen_now', 'probe', '{name, (settings.seen(doc)) AS seen}'),
	indextable.create('seen_later', 'probe', '{name, (settings.seen(doc)) AS seen}', maintenance => 'async') \gset
DO $$
DECLARE
	s record;
	original text;
BEGIN
	-- (19 has no other value of standard_conforming_strings)
	FOR s IN SELECT f.*, row_number() OVER () AS id FROM fixed f WHERE current_setting('server_version_num')::int < 190000 OR f.name <> 'standard_conforming_strings' LOOP
		original := current_setting(s.name);
		PERFORM set_config(s.name, s.other, true);
		INSERT INTO settings.probe VALUES (s.id, jsonb_build_object('name', s.name));
		PERFORM set_config(s.name, original, true);
	END LOOP;
END $$;
SELECT f.name, f.other, f.seen AS expected, i.seen FROM fixed f JOIN seen_now i USING (name) WHERE f.seen <> i.seen;
SELECT count(*) > 15 AS some FROM seen_now;
SELECT indextable.drain('probe') \gset
TABLE seen_now EXCEPT ALL TABLE seen_later;
SELECT * FROM indextable.verify('seen_now');

-- ---- what they give
CREATE TABLE f (id int PRIMARY KEY, doc jsonb, zoneless timestamp, in_utc timestamp);
CREATE FUNCTION words(j jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RETURN to_tsvector(j ->> 'words')::text; END$$;
CREATE FUNCTION at(j jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RETURN (j ->> 'at')::timestamptz::text; END$$;
CREATE FUNCTION ident(j jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RETURN format('%I', coalesce(j ->> 'ident', j::text)); END$$;
CREATE FUNCTION nul(j jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RETURN CASE WHEN (j -> 'none') = NULL THEN 'missing' ELSE 'there' END; END$$;
CREATE FUNCTION asserts(j jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$BEGIN ASSERT j ? 't2'; RETURN 'passed'; EXCEPTION WHEN assert_failure THEN RETURN 'failed'; END$$;
SELECT count(indextable.create('f_' || name, 'f', ARRAY[format('(settings.%s(doc)) AS w', name)], is_unique => name IN ('words', 'at', 'ident')))
FROM unnest('{words,at,ident,nul,asserts}'::text[]) name \gset
-- the server's own functions that are immutable, and read settings all the same
SELECT count(indextable.create('f_' || name, 'f', ARRAY[expr || ' AS w'], is_unique => true)) FROM (VALUES
	('quoted', $$(quote_ident(doc ->> 'quoted'))$$),
	('zone', $$(timezone(doc ->> 'zone', zoneless))$$),
	('utc', $$(timezone('UTC', in_utc))$$),
	('month', $$(jsonb_path_query_first(doc, '$.month.datetime("DD TMMonth YYYY")') #>> '{}')$$)) v (name, expr) \gset
SELECT indextable.create('f_tz', 'f', '{tz::timestamptz}', is_unique => true) \gset
INSERT INTO f VALUES (1, '{"words": "dogs", "ident": "dogs", "quoted": "dogs", "at": "2003-01-02 04:05 IST", "zone": "IST", "month": "01 March 2024", "tz": "2003-01-02 04:05Z"}', '2003-01-02 04:05', '2003-01-02 04:05');
-- each of them finds the key that is there
CREATE PROCEDURE conflicts(settings text) LANGUAGE plpgsql AS $$
DECLARE
	row record;
BEGIN
	EXECUTE settings;
	-- The server keeps what it has read last.
	PERFORM '2003-01-02 04:05Z'::timestamptz, '2003-01-02 04:05 UTC'::timestamptz, '2003-01-02 04:05 IST'::timestamptz;
	FOR row IN SELECT * FROM (VALUES ('words', '{"words": "dogs"}'::jsonb), ('at', '{"at": "2003-01-02 04:05 IST"}'), ('ident', '{"ident": "dogs"}'),
		('quoted', '{"quoted": "dogs"}'), ('zone', '{"zone": "IST"}'), ('utc', '{}'), ('month', '{"month": "01 March 2024"}'), ('tz', '{"tz": "2003-01-02 04:05Z"}')) v (name, doc)
	LOOP
		BEGIN
			INSERT INTO settings.f VALUES (2, row.doc, CASE row.name WHEN 'zone' THEN timestamp '2003-01-02 04:05' END,
				CASE row.name WHEN 'utc' THEN timestamp '2003-01-02 04:05' END);
			RAISE EXCEPTION 'stored';
		EXCEPTION WHEN unique_violation THEN
			NULL;
		WHEN raise_exception THEN
			RAISE WARNING '% with %', row.name, settings;
		END;
	END LOOP;
	ROLLBACK;
END $$;
CALL conflicts($$SET default_text_search_config = simple$$);
CALL conflicts($$SET timezone_abbreviations = 'India'$$);
CALL conflicts($$SET quote_all_identifiers = on$$);
CALL conflicts($$SET transform_null_equals = on$$);
CALL conflicts($$SET TimeZone = 'Asia/Kolkata'$$);
CALL conflicts($$SET TimeZone = 'UTC+3'$$);
CALL conflicts($$SET TimeZone = '<Z>5'$$);
CALL conflicts($$SET DateStyle = 'German'; SET IntervalStyle = 'sql_standard'; SET lc_time = 'POSIX'; SET lc_numeric = 'POSIX'$$);
SET transform_null_equals = on;
SET plpgsql.check_asserts = off;
SET default_text_search_config = german;
SET timezone_abbreviations = 'India';
SET TimeZone = 'Asia/Kolkata';
SET quote_all_identifiers = on;
UPDATE f SET doc = doc || '{"x": 1}';
INSERT INTO f VALUES (3, '{"words": "cats", "ident": "cats", "quoted": "cats", "at": "2003-01-02 04:05 EST", "zone": "EST", "month": "02 March 2024", "tz": "2003-01-02 04:05+02"}', '2003-01-02 05:05', '2003-01-02 05:05');
SELECT w, id FROM f_nul ORDER BY id;
SELECT w, id FROM f_asserts ORDER BY id;
SELECT index_table, d.* FROM indextable.index_tables, indextable.verify(index_table) d WHERE fact_table = 'f'::regclass;
RESET ALL;
SET client_min_messages = warning;
SET search_path = settings, public;
SELECT w, id FROM f_words ORDER BY id;
SELECT w, id FROM f_at ORDER BY id;
SELECT w, id FROM f_ident ORDER BY id;
SET TimeZone = 'UTC';
SELECT w, id FROM f_zone ORDER BY id;
SELECT w, id FROM f_month ORDER BY id;
SELECT tz, id FROM f_tz ORDER BY id;
SELECT index_table, d.* FROM indextable.index_tables, indextable.verify(index_table) d WHERE fact_table = 'f'::regclass;
-- Settings that the session keeps: what runs after an evaluation has them.
SET timezone_abbreviations = 'India';
UPDATE f SET doc = doc || '{"x": 2}' WHERE id = 1;
SELECT '2003-01-02 04:05 IST'::timestamptz;
RESET timezone_abbreviations;
SELECT '2003-01-02 04:05 IST'::timestamptz;
DROP SCHEMA settings CASCADE;
