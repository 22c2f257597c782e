-- How many partitions a command locks of a fact table with 50 partitions, and of an index table with 50 and a default one: those
-- that it reads or writes.
SET client_min_messages = warning;
SET indextable.advice = off;
CREATE SCHEMA locks;
SET search_path = locks;
CREATE TABLE p (d int, id int, doc jsonb, PRIMARY KEY (d, id)) PARTITION BY RANGE (d);
DO $$ BEGIN FOR i IN 0..49 LOOP EXECUTE format('CREATE TABLE p_%s PARTITION OF p FOR VALUES FROM (%s) TO (%s)', i, i * 10, i * 10 + 10); END LOOP; END $$;
INSERT INTO p SELECT g, 1, jsonb_build_object('u', 'u' || g) FROM generate_series(0, 499) g;
SELECT indextable.create('whole', 'p', '{u}'), indextable.create('later', 'p', '{u}', maintenance => 'async'),
	indextable.create('parts', 'p', '{@d, u}', partition_by => 'RANGE (d)',
					  partition_bounds => (SELECT array_agg(format('FROM (%s) TO (%s)', i * 10, i * 10 + 10)) FROM generate_series(0, 49) i));
CREATE VIEW locked AS
	SELECT count(DISTINCT c.oid) FILTER (WHERE relname ~ '^p_') AS fact_partitions, count(DISTINCT c.oid) FILTER (WHERE relname ~ '^parts_') AS index_partitions
	FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
	WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND c.relnamespace = 'locks'::regnamespace AND c.relkind = 'r';
CREATE PROCEDURE locked_by(command text) LANGUAGE plpgsql AS $$
DECLARE l record;
BEGIN
	COMMIT;
	EXECUTE command;
	SELECT * INTO l FROM locked;
	RAISE WARNING '%: % of the fact table, % of the index table', command, l.fact_partitions, l.index_partitions;
	ROLLBACK;
END $$;
\set VERBOSITY terse
-- a row
CALL locked_by($$INSERT INTO p VALUES (5, 2, '{"u": "x"}')$$);
CALL locked_by($$UPDATE p SET doc = '{"u": "y"}' WHERE d = 5 AND id = 1$$);
CALL locked_by($$UPDATE p SET doc = doc || '{"other": 1}' WHERE d = 5 AND id = 1$$);
CALL locked_by($$DELETE FROM p WHERE d = 5 AND id = 1$$);
CALL locked_by($$SELECT * FROM indextable.lookup('whole', '{"u": "u5"}')$$);
CALL locked_by($$SELECT * FROM indextable.lookup('parts', '{"d": 5}')$$);
CALL locked_by($$SET LOCAL indextable.planner = force; SELECT count(*) FROM p WHERE doc ->> 'u' = 'u5' AND doc ->> 'n' IS NULL$$);
-- one row in each of ten partitions
CALL locked_by($$UPDATE p SET doc = '{"u": "y"}' WHERE d % 10 = 1 AND d < 100$$);
-- a partition that is emptied, leaves, or comes
CALL locked_by($$TRUNCATE p_9$$);
CALL locked_by($$DROP TABLE p_9$$);
CALL locked_by($$ALTER TABLE p DETACH PARTITION p_9$$);
CALL locked_by($$CREATE TABLE p_50 PARTITION OF p FOR VALUES FROM (500) TO (510)$$);
CALL locked_by($$CREATE TABLE p_late (LIKE p INCLUDING ALL); ALTER TABLE p ATTACH PARTITION p_late FOR VALUES FROM (500) TO (510)$$);
-- what concerns all partitions
CALL locked_by($$SELECT indextable.verify('parts')$$);
CALL locked_by($$TRUNCATE p$$);
DROP TABLE p;
DROP SCHEMA locks CASCADE;
