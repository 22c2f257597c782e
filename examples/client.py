#!/usr/bin/python3
"""Imports articles, one JSON document a line, and prints which authors wrote how many; by psycopg 3.

    psql -f schema.sql && ./client.py FILE

A line is {"slug": "a-1", "title": "Article 1", "author": "Ann", "tags": ["red"], "published": "2026-01-11"}.  The usual variables
(PGHOST, PGDATABASE, ...) say where the database is.

Works through pgbouncer in transaction mode, too: nothing here outlives a transaction.
"""
import json
import sys

import psycopg
from psycopg.types.json import Jsonb

BATCH = 500


def batches(lines, size):
    batch = []
    for line in lines:
        batch.append(json.loads(line))
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def known(conn, documents):
    """Returns the ids of the articles that are there, by slug: one look-up for all of them."""
    keys = Jsonb([{"slug": document["slug"]} for document in documents])
    rows = conn.execute("SELECT id, doc ->> 'slug' FROM indextable.lookup(NULL::article, 'article_by_slug', %s)", [keys])
    return {slug: article for article, slug in rows}


def import_batch(conn, documents):
    """Adds articles or replaces those that have the slug.  Begins anew if somebody else wrote some of them meanwhile."""
    documents = list({document["slug"]: document for document in documents}.values())
    while True:
        try:
            # One statement for all rows: index tables then write the entries of all of them together.
            with conn.transaction():
                there = known(conn, documents)
                old = [d for d in documents if d["slug"] in there]
                new = [d for d in documents if d["slug"] not in there]
                conn.execute("UPDATE article SET doc = new.doc FROM unnest(%s::bigint[], %s::jsonb[]) AS new (id, doc) WHERE article.id = new.id",
                             [[there[d["slug"]] for d in old], [Jsonb(d) for d in old]])
                conn.execute("INSERT INTO article (doc) SELECT unnest(%s::jsonb[])", [[Jsonb(d) for d in new]])
            return
        except psycopg.errors.DeadlockDetected:
            pass
        except psycopg.errors.UniqueViolation as error:
            if error.diag.constraint_name != "article_by_slug":
                raise


def main(path):
    # pgbouncer before 1.21 does not know prepared statements, so none are made.
    with psycopg.connect("", autocommit=True, prepare_threshold=None) as conn, open(path, encoding="utf-8") as lines:
        for documents in batches(lines, BATCH):
            import_batch(conn, documents)

        # The list by author is asynchronous: this waits until it has what was committed above.
        conn.execute("SELECT indextable.wait('article_by_author', '10 minutes')")
        for author, articles in conn.execute("SELECT author, count(*) FROM article_by_author GROUP BY author ORDER BY author"):
            print(author, articles)


if __name__ == "__main__":
    main(sys.argv[1])
