/*-------------------------------------------------------------------------
 *
 * row_error.c
 *	  Names the tables that an error about a row is about, in the fields that clients read.
 *
 * An index table refuses rows as a constraint of its fact table does: so the table is the
 * fact table, which the application has written to, and the constraint is the index table.
 * The column is the field, by the name that it has in the index table: one column of the
 * fact table has all fields of the documents.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "../indextable.h"
#include "row_error.h"

/*
 * errindextable
 *		Adds to an error which fact table, index table and field it is about, as errtable(),
 *		errtableconstraint() and errtablecol() do; field is NULL if there is none.
 *
 * The fact table may be partitioned: its name is the one that users know, and not that of the
 * partition.
 */
int
errindextable(IndexDef *def, Field *field)
{
	char	   *table = get_rel_name(def->fact->relid);

	if (table != NULL)
	{
		err_generic_string(PG_DIAG_SCHEMA_NAME, get_namespace_name(get_rel_namespace(def->fact->relid)));
		err_generic_string(PG_DIAG_TABLE_NAME, table);
	}
	if (field != NULL)
		err_generic_string(PG_DIAG_COLUMN_NAME,
						   NameStr(TupleDescAttr(def->desc, field->attno - 1)->attname));
	err_generic_string(PG_DIAG_CONSTRAINT_NAME, def->name);
	return 0;					/* as errtable() does */
}

/*
 * rethrow_duplicate
 *		Throws the error in PG_CATCH() on.  If the unique key of the index table has raised it,
 *		the error speaks of the index table instead of its primary key, which may be that of a
 *		partition, with a name that differs from value to value.
 */
void
rethrow_duplicate(Writer *w, MemoryContext cxt)
{
	ErrorData  *error;

	MemoryContextSwitchTo(cxt);
	error = CopyErrorData();
	if (error->sqlerrcode != ERRCODE_UNIQUE_VIOLATION || error->constraint_name == NULL ||
		strcmp(error->constraint_name, RelationGetRelationName(w->indexes[w->primary_index])) != 0)
		PG_RE_THROW();
	FlushErrorState();
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("duplicate key value violates unique constraint \"%s\"", w->def->name),
			 error->detail != NULL ? errdetail_internal("%s", error->detail) : 0,
			 errindextable(w->def, NULL)));
}
