# Restores beside sessions and workers that have used the tables, and dumps without comments: nothing waits for what only
# looks, and what cannot come back says what to run.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('restore_forms', q(shared_preload_libraries = 'indextable'), q(indextable.naptime = '10 ms'));
my $dir = PostgreSQL::Test::Utils::tempdir;
$node->safe_psql('postgres', 'CREATE DATABASE origin');
$node->safe_psql('origin', fact_table() . <<'SQL' . index_tables());
INSERT INTO f SELECT g, d(g), 'n' || g % 3 FROM generate_series(1, 1000) g;
SELECT indextable.create('f_a', 'f', '{k}', include => '{v}', maintenance => 'async');
CREATE TABLE plain (id int PRIMARY KEY, code text);
INSERT INTO plain SELECT g, 'c' || g % 7 FROM generate_series(1, 100) g;
SELECT indextable.create('plain_code', 'plain', '{@code}');
CREATE VIEW later AS SELECT count(*) AS n FROM ((SELECT doc ->> 'k', pk, doc ->> 'v' FROM f EXCEPT ALL SELECT k, pk, v FROM f_a) UNION ALL (SELECT k, pk, v FROM f_a EXCEPT ALL SELECT doc ->> 'k', pk, doc ->> 'v' FROM f)) x;
SQL
ok(drained($node, 'origin'), 'drained');

# run: runs a command that must not wait for anybody for long; what it says
sub run
{
	my ($name, @command) = @_;
	my ($out, $err) = ('', '');
	local $ENV{PGOPTIONS} = '-c lock_timeout=300s';
	my $ok = IPC::Run::run(\@command, '>', \$out, '2>', \$err);
	ok($ok, $name) || diag($err);
	unlike($err, qr/lock timeout|deadlock/, "$name: without waiting");
	return $err;
}

# is_right: the database has what the origin has, and upkeep goes on
sub is_right
{
	my ($name) = @_;
	ok(drained($node, $name), "$name: drained");
	drift_free($node, "$name: index tables equal their recompute", $name);
	is($node->safe_psql($name, 'SET indextable.planner = off; SELECT n FROM later'), 0, "$name: so do asynchronous ones");
	is($node->safe_psql($name, 'SELECT index_table, v FROM indextable.index_tables i, indextable.verify(i.index_table) v'), '', "$name: verify() finds nothing");
	$node->safe_psql($name, q(UPDATE f SET doc = d(pk + 7) WHERE pk % 3 = 0; DELETE FROM f WHERE pk % 11 = 0));
	ok(drained($node, $name), "$name: drained again");
	drift_free($node, "$name: upkeep goes on", $name);
	is($node->safe_psql($name, 'SET indextable.planner = off; SELECT n FROM later'), 0, "$name: of asynchronous ones");
}

# ---- --clean into a database where sessions have written and looked up, and a worker drains

my %clean = (
	plain => [ [ 'pg_dump', '--clean', '--if-exists', '-f', "$dir/plain" ], sub { ('psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain", '-d', $_[0]) } ],
	custom => [ [ 'pg_dump', '-Fc', '-f', "$dir/custom" ], sub { ('pg_restore', '--clean', '--if-exists', '--exit-on-error', '-d', $_[0], "$dir/custom") } ],
	parallel => [ [ 'pg_dump', '-Fc', '-f', "$dir/parallel" ], sub { ('pg_restore', '--clean', '--if-exists', '--exit-on-error', '-j2', '-d', $_[0], "$dir/parallel") } ],
	single => [ [ 'pg_dump', '-Fc', '-f', "$dir/single" ], sub { ('pg_restore', '--clean', '--if-exists', '-1', '-d', $_[0], "$dir/single") } ]);
for my $name (sort keys %clean)
{
	my ($dump, $restore) = @{ $clean{$name} };
	$node->safe_psql('postgres', "CREATE DATABASE \"$name\"");
	$node->command_ok([ @$dump, $node->connstr('origin') ], "$name: dumped");
	run("$name: restored", $restore->($node->connstr($name)));
	my @sessions = map { session($node, $name) } 1 .. 2;
	$sessions[0]->query(q(UPDATE f SET doc = d(pk + 1)));
	$sessions[1]->query(q(SELECT count(*) FROM indextable.lookup('f_k', '{"k": "k1"}')));
	$sessions[1]->query(q(SELECT indextable.wait('f_a')));
	ok(becomes_true($node, q(SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'indextable worker'), $name), "$name: there is a worker");
	run("$name: restored over it", $restore->($node->connstr($name)));
	is($sessions[0]->query(q(SELECT count(*) FROM f)), 1000, "$name: a session that was open sees what is restored");
	$sessions[1]->query(q(UPDATE f SET doc = d(pk + 2) WHERE pk % 2 = 0));
	$_->finish for @sessions;
	is_right($name);
	is($node->safe_psql($name, q(UPDATE plain SET code = 'new' WHERE id < 4; SELECT id FROM plain_code WHERE code = 'new' ORDER BY 1)), "1\n2\n3", "$name: of a table without documents");
	$node->safe_psql('postgres', "DROP DATABASE \"$name\" WITH (FORCE)");
}

# ---- without comments, and without definitions: words instead of SQL

$node->command_ok([ 'pg_dump', '-s', '--no-comments', '-f', "$dir/no_comments", $node->connstr('origin') ], 'no_comments: dumped');
$node->safe_psql('postgres', 'CREATE DATABASE no_comments');
my $said = run('no_comments: restored', 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/no_comments", '-d', $node->connstr('no_comments'));
like($said, qr/HINT:  When the tables are restored, run: DROP TABLE public.f_a; Then create public.f_a again with indextable.create\(\)/, 'no_comments: it is said at once what to do');
like(($node->psql('no_comments', q(DELETE FROM f_a)))[2], qr/cannot change index table "f_a"\n.*\n.*Run: DROP TABLE public.f_a; Then create/, 'no_comments: and by a write');
like(($node->psql('no_comments', q(SELECT indextable.create('f_a', 'f', '{k}'))))[2], qr/"f_a" already exists\n.*restored without its definition\.\n.*Run: DROP TABLE public.f_a; Then create/, 'no_comments: and by create()');
$node->safe_psql('no_comments', q(DROP VIEW drift, later; DROP TABLE f_a; SELECT indextable.create('f_a', 'f', '{k}', include => '{v}', maintenance => 'async'); INSERT INTO f SELECT g, d(g) FROM generate_series(1, 50) g));
ok(drained($node, 'no_comments'), 'no_comments: made again');
is($node->safe_psql('no_comments', q(SET indextable.planner = off; SELECT count(*) FROM (SELECT doc ->> 'k', pk, doc ->> 'v' FROM f EXCEPT ALL SELECT k, pk, v FROM f_a) x)), 0, 'no_comments: and right');

# ---- with comments, all that was an index table is made again by what is said

$node->command_ok([ 'pg_dump', '-s', '-f', "$dir/schema", $node->connstr('origin') ], 'schema: dumped');
$node->safe_psql('postgres', 'CREATE DATABASE schema');
run('schema: restored', 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/schema", '-d', $node->connstr('schema'));
my ($statements) = ($node->psql('schema', 'INSERT INTO f SELECT g, d(g) FROM generate_series(1, 50) g'))[2] =~ /HINT:  Run: (.*)/;
my ($drift, $later) = map { $node->safe_psql('schema', "SELECT pg_get_viewdef('$_')") } 'drift', 'later';
$node->safe_psql('schema', "DROP VIEW drift, later; $statements; CREATE VIEW drift AS $drift; CREATE VIEW later AS $later; INSERT INTO f SELECT g, d(g) FROM generate_series(1, 50) g");
is_right('schema');

$node->stop;
done_testing();
