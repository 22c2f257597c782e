-- Makes documents like those of the Bluesky events that JSONBench loads: the same one for the same number and seed.
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS jsonbench, heap, expression, columns, entries CASCADE;
CREATE SCHEMA jsonbench;
CREATE SCHEMA heap;
CREATE SCHEMA expression;
CREATE SCHEMA columns;
CREATE SCHEMA entries;
CREATE EXTENSION IF NOT EXISTS indextable;

CREATE FUNCTION jsonbench.cpu_ns() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT split_part(pg_catalog.pg_read_file('/proc/self/schedstat'), ' ', 1)::bigint $$;

-- share: of what number of events, as counted in the first million; users: how many there are to pick from
CREATE TABLE jsonbench.kinds (upto float8, collection text, operation text, users int);
INSERT INTO jsonbench.kinds SELECT sum(n) OVER (ORDER BY n DESC, collection, operation) / sum(n) OVER ()::float8, collection, operation, users FROM (VALUES
	('app.bsky.feed.like', 'create', 444523, 130000), ('app.bsky.feed.like', 'delete', 4421, 130000),
	('app.bsky.graph.follow', 'create', 337978, 70000), ('app.bsky.graph.follow', 'delete', 22396, 70000),
	('app.bsky.feed.post', 'create', 86812, 80000), ('app.bsky.feed.post', 'delete', 4004, 80000),
	('app.bsky.feed.repost', 'create', 56993, 40000), ('app.bsky.feed.repost', 'delete', 1547, 40000),
	('app.bsky.graph.block', 'create', 13838, 7000), ('app.bsky.graph.block', 'delete', 202, 7000),
	('app.bsky.actor.profile', 'update', 6425, 130000), ('app.bsky.actor.profile', 'create', 5337, 130000),
	('app.bsky.graph.listitem', 'create', 7568, 1100), ('app.bsky.graph.listitem', 'delete', 535, 1100),
	(NULL, NULL, 5328, 130000),
	('app.bsky.graph.listblock', 'create', 860, 500), ('app.bsky.graph.listblock', 'delete', 35, 500),
	('app.bsky.graph.starterpack', 'update', 301, 300), ('app.bsky.graph.starterpack', 'create', 104, 300),
	('app.bsky.graph.list', 'create', 259, 300), ('app.bsky.graph.list', 'update', 97, 300),
	('app.bsky.feed.threadgate', 'create', 228, 300), ('app.bsky.feed.threadgate', 'delete', 27, 300),
	('app.bsky.feed.postgate', 'create', 101, 100), ('app.bsky.feed.postgate', 'update', 3, 100),
	('app.bsky.feed.generator', 'update', 64, 40), ('app.bsky.feed.generator', 'create', 10, 40),
	('app.bsky.labeler.service', 'update', 4, 4)) AS k (collection, operation, n, users);

-- random(): the number-th from 0 to 1 of an event
CREATE FUNCTION jsonbench.random(event bigint, number int) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT (hashint8extended(event, number) & 1073741823) / 1073741824.0 $$;

-- key(): so many letters and digits
CREATE FUNCTION jsonbench.key(seed text, length int) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT left(translate(md5(seed) || md5(seed || '+'), '0189', 'wxyz'), length) $$;

-- events(): the documents from number "first" on. Few users of each collection do most in it.
CREATE FUNCTION jsonbench.events(first bigint, n bigint, seed bigint) RETURNS TABLE (data jsonb) LANGUAGE sql STABLE PARALLEL SAFE AS $$
	SELECT jsonb_build_object('did', 'did:plc:' || jsonbench.key('user ' || (k.users * jsonbench.random(i, 2) ^ 2)::int, 24),
			'time_us', 1732206349000000 + i * 813 + (800 * jsonbench.random(i, 3))::int) ||
		CASE WHEN k.collection IS NULL THEN jsonb_build_object('kind', CASE WHEN jsonbench.random(i, 4) < 0.7 THEN 'identity' ELSE 'account' END,
				CASE WHEN jsonbench.random(i, 4) < 0.7 THEN 'identity' ELSE 'account' END, jsonb_build_object('seq', 3400000000 + i, 'time', '2024-11-21T16:25:49.000Z'))
			ELSE jsonb_build_object('kind', 'commit', 'commit', jsonb_strip_nulls(jsonb_build_object('rev', jsonbench.key('rev ' || i, 13), 'operation', k.operation,
				'collection', k.collection, 'rkey', jsonbench.key('rkey ' || i, 13), 'cid', CASE WHEN k.operation <> 'delete' THEN 'bafyrei' || jsonbench.key('cid ' || i, 52) END,
				'record', CASE WHEN k.operation = 'delete' THEN NULL WHEN k.collection IN ('app.bsky.feed.like', 'app.bsky.feed.repost') THEN
					jsonb_build_object('$type', k.collection, 'createdAt', '2024-11-21T16:25:46.221Z', 'subject', jsonb_build_object('cid', 'bafyrei' || jsonbench.key('post ' || i, 52),
						'uri', 'at://did:plc:' || jsonbench.key('author ' || i, 24) || '/app.bsky.feed.post/' || jsonbench.key('of ' || i, 13)))
					WHEN k.collection = 'app.bsky.feed.post' THEN
					jsonb_build_object('$type', k.collection, 'createdAt', '2024-11-21T16:25:46.221Z', 'langs', jsonb_build_array(CASE WHEN jsonbench.random(i, 5) < 0.6 THEN 'en' ELSE 'pt' END),
						'text', repeat('some words of a post ', (14 * jsonbench.random(i, 6))::int), 'reply', CASE WHEN jsonbench.random(i, 7) < 0.5 THEN
							jsonb_build_object('root', jsonb_build_object('cid', 'bafyrei' || jsonbench.key('root ' || i, 52), 'uri', 'at://did:plc:' || jsonbench.key('top ' || i, 24) || '/app.bsky.feed.post/' || jsonbench.key('in ' || i, 13))) END)
					ELSE jsonb_build_object('$type', k.collection, 'createdAt', '2024-11-21T16:25:46.221Z', 'subject', 'did:plc:' || jsonbench.key('object ' || i, 24)) END))) END
	FROM (SELECT i + seed * 1000000007 AS i, jsonbench.random(i + seed * 1000000007, 1) AS r FROM generate_series(first, first + n - 1) i) e
		CROSS JOIN LATERAL (SELECT k.* FROM jsonbench.kinds k WHERE k.upto > e.r ORDER BY upto LIMIT 1) k
$$;
