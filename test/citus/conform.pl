# Index tables beside their shards do what those of one server do: the random tables, documents, statements and queries of
# test/tap/plain_random.pl, over fact tables that are distributed by a column with which each key begins, and of which some are
# partitioned by another. Each query, and each statement that writes or locks the rows that it finds, runs as two roles, for one of
# which no node uses index tables; and after each round of changes, of which some detach, attach or truncate partitions, every
# index table is what plain SQL makes of its fact table.
#
#   SEED, WORLDS    the first world, and how many; default: 1 and 6
#   ITEMS           how many queries and statements after each round of changes; default: 60

use strict;
use warnings;
use utf8;
use Encode;
use FindBin;
use lib $FindBin::RealBin;
use Cluster;
use Grammar;
use IPC::Open2;
use PostgreSQL::Test::Utils;
use Test::More;
use World;

my ($first, $worlds, $items) = ($ENV{SEED} // 1, $ENV{WORLDS} // 6, $ENV{ITEMS} // 60);
my @nodes = new_cluster('conform', coordinator_has_shards => 1, settings => [ 'citus.shard_count = 4', 'indextable.advice = off', 'client_min_messages = error', 'statement_timeout = 60s' ]);
my $c = $nodes[0];
my ($world, %total, %errors, %used, %unused);

# Settings count on the node that has a shard, which is asked as the same role.
my @modes = qw(off force);
sql($c, "CREATE ROLE as_$_ SUPERUSER LOGIN", "ALTER ROLE as_$_ SET indextable.planner = $_", "CREATE ROLE reader_$_ LOGIN", "ALTER ROLE reader_$_ SET indextable.planner = $_") for @modes;
is(sql($_, "SET ROLE as_off; SELECT count(*) FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = setrole WHERE setconfig::text LIKE '%indextable.planner%'"), '4', 'roles with other settings on ' . $_->name) for @nodes;

# ask NODE, ROLE, SCRIPT: what psql says
sub ask
{
	my ($node, $role, $script) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir . '/script.sql';
	open my $out, '>:encoding(UTF-8)', $file or die $!;
	print $out "\\pset fieldsep '\x1f'\n\\pset null '~'\n$script\n";
	close $out;
	my $output = '';
	IPC::Run::run([ 'psql', '-XAtq', '-d', $node->connstr('postgres') . " user=$role", '-f', $file ], '>', \$output, '2>', PostgreSQL::Test::Utils::tempdir . '/errors');
	return decode('UTF-8', $output);
}

# ---- what a world is on Citus

# distributed TABLE: the statement that creates an index table or a table of totals, with the distribution column first
sub distributed
{
	my ($t) = @_;
	my $sql = $t->{sql};
	$sql =~ s/'\@r'(, )?// if grep { $_ eq 'r' } @{ $t->{key} };
	$sql =~ s/ARRAY\[/ARRAY['\@r', /;
	$sql =~ s/, \]/]/;
	$sql =~ s/, (maintenance => 'async'|partitions => \d+)//g;
	$sql =~ s/'\{\@ctid\}' \|\| //;
	$sql =~ s/include => ARRAY\[\]::text\[\], //;
	$sql =~ s/, include => ARRAY\[\]::text\[\]//;
	# What is skipped is not recorded of shards, so that such index tables are not used.
	$sql =~ s/, on_mismatch => 'skip'// if !grep { $FIELD{$_}{dirty} || $FIELD{$_}{lax} || $t->{sums} && $_ eq 'n2' } @{ $t->{key} }, @{ $t->{include} // [] }, @{ $t->{sums} // [] };
	$t->{key} = [ 'r', grep { $_ ne 'r' } @{ $t->{key} } ];
	$t->{include} = [ grep { $sql =~ /include/ } @{ $t->{include} // [] } ];
	return $t->{sql} = $sql;
}

sub set_up_world
{
	my ($seed) = @_;
	srand($seed);
	$world = new_world($seed);
	sql($c, 'DROP SCHEMA IF EXISTS w CASCADE', 'CREATE SCHEMA w', 'GRANT USAGE ON SCHEMA w TO reader_off, reader_force');
	my @sql = ("CREATE TABLE p (id int PRIMARY KEY, k text, t text, n numeric, i int)", "SELECT create_reference_table('p')",
		"INSERT INTO p SELECT x, (ARRAY['a', 'b', 'c', NULL, '1', 'zz'])[1 + x % 6], (ARRAY['Genoa', 'Oslo', 'Rome', 'x'])[1 + x % 4], x % 5, x % 7 FROM generate_series(0, 14) x",
		'CREATE TABLE q (id int PRIMARY KEY, k text)', "SELECT create_reference_table('q')", q(INSERT INTO q SELECT x, 'q' || x FROM generate_series(0, 9) x));
	foreach my $f (map { $world->{facts}{$_} } 'f', 'g')
	{
		@$f{qw(shape pk)} = (pick(qw(composite hash)), pick([qw(r id)], [qw(id r)]));
		my @rows = insert_rows($world, $f, 3 * $world->{rows});
		push @sql, World::fact_sql($world, $f), "SELECT create_distributed_table('$f->{name}', 'r')";
		push @sql, @rows if chance(0.5);
		push @sql, map { distributed($_) } @{ $f->{indexes} }, @{ $f->{totals} };
		push @sql, @rows if !grep { $_ eq $rows[0] } @sql;
		push @sql, "ALTER TABLE $f->{name} ADD CHECK (doc IS NULL OR jsonb_typeof(doc -> 'tags') = 'array')" if $world->{check};
		push @sql, "CREATE INDEX ON $f->{name} ((doc ->> 'k'))" if chance(0.2);
		push @sql, "CREATE VIEW v_$f->{name} AS SELECT id, r, v, doc ->> 'k' AS k, doc ->> 't' AS t, (doc ->> 'i')::int AS i, doc FROM $f->{name}", "CREATE VIEW w_$f->{name} WITH (security_barrier) AS SELECT * FROM $f->{name} WHERE v > 0";
		push @sql, "GRANT SELECT ON $f->{name}, v_$f->{name}, w_$f->{name}, p, q TO reader_off, reader_force";
		push @sql, "ALTER TABLE $f->{name} ENABLE ROW LEVEL SECURITY", "CREATE POLICY seen ON $f->{name} TO reader_off, reader_force USING (" . pick('v % 2 = 0', "doc ->> 't' = 'Genoa'", 'true') . ')' if $world->{rls};
		push @sql, "ANALYZE $f->{name}";
	}
	my $answer = ask($c, 'as_off', join "\n", 'SET search_path = w, public;', map { "$_;\n\\if :ERROR\n\\echo '\@\@failed' :SQLSTATE :LAST_ERROR_MESSAGE\n\\endif" } @sql);
	my @failed = $answer =~ /^\@\@failed (.*)/mg;
	$total{'not set up'} += @failed;
	note "world $seed, not set up: $_" for @failed;
	foreach my $f (map { $world->{facts}{$_} } 'f', 'g')
	{
		my %there = map { $_ => 1 } split /\n/, sql($c, "SELECT relname FROM indextable.index_tables JOIN pg_class ON oid = index_table WHERE fact_table = 'w.$f->{name}'::regclass");
		foreach my $kind ('indexes', 'totals') { @{ $f->{$kind} } = grep { $there{ $_->{name} } } @{ $f->{$kind} }; }
		@{ $f->{indexes} } or $f->{indexes} = [ { name => 'none', key => ['r'], include => [] } ];
	}
	return;
}

# ---- the oracle

sub column_of { my ($field) = @_; my $f = $FIELD{$field}; return $f->{spec} =~ /AS (\w+)$/ ? $1 : $f->{column} // '"' . ($f->{sub} // $f->{path}[-1]) =~ s/"/""/gr . '"'; }

# value_in FIELD, DOCUMENT: by the one rule that defines every value
sub value_in
{
	my ($field, $doc) = @_;
	my $f = $FIELD{$field};
	return $f->{column} // $f->{sql} // ($f->{type} eq 'jsonb' ? "($doc #> " . Grammar::json_path(@{ $f->{path} }) . ')' : "($doc #>> " . Grammar::json_path(@{ $f->{path} }) . ")::$f->{type}");
}

# recompute TABLE: two queries that have to return the same, or none if some rows are skipped
sub recompute
{
	my ($t) = @_;
	my @fields = (@{ $t->{key} }, @{ $t->{include} // [] }, @{ $t->{sums} // [] });
	return if $t->{name} eq 'none' || grep { $FIELD{$_}{dirty} || $_ eq 'n2' && $t->{sums} } @fields or grep { $FIELD{$_}{multi} } @{ $t->{include} // [] };
	my ($multi) = grep { $FIELD{$_}{multi} } @fields;
	return if $multi && $t->{sums};
	my $from = "$t->{fact} f";
	my $elements = '';
	if ($multi)
	{
		my $array = 'doc #> ' . literal("{$FIELD{$multi}{path}[0]}");
		my @of = map { my $f = $FIELD{$_}; "(e #>> '{" . ($f->{sub} // '') . "}')::$f->{type} AS " . column_of($_) } grep { $FIELD{$_}{multi} } @fields;
		$elements = 'elements';
		$from .= ' CROSS JOIN LATERAL (SELECT ' . join(', ', @of, 'count(*) AS elements') . " FROM jsonb_array_elements(CASE coalesce(jsonb_typeof($array), 'null') WHEN 'array' THEN $array WHEN 'null' THEN '[]' ELSE jsonb_build_array($array) END) e GROUP BY " . join(', ', 1 .. @of) . ') e';
	}
	my %value = map { $_ => $FIELD{$_}{multi} ? 'e.' . column_of($_) : value_in($_, 'doc') } @fields;
	my $where = join ' AND ', defined $t->{filter} ? "($t->{filter})" : (), $t->{sums} ? 'true' : map { "$value{$_} IS NOT NULL" } @{ $t->{key} };
	if ($t->{sums})
	{
		my @summed = map { my ($how, $spec) = @$_; map { [ $_, $how ] } grep { $FIELD{$_}{spec} eq $spec } @{ $t->{sums} } } map { [ $_ =~ /^(\w+)\((.*)\)$/ ] } map { s/''/'/gr } ($t->{sql} =~ /totals => ARRAY\[(.*?)\]::text/)[0] =~ /'((?:sum|avg|count)\((?:[^*'][^']*)\))'/g;
		my (@native, @kept);
		foreach (@summed)
		{
			my ($field, $how) = @$_;
			push @native, "count($value{$field})", $how eq 'count' ? () : "coalesce(sum($value{$field}), 0)::text";
			push @kept, 'sum(count_' . column_of($field) . ')', $how eq 'count' ? () : 'sum(sum_' . column_of($field) . ')::text';
		}
		my @key = map { "($value{$_})::text COLLATE \"C\"" } @{ $t->{key} };
		my @columns = map { column_of($_) . '::text COLLATE "C"' } @{ $t->{key} };
		my $by = join ', ', 1 .. @key;
		return ('SELECT ' . join(', ', @key, 'count(*)', @native) . " FROM $from WHERE $where GROUP BY $by", 'SELECT ' . join(', ', @columns, 'sum(rows)', map { s/count_"(\w+)"/count_$1/r =~ s/sum_"(\w+)"/sum_$1/r } @kept) . " FROM $t->{name} GROUP BY $by HAVING sum(rows) <> 0");
	}
	my %key = map { $_ => 1 } @{ $t->{key} };
	my @columns = (map({ [ $value{$_}, column_of($_) ] } @{ $t->{key} }), map({ [ $_, $_ ] } grep { !$key{$_} } qw(r id)), map({ [ $value{$_}, column_of($_) ] } @{ $t->{include} }), $t->{sql} =~ /denormalized/ ? [ 'doc', 'doc' ] : (), $elements ? [ $elements, $elements ] : ());
	return ('SELECT ' . join(', ', map { "($_->[0])::text" } @columns) . " FROM $from WHERE $where", 'SELECT ' . join(', ', map { "$_->[1]::text" } @columns) . " FROM $t->{name}");
}

# right WHEN: the test that each index table has what plain SQL makes of its fact table, by copies that the server compares itself
sub right
{
	my ($when) = @_;
	my $script = join '', "SET indextable.planner = off;\n", map { "CREATE TEMP TABLE $_ AS SELECT * FROM w.$_;\n" } 'f', 'g';
	my $names = 0;
	foreach my $t (map { @{ $world->{facts}{$_}{indexes} }, @{ $world->{facts}{$_}{totals} } } 'f', 'g')
	{
		my ($native, $kept) = recompute($t) or next;
		$names++;
		$script .= "CREATE TEMP TABLE $t->{name} AS SELECT * FROM w.$t->{name};\nSELECT '\@\@$t->{name}', (SELECT count(*) FROM ($native EXCEPT ALL $kept) x), (SELECT count(*) FROM ($kept EXCEPT ALL $native) x);\n";
		$script .= "\\if :ERROR\n\\echo '\@\@$t->{name}' :LAST_ERROR_MESSAGE\n\\endif\n";
	}
	my @answers = ask($c, 'as_off', $script) =~ /^\@\@(.*)/mg;
	$total{'index tables compared'} += $names;
	is(join("\n", grep { !/\x1f0\x1f0$/ } @answers), '', "$when: $names index tables are what plain SQL makes of their fact tables") || diag join "\n", map { $_->{sql} } map { my $n = $_; grep { $n =~ /^\Q$_->{name}\E\b/ } map { @{ $world->{facts}{$_}{indexes} }, @{ $world->{facts}{$_}{totals} } } 'f', 'g' } grep { !/\x1f0\x1f0$/ } @answers;
	return;
}

# ---- what runs in both modes

# of_tenant QUERY: with a condition on the distribution column
sub of_tenant
{
	my ($q) = @_;
	return $q if !$q->{from} || $q->{from} =~ /\b(ONLY|TABLESAMPLE)\b/;
	my $a = $q->{alias} eq '' ? '' : "$q->{alias}.";
	my ($tenant) = map { /^\Q$a\Er (= '\w')$/ } @{ $q->{where} };
	$tenant //= pick(map { "= '$_'" } qw(s t n h));
	return { %$q, where => [ (grep { !/^\Q$a\Er\b/ } @{ $q->{where} }), "${a}r $tenant", $q->{from} =~ /\b[fg] y\b/ && $q->{from} !~ /LATERAL/ ? "y.r $tenant" : () ] };
}

# item: a script, and whether the order of its rows counts
sub item
{
	my $q = query($world);
	$q = of_tenant($q) if chance(0.75);
	my %q = %$q;
	$q{items} = [ map { $_ eq 'ctid' ? 'id' : $_ } @{ $q{items} } ] if $q{items};
	if ($q{lock} || $q{cmp} =~ /keys/) { delete @q{qw(order limit offset lock)}; $q{cmp} = 'set'; }
	my $sql = render(\%q);
	my $digest = "SELECT md5(string_agg(x::text, E'\\n' ORDER BY x::text COLLATE \"C\")) FROM (SELECT * FROM $q->{fact} OFFSET 0) x";
	my $plain = $q{items} && $q{from} =~ /^$q->{fact}( (AS )?x)?$/ && !$q{group} && !$q{distinct};
	if ($plain && chance(0.35))
	{
		my ($from, $f, $dot) = ($q{from}, $q->{fact}, $q{from} =~ / x$/ ? 'x.' : '');
		my $keys = join ', ', map { $dot . $_ } @{ $world->{facts}{$f}{pk} };
		my ($condition) = render({ where => $q{where}, items => [1], from => $from }) =~ / WHERE (.*)/s;
		$condition //= "${dot}id < 20";
		my $next = "SELECT $keys FROM $from WHERE $condition ORDER BY $keys LIMIT " . between(1, 3) . ' FOR ' . pick('UPDATE', 'NO KEY UPDATE', 'SHARE', 'KEY SHARE') . pick('', ' SKIP LOCKED', ' NOWAIT');
		my $write = pick("UPDATE $from SET note = 'hit' WHERE $condition RETURNING $keys", "UPDATE $from SET doc = jsonb_build_object('k', 'a', 't', 'Genoa', 'i', v) WHERE $condition RETURNING $keys, doc", "UPDATE $from SET id = id + 6000 WHERE $condition RETURNING $keys",
			"DELETE FROM $from WHERE $condition RETURNING $keys, doc", "MERGE INTO $from USING (SELECT id AS one, r AS two FROM $f) s ON ${dot}r = s.two AND ${dot}id = s.one AND $condition WHEN MATCHED AND v > 1 THEN DELETE WHEN MATCHED THEN UPDATE SET note = 'merged'", $next, $next,
			"UPDATE $f SET note = 'next' WHERE (" . $keys =~ s/x\.//gr . ") IN (SELECT $keys FROM $from WHERE $condition) RETURNING id", "WITH d AS (DELETE FROM $from WHERE $condition RETURNING *) INSERT INTO $f (id, r, doc, note) SELECT id + 7000, r, doc, note FROM d RETURNING id",
			"INSERT INTO $f (id, r, doc) SELECT ${dot}id, ${dot}r, '{\"k\": \"b\"}' FROM $from WHERE $condition ON CONFLICT (" . $keys =~ s/x\.//gr . ") DO UPDATE SET doc = excluded.doc, note = 'conflict' RETURNING id, note", ($dot ? ("UPDATE $from SET note = p.k FROM p WHERE $condition AND p.id = x.v RETURNING $keys, p.id", "DELETE FROM $from USING p WHERE $condition AND p.id > x.v AND p.id < x.v + 3 RETURNING $keys") : ()));
		return { steps => [ 'BEGIN', $write, $digest, 'ROLLBACK' ], explain => $write, cmp => 'set', features => [ 'written', $write =~ /FOR (?:UPDATE|NO KEY|SHARE|KEY)/ ? 'locked' : $write =~ /^(WITH|\w+)/ ], sql => $write };
	}
	my @steps = ($sql);
	my @features = @{ $q->{features} };
	my $way = rand();
	if ($way < 0.1) { @steps = ('SET plan_cache_mode = force_generic_plan', "PREPARE kept AS $sql", 'EXECUTE kept', 'EXECUTE kept', 'DEALLOCATE kept', 'RESET plan_cache_mode'); push @features, 'prepared'; }
	elsif ($way < 0.2) { @steps = ('BEGIN', "DECLARE c CURSOR FOR $sql", $q{cmp} eq 'list' ? 'FETCH 2 FROM c' : (), 'FETCH ALL FROM c', 'ROLLBACK'); push @features, 'cursor'; }
	elsif ($way < 0.35) { @steps = ('BEGIN', dml($world, $world->{facts}{ $q->{fact} }), $sql, 'ROLLBACK'); push @features, 'own changes'; }
	return { steps => \@steps, explain => $sql, cmp => $q{cmp}, features => \@features, sql => $sql };
}

sub dirty { return $_[0]{sql} =~ s/\/\* guarded .*?till here \*\///gsr =~ /\b(?:m|dd)\b['"\]}]|json cast/; }

# compare NODE, ROLES, ITEM…: runs them as both roles
sub compare
{
	my ($node, $roles, @items) = @_;
	my %answer;
	foreach my $mode (@modes)
	{
		my $script = "SET search_path = w, public;\n";
		for my $n (0 .. $#items)
		{
			$script .= "\\echo '\@\@item' $n\n" . join '', map { $_ =~ /^(BEGIN|ROLLBACK)/ ? "$_;\n" : "$_;\n\\echo '\@\@step' :SQLSTATE :LAST_ERROR_MESSAGE\n" } map { s/\{m\}/$mode/gr } @{ $items[$n]{steps} };
			$script .= "EXPLAIN (COSTS OFF) $items[$n]{explain};\n" if $mode eq 'force';
		}
		foreach my $part (split /^\@\@item /m, ask($node, "${roles}_$mode", $script))
		{
			my ($n, $text) = $part =~ /^(\d+)\n(.*)/s or next;
			my @steps;
			while ($text =~ /\G(.*?)^\@\@step (\w{5})(?: ([^\n]*))?\n/gsmc) { push @steps, { rows => [ split /\n/, $1, -1 ], state => $2, message => $3 // '' }; }
			$answer{$mode}[$n] = \@steps;
			$items[$n]{plan} = substr $text, pos($text) // 0 if $mode eq 'force';
		}
	}
	my @differences;
	for my $n (0 .. $#items)
	{
		my $item = $items[$n];
		my ($off, $force) = map { $answer{$_}[$n] } @modes;
		my $uses = $item->{plan} =~ /IndexTable/;
		$total{items}++;
		$total{'by index tables'}++ if $uses;
		$total{'by totals'}++ if $item->{plan} =~ /IndexTableTotals/;
		for my $feature (@{ $item->{features} }) { ($uses ? \%used : \%unused)->{$feature}++; }
		for my $s (0 .. $#{ $item->{steps} })
		{
			my ($x, $y) = ($off->[$s], $force->[$s]);
			last if !$x && !$y;
			my $why;
			if (!$x || !$y) { $why = 'no answer'; }
			elsif ($x->{state} ne $y->{state})
			{
				# Which condition is evaluated first is the planner's choice; the rest of a transaction fails with it.
				last if dirty($item) && grep { /^22/ } $x->{state}, $y->{state};
				$why = "$x->{state} $x->{message}, $y->{state} $y->{message}";
			}
			elsif ($x->{state} ne '00000') { $errors{ $x->{state} . ($x->{state} =~ /^(XX|42|0A)/ ? " $x->{message}" : '') }++; }
			else
			{
				my ($a, $b) = map { join "\n", $item->{cmp} eq 'list' ? @{ $_->{rows} } : sort @{ $_->{rows} } } $x, $y;
				$why = 'rows' if $a ne $b;
				$total{answered}++;
			}
			next if !defined $why;
			my %left;
			$left{$_}++ for $x ? @{ $x->{rows} } : ();
			$left{$_}-- for $y ? @{ $y->{rows} } : ();
			push @differences, "step $s, $why: " . join(";\n", @{ $item->{steps} }) . ";\n" . join('', map { '  ' . ($left{$_} > 0 ? 'only off: ' : 'only force: ') . s/\x1f/ | /gr . "\n" } (grep { $left{$_} } sort keys %left)[ 0 .. 5 ] // ()) . $item->{plan};
			last;
		}
	}
	return @differences;
}

# change WHAT, NODE, STATEMENT…
sub change
{
	my ($what, $node, @statements) = @_;
	my $answer = ask($node, 'as_off', join '', "SET search_path = w, public;\n", map { "$_;\n\\echo '\@\@changed' :SQLSTATE :LAST_ERROR_MESSAGE\n" } @statements);
	$total{$what} += () = $answer =~ /^\@\@changed 00000/mg;
	$errors{"$what: $1"}++ while $answer =~ /^\@\@changed (?!00000)(\w+)/mg;
	return;
}

# change_of PARTITION, PARENT, BOUND: statements, of which a query of its own each, so that Citus has it on all nodes
sub change_of
{
	my ($partition, $parent, $bound) = @_;
	my ($detach, $attach) = ("ALTER TABLE $parent DETACH PARTITION $partition", "ALTER TABLE $parent ATTACH PARTITION $partition $bound");
	my @changes = map { "UPDATE $partition SET doc = " . World::document($world) . " WHERE id % 5 = $_" } 1, 2;
	return @{ pick([ $detach, $attach ], [ $detach, @changes, $attach ], [ 'BEGIN', $detach, @changes, $attach, 'COMMIT' ], [ 'BEGIN', $detach, $changes[0], 'ROLLBACK' ],
		[ "TRUNCATE $partition" ], [ $detach, "DELETE FROM $partition WHERE id % 3 = 0", $attach, $changes[1] ]) };
}

# ---- the worlds

foreach my $seed ($first .. $first + $worlds - 1)
{
	set_up_world($seed);
	right("world $seed");
	my @differences;
	for my $round (1 .. 3)
	{
		my @items = map { item() } 1 .. $items;
		push @differences, compare(pick(@nodes), 'as', @items);
		push @differences, compare(pick(@nodes), 'reader', grep { !grep { /\b(INSERT|UPDATE|DELETE|MERGE|FOR \w+)\b/ } @{ $_->{steps} } } map { item() } 1 .. $items / 3) if $world->{rls} || $round == 1;
		change('changes', pick(@nodes), map { dml($world) } 1 .. 25);
		my @parts = map { @{ $world->{facts}{$_}{leaves} } } 'f', 'g';
		change('of partitions', $c, change_of(@{ pick(@parts) })) if @parts;
		right("world $seed, round $round");
	}
	is(scalar @differences, 0, "world $seed: the same with index tables") || diag encode('UTF-8', join "\n", splice @differences, 0, 4);
	my @wrong = map { my $t = $_; sql($c, "SELECT '$t', v.* FROM indextable.verify('w.$t') v") } map { $_->{name} } grep { $_->{name} ne 'none' } map { @{ $world->{facts}{$_}{indexes} }, @{ $world->{facts}{$_}{totals} } } 'f', 'g';
	is(join("\n", grep { $_ ne '' } @wrong), '', "world $seed: verify() agrees");
}
cmp_ok($total{'by index tables'}, '>', $total{items} / 10, 'index tables are used');
note join ', ', map { "$_: $total{$_}" } sort keys %total;
note 'errors in both modes: ' . join ', ', map { "$_: $errors{$_}" } sort { $errors{$b} <=> $errors{$a} } keys %errors;
note 'plans with an index table, of all, by feature: ' . join ', ', map { sprintf '%s %d/%d', $_, $used{$_} // 0, ($used{$_} // 0) + ($unused{$_} // 0) } sort keys %{ { %used, %unused } };
$_->stop('immediate') for @nodes;
done_testing();
