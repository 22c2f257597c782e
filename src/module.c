/*-------------------------------------------------------------------------
 *
 * module.c
 *	  Loads the library: called by the server, once in a backend.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "indextable.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	definition_init();
	batch_init();
}
