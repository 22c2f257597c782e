# A session: a connection that comes back, statements that are kept in mind, and errors told apart: those that may come
# by rule, and those that fail the soak.

package Session;

use strict;
use warnings;
use DBI;
use DBD::Pg;
use Time::HiRes qw(time sleep);
use Model;

use constant KEPT => 400;    # statements that are remembered

# What any statement may meet: other sessions, the chaos, rows and keys that are there already, and partitions that are
# not. What DDL may meet besides: objects that are there or not, attached or not; rows that an index table refuses.
my @always = qw(40001 40P01 23505 57014 57P01 57P02 57P03 55P03 25P02 25P01);
my @rows = qw(0A000 25001 42809 23514 23503 22P02 22007 22008 54000 21000 27000 42P01 P0001 3B001);
my @ddl = qw(0A000 42701 42804 25001 42P07 42P01 42809 42704 42P16 42P17 23514 55000 55006 22P02 22007 22008 54000 22023 2BP01);
my %expected = (rows => { map { $_ => 1 } @always, @rows }, ddl => { map { $_ => 1 } @always, @ddl }, none => {});

# new NAME, options: number, role, epoch, stop (a file that ends it)
sub new
{
	my ($class, %option) = @_;
	my $self = bless { errors => {}, unexpected => [], log => [], rows => 0, statements => 0, checks => 0, %option }, $class;
	return $self;
}

sub connect
{
	my ($self) = @_;
	my $until = time() + 300;
	while (1)
	{
		delete $self->{dbh};
		$self->{dbh} = DBI->connect("dbi:Pg:dbname=$ENV{PGDATABASE};application_name=soak-$self->{role}-$self->{number}", $ENV{PGUSER}, undef,
			{ AutoCommit => 1, RaiseError => 0, PrintError => 0, PrintWarn => 1, pg_server_prepare => 1, AutoInactiveDestroy => 1 });
		if ($self->{dbh})
		{
			# Errors are noticed here; the server's log is for those of workers.
			$self->{dbh}->do($_) for 'SET log_min_messages = fatal', 'SET client_min_messages = warning', "SET lock_timeout = '" . ($self->{lock_timeout} // '400ms') . "'",
				"SET statement_timeout = '20s'", 'SET indextable.advice = off', 'SET soak.act = DEFAULT', 'SET enable_hashjoin = off', 'SET enable_mergejoin = off';
			$self->settings();
			return 1;
		}
		die "no connection: $DBI::errstr\n" if time() > $until;
		return 0 if $self->stopped() && !$self->{parent};
		sleep 0.1;
	}
}

# settings: what must change nothing
my @settings = (
	[ extra_float_digits => -15, 0, 1, 3 ], [ bytea_output => 'escape', 'hex' ], [ DateStyle => 'German, DMY', 'SQL, MDY', 'ISO, YMD', 'Postgres, DMY' ],
	[ TimeZone => 'Asia/Kolkata', 'America/New_York', 'UTC' ], [ IntervalStyle => 'sql_standard', 'iso_8601', 'postgres' ], [ xmlbinary => 'hex', 'base64' ],
	[ search_path => 'public', 'public, pg_catalog, pg_temp' ], [ quote_all_identifiers => 'on', 'off' ], [ backslash_quote => 'off', 'safe_encoding' ],
	[ work_mem => '64kB', '4MB' ], [ plan_cache_mode => 'auto', 'force_generic_plan', 'force_custom_plan' ], [ enable_seqscan => 'on', 'off' ],
	[ synchronous_commit => 'on', 'off' ], [ default_toast_compression => 'pglz' ], [ transform_null_equals => 'on', 'off' ]);

sub settings
{
	my ($self) = @_;
	return if !enabled('settings') || $self->{parent};
	for my $s (@settings)
	{
		my ($name, @values) = @$s;
		$self->{dbh}->do("SET $name = " . join ', ', map { $self->{dbh}->quote($_) } split /, /, pick(@values)) if chance(0.5);
	}
}

sub stopped { return $_[0]{stop} && -e $_[0]{stop}; }

# run KIND, [SQL, PARAMETER…]: how many rows, or undef after an error
sub run
{
	my ($self, $kind, $step) = @_;
	my $rows;
	$self->connect() || return if !$self->{dbh};
	my $dbh = $self->{dbh};
	my $begin = time();
	local $SIG{__WARN__} = sub { $self->warned($_[0]) };
	if (ref $step eq 'HASH')
	{
		if (defined $dbh->do($step->{copy}))
		{
			for (@{ $step->{rows} }) { $dbh->pg_putcopydata($_) || last; }
			$rows = $dbh->pg_putcopyend() ? scalar @{ $step->{rows} } : undef;
		}
	}
	else
	{
		my ($sql, @parameters) = ref $step ? @$step : $step;
		if (@parameters)
		{
			my $sth = $dbh->prepare_cached($sql, { pg_placeholder_dollaronly => 1 });
			$rows = $sth && $sth->execute(@parameters);
			if (defined $rows && $sth->{NUM_OF_FIELDS}) { $self->{result} = $sth->fetchall_arrayref; }
		}
		else { $rows = $dbh->do($sql, { pg_placeholder_dollaronly => 1 }); }
	}
	$self->{statements}++;
	return $self->done($kind, $step, $begin, $rows + 0) if defined $rows;
	$self->failed($kind, $step, $begin);
	return;
}

# rows SQL: its rows, or undef after an error
sub select
{
	my ($self, $kind, $sql) = @_;
	$self->connect() || return if !$self->{dbh};
	my $begin = time();
	local $SIG{__WARN__} = sub { $self->warned($_[0]) };
	my $rows = $self->{dbh}->selectall_arrayref($sql, { pg_placeholder_dollaronly => 1 });
	if ($self->{dbh}->err) { $self->failed($kind, $sql, $begin); return; }
	$self->done($kind, $sql, $begin, scalar @$rows);
	return $rows;
}

sub value { my $rows = $_[0]->select($_[1], $_[2]); return $rows && @$rows ? $rows->[0][0] : undef; }

sub done
{
	my ($self, $kind, $step, $begin, $rows) = @_;
	$self->remember($step, $begin, $rows) if !$self->{parent} || $kind ne 'none';
	return $rows > 0 ? $rows : '0E0';
}

# The server's own, without any index table, too: ON CONFLICT beside a partition that is just being attached.
my $server_fault = qr/invalid arbiter index list/;

sub failed
{
	my ($self, $kind, $step, $begin) = @_;
	my $dbh = $self->{dbh};
	my ($state, $message) = ($dbh->state, $dbh->errstr // '');
	my ($constraint) = $message =~ /(?:constraint|unique index) "([^"]+)"/;
	my $lost = $state =~ /^(57P0[123]|08)/ || $dbh->pg_ping() <= 0;
	$state = 'lost' if $lost && $state !~ /^57P0/;
	$self->remember($step, $begin, $message);
	$self->{errors}{$state}++;
	$self->{samples}{$state} //= "$message\n  of " . substr(text_of($step), 0, 300);
	if ($lost)
	{
		$dbh->disconnect;
		delete $self->{dbh};
		$self->{lost}++;
		push @{ $self->{unexpected} }, "the connection was lost, though nobody ended it: $message" if !enabled('kill') && !enabled('crash');
		return;
	}
	return if $message =~ $server_fault;
	my $why = !$expected{$kind}{$state} ? 'not expected of it' : $state eq '23505' ? false_duplicate($constraint // '') : undef;
	push @{ $self->{unexpected} }, "$state, $why: $message\n  of " . substr(text_of($step), 0, 1000) if defined $why;
}

# A key that a native unique index on the same expression lets pass, and the server asks that one first, is no duplicate.
# An index table that is not unique has none.
sub false_duplicate
{
	my ($constraint) = @_;
	my ($fact, $kind) = $constraint =~ /^ix_([a-z]+)_([a-z])(?:_|$)/;
	return if !defined $fact && $constraint =~ /^(?:plain|pair|uniq|listed|ranged|keyed|grp)_/;
	return "unknown constraint \"$constraint\"" if !defined $fact;
	return 'of an index table that is not unique' if !$KIND{$kind}{is_unique};
	return 'false, since the native unique index took it' if ($FACT{$fact}{native} // '') eq $kind && enabled('unique');
	return;
}

# warned: the server's warnings, and those of perl; none is expected but these
sub warned
{
	my ($self, $text) = @_;
	$text =~ s/ at \S+ line \d+\.?\n?$//;
	return if $text =~ /there is (no|already a) transaction in progress|terminating connection|SET LOCAL can only be used in transaction blocks/;
	push @{ $self->{unexpected} }, "a warning: $text";
}

sub remember
{
	my ($self, $step, $begin, $result) = @_;
	my $log = $self->{log};
	push @$log, [ time(), $begin, $step, $result ];
	splice @$log, 0, KEPT if @$log > 2 * KEPT;
}

# text_of: a step as psql would take it
sub text_of
{
	my ($step) = @_;
	return $step->{copy} . ";\n" . join('', @{ $step->{rows} }) . "\\.\n" if ref $step eq 'HASH';
	return $step if !ref $step;
	my ($sql, @p) = @$step;
	my @literals = map { !defined $_ ? 'NULL' : /^-?\d+$/ ? $_ : "'" . s/'/''/gr . "'" } @p;
	$sql =~ s/\$(\d+)/$literals[$1 - 1]/g;
	return $sql;
}

# history: what was done last, as lines to be merged with those of others by the time in front
sub history
{
	my ($self) = @_;
	return map { sprintf "%.4f %s %d (%.0f ms, %s): %s", $_->[0], $self->{role}, $self->{number}, 1000 * ($_->[0] - $_->[1]), $_->[3] =~ s/\s+/ /gr, text_of($_->[2]) } @{ $self->{log} };
}

# summary: what the parent is told
sub summary
{
	my ($self) = @_;
	delete $self->{dbh};
	return { (map { $_ => $self->{$_} } qw(rows statements errors samples unexpected checks role number lost)), history => [ $self->history ] };
}

1;
