// name: MikroORM
// declare: `@Property({ type: 'json' }) doc`
'use strict';
const { drive, server } = require('./drive.js');

drive(async () => {
  const { MikroORM, EntitySchema, LockMode } = require('@mikro-orm/postgresql');
  const Person = new EntitySchema({ name: 'Person', tableName: 'person', properties: { id: { type: 'integer', primary: true }, doc: { type: 'json' } } });
  const { database: dbName, ...rest } = server;
  const orm = await MikroORM.init({ ...rest, dbName, entities: [Person], pool: { min: 1, max: 1 }, debug: false });
  const find = (where, options) => orm.em.fork().find('Person', where, { fields: ['id'], ...options });
  return {
    send: sql => orm.em.getConnection().execute(sql),
    cases: {
      'text =': () => find({ doc: { town: 'Town 7' } }),
      'number =': () => find({ doc: { age: 30 } }),
      'number >': () => find({ doc: { age: { $gt: 85 } } }),
      'boolean': () => find({ doc: { ok: true } }),
      'date': () => find({ doc: { born: { $lt: '1970-01-05' } } }),
      'nested': () => find({ doc: { address: { city: 'City 7' } } }),
      'IN': () => find({ doc: { town: { $in: ['Town 7', 'Town 8'] } } }),
      'OR': () => find({ $or: [{ doc: { town: 'Town 7' } }, { doc: { town: 'Town 8' } }] }),
      'OR of two': () => find({ $or: [{ doc: { town: 'Town 7' } }, { doc: { address: { city: 'City 8' } } }] }),
      'LIKE': () => find({ doc: { town: { $like: 'Town 7%' } } }),
      'ILIKE': () => find({ doc: { town: { $ilike: 'town 7%' } } }),
      'IS NULL': () => find({ doc: { town: null } }),
      'array has': () => find({ doc: { tags: { $contains: ['t7'] } } }),
      'document has': () => find({ doc: { $contains: { town: 'Town 7' } } }),
      'element has': () => find({ doc: { $contains: { lines: [{ name: 'L7', qty: 2 }] } } }),
      'order, limit': () => find({ doc: { town: { $ne: null } } }, { orderBy: [{ doc: { town: 'asc' } }, { id: 'asc' }], limit: 10 }),
      'count': () => orm.em.fork().count('Person', { doc: { town: 'Town 7' } }),
      'lock': () => orm.em.fork().transactional(em => em.find('Person', { doc: { town: 'Town 7' } }, { fields: ['id'], lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE })),
      'update': () => orm.em.fork().nativeUpdate('Person', { doc: { town: 'Town 7' } }, { doc: { town: 'Town 7', moved: true } }),
      'delete': () => orm.em.fork().nativeDelete('Person', { doc: { town: 'Town 8' } }),
    },
    end: () => orm.close(),
  };
});
