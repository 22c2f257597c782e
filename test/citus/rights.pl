# What roles with few rights try on Citus: to have code of their own run as somebody else on another node. Functions of theirs
# stand before those of the server in the search_path, which they have Citus send to the nodes.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @nodes = new_cluster('rights');
my ($c, $w1, $w2) = @nodes;

# as ROLE, COMMAND…: each of them, at the coordinator
sub as
{
	my ($role, @commands) = @_;
	return sql($c, map { "SET ROLE $role; $_" } @commands);
}

# used: how often a function of the reader was called by another role on all nodes, since that was asked
my $before = 0;

sub used
{
	my $used = -$before;
	$used += $_ for everywhere(\@nodes, 'SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM evil.used');
	$before += $used;
	return $used;
}

sql($c, 'CREATE ROLE tenant LOGIN', 'CREATE ROLE reader LOGIN', 'CREATE SCHEMA t AUTHORIZATION tenant', 'GRANT USAGE ON SCHEMA t TO reader', 'CREATE SCHEMA evil');
as('tenant', 'CREATE TABLE t.f (pk bigint PRIMARY KEY, doc jsonb, note text)', "SELECT create_distributed_table('t.f', 'pk')", q{INSERT INTO t.f SELECT i, jsonb_build_object('k', 'v' || i % 4, 'n', i) FROM generate_series(1, 40) i},
	"SELECT indextable.create('t.f_k', 't.f', '{k}', include => '{n}', maintenance => 'async')", "CALL indextable.build('t.f_k')", 'GRANT SELECT ON t.f TO reader');
sql($_, 'SET citus.enable_ddl_propagation = off; CREATE SEQUENCE evil.used; GRANT USAGE ON SCHEMA evil TO PUBLIC; GRANT ALL ON SEQUENCE evil.used TO PUBLIC') for @nodes;
foreach my $role ('reader', 'tenant')
{
	sql($_, "SET citus.enable_ddl_propagation = off; CREATE SCHEMA of_$role; GRANT ALL ON SCHEMA of_$role TO PUBLIC; SET ROLE $role; CREATE FUNCTION of_$role.assign_distributed_transaction_id(a int, b int, c text) RETURNS void LANGUAGE plpgsql
		AS \$\$BEGIN IF current_user <> '$role' THEN PERFORM pg_catalog.nextval('evil.used'); END IF; PERFORM pg_catalog.assign_distributed_transaction_id(a, b, c::timestamptz); END\$\$") for @nodes;
}

# ---- settings that Citus sends to the nodes

my $unsent = 'SET LOCAL citus.propagate_set_commands = none';
my $plain = q{SET LOCAL indextable.stale_reads = on; SELECT count(*) FROM t.f WHERE doc ->> 'k' = 'v1'};
my $late = q{SET LOCAL indextable.stale_reads = on; SELECT note FROM t.f WHERE doc ->> 'k' = 'v1'};
foreach my $role ('reader', 'tenant')
{
	my $sent = "BEGIN; SET LOCAL citus.propagate_set_commands = 'local'; SET LOCAL search_path = 'of_$role', 'pg_catalog'";
	foreach my $what ("SELECT indextable.wait('t.f_k')", 'SELECT count(*) FROM indextable.queues', 'SELECT count(table_size) FROM indextable.index_table_stats', "SELECT indextable.drain('t.f')", "SELECT indextable.query('t.f_k', '{\"k\": \"v1\"}')",
		"SELECT count(*) FROM indextable.verify('t.f_k')", "CALL indextable.repair('t.f_k')", "SELECT indextable.create('t.f_n', 't.f', '{n}', maintenance => 'async')", $plain, $late)
	{
		foreach ([ '', $what ], [ ', before', "$unsent; $what" ], [ ', in a savepoint', "SAVEPOINT s; $what; ROLLBACK TO s; $what" ])
		{
			$c->psql('postgres', "SET SESSION AUTHORIZATION $role; $sent; $_->[1]; ROLLBACK");
			is(used(), 0, "$role, settings sent$_->[0]: $what");
		}
	}
	is($c->safe_psql('postgres', "SET SESSION AUTHORIZATION $role; $sent; $plain"), '10', "$role, settings sent: Citus answers");
	is($c->safe_psql('postgres', "SET SESSION AUTHORIZATION $role; $sent; SELECT count(backlog) FROM indextable.queues"), '0', "$role, settings sent: the backlog is unknown");
	fails($c, "SET SESSION AUTHORIZATION $role; $sent; SELECT indextable.wait('t.f_k')", qr/25001: +cannot ask nodes of Citus/, "$role, settings sent: wait() is refused");
	fails($c, "SET SESSION AUTHORIZATION $role; BEGIN; SELECT indextable.wait('t.f_k'); $sent; SELECT indextable.wait('t.f_k')", qr/25001: +cannot ask nodes of Citus/, "$role, settings sent to open connections: wait() is refused");
	is($c->safe_psql('postgres', "SET SESSION AUTHORIZATION $role; $sent; COMMIT; SELECT indextable.wait('t.f_k')"), 't', "$role: it is not afterwards");
}
is(used(), 0, 'nobody has called a function of the reader');

# ---- triggers on shards by who may make triggers on the tables

sql($_, 'SET citus.enable_ddl_propagation = off; CREATE FUNCTION of_reader.nothing() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$') for @nodes;
as('tenant', 'CREATE TABLE t.g (a int, pk int, doc jsonb, PRIMARY KEY (a, pk))', "SELECT create_distributed_table('t.g', 'a', colocate_with => 'none')", "SELECT indextable.create('t.g_k', 't.g', '{\@a,k}')",
	'GRANT TRIGGER ON t.f, t.g, t.f_k, t.g_k TO reader');
my $on_shards = 'SET citus.enable_manual_changes_to_shards = on; SET citus.enable_unsafe_triggers = on; SET citus.enable_ddl_propagation = off; SET ROLE reader;';
foreach my $table ('f', 'g', 'f_k', 'g_k')
{
	my $number = sql($c, "SELECT shardid FROM citus_shards WHERE table_name = 't.$table'::regclass AND nodeport = " . $w1->port . ' ORDER BY 1 LIMIT 1');
	fails($w1, "$on_shards CREATE OR REPLACE TRIGGER indextable_row_$number AFTER INSERT ON t.${table}_$number FOR EACH ROW EXECUTE FUNCTION of_reader.nothing()",
		qr/42501: +must be owner of table ${table}_$number to create trigger/, "a shard of $table: the right TRIGGER is not enough to replace our trigger");
	fails($w1, "$on_shards CREATE TRIGGER other AFTER INSERT ON t.${table}_$number FOR EACH ROW EXECUTE FUNCTION of_reader.nothing()",
		qr/0A000: +trigger "other" cannot be for each row of index table "${table}_$number"/, "a shard of $table: it has no triggers for rows") if $table =~ /_k/;
}
as('tenant', q{INSERT INTO t.f SELECT i, '{"k": "new"}' FROM generate_series(41, 80) i}, q{INSERT INTO t.g SELECT i, i, '{"k": "new"}' FROM generate_series(41, 80) i}, "SELECT indextable.wait('t.f_k')");
is(sql($c, q{SELECT count(*) FROM t.f_k WHERE k = 'new'}, q{SELECT count(*) FROM t.g_k WHERE k = 'new'}), "40\n40", 'writers make all entries');

# ---- domains, which Citus checks when it gets a row from another node

as('tenant', q{CREATE FUNCTION t.checks(n int) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN IF current_user <> 'tenant' THEN RAISE 'called as %', current_user; END IF; RETURN true; END$$},
	'CREATE DOMAIN t.num AS int CHECK (t.checks(VALUE))', 'CREATE TYPE t.nums AS (n t.num, s text)',
	'CREATE TABLE t.d (a int, pk int, doc jsonb, x t.num, y t.nums, z t.num[], PRIMARY KEY (a, pk))', "SELECT create_distributed_table('t.d', 'a', colocate_with => 'none')",
	q{INSERT INTO t.d SELECT i % 10, i, '{"k": "v", "m": 1}', i, (i, 'x')::t.nums, ARRAY[i]::t.num[] FROM generate_series(1, 40) i});
foreach my $column ('x', 'y', 'z')
{
	# There are no arrays of arrays of a domain, in which a drain would send them.
	as('tenant', "SELECT indextable.create('t.d_$column', 't.d', '{k}', include => '{\@$column}', maintenance => 'async')", "CALL indextable.build('t.d_$column')", "GRANT SELECT ON t.d_$column TO reader") unless $column eq 'z';
	as('tenant', "SELECT indextable.create('t.e_$column', 't.d', '{\@a,k}', include => '{\@$column}')", "GRANT SELECT ON t.e_$column TO reader");
	foreach my $role ('postgres', 'reader')
	{
		is($c->safe_psql('postgres', "SET ROLE $role; SELECT count(*) FROM indextable.query('t.d_$column', '{\"k\": \"v\"}', page_size => 1000)"), '40', "$role reads entries with a domain in $column as their owner") unless $column eq 'z';
		is($c->safe_psql('postgres', "SET ROLE $role; SELECT count(*) FROM generate_series(0, 9) i, indextable.query('t.e_$column', jsonb_build_object('a', i, 'k', 'v'), page_size => 1000)"), '40', "$role: and beside the shards, with $column");
	}
}
fails($c, "SET ROLE reader; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM indextable.query('t.e_x', '{\"a\": 1, \"k\": \"v\"}')", qr/0A000: +index table "e_x" cannot be read in a transaction of this isolation level/, 'which has another snapshot then');
fails($c, "SET ROLE tenant; SELECT indextable.create('t.d_z', 't.d', '{k}', include => '{\@z}', maintenance => 'async')", qr/0A000: .*Field "z" has type t\.num\[\], of which there are no arrays/s, 'a drain could not send arrays of a domain');
as('tenant', 'DROP TABLE t.d');

# In a primary key they would be in the queue, whose owner is a superuser.
foreach my $type ('num[]', 'nums')
{
	as('tenant', "CREATE TABLE t.d (pk t.$type PRIMARY KEY, doc jsonb)", "SELECT create_distributed_table('t.d', 'pk', colocate_with => 'none')");
	fails($c, "SET ROLE tenant; SELECT indextable.create('t.d_k', 't.d', '{k}', maintenance => 'async')", qr/0A000: .*Its primary key has values with a domain or a composite type within/s, "nor are values of $type queued, which a drain would make anew as the owner of the queue");
	as('tenant', 'DROP TABLE t.d');
}

as('tenant', 'CREATE TABLE t.d (pk t.num PRIMARY KEY, doc jsonb)', "SELECT create_distributed_table('t.d', 'pk', colocate_with => 'none')");
fails($c, "SET ROLE tenant; SELECT indextable.create('t.d_k', 't.d', '{k}', maintenance => 'async')", qr/0A000: .*It is distributed by a column of a domain/s, 'nor those of a domain');
as('tenant', 'DROP TABLE t.d', 'CREATE TABLE t.d (a int, pk t.num, doc jsonb, PRIMARY KEY (a, pk))', "SELECT create_distributed_table('t.d', 'a', colocate_with => 'none')",
	"SELECT indextable.create('t.d_k', 't.d', '{k}', maintenance => 'async')", "CALL indextable.build('t.d_k')", q{INSERT INTO t.d SELECT 1, i, '{"k": "v"}' FROM generate_series(1, 9) i});
is(as('tenant', "SELECT indextable.wait('t.d_k', '60s')", 'SELECT count(*) FROM t.d_k'), "t\n9", 'but another column of the key may be of one');
as('tenant', 'DROP TABLE t.d');

# ---- the name of somebody else's shard

# A tenant gives its index table, on the coordinator, the name that a shard of somebody else has on another node, and those
# of its own shards names to match. What follows a command on all nodes must not go by these names.
sql($c, 'CREATE ROLE victim LOGIN', 'CREATE ROLE accomplice', 'GRANT accomplice TO tenant', 'GRANT ALL ON SCHEMA t TO victim, accomplice', 'SET ROLE victim; CREATE TABLE t.v (a int PRIMARY KEY, secret text)',
	"SET ROLE victim; SELECT create_distributed_table('t.v', 'a', colocate_with => 'none')", "SET ROLE victim; INSERT INTO t.v SELECT i, 'secret' FROM generate_series(1, 40) i");
as('tenant', 'CREATE TABLE t.m (pk bigint PRIMARY KEY, doc jsonb)', "SELECT create_distributed_table('t.m', 'pk', colocate_with => 'none')", "SELECT indextable.create('t.m_k', 't.m', '{k}', maintenance => 'async')",
	"CALL indextable.build('t.m_k')");
my ($theirs, $other) = shards_on($c, $w1, 't.v');
my $locally = 'SET citus.enable_manual_changes_to_shards = on; SET citus.enable_ddl_propagation = off; SET ROLE tenant;';
my %renamed = map { my $node = $_; $node->port => [ map { "ALTER TABLE t.$_ RENAME TO " . s/^m_k/$theirs/r } shards_on($c, $node, 't.m_k') ] } @nodes;
sql($c, "$locally ALTER TABLE t.m_k RENAME TO $theirs");
sql($w2, "$locally ALTER TABLE t.m_k RENAME TO $theirs");
foreach my $node (@nodes) { sql($node, map { "$locally $_" } @{ $renamed{ $node->port } }); }
$c->psql('postgres', 'SET ROLE tenant; ALTER TABLE t.m OWNER TO accomplice');
is(sql($w1, "SET citus.override_table_visibility = off; SELECT relowner::regrole FROM pg_class WHERE oid = 't.$theirs'::regclass"), 'victim', 'a new owner of a fact table gets its index tables, and no table of others with their names');
fails($w1, "SET ROLE tenant; SELECT * FROM t.$theirs", qr/42501: /, 'nor reads it');

# Nor do triggers come to the shard, whose writers would get errors.
as('tenant', 'CREATE TABLE t.n (pk bigint PRIMARY KEY, doc jsonb)', "SELECT create_distributed_table('t.n', 'pk', colocate_with => 'none')", "SELECT indextable.create('t.n_k', 't.n', '{k}', maintenance => 'async')",
	'ALTER TABLE t.n RENAME TO p');
my @shards = map { [ split /\|/ ] } split /\n/, sql($c, "SELECT shardid, nodeport FROM citus_shards WHERE table_name = 't.p'::regclass");
sql($_, "$locally ALTER TABLE t.p RENAME TO $other") for $c, $w2;
sql($_->[1] == $w1->port ? $w1 : $w2, "$locally " . ($_->[1] == $w1->port ? "CREATE TABLE t.${other}_$_->[0] (LIKE t.p_$_->[0])" : "ALTER TABLE t.p_$_->[0] RENAME TO ${other}_$_->[0]")) for @shards;
fails($c, "SET ROLE tenant; SELECT indextable.create('t.p_k', 't.$other', '{k}', maintenance => 'async')", qr/55000: +cannot make trigger "indextable_\w+" on table "$other"/, 'no trigger comes to a shard of others');
is(sql($c, "SET ROLE victim; UPDATE t.v SET secret = 'new'", 'SET ROLE victim; SELECT count(*) FROM t.v'), '40', 'whose writers go on');

# An owner's shards go along on all nodes.
as('tenant', 'ALTER TABLE t.f OWNER TO accomplice', 'ALTER TABLE t.g OWNER TO accomplice');
foreach my $node (@nodes)
{
	is(sql($node, "SET citus.override_table_visibility = off; SELECT string_agg(DISTINCT relowner::regrole::text, ',') FROM pg_class WHERE relnamespace = 't'::regnamespace AND relkind = 'r' AND relname ~ '^[fg](_|\$)'"),
		'accomplice', 'a new owner of fact tables gets all shards of their index tables');
}

# ---- a table with columns of other types in the place of a shard

as('tenant', 'CREATE TABLE t.s (pk text PRIMARY KEY, doc jsonb)', "SELECT create_distributed_table('t.s', 'pk', colocate_with => 'none')", "INSERT INTO t.s VALUES ('a', '{\"k\": 1}')", "SELECT indextable.create('t.s_k', 't.s', '{k}', maintenance => 'async')",
	'CREATE TABLE t.r (pk bigint, d int, doc jsonb, PRIMARY KEY (pk, d)) PARTITION BY RANGE (d)', 'CREATE TABLE t.r_1 PARTITION OF t.r FOR VALUES FROM (0) TO (100)', "SELECT create_distributed_table('t.r', 'pk', colocate_with => 'none')",
	q{INSERT INTO t.r SELECT i, i, '{"k": 1}' FROM generate_series(1, 40) i}, "SELECT indextable.create('t.r_k', 't.r', '{k}', maintenance => 'async')", "CALL indextable.build('t.r_k')");
my %shard = map { $_ => (shards_on($c, $w1, "t.$_"))[0] } 's', 'r';
sql($w1, "$locally ALTER TABLE t.$shard{s} RENAME TO kept; CREATE TABLE t.$shard{s} (pk bigint PRIMARY KEY, doc jsonb); INSERT INTO t.$shard{s} VALUES (12345)");
fails($c, "SET ROLE tenant; SELECT indextable.create('t.s_2', 't.s', '{k}', maintenance => 'async')", qr/42804: +shard "$shard{s}" has another primary key than its table/, 'keys of another type are not queued');
sql($w1, "$locally DROP TABLE t.$shard{s}; ALTER TABLE t.kept RENAME TO $shard{s}", 'SELECT indextable.stop_workers()');
as('tenant', q{UPDATE t.r SET doc = '{"k": 2}'});
sql($w1, "$locally ALTER TABLE t.$shard{r} RENAME TO kept; CREATE TABLE t.$shard{r} (pk bigint, d text, doc jsonb, PRIMARY KEY (pk, d)) PARTITION BY RANGE (d); CREATE TABLE t.other PARTITION OF t.$shard{r} FOR VALUES FROM ('a') TO ('b'); CREATE TABLE t.others PARTITION OF t.$shard{r} FOR VALUES FROM ('b') TO ('c')");
fails($w1, "SELECT indextable_internal.drain_shards('t.r', 100)", qr/ERROR: +XX000: partition key of "r" is not part of its primary key/, 'nor are partitions found by them');
sql($w1, "$locally DROP TABLE t.$shard{r}; ALTER TABLE t.kept RENAME TO $shard{r}", 'SELECT indextable.start_workers()');
as('tenant', "SELECT indextable.drain('t.r')");
is(sql($c, "SELECT count(*) FROM t.r_k WHERE k = '2'"), '40', 'all is applied when the shard is back');

# ---- TRUNCATE of shards by hand, with the right to truncate the table

as('tenant', 'CREATE TABLE t.y (pk bigint PRIMARY KEY, doc jsonb)', "SELECT create_distributed_table('t.y', 'pk', colocate_with => 'none')", q{INSERT INTO t.y SELECT i, '{"k": 1}' FROM generate_series(1, 40) i},
	"SELECT indextable.create('t.y_k', 't.y', '{k}', maintenance => 'async')", "CALL indextable.build('t.y_k')", 'GRANT TRUNCATE, SELECT ON t.y, t.r, t.r_1 TO reader');
$shard{$_} = (shards_on($c, $w1, "t.$_"))[0] for 'y', 'r_1';
my $by_hand = "SET ROLE reader; SET citus.enable_manual_changes_to_shards = on; SET application_name = 'citus_internal gpid=1'";
fails($w1, "$by_hand; TRUNCATE t.$shard{$_}", qr/42501: +must be owner of table "$_" to truncate it/, "another role cannot truncate a shard of $_") for 'y', 'r';
fails($c, "SET ROLE reader; TRUNCATE t.$_", qr/42501: +must be owner of table "$_" to truncate it/, "nor all of $_") for 'y', 'r';
sql($w1, "$by_hand; TRUNCATE t.$shard{r_1}");
as('tenant', "SELECT indextable.wait('t.r_k')");
is(sql($c, 'SELECT count(*) < 40 FROM t.r', "SELECT count(*) FROM indextable.verify('t.r_k')"), "t\n0", 'but a partition, whose entries follow');
as('tenant', q{DELETE FROM t.r}, q{INSERT INTO t.r SELECT i, i, '{"k": 3}' FROM generate_series(1, 40) i}, "SELECT indextable.wait('t.r_k')");
sql($w1, "$locally BEGIN\\; TRUNCATE t.$shard{r}\\; ROLLBACK\\; BEGIN\\; TRUNCATE t.$shard{r_1}\\; COMMIT;");
as('tenant', "SELECT indextable.wait('t.r_k')");
is(sql($c, 'SELECT count(*) < 40 FROM t.r', "SELECT count(*) FROM indextable.verify('t.r_k')"), "t\n0", 'also after TRUNCATE of the shard, undone in the same query string');
as('tenant', 'TRUNCATE t.y', 'TRUNCATE t.r');
is(sql($c, 'SELECT (SELECT count(*) FROM t.y_k) + (SELECT count(*) FROM t.r_k)'), '0', 'the owner truncates all');

# ---- rows that a writer puts into a shard that is not theirs

as('tenant', 'CREATE TABLE t.x (pk bigint PRIMARY KEY, doc jsonb)', "SELECT create_distributed_table('t.x', 'pk', colocate_with => 'none')", "SELECT indextable.create('t.x_k', 't.x', '{k}', maintenance => 'async')",
	"CALL indextable.build('t.x_k')", 'GRANT INSERT ON t.x TO reader');
$shard{x} = (shards_on($c, $w1, 't.x'))[0];
sql($w1, "SET citus.enable_manual_changes_to_shards = on; SET ROLE reader; INSERT INTO t.$shard{x} SELECT i, '{\"k\": \"stray\"}' FROM generate_series(1001, 1040) i");
as('tenant', q{INSERT INTO t.x SELECT i, '{"k": "own"}' FROM generate_series(1, 40) i});
is(as('tenant', "SELECT indextable.wait('t.x_k', '60s')", "SELECT count(*) FROM t.x_k WHERE k = 'own'"), "t\n40", 'do not keep those of others from their entries');
like(as('tenant', "SELECT string_agg(DISTINCT kind, ' ') FROM indextable.verify('t.x_k')"), qr/missing/, 'and verify() tells of them');

# ---- views, while somebody has a shard of his own locked

is(sql($c, 'SET ROLE reader; SELECT count(*) > 2 AND bool_and(table_size > 0 AND indexes_size > 0) FROM indextable.index_table_stats'), 't', 'sizes are known');
my $held_shard = 't.' . (shards_on($c, $w1, 't.f_k'))[0];
my $locker = session($w1);
$locker->query("SET ROLE tenant; SET citus.enable_manual_changes_to_shards = on; BEGIN; LOCK TABLE $held_shard");
my ($status, $sizes, $err) = $c->psql('postgres', "SET statement_timeout = '60s'; SET ROLE reader; SELECT string_agg(index_table::text, ' ') FROM indextable.index_table_stats WHERE table_size IS NULL OR indexes_size IS NULL");
is("$sizes $err", 't.f_k ', 'only its size is unknown, and nobody waits');
$locker->finish;

# A tenant drops its table on the coordinator only.
as('tenant', 'SET citus.enable_ddl_propagation = off; DROP TABLE t.x');
is(sql($_, 'SET ROLE reader; SELECT count(*) > 0 FROM indextable.queues'), 't', 'the view shows the queues of others') for $w1, $w2;

# ---- code that goes on when it is canceled

# An index on the shards of an index table calls it, in the worker of the node that has them.
as('tenant', 'CREATE TABLE t.l (pk bigint PRIMARY KEY, doc jsonb)', "SELECT create_distributed_table('t.l', 'pk', colocate_with => 'none')", q{INSERT INTO t.l SELECT i, '{"k": 1}' FROM generate_series(1, 40) i},
	"SELECT indextable.create('t.l_k', 't.l', '{k}', maintenance => 'async', partitions => 2)", "CALL indextable.build('t.l_k')");
sql($_, q(ALTER SYSTEM SET indextable.batch_timeout = '1s'), 'SELECT pg_reload_conf()') for @nodes;
sql($_, "$locally CREATE FUNCTION t.goes_on(k text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS \$\$BEGIN WHILE k = 'new' LOOP BEGIN PERFORM pg_sleep(1); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; RETURN k; END\$\$") for @nodes;
foreach my $node ($w1, $w2) { sql($node, map { "$locally CREATE INDEX ON t.$_ (t.goes_on(k))" } shards_on($c, $node, 't.l_k')); }
as('tenant', q{UPDATE t.l SET doc = '{"k": "new"}'});
ok(becomes_true($w1, q(SELECT count(*) > 0 FROM indextable.queues WHERE fact_table = 't.l'::regclass AND last_error LIKE '%a worker was terminated by it%')), 'code that goes on ends with the worker');
unlike(slurp_file($_->logfile), qr/was terminated by signal|server process was not properly shut down/, 'which takes nobody along') for @nodes;

$_->stop('immediate') for @nodes;
done_testing();
