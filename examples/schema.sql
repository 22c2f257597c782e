-- Articles are JSON documents. Their lists by tag are ordered by date, and no two of them have the same slug.
-- The script can be run again, as migrations are: psql -f schema.sql
CREATE EXTENSION IF NOT EXISTS indextable;

CREATE TABLE IF NOT EXISTS article (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, doc jsonb NOT NULL);

SELECT indextable.create('article_by_tag', 'article', '{tags[*] AS tag, published::date}', include => '{title, slug}', if_not_exists => true);
SELECT indextable.create('article_by_slug', 'article', '{slug}', is_unique => true, if_not_exists => true);

-- Reports may be behind, so that writers do not wait for them.
SELECT indextable.create('article_by_author', 'article', '{author, published::date}', maintenance => 'async', if_not_exists => true);
