# Load over distributed fact tables: the tables, writers that write through all nodes whatever becomes of these, readers,
# and the oracle.

package Load;

use strict;
use warnings;
use Cluster;
use IPC::Open3;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);
use Exporter 'import';
our @EXPORT = qw(fact_tables index_tables start_load end_load pick drift backlog converged totals moment);

use constant ROWS => 3000;

# What the oracle knows of each index table: its fields by plain SQL. The columns of the query are those of the index table.
my %index_table = (
	f_k => [ 'f', "'{k}'", q{SELECT doc ->> 'k', pk FROM f WHERE doc ->> 'k' IS NOT NULL} ],
	f_v => [ 'f', q('{n::int,k}', include => '{v,@note}'), q{SELECT (doc ->> 'n')::int, doc ->> 'k', pk, doc ->> 'v', note FROM f WHERE (doc ->> 'n')::int IS NOT NULL AND doc ->> 'k' IS NOT NULL} ],
	f_d => [ 'f', "'{v}', 'denormalized'", q{SELECT doc ->> 'v', pk, doc FROM f WHERE doc ->> 'v' IS NOT NULL} ],
	f_t => [ 'f', q('{tags[*]}', include => '{n::int}'), q{SELECT e, pk, (doc ->> 'n')::int, count(*)::int FROM f, jsonb_array_elements_text(doc -> 'tags') e GROUP BY 1, 2, 3} ],
	f_s => [ 'f', q('{k}', filter => $$(doc ->> 'n')::int < 3$$), q{SELECT doc ->> 'k', pk FROM f WHERE doc ->> 'k' IS NOT NULL AND (doc ->> 'n')::int < 3} ],
	g_t => [ 'g', q('{tags[*],n::int}', include => '{v}'), q{SELECT e, (doc ->> 'n')::int, a, b, doc ->> 'v', count(*)::int FROM g, jsonb_array_elements_text(doc -> 'tags') e WHERE (doc ->> 'n')::int IS NOT NULL GROUP BY 1, 2, 3, 4, 5} ],
	g_k => [ 'g', "'{k}'", q{SELECT doc ->> 'k', a, b FROM g WHERE doc ->> 'k' IS NOT NULL} ]);

# Those beside their shards, whose key begins with the distribution column.
my %beside = (
	fl_k => [ 'f', q('{@pk,k}', include => '{v,@note}'), q{SELECT pk, doc ->> 'k', doc ->> 'v', note FROM f WHERE doc ->> 'k' IS NOT NULL} ],
	fl_d => [ 'f', q('{@pk,v}', 'denormalized'), q{SELECT pk, doc ->> 'v', doc FROM f WHERE doc ->> 'v' IS NOT NULL} ],
	gl_n => [ 'g', q('{@a,n::int}', filter => $$doc ->> 'k' <> 'k7'$$), q{SELECT a, (doc ->> 'n')::int, b FROM g WHERE (doc ->> 'n')::int IS NOT NULL AND doc ->> 'k' <> 'k7'} ],
	gl_t => [ 'g', q('{@a,tags[*]}'), q{SELECT a, e, b, count(*)::int FROM g, jsonb_array_elements_text(doc -> 'tags') e GROUP BY 1, 2, 3} ],
	gl_u => [ 'g', q('{@a,(b * 2) AS twice}', is_unique => true), q{SELECT a, b * 2, b FROM g} ],
	gl_s => [ 'g', q('{@a,n::int}', totals => '{count(*),count(k),sum(@b)}'), q{SELECT a, (doc ->> 'n')::int, count(*), count(doc ->> 'k'), count(b), sum(b) FROM g GROUP BY 1, 2},
		q{SELECT a, n, sum(rows), sum(count_k), sum(count_b), sum(sum_b) FROM gl_s GROUP BY 1, 2 HAVING sum(rows) <> 0} ],
	gl_e => [ 'g', q('{@a,tags[*]}', totals => '{count(*)}'), q{SELECT a, e, count(DISTINCT b) FROM g, jsonb_array_elements_text(doc -> 'tags') e GROUP BY 1, 2},
		q{SELECT a, tags, sum(rows) FROM gl_e GROUP BY 1, 2 HAVING sum(rows) <> 0} ]);

# Totals are in any number of entries a group: what they are together says a fourth query.
sub entries_of { my ($name) = @_; return ($index_table{$name} // $beside{$name})->[3] // "SELECT * FROM $name"; }

our %done = map { $_ => 0 } qw(transactions writes lookups wrong);
our %errors;
our %compared = map { $_ => 0 } qw(moments pairs);

sub pick { return $_[ int(rand(@_)) ]; }

# fact_tables COORDINATOR, OPTION => VALUE: two of them, one with a primary key of two columns. Options: partitioned
sub fact_tables
{
	my ($c, %option) = @_;
	my ($by_pk, $by_b) = map { $option{partitioned} ? " PARTITION BY RANGE ($_)" : '' } 'pk', 'b';
	sql($c, q{CREATE FUNCTION d(i bigint) RETURNS jsonb IMMUTABLE LANGUAGE sql AS
		$$ SELECT jsonb_build_object('k', 'k' || i % 50, 'n', i % 7, 'v', 'v' || i, 'tags', ARRAY['t' || i % 5, 't' || i % 3]) $$},
		"CREATE TABLE f (pk bigint PRIMARY KEY, doc jsonb, note text)$by_pk", "CREATE TABLE g (a text, b int, doc jsonb, PRIMARY KEY (a, b))$by_b",
		!$option{partitioned} ? () : map({ ("CREATE TABLE $_->[0]_1 PARTITION OF $_->[0] FOR VALUES FROM (MINVALUE) TO (900)", "CREATE TABLE $_->[0]_2 PARTITION OF $_->[0] FOR VALUES FROM (900) TO (2000)",
			"CREATE TABLE $_->[0]_3 PARTITION OF $_->[0] DEFAULT") } [ 'f' ], [ 'g' ]),
		"SELECT create_distributed_table('f', 'pk')", "SELECT create_distributed_table('g', 'a', colocate_with => 'none')",
		"INSERT INTO f SELECT i, d(i), 'n' || i FROM generate_series(1, " . ROWS . ') i', "INSERT INTO g SELECT 'a' || i % 97, i, d(i) FROM generate_series(1, " . ROWS . ') i');
	return;
}

# index_tables COORDINATOR, NAME…: those that are named, or all asynchronous ones
sub index_tables
{
	my ($c, @names) = @_;
	foreach my $name (@names ? @names : sort keys %index_table)
	{
		my ($fact, $fields) = @{ $index_table{$name} // $beside{$name} };
		sql($c, "SELECT indextable.create('$name', '$fact', $fields" . ($beside{$name} ? '' : ", maintenance => 'async'") . ')');
	}
	return;
}

# ---- writers

# transaction: the text of one. Some fail by rule, as two rows may want the same primary key.
sub transaction
{
	my $p = 1 + int rand ROWS;
	my $i = int rand 1_000_000;
	my $a = 'a' . int rand 97;
	return pick(
		"INSERT INTO f VALUES ($p, d($i), 'i') ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc, note = excluded.note;",
		"INSERT INTO f VALUES ($p, d($i), NULL), ($p + 1, d($i + 1), 'i'), ($p + 2, d($i + 2), 'i');",
		"UPDATE f SET doc = d($i) WHERE pk = $p;",
		"UPDATE f SET doc = d($i) WHERE pk = $p;",
		"UPDATE f SET doc = doc - 'k' WHERE pk = $p;",
		"UPDATE f SET note = 'note $i' WHERE pk = $p;",
		"UPDATE f SET doc = d($i + pk) WHERE pk BETWEEN $p AND $p + 9;",
		"DELETE FROM f WHERE pk = $p;",
		"BEGIN; UPDATE f SET doc = d($i) WHERE pk = $p; SAVEPOINT s; UPDATE f SET doc = d($i + 1) WHERE pk = $p; DELETE FROM f WHERE pk = $p + 1; ROLLBACK TO s; UPDATE f SET note = 's' WHERE pk = $p; COMMIT;",
		"BEGIN; UPDATE f SET doc = d($i) WHERE pk = $p; INSERT INTO g VALUES ('$a', $i, d($i)); ROLLBACK;",
		"BEGIN; DELETE FROM f WHERE pk = $p; INSERT INTO f VALUES ($p, d($i), 'again'); UPDATE g SET doc = d($i) WHERE a = '$a' AND b % 31 = $p % 31; COMMIT;",
		"INSERT INTO g VALUES ('$a', $p, d($i)) ON CONFLICT (a, b) DO UPDATE SET doc = excluded.doc;",
		"UPDATE g SET b = b + 1 WHERE a = '$a' AND b = (SELECT min(b) FROM g WHERE a = '$a' AND b > $p);",
		"UPDATE g SET doc = d($i + b) WHERE a = '$a';",
		"DELETE FROM g WHERE a = '$a' AND b % 13 = $p % 13;",
		"INSERT INTO g SELECT '$a', b + 100000, doc FROM g WHERE a = '$a' AND b < 100000 ON CONFLICT DO NOTHING;",
		"COPY f FROM stdin;\n" . join('', map { ROWS + $i + $_ . "\t{\"k\": \"copied\", \"n\": " . $i % 7 . ", \"tags\": [\"t1\", \"x\"]}\tcopied\n" } 1 .. 5) . "\\.\nDELETE FROM f WHERE pk BETWEEN " . ROWS . " + $i AND " . ROWS . " + $i + 4;");
}

# work: one child. Writes batches of transactions through nodes by chance until the file stop is there, or its parent is
# gone, and then what it has done into a file.
sub work
{
	my ($kind, $number, $nodes, $folder, $parent) = @_;
	srand(($ENV{SEED} // 1) * 1000 + $number);
	my (%count, %error);
	until (-e "$folder/stop" || getppid() != $parent)
	{
		my $node = pick(@$nodes);
		my $text = $kind eq 'write' ? join "\n", map { transaction() } 1 .. 20 : join "\n", map { my $k = 'k' . int rand 50; "SELECT 'lookups', count(*), count(*) FILTER (WHERE r ->> 'k' IS DISTINCT FROM '$k') FROM indextable.lookup('f_k', '{\"k\": \"$k\"}') r;" } 1 .. 5;
		my ($in, $out);
		my $pid = open3($in, $out, undef, 'psql', '-XAt', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('postgres') . ' connect_timeout=5');
		my $more = 1;
		local $SIG{PIPE} = sub { $more = 0 };
		print $in "SET statement_timeout = '60s';\n$text\n";
		close $in;
		while (my $line = <$out>)
		{
			$count{writes} += $1 if $line =~ /^(?:INSERT 0|UPDATE|DELETE|COPY) (\d+)/;
			$count{transactions}++ if $line =~ /^(?:INSERT|UPDATE|DELETE|COPY|COMMIT)/;
			$count{lookups}++, $count{wrong} += $2 if $line =~ /^lookups\|(\d+)\|(\d+)/;
			$error{"$1: " . $2 =~ s/\d+/N/gr =~ s/"[^"]*"/"…"/gr}++, next if $line =~ /(?:ERROR|FATAL):  (\w{5}): (.*)/;
			$error{'connection failed or lost'}++ if $line =~ /connection to server .* failed|server closed the connection/;
		}
		close $out;
		waitpid $pid, 0;
		sleep(0.2) if $?;
	}
	append_to_file("$folder/done.$$", join '', (map { "$_\t$count{$_}\n" } keys %count), map { "error\t$_\t$error{$_}\n" } keys %error);
	return;
}

my ($folder, @children, $loads);

# start_load NODES, WRITERS: they write until end_load(), and one more looks up
sub start_load
{
	my ($nodes, $writers) = @_;
	$folder = PostgreSQL::Test::Utils::tempdir;
	@children = ();
	my $parent = $$;
	foreach my $number (0 .. $writers)
	{
		my $pid = fork // die;
		if ($pid == 0)
		{
			eval { work($number ? 'write' : 'read', $number + 100 * ++$loads, $nodes, $folder, $parent) };
			warn $@ if $@;
			POSIX::_exit(0);    # without what the parent does at its end, such as stopping the servers
		}
		push @children, $pid;
	}
	$loads++;
	return;
}

sub end_load
{
	append_to_file("$folder/stop", '');
	waitpid $_, 0 for @children;
	foreach my $file (glob "$folder/done.*")
	{
		foreach (split /\n/, slurp_file($file))
		{
			my ($what, @value) = split /\t/;
			if ($what eq 'error') { $errors{ $value[0] } += $value[1]; }
			else { $done{$what} += $value[0]; }
		}
	}
	return;
}

# ---- the oracle

# backlog COORDINATOR: how many changes are queued
sub backlog
{
	my ($c) = @_;
	my $queues = sql($c, 'SELECT DISTINCT queue::regclass FROM indextable_internal.fact ORDER BY 1');
	return sql($c, 'SELECT ' . join ' + ', map { "(SELECT count(*) FROM $_)" } split /\n/, $queues);
}

# drift COORDINATOR: what index tables lack or have too much, and how many facts and entries there are. What the oracle
# compares are copies of what Citus gives, made while nobody writes, so that the comparison is PostgreSQL's own.
sub drift
{
	my ($c) = @_;
	my @names = split /\n/, sql($c, "SELECT relname FROM pg_class JOIN indextable.index_tables ON index_table = oid ORDER BY 1");
	my $text = join '', "SET indextable.planner = off;\n", map { "CREATE TEMP TABLE $_ AS SELECT * FROM public.$_;\n" } 'f', 'g', @names;
	foreach my $name (@names)
	{
		my $query = ($index_table{$name} // $beside{$name})->[2];
		my $entries = entries_of($name);
		$text .= "SELECT '$name missing', count(*), min(x::text), max(x::text) FROM ($query EXCEPT ALL $entries) x;\nSELECT '$name extra', count(*), min(x::text), max(x::text) FROM ($entries EXCEPT ALL $query) x;\n";
	}
	$text .= "SELECT 'facts', (SELECT count(*) FROM f) + (SELECT count(*) FROM g);\nSELECT 'entries', " . join(' + ', map { "(SELECT count(*) FROM $_)" } @names) . ";\n";
	my %drift = (missing => 0, extra => 0, tables => scalar @names, where => '');
	foreach (split /\n/, $c->safe_psql('postgres', $text))
	{
		my ($name, $kind, $n) = /^(?:(\w+) )?(\w+)\|(\d+)(\||$)/ or next;
		$drift{$kind} += $n;
		$drift{where} .= "$_\n" if $name && $n;
	}
	return \%drift;
}

# pair_queries NODE: for each shard of this node and each index table beside it, a query of the entries that it lacks, and
# those that are too many
sub pair_queries
{
	my ($node) = @_;
	my @queries;
	foreach my $name (sort keys %beside)
	{
		my ($fact, undef, $query) = @{ $beside{$name} };
		foreach (split /\n/, sql($node, "SELECT x.shardid, y.shardid FROM pg_dist_shard x JOIN pg_dist_shard y USING (shardminvalue) JOIN pg_dist_placement p ON p.shardid = x.shardid
			JOIN pg_dist_placement q ON q.shardid = y.shardid AND q.groupid = p.groupid JOIN pg_dist_local_group g ON g.groupid = p.groupid
			WHERE x.logicalrelid = to_regclass('$fact') AND y.logicalrelid = to_regclass('$name')"))
		{
			my ($x, $y) = split /\|/;
			my $rows = $query =~ s/FROM $fact\b/FROM ${fact}_$x $fact/r;
			my $entries = entries_of($name) =~ s/FROM $name\b/FROM ${name}_$y/r;
			push @queries, "SELECT '$name ${fact}_$x', (SELECT count(*) FROM ($rows EXCEPT ALL $entries) x), (SELECT count(*) FROM ($entries EXCEPT ALL $rows) x)";
		}
	}
	return @queries;
}

# moment NODE…: what is wrong now on any of them, while others write: each pair of shards is compared in one snapshot
sub moment
{
	my (@nodes) = @_;
	my @wrong;
	foreach my $node (@nodes)
	{
		my $text = "SET indextable.planner = off;\n" . join '', map { "$_;\n" } pair_queries($node);
		my ($status, $out, $err) = $node->psql('postgres', $text, on_error_stop => 0);
		foreach (split /\n/, $out)
		{
			my ($pair, $missing, $extra) = split /\|/;
			$compared{pairs}++;
			push @wrong, $node->name . ": $pair lacks $missing, has $extra too many" if $missing || $extra;
		}
		# a shard that has just been moved or split away
		push @wrong, $node->name . ": $_" for grep { /ERROR/ && !/does not exist/ } split /\n/, $err;
	}
	$compared{moments}++;
	return join "\n", @wrong;
}

# converged COORDINATOR, NAME: the tests that all becomes applied, by whoever does that, and that nothing is missing then
# and nothing too much
sub converged
{
	my ($c, $name) = @_;
	my $until = time() + ($ENV{PG_TEST_TIMEOUT_DEFAULT} // 900);
	my $backlog;
	sleep 0.2 while ($backlog = backlog($c)) && time() < $until;
	is($backlog, 0, "$name: all changes are applied") || diag sql($c, 'TABLE indextable.queues');
	my $drift = drift($c);
	is($drift->{where}, '', "$name: nothing missing, nothing too much in $drift->{tables} index tables, $drift->{facts} facts, $drift->{entries} entries");
	return $drift;
}

# totals: what all loads have done
sub totals { return (\%done, \%errors); }

1;
