-- Events of the last 30 days: pg_partman makes a partition for each day and drops old ones, pg_cron calls it, and one index table
-- serves all partitions.  pg_cron is preloaded (shared_preload_libraries = 'indextable, pg_cron').
--
--   psql -d postgres -f retention.sql    as a superuser, in the database that cron.database_name names
--
CREATE SCHEMA IF NOT EXISTS partman;
CREATE EXTENSION IF NOT EXISTS pg_partman SCHEMA partman;
CREATE EXTENSION IF NOT EXISTS pg_cron;
CREATE EXTENSION IF NOT EXISTS indextable;

CREATE TABLE event (
    created timestamptz NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    doc jsonb NOT NULL,
    PRIMARY KEY (created, id)
) PARTITION BY RANGE (created);

SELECT indextable.create('event_by_user', 'event', '{user, kind}', if_not_exists => true);

SELECT partman.create_parent('public.event', 'created', 'native', 'daily', p_premake => 7,
                             p_start_partition => (current_date - 40)::text);
UPDATE partman.part_config SET retention = '30 days', retention_keep_table = false, infinite_time_partitions = true
WHERE parent_table = 'public.event';

SELECT cron.schedule('event partitions', '*/30 * * * *', 'CALL partman.run_maintenance_proc()');
