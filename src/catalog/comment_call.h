/*-------------------------------------------------------------------------
 *
 * comment_call.h
 *	  The comment of an index table, which has the statement that makes it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_COMMENT_CALL_H
#define INDEXTABLE_COMMENT_CALL_H

#define COMMENT_BEGINS		"index table of "
#define STATEMENT_BEGINS	": SELECT indextable.create("

extern bool has_written_comment(Oid index_table, Oid fact_table);
extern char *call_in_comment(Oid index_table);

#endif							/* INDEXTABLE_COMMENT_CALL_H */
