/*-------------------------------------------------------------------------
 *
 * read_rights.h
 *	  Tells, while a query is planned, what the user may read of a table in it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_READ_RIGHTS_H
#define INDEXTABLE_READ_RIGHTS_H

#include "nodes/pathnodes.h"

extern bool may_read_all(PlannerInfo *root, RelOptInfo *rel, AttrNumber attno);
extern bool may_read_any_row(PlannerInfo *root, RelOptInfo *rel, AttrNumber attno);
extern bool may_read_all_columns(PlannerInfo *root, RelOptInfo *rel, Bitmapset *columns);

#endif							/* INDEXTABLE_READ_RIGHTS_H */
