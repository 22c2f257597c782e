# The protocol by which index tables on a coordinator follow tables on other servers (shards): rows are queued on the shard;
# the coordinator takes them, which consumes nothing, reads the rows anew, commits their entries, and acknowledges.
#
# What is modelled: statements read what is committed; row locks; the coordinator loses, when it crashes, what it has
# committed asynchronously and not flushed; acknowledgements that are lost, or arrive when nobody waits for them any more; the
# place of a queued row that is consumed is taken by a later row; rows that move between shards, in two commits; TRUNCATE,
# which queues a marker for all rows; shards that are down for a while.
package Feeds;

use strict;
use warnings;
use Explore qw(note chance one_of $steps $tracing);

our %guard = map { $_ => 1 } qw(fresh-read lock-before-read one-lock ack-after-commit synchronous-commit item-identity);

my (@shards, %entries, %entry_lock, %lock, @acks, @unflushed, @processes, $xid, $keys);

# ---- transactions: changes of one shard, or of the entries, that are made when it commits

sub change { my ($p, $rows, $locks, $key, $value) = @_; $locks->{$key} = $p; push @{ $p->{changes} }, [ $rows, $locks, $key, $value ]; return; }

sub finish
{
	my ($p, $commit) = @_;
	for (@{ delete $p->{changes} // [] })
	{
		my ($rows, $locks, $key, $value) = @$_;
		delete $locks->{$key};
		next unless $commit;
		push @unflushed, [ $rows, $key, $rows->{$key} ] if $rows == \%entries;
		set($rows, $key, $value);
	}
	return;
}

sub set
{
	my ($rows, $key, $value) = @_;
	if (defined $value) { $rows->{$key} = $value; }
	elsif ($key eq '*') { %$rows = (); }
	else                { delete $rows->{$key}; }
	return;
}

# enqueue(process, shard, key): at the first place that is free, with the number of the transaction
sub enqueue
{
	my ($p, $shard, $key) = @_;
	my $place = 1;
	$place++ while $shard->{queue}{$place} || $shard->{queue_lock}{$place};
	change($p, $shard->{queue}, $shard->{queue_lock}, $place, [ $key, $xid ]);
	note("$p->{name}: queues $key on $shard->{name} at place $place as of $xid") if $tracing;
	return;
}

sub again { my ($p) = @_; $p->{step} = $p->{again}; return 1; }

sub up { return !$_[0]{down} || $_[0]{down} <= $steps; }

# ---- writers on shards

sub write_row
{
	my ($p) = @_;
	return !($p->{step} = undef) unless $p->{left};
	my $key = $p->{key} //= int rand $keys;
	my ($shard) = grep { defined $_->{rows}{$key} } @shards;
	$shard //= one_of(@shards);
	return 0 if !up($shard) || $shard->{lock}{$key} || $shard->{lock}{'*'};
	$p->{left}--;
	$p->{key} = undef;
	$p->{on} = $shard;
	$xid++;
	if (defined $shard->{rows}{$key} && @shards > 1 && chance(0.3)) { return move_row($p, $key); }
	my $value = int rand 4;
	change($p, $shard->{rows}, $shard->{lock}, $key, $value || undef);
	note("$p->{name}: row $key becomes", $value || 'deleted', "on $shard->{name}") if $tracing;
	enqueue($p, $shard, $key);
	$p->{step} = \&write_end;
	return 1;
}

sub write_end
{
	my ($p) = @_;
	my $commit = chance(0.9);
	note("$p->{name}:", $commit ? 'commits' : 'rolls back') if $tracing;
	finish($p, $commit);
	return again($p);
}

# move_row: to another shard, through the coordinator, which commits on one shard and then on the other
sub move_row
{
	my ($p, $key) = @_;
	my $from = $p->{on};
	my $to = one_of(grep { $_ != $from } @shards);
	return again($p) if !up($to) || $to->{lock}{$key} || $to->{lock}{'*'};
	my $value = 1 + int rand 3;
	my @work = ([ $from, undef ], [ $to, $value ]);
	@work = reverse @work if chance(0.5);
	note("$p->{name}: moves row $key from $from->{name} to $to->{name}, as $value") if $tracing;
	$p->{work} = [ map { [ @$_, $key ] } @work ];
	$p->{step} = \&move_half;
	return 1;
}

sub move_half
{
	my ($p) = @_;
	my ($shard, $value, $key) = @{ $p->{work}[0] };
	return 0 if !up($shard) || $shard->{lock}{$key} || $shard->{lock}{'*'};
	change($p, $shard->{rows}, $shard->{lock}, $key, $value);
	enqueue($p, $shard, $key);
	finish($p, 1);
	note("$p->{name}: commits on $shard->{name}") if $tracing;
	shift @{ $p->{work} };
	return @{ $p->{work} } ? 1 : again($p);
}

sub truncate_shard
{
	my ($p) = @_;
	my $shard = $p->{on};
	return 0 if $steps < $p->{at} || !up($shard) || %{ $shard->{lock} };
	$xid++;
	change($p, $shard->{rows}, $shard->{lock}, '*', undef);
	note("$p->{name}: $shard->{name}") if $tracing;
	enqueue($p, $shard, '*');
	$p->{again} = undef;
	$p->{step} = \&write_end;
	return 1;
}

# ---- the drain of one shard's queue, on the coordinator

sub drain_look
{
	my ($p) = @_;
	my @found = grep { %{ $_->{queue} } && up($_) } @shards or return 0;
	$p->{on} = one_of(@found);
	$p->{held} = undef;
	$p->{wanted} = undef;
	$p->{asked} = 0;
	$p->{step} = $guard{'fresh-read'} ? \&drain_take : \&drain_read;
	return 1;
}

sub drain_failed
{
	my ($p, $why) = @_;
	note("$p->{name}: rolls back: $why") if $tracing;
	finish($p, 0);
	delete $lock{ $p->{held} } if defined $p->{held};
	$p->{held} = undef;
	return again($p);
}

# drain_take: some of what is queued. An item is a key, with the place and the transaction that it comes from.
sub drain_take
{
	my ($p) = @_;
	my $queue = $p->{on}{queue};
	return drain_failed($p, "$p->{on}{name} is down") unless up($p->{on});
	my @places = sort { $a <=> $b } keys %$queue;
	@places = $places[0] if @places > 1 && chance(0.3);
	$p->{items} = [ map { [ $_, $queue->{$_}[1], $queue->{$_}[0] ] } @places ];
	note("$p->{name}: takes from $p->{on}{name}:", map { "$_->[2] (place $_->[0] of $_->[1])" } @{ $p->{items} }) if $tracing;
	return drain_failed($p, 'nothing is queued') unless @places;
	$p->{keys} = { map { $_->[2] => 1 } @{ $p->{items} } };
	$p->{keys} = { map { $_ => 1 } 0 .. $keys - 1 } if $p->{keys}{'*'};
	$p->{step} = $guard{'lock-before-read'} ? \&drain_lock : $guard{'fresh-read'} ? \&drain_read : \&drain_entries;
	return 1;
}

# drain_lock: held until the commit; one for all drains that write entries of this fact table
sub drain_lock
{
	my ($p) = @_;
	my $name = $guard{'one-lock'} ? 'table' : $p->{on}{name};
	return 0 if $lock{$name};
	$lock{ $p->{held} = $name } = $p;
	note("$p->{name}: locks") if $tracing;
	$p->{step} = $guard{'lock-before-read'} && $guard{'fresh-read'} ? \&drain_read : \&drain_entries;
	return 1;
}

# drain_read: the rows of all shards, one shard after the other
sub drain_read
{
	my ($p) = @_;
	my $shard = $shards[ $p->{asked} ];
	return drain_failed($p, "$shard->{name} is down") unless up($shard);
	return 0 if $shard->{lock}{'*'};
	$p->{wanted}{"$_ $shard->{rows}{$_}"} = 1 for keys %{ $shard->{rows} };
	note("$p->{name}: reads rows on $shard->{name}:", map { "($_ $shard->{rows}{$_})" } sort keys %{ $shard->{rows} }) if $tracing;
	return 1 if ++$p->{asked} < @shards;
	$p->{step} = !$guard{'fresh-read'} ? \&drain_take : $guard{'lock-before-read'} ? \&drain_entries : \&drain_lock;
	return 1;
}

sub drain_entries
{
	my ($p) = @_;
	my $concerned = sub { return $p->{keys}{ substr $_[0], 0, 1 }; };
	my %present = map { $_ => 1 } grep { $concerned->($_) } keys %entries;
	my %wanted = map { $_ => 1 } grep { $concerned->($_) } keys %{ $p->{wanted} // {} };
	note("$p->{name}: reads entries:", map { "($_)" } sort keys %present) if $tracing;
	$p->{todo} = [ (map { [ $_, undef ] } grep { !$wanted{$_} } sort keys %present), (map { [ $_, 1 ] } grep { !$present{$_} } sort keys %wanted) ];
	$p->{step} = \&drain_write;
	return 1;
}

sub drain_write
{
	my ($p) = @_;
	if (my $next = $p->{todo}[0])
	{
		my ($entry, $value) = @$next;
		return 0 if $entry_lock{$entry};
		shift @{ $p->{todo} };
		return 1 if !defined $value == !$entries{$entry};
		note("$p->{name}:", $value ? 'inserts' : 'deletes', "($entry)") if $tracing;
		change($p, \%entries, \%entry_lock, $entry, $value);
		return 1;
	}
	$p->{step} = $guard{'ack-after-commit'} ? \&drain_commit : \&drain_ack;
	return 1;
}

sub drain_commit
{
	my ($p) = @_;
	note("$p->{name}: commits") if $tracing;
	finish($p, 1);
	@unflushed = () if $guard{'synchronous-commit'};
	delete $lock{ $p->{held} };
	$p->{held} = undef;
	$p->{step} = $guard{'ack-after-commit'} ? \&drain_ack : $p->{again};
	return 1;
}

# drain_ack: sends it, and waits for the answer, though not for ever
sub drain_ack
{
	my ($p) = @_;
	if (!$p->{ack})
	{
		push @acks, $p->{ack} = { on => $p->{on}, items => $p->{items}, due => chance(0.7) ? 0 : $steps + int rand 40 };
		note("$p->{name}: acknowledges to $p->{on}{name}: places", map { $_->[0] } @{ $p->{items} }) if $tracing;
		return 1;
	}
	return 0 unless $p->{ack}{done} || $p->{ack}{due};
	$p->{ack} = undef;
	$p->{step} = $guard{'ack-after-commit'} ? $p->{again} : \&drain_commit;
	return 1;
}

# ---- the network, the disk, crashes

sub deliver
{
	return 0 unless @acks;
	my @due = grep { $acks[$_]{due} <= $steps && up($acks[$_]{on}) } 0 .. $#acks or return 0;
	my ($ack) = splice @acks, one_of(@due), 1;
	$ack->{done} = 1;
	my ($shard, $lost) = ($ack->{on}, chance(0.1));
	note("an acknowledgement to $shard->{name}", $lost ? 'is lost' : 'is executed') if $tracing;
	return 1 if $lost;
	for (@{ $ack->{items} })
	{
		my ($place, $xmin) = @$_;
		my $row = $shard->{queue}{$place} or next;
		next if $guard{'item-identity'} && $row->[1] != $xmin;
		delete $shard->{queue}{$place};
		note("place $place of $row->[1] ($row->[0]) is free") if $tracing;
	}
	return 1;
}

sub flush
{
	return 0 if !@unflushed || chance(0.8);
	@unflushed = ();
	note('the coordinator flushes') if $tracing;
	return 1;
}

sub crash
{
	my ($p) = @_;
	return 0 if $steps < $p->{at};
	$p->{step} = undef;
	if ($p->{shard})
	{
		my $shard = one_of(@shards);
		note("$shard->{name} crashes") if $tracing;
		for (grep { $_->{on} && $_->{on} == $shard && $_->{changes} && ($_->{step} // 0) == \&write_end } @processes) { finish($_, 0); again($_); }
		$shard->{down} = $steps + int rand 30;
		for (@acks) { $_->{done} = 1 if $_->{on} == $shard; }
		@acks = grep { $_->{on} != $shard } @acks;
		return 1;
	}
	note('the coordinator crashes') if $tracing;
	for (@processes)
	{
		if ($_->{drain})   { finish($_, 0); $_->{held} = $_->{ack} = undef; again($_); }
		elsif ($_->{work}) { $_->{work} = undef; again($_); }
	}
	%lock = ();
	for (@acks) { $_->{due} = $steps + int rand 40; }
	for (reverse splice @unflushed) { set(@$_); }
	return 1;
}

# ---- the model

sub process { my ($name, $step, %rest) = @_; return { name => $name, step => $step, again => $step, %rest }; }

sub set_up
{
	(%entries, %entry_lock, %lock) = ();
	@acks = @unflushed = ();
	$xid = 100;
	$keys = 1 + int rand 2;
	@shards = map { { name => "shard $_", rows => {}, lock => {}, queue => {}, queue_lock => {} } } 1 .. ($guard{'one-lock'} ? 1 + int rand 2 : 2);
	for (0 .. $keys - 1)
	{
		my $value = int rand 4 or next;
		one_of(@shards)->{rows}{$_} = $value;
		$entries{"$_ $value"} = 1;
	}
	@processes = (
		process('writer 1', \&write_row, left => 1 + int rand 2),
		process('writer 2', \&write_row, left => int rand 2),
		process('drain 1', \&drain_look, drain => 1),
		process('drain 2', \&drain_look, drain => 1),
		process('network', \&deliver));
	push @processes, process('disk', \&flush) unless $guard{'synchronous-commit'};
	push @processes, process('truncate', \&truncate_shard, at => int rand 30, on => one_of(@shards)) if chance(0.2);
	push @processes, process('crash', \&crash, at => int rand 50, shard => chance(0.3)) for 1 .. int rand 3;
	return @processes;
}

# resolve_deadlock: what is down comes back, what is late arrives; or a transaction is ended
sub resolve_deadlock
{
	my $late = grep { $_->{due} > $steps } @acks;
	my $down = grep { !up($_) } @shards;
	if ($late || $down)
	{
		$_->{due} = 1 for @acks;
		delete $_->{down} for @shards;
		return 1;
	}
	my ($p) = grep { $_->{drain} && (defined $_->{held} || $_->{changes}) } @processes or return 0;
	return drain_failed($p, 'deadlock');
}

sub wrong
{
	my (@wrong, %wanted);
	for my $shard (@shards)
	{
		$wanted{"$_ $shard->{rows}{$_}"} = 1 for keys %{ $shard->{rows} };
		push @wrong, "queued on $shard->{name}: $_->[0]" for values %{ $shard->{queue} };
	}
	push @wrong, map { "missing: ($_)" } grep { !$entries{$_} } sort keys %wanted;
	push @wrong, map { "extra: ($_)" } grep { !$wanted{$_} } sort keys %entries;
	return @wrong ? join(', ', @wrong) : undef;
}

1;
