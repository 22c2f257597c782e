-- Upgrade script of indextable, from 1.1 to 1.2.  A table, a function or a view that changes here also changes in the
-- install script of 1.2: what both make is the same.

\echo Use "ALTER EXTENSION indextable UPDATE TO '1.2'" to load this file. \quit

-- Operators and functions of others in the schema of the extension are not to be taken for the server's own.
SET LOCAL search_path = pg_catalog, pg_temp;
