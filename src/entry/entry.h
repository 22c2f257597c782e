/*-------------------------------------------------------------------------
 *
 * entry.h
 *	  Offers the entries of index tables: fact rows and their documents, and how they are turned
 *	  into entries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ENTRY_H
#define INDEXTABLE_ENTRY_H

#include "../expression/expression.h"
#include "../indextable.h"

/* document.c: represents a fact row, and finds values in its documents */

/* A document, as far as it has been detoasted. */
typedef struct Document
{
	Jsonb	   *json;			/* NULL: it has not been asked for yet */
	const char *end;			/* where the bytes at hand end; NULL: all
								 * bytes are at hand */
	PathStep   *found_steps;	/* the path that was found last; NULL: none */
	int			found_nsteps;	/* how many steps of it */
	JsonbValue	found;			/* where it led to */
} Document;

/* Why a row cannot have its entries in an asynchronous index table. */
typedef struct Rejection
{
	int			sqlstate;		/* 0: it can */
	char	   *message;
} Rejection;

/* A version of a fact row. */
typedef struct FactRow
{
	FactDef    *fact;
	TupleTableSlot *slot;
	TupleTableSlot *written;	/* the same row as its writer has it still,
								 * before it was compressed or stored out of
								 * line; or NULL */
	Document   *docs;			/* its documents, one for each JSONB column in
								 * use */
	Rejection  *rejection;		/* filled in if a value cannot be an entry;
								 * NULL: that raises an error */
	Document	only;			/* its document, if there is but one */
} FactRow;

extern void factrow_init(FactRow *row, FactDef *fact, TupleTableSlot *slot);
extern bool document_value(FactRow *row, int docno, PathStep *steps, int nsteps,
						   JsonbValue *value);
extern bool path_meets_array(Field *field, FactRow *row, int docno);
extern bool same_member(FactRow *a, FactRow *b, int docno, JsonbValue *value);
extern bool json_walk(JsonbValue *value, PathStep *steps, int nsteps);

/* json_bytes: returns the bytes of a value, and how many these are; null and booleans have none */
static inline const char *
json_bytes(JsonbValue *value, Size *len)
{
	switch (value->type)
	{
		case jbvString:
			*len = value->val.string.len;
			return value->val.string.val;
		case jbvNumeric:
			*len = VARSIZE_ANY(value->val.numeric);
			return (char *) value->val.numeric;
		case jbvBinary:
			*len = value->val.binary.len;
			return (char *) value->val.binary.data;
		default:
			Assert(value->type == jbvNull || value->type == jbvBool);
			*len = 0;
			return NULL;
	}
}

/* entries.c: holds the entries of one row, and compares them with those of its old version */

/* Where an entry is. */
typedef struct EntryPlace
{
	Oid			table;			/* the index table, or one of its partitions */
	ItemPointerData tid;		/* invalid: not known */
} EntryPlace;

/* The entries of one row in one index table. */
typedef struct Entries
{
	int			n;
	int			max;
	int			natts;			/* columns of the index table */
	bool		left_alone;		/* they were not extracted, as the change does
								 * not affect them */
	Datum	   *values;			/* n * natts */
	bool	   *isnull;
	EntryPlace *places;			/* where they are, if known; else NULL */
	uint64		lacking;		/* bit k: the row lacks an entry, though its
								 * first k key fields are not null */
} Entries;

#define ENTRY_VALUES(e, i)	((e)->values + (Size) (i) * (e)->natts)
#define ENTRY_NULLS(e, i)	((e)->isnull + (Size) (i) * (e)->natts)

typedef enum OpKind
{
	OP_DELETE,
	OP_INSERT,					/* of an entry that is expected not to exist */
	OP_PUT						/* of an entry that may exist, with another
								 * payload */
} OpKind;

/* An operation on an index table. */
typedef struct Op
{
	HeapTuple	tuple;			/* the entry; OP_DELETE: its identity */
	Datum		abbreviated;	/* the first identity column, abbreviated for
								 * sorting; def->brief_text: its first bytes */
	Datum		first;			/* the first identity column; def->brief_text:
								 * its bytes after those */
	Datum		second;			/* the second identity column, if there is one */
	EntryPlace	place;			/* OP_DELETE: where the entry is, if known */
	uint32		seq;			/* its number in the list */
	bool		first_null;		/* the first identity column is NULL: first
								 * and abbreviated are 0 */
	bool		second_null;	/* the second one is: second is 0 */
	bool		long_first;		/* the first column is text that has more
								 * bytes than these */
	bool		last;			/* no later operation is on the same entry ... */
	bool		alone;			/* ... and no earlier one; see apply.c */
	OpKind		kind;
} Op;

/* Operations on one index table, in the sequence in which they were collected. */
typedef struct OpList
{
	Op		   *ops;
	int			n;
	int			max;
	bool		deletes;		/* there is an OP_DELETE or OP_PUT */
	Size		widest;			/* how many bytes of data the widest entry
								 * has, of those to be written */
	Size		bytes;			/* of memory, roughly */
	int64		skipped;		/* entries left out, to be counted */
	uint64		lacking;		/* of all rows, to be recorded; see
								 * catalog/completeness.c */
} OpList;

extern void entries_init(Entries *entries, IndexDef *def);
extern void entries_grow(Entries *entries, int first);
extern void store_entry(TupleTableSlot *slot, Datum *values, bool *isnull);
extern int	compare_identity(IndexDef *def, Datum *a, bool *anull, Datum *b, bool *bnull);
extern bool entry_equal(IndexDef *def, Datum *a, bool *anull, Datum *b, bool *bnull);
extern bool entries_equal(IndexDef *def, Entries *a, Entries *b);
extern void entries_sort(IndexDef *def, Entries *entries);
extern void entries_merge(IndexDef *def, Entries *into, Entries *from);
extern void entries_confine(IndexDef *def, Entries *entries, Entries *a, Entries *b);
extern bool same_bytes(Datum a, bool anull, Datum b, bool bnull, int16 typlen, bool typbyval);
extern Op	copy_op(IndexDef *def, const Op *op);
extern Datum op_value(IndexDef *def, Op *op, AttrNumber attno, bool *isnull);
extern bool entries_unchanged(IndexDef *def, FactRow *old, FactRow *new);
extern void diff_entries(IndexDef *def, Entries *old, Entries *new, OpList *ops, MemoryContext cxt);

/*
 * extract.c: turns a fact row into its entries in an index table, and casts the keys of
 * look-ups in the same way.
 */

/* What a row adds to totals. */
typedef struct RowDelta
{
	int			n;				/* number of groups that it adds to */
	int			natts;			/* columns of the table of totals */
	Datum	   *values;			/* n * natts: an entry for each group */
	bool	   *isnull;
	uint64		lacking;		/* what is to be recorded of the row */
	int			skipped;		/* values left out, to be counted */
} RowDelta;

extern bool passes_filter(IndexDef *def, TupleTableSlot *row);
extern bool extract_delta(IndexDef *def, FactRow *row, bool report, RowDelta *delta);
extern int	extract_entries(IndexDef *def, FactRow *row, bool report, Entries *entries);

/* row_errors.c: reports rows that cannot have their entries */

/* The first value of a row that cannot be an entry, and what is to be recorded of others. */
typedef struct RowMismatch
{
	Field	   *field;			/* NULL: there is none */
	char	   *value;			/* as text */
	bool		number;			/* it is a number in JSON */
	Mismatch	why;
	uint32		values;			/* VALUE_BITS: kinds of values that there were */
} RowMismatch;

extern char *excerpt(char *text);
extern int	errindextable(IndexDef *def, Field *field);
extern void report_mismatch(IndexDef *def, FactRow *row, RowMismatch *mismatch);
extern char *format_row_key(FactRow *row);

/* The elements of a row, each with a value for every multi-valued field. */
typedef struct Elements
{
	int			nfields;		/* number of these fields */
	Datum	   *values;			/* nfields of each element */
	bool	   *isnull;
	int		   *order;			/* numbers of the elements, sorted, that are
								 * not equal to another one before */
	int		   *counts;			/* number of elements that are equal to each
								 * of these, with itself; of totals: that are
								 * in each group */
	int			n;				/* number of elements; once they are sorted,
								 * of those in order */
	int			max;
	int			mismatches;		/* number of elements that could not be cast */
	int			unsummed;		/* number of values that totals cannot add up */
	bool		unlike;			/* equal ones are not the same, as 1 and 1.0 */
} Elements;

#define ELEMENT_VALUES(e, i)	((e)->values + (Size) (i) * (e)->nfields)
#define ELEMENT_NULLS(e, i)		((e)->isnull + (Size) (i) * (e)->nfields)

extern bool entries_fit(IndexDef *def, FactRow *row, Datum *values, bool *isnull, Elements *elements, int n,
						bool report, int *skipped);
extern bool key_fits(IndexDef *def, FactRow *row, Datum *values, bool report, int *skipped);

/*
 * json_cast.c: casts JSON values to the types of fields, and writes primary keys as text, and
 * rows as JSON
 */

/* What became of a value. */
typedef enum ValueResult
{
	VALUE_NULL,
	VALUE_OK,
	VALUE_MISMATCH				/* it cannot be cast to the type of the field */
} ValueResult;

extern ValueResult cast_json(Field *field, JsonbValue *value, bool is_key, Datum *result,
							 RowMismatch *mismatch);
extern bool key_value_cast(IndexDef *def, int keyno, JsonbValue *value, Datum *result);
extern bool json_value_cast(Oid type, int32 typmod, Oid collation, JsonbValue *value, Datum *result);

/* row_values.c: the values that fields have in a row */

extern ValueResult field_value(Field *field, FactRow *row, int docno, bool is_key, Datum *result,
							   RowMismatch *mismatch);
extern bool collect_elements(IndexDef *def, FactRow *row, Elements *elements, RowMismatch *mismatch);
extern ValueResult summed_value(Field *field, Datum value, RowMismatch *mismatch);
extern bool unite_equal_elements(IndexDef *def, Elements *elements);
extern int	group_elements(IndexDef *def, Elements *elements);

struct ArrayType;

extern Datum key_texts(FactDef *def, Datum *key);
extern void key_from_texts(FactDef *def, struct ArrayType *array, Datum *key, MemoryContext cxt);
extern Datum columns_to_jsonb(Oid owner, TupleTableSlot *slot, AttrNumber *columns, int n);

#endif							/* INDEXTABLE_ENTRY_H */
