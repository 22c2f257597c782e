/*-------------------------------------------------------------------------
 *
 * json_cast.h
 *	  Casts JSON values to the types of fields.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_JSON_CAST_H
#define INDEXTABLE_JSON_CAST_H

#include "utils/jsonb.h"

#include "../indextable.h"
#include "row_errors.h"

/* What became of a value. */
typedef enum ValueResult
{
	VALUE_NULL,
	VALUE_JSON_NULL,			/* it is no key, although SQL takes it for a
								 * value */
	VALUE_OK,
	VALUE_MISMATCH				/* it cannot be cast to the type of the field */
} ValueResult;

extern ValueResult cast_json(Field *field, JsonbValue *value, bool is_key, Datum *result,
							 RowMismatch *mismatch);
extern bool key_value_cast(IndexDef *def, int keyno, JsonbValue *value, Datum *result);
extern bool json_value_cast(Oid type, int32 typmod, Oid collation, JsonbValue *value, Datum *result);

#endif							/* INDEXTABLE_JSON_CAST_H */
