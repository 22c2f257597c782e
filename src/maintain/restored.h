/*-------------------------------------------------------------------------
 *
 * restored.h
 *	  What becomes of tables that a dump brings without the definitions of index tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_RESTORED_H
#define INDEXTABLE_RESTORED_H

extern void warn_undefined(Oid index_table);
extern void refuse_undefined(Oid fact_table, Oid written);

#endif							/* INDEXTABLE_RESTORED_H */
