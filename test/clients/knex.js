// name: Knex
// declare: nothing
// note: `whereJsonPath()` is searched as long as no row has an array or an object there.
'use strict';
const { drive, server } = require('./drive.js');

drive(async () => {
  const db = require('knex')({ client: 'pg', connection: server, pool: { min: 1, max: 1 } });
  const person = () => db('person').select('id');
  return {
    send: sql => db.raw(sql),
    cases: {
      'text =': () => person().whereJsonPath('doc', '$.town', '=', 'Town 7'),
      'text = (raw)': () => person().whereRaw("doc->>'town' = ?", ['Town 7']),
      'number =': () => person().whereJsonPath('doc', '$.age', '=', 30),
      'number >': () => person().whereJsonPath('doc', '$.age', '>', 85),
      'nested': () => person().whereJsonPath('doc', '$.address.city', '=', 'City 7'),
      'IN': () => person().whereIn(db.raw("doc->>'town'"), ['Town 7', 'Town 8']),
      'OR': () => person().whereJsonPath('doc', '$.town', '=', 'Town 7').orWhereJsonPath('doc', '$.town', '=', 'Town 8'),
      'OR of two': () => person().whereJsonPath('doc', '$.town', '=', 'Town 7').orWhereJsonPath('doc', '$.address.city', '=', 'City 8'),
      'LIKE': () => person().whereLike(db.raw("doc->>'town'"), 'Town 7%'),
      'ILIKE': () => person().whereILike(db.raw("doc->>'town'"), 'town 7%'),
      'IS NULL': () => person().whereNull(db.raw("doc->>'town'")),
      'array has': () => person().whereJsonSupersetOf(db.raw("doc->'tags'"), ['t7']),
      'document has': () => person().whereJsonSupersetOf('doc', { town: 'Town 7' }),
      'element has': () => person().whereJsonSupersetOf('doc', { lines: [{ name: 'L7', qty: 2 }] }),
      'document =': () => person().whereJsonObject('doc', { town: 'Town 7' }),
      'order, limit': () => person().whereNotNull(db.raw("doc->>'town'")).orderByRaw("doc->>'town' collate \"C\", id").limit(10),
      'count': () => db('person').whereJsonPath('doc', '$.town', '=', 'Town 7').count().then(rows => rows[0].count),
      'lock': () => db.transaction(t => person().transacting(t).whereJsonPath('doc', '$.town', '=', 'Town 7').forUpdate().skipLocked()),
      'update': () => db('person').whereJsonPath('doc', '$.town', '=', 'Town 7').update({ doc: db.jsonSet('doc', '$.moved', 'true') }),
      'delete': () => db('person').whereJsonPath('doc', '$.town', '=', 'Town 8').delete(),
    },
    end: () => db.destroy(),
  };
});
