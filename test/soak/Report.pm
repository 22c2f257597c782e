# What is said: a line for each epoch, and what is needed to find out when something is wrong.

package Report;

use strict;
use warnings;
use Time::HiRes qw(time);
use Model;

# errors: SQLSTATEs with their number, the commonest first
sub errors
{
	my ($errors) = @_;
	return join ', ', map { "$_ $errors->{$_}" } sort { $errors->{$b} <=> $errors->{$a} || $a cmp $b } keys %$errors;
}

sub epoch
{
	my ($run, $epoch, $e) = @_;
	printf "epoch %d: %d row operations in all, %.0f/s; %d rows; %d index tables compared in %.1f s, drained by %s; %d checks in between; %d restarts, %d kills%s; %s\n",
	  $epoch, $run->{rows}, $e->{rows} / ($e->{seconds} || 1), $e->{stored}, $e->{compared}, $e->{compare_seconds}, $e->{drained}, $e->{checks}, $e->{restarts}, $e->{kills},
	  ($e->{prepared} ? ", $e->{prepared} prepared" : ''), errors($e->{errors});
}

# wrong: all that helps; the sessions' statements go to a file, too
sub wrong
{
	my ($run, $epoch, $wrong, @summaries) = @_;
	my @history = sort { ($a =~ /^(\S+)/)[0] <=> ($b =~ /^(\S+)/)[0] } map { @{ $_->{history} } } @summaries;
	open my $file, '>', "$ENV{SOAK_OUTPUT}/history.sql" or die "$ENV{SOAK_OUTPUT}/history.sql: $!\n";
	print $file map { "$_;\n" } @history;
	close $file;
	print "\n== the last statements, in the order in which they ended (all that are known: test/output/soak/history.sql)\n";
	print map { substr($_, 0, 400) . "\n" } @history > 60 ? @history[ -60 .. -1 ] : @history;
	print "\n== the server's log\n";
	print tail($ENV{SOAK_LOG}, 40);
	print "\n== what is wrong\n";
	my $n = 0;
	for my $line (@$wrong)
	{
		if (++$n > 12) { print '... and ' . (@$wrong - 12) . " more\n"; last; }
		print substr($line, 0, 6000), "\n";
	}
	print "\nSEED=$run->{seed} ", (map { "$_=$ENV{$_} " } grep { ($ENV{$_} // '') ne '' } qw(ONLY EXCEPT SESSIONS EPOCH)), "epoch $epoch, after $run->{rows} row operations and ", int(time() - $run->{began}), " s\n";
}

# samples: one of each kind of error that was expected, for those who ask what they are
sub samples
{
	my ($run) = @_;
	open my $file, '>', "$ENV{SOAK_OUTPUT}/errors" or die "$ENV{SOAK_OUTPUT}/errors: $!\n";
	print $file map { "$_: $run->{samples}{$_}\n\n" } sort keys %{ $run->{samples} };
	close $file;
}

# keep: the data directory, with settings to start it where it is then; no worker is to change what there is to see
sub keep
{
	system('pg_ctl', '-s', '-D', $ENV{SOAK_DATA}, '-m', 'immediate', '-w', 'stop');
	system('cp', '-a', $ENV{SOAK_DATA}, "$ENV{SOAK_OUTPUT}/data");
	open my $conf, '>>', "$ENV{SOAK_OUTPUT}/data/postgresql.conf" or return;
	print $conf "unix_socket_directories = '/tmp'\ndynamic_library_path = '\$libdir'\nindextable.max_workers = 0\n";
	close $conf;
	print "the data directory is in test/output/soak/data\n";
}

sub tail
{
	my ($path, $lines) = @_;
	open my $f, '<', $path or return "($path: $!)\n";
	seek $f, -20000, 2 if -s $path > 20000;
	my @lines = <$f>;
	return @lines > $lines ? @lines[ -$lines .. -1 ] : @lines;
}

# An assertion of the server's own that does not hold now and then (15, 18), without any index table, too: of a row that
# was changed in a subtransaction which was rolled back, and is then moved to another page. And one (15) where an index is built:
# heap_get_root_tuples() compares offnum, not nextoffnum, with the number of line pointers that a page has left.
my $server_fault = qr/TRAP: .*(?:HEAP_XMAX_IS_LOCKED_ONLY\(infomask_lock_old_tuple\)|ItemIdHasStorage\(lp\)", File: "pruneheap.c")/;

# And one in ExecInitAppend() (15), where a server without assertions has a segmentation fault. A REPEATABLE READ transaction has a
# snapshot from before DETACH PARTITION CONCURRENTLY, and makes a generic plan while that ends: it waits for the lock of the
# partition, which the plan has, and the table no more. present_parts of the plan then has a number that subplan_map has not.
my $append_fault = qr/TRAP: .*n >= 0 && n < list->length.* PID: (\d+)/;

# log_says: what the log has since the last time that nobody wanted: crashes that are not ours, errors of workers
sub log_says
{
	my ($run, $killed) = @_;
	open my $f, '<', $ENV{SOAK_LOG} or return;
	seek $f, $run->{log_at} // 0, 0;
	my (@bad, %excused);
	my %allowed = map { $_ => 1 } qw(40001 40P01 55P03 57014 57P01 57P02 57P03 42P01);
	while (<$f>)
	{
		if (/$server_fault.* PID: (\d+)/) { $excused{$1} = $run->{excused} = 1; next; }
		if (/$append_fault/)
		{
			my ($pid, $says) = ($1, $_);
			$says .= <$f> // '' for 1 .. 2;    # where it was
			if ($says =~ /\(ExecInitAppend\+/) { $excused{$pid} = $run->{excused} = 1; }
			else { push @bad, "the server's log: $says"; }
			next;
		}
		next if /PID (\d+)\) was terminated by signal 6/ && $excused{$1};
		push @bad, "the server's log: $_" if /PANIC:|TRAP: |terminated by signal (?!9:|9\b|3\b)/ || /terminated by signal 9/ && $killed-- <= 0;
		push @bad, "the server's log: $_" if /\] indextable \w+ (\w{5}) (?:ERROR|WARNING|FATAL):/ && !$allowed{$1};
	}
	$run->{log_at} = tell $f;
	return @bad;
}

1;
