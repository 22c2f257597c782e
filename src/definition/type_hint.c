/*-------------------------------------------------------------------------
 *
 * type_hint.c
 *	  Guesses which type a user means who has written one of another language or database.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "../util/nearest.h"
#include "type_hint.h"

/* What a type is called elsewhere. */
static const char *const others[][2] = {
	{"string", "text"}, {"str", "text"}, {"varchar2", "text"}, {"nvarchar", "text"}, {"nvarchar2", "text"}, {"nchar", "text"},
	{"clob", "text"}, {"nclob", "text"}, {"ntext", "text"}, {"tinytext", "text"}, {"mediumtext", "text"}, {"longtext", "text"},
	{"symbol", "text"}, {"keyword", "text"}, {"enum", "text"}, {"objectid", "text"},
	{"number", "numeric"}, {"num", "numeric"}, {"decimal128", "numeric"}, {"bigdecimal", "numeric"}, {"smallmoney", "numeric"},
	{"currency", "numeric"},
	{"long", "bigint"}, {"int64", "bigint"}, {"uint32", "bigint"}, {"bigserial", "bigint"}, {"serial8", "bigint"},
	{"uint64", "numeric"},
	{"int32", "integer"}, {"uint16", "integer"}, {"mediumint", "integer"}, {"serial", "integer"}, {"serial4", "integer"},
	{"short", "smallint"}, {"int16", "smallint"}, {"int1", "smallint"}, {"tinyint", "smallint"}, {"byte", "smallint"},
	{"smallserial", "smallint"}, {"serial2", "smallint"},
	{"double", "double precision"}, {"float64", "double precision"}, {"binary_double", "double precision"},
	{"single", "real"}, {"float32", "real"}, {"binary_float", "real"},
	{"logical", "boolean"},
	{"datetime", "timestamptz"}, {"datetime2", "timestamp"}, {"datetimeoffset", "timestamptz"}, {"smalldatetime", "timestamp"},
	{"instant", "timestamptz"}, {"isodate", "timestamptz"}, {"timestamp_tz", "timestamptz"}, {"timestamp_ntz", "timestamp"},
	{"localdate", "date"}, {"localdatetime", "timestamp"},
	{"guid", "uuid"}, {"uniqueidentifier", "uuid"},
	{"object", "jsonb"}, {"array", "jsonb"}, {"map", "jsonb"}, {"any", "jsonb"}, {"variant", "jsonb"}, {"bson", "jsonb"}
};

static const char *const usual[] = {
	"text", "varchar", "integer", "int", "int2", "int4", "int8", "bigint", "smallint", "numeric", "decimal", "real", "float4", "float8",
	"bool", "boolean", "uuid", "date", "time", "timestamp", "timestamptz", "interval", "jsonb", "bytea", "inet"
};

/* nearest_type: returns the type that is meant by the name of one that does not exist, or NULL */
const char *
nearest_type(const char *name)
{
	Nearest		nearest = {.written = name};
	int			i;

	for (i = 0; i < (int) lengthof(others); i++)
		if (pg_strcasecmp(others[i][0], name) == 0)
			return others[i][1];
	for (i = 0; i < (int) lengthof(usual); i++)
		try_name(&nearest, usual[i]);
	return nearest.name;
}
