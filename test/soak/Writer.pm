# A writer: units of work until it has changed its share of rows. A unit is a statement or a transaction, with savepoints,
# with user triggers at work, prepared, or compared from inside.

package Writer;

use strict;
use warnings;
use Time::HiRes qw(time sleep);
use Model;
use Operations;
use Check;

sub steps
{
	my ($s, @steps) = @_;
	for my $step (@steps)
	{
		my $rows = $s->run('rows', $step);
		return 0 if !defined $rows;
		my $text = ref $step eq 'HASH' ? $step->{copy} : $step->[0];
		$s->{rows} += $rows if $text !~ /^(SELECT|TRUNCATE)/;
	}
	return 1;
}

sub level { return pick('READ COMMITTED', 'READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'); }

sub unit
{
	my ($s) = @_;
	my $act = enabled('triggers') && chance(0.12);
	if ($act)
	{
		$s->run('rows', [ "SELECT set_config('soak.act', \$1, false)", trigger_plan() ]) || return;
	}
	$s->settings() if chance(0.01) && $s->{dbh};
	chance(0.4) ? single($s) : transaction($s);
	$s->run('rows', "SET soak.act = ''") if $act && $s->{dbh};
	finish_prepared($s) if @{ $s->{prepared} // [] } && chance(0.6);
}

sub single
{
	my ($s) = @_;
	my ($atomic, @steps) = operation($s);
	return steps($s, @steps) if !$atomic;
	$s->run('rows', 'BEGIN') || return;
	steps($s, @steps) ? $s->run('rows', 'COMMIT') : $s->{dbh} && $s->run('rows', 'ROLLBACK');
}

sub transaction
{
	my ($s) = @_;
	my ($count, $number, $checked) = (pick(1, 2, 2, 3, 3, 4, 6), 0, '');
	my $level = level();
	$s->run('rows', "BEGIN ISOLATION LEVEL $level") || return;

	# A generic plan that such a transaction makes beside DETACH PARTITION CONCURRENTLY may crash any server: see Report.pm.
	$s->run('rows', 'SET LOCAL plan_cache_mode = force_custom_plan') if $level ne 'READ COMMITTED' && enabled('detach') && $s->{dbh};

	# The transaction sees its own changes in the index tables, at any isolation level.
	if (enabled('reads') && chance(0.03))
	{
		$checked = weighted(map { $s->{facts}{$_}, $_ } sort keys %{ $s->{facts} });
		$checked = '' if !$s->run('rows', "LOCK TABLE $checked IN SHARE UPDATE EXCLUSIVE MODE");
		return rollback($s) if $checked eq '';
	}
	while ($count-- > 0)
	{
		my $savepoint = enabled('savepoints') && chance(0.4);
		my ($atomic, @steps) = operation($s, $checked || undef);
		$s->run('rows', 'SAVEPOINT s') || return rollback($s) if $savepoint;
		if (!steps($s, @steps))
		{
			return if !$s->{dbh};
			return rollback($s) if !$savepoint;
			$s->run('rows', 'ROLLBACK TO s') || return rollback($s);
		}
		elsif ($savepoint)
		{
			$s->run('rows', pick('ROLLBACK TO s', 'ROLLBACK TO s', 'RELEASE s', 'RELEASE s', 'SAVEPOINT s')) || return rollback($s);
		}
		if ($checked && chance(0.5))
		{
			my $rows = $s->select('rows', Check::active($checked, 'transactional')) || return rollback($s);
			Check::inside($s, $_->[0]) || return rollback($s) for @$rows ? pick(@$rows) : ();
		}
	}
	if (enabled('prepared') && chance(0.12))
	{
		my $gid = "soak-$s->{epoch}-$s->{number}-" . $s->{statements};
		$s->run('rows', "PREPARE TRANSACTION '$gid'") ? push @{ $s->{prepared} }, $gid : rollback($s);
		return;
	}
	chance(0.85) ? $s->run('rows', 'COMMIT') : rollback($s);
}

sub rollback { return $_[0]{dbh} && $_[0]->run('rows', 'ROLLBACK'); }

# An error leaves it prepared: the parent ends it when the epoch does.
sub finish_prepared
{
	my ($s) = @_;
	my $gid = shift @{ $s->{prepared} };
	my $how = pick('COMMIT', 'COMMIT', 'ROLLBACK');
	$s->run('ddl', "$how PREPARED '$gid'");
}

sub work
{
	my ($s) = @_;
	while ($s->{rows} < $s->{quota} && !$s->stopped() && time() < $s->{deadline} && !@{ $s->{unexpected} })
	{
		unit($s);
	}
	finish_prepared($s) while @{ $s->{prepared} // [] } && chance(0.6);
}

1;
