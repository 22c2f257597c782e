#!/bin/bash
# make example: an index node, which is a server that subscribes to the rows of three others and has index tables over all of
# them; all are throw-away servers on this machine. Shows the lag under load, look-ups while a server is down, and that the
# index tables are right in the end, though a publisher and the index node have crashed.

. "$(dirname "$0")/servers.sh"
me=index-node main=index_node
nodes="berlin lima osaka"

# start_node NAME: a server that publishes, or starts it again
start_node() { start_another "$1" 'wal_level = logical'; }

# load SECONDS: inserts, updates and deletes on each publisher that runs, in the background
load() {
	local name
	for name in $nodes; do
		[ -e "$work/$name/data/postmaster.pid" ] || continue
		"$bin/pgbench" -h "$work/$name" -U postgres -n -T "$1" -R 100 -f "$work/$name.load" postgres > "$work/$name.pgbench" 2>&1 &
		loads+=($!)
	done
}
loads=()

end_load() {
	local pid
	for pid in "${loads[@]}"; do wait "$pid" || :; done    # that of a server that was stopped fails
	loads=()
	sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' "$work"/*.pgbench | awk '{ n += $1 } END { print "    " n * 3 " changes" }'
}

# caught_up: waits until what each publisher has written is here and applied
caught_up() {
	local name lsn
	for name in $nodes; do
		lsn=$(on "$name" -At -c 'SELECT pg_current_wal_lsn()')
		for _ in $(seq 600); do
			[ "$(on "$name" -At -c "SELECT count(*) FROM pg_stat_replication WHERE application_name = 'from_$name' AND replay_lsn >= '$lsn'")" = 0 ] || continue 2
			sleep 0.1
		done
		die "$name is not caught up with"
	done
	q -At -c "SELECT indextable.wait('by_town')" > /dev/null
}

# show_lag: how far the index node is behind each publisher, and its asynchronous index table behind itself
show_lag() {
	local name
	for name in $nodes; do
		[ -e "$work/$name/data/postmaster.pid" ] || { echo "    $name is stopped"; continue; }
		on "$name" -At -c "SELECT '    $name: the index node is ' || coalesce(round(extract(epoch FROM replay_lag) * 1000, 1) || ' ms behind', 'not behind') FROM pg_stat_replication"
	done
	show "SELECT fact_table, backlog, lag FROM indextable.queues"
}

export SERVER_SETTINGS="shared_preload_libraries = 'indextable'
max_worker_processes = 20
max_logical_replication_workers = 10
wal_retrieve_retry_interval = 200ms"
set_up
for name in $nodes; do start_node "$name"; done
title "Three servers, each with its own customers, publish them. The table has the name of the partition that it is for the index node"
for name in $nodes; do
	on "$name" <<-SQL
		CREATE TABLE customer_$name (node text NOT NULL CHECK (node = '$name'), id int, doc jsonb NOT NULL, PRIMARY KEY (node, id));
		INSERT INTO customer_$name SELECT '$name', i, jsonb_build_object('email', 'c' || i || '@$name', 'town', 'Town ' || i % 500) FROM generate_series(1, 5000) i;
		CREATE PUBLICATION customers FOR TABLE customer_$name;
	SQL
	cat > "$work/$name.load" <<-SQL
		\\set id random(1, 5000)
		\\set new random(5001, 1000000)
		INSERT INTO customer_$name VALUES ('$name', :new, jsonb_build_object('email', 'c' || :new || '@$name', 'town', 'Town ' || :new % 500)) ON CONFLICT DO NOTHING;
		UPDATE customer_$name SET doc = doc || jsonb_build_object('town', 'Town ' || :new % 500) WHERE id = :id;
		DELETE FROM customer_$name WHERE id = (SELECT min(id) FROM customer_$name WHERE id > 5000);
	SQL
	echo "    $name: customer_$name, 5000 rows"
done

title "The index node has the partitioned table and the index tables, and subscribes"
show "CREATE EXTENSION indextable"
show "CREATE TABLE customer (node text NOT NULL, id int, doc jsonb NOT NULL, PRIMARY KEY (node, id)) PARTITION BY LIST (node)"
for name in $nodes; do show "CREATE TABLE customer_$name PARTITION OF customer FOR VALUES IN ('$name')"; done
show "SELECT indextable.create('by_email', 'customer', '{email}', is_unique => true)"
show "SELECT indextable.create('by_town', 'customer', '{town}', include => '{email}', maintenance => 'async')"
for name in $nodes; do show "CREATE SUBSCRIPTION from_$name CONNECTION 'host=$work/$name user=postgres dbname=postgres' PUBLICATION customers"; done
for _ in $(seq 600); do
	[ "$(q -At -c "SELECT count(*) FROM pg_subscription_rel WHERE srsubstate <> 'r'")" != 0 ] || break
	sleep 0.1
done
must_be 0 "SELECT count(*) FROM pg_subscription_rel WHERE srsubstate <> 'r'"
caught_up
must_be 30 "SELECT count(*) FROM indextable.lookup('by_town', '{\"town\": \"Town 7\"}')"

title "A look-up finds the rows of all servers, and asks none of them"
show "SELECT * FROM indextable.lookup(NULL::customer, 'by_email', '{\"email\": \"c1234@lima\"}')"
show "SELECT node, count(*) FROM by_town WHERE town = 'Town 7' GROUP BY node ORDER BY node"

title "300 changes a second on each of them: how far behind is the index node?"
load 6
for _ in 1 2 3; do sleep 1.5; show_lag; done
end_load

title "lima crashes under load, and then the index node"
load 6
sleep 2
stop_another lima immediate
show "SELECT * FROM indextable.lookup(NULL::customer, 'by_email', '{\"email\": \"c1234@lima\"}')"
show_lag
quietly "$work/stop.log" as_user "$bin/pg_ctl" -D "$work/data" -m immediate -w stop
quietly "$work/start.log" as_user "$bin/pg_ctl" -D "$work/data" -l "$work/tmp/server.log" -w start
await_server
echo "    the index node is back"
start_node lima
echo "    lima is back"
end_load
caught_up
show_lag

title "The same answers"
for name in $nodes; do
	there=$(on "$name" -At -c "SELECT count(*) || ' rows, ' || md5(string_agg(x::text, '' ORDER BY id)) FROM customer_$name x")
	echo "    $name: $there"
	must_be "$there" "SELECT count(*) || ' rows, ' || md5(string_agg(x::text, '' ORDER BY id)) FROM customer_$name x"
done
must_be 0 "SELECT count(*) FROM indextable.verify('by_email')"
must_be 0 "SELECT count(*) FROM indextable.verify('by_town')"
must_be 0 "SELECT count(*) FROM ((SELECT doc ->> 'email', node, id FROM customer EXCEPT ALL SELECT email, node, id FROM by_email) UNION ALL (SELECT email, node, id FROM by_email EXCEPT ALL SELECT doc ->> 'email', node, id FROM customer)) x"
must_be 0 "SELECT count(*) FROM ((SELECT doc ->> 'town', node, id, doc ->> 'email' FROM customer EXCEPT ALL SELECT town, node, id, email FROM by_town) UNION ALL (SELECT town, node, id, email FROM by_town EXCEPT ALL SELECT doc ->> 'town', node, id, doc ->> 'email' FROM customer)) x"
echo "    The index node has the rows of all, verify() finds nothing, and the index tables equal a recompute."

title "TRUNCATE on one server deletes its rows, because it is of its own partition"
on lima -c "TRUNCATE customer_lima"
caught_up
show "SELECT node, count(*) FROM customer GROUP BY node ORDER BY node"
must_be 0 "SELECT count(*) FROM by_town WHERE node = 'lima'"
echo
