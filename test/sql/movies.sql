-- The pattern's second example: movies are kept by genre, and looked up by
-- actor, with the other actors' names duplicated.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA movies;
SET search_path = movies;

CREATE TABLE movie (genre text, name text, doc jsonb NOT NULL, PRIMARY KEY (genre, name));
INSERT INTO movie VALUES
	('Action',    'Fast Train',  '{"title": "Fast Train",  "year": 1999, "starring": ["Ann Ash", "Bob Birch"]}'),
	('Action',    'Slow Boat',   '{"title": "Slow Boat",   "year": 2001, "starring": ["Cy Cedar"]}'),
	('Comedy',    'Banana',      '{"title": "Banana",      "year": 2001, "starring": ["Bob Birch", "Ann Ash", "Di Date"]}'),
	('Comedy',    'Pie',         '{"title": "Pie",         "year": 2010, "starring": []}'),
	('Drama',     'Rain',        '{"title": "Rain",        "year": 2010, "starring": "Ann Ash"}'),
	('Drama',     'Narrator',    '{"title": "Narrator",    "year": 2011, "starring": ["Ann Ash", null, "Ann Ash"]}'),
	('Animation', 'Frog',        '{"title": "Frog",        "year": 2012}');

SELECT indextable.create('by_actor', 'movie', '{starring[*] AS actor}',
                         include => '{starring::jsonb, title, year::int}') \gset
\d by_actor
TABLE by_actor;

-- the movies of an actor, with the others in it, without touching the documents
SELECT title, year, starring FROM by_actor WHERE actor = 'Ann Ash' ORDER BY year;
-- and the documents
SELECT d ->> 'title' AS title FROM indextable.lookup('by_actor', '{"actor": "Bob Birch"}') d;
SELECT genre, name FROM indextable.lookup(NULL::movie, 'by_actor', '{"actor": "Ann Ash"}');

-- by actor and year, in order, and as a copy
SELECT indextable.create('by_actor_year', 'movie', '{starring[*] AS actor, year::int}', 'denormalized') \gset
SELECT actor, year, genre, name, doc ->> 'title' AS title FROM by_actor_year;
SELECT d ->> 'title' AS title FROM indextable.lookup('by_actor_year', '{"actor": "Ann Ash"}') d;
SELECT d ->> 'title' AS title FROM indextable.lookup('by_actor_year', '{"actor": "Ann Ash", "year": 2010}') d;

-- by year and actor: every movie of a year comes once
SELECT indextable.create('by_year_actor', 'movie', '{year::int, starring[*] AS actor}') \gset
SELECT name FROM indextable.lookup(NULL::movie, 'by_year_actor', '{"year": 2001}');

-- new movie; an actor joins; one is replaced; a movie changes its genre, which is its key; one goes
INSERT INTO movie VALUES ('Drama', 'Snow', '{"title": "Snow", "year": 2013, "starring": ["Di Date", "Cy Cedar"]}');
UPDATE movie SET doc = jsonb_insert(doc, '{starring,-1}', '"Eve Elm"', true) WHERE name = 'Slow Boat';
UPDATE movie SET doc = jsonb_set(doc, '{starring,1}', '"Eve Elm"') WHERE name = 'Fast Train';
UPDATE movie SET genre = 'Tragedy' WHERE name = 'Banana';
DELETE FROM movie WHERE name = 'Rain';
SELECT * FROM by_actor ORDER BY 1, 2, 3;
SELECT name FROM indextable.lookup(NULL::movie, 'by_actor', '{"actor": "Eve Elm"}');
SELECT genre, name FROM indextable.lookup(NULL::movie, 'by_actor', '{"actor": "Di Date"}');
SELECT count(*) FROM indextable.lookup('by_actor_year', '{"actor": "Ann Ash", "year": 2010}');

-- the oracle
CREATE VIEW actor AS
	SELECT m.genre, m.name, m.doc, actor #>> '{}' AS actor
	FROM movie m, jsonb_array_elements(CASE jsonb_typeof(doc -> 'starring')
		WHEN 'array' THEN doc -> 'starring' ELSE jsonb_build_array(doc -> 'starring') END) actor
	WHERE jsonb_typeof(doc -> 'starring') = 'array' OR actor #>> '{}' IS NOT NULL;
CALL pg_temp.compare('by_actor',
	$$SELECT actor, genre, name, doc #> '{starring}', doc #>> '{title}', (doc #>> '{year}')::int FROM actor$$);
CALL pg_temp.compare('by_actor_year',
	$$SELECT actor, (doc #>> '{year}')::int, genre, name, doc FROM actor$$);
CALL pg_temp.compare('by_year_actor',
	$$SELECT (doc #>> '{year}')::int, actor, genre, name FROM actor$$);

SET client_min_messages = warning;
DROP SCHEMA movies CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
