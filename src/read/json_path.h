/*-------------------------------------------------------------------------
 *
 * json_path.h
 *	  Offers the comparisons that follow from conditions in jsonpath.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_JSON_PATH_H
#define INDEXTABLE_JSON_PATH_H

#include "search_condition.h"

extern Node *without_sql_json(Node *clause);
extern List *json_path_conditions(IndexDef *def, Node *clause, Index varno);

#endif							/* INDEXTABLE_JSON_PATH_H */
