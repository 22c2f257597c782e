/*-------------------------------------------------------------------------
 *
 * missed_counts.c
 *	  Counts the conditions on fields of documents for which the planner has found no index
 *	  table, in shared memory.
 *
 * The memory is a table of places that never grows.  A condition has its place among a few
 * that follow from its hash, its set; if they are taken, it takes that of the condition that
 * was counted longest ago.  So whoever makes up names of fields pushes out conditions of the
 * same sets, and no more.
 *
 * There is none unless the library is preloaded.  Standbys have their own, and a restart
 * empties it.
 *
 * To count again a condition that has a place, its set is searched under the shared lock, and
 * an atomic counter increased.  Only a new condition takes the lock exclusively.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "common/hashfn.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "../catalog/catalog.h"
#include "../indextable.h"
#include "plan.h"

#define SETS		128
#define PLACES		8

/* A place: free if there is no database. */
typedef struct Place
{
	Oid			database;
	uint32		hash;
	MissedCondition condition;	/* but for the number */
	pg_atomic_uint64 planned;
	pg_atomic_uint64 last;		/* when it was counted last */
} Place;

typedef struct Missed
{
	LWLock	   *lock;
	Place		places[SETS][PLACES];
} Missed;

PG_FUNCTION_INFO_V1(indextable_missed_conditions);

static Missed *missed = NULL;
const SharedPart missed_shared = {"indextable_missed", sizeof(Missed), &missed};

static Place *place_of_condition(Place *set, uint32 hash, MissedCondition *condition);
static void take_place(Place *set, uint32 hash, MissedCondition *condition);

/* missed_is_kept: returns whether there is memory to count in, and an index table could be created in this database */
bool
missed_is_kept(void)
{
	return missed != NULL && OidIsValid(get_namespace_oid(IT_INTERNAL, true));
}

/* missed_count: counts a condition on a field, which is as in create() */
void
missed_count(Oid fact, AttrNumber document, MissedKind kind, const char *field)
{
	MissedCondition condition = {.fact = fact,.document = document,.kind = kind};
	uint32		hash;
	Place	   *set;
	Place	   *place;

	/* Half of a name would be another field. */
	if (strlcpy(condition.field, field, MAX_MISSED_FIELD) >= MAX_MISSED_FIELD)
		return;
	hash = hash_combine(hash_bytes((const unsigned char *) field, strlen(field)),
						hash_bytes_uint32(MyDatabaseId ^ fact ^ ((uint32) document << 16) ^ ((uint32) kind << 8)));
	set = missed->places[hash % SETS];
	LWLockAcquire(missed->lock, LW_SHARED);
	place = place_of_condition(set, hash, &condition);
	if (place != NULL)
	{
		pg_atomic_fetch_add_u64(&place->planned, 1);
		pg_atomic_write_u64(&place->last, (uint64) GetCurrentStatementStartTimestamp());
	}
	LWLockRelease(missed->lock);
	if (place == NULL)
	{
		LWLockAcquire(missed->lock, LW_EXCLUSIVE);
		take_place(set, hash, &condition);
		LWLockRelease(missed->lock);
	}
}

/* place_of_condition: returns the place of a condition in its set, or NULL; called under the lock */
static Place *
place_of_condition(Place *set, uint32 hash, MissedCondition *condition)
{
	for (int i = 0; i < PLACES; i++)
	{
		Place	   *place = &set[i];

		if (place->hash == hash && place->database == MyDatabaseId && place->condition.fact == condition->fact &&
			place->condition.document == condition->document && place->condition.kind == condition->kind &&
			strcmp(place->condition.field, condition->field) == 0)
			return place;
	}
	return NULL;
}

/* take_place: counts a condition for the first time, unless another session has just done so; called under the exclusive lock */
static void
take_place(Place *set, uint32 hash, MissedCondition *condition)
{
	Place	   *place = place_of_condition(set, hash, condition);

	if (place == NULL)
	{
		place = &set[0];
		for (int i = 0; i < PLACES && OidIsValid(place->database); i++)
		{
			if (!OidIsValid(set[i].database) ||
				pg_atomic_read_u64(&set[i].last) < pg_atomic_read_u64(&place->last))
				place = &set[i];
		}
		place->database = MyDatabaseId;
		place->hash = hash;
		place->condition = *condition;
		place->condition.since = GetCurrentStatementStartTimestamp();
		pg_atomic_init_u64(&place->planned, 0);
		pg_atomic_init_u64(&place->last, 0);
	}
	pg_atomic_fetch_add_u64(&place->planned, 1);
	pg_atomic_write_u64(&place->last, (uint64) GetCurrentStatementStartTimestamp());
}

/* missed_forget: has counting begin anew for a fact table, as one of its fields has an index table from now on */
void
missed_forget(Oid fact)
{
	if (missed == NULL)
		return;
	LWLockAcquire(missed->lock, LW_EXCLUSIVE);
	for (int i = 0; i < SETS * PLACES; i++)
	{
		Place	   *place = &missed->places[i / PLACES][i % PLACES];

		if (place->database == MyDatabaseId && place->condition.fact == fact)
			place->database = InvalidOid;
	}
	LWLockRelease(missed->lock);
}

/*
 * may_see_missed
 *		Returns whether the current user may see what others have asked of a table: its owner,
 *		and a role that may read all statistics.  Names of fields are from queries of others.
 *		The table may be gone.
 */
bool
may_see_missed(Oid fact)
{
	Oid			owner = table_owner(fact);

	return OidIsValid(owner) &&
		(has_privs_of_role(GetUserId(), owner) || has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS));
}

/*
 * indextable_missed_conditions
 *		missed_conditions(OUT fact_table regclass, OUT document name, OUT field text,
 *		OUT condition text, OUT planned bigint, OUT since timestamptz): returns what was
 *		counted in this database, as far as the current user may see it.
 */
Datum
indextable_missed_conditions(PG_FUNCTION_ARGS)
{
	static const char *const kinds[] = {"equal", "range", "contained", "join"};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MissedCondition *found = palloc(sizeof(MissedCondition) * SETS * PLACES);
	int			n = 0;

	InitMaterializedSRF(fcinfo, 0);
	if (missed == NULL)
		return (Datum) 0;
	LWLockAcquire(missed->lock, LW_SHARED);
	for (int i = 0; i < SETS * PLACES; i++)
	{
		Place	   *place = &missed->places[i / PLACES][i % PLACES];

		if (place->database != MyDatabaseId)
			continue;
		found[n] = place->condition;
		found[n++].planned = pg_atomic_read_u64(&place->planned);
	}
	LWLockRelease(missed->lock);
	for (int i = 0; i < n; i++)
	{
		char	   *document = get_attname(found[i].fact, found[i].document, true);
		Datum		values[6];
		bool		isnull[6] = {0};

		if (document == NULL || !may_see_missed(found[i].fact))
			continue;
		values[0] = ObjectIdGetDatum(found[i].fact);
		values[1] = DirectFunctionCall1(namein, CStringGetDatum(document));
		values[2] = CStringGetTextDatum(found[i].field);
		values[3] = CStringGetTextDatum(kinds[found[i].kind]);
		values[4] = Int64GetDatum((int64) found[i].planned);
		values[5] = TimestampTzGetDatum(found[i].since);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, isnull);
	}
	return (Datum) 0;
}
