# What Citus makes of tables, and what the extension says of it: nothing that it cannot keep right is accepted, neither
# by create() nor when a table with index tables is handed to Citus; what is refused leaves everything as it was. And the
# library, preloaded beside Citus, leaves it what it needs.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @nodes = new_cluster('refuse');
my ($c, $w1, $w2) = @nodes;

my $number = 0;

# create NAME, FACT TABLE, OPTIONS: the call; x is a name that nothing has
sub create
{
	my ($name, $fact, $options) = @_;
	$name .= ++$number if $name eq 'x';
	return "SELECT indextable.create('$name', '$fact', '{k}'" . ($options // '') . ')';
}

# unchanged NAME: f and its index table are in step, and writes go on
sub unchanged
{
	my ($name) = @_;
	sql($c, "UPDATE f SET doc = jsonb_build_object('k', 'k' || (id + 1) % 7) WHERE id % 3 = 0", "INSERT INTO f SELECT max(id) + 1, '{\"k\": \"new\"}' FROM f");
	return is(sql($c, "SELECT (SELECT state FROM indextable.index_tables WHERE index_table = 'f_k'::regclass), (SELECT count(*) FROM indextable.verify('f_k'))",
		q{SET indextable.planner = off; SELECT count(*) FROM (SELECT doc ->> 'k', id FROM f EXCEPT ALL SELECT k, id FROM f_k) x}, q{SET indextable.planner = off; SELECT count(*) FROM (SELECT k, id FROM f_k EXCEPT ALL SELECT doc ->> 'k', id FROM f) x}),
		"active|0\n0\n0", "$name: the index table is in step");
}

# ---- create()

sql($c, map({ ("CREATE TABLE $_ (id bigint PRIMARY KEY, doc jsonb)", "INSERT INTO $_ SELECT i, jsonb_build_object('k', 'k' || i % 7) FROM generate_series(1, 100) i") } 'dist', 'ref', 'loc', 'f'),
	'CREATE TABLE byfk (id bigint PRIMARY KEY, doc jsonb, r bigint)', "SELECT create_distributed_table('dist', 'id')", "SELECT create_reference_table('ref')",
	"SELECT citus_add_local_table_to_metadata('loc')", 'ALTER TABLE byfk ADD FOREIGN KEY (r) REFERENCES ref', "INSERT INTO byfk SELECT id, doc, id FROM ref");
is(sql($c, "SELECT string_agg(logicalrelid::text || ' ' || partmethod::text || repmodel::text, ', ' ORDER BY logicalrelid::text) FROM pg_dist_partition"), 'byfk ns, dist hs, loc ns, ref nt', 'a foreign key makes a Citus local table');
foreach my $unsafe ('off', 'on')
{
	my $set = "SET citus.enable_unsafe_triggers = $unsafe;\n";
	fails($c, $set . create('x', $_->[0]), qr/0A000: .*\n(.*\n)*HINT: /, "create() on a $_->[1], unsafe triggers $unsafe")
		for [ 'ref', 'reference table' ], [ 'loc', 'Citus local table' ], [ 'byfk', 'Citus local table by a foreign key' ];
	fails($c, $set . create('x', 'ref', ", maintenance => 'async'"), qr/0A000: .*\n(.*\n)*HINT: /, "asynchronous on a reference table, unsafe triggers $unsafe");
	fails($c, $set . create('x', 'loc', ", maintenance => 'async'"), qr/0A000: .*\n(.*\n)*HINT: /, "asynchronous on a Citus local table, unsafe triggers $unsafe");
	fails($c, $set . create('x', 'dist', ", maintenance => 'transactional'"), qr/0A000: .*\n(.*\n)*HINT: /, "transactional on a distributed table, unsafe triggers $unsafe");
}
fails($c, create('x', 'dist', ", is_unique => true, maintenance => '$_'"), qr/0A000: +table "dist" cannot have a unique index table\n(.*\n)*HINT: +Leave out is_unique/, "unique is not possible, $_") for 'async', 'transactional';
fails($c, create('x', 'dist', ", maintenance => 'async', partitions => 2, partition_by => 'HASH (k)'"), qr/0A000: .*\n(.*\n)*HINT: +Use partitions => n alone/, 'a distributed index table is not partitioned');
is(sql($c, 'SELECT count(*) FROM indextable.index_tables', "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'indextable%'"), "0\n0", 'nothing is left of it');
sql($c, create('few', 'dist', ", maintenance => 'async', partitions => 3"));
is(sql($c, "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = 'few'::regclass"), '3', 'partitions is the number of its shards');
is(sql($c, "SELECT indextable.wait('few')", "SELECT count(*) FROM few", "SELECT indextable.drop('few')"), "t\n100", 'which have all entries');

# Values that each node hashes in its own way: none would find what another one has written.
sql($c, "CREATE TYPE mood AS ENUM ('sad', 'glad')", 'CREATE DOMAIN moods AS mood[]', 'CREATE TYPE pair AS (n int, m mood)', 'CREATE TABLE moody (id bigint PRIMARY KEY, doc jsonb, m mood, ms moods, p pair, t regclass)',
	"SELECT create_distributed_table('moody', 'id')", q{INSERT INTO moody SELECT i, jsonb_build_object('k', 'k' || i % 7), 'glad' FROM generate_series(1, 100) i}, 'CREATE TABLE bymood (m mood PRIMARY KEY, doc jsonb)', "SELECT create_distributed_table('bymood', 'm')");
fails($c, "SELECT indextable.create('x', 'moody', '{\@$_, k}', maintenance => 'async')", qr/0A000: +table "moody" cannot have this index table\nDETAIL: +The first key field has values of an enum/, "an index table is not distributed by $_")
	for 'm', 'ms', 'p', 't';
fails($c, create('x', 'bymood', ", maintenance => 'async'"), qr/0A000: .*\nDETAIL: +It is distributed by a column with values of an enum/, 'nor is its fact table');
sql($c, "SELECT indextable.create('moody_k', 'moody', '{k, \@m}', maintenance => 'async')", "CALL indextable.build('moody_k')");
foreach my $node (@nodes)
{
	becomes_true($node, "SELECT state = 'active' FROM indextable.index_tables WHERE index_table = 'moody_k'::regclass");
	is(sql($node, q{SELECT count(*) FROM indextable.lookup('moody_k', '{"k": "k3", "m": "glad"}')}), '14', 'another field of an enum is found on each node');
}
sql($c, 'DROP TABLE moody', 'DROP TABLE bymood');

sql($c, "INSERT INTO $_->[0] (id, doc) VALUES (1000, '{}')") for ['dist'], ['ref'], ['loc'], ['byfk'];

# ---- a shard, on its worker

my $shard = sql($w1, "SELECT shard_name FROM citus_shards WHERE table_name = 'dist'::regclass AND nodeport = " . $w1->port . ' ORDER BY 1 LIMIT 1');
like($shard, qr/^dist_\d+$/, 'there is a shard');
fails($w1, "SET citus.override_table_visibility = off;\nSET citus.enable_unsafe_triggers = on;\n" . create('x', $shard, $_), qr/0A000: .*\n(.*\n)*HINT: /, "create() on a shard$_")
	for '', ", maintenance => 'async'";
is(sql($w1, "SELECT count(*) FROM indextable.index_tables"), '0', 'nothing is left of it');

# ---- a table with an index table is handed to Citus

sql($c, create('f_k', 'f'), 'CREATE TABLE ref2 (id bigint PRIMARY KEY)', "SELECT create_reference_table('ref2')");
unchanged('at first');
foreach my $command ("SELECT create_distributed_table('f', 'id')", "SELECT create_reference_table('f')", "SELECT citus_add_local_table_to_metadata('f')",
	"SELECT create_distributed_table_concurrently('f', 'id')", "ALTER TABLE f ADD COLUMN r bigint REFERENCES ref2", "SELECT create_distributed_table('f_k', 'k')", "SELECT create_reference_table('f_k')")
{
	my ($status, $out, $err) = $c->psql('postgres', "\\set VERBOSITY verbose\n$command");
	isnt($status, 0, "refused: $command");
	unlike($err, qr/is (now )?invalid/, 'and not as if something had become wrong');
	note $err;
	unchanged($command);
}
is(sql($c, "SELECT count(*) FROM pg_dist_partition WHERE logicalrelid IN ('f'::regclass, 'f_k'::regclass)"), '0', 'Citus has none of them');

# With its consent to triggers Citus does it. Then nobody may believe the index table.
foreach my $command ("SELECT create_distributed_table('g', 'id')", "SELECT create_reference_table('g')", "SELECT citus_add_local_table_to_metadata('g')")
{
	sql($c, 'CREATE TABLE g (id bigint PRIMARY KEY, doc jsonb)', "INSERT INTO g SELECT i, jsonb_build_object('k', 'k' || i % 7) FROM generate_series(1, 100) i", create('g_k', 'g'));
	my ($status, $out, $err) = $c->psql('postgres', "SET citus.enable_unsafe_triggers = on;\n$command");
	note $err;
	if ($status == 0)
	{
		fails($c, "SELECT * FROM indextable.lookup('g_k', '{\"k\": \"k1\"}')", qr/Citus/, "look-ups say so after $command");
		fails($c, "SELECT * FROM indextable.verify('g_k')", qr/Citus/, "verify() says so after $command");
		fails($c, "CALL indextable.rebuild('g_k')", qr/Citus/, "rebuild() says so after $command");
		fails($c, "SELECT indextable.alter('g_k', include => '{v}')", qr/Citus/, "alter() says so after $command");
		is(sql($c, "SET citus.enable_unsafe_triggers = on;\nSELECT count(*) FROM g WHERE doc ->> 'k' = 'k1'"), '15', "plain queries are right after $command");
		like(sql($c, "EXPLAIN (COSTS OFF) SELECT * FROM g WHERE doc ->> 'k' = 'k1'"), qr/^(?!.*g_k)/s, 'without the index table');
	}
	else
	{
		is(sql($c, 'SELECT count(*) FROM g', "SELECT count(*) FROM indextable.verify('g_k')"), "100\n0", "refused: $command");
	}
	sql($c, "SET citus.enable_unsafe_triggers = on;\nDROP TABLE g CASCADE");
	is(sql($c, "SELECT count(*) FROM indextable.index_tables WHERE index_table::text = 'g_k'"), '0', 'and goes with its table');
}
unchanged('in the end');

# ---- an owner who is no superuser drops what is his, and a superuser does

sql($c, 'CREATE ROLE tenant LOGIN', 'CREATE SCHEMA t AUTHORIZATION tenant');
foreach my $role ('tenant', 'postgres')
{
	foreach my $drops ([], [ "SELECT indextable.drop('t.d_k')", "SELECT indextable.drop('t.d_l')" ], [ 'DROP TABLE t.d_l', 'DROP TABLE t.d_k' ])
	{
		sql($c, map { "SET ROLE tenant; $_" } 'CREATE TABLE t.d (t int, id int, doc jsonb, PRIMARY KEY (t, id))', "SELECT create_distributed_table('t.d', 't')",
			"SELECT indextable.create('t.d_k', 't.d', '{k}', maintenance => 'async')", "SELECT indextable.create('t.d_l', 't.d', '{\@t,k}')");
		# who reads the fact table keeps its triggers from being dropped
		my $reader = session($c);
		foreach (@$drops, q(INSERT INTO t.d SELECT i, i, '{"k": 1}' FROM generate_series(1, 20) i), 'DROP TABLE t.d')
		{
			$reader->query('BEGIN; SELECT count(*) FROM t.d') if /DROP TABLE t.d_k/;
			$reader->query('COMMIT') if /DROP TABLE t.d$/;
			my ($status, $out, $err) = $c->psql('postgres', "SET client_min_messages = warning; SET ROLE $role; $_");
			is($err, '', "$role: $_");
		}
		$reader->finish;
		# a worker drops the queue, when it looks at the nodes
		ok(becomes_true($c, "SELECT indextable.start_workers()::text IS NOT NULL AND (SELECT count(*) = 0 FROM pg_dist_partition WHERE logicalrelid::text LIKE '%queue%')"), 'no queue is left');
	}
}

# ---- a split that does not block writers
# The walsender and the workers of a split take callbacks for relcache invalidations, of which a process can have ten.

sql($c, 'CREATE TABLE s (id bigint PRIMARY KEY, doc jsonb)', "SELECT create_distributed_table('s', 'id')", "INSERT INTO s SELECT i, jsonb_build_object('k', 'k' || i % 7) FROM generate_series(1, 5000) i");
my ($id, $at) = split /\|/, sql($c, "SELECT shardid, (shardminvalue::bigint + shardmaxvalue::bigint) / 2 FROM pg_dist_shard WHERE logicalrelid = 's'::regclass ORDER BY 1 LIMIT 1");
my $numbers = join ', ', split /\n/, sql($c, "SELECT nodeid FROM pg_dist_node WHERE groupid > 0 ORDER BY groupid");
my ($status, $out, $err) = $c->psql('postgres', "SELECT count(*) FROM indextable.index_tables;\nSELECT count(*) FROM f WHERE doc ->> 'k' = 'k1';\n"
	. "SELECT citus_split_shard_by_split_points($id, ARRAY['$at'], ARRAY[$numbers], 'force_logical')", timeout => 300, timed_out => \my $hung);
ok(!$hung && $status == 0, 'a split without blocking ends, with the library preloaded');
diag $err if $status;
is(sql($c, "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = 's'::regclass", 'SELECT count(*), count(DISTINCT id) FROM s'), "9\n5000|5000", 'and has split');
unlike(join('', map { slurp_file($_->logfile) } @nodes), qr/relcache_callback_list/, 'no process was out of callbacks');

$_->stop('immediate') for @nodes;
done_testing();
