/*-------------------------------------------------------------------------
 *
 * text_bar.c
 *	  Draws a share as a bar of characters, for the text of advise().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include <math.h>
#include "mb/pg_wchar.h"

#include "text_bar.h"

/* can_show_utf8: whether any character can be stored and sent */
bool
can_show_utf8(void)
{
	return GetDatabaseEncoding() == PG_UTF8 && pg_get_client_encoding() == PG_UTF8;
}

/*
 * draw_bar
 *		At most width characters, none for nothing: blocks down to an eighth where
 *		they can be stored and sent, or else ASCII.
 */
char *
draw_bar(double share, int width)
{
	/* U+2588, full, to U+258F, one eighth */
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
