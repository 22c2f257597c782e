/*-------------------------------------------------------------------------
 *
 * expression.h
 *	  Offers what users write in definitions: fields, SQL expressions and casts, parsed, checked
 *	  and evaluated.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_EXPRESSION_H
#define INDEXTABLE_EXPRESSION_H

#include "catalog/pg_depend.h"
#include "lib/stringinfo.h"

#include "../indextable.h"

/* cast.c: the conversion of a text or a column to a field's type, under fixed settings */

/* Why a value cannot be converted to a field's type. */
typedef struct Mismatch
{
	int			sqlstate;
	char	   *message;
} Mismatch;

extern void cast_check_type(const char *spec, Oid type);
extern int	hint_for_type(const char *spec, Oid type);
extern void cast_init(Cast *cast, Oid type, int32 typmod, Oid collation, MemoryContext cxt);
extern bool cast_text(Cast *cast, char *str, int len, Datum *result, Mismatch *why);
extern bool has_zone(const char *str);
extern bool cast_column(RowExpression *expr, TupleTableSlot *row, Datum *result, Mismatch *why);

/*
 * expression.c: SQL expressions over a fact row: they are parsed, checked, compiled and
 * evaluated.
 */

/* A function, a domain or a cast, as the server's invalidation messages name it. */
typedef struct CodeObject
{
	int			cache;			/* PROCOID, TYPEOID, or CASTSOURCETARGET */
	uint32		hash;			/* of its key; 0: it may be any */
} CodeObject;

extern RowExpression *expression_parse(Relation fact, const char *text, Oid type, int32 typmod,
									   const char **column_names, bool given);
extern RowExpression *compile_stored(IndexDef *def, Relation fact, const char *what, const char *sql, Oid type,
									 const char **column_names);
extern RowExpression *expression_compile(Relation fact, const char *text, Oid type, int32 typmod,
										 const char **column_names, bool given);
extern bool expression_calls_users_code(RowExpression *expr);
extern bool expression_is_apart(RowExpression *expr);
extern bool expression_parallel_safe(RowExpression *expr);
extern char *expression_text(Relation fact, RowExpression *expr);
extern Node *expression_node(RowExpression *expr);
extern bool expression_eval(RowExpression *expr, TupleTableSlot *row, Datum *result);
extern Bitmapset *expression_columns(RowExpression *expr);
extern List *expression_code(RowExpression *expr);
extern List *add_code_function(List *code, Oid function);
extern bool expression_is(RowExpression *expr, Node *node, Index varno,
						  Node *(*unified) (Node *node, void *context));

/* field_spec.c: the parser of fields */
extern void check_name_length(const char *name, const char *hint);
extern bool is_hint_column(FieldSpec *spec);
extern char *name_field(const char *text, const char *name);
extern char *field_of_type(const char *text, const char *type, bool elements);
extern FieldSpec *parse_field_spec(const char *text, bool with_type);
extern bool same_steps(FieldSpec *a, FieldSpec *b, int n);

#define USUAL_TYPES		"Use text, jsonb, or a type such as integer, numeric, boolean, uuid, date or timestamptz."

/* recorded_code.c: the functions, operators and the like that expressions may use */
extern void record_used_code(Oid index_table, Node *expr);
extern void forget_code_dependencies(Oid index_table);
extern void move_code_dependencies(Oid from, Oid to);
extern bool is_code_dependency(Form_pg_depend form, void *unused);
extern void require_recorded_code(IndexDef *def, const char *what, const char *sql, Node *expr);
extern void refuse_temporary(const char *what, const char *text, Node *expr);
extern void refuse_temporary_type(const char *field, Oid type);

/* users_text.c: parses SQL that is in a text of a user */
struct ResTarget;

/* What is being parsed, for errors; see push_parse_context(). */
typedef struct ParseContext
{
	ErrorContextCallback callback;
	const char *what;
	const char *text;
	int			offset;
	int			start;
} ParseContext;

extern void push_parse_context(ParseContext *context, const char *what, const char *text,
							   int offset, int start);
extern void pop_parse_context(ParseContext *context);
extern struct ResTarget *parse_lone_expression(const char *prefix, const char *text);
extern void append_path_step(StringInfo path, const char *name, bool subscript);
extern bool is_subscript(const char *name);
extern const char *field_type_name(Oid type);

#endif							/* INDEXTABLE_EXPRESSION_H */
