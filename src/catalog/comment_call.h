/*-------------------------------------------------------------------------
 *
 * comment_call.h
 *	  The comment of an index table, which has the statement that makes it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_COMMENT_CALL_H
#define INDEXTABLE_COMMENT_CALL_H

#include "nodes/pg_list.h"

#define COMMENT_BEGINS		"index table of "
#define STATEMENT_BEGINS	": SELECT indextable.create("

extern bool has_written_comment(Oid index_table, Oid fact_table);
extern bool is_undefined(Oid index_table);
extern List *undefined_tables(void);
extern List *undefined_of(List *undefined, Oid fact_table);
extern char *told_remaking(List *undefined);

#endif							/* INDEXTABLE_COMMENT_CALL_H */
