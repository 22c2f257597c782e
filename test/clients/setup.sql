-- The documents that the libraries are run on, and an index table for each of their fields. "others" are documents that all casts
-- accept, but that have values of other JSON types, or lack them.
CREATE EXTENSION indextable;
SET indextable.advice = off;
CREATE TABLE person (id int PRIMARY KEY, doc jsonb NOT NULL);
CREATE TABLE town (id int PRIMARY KEY, name text NOT NULL);
INSERT INTO town SELECT i, 'Town ' || i FROM generate_series(1, 20) i;
INSERT INTO person
SELECT i, jsonb_build_object('town', 'Town ' || i % 300, 'name', 'Name ' || i, 'age', i % 90, 'ok', i % 97 = 0, 'born', date '1970-01-01' + i % 4000,
	'uid', md5((i % 500)::text)::uuid, 'address', jsonb_build_object('city', 'City ' || i % 300, 'zip', i), 'tags', jsonb_build_array('t' || i % 50, 'all'),
	'nums', jsonb_build_array(i % 100, i % 7), 'lines', jsonb_build_array(jsonb_build_object('name', 'L' || i % 200, 'qty', i % 5),
	jsonb_build_object('name', 'L' || i % 11, 'qty', i % 3)))
FROM generate_series(1, 10000) i;
\if :others
INSERT INTO person SELECT 10000 + row_number() OVER (), doc::jsonb FROM (VALUES
	('{}'), ('{"town": null, "age": null, "ok": null, "born": null, "uid": null, "address": null, "tags": null, "nums": null, "lines": null}'),
	('{"town": 7, "age": "30", "ok": "true"}'), ('{"town": "7", "age": " 30 ", "ok": "t"}'), ('{"town": true, "age": "+30", "ok": "yes"}'),
	('{"town": "true", "age": "030", "ok": "off"}'), ('{"town": {"x": 1}, "age": -0, "ok": "0"}'), ('{"town": ["Town 7"], "age": 2147483647, "ok": "1"}'),
	('{"town": ""}'), ('{"town": "TOWN 7"}'), ('{"town": "\"Town 7\""}'), ('{"town": "Town 7", "age": 30}'), ('{"town": "Täwn 7"}'),
	('{"address": {"city": null}}'), ('{"address": "City 7"}'), ('{"address": {"city": {"City 7": 1}}}'), ('{"address": {"city": ["City 7"]}}'), ('{"address": ["City 7"]}'),
	('{"tags": [], "nums": [], "lines": []}'), ('{"tags": ["t7", "t7", "t8"], "nums": [7, "7", " 7 ", null]}'), ('{"tags": [7, "7", null, true, ["t7"], {"t7": 1}]}'),
	('{"lines": [{"name": null}, {"name": "L7"}, {"name": "L7"}]}'), ('{"lines": [{"name": ["L7"]}, {}]}'), ('{"lines": [{"name": {"L7": 1}}]}'),
	('{"lines": [{"name": "L7", "qty": 3}, {"name": "L8", "qty": 2}]}'), ('{"lines": [{"name": "L7", "qty": "2"}, {"name": "L7", "qty": " 2 "}]}'),
	('{"lines": [{"name": "L7"}, {"qty": 2}]}'), ('{"lines": {"name": "L7", "qty": 2}}'),
	('{"born": "1970-01-08T23:30:00+05:00"}'), ('{"born": " 1970-01-08 "}'), ('{"uid": "{8F14E45F-CEEA-167A-5A36-DEDD4BEA2543}"}')) d (doc);
\endif
SELECT indextable.create('person_' || name, 'person', key) FROM (VALUES ('town', ARRAY['town COLLATE "C"']), ('age', '{age::int}'), ('ok', '{ok::boolean}'),
	('born', '{born::date}'), ('uid', '{uid::uuid}'), ('city', '{address.city}'), ('tag', '{tags[*]}'), ('num', '{nums[*]::int}'),
	('line', '{lines[*].name, lines[*].qty::int}')) f (name, key);
-- A user's own indexes, for ILIKE, and for what Django sends in its place
CREATE EXTENSION pg_trgm;
CREATE INDEX ON person_town USING gin (upper(town COLLATE "default") gin_trgm_ops);
CREATE INDEX ON person_town USING gin (town COLLATE "default" gin_trgm_ops);
VACUUM ANALYZE;
