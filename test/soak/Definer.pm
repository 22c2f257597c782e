# The sessions that change tables instead of rows: one makes, attaches, detaches and drops partitions, one makes, alters,
# rebuilds, repairs and drops index tables. Each looks at what there is and chooses among what can be done with it.

package Definer;

use strict;
use warnings;
use Time::HiRes qw(time sleep);
use Model;

# The partitions that come and go, with their bounds.
my %dynamic = (
	(map { ("listed_p$_" => [ 'listed', "FOR VALUES IN ('p$_')", "'p$_'", 1, 250 ]) } 0 .. 4),
	(map { my $from = 11000 + 1000 * $_; ("ranged_p$_" => [ 'ranged', "FOR VALUES FROM ($from) TO (" . ($from + 1000) . ')', "'a'", $from + 1, $from + 250 ]) } 0 .. 2),
	keyed_1 => [ 'keyed', 'FOR VALUES WITH (MODULUS 3, REMAINDER 1)' ],
	listed_h1 => [ 'listed_h', 'FOR VALUES WITH (MODULUS 2, REMAINDER 1)' ],
);

# fill: rows for a partition that is not attached, or for one that is
sub fill
{
	my ($name) = @_;
	my ($parent, $for, $r, $from, $to) = @{ $dynamic{$name} };
	return () if !$r;
	my $first = between($from, $to);
	my $last = $first + pick(0, 10, 60, 200) > $to ? $to : $first + pick(10, 60, 200);
	$last = $to if $last > $to;
	my $n = int(rand(1000000));
	return "INSERT INTO $name (id, r, n, doc, note, x, b) SELECT g, $r, g * 7919 + $n, soak.doc(g * 7919 + $n), 'n' || g % 3, soak.x(g + $n), soak.b(g + $n) FROM generate_series($first, $last) g ON CONFLICT DO NOTHING";
}

# The first not with partitions of its own: DETACH CONCURRENTLY would give those a CHECK constraint on the wrong columns
# (a fault of the server).
my @leaf = (
	'(note text, gone int, id int NOT NULL, b bytea, doc jsonb, x float8, r text NOT NULL, n int)',
	'(id int NOT NULL, doc jsonb, n int, note text, x float8, b bytea, r text NOT NULL)',
);

# statements: what can be done with a partition as it is: absent, attached, detached or half detached (pending); a list
# of statements, of which a BEGIN makes a transaction
sub statements
{
	my ($name, $state) = @_;
	my ($parent, $for, $r) = @{ $dynamic{$name} };
	my ($attach, $detach) = ("ALTER TABLE $parent ATTACH PARTITION $name $for", "ALTER TABLE $parent DETACH PARTITION $name");
	my @end = chance(0.8) ? 'COMMIT' : 'ROLLBACK';
	return weighted(4, [ "$detach FINALIZE" ], ($r ? (1, ["DROP TABLE $name"]) : ())) if $state eq 'pending';
	if ($state eq 'absent')
	{
		my $own = "CREATE TABLE $name " . pick(@leaf);
		my @gone = $own =~ /gone/ ? "ALTER TABLE $name DROP COLUMN gone" : ();
		return weighted(
			3, [ "CREATE TABLE $name PARTITION OF $parent $for", fill($name) ],
			1, [ 'BEGIN', "CREATE TABLE $name PARTITION OF $parent $for PARTITION BY HASH (id)", map({ "CREATE TABLE ${name}_$_ PARTITION OF $name FOR VALUES WITH (MODULUS 2, REMAINDER $_)" } 0, 1), fill($name), @end ],
			4, [ $own, @gone, fill($name), $attach ],
			3, [ 'BEGIN', $own, @gone, fill($name), $attach, fill($name), @end ],
			1, [ 'BEGIN', "CREATE TABLE $name $leaf[1] PARTITION BY RANGE (id)", "CREATE TABLE ${name}_0 PARTITION OF $name DEFAULT", fill($name), 'COMMIT', $attach ]);
	}
	return weighted(5, [$attach], 3, [ fill($name), $attach ], 2, [ 'BEGIN', $attach, fill($name), @end ], 1, [ fill($name) ? ("UPDATE $name SET doc = soak.doc(id + 17)", "DELETE FROM $name WHERE id % 3 = 0", $attach) : $attach ], ($r ? (1, ["DROP TABLE $name"]) : ())) if $state eq 'detached';

	# attached
	return weighted(
		4, [ $detach ],
		3, [ 'BEGIN', $detach, $attach, @end ],
		2, [ 'BEGIN', $detach, fill($name), $attach, @end ],
		2, [ 'BEGIN', 'SAVEPOINT s', $detach, pick('ROLLBACK TO s', 'RELEASE s'), fill($name), @end ],
		(enabled('truncate') ? (1, ["TRUNCATE $name"], 1, [ 'BEGIN', "TRUNCATE $name", fill($name), @end ]) : ()),
		($r ? (2, ["DROP TABLE $name"], 1, [ 'BEGIN', "DROP TABLE $name", @end ], 1, [ 'BEGIN', "DROP TABLE $name", "CREATE TABLE $name PARTITION OF $parent $for", fill($name), @end ],
			1, [ 'BEGIN', 'SAVEPOINT s', "DROP TABLE $name", pick('ROLLBACK TO s', 'RELEASE s'), @end ],
			1, [ "DROP TABLE $name, " . pick(grep { $dynamic{$_}[0] eq $parent && $_ ne $name } sort keys %dynamic) ],
			(enabled('prepared') ? (1, [ 'BEGIN', "DROP TABLE $name", "PREPARE TRANSACTION 'soak-drop'", pick('COMMIT', 'ROLLBACK') . " PREPARED 'soak-drop'" ]) : ())) : ()));
}

sub states
{
	my ($s) = @_;
	my $rows = $s->select('ddl', "SELECT c.relname, CASE WHEN i.inhdetachpending THEN 'pending' WHEN c.relispartition THEN 'attached' ELSE 'detached' END
		FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')") || return;
	return { map { $_->[0] => $_->[1] } @$rows };
}

sub sequence
{
	my ($s, @sql) = @_;
	for my $sql (@sql)
	{
		next if defined $s->run('ddl', $sql);
		$s->run('ddl', 'ROLLBACK') if $s->{dbh} && $sql[0] eq 'BEGIN';
		return;
	}
}

# half_detach: waits for others in its middle, and is cut off there now and then
sub half_detach
{
	my ($s, $name) = @_;
	my ($parent) = @{ $dynamic{$name} };
	$s->run('ddl', "SET statement_timeout = '" . pick('5ms', '20ms', '100ms', '1s') . "'") || return;
	$s->run('ddl', "ALTER TABLE $parent DETACH PARTITION $name CONCURRENTLY");
	$s->run('ddl', "SET statement_timeout = '20s'") if $s->{dbh};
}

sub partitions
{
	my ($s) = @_;
	my $keep = '';
	while (!$s->stopped() && !@{ $s->{unexpected} })
	{
		my $state = states($s) || next;
		my @pending = grep { ($state->{$_} // '') eq 'pending' } sort keys %dynamic;

		# One that is half detached has to be detached before anything else, but not at once.
		my $name = @pending ? pick(@pending) : pick(sort keys %dynamic);
		my $is = $state->{$name} // 'absent';
		next if $is eq 'absent' && !$dynamic{$name}[2];
		if ($is eq 'pending' && chance(0.6)) { sleep 0.1; next; }
		if ($is eq 'attached' && enabled('detach') && chance(0.4)) { half_detach($s, $name); }
		elsif (enabled('attach') || $is ne 'attached') { sequence($s, @{ statements($name, $is) }); }
		sleep rand(enabled('detach') ? 0.1 : 0.06);
	}
}

# ---- index tables

my @includes = ([], ['v'], [ 'v', '@note' ], ['tags::jsonb'], ['@note']);
my @filters = ('', q(note <> 'n2'), q(doc ->> 'v' <> 'v1' AND note IS NOT NULL), 'id % 3 > 0');

sub alter
{
	my ($index) = @_;
	my ($fact, $kind) = kind_of($index);
	my $unique = $KIND{$kind}{is_unique};
	my $what = weighted(
		$unique || !enabled('async') ? () : (3, 'maintenance => ' . pick(q('async'), q('transactional'))),
		2, sub { my @i = @{ pick(@includes) }; "strategy => 'partial', include => " . (@i ? Model::array_of(@i) : "'{v}'") }->(),
		1, q(strategy => 'normalized', include => '{}'), 1, q(strategy => 'denormalized', include => '{}'),
		3, 'filter => $f$' . pick(@filters) . '$f$', 1, 'partitions => ' . between(1, 4), $unique ? () : (1, 'sparse => ' . pick(qw(true false))));
	return chance(0.3) ? ("SELECT indextable.alter('$index', $what, populate => false)", "CALL indextable.rebuild('$index')") : ("SELECT indextable.alter('$index', $what)");
}

sub creation
{
	my ($fact, $kind) = @_;
	my $index = index_table($fact, $kind);
	return enabled('async') && chance(0.4) ? (create_sql($fact, $kind, ', populate => false'), 'CALL indextable.build(' . "'$index'" . pick('', ', batch_size => 50') . ')') : create_sql($fact, $kind);
}

sub index_tables
{
	my ($s) = @_;
	while (!$s->stopped() && !@{ $s->{unexpected} })
	{
		my $rows = $s->select('ddl', q(SELECT c.relname, d.state FROM indextable_internal.definition d JOIN pg_class c ON c.oid = d.index_table WHERE d.replaces IS NULL AND c.relname ~ '^ix_' ORDER BY 1)) || next;
		my %is = map { $_->[0] => $_->[1] } @$rows;
		my $fact = weighted(map { $s->{facts}{$_}, $_ } sort keys %{ $s->{facts} });
		my $kind = pick(candidates($fact));
		my $index = index_table($fact, $kind);
		my $count = grep { /^ix_${fact}_/ } keys %is;
		my $fixed = ($FACT{$fact}{native} // '') eq $kind;
		my @do =
		    !$is{$index} ? ($count < 7 || chance(0.1) ? creation($fact, $kind) : ())
		  : $is{$index} eq 'building' ? pick("CALL indextable.build('$index')", "SELECT indextable.drop('$index')")
		  : $count > 5 && !$fixed && chance(0.3) ? pick("SELECT indextable.drop('$index')", "DROP TABLE $index")
		  : weighted(6, [ alter($index) ], 3, ["CALL indextable.rebuild('$index', batch_size => 100)"], 2, ["CALL indextable.repair('$index')"],
			2, [ 'BEGIN', alter($index), pick('COMMIT', 'ROLLBACK') ], 1, ["REINDEX TABLE $index"], 1, ["VACUUM $index"], 1, [ 'BEGIN', "SELECT indextable.drop('$index')", create_sql($fact, $kind), pick('COMMIT', 'ROLLBACK') ]);
		@do = @{ $do[0] } if ref $do[0];
		@do = "SELECT indextable.alter('totals_$fact', filter => " . pick(q(''), q(''), '$f$' . pick(@filters) . '$f$') . ')' if chance(0.1);
		sequence($s, grep { $do[0] ne 'BEGIN' || !/^CALL/ } @do) if @do;
		sleep rand(0.15);
	}
}

1;
