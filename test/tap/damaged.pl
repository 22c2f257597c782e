# Index tables, their indexes and queues with pages that cannot be read, and entries that are there twice: there is always a way
# out that loses nothing, and hints name it.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('damaged', 'autovacuum = off');
my @files;

# each fact table has an index table of its own, and changes that are queued
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION indextable;
CREATE FUNCTION make(t text, options text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %s (id int PRIMARY KEY, doc jsonb)', t);
	EXECUTE format('INSERT INTO %s SELECT i, jsonb_build_object(''k'', i, ''v'', repeat(md5(i::text), 200)) FROM generate_series(1, 500) i', t);
	EXECUTE format('SELECT indextable.create(%L, %L, ''{k}'' %s)', t || '_k', t, options);
	IF options ~ 'async' THEN
		EXECUTE format('UPDATE %s SET doc = doc || jsonb_build_object(''k'', -id) WHERE id %% 3 = 0', t);
	END IF;
END $$;
SELECT make(t, '') FROM unnest('{heap_t,key_t}'::text[]) t;
SELECT make(t, ', maintenance => ''async''') FROM unnest('{heap_a,key_a,row_a,queue_a,queue_r}'::text[]) t;
SELECT indextable.create('queue_r_v', 'queue_r', '{v}', filter => 'false', maintenance => 'async');
SELECT make('totals', ', totals => ''{count(*)}''');
CHECKPOINT;
SQL
for my $of ([ 'heap_t', 'heap_t_k' ], [ 'key_t', 'key_t_k_k_id_key' ], [ 'heap_a', 'heap_a_k' ], [ 'key_a', 'key_a_k_k_id_key' ], [ 'totals', 'totals_k' ])
{
	push @files, $node->safe_psql('postgres', "SELECT pg_relation_filepath('$of->[1]')");
}
push @files, split /\n/, $node->safe_psql('postgres', <<'SQL');
SELECT pg_relation_filepath(indexrelid) FROM pg_index WHERE indrelid = 'row_a_k'::regclass AND NOT indisunique;
SELECT pg_relation_filepath(queue) FROM indextable_internal.fact WHERE fact_table IN ('queue_a'::regclass, 'queue_r'::regclass);
SQL
is(scalar(@files), 8, 'what is to be damaged');

# ---- the first page of each cannot be read any more
$node->stop;
for my $file (@files)
{
	open my $page, '+<', $node->data_dir . "/$file" or die "$file: $!\n";
	binmode $page;
	print $page 'x' x 64;
	close $page;
}
$node->start;

# differences T: between an index table and what a recompute gives
sub differences
{
	my ($t) = @_;
	return $node->safe_psql('postgres', "SET indextable.planner = off;
		WITH e AS (SELECT doc ->> 'k', id FROM $t) SELECT count(*) FROM ((TABLE ${t}_k EXCEPT ALL TABLE e) UNION ALL (TABLE e EXCEPT ALL TABLE ${t}_k)) d");
}

# errors SQL: what psql prints of errors and warnings
sub errors
{
	my ($sql) = @_;
	my ($out, $err);
	$node->psql('postgres', $sql, stdout => \$out, stderr => \$err);
	return $err;
}

for my $t ('heap_t', 'heap_a')
{
	like(errors("SELECT * FROM indextable.verify('${t}_k')"), qr/HINT:  To make all entries anew, run CALL indextable.rebuild\('public.${t}_k'\);/, "$t: verify() names rebuild()");
	like(errors("CALL indextable.repair('${t}_k')"), qr/HINT:  To make all entries anew, run CALL indextable.rebuild\('public.${t}_k'\);/, "$t: so does repair()");
}
for my $t ('heap_a', 'row_a')
{
	like(errors("SELECT indextable.alter('${t}_k', filter => 'id < 400')"), qr/HINT:  To make all entries anew, run CALL indextable.rebuild\('public.${t}_k'\);/, "$t: so does alter()");
}
for my $t ('heap_t', 'key_t', 'heap_a', 'key_a', 'row_a', 'queue_a')
{
	unlike(errors("CALL indextable.rebuild('${t}_k')"), qr/ERROR/, "$t: rebuild() ends well");
	$node->safe_psql('postgres', "UPDATE $t SET doc = doc || '{\"k\": \"new\"}' WHERE id % 7 = 0");
	$node->safe_psql('postgres', "SELECT indextable.drain('$t')") if $t =~ /_a$/;
	is(differences($t), 0, "$t: all entries are right");
	is($node->safe_psql('postgres', "SELECT state FROM indextable.index_tables WHERE index_table = '${t}_k'::regclass"), 'active', "$t: it is active");
}
# a queue is made anew by repair(), too: all index tables that it is for are invalid until they are mended
like(errors("CALL indextable.repair('queue_r_k')"), qr/index table "queue_r_v" is now invalid/, 'queue_r: repair() makes the queue anew');
unlike(errors("CALL indextable.repair('queue_r')"), qr/ERROR/, 'queue_r: the rest is mended');
is(differences('queue_r'), 0, 'queue_r: all entries are right');
is($node->safe_psql('postgres', "SELECT DISTINCT state FROM indextable.index_tables WHERE fact_table = 'queue_r'::regclass"), 'active', 'queue_r: all are active');
# totals
unlike(errors("CALL indextable.rebuild('totals_k')"), qr/ERROR/, 'totals: rebuild() ends well');
$node->safe_psql('postgres', "DELETE FROM totals WHERE id % 2 = 0; UPDATE totals SET doc = '{\"k\": \"same\"}' WHERE id < 100");
is($node->safe_psql('postgres', "SET indextable.planner = off; SELECT count(*) FROM indextable.totals('totals_k') FULL JOIN (SELECT doc ->> 'k' AS k, count(*) AS n FROM totals GROUP BY 1) o ON o.k = key ->> 'k' WHERE n IS DISTINCT FROM rows"),
	0, 'totals: they are right');

# ---- entries that are there twice
$node->safe_psql('postgres', <<'SQL');
SELECT make('twice', ''), make('keyless', ''), make('unique_key', ', is_unique => true');
UPDATE pg_index SET indisready = false WHERE indexrelid = 'twice_k_k_id_key'::regclass;
SET session_replication_role = replica;
INSERT INTO twice_k SELECT * FROM twice_k WHERE id = 3;
UPDATE pg_index SET indisready = true WHERE indexrelid = 'twice_k_k_id_key'::regclass;
ALTER TABLE keyless_k DROP CONSTRAINT keyless_k_k_id_key;
ALTER TABLE unique_key_k DROP CONSTRAINT unique_key_k_pkey;
INSERT INTO keyless_k SELECT * FROM keyless_k WHERE id = 3;
INSERT INTO unique_key_k SELECT * FROM unique_key_k WHERE id = 3;
SQL
like(errors("CALL indextable.repair('twice_k')"), qr/repair\(\) has not mended all .*HINT:  To make all entries anew, run CALL indextable.rebuild\('public.twice_k'\);/s, 'twice: repair() names rebuild()');
unlike(errors("CALL indextable.rebuild('twice_k')"), qr/ERROR/, 'twice: rebuild() ends well');
is(differences('twice'), 0, 'twice: all entries are right');
like(errors('DELETE FROM keyless WHERE id = 9'), qr/HINT:  Run CALL indextable.repair\('public.keyless_k'\);/, 'keyless: writers are told to run repair()');
unlike(errors("CALL indextable.repair('keyless_k')"), qr/ERROR/, 'keyless: repair() ends well');
unlike(errors("CALL indextable.rebuild('unique_key_k')"), qr/ERROR/, 'unique_key: rebuild() ends well');
for my $t ('keyless', 'unique_key')
{
	$node->safe_psql('postgres', "DELETE FROM $t WHERE id = 9; UPDATE $t SET doc = doc || jsonb_build_object('k', id || 'x') WHERE id < 20");
	is(differences($t), 0, "$t: all entries are right");
	is($node->safe_psql('postgres', "SELECT state FROM indextable.index_tables WHERE index_table = '${t}_k'::regclass"), 'active', "$t: it is active");
}
is($node->safe_psql('postgres', "SELECT count(*) FROM indextable.index_tables, indextable.verify(index_table) WHERE index_table <> 'totals_k'::regclass"), 0, 'verify() finds nothing');
$node->stop;
done_testing();
