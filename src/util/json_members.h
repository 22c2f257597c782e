/*-------------------------------------------------------------------------
 *
 * json_members.h
 *	  Goes through the members of an object in JSON, or the elements of an array.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_JSON_MEMBERS_H
#define INDEXTABLE_JSON_MEMBERS_H

#include "utils/jsonb.h"

/* The members of an object in JSON, or the elements of an array. */
typedef struct JsonMembers
{
	JsonbIterator *it;
	char	   *name;			/* of the one that it is at, unless that is an
								 * element, ... */
	JsonbValue	value;			/* ... and its value */
} JsonMembers;

extern bool next_member(JsonMembers *members);

#endif							/* INDEXTABLE_JSON_MEMBERS_H */
