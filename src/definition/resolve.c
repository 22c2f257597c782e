/*-------------------------------------------------------------------------
 *
 * resolve.c
 *	  Turns what the catalog, or create(), says of an index table into a definition, with the
 *	  tables as they are.
 *
 * This is done in steps: make_fact_def() for the fact table, make_index_def() for each index
 * table, and definition_complete() for one that exists, which compares the definition with
 * the table as it is.  definition_complete_primary_key() adds its indexes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../expression/expression.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/compat.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "definition.h"

static void find_document(IndexDef *def, Relation fact, DefinitionRow *row, const char **column_names);
static void refuse_damaged(DefinitionRow *row, IndexDef *def);
static bool same_equality(Oid a, Oid b);
static AttrNumber *live_columns(TupleDesc desc, int *n);
static Bitmapset *definition_columns(IndexDef *def);
static bool has_type(TupleDesc desc, AttrNumber attno, Oid type, int32 typmod);
static void definition_complete_row_index(IndexDef *def, Relation rel);

/*
 * definition_resolve
 *		Returns the definition of an index table that does not exist yet, with one of its fact
 *		table, both in the current memory context.  If it is to take the place of
 *		another index table, replaced, it has the first nkept_fields of its fields in common with
 *		that one.
 */
IndexDef *
definition_resolve(DefinitionRow *row, Relation fact, Relation replaced, int nkept_fields)
{
	List	   *key = row->primary_key != NIL ? row->primary_key : stored_key(RelationGetRelid(fact));

	return make_index_def(make_fact_def(fact, RelationGetRelid(fact), key, NULL, CurrentMemoryContext), fact, row,
						  replaced, nkept_fields, NULL);
}

/*
 * make_fact_def
 *		Returns the definition of the fact table relid, without index tables, in the memory context
 *		cxt, which is the current one.  fact is that table, or a part of it.  key are the columns that identify its
 *		rows if it has no primary key (fact_columns.c); names are the names that key uses, by column number, or
 *		NULL.
 */
FactDef *
make_fact_def(Relation fact, Oid relid, List *key, const char **names, MemoryContext cxt)
{
	FactDef    *factdef = palloc0(sizeof(FactDef));
	Relation	index;

	factdef->run.cxt = cxt;
	factdef->relid = relid;
	factdef->name = get_rel_name(relid);
	if (factdef->name == NULL || relid == RelationGetRelid(fact))
		factdef->name = pstrdup(RelationGetRelationName(fact));
	factdef->owner = fact->rd_rel->relowner;
	factdef->layout.is_partition = fact->rd_rel->relispartition || has_superclass(factdef->relid);
	factdef->layout.partitioned = fact->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
	factdef->place = place_of(factdef->relid);
	if (factdef->layout.partitioned || factdef->place->in_parts)
	{
		factdef->layout.desc = CreateTupleDescCopy(RelationGetDescr(fact));
		factdef->run.leaves = hash_by_oid("partitions", 16, sizeof(Leaf), cxt);
	}

	index = open_primary_key(fact);
	if (index == NULL && resolve_row_key(factdef, fact, key, names))
		return factdef;
	/* If there are no index tables, the key is not needed. */
	if (index == NULL && key == NIL && factdef->layout.partitioned && catalog_has_fact(factdef->relid) &&
		!catalog_fact_in_use(factdef->relid))
		return factdef;
	if (index == NULL)
		report_no_primary_key(factdef->relid);
	factdef->layout.pk_index = RelationGetRelid(index);
	factdef->layout.pk_deferrable = !index->rd_index->indimmediate;
	factdef->layout.npk = index->rd_index->indnkeyatts;
	factdef->layout.pk_attno = palloc(sizeof(AttrNumber) * factdef->layout.npk);
	factdef->layout.pk_keys = palloc0(sizeof(ScanKeyData) * factdef->layout.npk);
	for (int i = 0; i < factdef->layout.npk; i++)
	{
		AttrNumber	attno = index->rd_index->indkey.values[i];

		factdef->layout.pk_attno[i] = attno;
		init_equality_key(&factdef->layout.pk_keys[i], i + 1,
						  TupleDescAttr(RelationGetDescr(fact), attno - 1)->atttypid,
						  index->rd_indcollation[i], cxt);
		factdef->layout.pk_columns = bms_add_member(factdef->layout.pk_columns,
													attno - FirstLowInvalidHeapAttributeNumber);
	}
	index_close(index, AccessShareLock);
	return factdef;
}

/*
 * make_index_def
 *		Parses and resolves the definition of an index table, and adds to the fact table's
 *		definition which columns it needs.  The index table, rel, may be NULL; the types of the
 *		first nkept_fields are taken from its columns, and apart from that it is not looked at.  Columns
 *		are numbered as layout.c makes them.
 */
IndexDef *
make_index_def(FactDef *factdef, Relation fact, DefinitionRow *row, Relation rel, int nkept_fields,
			   const char **column_names)
{
	IndexDef   *def = palloc0(sizeof(IndexDef));
	AttrNumber	attno = 0;
	AttrNumber *live = NULL;
	int			nlive = 0;
	Bitmapset  *columns;
	int			i;

	if (rel != NULL)
		live = live_columns(RelationGetDescr(rel), &nlive);
	def->fact = factdef;
	def->relid = row->index_table;
	def->name = rel != NULL ? pstrdup(RelationGetRelationName(rel)) : NULL;
	def->spec.strategy = row->strategy;
	def->spec.async = is_queued(row);
	def->spec.is_unique = row->is_unique;
	def->spec.sparse = row->sparse;
	def->spec.skip_mismatch = row->on_mismatch == MISMATCH_SKIP;
	def->misplaced = place_problem(factdef->relid, row->index_table, is_queued(row));
	def->active = def->misplaced == NULL && row->state == STATE_ACTIVE;

	find_document(def, fact, row, column_names);

	/*
	 * Columns are numbered in the order in which layout.c makes them: key
	 * fields, primary key, included fields.
	 */
	def->spec.nkeys = list_length(row->key);
	def->spec.nincludes = list_length(row->include);
	def->spec.fields = palloc0(sizeof(Field) * (def->spec.nkeys + def->spec.nincludes));
	def->spec.multi_field = -1;
#define COLUMN(i, attno) \
	((i) < nkept_fields && (attno) <= nlive ? TupleDescAttr(RelationGetDescr(rel), live[(attno) - 1] - 1) : NULL)
	i = 0;
	foreach_ptr(char, field, row->key)
	{
		attno++;
		make_field(def, i, field, attno, fact, COLUMN(i, attno), i >= nkept_fields, column_names);
		i++;
	}

	/*
	 * A column of the primary key that is also a key field is not stored
	 * twice.  Totals have none of them: 0.
	 */
	def->layout.pk_attno = palloc0(sizeof(AttrNumber) * factdef->layout.npk);
	for (int k = 0; k < factdef->layout.npk && !is_totals(def); k++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(fact), factdef->layout.pk_attno[k] - 1);

		for (i = 0; i < def->spec.nkeys; i++)
			if (def->spec.fields[i].fact_attno == factdef->layout.pk_attno[k] &&
				def->spec.fields[i].convert == NULL && !def->spec.fields[i].spec->multi &&
				same_equality(def->spec.fields[i].collation, att->attcollation))
				break;
		def->layout.pk_attno[k] = i < def->spec.nkeys ? def->spec.fields[i].attno : ++attno;
	}
	def->layout.nleading = def->layout.nident = attno;
	def->layout.ident = palloc(sizeof(AttrNumber) * (attno + def->spec.nincludes));
	for (i = 0; i < attno; i++)
		def->layout.ident[i] = i + 1;

	i = def->spec.nkeys;
	foreach_ptr(char, field, is_totals(def) ? NIL : row->include)
	{
		attno++;
		make_field(def, i, field, attno, fact, COLUMN(i, attno), i >= nkept_fields, column_names);
		if (def->spec.fields[i].spec->multi)
			def->layout.ident[def->layout.nident++] = attno;
		i++;
	}
	if (is_totals(def))
		make_summed_fields(def, row->include, fact, column_names);
#undef COLUMN
	if (def->spec.strategy == STRATEGY_DENORMALIZED)
		def->layout.doc_attno = ++attno;
	if (def->spec.multi && !is_totals(def))
		def->layout.elements_attno = ++attno;
	def->layout.has_primary_key = def->spec.sparse && def->layout.nident == def->layout.nleading;

	if (row->filter != NULL)
		def->spec.filter = compile_stored(def, fact, "filter", row->filter, BOOLOID, column_names);

	if (OidIsValid(row->index_table))
		refuse_damaged(row, def);

	def->spec.used = definition_columns(def);
	columns = bms_union(def->spec.used, factdef->layout.pk_columns);
	if (def->spec.async)
		factdef->layout.queued = bms_add_members(factdef->layout.queued, columns);
	else
		factdef->layout.used = bms_add_members(factdef->layout.used, columns);
	for (i = -1; (i = bms_next_member(columns, i)) >= 0;)
		factdef->layout.max_attno = Max(factdef->layout.max_attno, i + FirstLowInvalidHeapAttributeNumber);
	return def;
}

/*
 * find_document
 *		Finds the column that holds the documents, if there is one, and adds it to those of
 *		the fact table's definition.
 */
static void
find_document(IndexDef *def, Relation fact, DefinitionRow *row, const char **column_names)
{
	FactDef    *factdef = def->fact;
	int			i;

	def->spec.fact_document = NO_DOCUMENT;
	def->spec.docno = -1;
	if (row->document == NULL)
		return;
	def->spec.fact_document = named_column(fact, row->document, column_names);
	if (!is_document_column(TupleDescAttr(RelationGetDescr(fact), def->spec.fact_document - 1)))
		report_altered_index_table(row->index_table, fact,
								   "The column that held the documents is not JSONB any more.");
	for (i = 0; i < factdef->layout.ndocs && factdef->layout.doc_attno[i] != def->spec.fact_document; i++)
		;
	if (i == factdef->layout.ndocs)
	{
		factdef->layout.doc_attno = factdef->layout.ndocs == 0 ? palloc(sizeof(AttrNumber)) :
			repalloc(factdef->layout.doc_attno, sizeof(AttrNumber) * (i + 1));
		factdef->run.slice = factdef->layout.ndocs == 0 ? palloc(sizeof(int32)) :
			repalloc(factdef->run.slice, sizeof(int32) * (i + 1));
		factdef->run.slice[i] = 0;
		factdef->layout.doc_attno[factdef->layout.ndocs++] = def->spec.fact_document;
	}
	def->spec.docno = i;
}

/*
 * refuse_damaged
 *		Raises an error if the definition of an index table that exists is one that create() and
 *		alter() do not write.
 *
 * Its expressions were parsed and checked as those that create() is given.  What does not fit the
 * columns of the index table is found by definition_complete().
 *
 * Of tables that are not adopted, any role can make triggers of ours on its own.  So both must have
 * the same owner then: what the owner of one has written is not put into the table of another.
 */
static void
refuse_damaged(DefinitionRow *row, IndexDef *def)
{
	DefinitionRow *replaced = OidIsValid(row->replaces) ? stored_definition(row->replaces) : NULL;
	Oid			owner = table_owner(row->index_table);
	const char *why = NULL;

	if (is_async(row) && def->spec.is_unique)
		why = "It is asynchronous, and unique.";
	if (is_totals(def) && (def->spec.async || def->spec.is_unique))
		why = "It is of totals, and asynchronous or unique.";
	if (def->spec.docno < 0 && def->spec.strategy == STRATEGY_DENORMALIZED)
		why = "It is denormalized, and names no column with documents.";
	if (replaced != NULL && replaced->fact_table != row->fact_table)
		why = "It is to replace an index table of another fact table.";
	for (int i = 0; i < def->spec.nkeys + def->spec.nincludes; i++)
	{
		if (def->spec.fields[i].spec->multi &&
			!are_of_same_array(&def->spec.fields[def->spec.deepest], &def->spec.fields[i]))
			why = "Multi-valued fields are of different arrays.";
		if (def->spec.fields[i].spec->multi && i >= def->spec.nkeys && !is_totals(def) &&
			(!def->spec.multi || def->spec.is_unique))
			why = "An included field is multi-valued, and no key field, or it is unique.";
		if (def->spec.fields[i].is_hint && i < def->spec.nkeys)
			why = "A key field is the place of a row.";
		if (def->spec.docno < 0 && def->spec.fields[i].spec->column == NULL &&
			def->spec.fields[i].spec->expression == NULL)
			why = "A field is a path, and it names no column with documents.";
	}
	if (OidIsValid(owner) && owner != def->fact->owner && !is_adopted(row->index_table, def->fact->relid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index table \"%s\" does not belong to the owner of table \"%s\"",
						get_rel_name(row->index_table), def->fact->name),
				 errdetail("A restore has brought both, and not under the same owner."),
				 errhint("Give the index table the owner of the other table, or run DROP TABLE %s;",
						 quoted_relation(row->index_table))));
	if (why != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("definition of index table \"%s\" is damaged", get_rel_name(row->index_table)),
				 errdetail("%s Only a row that was written into the catalog by hand has such a definition.", why),
				 errhint("Run DROP TABLE %s; and create it again with indextable.create().",
						 quoted_relation(row->index_table))));
}

/* same_equality: returns whether two collations agree on which texts are equal */
static bool
same_equality(Oid a, Oid b)
{
	return a == b || (OidIsValid(a) && OidIsValid(b) &&
					  get_collation_isdeterministic(a) && get_collation_isdeterministic(b));
}

/*
 * live_columns
 *		Returns the numbers of the columns that have not been dropped, and in *n how many
 *		there are.
 */
static AttrNumber *
live_columns(TupleDesc desc, int *n)
{
	AttrNumber *live = palloc(sizeof(AttrNumber) * desc->natts);

	*n = 0;
	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped)
			live[(*n)++] = i + 1;
	return live;
}

/*
 * definition_columns
 *		Returns the fact table's columns that entries depend on, offset as by
 *		pull_varattnos().
 */
static Bitmapset *
definition_columns(IndexDef *def)
{
	FactDef    *fact = def->fact;
	Bitmapset  *columns = NULL;

#define ADD(attno)	columns = bms_add_member(columns, (attno) - FirstLowInvalidHeapAttributeNumber)
	if (def->spec.docno >= 0)
		ADD(def->spec.fact_document);
	for (int i = 0; i < fact->layout.npk && !is_totals(def); i++)
		ADD(fact->layout.pk_attno[i]);
	for (int i = 0; i < def->spec.nkeys + def->spec.nincludes; i++)
	{
		if (def->spec.fields[i].fact_attno != 0 && def->spec.fields[i].fact_attno != EXPRESSION_ATTNO &&
			!def->spec.fields[i].is_hint)
			ADD(def->spec.fields[i].fact_attno);
		/* An expression, and a virtual column, are read from others. */
		if (def->spec.fields[i].convert != NULL)
			columns = bms_add_members(columns, expression_columns(def->spec.fields[i].convert));
	}
#undef ADD
	if (def->spec.filter != NULL)
		columns = bms_add_members(columns, expression_columns(def->spec.filter));
	return columns;
}

/*
 * definition_complete
 *		Completes a definition with what the index table is like, except for its indexes.
 *		Returns false if the index table is not as it was created any more.
 */
bool
definition_complete(IndexDef *def, Relation fact, Relation rel)
{
	if (!definition_complete_columns(def, fact, RelationGetDescr(rel)) ||
		!definition_complete_partitions(def, rel))
		return false;
	def->relid = RelationGetRelid(rel);
	def->name = pstrdup(RelationGetRelationName(rel));
	return true;
}

/*
 * definition_complete_columns
 *		Completes a definition with the columns of its index table, which need not exist.
 *		Returns false if they are not those that the definition calls for.
 */
bool
definition_complete_columns(IndexDef *def, Relation fact, TupleDesc desc)
{
	FactDef    *factdef = def->fact;
	int			nlive;
	AttrNumber *live = live_columns(desc, &nlive);
	int			expected = def->layout.nleading + def->spec.nincludes + (def->layout.doc_attno ? 1 : 0);

	if (is_totals(def))
	{
		if (!complete_totals_columns(def, desc, live, nlive))
			return false;
		if (def->spec.multi)
			primary_key_prepare_sorts(def);
		return true;
	}
	if (nlive < expected)
		return false;

	/*
	 * Version 1.1 did not count elements.  What a user has added allows NULL.
	 */
	def->layout.elements_attno = 0;
	if (def->spec.multi && nlive > expected && TupleDescAttr(desc, live[expected] - 1)->attnotnull &&
		has_type(desc, live[expected], INT4OID, -1))
		def->layout.elements_attno = live[expected++];
	if (def->spec.nelements > 1 && def->layout.elements_attno == 0)
		return false;

	/*
	 * Entries have NULL in columns that a user has added, so these must allow
	 * it.
	 */
	for (int i = expected; i < nlive; i++)
		if (TupleDescAttr(desc, live[i] - 1)->attnotnull)
			return false;

	for (int i = 0; i < def->layout.nident; i++)
		def->layout.ident[i] = live[def->layout.ident[i] - 1];
	for (int i = 0; i < factdef->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(fact), factdef->layout.pk_attno[i] - 1);

		def->layout.pk_attno[i] = live[def->layout.pk_attno[i] - 1];
		if (!has_type(desc, def->layout.pk_attno[i], att->atttypid, att->atttypmod))
			return false;
	}
	for (int i = 0; i < def->spec.nkeys + def->spec.nincludes; i++)
	{
		Field	   *field = &def->spec.fields[i];

		field->attno = live[field->attno - 1];
		if (!has_type(desc, field->attno, field->type, field->typmod))
			return false;
		if (field->is_hint)
			def->layout.hint_attno = field->attno;
	}
	if (def->layout.doc_attno != 0)
	{
		def->layout.doc_attno = live[def->layout.doc_attno - 1];
		if (!has_type(desc, def->layout.doc_attno, JSONBOID, -1))
			return false;
	}

	def->layout.desc = CreateTupleDescCopy(desc);
	primary_key_prepare_sorts(def);
	return true;
}

static bool
has_type(TupleDesc desc, AttrNumber attno, Oid type, int32 typmod)
{
	Form_pg_attribute att = TupleDescAttr(desc, attno - 1);

	return att->atttypid == type && att->atttypmod == typmod;
}

/*
 * definition_complete_primary_key
 *		Completes a definition with the index table's indexes: its primary key, by which
 *		entries are found, and the one by which the entries of a row are found, if it has one; and with
 *		whether users have made others.
 *		Returns false if the primary key is not the one that the definition calls for.
 */
bool
definition_complete_primary_key(IndexDef *def, Relation rel)
{
	Relation	index;

	if (is_totals(def))
		return complete_totals_index(def, rel);
	index = open_index_of_entries(def, rel);
	if (index == NULL)
		return false;
	def->layout.primary_index = RelationGetRelid(index);
	def->layout.primary_info = BuildIndexInfo(index);
	def->layout.covering = primary_key_covers(def, index);
	def->layout.nsearch = index->rd_index->indnkeyatts;
	def->layout.search_keys = palloc0(sizeof(ScanKeyData) * def->layout.nsearch);
	for (int i = 0; i < def->layout.nsearch; i++)
		init_equality_key(&def->layout.search_keys[i], i + 1,
						  TupleDescAttr(RelationGetDescr(rel), def->layout.ident[i] - 1)->atttypid,
						  index->rd_indcollation[i], CurrentMemoryContext);
	index_close(index, AccessShareLock);
	if (def->spec.async)
		definition_complete_row_index(def, rel);
	foreach_oid(index_oid, RelationGetIndexList(rel))
	{
		if (index_oid != def->layout.primary_index && index_oid != def->layout.row_index)
			def->layout.has_users_indexes = true;
	}
	return true;
}

/*
 * definition_complete_row_index
 *		Completes the definition of an asynchronous index table with the index on the primary
 *		key of the fact row, by which it is reconciled.  It is no error if there is none,
 *		because writers do not need it.
 */
static void
definition_complete_row_index(IndexDef *def, Relation rel)
{
	FactDef    *fact = def->fact;

	foreach_oid(index_oid, RelationGetIndexList(rel))
	{
		Relation	index = index_open(index_oid, AccessShareLock);
		Form_pg_index form = index->rd_index;
		bool		fits = form->indisvalid && form->indnatts == fact->layout.npk &&
			index->rd_rel->relam == BTREE_AM_OID &&
			heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);

		for (int i = 0; fits && i < fact->layout.npk; i++)
			fits = form->indkey.values[i] == def->layout.pk_attno[i] &&
				orders_by_default(index, i,
								  TupleDescAttr(RelationGetDescr(rel), def->layout.pk_attno[i] - 1)->atttypid);
		if (fits)
		{
			def->layout.row_index = RelationGetRelid(index);
			def->layout.row_keys = palloc(sizeof(ScanKeyData) * fact->layout.npk);
			memcpy(def->layout.row_keys, fact->layout.pk_keys, sizeof(ScanKeyData) * fact->layout.npk);
			for (int i = 0; i < fact->layout.npk; i++)
				def->layout.row_keys[i].sk_collation = index->rd_indcollation[i];
		}
		index_close(index, AccessShareLock);
	}
}

/*
 * queue_columns
 *		Returns the columns that the queue tables of a fact table have.  In some
 *		places they have a number at the end, which makes each row unique.
 */
TupleDesc
queue_columns(FactDef *def, Relation fact)
{
	TupleDesc	desc = CreateTemplateTupleDesc(QUEUE_KEY - 1 + def->layout.npk +
											   (def->place->changes->next_number != NULL ? 1 : 0));

	TupleDescInitEntry(desc, QUEUE_AT, "changed_at", TIMESTAMPTZOID, -1, 0);
	for (int i = 0; i < def->layout.npk; i++)
		TupleDescCopyEntry(desc, QUEUE_KEY + i, RelationGetDescr(fact), def->layout.pk_attno[i]);
	if (def->place->changes->next_number != NULL)
		TupleDescInitEntry(desc, QUEUE_KEY + def->layout.npk, "number", INT8OID, -1, 0);
	TupleDescFinalize(desc);
	return desc;
}

/*
 * index_calls_users_code
 *		Returns whether making entries runs functions that are not the server's own.
 */
bool
index_calls_users_code(IndexDef *def)
{
	for (int i = 0; i < def->spec.nkeys + def->spec.nincludes; i++)
		if (def->spec.fields[i].cast.users ||
			(def->spec.fields[i].convert != NULL && expression_calls_users_code(def->spec.fields[i].convert)))
			return true;
	return def->spec.filter != NULL && expression_calls_users_code(def->spec.filter);
}

/*
 * definition_code
 *		Returns the functions and domains of users that making entries uses (CodeObject *).
 */
List *
definition_code(IndexDef *def)
{
	List	   *code = def->spec.filter != NULL ? list_copy(expression_code(def->spec.filter)) : NIL;

	for (int i = 0; i < def->spec.nkeys + def->spec.nincludes; i++)
	{
		Field	   *field = &def->spec.fields[i];

		if (field->convert != NULL)
			code = list_concat(code, expression_code(field->convert));
		code = add_code_function(code, field->cast.convert.fn_oid);
		code = add_code_function(code, field->cast.length.fn_oid);
	}
	return code;
}

/*
 * note_feeds
 *		Notes where changes of foreign partitions are queued: for an asynchronous index table in
 *		feeds.  One that is built to be transactional follows what is written here.
 */
void
note_feeds(FactDef *factdef, DefinitionRow *row)
{
	if (is_async(row))
		factdef->queue.has_feeds = true;
	else if (is_queued(row))
		factdef->queue.queued_here = true;
}

/*
 * note_feed
 *		If the queue is a feed, has a change of any column queued, because the other server
 *		may use all of them.
 */
void
note_feed(FactDef *factdef, Relation fact, bool feed)
{
	TupleDesc	desc = RelationGetDescr(fact);

	factdef->queue.feed = feed;
	if (!feed)
		return;
	factdef->layout.max_attno = desc->natts;
	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped)
			factdef->layout.queued = bms_add_member(factdef->layout.queued,
													i + 1 - FirstLowInvalidHeapAttributeNumber);
}

/* require_kept: raises an error if an index table is not kept in step where its tables are */
void
require_kept(IndexDef *def)
{
	place_report_problem(def->name, def->misplaced);
}
