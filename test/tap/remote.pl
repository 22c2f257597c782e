# Feeds of a server that nobody trusts, behind a proxy: what it sends, and what it does not send, holds up no other table of
# the database, and no fast shutdown; and connections to it, which have the rights of a foreign table's owner over there,
# are out of reach of all other roles and functions.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IO::Select;
use IO::Socket::UNIX;
use Oracle;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $preload = "shared_preload_libraries = 'indextable'";
my $c = new_server('coordinator', $preload, 'indextable.naptime = 50ms', "indextable.batch_timeout = '3s'");
my $s = new_server('shard', "password_encryption = 'scram-sha-256'");
my @extensions = split ' ', $c->safe_psql('postgres',
	"SELECT string_agg(name, ' ') FROM pg_available_extensions WHERE name IN ('postgres_fdw', 'dblink')");
plan skip_all => 'postgres_fdw is not installed' unless grep { $_ eq 'postgres_fdw' } @extensions;

sub sql { return $c->safe_psql('postgres', $_[0]); }

sub there { return $s->safe_psql('hostile', $_[0]); }

# fails SQL, PATTERN, NAME: what is said when it does not work
sub fails
{
	my ($sql, $pattern, $name) = @_;
	my ($status, $out, $err) = $c->psql('postgres', "\\set VERBOSITY verbose\n$sql");
	return like($err, $pattern, $name);
}

# ---- the proxy: one process for each connection, in one of these modes
#
#   pass      hands on what both sides say
#   mute      accepts connections and says nothing; those that are there pass
#   unready   keeps back what follows the rows that take() returns
#   more      asks the server for nine times as many rows
#   garbled   puts bytes that are no text in the place of xyz

my $folder = PostgreSQL::Test::Utils::tempdir();
my $mode = "$folder/mode";

sub behave
{
	my ($how) = @_;
	open my $file, '>', "$mode.new" or die;
	print $file $how;
	close $file;
	rename "$mode.new", $mode;
	return;
}

# serve CLIENT: one connection
sub serve
{
	my ($client) = @_;
	sleep 1 while slurp_file($mode) eq 'mute' && getppid() != 1;
	my $server = IO::Socket::UNIX->new(Peer => $s->host . '/.s.PGSQL.' . $s->port) or POSIX::_exit(1);
	my $select = IO::Select->new($client, $server);
	my ($asked, $kept) = (0, '');
	while (getppid() != 1)
	{
		for my $from ($select->can_read(1))
		{
			sysread($from, my $bytes, 65536) or POSIX::_exit(0);
			if ($from == $client)
			{
				$asked = $bytes =~ /\.take\(/;
				$bytes =~ s/ LIMIT 10000\b/ LIMIT 90000/ if slurp_file($mode) eq 'more';
				syswrite($server, $bytes);
				next;
			}
			$bytes =~ s/xyz/\xff\xff\xff/g if $asked && slurp_file($mode) eq 'garbled';
			$kept .= $bytes;
			my $n = length $kept;
			if ($asked && slurp_file($mode) eq 'unready')
			{
				# messages that are complete, but for that which says that it is ready
				for ($n = 0; length($kept) >= $n + 5; $n += 1 + unpack 'N', substr($kept, $n + 1, 4))
				{
					sleep 1 while substr($kept, $n, 1) eq 'Z' && getppid() != 1;
				}
			}
			syswrite($client, substr($kept, 0, $n, ''));
		}
	}
	POSIX::_exit(0);
}

behave('pass');
my $test = $$;
my $listen = IO::Socket::UNIX->new(Local => "$folder/.s.PGSQL." . $s->port, Listen => 50) or die "no socket: $!";
my $proxy = fork;
if ($proxy == 0)
{
	local $SIG{CHLD} = 'IGNORE';
	while (getppid() == $test)
	{
		next unless IO::Select->new($listen)->can_read(1);
		my $client = $listen->accept or next;
		serve($client) if fork == 0;
		close $client;
	}
	POSIX::_exit(0);
}
END { kill 'TERM', $proxy if $proxy && $$ == $test; }

# ---- the tables: alice owns those of the other server, which has no extension, but functions that do what tables say

$s->safe_psql('postgres', "CREATE ROLE alice LOGIN PASSWORD 'pw'; CREATE ROLE guest LOGIN");
$s->safe_psql('postgres', "CREATE DATABASE hostile OWNER alice");
my $hba = $s->data_dir . '/pg_hba.conf';
my $trust = slurp_file($hba);
unlink $hba;
append_to_file($hba, "local hostile alice scram-sha-256\n$trust");
$s->reload;
there(<<'SQL');
SET ROLE alice;
CREATE SCHEMA data;
ALTER ROLE alice IN DATABASE hostile SET search_path = data;
SET search_path = data;
CREATE TABLE changes (item text, primary_key text[]);
CREATE TABLE behaviour (query text, waits float8);
INSERT INTO behaviour VALUES ('TABLE data.changes', 0);
CREATE FUNCTION go_away() RETURNS SETOF changes LANGUAGE plpgsql AS
$$ BEGIN RAISE 'go away' USING ERRCODE = '57P01', DETAIL = 'xyz', HINT = repeat('x', 100000); END $$;
CREATE SCHEMA indextable_internal;
GRANT USAGE ON SCHEMA data, indextable_internal TO guest;
CREATE FUNCTION indextable_internal.take(fact_table regclass, n bigint, columns name[],
	OUT item text, OUT primary_key text[]) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE b data.behaviour;
BEGIN
	IF n = 0 THEN RETURN; END IF;
	SELECT * INTO b FROM data.behaviour;
	PERFORM pg_sleep(b.waits);
	IF fact_table = 'data.cust_0'::regclass THEN RETURN QUERY EXECUTE b.query; END IF;
END $$;
CREATE FUNCTION indextable_internal.ack(fact_table regclass, items text[]) RETURNS bigint LANGUAGE sql AS
$$ WITH gone AS (DELETE FROM data.changes WHERE item = ANY (items) RETURNING 1) SELECT count(*) FROM gone $$;
CREATE FUNCTION indextable_internal.feed_status(fact_table regclass, as_of pg_snapshot DEFAULT NULL, max_lag interval DEFAULT NULL,
	OUT backlog bigint, OUT lag interval, OUT pending boolean, OUT now pg_snapshot) LANGUAGE sql AS
$$ SELECT count(*), '178000000 years'::interval, count(*) > 0, '1:1:'::pg_snapshot FROM data.changes $$;
SQL
there("SET ROLE alice; CREATE TABLE data.cust_$_ (id int PRIMARY KEY, doc jsonb)") for 0 .. 3;
sql("CREATE EXTENSION $_") for 'indextable', @extensions;
my $port = $s->port;
sql(<<"SQL");
CREATE ROLE alice LOGIN;
CREATE ROLE bob LOGIN;
CREATE ROLE carol LOGIN;
GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO alice;
GRANT CREATE ON SCHEMA public TO alice, carol;
SET ROLE carol;
CREATE TABLE carols (id serial PRIMARY KEY, doc jsonb);
SELECT indextable.create('carols_k', 'carols', '{k}', maintenance => 'async');
SET ROLE alice;
CREATE SERVER hostile FOREIGN DATA WRAPPER postgres_fdw
	OPTIONS (host '$folder', port '$port', dbname 'hostile', connect_timeout '2', keep_connections 'off', application_name 'shop');
GRANT USAGE ON FOREIGN SERVER hostile TO carol;
CREATE USER MAPPING FOR alice SERVER hostile OPTIONS (user 'alice', password 'pw');
CREATE TABLE cust (id int NOT NULL, doc jsonb) PARTITION BY RANGE (id);
SQL
sql("SET ROLE alice; CREATE FOREIGN TABLE cust_$_ PARTITION OF cust FOR VALUES FROM (${_}000) TO (${_}999) SERVER hostile"
	  . " OPTIONS (schema_name 'data')") for 0 .. 3;
sql("SET ROLE alice; SELECT indextable.create('cust_k', 'cust', '{k}', maintenance => 'async', primary_key => '{id}')");

# change IDS: inserts rows over there
sub change
{
	my ($ids) = @_;
	there("INSERT INTO data.cust_0 SELECT id, jsonb_build_object('k', 'k' || id) FROM ($ids) t (id); "
		  . "INSERT INTO data.changes SELECT 'item' || id, ARRAY[id::text] FROM ($ids) t (id)");
	return;
}

# reconnect: the options change, so that connections are opened anew
sub reconnect { return sql("SET ROLE alice; ALTER SERVER hostile OPTIONS (SET application_name 'shop')"); }

# carol_goes_on NAME: her changes are applied
sub carol_goes_on
{
	my ($name) = @_;
	sql(q(SET ROLE carol; INSERT INTO carols (doc) VALUES ('{"k": "a"}')));
	return is(sql("SELECT indextable.wait('carols_k', '3 minutes')"), 't', "$name: another table goes on");
}

# shown PATTERN, NAME: what the view of the queues says
sub shown
{
	my ($pattern, $name) = @_;
	my $row = "FROM indextable.queues WHERE server = 'hostile'";
	return ok(becomes_true($c, "SELECT coalesce(last_error ~ '$pattern', false) $row"), "$name: it is shown")
	  || diag(sql("SELECT last_error $row"));
}

# heals NAME: the server behaves again
sub heals
{
	my ($name) = @_;
	behave('pass');
	there("UPDATE data.behaviour SET query = 'TABLE data.changes', waits = 0");
	reconnect();
	ok(becomes_true($c, "SELECT last_error IS NULL AND backlog = 0 FROM indextable.queues WHERE server = 'hostile'"), "$name: it heals");
	# what the view says is of the moment at which a worker asked, which may be before the last change
	my $wrong = 'SET ROLE alice; SET indextable.planner = off; SELECT count(*) FROM (TABLE cust_k EXCEPT SELECT doc ->> $$k$$, id FROM cust) x '
	  . 'UNION ALL SELECT count(*) FROM (SELECT doc ->> $$k$$, id FROM cust EXCEPT TABLE cust_k) x';
	my $until = time + $PostgreSQL::Test::Utils::timeout_default;
	sleep 1 while sql($wrong) ne "0\n0" && time < $until;
	is(sql($wrong), "0\n0", "$name: entries are right");
	return;
}

change('SELECT generate_series(1, 10)');
heals('at first');
is(there("SELECT DISTINCT application_name FROM pg_stat_activity WHERE usename = 'alice'"), 'shop', 'the connection has the options of the server');

# ---- connections are out of reach

SKIP:
{
	skip 'dblink is not installed', 6 unless grep { $_ eq 'dblink' } @extensions;
	sql('SET ROLE alice; GRANT SELECT ON cust_k TO bob; GRANT SELECT ON cust TO bob');
	is($c->safe_psql('postgres', "SELECT indextable.wait('cust_k'); SELECT count(*) FROM indextable.query('cust_k', max_lag => '0');"
			. ' SELECT dblink_get_connections()', extra_params => [ '-U', 'bob' ]), "t\n10\n", 'of who calls wait()');
	is(sql("SELECT indextable.drain('cust'); SELECT dblink_get_connections()"), "0\n", 'and drain()');
	sql(<<'SQL');
SET ROLE carol;
CREATE FUNCTION unconnected(int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN public.dblink_get_connections() IS NULL; END';
CREATE TABLE curious (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('curious_k', 'curious', '{k}', maintenance => 'async', filter => 'public.unconnected(id)');
INSERT INTO curious VALUES (1, '{"k": "a"}');
SQL
	is(sql("SELECT indextable.wait('curious_k'); SELECT count(*) FROM curious_k"), "t\n1", 'and of code that a worker calls');
	cmp_ok(there("SELECT count(*) FROM pg_stat_activity WHERE usename = 'alice'"), '>', 0, 'though the worker has one');
	sql('DROP TABLE curious');
	my $to_bob = sprintf q('host=%s port=%s user=bob dbname=postgres'), $c->host, $c->port;
	sql(<<"SQL");
GRANT CREATE ON SCHEMA public TO bob;
GRANT EXECUTE ON FUNCTION dblink_connect_u(text), dblink_connect_u(text, text) TO bob;
SET ROLE bob;
CREATE FUNCTION connect(int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS \$\$
BEGIN
	RETURN public.dblink_connect_u($to_bob) = public.dblink_connect_u('of bob', $to_bob);
END \$\$;
CREATE TABLE connecting (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('connecting_k', 'connecting', '{k}', maintenance => 'async', filter => 'public.connect(id)');
INSERT INTO connecting VALUES (1, '{"k": "a"}');
SELECT indextable.wait('connecting_k');
RESET ROLE;
SET ROLE carol;
CREATE FUNCTION as_bob(int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS \$\$
BEGIN
	RETURN public.dblink_get_connections() IS NOT NULL OR EXISTS (SELECT FROM public.dblink('SELECT 1') t(i int));
EXCEPTION WHEN connection_does_not_exist THEN
	RETURN false;
END \$\$;
CREATE TABLE curious (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('curious_k', 'curious', '{k}', maintenance => 'async', filter => 'public.as_bob(id) OR id = 2');
INSERT INTO curious VALUES (1, '{"k": "a"}'), (2, '{"k": "b"}');
SELECT indextable.wait('curious_k');
SQL
	is(sql('TABLE connecting_k'), 'a|1', 'a worker has called code that leaves two connections');
	is(sql('TABLE curious_k'), 'b|2', '... and closed them before it calls code of another owner');
	sql('DROP TABLE curious, connecting');
}

# ---- passwords: as postgres_fdw wants them

sql(<<'SQL');
SET ROLE carol;
CREATE USER MAPPING FOR carol SERVER hostile OPTIONS (user 'guest');
CREATE TABLE c (id int NOT NULL, doc jsonb) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE c_0 PARTITION OF c DEFAULT SERVER hostile OPTIONS (schema_name 'data', table_name 'cust_0');
SQL
my $create = "SET ROLE carol; SELECT indextable.create('c_k', 'c', '{k}', maintenance => 'async', primary_key => '{id}', populate => false)";
fails($create, qr/2F003: +password is required.*must provide a password/s, 'no password');
sql("SET ROLE carol; ALTER USER MAPPING FOR carol SERVER hostile OPTIONS (ADD password 'pw')");
fails($create, qr/2F003: +password is required.*does not request a password/s, 'no password is asked for');
fails("SET ROLE carol; ALTER USER MAPPING FOR carol SERVER hostile OPTIONS (ADD password_required 'false')", qr/42501/, 'who may lift that');
sql("ALTER USER MAPPING FOR carol SERVER hostile OPTIONS (ADD password_required 'false')");
sql("$create; DROP TABLE c");
sql(<<"SQL");
CREATE FOREIGN DATA WRAPPER other HANDLER postgres_fdw_handler;
CREATE SERVER other FOREIGN DATA WRAPPER other OPTIONS (host '$folder', port '$port', dbname 'hostile');
GRANT USAGE ON FOREIGN SERVER other TO carol;
SET ROLE carol;
CREATE USER MAPPING FOR carol SERVER other OPTIONS (user 'guest', password_required 'false');
CREATE TABLE c (id int NOT NULL, doc jsonb) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE c_0 PARTITION OF c DEFAULT SERVER other OPTIONS (schema_name 'data', table_name 'cust_0');
SQL
fails($create, qr/42809: +server "other" is not one of postgres_fdw/, 'options that nobody has checked');
sql('DROP TABLE c; DROP FOREIGN DATA WRAPPER other CASCADE');

# ---- what the server does not send

for my $how ('mute', 'unready')
{
	behave($how);
	reconnect();
	change('SELECT ' . ($how eq 'mute' ? 11 : 12));
	shown('^server "hostile" .*has not answered in time', $how);
	carol_goes_on($how);
	fails("SELECT indextable.drain('cust')", qr/08006: +server "hostile" .*has not answered in time/, "$how: drain() says so");
	fails("SELECT indextable.wait('cust_k', '0.1 s')", qr/08006: +server "hostile" .*has not answered in time/, "$how: wait() says so")
	  if $how eq 'mute';
	fails("SET statement_timeout = '100ms'; SELECT indextable.drain('cust')", qr/57014/, "$how: this can be interrupted");
	heals($how);
}

# the feed answers, and postgres_fdw, which reads the rows, is not answered: it connects anew for each transaction
behave('mute');
change('SELECT 13');
shown('canceling statement|could not connect', 'mute to postgres_fdw');
carol_goes_on('mute to postgres_fdw');
heals('mute to postgres_fdw');

there('UPDATE data.behaviour SET waits = 1');
shown('^server "hostile" .*has not answered in time', 'four feeds that answer slowly');
carol_goes_on('four feeds that answer slowly');
heals('four feeds that answer slowly');

# ---- what it sends

sql("ALTER SYSTEM SET indextable.batch_timeout = '1 min'");
$c->reload;
for my $answer (
	[ 'too many rows', 'has returned more than the 10000 rows', q{SELECT 'i', ARRAY[i::text] FROM generate_series(1, 300000) i} ],
	[ 'a long answer', 'an answer of server "hostile" .*is too long', q{SELECT 'i', ARRAY[repeat('9', 1000000)] FROM generate_series(1, 60)} ],
	[ 'no key', '.', q{SELECT 'i', ARRAY[NULL::text]} ],
	[ 'a short key', 'a primary key with 0 columns is none of "cust"', q{SELECT 'i', '{}'::text[]} ],
	[ 'SQL in place of a key', 'invalid input syntax', q{SELECT 'i', ARRAY['1''); DROP TABLE carols; --']} ],
	[ 'garbled key', 'invalid byte sequence', q{SELECT 'i', ARRAY['xyz']} ],
	[ 'no item', 'has returned a change that names no feed', q{SELECT NULL, ARRAY['1']} ],
	[ 'garbled error', '^go away$', 'SELECT * FROM data.go_away()' ])
{
	my ($name, $pattern, $query) = @$answer;
	behave($name =~ /^garbled/ ? 'garbled' : $name eq 'too many rows' ? 'more' : 'pass');
	there("UPDATE data.behaviour SET query = \$q\$$query\$q\$");
	shown($pattern, $name);
	carol_goes_on($name);
	fails("SELECT indextable.drain('cust')", qr/08006: +go away\nDETAIL: +\(text in another encoding\)\nHINT: +x{1000}\n/, $name)
	  if $name eq 'garbled error';
	heals($name);
}

# ---- where it is

for my $option ([ 'host', join(',', map { "/nowhere$_" } 1 .. 9), 'server "hostile" has more than 8 hosts' ],
	$c->pg_version < 16 ? [ 'connect_timeout', '0', 'connect_timeout of server "hostile" is not between 1 and 30' ] : ())
{
	my ($keyword, $value, $pattern) = @$option;
	my $before = sql("SELECT option_value FROM pg_foreign_server, pg_options_to_table(srvoptions) WHERE option_name = '$keyword'");
	sql("SET ROLE alice; ALTER SERVER hostile OPTIONS (SET $keyword '$value')");
	shown($pattern, $keyword);
	sql("SET ROLE alice; ALTER SERVER hostile OPTIONS (SET $keyword '$before')");
	heals($keyword);
}

# ---- what it does not send while workers and the server are stopped

sql("SET ROLE alice; ALTER SERVER hostile OPTIONS (DROP connect_timeout)");
for my $how ('mute', 'unready')
{
	behave($how);
	reconnect();
	ok(becomes_true($c, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'indextable worker'"
				. " AND wait_event IN ('Extension', 'IndextableServer') AND state = 'active')"), "$how: a worker waits");
	if ($how eq 'mute')
	{
		sql('SELECT indextable.stop_workers()');
		is(sql('SELECT count(*) FROM indextable.workers()'), '0', "$how: it can be stopped");
		sql('SELECT indextable.start_workers()');
	}
	else { ok($c->stop('fast', fail_ok => 1), "$how: a fast shutdown ends"); }
}
done_testing();
