/*-------------------------------------------------------------------------
 *
 * survey.h
 *	  Finds out which values documents have at which places.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SURVEY_H
#define INDEXTABLE_SURVEY_H

#include "lib/hyperloglog.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "../indextable.h"

/* A place in documents: the root, a member of objects, or the elements of arrays. */
typedef struct Place
{
	struct Place *parent;		/* NULL: the root */
	char	   *name;			/* of the member; NULL: the root, or elements */
	int			len;			/* of name */
	int			depth;			/* steps from the root */
	bool		is_multi;		/* the path has a [*] */
	bool		is_map;			/* its objects have members of too many names
								 * to follow them */
	bool		pruned;			/* names that were rare were forgotten */
	bool		not_followed;	/* objects or arrays that are too deep, or
								 * arrays within arrays */
	struct Place **members;		/* sorted as jsonb sorts them */
	int			nmembers;
	int			room;			/* in members */
	struct Place *elements;		/* NULL: no array was seen */
	int64		seen;			/* values of any kind, */
	int64		objects;		/* and objects */

	/* Scalars that were seen here, without null */
	int64		row;			/* the row of the last one */
	int64		rows;			/* rows that have one */
	int64		values;
	int64		bytes;			/* of texts and numbers */
	int64		integers;		/* numbers without a fraction */
	int64		bigints;		/* of these, those of many digits */
	int64		fractions;		/* other numbers */
	int64		booleans;
	int64		dates;			/* texts that look like these */
	int64		timestamps;
	int64		instants;		/* timestamps with an offset */
	int64		uuids;
	hyperLogLogState distinct;
} Place;

typedef struct Survey
{
	MemoryContext cxt;
	Place	   *root;
	List	   *scalars;		/* of Place *, in the order of paths: those
								 * with scalars */
	List	   *maps;			/* those of whose members some, or all, were
								 * too rare to be remembered */
	List	   *not_followed;	/* those with objects or arrays that are not */
	int			nplaces;
	bool		full;			/* there were more places than are followed */
	int64		sampled;		/* documents */
	int64		objects;		/* of these, objects and arrays */
	double		documents;		/* an estimate for the whole table */
	double		document_bytes;
	bool		complete;		/* all rows were looked at */
	int			partitions;
} Survey;

/* Steps of a path that are followed. */
#define MAX_DEPTH			6

extern Survey *survey_documents(FactDef *def, AttrNumber doc, Relation fact, int rows);
extern Oid	place_type(Place *place);
extern List *place_steps(Place *place);

#endif							/* INDEXTABLE_SURVEY_H */
