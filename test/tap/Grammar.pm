# The queries of plain_random.pl: a grammar of what people write about documents. A query is a hash of its parts, so that
# it can be made smaller. About half are made to fit an index table; those that must not use one are as important.

package Grammar;

use strict;
use warnings;
use utf8;
use JSON::PP;
use World;
use Exporter 'import';
our @EXPORT = qw(query render simpler features value_of $PARAMETERS);

our $PARAMETERS;    # while it refers to a list, some constants become parameters and are added to it
my %features;

sub feature { $features{$_} = 1 for @_; return; }
sub features { my @f = sort keys %features; %features = (); return @f; }

# ---- expressions

sub json_path { return literal('{' . join(',', map { '"' . s/(["\\])/\\$1/gr . '"' } @_) . '}'); }
sub text_array { return 'ARRAY[' . join(', ', map { literal($_) } @_) . ']'; }

# as_json ALIAS, MEMBER…: the value there
sub as_json
{
	my ($a, @path) = @_;
	my $doc = $a eq '' ? 'doc' : "$a.doc";
	my $way = between(0, 9);
	if ($way <= 4) { feature('->'); return $doc . join '', map { ' -> ' . literal($_) } @path; }
	if ($way == 5) { feature('#>'); return "$doc #> " . json_path(@path); }
	if ($way == 6) { feature('subscript'); return ($a eq '' ? 'doc' : "($doc)") . join '', map { '[' . literal($_) . ']' } @path; }
	if ($way == 7) { feature('extract_path'); return "jsonb_extract_path($doc, " . join(', ', map { literal($_) } @path) . ')'; }
	if ($way == 8) { feature('#>'); return "$doc #> " . text_array(@path); }
	my $last = pop @path;
	return @path ? '(' . as_json($a, @path) . ') -> ' . literal($last) : "$doc -> " . literal($last);
}

# as_text ALIAS, MEMBER…: its text
sub as_text
{
	my ($a, @path) = @_;
	my $doc = $a eq '' ? 'doc' : "$a.doc";
	my $way = between(0, 9);
	if ($way <= 4)
	{
		feature(@path > 1 ? '->->>' : '->>');
		my $last = pop @path;
		return $doc . join('', map { ' -> ' . literal($_) } @path) . ' ->> ' . ($last =~ /^[0-9]$/ && chance(0.5) ? $last : literal($last));
	}
	if ($way <= 6) { feature('#>>'); return "$doc #>> " . (chance(0.7) ? json_path(@path) : text_array(@path)); }
	if ($way == 7) { feature('extract_path_text'); return "jsonb_extract_path_text($doc, " . join(', ', map { literal($_) } @path) . ')'; }
	if ($way == 8) { feature(q(#>> '{}')); return '(' . as_json($a, @path) . q[) #>> '{}']; }
	my $last = pop @path;
	return @path ? '(' . as_json($a, @path) . ') ->> ' . literal($last) : "($doc) ->> " . literal($last);
}

# expression ALIAS, FIELD: of the field's type
sub expression
{
	my ($a, $field) = @_;
	my $f = $FIELD{$field};
	if ($f->{column}) { feature('@column'); return $a eq '' ? $f->{column} : "$a.$f->{column}"; }
	if ($f->{sql}) { feature('expression'); return '(' . ($a eq '' ? $f->{sql} : $f->{sql} =~ s/\bdoc\b/$a.doc/gr) . ')'; }
	return '(' . as_json($a, @{ $f->{path} }) . ')' if $f->{type} eq 'jsonb';
	my $text = as_text($a, @{ $f->{path} });
	return "($text)" if $f->{type} eq 'text' && !$f->{collate};
	if ($f->{collate}) { feature('COLLATE'); return chance(0.6) ? "($text) COLLATE \"C\"" : "($text)"; }
	feature("::$f->{type}");
	return chance(0.9) ? "($text)::$f->{type}" : "CAST($text AS $f->{type})";
}

# as_number ALIAS, FIELD: a number as one of another type, in the same order, else the field itself
sub as_number
{
	my ($a, $field) = @_;
	my $f = $FIELD{$field};
	return expression($a, $field) if !$f->{path} || $f->{sql} || $f->{type} !~ /^(int|bigint|numeric)$/;
	feature('order of numbers');
	return '(' . as_text($a, @{ $f->{path} }) . ')::' . ($f->{type} eq 'numeric' ? 'float8' : pick('bigint', 'numeric', 'numeric(12,2)', 'float8', 'real'));
}

# shown EXPRESSION, FIELD: where equal values that look different may stand for each other, made to look the same
sub shown
{
	my ($e, $field) = @_;
	my $type = $FIELD{$field}{type};
	return "trim_scale(($e)::numeric)" if $type =~ /^numeric/;
	return "length(($e)::text) < 0" if $type eq 'jsonb';
	return $e;
}

sub value_of { my ($field) = @_; return pick(@{ $FIELD{$field}{pool} }); }

# constant FIELD: to be compared with it; often of another type
sub constant
{
	my ($field) = @_;
	my $f = $FIELD{$field};
	my $type = $f->{type} =~ s/\(.*//r;
	my $value = value_of($field);
	$value = pick('nothing', 'A', 'zz') if $type eq 'text' && chance(0.05);
	if ($PARAMETERS && chance(0.6))
	{
		push @$PARAMETERS, { field => $field, type => $type, value => $value };
		feature('parameter');
		return '$' . @$PARAMETERS;
	}
	if (chance(0.03)) { feature('NULL'); return pick('NULL', "NULL::$type"); }
	if ($type eq 'int' || $type eq 'bigint') { return pick($value, $value, $value, "$value\::bigint", "$value\::smallint", "$value.0", "'$value'", "'$value'::int", "($value + 0)"); }
	if ($type eq 'numeric') { return pick($value, $value, "$value\::numeric", "round($value)::int", "$value\::float8", "'$value'"); }
	if ($type eq 'float8') { return pick($value, "'$value'", "$value\::float8", "$value\::float4"); }
	if ($type eq 'date') { return pick("'$value'", "'$value'::date", "date '$value'", "timestamp '$value'", "timestamptz '$value'", "(date '$value' + 0)"); }
	if ($type eq 'timestamp') { return pick("'$value'", "timestamp '$value'", "date '" . substr($value, 0, 10) . "'", "timestamptz '$value'"); }
	if ($type eq 'timestamptz') { return pick("'$value'", "timestamptz '$value'", "timestamp '" . substr($value, 0, 16) . "'"); }
	if ($type eq 'boolean') { return pick($value, "'$value'", "($value)::boolean"); }
	if ($type eq 'jsonb') { return pick(literal($value), literal($value) . '::jsonb'); }
	if ($type eq 'char') { return pick(literal($value), literal($value) . '::bpchar', literal($value) . '::text', literal("$value ")); }
	my $l = literal($value);
	return pick($l, $l, $l, $l, "$l\::text", "$l\::varchar", "$l\::name", "$l\::bpchar", "('' || $l)", "$l COLLATE \"C\"", "lower($l)");
}

# ---- conditions

# of_elements ALIAS, FIELD: that an array holds something
sub of_elements
{
	my ($a, $field) = @_;
	my ($name) = @{ $FIELD{$field}{path} };
	my $value = value_of($field);
	my $doc = $a eq '' ? 'doc' : "$a.doc";
	my $element = $field eq 'tagi' || $value =~ /^(1|true)$/ && chance(0.3) ? $value : "\"$value\"";
	$element = "{\"name\": \"$value\"}" if $field eq 'item';
	$element = "{\"q\": $value}" if $field eq 'itemq';
	feature('elements');
	return pick(
		"$doc @> '{\"$name\": [$element]}'", "$doc @> '{\"$name\": [$element]}'", as_json($a, $name) . " @> '[$element]'", as_json($a, $name) . " @> '[$element]'", as_json($a, $name) . " @> '$element'",
		"$doc @> jsonb_build_object('$name', '[$element]'::jsonb)", "'{\"$name\": [$element]}' <@ $doc", "$doc @> '{\"$name\": $element}'",
		"$doc @> '{\"$name\": [$element, $element]}'", "$doc @> '{\"$name\": [" . ($field eq 'tagi' ? 3 : '"red"') . ", $element]}'", "$doc @> '{\"$name\": []}'",
		as_json($a, $name) . " ? '$value'", as_json($a, $name) . " ? '$value'", as_json($a, $name) . " ?| ARRAY['$value', 'x']", as_json($a, $name) . " ?& ARRAY['$value']", "jsonb_exists(" . as_json($a, $name) . ", '$value')",
		(!$FIELD{$field}{sub} ? "$doc \@? '\$.$name\[*] ? (@ == $element)'" : ()), "jsonb_path_exists($doc, '\$.$name\[*] ? (@ == \"$value\")')", "$doc \@\@ '\$.$name\[*] == \"$value\"'",
		"EXISTS (SELECT FROM jsonb_array_elements_text(CASE jsonb_typeof($doc -> '$name') WHEN 'array' THEN $doc -> '$name' END) e WHERE e = '$value')",
		"'$value' IN (SELECT jsonb_array_elements_text(CASE jsonb_typeof($doc -> '$name') WHEN 'array' THEN $doc -> '$name' END))",
		as_json($a, $name) . " IS NOT NULL", "jsonb_array_length(CASE jsonb_typeof($doc -> '$name') WHEN 'array' THEN $doc -> '$name' END) > 1")
	  if !$FIELD{$field}{sub} || chance(0.5);
	return "$doc @> '{\"items\": [$element]}'";
}

# compared ALIAS, FIELD, [KIND]: a condition on one field; kind: =, range, other
sub compared
{
	my ($a, $field, $kind) = @_;
	my $f = $FIELD{$field};
	return spelled($a, $field) if ($kind // '') ne 'plain' && chance($f->{multi} ? 0.5 : 0.3);
	$kind = undef if ($kind // '') eq 'plain';
	return of_elements($a, $field) if $f->{multi};
	my $e = expression($a, $field);
	$kind //= pick('=', '=', 'range', 'in', 'null', 'other');
	$kind = 'in' if $kind eq '=' && chance(0.1);
	if ($f->{type} eq 'boolean' && $kind ne 'null' && chance(0.5)) { feature('boolean'); return pick($e, "NOT $e", "$e IS TRUE", "$e IS NOT TRUE", "$e IS FALSE", "$e IS UNKNOWN", "($e) = true", "$e AND true"); }
	if ($kind eq '=') { feature('='); return chance(0.9) ? "$e = " . constant($field) : constant($field) . " = $e"; }
	if ($kind eq 'range')
	{
		feature('range');
		my $c = constant($field);
		return "$e " . pick('<', '<=', '>', '>=') . " $c" if chance(0.5);
		return "$c " . pick('<', '<=', '>', '>=') . " $e" if chance(0.1);
		return "$e " . pick('>', '>=') . " $c AND $e " . pick('<', '<=') . ' ' . constant($field) if chance(0.4);
		return "$e BETWEEN " . pick('', '', 'SYMMETRIC ') . "$c AND " . constant($field);
	}
	if ($kind eq 'in')
	{
		feature('IN');
		my @c = map { constant($field) } 1 .. between(1, 4);
		return "$e IN (" . join(', ', @c) . ')' if chance(0.6);
		return "$e NOT IN (" . join(', ', @c) . ')' if chance(0.2);
		my $base = $f->{type} =~ s/\(.*//r;
		my $array = 'ARRAY[' . join(', ', map({ literal($_) } map { value_of($field) } 1 .. between(0, 3)), chance(0.2) ? 'NULL' : ()) . "]::$base\[]";
		return "$e " . pick('= ANY', '= ANY', '= ANY', '<> ALL', '= ALL', '> ANY', '<= ANY') . " ($array)";
	}
	if ($kind eq 'null') { feature('IS NULL'); return "$e IS " . pick('', 'NOT ', 'NOT ') . 'NULL'; }
	feature('other');
	if ($f->{type} eq 'text')
	{
		my $v = value_of($field);
		my $prefix = literal(substr $v, 0, between(0, 2));
		return pick("$e LIKE $prefix || '%'", "$e LIKE " . literal(substr($v, 0, 2) . '%'), "$e LIKE " . literal($v), "$e LIKE '%a%'", "$e ILIKE " . literal(substr($v, 0, 2) . '%'), "$e NOT LIKE " . literal(substr($v, 0, 1) . '%'),
			"starts_with($e, $prefix)", "$e ^@ $prefix", "$e ~ " . literal('^' . ($v =~ /^\w+$/ ? $v : 'a')), "lower($e) = " . literal(lc $v), "coalesce($e, '') = " . literal($v), "$e || '' = " . literal($v), "nullif($e, 'a') = " . literal($v),
			"$e <> " . literal($v), "$e IS DISTINCT FROM " . literal($v), "$e IS NOT DISTINCT FROM " . literal($v), "length($e) = 1", "$e ~>=~ " . literal($v), "$e COLLATE \"C\" > " . literal($v), "$e COLLATE \"POSIX\" <= " . literal($v), "$e COLLATE \"C\" = " . literal($v),
			"CASE WHEN $e = " . literal($v) . ' THEN true ELSE ' . pick('false', 'NULL', 'true') . ' END', "$e = (SELECT min(k) FROM p)", "$e IN (SELECT t FROM p WHERE p.id < 3)", "$e = ANY (SELECT k FROM p)", "$e = current_setting('t.text')");
	}
	my $v = constant($field);
	return pick("$e <> $v", "$e IS DISTINCT FROM $v", "$e IS NOT DISTINCT FROM $v", "($e = $v) IS TRUE", "($e = $v) IS NOT FALSE", "coalesce($e = $v, true)", "NOT ($e = $v)", "$e = (SELECT $v)");
}

# of_one_element FUNCTION, DOCUMENT, EXPRESSION, FIELD: conditions on elements that a function unnests, of which an expression is the field
sub of_one_element
{
	my ($elements, $doc, $e, $field) = @_;
	my $text = $FIELD{$field}{type} eq 'text';
	my $v = literal(value_of($field));
	my $number = $field eq 'item' || $text ? 0 : 1;
	my $one = $number ? pick("($e)::int = $v", "($e)::int > $v", "($e)::int BETWEEN 1 AND 2", "($e)::int IS NOT NULL") : pick("$e = $v", "$e ILIKE '%U%'", "$e LIKE '%o%'", "$e ~ '^[bn]'", "$e > 'bolt'", "$e NOT ILIKE '%x%'", "$e IS NULL", "$e ILIKE '%u%' OR $e LIKE 'b%'");
	return "EXISTS (SELECT FROM $elements e WHERE $one)" if !$FIELD{$field}{sub};
	my ($n, $name) = (between(1, 3), literal(pick(qw(nut bolt))));
	my $other = $field eq 'item' ? pick("(e ->> 'q')::int = $n", "(e ->> 'q')::int >= $n", "(e ->> 'q')::int IN (1, 3)", "e ->> 'q' IS NULL", "(e ->> 'q')::int + 1 = $n") : pick("e ->> 'name' = $name", "e ->> 'name' ILIKE '%OL%'", "e ->> 'name' ~ 'ut'", "e ->> 'name' IS NULL");
	my $element = '{"name": ' . ($name =~ tr/'/"/r) . ", \"q\": $n}";
	feature('one element');
	return pick("EXISTS (SELECT FROM $elements e WHERE $one AND $other)", "EXISTS (SELECT FROM $elements e WHERE $one AND $other)", "EXISTS (SELECT FROM $elements e WHERE $one) AND EXISTS (SELECT FROM $elements e WHERE $other)", "EXISTS (SELECT FROM $elements e, $elements f WHERE $one AND " . ($other =~ s/\be\b/f/gr) . ')',
		"$doc \@> '{\"items\": [$element]}'", "$doc -> 'items' \@> '[$element]'", "$doc \@> '{\"items\": [$element, {\"q\": 2}]}'", "$doc \@? '\$.items[*] ? (\@.name == " . ($name =~ tr/'/"/r) . " && \@.q >= $n)'",
		"$name IN (SELECT e ->> 'name' FROM $elements e WHERE $other)", "EXISTS (SELECT FROM $elements e WHERE $one AND " . pick("$doc ->> 'k' = 'a'", "e ->> 'name' = $doc ->> 'k'", 'random() < 2') . ')', "(SELECT count(*) FROM $elements e WHERE $one AND $other) > 0");
}

# json_cast CONDITION: that is an error for strings
sub json_cast { return "/* json cast */ $_[0]"; }

# spelled ALIAS, FIELD: a condition on one field as some library writes it, which an index table on the field may serve
sub spelled
{
	my ($a, $field) = @_;
	my $f = $FIELD{$field};
	my $doc = $a eq '' ? 'doc' : "$a.doc";
	my $value = value_of($field);
	my $type = $f->{type} =~ s/\(.*//r;
	my $number = $type =~ /^(int|bigint|numeric|float8)$/;
	feature('spelled');
	if ($f->{multi})
	{
		my ($name, $sub) = ($f->{path}[0], $f->{sub});
		my $array = pick("CASE jsonb_typeof($doc -> '$name') WHEN 'array' THEN $doc -> '$name' END", "CASE WHEN jsonb_typeof($doc -> '$name') = 'array' THEN $doc -> '$name' ELSE '[]' END");
		my $element = $number ? $value : "\"$value\"";
		my ($e, $j) = $sub ? ("e ->> '$sub'", "e -> '$sub'") : ('e', 'e');
		my $elements = $sub ? "jsonb_array_elements($array)" : "jsonb_array_elements_text($array)";
		my $other = literal(value_of($field));
		my $at = $sub ? ".$sub" : '';
		return of_one_element($elements, $doc, $e, $field) if chance(0.4);
		return pick(
			"EXISTS (SELECT FROM $elements e WHERE $e = '$value')", "EXISTS (SELECT FROM $elements e WHERE $e IN ('$value', $other))", "NOT EXISTS (SELECT FROM $elements e WHERE $e = '$value')", "'$value' = ANY (ARRAY(SELECT $e FROM $elements e))", "'$value' IN (SELECT $e FROM $elements e)",
			"EXISTS (SELECT FROM jsonb_array_elements($array) e WHERE $j = '$element')", "EXISTS (SELECT FROM jsonb_array_elements($array) e WHERE $j > '$element')", "EXISTS (SELECT FROM $elements e WHERE coalesce($e, $other) = '$value')", "EXISTS (SELECT FROM $elements e WHERE $e = '$value' OR $e = $other)",
			"$doc -> '$name' ?| ARRAY['$value', $other]", "$doc -> '$name' ?& ARRAY['$value', $other]", "$doc -> '$name' ? '$value'", "$doc \@? '\$.$name\[*] ? (\@$at == $element)'", "$doc \@? '\$.$name ? (\@$at == $element)'", "$doc \@\@ '\$.$name\[*]$at == $element'", "$doc \@\@ '\$.$name\[*]$at > $element'", "jsonb_path_exists($doc, '\$.$name\[*]$at ? (\@ == \$v)', '{\"v\": $element}')",
			"EXISTS (SELECT FROM $elements e WHERE $e = '$value') AND EXISTS (SELECT FROM $elements e WHERE $e = $other)");
	}
	return compared($a, $field, 'plain') if $f->{column} || $f->{sql} || $type eq 'jsonb';
	my $text = as_text($a, @{ $f->{path} });
	my $json = as_json($a, @{ $f->{path} });
	my $scalar = $number || $type eq 'boolean' || $value =~ /^(true|[0-9]+)$/ && chance(0.5) ? $value : JSON::PP->new->allow_nonref->encode($value);
	my $path = join '', map { '.' . JSON::PP->new->allow_nonref->encode($_) } @{ $f->{path} };
	$scalar = pick('null', '[]', '1.0', '"1"', '{}', 'true') if chance(0.1);
	my $nested = $scalar;
	$nested = '{' . JSON::PP->new->allow_nonref->encode($_) . ": $nested}" for reverse @{ $f->{path} };
	my $other = JSON::PP->new->allow_nonref->encode(value_of($field));
	my @any = ("($json) = " . literal($scalar), "($json) = " . literal($scalar), "($json) IN (" . literal($scalar) . ', ' . literal($other) . ')', "($json) " . pick('>', '>=', '<', '<=', '<>') . ' ' . literal($scalar), "$doc @> " . literal($nested), "$doc @> " . literal($nested), "($text) = " . literal($value),
		"($text) IS NOT DISTINCT FROM " . literal($value), "coalesce($text, " . literal(pick('', 'none', $value)) . ') = ' . literal($value), "(($text) = " . literal($value) . " OR ($json) = " . literal($scalar) . ')', "(($text) = " . literal($value) . " AND $doc ? 'k' OR ($text) = " . literal(value_of($field)) . ')',
		"$doc \@\@ " . literal("\$$path " . pick('==', '==', '>', '<=') . " $scalar"), "$doc \@? " . literal("\$$path ? (\@ == $scalar)"), "jsonb_path_query_first($doc, " . literal("\$$path") . ") #>> '{}' = " . literal($value), "($doc\::json #>> " . json_path(@{ $f->{path} }) . ') = ' . literal($value), "jsonb_path_exists($doc, " . literal("\$$path ? (\@ == \$x)") . ', ' . literal("{\"x\": $scalar}") . ')');
	push @any, ("($text)::" . pick('int', 'bigint', 'numeric', 'numeric(18,3)', 'float8', 'real') . ' ' . pick('=', '=', '<', '<=', '>', '>=') . ' ' . pick($value, "$value.5", "$value\::float8", "$value\::numeric")) x 4, json_cast("($json)::int = $value"), "coalesce(($text)::$f->{type}, " . pick(0, $value) . ") = $value" if $type =~ /^(int|bigint)$/;
	push @any, map { "(($text)::varchar(" . pick(1, 2, 3, 6, 255) . '))' . $_ } ' = ' . literal($value), ' IN (' . literal($value) . ', ' . literal(value_of($field)) . ')', ' LIKE ' . literal(substr($value, 0, 2) . '%') if $type eq 'text';
	push @any, ("($text)::float8 " . pick('=', '<', '<=', '>', '>=') . ' ' . pick($value, "$value\::float8")) x 3 if $type eq 'numeric';
	push @any, ("($text)::boolean", "NOT ($text)::boolean", "($text)::boolean IS NOT DISTINCT FROM true", "coalesce(($text)::boolean, " . pick('true', 'false') . ')') x 2 if $type eq 'boolean';
	return pick(@any);
}

# guarded ALIAS: a condition that is an error for some values, behind one that says for which it is none. Between these comments the native
# plan raises no error that the guard keeps off, and no other plan may either.
sub guarded
{
	my ($a) = @_;
	my ($text, $json, $v) = map { my ($way, @path) = @$_; $way eq 'v' ? ($a eq '' ? 'v' : "$a.v") : $way eq 'text' ? as_text($a, @path) : as_json($a, @path) } [ 'text', 'm' ], [ 'json', 'm' ], ['v'];
	my ($i, $n) = (as_text($a, 'i'), between(0, 4));
	feature('guarded');
	my ($guard, $not, $risky) = @{ pick(
		[ "($text) ~ '^[0-9]{1,4}\$'", "($text) !~ '^[0-9]{1,4}\$'", "($text)::int " . pick('=', '>', '<=') . " $n" ],
		[ "($text) IN ('1', '2', '3')", "($text) NOT IN ('1', '2', '3')", pick("10 / ($text)::int > $n", "($text)::numeric(9,1) > $n", "($text)::bigint IN ($n, 2)") ],
		[ "$v <> 0", "$v = 0", "10 / $v > $n" ],
		[ "$v > $n", "$v <= $n", "100 / ($v - $n) > 30" ],
		[ "jsonb_typeof($json) = 'number'", "jsonb_typeof($json) <> 'number'", "($text)::numeric > $n" ]) };
	$guard .= " AND ($i) <> '0'" if chance(0.2);
	return '/* guarded */ ' . pick("($guard AND $risky)", "($guard AND $risky)", "($guard AND ($risky OR $v = 1))", "($not OR $risky)", "(CASE WHEN $guard THEN $risky END)", "(CASE WHEN $guard THEN $risky ELSE $v = 2 END)", "NOT ($not OR $risky)") . ' /* till here */';
}

# behind_guard ALIAS, FIELD, CONDITION: where it casts a field that cannot be cast everywhere, often after a guard that says that it can be
sub behind_guard
{
	my ($a, $field, $condition) = @_;
	return $condition if !$FIELD{$field}{dirty} || $FIELD{$field}{text} || $condition !~ /::|CAST/ || $condition =~ /json cast/ || chance(0.1);
	my $doc = $a eq '' ? 'doc' : "$a.doc";
	my $pattern = { int => '^ *[0-9]{1,4} *$', numeric => '^[0-9]+(\.[0-9]+)?$', boolean => '^(true|false|1)$', date => pick('^2024-01-0[1-4]$', '^[0-9/-]+$') }->{ $FIELD{$field}{type} };
	feature('guarded');
	return "/* guarded */ ($doc ->> '$FIELD{$field}{path}[0]' ~ '$pattern' AND ($condition)) /* till here */";
}

# row_comparison ALIAS, FIELD, FIELD
sub row_comparison
{
	my ($a, @fields) = @_;
	feature('row');
	my $row = '(' . join(', ', map { expression($a, $_) } @fields) . ')';
	my $values = sub { '(' . join(', ', map { literal(value_of($_)) } @fields) . ')' };
	return "$row " . pick('>', '>=', '<', '<=', '=', '=', '<>') . ' ' . $values->() if chance(0.7);
	return "$row IN (" . $values->() . ', ' . $values->() . ')';
}

sub condition
{
	my ($a, $fact, $depth) = @_;
	my @fields = fields_of($fact);
	my $way = rand();
	return guarded($a) if chance(0.08);
	return compared($a, pick(@fields)) if $way < 0.6 || ($depth // 0) > 2;
	my $next = sub { condition($a, $fact, ($depth // 0) + 1) };
	if ($way < 0.68) { feature('OR'); return '(' . join(' OR ', map { $next->() } 1 .. between(2, 3)) . ')'; }
	if ($way < 0.73) { feature('NOT'); return 'NOT (' . $next->() . ')'; }
	if ($way < 0.80) { my @f = grep { !$FIELD{$_}{multi} && $FIELD{$_}{type} ne 'jsonb' } @fields; return @f > 1 ? row_comparison($a, @f[ 0, 1 ]) : $next->(); }
	if ($way < 0.84) { feature('OR'); return '(' . $next->() . ' AND ' . $next->() . ' OR ' . $next->() . ')'; }
	my $doc = $a eq '' ? 'doc' : "$a.doc";
	my $column = sub { $a eq '' ? $_[0] : "$a.$_[0]" };
	feature('document');
	return pick("$doc @> " . literal('{"' . pick('k', 't') . '": "' . pick('a', 'Genoa') . '"}'), "$doc ? " . literal(pick('k', 't', 'tags', '0')), "NOT $doc ? 'k'", "jsonb_typeof($doc) = 'object'", "$doc IS NOT NULL", "$doc = '{}'",
		"$doc ?& ARRAY['k', 't']", "jsonb_typeof($doc -> 'tags') = 'array'", $column->('id') . ' = ' . between(1, 60), $column->('id') . ' < ' . between(1, 100), $column->('r') . " = 's'", $column->('v') . ' IS NOT NULL', 'random() >= 0',
		$column->('id') . ' = ANY (ARRAY(SELECT id FROM p))', "run('SELECT 1') = '1:(1)'", $column->('v') . ' > (SELECT min(i) FROM p)', 'EXISTS (SELECT FROM p WHERE p.id = ' . $column->('v') . ')', "$doc -> 'o' @> '{\"city\": \"Genoa\"}'",
		'false', 'true', 'NULL::boolean');
}

# fields_of FACT: some to be used together: those of one of its index tables, or any
sub fields_of
{
	my ($fact) = @_;
	my $i = pick(@{ $fact->{indexes} });
	return (@{ $i->{key} }, @{ $i->{include} }) if chance(0.6);
	my @clean = grep { !$FIELD{$_}{dirty} || $FIELD{$_}{text} || chance(0.05) } sort keys %FIELD;
	return map { pick(@clean) } 1 .. 3;
}

# aimed ALIAS, INDEX: conditions by which it could be searched
sub aimed
{
	my ($a, $i) = @_;
	my @where;
	my $searching = 1;
	for my $field (@{ $i->{key} })
	{
		if ($searching && chance(@where ? 0.7 : 0.9))
		{
			my $equal = chance(0.75);
			push @where, behind_guard($a, $field, compared($a, $field, $equal ? '=' : pick('range', 'range', 'in', 'other')));
			$searching = $equal;
		}
		elsif (!$FIELD{$field}{multi} && chance(0.6)) { push @where, expression($a, $field) . ' IS NOT NULL'; $searching = 0; }
		else { $searching = 0; }
	}
	for my $field (grep { $FIELD{$_}{dirty} && !$FIELD{$_}{text} } @{ $i->{key} }, @{ $i->{include} }) { push @where, behind_guard($a, $field, compared($a, $field)) if chance(0.4); }
	if (defined $i->{filter} && chance(0.8))
	{
		feature('filter');
		push @where, $a eq '' ? $i->{filter} : $i->{filter} =~ s/\b(v|doc|note)\b(?!')/$a.$1/gr;
	}
	return @where;
}

# ---- queries

# key_of ALIAS, FACT: the columns of the primary key, by which an order is total
sub key_of { my ($a, $fact) = @_; return map { $a eq '' ? $_ : "$a.$_" } @{ $fact->{pk} }; }

sub direction { return pick('', '', ' DESC') . pick('', '', '', ' NULLS FIRST', ' NULLS LAST'); }

# item ALIAS, FACT, INDEX: something to be selected
sub item
{
	my ($a, $fact, $i) = @_;
	my @fields = $i && chance(0.8) ? grep({ !$FIELD{$_}{multi} } @{ $i->{key} }, @{ $i->{include} }) : ();
	@fields = grep { !$FIELD{$_}{multi} } fields_of($fact) if !@fields;
	return key_of($a, $fact) if !@fields;
	my $field = pick(@fields);
	my $e = expression($a, $field);
	return $e if chance(0.8);
	return guarded($a) if chance(0.15);
	my $dot = $a eq '' ? '' : "$a.";
	return "upper($e)" if $FIELD{$field}{type} eq 'text' && chance(0.3);
	return pick("coalesce(($e)::text, '-')", "$e IS NULL", "($e)::text || 'x'", "CASE WHEN $e IS NULL THEN 0 ELSE 1 END", "$dot" . 'note', "$dot" . 'v', "$dot" . 'doc', "${dot}doc ? 'k'", "jsonb_typeof(" . as_json($a, 'tags') . ')', as_json($a, 'o'), "pg_typeof($e)", '1',
		"(SELECT count(*) FROM p WHERE p.k = ($e)::text)", "${dot}tableoid::regclass");
}

# simple FACT, INDEX: one fact table
sub simple
{
	my ($fact, $i) = @_;
	my $a = pick('', $fact->{name}, 'x');
	my $from = $fact->{name} . ($a eq 'x' ? pick(' x', ' AS x') : '');
	if (chance(0.04)) { $from = pick("ONLY $from", ($a eq 'x' ? "$fact->{name} x TABLESAMPLE system (100)" : ()), @{ $fact->{leaves} } && $a ne $fact->{name} ? $fact->{leaves}[0][0] . ($a ? ' x' : '') : $from); }
	my @where = $i ? aimed($a, $i) : ();
	push @where, condition($a, $fact) for 1 .. pick(0, 0, 0, 1, 2);
	if ($fact->{guard} && $from !~ /^$fact->{name}_/ && chance(0.5)) { feature('guard'); push @where, "$fact->{guard}(" . join(', ', map { $a eq '' ? $_ : "$a.$_" } qw(id r doc v)) . ')'; }
	@where = shuffled(@where);
	my @items = map { item($a, $fact, $i) } 1 .. between(0, 3);
	push @items, key_of($a, $fact) if chance(0.7) || !@items;
	push @items, pick($a eq '' ? 'doc' : "$a.doc", $a eq '' ? $fact->{name} : $a, $a eq '' ? '*' : "$a.*", 'ctid') if chance(0.12);
	if ($a eq 'x') { s/^\Q$fact->{name}\E\b/x/ for @items; }
	return { items => \@items, from => $from, where => \@where, alias => $a, cmp => 'set' };
}

# ordered QUERY, FACT, INDEX: with an order, and a limit perhaps
sub ordered
{
	my ($q, $fact, $i) = @_;
	my ($a) = $q->{alias};
	my @fields = $i ? grep { !$FIELD{$_}{multi} } @{ $i->{key} } : ();
	shift @fields if @fields > 1 && chance(0.5);
	@fields = grep { !$FIELD{$_}{multi} } fields_of($fact) if !@fields || chance(0.15);
	splice @fields, 2 if @fields > 2;
	my $same = chance(0.75) ? direction() : undef;
	my @expressions = map { chance(0.3) ? as_number($a, $_) : expression($a, $_) } @fields;
	my @order = map { $_ . ($same // direction()) } @expressions;
	feature('ORDER BY');
	if (chance(0.75))
	{
		push @order, map { $_ . ($same // direction()) } key_of($a, $fact);
		$q->{cmp} = 'list';
		if (chance(0.7)) { feature('LIMIT'); $q->{limit} = between(0, 12); $q->{offset} = between(0, 5) if chance(0.25); }
	}
	elsif (@fields)
	{
		# Rows that are equal in this order may come in any.  What orders is shown itself: doc ->> 0 is another value than doc ->> '0'.
		unshift @{ $q->{items} }, map { shown($expressions[$_], $fields[$_]) } 0 .. $#fields;
		$q->{cmp} = 'keys:' . @fields;
		if (chance(0.4)) { feature('LIMIT'); $q->{limit} = between(0, 12); }
	}
	$q->{order} = \@order;
	return $q;
}

sub aggregate
{
	my ($fact, $i) = @_;
	return totals($fact, pick(@{ $fact->{totals} })) if @{ $fact->{totals} } && chance(0.6);
	my $q = simple($fact, $i);
	my $a = $q->{alias};
	feature('aggregate');
	my @fields = grep { !$FIELD{$_}{multi} && $FIELD{$_}{type} !~ /jsonb/ } chance(0.7) ? (@{ $i->{key} }, @{ $i->{include} }) : fields_of($fact);
	@fields = ('v') if !@fields;
	my $dot = $a eq '' ? '' : "$a.";
	my @aggregates = map {
		my $field = pick(@fields);
		my $e = expression($a, $field);
		my $orderly = $FIELD{$field}{type} ne 'boolean';
		pick('count(*)', 'count(*) FILTER (WHERE ' . guarded($a) . ')', "count($e)", "count(DISTINCT $e)", ($orderly ? (shown("min($e)", $field), shown("max($e)", $field)) : "bool_or($e)"), "string_agg(($e)::text, ',' ORDER BY ($e)::text, " . join(', ', key_of($a, $fact)) . ')',
			"sum(${dot}v)", 'count(*) FILTER (WHERE ' . compared($a, $field) . ')', $FIELD{$field}{type} =~ /^(int|numeric)$/ ? "sum($e)" : "min(${dot}id)", "array_agg(${dot}id ORDER BY " . join(', ', key_of($a, $fact)) . ')')
	} 1 .. between(1, 3);
	if (chance(0.6))
	{
		feature('GROUP BY');
		splice @fields, 2 if @fields > 2;
		my %e = map { $_ => expression($a, $_) } @fields;
		$q->{group} = [ map { $e{$_} } @fields ];
		$q->{items} = [ (map { shown($e{$_}, $_) } @fields), @aggregates ];
		$q->{having} = [ pick('count(*) > 1', "min(${dot}id) < 50", 'count(*) < 10', "$e{$fields[0]} IS NOT NULL", "$e{$fields[0]} IS NULL") ] if chance(0.3);
		$q->{grouping} = pick('ROLLUP', 'CUBE') if chance(0.1);
	}
	else { $q->{items} = \@aggregates; }
	return $q;
}

# facets FACT, INDEX: groups by the elements that are its first key, and aggregates of its fields
sub facets
{
	my ($fact, $i) = @_;
	my ($multi, @rest) = grep { my $x = $FIELD{$_}; $x->{multi} || (!$x->{text} && $x->{type} !~ /json|char\(5\)|float|^numeric$/) } @{ $i->{key} }, @{ $i->{include} };
	splice @rest, between(0, 2) if @rest;
	feature('facets');
	return totals($fact, { %$i, key => [ $multi, shuffled(@rest) ], few => 1, sums => [ grep { $FIELD{$_}{type} =~ /^(int|bigint)$/ } @{ $i->{include} } ] });
}

# totals FACT, TABLE: what a table of totals could answer, or nearly
sub totals
{
	my ($fact, $t) = @_;
	my $q = simple($fact, undef);
	my $a = $q->{alias};
	feature('totals');
	my @key = grep { !$FIELD{$_}{multi} } @{ $t->{key} };
	my ($multi) = grep { $FIELD{$_}{multi} } @{ $t->{key} };
	my $dot = $a eq '' ? '' : "$a.";
	my $own = sub { my $field = pick(@key); return compared($a, $field, pick('=', '=', 'in', 'range', 'other')) };
	$q->{where} = [ map { chance(0.9) && @key ? $own->() : condition($a, $fact) } 1 .. ($t->{few} ? chance(0.3) : pick(0, 0, 1, 1, 2)) ];
	push @{ $q->{where} }, $a eq '' ? $t->{filter} : $t->{filter} =~ s/\b(v|doc)\b(?!')/$a.$1/gr if defined $t->{filter} && chance(0.9);
	my $element = $multi ? by_element($q, $multi) : undef;
	my @aggregates = map {
		my $sum = @{ $t->{sums} } ? pick(@{ $t->{sums} }) : undef;
		pick('count(*)', @key ? 'count(' . expression($a, pick(@key)) . ')' : (), ($sum ? map({ "$_(" . expression($a, $sum) . ')' } qw(sum avg count)) : ()),
			@key && chance(0.5) ? pick('max', 'min', 'count', 'count') =~ s/^count$/count(DISTINCT/r =~ s/^(m..)$/$1(/r . ' ' . expression($a, pick(grep({ $FIELD{$_}{type} ne 'boolean' } @key), 'id')) . ')' : (), chance(0.1) ? "max(${dot}id)" : ())
		  . (@key && chance(0.2) ? ' FILTER (WHERE ' . $own->() . ')' : '')
	} 1 .. between(1, 3);
	if (@key && chance(0.1))
	{
		$q->{distinct} = 'DISTINCT';
		$q->{items} = [ map { shown(expression($a, $_), $_) } @key ];
	}
	elsif ((@key || $element) && chance(0.6))
	{
		my %e = map { $_ => expression($a, $_) } @key;
		my @by = shuffled(@key);
		if ($element) { $e{$multi} = $element; splice @by, between(0, scalar @by), 0, $multi; }
		splice @by, between(1, 2) if @by > 2;
		$q->{group} = [ map { $e{$_} } @by ];
		$q->{items} = [ (map { shown($e{$_}, $_) } @by), @aggregates ];
		$q->{having} = [ pick('count(*) > 1', 'count(*) < 10', "$aggregates[0] IS NOT NULL", "$e{$by[0]} IS NULL") ] if chance(0.3);
		$q->{grouping} = pick('ROLLUP', 'CUBE') if chance(0.05);
	}
	else { $q->{items} = \@aggregates; }
	return $q;
}

# several FACT: conditions by which several searches could be merged, of several index tables or for several values
sub several
{
	my ($fact) = @_;
	my $q = simple($fact, undef);
	my $a = $q->{alias};
	my $doc = $a eq '' ? 'doc' : "$a.doc";
	my @tables = shuffled(@{ $fact->{indexes} });
	my $last = $tables[0];
	my (@arms, @shown);
	my $whole = chance(0.7);
	feature('several');
	splice @tables, between(1, 3);
	foreach my $i (@tables)
	{
		my @where;
		my @key = @{ $i->{key} };
		foreach my $field (@key[ 0 .. ($whole ? $#key : 0) ])
		{
			my $f = $FIELD{$field};
			if (!$f->{multi} || $f->{sub}) { push @where, $f->{multi} || chance(0.2) ? compared($a, $field, '=') : expression($a, $field) . ' = ' . constant($field); next; }
			my ($name, $v, $w) = ($f->{path}[0], value_of($field), value_of($field));
			my ($x, $y) = map { JSON::PP->new->allow_nonref->encode($_) } $v, $w;
			push @where, pick("$doc -> '$name' ? '$v' AND $doc -> '$name' ? '$w'", "$doc -> '$name' ?& ARRAY['$v', '$w']", "$doc -> '$name' \@> '[$x, $y]'", "$doc \@> '{\"$name\": [$x, $y]}'",
				"$doc -> '$name' ? '$v'", "$doc \@> '{\"$name\": [$x]}'");
		}
		push @where, $a eq '' ? $i->{filter} : $i->{filter} =~ s/\b(v|doc|note)\b(?!')/$a.$1/gr if defined $i->{filter} && chance(0.8);
		push @arms, '(' . join(' AND ', @where) . ')';
		push @shown, grep { !$FIELD{$_}{multi} } @key, @{ $i->{include} };
	}
	if (chance(0.5))
	{
		my ($field) = grep { !$FIELD{$_}{multi} } $last->{key}[0];
		@arms = chance(0.6) && defined $field ? expression($a, $field) . ' IN (' . join(', ', map { constant($field) } 1 .. between(2, 3)) . ')' : '(' . join(' OR ', @arms) . ')';
	}
	$q->{where} = [ @arms, chance(0.3) ? @{ $q->{where} } : () ];
	my @rest = grep { !$FIELD{$_}{multi} && $FIELD{$_}{type} ne 'jsonb' } @{ $last->{key} }[ 1 .. $#{ $last->{key} } ];
	if (chance(0.3)) { $q->{items} = [ pick('count(*)', 'min(' . (key_of($a, $fact))[0] . ')') ]; return $q; }
	$q->{items} = [ key_of($a, $fact), map { shown(expression($a, $_), $_) } chance(0.5) ? splice(@shown, 0, between(0, 2)) : () ] if chance(0.7);
	if (chance(0.6))
	{
		my $direction = direction();
		$q->{order} = [ map { $_ . $direction } map({ expression($a, $_) } @rest), key_of($a, $fact) ];
		$q->{cmp} = 'list';
		$q->{limit} = between(1, 9) if chance(0.8);
	}
	return $q;
}

# by_element QUERY, FIELD: has a query unnest an array, and returns what is of its elements; or has it ask for rows with one
sub by_element
{
	my ($q, $field) = @_;
	my $f = $FIELD{$field};
	my ($name, $doc) = ($f->{path}[0], $q->{alias} eq '' ? 'doc' : "$q->{alias}.doc");
	my $cast = $f->{type} eq 'text' ? '' : "::$f->{type}";
	if (chance(0.4))
	{
		my ($v, $w) = map { JSON::PP->new->allow_nonref->encode(value_of($field)) } 1 .. 2;
		push @{ $q->{where} }, pick("$doc -> '$name' ? " . literal(value_of($field)), "$doc \@> '{\"$name\": [$v]}'", "$doc -> '$name' \@> '[$v]'", "$doc -> '$name' \@> '[$v, $w]'", "$doc \@> '{\"$name\": [$v], \"k\": \"a\"}'", "$doc -> '$name' \@> '$v'");
		return undef;
	}
	my $array = pick("$doc -> '$name'", "CASE jsonb_typeof($doc -> '$name') WHEN 'array' THEN $doc -> '$name' END", "CASE WHEN jsonb_typeof($doc -> '$name') = 'array' THEN $doc -> '$name' ELSE '[]' END");
	my $elements = $f->{sub} ? "jsonb_array_elements($array)" : "jsonb_array_elements_text($array)";
	if (chance(0.2) && !$f->{sub} && $q->{from} !~ /ONLY|TABLESAMPLE/) { return $elements . $cast; }
	$q->{from} .= pick(', ', ' CROSS JOIN ', ' JOIN LATERAL ', ', LATERAL ') . "$elements AS e";
	$q->{from} .= ' ON true' if $q->{from} =~ /JOIN LATERAL/;
	my $e = $f->{sub} ? "(e ->> '$f->{sub}')$cast" : "e$cast";
	if ($f->{sub} && chance(0.3)) { push @{ $q->{where} }, pick("e ->> 'name' ILIKE '%u%'", "e ->> 'name' = 'nut'", "(e ->> 'q')::int = 2", "(e ->> 'q')::int > 1 AND e ->> 'name' LIKE 'b%'"); }
	push @{ $q->{where} }, pick("$e = " . constant($field), "$e IS NOT NULL", "$e <> " . constant($field)) if chance(0.3);
	return $e;
}

sub distinct
{
	my ($fact, $i) = @_;
	my $q = simple($fact, $i);
	my $a = $q->{alias};
	feature('DISTINCT');
	return groups($q, $fact, $i) if chance(0.6);
	my @fields = grep { !$FIELD{$_}{multi} && $FIELD{$_}{type} ne 'jsonb' } @{ $i->{key} };
	@fields = ('k') if !@fields;
	if (chance(0.3))
	{
		my @e = map { expression($a, $_) } @fields;
		$q->{distinct} = 'DISTINCT ON (' . join(', ', @e) . ')';
		$q->{order} = [ @e, key_of($a, $fact) ];
		$q->{items} = [ key_of($a, $fact), @e ];
		$q->{cmp} = 'list';
		return $q;
	}
	$q->{distinct} = 'DISTINCT';
	$q->{items} = [ map { shown(expression($a, $_), $_) } @fields ];
	if (chance(0.4)) { $q->{order} = [ 1 .. @fields ]; $q->{cmp} = 'list'; $q->{limit} = between(1, 5) if chance(0.5); }
	return $q;
}

# groups QUERY, FACT, INDEX: of leading key fields that are not compared by =; perhaps only their ends have to be read
sub groups
{
	my ($q, $fact, $i) = @_;
	my $a = $q->{alias};
	my @key = grep { !$FIELD{$_}{multi} && $FIELD{$_}{type} ne 'jsonb' } @{ $i->{key} };
	@key = ('k') if !@key;
	my %e = map { $_ => expression($a, $_) } @key;
	feature('groups');
	$q->{where} = [ (chance(0.5) ? map { "$e{$_} IS NOT NULL" } @key[ 0 .. between(0, $#key) ] : ()), chance(0.2) ? @{ $q->{where} } : () ];
	push @{ $q->{where} }, $a eq '' ? $i->{filter} : $i->{filter} =~ s/\b(v|doc|note)\b(?!')/$a.$1/gr if defined $i->{filter};
	if (@key > 1 && chance(0.3)) { my $first = shift @key; push @{ $q->{where} }, "$e{$first} = " . constant($first); }
	push @{ $q->{where} }, compared($a, $key[0], pick('range', 'other')) if chance(0.3);
	my @by = splice @key, 0, between(1, 2);
	my @groups = map { $e{$_} } @by;
	my @shown = map { shown($e{$_}, $_) } @by;
	my ($next) = grep { $FIELD{$_}{type} ne 'boolean' } @key;
	my $of = sub { $next ? shown("$_[0]($e{$next})", $next) : "$_[0](" . (key_of($a, $fact))[0] . ')' };
	my $way = rand();
	$q->{items} = \@shown;
	if ($way < 0.3) { $q->{distinct} = 'DISTINCT'; }
	elsif ($way < 0.5)
	{
		my ($between, $within) = map { pick('', ' DESC') } 1 .. 2;
		$q->{distinct} = 'DISTINCT ON (' . join(', ', @groups) . ')';
		$q->{order} = [ (map { $_ . $between } @groups), map { $_ . $within } map({ $e{$_} } @key), key_of($a, $fact) ];
		$q->{items} = [ key_of($a, $fact), @shown, chance(0.3) ? $a eq '' ? 'note' : "$a.note" : () ];
		$q->{cmp} = 'list';
	}
	elsif ($way < 0.6) { $q->{items} = ["count(DISTINCT $groups[0])"]; }
	else
	{
		$q->{group} = \@groups;
		$q->{items} = [ @shown, map { $of->($_) } grep { chance(0.6) } qw(min max) ];
		if ($way < 0.7 && @groups > 1) { $q->{group} = [ $groups[0] ]; $q->{items} = [ $shown[0], "count(DISTINCT $groups[1])" ]; }
	}
	return $q;
}

sub window
{
	my ($fact, $i) = @_;
	my $q = simple($fact, $i);
	feature('window');
	my $a = $q->{alias};
	my @fields = grep { !$FIELD{$_}{multi} } @{ $i->{key} };
	my $e = @fields ? expression($a, pick(@fields)) : $a eq '' ? 'v' : "$a.v";
	my $key = join ', ', key_of($a, $fact);
	push @{ $q->{items} }, pick("row_number() OVER (ORDER BY $e, $key)", "count(*) OVER (PARTITION BY $e)", "rank() OVER (ORDER BY $e)", "lag(" . (key_of($a, $fact))[0] . ") OVER (PARTITION BY $e ORDER BY $key)", 'count(*) OVER ()');
	return $q;
}

# join_of WORLD: two fact tables, or one and a plain table
sub join_of
{
	my ($w, $fact, $i) = @_;
	my $other = pick(values %{ { map { $_ => $w->{facts}{$_} } 'f', 'g' } });
	$other = $w->{facts}{ pick('f', 'g') };
	my @where = aimed('x', $i);
	push @where, condition('x', $fact) if chance(0.3);
	my ($field) = grep { !$FIELD{$_}{multi} } shuffled(@{ $i->{key} });
	$field //= 'k';
	my $e = expression('x', $field);
	my %plain = ('text' => 'y.k', 'int' => 'y.i', 'numeric' => 'y.n', bigint => 'y.i', float8 => 'y.n');
	my ($right, $on, @key);
	if (chance(0.5) || $FIELD{$field}{type} !~ /^(text|int|numeric|bigint|float8)$/)
	{
		feature('join facts');
		my $j = pick(@{ $other->{indexes} });
		($right, @key) = ("$other->{name} y", key_of('y', $other));
		$on = chance(0.8) ? "$e = " . expression('y', $field) : "x.v = y.v AND $e = " . expression('y', $field);
		$on .= ' AND y.id < 30' if chance(0.7);
		push @where, aimed('y', $j) if chance(0.5);
	}
	else
	{
		feature('join plain');
		($right, @key) = ('p y', 'y.id');
		$on = chance(0.7) ? "$plain{$FIELD{$field}{type}} = $e" : "$e = " . ($FIELD{$field}{type} eq 'text' ? 'y.t' : $plain{ $FIELD{$field}{type} }) . ' AND y.id > 2';
	}
	my @items = (item('x', $fact, $i), key_of('x', $fact), @key);
	my $kind = pick('JOIN', 'JOIN', 'JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'comma', 'EXISTS', 'NOT EXISTS', 'IN', 'NOT IN', 'lateral', 'right facts');
	feature(lc $kind);
	my ($from, $inner) = ("$fact->{name} x", '');
	if ($kind =~ /EXISTS/) { push @where, "$kind (SELECT FROM $right WHERE $on)"; @items = grep { !/\by\./ } @items; @where = grep { !/\by\./ || /EXISTS/ } @where; }
	elsif ($kind =~ /IN$/ && $kind !~ /JOIN/)
	{
		my $yfield = $right =~ /^p/ ? $plain{ $FIELD{$field}{type} } : expression('y', $field);
		@where = grep { !/\by\./ } @where;
		push @where, "$e $kind (SELECT $yfield FROM $right" . ($right =~ /^p/ ? '' : " WHERE $yfield IS NOT NULL AND y.id < 40") . ')';
		@items = grep { !/\by\./ } @items;
	}
	elsif ($kind eq 'lateral')
	{
		$from .= pick(' CROSS JOIN', ' JOIN', ' LEFT JOIN') . " LATERAL (SELECT * FROM $right WHERE $on ORDER BY " . join(', ', @key) . ' LIMIT ' . between(1, 3) . ') y';
		$from .= ' ON true' if $from !~ /CROSS/;
	}
	elsif ($kind eq 'right facts') { $from = "$right LEFT JOIN $from ON $on" . (chance(0.5) ? ' AND ' . compared('x', pick(@{ $i->{key} })) : ''); @where = grep { !/\bx\./ } @where; }
	elsif ($kind eq 'comma') { $from .= ", $right"; push @where, $on; }
	else { $from .= " $kind $right ON $on"; }
	my $q = { items => \@items, from => $from, where => \@where, alias => 'x', cmp => 'set' };
	if (chance(0.2) && !grep { /\by\./ } @items) { $q->{items} = ['count(*)']; }
	elsif (chance(0.3)) { $q->{order} = [ shuffled(grep { /^[xy]\.\w+$/ } @items) ]; $q->{order} = [@items] if !@{ $q->{order} }; $q->{cmp} = 'list'; $q->{limit} = between(1, 9); feature('LIMIT'); }
	return $q;
}

# text_of a query within another
sub nested { my ($q) = @_; return '(' . render($q) . ')'; }

sub compound
{
	my ($w, $fact, $i) = @_;
	my $way = between(0, 5);
	my @keys = key_of('', $fact);
	my $plain = sub { my $q = simple($fact, $_[0] // $i); $q->{items} = [ $q->{alias} ? map({ "$q->{alias}.$_" } @keys) : @keys ]; return $q; };
	if ($way == 0)
	{
		feature('UNION');
		my $other = pick(@{ $fact->{indexes} });
		return { text => nested($plain->()) . ' ' . pick('UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'EXCEPT ALL') . ' ' . nested($plain->($other)), cmp => 'set' };
	}
	if ($way == 1)
	{
		feature('CTE');
		my $q = ordered(simple($fact, $i), $fact, $i);
		$q->{cmp} eq 'list' or delete $q->{limit};
		my @columns = map { "c$_" } 1 .. @{ $q->{items} };
		return { text => 'WITH c AS ' . pick('', 'MATERIALIZED ', 'NOT MATERIALIZED ') . nested($plain->()) . ' SELECT count(*), min(' . $keys[0] . ') FROM c' . pick('', ' UNION ALL SELECT count(*), max(' . $keys[0] . ') FROM c'), cmp => 'set' };
	}
	if ($way == 2) { feature('subquery'); my $q = aggregate($fact, $i); return { text => 'SELECT count(*) FROM ' . nested($q) . ' s', cmp => 'set' }; }
	if ($way == 3)
	{
		feature('view');
		my $view = pick('v_', 'w_') . $fact->{name};
		return { text => "SELECT id, r FROM $view" . ($view =~ /^v/ ? pick(" WHERE k = 'a'", " WHERE t = 'Genoa' AND k IS NOT NULL", " WHERE i = 2", " WHERE k > 'a' ORDER BY k, id, r LIMIT 4") : ' WHERE ' . compared('', pick(@{ $i->{key} }))), cmp => 'set' };
	}
	if ($way == 4)
	{
		feature('function');
		return { text => pick("SELECT k, count_$fact->{name}_{m}(k) FROM p", "SELECT k, vcount_$fact->{name}_{m}(k) FROM p", "SELECT id, r FROM rows_$fact->{name}_{m}('Genoa') WHERE doc ->> 'k' = 'a'", "SELECT pcount_$fact->{name}_{m}('a'), pcount_$fact->{name}_{m}('b')",
			"SELECT id FROM p WHERE count_$fact->{name}_{m}(p.k) > 2", "SELECT id, r FROM rows_$fact->{name}_{m}('Oslo') x WHERE (x.doc ->> 'i')::int = 2"), cmp => 'set', unexplained => 1 };
	}
	feature('subquery');
	my $inner = $plain->();
	my $outer = simple($fact, pick(@{ $fact->{indexes} }));
	my $dot = $outer->{alias} eq '' ? '' : "$outer->{alias}.";
	push @{ $outer->{where} }, '(' . join(', ', map { "$dot$_" } @keys) . ') ' . pick('IN ', 'NOT IN ') . nested($inner);
	return $outer;
}

# query WORLD: one
sub query
{
	my ($w) = @_;
	my $fact = $w->{facts}{ pick('f', 'f', 'g') };
	my $i = pick(@{ $fact->{indexes} });
	my ($array) = grep { $FIELD{ $_->{key}[0] }{multi} } shuffled(@{ $fact->{indexes} });
	my $way = rand();
	%features = ();
	my $q;
	if ($array && chance($w->{strings} ? 0.2 : 0.03)) { $q = facets($fact, $array); }
	elsif ($way < 0.13) { $q = simple($fact, chance(0.85) ? $i : undef); }
	elsif ($way < 0.27) { $q = several($fact); }
	elsif ($way < 0.42) { $q = ordered(simple($fact, $i), $fact, $i); }
	elsif ($way < 0.54) { $q = aggregate($fact, $i); }
	elsif ($way < 0.62) { $q = distinct($fact, $i); }
	elsif ($way < 0.66) { $q = window($fact, $i); }
	elsif ($way < 0.86) { $q = join_of($w, $fact, $i); }
	else { $q = compound($w, $fact, $i); }
	$q->{lock} = pick('FOR UPDATE', 'FOR SHARE', 'FOR KEY SHARE') if chance(0.02) && $q->{items} && !$q->{group} && !$q->{distinct} && !grep { /\(/ && /count|min|max|agg|sum|OVER|bool/ } @{ $q->{items} };
	$q->{fact} = $fact->{name};
	$q->{features} = [ features() ];
	return $q;
}

# render QUERY: its text
sub render
{
	my ($q) = @_;
	return $q->{text} if defined $q->{text};
	my $sql = 'SELECT ' . ($q->{distinct} ? "$q->{distinct} " : '') . join(', ', @{ $q->{items} }) . " FROM $q->{from}";
	$sql .= ' WHERE ' . join(' AND ', map { / (OR|AND) /i && !/^\(.*\)$/ ? "($_)" : $_ } @{ $q->{where} }) if @{ $q->{where} };
	$sql .= ' GROUP BY ' . ($q->{grouping} ? "$q->{grouping} (" . join(', ', @{ $q->{group} }) . ')' : join(', ', @{ $q->{group} })) if $q->{group} && @{ $q->{group} };
	$sql .= ' HAVING ' . join(' AND ', @{ $q->{having} }) if $q->{having} && @{ $q->{having} };
	$sql .= ' ORDER BY ' . join(', ', @{ $q->{order} }) if $q->{order} && @{ $q->{order} };
	$sql .= " LIMIT $q->{limit}" if defined $q->{limit};
	$sql .= " OFFSET $q->{offset}" if defined $q->{offset};
	$sql .= " $q->{lock}" if $q->{lock};
	return $sql;
}

# simpler QUERY: others with one part less
sub simpler
{
	my ($q) = @_;
	my @simpler;
	return () if defined $q->{text};
	for my $part (qw(having limit offset lock grouping)) { push @simpler, { %$q, $part => undef } if defined $q->{$part}; }
	if ($q->{order} && !defined $q->{limit} && !$q->{distinct}) { push @simpler, { %$q, order => undef, cmp => 'set' }; }
	for my $part (qw(where items))
	{
		next if $part eq 'items' && $q->{cmp} =~ /keys/;
		my @all = @{ $q->{$part} };
		next if $part eq 'items' && @all < 2;
		for my $drop (0 .. $#all) { push @simpler, { %$q, $part => [ map { $all[$_] } grep { $_ != $drop } 0 .. $#all ] }; }
	}
	push @simpler, { %$q, items => ['count(*)'] } if $q->{cmp} eq 'set' && !$q->{group} && !$q->{distinct} && "@{ $q->{items} }" ne 'count(*)' && !$q->{order};
	return @simpler;
}

1;
