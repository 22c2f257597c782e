# A fact table whose partitions are on two other servers, and one here: look-ups contact the servers that hold matches, and
# no others; writes, moves, TRUNCATE, ATTACH and DETACH keep the index tables in step; what is written directly over there is
# found by verify() and mended by repair(); and what works while a server is stopped. A recompute in plain SQL is the oracle.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $c = new_server('coordinator', 'max_prepared_transactions = 5', 'indextable.check_interval = 0');
my %shard = map { $_ => new_server($_, "log_statement = 'all'", 'log_min_duration_statement = -1') } ('s1', 's2');
plan skip_all => 'postgres_fdw is not installed'
	unless $c->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");
my $version = $c->safe_psql('postgres', "SELECT current_setting('server_version_num')::int / 10000");

# ---- the tables

my %tables = (s1 => [ 'f0', 'f2' ], s2 => [ 'f1', 'f3' ]);
for my $name (sort keys %shard)
{
	$shard{$name}->safe_psql('postgres', "CREATE TABLE $_ (id int PRIMARY KEY, doc jsonb, note text)") for @{ $tables{$name} }, 'spare';
	$shard{$name}->safe_psql('postgres', 'CREATE TABLE g_' . $name . ' (r text, id int, doc jsonb, PRIMARY KEY (r, id))');
}
my $servers = join '', map { "CREATE SERVER $_ FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '" . $shard{$_}->host . "', port '" . $shard{$_}->port . "', dbname 'postgres', async_capable 'true');\n"
	  . "CREATE USER MAPPING FOR PUBLIC SERVER $_ OPTIONS (user '" . $shard{$_}->safe_psql('postgres', 'SELECT current_user') . "', password_required 'false');\n" } sort keys %shard;
$c->safe_psql('postgres', <<"SQL");
CREATE EXTENSION indextable;
CREATE EXTENSION postgres_fdw;
$servers
CREATE TABLE f (id int NOT NULL, doc jsonb, note text) PARTITION BY HASH (id);
CREATE TABLE fl (note text, id int PRIMARY KEY, doc jsonb);
ALTER TABLE f ATTACH PARTITION fl FOR VALUES WITH (MODULUS 5, REMAINDER 4);
CREATE FOREIGN TABLE f0 PARTITION OF f FOR VALUES WITH (MODULUS 5, REMAINDER 0) SERVER s1;
CREATE FOREIGN TABLE f1 PARTITION OF f FOR VALUES WITH (MODULUS 5, REMAINDER 1) SERVER s2;
CREATE FOREIGN TABLE f2 (doc jsonb, note text, id int NOT NULL) SERVER s1;
ALTER TABLE f ATTACH PARTITION f2 FOR VALUES WITH (MODULUS 5, REMAINDER 2);
CREATE FOREIGN TABLE f3 PARTITION OF f FOR VALUES WITH (MODULUS 5, REMAINDER 3) SERVER s2;
CREATE FUNCTION d(i int) RETURNS jsonb IMMUTABLE LANGUAGE sql AS
\$\$ SELECT jsonb_build_object('k', 'k' || i % 10, 'u', i, 't', ARRAY['t' || i % 3, 't' || i % 4]) \$\$;
-- which partition has a row: as the server says, whatever its hash function
CREATE FUNCTION part(i int) RETURNS text LANGUAGE sql AS
\$\$ SELECT p FROM (VALUES ('f0', 0), ('f1', 1), ('f2', 2), ('f3', 3), ('fl', 4)) v (p, r) WHERE satisfies_hash_partition('f'::regclass, 5, r, i) \$\$;
CREATE FUNCTION number_in(p text, lowest int DEFAULT 1) RETURNS int LANGUAGE sql AS
\$\$ SELECT min(i) FROM generate_series(lowest, lowest + 1000) i WHERE part(i) = p \$\$;
INSERT INTO f SELECT i, d(i), 'n' || i FROM generate_series(1, 100) i;
SQL

sub sql { return $c->safe_psql('postgres', $_[0]); }

# fails SQL, PATTERN, NAME: what is said when it does not work
sub fails
{
	my ($sql, $pattern, $name) = @_;
	my ($status, $out, $err) = $c->psql('postgres', "\\set VERBOSITY verbose\n$sql");
	return like($err, $pattern, $name);
}

# number PART: of a row that would be in this partition
sub number { return sql("SELECT number_in('$_[0]', " . ($_[1] // 1) . ')'); }

fails("SELECT indextable.create('f_k', 'f', '{k}')", qr/55000: +table "f" has no primary key.*primary_key =>/s, 'the key has to be named');
fails("SELECT indextable.create('f_k', 'f', '{k}', primary_key => '{note}')", qr/42P16: .*allows nulls/s, 'a key is not null');
fails("ALTER TABLE f ALTER note SET NOT NULL; SELECT indextable.create('f_k', 'f', '{k}', primary_key => '{note}')", qr/partition "fl" has no primary key|all columns that the table is partitioned by/, 'a key has the partition key');
sql('ALTER TABLE f ALTER note DROP NOT NULL');
my ($status, $out, $err) = $c->psql('postgres', "SELECT indextable.create('f_k', 'f', '{k}', primary_key => '{id}')");
like($err, qr/WARNING:.*other servers\n.*not atomic.*\n.*verify/, 'create() warns');
sql(<<'SQL');
SET client_min_messages = error;
BEGIN;
SELECT indextable.create('f_u', 'f', '{u::int}', is_unique => true), indextable.create('f_d', 'f', '{k,u::int}', 'denormalized');
SELECT indextable.create('f_t', 'f', '{t[*]}', include => '{u,@note}');
COMMIT;
CREATE VIEW drift AS
WITH f AS MATERIALIZED (SELECT id, doc, note FROM f),
	k AS (SELECT doc ->> 'k', id FROM f),
	u AS (SELECT (doc ->> 'u')::int, id FROM f WHERE doc ->> 'u' IS NOT NULL),
	d AS (SELECT doc ->> 'k', (doc ->> 'u')::int, id, doc FROM f),
	t AS (SELECT e, id, doc ->> 'u', note, count(*)::int FROM f, jsonb_array_elements_text(doc -> 't') e GROUP BY 1, 2, 3, 4)
SELECT 'f_k missing' AS what, count(*) AS n FROM (TABLE k EXCEPT ALL TABLE f_k) x
UNION ALL SELECT 'f_k extra', count(*) FROM (TABLE f_k EXCEPT ALL TABLE k) x
UNION ALL SELECT 'f_u missing', count(*) FROM (TABLE u EXCEPT ALL TABLE f_u) x
UNION ALL SELECT 'f_u extra', count(*) FROM (TABLE f_u EXCEPT ALL TABLE u) x
UNION ALL SELECT 'f_d missing', count(*) FROM (TABLE d EXCEPT ALL TABLE f_d) x
UNION ALL SELECT 'f_d extra', count(*) FROM (TABLE f_d EXCEPT ALL TABLE d) x
UNION ALL SELECT 'f_t missing', count(*) FROM (TABLE t EXCEPT ALL TABLE f_t) x
UNION ALL SELECT 'f_t extra', count(*) FROM (TABLE f_t EXCEPT ALL TABLE t) x;
SQL

# in_step NAME: by the oracle, and by verify() of all in one transaction
sub in_step
{
	my ($name) = @_;
	drift_free($c, $name);
	is(sql('SELECT v.* FROM indextable.index_tables i, indextable.verify(i.index_table) v WHERE i.fact_table::text = \'f\''), '', "$name: verify() says the same");
	return;
}

sub mend { my $found = ''; $found .= sql("CALL indextable.repair('$_')") . ' ' for 'f_k', 'f_u', 'f_d', 'f_t'; return $found; }

in_step('made over what is there');
fails("SELECT indextable.create('f_a', 'f', '{k}', maintenance => 'async')", qr/3F000: .*schema "indextable_internal".*server "s[12]"/s, 'no queue without the extension over there');
fails("SELECT indextable.alter('f_k', maintenance => 'async')", qr/3F000: .*schema "indextable_internal".*server "s[12]"/s, 'nor by alter()');

# ---- look-ups

# contacted SQL: the answer, and how many queries each table was asked over there
sub contacted
{
	my ($sql) = @_;
	my %before = map { $_ => -s $shard{$_}->logfile } keys %shard;
	my $answer = sql($sql);
	my @asked;
	for my $name (sort keys %shard)
	{
		my $log = substr(slurp_file($shard{$name}->logfile), $before{$name});
		push @asked, "$name $_" for sort $log =~ /FROM public\.(\w+)/g;
		push @asked, "$name began" if $log =~ /START TRANSACTION/ && $log !~ /FROM public/;
	}
	return ($answer, join(', ', @asked));
}

for my $p ('f0', 'f1', 'f2', 'f3', 'fl')
{
	my $i = number($p);
	my ($answer, $asked) = contacted("SELECT * FROM indextable.lookup('f_u', '{\"u\": $i}')");
	is($answer, sql("SELECT d($i)"), "a row in $p is found");
	my ($server) = grep { my $s = $_; grep { $_ eq $p } @{ $tables{$s} } } keys %tables;
	is($asked, $server ? "$server $p" : '', "only its server is asked: $p");
}
my ($i, $k) = (number('f0'), number('f2'));
sql("UPDATE f SET doc = doc || '{\"k\": \"both\"}' WHERE id IN ($i, $k, (SELECT number_in('fl')))");
my ($answer, $asked) = contacted("SELECT id FROM indextable.lookup(NULL::f, 'f_k', '{\"k\": \"both\"}')");
is($answer, join("\n", sort { $a <=> $b } $i, $k, number('fl')), 'rows of three partitions, in the order of the index table');
is($asked, 's1 f0, s1 f2', 'two of them on one server, each asked once');
($answer, $asked) = contacted("SELECT count(*), count(DISTINCT id) FROM indextable.lookup(NULL::f, 'f_t', '{\"t\": \"t1\"}')");
is($answer, sql(q{SELECT count(*), count(*) FROM f WHERE doc -> 't' ? 't1'}), 'each row once');
is($asked, 's1 f0, s1 f2, s2 f1, s2 f3', 'each partition once, with all its keys');
is((contacted("SELECT count(*) FROM indextable.lookup('f_d', '{\"k\": \"k3\"}')"))[1], '', 'a copy needs no server');
is((contacted("SELECT count(*) FROM f_t WHERE t = 't1'"))[1], '', 'nor do included fields');
is((contacted("SELECT count(*) FROM indextable.lookup('f_k', '{\"k\": \"nothing\"}')"))[1], '', 'nor does a key without entries');

($answer, $asked) = contacted("SELECT string_agg(document ->> 'u', ' ') FROM indextable.query('f_k', '{\"k\": \"k3\"}', with_document => true)");
is($answer, sql("SELECT string_agg(u::text, ' ') FROM f_d WHERE k = 'k3'"), 'a page of query()');
unlike($asked, qr/(f\d), .*\1/, 'asks each partition once');

# composite keys
sql(<<'SQL');
SET client_min_messages = error;
CREATE TABLE g (r text NOT NULL, id int NOT NULL, doc jsonb) PARTITION BY LIST (r);
CREATE FOREIGN TABLE g1 PARTITION OF g FOR VALUES IN ('a', 'b''\') SERVER s1 OPTIONS (table_name 'g_s1');
CREATE FOREIGN TABLE g2 PARTITION OF g FOR VALUES IN ('c') SERVER s2 OPTIONS (table_name 'g_s2');
CREATE TABLE gl PARTITION OF g (PRIMARY KEY (r, id)) FOR VALUES IN ('d');
SELECT indextable.create('g_k', 'g', '{k}', primary_key => '{r,id}');
INSERT INTO g SELECT (ARRAY['a', 'b''\', 'c', 'd'])[1 + i % 4], i, jsonb_build_object('k', i % 5, 'i', i) FROM generate_series(1, 2000) i;
SQL
is(sql(q{SELECT count(*), sum(id), count(DISTINCT r) FROM indextable.lookup(NULL::g, 'g_k', '{"k": "3"}')}), sql(q{SELECT count(*), sum(id), count(DISTINCT r) FROM g WHERE doc ->> 'k' = '3'}),
	'keys of two columns, and more of them than one statement asks for');
sql(q{UPDATE g SET doc = '{"k": "one"}' WHERE id = 2 OR id = 6});
is((contacted(q{SELECT count(*) FROM indextable.lookup('g_k', '{"k": "one"}')}))[1], 's2 g_s2', 'only the server concerned');
sql("DELETE FROM g; INSERT INTO g VALUES ('b''\\', 1, '{\"k\": \"quoted\"}')");
is(sql(q{SELECT r FROM indextable.lookup(NULL::g, 'g_k', '{"k": "quoted"}')}), "b'\\", 'quotes in a key');

# privileges and row security are the caller's
sql(<<'SQL');
CREATE ROLE reader;
CREATE ROLE stranger;
GRANT SELECT ON f, f_u, f_k TO reader;
GRANT SELECT ON f_u TO stranger;
SQL
is(sql("SET ROLE reader; SELECT count(*) FROM indextable.lookup('f_u', '{\"u\": $i}')"), '1', 'who may read the fact table needs no rights on partitions');
fails("SET ROLE stranger; SELECT * FROM indextable.lookup('f_u', '{\"u\": $i}')", qr/42501/, 'who may not is refused');
sql("ALTER TABLE f ENABLE ROW LEVEL SECURITY; CREATE POLICY even ON f FOR SELECT USING (id % 2 = 0)");
is(sql("SET ROLE reader; SELECT count(*) FILTER (WHERE id % 2 = 1), count(*) = (SELECT count(*) FROM f WHERE doc ->> 'k' IN ('k2', 'k3')) FROM (SELECT id FROM indextable.lookup(NULL::f, 'f_k', '{\"k\": \"k2\"}') UNION ALL SELECT id FROM indextable.lookup(NULL::f, 'f_k', '{\"k\": \"k3\"}')) x"),
	'0|t', 'row security holds');
sql('ALTER TABLE f DISABLE ROW LEVEL SECURITY');

# Who may read a foreign partition, its server decides.
$shard{$_}->safe_psql('postgres', 'CREATE ROLE guest LOGIN') for sort keys %shard;
sql("CREATE ROLE outsider; GRANT SELECT ON f TO outsider; " . join '; ', map { "CREATE USER MAPPING FOR outsider SERVER $_ OPTIONS (user 'guest', password_required 'false')" } sort keys %shard);
$i = number('f0');
fails("SET ROLE outsider; SELECT * FROM indextable.$_", qr/42501: +permission denied for table f0/, "$_ by a role that is none over there")
	for "lookup('f_k', '{\"k\": \"both\"}')", "lookup('f_d', '{\"k\": \"both\"}')", "lookup('f_u', '{\"u\": $i}')";
fails("SET ROLE outsider; SELECT * FROM indextable.$_", qr/42501: +permission denied for table f_[kd]/, "$_ by a role that is none over there")
	for "query('f_k')", "query('f_d', with_document => true)";
is(sql("SET ROLE outsider; SELECT * FROM indextable.lookup('f_d', jsonb_build_object('k', 'both', 'u', (SELECT number_in('fl'))))"), sql("SELECT doc FROM f WHERE id = (SELECT number_in('fl'))"), 'a row that is here');
sql('GRANT SELECT ON f_d TO outsider');
is(sql("SET ROLE outsider; SELECT count(*) FROM indextable.lookup('f_d', '{\"k\": \"both\"}')"), 3, 'with the right on copies');
sql('CREATE ROLE tenant; GRANT CREATE ON SCHEMA public TO tenant; CREATE TABLE theirs (id int NOT NULL, doc jsonb) PARTITION BY RANGE (id);'
	  . "CREATE FOREIGN TABLE theirs_0 PARTITION OF theirs DEFAULT SERVER s1 OPTIONS (table_name 'spare'); ALTER TABLE theirs OWNER TO tenant");
fails("SET ROLE tenant; SELECT indextable.create('theirs_k', 'theirs', '{k}', primary_key => '{id}')", qr/42501: +foreign partition "theirs_0" belongs to another role/,
	'a partition that would be read with the rights of another');
sql('DROP TABLE theirs; DROP OWNED BY tenant');
sql('DROP OWNED BY outsider');

# ---- writes

sql('INSERT INTO f SELECT i, d(i) FROM generate_series(101, 150) i');
sql("UPDATE f SET doc = d(id + 1000) WHERE id % 3 = 0");
sql('DELETE FROM f WHERE id % 7 = 0');
sql("UPDATE f1 SET doc = doc || '{\"k\": \"leaf\"}'; DELETE FROM f2 WHERE id % 2 = 0");
my $copy = join '', map { "$_\\t{\"k\": \"copied\"}\\tc\n" } 901 .. 920;
$copy =~ s/\\t/\t/g;
$c->safe_psql('postgres', "COPY f FROM stdin;\n$copy\\.\n");
in_step('inserted, updated, deleted, copied');
sql("BEGIN; UPDATE f SET doc = doc || '{\"k\": \"gone\"}'; ROLLBACK");
sql("BEGIN; SAVEPOINT s; UPDATE f SET doc = doc || '{\"k\": \"gone\"}'; ROLLBACK TO s; UPDATE f SET doc = doc || '{\"k\": \"kept\"}' WHERE id % 5 = 0; COMMIT");
in_step('rolled back');
fails("BEGIN; UPDATE f SET note = 'p'; PREPARE TRANSACTION 'p'", qr/0A000: .*PREPARE/, 'two-phase commit is refused by the wrapper');
in_step('not prepared');

# other triggers that write the same rows
sql(<<'SQL');
CREATE FUNCTION nest() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 THEN
		CASE new.note
			WHEN 'own' THEN UPDATE f SET doc = doc || '{"k": "nested"}' WHERE id = new.id;
			WHEN 'other' THEN UPDATE f SET doc = doc || '{"k": "nested"}' WHERE id < 40;
			WHEN 'again' THEN DELETE FROM f WHERE id = new.id; INSERT INTO f VALUES (new.id, d(new.id + 5000));
			WHEN 'delete' THEN DELETE FROM f WHERE id = new.id;
			ELSE NULL;
		END CASE;
	END IF;
	RETURN NULL;
END $$;
CREATE FUNCTION sideways(i int) RETURNS jsonb VOLATILE LANGUAGE plpgsql AS $$ BEGIN UPDATE f SET doc = doc || '{"k": "side"}' WHERE id = i - 1; RETURN '{"k": "main"}'; END $$;
SQL
for my $name ('!first', 'zlast')
{
	sql("CREATE TRIGGER \"$name\" AFTER INSERT OR UPDATE ON f FOR EACH ROW EXECUTE FUNCTION nest()");
	for my $note ('own', 'other', 'again', 'delete')
	{
		sql("UPDATE f SET doc = doc || '{\"k\": \"outer\"}', note = '$note' WHERE id % 4 = 1");
		drift_free($c, "nested writes: $note, $name");
	}
	sql("INSERT INTO f SELECT i, d(i), 'own' FROM generate_series(2001, 2020) i WHERE NOT EXISTS (SELECT FROM f WHERE id = i)");
	drift_free($c, "nested writes: insert, $name");
	sql("DROP TRIGGER \"$name\" ON f");
}
sql('UPDATE f SET doc = doc || sideways(id) WHERE id BETWEEN 10 AND 60');
in_step('nested writes: a function');

# ---- made and made anew while others write

my $script = PostgreSQL::Test::Utils::tempdir . '/write';
append_to_file($script, <<'SQL');
\set id 10001 + :client_id * 1000 + random(1, 60)
\set v :id + 10000 * random(2, 100000)
\set kind random(1, 6)
BEGIN;
\if :kind <= 2
DELETE FROM f WHERE id = :id;
INSERT INTO f VALUES (:id, d(:v), 'w');
\elif :kind <= 4
UPDATE f SET doc = d(:v) WHERE id = :id;
UPDATE f SET note = 'x' WHERE id = :id + 100;
\elif :kind = 5
DELETE FROM f WHERE id = :id;
\else
UPDATE f SET doc = d(:v) WHERE id = :id;
ROLLBACK;
BEGIN;
\endif
COMMIT;
SQL
sql("INSERT INTO f SELECT 10001 + c * 1000 + i, d(10001 + c * 1000 + i), 'w' FROM generate_series(0, 2) c, generate_series(1, 170) i");
sql("INSERT INTO f SELECT i, d(i) FROM generate_series(20001, 21600) i");
my ($rounds, $wrong, $written) = (0, '', '');
my $writers = IPC::Run::start([ 'pgbench', '-n', '-c', 3, '-t', 800, '-f', $script, $c->connstr('postgres') ], '>&' => \$written, IPC::Run::timeout(600));
while ($writers->pumpable || $rounds == 0)
{
	$rounds++;
	sql(<<"SQL");
SET client_min_messages = error;
DROP TABLE IF EXISTS f_n;
CALL indextable.rebuild('f_k', 40);
SELECT indextable.create('f_n', 'f', '{k,u::int}', populate => false);
-- more than one batch of changes is drained in the end
SET indextable.batch_size = 1001;
UPDATE f SET doc = doc || '{"round": $rounds}' WHERE id > 20000;
CALL indextable.build('f_n', 300);
CALL indextable.rebuild('f_u');
SQL
	$wrong .= sql("SELECT * FROM indextable.verify('f_n')");
	$writers->pump_nb;
}
ok($writers->finish, 'writers were not disturbed') || diag($written);
is($wrong, '', 'right as soon as it is built');
in_step("rebuilt while rows were written, in $rounds rounds");
is(sql(q{SET indextable.planner = off; SELECT count(*) FROM ((SELECT k, u, id FROM f_n EXCEPT ALL SELECT doc ->> 'k', (doc ->> 'u')::int, id FROM f)
	UNION ALL (SELECT doc ->> 'k', (doc ->> 'u')::int, id FROM f EXCEPT ALL SELECT k, u, id FROM f_n)) x}), '0', 'and built so');
is(sql("SELECT string_agg(DISTINCT state, ' ') FROM indextable.index_tables WHERE fact_table::text = 'f'"), 'active', 'all are active');
sql("SELECT indextable.alter('f_n', include => '{t}', populate => false)");
fails("BEGIN; CALL indextable.rebuild('f_n')", qr/25001: .*transaction block/, 'not in a transaction block');
my $pages = 0;
{
	my %before = map { $_ => -s $shard{$_}->logfile } keys %shard;
	sql("CALL indextable.rebuild('f_n', 50)");
	$pages = () = substr(slurp_file($shard{s1}->logfile), $before{s1}) =~ /SELECT id FROM public\.f\d .*ORDER BY id ASC NULLS LAST LIMIT/g;
}
cmp_ok($pages, '>', 2, 'a shard is read in pages, in the order of its primary key');
in_step('given another included field');
is(sql("SELECT command, phase, rows_done FROM indextable.progress"), '', 'nothing is being built');
sql('DROP TABLE f_n');

# advice, from the first rows that each shard returns
is(sql("SELECT documents = (SELECT count(*) FROM f), sampled = documents, partitions FROM indextable.profile('f', '{u::int}')"), 't|t|5', 'a profile of all rows');
sql('ANALYZE f0, f1, f2, f3');
my ($part, $sum) = split /\|/, sql("SELECT sampled < (SELECT count(*) FROM f), round(documents / (SELECT count(*) FROM f)::numeric, 1) FROM indextable.profile('f', '{u::int}', sample_rows => 1000)");
is($part, 't', 'a part of the rows');
is($sum, '1.0', 'all are counted nevertheless');
like(sql("SELECT string_agg(advice, ' ') FROM indextable.advise('f', '{u::int}')"), qr/The table has 5 partitions/, 'advice');
is(sql("SELECT statement FROM indextable.profile('f', '{u::int}')"), "SELECT indextable.create('f_by_u', 'f', '{u::int}', is_unique => true);", 'a statement');
sql('CREATE TABLE h (id int NOT NULL, doc jsonb, note text) PARTITION BY HASH (id)');
sql("CREATE FOREIGN TABLE h0 PARTITION OF h FOR VALUES WITH (MODULUS 1, REMAINDER 0) SERVER s1 OPTIONS (table_name 'spare')");
sql('INSERT INTO h SELECT i, d(i) FROM generate_series(1, 2000) i');
like(sql("SELECT statement FROM indextable.profile('h', '{u::int}')"), qr/primary_key => '\{id\}'/, 'it names the columns of the partition key, if nobody has named a key');
sql('TRUNCATE h; DROP TABLE h');

# unique as far as rows are written here
my ($a, $b) = (number('f0', 3000), number('f1', 3000));
sql("INSERT INTO f VALUES ($a, '{\"u\": 777777}')");
fails("INSERT INTO f VALUES ($b, '{\"u\": 777777}')", qr/23505/, 'a duplicate on another server');
is(sql("SELECT count(*) FROM f WHERE id = $b"), '0', 'and it is not there');
in_step('unique');

# from here to there; the server moves no row from there, and would leave it where nobody finds it
my ($local, $remote) = (number('fl', 4000), number('f2', 4000));
sql("INSERT INTO f VALUES ($local, '{\"k\": \"moved\", \"u\": 888888}')");
sql("UPDATE fl SET note = 'x' WHERE id = $local; UPDATE f SET id = $remote WHERE id = $local");
is(sql("SELECT id, tableoid::regclass FROM f WHERE id IN ($local, $remote)"), "$remote|f2", 'moved to another server');
in_step('moved');
fails("UPDATE f SET id = $local WHERE id = $remote", qr/23514: .*foreign partition "f2" violates its bounds.*delete the row/s, 'not moved back');
fails("INSERT INTO f2 VALUES ('{\"k\": \"x\"}', 'x', $local)", qr/23514: .*foreign partition "f2"/s, 'nor put into the wrong partition');
in_step('not moved');

# ---- partitions that come and go

my $count = sql('SELECT count(*) FROM f_k');
sql('ALTER TABLE f DETACH PARTITION f2');
in_step('detached');
is(sql("SELECT count(*) FROM pg_trigger WHERE tgrelid = 'f2'::regclass"), '0', 'triggers go with it');
cmp_ok(sql('SELECT count(*) FROM f_k'), '<', $count, 'and entries');
sql('ALTER TABLE f ATTACH PARTITION f2 FOR VALUES WITH (MODULUS 5, REMAINDER 2)');
in_step('attached');
is(sql('SELECT count(*) FROM f_k'), $count, 'entries are back');
sql('ALTER TABLE f DETACH PARTITION f3 CONCURRENTLY');
in_step('detached concurrently');
sql('DROP FOREIGN TABLE f3');
sql("CREATE FOREIGN TABLE f3 PARTITION OF f FOR VALUES WITH (MODULUS 5, REMAINDER 3) SERVER s2");
in_step('created over rows that are there');
is(sql('SELECT count(*) FROM f_k'), $count, 'they have entries');
sql('BEGIN; DROP FOREIGN TABLE f1; ROLLBACK');
in_step('dropped and not dropped');
sql('DROP FOREIGN TABLE f1');
in_step('dropped');
$shard{s2}->safe_psql('postgres', 'ALTER TABLE f1 DROP CONSTRAINT f1_pkey; INSERT INTO f1 VALUES (' . number('f0', 6000) . ", '{\"k\": \"lost\"}', NULL)");
fails("CREATE FOREIGN TABLE f1 PARTITION OF f FOR VALUES WITH (MODULUS 5, REMAINDER 1) SERVER s2", qr/23514: .*foreign partition "f1" has a row that its bounds do not allow/s, 'a row that does not belong there');
$shard{s2}->safe_psql('postgres', "DELETE FROM f1 WHERE doc ->> 'k' = 'lost'; ALTER TABLE f1 ADD PRIMARY KEY (id)");
sql("CREATE FOREIGN TABLE f1 PARTITION OF f FOR VALUES WITH (MODULUS 5, REMAINDER 1) SERVER s2");
in_step('created again');
fails('ALTER TABLE fl DROP CONSTRAINT fl_pkey', qr/55000: .*partition "fl" has no primary key/s, 'a local partition keeps its key');
sql('TRUNCATE f0');
if ($version >= 16)
{
	in_step('a foreign partition truncated');
}
else
{
	# foreign tables have no triggers for it before 16
	cmp_ok(sql("SELECT count(*) FROM indextable.verify('f_k')"), '>', 0, 'a foreign partition truncated is found by verify()');
	mend();
	in_step('and mended');
}

# ---- what is written over there

$shard{s1}->safe_psql('postgres', "UPDATE f2 SET doc = doc || '{\"k\": \"remote\"}' WHERE id % 2 = 1");
$shard{s2}->safe_psql('postgres', 'DELETE FROM f1 WHERE id % 2 = 0; INSERT INTO f3 VALUES (' . number('f3', 7000) . ", '{\"k\": \"direct\"}')");
isnt(sql('SET indextable.planner = off; SELECT sum(n) FROM drift'), '0', 'is not seen here');
is(sql("SELECT string_agg(DISTINCT kind, ' ' ORDER BY kind) FROM indextable.verify('f_k')"), 'dangling missing stale', 'but found by verify()');
is(sql(q{SELECT count(*) FROM indextable.verify('f_k', 100)}), sql(q{SELECT count(*) FROM indextable.verify('f_k')}), 'all of it');
cmp_ok(sql(q{SELECT count(*) FROM indextable.verify('f_d', 50)}), '>', 0, 'a sample finds some');
my $key = sql("SELECT k FROM f_k WHERE part(id) = 'f2' AND id % 2 = 1 LIMIT 1");
isnt($key, '', 'there is an entry of a row that has another key by now');
is(sql("SELECT count(*) FROM indextable.lookup('f_k', '{\"k\": \"$key\"}') d WHERE d ->> 'k' <> '$key'"), '0', 'lookup() does not give that row');
fails("BEGIN; CALL indextable.repair('f_k')", qr/25001/, 'repair() runs in transactions of its own');
fails("BEGIN; SELECT count(*) FROM f; SELECT * FROM indextable.verify('f_k')", qr/25001: .*has used foreign table/, 'verify() does not trust what was read before');
fails("BEGIN; SELECT count(*) FROM f; SELECT indextable.create('f_x', 'f', '{k}')", qr/25001: .*has used foreign table/, 'nor does create()');
like(mend(), qr/^[1-9]\d*\|[1-9]\d*\|[1-9]\d*\|0 /, 'repair() mends it');
in_step('mended');
$shard{s1}->safe_psql('postgres', "UPDATE f2 SET doc = doc || '{\"k\": \"checked\"}'");
$c->append_conf('postgresql.conf', "indextable.check_interval = '1s'\nindextable.check_repair = on");
$c->reload;
sql("CREATE TABLE w (id int PRIMARY KEY, doc jsonb); SELECT indextable.create('w_k', 'w', '{k}', maintenance => 'async'); SELECT indextable.start_workers()");
{
	local $ENV{PGOPTIONS} = '-c indextable.planner=off';    # its psql would show a SET
	ok(becomes_true($c, 'SELECT coalesce(sum(n), 0) = 0 FROM drift'), 'the periodic check finds and mends it');
}
$c->append_conf('postgresql.conf', 'indextable.check_interval = 0');
$c->reload;
sql('SELECT indextable.stop_workers()');
in_step('checked');

# two rows with one primary key, which no constraint here can forbid
$shard{s2}->safe_psql('postgres', 'ALTER TABLE f3 DROP CONSTRAINT f3_pkey; INSERT INTO f3 SELECT * FROM f3 LIMIT 1');
like(sql("SELECT kind, problem FROM indextable.verify('f_k')"), qr/^rejected\|another row .* has the same primary key$/, 'a duplicate is told of');
like(sql("CALL indextable.repair('f_k')"), qr/^0\|0\|0\|0$/, 'and not mended for ever');
$shard{s2}->safe_psql('postgres', 'DELETE FROM f3 a USING f3 b WHERE a.id = b.id AND a.ctid > b.ctid; INSERT INTO f3 VALUES (' . number('f0', 8000) . ", '{\"k\": \"lost\"}', NULL)");
like(sql("SELECT kind, problem FROM indextable.verify('f_k')"), qr/^rejected\|row is in foreign partition "f3", whose bounds do not include it$/, 'a row in the wrong place is told of');
$shard{s2}->safe_psql('postgres', "DELETE FROM f3 WHERE doc ->> 'k' = 'lost'; ALTER TABLE f3 ADD PRIMARY KEY (id)");
in_step('both are gone');

# ---- look-ups that have some partitions in common: of one server, or of two, and with keys that these are not sent joins by

for ($c, values %shard) { $_->safe_psql('postgres', 'CREATE DOMAIN whole AS int'); }
for my $case ([ 'int', 's1' ], [ 'int', 's2' ], [ 'whole', 's1' ], [ 'whole', 's2' ])
{
	my ($type, $other) = @$case;
	my %of = (0 => 's1', 1 => 's1', 2 => $other);
	$shard{ $of{$_} }->safe_psql('postgres', "CREATE TABLE o$_ (id $type PRIMARY KEY, doc jsonb)") for sort keys %of;
	sql("CREATE TABLE o (id $type NOT NULL, doc jsonb) PARTITION BY LIST (id)");
	sql("CREATE FOREIGN TABLE o$_ PARTITION OF o FOR VALUES IN ($_) SERVER $of{$_}") for sort keys %of;
	sql(q{SELECT indextable.create('o_t', 'o', '{t[*] AS t}', primary_key => '{id}')});
	sql(q{INSERT INTO o VALUES (0, '{"t": ["a", "all", "two"]}'), (1, '{"t": ["a", "b", "all"]}'), (2, '{"t": ["b", "all", "two"]}')});
	my @found = split /\n/, sql(join '; ', map { "SELECT string_agg(doc -> 't' ->> 0 || jsonb_array_length(doc -> 't'), ' ' ORDER BY doc::text) FROM indextable.lookup('o_t', '{\"t\": \"$_\"}') doc" } qw(a b all two b));
	is("@found", 'a3 a3 a3 b3 a3 a3 b3 a3 b3 a3 b3', "a plan for more partitions serves for some of them: $type, $other");
	sql('DROP TABLE o');
	$shard{ $of{$_} }->safe_psql('postgres', "DROP TABLE o$_") for sort keys %of;
}

# ---- a server is stopped

sql('TRUNCATE f; INSERT INTO f SELECT i, d(i) FROM generate_series(1, 200) i');
in_step('TRUNCATE of the root, and new rows');
$shard{s2}->stop('immediate');
is(sql("SELECT count(*) FROM indextable.lookup('f_u', '{\"u\": " . number($_) . '}\')'), '1', "found without s2: $_") for 'f0', 'f2', 'fl';
is(sql(q{SELECT count(*) FROM indextable.lookup('f_d', '{"k": "k3"}')}), '20', 'a copy answers for all servers');
fails("SELECT * FROM indextable.lookup('f_u', '{\"u\": " . number('f1') . '}\')', qr/08001: .*could not connect to server "s2"/s, 'a row over there is an error');
fails("SELECT * FROM indextable.verify('f_k')", qr/08001/, 'so is verify()');
fails("CALL indextable.repair('f_k')", qr/08001/, 'and repair()');
sql("INSERT INTO f VALUES (" . number('f0', 9000) . ", '{\"k\": \"written\"}'); UPDATE fl SET doc = doc || '{\"k\": \"written\"}'");
fails('UPDATE f1 SET note = NULL', qr/08001/, 'a write over there fails');
is(sql(q{SELECT count(*) FROM f_k WHERE k = 'written'}), sql(q{SELECT 1 + count(*) FROM fl}), 'other rows are written');
$count = sql('SELECT count(*) FROM f_k');
sql('ALTER TABLE f DETACH PARTITION f1; DROP FOREIGN TABLE f3');
cmp_ok(sql('SELECT count(*) FROM f_k'), '<', $count, 'its partitions can be detached and dropped all the same');
in_step('without s2');
$shard{s2}->start;
sql('ALTER TABLE f ATTACH PARTITION f1 FOR VALUES WITH (MODULUS 5, REMAINDER 1)');
in_step('with s2 again');

# ---- a server is dropped

($status, $out, $err) = $c->psql('postgres', 'DROP SERVER s1 CASCADE');
like($err, qr/index table "f_k" is now invalid/, 'DROP SERVER leaves entries, and says so');
mend();
in_step('mended after DROP SERVER');
sql('DROP VIEW drift; DROP TABLE f');
is(sql("SELECT count(*) FROM indextable.index_tables WHERE fact_table::text IN ('f')"), '0', 'all go with the fact table');
done_testing();
