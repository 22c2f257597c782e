\set ON_ERROR_STOP on
CREATE EXTENSION indextable;
CREATE TABLE customer (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('customer_by_town', 'customer', '{town}');
INSERT INTO customer VALUES (1, '{"town": "Redmond"}');
SELECT 'indextable works' AS answer FROM indextable.lookup('customer_by_town', '{"town": "Redmond"}');
