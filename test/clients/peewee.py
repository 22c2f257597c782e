# name: Peewee
# packages: python3-peewee python3-psycopg2
# declare: `doc = BinaryJSONField()` of `playhouse.postgres_ext`
import sys
sys.path[0], here = sys.path[-1], sys.path[0]
try:
    from psycopg2.extras import Json
    from peewee import IntegerField, Model
    from playhouse.postgres_ext import BinaryJSONField, PostgresqlExtDatabase, ServerSide
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)
sys.path.append(here)
from drive import drive, early, host, port, user, database

db = PostgresqlExtDatabase(database, host=host, port=port, user=user, register_hstore=False)


class Person(Model):
    id = IntegerField(primary_key=True)
    doc = BinaryJSONField()

    class Meta:
        database = db
        table_name = "person"


doc = Person.doc
town = doc["town"]


def find(condition):
    return Person.select(Person.id).where(condition)


def stream():
    with db.atomic():
        return [row.id for row in ServerSide(find(town == "Town 7"))]


def lock():
    with db.atomic():
        return list(find(town == "Town 7").for_update("FOR UPDATE SKIP LOCKED"))


drive(lambda sql: db.execute_sql(sql), {
    "text =": lambda: find(town == "Town 7"),
    "number =": lambda: find(doc["age"].cast("int") == 30),
    "number >": lambda: find(doc["age"].cast("float8") > 85),
    "boolean": lambda: find(doc["ok"].cast("boolean") == True),
    "date": lambda: find(doc["born"].cast("date") < early),
    "nested": lambda: find(doc["address"]["city"] == "City 7"),
    "path": lambda: find(doc.path("address", "city") == "City 7"),
    "jsonb =": lambda: find(doc["town"].as_json() == Json("Town 7")),
    "IN": lambda: find(town.in_(["Town 7", "Town 8"])),
    "OR": lambda: find((town == "Town 7") | (town == "Town 8")),
    "OR of two": lambda: find((town == "Town 7") | (doc["address"]["city"] == "City 8")),
    "LIKE": lambda: find(town % "Town 7%"),
    "ILIKE": lambda: find(town ** "town 7%"),
    "IS NULL": lambda: find(town.is_null()),
    "array has": lambda: find(doc["tags"].contains(["t7"])),
    "key exists": lambda: find(doc["tags"].contains_any("t7", "t8")),
    "document has": lambda: find(doc.contains({"town": "Town 7"})),
    "element has": lambda: find(doc.contains({"lines": [{"name": "L7", "qty": 2}]})),
    "order, limit": lambda: find(town.is_null(False)).order_by(town, Person.id).limit(10),
    "count": lambda: find(town == "Town 7").count(),
    "stream": stream,
    "lock": lock,
    "update": lambda: Person.update(doc=doc.concat({"moved": True})).where(town == "Town 7").execute(),
    "delete": lambda: Person.delete().where(town == "Town 8").execute(),
}, db.close, db.rollback)
