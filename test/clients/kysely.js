// name: Kysely
// declare: `doc: JSONColumnType<…>`
'use strict';
const { drive, server } = require('./drive.js');

drive(async () => {
  const { Pool } = require('pg');
  const { Kysely, PostgresDialect, sql } = require('kysely');
  let Cursor;
  try { Cursor = require('pg-cursor'); } catch { /* without it there is no streaming */ }
  const db = new Kysely({ dialect: new PostgresDialect({ pool: new Pool({ ...server, max: 1 }), cursor: Cursor }) });
  const find = where => db.selectFrom('person').select('id').where(where);
  const member = (b, name) => b.ref('doc', '->>').key(name);
  const town = b => member(b, 'town');
  const city = b => b.ref('doc', '->').key('address').key('city');
  return {
    send: text => sql.raw(text).execute(db),
    cases: {
      'text =': () => find(b => b(town(b), '=', 'Town 7')).execute(),
      'number =': () => find(b => b(b.cast(member(b, 'age'), 'integer'), '=', 30)).execute(),
      'number >': () => find(b => b(b.cast(member(b, 'age'), 'real'), '>', 85)).execute(),
      'boolean': () => find(b => b(b.cast(member(b, 'ok'), 'boolean'), 'is', true)).execute(),
      'date': () => find(b => b(b.cast(member(b, 'born'), 'date'), '<', '1970-01-05')).execute(),
      'nested': () => find(b => b(b.ref('doc', '->>').key('address').key('city'), '=', 'City 7')).execute(),
      'jsonb =': () => find(b => b(b.ref('doc', '->').key('town'), '=', '"Town 7"')).execute(),
      'IN': () => find(b => b(town(b), 'in', ['Town 7', 'Town 8'])).execute(),
      'OR': () => find(b => b.or([b(town(b), '=', 'Town 7'), b(town(b), '=', 'Town 8')])).execute(),
      'OR of two': () => find(b => b.or([b(town(b), '=', 'Town 7'), b(city(b), '=', '"City 8"')])).execute(),
      'LIKE': () => find(b => b(town(b), 'like', 'Town 7%')).execute(),
      'ILIKE': () => find(b => b(town(b), 'ilike', 'town 7%')).execute(),
      'IS NULL': () => find(b => b(town(b), 'is', null)).execute(),
      'array has': () => find(b => b(b.ref('doc', '->').key('tags'), '@>', sql`${JSON.stringify(['t7'])}::jsonb`)).execute(),
      'element exists': () => find(b => b.exists(b.selectFrom(sql`jsonb_array_elements(doc -> 'lines')`.as('l')).select('l').where(sql`l ->> 'name'`, '=', 'L7'))).execute(),
      'document has': () => find(b => b('doc', '@>', JSON.stringify({ town: 'Town 7' }))).execute(),
      'element has': () => find(b => b('doc', '@>', JSON.stringify({ lines: [{ name: 'L7', qty: 2 }] }))).execute(),
      'order, limit': () => find(b => b(town(b), 'is not', null)).orderBy(b => b.ref('doc', '->>').key('town'), o => o.collate('C')).orderBy('id').limit(10).execute(),
      'count': () => db.selectFrom('person').select(b => b.fn.countAll().as('n')).where(b => b(town(b), '=', 'Town 7')).executeTakeFirst().then(row => row.n),
      ...(Cursor && { 'stream': async () => { const rows = []; for await (const row of find(b => b(town(b), '=', 'Town 7')).stream(3)) rows.push(row); return rows; } }),
      'lock': () => db.transaction().execute(t => t.selectFrom('person').select('id').where(b => b(town(b), '=', 'Town 7')).forUpdate().skipLocked().execute()),
      'update': () => db.updateTable('person').set({ doc: sql`doc || '{"moved": true}'` }).where(b => b(town(b), '=', 'Town 7')).executeTakeFirst().then(done => done.numUpdatedRows),
      'delete': () => db.deleteFrom('person').where(b => b(town(b), '=', 'Town 8')).executeTakeFirst().then(done => done.numDeletedRows),
    },
    end: () => db.destroy(),
  };
});
