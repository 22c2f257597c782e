/*-------------------------------------------------------------------------
 *
 * while_set.h
 *	  Does something while a variable has another value.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_WHILE_SET_H
#define INDEXTABLE_WHILE_SET_H

/*
 * DO_AND_UNDO
 *		Executes statements, which must not return, and then another one, whether they raise
 *		an error or not.
 */
#define DO_AND_UNDO(undo, ...) \
	PG_TRY(); \
	{ \
		__VA_ARGS__; \
	} \
	PG_FINALLY(); \
	{ \
		undo; \
	} \
	PG_END_TRY()

/*
 * WHILE_SET
 *		Executes statements while a variable has a value, and gives it back the one that it
 *		had before.
 */
#define WHILE_SET(variable, value, ...) \
	do { \
		typeof(variable) outer_ = (variable); \
		(variable) = (value); \
		DO_AND_UNDO((variable) = outer_, __VA_ARGS__); \
	} while (0)

#endif							/* INDEXTABLE_WHILE_SET_H */
