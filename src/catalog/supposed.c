/*-------------------------------------------------------------------------
 *
 * supposed.c
 *	  Knows the tables that are supposed to exist while a query is planned for
 *	  indextable.explain(query, what_if), and the statistics of columns, theirs among them.
 *
 * They are index tables without a row in any catalog, by OIDs that no table has: nothing locks them, nor
 * opens them.  They are known while one query is planned (plan_with_options(), candidate/query_table.c), and
 * neither to what is planned nor to what is executed meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/syscache.h"

#include "catalog.h"

List	   *supposed_facts = NIL;
struct Query *supposing_query = NULL;
List	   *supposing_facts = NIL;

/* supposed_table: returns a table that is supposed to exist, or NULL */
SupposedTable *
supposed_table(Oid relid)
{
	foreach_ptr(SupposedFact, fact, supposed_facts)
	{
		foreach_ptr(SupposedTable, table, fact->tables)
		{
			if (table->relid == relid)
				return table;
		}
	}
	return NULL;
}

/* supposed_fact: returns the definition of a fact table with supposed index tables, or NULL */
FactDef *
supposed_fact(Oid relid)
{
	foreach_ptr(SupposedFact, fact, supposed_facts)
	{
		if (fact->def->relid == relid)
			return fact->def;
	}
	return NULL;
}

/*
 * column_statistics_row
 *		Returns the row of pg_statistic about a column of a table, with its partitions if that is asked for, or
 *		NULL.  To be released with release_statistics().
 */
HeapTuple
column_statistics_row(Oid relid, AttrNumber attno, bool inherited)
{
	SupposedTable *table = supposed_table(relid);

	return table != NULL ? table->statistics[attno - 1] :
		SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relid), Int16GetDatum(attno), BoolGetDatum(inherited));
}

void
release_statistics(HeapTuple statistics)
{
	foreach_ptr(SupposedFact, fact, supposed_facts)
	{
		foreach_ptr(SupposedTable, table, fact->tables)
		{
			for (int i = 0; i < table->ncolumns; i++)
				if (table->statistics[i] == statistics)
					return;
		}
	}
	ReleaseSysCache(statistics);
}
