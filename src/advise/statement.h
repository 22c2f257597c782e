/*-------------------------------------------------------------------------
 *
 * statement.h
 *	  Writes the statements that advise() recommends: calls of create(), and indexes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_STATEMENT_H
#define INDEXTABLE_STATEMENT_H

#include "utils/rel.h"

#include "../indextable.h"
#include "profile.h"

extern char *filter_without(Profile *p, int n);
extern char *fact_name(Relation fact);
extern char *create_statement(Profile *p, Relation fact, Strategy strategy, const char *filter, bool async,
							  bool is_unique);
extern char *native_statement(Profile *p, Relation fact, const char *filter, bool rare);
extern char *gin_statement(Profile *p, Relation fact);

#endif							/* INDEXTABLE_STATEMENT_H */
