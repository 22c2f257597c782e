-- The pattern's first example: customers are kept by id, and looked up by town,
-- and by town and last name, in the three strategies.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA customers;
SET search_path = customers;

CREATE TABLE customer (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO customer VALUES
	(1, '{"lastname": "Smith", "town": "Redmond",  "phone": "555-0101", "address": {"street": "1 Oak"}}'),
	(2, '{"lastname": "Jones", "town": "Seattle",  "phone": "555-0102"}'),
	(3, '{"lastname": "Brown", "town": "Portland", "phone": "555-0103"}'),
	(4, '{"lastname": "Clarke","town": "Redmond",  "phone": "555-0104"}'),
	(5, '{"lastname": "Jones", "town": "Portland"}'),
	(6, '{"lastname": "Smith", "town": "Redmond",  "phone": null}'),
	(7, '{"lastname": "Nowhere"}'),
	(8, '{"town": "Chicago"}'),
	(9, '{"lastname": "Null", "town": null}');

-- normalized: town to primary key
SELECT indextable.create('by_town', 'customer', '{town}') \gset
\d by_town
TABLE by_town;

-- partial: with the fields that are read most
SELECT indextable.create('by_town_partial', 'customer', '{town}', include => '{lastname, phone}') \gset
\d by_town_partial
TABLE by_town_partial;

-- denormalized: with the whole document
SELECT indextable.create('by_town_full', 'customer', '{town}', 'denormalized') \gset
\d by_town_full
SELECT town, id, doc ->> 'lastname' AS lastname FROM by_town_full;

-- town and last name, in the three strategies
SELECT indextable.create('by_name', 'customer', '{town, lastname}') \gset
SELECT indextable.create('by_name_partial', 'customer', '{town, lastname}', 'partial', '{phone, address.street}', sparse => true) \gset
SELECT indextable.create('by_name_full', 'customer', '{town, lastname}', strategy => 'denormalized') \gset
\d by_name_partial
TABLE by_name;
TABLE by_name_partial;

-- what there is
SELECT index_table, fact_table, state, strategy, maintenance, key, include, filter,
       is_unique, partitions, on_mismatch, document, skipped
FROM indextable.index_tables JOIN indextable.index_table_stats USING (index_table, fact_table) ORDER BY index_table::text COLLATE "C";

-- look-ups: documents, and rows
SELECT d ->> 'lastname' AS lastname, d ->> 'phone' AS phone
FROM indextable.lookup('by_town', '{"town": "Redmond"}') d;
SELECT (indextable.lookup(NULL::customer, 'by_town', '{"town": "Redmond"}')).id;
SELECT id, doc ->> 'lastname' AS lastname
FROM indextable.lookup(NULL::customer, 'by_name', '{"town": "Portland", "lastname": "Jones"}');
-- by the leading field alone: in the order of the index table
SELECT id, doc ->> 'lastname' AS lastname
FROM indextable.lookup(NULL::customer, 'by_name', '{"town": "Redmond"}');
SELECT d FROM indextable.lookup('by_name_full', '{"town": "Redmond", "lastname": "Smith"}') d;
SELECT d FROM indextable.lookup('by_name_partial', '{"town": "Nowhere"}') d;

-- an insert, an update of each kind of field, a delete
INSERT INTO customer VALUES (10, '{"lastname": "Adams", "town": "Redmond", "phone": "555-0110"}');
UPDATE customer SET doc = jsonb_set(doc, '{town}', '"Tacoma"') WHERE id = 1;     -- key
UPDATE customer SET doc = jsonb_set(doc, '{phone}', '"555-9999"') WHERE id = 2;  -- included
UPDATE customer SET doc = jsonb_set(doc, '{vip}', 'true', true) WHERE id = 3;    -- neither
UPDATE customer SET doc = doc - 'town' WHERE id = 4;                             -- leaves
UPDATE customer SET doc = doc || '{"town": "Chicago"}' WHERE id = 7;             -- comes
DELETE FROM customer WHERE id = 5;
SELECT * FROM by_town ORDER BY 1, 2;
SELECT * FROM by_town_partial ORDER BY 1, 2;
SELECT * FROM by_name ORDER BY 1, 2, 3;
SELECT town, id, doc ->> 'vip' AS vip FROM by_town_full WHERE town = 'Portland';
SELECT id FROM indextable.lookup(NULL::customer, 'by_town', '{"town": "Redmond"}');
SELECT count(*) FROM indextable.lookup('by_name', '{"town": "Portland", "lastname": "Jones"}');
SELECT d FROM indextable.lookup('by_name_full', '{"town": "Tacoma", "lastname": "Smith"}') d;

-- the oracle
CALL pg_temp.compare('by_town',
	$$SELECT doc #>> '{town}', id FROM customer$$);
CALL pg_temp.compare('by_town_partial',
	$$SELECT doc #>> '{town}', id, doc #>> '{lastname}', doc #>> '{phone}'
	  FROM customer$$);
CALL pg_temp.compare('by_town_full',
	$$SELECT doc #>> '{town}', id, doc FROM customer$$);
CALL pg_temp.compare('by_name',
	$$SELECT doc #>> '{town}', doc #>> '{lastname}', id FROM customer$$);
CALL pg_temp.compare('by_name_partial',
	$$SELECT doc #>> '{town}', doc #>> '{lastname}', id, doc #>> '{phone}', doc #>> '{address,street}' FROM customer
	  WHERE doc #>> '{town}' IS NOT NULL AND doc #>> '{lastname}' IS NOT NULL$$);
CALL pg_temp.compare('by_name_full',
	$$SELECT doc #>> '{town}', doc #>> '{lastname}', id, doc FROM customer$$);

SET client_min_messages = warning;
DROP SCHEMA customers CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
