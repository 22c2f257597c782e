# Random statements of several sessions on fact tables with asynchronous index tables of all kinds: user triggers that
# change the same and other rows, savepoints, prepared transactions, TRUNCATE, drains that are rolled back, index tables
# that are dropped and made again, also as transactional ones. One statement runs at a time; who would have to wait for
# another session gives up. All the while, what is not queued must be right; and after each drain all of it.
#
#   SEED        what the run is made from; default: the time. It is printed; the same seed makes the same run.
#   STATEMENTS  how many; default 1500

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{SEED} || time() % 1000000;
my $count = $ENV{STATEMENTS} || 1500;
srand($seed);
note "SEED=$seed";

# ---- the fact tables, the triggers, and the oracle

my $setup = <<'SQL';
CREATE EXTENSION indextable;

CREATE FUNCTION pick(i int, salt int, VARIADIC a jsonb[]) RETURNS jsonb IMMUTABLE LANGUAGE sql AS
$$ SELECT a[1 + (hashint4(i * 31 + salt) & 2147483647) % cardinality(a)] $$;

-- Documents of every kind: missing and null fields, numbers equal but for their bytes, values that are no number or
-- date, arrays with duplicates, keys that are too long, and now and then one that is long enough for TOAST.
CREATE FUNCTION rdoc(i int) RETURNS jsonb IMMUTABLE LANGUAGE sql AS
$$
SELECT CASE WHEN i % 41 = 0 THEN '[]' WHEN i % 43 = 0 THEN '"k"' WHEN i % 47 = 0 THEN 'null' WHEN i % 37 = 0 THEN '{}'
	ELSE (SELECT jsonb_object_agg(n, v) FILTER (WHERE v IS NOT NULL) FROM (VALUES
	('k', CASE WHEN i % 29 = 0 THEN to_jsonb(repeat('long', 800)) ELSE pick(i, 1, '"a"', '"b"', '"c"', '"a"', '1', '1.0', 'true', 'null', NULL, '""', '{"x": 1}', '"ä\"b"') END),
	('n', pick(i, 2, '1', '2', '1.0', '"3"', '" 4 "', '"x"', 'null', NULL, '3000000000', '-7', '2.50')),
	('d', pick(i, 3, '"2024-01-31"', '"2024-02-30"', '"now"', '"2023-12-01"', NULL, '"x"')),
	('v', pick(i, 4, '"p"', '"q"', '1', '1.0', 'null', NULL, '[1, 2]')),
	('tags', pick(i, 5, '["s", "t"]', '["t", "s", "t"]', '[]', '"s"', 'null', NULL, '[null, "u", 1, 1.0, "1"]', '["s", ["t"], {"a": 1}]', '["5", 6, "6"]')),
	('items', pick(i, 6, '[{"name": "m"}, {"name": "n"}]', '[{"name": "m", "z": 1}, {"name": "m"}, {}]', '{"name": "o"}', '[1, null]', NULL)),
	('j', pick(i, 7, '1', '1.0', '"1"', '{"b": 1, "a": [1]}', 'null', NULL, '[]')),
	('pad', CASE WHEN i % 11 = 0 THEN (SELECT to_jsonb(string_agg(md5((g + i % 3)::text), '')) FROM generate_series(1, 120) g) END)
	) AS t(n, v)) END
$$;
CREATE FUNCTION as_int(v text) RETURNS int IMMUTABLE LANGUAGE sql AS
$$ SELECT CASE WHEN v ~ '^\s*[-+]?[0-9]{1,9}\s*$' THEN v::int END $$;
CREATE FUNCTION as_numeric(v text) RETURNS numeric IMMUTABLE LANGUAGE sql AS
$$ SELECT CASE WHEN v ~ '^\s*[-+]?[0-9]+(\.[0-9]+)?\s*$' THEN v::numeric END $$;
CREATE FUNCTION as_date(v text) RETURNS date IMMUTABLE LANGUAGE sql AS
$$ SELECT CASE WHEN v IN ('2024-01-31', '2023-12-01') THEN v::date END $$;
CREATE FUNCTION elements(v jsonb) RETURNS SETOF jsonb IMMUTABLE LANGUAGE sql AS
$$ SELECT jsonb_array_elements(CASE WHEN jsonb_typeof(v) = 'array' THEN v WHEN jsonb_typeof(v) <> 'null' THEN jsonb_build_array(v) END) $$;
CREATE FUNCTION u(i int) RETURNS uuid IMMUTABLE LANGUAGE sql AS $$ SELECT md5(i::text)::uuid $$;

CREATE TABLE a (note text, pk int PRIMARY KEY, gone int, doc jsonb);
ALTER TABLE a DROP COLUMN gone;
CREATE TABLE b (doc jsonb, n int, "B" text, other jsonb, PRIMARY KEY ("B", n));
CREATE TABLE c (id uuid PRIMARY KEY, doc jsonb, note text);

-- What triggers do is said by a setting: action, seed, and which rows they do it for. Deeper than two triggers nothing.
CREATE FUNCTION act(what text, own int, i int) RETURNS void LANGUAGE plpgsql AS
$$
DECLARE
	another int := 1 + (hashint4(own + i) & 2147483647) % 20;
BEGIN
	CASE what
	WHEN 'own' THEN UPDATE a SET doc = rdoc(i) WHERE pk = own;
	WHEN 'own_note' THEN UPDATE a SET note = 'n' || i % 3 WHERE pk = own;
	WHEN 'own_twice' THEN UPDATE a SET doc = rdoc(i) WHERE pk = own; UPDATE a SET doc = rdoc(i + 1) WHERE pk = own;
	WHEN 'other' THEN UPDATE a SET doc = rdoc(i + 2) WHERE pk = another;
	WHEN 'other_delete' THEN DELETE FROM a WHERE pk = another;
	WHEN 'own_delete' THEN DELETE FROM a WHERE pk = own;
	WHEN 'reinsert' THEN DELETE FROM a WHERE pk = own; INSERT INTO a VALUES ('n0', own, rdoc(i + 3)) ON CONFLICT DO NOTHING;
	WHEN 'move' THEN UPDATE a SET pk = pk + 50 WHERE pk = own AND NOT EXISTS (SELECT FROM a f WHERE f.pk = own + 50);
	WHEN 'elsewhere' THEN
		INSERT INTO b VALUES (rdoc(i), own, 'b1', rdoc(i + 1)) ON CONFLICT ("B", n) DO UPDATE SET doc = excluded.doc, other = excluded.other;
		UPDATE c SET doc = rdoc(i + 5) WHERE id = u(another);
	WHEN 'drain' THEN PERFORM indextable.drain('a', 1 + i % 3);
	WHEN 'rolled_back' THEN
		BEGIN
			PERFORM act((ARRAY['own', 'other', 'own_delete', 'reinsert', 'elsewhere', 'move', 'drain'])[1 + i % 7], own, i + 7);
			RAISE EXCEPTION 'rolled back';
		EXCEPTION WHEN raise_exception THEN NULL;
		END;
	WHEN 'committed' THEN
		BEGIN
			PERFORM act((ARRAY['own', 'other', 'own_delete', 'reinsert', 'elsewhere', 'move', 'rolled_back'])[1 + i % 7], own, i + 9);
		EXCEPTION WHEN raise_exception THEN NULL;
		END;
	ELSE NULL;
	END CASE;
END
$$;
CREATE FUNCTION on_row() RETURNS trigger LANGUAGE plpgsql AS
$$
DECLARE
	plan text[] := string_to_array(current_setting('random.' || TG_ARGV[0], true), ' ');
	r a := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
	IF pg_trigger_depth() > 2 OR plan[1] IS NULL OR r.pk % plan[3]::int <> 0 THEN
		RETURN r;
	END IF;
	IF TG_ARGV[0] = 'd' THEN
		PERFORM set_config('random.d', '', false);    -- once: what it does comes back to it, at the end of the transaction

		-- A server with assertions crashes when a subtransaction is rolled back directly under a transaction that is about
		-- to commit or to be prepared, also without any extension: RollbackAndReleaseCurrentSubTransaction() does not expect
		-- it, though BeginInternalSubTransaction() does. So these are left to servers without assertions, which cope.
		IF current_setting('debug_assertions')::bool AND plan[1] IN ('rolled_back', 'committed', 'drain') THEN
			RETURN r;
		END IF;
	END IF;
	IF TG_WHEN = 'BEFORE' AND plan[1] = 'cancel' THEN
		RETURN NULL;
	ELSIF TG_WHEN = 'BEFORE' AND plan[1] = 'change' THEN
		IF TG_OP <> 'DELETE' THEN
			r.doc := rdoc(plan[2]::int + r.pk);
		END IF;
	ELSE
		PERFORM act(plan[1], r.pk, plan[2]::int + r.pk);
	END IF;
	RETURN r;
END
$$;
CREATE TRIGGER "!a" AFTER INSERT OR UPDATE OR DELETE ON a FOR EACH ROW EXECUTE FUNCTION on_row('a');
CREATE TRIGGER "zz" AFTER INSERT OR UPDATE OR DELETE ON a FOR EACH ROW EXECUTE FUNCTION on_row('z');
CREATE TRIGGER "b" BEFORE INSERT OR UPDATE OR DELETE ON a FOR EACH ROW EXECUTE FUNCTION on_row('b');
CREATE CONSTRAINT TRIGGER "d" AFTER INSERT OR UPDATE ON a DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION on_row('d');

CREATE TABLE spec (index_table text, fact text, key text, recompute text, rejected text);

-- The keys that this snapshot sees queued.
CREATE FUNCTION queued(fact text) RETURNS SETOF text[] STABLE LANGUAGE plpgsql AS
$$
DECLARE
	q regclass;
	n int := CASE fact WHEN 'b' THEN 2 ELSE 1 END;
BEGIN
	FOR q IN SELECT unnest(ARRAY[f.queue, f.spare]) FROM indextable_internal.fact f WHERE f.fact_table = fact::regclass LOOP
		IF q IS NOT NULL THEN
			RETURN QUERY EXECUTE format('SELECT ARRAY[%s] FROM %s', CASE n WHEN 1 THEN 'key1::text' ELSE 'key1::text, key2::text' END, q);
		END IF;
	END LOOP;
END
$$;

-- What is wrong, of the rows that are not queued; compared as text, because 1 and 1.0 are equal as numbers.
CREATE FUNCTION drifts() RETURNS SETOF text STABLE LANGUAGE plpgsql SET indextable.planner = off AS
$$
DECLARE
	s spec;
	unqueued text;
BEGIN
	FOR s IN SELECT spec.* FROM spec JOIN indextable.index_tables t ON t.index_table = to_regclass(spec.index_table) LOOP
		unqueued := format('NOT EXISTS (SELECT FROM queued(%L) q(key) WHERE key = ARRAY[%s])', s.fact, s.key);
		RETURN QUERY EXECUTE format($q$
			WITH %2$s AS MATERIALIZED (SELECT * FROM %2$s WHERE %3$s), expected AS MATERIALIZED (%4$s)
			SELECT 'DRIFT %1$s missing ' || r FROM (SELECT x::text FROM expected x EXCEPT ALL SELECT e::text FROM %1$s e WHERE %3$s) d(r)
			UNION ALL SELECT 'DRIFT %1$s extra ' || r FROM (SELECT e::text FROM %1$s e WHERE %3$s EXCEPT ALL SELECT x::text FROM expected x) d(r)$q$,
			s.index_table, s.fact, unqueued, s.recompute);
		IF s.rejected IS NOT NULL AND (SELECT maintenance FROM indextable.index_tables t WHERE t.index_table = to_regclass(s.index_table)) = 'async' THEN
			RETURN QUERY EXECUTE format($q$
				WITH expected AS (SELECT ARRAY[%3$s] FROM %2$s WHERE %5$s AND (%4$s)),
					found AS (SELECT primary_key FROM indextable.rejected r WHERE index_table = %1$L::regclass AND primary_key NOT IN (SELECT queued(%2$L)))
				SELECT 'DRIFT %1$s not rejected: ' || r::text FROM (TABLE expected EXCEPT ALL TABLE found) d(r)
				UNION ALL SELECT 'DRIFT %1$s rejected: ' || r::text FROM (TABLE found EXCEPT ALL TABLE expected) d(r)$q$,
				s.index_table, s.fact, s.key, s.rejected, unqueued);
		END IF;
	END LOOP;
END
$$;

-- The queue of a table without such index tables may stay, unused, if a session has had it locked.
CREATE FUNCTION backlogs() RETURNS SETOF text STABLE LANGUAGE sql AS
$$ SELECT 'DRIFT left in the queue of ' || fact || ': ' || key::text FROM unnest('{a,b,c}'::text[]) fact, queued(fact) key
	WHERE EXISTS (SELECT FROM indextable_internal.definition d WHERE d.fact_table = fact::regclass AND (d.maintenance = 'async' OR d.state = 'building')) $$;
SQL

# name => [fact table, arguments of create(), the recompute, which rows are rejected, whether it can be transactional]
my $k = q(doc #>> '{k}');
my $n = q(doc #>> '{n}');
my $long = "length($k) > 2000";
my $short = "NOT coalesce($long, false)";
my $no_int = "$n IS NOT NULL AND as_int($n) IS NULL";
my %index = (
	a_norm => [ 'a', q('a', '{k}'), "SELECT $k, pk FROM a WHERE $short", $long ],
	a_skip => [ 'a', q('a', '{k}', on_mismatch => 'skip'), "SELECT $k, pk FROM a WHERE $short", 'false', 1 ],
	a_part => [
		'a', q('a', '{k}', include => '{v,@note,"tags::jsonb"}'),
		"SELECT $k, pk, doc #>> '{v}', note, doc #> '{tags}' FROM a WHERE $short", $long
	],
	a_bad => [ 'a', q('a', '{k}', include => '{n::int}'), "SELECT $k, pk, as_int($n) FROM a WHERE $short AND NOT ($no_int)",
		"$long OR $no_int" ],
	a_deno => [ 'a', q('a', '{k}', 'denormalized', on_mismatch => 'skip'), "SELECT $k, pk, doc FROM a WHERE $short", 'false', 1 ],
	a_comp => [ 'a', q('a', '{k,n::int}'), "SELECT $k, as_int($n), pk FROM a WHERE $short AND NOT ($no_int)",
		"$long OR $no_int" ],
	a_num => [ 'a', q('a', '{n::numeric}', on_mismatch => 'skip'), "SELECT as_numeric($n), pk FROM a WHERE $n IS NULL OR as_numeric($n) IS NOT NULL", 'false', 1 ],
	a_date => [ 'a', q('a', '{d::date}', 'denormalized'), q(SELECT as_date(doc #>> '{d}'), pk, doc FROM a WHERE doc #>> '{d}' IS NULL OR as_date(doc #>> '{d}') IS NOT NULL),
		q(doc #>> '{d}' IS NOT NULL AND as_date(doc #>> '{d}') IS NULL) ],
	a_tags => [ 'a', q('a', '{tags[*]}', include => '{v}'), q(SELECT e #>> '{}', pk, doc #>> '{v}', count(*)::int FROM a, elements(doc #> '{tags}') e GROUP BY 1, 2, 3), 'false', 1 ],
	a_tagnum => [ 'a', q('a', '{"tags[*]::int AS t"}', on_mismatch => 'skip'),
		q(SELECT as_int(e #>> '{}'), pk, count(*)::int FROM a, elements(doc #> '{tags}') e WHERE e #>> '{}' IS NULL OR as_int(e #>> '{}') IS NOT NULL GROUP BY 1, 2), 'false', 1 ],
	a_filter => [ 'a', q('a', '{k}', filter => $f$doc #>> '{v}' = 'p' AND note IS DISTINCT FROM 'n1'$f$),
		"SELECT $k, pk FROM a WHERE $short AND doc #>> '{v}' = 'p' AND note IS DISTINCT FROM 'n1'", "$long AND doc #>> '{v}' = 'p' AND note IS DISTINCT FROM 'n1'" ],
	a_col => [ 'a', q('a', '{@note,j::jsonb}'), q(SELECT note, doc #> '{j}', pk FROM a), 'false', 1 ],
	b_part => [ 'b', q('b', '{v}', document => 'other', include => '{k}'), q(SELECT other #>> '{v}', "B", n, other #>> '{k}' FROM b), undef, 1 ],
	b_pk => [ 'b', q('b', '{tags[*],@n}', 'denormalized', document => 'doc'),
		q(SELECT e, n, "B", doc, count(*)::int FROM (SELECT e #>> '{}' AS e, n, "B", doc FROM b, elements(doc #> '{tags}') e) x GROUP BY 1, 2, 3, 4), undef, 1 ],
	c_k => [ 'c', q('c', '{k}'), "SELECT $k, id FROM c WHERE $short", $long ],
	c_items => [ 'c', q('c', '{v,items[*].name}', 'denormalized'),
		q(SELECT v, e, id, doc, count(*)::int FROM (SELECT doc #>> '{v}' AS v, e #>> '{name}' AS e, id, doc FROM c, elements(doc #> '{items}') e) x GROUP BY 1, 2, 3, 4),
		undef, 1 ],
);
my @names = sort keys %index;
my %key = (a => 'pk::text', b => '"B", n::text', c => 'id::text');

sub create
{
	my ($name, $maintenance) = @_;
	return "SELECT indextable.create('$name', $index{$name}[1], maintenance => '$maintenance')";
}

for my $name (@names)
{
	my ($fact, $args, $recompute, $rejected) = @{ $index{$name} };
	$setup .= create($name, 'async') . ";\nINSERT INTO spec VALUES (\$s\$$name\$s\$, '$fact', \$s\$$key{$fact}\$s\$, \$s\$$recompute\$s\$, "
	  . ($rejected ? "\$s\$$rejected\$s\$" : 'NULL') . ");\n";
}
$setup .= <<'SQL';
INSERT INTO a SELECT 'n' || g % 3, g, rdoc(g) FROM generate_series(1, 12) g;
INSERT INTO b SELECT rdoc(g), g, 'b' || g % 2, rdoc(g + 1000) FROM generate_series(1, 8) g;
INSERT INTO c SELECT u(g), rdoc(g), 'n' || g % 3 FROM generate_series(1, 12) g;
SQL

# ---- the statements

sub pick { return $_[ int(rand(@_)) ]; }
sub chance { return rand() < $_[0]; }
sub num { return int(rand(1000000)); }
sub pk { return 1 + int(rand(20)); }

sub plan_triggers
{
	my @actions = qw(own own own_note own_twice other other_delete own_delete reinsert move elsewhere drain rolled_back committed committed);
	my $hot = chance(0.6) ? pick('a', 'a', 'z', 'b', 'd') : '';
	return join '; ', map { my $t = $_; "SET random.$t = '" . ($t ne $hot ? '' : join ' ', pick(@actions, $t eq 'b' ? ('change', 'change', 'cancel') : ()), num(), pick(1, 1, 2, 3)) . "'" } qw(a z b d);
}

my %where = (
	a => sub { pick('', ' WHERE pk = ' . pk(), ' WHERE pk = ' . pk(), ' WHERE pk IN (' . join(', ', pk(), pk(), pk()) . ')', ' WHERE pk % 3 = ' . int(rand(3))) },
	b => sub { pick('', ' WHERE n = ' . pk(), ' WHERE n % 3 = ' . int(rand(3)), q( WHERE "B" = 'b1')) },
	c => sub { pick('', ' WHERE id = u(' . pk() . ')', ' WHERE id IN (u(' . pk() . '), u(' . pk() . '))') },
);

sub dml
{
	my ($i, $p, $q) = (num(), pk(), pk());
	my $to = $p + pick(0, 0, 1, 4);
	my ($on_a, $on_b, $on_c) = map { $where{$_}->() } qw(a b c);
	my $rows = "SELECT 'n' || g % 3, g, rdoc(g + $i) FROM generate_series($p, $to) g";
	return pick(
		"INSERT INTO a $rows ON CONFLICT DO NOTHING",
		"INSERT INTO a $rows ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc, note = excluded.note",
		"INSERT INTO a $rows",
		"UPDATE a SET doc = rdoc(pk + $i)$on_a",
		"UPDATE a SET doc = rdoc(pk + $i)$on_a",
		"UPDATE a SET note = 'n' || $i % 3$on_a",
		"UPDATE a SET doc = CASE WHEN jsonb_typeof(doc) = 'object' THEN doc || '{\"v\": \"p\"}' ELSE doc END$on_a",
		"UPDATE a SET pk = $q, doc = rdoc($i) WHERE pk = $p",
		"UPDATE a SET pk = pk + 200$on_a; UPDATE a SET pk = pk - 200 WHERE pk > 200",
		'DELETE FROM a' . ($on_a || " WHERE pk = $p"),
		'DELETE FROM a WHERE pk > 20',
		"WITH d AS (DELETE FROM a WHERE pk = $p RETURNING *) INSERT INTO a SELECT note, pk, " . pick('doc', "rdoc($i)") . ' FROM d',
		"MERGE INTO a USING ($rows) s(note, pk, doc) ON a.pk = s.pk WHEN MATCHED AND s.pk % 4 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET doc = s.doc WHEN NOT MATCHED THEN INSERT VALUES (s.note, s.pk, s.doc)",
		"INSERT INTO b SELECT rdoc(g + $i), g, 'b' || g % 2, rdoc(g + $i + 1) FROM generate_series($p, $to) g ON CONFLICT (\"B\", n) DO UPDATE SET doc = excluded.doc, other = excluded.other",
		"UPDATE b SET doc = rdoc(n + $i)$on_b",
		"UPDATE b SET other = rdoc(n + $i)$on_b",
		"UPDATE b SET \"B\" = 'b' || 1 + $i % 3, n = n + 1$on_b",
		'DELETE FROM b WHERE n % 5 = ' . $i % 5,
		"INSERT INTO c SELECT u(g), rdoc(g + $i), 'n' FROM generate_series($p, $to) g ON CONFLICT (id) DO UPDATE SET doc = excluded.doc",
		"UPDATE c SET doc = rdoc($i + get_byte(uuid_send(id), 0))$on_c",
		"UPDATE c SET id = u($q) WHERE id = u($p)",
		'DELETE FROM c' . ($on_c || " WHERE id = u($p)"),
		"DO \$d\$ BEGIN BEGIN UPDATE a SET doc = rdoc(pk + $i)$on_a; UPDATE c SET doc = rdoc($i)$on_c; " . pick('RAISE EXCEPTION $$undo$$;', '') . " EXCEPTION WHEN raise_exception OR unique_violation THEN NULL; END; DELETE FROM b WHERE n = $p; END \$d\$");
}

sub drain { return 'SELECT indextable.drain(' . pick('', q('a', 1), q('b', 2), q('c', 3), 'NULL, 1', 'NULL, 5') . ')'; }

sub ddl
{
	my $name = pick(@names);
	my ($fact, $rejects) = @{ $index{$name} }[ 0, 3 ];

	# create() refuses what is only rejected later
	my $create = ($rejects && $rejects ne 'false' && chance(0.7) ? "DELETE FROM $fact; " : '') . create($name, $index{$name}[4] && chance(0.3) ? 'transactional' : 'async');
	return pick("SELECT indextable.drop('$name')", $create, "SELECT indextable.drop('$name'); $create", "DROP TABLE IF EXISTS $name; $create",
		# those of a fact table all at once, so that its queue goes
		map { my $fact = $_; join '; ', (map { "SELECT indextable.drop('$_')" } grep { $index{$_}[0] eq $fact } @names), pick('', map { create($_, 'async') } grep { $index{$_}[0] eq $fact } @names) } 'b', 'c');
}

# ---- the run

my $node = new_server('async_random', 'autovacuum = off', 'max_prepared_transactions = 5');
my ($status, $out, $err) = $node->psql('postgres', $setup);
is($status, 0, 'set-up') or BAIL_OUT($err);

# How long one waits does not matter: whatever is waited for is in another session, which does nothing meanwhile.
my $settings = "SET lock_timeout = '20ms'; SET client_min_messages = warning; \\set VERBOSITY verbose\n";
my @sessions = map { { session => session($node), open => 0, number => $_ } } 1 .. 3;
$_->{session}->query($settings) for @sessions;
my $checker = session($node);
$checker->query($settings);

# What may fail, does so by rule: constraints, rows that a trigger changed before, keys too long; what another session
# has locked; index tables that are there, or not.
my %allowed = map { $_ => 1 } qw(23505 27000 54000 22P02 22003 22007 22008 23514 21000 25P02 P0001 40001 55P03 42P07 42P01 3B001 25P01 55006 22023 42809 2BP01);
my (@history, %failed, @prepared, $bad);
my ($number, $samples, $drained, $own, $skipped) = (0, 0, 0, 0, 0);

sub run_in
{
	my ($s, $sql) = @_;
	$number++;
	push @history, "-- session $s->{number}\n$sql;";
	my $answer = $s->{session}->query($sql);
	for my $state ($answer =~ /(?:ERROR|FATAL|PANIC):  (\w{5}):/g)
	{
		$failed{$state}++;
		push @history, "-- $state";
		$bad //= $answer if !$allowed{$state};
	}
	$bad //= $answer if $answer =~ /server closed|WARNING:  (?!25P01|01000: could not drain )/;
	return $answer !~ /ERROR/;
}

sub check
{
	my ($drain) = @_;
	push @history, '-- check' . ($drain ? ' after drain()' : '');
	my $answer = $checker->query($drain ? 'SELECT indextable.drain()' : 'SELECT 1');
	my $all = $drain && $answer =~ /^\d+$/;
	$answer = $checker->query($all ? 'SELECT drifts() UNION ALL SELECT backlogs()' : 'SELECT drifts()');
	if ($answer =~ /55P03/) { $skipped++; return; }
	$samples++;
	$drained++ if $all;
	$bad //= $answer if $answer ne '';
}

while ($number < $count && !defined $bad)
{
	my $s = pick(@sessions);
	run_in($s, plan_triggers()) if chance(0.3);
	if (!$s->{open})
	{
		my $kind = rand();
		if ($kind < 0.5) { run_in($s, dml()); }
		elsif ($kind < 0.55) { run_in($s, drain()); }
		elsif ($kind < 0.6) { run_in($s, ddl()); }
		elsif ($kind < 0.63) { run_in($s, 'TRUNCATE ' . pick('a', 'b', 'c', 'a, b, c')); }
		elsif ($kind < 0.75 && @prepared)
		{
			my $name = splice @prepared, int(rand(@prepared)), 1;
			run_in($s, pick('COMMIT', 'COMMIT', 'ROLLBACK') . " PREPARED '$name'");
		}
		else
		{
			my $level = pick('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
			run_in($s, '\set ON_ERROR_ROLLBACK ' . pick('on', 'on', 'on', 'off') . "\nBEGIN ISOLATION LEVEL $level");
			$s->{open} = 1;
			$s->{read_committed} = $level eq 'READ COMMITTED';
		}
	}
	else
	{
		my $kind = rand();
		if ($kind < 0.5) { run_in($s, dml()); }
		elsif ($kind < 0.58) { run_in($s, 'SAVEPOINT s'); run_in($s, dml()) for 1 .. pick(0, 1, 2); run_in($s, ddl()) if chance(0.1); }
		elsif ($kind < 0.66) { run_in($s, pick('ROLLBACK TO s', 'ROLLBACK TO s', 'RELEASE s')); }
		elsif ($kind < 0.76)
		{
			# What it has changed itself is applied for itself.
			if (run_in($s, 'SELECT indextable.drain(' . pick('', 'NULL, 1', 'NULL, 5') . ')') && $s->{read_committed})
			{
				push @history, '-- check in the same session';
				my $answer = $s->{session}->query('SELECT drifts()');
				# An error shows the text of the query, which has the word too.
				$bad //= $answer if $answer =~ /^DRIFT/m;
				$own++ if $answer eq '';
			}
		}
		elsif ($kind < 0.78) { run_in($s, ddl()); }
		elsif ($kind < 0.79) { run_in($s, 'TRUNCATE ' . pick('a', 'b', 'c')); }
		elsif ($kind < 0.81) { run_in($s, drain() . '; ROLLBACK'); $s->{open} = 0; }
		elsif ($kind < 0.84 && @prepared < 4)
		{
			my $name = "p$number";
			run_in($s, "PREPARE TRANSACTION '$name'");
			run_in($s, 'ROLLBACK');
			push @prepared, $name if $checker->query("SELECT 1 FROM pg_prepared_xacts WHERE gid = '$name'") eq '1';
			$s->{open} = 0;
		}
		else { run_in($s, pick('COMMIT', 'COMMIT', 'ROLLBACK')); $s->{open} = 0; }
	}
	check(chance(0.5)) if chance(0.5);
}

if (!defined $bad)
{
	run_in($_, pick('COMMIT', 'ROLLBACK')) for @sessions;
	run_in($sessions[0], "COMMIT PREPARED '$_'") for @prepared;
	$skipped = 0;
	check(0);
	check(1);
	is($skipped, 0, 'nothing is locked at the end');
}
my $crashed_by_itself = defined $bad && $bad =~ /server closed/ && crashed_by_itself($node);
SKIP:
{
	skip "the server itself crashed at statement $number of $count", 1 if $crashed_by_itself;
	ok(!defined $bad, "what is not queued is right, and all of it after each drain, in $number statements, SEED=$seed") or diag "$bad\nThe last statements before it:\n" . join "\n", @history > 60 ? @history[ -60 .. -1 ] : @history;
}
note "$samples comparisons, $drained of them after a drain, $own by a session of its own changes; " . join ', ', map { "$_: $failed{$_}" } sort keys %failed;
cmp_ok($samples, '>', $number / 10, 'enough comparisons') if !defined $bad;
cmp_ok($drained, '>', $number / 40, 'enough of them after a drain') if !defined $bad;
append_to_file(PostgreSQL::Test::Utils::tempdir . '/history.sql', join "\n", @history);

$_->{session}->finish for @sessions;
$checker->finish;
$node->stop('fast', fail_ok => $crashed_by_itself);
done_testing();
