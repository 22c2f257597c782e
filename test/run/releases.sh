# What majors and assert share: the releases of Debian that have a major version of PostgreSQL, and where what was got
# from them is kept. Sourced after lib.sh.
#
#   INDEXTABLE_CACHE    where it is kept for the next time; default: /var/cache/indextable, or indextable in
#                       XDG_CACHE_HOME. Remove it to get newer minor versions.

# Experimental is no release, but has the next major version before it is out, as an addition to sid.
declare -A release=([15]=bookworm [17]=trixie [18]=forky [19]=experimental)    # none has 16
oldest=15
newest=18    # in a release

cache=${INDEXTABLE_CACHE:-${XDG_CACHE_HOME:-/var/cache}/indextable}
patience=1800    # seconds that getting a release, packages or sources, or building a server, may take

# The mirror that this machine's own packages come from, if it has the release, which is named by its codename or suite.
mirror() {
	local uri file=$cache/$$.release
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' | sort -u >"$cache/$$.mirrors"
	while read -r uri; do
		if /usr/lib/apt/apt-helper download-file "${uri%/}/dists/$1/InRelease" "$file" >/dev/null 2>&1 && grep -qE "^(Codename|Suite): $1$" "$file"; then
			echo "$uri"
			break
		fi
	done <"$cache/$$.mirrors"
	rm -f "$file" "$cache/$$.mirrors"
}

# lock_cache NAME: until unlock_cache or the end, nobody else works on this part of the cache.
lock_cache() {
	exec 9>"$cache/$1.lock"
	flock -n 9 || { echo "$me: waiting for another to end"; run flock 9; }
}

unlock_cache() { exec 9>&-; }

# majors_of ARGUMENT…: sets majors to the leading version numbers, and rest to what follows them.
majors_of() {
	majors=()
	while [[ ${1:-} =~ ^[0-9]+$ ]]; do
		[ -n "${release[$1]:-}" ] || die "no release of Debian with PostgreSQL $1 is known here"
		majors+=("$1")
		shift
	done
	rest=("$@")
}

unable() { echo "$me: $*" >&2; exit 77; }
