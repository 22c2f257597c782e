/*-------------------------------------------------------------------------
 *
 * verdict.h
 *	  What to make of a profile.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_VERDICT_H
#define INDEXTABLE_VERDICT_H

#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "../indextable.h"
#include "profile.h"

typedef enum VerdictKind
{
	VERDICT_UNDECIDED,			/* too few documents */
	VERDICT_NONE,
	VERDICT_NATIVE_INDEX,
	VERDICT_FILTER,				/* an index table with another filter */
	VERDICT_INDEX_TABLE
} VerdictKind;

typedef struct Verdict
{
	VerdictKind kind;
	Strategy	strategy;		/* of an index table, if one is advised */
	bool		async;
	bool		is_unique;
	bool		is_volatile;	/* the key may be what many updates change */
	List	   *reasons;		/* of char *, sentences; the first is the main
								 * one */
	char	   *filter;			/* of an index table; NULL: none */
	char	   *statement;		/* to be run; NULL: none */
	char	   *when;			/* ... unless, which asks for ... */
	char	   *alternative;	/* ... this one; NULL: there is none */
} Verdict;

extern const char *const verdict_names[];
extern Verdict *choose_verdict(Profile *p, Relation fact);
extern char *common_key_text(Profile *p, int which);
extern char *sql_literal(const char *text);
extern const char *in_bytes(double bytes);
extern const char *in_percent(double share);

#endif							/* INDEXTABLE_VERDICT_H */
