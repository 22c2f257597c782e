/*-------------------------------------------------------------------------
 *
 * naming.h
 *	  Sees to it that a query of ours reads the tables that are meant.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_NAMING_H
#define INDEXTABLE_NAMING_H

#include "while_set.h"

/* A query of ours that is run. */
typedef struct Naming
{
	const Oid  *relids;
	int			n;
	const char *sql;
	const struct Naming *outer;
} Naming;

/*
 * WHILE_NAMING: executes statements, which analyze or run a query of n tables; raises an error if the query
 * comes to read another.  Without any, its names are those of the extension, which nobody can take.
 */
#define WHILE_NAMING(relids, n, sql, ...) \
	do { \
		const Naming naming_ = {(relids), (n), (sql), current_naming}; \
		\
		WHILE_SET(current_naming, &naming_, __VA_ARGS__); \
	} while (0)

extern const Naming *current_naming;

extern void naming_init(void);

#endif							/* INDEXTABLE_NAMING_H */
