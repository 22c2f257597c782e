# Explores interleavings: processes that take one step at a time, in an order that a seed determines.
#
# A process is a hash; its {step} is the sub that takes its next step, undef when it is done. A step that cannot be taken
# now (it waits for a lock, or there is nothing to do) changes nothing and returns false. When no process can take a step,
# the protocol has come to rest, and the model says what is wrong then.
package Explore;

use strict;
use warnings;
use Exporter 'import';
our @EXPORT_OK = qw(interleave note chance one_of $steps $tracing);

our $steps;      # taken in this interleaving
our $tracing;    # the lines of the trace, if there is one
my $limit = 2000;

sub note { push @$tracing, sprintf '%4d  %s', $steps, join ' ', @_; return; }
sub chance { return rand() < $_[0]; }
sub one_of { return $_[ int rand @_ ]; }

# interleave(model, seed): one interleaving; what is wrong at its end, or undef. A model is a package with set_up(), which
# returns the processes, resolve_deadlock(), which is asked when no process can take a step, and wrong().
#
# Of the interleavings, some switch processes at every step, others seldom. The latter find faults that need one process to
# stand still while another one does all its work.
sub interleave
{
	my ($model, $seed) = @_;
	srand($seed);
	$steps = 0;
	my @processes = $model->set_up();
	my $stay = (0, 0.5, 0.8, 0.9)[ int rand 4 ];
	my $last;
	STEP: while (1)
	{
		return 'it does not come to rest' if ++$steps > $limit;
		next if $last && $last->{step} && rand() < $stay && $last->{step}->($last);
		my @ready = grep { $_->{step} } @processes;
		while (@ready)
		{
			my $i = int rand @ready;
			$last = $ready[$i];
			next STEP if $last->{step}->($last);
			my $other = pop @ready;
			$ready[$i] = $other if $i < @ready;
		}
		last unless $model->resolve_deadlock();
	}
	return $model->wrong();
}

1;
