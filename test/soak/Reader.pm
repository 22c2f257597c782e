# A reader: one index table after the other, each with what it has to be, in one snapshot while others write; look-ups,
# whose answers are compared with a condition on the fact table in the same snapshot; and plain queries, with and without
# index tables.

package Reader;

use strict;
use warnings;
use Time::HiRes qw(time sleep);
use Model;
use Check;

sub work
{
	my ($s) = @_;
	while (!$s->stopped() && !@{ $s->{unexpected} })
	{
		my $rows = $s->select('rows', Check::active());
		if ($rows && @$rows)
		{
			my ($index) = @{ pick(@$rows) };
			my ($fact) = kind_of($index);
			my $level = pick('REPEATABLE READ', 'REPEATABLE READ', 'SERIALIZABLE, READ ONLY');
			if ($s->run('rows', "BEGIN ISOLATION LEVEL $level") && Check::settle($s, $fact, $index) && Check::inside($s, $index))
			{
				Check::look_up($s, $index);
			}
			$s->run('rows', 'COMMIT') if $s->{dbh};
		}
		if (!$s->stopped() && !@{ $s->{unexpected} })
		{
			my $fact = pick(sort keys %FACT);
			if ($s->run('rows', 'BEGIN ISOLATION LEVEL ' . pick('REPEATABLE READ', 'SERIALIZABLE, READ ONLY')) && Check::settle($s, $fact, "totals_$fact"))
			{
				Check::totals($s, $fact, 'rows');
			}
			$s->run('rows', 'COMMIT') if $s->{dbh};
		}
		sleep 0.02 + rand(0.15);
	}
}

1;
