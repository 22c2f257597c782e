/*-------------------------------------------------------------------------
 *
 * trouble.h
 *	  Keeps what keeps the batches of a queue from being applied.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TROUBLE_H
#define INDEXTABLE_TROUBLE_H

#include "shared_memory.h"

/*
 * A queue whose batch has failed is left alone for this time, in ms.  Each time that it
 * fails again it is twice as long, up to the maximum; up to the other one while it only
 * waits.
 */
#define MIN_BACKOFF			100
#define MAX_BACKOFF			60000
#define MAX_WAIT			500

extern bool trouble_of(Oid fact_table, Oid server, Trouble *trouble);
extern bool trouble_note_error(Oid fact_table, Oid server, ErrorData *error);
extern bool trouble_note_wait(Oid fact_table, Oid queue_table);
extern void trouble_end(Oid fact_table, Oid server);
extern char *trouble_text(const Trouble *trouble, Oid fact_table);

#endif							/* INDEXTABLE_TROUBLE_H */
