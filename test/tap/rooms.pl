# Rooms that can be taken out: without one of these folders of src/, and the lines of src/module.c that name it, the
# extension is built without a warning, and needs no function that was there.

use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../..";
plan skip_all => 'the extension was not built here' unless -e "$root/indextable.so";
delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)};

for my $room (qw(citus writes advise statistics))
{
	my $dir = PostgreSQL::Test::Utils::tempdir;
	my %gone = map { $_ => 1 } map { slurp_file($_) =~ /^(\w+)\(/mg } glob "$root/src/$room/*.c";
	my $module = slurp_file("$root/src/module.c");

	cmp_ok(scalar keys %gone, '>', 10, "there is $room/");
	is($module =~ s/^(#include "$room\/|\t${room}_init\(\);).*\n//mg, 2, 'which two lines name');
	system("cp -R '$root/src' '$root/Makefile' '$root/indextable.control' '$dir' && rm -r '$dir/src/$room' && rm -f '$dir'/src/*.o '$dir'/src/*/*.o") == 0
		or die "could not copy src: $?\n";
	unlink "$dir/src/module.c";
	append_to_file("$dir/src/module.c", $module);
	command_ok([ 'make', '-s', '-C', $dir, 'COPT=-O0 -g0', 'WERROR=-Werror' ], 'without it the extension is built');
	my @needed = map { /(\w+)$/ } `nm -D -u '$dir/indextable.so'`;
	is(join(' ', grep { $gone{$_} } @needed), '', 'and needs nothing that was there');
}

done_testing();
