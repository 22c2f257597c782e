#!/bin/bash
# make example: a fact table over three servers, all of them throw-away ones on this machine: a coordinator, with one
# partition and the index tables, and two shards. Shows what a look-up asks of whom, how rows are written and moved, how a
# write that went to a shard directly is found and mended, and what works while a shard is stopped.

. "$(dirname "$0")/servers.sh"
me=shards main=coordinator

# start_shard NAME: a server that logs what it is asked
start_shard() { start_another "$1" "log_statement = 'all'" "log_line_prefix = ''"; }

# asked SQL: the same, and what the shards were asked for it
asked() {
	local name
	for name in shard_1 shard_2; do wc -c < "$work/$name/log" > "$work/$name.before"; done
	show "$1"
	for name in shard_1 shard_2; do
		tail -c +$(($(cat "$work/$name.before") + 1)) "$work/$name/log" | grep -oE '(FROM|UPDATE|INSERT INTO|DELETE FROM) public\.[a-z0-9_]+.*' | grep -v 'AS ' |
			sed "s/^/    $name was asked: … /" > "$work/$name.asked" || :
		if [ -s "$work/$name.asked" ]; then cat "$work/$name.asked"; else echo "    $name was asked nothing"; fi
	done
	echo
}

set_up
start_shard shard_1
start_shard shard_2

title "Customers in 8 partitions by number: 4 on shard_1, 3 on shard_2, 1 on the coordinator"
for n in 0 1 2 3 4 5 6; do
	on shard_$((n % 2 + 1)) -c "CREATE TABLE customer_$n (id int PRIMARY KEY, doc jsonb NOT NULL)"
done
q -q <<-SQL
	CREATE EXTENSION postgres_fdw;
	CREATE EXTENSION indextable;
	CREATE SERVER shard_1 FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$work/shard_1', dbname 'postgres', async_capable 'true');
	CREATE SERVER shard_2 FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$work/shard_2', dbname 'postgres', async_capable 'true');
	CREATE USER MAPPING FOR CURRENT_USER SERVER shard_1 OPTIONS (user 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER shard_2 OPTIONS (user 'postgres');
	CREATE TABLE customer (id int NOT NULL, doc jsonb NOT NULL) PARTITION BY HASH (id);
	SELECT format('CREATE FOREIGN TABLE customer_%s PARTITION OF customer FOR VALUES WITH (MODULUS 8, REMAINDER %s) SERVER shard_%s', n, n, n % 2 + 1)
		FROM generate_series(0, 6) n \\gexec
	CREATE TABLE customer_7 PARTITION OF customer (PRIMARY KEY (id)) FOR VALUES WITH (MODULUS 8, REMAINDER 7);
	INSERT INTO customer SELECT i, jsonb_build_object('name', 'Customer ' || i, 'email', 'c' || i || '@example.com', 'town', 'Town ' || i % 500)
		FROM generate_series(1, 5000) i;
SQL
show "SELECT indextable.create('by_email', 'customer', '{email}', is_unique => true, primary_key => '{id}')"
q -q -c "SET client_min_messages = error; SELECT indextable.create('by_town', 'customer', '{town}', include => '{name}')" > /dev/null
show "SELECT index_table, key, include, is_unique FROM indextable.index_tables"

title "Plain SQL does not use index tables where partitions are on other servers: every shard is asked, for all of its rows"
show "EXPLAIN (COSTS OFF) SELECT * FROM customer WHERE doc ->> 'email' = 'c1234@example.com'"

title "lookup() asks the shard that has the row, and no other"
asked "SELECT * FROM indextable.lookup('by_email', '{\"email\": \"c1234@example.com\"}')"
local_email=$(q -At -c "SELECT doc ->> 'email' FROM customer_7 LIMIT 1")
asked "SELECT * FROM indextable.lookup('by_email', '{\"email\": \"$local_email\"}')"
asked "SELECT count(*) FROM indextable.lookup('by_town', '{\"town\": \"Town 7\"}')"
asked "SELECT id, name FROM by_town WHERE town = 'Town 7' ORDER BY id LIMIT 3"
must_be 10 "SELECT count(*) FROM indextable.lookup('by_town', '{\"town\": \"Town 7\"}')"

title "Unique over all servers, for what is written here"
show "INSERT INTO customer VALUES (9001, '{\"email\": \"c1234@example.com\"}')"

title "A row moves from the coordinator to a shard, and its entry with it"
here=$(q -At -c "SELECT min(id) FROM customer_7")
there=$(q -At -c "SELECT min(i) FROM generate_series(6000, 6100) i WHERE satisfies_hash_partition('customer'::regclass, 8, 0, i)")
asked "UPDATE customer SET id = $there WHERE id = $here"
show "SELECT id FROM indextable.lookup(NULL::customer, 'by_email', '{\"email\": \"$local_email\"}')"
show "UPDATE customer SET id = $here WHERE id = $there"

title "What is written on a shard directly is not seen here, until it is looked for"
on shard_1 -c "UPDATE customer_0 SET doc = doc || '{\"town\": \"Elsewhere\"}' WHERE id = $there; DELETE FROM customer_2 WHERE id IN (SELECT id FROM customer_2 ORDER BY id LIMIT 1)"
show "SELECT kind, key, primary_key FROM indextable.verify('by_town')"
show "CALL indextable.repair('by_town')"
q -q -c "CALL indextable.repair('by_email')" > /dev/null
must_be 0 "SELECT count(*) FROM indextable.verify('by_town')"
must_be 0 "SELECT count(*) FROM indextable.verify('by_email')"
must_be 0 "SELECT count(*) FROM ((SELECT doc ->> 'email', id FROM customer EXCEPT ALL SELECT email, id FROM by_email) UNION ALL (SELECT email, id FROM by_email EXCEPT ALL SELECT doc ->> 'email', id FROM customer)) x"
echo "The index tables equal a recompute."

title "shard_2 is stopped"
on_2=$(q -At -c "SELECT doc ->> 'email' FROM customer_1 ORDER BY id LIMIT 1")
on_1=$(q -At -c "SELECT doc ->> 'email' FROM customer_0 WHERE id < 5000 ORDER BY id LIMIT 1")
stop_another shard_2 fast
show "SELECT * FROM indextable.lookup('by_email', '{\"email\": \"$on_1\"}')"
show "SELECT * FROM indextable.lookup('by_email', '{\"email\": \"$on_2\"}')"
show "SELECT id, name FROM by_town WHERE town = 'Town 7' ORDER BY id LIMIT 3"
show "ALTER TABLE customer DETACH PARTITION customer_1"
show "SELECT count(*) AS entries_left FROM by_email WHERE email = '$on_2'"
echo
