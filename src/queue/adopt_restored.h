/*-------------------------------------------------------------------------
 *
 * adopt_restored.h
 *	  Adopts the index tables that a restore has brought from a dump.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ADOPT_RESTORED_H
#define INDEXTABLE_ADOPT_RESTORED_H

extern void adopt_restored(Oid altered);
extern void adopt_all(void);

#endif							/* INDEXTABLE_ADOPT_RESTORED_H */
