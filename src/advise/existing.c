/*-------------------------------------------------------------------------
 *
 * existing.c
 *	  Tells which index or index table serves look-ups by a field already.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/pg_am.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "../catalog/definition_rows.h"
#include "../definition/field_spec.h"
#include "../indextable.h"
#include "../read/field_match.h"
#include "../util/sql.h"
#include "existing.h"

static bool same_path(FieldSpec *a, FieldSpec *b);
static bool index_serves(Relation index, AttrNumber doc, FieldSpec *spec, Oid type);

/*
 * existing_index
 *		Returns which index table or index of a fact table has a field as its first, for
 *		people to read; NULL: none.  Its type is to be as given, or any if that is InvalidOid.
 *		doc is the column of the documents.
 */
char *
existing_index(Relation fact, AttrNumber doc, FieldSpec *spec, Oid type)
{
	char	   *found = NULL;
	ListCell   *cell;

	foreach(cell, catalog_read_definitions(RelationGetRelid(fact), InvalidOid))
	{
		DefinitionRow *row = &((StoredDefinition *) lfirst(cell))->row;
		const char *document = get_attname(RelationGetRelid(fact), doc, false);

		if (!OidIsValid(row->replaces) && strcmp(row->document, document) == 0 &&
			same_path(parse_field_spec(linitial(row->key), false), spec) &&
			(!OidIsValid(type) || get_atttype(row->index_table, 1) == type))
			return psprintf("the index table %s%s%s%s%s", quoted_relation(row->index_table),
							row->filter != NULL ? ", for rows that pass its filter" : "",
							strcmp(row->state, "active") != 0 ? ", which is " : "",
							strcmp(row->state, "active") != 0 ? row->state : "",
							is_async(row) ? ", asynchronously" : "");
	}
	foreach(cell, RelationGetIndexList(fact))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		if (found == NULL && index->rd_index->indisvalid && index_serves(index, doc, spec, type))
			found = psprintf("the index %s%s", quoted_relation(RelationGetRelid(index)),
							 RelationGetIndexPredicate(index) != NIL ? ", for rows that pass its condition" :
							 index->rd_rel->relam == GIN_AM_OID ? ", in no order" : "");
		index_close(index, AccessShareLock);
	}
	return found;
}

/* same_path: returns whether two fields are at the same place in documents */
static bool
same_path(FieldSpec *a, FieldSpec *b)
{
	int			i;

	if (a->column != NULL || b->column != NULL || a->nsteps != b->nsteps)
		return false;
	for (i = 0; i < a->nsteps; i++)
		if (a->steps[i].wildcard != b->steps[i].wildcard ||
			(!a->steps[i].wildcard && strcmp(a->steps[i].name, b->steps[i].name) != 0))
			return false;
	return true;
}

/*
 * index_serves
 *		Returns whether an index serves look-ups by a field: a B-tree or a hash index whose first
 *		expression it is, or for the elements of an array GIN on the array or on the document.
 */
static bool
index_serves(Relation index, AttrNumber doc, FieldSpec *spec, Oid type)
{
	Node	   *expr = index->rd_index->indkey.values[0] == 0 ? linitial(RelationGetIndexExpressions(index)) : NULL;
	int			n = 0;

	if (spec->multi)
	{
		while (!spec->steps[n].wildcard)
			n++;
		return index->rd_rel->relam == GIN_AM_OID &&
			(expr == NULL ? index->rd_index->indkey.values[0] == doc :
			 expression_is_path(NULL, doc, spec->steps, n, bare_value(expr), 1));
	}
	if (expr == NULL || (index->rd_rel->relam != BTREE_AM_OID && index->rd_rel->relam != HASH_AM_OID) ||
		(OidIsValid(type) && exprType(expr) != type))
		return false;
	expr = without_casts(expr);
	return expression_is_path_text(NULL, doc, spec->steps, spec->nsteps, expr, 1) ||
		expression_is_path(NULL, doc, spec->steps, spec->nsteps, expr, 1);
}
