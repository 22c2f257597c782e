// Schema tools of JavaScript libraries in a database with two index tables over "person": "person_town" beside it, and "person_age" in a
// schema of its own. clients.sh runs this, with PGDATABASE set. What docs/applications.md says of them is checked.
'use strict';
const assert = require('assert');
const { server } = require('./drive.js');

async function mikroorm(schemaGenerator, use) {
  const { MikroORM, EntitySchema } = require('@mikro-orm/postgresql');
  const Person = new EntitySchema({ name: 'Person', tableName: 'person', properties: { id: { type: 'integer', primary: true, autoincrement: false }, doc: { type: 'json' } } });
  const { database: dbName, ...rest } = server;
  const orm = await MikroORM.init({ ...rest, dbName, entities: [Person], schemaGenerator, debug: false });
  try { return await use(orm.getSchemaGenerator()); } finally { await orm.close(); }
}

(async () => {
  const drops = sql => [...sql.matchAll(/drop table if exists (.*?) cascade/g)].map(match => match[1].replaceAll('"', ''));
  const all = await mikroorm({}, async generator => drops(await generator.getUpdateSchemaSQL()));
  assert(all.includes('person_town') && all.includes('index_tables.person_age') && all.includes('indextable_internal.definition'));
  const ignoreSchema = ['index_tables', 'indextable', 'indextable_internal'];
  assert.deepEqual(await mikroorm({ ignoreSchema }, async generator => drops(await generator.getUpdateSchemaSQL())), ['person_town']);
  await assert.rejects(mikroorm({ ignoreSchema }, generator => generator.updateSchema()), /DROP TABLE of index table "person_town" is refused/);
  console.log('MikroORM: drops index tables, unless their schema is ignored, or indextable.drop_table is off');

  const { DataSource, EntitySchema } = require('typeorm');
  const Person = new EntitySchema({ name: 'Person', tableName: 'person', columns: { id: { type: 'int', primary: true }, doc: { type: 'jsonb' } } });
  const { user: username, ...rest } = server;
  const source = await new DataSource({ type: 'postgres', ...rest, username, entities: [Person] }).initialize();
  assert.deepEqual((await source.driver.createSchemaBuilder().log()).upQueries, []);
  await source.destroy();
  console.log('TypeORM: synchronize leaves index tables alone');

  const { createPostGraphileSchema } = require('postgraphile');
  const { Pool } = require('pg');
  const pool = new Pool(server);
  const mutations = Object.keys((await createPostGraphileSchema(pool, ['public'], {})).getMutationType().getFields());
  assert(mutations.includes('createPersonTown') && !mutations.includes('createPersonAge'));
  await pool.end();
  console.log('PostGraphile: publishes the index tables of the schemas that it is told of');
})().catch(error => {
  console.error(error);
  process.exit(error.code === 'MODULE_NOT_FOUND' ? 77 : 1);
});
