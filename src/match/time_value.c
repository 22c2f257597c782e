/*-------------------------------------------------------------------------
 *
 * time_value.c
 *	  Finds the days between which the entries of a date or a time are, where a query casts its text
 *	  otherwise than the field.
 *
 * The text of a time is read as a date, as a local time, or as one with a zone, and each of these is
 * made of another by the session's zone.  No zone, and no offset in a text, is a day away from
 * another one, so what comes of it is the field's value within a day or two.  That is what entries
 * are searched by; the condition itself is checked for each of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "match.h"

/* The number of casts and truncations of a text, one after the other, that are looked through. */
#define MAX_CASTS	6

/*
 * How many days the field may be from what is compared, in each direction; above that, how
 * much longer the unit is that it is truncated to.
 */
#define DAYS_APART(days)	((days) & 0xff)
#define UNIT_DAYS(days)		((days) >> 8)

static int	days_of_unit(Const *unit);
static bool is_near_utc(const char *zone);

/* is_time_type: returns whether a type is of dates, or of timestamps with or without a zone */
bool
is_time_type(Oid type)
{
	return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

/* time_strategy: returns how an operator compares two of these, or InvalidStrategy */
StrategyNumber
time_strategy(Oid operator)
{
	return get_op_opfamily_strategy(operator,
									lookup_type_cache(TIMESTAMPOID, TYPECACHE_BTREE_OPFAMILY)->btree_opf);
}

/*
 * time_of_field
 *		Returns whether an expression is the text of a field of dates or times that is cast to any of
 *		these types, perhaps several times, and truncated.  Sets *days for take_day().
 *
 * A text with an offset, and a comparison of two types, may each be as much as a day away, and so
 * may each cast.
 */
bool
time_of_field(IndexDef *def, Field *field, Node *expr, Index varno, int *days)
{
	int			apart = 2;
	int			unit = 0;

	if (!is_time_type(field->type) || !is_castable_field(field))
		return false;
	for (int i = 0; i < MAX_CASTS; i++)
	{
		List	   *args;
		int			truncated = 0;

		expr = bare_value(expr);
		if (IsA(expr, CoerceViaIO))
		{
			*days = apart | (unit + 1) << 8;
			return is_time_type(exprType(expr)) &&
				is_text_of_field(def, field, bare_value((Node *) ((CoerceViaIO *) expr)->arg), varno);
		}
		switch (function_of(expr, &args))
		{
			case F_DATE_TIMESTAMP:
			case F_DATE_TIMESTAMPTZ:
				truncated = 1;
				break;
			case F_TIMESTAMP_DATE:
			case F_TIMESTAMPTZ_DATE:
			case F_TIMESTAMP_TIMESTAMPTZ:
			case F_TIMESTAMPTZ_TIMESTAMP:
				break;
			case F_DATE_TRUNC_TEXT_TIMESTAMP:
			case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
				truncated = days_of_unit(linitial(args));
				if (truncated == 0)
					return false;
				break;
			default:
				return false;
		}
		expr = llast(args);
		unit += truncated;
		apart++;
	}
	return false;
}

/*
 * days_of_unit
 *		Returns how many days a unit of date_trunc() has at most, or 0 if it is not known.
 */
static int
days_of_unit(Const *unit)
{
	static const struct
	{
		const char *name;
		int			days;
	}			units[] = {{"second", 1}, {"minute", 1}, {"hour", 1}, {"day", 1}, {"week", 7}, {"month", 31}, {"quarter", 92}, {"year", 366}};
	char	   *name;

	if (!IsA(unit, Const) || unit->constisnull)
		return 0;
	name = TextDatumGetCString(unit->constvalue);
	for (int i = 0; i < (int) lengthof(units); i++)
	{
		if (pg_strcasecmp(name, units[i].name) == 0)
			return units[i].days;
	}
	return 0;
}

/*
 * take_day
 *		Sets *result to a bound of the entries for which what time_of_field() has found is compared with
 *		a value, a date or a time: a lower one, or, with a strategy of less, an upper one.
 */
Taken
take_day(Field *field, StrategyNumber strategy, Oid from, int days, Datum value, Datum *result)
{
	int64		day;

	if (from == DATEOID)
	{
		if (DATE_NOT_FINITE(DatumGetDateADT(value)))
			return TAKEN_UNKNOWN;
		day = DatumGetDateADT(value);
	}
	else
	{
		Timestamp	time = DatumGetTimestamp(value);

		if (TIMESTAMP_NOT_FINITE(time))
			return TAKEN_UNKNOWN;
		day = time / USECS_PER_DAY - (time % USECS_PER_DAY < 0);
	}
	if (!is_near_utc(pg_get_timezone_name(session_timezone)))
		return TAKEN_UNKNOWN;
	day += strategy < BTEqualStrategyNumber ? DAYS_APART(days) + UNIT_DAYS(days) : -DAYS_APART(days);
	if (field->type == DATEOID)
	{
		day = Max(day, DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE);
		*result = DateADTGetDatum((DateADT) Min(day, DATE_END_JULIAN - POSTGRES_EPOCH_JDATE - 1));
	}
	else if (day <= MIN_TIMESTAMP / USECS_PER_DAY)
		*result = TimestampGetDatum(MIN_TIMESTAMP);
	else
		*result = TimestampGetDatum(day < END_TIMESTAMP / USECS_PER_DAY ? day * USECS_PER_DAY : END_TIMESTAMP - 1);
	return TAKEN;
}

/*
 * is_near_utc
 *		Returns whether a time zone is less than a day from UTC, as all are that have a name.  One in
 *		POSIX's form may be a week away, as its hours tell.
 */
static bool
is_near_utc(const char *zone)
{
	for (const char *at = zone; *at != '\0'; at++)
	{
		if (isdigit((unsigned char) *at) && (at == zone || (!isdigit((unsigned char) at[-1]) && at[-1] != ':')) &&
			atoi(at) > 15)
			return false;
	}
	return true;
}
