# Commands on a fact table and its writers: a command waits for the transactions that have written, and these go on meanwhile,
# whatever they have to find out about index tables. Two sessions never wait for each other, nor do two connections of one.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Cluster;
use Load;
use Test::More;

my @nodes = new_cluster('locks', coordinator_has_shards => 1,
	settings => [ 'citus.shard_count = 12', 'citus.max_adaptive_executor_pool_size = 8', 'deadlock_timeout = 200ms', "statement_timeout = '60s'" ]);
my ($c, $w1, $w2) = @nodes;

# All of them are for tables f, the last ones for those that are partitioned.
my @commands = ('ALTER TABLE f ADD COLUMN more int', 'ALTER TABLE f RENAME more TO other', 'ALTER TABLE f DROP COLUMN other', 'CREATE INDEX ON f (note)',
	'ALTER TABLE f ADD CONSTRAINT c CHECK (pk > -9)', 'TRUNCATE f');
my @of_partitions = ('ALTER TABLE f DETACH PARTITION f_1', 'ALTER TABLE f ATTACH PARTITION f_1 FOR VALUES FROM (MINVALUE) TO (900)',
	'CREATE TABLE f_9 PARTITION OF f FOR VALUES FROM (90000) TO (99999)', 'TRUNCATE f_2', 'DROP TABLE f_9');

# key_on NODE: a primary key whose row belongs there
sub key_on
{
	my ($node) = @_;
	return sql($c, 'SELECT min(pk) FROM generate_series(900, 1500) pk WHERE get_shard_id_for_distribution_column(\'f\', pk) IN (' . join(', ', map { /(\d+)$/ } shards_on($c, $node, 'f')) . ')');
}

# commands: runs each while a new session has a lock and is about to write, through which node and as which role it may be
sub commands
{
	my @writers = ([ $w1, 'postgres', $w2 ], [ $w2, 'app', $w1 ], [ $c, 'app', $w1 ]);
	foreach my $command (@_)
	{
		my ($node, $role, $to) = @{ $writers[0] };
		push @writers, shift @writers;
		my $key = key_on($to);
		my $shard = 'f_' . sql($c, "SELECT get_shard_id_for_distribution_column('f', $key)");
		# One writes through Citus. The other one is what Citus does on the node that has the row.
		my $writer = session($node);
		my $on_node = session($to);
		$writer->query("SET SESSION AUTHORIZATION $role; BEGIN; DELETE FROM f WHERE pk = $key AND note = 'none'");
		$on_node->query("SET application_name = 'citus_internal gpid=1'; SET SESSION AUTHORIZATION $role; SET citus.enable_manual_changes_to_shards = on; BEGIN; DELETE FROM $shard WHERE pk = $key AND note = 'none'");
		my $ddl = session($c);
		$ddl->start($command);
		ok(becomes_true($c, "SELECT bool_or(result::bool) FROM run_command_on_all_nodes(\$\$ SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND relation::regclass::text ~ '^f(_[0-9]+)*\$' \$\$)"), "$command waits");
		is($on_node->query("UPDATE $shard SET doc = d($key + 1) WHERE pk = $key; COMMIT"), '', "as $role, a writer of a shard goes on");
		is($writer->query("INSERT INTO f VALUES ($key, d(1)) ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc; COMMIT"), '', 'and one that writes through Citus');
		is($ddl->answer, '', 'it is done');
		$_->finish for $writer, $on_node, $ddl;
		sql($w1, "INSERT INTO f SELECT i, d(i) FROM generate_series(880, 1500) i ON CONFLICT (pk) DO UPDATE SET doc = d(f.pk + 1)") unless $command =~ /DETACH/;
	}
	return;
}

# in_one_transaction COMMAND…: alters the table, and writes it afterwards, over several connections to each node
sub in_one_transaction
{
	foreach my $command (@_)
	{
		my ($status, $out, $err) = $c->psql('postgres', "SET citus.force_max_query_parallelization = on; BEGIN; $command; UPDATE f SET doc = d(pk + 2); INSERT INTO f (pk, doc) SELECT max(pk) + 1, d(7) FROM f; COMMIT", on_error_stop => 1);
		is($err, '', "$command, and writes in the same transaction");
	}
	return;
}

sql($c, 'CREATE ROLE app LOGIN');
foreach my $partitioned (0, 1)
{
	my $name = $partitioned ? 'partitioned' : 'not partitioned';
	fact_tables($c, partitioned => $partitioned);
	index_tables($c, qw(f_k f_v), $partitioned ? () : qw(fl_k));
	sql($c, 'GRANT SELECT, INSERT, UPDATE, DELETE ON f, g TO app');
	commands(@commands, $partitioned ? @of_partitions : ());
	converged($c, "$name, commands");
	in_one_transaction('ALTER TABLE f ADD COLUMN more int', 'ALTER TABLE f RENAME more TO other', 'ALTER TABLE f DROP COLUMN other', 'ALTER TABLE f ALTER COLUMN doc SET NOT NULL');
	converged($c, "$name, in one transaction");
	sql($c, 'DROP TABLE f, g', 'DROP FUNCTION d');
}
done_testing();
