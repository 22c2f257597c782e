/*-------------------------------------------------------------------------
 *
 * request.h
 *	  Offers the arguments of create() and alter() that describe an index table, read and checked.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_REQUEST_H
#define INDEXTABLE_REQUEST_H

#include "fmgr.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "../indextable.h"

/* How a user wants an index table to be partitioned, as given to create() or alter(). */
typedef struct PartitioningRequest
{
	int			partitions;		/* 0: not given */
	char	   *by;				/* NULL: hash of the first key field */
	List	   *bounds;			/* of char * */
	List	   *tablespaces;	/* of char * */
} PartitioningRequest;

extern void partitioning_args(FunctionCallInfo fcinfo, int partitions, int by, PartitioningRequest *request);
extern void check_request(DefinitionRow *row);
extern void take_totals(DefinitionRow *row, List *totals, bool partitioned, List **summed);
extern char *check_filter(Relation fact, const char *filter);

#endif							/* INDEXTABLE_REQUEST_H */
