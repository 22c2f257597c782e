# How much index tables are read: the counters outlive a restart, not a crash, which shows; when they were read last is
# known, by workers where the server does not know it; and what is carried over by a dump.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('usage', "shared_preload_libraries = 'indextable'", 'indextable.naptime = 100ms');
$node->safe_psql('postgres', fact_table() . "INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 1000) g;" . index_tables('async'));

# What was counted in a session is there when it has ended, at the latest.
sub usage { return $node->safe_psql('postgres', "SELECT $_[0] FROM indextable.index_table_stats WHERE index_table = 'f_k'::regclass"); }

my $created = usage('since');
$node->safe_psql('postgres', q(SELECT count(*) FROM indextable.lookup('f_k', '{"k": "k1"}'); UPDATE f SET doc = d(pk + 1); SELECT indextable.drain()));
ok(becomes_true($node, q(SELECT reads = 1 AND entries_read = 20 FROM indextable.index_table_stats WHERE index_table = 'f_k'::regclass)), 'a look-up is counted, and what drains is not');
ok(drained($node, 'postgres'), 'all is applied');
ok(becomes_true($node, q(SELECT entries_written = 3000 FROM indextable.index_table_stats WHERE index_table = 'f_k'::regclass)), 'entries written are counted, whoever writes them');
my $counted = usage('reads, entries_read, entries_written, since');
$node->restart;
is(usage('reads, entries_read, entries_written, since'), $counted, 'the counters outlive a restart');
ok(becomes_true($node, q(SELECT last_read IS NOT NULL FROM indextable.index_table_stats WHERE index_table = 'f_k'::regclass)), 'when it was read last is known');
is( $node->safe_psql('postgres', q(SELECT count(*) FROM indextable.index_table_stats WHERE reads > 0 OR last_read IS NOT NULL)), 1, 'of no other');
is($node->safe_psql('postgres', "SELECT now() - last_read < interval '1 hour' AND last_read <= now() FROM indextable.index_table_stats WHERE index_table = 'f_k'::regclass"), 't', '... and is not long ago');

# ---- a dump has no counters, but since when

my $dump = $node->backup_dir . '/usage.sql';
command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $dump ], 'dumped');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-q', '-d', $node->connstr('restored'), '-f', $dump ], 'and restored');
is($node->safe_psql('restored', "SELECT since = '$created' FROM indextable.index_table_stats WHERE index_table = 'f_k'::regclass"), 't', '... since when is counted');

# ---- a crash loses them, as all of the server's

$node->stop('immediate');
$node->start;
is(usage("reads, entries_read, since > '$created', verdict"), '0|0|t|new', 'a crash: they are gone, and that shows');
$node->safe_psql('postgres', q(SELECT count(*) FROM indextable.lookup('f_k', '{"k": "k1"}')));
ok(becomes_true($node, q(SELECT reads = 1 AND verdict = 'in use' FROM indextable.index_table_stats WHERE index_table = 'f_k'::regclass)), 'and it is counted anew');

# ---- a reset, as a superuser may have it for all

my $crashed = usage('since');
$node->safe_psql('postgres', 'SELECT pg_stat_reset()');
is(usage("reads, since > '$crashed', verdict"), '0|t|new', 'a reset of all counters shows, too');

done_testing();
