# Random plain SQL over fact tables gives the same with and without index tables: each query runs with
# indextable.planner = off, and with each other value that there is, in the same state of the same session, between random
# changes by this session and another one, in transactions of every isolation level, within triggers and functions, by
# prepared statements and cursors, and by plans that are kept while another session commits DDL; statements that write or lock the
# rows that a query finds leave the same rows. Grammar.pm makes the queries, World.pm what they are about.
#
# A seed makes a world: two fact tables, their index tables, and some hundred queries. A difference is printed with the
# seed and the query, made as small as it can be; the whole script is tmp_check/log/plain_SEED.sql, which psql runs again.
#
#   SEED      the only seed to run; default: the fixed ones, and one from the time, which is printed
#   SECONDS   runs one seed after the other for so long, from SEED on if that is given
#   STEPS     how much happens in a world; default 28
#   MANY      how many plain queries the server compares by itself at each step that reads; default 40
#   MODES     what to compare with off, separated by commas; default: force, fallback and on, as far as the server has them

use strict;
use warnings;
use utf8;
use Encode;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use World;
use Grammar;
use IPC::Open2;
use List::Util qw(min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my @fixed = (1 .. 8);
my $steps = $ENV{STEPS} || 28;
my $many = $ENV{MANY} // 40;
my $began = time();

my $node = new_server('plain_random', "shared_preload_libraries = 'indextable'", 'indextable.max_workers = 0', 'indextable.advice = off', 'autovacuum = off', 'restart_after_crash = on', "search_path = 'w, public'",
	'client_min_messages = error', 'log_min_messages = error', 'log_min_error_statement = ' . ($ENV{SLOW} ? 'error' : 'panic'), "log_line_prefix = '%e '", 'statement_timeout = 60s', 'log_min_duration_statement = ' . ($ENV{SLOW} || -1), "timezone = 'UTC'", "t.q = ''", "t.log = ''", "t.dml = ''", "t.at = ''", "t.cursor = ''", "t.depth = 2", "t.text = 'a'");
$node->safe_psql('postgres', 'CREATE EXTENSION indextable; CREATE EXTENSION pg_trgm; CREATE ROLE plain_reader');
my ($version) = $node->safe_psql('postgres', 'SHOW server_version') =~ /^(\d+)/;

# The values that the setting has: not all need be in its list.
my @modes = grep { $node->psql('postgres', "SET indextable.planner = '$_'") == 0 } $ENV{MODES} ? split /,/, $ENV{MODES} : qw(force fallback on);
my $explained = $modes[0];
note "compared with off: @modes";

my ($seed, $world, $history, $where, @differences, %prepared, $sessions);
my $crashes = 0;
my $written = 0;    # how many plans of statements that write were kept
my (%total, %errors, %used, %unused, %reported);

# ---- sessions: a psql each, which reads scripts, so that many statements go without a pause

sub open_session
{
	my ($name) = @_;
	my $s = { name => $name, number => 0, file => PostgreSQL::Test::Utils::tempdir . "/$name.psql", output => '' };
	$s->{pid} = open2($s->{out}, $s->{in}, 'sh', '-c', "exec psql -XAtq -d '" . $node->connstr('postgres') . "' 2>>" . PostgreSQL::Test::Utils::tempdir . "/$name.errors");
	ask($s, "\\pset fieldsep '\x1f'\n\\pset null '~'\nSET lock_timeout = '" . ($name eq 'other' ? '20ms' : '30s') . "';");
	return $s;
}

# ask SESSION, SCRIPT: what it gives
sub ask
{
	my ($s, $script) = @_;
	my $end = '@@end ' . ++$s->{number};
	print $history encode('UTF-8', "-- session $s->{name}\n$script\n") if $history;
	my $name = $s->{file} . $s->{number} % 2;    # psql may not have seen the end of the last one yet
	open my $file, '>:encoding(UTF-8)', $name or die $!;
	print $file "$script\n\\echo $end\n";
	close $file;
	local $SIG{PIPE} = 'IGNORE';
	syswrite $s->{in}, "\\i $name\n";
	my $output = '';
	while ($output !~ /^\Q$end\E\n\z/m)
	{
		sysread($s->{out}, $output, 1 << 16, length $output) || die "the session was lost\n";
	}
	return decode('UTF-8', $output =~ s/\Q$end\E\n\z//r);
}

sub close_session
{
	my ($s) = @_;
	close $s->{in};
	close $s->{out};
	waitpid $s->{pid}, 0;
	return;
}

# ---- what is run in every mode: an item is a list of steps, each a statement and how its answer is compared

my $result = "\\echo '\@\@step' :SQLSTATE :LAST_ERROR_MESSAGE";

# in_mode ITEM, MODE, OPEN: its script; it leaves everything as it was
sub in_mode
{
	my ($item, $mode, $open) = @_;
	my $changes = $item->{changes};
	my $script = $open ? "SAVEPOINT q; SET LOCAL indextable.planner = '$mode';\n" : $changes ? "BEGIN; SET LOCAL indextable.planner = '$mode';\n" : "SET indextable.planner = '$mode';\n";
	foreach my $step (@{ $item->{steps} }) { $script .= $step->{sql} =~ s/\{m\}/$mode/gr . ";\n$result\n"; }
	$script .= ($open || $changes ? "SET LOCAL indextable.planner = '$mode'; " : '') . "EXPLAIN (COSTS OFF, FORMAT JSON) " . $item->{explain} =~ s/\{m\}/$mode/gr . ";\n$result\n" if $mode eq ($explained // '') && $item->{explain};
	return $script . ($open ? "ROLLBACK TO q; RELEASE q;\n" : $changes ? "ROLLBACK;\n" : '');
}

# run_items SESSION, OPEN, ITEM…: runs them and compares
sub run_items
{
	my ($s, $open, @items) = @_;
	my $script = '';
	for my $number (0 .. $#items)
	{
		for my $mode ('off', @modes)
		{
			next if $mode eq 'on' && $number % 4 && @modes > 1;
			$script .= "\\echo '\@\@item' $number $mode\n" . in_mode($items[$number], $mode, $open);
		}
	}
	my $output = ask($s, $script);
	my @answers;
	foreach my $part (split /^\@\@item /m, $output)
	{
		my ($number, $mode, $text) = $part =~ /^(\d+) (\w+)\n(.*)/s or next;
		$answers[$number]{$mode} = steps_of($text);
	}
	for my $number (0 .. $#items)
	{
		my $item = $items[$number];
		my $answer = $answers[$number];
		$total{items}++;
		$total{runs} += keys %$answer;
		$errors{$_}++ for grep { $_ ne '00000' } map { $_->{state} } @{ $answer->{off} };
		if ($explained && $item->{explain})
		{
			my $plan = $answer->{$explained}[-1];
			my $uses = $plan->{text} =~ /Custom Plan Provider|IndexTable/;
			pop @{ $answer->{$explained} };
			$total{explained}++;
			$total{used}++ if $uses;
			$total{merged}++ if $plan->{text} =~ /"Custom Plan Provider": "IndexTable",[^{}]*"Plans": \[\s*\{[^{}]*"Custom Plan Provider": "IndexTable"/;
			$total{unions}++ if $plan->{text} =~ /"Node Type": "(?:Merge )?Append",(?:[^{}]*\{){1,2}[^{}]*"Custom Plan Provider": "IndexTable"/;
			$total{'by users indexes'}++ if $plan->{text} =~ /"Custom Plan Provider": "IndexTable",[^{}]*"Plan": \{/;
			$total{loose}++ if $plan->{text} =~ /"Loose Key"/;
			$total{facets}++ if $plan->{text} =~ /"Custom Plan Provider": "IndexTableTotals",[^{}]*"Index Table Only"/;
			$total{parallel}++ if $plan->{text} =~ /"Custom Plan Provider": "IndexTable",[^{}]*"Parallel Aware": true/;
			for my $feature (@{ $item->{features} }) { ($uses ? \%used : \%unused)->{$feature}++; }
		}
		foreach my $mode (grep { $_ ne 'off' } sort keys %$answer)
		{
			my $different = different($item, $answer->{off}, $answer->{$mode});
			next if !defined $different;
			report($s, $open, $item, $mode, $different, $answer->{off}, $answer->{$mode});
			last;
		}
	}
	return;
}

# compare_many SESSION, OPEN, COUNT: has the server compare that many queries, in one mode; what differs is run again as items are
sub compare_many
{
	my ($s, $open, $count) = @_;
	return if !@modes;
	while ($count > 0)
	{
		my @queries = map { whole(query($world)) } 1 .. min($count, 200);
		my $texts = join ",\n", map { quoted(render($_)) } @queries;
		my $cmps = join ', ', map { "'$_->{cmp}'" } @queries;
		my @differing = ask($s, "SELECT differing(ARRAY[$texts], ARRAY[$cmps], '$modes[0]');") =~ /^(\d+)$/mg;
		run_items($s, $open, map { of_query($queries[$_]) } @differing);
		$total{many} += @queries;
		$total{'many again'} += @differing;
		$count -= @queries;
	}
	return;
}

# steps_of TEXT: the answers of the steps
sub steps_of
{
	my ($text) = @_;
	my @steps;
	while ($text =~ /\G(.*?)^\@\@step (\w{5})(?: ([^\n]*))?\n/gsm) { push @steps, { text => $1, state => $2, message => $2 eq '00000' ? '' : $3 // '' }; }
	return \@steps;
}

# dirty ITEM: whether a cast may fail in it, on rows that are read or not, and not only behind a guard
sub dirty { return $_[0]{text_of} =~ s/\/\* guarded .*?till here \*\///gsr =~ /\b(?:m|dd)\b['"\]}]|json cast/; }

# different ITEM, ANSWERS, ANSWERS: undef, or the number of the step
sub different
{
	my ($item, $off, $on) = @_;
	for my $n (0 .. $#{ $item->{steps} })
	{
		my ($x, $y) = ($off->[$n], $on->[$n]);
		return $n if !$x || !$y;
		if ($x->{state} =~ /^(40001|57014|55P03)/ || $y->{state} =~ /^(40001|57014|55P03)/) { $total{unsettled}++; return; }
		if ($x->{state} ne $y->{state})
		{
			# A row that is not read cannot say that it has no array either.
			my $not_unnested = $x->{state} eq '22023' && $item->{text_of} =~ /jsonb_array_elements/;
			my $only_native = $x->{state} =~ /^22/ && $y->{state} eq '00000' && $item->{text_of} =~ /guarded/;
			if ($not_unnested || $only_native || dirty($item) && grep { /^22/ } $x->{state}, $y->{state}) { $total{ $x->{state} eq '00000' ? 'errors only with' : 'errors only without' }++; return; }
			return $n;
		}
		return if $x->{state} ne '00000' && @{ $item->{steps} } == 1;
		my $cmp = $item->{steps}[$n]{cmp} // 'list';
		next if $x->{text} eq $y->{text};
		my @x = split /\n/, $x->{text}, -1;
		my @y = split /\n/, $y->{text}, -1;
		return $n if @x != @y;

		# A trigger of rows sees those that are written already, and plans find rows in different orders.
		if ($item->{steps}[$n]{sql} =~ /'t\.log'/ && $item->{steps}[0]{sql} =~ /t\.at = '(?:!a|a_after|zz_after)'/) { $total{'order of writes'}++; next; }
		next if $cmp eq 'count';
		if ($cmp =~ /keys:(\d+)/)
		{
			my $keys = $1;
			for my $row (0 .. $#x) { return $n if join("\x1f", (split /\x1f/, $x[$row], -1)[ 0 .. $keys - 1 ]) ne join("\x1f", (split /\x1f/, $y[$row], -1)[ 0 .. $keys - 1 ]); }
			next if $item->{steps}[$n]{limited};
		}
		elsif ($cmp eq 'list') { return $n; }
		return $n if join("\n", sort @x) ne join("\n", sort @y);
	}
	return;
}

# alone SESSION, OPEN, ITEM, MODE: the answers of one item, with off and a mode
sub alone
{
	my ($s, $open, $item, $mode) = @_;
	my %answer;
	foreach my $m ('off', $mode)
	{
		$answer{$m} = steps_of(ask($s, in_mode({ %$item, explain => undef }, $m, $open)));
	}
	return ($answer{off}, $answer{$mode});
}

# sees_one_key_twice SESSION: whether its snapshot has two rows of one primary key: one that another session has deleted since, and
# one of its own in that place. The server relies on keys, too: an order by them is total, a join with them finds one row.
sub sees_one_key_twice
{
	my ($s) = @_;
	my $query = join ' OR ', map { my $keys = join ', ', @{ $world->{facts}{$_}{pk} }; "EXISTS (SELECT FROM $_ GROUP BY $keys HAVING count(*) > 1)" } 'f', 'g';
	return ask($s, "SAVEPOINT q; SET LOCAL indextable.planner = off; SELECT $query; ROLLBACK TO q; RELEASE q;") =~ /^t$/m;
}

# same_rows ANSWER, ANSWER, TEXT: whether they have the same rows in another order, or the query is a join
sub same_rows
{
	my ($x, $y, $text) = @_;
	return 0 if !$x || !$y || $x->{state} ne '00000' || $y->{state} ne '00000';
	return $text =~ /\bJOIN\b|\bIN \(SELECT|\bEXISTS\b|\bFROM \w+ \w+, / || join("\n", sort split /\n/, $x->{text}) eq join("\n", sort split /\n/, $y->{text});
}

# report: a difference, with the query as small as it can be; if it can not be repeated, with the first answers
sub report
{
	my ($s, $open, $item, $mode, $step, @first) = @_;
	if ($open && same_rows($first[0][$step], $first[1][$step], $item->{text_of}) && sees_one_key_twice($s))
	{
		$total{'one key twice'}++;
		return;
	}
	my ($off, $on) = alone($s, $open, $item, $mode);

	# The same message again tells nothing new.
	my ($message) = map { "$_->{state} $_->{message}" =~ s/ \d+\b//gr } grep { $_->{state} ne '00000' } @$on;
	return if $off->[$step] && $off->[$step]{state} eq '00000' && defined $message && $reported{$message}++;
	my $again = defined different($item, $off, $on);

	# A native plan that is kept may not have heard yet of a partition that another session has attached.
	if (!$again && !defined different($item, $off, $first[1])) { $total{'off was behind'}++; return; }
	($off, $on) = @first if !$again;
	if ($again && $item->{q})
	{
		my $progress = 1;
		while ($progress)
		{
			$progress = 0;
			foreach my $q (simpler($item->{q}))
			{
				my $smaller = $item->{again}->($q);
				my ($a, $b) = alone($s, $open, $smaller, $mode);
				my $n = different($smaller, $a, $b);
				next if !defined $n || (grep { $_->{state} =~ /^42/ } @$a, @$b);
				($item, $off, $on, $step, $progress) = ({ %$smaller, again => $item->{again} }, $a, $b, $n, 1);
				last;
			}
		}
	}
	my ($x, $y) = map { $_->[$step] // { state => 'no answer', text => '', message => '' } } $off, $on;
	my $rows = sub { my ($text) = @_; my @rows = map { s/\x1f/ | /gr } split /\n/, $text; return join '', map { '    ' . substr($_, 0, 300) . "\n" } @rows > 12 ? (@rows[ 0 .. 11 ], '… ' . @rows . ' rows') : @rows; };
	if (($item->{steps}[$step]{cmp} // 'list') =~ /^(set|keys)/)
	{
		# What one has, and not the other.
		my %left;
		$left{$_}++ for split /\n/, $x->{text}, -1;
		$left{$_}-- for split /\n/, $y->{text}, -1;
		my ($more, $less) = map { my $sign = $_; join '', map { "$_\n" x abs($left{$_}) } grep { $left{$_} * $sign > 0 } sort keys %left } 1, -1;
		($x, $y) = ({ %$x, text => $more, message => "$x->{message}, only there:" }, { %$y, text => $less, message => "$y->{message}, only there:" }) if "$more$less" ne '';
	}
	my $sql = join ";\n", map { $_->{sql} =~ s/\{m\}/$mode/gr } @{ $item->{steps} };
	my $plan = $item->{q} || $item->{explain} ? ask($s, ($open ? 'SAVEPOINT q;' : '') . "SET indextable.planner = '$mode'; EXPLAIN (COSTS OFF) " . ($item->{q} ? render($item->{q}) : $item->{explain}) =~ s/\{m\}/$mode/gr . ';' . ($open ? 'ROLLBACK TO q; RELEASE q;' : '')) : '';
	push @differences, "SEED=$seed, $where, $mode differs from off in " . ($again ? '' : 'a run that could not be repeated, in ') . "step $step, within " . ($open ? 'a transaction' : 'no transaction') . ":\n$sql;\n"
	  . "  off: $x->{state} $x->{message}\n" . $rows->($x->{text}) . "  $mode: $y->{state} $y->{message}\n" . $rows->($y->{text}) . ($plan ? "  plan:\n" . $rows->($plan) : '')
	  . join('', map { "  $_->{sql}\n" } grep { $plan !~ /Index Table/ || $plan =~ /\b\Q$_->{name}\E\b/ } map { @{ $_->{indexes} } } map { $world->{facts}{$_} } grep { $sql =~ /\b(v_|w_)?\Q$_\E\b/ } 'f', 'g');
	print $history encode('UTF-8', "-- DIFFERENCE\n" . $differences[-1] =~ s/^/-- /mgr) if $history;
	return;
}

# ---- items

sub of_query
{
	my ($q, $wrap) = @_;
	my $again;
	$again = sub {
		my ($q) = @_;
		my $sql = render($q);
		my @steps = $wrap ? $wrap->($sql, $q) : { sql => $sql, cmp => $q->{cmp}, limited => defined $q->{limit} };
		return { steps => \@steps, q => $q, text_of => join(' ', map { $_->{sql} } @steps), explain => $q->{unexplained} ? undef : $sql, changes => $wrap ? 1 : 0, features => $q->{features}, again => $again };
	};
	return $again->($q);
}

# whole QUERY: without an order that is not total, without locks, and without what each mode's own writes have made
sub whole
{
	my ($q) = @_;
	my %q = %$q;
	$q{items} = [ map { $_ eq 'ctid' ? 'doc' : $_ } @{ $q{items} } ] if $q{items};
	if ($q{lock} || $q{cmp} =~ /keys/) { delete @q{qw(order limit offset lock)}; $q{cmp} = 'set'; }
	return \%q;
}

sub quoted { my ($sql) = @_; return '$q$' . $sql . '$q$'; }

# digest FACT: what is stored in it
sub digest { my ($fact) = @_; return ({ sql => 'SET LOCAL indextable.planner = off' }, { sql => "SELECT md5(string_agg(x::text, E'\\n' ORDER BY id, r, x::text COLLATE \"C\")) FROM $fact x" }); }

sub prepared_item
{
	my ($p) = @_;
	my $values = join ', ', map { chance(0.04) ? 'NULL' : literal(value_of($_->{field})) } @{ $p->{parameters} };
	my $sql = "EXECUTE $p->{name}_{m}" . ($values ne '' ? "($values)" : '');
	return { steps => [ { sql => $sql, cmp => $p->{q}{cmp}, limited => defined $p->{q}{limit} } ], explain => $sql, text_of => $p->{sql}, features => [ @{ $p->{q}{features} }, 'prepared' ] };
}

# stale_item: a plan that is kept, while a field that all rows had goes from some
sub stale_item
{
	my ($p) = @_;
	my $item = prepared_item($p);
	my $fact = $p->{q}{fact};
	my @gone = map { literal($FIELD{$_}{path}[0]) } grep { !$FIELD{$_}{column} } map { @{ $_->{key} } } @{ $world->{facts}{$fact}{indexes} };
	my @where = (between(1, 3), between(0, 2));
	my $dml = @gone ? "UPDATE $fact SET doc = CASE jsonb_typeof(doc) WHEN 'object' THEN doc - " . pick(@gone) . " ELSE doc END WHERE id % $where[0] = 0 OR id % 5 = $where[1]" : dml($world, $world->{facts}{$fact});
	return { %$item, changes => 1, features => [ @{ $item->{features} }, 'stale' ],
		steps => [ { sql => 'SET LOCAL plan_cache_mode = force_generic_plan' }, $item->{steps}[0], { sql => $dml }, $item->{steps}[0] ] };
}

# written_item: a statement that writes or locks the rows that a query finds
sub written_item
{
	my $q;
	do { $q = query($world); } until $q->{items} && $q->{from} && $q->{from} =~ /^$q->{fact}( (AS )?x)?$/ && !$q->{group} && !$q->{distinct};
	my ($from, $f, $dot) = ($q->{from}, $q->{fact}, $q->{from} =~ / x$/ ? 'x.' : '');
	my $keys = join ', ', map { $dot . $_ } @{ $world->{facts}{$f}{pk} };
	my ($condition) = render({ where => $q->{where}, items => [1], from => $from }) =~ / WHERE (.*)/s;
	$condition //= "${dot}id < 20";
	my $next = "SELECT $keys FROM $from WHERE $condition ORDER BY $keys LIMIT " . between(1, 3) . ' FOR UPDATE' . pick('', ' SKIP LOCKED', ' NOWAIT');
	my $sql = pick("UPDATE $from SET note = 'hit' WHERE $condition RETURNING $keys", "UPDATE $from SET doc = jsonb_build_object('k', 'a', 't', 'Genoa', 'i', v) WHERE $condition RETURNING $keys, doc",
		"UPDATE $from SET id = id + 6000 WHERE $condition RETURNING $keys", "UPDATE $from SET r = '" . pick(qw(s t n h)) . "' WHERE $condition RETURNING $keys, tableoid::regclass", "DELETE FROM $from WHERE $condition RETURNING $keys, doc",
		"MERGE INTO $from USING (SELECT 1 AS one) s ON $condition WHEN MATCHED AND one < v THEN DELETE WHEN MATCHED THEN UPDATE SET note = 'merged'", $next, $next,
		"UPDATE $f SET note = 'next' WHERE (" . $keys =~ s/x\.//gr . ") IN ($next) RETURNING id", "WITH d AS (DELETE FROM $from WHERE $condition RETURNING *) INSERT INTO $f (id, r, doc, note) SELECT id + 7000, r, doc, note FROM d RETURNING id",
		($dot ? ("UPDATE $from SET note = p.k FROM p WHERE $condition AND p.id = x.v RETURNING $keys, p.id", "DELETE FROM $from USING p WHERE $condition AND p.id > x.v AND p.id < x.v + 3 RETURNING $keys", "UPDATE p SET k = 'hit' FROM $from WHERE $condition AND p.id = x.v RETURNING p.id", "DELETE FROM p USING $from WHERE $condition AND p.id = x.v RETURNING p.id", "SELECT $keys, p.id FROM $from JOIN p ON p.id = x.v WHERE $condition FOR UPDATE" . pick('', ' OF x', ' OF p'),
			"SELECT $keys, p.id FROM p LEFT JOIN $from ON p.id = x.v WHERE $condition FOR " . pick('UPDATE', 'SHARE SKIP LOCKED', 'UPDATE OF p FOR SHARE OF x'), "SELECT $keys, y.id FROM $from, $f y WHERE $condition AND y.id = x.v FOR UPDATE") : ()));
	if (chance(0.3))
	{
		# by a plan that is kept while rows move
		my $name = 'written_' . ++$written . '_{m}';
		return { steps => [ { sql => 'SET LOCAL plan_cache_mode = force_generic_plan' }, { sql => "PREPARE $name AS $sql" }, { sql => "EXECUTE $name", cmp => 'set' }, { sql => dml($world, $world->{facts}{$f}) }, { sql => "EXECUTE $name", cmp => 'set' }, { sql => "DEALLOCATE $name" }, digest($f) ],
			explain => $sql, text_of => $sql, changes => 1, features => [ @{ $q->{features} }, 'written', 'kept' ] };
	}
	return { steps => [ { sql => $sql, cmp => 'set' }, digest($f), { sql => 'SELECT * FROM p', cmp => 'set' } ], explain => $sql, text_of => $sql, changes => 1, features => [ @{ $q->{features} }, 'written' ] };
}

# prepare: adds a prepared statement, one for each mode
sub prepare
{
	my ($s) = @_;
	my @parameters;
	$PARAMETERS = \@parameters;
	my $q = query($world);
	$PARAMETERS = undef;
	$q = whole($q);
	my $name = 'p' . (1 + keys %prepared);
	my $sql = render($q);
	my $types = join ', ', map { $_->{type} } @parameters;
	$prepared{$name} = { name => $name, q => $q, parameters => \@parameters, sql => $sql };
	ask($s, join '', map { "SET indextable.planner = '$_'; PREPARE ${name}_$_" . ($types ne '' ? " ($types)" : '') . ' AS ' . $sql =~ s/\{m\}/$_/gr . ";\n" } 'off', @modes);
	return;
}

# kept_function NUMBER, QUERY: a function in PL/pgSQL for each mode, each of which keeps a plan of its own
sub kept_function
{
	my ($n, $q) = @_;
	my $sql = render($q);
	my @create = map { my $m = $_; "CREATE OR REPLACE FUNCTION kept_${n}_$m() RETURNS SETOF text LANGUAGE plpgsql AS \$kept\$ DECLARE kept_row record;\n"
		. 'BEGIN FOR kept_row IN ' . $sql =~ s/\{m\}/$m/gr . ' LOOP RETURN NEXT kept_row::text; END LOOP; END $kept$' } 'off', @modes;
	return { create => \@create, steps => [ { sql => "SELECT * FROM kept_${n}_{m}()", cmp => $q->{cmp}, limited => defined $q->{limit} } ],
		text_of => $sql, features => [ @{ $q->{features} }, 'kept function' ] };
}

# kept_step SESSION, OTHER: plans that are kept are executed in a transaction, and again each time that another session has
# committed DDL and changes. From the first execution on the transaction has its locks, so that no lock tells it of the DDL.
sub kept_step
{
	my ($s, $other) = @_;
	my $fact = $world->{facts}{ pick('f', 'g') };
	my ($before, $while, $after) = kept_ddl($world, $fact);
	my $isolation = pick('READ COMMITTED', 'READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ');
	$where .= " (kept plans, $isolation)";
	prepare($s) while keys %prepared < 4;
	change($s, 0, @$before);
	my @items;
	for (1 .. 20)
	{
		my $q = whole(query($world));
		push @items, kept_function(scalar @items, $q) if $q->{fact} eq $fact->{name} && @items < 4;
	}
	my @create = map { @{ $_->{create} } } @items;
	push @items, map { prepared_item($_) } grep { $_->{q}{fact} eq $fact->{name} } @prepared{ sort keys %prepared };
	ask($s, join "\n", map { "$_;" } @create, 'SET plan_cache_mode = force_generic_plan', "BEGIN ISOLATION LEVEL $isolation");
	for my $mode ('off', @modes)
	{
		ask($s, join "\n", map { "SAVEPOINT k; SET LOCAL indextable.planner = '$mode'; " . $_->{steps}[0]{sql} =~ s/\{m\}/$mode/gr . ";\n\\if :ERROR\nROLLBACK TO k;\n\\endif\nRELEASE k;" } @items);
	}
	for my $ddl ([], @$while)
	{
		change($other, 0, @$ddl, dml($world, $fact), dml($world, $fact));
		run_items($s, 1, @items);
	}
	ask($s, 'ROLLBACK;');
	ask($s, join("\n", map { "$_;" } @$after) . "\nSELECT format('CALL indextable.repair(%L)', index_table) FROM indextable.index_tables WHERE state = 'invalid' \\gexec\n"
		. "SELECT format('DROP TABLE %s', index_table) FROM indextable.index_tables WHERE state = 'invalid' \\gexec\n");    # of rows that it cannot have
	return;
}

# item OPEN: something to be run in every mode
sub item
{
	my ($open) = @_;
	my $way = rand();
	return prepared_item($prepared{ pick(sort keys %prepared) }) if $way < 0.15 && %prepared;
	return stale_item($prepared{ pick(sort keys %prepared) }) if $way < 0.2 && %prepared;
	my $q = query($world);
	return written_item() if $way > 0.56 && $way < 0.66;
	return of_query($q) if $way < 0.66;
	$q = whole($q);
	my $fact = $world->{facts}{ $q->{fact} };
	my @limited = (cmp => $q->{cmp}, limited => defined $q->{limit});
	my $dml = dml($world, chance(0.7) ? $fact : undef);
	my ($low, $f) = (between(1, 40), $fact->{name});
	my @keys = @{ $fact->{pk} };

	# The query within a function or a trigger, where what it sees is what matters.
	my $inner = !$q->{group} && $q->{items} && !$q->{distinct} ? do { my %inner = %$q; delete @inner{qw(order limit offset)}; $inner{items} = [ 'count(*)' . ($q->{from} =~ /^\w+ x\b/ ? ', min(x.id), max(x.id)' : $q->{from} =~ / y\b/ ? '' : ', min(id), max(id)') ]; \%inner } : undef;
	if ($way < 0.70)
	{
		my $how = pick('', '', 'SCROLL ', 'NO SCROLL ');
		return with($q, 'cursor', sub {
			my ($sql, $q) = @_;
			return ({ sql => "DECLARE c ${how}CURSOR FOR $sql" }, { sql => 'FETCH ' . 2 . ' FROM c', cmp => $q->{cmp} eq 'list' ? 'list' : 'count' }, { sql => $dml }, { sql => 'FETCH ALL FROM c', cmp => $q->{cmp} eq 'list' ? 'list' : 'count' },
				$how eq 'SCROLL ' ? { sql => 'FETCH BACKWARD ALL FROM c', @limited } : ());
		});
	}
	if ($way < 0.73)
	{
		return with($q, 'cursor', sub { my ($sql, $q) = @_; return ({ sql => "DECLARE c CURSOR FOR $sql" }, { sql => $dml }, { sql => 'FETCH ALL FROM c', cmp => $q->{cmp}, limited => defined $q->{limit} }) });
	}
	if ($way < 0.78)
	{
		my $loop = pick('loop_rows', 'cursor_rows');
		my $at = between(0, 3);
		return with($q, $loop, sub { my ($sql, $q) = @_; return { sql => "SELECT * FROM $loop(" . quoted($sql) . ', ' . quoted($dml) . ", $at)", cmp => $q->{cmp} eq 'list' || $at == 0 ? 'set' : 'count' } });
	}
	if ($way < 0.87 && $inner)
	{
		my @set = ("SET LOCAL t.at = '" . pick('!a', 'a_after', 'zz_after', 'zz_after', 'b_stmt', '!stmt', 'z_stmt', 'late') . "'", 'SET LOCAL t.cursor = ' . pick('off', 'off', 'on'), 'SET LOCAL t.depth = ' . pick(1, 2), 'SET LOCAL t.dml = ' . quoted(chance(0.25) ? dml($world, $fact) : ''));
		$dml = dml($world, $fact) if chance(0.5);
		return with($inner, 'trigger', sub { my ($sql) = @_; return ({ sql => join '; ', @set, 'SET LOCAL t.q = ' . quoted($sql) }, { sql => $dml }, { sql => 'SET CONSTRAINTS ALL IMMEDIATE' }, { sql => q(SELECT current_setting('t.log')) }, { sql => $sql }, digest($f), ($set[1] =~ /on$/ ? { sql => 'FETCH ALL FROM held' } : ())) });
	}
	if ($way < 0.91 && $inner)
	{
		my $function = pick('run', 'stable_run');
		my @changes = ("INSERT INTO $f (id, r, doc, note) SELECT 3000 + x, 's', '{\"k\": \"a\", \"t\": \"Genoa\", \"i\": 2}', $function(Q) FROM generate_series(1, 4) x RETURNING id, note, $function(Q)",
			"DELETE FROM $f WHERE id = $low RETURNING $function(Q)", "WITH d AS (DELETE FROM $f WHERE id < $low RETURNING id) SELECT count(*), $function(Q) FROM d");
		# A volatile function sees which rows are changed already, and plans change them in different orders.
		push @changes, "UPDATE $f SET note = left($function(Q), 40) WHERE id BETWEEN $low AND $low + 4 RETURNING id, note", "UPDATE $f SET doc = jsonb_build_object('k', 'a', 't', $function(Q)) WHERE id BETWEEN $low AND $low + 4 RETURNING id, doc",
			"DELETE FROM $f WHERE id BETWEEN $low AND $low + 4 AND $function(Q) <> '' RETURNING id, $function(Q)" if $function eq 'stable_run';
		my $change = pick(@changes);
		return with($inner, "function $function", sub { my ($sql) = @_; my $query = quoted($sql); return ({ sql => $change =~ s/Q/$query/gr, cmp => 'set' }, digest($f)) });
	}
	if ($way < 0.95)
	{
		my $simple = pick("UPDATE $f SET doc = doc || '{\"k\": \"a\"}' WHERE jsonb_typeof(doc) = 'object' AND id % 3 = 1", "DELETE FROM $f WHERE id < $low", "INSERT INTO $f (id, r, doc) SELECT id + 4000, r, doc FROM $f WHERE id < $low");
		return with($q, 'modifying WITH', sub { my ($sql, $q) = @_; return ({ sql => "WITH d AS ($simple RETURNING id) $sql", cmp => $q->{cmp}, limited => defined $q->{limit} }, digest($f)) }) if render($q) =~ /^SELECT/;
	}
	return of_query($q) if !$inner;
	my %keys = (%$inner, items => [ map { ($q->{from} =~ /^\w+ x\b/ ? 'x.' : '') . $_ } @keys ], cmp => 'set', ($q->{from} =~ / y\b/ && $q->{from} !~ /^\w+ x\b/ ? (from => "$f x", where => []) : ()));
	my $row = '(' . join(', ', @keys) . ')';
	return with(\%keys, 'subquery of DML', sub {
		my ($sql) = @_;
		return ({ sql => pick_by($low, "UPDATE $f SET note = 'hit', doc = '{\"k\": \"b\"}' WHERE $row IN ($sql) RETURNING id", "DELETE FROM $f WHERE $row IN ($sql) RETURNING id, note", "DELETE FROM $f WHERE $row NOT IN ($sql) AND id > 50 RETURNING id",
					"INSERT INTO p (id, k) SELECT 100 + row_number() OVER (), id FROM ($sql) s RETURNING k", "UPDATE p SET k = (SELECT count(*) FROM ($sql) s) RETURNING id, k", "INSERT INTO $f (id, r, doc) SELECT s.id + 5000, 's', x.doc FROM ($sql) s JOIN $f x USING (" . join(', ', @keys) . ') RETURNING id'), cmp => 'set' }, digest($f));
	});
}

sub pick_by { my ($n, @of) = @_; return $of[ $n % @of ]; }

# with QUERY, FEATURE, STEPS: a query within something else
sub with
{
	my ($q, $feature, $wrap) = @_;
	return of_query({ %$q, features => [ @{ $q->{features} }, $feature ] }, $wrap);
}

# ---- a world

# change SESSION, OPEN, SQL…: for good, as far as it can be
sub change
{
	my ($s, $open, @sql) = @_;
	return ask($s, join "\n", map { "$_;" } @sql) if !$open;
	my $end = chance(0.8) ? 'RELEASE k;' : '';
	return ask($s, join "\n", 'SAVEPOINT k;', (map { "$_;\n\\if :ERROR\nROLLBACK TO k;\n\\endif" } @sql), $end);
}

sub one_world
{
	srand($seed);
	$world = new_world($seed);
	%prepared = ();
	$where = 'set-up';
	open $history, '>', "$PostgreSQL::Test::Utils::log_path/plain_$seed.sql" or die $!;
	my ($s, $other) = @$sessions;
	my $output = ask($s, "ROLLBACK; RESET ROLE; RESET ALL; DEALLOCATE ALL; DROP SCHEMA IF EXISTS w CASCADE; CREATE SCHEMA w;\nSET check_function_bodies = off;\n" . plain() . join "\n", map { "$_;\n\\if :ERROR\n\\echo '\@\@failed' :SQLSTATE :LAST_ERROR_MESSAGE\n\\endif" } set_up($world, 'off', @modes));
	while ($output =~ /^\@\@failed (\w+) (.*)/mg) { $total{"set-up $1"}++; note "set-up: $1 $2" if $ENV{VERBOSE}; }
	for my $step (1 .. $steps)
	{
		$where = "step $step";
		last if @differences > 4;
		my $way = rand();
		ask($s, join ' ', map { "$_;" } 'RESET ALL', "SET lock_timeout = '30s'", batch_settings($version));
		prepare($s) if keys %prepared < 8 && chance(0.5);
		if ($way < 0.3)
		{
			my $role = chance($world->{rls} ? 0.7 : 0.15);
			ask($s, 'SET ROLE plain_reader;') if $role;
			run_items($s, 0, map { my $i = item(0); $role && $i->{changes} ? () : $i } 1 .. 12);
			compare_many($s, 0, $many);
			ask($s, 'RESET ROLE;') if $role;
		}
		elsif ($way < 0.65)
		{
			my $isolation = pick('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
			ask($s, "BEGIN ISOLATION LEVEL $isolation;");
			$where .= " ($isolation)";
			ask($s, 'SET CONSTRAINTS ALL DEFERRED;') if chance(0.4);
			for (1 .. between(2, 5))
			{
				my $what = rand();
				if ($what < 0.35) { change($s, 1, dml($world)); }
				elsif ($what < 0.5) { ask($s, 'SAVEPOINT s' . between(1, 2) . ';'); change($s, 1, dml($world)); }
				elsif ($what < 0.6) { ask($s, pick('ROLLBACK TO', 'RELEASE') . ' s' . between(1, 2) . ";\n\\if :ERROR\nROLLBACK;\nBEGIN ISOLATION LEVEL $isolation;\n\\endif"); }
				elsif ($what < 0.65) { my ($can, @ddl) = @{ ddl($world) }; change($s, 1, @ddl) if $can; }
				if (chance(0.4)) { change($other, 0, 'BEGIN ISOLATION LEVEL ' . pick('READ COMMITTED', 'SERIALIZABLE'), dml($world), dml($world), pick('COMMIT', 'COMMIT', 'COMMIT', 'ROLLBACK')); }
				if (chance(0.2))
				{
					# This snapshot still sees the row that is gone, and then the one in its place, too.
					my $fact = $world->{facts}{ pick('f', 'g') };
					my $id = between(1, $fact->{last});
					change($other, 0, "DELETE FROM $fact->{name} WHERE id = $id");
					change($s, 1, same_key($world, $fact, $id));
				}
				if (chance(0.08)) { my ($can, @ddl) = @{ ddl($world) }; change($other, 0, @ddl); }
				my $role = $world->{rls} && chance(0.6);
				ask($s, 'SET ROLE plain_reader;') if $role;
				run_items($s, 1, map { my $i = item(1); $role && $i->{changes} ? () : $i } 1 .. 5);
				compare_many($s, 1, $many);
				ask($s, 'RESET ROLE;') if $role;
			}
			ask($s, pick('COMMIT', 'COMMIT', 'ROLLBACK') . ';');
		}
		elsif ($way < 0.82) { kept_step($s, $other); }
		elsif ($way < 0.92)
		{
			change($s, 0, map { dml($world) } 1 .. between(1, 3));
			run_items($s, 0, map { item(0) } 1 .. 4);
		}
		else
		{
			my ($can, @ddl) = @{ ddl($world) };
			change($s, 0, @ddl);
			run_items($s, 0, map { item(0) } 1 .. 4);
		}
	}
	$where = 'the end';
	ask($s, 'ROLLBACK; RESET ALL; SELECT indextable.drain();');
	my $verified = ask($s, 'SELECT t.index_table, v.* FROM indextable.index_tables t, indextable.verify(t.index_table) v;') =~ s/\A\n*//r;
	push @differences, "SEED=$seed: verify() finds $verified" if $verified =~ /\S/ && $verified !~ /rejected/;
	ask($s, 'DROP SCHEMA w CASCADE;');
	close $history;
	$history = undef;
	return;
}

my @seeds = $ENV{SEED} ? $ENV{SEED} : (@fixed, time() * 1000 % 1000000);
my $until = $ENV{SECONDS} ? $began + $ENV{SECONDS} : undef;
note "seeds: @seeds";
while (@seeds)
{
	$seed = shift @seeds;
	push @seeds, $seed + 1 if !@seeds && $until && time() < $until;
	@differences = ();
	my $world_began = time();
	$sessions //= [ open_session('one'), open_session('other') ];
	if (!eval { one_world(); 1 })
	{
		my @running = slurp_file($node->logfile) =~ /Failed process was running: (.*)/g;
		push @differences, "SEED=$seed, $where: $@" . join '', map { "  the server's process crashed while running $_\n" } splice @running, $crashes;
		$crashes += grep { /crashed/ } $differences[-1];
		eval { close_session($_) } for @$sessions;
		$sessions = undef;
		becomes_true($node, 'SELECT true');
	}
	note sprintf '%.1f s, %d runs', time() - $world_began, $total{runs};
	ok(!@differences, "the same answers, SEED=$seed") or diag encode('UTF-8', join "\n", @differences, "the script: plain_$seed.sql");
}
my $seconds = time() - $began;
note sprintf '%d items, %d runs, %.0f a second', $total{items}, $total{runs}, $total{runs} / $seconds;
note join ', ', map { "$_: $total{$_}" } sort keys %total;
note 'errors without index tables: ' . join ', ', map { "$_: $errors{$_}" } sort { $errors{$b} <=> $errors{$a} } keys %errors;
note 'plans with an index table, of all, by feature: ' . join ', ', map { sprintf '%s %d/%d', $_, $used{$_} // 0, ($used{$_} // 0) + ($unused{$_} // 0) } sort keys %{ { %used, %unused } };
if ($sessions) { close_session($_) for @$sessions; }
$node->stop;
done_testing();
