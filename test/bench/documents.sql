-- The documents that the benchmark writes and reads: customers, as JSON text, sized by a nested order history.
-- Called once by bench.sh, in an empty schema "bench_data". Every value is a hash of the id, so that a document can be made again.

-- how far the backend that asks has come on a CPU, in ns
CREATE FUNCTION bench_data.cpu_ns() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT split_part(pg_catalog.pg_read_file('/proc/self/schedstat'), ' ', 1)::bigint $$;

-- one row a pgbench transaction: the CPU time before and after it, and whose turn it was where several take turns
CREATE UNLOGGED TABLE bench_data.cpu (transaction int, before_ns bigint, after_ns bigint, turn int);

-- an even but scattered number in 0 .. among-1
CREATE FUNCTION bench_data.pick(id bigint, salt int, among int) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ((hashint8extended(id, salt) & 2147483647) % among)::int $$;

-- 10,000 towns: Ashbyton, Ashbyford, …
CREATE FUNCTION bench_data.town(no int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT ('[0:24]={Ash,Beck,Bright,Cold,Cran,Dun,East,Elm,Fair,Glen,Hart,High,Kings,Lang,Mill,New,North,Oak,Rock,Stan,Thorn,Upper,West,White,Wood}'::text[])[no % 25]
       || ('[0:19]={bridge,bury,by,cliff,combe,dale,den,field,gate,ham,haven,hurst,leigh,low,mere,minster,moor,stead,wick,worth}'::text[])[no / 25 % 20]
       || ('[0:19]={"",-on-Sea," Abbey"," Bay"," Common"," Cross"," End"," Fields"," Green"," Heath"," Hill"," Hythe"," Junction"," Major"," Minor"," Park"," Regis"," St Mary"," Vale"," Wells"}'::text[])[no / 500 % 20] $$;

CREATE FUNCTION bench_data.email(id bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT ('[0:7]={ana,bo,chen,dora,emil,fatima,george,hana}'::text[])[bench_data.pick(id, 2, 8)] || id || '@example.com' $$;

CREATE FUNCTION bench_data.document(id bigint, towns int, orders int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT format('{"id": %s, "name": "%s %s", "town": "%s", "email": "%s", "street": "%s %s", "phone": "+44 %s %s", "balance": %s.%s, "tags": ["%s", "%s"], '
           '"address": {"zip": "%s", "country": "GB", "floor": null}, "history": [',
         id,
         ('[0:7]={Ana,Bo,Chen,Dora,Emil,Fatima,George,Hana}'::text[])[bench_data.pick(id, 2, 8)],
         ('[0:9]={Adams,Brown,Costa,Dubois,Evans,Fischer,Garcia,Haddad,Ivanov,Jones}'::text[])[bench_data.pick(id, 3, 10)],
         bench_data.town(bench_data.pick(id, 1, towns)), bench_data.email(id),
         bench_data.pick(id, 4, 200) + 1, ('[0:7]={Mill Lane,High Street,Station Road,Church Walk,The Green,Park Avenue,Victoria Road,Castle Hill}'::text[])[bench_data.pick(id, 5, 8)],
         bench_data.pick(id, 6, 9000) + 1000, bench_data.pick(id, 7, 900000) + 100000,
         bench_data.pick(id, 8, 100000), lpad(bench_data.pick(id, 9, 100)::text, 2, '0'),
         ('[0:9]={gold,trade,press,staff,online,retired,student,family,garden,export}'::text[])[bench_data.pick(id, 10, 10)],
         ('[0:9]={new,loyal,dormant,credit,cash,weekly,yearly,abroad,coast,rural}'::text[])[bench_data.pick(id, 11, 10)],
         upper(substr(md5(id::text), 1, 6)))
     || (SELECT string_agg(format('{"on": "202%s-%s-%s", "order": "%s", "total": %s.%s, "paid": %s, "note": "%s %s"}',
                  bench_data.pick(o.seed, 20, 5), lpad((bench_data.pick(o.seed, 21, 12) + 1)::text, 2, '0'), lpad((bench_data.pick(o.seed, 22, 28) + 1)::text, 2, '0'),
                  md5(o.seed::text)::uuid, bench_data.pick(o.seed, 23, 900), bench_data.pick(o.seed, 24, 90) + 10,
                  ('[0:1]={true,false}'::text[])[bench_data.pick(o.seed, 25, 2)],
                  ('[0:7]={left with,called,posted to,returned by,paid by,collected by,sent on to,asked for by}'::text[])[bench_data.pick(o.seed, 26, 8)],
                  ('[0:7]={the neighbour,the office,a courier,the shop,the warehouse,her brother,the bank,nobody yet}'::text[])[bench_data.pick(o.seed, 27, 8)]), ', ')
         FROM (SELECT id * 100 + n FROM generate_series(1, orders) AS n) AS o(seed))
     || ']}' $$;

-- the same with an array of five
CREATE FUNCTION bench_data.marked(id bigint, towns int, orders int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT (bench_data.document(id, towns, orders)::jsonb || jsonb_build_object('marks', jsonb_build_array('a' || bench_data.pick(id, 30, 997),
     'b' || bench_data.pick(id, 31, 997), 'c' || bench_data.pick(id, 32, 997), 'd' || bench_data.pick(id, 33, 997), 'e' || bench_data.pick(id, 34, 997))))::text $$;
