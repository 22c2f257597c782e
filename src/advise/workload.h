/*-------------------------------------------------------------------------
 *
 * workload.h
 *	  Tells which queries filter by fields of a fact table's documents, how often they ran,
 *	  and how long.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_WORKLOAD_H
#define INDEXTABLE_WORKLOAD_H

#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "query_fields.h"

/* What the server knows of queries; of one that filters by two fields, each has all of it. */
typedef struct Load
{
	double		calls;
	double		ms;
	int			sessions;		/* whose last query is one of these */
	bool		reads_all;		/* some read most of the table's blocks */
} Load;

typedef struct LoadedField
{
	QueryField	field;			/* not hidden */
	Load		load;
} LoadedField;

/* A query whose text does not tell by which fields it filters. */
typedef struct HiddenQuery
{
	char	   *text;
	Load		load;
	Oid			type;			/* of the only field; InvalidOid: there are
								 * several */
	bool		is_contained;	/* by @> or ? */
	double		found;			/* rows that it finds; < 0: not known */
} HiddenQuery;

typedef struct Workload
{
	MemoryContext cxt;
	const char *problem;		/* why pg_stat_statements was not read, or
								 * NULL */
	int64		invisible;		/* texts that the caller may not read */
	int			statements;		/* that filter by fields */
	Load		load;			/* of all of them */
	List	   *fields;			/* of LoadedField *, of which each is another
								 * one */
	List	   *hidden;			/* of HiddenQuery *, the longest in all first */
} Workload;

extern bool same_steps(List *a, List *b);
extern Workload *read_workload(Relation fact, const char *document);

#endif							/* INDEXTABLE_WORKLOAD_H */
