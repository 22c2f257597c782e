# A library that was loaded before, and has a function or variable for every name that ours shares between its files, is
# not called in our place.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my @objects = map { chomp; $_ } `find '$FindBin::RealBin/../../src' -name '*.o'`;
plan skip_all => 'the extension was not built here' unless @objects;

# ---- the library: every function raises an error, every variable is of another type
my (%functions, %variables);
for (`nm -g --defined-only @objects`)
{
	my ($kind, $name) = /^\S+ (\w) (\w+)$/ or next;
	next if $name =~ /^(Pg_magic_func|_PG_init|(pg_finfo_)?indextable_.*)$/;
	($kind =~ /[TW]/ ? \%functions : \%variables)->{$name} = 1;
}
cmp_ok(scalar keys %functions, '>', 100, 'there are names to clash with');
my $dir = PostgreSQL::Test::Utils::tempdir;
append_to_file("$dir/clash.c", join '', "#include \"postgres.h\"\n#include \"fmgr.h\"\nPG_MODULE_MAGIC;\n#pragma GCC visibility push(default)\n",
	(map { "extern void $_(void);\nvoid $_(void) { elog(ERROR, \"the wrong %s()\", \"$_\"); }\n" } sort keys %functions),
	(map { "extern char $_\[4096];\nchar $_\[4096] = {1, 2, 3};\n" } sort keys %variables));
append_to_file("$dir/Makefile", <<'EOF');
MODULES = clash
override with_llvm = no
PGXS = $(shell pg_config --pgxs)
include $(PGXS)
EOF
delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)};
command_ok([ 'make', '-C', $dir ], 'the library is built');
-e "$dir/clash.so" or die 'without it there is nothing to test';
my %exported = map { /^\S* \w (\w+)$/ ? ($1 => 1) : () } `nm -D --defined-only $dir/clash.so`;
is(join(' ', grep { !$exported{$_} } sort keys %functions, keys %variables), '', 'and exports all names');

# ---- a session that loads it first
my $node = new_server('clash');
$node->safe_psql('postgres', "LOAD '$dir/clash';\n" . fact_table() . index_tables() . <<'SQL');
INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 200) g;
UPDATE f SET doc = d(pk + 1) WHERE pk % 3 = 0;
UPDATE f SET pk = pk + 1000 WHERE pk % 5 = 0;
DELETE FROM f WHERE pk % 7 = 0;
SELECT indextable.create('late', 'f', '{k}', include => '{v}', maintenance => 'async');
UPDATE f SET doc = d(pk + 2) WHERE pk % 2 = 0;
SELECT indextable.drain('f');
SELECT indextable.lookup('late', '{"k": "x"}');
SELECT * FROM indextable.query('late');
SELECT * FROM indextable.advise('f', '{k}');
CALL indextable.repair('late');
SELECT indextable.alter('late', include => '{v,n}');
SELECT indextable.drop('late');
SQL
drift_free($node, 'all is right beside it');
is($node->safe_psql('postgres', "LOAD '$dir/clash'; SELECT i.index_table, v.* FROM indextable.index_tables i, indextable.verify(i.index_table) v"), '', 'and to verify(), too');

$node->stop;
done_testing();
