# meta.pl FILE: what is wrong with META.json by version 1.0 of the PGXN Meta Spec, a line each

use strict;
use warnings;
use JSON::PP;

my ($file) = @ARGV;
open my $handle, '<:raw', $file or die "$file: $!\n";
my $meta = decode_json(do { local $/; <$handle> });
my $version = qr/^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-?[a-z][-\da-z]*)?$/i;
my $term = qr{^[^\s/\\[:cntrl:]]{2,}$};
my %licenses = map { $_ => 1 } qw(agpl_3 apache_1_1 apache_2_0 artistic_1 artistic_2 bsd freebsd gfdl_1_2 gfdl_1_3 gpl_1 gpl_2 gpl_3 lgpl_2_1
	lgpl_3_0 mit mozilla_1_0 mozilla_1_1 openssl perl_5 postgresql qpl_1_0 ssleay sun zlib open_source restricted unrestricted unknown);
my %known = map { $_ => 1 } qw(abstract description generated_by license maintainer meta-spec name no_index prereqs provides release_status resources tags version);

sub wrong { print "@_\n"; }
sub is_text { return defined $_[0] && !ref $_[0] && length $_[0]; }

for my $key (qw(abstract license maintainer meta-spec name provides version)) { wrong("there is no $key") unless exists $meta->{$key}; }
for my $key (sort keys %$meta) { wrong("$key is not in the specification") unless $known{$key} || $key =~ /^x_/i; }
for my $key (qw(abstract description generated_by)) { wrong("$key is no text") if exists $meta->{$key} && !is_text($meta->{$key}); }
wrong('name is no term') unless is_text($meta->{name}) && $meta->{name} =~ $term;
wrong('version is no semantic version') unless is_text($meta->{version}) && $meta->{version} =~ $version;
wrong('maintainer is no text or list of texts') if grep { !is_text($_) } ref $meta->{maintainer} eq 'ARRAY' ? @{ $meta->{maintainer} } : $meta->{maintainer};
wrong('license is not known') if grep { !is_text($_) || !$licenses{$_} } ref $meta->{license} eq 'ARRAY' ? @{ $meta->{license} } : $meta->{license};
wrong('meta-spec is not of version 1.0') unless ref $meta->{'meta-spec'} eq 'HASH' && $meta->{'meta-spec'}{version} =~ /^1\.0\.\d+$/;
wrong('release_status is none') unless ($meta->{release_status} // 'stable') =~ /^(?:stable|testing|unstable)$/;
wrong("tag $_") for grep { !is_text($_) || length > 255 || m{[/\\[:cntrl:]]} } @{ $meta->{tags} // [] };

wrong('provides nothing') unless ref $meta->{provides} eq 'HASH' && %{ $meta->{provides} };
for my $name (sort keys %{ $meta->{provides} })
{
	my $extension = $meta->{provides}{$name};
	wrong("$name is no term") unless $name =~ $term;
	wrong("version of $name") unless is_text($extension->{version}) && $extension->{version} =~ $version;
	wrong("$_ of $name: there is no such file") for grep { ($_ eq 'file' || exists $extension->{$_}) && !-f($extension->{$_} // '') } qw(file docfile);
}

for my $phase (sort keys %{ $meta->{prereqs} // {} })
{
	wrong("phase $phase") unless $phase =~ /^(?:configure|build|test|runtime|develop)$|^x_/i;
	for my $relation (sort keys %{ $meta->{prereqs}{$phase} })
	{
		wrong("relation $relation") unless $relation =~ /^(?:requires|recommends|suggests|conflicts)$|^x_/i;
		while (my ($name, $range) = each %{ $meta->{prereqs}{$phase}{$relation} })
		{
			wrong("$phase $relation $name") if $name !~ $term || grep { $_ ne '0' && s/^(?:[<>]=?|[!=]=) *//r !~ $version } split / *, */, $range;
		}
	}
}
