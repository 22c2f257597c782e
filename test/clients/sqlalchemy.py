# name: SQLAlchemy
# packages: python3-sqlalchemy python3-psycopg2
# declare: `doc = Column(JSONB)` of `sqlalchemy.dialects.postgresql`
import sys
sys.path[0], here = sys.path[-1], sys.path[0]
try:
    import psycopg2
    from sqlalchemy import Column, Date, Integer, Table, MetaData, cast, create_engine, func, or_, select, text
    from sqlalchemy.dialects.postgresql import JSONB
    from sqlalchemy.orm import Session, declarative_base
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)
sys.path.append(here)
from drive import drive, early, host, port, user, database

engine = create_engine(f"postgresql+psycopg2://{user}@/{database}?host={host}&port={port}", pool_size=1)
session = Session(engine)


class Person(declarative_base()):
    __tablename__ = "person"
    id = Column(Integer, primary_key=True)
    doc = Column(JSONB)


doc = Person.doc
town = doc["town"].astext


def find(*conditions):
    return session.query(Person.id).filter(*conditions)


def stream():
    return list(session.query(Person.id).filter(town == "Town 7").execution_options(stream_results=True).yield_per(3))


elements = func.jsonb_array_elements(doc["lines"]).table_valued("value", name="l") if hasattr(func.x(), "table_valued") else None
drive(lambda sql: session.execute(text(sql)), {
    "text =": lambda: find(town == "Town 7"),
    "jsonb =": lambda: find(doc["town"] == cast("Town 7", JSONB)),
    "as_string() =": lambda: find(doc["town"].as_string() == "Town 7"),
    "number =": lambda: find(doc["age"].as_integer() == 30),
    "number >": lambda: find(doc["age"].as_float() > 85),
    "boolean": lambda: find(doc["ok"].as_boolean()),
    "date": lambda: find(doc["born"].astext.cast(Date) < early),
    "nested": lambda: find(doc[("address", "city")].astext == "City 7"),
    "IN": lambda: find(town.in_(["Town 7", "Town 8"])),
    "OR": lambda: find(or_(town == "Town 7", town == "Town 8")),
    "OR of two": lambda: find(or_(town == "Town 7", doc["address"]["city"].astext == "City 8")),
    "LIKE": lambda: find(town.startswith("Town 7")),
    "ILIKE": lambda: find(town.ilike("town 7%")),
    "IS NULL": lambda: find(town.is_(None)),
    "array has": lambda: find(doc["tags"].contains(["t7"])),
    "key exists": lambda: find(doc["tags"].has_key("t7")),
    "path exists": lambda: find(func.jsonb_path_exists(doc, '$.lines[*] ? (@.name == "L7")')),
    "element exists": lambda: find(select(elements).where(elements.c.value.op("->>")("name") == "L7").exists()),
    "document has": lambda: find(doc.contains({"town": "Town 7"})),
    "element has": lambda: find(doc.contains({"lines": [{"name": "L7", "qty": 2}]})),
    "order, limit": lambda: find(town.isnot(None)).order_by(town.collate("C"), Person.id).limit(10),
    "count": lambda: find(town == "Town 7").count(),
    "stream": stream,
    "lock": lambda: find(town == "Town 7").with_for_update(skip_locked=True),
    "update": lambda: session.query(Person).filter(town == "Town 7").update({Person.doc: doc.concat({"moved": True})}, synchronize_session=False),
    "delete": lambda: session.query(Person).filter(town == "Town 8").delete(synchronize_session=False),
}, lambda: (session.commit(), session.close()), session.rollback)
