/*-------------------------------------------------------------------------
 *
 * read_rights.c
 *	  Tells, while a query is planned, what the user may read of a table in it.
 *
 * A query is planned before the server checks these rights, and functions that are called by then may
 * tell what they are shown.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "parser/parsetree.h"
#include "utils/acl.h"

#include "compat.h"
#include "read_rights.h"

static RangeTblEntry *named_table(PlannerInfo *root, RelOptInfo *rel, AttrNumber *attno);
static bool may_read_column(RelOptInfo *rel, RangeTblEntry *table, AttrNumber attno);

/*
 * may_read_all_columns
 *		Returns whether the user may read these columns of a table, offset as by pull_varattnos(), in all rows.
 */
bool
may_read_all_columns(PlannerInfo *root, RelOptInfo *rel, Bitmapset *columns)
{
	int			i = -1;

	while ((i = bms_next_member(columns, i)) >= 0)
	{
		AttrNumber	attno = i + FirstLowInvalidHeapAttributeNumber;

		if (attno <= 0 || !may_read_all(root, rel, attno))
			return false;
	}
	return true;
}

/*
 * may_read_all
 *		Returns whether the user may read a column of all rows of a table.  Otherwise the
 *		planner shows the values in statistics only to functions that do not tell what they
 *		have seen.
 */
bool
may_read_all(PlannerInfo *root, RelOptInfo *rel, AttrNumber attno)
{
	RangeTblEntry *table = named_table(root, rel, &attno);

	return table != NULL && table->securityQuals == NIL && may_read_column(rel, table, attno);
}

/* may_read_any_row: returns whether the user may read a column of some rows of a table */
bool
may_read_any_row(PlannerInfo *root, RelOptInfo *rel, AttrNumber attno)
{
	RangeTblEntry *table = named_table(root, rel, &attno);

	return table != NULL && may_read_column(rel, table, attno);
}

/*
 * named_table
 *		Returns the table that the query names for a table, whose rights count, and sets *attno to the number
 *		that a column has there; NULL: it has no such column.
 *
 * For a partition that is the table that it was found by.  (The server has a function for this
 * since the minor versions of August 2025 only.)
 */
static RangeTblEntry *
named_table(PlannerInfo *root, RelOptInfo *rel, AttrNumber *attno)
{
	Index		varno = rel->relid;

	while (root->append_rel_array != NULL && root->append_rel_array[varno] != NULL)
	{
		AppendRelInfo *child = root->append_rel_array[varno];

		/* The parent is no table, but a UNION ALL. */
		if (planner_rt_fetch(child->parent_relid, root)->rtekind != RTE_RELATION)
			break;
		if (*attno > child->num_child_cols || child->parent_colnos[*attno - 1] == 0)
			return NULL;
		*attno = child->parent_colnos[*attno - 1];
		varno = child->parent_relid;
	}
	return planner_rt_fetch(varno, root);
}

static bool
may_read_column(RelOptInfo *rel, RangeTblEntry *table, AttrNumber attno)
{
	Oid			user = OidIsValid(rel->userid) ? rel->userid : GetUserId();

	return pg_class_aclcheck(table->relid, user, ACL_SELECT) == ACLCHECK_OK ||
		pg_attribute_aclcheck(table->relid, attno, user, ACL_SELECT) == ACLCHECK_OK;
}
