# Logical replication: the subscriber's fact table has index tables of its own. They follow the initial copy and what
# is applied, though an apply worker fires no statement triggers, and only triggers that are enabled always. And the
# same for session_replication_role = replica. And partitioned fact tables, published either way.

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

# Primary keys that move along, and a trigger of the subscriber that hands the key of a deleted row to another.
$subscriber->safe_psql('postgres', <<'SQL');
CREATE FUNCTION inherit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.u VALUES (old.pk + 100, old.doc); RETURN NULL; END $$;
CREATE TRIGGER "!inherit" AFTER DELETE ON u FOR EACH ROW EXECUTE FUNCTION inherit();
ALTER TABLE u ENABLE REPLICA TRIGGER "!inherit";
SQL
$publisher->safe_psql('postgres', 'UPDATE u SET pk = pk - 1; DELETE FROM u WHERE pk = 1');
$publisher->wait_for_catchup('s');
is($subscriber->safe_psql('postgres', 'SELECT k, pk FROM u_k ORDER BY k'), "a|101\nc|2", 'a unique key that a trigger hands on');
is($subscriber->safe_psql('postgres', q(SELECT count(*) FROM pg_stat_subscription_stats s, jsonb_each_text(to_jsonb(s)) c WHERE c.key ~ 'error_count$' AND c.value <> '0')), 0, 'the subscription had no error');

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

# ---- partitioned fact tables, published by their root or by their leaves; some index tables are partitioned, too

my $recompute = q(SELECT doc ->> 'k', (doc ->> 'n')::int, pk, r FROM TABLE);
for my $root ('true', 'false')
{
	my $table = "by_root_$root";
	my $create = "CREATE TABLE $table (pk int, doc jsonb, r text, PRIMARY KEY (pk, r)) PARTITION BY LIST (r); CREATE TABLE ${table}_a PARTITION OF $table FOR VALUES IN ('a');";
	$publisher->safe_psql('postgres', $create . <<"SQL");
CREATE TABLE ${table}_rest PARTITION OF $table DEFAULT;
INSERT INTO $table SELECT g, d(g), (ARRAY['a', 'b', 'c'])[1 + g % 3] FROM generate_series(1, 300) g;
CREATE PUBLICATION p_$table FOR TABLE $table WITH (publish_via_partition_root = $root);
SQL
	# by the root, the subscriber's partitions are its own; else they go by their names, and may be partitioned again
	$subscriber->safe_psql('postgres', $create . ($root eq 'true' ? <<"SQL" : <<"SQL") . <<"SQL");
CREATE TABLE ${table}_b (r text NOT NULL, doc jsonb, pk int NOT NULL);
ALTER TABLE $table ATTACH PARTITION ${table}_b FOR VALUES IN ('b');
CREATE TABLE ${table}_c PARTITION OF $table DEFAULT PARTITION BY HASH (pk);
CREATE TABLE ${table}_c0 PARTITION OF ${table}_c FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE ${table}_c1 PARTITION OF ${table}_c FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SQL
CREATE TABLE ${table}_rest PARTITION OF $table DEFAULT PARTITION BY LIST (r);
CREATE TABLE ${table}_b PARTITION OF ${table}_rest FOR VALUES IN ('b');
CREATE TABLE ${table}_c PARTITION OF ${table}_rest DEFAULT;
SQL
SELECT indextable.create('${table}_1', '$table', '{k,n::int}'), indextable.create('${table}_2', '$table', '{k,n::int}', partitions => 3),
	indextable.create('${table}_3', '$table', '{k,n::int}', partition_by => 'RANGE (n)', partition_bounds => '{FROM (0) TO (3),FROM (3) TO (6)}'),
	indextable.create('${table}_4', '$table', '{k,n::int}', maintenance => 'async', partitions => 2), indextable.create('${table}_u', '$table', '{v}', is_unique => true, partitions => 2);
SQL
	$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s_$table CONNECTION '$connection' PUBLICATION p_$table");
	$subscriber->wait_for_subscription_sync($publisher, "s_$table");
	for my $sql ('SELECT 1',
		"INSERT INTO $table SELECT g, d(g), (ARRAY['a', 'b', 'c', 'd'])[1 + g % 4] FROM generate_series(301, 600) g", "UPDATE $table SET doc = d(pk + 7000) WHERE pk % 3 = 0",
		"UPDATE $table SET r = CASE r WHEN 'a' THEN 'b' ELSE 'a' END WHERE pk % 5 = 0", "UPDATE $table SET pk = pk + 10000, doc = d(pk + 20000) WHERE pk % 4 = 0",
		"DELETE FROM $table WHERE pk % 9 = 0", "BEGIN; DELETE FROM $table WHERE pk = 1; INSERT INTO $table VALUES (1, d(1), 'c'); UPDATE $table SET r = 'a' WHERE pk = 1; COMMIT",
		"TRUNCATE ${table}_rest", "TRUNCATE $table", "INSERT INTO $table SELECT g, d(g), 'b' FROM generate_series(1, 20) g")
	{
		# a leaf that is truncated is none to the subscriber, if the root is published
		next if $root eq 'true' && $sql =~ /TRUNCATE.*_rest/;
		$publisher->safe_psql('postgres', $sql);
		$publisher->wait_for_catchup("s_$table");
		$subscriber->safe_psql('postgres', 'SELECT indextable.drain()');
		my $expected = $recompute =~ s/TABLE/$table/r;
		is($subscriber->safe_psql('postgres', 'SET indextable.planner = off; ' . join ' UNION ALL ', map { "(($expected EXCEPT ALL TABLE ${table}_$_) UNION ALL (TABLE ${table}_$_ EXCEPT ALL $expected))" } 1 .. 4), '', "publish_via_partition_root = $root: $sql");
		is($subscriber->safe_psql('postgres', "SELECT count(*), md5(string_agg(x::text, chr(10) ORDER BY x)) FROM (SELECT pk, r, doc FROM $table) x"),
			$publisher->safe_psql('postgres', "SELECT count(*), md5(string_agg(x::text, chr(10) ORDER BY x)) FROM (SELECT pk, r, doc FROM $table) x"), 'was applied');
	}
	is($subscriber->safe_psql('postgres', "SELECT i.index_table, v.kind, v.problem FROM indextable.index_tables i, indextable.verify(i.index_table) v WHERE i.fact_table = '$table'::regclass"), '', "publish_via_partition_root = $root: verify() finds nothing");
}

# ---- all tables are published: what verify() says to run leaves the fact table alone

$_->safe_psql('postgres', 'CREATE DATABASE "all"') for $publisher, $subscriber;
$_->safe_psql('all', q(CREATE EXTENSION indextable; CREATE TABLE c (id int PRIMARY KEY, doc jsonb); SELECT indextable.create('c_k', 'c', '{k}'))) for $publisher, $subscriber;
$publisher->safe_psql('all', 'CREATE PUBLICATION every FOR ALL TABLES');
$subscriber->safe_psql('all', q(CREATE SUBSCRIPTION a CONNECTION ') . $publisher->connstr . q( dbname=all' PUBLICATION every WITH (copy_data = false)));
my $problems = $subscriber->safe_psql('all', q(SELECT problem FROM indextable.verify('c_k') WHERE kind = 'setup'));
like($problems, qr/^index table is also written by a subscription; /m, 'FOR ALL TABLES: verify() says that the index table is written');
like($problems, qr/^tables of schemas indextable_internal and indextable_queues are also written by a subscription; /m, 'and the tables of the extension');
my ($there, $then) = $problems =~ /if it is FOR ALL TABLES, run (CREATE PUBLICATION .*?;) there, and here (ALTER SUBSCRIPTION .*?;)/;
s/\.\.\./one/ for $there, $then;
$publisher->safe_psql('all', $there);
$subscriber->safe_psql('all', $then);
is($subscriber->safe_psql('all', q(SELECT problem FROM indextable.verify('c_k'))), '', 'when that is done, verify() finds nothing');
$publisher->safe_psql('all', q(INSERT INTO c VALUES (1, '{"k": "a"}')));
$publisher->wait_for_catchup('a');
is($subscriber->safe_psql('all', q(SELECT k, id FROM c_k)), 'a|1', 'and what arrives has its entry');
is($subscriber->safe_psql('all', q(SELECT count(*) FROM c)), 1, 'once');

# ---- nobody but the owner of an index table, or a superuser, has a subscription write it, not even a role that may write all tables

SKIP: {
	skip 'subscriptions belong to superusers until PostgreSQL 16', 1 if $subscriber->pg_version < 16;
	$publisher->safe_psql('all', 'CREATE PUBLICATION entries FOR TABLE c_k');
	$subscriber->safe_psql('all', 'CREATE ROLE w LOGIN IN ROLE pg_write_all_data, pg_create_subscription; GRANT CREATE ON DATABASE "all" TO w');
	$subscriber->safe_psql('all', q(CREATE SUBSCRIPTION b CONNECTION ') . $publisher->connstr . q( dbname=all password=x' PUBLICATION entries WITH (copy_data = false, run_as_owner)));
	my $as = sub { my ($role, $sql) = @_; ($subscriber->psql('all', $sql, extra_params => [ '-U', $role ]))[2] };
	my $owner = $subscriber->safe_psql('all', 'SELECT current_user');
	like($as->($owner, 'ALTER SUBSCRIPTION b OWNER TO w'), qr/ERROR:  permission denied for index table "c_k"/, 'a subscription that writes an index table is not given away');
	unlike($as->($owner, 'ALTER SUBSCRIPTION b DISABLE; ALTER SUBSCRIPTION b OWNER TO w'), qr/ERROR/, 'unless it is disabled');
	like($as->('w', 'ALTER SUBSCRIPTION b ENABLE'), qr/ERROR:  permission denied for index table "c_k"/, 'and its new owner does not enable it');
	is($subscriber->safe_psql('all', "SELECT k, id FROM c_k; SELECT kind FROM indextable.verify('c_k') WHERE kind <> 'setup'"), 'a|1', 'the index table is right');
	unlike($as->('w', 'ALTER SUBSCRIPTION b SET (slot_name = NONE); DROP SUBSCRIPTION b'), qr/ERROR/, 'it can be dropped');
	$publisher->safe_psql('all', q(SELECT pg_drop_replication_slot('b')));
}

$subscriber->stop;
$publisher->stop;
done_testing();
