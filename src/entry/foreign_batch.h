/*-------------------------------------------------------------------------
 *
 * foreign_batch.h
 *	  Collects many primary keys, and fetches the fact rows of those that are on other
 *	  servers all at once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FOREIGN_BATCH_H
#define INDEXTABLE_FOREIGN_BATCH_H

#include "nodes/pg_list.h"

#include "foreign_scan.h"

typedef struct ForeignBatch ForeignBatch;

extern ForeignBatch *foreign_batch_begin(RowRequest *request);
extern void foreign_batch_add(ForeignBatch *batch, Datum *key, Oid partition);
extern void foreign_batch_run(ForeignBatch *batch);
extern bool foreign_batch_find(ForeignBatch *batch, Datum *key, List **rows);
extern bool foreign_batch_next(ForeignBatch *batch, Datum **key, bool *local, List **rows);

#endif							/* INDEXTABLE_FOREIGN_BATCH_H */
