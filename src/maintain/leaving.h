/*-------------------------------------------------------------------------
 *
 * leaving.h
 *	  Keeps rows out of partitions whose entries are deleted already.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LEAVING_H
#define INDEXTABLE_LEAVING_H

#include "access/xact.h"
#include "utils/rel.h"

extern void note_leaving(Oid partition);
extern bool is_leaving(Oid partition);
extern void forget_leaving(Oid partition);
extern void refuse_leaving(Relation written);
extern void leaving_at_xact_event(XactEvent event);
extern void leaving_at_subxact_event(SubXactEvent event, SubTransactionId sub, SubTransactionId parent);

#endif							/* INDEXTABLE_LEAVING_H */
