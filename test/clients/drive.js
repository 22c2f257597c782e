// What the drivers of JavaScript libraries share: drive(start) runs the cases one after the other, and prints the answer of each as
// JSON. Before each it has the library send a mark, by which the statements of the case are found in the server's log.
'use strict';

// start() connects and returns { send: runs SQL as it is, cases: { name: function that returns rows, ids or a number }, end }.
exports.drive = async function (start) {
  let library;
  try {
    library = await start();
  } catch (error) {
    console.error(error);
    process.exit(/MODULE_NOT_FOUND/.test(error.code) ? 77 : 1);
  }
  for (const [name, run] of Object.entries(library.cases)) {
    await library.send(`SELECT 'case: ${name}'`);
    let answer;
    try {
      answer = await run();
      if (Array.isArray(answer)) answer = answer.map(row => Number(row.id ?? row));
      else answer = Number(answer);
    } catch (error) {
      const cause = error.cause ?? error.original ?? error;
      answer = `error: ${cause.code ?? ''} ${cause.message}`.trim();
    }
    console.log(JSON.stringify([name, answer]));
  }
  await library.send(`SELECT 'case: end'`);
  await library.end();
};
exports.server = { host: process.env.PGHOST, port: Number(process.env.PGPORT), user: process.env.PGUSER, database: process.env.PGDATABASE };
