# What the TAP tests share: servers, a fact table with index tables of every strategy, and the oracle.

package Oracle;

use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Exporter 'import';
our @EXPORT = qw(new_server drift_free fact_table index_tables settled_drift becomes_true drained session partitions install_root crashed_by_itself);

# new_server NAME, SETTINGS…: a server that runs. It has room for sessions that have ended, but not exited, on a busy machine:
# those that stream would have ten connections.
sub new_server
{
	my ($name, @settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my ($level) = "@settings" =~ /wal_level = (\w+)/;
	$node->init(allows_streaming => !$level ? 0 : $level eq 'logical' ? 'logical' : 1);
	$node->append_conf('postgresql.conf', 'wal_keep_size = 2GB') if $level;    # a standby may be slow
	$node->append_conf('postgresql.conf', join '', map { "$_\n" } 'fsync = off', 'jit = off', 'max_prepared_transactions = 10', 'max_connections = 100', 'indextable.advice = off', @settings);
	$node->start;
	return $node;
}

# install_root NODE: what makes the server look for extensions there, and below it the folder of the SQL scripts
sub install_root
{
	my ($node) = @_;
	my $share = `pg_config --sharedir`;
	chomp $share;
	for my $setting ('extension_destdir', 'extension_control_path')
	{
		my $value = $node->safe_psql('postgres', "SELECT current_setting('$setting', true)");
		my ($root) = $setting eq 'extension_destdir' ? $value : $value =~ m{^(/.*)\Q$share\E:};
		return ($setting, $root, $share) if $root && -e "$root$share/extension/indextable.control";
	}
	return;
}

# partitions FIELD, BOUND...: for create(), by chance, none, or by hash of the first key field, or by range or hash of one
sub partitions
{
	my ($field, @bounds) = @_;
	my $kind = rand();
	return '' if $kind < 0.4;
	return ', partitions => ' . (1 + int(rand(4))) if $kind < 0.65;
	return ", partitions => 3, partition_by => 'HASH ($field)'" if $kind < 0.75;
	return ", partition_by => 'RANGE ($field)', partition_bounds => ARRAY[" . join(', ', map { "\$b\$FROM ('$bounds[$_ - 1]') TO ('$bounds[$_]')\$b\$" } 1 .. $#bounds) . ']';
}

# fact_table: documents whose fields follow from their number
sub fact_table
{
	return <<'SQL';
CREATE EXTENSION indextable;
CREATE FUNCTION d(i bigint) RETURNS jsonb IMMUTABLE LANGUAGE sql AS
$$ SELECT jsonb_build_object('k', 'k' || i % 50, 'n', i % 7, 'v', 'v' || i, 'tags', ARRAY['t' || i % 5, 't' || i % 3]) $$;
CREATE TABLE f (pk int PRIMARY KEY, doc jsonb, note text);
SQL
}

# index_tables MAINTENANCE: over f, and the view drift: what they lack and what they have too much
sub index_tables
{
	my $maintenance = $_[0] // 'transactional';
	return <<'SQL' =~ s/^(SELECT indextable.create.*)\);$/$1, maintenance => '$maintenance');/mgr;
SELECT indextable.create('f_k', 'f', '{k}');
SELECT indextable.create('f_v', 'f', '{n::int,k}', include => '{v,@note}');
SELECT indextable.create('f_d', 'f', '{v}', 'denormalized');
SELECT indextable.create('f_t', 'f', '{tags[*]}', include => '{n::int}');
CREATE VIEW drift AS
WITH f AS MATERIALIZED (SELECT pk, doc, note FROM f),
	k AS (SELECT doc ->> 'k', pk FROM f),
	v AS (SELECT (doc ->> 'n')::int, doc ->> 'k', pk, doc ->> 'v', note FROM f),
	d AS (SELECT doc ->> 'v', pk, doc FROM f),
	t AS (SELECT e, pk, (doc ->> 'n')::int, count(*)::int FROM f, jsonb_array_elements_text(doc -> 'tags') e GROUP BY 1, 2, 3)
SELECT 'f_k missing' AS what, count(*) AS n FROM (TABLE k EXCEPT ALL TABLE f_k) x
UNION ALL SELECT 'f_k extra', count(*) FROM (TABLE f_k EXCEPT ALL TABLE k) x
UNION ALL SELECT 'f_v missing', count(*) FROM (TABLE v EXCEPT ALL TABLE f_v) x
UNION ALL SELECT 'f_v extra', count(*) FROM (TABLE f_v EXCEPT ALL TABLE v) x
UNION ALL SELECT 'f_d missing', count(*) FROM (TABLE d EXCEPT ALL TABLE f_d) x
UNION ALL SELECT 'f_d extra', count(*) FROM (TABLE f_d EXCEPT ALL TABLE d) x
UNION ALL SELECT 'f_t missing', count(*) FROM (TABLE t EXCEPT ALL TABLE f_t) x
UNION ALL SELECT 'f_t extra', count(*) FROM (TABLE f_t EXCEPT ALL TABLE t) x;
SQL
}

# settled_drift: the same without the rows that are queued. A change and its key are committed together, and so are
# the entries and that the key is consumed: what one snapshot does not see queued must be right in it, at any time.
sub settled_drift
{
	my ($view) = index_tables() =~ /CREATE VIEW drift AS\n(.*);\n\z/s;
	$view =~ s/FROM f\)/FROM f WHERE NOT EXISTS (SELECT FROM queued WHERE key1 = f.pk))/;
	$view =~ s/TABLE (f_\w)/SELECT * FROM $1 WHERE NOT EXISTS (SELECT FROM queued WHERE key1 = $1.pk)/g;
	return <<'SQL' . "CREATE VIEW settled_drift AS $view;\n";
DO $$ BEGIN EXECUTE (SELECT format('CREATE VIEW queued AS SELECT key1 FROM %s UNION ALL SELECT key1 FROM %s', queue, spare) FROM indextable_internal.fact WHERE fact_table = 'f'::regclass); END $$;
SQL
}

# drift_free: the test that nothing is missing and nothing too much, in one query and so in one snapshot
sub drift_free
{
	my ($node, $name, $database) = @_;
	my $drift = $node->safe_psql($database // 'postgres', 'SET indextable.planner = off; SELECT what, n FROM drift WHERE n > 0');
	return is($drift, '', $name);
}

# becomes_true: waits until a query says true; false if that takes too long. A server that has just crashed may not even
# let psql read the query, which is an error of the poll.
sub becomes_true
{
	my ($node, $query, $database) = @_;
	foreach (1 .. 10)
	{
		my $result = eval { $node->poll_query_until($database // 'postgres', $query) };
		return $result if defined $result;
	}
	return 0;
}

# drained: waits until no change is queued, for somebody else to apply
sub drained
{
	my ($node, $database) = @_;
	return becomes_true($node, 'SELECT coalesce(sum(backlog), 0) = 0 FROM indextable.queues', $database);
}

# crashed_by_itself: how often a server with assertions has crashed as it also does without any extension
#
# A row that a transaction has locked, as a BEFORE trigger makes UPDATE do, may be updated in a subtransaction that is
# rolled back. If the transaction then updates the row itself, and the new version goes to another page or has TOAST,
# heap_update() first locks the row once more. It is given the same multixact again, in which the update that was rolled
# back still is, and does not expect that:
#
#   BEGIN; SELECT FROM t WHERE pk = 1 FOR NO KEY UPDATE;
#   SAVEPOINT s; UPDATE t SET doc = 'b'; ROLLBACK TO s; RELEASE s;
#   UPDATE t SET doc = (SELECT string_agg(md5(g::text), '') FROM generate_series(1, 250) g);
#
# Random statements come to that now and then. A server without assertions copes.
sub crashed_by_itself
{
	my ($node) = @_;
	return scalar(() = slurp_file($node->logfile) =~ /^TRAP: .*"HEAP_XMAX_IS_LOCKED_ONLY\(infomask_lock_old_tuple\)"/mg);
}

# session: a psql that stays. query() returns what comes back, errors included; start() does not wait for that, and
# answer() does; has_ended() tells whether it would have to. Half an hour is the limit of each call of start().
sub session
{
	my ($node, $database) = @_;
	my $self = bless { in => '', out => '', number => 0 }, 'Oracle::Session';
	$self->{limit} = IPC::Run::timeout(1800);
	$self->{psql} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr($database // 'postgres') ], \$self->{in}, '>&' => \$self->{out},
		$self->{limit});
	$self->query('SELECT 1') =~ /1/ || die "no session: $self->{out}";
	return $self;
}

sub Oracle::Session::start
{
	my ($self, $sql) = @_;
	$self->{limit}->start;
	$self->{number}++;
	$self->{in} .= "$sql;\n\\echo end of answer $self->{number}\n";
	$self->{psql}->pump_nb;
	return $self;
}

sub Oracle::Session::answer
{
	my ($self) = @_;
	my $end = "end of answer $self->{number}\n";
	while ($self->{out} !~ /\Q$end\E/ && $self->{psql}->pumpable)
	{
		eval { $self->{psql}->pump } || last;    # the server may be gone
	}
	my $answer = $self->{out} =~ s/\Q$end\E.*//sr;
	$self->{out} = '';
	chomp $answer;
	return $answer;
}

sub Oracle::Session::has_ended
{
	my ($self) = @_;
	$self->{psql}->pump_nb;
	return $self->{out} =~ /end of answer $self->{number}\n/;
}

sub Oracle::Session::query { return $_[0]->start($_[1])->answer; }

sub Oracle::Session::finish
{
	my ($self) = @_;
	$self->{in} .= "\\q\n";
	return eval { $self->{psql}->finish };
}

1;
