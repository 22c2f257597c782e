-- Called by 5-changes.sql: what each index table has to hold, as plain SQL over the documents.
-- It shares nothing with the extension's upkeep; check_index_tables() compares the two.

CREATE VIEW recompute_pkg_by_section AS
SELECT (doc #>> '{section}') COLLATE "C" AS section, id
  FROM package;

CREATE VIEW recompute_pkg_by_size AS
SELECT (doc #>> '{section}') COLLATE "C" AS section, (doc #>> '{installed_size}')::int AS installed_size, id
  FROM package;

CREATE VIEW recompute_pkg_by_depends AS
SELECT needed COLLATE "C" AS depends, id, count(*)::int AS elements
  FROM package, jsonb_array_elements_text(doc->'depends') AS needed
 GROUP BY 1, 2;

CREATE VIEW recompute_pkg_listing AS
SELECT (doc #>> '{section}') COLLATE "C" AS section, (doc #>> '{name}') COLLATE "C" AS name, id,
       doc #>> '{version}' AS version, (doc #>> '{installed_size}')::int AS installed_size,
       doc #>> '{maintainer,name}' AS maintainer
  FROM package;

-- The asynchronous ones of 8-async.sql.

CREATE VIEW recompute_pkg_by_tag AS
SELECT tag COLLATE "C" AS tag, id, count(*)::int AS elements
  FROM package, jsonb_array_elements_text(doc->'tags') AS tag
 GROUP BY 1, 2;

CREATE VIEW recompute_pkg_by_source AS
SELECT (doc #>> '{source}') COLLATE "C" AS source, id
  FROM package;

CREATE VIEW recompute_pkg_by_state AS
SELECT (doc #>> '{state}') COLLATE "C" AS state, (doc #>> '{name}') COLLATE "C" AS name, id,
       doc #>> '{version}' AS version
  FROM package;
