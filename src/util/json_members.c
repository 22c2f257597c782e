/*-------------------------------------------------------------------------
 *
 * json_members.c
 *	  Goes through the members of an object in JSON, or the elements of an array.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "json_members.h"

/*
 * next_member
 *		Goes on to the next member or element, the first one to begin with; returns false if
 *		there is none.
 */
bool
next_member(JsonMembers *members)
{
	JsonbIteratorToken token;

	do
		token = JsonbIteratorNext(&members->it, &members->value, true);
	while (token == WJB_BEGIN_OBJECT || token == WJB_BEGIN_ARRAY);
	members->name = NULL;
	if (token == WJB_KEY)
	{
		members->name = pnstrdup(members->value.val.string.val, members->value.val.string.len);
		token = JsonbIteratorNext(&members->it, &members->value, true);
	}
	return token == WJB_VALUE || token == WJB_ELEM;
}
