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
 * WHILE_SET
 *		Executes statements while a variable has a value, and gives it back the one that it had
 *		before, whether they raise an error or not.  They must not return.
 */
#define WHILE_SET(variable, value, ...) \
	do { \
		typeof(variable) outer_ = (variable); \
		(variable) = (value); \
		PG_TRY(); \
		{ \
			__VA_ARGS__; \
		} \
		PG_FINALLY(); \
		{ \
			(variable) = outer_; \
		} \
		PG_END_TRY(); \
	} while (0)

#endif							/* INDEXTABLE_WHILE_SET_H */
