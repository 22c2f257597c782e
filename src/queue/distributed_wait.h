/*-------------------------------------------------------------------------
 *
 * distributed_wait.h
 *	  Waits until the index tables of a fact table that Citus has distributed have caught
 *	  up.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DISTRIBUTED_WAIT_H
#define INDEXTABLE_DISTRIBUTED_WAIT_H

#include "datatype/timestamp.h"

#include "../catalog/fact_rows.h"

extern bool wait_for_distributed_queue(FactTableRow *queue, TimestampTz before, TimestampTz until);

#endif							/* INDEXTABLE_DISTRIBUTED_WAIT_H */
