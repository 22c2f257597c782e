/*-------------------------------------------------------------------------
 *
 * size.h
 *	  Measures tables for those who only look, without waiting for a lock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SIZE_H
#define INDEXTABLE_SIZE_H

#include "nodes/pg_list.h"

extern bool measure_now(List *tables, int64 *table_size, int64 *indexes_size);

#endif							/* INDEXTABLE_SIZE_H */
