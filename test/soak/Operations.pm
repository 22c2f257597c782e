# What a writer does: row operations of every kind, as statements with parameters.
#
# An operation is a function that is told a writer and a fact table, and returns steps: each the text of a statement and
# its parameters, or { copy => text, rows => [...] }. To add one, add it to @operations with its weight; `if` says whether
# it applies, by category or fact table. Rows are counted by what the server says of the steps.

package Operations;

use strict;
use warnings;
use Model;
use Exporter 'import';
our @EXPORT = qw(operation trigger_plan REGION);

use constant REGION => 250;    # ids that a writer has for itself

my $columns = '(id, r, n, doc, note, x, b)';
my $i = '(g * 7919 + $3::int)';
my $values = "g, split_part(\$4, ',', 1 + g % 3), $i, soak.doc($i), 'n' || g % 3, soak.x($i), soak.b($i)";
my $rows = "SELECT $values FROM generate_series(\$1::int, \$2::int) g";

sub num { return int(rand(1000000)); }

# span: ids that a statement is about. Most in the region of the writer, so that not all of them meet always.
sub span
{
	my ($s, $fact, $most) = @_;
	my $n = rows_below($most // REGION);
	my $region = chance(0.85) ? $s->{number} : int(rand($s->{writers}));
	my $from = 1 + $region * REGION + int(rand(REGION - $n + 1));
	$from += pick(@{ $FACT{$fact}{offsets} }) if $FACT{$fact}{offsets};
	return ($from, $from + $n - 1);
}

# parts: three values of the column r, which are one most of the time
sub parts
{
	my ($fact) = @_;
	my @r = @{ $FACT{$fact}{r} };
	my $one = pick(@r);
	return chance(0.7) ? "$one,$one,$one" : join ',', map { pick(@r) } 1 .. 3;
}

sub part { return pick(@{ $FACT{ $_[0] }{r} }); }

# target: the fact table, or sometimes one of its partitions; ids; and r
sub target
{
	my ($s, $fact, $most) = @_;
	my $leaves = $FACT{$fact}{leaves};
	my ($from, $to) = span($s, $fact, $most);
	return ($fact, $from, $to, parts($fact)) if !$leaves || chance(0.75);
	my $leaf = pick(sort keys %$leaves);
	my $of = $leaves->{$leaf};
	return ($leaf, $from, $to, "$of,$of,$of") if $of !~ /^\d/;
	($from, $to) = map { $_ % 1000 + $of } $from, $to if $FACT{$fact}{offsets};
	return ($leaf, $from, $to, parts($fact));
}

sub conflict { return '(' . join(', ', @{ $FACT{ $_[0] }{pk} }) . ')'; }

# json: a document made here, for COPY
sub json
{
	my ($n) = @_;
	return sprintf '{"k": "k%d", "n": %d, "v": "v%d", "u": "c%d", "marks": ["c%d"], "tags": ["t%d", "t%d"], "items": [{"name": "m%d"}], "d": "2024-01-%d"}',
	  $n % 97, $n % 50, $n % 7, $n, $n, $n % 5, $n % 3, $n % 4, 10 + $n % 20;
}

# One value of u, or of marks, that others want, too.
my $hot = sub { my ($s, $f) = @_; my ($from) = span($s, $f, 1); [ "UPDATE $f SET doc = soak.doc(\$2::int) WHERE id = \$1", $from, between(1, 60) ] };

my @operations = (
	8 => { code => sub { my ($t, $from, $to, $r) = target(@_); [ "INSERT INTO $t $columns $rows ON CONFLICT DO NOTHING", $from, $to, num(), $r ] } },
	2 => { code => sub { my ($s, $f) = @_; [ "INSERT INTO $f $columns $rows", span($s, $f, 3), num(), parts($f) ] } },
	8 => { code => sub { my ($s, $f) = @_; [ "INSERT INTO $f $columns $rows ON CONFLICT " . conflict($f) . ' DO UPDATE SET doc = excluded.doc, note = excluded.note', span($s, $f), num(), parts($f) ] } },
	1 => { code => sub { my ($s, $f) = @_; [ "INSERT INTO $f AS t $columns $rows ON CONFLICT " . conflict($f) . ' DO UPDATE SET doc = t.doc WHERE t.note = excluded.note', span($s, $f), num(), parts($f) ] } },

	# the key, an included field, neither, other columns
	8 => { code => sub { my ($t, $from, $to) = target(@_); [ "UPDATE $t SET doc = soak.doc(id * 7919 + \$3::int) WHERE id BETWEEN \$1 AND \$2", $from, $to, num() ] } },
	3 => { code => sub { my ($t, $from, $to) = target(@_); [ qq(UPDATE $t SET doc = doc || '{"v": "w"}' WHERE id BETWEEN \$1 AND \$2 AND jsonb_typeof(doc) = 'object'), $from, $to ] } },
	3 => { code => sub { my ($s, $f) = @_; [ "UPDATE $f SET doc = doc || jsonb_build_object('other', \$3::int) WHERE id BETWEEN \$1 AND \$2 AND jsonb_typeof(doc) = 'object'", span($s, $f), num() ] } },
	2 => { code => sub { my ($s, $f) = @_; [ "UPDATE $f SET doc = jsonb_set(doc, '{tags}', '[\"t2\", \"t9\", \"t2\"]') WHERE id BETWEEN \$1 AND \$2 AND jsonb_typeof(doc) = 'object'", span($s, $f) ] } },
	3 => { code => sub { my ($t, $from, $to) = target(@_); [ "UPDATE $t SET note = 'n' || \$3::int % 3 WHERE id BETWEEN \$1 AND \$2", $from, $to, num() ] } },
	3 => { code => sub { my ($s, $f) = @_; [ "UPDATE $f SET x = soak.x(id + \$3::int), b = soak.b(id + \$3::int) WHERE id BETWEEN \$1 AND \$2", span($s, $f), num() ] } },
	1 => { code => sub { my ($s, $f) = @_; [ "UPDATE $f SET doc = doc WHERE id BETWEEN \$1 AND \$2", span($s, $f) ] } },
	1 => { code => sub { my ($s, $f) = @_; [ "UPDATE $f SET n = \$3::int + id * 7919 WHERE id BETWEEN \$1 AND \$2", span($s, $f, 20), num() ] } },

	# the primary key: of one row, back and forth, to another partition
	3 => { code => sub { my ($s, $f) = @_; my ($from) = span($s, $f, 1); my ($to) = span($s, $f, 1); [ "UPDATE $f SET id = \$2 WHERE id = \$1", $from, $to ] } },
	2 => { code => sub { my ($s, $f) = @_; [ "UPDATE $f SET id = id + 20000, doc = soak.doc(id + \$3::int) WHERE id BETWEEN \$1 AND \$2", span($s, $f), num() ], [ "UPDATE $f SET id = id - 20000 WHERE id > 20000 AND id < 40000" ] }, if => sub { $_[0] ne 'ranged' } },
	4 => { code => sub { my ($s, $f) = @_; [ "UPDATE $f SET r = \$3 WHERE id BETWEEN \$1 AND \$2", span($s, $f), part($f) ] }, if => sub { @{ $FACT{ $_[0] }{r} } > 1 } },
	2 => { code => sub { my ($s, $f) = @_; [ "UPDATE $f SET r = \$3, doc = soak.doc(id * 7919 + \$4::int) WHERE id BETWEEN \$1 AND \$2", span($s, $f), part($f), num() ] }, if => sub { @{ $FACT{ $_[0] }{r} } > 1 } },
	3 => { code => sub { my ($s, $f) = @_; my ($from, $to) = span($s, $f); my $by = pick(-1000, 1000, 9000); [ "UPDATE ranged SET id = id + \$3::int WHERE id BETWEEN \$1 AND \$2", $from, $to, $by ] }, if => sub { $_[0] eq 'ranged' } },
	1 => { code => sub { my ($s) = @_; my ($a, $b) = pick([ 'a', 'y' ], [ 'b', 'z' ]); ($a, $b) = @$a; ([ 'UPDATE soak.grp SET name = $2 WHERE name = $1', $a, $b ], [ 'UPDATE soak.grp SET name = $2 WHERE name = $1', $b, $a ]) }, if => sub { $_[0] eq 'pair' }, atomic => 1 },
	1 => { code => sub { my ($s, $f) = @_; [ "DELETE FROM $f WHERE id > 19000" ] } },

	4 => { code => sub { my ($t, $from, $to) = target(@_, 80); [ "DELETE FROM $t WHERE id BETWEEN \$1 AND \$2", $from, $to ] } },
	1 => { code => sub { my ($s, $f) = @_; [ "DELETE FROM $f WHERE id BETWEEN \$1 AND \$2 AND r = \$3", span($s, $f), part($f) ] } },
	4 => { atomic => 1, code => sub {
		my ($s, $f) = @_;
		my ($from, $to) = span($s, $f);
		my ($n, $r, $j) = (num(), part($f), 0);
		([ "DELETE FROM $f WHERE id BETWEEN \$1 AND \$2", $from, $to ],
		 { copy => "COPY $f $columns FROM STDIN", rows => [ map { my $m = $_ * 7919 + $n; join("\t", $_, $r, $m, json($m), 'n' . $m % 3, ($m % 90) / 8, sprintf('\\\\x%04x', $m % 900)) . "\n" } $from .. $to ] });
	} },
	3 => { code => sub {
		my ($s, $f) = @_;
		[ "MERGE INTO $f t USING ($rows) s $columns ON " . join(' AND ', map { "t.$_ = s.$_" } @{ $FACT{$f}{pk} })
		  . ' WHEN MATCHED AND s.id % 4 = 0 THEN DELETE WHEN MATCHED AND t.id % 4 = 1 THEN DO NOTHING WHEN MATCHED THEN UPDATE SET doc = s.doc, x = s.x'
		  . " WHEN NOT MATCHED THEN INSERT $columns VALUES (s.id, s.r, s.n, s.doc, s.note, s.x, s.b)", span($s, $f), num(), parts($f) ];
	} },
	2 => { code => sub { my ($s, $f) = @_; [ "WITH d AS (DELETE FROM $f WHERE id BETWEEN \$1 AND \$2 RETURNING *) INSERT INTO $f $columns SELECT id, r, n, doc, 'd', x, b FROM d ON CONFLICT DO NOTHING", span($s, $f) ] } },
	2 => { code => sub { my ($s, $f) = @_; my ($t, $from, $to) = target($s, $f, 20); [ "WITH d AS (DELETE FROM $t WHERE id BETWEEN \$1 AND \$2 RETURNING *) INSERT INTO $f $columns SELECT id + 1, \$3, n, doc, 'd', x, b FROM d", $from, $to, part($f) ] } },
	1 => { code => sub { my ($s, $f) = @_; [ "WITH u AS (UPDATE $f SET doc = soak.doc(id + \$3::int) WHERE id BETWEEN \$1 AND \$2 RETURNING *), d AS (DELETE FROM $f WHERE id BETWEEN \$2 + 1 AND \$2 + 5 RETURNING id) SELECT count(*) FROM u, d", span($s, $f, 40), num() ] } },

	# what a native unique index accepts: primary keys that shift, keys that go from row to row
	8 => { if => sub { $_[0] ne 'keyed' && enabled('unique') }, atomic => 1, code => sub {
		my ($s, $f) = @_;
		my ($from, $to) = span($s, $f, 60);
		my $by = between(1, 5);
		chance(0.5)
		  ? ([ "DELETE FROM $f WHERE id BETWEEN \$1 AND \$2", $from - $by, $from - 1 ], [ "UPDATE $f t SET id = t.id - \$3::int FROM (SELECT id FROM $f WHERE id BETWEEN \$1 AND \$2 ORDER BY id OFFSET 0) s WHERE s.id = t.id", $from, $to, $by ])
		  : ([ "DELETE FROM $f WHERE id BETWEEN \$1 AND \$2", $to + 1, $to + $by ], [ "UPDATE $f t SET id = t.id + \$3::int FROM (SELECT id FROM $f WHERE id BETWEEN \$1 AND \$2 ORDER BY id DESC OFFSET 0) s WHERE s.id = t.id", $from, $to, $by ]);
	} },
	4 => { code => $hot, if => sub { ($FACT{ $_[0] }{native} // '') eq 'u' } },
	1 => { code => $hot, if => sub { $_[0] =~ /listed|ranged|plain/ } },
	3 => { code => sub { my ($s, $f) = @_; my ($from, $to) = span($s, $f, 20); [ "WITH d AS (DELETE FROM $f WHERE id BETWEEN \$1 AND \$2 RETURNING *) INSERT INTO $f $columns SELECT id + 400, r, n, doc, note, x, b FROM d", $from, $to ] }, if => sub { $_[0] eq 'uniq' && enabled('unique') } },
	2 => { code => sub { my ($s, $f) = @_; my ($from) = span($s, $f, 1); my ($to) = span($s, $f, 1);
		[ "MERGE INTO uniq t USING (SELECT \$1::int AS id, NULL::jsonb AS doc UNION ALL SELECT \$2, (SELECT doc FROM uniq WHERE id = \$1)) s ON t.id = s.id WHEN MATCHED AND s.doc IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET doc = s.doc WHEN NOT MATCHED AND s.doc IS NOT NULL THEN INSERT (id, doc) VALUES (s.id, s.doc)", $from, $to ] }, if => sub { $_[0] eq 'uniq' && enabled('unique') } },

	0.3 => { code => sub { my ($s, $f) = @_; [ 'TRUNCATE ' . pick(@{ $FACT{$f}{truncate} }) ] }, if => sub { $FACT{ $_[0] }{truncate} && enabled('truncate') } },
	0.06 => { code => sub { my ($s, $f) = @_; [ "TRUNCATE $f" ] }, if => sub { enabled('truncate') } },
	1 => { code => sub { my ($s, $f) = @_; [ 'SELECT indextable.drain($1)', pick($f, $f, undef) ] }, if => sub { enabled('async') } },
	0.1 => { code => sub { my ($s, $f) = @_; [ "SELECT indextable.wait(index_table, '200ms') FROM indextable_internal.definition WHERE fact_table = '$f'::regclass AND maintenance = 'async' LIMIT 1" ] }, if => sub { enabled('async') } },
);

my (%applies, @facts);

# operation: the steps of one, and whether they belong together
sub operation
{
	my ($s, $fact) = @_;
	if (!@facts)
	{
		@facts = map { $s->{facts}{$_} ? ($s->{facts}{$_}, $_) : () } sort keys %FACT;
		for my $f (keys %FACT)
		{
			for (my $n = 0; $n < @operations; $n += 2)
			{
				my $o = $operations[ $n + 1 ];
				push @{ $applies{$f} }, $operations[$n], $o if !$o->{if} || $o->{if}->($f);
			}
		}
	}
	$fact //= weighted(@facts);
	my $o = weighted(@{ $applies{$fact} });
	return ($o->{atomic}, $o->{code}->($s, $fact));
}

# trigger_plan: the setting soak.act for a while
sub trigger_plan
{
	my @actions = qw(own own twice other columns delete delete_other reinsert undone undone);
	my $trigger = pick('a', 'a', 'z', 'b');
	push @actions, ('change') x 4, 'cancel' if $trigger eq 'b';
	push @actions, ($trigger eq 'b' ? 'take' : 'hand_on') x 5 if enabled('unique');
	return join ' ', $trigger, pick(@actions), num(), pick(1, 1, 2, 3);
}

1;
