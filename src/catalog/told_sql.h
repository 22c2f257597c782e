/*-------------------------------------------------------------------------
 *
 * told_sql.h
 *	  SQL that messages tell users to run.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TOLD_SQL_H
#define INDEXTABLE_TOLD_SQL_H

#include "../indextable.h"

extern char *told_call(const char *function, Oid index_table);
extern char *told_activation(Oid index_table);
extern char *told_skip(Oid index_table);
extern char *told_refuse(Oid index_table);
extern char *told_unqueue(Oid fact);
extern char *told_drop(Oid fact);

#endif							/* INDEXTABLE_TOLD_SQL_H */
