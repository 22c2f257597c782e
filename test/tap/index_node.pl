# An index node: three servers publish their rows, and a fourth subscribes to all of them and has index tables over the
# whole, transactional, unique and asynchronous ones. Publishers and the index node crash under load. Then what the page on
# it warns of: TRUNCATE, keys that are unique here only, index tables and queues that are published, too.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my @nodes = ('n1', 'n2', 'n3');
my $ix = new_server('index_node', "shared_preload_libraries = 'indextable'", 'indextable.check_interval = 0', 'indextable.naptime = 1',
	'wal_retrieve_retry_interval = 100ms', 'max_worker_processes = 20', 'max_logical_replication_workers = 12', 'max_sync_workers_per_subscription = 1');
my %node = map { $_ => new_server($_, 'wal_level = logical', 'wal_sender_timeout = 10s') } @nodes;

# ---- the tables: each publisher names its own as the partition that it feeds

for my $n (@nodes)
{
	$node{$n}->safe_psql('postgres', <<"SQL");
CREATE FUNCTION d(i bigint) RETURNS jsonb LANGUAGE sql IMMUTABLE AS
\$\$ SELECT jsonb_build_object('town', 'Town ' || i % 20, 'email', 'c' || i || '\@$n', 'tags', ARRAY['t' || i % 5, 't' || i % 3], 'name', 'Customer ' || i) \$\$;
CREATE TABLE customer_$n (node text NOT NULL DEFAULT '$n' CHECK (node = '$n'), id int, doc jsonb NOT NULL, PRIMARY KEY (node, id));
INSERT INTO customer_$n (id, doc) SELECT g, d(g) FROM generate_series(1, 500) g;
CREATE PUBLICATION p FOR TABLE customer_$n;
CREATE SEQUENCE s START 10000;
CREATE PROCEDURE load(n int) LANGUAGE plpgsql AS \$\$
BEGIN
	FOR i IN 1 .. n LOOP
		INSERT INTO customer_$n (id, doc) SELECT v, d(v) FROM nextval('s') v;
		UPDATE customer_$n SET doc = d(id + 100000 * (1 + (random() * 9)::int)) WHERE id = (random() * 500)::int;
		UPDATE customer_$n SET doc = doc || '{"name": "another"}' WHERE id = (random() * 500)::int;
		IF i % 7 = 0 THEN UPDATE customer_$n SET id = nextval('s') WHERE id = (random() * 500)::int; END IF;
		IF i % 5 = 0 THEN DELETE FROM customer_$n WHERE id = (SELECT min(id) FROM customer_$n WHERE id > 10000); END IF;
		IF i % 11 = 0 THEN ROLLBACK; ELSE COMMIT; END IF;
	END LOOP;
END \$\$;
SQL
}
$ix->safe_psql('postgres', <<'SQL' . join '', map { "CREATE TABLE customer_$_ PARTITION OF customer FOR VALUES IN ('$_');" } @nodes);
CREATE EXTENSION indextable;
CREATE TABLE customer (node text NOT NULL, id int, doc jsonb NOT NULL, PRIMARY KEY (node, id)) PARTITION BY LIST (node);
SQL
$ix->safe_psql('postgres', <<'SQL');
SELECT indextable.create('by_town', 'customer', '{town}', include => '{name}');
SELECT indextable.create('by_email', 'customer', '{email}', is_unique => true);
SELECT indextable.create('by_tag', 'customer', '{tags[*]}', maintenance => 'async');
SELECT indextable.create('by_town_async', 'customer', '{town}', 'denormalized', maintenance => 'async', partitions => 2);
CREATE VIEW drift AS
WITH a AS (SELECT doc ->> 'town', node, id, doc ->> 'name' FROM customer), b AS (SELECT doc ->> 'email', node, id FROM customer),
	c AS (SELECT t, node, id, count(*)::int FROM customer, jsonb_array_elements_text(doc -> 'tags') t GROUP BY 1, 2, 3), d AS (SELECT doc ->> 'town', node, id, doc FROM customer)
SELECT 'by_town' AS what, count(*) AS n FROM ((TABLE a EXCEPT ALL TABLE by_town) UNION ALL (TABLE by_town EXCEPT ALL TABLE a)) x
UNION ALL SELECT 'by_email', count(*) FROM ((TABLE b EXCEPT ALL TABLE by_email) UNION ALL (TABLE by_email EXCEPT ALL TABLE b)) x
UNION ALL SELECT 'by_tag', count(*) FROM ((TABLE c EXCEPT ALL TABLE by_tag) UNION ALL (TABLE by_tag EXCEPT ALL TABLE c)) x
UNION ALL SELECT 'by_town_async', count(*) FROM ((TABLE d EXCEPT ALL TABLE by_town_async) UNION ALL (TABLE by_town_async EXCEPT ALL TABLE d)) x;
SQL

sub ix { return $ix->safe_psql('postgres', $_[0]); }
sub source { my ($n) = @_; return $node{$n}->connstr . ' dbname=postgres'; }

# problems: what verify() says of the setup of an index table
sub problems { return ix("SELECT problem FROM indextable.verify('$_[0]') WHERE kind = 'setup'"); }

# caught_up NAME: all rows are here, index tables equal their recompute, and verify() finds nothing
sub caught_up
{
	my ($name) = @_;
	$node{$_}->wait_for_catchup("s_$_") for @nodes;
	drained($ix);
	drift_free($ix, "$name: index tables equal their recompute");
	my $sum = 'count(*), md5(string_agg(x::text, chr(10) ORDER BY id))';
	is(ix("SELECT $sum FROM customer_$_ x"), $node{$_}->safe_psql('postgres', "SELECT $sum FROM customer_$_ x"), "$name: the rows of $_ are here") for @nodes;
	return is(ix('SELECT i.index_table, v.kind, v.problem FROM indextable.index_tables i, indextable.verify(i.index_table) v'), '', "$name: verify() finds nothing");
}

ix("CREATE SUBSCRIPTION s_$_ CONNECTION '" . source($_) . "' PUBLICATION p") for @nodes;
$ix->wait_for_subscription_sync($node{$_}, "s_$_") for @nodes;
caught_up('initial copy');
is(ix(q(SELECT count(*) FROM indextable.lookup('by_town', '{"town": "Town 7"}'))), 75, 'a look-up has the rows of all');

# ---- load and crashes

my @loads;
sub start_load { push @loads, map { session($node{$_})->start("CALL load($_[0])") } @{ $_[1] // \@nodes }; return; }
sub end_load { $_->answer for @loads; @loads = (); return; }

start_load(400);
becomes_true($ix, "SELECT max(id) > 10040 FROM customer WHERE node = 'n$_'") || die for 1 .. 3;
$ix->stop('immediate');
$ix->start;
becomes_true($node{n2}, "SELECT last_value > 10150 FROM s") || die;
$node{n2}->stop('immediate');
is(ix(q(SELECT count(*) > 0 FROM indextable.lookup('by_town', '{"town": "Town 7"}') x WHERE x ->> 'email' LIKE '%@n2')), 't', 'the rows of a server that is stopped are found');
$node{n2}->start;
start_load(100, ['n2']);
$ix->stop('immediate');
$node{n3}->stop('immediate');
$ix->start;
$node{n3}->start;
start_load(100, ['n3']);
end_load();
caught_up('after crashes under load');

# ---- TRUNCATE

$node{n1}->safe_psql('postgres', 'TRUNCATE customer_n1; INSERT INTO customer_n1 (id, doc) VALUES (1, d(1))');
caught_up('TRUNCATE on a publisher');
is(ix('SELECT count(*) FILTER (WHERE node = $$n1$$), count(*) > 1000 FROM customer'), '1|t', 'which empties its own partition');

# All publish a table by the name of the root.
for my $n (@nodes)
{
	$node{$n}->safe_psql('postgres', "CREATE TABLE shared (node text DEFAULT '$n', id int, doc jsonb, PRIMARY KEY (node, id)); INSERT INTO shared (id, doc) VALUES (1, d(1)), (2, d(2)); CREATE PUBLICATION p_shared FOR TABLE shared");
}
ix(<<'SQL' . join '', map { "CREATE TABLE shared_$_ PARTITION OF shared FOR VALUES IN ('$_');" } @nodes);
CREATE TABLE shared (node text, id int, doc jsonb, PRIMARY KEY (node, id)) PARTITION BY LIST (node);
SELECT indextable.create('shared_by_town', 'shared', '{town}');
SQL
my $truncates = qr/^several subscriptions write the fact table, and a TRUNCATE on one publisher would delete the rows of all/;
for my $n (@nodes)
{
	$ix->safe_psql('postgres', "CREATE SUBSCRIPTION shared_$n CONNECTION '" . source($n) . "' PUBLICATION p_shared");
	$ix->wait_for_subscription_sync($node{$n}, "shared_$n");
	is(problems('shared_by_town'), '', 'one subscription of a table is what TRUNCATE is replicated for') if $n eq 'n1';
}
like(problems('shared_by_town'), $truncates, 'several subscriptions that write the root');
is(problems('by_town'), '', 'but not of its partitions');
$node{n1}->safe_psql('postgres', 'TRUNCATE shared');
$node{n1}->wait_for_catchup('shared_n1');
is(ix('SELECT count(*) FROM shared'), 0, 'a TRUNCATE has emptied all of them');
$node{n2}->safe_psql('postgres', 'UPDATE shared SET doc = doc; DELETE FROM shared; INSERT INTO shared (id, doc) VALUES (3, d(3))');
$node{n2}->wait_for_catchup('shared_n2');

# a root of one, and a partition of another
ix('DROP SUBSCRIPTION shared_n3; DROP SUBSCRIPTION shared_n2');
is(problems('shared_by_town'), '', 'one subscription again');
$node{n2}->safe_psql('postgres', 'CREATE TABLE shared_n2 (LIKE shared INCLUDING ALL); CREATE PUBLICATION p_leaf FOR TABLE shared_n2');
ix("CREATE SUBSCRIPTION leaf_n2 CONNECTION '" . source('n2') . "' PUBLICATION p_leaf");
like(problems('shared_by_town'), $truncates, 'a subscription of the root, and another one of a partition');

# The index node refuses it by a trigger, which its own TRUNCATE does not fire.
ix(<<'SQL');
CREATE FUNCTION refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'TRUNCATE is not replicated into %', tg_relid::regclass; END $$;
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON shared FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
SQL
like(problems('shared_by_town'), $truncates, 'a trigger that does not fire for what is applied');
ix('ALTER TABLE shared ENABLE REPLICA TRIGGER refuse_truncate');
is(problems('shared_by_town'), '', 'a trigger that does');
$node{n1}->safe_psql('postgres', 'TRUNCATE shared');
becomes_true($ix, "SELECT apply_error_count > 0 FROM pg_stat_subscription_stats WHERE subname = 'shared_n1'") || die;
is(ix('SELECT count(*) FROM shared'), 1, 'it stops the subscription');
ix('DROP SUBSCRIPTION shared_n1; DROP SUBSCRIPTION leaf_n2; DROP TABLE shared');

# ---- a key that is unique on its server, but not over all

$node{n2}->safe_psql('postgres', q(INSERT INTO customer_n2 (id, doc) VALUES (9001, d(9001) || '{"email": "twice"}')));
$node{n2}->wait_for_catchup('s_n2');
my $errors = "SELECT apply_error_count FROM pg_stat_subscription_stats WHERE subname = 's_n1'";
my $before = ix($errors);
$node{n1}->safe_psql('postgres', q(INSERT INTO customer_n1 (id, doc) VALUES (9001, d(9001) || '{"email": "twice"}')));
becomes_true($ix, "SELECT ($errors) > $before") || die;
$node{n3}->safe_psql('postgres', q(INSERT INTO customer_n3 (id, doc) VALUES (9001, d(9001) || '{"email": "once"}')));
$node{n3}->wait_for_catchup('s_n3');
is(ix(q(SELECT string_agg(node, ',' ORDER BY node) FROM customer WHERE doc ->> 'email' IN ('once', 'twice'))), 'n2,n3', 'a duplicate stops the stream that brings it, and no other');
$node{n2}->safe_psql('postgres', q(UPDATE customer_n2 SET doc = doc || '{"email": "another"}' WHERE id = 9001));
caught_up('once the duplicate is gone, the stream goes on');

# ---- what must not be published with the fact table

my $queue = ix("SELECT queue FROM indextable_internal.fact WHERE fact_table = 'customer'::regclass");
my $part = ix("SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'by_town_async'::regclass ORDER BY 1 LIMIT 1");
$queue =~ s/.*\.//;
$node{n1}->safe_psql('postgres', <<"SQL");
CREATE TABLE by_town (town text COLLATE "C", node text, id int, name text, PRIMARY KEY (town, node, id));
CREATE TABLE $part (town text COLLATE "C", node text, id int, doc jsonb, PRIMARY KEY (town, node, id));
CREATE SCHEMA indextable_queues;
CREATE TABLE indextable_queues.$queue (changed_at timestamptz, key1 text, key2 int);
CREATE PUBLICATION p1 FOR TABLE by_town;
CREATE PUBLICATION p2 FOR TABLE $part;
CREATE PUBLICATION p3 FOR TABLE indextable_queues.$queue;
SQL
for my $case ([ 'p1', 'by_town', qr/^index table is also written by a subscription/ ], [ 'p2', 'by_town_async', qr/^index table is also written by a subscription/ ],
	[ 'p3', 'by_tag', qr/^tables of schemas indextable_internal and indextable_queues are also written by a subscription/ ])
{
	my ($publication, $index_table, $problem) = @$case;
	ix("CREATE SUBSCRIPTION wrong CONNECTION '" . source('n1') . "' PUBLICATION $publication");
	like(problems($index_table), $problem, "$publication takes along what it must not");
	ix('DROP SUBSCRIPTION wrong');
	is(problems($index_table), '', 'and then not any more');
}
caught_up('at the end');

$ix->stop;
$_->stop for values %node;
done_testing();
