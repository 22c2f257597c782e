// What a client of examples/service.js sees: requests.js URL. Exits non-zero at the first answer that is not as it should be.
'use strict';
const assert = require('assert');
const base = process.argv[2];

async function ask(method, path, document) {
  const response = await fetch(base + path, { method, body: document === undefined ? undefined : typeof document === 'string' ? document : JSON.stringify(document) });
  const text = await response.text();
  return { status: response.status, ...(text ? JSON.parse(text) : {}) };
}

async function step(name, work) {
  await work();
  console.log(`  ${name}`);
}

// pages: all pages from one on, forward or back, as arrays of slugs
async function pages(path, direction) {
  const found = [];
  for (let at = path; at; ) {
    const page = await ask('GET', at);
    assert.strictEqual(page.status, 200);
    found.push({ path: at, slugs: page.items.map(item => item.slug), previous: page.previous });
    at = page[direction];
  }
  return found;
}

async function main() {
  let id;
  const article = { slug: 'new', title: 'New', author: 'author 1', tags: ['all', 'it"s', 'ä'], published: '2027-01-01' };

  await step('a document is written and read', async () => {
    const made = await ask('POST', '/articles', article);
    assert.strictEqual(made.status, 201);
    id = made.id;
    assert.deepStrictEqual(await ask('GET', made.location), { status: 200, id, ...article });
  });
  await step('two documents with the same slug: 409', async () => {
    assert.strictEqual((await ask('POST', '/articles', article)).status, 409);
  });
  await step('a value of the wrong type: 422', async () => {
    const answer = await ask('POST', '/articles', { ...article, slug: 'other', published: 'some day' });
    assert.strictEqual(answer.status, 422);
    assert.match(answer.error, /some day|published/);
  });
  await step('a cursor of somebody\'s own: 422; no tag, no JSON: 400; unknown: 404', async () => {
    assert.strictEqual((await ask('GET', '/articles?tag=all&after=nonsense')).status, 422);
    assert.strictEqual((await ask('GET', '/articles')).status, 400);
    assert.strictEqual((await ask('POST', '/articles', '{')).status, 400);
    assert.strictEqual((await ask('GET', '/articles/unknown')).status, 404);
    assert.strictEqual((await ask('PUT', '/articles/999999999', article)).status, 404);
  });
  await step('tags of all kinds', async () => {
    for (const tag of ['it"s', 'ä']) {
      const page = await ask('GET', `/articles?tag=${encodeURIComponent(tag)}`);
      assert.deepStrictEqual(page.items.map(item => item.slug), ['new']);
      assert.strictEqual(page.next, null);
      assert.strictEqual(page.previous, null);
    }
  });
  await step('pages forward and back, the newest first', async () => {
    const forward = await pages('/articles?tag=t3&limit=50', 'next');
    const slugs = forward.flatMap(page => page.slugs);
    assert.strictEqual(slugs.length, 344);
    assert.strictEqual(new Set(slugs).size, 344);
    assert.strictEqual(forward.length, 7);
    const back = await pages(forward[forward.length - 1].previous, 'previous');
    assert.deepStrictEqual(back.map(page => page.slugs).reverse(), forward.slice(0, -1).map(page => page.slugs));
  });
  await step('what is added meanwhile moves nothing from page to page', async () => {
    const first = await ask('GET', '/articles?tag=all&limit=10');
    for (let i = 0; i < 15; i++) assert.strictEqual((await ask('POST', '/articles', { ...article, slug: `late-${i}`, published: '2027-02-01' })).status, 201);
    const second = await ask('GET', first.next);
    const shown = new Set(first.items.map(item => item.slug));
    assert(second.items.every(item => !shown.has(item.slug) && !item.slug.startsWith('late')));
    const again = await ask('GET', second.previous);
    assert.deepStrictEqual(again.items, first.items);
    assert.notStrictEqual(again.previous, null);
  });
  await step('a document is replaced and deleted', async () => {
    assert.strictEqual((await ask('PUT', `/articles/${id}`, { ...article, tags: ['moved'] })).status, 204);
    assert.strictEqual((await ask('GET', '/articles?tag=moved')).items.length, 1);
    assert.strictEqual((await ask('DELETE', `/articles/${id}`)).status, 204);
    assert.strictEqual((await ask('GET', '/articles?tag=moved')).items.length, 0);
    assert.strictEqual((await ask('GET', '/articles/new')).status, 404);
  });
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
