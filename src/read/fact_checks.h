/*-------------------------------------------------------------------------
 *
 * fact_checks.h
 *	  Tells what constraints of a fact table say of the documents in it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FACT_CHECKS_H
#define INDEXTABLE_FACT_CHECKS_H

#include "utils/rel.h"
#include "utils/snapshot.h"

#include "../indextable.h"

extern bool check_says_not_null(Relation rel, IndexDef *def, Field *field);
extern bool check_says_array(Relation rel, IndexDef *def, Field *field);
extern bool snapshot_precedes_checks(Snapshot snapshot);

#endif							/* INDEXTABLE_FACT_CHECKS_H */
