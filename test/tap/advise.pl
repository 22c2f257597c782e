# Conditions on fields that have no index table are counted when queries are planned, and advise() ranks fields by that.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('advise', "shared_preload_libraries = 'indextable'", 'wal_level = replica');
my $table = <<'SQL';
CREATE EXTENSION indextable;
CREATE SCHEMA shop;
CREATE TABLE shop."Order" (id int PRIMARY KEY, doc jsonb NOT NULL, label text);
CREATE TABLE shop.other (id int, name text);
SQL
$node->safe_psql('postgres', $table . <<'SQL');
INSERT INTO shop."Order"
SELECT i, jsonb_build_object('town', 'town ' || i % 50, 'kind', 'kind ' || i % 300, 'n', i % 100, 'email', md5(i::text), 'a', jsonb_build_object('b', i % 60),
	'tags', jsonb_build_array('tag ' || i % 70, 'tag ' || i % 90), 'never', i % 7, 'pad', repeat('x', 600))
FROM generate_series(1, 3000) i;
VACUUM ANALYZE shop."Order";
ALTER DATABASE postgres SET search_path = shop, public;
SQL

sub sql { return $node->safe_psql('postgres', $_[0]); }

sub advice { return sql(qq(SELECT topic || '|' || regexp_replace(advice, '\\d{4}-\\d\\d-\\d\\d', 'then') FROM indextable.advise('"Order"', sample_rows => 1000000) WHERE $_[0])); }

# missed QUERY, ...: what is counted when these are planned, and nothing else is; making an index table forgets what was
my $missed = q(SELECT string_agg(field || ' ' || condition || CASE WHEN planned > 1 THEN ' ' || planned ELSE '' END, ', ' ORDER BY field, condition) FROM indextable.missed);
my $forget = q(SELECT indextable.drop(indextable.create('gone', '"Order"', '{gone}')));

sub missed
{
	my (@queries) = @_;
	sql(join('; ', 'SET indextable.advice = off', $forget, @queries));
	return sql($missed);
}
sub query { return map { qq(SELECT id FROM "Order" WHERE $_) } @_; }

# ---- what is counted, in all spellings

is(advice(q(topic = 'queries')), 'queries|none have filtered by fields that have no index table', 'no queries');
is(missed(query(q(doc ->> 'town' = 'x'), q('y' = (doc ->> 'town')))), 'town equal 2', 'an operator');
is(missed(query(q((doc ->> 'n')::int > 5 AND doc ->> 'email' IN ('x', 'y')))), 'email equal, n::int range', 'a cast, and a list');
is(missed(query(q(doc #>> '{a,b}' = '5'), q(doc #>> '{a,0,"o d d"}' = '5'))), 'a.b equal, a[0]."o d d" equal', 'paths');
is(missed(query(q(doc -> 'a' ->> 'b' BETWEEN '5' AND '6'))), 'a.b range 2', 'two operators');
is(missed(query(q((doc #>> ARRAY['a', 'b'])::bigint = ANY ('{1,2}')))), 'a.b::bigint equal', 'an array of names');
is(missed(query(q(doc['a']['b'] = '5'))), 'a.b::jsonb equal', 'subscripts');
is(missed(query(q(jsonb_extract_path_text(doc, 'a', 'b')::varchar = '5'))), 'a.b equal', 'a function');
is(missed(query(q(doc @> '{"town": "x", "a": {"b": 5}, "tags": ["y"]}'))), 'a.b::numeric contained, tags[*] contained, town contained', 'containment, by texts and numbers');
is(missed(query(q(doc -> 'tags' @> '["y"]'))), 'tags[*] contained', '... in an array');
is(missed(query(q(doc -> 'tags' ? 'y'))), 'tags[*] contained', 'an element');
is(missed(query(q(EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' = 'x' AND (l ->> 'qty')::int > 5)))),
	'lines[*].qty::int range, lines[*].sku equal', 'elements in EXISTS');
is(missed(q(SELECT FROM "Order", jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' IN ('x', 'y')),
	q(SELECT FROM "Order", jsonb_to_recordset(doc -> 'lines') l(sku text, qty int) WHERE sku = 'x' AND qty < 5), query(q('x' IN (SELECT jsonb_array_elements_text(doc -> 'tags'))))),
	'lines[*].qty::int range, lines[*].sku equal 2, tags[*] equal', '... in FROM, and in IN');
is(missed(q(SELECT FROM "Order" o JOIN other c ON o.doc ->> 'kind' = c.name WHERE o.doc ->> 'town' = 'x')), 'kind join, town equal', 'a join');
is(missed(q(WITH x AS (SELECT * FROM "Order" WHERE doc ->> 'town' = 'x') SELECT * FROM x WHERE EXISTS (SELECT FROM "Order" WHERE "Order".doc ->> 'kind' = 'y'))), 'kind equal, town equal', 'WITH and a subquery');
is(missed(q(UPDATE "Order" SET id = id WHERE doc ->> 'town' = 'x'), q(SELECT FROM "Order" WHERE doc ->> 'kind' = 'x' FOR UPDATE)), 'kind equal, town equal', 'what writes and locks');
is(missed(q(EXPLAIN SELECT FROM "Order" WHERE doc ->> 'town' = 'x')), 'town equal', 'EXPLAIN plans, too');
my $kept = q(SET plan_cache_mode = force_generic_plan; PREPARE p AS SELECT FROM "Order" WHERE doc ->> 'town' = $1; EXECUTE p ('x'); EXECUTE p ('y'));
is(missed($kept), 'town equal', 'a plan that is kept counts once');
is(missed($kept =~ s/generic/custom/r), 'town equal 2', 'and others each time');
is(missed(query(q(doc ->> 'town' = 'secret'), q(doc ->> 'town' > 'secret'), q(doc @> '{"kind": "secret"}'), q(doc -> 'tags' ? 'secret'))),
	'kind contained, tags[*] contained, town equal, town range', 'no values are kept');

# ---- what is not

is(missed(query(q(doc ->> 'town' = 'x' OR id = 5), q(NOT doc ->> 'town' = 'x'), q(doc ->> 'town' IS NULL), q(doc ->> 'town' <> 'x'), q(doc -> 'tags' ->> 0 = 'x'),
	q(doc ->> '0' = 'x'), q(doc ->> 'town' = doc ->> 'kind'), q((doc ->> 'gone')::time = now()::time), q(label = 'x'))), '', 'what an index table could not be searched by');
is(missed(q(SELECT FROM "Order" LEFT JOIN jsonb_array_elements(doc -> 'lines') l ON l ->> 'sku' = 'x'), query(q(NOT EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' = 'x')),
	q(EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l, jsonb_array_elements(l -> 'parts') p WHERE p ->> 'no' = 'x')))), '', 'elements that may be missing, and arrays within arrays');
is(missed(q(SELECT doc ->> 'town' FROM "Order"), q(SELECT count(*) FROM (SELECT id, '{}'::jsonb AS doc FROM "Order") x WHERE doc ->> 'town' = 'x')), '', 'queries without conditions on fields');
is(missed(query(q(id = 7 AND doc ->> 'town' = 'x'))), '', 'the primary key finds the row');
is(missed(q(SELECT count(*) FROM indextable.explain($$SELECT FROM "Order" WHERE doc ->> 'town' = 'x'$$))), '', 'explain()');
is(missed(q(SET indextable.planner = off; SELECT FROM "Order" WHERE doc ->> 'town' = 'x')), '', 'the planner leaves index tables alone');
is(missed(query(sprintf(q(doc ->> '%s' = 'x'), 'long' x 50))), '', 'a name that is too long');
is(missed(q(CREATE TEMP TABLE t (id int PRIMARY KEY, doc jsonb); SELECT FROM t WHERE doc ->> 'town' = 'x')), '', 'a temporary table');
is(missed(q(SELECT indextable.create('o_town', '"Order"', '{town}', maintenance => 'async'); SELECT indextable.create('o_n', '"Order"', '{n::int}')),
	query(q(doc ->> 'town' = 'x'), q((doc ->> 'n')::int = 5 AND doc ->> 'kind' = 'x'), q(doc ->> 'n' > '5'), q(doc ->> 'kind' = 'x'))),
	'kind equal, n range', 'a field that has an index table, and others beside one');
sql(q(SELECT indextable.drop('o_town'), indextable.drop('o_n')));

# ---- advise() goes by it

sql($forget);
sql("EXPLAIN $_") for query(q((doc ->> 'n')::bigint = 5), q((doc ->> 'n')::int > 5), q((doc ->> 'n')::float8 < 5), q(doc ->> 'n' = '5'), q(doc -> 'n' = '5'),
	q((doc ->> 'never')::numeric = 5), q((doc ->> 'never')::float8 = 5), q((doc ->> 'town')::varchar > 'x'), q(doc -> 'town' = '"x"'));
is(advice(q(advice ~ '^(n|never|town)\y')), join("\n", '1|n::int: an index table, normalized, transactional', '2|town: an index table, normalized, transactional', 'without|never::numeric: 14 % of the documents have the value "1".'), 'of several types the one that serves the others');
sql($forget);
sql(q(SELECT FROM "Order" WHERE doc ->> 'kind' = 'x')) for 1 .. 3;
sql(q(SELECT FROM "Order" WHERE (doc ->> 'n')::int = 5 AND doc ->> 'Town' = 'x'));
is(advice(q(topic = 'queries')), 'queries|conditions on fields without an index table: planned 5 times since then', 'advise() tells of them');
like(advice(q(true)), qr/^1\|kind: an index table.*\n\|queries filter by it: planned 3 times\n/m, 'what was planned most comes first');
like(advice(q(true)), qr/^2\|n::int: .*\n\|queries filter by it: planned 1 time\n/m, 'then the others');
like(advice(q(true)), qr/^without\|Town: /m, 'a field that no document has');
sql(q(CREATE INDEX native ON "Order" ((doc ->> 'kind'))));
like(advice(q(true)), qr/^served\|kind: by the index shop.native/m, 'a native index serves it');

# ---- fields of one element go into one key

sql(q(CREATE TABLE "Basket" (id int PRIMARY KEY, doc jsonb NOT NULL);
	INSERT INTO "Basket" SELECT i, jsonb_build_object('customer', i % 300, 'lines', (SELECT jsonb_agg(jsonb_build_object('sku', 's' || i * k % 700, 'qty', (i + k) % 10, 'id', i + k, 'tax', jsonb_build_object('sku', 't' || i % 50))) FROM generate_series(1, 5) k))
		FROM generate_series(1, 2000) i));
my $basket = q(SELECT string_agg(topic || '|' || advice, chr(10)) FROM indextable.advise('"Basket"', sample_rows => 1000000) WHERE topic IN ('1', '', 'do'));
sql(qq(SELECT FROM "Basket" WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE $_))) for q((l ->> 'qty')::int > 5), q((l ->> 'qty')::int > 5 AND l ->> 'sku' = 's5'), q(l ->> 'sku' = 's5');
like(sql($basket), qr/^1\|lines\[\*\]\.sku, lines\[\*\]\.qty::int: an index table.*\n\|queries filter by them: planned 2 times\n\|Conditions on these fields of one element are searched together;/, 'equal ones before ranges');
my ($do) = sql($basket) =~ /^do\|(.*?;)$/ms;
like($do, qr/'\{lines\[\*\]\.sku,lines\[\*\]\.qty::int\}'/, '... in one key');
sql(qq(EXPLAIN SELECT FROM "Basket" WHERE doc \@> '{"lines": [{"sku": "s5", "tax": {"sku": "t5"}, "id": 7}]}'));
like(sql($basket), qr/^1\|lines\[\*\]\.sku, lines\[\*\]\.id::numeric AS lines_id, lines\[\*\]\.qty::int: /, 'at most three, and each with a name of its own');
is(sql($do =~ s/^SELECT (.*);$/SELECT indextable.drop($1)/sr), '', 'what it says can be run');

# ---- indexes on index tables

sql(q(CREATE TABLE "Note" (id int PRIMARY KEY, doc jsonb NOT NULL);
	INSERT INTO "Note" SELECT i, jsonb_build_object('town', 't' || i % 300, 'title', 'title ' || i, 'since', '2024-01-01'::date + i % 90, 'till', '2024-02-01'::date + i % 90) FROM generate_series(1, 2000) i;
	SELECT indextable.create('"Notes"', '"Note"', '{town}', include => '{title, since::date, till::date}')));
my @lacking = (q(SELECT doc FROM "Note" WHERE doc ->> 'title' ILIKE '%secret%'), q(SELECT doc FROM "Note" WHERE daterange((doc ->> 'since')::date, (doc ->> 'till')::date) && '[2024-01-05,2024-01-06]'));
my $of_note = $missed . q( WHERE fact_table = '"Note"'::regclass);
sql($_) for $lacking[0], @lacking, q(SELECT doc FROM "Note" WHERE doc ->> 'other' ILIKE '%x%'), q(SELECT doc FROM "Note" WHERE doc ->> 'town' = 't1' AND doc ->> 'title' ILIKE '%x%');
my $counted = 'shop."Notes" USING gin (title gin_trgm_ops) index 2, shop."Notes" USING gist (daterange(since, till)) index';
is(sql($of_note), $counted, 'an index of users that is missing');
my $lacking = q(SELECT string_agg(topic || '|' || advice, chr(10)) FROM indextable.advise('"Note"', sample_rows => 1000000) WHERE topic = 'index' OR advice ~ 'INDEX ON shop."Notes"|extension');
is(sql($lacking), join("\n", 'index|conditions that only an index of yours on an index table would serve: planned 2 times', '|The database lacks the extension pg_trgm, which it needs.',
		'do|CREATE EXTENSION pg_trgm; CREATE INDEX ON shop."Notes" USING gin (title gin_trgm_ops);', 'index|conditions that only an index of yours on an index table would serve: planned 1 time',
		'do|CREATE INDEX ON shop."Notes" USING gist (daterange(since, till));'), 'advise() proposes it');
sql($_) for sql($lacking) =~ /^do\|(.*)/mg;
is(sql($lacking), '', '... until it is there');
sql($_) for 'ANALYZE "Note", "Notes"', @lacking;
is(sql($of_note), $counted, 'then the conditions are served');
sql(q(DROP INDEX "Notes_title_idx"; SELECT indextable.alter('"Notes"', hidden => true)));
sql($lacking[0]);
is(sql($of_note), $counted, 'a hidden index table is of no use');
sql('DROP EXTENSION pg_trgm; DROP TABLE "Note"');

# ---- tables that are gone, other databases, many fields

sql('CREATE DATABASE second; CREATE DATABASE without');
$node->safe_psql('second', $table . q(SELECT FROM shop."Order" WHERE doc ->> 'here' = 'x'));
$node->safe_psql('without', $table =~ s/^CREATE EXTENSION.*//r . q(SELECT FROM shop."Order" WHERE doc ->> 'nowhere' = 'x'; CREATE EXTENSION indextable));
is($node->safe_psql('second', $missed), 'here equal', 'each database has its own');
is($node->safe_psql('without', $missed), '', 'without the extension nothing is counted');
is(sql($missed), 'Town equal, kind equal 3, n::int equal', 'and nothing of others is shown');
sql('CREATE TABLE brief (id int PRIMARY KEY, doc jsonb)');
sql(q(SELECT FROM brief WHERE doc ->> 'b' = 'x'));
like(sql($missed), qr/\bb equal/, 'a table that was just made');
sql('DROP TABLE brief');
unlike(sql($missed), qr/b equal/, '... and dropped');
sql(q(DO $$ BEGIN FOR i IN 1 .. 3000 LOOP EXECUTE format('SELECT FROM "Order" WHERE doc ->> %L = $1', 'f' || i) USING 'x'; END LOOP; END $$));
cmp_ok(sql('SELECT count(*) FROM indextable.missed'), '<=', 1024, 'what is kept has a bound');
like(sql($missed), qr/\bf3000 equal/, 'what was counted long ago goes first');

# ---- a flood of names pushes out those of its own role in its own database

sub flood { return q(DO $$ BEGIN FOR i IN 1 .. 3000 LOOP EXECUTE format('SELECT FROM shop."Order" WHERE doc ->> %L = $1', 'g' || i) USING 'x'; END LOOP; END $$); }
sql("$forget; CREATE ROLE flooder LOGIN; GRANT USAGE ON SCHEMA shop TO flooder; GRANT SELECT ON \"Order\" TO flooder");
sql(q(SELECT FROM "Order" WHERE doc ->> 'kind' = 'x')) for 1 .. 2;
sql(q(SET ROLE flooder; SELECT FROM "Order" WHERE doc ->> 'kind' = 'x'));
my $others = q(SELECT string_agg(field || ' ' || planned, ', ') FROM indextable.missed WHERE field !~ '^g');
is(sql($others), 'kind 3', 'what several roles have asked for is added up');
sql('SET ROLE flooder; ' . flood());
is(sql($others), 'kind 2', '... and one that makes up names pushes out only what it has asked for itself');
is($node->safe_psql('second', $missed), 'here equal', '... nor of another database');
$node->safe_psql('second', flood());
is(sql($others), 'kind 2', '... from there, neither');
cmp_ok(sql('SELECT count(*) FROM indextable.missed'), '>', 400, 'and each has its share');
sql($forget);

# ---- for whom

sql($forget);
sql(q(CREATE ROLE reader; CREATE ROLE monitor IN ROLE pg_monitor; CREATE ROLE owner; GRANT USAGE ON SCHEMA shop TO reader, monitor, owner; GRANT SELECT ON "Order" TO reader; ALTER TABLE "Order" OWNER TO owner));
sql(q(SELECT FROM "Order" WHERE doc ->> 'town' = 'x'));
is(sql("SET ROLE reader; $missed"), '', 'who may read a table does not see what others ask of it');
is(sql(qq(SET ROLE reader; SELECT advice FROM indextable.advise('"Order"') WHERE topic = 'queries')), 'hidden from you; the owner of the table sees them, and who has the role', '... and is told so');
is(sql("SET ROLE $_; $missed"), 'town equal', "$_ does") for 'owner', 'monitor';

# ---- a standby counts by itself

$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
is($standby->safe_psql('postgres', $missed), '', 'a standby begins with nothing');
$standby->safe_psql('postgres', q(SELECT FROM "Order" WHERE doc ->> 'kind' = 'x'));
is($standby->safe_psql('postgres', $missed), 'kind equal', '... and counts');
like($standby->safe_psql('postgres', q(SELECT string_agg(advice, ' ') FROM indextable.advise('"Order"'))), qr/planned 1 time/, 'advise() there goes by that');
is(sql($missed), 'town equal', 'the primary does not');
$standby->stop;

# ---- the library is not preloaded

$node->restart;
is(sql($missed), '', 'a restart forgets');
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
is(sql(qq(LOAD 'indextable'; SELECT FROM "Order" WHERE doc ->> 'town' = 'x'; $missed)), '', 'without preloading nothing is counted');
like(advice(q(topic = 'queries')), qr/^queries\|not known, as the library is not in shared_preload_libraries/, '... and advise() says so');
like(advice(q(topic = 'use')), qr/^use\|read sequentially \d+ times/, 'but how often the table was read is known');
is(sql(q(SELECT count(*) > 3 FROM indextable.advise('"Order"') WHERE topic = 'do')), 't', 'and there is advice');

$node->stop;
done_testing();
