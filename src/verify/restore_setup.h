/*-------------------------------------------------------------------------
 *
 * restore_setup.h
 *	  Mends what an index table needs to be kept in step, apart from its entries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_RESTORE_SETUP_H
#define INDEXTABLE_RESTORE_SETUP_H

#include "../indextable.h"

extern Oid	lacks_primary_key(Oid index_table);
extern void restore_setup(Oid index_table);

#endif							/* INDEXTABLE_RESTORE_SETUP_H */
