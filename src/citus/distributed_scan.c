/*-------------------------------------------------------------------------
 *
 * distributed_scan.c
 *	  Reads entries of an index table that Citus has distributed, by SQL.
 *
 * The tables of a distributed index table that are known by name hold no rows: those are
 * in shards, on any node.  So a search is one statement, made of its search keys, as the
 * current user.  The index table is distributed by its first key field; if that one is
 * compared with = in the search keys, Citus sends the statement to one shard, which
 * searches its primary key.  Otherwise it asks all shards and merges their answers.
 *
 * Shards on this node are read with the caller's snapshot, others with a new one of their
 * own node.  Citus has no snapshot over nodes: while entries are moved from one key to
 * another, a search may see both for a moment, or neither.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "commands/explain.h"
#include "executor/tstoreReceiver.h"
#include "miscadmin.h"
#include "nodes/params.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "../indextable.h"
#include "../util/as_owner.h"
#include "../util/compat.h"
#include "../util/sql.h"
#include "citus.h"

/*
 * The comparisons of two rows with as many columns as an index can have, each written out, a prefix
 * and a limit have no more parameters.
 */
#define MAX_PARAMS			(2 * (INDEX_MAX_KEYS + 1) * INDEX_MAX_KEYS)

typedef struct DistributedScan
{
	Tuplestorestate *rows;		/* what the statement has returned */
	TupleTableSlot *row;
	TupleTableSlot *entry;		/* the same with the columns of the index
								 * table */
	AttrNumber *columns;		/* the numbers that the columns of row have
								 * there */
	int			ncolumns;
} DistributedScan;

/* A statement, and the values of its parameters. */
typedef struct Statement
{
	StringInfoData sql;
	int			nparams;
	Datum	   *values;
	Oid		   *types;
	AttrNumber *columns;		/* as in DistributedScan */
	int			ncolumns;
} Statement;

static bool calls_code(IndexDef *def);
static bool is_domain(Oid type);
static void make_statement(EntryScan *search, Statement *statement);
static void add_row_comparison(EntryScan *search, Statement *statement, Relation index, ScanKey header);
static void add_columns_comparison(EntryScan *search, Statement *statement, Relation index, ScanKey first,
								   int n, StrategyNumber strategy);
static Oid	comparison_operator(Relation index, ScanKey key, StrategyNumber strategy, Oid *type);
static Form_pg_attribute attribute_of(EntryScan *search, ScanKey key);
static int	add_param(Statement *statement, Oid type, Datum value);
static void run_statement(EntryScan *search, Statement *statement, DestReceiver *dest);

/* quoted_column: returns the name of a column of an index table, as SQL has it */
static const char *
quoted_column(IndexDef *def, AttrNumber attno)
{
	return quote_identifier(NameStr(TupleDescAttr(def->layout.desc, attno - 1)->attname));
}

/* distributed_scan_start: runs a search, whose entries distributed_scan_next() returns */
void *
distributed_scan_start(EntryScan *search)
{
	DistributedScan *result = palloc0(sizeof(DistributedScan));
	DestReceiver *dest = CreateDestReceiver(DestTuplestore);
	TupleDesc	desc;
	Statement	statement;

	make_statement(search, &statement);
	result->columns = statement.columns;
	result->ncolumns = statement.ncolumns;
	desc = CreateTemplateTupleDesc(statement.ncolumns);
	for (int i = 0; i < statement.ncolumns; i++)
		TupleDescCopyEntry(desc, i + 1, search->def->layout.desc, statement.columns[i]);
	TupleDescFinalize(desc);
	result->row = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	result->entry = MakeSingleTupleTableSlot(search->def->layout.desc, &TTSOpsVirtual);
	result->rows = tuplestore_begin_heap(false, false, work_mem);
	SetTuplestoreDestReceiverParams(dest, result->rows, CurrentMemoryContext, false, NULL, NULL);
	AS_OWNER(search->options.as_owner || calls_code(search->def) ? search->def->fact->owner : InvalidOid);
	{
		run_statement(search, &statement, dest);
	}
	END_AS_OWNER();
	dest->rDestroy(dest);
	return result;
}

/*
 * calls_code
 *		Returns whether to read entries calls code of their owner, who has to be in charge then: Citus checks the
 *		domains of what comes from another node.  As somebody else, the owner sees nothing of this transaction.
 */
static bool
calls_code(IndexDef *def)
{
	bool		result = false;

	for (int i = 0; i < def->layout.desc->natts && !result; i++)
		result = !TupleDescAttr(def->layout.desc, i)->attisdropped &&
			has_type_within(TupleDescAttr(def->layout.desc, i)->atttypid, is_domain);
	if (result && !def->spec.async && IsolationUsesXactSnapshot() && GetUserId() != def->fact->owner)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index table \"%s\" cannot be read in a transaction of this isolation level", def->name),
				 errdetail("It has columns of domains, and is read as its owner, with another snapshot."),
				 errhint("Use the isolation level READ COMMITTED.")));
	return result;
}

static bool
is_domain(Oid type)
{
	return get_typtype(type) == TYPTYPE_DOMAIN;
}

/*
 * distributed_scan_next
 *		Returns the next entry, valid until the next call, or NULL if there is none.
 */
TupleTableSlot *
distributed_scan_next(void *search)
{
	DistributedScan *scan = search;

	ExecClearTuple(scan->entry);
	if (!tuplestore_gettupleslot(scan->rows, true, false, scan->row))
		return NULL;
	slot_getallattrs(scan->row);
	memset(scan->entry->tts_isnull, true, sizeof(bool) * scan->entry->tts_tupleDescriptor->natts);
	for (int i = 0; i < scan->ncolumns; i++)
	{
		scan->entry->tts_values[scan->columns[i] - 1] = scan->row->tts_values[i];
		scan->entry->tts_isnull[scan->columns[i] - 1] = scan->row->tts_isnull[i];
	}
	return ExecStoreVirtualTuple(scan->entry);
}

/* distributed_scan_end: releases what distributed_scan_start() has made */
void
distributed_scan_end(void *search)
{
	DistributedScan *scan = search;

	ExecDropSingleTupleTableSlot(scan->row);
	ExecDropSingleTupleTableSlot(scan->entry);
	tuplestore_end(scan->rows);
	pfree(scan);
}

/* explain_shards: adds to EXPLAIN how many shards a search asks by the first key field */
void
explain_shards(Oid index_table, ExplainState *es)
{
	ExplainPropertyText("Shards", psprintf("1 of %d", citus_shard_count(index_table)), es);
}

/* make_statement: makes the SELECT of a search */
static void
make_statement(EntryScan *search, Statement *statement)
{
	IndexDef   *def = search->def;
	EntryFilter *filter = &search->options.filter;
	Relation	index = index_open(search->options.by_row ? def->layout.row_index : def->layout.primary_index,
								   AccessShareLock);

	initStringInfo(&statement->sql);
	statement->nparams = 0;
	statement->values = palloc(sizeof(Datum) * MAX_PARAMS);
	statement->types = palloc(sizeof(Oid) * MAX_PARAMS);
	statement->columns = palloc(sizeof(AttrNumber) * def->layout.desc->natts);
	statement->ncolumns = 0;
	appendStringInfoString(&statement->sql, "SELECT");
	for (int i = 0; i < def->layout.desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->layout.desc, i);

		if (att->attisdropped ||
			(search->options.index_only && !bms_is_member(att->attnum, search->options.wanted)))
			continue;
		appendStringInfo(&statement->sql, "%s e.%s", statement->ncolumns == 0 ? "" : ",",
						 quote_identifier(NameStr(att->attname)));
		statement->columns[statement->ncolumns++] = att->attnum;
	}
	appendStringInfo(&statement->sql, " FROM %s e", quoted_relation(def->relid));
	for (int i = 0; i < search->nkeys; i++)
	{
		appendStringInfoString(&statement->sql, i == 0 ? " WHERE " : " AND ");
		if (search->keys[i].sk_flags & SK_ROW_HEADER)
			add_row_comparison(search, statement, index, &search->keys[i]);
		else
			add_columns_comparison(search, statement, index, &search->keys[i], 1, search->keys[i].sk_strategy);
	}
	if (filter->prefix != NULL)
		appendStringInfo(&statement->sql, "%s pg_catalog.starts_with(e.%s::pg_catalog.text, $%d)",
						 search->nkeys == 0 ? " WHERE" : " AND",
						 quoted_column(def, filter->prefix_attno),
						 add_param(statement, TEXTOID, CStringGetTextDatum(filter->prefix)));
	if (filter->hash_attno != 0)
		appendStringInfo(&statement->sql, " WHERE pg_catalog.worker_hash(e.%s) BETWEEN %d AND %d",
						 quoted_column(def, filter->hash_attno),
						 filter->hash_min, filter->hash_max);
	if (!search->options.by_row)
	{
		for (int i = 0; i < def->layout.nsearch; i++)
			appendStringInfo(&statement->sql, "%s e.%s%s", i == 0 ? " ORDER BY" : ",",
							 quoted_column(def, def->layout.ident[i]),
							 search->backward ? " DESC" : "");
		if (filter->limit > 0)
			appendStringInfo(&statement->sql, " LIMIT $%d", add_param(statement, INT8OID, Int64GetDatum(filter->limit)));
	}
	index_close(index, NoLock);
}

/*
 * add_row_comparison
 *		Adds the comparison of several columns with a row of values.
 *
 * It is written as ROW(...) > ROW(...), which a btree searches for, if that finds the
 * operators: they have one name, but the types may have them in several schemas.
 * Otherwise it is written out: a >= 1 AND (a > 1 OR (a = 1 AND ...)).
 */
static void
add_row_comparison(EntryScan *search, Statement *statement, Relation index, ScanKey header)
{
	ScanKey		member = (ScanKey) DatumGetPointer(header->sk_argument);
	StrategyNumber strict = header->sk_strategy == BTGreaterStrategyNumber ||
		header->sk_strategy == BTGreaterEqualStrategyNumber ? BTGreaterStrategyNumber : BTLessStrategyNumber;
	StrategyNumber loose = strict == BTGreaterStrategyNumber ? BTGreaterEqualStrategyNumber :
		BTLessEqualStrategyNumber;
	Oid			schema = InvalidOid;
	bool		one_schema = true;
	int			n;

	for (n = 0;; n++)
	{
		Oid			type;
		Oid			operator = comparison_operator(index, &member[n], header->sk_strategy, &type);
		HeapTuple	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator));
		Oid			its_schema;

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for operator %u", operator);
		its_schema = ((Form_pg_operator) GETSTRUCT(tuple))->oprnamespace;
		ReleaseSysCache(tuple);
		one_schema &= n == 0 || its_schema == schema;
		schema = its_schema;
		if (member[n].sk_flags & SK_ROW_END)
			break;
	}
	n++;
	if (one_schema || n == 1)
	{
		add_columns_comparison(search, statement, index, member, n, header->sk_strategy);
		return;
	}
	add_columns_comparison(search, statement, index, member, 1, loose);
	appendStringInfoString(&statement->sql, " AND (");
	for (int i = 0; i < n; i++)
	{
		appendStringInfoString(&statement->sql, i > 0 ? " OR (" : "(");
		for (int k = 0; k < i; k++)
		{
			add_columns_comparison(search, statement, index, &member[k], 1, BTEqualStrategyNumber);
			appendStringInfoString(&statement->sql, " AND ");
		}
		add_columns_comparison(search, statement, index, &member[i], 1, i == n - 1 ? header->sk_strategy : strict);
		appendStringInfoChar(&statement->sql, ')');
	}
	appendStringInfoChar(&statement->sql, ')');
}

/*
 * add_columns_comparison
 *		Adds the comparison of one column, or of several as a row, by one operator name.
 */
static void
add_columns_comparison(EntryScan *search, Statement *statement, Relation index, ScanKey first, int n,
					   StrategyNumber strategy)
{
	StringInfo	sql = &statement->sql;
	Oid			operator = InvalidOid;
	Oid			type;
	HeapTuple	tuple;

	appendStringInfoString(sql, n > 1 ? "ROW(" : "");
	for (int i = 0; i < n; i++)
	{
		Form_pg_attribute att = attribute_of(search, &first[i]);

		appendStringInfo(sql, "%s%s", i > 0 ? ", " : "",
						 as_base_type(psprintf("e.%s", quote_identifier(NameStr(att->attname))), att->atttypid));
	}
	operator = comparison_operator(index, first, strategy, &type);
	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator %u", operator);
	appendStringInfo(sql, "%s OPERATOR(%s.%s) %s", n > 1 ? ")" : "",
					 quote_identifier(get_namespace_name(((Form_pg_operator) GETSTRUCT(tuple))->oprnamespace)),
					 NameStr(((Form_pg_operator) GETSTRUCT(tuple))->oprname), n > 1 ? "ROW(" : "");
	ReleaseSysCache(tuple);
	for (int i = 0; i < n; i++)
	{
		(void) comparison_operator(index, &first[i], strategy, &type);
		if (IsPolymorphicType(type))
			type = getBaseType(attribute_of(search, &first[i])->atttypid);
		appendStringInfo(sql, "%s$%d", i > 0 ? ", " : "", add_param(statement, type, first[i].sk_argument));
	}
	appendStringInfoString(sql, n > 1 ? ")" : "");
}

/*
 * comparison_operator
 *		Returns the operator that compares the column of a search key, and sets *type to the
 *		type of its sides.
 */
static Oid
comparison_operator(Relation index, ScanKey key, StrategyNumber strategy, Oid *type)
{
	int			column = key->sk_attno - 1;
	Oid			operator;

	*type = index->rd_opcintype[column];
	operator = get_opfamily_member(index->rd_opfamily[column], *type, *type, strategy);
	if (!OidIsValid(operator))
		elog(ERROR, "missing operator %d of index \"%s\"", strategy, RelationGetRelationName(index));
	return operator;
}

/* attribute_of: returns the column of the index table that a search key is about */
static Form_pg_attribute
attribute_of(EntryScan *search, ScanKey key)
{
	AttrNumber *columns = search->options.by_row ? search->def->layout.pk_attno : search->def->layout.ident;

	return TupleDescAttr(search->def->layout.desc, columns[key->sk_attno - 1] - 1);
}

/* add_param: adds a parameter to a statement, and returns its number */
static int
add_param(Statement *statement, Oid type, Datum value)
{
	if (statement->nparams == MAX_PARAMS)
		elog(ERROR, "too many search keys");
	statement->values[statement->nparams] = value;
	statement->types[statement->nparams] = type;
	return ++statement->nparams;
}

/*
 * run_statement
 *		Runs a statement with the search's snapshot, and sends its rows to dest.
 *
 * Names in it are qualified, and so are operators, whatever the search_path is.
 */
static void
run_statement(EntryScan *search, Statement *statement, DestReceiver *dest)
{
	ParamListInfo params = makeParamList(statement->nparams);

	for (int i = 0; i < statement->nparams; i++)
	{
		params->params[i].value = statement->values[i];
		params->params[i].isnull = false;
		params->params[i].pflags = PARAM_FLAG_CONST;
		params->params[i].ptype = statement->types[i];
	}
	/* Citus crashes on a list without parameters. */
	run_kept(search->def->relid, statement->sql.data, statement->nparams > 0 ? params : NULL,
			 search->snapshot, dest);
}
