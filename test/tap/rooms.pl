# Rooms that can be taken out: without one of these folders of src/, and the lines of src/module.c that name it, the
# extension is built without a warning, and needs no function that was there. No other file includes a header from there, so
# each of them is compiled to what it was with the room: module.c is compiled, and the others are linked as they are.

use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../..";
plan skip_all => 'the extension was not built here' unless -e "$root/indextable.so" && -e "$root/src/module.o";
delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)};

my $dir = PostgreSQL::Test::Utils::tempdir;
system("cp -a '$root/src' '$root/Makefile' '$root/indextable.control' '$dir'") == 0 or die "could not copy src: $?\n";
my $whole = slurp_file("$dir/src/module.c");
for my $room (qw(citus writes advise statistics))
{
	my %gone = map { $_ => 1 } map { slurp_file($_) =~ /^(\w+)\(/mg } glob "$dir/src/$room/*.c";
	my $module = $whole;

	cmp_ok(scalar keys %gone, '>', 10, "there is $room/");
	is($module =~ s/^(#include "$room\/|\t${room}_init\(\);).*\n//mg, 2, 'which two lines name');
	rename "$dir/src/$room", "$dir/$room" or die "could not move $room: $!\n";
	unlink "$dir/src/module.c", "$dir/indextable.so";
	append_to_file("$dir/src/module.c", $module);
	is(join(' ', grep { slurp_file($_) =~ /^#include ".*\b$room\//m } glob "$dir/src/*.[ch] $dir/src/*/*.[ch]"), '', 'no other file includes its headers');
	command_ok([ 'make', '-s', '-C', $dir, 'with_llvm=no', 'WERROR=-Werror' ], 'without it the extension is built');
	my @needed = map { /(\w+)$/ } `nm -D -u '$dir/indextable.so'`;
	is(join(' ', grep { $gone{$_} } @needed), '', 'and needs nothing that was there');
	rename "$dir/$room", "$dir/src/$room" or die "could not put $room back: $!\n";
}

done_testing();
