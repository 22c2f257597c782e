# The oracle: what an index table has to hold, as plain SQL written from the rule (a field holds what SQL gives for
# (document #>> '{path}')::type), and compared with what it holds, EXCEPT ALL both ways. It shares no code with the upkeep.

package Check;

use strict;
use warnings;
use Model;

# Fields as users write them, by the rule. What is cast is judged by its look. An element stands for e.
my %FIELD = (
	k => q(doc #>> '{k}'), v => q(doc #>> '{v}'), u => q(doc #>> '{u}'), wide => q(doc #>> '{wide}'),
	'n::int AS m' => q(soak.as_int(doc #>> '{n}')), 'n::int AS g' => q(soak.as_int(doc #>> '{n}')), 'd::date' => q(soak.as_date(doc #>> '{d}')),
	'tags::jsonb' => q(doc #> '{tags}'), 'n::jsonb' => q(doc #> '{n}'), '@note' => 'note', '@r' => 'r', '@id' => 'id', '@n' => 'n',
	'@x::text' => 'x::text', '@b::text' => 'b::text', '@x::text AS xt' => 'x::text', '@b::text AS bt' => 'b::text',
	'tags[*]' => [ q({tags}), q(e #>> '{}') ], 'marks[*]' => [ q({marks}), q(e #>> '{}') ], 'items[*].name' => [ q({items}), q(e #>> '{name}') ],
);

# The texts of those that are cast, which are NULL where the field is; another one may be no value of the type.
my %TEXT = ('n::int AS m' => q(doc #>> '{n}'), 'n::int AS g' => q(doc #>> '{n}'), 'd::date' => q(doc #>> '{d}'));

# Which rows an index table on_mismatch => 'error' rejects, by its key field.
my $no_int = q(doc #>> '{n}' IS NOT NULL AND soak.as_int(doc #>> '{n}') IS NULL);
my %REJECTED = ('n::int AS m' => $no_int, 'n::int AS g' => $no_int, k => q(octet_length(doc #>> '{k}') > 2000));

# What is compared with an index table is read from the fact table, and not from an index table that has it, too.
our $FROM_FACT = 'SET LOCAL indextable.planner = off';

# The settings under which everything is evaluated.
our $SETTINGS = "$FROM_FACT; SET LOCAL extra_float_digits = 1; SET LOCAL bytea_output = 'hex'; SET LOCAL DateStyle = 'ISO, MDY'; SET LOCAL TimeZone = 'UTC';"
  . " SET LOCAL IntervalStyle = 'postgres'; SET LOCAL transform_null_equals = off; SET LOCAL search_path = public; SET LOCAL work_mem = '16MB'; SET LOCAL enable_hashjoin = on";

# active: the SQL that says which index tables there are to be compared
sub active
{
	my ($fact, $maintenance) = @_;
	return "SELECT c.relname, d.maintenance FROM indextable_internal.definition d JOIN pg_class c ON c.oid = d.index_table WHERE d.state = 'active' AND d.replaces IS NULL AND c.relname ~ '^ix_'"
	  . ($fact ? " AND c.relname ~ '^ix_${fact}_'" : '') . ($maintenance ? " AND d.maintenance = '$maintenance'" : '') . ' ORDER BY 1';
}

# settle: keeps partitions and definition as they are until the transaction ends. It has to come before the snapshot:
# rows that are attached or truncated come and go for older snapshots, too.
sub settle
{
	my ($s, $fact, $index) = @_;
	return $s->run('rows', "LOCK TABLE $fact IN SHARE UPDATE EXCLUSIVE MODE") && $s->run('rows', "LOCK TABLE $index IN ACCESS SHARE MODE");
}

# definition: of an index table, as this snapshot has it
sub definition
{
	my ($s, $index) = @_;
	my $rows = $s->select($s->{parent} ? 'none' : 'rows', "SELECT d.state, d.problem, d.strategy, d.maintenance, array_to_json(d.key), array_to_json(d.include), d.filter, d.on_mismatch, d.sparse::int, f.queue, f.spare
		FROM indextable_internal.definition d JOIN indextable_internal.fact f USING (fact_table) WHERE d.index_table = to_regclass('public.$index') AND d.replaces IS NULL") || return;
	return {} if !@$rows;
	my %d;
	@d{qw(state problem strategy maintenance key include filter on_mismatch sparse queue spare)} = @{ $rows->[0] };
	$d{$_} = [ map { s/\\(.)/$1/gr } ($d{$_} // '') =~ /"((?:[^"\\]|\\.)*)"/g ] for qw(key include);
	($d{fact}) = kind_of($index);
	$d{index} = $index;
	return \%d;
}

# has_entry: the SQL that says of a key field that a row, or an element, has an entry, as far as it goes by this field
sub has_entry
{
	my ($d, $field, $sql) = @_;
	return $d->{sparse} ? "$sql IS NOT NULL" : $TEXT{$field} ? "($TEXT{$field} IS NULL OR $sql IS NOT NULL)" : ();
}

# expected: the entries that it has to hold, as text. unsettled: rows to leave out
sub expected
{
	my ($d, $from) = @_;
	my (@columns, @where, %named);
	my $element = '';
	for my $field (@{ $d->{key} })
	{
		my $sql = $FIELD{$field} // die "Check.pm has no field $field\n";
		if (ref $sql)
		{
			$element = " CROSS JOIN LATERAL (SELECT $sql->[1] AS e, count(*)::int AS times FROM soak.elements(doc #> '$sql->[0]') e WHERE jsonb_typeof(doc #> '$sql->[0]') = 'array' OR ($sql->[1]) IS NOT NULL GROUP BY 1) m";
			$sql = 'm.e';
		}
		push @columns, $sql;
		push @where, has_entry($d, $field, $sql);
		$named{$1} = 1 if $field =~ /^@(\w+)$/;

		# what is too long for a key, where it does not refuse the write
		push @where, "coalesce(octet_length($sql), 0) <= 2000" if $field =~ /^[ku]$/ && ($d->{on_mismatch} eq 'skip' || $d->{maintenance} eq 'async');
	}
	push @columns, grep { !$named{$_} } @{ $FACT{ $d->{fact} }{pk} };
	push @columns, $d->{strategy} eq 'denormalized' ? 'doc' : map { $FIELD{$_} // die "Check.pm has no field $_\n" } @{ $d->{include} };
	push @columns, 'm.times' if $element;
	push @where, "($d->{filter})" if defined $d->{filter};
	my $n = 0;
	return 'SELECT x::text AS entry FROM (SELECT ' . join(', ', map { $n++; "$_ AS c$n" } @columns) . " FROM $from$element" . (@where ? ' WHERE ' . join(' AND ', @where) : '') . ') x';
}

# comparison: the SQL whose rows are what is missing and what is too much. Of an asynchronous index table without the
# rows that it could not take at that moment, and tries again, as when an entry was wide and others used the index table;
# and with settled, without the rows that this snapshot sees queued: a change and its key in the queue are committed
# together.
sub comparison
{
	my ($d, $settled) = @_;
	my ($from, $entries) = ($d->{fact}, "SELECT t::text AS entry FROM $d->{index} t");
	if ($d->{maintenance} eq 'async')
	{
		my @pk = @{ $FACT{ $d->{fact} }{pk} };
		my $due = sub {
			my ($t) = @_;
			my $rejected = "NOT EXISTS (SELECT FROM indextable.rejected q WHERE q.index_table = '$d->{index}'::regclass AND q.next_try IS NOT NULL AND q.primary_key = ARRAY["
			  . join(', ', map { "$t.$_\::text" } @pk) . '])';
			return join ' AND ', $rejected, map { my $q = $_; "NOT EXISTS (SELECT FROM $q q WHERE " . join(' AND ', map { 'q.key' . ($_ + 1) . " = $t.$pk[$_]" } 0 .. $#pk) . ')' } grep { $settled && defined } $d->{queue}, $d->{spare};
		};
		$from = "(SELECT * FROM $d->{fact} f WHERE " . $due->('f') . ") $d->{fact}";
		$entries .= ' WHERE ' . $due->('t');
	}
	my $expected = expected($d, $from);
	return "WITH expected AS MATERIALIZED ($expected), found AS MATERIALIZED ($entries)\n"
	  . "(SELECT 'missing', entry FROM (TABLE expected EXCEPT ALL TABLE found) m LIMIT 20) UNION ALL (SELECT 'too much', entry FROM (TABLE found EXCEPT ALL TABLE expected) e LIMIT 20)";
}

# inside: within a transaction of a session, in its snapshot; true unless a statement failed
sub inside
{
	my ($s, $index) = @_;
	my $d = definition($s, $index) || return;
	return 1 if ($d->{state} // '') ne 'active';
	$s->run('rows', enabled('settings') ? $SETTINGS : $FROM_FACT) || return;
	my $sql = comparison($d, 1);
	my $rows = $s->select('rows', $sql) || return;
	$s->{checks}++;
	push @{ $s->{unexpected} }, describe($d, $sql, $rows, 'in one snapshot, while others write') if @$rows;
	return 1;
}

sub describe
{
	my ($d, $sql, $rows, $when) = @_;
	return "$d->{index} ($d->{maintenance}, $d->{strategy}" . (defined $d->{filter} ? ", filter $d->{filter}" : '') . "), $when:\n"
	  . join('', map { "    $_->[0] " . substr($_->[1], 0, 300) . "\n" } @$rows) . "  by $sql";
}

# look_up: lookup() and query() of a key, compared with the fact table in the same snapshot
sub look_up
{
	my ($s, $index) = @_;
	my $d = definition($s, $index) || return;
	return 1 if ($d->{state} // '') ne 'active';
	my ($field) = @{ $d->{key} };
	my $name = $field =~ /AS (\w+)$/ ? $1 : $field =~ /(\w+)(?:\[\*\])?(?:::\w+)?$/ ? $1 : die $field;
	my $at = int(rand(500));
	my $keys = $s->select('rows', "SELECT to_jsonb(k) FROM (SELECT $name FROM $index WHERE $name IS NOT NULL OFFSET $at LIMIT 1) t(k)") || return;
	return 1 if !@$keys;
	my $key = $s->{dbh}->quote("{\"$name\": $keys->[0][0]}");
	my $pk = join ', ', @{ $FACT{ $d->{fact} }{pk} };
	my $sql = $FIELD{$field};
	my $condition = ref $sql ? "EXISTS (SELECT FROM soak.elements(doc #> '$sql->[0]') e WHERE $sql->[1] = k.k)" : "$sql = k.k";
	my $type = $field =~ /::(int|date)/ ? $1 : $field =~ /^@(id|n)$/ ? 'int' : 'text';
	my @others = map { ref $FIELD{$_} ? "EXISTS (SELECT FROM soak.elements(doc #> '$FIELD{$_}[0]') e WHERE (jsonb_typeof(doc #> '$FIELD{$_}[0]') = 'array' OR ($FIELD{$_}[1]) IS NOT NULL)" . join('', map { " AND $_" } has_entry($d, $_, $FIELD{$_}[1])) . ')' : has_entry($d, $_, $FIELD{$_}) } @{ $d->{key} }[ 1 .. $#{ $d->{key} } ];
	my $where = join ' AND ', $condition, @others, defined $d->{filter} ? "($d->{filter})" : ();
	my $with = "WITH k AS MATERIALIZED (SELECT ($key\::jsonb ->> '$name')::$type AS k), found AS MATERIALIZED (SELECT $pk FROM indextable.lookup(NULL::$d->{fact}, '$index', $key)), "
	  . "expected AS MATERIALIZED (SELECT $pk FROM k, $d->{fact} WHERE $where)";
	$sql = "$with SELECT 'lookup() has too much', x::text FROM (TABLE found EXCEPT ALL TABLE expected) x"
	  . ($d->{maintenance} eq 'async' ? '' : " UNION ALL SELECT 'lookup() lacks', x::text FROM (TABLE expected EXCEPT ALL TABLE found) x");
	my $rows = $s->select('rows', $sql) || return;
	$s->{checks}++;
	push @{ $s->{unexpected} }, describe($d, $sql, $rows, "lookup of $key") if @$rows;

	# a plain query, with and without index tables
	if (!ref $FIELD{$field} && $FIELD{$field} !~ /^soak/)
	{
		my $value = $s->value('rows', "SELECT $key\::jsonb ->> '$name'") // return;
		my $plain = "SELECT $pk FROM $d->{fact} WHERE $FIELD{$field} = " . $s->{dbh}->quote($value) . (defined $d->{filter} ? " AND ($d->{filter})" : '') . " ORDER BY $pk";
		my @answers;
		for my $planner ('force', 'off')
		{
			$s->run('rows', "SET LOCAL indextable.planner = $planner") || return;
			$rows = $s->select('rows', $plain) || return;
			push @answers, join ', ', map { join ' ', @$_ } @$rows;
		}
		$s->{checks}++;
		push @{ $s->{unexpected} }, describe($d, $plain, [ [ 'with index tables:', $answers[0] ], [ 'without:', $answers[1] ] ], 'a plain query in one snapshot') if $answers[0] ne $answers[1];
	}

	# all pages
	my ($cursor, $found) = ('NULL', 0);
	my $size = pick(1, 7, 100);
	for (1 .. 30)
	{
		$rows = $s->select('rows', "SELECT cursor FROM indextable.query('$index', $key, page_size => $size, cursor => $cursor)") || return;
		$found += @$rows;
		return 1 if @$rows && $_ == 30;
		last if @$rows < $size;
		$cursor = $s->{dbh}->quote($rows->[-1][0]);
	}
	my $entries = $s->value('rows', "SELECT count(*) FROM $index WHERE $name = ($key\::jsonb ->> '$name')::$type") // return;
	push @{ $s->{unexpected} }, describe($d, "query() of $key", [ [ "query() has $found entries,", "the index table $entries" ] ], 'in one snapshot') if $found != $entries;
	return 1;
}

# totals: counts by groups, in one snapshot, with index tables and without. True unless a statement failed
sub totals
{
	my ($s, $fact, $what) = @_;
	my $sql = "SELECT $FIELD{v}, count(*) FROM $fact GROUP BY 1 UNION ALL SELECT NULL, count(*) FROM $fact ORDER BY 1, 2";
	my @answers;
	for my $planner ('force', 'off')
	{
		$s->run($what, "SET LOCAL indextable.planner = $planner") || return;
		my $rows = $s->select($what, $sql) || return;
		push @answers, join ', ', map { join ' ', map { $_ // 'NULL' } @$_ } @$rows;
	}
	$s->{checks}++;
	push @{ $s->{unexpected} }, "totals_$fact: $answers[0] with it, $answers[1] without, by $sql" if $answers[0] ne $answers[1];
	return 1;
}

# all: every index table, when all sessions pause and nothing is queued. Returns what is wrong, and how many were compared.
# pending: fact tables with a partition half detached, whose index tables may be anything but wrong while active.
sub all
{
	my ($s, $amcheck, $pending) = @_;
	my (@wrong, $count, $entries);
	my $rows = $s->select('none', "SELECT c.relname, d.state FROM indextable_internal.definition d JOIN pg_class c ON c.oid = d.index_table WHERE d.replaces IS NULL ORDER BY 1");
	for my $row (@{ $rows // [] })
	{
		my ($index, $state) = @$row;
		my $half = $pending->{ $index =~ /^totals_(\w+)/ ? $1 : (kind_of($index))[0] };
		next if $state eq 'building' && $pending;    # not over yet
		if ($state ne 'active')
		{
			push @wrong, "$index is $state: " . (definition($s, $index)->{problem} // '') if !$half;
			next;
		}
		if ($index =~ /^totals_(\w+)/)
		{
			my $found = $s->select('none', "SELECT to_json(v) FROM indextable.verify('$index') v LIMIT 5") // [];
			push @wrong, map { "$index: $_->[0]" } @$found if !$half;
			$s->run('none', 'BEGIN ISOLATION LEVEL REPEATABLE READ');
			totals($s, $1, 'none');
			$s->run('none', 'COMMIT');
			$count++;
			next;
		}
		$s->run('none', 'BEGIN');
		$s->run('none', $SETTINGS);
		my $d = definition($s, $index);
		my $sql = comparison($d, 0);
		my $found = $s->select('none', $sql) // [ [ 'no answer', '' ] ];
		push @wrong, describe($d, $sql, $found, 'at the end of the epoch' . ($half ? ', a partition is half detached' : '')) if @$found;
		my ($field) = grep { $REJECTED{$_} } @{ $d->{key} };
		my $rejected = $d->{maintenance} eq 'async' && $d->{on_mismatch} eq 'error' && $field && !@$found
		  ? $s->value('none', "SELECT count(*) FROM $d->{fact} WHERE $REJECTED{$field}" . (defined $d->{filter} ? " AND ($d->{filter})" : '')) : 0;
		$s->run('none', 'COMMIT');
		my $verify = $s->select('none', "SELECT kind, concat_ws(' ', key, primary_key, problem) FROM indextable.verify('$index')") // [];
		my @rejections = grep { $_->[0] eq 'rejected' && $_->[1] !~ /with its included fields/ } @$verify;
		my @others = grep { $_->[0] ne 'rejected' } @$verify;
		push @wrong, describe($d, 'verify()', [ @others[ 0 .. ($#others < 9 ? $#others : 9) ] ], 'verify() finds, and the oracle does not') if @others && !@$found;
		push @wrong, "$index: the oracle finds what is above, and verify() nothing" if @$found && !@others;
		push @wrong, "$index: $rejected rows should be rejected, and verify() shows " . @rejections if $rejected != @rejections && !@$found;
		$count++;
		if ($amcheck)
		{
			$s->select('none', "SELECT bt_index_check(i.indexrelid, true) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relkind = 'i' AND i.indrelid IN (SELECT '$index'::regclass UNION SELECT relid FROM pg_partition_tree('$index'))");
		}
	}
	push @wrong, splice @{ $s->{unexpected} };
	return (\@wrong, $count);
}

1;
