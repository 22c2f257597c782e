# What the soak works on: fact tables, the index tables they may have, and chance.

package Model;

use strict;
use warnings;
use Exporter 'import';
our @EXPORT = qw(%FACT %KIND @CATEGORIES queued candidates pick chance between weighted enabled index_table kind_of create_sql rows_below categories);

# r: what the column r may hold. leaves: partitions that are written directly, though some come and go; with the r, or what
# is added to ids, for rows of theirs. offsets: added to ids, so that they fall into all partitions. native: a kind of index table whose key a native unique index has, too.
# along: a kind whose partitions are those of the fact table, so that one of them is emptied when a partition goes.
our %FACT = (
	plain => { pk => ['id'], r => ['a'] },
	pair => { pk => [ 'id', 'r' ], r => [qw(a b c)] },
	uniq => { pk => ['id'], r => ['a'], native => 'u' },
	listed => { pk => [ 'id', 'r' ], r => [qw(s t n h p0 p1 p2 p3 p4)], along => 's', leaves => { listed_s => 's', listed_n1 => 'n', listed_n2 => 'n', listed_n => 'n', listed_h0 => 'h', listed_h => 'h', map { ("listed_p$_" => "p$_") } 0 .. 4 }, truncate => [qw(listed_s listed_n2 listed_h1 listed_n)] },
	ranged => { pk => ['id'], r => ['a'], offsets => [ 0, 1000, 2000, 11000, 12000, 13000 ], along => 'r', leaves => { ranged_a => 0, ranged_b => 1000, ranged_b0 => 1000, ranged_c => 2000, ranged_p0 => 11000, ranged_p1 => 12000 }, truncate => [qw(ranged_b1 ranged_c)] },
	keyed => { pk => [ 'id', 'n' ], r => ['a'], native => 'o', leaves => { map { ("keyed_$_" => 0) } 0 .. 2 }, truncate => ['keyed_1'] },
);

# The kinds of index tables; one named ix_FACT_KIND is of that kind. only: for these fact tables. settings: what it holds
# would follow the writer's settings; a server may refuse to make these. rare: it refuses writes, or is made anew.
our %KIND = (
	k => { key => ['k'] },
	p => { key => ['k'], include => [ 'v', '@note' ] },
	d => { key => ['v'], strategy => 'denormalized' },
	c => { key => [ 'k', 'n::int AS m' ], on_mismatch => 'skip' },
	i => { key => ['n::int AS m'], on_mismatch => 'skip', options => [ '', q(, partition_by => 'RANGE (m)', partition_bounds => ARRAY[$b$FROM (0) TO (10)$b$, $b$FROM (10) TO (30)$b$]) ] },
	t => { key => ['tags[*]'], include => ['v'] },
	l => { key => [ 'v', 'items[*].name' ], strategy => 'denormalized' },
	y => { key => ['d::date'], include => ['tags::jsonb'], on_mismatch => 'skip' },
	j => { key => [ 'k', '@id' ], include => ['v'] },
	f => { key => ['k'], filter => q(note <> 'n1' AND doc ->> 'v' <> 'v3'), on_mismatch => 'skip' },
	w => { key => ['v'], include => ['wide'], rare => 1 },
	g => { key => ['n::int AS g'], rare => 1 },
	e => { key => ['n::int AS m'], maintenance => 'async' },
	q => { key => ['k'], include => [ 'v', '@note' ], maintenance => 'async' },
	a => { key => ['tags[*]'], maintenance => 'async' },
	x => { key => ['@x::text'], settings => 1 },
	b => { key => ['@b::text'], maintenance => 'async', settings => 1 },
	z => { key => ['v'], include => [ '@x::text AS xt', '@b::text AS bt' ], settings => 1 },
	h => { key => ['v'], filter => q(x::text LIKE '%7'), settings => 1 },
	u => { key => ['u'], is_unique => 1, only => { map { $_ => 1 } qw(uniq listed ranged) } },
	m => { key => ['marks[*]'], is_unique => 1, only => { map { $_ => 1 } qw(plain uniq ranged) } },
	o => { key => ['@n'], is_unique => 1, only => { keyed => 1 } },
	r => { key => [ '@id', 'k' ], only => { ranged => 1 }, options => [ ", partition_by => 'RANGE (id)', partition_bounds => "
		. array_of(map { my ($from, $to) = @$_; "FROM ($from) TO ($to)" } [ 'MINVALUE', 1000 ], [ 1000, 2000 ], [ 2000, 11000 ], [ 11000, 12000 ], [ 12000, 13000 ], [ 13000, 'MAXVALUE' ]) ] },
	s => { key => [ '@r', 'v' ], include => ['n::jsonb'], only => { listed => 1 }, options => [ ", partition_by => 'LIST (r)', partition_bounds => "
		. array_of(map { "IN ($_)" } "'s', 't'", "'n'", "'h'", map { "'p$_'" } 0 .. 4) ] },
);

# What operations may be of; ONLY and EXCEPT choose among them. Single statements and transactions of row operations are
# always there.
our @CATEGORIES = qw(attach settings detach unique triggers savepoints prepared truncate index async reads kill crash);
my %on;

sub categories
{
	my ($only, $except) = @_;
	my %known = map { $_ => 1 } @CATEGORIES;
	$known{$_} || die "soak: there is no category \"$_\"; there are @CATEGORIES\n" for split /,/, "$only,$except" =~ s/^,|,$//gr;
	%on = map { $_ => 1 } $only ne '' ? split(/,/, $only) : @CATEGORIES;
	delete $on{$_} for split /,/, $except;
	return sort keys %on;
}

sub enabled { return $on{ $_[0] }; }

# Attaching and detaching matters for index tables that workers keep, whether sessions drain or not.
sub queued { return grep { enabled($_) } qw(async attach detach); }

sub pick { return $_[ int(rand(@_)) ]; }
sub chance { return rand() < $_[0]; }
sub between { return $_[0] + int(rand($_[1] - $_[0] + 1)); }

# weighted: one of WEIGHT, THING, …
sub weighted
{
	my (@pairs) = @_;
	my ($sum, $thing) = (0);
	for (my $i = 0; $i < @pairs; $i += 2) { $sum += $pairs[$i]; }
	my $at = rand($sum);
	while (@pairs)
	{
		my $weight = shift @pairs;
		$thing = shift @pairs;
		return $thing if ($at -= $weight) < 0;
	}
	return $thing;
}

# rows_below: how many rows a statement is to touch: mostly some, sometimes one, sometimes many
sub rows_below
{
	my ($most) = @_;
	my $n = weighted(3, 1, 3, between(2, 10), 4, between(10, 60), 2, between(60, 250));
	return $n < $most ? $n : $most;
}

sub index_table { return "ix_$_[0]_$_[1]"; }
sub kind_of { return $_[0] =~ /^ix_([a-z]+)_([a-z])$/ ? ($1, $2) : (); }

# candidates: kinds that a fact table may have
sub candidates
{
	my ($fact) = @_;
	return grep { my $k = $KIND{$_}; (!$k->{only} || $k->{only}{$fact}) && (!$k->{settings} || enabled('settings')) && (($k->{maintenance} // '') ne 'async' || queued()) } sort keys %KIND;
}

sub array_of { return 'ARRAY[' . join(', ', map { my $s = $_ =~ s/'/''/gr; "'$s'" } @_) . ']'; }

# create_sql: the call of create() for an index table of a kind
sub create_sql
{
	my ($fact, $name, $more) = @_;
	my $kind = $KIND{$name};
	my $maintenance = $kind->{maintenance} // (!$kind->{is_unique} && enabled('async') && chance(0.25) ? 'async' : 'transactional');
	my $filter = defined $kind->{filter} ? ", filter => \$f\$$kind->{filter}\$f\$" : '';
	return "SELECT indextable.create('" . index_table($fact, $name) . "', '$fact', " . array_of(@{ $kind->{key} })
	  . ($kind->{strategy} ? ", strategy => '$kind->{strategy}'" : '')
	  . ($kind->{include} ? ', include => ' . array_of(@{ $kind->{include} }) : '')
	  . $filter . ", maintenance => '$maintenance'"
	  . ($kind->{is_unique} ? ', is_unique => true' : chance(0.25) ? ', sparse => true' : '')
	  . ($kind->{on_mismatch} ? ", on_mismatch => '$kind->{on_mismatch}'" : '')
	  . ($kind->{options} ? pick(@{ $kind->{options} }) : chance(0.2) ? ', partitions => ' . between(1, 4) : '')
	  . ($more // '') . ')';
}

1;
