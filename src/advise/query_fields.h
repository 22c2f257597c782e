/*-------------------------------------------------------------------------
 *
 * query_fields.h
 *	  Finds the fields of documents by which a query filters.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_QUERY_FIELDS_H
#define INDEXTABLE_QUERY_FIELDS_H

#include "nodes/pg_list.h"

/* A field by which a query filters. */
typedef struct QueryField
{
	List	   *steps;			/* names (char *), NULL for [*]; unless ... */
	bool		is_hidden;		/* ... the text of the query does not have
								 * them */
	Oid			type;			/* that the query casts it to; InvalidOid:
								 * none that a field can have */
	bool		is_equality;
	bool		is_contained;	/* by @> or ?, as elements of arrays are */
} QueryField;

typedef struct QueryFields
{
	List	   *fields;			/* of QueryField * */
	bool		returns_found;	/* it returns the rows for which the only
								 * field has a value, no others and not fewer */
} QueryFields;

extern QueryFields *fields_of_query(const char *sql, const char *schema, const char *table, const char *document);

#endif							/* INDEXTABLE_QUERY_FIELDS_H */
