-- the floor: a row trigger in C that does the least to keep the entries: see floor/floor.c
CREATE TABLE bench.by_mark (marks text, id bigint, PRIMARY KEY (marks, id));
CREATE FUNCTION bench.keep() RETURNS trigger LANGUAGE c AS :'floor', 'keep';
CREATE TRIGGER keep AFTER INSERT OR UPDATE OR DELETE ON bench.fact FOR EACH ROW EXECUTE FUNCTION bench.keep('bench.by_mark', 'marks');
