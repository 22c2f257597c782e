/*-------------------------------------------------------------------------
 *
 * foreign_by_key.c
 *	  Fetches rows of other servers by their primary keys, with as few statements as
 *	  possible.
 *
 * The values of the keys are parameters of statements that are planned once, with
 * these values: so they are constants to the planner, which leaves out all other
 * partitions, and to the other server.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attnum.h"
#include "access/htup.h"
#include "access/htup_details.h"
#include "catalog/pg_operator.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "../indextable.h"
#include "../util/relation.h"
#include "../util/role.h"
#include "foreign_by_key.h"
#include "foreign_scan.h"

/* How many keys one statement asks for, if each needs a condition of its own. */
#define MAX_CONDITIONS		200

static void fetch_some(RowRequest *request, Datum *keys, int n, bool as_list,
					   void (*each) (TupleTableSlot *row, void *arg), void *arg);
static int	differing_columns(FactDef *def, Datum *keys, int n, bool *differs);
static char *qualified_equality(Oid type);

/*
 * foreign_by_key_fetch
 *		Calls each() with every row that has one of n primary keys, in no order.
 *
 * keys has the values of all columns of the first key, then those of the second, and
 * so on.  A row is valid for the call only.  If the request is for the fact table as
 * a whole, one statement asks all partitions concerned and no others, at the same
 * time if their foreign-data wrapper can do that.
 */
void
foreign_by_key_fetch(RowRequest *request, Datum *keys, int n, void (*each) (TupleTableSlot *row, void *arg), void *arg)
{
	FactDef    *def = request->def;
	bool		differs[INDEX_MAX_KEYS];
	bool		as_list;
	int			step = n;
	int			i;
	int			k;

	/*
	 * If at most one column differs between the keys, the condition is column
	 * = ANY (values); else it is (a = 1 AND b = 2) OR (...) ...
	 */
	as_list = differing_columns(def, keys, n, differs) <= 1;
	for (k = 0; k < def->npk; k++)
		as_list &= !differs[k] || OidIsValid(get_array_type(TupleDescAttr(def->desc, def->pk_attno[k] - 1)->atttypid));
	if (!as_list)
		step = MAX_CONDITIONS;
	for (i = 0; i < n; i += step)
		fetch_some(request, keys + (Size) i * def->npk, Min(step, n - i), as_list, each, arg);
}

/*
 * fetch_some
 *		Fetches the rows of some keys with one statement; as_list says that its condition
 *		has the form column = ANY (values).
 */
static void
fetch_some(RowRequest *request, Datum *keys, int n, bool as_list,
		   void (*each) (TupleTableSlot *row, void *arg), void *arg)
{
	FactDef    *def = request->def;
	MemoryContext cxt = CurrentMemoryContext;
	TupleTableSlot *slot = MakeSingleTupleTableSlot(def->desc, &TTSOpsVirtual);
	Oid		   *types = palloc(sizeof(Oid) * n * def->npk);
	Datum	   *values = palloc(sizeof(Datum) * n * def->npk);
	bool		differs[INDEX_MAX_KEYS];
	int			nargs = 0;
	AttrNumber *columns;
	StringInfoData sql;
	Caller		caller;
	int			nestlevel;
	uint64		row;
	int			i;
	int			k;

	initStringInfo(&sql);
	appendStringInfo(&sql, "%s WHERE ", select_rows(request, &columns));
	(void) differing_columns(def, keys, n, differs);
	for (i = 0; i < (as_list ? 1 : n); i++)
	{
		appendStringInfoString(&sql, i > 0 ? " OR (" : "(");
		for (k = 0; k < def->npk; k++)
		{
			Form_pg_attribute att = TupleDescAttr(def->desc, def->pk_attno[k] - 1);
			bool		list = as_list && differs[k];

			appendStringInfo(&sql, list ? "%sf.%s %s ANY ($%d)" : "%sf.%s %s $%d", k > 0 ? " AND " : "",
							 quote_identifier(NameStr(att->attname)), qualified_equality(att->atttypid), nargs + 1);
			types[nargs] = list ? get_array_type(att->atttypid) : att->atttypid;
			if (list)
			{
				Datum	   *elements = palloc(sizeof(Datum) * n);
				int			e;

				for (e = 0; e < n; e++)
					elements[e] = keys[(Size) e * def->npk + k];
				values[nargs++] = PointerGetDatum(construct_array(elements, n, att->atttypid, att->attlen,
																  att->attbyval, att->attalign));
			}
			else
				values[nargs++] = keys[(Size) i * def->npk + k];
		}
		appendStringInfoChar(&sql, ')');
	}

	if (OidIsValid(request->role))
		become_owner(&caller, request->role);
	nestlevel = NewGUCNestLevel();
	if (request->all)
		set_config_option("row_security", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	SPI_connect();
	if (SPI_execute_with_args(sql.data, nargs, types, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read table \"%s\"", RelationGetRelationName(request->rel));
	for (row = 0; row < SPI_processed; row++)
	{
		MemoryContext old = MemoryContextSwitchTo(cxt);

		store_row(def, SPI_tuptable->vals[row], SPI_tuptable->tupdesc, columns, slot);
		each(slot, arg);
		MemoryContextSwitchTo(old);
	}
	ExecDropSingleTupleTableSlot(slot);
	SPI_finish();
	AtEOXact_GUC(false, nestlevel);
	if (OidIsValid(request->role))
		become_caller(&caller);
}

/*
 * differing_columns
 *		Returns how many columns of the primary key differ between the keys, and sets
 *		differs to which of them.
 */
static int
differing_columns(FactDef *def, Datum *keys, int n, bool *differs)
{
	int			count = 0;
	int			i;
	int			k;

	for (k = 0; k < def->npk; k++)
	{
		Form_pg_attribute att = TupleDescAttr(def->desc, def->pk_attno[k] - 1);

		differs[k] = false;
		for (i = 1; i < n && !differs[k]; i++)
			differs[k] = !datum_image_eq(keys[k], keys[(Size) i * def->npk + k], att->attbyval, att->attlen);
		count += differs[k];
	}
	return count;
}

/* qualified_equality: returns the equality operator of a type, as SQL */
static char *
qualified_equality(Oid type)
{
	Oid			operator = get_equality_operator(type);
	HeapTuple	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator));
	char	   *result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator %u", operator);
	result = psprintf("OPERATOR(%s.%s)",
					  quote_identifier(get_namespace_name(((Form_pg_operator) GETSTRUCT(tuple))->oprnamespace)),
					  NameStr(((Form_pg_operator) GETSTRUCT(tuple))->oprname));
	ReleaseSysCache(tuple);
	return result;
}
