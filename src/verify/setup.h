/*-------------------------------------------------------------------------
 *
 * setup.h
 *	  Checks what an index table needs to be kept in step: triggers, guards, owner,
 *	  indexes and state.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SETUP_H
#define INDEXTABLE_SETUP_H

#include "utils/rel.h"

#include "../indextable.h"
#include "discrepancy.h"

extern void check_setup(IndexDef *def, Relation fact, Relation index_table,
						discrepancy_handler handler, void *arg);

extern Oid	lacks_primary_key(Oid index_table);
extern void restore_setup(Oid index_table);

#endif							/* INDEXTABLE_SETUP_H */
