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
