-- What a worker calls for the periodic check: which index tables are due, the report on one, and how many reports are kept.
BEGIN;
SET LOCAL search_path = public;
SELECT plan(9);

CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
INSERT INTO fact SELECT g, jsonb_build_object('k', g % 7, 'n', g) FROM generate_series(1, 100) g;
SELECT indextable.create('norm', 'fact', '{k}', on_mismatch => 'skip');
SELECT indextable.create('unready', 'fact', '{n}', populate => false);
SELECT indextable.create('sums', 'fact', '{k}', totals => '{count(*)}');
SELECT indextable.create('typed', 'fact', '{n::int}', maintenance => 'async');
SET LOCAL session_replication_role = replica;
DELETE FROM norm WHERE id = 5;
INSERT INTO norm VALUES ('x', 6), ('x', -1), ('y', -1);
UPDATE sums SET rows = 0 WHERE k = '3';
RESET session_replication_role;

-- report INDEX_TABLE, SAMPLE, ERROR: the report as JSON, without what differs from one machine to another
CREATE FUNCTION pg_temp.report(regclass, float8, text) RETURNS jsonb LANGUAGE sql
	RETURN to_jsonb(indextable_internal.report_of_check($1, $2, $3)) - '{checked_at,duration,index_table,repaired_at}'::text[];
SELECT is(pg_temp.report('norm', 100, NULL),
	'{"sample": 100, "missing": 1, "dangling": 2, "stale": 1, "rejected": 0, "setup": 0, "example": "missing {\"id\": 5}", "error": null}',
	'a report counts each kind, and shows the first of what verify() returns');
SELECT is(pg_temp.report('sums', 50, NULL) ->> 'example', 'missing {"k": "3"}', 'of totals it shows the key');
SELECT is(pg_temp.report('typed', 100, NULL) ->> 'example', NULL, 'nothing is wrong with an index table that is right');
SELECT is(pg_temp.report('norm', 25, 'it failed'),
	'{"sample": 25, "missing": 0, "dangling": 0, "stale": 0, "rejected": 0, "setup": 0, "example": null, "error": "it failed"}',
	'the report on a check that failed has its error only');
SELECT ok((SELECT clock_timestamp() - checked_at >= duration AND duration > '0' FROM indextable_internal.report_of_check('norm', 100, NULL)),
	'it says when the check began, and how long it took');

SELECT results_eq('SELECT * FROM indextable_internal.due_for_check(10)', $$VALUES ('norm'::regclass), ('sums'), ('typed')$$,
	'all are due that are not being built');
SELECT indextable_internal.keep_report(indextable_internal.report_of_check('norm', 100, NULL));
SELECT indextable_internal.keep_report(ROW('typed', clock_timestamp() - '11 s'::interval, '0', 100, 0, 0, 0, 0, 0, NULL, NULL, NULL)::indextable_internal.checked);
SELECT results_eq('SELECT * FROM indextable_internal.due_for_check(10)', $$VALUES ('sums'::regclass), ('typed')$$,
	'not those whose last check began a moment ago');

SELECT indextable_internal.keep_report(ROW('norm', clock_timestamp() + g * '1 s'::interval, '0', 100, g, 0, 0, 0, 0, NULL, NULL, NULL)::indextable_internal.checked)
	FROM generate_series(1, 150) g;
SELECT is((SELECT array[count(*), min(missing), max(missing)] FROM indextable_internal.checked WHERE index_table = 'norm'::regclass), '{100,51,150}',
	'the newest 100 reports on each index table are kept');
SELECT is((SELECT count(*) FROM indextable_internal.checked WHERE index_table = 'typed'::regclass), 1::bigint, 'whatever others have');

SELECT * FROM finish();
ROLLBACK;
