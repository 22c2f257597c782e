# What the TAP tests share: servers, a fact table with index tables of every strategy, and the oracle.

package Oracle;

use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Exporter 'import';
our @EXPORT = qw(new_server drift_free fact_table index_tables);

# new_server NAME, SETTINGS…: a server that runs
sub new_server
{
	my ($name, @settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => (grep { /wal_level = logical/ } @settings) ? 'logical' : 0);
	$node->append_conf('postgresql.conf', join '', map { "$_\n" } 'fsync = off', 'jit = off', 'max_prepared_transactions = 10', @settings);
	$node->start;
	return $node;
}

# fact_table: documents whose fields follow from their number
sub fact_table
{
	return <<'SQL';
CREATE EXTENSION indextable;
CREATE FUNCTION d(i bigint) RETURNS jsonb IMMUTABLE LANGUAGE sql AS
$$ SELECT jsonb_build_object('k', 'k' || i % 50, 'n', i % 7, 'v', 'v' || i, 'tags', ARRAY['t' || i % 5, 't' || i % 3]) $$;
CREATE TABLE f (pk int PRIMARY KEY, doc jsonb, note text);
SQL
}

# index_tables: over f, and the view drift: what they lack and what they have too much
sub index_tables
{
	return <<'SQL';
SELECT indextable.create('f_k', 'f', '{k}');
SELECT indextable.create('f_v', 'f', '{n::int,k}', include => '{v,@note}');
SELECT indextable.create('f_d', 'f', '{v}', 'denormalized');
SELECT indextable.create('f_t', 'f', '{tags[*]}', include => '{n::int}');
CREATE VIEW drift AS
WITH f AS MATERIALIZED (SELECT pk, doc, note FROM f),
	k AS (SELECT doc ->> 'k', pk FROM f WHERE doc ->> 'k' IS NOT NULL),
	v AS (SELECT (doc ->> 'n')::int, doc ->> 'k', pk, doc ->> 'v', note FROM f WHERE (doc ->> 'n')::int IS NOT NULL AND doc ->> 'k' IS NOT NULL),
	d AS (SELECT doc ->> 'v', pk, doc FROM f WHERE doc ->> 'v' IS NOT NULL),
	t AS (SELECT DISTINCT e, pk, (doc ->> 'n')::int FROM f, jsonb_array_elements_text(doc -> 'tags') e)
SELECT 'f_k missing' AS what, count(*) AS n FROM (TABLE k EXCEPT ALL TABLE f_k) x
UNION ALL SELECT 'f_k extra', count(*) FROM (TABLE f_k EXCEPT ALL TABLE k) x
UNION ALL SELECT 'f_v missing', count(*) FROM (TABLE v EXCEPT ALL TABLE f_v) x
UNION ALL SELECT 'f_v extra', count(*) FROM (TABLE f_v EXCEPT ALL TABLE v) x
UNION ALL SELECT 'f_d missing', count(*) FROM (TABLE d EXCEPT ALL TABLE f_d) x
UNION ALL SELECT 'f_d extra', count(*) FROM (TABLE f_d EXCEPT ALL TABLE d) x
UNION ALL SELECT 'f_t missing', count(*) FROM (TABLE t EXCEPT ALL TABLE f_t) x
UNION ALL SELECT 'f_t extra', count(*) FROM (TABLE f_t EXCEPT ALL TABLE t) x;
SQL
}

# drift_free: the test that nothing is missing and nothing too much, in one query and so in one snapshot
sub drift_free
{
	my ($node, $name, $database) = @_;
	my $drift = $node->safe_psql($database // 'postgres', 'SELECT what, n FROM drift WHERE n > 0');
	return is($drift, '', $name);
}

1;
