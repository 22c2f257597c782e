# Pages of random data: every type that a key can have, with ties, in both directions, under random keys and
# conditions, arrays and several keys among them, while rows come, go and change between the pages. Each page is what
# plain SQL gives after the last entry of the page before, or before the first one of a page; and an entry that was there
# all the time is seen once. lookup() finds the rows of the same keys.
#
#   SEED        what the run is made from; default: the time. It is printed; the same seed makes the same run.
#   ROUNDS      how often each index table is paged through in each direction, with each size of pages; default 1

use strict;
use warnings;
use utf8;
use Encode;
use FindBin;
use lib $FindBin::RealBin;
use JSON::PP;
use Oracle;
use PostgreSQL::Test::Cluster;
use Test::More;

my $seed = $ENV{SEED} || time() % 1000000;
my $rounds = $ENV{ROUNDS} || 1;
srand($seed);
note "SEED=$seed";

my $node = new_server('query');
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION indextable;
CREATE TYPE colour AS ENUM ('red', 'green', 'a "blue", one');
CREATE TYPE pair AS (x int, y text);
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN shade AS colour;
SQL
my $citext = $node->safe_psql('postgres', q(SELECT count(*) FROM pg_available_extensions WHERE name = 'citext'));
$node->safe_psql('postgres', 'CREATE EXTENSION citext') if $citext;
my $icu = $node->safe_psql('postgres', q(SELECT count(*) FROM pg_collation WHERE collname = 'en-x-icu'));

# Values by type, as text. Those after undef are no values of look-ups.
my %pool = (
	'text' => [ 'a', 'b', '', 'ab', 'abc', 'B', 'ä', "a'b", 'a\\b', '{"x": 1}', 'a b', ' a' ],
	'text COLLATE "C"' => [ 'a', 'b', '', 'ab', 'abc', 'abd', 'ac', 'B', 'ä', "a\nb", 'zz', "\x7f", 'aä' ],
	'varchar(4)' => [ 'a', 'b', 'ab', 'abcd', '' ],
	'varchar(9) COLLATE "C"' => [ 'a', 'b', 'ab', 'abcd', '', 'ac' ],
	'char(4)' => [ 'a', 'b', 'ab', 'abcd', '' ],
	'char(4) COLLATE "C"' => [ 'a', 'b', 'ab', 'a b', 'abcd', '' ],
	'name' => [ 'a', 'b', 'A', 'ab' ],
	'"char"' => [ 'a', 'b', '', 'Z' ],
	'int' => [ -5, 0, 1, 2, 3, 2147483647 ],
	'smallint' => [ -5, 0, 1, 2 ],
	'bigint' => [ -5, 0, 1, '9223372036854775807' ],
	'oid' => [ 0, 1, '4294967295' ],
	'numeric' => [ '1', '1.0', '1.00', '-2.5', '1e30', '0', undef, 'NaN', 'Infinity' ],
	'numeric(8,2)' => [ '1', '1.25', '-2.5', '0' ],
	'real' => [ '0.1', '-0', '0', '1e30', '3', undef, 'NaN', '-Infinity' ],
	'double precision' => [ '0.1', '0.30000000000000004', '0.3', '-0', '0', '1e300', undef, 'NaN', 'Infinity' ],
	'boolean' => [ 'true', 'false' ],
	'uuid' => [ map { sprintf '%08d-0000-4000-8000-000000000000', $_ } 1 .. 5 ],
	'bytea' => [ '\x', '\x00', '\x0001', '\xff', '\x61' ],
	'bit(3)' => [ '000', '101', '111' ],
	'varbit' => [ '0', '00', '101', '' ],
	'inet' => [ '10.0.0.1', '10.0.0.1/8', '::1', '10.0.0.2' ],
	'cidr' => [ '10.0.0.0/8', '10.1.0.0/16', '::/0' ],
	'macaddr' => [ '08:00:2b:01:02:03', '08:00:2b:01:02:04' ],
	'jsonb' => [ '1', '1.0', '"a"', '{"b": 1, "a": [1]}', '[]', 'true' ],
	'pg_lsn' => [ '0/0', '16/B374D848', '0/1' ],
	'tsvector' => [ 'a:1 b:2', 'b', 'a:1A' ],
	'date' => [ '2024-01-31', '2023-12-01', '0099-01-01', undef, 'infinity', '0044-03-15 BC' ],
	'time' => [ '01:02:03', '01:02:03.000001', '24:00' ],
	'timetz' => [ '01:02:03+00', '02:02:03+01', '01:02:03-08:30' ],
	'timestamp' => [ '2024-01-31 01:02:03', '2024-01-31 01:02:03.5', '2023-01-01 00:00', undef, '-infinity' ],
	'timestamptz' => [ '2024-01-31 01:02:03+00', '2024-01-31 01:02:03.5+02', '2023-01-01 00:00+00', undef, 'infinity' ],
	'interval' => [ '1 mon', '30 days', '720:00:00', '-1 day', '1 day 02:03:04.5' ],
	'money' => [ '1.50', '-2.00', '1000.00' ],
	'colour' => [ 'red', 'green', 'a "blue", one' ],
	'pair' => [ '(1,a)', '(1,)', '(2,"b c")' ],
	'positive' => [ 1, 2, 3 ],
	'shade' => [ 'red', 'green' ],
	'int[]' => [ '{}', '{1,2}', '{1}', '[2:3]={1,2}' ],
	'text[]' => [ '{}', '{a,"b,c"}', '{NULL}' ],
	'int4range' => [ 'empty', '[1,5)', '[1,)' ],
	($citext ? (citext => [ 'a', 'A', 'b', 'AB', 'ab' ]) : ()),
	($icu ? ('text COLLATE "en-x-icu"' => [ 'a', 'A', 'b', 'B', 'ä', 'ab' ]) : ()));

sub literal { return "'" . $_[0] =~ s/'/''/gr . "'"; }
sub one_of { return $_[ rand @_ ]; }

my $session = session($node);
my $json = JSON::PP->new->utf8(0)->allow_nonref;

# run SQL: what it returns; dies of errors
sub run
{
	my $answer = decode('UTF-8', $session->query(encode('UTF-8', $_[0])));
	die "$_[0]\n$answer" if $answer =~ /^ERROR/m;
	return $answer;
}

# ---- Index tables of key v and n over fact tables of each type, and of other shapes.

my @tables;
my $number = 0;
foreach my $type (sort keys %pool)
{
	my $t = "f$number";
	my ($maintenance, $strategy) = ($number % 5 == 4 ? 'async' : 'transactional', (qw(normalized partial denormalized))[ $number % 3 ]);
	my $partitions = $type !~ /bit|money|tsvector/ && rand() < 0.2 ? 3 : 0;    # these cannot be hashed
	my $include = $strategy eq 'partial' ? "ARRAY['\@extra']" : 'NULL';
	run("CREATE TABLE $t (p1 int, p2 text COLLATE \"C\", v $type NOT NULL, n int NOT NULL, extra text, doc jsonb, PRIMARY KEY (p2, p1))"
		  . ($number % 4 == 1 ? " PARTITION BY HASH (p1)" : ''));
	run("CREATE TABLE ${t}_$_ PARTITION OF $t FOR VALUES WITH (MODULUS 2, REMAINDER $_)") for $number % 4 == 1 ? (0, 1) : ();
	run("SELECT indextable.create('i$number', '$t', '{\@v, \@n}', '$strategy', $include, maintenance => '$maintenance', document => 'doc', partitions => $partitions)");
	push @tables, { name => "i$number", fact => $t, type => $type, maintenance => $maintenance, pool => $pool{$type}, columns => [qw(v n p2 p1)] };
	$number++;
}

# an array's elements
run('CREATE TABLE m (p1 int, p2 text COLLATE "C", n int NOT NULL, doc jsonb, PRIMARY KEY (p2, p1))');
run("SELECT indextable.create('tags', 'm', ARRAY['tags[*] COLLATE \"C\" AS v', '\@n'])");
push @tables, { name => 'tags', fact => 'm', type => 'text COLLATE "C"', maintenance => 'transactional', pool => [qw(a b ab abc c d)], columns => [qw(v n p2 p1)], tags => 1 };
# a primary-key column in the key; one key field
run('CREATE TABLE k (p1 int, p2 text COLLATE "C", v int NOT NULL, n int NOT NULL, extra text, doc jsonb, PRIMARY KEY (p2, p1))');
run("SELECT indextable.create('kp', 'k', '{\@v, \@p1, \@n}')");
run("SELECT indextable.create('kv', 'k', '{\@v}')");
push @tables, { name => 'kp', fact => 'k', type => 'int', maintenance => 'transactional', pool => [ 1 .. 4 ], columns => [qw(v p1 n p2)] },
  { name => 'kv', fact => 'k', type => 'int', maintenance => 'transactional', pool => [ 1 .. 4 ], columns => [qw(v p2 p1)] };
# unique
run('CREATE TABLE u (p1 int, p2 text COLLATE "C", v int NOT NULL, n int NOT NULL, extra text, doc jsonb, PRIMARY KEY (p2, p1), UNIQUE (v, n))');
run("SELECT indextable.create('uq', 'u', '{\@v, \@n}', is_unique => true)");
push @tables, { name => 'uq', fact => 'u', type => 'int', maintenance => 'transactional', pool => [ 1 .. 4 ], columns => [qw(v n)], unique => 1 };

my $row = 0;

# fill TABLE, N: inserts rows
sub fill
{
	my ($t, $n) = @_;
	my @all = grep { defined } @{ $t->{pool} };
	for (1 .. $n)
	{
		$row++;
		my @key = ($row, literal(one_of('x', 'y', 'ä|"')));
		my $n = $t->{unique} ? $row : int rand 4;
		if ($t->{tags})
		{
			my $tags = $json->encode([ map { one_of(@all) } 0 .. rand 4 ]);
			run("INSERT INTO m VALUES ($key[0], $key[1], $n, jsonb_build_object('tags', " . literal($tags) . '::jsonb))');
		}
		else
		{
			run("INSERT INTO $t->{fact} VALUES ($key[0], $key[1], " . literal(one_of(@all)) . ", $n, 'e$row', jsonb_build_object('i', $row))");
		}
	}
	return;
}

# change TABLE, LAST: something that happens between pages, perhaps to the last entry of the page
sub change
{
	my ($t, $last) = @_;
	my $some = 'p1 IN (SELECT p1 FROM ' . $t->{fact} . ' ORDER BY random() LIMIT 2)';
	$some = "p1 = $last->{p1}" if $last && rand() < 0.4;
	my $what = int rand 6;
	fill($t, 2) if $what <= 1;
	run("DELETE FROM $t->{fact} WHERE $some") if $what == 2;
	run("UPDATE $t->{fact} SET n = n + " . ($t->{unique} ? 100000 : 1) . " WHERE $some") if $what == 3;
	run("UPDATE $t->{fact} SET v = " . literal(one_of(grep { defined } @{ $t->{pool} })) . " WHERE $some") if $what == 4 && !$t->{tags} && !$t->{unique};
	run("UPDATE $t->{fact} SET p1 = p1 + 1000000 WHERE $some") if $what == 5;
	run('SELECT indextable.drain()') if $t->{maintenance} eq 'async';
	return;
}

# as_sql TABLE, COLUMN: an expression that can be compared. The server has no operators for domains over enums.
sub as_sql { return $_[0]{type} eq 'shade' && $_[1] eq 'v' ? 'v::colour' : $_[1]; }

# values_of TABLE, COLUMN: values of look-ups, and how they are written in JSON and in SQL
sub values_of
{
	my ($t, $column) = @_;
	return (sub { $_[0] }, sub { $_[0] }, 0 .. 4) if $column ne 'v';
	my @values;
	foreach my $value (@{ $t->{pool} }) { last if !defined $value; push @values, $value; }
	my ($type, $collation) = $t->{type} =~ /^(.*?)( COLLATE .*)?$/;
	$type = 'colour' if $type eq 'shade';
	return (sub { return $t->{type} eq 'jsonb' ? $_[0] : $json->encode("$_[0]") }, sub { '(' . literal($_[0]) . "::$type" . ($collation // '') . ')' }, @values);
}

# any_of TABLE, COLUMN: one value, or an array, in JSON; and the same as plain SQL
sub any_of
{
	my ($t, $column) = @_;
	my ($as_json, $as_literal, @values) = values_of($t, $column);
	my $value = one_of(@values);
	my $name = as_sql($t, $column);
	return ($as_json->($value), "$name = " . $as_literal->($value)) if rand() < 0.5 || ($column eq 'v' && $t->{type} eq 'jsonb');
	my @some = map { one_of(@values) } 1 .. rand 4;
	my @json = map { $as_json->($_) } @some;
	splice @json, rand(@json + 1), 0, 'null' if rand() < 0.2;
	return ('[' . join(', ', @json) . ']', '(' . join(' OR ', 'false', map { "$name = " . $as_literal->($_) } @some) . ')');
}

# some_key TABLE, NUMBER: a random key of so many columns, or several keys, and the same as plain SQL
sub some_key
{
	my ($t, $n) = @_;
	my (@json, @sql);
	for (1 .. (rand() < 0.3 ? 1 + int rand 5 : 1))
	{
		my (%key, @where);
		foreach my $column (@{ $t->{columns} }[ 0 .. $n - 1 ]) { ($key{$column}, $where[@where]) = any_of($t, $column); }
		push @json, '{' . join(', ', map { "\"$_\": $key{$_}" } keys %key) . '}';
		push @sql, '(' . join(' AND ', @where) . ')';
	}
	my $several = @json > 1 || rand() < 0.1;
	return ($several ? '[' . join(', ', @json) . ']' : $json[0], '(' . join(' OR ', @sql) . ')');
}

# restriction TABLE: a random key and condition, as arguments and as plain SQL
sub restriction
{
	my ($t) = @_;
	my ($key, $condition, @where) = ('{}', undef);
	my $column = 'v';
	if (rand() < 0.5)
	{
		my $n = $t->{columns}[1] !~ /^p/ && rand() < 0.3 ? 2 : 1;
		($key, $where[0]) = some_key($t, $n);
		$column = $t->{columns}[$n] // 'p2';
		return ($key, undef, @where) if $n == 2 || $column eq 'p2' || rand() < 0.4;
	}
	my ($next_json, $next_sql, @next) = values_of($t, $column);
	my $kind = rand();
	my ($a, $b) = (one_of(@next), one_of(@next));
	my $op = one_of(qw(= < <= > >=));
	if ($kind < 0.2) { return ($key, undef, @where); }
	elsif ($kind < 0.3 && $column eq 'v' && $t->{type} =~ /^(text|varchar|char)/ && $t->{type} !~ /\[/)
	{
		my $prefix = substr $a, 0, rand 3;
		$condition = qq({"v": {"begins_with": ) . $json->encode($prefix) . '}}';
		push @where, 'starts_with(v::text, ' . literal($prefix) . ')';
	}
	elsif ($kind < 0.4 && !($column eq 'v' && $t->{type} eq 'jsonb'))
	{
		my ($equal, $sql) = any_of($t, $column);
		$condition = qq({"$column": {"=": $equal}});
		push @where, $sql;
	}
	elsif ($kind < 0.6)
	{
		$condition = qq({"$column": {"$op": ) . $next_json->($a) . '}}';
		push @where, as_sql($t, $column) . " $op " . $next_sql->($a);
	}
	elsif ($kind < 0.8)
	{
		$condition = qq({"$column": {"between": [) . $next_json->($a) . ', ' . $next_json->($b) . ']}}';
		push @where, as_sql($t, $column) . ' BETWEEN ' . $next_sql->($a) . ' AND ' . $next_sql->($b);
	}
	else
	{
		$condition = qq({"$column": {">": ) . $next_json->($a) . ', "<=": ' . $next_json->($b) . '}}';
		push @where, as_sql($t, $column) . ' > ' . $next_sql->($a), as_sql($t, $column) . ' <= ' . $next_sql->($b);
	}
	return ($key, $condition, @where);
}

# page_through TABLE, DESCENDING, SIZE: '', or what is wrong
sub page_through
{
	my ($t, $descending, $size) = @_;
	my ($key, $condition, @where) = restriction($t);
	my @columns = @{ $t->{columns} };
	my $direction = $descending ? ' DESC' : '';
	my $order = join ', ', map { as_sql($t, $_) . $direction } @columns;
	my $texts = join ', ', map { "'$_', $_\::text" } @columns;
	my $where = join ' AND ', @where, 'true';
	my $what = "$t->{name} ($t->{type}): key $key, condition " . ($condition // 'none') . ($descending ? ', descending' : '') . ", pages of $size";
	my $id = 'md5(row(' . join(', ', @columns) . ')::text)';
	my %types = (v => $t->{type} eq 'shade' ? 'colour' : $t->{type} =~ s/ COLLATE.*//r, n => 'int', p1 => 'int', p2 => 'text');
	my $arguments = "'$t->{name}', " . literal($key) . ', ' . (defined $condition ? literal($condition) : 'NULL')
	  . ', descending => ' . ($descending ? 'true' : 'false') . ", page_size => $size, with_document => true";
	my %there = map { $_ => 1 } split /\n/, run("SELECT $id FROM $t->{name} i WHERE $where");
	my (%seen, $cursor, $last);
	my $pages = 0;
	my $limit_order = { 0 => $order, 1 => join(', ', map { as_sql($t, $_) . ($descending ? '' : ' DESC') } @columns) };
	# page CURSOR, PLACE, PREVIOUS: the rows of a page and what plain SQL has there
	my $page = sub {
		my ($from_cursor, $place, $previous) = @_;
		my $beyond = !$place ? 'true' : '(' . join(', ', map { as_sql($t, $_) } @columns) . ') ' . (!$descending != !$previous ? '<' : '>')
		  . ' (' . join(', ', map { literal($place->{$_}) . "::$types{$_}" } @columns) . ')';
		my $from = ', cursor => ' . literal($from_cursor // '') . ($previous ? ', previous => true' : '');
		my $answer = run(<<"SQL");
WITH page AS (SELECT row_number() OVER () AS r, entry, document, cursor FROM indextable.query($arguments$from)),
	plain AS (SELECT row_number() OVER (ORDER BY $order) AS r, x.*, (SELECT f.doc FROM $t->{fact} f WHERE (f.p1, f.p2) = (x.p1, x.p2)) AS document
		FROM (SELECT to_jsonb(i) - 'doc' AS entry, $id AS id, i.* FROM $t->{name} i WHERE $where AND $beyond ORDER BY $limit_order->{$previous} LIMIT $size) x)
SELECT jsonb_build_object('same', page.entry::text = plain.entry::text AND page.document = plain.document, 'id', id, 'p1', p1, 'page', page.entry,
	'plain', plain.entry, 'cursor', cursor, 'place', jsonb_build_object($texts))
FROM page FULL JOIN plain USING (r) ORDER BY r
SQL
		return map { $json->decode($_) } split /\n/, $answer;
	};
	# Entries that all can see come from the index alone, and those that are written from now on do not.
	run("VACUUM $t->{name}") if rand() < 0.5;
	while ($pages++ < 1000)
	{
		my @lines = $page->($cursor, $last, 0);
		foreach my $line (@lines)
		{
			return "$what, page $pages: " . $json->encode($line) if !$line->{same};
			return "$what, page $pages: twice " . $json->encode($line) if $seen{ $line->{id} }++ && $there{ $line->{id} };
		}
		last if !@lines;
		$cursor = $lines[-1]{cursor};
		$last = $lines[-1]{place};
		change($t, $lines[-1]) if rand() < 0.5;
		if (rand() < 0.4)
		{
			# the page before some entry of this one; and without a cursor, the last page of all
			my $line = rand() < 0.9 ? one_of(@lines) : {};
			foreach my $wrong (grep { !$_->{same} } $page->($line->{cursor}, $line->{place}, 1))
			{
				return "$what, before page $pages: " . $json->encode($wrong);
			}
		}
		my %now = map { $_ => 1 } split /\n/, run("SELECT $id FROM $t->{name} i WHERE $where");
		delete $there{$_} for grep { !$now{$_} } keys %there;
	}
	return "$what: no end" if $pages > 1000;
	my @missed = grep { !$seen{$_} } keys %there;
	return @missed ? "$what: missed " . @missed : '';
}

# look_up TABLE: '', or what is wrong with the rows of a random key
sub look_up
{
	my ($t) = @_;
	my ($key, $where) = some_key($t, $t->{columns}[1] !~ /^p/ && rand() < 0.5 ? 2 : 1);
	my $order = join ', ', map { as_sql($t, $_) } @{ $t->{columns} };
	my $wrong = run(<<"SQL");
WITH ours AS (SELECT row_number() OVER () AS r, p1, p2, doc FROM indextable.lookup(NULL::$t->{fact}, '$t->{name}', @{[ literal($key) ]})),
	documents AS (SELECT row_number() OVER () AS r, lookup AS doc FROM indextable.lookup('$t->{name}', @{[ literal($key) ]})),
	plain AS (SELECT row_number() OVER (ORDER BY place) AS r, p1, p2
		FROM (SELECT p1, p2, min(place) AS place FROM (SELECT p1, p2, row_number() OVER (ORDER BY $order) AS place FROM $t->{name} i WHERE $where) e GROUP BY 1, 2) x)
SELECT count(*) FROM ours FULL JOIN plain USING (r) FULL JOIN documents USING (r)
WHERE (ours.p1, ours.p2) IS DISTINCT FROM (plain.p1, plain.p2) OR ours.doc IS DISTINCT FROM documents.doc
SQL
	return $wrong eq '0' ? '' : "$t->{name} ($t->{type}): look-up of $key: $wrong rows are wrong";
}

run("SET client_encoding = 'UTF8'; SET TimeZone = 'UTC'; SET lc_monetary = 'C'; SELECT setseed(" . $seed / 1000000 . ')');
foreach my $t (@tables)
{
	my @wrong;
	eval {
		fill($t, 40);
		run('SELECT indextable.drain()') if $t->{maintenance} eq 'async';
		for my $round (1 .. $rounds)
		{
			foreach my $size (1, 2, 17, 100)
			{
				push @wrong, grep { $_ ne '' } page_through($t, $_, $size) for 0, 1;
				push @wrong, grep { $_ ne '' } look_up($t) for 1 .. 4;
			}
		}
		1;
	} or push @wrong, $@;
	is(encode('UTF-8', join("\n", @wrong)), '', "$t->{name}: $t->{type}");
}
$session->finish;
$node->stop;
done_testing();
