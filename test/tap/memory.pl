# Memory stays flat over a million rows: inserted, moved to other keys, left alone, deleted, queued and drained. Contexts of the server's
# own that grow with a statement by rule are left out: trigger events, combo command ids, and what the client asked for.
#
#   ROWS  default 1000000

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows = $ENV{ROWS} || 1000000;
my $node = new_server('memory', 'shared_buffers = 256MB', 'max_wal_size = 8GB', 'autovacuum = off', 'checkpoint_timeout = 1h');

# A trigger of the user samples while the statement runs; it fires for rows that are multiples of a tenth.
my $script = fact_table() . <<'SQL' . join '', map { s/ROWS/$rows/gr } <<'SQL';
CREATE VIEW memory AS
SELECT sum(used_bytes) FILTER (WHERE ours OR name NOT IN ('AfterTriggerEvents', 'Combo CIDs', 'ExecutorState', 'ExprContext',
		'PortalContext', 'CacheMemoryContext', 'CachedPlan', 'CachedPlanSource', 'index info', 'relation rules', 'smgr relation table')) AS bytes,
	sum(total_bytes) FILTER (WHERE ours) AS our_bytes
FROM (SELECT *, name LIKE 'indextable%' AS ours FROM pg_backend_memory_contexts) c;
CREATE TABLE sample (what text, during boolean, bytes bigint, our_bytes bigint);
CREATE FUNCTION sample() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO sample SELECT tg_op, true, bytes, our_bytes FROM memory; RETURN NULL; END $$;
SELECT indextable.create('f_k', 'f', '{k}');
SELECT indextable.create('f_v', 'f', '{k,n::int}', include => '{v}');
SELECT indextable.create('f_t', 'f', '{tags[*]}');
SQL
CREATE TRIGGER zz AFTER INSERT ON f FOR EACH ROW WHEN (new.pk % (ROWS / 10) = 0) EXECUTE FUNCTION sample();
CREATE TRIGGER zz_update AFTER UPDATE ON f FOR EACH ROW WHEN (new.pk % (ROWS / 10) = 0) EXECUTE FUNCTION sample();
CREATE TRIGGER zz_delete AFTER DELETE ON f FOR EACH ROW WHEN (old.pk % (ROWS / 10) = 0) EXECUTE FUNCTION sample();
-- once through everything, so that caches are filled
INSERT INTO f SELECT g, d(g) FROM generate_series(-1000, -1) g;
UPDATE f SET doc = d(pk + 1);
DELETE FROM f;
DELETE FROM sample;
INSERT INTO sample SELECT 'before', false, bytes, our_bytes FROM memory;
INSERT INTO sample SELECT 'before', false, bytes, our_bytes FROM memory;
DELETE FROM sample WHERE ctid = (SELECT min(ctid) FROM sample);
INSERT INTO f SELECT g, d(g) FROM generate_series(1, ROWS) g;
INSERT INTO sample SELECT 'INSERT', false, bytes, our_bytes FROM memory;
UPDATE f SET doc = d(pk + 1);
INSERT INTO sample SELECT 'UPDATE', false, bytes, our_bytes FROM memory;
DELETE FROM sample WHERE what = 'UPDATE' AND during AND false;
UPDATE sample SET what = 'UPDATE of keys' WHERE what = 'UPDATE';
UPDATE f SET note = 'n';
INSERT INTO sample SELECT 'UPDATE', false, bytes, our_bytes FROM memory;
UPDATE sample SET what = 'UPDATE that leaves keys alone' WHERE what = 'UPDATE';
BEGIN;
SAVEPOINT s;
UPDATE f SET doc = d(pk + 2) WHERE pk <= ROWS / 10;
ROLLBACK TO s;
UPDATE f SET doc = d(pk + 3) WHERE pk <= ROWS / 10;
COMMIT;
INSERT INTO sample SELECT 'UPDATE', false, bytes, our_bytes FROM memory;
UPDATE sample SET what = 'UPDATE in a transaction, one rolled back' WHERE what = 'UPDATE';
DELETE FROM f WHERE pk % 2 = 0;
INSERT INTO sample SELECT 'DELETE', false, bytes, our_bytes FROM memory;

-- asynchronous: the queue is written while the statement runs, and drained in batches
SELECT indextable.drop('f_k');
SELECT indextable.drop('f_v');
SELECT indextable.drop('f_t');
SELECT indextable.create('f_k', 'f', '{k}', maintenance => 'async');
SELECT indextable.create('f_v', 'f', '{k,n::int}', include => '{v}', maintenance => 'async');
SET indextable.backlog_action = nothing;
UPDATE f SET doc = d(pk + 4);
INSERT INTO sample SELECT 'UPDATE', false, bytes, our_bytes FROM memory;
UPDATE sample SET what = 'UPDATE that is queued' WHERE what = 'UPDATE';
BEGIN;
SAVEPOINT s;
UPDATE f SET doc = d(pk + 5) WHERE pk <= ROWS / 10;
ROLLBACK TO s;
COMMIT;
INSERT INTO sample SELECT 'UPDATE', false, bytes, our_bytes FROM memory;
UPDATE sample SET what = 'UPDATE that is queued and rolled back' WHERE what = 'UPDATE';
SELECT indextable.drain(batch_size => 1000);
INSERT INTO sample SELECT 'drain()', false, bytes, our_bytes FROM memory;
SELECT s.what, max(s.bytes - b.bytes) FILTER (WHERE NOT s.during), max(s.our_bytes) FILTER (WHERE NOT s.during),
	max(s.our_bytes) FILTER (WHERE s.during), count(*) FILTER (WHERE s.during)
FROM sample s, sample b WHERE b.what = 'before' AND s.what <> 'before' GROUP BY s.what ORDER BY s.what;
SQL

my @lines = split /\n/, $node->safe_psql('postgres', $script);
my $mb = 1024 * 1024;
my $seen = 0;
for my $line (grep { /\|.*\|/ } @lines)
{
	my ($what, $growth, $left, $during, $samples) = split /\|/, $line;
	note sprintf '%s: grew by %.1f MB; contexts of indextable: %.1f MB after, %.1f MB during, %d samples', $what, $growth / $mb, $left / $mb,
	  ($during || 0) / $mb, $samples;
	cmp_ok($growth, '<', 20 * $mb, "$what: $rows rows leave less than 20 MB");
	cmp_ok($left, '<', 1 * $mb, "$what: our contexts are small afterwards");
	cmp_ok($during || 0, '<', 64 * $mb, "$what: and do not grow with the rows meanwhile");
	$seen++;
}
is($seen, 8, 'every statement was measured');
is($node->safe_psql('postgres', q(
	SET indextable.planner = off;
	SELECT count(*) FROM (SELECT doc ->> 'k', pk FROM f EXCEPT ALL TABLE f_k) x
	UNION ALL SELECT count(*) FROM (TABLE f_v EXCEPT ALL SELECT doc ->> 'k', (doc ->> 'n')::int, pk, doc ->> 'v' FROM f) x)), "0\n0", 'and the index tables are right');

$node->stop;
done_testing();
