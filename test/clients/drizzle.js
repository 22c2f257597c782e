// name: Drizzle
// declare: `doc: jsonb('doc')`
'use strict';
const { drive, server } = require('./drive.js');

drive(async () => {
  const { Pool } = require('pg');
  const { drizzle } = require('drizzle-orm/node-postgres');
  const { pgTable, integer, jsonb } = require('drizzle-orm/pg-core');
  const { sql, eq, gt, lt, inArray, or, like, ilike, isNull, isNotNull, asc } = require('drizzle-orm');
  const pool = new Pool({ ...server, max: 1 });
  const db = drizzle(pool);
  const person = pgTable('person', { id: integer('id').primaryKey(), doc: jsonb('doc').notNull() });
  const town = sql`${person.doc} ->> 'town'`;
  const find = where => db.select({ id: person.id }).from(person).where(where);
  const prepared = find(eq(town, sql.placeholder('town'))).prepare('person_of_town');
  return {
    send: text => db.execute(sql.raw(text)),
    cases: {
      'text =': () => find(eq(town, 'Town 7')),
      'number =': () => find(eq(sql`(${person.doc} ->> 'age')::int`, 30)),
      'number >': () => find(gt(sql`(${person.doc} ->> 'age')::numeric`, 85)),
      'boolean': () => find(sql`(${person.doc} ->> 'ok')::boolean`),
      'date': () => find(lt(sql`(${person.doc} ->> 'born')::date`, '1970-01-05')),
      'nested': () => find(eq(sql`${person.doc} #>> '{address,city}'`, 'City 7')),
      'IN': () => find(inArray(town, ['Town 7', 'Town 8'])),
      'OR': () => find(or(eq(town, 'Town 7'), eq(town, 'Town 8'))),
      'OR of two': () => find(or(eq(town, 'Town 7'), eq(sql`${person.doc} #>> '{address,city}'`, 'City 8'))),
      'LIKE': () => find(like(town, 'Town 7%')),
      'ILIKE': () => find(ilike(town, 'town 7%')),
      'IS NULL': () => find(isNull(town)),
      'array has': () => find(sql`${person.doc} -> 'tags' @> ${JSON.stringify(['t7'])}::jsonb`),
      'document has': () => find(sql`${person.doc} @> ${JSON.stringify({ town: 'Town 7' })}::jsonb`),
      'element has': () => find(sql`${person.doc} @> ${JSON.stringify({ lines: [{ name: 'L7', qty: 2 }] })}::jsonb`),
      'order, limit': () => find(isNotNull(town)).orderBy(sql`${town} collate "C"`, asc(person.id)).limit(10),
      'count': () => db.$count(person, eq(town, 'Town 7')),
      'prepared': async () => { let rows; for (let i = 0; i < 8; i++) rows = await prepared.execute({ town: 'Town 7' }); return rows; },
      'lock': () => db.transaction(t => t.select({ id: person.id }).from(person).where(eq(town, 'Town 7')).for('update', { skipLocked: true })),
      'update': () => db.update(person).set({ doc: sql`${person.doc} || '{"moved": true}'` }).where(eq(town, 'Town 7')).then(done => done.rowCount),
      'delete': () => db.delete(person).where(eq(town, 'Town 8')).then(done => done.rowCount),
    },
    end: () => pool.end(),
  };
});
