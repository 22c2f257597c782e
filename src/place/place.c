/*-------------------------------------------------------------------------
 *
 * place.c
 *	  Picks the place of a table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "place.h"

/* place_of: returns where the rows of a table are, or of a queue or an index table of one */
const Place *
place_of(Oid relid)
{
	return place_has_parts(relid) ? &citus_place : &local_place;
}

/* place_with_arguments: returns the place whose triggers have arguments */
const Place *
place_with_arguments(void)
{
	return &citus_place;
}
