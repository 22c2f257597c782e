/*-------------------------------------------------------------------------
 *
 * judge.c
 *	  Judges whether a key of a fact table should have an index table: resolves the
 *	  definition that create() would make of it, and profiles it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "../definition/citus_table.h"
#include "../definition/columns.h"
#include "../definition/fact_key.h"
#include "../definition/field_spec.h"
#include "../definition/filter.h"
#include "../definition/layout.h"
#include "../definition/resolve.h"
#include "../indextable.h"
#include "../maintain/fact_table.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "judge.h"
#include "profile.h"

static void check_reader(Relation fact, DefinitionRow *row);
static List *partition_columns(Relation fact);

/* new_request: returns the definition of an index table with a key, apart from that as create() has it by default */
DefinitionRow *
new_request(List *key, List *include, char *filter)
{
	DefinitionRow *row = palloc0(sizeof(DefinitionRow));

	row->key = key;
	row->include = include;
	row->filter = filter;
	row->strategy = include != NIL ? "partial" : "normalized";
	row->maintenance = "transactional";
	row->on_mismatch = "error";
	row->state = "active";
	return row;
}

/*
 * open_judged
 *		Opens a fact table whose documents, in the column of that name, the caller may have
 *		sampled, and completes a request with what identifies its rows.
 */
Relation
open_judged(Oid relid, DefinitionRow *row, const char *document)
{
	Relation	fact = open_fact(relid, AccessShareLock);

	check_citus_fact(fact, false);
	check_reader(fact, row);
	row->fact_table = RelationGetRelid(fact);
	if (foreign_leaves(row->fact_table) != NIL && stored_key(row->fact_table) == NIL)
		row->primary_key = partition_columns(fact);
	row->document = document_column(fact, document);
	return fact;
}

/* open_documents: opens a fact table likewise; returns what is known of it, and which column has the documents */
FactDef *
open_documents(Oid relid, const char *document, Relation *fact, AttrNumber *doc)
{
	DefinitionRow *row = new_request(NIL, NIL, NULL);

	*fact = open_judged(relid, row, document);
	*doc = get_attnum(relid, row->document);
	return make_fact_def(*fact, row->primary_key != NIL ? row->primary_key : stored_key(relid), NULL, CurrentMemoryContext);
}

/*
 * judge_key
 *		Collects the profile of the key in p->row, from a sample of at most so many rows and
 *		bytes.
 */
void
judge_key(Profile *p, Relation fact, int rows, double bytes)
{
	char	   *filter = p->row->filter;
	FactDef    *factdef;

	if (filter != NULL)
		p->row->filter = check_filter(fact, filter);
	p->def = definition_resolve(p->row, fact, NULL, 0, &factdef);
	p->row->filter = filter;
	(void) definition_complete_columns(p->def, fact, layout_desc(p->def, fact));
	profile_table(p, fact, rows, bytes);
}

/*
 * check_reader
 *		Refuses callers who must not see all rows, and expressions that callers must
 *		not have evaluated.
 *
 * A sample shows values of any row, so row security must not apply to the caller.
 * Entries are made as the owner of the table, so nobody else may pass a filter, an
 * expression or a cast of a column, which can call any function.
 */
static void
check_reader(Relation fact, DefinitionRow *row)
{
	ListCell   *cell;
	bool		brings_code = row->filter != NULL;

	if (check_enable_rls(RelationGetRelid(fact), InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("cannot take a sample of table \"%s\" because row security applies to the current user",
						RelationGetRelationName(fact)),
				 errhint("Call the function as a user who may see all rows.")));
	if (owns_relation(RelationGetRelid(fact), GetUserId()))
		return;
	foreach(cell, list_concat_copy(row->key, row->include))
	{
		FieldSpec  *spec = parse_field_spec(lfirst(cell), true);

		brings_code |= spec->expression != NULL || (spec->column != NULL && OidIsValid(spec->type));
	}
	if (brings_code)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be owner of table %s", RelationGetRelationName(fact)),
				 errdetail("Filters, expressions and casts of columns are evaluated as the owner of the table.")));
}

/*
 * partition_columns
 *		Returns the columns that a table is partitioned by, which stand for its primary key
 *		as long as nobody has named one; NIL: it is partitioned by expressions.
 */
static List *
partition_columns(Relation fact)
{
	PartitionKey key = RelationGetPartitionKey(fact);
	List	   *names = NIL;
	int			i;

	for (i = 0; i < key->partnatts && key->partattrs[i] != 0; i++)
		names = lappend(names, get_attname(RelationGetRelid(fact), key->partattrs[i], false));
	return i == key->partnatts ? names : NIL;
}
