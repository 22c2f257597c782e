# What the drivers of Python libraries share: drive(send, cases, end, recover) runs the cases one after the other, and prints the answer of each
# as JSON. Before each it has the library send a mark, by which the statements of the case are found in the server's log.
import datetime, json, os


def drive(send, cases, end, recover=lambda: None):
    for name, run in cases.items():
        send(f"SELECT 'case: {name}'")
        try:
            answer = run()
            answer = answer if isinstance(answer, int) else [row if isinstance(row, int) else row[0] if isinstance(row, tuple) else row.id for row in answer]
        except Exception as error:
            answer = f"error: {str(error).splitlines()[0]}"
            recover()
        print(json.dumps([name, answer]), flush=True)
    send("SELECT 'case: end'")
    end()


early = datetime.date(1970, 1, 5)
host, port, user, database = (os.environ[name] for name in ("PGHOST", "PGPORT", "PGUSER", "PGDATABASE"))
