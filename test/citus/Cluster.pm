# Three nodes with Citus: a coordinator and two workers, and what the tests do to them.

package Cluster;

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../tap";
use Oracle;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Exporter 'import';
our @EXPORT = qw(new_cluster new_node sql fails everywhere becomes_true session hold is_held shards_on);

# new_cluster NAME, OPTION => VALUE…: the nodes, of which the first is the coordinator. Options: preload; settings, lines of
# postgresql.conf; coordinator_has_shards; plain, so that the extension is not created.
sub new_cluster
{
	my ($name, %option) = @_;
	my @nodes = map { new_node("${name}_$_", %option) } 0 .. 2;
	my $coordinator = $nodes[0];
	$coordinator->safe_psql('postgres', "SELECT citus_set_coordinator_host('localhost', " . $coordinator->port . ')');
	$coordinator->safe_psql('postgres', "SELECT citus_add_node('localhost', " . $_->port . ')') for @nodes[ 1, 2 ];
	$coordinator->safe_psql('postgres', "SELECT citus_set_node_property('localhost', " . $coordinator->port . ", 'shouldhaveshards', true)") if $option{coordinator_has_shards};
	$coordinator->safe_psql('postgres', 'CREATE EXTENSION indextable') unless $option{plain};
	return @nodes;
}

# new_node NAME, OPTION => VALUE…: a node by itself, with the options of new_cluster()
sub new_node
{
	my ($name, %option) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 'logical');
	# What the moves of shards need: slots, senders and workers, and the plugin that Citus brings along.
	$node->append_conf('postgresql.conf', join '', map { "$_\n" } "listen_addresses = 'localhost'", "unix_socket_directories = '" . $node->host . "'",
		'fsync = off', 'jit = off', 'log_statement = none', 'log_replication_commands = off', 'restart_after_crash = on', 'max_connections = 120',
		'shared_buffers = 64MB', 'max_wal_size = 2GB', 'max_worker_processes = 40', 'max_replication_slots = 20',
		'max_wal_senders = 20', 'max_logical_replication_workers = 20', 'wal_keep_size = 0', settings_of_page(), $option{preload} ? "shared_preload_libraries = '$option{preload}'" : (),
		'citus.shard_count = 8', "citus.node_conninfo = 'sslmode=disable'", 'citus.enable_statistics_collection = off', 'citus.recover_2pc_interval = 5s',
		'indextable.naptime = 100ms', @{ $option{settings} // [] });
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION citus');
	return $node;
}

# settings_of_page: what docs/citus.md has users write into postgresql.conf, for this server. Citus' consent to triggers is not
# among it: that create() does without is tested.
sub settings_of_page
{
	my ($settings) = slurp_file("$FindBin::RealBin/../../docs/citus.md") =~ /in `postgresql\.conf`.*?```\n(.*?)```/s;
	return grep { !/^citus\.enable_unsafe_triggers/ && (!/^output_plugin_libraries/ || plugins_are_listed()) } split /\n/, $settings;
}

# Minor releases of 2026 have a list of the plugins that are allowed.
sub plugins_are_listed
{
	my $share = `pg_config --sharedir`;
	chomp $share;
	return slurp_file("$share/postgresql.conf.sample") =~ /output_plugin_libraries/;
}

# sql NODE, COMMAND…: each command is sent by itself, as Citus wants DDL; the answers of all of them
sub sql
{
	my ($node, @commands) = @_;
	return join "\n", grep { $_ ne '' } map { $node->safe_psql('postgres', $_) } @commands;
}

# fails NODE, COMMAND, PATTERN, NAME: the test that it does so with an error that looks like this
sub fails
{
	my ($node, $command, $pattern, $name) = @_;
	my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$command");
	return like($err, $pattern, $name);
}

# everywhere NODES, COMMAND: the answers, by node
sub everywhere
{
	my ($nodes, $command) = @_;
	return map { $_->safe_psql('postgres', $command) } @$nodes;
}

# hold NODE, NAME…: a session that holds wait points, or leaves guards out, until it is finished (src/util/wait_point.c)
sub hold
{
	my ($node, @names) = @_;
	my $session = session($node);
	$session->query("SELECT pg_advisory_lock(1765, hashtext('" . s/'/''/gr . "'))") for @names;
	return $session;
}

# is_held NODE: whether a session there comes to wait at such a point
sub is_held
{
	my ($node) = @_;
	return becomes_true($node, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND classid = 1765 AND NOT granted");
}

# shards_on COORDINATOR, NODE, TABLE: the names of the shards of a table that a node has, without the schema
sub shards_on
{
	my ($coordinator, $node, $table) = @_;
	my $name = $table =~ s/^.*\.//r;
	return split /\n/, sql($coordinator, "SELECT '${name}_' || shardid FROM citus_shards WHERE table_name = '$table'::regclass AND nodeport = " . $node->port . ' ORDER BY shardid');
}

1;
