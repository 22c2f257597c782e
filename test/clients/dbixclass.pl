# name: DBIx::Class
# packages: libdbix-class-perl libdbd-pg-perl
# declare: `doc => { data_type => 'jsonb' }`
use strict;
use warnings;
use JSON::PP;
BEGIN { eval { require DBIx::Class::Core; require DBIx::Class::Schema; require DBD::Pg; 1 } or do { warn $@; exit 77 } }

package Person
{
	use base 'DBIx::Class::Core';
	__PACKAGE__->table('person');
	__PACKAGE__->add_columns(id => { data_type => 'integer' }, doc => { data_type => 'jsonb' });
	__PACKAGE__->set_primary_key('id');
}
package Clients
{
	use base 'DBIx::Class::Schema';
	__PACKAGE__->register_class(Person => 'Person');
}

my $schema = Clients->connect("dbi:Pg:dbname=$ENV{PGDATABASE}", $ENV{PGUSER}, '', { pg_enable_utf8 => 1 });
my $dbh = $schema->storage->dbh;
my $town = q(doc ->> 'town');
sub find { my ($where, %more) = @_; return $schema->resultset('Person')->search($where, { columns => 'id', %more }); }
my @cases = (
	'text =' => sub { find({ $town => 'Town 7' }) },
	'number =' => sub { find({ "(doc ->> 'age')::int" => 30 }) },
	'number >' => sub { find({ "(doc ->> 'age')::numeric" => { '>' => 85 } }) },
	'boolean' => sub { find({ "(doc ->> 'ok')::boolean" => 1 }) },
	'date' => sub { find({ "(doc ->> 'born')::date" => { '<' => '1970-01-05' } }) },
	'nested' => sub { find({ "doc #>> '{address,city}'" => 'City 7' }) },
	'IN' => sub { find({ $town => [ 'Town 7', 'Town 8' ] }) },
	'OR' => sub { find([ { $town => 'Town 7' }, { $town => 'Town 8' } ]) },
	'OR of two' => sub { find([ { $town => 'Town 7' }, { "doc #>> '{address,city}'" => 'City 8' } ]) },
	'LIKE' => sub { find({ $town => { like => 'Town 7%' } }) },
	'ILIKE' => sub { find({ $town => { ilike => 'town 7%' } }) },
	'IS NULL' => sub { find({ $town => undef }) },
	'array has' => sub { find({ "doc -> 'tags'" => { '@>' => '["t7"]' } }) },
	'document has' => sub { find({ doc => { '@>' => '{"town": "Town 7"}' } }) },
	'element has' => sub { find({ doc => { '@>' => '{"lines": [{"name": "L7", "qty": 2}]}' } }) },
	'order, limit' => sub { find({ $town => { '!=', undef } }, order_by => [ \qq($town COLLATE "C"), 'id' ], rows => 10) },
	'count' => sub { find({ $town => 'Town 7' })->count },
	'stream' => sub { my @ids; my $found = find({ $town => 'Town 7' }); while (my $row = $found->next) { push @ids, $row->id; } return \@ids; },
	'lock' => sub { $schema->txn_do(sub { [ map { $_->id } find({ $town => 'Town 7' }, for => 'update')->all ] }) },
	'update' => sub { $schema->resultset('Person')->search({ $town => 'Town 7' })->update({ doc => \q(doc || '{"moved": true}') }) },
	'delete' => sub { $schema->resultset('Person')->search({ $town => 'Town 8' })->delete },
);
$| = 1;
while (my ($name, $run) = splice @cases, 0, 2)
{
	$dbh->do("SELECT 'case: $name'");
	my $answer = eval { my $found = $run->(); ref $found && ref $found ne 'ARRAY' ? [ map { $_->id } $found->all ] : $found } // 'error: ' . ($@ =~ /(.*)/)[0];
	print JSON::PP->new->canonical->allow_nonref->encode([ $name, ref $answer ? [ map { $_ + 0 } @$answer ] : $answer =~ /^\d+$/ ? $answer + 0 : "$answer" ]), "\n";
}
$dbh->do("SELECT 'case: end'");
