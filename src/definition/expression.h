/*-------------------------------------------------------------------------
 *
 * expression.h
 *	  Offers SQL expressions over a fact row: they are parsed, checked, compiled and evaluated.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_EXPRESSION_H
#define INDEXTABLE_EXPRESSION_H

#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "../indextable.h"

extern RowExpression *expression_parse(Relation fact, const char *text, Oid type, int32 typmod,
									   const char **column_names, bool given);
extern RowExpression *expression_compile(Relation fact, const char *text, Oid type, int32 typmod,
										 const char **column_names, bool given);
extern bool expression_calls_users_code(RowExpression *expr);
extern bool expression_parallel_safe(RowExpression *expr);
extern char *expression_text(Relation fact, RowExpression *expr);
extern Node *expression_node(RowExpression *expr);
extern bool expression_eval(RowExpression *expr, TupleTableSlot *row, Datum *result);
extern Bitmapset *expression_columns(RowExpression *expr);
extern List *expression_code(RowExpression *expr);
extern List *add_code_function(List *code, Oid function);
extern bool expression_is(RowExpression *expr, Node *node, Index varno);
extern void record_code_dependencies(Oid index_table, List *expressions);

#endif							/* INDEXTABLE_EXPRESSION_H */
