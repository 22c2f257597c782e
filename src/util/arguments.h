/*-------------------------------------------------------------------------
 *
 * arguments.h
 *	  Reads the arguments of SQL functions: texts, lists of fields, intervals, and
 *	  words of which only some are allowed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ARGUMENTS_H
#define INDEXTABLE_ARGUMENTS_H

#include "fmgr.h"
#include "nodes/pg_list.h"

extern int	batch_size_arg(FunctionCallInfo fcinfo, int arg);
extern int64 interval_arg(FunctionCallInfo fcinfo, int arg, const char *name);
extern bool same_or_null(const char *a, const char *b);
extern bool same_strings(List *a, List *b);
extern char *text_arg(FunctionCallInfo fcinfo, int arg, const char *missing);
extern void require_arg(FunctionCallInfo fcinfo, int arg, const char *name);
extern List *qualified_name(const char *name);
extern List *field_list(FunctionCallInfo fcinfo, int arg, const char *name);
extern Datum row_result(FunctionCallInfo fcinfo, Datum *values, bool *isnull);
extern int	check_allowed_value(const char *what, const char *value, const char *const *allowed);

/* The nearest of some names to the one that was written. */
typedef struct Nearest
{
	const char *written;
	const char *name;			/* NULL: none is near */
	int			distance;
} Nearest;

extern int	name_distance(const char *a, const char *b);
extern bool is_near(const char *written, const char *name, int distance);
extern void try_name(Nearest *nearest, const char *name);

#endif							/* INDEXTABLE_ARGUMENTS_H */
