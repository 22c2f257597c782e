/*-------------------------------------------------------------------------
 *
 * temporary_last.h
 *	  Keeps temporary objects of a session from functions of owners that set a search_path of their own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TEMPORARY_LAST_H
#define INDEXTABLE_TEMPORARY_LAST_H

extern void temporary_last_init(void);

#endif							/* INDEXTABLE_TEMPORARY_LAST_H */
