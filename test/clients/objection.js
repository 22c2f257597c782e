// name: Objection
// declare: nothing
'use strict';
const { drive, server } = require('./drive.js');

drive(async () => {
  const db = require('knex')({ client: 'pg', connection: server, pool: { min: 1, max: 1 } });
  const { Model, ref } = require('objection');
  class Person extends Model { static tableName = 'person'; }
  Model.knex(db);
  const person = () => Person.query().select('id');
  const town = ref('doc:town').castText();
  return {
    send: sql => db.raw(sql),
    cases: {
      'text =': () => person().where(town, 'Town 7'),
      'number =': () => person().where(ref('doc:age').castInt(), 30),
      'number >': () => person().where(ref('doc:age').castFloat(), '>', 85),
      'boolean': () => person().where(ref('doc:ok').castBool(), true),
      'date': () => person().where(ref('doc:born').castTo('date'), '<', '1970-01-05'),
      'nested': () => person().where(ref('doc:address.city').castText(), 'City 7'),
      'IN': () => person().whereIn(town, ['Town 7', 'Town 8']),
      'OR': () => person().where(town, 'Town 7').orWhere(town, 'Town 8'),
      'OR of two': () => person().where(town, 'Town 7').orWhere(ref('doc:address.city').castText(), 'City 8'),
      'LIKE': () => person().where(town, 'like', 'Town 7%'),
      'ILIKE': () => person().where(town, 'ilike', 'town 7%'),
      'IS NULL': () => person().whereNull(town),
      'array has': () => person().whereJsonSupersetOf('doc:tags', ['t7']),
      'key exists': () => person().whereJsonHasAny('doc:tags', ['t7', 't8']),
      'document has': () => person().whereJsonSupersetOf('doc', { town: 'Town 7' }),
      'element has': () => person().whereJsonSupersetOf('doc', { lines: [{ name: 'L7', qty: 2 }] }),
      'order, limit': () => person().whereNotNull(town).orderBy(town).orderBy('id').limit(10),
      'count': () => Person.query().where(town, 'Town 7').resultSize(),
      'lock': () => Person.transaction(t => Person.query(t).select('id').where(town, 'Town 7').forUpdate().skipLocked()),
      'update': () => Person.query().patch({ 'doc:moved': true }).where(town, 'Town 7'),
      'delete': () => Person.query().delete().where(town, 'Town 8'),
    },
    end: () => db.destroy(),
  };
});
