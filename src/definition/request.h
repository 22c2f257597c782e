/*-------------------------------------------------------------------------
 *
 * request.h
 *	  Checks what users ask for, before anything is made of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_REQUEST_H
#define INDEXTABLE_REQUEST_H

#include "fmgr.h"

#include "../indextable.h"
#include "cache.h"

extern const char *const strategies[];
extern const char *const maintenances[];
extern void partitioning_args(FunctionCallInfo fcinfo, int partitions, int by, PartitioningRequest *request);
extern void check_definition(DefinitionRow *row);

#endif							/* INDEXTABLE_REQUEST_H */
