/*-------------------------------------------------------------------------
 *
 * partition_spec.c
 *	  Says how an index table is to be partitioned, which a user asks for, or is partitioned:
 *	  by what, and into which partitions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "commands/tablespace.h"
#include "miscadmin.h"
#include "parser/parser.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/formatting.h"
#include "utils/partcache.h"
#include "utils/syscache.h"

#include "../expression/expression.h"
#include "../indextable.h"
#include "../util/fixed_settings.h"
#include "definition.h"

#define MAX_PARTITIONS		10000

static PartSpec *make_spec(Partitioning *p, char *bound, char *tablespace, const char *suffix);
static List *parse_after(const char *beginning, const char *what, const char *text);
static bool begins_with_method(const char *by);
static char *parse_by(const char *by, List *columns, bool *hash);
static char *parse_bound(const char *bound, bool *is_default);
static char *tablespace_for(List *tablespaces, int i, int n);
static char *bound_text(Datum bound, Oid partition);

/*
 * partitioning_asked
 *		Returns the partitioning that a user asks for, or NULL if the index table is not to
 *		be partitioned.  columns are the names of the key fields.
 */
Partitioning *
partitioning_asked(PartitioningRequest *r, List *columns)
{
	Partitioning *p = palloc0(sizeof(Partitioning));
	bool		hash = true;
	bool		has_default = false;
	int			n;
	int			i;

	if (r->partitions < 0 || r->partitions > MAX_PARTITIONS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("partitions must be between 0 and %d", MAX_PARTITIONS)));
	if (r->by == NULL)
		p->clause = psprintf("HASH (%s)", quote_identifier(linitial(columns)));
	else
		p->clause = parse_by(r->by, columns, &hash);
	if (hash && r->bounds != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("partition_bounds is allowed only for partitioning by range or list"),
				 errhint("Name the key field with partition_by, for example 'RANGE (%s)'; or use partitions to set the number of hash partitions.",
						 (char *) linitial(columns))));
	if (!hash && r->partitions > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("partitions is allowed only for partitioning by hash"),
				 errhint("Use partition_bounds for partitioning by range or list.")));
	if (hash && r->partitions == 0)
	{
		if (r->by != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("partitioning by hash requires the number of partitions"),
					 errhint("Use partitions to set it.")));
		if (r->tablespaces != NIL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("partition_tablespaces is allowed only for partitioned index tables")));
		return NULL;
	}

	n = hash ? r->partitions : list_length(r->bounds);
	if (list_length(r->tablespaces) > 1 && list_length(r->tablespaces) != n)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("partition_tablespaces must have one element, or one for each partition"),
				 errdetail("There are %d tablespaces and %d partitions.", list_length(r->tablespaces), n)));
	for (i = 0; hash && i < n; i++)
		make_spec(p, psprintf("FOR VALUES WITH (modulus %d, remainder %d)", n, i),
				  tablespace_for(r->tablespaces, i, n), psprintf("p%d", i));
	i = 0;
	foreach_ptr(char, given, r->bounds)
	{
		bool		is_default;
		char	   *bound = parse_bound(given, &is_default);

		make_spec(p, bound, tablespace_for(r->tablespaces, i, n), is_default ? "default" : psprintf("p%d", i));
		has_default |= is_default;
		i++;
	}

	/*
	 * There is always a default partition: no write of the fact table is to
	 * fail because a value is outside of all the bounds.
	 */
	if (!hash && !has_default)
		make_spec(p, "DEFAULT", list_length(r->tablespaces) == 1 ? tablespace_for(r->tablespaces, 0, 1) : NULL,
				  "default");
	return p;
}

/* partitioning_request_current: adds to a request that it is for the partitions that there are */
void
partitioning_request_current(PartitioningRequest *r, Partitioning *now)
{
	if (pg_strncasecmp(now->clause, "hash", 4) == 0)
		r->partitions = list_length(now->parts);
	else
		foreach_ptr(PartSpec, part, now->parts)
			r->bounds = lappend(r->bounds, part->bound);
}

/* partitioning_of: returns how an index table is partitioned, or NULL if it is not */
Partitioning *
partitioning_of(Relation rel)
{
	Partitioning *p;
	PartitionDesc desc;

	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return NULL;
	p = palloc0(sizeof(Partitioning));
	p->clause = TextDatumGetCString(OidFunctionCall1(F_PG_GET_PARTKEYDEF,
													 ObjectIdGetDatum(RelationGetRelid(rel))));
	desc = RelationGetPartitionDesc(rel, true);
	for (int i = 0; i < desc->nparts; i++)
	{
		HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(desc->oids[i]));
		bool		isnull;
		Datum		bound = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relpartbound, &isnull);
		Oid			tablespace = ((Form_pg_class) GETSTRUCT(tuple))->reltablespace;
		char	   *expr = bound_text(bound, desc->oids[i]);
		PartSpec   *spec;

		spec = make_spec(p, expr,
						 get_tablespace_name(OidIsValid(tablespace) ? tablespace : MyDatabaseTableSpace),
						 strcmp(expr, "DEFAULT") == 0 ? "default" : psprintf("p%d", i));
		spec->relid = desc->oids[i];
		ReleaseSysCache(tuple);
	}
	return p;
}

/*
 * partitioning_lacking
 *		Returns the partitions that an index table has lost and cannot do without, because
 *		there are values that fit no other: of hash partitions, or the default partition.
 *		Returns NULL if it has them all.
 *
 * If no hash partition is left, nothing says how many there were, and one takes all values.
 */
Partitioning *
partitioning_lacking(Relation rel)
{
	Partitioning *p;
	PartitionDesc desc;
	int			modulus;

	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return NULL;
	p = palloc0(sizeof(Partitioning));
	desc = RelationGetPartitionDesc(rel, true);
	if (RelationGetPartitionKey(rel)->strategy != PARTITION_STRATEGY_HASH)
	{
		if (!OidIsValid(get_default_oid_from_partdesc(desc)))
			make_spec(p, "DEFAULT", NULL, "default");
		return p->parts == NIL ? NULL : p;
	}
	/* There is an index for each remainder of the greatest modulus. */
	modulus = desc->nparts == 0 ? 1 : desc->boundinfo->nindexes;
	for (int i = 0; i < modulus; i++)
		if (desc->nparts == 0 || desc->boundinfo->indexes[i] < 0)
			make_spec(p, psprintf("FOR VALUES WITH (modulus %d, remainder %d)", modulus, i), NULL,
					  psprintf("p%d", i));
	return p->parts == NIL ? NULL : p;
}

/* make_spec: adds a partition; suffix ends its name */
static PartSpec *
make_spec(Partitioning *p, char *bound, char *tablespace, const char *suffix)
{
	PartSpec   *spec = palloc0(sizeof(PartSpec));

	spec->bound = bound;
	spec->tablespace = tablespace;
	spec->suffix = pstrdup(suffix);
	p->parts = lappend(p->parts, spec);
	return spec;
}

/*
 * parse_after
 *		Returns what the server's grammar makes of a text that ends a statement with a given
 *		beginning.  what is what errors call the text.
 */
static List *
parse_after(const char *beginning, const char *what, const char *text)
{
	ParseContext context;
	List	   *parsed;

	push_parse_context(&context, what, text, strlen(beginning), 0);
	parsed = raw_parser(psprintf("%s%s", beginning, text), RAW_PARSE_DEFAULT);
	pop_parse_context(&context);
	return parsed;
}

/*
 * begins_with_method
 *		Returns whether a text begins with one of the words for how a table is partitioned.
 */
static bool
begins_with_method(const char *by)
{
	static const char *const methods[] = {"range", "list", "hash"};

	by += strspn(by, " \t\r\n");
	for (int i = 0; i < (int) lengthof(methods); i++)
		if (pg_strncasecmp(by, methods[i], strlen(methods[i])) == 0)
			return true;
	return false;
}

/*
 * parse_by
 *		Parses what a user gives as partition_by, HASH, RANGE or LIST of one of the columns,
 *		and returns it in the form that CREATE TABLE takes.  *hash is set to whether it is HASH.
 */
static char *
parse_by(const char *by, List *columns, bool *hash)
{
	bool		says_how = begins_with_method(by);
	List	   *parsed = says_how ? parse_after("CREATE TABLE x () PARTITION BY ", "partition_by", by) : NIL;
	CreateStmt *stmt = list_length(parsed) == 1 ? (CreateStmt *) linitial_node(RawStmt, parsed)->stmt : NULL;
	PartitionElem *elem = NULL;
	char	   *strategy = NULL;
	char	   *meant = linitial(columns);
	ListCell   *cell;

	foreach_ptr(char, column, columns)
	{
		if (strcmp(column, by) == 0)
			meant = column;
	}
	if (stmt != NULL && IsA(stmt, CreateStmt) && stmt->partspec != NULL && stmt->options == NIL &&
		stmt->tablespacename == NULL && stmt->accessMethod == NULL && stmt->oncommit == ONCOMMIT_NOOP &&
		list_length(stmt->partspec->partParams) == 1)
	{
		elem = linitial(stmt->partspec->partParams);
		strategy = partition_strategy_name(stmt->partspec);
		if (elem->expr != NULL || elem->collation != NIL || elem->opclass != NIL)
			elem = NULL;
	}
	if (elem == NULL || strategy == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for parameter \"%s\": \"%s\"", "partition_by", by),
				 errhint("Use RANGE, LIST or HASH of one key field: 'RANGE (%1$s)', 'LIST (%1$s)' or 'HASH (%1$s)'.",
						 quote_identifier(meant))));
	foreach(cell, columns)
	{
		if (strcmp(lfirst(cell), elem->name) == 0)
			break;
	}
	if (cell == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("\"%s\" is not a key field", elem->name),
				 errdetail("An index table is partitioned by one of its key fields.")));
	*hash = strcmp(strategy, "hash") == 0;
	return psprintf("%s (%s)", asc_toupper(strategy, strlen(strategy)), quote_identifier(elem->name));
}

/*
 * parse_bound
 *		Parses the bound of a partition, with or without FOR VALUES, and returns it in the form
 *		that CREATE TABLE ... PARTITION OF takes.  *is_default is set to whether it is DEFAULT.
 */
static char *
parse_bound(const char *bound, bool *is_default)
{
	const char *start = bound + strspn(bound, " \t\r\n");
	bool		whole = pg_strncasecmp(start, "for", 3) == 0 || pg_strncasecmp(start, "default", 7) == 0;
	char	   *text = psprintf("%s%s", whole ? "" : "FOR VALUES ", start);
	List	   *parsed = parse_after("ALTER TABLE x ATTACH PARTITION y ", "bound", text);
	AlterTableStmt *stmt = list_length(parsed) == 1 ?
		(AlterTableStmt *) linitial_node(RawStmt, parsed)->stmt : NULL;
	AlterTableCmd *cmd = stmt != NULL && IsA(stmt, AlterTableStmt) && list_length(stmt->cmds) == 1 ?
		linitial(stmt->cmds) : NULL;

	if (cmd == NULL || cmd->subtype != AT_AttachPartition)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid partition bound \"%s\"", bound),
				 errhint("For example: 'FROM (1) TO (10)', or 'IN (1, 2)'.")));
	*is_default = ((PartitionCmd *) cmd->def)->bound->is_default;
	return text;
}

/*
 * tablespace_for
 *		Returns the tablespace for a partition: the only one that was given, or number i of
 *		them; NULL, which stands for that of the index table, if none was given.
 */
static char *
tablespace_for(List *tablespaces, int i, int n)
{
	char	   *name;

	if (tablespaces == NIL)
		return NULL;
	name = list_nth(tablespaces, list_length(tablespaces) == 1 ? 0 : i);
	if (get_tablespace_oid(name, false) != MyDatabaseTableSpace &&
		!may_create_in_tablespace(get_tablespace_oid(name, false)))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLESPACE, name);
	return name;
}

/*
 * bound_text
 *		Returns the bound of a partition as SQL.  Fixed settings make sure that a partition
 *		made from this text has the same bound: with fewer digits it would be another one.
 */
static char *
bound_text(Datum bound, Oid partition)
{
	volatile Datum expr = (Datum) 0;

	WHILE_FIXED(expr = OidFunctionCall2(F_PG_GET_EXPR_PG_NODE_TREE_OID, bound, ObjectIdGetDatum(partition)));
	return TextDatumGetCString(expr);
}
