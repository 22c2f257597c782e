/*-------------------------------------------------------------------------
 *
 * trigger_names.h
 *	  Lists the triggers that upkeep puts on fact tables and index tables, and
 *	  recognizes them by name.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TRIGGER_NAMES_H
#define INDEXTABLE_TRIGGER_NAMES_H

#define GUARD		"indextable_guard"
#define GUARD_ROW	"indextable_guard_row"
/* Which tables have a trigger. */
#define ON_PLAIN		0x01	/* fact tables that are not partitioned, */
#define ON_ROOT			0x02	/* those that are, */
#define ON_PARTITION	0x04	/* their partitions, */
#define ON_FOREIGN		0x08	/* and those of them that are on other servers */

typedef struct FactTrigger
{
	const char *name;
	const char *event;
	const char *level;
	bool		batches;		/* only transactional index tables need it */
	int			on;
	bool		cloned;			/* by the server, from the root to its
								 * partitions */
} FactTrigger;

#define FACT_TRIGGERS			4

extern bool is_our_trigger(const char *name);
extern bool has_triggers_of_ours(Oid relid, bool guard);
extern const FactTrigger fact_triggers[FACT_TRIGGERS];

#endif							/* INDEXTABLE_TRIGGER_NAMES_H */
