/*-------------------------------------------------------------------------
 *
 * validity.h
 *	  Lists the triggers of the upkeep, and decides which definitions and queue tables in
 *	  the catalog are to be believed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_VALIDITY_H
#define INDEXTABLE_VALIDITY_H

#include "access/tupdesc.h"

#include "../indextable.h"
#include "fact_rows.h"

/* The triggers of index tables, which keep users from writing them. */
#define GUARD		"indextable_guard"
#define GUARD_ROW	"indextable_guard_row"

/* The kinds of tables that a trigger can be on. */
#define ON_PLAIN		0x01	/* fact tables that are not partitioned */
#define ON_ROOT			0x02	/* fact tables that are partitioned */
#define ON_PARTITION	0x04	/* partitions on this server */
#define ON_FOREIGN		0x08	/* partitions on other servers */
#define ON_DISTRIBUTED	0x10	/* fact tables that Citus distributes */

/* A trigger of fact tables. */
typedef struct FactTrigger
{
	const char *name;
	const char *event;
	const char *level;
	bool		batches;		/* only transactional index tables need it */
	int			on;				/* the tables that have it: ON_... */
	bool		cloned;			/* the server copies it from the root to the
								 * partitions */
} FactTrigger;

#define FACT_TRIGGERS			4

extern bool is_our_trigger(const char *name);
extern bool is_our_guard(const char *name);
extern bool is_our_copied_trigger(const char *name);
extern bool has_triggers_of_ours(Oid relid, bool guard);
extern const FactTrigger fact_triggers[FACT_TRIGGERS];

extern bool is_adopted(Oid index_table, Oid fact_table);
extern bool definition_matches_tables(DefinitionRow *row);

/* The names of all queue tables begin with this. */
#define QUEUE_TABLE_PREFIX	"queue_"

extern bool find_queue_tables(FactTableRow *row, TupleDesc desc);
extern void queue_table_drop(Oid relid);

#endif							/* INDEXTABLE_VALIDITY_H */
