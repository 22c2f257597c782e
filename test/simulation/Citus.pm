# The protocol by which index tables follow a distributed fact table: rows are queued on the shard, drained by the node that
# has it, and the entries are written to other nodes in one distributed transaction, while shards move and nodes crash.
#
# What is modelled of PostgreSQL: a transaction has a part on each node that it has written to. What a part has written is
# invisible and locked until it is committed, also while it is prepared. Each statement reads what is committed when it
# begins. A crash ends all parts of a node but those that are prepared. Of Citus: what the nodes know of placements, the
# lock on it that each statement takes and a move takes on all nodes, commit in two phases, and the recovery of what is
# prepared by the node that has begun it. A node can be left out by a drain at any time, whether it is down or not.
package Citus;

use strict;
use warnings;
use Explore qw(note chance one_of $steps $tracing);

our %guard = map { $_ => 1 } qw(metadata-lock placement-check lock-before-read fence fence-of-all later-snapshot two-phase fresh-truncate recovery-before-move doubt-before-wait doubt-after-wait
	holding met-with-all all-shards both-numbers);

# @promised: the numbers of keys whose change is committed, @broken: what a wait did not wait for. A key that is held has the
# negative of its number.
my ($nodes, @parts, @processes, @layouts, @metadata, @shared, %advisory, @index, $number, $shards, @promised, @broken);

# ---- tables and transactions

# A table's {rows} are those committed; {lock} tells which part has changed or locked a row. The key '*' is the table.
sub table { return { name => $_[0], rows => {}, lock => {}, index => $_[1], queue => $_[2] }; }

# placement(shard, node, keys): of a fact shard and of the queue shard beside it. The {keys} are those that hash to it.
sub placement
{
	my ($shard, $node, $keys) = @_;
	return { id => "$shard\@$node", shard => $shard, node => $node, keys => $keys, fact => table("fact_$shard\@$node"), queue => table("queue_$shard\@$node", 0, 1) };
}

sub begin { my ($p, $node) = @_; return $p->{x} = { name => $p->{name}, node => $node, live => 1, committed => 0, phase => 'working', parts => {}, process => $p }; }

# part(transaction, node): what it does on that node
sub part
{
	my ($x, $node) = @_;
	return $x->{parts}{$node} if $x->{parts}{$node};
	push @parts, $x->{parts}{$node} = { x => $x, node => $node, state => 'active', changes => [] };
	return $parts[-1];
}

# change(part, table, key, value): undef deletes the row.
sub change
{
	my ($part, $table, $key, $value) = @_;
	$table->{lock}{$key} = $part;
	push @{ $part->{changes} }, [ $table, $key, $value ];
	return;
}

sub finish
{
	my ($part, $commit) = @_;
	return if $part->{state} eq 'done';
	$part->{state} = 'done';
	for (@{ $part->{changes} })
	{
		my ($table, $key, $value) = @$_;
		delete $table->{lock}{$key};
		next unless $commit;
		if (defined $value) { $table->{rows}{$key} = $value; }
		elsif ($key eq '*') { $table->{rows} = {}; }
		else                { delete $table->{rows}{$key}; }
	}
	@parts = grep { $_ != $part } @parts;
	$part->{x} = undef;    # else neither would ever be freed
	return;
}

# release(transaction): what is held by its session, and not by its parts
sub release
{
	my ($x) = @_;
	$x->{live} = 0;
	$x->{due} = $steps + int rand 40;
	delete $shared[ $x->{node} ]{ $x->{name} };
	delete $advisory{ $x->{advisory} } if $x->{advisory};
	$x->{process}{x} = undef;
	return;
}

sub roll_back
{
	my ($x) = @_;
	finish($_, 0) for values %{ $x->{parts} };
	release($x);
	return;
}

# ended(process): its transaction is over, whichever way; what it does next
sub ended { my ($p) = @_; $p->{step} = $p->{again}; return 1; }

sub failed
{
	my ($p, $why) = @_;
	note("$p->{name}: rolls back: $why") if $tracing;
	roll_back($p->{x});
	return ended($p);
}

# share(process): the lock on what its node knows of placements; false if a move has it
sub share
{
	my ($p) = @_;
	my $node = $p->{x}{node};
	return 0 if $metadata[$node]{lock}{layout};
	$shared[$node]{ $p->{x}{name} } = 1;
	return 1;
}

sub placements { return @{ $layouts[ $metadata[ $_[0] ]{rows}{layout} ] }; }

# ---- commit

# committed(transaction): from now on nothing of it is undone, though nodes may still have it prepared
sub committed
{
	my ($x) = @_;
	$x->{committed} = 1;
	push @promised, map { abs $_->[1] } grep { $_->[0]{queue} && defined $_->[2] } map { @{ $_->{changes} } } values %{ $x->{parts} };
	return;
}

# commit(process): from the next step on. Transactions that have written to one other node only may be committed without
# being prepared, the other node first, as Citus does if a statement has one task.
sub commit
{
	my ($p) = @_;
	my $x = $p->{x};
	my @others = grep { $_->{node} != $x->{node} } map { $x->{parts}{$_} } sort keys %{ $x->{parts} };
	$p->{others} = \@others;
	$p->{step} = @others == 1 && $p->{one_task} && !$guard{'two-phase'} ? \&commit_one : @others ? \&prepare : \&commit_here;
	return;
}

sub commit_one
{
	my ($p) = @_;
	if ($p->{x}{phase} ne 'sent')
	{
		$p->{x}{phase} = 'sent';
		note("$p->{name}: sends COMMIT to node $p->{others}[0]{node}") if $tracing;
		return 1;
	}
	note("$p->{name}: node $p->{others}[0]{node} has committed") if $tracing;
	finish($p->{others}[0], 1);
	$p->{others} = [];
	$p->{step} = \&commit_here;
	return 1;
}

sub prepare
{
	my ($p) = @_;
	my ($part) = grep { $_->{state} eq 'active' } @{ $p->{others} };
	$p->{x}{phase} = 'preparing';
	$part->{state} = 'prepared';
	note("$p->{name}: is prepared on node $part->{node}") if $tracing;
	$p->{step} = \&commit_here unless grep { $_->{state} eq 'active' } @{ $p->{others} };
	return 1;
}

sub commit_here
{
	my ($p) = @_;
	my $x = $p->{x};
	note("$p->{name}: commits on node $x->{node}") if $tracing;
	finish($x->{parts}{ $x->{node} }, 1) if $x->{parts}{ $x->{node} };
	committed($x);
	if (@{ $p->{others} }) { $p->{step} = \&commit_prepared; return 1; }
	release($x);
	return ended($p);
}

# What a lost connection leaves prepared is recovered later; the locks of the session go nevertheless.
sub commit_prepared
{
	my ($p) = @_;
	my $part = shift @{ $p->{others} };
	if (chance(0.1)) { note("$p->{name}: COMMIT PREPARED does not reach node $part->{node}") if $tracing; }
	else
	{
		note("$p->{name}: COMMIT PREPARED on node $part->{node}") if $tracing;
		finish($part, 1);
	}
	return 1 if @{ $p->{others} };
	release($p->{x});
	return ended($p);
}

# ---- a writer: each transaction changes one row or two, and queues its key in the same transaction on the shard. If it has
# written to two nodes, it is prepared, and may be in doubt

sub write_begin
{
	my ($p) = @_;
	return !($p->{step} = undef) unless $p->{left};
	my $node = int rand $nodes;
	return 0 if $metadata[$node]{lock}{layout};
	$p->{left}--;
	begin($p, $node);
	share($p);
	$p->{step} = \&write_row;
	return 1;
}

sub write_row
{
	my ($p) = @_;
	my $key = $p->{key} //= one_of(0 .. $p->{keys} - 1);
	my ($at) = grep { $_->{keys}{$key} } placements($p->{x}{node});
	my $lock = $at->{fact}{lock}{$key} // $at->{fact}{lock}{'*'};
	return 0 if $lock && $lock->{x} != $p->{x};
	my $value = int rand 4;
	my $part = part($p->{x}, $at->{node});
	change($part, $at->{fact}, $key, $value || undef);
	change($part, $at->{queue}, ++$number, $key);
	$p->{key} = undef;
	note("$p->{name}: through node $p->{x}{node}: row $key becomes ", $value || 'deleted', "in $at->{fact}{name}, queued as $number") if $tracing;
	$p->{step} = chance(0.3) ? \&write_row : \&write_end;
	return 1;
}

sub write_end
{
	my ($p) = @_;
	return failed($p, 'as it wants') if chance(0.1);
	if (keys %{ $p->{x}{parts} } > 1)
	{
		commit($p);
		return 1;
	}
	note("$p->{name}: commits") if $tracing;
	committed($p->{x});
	finish($_, 1) for values %{ $p->{x}{parts} };
	release($p->{x});
	return ended($p);
}

# ---- TRUNCATE: queues all keys, because a row trigger sees none

sub truncate_begin
{
	my ($p) = @_;
	return 0 if $steps < $p->{at} || $metadata[0]{lock}{layout};
	begin($p, 0);
	share($p);
	$p->{again} = undef;
	$p->{placements} = [ placements(0) ];
	$p->{seen} = { map { $_->{id} => [ sort keys %{ $_->{fact}{rows} } ] } @{ $p->{placements} } };
	note("$p->{name}: begins, waits for its lock") if $tracing;
	$p->{step} = \&truncate_shard;
	return 1;
}

sub truncate_shard
{
	my ($p) = @_;
	my $at = $p->{placements}[0];
	return 0 if %{ $at->{fact}{lock} };
	my $part = part($p->{x}, $at->{node});
	my @keys = $guard{'fresh-truncate'} ? sort keys %{ $at->{fact}{rows} } : @{ $p->{seen}{ $at->{id} } };
	change($part, $at->{fact}, '*', undef);
	change($part, $at->{queue}, ++$number, $_) for @keys;
	note("$p->{name}: truncates $at->{fact}{name}, queues keys: @keys") if $tracing;
	shift @{ $p->{placements} };
	commit($p) unless @{ $p->{placements} };
	return 1;
}

# ---- a drain: one transaction for each batch of the shards that a node has

# to_be_taken(process, queue): the numbers that a drain may take; those that are held not while it holds keys itself
sub to_be_taken { my ($p, $queue) = @_; return grep { $_ > 0 || !$p->{holding} } keys %{ $queue->{rows} }; }

# drain_look: settles which node is left out, if one is, and finds the shards with a queue, as a worker does, before anything
# is locked. Keys are held if index shards are there.
sub drain_look
{
	my ($p) = @_;
	my @found;
	for my $out ($p->{outages} && chance(0.8) ? int rand $nodes : (), undef)
	{
		$p->{out} = $out;
		$p->{holding} = defined $out && grep { $_->{node} == $out } @index;
		@found = map { my $node = $_; grep { $_->{node} == $node && to_be_taken($p, $_->{queue}) } placements($node) } grep { !defined $out || $_ != $out } 0 .. $nodes - 1;
		last if @found;
	}
	return 0 unless @found;
	$p->{outages}-- if defined $p->{out};
	my $node = one_of(@found)->{node};
	$p->{at} = [ grep { $_->{node} == $node } @found ];
	begin($p, $node);
	@$p{qw(asked index)} = (0, 0);
	note("$p->{name}: finds", (map { $_->{queue}{name} } @{ $p->{at} }), defined $p->{out} ? "leaves node $p->{out} out" : (), $p->{holding} ? 'holds keys' : ()) if $tracing;
	$p->{step} = \&drain_metadata;
	return 1;
}

sub drain_metadata
{
	my ($p) = @_;
	return 0 if $guard{'metadata-lock'} && !share($p);
	my %here = map { $_ => 1 } placements($p->{x}{node});
	$p->{at} = [ grep { $here{$_} } @{ $p->{at} } ] if $guard{'placement-check'};
	return failed($p, 'none of them is here') unless @{ $p->{at} };
	$p->{step} = $guard{'lock-before-read'} ? \&drain_advisory : \&drain_fence;
	return 1;
}

sub drain_advisory
{
	my ($p) = @_;
	my $lock = "node $p->{x}{node}";
	return 0 if $advisory{$lock};
	$advisory{ $p->{x}{advisory} = $lock } = 1;
	note("$p->{name}: locks out other drains of $lock") if $tracing;
	$p->{step} = $guard{'lock-before-read'} ? \&drain_fence : \&drain_write;
	return 1;
}

# drain_fence: asks one node after the other whether a prepared transaction holds index shards there. Those that another
# node has begun concern a shard only if that node has drained it; so they matter until this process has once found none,
# while the shard has been here. A shard that comes back is another table. While keys are held, those of other nodes are not
# waited for, and so the shards count as met only later.
sub drain_fence
{
	my ($p) = @_;
	if ($guard{fence})
	{
		my $own = !$guard{'fence-of-all'} || $p->{holding} || !grep { !$p->{met}{$_} } @{ $p->{at} };
		for (@parts)
		{
			next if $_->{node} != $p->{asked} || left_out($p, $_) || $_->{state} ne 'prepared' || $own && $_->{x}{node} != $p->{x}{node};
			return 0 if grep { $_->[0]{index} } @{ $_->{changes} };
		}
		note("$p->{name}: nothing is prepared on node $p->{asked}", $own ? 'by this one' : '') if $tracing;
		return 1 if ++$p->{asked} < $nodes;
		$p->{met}{$_} = 1 for $p->{holding} && $guard{'met-with-all'} ? () : @{ $p->{at} };
	}
	$p->{wanted} = undef;
	$p->{step} = $guard{'later-snapshot'} ? \&drain_queue : \&drain_rows;
	return 1;
}

# left_out(process, what): whether it is on the node that the drain leaves out
sub left_out { my ($p, $what) = @_; return defined $p->{out} && $what->{node} == $p->{out}; }

# drain_queue: deletes from the queues, or gives the keys the numbers of those that are held. Rows that another one has
# deleted are waited for, and are gone then. The fact table is read with the same snapshot, or with a later one.
sub drain_queue
{
	my ($p) = @_;
	my @numbers = map { my $queue = $_->{queue}; map { [ $queue, $_ ] } sort { $a <=> $b } to_be_taken($p, $queue) } @{ $p->{at} };
	return failed($p, 'nothing is queued') unless @numbers;
	splice @numbers, 1 + int rand(@numbers - 1) if @numbers > 1 && chance(0.3);
	return 0 if grep { $_->[0]{lock}{ $_->[1] } } @numbers;
	$p->{drained} = { map { $_->[0]{rows}{ $_->[1] } => 1 } @numbers };
	my $part = part($p->{x}, $p->{x}{node});
	my $hold = $p->{holding} && $guard{holding};
	for (@numbers)
	{
		my ($queue, $n) = @$_;
		change($part, $queue, -$n, $queue->{rows}{$n}) if $hold;
		change($part, $queue, $n, undef);
	}
	$p->{x}{consumed} = { map { abs $_->[1] => 1 } @numbers } unless $hold;
	note("$p->{name}:", $hold ? 'holds' : 'deletes', map { "$_->[1] from $_->[0]{name}" } @numbers) if $tracing;
	$p->{present} = {};
	$p->{step} = $guard{'later-snapshot'} ? \&drain_rows : \&drain_entries;
	return drain_rows($p) || 1 if $guard{'later-snapshot'} && $p->{one_snapshot};
	return 1;
}

sub drain_rows
{
	my ($p) = @_;
	my @facts = map { $_->{fact} } @{ $p->{at} };
	return 0 if grep { $_->{lock}{'*'} } @facts;
	$p->{wanted} = { map { %{ $_->{rows} } } @facts };
	note("$p->{name}: reads rows:", map { "$_ is $p->{wanted}{$_}" } sort keys %{ $p->{wanted} }) if $tracing;
	$p->{step} = $guard{'later-snapshot'} ? \&drain_entries : \&drain_queue;
	return 1;
}

# drain_entries: reads the present entries of the keys, one index shard after the other, and makes the difference. The shards
# that are read have to be all, with those on the node that is left out if keys are held.
sub drain_entries
{
	my ($p) = @_;
	my $index = $index[ $p->{index} ];
	my $out = left_out($p, $index);
	return failed($p, 'an index shard is not found') if $out && !$p->{holding} && $guard{'all-shards'};
	for ($out ? () : keys %{ $index->{rows} })
	{
		my ($key) = split / /;
		$p->{present}{$_} = 1 if $p->{drained}{$key};
	}
	note("$p->{name}: reads entries of $index->{name}:", map { "($_)" } grep { $index->{rows}{$_} } sort keys %{ $p->{present} }) if $tracing && !$out;
	return 1 if ++$p->{index} < @index;
	my %wanted = map { ("$_ $p->{wanted}{$_}" => 1) } grep { $p->{wanted}{$_} } keys %{ $p->{drained} };
	$p->{todo} = [
		grep { !left_out($p, index_of($_->[0])) }
			(map { [ $_, undef ] } grep { !$wanted{$_} } sort keys %{ $p->{present} }),
		(map { [ $_, 1 ] } grep { !$p->{present}{$_} } sort keys %wanted)
	];
	$p->{step} = $guard{'lock-before-read'} ? \&drain_write : \&drain_advisory;
	return 1;
}

# index_of(entry): the index shard that has it
sub index_of { my (undef, $k) = split / /, $_[0]; return $index[ $k % @index ]; }

# drain_write: the deletions, then the insertions. What another transaction has changed is waited for.
sub drain_write
{
	my ($p) = @_;
	my $next = $p->{todo}[0];
	if ($next)
	{
		my ($entry, $value) = @$next;
		my $index = index_of($entry);
		return 0 if $index->{lock}{$entry};
		return failed($p, "entry ($entry) exists") if $value && $index->{rows}{$entry};
		shift @{ $p->{todo} };
		return 1 if !$value && !$index->{rows}{$entry};
		change(part($p->{x}, $index->{node}), $index, $entry, $value);
		note("$p->{name}:", $value ? 'inserts' : 'deletes', "($entry) in $index->{name}") if $tracing;
		return 1;
	}
	commit($p);
	return $p->{step}->($p);
}

# ---- wait(): returns when all is applied that was committed on any node before

sub wait_begin
{
	my ($p) = @_;
	return 0 if $steps < $p->{at};
	@$p{qw(node asked promised)} = (int rand $nodes, 0, [@promised]);
	note("$p->{name}: waits on node $p->{node} for @promised") if $tracing;
	$p->{step} = $guard{'doubt-before-wait'} ? \&wait_prepared : \&wait_numbers;
	return 1;
}

# wait_prepared: asks one node after the other what is prepared and has changed queues or index tables
sub wait_prepared
{
	my ($p) = @_;
	push @{ $p->{prepared} }, grep { $_->{node} == $p->{asked} && $_->{state} eq 'prepared' && grep { $_->[0]{queue} || $_->[0]{index} } @{ $_->{changes} } } @parts;
	return 1 if ++$p->{asked} < $nodes;
	$p->{asked} = 0;
	$p->{step} = \&wait_ended;
	return 1;
}

# wait_ended: waits for the end of what was prepared
sub wait_ended
{
	my ($p) = @_;
	return 0 if grep { $_->{state} ne 'done' } @{ $p->{prepared} };
	$p->{prepared} = [];
	$p->{step} = $p->{numbers} ? \&wait_over : \&wait_numbers;
	return 1;
}

# read_queues(process, what is done with the numbers of each): reads one queue after the other, in one statement
sub read_queues
{
	my ($p, $with) = @_;
	my $node = $p->{node};
	return 0 if $metadata[$node]{lock}{layout};
	$shared[$node]{ $p->{name} } = 1;
	my @at = placements($node);
	$with->(keys %{ $at[ $p->{asked} ]{queue}{rows} });
	return 1 if ++$p->{asked} < @at;
	delete $shared[$node]{ $p->{name} };
	$p->{asked} = 0;
	return 2;
}

# number_of(number): of a key, whether or not it is held
sub number_of { return $guard{'both-numbers'} ? abs $_[0] : $_[0]; }

# wait_numbers: which keys are queued
sub wait_numbers
{
	my ($p) = @_;
	$p->{numbers} //= {};
	my $read = read_queues($p, sub { $p->{numbers}{ number_of($_) } = 1 for @_ });
	$p->{step} = \&wait_consumed if $read == 2;
	return $read;
}

# wait_consumed: reads again while any of them is queued
sub wait_consumed
{
	my ($p) = @_;
	if (!$p->{asked})
	{
		return 0 if grep { $p->{numbers}{ number_of($_) } } map { keys %{ $_->{queue}{rows} } } placements($p->{node});
		$p->{found} = 0;
	}
	my $read = read_queues($p, sub { $p->{found} ||= grep { $p->{numbers}{ number_of($_) } } @_ });
	$p->{step} = $guard{'doubt-after-wait'} ? \&wait_prepared : \&wait_over if $read == 2 && !$p->{found};
	return $read;
}

# wait_over: nothing that was promised is queued, about to be queued, or consumed with entries that are not committed
sub wait_over
{
	my ($p) = @_;
	my ($layout) = sort { $b <=> $a } map { $_->{rows}{layout} } @metadata;
	my %at = map { $_->{queue} => 1 } @{ $layouts[$layout] };
	my %not = map { abs $_ => 1 } map { keys %{ $_->{queue}{rows} } } @{ $layouts[$layout] };
	for my $part (@parts)
	{
		$not{ abs $_->[1] } = 1 for grep { $at{ $_->[0] } && defined $_->[2] } @{ $part->{changes} };
		next unless $part->{x}{committed} && $part->{x}{consumed} && grep { $_->[0]{index} } @{ $part->{changes} };
		$not{$_} = 1 for keys %{ $part->{x}{consumed} };
	}
	my @not = grep { $not{$_} } @{ $p->{promised} };
	push @broken, "a wait has ended before the change with the number $_ was applied" for @not;
	note("$p->{name}: ends") if $tracing;
	return !($p->{step} = undef);
}

# ---- moves and splits of the fact shard with its queue; moves of index shards

sub move_begin
{
	my ($p) = @_;
	return 0 if $steps < $p->{at};
	begin($p, 0);
	$p->{again} = undef;
	$p->{locked} = 0;
	$p->{step} = \&move_lock;
	return 1;
}

# move_lock: no statement uses the shard any more, on one node after the other. What is copied before that, and then kept
# up to date, makes no difference: what counts is what is committed when the last change has been copied.
sub move_lock
{
	my ($p) = @_;
	my $node = $p->{locked};
	return 0 if %{ $shared[$node] } || $metadata[$node]{lock}{layout};
	change(part($p->{x}, $node), $metadata[$node], 'layout', scalar @layouts);
	note("$p->{name}: keeps statements out on node $node") if $tracing;
	$p->{step} = \&move_copy if ++$p->{locked} == $nodes;
	return 1;
}

sub move_copy
{
	my ($p) = @_;
	my @new;
	for my $old (placements(0))
	{
		my @keys = sort keys %{ $old->{keys} };
		my @parts = @keys > 1 && $p->{split} ? map { [$_] } @keys : [@keys];
		for (@parts)
		{
			my %keys = map { $_ => 1 } @$_;
			my $new = placement(@parts > 1 ? $shards++ : $old->{shard}, int rand $nodes, \%keys);
			if ($new->{id} eq $old->{id}) { push @new, $old; next; }
			$new->{fact}{rows} = { map { $_ => $old->{fact}{rows}{$_} } grep { $keys{$_} } keys %{ $old->{fact}{rows} } };
			$new->{queue}{rows} = { map { $_ => $old->{queue}{rows}{$_} } grep { $keys{ $old->{queue}{rows}{$_} } } keys %{ $old->{queue}{rows} } };
			push @new, $new;
			note("$p->{name}: copies $old->{id} to $new->{id}") if $tracing;
		}
	}
	push @layouts, \@new;
	commit($p);
	return 1;
}

sub index_move
{
	my ($p) = @_;
	return 0 if $steps < $p->{at} || grep { %$_ } @shared;
	my $which = int rand @index;
	my $old = $index[$which];
	return 0 if $guard{'recovery-before-move'} && grep { $_->{changes} && grep { $_->[0] == $old } @{ $_->{changes} } } @parts;
	my $new = table($old->{name} . "'", 1);
	$new->{rows} = { %{ $old->{rows} } };
	$new->{node} = int rand $nodes;
	$index[$which] = $new;
	note("$p->{name}: moves $old->{name} from node $old->{node} to $new->{node}") if $tracing;
	return !($p->{step} = undef);
}

# ---- crashes and recovery

# The transaction's session is gone. What has not been prepared elsewhere is rolled back there, at once or later; later
# it may still execute what has been sent to it: see recover().
sub lose_session
{
	my ($x) = @_;
	my $p = $x->{process};
	my $here = $x->{parts}{ $x->{node} };
	finish($here, 0) if $here && $here->{state} ne 'prepared';
	for (values %{ $x->{parts} })
	{
		finish($_, 0) if $_->{state} eq 'active' && $x->{phase} eq 'working' && chance(0.5);
	}
	release($x);
	$p->{met} = {};
	ended($p);
	return;
}

# crash: of a session or a node, at some time, or when something is about to be committed
sub crash
{
	my ($p) = @_;
	my @sessions = grep { $_ } map { $_->{x} } @processes;
	my @committing = grep { $_->{phase} ne 'working' } @sessions;
	return 0 if $p->{in_commit} ? !@committing : $steps < $p->{at};
	$p->{step} = undef;
	if (@sessions && chance(0.4))
	{
		my $x = one_of($p->{in_commit} ? @committing : @sessions);
		note("the session of $x->{name} is ended") if $tracing;
		lose_session($x);
		return 1;
	}
	my $node = int rand $nodes;
	note("node $node crashes") if $tracing;
	for my $x (@sessions) { lose_session($x) if $x->{node} == $node; }
	my @killed = grep { $_->{node} == $node && $_->{state} eq 'active' } @parts;
	for my $part (@killed)
	{
		my $x = $part->{x};
		finish($part, 0);
		next unless $x->{live} && !$x->{committed};
		roll_back($x);
		ended($x->{process});
	}
	return 1;
}

# recover: what is prepared and has lost its session is committed if its node says that it has committed, else rolled back.
# What lost its session before it was prepared notices that now, after it has executed what was on the way to it.
sub recover
{
	return 0 unless @parts;
	my @lost = grep { !$_->{x}{live} && $_->{x}{due} <= $steps } @parts or return 0;
	my $part = one_of(@lost);
	my $x = $part->{x};
	if ($part->{state} eq 'active' && $x->{phase} eq 'preparing' && chance(0.5))
	{
		note("$x->{name} is prepared late on node $part->{node}") if $tracing;
		$part->{state} = 'prepared';
		return 1;
	}
	my $commit = $part->{state} eq 'prepared' ? $x->{committed} : $x->{phase} eq 'sent' && chance(0.5);
	note("what $x->{name} has left on node $part->{node} is", $commit ? 'committed' : 'rolled back') if $tracing;
	finish($part, $commit);
	return 1;
}

# ---- the model

sub process { my ($name, $step, %rest) = @_; return { name => $name, step => $step, again => $step, %rest }; }

sub set_up
{
	$nodes = 2 + int rand 2;
	@parts = @shared = %advisory = @promised = @broken = ();
	($number, $shards) = (0, 0);
	my $keys = 1 + int rand 2;
	@metadata = map { { rows => { layout => 0 }, lock => {} } } 1 .. $nodes;
	@shared = map { {} } 1 .. $nodes;
	@layouts = [ $keys > 1 && chance(0.5) ? map { placement($shards++, int rand $nodes, { $_ => 1 }) } 0 .. $keys - 1 : placement($shards++, int rand $nodes, { map { $_ => 1 } 0 .. $keys - 1 }) ];
	@index = map { table("index_$_", 1) } 0 .. 1;
	$_->{node} = int rand $nodes for @index;
	for (0 .. $keys - 1)
	{
		my $value = int rand 4 or next;
		my $key = $_;
		my ($at) = grep { $_->{keys}{$key} } @{ $layouts[0] };
		$at->{fact}{rows}{$key} = $value;
		$index[ $value % 2 ]{rows}{"$_ $value"} = 1;
	}
	my $outages = chance($guard{holding} && $guard{'met-with-all'} && $guard{'all-shards'} && $guard{'both-numbers'} ? 0.5 : 1) ? 3 : 0;
	@processes = (
		process('writer', \&write_begin, left => 1 + int rand 3, keys => $keys),
		process('drain 1', \&drain_look, one_task => 1, one_snapshot => chance(0.5), outages => $outages),
		process('drain 2', \&drain_look, one_task => 1, one_snapshot => chance(0.5), outages => $outages),
		process('recovery', \&recover));
	push @processes, process('writer 2', \&write_begin, left => 1, keys => $keys) if chance(0.3);
	push @processes, process('move', \&move_begin, at => int rand 40, split => chance(0.3)) if chance($guard{'metadata-lock'} && $guard{'placement-check'} && $guard{'fence-of-all'} && $guard{'met-with-all'} ? 0.5 : 1);
	push @processes, process('move back', \&move_begin, at => int rand 60) if chance(0.1);
	push @processes, process('index move', \&index_move, at => int rand 50) if chance($guard{'recovery-before-move'} ? 0.2 : 1);
	push @processes, process('wait', \&wait_begin, at => int rand 40) if chance($guard{'doubt-before-wait'} && $guard{'doubt-after-wait'} ? 0.3 : 1);
	push @processes, process('truncate', \&truncate_begin, at => int rand 30) if chance($guard{'fresh-truncate'} ? 0.2 : 1);
	push @processes, process('crash', \&crash, at => int rand 50, in_commit => chance(0.5)) for 1 .. int rand 3;
	return @processes;
}

# resolve_deadlock: recovery comes before its time, or one of the transactions that wait for each other ends
sub resolve_deadlock
{
	my @late = grep { $_->{due} } grep { !$_->{live} } map { $_->{x} } @parts;
	if (@late)
	{
		$_->{due} = 0 for @late;
		return 1;
	}
	my @waiting = grep { $_->{x} } @processes or return 0;
	failed(one_of(@waiting), 'deadlock');
	return 1;
}

sub wrong
{
	my (@wrong, %wanted, %is);
	push @wrong, @broken;
	push @wrong, "prepared on node $_->{node}: $_->{x}{name}" for @parts;
	for my $at (placements(0))
	{
		$wanted{"$_ $at->{fact}{rows}{$_}"} = 1 for keys %{ $at->{fact}{rows} };
		push @wrong, "queued in $at->{queue}{name}: $_" for values %{ $at->{queue}{rows} };
	}
	%is = map { $_ => 1 } map { keys %{ $_->{rows} } } @index;
	push @wrong, map { "missing: ($_)" } grep { !$is{$_} } sort keys %wanted;
	push @wrong, map { "extra: ($_)" } grep { !$wanted{$_} } sort keys %is;
	return @wrong ? join(', ', @wrong) : undef;
}

1;
