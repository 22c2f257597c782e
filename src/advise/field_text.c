/*-------------------------------------------------------------------------
 *
 * field_text.c
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

#include "../definition/field_hint.h"
#include "../indextable.h"
#include "field_text.h"

static const char *type_text(Oid type);

/* path_text: returns a path as it is written in a field */
char *
path_text(List *steps)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, steps)
	{
		if (lfirst(cell) != NULL)
			append_member(&text, lfirst(cell));
		else
			appendStringInfoString(&text, text.len == 0 ? "$[*]" : "[*]");
	}
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
		appendStringInfo(&text, "::%s", type_text(type));
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

/* type_text: returns the name of a type as people write it in a field */
static const char *
type_text(Oid type)
{
	switch (type)
	{
		case INT4OID:
			return "int";
		case TIMESTAMPOID:
			return "timestamp";
		case TIMESTAMPTZOID:
			return "timestamptz";
		case FLOAT8OID:
			return "float8";
		default:
			return format_type_be(type);
	}
}
