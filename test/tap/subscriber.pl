# Logical replication: the subscriber's fact table has index tables of its own. They follow the initial copy and what
# is applied, though an apply worker fires no statement triggers, and only triggers that are enabled always. And the
# same for session_replication_role = replica.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = new_server('publisher', 'wal_level = logical');
my $subscriber = new_server('subscriber', 'wal_level = logical');
$publisher->safe_psql('postgres', fact_table() . "INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 500) g;"
	  . "CREATE PUBLICATION p FOR TABLE f;");
$subscriber->safe_psql('postgres', fact_table() . index_tables() . <<'SQL');
CREATE TABLE u (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('u_k', 'u', '{k}', is_unique => true);
SQL
$publisher->safe_psql('postgres', 'CREATE TABLE u (pk int PRIMARY KEY, doc jsonb); ALTER PUBLICATION p ADD TABLE u');
my $connection = $publisher->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$connection' PUBLICATION p");
$subscriber->wait_for_subscription_sync($publisher, 's');
is($subscriber->safe_psql('postgres', 'SELECT count(*) FROM f_k'), 500, 'initial copy');
drift_free($subscriber, 'initial copy: index tables equal their recompute');

my @steps = (
	[ 'insert', "INSERT INTO f SELECT g, d(g), 'x' FROM generate_series(501, 900) g" ],
	[ 'update of keys', 'UPDATE f SET doc = d(pk + 77) WHERE pk % 3 = 0' ],
	[ 'update of nothing that is indexed', q(UPDATE f SET doc = doc || '{"z": 1}' WHERE pk % 7 = 0) ],
	[ 'update of a plain column', "UPDATE f SET note = 'y' WHERE pk % 5 = 0" ],
	[ 'update of the primary key', 'UPDATE f SET pk = pk + 10000 WHERE pk % 4 = 0' ],
	[ 'update with TOASTed documents', q(UPDATE f SET doc = doc || jsonb_build_object('pad', (SELECT string_agg(md5((g + pk)::text), '') FROM generate_series(1, 200) g)) WHERE pk % 50 = 1) ],
	[ 'update that leaves TOASTed documents alone', "UPDATE f SET note = 'toast' WHERE pk % 50 = 1" ],
	[ 'update that keeps a TOASTed pad', q(UPDATE f SET doc = doc || '{"k": "moved"}' WHERE pk % 100 = 1) ],
	[ 'delete', 'DELETE FROM f WHERE pk % 9 = 0' ],
	[ 'many statements in a transaction', "BEGIN; DELETE FROM f WHERE pk = 1; INSERT INTO f VALUES (1, d(1)); SAVEPOINT s; UPDATE f SET doc = d(3) WHERE pk = 1; ROLLBACK TO s; UPDATE f SET doc = d(5) WHERE pk = 1; COMMIT" ],
	[ 'truncate', 'TRUNCATE f' ],
	[ 'truncate and insert in a transaction', q(BEGIN; INSERT INTO f VALUES (1, d(1)); TRUNCATE f; INSERT INTO f VALUES (2, d(2)), (3, d(3)); COMMIT) ],
	[ 'unique keys', q(INSERT INTO u VALUES (1, '{"k": "a"}'), (2, '{"k": "b"}'); BEGIN; UPDATE u SET doc = '{"k": "c"}' WHERE pk = 1; UPDATE u SET doc = '{"k": "a"}' WHERE pk = 2; COMMIT; DELETE FROM u WHERE pk = 1; INSERT INTO u VALUES (3, '{"k": "c"}')) ],
);
for my $step (@steps)
{
	my ($name, $sql) = @$step;
	$publisher->safe_psql('postgres', $sql);
	$publisher->wait_for_catchup('s');
	drift_free($subscriber, "$name: index tables equal their recompute");
	is($subscriber->safe_psql('postgres', 'SELECT count(*), md5(string_agg(f::text, chr(10) ORDER BY pk)) FROM f'),
		$publisher->safe_psql('postgres', 'SELECT count(*), md5(string_agg(f::text, chr(10) ORDER BY pk)) FROM f'), "$name: was applied");
}
is($subscriber->safe_psql('postgres', 'SELECT k, pk FROM u_k ORDER BY k'), "a|2\nc|3", 'unique index table');

# The subscriber's own trigger that rewrites rows, enabled for replicas.
$subscriber->safe_psql('postgres', <<'SQL');
CREATE FUNCTION rewrite() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN UPDATE public.f SET doc = public.d(new.pk + 1) WHERE pk = new.pk AND doc <> public.d(new.pk + 1); RETURN NULL; END $$;
CREATE TRIGGER "!rewrite" AFTER INSERT OR UPDATE ON f FOR EACH ROW EXECUTE FUNCTION rewrite();
ALTER TABLE f ENABLE REPLICA TRIGGER "!rewrite";
SQL
$publisher->safe_psql('postgres', 'INSERT INTO f SELECT g, d(g * 3) FROM generate_series(100, 120) g; UPDATE f SET doc = d(9) WHERE pk = 110');
$publisher->wait_for_catchup('s');
drift_free($subscriber, 'with a trigger of the subscriber that rewrites rows');
is($subscriber->safe_psql('postgres', "SELECT count(*) FROM f WHERE doc = d(pk + 1) AND pk >= 100"), 21, 'which it did');
is($subscriber->safe_psql('postgres', "SELECT count(*) FROM pg_stat_subscription_stats WHERE apply_error_count + sync_error_count > 0"), 0, 'the subscription had no error');

# ---- session_replication_role

$subscriber->safe_psql('postgres', 'ALTER TABLE f DISABLE TRIGGER "!rewrite"; ALTER SUBSCRIPTION s DISABLE; TRUNCATE f');
for my $sql (
	"INSERT INTO f SELECT g, d(g), 'r' FROM generate_series(1, 100) g", 'UPDATE f SET doc = d(pk + 3) WHERE pk % 2 = 0',
	'UPDATE f SET pk = pk + 1000 WHERE pk < 5', 'DELETE FROM f WHERE pk % 3 = 0',
	'INSERT INTO f VALUES (7, d(70)) ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc', 'TRUNCATE f')
{
	$subscriber->safe_psql('postgres', "SET session_replication_role = replica; $sql");
	drift_free($subscriber, "session_replication_role = replica: $sql");
}
my ($status, $stdout, $stderr) = $subscriber->psql('postgres', q(SET session_replication_role = replica; INSERT INTO u VALUES (9, '{"k": "a"}')));
like($stderr, qr/duplicate key value/, 'session_replication_role = replica: a unique index table is unique');

$subscriber->stop;
$publisher->stop;
done_testing();
