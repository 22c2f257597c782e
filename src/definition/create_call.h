/*-------------------------------------------------------------------------
 *
 * create_call.h
 *	  Offers the statement that makes an index table as it is, and the comment that has it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CREATE_CALL_H
#define INDEXTABLE_CREATE_CALL_H

#include "../indextable.h"

extern char *create_call(const char *index_table, const char *fact_table, DefinitionRow *row, const char *first_column);
extern char *definition_statement(Oid index_table);
extern void describe_index_table(Oid index_table, bool is_made);

#endif							/* INDEXTABLE_CREATE_CALL_H */
