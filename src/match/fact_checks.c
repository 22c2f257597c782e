/*-------------------------------------------------------------------------
 *
 * fact_checks.c
 *	  Reads constraints of a fact table that say of every row that a field is there, or that
 *	  a value is an array, or an object, if it is there at all.
 *
 * They are CHECK (doc ->> 'town' IS NOT NULL), CHECK (jsonb_typeof(doc -> 'tags') = 'array') and
 * CHECK (jsonb_typeof(doc) = 'object'), and such conditions connected by AND, and NOT NULL of
 * columns.  Only constraints are read that are known to be true for all rows, also those of
 * partitions.
 *
 * A row that a constraint was not checked for can be seen by a snapshot that is older than the
 * constraint.  So it is believed only when the transaction that has made it, or has validated
 * it, is older than all snapshots that this transaction has, and so than those that it will
 * have.  A later transaction may import an older snapshot from another session: then nothing is
 * believed of what is newer when its queries are planned, and a plan that was kept finds by
 * snapshot_precedes_checks() that it may rely on too much.  A snapshot that sees the transaction of the
 * constraint sees all that have ended before it, which have deleted or changed the rows that it
 * has not met any more; and those that it has met comply.
 *
 * Nothing is evaluated, as constraints can have any functions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "../fact/fact.h"
#include "../util/relation.h"
#include "match.h"

/* Relation number of the table in its constraints. */
#define VARNO	1

/* An expression over the table, of which something is known. */
typedef struct Checked
{
	Node	   *expr;
	TransactionId xmin;			/* since this transaction */
} Checked;

struct FactChecks
{
	List	   *not_null;		/* of Checked *: it is not NULL */
	List	   *arrays;			/* of Checked *: it is an array, or NULL, or
								 * SQL NULL */
	List	   *objects;		/* of Checked *: it is an object, or NULL, or
								 * SQL NULL */
};

/* The newest transaction since which something is known that a plan may rely on. */
static TransactionId newest_believed = InvalidTransactionId;

static struct FactChecks *checks_of(FactDef *fact);
static void read_not_null_columns(struct FactChecks *checks, Relation rel);
static void read_constraint(struct FactChecks *checks, Relation rel, Relation catalog, HeapTuple tuple);
static void add_column(struct FactChecks *checks, Relation rel, AttrNumber attno, TransactionId xmin);
static void read_condition(struct FactChecks *checks, Node *node, TransactionId xmin);
static List *add_checked(List *list, Node *expr, TransactionId xmin);
static Node *fold_arrays(Node *node, void *context);
static bool is_believed(Checked *checked);

/*
 * check_says_not_null
 *		Returns whether a field is not NULL in any row of the fact table: as a key field it
 *		never keeps a row from having an entry.
 *
 * If the text at a path is not NULL, the path leads to something, and not to JSON null; and no
 * cast of a text is NULL.
 */
bool
check_says_not_null(IndexDef *def, Field *field)
{
	if (field->convert != NULL || field->spec->multi)
		return false;
	foreach_ptr(Checked, checked, checks_of(def->fact)->not_null)
	{
		Node	   *expr = checked->expr;

		if (!is_believed(checked))
			continue;
		if (field->fact_attno != 0 ? expression_is_field(def, field, expr, VARNO) :
			is_text_of_field(def, field, expr, VARNO))
			return true;
	}
	return false;
}

/*
 * check_says_array
 *		Returns whether what a field has the elements of is an array in all rows in which it
 *		is there.
 */
bool
check_says_array(IndexDef *def, Field *field)
{
	foreach_ptr(Checked, checked, checks_of(def->fact)->arrays)
	{
		if (is_believed(checked) && is_value_after(def, field, field->plain_steps, checked->expr, VARNO))
			return true;
	}
	return false;
}

/*
 * check_says_object
 *		Returns whether what a field is a member of is an object in all rows in which it is
 *		there.
 */
bool
check_says_object(IndexDef *def, Field *field)
{
	foreach_ptr(Checked, checked, checks_of(def->fact)->objects)
	{
		if (is_believed(checked) && is_value_after(def, field, field->spec->nsteps - 1, checked->expr, VARNO))
			return true;
	}
	return false;
}

/*
 * checks_of
 *		Returns what the constraints of a fact table say, which is read once for a definition:
 *		constraints that change make it out of date.  The caller has locked the table, so that
 *		none can be dropped before a plan is made that is locked, and invalidated, in its turn.
 */
static struct FactChecks *
checks_of(FactDef *fact)
{
	struct FactChecks *checks;
	Relation	rel;
	MemoryContext old;
	CatalogScan scan;
	HeapTuple	tuple;

	if (fact->run.checks != NULL)
		return fact->run.checks;
	rel = table_open(fact->relid, NoLock);
	old = MemoryContextSwitchTo(fact->run.cxt);
	checks = palloc0(sizeof(struct FactChecks));
	read_not_null_columns(checks, rel);
	scan = catalog_scan_begin(ConstraintRelationId, ConstraintRelidTypidNameIndexId, Anum_pg_constraint_conrelid,
							  RelationGetRelid(rel), NULL);
	while (HeapTupleIsValid(tuple = catalog_scan_next(&scan)))
		read_constraint(checks, rel, scan.rel, tuple);
	catalog_scan_end(&scan);
	MemoryContextSwitchTo(old);
	table_close(rel, NoLock);
	return fact->run.checks = checks;
}

/*
 * read_not_null_columns
 *		Reads which columns are NOT NULL, where that is said of the columns themselves.
 */
static void
read_not_null_columns(struct FactChecks *checks, Relation rel)
{
	for (int i = 0; i < RelationGetDescr(rel)->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);
		HeapTuple	tuple;

		if (!not_null_by_column(att) || att->attisdropped)
			continue;
		tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(RelationGetRelid(rel)), Int16GetDatum(i + 1));
		if (!HeapTupleIsValid(tuple))
			continue;
		add_column(checks, rel, i + 1, HeapTupleHeaderGetXmin(tuple->t_data));
		ReleaseSysCache(tuple);
	}
}

/* read_constraint: reads a constraint if all rows comply with it, those of partitions, too */
static void
read_constraint(struct FactChecks *checks, Relation rel, Relation catalog, HeapTuple tuple)
{
	Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);
	TransactionId xmin = HeapTupleHeaderGetXmin(tuple->t_data);
	AttrNumber	attno = not_null_column(tuple);
	Datum		condition;
	bool		isnull;

	if (!form->convalidated || form->connoinherit)
		return;
	if (attno != InvalidAttrNumber)
		add_column(checks, rel, attno, xmin);
	if (form->contype != CONSTRAINT_CHECK)
		return;
	condition = heap_getattr(tuple, Anum_pg_constraint_conbin, RelationGetDescr(catalog), &isnull);
	if (!isnull)
		read_condition(checks, stringToNode(TextDatumGetCString(condition)), xmin);
}

/* add_column: adds a column that is not NULL */
static void
add_column(struct FactChecks *checks, Relation rel, AttrNumber attno, TransactionId xmin)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), attno - 1);

	checks->not_null = add_checked(checks->not_null,
								   (Node *) makeVar(VARNO, attno, att->atttypid, att->atttypmod,
													att->attcollation, 0),
								   xmin);
}

/*
 * read_condition
 *		Reads what a condition says that is not false for any row.  It may be NULL, but each of
 *		several that are connected by AND is not false either.
 */
static void
read_condition(struct FactChecks *checks, Node *node, TransactionId xmin)
{
	if (is_andclause(node))
	{
		foreach_ptr(Node, arg, ((BoolExpr *) node)->args)
			read_condition(checks, arg, xmin);
	}
	else if (IsA(node, NullTest) && ((NullTest *) node)->nulltesttype == IS_NOT_NULL &&
			 !((NullTest *) node)->argisrow)
		checks->not_null = add_checked(checks->not_null, without_casts((Node *) ((NullTest *) node)->arg), xmin);
	else if (IsA(node, OpExpr) && ((OpExpr *) node)->opno == TextEqualOperator)
	{
		Node	   *call = linitial(((OpExpr *) node)->args);
		Node	   *name = lsecond(((OpExpr *) node)->args);

		if (IsA(call, Const))
		{
			name = call;
			call = lsecond(((OpExpr *) node)->args);
		}
		if (IsA(call, FuncExpr) && ((FuncExpr *) call)->funcid == F_JSONB_TYPEOF &&
			IsA(name, Const) && !((Const *) name)->constisnull)
		{
			char	   *type = TextDatumGetCString(((Const *) name)->constvalue);

			if (strcmp(type, "array") == 0)
				checks->arrays = add_checked(checks->arrays, linitial(((FuncExpr *) call)->args), xmin);
			else if (strcmp(type, "object") == 0)
				checks->objects = add_checked(checks->objects, linitial(((FuncExpr *) call)->args), xmin);
		}
	}
}

static List *
add_checked(List *list, Node *expr, TransactionId xmin)
{
	Checked    *checked = palloc(sizeof(Checked));

	checked->expr = fold_arrays(expr, NULL);
	checked->xmin = xmin;
	return lappend(list, checked);
}

/*
 * fold_arrays
 *		Returns an expression with constants in place of arrays that are written element by
 *		element, as the planner does in queries.  That cannot fail, while other constant
 *		expressions are left alone because they can.
 */
static Node *
fold_arrays(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (!IsA(node, ArrayExpr))
		return expression_tree_mutator(node, fold_arrays, context);
	foreach_ptr(Node, element, ((ArrayExpr *) node)->elements)
	{
		if (!IsA(element, Const))
			return node;
	}
	return eval_const_expressions(NULL, node);
}

/*
 * is_believed
 *		Returns whether no snapshot that this transaction has is older than a constraint; then
 *		plans may rely on it.
 */
static bool
is_believed(Checked *checked)
{
	if (!TransactionIdIsNormal(checked->xmin))
		return checked->xmin == FrozenTransactionId;
	if (!TransactionIdPrecedes(checked->xmin, TransactionXmin))
		return false;
	if ((int32) (TransactionXmin - checked->xmin) > MAX_SNAPSHOT_AGE)
		checked->xmin = FrozenTransactionId;
	else if (!TransactionIdIsValid(newest_believed) || TransactionIdFollows(checked->xmin, newest_believed))
		newest_believed = checked->xmin;
	return true;
}

/*
 * snapshot_precedes_checks
 *		Returns whether a snapshot may be older than a constraint that a plan of this process
 *		relies on.
 *
 * What is believed precedes all that runs at that time, so only a snapshot that was imported is
 * older.  It is not asked which plan relies on what: such snapshots are rare.
 */
bool
snapshot_precedes_checks(Snapshot snapshot)
{
	if (!TransactionIdIsValid(newest_believed))
		return false;
	if (!TransactionIdPrecedes(newest_believed, snapshot->xmin))
		return true;
	if ((int32) (snapshot->xmin - newest_believed) > MAX_SNAPSHOT_AGE)
		newest_believed = InvalidTransactionId;
	return false;
}
