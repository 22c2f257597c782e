/*-------------------------------------------------------------------------
 *
 * compiled.h
 *	  Has functions compiled for each context.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_COMPILED_H
#define INDEXTABLE_COMPILED_H

#include "fmgr.h"
#include "storage/itemptr.h"

/* What the server has made of a function, all 0 at first but for what role_caches.c knows of it. */
typedef struct Compiled
{
	Oid			oid;
	bool		is_trigger;		/* whether PL/pgSQL compiles it for each
								 * trigger */
	bool		is_polymorphic; /* ... or for types of arguments */
	uint64		context;		/* in which it was called last */
	TransactionId row;			/* xmin of the row of pg_proc */
	ItemPointerData tid;		/* its place */
	TransactionId stamp;		/* xmin of what the server has made of that
								 * row, if it is in SQL, for owners */
	struct Copy **copies;		/* by PL/pgSQL, for some types of arguments,
								 * collations or triggers each */
	int			ncopies;
	int			max_copies;
	int			npinned;		/* number of them */
	int			nlost;			/* number of former ones that cannot be freed */
	bool		is_shared;		/* whether there have been copies of two
								 * contexts */
} Compiled;

extern void compiled_init(void);
extern void compiled_switched(uint64 to);
extern void compiled_begin(Compiled *function, FmgrInfo *called);
extern void compiled_begin_sql(Compiled *function, FmgrInfo *called);
extern void compiled_end(Compiled *function);

#endif							/* INDEXTABLE_COMPILED_H */
