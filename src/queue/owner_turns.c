/*-------------------------------------------------------------------------
 *
 * owner_turns.c
 *	  Shares the time of a worker among the owners of the tables that it works for.
 *
 * What a worker does for one table at once is limited.  But an owner may have any number of tables,
 * and have the code of each take all of that time.  So what it does for all tables of an owner is
 * limited, too: in a round, to a turn and the attempt with which that is over; and after an attempt
 * that takes longer than a turn, others have as much time.  So others wait for one attempt at most,
 * by each owner.  All of that is for others: a worker of one owner's tables does what there is to do.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "../util/relation.h"
#include "queue.h"

/* An owner of tables. */
typedef struct OwnerTurn
{
	Oid			owner;			/* hash key */
	uint64		found;			/* when it was last found to have tables */
	uint64		round;			/* number of the last one that it has begun */
	int64		used;			/* ms that it has used in that */
	TimestampTz rests_until;	/* others have their turn until then */
} OwnerTurn;

static HTAB *turns = NULL;
static uint64 search = 0;		/* number of the present search for tables */
static int	nowners = 0;		/* that it has found */
static uint64 round_number = 0;

static OwnerTurn *turn_of(Oid owner);

/* owners_search: begins to find the owners of the tables that there is something to do for */
void
owners_search(void)
{
	search++;
	nowners = 0;
}

/* owners_found: has found that an owner has one */
void
owners_found(Oid owner)
{
	OwnerTurn  *turn = turn_of(owner);

	if (turn->found != search)
		nowners++;
	turn->found = search;
}

/* owners_begin_round: has all owners have their turn again */
void
owners_begin_round(void)
{
	round_number++;
}

/*
 * owner_may_try
 *		Returns whether something may be done for a table of an owner; if not, sets *next_try to when, unless
 *		it is earlier.
 */
bool
owner_may_try(Oid owner, TimestampTz *next_try)
{
	OwnerTurn  *turn = turn_of(owner);
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz next = now;

	if (nowners < 2)
		return true;
	if (now < turn->rests_until)
		next = turn->rests_until;
	else if (turn->round != round_number || turn->used <= turn_ms())
		return true;
	*next_try = Min(*next_try, next);
	return false;
}

/* owner_took: notes for how many ms something was done for a table of an owner */
void
owner_took(Oid owner, int ms)
{
	OwnerTurn  *turn = turn_of(owner);

	if (turn->round != round_number)
		turn->used = 0;
	turn->round = round_number;
	turn->used += ms;
	if (ms > turn_ms())
		turn->rests_until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
}

static OwnerTurn *
turn_of(Oid owner)
{
	bool		found;
	OwnerTurn  *turn;

	if (turns == NULL)
		turns = hash_by_oid("indextable owners", 16, sizeof(OwnerTurn), NULL);
	turn = hash_search(turns, &owner, HASH_ENTER, &found);
	if (!found)
		memset((char *) turn + sizeof(Oid), 0, sizeof(OwnerTurn) - sizeof(Oid));
	return turn;
}
