# What befalls the sessions, the workers and the server while they work: backends cancelled, terminated and killed, the
# server stopped at once and started again.

package Chaos;

use strict;
use warnings;
use Time::HiRes qw(time sleep);
use Model;

my @who = ("application_name LIKE 'soak-%' AND pid <> pg_backend_pid()", q(backend_type = 'indextable worker'));

# new: for an epoch. It decides beforehand whether and when the server goes down.
sub new
{
	my ($class, $s, $seconds) = @_;
	my $self = bless { s => $s, kills => 0, crashes => 0, restarts => 0 }, $class;
	$self->{crash_at} = time() + 0.5 + rand($seconds) if enabled('crash') && chance(0.35);
	$self->{kill_at} = time() + rand(2) if enabled('kill');
	return $self;
}

# tick: from time to time
sub tick
{
	my ($self) = @_;
	if ($self->{crash_at} && time() > $self->{crash_at})
	{
		delete $self->{crash_at};
		if (chance(0.6)) { $self->stop_at_once(); }
		else { $self->kill_nine(); }
	}
	elsif ($self->{kill_at} && time() > $self->{kill_at})
	{
		$self->{kill_at} = time() + rand(3);
		my $function = pick(qw(pg_terminate_backend pg_terminate_backend pg_cancel_backend));
		my $killed = $self->{s}->value('rows', "SELECT count(*) FROM (SELECT $function(pid) FROM pg_stat_activity WHERE " . pick(@who) . ' ORDER BY random() LIMIT 1) x');
		$self->{kills} += $killed // 0;
	}
}

sub stop_at_once
{
	my ($self) = @_;
	delete $self->{s}{dbh};
	restart('immediate');
	$self->{$_}++ for qw(crashes restarts);
}

sub restart
{
	my ($mode) = @_;
	system('pg_ctl', '-s', '-D', $ENV{SOAK_DATA}, '-m', $mode, '-w', '-t', '300', 'stop');
	system('pg_ctl', '-s', '-D', $ENV{SOAK_DATA}, '-l', $ENV{SOAK_LOG}, '-w', '-t', '600', 'start') == 0 || die "the server does not start again; its log tells\n";
}

# kill_nine: a backend or a worker, and so the server starts again by itself
sub kill_nine
{
	my ($self) = @_;
	my $pid = $self->{s}->value('rows', 'SELECT pid FROM pg_stat_activity WHERE ' . pick(@who) . ' ORDER BY random() LIMIT 1') || return;
	delete $self->{s}{dbh};
	kill 'KILL', $pid;
	$self->{crashes}++;
}

1;
