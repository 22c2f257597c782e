# advise() of a fact table: what it knows of queries, from pg_stat_statements and from the last queries of other sessions;
# and what it says where it may not know.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $control = `pg_config --sharedir`;
chomp $control;
plan skip_all => 'the server was installed without pg_stat_statements' unless -e "$control/extension/pg_stat_statements.control";

my $node = new_server('advise', "shared_preload_libraries = 'pg_stat_statements'");
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION indextable;
CREATE SCHEMA shop;
CREATE TABLE shop."Order" (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO shop."Order"
SELECT i, jsonb_build_object('town', 'town ' || i % 50, 'kind', 'kind ' || i % 300, 'n', i % 100, 'email', md5(i::text), 'a', jsonb_build_object('b', i % 60),
	'tags', jsonb_build_array('tag ' || i % 70, 'tag ' || i % 90), 'never', i % 7, 'pad', repeat('x', 600))
FROM generate_series(1, 3000) i;
VACUUM ANALYZE shop."Order";
SQL

# advice OPTION ...: the lines of advice; named and filtered by WHERE
sub advice
{
	my ($where, %how) = @_;
	return $node->safe_psql('postgres', ($how{as} ? "SET ROLE $how{as};" : '') . qq(SELECT topic || '|' || regexp_replace(advice, 'time: [0-9.]+ \\w+', 'time') FROM indextable.advise('shop."Order"', sample_rows => 1000000) WHERE $where));
}

is(advice(q(topic = 'queries')), 'queries|not known from pg_stat_statements: the extension pg_stat_statements is not installed in this database', 'it is not there');
$node->safe_psql('postgres', 'CREATE SCHEMA "Stat istics"; CREATE EXTENSION pg_stat_statements SCHEMA "Stat istics"');
is(advice(q(topic = 'queries')), 'queries|statements that filter by fields: 0, calls: 0, time', 'no queries');

# ---- queries whose constants were taken out

$node->safe_psql('postgres', q(SELECT id FROM shop."Order" WHERE doc ->> 'town' = 'town 3'; SELECT id FROM shop."Order" WHERE doc ->> 'town' = 'town 4';));
is(advice(q(topic IN ('queries', 'unnamed') OR advice LIKE '%keeps no names%')), <<'TEXT' =~ s/\n$//r, 'a query without names, which is like a look-up by the town');
queries|statements that filter by fields: 1, calls: 2, time, reading most of the table
unnamed|SELECT id FROM shop."Order" WHERE doc ->> $1 = $2; calls: 2, time, reading most of the table
|pg_stat_statements keeps no names of fields; this query finds 60.0 rows a call, as look-ups would by town
TEXT
like(advice(q(topic = '1')), qr/^1\|town: an index table/, 'so this comes first');

# ---- queries that have them: prepared before the counters were reset; in all spellings

my $reset = q(SELECT "Stat istics".pg_stat_statements_reset());
# fields FILTER ...: executes queries with these conditions, and returns by which fields advice says that queries filter
sub fields
{
	my (@queries) = @_;
	my $n = 0;
	my @names = map { 'q' . $n++ } @queries;
	$node->safe_psql('postgres', join(";\n", 'SET search_path = shop, public', (map { "PREPARE $names[$_] AS $queries[$_]" } 0 .. $#queries),
		$reset, (map { "EXECUTE $_" } @names)));
	my $all = advice(q(topic <> 'do'));
	my @found;
	push @found, $1 while $all =~ /^\d+\|(\S+): .*\n\|queries filter by it/mg;
	push @found, "without $1" while $all =~ /^without\|(\S+): /mg;
	return join(' ', sort @found);
}
sub query { return map { qq(SELECT id FROM "Order" WHERE $_) } @_; }

is(fields(query(q(doc ->> 'town' = 'x'))), 'town', 'an operator');
is(advice(q(advice LIKE 'queries filter%')), '|queries filter by it: calls: 1, time, reading most of the table', '... and how often, and that it reads all');
is(fields(query(q((doc ->> 'n')::int > 5 AND doc ->> 'email' IN ('x', 'y')))), 'email n::int', 'a cast, and a list');
is(fields(query(q(doc #>> '{a,b}' = '5'))), 'a.b', 'a path');
is(fields(query(q(doc -> 'a' ->> 'b' BETWEEN '5' AND '6'))), 'a.b', 'two operators');
is(fields(query(q((doc #>> ARRAY['a', 'b'])::bigint = ANY ('{1,2}')))), 'a.b::bigint', 'an array of names');
is(fields(query(q(doc['a']['b'] = '5'))), 'a.b::jsonb', 'subscripts');
is(fields(query(q(jsonb_extract_path_text(doc, 'a', 'b') = '5'))), 'a.b', 'a function');
is(fields(query(q(doc @> '{"town": "x", "a": {"b": 5}, "tags": ["y"]}'))), 'tags[*] town', 'containment, by texts');
is(fields(query(q(doc -> 'tags' @> '["y"]'))), 'tags[*]', '... in an array');
is(fields(query(q(doc -> 'tags' ? 'y'))), 'tags[*]', 'an element');
is(fields(q(SELECT count(*) FROM shop."Order" o JOIN pg_class c ON o.doc ->> 'kind' = c.relname WHERE o.doc ->> 'town' = 'x')), 'kind town', 'a join');
is(fields(q(WITH x AS (SELECT * FROM shop."Order" WHERE doc ->> 'town' = 'x') SELECT * FROM x WHERE EXISTS (SELECT FROM "Order" WHERE "Order".doc ->> 'kind' = 'y'))), 'kind town', 'WITH and a subquery');
is(fields(q(DELETE FROM shop."Order" WHERE doc ->> 'town' = 'x'), q(UPDATE "Order" SET id = id WHERE doc ->> 'kind' = 'x')), 'kind town', 'writes');
is(fields(query(q(doc ->> 'Town' = 'x'))), 'without Town', 'a field that no document has');
is(fields(query(q(doc ->> 'town' = 'x' OR id = 5), q(NOT doc ->> 'town' = 'x'), q(doc ->> 'town' IS NULL), q(doc ->> 'town' <> 'x'), q(doc -> 'tags' ->> 0 = 'x'))),
	'', 'what is no filter that an index could serve');
is(fields(q(SELECT doc ->> 'town' FROM "Order"), q(SELECT 'doc ->> ''town'' = 1' FROM "Order"), q(SELECT count(*) FROM (SELECT id, '{}'::jsonb AS doc FROM "Order") x WHERE doc ->> 'town' = 'x'))
	, '', 'what is none at all');

# ---- what cannot be parsed any more

$node->safe_psql('postgres', qq($reset; SELECT id FROM shop."Order" WHERE doc ->> 'town' = 'x' AND date '2024-01-01' < now()));
is($node->safe_psql('postgres', q(SELECT count(*) FROM "Stat istics".pg_stat_statements WHERE query LIKE '%date $%')), 1, 'a statement that cannot be parsed');
is(advice(q(topic = 'queries')), 'queries|statements that filter by fields: 0, calls: 0, time', '... is left out');

# ---- the last queries of other sessions

my $session = session($node);
$session->query(q(SELECT count(*) FROM shop."Order" WHERE doc ->> 'kind' = 'kind 5'));
is(advice(q(advice LIKE 'queries filter%')), '|queries filter by it: last query of other sessions: 1', 'a session that is there');
like(advice(q(topic = '1')), qr/^1\|kind: /, '... and its field comes first');
$session->finish;

# ---- what one may not see

$node->safe_psql('postgres', <<"SQL");
$reset;
CREATE ROLE reader; GRANT USAGE ON SCHEMA shop, "Stat istics", indextable TO reader; GRANT SELECT ON shop."Order" TO reader;
SELECT id FROM shop."Order" WHERE doc ->> 'town' = 'x';
SQL
like(advice(q(advice LIKE '%hidden%'), as => 'reader'), qr/^\|the texts of [1-9]\d* statements are hidden from you/, 'texts of others are hidden, and that is said');
is(advice(q(topic = 'unnamed'), as => 'reader'), '', '... and not shown');
is(advice(q(advice LIKE '%hidden%')), '', 'but not from a superuser');
$node->safe_psql('postgres', 'REVOKE SELECT ON "Stat istics".pg_stat_statements FROM public');
like(advice(q(topic = 'queries'), as => 'reader'), qr/^queries\|not known from pg_stat_statements: permission denied/, 'or the view is forbidden');

# ---- the library is not loaded

$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
like(advice(q(topic = 'queries')), qr/^queries\|not known from pg_stat_statements: .*must be loaded via/, 'the library is not loaded');
like(advice(q(topic = 'use')), qr/^use\|read sequentially \d+ times/, 'but how often the table was read is known');
is($node->safe_psql('postgres', q(SELECT count(*) FROM indextable.advise('shop."Order"') WHERE topic = 'do')) > 3, 1, 'and there is advice');

done_testing();
