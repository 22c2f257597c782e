#!/usr/bin/perl
# Turns a Debian package index into rows for COPY package (id, doc) FROM STDIN, one JSON document
# a package. demo.sh calls it: import.pl FILE | psql. Needs nothing beyond perl-base.
use strict;
use warnings;

my $PROGRESS_EVERY = 10_000;

my $file = shift // die "usage: import.pl FILE\n";
my $total = count_packages($file);
my $imported = 0;

open my $in, '<', $file or die "$file: $!\n";
binmode STDOUT;
{
    local $/ = '';    # a paragraph a record
    while (my $paragraph = <$in>) {
        my $field = parse_fields($paragraph);
        next unless defined $field->{package} && defined $field->{version};
        # dpkg's own database also lists packages that were removed.
        next if defined $field->{status} && $field->{status} !~ /\binstalled$/;

        print ++$imported, "\t", copy_escape(json(document($field))), "\n"
            or die "cannot write: $!\n";
        progress($imported, $total) if $imported % $PROGRESS_EVERY == 0;
    }
}
close STDOUT or die "cannot write: $!\n";
progress($imported, $imported);
die "$file holds no packages\n" if $imported == 0;

sub count_packages {
    my ($name) = @_;
    open my $fh, '<', $name or die "$name: $!\n";
    my $n = 0;
    while (<$fh>) { $n++ if /^Package:/ }
    return $n;
}

sub progress {
    my ($done, $of) = @_;
    printf STDERR "  imported %6d of %6d packages\n", $done, $of;
}

# "Field-Name: value", continued by lines that begin with a blank, becomes {field_name => value}.
sub parse_fields {
    my ($paragraph) = @_;
    # Old entries may be in another encoding; read as Latin-1 they are at least valid.
    utf8::encode($paragraph) unless utf8::decode(my $copy = $paragraph);
    my %field;
    my $name;
    for my $line (split /\n/, $paragraph) {
        if ($line =~ /^([!-9;-~]+):\s*(.*)/) {
            $name = lc $1;
            $name =~ tr/-/_/;
            $field{$name} = $2;
        }
        elsif (defined $name && $line =~ /^[ \t](.*)/) {
            $field{$name} .= "\n$1";
        }
    }
    return \%field;
}

# The shape of a document. Fields that a package does not have are left out; those not named here
# are kept as text under "other".
sub document {
    my %f = %{ $_[0] };
    my $take = sub { my ($name) = @_; return delete $f{$name} };

    my %relations;
    for my $kind (qw(pre_depends depends recommends suggests enhances breaks conflicts replaces provides)) {
        my $text = $take->($kind);
        $relations{$kind} = relation($text) if defined $text;
    }
    my ($summary, $details) = split /\n/, $take->('description') // '', 2;

    my %doc = (
        name           => $take->('package'),
        version        => $take->('version'),
        architecture   => $take->('architecture'),
        section        => $take->('section'),
        priority       => $take->('priority'),
        source         => $take->('source'),
        homepage       => $take->('homepage'),
        maintainer     => person($take->('maintainer')),
        installed_size => number($take->('installed_size')),
        size           => number($take->('size')),
        tags           => list($take->('tag')),
        summary        => $summary,
        details        => $details,
        depends        => names(@relations{qw(pre_depends depends)}),
        relations      => \%relations,
        file           => {
            name   => $take->('filename'),
            md5    => $take->('md5sum'),
            sha256 => $take->('sha256'),
        },
    );
    delete @f{qw(status description_md5)};
    $doc{other} = \%f;
    return \%doc;
}

# "libc6 (>= 2.36), default-mta | mail-transport-agent": a list of lists of alternatives.
sub relation {
    my ($text) = @_;
    my @all;
    for my $clause (grep { /\S/ } split /,/, $text) {
        my @alternatives;
        for my $one (split /\|/, $clause) {
            my ($name, $arch, $op, $version) = $one =~
                /^\s*([^\s:(\[]+)(?::([^\s(]+))?\s*(?:\(\s*([<>=]+)\s*([^)\s]+)\s*\))?/ or next;
            push @alternatives,
                { name => $name, architecture => $arch, op => $op, version => $version };
        }
        push @all, \@alternatives if @alternatives;
    }
    return \@all;
}

# The names in relations, each once, in the order they first come.
sub names {
    my %seen;
    return [grep { !$seen{$_}++ } map { $_->{name} } map { @$_ } map { @$_ } grep { defined } @_];
}

sub person {
    my ($text) = @_;
    return undef unless defined $text;
    my ($name, $email) = $text =~ /^"?([^<"]*?)"?\s*<([^>]*)>/;
    return { name => $name // $text, email => $email };
}

sub list {
    my ($text) = @_;
    return undef unless defined $text;
    return [grep { length } split /[\s,]+/, $text];
}

# A JSON number is told from text by being a reference.
sub number {
    my ($text) = @_;
    return undef unless defined $text && $text =~ /^(?:0|[1-9][0-9]*)$/;
    return \$text;
}

# JSON, from hashes, lists, numbers (references) and text (bytes of UTF-8). Members without a
# value are left out, and so are empty objects among them.
sub json {
    my ($value) = @_;
    my $kind = ref $value;
    return $$value if $kind eq 'SCALAR';
    return '[' . join(',', map { json($_) } @$value) . ']' if $kind eq 'ARRAY';
    return json_string($value) unless $kind;

    my @members;
    for my $key (sort keys %$value) {
        my $v = $value->{$key};
        next unless defined $v;
        my $text = json($v);
        push @members, json_string($key) . ':' . $text unless $text eq '{}';
    }
    return '{' . join(',', @members) . '}';
}

sub json_string {
    my ($s) = @_;
    $s =~ tr/\0//d;    # jsonb has no NUL
    $s =~ s/(["\\])/\\$1/g;
    $s =~ s/([\x00-\x1f])/sprintf '\\u%04x', ord $1/ge;
    return qq("$s");
}

sub copy_escape {
    my ($s) = @_;
    $s =~ s/\\/\\\\/g;
    return $s;
}
