# A batch that ends its worker by a signal takes the server down, which starts again. After the third time the queue is set aside,
# which is shown, others are drained, and when it is mended it goes on.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('worker_crash', "shared_preload_libraries = 'indextable'", 'indextable.naptime = 100ms', 'restart_after_crash = on', 'autovacuum = off');

sub crashes { return scalar(() = slurp_file($node->logfile) =~ /was terminated by signal 9/g); }

# after_crashes QUERY, NAME: it becomes true, in whatever life of the server
sub after_crashes
{
	my ($query, $name) = @_;
	my $out = '';
	for (1 .. 600)
	{
		# While the server is down, psql may end before it has read the query.
		eval { (undef, $out) = $node->psql('postgres', $query); };
		last if defined $out && $out eq 't';
		select undef, undef, undef, 0.1;
	}
	return is($out, 't', $name);
}

# The filters of superusers may do what ends a process.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION indextable;
CREATE TABLE nothing (t text);
CREATE FUNCTION does(what text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN EXECUTE what; RETURN true; END $$;
CREATE FUNCTION run(doc jsonb) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN doc ->> 'run' IS NULL OR public.does(doc ->> 'run'); END $$;
CREATE TABLE f (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('f_k', 'f', '{k}', filter => 'public.run(doc)', maintenance => 'async');
CREATE TABLE g (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('g_k', 'g', '{k}', maintenance => 'async');
SQL
eval { $node->psql('postgres', q(INSERT INTO g VALUES (1, '{"k": "a"}'); INSERT INTO f VALUES (1, '{"k": "a", "run": "COPY public.nothing FROM PROGRAM ''kill -9 $PPID; sleep 1''"}'))); };
my $queue = q(SELECT %s FROM indextable.queues WHERE fact_table = 'f'::regclass);
after_crashes(sprintf($queue, q(worker_state = 'failing' AND last_error LIKE '3 times in a row, a worker was terminated by it%')), 'after the third crash the queue is shown');
is(crashes(), 3, 'there were three');
after_crashes(sprintf($queue, q(next_try > clock_timestamp() + interval '3 s')), 'it is set aside');
$node->safe_psql('postgres', q(INSERT INTO g VALUES (2, '{"k": "b"}')));
after_crashes(q(SELECT count(*) = 2 FROM g_k), 'others are drained');
is(crashes(), 3, 'meanwhile it is not tried');

# Neither a clean start nor another crash lets it be forgotten.
eval { $node->psql('postgres', q(COPY nothing FROM PROGRAM 'kill -9 $PPID; sleep 1')); };
after_crashes(sprintf($queue, q(worker_state = 'failing' AND last_error LIKE '% times in a row, a worker was terminated by it%')), 'after a crash by a session it is shown');
$node->restart;
after_crashes(sprintf($queue, q(worker_state = 'failing' AND last_error LIKE '% times in a row, a worker was terminated by it%')), 'after a restart, too');
cmp_ok(crashes(), '<=', 6, 'there were few others');
$node->safe_psql('postgres', q(DELETE FROM f; INSERT INTO f VALUES (2, '{"k": "c"}'); CREATE OR REPLACE FUNCTION does(what text) RETURNS boolean LANGUAGE sql AS 'SELECT true'));
after_crashes(q(SELECT count(*) = 1 FROM f_k), 'mended, it goes on');
after_crashes(sprintf($queue, 'last_error IS NULL AND backlog = 0'), 'and nothing of it is left');
$node->stop('immediate');
$node->start;
after_crashes(sprintf($queue, 'last_error IS NULL AND backlog = 0'), 'for good');
$node->stop;
done_testing();
