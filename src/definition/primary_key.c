/*-------------------------------------------------------------------------
 *
 * primary_key.c
 *	  Makes the indexes of index tables: the primary key, and the row index, by which a fact
 *	  row's entries are found.
 *
 * The primary key of an index table consists of the key fields and the primary key of the
 * fact row, or of the key fields alone if the index table is unique.  It also covers the
 * included fields for index-only scans, if they are narrow enough.  Only index tables that
 * are kept in step through the queue have a row index.
 *
 * In the entries of an index table that is not sparse, key fields may be NULL.  It has a constraint
 * UNIQUE NULLS NOT DISTINCT with these columns in place of the primary key, which this file, too,
 * means by that word.
 *
 * Two elements of a row that have the same key, and differ in included fields that are multi-valued,
 * have two entries.  So these fields follow the primary key of the fact row among the columns of the
 * primary key, and may be NULL even if the index table is sparse.
 *
 * The primary key of the fact table is found by fact_columns.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/heap.h"
#include "catalog/index.h"
#include "catalog/partition.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "commands/comment.h"
#include "commands/defrem.h"
#include "commands/event_trigger.h"
#include "commands/tablecmds.h"
#include "commands/tablespace.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../catalog/catalog.h"
#include "../indextable.h"
#include "../util/as_owner.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/uncounted_reads.h"
#include "../util/while_set.h"
#include "definition.h"

#define ROW_INDEX_COMMENT	"Finds the entries of a fact row; made by indextable"

static List *primary_key_columns(IndexDef *def, bool covering, int *nkeys);
static int	covered_columns(IndexDef *def, AttrNumber *columns);
static int	count_covered(IndexDef *def);
static bool is_not_null(Oid relid, const char *column);
static void place_index(Oid index_table, Oid index);
static void move_index(Oid index, char *tablespace);
static int32 declared_size(Form_pg_attribute att);
static Size primary_key_max_covered_bytes(IndexDef *def);

/*
 * primary_key_columns
 *		Returns the names of the columns of the primary key of an index table, which exists, and
 *		then those that it covers; *nkeys becomes the number of the former.
 */
static List *
primary_key_columns(IndexDef *def, bool covering, int *nkeys)
{
	AttrNumber *covered = palloc(sizeof(AttrNumber) * (def->spec.nincludes + 1));
	List	   *result = column_names(def->relid, def->layout.ident, def->layout.nident);

	*nkeys = def->spec.is_unique ? def->spec.nkeys : def->layout.nident;
	if (covering)
		result = list_concat(result, column_names(def->relid, covered, covered_columns(def, covered)));
	return result;
}

/*
 * covered_columns
 *		Sets columns to those that a primary key has beside the columns of its key, if it covers them: the
 *		included fields that are no part of it, and the number of elements.  Returns how many they are.
 */
static int
covered_columns(IndexDef *def, AttrNumber *columns)
{
	int			n = 0;

	for (int i = def->spec.nkeys; i < def->spec.nkeys + def->spec.nincludes; i++)
		if (!def->spec.fields[i].spec->multi)
			columns[n++] = def->spec.fields[i].attno;
	if (def->layout.elements_attno != 0)
		columns[n++] = def->layout.elements_attno;
	return n;
}

/* count_covered: returns the number of columns that covered_columns() would set */
static int
count_covered(IndexDef *def)
{
	return def->spec.nincludes - (def->spec.nelements - def->spec.nkey_elements) +
		(def->layout.elements_attno != 0);
}

/* primary_key_constraint: returns the primary key as a constraint for ALTER TABLE, for a hint */
char *
primary_key_constraint(IndexDef *def, bool covering)
{
	StringInfoData sql;
	int			nkeys;

	initStringInfo(&sql);
	appendStringInfoString(&sql, def->layout.has_primary_key ? "PRIMARY KEY (" : "UNIQUE NULLS NOT DISTINCT (");
	foreach_ptr(char, column, primary_key_columns(def, covering, &nkeys))
	{
		int			i = foreach_current_index(column);

		appendStringInfo(&sql, "%s%s", i == 0 ? "" : i == nkeys ? ") INCLUDE (" : ", ", quote_identifier(column));
	}
	appendStringInfoChar(&sql, ')');
	return sql.data;
}

/*
 * drop_not_null_of_key
 *		Returns, for ALTER TABLE, the subcommands that allow NULL in the key fields of an index table,
 *		each after a comma.  The names are those that its columns have now, as primary_key_columns()
 *		reads them.
 */
char *
drop_not_null_of_key(IndexDef *def)
{
	StringInfoData sql;

	initStringInfo(&sql);
	for (int i = 0; i < def->spec.nkeys; i++)
		appendStringInfo(&sql, ", ALTER COLUMN %s DROP NOT NULL",
						 quote_identifier(get_attname(def->relid, def->spec.fields[i].attno, false)));
	return sql.data;
}

/*
 * make_index
 *		Makes an index on columns of an index table, in a tablespace, or that of the database if it is
 *		NULL, and returns its OID.  The first nkeys columns are its key, and the others are included.
 *		If name is NULL, the server chooses one.  Unless identity is NULL, it is the primary key of this
 *		index table.
 *
 * It is made as the owner of the index table, by its OID and not by SQL, so that no name leads to
 * another table.  The right to create in the schema and the tablespace is not asked for: the owner
 * may lack it, and the index is a part of what was created there.
 */
Oid
make_index(Oid index_table, const char *name, List *columns, int nkeys, const char *tablespace, IndexDef *identity)
{
	IndexStmt  *stmt = makeNode(IndexStmt);
	Oid			index;

	stmt->idxname = name == NULL ? NULL : pstrdup(name);
	stmt->accessMethod = DEFAULT_INDEX_TYPE;
	/* That of the database must not be named for a partitioned table. */
	if (tablespace != NULL && get_tablespace_oid(tablespace, false) != MyDatabaseTableSpace)
		stmt->tableSpace = pstrdup(tablespace);
	stmt->unique = stmt->isconstraint = identity != NULL;
	stmt->primary = identity != NULL && identity->layout.has_primary_key;
	stmt->nulls_not_distinct = identity != NULL && !identity->layout.has_primary_key;
	foreach_ptr(char, column, columns)
	{
		IndexElem  *element = makeNode(IndexElem);

		element->name = column;
		if (foreach_current_index(column) < nkeys)
			stmt->indexParams = lappend(stmt->indexParams, element);
		else
			stmt->indexIncludingParams = lappend(stmt->indexIncludingParams, element);
	}
	AS_OWNER(table_owner(index_table));
	index = define_index(index_table, stmt).objectId;
	END_AS_OWNER();
	CommandCounterIncrement();
	return index;
}

/*
 * primary_key_add
 *		Makes the primary key of an index table, in a tablespace, with a name or, if that is NULL, one that
 *		the server chooses; returns its name.
 */
char *
primary_key_add(IndexDef *def, bool covering, const char *tablespace, const char *name)
{
	int			nkeys;
	List	   *columns = primary_key_columns(def, covering, &nkeys);
	Oid			index;

	/* They are NOT NULL since create(), unless their owner has altered them. */
	for (int i = 0; def->layout.has_primary_key && i < nkeys; i++)
	{
		char	   *column = list_nth(columns, i);

		if (!is_not_null(def->relid, column))
			run_on(def->relid, "ALTER TABLE t ALTER %s SET NOT NULL", quote_identifier(column));
	}
	index = make_index(def->relid, name, columns, nkeys, tablespace, def);
	place_index(def->relid, index);
	return get_rel_name(index);
}

/* is_not_null: returns whether a column of a table cannot be null */
static bool
is_not_null(Oid relid, const char *column)
{
	HeapTuple	tuple = SearchSysCacheAttName(relid, column);
	bool		result = HeapTupleIsValid(tuple) && ((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return result;
}

/*
 * primary_key_replace
 *		Makes the primary key of an index table anew, as def says, with or without the
 *		included fields.  It has the name, the tablespace and the marks of the one before.
 *
 * The index table is locked against all other sessions.
 */
void
primary_key_replace(IndexDef *def, bool covering)
{
	Relation	rel = table_open(def->relid, AccessShareLock);
	Relation	index = def->layout.has_primary_key ? open_primary_key(rel) : open_index_of_entries(def, rel);
	List	   *old_keys = usage_keys(def->relid);
	char	   *constraint = pstrdup(RelationGetRelationName(index));
	char	   *tablespace = tablespace_of(index);
	bool		clustered = index->rd_index->indisclustered;
	bool		identity = index->rd_index->indisreplident;
	int			uncounted;

	index_close(index, NoLock);
	table_close(rel, NoLock);
	uncounted = begin_uncounted();
	run_on(def->relid, "ALTER TABLE t DROP CONSTRAINT %s", quote_identifier(constraint));
	primary_key_add(def, covering, tablespace, constraint);
	primary_key_mark(def->relid, constraint, clustered, identity);
	end_uncounted(uncounted);
	usage_follows(def->relid, old_keys);
}

/*
 * primary_key_mark
 *		Marks a constraint that was made anew as the one to cluster by, or as the replica
 *		identity, as the owner of the table has set it for the one that it replaces.
 */
void
primary_key_mark(Oid relid, const char *constraint, bool clustered, bool identity)
{
	if (clustered)
		run_on(relid, "ALTER TABLE t CLUSTER ON %s", quote_identifier(constraint));
	if (identity)
		run_on(relid, "ALTER TABLE t REPLICA IDENTITY USING INDEX %s", quote_identifier(constraint));
}

/*
 * place_index
 *		Moves the indexes that an index of a partitioned index table has on the partitions to
 *		the tablespaces of these partitions.
 */
static void
place_index(Oid index_table, Oid index)
{
	foreach_oid(relid, list_with_partitions(index_table))
	{
		Relation	leaf = relation_open(relid, AccessShareLock);
		Oid			place = leaf->rd_rel->reltablespace;
		char	   *tablespace = tablespace_of(leaf);
		Oid			leaf_index = relid == index_table ? InvalidOid : index_get_partition(leaf, index);

		relation_close(leaf, NoLock);
		if (OidIsValid(leaf_index) && get_rel_tablespace(leaf_index) != place)
			move_index(leaf_index, tablespace);
	}
}

/*
 * move_index
 *		Moves an index to a tablespace.
 *
 * The owner may have no right to create there, although the partition is there already.  So it is moved
 * as the owner of the extension, by its OID: no name leads elsewhere, and nobody's code is called.
 */
static void
move_index(Oid index, char *tablespace)
{
	AlterTableCmd *move = makeNode(AlterTableCmd);

	move->subtype = AT_SetTableSpace;
	move->name = tablespace;
	AS_OWNER(get_extension_owner());
	EventTriggerInhibitCommandCollection();
	DO_AND_UNDO(EventTriggerUndoInhibitCommandCollection(), AlterTableInternal(index, list_make1(move), false));
	END_AS_OWNER();
	CommandCounterIncrement();
}

/*
 * row_index_make
 *		Makes the index by which a row's entries are found, for an index table that is kept
 *		in step through the queue.  A comment distinguishes it from indexes that the owner
 *		has made.
 */
void
row_index_make(IndexDef *def)
{
	Oid			schema = get_rel_namespace(def->relid);
	char	   *name = ChooseRelationName(get_rel_name(def->relid), NULL, "row_idx", schema, false);
	Relation	rel = relation_open(def->relid, AccessShareLock);
	const char *tablespace = tablespace_of(rel);
	int			uncounted = begin_uncounted();
	Oid			index;

	relation_close(rel, NoLock);
	index = make_index(def->relid, name, column_names(def->relid, def->layout.pk_attno, def->fact->layout.npk),
					   def->fact->layout.npk, tablespace, NULL);
	end_uncounted(uncounted);
	CreateComments(index, RelationRelationId, 0, ROW_INDEX_COMMENT);
	place_index(def->relid, index);
}

/*
 * row_index_drop
 *		Drops that index, of an index table that is not kept in step through the queue any
 *		more.  The index table is locked against everybody.
 */
void
row_index_drop(Oid index_table)
{
	Relation	rel = relation_open(index_table, NoLock);
	List	   *indexes = RelationGetIndexList(rel);

	relation_close(rel, NoLock);
	foreach_oid(index_oid, indexes)
	{
		char	   *comment = GetComment(index_oid, RelationRelationId, 0);

		if (comment != NULL && strcmp(comment, ROW_INDEX_COMMENT) == 0)
		{
			ObjectAddress object;

			ObjectAddressSet(object, RelationRelationId, index_oid);
			performDeletion(&object, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
			CommandCounterIncrement();
		}
	}
}

/*
 * finds_entries
 *		Returns whether an index is, or can be, the one by which the entries of an index
 *		table, or of a partition of it, are found.
 */
bool
finds_entries(IndexDef *def, Relation index)
{
	int			n = def->spec.is_unique ? def->spec.nkeys : def->layout.nident;
	bool		finds = index->rd_index->indnkeyatts == n && is_identity_index(index, def->layout.has_primary_key);

	for (int i = 0; finds && i < n; i++)
		finds = index->rd_index->indkey.values[i] == def->layout.ident[i];
	return finds;
}

/*
 * open_index_of_entries
 *		Opens that index; returns NULL if there is no valid one.  The owner may have made other constraints
 *		of its kind, on other columns.
 */
Relation
open_index_of_entries(IndexDef *def, Relation rel)
{
	foreach_oid(index_oid, RelationGetIndexList(rel))
	{
		Relation	index = index_open(index_oid, AccessShareLock);

		if (index->rd_index->indisvalid && finds_entries(def, index))
			return index;
		index_close(index, AccessShareLock);
	}
	return NULL;
}

/*
 * primary_key_covers
 *		Returns whether the primary key of an index table covers the included fields.
 */
bool
primary_key_covers(IndexDef *def, Relation primary_key)
{
	return count_covered(def) > 0 &&
		primary_key->rd_index->indnatts >= def->layout.nident + count_covered(def);
}

/*
 * primary_key_can_cover
 *		Returns whether an index can have the columns of the included fields.  It is not to
 *		have a column that is declared so long that it is meant for more bytes than an entry
 *		can have, even if each character has one byte.
 */
bool
primary_key_can_cover(IndexDef *def)
{
	for (int i = def->spec.nkeys; i < def->spec.nkeys + def->spec.nincludes; i++)
		if (declared_size(TupleDescAttr(def->layout.desc, def->spec.fields[i].attno - 1)) /
			pg_database_encoding_max_length() > MAX_INDEX_DATA)
			return false;
	return count_covered(def) > 0 && def->layout.nident + count_covered(def) <= INDEX_MAX_KEYS;
}

/*
 * primary_key_max_covered_bytes
 *		Returns how many bytes an entry may have for the primary key to cover the included
 *		fields.  It is half of what fits into an index, because wider entries may come later;
 *		but all of it where the types of the columns keep every entry within what fits.
 */
static Size
primary_key_max_covered_bytes(IndexDef *def)
{
	AttrNumber *covered = palloc(sizeof(AttrNumber) * (def->spec.nincludes + 1));
	int			ncovered = covered_columns(def, covered);
	Size		widest = 0;

	/* A number of elements alone hardly makes an entry wider. */
	if (ncovered == (def->layout.elements_attno != 0))
		return MAX_INDEX_DATA;
	for (int i = 0; i < def->layout.nident + ncovered; i++)
	{
		AttrNumber	attno = i < def->layout.nident ? def->layout.ident[i] : covered[i - def->layout.nident];
		Form_pg_attribute att = TupleDescAttr(def->layout.desc, attno - 1);
		int32		size = declared_size(att);

		if (size < 0)
			return MAX_INDEX_DATA / 2;
		widest = att_align_nominal(widest, att->attalign) + size;
	}
	return widest <= MAX_INDEX_DATA ? MAX_INDEX_DATA : MAX_INDEX_DATA / 2;
}

/*
 * declared_size
 *		Returns how many bytes a value of a column can have at most, by its type; -1: any
 *		number.
 */
static int32
declared_size(Form_pg_attribute att)
{
	int32		typmod = att->atttypmod;
	Oid			type;

	if (att->attlen >= 0)
		return att->attlen;
	type = getBaseTypeAndTypmod(att->atttypid, &typmod);
	return type_maximum_size(type, typmod);
}

/* primary_key_prepare_sorts: prepares to sort by the columns that identify an entry */
void
primary_key_prepare_sorts(IndexDef *def)
{
	def->layout.ident_sort = palloc0(sizeof(SortSupportData) * def->layout.nident);
	def->layout.write_sort = palloc0(sizeof(SortSupportData) * def->layout.nident);
	for (int i = 0; i < def->layout.nident; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->layout.desc, def->layout.ident[i] - 1);

		prepare_sort(&def->layout.ident_sort[i], att->atttypid, att->attcollation, false);

		/*
		 * Where only texts of the same bytes are equal, they may be sorted by
		 * their bytes before they are written, which is cheaper.
		 */
		prepare_sort(&def->layout.write_sort[i], att->atttypid,
					 OidIsValid(att->attcollation) &&
					 get_collation_isdeterministic(att->attcollation) ?
					 C_COLLATION_OID : att->attcollation, i == 0);
	}
	def->layout.brief_text = def->layout.write_sort[0].abbrev_converter != NULL &&
		def->layout.write_sort[0].ssup_collation == C_COLLATION_OID &&
		(TupleDescAttr(def->layout.desc, def->layout.ident[0] - 1)->atttypid == TEXTOID ||
		 TupleDescAttr(def->layout.desc, def->layout.ident[0] - 1)->atttypid == VARCHAROID);
	def->layout.max_covered_bytes = primary_key_max_covered_bytes(def);
}
