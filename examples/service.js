// A REST service over JSON documents. schema.sql makes its tables; the usual variables (PGHOST, PGDATABASE, …) say where they are.
//
//   psql -f schema.sql && npm install && PORT=8080 node service.js
//   curl -d '{"slug": "first", "title": "First", "tags": ["red"], "published": "2026-01-11"}' http://localhost:8080/articles
//   curl 'http://localhost:8080/articles?tag=red'
//
//   GET    /articles?tag=T              the newest articles with a tag: {"items": […], "next": "/articles?…", "previous": null}
//   GET    /articles/SLUG               one document, with its "id"
//   POST   /articles                    a new document, for which the answer has the id and the place
//   PUT    /articles/ID                 another document in its place
//   DELETE /articles/ID
//
// Pages are found by what is on them and not by number, so that nothing is shown twice or left out when articles are added meanwhile.

'use strict';
const http = require('http');
const { Pool } = require('pg');

const PAGE_SIZE = 20;
const MAX_BODY = 1 << 20;
const pool = new Pool();

// A client's mistake: status and message are the answer.
class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function list(params) {
  const tag = params.get('tag');
  if (!tag) throw new Refusal(400, 'which tag? /articles?tag=…');
  const limit = Math.min(Number(params.get('limit')) || PAGE_SIZE, 100);
  const back = params.has('before');
  const from = params.get('before') ?? params.get('after') ?? '';

  // One entry more than the page shows tells whether there is another page.
  const { rows } = await pool.query(
    `SELECT entry, cursor FROM indextable.query('article_by_tag', $1, descending => true, page_size => $2, cursor => $3, previous => $4)`,
    [JSON.stringify({ tag }), limit + 1, from, back]);
  const more = rows.length > limit;
  if (more) rows.splice(back ? 0 : limit, 1);
  const link = (name, row) => `/articles?${new URLSearchParams({ tag, limit, [name]: row.cursor })}`;
  return {
    items: rows.map(row => row.entry),
    next: rows.length && (more || back) ? link('after', rows[rows.length - 1]) : null,
    previous: rows.length && (back ? more : from !== '') ? link('before', rows[0]) : null,
  };
}

async function read(slug) {
  const { rows } = await pool.query(`SELECT id, doc FROM indextable.lookup(NULL::article, 'article_by_slug', $1)`, [JSON.stringify({ slug })]);
  if (rows.length === 0) throw new Refusal(404, 'there is no such article');
  return { id: rows[0].id, ...rows[0].doc };
}

// pg sends an object as JSON, but an array as one of PostgreSQL's arrays. So what goes to a jsonb parameter is always written as text.
async function create(document) {
  const { rows } = await pool.query('INSERT INTO article (doc) VALUES ($1) RETURNING id', [JSON.stringify(document)]);
  return { id: rows[0].id, location: `/articles/${encodeURIComponent(document.slug)}` };
}

async function replace(id, document) {
  const { rowCount } = await pool.query('UPDATE article SET doc = $2 WHERE id = $1', [id, JSON.stringify(document)]);
  if (rowCount === 0) throw new Refusal(404, 'there is no such article');
}

async function remove(id) {
  const { rowCount } = await pool.query('DELETE FROM article WHERE id = $1', [id]);
  if (rowCount === 0) throw new Refusal(404, 'there is no such article');
}

async function body(request) {
  let text = '';
  for await (const chunk of request) {
    text += chunk;
    if (text.length > MAX_BODY) throw new Refusal(413, 'the document is too long');
  }
  let document;
  try {
    document = JSON.parse(text);
  } catch {
    throw new Refusal(400, 'the document is no JSON');
  }
  if (typeof document?.slug !== 'string') throw new Refusal(422, 'the document has no "slug"');
  return document;
}

async function answer(request) {
  const url = new URL(request.url, 'http://localhost');
  const [, collection, name, ...rest] = url.pathname.split('/').map(decodeURIComponent);
  if (collection !== 'articles' || rest.length) throw new Refusal(404, 'there is no such place');
  if (request.method === 'GET') return [200, name ? await read(name) : await list(url.searchParams)];
  if (request.method === 'POST' && !name) return [201, await create(await body(request))];
  if (!/^\d{1,18}$/.test(name ?? '')) throw new Refusal(404, 'there is no such article');
  if (request.method === 'PUT') return [204, await replace(name, await body(request))];
  if (request.method === 'DELETE') return [204, await remove(name)];
  throw new Refusal(405, 'this cannot be done here');
}

// What the database refuses because of a document or a cursor is the client's mistake: the code tells, and the name of the index table.
function refusal(error) {
  if (error instanceof Refusal) return error;
  if (error.code === '23505' && error.constraint === 'article_by_slug') return new Refusal(409, 'there is an article with this slug');
  if (/^(22|23514|54000)/.test(error.code ?? '')) return new Refusal(422, error.message);
  console.error(error);
  return new Refusal(500, 'something went wrong');
}

const server = http.createServer(async (request, response) => {
  let status, result;
  try {
    [status, result] = await answer(request);
  } catch (error) {
    const refused = refusal(error);
    [status, result] = [refused.status, { error: refused.message }];
  }
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(result === undefined ? '' : JSON.stringify(result));
});

server.listen(Number(process.env.PORT) || 8080, '127.0.0.1', () => console.log(`listening on port ${server.address().port}`));
process.on('SIGTERM', () => server.close(() => pool.end()));
