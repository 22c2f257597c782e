/*-------------------------------------------------------------------------
 *
 * guard.h
 *	  Tells the guard of index tables, which refuses writes by hand, and the event
 *	  triggers to let the extension's own commands pass.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_GUARD_H
#define INDEXTABLE_GUARD_H

#include "nodes/nodes.h"

/*
 * The index table that the extension truncates, or alters, at this moment, or
 * InvalidOid.  Who sets one of them restores what it was, also after an error: code of
 * others runs in such a command, and may bring about another one.
 */
extern Oid	truncated_by_us;
extern Oid	altered_by_us;

extern bool is_own_alter(Node *command);

#endif							/* INDEXTABLE_GUARD_H */
