/*-------------------------------------------------------------------------
 *
 * type_hint.h
 *	  Guesses which type a user means who has written another one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TYPE_HINT_H
#define INDEXTABLE_TYPE_HINT_H

#define USUAL_TYPES		"Use text, jsonb, or a type such as integer, numeric, boolean, uuid, date or timestamptz."

extern const char *nearest_type(const char *name);

#endif							/* INDEXTABLE_TYPE_HINT_H */
