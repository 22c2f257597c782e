# name: Django
# packages: python3-django python3-psycopg2
# declare: `doc = models.JSONField()`
import sys
sys.path[0], here = sys.path[-1], sys.path[0]
try:
    import django
    from django.conf import settings
    from django.db import connection, models, transaction
    from django.db.models import Q, F
    from django.db.models.fields.json import KeyTextTransform
    from django.db.models.functions import Cast
    import psycopg2
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)
sys.path.append(here)
from drive import drive, early, host, port, user, database

settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "HOST": host, "PORT": port, "USER": user, "NAME": database}}, USE_TZ=False,
                   DEFAULT_AUTO_FIELD="django.db.models.AutoField")
django.setup()


class Person(models.Model):
    id = models.IntegerField(primary_key=True)
    doc = models.JSONField()

    class Meta:
        app_label = "clients"
        db_table = "person"
        managed = False


def find(*conditions, **members):
    return Person.objects.filter(*conditions, **members).only("id")


def send(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)


def lock():
    with transaction.atomic():
        return list(find(doc__town="Town 7").select_for_update(skip_locked=True))


text = KeyTextTransform("town", "doc")
drive(send, {
    "text =": lambda: find(doc__town="Town 7"),
    "number =": lambda: find(doc__age=30),
    "number >": lambda: find(doc__age__gt=85),
    "boolean": lambda: find(doc__ok=True),
    "date": lambda: Person.objects.annotate(born=Cast(KeyTextTransform("born", "doc"), models.DateField())).filter(born__lt=early).only("id"),
    "nested": lambda: find(doc__address__city="City 7"),
    "IN": lambda: find(doc__town__in=["Town 7", "Town 8"]),
    "OR": lambda: find(Q(doc__town="Town 7") | Q(doc__town="Town 8")),
    "OR of two": lambda: find(Q(doc__town="Town 7") | Q(doc__address__city="City 8")),
    "LIKE": lambda: find(doc__town__startswith="Town 7"),
    "ILIKE": lambda: find(doc__town__icontains="wn 7"),
    "IS NULL": lambda: find(doc__town__isnull=True),
    "JSON null": lambda: find(doc__town=None),
    "array has": lambda: find(doc__tags__contains=["t7"]),
    "key exists": lambda: find(doc__tags__has_any_keys=["t7", "t8"]),
    "element": lambda: find(doc__tags__0="t7"),
    "document has": lambda: find(doc__contains={"town": "Town 7"}),
    "element has": lambda: find(doc__contains={"lines": [{"name": "L7", "qty": 2}]}),
    "order, limit": lambda: find(doc__town__isnull=False).order_by("doc__town", "id")[:10],
    "order of text": lambda: Person.objects.annotate(town=text).filter(town__isnull=False).order_by("town", "id").only("id")[:10],
    "count": lambda: find(doc__town="Town 7").count(),
    "stream": lambda: [person.id for person in find(doc__town="Town 7").iterator(chunk_size=3)],
    "lock": lock,
    "update": lambda: find(doc__town="Town 7").update(doc={"town": "Town 7", "moved": True}),
    "delete": lambda: find(doc__town="Town 8").delete()[0],
}, connection.close)
