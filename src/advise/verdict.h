/*-------------------------------------------------------------------------
 *
 * verdict.h
 *	  Decides from a profile whether an index table should be made, and which.
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
	VERDICT_FILTER,				/* an index table that leaves common values
								 * out */
	VERDICT_INDEX_TABLE
} VerdictKind;

typedef struct Verdict
{
	VerdictKind kind;
	Strategy	strategy;		/* of the index table, if one is advised */
	bool		async;
	bool		is_unique;
	bool		is_volatile;	/* the key may be what many updates change */
	List	   *reasons;		/* sentences (char *), the main one first */
	char	   *filter;			/* of the index table, or NULL */
	double		entries;		/* of the index table, with that filter */
	char	   *statement;		/* the statement that is advised, or NULL */
	char	   *when;			/* a condition under which ... */
	char	   *alternative;	/* ... this statement is better, or NULL */
} Verdict;

extern const char *const verdict_names[];
extern Verdict *choose_verdict(Profile *p, Relation fact);
extern char *too_few_documents(double documents, double document_bytes);
extern char *common_key_text(Profile *p, int which);

#endif							/* INDEXTABLE_VERDICT_H */
