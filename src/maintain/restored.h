/*-------------------------------------------------------------------------
 *
 * restored.h
 *	  Offers what is to be done about index tables that a dump brings without their definitions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_RESTORED_H
#define INDEXTABLE_RESTORED_H

extern bool is_undefined(Oid index_table);
extern char *statements_for_undefined(Oid index_table);
extern void warn_undefined(Oid index_table);
extern void refuse_undefined(Oid fact_table, Oid written);

#endif							/* INDEXTABLE_RESTORED_H */
