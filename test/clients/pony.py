# name: Pony
# packages: python3-pony python3-psycopg2
# declare: `doc = Required(Json)`
import sys
sys.path[0], here = sys.path[-1], sys.path[0]
try:
    import psycopg2
    from pony.orm import Database, Json, PrimaryKey, Required, commit, count, db_session, delete, raw_sql, rollback, select
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)
sys.path.append(here)
from drive import drive, host, port, user, database

db = Database()


class Person(db.Entity):
    _table_ = "person"
    id = PrimaryKey(int)
    doc = Required(Json)


db.bind(provider="postgres", host=host, port=port, user=user, database=database)
db.generate_mapping(create_tables=False, check_tables=False)


def lock():
    found = select(p for p in Person if p.doc["town"] == "Town 7").for_update(skip_locked=True)[:]
    commit()
    return [person.id for person in found]


with db_session:
    drive(lambda sql: db.execute(sql), {
        "text =": lambda: select(p.id for p in Person if p.doc["town"] == "Town 7")[:],
        "number =": lambda: select(p.id for p in Person if p.doc["age"] == 30)[:],
        "number >": lambda: select(p.id for p in Person if p.doc["age"] > 85)[:],
        "boolean": lambda: select(p.id for p in Person if p.doc["ok"] == True)[:],
        "nested": lambda: select(p.id for p in Person if p.doc["address"]["city"] == "City 7")[:],
        "OR": lambda: select(p.id for p in Person if p.doc["town"] == "Town 7" or p.doc["town"] == "Town 8")[:],
        "OR of two": lambda: select(p.id for p in Person if p.doc["town"] == "Town 7" or p.doc["address"]["city"] == "City 8")[:],
        "LIKE": lambda: select(p.id for p in Person if raw_sql("p.doc ->> 'town' LIKE 'Town 7%%'"))[:],
        "IS NULL": lambda: select(p.id for p in Person if p.doc["town"] is None)[:],
        "array has": lambda: select(p.id for p in Person if "t7" in p.doc["tags"])[:],
        "order, limit": lambda: select(p.id for p in Person if p.doc["town"] is not None).order_by(lambda: raw_sql("p.doc ->> 'town' COLLATE \"C\", p.id")).limit(10)[:],
        "count": lambda: count(p for p in Person if p.doc["town"] == "Town 7"),
        "lock": lock,
        "delete": lambda: delete(p for p in Person if p.doc["town"] == "Town 8"),
    }, commit, rollback)
