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
 * The primary key of the fact table is found by fact_columns.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "catalog/heap.h"
#include "catalog/partition.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "commands/comment.h"
#include "commands/defrem.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../indextable.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/uncounted_reads.h"
#include "definition.h"

#define ROW_INDEX_COMMENT	"Finds the entries of a fact row; made by indextable"

static void place_index(Oid index_table, Oid index);
static int32 declared_size(Form_pg_attribute att);
static Size primary_key_max_covered_bytes(IndexDef *def);

/*
 * primary_key_constraint
 *		Returns the constraint that is to be added to an index table as its primary key.  The
 *		table exists.  covering is whether the index covers the included fields.
 */
char *
primary_key_constraint(IndexDef *def, bool covering)
{
	StringInfoData sql;
	int			nkey = def->is_unique ? def->nkeys : def->nident;
	int			nall = covering ? def->nident + def->nincludes : def->nident;
	Relation	rel = table_open(def->relid, AccessShareLock);
	int			n = 0;

	initStringInfo(&sql);
	appendStringInfoString(&sql, def->sparse ? "PRIMARY KEY (" : "UNIQUE NULLS NOT DISTINCT (");
	for (int i = 0; i < RelationGetNumberOfAttributes(rel) && n < nall; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);

		if (att->attisdropped)
			continue;
		appendStringInfo(&sql, "%s%s", n == 0 ? "" : n == nkey ? ") INCLUDE (" : ", ",
						 quote_identifier(NameStr(att->attname)));
		n++;
	}
	appendStringInfoChar(&sql, ')');
	table_close(rel, NoLock);
	return sql.data;
}

/* drop_not_null_of_key: returns, for ALTER TABLE, the subcommands that allow NULL in the key fields of an index table, each after a comma */
char *
drop_not_null_of_key(IndexDef *def)
{
	StringInfoData sql;

	initStringInfo(&sql);
	for (int i = 0; i < def->nkeys; i++)
		appendStringInfo(&sql, ", ALTER COLUMN %s DROP NOT NULL",
						 quote_identifier(NameStr(TupleDescAttr(def->desc, def->fields[i].attno - 1)->attname)));
	return sql.data;
}

/*
 * refuse_check_constraints
 *		Raises an error if an index table, or a partition of it, has a CHECK constraint, or a child by
 *		inheritance, which may have one.
 *
 * Where the server adds a primary key, it plans these constraints, which may call functions of the
 * owner, as the user who adds it: the owner of the extension.  To create one is refused, by the name of
 * the table and where event triggers fire (ddl/before_alter.c), and that is not everywhere; so is a child.
 * Under an older snapshot, the server includes partitions that are being detached.
 */
void
refuse_check_constraints(Oid index_table)
{
	foreach_oid(relid, tree_of(index_table, NULL, NoLock, true))
	{
		Relation	rel = relation_open(relid, AccessShareLock);
		TupleConstr *constraints = RelationGetDescr(rel)->constr;
		List	   *children = rel->rd_rel->relkind == RELKIND_RELATION ? tree_children(relid, NULL, true) : NIL;

		if (constraints != NULL && constraints->num_check > 0)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("index table \"%s\" has a CHECK constraint", RelationGetRelationName(rel)),
					 errdetail("Constraints are not checked when entries are written."),
					 errhint("Run ALTER TABLE %s DROP CONSTRAINT %s;", quoted_relation(relid),
							 quote_identifier(constraints->check[0].ccname))));
		if (children != NIL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("index table \"%s\" has a child by inheritance", RelationGetRelationName(rel)),
					 errdetail("The rows of a child appear as entries."),
					 errhint("Run ALTER TABLE %s NO INHERIT %s;", quoted_relation(linitial_oid(children)),
							 quoted_relation(relid))));
		relation_close(rel, NoLock);
	}
}

/*
 * primary_key_add
 *		Makes the primary key of an index table, in a tablespace.  Unless drop is NULL, it
 *		takes the place and the name of the constraint of this name, which is dropped in the
 *		same command: without a primary key the index table would be taken for broken.
 */
void
primary_key_add(IndexDef *def, bool covering, const char *tablespace, const char *drop)
{
	Relation	rel;
	Relation	index;
	Oid			relid;
	char	   *how = "ADD";

	if (drop != NULL)
		how = psprintf("DROP CONSTRAINT %s, ADD CONSTRAINT %s", quote_identifier(drop), quote_identifier(drop));
	refuse_check_constraints(def->relid);
	run_sql(get_extension_owner(), "ALTER TABLE %s %s %s%s", held_name(def->relid), how, primary_key_constraint(def, covering),
			in_tablespace("USING INDEX TABLESPACE", tablespace));
	/* Event triggers have run, and may have done anything. */
	rel = try_relation_open(def->relid, NoLock);
	index = rel != NULL ? open_identity_index(rel, def->sparse) : NULL;
	if (index == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index table \"%s\" was altered while its primary key was being created", def->name),
				 errhint("Check the event triggers of the database.")));
	relid = RelationGetRelid(index);
	relation_close(rel, NoLock);
	index_close(index, AccessShareLock);
	place_index(def->relid, relid);
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
	Relation	index = open_identity_index(rel, def->sparse);
	List	   *old_keys = usage_keys(def->relid);
	char	   *constraint = pstrdup(RelationGetRelationName(index));
	char	   *tablespace = tablespace_of(index);
	bool		clustered = index->rd_index->indisclustered;
	bool		identity = index->rd_index->indisreplident;
	int			uncounted;

	index_close(index, NoLock);
	table_close(rel, NoLock);
	uncounted = begin_uncounted();
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
		run_sql(get_extension_owner(), "ALTER TABLE %s CLUSTER ON %s", held_name(relid), quote_identifier(constraint));
	if (identity)
		run_sql(get_extension_owner(), "ALTER TABLE %s REPLICA IDENTITY USING INDEX %s", held_name(relid),
				quote_identifier(constraint));
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
			run_sql(get_extension_owner(), "ALTER INDEX %s SET TABLESPACE %s", held_name(leaf_index),
					quote_identifier(tablespace));
	}
}

/* row_index_columns: returns the columns of the index by which a row's entries are found */
char *
row_index_columns(IndexDef *def)
{
	return column_list(def->relid, def->pk_attno, def->fact->npk);
}

/*
 * row_index_make
 *		Makes the index by which a row's entries are found, for an index table that is kept
 *		in step through the queue.  A comment distinguishes it from indexes that the owner
 *		has made.
 */
void
row_index_make(Oid index_table, const char *columns)
{
	Oid			schema = get_rel_namespace(index_table);
	char	   *name = ChooseRelationName(get_rel_name(index_table), NULL, "row_idx", schema, false);
	Relation	rel = relation_open(index_table, AccessShareLock);
	const char *tablespace = tablespace_of(rel);
	int			uncounted = begin_uncounted();

	relation_close(rel, NoLock);
	run_sql(get_extension_owner(), "CREATE INDEX %s ON %s (%s)%s", quote_identifier(name),
			held_name(index_table), columns, in_tablespace("TABLESPACE", tablespace));
	end_uncounted(uncounted);
	run_sql(get_extension_owner(), "COMMENT ON INDEX %s IS %s",
			quote_qualified_identifier(get_namespace_name(schema), name),
			quote_literal_cstr(ROW_INDEX_COMMENT));
	place_index(index_table, get_relname_relid(name, schema));
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
			run_sql(get_extension_owner(), "DROP INDEX %s", held_name(index_oid));
	}
}

/* primary_key_covers: returns whether the primary key of an index table covers the included fields */
bool
primary_key_covers(IndexDef *def, Relation primary_key)
{
	return def->nincludes > 0 &&
		primary_key->rd_index->indnatts >= def->nident + def->nincludes;
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
	for (int i = def->nkeys; i < def->nkeys + def->nincludes; i++)
		if (declared_size(TupleDescAttr(def->desc, def->fields[i].attno - 1)) /
			pg_database_encoding_max_length() > MAX_INDEX_DATA)
			return false;
	return def->nincludes > 0 && def->nident + def->nincludes <= INDEX_MAX_KEYS;
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
	Size		widest = 0;

	for (int i = 0; i < def->nident + def->nincludes; i++)
	{
		AttrNumber	attno = i < def->nident ? def->ident[i] : def->fields[def->nkeys + i - def->nident].attno;
		Form_pg_attribute att = TupleDescAttr(def->desc, attno - 1);
		int32		size = declared_size(att);

		if (size < 0)
			return MAX_INDEX_DATA / 2;
		widest = att_align_nominal(widest, att->attalign) + size;
	}
	return widest <= MAX_INDEX_DATA ? MAX_INDEX_DATA : MAX_INDEX_DATA / 2;
}

/* declared_size: returns how many bytes a value of a column can have at most, by its type; -1: any number */
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
	def->ident_sort = palloc0(sizeof(SortSupportData) * def->nident);
	def->write_sort = palloc0(sizeof(SortSupportData) * def->nident);
	for (int i = 0; i < def->nident; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->desc, def->ident[i] - 1);

		prepare_sort(&def->ident_sort[i], att->atttypid, att->attcollation, false);

		/*
		 * Where only texts of the same bytes are equal, they may be sorted by
		 * their bytes before they are written, which is cheaper.
		 */
		prepare_sort(&def->write_sort[i], att->atttypid,
					 OidIsValid(att->attcollation) &&
					 get_collation_isdeterministic(att->attcollation) ?
					 C_COLLATION_OID : att->attcollation, i == 0);
	}
	def->brief_text = def->write_sort[0].abbrev_converter != NULL &&
		def->write_sort[0].ssup_collation == C_COLLATION_OID &&
		(TupleDescAttr(def->desc, def->ident[0] - 1)->atttypid == TEXTOID ||
		 TupleDescAttr(def->desc, def->ident[0] - 1)->atttypid == VARCHAROID);
	def->max_covered_bytes = primary_key_max_covered_bytes(def);
}
