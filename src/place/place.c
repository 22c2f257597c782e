/*-------------------------------------------------------------------------
 *
 * place.c
 *	  The places that have registered themselves: the one of all tables, one for the tables of
 *	  another extension, and one for the parts of these.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "place.h"

static const Place *usual = NULL;	/* the one without has() */
static const Place *special = NULL; /* that of another extension, or NULL */
static const Place *of_parts = NULL;	/* that of parts of its tables, or
										 * NULL */
static const TableMethods *tables = NULL;

bool		planned_by_entries = false;
const Elsewhere *elsewhere = NULL;
bool		(*has_changed_elsewhere) (Oid fact) = NULL;

/* place_register: adds a place, when the library is loaded */
void
place_register(const Place *place)
{
	if (place->has == NULL)
		usual = place;
	else if (place->definitions != NULL)
		of_parts = place;
	else
	{
		special = place;
		tables = place->tables;
	}
}

/* place_register_elsewhere: sets what reads rows and changes of other servers */
void
place_register_elsewhere(const Elsewhere *methods)
{
	elsewhere = methods;
}

/* place_of: returns where the rows of a table are, or of a queue or an index table of one */
const Place *
place_of(Oid relid)
{
	return special != NULL && special->has(relid) ? special :
		of_parts != NULL && of_parts->has(relid) ? of_parts : usual;
}

/* place_of_all_others: returns the place of all tables that are in no special one */
const Place *
place_of_all_others(void)
{
	return usual;
}

/*
 * place_definition_of_part
 *		Returns the definition for a table that has a trigger with arguments, or NULL.
 */
FactDef *
place_definition_of_part(Relation part)
{
	return special != NULL ? special->triggers->definition(part) : NULL;
}

/*
 * place_definition_beside
 *		Returns the definition by which the writers of such a table write entries beside it, or NULL if there
 *		are none.
 */
FactDef *
place_definition_beside(Relation part)
{
	return special != NULL ? special->triggers->definition_beside(part) : NULL;
}

/* place_adopt: registers here what triggers on other nodes say */
void
place_adopt(void)
{
	if (special != NULL)
		special->triggers->adopt();
}

/* place_has_parts: returns whether the rows of a table are in parts */
bool
place_has_parts(Oid relid)
{
	return place_of(relid)->in_parts;
}

/*
 * What the extension that has a place of its own says of tables, whatever place they are in: see
 * TableMethods.  There is nothing to say without it.
 */

bool
place_is_taken(Oid relid)
{
	return tables != NULL && tables->is_taken(relid);
}

Oid
place_table_of_part(Oid relid)
{
	return tables != NULL ? tables->table_of_part(relid) : InvalidOid;
}

bool
place_takes(Oid relid, const char *new_name)
{
	return tables != NULL && tables->takes(relid, new_name);
}

void
place_follow_partition(Oid partition, bool attached)
{
	if (tables != NULL)
		tables->follow_partition(partition, attached);
}

bool
place_is_governed_elsewhere(Oid relid)
{
	return tables != NULL && tables->is_governed_elsewhere(relid);
}

void
place_check_fact(Relation fact, bool async)
{
	if (tables != NULL)
		tables->check_fact(fact, async);
}

void
place_check_unique(Oid fact)
{
	if (tables != NULL)
		tables->check_unique(fact);
}

void
place_check_created(Oid relid)
{
	if (tables != NULL)
		tables->check_created(relid);
}

void
place_check_unchanging(Oid index_table, const char *function)
{
	if (tables != NULL)
		tables->check_unchanging(index_table, function);
}

void
place_check_trigger(Oid relid, const char *trigger, const char *queue)
{
	if (tables != NULL)
		tables->check_trigger(relid, trigger, queue);
}

const char *
place_problem(Oid fact, Oid index_table, bool async)
{
	return tables != NULL ? tables->problem(fact, index_table, async) : NULL;
}

/*
 * place_report_problem
 *		Raises an error if there is a problem, from place_problem(), with an index table of
 *		this name.
 */
void
place_report_problem(const char *index_table, const char *problem)
{
	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index table \"%s\" is not kept in step", index_table),
				 errdetail("The %s.", problem),
				 errhint("Drop the index table. It can be created again once both are ordinary tables.")));
}
