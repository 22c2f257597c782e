// name: TypeORM
// declare: `@Column({ type: 'jsonb' }) doc`
'use strict';
const { drive, server } = require('./drive.js');

drive(async () => {
  require('pg');
  const { DataSource, EntitySchema, JsonContains, Raw, Or, In } = require('typeorm');
  const Person = new EntitySchema({ name: 'Person', tableName: 'person', columns: { id: { type: 'int', primary: true }, doc: { type: 'jsonb' } } });
  const { user: username, ...rest } = server;
  const db = await new DataSource({ ...rest, username, type: 'postgres', entities: [Person], poolSize: 1 }).initialize();
  const repository = db.getRepository('Person');
  const find = (condition, values) => repository.createQueryBuilder('p').select(['p.id']).where(condition, values);
  return {
    send: sql => db.query(sql),
    cases: {
      'text =': () => find("p.doc ->> 'town' = :town", { town: 'Town 7' }).getMany(),
      'number =': () => find("(p.doc ->> 'age')::int = :age", { age: 30 }).getMany(),
      'number >': () => find("(p.doc ->> 'age')::numeric > :age", { age: 85 }).getMany(),
      'boolean': () => find("(p.doc ->> 'ok')::boolean = :ok", { ok: true }).getMany(),
      'date': () => find("(p.doc ->> 'born')::date < :born", { born: '1970-01-05' }).getMany(),
      'nested': () => repository.find({ select: { id: true }, where: { doc: Raw(doc => `${doc} -> 'address' ->> 'city' = :city`, { city: 'City 7' }) } }),
      'IN': () => find("p.doc ->> 'town' IN (:...towns)", { towns: ['Town 7', 'Town 8'] }).getMany(),
      'OR': () => find("p.doc ->> 'town' = :a", { a: 'Town 7' }).orWhere("p.doc ->> 'town' = :b", { b: 'Town 8' }).getMany(),
      'OR of two': () => repository.find({ select: { id: true }, where: [{ doc: JsonContains({ town: 'Town 7' }) }, { doc: JsonContains({ address: { city: 'City 8' } }) }] }),
      'LIKE': () => find("p.doc ->> 'town' LIKE :town", { town: 'Town 7%' }).getMany(),
      'ILIKE': () => find("p.doc ->> 'town' ILIKE :town", { town: 'town 7%' }).getMany(),
      'IS NULL': () => find("p.doc ->> 'town' IS NULL").getMany(),
      'array has': () => repository.find({ select: { id: true }, where: { doc: JsonContains({ tags: ['t7'] }) } }),
      'document has': () => repository.find({ select: { id: true }, where: { doc: JsonContains({ town: 'Town 7' }) } }),
      'element has': () => repository.find({ select: { id: true }, where: { doc: JsonContains({ lines: [{ name: 'L7', qty: 2 }] }) } }),
      'order, limit': () => find("p.doc ->> 'town' IS NOT NULL").orderBy("p.doc ->> 'town' COLLATE \"C\"").addOrderBy('p.id').limit(10).getRawMany().then(rows => rows.map(row => row.p_id)),
      'take': () => find("p.doc ->> 'town' = :town", { town: 'Town 7' }).orderBy('p.id').skip(2).take(2).getMany(),
      'count': () => repository.countBy({ doc: JsonContains({ town: 'Town 7' }) }),
      'stream': async () => {
        const stream = await find("p.doc ->> 'town' = :town", { town: 'Town 7' }).stream();
        const ids = [];
        for await (const row of stream) ids.push(row.p_id);
        return ids;
      },
      'lock': () => db.transaction(t => t.createQueryBuilder('Person', 'p').select(['p.id']).where("p.doc ->> 'town' = :town", { town: 'Town 7' }).setLock('pessimistic_write').setOnLocked('skip_locked').getMany()),
      'update': () => repository.createQueryBuilder().update().set({ doc: () => "doc || '{\"moved\": true}'" }).where("doc ->> 'town' = :town", { town: 'Town 7' }).execute().then(done => done.affected),
      'delete': () => repository.delete({ doc: JsonContains({ town: 'Town 8' }) }).then(done => done.affected),
    },
    end: () => db.destroy(),
  };
});
