# The soak: see README.md. Runs against the server that the PG… variables name; SOAK_DATA, SOAK_LOG and SOAK_OUTPUT are its
# data directory, its log, and the folder for what is to be kept.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use File::Path qw(make_path);
use File::Temp;
use Time::HiRes qw(time sleep);
use Model;
use Session;
use Epoch;
use Check;
use Report;

$| = 1;
my $run = {
	seed => $ENV{SEED} || time() % 1000000, duration => $ENV{DURATION} || ($ENV{OPERATIONS} ? 1e9 : 60), operations => $ENV{OPERATIONS} || 1e18,
	writers => $ENV{SESSIONS} || 4, epoch_rows => $ENV{EPOCH} || (($ENV{DURATION} || 0) > 300 || $ENV{OPERATIONS} ? 100000 : 20000), dir => File::Temp::tempdir(CLEANUP => 1), rows => 0, pending => [], began => time(),
};
$run->{seed} = int($run->{seed});
srand($run->{seed});
make_path($ENV{SOAK_OUTPUT});
my @on = categories($ENV{ONLY} // '', $ENV{EXCEPT} // '');
print "SEED=$run->{seed}, $run->{writers} writers; @on\n";
$SIG{INT} = $SIG{TERM} = sub { die "ended by a signal\n" };

# ---- the fact tables and their index tables

my $s = $run->{session} = Session->new(role => 'parent', number => 99, parent => 1, lock_timeout => '20s');
my @wrong;

sub must { my ($sql) = @_; defined $s->run('none', $sql) || die "set-up failed: $sql\n" . join "\n", @{ $s->{unexpected} }; }

must('CREATE EXTENSION indextable');
my $amcheck = $s->value('none', q(SELECT count(*) FROM pg_available_extensions WHERE name = 'amcheck'));
must('CREATE EXTENSION amcheck') if $amcheck;
must('SET check_function_bodies = off');
open my $setup, '<', "$FindBin::RealBin/setup.sql" or die $!;
must(do { local $/; <$setup> });
must("ALTER SYSTEM SET indextable.batch_size = " . pick(50, 500, 5000, 10000));
must("ALTER DATABASE $ENV{PGDATABASE} SET indextable.advice = off");
must('SELECT pg_reload_conf()');
must('CREATE STATISTICS soak.pair_statistics ON id, r FROM pair');

my %fact_weight = (plain => 3, pair => 2, uniq => 3, listed => 4, ranged => 3, keyed => 2);
$run->{facts} = \%fact_weight;
my @refused;
for my $fact (sort keys %FACT)
{
	my %want = map { $_ => 1 } grep { defined } $FACT{$fact}{native}, $FACT{$fact}{along}, queued() ? 'q' : (), $fact eq 'plain' && enabled('settings') ? qw(x b z h) : ();
	my @others = grep { !$want{$_} && !($KIND{$_}{rare} && chance(0.5)) } candidates($fact);
	while (@others && keys %want < 5 + ($fact eq 'plain' ? 3 : 0)) { $want{ splice @others, int(rand(@others)), 1 } = 1; }
	must("SELECT indextable.create('totals_$fact', '$fact', '{v}', totals => '{sum(n::int)}', on_mismatch => 'skip')");
	for my $kind (sort keys %want)
	{
		next if defined $s->run($KIND{$kind}{settings} ? 'ddl' : 'none', create_sql($fact, $kind));

		# A cast that follows settings may be refused instead of being right.
		die "set-up failed: @{ $s->{unexpected} }\n" if !$KIND{$kind}{settings};
		push @refused, $kind;
		@{ $s->{unexpected} } = ();
		$KIND{$kind}{only} = {};
	}
}
print "refused, and so not tested: @refused\n" if @refused;
$s->{errors} = {};

# ---- the epochs

my ($epoch, $crashes) = (0, 0);
my $enough = sub { $run->{rows} >= $run->{operations} || time() - $run->{began} >= $run->{duration} };

# one_epoch: work, the end of what is half done, the queues, the comparison; returns what the sessions say
sub one_epoch
{
	my %e = (errors => {});
	my $left = $run->{duration} - (time() - $run->{began});
	Epoch::begin($run, $epoch);
	my $begin = time();
	my ($chaos, @summaries) = Epoch::work($run, $epoch, $left < 1 ? 1 : $left < 120 ? $left : 120);
	$e{seconds} = $run->{last_seconds} = time() - $begin;
	for my $summary (@summaries)
	{
		$e{rows} += $summary->{rows} // 0;
		$e{checks} += $summary->{checks} // 0;
		$e{errors}{$_} += $summary->{errors}{$_} for keys %{ $summary->{errors} };
		$run->{samples}{$_} //= $summary->{samples}{$_} for keys %{ $summary->{samples} // {} };
		push @wrong, map { "$summary->{role} $summary->{number}: $_" } @{ $summary->{unexpected} };
	}
	$run->{rows} += $e{rows};
	Epoch::finish($run, $epoch, $chaos);

	# What is half detached is compared as it is, and when it is detached.
	$e{drained} = Epoch::drain($run, $epoch);
	my $compare = time();
	if (@{ $run->{pending} })
	{
		my ($found) = Check::all($s, 0, { map { ($_->[0] =~ /^([a-z]+)/)[0] => 1 } @{ $run->{pending} } });
		push @wrong, @$found;
		Epoch::finalize($run);
	}
	Epoch::complete($run);
	Epoch::drain($run, 2) if !@{ $s->{unexpected} };
	my ($found, $count) = Check::all($s, $amcheck && ($epoch % 3 == 0 || $enough->()));
	push @wrong, Report::log_says($run, $chaos->{crashes} - $chaos->{restarts});
	# A writer of this epoch may have met a fault of the server's own meanwhile.
	if ($run->{excused} && grep { /no answer/ } @$found) { ($found, $count) = Check::all($s, 0); }
	push @wrong, @$found;
	$e{compared} = $count;
	$e{compare_seconds} = time() - $compare;
	$e{stored} = $s->value('none', 'SELECT ' . join ' + ', map { "(SELECT count(*) FROM $_)" } sort keys %FACT);
	$e{prepared} = $s->value('none', 'SELECT count(*) FROM pg_prepared_xacts');
	$e{errors}{$_} += $s->{errors}{$_} for keys %{ $s->{errors} };
	$s->{errors} = {};
	@wrong = grep { !/the connection was lost/ } @wrong if delete $run->{excused};
	@e{qw(restarts kills)} = @$chaos{qw(restarts kills)};
	$crashes += $chaos->{crashes};
	Report::epoch($run, $epoch, \%e);
	return @summaries;
}

while (1)
{
	$epoch++;
	my @summaries;
	eval { @summaries = one_epoch(); 1 } || push @wrong, "the soak could not go on: $@";
	if (@wrong)
	{
		Report::wrong($run, $epoch, \@wrong, @summaries, $s->summary);
		last;
	}
	last if $enough->();
}

printf "%d operations, %d epochs, %d crashes, %d discrepancies; %.0f s, %.0f operations/s\n", $run->{rows}, $epoch, $crashes, scalar @wrong, time() - $run->{began}, $run->{rows} / (time() - $run->{began});
Report::samples($run);
Report::keep() if @wrong;
exit(@wrong ? 1 : 0);
