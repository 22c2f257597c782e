/*-------------------------------------------------------------------------
 *
 * field_match.h
 *	  Tells which field of an index table an expression of a query is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FIELD_MATCH_H
#define INDEXTABLE_FIELD_MATCH_H

#include "../indextable.h"

extern AttrNumber column_of_expression(IndexDef *def, Node *expr, Index varno);
extern uint32 values_read_otherwise(IndexDef *def, AttrNumber attno);
extern bool expression_is_field(IndexDef *def, Field *field, Node *expr, Index varno);
extern bool expression_is_element(IndexDef *def, Field *field, Node *expr, Index varno);
extern bool depends_on_json_path(Node *node, void *context);
extern bool expression_resembles_field(IndexDef *def, Field *field, Node *expr, Index varno);
extern bool expression_is_path(AttrNumber doc, PathStep *steps, int nsteps, Node *expr, Index varno, bool as_text);
extern bool is_value_after(IndexDef *def, Field *field, int nsteps, Node *expr, Index varno);
extern bool is_text_of_field(IndexDef *def, Field *field, Node *expr, Index varno);
extern Field *field_of_column(IndexDef *def, AttrNumber attno);
extern Node *bare_value(Node *expr);
extern Oid	function_of(Node *expr, List **args);
extern Node *without_casts(Node *expr);

#endif							/* INDEXTABLE_FIELD_MATCH_H */
