# What plain_random.pl queries: fact tables of random shapes with random documents, index tables over them, what changes
# them, and the functions and triggers that run a query in the midst of a change. All follows from the seed.

package World;

use strict;
use warnings;
use utf8;
use JSON::PP;
use Exporter 'import';
our @EXPORT = qw(pick chance between shuffled literal field same_key plain set_up dml ddl kept_ddl batch_settings new_world insert_rows %FIELD);

sub pick { return $_[ int(rand(@_)) ]; }
sub chance { return rand() < $_[0]; }
sub between { return $_[0] + int(rand($_[1] - $_[0] + 1)); }
sub shuffled { my %at = map { $_ => rand() } @_; return sort { $at{$a} <=> $at{$b} } @_; }
sub literal { return defined $_[0] ? "'" . $_[0] =~ s/'/''/gr . "'" : 'NULL'; }

my $json = JSON::PP->new->canonical->allow_nonref;

# The fields of documents: path, type, values of look-ups, and the field spec if the path is not enough. What is dirty
# has values that the cast refuses. sql: the field is an expression. lax: values that only some of the ways to write an expression treat alike.
our %FIELD = (
	k => { path => ['k'], pool => [qw(a b c d 1 true ä), '', '{"x": 1}', '[1, 2]', 'null'] },
	t => { path => ['t'], pool => [qw(Genoa Oslo Rome Genua)] },
	kc => { path => ['k'], spec => 'k COLLATE "C" AS kc', collate => 'C', pool => [qw(a b c B ä 1)] },
	kv => { path => ['k'], spec => 'k::varchar(3) AS kv', type => 'varchar(3)', pool => [qw(a b tru 1)] },
	kb => { path => ['t'], spec => 't::char(5) AS kb', type => 'char(5)', pool => [qw(Genoa Oslo Rome)] },
	tj => { path => ['t'], spec => 't::jsonb AS tj', type => 'jsonb', pool => [ '"Genoa"', '"Oslo"', '1', 'null', '[]' ] },
	i => { path => ['i'], spec => 'i::int', type => 'int', pool => [ 0 .. 5, -1 ] },
	ib => { path => ['i'], spec => 'i::bigint AS ib', type => 'bigint', pool => [ 0 .. 5 ] },
	it => { path => ['i'], spec => 'i AS it', pool => [ 0 .. 5, '03' ] },
	n => { path => ['n'], spec => 'n::numeric', type => 'numeric', pool => [qw(1 1.0 1.00000000000000000001 1.5 2 -3 100 0)] },
	nf => { path => ['n'], spec => 'n::float8 AS nf', type => 'float8', pool => [qw(1 1.5 2 -3)] },
	n2 => { path => ['n'], spec => 'n::numeric(8,1) AS n2', type => 'numeric(8,1)', pool => [qw(1 1.5 1.3 2)] },
	d => { path => ['d'], spec => 'd::date', type => 'date', pool => [ map { "2024-01-0$_" } 1 .. 5 ] },
	ts => { path => ['ts'], spec => 'ts::timestamp', type => 'timestamp', pool => [ map { "2024-01-0$_ 10:00" } 1 .. 4 ] },
	tz => { path => ['ts'], spec => 'ts::timestamptz AS tz', type => 'timestamptz', pool => [ map { "2024-01-0$_ 10:00Z" } 1 .. 4 ] },
	b => { path => ['b'], spec => 'b::boolean', type => 'boolean', pool => [qw(true false)] },
	city => { path => [ 'o', 'city' ], spec => 'o.city', pool => [qw(Genoa Oslo x 7)] },
	zip => { path => [ 'o', 'zip' ], spec => 'o.zip::int', type => 'int', pool => [ 1 .. 4 ] },
	m => { path => ['m'], spec => 'm::int', type => 'int', dirty => 1, pool => [ 1 .. 4 ] },
	mn => { path => ['m'], spec => 'm::numeric AS mn', type => 'numeric', dirty => 1, pool => [qw(1 2 2.0 1.5 3 4)] },
	mb => { path => ['m'], spec => 'm::boolean AS mb', type => 'boolean', dirty => 1, pool => [qw(true false)] },
	mt => { path => ['m'], spec => 'm AS mt', pool => [ 1 .. 4, 'x', '1.5' ] },
	dd => { path => ['dd'], spec => 'dd::date', type => 'date', dirty => 1, pool => [ map { "2024-01-0$_" } 1 .. 4 ] },
	zero => { path => ['0'], spec => '"0" AS zero', lax => 1, pool => [qw(a b c)] },
	tags0 => { path => [ 'tags', '0' ], spec => 'tags[0] AS tags0', pool => [qw(red blue green)] },
	odd => { path => [ 'odd "name', "it's" ], spec => q("odd \"name"."it's" AS odd), pool => [qw(p q r)] },
	ue => { path => ['ü'], spec => '"ü" AS ue', pool => [ 'ä', 'ö', 'o' ] },
	l => { path => ['l'], dirty => 1, text => 1, pool => [ 'x' x 20, 'y' x 900, 'y' x 2300 ] },
	u => { path => ['u'], pool => [ map { "u$_" } 1 .. 40 ] },
	tag => { path => ['tags'], spec => 'tags[*] AS tag', multi => 1, pool => [qw(red blue green 1 true)] },
	tagi => { path => ['nums'], spec => 'nums[*]::int AS num', multi => 1, type => 'int', pool => [ 1 .. 5 ] },
	item => { path => ['items'], spec => 'items[*].name AS item', multi => 1, sub => 'name', pool => [qw(nut bolt)] },
	itemq => { path => ['items'], spec => 'items[*].q::int AS itemq', multi => 1, sub => 'q', type => 'int', pool => [ 1 .. 3 ] },
	low => { path => ['t'], sql => q(lower(doc ->> 't')), spec => q((lower(doc ->> 't')) AS low), pool => [qw(genoa oslo rome), ''] },
	half => { path => ['i'], sql => q((doc ->> 'i')::int / 2), spec => q(((doc ->> 'i')::int / 2) AS half), type => 'int', pool => [ 0 .. 2 ] },
	note => { column => 'note', spec => '@note', pool => [qw(n0 n1 n2)] },
	v => { column => 'v', spec => '@v', type => 'int', pool => [ 0 .. 4 ] },
	id => { column => 'id', spec => '@id', type => 'int', pool => [ 1 .. 60 ] },
	r => { column => 'r', spec => '@r', pool => [qw(s t n h)] },
);
for my $name (keys %FIELD) { $FIELD{$name}{name} = $name; $FIELD{$name}{spec} //= $name; $FIELD{$name}{type} //= 'text'; }
sub field { return $FIELD{ $_[0] }; }

# ---- documents

# by how sparse documents are: how many fields are missing, and how many of the others are odd: JSON null, of another type, no
# array, an empty one
my %missing = (0 => 0, 1 => 0.04, 2 => 0.3);
my %odd = (0 => 0, 1 => 0.06, 2 => 0.2);

# value FIELD-like member: what a document has there
sub member
{
	my ($w, $name) = @_;
	my $odd = chance($odd{ $w->{sparse} });
	if ($name eq 'k') { return $odd ? pick(1, JSON::PP::true, undef, { x => 1 }, [ 1, 2 ], '', 'null') : pick(qw(a a b b c d B ä 1)); }
	if ($name eq 't') { return $odd ? pick(1, undef, [], {}, [ 'Genoa' ]) : pick(qw(Genoa Genoa Genoa Oslo Rome), 'town ' . between(1, 9)); }
	if ($name eq 'i') { return $odd ? pick('2', '03', ' 4 ', undef) : between(-1, 5); }
	if ($name eq 'n') { return $odd ? pick('2.00', '1e2', undef, 'NaN') : pick(1, \'1.0', \'1.50', 2, -3, 0, \'1.25', 100); }
	if ($name eq 'd') { return $odd ? pick(undef, '2024-01-02T05:06:07Z') : '2024-01-0' . between(1, 5); }
	if ($name eq 'ts') { return $odd ? undef : '2024-01-0' . between(1, 4) . pick(chance($w->{zoneless}) ? (' 10:00', 'T10:00:00') : (), ' 10:00:00Z', ' 10:00+02', 'T10:00:00-0530'); }
	if ($name eq 'b') { return $odd ? pick('t', 'yes', 'off', undef) : pick(JSON::PP::true, JSON::PP::false); }
	if ($name eq 'o') { return $odd ? pick('scalar', undef, [], 7, { city => { a => 1 } }, { city => undef, zip => undef }) : { (chance(0.9) || !$w->{sparse} ? (city => pick(qw(Genoa Oslo x), 7)) : ()), zip => pick(1, 2, '3', 4) }; }
	if ($name eq 'm') { return chance(0.7) ? between(1, 4) : pick('x', \'1.5', \'1.0', \'2.0', \'3.00', '2', '1', undef, [1], ['2', 3], JSON::PP::true, JSON::PP::false, '99999999999'); }
	if ($name eq 'dd') { return chance(0.8) ? '2024-01-0' . between(1, 4) : pick('4 January 2024', '01/02/2024', 'x', undef, 'infinity'); }
	if ($name eq '0') { return pick(qw(a b c)); }
	if ($w->{sets} && $name =~ /^(tags|nums|items)$/)
	{
		my %seen;
		my @set = grep { !$seen{$_}++ } map { $name eq 'nums' ? between(1, 5) : pick(qw(red blue green), chance(0.05) && $name eq 'tags' ? 1 : ()) } 1 .. between(0, 4);
		return $name eq 'items' ? [ map { { name => $_, q => between(1, 3) } } @set ] : \@set;
	}
	if ($name eq 'tags' && $w->{strings}) { return [ map { pick(qw(red blue green)) } 1 .. between(0, 4) ]; }
	if ($name eq 'tags') { return $odd && !$w->{arrays} ? pick('red', undef, 1, { red => 1 }, JSON::PP::true) : [ map { pick(qw(red blue green), $w->{sparse} ? (undef, 1, JSON::PP::true, ['red'], { a => 1 }) : ()) } 1 .. between($w->{sparse} ? 0 : 1, 4) ]; }
	if ($name eq 'nums') { return $odd ? pick(3, '2', undef, []) : [ map { pick(1 .. 5, '3', $w->{sparse} ? undef : ()) } 1 .. between($w->{sparse} ? 0 : 1, 3) ]; }
	if ($name eq 'items') { return $odd ? pick({ name => 'nut' }, 'nut', [ [ { name => 'nut' } ] ], undef) : [ map { { (chance(0.9) ? (name => pick(qw(nut bolt), undef)) : ()), (chance(0.9) ? (q => pick(1 .. 3, '2')) : ()) } } 1 .. between(0, 3) ]; }
	if ($name eq 'odd "name') { return $odd ? 'p' : { "it's" => pick(qw(p q r)) }; }
	if ($name eq 'ü') { return pick('ä', 'ö', 'o', $odd ? undef : ()); }
	if ($name eq 'l') { return pick('x' x 20, 'y' x 900, chance(0.3) ? 'y' x 2300 : 'x', chance(0.1) ? join('', map { chr(97 + int(rand(26))) } 1 .. 4000) : 'z'); }
	if ($name eq 'u') { return 'u' . $w->{unique}++; }
	die $name;
}

sub encode_document
{
	my ($value) = @_;
	return $$value if ref $value eq 'SCALAR';
	return '{' . join(', ', map { $json->encode("$_") . ': ' . encode_document($value->{$_}) } sort keys %$value) . '}' if ref $value eq 'HASH';
	return '[' . join(', ', map { encode_document($_) } @$value) . ']' if ref $value eq 'ARRAY';
	return $json->encode($value);
}

sub document
{
	my ($w) = @_;
	return pick('NULL', map { literal($_) } '[]', '["a", "b"]', '"a"', '5', 'null', '{}', '["red", {"k": "a"}]') if $w->{sparse} && chance(0.04);
	my %doc;
	foreach my $name (qw(k t i n d ts b o m dd 0 tags nums items ü l u), 'odd "name')
	{
		my $rare = $name =~ /^(dd|0|ü|l|odd "name|m)$/;
		$doc{$name} = member($w, $name) unless $rare ? chance(0.5) : chance($missing{ $w->{sparse} });
	}
	return literal(encode_document(\%doc));
}

# ---- tables

# new_world SEED: what its tables are; nothing is made yet
sub new_world
{
	my ($seed) = @_;
	my $w = { seed => $seed, sparse => pick(0, 1, 1, 2, 2, 2), arrays => chance(0.4), strings => chance(0.5), zoneless => pick(0, 0, 0.005, 1), unique => 1, rows => pick(40, 80, 150), indexes => [], facts => {} };
	my $number = 0;
	foreach my $fact ('f', 'g')
	{
		my $shape = pick(qw(plain plain composite deferrable deferrable hash range list));
		my @pk = $shape eq 'list' || $shape eq 'composite' ? pick([qw(r id)], [qw(id r)]) : ['id'];
		$w->{facts}{$fact} = { name => $fact, shape => $shape, pk => $pk[0], last => 0, indexes => [], totals => [], leaves => [] };
		index_table($w, $w->{facts}{$fact}) for 1 .. between(3, 6);
		if (chance(0.5)) { index_table($w, $w->{facts}{$fact}, @$_) for @{ pick([ ['tag'], ['k'], ['t'] ], [ ['k', 'i'], ['t', 'i'], ['tag', 'i'] ], [ ['tag', 'k'], ['t', 'k'] ]) }; }
		totals_table($w, $w->{facts}{$fact}) for 1 .. between(0, 2);
	}
	$w->{rls} = chance(0.3);
	$w->{sets} = chance(0.4);    # no array has an element twice
	$w->{check} = $w->{arrays} && chance(0.7);
	return $w;
}

# columns of a table of the fact tables' shape, in some order; gone is dropped afterwards
sub columns
{
	my ($default) = @_;
	my @columns = ('id int NOT NULL', 'r text NOT NULL', 'doc jsonb', 'note text', 'v int');
	@columns = shuffled(@columns) if chance(0.5);
	splice @columns, between(0, 3), 0, 'gone int' if chance(0.4);
	return @columns;
}

sub make_table
{
	my ($name, $rest, $constraint) = @_;
	my @columns = columns();
	return ("CREATE TABLE $name (" . join(', ', @columns, $constraint ? $constraint : ()) . ") $rest", grep({ $_ } "@columns" =~ /gone/ ? "ALTER TABLE $name DROP COLUMN gone" : ''));
}

sub fact_sql
{
	my ($w, $f) = @_;
	my ($name, $shape) = @$f{qw(name shape)};
	my $pk = 'PRIMARY KEY (' . join(', ', @{ $f->{pk} }) . ')';
	return make_table($name, chance(0.2) ? 'WITH (fillfactor = 50)' : '', $pk) if $shape eq 'plain' || $shape eq 'composite';
	return make_table($name, '', "$pk DEFERRABLE" . pick('', ' INITIALLY DEFERRED')) if $shape eq 'deferrable';
	my @sql;
	if ($shape eq 'hash')
	{
		@sql = make_table($name, 'PARTITION BY HASH (id)', $pk);
		for my $i (0 .. 2) { push @sql, make_table("${name}_$i", ''), "ALTER TABLE $name ATTACH PARTITION ${name}_$i FOR VALUES WITH (MODULUS 3, REMAINDER $i)"; }
		$f->{leaves} = [ map { [ "${name}_$_", $name, "FOR VALUES WITH (MODULUS 3, REMAINDER $_)" ] } 0 .. 2 ];
	}
	elsif ($shape eq 'range')
	{
		@sql = (make_table($name, 'PARTITION BY RANGE (id)', $pk),
			"CREATE TABLE ${name}_0 PARTITION OF $name FOR VALUES FROM (MINVALUE) TO (20)",
			make_table("${name}_1", 'PARTITION BY HASH (id)'),
			make_table("${name}_1a", ''), "ALTER TABLE ${name}_1 ATTACH PARTITION ${name}_1a FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
			"CREATE TABLE ${name}_1b PARTITION OF ${name}_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
			"ALTER TABLE $name ATTACH PARTITION ${name}_1 FOR VALUES FROM (20) TO (50)",
			"CREATE TABLE ${name}_2 PARTITION OF $name DEFAULT");
		$f->{leaves} = [ [ "${name}_0", $name, 'FOR VALUES FROM (MINVALUE) TO (20)' ], [ "${name}_1a", "${name}_1", 'FOR VALUES WITH (MODULUS 2, REMAINDER 0)' ], [ "${name}_2", $name, 'DEFAULT' ] ];
	}
	else
	{
		@sql = (make_table($name, 'PARTITION BY LIST (r)', $pk),
			make_table("${name}_s", ''), "ALTER TABLE $name ATTACH PARTITION ${name}_s FOR VALUES IN ('s', 't')",
			make_table("${name}_n", 'PARTITION BY RANGE (id)'),
			"CREATE TABLE ${name}_n1 PARTITION OF ${name}_n FOR VALUES FROM (MINVALUE) TO (30)", make_table("${name}_n2", ''),
			"ALTER TABLE ${name}_n ATTACH PARTITION ${name}_n2 DEFAULT", "ALTER TABLE $name ATTACH PARTITION ${name}_n FOR VALUES IN ('n')",
			"CREATE TABLE ${name}_d PARTITION OF $name DEFAULT");
		$f->{leaves} = [ [ "${name}_s", $name, q(FOR VALUES IN ('s', 't')) ], [ "${name}_n1", "${name}_n", 'FOR VALUES FROM (MINVALUE) TO (30)' ], [ "${name}_d", $name, 'DEFAULT' ] ];
	}
	return @sql;
}

# index_table WORLD, FACT, FIELD…: another one over it, with this key
sub index_table
{
	my ($w, $f, @fields) = @_;
	my @scalars = sort grep { !$FIELD{$_}{multi} } keys %FIELD;
	my @wanted = qw(k k t t i n d b city note v id r kc u);
	my (%used, @key);
	push @key, pick(qw(tag tag tagi item item itemq)) if chance(0.3);
	if (!@key || chance(0.6))
	{
		for (1 .. pick(1, 1, 1, 2, 2, 3)) { push @key, chance(0.6) ? pick(@wanted) : pick(@scalars); }
	}
	@key = reverse @key if chance(0.3);

	# Some come in the order of another one.
	my @others = grep { @{ $_->{key} } > 1 } @{ $f->{indexes} };
	if (@fields) { @key = @fields; }
	elsif (@others && chance(0.25)) { my $other = pick(@others)->{key}; @key = (pick(qw(k t i n tag)), @$other[ 1 .. $#$other ]); }
	@key = grep { !$used{$_}++ } @key;
	my $multi = 0;
	@key = grep { !$FIELD{$_}{multi} || !$multi++ } @key;
	# Another field of the same element comes after it, or is included.
	my ($element) = grep { $FIELD{$_}{sub} } @key;
	my ($same, $where) = $element && !@fields ? ($element eq 'item' ? 'itemq' : 'item', pick(qw(key key include none))) : ('', '');
	$used{$same}++;
	splice @key, between(1, scalar @key), 0, $same if $where eq 'key';
	my $i = { name => "$f->{name}_i" . $w->{number}++, fact => $f->{name}, key => \@key, include => [] };
	my @arguments;
	if (chance(0.45))
	{
		$i->{include} = [ grep { !$used{$_}++ } map { pick(@scalars) } 1 .. between(1, 4) ];
		@{ $i->{include} } = grep { $_ ne 'id' && $_ ne 'r' } @{ $i->{include} };
	}
	push @{ $i->{include} }, $same if $where eq 'include';
	# What is skipped is skipped because of one field, or of several.
	if (!@fields && chance(0.35)) { splice @{ chance(0.7) ? \@key : $i->{include} }, 0, 0, grep { !$used{$_}++ } pick(qw(m m mn mb dd)); }
	my $dirty = grep { $FIELD{$_}{dirty} || $_ eq 'zero' } @key, @{ $i->{include} };
	my $list = sub { return 'ARRAY[' . join(', ', map { literal($FIELD{$_}{spec}) } @_) . ']' };
	my $hint = chance(0.3);
	push @arguments, 'include => ' . ($hint ? "'{\@ctid}' || " : '') . $list->(@{ $i->{include} }) . '::text[]' if $hint || @{ $i->{include} };
	push @arguments, q(strategy => 'denormalized') if !$hint && !@{ $i->{include} } && chance(0.2);
	if (chance(0.15))
	{
		$i->{filter} = pick('v > 1', "doc ? 'k'", "(doc ->> 'k') = 'a'", 'v IS NOT NULL', "doc ->> 't' IS NOT NULL", "note <> 'n1'");
		push @arguments, 'filter => ' . literal($i->{filter});
	}
	push @arguments, "on_mismatch => 'skip'" if $dirty || chance(0.15);
	if (chance(0.1)) { push @arguments, "maintenance => 'async'"; $i->{async} = 1; }
	elsif (grep { $_ eq 'u' } @key and chance(0.7)) { push @arguments, 'is_unique => true'; }
	push @arguments, 'partitions => ' . between(1, 3) if $FIELD{ $key[0] }{type} !~ /jsonb/ && chance(0.15);
	push @arguments, 'sparse => true' if !grep({ /^is_unique/ } @arguments) && chance(0.25);
	$i->{sql} = "SELECT indextable.create('$i->{name}', '$f->{name}', " . join(', ', $list->(@key), @arguments) . ')';
	push @{ $f->{indexes} }, $i;
	return $i;
}

# totals_table WORLD, FACT: a table of totals over it; sums are of fields whose equal values are the same
sub totals_table
{
	my ($w, $f) = @_;
	my @exact = grep { my $x = $FIELD{$_}; !$x->{multi} && !$x->{text} && ($x->{type} // 'text') !~ /json|char\(5\)|float|^numeric$/ } sort keys %FIELD;
	my %used;
	my @key = grep { !$used{$_}++ } map { chance(0.6) ? pick(qw(k t i b v note city)) : pick(@exact) } 1 .. pick(0, 1, 1, 2, 2, 3);
	splice @key, between(0, $#key + 1), 0, pick(qw(tag tagi item itemq)) if chance(0.3);
	%used = ();
	my @sums = grep { !$used{$_}++ } map { pick(qw(i ib n2 zip v), chance(0.3) ? 'm' : ()) } 1 .. between(0, 3);
	my $t = { name => "$f->{name}_s" . $w->{number}++, fact => $f->{name}, key => \@key, sums => \@sums };
	my $list = sub { return 'ARRAY[' . join(', ', map { literal($_) } @_) . ']::text[]' };
	my @arguments = ($list->(map { $FIELD{$_}{spec} } @key), 'totals => ' . $list->('count(*)', map { pick('sum', 'sum', 'avg', 'count') . "($FIELD{$_}{spec})" } @sums));
	push @arguments, 'filter => ' . literal($t->{filter} = pick('v > 1', "doc ? 'k'", 'v IS NOT NULL')) if chance(0.15);
	push @arguments, "on_mismatch => 'skip'";
	$t->{sql} = "SELECT indextable.create('$t->{name}', '$f->{name}', " . join(', ', @arguments) . ')';
	push @{ $f->{totals} }, $t;
	return $t;
}

# insert_rows WORLD, FACT, COUNT
sub insert_rows
{
	my ($w, $f, $count) = @_;
	my @rows;
	for (1 .. $count)
	{
		my $id = ++$f->{last};
		push @rows, "($id, '" . pick(qw(s t n h)) . "', " . document($w) . ", " . (chance(0.1) ? 'NULL' : "'n" . between(0, 3) . "'") . ', ' . (chance(0.1) ? 'NULL' : between(0, 4)) . ')';
	}
	return "INSERT INTO $f->{name} (id, r, doc, note, v) VALUES " . join(",\n", @rows);
}

# set_up WORLD, MODES: the statements that make it
sub set_up
{
	my ($w, @modes) = @_;
	my @sql = ("CREATE TABLE p (id int PRIMARY KEY, k text, t text, n numeric, i int)",
		"INSERT INTO p SELECT x, (ARRAY['a', 'b', 'c', NULL, '1', 'zz'])[1 + x % 6], (ARRAY['Genoa', 'Oslo', 'Rome', 'x'])[1 + x % 4], x % 5, x % 7 FROM generate_series(0, 14) x",
		'CREATE TABLE q (id int PRIMARY KEY, k text)', q(INSERT INTO q SELECT x, 'q' || x FROM generate_series(0, 9) x));
	foreach my $f (map { $w->{facts}{$_} } 'f', 'g')
	{
		push @sql, fact_sql($w, $f);
		my @rows = (insert_rows($w, $f, $w->{rows}));
		push @sql, @rows if chance(0.5);
		push @sql, map { $_->{sql} } @{ $f->{indexes} }, @{ $f->{totals} };
		push @sql, @rows if !grep { $_ eq $rows[0] } @sql;
		push @sql, map { users_index($_) } grep { chance(0.4) } @{ $f->{indexes} }, @{ $f->{indexes} };
		push @sql, "ALTER TABLE $f->{name} ADD CHECK (doc IS NULL OR jsonb_typeof(doc -> 'tags') = 'array')" if $w->{check};
		push @sql, "ALTER TABLE $f->{name} ADD CHECK (doc ->> 't' IS NOT NULL)" if !$w->{sparse} && chance(0.5);
		push @sql, "CREATE INDEX ON $f->{name} ((doc ->> 'k'))" if chance(0.2);
		push @sql, "CREATE INDEX ON $f->{name} USING gin (doc jsonb_path_ops)" if chance(0.1);
		push @sql, "CREATE TRIGGER \"!a\" BEFORE INSERT OR UPDATE OR DELETE ON $f->{name} FOR EACH ROW EXECUTE FUNCTION tg()", "CREATE TRIGGER a_after AFTER INSERT OR UPDATE OR DELETE ON $f->{name} FOR EACH ROW EXECUTE FUNCTION tg()",
		  "CREATE TRIGGER zz_after AFTER INSERT OR UPDATE OR DELETE ON $f->{name} FOR EACH ROW EXECUTE FUNCTION tg()", "CREATE TRIGGER b_stmt BEFORE INSERT OR UPDATE OR DELETE ON $f->{name} FOR EACH STATEMENT EXECUTE FUNCTION tg()",
		  "CREATE TRIGGER \"!stmt\" AFTER INSERT OR UPDATE OR DELETE ON $f->{name} FOR EACH STATEMENT EXECUTE FUNCTION tg()", "CREATE TRIGGER z_stmt AFTER INSERT OR UPDATE OR DELETE ON $f->{name} FOR EACH STATEMENT EXECUTE FUNCTION tg()",
		  "CREATE CONSTRAINT TRIGGER late AFTER INSERT OR UPDATE OR DELETE ON $f->{name} DEFERRABLE INITIALLY " . pick('DEFERRED', 'IMMEDIATE') . ' FOR EACH ROW EXECUTE FUNCTION tg()';
		push @sql, "CREATE VIEW v_$f->{name} AS SELECT id, r, v, doc ->> 'k' AS k, doc ->> 't' AS t, (doc ->> 'i')::int AS i, doc FROM $f->{name}" . pick('', " WHERE doc ->> 't' = 'Genoa'"),
		  "CREATE VIEW w_$f->{name} WITH (security_barrier) AS SELECT * FROM $f->{name} WHERE v > 0";
		my $volatility = pick('STABLE', 'VOLATILE');
		for my $m (@modes)
		{
			push @sql, "CREATE FUNCTION count_$f->{name}_$m(x text) RETURNS bigint STABLE LANGUAGE sql AS \$\$SELECT count(*) FROM $f->{name} WHERE doc ->> 'k' = x\$\$",
			  "CREATE FUNCTION rows_$f->{name}_$m(x text) RETURNS SETOF $f->{name} STABLE LANGUAGE sql AS \$\$SELECT * FROM $f->{name} WHERE doc ->> 't' = x\$\$",
			  "CREATE FUNCTION vcount_$f->{name}_$m(x text) RETURNS bigint VOLATILE LANGUAGE sql AS \$\$SELECT count(*) FROM $f->{name} WHERE doc ->> 'k' = x\$\$",
			  "CREATE FUNCTION pcount_$f->{name}_$m(x text) RETURNS text $volatility LANGUAGE plpgsql AS \$\$DECLARE c bigint; s text; BEGIN SELECT count(*) INTO c FROM $f->{name} WHERE doc ->> 'k' = x;
	SELECT string_agg(id::text, ',' ORDER BY id) INTO s FROM $f->{name} WHERE doc ->> 't' = (SELECT t FROM p WHERE p.id = c % 4) AND (doc ->> 'i')::int IS NOT NULL; RETURN c || ':' || coalesce(s, ''); END\$\$";
		}
		push @sql, policies($f) if $w->{rls};
	}
	push @sql, 'ALTER TABLE f ADD FOREIGN KEY (v) REFERENCES q ON UPDATE CASCADE ON DELETE ' . pick('CASCADE', 'SET NULL') . pick('', ' DEFERRABLE INITIALLY DEFERRED'),
	  'CREATE TRIGGER zz_after AFTER UPDATE OR DELETE ON q FOR EACH ROW EXECUTE FUNCTION tg()';
	push @sql, 'GRANT USAGE ON SCHEMA w TO plain_reader', 'GRANT SELECT ON f, g, p, q, v_f, v_g, w_f, w_g TO plain_reader', 'GRANT UPDATE ON f, g TO plain_reader';
	push @sql, 'VACUUM ANALYZE f', 'VACUUM ANALYZE g', 'VACUUM ANALYZE p', map({ my $f = $_; map { "VACUUM ANALYZE $_->{name}" } @{ $w->{facts}{$f}{indexes} } } 'f', 'g') if chance(0.7);
	return @sql;
}

# policies FACT: what plain_reader may see of a table, and a function of the user that fails where it is shown anything else
sub policies
{
	my ($f) = @_;
	my $name = $f->{name};
	my @of = shuffled('v % 2 = 0', "doc ->> 't' = 'Genoa'", "doc ->> 'k' = current_setting('t.text')", "doc ->> 'k' IN (SELECT p.k FROM w.p)", 'EXISTS (SELECT FROM w.q WHERE q.id = v)', "doc ->> 't' = (SELECT p.t FROM w.p WHERE p.id = 0)",
		"(doc ->> 'n')::numeric = 1", "r <> 's'", "doc @> '{\"tags\": [\"red\"]}'", "doc ->> 'k' IN ('a', 'b', '1')", 'true');
	my $restrictive = chance(0.4) ? shift @of : undef;
	my @permissive = @of[ 0 .. pick(0, 0, 1) ];
	my $all = '(' . join(' OR ', @permissive) . ')' . ($restrictive ? " AND $restrictive" : '');
	$f->{guard} = "guard_$name";
	return ("ALTER TABLE $name ENABLE ROW LEVEL SECURITY", (map { "CREATE POLICY p$_ ON $name USING ($permissive[$_])" } 0 .. $#permissive), $restrictive ? "CREATE POLICY r ON $name AS RESTRICTIVE USING ($restrictive)" : (),
		"CREATE FUNCTION guard_$name(id int, r text, doc jsonb, v int) RETURNS boolean " . pick('IMMUTABLE', 'STABLE', 'VOLATILE') . ' PARALLEL UNSAFE COST ' . pick('0.0001', '100') . " LANGUAGE plpgsql AS \$\$ BEGIN\n"
		  . "IF current_user = 'plain_reader' AND ($all) IS NOT TRUE THEN RAISE 'row % of $name is hidden', id; END IF; RETURN true; END\$\$");
}

# The functions that a world needs first. tg() runs the query of the setting t.q in the trigger that t.at names, between
# the statements t.dml, and collects what it gives in t.log.
# users_index INDEX: puts an index of some kind on an index table
sub users_index { my ($index) = @_; return "SELECT add_index('$index->{name}', " . between(0, 999) . ')'; }

sub plain
{
	return <<'SQL';
CREATE FUNCTION run(q text) RETURNS text VOLATILE LANGUAGE plpgsql AS $$
DECLARE s text;
BEGIN
	EXECUTE 'SELECT count(*) || '':'' || coalesce(string_agg(x::text, '';'' ORDER BY x::text COLLATE "C"), '''') FROM (' || q || ') x' INTO s;
	RETURN s;
END $$;
CREATE FUNCTION stable_run(q text) RETURNS text STABLE LANGUAGE plpgsql AS $$
DECLARE s text;
BEGIN
	EXECUTE 'SELECT count(*) || '':'' || coalesce(string_agg(x::text, '';'' ORDER BY x::text COLLATE "C"), '''') FROM (' || q || ') x' INTO s;
	RETURN s;
END $$;
CREATE FUNCTION add_index(t regclass, n int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	names text[] := ARRAY(SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = t AND attnum > 0 AND NOT attisdropped ORDER BY attnum);
	ways text[] := ARRAY['(%1$s)', '(%1$s, %2$s)', 'USING hash (%1$s)', 'USING brin (%1$s)', '(%1$s) WHERE %2$s IS NOT NULL', '(coalesce(%1$s::text, %3$L), %2$s)', '(%1$s DESC) INCLUDE (%2$s)',
		'USING gin ((%1$s COLLATE "default") gin_trgm_ops)', '((%1$s COLLATE "default") text_pattern_ops)', 'USING gist ((%1$s COLLATE "default") gist_trgm_ops)'];
BEGIN
	EXECUTE format('CREATE INDEX ON %4$s ' || ways[1 + n % cardinality(ways)], names[1 + n / 10 % cardinality(names)], names[1 + n / 70 % cardinality(names)], '', t);
	EXECUTE format('ANALYZE %s', t);
EXCEPTION WHEN OTHERS THEN NULL;
END $$;
CREATE FUNCTION digest_of(q text, cmp text, mode text) RETURNS text VOLATILE LANGUAGE plpgsql AS $$
DECLARE
	x record;
	lines text[] := '{}';
BEGIN
	PERFORM set_config('indextable.planner', mode, true);
	FOR x IN EXECUTE replace(q, '{m}', mode) LOOP lines := lines || x::text; END LOOP;
	IF cmp <> 'list' THEN lines := ARRAY(SELECT line FROM unnest(lines) line ORDER BY line COLLATE "C"); END IF;
	RETURN CASE cmp WHEN 'count' THEN cardinality(lines)::text ELSE md5(lines::text) END;
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE;
END $$;
CREATE FUNCTION differing(queries text[], cmps text[], mode text) RETURNS SETOF bigint VOLATILE LANGUAGE sql AS $$
	SELECT n - 1 FROM unnest(queries, cmps) WITH ORDINALITY AS u(q, cmp, n) WHERE digest_of(q, cmp, 'off') <> digest_of(q, cmp, mode)
$$;
CREATE FUNCTION tg() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	dml text := current_setting('t.dml', true);
	c refcursor := 'held';
BEGIN
	IF current_setting('t.at', true) = TG_NAME AND pg_trigger_depth() <= current_setting('t.depth')::int THEN
		IF dml <> '' AND pg_trigger_depth() = 1 AND TG_LEVEL = 'STATEMENT' THEN EXECUTE dml; END IF;
		PERFORM set_config('t.log', current_setting('t.log') || E'\n' || TG_OP || ' ' || run(current_setting('t.q')), true);
		IF current_setting('t.cursor') = 'on' AND NOT EXISTS (SELECT FROM pg_cursors WHERE name = 'held') THEN OPEN c FOR EXECUTE current_setting('t.q'); END IF;
	END IF;
	IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
	RETURN NEW;
END $$;
CREATE FUNCTION loop_rows(q text, dml text, at int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	x record;
	n int := 0;
BEGIN
	FOR x IN EXECUTE q LOOP
		n := n + 1;
		RETURN NEXT x::text;
		IF n = at THEN EXECUTE dml; END IF;
	END LOOP;
	RETURN NEXT 'then ' || run(q);
END $$;
CREATE FUNCTION cursor_rows(q text, dml text, at int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	x record;
	n int := 0;
	c refcursor;
BEGIN
	OPEN c FOR EXECUTE q;
	LOOP
		IF n = at THEN BEGIN EXECUTE dml; IF at % 2 = 0 THEN RAISE division_by_zero; END IF; EXCEPTION WHEN division_by_zero THEN RETURN NEXT 'undone'; END; END IF;
		FETCH c INTO x;
		EXIT WHEN NOT FOUND;
		n := n + 1;
		RETURN NEXT x::text;
	END LOOP;
	RETURN NEXT 'then ' || run(q);
END $$;
SQL
}

# ---- changes

sub where
{
	my ($f) = @_;
	my $id = between(1, $f->{last});
	return pick("id = $id", "id = $id", "id BETWEEN $id AND $id + 6", 'id % 7 = ' . between(0, 6), "id % 5 = 1 AND r = '" . pick(qw(s t n h)) . "'", 'v = ' . between(0, 4) . ' AND id % 3 = 1');
}

# same_key WORLD, FACT, [ID]: a row with a primary key that another has, or had: refused, unless the other is gone, or the
# primary key is checked later
sub same_key
{
	my ($w, $f, $id) = @_;
	$id //= between(1, $f->{last});
	return "INSERT INTO $f->{name} (id, r, doc, note, v) VALUES ($id, '" . pick(qw(s t n h)) . "', " . document($w) . ", 'same', 1)";
}

# dml WORLD: a statement whose effect does not depend on plans; not on which rows a query of the fact table finds first
sub dml
{
	my ($w, $f) = @_;
	$f //= $w->{facts}{ pick('f', 'g') };
	my ($name, $where) = ($f->{name}, where($f));
	my $change = pick("doc || '{\"k\": \"" . pick(qw(a b c)) . "\"}'", "doc - 'k'", "doc - 't'", "jsonb_set(doc, '{t}', '\"" . pick(qw(Genoa Oslo)) . "\"')", "doc || '{\"i\": " . between(0, 5) . ", \"n\": 1.0}'",
		"doc || '{\"tags\": [\"" . pick(qw(red blue)) . "\", \"new\"]}'", document($w), document($w));
	$change = "CASE jsonb_typeof(doc) WHEN 'object' THEN $change ELSE doc END" if $change =~ /^(doc|jsonb)/;
	return insert_rows($w, $f, between(1, 6)) if chance(0.2);
	return same_key($w, $f) if chance($f->{shape} eq 'deferrable' ? 0.25 : 0.06);
	my $rowid = between(1, $f->{last});
	return pick(
		"UPDATE $name SET doc = $change WHERE $where", "UPDATE $name SET doc = $change WHERE $where",
		"UPDATE $name SET doc = $change, v = " . between(0, 4) . " WHERE $where",
		"UPDATE $name SET note = 'n" . between(0, 3) . "' WHERE $where",
		"UPDATE $name SET r = '" . pick(qw(s t n h)) . "' WHERE $where",
		"UPDATE $name SET id = id + 1000 WHERE id = $rowid", "UPDATE $name SET id = id - 1000 WHERE id > 1000",
		($f->{shape} eq 'deferrable' ? ("UPDATE $name SET id = $rowid * 2 + 1 - id WHERE id IN ($rowid, $rowid + 1)", "UPDATE $name SET id = $rowid WHERE id = $rowid + 1") : ()),
		"DELETE FROM $name WHERE $where",
		"DELETE FROM $name WHERE id = $rowid",
		"INSERT INTO $name (id, r, doc, note, v) SELECT id + " . (2000 + between(0, 9) * 100) . ", r, $change, note, v FROM $name WHERE $where",
		"UPDATE q SET id = CASE id WHEN 4 THEN 10 ELSE 4 END WHERE id IN (4, 10)", 'UPDATE q SET k = k || 1 WHERE id < 3', ($name eq 'f' ? 'DELETE FROM q WHERE id = ' . between(0, 10) : ()), 'INSERT INTO q SELECT x FROM generate_series(0, 10) x ON CONFLICT DO NOTHING');
}

# ddl WORLD: statements; the first says whether they may be within a transaction
sub ddl
{
	my ($w) = @_;
	my $f = $w->{facts}{ pick('f', 'g') };
	my $name = $f->{name};
	my $i = pick(@{ $f->{indexes} });
	my $leaf = @{ $f->{leaves} } ? pick(@{ $f->{leaves} }) : undef;
	if ($leaf && chance(0.5))
	{
		my ($l, $parent, $bound) = @$leaf;
		my $other = "UPDATE $l SET doc = " . document($w) . " WHERE id % 5 = 2";
		return pick([ 1, "TRUNCATE $l" ], [ 1, "ALTER TABLE $parent DETACH PARTITION $l", "ALTER TABLE $parent ATTACH PARTITION $l $bound" ],
			[ 1, "ALTER TABLE $parent DETACH PARTITION $l", $other, "ALTER TABLE $parent ATTACH PARTITION $l $bound" ], [ 0, "ALTER TABLE $parent DETACH PARTITION $l", $other, "ALTER TABLE $parent ATTACH PARTITION $l $bound" ]);
	}
	my $n = $w->{number};
	return pick(
		[ 1, "SELECT indextable.drop('$i->{name}')", $i->{sql} ], [ 0, "DROP TABLE $i->{name}", $i->{sql} ],
		[ 1, index_table($w, $f)->{sql} ], [ 1, index_table($w, $f)->{sql} ], [ 1, users_index($i) ], [ 1, users_index($i) ],
		[ 1, "SELECT indextable.alter('$i->{name}', maintenance => 'async')" ], [ 1, "SELECT indextable.alter('$i->{name}', maintenance => 'transactional')" ],
		[ 1, "SELECT indextable.alter('$i->{name}', strategy => 'normalized')" ], [ 1, "SELECT indextable.alter('$i->{name}', include => ARRAY['" . $FIELD{ pick(qw(note n k)) }{spec} . "'])" ],
		[ 1, "SELECT indextable.alter('$i->{name}', filter => 'v > 2')" ], ($i->{sql} =~ /is_unique/ ? () : [ 1, "SELECT indextable.alter('$i->{name}', sparse => " . pick(qw(true false)) . ')' ]), [ 1, "SELECT indextable.alter('$i->{name}', filter => '')" ],
		[ 0, "CALL indextable.rebuild('$i->{name}')" ], [ 0, "SELECT indextable.drain()" ],
		[ 1, "ALTER TABLE $i->{name} RENAME TO renamed", "ALTER TABLE renamed RENAME TO $i->{name}" ],
		[ 1, "ALTER TABLE $name ADD COLUMN extra$n int DEFAULT 1" ], [ 1, "ALTER TABLE $name ADD COLUMN extra$n int", "ALTER TABLE $name DROP COLUMN extra$n" ],
		[ 1, "ALTER TABLE $name ALTER note TYPE varchar", "ALTER TABLE $name ALTER note TYPE text" ], [ 1, "TRUNCATE $name", insert_rows($w, $f, 30) ],
		[ 1, "ANALYZE $name", "ANALYZE $i->{name}" ], [ 0, "VACUUM ANALYZE $name", map { "VACUUM ANALYZE $_->{name}" } @{ $f->{indexes} } ], [ 0, "VACUUM $i->{name}" ], map({ [ 1, "CALL indextable.repair('$_->{name}')" ], [ 1, "SELECT indextable.drain('$name')" ] } @{ $f->{totals} }),
		[ 1, "DELETE FROM $name WHERE doc ->> 't' IS NULL OR doc ->> 'k' IS NULL" ],
		[ 1, "CREATE INDEX extra_$n ON $name ((doc ->> 't'))", "DROP INDEX extra_$n" ], [ 1, "TRUNCATE $name" ]);
}

# kept_ddl WORLD, FACT: statements that others may run while a transaction reads the fact table and its index tables; what is
# needed before, which no reader may see; and what ends it
sub kept_ddl
{
	my ($w, $f) = @_;
	my $name = $f->{name};
	my @leaf = grep { $_->[1] eq $name } @{ $f->{leaves} };
	my ($l, $parent, $bound) = @leaf ? @{ pick(@leaf) } : ();
	my $alter = sub { my $i = pick(@{ $f->{indexes} }); return "SELECT indextable.alter('$i->{name}', $_[0])" };
	my $field = literal(pick(qw(k t)));
	my (@before, @while, @after);
	for (1 .. 4)
	{
		push @while, pick(
			[ $alter->("maintenance => 'async'") ], [ $alter->("maintenance => 'async'") ], [ $alter->("maintenance => 'transactional'") ],
			[ $alter->("strategy => '" . pick(qw(normalized denormalized)) . "'") ], [ $alter->("include => ARRAY['" . $FIELD{ pick(qw(note n k)) }{spec} . "']") ],
			[ $alter->("filter => 'v > 2'") ], [ $alter->("filter => 'v > 2', populate => false") ], [ $alter->('sparse => ' . pick(qw(true false))) ], [ $alter->('sparse => ' . pick(qw(true false))) ],
			[ "ALTER TABLE $name DISABLE TRIGGER USER" ], [ "ALTER TABLE $name DISABLE TRIGGER USER" ], [ "ALTER TABLE $name ENABLE TRIGGER USER" ],
			[ index_table($w, $f)->{sql} ], [ "SELECT indextable.drop('" . pick(@{ $f->{indexes} })->{name} . "')" ],
			[ "ANALYZE $name" ], [ 'SELECT indextable.drain()' ]);
	}
	if (chance(0.4))
	{
		push @before, "DELETE FROM $name WHERE doc ->> $field IS NULL", "ALTER TABLE $name ADD CONSTRAINT kept CHECK (doc ->> $field IS NOT NULL) NOT VALID";
		splice @while, int(rand(@while + 1)), 0, [ "ALTER TABLE $name VALIDATE CONSTRAINT kept" ];
		push @after, "ALTER TABLE $name DROP CONSTRAINT IF EXISTS kept";
	}
	if (chance(0.3))
	{
		push @before, "UPDATE $name SET note = 'n0' WHERE note IS NULL";
		splice @while, int(rand(@while + 1)), 0, [ "ALTER TABLE $name ALTER note SET NOT NULL" ];
		splice @while, int(rand(@while + 1)), 0, [ "ALTER TABLE $name ALTER note DROP NOT NULL" ] if chance(0.5);
		push @after, "ALTER TABLE $name ALTER note DROP NOT NULL";
	}
	if ($l && chance(0.5))
	{
		push @before, "ALTER TABLE $parent DETACH PARTITION $l";
		splice @while, int(rand(@while + 1)), 0, [ "UPDATE $l SET doc = " . document($w) . ' WHERE id % 5 = 1', "ALTER TABLE $parent ATTACH PARTITION $l $bound" ];
		push @after, "ALTER TABLE $parent ATTACH PARTITION $l $bound";
	}
	return (\@before, \@while, [ @after, "ALTER TABLE $name ENABLE TRIGGER USER" ]);
}

# batch_settings: settings that change plans and no answers; but for those of the last line, which change both
sub batch_settings
{
	my ($version) = @_;
	my %s;
	$s{plan_cache_mode} = 'force_generic_plan' if chance(0.4);
	if (chance(0.25))
	{
		# Plans with parallel workers even of small tables.
		$s{$_} = 0 for qw(min_parallel_table_scan_size min_parallel_index_scan_size parallel_setup_cost parallel_tuple_cost);
		$s{max_parallel_workers_per_gather} = 2;
		$s{parallel_leader_participation} = 'off' if chance(0.3);
	}
	# With so few rows searches are merged only if fetches are expensive.
	$s{cpu_operator_cost} = 1 if chance(0.4);
	for (1 .. pick(0, 0, 1, 2, 4))
	{
		my ($name, @values) = @{ pick([qw(enable_seqscan off)], [qw(enable_hashjoin off)], [qw(enable_mergejoin off)], [qw(enable_nestloop off)], [qw(enable_hashagg off)], [qw(enable_sort off)], [qw(enable_material off)],
			[qw(enable_memoize off)], [qw(enable_partitionwise_join on)], [qw(enable_partitionwise_aggregate on)], [qw(enable_partition_pruning off)], [qw(work_mem 64kB)], [qw(from_collapse_limit 1)], [qw(join_collapse_limit 1)],
			[qw(geqo_threshold 2)], [qw(cursor_tuple_fraction 0.01)], [qw(plan_cache_mode force_generic_plan force_custom_plan)], [qw(constraint_exclusion on)], [qw(enable_incremental_sort off)],
			[qw(cpu_tuple_cost 100)], [qw(cpu_operator_cost 100)], [qw(random_page_cost 0)], [ $version < 16 ? 'force_parallel_mode' : 'debug_parallel_query', 'on' ], [qw(min_parallel_table_scan_size 0)], [qw(parallel_setup_cost 0)], [qw(parallel_tuple_cost 0)],
			[qw(DateStyle German SQL)], [qw(TimeZone Asia/Kolkata America/New_York)], [qw(IntervalStyle iso_8601)], [qw(extra_float_digits -3 0)], [qw(transform_null_equals on)], [qw(quote_all_identifiers on)]) };
		$s{$name} = pick(@values);
	}
	return map { "SET $_ = '$s{$_}'" } sort keys %s;
}

1;
