/*-------------------------------------------------------------------------
 *
 * profile_row.h
 *	  Gives SQL the numbers of a key, as a row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PROFILE_ROW_H
#define INDEXTABLE_PROFILE_ROW_H

#include "profile.h"

extern Oid	profile_row_type(bool missing_ok);
extern Datum profile_row(Profile *p, List *same);

#endif							/* INDEXTABLE_PROFILE_ROW_H */
