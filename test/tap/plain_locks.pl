# Statements that lock or write the rows that they find do what they do natively while another session writes the same rows:
# isolationtester runs each permutation with indextable.planner = off and = force, and its outputs must be the same.
#
#   FOR   only the statements whose names match

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

chomp(my $pgxs = `pg_config --pgxs`);
my $tester = $pgxs =~ s{makefiles/pgxs\.mk$}{test/isolation/isolationtester}r;
plan skip_all => "there is no $tester" if !-x $tester;

my $node = new_server('plain_locks', "shared_preload_libraries = 'indextable'", 'indextable.max_workers = 0', 'indextable.advice = off', 'autovacuum = off');
my ($version) = $node->safe_psql('postgres', 'SHOW server_version') =~ /^(\d+)/;
$node->safe_psql('postgres', 'CREATE EXTENSION indextable');

# Rows 1 and 2 have the key a, row 3 has b; the index on h makes updates of it others than HOT ones.
my $setup = <<'SQL';
	CREATE TABLE f (id int, r text, n int DEFAULT 0, h int DEFAULT 0, doc jsonb, PRIMARY KEY (id, r)) PARTITIONED;
	PARTITIONS
	CREATE INDEX ON f (h);
	CREATE TABLE o (k text, v int);
	CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN IF new.n = 77 THEN UPDATE f SET h = 5 WHERE id = new.id; END IF; RETURN new; END $$;
	CREATE TRIGGER again BEFORE UPDATE ON f FOR EACH ROW EXECUTE FUNCTION again();
	DO $$ BEGIN PERFORM indextable.create('f_k', 'f', '{k, p::int}'); PERFORM indextable.create('f_p', 'f', '{p::int}'); END $$;
SQL
my $rows = <<'SQL';
	DELETE FROM f;
	DELETE FROM o;
	INSERT INTO f (id, r, doc) VALUES (1, 'p', '{"k": "a", "p": 1}'), (2, 'q', '{"k": "a", "p": 2}'), (3, 'p', '{"k": "b", "p": 3}');
	INSERT INTO f (id, r, doc) SELECT i, 'p', jsonb_build_object('k', 'c' || i, 'p', i) FROM generate_series(10, 99) i;
	INSERT INTO o VALUES ('a', 10), ('z', 20);
SQL

# What the other session has done, and commits or rolls back while the statement waits.
my %others = (
	away => q(UPDATE f SET doc = doc || '{"k": "z"}' WHERE id = 1),
	in => q(UPDATE f SET doc = doc || '{"k": "a"}' WHERE id = 3),
	back => q(UPDATE f SET doc = doc || '{"k": "z"}' WHERE id = 1; UPDATE f SET doc = doc || '{"k": "a"}' WHERE id = 1),
	ordered => q(UPDATE f SET doc = doc || '{"p": 9}' WHERE id = 1),
	hot => 'UPDATE f SET n = 5 WHERE id IN (1, 3)',
	cold => 'UPDATE f SET h = 5 WHERE id IN (1, 3)',
	key => 'UPDATE f SET id = 101 WHERE id = 1',
	moved => q(UPDATE f SET r = 'q' WHERE id = 1),
	deleted => 'DELETE FROM f WHERE id = 1',
	inserted => q(INSERT INTO f (id, r, doc) VALUES (4, 'p', '{"k": "a", "p": 0}')),
	replaced => q(DELETE FROM f WHERE id = 1; INSERT INTO f (id, r, doc) VALUES (1, 'p', '{"k": "a", "p": 1}')),
	joined => q(UPDATE o SET v = 11, k = CASE k WHEN 'z' THEN 'a' ELSE k END),
	locked => q(SELECT id FROM f WHERE id = 1 FOR UPDATE),
	shared => q(SELECT id FROM f WHERE id = 1 FOR SHARE),
);

my $k = q(doc ->> 'k' = 'a');
my %statements = (
	update => "UPDATE f SET n = n + 1 WHERE $k RETURNING id, r, n, h, doc",
	leave => qq(UPDATE f SET doc = doc || '{"k": "b"}' WHERE $k AND h < 3 RETURNING id, n, h, doc),
	trigger => "UPDATE f SET n = 77 WHERE $k RETURNING id",
	forward => q(UPDATE f SET doc = doc || jsonb_build_object('p', (doc ->> 'p')::int + 1) WHERE (doc ->> 'p')::int BETWEEN 1 AND 50 AND id < 5 RETURNING id, doc),
	delete => "DELETE FROM f WHERE $k RETURNING id, n, h, tableoid::regclass",
	for_update => "SELECT id, r, n, h, doc FROM f WHERE $k ORDER BY (doc ->> 'p')::int FOR UPDATE",
	for_share => "SELECT id, n, h FROM f WHERE $k ORDER BY id FOR SHARE",
	for_key => "SELECT id, n, h FROM f WHERE $k ORDER BY id FOR NO KEY UPDATE",
	skip => "SELECT id, doc FROM f WHERE $k ORDER BY (doc ->> 'p')::int LIMIT 1 FOR UPDATE SKIP LOCKED",
	limit => "SELECT id, doc FROM f WHERE $k ORDER BY (doc ->> 'p')::int LIMIT 1 FOR UPDATE",
	nowait => "SELECT id, doc FROM f WHERE $k FOR UPDATE NOWAIT",
	queue => "UPDATE f SET n = 9 WHERE (id, r) = (SELECT id, r FROM f WHERE $k ORDER BY (doc ->> 'p')::int LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, n, doc",
	subquery => "SELECT * FROM (SELECT id, doc FROM f WHERE $k FOR UPDATE) s WHERE id < 100 ORDER BY id",
	with => "WITH d AS (DELETE FROM f WHERE $k RETURNING *) INSERT INTO f SELECT id + 1000, r, n, h, doc FROM d RETURNING id, r, n, h, doc",
	from => "UPDATE f SET n = v FROM o WHERE o.k = doc ->> 'k' RETURNING id, n, h, v",
	using => "DELETE FROM f USING o WHERE o.k = doc ->> 'k' RETURNING id, n, v",
	joined => "UPDATE o SET v = v + id FROM f WHERE o.k = doc ->> 'k' AND id <> 2 RETURNING o.k, v, id, f.n, h",
	joined_locks => "SELECT id, f.n, v FROM o JOIN f ON o.k = doc ->> 'k' ORDER BY id FOR UPDATE OF o",
	both_locks => "SELECT id, f.n, v FROM o LEFT JOIN f ON o.k = doc ->> 'k' ORDER BY id FOR UPDATE OF o",
	all_locks => "SELECT id, f.n, v FROM o JOIN f ON o.k = doc ->> 'k' ORDER BY id FOR UPDATE",
	two_locks => "SELECT f.id, g.id AS g, f.n, g.n AS m FROM f JOIN f g ON g.r = f.r AND g.id <> f.id WHERE f.doc ->> 'k' = 'a' AND g.id < 10 ORDER BY f.id, g.id FOR UPDATE",
	locks_of_o => "SELECT id, f.n, v FROM f LEFT JOIN o ON o.k = doc ->> 'k' WHERE $k AND v < 20 ORDER BY id FOR UPDATE OF o FOR SHARE OF f",
	self => "UPDATE f SET n = g.n + 1 FROM f g WHERE f.doc ->> 'k' = 'a' AND g.doc ->> 'k' = f.doc ->> 'k' AND g.id = 2 RETURNING f.id, f.n, g.id, g.n",
	inside => "UPDATE o SET v = (SELECT count(*) FROM f WHERE doc ->> 'k' = o.k) RETURNING k, v",
	exists => "DELETE FROM o WHERE EXISTS (SELECT FROM f WHERE doc ->> 'k' = o.k AND f.n = 0) RETURNING k",
	merge => "MERGE INTO f USING o ON o.k = doc ->> 'k' WHEN MATCHED AND n = 5 THEN DELETE WHEN MATCHED THEN UPDATE SET n = v WHEN NOT MATCHED THEN INSERT (id, r, doc) VALUES (v + 500, 'p', jsonb_build_object('k', o.k, 'p', v))",
	upsert => q(INSERT INTO f (id, r, doc) SELECT id, r, doc || '{"k": "u"}' FROM f WHERE doc ->> 'k' = 'a' ON CONFLICT (id, r) DO UPDATE SET doc = excluded.doc WHERE f.h = 0 RETURNING id, doc),
	cursor => "DECLARE c CURSOR FOR SELECT id, doc FROM f WHERE $k ORDER BY (doc ->> 'p')::int FOR UPDATE; FETCH c; UPDATE f SET n = 33 WHERE CURRENT OF c RETURNING id, n; FETCH ALL FROM c; DELETE FROM f WHERE CURRENT OF c",
);
delete $statements{$_} for grep { defined $ENV{FOR} && $_ !~ /^(?:$ENV{FOR})$/ } keys %statements;

# create PARTITIONS: makes the tables
sub create
{
	my ($partitions) = @_;
	my $partition = q(CREATE TABLE f_of_q (doc jsonb, h int DEFAULT 0, n int DEFAULT 0, r text NOT NULL, id int NOT NULL); ALTER TABLE f ATTACH PARTITION f_of_q FOR VALUES IN ('q'); CREATE TABLE f_of_p PARTITION OF f FOR VALUES IN ('p'););
	$node->safe_psql('postgres', 'DROP TABLE IF EXISTS f, o CASCADE; DROP FUNCTION IF EXISTS again;' . $setup =~ s/PARTITIONED/$partitions ? 'PARTITION BY LIST (r)' : ''/er =~ s/PARTITIONS/$partitions ? $partition : ''/er);
	return;
}

# spec: what isolationtester is to do
sub spec
{
	my $text = "setup\n{\n$rows}\n"
	  . "session a\nstep abegin { BEGIN; }\n" . join('', map { "step a$_ { $others{$_}; }\n" } sort keys %others) . "step acommit { COMMIT; }\nstep arollback { ROLLBACK; }\n"
	  . "session b\nsetup { SET enable_hashjoin = off; SET enable_mergejoin = off; }\n" . join('', map { "step brc$_ { BEGIN ISOLATION LEVEL $_; SELECT count(*) FROM o; }\n" =~ s/brc(\w+) (\w+)/"brc" . $1 . $2/er } 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')
	  . join('', map { "step b$_ { $statements{$_}; }\n" } sort keys %statements) . "step bcommit { COMMIT; }\n"
	  . "session c\nstep clook { SET indextable.planner = off; SELECT *, tableoid::regclass FROM f WHERE id < 10 OR id > 99 ORDER BY id, r; SELECT * FROM o ORDER BY k, v;\n"
	  . q(SELECT count(*) AS drift FROM ((TABLE f_k EXCEPT ALL SELECT doc ->> 'k', (doc ->> 'p')::int, id, r FROM f WHERE doc ?& '{k, p}') UNION ALL (SELECT doc ->> 'k', (doc ->> 'p')::int, id, r FROM f WHERE doc ?& '{k, p}' EXCEPT ALL TABLE f_k)) d; }) . "\n";
	foreach my $statement (sort keys %statements)
	{
		foreach my $other (sort keys %others)
		{
			$text .= "permutation abegin a$other brcREADCOMMITTED b$statement acommit bcommit clook\n";
			$text .= "permutation abegin a$other brcREADCOMMITTED b$statement arollback bcommit clook\n" if $other =~ /^(?:away|in)$/;
			next if $other !~ /^(?:away|in|cold|deleted|inserted|moved|joined)$/ || $statement !~ /^(?:update|for_update|skip|from|joined|inside|merge)$/;
			$text .= "permutation brcREPEATABLEREAD abegin a$other b$statement acommit bcommit clook\n";
			$text .= "permutation brcSERIALIZABLE abegin a$other acommit b$statement bcommit clook\n";
		}
	}
	# isolationtester ends a step at the first brace.
	my $object = sub { my ($pairs) = @_; return 'jsonb_build_object(' . $pairs =~ s/"(\w+)"/'$1'/gr =~ s/:/,/gr . ')'; };
	return $text =~ s/'\{(".*?)\}'/$object->($1)/ger =~ s/'\{(\w.*?)\}'/"ARRAY['" . $1 =~ s{, }{', '}gr . "']"/ger;
}

foreach my $partitions (0, 1)
{
	create($partitions);
	my $spec = spec();
	my $what = $partitions ? 'a partitioned table' : 'a plain table';
	my %output;
	foreach my $mode ('off', 'force')
	{
		local $ENV{PGOPTIONS} = "-c indextable.planner=$mode -c jit=off";
		my $errors = '';
		IPC::Run::run([ $tester, $node->connstr('postgres') ], '<', \$spec, '>', \$output{$mode}, '2>', \$errors) or fail("$what: isolationtester with $mode: $errors");
		is($errors, '', "$what, $mode: isolationtester has nothing to complain of") if $errors !~ /^\s*$/;
	}
	my ($off, $force) = map { [ split /^(?=starting permutation: )/m, $output{$_} ] } 'off', 'force';
	my @different = grep { $off->[$_] ne ($force->[$_] // '') } 0 .. $#$off;
	is(scalar(@different), 0, "$what: " . $#$off . ' permutations end as they do natively');
	is(scalar(grep { !/^drift\n-+\n +0\n/m } @$off[ 1 .. $#$off ]), 0, "$what: no index table has drifted");
	for my $n (grep { defined } @different[ 0 .. 4 ]) { diag "natively:\n$off->[$n]\nwith index tables:\n" . ($force->[$n] // ''); }
}

# What is compared has used them. Of a partitioned table, other statements that lock or write its rows are native.
foreach my $partitions (0, 1)
{
	create($partitions);
	foreach my $statement (grep { !/queue|cursor|upsert/ } sort keys %statements)
	{
		my $plan = $node->safe_psql('postgres', "SET enable_hashjoin = off; SET enable_mergejoin = off; SET indextable.planner = force; EXPLAIN (COSTS OFF) $statements{$statement}");
		my $late = $statement =~ /^(?:update|leave|trigger|delete|for_\w+|skip|limit|nowait|two_locks|locks_of_o)$/;
		next if $partitions && !$late;
		like($plan, $partitions ? qr/Custom Scan \(IndexTableLate\)/ : qr/Custom Scan \(IndexTable\) on f/, ($partitions ? 'partitioned: ' : '') . "$statement uses an index table");
	}
}
$node->stop;
done_testing();
