/*-------------------------------------------------------------------------
 *
 * named_field.c
 *	  Writes fields of index tables, so that create() takes them, of paths and types.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/heap.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../definition/field_text.h"
#include "../indextable.h"
#include "named_field.h"

/* path_text: returns a path as it is written in a field */
char *
path_text(List *steps)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, steps)
		append_path_step(&text, lfirst(cell), false);
	return text.data;
}

/* field_text: returns a field of an index table, with a name of its own where the last member's would not do */
char *
field_text(FactDef *fact, const char *document, List *steps, Oid type)
{
	StringInfoData text;
	char	   *name = NULL;
	bool		clashes = false;
	ListCell   *cell;
	int			i;

	initStringInfo(&text);
	appendStringInfoString(&text, path_text(steps));
	if (type != TEXTOID)
		appendStringInfo(&text, "::%s", field_type_name(type));
	foreach(cell, steps)
		if (lfirst(cell) != NULL)
		name = lfirst(cell);
	for (i = 0; i < fact->npk && name != NULL; i++)
		clashes |= strcmp(get_attname(fact->relid, fact->pk_attno[i], false), name) == 0;
	if (name == NULL || name[0] == '\0' || strlen(name) >= NAMEDATALEN || SystemAttributeByName(name) != NULL || clashes)
	{
		/*
		 * The document's column cannot have the name of one of the primary
		 * key.
		 */
		char	   *own = psprintf("%s_%s", document, name == NULL || name[0] == '\0' ? "value" : name);

		for (i = 0; i < fact->npk; i++)
			if (strcmp(get_attname(fact->relid, fact->pk_attno[i], false), own) == 0)
			{
				own = psprintf("field_%s", own);
				i = -1;
			}
		truncate_identifier(own, strlen(own), false);
		appendStringInfo(&text, " AS %s", quote_identifier(own));
	}
	return text.data;
}
