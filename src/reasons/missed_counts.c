/*-------------------------------------------------------------------------
 *
 * missed_counts.c
 *	  Counts in shared memory the conditions for which there is no index table.
 *
 * The memory is a table of places that never grows.  Each role has places of its own in each
 * database, also for a condition that another role has counted.  If all are taken, a new
 * condition takes the place that was counted longest ago of the role that has the most places,
 * or of its own role if that has as many.  So a role that makes up names of fields pushes out
 * its own conditions, and of other roles only those beyond their share: places divided by roles
 * that have any.
 *
 * There is none unless the library is preloaded.  Standbys have their own, and a restart
 * empties it.
 *
 * To count again a condition that has a place, its hash is searched under the shared lock, and
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
#include "parser/parsetree.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "../catalog/catalog.h"
#include "../indextable.h"
#include "../util/read_rights.h"
#include "reasons.h"

PG_FUNCTION_INFO_V1(indextable_missed_conditions);

/* The longest field that is counted. */
#define MAX_MISSED_FIELD	128

/* A condition that was counted. */
typedef struct MissedCondition
{
	Oid			fact;
	AttrNumber	document;		/* the column of the documents */
	MissedKind	kind;
	char		field[MAX_MISSED_FIELD];	/* as in create() */
	uint64		planned;		/* number of times */
	TimestampTz since;			/* when it was counted first */
} MissedCondition;

#define PLACES		1024

/* A role in a database; free if it has no places. */
typedef struct Asker
{
	Oid			database;
	Oid			role;
	int			places;			/* number of its places */
} Asker;

/* A place: free if there is no asker. */
typedef struct MissedPlace
{
	Asker	   *asker;			/* whose place it is */
	MissedCondition condition;	/* but for the number */
	pg_atomic_uint64 planned;
	pg_atomic_uint64 last;		/* when it was counted last */
} MissedPlace;

typedef struct Missed
{
	LWLock	   *lock;
	Asker		askers[PLACES];
	uint32		hashes[PLACES]; /* of the conditions of the places */
	MissedPlace places[PLACES];
} Missed;

static Missed *missed = NULL;
const SharedPart missed_shared = {"indextable_missed", sizeof(Missed), &missed, NULL};

static bool is_same_condition(MissedCondition *a, MissedCondition *b);
static MissedPlace *place_of_condition(uint32 hash, MissedCondition *condition);
static MissedPlace *take_place(void);
static int	add_up_roles(MissedCondition *found, int n);

/*
 * missed_is_kept
 *		Returns whether there is memory to count in, and an index table could be created in
 *		this database.
 */
bool
missed_is_kept(void)
{
	return missed != NULL && OidIsValid(get_namespace_oid(IT_INTERNAL, true));
}

/*
 * missed_count
 *		Counts a condition of the current user on a field of a table, which is as in create().
 *
 * The query is planned before the server checks its rights.  Of a role that may not read the field nothing is
 * counted, as names of fields are shown to the owner of the table.
 */
void
missed_count(PlannerInfo *root, RelOptInfo *rel, AttrNumber document, MissedKind kind, const char *field)
{
	Oid			fact = planner_rt_fetch(rel->relid, root)->relid;
	MissedCondition condition = {.fact = fact,.document = document,.kind = kind};
	uint32		hash;
	MissedPlace *place;

	/* Half of a name would be another field. */
	if (strlcpy(condition.field, field, MAX_MISSED_FIELD) >= MAX_MISSED_FIELD ||
		!may_read_any_row(root, rel, document))
		return;
	hash = hash_combine(hash_bytes((const unsigned char *) field, strlen(field)),
						hash_bytes_uint32(MyDatabaseId ^ fact ^ ((uint32) document << 16) ^ ((uint32) kind << 8)));
	hash = hash_combine(hash, hash_bytes_uint32(GetUserId()));
	LWLockAcquire(missed->lock, LW_SHARED);
	place = place_of_condition(hash, &condition);
	if (place == NULL)
	{
		LWLockRelease(missed->lock);
		LWLockAcquire(missed->lock, LW_EXCLUSIVE);
		/* Another session may just have given it one. */
		place = place_of_condition(hash, &condition);
	}
	if (place == NULL)
	{
		place = take_place();
		missed->hashes[place - missed->places] = hash;
		place->condition = condition;
		place->condition.since = GetCurrentStatementStartTimestamp();
		pg_atomic_init_u64(&place->planned, 0);
		pg_atomic_init_u64(&place->last, 0);
	}
	pg_atomic_fetch_add_u64(&place->planned, 1);
	pg_atomic_write_u64(&place->last, (uint64) GetCurrentStatementStartTimestamp());
	LWLockRelease(missed->lock);
}

/* is_same_condition: returns whether two conditions of a database are the same */
static bool
is_same_condition(MissedCondition *a, MissedCondition *b)
{
	return a->fact == b->fact && a->document == b->document && a->kind == b->kind &&
		strcmp(a->field, b->field) == 0;
}

/*
 * place_of_condition
 *		Returns the current user's place of a condition, or NULL; called under the lock.
 */
static MissedPlace *
place_of_condition(uint32 hash, MissedCondition *condition)
{
	for (int i = 0; i < PLACES; i++)
	{
		MissedPlace *place = &missed->places[i];

		if (missed->hashes[i] == hash && place->asker != NULL && place->asker->database == MyDatabaseId &&
			place->asker->role == GetUserId() && is_same_condition(&place->condition, condition))
			return place;
	}
	return NULL;
}

/*
 * take_place
 *		Gives the current user a place, a free one if there is any; called under the exclusive
 *		lock.
 */
static MissedPlace *
take_place(void)
{
	Asker	   *mine = NULL;
	Asker	   *unused = NULL;
	Asker	   *most = NULL;
	MissedPlace *taken = NULL;

	for (int i = 0; i < PLACES; i++)
	{
		Asker	   *asker = &missed->askers[i];

		if (asker->places == 0)
			unused = asker;
		else if (asker->database == MyDatabaseId && asker->role == GetUserId())
			mine = asker;
		if (most == NULL || asker->places > most->places)
			most = asker;
	}

	/*
	 * One place more than another is no reason to take it: the other would
	 * take it back.
	 */
	if (mine != NULL && most->places <= mine->places + 1)
		most = mine;
	for (int i = 0; i < PLACES && (taken == NULL || taken->asker != NULL); i++)
	{
		MissedPlace *place = &missed->places[i];

		if (place->asker == NULL ||
			(place->asker == most &&
			 (taken == NULL || pg_atomic_read_u64(&place->last) < pg_atomic_read_u64(&taken->last))))
			taken = place;
	}
	/* If no asker is unused, each has one place, and this one's goes. */
	if (taken->asker != NULL && --taken->asker->places == 0)
		unused = taken->asker;
	if (mine == NULL)
	{
		mine = unused;
		mine->database = MyDatabaseId;
		mine->role = GetUserId();
	}
	mine->places++;
	taken->asker = mine;
	return taken;
}

/*
 * missed_forget
 *		Has counting begin anew for a fact table, as one of its fields has an index table from
 *		now on.
 */
void
missed_forget(Oid fact)
{
	if (missed == NULL)
		return;
	LWLockAcquire(missed->lock, LW_EXCLUSIVE);
	for (int i = 0; i < PLACES; i++)
	{
		MissedPlace *place = &missed->places[i];

		if (place->asker == NULL || place->asker->database != MyDatabaseId || place->condition.fact != fact)
			continue;
		place->asker->places--;
		place->asker = NULL;
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
 * add_up_roles
 *		Makes one of the conditions that several roles have counted; returns the number of
 *		conditions.
 */
static int
add_up_roles(MissedCondition *found, int n)
{
	int			kept = 0;

	for (int i = 0; i < n; i++)
	{
		int			same = 0;

		while (same < kept && !is_same_condition(&found[same], &found[i]))
			same++;
		if (same == kept)
		{
			found[kept++] = found[i];
			continue;
		}
		found[same].planned += found[i].planned;
		found[same].since = Min(found[same].since, found[i].since);
	}
	return kept;
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
	static const char *const kinds[] = {"equal", "range", "contained", "join", "index"};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MissedCondition *found = palloc(sizeof(MissedCondition) * PLACES);
	int			n = 0;

	InitMaterializedSRF(fcinfo, 0);
	if (missed == NULL)
		return (Datum) 0;
	LWLockAcquire(missed->lock, LW_SHARED);
	for (int i = 0; i < PLACES; i++)
	{
		MissedPlace *place = &missed->places[i];

		if (place->asker == NULL || place->asker->database != MyDatabaseId)
			continue;
		found[n] = place->condition;
		found[n++].planned = pg_atomic_read_u64(&place->planned);
	}
	LWLockRelease(missed->lock);
	n = add_up_roles(found, n);
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
