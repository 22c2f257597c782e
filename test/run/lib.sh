# What demo, test and bench share; sourced by them, and by nothing else.
#
# set_up installs the Debian packages that are missing, copies the repository to a private folder, builds and
# installs the extension there, and starts a throw-away server there that the PG… variables point to. Nothing is
# written to the repository but test/output, and nothing to the system's PostgreSQL. Whatever happens after, the
# server and the folder go when the script ends. Under root, the server and the tests run as the user postgres,
# because a server refuses to run as root.
#
# The server takes settings from test/run/server.conf, and test/demo/server.conf or test/bench/server.conf, where
# these exist.
#
#   PGVERSION    major version to use; default: the newest with development files here, else Debian's own
#   PG_CONFIG    a PostgreSQL that is not from Debian's packages
#   TMPDIR       where the private folder goes; default: /tmp
#   BUSY         how many processes work for nothing beside all that runs; default: none
#   SERVER_SETTINGS    more lines for postgresql.conf
#   SERVER_WRAPPER     a command to start the server with, such as valgrind and its options

set -eu

me=$(basename "$0")
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$repo"

exec 3>&1 4>&2    # for the last word, wherever a signal finds us
work=    # the private folder
also_needed=    # a file that names more Debian packages
job=     # process group of the step that runs now
busy=()    # the processes that work for nothing

# A make, a shell profile or a CI that calls us must not steer what we call.
unset MAKEFLAGS MFLAGS MAKELEVEL PGHOST PGHOSTADDR PGPORT PGUSER PGPASSWORD PGDATABASE PGSERVICE PGOPTIONS PGDATA \
	PGTZ PGCLIENTENCODING PGSSLMODE PGAPPNAME
export LC_ALL=C.UTF-8 TZ=UTC

die() { echo "$me: $*" >&2; exit 1; }

# at_end is the script's last word, told the exit status; it may be redefined.
at_end() { :; }

# The processes that work in the private folder: servers change to their data directory, so this finds those
# that a test started, too.
strays() { find /proc/[0-9]*/cwd -maxdepth 0 \( -lname "$1" -o -lname "$1/*" \) -printf '%h\n' 2>/dev/null | sed 's,/proc/,,' || :; }

end_strays() {
	local pids signal=QUIT try
	for try in $(seq 50); do
		pids=$(strays "$1")
		[ -n "$pids" ] || return 0
		kill -$signal $pids 2>/dev/null || :
		[ "$try" -lt 25 ] || signal=KILL
		sleep 0.2
	done
}

clean_up() {
	local status=$?
	trap - EXIT
	trap '' HUP INT PIPE TERM
	set +e
	[ -z "$job" ] || end_job
	[ "${#busy[@]}" = 0 ] || kill -KILL "${busy[@]}"
	if [ -n "$work" ]; then
		save_output
		end_strays "$work"
		rm -rf "$work"
	fi
	at_end "$status" >&3 2>&4
	exit "$status"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 141' PIPE
trap 'exit 143' TERM

# run COMMAND: in the background, because the shell handles signals at once only while it waits; and in a
# process group, so that all of it can be ended.
run() {
	local status=0
	set -m
	"$@" </dev/null 3>&- 4>&- &
	job=$!
	set +m
	wait "$job" || status=$?
	job=
	return "$status"
}

# quietly LOG COMMAND: shows the output only when it fails.
quietly() {
	local log=$1
	shift
	run "$@" >"$log" 2>&1 || { cat "$log" >&2; return 1; }
}

# The step may clean up after itself, for a while.
end_job() {
	local try
	kill -TERM -- "-$job"
	for try in $(seq 25); do
		kill -0 -- "-$job" || return
		sleep 0.2
	done
	kill -KILL -- "-$job"
} 2>/dev/null

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"
	elif command -v sudo >/dev/null; then sudo "$@"
	else die "this step needs root or sudo: $*"
	fi
}

drop=()
[ "$(id -u)" != 0 ] || drop=(--reuid=postgres --regid=postgres --init-groups)
as_user() { setpriv "${drop[@]}" "$@"; }

# ---- packages

debian_default() { apt-cache depends postgresql 2>/dev/null | sed -n 's/^ *Depends: postgresql-\([0-9]*\)$/\1/p'; }

pick_version() {
	if [ -n "${PG_CONFIG:-}" ]; then
		PGVERSION=$("$PG_CONFIG" --bindir | sed -n 's,^/usr/lib/postgresql/\([0-9]*\)/bin$,\1,p')
		[ -z "$PGVERSION" ] || PG_CONFIG=    # Debian's, after all
	elif [ -z "${PGVERSION:-}" ]; then
		PGVERSION=$(ls -d /usr/lib/postgresql/*/bin/pg_config 2>/dev/null | cut -d/ -f5 | sort -n | tail -n 1)
		[ -n "$PGVERSION" ] || PGVERSION=$(debian_default)
		if [ -z "$PGVERSION" ]; then
			as_root test/run/install-packages    # a new machine has no package lists yet: gets them
			PGVERSION=$(debian_default)
		fi
		[ -n "$PGVERSION" ] || die "Debian's packages offer no PostgreSQL; set PGVERSION or PG_CONFIG"
	fi
}

# One name a line: what all need, then what the demo and others say they need besides, where NN is the server's version.
wanted_packages() {
	printf '%s\n' build-essential perl libipc-run-perl libtap-parser-sourcehandler-pgtap-perl
	[ -n "${PG_CONFIG:-}" ] || printf '%s\n' "postgresql-$PGVERSION" "postgresql-server-dev-$PGVERSION"
	[ -n "${PG_CONFIG:-}" ] || [ -e "/usr/share/postgresql/$PGVERSION/extension/pgtap.control" ] || echo "postgresql-$PGVERSION-pgtap"
	sed "s/#.*//; s/NN/$PGVERSION/" "test/$me/packages" $also_needed 2>/dev/null || :
}

install_packages() {
	local name missing=()
	for name in $(wanted_packages); do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing+=("$name")
	done
	[ "${#missing[@]}" -gt 0 ] || return 0
	echo "$me: installing ${missing[*]}"
	as_root test/run/install-packages "${missing[@]}"
}

# ---- build and server

copy_repo() {
	mkdir -p "$work/src/test/output" "$work/tmp"
	tar -cf - --exclude=./.git --exclude=./test/output --exclude='*.o' --exclude='*.so' --exclude='*.bc' . |
		tar -xf - -C "$work/src" --no-same-owner
	if [ "$(id -u)" = 0 ]; then chown -R postgres:postgres "$work"; fi
	as_user test -w "$work/src" || die "user postgres can't reach $work; set TMPDIR to a folder it can"
}

# Where the server can look elsewhere for extensions (Debian's patch, PostgreSQL 18), the system is left alone.
install_extension() {
	local sample root=$work/root
	local share=$($PG_CONFIG --sharedir) lib=$($PG_CONFIG --pkglibdir)
	sample=$share/postgresql.conf.sample
	touch "$work/extension.conf"
	if grep -q extension_destdir "$sample"; then
		echo "extension_destdir = '$root'" >"$work/extension.conf"
	elif grep -q extension_control_path "$sample"; then
		echo "extension_control_path = '$root$share:\$system'" >"$work/extension.conf"
	else
		root=
	fi
	quietly "$work/build.log" as_user make -C "$work/src" -j"$(nproc)" WERROR="${WERROR--Werror}" || die "the build failed"
	if [ -n "$root" ]; then
		echo "dynamic_library_path = '$root$lib:\$libdir'" >>"$work/extension.conf"
		quietly "$work/build.log" as_user make -C "$work/src" install DESTDIR="$root" || die "make install failed"
	else
		quietly "$work/build.log" as_root make -C "$work/src" install PG_CONFIG="$PG_CONFIG" || die "make install failed"
	fi
}

start_server() {
	local conf log=$work/src/test/output/server.log
	quietly "$work/initdb.log" as_user "$bin/initdb" -D "$work/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync ||
		die "initdb failed"
	{
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$work'"
		echo "fsync = off"
		cat "$work/extension.conf"
		for conf in test/run/server.conf "test/$me/server.conf"; do
			[ ! -e "$conf" ] || cat "$conf"
		done
		printf '%s\n' "${SERVER_SETTINGS:-}"
	} >>"$work/data/postgresql.conf"

	export PGHOST=$work PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
	# pdeathsig: should this script be killed outright, the server still goes
	set -m
	setpriv "${drop[@]}" --pdeathsig QUIT ${SERVER_WRAPPER:-} "$bin/postgres" -D "$work/data" </dev/null >"$log" 2>&1 3>&- 4>&- &
	server=$!
	set +m
	await_server || { cat "$log" >&2; die "the server did not start"; }
}

# Until the server answers: it starts, or starts again after a crash.
await_server() {
	local try
	for try in $(seq 3000); do
		if "$bin/pg_isready" -q; then return 0; fi
		kill -0 "$server" 2>/dev/null || return 1
		sleep 0.2
	done
	return 1
}

# They end with this script, even if it is killed.
be_busy() {
	local n
	for n in $(seq "${BUSY:-0}"); do
		setpriv --pdeathsig KILL sh -c 'while :; do :; done' </dev/null >/dev/null 2>&1 3>&- 4>&- &
		busy+=($!)
		disown
	done
}

# complaints_in LOG…: crashes, failed assertions, and warnings of the server about what an extension forgot to release
complaints_in() {
	grep -hE 'TRAP: |terminated by signal (6|7|8|11)|WARNING:  .*(reference leak|refcount leak|file leak|still active|was not closed|still referenced|own a lock of type|problem in|past chunk end)' "$@" 2>/dev/null
}

# What is worth keeping goes to test/output in the repository, which git ignores, owned as the repository is.
save_output() {
	local item
	for item in "$work"/src/test/output/*; do
		[ -e "$item" ] || continue
		mkdir -p test/output
		rm -rf "test/output/${item##*/}"
		cp -R "$item" test/output
	done
	[ "$(id -u)" != 0 ] || [ ! -e test/output ] || chown -R --reference=. test/output
}

set_up() {
	if command -v dpkg-query >/dev/null; then
		pick_version
		install_packages || die "the packages could not be installed"
	elif [ -z "${PG_CONFIG:-}" ]; then
		die "not a Debian system: install PostgreSQL with its development files, pgTAP and IPC::Run, and set PG_CONFIG"
	fi
	export PG_CONFIG=${PG_CONFIG:-/usr/lib/postgresql/$PGVERSION/bin/pg_config}
	bin=$($PG_CONFIG --bindir)
	PATH=$bin:$PATH
	work=$(mktemp -d -t indextable.XXXXXX)
	chmod 755 "$work"
	copy_repo
	export HOME=$work/tmp TMPDIR=$work/tmp TEMP_CONFIG=$work/extension.conf
	install_extension
	start_server
	be_busy
}

# in_copy COMMAND: in the copy of the repository, or one named by copy, as the user who may write there.
in_copy() { run env -C "${copy:-$work/src}" setpriv "${drop[@]}" "$@"; }
