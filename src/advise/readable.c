/*-------------------------------------------------------------------------
 *
 * readable.c
 *	  Shows shares and sizes to people, as bars of characters and as rounded numbers, and lines
 *	  of advice.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "nodes/execnodes.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "readable.h"

/* can_show_utf8: returns whether both the database and the client can have any character */
bool
can_show_utf8(void)
{
	return GetDatabaseEncoding() == PG_UTF8 && pg_get_client_encoding() == PG_UTF8;
}

/*
 * draw_bar
 *		Returns a bar whose length is that share of width characters.
 *
 * It is made of blocks, the last of which may be as narrow as an eighth, or of ASCII
 * characters if the client cannot show blocks.  It is empty only if the share is 0.
 */
char *
draw_bar(double share, int width)
{
	/* The blocks are U+2588, which is full, to U+258F, which is one eighth. */
	bool		blocks = can_show_utf8();
	int			steps = blocks ? 8 : 2;
	StringInfoData result;
	int			n;

	initStringInfo(&result);
	if (!(share > 0))
		return result.data;
	n = Max((int) rint(Min(share, 1) * width * steps), 1);
	for (; n >= steps; n -= steps)
		appendStringInfoString(&result, blocks ? "\342\226\210" : "#");
	if (n > 0)
		appendStringInfo(&result, blocks ? "\342\226%c" : "%c", blocks ? 0220 - n : '.');
	return result.data;
}

/* in_percent: returns a share as a percentage, rounded for people to read */
const char *
in_percent(double share)
{
	double		percent = share * 100;

	return psprintf(percent == 0 ? "0 %%" : percent < 0.1 ? "less than 0.1 %%" :
					percent < 10 || (percent > 99 && percent < 100) ? "%.1f %%" : "%.0f %%", percent);
}

/* in_bytes: returns a number of bytes with its unit, rounded for people to read */
const char *
in_bytes(double bytes)
{
	static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
	int			unit = 0;

	while (bytes >= 1000 && unit < (int) lengthof(units) - 1)
	{
		bytes /= 1000;
		unit++;
	}
	return psprintf(unit == 0 || bytes >= 100 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

/* in_count: returns a number of things in groups of three digits */
const char *
in_count(double n)
{
	char	   *digits = psprintf("%.0f", n);
	int			len = strlen(digits);
	StringInfoData result;
	int			i;

	/* Four digits are read without a comma. */
	if (len <= 4)
		return digits;
	initStringInfo(&result);
	for (i = 0; i < len; i++)
	{
		if (i > 0 && (len - i) % 3 == 0)
			appendStringInfoChar(&result, ',');
		appendStringInfoChar(&result, digits[i]);
	}
	return result.data;
}

/* put_line: adds a line to the result of advise() */
void
put_line(ReturnSetInfo *rsinfo, const char *topic, const char *fmt,...)
{
	StringInfoData line;
	Datum		values[2];
	bool		isnull[2] = {0};

	initStringInfo(&line);
	for (;;)
	{
		va_list		args;
		int			needed;

		va_start(args, fmt);
		needed = appendStringInfoVA(&line, fmt, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&line, needed);
	}
	values[0] = CStringGetTextDatum(topic);
	values[1] = CStringGetTextDatum(line.data);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, isnull);
}

/* put_documents: adds a line with how many documents there are, and of how many the advice is made */
void
put_documents(ReturnSetInfo *rsinfo, double documents, double bytes, int partitions, bool complete, int64 sampled)
{
	StringInfoData line;

	initStringInfo(&line);
	appendStringInfo(&line, "%s%s of %s", complete ? "" : "about ", in_count(documents), in_bytes(bytes));
	if (partitions > 0)
		appendStringInfo(&line, ", in %d partitions", partitions);
	if (!complete)
		appendStringInfo(&line, "; a sample of %s", in_count(sampled));
	put_line(rsinfo, "documents", "%s", line.data);
}

/* in_time: returns a number of milliseconds with its unit, rounded for people to read */
const char *
in_time(double ms)
{
	return ms < 1000 ? psprintf("%.0f ms", ms) : ms < 1000000 ? psprintf("%.1f s", ms / 1000) :
		psprintf("%.1f h", ms / 3600000);
}
