# An epoch: sessions work at once, each a process of its own; then all pause, what is half done is brought to its end, the
# queues are drained, and everything is compared.

package Epoch;

use strict;
use warnings;
use POSIX ();
use Storable qw(store retrieve);
use Time::HiRes qw(time sleep);
use Model;
use Session;
use Writer;
use Reader;
use Definer;
use Chaos;
use Check;

# session: a process, which leaves its summary in a file
sub session
{
	my ($run, $epoch, $role, $number, $work, %more) = @_;
	my $file = "$run->{dir}/$role.$number";
	unlink $file;
	my $pid = fork() // die "no process: $!\n";
	return { pid => $pid, role => $role, number => $number, file => $file } if $pid;
	$SIG{$_} = 'DEFAULT' for qw(INT TERM);
	srand($run->{seed} * 1000003 + $epoch * 1009 + $number);
	my $s = Session->new(role => $role, number => $number, epoch => $epoch, stop => "$run->{dir}/stop", facts => $run->{facts}, writers => $run->{writers}, %more);
	eval { $work->($s); 1 } || push @{ $s->{unexpected} }, "died: $@";
	store($s->summary, "$file.new");
	rename "$file.new", $file;
	POSIX::_exit(0);
}

# work: all sessions, until the writers have done their share or it takes too long; returns their summaries
sub work
{
	my ($run, $epoch, $seconds) = @_;
	my $parent = $run->{session};
	my $deadline = time() + $seconds;
	unlink "$run->{dir}/stop";
	my @writers = map { session($run, $epoch, 'writer', $_, \&Writer::work, quota => $run->{epoch_rows} / $run->{writers}, deadline => $deadline) } 0 .. $run->{writers} - 1;
	my @others;
	push @others, session($run, $epoch, 'partitions', 90, \&Definer::partitions, lock_timeout => '200ms') if enabled('attach') || enabled('detach');
	push @others, session($run, $epoch, 'definitions', 91, \&Definer::index_tables, lock_timeout => '300ms') if enabled('index');
	push @others, session($run, $epoch, 'reader', 92, \&Reader::work) if enabled('reads');
	my %left = map { $_->{pid} => $_ } @writers, @others;
	my $writing = @writers;
	my ($stopped, $hung);
	my $chaos = Chaos->new($parent, $run->{last_seconds} // 5);
	while (%left)
	{
		while ((my $pid = waitpid(-1, POSIX::WNOHANG())) > 0)
		{
			my $who = delete $left{$pid} || next;
			$writing-- if $who->{role} eq 'writer';
			$who->{status} = $?;
			$stopped ||= stop($run) if $who->{role} ne 'writer';    # it has found something, as it does not end by itself
		}
		$stopped ||= stop($run) if !$writing || time() > $deadline;
		if (time() > $deadline + 300)
		{
			$hung = join "\n", map { join ' | ', map { $_ // '' } @$_ } @{ $parent->select('none', 'SELECT pid, application_name, state, wait_event_type, wait_event, pg_blocking_pids(pid), left(query, 200) FROM pg_stat_activity') // [] };
			kill 'KILL', keys %left;
			waitpid $_, 0 for keys %left;
			last;
		}
		$chaos->tick() if !$stopped;
		sleep 0.02;
	}
	my @summaries = map { -e $_->{file} ? retrieve($_->{file}) : { %$_, unexpected => ["ended without a word, status " . ($_->{status} // 'killed')], errors => {}, history => [] } } @writers, @others;
	push @{ $summaries[0]{unexpected} }, "sessions hang:\n$hung" if $hung;
	return ($chaos, @summaries);
}

sub stop { my ($run) = @_; open my $f, '>', "$run->{dir}/stop"; return 1; }

# finish: what is half done: prepared transactions, detached partitions, index tables that are being built
sub finish
{
	my ($run, $epoch, $chaos) = @_;
	my $s = $run->{session};

	$run->{pending} = $s->select('none', 'SELECT inhparent::regclass, inhrelid::regclass FROM pg_inherits WHERE inhdetachpending ORDER BY 2') // [];

	# Some transactions stay prepared for an epoch, if they keep nobody from what is to be done.
	my $locks = q(EXISTS (SELECT FROM pg_locks x JOIN pg_locks l USING (virtualtransaction) WHERE x.transactionid = p.transaction AND x.mode = 'ExclusiveLock' AND l.locktype = 'relation' AND l.mode IN ('AccessExclusiveLock', 'ExclusiveLock', 'ShareRowExclusiveLock', 'ShareUpdateExclusiveLock')));
	my $prepared = $s->select('none', "SELECT gid, $locks OR gid NOT LIKE 'soak-$epoch-%' FROM pg_prepared_xacts p ORDER BY gid") // [];
	$chaos->stop_at_once() if enabled('crash') && @$prepared && chance(0.3);
	my $building = $s->value('none', "SELECT count(*) FROM indextable_internal.definition WHERE state = 'building'") // 1;
	my $kept = @{ $run->{pending} } || $building || chance(0.5) ? 0 : 2;
	for (@$prepared)
	{
		next if !$_->[1] && $kept-- > 0;
		$s->run('ddl', pick('COMMIT', 'COMMIT', 'ROLLBACK') . " PREPARED '$_->[0]'");
	}
}

sub finalize
{
	my ($run) = @_;
	my $s = $run->{session};
	for (splice @{ $run->{pending} })
	{
		$s->run('ddl', "ALTER TABLE $_->[0] DETACH PARTITION $_->[1] FINALIZE") // push @{ $s->{unexpected} }, 'a partition that is half detached could not be detached';
	}
}

# complete: index tables that are being built; one that cannot be, because of its rows, goes
sub complete
{
	my ($run) = @_;
	my $s = $run->{session};
	for my $row (@{ $s->select('none', q(SELECT c.relname, d.state, d.replaces IS NOT NULL FROM indextable_internal.definition d JOIN pg_class c ON c.oid = coalesce(d.replaces, d.index_table) WHERE d.state = 'building' ORDER BY 1)) // [] })
	{
		my ($index, $state, $replaces) = @$row;
		if ($replaces) { $s->run('ddl', "CALL indextable.rebuild('$index')") if chance(0.5); }
		else { $s->run('ddl', "CALL indextable.build('$index')") // $s->run('none', "SELECT indextable.drop('$index')"); }
	}
}

# drain: until nothing is queued, by workers, by a session, or by both
sub drain
{
	my ($run, $epoch) = @_;
	my $s = $run->{session};
	my $backlog = 'SELECT coalesce(sum(backlog), 0) FROM indextable.queues';
	my $until = time() + 180;
	my $how = (qw(worker session both))[ $epoch % 3 ];
	$s->run('none', 'SELECT indextable.start_workers()') if $how eq 'both';
	while (($s->value('none', $backlog) // 1) > 0)
	{
		$s->run('ddl', 'SELECT indextable.drain()') if $how ne 'worker';
		sleep 0.05;
		next if time() < $until;
		push @{ $s->{unexpected} }, "the queues do not become empty, drained by $how:\n" . join "\n", map { join ' ', map { $_ // '-' } @$_ }
		  @{ $s->select('none', 'SELECT fact_table, backlog, lag, worker_state, last_error FROM indextable.queues') // [] },
		  @{ $s->select('none', 'SELECT gid, prepared, transaction FROM pg_prepared_xacts') // [] };
		last;
	}
	$s->run('none', 'SELECT indextable.start_workers()') if $how eq 'session';
	return $how;
}

# begin: some epochs have no workers
sub begin
{
	my ($run, $epoch) = @_;
	$run->{session}->run('none', 'SELECT indextable.stop_workers()') if $epoch % 3 == 1;
}

1;
