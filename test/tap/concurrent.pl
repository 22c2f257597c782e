# Mixed DML of several clients on few rows, at every isolation level, while another session compares the index tables
# with a recompute, in one snapshot each time. Then all over again when the load is over, and the B-trees by amcheck.
#
#   LOAD_SECONDS  length of each of the three loads; default 7

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{LOAD_SECONDS} || 7;
my $node = new_server('concurrent', 'max_connections = 30', 'autovacuum_naptime = 1s');
$node->safe_psql('postgres', fact_table() . <<'SQL' . index_tables() . <<'SQL');
CREATE TABLE u (pk int PRIMARY KEY, doc jsonb);
INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 40) g;
INSERT INTO u SELECT g, d(g * 2) FROM generate_series(1, 20) g;
SQL
SELECT indextable.create('u_v', 'u', '{v}', is_unique => true, include => '{n}');
CREATE VIEW u_drift AS
SELECT 'u_v missing' AS what, count(*) AS n FROM (SELECT doc ->> 'v', pk, doc ->> 'n' FROM u EXCEPT ALL TABLE u_v) x
UNION ALL SELECT 'u_v extra', count(*) FROM (TABLE u_v EXCEPT ALL SELECT doc ->> 'v', pk, doc ->> 'n' FROM u) x
UNION ALL SELECT 'u_v duplicates', count(*) FROM (SELECT v FROM u_v GROUP BY v HAVING count(*) > 1) x;
CREATE EXTENSION amcheck;
-- A taken key is part of this game; anything else is not.
CREATE PROCEDURE unique_key(statement text) LANGUAGE plpgsql AS
$$ BEGIN EXECUTE statement; EXCEPTION WHEN unique_violation THEN NULL; END $$;
SQL

my $script = PostgreSQL::Test::Utils::tempdir . '/load';
my $set = '\set p random(1, 40)
\set q random(1, 40)
\set i random(1, 1000000)
\set kind random(1, 10)
\set r random(1, 60)
\set s random(1, 30)
';
append_to_file("$script.single", $set . <<'SQL');
\if :kind <= 2
INSERT INTO f VALUES (:p, d(:i), 'i') ON CONFLICT DO NOTHING;
\elif :kind <= 4
UPDATE f SET doc = d(:i) WHERE pk = :p;
\elif :kind = 5
UPDATE f SET note = 'n' || :i % 3 WHERE pk = :p;
\elif :kind = 6
DELETE FROM f WHERE pk = :p;
\elif :kind = 7
INSERT INTO f VALUES (:p, d(:i), 'u') ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc;
\elif :kind = 8
CALL unique_key('INSERT INTO u VALUES (:s, d(:r)) ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc');
\elif :kind = 9
CALL unique_key('UPDATE u SET doc = d(:r) WHERE pk = :s');
\else
CALL unique_key('DELETE FROM u WHERE pk = :s');
\endif
SQL
append_to_file("$script.transaction", $set . <<'SQL');
BEGIN ISOLATION LEVEL :level;
\if :kind <= 3
SELECT count(*) FROM f WHERE pk IN (:p, :q);
DELETE FROM f WHERE pk = :p;
INSERT INTO f VALUES (:p, d(:i), 'r') ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc;
UPDATE f SET doc = d(:i + 1) WHERE pk = :p;
\elif :kind <= 5
SELECT count(*) FROM f;
SAVEPOINT s;
UPDATE f SET doc = d(:i) WHERE pk = :p;
ROLLBACK TO s;
INSERT INTO f VALUES (:p, d(:i + 2), 's') ON CONFLICT DO NOTHING;
UPDATE f SET note = 'x' WHERE pk = :p;
\elif :kind <= 7
SELECT count(*) FROM indextable.lookup('f_k', '{"k": "k7"}');
UPDATE f SET doc = d(pk + :i) WHERE pk BETWEEN :p AND :p + 3;
\elif :kind = 8
MERGE INTO f USING (VALUES (:p)) s(pk) ON f.pk = s.pk WHEN MATCHED THEN UPDATE SET doc = d(:i) WHEN NOT MATCHED THEN DO NOTHING;
\else
UPDATE u SET doc = d(:r + 100000 * :client_id + 1000) WHERE pk = :s;
DELETE FROM u WHERE pk = :s;
INSERT INTO u VALUES (:s, d(:i * 40 + :client_id)) ON CONFLICT DO NOTHING;
\endif
COMMIT;
SQL

# sample: one query over both sides in a REPEATABLE READ transaction, in a session that stays
my ($in, $out, $err) = ('', '', '');
my $psql = IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres') ], \$in, \$out, \$err, IPC::Run::timeout(1800));
my ($samples, $bad) = (0, '');

sub sample
{
	$in .= 'BEGIN ISOLATION LEVEL REPEATABLE READ; SET indextable.planner = off; SELECT what, n FROM drift WHERE n > 0 UNION ALL SELECT what, n FROM u_drift WHERE n > 0;'
	  . " COMMIT;\n\\echo end of sample\n";
	$psql->pump until $out =~ s/(.*)end of sample\n//s || $err ne '' || !$psql->pumpable;
	$bad .= ($1 // '') . $err;
	$samples++;
}

for my $level ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')
{
	my $log = '';
	my $file = "$script." . lc($level =~ s/ /_/r);
	append_to_file($file, slurp_file("$script.transaction") =~ s/:level/$level/r);
	my $load = IPC::Run::start(
		[
			'pgbench', '-n', '-c', 8, '-j', 2, '-T', $seconds, '--max-tries=1000',
			'-f', "$script.single\@1", '-f', "$file\@1", $node->connstr('postgres')
		],
		'>&' => \$log);
	($samples, $bad) = (0, '');
	do { sample() } while ($load->pumpable && eval { $load->pump_nb; 1 } && $bad eq '');
	$load->finish;
	is($bad, '', "$level: index tables equal their recompute in each of $samples samples during the load");
	cmp_ok($samples, '>=', 20, "$level: enough samples");
	my ($done) = $log =~ /transactions actually processed: (\d+)/;
	my ($failed) = $log =~ /number of failed transactions: (\d+)/;
	cmp_ok($done // 0, '>', 100, "$level: transactions") or diag $log;
	note "$level: $done transactions, $samples samples";
	is($failed, 0, "$level: none failed for good") or diag $log;
	unlike($log, qr/aborted/, "$level: no client gave up") or diag $log;
	drift_free($node, "$level: when the load is over");
	is($node->safe_psql('postgres', 'SET indextable.planner = off; SELECT what, n FROM u_drift WHERE n > 0'), '', "$level: the unique one, too");
}
$in .= "\\q\n";
$psql->finish;

is( $node->safe_psql('postgres', <<'SQL'), '', 'amcheck: every entry is in every index');
DO $$ DECLARE i regclass; BEGIN
	FOR i IN SELECT indexrelid FROM indextable.index_tables t JOIN pg_index ON indrelid = t.index_table LOOP
		PERFORM bt_index_check(i, true);
	END LOOP;
END $$;
SQL

# Several writers wait for one who then gives a unique key back: one of them gets it, the others are told, none
# deadlocks.
for my $how ('DELETE FROM u WHERE pk = 1; COMMIT', q(INSERT INTO u VALUES (3, '{"v": "w"}'); ROLLBACK))
{
	my ($first, $end) = split /; /, $how;
	my $key = $first =~ /DELETE/ ? 'x' : 'w';
	$node->safe_psql('postgres', q(TRUNCATE u; INSERT INTO u VALUES (1, '{"v": "x"}')));
	my ($hin, $hout) = ('', '');
	my $holder = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ], \$hin, \$hout, IPC::Run::timeout(1800));
	$hin .= "BEGIN; $first;\n\\echo held\n";
	$holder->pump until $hout =~ /held/;
	my @waiting;
	for my $pk (11 .. 14)
	{
		my $output = '';
		push @waiting,
		  [
			IPC::Run::start(
				[ 'psql', '-XAtq', '-v', 'VERBOSITY=sqlstate', '-d', $node->connstr('postgres'), '-c', qq(INSERT INTO u VALUES ($pk, '{"v": "$key"}')) ],
				'>&' => \$output, IPC::Run::timeout(1800)),
			\$output
		  ];
	}
	$node->poll_query_until('postgres', q(SELECT count(*) = 4 FROM pg_stat_activity WHERE wait_event_type = 'Lock'))
	  or diag 'they do not wait';
	$hin .= "$end;\n\\q\n";
	$holder->finish;
	$_->[0]->finish for @waiting;
	my $states = join ' ', sort map { ${ $_->[1] } =~ /ERROR:\s+(\w{5})/ ? $1 : 'stored' } @waiting;
	is($states, '23505 23505 23505 stored', "a unique key that is given back ($first; $end): one waiter gets it");
	is($node->safe_psql('postgres', 'SET indextable.planner = off; SELECT what, n FROM u_drift WHERE n > 0'), '', 'and the index table is right');
}

$node->stop;
done_testing();
