/*-------------------------------------------------------------------------
 *
 * adopt_restored.h
 *	  What comes from a dump.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ADOPT_RESTORED_H
#define INDEXTABLE_ADOPT_RESTORED_H

extern void adopt_restored(Oid altered);
extern void adopt_all(void);

#endif							/* INDEXTABLE_ADOPT_RESTORED_H */
