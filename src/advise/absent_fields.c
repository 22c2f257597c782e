/*-------------------------------------------------------------------------
 *
 * absent_fields.c
 *	  Warns of fields of a new index table that no document has, and names those that were
 *	  perhaps meant.
 *
 * Mostly the first document has all of the fields, and only that one is read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "../definition/expression.h"
#include "../definition/field_hint.h"
#include "../entry/block_scan.h"
#include "../entry/document.h"
#include "../entry/mismatch.h"
#include "../indextable.h"
#include "../util/fixed_settings.h"
#include "../util/inherit.h"
#include "../util/nearest.h"
#include "../util/role.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "absent_fields.h"

/* So many documents are looked at; members are taken from fewer, and so many of them. */
#define MAX_DOCUMENTS		1000
#define MAX_SHOWN			100
#define MAX_MEMBERS			300
#define MAX_DEPTH			6
#define MAX_ELEMENTS		5
#define MAX_LISTED			10

/* A member of documents. */
typedef struct Member
{
	char	   *path;			/* as in a field */
	char	   *names;			/* the names alone, with dots between them */
	char	   *last;			/* the last one, within names */
	int			depth;
} Member;

typedef struct AbsentFields
{
	DefinitionRow *row;
	IndexDef   *def;
	MemoryContext cxt;			/* for members */
	bool	   *seen;			/* of each field: some document has it */
	int			nabsent;
	int			documents;		/* that were looked at */
	bool		all;			/* there are no others */
	bool		entries;		/* the index table has entries */
	List	   *members;		/* of Member * */
} AbsentFields;

static void look_for_fields(void *arg);
static void read_documents(AbsentFields *a, Relation fact, Snapshot snapshot, bool members);
static void look_at_document(AbsentFields *a, FactRow *row);
static bool has_path(JsonbValue *value, PathStep *steps, int nsteps);
static void collect_members(AbsentFields *a, JsonbContainer *container, const char *path, const char *names, int depth);
static void add_member(AbsentFields *a, const char *path, const char *names, const char *last, int depth);
static void warn(AbsentFields *a, Field *field, bool is_key);
static bool is_document(AbsentFields *a, FieldSpec *spec);
static char *field_meant(AbsentFields *a, FieldSpec *spec);
static char *list_members(AbsentFields *a);

/*
 * warn_of_absent_fields
 *		Raises a warning for each field that is in none of the first documents of the fact table
 *		while something similar is, and otherwise a notice for each such key field.  Returns
 *		whether there was one about a key field.
 *
 * No function of a user is called for that, and no other server is asked.  A field that is
 * rare enough may not be among so many documents, but entries show that it is somewhere.
 */
bool
warn_of_absent_fields(DefinitionRow *row, IndexDef *def)
{
	AbsentFields a = {.row = row,.def = def,.cxt = CurrentMemoryContext};
	ErrorData  *error;
	bool		result = false;
	int			i;

	a.seen = palloc0(sizeof(bool) * (def->nkeys + def->nincludes));
	error = run_catching_row_errors(look_for_fields, &a);
	if (error != NULL || a.documents == 0)
		return false;
	for (i = 0; i < def->nkeys + def->nincludes; i++)
	{
		if (!a.seen[i] && (a.all || !a.entries || i >= def->nkeys))
		{
			warn(&a, &def->fields[i], i < def->nkeys);
			result = result || i < def->nkeys;
		}
	}
	return result;
}

/* look_for_fields: finds out which fields no document has, and if there are such, which members there are */
static void
look_for_fields(void *arg)
{
	AbsentFields *a = arg;
	IndexDef   *def = a->def;
	Relation	fact = relation_open(a->row->fact_table, NoLock);
	Relation	index_table = relation_open(a->row->index_table, NoLock);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	int			nestlevel = NewGUCNestLevel();
	int			i;

	fix_gucs();
	PushActiveSnapshot(snapshot);
	(void) lock_leaves(a->row->fact_table, NULL, AccessShareLock);
	for (i = 0; i < def->nkeys + def->nincludes; i++)
	{
		a->seen[i] = def->fields[i].spec->column != NULL;
		a->nabsent += !a->seen[i];
	}
	a->entries = block_scan_count_blocks(index_table, 100) > 0;
	if (a->nabsent > 0)
		read_documents(a, fact, snapshot, false);
	if (a->nabsent > 0 && a->documents > 0)
		read_documents(a, fact, snapshot, true);
	PopActiveSnapshot();
	UnregisterSnapshot(snapshot);
	AtEOXact_GUC(false, nestlevel);
	relation_close(index_table, NoLock);
	relation_close(fact, NoLock);
}

/* read_documents: looks for the fields in the first documents that the filter lets through; with members, for members */
static void
read_documents(AbsentFields *a, Relation fact, Snapshot snapshot, bool members)
{
	IndexDef   *def = a->def;
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable absent fields", ALLOCSET_DEFAULT_SIZES);
	BlockScan	scan;
	TupleTableSlot *slot;
	Caller		caller;
	int			rows = 0;
	int			n = 0;

	become_owner(&caller, def->fact->owner);
	block_scan_begin(&scan, def->fact, fact, snapshot, 100, 0);
	while (rows < MAX_DOCUMENTS && n < (members ? MAX_SHOWN : MAX_DOCUMENTS) && (members || a->nabsent > 0) &&
		   (slot = block_scan_next(&scan)) != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(cxt);
		FactRow		row;
		JsonbValue	value;
		Datum		keep;

		CHECK_FOR_INTERRUPTS();
		rows++;
		factrow_init(&row, def->fact, slot);
		if (def->filter == NULL || (expression_eval(def->filter, slot, &keep) && DatumGetBool(keep)))
		{
			n++;
			if (!members)
				look_at_document(a, &row);
			else if (document_value(&row, def->docno, NULL, 0, &value) && value.type == jbvBinary)
				collect_members(a, value.val.binary.data, "", "", 0);
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(cxt);
	}
	if (!members)
	{
		a->documents = n;
		a->all = rows < MAX_DOCUMENTS;
	}
	block_scan_end(&scan);
	become_caller(&caller);
	MemoryContextDelete(cxt);
}

/* look_at_document: notes which fields that were absent so far a document has */
static void
look_at_document(AbsentFields *a, FactRow *row)
{
	IndexDef   *def = a->def;
	int			i;

	for (i = 0; i < def->nkeys + def->nincludes; i++)
	{
		Field	   *field = &def->fields[i];
		FieldSpec  *spec = field->spec;
		JsonbValue	value;

		if (!a->seen[i] && document_value(row, def->docno, spec->steps, field->plain_steps, &value) &&
			has_path(&value, spec->steps + field->plain_steps, spec->nsteps - field->plain_steps))
		{
			a->seen[i] = true;
			a->nabsent--;
		}
	}
}

/* has_path: returns whether a value has a path, any element of an array standing for [*], and null being a value */
static bool
has_path(JsonbValue *value, PathStep *steps, int nsteps)
{
	JsonbValue	next = *value;
	uint32		i;

	if (nsteps == 0 || (nsteps == 1 && steps->wildcard))
		return true;
	if (!steps->wildcard)
		return json_walk(&next, steps, 1) && has_path(&next, steps + 1, nsteps - 1);
	if (value->type != jbvBinary || !JsonContainerIsArray(value->val.binary.data))
		return has_path(value, steps + 1, nsteps - 1);
	for (i = 0; i < JsonContainerSize(value->val.binary.data); i++)
		if (has_path(getIthJsonbValueFromContainer(value->val.binary.data, i), steps + 1, nsteps - 1))
			return true;
	return false;
}

/* collect_members: adds the members of an object, or of the first elements of an array, which path leads to */
static void
collect_members(AbsentFields *a, JsonbContainer *container, const char *path, const char *names, int depth)
{
	JsonbIterator *it;
	JsonbIteratorToken token;
	JsonbValue	value;
	StringInfoData member;
	char	   *member_names = NULL;
	uint32		i;

	if (depth > MAX_DEPTH || list_length(a->members) >= MAX_MEMBERS)
		return;
	if (JsonContainerIsArray(container))
	{
		for (i = 0; i < Min(JsonContainerSize(container), MAX_ELEMENTS); i++)
		{
			JsonbValue *element = getIthJsonbValueFromContainer(container, i);

			if (element->type == jbvBinary && depth > 0)
				collect_members(a, element->val.binary.data, psprintf("%s[*]", path), names, depth + 1);
		}
		return;
	}
	it = JsonbIteratorInit(container);
	while (list_length(a->members) < MAX_MEMBERS && (token = JsonbIteratorNext(&it, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
		{
			char	   *name = pnstrdup(value.val.string.val, value.val.string.len);

			initStringInfo(&member);
			appendStringInfoString(&member, path);
			append_member(&member, name);
			member_names = psprintf("%s%s%s", names, *names != '\0' ? "." : "", name);
			add_member(a, member.data, member_names, name, depth);
		}
		else if (token == WJB_VALUE && value.type == jbvBinary)
			collect_members(a, value.val.binary.data, member.data, member_names, depth + 1);
	}
}

static void
add_member(AbsentFields *a, const char *path, const char *names, const char *last, int depth)
{
	MemoryContext old;
	Member	   *member;
	ListCell   *cell;

	foreach(cell, a->members)
	{
		if (strcmp(((Member *) lfirst(cell))->path, path) == 0)
			return;
	}
	old = MemoryContextSwitchTo(a->cxt);
	member = palloc(sizeof(Member));
	member->path = pstrdup(path);
	member->names = pstrdup(names);
	member->last = member->names + strlen(names) - strlen(last);
	member->depth = depth;
	a->members = lappend(a->members, member);
	MemoryContextSwitchTo(old);
}

static void
warn(AbsentFields *a, Field *field, bool is_key)
{
	FieldSpec  *spec = field->spec;
	char	   *meant = field_meant(a, spec);
	char	   *members = meant == NULL ? list_members(a) : NULL;

	/* Documents often lack what is only carried along. */
	if (meant == NULL && !is_key)
		return;
	ereport(meant != NULL ? WARNING : NOTICE,
			(a->all ? errmsg("no document has the field \"%s\" of index table \"%s\"", excerpt(spec->text), a->def->name) :
			 errmsg("none of the first %d documents has the field \"%s\" of index table \"%s\"",
					a->documents, excerpt(spec->text), a->def->name),
			 is_key ? errdetail("Documents without it have no entries.") :
			 errdetail("Its column is null for documents without it."),
			 meant != NULL ? errhint("Perhaps you mean this field: %s. To choose anew, run SELECT indextable.drop(%s);",
									 meant, quote_literal_cstr(quoted_relation(a->def->relid))) :
			 members == NULL ? 0 :
			 is_document(a, spec) ? errhint("A path begins below the column \"%s\". The documents have: %s.", a->row->document, members) :
			 errhint("The documents have: %s.", members)));
}

/* is_document: returns whether a field is the name of the column that has the documents */
static bool
is_document(AbsentFields *a, FieldSpec *spec)
{
	return spec->nsteps == 1 && spec->steps[0].name != NULL && strcmp(spec->steps[0].name, a->row->document) == 0;
}

/*
 * field_meant
 *		Returns the field that a user may have meant, as an argument of create(), or NULL.
 *
 * It is, in this order: the same path in another case, or without a [*]; the path without the
 * name of the column before it; a column of the table; a path that is spelled almost like it;
 * and a member of the same name within another one.
 */
static char *
field_meant(AbsentFields *a, FieldSpec *spec)
{
	StringInfoData names;
	const char *without_column = NULL;
	const char *last = NULL;
	char	   *found = NULL;
	int			best = PG_INT32_MAX;
	int			nnames = 0;
	bool		subscript = false;
	ListCell   *cell;
	int			i;

	initStringInfo(&names);
	for (i = 0; i < spec->nsteps; i++)
	{
		PathStep   *step = &spec->steps[i];

		if (step->name == NULL || step->is_index)
		{
			subscript = subscript || step->is_index;
			continue;
		}
		appendStringInfo(&names, "%s%s", names.len > 0 ? "." : "", step->name);
		last = step->name;
		if (++nnames == 1 && strcmp(step->name, a->row->document) == 0)
			without_column = names.data;
	}
	if (nnames == 0)
		return NULL;
	if (without_column != NULL)
		without_column = nnames > 1 ? names.data + strlen(a->row->document) + 1 : NULL;
	foreach(cell, a->members)
	{
		Member	   *member = lfirst(cell);
		int			distance = name_distance(names.data, member->names);
		int			score = PG_INT32_MAX;

		/* An array may just have fewer elements. */
		if (subscript && strcmp(names.data, member->names) == 0)
			continue;
		if (distance == 0)
			score = 0;
		else if (without_column != NULL && pg_strcasecmp(without_column, member->names) == 0)
			score = 1;
		else if (is_near(names.data, member->names, distance))
			score = 10 + distance;
		else if (pg_strcasecmp(last, member->last) == 0)
			score = 1000 + member->depth;
		if (score < best)
		{
			best = score;
			found = member->path;
		}
	}
	if (best > 1 && nnames == 1 &&
		get_attnum(a->row->fact_table, last) > 0 && strcmp(last, a->row->document) != 0)
		found = psprintf("@%s", quote_identifier(last));
	return found == NULL ? NULL : array_literal(list_make1(psprintf("%s%s", found, spec->text +spec->tail)));
}

/* list_members: returns some of the members that documents have at their top, or NULL if they have none */
static char *
list_members(AbsentFields *a)
{
	StringInfoData list;
	ListCell   *cell;
	int			n = 0;

	initStringInfo(&list);
	foreach(cell, a->members)
	{
		Member	   *member = lfirst(cell);

		if (member->depth > 0)
			continue;
		if (++n > MAX_LISTED)
		{
			appendStringInfoString(&list, ", ...");
			break;
		}
		appendStringInfo(&list, "%s%s", n > 1 ? ", " : "", member->path);
	}
	return n > 0 ? list.data : NULL;
}
