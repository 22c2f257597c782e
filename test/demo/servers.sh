# What the examples that take several servers share: throw-away ones in the private folder, and how what they say is shown.
# $main is what the server is called that the tables and look-ups are on.

. "$(dirname "$0")/../run/lib.sh"

at_end() {
	if [ "$1" = 0 ]; then echo "example: all steps done in $SECONDS s"
	else echo "example: FAILED after $SECONDS s"
	fi
}

# start_another NAME [SETTING…]: a server in the private folder with these lines in its configuration, or starts it again
start_another() {
	local dir=$work/$1
	shift
	if [ ! -d "$dir" ]; then
		mkdir "$dir"
		touch "$dir/log"
		[ "$(id -u)" != 0 ] || chown postgres:postgres "$dir" "$dir/log"
		quietly "$work/initdb.log" as_user "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync
		printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$dir'" 'fsync = off' "$@" >> "$dir/data/postgresql.conf"
	fi
	quietly "$work/start.log" as_user "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w start
}

# stop_another NAME MODE: immediate is without a checkpoint, as if the power had failed
stop_another() { quietly "$work/stop.log" as_user "$bin/pg_ctl" -D "$work/$1/data" -m "$2" -w stop; }

title() { echo; echo "== $*"; echo; }
q() { psql -X -v ON_ERROR_STOP=1 -P pager=off "$@"; }

# on NAME ARGUMENT…: psql on one of these servers
on() { local name=$1; shift; psql -X -q -h "$work/$name" -v ON_ERROR_STOP=1 "$@"; }

# show SQL: what it says, errors included
show() {
	echo "$main=# $1"
	psql -X -P pager=off -c "$1" 2>&1 | sed 's/^/    /'
}

# must_be WANTED SQL
must_be() {
	local got
	got=$(q -qAt -c "SET indextable.planner = off" -c "$2")
	[ "$got" = "$1" ] || die "wanted $1, got $got: $2"
}
